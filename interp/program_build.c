/* From an embedded computation to the steps of a program. */
#include <stdlib.h>

#include "hlo/literal.h"
#include "interp/program_internal.h"
#include "interp/special.h"

/* Calls nested deeper than this have no program (they would cost stack), nor has what grows beyond
 * so many values when its calls are dissolved. */
enum { NESTING_LIMIT = 64, VALUE_LIMIT = 1 << 16 };

static bool build(struct program_builder *builder, const struct computation *computation,
                  const int *arguments, int *results, int depth);

/* One-element arrays and tuples of them. */
static bool is_scalar_like(const struct shape *shape)
{
    if (!shape_is_tuple(shape)) {
        return shape_is_array(shape) && shape->dynamic == NULL && shape_elements(shape) == 1;
    }
    for (int i = 0; i < shape->count; i++) {
        if (!is_scalar_like(shape->elements[i])) {
            return false;
        }
    }
    return true;
}

/* The values of each instruction's leaves while a computation is built. */
struct scope {
    const struct computation *computation;
    int **values; /* by instruction id */
};

static void copy_values(const int *from, int *to, int count)
{
    for (int i = 0; i < count; i++) {
        to[i] = from[i];
    }
}

/* The leaves of the operands one after the other. */
static void gather_operands(const struct scope *scope, const struct instruction *instruction,
                            int first, int *values)
{
    for (int k = first; k < instruction->operand_count; k++) {
        const struct instruction *operand = instruction->operands[k];
        int leaves = shape_leaves(operand->shape);
        copy_values(scope->values[operand->id], values, leaves);
        values += leaves;
    }
}

static bool build_constant(struct program_builder *builder, const struct literal *literal,
                           int *values)
{
    int leaves = shape_leaves(literal->shape);
    for (int i = 0; i < leaves; i++) {
        const struct literal *leaf = literal_leaf(literal, i);
        if (leaf->buffer->unspecified != NULL) {
            return false;
        }
        values[i] = program_add_constant(builder, leaf->shape->type, literal_data(leaf));
    }
    return true;
}

static int select_value(struct program_builder *builder, int which, int yes, int no)
{
    struct lane_step step;
    enum type type = program_value_type(builder, yes);
    if (program_value_type(builder, no) != type || !lane_select(type, &step)) {
        return -1;
    }
    return program_add_step(builder, OP_SELECT, &step, (int[]){which, yes, no});
}

/* The pred that says whether an s32 branch index is `branch`. */
static int branch_condition(struct program_builder *builder, int index, int branch)
{
    static const int32_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct lane_step step;
    if (branch >= (int)(sizeof numbers / sizeof numbers[0]) ||
        program_value_type(builder, index) != TYPE_S32 ||
        !lane_compare(DIRECTION_EQ, -1, TYPE_S32, &step)) {
        return -1;
    }
    int number = program_add_constant(builder, TYPE_S32, &numbers[branch]);
    return program_add_step(builder, OP_COMPARE, &step, (int[]){index, number});
}

/* All branches, then a selection: the last branch unless another one's number is the index. */
static bool build_conditional(struct program_builder *builder, const struct scope *scope,
                              const struct instruction *instruction, int *values, int depth)
{
    int leaves = shape_leaves(instruction->shape);
    int *branch_values = memory_zalloc((size_t)leaves * sizeof(int));
    int index = scope->values[instruction->operands[0]->id][0];
    bool is_pred = instruction->operands[0]->shape->type == TYPE_PRED;
    bool ok = true;
    for (int b = instruction->called_count - 1; b >= 0 && ok; b--) {
        const int *argument = scope->values[instruction->operands[b + 1]->id];
        bool last = b == instruction->called_count - 1;
        ok = build(builder, instruction->called[b], argument, last ? values : branch_values,
                   depth + 1);
        if (!ok || last) {
            continue;
        }
        int condition = is_pred ? index : branch_condition(builder, index, b);
        ok = condition >= 0;
        for (int i = 0; i < leaves && ok; i++) {
            values[i] = select_value(builder, condition, branch_values[i], values[i]);
            ok = values[i] >= 0;
        }
    }
    free(branch_values);
    return ok;
}

static bool build_call(struct program_builder *builder, const struct scope *scope,
                       const struct instruction *instruction, int *values, int depth)
{
    int leaves = 0;
    for (int k = 0; k < instruction->operand_count; k++) {
        leaves += shape_leaves(instruction->operands[k]->shape);
    }
    int *arguments = memory_zalloc((size_t)leaves * sizeof(int));
    gather_operands(scope, instruction, 0, arguments);
    bool ok = build(builder, instruction->called[0], arguments, values, depth + 1);
    free(arguments);
    return ok;
}

static bool build_instruction(struct program_builder *builder, const struct scope *scope,
                              const struct instruction *instruction, int *values, int depth)
{
    const struct instruction *first =
        instruction->operand_count > 0 ? instruction->operands[0] : NULL;
    const bool special = special_is_call(instruction);
    switch (special ? OPCODE_COUNT : instruction->opcode) {
    case OP_CONSTANT:
        return build_constant(builder, instruction->literal, values);
    case OP_TUPLE:
        gather_operands(scope, instruction, 0, values);
        return true;
    case OP_GET_TUPLE_ELEMENT: {
        int64_t index = attr_int(instruction, ATTR_INDEX, 0);
        int skipped = 0;
        for (int i = 0; i < index; i++) {
            skipped += shape_leaves(first->shape->elements[i]);
        }
        copy_values(scope->values[first->id] + skipped, values, shape_leaves(instruction->shape));
        return true;
    }
    case OP_CALL:
    case OP_FUSION:
    case OP_MAP:
        return build_call(builder, scope, instruction, values, depth);
    case OP_CONDITIONAL:
        return build_conditional(builder, scope, instruction, values, depth);
    case OP_OPT_BARRIER:
    case OP_DOMAIN:
    case OP_COPY:
    case OP_RESHAPE:
    case OP_TRANSPOSE:
    case OP_BROADCAST:
    case OP_REVERSE:
    case OP_SLICE:
    case OP_BITCAST:
        /* One element stays one element. */
        if (shape_leaves(first->shape) != shape_leaves(instruction->shape) ||
            (shape_is_array(first->shape) && first->shape->type != instruction->shape->type)) {
            return false;
        }
        copy_values(scope->values[first->id], values, shape_leaves(instruction->shape));
        return true;
    default: {
        int operands[LANE_MAX_OPERANDS];
        if (instruction->operand_count > LANE_MAX_OPERANDS || first == NULL) {
            return false;
        }
        for (int k = 0; k < instruction->operand_count; k++) {
            if (!shape_is_array(instruction->operands[k]->shape)) {
                return false;
            }
            operands[k] = scope->values[instruction->operands[k]->id][0];
        }
        values[0] = program_add_instruction(builder, instruction, operands);
        return values[0] >= 0;
    }
    }
}

/* What the root needs. */
static void mark_needed(const struct computation *computation, bool *needed)
{
    needed[computation->root->id] = true;
    for (int i = computation->count - 1; i >= 0; i--) {
        const struct instruction *instruction = computation->instructions[i];
        for (int k = 0; needed[i] && k < instruction->operand_count; k++) {
            needed[instruction->operands[k]->id] = true;
        }
    }
}

static bool build_scope(struct program_builder *builder, struct scope *scope, const bool *needed,
                        const int *arguments, int depth)
{
    const struct computation *computation = scope->computation;
    for (int i = 0; i < computation->parameter_count; i++) {
        const struct instruction *parameter = computation->parameters[i];
        int leaves = shape_leaves(parameter->shape);
        scope->values[parameter->id] = memory_zalloc((size_t)(leaves + 1) * sizeof(int));
        copy_values(arguments, scope->values[parameter->id], leaves);
        arguments += leaves;
    }
    for (int i = 0; i < computation->count; i++) {
        const struct instruction *instruction = computation->instructions[i];
        if (!needed[i] || instruction->opcode == OP_PARAMETER) {
            continue;
        }
        if (!is_scalar_like(instruction->shape)) {
            return false;
        }
        int leaves = shape_leaves(instruction->shape);
        scope->values[i] = memory_zalloc((size_t)(leaves + 1) * sizeof(int));
        if (!build_instruction(builder, scope, instruction, scope->values[i], depth)) {
            return false;
        }
    }
    return true;
}

/* Adds the steps of a computation applied to the values `arguments` (the leaves of its
 * parameters); results are the values of the leaves of its root. */
static bool build(struct program_builder *builder, const struct computation *computation,
                  const int *arguments, int *results, int depth)
{
    if (depth > NESTING_LIMIT || program_value_count(builder) > VALUE_LIMIT) {
        return false;
    }
    size_t count = (size_t)computation->count;
    struct scope scope = {computation, memory_zalloc(count * sizeof(int *))};
    bool *needed = memory_zalloc(count);
    mark_needed(computation, needed);
    bool ok = build_scope(builder, &scope, needed, arguments, depth);
    if (ok) {
        const struct instruction *root = computation->root;
        copy_values(scope.values[root->id], results, shape_leaves(root->shape));
    }
    for (size_t i = 0; i < count; i++) {
        free(scope.values[i]);
    }
    free(scope.values);
    free(needed);
    return ok;
}

/* Inputs and outputs alone, for a computation that has to be evaluated. */
static bool add_inputs(struct program_builder *builder, const struct shape *shape)
{
    if (shape_is_tuple(shape)) {
        for (int i = 0; i < shape->count; i++) {
            if (!add_inputs(builder, shape->elements[i])) {
                return false;
            }
        }
        return true;
    }
    program_add_input(builder, shape->type);
    return true;
}

static void add_outputs_alone(struct program_builder *builder, const struct shape *shape)
{
    static const uint64_t zero[2];
    for (int i = 0; i < shape->count; i++) {
        add_outputs_alone(builder, shape->elements[i]);
    }
    if (!shape_is_tuple(shape)) {
        struct lane_step step;
        lane_copy(shape->type, &step);
        int constant = program_add_constant(builder, shape->type, zero);
        program_add_output(builder, program_add_step(builder, OP_COPY, &step, &constant));
    }
}

bool program_build_computation(struct program_builder *builder,
                               const struct computation *computation)
{
    int leaves = 0, results = shape_leaves(computation->root->shape);
    for (int i = 0; i < computation->parameter_count; i++) {
        if (!is_scalar_like(computation->parameters[i]->shape)) {
            return false;
        }
    }
    if (!is_scalar_like(computation->root->shape)) {
        return false;
    }
    for (int i = 0; i < computation->parameter_count; i++) {
        add_inputs(builder, computation->parameters[i]->shape);
        leaves += shape_leaves(computation->parameters[i]->shape);
    }
    int *arguments = memory_zalloc((size_t)(leaves + 1) * sizeof(int));
    int *values = memory_zalloc((size_t)(results + 1) * sizeof(int));
    for (int i = 0; i < leaves; i++) {
        arguments[i] = i;
    }
    bool ok = build(builder, computation, arguments, values, 0);
    if (ok) {
        for (int i = 0; i < results; i++) {
            program_add_output(builder, values[i]);
        }
    } else {
        add_outputs_alone(builder, computation->root->shape);
    }
    free(arguments);
    free(values);
    return ok;
}
