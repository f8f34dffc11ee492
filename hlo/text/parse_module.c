/* Reads one module: the entry point of the reader. */
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/text/parse.h"
#include "hlo/text/text_format.h"

/* Is this a module with or without a header, rather than a single instruction? Then a computation
 * follows: "ENTRY", or a name and '{' or '('. */
static bool at_module(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    lexer_skip(lexer);
    const char *begin = lexer->at;
    bool is_module = lexer_accept_word(lexer, "ENTRY");
    if (!is_module) {
        lexer_accept(lexer, '%');
        struct span name = lexer_word(lexer);
        char next = lexer_peek(lexer);
        is_module = name.size > 0 && (next == '{' || next == '(');
    }
    lexer->at = begin;
    return is_module;
}

static bool read_module(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    struct module *module = parser->module;
    if (lexer_at_end(lexer)) {
        return lexer_fail(lexer, lexer->at, "no module: the text is empty");
    }
    bool has_header = lexer_accept_word(lexer, "HloModule");
    if (!has_header && !at_module(parser)) {
        return parse_single_instruction(parser);
    }
    if ((has_header && !parse_header(parser)) || !parse_frame_tables(parser) ||
        !parse_computations(parser)) {
        return false;
    }
    if (!has_header) {
        module->name = arena_printf(parser->arena, "module_%s", module->entry->name);
    }
    return true;
}

static void release(struct instruction *instruction)
{
    literal_release(instruction->literal);
    const struct attr *attr = attr_get(instruction, ATTR_LITERAL);
    if (attr != NULL) {
        literal_release(attr->literal);
    }
}

/* Hands the computations to the module; literals of incomplete ones are released. */
static void hand_over(struct parser *parser)
{
    size_t count = parser->complete.count, room = 1;
    while (room < count) {
        room *= 2;
    }
    parser->module->computations =
        arena_array(parser->arena, room, sizeof *parser->module->computations);
    for (size_t i = 0; i < count; i++) {
        parser->module->computations[i] = parser->complete.items[i];
    }
    parser->module->count = (int)count;
    for (size_t i = 0; i < parser->pending.count; i++) {
        release(parser->pending.items[i]);
    }
}

static void parser_finish(struct parser *parser)
{
    names_finish(&parser->names);
    shape_cache_finish(&parser->shapes);
    map_finish(&parser->computations);
    free(parser->complete.items);
    free(parser->pending.items);
    free(parser->scratch.items);
    free(parser->unnamed.items);
    free(parser->inlined.items);
    free(parser->ints);
}

struct module *text_read_module(const char *text, size_t size, const char *name, int line,
                                struct error *err)
{
    struct error own = {0};
    err = err != NULL ? err : &own;
    /* A copy that ends in zeros, so that scanning needs no bounds. */
    char *copy = memory_alloc(size + LEX_PADDING);
    memcpy(copy, text, size);
    memset(copy + size, 0, LEX_PADDING);
    struct module *module = module_create("_");
    module->source = name != NULL ? arena_string(&module->arena, name, strlen(name)) : NULL;
    struct parser parser = {.module = module, .arena = &module->arena};
    /* Never NULL, so that the end of an empty list is a place. */
    parser.scratch.items = grow(NULL, 0, &parser.scratch.capacity, sizeof *parser.scratch.items);
    lexer_init(&parser.lexer, copy, size, module->source, line, err);
    names_init(&parser.names);
    shape_cache_init(&parser.shapes);
    map_init(&parser.computations);
    bool ok = read_module(&parser);
    hand_over(&parser);
    ok = ok && module_finish(module, err) && parse_check_callers(module, err);
    parser_finish(&parser);
    if (!ok) {
        if (err->line >= line && err->source[0] == '\0') {
            int absolute = err->line;
            err->line -= line - 1;
            error_quote(err, copy, size);
            err->line = absolute;
        }
        module_destroy(module);
        module = NULL;
    }
    free(copy);
    return module;
}

/* Arrays with more elements are not printed for a copy. */
enum { PRINTED_ELEMENTS = 16 };

static bool is_left_out(const struct instruction *instruction)
{
    return instruction->opcode == OP_CONSTANT && instruction->literal != NULL &&
           shape_is_array(instruction->shape) &&
           literal_elements(instruction->literal) > PRINTED_ELEMENTS;
}

/* The constants that were left out share the data of the original's. False where the copy has
 * another order, so that it is not known which is which. */
static bool share_constants(const struct module *module, struct module *copy)
{
    bool same = copy->count == module->count;
    for (int c = 0; same && c < module->count; c++) {
        const struct computation *from = module->computations[c], *to = copy->computations[c];
        same = from->count == to->count && strcmp(from->name, to->name) == 0;
        for (int i = 0; same && i < from->count; i++) {
            const struct instruction *constant = from->instructions[i];
            struct instruction *own = to->instructions[i];
            same = constant->opcode == own->opcode && strcmp(constant->name, own->name) == 0 &&
                   own->elided == is_left_out(constant);
            if (same && own->elided) {
                const struct shape *shape = own->literal->shape;
                literal_release(own->literal);
                own->literal = literal_view(constant->literal, shape);
                own->elided = false;
            }
        }
    }
    copy->elided_count = 0; /* it has the values that stand in for them */
    return same;
}

static struct module *print_and_read(const struct module *module, int64_t literal_limit,
                                     struct error *err)
{
    struct print_options options = print_canonical;
    options.literal_limit = literal_limit;
    struct text text;
    text_init(&text);
    text_print_module(module, &options, &text);
    struct module *copy = text_read_module(text.data, text.size, module->name, 1, err);
    text_finish(&text);
    return copy;
}

struct module *text_copy_module(const struct module *module, struct error *err)
{
    struct module *copy = print_and_read(module, PRINTED_ELEMENTS, err);
    if (copy != NULL && !share_constants(module, copy)) {
        module_destroy(copy);
        copy = print_and_read(module, 0, err);
    }
    return copy;
}
