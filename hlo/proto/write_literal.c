/* Literals as protos. Source: xla/literal.cc (Piece::WriteToProto). */
#include "hlo/literal.h"
#include "hlo/proto/permute.h"
#include "hlo/proto/write.h"

/* The elements in the order of the layout, in the arena where they have to be moved. */
static const void *ordered(struct arena *arena, const struct literal *literal,
                           const struct shape *shape)
{
    const void *data = literal_data(literal);
    if (layout_is_row_major(shape->layout)) {
        return data;
    }
    size_t element = (size_t)type_bytes(shape->type);
    void *copy = arena_array(arena, (size_t)shape_elements(shape), element);
    permute_to_layout(copy, data, element, shape);
    return copy;
}

/* Signed elements of fewer than 8 bits, with zeros above them as XLA has them. */
static const void *without_sign_bits(struct arena *arena, const void *data, size_t count,
                                     enum type type)
{
    if (type_bits(type) >= 8 || type_kind(type) != KIND_SIGNED) {
        return data;
    }
    uint8_t *copy = arena_copy(arena, data, count);
    for (size_t i = 0; i < count; i++) {
        copy[i] &= (uint8_t)((1 << type_bits(type)) - 1);
    }
    return copy;
}

static void write_elements(struct arena *arena, const void *data, size_t count, enum type type,
                           Referee__LiteralProto *proto)
{
    switch (type) {
    case TYPE_PRED: {
        const uint8_t *values = data;
        proto->n_preds = count;
        proto->preds = arena_array(arena, count, sizeof *proto->preds);
        for (size_t i = 0; i < count; i++) {
            proto->preds[i] = values[i] != 0;
        }
        return;
    }
#define BYTES(id, field)                                                            \
    case TYPE_##id:                                                                 \
        proto->field.len = count * (size_t)type_bytes(type);                        \
        proto->field.data = (uint8_t *)without_sign_bits(arena, data, count, type); \
        return;
#define NUMBERS(id, field, element, parts)  \
    case TYPE_##id:                         \
        proto->n_##field = count * (parts); \
        proto->field = (element *)data;     \
        return;
#include "hlo/proto/literal_fields.def"
    default: /* a token has no elements */
        return;
    }
}

Referee__LiteralProto *write_literal(struct arena *arena, const struct literal *literal,
                                     const struct shape *shape)
{
    Referee__LiteralProto *proto = message_new(arena, &referee__literal_proto__descriptor);
    proto->shape = write_shape_of_literal(arena, shape);
    if (shape_is_tuple(shape)) {
        proto->n_tuple_literals = (size_t)shape->count;
        proto->tuple_literals =
            arena_array(arena, proto->n_tuple_literals, sizeof *proto->tuple_literals);
        for (int i = 0; i < shape->count; i++) {
            proto->tuple_literals[i] =
                write_literal(arena, literal->elements[i], shape->elements[i]);
        }
    } else if (shape_is_array(shape)) {
        size_t count = (size_t)shape_elements(shape);
        write_elements(arena, ordered(arena, literal, shape), count, shape->type, proto);
        if (shape_is_dynamic(shape)) {
            proto->n_dynamic_sizes = (size_t)shape->rank;
            proto->dynamic_sizes =
                arena_array(arena, proto->n_dynamic_sizes, sizeof *proto->dynamic_sizes);
            for (int i = 0; i < shape->rank; i++) {
                proto->dynamic_sizes[i] =
                    (int32_t)(literal->dynamic_sizes != NULL ? literal->dynamic_sizes[i]
                                                             : shape->dimensions[i]);
            }
        }
    }
    return proto;
}
