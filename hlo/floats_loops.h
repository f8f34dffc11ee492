/* The array loops of floats.c, compiled once per vector level (vector.h). A loop does the whole
 * vectors and returns how many elements that was; floats.c does the rest one by one. */
#include "hlo/floats_layout.h"
#include "hlo/floats_vector.h"
#include "hlo/vector.h"

static int64_t VECTOR_FUNCTION(load_f32)(const float *in, double *out, int64_t count)
{
    int64_t i = 0;
    for (; i + VECTOR_WIDTH <= count; i += VECTOR_WIDTH) {
        vector_write(out + i, vector_read_f32(in + i));
    }
    return i;
}

static int64_t VECTOR_FUNCTION(store_f32)(const double *in, float *out, int64_t count)
{
    int64_t i = 0;
    for (; i + VECTOR_WIDTH <= count; i += VECTOR_WIDTH) {
        vector_write_f32(out + i, vector_read(in + i));
    }
    return i;
}

static int64_t VECTOR_FUNCTION(round_f32)(const double *in, double *out, int64_t count)
{
    int64_t i = 0;
    for (; i + VECTOR_WIDTH <= count; i += VECTOR_WIDTH) {
        vector_write(out + i, vector_round_f32(vector_read(in + i)));
    }
    return i;
}

/* IEEE 16-bit formats: the bits, moved to where a double has them, are a double whose exponent is
 * off by a constant; a multiplication puts that right, for subnormals too. */
static int64_t VECTOR_FUNCTION(load_16)(const struct float_layout *layout, const uint16_t *in,
                                        double *out, int64_t count)
{
    const int shift = 52 - layout->mantissa_bits;
    const vector scale = vector_all(layout->unbias);
    int64_t i = 0;
    for (; i + VECTOR_WIDTH <= count; i += VECTOR_WIDTH) {
        vector_bits bits = vector_read_u16(in + i);
        vector_bits magnitude = (bits & 0x7fff) << shift;
        vector_bits special = magnitude >= vector_bits_all(layout->infinity_bits);
        vector_bits quiet = (magnitude > vector_bits_all(layout->infinity_bits)) & QUIET_BIT;
        vector value = vector_select(special, (vector)(magnitude | INFINITY_BITS | quiet),
                                     (vector)magnitude * scale);
        vector_write(out + i, (vector)((vector_bits)value |
                                       ((vector_bits)((vector_unsigned)bits << 48) & INT64_MIN)));
    }
    return i;
}

static int64_t VECTOR_FUNCTION(round)(const struct float_layout *layout, const double *in,
                                      double *out, int64_t count)
{
    int64_t i = 0;
    for (; i + VECTOR_WIDTH <= count; i += VECTOR_WIDTH) {
        vector_write(out + i, vector_round(layout, vector_read(in + i)));
    }
    return i;
}

/* The bits of each element of a format of at most 16 bits. */
VECTOR_INLINE vector_bits VECTOR_FUNCTION(encode)(const struct float_layout *layout, vector in)
{
    vector rounded = vector_round_magnitude(layout, in);
    /* A subnormal gets the least exponent by adding the least normal, and loses it again. */
    vector_bits subnormal = rounded < layout->min_normal;
    vector lifted =
        rounded + vector_select(subnormal, vector_all(layout->min_normal), vector_all(0));
    vector_bits bits = ((vector_bits)lifted >> (52 - layout->mantissa_bits)) - layout->rebias;
    bits -= subnormal & layout->least_normal_bits;
    bits = (vector_bits)vector_select(
        rounded > layout->max, (vector)vector_bits_all(layout->overflow_encoding), (vector)bits);
    vector_bits sign = ((vector_bits)in >> (64 - layout->width)) & layout->sign_encoding;
    if (!layout->negative_zero) {
        sign &= rounded > 0;
        sign &= ~(rounded > layout->max);
    }
    vector_bits is_nan = in != in;
    if (layout->nan) {
        vector_bits payload = ((vector_bits)in >> (52 - layout->mantissa_bits));
        payload &= layout->payload_mask;
        bits = (vector_bits)vector_select(is_nan, (vector)(payload | layout->nan_encoding),
                                          (vector)bits);
        if (!layout->negative_zero) {
            sign &= ~is_nan;
        }
    } else {
        bits &= ~is_nan;
        sign ^= is_nan & layout->sign_encoding;
    }
    return bits | sign;
}

static int64_t VECTOR_FUNCTION(store_16)(const struct float_layout *layout, const double *in,
                                         uint16_t *out, int64_t count)
{
    int64_t i = 0;
    for (; i + VECTOR_WIDTH <= count; i += VECTOR_WIDTH) {
        vector_write_u16(out + i, VECTOR_FUNCTION(encode)(layout, vector_read(in + i)));
    }
    return i;
}

static int64_t VECTOR_FUNCTION(store_8)(const struct float_layout *layout, const double *in,
                                        uint8_t *out, int64_t count)
{
    int64_t i = 0;
    for (; i + VECTOR_WIDTH <= count; i += VECTOR_WIDTH) {
        vector_write_u8(out + i, VECTOR_FUNCTION(encode)(layout, vector_read(in + i)));
    }
    return i;
}

const struct float_loops VECTOR_FUNCTION(float_loops) = {
    .load_f32 = VECTOR_FUNCTION(load_f32),
    .store_f32 = VECTOR_FUNCTION(store_f32),
    .round_f32 = VECTOR_FUNCTION(round_f32),
    .load_16 = VECTOR_FUNCTION(load_16),
    .round = VECTOR_FUNCTION(round),
    .store_16 = VECTOR_FUNCTION(store_16),
    .store_8 = VECTOR_FUNCTION(store_8),
};
