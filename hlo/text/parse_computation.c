/* Computations: named ones, inline ones, and the text of a single instruction. */
#include <stdlib.h>

#include "hlo/base/arena.h"
#include "hlo/text/parse.h"

/* Arrays that a module may grow later have room for the next power of two of their count. */
static void *copy_growable(struct arena *arena, void *const *items, size_t count)
{
    size_t room = 1;
    while (room < count) {
        room *= 2;
    }
    void **copy = arena_array(arena, room, sizeof *copy);
    memcpy(copy, items, count * sizeof *copy);
    return copy;
}

struct computation *parse_open_computation(struct parser *parser, struct span name,
                                           struct scope *scope)
{
    struct computation *computation = arena_alloc(parser->arena, sizeof *computation);
    computation->name = arena_string(parser->arena, name.data, name.size);
    computation->module = parser->module;
    computation->execution_thread = "";
    *scope = (struct scope){
        .computation = computation,
        .names = names_open(&parser->names, parser->pending.count == 0),
        .pending = parser->pending.count,
        .unnamed = parser->unnamed.count,
    };
    return computation;
}

/* The first of wish, wish.1, wish.2 … after those given before. `given` maps a wish to the number
 * of names made of it. */
static const char *next_name(struct parser *parser, struct map *given, const char *wish)
{
    size_t size = strlen(wish);
    uintptr_t number = (uintptr_t)map_get(given, wish, size);
    map_put(given, wish, size, (void *)(number + 1));
    return number == 0 ? wish
                       : arena_printf(parser->arena, "%s.%llu", wish, (unsigned long long)number);
}

/* Gives instructions without a name of their own one that is free in their computation. */
static void settle_names(struct parser *parser, const struct scope *scope)
{
    struct map given;
    map_init(&given);
    for (size_t i = scope->unnamed; i < parser->unnamed.count; i++) {
        struct instruction *instruction = parser->unnamed.items[i];
        const char *wish = instruction->name;
        do {
            instruction->name = next_name(parser, &given, wish);
        } while (names_add(&parser->names, scope->names, instruction->name,
                           strlen(instruction->name), instruction) != NULL);
    }
    map_finish(&given);
    parser->unnamed.count = scope->unnamed;
}

/* Parameters by number: the shapes of callers are inferred from them. */
static bool collect_parameters(struct parser *parser, struct computation *computation)
{
    int count = 0;
    for (int i = 0; i < computation->count; i++) {
        count += computation->instructions[i]->opcode == OP_PARAMETER;
    }
    computation->parameter_count = count;
    computation->parameters =
        arena_array(parser->arena, (size_t)count, sizeof *computation->parameters);
    for (int i = 0; i < computation->count; i++) {
        struct instruction *instruction = computation->instructions[i];
        if (instruction->opcode != OP_PARAMETER) {
            continue;
        }
        if (instruction->number >= count || computation->parameters[instruction->number] != NULL) {
            return error_at(parser->lexer.err, instruction_where(instruction),
                            "parameter number %lld of %s is %s", (long long)instruction->number,
                            computation->name,
                            instruction->number >= count ? "not below the number of parameters"
                                                         : "there twice");
        }
        computation->parameters[instruction->number] = instruction;
    }
    return true;
}

bool parse_close_computation(struct parser *parser, struct scope *scope)
{
    struct computation *computation = scope->computation;
    settle_names(parser, scope);
    size_t count = parser->pending.count - scope->pending;
    computation->count = (int)count;
    computation->instructions =
        copy_growable(parser->arena, parser->pending.items + scope->pending, count);
    parser->pending.count = scope->pending;
    stack_push(&parser->complete, computation);
    return collect_parameters(parser, computation);
}

/* [ROOT] name = … */
static bool parse_line(struct parser *parser, struct scope *scope)
{
    struct lexer *lexer = &parser->lexer;
    lexer_skip(lexer);
    const char *at = lexer->at;
    bool is_root = *at == 'R' && lexer_accept_word(lexer, "ROOT");
    struct span name;
    if (!lexer_name(lexer, &name, "an instruction name") || !lexer_expect(lexer, '=')) {
        return false;
    }
    if (is_root && scope->computation->root != NULL) {
        return lexer_fail(lexer, at, "a second ROOT in %s", scope->computation->name);
    }
    struct instruction *instruction = parse_instruction(parser, scope, &name, name.data);
    if (instruction == NULL) {
        return false;
    }
    if (is_root) {
        scope->computation->root = instruction;
    }
    return true;
}

/* "{ instruction … }" */
static bool parse_body(struct parser *parser, struct scope *scope)
{
    struct lexer *lexer = &parser->lexer;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    do {
        if (!parse_line(parser, scope)) {
            return false;
        }
    } while (lexer_peek(lexer) != '}');
    lexer->at++;
    struct computation *computation = scope->computation;
    if (computation->root == NULL) {
        computation->root = parser->pending.items[parser->pending.count - 1];
    }
    return parse_close_computation(parser, scope);
}

/* "(name: shape, …) -> shape": only the result is held against the body, as in XLA. */
static const struct shape *parse_signature(struct parser *parser, const char **at)
{
    struct lexer *lexer = &parser->lexer;
    if (!lexer_expect(lexer, '(')) {
        return NULL;
    }
    if (!lexer_accept(lexer, ')')) {
        do {
            struct span name;
            if (!lexer_name(lexer, &name, "a parameter name")) {
                return NULL;
            }
            if (parse_shape(parser) == NULL) {
                return NULL;
            }
        } while (lexer_accept(lexer, ','));
        if (!lexer_expect(lexer, ')')) {
            return NULL;
        }
    }
    if (!lexer_expect_arrow(lexer)) {
        return NULL;
    }
    lexer_skip(lexer);
    *at = lexer->at;
    return parse_shape(parser);
}

static bool parse_computation_attributes(struct parser *parser, struct computation *computation)
{
    struct lexer *lexer = &parser->lexer;
    bool seen = false;
    while (lexer_accept(lexer, ',')) {
        struct span name;
        if (!lexer_attribute(lexer, &name)) {
            return false;
        }
        if (!span_is(name, "execution_thread") || seen) {
            return lexer_fail(lexer, name.data, "unexpected attribute %.*s of computation %s",
                              (int)name.size, name.data, computation->name);
        }
        seen = true;
        if (!lexer_c_string(lexer, parser->arena, &computation->execution_thread)) {
            return false;
        }
        if (strcmp(computation->execution_thread, "main") == 0) {
            computation->execution_thread = "";
        }
    }
    return true;
}

static bool parse_computation(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    lexer_skip(lexer);
    const char *at = lexer->at;
    bool is_entry = lexer_accept_word(lexer, "ENTRY");
    if (is_entry && parser->module->entry != NULL) {
        return lexer_fail(lexer, at, "a second ENTRY computation");
    }
    struct span name;
    if (!lexer_name(lexer, &name, "a computation")) {
        return false;
    }
    struct scope scope;
    struct computation *computation = parse_open_computation(parser, name, &scope);
    lexer_place(lexer, name.data, &computation->line, &computation->column);
    const struct shape *result = NULL;
    const char *result_at = NULL;
    if (lexer_peek(lexer) == '(') {
        result = parse_signature(parser, &result_at);
        if (result == NULL) {
            return false;
        }
    }
    if (!parse_body(parser, &scope)) {
        return false;
    }
    if (result != NULL && !shape_compatible(computation->root->shape, result)) {
        return lexer_fail(lexer, result_at, "%s returns %s, but its root %s has shape %s",
                          computation->name, shape_text(result), computation->root->name,
                          shape_text(computation->root->shape));
    }
    if (!parse_computation_attributes(parser, computation)) {
        return false;
    }
    if (is_entry) {
        parser->module->entry = computation;
    }
    if (map_put(&parser->computations, computation->name, strlen(computation->name), computation) !=
        NULL) {
        return lexer_fail(lexer, name.data, "computation %s was defined before", computation->name);
    }
    return true;
}

bool parse_callee(struct parser *parser, struct computation **computation)
{
    struct lexer *lexer = &parser->lexer;
    if (lexer_peek(lexer) != '{') {
        struct span name;
        if (!lexer_name(lexer, &name, "a computation")) {
            return false;
        }
        *computation = map_get(&parser->computations, name.data, name.size);
        return *computation != NULL ||
               lexer_fail(lexer, name.data, "no computation %.*s before this", (int)name.size,
                          name.data);
    }
    if (!parse_deeper(parser)) {
        return false;
    }
    struct scope scope;
    *computation = parse_open_computation(parser, (struct span){"_", 1}, &scope);
    lexer_place(lexer, lexer->at, &(*computation)->line, &(*computation)->column);
    if (!parse_body(parser, &scope)) {
        return false;
    }
    stack_push(&parser->inlined, *computation);
    parser->depth--;
    return true;
}

static void settle_computation_names(struct parser *parser)
{
    struct map given;
    map_init(&given);
    for (size_t i = 0; i < parser->inlined.count; i++) {
        struct computation *computation = parser->inlined.items[i];
        const char *wish = computation->name;
        do {
            computation->name = next_name(parser, &given, wish);
        } while (map_get(&parser->computations, computation->name, strlen(computation->name)) !=
                 NULL);
        map_put(&parser->computations, computation->name, strlen(computation->name), computation);
    }
    map_finish(&given);
}

bool parse_computations(struct parser *parser)
{
    do {
        if (!parse_computation(parser)) {
            return false;
        }
    } while (!lexer_at_end(&parser->lexer));
    settle_computation_names(parser);
    if (parser->module->entry == NULL) {
        /* The one that was completed last is the last of the text. */
        parser->module->entry = parser->complete.items[parser->complete.count - 1];
    }
    return true;
}

/* What XLA makes of a single instruction: it is scheduled, and its layouts are the default ones. */
static void single_config(struct parser *parser, const struct computation *computation)
{
    struct module_config *config = &parser->module->config;
    int count = computation->parameter_count;
    const struct shape **shapes = arena_array(parser->arena, (size_t)count, sizeof *shapes);
    for (int i = 0; i < count; i++) {
        shapes[i] = shape_without_layout(computation->parameters[i]->shape);
    }
    config->is_scheduled = true;
    config->parameter_count = count;
    config->parameter_shapes = shapes;
    config->result_shape = shape_without_layout(computation->root->shape);
}

bool parse_single_instruction(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    struct span name = {"_", 1};
    struct scope scope;
    parser->is_single = true;
    parser->module->entry = parse_open_computation(parser, name, &scope);
    bool is_root = lexer_accept_word(lexer, "ROOT");
    lexer_skip(lexer);
    const char *at = lexer->at;
    if (is_root || !parse_at_shape(parser)) {
        if (!lexer_name(lexer, &name, "a module, a computation or an instruction") ||
            !lexer_expect(lexer, '=')) {
            return false;
        }
    }
    struct instruction *root = parse_instruction(parser, &scope, &name, at);
    if (root == NULL) {
        return false;
    }
    if (!lexer_at_end(lexer)) {
        return lexer_expected(lexer, "the end after a single instruction (a module begins with "
                                     "HloModule)");
    }
    scope.computation->root = root;
    if (!parse_close_computation(parser, &scope)) {
        return false;
    }
    map_put(&parser->computations, scope.computation->name, 1, scope.computation);
    settle_computation_names(parser);
    single_config(parser, scope.computation);
    return true;
}
