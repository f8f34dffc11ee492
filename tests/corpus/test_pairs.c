/* (got, want) pairs: agreement, inexact expectations, and what is wrong all the same. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/pairs.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "interp/interp.h"

/* The outcome of a module without parameters whose body is `lines`. */
static struct pairs_outcome outcome_of(const char *lines, struct text *picture)
{
    struct error err = {0};
    struct text source;
    text_init(&source);
    text_printf(&source, "// all; kinds: expect_close\nHloModule m\n%s\n", lines);
    struct module *module = text_read_module(source.data, source.size, "m", 1, &err);
    ck_assert_msg(module != NULL, "%s", err.message);
    struct interp_options options = {0};
    struct literal *result = interp_evaluate(module, NULL, 0, &options, &err);
    ck_assert_msg(result != NULL, "%s", err.message);
    struct pairs pairs = {
        .module = module, .options = &options, .result = result, .source = source.data};
    struct pairs_outcome outcome;
    ck_assert_msg(pairs_check(&pairs, &outcome, picture, &err), "%s", err.message);
    literal_release(result);
    module_destroy(module);
    text_finish(&source);
    return outcome;
}

/* 2^24 + 1 − 2^24 + 1 in f32: exactly 2; 1 when every step is rounded. */
#define SUM                                                                              \
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"   \
    "ENTRY e { t = f32[4] constant({16777216, 1, -16777216, 1}) z = f32[] constant(0)\n" \
    "  s = f32[] reduce(t, z), dimensions={0}, to_apply=add\n"

static const struct {
    const char *lines;
    int failed, rounded;
} cases[] = {
    {SUM "  w = f32[] constant(2) ROOT r = (f32[], f32[]) tuple(s, w) }", 0, 0},
    {SUM "  w = f32[] constant(1) ROOT r = (f32[], f32[]) tuple(s, w) }", 0, 1},
    /* Far from anything that roundings give. */
    {SUM "  w = f32[] constant(900) ROOT r = (f32[], f32[]) tuple(s, w) }", 1, 0},
    {SUM "  w = f32[] constant(nan) ROOT r = (f32[], f32[]) tuple(s, w) }", 1, 0},
    /* Integers have no roundings. */
    {"ENTRY e { a = s32[] constant(7) b = s32[] constant(8)\n"
     "  ROOT r = (s32[], s32[]) tuple(a, b) }",
     1, 0},
    /* Nor has the movement of data. */
    {"ENTRY e { a = f32[1] constant({7}) c = f32[] reshape(a) b = f32[] constant(7.1)\n"
     "  ROOT r = (f32[], f32[]) tuple(c, b) }",
     1, 0},
};

START_TEST(one_pair)
{
    struct text picture;
    text_init(&picture);
    struct pairs_outcome outcome = outcome_of(cases[_i].lines, &picture);
    ck_assert_msg(outcome.failed == cases[_i].failed && outcome.rounded == cases[_i].rounded,
                  "case %d: failed %d, rounded %d\n%s", _i, outcome.failed, outcome.rounded,
                  picture.data);
    ck_assert((picture.size > 0) == (cases[_i].failed + cases[_i].rounded > 0));
    text_finish(&picture);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pairs");
    TCase *tests = tcase_create("pairs");
    tcase_add_loop_test(tests, one_pair, 0, sizeof cases / sizeof *cases);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
