/* Checks that a program carries with it: what holds, what does not, what is said of it. The cases
 * follow the definitions in stablehlo/tests/CheckOps.td and CheckOps.cpp. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "compare/checks.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "interp/interp.h"

static bool hear(void *context, const struct instruction *check, struct literal *const *operands,
                 int count, bool *holds, struct error *err)
{
    return checks_hear(context, check, operands, count, holds, err);
}

/* Evaluates an entry computation of these lines. */
static struct literal *evaluate(const char *lines, struct checks *checks, struct error *err)
{
    struct text text;
    text_init(&text);
    text_printf(&text, "HloModule m\n\n%s\n", lines);
    struct module *module = text_read_module(text.data, text.size, "m", 1, err);
    ck_assert_msg(module != NULL, "%s: %s", err->message, text.data);
    struct interp_options options = {.on_check = checks != NULL ? hear : NULL, .context = checks};
    struct literal *result = interp_evaluate(module, NULL, 0, &options, err);
    module_destroy(module);
    text_finish(&text);
    return result;
}

/* Does the check hold of two constants? */
static bool holds(const char *type, const char *target, const char *config, const char *actual,
                  const char *expected)
{
    struct text text;
    text_init(&text);
    text_printf(&text,
                "ENTRY e {\n  a = %s constant(%s)\n  b = %s constant(%s)\n"
                "  ROOT c = () custom-call(a, b), custom_call_target=\"%s\", "
                "custom_call_has_side_effect=true, backend_config=\"%s\"\n}",
                type, actual, type, expected, target, config);
    struct checks checks = {0};
    struct error err = {0};
    struct literal *result = evaluate(text.data, &checks, &err);
    ck_assert_msg(result != NULL, "%s: %s", err.message, text.data);
    ck_assert_int_eq(checks.passed + checks.failed, 1);
    ck_assert_int_eq(checks.failed > 0, checks.pictures->size > 0);
    bool passed = checks.passed == 1;
    literal_release(result);
    checks_finish(&checks);
    text_finish(&text);
    return passed;
}

START_TEST(values_equal)
{
    ck_assert(holds("s32[2]", "check.expect_eq", "", "{1, 2}", "{1, 2}"));
    ck_assert(!holds("s32[2]", "check.expect_eq", "", "{1, 2}", "{1, 3}"));
    ck_assert(holds("pred[2]", "check.expect_eq_const", "", "{1, 0}", "{1, 0}"));
    ck_assert(!holds("pred[2]", "check.expect_eq_const", "", "{1, 0}", "{1, 1}"));
    ck_assert(holds("f32[]", "check.expect_eq", "", "nan", "nan"));
    ck_assert(holds("f32[]", "check.expect_eq", "", "-0", "0"));
    ck_assert(!holds("f32[]", "check.expect_eq", "", "1", "1.0000001"));
    ck_assert(!holds("c64[1]", "check.expect_eq", "", "{(1, 2)}", "{(1, 3)}"));
}
END_TEST

START_TEST(values_almost_equal)
{
    const char *config = "{\\\"tolerance\\\": 0.0001}";
    ck_assert(holds("f64[]", "check.expect_almost_eq", config, "5", "5.00009"));
    ck_assert(!holds("f64[]", "check.expect_almost_eq", config, "5", "5.0002"));
    /* Without a configuration it is a custom call that a program wrote: 1e-3. */
    ck_assert(holds("f64[]", "check.expect_almost_eq", "", "5", "5.0009"));
    ck_assert(!holds("f64[]", "check.expect_almost_eq", "", "5", "5.002"));
    /* The tolerance is absolute. */
    ck_assert(!holds("f64[]", "check.expect_almost_eq", config, "1e9", "1000000001"));
    ck_assert(holds("f32[]", "check.expect_almost_eq", config, "inf", "inf"));
    ck_assert(!holds("f32[]", "check.expect_almost_eq", config, "inf", "1"));
    ck_assert(holds("f32[]", "check.expect_almost_eq", config, "nan", "nan"));
    ck_assert(!holds("f32[]", "check.expect_almost_eq", config, "nan", "1"));
    ck_assert(!holds("c64[]", "check.expect_almost_eq", config, "(1, 1)", "(1, 1.001)"));
}
END_TEST

START_TEST(values_close)
{
    const char *three = "{\\\"min_ulp_difference\\\": 0, \\\"max_ulp_difference\\\": 3}";
    const char *exactly_two = "{\\\"min_ulp_difference\\\": 2, \\\"max_ulp_difference\\\": 2}";
    /* Units of f16 at 5: 2^-8. */
    ck_assert(holds("f16[]", "check.expect_close", three, "5", "5.01171875"));
    ck_assert(!holds("f16[]", "check.expect_close", three, "5", "5.015625"));
    ck_assert(holds("f16[]", "check.expect_close", exactly_two, "5", "5.0078125"));
    ck_assert(!holds("f16[]", "check.expect_close", exactly_two, "5", "5.00390625"));
    ck_assert(!holds("f16[]", "check.expect_close", exactly_two, "5", "5"));
    /* Across zero: two steps from the smallest number to its negative. */
    ck_assert(holds("f64[]", "check.expect_close", exactly_two, "5e-324", "-5e-324"));
    ck_assert(!holds("f32[]", "check.expect_close", three, "inf", "3.40282347e38"));
    ck_assert(holds("f32[]", "check.expect_close", three, "inf", "inf"));
    ck_assert(holds("f32[]", "check.expect_close", "", "nan", "nan"));
    /* Each part of a complex number on its own. */
    ck_assert(!holds("c64[]", "check.expect_close", three, "(1e10, 1)", "(1e10, 1.001)"));
}
END_TEST

START_TEST(checks_with_a_result)
{
    struct error err = {0};
    struct checks checks = {0};
    const char *text = "ENTRY e {\n  a = f32[] constant(1)\n  b = f32[] constant(1.00005)\n"
                       "  c = f32[] constant(1.0002)\n"
                       "  d = pred[] custom-call(a, b), custom_call_target=\"check.eq\"\n"
                       "  f = pred[] custom-call(a, c), custom_call_target=\"check.eq\"\n"
                       "  ROOT t = (pred[], pred[]) tuple(d, f)\n}";
    struct literal *result = evaluate(text, &checks, &err);
    ck_assert_msg(result != NULL, "%s", err.message);
    ck_assert_int_eq(literal_get_int(result->elements[0], 0), 1);
    ck_assert_int_eq(literal_get_int(result->elements[1], 0), 0);
    ck_assert_int_eq(checks.passed, 1);
    ck_assert_int_eq(checks.failed, 1);
    literal_release(result);
    checks_finish(&checks);
    result = evaluate(text, NULL, &err);
    ck_assert_ptr_null(result);
    ck_assert_int_eq(err.code, ERROR_UNIMPLEMENTED);
}
END_TEST

START_TEST(probes_are_kept)
{
    struct error err = {0};
    struct checks checks = {0};
    const char *text =
        "cond {\n  i = s32[] parameter(0)\n  n = s32[] constant(2)\n"
        "  ROOT c = pred[] compare(i, n), direction=LT\n}\n\n"
        "body {\n  i = s32[] parameter(0)\n  one = s32[] constant(1)\n  j = s32[] add(i, one)\n"
        "  p = () custom-call(j), custom_call_target=\"interpreter.probe\", "
        "custom_call_has_side_effect=true, backend_config=\"{\\\"probe_id\\\": \\\"x\\\"}\"\n"
        "  ROOT r = s32[] copy(j)\n}\n\n"
        "ENTRY e {\n  z = s32[] constant(0)\n  two = s32[] constant(2)\n"
        "  w = s32[] while(z), condition=cond, body=body\n"
        "  a = () custom-call(w), custom_call_target=\"check.expect_serialized_eq\", "
        "backend_config=\"{\\\"probe_id\\\": \\\"x\\\", \\\"iter\\\": 1}\"\n"
        "  b = () custom-call(w), custom_call_target=\"check.expect_serialized_eq\", "
        "backend_config=\"{\\\"probe_id\\\": \\\"x\\\", \\\"iter\\\": 0}\"\n"
        "  ROOT t = ((), ()) tuple(a, b)\n}";
    struct literal *result = evaluate(text, &checks, &err);
    ck_assert_msg(result != NULL, "%s", err.message);
    ck_assert_uint_eq(checks.probe_count, 2);
    ck_assert_int_eq(literal_get_int(checks.probes[1].value, 0), 2);
    ck_assert_int_eq(checks.probes[1].iteration, 1);
    /* The second time it saw 2, the first time 1. */
    ck_assert_int_eq(checks.passed, 1);
    ck_assert_int_eq(checks.failed, 1);
    ck_assert_ptr_nonnull(strstr(checks.pictures->data, "is 1, should be 2"));
    literal_release(result);
    checks_finish(&checks);
}
END_TEST

START_TEST(wrong_calls)
{
    static const char *const calls[] = {
        "custom-call(a), custom_call_target=\"check.expect_eq\"",
        "custom-call(a, b), custom_call_target=\"check.expect_eq\"",
        "custom-call(a, a), custom_call_target=\"check.expect_eq\", backend_config=\"[1]\"",
        "custom-call(a, a), custom_call_target=\"check.expect_eq\", backend_config=\"{\"",
        "custom-call(a, a), custom_call_target=\"check.expect_eq\", "
        "backend_config=\"{\\\"tolerance\\\": \\\"x\\\"}\"",
        "custom-call(a), custom_call_target=\"check.expect_serialized_eq\", "
        "backend_config=\"{\\\"probe_id\\\": \\\"never\\\"}\"",
        "custom-call(t, a), custom_call_target=\"check.expect_eq\"",
        "custom-call(a, a), custom_call_target=\"check.unheard_of\"",
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct text text;
        text_init(&text);
        text_printf(&text,
                    "ENTRY e {\n  a = s32[] constant(1)\n  b = s32[1] constant({1})\n"
                    "  t = (s32[]) tuple(a)\n  ROOT c = () %s\n}",
                    calls[i]);
        struct error err = {0};
        struct checks checks = {0};
        ck_assert_msg(evaluate(text.data, &checks, &err) == NULL, "%s", calls[i]);
        ck_assert_int_eq(err.code, ERROR_INVALID_ARGUMENT);
        checks_finish(&checks);
        text_finish(&text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("checks");
    TCase *tests = tcase_create("checks");
    tcase_add_test(tests, values_equal);
    tcase_add_test(tests, values_almost_equal);
    tcase_add_test(tests, values_close);
    tcase_add_test(tests, checks_with_a_result);
    tcase_add_test(tests, probes_are_kept);
    tcase_add_test(tests, wrong_calls);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
