/* Manifests as texts that people keep: a case is added without touching what is there. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "compare/profile.h"
#include "corpus/manifest.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"

/* --- where the list of cases ends --- */

static const yaml_node_t *find_cases(yaml_document_t *document)
{
    const yaml_node_t *root = yaml_document_get_root_node(document);
    for (yaml_node_pair_t *pair = root->data.mapping.pairs.start;
         pair < root->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(document, pair->key);
        if (strcmp((const char *)key->data.scalar.value, "cases") == 0) {
            return yaml_document_get_node(document, pair->value);
        }
    }
    return NULL;
}

/* The last line of a node, from 0. What is written in blocks ends, for libyaml, where the next
 * thing begins, so that comments between would count: it is as long as what is in it. */
static size_t last_line(yaml_document_t *document, const yaml_node_t *node)
{
    size_t last = node->start_mark.line;
    if (node->type == YAML_SEQUENCE_NODE &&
        node->data.sequence.style == YAML_BLOCK_SEQUENCE_STYLE) {
        for (yaml_node_item_t *item = node->data.sequence.items.start;
             item < node->data.sequence.items.top; item++) {
            size_t line = last_line(document, yaml_document_get_node(document, *item));
            last = line > last ? line : last;
        }
        return last;
    }
    if (node->type == YAML_MAPPING_NODE && node->data.mapping.style == YAML_BLOCK_MAPPING_STYLE) {
        for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
             pair < node->data.mapping.pairs.top; pair++) {
            size_t line = last_line(document, yaml_document_get_node(document, pair->value));
            last = line > last ? line : last;
        }
        return last;
    }
    bool line_is_over = node->end_mark.column == 0 && node->end_mark.line > last;
    return node->end_mark.line - (line_is_over ? 1 : 0);
}

/* The byte behind a line, and the column of the dash of the first case. An empty list that is
 * written as [] goes. */
struct place {
    size_t offset, indent;
    size_t cut_begin, cut_end;
};

static size_t line_end(const char *text, size_t size, size_t line)
{
    size_t at = 0;
    for (size_t i = 0; i <= line && at < size; i++) {
        const char *end = memchr(text + at, '\n', size - at);
        at = end != NULL ? (size_t)(end - text) + 1 : size;
    }
    return at;
}

static bool find_place(const char *path, const char *text, size_t size, yaml_document_t *document,
                       struct place *place, struct error *err)
{
    const yaml_node_t *cases = find_cases(document);
    const yaml_mark_t mark = cases->start_mark, end = cases->end_mark;
    bool is_list = cases->type == YAML_SEQUENCE_NODE;
    if (!is_list || cases->data.sequence.items.top == cases->data.sequence.items.start) {
        place->indent = 2;
        place->offset = line_end(text, size, end.line);
        place->cut_begin = (mark.line > 0 ? line_end(text, size, mark.line - 1) : 0) + mark.column;
        while (place->cut_begin > 0 && text[place->cut_begin - 1] == ' ') {
            place->cut_begin--;
        }
        place->cut_end = (end.line > 0 ? line_end(text, size, end.line - 1) : 0) + end.column;
        return true;
    }
    if (cases->data.sequence.style != YAML_BLOCK_SEQUENCE_STYLE) {
        struct where where = {path, (int)mark.line + 1, (int)mark.column + 1};
        return error_at(err, where, "a case is added to a list whose cases begin with '- '");
    }
    place->indent = mark.column;
    place->offset = line_end(text, size, last_line(document, cases));
    return true;
}

/* --- what a case looks like --- */

/* A value as it stands in a flow mapping: plain where nothing in it could be taken for YAML. */
static void print_value(const char *value, struct text *out)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _.()/-";
    size_t size = strlen(value);
    bool starts = (value[0] >= 'a' && value[0] <= 'z') || (value[0] >= 'A' && value[0] <= 'Z');
    bool known = strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
    if (starts && !known && strspn(value, plain) == size && value[size - 1] != ' ') {
        text_append(out, value);
        return;
    }
    text_char(out, '"');
    for (const char *c = value; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            text_printf(out, "\\%c", *c);
        } else if ((unsigned char)*c < ' ') {
            text_printf(out, "\\x%02x", (unsigned)*c);
        } else {
            text_char(out, *c);
        }
    }
    text_char(out, '"');
}

static void print_field(const char *indent, const char *name, const char *value, struct text *out)
{
    text_printf(out, "%s%s: ", indent, name);
    print_value(value, out);
    text_char(out, '\n');
}

static void print_seeds(const char *indent, const struct test_case *added, struct text *out)
{
    if (added->seed_count == 0 || (added->seed_count == 1 && added->seeds[0] == 1)) {
        return;
    }
    text_printf(out, "%sseeds: [", indent);
    for (int i = 0; i < added->seed_count; i++) {
        text_printf(out, "%s%" PRId64, i > 0 ? ", " : "", added->seeds[i]);
    }
    text_append(out, "]\n");
}

static void print_backends(const char *indent, const char *const *backends, size_t count,
                           struct text *out)
{
    for (size_t i = 0; i < count; i++) {
        text_printf(out, i == 0 ? "%sbackends: [" : ", ", indent);
        print_value(backends[i], out);
    }
    text_append(out, count > 0 ? "]\n" : "");
}

static void print_expectations(const char *indent, const struct test_case *added, struct text *out)
{
    if (added->expectation_count > 0) {
        text_printf(out, "%sexpect:\n", indent);
    }
    for (int i = 0; i < added->expectation_count; i++) {
        const struct expectation *expectation = &added->expectations[i];
        text_printf(out, "%s  ", indent);
        print_value(expectation->backend, out);
        text_printf(out, ": {outcome: %s, reason: ", outcome_text(expectation->outcome));
        print_value(expectation->reason, out);
        if (expectation->until != NULL && expectation->until[0] != '\0') {
            text_printf(out, ", until: %s", expectation->until);
        }
        text_append(out, "}\n");
    }
}

static void print_case(size_t column, const struct test_case *added, struct text *out)
{
    struct text indent;
    text_init(&indent);
    for (size_t i = 0; i < column; i++) {
        text_char(&indent, ' ');
    }
    text_printf(out, "%s- ", indent.data);
    text_append(&indent, "  ");
    if (added->name != NULL && added->name[0] != '\0') {
        print_field("", "name", added->name, out);
    }
    print_field(added->name != NULL && added->name[0] != '\0' ? indent.data : "", "file",
                added->file, out);
    print_seeds(indent.data, added, out);
    print_backends(indent.data, (const char *const *)added->backends, (size_t)added->backend_count,
                   out);
    if (added->tolerance != TOLERANCE_DEFAULT) {
        print_field(indent.data, "tolerance", tolerance_kind_text(added->tolerance), out);
    }
    if (added->profile != NULL) {
        print_field(indent.data, "profile", added->profile->name, out);
    }
    if (added->poison) {
        text_printf(out, "%spoison: true\n", indent.data);
    }
    if (added->timeout > 0) {
        text_printf(out, "%stimeout: %g\n", indent.data, added->timeout);
    }
    print_expectations(indent.data, added, out);
    text_finish(&indent);
}

/* --- is it what was meant? --- */

static bool same_expectations(const struct test_case *a, const struct test_case *b)
{
    bool same = a->expectation_count == b->expectation_count;
    for (int i = 0; same && i < a->expectation_count; i++) {
        const struct expectation *x = &a->expectations[i], *y = &b->expectations[i];
        same = strcmp(x->backend, y->backend) == 0 && x->outcome == y->outcome &&
               strcmp(x->reason, y->reason) == 0 &&
               strcmp(x->until != NULL ? x->until : "", y->until != NULL ? y->until : "") == 0;
    }
    return same;
}

static bool read_again(const char *path, const char *old, size_t old_size, const struct text *new,
                       const struct test_case *added, struct error *err)
{
    struct manifest before, after;
    if (!manifest_read(path, old, old_size, &before, err)) {
        return false;
    }
    if (!manifest_read(path, new->data, new->size, &after, err)) {
        manifest_finish(&before);
        return false;
    }
    bool same = after.case_count == before.case_count + 1;
    for (int i = 0; same && i < before.case_count; i++) {
        same = strcmp(before.cases[i].name, after.cases[i].name) == 0 &&
               same_expectations(&before.cases[i], &after.cases[i]);
    }
    const struct test_case *last = same ? &after.cases[before.case_count] : NULL;
    same = same && same_expectations(last, added) && last->profile == added->profile &&
           last->poison == added->poison && last->backend_count == added->backend_count;
    manifest_finish(&before);
    manifest_finish(&after);
    return same ||
           error_set(err, ERROR_INVALID_ARGUMENT,
                     "%s: no case can be added behind the last one: its form is not known", path);
}

char *manifest_begin(const char *suite, const char *const *backends, size_t backend_count)
{
    struct text text;
    text_init(&text);
    print_field("", "suite", suite, &text);
    print_backends("", backends, backend_count, &text);
    text_append(&text, "cases:\n");
    char *taken = text_take(&text);
    text_finish(&text);
    return taken;
}

char *manifest_with_case(const char *path, const char *text, size_t size,
                         const struct test_case *added, struct error *err)
{
    yaml_document_t document;
    yaml_parser_t parser;
    struct manifest manifest;
    struct place place = {0};
    struct text result;
    if (!manifest_read(path, text, size, &manifest, err)) {
        return NULL;
    }
    manifest_finish(&manifest);
    yaml_parser_initialize(&parser);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    bool ok = yaml_parser_load(&parser, &document) == 1 ||
              error_set(err, ERROR_INVALID_ARGUMENT, "%s: malformed YAML", path);
    yaml_parser_delete(&parser);
    if (!ok) {
        return NULL;
    }
    text_init(&result);
    ok = find_place(path, text, size, &document, &place, err);
    yaml_document_delete(&document);
    if (ok) {
        text_append_n(&result, text, place.cut_begin);
        text_append_n(&result, text + place.cut_end, place.offset - place.cut_end);
        if (place.offset > 0 && text[place.offset - 1] != '\n') {
            text_char(&result, '\n');
        }
        print_case(place.indent, added, &result);
        text_append_n(&result, text + place.offset, size - place.offset);
        ok = read_again(path, text, size, &result, added, err);
    }
    char *taken = ok ? text_take(&result) : NULL;
    text_finish(&result);
    return taken;
}
