/* Asynchronous instructions. `add-start(…)` is short for an async-start that calls a computation of
 * parameters and one add, which is built here.
 * Source: xla/hlo/parser/hlo_parser.cc (CreateAsyncWrappedComputation,
 * UpdateAsyncWrappedComputation), xla/hlo/ir/hlo_instructions.cc (SetThreadName). */
#include <stdio.h>

#include "hlo/base/arena.h"
#include "hlo/text/parse.h"

static struct instruction *add_parameter(struct parser *parser, struct scope *scope, int number,
                                         const struct shape *shape)
{
    struct instruction *parameter =
        parse_add_instruction(parser, scope, OP_PARAMETER, shape, 0, NULL);
    parameter->number = number;
    parameter->name = "async_param";
    stack_push(&parser->unnamed, parameter);
    return parameter;
}

/* Attributes that stand on the instruction and on the one it wraps. */
static bool is_shared(enum attr_key key)
{
    return key == ATTR_METADATA || key == ATTR_ORIGIN || key == ATTR_BACKEND_CONFIG ||
           key == ATTR_FRONTEND_ATTRIBUTES || key == ATTR_STATISTICS;
}

/* The attributes of the wrapped opcode move to it. */
static void move_attributes(struct instruction *start, struct instruction *inner)
{
    int kept = 0;
    for (int i = 0; i < start->attr_count; i++) {
        struct attr attr = start->attrs[i];
        bool is_own = !attr_table[attr.key].common && opcode_takes(inner->opcode, attr.key);
        if (is_own || is_shared(attr.key)) {
            instruction_set_attr(inner, attr);
        }
        if (!is_own) {
            start->attrs[kept++] = attr;
        }
    }
    start->attr_count = kept;
}

static bool is_async_shape(const struct shape *shape)
{
    return shape_is_tuple(shape) && shape->count >= 2 && shape_is_tuple(shape->elements[0]);
}

/* Makes parameters (and operands of the root) of these shapes; the root gets the shape `result`. */
static bool adapt(struct parser *parser, struct computation *computation, int count,
                  const struct shape *const *shapes, const struct shape *result, const char *at)
{
    struct instruction *root = computation->root;
    int arity = opcode_table[root->opcode].arity;
    if (arity != VARIADIC && count > arity) {
        return lexer_fail(&parser->lexer, at, "%s takes %d operands, the shape has %d",
                          opcode_text(root->opcode), arity, count);
    }
    for (int i = 0; i < count && i < root->operand_count; i++) {
        if (!shape_compatible(root->operands[i]->shape, shapes[i])) {
            root->operands[i]->shape = shapes[i];
        }
    }
    int more = count - root->operand_count;
    if (more > 0) {
        struct instruction **operands = arena_array(parser->arena, (size_t)count, sizeof *operands);
        if (root->operand_count > 0) {
            memcpy(operands, root->operands, (size_t)root->operand_count * sizeof *operands);
        }
        for (int i = root->operand_count; i < count; i++) {
            char name[40];
            snprintf(name, sizeof name, "async_param.%d", i);
            operands[i] = instruction_add(computation, name, OP_PARAMETER, shapes[i], 0, NULL);
            operands[i]->number = i;
        }
        root->operands = operands;
        root->operand_count = count;
        /* The root stays last: operands stand before users. */
        struct instruction **list = computation->instructions;
        int last = computation->count - 1 - more;
        memmove(list + last, list + last + 1, (size_t)more * sizeof(void *));
        list[computation->count - 1] = root;
    }
    if (!shape_compatible(root->shape, result)) {
        root->shape = result;
    }
    return true;
}

bool parse_wrap(struct parser *parser, struct instruction *start, enum opcode wrapped,
                const struct callees *callees, const char *at)
{
    struct lexer *lexer = &parser->lexer;
    const struct shape *shape = start->shape;
    if (!is_async_shape(shape)) {
        return lexer_fail(lexer, at, "%s-start needs the shape ((operands), result, …), found %s",
                          opcode_text(wrapped), shape_text(shape));
    }
    struct scope scope;
    struct computation *computation =
        parse_open_computation(parser, (struct span){"async_wrapped", 13}, &scope);
    const struct shape *given = shape->elements[0];
    int arity = opcode_table[wrapped].arity;
    int count = given->count > arity ? given->count : arity;
    int64_t one = 1;
    size_t base = parser->scratch.count;
    for (int i = 0; i < count; i++) {
        /* Operands that only an update brings are known by then. */
        const struct shape *parameter =
            i < given->count ? given->elements[i] : shape_array(TYPE_F32, 1, &one);
        stack_push(&parser->scratch, add_parameter(parser, &scope, i, parameter));
    }
    parser->scratch.count = base;
    if (arity != VARIADIC && count != arity) {
        return lexer_fail(lexer, at, "%s takes %d operands, the shape has %d", opcode_text(wrapped),
                          arity, count);
    }
    struct instruction *inner = parse_add_instruction(parser, &scope, wrapped, shape->elements[1],
                                                      (size_t)count, parser->scratch.items + base);
    inner->name = "async_op";
    stack_push(&parser->unnamed, inner);
    inner->line = start->line;
    inner->column = start->column;
    computation->line = start->line;
    computation->column = start->column;
    computation->root = inner;
    move_attributes(start, inner);
    parse_set_called(parser, inner, callees);
    if (!parse_close_computation(parser, &scope)) {
        return false;
    }
    stack_push(&parser->inlined, computation);
    if ((wrapped == OP_FUSION || wrapped == OP_CALL) && inner->called_count > 0) {
        const struct computation *callee = inner->called[0];
        int parameters = callee->parameter_count;
        const struct shape **shapes =
            arena_array(parser->arena, (size_t)parameters, sizeof *shapes);
        for (int i = 0; i < parameters; i++) {
            shapes[i] = callee->parameters[i]->shape;
        }
        if (!adapt(parser, computation, parameters, shapes, callee->root->shape, at)) {
            return false;
        }
    }
    parse_tidy(inner);
    struct computation *called[] = {computation};
    instruction_set_called(start, 1, called);
    return true;
}

/* The async-start that an update or done belongs to, or NULL if it is not in sight. */
static struct instruction *find_start(struct instruction *instruction)
{
    while (instruction->opcode == OP_ASYNC_UPDATE && instruction->operand_count > 0) {
        instruction = instruction->operands[0];
    }
    return instruction->opcode == OP_ASYNC_START ? instruction : NULL;
}

/* A computation runs on the thread of the async-start that calls it, and so do its callees. */
static void set_thread(struct computation *computation, const char *thread)
{
    computation->execution_thread = thread;
    for (int i = 0; i < computation->count; i++) {
        struct instruction *instruction = computation->instructions[i];
        for (int k = 0; k < instruction->called_count; k++) {
            if (strcmp(instruction->called[k]->execution_thread, thread) != 0) {
                set_thread(instruction->called[k], thread);
            }
        }
    }
}

static bool check_follower(struct parser *parser, struct instruction *instruction,
                           enum opcode wrapped, const char *at)
{
    struct lexer *lexer = &parser->lexer;
    const char *name = opcode_text(instruction->opcode);
    if (instruction->operand_count == 0) {
        return lexer_fail(lexer, at, "%s takes an operand", name);
    }
    struct instruction *operand = instruction->operands[0];
    if (operand->opcode == OP_ASYNC_DONE) {
        return lexer_fail(lexer, at, "%s cannot follow async-done", name);
    }
    struct instruction *start = find_start(operand);
    if (start == NULL || start->called_count == 0) {
        return true;
    }
    struct computation *computation = start->called[0];
    if (instruction->called_count > 0 && instruction->called[0] != computation) {
        return lexer_fail(lexer, at, "%s calls %s, but its async-start calls %s", name,
                          instruction->called[0]->name, computation->name);
    }
    /* What the start says need not be said again. */
    instruction->called_count = 0;
    const char *thread = attr_string(instruction, ATTR_ASYNC_EXECUTION_THREAD);
    thread = strcmp(thread, "main") == 0 ? "" : thread;
    if (attr_get(instruction, ATTR_ASYNC_EXECUTION_THREAD) != NULL &&
        strcmp(thread, attr_string(start, ATTR_ASYNC_EXECUTION_THREAD)) != 0) {
        return lexer_fail(lexer, at, "%s is on another thread than its async-start", name);
    }
    if (wrapped == instruction->opcode) {
        return true;
    }
    if (computation->root->opcode != wrapped) {
        return lexer_fail(lexer, at, "this ends %s, but its async-start wraps %s",
                          opcode_text(wrapped), opcode_text(computation->root->opcode));
    }
    const struct shape *shape =
        instruction->opcode == OP_ASYNC_UPDATE ? instruction->shape : start->shape;
    const struct shape *result = instruction->opcode == OP_ASYNC_UPDATE
                                     ? instruction->shape->elements[1]
                                     : instruction->shape;
    return adapt(parser, computation, shape->elements[0]->count, shape->elements[0]->elements,
                 result, at);
}

bool parse_check_async(struct parser *parser, struct instruction *instruction, enum opcode wrapped,
                       const char *at)
{
    enum opcode opcode = instruction->opcode;
    if (opcode != OP_ASYNC_START && opcode != OP_ASYNC_UPDATE && opcode != OP_ASYNC_DONE) {
        return true;
    }
    if (opcode != OP_ASYNC_DONE && !is_async_shape(instruction->shape)) {
        return lexer_fail(&parser->lexer, at,
                          "%s needs the shape ((operands), result, …), found %s",
                          opcode_text(opcode), shape_text(instruction->shape));
    }
    if (opcode == OP_ASYNC_START) {
        const char *thread = attr_string(instruction, ATTR_ASYNC_EXECUTION_THREAD);
        set_thread(instruction->called[0], strcmp(thread, "main") == 0 ? "" : thread);
        return true;
    }
    return check_follower(parser, instruction, wrapped, at);
}
