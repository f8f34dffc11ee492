/* Correctly rounded real functions against MPFR: all inputs of 16- and 8-bit types, samples and
 * hard cases of f32 and f64; every vector level gives the same bits; the kernels keep their error
 * bound. */
#include <stdlib.h>

#include "hlo/base/rng.h"
#include "hlo/floats.h"
#include "hlo/vector.h"
#include "interp/exact.h"
#include "interp/exact_kernels.h"
#include "tests/interp/exact_reference.h"

static const char *const names[] = {
#define EXACT(id, name) #name,
#include "interp/exact.def"
};

/* 1 / (1 + exp(−x)) with enough bits that the last rounding is all that is left. */
static int mpfr_logistic(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t round)
{
    mpfr_t value;
    mpfr_exp_t least = mpfr_get_emin(), most = mpfr_get_emax();
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
    mpfr_init2(value, 400);
    mpfr_neg(value, x, MPFR_RNDN);
    mpfr_exp(value, value, MPFR_RNDN);
    mpfr_add_ui(value, value, 1, MPFR_RNDN);
    mpfr_ui_div(value, 1, value, MPFR_RNDN);
    int inexact = mpfr_set(out, value, round);
    mpfr_clear(value);
    mpfr_set_emin(least);
    mpfr_set_emax(most);
    return inexact;
}
/* IEEE 754 rSqrt(−0) is −∞. */
static int mpfr_rsqrt(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t round)
{
    int inexact = mpfr_rec_sqrt(out, x, round);
    if (mpfr_zero_p(x)) {
        mpfr_set_inf(out, mpfr_signbit(x) ? -1 : 1);
    }
    return inexact;
}

static int (*const references[])(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t) = {
#define EXACT(id, name) mpfr_##name,
#include "interp/exact.def"
};

static double reference(const struct reference_format *format, int function, double x)
{
    mpfr_t in, value;
    mpfr_init2(in, 53);
    mpfr_set_d(in, x, MPFR_RNDN);
    reference_begin(format, value);
    int inexact = references[function](value, in, MPFR_RNDN);
    mpfr_clear(in);
    return reference_end(value, inexact);
}

static void check_values(const struct reference_format *format, int function, const double *in,
                         int64_t count)
{
    double *out = malloc((size_t)count * sizeof(double));
    exact_unary((enum exact_function)function, format->type, in, out, count);
    for (int64_t i = 0; i < count; i++) {
        double want = reference(format, function, in[i]);
        REQUIRE(same(out[i], want), "%s %s(%a) = %a, not %a", type_text(format->type),
                names[function], in[i], out[i], want);
    }
    free(out);
}

/* Every element of a type of at most 16 bits. */
static int64_t all_values(enum type type, double *values)
{
    const int64_t count = (int64_t)1 << type_bits(type);
    for (int64_t i = 0; i < count; i++) {
        values[i] = float_to_double(type, (uint64_t)i);
    }
    return count;
}

static void check_all(const struct reference_format *format, int function)
{
    static double values[1 << 16];
    int64_t count = all_values(format->type, values);
    check_values(format, function, values, count);
}

START_TEST(test_all_f16)
{
    check_all(&reference_f16, _i);
}
END_TEST

START_TEST(test_all_bf16)
{
    check_all(&reference_bf16, _i);
}
END_TEST

START_TEST(test_all_f8)
{
    check_all(&reference_f8e5m2, _i);
    /* The other 8-bit and smaller formats: f32 has the bits to round their results again, except
     * near ties, and f32's own results are tested below; so compare where f32 is not near one. */
    static const enum type types[] = {TYPE_F8E4M3FN,   TYPE_F8E4M3,   TYPE_F8E3M4,
                                      TYPE_F8E5M2FNUZ, TYPE_F4E2M1FN, TYPE_F6E3M2FN,
                                      TYPE_F8E4M3FNUZ, TYPE_F8E8M0FNU};
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
        double in[256], out[256];
        int64_t count = all_values(types[t], in);
        exact_unary((enum exact_function)_i, types[t], in, out, count);
        for (int64_t i = 0; i < count; i++) {
            double fine = reference(&reference_f64, _i, in[i]);
            fine = isnan(fine) ? NAN : fine;
            double low = float_round(types[t], fine - fine * 0x1p-40);
            double high = float_round(types[t], fine + fine * 0x1p-40);
            /* e8m0 has no zero: where f64 underflows, its least power is the nearest. */
            if (same(low, high) && (fine != 0 || types[t] != TYPE_F8E8M0FNU)) {
                REQUIRE(same(out[i], low), "%s %s(%a) = %a, not %a", type_text(types[t]), names[_i],
                        in[i], out[i], low);
            }
        }
    }
}
END_TEST

/* f32 arguments where kernels change their ways, results near ties, overflow and underflow. */
static int64_t f32_arguments(double *in, int samples)
{
    static const double hard[] = {
        0,
        0x1p-149,
        0x1.fffffcp-127,
        0x1p-126,
        0x1p-25,
        0x1p-24,
        0x1p-23,
        0x1.8p-23,
        0x1.4p-22,
        0x1p-12,
        0x1.000002p-12,
        0x1.fffffep-13,
        0.25,
        0.3465735912,
        0.34657359,
        0.5,
        0.70710678,
        0.70710684,
        1,
        0x1.fffffep-1,
        0x1.000002p0,
        1.4142135,
        1.4142137,
        1.5707963,
        1.5707964,
        3,
        3.1415925,
        3.1415927,
        3.8325068,
        3.8325071,
        3.99,
        4,
        4.0000005,
        9.0109130,
        9.010914,
        10.05,
        10.06,
        16.635532,
        17,
        22,
        22.1,
        87.336544,
        88.72283,
        88.722839,
        88.722847,
        89.41598,
        89.5,
        103.278,
        103.9720764,
        103.97208,
        104,
        700,
        701,
        16777216,
        0x1p20,
        0x1.fffffep19,
        0x1.000002p20,
        0x1p40,
        0x1.fffffep127,
        1e30,
        33.0,
        1e10,
        0x1.99999ap-4,
        INFINITY,
        NAN,
        255,
    };
    int64_t count = 0;
    for (size_t i = 0; i < sizeof(hard) / sizeof(hard[0]); i++) {
        in[count++] = (double)(float)hard[i];
        in[count++] = -(double)(float)hard[i];
    }
    /* Multiples of a quarter of π and of log(2), as near as f32 comes. */
    for (int i = 1; i < 100; i++) {
        in[count++] = (double)(float)(i * 0.78539816339744830962);
        in[count++] = (double)(float)(i * -0.34657359027997265471);
        in[count++] = (double)(float)(i * 52706.5); /* far from 0, near a multiple of π/2 or not */
    }
    /* logistic of an odd multiple of 2^-23 is next to a tie; exp and expm1 near 0. */
    for (int i = 1; i < 64; i += 2) {
        in[count++] = i * 0x1p-23;
        in[count++] = -i * 0x1p-24;
    }
    struct rng rng;
    rng_init(&rng, 7);
    for (int i = 0; i < samples; i++) {
        float value = 0;
        if (i % 2 == 0) {
            uint32_t bits = (uint32_t)rng_next(&rng);
            memcpy(&value, &bits, sizeof(value));
        } else {
            value = (float)((rng_uniform(&rng) - 0.5) * ldexp(1, (int)rng_below(&rng, 9)));
        }
        in[count++] = (double)value;
    }
    return count;
}

enum { SAMPLES = 16000, ARGUMENTS = SAMPLES + 1000 };

START_TEST(test_f32)
{
    static double in[ARGUMENTS];
    int64_t count = f32_arguments(in, SAMPLES);
    check_values(&reference_f32, _i, in, count);
}
END_TEST

START_TEST(test_f64)
{
    static double in[ARGUMENTS];
    int64_t count = f32_arguments(in, 200);
    struct rng rng;
    rng_init(&rng, 8);
    for (int i = 0; i < 1200; i++) {
        uint64_t bits = rng_next(&rng);
        double value;
        memcpy(&value, &bits, sizeof(value));
        in[count++] =
            i % 3 == 0 ? value : (rng_uniform(&rng) - 0.5) * ldexp(1, (int)rng_below(&rng, 12));
    }
    const double limits[] = {709.78271289338397,
                             709.782712893384,
                             745.1332191019411,
                             745.13321910194122,
                             710.4758600739439,
                             5e-324,
                             0x1p-1022,
                             1e-300,
                             36.7368005696771,
                             37.5,
                             5.9215871957945083,
                             26.5,
                             27.3};
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        in[count++] = limits[i];
        in[count++] = -limits[i];
    }
    if (_i == EXACT_LOGISTIC) { /* the reference above has 400 bits */
        for (int64_t i = 0; i < count; i++) {
            in[i] = fabs(in[i]) > 200 ? copysign(200, in[i]) : in[i];
        }
    }
    check_values(&reference_f64, _i, in, count);
}
END_TEST

/* Each level's kernels: what they call decided is what exact_unary gives, for f32 and bf16. */
START_TEST(test_levels)
{
    static double in[ARGUMENTS + EXACT_BLOCK], want[ARGUMENTS + EXACT_BLOCK];
    static const enum type types[] = {TYPE_F32, TYPE_F16, TYPE_F8E4M3FN, TYPE_F4E2M1FN};
    const struct exact_kernels *levels[] = {&exact_kernels_level0,
#ifdef __x86_64__
                                            &exact_kernels_level2, &exact_kernels_level3
#endif
    };
    const int numbers[] = {0, 2, 3};
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
        int64_t count = f32_arguments(in, SAMPLES);
        for (int64_t i = 0; i < count; i++) {
            in[i] = float_round(types[t], in[i]);
        }
        const struct float_layout *layout = types[t] == TYPE_F32 ? NULL : float_layout(types[t]);
        exact_unary((enum exact_function)_i, types[t], in, want, count);
        for (size_t l = 0; l < sizeof(levels) / sizeof(levels[0]); l++) {
            if (numbers[l] > vector_level() || levels[l]->blocks[_i] == NULL) {
                continue;
            }
            int64_t open_count = 0;
            for (int64_t i = 0; i + EXACT_BLOCK <= count; i += EXACT_BLOCK) {
                double out[EXACT_BLOCK];
                uint64_t open = levels[l]->blocks[_i](layout, in + i, out);
                open_count += __builtin_popcountll(open);
                for (int k = 0; k < EXACT_BLOCK; k++) {
                    REQUIRE((open >> k & 1) != 0 || same(out[k], want[i + k]),
                            "level %d %s %s(%a) = %a, not %a", numbers[l], type_text(types[t]),
                            names[_i], in[i + k], out[k], want[i + k]);
                }
            }
            REQUIRE(open_count < count, "%s leaves everything open", names[_i]);
        }
    }
}
END_TEST

/* The error of the kernels' values, against MPFR with 100 bits. */
START_TEST(test_kernel_error)
{
    static double in[ARGUMENTS + EXACT_BLOCK];
    const struct exact_kernels *levels[] = {&exact_kernels_level0, exact_kernels_here()};
    double worst = 0, where = 0;
    mpfr_t x, exact, error;
    mpfr_init2(x, 53);
    mpfr_init2(exact, 100);
    mpfr_init2(error, 53);
    for (int l = 0; l < 2 && levels[l]->raw[_i] != NULL; l++) {
        int64_t count = f32_arguments(in, SAMPLES);
        for (int64_t i = 0; i + EXACT_BLOCK <= count; i += EXACT_BLOCK) {
            double out[EXACT_BLOCK];
            levels[l]->raw[_i](in + i, out);
            for (int k = 0; k < EXACT_BLOCK; k++) {
                mpfr_set_d(x, in[i + k], MPFR_RNDN);
                references[_i](exact, x, MPFR_RNDN);
                double value = mpfr_get_d(exact, MPFR_RNDN);
                if (isnan(out[k]) || isinf(value) || fabs(value) < 0x1p-150 ||
                    fabs(value) > 0x1p130 || (_i == EXACT_ERF && fabs(in[i + k]) > 4)) {
                    continue; /* left to others, or rounds the same whatever it is */
                }
                mpfr_d_sub(error, out[k], exact, MPFR_RNDN);
                mpfr_div(error, error, exact, MPFR_RNDN);
                double size = fabs(mpfr_get_d(error, MPFR_RNDN));
                if (size > worst) {
                    worst = size;
                    where = in[i + k];
                }
            }
        }
    }
    mpfr_clears(x, exact, error, (mpfr_ptr)0);
    REQUIRE(worst <= EXACT_KERNEL_SLACK / 4, "%s: relative error 2^%.2f at %a", names[_i],
            log2(worst), where);
}
END_TEST

/* C99 Annex F, F.9: limits and signs of zero. */
START_TEST(test_limits)
{
    static const struct {
        enum exact_function function;
        double x, value;
    } cases[] = {
        {EXACT_ACOS, 1, 0.0},
        {EXACT_ACOS, 2, NAN},
        {EXACT_ACOSH, 1, 0.0},
        {EXACT_ACOSH, 0, NAN},
        {EXACT_ASIN, -0.0, -0.0},
        {EXACT_ASINH, -INFINITY, -INFINITY},
        {EXACT_ATANH, 1, INFINITY},
        {EXACT_ATANH, -1, -INFINITY},
        {EXACT_ATANH, -0.0, -0.0},
        {EXACT_CBRT, -INFINITY, -INFINITY},
        {EXACT_CBRT, -27, -3},
        {EXACT_COS, INFINITY, NAN},
        {EXACT_COSH, -INFINITY, INFINITY},
        {EXACT_ERF, -INFINITY, -1},
        {EXACT_ERF, -0.0, -0.0},
        {EXACT_ERFC, INFINITY, 0.0},
        {EXACT_ERFC, -INFINITY, 2},
        {EXACT_EXP, -INFINITY, 0.0},
        {EXACT_EXP, -0.0, 1},
        {EXACT_EXPM1, -INFINITY, -1},
        {EXACT_EXPM1, -0.0, -0.0},
        {EXACT_LOG, 0, -INFINITY},
        {EXACT_LOG, -0.0, -INFINITY},
        {EXACT_LOG, -1, NAN},
        {EXACT_LOG, 1, 0.0},
        {EXACT_LOG, INFINITY, INFINITY},
        {EXACT_LOG1P, -1, -INFINITY},
        {EXACT_LOG1P, -0.0, -0.0},
        {EXACT_LOG1P, -2, NAN},
        {EXACT_LOGISTIC, -INFINITY, 0.0},
        {EXACT_LOGISTIC, INFINITY, 1},
        {EXACT_RSQRT, 0.0, INFINITY},
        {EXACT_RSQRT, -0.0, -INFINITY},
        {EXACT_RSQRT, INFINITY, 0.0},
        {EXACT_RSQRT, -1, NAN},
        {EXACT_SIN, -0.0, -0.0},
        {EXACT_SIN, INFINITY, NAN},
        {EXACT_SINH, -0.0, -0.0},
        {EXACT_SQRT, -0.0, -0.0},
        {EXACT_SQRT, -1, NAN},
        {EXACT_TAN, -0.0, -0.0},
        {EXACT_TANH, -0.0, -0.0},
        {EXACT_TANH, -INFINITY, -1},
        {EXACT_TANH, NAN, NAN},
    };
    static const enum type types[] = {TYPE_F32, TYPE_F64, TYPE_F16, TYPE_BF16};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
            double out[70], in[70];
            for (int k = 0; k < 70; k++) {
                in[k] = cases[i].x;
            }
            exact_unary(cases[i].function, types[t], in, out, 70);
            for (int k = 0; k < 70; k++) {
                REQUIRE(same(out[k], cases[i].value), "%s %s(%a) = %a, not %a", type_text(types[t]),
                        names[cases[i].function], cases[i].x, out[k], cases[i].value);
            }
        }
    }
}
END_TEST

/* --- Binary functions. -------------------------------------------------------------------------
 */

static int (*const binary_references[])(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t) = {
    [EXACT_ADD] = mpfr_add,        [EXACT_SUBTRACT] = mpfr_sub, [EXACT_MULTIPLY] = mpfr_mul,
    [EXACT_DIVIDE] = mpfr_div,     [EXACT_POWER] = mpfr_pow,    [EXACT_ATAN2] = mpfr_atan2,
    [EXACT_REMAINDER] = mpfr_fmod,
};

static void check_pairs(const struct reference_format *format, int function, const double *a,
                        const double *b, int64_t count)
{
    double *out = malloc((size_t)count * sizeof(double));
    mpfr_t x, y, value;
    mpfr_inits2(53, x, y, (mpfr_ptr)0);
    exact_binary((enum exact_binary_function)function, format->type, a, b, out, count);
    for (int64_t i = 0; i < count; i++) {
        mpfr_set_d(x, a[i], MPFR_RNDN);
        mpfr_set_d(y, b[i], MPFR_RNDN);
        reference_begin(format, value);
        int inexact = binary_references[function](value, x, y, MPFR_RNDN);
        double want = reference_end(value, inexact);
        REQUIRE(same(out[i], want), "%s %d(%a, %a) = %a, not %a", type_text(format->type), function,
                a[i], b[i], out[i], want);
    }
    mpfr_clears(x, y, (mpfr_ptr)0);
    free(out);
}

START_TEST(test_binary_f8)
{
    static double values[256], a[1 << 16], b[1 << 16];
    all_values(TYPE_F8E5M2, values);
    for (int i = 0; i < 1 << 16; i++) {
        a[i] = values[i >> 8];
        b[i] = values[i & 255];
    }
    check_pairs(&reference_f8e5m2, _i, a, b, 1 << 16);
}
END_TEST

static int64_t pairs(const struct reference_format *format, double *a, double *b)
{
    static const double special[] = {
        0,   -0.0, 1, -1, 2,        -2,        3,   0.5,  -0.5,     -3,      7, 9,  255, 257,
        0.1, 25,   8, 20, INFINITY, -INFINITY, NAN, -0.1, 0x1p-130, 0x1p100, 5, 64, 1.5, 15};
    const int specials = (int)(sizeof(special) / sizeof(special[0]));
    int64_t count = 0;
    for (int i = 0; i < specials * specials; i++) {
        a[count] = float_round(format->type, special[i / specials]);
        b[count++] = float_round(format->type, special[i % specials]);
    }
    struct rng rng;
    rng_init(&rng, 9);
    for (int i = 0; i < 6000; i++) {
        const int spread = i % 3 == 0 ? 200 : i % 3 == 1 ? 12 : 3;
        for (int k = 0; k < 2; k++) {
            double value = (rng_uniform(&rng) - 0.3) *
                           ldexp(1, (int)rng_below(&rng, (uint64_t)spread) - spread / 2);
            (k == 0 ? a : b)[count] = float_round(format->type, value);
        }
        count++;
    }
    /* Powers near 1 and ties of powers: 343 = 7^3 lies between two bf16. */
    for (int i = 0; i < 300; i++) {
        a[count] = float_round(format->type, 1 + (i - 150) * 0x1p-7);
        b[count++] = float_round(format->type, (i % 7 - 3) * 100);
        a[count] = float_round(format->type, i);
        b[count++] = i % 6 + 2;
    }
    return count;
}

START_TEST(test_binary)
{
    static double a[8000], b[8000];
    const struct reference_format *formats[] = {&reference_f32, &reference_f64, &reference_f16,
                                                &reference_bf16};
    for (int f = 0; f < 4; f++) {
        int64_t count = pairs(formats[f], a, b);
        check_pairs(formats[f], _i, a, b, count);
    }
}
END_TEST

/* --- Integers. ---------------------------------------------------------------------------------
 */

START_TEST(test_integers)
{
    const struct reference_format *formats[] = {&reference_f32, &reference_f64, &reference_f16,
                                                &reference_bf16};
    int64_t in[2000];
    uint64_t unsigned_in[2000];
    double out[2000], unsigned_out[2000];
    struct rng rng;
    rng_init(&rng, 10);
    for (int i = 0; i < 2000; i++) {
        in[i] = (int64_t)(rng_next(&rng) >> rng_below(&rng, 64));
        if (i % 4 == 1) { /* a tie of some type, or right beside it */
            const int shift = (int)rng_below(&rng, 30) + 8;
            in[i] = (int64_t)((uint64_t)(in[i] | 1) << shift) / 2 + (int64_t)rng_below(&rng, 3) - 1;
        }
        in[i] = i % 2 == 0 ? in[i] : (int64_t)(0 - (uint64_t)in[i]);
    }
    in[0] = 0;
    in[1] = INT64_MAX;
    in[2] = INT64_MIN;
    in[3] = ((int64_t)1 << 60) + ((int64_t)1 << 36) + 1;
    in[4] = -in[3];
    in[5] = 65519;
    in[6] = 65520;
    in[7] = -1;
    memcpy(unsigned_in, in, sizeof(in));
    for (int f = 0; f < 4; f++) {
        exact_from_s64(formats[f]->type, in, out, 2000);
        exact_from_u64(formats[f]->type, unsigned_in, unsigned_out, 2000);
        for (int i = 0; i < 2000; i++) {
            mpfr_t value;
            reference_begin(formats[f], value);
            double want = reference_end(value, mpfr_set_sj(value, in[i], MPFR_RNDN));
            REQUIRE(same(out[i], want), "%s %lld: %a, not %a", type_text(formats[f]->type),
                    (long long)in[i], out[i], want);
            reference_begin(formats[f], value);
            want = reference_end(value, mpfr_set_uj(value, unsigned_in[i], MPFR_RNDN));
            REQUIRE(same(unsigned_out[i], want), "%s %llu: %a, not %a", type_text(formats[f]->type),
                    (unsigned long long)unsigned_in[i], unsigned_out[i], want);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exact");
    TCase *all = tcase_create("exact");
    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, test_all_f16, 0, EXACT_FUNCTION_COUNT);
    tcase_add_loop_test(all, test_all_bf16, 0, EXACT_FUNCTION_COUNT);
    tcase_add_loop_test(all, test_all_f8, 0, EXACT_FUNCTION_COUNT);
    tcase_add_loop_test(all, test_f32, 0, EXACT_FUNCTION_COUNT);
    tcase_add_loop_test(all, test_f64, 0, EXACT_FUNCTION_COUNT);
    tcase_add_loop_test(all, test_levels, 0, EXACT_FUNCTION_COUNT);
    tcase_add_loop_test(all, test_kernel_error, 0, EXACT_FUNCTION_COUNT);
    tcase_add_test(all, test_limits);
    tcase_add_loop_test(all, test_binary_f8, 0, EXACT_REMAINDER + 1);
    tcase_add_loop_test(all, test_binary, 0, EXACT_REMAINDER + 1);
    tcase_add_test(all, test_integers);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
