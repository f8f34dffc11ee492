/* Literals from protos. Source: xla/literal.cc (CreateFromProto, Piece::CopyFromProto). */
#include <stdlib.h>
#include <string.h>

#include "hlo/literal.h"
#include "hlo/proto/permute.h"
#include "hlo/proto/read.h"

/* The elements in a message: `count` of the type, at `data` unless it is pred. */
struct elements {
    size_t count;
    const void *data;
};

static bool find_elements(const Referee__LiteralProto *proto, enum type type,
                          struct elements *elements)
{
    switch (type) {
    case TYPE_PRED:
        *elements = (struct elements){proto->n_preds, NULL};
        return true;
#define BYTES(id, field)                                                                       \
    case TYPE_##id:                                                                            \
        *elements =                                                                            \
            (struct elements){proto->field.len / (size_t)type_bytes(type), proto->field.data}; \
        return proto->field.len % (size_t)type_bytes(type) == 0;
#define NUMBERS(id, field, element, parts)                                       \
    case TYPE_##id:                                                              \
        *elements = (struct elements){proto->n_##field / (parts), proto->field}; \
        return proto->n_##field % (parts) == 0;
#include "hlo/proto/literal_fields.def"
    default:
        return false;
    }
}

/* Zeros or the sign in the bits that the type does not have. */
static void extend_bits(uint8_t *bytes, size_t count, enum type type)
{
    unsigned unused = 8 - (unsigned)type_bits(type);
    for (size_t i = 0; i < count; i++) {
        unsigned high = (unsigned)bytes[i] << unused & 0xff;
        bytes[i] = (uint8_t)(high >> unused);
        if (type_kind(type) == KIND_SIGNED && high >= 0x80) {
            bytes[i] |= (uint8_t)(0xff << type_bits(type));
        }
    }
}

/* Fills the literal from elements in the order of the layout of `stored`. */
static void fill(struct literal *literal, const Referee__LiteralProto *proto,
                 const struct elements *elements, const struct shape *stored)
{
    enum type type = stored->type;
    uint8_t *preds = NULL;
    const void *data = elements->data;
    if (type == TYPE_PRED) {
        preds = memory_alloc(elements->count);
        for (size_t i = 0; i < elements->count; i++) {
            preds[i] = proto->preds[i] != 0;
        }
        data = preds;
    }
    if (elements->count > 0) {
        permute_from_layout(literal_data(literal), data, (size_t)type_bytes(type), stored);
    }
    if (type != TYPE_PRED && type_bits(type) < 8) {
        extend_bits(literal_data(literal), elements->count, type);
    }
    free(preds);
}

static bool read_dynamic_sizes(const Referee__LiteralProto *proto, struct literal *literal,
                               struct error *err)
{
    const struct shape *shape = literal->shape;
    if (proto->n_dynamic_sizes != (size_t)shape->rank) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "a literal of shape %s has %zu dynamic sizes",
                         shape_text(shape), proto->n_dynamic_sizes);
    }
    for (int i = 0; i < shape->rank; i++) {
        if (!shape_dimension_is_dynamic(shape, i)) {
            continue;
        }
        int32_t size = proto->dynamic_sizes[i];
        if (size < 0 || size > shape->dimensions[i]) {
            return error_set(err, ERROR_INVALID_ARGUMENT,
                             "a literal of shape %s has dynamic size %d in dimension %d",
                             shape_text(shape), (int)size, i);
        }
        literal->dynamic_sizes[i] = size;
    }
    return true;
}

static struct literal *read_array(const Referee__LiteralProto *proto, const struct shape *stored,
                                  const struct shape *shape, struct error *err)
{
    struct elements elements = {0, NULL};
    if (!find_elements(proto, stored->type, &elements) ||
        elements.count != (size_t)shape_elements(stored)) {
        error_set(err, ERROR_INVALID_ARGUMENT,
                  "a literal of shape %s has %zu elements instead of %lld", shape_text(stored),
                  elements.count, (long long)shape_elements(stored));
        return NULL;
    }
    struct literal *literal = literal_create(shape, err);
    if (literal == NULL) {
        return NULL;
    }
    fill(literal, proto, &elements, stored);
    if (shape_is_dynamic(shape) && !read_dynamic_sizes(proto, literal, err)) {
        literal_release(literal);
        return NULL;
    }
    return literal;
}

static struct literal *read_tuple(const Referee__LiteralProto *proto, const struct shape *shape,
                                  struct error *err)
{
    if (proto->n_tuple_literals != (size_t)shape->count) {
        error_set(err, ERROR_INVALID_ARGUMENT, "a literal of shape %s has %zu elements",
                  shape_text(shape), proto->n_tuple_literals);
        return NULL;
    }
    struct literal **elements = memory_zalloc((size_t)shape->count * sizeof *elements);
    int count = 0;
    while (count < shape->count) {
        elements[count] = read_literal(proto->tuple_literals[count], shape->elements[count], err);
        if (elements[count] == NULL) {
            break;
        }
        count++;
    }
    struct literal *literal = NULL;
    if (count == shape->count) {
        literal = literal_tuple_take(shape, elements);
    } else {
        for (int i = 0; i < count; i++) {
            literal_release(elements[i]);
        }
    }
    free(elements);
    return literal;
}

static bool has_opaque(const struct shape *shape)
{
    bool found = shape->type == TYPE_OPAQUE || shape->type == TYPE_BUFFER;
    for (int i = 0; i < shape->count && !found; i++) {
        found = has_opaque(shape->elements[i]);
    }
    return found;
}

/* The shape with the layout's minor_to_major alone. */
static const struct shape *plain(const struct shape *shape)
{
    if (shape_is_array(shape)) {
        struct layout layout = {
            .rank = shape->rank,
            .minor_to_major = shape->layout->minor_to_major,
            .tail_padding_alignment = 1,
        };
        return shape_with_layout(shape, layout_make(&layout));
    }
    if (!shape_is_tuple(shape)) {
        return shape;
    }
    const struct shape **elements = memory_alloc((size_t)shape->count * sizeof *elements);
    for (int i = 0; i < shape->count; i++) {
        elements[i] = plain(shape->elements[i]);
    }
    const struct shape *tuple = shape_tuple(shape->count, elements);
    free(elements);
    return tuple;
}

struct literal *read_literal(const Referee__LiteralProto *proto, const struct shape *shape,
                             struct error *err)
{
    if (proto->shape == NULL) {
        error_set(err, ERROR_INVALID_ARGUMENT, "a literal has no shape");
        return NULL;
    }
    const struct shape *stored = read_shape(proto->shape, err);
    if (stored == NULL) {
        return NULL;
    }
    if (has_opaque(stored)) {
        error_set(err, ERROR_INVALID_ARGUMENT, "a literal cannot have the shape %s",
                  shape_text(stored));
        return NULL;
    }
    if (shape == NULL) {
        shape = plain(stored);
    } else if (!shape_compatible(shape, stored)) {
        error_set(err, ERROR_INVALID_ARGUMENT, "a literal of shape %s stands where %s is wanted",
                  shape_text(stored), shape_text(shape));
        return NULL;
    }
    if (shape_is_tuple(shape)) {
        return read_tuple(proto, shape, err);
    }
    if (shape_is_array(shape)) {
        return read_array(proto, stored, shape, err);
    }
    return literal_create(shape, err); /* a token */
}
