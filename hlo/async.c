/* Chains of asynchronous instructions: from a value back to what made it. */
#include "hlo/async.h"

/* How far a value is followed, and how deep in tuples. */
enum { STEPS = 256, DEPTH = 16 };

/* A value, and the place in it that is wanted. */
struct trace {
    const struct instruction *value;
    int64_t path[DEPTH]; /* innermost index first */
    int depth;
};

static bool is_same(const struct shape *a, const struct shape *b)
{
    return shape_compatible(shape_static(a), shape_static(b));
}

/* To the operand that callers pass for a parameter of a computation. */
static bool step_to_caller(struct trace *trace)
{
    const struct computation *computation = trace->value->parent;
    const struct module *module = computation->module;
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            const struct instruction *caller = module->computations[c]->instructions[i];
            for (int k = 0; k < caller->called_count; k++) {
                bool branch = caller->opcode == OP_CONDITIONAL;
                int64_t operand = branch ? k + 1 : trace->value->number;
                bool passes = caller->opcode == OP_WHILE || caller->opcode == OP_CALL || branch;
                if (caller->called[k] == computation && passes && operand < caller->operand_count) {
                    trace->value = caller->operands[operand];
                    return true;
                }
            }
        }
    }
    return false;
}

/* One step towards where the value was made; false at the end. */
static bool step_back(struct trace *trace)
{
    const struct instruction *value = trace->value;
    switch (value->opcode) {
    case OP_GET_TUPLE_ELEMENT:
        if (trace->depth == DEPTH) {
            return false;
        }
        trace->path[trace->depth++] = attr_int(value, ATTR_INDEX, 0);
        trace->value = value->operands[0];
        return true;
    case OP_TUPLE:
        if (trace->depth == 0 || trace->path[trace->depth - 1] < 0 ||
            trace->path[trace->depth - 1] >= value->operand_count) {
            return false;
        }
        trace->value = value->operands[trace->path[--trace->depth]];
        return true;
    case OP_COPY:
    case OP_CUSTOM_CALL: /* Sharding and the like */
    case OP_DOMAIN:
    case OP_OPT_BARRIER:
        if (value->operand_count != 1 || !is_same(value->shape, value->operands[0]->shape)) {
            return false;
        }
        trace->value = value->operands[0];
        return true;
    case OP_CALL:
    case OP_WHILE: /* what the last iteration leaves */
        if (value->called_count < 1) {
            return false;
        }
        trace->value = value->called[0]->root;
        return true;
    case OP_PARAMETER:
        return step_to_caller(trace);
    default:
        return false;
    }
}

const struct instruction *async_origin(const struct instruction *value)
{
    struct trace trace = {.value = value};
    for (int i = 0; i < STEPS; i++) {
        if (!step_back(&trace)) {
            const struct instruction *end = trace.value;
            bool lost = trace.depth > 0 || end->opcode == OP_CONDITIONAL ||
                        (end->opcode == OP_PARAMETER && end->parent != end->parent->module->entry);
            return lost ? NULL : end;
        }
    }
    return NULL;
}

const struct instruction *async_producer(const struct instruction *value)
{
    const struct instruction *origin = async_origin(value);
    bool makes =
        origin != NULL && (origin->opcode == OP_ASYNC_START || origin->opcode == OP_ASYNC_UPDATE);
    return makes ? origin : NULL;
}

const struct computation *async_computation(const struct instruction *instruction)
{
    for (int i = 0; instruction != NULL && i < STEPS; i++) {
        if (instruction->called_count > 0) {
            return instruction->called[0];
        }
        instruction = instruction->operand_count > 0 && instruction->opcode != OP_ASYNC_START
                          ? async_producer(instruction->operands[0])
                          : NULL;
    }
    return NULL;
}

bool async_is_prefix(const struct shape *prefix, const struct shape *shape)
{
    if (is_same(prefix, shape) || (shape_is_tuple(prefix) && prefix->count == 0)) {
        return true;
    }
    if (!shape_is_tuple(prefix) || !shape_is_tuple(shape) || prefix->count > shape->count) {
        return false;
    }
    for (int i = 0; i < prefix->count; i++) {
        if (!async_is_prefix(prefix->elements[i], shape->elements[i])) {
            return false;
        }
    }
    return true;
}

bool async_is_complete(const struct shape *shape, const struct computation *computation)
{
    if (shape->elements[0]->count != computation->parameter_count ||
        !is_same(shape->elements[1], computation->root->shape)) {
        return false;
    }
    for (int i = 0; i < computation->parameter_count; i++) {
        if (!is_same(shape->elements[0]->elements[i], computation->parameters[i]->shape)) {
            return false;
        }
    }
    return true;
}

bool async_start_is_pair(const struct instruction *start)
{
    const struct shape *shape = start->shape;
    bool in_place = attr_get(start, ATTR_SLICE_SIZES) != NULL; /* of input and output */
    return shape_is_tuple(shape) && shape->count >= 2 &&
           (start->operand_count == 1 || in_place || shape_is_tuple(shape->elements[0]));
}
