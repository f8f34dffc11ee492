/* Help for tests: functions of MLIR text, translated to HLO and evaluated. Everything here fails
 * the test that calls it. */
#ifndef TESTS_INTERP_EVALUATE_MLIR_H
#define TESTS_INTERP_EVALUATE_MLIR_H

#include "hlo/mlir/mlir_format.h"
#include "tests/interp/evaluate_text.h"

UNUSED static struct literal *evaluate_for_shape(const struct module *module, struct error *err)
{
    return interp_evaluate(module, NULL, 0, NULL, err);
}

/* The module of the function that mlir_import takes; NULL with *err. Arguments (NULL: none) give
 * shapes and values that are left open. */
UNUSED static struct module *import_text(const char *text, struct literal *const *arguments,
                                         int count, struct error *err)
{
    struct mlir_file *file = mlir_parse(text, strlen(text), "test", 1, err);
    if (file == NULL) {
        return NULL;
    }
    const struct shape *shapes[8];
    ck_assert_int_le(count, 8);
    for (int i = 0; i < count; i++) {
        shapes[i] = arguments[i]->shape;
    }
    struct mlir_import_options options = {
        .argument_count = count,
        .argument_shapes = shapes,
        .arguments = (const struct literal *const *)arguments,
        .evaluate = evaluate_for_shape,
    };
    struct module *module = mlir_import(file, &options, err);
    mlir_file_destroy(file);
    return module;
}

/* The result on arguments as text ("f32[2] {1, 2}"), up to four. */
UNUSED static struct literal *evaluate_mlir(const char *text, const char *a, const char *b,
                                            const char *c, const char *d)
{
    const char *texts[] = {a, b, c, d};
    struct literal *arguments[4] = {NULL};
    int count = 0;
    while (count < 4 && texts[count] != NULL) {
        arguments[count] = read_literal(texts[count]);
        count++;
    }
    struct error err = {0};
    struct module *module = import_text(text, arguments, count, &err);
    ck_assert_msg(module != NULL, "line %d: %s\n%s", err.line, err.message, text);
    struct literal *result = interp_evaluate(module, arguments, count, NULL, &err);
    ck_assert_msg(result != NULL, "%s\n%s", err.message, text);
    for (int i = 0; i < count; i++) {
        literal_release(arguments[i]);
    }
    module_destroy(module);
    return result;
}

UNUSED static void check_mlir(const char *text, const char *a, const char *b, const char *c,
                              const char *d, const char *want)
{
    struct literal *result = evaluate_mlir(text, a, b, c, d);
    check_literal(result, want, text);
    literal_release(result);
}

/* The translation must fail with this code and a message that contains `part`. */
UNUSED static void check_mlir_fails(const char *text, const char *a, const char *b,
                                    enum error_code code, const char *part)
{
    const char *texts[] = {a, b};
    struct literal *arguments[2] = {NULL};
    int count = 0;
    while (count < 2 && texts[count] != NULL) {
        arguments[count] = read_literal(texts[count]);
        count++;
    }
    struct error err = {0};
    struct module *module = import_text(text, arguments, count, &err);
    ck_assert_msg(module == NULL, "is translated:\n%s", text);
    ck_assert_msg(err.code == code && strstr(err.message, part) != NULL, "%s: %s\n%s",
                  error_code_text(err.code), err.message, text);
    for (int i = 0; i < count; i++) {
        literal_release(arguments[i]);
    }
}

#endif
