/* What the golden cannot evaluate, told before it tries. */
#include <stdlib.h>

#include "interp/custom_call.h"
#include "interp/eval.h"

static bool has_unbounded(const struct shape *shape)
{
    for (int i = 0; i < shape->count; i++) {
        if (has_unbounded(shape->elements[i])) {
            return true;
        }
    }
    for (int d = 0; d < shape->rank; d++) {
        if (shape->dimensions[d] == DIMENSION_UNBOUNDED) {
            return true;
        }
    }
    return false;
}

/* Why not this instruction, or NULL. */
static const char *why_unsupported(const struct instruction *instruction)
{
    if (has_unbounded(instruction->shape)) {
        return "a dimension without a bound has no size";
    }
    switch (instruction->opcode) {
    case OP_CUSTOM_CALL:
        return custom_call_refusal(attr_string(instruction, ATTR_CUSTOM_CALL_TARGET));
    case OP_INFEED:
        return "nothing feeds the module";
    case OP_RECV:
        return attr_bool(instruction, ATTR_IS_HOST_TRANSFER, false) ? "the host sends nothing"
                                                                    : NULL;
    default:
        return eval_function_of(instruction->opcode) == NULL ? "the golden has no evaluator for it"
                                                             : NULL;
    }
}

const struct instruction *interp_unsupported(const struct module *module, const char **why)
{
    /* Callees stand before callers, so that one pass from the entry down finds what is reached. */
    bool *reached = memory_zalloc((size_t)module->count);
    reached[module->entry->id] = true;
    const struct instruction *found = NULL;
    for (int c = module->count - 1; c >= 0; c--) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; reached[c] && i < computation->count; i++) {
            const struct instruction *instruction = computation->instructions[i];
            for (int k = 0; k < instruction->called_count; k++) {
                reached[instruction->called[k]->id] = true;
            }
            const char *reason = why_unsupported(instruction);
            if (reason != NULL && found == NULL) {
                found = instruction;
                *why = reason;
            }
        }
    }
    free(reached);
    return found;
}
