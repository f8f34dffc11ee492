/* Exact numbers and the float formats by their parameters: a definition of rounding, decoding and
 * overflow of its own, in integers, for tests. It shares nothing with hlo/floats.
 *
 * Sources of the formats: IEEE 754-2019; OCP 8-bit Floating Point Specification 1.0 (e4m3, e5m2);
 * OCP Microscaling Formats 1.0 (e8m0, e3m2, e2m3, e2m1); the comments of xla_data.proto (fnuz and
 * b11fnuz types). Overflow where the specifications leave it open: as ml_dtypes and XLA convert. */
#ifndef TESTS_INTERP_NUMBER_H
#define TESTS_INTERP_NUMBER_H

#include <math.h>
#include <mpfr.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "hlo/types.h"

__extension__ typedef unsigned __int128 number_bits;

/* ± significand * 2^exponent; with `more`, a little more in magnitude (less than one unit of the
 * significand). */
struct number {
    bool nan, infinite, negative, more;
    number_bits significand;
    int exponent;
};

enum number_specials {
    NUMBER_IEEE,     /* top exponent: infinity, NaN */
    NUMBER_ONE_NAN,  /* all ones is NaN, of either sign; no infinity */
    NUMBER_UNSIGNED, /* fnuz: the pattern of −0 is the one NaN; no infinity */
    NUMBER_FINITE,   /* neither; saturates */
    NUMBER_POWER,    /* e8m0 */
};
struct number_format {
    int exponent_bits, mantissa_bits, bias;
    enum number_specials specials;
};

static inline const struct number_format *number_format(enum type type)
{
    static const struct number_format formats[TYPE_COUNT] = {
        [TYPE_F64] = {11, 52, 1023, NUMBER_IEEE},
        [TYPE_F32] = {8, 23, 127, NUMBER_IEEE},
        [TYPE_F16] = {5, 10, 15, NUMBER_IEEE},
        [TYPE_BF16] = {8, 7, 127, NUMBER_IEEE},
        [TYPE_F8E5M2] = {5, 2, 15, NUMBER_IEEE},
        [TYPE_F8E4M3] = {4, 3, 7, NUMBER_IEEE},
        [TYPE_F8E3M4] = {3, 4, 3, NUMBER_IEEE},
        [TYPE_F8E4M3FN] = {4, 3, 7, NUMBER_ONE_NAN},
        [TYPE_F8E4M3B11FNUZ] = {4, 3, 11, NUMBER_UNSIGNED},
        [TYPE_F8E5M2FNUZ] = {5, 2, 16, NUMBER_UNSIGNED},
        [TYPE_F8E4M3FNUZ] = {4, 3, 8, NUMBER_UNSIGNED},
        [TYPE_F8E8M0FNU] = {8, 0, 127, NUMBER_POWER},
        [TYPE_F4E2M1FN] = {2, 1, 1, NUMBER_FINITE},
        [TYPE_F6E3M2FN] = {3, 2, 3, NUMBER_FINITE},
        [TYPE_F6E2M3FN] = {2, 3, 1, NUMBER_FINITE},
    };
    return &formats[type];
}

static inline bool number_is_zero(const struct number *n)
{
    return !n->nan && !n->infinite && n->significand == 0 && !n->more;
}

static inline int number_length(number_bits bits)
{
    const uint64_t high = (uint64_t)(bits >> 64), low = (uint64_t)bits;
    return high != 0 ? 128 - __builtin_clzll(high) : low != 0 ? 64 - __builtin_clzll(low) : 0;
}

/* --- what has an exact value --- */

static inline struct number number_of_s64(int64_t value)
{
    const uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    return (struct number){.negative = value < 0, .significand = size};
}

static inline struct number number_of_u64(uint64_t value)
{
    return (struct number){.significand = value};
}

static inline struct number number_of_long_double(long double value)
{
    struct number n = {.nan = isnan(value), .negative = signbit(value) != 0};
    if (n.nan || isinf(value)) {
        n.infinite = !n.nan;
        return n;
    }
    int exponent;
    const long double fraction = frexpl(fabsl(value), &exponent);
    n.significand = (uint64_t)ldexpl(fraction, 64);
    n.exponent = exponent - 64;
    return n;
}

/* value, rounded toward zero, and whether anything was cut off. */
static inline struct number number_of_mpfr(mpfr_srcptr value, bool inexact)
{
    struct number n = {.nan = mpfr_nan_p(value) != 0, .negative = mpfr_signbit(value) != 0};
    if (n.nan || mpfr_inf_p(value)) {
        n.infinite = !n.nan;
        return n;
    }
    n.more = inexact;
    if (mpfr_zero_p(value)) {
        n.exponent = -100000;
        return n;
    }
    mpfr_t whole;
    mpfr_init2(whole, 64);
    n.more |= mpfr_abs(whole, value, MPFR_RNDZ) != 0;
    n.exponent = (int)mpfr_get_exp(whole) - 64;
    mpfr_mul_2si(whole, whole, -n.exponent, MPFR_RNDZ);
    n.significand = mpfr_get_ui(whole, MPFR_RNDZ);
    mpfr_clear(whole);
    return n;
}

/* The number that an element of a float format is. */
static inline struct number number_decode(enum type type, uint64_t bits)
{
    const struct number_format *format = number_format(type);
    const int mantissa_bits = format->mantissa_bits, exponent_bits = format->exponent_bits;
    if (format->specials == NUMBER_POWER) {
        return (struct number){
            .nan = bits == 0xff, .significand = 1, .exponent = (int)bits - format->bias};
    }
    const uint64_t mantissa = bits & ((UINT64_C(1) << mantissa_bits) - 1);
    const int top = (1 << exponent_bits) - 1;
    const int exponent = (int)(bits >> mantissa_bits) & top;
    struct number n = {.negative = (bits >> (mantissa_bits + exponent_bits) & 1) != 0};
    switch (format->specials) {
    case NUMBER_IEEE:
        n.nan = exponent == top && mantissa != 0;
        n.infinite = exponent == top && mantissa == 0;
        break;
    case NUMBER_ONE_NAN:
        n.nan = exponent == top && mantissa == (UINT64_C(1) << mantissa_bits) - 1;
        break;
    case NUMBER_UNSIGNED:
        n.nan = n.negative && exponent == 0 && mantissa == 0;
        break;
    default:
        break;
    }
    n.significand = exponent == 0 ? mantissa : mantissa | UINT64_C(1) << mantissa_bits;
    n.exponent = (exponent == 0 ? 1 : exponent) - format->bias - mantissa_bits;
    if (n.nan || n.infinite) {
        n.significand = 0;
    }
    return n;
}

/* As a long double, for the formats that fit: all but numbers with `more`. */
static inline long double number_value(const struct number *n)
{
    const long double size = n->nan ? (long double)NAN
                             : n->infinite
                                 ? HUGE_VALL
                                 : ldexpl((long double)(uint64_t)n->significand, n->exponent);
    return n->negative ? -size : size;
}

/* --- rounding to a format --- */

/* significand / 2^shift, to nearest, ties to even. */
static inline number_bits number_shift(const struct number *n, int shift)
{
    if (n->significand == 0 || shift > 127) {
        return 0; /* significands are below 2^126, so this is below a half */
    }
    if (shift <= 0) {
        return n->significand << -shift; /* `more` is below the place of rounding */
    }
    const number_bits half = (number_bits)1 << (shift - 1), rest = n->significand & (2 * half - 1);
    const number_bits whole = n->significand >> shift;
    const bool up = rest > half || (rest == half && (n->more || (whole & 1) != 0));
    return whole + up;
}

static inline uint64_t number_encode_power(const struct number *n)
{
    if (n->nan || n->infinite || n->negative || number_is_zero(n)) {
        return 0xff;
    }
    /* Between 2^k and 2^(k+1) the middle is 1.5 * 2^k, which goes up. */
    const int length = number_length(n->significand);
    int power = length == 0 ? -100000 : n->exponent + length - 1;
    power += length >= 2 && (n->significand >> (length - 2) & 1) != 0;
    return power > 127 ? 0xff : power < -127 ? 0 : (uint64_t)(power + 127);
}

/* The element nearest to the number, ties to even; NaN as the positive quiet one of IEEE formats,
 * the positive one of ONE_NAN; FINITE formats make −0 of it. */
static inline uint64_t number_encode(enum type type, const struct number *n)
{
    const struct number_format *format = number_format(type);
    const int mantissa_bits = format->mantissa_bits;
    if (format->specials == NUMBER_POWER) {
        return number_encode_power(n);
    }
    const uint64_t sign_bit = UINT64_C(1) << (mantissa_bits + format->exponent_bits);
    const uint64_t top = ((UINT64_C(1) << format->exponent_bits) - 1) << mantissa_bits;
    uint64_t most, beyond, nan; /* encodings of the largest value, of overflow, of NaN */
    switch (format->specials) {
    case NUMBER_IEEE:
        most = top - 1;
        beyond = top;
        nan = top | UINT64_C(1) << (mantissa_bits - 1);
        break;
    case NUMBER_ONE_NAN:
        most = sign_bit - 2;
        beyond = nan = sign_bit - 1;
        break;
    case NUMBER_UNSIGNED:
        most = sign_bit - 1;
        beyond = nan = sign_bit;
        break;
    default:
        most = beyond = sign_bit - 1;
        nan = sign_bit;
        break;
    }
    const bool keeps_sign = format->specials != NUMBER_UNSIGNED;
    const uint64_t sign = n->negative ? sign_bit : 0;
    if (n->nan) {
        return nan;
    }
    if (n->infinite) {
        return beyond | (keeps_sign ? sign : 0);
    }
    /* Units of the last place: of subnormals, or one that leaves mantissa_bits + 1 bits. */
    const int least = 1 - format->bias - mantissa_bits;
    const int length = number_length(n->significand);
    int unit = n->exponent + length - (mantissa_bits + 1);
    unit = unit < least || length == 0 ? least : unit;
    const uint64_t whole = (uint64_t)number_shift(n, unit - n->exponent);
    const int binades = unit - least;
    if (binades > 1 << format->exponent_bits) {
        return beyond | (keeps_sign ? sign : 0);
    }
    /* Each binade has 2^mantissa_bits codes, and a carry moves into the next. */
    const uint64_t code = ((uint64_t)binades << mantissa_bits) + whole;
    if (code > most) {
        return beyond | (keeps_sign ? sign : 0);
    }
    return keeps_sign || code != 0 ? code | sign : 0;
}

/* Are these the same element, all NaNs being one? */
static inline bool number_same(enum type type, uint64_t a, uint64_t b)
{
    return a == b || (number_decode(type, a).nan && number_decode(type, b).nan);
}

#endif
