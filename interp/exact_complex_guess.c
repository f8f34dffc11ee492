/* Complex functions in balls of long doubles: decides nearly every element, at a hundredth of
 * MPFR's cost. */
#include <math.h>

#include "hlo/floats.h"
#include "interp/exact_ball.h"
#include "interp/exact_internal.h"

#define REAL struct ball
#define NAME(x) guess_##x
#define R(x) ball_##x
#define WORK_PARAMETER
#define WORK(x) x
#define NONE ball_none()
#include "interp/exact_complex_formulas.h"

/* Whether all of the ball rounds alike to f32 or f64, and to what. */
static bool decided(enum type part, struct ball a, double *out)
{
    if (ball_is_zero(a)) {
        *out = (double)a.v;
        return true;
    }
    const long double e = a.e * (1 + 0x1p-50L) + fabsl(a.v) * 0x1p-63L;
    const long double low = a.v - e, high = a.v + e;
    double low_value;
    if (part == TYPE_F32) {
        low_value = (double)(float)low;
        *out = (double)(float)high;
    } else {
        low_value = (double)low;
        *out = (double)high;
    }
    return low_value == *out && signbit(low_value) == signbit(*out);
}

static int decide(enum type part, struct guess_complex value, struct exact_parts *out)
{
    const bool re = decided(part, value.re, &out->re), im = decided(part, value.im, &out->im);
    return (re ? EXACT_RE : 0) | (im ? EXACT_IM : 0);
}

int exact_complex_guess(enum exact_function function, enum type part, struct exact_parts z,
                        struct exact_parts *out)
{
    return exact_wide_works() ? decide(part, guess_function(function, z.re, z.im), out) : 0;
}

int exact_complex_guess_binary(enum exact_binary_function function, enum type part,
                               struct exact_parts a, struct exact_parts b, struct exact_parts *out)
{
    if (!exact_wide_works()) {
        return 0;
    }
    return decide(part, function == EXACT_POWER ? guess_power(a, b) : guess_atan2_complex(a, b),
                  out);
}
