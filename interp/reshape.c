/* reshape, and the ops that read, set or reshape by run-time sizes. */
#include <stdlib.h>
#include <string.h>

#include "interp/dynamic.h"
#include "interp/eval.h"
#include "interp/walk.h"

/* Row-major walk over the elements within the run-time sizes. */
struct live {
    int rank;
    int64_t offset;
    int64_t index[SHAPE_MAX_RANK], sizes[SHAPE_MAX_RANK], strides[SHAPE_MAX_RANK];
};

static void live_start(struct live *live, const struct literal *literal)
{
    live->rank = literal->shape->rank;
    live->offset = 0;
    walk_strides(live->rank, literal->shape->dimensions, live->strides);
    for (int d = 0; d < live->rank; d++) {
        live->index[d] = 0;
        live->sizes[d] = dynamic_size(literal, d);
    }
}

static void live_next(struct live *live)
{
    for (int d = live->rank - 1; d >= 0; d--) {
        live->offset += live->strides[d];
        if (++live->index[d] < live->sizes[d]) {
            return;
        }
        live->offset -= live->sizes[d] * live->strides[d];
        live->index[d] = 0;
    }
}

/* Copies the live elements of `from` in row-major order to those of `to`. */
static void copy_live(const struct literal *from, struct literal *to)
{
    struct live source, destination;
    live_start(&source, from);
    live_start(&destination, to);
    int64_t count = dynamic_elements(from), room = dynamic_elements(to);
    size_t bytes = (size_t)type_bytes(to->shape->type);
    for (int64_t i = 0; i < count && i < room; i++) {
        memcpy((char *)literal_data(to) + (size_t)destination.offset * bytes,
               (const char *)literal_data(from) + (size_t)source.offset * bytes, bytes);
        if (literal_is_unspecified(from, source.offset)) {
            literal_mark_unspecified(to, destination.offset);
        }
        live_next(&source);
        live_next(&destination);
    }
}

/* The operand's live elements under a dynamic shape whose run-time sizes are given. */
static struct literal *reshape_live(const struct literal *operand, const struct shape *shape,
                                    const int64_t *sizes, struct error *err)
{
    struct literal *result = literal_zero(shape, err);
    if (result == NULL || !dynamic_set_sizes(result, sizes, err)) {
        literal_release(result);
        return NULL;
    }
    copy_live(operand, result);
    return result;
}

/* Run-time sizes of a reshape: dimensions fall into groups of equal products of bounds, and in a
 * group at most one dimension of the result is dynamic, which takes what is left.
 * Source: xla/service/dynamic_dimension_inference.cc (HandleReshape). */
static void reshaped_sizes(const struct literal *operand, const struct shape *shape, int64_t *sizes)
{
    const struct shape *from = operand->shape;
    memcpy(sizes, shape->dimensions, (size_t)shape->rank * sizeof *sizes);
    int f = 0, t = 0;
    while (t < shape->rank) {
        int64_t from_bound = 1, to_bound = 1, live = 1, fixed = 1;
        int open = -1;
        do {
            if (f < from->rank && (from_bound <= to_bound || t == shape->rank)) {
                from_bound *= from->dimensions[f];
                live *= dynamic_size(operand, f++);
            } else if (t < shape->rank) {
                to_bound *= shape->dimensions[t];
                if (shape_dimension_is_dynamic(shape, t)) {
                    open = t;
                } else {
                    fixed *= shape->dimensions[t];
                }
                t++;
            } else {
                break;
            }
        } while (from_bound != to_bound);
        if (open >= 0) {
            sizes[open] = fixed > 0 ? live / fixed : 0;
        }
    }
}

struct literal *eval_reshape(struct evaluation *evaluation, const struct instruction *instruction,
                             struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct shape *shape = instruction->shape;
    const struct literal *operand = operands->values[0];
    if (operand->dynamic_sizes == NULL && shape->dynamic == NULL) {
        return literal_reshape_take(operand_pass(operands, 0), shape);
    }
    int64_t sizes[SHAPE_MAX_RANK];
    reshaped_sizes(operand, shape, sizes);
    return reshape_live(operand, shape, sizes, err);
}

static int64_t clamp_size(int64_t size, int64_t bound)
{
    return size < 0 ? 0 : size < bound ? size : bound;
}

/* Operand 0 under run-time sizes that the other operands give, a scalar for each dimension. */
struct literal *eval_dynamic_reshape(struct evaluation *evaluation,
                                     const struct instruction *instruction,
                                     struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct shape *shape = instruction->shape;
    int64_t sizes[SHAPE_MAX_RANK];
    for (int d = 0; d < shape->rank; d++) {
        sizes[d] = clamp_size(literal_get_int(operands->values[d + 1], 0), shape->dimensions[d]);
    }
    return reshape_live(operands->values[0], shape, sizes, err);
}

struct literal *eval_set_dimension_size(struct evaluation *evaluation,
                                        const struct instruction *instruction,
                                        struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct shape *shape = instruction->shape;
    int dimension = (int)attr_ints(instruction, ATTR_DIMENSIONS).values[0];
    int64_t sizes[SHAPE_MAX_RANK];
    for (int d = 0; d < shape->rank; d++) {
        sizes[d] = dynamic_size(operands->values[0], d);
    }
    sizes[dimension] =
        clamp_size(literal_get_int(operands->values[1], 0), shape->dimensions[dimension]);
    struct literal *result = operand_take(operands, 0, err);
    if (result == NULL) {
        return NULL;
    }
    result = literal_reshape_take(result, shape);
    if (!dynamic_set_sizes(result, sizes, err)) {
        literal_release(result);
        return NULL;
    }
    return result;
}

struct literal *eval_get_dimension_size(struct evaluation *evaluation,
                                        const struct instruction *instruction,
                                        struct operands *operands, struct error *err)
{
    (void)evaluation;
    int dimension = (int)attr_ints(instruction, ATTR_DIMENSIONS).values[0];
    struct literal *result = literal_create(instruction->shape, err);
    if (result != NULL) {
        literal_set_int(result, 0, dynamic_size(operands->values[0], dimension));
    }
    return result;
}
