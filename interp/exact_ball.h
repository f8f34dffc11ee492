/* Balls: long doubles with a bound of their error, for first guesses of complex functions.
 *
 * The exact value lies within e of v. Every operation adds what its operands' errors may do and its
 * own rounding: at most BALL_UNIT relative for + − × ÷ √ (half of it, and the other half pays for
 * the roundings of e itself). A function of the C library is granted four times what the GNU C
 * library's manual has ("Known Maximum Errors in Math Functions", 2.36), and more: BALL_NEAR for
 * exp, log, sin, cos and atan2, whose errors are at most one unit of 2^-63, BALL_LIBM for others. A
 * ball with v = e = 0 is an exact zero, whose sign is right. Whatever leaves the range in which
 * this holds gets an infinite error, and somebody else decides. */
#ifndef INTERP_EXACT_BALL_H
#define INTERP_EXACT_BALL_H

#include <math.h>
#include <stdbool.h>

#define BALL_UNIT 0x1p-63L
#define BALL_NEAR 0x1p-61L
#define BALL_LIBM 0x1p-60L
/* Below this, long doubles may be subnormal; beyond this, exp overflows. */
#define BALL_LEAST 0x1p-16000L
#define BALL_EXP_RANGE 11000.0L

struct ball {
    long double v, e;
};

static inline struct ball ball_make(long double v, long double e)
{
    const long double size = fabsl(v);
    if (size < BALL_LEAST && !(v == 0 && e == 0)) {
        e = HUGE_VALL;
    }
    return (struct ball){v, e};
}
static inline struct ball ball_none(void)
{
    return (struct ball){0, HUGE_VALL};
}

static inline struct ball ball_of(double x)
{
    return (struct ball){x, 0};
}
static inline bool ball_is_zero(struct ball a)
{
    return a.v == 0 && a.e == 0;
}
static inline bool ball_is_negative(struct ball a)
{
    return signbit(a.v) != 0;
}

/* Whether the sign is known. */
static inline bool ball_is_sure(struct ball a)
{
    return fabsl(a.v) > a.e || ball_is_zero(a);
}

static inline struct ball ball_neg(struct ball a)
{
    return (struct ball){-a.v, a.e};
}
static inline struct ball ball_scale(struct ball a, int power)
{
    const long double factor = power < 0 ? 1.0L / (1ULL << -power) : (long double)(1ULL << power);
    return ball_make(a.v * factor, a.e * factor);
}
static inline struct ball ball_add(struct ball a, struct ball b)
{
    const long double v = a.v + b.v;
    if (a.e + b.e == 0 && v == 0) {
        return (struct ball){v, 0};
    }
    return ball_make(v, a.e + b.e + fabsl(v) * BALL_UNIT);
}
static inline struct ball ball_sub(struct ball a, struct ball b)
{
    return ball_add(a, ball_neg(b));
}
static inline struct ball ball_mul(struct ball a, struct ball b)
{
    const long double v = a.v * b.v;
    if (ball_is_zero(a) || ball_is_zero(b)) {
        return ball_is_sure(a) && ball_is_sure(b) ? (struct ball){copysignl(0, v), 0} : ball_none();
    }
    return ball_make(v, fabsl(a.v) * b.e + fabsl(b.v) * a.e + a.e * b.e + fabsl(v) * BALL_UNIT);
}
static inline struct ball ball_sqr(struct ball a)
{
    return ball_mul(a, a);
}
static inline struct ball ball_div(struct ball a, struct ball b)
{
    const long double v = a.v / b.v, least = fabsl(b.v) - b.e;
    if (!(least > 0.5L * fabsl(b.v))) {
        return ball_none();
    }
    if (ball_is_zero(a)) {
        return (struct ball){v, 0}; /* b's sign is sure */
    }
    return ball_make(v, (a.e + fabsl(v) * b.e) / least + fabsl(v) * BALL_UNIT);
}
/* Of a value that is not negative. */
static inline struct ball ball_sqrt(struct ball a)
{
    if (ball_is_zero(a)) {
        return a;
    }
    const long double v = sqrtl(a.v);
    return a.v > 2 * a.e ? ball_make(v, a.e / v + v * BALL_UNIT) : ball_none();
}
/* √(x² + y²). */
static inline struct ball ball_hypot(struct ball x, struct ball y)
{
    return ball_sqrt(ball_add(ball_sqr(x), ball_sqr(y)));
}

static inline struct ball ball_exp(struct ball a)
{
    if (!(fabsl(a.v) < BALL_EXP_RANGE && a.e < 0x1p-10L)) {
        return ball_none();
    }
    const long double v = expl(a.v);
    return ball_make(v, v * (2 * a.e + BALL_NEAR));
}
/* Of an exact value, as sinh and cosh. */
static inline struct ball ball_expm1(struct ball a)
{
    const long double v = expm1l(a.v);
    return fabsl(a.v) < BALL_EXP_RANGE && a.e == 0
               ? (v == 0 ? (struct ball){v, 0} : ball_make(v, fabsl(v) * BALL_LIBM))
               : ball_none();
}
static inline struct ball ball_sinh(struct ball a)
{
    const long double v = sinhl(a.v);
    return fabsl(a.v) < BALL_EXP_RANGE && a.e == 0
               ? (v == 0 ? (struct ball){v, 0} : ball_make(v, fabsl(v) * BALL_LIBM))
               : ball_none();
}
static inline struct ball ball_cosh(struct ball a)
{
    const long double v = coshl(a.v);
    return fabsl(a.v) < BALL_EXP_RANGE && a.e == 0 ? ball_make(v, v * BALL_LIBM) : ball_none();
}
static inline struct ball ball_log(struct ball a)
{
    const long double v = logl(a.v);
    return a.v > 4 * a.e ? ball_make(v, fabsl(v) * BALL_NEAR + 2 * a.e / a.v) : ball_none();
}
static inline struct ball ball_log1p(struct ball a)
{
    const long double v = log1pl(a.v), above = 1 + a.v;
    if (ball_is_zero(a)) {
        return a;
    }
    return above > 0x1p-50L && above > 4 * a.e
               ? ball_make(v, fabsl(v) * BALL_LIBM + 2 * a.e / above)
               : ball_none();
}
static inline struct ball ball_sin(struct ball a)
{
    const long double v = sinl(a.v);
    return ball_is_zero(a) ? a : ball_make(v, fabsl(v) * BALL_NEAR + a.e);
}
static inline struct ball ball_cos(struct ball a)
{
    const long double v = cosl(a.v);
    return ball_make(v, fabsl(v) * BALL_NEAR + a.e);
}
static inline struct ball ball_asinh(struct ball a)
{
    const long double v = asinhl(a.v);
    return ball_is_zero(a) ? a : ball_make(v, fabsl(v) * BALL_LIBM + a.e);
}
static inline struct ball ball_cbrt(struct ball a)
{
    const long double v = cbrtl(a.v);
    return fabsl(a.v) > 2 * a.e ? ball_make(v, fabsl(v) * (BALL_LIBM + a.e / fabsl(a.v)))
                                : ball_none();
}
/* The angle of (x, y). The error is that of moving by (x.e, y.e) across the direction. */
static inline struct ball ball_atan2(struct ball y, struct ball x)
{
    const long double v = atan2l(y.v, x.v);
    const bool x_clear = fabsl(x.v) > 2 * x.e, y_clear = fabsl(y.v) > 2 * y.e;
    if (ball_is_zero(y) && (x_clear || (ball_is_zero(x)))) {
        return v == 0 ? (struct ball){v, 0} : ball_make(v, fabsl(v) * BALL_NEAR);
    }
    if (!(y_clear || (x_clear && x.v > 0))) { /* the origin or the cut may be inside */
        return ball_none();
    }
    const long double square = x.v * x.v + y.v * y.v;
    const long double moved = fabsl(x.v) * y.e + fabsl(y.v) * x.e + x.e * y.e;
    return ball_make(v, fabsl(v) * BALL_NEAR + 4 * moved / square);
}
/* |a| with a sign; a's own is sure. */
static inline struct ball ball_with_sign(struct ball a, bool negative)
{
    return (struct ball){copysignl(a.v, negative ? -1 : 1), a.e};
}
/* a, and anything else within 2^-power of it, relatively. */
static inline struct ball ball_near(struct ball a, int power)
{
    return ball_is_zero(a) ? a : ball_make(a.v, a.e + ldexpl(fabsl(a.v), 1 - power));
}

#endif
