/* Complex functions of infinities and NaN: the tables of C99 Annex G.6 (with C17's corrections of
 * ctanh and cacosh), and what follows from them for the functions that C lacks; products and
 * quotients by G.5.1. Each function of one argument here takes arguments whose imaginary part is
 * not negative; the others are conjugates. A result whose sign the standard leaves open is
 * positive. */
#include <math.h>

#include "interp/exact_internal.h"

#define PI 3.14159265358979323846
#define THREE_QUARTERS 2.35619449019234492885 /* of π */

static struct exact_parts parts(double re, double im)
{
    return (struct exact_parts){re, im};
}

/* size * (cos y + i sin y) for an infinite or zero size: only the signs count. */
static struct exact_parts directed(double size, double y)
{
    if (y == 0) {
        return parts(size, y);
    }
    return isfinite(y) ? parts(copysign(size, cos(y)), copysign(size, sin(y)))
                       : parts(size, isinf(size) ? NAN : size);
}

static struct exact_parts limit_exp(double x, double y)
{
    if (isinf(x)) {
        return directed(x > 0 ? INFINITY : 0, y);
    }
    return parts(NAN, isnan(x) && y == 0 ? y : NAN);
}

static struct exact_parts limit_log(double x, double y)
{
    if (isinf(y)) {
        return parts(INFINITY, isnan(x)   ? NAN
                               : isinf(x) ? (x > 0 ? PI / 4 : THREE_QUARTERS)
                                          : PI / 2);
    }
    if (isinf(x)) {
        return parts(INFINITY, isnan(y) ? NAN : x > 0 ? 0 : PI);
    }
    return parts(NAN, NAN);
}

static struct exact_parts limit_sqrt(double x, double y)
{
    if (isinf(y)) {
        return parts(INFINITY, INFINITY);
    }
    if (isinf(x)) {
        return x > 0 ? parts(INFINITY, isnan(y) ? NAN : 0) : parts(isnan(y) ? NAN : 0, INFINITY);
    }
    return parts(NAN, NAN);
}

static struct exact_parts limit_sinh(double x, double y)
{
    if (isinf(x)) {
        const struct exact_parts out = directed(INFINITY, y);
        return parts(copysign(out.re, isfinite(y) ? x * out.re : 1), out.im);
    }
    if (x == 0) {
        return parts(x, NAN);
    }
    return parts(NAN, isnan(x) && y == 0 ? y : NAN);
}

static struct exact_parts limit_cosh(double x, double y)
{
    if (isinf(x)) {
        const struct exact_parts out = directed(INFINITY, y);
        return parts(out.re, x < 0 ? -out.im : out.im);
    }
    if (x == 0) {
        return parts(NAN, x);
    }
    return parts(NAN, isnan(x) && y == 0 ? y : NAN);
}

static struct exact_parts limit_tanh(double x, double y)
{
    if (isinf(x)) {
        return parts(copysign(1, x), isfinite(y) ? copysign(0, sin(2 * y)) : 0);
    }
    if (x == 0) {
        return parts(x, NAN);
    }
    return parts(NAN, isnan(x) && y == 0 ? y : NAN);
}

static struct exact_parts limit_acos(double x, double y)
{
    if (isinf(y)) {
        const double angle = isnan(x) ? NAN : isinf(x) ? (x > 0 ? PI / 4 : THREE_QUARTERS) : PI / 2;
        return parts(angle, -INFINITY);
    }
    if (isinf(x)) {
        return parts(isnan(y) ? NAN : x > 0 ? 0 : PI, -INFINITY);
    }
    return parts(x == 0 ? PI / 2 : NAN, NAN);
}

static struct exact_parts limit_acosh(double x, double y)
{
    if (x == 0 && isnan(y)) {
        return parts(NAN, PI / 2);
    }
    return limit_log(x, y); /* the same at infinity */
}

static struct exact_parts limit_asinh(double x, double y)
{
    if (isinf(y)) {
        const double angle = isnan(x) ? NAN : isinf(x) ? PI / 4 : PI / 2;
        return parts(copysign(INFINITY, isnan(x) ? 1 : x), angle);
    }
    if (isinf(x)) {
        return parts(x, isnan(y) ? NAN : 0);
    }
    return parts(NAN, y == 0 ? y : NAN);
}

static struct exact_parts limit_atanh(double x, double y)
{
    if (isinf(x) || isinf(y)) {
        return parts(copysign(0, isnan(x) ? 1 : x), isnan(y) ? NAN : PI / 2);
    }
    return parts(x == 0 ? x : NAN, NAN);
}

/* --- what C lacks --- */

static struct exact_parts limit_expm1(double x, double y)
{
    const struct exact_parts power = limit_exp(x, y);
    return parts(power.re - 1, power.im);
}

static struct exact_parts limit_log1p(double x, double y)
{
    return limit_log(x + 1, y);
}

/* 1 / (1 + exp(−z)): 1 + i0 sin y on the right, exp(z) on the left. */
static struct exact_parts limit_logistic(double x, double y)
{
    if (isinf(x) && x > 0) {
        return parts(1, directed(0, y).im);
    }
    return limit_exp(x, y);
}

/* 1 / √z vanishes at infinity, with the sign of −y. */
static struct exact_parts limit_rsqrt(double x, double y)
{
    return isinf(x) || isinf(y) ? parts(0, -0.0) : parts(NAN, NAN);
}

/* At a third of the angle. */
static struct exact_parts limit_cbrt(double x, double y)
{
    const struct exact_parts log = limit_log(x, y);
    if (isnan(log.im)) {
        return parts(isinf(log.re) ? INFINITY : NAN, NAN);
    }
    return parts(INFINITY, log.im == 0 ? 0 : INFINITY);
}

static struct exact_parts conjugate_limit(struct exact_parts (*limit)(double, double), double x,
                                          double y)
{
    const struct exact_parts out = limit(x, fabs(y));
    return parts(out.re, signbit(y) && !isnan(y) ? -out.im : out.im);
}

/* f(z) = −i g(iz), as among the finite numbers. */
static struct exact_parts turned(struct exact_parts (*limit)(double, double), double x, double y)
{
    const struct exact_parts out = conjugate_limit(limit, -y, x);
    return parts(out.im, -out.re);
}

struct exact_parts exact_complex_limit(enum exact_function function, struct exact_parts z)
{
    static struct exact_parts (*const limits[])(double, double) = {
        [EXACT_ACOS] = limit_acos,   [EXACT_ACOSH] = limit_acosh,       [EXACT_ASINH] = limit_asinh,
        [EXACT_ATANH] = limit_atanh, [EXACT_CBRT] = limit_cbrt,         [EXACT_COSH] = limit_cosh,
        [EXACT_EXP] = limit_exp,     [EXACT_EXPM1] = limit_expm1,       [EXACT_LOG] = limit_log,
        [EXACT_LOG1P] = limit_log1p, [EXACT_LOGISTIC] = limit_logistic, [EXACT_RSQRT] = limit_rsqrt,
        [EXACT_SINH] = limit_sinh,   [EXACT_SQRT] = limit_sqrt,         [EXACT_TANH] = limit_tanh,
    };
    switch (function) {
    case EXACT_ASIN:
        return turned(limit_asinh, z.re, z.im);
    case EXACT_ATAN:
        return turned(limit_atanh, z.re, z.im);
    case EXACT_SIN:
        return turned(limit_sinh, z.re, z.im);
    case EXACT_TAN:
        return turned(limit_tanh, z.re, z.im);
    case EXACT_COS:
        return conjugate_limit(limit_cosh, -z.im, z.re);
    case EXACT_ERF:
    case EXACT_ERFC:
        return parts(NAN, NAN);
    default:
        return conjugate_limit(limits[function], z.re, z.im);
    }
}

/* --- products and quotients ---------------------------------------------------------------------
 *
 * As the sample functions of G.5.1: a number is infinite if a part is, even beside a NaN. Where
 * plain arithmetic gives NaN in both parts although that decides the result, infinite numbers are
 * boxed to parts 0 and ±1, and the plain result of those gives the direction. */

static bool is_infinite(struct exact_parts z)
{
    return isinf(z.re) || isinf(z.im);
}
static bool is_finite(struct exact_parts z)
{
    return isfinite(z.re) && isfinite(z.im);
}
static struct exact_parts boxed(struct exact_parts z)
{
    return parts(copysign(isinf(z.re) ? 1 : 0, z.re), copysign(isinf(z.im) ? 1 : 0, z.im));
}
static struct exact_parts without_nan(struct exact_parts z)
{
    return parts(isnan(z.re) ? copysign(0, z.re) : z.re, isnan(z.im) ? copysign(0, z.im) : z.im);
}
static struct exact_parts multiply(struct exact_parts a, struct exact_parts b)
{
    return parts(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
static struct exact_parts scaled(double factor, struct exact_parts z)
{
    return parts(factor * z.re, factor * z.im);
}

struct exact_parts exact_complex_multiply_limit(struct exact_parts a, struct exact_parts b)
{
    const struct exact_parts plain = multiply(a, b);
    if (!isnan(plain.re) || !isnan(plain.im)) {
        return plain;
    }
    bool again = is_infinite(a) || is_infinite(b);
    if (is_infinite(a)) {
        a = boxed(a);
        b = without_nan(b);
    }
    if (is_infinite(b)) {
        b = boxed(b);
        a = without_nan(a);
    }
    if (!again && (isinf(a.re * b.re) || isinf(a.im * b.im) || isinf(a.re * b.im) ||
                   isinf(a.im * b.re))) { /* overflow beside a NaN */
        a = without_nan(a);
        b = without_nan(b);
        again = true;
    }
    return again ? scaled(INFINITY, multiply(a, b)) : plain;
}

struct exact_parts exact_complex_divide_limit(struct exact_parts a, struct exact_parts b)
{
    /* A finite divisor is scaled, so that its square neither overflows nor vanishes. */
    const double size = fabs(b.re) > fabs(b.im) ? fabs(b.re) : fabs(b.im);
    const int exponent = is_finite(b) && size != 0 ? ilogb(size) : 0;
    const struct exact_parts near = parts(scalbn(b.re, -exponent), scalbn(b.im, -exponent));
    const struct exact_parts turned = parts(near.re, -near.im);
    const double square = near.re * near.re + near.im * near.im;
    const struct exact_parts product = multiply(a, turned);
    const struct exact_parts plain =
        parts(scalbn(product.re / square, -exponent), scalbn(product.im / square, -exponent));
    if (!isnan(plain.re) || !isnan(plain.im)) {
        return plain;
    }
    if (square == 0 && (!isnan(a.re) || !isnan(a.im))) {
        return scaled(copysign(INFINITY, b.re), a);
    }
    if (is_infinite(a) && is_finite(b)) {
        return scaled(INFINITY, multiply(boxed(a), turned));
    }
    if (is_infinite(b) && is_finite(a)) {
        const struct exact_parts direction = boxed(b);
        return scaled(0, multiply(a, parts(direction.re, -direction.im)));
    }
    return plain;
}
