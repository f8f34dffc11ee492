/* Hurwitz's zeta function and the derivatives of digamma, with a bound of the error.
 *
 * Of q > 0 either the terms themselves, when s is so large that they shrink fast, or
 * Euler–Maclaurin's formula (DLMF 25.11.28 with the sum over k < N taken out):
 *   zeta(s, q) = Σ_{k<N} (q + k)^−s + a^(1−s) / (s − 1) + a^−s / 2 + Σ_j T_j,  a = q + N,
 *   T_j = B_2j / (2j)! · s (s + 1) … (s + 2j − 2) · a^(−s−2j+1),
 * where what is left out is smaller than the first term left out, since x^−s is completely monotone
 * (F. Johansson, "Rigorous high-precision computation of the Hurwitz zeta function and its
 * derivatives", 2015, section 2, for the general bound). B_2j / (2j)! = ±2 zeta(2j) / (2π)^2j.
 *
 * Of q < 0 with an integer s, let f = q − floor(q). The terms of negative q + k are, but for the
 * sign of (−1)^s, those of zeta(s, 1 − f) up to |q|: zeta(s, q) = zeta(s, f) + (−1)^s (zeta(s, 1 −
 * f) − zeta(s, 1 + |q|)). */
#include <math.h>

#include "interp/special_internal.h"

/* Enough for q + 1, 1 − f and n + 1 of any double, without rounding. */
enum { EXACT_PRECISION = 2200 };
/* Beyond 2^±RANGE every type has left its range. */
static const double range = 20000;

bool special_zeta_limit(double s, double q, double *out)
{
    const bool pole = q <= 0 && q == floor(q), even = fmod(s, 2) == 0;
    *out = NAN;
    if (isnan(s) || isnan(q) || s < 1) {
        return true;
    }
    if (s == 1) {
        *out = INFINITY;
        return true;
    }
    if (isinf(s)) {
        *out = q > 1 ? 0 : q == 1 ? 1 : q > 0 ? (double)INFINITY : (double)NAN;
        return true;
    }
    if (isinf(q) && q > 0) {
        *out = 0;
        return true;
    }
    if (pole && s == floor(s)) { /* −∞ too */
        *out = even && isfinite(q) ? (double)INFINITY : (double)NAN;
        return true;
    }
    return q <= 0 && s != floor(s);
}

/* *error += |x| · units · 2^-precision. */
static void add_error(struct special_value *out, mpfr_srcptr x, double units, mpfr_prec_t precision)
{
    mpfr_t some;
    mpfr_init2(some, 32);
    mpfr_abs(some, x, MPFR_RNDU);
    mpfr_mul_d(some, some, units, MPFR_RNDU);
    mpfr_div_2ui(some, some, (unsigned long)precision, MPFR_RNDU);
    mpfr_add(out->error, out->error, some, MPFR_RNDU);
    mpfr_clear(some);
}

struct hurwitz {
    mpfr_srcptr s, q;
    mpfr_prec_t precision; /* bits that powers are to be good to */
    mpfr_t base, power, minus_s;
};

/* power = (q + k)^−s. The base is rounded to so many bits more than `precision` as s needs. */
static void take_power(struct hurwitz *state, unsigned long k)
{
    mpfr_add_ui(state->base, state->q, k, MPFR_RNDN);
    mpfr_pow(state->power, state->base, state->minus_s, MPFR_RNDN);
}

/* The terms themselves: from (q + N) on they are together at most
 * (q + N)^−s (1 + (q + N) / (s − 1)). */
static void sum_terms(struct hurwitz *state, struct special_value *out)
{
    mpfr_t sum, rest, s_less;
    mpfr_prec_t working = mpfr_get_prec(state->base);
    mpfr_inits2(working, sum, rest, s_less, (mpfr_ptr)0);
    mpfr_sub_ui(s_less, state->s, 1, MPFR_RNDN);
    mpfr_set_ui(sum, 0, MPFR_RNDN);
    unsigned long k = 0;
    for (bool small = false; !small; k++) {
        take_power(state, k);
        if (k > 0) {
            mpfr_div(rest, state->base, s_less, MPFR_RNDU);
            mpfr_add_ui(rest, rest, 1, MPFR_RNDU);
            mpfr_mul(rest, rest, state->power, MPFR_RNDU);
            small = mpfr_get_exp(rest) < mpfr_get_exp(sum) - state->precision;
        }
        if (!small) {
            mpfr_add(sum, sum, state->power, MPFR_RNDN);
        }
    }
    mpfr_set(out->value, sum, MPFR_RNDN);
    mpfr_set_zero(out->error, 1);
    add_error(out, sum, (double)k + 16, state->precision);
    mpfr_clears(sum, rest, s_less, (mpfr_ptr)0);
}

static void euler_maclaurin(struct hurwitz *state, struct special_value *out)
{
    const mpfr_prec_t working = mpfr_get_prec(state->base);
    mpfr_t sum, factor, term, circle, some;
    mpfr_inits2(working, sum, factor, term, circle, some, (mpfr_ptr)0);
    /* s + 2j stays below πa for the j ≤ precision / 2 that are needed: each T_j is less than a
     * quarter of the one before. */
    const double s = mpfr_get_d(state->s, MPFR_RNDN), q = mpfr_get_d(state->q, MPFR_RNDN);
    const double need = (s + (double)state->precision) / 3 + 2;
    const unsigned long n = q < need ? (unsigned long)(need - q) + 1 : 0;
    mpfr_set_ui(sum, 0, MPFR_RNDN);
    for (unsigned long k = 0; k < n; k++) {
        take_power(state, k);
        mpfr_add(sum, sum, state->power, MPFR_RNDN);
    }
    take_power(state, n);
    mpfr_sub_ui(term, state->s, 1, MPFR_RNDN);
    mpfr_div(term, state->base, term, MPFR_RNDN);
    mpfr_mul(term, term, state->power, MPFR_RNDN);
    mpfr_add(sum, sum, term, MPFR_RNDN);
    mpfr_div_2ui(term, state->power, 1, MPFR_RNDN);
    mpfr_add(sum, sum, term, MPFR_RNDN);
    /* factor = s (s + 1) … (s + 2j − 2) a^(−s−2j+1) · 2 / (2π)^2j, but for the sign */
    mpfr_const_pi(circle, MPFR_RNDN);
    mpfr_mul_2ui(circle, circle, 1, MPFR_RNDN);
    mpfr_mul(circle, circle, state->base, MPFR_RNDN);
    mpfr_sqr(circle, circle, MPFR_RNDN);
    mpfr_mul(factor, state->power, state->base, MPFR_RNDN);
    mpfr_mul_2ui(factor, factor, 1, MPFR_RNDN);
    mpfr_mul(factor, factor, state->s, MPFR_RNDN);
    mpfr_div(factor, factor, circle, MPFR_RNDN);
    unsigned long j = 1;
    for (bool small = false; !small; j++) {
        if (j > 1) {
            mpfr_add_ui(some, state->s, 2 * j - 3, MPFR_RNDN);
            mpfr_mul(factor, factor, some, MPFR_RNDN);
            mpfr_add_ui(some, state->s, 2 * j - 2, MPFR_RNDN);
            mpfr_mul(factor, factor, some, MPFR_RNDN);
            mpfr_div(factor, factor, circle, MPFR_RNDN);
        }
        mpfr_zeta_ui(term, 2 * j, MPFR_RNDN);
        mpfr_mul(term, term, factor, MPFR_RNDN);
        small = mpfr_get_exp(term) < mpfr_get_exp(sum) - state->precision;
        if (!small) {
            mpfr_setsign(term, term, j % 2 == 0, MPFR_RNDN);
            mpfr_add(sum, sum, term, MPFR_RNDN);
        }
    }
    mpfr_set(out->value, sum, MPFR_RNDN);
    mpfr_set_zero(out->error, 1);
    /* Powers and sums are off by a unit each, T_j by at most 8j + 8 units of less than the sum. */
    add_error(out, sum, (double)n + 8 * (double)j * (double)(j + 1) + 32, state->precision);
    mpfr_clears(sum, factor, term, circle, some, (mpfr_ptr)0);
}

/* zeta(s, q) for s > 1 and q > 0. */
static void hurwitz(struct special_value *out, mpfr_srcptr s, mpfr_srcptr q, mpfr_prec_t precision)
{
    struct hurwitz state = {.s = s, .q = q, .precision = precision};
    mpfr_exp_t extra = mpfr_get_exp(s);
    mpfr_init2(state.minus_s, mpfr_get_prec(s));
    mpfr_neg(state.minus_s, s, MPFR_RNDN);
    mpfr_inits2(precision + 16 + (extra > 0 ? extra : 0), state.base, state.power, (mpfr_ptr)0);
    if (mpfr_cmp_ui(s, 2 * (unsigned long)precision) > 0) {
        sum_terms(&state, out);
    } else {
        euler_maclaurin(&state, out);
    }
    mpfr_clears(state.base, state.power, state.minus_s, (mpfr_ptr)0);
}

static bool is_odd(mpfr_srcptr s)
{
    mpfr_t half;
    mpfr_init2(half, mpfr_get_prec(s));
    mpfr_div_2ui(half, s, 1, MPFR_RNDN);
    const bool odd = !mpfr_integer_p(half);
    mpfr_clear(half);
    return odd;
}

/* Bits for logarithms of powers to s, so that their integer parts are right. */
static mpfr_prec_t estimate_bits(mpfr_srcptr s)
{
    const mpfr_exp_t extra = mpfr_get_exp(s);
    return 128 + 2 * (extra > 0 ? extra : 0);
}

/* ±2^exponent, for what is out of range. */
static void out_of_range(struct special_value *out, double exponent, bool negative)
{
    mpfr_set_ui_2exp(out->value, 1, exponent > 0 ? (long)range : -(long)range, MPFR_RNDN);
    mpfr_setsign(out->value, out->value, negative, MPFR_RNDN);
    mpfr_set_zero(out->error, 1);
}

/* log2 of the largest term of zeta(s, q) that nothing cancels, and f of the file comment in
 * *fraction. */
static double largest_term(mpfr_srcptr s, mpfr_srcptr q, mpfr_ptr fraction)
{
    mpfr_t base, rest, logarithm;
    mpfr_inits2(EXACT_PRECISION, base, rest, (mpfr_ptr)0);
    mpfr_set(base, q, MPFR_RNDN);
    if (mpfr_sgn(q) < 0) {
        mpfr_floor(rest, q);
        mpfr_sub(fraction, q, rest, MPFR_RNDN);
        mpfr_ui_sub(rest, 1, fraction, MPFR_RNDN);
        if (mpfr_equal_p(rest, fraction) && is_odd(s)) {
            mpfr_ui_sub(base, 1, q, MPFR_RNDN);
        } else {
            mpfr_min(base, fraction, rest, MPFR_RNDN);
        }
    }
    mpfr_init2(logarithm, estimate_bits(s));
    mpfr_log2(logarithm, base, MPFR_RNDN);
    mpfr_mul(logarithm, logarithm, s, MPFR_RNDN);
    const double result = -mpfr_get_d(logarithm, MPFR_RNDN);
    mpfr_clears(base, rest, logarithm, (mpfr_ptr)0);
    return result;
}

/* zeta(s, q) where it is in range. f: the fraction of a negative q. */
static void zeta_in_range(struct special_value *out, mpfr_srcptr s, mpfr_srcptr q, mpfr_srcptr f,
                          mpfr_prec_t precision)
{
    if (mpfr_sgn(q) > 0) {
        hurwitz(out, s, q, precision);
        return;
    }
    const bool odd = is_odd(s);
    mpfr_t other;
    mpfr_init2(other, EXACT_PRECISION);
    struct special_value part;
    mpfr_init2(part.value, precision);
    mpfr_init2(part.error, 32);
    mpfr_ui_sub(other, 1, q, MPFR_RNDN);
    hurwitz(out, s, other, precision);
    mpfr_setsign(out->value, out->value, !odd, MPFR_RNDN);
    mpfr_ui_sub(other, 1, f, MPFR_RNDN);
    if (!odd || !mpfr_equal_p(other, f)) { /* otherwise they cancel */
        hurwitz(&part, s, f, precision);
        mpfr_add(out->value, out->value, part.value, MPFR_RNDN);
        mpfr_add(out->error, out->error, part.error, MPFR_RNDU);
        add_error(out, part.value, 2, precision);
        hurwitz(&part, s, other, precision);
        mpfr_setsign(part.value, part.value, odd, MPFR_RNDN);
        mpfr_add(out->value, out->value, part.value, MPFR_RNDN);
        mpfr_add(out->error, out->error, part.error, MPFR_RNDU);
        add_error(out, part.value, 4, precision);
    }
    mpfr_clears(other, part.value, part.error, (mpfr_ptr)0);
}

void special_zeta(struct special_value *out, double s, double q, mpfr_prec_t precision)
{
    mpfr_t order, start, f;
    mpfr_inits2(EXACT_PRECISION, order, start, f, (mpfr_ptr)0);
    mpfr_set_d(order, s, MPFR_RNDN);
    mpfr_set_d(start, q, MPFR_RNDN);
    const double size = largest_term(order, start, f);
    if (fabs(size) > range) {
        /* Of a negative q the base that is nearest to zero wins. */
        out_of_range(out, size, q < 0 && fmod(s, 2) == 1 && mpfr_cmp_d(f, 0.5) > 0);
    } else {
        zeta_in_range(out, order, start, f, precision);
    }
    mpfr_clears(order, start, f, (mpfr_ptr)0);
}

void special_polygamma(struct special_value *out, double n, double x, mpfr_prec_t precision)
{
    mpfr_t order, start, f, factorial, size;
    mpfr_inits2(EXACT_PRECISION, order, start, f, (mpfr_ptr)0);
    mpfr_set_d(order, n, MPFR_RNDN);
    mpfr_add_ui(order, order, 1, MPFR_RNDN);
    mpfr_inits2(estimate_bits(order), factorial, size, (mpfr_ptr)0);
    mpfr_set_d(start, x, MPFR_RNDN);
    /* log2 of n! times the largest term */
    mpfr_lngamma(factorial, order, MPFR_RNDN);
    mpfr_const_log2(size, MPFR_RNDN);
    mpfr_div(size, factorial, size, MPFR_RNDN);
    mpfr_add_d(size, size, largest_term(order, start, f), MPFR_RNDN);
    const double exponent = mpfr_get_d(size, MPFR_RNDN);
    const bool even = fmod(n, 2) == 0;
    /* Of such n that n! leaves even MPFR's range, in range is only what is known not to a factor.
     */
    if (fabs(exponent) > range || n > 1e15) {
        const bool negative = x < 0 && even && mpfr_cmp_d(f, 0.5) > 0;
        out_of_range(out, exponent, negative != even);
    } else {
        /* n! = exp(log n!), where the logarithm has its integer bits to spare. */
        mpfr_exp_t extra = mpfr_get_exp(factorial);
        zeta_in_range(out, order, start, f, precision);
        mpfr_set_prec(factorial, precision + 16 + (extra > 0 ? extra : 0));
        mpfr_lngamma(factorial, order, MPFR_RNDN);
        mpfr_exp(factorial, factorial, MPFR_RNDN);
        mpfr_mul(out->error, out->error, factorial, MPFR_RNDU);
        mpfr_mul_d(out->error, out->error, 1 + 0x1p-20, MPFR_RNDU);
        mpfr_mul(out->value, out->value, factorial, MPFR_RNDN);
        add_error(out, out->value, 4, precision);
        mpfr_setsign(out->value, out->value, even != (mpfr_sgn(out->value) < 0), MPFR_RNDN);
    }
    mpfr_clears(order, start, f, factorial, size, (mpfr_ptr)0);
}
