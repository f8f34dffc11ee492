/* Constraints on inputs: the walk through the module. What each opcode asks is in demands.c. */
#include "compare/constraints.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/demands.h"
#include "hlo/base/arena.h"
#include "hlo/base/text.h"

/* Leaves that are visited once more for a call of their computation, in all. */
enum { VISITS_MOST = 1 << 22 };

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

/* Leaves of all values of a computation. */
static int64_t leaves_of(const struct computation *computation)
{
    int64_t leaves = 0;
    for (int i = 0; i < computation->count; i++) {
        leaves += shape_leaves(computation->instructions[i]->shape);
    }
    return leaves;
}

/* Of a computation, nothing demanded yet: [instruction][leaf], one block. */
static struct constraint **make_demands(const struct computation *computation)
{
    size_t count = (size_t)computation->count, leaves = (size_t)leaves_of(computation);
    struct constraint **values = memory_zalloc(count * sizeof *values + leaves * sizeof **values);
    struct constraint *next = (struct constraint *)(values + count);
    for (size_t i = 0; i < count; i++) {
        values[i] = next;
        next += shape_leaves(computation->instructions[i]->shape);
    }
    return values;
}

static bool is_demanding(const struct constraint *leaves, int count)
{
    for (int i = 0; i < count; i++) {
        const struct constraint *c = &leaves[i];
        if (c->has_range || c->nonzero || c->distinct || c->sorted || c->unique ||
            c->positive_definite || c->triangular || c->identity != IDENTITY_NONE ||
            c->fan_in > 0) {
            return true;
        }
    }
    return false;
}

static void visit_all(struct demands *demands, const struct computation *computation);

/* A call: what is asked of its result is asked of the callee's root, here and not in other calls.
 * JAX makes calls of single selects ("_where") and of gathers ("_take"). */
static void visit_call(struct demands *demands, const struct instruction *instruction)
{
    const struct computation *callee = instruction->called[0];
    const struct constraint *own = demand_of(demands, instruction);
    int leaves = shape_leaves(instruction->shape);
    int64_t visits = leaves_of(callee);
    bool within = shape_leaves(callee->root->shape) == leaves && is_demanding(own, leaves) &&
                  demands->visits_left >= visits;
    struct constraint **common = demands->values[callee->id];
    if (within) {
        demands->visits_left -= visits;
        demands->values[callee->id] = make_demands(callee);
        memcpy(demand_of(demands, callee->root), own, (size_t)leaves * sizeof *own);
        visit_all(demands, callee);
    }
    for (int i = 0; i < instruction->operand_count; i++) {
        merge_parameter(demands, callee, i, instruction->operands[i]);
    }
    if (within) {
        free(demands->values[callee->id]);
        demands->values[callee->id] = common;
    }
}

static void visit_control(struct demands *demands, const struct instruction *instruction)
{
    switch (instruction->opcode) {
    case OP_WHILE:
        merge_leaves(demand_of(demands, instruction->operands[0]), demand_of(demands, instruction),
                     shape_leaves(instruction->shape));
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
        visit_call(demands, instruction);
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

static void visit_all(struct demands *demands, const struct computation *computation)
{
    for (int i = computation->count - 1; i >= 0; i--) {
        visit(demands, computation->instructions[i]);
    }
}

void constraints_find(const struct module *module, bool demanding, struct constraints *constraints)
{
    struct demands demands = {.module = module, .visits_left = VISITS_MOST};
    demands.is_condition = memory_zalloc((size_t)module->count * sizeof(bool));
    demands.values = memory_zalloc((size_t)module->count * sizeof *demands.values);
    mark_conditions(&demands, module);
    for (int c = 0; c < module->count; c++) {
        demands.values[c] = make_demands(module->computations[c]);
        if (demanding) {
            visit_all(&demands, module->computations[c]);
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
    for (int c = 0; c < module->count; c++) {
        free(demands.values[c]);
    }
    free(demands.values);
    free(demands.is_condition);
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
