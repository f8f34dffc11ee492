/* Special functions by MPFR: more and more bits until the rounding is certain. */
#include <math.h>

#include "hlo/floats.h"
#include "interp/bracket.h"
#include "interp/exact_internal.h"
#include "interp/special_internal.h"

enum { FIRST_PRECISION = 96, LAST_PRECISION = 1 << 13 };

/* *error = |value| · units · 2^-precision. */
static void error_units(struct special_value *out, double units, mpfr_prec_t precision)
{
    mpfr_abs(out->error, out->value, MPFR_RNDU);
    mpfr_mul_d(out->error, out->error, units, MPFR_RNDU);
    mpfr_div_2ui(out->error, out->error, (unsigned long)precision, MPFR_RNDU);
}

/* --- bessel_i1e ---------------------------------------------------------------------------- */

/* exp(−x) I₁(x) for x > 0 by the power series (DLMF 10.25.2): t₀ = x/2,
 * tₖ = tₖ₋₁ · (x²/4) / (k (k + 1)), all positive. tₖ has at most 3k + 1 roundings, N terms are
 * added, and terms are left out when each is less than half the one before and the first less than
 * a unit of the sum, so that they are less than two units. */
static void bessel_series(struct special_value *out, double x, mpfr_prec_t precision)
{
    mpfr_t term, square, sum;
    mpfr_inits2(precision, term, square, sum, (mpfr_ptr)0);
    mpfr_set_d(term, x, MPFR_RNDN);
    mpfr_sqr(square, term, MPFR_RNDN);
    mpfr_div_2ui(square, square, 2, MPFR_RNDN);
    mpfr_div_2ui(term, term, 1, MPFR_RNDN);
    mpfr_set(sum, term, MPFR_RNDN);
    unsigned long k = 0;
    bool small = false;
    while (!small) {
        k++;
        mpfr_mul(term, term, square, MPFR_RNDN);
        mpfr_div_ui(term, term, k, MPFR_RNDN);
        mpfr_div_ui(term, term, k + 1, MPFR_RNDN);
        mpfr_add(sum, sum, term, MPFR_RNDN);
        small = (double)k > x && mpfr_get_exp(term) < mpfr_get_exp(sum) - precision;
    }
    mpfr_set_d(term, -x, MPFR_RNDN);
    mpfr_exp(term, term, MPFR_RNDN);
    mpfr_mul(out->value, sum, term, MPFR_RNDN);
    error_units(out, 8.0 * (double)k + 64, precision);
    mpfr_clears(term, square, sum, (mpfr_ptr)0);
}

/* The same by Hankel's expansion (DLMF 10.40.5): √(2πx) exp(−x) I₁(x) = Σ_{k<l} tₖ + R with
 * tₖ = (−1)^k aₖ(1) / x^k. For x > 0 the mean of the two conjugate forms has no contribution of
 * exp(−2x), and |R| ≤ 2 |t_l| χ(l) exp(¾ · χ(1) / x) (10.40.11), where χ(l) ≤ l + 1 and, for x ≥ 8,
 * the last factor is less than 2. False when the terms stop shrinking before they are small. */
static bool bessel_expansion(struct special_value *out, double x, mpfr_prec_t precision)
{
    if (x < 8) {
        return false;
    }
    mpfr_t term, sum, pi;
    mpfr_inits2(precision, term, sum, pi, (mpfr_ptr)0);
    mpfr_set_ui(term, 1, MPFR_RNDN);
    mpfr_set_ui(sum, 0, MPFR_RNDN);
    bool small = false, shrinks = true;
    long k = 0;
    while (!small && shrinks) {
        mpfr_add(sum, sum, term, MPFR_RNDN);
        k++;
        const double odd = 2 * (double)k - 1, factor = odd * odd - 4;
        shrinks = fabs(factor) < 4 * (double)k * x;
        mpfr_mul_d(term, term, factor, MPFR_RNDN);
        mpfr_div_ui(term, term, 8 * (unsigned long)k, MPFR_RNDN);
        mpfr_div_d(term, term, x, MPFR_RNDN);
        small = mpfr_get_exp(term) < -precision;
    }
    if (small) {
        mpfr_const_pi(pi, MPFR_RNDN);
        mpfr_mul_2ui(pi, pi, 1, MPFR_RNDN);
        mpfr_mul_d(pi, pi, x, MPFR_RNDN);
        mpfr_rec_sqrt(pi, pi, MPFR_RNDN);
        mpfr_mul(out->value, sum, pi, MPFR_RNDN);
        /* The sum is between 0.9 and 1; each of its terms is off by less than 4k units of 1. */
        error_units(out, 16.0 * (double)k + 64, precision);
    }
    mpfr_clears(term, sum, pi, (mpfr_ptr)0);
    return small;
}

static void bessel_i1e(struct special_value *out, double x, mpfr_prec_t precision)
{
    const double size = fabs(x);
    if (!bessel_expansion(out, size, precision)) {
        bessel_series(out, size, precision);
    }
    mpfr_setsign(out->value, out->value, x < 0, MPFR_RNDN);
}

/* --- erf_inv ------------------------------------------------------------------------------- */

/* erf(y) − x, or −(erfc(y) − (1 − x)) where x is near 1: its sign for sure, or 0. */
static int erf_side(mpfr_srcptr y, mpfr_srcptr x, bool complement, mpfr_ptr low, mpfr_ptr high)
{
    int (*function)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t) = complement ? mpfr_erfc : mpfr_erf;
    function(low, y, MPFR_RNDD);
    function(high, y, MPFR_RNDU);
    const int side = mpfr_cmp(low, x) > 0 ? 1 : mpfr_cmp(high, x) < 0 ? -1 : 0;
    return complement ? -side : side;
}

/* Newton's iteration to y, then a proof that the zero lies between y·(1 ± 2^-n). */
static void erf_inv(struct special_value *out, double x_signed, mpfr_prec_t precision)
{
    const double size = fabs(x_signed);
    const bool complement = size > 0.5;
    mpfr_t x, y, f, slope, low, high;
    mpfr_inits2(precision + 64, x, y, f, slope, low, high, (mpfr_ptr)0);
    mpfr_set_d(x, size, MPFR_RNDN);
    if (complement) {
        mpfr_ui_sub(x, 1, x, MPFR_RNDN); /* exact: at most 53 bits */
    }
    /* A start with three digits: S. Winitzki, "A handy approximation for the error function and its
     * inverse", 2008. */
    const double factor = 0.147, logarithm = log1p(-size * size);
    const double middle = 2 / (3.14159265358979 * factor) + logarithm / 2;
    const double start = size < 0x1p-20 ? size * 0.886226925452758
                                        : sqrt(sqrt(middle * middle - logarithm / factor) - middle);
    mpfr_set_d(y, start, MPFR_RNDN);
    if (size < 0x1p-1000) { /* no rounding among subnormal numbers */
        mpfr_set_d(y, size, MPFR_RNDN);
        mpfr_mul_d(y, y, 0.886226925452758, MPFR_RNDN);
    }
    for (int i = 0; i < 64; i++) {
        if (complement) {
            mpfr_erfc(f, y, MPFR_RNDN);
            mpfr_sub(f, x, f, MPFR_RNDN);
        } else {
            mpfr_erf(f, y, MPFR_RNDN);
            mpfr_sub(f, f, x, MPFR_RNDN);
        }
        if (mpfr_zero_p(f)) {
            break;
        }
        /* f / f' = f · exp(y²) √π / 2 */
        mpfr_sqr(slope, y, MPFR_RNDN);
        mpfr_exp(slope, slope, MPFR_RNDN);
        mpfr_mul(f, f, slope, MPFR_RNDN);
        mpfr_const_pi(slope, MPFR_RNDN);
        mpfr_sqrt(slope, slope, MPFR_RNDN);
        mpfr_mul(f, f, slope, MPFR_RNDN);
        mpfr_div_2ui(f, f, 1, MPFR_RNDN);
        mpfr_sub(y, y, f, MPFR_RNDN);
        if (mpfr_zero_p(f) || mpfr_get_exp(f) < mpfr_get_exp(y) - precision - 16) {
            break;
        }
    }
    mpfr_set(out->value, y, MPFR_RNDN);
    double units = 8;
    bool proved = false;
    while (!proved) {
        error_units(out, units, precision);
        mpfr_sub(slope, out->value, out->error, MPFR_RNDU);
        proved = erf_side(slope, x, complement, low, high) < 0;
        mpfr_add(slope, out->value, out->error, MPFR_RNDD);
        proved = proved && erf_side(slope, x, complement, low, high) > 0;
        units *= 256;
    }
    mpfr_setsign(out->value, out->value, x_signed < 0, MPFR_RNDN);
    mpfr_clears(x, y, f, slope, low, high, (mpfr_ptr)0);
}

/* --- rounding ------------------------------------------------------------------------------ */

/* MPFR rounds these two itself. */
static double rounded_by_mpfr(enum special_function function, enum type type, double x)
{
    mpfr_t argument, value;
    mpfr_init2(argument, 53);
    mpfr_init2(value, 64);
    mpfr_set_d(argument, x, MPFR_RNDN);
    int sign;
    const int inexact = function == SPECIAL_LGAMMA ? mpfr_lgamma(value, &sign, argument, MPFR_RNDZ)
                                                   : mpfr_digamma(value, argument, MPFR_RNDZ);
    const double result = exact_from_mpfr(type, value, inexact != 0);
    mpfr_clears(argument, value, (mpfr_ptr)0);
    return result;
}

static void approximate(enum special_function function, struct special_value *out, double a,
                        double b, mpfr_prec_t precision)
{
    switch (function) {
    case SPECIAL_BESSEL_I1E:
        bessel_i1e(out, a, precision);
        break;
    case SPECIAL_ERF_INV:
        erf_inv(out, a, precision);
        break;
    case SPECIAL_ZETA:
        special_zeta(out, a, b, precision);
        break;
    default:
        special_polygamma(out, a, b, precision);
        break;
    }
}

double special_mpfr(enum special_function function, enum type type, double a, double b)
{
    if (function == SPECIAL_LGAMMA || function == SPECIAL_DIGAMMA) {
        return rounded_by_mpfr(function, type, a);
    }
    double result = 0;
    bool decided = false;
    for (mpfr_prec_t precision = FIRST_PRECISION; !decided; precision *= 2) {
        struct special_value out;
        struct bracket bracket;
        mpfr_inits2(precision, out.value, bracket.low, bracket.high, (mpfr_ptr)0);
        mpfr_init2(out.error, 32);
        approximate(function, &out, a, b, precision);
        mpfr_sub(bracket.low, out.value, out.error, MPFR_RNDD);
        mpfr_add(bracket.high, out.value, out.error, MPFR_RNDU);
        decided = bracket_round(type, &bracket, &result);
        if (!decided && precision >= LAST_PRECISION) { /* a boundary of the type, then */
            result = bracket_boundary(type, &bracket);
            decided = true;
        }
        mpfr_clears(out.value, out.error, bracket.low, bracket.high, (mpfr_ptr)0);
    }
    return result;
}
