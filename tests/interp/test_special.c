/* Special functions (interp/special.h) against definitions that share nothing with how they are
 * computed: Bessel's integral by the trapezoidal rule (which converges geometrically), the error
 * function at the neighbours of its inverse, zeta at arguments where Riemann's (MPFR's) gives it,
 * derivatives of MPFR's digamma as quotients of differences. And which calls are composites. */
#include "hlo/base/rng.h"
#include "hlo/floats.h"
#include "interp/special_internal.h"
#include "tests/interp/evaluate_text.h"
#include "tests/interp/exact_reference.h"

static const struct reference_format *const formats[] = {&reference_f64, &reference_f32,
                                                         &reference_f16, &reference_bf16};
enum { FORMATS = 4, PRECISION = 400 };

static double apply(enum special_function function, enum type type, double a, double b)
{
    const double *in[2] = {&a, &b};
    double out;
    special_apply(function, type, in, &out, 1);
    return out;
}

static void check_value(enum special_function function, const struct reference_format *format,
                        double a, double b, mpfr_srcptr exact)
{
    const double want = reference_round(format, exact), got = apply(function, format->type, a, b);
    REQUIRE(memcmp(&want, &got, sizeof want) == 0,
            "function %d of %a and %a in format %d: %a, not %a", (int)function, a, b,
            format->precision, got, want);
}

/* In every format that holds a and b. */
static void check_value_everywhere(enum special_function function, double a, double b,
                                   mpfr_srcptr exact)
{
    for (int k = 0; k < FORMATS; k++) {
        if (float_round(formats[k]->type, a) == a && float_round(formats[k]->type, b) == b) {
            check_value(function, formats[k], a, b, exact);
        }
    }
}

/* A value of a format with an exponent from least to most. */
static double random_value(struct rng *rng, const struct reference_format *format, int least,
                           int most)
{
    const double size =
        ldexp(1 + rng_uniform(rng), least + (int)rng_below(rng, (uint64_t)(most - least + 1)));
    return float_round(format->type, size);
}

/* --- bessel_i1e --- */

/* exp(−x) I₁(x) = (1/N) Σ exp(x (cos θ − 1)) cos θ over N equal angles, but for I_{N±1} and beyond
 * (DLMF 10.35.2), which N ≥ 8 x + 400 makes negligible. */
static void bessel_reference(mpfr_ptr out, double x)
{
    const unsigned long n = (unsigned long)(8 * x) + 400;
    mpfr_t angle, cosine, term;
    mpfr_inits2(PRECISION, angle, cosine, term, (mpfr_ptr)NULL);
    mpfr_set_ui(out, 0, MPFR_RNDN);
    for (unsigned long k = 0; k < n; k++) {
        mpfr_const_pi(angle, MPFR_RNDN);
        mpfr_mul_ui(angle, angle, 2 * k, MPFR_RNDN);
        mpfr_div_ui(angle, angle, n, MPFR_RNDN);
        mpfr_cos(cosine, angle, MPFR_RNDN);
        mpfr_sub_ui(term, cosine, 1, MPFR_RNDN);
        mpfr_mul_d(term, term, x, MPFR_RNDN);
        mpfr_exp(term, term, MPFR_RNDN);
        mpfr_mul(term, term, cosine, MPFR_RNDN);
        mpfr_add(out, out, term, MPFR_RNDN);
    }
    mpfr_div_ui(out, out, n, MPFR_RNDN);
    mpfr_clears(angle, cosine, term, (mpfr_ptr)NULL);
}

START_TEST(test_bessel)
{
    struct rng rng;
    rng_init(&rng, 11);
    mpfr_t exact;
    mpfr_init2(exact, PRECISION);
    for (int i = 0; i < 120; i++) {
        double x = random_value(&rng, formats[i % FORMATS], -10, 7);
        bessel_reference(exact, x);
        check_value_everywhere(SPECIAL_BESSEL_I1E, x, 0, exact);
        mpfr_neg(exact, exact, MPFR_RNDN);
        check_value_everywhere(SPECIAL_BESSEL_I1E, -x, 0, exact);
    }
    /* Tiny: x/2 − x²/2. Huge: 1 / √(2πx) · (1 − 3 / (8x)). */
    for (int i = 0; i < 200; i++) {
        double x = random_value(&rng, formats[i % 2], -120, -60);
        mpfr_set_d(exact, x, MPFR_RNDN);
        mpfr_sqr(exact, exact, MPFR_RNDN);
        mpfr_d_sub(exact, x, exact, MPFR_RNDN);
        mpfr_div_2ui(exact, exact, 1, MPFR_RNDN);
        check_value_everywhere(SPECIAL_BESSEL_I1E, x, 0, exact);
        x = random_value(&rng, formats[i % 2], 70, 126);
        mpfr_const_pi(exact, MPFR_RNDN);
        mpfr_mul_d(exact, exact, 2 * x, MPFR_RNDN);
        mpfr_rec_sqrt(exact, exact, MPFR_RNDN);
        mpfr_t factor;
        mpfr_init2(factor, PRECISION);
        mpfr_set_d(factor, -0.375, MPFR_RNDN);
        mpfr_div_d(factor, factor, x, MPFR_RNDN);
        mpfr_add_ui(factor, factor, 1, MPFR_RNDN);
        mpfr_mul(exact, exact, factor, MPFR_RNDN);
        mpfr_clear(factor);
        check_value_everywhere(SPECIAL_BESSEL_I1E, x, 0, exact);
    }
    mpfr_clear(exact);
}
END_TEST

/* --- erf_inv --- */

/* The next value of f32 or f64 away from or toward zero; r > 0. */
static double neighbour(enum type type, double r, bool up)
{
    return type == TYPE_F64 ? nextafter(r, up ? (double)INFINITY : 0.0)
                            : (double)nextafterf((float)r, up ? (float)INFINITY : 0.0F);
}

/* Is erf at the middle of r and its neighbour on the right side of x? */
static void check_middle(double x, double r, double other)
{
    mpfr_t middle, erf, complement;
    mpfr_inits2(PRECISION, middle, erf, complement, (mpfr_ptr)NULL);
    mpfr_set_d(middle, r, MPFR_RNDN);
    mpfr_add_d(middle, middle, other, MPFR_RNDN);
    mpfr_div_2ui(middle, middle, 1, MPFR_RNDN);
    mpfr_erf(erf, middle, MPFR_RNDN);
    REQUIRE(mpfr_cmp_d(erf, x) == (other > r ? 1 : -1) || (mpfr_cmp_d(erf, x) > 0) == (other > r),
            "erf_inv(%a) is not %a", x, r);
    mpfr_clears(middle, erf, complement, (mpfr_ptr)NULL);
}

START_TEST(test_erf_inv)
{
    struct rng rng;
    rng_init(&rng, 12);
    for (int i = 0; i < 2000; i++) {
        const enum type type = i % 2 == 0 ? TYPE_F32 : TYPE_F64;
        double x = i % 3 == 0   ? random_value(&rng, formats[1 - i % 2], -140, -1)
                   : i % 3 == 1 ? 1 - random_value(&rng, formats[1 - i % 2], i % 2 ? -53 : -24, -2)
                                : rng_uniform(&rng);
        x = float_round(type, x);
        if (!(x > 0 && x < 1)) {
            continue;
        }
        const double r = apply(SPECIAL_ERF_INV, type, x, 0);
        check_middle(x, r, neighbour(type, r, true));
        check_middle(x, r, neighbour(type, r, false));
        ck_assert(apply(SPECIAL_ERF_INV, type, -x, 0) == -r);
    }
    /* √π/2 · the least subnormal is a tie's neighbour: rounds up to it. */
    ck_assert(apply(SPECIAL_ERF_INV, TYPE_F64, 0x1p-1074, 0) == 0x1p-1074);
    ck_assert(apply(SPECIAL_ERF_INV, TYPE_F32, 0x1p-149, 0) == 0x1p-149);
}
END_TEST

/* --- lgamma and digamma --- */

START_TEST(test_gamma)
{
    struct rng rng;
    rng_init(&rng, 13);
    mpfr_t x, exact;
    mpfr_inits2(PRECISION, x, exact, (mpfr_ptr)NULL);
    for (int i = 0; i < 1500; i++) {
        const double value =
            random_value(&rng, formats[i % FORMATS], -12, 9) * (i % 3 == 0 ? -1 : 1);
        if (value < 0 && value == floor(value)) {
            continue;
        }
        int sign;
        mpfr_set_d(x, value, MPFR_RNDN);
        mpfr_lgamma(exact, &sign, x, MPFR_RNDN);
        check_value_everywhere(SPECIAL_LGAMMA, value, 0, exact);
        if (i % 8 == 0) {
            mpfr_digamma(exact, x, MPFR_RNDN);
            check_value_everywhere(SPECIAL_DIGAMMA, value, 0, exact);
        }
    }
    mpfr_clears(x, exact, (mpfr_ptr)NULL);
}
END_TEST

/* --- zeta and polygamma --- */

/* *out += sign · base^−s */
static void add_power(mpfr_ptr out, double base, double s, int sign)
{
    mpfr_t power, minus;
    mpfr_inits2(mpfr_get_prec(out), power, minus, (mpfr_ptr)NULL);
    mpfr_set_d(power, base, MPFR_RNDN);
    mpfr_set_d(minus, -s, MPFR_RNDN);
    mpfr_pow(power, power, minus, MPFR_RNDN);
    (sign > 0 ? mpfr_add : mpfr_sub)(out, out, power, MPFR_RNDN);
    mpfr_clears(power, minus, (mpfr_ptr)NULL);
}

/* zeta(s, m), and with `half` zeta(s, m − 1/2) for m ≥ 1, from Riemann's: zeta(s, 1/2) =
 * (2^s − 1) zeta(s). */
static void zeta_reference(mpfr_ptr out, double s, int m, bool half)
{
    mpfr_t order, factor;
    mpfr_inits2(mpfr_get_prec(out), order, factor, (mpfr_ptr)NULL);
    mpfr_set_d(order, s, MPFR_RNDN);
    mpfr_zeta(out, order, MPFR_RNDN);
    if (half) {
        mpfr_exp2(factor, order, MPFR_RNDN);
        mpfr_sub_ui(factor, factor, 1, MPFR_RNDN);
        mpfr_mul(out, out, factor, MPFR_RNDN);
    }
    for (int k = 1; k < m; k++) {
        add_power(out, half ? k - 0.5 : k, s, -1);
    }
    mpfr_clears(order, factor, (mpfr_ptr)NULL);
}

START_TEST(test_zeta)
{
    struct rng rng;
    rng_init(&rng, 14);
    mpfr_t exact;
    mpfr_init2(exact, 1200);
    for (int i = 0; i < 160; i++) {
        const bool half = i % 2 == 0;
        const int m = 1 + (int)rng_below(&rng, 40);
        double s = 1 + random_value(&rng, formats[i % FORMATS], -8, 5);
        s = float_round(formats[i % FORMATS]->type, s);
        if (s == 1) {
            continue;
        }
        zeta_reference(exact, s, m, half);
        check_value_everywhere(SPECIAL_ZETA, s, half ? m - 0.5 : m, exact);
    }
    /* Negative q, integer s: more terms, some of which cancel. */
    for (int m = 1; m < 30; m++) {
        for (int s = 2; s < 7; s++) {
            zeta_reference(exact, s, 1, true);
            for (int k = 1; k <= m; k++) {
                add_power(exact, 0.5 - k, s, 1);
            }
            check_value_everywhere(SPECIAL_ZETA, s, 0.5 - m, exact);
        }
    }
    mpfr_clear(exact);
}
END_TEST

/* The n-th derivative of digamma at x as the n-th central difference of steps 2^-200, whose
 * relative error is about 2^-400. */
static void polygamma_reference(mpfr_ptr out, int n, double x)
{
    enum { STEP = 200, WORKING = 2600 };
    mpfr_t at, value, sum, binomial;
    mpfr_inits2(WORKING, at, value, sum, binomial, (mpfr_ptr)NULL);
    mpfr_set_ui(sum, 0, MPFR_RNDN);
    mpfr_set_ui(binomial, 1, MPFR_RNDN);
    for (int k = 0; k <= n; k++) {
        mpfr_set_si_2exp(at, n - 2 * k, -STEP - 1, MPFR_RNDN);
        mpfr_add_d(at, at, x, MPFR_RNDN);
        mpfr_digamma(value, at, MPFR_RNDN);
        mpfr_mul(value, value, binomial, MPFR_RNDN);
        (k % 2 == 0 ? mpfr_add : mpfr_sub)(sum, sum, value, MPFR_RNDN);
        mpfr_mul_ui(binomial, binomial, (unsigned long)(n - k), MPFR_RNDN);
        mpfr_div_ui(binomial, binomial, (unsigned long)k + 1, MPFR_RNDN);
    }
    mpfr_mul_2ui(out, sum, (unsigned long)(STEP * n), MPFR_RNDN);
    mpfr_clears(at, value, sum, binomial, (mpfr_ptr)NULL);
}

START_TEST(test_polygamma)
{
    struct rng rng;
    rng_init(&rng, 15);
    mpfr_t exact;
    mpfr_init2(exact, PRECISION);
    for (int i = 0; i < 40; i++) {
        const int n = 1 + i % 7;
        double x = random_value(&rng, formats[i % FORMATS], -5, 6) * (i % 3 == 0 ? -1 : 1);
        if (x < 0 && x == floor(x)) {
            continue;
        }
        polygamma_reference(exact, n, x);
        check_value_everywhere(SPECIAL_POLYGAMMA, n, x, exact);
        /* zeta(n + 1, x) = ± polygamma(n, x) / n! */
        for (int k = 2; k <= n; k++) {
            mpfr_div_ui(exact, exact, (unsigned long)k, MPFR_RNDN);
        }
        mpfr_setsign(exact, exact, (mpfr_sgn(exact) < 0) != (n % 2 == 0), MPFR_RNDN);
        check_value_everywhere(SPECIAL_ZETA, n + 1, x, exact);
    }
    mpfr_clear(exact);
}
END_TEST

/* --- guesses --- */

/* What long doubles decide, MPFR decides alike; and they decide nearly all of f32. */
START_TEST(test_guesses)
{
    static const struct {
        enum special_function function;
        double low, high;
    } rows[] = {{SPECIAL_BESSEL_I1E, -40, 40}, {SPECIAL_BESSEL_I1E, 20, 2000},
                {SPECIAL_DIGAMMA, 0, 3},       {SPECIAL_DIGAMMA, -12, 40},
                {SPECIAL_ERF_INV, -1, 1},      {SPECIAL_ERF_INV, 0.999, 1},
                {SPECIAL_LGAMMA, 0, 3},        {SPECIAL_LGAMMA, -12, 40}};
    enum { COUNT = 700 };
    struct rng rng;
    rng_init(&rng, 16);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int k = 0; k < FORMATS; k++) {
            const enum type type = formats[k]->type;
            int decided = 0, asked = 0;
            for (int n = 0; n < COUNT; n++) {
                double x = rows[i].low + (rows[i].high - rows[i].low) * rng_uniform(&rng);
                x = float_round(type, n % 5 == 0 ? x * 0x1p-9 : x);
                if (x == floor(x)) { /* poles, zeros and ends are limits */
                    continue;
                }
                double guess;
                asked++;
                if (special_guess(rows[i].function, type, x, &guess)) {
                    const double want = special_mpfr(rows[i].function, type, x, 0);
                    REQUIRE(memcmp(&guess, &want, sizeof want) == 0,
                            "function %d of %a: guessed %a, it is %a", (int)rows[i].function, x,
                            guess, want);
                    decided++;
                }
            }
            ck_assert_msg(type == TYPE_F64 ? decided > asked / 4 : decided > asked * 98 / 100,
                          "function %d: %d of %d", (int)rows[i].function, decided, asked);
        }
    }
}
END_TEST

/* --- limits --- */

START_TEST(test_limits)
{
    static const struct {
        enum special_function function;
        double a, b, want;
    } rows[] = {
        {SPECIAL_BESSEL_I1E, INFINITY, 0, 0.0},
        {SPECIAL_BESSEL_I1E, -INFINITY, 0, -0.0},
        {SPECIAL_BESSEL_I1E, -0.0, 0, -0.0},
        {SPECIAL_BESSEL_I1E, NAN, 0, NAN},
        {SPECIAL_DIGAMMA, 0.0, 0, NAN},
        {SPECIAL_DIGAMMA, -3, 0, NAN},
        {SPECIAL_DIGAMMA, INFINITY, 0, INFINITY},
        {SPECIAL_DIGAMMA, -INFINITY, 0, NAN},
        {SPECIAL_ERF_INV, 1, 0, INFINITY},
        {SPECIAL_ERF_INV, -1, 0, -INFINITY},
        {SPECIAL_ERF_INV, 1.5, 0, NAN},
        {SPECIAL_ERF_INV, -0.0, 0, -0.0},
        {SPECIAL_ERFC, INFINITY, 0, 0.0},
        {SPECIAL_ERFC, -INFINITY, 0, 2},
        {SPECIAL_LGAMMA, 0.0, 0, INFINITY},
        {SPECIAL_LGAMMA, -2, 0, INFINITY},
        {SPECIAL_LGAMMA, -INFINITY, 0, INFINITY},
        {SPECIAL_LGAMMA, 1, 0, 0.0},
        {SPECIAL_LGAMMA, 2, 0, 0.0},
        {SPECIAL_ZETA, 1, 3, INFINITY},
        {SPECIAL_ZETA, 0.5, 3, NAN},
        {SPECIAL_ZETA, 2, -3, INFINITY},
        {SPECIAL_ZETA, 3, -3, NAN},
        {SPECIAL_ZETA, 2.5, -0.5, NAN},
        {SPECIAL_ZETA, 2.5, 0, NAN},
        {SPECIAL_ZETA, 2, INFINITY, 0.0},
        {SPECIAL_ZETA, INFINITY, 2, 0.0},
        {SPECIAL_ZETA, INFINITY, 1, 1},
        {SPECIAL_ZETA, INFINITY, 0.5, INFINITY},
        {SPECIAL_ZETA, 0x1p100, 1, 1},
        {SPECIAL_ZETA, 0x1p100, 2, 0.0},
        {SPECIAL_ZETA, 20001, -0.5, 0.0}, /* all but (3/2)^−20001 and less cancels */
        {SPECIAL_ZETA, 20001, -0.75, INFINITY},
        {SPECIAL_ZETA, 20001, -0.25, -INFINITY},
        {SPECIAL_POLYGAMMA, 0, -1, NAN},
        {SPECIAL_POLYGAMMA, 1, 0, INFINITY},
        {SPECIAL_POLYGAMMA, 2, 0, NAN},
        {SPECIAL_POLYGAMMA, 1.5, 1, NAN},
        {SPECIAL_POLYGAMMA, -1, 1, NAN},
        {SPECIAL_POLYGAMMA, 1, INFINITY, 0.0},
        {SPECIAL_POLYGAMMA, 2, INFINITY, -0.0},
        {SPECIAL_POLYGAMMA, 0x1p40, 1, -INFINITY},
        {SPECIAL_POLYGAMMA, 0x1p40, 0x1p100, -0.0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double got = apply(rows[i].function, TYPE_F64, rows[i].a, rows[i].b);
        REQUIRE(isnan(rows[i].want) ? isnan(got) : memcmp(&got, &rows[i].want, sizeof got) == 0,
                "function %d of %g and %g: %g, not %g", (int)rows[i].function, rows[i].a, rows[i].b,
                got, rows[i].want);
    }
}
END_TEST

/* --- calls --- */

#define COMPOSITE(name)                                                                          \
    "is_composite=true, frontend_attributes={composite.attributes=\"{}\",composite.name=\"" name \
    "\",composite.version=\"0\"}"
#define TWICE "f { p = f32[] parameter(0) ROOT r = f32[] add(p, p) } "
#define TWICE3 "f { p = f32[3] parameter(0) ROOT r = f32[3] add(p, p) } "

START_TEST(test_calls)
{
    /* Γ(4) = 6 */
    check_evaluates("HloModule m " TWICE3 "ENTRY e { x = f32[3] parameter(0) "
                    "ROOT r = f32[3] call(x), to_apply=f, " COMPOSITE("chlo.lgamma") " }",
                    "f32[3] {1, 4, inf}", NULL, NULL, NULL, "f32[3] {0, 1.79175949, inf}");
    /* Among elementwise instructions, and in the program of a map and of a reducer. */
    check_evaluates(
        "HloModule m " TWICE3 "ENTRY e { x = f32[3] parameter(0) n = f32[3] negate(x) "
        "y = f32[3] call(n), to_apply=f, " COMPOSITE("chlo.lgamma") " "
                                                                    "ROOT r = f32[3] add(y, y) }",
        "f32[3] {-1, -4, 0}", NULL, NULL, NULL, "f32[3] {0, 3.58351898, inf}");
    check_evaluates("HloModule m " TWICE "g { p = f32[] parameter(0) "
                    "ROOT r = f32[] call(p), to_apply=f, " COMPOSITE(
                        "chlo.erf_inv") " } "
                                        "ENTRY e { x = f32[3] parameter(0) ROOT r = f32[3] map(x), "
                                        "dimensions={0}, to_apply=g }",
                    "f32[3] {0, 1, -1}", NULL, NULL, NULL, "f32[3] {0, inf, -inf}");
    check_evaluates(
        "HloModule m " TWICE "body { s = (s32[], f32[]) parameter(0) "
        "i = s32[] get-tuple-element(s), index=0 v = f32[] get-tuple-element(s), index=1 "
        "one = s32[] constant(1) j = s32[] add(i, one) "
        "w = f32[] call(v), to_apply=f, " COMPOSITE(
            "chlo.lgamma") " "
                           "ROOT r = (s32[], f32[]) tuple(j, w) } "
                           "cond { s = (s32[], f32[]) parameter(0) i = s32[] get-tuple-element(s), "
                           "index=0 "
                           "n = s32[] constant(2) ROOT r = pred[] compare(i, n), direction=LT } "
                           "ENTRY e { x = f32[] parameter(0) z = s32[] constant(0) "
                           "t = (s32[], f32[]) tuple(z, x) w = (s32[], f32[]) while(t), "
                           "condition=cond, body=body "
                           "ROOT r = f32[] get-tuple-element(w), index=1 }",
        "f32[] 0", NULL, NULL, NULL, "f32[] inf");
    /* Another name, or no composite: the computation. */
    check_evaluates("HloModule m " TWICE3 "ENTRY e { x = f32[3] parameter(0) "
                    "ROOT r = f32[3] call(x), to_apply=f, " COMPOSITE("my.lgamma") " }",
                    "f32[3] {1, 4, inf}", NULL, NULL, NULL, "f32[3] {2, 8, inf}");
    check_evaluates("HloModule m " TWICE3 "ENTRY e { x = f32[3] parameter(0) "
                    "ROOT r = f32[3] call(x), to_apply=f, "
                    "frontend_attributes={composite.name=\"chlo.lgamma\"} }",
                    "f32[3] {1, 4, inf}", NULL, NULL, NULL, "f32[3] {2, 8, inf}");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("special");
    TCase *cases = tcase_create("special");
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, test_bessel);
    tcase_add_test(cases, test_erf_inv);
    tcase_add_test(cases, test_gamma);
    tcase_add_test(cases, test_zeta);
    tcase_add_test(cases, test_polygamma);
    tcase_add_test(cases, test_guesses);
    tcase_add_test(cases, test_limits);
    tcase_add_test(cases, test_calls);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
