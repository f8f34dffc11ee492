/* Bounds: the default ones follow the table of ulps along the module, the derived ones see what
 * the structure cannot. Expected numbers are the table of docs/tolerances.md times units of the
 * types (2^-23 for f32, 2^-10 f16, 2^-7 bf16). */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/tolerance.h"
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

#define ENTRY(...) "HloModule m\nENTRY e {\n" __VA_ARGS__ "}\n"
#define SUM(type)                                                                         \
    "HloModule m\nadd {\n  p = " type "[] parameter(0)\n  q = " type "[] parameter(1)\n"  \
    "  ROOT s = " type "[] add(p, q)\n}\nENTRY e {\n  x = " type "[2,100] parameter(0)\n" \
    "  c = " type "[] constant(0)\n"                                                      \
    "  ROOT r = " type "[2] reduce(x, c), dimensions={1}, to_apply=add\n}\n"

static const double f32_unit = 0x1p-23, f16_unit = 0x1p-10, bf16_unit = 0x1p-7;

/* The default bound of a module with one output of two elements. */
static struct bound bound_of(const char *text, const char *profile, const char *reference)
{
    struct module *module = read(text);
    struct literal *literal = read_literal(module->entry->root->shape, reference);
    struct bound bound;
    struct text explanation;
    text_init(&explanation);
    bounds_default(module, profile_find(profile), literal, &bound, &explanation);
    ck_assert(explanation.size > 0);
    text_finish(&explanation);
    literal_release(literal);
    module_destroy(module);
    return bound;
}

START_TEST(test_default)
{
    /* What moves data is bit-equal, subnormals and signs of zeros included. */
    const char *moved = ENTRY("  x = f32[1,2] parameter(0)\n  ROOT r = f32[2] reshape(x)\n");
    struct bound bound = bound_of(moved, "cpu", "{1, 2}");
    ck_assert(bound.rel == 0 && bound.abs == 0 && bound.ulps == 0);
    ck_assert(!bound.flush_subnormals && !bound.zeros_equal);
    /* One function: its row, and no absolute term. */
    const char *exponential =
        ENTRY("  x = f32[2] parameter(0)\n  ROOT r = f32[2] exponential(x)\n");
    bound = bound_of(exponential, "cpu", "{1, 100}");
    ck_assert_double_eq(bound.rel, 6 * f32_unit);
    ck_assert_double_eq(bound.ulps, 6);
    ck_assert(bound.abs == 0 && bound.flush_subnormals && bound.zeros_equal);
    bound = bound_of(exponential, "gpu", "{1, 100}");
    ck_assert_double_eq(bound.rel, 12 * f32_unit);
    bound = bound_of(exponential, "ieee", "{1, 100}");
    ck_assert(bound.rel == 6 * f32_unit && !bound.flush_subnormals && !bound.zeros_equal);
    bound = bound_of(exponential, "strict", "{1, 100}");
    ck_assert(bound.rel == 0 && bound.ulps == 0 && !bound.flush_subnormals);
    /* Correctly rounded by itself. */
    bound = bound_of(ENTRY("  x = f32[2] parameter(0)\n  ROOT r = f32[2] add(x, x)\n"), "cpu",
                     "{1, 2}");
    ck_assert(bound.rel == 0 && bound.abs == 0);
    /* Integers have no tolerance. */
    bound = bound_of(ENTRY("  x = f32[2] parameter(0)\n  e = f32[2] exponential(x)\n"
                           "  ROOT r = s32[2] convert(e)\n"),
                     "cpu", "{1, 2}");
    ck_assert(bound.rel == 0 && bound.abs == 0 && bound.ulps == 0);
    /* Nor have complex numbers that only move, or are taken apart, anything to lose. */
    bound = bound_of(ENTRY("  x = c64[1,2] parameter(0)\n  t = c64[2,1] transpose(x), "
                           "dimensions={1,0}\n  ROOT r = f32[2,1] imag(t)\n"),
                     "cpu", "{{1}, {2}}");
    ck_assert(bound.rel == 0 && bound.abs == 0 && bound.ulps == 0);
    ck_assert(!bound.flush_subnormals && !bound.zeros_equal);
    bound = bound_of(ENTRY("  x = c64[2] parameter(0)\n  ROOT r = c64[2] exponential(x)\n"), "cpu",
                     "{(1, 1), (2, 2)}");
    ck_assert_double_eq(bound.rel, 16 * f32_unit);
    /* The sign of a zero is nothing that a negation loses. */
    bound = bound_of(ENTRY("  x = f32[2] parameter(0)\n  ROOT r = f32[2] negate(x)\n"), "cpu",
                     "{1, 2}");
    ck_assert(bound.flush_subnormals && !bound.zeros_equal);
    bound = bound_of(ENTRY("  x = f32[2] parameter(0)\n  ROOT r = f32[2] maximum(x, x)\n"), "cpu",
                     "{1, 2}");
    ck_assert(bound.zeros_equal);
    /* A sort compares: subnormals and zeros may be ties. */
    bound = bound_of("HloModule m\nless {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                     "  ROOT l = pred[] compare(a, b), direction=LT\n}\nENTRY e {\n"
                     "  x = f32[2] parameter(0)\n"
                     "  ROOT r = f32[2] sort(x), dimensions={0}, to_apply=less\n}\n",
                     "cpu", "{1, 2}");
    ck_assert(bound.rel == 0 && bound.flush_subnormals && bound.zeros_equal);
}
END_TEST

START_TEST(test_chains)
{
    /* The longest path counts; errors of products add up. */
    struct bound bound =
        bound_of(ENTRY("  x = f32[2] parameter(0)\n  t = f32[2] tanh(x)\n  s = f32[2] sine(t)\n"
                       "  c = f32[2] cosine(x)\n  ROOT r = f32[2] multiply(s, c)\n"),
                 "cpu", "{1, 2}");
    ck_assert_double_eq_tol(bound.rel, (8 + 3 + 3) * f32_unit, 1e-3 * f32_unit);
    /* Through a call. */
    bound = bound_of("HloModule m\nf {\n  p = f32[2] parameter(0)\n"
                     "  ROOT t = f32[2] tanh(p)\n}\nENTRY e {\n  x = f32[2] parameter(0)\n"
                     "  s = f32[2] sine(x)\n  ROOT r = f32[2] call(s), to_apply=f\n}\n",
                     "cpu", "{1, 2}");
    ck_assert_double_eq_tol(bound.rel, (8 + 3) * f32_unit, 1e-3 * f32_unit);
}
END_TEST

START_TEST(test_sums)
{
    /* 2 + sqrt(100) roundings, and in terms of the largest output too, for sums can cancel. */
    struct bound bound = bound_of(SUM("f32"), "cpu", "{1, -50}");
    ck_assert_double_eq_tol(bound.rel, 12 * f32_unit, 1e-3 * f32_unit);
    ck_assert_double_eq_tol(bound.abs, 50 * 12 * f32_unit, 1e-3 * f32_unit);
    /* f16 and bf16 reductions are added up in their type. */
    bound = bound_of(SUM("f16"), "cpu", "{1, -50}");
    ck_assert_double_eq_tol(bound.rel, 12 * f16_unit, 1e-3 * f16_unit);
    bound = bound_of(SUM("bf16"), "cpu", "{1, -50}");
    ck_assert_double_eq_tol(bound.rel, 12 * bf16_unit, 1e-3 * bf16_unit);
    /* A maximum rounds nothing. */
    bound = bound_of("HloModule m\nmax {\n  p = f32[] parameter(0)\n  q = f32[] parameter(1)\n"
                     "  ROOT s = f32[] maximum(p, q)\n}\nENTRY e {\n  x = f32[2,100] parameter(0)\n"
                     "  c = f32[] constant(0)\n"
                     "  ROOT r = f32[2] reduce(x, c), dimensions={1}, to_apply=max\n}\n",
                     "cpu", "{1, 2}");
    ck_assert(bound.rel == 0 && bound.abs == 0);
}
END_TEST

/* Derived bounds of a module on one argument; free with bounds_finish(…, 1). */
#define SCATTER(updates, indices)                                                           \
    "HloModule m\nadd {\n  p = f32[] parameter(0)\n  q = f32[] parameter(1)\n"              \
    "  ROOT s = f32[] add(p, q)\n}\nENTRY e {\n  x = f32[2] parameter(0)\n"                 \
    "  i = s32[" indices "] constant({...})\n  u = f32[" updates "] constant({...})\n"      \
    "  ROOT r = f32[2] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, " \
    "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n}\n"

/* A scatter sums as many updates as it has, of many twice the mean, or some; the smallest complex
 * number is no sum. */
START_TEST(test_sums_of_few)
{
    ck_assert_double_eq(bound_of(SCATTER("1", "1,1"), "cpu", "{1, 2}").rel, (2 + 1) * f32_unit);
    ck_assert_double_eq(bound_of(SCATTER("900", "900,1"), "cpu", "{1, 2}").rel,
                        (2 + 30) * f32_unit);
    ck_assert_double_eq(bound_of(SCATTER("17", "17,1"), "cpu", "{1, 2}").rel, (2 + 4) * f32_unit);
    struct bound bound =
        bound_of("HloModule m\nless {\n  p = c64[] parameter(0)\n  q = c64[] parameter(1)\n"
                 "  ROOT s = c64[] minimum(p, q)\n}\nENTRY e {\n  x = c64[2,9] parameter(0)\n"
                 "  c = c64[] constant((0, 0))\n"
                 "  ROOT r = c64[2] reduce(x, c), dimensions={1}, to_apply=less\n}\n",
                 "cpu", "{(1, 1), (2, 2)}");
    ck_assert(bound.rel == 0 && bound.ulps == 0);
}
END_TEST

static struct bound *derived(const char *text, const char *profile, const char *argument,
                             uint64_t seed)
{
    struct module *module = read(text);
    struct error err = {0};
    struct literal *arguments[] = {read_literal(module->entry->parameters[0]->shape, argument)};
    struct literal *reference = interp_evaluate(module, arguments, 1, NULL, &err);
    ck_assert_msg(reference != NULL, "%s", err.message);
    struct bound *bounds = calloc(1, sizeof *bounds);
    ck_assert(bounds_derived(module, profile_find(profile), arguments, 1, 4, seed, NULL, reference,
                             bounds, &err));
    ck_assert(bounds->element_bounds != NULL);
    literal_release(arguments[0]);
    literal_release(reference);
    module_destroy(module);
    return bounds;
}

START_TEST(test_derived)
{
    const char *exponential =
        ENTRY("  x = f32[2] parameter(0)\n  ROOT r = f32[2] exponential(x)\n");
    struct bound *bounds = derived(exponential, "cpu", "{0, 5}", 1);
    /* Moved by up to 6 ulps, times 8: something between none and that. */
    for (int i = 0; i < 2; i++) {
        double value = exp(i == 0 ? 0 : 5);
        ck_assert_double_gt(bounds->element_bounds[i], 0);
        ck_assert_double_le(bounds->element_bounds[i], 8 * 7 * f32_unit * value);
    }
    struct bound *again = derived(exponential, "cpu", "{0, 5}", 1);
    ck_assert_double_eq(bounds->element_bounds[1], again->element_bounds[1]);
    bounds_finish(again, 1);
    bounds_finish(bounds, 1);
    /* Elements that the samples happened to leave near their place get half of what others have. */
    struct literal *values =
        read_literal(shape_array(TYPE_F32, 1, (const int64_t[]){3}), "{1, 2, 4}");
    double own[] = {1e-9, 2e-6, 4e-6};
    struct bound uneven = {.element_bounds = own};
    bounds_level(values, &uneven, 1);
    ck_assert(own[0] == 0.5e-6 && own[1] == 2e-6 && own[2] == 4e-6);
    literal_release(values);
    /* Nothing moves without roundings. */
    bounds = derived(exponential, "strict", "{0, 5}", 1);
    ck_assert(bounds->element_bounds[0] == 0 && bounds->element_bounds[1] == 0);
    bounds_finish(bounds, 1);
    /* Cancellation: the sum of e and -e' is as uncertain as e, whatever is left; and an
     * uncertainty of the output's own size decides nothing. */
    const char *cancelling =
        ENTRY("  x = f32[2] parameter(0)\n  e = f32[2] exponential(x)\n"
              "  c = f32[2] constant({2.7182817, 2.7182817})\n  ROOT r = f32[2] subtract(e, c)\n");
    bounds = derived(cancelling, "cpu", "{1, 1.5}", 1);
    ck_assert_double_gt(bounds->element_bounds[0], f32_unit);
    ck_assert(isfinite(bounds->element_bounds[0]));
    bounds_finish(bounds, 1);
    bounds = derived(cancelling, "cpu", "{1, 1}", 1);
    ck_assert_double_gt(bounds->element_bounds[0], bounds->undecidable);
    ck_assert_double_gt(bounds->element_bounds[1], bounds->undecidable);
    bounds_finish(bounds, 1);
    /* Infinity is infinity whatever moves. */
    bounds = derived(exponential, "cpu", "{100, 5}", 1);
    ck_assert(bounds->element_bounds[0] == 0 && bounds->element_bounds[1] > 0);
    bounds_finish(bounds, 1);
    /* An integer that comes and goes. */
    bounds = derived(ENTRY("  x = f32[2] parameter(0)\n  e = f32[2] exponential(x)\n"
                           "  c = f32[2] constant({8388608, 0})\n"
                           "  m = f32[2] multiply(e, c)\n  ROOT r = s32[2] convert(m)\n"),
                     "cpu", "{0.3, 0.3}", 1);
    ck_assert(isnan(bounds->element_bounds[0]) && bounds->element_bounds[1] == 0);
    bounds_finish(bounds, 1);
}
END_TEST

/* Eight bits: one step is much more than five per cent, yet a step decides something. */
START_TEST(test_derived_of_narrow_types)
{
    struct bound *bounds =
        derived(ENTRY("  x = bf16[2] parameter(0)\n  e = bf16[2] exponential(x)\n"
                      "  ROOT r = f8e4m3fn[2] convert(e)\n"),
                "cpu", "{0.0625, 1}", 1);
    /* 1.0645 is near the tie 1.0625 of 1 and 1.125. */
    ck_assert(isfinite(bounds->element_bounds[0]) && isfinite(bounds->element_bounds[1]));
    bounds_finish(bounds, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tolerance");
    TCase *tests = tcase_create("bounds");
    tcase_add_test(tests, test_default);
    tcase_add_test(tests, test_chains);
    tcase_add_test(tests, test_sums);
    tcase_add_test(tests, test_sums_of_few);
    tcase_add_test(tests, test_derived);
    tcase_add_test(tests, test_derived_of_narrow_types);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
