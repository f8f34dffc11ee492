/* Norms, softmax and attention against their real expression by MPFR. */
#include "custom_call_reference.h"

static void setup(void)
{
    pool_set_threads(2);
}

static void init(mpfr_t x)
{
    mpfr_init2(x, 400);
    mpfr_set_zero(x, 1);
}

/* Σ exp(x[i] − x[at]) over a line, inverted. */
static void softmax(mpfr_t out, const struct literal *x, int64_t first, int64_t step, int64_t size,
                    int64_t at)
{
    mpfr_t sum, term;
    init(sum);
    init(term);
    for (int64_t i = 0; i < size; i++) {
        mpfr_set_d(term, literal_get_double(x, first + i * step), MPFR_RNDN);
        mpfr_sub_d(term, term, literal_get_double(x, first + at * step), MPFR_RNDN);
        mpfr_exp(term, term, MPFR_RNDN);
        mpfr_add(sum, sum, term, MPFR_RNDN);
    }
    mpfr_ui_div(out, 1, sum, MPFR_RNDN);
    mpfr_clears(sum, term, (mpfr_ptr)0);
}

START_TEST(test_softmax)
{
    static const char *const types[] = {"f32", "bf16", "f64"};
    int axis = _i / 3;
    char body[500];
    snprintf(body, sizeof body,
             "a = %s[3,5,4] parameter(0)\nROOT r = %s[3,5,4] custom-call(a), "
             "custom_call_target=\"__onednn$softmax\", "
             "backend_config={\"onednn_softmax_config\":{\"softmax_axis\":%d}}",
             types[_i % 3], types[_i % 3], axis);
    static const int64_t sizes[] = {3, 5, 4}, steps[] = {20, 4, 1};
    struct one_op op;
    struct rng rng;
    rng_init(&rng, (uint64_t)_i);
    one_op_init(&op, body);
    for (int round = 0; round < 3; round++) {
        fill_random(op.values[0], &rng, 2 * round);
        struct literal *got = one_op_run(&op, eval_custom_call);
        mpfr_t want;
        init(want);
        for (int64_t i = 0; i < 60; i++) {
            int64_t at = i / steps[axis] % sizes[axis];
            softmax(want, op.values[0], i - at * steps[axis], steps[axis], sizes[axis], at);
            check_rounded(want, got, i, "softmax");
        }
        mpfr_clear(want);
        literal_release(got);
    }
    one_op_finish(&op);
}
END_TEST

/* x: [2,3,4], normalised over the last two dimensions; scale and bias [1,3,4]. */
enum { ROWS = 2, FEATURES = 12 };

/* mean and 1 / √(variance + ε) of a row */
static void moments(const struct literal *x, int64_t row, double epsilon, mpfr_t mean,
                    mpfr_t factor)
{
    mpfr_t t;
    init(t);
    mpfr_set_zero(mean, 1);
    mpfr_set_zero(factor, 1);
    for (int64_t i = 0; i < FEATURES; i++) {
        mpfr_add_d(mean, mean, literal_get_double(x, row * FEATURES + i), MPFR_RNDN);
    }
    mpfr_div_ui(mean, mean, FEATURES, MPFR_RNDN);
    for (int64_t i = 0; i < FEATURES; i++) {
        mpfr_d_sub(t, literal_get_double(x, row * FEATURES + i), mean, MPFR_RNDN);
        mpfr_sqr(t, t, MPFR_RNDN);
        mpfr_add(factor, factor, t, MPFR_RNDN);
    }
    mpfr_div_ui(factor, factor, FEATURES, MPFR_RNDN);
    mpfr_add_d(factor, factor, epsilon, MPFR_RNDN);
    mpfr_rec_sqrt(factor, factor, MPFR_RNDN);
    mpfr_clear(t);
}

START_TEST(test_norm_forward)
{
    struct one_op op;
    struct rng rng;
    rng_init(&rng, 1);
    one_op_init(&op, "x = f32[2,3,4] parameter(0)\ns = f32[1,3,4] parameter(1)\nb = f32[1,3,4] "
                     "parameter(2)\nROOT r = (f32[2,3,4], f32[2,1,1], f32[2,1,1], u8[4]) "
                     "custom-call(x, s, b), custom_call_target=\"__cudnn$norm\", "
                     "backend_config={\"cudnn_norm_backend_config\":{\"epsilon\":0.001,\"kind\":"
                     "\"LAYER_FWD_TRAIN\"}}");
    for (int i = 0; i < 3; i++) {
        fill_random(op.values[i], &rng, 2);
    }
    struct literal *got = one_op_run(&op, eval_custom_call);
    mpfr_t mean, factor, y;
    init(mean);
    init(factor);
    init(y);
    for (int64_t row = 0; row < ROWS; row++) {
        moments(op.values[0], row, 0.001, mean, factor);
        check_rounded(mean, got->elements[1], row, "mean");
        check_rounded(factor, got->elements[2], row, "norm factor");
        for (int64_t i = 0; i < FEATURES; i++) {
            mpfr_d_sub(y, literal_get_double(op.values[0], row * FEATURES + i), mean, MPFR_RNDN);
            mpfr_mul(y, y, factor, MPFR_RNDN);
            mpfr_mul_d(y, y, literal_get_double(op.values[1], i), MPFR_RNDN);
            mpfr_add_d(y, y, literal_get_double(op.values[2], i), MPFR_RNDN);
            check_rounded(y, got->elements[0], row * FEATURES + i, "norm");
        }
    }
    mpfr_clears(mean, factor, y, (mpfr_ptr)0);
    literal_release(got);
    one_op_finish(&op);
}
END_TEST

/* Gradients by their definition: Σ dy ∂y, with mean and factor functions of x: by differences of
 * the forward pass in MPFR. */
START_TEST(test_norm_backward)
{
    struct one_op op;
    struct rng rng;
    rng_init(&rng, 2);
    one_op_init(&op, "x = f64[2,3,4] parameter(0)\ns = f64[1,3,4] parameter(1)\nd = f64[2,3,4] "
                     "parameter(2)\nm = f64[2,1,1] parameter(3)\nf = f64[2,1,1] parameter(4)\n"
                     "ROOT r = (f64[2,3,4], f64[1,3,4], f64[1,3,4], u8[4]) "
                     "custom-call(x, s, d, m, f), custom_call_target=\"__cudnn$norm\", "
                     "backend_config={\"cudnn_norm_backend_config\":{\"epsilon\":0.25,\"kind\":"
                     "\"LAYER_BWD\"}}");
    for (int i = 0; i < 3; i++) {
        fill_random(op.values[i], &rng, 1);
    }
    mpfr_t mean, factor, t, u, sum;
    init(mean);
    init(factor);
    init(t);
    init(u);
    init(sum);
    for (int64_t row = 0; row < ROWS; row++) {
        moments(op.values[0], row, 0.25, mean, factor);
        literal_set_double(op.values[3], row, mpfr_get_d(mean, MPFR_RNDN));
        literal_set_double(op.values[4], row, mpfr_get_d(factor, MPFR_RNDN));
    }
    struct literal *got = one_op_run(&op, eval_custom_call);
    /* dx: the derivative of Σ dy · scale · (x − mean) · factor by differences of 2^-100. */
    for (int64_t at = 0; at < ROWS * FEATURES; at++) {
        double derivative = 0;
        mpfr_t values[2];
        for (int side = 0; side < 2; side++) {
            int64_t row = at / FEATURES;
            mpfr_t x[FEATURES];
            init(values[side]);
            mpfr_set_zero(mean, 1);
            for (int64_t i = 0; i < FEATURES; i++) {
                init(x[i]);
                mpfr_set_d(x[i], literal_get_double(op.values[0], row * FEATURES + i), MPFR_RNDN);
                if (row * FEATURES + i == at) {
                    mpfr_add_d(x[i], x[i], side == 0 ? -0x1p-100 : 0x1p-100, MPFR_RNDN);
                }
                mpfr_add(mean, mean, x[i], MPFR_RNDN);
            }
            mpfr_div_ui(mean, mean, FEATURES, MPFR_RNDN);
            mpfr_set_zero(factor, 1);
            for (int64_t i = 0; i < FEATURES; i++) {
                mpfr_sub(t, x[i], mean, MPFR_RNDN);
                mpfr_sqr(t, t, MPFR_RNDN);
                mpfr_add(factor, factor, t, MPFR_RNDN);
            }
            mpfr_div_ui(factor, factor, FEATURES, MPFR_RNDN);
            mpfr_add_d(factor, factor, 0.25, MPFR_RNDN);
            mpfr_rec_sqrt(factor, factor, MPFR_RNDN);
            for (int64_t i = 0; i < FEATURES; i++) {
                mpfr_sub(t, x[i], mean, MPFR_RNDN);
                mpfr_mul(t, t, factor, MPFR_RNDN);
                mpfr_mul_d(t, t, literal_get_double(op.values[1], i), MPFR_RNDN);
                mpfr_mul_d(t, t, literal_get_double(op.values[2], row * FEATURES + i), MPFR_RNDN);
                mpfr_add(values[side], values[side], t, MPFR_RNDN);
                mpfr_clear(x[i]);
            }
        }
        mpfr_sub(t, values[1], values[0], MPFR_RNDN);
        mpfr_mul_2ui(t, t, 99, MPFR_RNDN);
        derivative = mpfr_get_d(t, MPFR_RNDN);
        mpfr_clears(values[0], values[1], (mpfr_ptr)0);
        ck_assert_double_eq_tol(literal_get_double(got->elements[0], at), derivative, 1e-14);
    }
    for (int64_t i = 0; i < FEATURES; i++) {
        mpfr_set_zero(sum, 1);
        mpfr_set_zero(u, 1);
        for (int64_t row = 0; row < ROWS; row++) {
            double dy = literal_get_double(op.values[2], row * FEATURES + i);
            mpfr_add_d(u, u, dy, MPFR_RNDN);
            mpfr_set_d(t, literal_get_double(op.values[0], row * FEATURES + i), MPFR_RNDN);
            mpfr_sub_d(t, t, literal_get_double(op.values[3], row), MPFR_RNDN);
            mpfr_mul_d(t, t, literal_get_double(op.values[4], row), MPFR_RNDN);
            mpfr_mul_d(t, t, dy, MPFR_RNDN);
            mpfr_add(sum, sum, t, MPFR_RNDN);
        }
        check_rounded(sum, got->elements[1], i, "dscale");
        check_rounded(u, got->elements[2], i, "dbias");
    }
    mpfr_clears(mean, factor, t, u, sum, (mpfr_ptr)0);
    literal_release(got);
    one_op_finish(&op);
}
END_TEST

/* Q: [2,2,3,4], K: [2,2,5,4], V: [2,2,5,6]; bias [1,2,3,5]. */
START_TEST(test_attention)
{
    static const char *const masks[] = {"NO_MASK", "CAUSAL", "PADDING", "PADDING_CAUSAL"};
    bool bias = _i % 2 == 1, padding = _i / 2 >= 2, causal = _i / 2 % 2 == 1;
    char body[2500];
    snprintf(body, sizeof body,
             "q = f16[2,2,3,4] parameter(0)\nk = f16[2,2,5,4] parameter(1)\n"
             "v = f16[2,2,5,6] parameter(2)\nb = f16[1,2,3,5] parameter(3)\n"
             "m = s32[2] parameter(4)\nn = s32[2] parameter(5)\n"
             "ROOT r = (f16[2,2,3,6], f32[2,2,3], u8[0]) custom-call(q, k, v%s%s), "
             "custom_call_target=\"__cudnn$fmha%sSoftmax\", "
             "backend_config={\"cudnn_fmha_backend_config\":{\"fmha_scale\":0.7,"
             "\"dropout_rate\":0,\"mask_type\":\"%s\",\"bmm1_dot_dimension_numbers\":{"
             "\"lhs_contracting_dimensions\":[\"3\"],\"rhs_contracting_dimensions\":[\"3\"],"
             "\"lhs_batch_dimensions\":[\"0\",\"1\"],\"rhs_batch_dimensions\":[\"0\",\"1\"]},"
             "\"bmm2_dot_dimension_numbers\":{\"lhs_contracting_dimensions\":[\"3\"],"
             "\"rhs_contracting_dimensions\":[\"2\"],\"lhs_batch_dimensions\":[\"0\",\"1\"],"
             "\"rhs_batch_dimensions\":[\"0\",\"1\"]}}}",
             bias ? ", b" : "", padding ? ", m, n" : "", bias ? "ScaleBias" : "", masks[_i / 2]);
    struct one_op op;
    struct rng rng;
    rng_init(&rng, (uint64_t)_i);
    one_op_init(&op, body);
    for (int i = 0; i < 3 + bias; i++) {
        fill_random(op.values[i], &rng, 1);
    }
    static const int64_t query_sizes[] = {3, 2}, key_sizes[] = {4, 5};
    for (int i = 0; padding && i < 2; i++) {
        literal_set_int(op.values[3 + bias], i, query_sizes[i]);
        literal_set_int(op.values[4 + bias], i, key_sizes[i]);
    }
    struct literal *got = one_op_run(&op, eval_custom_call);
    mpfr_t scores[5], sum, value, t;
    init(sum);
    init(value);
    init(t);
    for (int64_t row = 0; row < 12; row++) { /* batch, head, query */
        int64_t batch = row / 6, head = row / 3 % 2, query = row % 3;
        int64_t last = padding ? key_sizes[batch] : 5;
        last = causal && query + 1 < last ? query + 1 : last;
        mpfr_set_zero(sum, 1);
        for (int64_t k = 0; k < last; k++) {
            init(scores[k]);
            for (int64_t d = 0; d < 4; d++) {
                reference_add(
                    scores[k], literal_get_double(op.values[0], row * 4 + d),
                    literal_get_double(op.values[1], ((batch * 2 + head) * 5 + k) * 4 + d));
            }
            mpfr_mul_d(scores[k], scores[k], 0.7, MPFR_RNDN);
            if (bias) {
                reference_add(scores[k],
                              literal_get_double(op.values[3], (head * 3 + query) * 5 + k), 1);
            }
            mpfr_exp(scores[k], scores[k], MPFR_RNDN);
            mpfr_add(sum, sum, scores[k], MPFR_RNDN);
        }
        bool open = padding && query >= query_sizes[batch];
        ck_assert_int_eq(literal_is_unspecified(got->elements[1], row), open);
        mpfr_log(t, sum, MPFR_RNDN);
        check_rounded(t, got->elements[1], row, "log of sum");
        for (int64_t d = 0; d < 6; d++) {
            mpfr_set_zero(value, 1);
            for (int64_t k = 0; k < last; k++) {
                mpfr_mul_d(t, scores[k],
                           literal_get_double(op.values[2], ((batch * 2 + head) * 5 + k) * 6 + d),
                           MPFR_RNDN);
                mpfr_add(value, value, t, MPFR_RNDN);
            }
            mpfr_div(value, value, sum, MPFR_RNDN);
            check_rounded(value, got->elements[0], row * 6 + d, "attention");
            ck_assert_int_eq(literal_is_unspecified(got->elements[0], row * 6 + d), open);
        }
        for (int64_t k = 0; k < last; k++) {
            mpfr_clear(scores[k]);
        }
    }
    mpfr_clears(sum, value, t, (mpfr_ptr)0);
    literal_release(got);
    one_op_finish(&op);
}
END_TEST

static const struct {
    const char *body, *word;
} refused[] = {
    {"ROOT r = f32[2,3] custom-call(a), custom_call_target=\"__onednn$softmax\", "
     "backend_config={\"onednn_softmax_config\":{\"softmax_axis\":2}}",
     "along 2"},
    {"ROOT r = f32[2,3] custom-call(a), custom_call_target=\"__onednn$softmax\", "
     "backend_config={\"onednn_softmax_config\":{\"softmax_axis\":-1}}",
     "along -1"},
    {"ROOT r = (f32[2,3], u8[0]) custom-call(a, a, a), custom_call_target=\"__cudnn$norm\", "
     "backend_config={\"cudnn_norm_backend_config\":{\"kind\":\"SPIN\"}}",
     "unknown kind SPIN"},
    {"ROOT r = (f32[2,3], u8[0]) custom-call(a, a), custom_call_target=\"__cudnn$norm\"",
     "do not fit"},
    {"ROOT r = (f32[2,3], u8[0]) custom-call(a, a, a), "
     "custom_call_target=\"__cudnn$fmhaSoftmax\", backend_config={\"cudnn_fmha_backend_config\":{"
     "\"dropout_rate\":0.1}}",
     "dropout"},
    {"ROOT r = (f32[2,3], u8[0]) custom-call(a, a, a), "
     "custom_call_target=\"__cudnn$fmhaSoftmax\"",
     "bmm1_dot_dimension_numbers"},
    {"ROOT r = (f32[2,3], u8[0]) custom-call(a, a, a), "
     "custom_call_target=\"__cudnn$fmhaSoftmaxBackward\"",
     "not covered"},
};

START_TEST(test_refused)
{
    char body[1000];
    snprintf(body, sizeof body, "a = f32[2,3] parameter(0)\n%s", refused[_i].body);
    struct one_op op;
    struct error err = {0};
    one_op_init(&op, body);
    ck_assert_ptr_null(one_op_try(&op, eval_custom_call, FIDELITY_EXACT, &err));
    ck_assert_int_eq(err.code, ERROR_UNIMPLEMENTED);
    ck_assert_msg(strstr(err.message, refused[_i].word) != NULL, "%s", err.message);
    one_op_finish(&op);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interp_custom_call_norm");
    TCase *tests = tcase_create("norm");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_loop_test(tests, test_softmax, 0, 9);
    tcase_add_test(tests, test_norm_forward);
    tcase_add_test(tests, test_norm_backward);
    tcase_add_loop_test(tests, test_attention, 0, 8);
    tcase_add_loop_test(tests, test_refused, 0, sizeof refused / sizeof *refused);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
