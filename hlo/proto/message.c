/* Messages of protobuf-c: making, packing, unpacking, unknown fields. */
#include "hlo/proto/message.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/text.h"

void *message_new(struct arena *arena, const ProtobufCMessageDescriptor *descriptor)
{
    void *message = arena_alloc(arena, descriptor->sizeof_message);
    protobuf_c_message_init(descriptor, message);
    return message;
}

/* The pointer at `at`, whatever it points to. */
static void *pointer_at(const void *at)
{
    void *pointer;
    memcpy(&pointer, at, sizeof pointer);
    return pointer;
}

/* The messages in a message field: *count of them, the first at the returned address. */
static const char *messages_of(const ProtobufCMessage *message,
                               const ProtobufCFieldDescriptor *field, size_t *count)
{
    const char *value = (const char *)message + field->offset;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        memcpy(count, (const char *)message + field->quantifier_offset, sizeof *count);
        return pointer_at(value);
    }
    *count = pointer_at(value) != NULL;
    return value;
}

static size_t scalar_size(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return sizeof(int64_t);
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FLOAT:
        return sizeof(int32_t);
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(protobuf_c_boolean);
    default:
        return 0;
    }
}

static bool is_zero(const void *value, size_t size)
{
    const unsigned char *bytes = value;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

void message_finish(ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *descriptor = message->descriptor;
    for (unsigned f = 0; f < descriptor->n_fields; f++) {
        const ProtobufCFieldDescriptor *field = &descriptor->fields[f];
        char *value = (char *)message + field->offset;
        if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
            size_t count;
            const char *list = messages_of(message, field, &count);
            for (size_t i = 0; i < count; i++) {
                message_finish(pointer_at(list + i * sizeof(void *)));
            }
            continue;
        }
        if (field->label != PROTOBUF_C_LABEL_OPTIONAL || field->type == PROTOBUF_C_TYPE_STRING) {
            continue;
        }
        bool present = field->type == PROTOBUF_C_TYPE_BYTES
                           ? ((ProtobufCBinaryData *)value)->len > 0
                           : !is_zero(value, scalar_size(field->type));
        if (present) {
            *(protobuf_c_boolean *)((char *)message + field->quantifier_offset) = true;
        }
    }
}

void *message_pack(ProtobufCMessage *message, size_t *size, struct error *err)
{
    message_finish(message);
    *size = protobuf_c_message_get_packed_size(message);
    if (*size > MESSAGE_MAX_SIZE) {
        error_set(err, ERROR_RESOURCE_EXHAUSTED,
                  "a %s of %zu bytes would be larger than the 2 GiB of the format",
                  message->descriptor->short_name, *size);
        return NULL;
    }
    void *data = malloc(*size > 0 ? *size : 1);
    if (data == NULL) {
        error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for a message of %zu bytes", *size);
        return NULL;
    }
    protobuf_c_message_pack(message, data);
    return data;
}

void *message_unpack(const ProtobufCMessageDescriptor *descriptor, const void *data, size_t size,
                     struct error *err)
{
    if (size > MESSAGE_MAX_SIZE) {
        error_set(err, ERROR_RESOURCE_EXHAUSTED, "a %s is larger than the 2 GiB of the format",
                  descriptor->short_name);
        return NULL;
    }
    struct wire_problem problem;
    if (!wire_walk(descriptor, data, size, &problem)) {
        error_set(err, ERROR_INVALID_ARGUMENT, "malformed %s at byte %zu: field %u of %s %s",
                  descriptor->short_name, problem.offset, (unsigned)problem.field, problem.message,
                  problem.text);
        return NULL;
    }
    void *message = protobuf_c_message_unpack(descriptor, NULL, size, data);
    if (message == NULL) {
        error_set(err, ERROR_RESOURCE_EXHAUSTED, "cannot unpack a %s of %zu bytes",
                  descriptor->short_name, size);
    }
    return message;
}

/* `path` grows by the name of each message on the way. */
static void warn_unknown(const ProtobufCMessage *message, const char *where, struct text *path,
                         struct text *warnings)
{
    for (size_t i = 0; i < message->n_unknown_fields; i++) {
        const ProtobufCMessageUnknownField *field = &message->unknown_fields[i];
        bool is_empty = field->wire_type == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED &&
                        field->len == 1 && field->data[0] == 0;
        if (is_empty) { /* a message of defaults */
            continue;
        }
        text_printf(warnings, "%s: field %s%u is not known here and was passed over\n", where,
                    path->data, (unsigned)message->unknown_fields[i].tag);
    }
    const ProtobufCMessageDescriptor *descriptor = message->descriptor;
    for (unsigned f = 0; f < descriptor->n_fields; f++) {
        const ProtobufCFieldDescriptor *field = &descriptor->fields[f];
        if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
            continue;
        }
        size_t count;
        const char *list = messages_of(message, field, &count);
        for (size_t i = 0; i < count; i++) {
            size_t length = path->size;
            text_printf(path, "%s.", field->name);
            warn_unknown(pointer_at(list + i * sizeof(void *)), where, path, warnings);
            path->data[length] = '\0';
            path->size = length;
        }
    }
}

void message_warn_unknown(const ProtobufCMessage *message, const char *where, struct text *warnings)
{
    struct text path;
    text_init(&path);
    warn_unknown(message, where, &path, warnings);
    text_finish(&path);
}

/* --- lists --- */

struct ints ints_from_int64(struct arena *arena, size_t count, const int64_t *values)
{
    return (struct ints){(int)count, arena_copy(arena, values, count * sizeof *values)};
}

struct ints ints_from_int32(struct arena *arena, size_t count, const int32_t *values)
{
    int64_t *copy = arena_array(arena, count, sizeof *copy);
    for (size_t i = 0; i < count; i++) {
        copy[i] = values[i];
    }
    return (struct ints){(int)count, copy};
}

struct ints ints_from_bool(struct arena *arena, size_t count, const protobuf_c_boolean *values)
{
    int64_t *copy = arena_array(arena, count, sizeof *copy);
    for (size_t i = 0; i < count; i++) {
        copy[i] = values[i] != 0;
    }
    return (struct ints){(int)count, copy};
}

int32_t *ints_to_int32(struct arena *arena, struct ints ints)
{
    int32_t *copy = arena_array(arena, (size_t)ints.count, sizeof *copy);
    for (int i = 0; i < ints.count; i++) {
        copy[i] = (int32_t)ints.values[i];
    }
    return copy;
}

protobuf_c_boolean *ints_to_bool(struct arena *arena, struct ints ints)
{
    protobuf_c_boolean *copy = arena_array(arena, (size_t)ints.count, sizeof *copy);
    for (int i = 0; i < ints.count; i++) {
        copy[i] = ints.values[i] != 0;
    }
    return copy;
}

struct bytes bytes_from_binary(struct arena *arena, ProtobufCBinaryData data)
{
    return (struct bytes){arena_string(arena, (const char *)data.data, data.len), data.len};
}

ProtobufCBinaryData binary_from_bytes(struct bytes bytes)
{
    return (ProtobufCBinaryData){bytes.size, (uint8_t *)bytes.data};
}
