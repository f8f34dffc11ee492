/* The option bf16_products: which operands are rounded, to what, and that the sum is exact then. */
#include "one_op.h"

/* Rounds to bf16 by arithmetic: to a multiple of the last of 8 bits, ties to even. */
static double nearest_bf16(double value)
{
    int exponent;
    frexp(value, &exponent);
    return ldexp(nearbyint(ldexp(value, 8 - exponent)), exponent - 8);
}

static struct literal *run(struct one_op *op, eval_function *evaluate)
{
    struct error err = {0};
    bool dying[2] = {false, false};
    struct evaluation evaluation = {.module = op->module, .options = {.bf16_products = true}};
    struct literal *values[2] = {op->values[0], op->values[1]};
    struct operands operands = {.count = 2, .values = values, .dying = dying};
    struct literal *result = evaluate(&evaluation, op->instruction, &operands, &err);
    ck_assert_msg(result != NULL, "%s", err.message);
    return result;
}

enum { SIZE = 7 };

/* One product of vectors; narrow[i]: operand i counts as bf16. */
static void check(const char *attributes, const char *shape, bool first, bool second)
{
    struct rng rng;
    rng_init(&rng, 5);
    char body[256];
    snprintf(body, sizeof body,
             "a = %s[1,%d] parameter(0)\nb = %s[%d,1] parameter(1)\nROOT r = %s[1,1] %s", shape,
             SIZE, shape, SIZE, shape, attributes);
    struct one_op op;
    one_op_init(&op, body);
    double sum = 0;
    for (int i = 0; i < SIZE; i++) {
        /* few bits, so that sums of doubles are exact */
        double a = ldexp((double)rng_below(&rng, 8192) - 4000, -6);
        double b = ldexp((double)rng_below(&rng, 8192) - 4000, -6);
        literal_set_double(op.values[0], i, a);
        literal_set_double(op.values[1], i, b);
        sum += (first ? nearest_bf16(a) : a) * (second ? nearest_bf16(b) : b);
    }
    bool is_convolution = strncmp(attributes, "convolution", 11) == 0;
    struct literal *result = run(&op, is_convolution ? eval_convolution : eval_dot);
    double expected = float_round(op.instruction->shape->type, sum);
    ck_assert_msg(literal_get_double(result, 0) == expected, "%s: %.9g, not %.9g", body,
                  literal_get_double(result, 0), expected);
    literal_release(result);
    one_op_finish(&op);
}

#define DOT "dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
#define CONVOLUTION "convolution(a, b), dim_labels=bf_io->bf"

START_TEST(test_which)
{
    check(DOT, "f32", true, true);
    check(DOT ", operand_precision={highest,highest}", "f32", false, false);
    check(DOT ", operand_precision={high,default}", "f32", false, true);
    check(DOT ", algorithm=dot_f32_f32_f32", "f32", false, false);
    check(DOT, "f64", false, false);
    check(CONVOLUTION, "f32", true, true);
    check(CONVOLUTION ", operand_precision={default,highest}", "f32", true, false);
}
END_TEST

START_TEST(test_limits)
{
    static const float values[][2] = {
        {3.4028234e38f, INFINITY}, /* beyond the largest */
        {-INFINITY, -INFINITY},
        {NAN, NAN},
        {1.00390625f, 1.0f}, /* a tie, to even */
        {1.01171875f, 1.015625f},
        {0x1p-133f, 0x1p-133f},
        {0x1p-149f, 0},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct one_op op;
        one_op_init(&op, "a = f32[1,1] parameter(0)\nb = f32[1,1] parameter(1)\n"
                         "ROOT r = f32[1,1] " DOT);
        literal_set_double(op.values[0], 0, values[i][0]);
        literal_set_double(op.values[1], 0, 1);
        struct literal *result = run(&op, eval_dot);
        double got = literal_get_double(result, 0), want = values[i][1];
        ck_assert_msg(got == want || (isnan(got) && isnan(want)), "%g: %g", values[i][0], got);
        literal_release(result);
        one_op_finish(&op);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interp_bf16_products");
    TCase *tests = tcase_create("bf16_products");
    tcase_add_test(tests, test_which);
    tcase_add_test(tests, test_limits);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
