/* Data movement with a fixed index map: broadcast, transpose, slice, pad, reverse, concatenate,
 * iota. Each describes one walk (walk.h). */
#include <stdlib.h>
#include <string.h>

#include "interp/dynamic.h"
#include "interp/eval.h"
#include "interp/walk.h"

/* The result of one finished walk from operand 0, which begins at the given places. When the walk
 * is the identity the operand's data is passed on under the new shape. */
static struct literal *walked(const struct walk *walk, const struct instruction *instruction,
                              struct operands *operands, int64_t destination, int64_t source,
                              struct error *err)
{
    const struct shape *shape = instruction->shape;
    const struct literal *operand = operands->values[0];
    if (walk_is_run(walk) && walk->points == literal_elements(operand) &&
        walk->points == shape_elements(shape) && shape->dynamic == NULL &&
        operand->dynamic_sizes == NULL) {
        return literal_reshape_take(operand_pass(operands, 0), shape);
    }
    struct literal *result = literal_create(shape, err);
    if (result != NULL && !walk_literal(walk, result, destination, operand, source, err)) {
        literal_release(result);
        return NULL;
    }
    return result;
}

struct literal *eval_broadcast(struct evaluation *evaluation, const struct instruction *instruction,
                               struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct shape *from = operands->values[0]->shape, *to = instruction->shape;
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    int64_t from_strides[SHAPE_MAX_RANK], to_strides[SHAPE_MAX_RANK];
    int64_t source[SHAPE_MAX_RANK] = {0};
    walk_strides(from->rank, from->dimensions, from_strides);
    walk_strides(to->rank, to->dimensions, to_strides);
    for (int d = 0; d < from->rank; d++) {
        /* Dimensions that go to one dimension run along together: a diagonal. */
        source[dimensions.values[d]] += from->dimensions[d] == 1 ? 0 : from_strides[d];
    }
    struct walk walk;
    walk_begin(&walk);
    for (int d = 0; d < to->rank; d++) {
        walk_add(&walk, to->dimensions[d], source[d], to_strides[d]);
    }
    walk_finish(&walk);
    return walked(&walk, instruction, operands, 0, 0, err);
}

struct literal *eval_transpose(struct evaluation *evaluation, const struct instruction *instruction,
                               struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct shape *from = operands->values[0]->shape, *to = instruction->shape;
    struct ints permutation = attr_ints(instruction, ATTR_DIMENSIONS);
    int64_t from_strides[SHAPE_MAX_RANK], to_strides[SHAPE_MAX_RANK];
    walk_strides(from->rank, from->dimensions, from_strides);
    walk_strides(to->rank, to->dimensions, to_strides);
    struct walk walk;
    walk_begin(&walk);
    for (int d = 0; d < to->rank; d++) {
        walk_add(&walk, to->dimensions[d], from_strides[permutation.values[d]], to_strides[d]);
    }
    walk_finish(&walk);
    return walked(&walk, instruction, operands, 0, 0, err);
}

struct literal *eval_slice(struct evaluation *evaluation, const struct instruction *instruction,
                           struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct shape *from = operands->values[0]->shape, *to = instruction->shape;
    struct slices slices = attr_slices(instruction);
    int64_t from_strides[SHAPE_MAX_RANK], to_strides[SHAPE_MAX_RANK], source = 0;
    walk_strides(from->rank, from->dimensions, from_strides);
    walk_strides(to->rank, to->dimensions, to_strides);
    struct walk walk;
    walk_begin(&walk);
    for (int d = 0; d < to->rank; d++) {
        source += slices.dimensions[d].start * from_strides[d];
        walk_add(&walk, to->dimensions[d], slices.dimensions[d].stride * from_strides[d],
                 to_strides[d]);
    }
    walk_finish(&walk);
    return walked(&walk, instruction, operands, 0, source, err);
}

/* A reversed dynamic dimension is reversed within its run-time size.
 * Source: xla/service/dynamic_padder.cc (RewriteReverse). */
struct literal *eval_reverse(struct evaluation *evaluation, const struct instruction *instruction,
                             struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct literal *operand = operands->values[0];
    const struct shape *shape = operand->shape;
    struct ints reversed = attr_ints(instruction, ATTR_DIMENSIONS);
    int64_t strides[SHAPE_MAX_RANK], source_strides[SHAPE_MAX_RANK], source = 0;
    walk_strides(shape->rank, shape->dimensions, strides);
    memcpy(source_strides, strides, sizeof source_strides);
    for (int i = 0; i < reversed.count; i++) {
        int64_t d = reversed.values[i];
        source += (dynamic_size(operand, (int)d) - 1) * strides[d];
        source_strides[d] = -strides[d];
    }
    struct walk walk;
    walk_begin(&walk);
    for (int d = 0; d < shape->rank; d++) {
        walk_add(&walk, dynamic_size(operand, d), source_strides[d], strides[d]);
    }
    walk_finish(&walk);
    return walked(&walk, instruction, operands, 0, source, err);
}

/* Element k of a dimension of the operand lands at low + k * (interior + 1), if that is inside. */
struct literal *eval_pad(struct evaluation *evaluation, const struct instruction *instruction,
                         struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct shape *from = operands->values[0]->shape, *to = instruction->shape;
    struct padding padding = attr_padding(instruction);
    int64_t from_strides[SHAPE_MAX_RANK], to_strides[SHAPE_MAX_RANK];
    int64_t source = 0, destination = 0;
    walk_strides(from->rank, from->dimensions, from_strides);
    walk_strides(to->rank, to->dimensions, to_strides);
    struct walk walk;
    walk_begin(&walk);
    for (int d = 0; d < to->rank; d++) {
        int64_t low = padding.dimensions[d].low, step = padding.dimensions[d].interior + 1;
        int64_t first, last;
        walk_clip(from->dimensions[d], step, low, to->dimensions[d], &first, &last);
        source += first * from_strides[d];
        destination += (low + first * step) * to_strides[d];
        walk_add(&walk, last - first, from_strides[d], step * to_strides[d]);
    }
    walk_finish(&walk);
    int64_t elements = shape_elements(to);
    if (walk.points == elements) {
        return walked(&walk, instruction, operands, destination, source, err);
    }
    struct literal *result = literal_create(to, err);
    if (result == NULL) {
        return NULL;
    }
    struct walk everywhere;
    walk_begin(&everywhere);
    walk_add(&everywhere, elements, 0, 1);
    walk_finish(&everywhere);
    if (!walk_literal(&everywhere, result, 0, operands->values[1], 0, err) ||
        !walk_literal(&walk, result, destination, operands->values[0], source, err)) {
        literal_release(result);
        return NULL;
    }
    return result;
}

/* Along a dynamic dimension only what is within the run-time sizes is put together.
 * Source: xla/service/dynamic_padder.cc (RewriteDynamicConcat). */
struct literal *eval_concatenate(struct evaluation *evaluation,
                                 const struct instruction *instruction, struct operands *operands,
                                 struct error *err)
{
    (void)evaluation;
    if (operands->count == 1 && instruction->shape->dynamic == NULL) {
        return literal_reshape_take(operand_pass(operands, 0), instruction->shape);
    }
    const struct shape *to = instruction->shape;
    int along = (int)attr_ints(instruction, ATTR_DIMENSIONS).values[0];
    int64_t to_strides[SHAPE_MAX_RANK], from_strides[SHAPE_MAX_RANK], position = 0;
    walk_strides(to->rank, to->dimensions, to_strides);
    struct literal *result = literal_create(to, err);
    for (int i = 0; result != NULL && i < operands->count; i++) {
        const struct literal *operand = operands->values[i];
        const struct shape *from = operand->shape;
        walk_strides(from->rank, from->dimensions, from_strides);
        struct walk walk;
        walk_begin(&walk);
        for (int d = 0; d < to->rank; d++) {
            walk_add(&walk, d == along ? dynamic_size(operand, d) : from->dimensions[d],
                     from_strides[d], to_strides[d]);
        }
        walk_finish(&walk);
        if (!walk_literal(&walk, result, position * to_strides[along], operand, 0, err)) {
            literal_release(result);
            return NULL;
        }
        position += dynamic_size(operand, along);
    }
    return result;
}

/* --- iota --- */

#define COUNT_UP(type)                    \
    for (int64_t i = 0; i < count; i++) { \
        ((type *)data)[i] = (type)i;      \
    }

/* ramp[i] = i in the element type; one rounding for floats, wrapping for integers. */
static void fill_ramp(struct literal *ramp, int64_t count)
{
    void *data = literal_data(ramp);
    enum type type = ramp->shape->type;
    switch (type) {
    case TYPE_S32:
    case TYPE_U32:
        COUNT_UP(uint32_t)
        return;
    case TYPE_S64:
    case TYPE_U64:
        COUNT_UP(uint64_t)
        return;
    case TYPE_F32:
        COUNT_UP(float)
        return;
    default:
        for (int64_t i = 0; i < count; i++) {
            if (type_is_integer(type)) {
                literal_set_int(ramp, i, i);
            } else {
                literal_set_double(ramp, i, (double)i);
            }
        }
    }
}
#undef COUNT_UP

struct literal *eval_iota(struct evaluation *evaluation, const struct instruction *instruction,
                          struct operands *operands, struct error *err)
{
    (void)evaluation;
    (void)operands;
    const struct shape *shape = instruction->shape;
    int along = (int)attr_int(instruction, ATTR_IOTA_DIMENSION, 0);
    int64_t count = shape->dimensions[along], strides[SHAPE_MAX_RANK];
    struct literal *ramp = literal_create(shape_array(shape->type, 1, &count), err);
    if (ramp == NULL) {
        return NULL;
    }
    fill_ramp(ramp, count);
    if (count == shape_elements(shape) && shape->dynamic == NULL) {
        return literal_reshape_take(ramp, shape);
    }
    struct literal *result = literal_create(shape, err);
    walk_strides(shape->rank, shape->dimensions, strides);
    struct walk walk;
    walk_begin(&walk);
    for (int d = 0; d < shape->rank; d++) {
        walk_add(&walk, shape->dimensions[d], d == along, strides[d]);
    }
    walk_finish(&walk);
    if (result != NULL && !walk_literal(&walk, result, 0, ramp, 0, err)) {
        literal_release(result);
        result = NULL;
    }
    literal_release(ramp);
    return result;
}
