/* The rounding test of double_double.h. */
#include "interp/double_double.h"

#include <string.h>

/* The value of `type` nearest to a; high is the double nearest to it, as dd_sum leaves it. */
static double round_once(enum type type, struct double_double a)
{
    return type == TYPE_F64 ? a.high : float_round(type, float_round_to_odd(a.high, a.low));
}

bool dd_decide(enum type type, struct double_double a, double bound, double *out)
{
    if (a.high == 0 && a.low == 0 && bound == 0) {
        *out = float_round(type, 0.0);
        return true;
    }
    if (type == TYPE_F32) {
        /* Far from boundaries, which most values are, this is enough; |a.low| < 2^-52 |a.high|. */
        double reach = 0x1p-51 * fabs(a.high) + 2 * bound;
        float low = (float)(a.high - reach), high = (float)(a.high + reach);
        if (low == high && fabs(a.high) > 0x1p-126 && fabs(a.high) < 0x1p127) {
            *out = high;
            return true;
        }
    }
    a = dd_sum(a.high, a.low);
    if (!(fabs(a.high) > 0x1p-900 && fabs(a.high) < INFINITY) || !isfinite(bound)) {
        return false;
    }
    if (type != TYPE_F64 && fabs(a.high) > 0x1p900) { /* beyond all other types */
        *out = float_round(type, a.high);
        return bound < 0.5 * fabs(a.high);
    }
    /* a.low ± bound is itself rounded, hence the second term. */
    bound = bound == 0 ? 0 : bound + 0x1p-51 * (fabs(a.low) + bound);
    double low = round_once(type, dd_sum(a.high, a.low - bound));
    *out = round_once(type, dd_sum(a.high, a.low + bound));
    return memcmp(&low, out, sizeof low) == 0;
}

/* The integer nearest to all values within bound of a, |a| < 2^52; it keeps the sign of zero. */
static bool decide_integer(struct double_double a, double bound, double *out)
{
    bound += 0x1p-51 * fabs(a.high);
    double low = rint(a.high - bound), high = rint(a.high + bound);
    *out = high;
    return memcmp(&low, &high, sizeof low) == 0;
}

bool dd_decide_scaled(enum type type, struct double_double a, double bound, int exponent,
                      double *out)
{
    int top = a.high == 0 || !isfinite(a.high) ? 0 : ilogb(a.high) + exponent;
    if (exponent == 0 && top > -900 && top < 1000) {
        return dd_decide(type, a, bound, out);
    }
    if (type != TYPE_F64 || a.high == 0 || (top > -900 && top < 1000)) {
        a = (struct double_double){ldexp(a.high, exponent), ldexp(a.low, exponent)};
        return dd_decide(type, a, ldexp(bound, exponent), out);
    }
    if (!isfinite(a.high) || !(bound < 0.25 * fabs(a.high))) {
        return false;
    }
    /* In units of the least number, or 60 binades down: there no double is out of range. */
    int shift = top > 0 ? -60 : 1074;
    if (top > 1100) {
        *out = copysign(INFINITY, a.high);
        return true;
    }
    if (top < -1200) {
        *out = copysign(0, a.high);
        return true;
    }
    a = (struct double_double){ldexp(a.high, exponent + shift), ldexp(a.low, exponent + shift)};
    bound = ldexp(bound, exponent + shift);
    bool decided = top < -1022 ? decide_integer(a, bound, out) : dd_decide(TYPE_F64, a, bound, out);
    *out = ldexp(*out, -shift);
    return decided;
}
