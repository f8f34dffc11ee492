/* Custom calls that check values, or show them: the ops of StableHLO's check and interpreter
 * dialects, which are no part of a computation but speak to whoever evaluates it
 * (interp_options.on_check). Sources: stablehlo/tests/CheckOps.td,
 * stablehlo/reference/InterpreterOps.td. */
#include "interp/custom_call_internal.h"

/* (), or a pred that says whether the check holds. */
struct literal *custom_check(struct evaluation *evaluation, const struct instruction *instruction,
                             struct operands *operands, struct error *err)
{
    const struct interp_options *options = &evaluation->options;
    const struct shape *shape = instruction->shape;
    bool is_empty = shape_is_tuple(shape) && shape->count == 0, holds = true;
    if (!is_empty && (shape->type != TYPE_PRED || shape->rank != 0)) {
        return custom_call_fail(instruction, err, "gives () or pred[], not %s", shape_text(shape));
    }
    if (options->on_check == NULL && !is_empty) {
        return custom_call_fail(instruction, err, "nobody is there to judge it");
    }
    if (options->on_check != NULL &&
        !options->on_check(options->context, instruction, operands->values, operands->count, &holds,
                           err)) {
        return NULL;
    }
    struct literal *result = literal_create(shape, err);
    if (result != NULL && !is_empty) {
        *(bool *)literal_data(result) = holds;
    }
    return result;
}
