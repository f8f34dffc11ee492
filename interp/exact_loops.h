/* Vector loops of exact_unary.c, compiled once per vector level (hlo/vector.h).
 *
 * A kernel gives a function's value for arguments in f32's range with a relative error below
 * EXACT_KERNEL_SLACK / 4 (tests/interp/test_exact.c measures it), or NaN where it cannot. A loop
 * runs a kernel over one block and rounds each value twice, moved down and up by the slack; lanes
 * whose two roundings differ are open: the caller decides them. */
#ifndef INTERP_EXACT_LOOPS_H
#define INTERP_EXACT_LOOPS_H

#include "hlo/floats_vector.h"
#include "hlo/vector.h"
#include "interp/exact_kernels.h"

#define LN2 0x1.62e42fefa39efp-1
#define LN2_HIGH 0x1.62e42feep-1 /* 31 bits: products with exponents are exact */
#define LN2_LOW 0x1.a39ef35793c76p-33
#define LOG2_E 0x1.71547652b82fep+0
#define ROUNDER 0x1.8p+52 /* adding it leaves an integer in the low bits */

/* a * b + c, with one rounding where that is one instruction: kernels' values may differ by level,
 * within their bound. */
VECTOR_INLINE vector multiply_add(vector a, vector b, vector c)
{
#if VECTOR_HAS_FMA
    return vector_fma(a, b, c);
#else
    return a * b + c;
#endif
}

/* Σ coefficients[i] * x^i. Four of Horner's chains in x⁴ run side by side, since one alone would
 * wait for its own results; the error stays that of Horner's rule. */
VECTOR_INLINE vector polynomial(vector x, const double *coefficients, int count)
{
    vector square = x * x;
    vector fourth = square * square;
    vector parts[4];
#pragma GCC unroll 4
    for (int part = 0; part < 4; part++) {
        int i = part + (count - 1 - part) / 4 * 4;
        parts[part] = vector_all(coefficients[i]);
#pragma GCC unroll 8
        for (i -= 4; i >= 0; i -= 4) {
            parts[part] = multiply_add(parts[part], fourth, vector_all(coefficients[i]));
        }
    }
    return multiply_add(square, multiply_add(parts[3], x, parts[2]),
                        multiply_add(parts[1], x, parts[0]));
}

/* x = n * log(2) + rest, |rest| ≤ log(2) / 2; returns exp(rest) − 1 and 2^n in *scale. The Taylor
 * series up to x^12 / 12!, remainder 2^-51 relative. |x| ≤ 700. */
VECTOR_INLINE vector reduced_expm1(vector x, vector *scale)
{
    static const double inverse_factorials[] = {
        1.0 / 2,     1.0 / 6,      1.0 / 24,      1.0 / 120,      1.0 / 720,       1.0 / 5040,
        1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600,
    };
    vector shifted = x * LOG2_E + ROUNDER;
    vector n = shifted - ROUNDER;
    vector rest = (x - n * LN2_HIGH) - n * LN2_LOW;
    *scale = (vector)(((vector_unsigned)shifted << 52) + 0x3ff0000000000000);
    return rest + rest * rest * polynomial(rest, inverse_factorials, 11);
}

/* Odd functions keep the sign of zero, which sums of terms of both signs lose. */
VECTOR_INLINE vector zero_kept(vector x, vector value)
{
    return vector_select(x == 0, x, value);
}

VECTOR_INLINE vector kernel_exp(vector x)
{
    vector scale;
    vector base = reduced_expm1(vector_clamp(x, -700, 700), &scale);
    return scale + scale * base;
}

VECTOR_INLINE vector kernel_expm1(vector x)
{
    vector scale;
    vector base = reduced_expm1(vector_clamp(x, -700, 700), &scale);
    return zero_kept(x, scale * base + (scale - 1));
}

VECTOR_INLINE vector kernel_logistic(vector x)
{
    return 1 / (1 + kernel_exp(-x));
}

/* tanh x = expm1(2x) / (expm1(2x) + 2); 1 − 2^-63 beyond 22. */
VECTOR_INLINE vector kernel_tanh(vector x)
{
    vector doubled = kernel_expm1(2 * vector_clamp(vector_abs(x), 0, 22));
    return vector_with_sign(doubled / (doubled + 2), x);
}

/* log(1 + f) = 2 atanh(f / (2 + f)) for 1 + f in [√½, √2]: the series up to s^17 / 17. */
VECTOR_INLINE vector reduced_log1p(vector f)
{
    static const double odd_inverses[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,
                                          2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17};
    vector s = f / (2 + f);
    vector square = s * s;
    return 2 * s + s * square * polynomial(square, odd_inverses, 8);
}

/* x = 2^exponent * (1 + f), 1 + f in [√½, √2), for normal x > 0. */
VECTOR_INLINE vector split_exponent(vector x, vector *f)
{
    const uint64_t half_root = 0x3fe6a09e667f3bcd, one = 0x3ff0000000000000;
    vector_unsigned moved = (vector_unsigned)x + (one - half_root);
    vector_unsigned biased = moved >> 52;
    *f = (vector)((moved & 0xfffffffffffff) + half_root) - 1;
    /* An integer below 2^52 under the exponent of 2^52 is that double. */
    return (vector)(biased | 0x4330000000000000) - (0x1p52 + 1023);
}

VECTOR_INLINE vector kernel_log(vector x)
{
    vector f;
    vector exponent = split_exponent(x, &f);
    vector value = exponent * LN2 + reduced_log1p(f);
    vector_bits inside = (x > 0) & (x < HUGE_VAL);
    return vector_select(inside, value, vector_all(NAN));
}

/* 1 + x loses the low bits of x, which matters only where its exponent is 0: there f = x. */
VECTOR_INLINE vector kernel_log1p(vector x)
{
    vector f;
    vector exponent = split_exponent(1 + x, &f);
    f = vector_select(exponent == 0, x, f);
    vector value = exponent * LN2 + reduced_log1p(f);
    vector_bits inside = (x > -1) & (x < HUGE_VAL);
    return zero_kept(x, vector_select(inside, value, vector_all(NAN)));
}

/* x = n * π/2 + rest for |x| below 2^20: three parts of π/2, the products with the first two exact
 * (33 bits each). Returns rest; the low bits of *quadrant are n's. */
VECTOR_INLINE vector reduced_angle(vector x, vector_bits *quadrant)
{
    vector shifted = x * 0x1.45f306dc9c883p-1 + ROUNDER;
    vector n = shifted - ROUNDER;
    *quadrant = (vector_bits)shifted;
    return ((x - n * 0x1.921fb544p+0) - n * 0x1.0b4611a6p-34) - n * 0x1.3198a2e037073p-69;
}

VECTOR_INLINE vector reduced_sin(vector r, vector square)
{
    static const double coefficients[] = {
        -1.0 / 6,        1.0 / 120,         -1.0 / 5040,         1.0 / 362880,
        -1.0 / 39916800, 1.0 / 6227020800., -1.0 / 1307674368e3,
    };
    return r + r * square * polynomial(square, coefficients, 7);
}

VECTOR_INLINE vector reduced_cos(vector square)
{
    static const double coefficients[] = {
        1,
        -1.0 / 2,
        1.0 / 24,
        -1.0 / 720,
        1.0 / 40320,
        -1.0 / 3628800,
        1.0 / 479001600,
        -1.0 / 87178291200.,
        1.0 / 20922789888e3,
    };
    return polynomial(square, coefficients, 9);
}

/* sin(x + turn * π/2). */
VECTOR_INLINE vector kernel_circle(vector x, int64_t turn)
{
    vector_bits quadrant;
    vector rest = reduced_angle(x, &quadrant);
    vector square = rest * rest;
    quadrant += turn;
    vector value =
        vector_select((quadrant & 1) != 0, reduced_cos(square), reduced_sin(rest, square));
    value = (vector)((vector_unsigned)value ^ ((vector_unsigned)(quadrant & 2) << 62));
    return vector_select(vector_abs(x) < 0x1p20, value, vector_all(NAN));
}

VECTOR_INLINE vector kernel_sin(vector x)
{
    return zero_kept(x, kernel_circle(x, 0));
}

VECTOR_INLINE vector kernel_cos(vector x)
{
    return kernel_circle(x, 1);
}

/* erf(x) / x is a smooth function of x²: a polynomial in x²/8 − 1 for |x| ≤ 4, from Chebyshev
 * interpolation (relative error 2^-51). Beyond 4 it lies above 1 − 2^-25, closer to 1 than to any
 * other number of a format of at most 24 significant bits. */
VECTOR_INLINE vector kernel_erf(vector x)
{
    static const double coefficients[] = {
        0x1.6a040781a499cp-2,   -0x1.69a0ccda3df7cp-3,  0x1.0dabaf0613e8ep-3,
        -0x1.b92e95c190666p-4,  0x1.717efc7842529p-4,   -0x1.3215d8b7b083fp-4,
        0x1.ea97f14be4696p-5,   -0x1.76e8648dfbb57p-5,  0x1.0ed52bfb66282p-5,
        -0x1.7034faba3c5f0p-6,  0x1.d6352a3bca7e2p-7,   -0x1.1a0231b85fbe4p-7,
        0x1.3e15098ff36cap-8,   -0x1.51ef25ec8e0fap-9,  0x1.52da27298f1b2p-10,
        -0x1.4158c3c0fc1c8p-11, 0x1.20e98d57ac5f2p-12,  -0x1.edfac285f40b2p-14,
        0x1.918ee60e50eb9p-15,  -0x1.34f26ba26e0f8p-16, 0x1.ca54b186133c0p-18,
        -0x1.5651caf3c9f46p-19, 0x1.cf81562d731efp-21,  -0x1.c0fc172a62ef5p-23,
        0x1.204aa5aa2c425p-24,  -0x1.7f41802bd6060p-25, 0x1.b7749b52e3571p-27,
    };
    vector near = vector_clamp(vector_abs(x), 0, 4);
    vector value = near * polynomial(near * near * 0.125 - 1, coefficients, 27);
    value = vector_select(vector_abs(x) > 4, vector_all(1), value);
    return vector_with_sign(value, x);
}

VECTOR_INLINE vector kernel_rsqrt(vector x)
{
    return vector_select((x > 0) & (x < HUGE_VAL), 1 / vector_sqrt(x), vector_all(NAN));
}

/* A loop over one block: layout is NULL for f32. Returns the open elements as bits. */
#define KERNEL(id, name)                                                                 \
    static uint64_t VECTOR_FUNCTION(block_##name)(const struct float_layout *layout,     \
                                                  const double *in, double *out)         \
    {                                                                                    \
        uint64_t open = 0;                                                               \
        for (int i = 0; i < EXACT_BLOCK; i += VECTOR_WIDTH) {                            \
            vector value = kernel_##name(vector_read(in + i));                           \
            vector low = value * (1 - EXACT_KERNEL_SLACK);                               \
            vector high = value * (1 + EXACT_KERNEL_SLACK);                              \
            low = layout == NULL ? vector_round_f32(low) : vector_round(layout, low);    \
            high = layout == NULL ? vector_round_f32(high) : vector_round(layout, high); \
            vector_write(out + i, low);                                                  \
            open |= vector_lanes((low != high) | (value != value)) << i;                 \
        }                                                                                \
        return open;                                                                     \
    }                                                                                    \
    static void VECTOR_FUNCTION(raw_##name)(const double *in, double *out)               \
    {                                                                                    \
        for (int i = 0; i < EXACT_BLOCK; i += VECTOR_WIDTH) {                            \
            vector_write(out + i, kernel_##name(vector_read(in + i)));                   \
        }                                                                                \
    }
#include "interp/exact_kernels.def"

static void VECTOR_FUNCTION(block_sqrt)(const double *in, double *out)
{
    for (int i = 0; i < EXACT_BLOCK; i += VECTOR_WIDTH) {
        vector_write(out + i, vector_sqrt(vector_read(in + i)));
    }
}

const struct exact_kernels VECTOR_FUNCTION(exact_kernels) = {
#define KERNEL(id, name)                                 \
    .blocks[EXACT_##id] = VECTOR_FUNCTION(block_##name), \
    .raw[EXACT_##id] = VECTOR_FUNCTION(raw_##name),
#include "interp/exact_kernels.def"
    .square_root = VECTOR_FUNCTION(block_sqrt),
};

#undef LN2
#undef LN2_HIGH
#undef LN2_LOW
#undef LOG2_E
#undef ROUNDER

#endif
