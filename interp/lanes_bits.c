/* Steps that work on the bits of elements as they are stored: bitcast-convert, reduce-precision,
 * stochastic-convert. */
#include <math.h>
#include <string.h>

#include "hlo/floats.h"
#include "interp/lanes_internal.h"

typedef unsigned char raw_strip[LANE_STRIP * LANE_MAX_BYTES];

void lane_bits_cast(const struct lane_step *step, void *out, const void *const *in, int64_t count)
{
    enum type from = step->operands[0], to = step->result;
    raw_strip raw;
    for (int64_t first = 0; first < count; first += LANE_STRIP) {
        int64_t n = count - first < LANE_STRIP ? count - first : LANE_STRIP;
        lane_store(from, (const char *)in[0] + first * lane_bytes(lane_of(from)), raw, n);
        if (type_bits(from) < 8 && from != TYPE_PRED) {
            for (int64_t i = 0; i < n; i++) {
                raw[i] &= (unsigned char)((1 << type_bits(from)) - 1);
            }
        }
        lane_load(to, raw, (char *)out + first * lane_bytes(lane_of(to)), n);
    }
}

/* A float with the given bits, its mantissa rounded to `mantissa` bits and its exponent range cut
 * to `exponent` bits: what overflows becomes infinite and what would be subnormal zero, as XLA
 * defines reduce-precision; without mantissa bits NaN cannot be and becomes infinite. */
static uint64_t reduce_bits(const struct float_format *format, uint64_t bits, int exponent,
                            int mantissa)
{
    const int width = format->mantissa_bits;
    const uint64_t sign_bit = UINT64_C(1) << (width + format->exponent_bits);
    const uint64_t exponent_mask = ((UINT64_C(1) << format->exponent_bits) - 1) << width;
    uint64_t sign = bits & sign_bit, magnitude = bits & (sign_bit - 1);
    if (magnitude > exponent_mask) {
        return mantissa > 0 ? bits : sign | exponent_mask;
    }
    if (mantissa < width) {
        int dropped = width - mantissa;
        uint64_t last = magnitude >> dropped & 1;
        magnitude += (UINT64_C(1) << (dropped - 1)) - 1 + last;
        magnitude &= ~((UINT64_C(1) << dropped) - 1);
    }
    if (exponent < format->exponent_bits) {
        uint64_t reduced_bias = (UINT64_C(1) << (exponent - 1)) - 1;
        uint64_t bias = (UINT64_C(1) << (format->exponent_bits - 1)) - 1;
        uint64_t biased = magnitude >> width;
        if (biased > bias + reduced_bias) {
            magnitude = exponent_mask;
        } else if (biased <= bias - reduced_bias) {
            magnitude = 0;
        }
    }
    return sign | magnitude;
}

/* The same for the formats of at most 8 bits without infinity, by their values: what overflows
 * becomes what the format makes of infinity, NaN or its largest value. Exponent bits that are not
 * fewer than the format's own leave it its own range. */
static uint8_t reduce_small(enum type type, uint8_t bits, int exponent, int mantissa)
{
    const struct float_format *format = &float_formats[type];
    double value = float_to_double(type, bits);
    if (isnan(value)) {
        return bits;
    }
    const uint64_t most = float_from_double(type, float_max(type));
    const double sign = copysign(1, value);
    uint64_t magnitude = float_from_double(type, fabs(value));
    if (mantissa < format->mantissa_bits) {
        const int dropped = format->mantissa_bits - mantissa;
        uint64_t last = magnitude >> dropped & 1;
        if (mantissa == 0 && magnitude >> dropped != 0) { /* the exponent's, were its bias odd */
            last ^= (format->bias & 1) == 0;
        }
        magnitude += (UINT64_C(1) << (dropped - 1)) - 1 + last;
        magnitude &= ~((UINT64_C(1) << dropped) - 1);
    }
    value = magnitude > most ? INFINITY : float_to_double(type, magnitude);
    if (exponent < format->exponent_bits) {
        const int reduced_bias = (1 << (exponent - 1)) - 1;
        if (value >= ldexp(1, reduced_bias + 1)) {
            value = INFINITY;
        } else if (value < ldexp(1, 1 - reduced_bias)) {
            value = 0;
        }
    }
    return (uint8_t)float_from_double(type, copysign(value, sign));
}

#define REDUCE(type)                                                              \
    {                                                                             \
        type *values = raw;                                                       \
        for (int64_t i = 0; i < count; i++) {                                     \
            values[i] = (type)reduce_bits(format, values[i], exponent, mantissa); \
        }                                                                         \
    }
static void reduce_raw(const struct lane_step *step, void *raw, int64_t count)
{
    const struct float_format *format = &float_formats[step->result];
    const int exponent = step->code[0], mantissa = step->code[1];
    if (format->specials != SPECIALS_IEEE) {
        uint8_t *values = raw;
        for (int64_t i = 0; i < count; i++) {
            values[i] = reduce_small(step->result, values[i], exponent, mantissa);
        }
        return;
    }
    switch (type_bytes(step->result)) {
    case 1:
        REDUCE(uint8_t)
        break;
    case 2:
        REDUCE(uint16_t)
        break;
    case 4:
        REDUCE(uint32_t)
        break;
    default:
        REDUCE(uint64_t)
        break;
    }
}
#undef REDUCE

void lane_bits_reduce(const struct lane_step *step, void *out, const void *const *in, int64_t count)
{
    enum type type = step->result;
    const int bytes = lane_bytes(lane_of(type));
    raw_strip raw;
    for (int64_t first = 0; first < count; first += LANE_STRIP) {
        int64_t n = count - first < LANE_STRIP ? count - first : LANE_STRIP;
        lane_store(type, (const char *)in[0] + first * bytes, raw, n);
        reduce_raw(step, raw, n);
        lane_load(type, raw, (char *)out + first * bytes, n);
    }
}

/* XLA's definition (HloEvaluator): the integer part, plus one away from zero if the fraction as a
 * fixed point number of the random number's width is above the random number; saturating. */
static int64_t stochastic(double value, int64_t max, int64_t min, uint64_t random, int random_bits)
{
    if (value != value) {
        return 0;
    }
    if (value >= (double)max) {
        return max;
    }
    if (value <= (double)min) {
        return min;
    }
    double magnitude = fabs(value);
    int64_t whole = (int64_t)magnitude;
    double fraction = magnitude - (double)whole;
    if (random < (uint64_t)ldexp(fraction, random_bits)) {
        if (whole == max) {
            return min;
        }
        whole++;
    }
    return value < 0 ? -whole : whole;
}

void lane_bits_stochastic(const struct lane_step *step, void *out, const void *const *in,
                          int64_t count)
{
    enum type type = step->operands[0], random_type = step->operands[1];
    int64_t max = (int64_t)((UINT64_C(1) << (step->bits - 1)) - 1), min = -max - 1;
    struct lane_step widen_random, widen_value, narrow;
    lane_convert(random_type, TYPE_U64, &widen_random);
    lane_convert(type, TYPE_F64, &widen_value);
    lane_convert(TYPE_S64, step->result, &narrow);
    uint64_t random[LANE_STRIP];
    double value[LANE_STRIP];
    int64_t result[LANE_STRIP];
    for (int64_t first = 0; first < count; first += LANE_STRIP) {
        int64_t n = count - first < LANE_STRIP ? count - first : LANE_STRIP;
        const void *value_in = (const char *)in[0] + first * lane_bytes(lane_of(type));
        const void *random_in = (const char *)in[1] + first * lane_bytes(lane_of(random_type));
        const void *result_in = result;
        lane_run(&widen_value, value, &value_in, n);
        lane_run(&widen_random, random, &random_in, n);
        for (int64_t i = 0; i < n; i++) {
            result[i] = stochastic(value[i], max, min, random[i], type_bits(random_type));
        }
        lane_run(&narrow, (char *)out + first * lane_bytes(lane_of(step->result)), &result_in, n);
    }
}
