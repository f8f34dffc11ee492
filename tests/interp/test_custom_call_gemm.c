/* cuBLAS calls against their real expression by MPFR, element by element, rounded once. */
#include "custom_call_reference.h"

static void setup(void)
{
    pool_set_threads(2);
}

struct epilogue_case {
    const char *word, *activation;
    bool bias, aux;
};
static const struct epilogue_case cases[] = {
    {"DEFAULT", "", false, false},      {"BIAS", "", true, false},
    {"RELU", "relu", false, false},     {"BIAS_RELU", "relu", true, false},
    {"GELU", "gelu", false, false},     {"GELU_AUX", "gelu", false, true},
    {"BIAS_GELU", "gelu", true, false}, {"BIAS_GELU_AUX", "gelu", true, true},
    {"SILU", "silu", false, false},     {"BIAS_SILU", "silu", true, false},
};
enum { CASE_COUNT = sizeof cases / sizeof *cases };

/* The linear part of element (b, i, j) of [B, M, K] × [B, K, N]. */
static void linear(mpfr_t x, const struct literal *a, const struct literal *b, double scale,
                   const struct literal *c, double beta, const struct literal *bias, int64_t at)
{
    int64_t m = a->shape->dimensions[1], k = a->shape->dimensions[2], n = b->shape->dimensions[2];
    int64_t batch = at / (m * n), i = at / n % m, j = at % n;
    mpfr_set_zero(x, 1);
    for (int64_t l = 0; l < k; l++) {
        reference_add(x, literal_get_double(a, (batch * m + i) * k + l),
                      literal_get_double(b, (batch * k + l) * n + j));
    }
    mpfr_mul_d(x, x, scale, MPFR_RNDN);
    if (c != NULL) {
        reference_add(x, literal_get_double(c, at), beta);
    }
    if (bias != NULL) {
        reference_add(x, literal_get_double(bias, j), 1);
    }
}

START_TEST(test_epilogues)
{
    static const char *const types[] = {"f32", "bf16", "f16", "f64"};
    const struct epilogue_case *one = &cases[_i / 4 % CASE_COUNT];
    /* Large enough for dgemm the second time. */
    bool large = _i / 4 >= CASE_COUNT;
    int m = large ? 17 : 3, k = large ? 41 : 7, n = large ? 19 : 5;
    const char *type = types[_i % 4];
    struct rng rng;
    rng_init(&rng, (uint64_t)_i);
    for (int beta = 0; beta < 2; beta++) {
        char body[2000], result[200];
        char shape[64];
        snprintf(shape, sizeof shape, "%s[2,%d,%d]", type, m, n);
        snprintf(result, sizeof result, "(%s, %s%ss8[64])", shape, one->aux ? shape : "",
                 one->aux ? ", " : "");
        snprintf(body, sizeof body,
                 "a = %s[2,%d,%d] parameter(0)\nb = %s[2,%d,%d] parameter(1)\n"
                 "c = %s parameter(2)\nd = %s[%d] parameter(3)\n"
                 "ROOT r = %s custom-call(a, b%s%s), custom_call_target=\"__cublas$lt$matmul\", "
                 "backend_config={\"operation_queue_id\":\"0\",\"gemm_backend_config\":{"
                 "\"alpha_real\":%s,\"alpha_imag\":0,\"beta\":%s,\"dot_dimension_numbers\":{"
                 "\"lhs_contracting_dimensions\":[\"2\"],\"rhs_contracting_dimensions\":[\"1\"],"
                 "\"lhs_batch_dimensions\":[\"0\"],\"rhs_batch_dimensions\":[\"0\"]},"
                 "\"precision_config\":{\"operand_precision\":[\"DEFAULT\",\"DEFAULT\"]},"
                 "\"epilogue\":\"%s\"}}",
                 type, m, k, type, k, n, shape, type, n, result, beta ? ", c" : "",
                 one->bias ? ", d" : "", beta ? "0.3" : "1", beta ? "-1.7" : "0", one->word);
        struct one_op op;
        one_op_init(&op, body);
        for (int round = 0; round < (large ? 3 : 4); round += large ? 2 : 1) {
            for (int i = 0; i < op.count; i++) {
                fill_random(op.values[i], &rng, round);
            }
            struct literal *got = one_op_run(&op, eval_custom_call);
            const struct literal *c = beta ? op.values[2] : NULL;
            const struct literal *bias = one->bias ? op.values[2 + beta] : NULL;
            mpfr_t x;
            reference_init(x);
            for (int64_t at = 0; at < 2 * m * n; at++) {
                linear(x, op.values[0], op.values[1], beta ? 0.3 : 1, c, -1.7, bias, at);
                if (one->aux) {
                    check_rounded(x, got->elements[1], at, one->word);
                }
                reference_activate(x, one->activation);
                check_rounded(x, got->elements[0], at, one->word);
            }
            mpfr_clear(x);
            ck_assert(!literal_has_unspecified(got->elements[0]));
            ck_assert(literal_is_unspecified(got->elements[one->aux ? 2 : 1], 5));
            literal_release(got);
        }
        one_op_finish(&op);
    }
}
END_TEST

/* Cancellation: the sum is far smaller than its terms, so that no sum in doubles is enough. */
START_TEST(test_cancellation)
{
    struct one_op op;
    one_op_init(&op, "a = f64[1,4] parameter(0)\nb = f64[4,1] parameter(1)\nc = f64[1,1] "
                     "parameter(2)\nROOT r = f64[1,1] custom-call(a, b, c), "
                     "custom_call_target=\"__cublas$gemm\", backend_config={"
                     "\"gemm_backend_config\":{\"alpha_real\":3,\"beta\":-1,"
                     "\"dot_dimension_numbers\":{\"lhs_contracting_dimensions\":[1],"
                     "\"rhs_contracting_dimensions\":[0]}}}");
    /* 3 (2^60 − 2^60 + 2^-60 + 1) − 3 = 3 · 2^-60 */
    static const double a[] = {0x1p60, -0x1p60, 0x1p-60, 1};
    for (int i = 0; i < 4; i++) {
        literal_set_double(op.values[0], i, a[i]);
        literal_set_double(op.values[1], i, 1);
    }
    literal_set_double(op.values[2], 0, 3);
    struct literal *got = one_op_run(&op, eval_custom_call);
    ck_assert_double_eq(literal_get_double(got, 0), 3 * 0x1p-60);
    literal_release(got);
    /* NaN and infinities as IEEE 754 has them. */
    literal_set_double(op.values[0], 0, INFINITY);
    got = one_op_run(&op, eval_custom_call);
    ck_assert_double_eq(literal_get_double(got, 0), INFINITY);
    literal_release(got);
    literal_set_double(op.values[2], 0, INFINITY);
    got = one_op_run(&op, eval_custom_call);
    ck_assert(isnan(literal_get_double(got, 0)));
    literal_release(got);
    one_op_finish(&op);
}
END_TEST

START_TEST(test_f8)
{
    struct one_op op;
    struct rng rng;
    rng_init(&rng, 8);
    one_op_init(&op,
                "a = f8e4m3fn[1,4,16] parameter(0)\nb = f8e4m3fn[1,16,8] parameter(1)\n"
                "sa = f32[] parameter(2)\nsb = f32[] parameter(3)\nbias = bf16[8] parameter(4)\n"
                "sd = f32[] parameter(5)\n"
                "ROOT r = (f8e4m3fn[1,4,8], f32[], s8[1024]) custom-call(a, b, sa, sb, bias, sd), "
                "custom_call_target=\"__cublas$lt$matmul$f8\", backend_config={"
                "\"gemm_backend_config\":{\"alpha_real\":1,\"beta\":0,\"damax_output\":true,"
                "\"dot_dimension_numbers\":{\"lhs_contracting_dimensions\":[\"2\"],"
                "\"rhs_contracting_dimensions\":[\"1\"],\"lhs_batch_dimensions\":[\"0\"],"
                "\"rhs_batch_dimensions\":[\"0\"]},\"epilogue\":\"BIAS_RELU\"}}");
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 6; i++) {
            fill_random(op.values[i], &rng, 2);
        }
        bool large = round % 4 == 3; /* results beyond the range saturate */
        literal_set_double(op.values[2], 0, 0.37);
        literal_set_double(op.values[3], 0, large ? 1000 : 1.9);
        literal_set_double(op.values[5], 0, 0.77);
        struct literal *got = one_op_run(&op, eval_custom_call);
        mpfr_t x, most;
        reference_init(x);
        reference_init(most);
        for (int64_t at = 0; at < 32; at++) {
            linear(x, op.values[0], op.values[1], 1, NULL, 0, NULL, at);
            for (int i = 2; i < 4; i++) {
                mpfr_mul_d(x, x, literal_get_double(op.values[i], 0), MPFR_RNDN);
            }
            reference_add(x, literal_get_double(op.values[4], at % 8), 1);
            reference_activate(x, "relu");
            mpfr_max(most, most, x, MPFR_RNDN);
            mpfr_mul_d(x, x, literal_get_double(op.values[5], 0), MPFR_RNDN);
            if (mpfr_cmp_ui(x, 448) >= 0) {
                ck_assert_double_eq(literal_get_double(got->elements[0], at), 448);
            } else {
                check_rounded(x, got->elements[0], at, "f8");
            }
        }
        check_rounded(most, got->elements[1], 0, "amax");
        mpfr_clear(x);
        mpfr_clear(most);
        literal_release(got);
    }
    one_op_finish(&op);
}
END_TEST

START_TEST(test_complex)
{
    static const char *const types[] = {"c64", "c128"};
    struct rng rng;
    rng_init(&rng, 3);
    char body[1000];
    snprintf(body, sizeof body,
             "a = %s[3,4] parameter(0)\nb = %s[2,4] parameter(1)\nc = %s[3,2] parameter(2)\n"
             "ROOT r = %s[3,2] custom-call(a, b, c), custom_call_target=\"__cublas$gemm\", "
             "backend_config={\"gemm_backend_config\":{\"alpha_real\":0.7,\"alpha_imag\":-0.3,"
             "\"beta\":1.1,\"dot_dimension_numbers\":{\"lhs_contracting_dimensions\":[1],"
             "\"rhs_contracting_dimensions\":[1]}}}",
             types[_i], types[_i], types[_i], types[_i]);
    struct one_op op;
    one_op_init(&op, body);
    for (int i = 0; i < 3; i++) {
        fill_random(op.values[i], &rng, 1);
    }
    struct literal *got = one_op_run(&op, eval_custom_call);
    enum type part = _i == 0 ? TYPE_F32 : TYPE_F64;
    for (int64_t at = 0; at < 6; at++) {
        mpfr_t re, im, x;
        reference_init(re);
        reference_init(im);
        reference_init(x);
        for (int64_t k = 0; k < 4; k++) {
            double a[2] = {literal_get_double(op.values[0], at / 2 * 4 + k),
                           literal_get_imaginary(op.values[0], at / 2 * 4 + k)};
            double b[2] = {literal_get_double(op.values[1], at % 2 * 4 + k),
                           literal_get_imaginary(op.values[1], at % 2 * 4 + k)};
            reference_add(re, a[0], b[0]);
            reference_add(re, -a[1], b[1]);
            reference_add(im, a[0], b[1]);
            reference_add(im, a[1], b[0]);
        }
        mpfr_mul_d(x, re, 0.7, MPFR_RNDN);
        mpfr_t y;
        reference_init(y);
        mpfr_mul_d(y, im, 0.3, MPFR_RNDN);
        mpfr_add(x, x, y, MPFR_RNDN);
        reference_add(x, literal_get_double(op.values[2], at), 1.1);
        ck_assert_double_eq(literal_get_double(got, at), reference_round(x, part));
        mpfr_mul_d(x, im, 0.7, MPFR_RNDN);
        mpfr_mul_d(y, re, -0.3, MPFR_RNDN);
        mpfr_add(x, x, y, MPFR_RNDN);
        reference_add(x, literal_get_imaginary(op.values[2], at), 1.1);
        ck_assert_double_eq(literal_get_imaginary(got, at), reference_round(x, part));
        mpfr_clears(re, im, x, y, (mpfr_ptr)0);
    }
    literal_release(got);
    one_op_finish(&op);
}
END_TEST

/* Unspecified elements go where they are used. */
START_TEST(test_marks)
{
    struct one_op op;
    one_op_init(&op, "a = f32[2,3] parameter(0)\nb = f32[3,2] parameter(1)\nc = f32[2,2] "
                     "parameter(2)\nROOT r = f32[2,2] custom-call(a, b, c), "
                     "custom_call_target=\"__cublas$gemm\", backend_config={"
                     "\"gemm_backend_config\":{\"alpha_real\":1,\"beta\":1,"
                     "\"dot_dimension_numbers\":{\"lhs_contracting_dimensions\":[1],"
                     "\"rhs_contracting_dimensions\":[0]}}}");
    literal_mark_unspecified(op.values[0], 1); /* row 0 */
    literal_mark_unspecified(op.values[2], 3);
    struct literal *got = one_op_run(&op, eval_custom_call);
    static const bool want[] = {true, true, false, true};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(literal_is_unspecified(got, i), want[i]);
    }
    literal_release(got);
    one_op_finish(&op);
}
END_TEST

static const struct {
    const char *config, *word;
} hostile[] = {
    {"", "without dot_dimension_numbers"},
    {"\"nonsense\"", "no JSON object"},
    {"{\"gemm_backend_config\":7}", "no object"},
    {"{\"gemm_backend_config\":{\"alpha_real\":\"x\",\"dot_dimension_numbers\":{}}}",
     "alpha_real is no number"},
    {"{\"gemm_backend_config\":{\"alpha_real\":\"NaN\",\"dot_dimension_numbers\":{}}}",
     "not finite"},
    {"{\"gemm_backend_config\":{\"epilogue\":\"SIN\",\"dot_dimension_numbers\":{}}}",
     "unknown epilogue SIN"},
    {"{\"gemm_backend_config\":{\"epilogue\":99,\"dot_dimension_numbers\":{}}}",
     "unknown epilogue"},
    {"{\"gemm_backend_config\":{\"dot_dimension_numbers\":{\"lhs_contracting_dimensions\":[9],"
     "\"rhs_contracting_dimensions\":[0]}}}",
     "do not fit"},
    {"{\"gemm_backend_config\":{\"dot_dimension_numbers\":{\"lhs_contracting_dimensions\":[-1],"
     "\"rhs_contracting_dimensions\":[0]}}}",
     "do not fit"},
    {"{\"gemm_backend_config\":{\"dot_dimension_numbers\":{\"lhs_contracting_dimensions\":[1,1],"
     "\"rhs_contracting_dimensions\":[0,0]}}}",
     "do not fit"},
    {"{\"gemm_backend_config\":{\"dot_dimension_numbers\":{\"lhs_contracting_dimensions\":[1]}}}",
     "different lengths"},
    {"{\"gemm_backend_config\":{\"dot_dimension_numbers\":{\"lhs_contracting_dimensions\":"
     "[99999999999999999999]}}}",
     "no"},
    {"{\"gemm_backend_config\":{\"dot_dimension_numbers\":{}}}", "the product is no"},
    {"{\"gemm_backend_config\":{\"beta\":1,\"dot_dimension_numbers\":{"
     "\"lhs_contracting_dimensions\":[1],\"rhs_contracting_dimensions\":[0]}}}",
     "2 operands where its configuration has 3"},
    {"{\"gemm_backend_config\":{\"alpha_imag\":1,\"dot_dimension_numbers\":{"
     "\"lhs_contracting_dimensions\":[1],\"rhs_contracting_dimensions\":[0]}}}",
     "imaginary alpha"},
};

START_TEST(test_hostile)
{
    char body[1000];
    snprintf(body, sizeof body,
             "a = f32[2,3] parameter(0)\nb = f32[3,2] parameter(1)\nROOT r = f32[2,2] "
             "custom-call(a, b), custom_call_target=\"__cublas$gemm\"%s%s",
             hostile[_i].config[0] != 0 ? ", backend_config=" : "", hostile[_i].config);
    struct one_op op;
    struct error err = {0};
    one_op_init(&op, body);
    ck_assert_ptr_null(one_op_try(&op, eval_custom_call, FIDELITY_EXACT, &err));
    ck_assert_int_eq(err.code, ERROR_UNIMPLEMENTED);
    ck_assert_msg(strstr(err.message, hostile[_i].word) != NULL, "%s", err.message);
    one_op_finish(&op);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interp_custom_call_gemm");
    TCase *tests = tcase_create("gemm");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_loop_test(tests, test_epilogues, 0, 2 * 4 * CASE_COUNT);
    tcase_add_test(tests, test_cancellation);
    tcase_add_test(tests, test_f8);
    tcase_add_loop_test(tests, test_complex, 0, 2);
    tcase_add_test(tests, test_marks);
    tcase_add_loop_test(tests, test_hostile, 0, sizeof hostile / sizeof *hostile);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
