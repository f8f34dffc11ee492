/* Special functions in long double, with a bound of the error: what that decides needs no MPFR.
 *
 * A unit is 2^-63, twice what an operation + − × ÷ rounds by. Functions of the C library are
 * granted what EXACT_WIDE_SLACK says, or less where the GNU C library's manual ("Known Maximum
 * Errors in Math Functions", 2.36, x86_64) has at most 2 units in the last place: 2^-60 for erfl,
 * and 2^-61 for expl, logl, sqrtl and tanl. */
#include <math.h>

#include "hlo/floats.h"
#include "interp/exact_internal.h"
#include "interp/special_internal.h"

#define UNIT 0x1p-63L

/* Do all values from low to high round alike? */
static bool decided(enum type type, long double low, long double high, double *out)
{
    if (type == TYPE_F64) {
        *out = (double)high;
        return (double)low == *out;
    }
    /* Outward to doubles: 2^-52 of the value is more than they round by. */
    const double below = (double)low - fabs((double)low) * 0x1p-52;
    const double above = (double)high + fabs((double)high) * 0x1p-52;
    *out = float_round(type, above);
    return float_round(type, below) == *out;
}

static bool decided_ball(enum type type, long double value, long double error, double *out)
{
    return error < fabsl(value) && decided(type, value - error, value + error, out);
}

/* --- erf_inv ------------------------------------------------------------------------------- */

/* Is erf(y) surely below x, or above it? Near 1 by erfc(y) and `complement` = 1 − x. */
static bool is_surely(long double y, long double x, long double complement, bool below)
{
    if (x <= 0.5L) {
        const long double value = erfl(y);
        return below ? value * (1 + 0x1p-60L) < x : value * (1 - 0x1p-60L) > x;
    }
    const long double value = erfcl(y);
    return below ? value * (1 - EXACT_WIDE_SLACK) > complement
                 : value * (1 + EXACT_WIDE_SLACK) < complement;
}

/* Halley's iteration from a start with three digits (S. Winitzki, "A handy approximation for the
 * error function and its inverse", 2008); then the C library says on which sides of x the values
 * of erf a little to the left and right are. */
static bool erf_inv(enum type type, double x_signed, double *out)
{
    const long double x = fabs(x_signed), complement = 1 - x;
    if (x < 0x1p-900L) {
        return false;
    }
    const long double factor = 0.147L, logarithm = log1pl(-x * x);
    const long double middle = 2 / (3.14159265358979L * factor) + logarithm / 2;
    /* The difference of roots cancels for small x. */
    long double y = x < 0.01L ? x * 0.8862269254527580137L
                              : sqrtl(sqrtl(middle * middle - logarithm / factor) - middle);
    for (int i = 0; i < 3; i++) {
        const long double off = x <= 0.5L ? erfl(y) - x : complement - erfcl(y);
        const long double step = off * 0.8862269254527580137L * expl(y * y);
        y -= step / (1 + y * step);
        if (fabsl(step) < y * 0x1p-30L) { /* the next one would be less than a unit */
            break;
        }
    }
    const long double width = type == TYPE_F64 ? 0x1p-58L : 0x1p-45L;
    const long double low = y - y * width, high = y + y * width;
    double value;
    if (!is_surely(low, x, complement, true) || !is_surely(high, x, complement, false) ||
        !decided(type, low, high, &value)) {
        return false;
    }
    *out = copysign(value, x_signed);
    return true;
}

/* --- digamma ------------------------------------------------------------------------------- */

/* Of x ≥ 1/2, with a bound of its error: steps up to 20 (DLMF 5.5.2), where the asymptotic
 * expansion (DLMF 5.11.2) is off by less than its first term left out, 2^-75. A step is off by two
 * units, their sum by a unit of itself each time. */
static long double digamma_above(long double x, long double *error)
{
    /* B_2j / 2j, the highest first */
    static const long double series[] = {-3617.0L / 8160, 1.0L / 12,  -691.0L / 32760, 1.0L / 132,
                                         -1.0L / 240,     1.0L / 252, -1.0L / 120,     1.0L / 12};
    long double steps = 0;
    int count = 0;
    for (; x < 20; x += 1) {
        steps += 1 / x;
        count++;
    }
    const long double inverse = 1 / x, square = inverse * inverse;
    long double tail = 0;
    for (int i = 0; i < 8; i++) {
        tail = tail * square + series[i];
    }
    const long double logarithm = logl(x);
    *error = UNIT * ((count + 4) * steps + 8 * logarithm + 4);
    return logarithm - inverse / 2 - tail * square - steps;
}

/* Below 1/2 by reflection (DLMF 5.5.4): digamma(1 − x) − π / tan(πr) with r = x less the nearest
 * integer, which is exact. */
static bool digamma(enum type type, double x, double *out)
{
    long double error, value;
    if (x >= 0.5) {
        value = digamma_above(x, &error);
        return decided_ball(type, value, error, out);
    }
    if (!(x > -0x1p50 && fabs(x) > 0x1p-500)) {
        return false;
    }
    const long double pi = 3.14159265358979323846264338327950288L;
    const long double angle = pi * (long double)(x - rint(x)), tangent = tanl(angle);
    value = digamma_above(1 - (long double)x, &error) - pi / tangent;
    /* 1 − x is off by a unit of itself, which moves digamma by less than 4 units; the angle by two
     * units of itself, which moves 1 / tan by |angle| / sin² times that. */
    const long double over_sine_squared = (1 + tangent * tangent) / (tangent * tangent);
    error +=
        UNIT * (8 + 8 * fabsl(angle) * over_sine_squared + 32 / fabsl(tangent) + 4 * fabsl(value));
    return decided_ball(type, value, error, out);
}

/* --- bessel_i1e ---------------------------------------------------------------------------- */

/* As special_mpfr.c: the power series up to 30, Hankel's expansion above, whose terms are below
 * 2^-70 before they grow. */
static bool bessel_i1e(enum type type, double x_signed, double *out)
{
    const long double x = fabs(x_signed);
    if (x < 0x1p-500L) {
        return false;
    }
    long double sum, term;
    int k = 0;
    if (x <= 30) {
        const long double square = x * x / 4;
        sum = term = x / 2;
        do {
            k++;
            term *= square / ((long double)k * (k + 1));
            sum += term;
        } while (k <= x || term > sum * 0x1p-70L);
        sum *= expl(-x);
    } else {
        sum = 0;
        term = 1;
        do {
            sum += term;
            k++;
            const long double odd = 2 * k - 1;
            term *= (odd * odd - 4) / (8 * k * x);
        } while (fabsl(term) > 0x1p-70L);
        sum /= sqrtl(2 * 3.14159265358979323846264338327950288L * x);
    }
    double value;
    if (!decided_ball(type, sum, sum * UNIT * (4 * k + 32), &value)) {
        return false;
    }
    *out = copysign(value, x_signed);
    return true;
}

/* --- all ----------------------------------------------------------------------------------- */

bool special_guess(enum special_function function, enum type type, double a, double *out)
{
    int sign;
    if (function == SPECIAL_LGAMMA && type != TYPE_F64) {
        return exact_decided(type, lgamma_r(a, &sign), EXACT_LIBM_SLACK, out);
    }
    if (!exact_wide_works()) {
        return false;
    }
    switch (function) {
    case SPECIAL_BESSEL_I1E:
        return bessel_i1e(type, a, out);
    case SPECIAL_DIGAMMA:
        return digamma(type, a, out);
    case SPECIAL_ERF_INV:
        return erf_inv(type, a, out);
    case SPECIAL_LGAMMA:
        return exact_decided_wide(lgammal_r(a, &sign), out);
    default:
        return false;
    }
}
