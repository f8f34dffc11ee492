/* dynamic-slice and dynamic-update-slice: windows at run-time places. */
#include "interp/dynamic.h"
#include "interp/eval.h"
#include "interp/walk.h"

/* A start index, clamped so that the window lies inside: 0 ≤ start ≤ size − window. Unsigned
 * indices are unsigned. Source: HLO operation semantics, DynamicSlice. */
static int64_t clamped_start(const struct literal *indices, int64_t at, int64_t most)
{
    int64_t start = literal_get_int(indices, at);
    if (start < 0) {
        return type_kind(indices->shape->type) == KIND_UNSIGNED ? most : 0;
    }
    return start < most ? start : most;
}

/* Reads the start indices from operand `first` on: a scalar for each dimension, or one array of
 * rank 1. *specified: none of them is unspecified. */
static void read_starts(const struct operands *operands, int first, const struct shape *base,
                        const int64_t *window, int64_t *starts, bool *specified)
{
    *specified = true;
    for (int d = 0; d < base->rank; d++) {
        bool array = operands->values[first]->shape->rank == 1;
        const struct literal *indices = operands->values[array ? first : first + d];
        int64_t at = array ? d : 0;
        starts[d] = clamped_start(indices, at, base->dimensions[d] - window[d]);
        *specified &= !literal_is_unspecified(indices, at);
    }
}

struct literal *eval_dynamic_slice(struct evaluation *evaluation,
                                   const struct instruction *instruction, struct operands *operands,
                                   struct error *err)
{
    (void)evaluation;
    const struct literal *operand = operands->values[0];
    const struct shape *from = operand->shape, *to = instruction->shape;
    int64_t starts[SHAPE_MAX_RANK], from_strides[SHAPE_MAX_RANK], to_strides[SHAPE_MAX_RANK];
    bool specified;
    read_starts(operands, 1, from, to->dimensions, starts, &specified);
    walk_strides(from->rank, from->dimensions, from_strides);
    walk_strides(to->rank, to->dimensions, to_strides);
    struct walk walk;
    walk_begin(&walk);
    int64_t source = 0;
    for (int d = 0; d < to->rank; d++) {
        source += starts[d] * from_strides[d];
        walk_add(&walk, to->dimensions[d], from_strides[d], to_strides[d]);
    }
    walk_finish(&walk);
    struct literal *result = literal_create(to, err);
    if (result != NULL && (!walk_literal(&walk, result, 0, operand, source, err) ||
                           (!specified && !literal_mark_all_unspecified(result, err)))) {
        literal_release(result);
        return NULL;
    }
    return result;
}

/* In place when the array dies here. Of an update that is dynamic where the array is larger, only
 * the elements within its run-time sizes are written.
 * Source: xla/service/dynamic_padder.cc (RewriteDynamicUpdateSlice). */
struct literal *eval_dynamic_update_slice(struct evaluation *evaluation,
                                          const struct instruction *instruction,
                                          struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct literal *update = operands->values[1];
    const struct shape *base = operands->values[0]->shape, *window = update->shape;
    int64_t starts[SHAPE_MAX_RANK], base_strides[SHAPE_MAX_RANK], strides[SHAPE_MAX_RANK];
    bool specified;
    read_starts(operands, 2, base, window->dimensions, starts, &specified);
    walk_strides(base->rank, base->dimensions, base_strides);
    walk_strides(window->rank, window->dimensions, strides);
    struct walk walk;
    walk_begin(&walk);
    int64_t destination = 0;
    for (int d = 0; d < base->rank; d++) {
        destination += starts[d] * base_strides[d];
        bool whole = window->dimensions[d] == base->dimensions[d];
        walk_add(&walk, whole ? window->dimensions[d] : dynamic_size(update, d), strides[d],
                 base_strides[d]);
    }
    walk_finish(&walk);
    struct literal *result = operand_take(operands, 0, err);
    if (result != NULL && (!walk_literal(&walk, result, destination, update, 0, err) ||
                           (!specified && !literal_mark_all_unspecified(result, err)))) {
        literal_release(result);
        return NULL;
    }
    return result != NULL ? literal_reshape_take(result, instruction->shape) : NULL;
}
