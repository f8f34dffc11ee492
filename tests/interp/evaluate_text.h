/* Help for tests: modules and literals from text, evaluated and compared. Everything here fails the
 * test that calls it. */
#ifndef TESTS_INTERP_EVALUATE_TEXT_H
#define TESTS_INTERP_EVALUATE_TEXT_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "interp/interp.h"

#define UNUSED __attribute__((unused))

UNUSED static struct module *read_module(const char *text)
{
    struct error err = {0};
    struct module *module = text_read_module(text, strlen(text), "test", 1, &err);
    ck_assert_msg(module != NULL, "line %d: %s\n%.1500s", err.line, err.message, text);
    return module;
}

/* "f32[2] {1, 2}" */
UNUSED static struct literal *read_literal(const char *text)
{
    struct error err = {0};
    /* A brace after the shape would be taken for its layout. */
    size_t size = 0, used = 0;
    for (int depth = 0; depth > 0 || (text[size] != ' ' && text[size] != 0); size++) {
        depth += (text[size] == '(') - (text[size] == ')');
    }
    const struct shape *shape = shape_parse(text, size, &used, &err);
    ck_assert_msg(shape != NULL, "%s: %s", text, err.message);
    text += used;
    struct literal *literal = literal_parse(shape, text, strlen(text), &used, &err);
    ck_assert_msg(literal != NULL, "%s: %s", text, err.message);
    return literal;
}

UNUSED static void check_literal(const struct literal *got, const char *want_text,
                                 const char *where)
{
    struct literal *want = read_literal(want_text);
    if (!literal_equal(got, want)) {
        struct text text;
        text_init(&text);
        literal_print(got, false, 0, &text);
        ck_abort_msg("%s\ngot  %s %s\nwant %s", where, shape_text(got->shape), text.data,
                     want_text);
    }
    literal_release(want);
}

/* Evaluates with up to four arguments (NULL: no more). */
UNUSED static struct literal *evaluate_module(const struct module *module, const char *a,
                                              const char *b, const char *c, const char *d,
                                              const struct interp_options *options,
                                              struct error *err)
{
    const char *texts[] = {a, b, c, d};
    struct literal *arguments[4] = {NULL};
    int count = 0;
    while (count < 4 && texts[count] != NULL) {
        arguments[count] = read_literal(texts[count]);
        count++;
    }
    struct literal *result = interp_evaluate(module, arguments, count, options, err);
    for (int i = 0; i < count; i++) {
        literal_release(arguments[i]);
    }
    return result;
}

UNUSED static void check_evaluates(const char *module_text, const char *a, const char *b,
                                   const char *c, const char *d, const char *want)
{
    struct module *module = read_module(module_text);
    struct error err = {0};
    size_t before = literal_memory_in_use();
    struct literal *result = evaluate_module(module, a, b, c, d, NULL, &err);
    ck_assert_msg(result != NULL, "%s\n%s", module_text, err.message);
    check_literal(result, want, module_text);
    literal_release(result);
    ck_assert_msg(literal_memory_in_use() == before, "literals leak:\n%s", module_text);
    module_destroy(module);
}

/* The evaluation must fail with this code and a message that contains `part`. */
UNUSED static void check_fails(const char *module_text, const char *a, const char *b,
                               const struct interp_options *options, enum error_code code,
                               const char *part)
{
    struct module *module = read_module(module_text);
    struct error err = {0};
    size_t before = literal_memory_in_use();
    struct literal *result = evaluate_module(module, a, b, NULL, NULL, options, &err);
    ck_assert_ptr_null(result);
    ck_assert_msg(err.code == code && strstr(err.message, part) != NULL, "%s: %s",
                  error_code_text(err.code), err.message);
    ck_assert_msg(literal_memory_in_use() == before, "literals leak:\n%s", module_text);
    module_destroy(module);
}

#endif
