/* Parts of a specimen: up to an instruction, an instruction alone, a called computation. */
#include <stdlib.h>

#include "hlo/base/error.h"
#include "hlo/shrink/shrink_internal.h"

/* Settles the part, or frees it. */
static bool finish_part(struct specimen *part, struct error *err)
{
    if (specimen_settle(part, err)) {
        return true;
    }
    specimen_finish(part);
    return false;
}

bool specimen_cut(const struct specimen *specimen, const struct instruction *instruction,
                  struct specimen *part, struct error *err)
{
    specimen_borrow(specimen, part);
    part->module->entry->root = part->module->entry->instructions[instruction->id];
    return finish_part(part, err);
}

bool specimen_alone(const struct specimen *specimen, const struct instruction *instruction,
                    struct literal *const *operands, struct specimen *part, struct error *err)
{
    specimen_borrow(specimen, part);
    struct computation *entry = part->module->entry;
    struct instruction *root = entry->instructions[instruction->id];
    for (int k = 0; k < root->operand_count; k++) {
        struct instruction *operand = root->operands[k];
        bool constant = operand->opcode == OP_CONSTANT;
        if (operand->opcode != OP_PARAMETER && !constant && operands[k] != NULL) {
            shrink_become_parameter(part, operand, literal_retain(operands[k]));
        }
    }
    root->control_count = 0;
    entry->root = root;
    return finish_part(part, err);
}

bool specimen_body(const struct specimen *specimen, const struct computation *computation,
                   struct literal *const *arguments, struct specimen *part, struct error *err)
{
    specimen_borrow(specimen, part);
    struct computation *body = part->module->computations[computation->id];
    for (int i = 0; i < part->argument_count; i++) {
        literal_release(part->arguments[i]);
    }
    free(part->arguments);
    part->argument_count = body->parameter_count;
    part->arguments = memory_zalloc(((size_t)body->parameter_count + 1) * sizeof *part->arguments);
    for (int i = 0; i < body->parameter_count; i++) {
        part->arguments[i] = literal_retain(arguments[i]);
    }
    part->module->entry = body;
    body->is_fusion = false;
    return finish_part(part, err);
}
