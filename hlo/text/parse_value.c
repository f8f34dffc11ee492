/* Attribute values with a form of their own: aliasing, result accuracy, strings by key, metadata,
 * statistics, origins, literals. Those about dimensions are in parse_window.c. */
#include <math.h>
#include <stdlib.h>

#include "hlo/base/arena.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/text/parse.h"

/* --- aliasing --- */

bool parse_shape_index(struct parser *parser, struct ints *index)
{
    return parse_int_list(parser, '{', '}', ',', index);
}

bool parse_aliasing(struct parser *parser, struct attr *attr)
{
    struct lexer *lexer = &parser->lexer;
    size_t base = parser->scratch.count;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    while (lexer_peek(lexer) != '}') {
        struct output_alias *alias = arena_alloc(parser->arena, sizeof *alias);
        stack_push(&parser->scratch, alias);
        if (!parse_shape_index(parser, &alias->output_index) || !lexer_expect(lexer, ':') ||
            !lexer_expect(lexer, '(') || !lexer_int(lexer, &alias->operand) ||
            !lexer_expect(lexer, ',') || !parse_shape_index(parser, &alias->operand_index) ||
            !lexer_expect(lexer, ')')) {
            return false;
        }
        if (!lexer_accept(lexer, ',')) {
            break;
        }
    }
    size_t count = parser->scratch.count - base;
    struct output_alias *entries = arena_array(parser->arena, count, sizeof *entries);
    for (size_t i = 0; i < count; i++) {
        entries[i] = *(struct output_alias *)parser->scratch.items[base + i];
    }
    parser->scratch.count = base;
    attr->aliasing = (struct aliasing){(int)count, entries};
    return lexer_expect(lexer, '}');
}

/* --- result accuracy --- */

static bool parse_tolerance(struct parser *parser, struct result_accuracy *accuracy)
{
    struct lexer *lexer = &parser->lexer;
    accuracy->has_tolerance = true;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    if (lexer_accept(lexer, '}')) {
        return true;
    }
    do {
        struct span name;
        double value;
        if (!lexer_attribute(lexer, &name)) {
            return false;
        }
        lexer_skip(lexer);
        const char *at = lexer->at;
        if (!lexer_double(lexer, &value)) {
            return false;
        }
        if (span_is(name, "atol")) {
            accuracy->atol = value;
        } else if (span_is(name, "rtol")) {
            accuracy->rtol = value;
        } else if (!span_is(name, "ulps")) {
            return lexer_fail(lexer, name.data, "unknown tolerance %.*s", (int)name.size,
                              name.data);
        } else if (!(fabs(value) < 9e18)) {
            return lexer_fail(lexer, at, "ulps are out of range");
        } else {
            accuracy->ulps = (int64_t)value;
        }
    } while (lexer_accept(lexer, ','));
    return lexer_expect(lexer, '}');
}

bool parse_result_accuracy(struct parser *parser, struct attr *attr)
{
    struct lexer *lexer = &parser->lexer;
    struct result_accuracy *accuracy = arena_alloc(parser->arena, sizeof *accuracy);
    attr->result_accuracy = accuracy;
    struct span name;
    if (!lexer_expect(lexer, '{') || !lexer_attribute(lexer, &name)) {
        return false;
    }
    if (span_is(name, "tolerance")) {
        return parse_tolerance(parser, accuracy) && lexer_expect(lexer, '}');
    }
    if (!span_is(name, "mode")) {
        return lexer_fail(lexer, name.data, "expected mode or tolerance");
    }
    struct span word = lexer_word(lexer);
    accuracy->mode = span_is_any_case(word, "highest");
    if (accuracy->mode == 0 && !span_is_any_case(word, "default")) {
        lexer->at = word.data;
        return lexer_expected(lexer, "default or highest");
    }
    return lexer_expect(lexer, '}');
}

/* --- strings by key --- */

struct numbered_entry {
    struct string_entry entry;
    size_t number; /* as written */
};

static int compare_entries(const void *a, const void *b)
{
    const struct numbered_entry *x = *(struct numbered_entry *const *)a;
    const struct numbered_entry *y = *(struct numbered_entry *const *)b;
    int order = strcmp(x->entry.key.data, y->entry.key.data);
    return order != 0 ? order : x->number < y->number ? -1 : 1;
}

static bool parse_entry(struct parser *parser, struct string_entry *entry)
{
    struct lexer *lexer = &parser->lexer;
    struct span key, value;
    if (!lexer_attribute(lexer, &key)) {
        return false;
    }
    entry->key.data = arena_string(parser->arena, key.data, key.size);
    entry->key.size = key.size;
    if (lexer_peek(lexer) == '{') {
        if (!lexer_braces(lexer, &value)) {
            return false;
        }
        entry->value.data = arena_string(parser->arena, value.data, value.size);
        entry->value.size = value.size;
    } else if (!lexer_string(lexer, parser->arena, &entry->value)) {
        return false;
    }
    entry->raw = lexer_is_json(entry->value.data, entry->value.size);
    return true;
}

/* {key="value",key={json}}, kept in the order of keys. Of a repeated key, the last value counts. */
bool parse_string_map(struct parser *parser, struct attr *attr)
{
    struct lexer *lexer = &parser->lexer;
    size_t base = parser->scratch.count;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    if (!lexer_accept(lexer, '}')) {
        do {
            struct numbered_entry *entry = arena_alloc(parser->arena, sizeof *entry);
            entry->number = parser->scratch.count;
            stack_push(&parser->scratch, entry);
            if (!parse_entry(parser, &entry->entry)) {
                return false;
            }
        } while (lexer_accept(lexer, ','));
        if (!lexer_expect(lexer, '}')) {
            return false;
        }
    }
    size_t count = parser->scratch.count - base, kept = 0;
    struct numbered_entry **all = (struct numbered_entry **)(void *)(parser->scratch.items + base);
    struct string_entry *entries = arena_array(parser->arena, count, sizeof *entries);
    if (count > 1) {
        qsort(all, count, sizeof *all, compare_entries);
    }
    for (size_t i = 0; i < count; i++) {
        bool repeated = kept > 0 && strcmp(entries[kept - 1].key.data, all[i]->entry.key.data) == 0;
        entries[repeated ? kept - 1 : kept++] = all[i]->entry;
    }
    parser->scratch.count = base;
    attr->string_map = (struct string_map){(int)kept, entries};
    return true;
}

/* --- metadata --- */

bool parse_metadata_value(struct parser *parser, struct metadata **metadata)
{
    static const struct field fields[] = {
        {FIELD_NAME("op_name"), FIELD_STRING, offsetof(struct metadata, op_name), false},
        {FIELD_NAME("stack_frame_id"), FIELD_INT32, offsetof(struct metadata, stack_frame_id),
         false},
        {FIELD_NAME("op_type"), FIELD_STRING, offsetof(struct metadata, op_type), false},
        {FIELD_NAME("source_file"), FIELD_STRING, offsetof(struct metadata, source_file), false},
        {FIELD_NAME("source_line"), FIELD_INT32, offsetof(struct metadata, source_line), false},
        {FIELD_NAME("source_end_line"), FIELD_INT32, offsetof(struct metadata, source_end_line),
         false},
        {FIELD_NAME("source_column"), FIELD_INT32, offsetof(struct metadata, source_column), false},
        {FIELD_NAME("source_end_column"), FIELD_INT32, offsetof(struct metadata, source_end_column),
         false},
        {FIELD_NAME("profile_type"), FIELD_INTS, offsetof(struct metadata, profile_type), false},
        {FIELD_NAME("deduplicated_name"), FIELD_STRING,
         offsetof(struct metadata, deduplicated_name), false},
        {FIELD_NAME("scheduling_name"), FIELD_STRING, offsetof(struct metadata, scheduling_name),
         false},
        {FIELD_NAME("metadata_payload"), FIELD_BYTES, offsetof(struct metadata, extra), false},
    };
    struct metadata *value = arena_alloc(parser->arena, sizeof *value);
    *metadata = value;
    if (!parse_fields(parser, fields, sizeof fields / sizeof *fields, value)) {
        return false;
    }
    const char **strings[] = {&value->op_type, &value->op_name, &value->source_file,
                              &value->deduplicated_name, &value->scheduling_name};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        if (*strings[i] != NULL && **strings[i] == '\0') {
            *strings[i] = NULL; /* the same as nothing */
        }
    }
    return true;
}

bool parse_metadata(struct parser *parser, struct attr *attr)
{
    return parse_metadata_value(parser, &attr->metadata);
}

/* --- statistics --- */

bool parse_statistics(struct parser *parser, struct attr *attr)
{
    struct lexer *lexer = &parser->lexer;
    struct statistics *statistics = arena_alloc(parser->arena, sizeof *statistics);
    attr->statistics = statistics;
    size_t base = parser->scratch.count;
    struct span name;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    if (lexer_accept(lexer, '}')) {
        return true;
    }
    if (!lexer_attribute(lexer, &name) || !lexer_int(lexer, &statistics->visualizing_index)) {
        return false;
    }
    while (lexer_accept(lexer, ',')) {
        struct statistic *entry = arena_alloc(parser->arena, sizeof *entry);
        stack_push(&parser->scratch, entry);
        if (!lexer_attribute(lexer, &name) || !lexer_double(lexer, &entry->value)) {
            return false;
        }
        entry->name = arena_string(parser->arena, name.data, name.size);
    }
    size_t count = parser->scratch.count - base;
    struct statistic *entries = arena_array(parser->arena, count, sizeof *entries);
    for (size_t i = 0; i < count; i++) {
        entries[i] = *(struct statistic *)parser->scratch.items[base + i];
    }
    parser->scratch.count = base;
    statistics->count = (int)count;
    statistics->entries = entries;
    return lexer_expect(lexer, '}');
}

/* --- origin --- */

bool parse_original_array(struct parser *parser, const char **name, struct ints *index)
{
    struct lexer *lexer = &parser->lexer;
    *name = NULL;
    *index = (struct ints){0, NULL};
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    if (lexer_peek(lexer) == '"' || *lexer->at == '\'') {
        if (!lexer_c_string(lexer, parser->arena, name)) {
            return false;
        }
        if (lexer_peek(lexer) == '{' && !parse_shape_index(parser, index)) {
            return false;
        }
    }
    return lexer_expect(lexer, '}');
}

static void print_original_array(const char *name, struct ints index, struct text *out)
{
    text_char(out, '{');
    if (name != NULL) {
        text_char(out, '"');
        text_append(out, name);
        text_char(out, '"');
    }
    for (int i = 0; i < index.count; i++) {
        text_append(out, i == 0 ? " {" : ",");
        text_int(out, index.values[i]);
    }
    text_append(out, index.count > 0 ? "}}" : "}");
}

/* A tree of arrays: {…}, or (tree, …). Collects leaves on the scratch stack and the canonical text;
 * the path to the leaf stands on the integer stack from `path` on. */
static bool parse_origin_tree(struct parser *parser, size_t path, struct text *out)
{
    struct lexer *lexer = &parser->lexer;
    if (lexer_peek(lexer) == '{') {
        struct origin_element *element = arena_alloc(parser->arena, sizeof *element);
        stack_push(&parser->scratch, element);
        size_t depth = parser->int_count - path;
        const int64_t *from = depth > 0 ? parser->ints + path : NULL;
        element->index =
            (struct ints){(int)depth, arena_copy(parser->arena, from, depth * sizeof(int64_t))};
        if (!parse_original_array(parser, &element->name, &element->array_index)) {
            return false;
        }
        print_original_array(element->name, element->array_index, out);
        return true;
    }
    if (!lexer_accept(lexer, '(')) {
        return lexer_expected(lexer, "'{', '(' or [synthetic_call]");
    }
    if (!parse_deeper(parser)) {
        return false;
    }
    text_char(out, '(');
    if (!lexer_accept(lexer, ')')) {
        ints_push(parser, 0);
        for (;;) {
            if (!parse_origin_tree(parser, path, out)) {
                return false;
            }
            if (!lexer_accept(lexer, ',')) {
                break;
            }
            parser->ints[parser->int_count - 1]++;
            text_append(out, ", ");
        }
        parser->int_count--;
        if (!lexer_expect(lexer, ')')) {
            return false;
        }
    }
    text_char(out, ')');
    parser->depth--;
    return true;
}

static bool parse_origin_body(struct parser *parser, struct origin *origin, struct text *text)
{
    struct lexer *lexer = &parser->lexer;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    if (lexer_accept(lexer, '[')) {
        if (!lexer_accept_word(lexer, "synthetic_call")) {
            return lexer_expected(lexer, "synthetic_call");
        }
        origin->synthetic_call = true;
        text_append(text, "[synthetic_call]");
        return lexer_expect(lexer, ']') && lexer_expect(lexer, '}');
    }
    if (lexer_peek(lexer) != '}' && !parse_origin_tree(parser, parser->int_count, text)) {
        return false;
    }
    return lexer_expect(lexer, '}');
}

bool parse_origin(struct parser *parser, struct attr *attr)
{
    struct origin *origin = arena_alloc(parser->arena, sizeof *origin);
    attr->origin = origin;
    size_t base = parser->scratch.count;
    struct text text;
    text_init(&text);
    bool ok = parse_origin_body(parser, origin, &text);
    origin->text.data = arena_string(parser->arena, text.data, text.size);
    origin->text.size = text.size;
    text_finish(&text);
    size_t count = parser->scratch.count - base;
    struct origin_element *elements = arena_array(parser->arena, count, sizeof *elements);
    for (size_t i = 0; i < count; i++) {
        elements[i] = *(struct origin_element *)parser->scratch.items[base + i];
    }
    parser->scratch.count = base;
    origin->count = (int)count;
    origin->elements = elements;
    return ok;
}

/* --- literals --- */

/* "shape value", or "(shape value, …)" for a tuple. */
static struct literal *parse_shaped_literal(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    if (!parse_deeper(parser)) {
        return NULL;
    }
    struct literal *literal = NULL;
    if (lexer_peek(lexer) != '(') {
        const struct shape *shape = parse_shape(parser);
        if (shape == NULL) {
            return NULL;
        }
        lexer_skip(lexer);
        struct error err = {0};
        size_t used = 0;
        literal = literal_parse(shape, lexer->at, (size_t)(lexer->end - lexer->at), &used, &err);
        if (literal == NULL) {
            lexer_take_error(lexer, lexer->at, &err);
            return NULL;
        }
        lexer->at += used;
        parser->depth--;
        return literal;
    }
    lexer->at++;
    size_t base = parser->scratch.count;
    bool ok = true;
    if (lexer_peek(lexer) != ')') {
        do {
            struct literal *element = parse_shaped_literal(parser);
            ok = element != NULL;
            if (ok) {
                stack_push(&parser->scratch, element);
            }
        } while (ok && lexer_accept(lexer, ','));
    }
    size_t count = parser->scratch.count - base;
    struct literal **elements = (struct literal **)(void *)(parser->scratch.items + base);
    if (ok && lexer_expect(lexer, ')')) {
        const struct shape **shapes = arena_array(parser->arena, count, sizeof *shapes);
        for (size_t i = 0; i < count; i++) {
            shapes[i] = elements[i]->shape;
        }
        literal = literal_tuple_take(shape_tuple((int)count, shapes), elements);
    } else {
        for (size_t i = 0; i < count; i++) {
            literal_release(elements[i]);
        }
    }
    parser->scratch.count = base;
    parser->depth--;
    return literal;
}

bool parse_literal(struct parser *parser, struct attr *attr)
{
    attr->literal = parse_shaped_literal(parser);
    return attr->literal != NULL;
}
