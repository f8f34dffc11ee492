/* Literal comparison: what agrees, what does not, and the figures of a mismatch. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"

static struct literal *read(const char *text)
{
    struct error err = {0};
    size_t used;
    const struct shape *shape = shape_parse(text, strlen(text), &used, &err);
    ck_assert_msg(shape != NULL, "%s", err.message);
    struct literal *literal = literal_parse(shape, text + used, strlen(text) - used, NULL, &err);
    ck_assert_msg(literal != NULL, "%s: %s", text, err.message);
    return literal;
}

/* Compares one leaf; the caller looks at *leaf. */
static bool agree(const char *reference, const char *actual, struct bound bound,
                  struct leaf_comparison *leaf)
{
    struct literal *a = read(reference), *b = read(actual);
    struct comparison comparison;
    literal_compare(a, b, &bound, &comparison);
    ck_assert_int_eq(comparison.leaf_count, 1);
    *leaf = comparison.leaves[0];
    bool equal = comparison.equal;
    ck_assert_int_eq(equal, leaf->mismatches == 0);
    comparison_finish(&comparison);
    literal_release(a);
    literal_release(b);
    return equal;
}

START_TEST(test_bits)
{
    struct leaf_comparison leaf;
    struct bound bits = {0};
    ck_assert(agree("f32[2] {1, nan}", "f32[2] {1, nan}", bits, &leaf));
    ck_assert(agree("f32[] nan", "f32[] -nan", bits, &leaf));
    ck_assert(!agree("f32[] 0", "f32[] -0", bits, &leaf));
    ck_assert_int_eq(leaf.sign_of_zero_disagreements, 1);
    ck_assert(agree("f32[] 0", "f32[] -0", (struct bound){.zeros_equal = true}, &leaf));
    ck_assert(!agree("f32[] 1", "f32[] 1.00000012", bits, &leaf));
    ck_assert(!agree("s32[] 1", "s32[] 2", (struct bound){.abs = 10, .ulps = 10}, &leaf));
    ck_assert(!agree("u64[] 18446744073709551615", "u64[] 18446744073709551614", bits, &leaf));
    ck_assert(!agree("pred[2] {true, false}", "pred[2] {true, true}", bits, &leaf));
    ck_assert_int_eq(leaf.first.index, 1);
}
END_TEST

START_TEST(test_bounds)
{
    struct leaf_comparison leaf;
    ck_assert(agree("f32[] 100", "f32[] 100.5", (struct bound){.abs = 0.5}, &leaf));
    ck_assert(!agree("f32[] 100", "f32[] 100.5", (struct bound){.abs = 0.25}, &leaf));
    ck_assert(agree("f32[] 100", "f32[] 101", (struct bound){.rel = 0.01}, &leaf));
    ck_assert(!agree("f32[] 100", "f32[] 102", (struct bound){.rel = 0.01}, &leaf));
    /* 1 + 2^-22 is two ulps from 1. */
    ck_assert(agree("f32[] 1", "f32[] 1.00000024", (struct bound){.ulps = 2}, &leaf));
    ck_assert(!agree("f32[] 1", "f32[] 1.00000024", (struct bound){.ulps = 1}, &leaf));
    ck_assert_double_eq(leaf.needed_ulps, 2);
    ck_assert_double_eq(leaf.needed_abs, 0x1p-22);
    /* One bf16 step above 1 is 2^-7. */
    ck_assert(agree("bf16[] 1", "bf16[] 1.0078125", (struct bound){.ulps = 1}, &leaf));
    const double own[] = {0.125, 0};
    struct bound bound = {.element_bounds = own};
    ck_assert(agree("f32[2] {1, 1}", "f32[2] {1.125, 1}", bound, &leaf));
    ck_assert(!agree("f32[2] {1, 1}", "f32[2] {1, 1.125}", bound, &leaf));
}
END_TEST

START_TEST(test_special_values)
{
    struct leaf_comparison leaf;
    struct bound wide = {.abs = 1e30, .rel = 1e30};
    ck_assert(!agree("f32[] 1", "f32[] nan", wide, &leaf));
    ck_assert_int_eq(leaf.nan_disagreements, 1);
    ck_assert(isinf(leaf.needed_abs));
    ck_assert(!agree("f32[] inf", "f32[] 3e38", wide, &leaf));
    ck_assert_int_eq(leaf.infinity_disagreements, 1);
    ck_assert(!agree("f32[] inf", "f32[] -inf", wide, &leaf));
    struct bound flush = {.flush_subnormals = true};
    ck_assert(agree("f32[] 1e-40", "f32[] 0", flush, &leaf));
    ck_assert(!agree("f32[] 1e-37", "f32[] 0", flush, &leaf));
    const double unknown[] = {INFINITY};
    ck_assert(agree("f32[] 1", "f32[] nan", (struct bound){.element_bounds = unknown}, &leaf));
    ck_assert_int_eq(leaf.undecided, 1);
}
END_TEST

/* xla/literal_comparison.cc: a mismatch exceeds both bounds. */
START_TEST(test_xla_rule)
{
    struct leaf_comparison leaf;
    struct bound rule = {.abs = 1e-3, .rel = 1e-3, .xla_rule = true};
    ck_assert(agree("f32[] 1000", "f32[] 1000.9", rule, &leaf));
    ck_assert(agree("f32[] 1e-6", "f32[] 5e-4", rule, &leaf));
    ck_assert(!agree("f32[] 1", "f32[] 1.0021", rule, &leaf));
    ck_assert(!agree("f32[] 0", "f32[] 0.002", rule, &leaf));
    ck_assert(agree("f32[] 0", "f32[] -0", rule, &leaf));
}
END_TEST

START_TEST(test_complex_and_shapes)
{
    struct leaf_comparison leaf;
    ck_assert(!agree("c64[] (1, 2)", "c64[] (1, 3)", (struct bound){0}, &leaf));
    ck_assert_int_eq(leaf.first.part, 1);
    ck_assert_double_eq(leaf.first.error, 1);
    ck_assert(agree("c64[] (1, 2)", "c64[] (1, 3)", (struct bound){.abs = 1}, &leaf));
    /* Relative and ulp bounds are of the magnitude, 1 here, but for XLA's rule. */
    ck_assert(
        !agree("c64[2] {(1, 2), (3, 4)}", "c64[2] {(1, 2), (5, 6)}", (struct bound){0}, &leaf));
    ck_assert_int_eq(leaf.elements, 2);
    ck_assert_int_eq(leaf.mismatches, 1);
    const char *one = "c64[] (1, 1e-6)", *other = "c64[] (1, 1.1e-6)";
    ck_assert(agree(one, other, (struct bound){.rel = 0x1p-23}, &leaf));
    ck_assert(agree(one, other, (struct bound){.ulps = 1}, &leaf));
    ck_assert_double_le(leaf.needed_ulps, 1);
    ck_assert(!agree(one, other, (struct bound){.rel = 0x1p-25}, &leaf));
    ck_assert(!agree(one, other, (struct bound){.rel = 1e-3, .xla_rule = true}, &leaf));
    ck_assert(!agree("f32[2] {1, 2}", "f32[3] {1, 2, 3}", (struct bound){0}, &leaf));
    ck_assert(leaf.shapes_differ);
}
END_TEST

/* More elements than are looked at together; figures and places are those of single elements. */
START_TEST(test_long)
{
    enum { COUNT = 10001 };
    struct error err = {0};
    size_t used;
    const struct shape *shape = shape_parse("f32[10001]", 10, &used, &err);
    struct literal *a = literal_zero(shape, &err), *b = literal_zero(shape, &err);
    float *x = literal_data(a), *y = literal_data(b);
    for (int i = 0; i < COUNT; i++) {
        x[i] = y[i] = (float)i;
    }
    ck_assert_double_eq(literal_scale(a), COUNT - 1);
    y[5000] = 5000.5f;
    x[8192] = y[8192] = NAN;
    y[8193] = INFINITY;
    x[10000] = NAN;
    ck_assert_double_eq(literal_scale(a), COUNT - 2);
    struct comparison comparison;
    literal_compare(a, b, &(struct bound){0}, &comparison);
    const struct leaf_comparison *leaf = comparison.leaves;
    ck_assert_int_eq(leaf->mismatches, 3);
    ck_assert_int_eq(leaf->first.index, 5000);
    ck_assert_double_eq(leaf->first.error, 0.5);
    ck_assert_int_eq(leaf->nan_disagreements, 1);
    ck_assert_int_eq(leaf->infinity_disagreements, 1);
    ck_assert_int_eq(leaf->buckets[0], COUNT - 3);
    comparison_finish(&comparison);
    double *own = calloc(COUNT, sizeof *own);
    own[5000] = 0.5;
    own[8193] = own[10000] = INFINITY;
    literal_compare(a, b, &(struct bound){.element_bounds = own}, &comparison);
    ck_assert(comparison.equal);
    ck_assert_int_eq(comparison.undecided, 2);
    comparison_finish(&comparison);
    free(own);
    literal_release(a);
    literal_release(b);
}
END_TEST

START_TEST(test_pred)
{
    struct literal *a = read("pred[3] {1, 1, 0}"), *b = read("pred[3] {1, 1, 0}");
    struct comparison comparison;
    struct bound bound = {0};
    literal_set_bits(a, 1, 0xef);
    literal_compare(a, b, &bound, &comparison);
    ck_assert(comparison.equal);
    comparison_finish(&comparison);
    literal_set_bits(b, 2, 2);
    literal_compare(a, b, &bound, &comparison);
    ck_assert_int_eq(comparison.mismatches, 1);
    comparison_finish(&comparison);
    literal_release(a);
    literal_release(b);
}
END_TEST

/* Of element bounds and the others: what suffices alone, what is undecided, what is wrong. */
START_TEST(test_element_bounds)
{
    static const struct {
        const char *actual;
        double own;
        int64_t mismatches, undecided;
    } rows[] = {
        {"f32[1] {1.0625}", 0, 0, 0},    /* near: 1/16 of what rel allows */
        {"f32[1] {1.125}", 0, 1, 0},     /* not near, and nothing of its own */
        {"f32[1] {1.125}", 0.125, 0, 0}, /* within its own bound */
        {"f32[1] {1.125}", 0.1, 1, 0},
        {"f32[1] {3}", 2.5, 0, 0},
        {"f32[1] {1.5}", 0.3, 0, 0},  /* ill-conditioned: all of rel suffices */
        {"f32[1] {2.1}", 0.3, 0, 1},  /* up to four times its own bound it is undecided */
        {"f32[1] {2.25}", 0.3, 1, 0}, /* and wrong beyond */
        {"f32[1] {inf}", 0.3, 1, 0},
        {"f32[1] {nan}", 1, 0, 1}, /* as ill-conditioned as it is large */
        {"f32[1] {7}", INFINITY, 0, 1},
        {"f32[1] {inf}", INFINITY, 0, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct leaf_comparison leaf;
        struct bound bound = {.rel = 1,
                              .near = 1.0 / 16,
                              .undecidable = rows[i].own == 2.5 ? 3 : 0.25,
                              .element_bounds = &rows[i].own};
        agree("f32[1] {1}", rows[i].actual, bound, &leaf);
        ck_assert_msg(leaf.mismatches == rows[i].mismatches && leaf.undecided == rows[i].undecided,
                      "row %zu: %lld, %lld", i, (long long)leaf.mismatches,
                      (long long)leaf.undecided);
    }
}
END_TEST

START_TEST(test_unspecified)
{
    struct literal *a = read("f32[3] {1, 2, 3}"), *b = read("f32[3] {1, 99, 3}");
    literal_mark_unspecified(a, 1);
    struct comparison comparison;
    struct bound bound = {0};
    literal_compare(a, b, &bound, &comparison);
    ck_assert(comparison.equal);
    ck_assert_int_eq(comparison.unspecified, 1);
    comparison_finish(&comparison);
    literal_release(a);
    literal_release(b);
}
END_TEST

START_TEST(test_picture)
{
    struct literal *a = read("f32[2,3] {{1, 2, 3}, {4, 5, 6}}");
    struct literal *b = read("f32[2,3] {{1, 2.5, 3}, {4, 5, nan}}");
    struct comparison comparison;
    struct bound bound = {0};
    literal_compare(a, b, &bound, &comparison);
    ck_assert_int_eq(comparison.leaves[0].mismatches, 2);
    struct text text;
    text_init(&text);
    comparison_print(&comparison, a, b, &text);
    ck_assert_ptr_nonnull(strstr(text.data, "2 of 6 elements differ"));
    ck_assert_ptr_nonnull(
        strstr(text.data, "[0,1]  expected 2 (0x40000000) | got 2.5 (0x40200000)"));
    ck_assert_ptr_nonnull(strstr(text.data, "[1,2]"));
    ck_assert_ptr_nonnull(strstr(text.data, "NaN on one side: 1"));
    ck_assert_ptr_nonnull(strstr(text.data, "no tolerance would have passed"));
    text_finish(&text);
    comparison_finish(&comparison);
    literal_release(a);
    literal_release(b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare");
    TCase *tests = tcase_create("literals");
    tcase_add_test(tests, test_bits);
    tcase_add_test(tests, test_bounds);
    tcase_add_test(tests, test_special_values);
    tcase_add_test(tests, test_xla_rule);
    tcase_add_test(tests, test_complex_and_shapes);
    tcase_add_test(tests, test_long);
    tcase_add_test(tests, test_pred);
    tcase_add_test(tests, test_element_bounds);
    tcase_add_test(tests, test_unspecified);
    tcase_add_test(tests, test_picture);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
