/* What the classes of faults change modules with. */
#include <string.h>

#include "hlo/literal.h"
#include "hlo/mutate/mutate_internal.h"

/* Moves the last instruction of the computation to the place right before `near`. */
static void settle(struct computation *computation, const struct instruction *near)
{
    int last = computation->count - 1, at = last;
    struct instruction *settling = computation->instructions[last];
    while (at > 0 && computation->instructions[at - 1] != near) {
        at--;
    }
    at--;
    for (int i = last; i > at; i--) {
        computation->instructions[i] = computation->instructions[i - 1];
        computation->instructions[i]->id = i;
    }
    computation->instructions[at] = settling;
    settling->id = at;
}

struct instruction *edit_before(struct instruction *near, enum opcode opcode,
                                const struct shape *shape, int count,
                                struct instruction *const *operands)
{
    struct computation *computation = near->parent;
    struct arena *arena = &computation->module->arena;
    int number = computation->count;
    const char *name = arena_printf(arena, "fault.%d", number);
    while (computation_find(computation, name) != NULL) {
        name = arena_printf(arena, "fault.%d", ++number);
    }
    struct instruction *made = instruction_add(computation, name, opcode, shape, count, operands);
    settle(computation, near);
    return made;
}

struct instruction *edit_constant(struct instruction *near, const struct shape *shape, double value)
{
    const struct shape *scalar = shape_scalar(shape->type);
    struct instruction *constant = edit_before(near, OP_CONSTANT, scalar, 0, NULL);
    constant->literal = literal_zero(scalar, NULL);
    if (type_is_float(shape->type)) {
        literal_set_double(constant->literal, 0, value);
    } else if (type_is_complex(shape->type)) {
        literal_set_complex(constant->literal, 0, value, 0);
    } else {
        literal_set_int(constant->literal, 0, (int64_t)value);
    }
    return shape->rank == 0 ? constant : edit_unary(near, OP_BROADCAST, shape, constant);
}

struct instruction *edit_unary(struct instruction *near, enum opcode opcode,
                               const struct shape *shape, struct instruction *operand)
{
    struct instruction *made = edit_before(near, opcode, shape, 1, &operand);
    if (opcode == OP_BROADCAST) {
        edit_set_ints(made, ATTR_DIMENSIONS, 0, NULL);
    }
    return made;
}

struct instruction *edit_binary(struct instruction *near, enum opcode opcode, struct instruction *a,
                                struct instruction *b)
{
    struct instruction *operands[] = {a, b};
    return edit_before(near, opcode, a->shape, 2, operands);
}

struct instruction *edit_add(struct instruction *near, struct instruction *operand, double number)
{
    if (operand->shape->type == TYPE_PRED) {
        return edit_unary(near, OP_NOT, operand->shape, operand);
    }
    return edit_binary(near, number < 0 ? OP_SUBTRACT : OP_ADD, operand,
                       edit_constant(near, operand->shape, number < 0 ? -number : number));
}

const struct shape *edit_resized(const struct shape *shape, int dimension, int64_t size)
{
    int64_t dimensions[SHAPE_MAX_RANK];
    memcpy(dimensions, shape->dimensions, (size_t)shape->rank * sizeof *dimensions);
    dimensions[dimension] = size;
    return shape_array(shape->type, shape->rank, dimensions);
}

struct instruction *edit_without_last(struct instruction *near, struct instruction *operand,
                                      int dimension)
{
    const struct shape *shape = operand->shape;
    struct arena *arena = &near->parent->module->arena;
    struct slice_dimension *cut = arena_array(arena, (size_t)shape->rank, sizeof *cut);
    for (int d = 0; d < shape->rank; d++) {
        cut[d] = (struct slice_dimension){0, shape->dimensions[d] - (d == dimension), 1};
    }
    struct instruction *slice = edit_unary(
        near, OP_SLICE, edit_resized(shape, dimension, shape->dimensions[dimension] - 1), operand);
    instruction_set_attr(slice, (struct attr){.key = ATTR_SLICE, .slices = {shape->rank, cut}});
    return slice;
}

struct instruction *edit_last_filled(struct instruction *near, struct instruction *operand,
                                     int dimension, struct instruction *fill)
{
    const struct shape *shape = operand->shape;
    struct arena *arena = &near->parent->module->arena;
    struct padding_dimension *padding = arena_array(arena, (size_t)shape->rank, sizeof *padding);
    padding[dimension].high = 1;
    struct instruction *slice = edit_without_last(near, operand, dimension);
    struct instruction *operands[] = {
        slice, fill != NULL ? fill : edit_constant(near, shape_scalar(shape->type), 0)};
    struct instruction *pad = edit_before(near, OP_PAD, shape, 2, operands);
    instruction_set_attr(pad,
                         (struct attr){.key = ATTR_PADDING, .padding = {shape->rank, padding}});
    return pad;
}

/* --- in place --- */

void edit_become(struct instruction *instruction, enum opcode opcode, int count,
                 struct instruction *const *operands)
{
    instruction->opcode = opcode;
    instruction->operand_count = count;
    instruction->operands =
        arena_copy(&instruction->parent->module->arena, operands, (size_t)count * sizeof *operands);
    instruction->called_count = 0;
    instruction->called = NULL;
    int kept = 0;
    for (int i = 0; i < instruction->attr_count; i++) {
        enum attr_key key = instruction->attrs[i].key;
        if (key == ATTR_METADATA || key == ATTR_SHARDING) {
            instruction->attrs[kept++] = instruction->attrs[i];
        }
    }
    instruction->attr_count = kept;
}

bool edit_wraps(const struct instruction *instruction)
{
    static const enum opcode whole[] = {
        OP_PARAMETER,
        OP_CONSTANT,
        OP_GET_TUPLE_ELEMENT,
        OP_OPT_BARRIER,
        OP_DOMAIN,
        OP_ASYNC_DONE,
        OP_ASYNC_START,
        OP_ASYNC_UPDATE,
        OP_SEND,
        OP_RECV,
        OP_COPY_DONE,
        OP_ADD_DEPENDENCY,
        OP_INFEED,
        OP_PARTITION_ID,
        OP_REPLICA_ID,
        OP_ALL_GATHER_DONE,
        OP_ALL_REDUCE_DONE,
        OP_COLLECTIVE_PERMUTE_DONE,
        OP_ALL_REDUCE_START,
        OP_RNG_GET_AND_UPDATE_STATE,
    };
    const struct shape *shape = instruction->shape;
    if (!shape_is_array(shape) || shape_is_dynamic(shape) || shape_elements(shape) == 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        if (instruction->opcode == whole[i]) {
            return false;
        }
    }
    return true;
}

struct instruction *edit_move(struct instruction *instruction)
{
    struct instruction *moved = edit_before(instruction, instruction->opcode, instruction->shape,
                                            instruction->operand_count, instruction->operands);
    if (instruction->called_count > 0) {
        instruction_set_called(moved, instruction->called_count, instruction->called);
    }
    for (int i = 0; i < instruction->attr_count; i++) {
        instruction_set_attr(moved, instruction->attrs[i]);
    }
    moved->number = instruction->number;
    return moved;
}

static bool is_used(const struct computation *computation, const struct instruction *value,
                    const struct instruction *but)
{
    for (int i = 0; i < computation->count; i++) {
        const struct instruction *user = computation->instructions[i];
        for (int k = 0; user != but && k < user->operand_count; k++) {
            if (user->operands[k] == value) {
                return true;
            }
        }
        for (int k = 0; user != but && k < user->control_count; k++) {
            if (user->control_predecessors[k] == value) {
                return true;
            }
        }
    }
    return value == computation->root;
}

static bool may_die(const struct instruction *value, const struct instruction *user)
{
    if (is_used(value->parent, value, user)) {
        return true;
    }
    for (int k = 0; k < value->operand_count; k++) {
        if (!may_die(value->operands[k], value)) {
            return false;
        }
    }
    return value->opcode != OP_PARAMETER;
}

bool edit_drops(const struct instruction *instruction, int operand)
{
    return !instruction->parent->is_fusion || may_die(instruction->operands[operand], instruction);
}

void edit_sweep(struct computation *computation)
{
    int kept = computation->count;
    for (int i = computation->count - 1; computation->is_fusion && i >= 0; i--) {
        struct instruction *instruction = computation->instructions[i];
        if (instruction->opcode == OP_PARAMETER || is_used(computation, instruction, NULL)) {
            continue;
        }
        const struct attr *literal = attr_get(instruction, ATTR_LITERAL);
        literal_release(literal != NULL ? literal->literal : NULL);
        literal_release(instruction->literal);
        kept--;
        for (int j = i; j < kept; j++) {
            computation->instructions[j] = computation->instructions[j + 1];
            computation->instructions[j]->id = j;
        }
        computation->count = kept;
    }
}

int64_t *edit_ints(const struct instruction *instruction, struct ints ints)
{
    return arena_copy(&instruction->parent->module->arena, ints.values,
                      (size_t)ints.count * sizeof *ints.values);
}

void edit_set_ints(struct instruction *instruction, enum attr_key key, int count,
                   const int64_t *values)
{
    struct ints ints = {count, arena_copy(&instruction->parent->module->arena, values,
                                          (size_t)count * sizeof *values)};
    instruction_set_attr(instruction, (struct attr){.key = key, .ints = ints});
}

void edit_set_integer(struct instruction *instruction, enum attr_key key, int64_t value)
{
    instruction_set_attr(instruction, (struct attr){.key = key, .integer = value});
}

void edit_swap(struct instruction *instruction, int a, int b)
{
    struct instruction *held = instruction->operands[a];
    instruction->operands[a] = instruction->operands[b];
    instruction->operands[b] = held;
}

struct instruction edit_probe(const struct instruction *instruction)
{
    struct instruction probe = *instruction;
    probe.attrs = NULL;
    probe.attr_count = 0;
    for (int i = 0; i < instruction->attr_count; i++) {
        instruction_set_attr(&probe, instruction->attrs[i]);
    }
    return probe;
}
