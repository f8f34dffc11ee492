/* Licences: each evaluates to what XLA's documented rewrite gives (numbers worked out by hand),
 * says nothing where it changes nothing, and profiles grant them. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/licence.h"
#include "compare/profile.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "interp/interp.h"

static struct module *read(const char *text)
{
    struct error err = {0};
    struct module *module = text_read_module(text, strlen(text), "test", 1, &err);
    ck_assert_msg(module != NULL, "%d:%d %s\n%s", err.line, err.column, err.message, text);
    return module;
}

static struct literal *read_literal(const struct shape *shape, const char *text)
{
    struct error err = {0};
    size_t used;
    struct literal *literal = literal_parse(shape, text, strlen(text), &used, &err);
    ck_assert_msg(literal != NULL, "%s: %s", err.message, text);
    return literal;
}

static const struct licence *licence_find(const char *name)
{
    for (int i = 0; i < licence_count; i++) {
        if (strcmp(licences[i].name, name) == 0) {
            return &licences[i];
        }
    }
    ck_abort_msg("no licence %s", name);
    return NULL;
}

#define ENTRY(...) "HloModule m\nENTRY e {\n" __VA_ARGS__ "}\n"
#define X "  x = f32[2] parameter(0)\n"
#define XY X "  y = f32[2] parameter(1)\n"
#define XYZ XY "  z = f32[2] parameter(2)\n"

struct row {
    const char *licence, *module;
    const char *arguments[3];
    const char *want; /* NULL: the licence changes nothing */
};

static const char flush[] = "flush to zero", every[] = "flush to zero of every value",
                  algebra[] = "algebraic simplification", first[] = "contraction of a·b + c",
                  second[] = "contraction of c + a·b", excess[] = "excess precision";

static const struct row rows[] = {
    {flush, ENTRY(X "  ROOT r = f32[2] add(x, x)\n"), {"{1e-40, 2}"}, "{0, 4}"},
    {flush,
     ENTRY(XY "  ROOT r = f32[2] multiply(x, y)\n"),
     {"{-1e-30, 2}", "{1e-10, 3}"},
     "{-0, 6}"},
    {flush, ENTRY(X "  ROOT r = f32[2] add(x, x)\n"), {"{1e-30, 2}"}, NULL},
    {flush,
     ENTRY("  x = f16[2] parameter(0)\n  ROOT r = f16[2] add(x, x)\n"),
     {"{6e-8, 2}"},
     NULL}, /* f16 is computed in f32, where it is normal */
    {flush,
     ENTRY("  x = f64[2] parameter(0)\n  ROOT r = f64[2] negate(x)\n"),
     {"{1e-310, 3e-308}"},
     "{-0, -3e-308}"},
    {flush,
     ENTRY("  x = bf16[2] parameter(0)\n  ROOT r = bf16[2] negate(x)\n"),
     {"{-1e-40, 2}"},
     "{0, -2}"},
    {flush,
     ENTRY("  x = c64[1] parameter(0)\n  ROOT r = c64[1] negate(x)\n"),
     {"{(1, 1e-40)}"},
     "{(-1, -0)}"},
    {every,
     ENTRY("  u = u32[2] parameter(0)\n  f = f32[2] bitcast-convert(u)\n"
           "  ROOT r = u32[2] bitcast-convert(f)\n"),
     {"{5, 2147483653}"},
     "{0, 2147483648}"},
    {every,
     ENTRY(X "  c = f32[2] constant({1e-42, 3})\n  ROOT r = pred[2] compare(c, x), direction=GT\n"),
     {"{0, 1}"},
     "{false, true}"},
    {every, ENTRY(XY "  ROOT r = f32[2] maximum(x, y)\n"), {"{1e-40, 2}", "{0, 1}"}, "{0, 2}"},
    {algebra,
     ENTRY(XYZ "  d = f32[2] divide(x, y)\n  ROOT r = f32[2] divide(d, z)\n"),
     {"{1e30, 12}", "{1e20, 2}", "{1e20, 3}"},
     "{0, 2}"},
    {algebra,
     ENTRY(XYZ "  d = f32[2] divide(y, z)\n  ROOT r = f32[2] divide(x, d)\n"),
     {"{1e30, 12}", "{1e-20, 2}", "{1e20, 3}"},
     "{inf, 18}"},
    {algebra,
     ENTRY(X "  e = f32[2] exponential(x)\n  ROOT r = f32[2] log(e)\n"),
     {"{100, -200}"},
     "{100, -200}"},
    {algebra,
     ENTRY(XY "  p = f32[2] power(x, y)\n  ROOT r = f32[2] log(p)\n"),
     {"{1, 1}", "{7, -3}"},
     "{0, -0}"},
    {algebra, ENTRY(XY "  ROOT r = f32[2] divide(x, y)\n"), {"{1, 2}", "{3, 4}"}, NULL},
    /* 21 · (1/7) = 3.0000002: the reciprocal of 7 is rounded up. */
    {algebra,
     ENTRY(X "  c = f32[] constant(7)\n  b = f32[2] broadcast(c), dimensions={}\n"
             "  ROOT r = f32[2] divide(x, b)\n"),
     {"{21, 14}"},
     "{3.0000002, 2}"},
    /* (1 + 2^-12)² = 1 + 2^-11 + 2^-24: the last term is lost by a rounding of its own. */
    {first,
     ENTRY(XYZ "  m = f32[2] multiply(x, y)\n  ROOT r = f32[2] subtract(m, z)\n"),
     {"{1.000244140625, 2}", "{1.000244140625, 3}", "{1.00048828125, 5}"},
     "{5.9604644775390625e-8, 1}"},
    {second,
     ENTRY(XYZ "  m = f32[2] multiply(x, y)\n  ROOT r = f32[2] subtract(z, m)\n"),
     {"{1.000244140625, 2}", "{1.000244140625, 3}", "{1.00048828125, 5}"},
     "{-5.9604644775390625e-8, -1}"},
    {first, ENTRY(XY "  ROOT r = f32[2] add(x, y)\n"), {"{1, 2}", "{3, 4}"}, NULL},
    /* 1 + 2^-10 is 1 in bf16, and 1 + 2^-5 is 1 in f8e5m2. */
    {excess,
     ENTRY(X "  n = bf16[2] convert(x)\n  ROOT w = f32[2] convert(n)\n"),
     {"{1.0009765625, 3}"},
     "{1.0009765625, 3}"},
    {excess,
     ENTRY(X "  n = f8e5m2[2] convert(x)\n  w = f32[2] convert(n)\n"
             "  ROOT h = f16[2] convert(w)\n"),
     {"{1.03125, 3}"},
     "{1.03125, 3}"},
    /* One conversion stays, and so does one to integers. */
    {excess, ENTRY(X "  ROOT n = bf16[2] convert(x)\n"), {"{1.0009765625, 3}"}, NULL},
    {excess,
     ENTRY(X "  i = s32[2] convert(x)\n  ROOT w = f32[2] convert(i)\n"),
     {"{1.5, 3}"},
     NULL},
};

START_TEST(test_evaluate)
{
    const struct row *row = &rows[_i];
    struct module *module = read(row->module);
    struct literal *arguments[3] = {NULL};
    int count = module->entry->parameter_count;
    for (int i = 0; i < count; i++) {
        arguments[i] = read_literal(module->entry->parameters[i]->shape, row->arguments[i]);
    }
    struct error err = {0};
    struct interp_options interp = {.seed = 1};
    struct literal *got =
        licence_find(row->licence)->evaluate(module, arguments, count, &interp, &err);
    ck_assert_msg(err.code == ERROR_NONE, "%s: %s", row->licence, err.message);
    if (row->want == NULL) {
        ck_assert_msg(got == NULL, "%s changes %s", row->licence, row->module);
    } else {
        ck_assert_msg(got != NULL, "%s changes nothing in %s", row->licence, row->module);
        struct literal *want = read_literal(module->entry->root->shape, row->want);
        struct text text;
        text_init(&text);
        literal_print(got, false, 0, &text);
        ck_assert_msg(literal_equal(got, want), "%s: got %s, not %s in %s", row->licence, text.data,
                      row->want, row->module);
        text_finish(&text);
        literal_release(want);
    }
    literal_release(got);
    for (int i = 0; i < count; i++) {
        literal_release(arguments[i]);
    }
    module_destroy(module);
}
END_TEST

/* Wherever the subnormals stand in a long array, the last place among them. */
START_TEST(test_flush_long)
{
    enum { COUNT = 200003, EVERY = 71 };
    struct module *module =
        read(ENTRY("  x = f32[200003] parameter(0)\n  ROOT r = f32[200003] negate(x)\n"));
    struct error err = {0};
    struct interp_options interp = {.seed = 1};
    struct literal *argument = literal_create(module->entry->root->shape, &err);
    ck_assert(argument != NULL);
    float *x = literal_data(argument);
    for (int i = 0; i < COUNT; i++) {
        x[i] = (COUNT - 1 - i) % EVERY == 0 ? 1e-40f : 2;
    }
    struct literal *got = licence_find(flush)->evaluate(module, &argument, 1, &interp, &err);
    ck_assert(got != NULL);
    const float *r = literal_data(got);
    for (int i = 0; i < COUNT; i++) {
        ck_assert_float_eq(r[i], (COUNT - 1 - i) % EVERY == 0 ? -0.0f : -2.0f);
    }
    ck_assert_float_eq(x[COUNT - 1], 1e-40f); /* the argument itself is left alone */
    literal_release(got);
    literal_release(argument);
    module_destroy(module);
}
END_TEST

START_TEST(test_profiles)
{
    for (int i = 0; i < licence_count; i++) {
        ck_assert(licences[i].allowed(profile_find("cpu")));
        ck_assert(!licences[i].allowed(profile_find("strict")));
        ck_assert(!licences[i].allowed(profile_find("ieee")));
    }
    ck_assert_str_eq(profile_for("cpu:")->name, "cpu");
    ck_assert_str_eq(profile_for("pjrt:/lib/plugin_cuda.so")->name, "gpu");
    ck_assert_str_eq(profile_for("interp:")->name, "strict");
    ck_assert(profile_find("none of these") == NULL);
}
END_TEST

/* Element by element, the one nearer to the answer; a NaN is near to a NaN alone. */
START_TEST(test_take_nearer)
{
    struct module *module = read(ENTRY("  ROOT x = f32[5] parameter(0)\n"));
    const struct shape *shape = module->entry->root->shape;
    struct literal *reference = read_literal(shape, "{1, 2, 3, nan, inf}");
    struct literal *candidate = read_literal(shape, "{9, 4, nan, 7, 1}");
    struct literal *actual = read_literal(shape, "{2, 3.5, 5, 7, inf}");
    struct literal *want = read_literal(shape, "{1, 4, 3, 7, inf}");
    ck_assert_int_eq(take_nearer(reference, candidate, actual), 2);
    ck_assert(literal_equal(reference, want));
    literal_release(reference);
    literal_release(candidate);
    literal_release(actual);
    literal_release(want);
    module_destroy(module);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("licence");
    TCase *tests = tcase_create("licences");
    tcase_add_loop_test(tests, test_evaluate, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tests, test_flush_long);
    tcase_add_test(tests, test_profiles);
    tcase_add_test(tests, test_take_nearer);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
