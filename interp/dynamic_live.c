/* Ops that have nothing to put in place of elements beyond the run-time sizes (a sort along a
 * dynamic dimension, the mean of a batch, a factorisation): they are evaluated on the live part, as
 * arrays of that size, and the results put back under the bounds.
 * Source, as far as XLA has rules: xla/service/dynamic_padder.cc (RewriteDynamicSort). */
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/infer.h"
#include "interp/dynamic.h"
#include "interp/walk.h"

bool dynamic_runs_live(enum opcode opcode)
{
    switch (opcode) {
    case OP_BATCH_NORM_GRAD:
    case OP_BATCH_NORM_INFERENCE:
    case OP_BATCH_NORM_TRAINING:
    case OP_CHOLESKY:
    case OP_FFT:
    case OP_RAGGED_DOT:
    case OP_SCALED_DOT:
    case OP_SORT:
    case OP_TOPK:
    case OP_TRIANGULAR_SOLVE:
        return true;
    default:
        return false;
    }
}

bool dynamic_live_concerns(const struct instruction *instruction, const struct operands *operands)
{
    if (!dynamic_runs_live(instruction->opcode)) {
        return false;
    }
    for (int i = 0; i < operands->count; i++) {
        if (shape_is_array(operands->values[i]->shape) && dynamic_is_partial(operands->values[i])) {
            return true;
        }
    }
    return false;
}

/* Copies the box of these sizes at the origin from one array to another. */
static bool copy_box(const struct literal *from, struct literal *to, const int64_t *sizes,
                     struct error *err)
{
    int rank = from->shape->rank;
    int64_t source[SHAPE_MAX_RANK], destination[SHAPE_MAX_RANK];
    walk_strides(rank, from->shape->dimensions, source);
    walk_strides(rank, to->shape->dimensions, destination);
    struct walk walk;
    walk_begin(&walk);
    for (int d = 0; d < rank; d++) {
        walk_add(&walk, sizes[d], source[d], destination[d]);
    }
    walk_finish(&walk);
    return walk_literal(&walk, to, 0, from, 0, err);
}

struct live_sizes {
    int64_t of[SHAPE_MAX_RANK];
};

static void lower(int64_t *a, int64_t b)
{
    *a = b < *a ? b : *a;
}

/* Gives dimensions [0, count) of two operands the smaller size of the two. */
static void share(struct live_sizes *sizes, int a, int b, int count)
{
    for (int d = 0; d < count; d++) {
        lower(&sizes[a].of[d], sizes[b].of[d]);
        lower(&sizes[b].of[d], sizes[a].of[d]);
    }
}

/* The sizes to evaluate on: the run-time ones, but where operands go side by side, the least. */
static void find_sizes(const struct instruction *instruction, const struct operands *operands,
                       struct live_sizes *sizes)
{
    for (int i = 0; i < operands->count; i++) {
        for (int d = 0; d < operands->values[i]->shape->rank; d++) {
            sizes[i].of[d] = dynamic_size(operands->values[i], d);
        }
    }
    int rank = operands->values[0]->shape->rank;
    if (instruction->opcode == OP_SORT) {
        for (int i = 1; i < 2 * operands->count; i++) { /* twice: until all have the least */
            share(sizes, 0, i % operands->count, rank);
        }
    } else if (instruction->opcode == OP_TRIANGULAR_SOLVE) {
        share(sizes, 0, 1, rank - 2);
    } else if (instruction->opcode == OP_BATCH_NORM_GRAD) {
        share(sizes, 0, 4, rank);
    }
    /* The vectors of a batch norm are as long as the dimension of features. */
    const struct attr *feature = attr_get(instruction, ATTR_FEATURE_INDEX);
    for (int i = 1; feature != NULL && i < operands->count; i++) {
        if (operands->values[i]->shape->rank == 1) {
            lower(&sizes[i].of[0], sizes[0].of[feature->integer]);
        }
    }
}

/* The part of these sizes as an array of its own. */
static struct literal *live_part(const struct literal *literal, const int64_t *sizes,
                                 struct error *err)
{
    if (!shape_is_array(literal->shape)) {
        return literal_retain(literal);
    }
    struct literal *part =
        literal_create(shape_array(literal->shape->type, literal->shape->rank, sizes), err);
    if (part != NULL && !copy_box(literal, part, sizes, err)) {
        literal_release(part);
        return NULL;
    }
    return part;
}

/* A value under the bounds of a shape; what is beyond it is zero and unspecified. */
static struct literal *under_bounds(const struct literal *part, const struct shape *shape,
                                    struct error *err)
{
    if (shape_is_tuple(shape)) {
        struct literal **elements = memory_zalloc((size_t)(shape->count + 1) * sizeof *elements);
        bool ok = true;
        for (int i = 0; i < shape->count && ok; i++) {
            elements[i] = under_bounds(part->elements[i], shape->elements[i], err);
            ok = elements[i] != NULL;
        }
        struct literal *tuple = ok ? literal_tuple_take(shape, elements) : NULL;
        for (int i = 0; i < shape->count && !ok; i++) {
            literal_release(elements[i]);
        }
        free(elements);
        return tuple;
    }
    struct literal *result = literal_zero(shape, err);
    const int64_t *sizes = part->shape->dimensions;
    if (result != NULL &&
        (!copy_box(part, result, sizes, err) || !dynamic_clear_outside(result, sizes, err) ||
         !dynamic_set_sizes(result, sizes, err))) {
        literal_release(result);
        return NULL;
    }
    return result;
}

/* Does the value fit under the shape's bounds? */
static bool fits(const struct shape *part, const struct shape *shape)
{
    if (part->count != shape->count || part->rank != shape->rank || part->type != shape->type) {
        return false;
    }
    for (int i = 0; i < part->count; i++) {
        if (!fits(part->elements[i], shape->elements[i])) {
            return false;
        }
    }
    for (int d = 0; d < part->rank; d++) {
        if (part->dimensions[d] > shape->dimensions[d]) {
            return false;
        }
    }
    return true;
}

/* The inferred shape with the types of the written one. */
static const struct shape *typed(const struct shape *inferred, const struct shape *written)
{
    if (!shape_is_tuple(inferred)) {
        return shape_with_type(inferred, written->type);
    }
    const struct shape **elements = memory_alloc((size_t)inferred->count * sizeof *elements);
    for (int i = 0; i < inferred->count; i++) {
        elements[i] = typed(inferred->elements[i], written->elements[i]);
    }
    const struct shape *tuple = shape_tuple(inferred->count, elements);
    free(elements);
    return tuple;
}

/* The instruction on live parts, whose shapes decide that of its result. */
static struct literal *evaluate_live(struct evaluation *evaluation, eval_function *evaluate,
                                     const struct instruction *instruction,
                                     const struct instruction *live, struct operands *operands,
                                     struct error *err)
{
    struct error problem = {0};
    struct instruction small = *live;
    const struct shape *shape = infer_shape(live, &problem);
    if (shape == NULL || !fits(typed(shape, instruction->shape), instruction->shape)) {
        error_set(err, ERROR_UNIMPLEMENTED, "the run-time sizes do not fit: %s",
                  shape == NULL ? problem.message : shape_text(shape));
        return NULL;
    }
    small.shape = typed(shape, instruction->shape);
    struct literal *part = evaluate(evaluation, &small, operands, err);
    struct literal *result = part != NULL ? under_bounds(part, instruction->shape, err) : NULL;
    literal_release(part);
    return result;
}

struct literal *dynamic_live(struct evaluation *evaluation, eval_function *evaluate,
                             const struct instruction *instruction, const struct operands *operands,
                             struct error *err)
{
    int count = operands->count;
    struct instruction *inputs = memory_zalloc((size_t)count * sizeof *inputs);
    struct instruction **input_list = memory_zalloc((size_t)count * sizeof *input_list);
    struct literal **values = memory_zalloc((size_t)count * sizeof *values);
    bool *dying = memory_zalloc((size_t)count);
    struct live_sizes *sizes = memory_zalloc((size_t)count * sizeof *sizes);
    find_sizes(instruction, operands, sizes);
    bool complete = true;
    for (int i = 0; i < count && complete; i++) {
        values[i] = live_part(operands->values[i], sizes[i].of, err);
        complete = values[i] != NULL;
        inputs[i] = *instruction->operands[i];
        inputs[i].shape = complete ? values[i]->shape : inputs[i].shape;
        input_list[i] = &inputs[i];
        dying[i] = true;
    }
    struct instruction live = *instruction;
    live.operands = input_list;
    struct operands parts = {count, values, dying};
    struct literal *result =
        complete ? evaluate_live(evaluation, evaluate, instruction, &live, &parts, err) : NULL;
    for (int i = 0; i < count; i++) {
        literal_release(values[i]);
    }
    free(sizes);
    free(inputs);
    free(input_list);
    free(values);
    free(dying);
    return result;
}
