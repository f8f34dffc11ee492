/* Complex functions: arithmetic in exact doubles, the rest by a guess in doubles where one is cheap
 * and sure, else by MPFR formulas at growing precision. Infinities and NaN go to C's own complex
 * functions, which follow C99 Annex G. */
#include <complex.h>
#include <math.h>

#include "hlo/floats.h"
#include "interp/exact.h"
#include "interp/exact_internal.h"
#include "interp/exact_sum.h"

#ifndef CMPLX
#define CMPLX(x, y) __builtin_complex((double)(x), (double)(y))
#endif

enum { FIRST_PRECISION = 192, LAST_PRECISION = 6144 };

struct parts {
    double re, im;
};

static struct parts parts_of(double complex z)
{
    return (struct parts){creal(z), cimag(z)};
}

static struct parts round_parts(enum type part, struct parts z)
{
    return (struct parts){float_round(part, isnan(z.re) ? NAN : z.re),
                          float_round(part, isnan(z.im) ? NAN : z.im)};
}

static bool is_finite(struct parts z)
{
    return isfinite(z.re) && isfinite(z.im);
}

/* --- Ziv's loop over MPFR formulas. ------------------------------------------------------------
 */

/* Rounds `fine` if its distance to `coarse`, the value at half the precision, is far larger than
 * any error of it and does not reach a rounding boundary. At the last precision, rounds anyway:
 * then the value lies on a boundary exactly, as far as thousands of bits can tell. */
static bool agree(enum type part, mpfr_srcptr coarse, mpfr_srcptr fine, bool last, double *out)
{
    if (mpfr_nan_p(fine) || mpfr_inf_p(fine) || mpfr_zero_p(fine) || last) {
        *out = exact_from_mpfr(part, fine, false);
        return last || mpfr_nan_p(fine) || mpfr_equal_p(coarse, fine);
    }
    mpfr_t distance, low, high;
    mpfr_inits2(mpfr_get_prec(fine), distance, low, high, (mpfr_ptr)0);
    mpfr_sub(distance, fine, coarse, MPFR_RNDA);
    mpfr_abs(distance, distance, MPFR_RNDA);
    mpfr_sub(low, fine, distance, MPFR_RNDD);
    mpfr_add(high, fine, distance, MPFR_RNDU);
    double low_value = exact_from_mpfr(part, low, false);
    *out = exact_from_mpfr(part, high, false);
    mpfr_clears(distance, low, high, (mpfr_ptr)0);
    return low_value == *out && signbit(low_value) == signbit(*out);
}

/* A unary function, or a binary one where b is not NULL. */
static struct parts by_formula(int function, enum type part, const struct parts *a,
                               const struct parts *b)
{
    struct exact_complex x, y, coarse, fine;
    exact_complex_start(&x, 53);
    exact_complex_start(&y, 53);
    exact_complex_start(&coarse, FIRST_PRECISION);
    mpfr_set_d(x.re, a->re, MPFR_RNDN);
    mpfr_set_d(x.im, a->im, MPFR_RNDN);
    if (b != NULL) {
        mpfr_set_d(y.re, b->re, MPFR_RNDN);
        mpfr_set_d(y.im, b->im, MPFR_RNDN);
    }
    struct parts result;
    bool done = false;
    for (mpfr_prec_t precision = FIRST_PRECISION; !done; precision *= 2) {
        exact_complex_start(&fine, precision);
        if (b != NULL) {
            exact_complex_formula_binary((enum exact_binary_function)function, &fine, &x, &y);
        } else {
            exact_complex_formula((enum exact_function)function, &fine, &x);
        }
        if (precision > FIRST_PRECISION) {
            const bool last = precision >= LAST_PRECISION;
            done = agree(part, coarse.re, fine.re, last, &result.re);
            done = agree(part, coarse.im, fine.im, last, &result.im) && done;
            result = round_parts(part, result);
        }
        exact_complex_finish(&coarse);
        coarse = fine;
    }
    exact_complex_finish(&coarse);
    exact_complex_finish(&x);
    exact_complex_finish(&y);
    return result;
}

/* --- Unary functions. --------------------------------------------------------------------------
 */

/* C99 Annex G for infinities and NaN; functions that C lacks by their definitions. */
static double complex limit(enum exact_function function, double complex z)
{
    switch (function) {
    case EXACT_ACOS:
        return cacos(z);
    case EXACT_ACOSH:
        return cacosh(z);
    case EXACT_ASIN:
        return casin(z);
    case EXACT_ASINH:
        return casinh(z);
    case EXACT_ATAN:
        return catan(z);
    case EXACT_ATANH:
        return catanh(z);
    case EXACT_CBRT: {
        const double angle = carg(z) / 3, size = cbrt(cabs(z));
        return CMPLX(size * cos(angle), angle == 0 ? angle : size * sin(angle));
    }
    case EXACT_COS:
        return ccos(z);
    case EXACT_COSH:
        return ccosh(z);
    case EXACT_EXP:
        return cexp(z);
    case EXACT_EXPM1: {
        const double complex power = cexp(z);
        return CMPLX(creal(power) - 1, cimag(power));
    }
    case EXACT_LOG:
        return clog(z);
    case EXACT_LOG1P:
        return clog(CMPLX(creal(z) + 1, cimag(z)));
    case EXACT_LOGISTIC: {
        const double complex power = cexp(CMPLX(-creal(z), -cimag(z)));
        if (isinf(creal(power)) || isinf(cimag(power))) {
            return CMPLX(0, copysign(0, cimag(z)));
        }
        return power == 0 ? CMPLX(1, copysign(0, cimag(z))) : CMPLX(NAN, NAN);
    }
    case EXACT_RSQRT:
        if (isinf(creal(z)) || isinf(cimag(z))) {
            return CMPLX(0, copysign(0, -cimag(z)));
        }
        return CMPLX(NAN, NAN);
    case EXACT_SIN:
        return csin(z);
    case EXACT_SINH:
        return csinh(z);
    case EXACT_SQRT:
        return csqrt(z);
    case EXACT_TAN:
        return ctan(z);
    case EXACT_TANH:
        return ctanh(z);
    default: /* erf, erfc */
        return CMPLX(NAN, NAN);
    }
}

/* Zeros and poles where the MPFR formulas would divide zero by zero. */
static bool pole(enum exact_function function, struct parts z, struct parts *out)
{
    if (function == EXACT_RSQRT && z.re == 0 && z.im == 0) {
        *out = (struct parts){INFINITY, NAN};
        return true;
    }
    if ((function == EXACT_ATANH && z.im == 0 && fabs(z.re) == 1) ||
        (function == EXACT_ATAN && z.re == 0 && fabs(z.im) == 1) ||
        (function == EXACT_LOG && z.re == 0 && z.im == 0)) {
        *out = parts_of(limit(function, CMPLX(z.re, z.im)));
        return true;
    }
    return false;
}

/* Values in double for arguments of f32 within a relative error of EXACT_LIBM_SLACK in each part;
 * false where cancellation or overflow could spoil it. */
static bool guess(enum exact_function function, struct parts z, struct parts *out)
{
    const double x = z.re, y = z.im;
    switch (function) {
    case EXACT_EXP:
        *out = (struct parts){exp(x) * cos(y), exp(x) * sin(y)};
        break;
    case EXACT_LOG: {
        const double square = x * x + y * y;
        *out = (struct parts){0.5 * log(square), atan2(y, x)};
        return square < 0.5 || square > 2;
    }
    case EXACT_SQRT: {
        const double large = sqrt((fabs(x) + sqrt(x * x + y * y)) / 2);
        const double small = fabs(y) / large / 2;
        *out = (struct parts){signbit(x) ? small : large, copysign(signbit(x) ? large : small, y)};
        return large > 0;
    }
    case EXACT_SIN:
        *out = (struct parts){sin(x) * cosh(y), cos(x) * sinh(y)};
        break;
    case EXACT_COS:
        *out = (struct parts){cos(x) * cosh(y), -(sin(x) * sinh(y))};
        break;
    case EXACT_SINH:
        *out = (struct parts){sinh(x) * cos(y), cosh(x) * sin(y)};
        break;
    case EXACT_COSH:
        *out = (struct parts){cosh(x) * cos(y), sinh(x) * sin(y)};
        break;
    case EXACT_TANH: {
        const double square = sinh(x) * sinh(x) + cos(y) * cos(y);
        *out = (struct parts){sinh(x) * cosh(x) / square, sin(y) * cos(y) / square};
        return fabs(x) < 300;
    }
    default:
        return false;
    }
    return fabs(x) < 600 && fabs(y) < 600;
}

static struct parts unary_one(enum exact_function function, enum type part, struct parts z)
{
    struct parts value, rounded;
    if (!is_finite(z)) {
        return round_parts(part, parts_of(limit(function, CMPLX(z.re, z.im))));
    }
    if (pole(function, z, &value)) {
        return round_parts(part, value);
    }
    if (part != TYPE_F64 && guess(function, z, &value) &&
        exact_decided(part, value.re, EXACT_LIBM_SLACK, &rounded.re) &&
        exact_decided(part, value.im, EXACT_LIBM_SLACK, &rounded.im)) {
        return rounded;
    }
    return by_formula((int)function, part, &z, NULL);
}

void exact_complex_unary(enum exact_function function, enum type part, const double *in_re,
                         const double *in_im, double *out_re, double *out_im, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        struct parts value = unary_one(function, part, (struct parts){in_re[i], in_im[i]});
        out_re[i] = value.re;
        out_im[i] = value.im;
    }
}

/* --- Absolute value and sign. ------------------------------------------------------------------
 */

static double abs_one(enum type part, struct parts z)
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
    struct exact_complex x;
    mpfr_t size;
    exact_complex_start(&x, 53);
    mpfr_init2(size, 64);
    mpfr_set_d(x.re, z.re, MPFR_RNDN);
    mpfr_set_d(x.im, z.im, MPFR_RNDN);
    int inexact = mpfr_hypot(size, x.re, x.im, MPFR_RNDZ);
    value = exact_from_mpfr(part, size, inexact != 0);
    mpfr_clear(size);
    exact_complex_finish(&x);
    return value;
}

void exact_complex_abs(enum type part, const double *in_re, const double *in_im, double *out,
                       int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        out[i] = abs_one(part, (struct parts){in_re[i], in_im[i]});
    }
}

/* part / |z|, by Ziv's loop: |z| is irrational or so short that the quotient is decided. */
static double sign_part(enum type type, double numerator, struct parts z)
{
    double value = 0;
    mpfr_t coarse, fine, x, y;
    mpfr_inits2(53, x, y, (mpfr_ptr)0);
    mpfr_init2(coarse, FIRST_PRECISION);
    mpfr_set_d(x, z.re, MPFR_RNDN);
    mpfr_set_d(y, z.im, MPFR_RNDN);
    bool done = false;
    for (mpfr_prec_t precision = FIRST_PRECISION; !done; precision *= 2) {
        mpfr_init2(fine, precision);
        mpfr_hypot(fine, x, y, MPFR_RNDN);
        mpfr_d_div(fine, numerator, fine, MPFR_RNDN);
        done = precision > FIRST_PRECISION &&
               agree(type, coarse, fine, precision >= LAST_PRECISION, &value);
        mpfr_swap(coarse, fine);
        mpfr_clear(fine);
    }
    mpfr_clears(coarse, x, y, (mpfr_ptr)0);
    return value;
}

static double sign_one(enum type part, double numerator, struct parts z)
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
    return sign_part(part, numerator, z);
}

void exact_complex_sign(enum type part, const double *in_re, const double *in_im, double *out_re,
                        double *out_im, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const struct parts z = {in_re[i], in_im[i]};
        if (is_finite(z)) {
            out_re[i] = sign_one(part, z.re, z);
            out_im[i] = sign_one(part, z.im, z);
        } else {
            const double size = isnan(z.re) || isnan(z.im) ? NAN : INFINITY;
            const struct parts quotient =
                round_parts(part, (struct parts){z.re / size, z.im / size});
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

static struct parts binary_one(enum exact_binary_function function, enum type part, struct parts a,
                               struct parts b)
{
    const bool finite = is_finite(a) && is_finite(b);
    const bool b_zero = b.re == 0 && b.im == 0;
    const double complex x = CMPLX(a.re, a.im), y = CMPLX(b.re, b.im);
    switch (function) {
    case EXACT_ADD:
        return round_parts(part, (struct parts){a.re + b.re, a.im + b.im});
    case EXACT_SUBTRACT:
        return round_parts(part, (struct parts){a.re - b.re, a.im - b.im});
    case EXACT_MULTIPLY:
        return finite ? (struct parts){product_sum(part, a.re, b.re, -a.im, b.im),
                                       product_sum(part, a.re, b.im, a.im, b.re)}
                      : round_parts(part, parts_of(x * y));
    case EXACT_DIVIDE:
        return finite && !b_zero
                   ? (struct parts){product_sum_quotient(part, a.re, b.re, a.im, b.im, b.re, b.im),
                                    product_sum_quotient(part, a.im, b.re, -a.re, b.im, b.re, b.im)}
                   : round_parts(part, parts_of(x / y));
    case EXACT_POWER:
        if (b_zero) {
            return (struct parts){1, 0};
        }
        if (b.re == 1 && b.im == 0) {
            return round_parts(part, a);
        }
        if (b.re == 2 && b.im == 0) {
            return binary_one(EXACT_MULTIPLY, part, a, a);
        }
        if (a.re == 0 && a.im == 0 && b.re > 0 && finite) {
            return (struct parts){0, 0};
        }
        if (!finite || (a.re == 0 && a.im == 0)) {
            return round_parts(part, parts_of(cpow(x, y)));
        }
        return by_formula((int)function, part, &a, &b);
    case EXACT_ATAN2:
        if (!finite || (a.re == 0 && a.im == 0 && b_zero)) {
            return a.im == 0 && b.im == 0 ? round_parts(part, (struct parts){atan2(a.re, b.re), 0})
                                          : (struct parts){NAN, NAN};
        }
        return by_formula((int)function, part, &a, &b);
    case EXACT_REMAINDER:
        break;
    }
    return (struct parts){NAN, NAN};
}

void exact_complex_binary(enum exact_binary_function function, enum type part, const double *a_re,
                          const double *a_im, const double *b_re, const double *b_im,
                          double *out_re, double *out_im, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        struct parts value = binary_one(function, part, (struct parts){a_re[i], a_im[i]},
                                        (struct parts){b_re[i], b_im[i]});
        out_re[i] = value.re;
        out_im[i] = value.im;
    }
}
