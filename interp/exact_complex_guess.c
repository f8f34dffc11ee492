/* Complex functions in balls of long doubles: decides nearly every element, at a hundredth of
 * MPFR's cost. Powers, whose exponents magnify errors, get a second guess. */
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

/* --- powers --- */

#if defined __x86_64__ && defined __GLIBC__
__extension__ typedef __float128 quad;
/* Of the GNU C library; its headers hide them from some compilers. */
quad logf128(quad x);
quad atan2f128(quad y, quad x);

/* What a sum of a long double's high and low part is within. */
struct split {
    long double high, low;
    long double e; /* of the sum */
};

static struct split split_of(quad x, long double e)
{
    struct split out = {.high = (long double)x};
    out.low = (long double)(x - out.high);
    /* What is neglected: the square of the low part, and its own rounding. */
    out.e = e + 2 * out.low * out.low + fabsl(out.low) * 0x1p-60L;
    return out;
}

static struct ball ball_wider(struct ball a, long double e)
{
    return ball_make(a.v, a.e + e);
}

/* exp(b log a) with the exponent in quadruple precision, so that what its size magnifies is far
 * below the rounding of exp, sin and cos. The GNU C library's manual has errors of at most 2 units
 * of 2^-112 for logf128 and atan2f128 (2.36); they are granted 2^-105. a is not zero. */
static struct guess_complex power_again(struct exact_parts a, struct exact_parts b)
{
    const quad square = (quad)a.re * a.re + (quad)a.im * a.im;
    const quad size = logf128(square) / 2, angle = atan2f128(a.im, a.re);
    const quad x = b.re * size - b.im * angle, y = b.re * angle + b.im * size;
    const long double length = fabsl((long double)size) + fabsl((long double)angle) + 1;
    const long double e =
        (fabsl((long double)b.re) + fabsl((long double)b.im)) * length * 0x1p-103L;
    if (!(fabsl((long double)x) < BALL_EXP_RANGE && e < 0x1p-20L)) {
        return (struct guess_complex){ball_none(), ball_none()};
    }
    const struct split re = split_of(x, e), im = split_of(y, e);
    const struct ball growth = ball_make(1 + re.low, re.e + BALL_UNIT);
    const struct ball scale = ball_mul(ball_exp((struct ball){re.high, 0}), growth);
    const struct ball turn = (struct ball){im.low, 0};
    const struct ball cosine = ball_cos((struct ball){im.high, 0});
    const struct ball sine = ball_sin((struct ball){im.high, 0});
    const struct ball turned_re = ball_wider(ball_sub(cosine, ball_mul(turn, sine)), im.e);
    const struct ball turned_im = ball_wider(ball_add(sine, ball_mul(turn, cosine)), im.e);
    return (struct guess_complex){ball_mul(scale, turned_re), ball_mul(scale, turned_im)};
}
#else
static struct guess_complex power_again(struct exact_parts a, struct exact_parts b)
{
    return guess_power(a, b); /* long doubles have as many bits */
}
#endif

int exact_complex_guess_binary(enum exact_binary_function function, enum type part,
                               struct exact_parts a, struct exact_parts b, struct exact_parts *out)
{
    if (!exact_wide_works()) {
        return 0;
    }
    if (function == EXACT_ATAN2) {
        return decide(part, guess_atan2_complex(a, b), out);
    }
    /* A large exponent mostly leaves an f64 part open, and here no part is exactly zero. */
    const bool large = part == TYPE_F64 && a.im != 0 && b.im != 0 && fabs(b.re) + fabs(b.im) > 8;
    int proved = large ? 0 : decide(part, guess_power(a, b), out);
    if (proved != EXACT_BOTH) {
        struct exact_parts again;
        const int more = decide(part, power_again(a, b), &again) & ~proved;
        out->re = (more & EXACT_RE) != 0 ? again.re : out->re;
        out->im = (more & EXACT_IM) != 0 ? again.im : out->im;
        proved |= more;
    }
    return proved;
}

bool exact_complex_guess_quotient(enum type part, double a, double b, double c, double d, double e,
                                  double f, double *out)
{
    const struct ball numerator =
        ball_add(ball_mul(ball_of(a), ball_of(b)), ball_mul(ball_of(c), ball_of(d)));
    const struct ball denominator = ball_add(ball_sqr(ball_of(e)), ball_sqr(ball_of(f)));
    return !ball_is_zero(numerator) && exact_wide_works() &&
           decided(part, ball_div(numerator, denominator), out);
}
