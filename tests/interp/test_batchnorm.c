/* batch-norm-training, -inference and -grad against their definition in MPFR, also on and next to
 * rounding boundaries and at the ends of the range, and near
 * values of XLA's CPU. */
#include "one_op.h"

static struct rng rng;
static mpfr_prec_t precision = 300;
static double epsilon = 0.001f;
enum { OUTER = 2, FEATURES = 3, INNER = 4, COUNT = OUTER * INNER };

static void setup(void)
{
    rng_init(&rng, 53);
    pool_set_threads(2);
}

/* --- a little MPFR arithmetic: results in the first argument --- */

struct scratch {
    mpfr_t mean, variance, inverse, n, scale_sum, offset_sum, t, u;
};

static void scratch_init(struct scratch *s)
{
    mpfr_inits2(precision, s->mean, s->variance, s->inverse, s->n, s->scale_sum, s->offset_sum,
                s->t, s->u, (mpfr_ptr)NULL);
    mpfr_set_si(s->n, COUNT, MPFR_RNDN);
}

static void scratch_finish(struct scratch *s)
{
    mpfr_clears(s->mean, s->variance, s->inverse, s->n, s->scale_sum, s->offset_sum, s->t, s->u,
                (mpfr_ptr)NULL);
}

static int64_t place_of(int64_t feature, int64_t i)
{
    return (i / INNER * FEATURES + feature) * INNER + i % INNER;
}

/* t = x[i] − mean */
static void deviation(struct scratch *s, const struct literal *x, int64_t feature, int64_t i)
{
    mpfr_set_d(s->t, literal_get_double(x, place_of(feature, i)), MPFR_RNDN);
    mpfr_sub(s->t, s->t, s->mean, MPFR_RNDN);
}

static void moments(struct scratch *s, const struct literal *x, int64_t feature)
{
    mpfr_set_zero(s->u, 1);
    for (int64_t i = 0; i < COUNT; i++) {
        mpfr_add_d(s->u, s->u, literal_get_double(x, place_of(feature, i)), MPFR_RNDN);
    }
    mpfr_div(s->mean, s->u, s->n, MPFR_RNDN);
    mpfr_set_zero(s->variance, 1);
    for (int64_t i = 0; i < COUNT; i++) {
        deviation(s, x, feature, i);
        mpfr_sqr(s->t, s->t, MPFR_RNDN);
        mpfr_add(s->variance, s->variance, s->t, MPFR_RNDN);
    }
    mpfr_div(s->variance, s->variance, s->n, MPFR_RNDN);
}

/* inverse = 1 / √(variance + epsilon) */
static void invert(struct scratch *s)
{
    mpfr_add_d(s->inverse, s->variance, epsilon, MPFR_RNDN);
    mpfr_rec_sqrt(s->inverse, s->inverse, MPFR_RNDN);
}

static void check_normalized(struct scratch *s, const struct one_op *op,
                             const struct literal *result, int64_t feature)
{
    invert(s);
    for (int64_t i = 0; i < COUNT; i++) {
        deviation(s, op->values[0], feature, i);
        mpfr_mul(s->t, s->t, s->inverse, MPFR_RNDN);
        mpfr_mul_d(s->t, s->t, literal_get_double(op->values[1], feature), MPFR_RNDN);
        mpfr_add_d(s->t, s->t, literal_get_double(op->values[2], feature), MPFR_RNDN);
        check_nearest(result, place_of(feature, i), 0, s->t);
    }
}

static void fill_variances(struct literal *variances)
{
    for (int64_t i = 0; i < FEATURES; i++) {
        literal_set_double(variances, i, rng_uniform(&rng));
    }
}

static const char *const types[] = {"f32", "f64", "bf16"};

/* The text with every T replaced by the type. */
static void init_with_type(struct one_op *op, const char *type, const char *body)
{
    char text[1024], *out = text;
    for (; *body != '\0'; body++) {
        if (body[0] == 'T' && body[1] == '[') {
            out += sprintf(out, "%s", type);
        } else {
            *out++ = *body;
        }
    }
    *out = '\0';
    one_op_init(op, text);
}

START_TEST(test_training)
{
    struct one_op op;
    init_with_type(&op, types[_i],
                   "x = T[2,3,4] parameter(0)\ns = T[3] parameter(1)\no = T[3] parameter(2)\n"
                   "ROOT r = (T[2,3,4], T[3], T[3]) batch-norm-training(x, s, o), epsilon=0.001, "
                   "feature_index=1");
    for (int i = 0; i < 3; i++) {
        fill_random(op.values[i], &rng, 3);
    }
    struct literal *result = one_op_run(&op, eval_batch_norm_training);
    struct scratch s;
    scratch_init(&s);
    for (int64_t feature = 0; feature < FEATURES; feature++) {
        moments(&s, op.values[0], feature);
        check_nearest(result->elements[1], feature, 0, s.mean);
        check_nearest(result->elements[2], feature, 0, s.variance);
        check_normalized(&s, &op, result->elements[0], feature);
    }
    scratch_finish(&s);
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

START_TEST(test_inference)
{
    struct one_op op;
    init_with_type(&op, types[_i],
                   "x = T[2,3,4] parameter(0)\ns = T[3] parameter(1)\no = T[3] parameter(2)\n"
                   "m = T[3] parameter(3)\nv = T[3] parameter(4)\n"
                   "ROOT r = T[2,3,4] batch-norm-inference(x, s, o, m, v), epsilon=0.001, "
                   "feature_index=1");
    for (int i = 0; i < 4; i++) {
        fill_random(op.values[i], &rng, 3);
    }
    fill_variances(op.values[4]);
    struct literal *result = one_op_run(&op, eval_batch_norm_inference);
    struct scratch s;
    scratch_init(&s);
    for (int64_t feature = 0; feature < FEATURES; feature++) {
        mpfr_set_d(s.mean, literal_get_double(op.values[3], feature), MPFR_RNDN);
        mpfr_set_d(s.variance, literal_get_double(op.values[4], feature), MPFR_RNDN);
        check_normalized(&s, &op, result, feature);
    }
    scratch_finish(&s);
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

START_TEST(test_gradient)
{
    struct one_op op;
    init_with_type(&op, types[_i],
                   "x = T[2,3,4] parameter(0)\ns = T[3] parameter(1)\nm = T[3] parameter(2)\n"
                   "v = T[3] parameter(3)\ng = T[2,3,4] parameter(4)\n"
                   "ROOT r = (T[2,3,4], T[3], T[3]) batch-norm-grad(x, s, m, v, g), "
                   "epsilon=0.001, feature_index=1");
    for (int i = 0; i < 5; i++) {
        fill_random(op.values[i], &rng, 3);
    }
    fill_variances(op.values[3]);
    struct literal *result = one_op_run(&op, eval_batch_norm_grad);
    struct scratch s;
    scratch_init(&s);
    for (int64_t feature = 0; feature < FEATURES; feature++) {
        mpfr_set_d(s.mean, literal_get_double(op.values[2], feature), MPFR_RNDN);
        mpfr_set_d(s.variance, literal_get_double(op.values[3], feature), MPFR_RNDN);
        invert(&s);
        mpfr_set_zero(s.offset_sum, 1);
        mpfr_set_zero(s.scale_sum, 1);
        for (int64_t i = 0; i < COUNT; i++) {
            double gradient = literal_get_double(op.values[4], place_of(feature, i));
            deviation(&s, op.values[0], feature, i);
            mpfr_mul_d(s.t, s.t, gradient, MPFR_RNDN);
            mpfr_add(s.scale_sum, s.scale_sum, s.t, MPFR_RNDN);
            mpfr_add_d(s.offset_sum, s.offset_sum, gradient, MPFR_RNDN);
        }
        mpfr_mul(s.scale_sum, s.scale_sum, s.inverse, MPFR_RNDN);
        check_nearest(result->elements[1], feature, 0, s.scale_sum);
        check_nearest(result->elements[2], feature, 0, s.offset_sum);
        for (int64_t i = 0; i < COUNT; i++) {
            /* scale inverse (dy − Σdy / n − deviation inverse scale_sum / n) */
            deviation(&s, op.values[0], feature, i);
            mpfr_mul(s.t, s.t, s.inverse, MPFR_RNDN);
            mpfr_mul(s.t, s.t, s.scale_sum, MPFR_RNDN);
            mpfr_add(s.t, s.t, s.offset_sum, MPFR_RNDN);
            mpfr_div(s.t, s.t, s.n, MPFR_RNDN);
            mpfr_d_sub(s.t, literal_get_double(op.values[4], place_of(feature, i)), s.t, MPFR_RNDN);
            mpfr_mul(s.t, s.t, s.inverse, MPFR_RNDN);
            mpfr_mul_d(s.t, s.t, literal_get_double(op.values[1], feature), MPFR_RNDN);
            check_nearest(result->elements[0], place_of(feature, i), 0, s.t);
        }
    }
    scratch_finish(&s);
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

/* x = i^1.5 in f32, dy = cos(i): mean, variance and gradients as jaxlib 0.10.2 computed them on CPU
 * (in f32, so they are only near). */
START_TEST(test_as_xla)
{
    static const double mean[] = {25.992992401123047, 43.209617614746094, 64.6128921508789};
    static const double variance[] = {584.3643188476562, 938.928955078125, 1281.17431640625};
    static const double scale_gradient[] = {0.08454761654138565, 0.055089935660362244,
                                            -0.06068394333124161};
    static const double first_gradients[] = {0.03530909866094589, 0.016274530440568924,
                                             -0.023324308916926384, -0.047105614095926285};
    static const double scale[] = {1, 2, 0.5};
    struct one_op op;
    one_op_init(&op, "x = f32[2,3,4] parameter(0)\ns = f32[3] parameter(1)\n"
                     "m = f32[3] parameter(2)\nv = f32[3] parameter(3)\n"
                     "g = f32[2,3,4] parameter(4)\n"
                     "ROOT r = (f32[2,3,4], f32[3], f32[3]) batch-norm-grad(x, s, m, v, g), "
                     "epsilon=0.001, feature_index=1");
    for (int i = 0; i < 24; i++) {
        literal_set_double(op.values[0], i, pow(i, 1.5));
        literal_set_double(op.values[4], i, cos(i));
    }
    for (int i = 0; i < 3; i++) {
        literal_set_double(op.values[1], i, scale[i]);
        literal_set_double(op.values[2], i, mean[i]);
        literal_set_double(op.values[3], i, variance[i]);
    }
    struct literal *result = one_op_run(&op, eval_batch_norm_grad);
    for (int i = 0; i < 3; i++) {
        ck_assert_double_eq_tol(literal_get_double(result->elements[1], i), scale_gradient[i],
                                1e-6);
    }
    for (int i = 0; i < 4; i++) {
        ck_assert_double_eq_tol(literal_get_double(result->elements[0], i), first_gradients[i],
                                1e-7);
    }
    struct scratch s;
    scratch_init(&s);
    for (int i = 0; i < 3; i++) {
        moments(&s, op.values[0], i);
        ck_assert_double_eq_tol(mpfr_get_d(s.mean, MPFR_RNDN), mean[i], 1e-5);
        ck_assert_double_eq_tol(mpfr_get_d(s.variance, MPFR_RNDN), variance[i], 1e-3);
    }
    scratch_finish(&s);
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

/* y of one inference with N = 1: (x − mean) * scale / √(variance + ε) + offset. */
static double infer_one(const char *type, double x, double scale, double offset, double mean,
                        double variance, const char *epsilon)
{
    char body[512];
    const double operands[] = {x, scale, offset, mean, variance};
    snprintf(body, sizeof body,
             "x = %s[1,1] parameter(0)\ns = %s[1] parameter(1)\no = %s[1] parameter(2)\n"
             "m = %s[1] parameter(3)\nv = %s[1] parameter(4)\n"
             "ROOT r = %s[1,1] batch-norm-inference(x, s, o, m, v), epsilon=%s, feature_index=1",
             type, type, type, type, type, type, epsilon);
    struct one_op op;
    one_op_init(&op, body);
    for (int i = 0; i < 5; i++) {
        literal_set_double(op.values[i], 0, operands[i]);
    }
    struct literal *result = one_op_run(&op, eval_batch_norm_inference);
    double y = literal_get_double(result, 0);
    literal_release(result);
    one_op_finish(&op);
    return y;
}

/* Known by construction: on a tie, next to it, zero, the ends of the range, IEEE's special values.
 */
START_TEST(test_inference_boundaries)
{
    ck_assert(infer_one("f32", 3, 2, 0x1p24, 1, 3, "1") == 0x1p24 + 2);
    ck_assert(infer_one("f32", 1, 2, 0x1p24, 0, 3, "1") == 0x1p24);
    ck_assert(infer_one("f32", 1, 2, 0x1p24, -0x1p-100, 3, "1") == 0x1p24 + 2);
    ck_assert(infer_one("f32", 1, 2, 0x1p24, 0x1p-100, 3, "1") == 0x1p24);
    ck_assert(infer_one("f64", 1, 1, 0x1p53, -0x1p-1000, 1, "0") == 0x1p53 + 2);
    double zero = infer_one("f32", 3, 2, -3, 0, 3, "1");
    ck_assert(zero == 0 && !signbit(zero));
    ck_assert(infer_one("f64", 0x1p1023, 2, -0x1p1023, -0x1p1023, 4, "0") == 0x1p1023);
    ck_assert(infer_one("f64", 0x1p1023, 4, -0x1p1023, -0x1p1023, 4, "0") == INFINITY);
    ck_assert(infer_one("f64", 5e-324, 1, 0, 0, 4, "0") == 0);
    ck_assert(infer_one("f64", 5e-324, 1, 0, -5e-324, 4, "0") == 5e-324);
    ck_assert(infer_one("f32", 2, 1, 5, 1, 0, "0") == INFINITY);
    ck_assert(isnan(infer_one("f32", 1, 1, 5, 1, 0, "0")));
    ck_assert(isnan(infer_one("f32", 1, 1, 5, 1, -4, "0")));
    ck_assert(infer_one("f32", -INFINITY, 1, 5, 1, 4, "0") == -INFINITY);
}
END_TEST

/* Training on values whose mean is on a tie, that are all alike, that differ by little, at the ends
 * of the range. */
START_TEST(test_training_boundaries)
{
    static const double edges[][COUNT] = {
        {1, 0x1p24 + 2, 0x1p24, 0x1p24, 0x1p24, 0x1p24, 0x1p24 + 2, 0x1p24 - 1},
        {0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1},
        {1, 1, 1, 1, 1, 1, 1, 1.0000001},
        {0x1.8p120, -0x1.8p127, 0x1.8p127, 1, -1, 0x1p-149, 0, 3},
        {0x1p-149, 0x1p-148, 0, 0, 0, 0, 0x1p-140, -0x1p-149},
        {1, -1, 2, -2, 3, -3, 4, -4},
    };
    static const char *const epsilons[] = {"0", "0.001"};
    for (size_t e = 0; e < 2; e++) {
        for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
            for (int wide = 0; wide < 2; wide++) {
                char body[512];
                const char *type = wide ? "f64" : "f32";
                struct one_op op;
                snprintf(body, sizeof body,
                         "x = %s[2,3,4] parameter(0)\ns = %s[3] parameter(1)\n"
                         "o = %s[3] parameter(2)\nROOT r = (%s[2,3,4], %s[3], %s[3]) "
                         "batch-norm-training(x, s, o), epsilon=%s, feature_index=1",
                         type, type, type, type, type, type, epsilons[e]);
                one_op_init(&op, body);
                for (int64_t feature = 0; feature < FEATURES; feature++) {
                    for (int64_t k = 0; k < COUNT; k++) {
                        double value = ldexp(edges[i][k], wide && feature == 1   ? 400
                                                          : wide && feature == 2 ? -900
                                                                                 : 0);
                        literal_set_double(op.values[0], place_of(feature, k), value);
                    }
                    literal_set_double(op.values[1], feature, 1 + (double)feature / 3);
                    literal_set_double(op.values[2], feature, (double)feature);
                }
                struct literal *result = one_op_run(&op, eval_batch_norm_training);
                struct scratch s;
                precision = 5000;
                scratch_init(&s);
                epsilon = e == 0 ? 0 : 0.001f;
                for (int64_t feature = 0; feature < FEATURES; feature++) {
                    moments(&s, op.values[0], feature);
                    check_nearest(result->elements[1], feature, 0, s.mean);
                    check_nearest(result->elements[2], feature, 0, s.variance);
                    check_normalized(&s, &op, result->elements[0], feature);
                }
                scratch_finish(&s);
                literal_release(result);
                one_op_finish(&op);
            }
        }
    }
}
END_TEST

START_TEST(test_unspecified_and_nan)
{
    struct one_op op;
    one_op_init(&op, "x = f32[2,3,4] parameter(0)\ns = f32[3] parameter(1)\n"
                     "o = f32[3] parameter(2)\n"
                     "ROOT r = (f32[2,3,4], f32[3], f32[3]) batch-norm-training(x, s, o), "
                     "epsilon=0.001, feature_index=1");
    fill_random(op.values[0], &rng, 1);
    literal_set_double(op.values[0], place_of(0, 3), INFINITY);
    literal_mark_unspecified(op.values[0], place_of(2, 5));
    struct literal *result = one_op_run(&op, eval_batch_norm_training);
    for (int64_t feature = 0; feature < FEATURES; feature++) {
        for (int64_t i = 0; i < COUNT; i++) {
            int64_t place = place_of(feature, i);
            ck_assert_int_eq(isnan(literal_get_double(result->elements[0], place)) != 0,
                             feature == 0);
            ck_assert_int_eq(literal_is_unspecified(result->elements[0], place), feature == 2);
        }
        ck_assert_int_eq(literal_is_unspecified(result->elements[1], feature), feature == 2);
    }
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interp_batchnorm");
    TCase *tests = tcase_create("batchnorm");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_loop_test(tests, test_training, 0, 3);
    tcase_add_loop_test(tests, test_inference, 0, 3);
    tcase_add_loop_test(tests, test_gradient, 0, 3);
    tcase_add_test(tests, test_as_xla);
    tcase_add_test(tests, test_inference_boundaries);
    tcase_add_test(tests, test_training_boundaries);
    tcase_add_test(tests, test_unspecified_and_nan);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
