/* Complex functions against their definitions by exponentials and logarithms, in MPFR with so many
 * bits that no cancellation matters: each part must be the exact value rounded once. A zero part of
 * an argument stands for the limit from its side, so that branch cuts and signs of zero are held to
 * the definitions, too. And the two ways by which functions are computed against each other. */
#include <stdlib.h>

#include "hlo/base/rng.h"
#include "hlo/floats.h"
#include "interp/exact.h"
#include "interp/exact_ball.h"
#include "interp/exact_internal.h"
#include "tests/interp/complex_definitions.h"
#include "tests/interp/exact_reference.h"

static mpfr_prec_t precision;

static const char *const names[] = {
#define EXACT(id, name) #name,
#include "interp/exact.def"
};

/* --- checks --- */

/* Zeros become numbers so small that nothing else can tell. */
static void set_argument(mpfr_ptr out, double x, int tiny)
{
    if (x == 0) {
        mpfr_set_si_2exp(out, signbit(x) ? -1 : 1, -tiny, MPFR_RNDN);
    } else {
        mpfr_set_d(out, x, MPFR_RNDN);
    }
}

static const struct reference_format *format_of(enum type part)
{
    return part == TYPE_F32 ? &reference_f32 : &reference_f64;
}

static void check_unary(enum exact_function function, enum type part, double x, double y)
{
    struct wide z, out;
    double re, im;
    const bool zero = x == 0 || y == 0;
    const int tiny = part == TYPE_F32 ? 700 : 2600;
    /* What cancels is at most the square of the largest or smallest number here. */
    int far = 0;
    for (int k = 0; k < 2; k++) {
        int exponent;
        frexp(k == 0 ? x : y, &exponent);
        far = abs(exponent) > far ? abs(exponent) : far;
    }
    precision = 300 + 4 * far + (zero ? 3 * tiny : 0);
    wide_start(&z, precision);
    wide_start(&out, precision);
    set_argument(z.re, x, tiny);
    set_argument(z.im, y, tiny);
    wide_define(function, &out, &z);
    const double want_re = reference_round(format_of(part), out.re);
    const double want_im = reference_round(format_of(part), out.im);
    exact_complex_unary(function, part, &x, &y, &re, &im, 1);
    REQUIRE(same(re, want_re) && same(im, want_im), "%s %s(%a, %a) = (%a, %a), not (%a, %a)",
            type_text(part), names[function], x, y, re, im, want_re, want_im);
    wide_finish(&z);
    wide_finish(&out);
}

static bool is_pole(enum exact_function function, double x, double y)
{
    switch (function) {
    case EXACT_LOG:
    case EXACT_RSQRT:
    case EXACT_CBRT:
    case EXACT_SQRT:
        return x == 0 && y == 0;
    case EXACT_LOG1P:
        return x == -1 && y == 0;
    case EXACT_ATANH:
        return fabs(x) == 1 && y == 0;
    case EXACT_ATAN:
        return fabs(y) == 1 && x == 0;
    default:
        return function == EXACT_ERF || function == EXACT_ERFC;
    }
}

/* Random parts of some sizes, and what lies on or near axes, unit circle, branch points and the
 * curves where parts vanish. */
static void draw(struct rng *rng, enum type part, double *x, double *y)
{
    static const double special[] = {
        0,       -0.0,     1,  -1,  0.5, 2, -3, 1.5707963267948966, 3.14159265358979,
        0x1p-30, -0x1p-60, 40, 1e-5};
    const int far = part == TYPE_F32 ? 120 : 400;
    double *parts[2] = {x, y};
    for (int k = 0; k < 2; k++) {
        switch (rng_below(rng, 5)) {
        case 0:
            *parts[k] = special[rng_below(rng, sizeof special / sizeof special[0])];
            break;
        case 1:
            *parts[k] = ldexp(rng_uniform(rng) - 0.5, (int)rng_below(rng, 2 * (unsigned)far) - far);
            break;
        default:
            *parts[k] = (rng_uniform(rng) - 0.5) * 6;
            break;
        }
    }
    switch (rng_below(rng, 8)) {
    case 0: { /* near the unit circle */
        const double angle = rng_uniform(rng) * 7;
        *x = cos(angle);
        *y = sin(angle);
        break;
    }
    case 1: /* near ±1 or ±i */
        *x = (rng_below(rng, 2) != 0 ? 1 : -1) *
             (1 + ldexp(rng_uniform(rng) - 0.5, -(int)rng_below(rng, 50)));
        *y = ldexp(rng_uniform(rng) - 0.5, -(int)rng_below(rng, 50));
        if (rng_below(rng, 2) != 0) {
            const double other = *x;
            *x = *y;
            *y = other;
        }
        break;
    case 2: /* e^x cos y near 1 or −1 */
        *y = rng_uniform(rng) * 1.5;
        *x = -log(cos(*y));
        if (rng_below(rng, 2) != 0) {
            *y += 3.14159265358979;
        }
        break;
    default:
        break;
    }
    *x = float_round(part, *x);
    *y = float_round(part, *y);
    /* e to a huge power is beyond what the definitions can take. */
    *x = fabs(*x) > 1e5 && rng_below(rng, 2) != 0 ? copysign(80, *x) : *x;
}

static bool is_exponential(enum exact_function function)
{
    return function == EXACT_COS || function == EXACT_COSH || function == EXACT_EXP ||
           function == EXACT_EXPM1 || function == EXACT_LOGISTIC || function == EXACT_SIN ||
           function == EXACT_SINH || function == EXACT_TAN || function == EXACT_TANH;
}

START_TEST(test_definitions)
{
    struct rng rng;
    rng_init(&rng, 31 + (uint64_t)_i);
    for (int i = 0; i < 500; i++) {
        const enum type part = i % 4 == 3 ? TYPE_F64 : TYPE_F32;
        double x, y;
        draw(&rng, part, &x, &y);
        /* Exponents and, for quotients, the bits that e^2x costs must stay affordable. */
        if (is_pole((enum exact_function)_i, x, y) ||
            (is_exponential((enum exact_function)_i) && (fabs(x) > 100 || fabs(y) > 100))) {
            continue;
        }
        check_unary((enum exact_function)_i, part, x, y);
    }
}
END_TEST

/* The axes, with both zeros, and all quadrants. */
START_TEST(test_axes)
{
    static const double values[] = {0, 0.3, 0.999999, 1, 1.000001, 2, 7};
    for (int i = 0; i < 7; i++) {
        for (int k = 0; k < 7; k++) {
            for (int signs = 0; signs < 4; signs++) {
                const double x = float_round(TYPE_F32, (signs & 1) != 0 ? -values[i] : values[i]);
                const double y = float_round(TYPE_F32, (signs & 2) != 0 ? -values[k] : values[k]);
                if ((x == 0 || y == 0) && !is_pole((enum exact_function)_i, x, y)) {
                    check_unary((enum exact_function)_i, k % 2 == 0 ? TYPE_F32 : TYPE_F64, x, y);
                }
            }
        }
    }
}
END_TEST

/* What a guess calls proved is what intervals give. */
START_TEST(test_guesses)
{
    struct rng rng;
    rng_init(&rng, 77 + (uint64_t)_i);
    int proved = 0, count = 0;
    for (int i = 0; i < 3000; i++) {
        const enum type part = i % 2 == 0 ? TYPE_F64 : TYPE_F32;
        struct exact_parts z, guess, want;
        draw(&rng, part, &z.re, &z.im);
        if (is_pole((enum exact_function)_i, z.re, z.im)) {
            continue;
        }
        const int known = exact_complex_guess((enum exact_function)_i, part, z, &guess);
        want = exact_complex_mpfr((enum exact_function)_i, part, z, known);
        REQUIRE(((known & EXACT_RE) == 0 || same(guess.re, want.re)) &&
                    ((known & EXACT_IM) == 0 || same(guess.im, want.im)),
                "%s %s(%a, %a) = (%a, %a), not (%a, %a)", type_text(part), names[_i], z.re, z.im,
                guess.re, guess.im, want.re, want.im);
        proved += known == EXACT_BOTH;
        count++;
    }
    ck_assert_msg(!exact_wide_works() || 4 * proved > 3 * count || count == 0,
                  "%s: only %d of %d proved", names[_i], proved, count);
}
END_TEST

/* What balls grant the C library's long double functions, against MPFR: twice what is found. */
START_TEST(test_library)
{
    static const struct {
        long double (*function)(long double);
        int (*exact)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
        double least, most; /* of the arguments */
    } functions[] = {
        {expl, mpfr_exp, -11000, 11000},   {expm1l, mpfr_expm1, -50, 11000},
        {sinhl, mpfr_sinh, -11000, 11000}, {coshl, mpfr_cosh, -11000, 11000},
        {logl, mpfr_log, 1e-300, 4},       {logl, mpfr_log, 1, 1e300},
        {log1pl, mpfr_log1p, -0.9, 1},     {log1pl, mpfr_log1p, 0, 1e10},
        {sinl, mpfr_sin, -30, 30},         {sinl, mpfr_sin, -1e300, 1e300},
        {cosl, mpfr_cos, -30, 30},         {cosl, mpfr_cos, -1e300, 1e300},
        {asinhl, mpfr_asinh, -4, 4},       {asinhl, mpfr_asinh, -1e300, 1e300},
        {cbrtl, mpfr_cbrt, -1e300, 1e300}, {expm1l, mpfr_expm1, -1, 1},
        {sinhl, mpfr_sinh, -2, 2},         {coshl, mpfr_cosh, -2, 2},
        {expl, mpfr_exp, -2, 2},
    };
    struct rng rng;
    rng_init(&rng, 91);
    mpfr_t x, y, exact, got;
    mpfr_inits2(64, x, y, got, (mpfr_ptr)0);
    mpfr_init2(exact, 120);
    const int count = sizeof functions / sizeof functions[0];
    for (int i = 0; exact_wide_works() && i < 3000 * (count + 1); i++) {
        const int k = i / 3000;
        const double shrink = i % 3 == 0 ? ldexp(1, -(int)rng_below(&rng, 40)) : 1;
        const double first = k < count ? functions[k].least : -4,
                     last = k < count ? functions[k].most : 4;
        const double a = first * shrink + rng_uniform(&rng) * (last - first) * shrink;
        const double b = (rng_uniform(&rng) - 0.5) * 8 * shrink;
        mpfr_set_d(x, a, MPFR_RNDN);
        mpfr_set_d(y, b, MPFR_RNDN);
        if (k < count) {
            mpfr_set_ld(got, functions[k].function(a), MPFR_RNDN);
            functions[k].exact(exact, x, MPFR_RNDN);
        } else {
            mpfr_set_ld(got, atan2l(a, b), MPFR_RNDN);
            mpfr_atan2(exact, x, y, MPFR_RNDN);
        }
        mpfr_sub(got, got, exact, MPFR_RNDA);
        mpfr_div(got, got, exact, MPFR_RNDA);
        const double error = mpfr_zero_p(exact) ? 0 : fabs(mpfr_get_d(got, MPFR_RNDA));
        const bool near = k == count || functions[k].function == expl ||
                          functions[k].function == logl || functions[k].function == sinl ||
                          functions[k].function == cosl;
        REQUIRE(error <= (double)(near ? BALL_NEAR : BALL_LIBM) / 2,
                "function %d at %a: error 2^%.2f", k, a, log2(error));
    }
    mpfr_clears(x, y, exact, got, (mpfr_ptr)0);
}
END_TEST

/* --- powers and angles --- */

static void check_power(enum type part, const double *a, const double *b)
{
    struct wide x, y, out;
    double re, im;
    precision = 2000;
    wide_start(&x, precision);
    wide_start(&y, precision);
    wide_start(&out, precision);
    mpfr_set_d(x.re, a[0], MPFR_RNDN);
    mpfr_set_d(x.im, a[1], MPFR_RNDN);
    mpfr_set_d(y.re, b[0], MPFR_RNDN);
    mpfr_set_d(y.im, b[1], MPFR_RNDN);
    wide_power(&out, &x, &y);
    exact_complex_binary(EXACT_POWER, part, &a[0], &a[1], &b[0], &b[1], &re, &im, 1);
    const double want_re = reference_round(format_of(part), out.re);
    const double want_im = reference_round(format_of(part), out.im);
    /* An exact zero comes out of the definition as something tiny. */
    REQUIRE((same(re, want_re) || (re == 0 && fabs(want_re) < 0x1p-1000)) &&
                (same(im, want_im) || (im == 0 && fabs(want_im) < 0x1p-1000)),
            "%s (%a, %a)^(%a, %a) = (%a, %a), not (%a, %a)", type_text(part), a[0], a[1], b[0],
            b[1], re, im, want_re, want_im);
    wide_finish(&x);
    wide_finish(&y);
    wide_finish(&out);
}

START_TEST(test_power)
{
    struct rng rng;
    rng_init(&rng, 41);
    for (int i = 0; i < 1500; i++) {
        const enum type part = i % 2 == 0 ? TYPE_F32 : TYPE_F64;
        double a[2], b[2];
        for (int k = 0; k < 2; k++) {
            a[k] = float_round(part, (rng_uniform(&rng) - 0.5) * 6);
            b[k] = float_round(part, (rng_uniform(&rng) - 0.5) * (i % 3 == 0 ? 60 : 4));
        }
        if (i % 5 == 0) { /* real exponents, whole and half ones among them */
            b[1] = 0;
            b[0] = i % 10 == 0 ? ldexp((double)rng_below(&rng, 40) - 20, -(int)rng_below(&rng, 4))
                               : b[0];
        }
        if (i % 7 == 0) { /* axes and diagonals */
            a[i % 2] = i % 3 == 0 ? 0 : a[1 - i % 2];
        }
        if ((a[0] != 0 || a[1] != 0) && (b[0] != 0 || b[1] != 0)) {
            check_power(part, a, b);
        }
    }
}
END_TEST

/* Powers that are exact, in whole numbers: (p + iq)^n by multiplication, and roots back. Where 25
 * bits come out, a tie of f32 has to be seen. */
START_TEST(test_exact_powers)
{
    int ties = 0;
    for (int p = -20; p <= 20; p++) {
        for (int q = -20; q <= 20; q++) {
            int64_t re = p, im = q;
            for (int n = 2; n <= 9 && re * re + im * im < INT64_C(1) << 52; n++) {
                const int64_t next = re * p - im * q;
                im = re * q + im * p;
                re = next;
                const double a[2] = {p, q}, b[2] = {n, 0};
                double got[2];
                exact_complex_binary(EXACT_POWER, TYPE_F32, &a[0], &a[1], &b[0], &b[1], &got[0],
                                     &got[1], 1);
                REQUIRE(got[0] == (double)(float)re && got[1] == (double)(float)im,
                        "(%d + %di)^%d = %g + %gi, not %g + %gi", p, q, n, got[0], got[1],
                        (double)re, (double)im);
                const int64_t size = re < 0 ? -re : re, odd = size == 0 ? 0 : size / (size & -size);
                ties += odd >> 24 == 1;
            }
        }
    }
    ck_assert_int_gt(ties, 10);
    static const double cases[][6] = {
        {3, 4, 0.5, 0, 2, 1},       {-3, 4, 0.5, 0, 1, 2},       {3, 4, 1.5, 0, 2, 11},
        {0, 2, 0.5, 0, 1, 1},       {-4, 0, 0.5, 0, 0, 2},       {-4, -0.0, 0.5, 0, 0, -2},
        {-7, 24, 0.25, 0, 2, 1},    {3, 4, -0.5, 0, 0.4, -0.2},  {1, 1, 4, 0, -4, 0},
        {17, 0, 6, 0, 24137569, 0}, {0, 17, 6, 0, -24137569, 0}, {-1, 0, 3, 0, -1, 0},
        {2, 1, -2, 0, 0.12, -0.16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const double *c = cases[i];
        for (int t = 0; t < 2; t++) {
            const enum type part = t == 0 ? TYPE_F32 : TYPE_F64;
            double re, im;
            exact_complex_binary(EXACT_POWER, part, &c[0], &c[1], &c[2], &c[3], &re, &im, 1);
            REQUIRE(re == float_round(part, c[4]) && im == float_round(part, c[5]),
                    "%s (%g, %g)^%g = (%a, %a)", type_text(part), c[0], c[1], c[2], re, im);
        }
    }
}
END_TEST

/* atan2 of real numbers is that of reals; of equal phases real; and it turns by imaginary angles.
 */
START_TEST(test_atan2)
{
    struct rng rng;
    rng_init(&rng, 43);
    precision = 1500;
    for (int i = 0; i < 600; i++) {
        const enum type part = i % 2 == 0 ? TYPE_F32 : TYPE_F64;
        double a[2], b[2], re, im;
        struct wide x, y, u;
        for (int k = 0; k < 2; k++) {
            a[k] = float_round(part, (rng_uniform(&rng) - 0.5) * 6);
            b[k] = float_round(part, (rng_uniform(&rng) - 0.5) * 6);
        }
        wide_start(&x, precision);
        wide_start(&y, precision);
        wide_start(&u, precision);
        mpfr_set_d(x.re, a[0], MPFR_RNDN);
        mpfr_set_d(x.im, a[1], MPFR_RNDN);
        mpfr_set_d(y.re, b[0], MPFR_RNDN);
        mpfr_set_d(y.im, b[1], MPFR_RNDN);
        wide_atan2(&u, &x, &y);
        exact_complex_binary(EXACT_ATAN2, part, &a[0], &a[1], &b[0], &b[1], &re, &im, 1);
        const double want_re = reference_round(format_of(part), u.re);
        const double want_im = reference_round(format_of(part), u.im);
        REQUIRE(same(re, want_re) && same(im, want_im),
                "%s atan2((%a, %a), (%a, %a)) = (%a, %a), not (%a, %a)", type_text(part), a[0],
                a[1], b[0], b[1], re, im, want_re, want_im);
        wide_finish(&x);
        wide_finish(&y);
        wide_finish(&u);
    }
    static const double cases[][6] = {
        {1, 0, 1, 0, 0.78539816339744830962, 0},
        {1, 0, -1, 0, 2.35619449019234492885, 0},
        {-1, 0, -1, 0, -2.35619449019234492885, 0},
        {1, 2, 1, 2, 0.78539816339744830962, 0},
        {0, 0, 1, 1, 0, 0},
        {0, 0, -1, 1, 3.14159265358979323846, 0},
        {-0.5, 0.5, 1, 1, 0, 0.54930614433405484570},
        {0, 1, 2, 0, 0, 0.54930614433405484570},
        {0, 1, 1, 0, NAN, NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const double *c = cases[i];
        double re, im;
        exact_complex_binary(EXACT_ATAN2, TYPE_F64, &c[0], &c[1], &c[2], &c[3], &re, &im, 1);
        REQUIRE((re == c[4] || (isnan(re) && isnan(c[4]))) &&
                    (im == c[5] || (isnan(im) && isnan(c[5]))),
                "atan2((%g, %g), (%g, %g)) = (%a, %a)", c[0], c[1], c[2], c[3], re, im);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exact_complex_definitions");
    TCase *all = tcase_create("definitions");
    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, test_definitions, 0, EXACT_FUNCTION_COUNT);
    tcase_add_loop_test(all, test_axes, 0, EXACT_FUNCTION_COUNT);
    tcase_add_loop_test(all, test_guesses, 0, EXACT_FUNCTION_COUNT);
    tcase_add_test(all, test_library);
    tcase_add_test(all, test_power);
    tcase_add_test(all, test_exact_powers);
    tcase_add_test(all, test_atan2);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
