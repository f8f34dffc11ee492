/* The "//@" lines before a module. */
#include "corpus/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"

/* One "//@ key value" line. */
struct line {
    const char *key, *value;
    size_t key_size, value_size;
    struct where where;
};

static bool read_literal(const struct line *line, struct literal ***list, int *count,
                         struct error *err)
{
    size_t used = 0, more = 0;
    struct error problem = {0};
    const struct shape *shape = shape_parse(line->value, line->value_size, &used, &problem);
    struct literal *literal = NULL;
    if (shape != NULL) {
        literal =
            literal_parse(shape, line->value + used, line->value_size - used, &more, &problem);
    }
    if (literal == NULL) {
        return error_at(err, line->where, "//@ %.*s: %s", (int)line->key_size, line->key,
                        problem.message);
    }
    *list = memory_realloc(*list, ((size_t)*count + 1) * sizeof **list);
    (*list)[(*count)++] = literal;
    for (size_t i = used + more; i < line->value_size; i++) {
        if (line->value[i] != ' ' && line->value[i] != '\r') {
            return error_at(err, line->where, "//@ %.*s: text after the literal",
                            (int)line->key_size, line->key);
        }
    }
    return true;
}

static bool read_compare(const struct line *line, struct case_header *header, struct error *err)
{
    char word[16] = "", rest[64] = "";
    char copy[128];
    snprintf(copy, sizeof copy, "%.*s", (int)line->value_size, line->value);
    sscanf(copy, "%15s %63s", word, rest);
    char *end = rest;
    double number = strtod(rest, &end);
    bool is_number = end != rest && *end == '\0' && number >= 0;
    if (strcmp(word, "bits") == 0 && rest[0] == '\0') {
        return true;
    }
    if (strcmp(word, "ulp") == 0 && is_number) {
        header->ulps = number;
        return true;
    }
    if (strcmp(word, "abs") == 0 && is_number) {
        header->abs = number;
        return true;
    }
    return error_at(err, line->where, "//@ compare takes 'bits', 'ulp N' or 'abs X', not '%s'",
                    copy);
}

static bool read_line(const struct line *line, struct case_header *header, struct error *err)
{
    static const char *const ignored[] = {"note", "inputs"};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) {
        if (strlen(ignored[i]) == line->key_size &&
            memcmp(ignored[i], line->key, line->key_size) == 0) {
            return true;
        }
    }
    if (line->key_size == 4 && memcmp(line->key, "case", 4) == 0) {
        free(header->name);
        header->name = memory_alloc(line->value_size + 1);
        memcpy(header->name, line->value, line->value_size);
        header->name[line->value_size] = '\0';
        return true;
    }
    if (line->key_size == 3 && memcmp(line->key, "arg", 3) == 0) {
        return read_literal(line, &header->arguments, &header->argument_count, err);
    }
    if (line->key_size == 6 && memcmp(line->key, "expect", 6) == 0) {
        return read_literal(line, &header->expected, &header->expected_count, err);
    }
    if (line->key_size == 7 && memcmp(line->key, "compare", 7) == 0) {
        return read_compare(line, header, err);
    }
    return error_at(err, line->where,
                    "unknown key '//@ %.*s'; known are case, arg, expect, compare, note, inputs",
                    (int)line->key_size, line->key);
}

bool case_header_read(const char *text, const char *file, struct case_header *header,
                      struct error *err)
{
    memset(header, 0, sizeof *header);
    header->name = memory_strdup("");
    int number = 0;
    for (const char *at = text; *at != '\0';) {
        const char *newline = strchr(at, '\n');
        const char *end = newline != NULL ? newline : at + strlen(at);
        struct line line = {.where = {file, ++number, 1}};
        at += strspn(at, " \t");
        if (strncmp(at, "//@", 3) == 0) {
            at += 3;
            at += strspn(at, " \t");
            line.key = at;
            line.key_size = strcspn(at, " \t\r\n");
            line.value = at + line.key_size;
            line.value += strspn(line.value, " \t");
            while (end > line.value && (end[-1] == '\r' || end[-1] == ' ')) {
                end--;
            }
            line.value_size = end > line.value ? (size_t)(end - line.value) : 0;
            if (!read_line(&line, header, err)) {
                case_header_finish(header);
                return false;
            }
        }
        at = newline != NULL ? newline + 1 : at + strlen(at);
    }
    return true;
}

void case_header_finish(struct case_header *header)
{
    for (int i = 0; i < header->argument_count; i++) {
        literal_release(header->arguments[i]);
    }
    for (int i = 0; i < header->expected_count; i++) {
        literal_release(header->expected[i]);
    }
    free(header->arguments);
    free(header->expected);
    free(header->name);
    memset(header, 0, sizeof *header);
}

static bool check_leaves(const struct case_header *header, int first, const struct literal *result,
                         struct text *picture)
{
    bool ok = true;
    for (int i = 0; i < shape_leaves(result->shape); i++) {
        struct bound bound = {.ulps = header->ulps, .abs = header->abs};
        struct comparison comparison;
        const struct literal *expected = header->expected[first + i];
        const struct literal *actual = literal_leaf(result, i);
        literal_compare(expected, actual, &bound, &comparison);
        if (!comparison.equal) {
            ok = false;
            text_printf(picture, "output %d: ", i);
            comparison_print(&comparison, expected, actual, picture);
        }
        comparison_finish(&comparison);
    }
    return ok;
}

bool case_header_check(const struct case_header *header, const struct literal *result,
                       struct text *picture)
{
    struct literal *results = (struct literal *)result;
    return case_header_check_devices(header, &results, 1, picture);
}

bool case_header_check_devices(const struct case_header *header, struct literal *const *results,
                               int count, struct text *picture)
{
    int leaves = shape_leaves(results[0]->shape);
    bool shared = header->expected_count == leaves;
    if (!shared && header->expected_count != leaves * count) {
        text_printf(picture, "the result has %d outputs, %d are expected\n", leaves * count,
                    header->expected_count);
        return false;
    }
    bool ok = true;
    for (int d = 0; d < count; d++) {
        struct text own;
        text_init(&own);
        if (!check_leaves(header, shared ? 0 : d * leaves, results[d], &own)) {
            ok = false;
            if (count > 1) {
                text_printf(picture, "device %d, ", d);
            }
            text_append(picture, own.data);
        }
        text_finish(&own);
    }
    return ok;
}
