/* Parts of a specimen: up to an instruction, an instruction alone, a called computation. */
#include <stdlib.h>

#include "hlo/base/arena.h"
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

/* The instruction of the part becomes a parameter with the values of `old`, one a set, if there are
 * such for all sets. */
static void become_parameter(struct specimen *part, struct instruction *instruction,
                             shrink_value *value, void *context, const struct instruction *old)
{
    int sets = specimen_sets(part), count = 0;
    struct literal **arguments = memory_zalloc(((size_t)sets + 1) * sizeof(struct literal *));
    while (count < sets && (arguments[count] = value(context, old, count)) != NULL) {
        count++;
    }
    if (count == sets) {
        shrink_become_parameter(part, instruction, arguments);
    }
    for (int s = 0; count < sets && s < count; s++) {
        literal_release(arguments[s]);
    }
    free(arguments);
}

bool specimen_cut_between(const struct specimen *specimen, const bool *given, shrink_value *value,
                          void *context, const struct instruction *instruction,
                          struct specimen *part, struct error *err)
{
    const struct computation *from = specimen->module->entry;
    specimen_borrow(specimen, part);
    struct computation *entry = part->module->entry;
    for (int i = 0; i < from->count; i++) {
        if (given[i]) {
            become_parameter(part, entry->instructions[i], value, context, from->instructions[i]);
        }
    }
    entry->root = entry->instructions[instruction->id];
    return finish_part(part, err);
}

bool specimen_is_chain(const struct instruction *operand)
{
    switch (operand->opcode) {
    case OP_ASYNC_START:
    case OP_ASYNC_UPDATE:
    case OP_ALL_GATHER_START:
    case OP_ALL_REDUCE_START:
    case OP_COLLECTIVE_PERMUTE_START:
    case OP_COPY_START:
    case OP_SEND:
    case OP_RECV:
        return true;
    default:
        return false;
    }
}

/* Makes parameters of the operands. */
static void give_operands(struct specimen *part, struct instruction *instruction,
                          struct literal *const *const *values)
{
    int sets = specimen_sets(part);
    instruction->control_count = 0;
    for (int k = 0; k < instruction->operand_count; k++) {
        struct instruction *operand = instruction->operands[k];
        if (specimen_is_chain(operand)) {
            give_operands(part, operand, values);
            continue;
        }
        struct literal **given = memory_zalloc((size_t)sets * sizeof *given);
        bool all = operand->opcode != OP_PARAMETER && operand->opcode != OP_CONSTANT &&
                   operand->shape->type != TYPE_TOKEN;
        for (int s = 0; s < sets; s++) {
            given[s] = values[s][operand->id];
            all &= given[s] != NULL;
        }
        for (int s = 0; all && s < sets; s++) {
            literal_retain(given[s]);
        }
        if (all) {
            shrink_become_parameter(part, operand, given);
        }
        free(given);
    }
}

bool specimen_alone(const struct specimen *specimen, const struct instruction *instruction,
                    struct literal *const *const *values, struct specimen *part, struct error *err)
{
    specimen_borrow(specimen, part);
    struct computation *entry = part->module->entry;
    struct instruction *root = entry->instructions[instruction->id];
    give_operands(part, root, values);
    entry->root = root;
    return finish_part(part, err);
}

bool specimen_body(const struct specimen *specimen, const struct computation *computation,
                   struct literal *const *arguments, struct specimen *part, struct error *err)
{
    specimen_borrow(specimen, part);
    struct computation *body = part->module->computations[computation->id];
    for (int i = 0; i < specimen_argument_total(part); i++) {
        literal_release(part->arguments[i]);
    }
    free(part->arguments);
    part->argument_count = body->parameter_count;
    int total = specimen_argument_total(part);
    part->arguments = memory_zalloc(((size_t)total + 1) * sizeof *part->arguments);
    for (int i = 0; i < total; i++) {
        part->arguments[i] = literal_retain(arguments[i]);
    }
    part->module->entry = body;
    body->is_fusion = false;
    return finish_part(part, err);
}

bool specimen_of_device(const struct specimen *specimen, int set, struct specimen *part,
                        struct error *err)
{
    specimen_borrow(specimen, part);
    shrink_keep_sets(part, set, 1);
    part->module->config.replica_count = part->module->config.partition_count = 1;
    return finish_part(part, err);
}

static struct literal *constant_value(void *context, const struct instruction *constant, int set)
{
    (void)context;
    (void)set;
    return literal_retain(constant->literal);
}

bool specimen_lift_constants(const struct specimen *specimen, struct specimen *part,
                             struct error *err)
{
    specimen_borrow(specimen, part);
    struct computation *entry = part->module->entry;
    for (int i = 0; i < entry->count; i++) {
        struct instruction *constant = entry->instructions[i];
        if (constant->opcode == OP_CONSTANT && shape_is_array(constant->shape) &&
            constant != entry->root) {
            become_parameter(part, constant, constant_value, NULL, constant);
        }
    }
    return finish_part(part, err);
}

bool specimen_context(const struct specimen *specimen, int depth, shrink_value *value,
                      void *context, struct specimen *part, struct error *err)
{
    const struct computation *from = specimen->module->entry;
    int *distance = memory_zalloc(((size_t)from->count + 1) * sizeof *distance);
    for (int i = 0; i < from->count; i++) {
        distance[i] = from->count + 1;
    }
    distance[from->root->id] = 0;
    for (int i = from->root->id; i >= 0; i--) { /* users come after what they use */
        const struct instruction *user = from->instructions[i];
        for (int k = 0; k < user->operand_count; k++) {
            int *own = &distance[user->operands[k]->id];
            *own = *own < distance[i] + 1 ? *own : distance[i] + 1;
        }
    }
    bool *given = memory_zalloc((size_t)from->count + 1);
    for (int i = 0; i < from->count; i++) {
        const struct instruction *old = from->instructions[i];
        given[i] = distance[i] > depth && distance[i] <= from->count &&
                   old->opcode != OP_PARAMETER && old->opcode != OP_CONSTANT &&
                   shape_is_array(old->shape) && !shape_is_dynamic(old->shape);
    }
    bool ok = specimen_cut_between(specimen, given, value, context, from->root, part, err);
    free(given);
    free(distance);
    return ok;
}
