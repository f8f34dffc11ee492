/* The latitude of right implementations: what changes stay within it. Expected limits are the table
 * of docs/tolerances.md (exponential 6 ulp, tanh 8; add and multiply none), three times as far. */
#include "compare/latitude.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/profile.h"
#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "interp/interp.h"

#define ENTRY(...) "HloModule m\nENTRY e {\n" __VA_ARGS__ "}\n"

static struct literal *read_literal(const struct shape *shape, const char *text)
{
    struct error err = {0};
    size_t used;
    struct literal *literal = literal_parse(shape, text, strlen(text), &used, &err);
    ck_assert_msg(literal != NULL, "%s: %s", err.message, text);
    return literal;
}

static struct module *module;
static struct literal *argument, *golden;
static struct latitude *latitude;

static void begin(const char *text, const char *profile, const char *values)
{
    struct error err = {0};
    module = text_read_module(text, strlen(text), "test", 1, &err);
    ck_assert_msg(module != NULL, "%d:%d %s\n%s", err.line, err.column, err.message, text);
    argument = read_literal(module->entry->parameters[0]->shape, values);
    golden = interp_evaluate(module, &argument, 1, NULL, &err);
    latitude = latitude_create(module, profile_find(profile), &argument, 1, 1, 1, 1, &err);
    ck_assert_msg(latitude != NULL, "%s", err.message);
}

static void end(void)
{
    latitude_destroy(latitude);
    literal_release(golden);
    literal_release(argument);
    module_destroy(module);
}

/* What becomes of a result of which the first element has another value. */
static enum latitude_verdict judge(double value)
{
    struct error err = {0};
    struct latitude_excess excess;
    struct literal *changed = literal_own_take(literal_retain(golden), &err);
    literal_set_double(changed, 0, value);
    enum latitude_verdict verdict = latitude_judge(latitude, changed, &excess);
    if (verdict == LATITUDE_BEYOND) {
        ck_assert(excess.leaf == 0 && excess.index == 0 && excess.times > 1);
        ck_assert(isnan(value) || excess.changed == literal_get_double(changed, 0));
    }
    literal_release(changed);
    return verdict;
}

static enum latitude_verdict judge_ulps(double ulps)
{
    return judge(literal_get_double(golden, 0) + ulps * 0x1p-23);
}

START_TEST(functions_by_the_table)
{
    begin(ENTRY("  x = f32[4] parameter(0)\n  ROOT r = f32[4] exponential(x)\n"), "cpu",
          "{0.1, 0.2, 0.3, 1}");
    ck_assert_int_eq(judge_ulps(0), LATITUDE_SAME);
    ck_assert_int_eq(judge_ulps(6), LATITUDE_WITHIN);
    ck_assert_int_eq(judge_ulps(-18), LATITUDE_WITHIN);
    ck_assert_int_eq(judge_ulps(24), LATITUDE_BEYOND);
    ck_assert_int_eq(judge_ulps(-24), LATITUDE_BEYOND);
    ck_assert_int_eq(judge(NAN), LATITUDE_BEYOND);
    ck_assert_int_eq(judge(INFINITY), LATITUDE_BEYOND);
    end();
}
END_TEST

START_TEST(what_is_exact_has_none)
{
    begin(ENTRY("  x = f32[4] parameter(0)\n  ROOT r = f32[4] add(x, x)\n"), "cpu",
          "{0.5, 0.2, 0, -0}");
    ck_assert_int_eq(judge_ulps(1), LATITUDE_BEYOND);
    end();
    begin(ENTRY("  x = f32[4] parameter(0)\n  ROOT r = f32[4] reverse(x), dimensions={0}\n"), "cpu",
          "{0.5, nan, 0, -0}");
    ck_assert_int_eq(judge(-0.0), LATITUDE_SAME);
    ck_assert_int_eq(judge(0), LATITUDE_BEYOND);
    ck_assert_int_eq(judge(1e-42), LATITUDE_BEYOND);
    end();
    begin(ENTRY("  x = s32[2] parameter(0)\n  ROOT r = s32[2] negate(x)\n"), "cpu", "{5, 6}");
    ck_assert_int_eq(judge(-5), LATITUDE_SAME);
    ck_assert_int_eq(judge(-4), LATITUDE_BEYOND);
    end();
}
END_TEST

/* Subnormals may be flushed where the profile says so, and only there. */
START_TEST(licences_count)
{
    const char *scaled = ENTRY("  x = f32[2] parameter(0)\n  c = f32[] constant(0.5)\n"
                               "  h = f32[2] broadcast(c), dimensions={}\n"
                               "  ROOT r = f32[2] multiply(x, h)\n");
    begin(scaled, "cpu", "{1.5e-38, 1}");
    ck_assert_int_eq(judge(0), LATITUDE_WITHIN);
    ck_assert_int_eq(judge(1), LATITUDE_BEYOND);
    end();
    begin(scaled, "ieee", "{1.5e-38, 1}");
    ck_assert_int_eq(judge(0), LATITUDE_BEYOND);
    end();
    /* log(exp x) is x although exp x overflows (the licence "algebra"). */
    begin(ENTRY("  x = f32[2] parameter(0)\n  p = f32[2] exponential(x)\n"
                "  ROOT r = f32[2] log(p)\n"),
          "cpu", "{100, 5}");
    ck_assert_int_eq(judge(100), LATITUDE_WITHIN);
    ck_assert_int_eq(judge(7), LATITUDE_BEYOND);
    end();
}
END_TEST

/* A sum that is added up in order, as many implementations do, and one without an element. */
START_TEST(sums_in_any_order)
{
    begin("HloModule m\nadd {\n  p = f32[] parameter(0)\n  q = f32[] parameter(1)\n"
          "  ROOT s = f32[] add(p, q)\n}\nENTRY e {\n  x = f32[2] parameter(0)\n"
          "  b = f32[2,1000] broadcast(x), dimensions={0}\n  c = f32[] constant(0)\n"
          "  ROOT r = f32[2] reduce(b, c), dimensions={1}, to_apply=add\n}\n",
          "cpu", "{0.1, 3}");
    float sum = 0;
    for (int i = 0; i < 1000; i++) {
        sum += 0.1F;
    }
    ck_assert_int_eq(judge((double)sum), LATITUDE_WITHIN);
    ck_assert_int_eq(judge(999 * (double)0.1F), LATITUDE_BEYOND);
    end();
}
END_TEST

/* Where roundings decide about an integer, either is right. */
START_TEST(integers_that_roundings_flip)
{
    begin(ENTRY("  x = f32[2] parameter(0)\n  e = f32[2] exponential(x)\n"
                "  l = f32[2] log(e)\n  ROOT r = s32[2] convert(l)\n"),
          "ieee", "{2, 2.5}");
    double other = literal_get_double(golden, 0) == 2 ? 1 : 2;
    ck_assert_int_eq(judge(other), LATITUDE_WITHIN);
    end();
    begin(ENTRY("  x = f32[2] parameter(0)\n  e = f32[2] exponential(x)\n"
                "  l = f32[2] log(e)\n  ROOT r = s32[2] convert(l)\n"),
          "ieee", "{2.5, 2}");
    ck_assert_int_eq(judge(1), LATITUDE_BEYOND);
    end();
}
END_TEST

/* Out of range HLO leaves open what a conversion gives. */
START_TEST(unspecified_elements_are_anything)
{
    begin(ENTRY("  x = f32[2] parameter(0)\n  ROOT r = s8[2] convert(x)\n"), "cpu", "{1e9, 5}");
    ck_assert(literal_is_unspecified(golden, 0));
    ck_assert_int_eq(judge(3), LATITUDE_SAME);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("latitude");
    TCase *tests = tcase_create("latitude");
    tcase_add_test(tests, functions_by_the_table);
    tcase_add_test(tests, what_is_exact_has_none);
    tcase_add_test(tests, licences_count);
    tcase_add_test(tests, sums_in_any_order);
    tcase_add_test(tests, integers_that_roundings_flip);
    tcase_add_test(tests, unspecified_elements_are_anything);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
