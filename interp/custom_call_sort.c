/* Custom calls that order elements: TopK and its approximations, CUB's radix sort.
 *
 * Sources: xla/service/topk_rewriter.cc (TopK), xla/service/gpu/thunk_emitter.cc (__gpu$TopK),
 * xla/hlo/builder/lib/approx_topk.cc (PartialReduce), jax/_src/lax/ann.py (ApproxTopK),
 * xla/backends/gpu/transforms/sort_rewriter.cc (cub_sort). */
#include <stdlib.h>
#include <string.h>

#include "interp/custom_call_internal.h"

/* (x): the values and indices of the largest elements of each line, as many as the result has; the
 * comparator that comes with it says GT. */
struct literal *custom_top_k(struct evaluation *evaluation, const struct instruction *instruction,
                             struct operands *operands, struct error *err)
{
    const struct shape *shape = instruction->shape;
    bool fits = custom_call_operand_is(operands, 0, TYPE_INVALID, -1) && operands->count == 1 &&
                shape_is_tuple(shape) && shape->count == 2 && shape_is_array(shape->elements[0]) &&
                shape_is_array(shape->elements[1]) && shape->elements[1]->type == TYPE_S32 &&
                operands->values[0]->shape->rank > 0 &&
                shape->elements[0]->rank == operands->values[0]->shape->rank &&
                shape->elements[0]->type == operands->values[0]->shape->type &&
                shape_same_dimensions(shape->elements[0], shape->elements[1]);
    int last = fits ? shape->elements[0]->rank - 1 : 0;
    for (int d = 0; fits && d < last; d++) {
        fits = shape->elements[0]->dimensions[d] == operands->values[0]->shape->dimensions[d];
    }
    if (!fits ||
        shape->elements[0]->dimensions[last] > operands->values[0]->shape->dimensions[last]) {
        return custom_call_fail(instruction, err, "to %s", shape_text(shape));
    }
    return eval_topk(evaluation, instruction, operands, err);
}
