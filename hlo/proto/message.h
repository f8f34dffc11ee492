/* What readers and writers of protos share: messages, the wire, and tables of fields.
 *
 * Messages are those of protobuf-c; they are built in, and read into, an arena. XLA's messages are
 * proto3, where absent and zero are the same: readers take absent fields as zero, writers fill in
 * plain values and message_finish marks what is not zero as present. */
#ifndef HLO_PROTO_MESSAGE_H
#define HLO_PROTO_MESSAGE_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hlo/attr.h"
#include "hlo/base/arena.h"
#include "hlo/shape.h"

struct error;
struct text;

enum {
    MESSAGE_MAX_SIZE = INT32_MAX, /* of protocol buffers; so every count fits an int */
};

/* An empty message in the arena. */
void *message_new(struct arena *arena, const ProtobufCMessageDescriptor *descriptor);
/* Marks every optional field that is not zero as present, in nested messages too. */
void message_finish(ProtobufCMessage *message);
/* message_finish, then the serialised message, malloc'ed; NULL when memory does not suffice. */
void *message_pack(ProtobufCMessage *message, size_t *size, struct error *err);
/* The message in serialised form, to be freed with protobuf_c_message_free_unpacked. The bytes are
 * walked first (wire_walk), so that errors say where. */
void *message_unpack(const ProtobufCMessageDescriptor *descriptor, const void *data, size_t size,
                     struct error *err);
/* One line for each field that is not in the schema: "`where`: field 7 …"; nested ones have a path
 * ("metadata.7"). */
void message_warn_unknown(const ProtobufCMessage *message, const char *where,
                          struct text *warnings);

/* Lists of a message as a list in the module's arena, and the other way round. */
struct ints ints_from_int64(struct arena *arena, size_t count, const int64_t *values);
struct ints ints_from_int32(struct arena *arena, size_t count, const int32_t *values);
struct ints ints_from_bool(struct arena *arena, size_t count, const protobuf_c_boolean *values);
/* A repeated int64 field from a list, which it borrows. */
static inline void set_ints(size_t *count, int64_t **values, struct ints ints)
{
    *count = (size_t)ints.count;
    *values = (int64_t *)ints.values;
}
int32_t *ints_to_int32(struct arena *arena, struct ints ints);
protobuf_c_boolean *ints_to_bool(struct arena *arena, struct ints ints);
struct bytes bytes_from_binary(struct arena *arena, ProtobufCBinaryData data);
ProtobufCBinaryData binary_from_bytes(struct bytes bytes);

/* --- the wire --- */

enum {
    /* Deeper messages are refused: the deepest shape inside an instruction fits. */
    WIRE_MAX_DEPTH = SHAPE_MAX_NESTING + 32,
};

/* Why bytes are not a message: at `offset`, in `field` of `message`. */
struct wire_problem {
    size_t offset;
    uint32_t field;
    const char *message, *text;
};

/* Do the bytes parse as the message, with the right wire type in every field of the schema? Fields
 * that the schema lacks are passed over. problem may be NULL. */
bool wire_walk(const ProtobufCMessageDescriptor *descriptor, const void *data, size_t size,
               struct wire_problem *problem);

/* The first length-prefixed field of the number, or the first varint; false if there is none before
 * the end or before a malformed field. */
bool wire_find(const void *data, size_t size, uint32_t field, const void **found,
               size_t *found_size);
bool wire_find_number(const void *data, size_t size, uint32_t field, uint64_t *value);

#endif
