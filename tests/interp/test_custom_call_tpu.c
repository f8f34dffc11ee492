/* Custom calls of the TPU compiler, against matrices worked out by hand and against the definitions
 * of what they compute. */
#include "one_op.h"

#include "tests/interp/evaluate_text.h"

static void setup(void)
{
    pool_set_threads(2);
}

static void set_doubles(struct literal *literal, const double *values)
{
    for (int64_t i = 0; i < literal_elements(literal); i++) {
        literal_set_double(literal, i, values[i]);
    }
}

static struct literal *call(struct one_op *op, const char *body, const double *const *operands)
{
    one_op_init(op, body);
    for (int i = 0; i < op->count; i++) {
        set_doubles(op->values[i], operands[i]);
    }
    return one_op_run(op, eval_custom_call);
}

/* Leaf `leaf` has these values to within a few roundings of f32; NAN: unspecified. */
static void check_leaf(const struct literal *result, int leaf, const double *expected)
{
    const struct literal *literal = literal_leaf(result, leaf);
    for (int64_t i = 0; i < literal_elements(literal); i++) {
        if (isnan(expected[i])) {
            ck_assert_msg(literal_is_unspecified(literal, i), "%d[%d]", leaf, (int)i);
            continue;
        }
        double got = literal_get_double(literal, i);
        ck_assert_msg(!literal_is_unspecified(literal, i), "%d[%d]", leaf, (int)i);
        ck_assert_msg(fabs(got - expected[i]) <= 4e-7 * (1 + fabs(expected[i])),
                      "%d[%d]: %.9g, expected %.9g", leaf, (int)i, got, expected[i]);
    }
}

#define OPERANDS(...)  \
    (const double *[]) \
    {                  \
        __VA_ARGS__    \
    }
#define VALUES(...)  \
    (const double[]) \
    {                \
        __VA_ARGS__  \
    }

START_TEST(test_complex_halves)
{
    struct one_op op;
    static const char *const types[][2] = {{"c64", "f32"}, {"c128", "f64"}};
    char body[256];
    for (int t = 0; t < 2; t++) {
        for (int high = 0; high < 2; high++) {
            snprintf(body, sizeof body,
                     "a = %s[2] parameter(0)\n"
                     "ROOT r = %s[2] custom-call(a), custom_call_target=\"X64Split%s\"",
                     types[t][0], types[t][1], high ? "High" : "Low");
            one_op_init(&op, body);
            literal_set_complex(op.values[0], 0, 1.5, -2.5);
            literal_set_complex(op.values[0], 1, -3, 4);
            literal_mark_unspecified(op.values[0], 1);
            struct literal *half = one_op_run(&op, eval_custom_call);
            ck_assert_double_eq(literal_get_double(half, 0), high ? -2.5 : 1.5);
            ck_assert_double_eq(literal_get_double(half, 1), high ? 4 : -3);
            ck_assert(!literal_is_unspecified(half, 0) && literal_is_unspecified(half, 1));
            literal_release(half);
            one_op_finish(&op);
        }
        snprintf(body, sizeof body,
                 "l = %s[1] parameter(0)\nh = %s[1] parameter(1)\n"
                 "ROOT r = %s[1] custom-call(l, h), custom_call_target=\"X64Combine\"",
                 types[t][1], types[t][1], types[t][0]);
        struct literal *whole = call(&op, body, OPERANDS(VALUES(7), VALUES(-8)));
        ck_assert_double_eq(literal_get_double(whole, 0), 7);
        ck_assert_double_eq(literal_get_imaginary(whole, 0), -8);
        literal_release(whole);
        one_op_finish(&op);
    }
}
END_TEST

/* Zeros stand behind the array in each dimension. */
START_TEST(test_zero_crop)
{
    struct one_op op;
    struct literal *result =
        call(&op,
             "a = u8[2,3] parameter(0)\n"
             "ROOT r = u8[3,4] custom-call(a), custom_call_target=\"ZeroCrop\"",
             OPERANDS(VALUES(1, 2, 3, 4, 5, 6)));
    check_leaf(result, 0, VALUES(1, 2, 3, 0, 4, 5, 6, 0, 0, 0, 0, 0));
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

/* A textbook matrix whose factor has integers; the upper triangle is not looked at. */
START_TEST(test_cholesky)
{
    struct one_op op;
    struct literal *result =
        call(&op,
             "a = f32[3,3] parameter(0)\n"
             "ROOT r = f32[3,3] custom-call(a), custom_call_target=\"Cholesky\"",
             OPERANDS(VALUES(4, 99, 98, 12, 37, 97, -16, -43, 98)));
    check_leaf(result, 0, VALUES(2, NAN, NAN, 6, 1, NAN, -8, 5, 3));
    literal_release(result);
    one_op_finish(&op);
    /* L = [[2, 0], [1 + i, 1]], L Lᴴ = [[4, 2 − 2i], [2 + 2i, 3]] */
    result = call(&op,
                  "a = f32[2,2] parameter(0)\nb = f32[2,2] parameter(1)\n"
                  "ROOT r = (f32[2,2], f32[2,2]) custom-call(a, b), "
                  "custom_call_target=\"Cholesky\"",
                  OPERANDS(VALUES(4, 2, 2, 3), VALUES(0, -2, 2, 0)));
    check_leaf(result, 0, VALUES(2, NAN, 1, 1));
    check_leaf(result, 1, VALUES(0, NAN, 1, 0));
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

START_TEST(test_inverses)
{
    struct one_op op;
    struct literal *result = call(&op,
                                  "a = f32[2,2,2] parameter(0)\n"
                                  "ROOT r = f32[2,2,2] custom-call(a), "
                                  "custom_call_target=\"InvertDiagBlocksLowerTriangular\"",
                                  OPERANDS(VALUES(2, 9, 1, 4, 1, 0, -3, 2)));
    check_leaf(result, 0, VALUES(0.5, 0, -0.125, 0.25, 1, 0, 1.5, 0.5));
    literal_release(result);
    one_op_finish(&op);
    result = call(&op,
                  "a = f32[2,2] parameter(0)\n"
                  "ROOT r = f32[2,2] custom-call(a), "
                  "custom_call_target=\"InvertDiagBlocksUpperTriangular\"",
                  OPERANDS(VALUES(2, 1, 9, 4)));
    check_leaf(result, 0, VALUES(0.5, -0.125, 0, 0.25));
    literal_release(result);
    one_op_finish(&op);
    /* [[i, 0], [1, 2]]: [[−i, 0], [i / 2, 1 / 2]] */
    result = call(&op,
                  "a = f32[2,2] parameter(0)\nb = f32[2,2] parameter(1)\n"
                  "ROOT r = (f32[2,2], f32[2,2]) custom-call(a, b), "
                  "custom_call_target=\"InvertDiagBlocksLowerTriangular\"",
                  OPERANDS(VALUES(0, 0, 1, 2), VALUES(1, 0, 0, 0)));
    check_leaf(result, 0, VALUES(0, 0, 0, 0.5));
    check_leaf(result, 1, VALUES(-1, 0, 0.5, 0));
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

enum { ROWS = 5, COLUMNS = 3 };

/* out = (I − τ0 v0 v0ᵀ) (I − τ1 v1 v1ᵀ) … */
static void product_of_reflectors(double v[ROWS][COLUMNS], const double *tau,
                                  double out[ROWS][ROWS])
{
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < ROWS; j++) {
            out[i][j] = i == j;
        }
    }
    for (int c = 0; c < COLUMNS; c++) {
        for (int i = 0; i < ROWS; i++) {
            double dot = 0;
            for (int j = 0; j < ROWS; j++) {
                dot += out[i][j] * v[j][c];
            }
            for (int j = 0; j < ROWS; j++) {
                out[i][j] -= tau[c] * dot * v[j][c];
            }
        }
    }
}

/* T of the product of reflectors, I + V T Vᵀ, whatever V and τ are; below the diagonal the operand
 * counts for nothing. */
START_TEST(test_compact_wy)
{
    struct rng rng;
    rng_init(&rng, 1);
    double v[ROWS][COLUMNS], tau[COLUMNS], x[COLUMNS * COLUMNS], wanted[ROWS][ROWS];
    for (int c = 0; c < COLUMNS; c++) {
        tau[c] = 2 * rng_uniform(&rng);
        for (int i = 0; i < ROWS; i++) {
            v[i][c] = i < c ? 0 : i == c ? 1 : 2 * rng_uniform(&rng) - 1;
        }
    }
    for (int i = 0; i < COLUMNS; i++) {
        for (int j = 0; j < COLUMNS; j++) {
            double dot = 0;
            for (int k = 0; k < ROWS; k++) {
                dot += v[k][i] * v[k][j];
            }
            x[i * COLUMNS + j] = i > j ? 55 : i == j ? -tau[j] : -tau[j] * dot;
        }
    }
    product_of_reflectors(v, tau, wanted);
    struct one_op op;
    struct literal *t = call(&op,
                             "a = f32[3,3] parameter(0)\n"
                             "ROOT r = f32[3,3] custom-call(a), "
                             "custom_call_target=\"CompactWyHelper\"",
                             OPERANDS(x));
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < ROWS; j++) {
            double got = i == j;
            for (int k = 0; k < COLUMNS * COLUMNS; k++) {
                got += v[i][k / COLUMNS] * literal_get_double(t, k) * v[j][k % COLUMNS];
            }
            ck_assert_msg(fabs(got - wanted[i][j]) < 2e-6, "%d, %d: %g, expected %g", i, j, got,
                          wanted[i][j]);
        }
    }
    literal_release(t);
    one_op_finish(&op);
}
END_TEST

/* By hand with LAPACK's definitions: β = −sign(re α) |x|, τ = (β − α) / β, v = x / (α − β). */
START_TEST(test_qr)
{
    struct one_op op;
    struct literal *result = call(&op,
                                  "a = f32[2,1] parameter(0)\n"
                                  "ROOT r = (f32[2,1], f32[1]) custom-call(a), "
                                  "custom_call_target=\"QrDecompositionBlock\"",
                                  OPERANDS(VALUES(3, 4)));
    check_leaf(result, 0, VALUES(-5, 0.5));
    check_leaf(result, 1, VALUES(1.6));
    literal_release(result);
    one_op_finish(&op);
    /* (3i, 4): β = −5, τ = (−5 − 3i) / −5, v = 4 / (5 + 3i) */
    result = call(&op,
                  "a = f32[2,1] parameter(0)\nb = f32[2,1] parameter(1)\n"
                  "ROOT r = (f32[2,1], f32[2,1], f32[1], f32[1]) custom-call(a, b), "
                  "custom_call_target=\"QrDecompositionBlock\"",
                  OPERANDS(VALUES(0, 4), VALUES(3, 0)));
    check_leaf(result, 0, VALUES(-5, 20. / 34));
    check_leaf(result, 1, VALUES(0, -12. / 34));
    check_leaf(result, 2, VALUES(1));
    check_leaf(result, 3, VALUES(0.6));
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

START_TEST(test_lu)
{
    struct one_op op;
    struct literal *result = call(&op,
                                  "a = f32[2,2] parameter(0)\n"
                                  "ROOT r = (f32[2,2], s32[2], s32[2]) custom-call(a), "
                                  "custom_call_target=\"LuRealDecompositionBlock\"",
                                  OPERANDS(VALUES(1, 2, 3, 4)));
    check_leaf(result, 0, VALUES(3, 4, 1. / 3, 2. / 3));
    check_leaf(result, 1, VALUES(1, 1));
    check_leaf(result, 2, VALUES(1, 0));
    literal_release(result);
    one_op_finish(&op);
    /* the same times i */
    result = call(&op,
                  "a = f32[2,2] parameter(0)\nb = f32[2,2] parameter(1)\n"
                  "ROOT r = (f32[2,2], f32[2,2], s32[2], s32[2]) custom-call(a, b), "
                  "custom_call_target=\"LuComplexDecompositionBlock\"",
                  OPERANDS(VALUES(0, 0, 0, 0), VALUES(1, 2, 3, 4)));
    check_leaf(result, 0, VALUES(0, 0, 1. / 3, 0));
    check_leaf(result, 1, VALUES(3, 4, 0, 2. / 3));
    check_leaf(result, 2, VALUES(1, 1));
    check_leaf(result, 3, VALUES(1, 0));
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

#define EIGH4                                                                                     \
    "a = f32[2,2] parameter(0)\nb = f32[2,2] parameter(1)\n"                                      \
    "c = f32[2,2] parameter(2)\nd = f32[2,2] parameter(3)\n"                                      \
    "ROOT r = (f32[2], f32[2], f32[2,2], f32[2,2], f32[2,2], f32[2,2]) custom-call(a, b, c, d), " \
    "custom_call_target=\"EighTpu\""

/* Row i of the vectors and value i satisfy A v = λ v, |v| = 1; the values sum up to the trace. */
static void check_eigh(const double *a, bool padded)
{
    double blocks[4][4];
    for (int i = 0; i < 16; i++) {
        blocks[i / 8 * 2 + i % 4 / 2][i / 4 % 2 * 2 + i % 2] = a[i];
    }
    struct one_op op;
    struct literal *result = call(&op, EIGH4, OPERANDS(blocks[0], blocks[1], blocks[2], blocks[3]));
    double trace = 0;
    for (int row = 0; row < 4; row++) {
        double value = literal_get_double(literal_leaf(result, row / 2), row % 2), v[4], norm = 0;
        for (int j = 0; j < 4; j++) {
            const struct literal *block = literal_leaf(result, 2 + row / 2 * 2 + j / 2);
            v[j] = literal_get_double(block, row % 2 * 2 + j % 2);
            norm += v[j] * v[j];
        }
        for (int i = 0; i < 4; i++) {
            double product = 0;
            for (int j = 0; j < 4; j++) {
                product += a[4 * i + j] * v[j];
            }
            ck_assert_msg(fabs(product - value * v[i]) < 1e-5, "%d, %d: %g", row, i, product);
        }
        ck_assert(fabs(norm - 1) < 1e-5);
        trace += value - a[5 * row];
        ck_assert(!padded || row < 3 || value == 0);
    }
    ck_assert(fabs(trace) < 1e-5);
    literal_release(result);
    one_op_finish(&op);
}

START_TEST(test_eigh)
{
    check_eigh(VALUES(2, 1, 0, 3, 1, 2, -1, 0.5, 0, -1, 5, 1, 3, 0.5, 1, -4), false);
    check_eigh(VALUES(2, 1, 0, 0, 1, 2, -1, 0, 0, -1, -5, 0, 0, 0, 0, 0), true);
}
END_TEST

/* A program of the sparse cores is what its computation says. */
START_TEST(test_embedded_program)
{
    static const char text[] =
        "HloModule m\n"
        "program {\n  x = f32[2] parameter(0)\n  y = f32[2] parameter(1)\n"
        "  ROOT s = f32[2] subtract(y, x)\n}, execution_thread=\"sparsecore\"\n"
        "ENTRY e {\n  a = f32[2] parameter(0)\n  b = f32[2] parameter(1)\n"
        "  ROOT r = f32[2] custom-call(a, b), custom_call_target=\"TO"
        "DO(b/522284627)\", "
        "called_computations={program}\n}\n";
    check_evaluates(text, "f32[2] {1, 2}", "f32[2] {10, 40}", NULL, NULL, "f32[2] {9, 38}");
}
END_TEST

/* The parts of an array that was brought in by slices: each goes where it came from, in whatever
 * order the slices were begun. */
START_TEST(test_concat_bitcast_order)
{
    static const char text[] =
        "HloModule m\n"
        "first { x = f32[2,3] parameter(0) ROOT s = f32[1,3] slice(x), slice={[0:1], [0:3]} }\n"
        "second { x = f32[2,3] parameter(0) ROOT s = f32[1,3] slice(x), slice={[1:2], [0:3]} }\n"
        "ENTRY e {\n  a = f32[2,3] parameter(0)\n"
        "  b1 = ((f32[2,3]), f32[1,3], s32[]) async-start(a), calls=second\n"
        "  b0 = ((f32[2,3]), f32[1,3], s32[]) async-start(a), calls=first\n"
        "  d1 = f32[1,3] async-done(b1)\n  d0 = f32[1,3] async-done(b0)\n"
        "  ROOT r = f32[2,3] custom-call(d1, d0), custom_call_target=\"ConcatBitcast\"\n}\n";
    check_evaluates(text, "f32[2,3] {{1, 2, 3}, {4, 5, 6}}", NULL, NULL, NULL,
                    "f32[2,3] {{1, 2, 3}, {4, 5, 6}}");
    /* the same with kept values, of which the second evaluation has the slices alone */
    struct module *module = read_module(text);
    struct interp_cache *cache = interp_cache_create(1 << 20);
    struct interp_options options = {.cache = cache};
    struct error err = {0};
    struct literal *a = literal_create(module->entry->parameters[0]->shape, &err);
    set_doubles(a, VALUES(1, 2, 3, 4, 5, 6));
    for (int i = 0; i < 2; i++) {
        struct literal *result = interp_evaluate(module, &a, 1, &options, &err);
        ck_assert_msg(result != NULL && literal_equal(result, a), "%s", err.message);
        literal_release(result);
    }
    literal_release(a);
    interp_cache_destroy(cache);
    module_destroy(module);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interp_custom_call_tpu");
    TCase *tests = tcase_create("custom_call_tpu");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, test_complex_halves);
    tcase_add_test(tests, test_zero_crop);
    tcase_add_test(tests, test_cholesky);
    tcase_add_test(tests, test_inverses);
    tcase_add_test(tests, test_compact_wy);
    tcase_add_test(tests, test_qr);
    tcase_add_test(tests, test_lu);
    tcase_add_test(tests, test_eigh);
    tcase_add_test(tests, test_embedded_program);
    tcase_add_test(tests, test_concat_bitcast_order);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
