/* The reader's stacks, lists, shapes and field lists. */
#include "hlo/text/parse.h"

#include <stdlib.h>

#include "hlo/base/arena.h"

void stack_push(struct stack *stack, void *item)
{
    if (stack->count == stack->capacity) {
        stack->items = grow(stack->items, stack->count, &stack->capacity, sizeof *stack->items);
    }
    stack->items[stack->count++] = item;
}

void ints_push(struct parser *parser, int64_t value)
{
    if (parser->int_count == parser->int_capacity) {
        parser->ints = grow(parser->ints, parser->int_count, &parser->int_capacity, sizeof value);
    }
    parser->ints[parser->int_count++] = value;
}

struct ints ints_take(struct parser *parser, size_t base)
{
    size_t count = parser->int_count - base;
    parser->int_count = base;
    if (count == 0) {
        return (struct ints){0, NULL};
    }
    return (struct ints){
        (int)count, arena_copy(parser->arena, parser->ints + base, count * sizeof *parser->ints)};
}

bool parse_int_list(struct parser *parser, char open, char close, char separator,
                    struct ints *value)
{
    struct lexer *lexer = &parser->lexer;
    size_t base = parser->int_count;
    if (!lexer_expect(lexer, open)) {
        return false;
    }
    if (!lexer_accept(lexer, close)) {
        do {
            int64_t item;
            if (!lexer_int(lexer, &item)) {
                return false;
            }
            ints_push(parser, item);
        } while (lexer_accept(lexer, separator));
        if (!lexer_expect(lexer, close)) {
            return false;
        }
    }
    *value = ints_take(parser, base);
    return true;
}

bool parse_deeper(struct parser *parser)
{
    if (++parser->depth > PARSE_MAX_NESTING) {
        return lexer_fail(&parser->lexer, parser->lexer.at, "nesting deeper than %d levels",
                          PARSE_MAX_NESTING);
    }
    return true;
}

/* --- shapes --- */

/* The end of the brackets that open at `at`; NULL if they do not close. */
static const char *pass_brackets(const char *at, char open, char close)
{
    int depth = 0;
    for (;; at++) {
        if (*at == open) {
            depth++;
        } else if (*at == close && --depth == 0) {
            return at + 1;
        } else if (*at == '\0') {
            return NULL;
        }
    }
}

/* The end of a shape written without blanks between its parts; NULL if it is not written so. */
static const char *shape_end(const char *at)
{
    if (*at == '(') {
        return pass_brackets(at, '(', ')');
    }
    while (lex_class[(unsigned char)*at] & LEX_NAME) {
        at++;
    }
    if (*at != '[') {
        return NULL;
    }
    while (*at != ']' && *at != '\0') {
        at++;
    }
    if (*at == '\0' || at[1] == '\0') {
        return NULL;
    }
    at++;
    if (*at == '{') {
        bool is_layout = (lex_class[(unsigned char)at[1]] & LEX_DIGIT) || at[1] == ':';
        return is_layout ? pass_brackets(at, '{', '}') : NULL;
    }
    /* A layout may follow blanks. */
    return at[0] == ',' || at[0] == ')' || (at[0] == ' ' && at[1] != '{' && at[1] != '/') ? at
                                                                                          : NULL;
}

/* The end of a shape in which blanks and comments may stand anywhere, also before a layout. */
static const char *loose_shape_end(struct parser *parser, const char *begin)
{
    struct lexer lexer = parser->lexer;
    lexer.at = begin;
    if (*begin == '(') {
        return pass_brackets(begin, '(', ')');
    }
    lexer_word(&lexer);
    if (lexer_peek(&lexer) != '[') {
        return NULL;
    }
    const char *end = pass_brackets(lexer.at, '[', ']');
    if (end == NULL) {
        return NULL;
    }
    lexer.at = end;
    if (lexer_peek(&lexer) != '{') {
        return end;
    }
    const char *brace = lexer.at++;
    char next = lexer_peek(&lexer);
    bool is_layout = (lex_class[(unsigned char)next] & LEX_DIGIT) || next == ':';
    return is_layout ? pass_brackets(brace, '{', '}') : end;
}

/* Reads the shape from a copy without blanks and comments. NULL if that does not help. */
static const struct shape *parse_loose_shape(struct parser *parser, const char *begin,
                                             const char **end)
{
    *end = loose_shape_end(parser, begin);
    if (*end == NULL) {
        return NULL;
    }
    char *copy = memory_alloc((size_t)(*end - begin) + 1);
    size_t size = 0, used = 0;
    struct lexer lexer = parser->lexer;
    lexer.at = begin;
    while (lexer_skip(&lexer), lexer.at < *end) {
        copy[size++] = *lexer.at++;
    }
    struct error err = {0};
    const struct shape *shape = shape_parse(copy, size, &used, &err);
    free(copy);
    return used == size ? shape : NULL;
}

const struct shape *parse_shape(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    lexer_skip(lexer);
    const char *begin = lexer->at, *end = shape_end(begin);
    struct shape_entry *entry = NULL;
    if (end != NULL) {
        entry = shape_cache_find(&parser->shapes, begin, (size_t)(end - begin));
        if (entry->shape != NULL) {
            lexer->at = end;
            return entry->shape;
        }
    }
    size_t used = 0;
    struct error err = {0};
    const struct shape *shape = shape_parse(begin, (size_t)(lexer->end - begin), &used, &err);
    if (entry != NULL && shape != NULL && begin + used == end) {
        lexer->at = end;
        entry->shape = shape;
        return shape;
    }
    const char *loose_end;
    const struct shape *loose = parse_loose_shape(parser, begin, &loose_end);
    if (loose != NULL) {
        lexer->at = loose_end;
        return loose;
    }
    if (shape == NULL) {
        lexer_take_error(lexer, begin, &err);
        return NULL;
    }
    lexer->at = begin + used;
    return shape;
}

bool parse_at_shape(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    lexer_skip(lexer);
    const char *begin = lexer->at;
    if (*begin == '(') {
        return true;
    }
    struct span word = lexer_word(lexer);
    bool is_shape =
        *lexer->at == '[' || (word.size == 1 && word.data[0] == 'b' && *lexer->at == '(');
    if (!is_shape && word.size > 0 && *lexer->at <= ' ') {
        is_shape = type_from_text(word.data, word.size) != TYPE_INVALID && lexer_peek(lexer) == '[';
    }
    lexer->at = begin;
    return is_shape;
}

/* --- fields --- */

static bool parse_field(struct parser *parser, const struct field *field, void *value)
{
    struct lexer *lexer = &parser->lexer;
    void *slot = (char *)value + field->offset;
    switch (field->kind) {
    case FIELD_INT32: {
        lexer_skip(lexer);
        const char *at = lexer->at;
        int64_t number;
        if (!lexer_int(lexer, &number)) {
            return false;
        }
        if (number != (int32_t)number) {
            return lexer_fail(lexer, at, "%s does not fit in 32 bits", field->name);
        }
        *(int64_t *)slot = number;
        return true;
    }
    case FIELD_STRING:
        return lexer_c_string(lexer, parser->arena, (const char **)slot);
    case FIELD_BYTES:
        return lexer_string(lexer, parser->arena, slot);
    case FIELD_INTS:
        return parse_int_list(parser, '{', '}', ',', slot);
    }
    return false;
}

bool parse_fields(struct parser *parser, const struct field *fields, int count, void *value)
{
    struct lexer *lexer = &parser->lexer;
    uint32_t seen = 0;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    while (!lexer_accept(lexer, '}')) {
        lexer_accept(lexer, ',');
        struct span name;
        if (!lexer_attribute(lexer, &name)) {
            return false;
        }
        int i = 0;
        while (i < count &&
               (name.size != fields[i].size || memcmp(name.data, fields[i].name, name.size) != 0)) {
            i++;
        }
        if (i == count) {
            return lexer_fail(lexer, name.data, "unknown field %.*s", (int)name.size, name.data);
        }
        if (seen >> i & 1) {
            return lexer_fail(lexer, name.data, "%s is there twice", fields[i].name);
        }
        seen |= (uint32_t)1 << i;
        if (!parse_field(parser, &fields[i], value)) {
            return false;
        }
    }
    for (int i = 0; i < count; i++) {
        if (fields[i].required && !(seen >> i & 1)) {
            return lexer_fail(lexer, lexer->at - 1, "%s is missing", fields[i].name);
        }
    }
    return true;
}
