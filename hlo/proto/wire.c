/* The wire format of protocol buffers, walked along a schema.
 * Source: protobuf.dev/programming-guides/encoding. */
#include <string.h>

#include "hlo/proto/message.h"

enum wire_type { WIRE_VARINT, WIRE_64, WIRE_LENGTH, WIRE_GROUP, WIRE_GROUP_END, WIRE_32 };

struct walk {
    const uint8_t *start;
    struct wire_problem *problem;
};

static bool fail(const struct walk *walk, const uint8_t *at, const char *message, uint32_t field,
                 const char *text)
{
    if (walk->problem != NULL) {
        *walk->problem = (struct wire_problem){(size_t)(at - walk->start), field, message, text};
    }
    return false;
}

/* Reads a varint of at most ten bytes; returns the byte after it, or NULL. */
static const uint8_t *varint(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 70 && at < end; shift += 7) {
        uint8_t byte = *at++;
        *value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        if (byte < 0x80) {
            return at;
        }
    }
    return NULL;
}

/* The tag at `at`, and what follows it: *content and *size (of a varint: its bytes). Returns the
 * byte after the field, or NULL with *text set. */
static const uint8_t *field_at(const uint8_t *at, const uint8_t *end, uint32_t *field,
                               enum wire_type *type, const uint8_t **content, size_t *size,
                               const char **text)
{
    uint64_t tag, length;
    const uint8_t *next = varint(at, end, &tag);
    *field = next != NULL ? (uint32_t)(tag >> 3) : 0;
    if (next == NULL || tag > UINT32_MAX || *field == 0) {
        *text = "has a malformed tag";
        return NULL;
    }
    *type = (enum wire_type)(tag & 7);
    *content = next;
    size_t left = (size_t)(end - next);
    switch (*type) {
    case WIRE_VARINT:
        next = varint(next, end, &length);
        if (next == NULL) {
            *text = "is a malformed number";
            return NULL;
        }
        *size = (size_t)(next - *content);
        return next;
    case WIRE_64:
    case WIRE_32:
        *size = *type == WIRE_64 ? 8 : 4;
        break;
    case WIRE_LENGTH:
        *content = varint(next, end, &length);
        if (*content == NULL) {
            *text = "has a malformed length";
            return NULL;
        }
        left = (size_t)(end - *content);
        *size = length <= left ? (size_t)length : left + 1;
        break;
    default:
        *text = "has a wire type that is not used";
        return NULL;
    }
    if (*size > left) {
        *text = "runs past the end";
        return NULL;
    }
    return *content + *size;
}

static enum wire_type wire_type_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_DOUBLE:
        return WIRE_64;
    case PROTOBUF_C_TYPE_FLOAT:
        return WIRE_32;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return WIRE_LENGTH;
    default:
        return WIRE_VARINT;
    }
}

static bool is_packed_list(enum wire_type element, const uint8_t *content, size_t size)
{
    if (element != WIRE_VARINT) {
        return size % (element == WIRE_64 ? 8 : 4) == 0;
    }
    for (const uint8_t *at = content, *end = content + size; at < end;) {
        uint64_t value;
        at = varint(at, end, &value);
        if (at == NULL) {
            return false;
        }
    }
    return true;
}

static bool walk_message(const struct walk *walk, const ProtobufCMessageDescriptor *descriptor,
                         const uint8_t *data, size_t size, int depth)
{
    const uint8_t *end = data + size;
    for (const uint8_t *at = data; at < end;) {
        uint32_t number;
        enum wire_type type;
        const uint8_t *content;
        size_t length;
        const char *text;
        const uint8_t *next = field_at(at, end, &number, &type, &content, &length, &text);
        if (next == NULL) {
            return fail(walk, at, descriptor->short_name, number, text);
        }
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field(descriptor, number);
        if (field != NULL) {
            enum wire_type wanted = wire_type_of(field->type);
            if (type == WIRE_LENGTH && wanted != WIRE_LENGTH &&
                field->label == PROTOBUF_C_LABEL_REPEATED) {
                if (!is_packed_list(wanted, content, length)) {
                    return fail(walk, at, descriptor->short_name, number, "is a malformed list");
                }
            } else if (type != wanted) {
                return fail(walk, at, descriptor->short_name, number, "has another wire type");
            } else if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
                if (depth == WIRE_MAX_DEPTH) {
                    return fail(walk, at, descriptor->short_name, number, "is nested too deeply");
                }
                if (!walk_message(walk, field->descriptor, content, length, depth + 1)) {
                    return false;
                }
            }
        }
        at = next;
    }
    return true;
}

bool wire_walk(const ProtobufCMessageDescriptor *descriptor, const void *data, size_t size,
               struct wire_problem *problem)
{
    struct walk walk = {data, problem};
    return walk_message(&walk, descriptor, data, size, 0);
}

static const uint8_t *find(const uint8_t *data, size_t size, uint32_t field, enum wire_type type,
                           size_t *found_size)
{
    const uint8_t *end = data + size;
    for (const uint8_t *at = data; at != NULL && at < end;) {
        uint32_t number;
        enum wire_type found_type;
        const uint8_t *content;
        const char *text;
        at = field_at(at, end, &number, &found_type, &content, found_size, &text);
        if (at != NULL && number == field && found_type == type) {
            return content;
        }
    }
    return NULL;
}

bool wire_find(const void *data, size_t size, uint32_t field, const void **found,
               size_t *found_size)
{
    *found = find(data, size, field, WIRE_LENGTH, found_size);
    return *found != NULL;
}

bool wire_find_number(const void *data, size_t size, uint32_t field, uint64_t *value)
{
    size_t length;
    const uint8_t *content = find(data, size, field, WIRE_VARINT, &length);
    return content != NULL && varint(content, content + length, value) != NULL;
}
