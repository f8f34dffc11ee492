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
    if (!(fabs(a.high) > 0x1p-900 && fabs(a.high) < 0x1p1000) || !isfinite(bound)) {
        return false;
    }
    /* a.low ± bound is itself rounded, hence the second term. */
    bound = bound == 0 ? 0 : bound + 0x1p-51 * (fabs(a.low) + bound);
    double low = round_once(type, dd_sum(a.high, a.low - bound));
    *out = round_once(type, dd_sum(a.high, a.low + bound));
    return memcmp(&low, out, sizeof low) == 0;
}
