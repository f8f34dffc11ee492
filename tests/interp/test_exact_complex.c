/* Complex functions: against the C library's complex functions in long double, which share nothing
 * with the MPFR formulas, and arithmetic against MPFR; Annex G's special values and branch cuts. */
#include <complex.h>
#include <stdlib.h>

#include "hlo/base/rng.h"
#include "hlo/floats.h"
#include "interp/exact.h"
#include "tests/interp/exact_reference.h"

#ifndef CMPLX
#define CMPLX(x, y) __builtin_complex((double)(x), (double)(y))
#endif
#define CMPLX_LONG(x, y) __builtin_complex((long double)(x), (long double)(y))

static const char *const names[] = {
#define EXACT(id, name) #name,
#include "interp/exact.def"
};

static long double complex cbrt_reference(long double complex z)
{
    const long double size = cbrtl(cabsl(z)), angle = cargl(z) / 3;
    return CMPLX_LONG(size * cosl(angle), size * sinl(angle));
}
static long double complex expm1_reference(long double complex z)
{
    const long double x = creall(z), y = cimagl(z), half = sinl(y / 2);
    return CMPLX_LONG(expm1l(x) * cosl(y) - 2 * half * half, expl(x) * sinl(y));
}
static long double complex log1p_reference(long double complex z)
{
    const long double x = creall(z), y = cimagl(z);
    if (x == 0 && y == 0) { /* as among the reals */
        return z;
    }
    const long double less = 2 * x + x * x + y * y; /* |1 + z|² − 1 */
    return CMPLX_LONG(less > -0.5L ? log1pl(less) / 2 : logl(hypotl(1 + x, y)), atan2l(y, 1 + x));
}
static long double complex logistic_reference(long double complex z)
{
    return 1 / (1 + cexpl(-z));
}
static long double complex rsqrt_reference(long double complex z)
{
    return 1 / csqrtl(z);
}

static long double complex (*const references[EXACT_FUNCTION_COUNT])(long double complex) = {
    [EXACT_ACOS] = cacosl,
    [EXACT_ACOSH] = cacoshl,
    [EXACT_ASIN] = casinl,
    [EXACT_ASINH] = casinhl,
    [EXACT_ATAN] = catanl,
    [EXACT_ATANH] = catanhl,
    [EXACT_CBRT] = cbrt_reference,
    [EXACT_COS] = ccosl,
    [EXACT_COSH] = ccoshl,
    [EXACT_EXP] = cexpl,
    [EXACT_EXPM1] = expm1_reference,
    [EXACT_LOG] = clogl,
    [EXACT_LOG1P] = log1p_reference,
    [EXACT_LOGISTIC] = logistic_reference,
    [EXACT_RSQRT] = rsqrt_reference,
    [EXACT_SIN] = csinl,
    [EXACT_SINH] = csinhl,
    [EXACT_SQRT] = csqrtl,
    [EXACT_TAN] = ctanl,
    [EXACT_TANH] = ctanhl,
};

/* The reference is good to `slack` of the whole, so got may be off its rounding by that much more
 * than half a unit in the last place. */
static bool is_near(enum type part, double got, long double want, long double size)
{
    const long double slack = size * 0x1p-57L;
    const double rounded = (double)want;
    if (isnan(got) || isnan(rounded) || isinf(got)) {
        return isinf(got) ? fabsl(want) >= (long double)float_max(part)
                          : isnan(got) && isnan(rounded);
    }
    if (got == 0 && want == 0) { /* composed references lose the sign of zero */
        return size != 0 || signbit(got) == signbit(rounded);
    }
    return fabsl((long double)got - want) <=
           slack + 0.5L * (long double)float_ulp(part, rounded) * (1 + 0x1p-20L);
}

static double part_of(struct rng *rng, enum type part, int style)
{
    static const double notable[] = {0,     -0.0, 1,   -1,  0.5, 2,     -2,       1e-20,
                                     -1e-9, 1e10, 3.1, -40, 87,  1e-40, 0x1p-149, 0x1.000002p0};
    switch (style) {
    case 0:
        return float_round(part, notable[rng_below(rng, sizeof(notable) / sizeof(notable[0]))]);
    case 1:
        return float_round(part, (rng_uniform(rng) - 0.5) * 8);
    default:
        return float_round(part, ldexp(rng_uniform(rng) - 0.5, (int)rng_below(rng, 40) - 30));
    }
}

START_TEST(test_unary)
{
    struct rng rng;
    rng_init(&rng, (uint64_t)_i);
    if (references[_i] == NULL) {
        return;
    }
    for (int i = 0; i < 800; i++) {
        const enum type part = i % 4 == 3 ? TYPE_F64 : TYPE_F32;
        const double x = part_of(&rng, part, (int)rng_below(&rng, 3));
        const double y = part_of(&rng, part, (int)rng_below(&rng, 3));
        double re, im;
        if (_i == EXACT_RSQRT && x == 0 && y == 0) {
            continue;
        }
        exact_complex_unary((enum exact_function)_i, part, &x, &y, &re, &im, 1);
        const long double complex want = references[_i](CMPLX_LONG(x, y));
        /* Where a part of the reference itself comes out of cancelling terms. */
        const bool cancels = _i == EXACT_EXPM1 || _i == EXACT_LOG1P || _i == EXACT_LOGISTIC ||
                             _i == EXACT_RSQRT || _i == EXACT_CBRT;
        const long double size = cancels ? cabsl(want) + (cabsl(want) > 0.5L) : 0;
        REQUIRE(is_near(part, re, creall(want), fabsl(creall(want)) + size),
                "%s %s(%a, %a): re %a, not %La", type_text(part), names[_i], x, y, re,
                creall(want));
        REQUIRE(is_near(part, im, cimagl(want), fabsl(cimagl(want)) + size),
                "%s %s(%a, %a): im %a, not %La", type_text(part), names[_i], x, y, im,
                cimagl(want));
    }
}
END_TEST

/* --- Arithmetic. -------------------------------------------------------------------------------
 */

static double exact_part(const struct reference_format *format, double a, double b, double c,
                         double d, double e, double f, bool divide)
{
    mpfr_t x, y, numerator, denominator, quotient;
    mpfr_inits2(4400, x, y, numerator, denominator, (mpfr_ptr)0);
    mpfr_init2(quotient, 300);
    mpfr_set_d(x, a, MPFR_RNDN);
    mpfr_mul_d(x, x, b, MPFR_RNDN);
    mpfr_set_d(y, c, MPFR_RNDN);
    mpfr_mul_d(y, y, d, MPFR_RNDN);
    mpfr_add(numerator, x, y, MPFR_RNDN);
    mpfr_set_d(x, e, MPFR_RNDN);
    mpfr_sqr(x, x, MPFR_RNDN);
    mpfr_set_d(y, f, MPFR_RNDN);
    mpfr_sqr(y, y, MPFR_RNDN);
    mpfr_add(denominator, x, y, MPFR_RNDN);
    double result;
    if (divide) {
        mpfr_div(quotient, numerator, denominator, MPFR_RNDN);
        result = reference_round(format, quotient);
    } else {
        result = reference_round(format, numerator);
    }
    mpfr_clears(x, y, numerator, denominator, quotient, (mpfr_ptr)0);
    return result;
}

START_TEST(test_arithmetic)
{
    struct rng rng;
    rng_init(&rng, 50);
    for (int i = 0; i < 4000; i++) {
        const struct reference_format *format = i % 2 == 0 ? &reference_f32 : &reference_f64;
        const enum type part = format->type;
        const int spread = i % 2 == 0 ? 250 : 1900;
        double v[4], product[2], quotient[2];
        for (int k = 0; k < 4; k++) {
            v[k] = rng_uniform(&rng) - 0.5;
            if (i % 5 == 0) {
                v[k] = ldexp(v[k], (int)rng_below(&rng, (uint64_t)spread) - spread / 2);
            } else if (i % 5 == 1) {
                v[k] = (double)(int64_t)(v[k] * 64);
            }
            v[k] = float_round(part, v[k]);
        }
        if (i % 5 == 2) { /* nearly cancelling: c / d ≈ b / a */
            v[2] = float_round(part, v[1] * 0.75);
            v[3] = float_round(part, v[0] * 0.75);
        }
        exact_complex_binary(EXACT_MULTIPLY, part, &v[0], &v[1], &v[2], &v[3], &product[0],
                             &product[1], 1);
        double re = exact_part(format, v[0], v[2], -v[1], v[3], 1, 0, false);
        double im = exact_part(format, v[0], v[3], v[1], v[2], 1, 0, false);
        REQUIRE(same(product[0], re) && same(product[1], im),
                "(%a, %a) * (%a, %a) = (%a, %a), not (%a, %a)", v[0], v[1], v[2], v[3], product[0],
                product[1], re, im);
        if (v[2] == 0 && v[3] == 0) {
            continue;
        }
        exact_complex_binary(EXACT_DIVIDE, part, &v[0], &v[1], &v[2], &v[3], &quotient[0],
                             &quotient[1], 1);
        re = exact_part(format, v[0], v[2], v[1], v[3], v[2], v[3], true);
        im = exact_part(format, v[1], v[2], -v[0], v[3], v[2], v[3], true);
        REQUIRE(same(quotient[0], re) && same(quotient[1], im),
                "(%a, %a) / (%a, %a) = (%a, %a), not (%a, %a)", v[0], v[1], v[2], v[3], quotient[0],
                quotient[1], re, im);
    }
}
END_TEST

START_TEST(test_abs_and_sign)
{
    struct rng rng;
    rng_init(&rng, 51);
    for (int i = 0; i < 3000; i++) {
        const struct reference_format *format = i % 2 == 0 ? &reference_f32 : &reference_f64;
        const int spread = i % 3 == 0 ? (i % 2 == 0 ? 250 : 1900) : 4;
        double v[2], size, sign[2];
        for (int k = 0; k < 2; k++) {
            v[k] = float_round(format->type,
                               ldexp(rng_uniform(&rng) - 0.5,
                                     (int)rng_below(&rng, (uint64_t)spread) - spread / 2));
        }
        exact_complex_abs(format->type, &v[0], &v[1], &size, 1);
        exact_complex_sign(format->type, &v[0], &v[1], &sign[0], &sign[1], 1);
        mpfr_t x, y, value;
        mpfr_inits2(53, x, y, (mpfr_ptr)0);
        mpfr_set_d(x, v[0], MPFR_RNDN);
        mpfr_set_d(y, v[1], MPFR_RNDN);
        reference_begin(format, value);
        double want = reference_end(value, mpfr_hypot(value, x, y, MPFR_RNDN));
        REQUIRE(same(size, want), "|(%a, %a)| = %a, not %a", v[0], v[1], size, want);
        mpfr_init2(value, 2000);
        for (int k = 0; k < 2; k++) {
            mpfr_hypot(value, x, y, MPFR_RNDN);
            mpfr_div(value, k == 0 ? x : y, value, MPFR_RNDN);
            want = reference_round(format, value);
            REQUIRE(same(sign[k], want), "sign(%a, %a).%d = %a, not %a", v[0], v[1], k, sign[k],
                    want);
        }
        mpfr_clears(x, y, value, (mpfr_ptr)0);
    }
    /* No overflow on the way. */
    const double big[] = {2e38, 3e38}, same_big[] = {2e38, 3e38};
    double size[2], re[2], im[2];
    exact_complex_abs(TYPE_F32, big, same_big, size, 2);
    ck_assert(size[0] == (double)(float)2.8284271247461901e38 && isinf(size[1]));
    exact_complex_sign(TYPE_F32, big, same_big, re, im, 2);
    ck_assert(re[1] == (double)(float)0.70710678118654752 && im[1] == re[1]);
    const double odd[] = {INFINITY, NAN}, other[] = {NAN, 1};
    exact_complex_abs(TYPE_F32, odd, other, size, 2);
    ck_assert(isinf(size[0]) && isnan(size[1]));
}
END_TEST

/* --- Power and atan2. --------------------------------------------------------------------------
 */

START_TEST(test_power_and_atan2)
{
    struct rng rng;
    rng_init(&rng, 52);
    for (int i = 0; i < 600; i++) {
        const enum type part = TYPE_F32;
        double a[2], b[2], re, im;
        for (int k = 0; k < 2; k++) {
            a[k] = part_of(&rng, part, 1);
            b[k] = i % 5 == 0 ? (double)(int)rng_below(&rng, 5) * (1 - k) : part_of(&rng, part, 1);
        }
        const long double complex x = CMPLX_LONG(a[0], a[1]), y = CMPLX_LONG(b[0], b[1]);
        long double complex want = cpowl(x, y);
        exact_complex_binary(EXACT_POWER, part, &a[0], &a[1], &b[0], &b[1], &re, &im, 1);
        const long double size = cabsl(want) * 64; /* errors of log times the exponent */
        REQUIRE(is_near(part, re, creall(want), size) && is_near(part, im, cimagl(want), size),
                "(%a, %a) ^ (%a, %a) = (%a, %a), not (%La, %La)", a[0], a[1], b[0], b[1], re, im,
                creall(want), cimagl(want));
        want = clogl((y + CMPLX_LONG(0, 1) * x) / csqrtl(x * x + y * y));
        exact_complex_binary(EXACT_ATAN2, part, &a[0], &a[1], &b[0], &b[1], &re, &im, 1);
        /* −i (u + iv) = v − iu */
        if (i % 5 != 0) {
            REQUIRE(is_near(part, re, cimagl(want), 64) && is_near(part, im, -creall(want), 64),
                    "atan2((%a, %a), (%a, %a)) = (%a, %a), not (%La, %La)", a[0], a[1], b[0], b[1],
                    re, im, cimagl(want), -creall(want));
        }
    }
    const double zero = 0, one = 1, two = 2;
    double re, im;
    exact_complex_binary(EXACT_POWER, TYPE_F32, &zero, &zero, &zero, &zero, &re, &im, 1);
    ck_assert(re == 1 && im == 0);
    exact_complex_binary(EXACT_POWER, TYPE_F32, &zero, &zero, &two, &one, &re, &im, 1);
    ck_assert(re == 0 && im == 0);
}
END_TEST

/* --- Special values. ---------------------------------------------------------------------------
 */

/* C99 Annex G.6 and, for what C lacks, the limits of the definitions. NaN stands for any NaN, and
 * the sign of a zero is not looked at where Annex G leaves it open. */
START_TEST(test_special_values)
{
    static const double inf = INFINITY, nan = NAN, pi = 3.14159265358979323846;
    const struct {
        enum exact_function function;
        double x, y, re, im;
    } cases[] = {
        {EXACT_EXP, inf, 0, inf, 0},
        {EXACT_EXP, -inf, inf, 0, 0},
        {EXACT_EXP, 1, nan, nan, nan},
        {EXACT_EXP, 100, 0, inf, 0},
        {EXACT_LOG, 0, 0, -inf, 0},
        {EXACT_LOG, -0.0, 0, -inf, pi},
        {EXACT_LOG, inf, inf, inf, pi / 4},
        {EXACT_LOG, -1, 0, 0, pi},
        {EXACT_LOG, -1, -0.0, 0, -pi},
        {EXACT_SQRT, -4, 0, 0, 2},
        {EXACT_SQRT, -4, -0.0, 0, -2},
        {EXACT_SQRT, 3, 4, 2, 1},
        {EXACT_SQRT, nan, inf, inf, inf},
        {EXACT_SQRT, -inf, 1, 0, inf},
        {EXACT_SQRT, 0, 0, 0, 0},
        {EXACT_TANH, inf, 1, 1, 0},
        {EXACT_TANH, 1000, 1, 1, 0},
        {EXACT_TANH, -3e38, 1, -1, 0},
        {EXACT_COSH, 3e38, 0, inf, 0},
        {EXACT_SINH, 3e38, 0, inf, 0},
        {EXACT_EXP, 3e38, 0, inf, 0},
        {EXACT_EXP, -3e38, 1, 0, 0},
        {EXACT_EXPM1, 3e38, 0, inf, 0},
        {EXACT_EXPM1, -inf, 0, -1, 0},
        {EXACT_LOGISTIC, 3e38, 1, 1, 0},
        {EXACT_LOGISTIC, -3e38, 1, 0, 0},
        {EXACT_LOGISTIC, inf, 0, 1, 0},
        {EXACT_LOGISTIC, -inf, 0, 0, 0},
        {EXACT_LOGISTIC, 0, 0, 0.5, 0},
        {EXACT_RSQRT, inf, 0, 0, -0.0},
        {EXACT_RSQRT, 4, 0, 0.5, -0.0},
        {EXACT_RSQRT, -4, 0, 0, -0.5},
        {EXACT_ATANH, 1, 0, inf, 0},
        {EXACT_ASIN, 0, inf, 0, inf},
        {EXACT_ACOS, 2, 0, 0, -1.3169578969248167},
        {EXACT_LOG1P, -1, 0, -inf, 0},
        {EXACT_LOG1P, inf, 0, inf, 0},
        {EXACT_EXPM1, 0, 0, 0, 0},
        {EXACT_ERF, 1, 0, nan, nan},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int p = 0; p < 2; p++) {
            const enum type part = p == 0 ? TYPE_F32 : TYPE_F64;
            double re, im;
            if (part == TYPE_F64 && cases[i].function == EXACT_EXP && cases[i].x == 100) {
                continue;
            }
            exact_complex_unary(cases[i].function, part, &cases[i].x, &cases[i].y, &re, &im, 1);
            const double want_re = float_round(part, cases[i].re);
            const double want_im = float_round(part, cases[i].im);
            REQUIRE((re == want_re || (isnan(re) && isnan(want_re))) &&
                        (im == want_im || (isnan(im) && isnan(want_im))),
                    "%s %s(%a, %a) = (%a, %a), not (%a, %a)", type_text(part),
                    names[cases[i].function], cases[i].x, cases[i].y, re, im, want_re, want_im);
        }
    }
}
END_TEST

/* Small arguments, where naive formulas lose everything. */
START_TEST(test_small)
{
    const double x = 0x1p-100, y = 0x1p-50;
    double re, im;
    exact_complex_unary(EXACT_EXPM1, TYPE_F64, &x, &y, &re, &im, 1);
    ck_assert(re == 0x1p-101 && im == 0x1p-50); /* x − y²/2 */
    exact_complex_unary(EXACT_LOG1P, TYPE_F64, &x, &y, &re, &im, 1);
    ck_assert(re == 0x1.8p-100 && im == 0x1p-50); /* x + y²/2 */
    const double near = 0x1p-30, one = 1;
    exact_complex_unary(EXACT_LOG, TYPE_F64, &one, &near, &re, &im, 1);
    ck_assert(re == 0x1p-61 && im == 0x1p-30); /* y²/2 − y⁴/4 … rounds to it */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exact_complex");
    TCase *all = tcase_create("exact_complex");
    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, test_unary, 0, EXACT_FUNCTION_COUNT);
    tcase_add_test(all, test_arithmetic);
    tcase_add_test(all, test_abs_and_sign);
    tcase_add_test(all, test_power_and_atan2);
    tcase_add_test(all, test_special_values);
    tcase_add_test(all, test_small);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
