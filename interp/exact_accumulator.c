/* The long accumulator: an integer of 136 digits of 32 bits, kept in signed 64-bit limbs so that
 * carries can wait for 2^29 terms. Bit 0 of limb 0 is worth 2^-2176. */
#include <math.h>
#include <string.h>

#include "hlo/floats.h"
#include "interp/exact_sum.h"

enum { LOWEST_BIT = -2176, TERMS_BEFORE_CARRY = 1 << 29 };

void exact_accumulator_init(struct exact_accumulator *accumulator)
{
    memset(accumulator, 0, sizeof(*accumulator));
}

/* Afterwards all limbs but the last are in [0, 2^32). */
static void propagate(struct exact_accumulator *accumulator)
{
    int64_t carry = 0;
    for (int i = 0; i < EXACT_LIMBS - 1; i++) {
        int64_t limb = accumulator->limbs[i] + carry;
        carry = limb >> 32;
        accumulator->limbs[i] = limb & 0xffffffff;
    }
    accumulator->limbs[EXACT_LIMBS - 1] += carry;
    accumulator->pending = 0;
}

/* Adds ± value * 2^exponent. */
static void add_bits(struct exact_accumulator *accumulator, uint64_t value, int exponent,
                     bool negative)
{
    const int position = exponent - LOWEST_BIT;
    const int shift = position & 31;
    int64_t *limb = accumulator->limbs + (position >> 5);
    const uint64_t low = (value & 0xffffffff) << shift, high = (value >> 32) << shift;
    const int64_t digits[3] = {(int64_t)(low & 0xffffffff),
                               (int64_t)((low >> 32) + (high & 0xffffffff)), (int64_t)(high >> 32)};
    const int64_t sign = negative ? -1 : 1;
    limb[0] += sign * digits[0];
    limb[1] += sign * digits[1];
    limb[2] += sign * digits[2];
}

/* value = ± the returned integer * 2^*exponent. */
static uint64_t split(double value, int *exponent, bool *negative)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    const int field = (int)(bits >> 52) & 0x7ff;
    const uint64_t fraction = bits & 0xfffffffffffff;
    *negative = bits >> 63 != 0;
    *exponent = (field == 0 ? 1 : field) - 1075;
    return field == 0 ? fraction : fraction | (uint64_t)1 << 52;
}

/* Zeros, infinities and NaN leave only flags. */
static bool is_plain(struct exact_accumulator *accumulator, double term)
{
    if (isnan(term)) {
        accumulator->nan = true;
    } else if (isinf(term)) {
        accumulator->plus_infinity |= term > 0;
        accumulator->minus_infinity |= term < 0;
    } else if (term == 0) {
        accumulator->plus_zero |= !signbit(term);
        accumulator->minus_zero |= signbit(term) != 0;
    } else {
        accumulator->nonzero = true;
        return true;
    }
    return false;
}

void exact_accumulator_add(struct exact_accumulator *accumulator, double term)
{
    int exponent;
    bool negative;
    if (!is_plain(accumulator, term)) {
        return;
    }
    uint64_t value = split(term, &exponent, &negative);
    add_bits(accumulator, value, exponent, negative);
    if (++accumulator->pending >= TERMS_BEFORE_CARRY) {
        propagate(accumulator);
    }
}

void exact_accumulator_add_product(struct exact_accumulator *accumulator, double a, double b)
{
    if (a == 0 || b == 0 || !isfinite(a) || !isfinite(b)) {
        is_plain(accumulator, a * b);
        return;
    }
    int exponent_a, exponent_b;
    bool negative_a, negative_b;
    const uint64_t x = split(a, &exponent_a, &negative_a), y = split(b, &exponent_b, &negative_b);
    const int exponent = exponent_a + exponent_b;
    const bool negative = negative_a != negative_b;
    const uint64_t x_low = x & 0xffffffff, x_high = x >> 32;
    const uint64_t y_low = y & 0xffffffff, y_high = y >> 32;
    add_bits(accumulator, x_low * y_low, exponent, negative);
    add_bits(accumulator, x_low * y_high + x_high * y_low, exponent + 32, negative);
    add_bits(accumulator, x_high * y_high, exponent + 64, negative);
    accumulator->nonzero = true;
    accumulator->pending += 3;
    if (accumulator->pending >= TERMS_BEFORE_CARRY) {
        propagate(accumulator);
    }
}

/* Bits [from, from + 64) of a propagated non-negative accumulator, `from` counted from bit 0. */
static uint64_t read_bits(const struct exact_accumulator *accumulator, int from)
{
    const int limb = from >> 5, shift = from & 31;
    uint64_t digits[3];
    for (int i = 0; i < 3; i++) {
        digits[i] = limb + i < EXACT_LIMBS ? (uint64_t)accumulator->limbs[limb + i] : 0;
    }
    uint64_t bits = (digits[0] | digits[1] << 32) >> shift;
    return shift == 0 ? bits : bits | digits[2] << (64 - shift);
}

static bool any_below(const struct exact_accumulator *accumulator, int bit)
{
    for (int i = 0; i < bit >> 5; i++) {
        if (accumulator->limbs[i] != 0) {
            return true;
        }
    }
    const int64_t mask = ((int64_t)1 << (bit & 31)) - 1;
    return (accumulator->limbs[bit >> 5] & mask) != 0;
}

/* The magnitude of a propagated non-negative, nonzero accumulator: as a double rounded to nearest
 * for f64, else rounded to odd, which rounds on to `type` rightly. */
static double magnitude(const struct exact_accumulator *accumulator, enum type type)
{
    int top = EXACT_LIMBS - 1;
    while (accumulator->limbs[top] == 0) {
        top--;
    }
    const int high_bit = top * 32 + 63 - __builtin_clzll((uint64_t)accumulator->limbs[top]);
    if (high_bit + LOWEST_BIT > 1023) {
        return type == TYPE_F64 ? INFINITY : 0x1.fffffffffffffp1023;
    }
    if (type != TYPE_F64 && high_bit + LOWEST_BIT < -1022) {
        return 0x1p-1022;
    }
    int last_bit = high_bit - 52;
    if (last_bit < -1074 - LOWEST_BIT) {
        last_bit = -1074 - LOWEST_BIT;
    }
    uint64_t bits = high_bit < last_bit ? 0 : read_bits(accumulator, last_bit);
    bits &= ((uint64_t)1 << 53) - 1;
    if (type != TYPE_F64) {
        bits |= any_below(accumulator, last_bit);
    } else if ((read_bits(accumulator, last_bit - 1) & 1) != 0 &&
               ((bits & 1) != 0 || any_below(accumulator, last_bit - 1))) {
        bits++;
    }
    return ldexp((double)bits, last_bit + LOWEST_BIT);
}

double exact_accumulator_round(const struct exact_accumulator *accumulator, enum type type)
{
    if (accumulator->nan || (accumulator->plus_infinity && accumulator->minus_infinity)) {
        return float_round(type, NAN);
    }
    if (accumulator->plus_infinity || accumulator->minus_infinity) {
        return float_round(type, accumulator->plus_infinity ? INFINITY : -INFINITY);
    }
    if (!accumulator->nonzero) {
        return float_round(type, accumulator->plus_zero ? 0.0 : -0.0);
    }
    struct exact_accumulator sum = *accumulator;
    propagate(&sum);
    const bool negative = sum.limbs[EXACT_LIMBS - 1] < 0;
    if (negative) {
        for (int i = 0; i < EXACT_LIMBS; i++) {
            sum.limbs[i] = -sum.limbs[i];
        }
        propagate(&sum);
    }
    bool zero = true;
    for (int i = 0; i < EXACT_LIMBS && zero; i++) {
        zero = sum.limbs[i] == 0;
    }
    if (zero) {
        return float_round(type, 0.0);
    }
    const double value = magnitude(&sum, type);
    return float_round(type, negative ? -value : value);
}
