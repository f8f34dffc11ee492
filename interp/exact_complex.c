/* Complex functions: arithmetic in exact doubles, the rest by a guess in doubles where one is cheap
 * and sure, else in balls of long doubles (exact_complex_guess.c), else in intervals of MPFR
 * (exact_complex_mpfr.c). Infinities and NaN are in exact_complex_limits.c. */
#include <math.h>

#include "hlo/floats.h"
#include "interp/exact.h"
#include "interp/exact_internal.h"
#include "interp/exact_sum.h"

static struct exact_parts round_parts(enum type part, struct exact_parts z)
{
    return (struct exact_parts){float_round(part, isnan(z.re) ? NAN : z.re),
                                float_round(part, isnan(z.im) ? NAN : z.im)};
}

static bool is_finite(struct exact_parts z)
{
    return isfinite(z.re) && isfinite(z.im);
}

/* --- Unary functions. --------------------------------------------------------------------------
 */

/* Zeros and poles where the MPFR formulas would divide zero by zero. */
static bool pole(enum exact_function function, struct exact_parts z, struct exact_parts *out)
{
    if (function == EXACT_RSQRT && z.re == 0 && z.im == 0) {
        *out = (struct exact_parts){INFINITY, NAN};
        return true;
    }
    if ((function == EXACT_ATANH && z.im == 0 && fabs(z.re) == 1) ||
        (function == EXACT_ATAN && z.re == 0 && fabs(z.im) == 1) ||
        (function == EXACT_LOG && z.re == 0 && z.im == 0)) {
        /* log 0 = −∞ + i arg z; atanh ±1 = ±∞ + i0 sign(y); atan turns that. */
        *out = function == EXACT_LOG     ? (struct exact_parts){-INFINITY, atan2(z.im, z.re)}
               : function == EXACT_ATANH ? (struct exact_parts){copysign(INFINITY, z.re), z.im}
                                         : (struct exact_parts){z.re, copysign(INFINITY, z.im)};
        return true;
    }
    return false;
}

/* Values in double for arguments of f32 within a relative error of EXACT_LIBM_SLACK in each part;
 * false where cancellation or overflow could spoil it. */
static bool guess(enum exact_function function, struct exact_parts z, struct exact_parts *out)
{
    const double x = z.re, y = z.im;
    switch (function) {
    case EXACT_EXP:
        *out = (struct exact_parts){exp(x) * cos(y), exp(x) * sin(y)};
        break;
    case EXACT_LOG: {
        const double square = x * x + y * y;
        *out = (struct exact_parts){0.5 * log(square), atan2(y, x)};
        return square < 0.5 || square > 2;
    }
    case EXACT_SQRT: {
        const double large = sqrt((fabs(x) + sqrt(x * x + y * y)) / 2);
        const double small = fabs(y) / large / 2;
        *out = (struct exact_parts){signbit(x) ? small : large,
                                    copysign(signbit(x) ? large : small, y)};
        return large > 0;
    }
    case EXACT_SIN:
        *out = (struct exact_parts){sin(x) * cosh(y), cos(x) * sinh(y)};
        break;
    case EXACT_COS:
        *out = (struct exact_parts){cos(x) * cosh(y), -(sin(x) * sinh(y))};
        break;
    case EXACT_SINH:
        *out = (struct exact_parts){sinh(x) * cos(y), cosh(x) * sin(y)};
        break;
    case EXACT_COSH:
        *out = (struct exact_parts){cosh(x) * cos(y), sinh(x) * sin(y)};
        break;
    case EXACT_TANH: {
        const double square = sinh(x) * sinh(x) + cos(y) * cos(y);
        *out = (struct exact_parts){sinh(x) * cosh(x) / square, sin(y) * cos(y) / square};
        return fabs(x) < 300;
    }
    default:
        return false;
    }
    return fabs(x) < 600 && fabs(y) < 600;
}

static struct exact_parts unary_one(enum exact_function function, enum type part,
                                    struct exact_parts z)
{
    struct exact_parts value, rounded;
    if (!is_finite(z) || function == EXACT_ERF || function == EXACT_ERFC) {
        return round_parts(part, exact_complex_limit(function, z));
    }
    if (pole(function, z, &value)) {
        return round_parts(part, value);
    }
    if (part != TYPE_F64 && guess(function, z, &value) &&
        exact_decided(part, value.re, EXACT_LIBM_SLACK, &rounded.re) &&
        exact_decided(part, value.im, EXACT_LIBM_SLACK, &rounded.im)) {
        return rounded;
    }
    const int proved = exact_complex_guess(function, part, z, &value);
    if (proved != EXACT_BOTH) {
        rounded = exact_complex_mpfr(function, part, z, EXACT_BOTH & ~proved);
        value.re = (proved & EXACT_RE) != 0 ? value.re : rounded.re;
        value.im = (proved & EXACT_IM) != 0 ? value.im : rounded.im;
    }
    return round_parts(part, value);
}

void exact_complex_unary(enum exact_function function, enum type part, const double *in_re,
                         const double *in_im, double *out_re, double *out_im, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        struct exact_parts value =
            unary_one(function, part, (struct exact_parts){in_re[i], in_im[i]});
        out_re[i] = value.re;
        out_im[i] = value.im;
    }
}

/* --- Absolute value and sign. ------------------------------------------------------------------
 */

static double abs_one(enum type part, struct exact_parts z)
{
    double value;
    if (!is_finite(z) || z.re == 0 || z.im == 0) {
        value = hypot(z.re, z.im);
        return float_round(part, isnan(value) ? NAN : value);
    }
    if (part == TYPE_F64) {
        if (exact_decided_wide(hypotl(z.re, z.im), &value)) {
            return value;
        }
    } else if (exact_decided(part, sqrt(z.re * z.re + z.im * z.im), EXACT_LIBM_SLACK, &value)) {
        return value;
    }
    mpfr_t x, y, size;
    mpfr_inits2(53, x, y, (mpfr_ptr)0);
    mpfr_init2(size, 64);
    mpfr_set_d(x, z.re, MPFR_RNDN);
    mpfr_set_d(y, z.im, MPFR_RNDN);
    const int inexact = mpfr_hypot(size, x, y, MPFR_RNDZ);
    value = exact_from_mpfr(part, size, inexact != 0);
    mpfr_clears(x, y, size, (mpfr_ptr)0);
    return value;
}

void exact_complex_abs(enum type part, const double *in_re, const double *in_im, double *out,
                       int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        out[i] = abs_one(part, (struct exact_parts){in_re[i], in_im[i]});
    }
}

static double sign_one(enum type part, double numerator, struct exact_parts z)
{
    double value;
    if (numerator == 0) {
        return numerator;
    }
    if (part != TYPE_F64) {
        double quotient = numerator / sqrt(z.re * z.re + z.im * z.im);
        if (exact_decided(part, quotient, EXACT_LIBM_SLACK, &value)) {
            return value;
        }
    } else if (exact_decided_wide(numerator / hypotl(z.re, z.im), &value)) {
        return value;
    }
    return exact_complex_mpfr_sign(part, numerator, z);
}

void exact_complex_sign(enum type part, const double *in_re, const double *in_im, double *out_re,
                        double *out_im, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const struct exact_parts z = {in_re[i], in_im[i]};
        if (is_finite(z)) {
            out_re[i] = sign_one(part, z.re, z);
            out_im[i] = sign_one(part, z.im, z);
        } else {
            const double size = isnan(z.re) || isnan(z.im) ? NAN : INFINITY;
            const struct exact_parts quotient =
                round_parts(part, (struct exact_parts){z.re / size, z.im / size});
            out_re[i] = quotient.re;
            out_im[i] = quotient.im;
        }
    }
}

/* --- Arithmetic. -------------------------------------------------------------------------------
 */

/* a * b ± c * d exactly, rounded to f64 or (value, tail) of less. */
static double product_sum(enum type part, double a, double b, double c, double d)
{
    if (part != TYPE_F64) {
        const double first = a * b, second = c * d; /* exact: 48 bits */
        const double sum = first + second;
        const double share = sum - first;
        const double tail = (first - (sum - share)) + (second - share);
        return float_round(part, float_round_to_odd(sum, tail));
    }
    struct exact_accumulator accumulator;
    exact_accumulator_init(&accumulator);
    exact_accumulator_add_product(&accumulator, a, b);
    exact_accumulator_add_product(&accumulator, c, d);
    return exact_accumulator_round(&accumulator, part);
}

/* (a * b + c * d) / (e * e + f * f), all finite, the divisor not zero. */
static double product_sum_quotient(enum type part, double a, double b, double c, double d, double e,
                                   double f)
{
    double value;
    if (part != TYPE_F64) {
        const double numerator = a * b + c * d; /* one rounding each: the products are exact */
        if (numerator == 0 ||
            exact_decided(part, numerator / (e * e + f * f), EXACT_LIBM_SLACK, &value)) {
            return numerator == 0 ? numerator : value;
        }
    } else if (exact_complex_guess_quotient(part, a, b, c, d, e, f, &value)) {
        return value;
    }
    /* Products and sums of f64 fit in 4400 bits; the quotient rounds once. */
    mpfr_t x, y, product, numerator, denominator, quotient;
    mpfr_inits2(53, x, y, (mpfr_ptr)0);
    mpfr_inits2(4400, product, numerator, denominator, (mpfr_ptr)0);
    mpfr_init2(quotient, 64);
    mpfr_set_d(x, a, MPFR_RNDN);
    mpfr_mul_d(numerator, x, b, MPFR_RNDN);
    mpfr_set_d(y, c, MPFR_RNDN);
    mpfr_mul_d(product, y, d, MPFR_RNDN);
    mpfr_add(numerator, numerator, product, MPFR_RNDN);
    mpfr_set_d(x, e, MPFR_RNDN);
    mpfr_set_d(y, f, MPFR_RNDN);
    mpfr_sqr(denominator, x, MPFR_RNDN);
    mpfr_sqr(product, y, MPFR_RNDN);
    mpfr_add(denominator, denominator, product, MPFR_RNDN);
    int inexact = mpfr_div(quotient, numerator, denominator, MPFR_RNDZ);
    value = exact_from_mpfr(part, quotient, inexact != 0);
    mpfr_clears(x, y, product, numerator, denominator, quotient, (mpfr_ptr)0);
    return value;
}

/* a * b + c * d = 0, exactly. */
static bool sum_is_zero(double a, double b, double c, double d)
{
    mpfr_t x, y, z, w, sum;
    mpfr_inits2(53, x, y, z, w, sum, (mpfr_ptr)0);
    mpfr_set_d(x, a, MPFR_RNDN);
    mpfr_set_d(y, b, MPFR_RNDN);
    mpfr_set_d(z, c, MPFR_RNDN);
    mpfr_set_d(w, d, MPFR_RNDN);
    mpfr_fmma(sum, x, y, z, w, MPFR_RNDN);
    const bool zero = mpfr_zero_p(sum) != 0;
    mpfr_clears(x, y, z, w, sum, (mpfr_ptr)0);
    return zero;
}

/* Parts of atan2(a, b) that are zero or π by the ratio of a and b, which no interval shows: a real
 * ratio has a real angle, a small imaginary one an imaginary angle, turned by π in the left half
 * plane of b. At a = ±ib is a pole. */
static int atan2_special(struct exact_parts a, struct exact_parts b, struct exact_parts *out)
{
    const double side = b.re != 0 ? b.re : b.im;
    int known = 0;
    if ((b.re == a.im && b.im == -a.re) || (b.re == -a.im && b.im == a.re)) {
        *out = (struct exact_parts){NAN, NAN};
        return EXACT_BOTH;
    }
    if (sum_is_zero(a.re, b.im, -a.im, b.re)) {
        out->im = 0;
        known |= EXACT_IM;
    }
    if (sum_is_zero(a.re, b.re, a.im, b.im) && hypot(a.re, a.im) < hypot(b.re, b.im)) {
        out->re = atan2(a.re == 0 && a.im == 0 ? a.re : 0, side);
        known |= EXACT_RE;
    }
    return known;
}

/* POWER and ATAN2 of finite numbers. */
static struct exact_parts finite_binary(enum exact_binary_function function, enum type part,
                                        struct exact_parts a, struct exact_parts b)
{
    struct exact_parts value = {NAN, NAN};
    const bool special = function == EXACT_POWER && exact_complex_power_is_special(a, b);
    int proved = special ? 0 : exact_complex_guess_binary(function, part, a, b, &value);
    if (proved != EXACT_BOTH && function == EXACT_ATAN2) {
        struct exact_parts known;
        const int found = atan2_special(a, b, &known);
        value.re = (found & EXACT_RE) != 0 ? known.re : value.re;
        value.im = (found & EXACT_IM) != 0 ? known.im : value.im;
        proved |= found;
    }
    if (proved != EXACT_BOTH) {
        const struct exact_parts rounded =
            exact_complex_mpfr_binary(function, part, a, b, EXACT_BOTH & ~proved);
        value.re = (proved & EXACT_RE) != 0 ? value.re : rounded.re;
        value.im = (proved & EXACT_IM) != 0 ? value.im : rounded.im;
    }
    return round_parts(part, value);
}

/* exp(b log a) where something is infinite, NaN or log 0 (C99 G.6.4.1). */
static struct exact_parts power_limit(struct exact_parts a, struct exact_parts b)
{
    const struct exact_parts log = unary_one(EXACT_LOG, TYPE_F64, a);
    const struct exact_parts exponent = exact_complex_multiply_limit(b, log);
    return unary_one(EXACT_EXP, TYPE_F64, exponent);
}

static struct exact_parts binary_one(enum exact_binary_function function, enum type part,
                                     struct exact_parts a, struct exact_parts b)
{
    const bool finite = is_finite(a) && is_finite(b);
    const bool b_zero = b.re == 0 && b.im == 0;
    switch (function) {
    case EXACT_ADD:
        return round_parts(part, (struct exact_parts){a.re + b.re, a.im + b.im});
    case EXACT_SUBTRACT:
        return round_parts(part, (struct exact_parts){a.re - b.re, a.im - b.im});
    case EXACT_MULTIPLY:
        return finite ? (struct exact_parts){product_sum(part, a.re, b.re, -a.im, b.im),
                                             product_sum(part, a.re, b.im, a.im, b.re)}
                      : round_parts(part, exact_complex_multiply_limit(a, b));
    case EXACT_DIVIDE:
        return finite && !b_zero
                   ? (struct exact_parts){product_sum_quotient(part, a.re, b.re, a.im, b.im, b.re,
                                                               b.im),
                                          product_sum_quotient(part, a.im, b.re, -a.re, b.im, b.re,
                                                               b.im)}
                   : round_parts(part, exact_complex_divide_limit(a, b));
    case EXACT_POWER:
        if (b_zero) {
            return (struct exact_parts){1, 0};
        }
        if (b.re == 1 && b.im == 0) {
            return round_parts(part, a);
        }
        if (b.re == 2 && b.im == 0) {
            return binary_one(EXACT_MULTIPLY, part, a, a);
        }
        if (a.re == 0 && a.im == 0 && b.re > 0 && finite) {
            return (struct exact_parts){0, 0};
        }
        if (!finite || (a.re == 0 && a.im == 0)) {
            return round_parts(part, power_limit(a, b));
        }
        return finite_binary(function, part, a, b);
    case EXACT_ATAN2:
        if (!finite || (a.re == 0 && a.im == 0 && b_zero)) {
            return a.im == 0 && b.im == 0
                       ? round_parts(part, (struct exact_parts){atan2(a.re, b.re), 0})
                       : (struct exact_parts){NAN, NAN};
        }
        return finite_binary(function, part, a, b);
    case EXACT_REMAINDER:
        break;
    }
    return (struct exact_parts){NAN, NAN};
}

void exact_complex_binary(enum exact_binary_function function, enum type part, const double *a_re,
                          const double *a_im, const double *b_re, const double *b_im,
                          double *out_re, double *out_im, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        struct exact_parts value =
            binary_one(function, part, (struct exact_parts){a_re[i], a_im[i]},
                       (struct exact_parts){b_re[i], b_im[i]});
        out_re[i] = value.re;
        out_im[i] = value.im;
    }
}
