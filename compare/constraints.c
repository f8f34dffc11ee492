/* Constraints on inputs: the walk through the module. What each opcode asks is in demands.c. */
#include "compare/constraints.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/demands.h"
#include "hlo/base/arena.h"
#include "hlo/base/text.h"

struct constraint *demand_of(struct demands *demands, const struct instruction *instruction)
{
    return demands->values[instruction->parent->id][instruction->id];
}

void demand_range(struct constraint *constraint, double low, double high, const char *why)
{
    if (!constraint->has_range) {
        constraint->has_range = true;
        constraint->low = low;
        constraint->high = high;
    } else if (fmax(constraint->low, low) <= fmin(constraint->high, high)) {
        constraint->low = fmax(constraint->low, low);
        constraint->high = fmin(constraint->high, high);
    } /* else: the demands contradict each other; the first stays */
    if (constraint->why == NULL) {
        constraint->why = why;
    }
}

void demand_merge(struct constraint *into, const struct constraint *from)
{
    const char *why = into->why != NULL ? into->why : from->why;
    if (from->has_range) {
        demand_range(into, from->low, from->high, from->why);
    }
    into->nonzero |= from->nonzero;
    into->distinct |= from->distinct;
    into->sorted |= from->sorted;
    into->unique |= from->unique;
    into->positive_definite |= from->positive_definite;
    into->triangular |= from->triangular;
    if (into->identity == IDENTITY_NONE) {
        into->identity = from->identity;
    }
    if (from->fan_in > into->fan_in) {
        into->fan_in = from->fan_in;
    }
    into->why = why;
}

/* Leaves before element `index` of a tuple. */
static int leaf_offset(const struct shape *shape, int index)
{
    int leaves = 0;
    for (int i = 0; i < index; i++) {
        leaves += shape_leaves(shape->elements[i]);
    }
    return leaves;
}

static void merge_leaves(struct constraint *into, const struct constraint *from, int leaves)
{
    for (int i = 0; i < leaves; i++) {
        demand_merge(&into[i], &from[i]);
    }
}

/* What a called computation asks of its parameter is asked of the operand. */
static void merge_parameter(struct demands *demands, const struct computation *computation,
                            int number, const struct instruction *operand)
{
    if (number >= computation->parameter_count) {
        return;
    }
    const struct instruction *parameter = computation->parameters[number];
    int leaves = shape_leaves(operand->shape);
    if (shape_leaves(parameter->shape) == leaves) {
        merge_leaves(demand_of(demands, operand), demand_of(demands, parameter), leaves);
    }
}

static void visit_control(struct demands *demands, const struct instruction *instruction)
{
    switch (instruction->opcode) {
    case OP_WHILE:
        for (int c = 0; c < instruction->called_count; c++) {
            merge_parameter(demands, instruction->called[c], 0, instruction->operands[0]);
        }
        break;
    case OP_CONDITIONAL:
        for (int c = 0; c < instruction->called_count && c + 1 < instruction->operand_count; c++) {
            merge_parameter(demands, instruction->called[c], 0, instruction->operands[c + 1]);
        }
        break;
    default:
        for (int i = 0; i < instruction->operand_count; i++) {
            merge_parameter(demands, instruction->called[0], i, instruction->operands[i]);
        }
        break;
    }
}

static void visit(struct demands *demands, const struct instruction *instruction)
{
    struct constraint *own = demand_of(demands, instruction);
    switch (instruction->opcode) {
    case OP_TUPLE:
        for (int i = 0; i < instruction->operand_count; i++) {
            merge_leaves(demand_of(demands, instruction->operands[i]),
                         own + leaf_offset(instruction->shape, i),
                         shape_leaves(instruction->operands[i]->shape));
        }
        break;
    case OP_GET_TUPLE_ELEMENT: {
        const struct instruction *operand = instruction->operands[0];
        int index = (int)attr_int(instruction, ATTR_INDEX, 0);
        if (shape_is_tuple(operand->shape) && index < operand->shape->count) {
            merge_leaves(demand_of(demands, operand) + leaf_offset(operand->shape, index), own,
                         shape_leaves(instruction->shape));
        }
        break;
    }
    case OP_CALL:
    case OP_FUSION:
    case OP_ASYNC_START:
    case OP_MAP:
        if (instruction->called_count > 0) {
            visit_control(demands, instruction);
        }
        break;
    case OP_WHILE:
    case OP_CONDITIONAL:
        visit_control(demands, instruction);
        demands_of_opcode(demands, instruction, own);
        break;
    default:
        demands_of_opcode(demands, instruction, own);
        break;
    }
}

/* Integer scalars that the condition of a loop compares must be small, or loops take for ever. */
static void mark_conditions(struct demands *demands, const struct module *module)
{
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *instruction = computation->instructions[i];
            if (instruction->opcode == OP_WHILE && instruction->called_count == 2) {
                demands->is_condition[instruction->called[1]->id] = true;
            }
        }
    }
}

void constraints_find(const struct module *module, bool demanding, struct constraints *constraints)
{
    struct arena arena;
    arena_init(&arena);
    struct demands demands = {.module = module};
    demands.is_condition = arena_array(&arena, (size_t)module->count, sizeof(bool));
    demands.values = arena_array(&arena, (size_t)module->count, sizeof *demands.values);
    mark_conditions(&demands, module);
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        demands.values[c] =
            arena_array(&arena, (size_t)computation->count, sizeof *demands.values[c]);
        for (int i = 0; i < computation->count; i++) {
            int leaves = shape_leaves(computation->instructions[i]->shape);
            demands.values[c][i] =
                arena_array(&arena, (size_t)leaves, sizeof *demands.values[c][i]);
        }
        for (int i = computation->count - 1; demanding && i >= 0; i--) {
            visit(&demands, computation->instructions[i]);
        }
    }
    const struct computation *entry = module->entry;
    constraints->parameter_count = entry->parameter_count;
    constraints->leaves =
        memory_zalloc(((size_t)entry->parameter_count + 1) * sizeof *constraints->leaves);
    for (int i = 0; i < entry->parameter_count; i++) {
        const struct instruction *parameter = entry->parameters[i];
        size_t bytes = (size_t)shape_leaves(parameter->shape) * sizeof(struct constraint);
        constraints->leaves[i] = memory_alloc(bytes);
        memcpy(constraints->leaves[i], demand_of(&demands, parameter), bytes);
    }
    arena_finish(&arena);
}

void constraints_finish(struct constraints *constraints)
{
    for (int i = 0; i < constraints->parameter_count; i++) {
        free(constraints->leaves[i]);
    }
    free(constraints->leaves);
    memset(constraints, 0, sizeof *constraints);
}

void constraints_print(const struct module *module, const struct constraints *constraints,
                       struct text *out)
{
    for (int i = 0; i < constraints->parameter_count; i++) {
        int leaves = shape_leaves(module->entry->parameters[i]->shape);
        for (int k = 0; k < leaves; k++) {
            const struct constraint *c = &constraints->leaves[i][k];
            if (c->why == NULL) {
                continue;
            }
            text_printf(out, "parameter %d", i);
            if (leaves > 1) {
                text_printf(out, " leaf %d", k);
            }
            if (c->has_range) {
                text_printf(out, " in [%g, %g]", c->low, c->high);
            }
            text_printf(out, ": %s\n", c->why);
        }
    }
}
