/* One instruction: [shape] opcode(operands), attributes. */
#include <stdlib.h>

#include "hlo/base/arena.h"
#include "hlo/literal.h"
#include "hlo/text/parse.h"

struct instruction *parse_add_instruction(struct parser *parser, struct scope *scope,
                                          enum opcode opcode, const struct shape *shape,
                                          size_t operand_count, void *const *operands)
{
    struct instruction *instruction = arena_alloc(parser->arena, sizeof *instruction);
    instruction->name = "";
    instruction->opcode = opcode;
    instruction->shape = shape;
    instruction->parent = scope->computation;
    instruction->operand_count = (int)operand_count;
    if (operand_count > 0) {
        instruction->operands =
            arena_copy(parser->arena, operands, operand_count * sizeof *operands);
    }
    stack_push(&parser->pending, instruction);
    return instruction;
}

/* --- operands --- */

/* The parameter that stands for an operand of a single instruction. */
static struct instruction *invent_parameter(struct parser *parser, struct scope *scope,
                                            struct span name, const struct shape *shape,
                                            const char *at)
{
    struct instruction *parameter =
        parse_add_instruction(parser, scope, OP_PARAMETER, shape, 0, NULL);
    lexer_place(&parser->lexer, at, &parameter->line, &parameter->column);
    parameter->number = parser->invented++;
    parameter->name = name.size > 0
                          ? arena_string(parser->arena, name.data, name.size)
                          : arena_printf(parser->arena, "_%lld", (long long)parameter->number);
    names_add(&parser->names, scope->names, parameter->name, strlen(parameter->name), parameter);
    return parameter;
}

/* "#1#0" after a name: the elements of a tuple. They are instructions of their own, one for each
 * path, known by "name#1#0". */
static struct instruction *parse_elements(struct parser *parser, struct scope *scope,
                                          struct instruction *instruction, struct span name)
{
    struct lexer *lexer = &parser->lexer;
    char *path = arena_string(parser->arena, name.data, name.size);
    while (lexer_peek(lexer) == '#') {
        const char *at = lexer->at++;
        int64_t index;
        if (!lexer_int(lexer, &index)) {
            return NULL;
        }
        if (!shape_is_tuple(instruction->shape)) {
            lexer_fail(lexer, at, "%s has shape %s, which is no tuple", path,
                       shape_text(instruction->shape));
            return NULL;
        }
        if (index < 0 || index >= instruction->shape->count) {
            lexer_fail(lexer, at, "%s has %d elements, there is no element %lld", path,
                       instruction->shape->count, (long long)index);
            return NULL;
        }
        path = arena_printf(parser->arena, "%s#%lld", path, (long long)index);
        struct instruction *element = names_find(&parser->names, scope->names, path, strlen(path));
        if (element == NULL) {
            void *operand = instruction;
            element = parse_add_instruction(parser, scope, OP_GET_TUPLE_ELEMENT,
                                            instruction->shape->elements[index], 1, &operand);
            lexer_place(lexer, at, &element->line, &element->column);
            instruction_set_attr(element, (struct attr){.key = ATTR_INDEX, .integer = index});
            char *wish = arena_string(parser->arena, path, strlen(path));
            for (char *c = wish; *c != '\0'; c++) {
                *c = *c == '#' ? '_' : *c;
            }
            element->name = wish;
            stack_push(&parser->unnamed, element);
            names_add(&parser->names, scope->names, path, strlen(path), element);
        }
        instruction = element;
    }
    return instruction;
}

/* [shape] name[#index…] */
static struct instruction *parse_named_operand(struct parser *parser, struct scope *scope,
                                               struct span name, const struct shape *shape,
                                               const char *shape_at)
{
    struct lexer *lexer = &parser->lexer;
    struct instruction *operand =
        name.size > 0 ? names_find(&parser->names, scope->names, name.data, name.size) : NULL;
    bool is_outermost = parser->is_single && scope->computation == parser->module->entry;
    if (operand == NULL && is_outermost) {
        if (shape == NULL) {
            lexer_fail(lexer, name.data, "operand %.*s of a single instruction has no shape",
                       (int)name.size, name.data);
            return NULL;
        }
        return invent_parameter(parser, scope, name, shape, shape_at);
    }
    if (operand == NULL) {
        lexer_fail(lexer, name.data, "no instruction %.*s before this", (int)name.size, name.data);
        return NULL;
    }
    if (*lexer->at == '#' || (*lexer->at == ' ' && lexer_peek(lexer) == '#')) {
        operand = parse_elements(parser, scope, operand, name);
        if (operand == NULL) {
            return NULL;
        }
    }
    if (shape != NULL && shape != operand->shape && !shape_compatible(shape, operand->shape)) {
        lexer_fail(lexer, shape_at, "operand %s is declared %s, but has shape %s", operand->name,
                   shape_text(shape), shape_text(operand->shape));
        return NULL;
    }
    return operand;
}

static struct instruction *parse_operand(struct parser *parser, struct scope *scope)
{
    struct lexer *lexer = &parser->lexer;
    lexer_skip(lexer);
    const char *begin = lexer->at;
    const struct shape *shape = NULL;
    if (*begin != '%' && parse_at_shape(parser)) {
        shape = parse_shape(parser);
        if (shape == NULL) {
            return NULL;
        }
        char next = lexer_peek(lexer);
        if ((next == ',' || next == ')') && parser->is_single) {
            return parse_named_operand(parser, scope, (struct span){begin, 0}, shape, begin);
        }
    }
    struct span name;
    bool percent = lexer_peek(lexer) == '%';
    if (!lexer_name(lexer, &name, "an operand")) {
        return NULL;
    }
    if (!percent && lexer_peek(lexer) == '(') {
        lexer->at = begin;
        return parse_instruction(parser, scope, NULL, begin);
    }
    return parse_named_operand(parser, scope, name, shape, begin);
}

/* "(operand, …)"; pushes them on the scratch stack. */
static bool parse_operands(struct parser *parser, struct scope *scope)
{
    struct lexer *lexer = &parser->lexer;
    if (!lexer_expect(lexer, '(')) {
        return false;
    }
    if (lexer_accept(lexer, ')')) {
        return true;
    }
    do {
        struct instruction *operand = parse_operand(parser, scope);
        if (operand == NULL) {
            return false;
        }
        stack_push(&parser->scratch, operand);
    } while (lexer_accept(lexer, ','));
    return lexer_expect(lexer, ')');
}

/* --- opcodes with no operands but a number or a value --- */

static struct instruction *parse_parameter(struct parser *parser, struct scope *scope,
                                           const struct shape *shape)
{
    struct lexer *lexer = &parser->lexer;
    int64_t number;
    if (!lexer_expect(lexer, '(')) {
        return NULL;
    }
    lexer_skip(lexer);
    const char *number_at = lexer->at;
    if (!lexer_int(lexer, &number) || !lexer_expect(lexer, ')')) {
        return NULL;
    }
    if (number < 0) {
        lexer_fail(lexer, number_at, "parameter number %lld is negative", (long long)number);
        return NULL;
    }
    struct instruction *instruction =
        parse_add_instruction(parser, scope, OP_PARAMETER, shape, 0, NULL);
    instruction->number = number;
    return instruction;
}

static struct instruction *parse_constant(struct parser *parser, struct scope *scope,
                                          const struct shape *shape)
{
    struct lexer *lexer = &parser->lexer;
    if (!lexer_expect(lexer, '(')) {
        return NULL;
    }
    struct error err = {0};
    size_t used = 0;
    uint64_t fills = parser->fills;
    shape = shape_static(shape); /* a value has the sizes it has */
    struct literal *literal = literal_parse_filled(
        shape, lexer->at, (size_t)(lexer->end - lexer->at), &used, &parser->fills, &err);
    if (literal == NULL) {
        err.column = err.column > 0 ? err.column : (int)used + 1;
        lexer_take_error(lexer, lexer->at, &err);
        return NULL;
    }
    lexer->at += used;
    struct instruction *instruction =
        parse_add_instruction(parser, scope, OP_CONSTANT, shape, 0, NULL);
    instruction->literal = literal;
    instruction->elided = parser->fills != fills;
    parser->module->elided_count += instruction->elided;
    return lexer_expect(lexer, ')') ? instruction : NULL;
}

/* --- the whole --- */

/* `add-start` and its kin for any opcode but those with start and done opcodes of their own. */
static bool parse_sugar(struct parser *parser, struct span word, enum opcode *opcode,
                        enum opcode *wrapped)
{
    static const struct {
        const char *suffix;
        enum opcode opcode;
    } forms[] = {
        {"-start", OP_ASYNC_START}, {"-update", OP_ASYNC_UPDATE}, {"-done", OP_ASYNC_DONE}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        size_t size = strlen(forms[i].suffix);
        if (word.size <= size || memcmp(word.data + word.size - size, forms[i].suffix, size) != 0) {
            continue;
        }
        *opcode = forms[i].opcode;
        *wrapped = opcode_from_text(word.data, word.size - size);
        switch (*wrapped) {
        case OPCODE_COUNT:
        case OP_ALL_GATHER:
        case OP_ALL_REDUCE:
        case OP_COLLECTIVE_PERMUTE:
        case OP_COPY:
        case OP_RECV:
        case OP_SEND:
        case OP_PARAMETER:
        case OP_CONSTANT:
        case OP_ASYNC_START:
        case OP_ASYNC_UPDATE:
        case OP_ASYNC_DONE:
            return lexer_fail(&parser->lexer, word.data, "unknown opcode %.*s", (int)word.size,
                              word.data);
        default:
            return true;
        }
    }
    return lexer_fail(&parser->lexer, word.data, "unknown opcode %.*s", (int)word.size, word.data);
}

static bool parse_opcode(struct parser *parser, enum opcode *opcode, enum opcode *wrapped)
{
    struct lexer *lexer = &parser->lexer;
    struct span word = lexer_word(lexer);
    if (word.size == 0) {
        return lexer_expected(lexer, "an opcode");
    }
    *opcode = opcode_from_text(word.data, word.size);
    *wrapped = *opcode;
    return *opcode != OPCODE_COUNT || parse_sugar(parser, word, opcode, wrapped);
}

static struct instruction *parse_with_operands(struct parser *parser, struct scope *scope,
                                               enum opcode opcode, const struct shape *shape,
                                               const char *at)
{
    size_t base = parser->scratch.count;
    if (!parse_operands(parser, scope)) {
        return NULL;
    }
    size_t count = parser->scratch.count - base;
    int arity = opcode_table[opcode].arity;
    if (arity != VARIADIC && (size_t)arity != count) {
        lexer_fail(&parser->lexer, at, "%s takes %d operand%s, found %zu", opcode_text(opcode),
                   arity, arity == 1 ? "" : "s", count);
        return NULL;
    }
    parser->scratch.count = base;
    return parse_add_instruction(parser, scope, opcode, shape, count, parser->scratch.items + base);
}

static bool is_valid_name(struct span name)
{
    /* XLA renames such instructions and then refuses its own renaming (NameUniquer). */
    if (name.size >= 2 && name.data[0] == '_' && name.data[1] == '_') {
        return name.size >= 6 && memcmp(name.data, "__xla_", 6) == 0;
    }
    /* Names of types have a digit in second place, or are pred, bf16, token and opaque. */
    bool like_type = name.size > 1 && ((lex_class[(unsigned char)name.data[1]] & LEX_DIGIT) ||
                                       (name.size >= 4 && name.size <= 6));
    enum type type = like_type ? type_from_text(name.data, name.size) : TYPE_INVALID;
    return type == TYPE_INVALID || type == TYPE_TUPLE || type == TYPE_BUFFER;
}

static bool give_name(struct parser *parser, struct scope *scope, struct instruction *instruction,
                      const struct span *name, const char *at)
{
    struct lexer *lexer = &parser->lexer;
    if (name == NULL) {
        instruction->name =
            arena_printf(parser->arena, "%s.anon", opcode_text(instruction->opcode));
        stack_push(&parser->unnamed, instruction);
        return true;
    }
    instruction->name = arena_string(parser->arena, name->data, name->size);
    if (!is_valid_name(*name)) {
        return lexer_fail(lexer, at, "%s cannot be the name of an instruction", instruction->name);
    }
    struct instruction *other =
        names_add(&parser->names, scope->names, instruction->name, name->size, instruction);
    if (other != NULL) {
        return lexer_fail(lexer, at, "instruction %s was defined before, on line %d",
                          instruction->name, other->line);
    }
    return true;
}

void parse_tidy(struct instruction *instruction)
{
    int kept = 0;
    for (int i = 0; i < instruction->attr_count; i++) {
        const struct attr *attr = &instruction->attrs[i];
        /* Updates and dones are on the thread of their start. */
        bool is_idle =
            attr->key == ATTR_ASYNC_EXECUTION_THREAD && instruction->opcode != OP_ASYNC_START;
        bool is_ignored =
            attr->key == ATTR_DIMENSIONS && instruction->opcode == OP_RAGGED_ALL_TO_ALL;
        if (!is_idle && !is_ignored && !attr_is_default(instruction, attr)) {
            instruction->attrs[kept++] = *attr;
        }
    }
    instruction->attr_count = kept;
    if (instruction->opcode == OP_OUTFEED && attr_get(instruction, ATTR_OUTFEED_SHAPE) == NULL) {
        instruction_set_attr(instruction, (struct attr){.key = ATTR_OUTFEED_SHAPE,
                                                        .shape = instruction->operands[0]->shape});
    }
}

/* Attributes, called computations, shape and normal form of a new instruction. */
static bool complete(struct parser *parser, struct scope *scope, struct instruction *instruction,
                     enum opcode wrapped, bool with_attributes, const char *at)
{
    struct callees callees = {{NULL}, NULL, 0};
    if (!parse_attributes(parser, scope, instruction, wrapped, with_attributes, &callees, at)) {
        return false;
    }
    if (instruction->opcode == OP_ASYNC_START && wrapped != OP_ASYNC_START) {
        if (!parse_wrap(parser, instruction, wrapped, &callees, at)) {
            return false;
        }
    } else {
        parse_set_called(parser, instruction, &callees);
    }
    if (!parse_check(parser, instruction, at) ||
        (instruction->shape == NULL && !parse_infer_shape(parser, instruction, at)) ||
        !parse_check_counts(parser, instruction, at) ||
        !parse_check_async(parser, instruction, wrapped, at)) {
        return false;
    }
    parse_settle_shape(instruction);
    parse_tidy(instruction);
    return true;
}

struct instruction *parse_instruction(struct parser *parser, struct scope *scope,
                                      const struct span *name, const char *at)
{
    struct lexer *lexer = &parser->lexer;
    if (!parse_deeper(parser)) {
        return NULL;
    }
    int line, column;
    lexer_place(lexer, at, &line, &column);
    const struct shape *shape = NULL;
    if (parse_at_shape(parser)) {
        shape = parse_shape(parser);
        if (shape == NULL) {
            return NULL;
        }
    }
    lexer_skip(lexer);
    const char *opcode_at = lexer->at;
    enum opcode opcode = OPCODE_COUNT, wrapped = OPCODE_COUNT;
    if (!parse_opcode(parser, &opcode, &wrapped)) {
        return NULL;
    }
    if (shape == NULL && parse_needs_shape(opcode)) {
        lexer_fail(lexer, opcode_at, "the shape of %s must be written", opcode_text(opcode));
        return NULL;
    }
    struct instruction *instruction =
        opcode == OP_PARAMETER  ? parse_parameter(parser, scope, shape)
        : opcode == OP_CONSTANT ? parse_constant(parser, scope, shape)
                                : parse_with_operands(parser, scope, opcode, shape, opcode_at);
    if (instruction == NULL) {
        return NULL;
    }
    instruction->line = line;
    instruction->column = column;
    if (!complete(parser, scope, instruction, wrapped, name != NULL, opcode_at) ||
        !give_name(parser, scope, instruction, name, at)) {
        return NULL;
    }
    parser->depth--;
    return instruction;
}
