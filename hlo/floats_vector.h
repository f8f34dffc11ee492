/* Rounding to a format inside vector loops. */
#ifndef HLO_FLOATS_VECTOR_H
#define HLO_FLOATS_VECTOR_H

#include "hlo/floats_layout.h"
#include "hlo/vector.h"

/* The magnitude of `in` rounded to the format, as if its exponents had no upper end: adding and
 * subtracting a power of two makes the hardware round at the format's last place. */
VECTOR_INLINE vector vector_round_magnitude(const struct float_layout *layout, vector in)
{
    vector magnitude = vector_abs(in);
    vector scale = vector_select(magnitude <= layout->beyond, magnitude,
                                 vector_all(layout->beyond)); /* NaN too */
    scale = vector_select(scale < layout->min_normal, vector_all(layout->min_normal), scale);
    vector magic = (vector)(((vector_bits)scale & INFINITY_BITS) + layout->magic);
    return (magnitude + magic) - magic;
}

/* Each lane rounded to the format: float_round of it (floats.h). */
VECTOR_INLINE vector vector_round(const struct float_layout *layout, vector value)
{
    vector rounded = vector_round_magnitude(layout, value);
    rounded = vector_select(rounded > layout->max, vector_all(layout->overflow), rounded);
    vector_bits sign = (vector_bits)value & INT64_MIN;
    if (!layout->negative_zero) {
        sign &= rounded > 0;
    }
    if (!layout->nan) {
        vector_bits is_nan = value != value;
        rounded = vector_select(is_nan, vector_all(0), rounded);
        sign ^= is_nan & INT64_MIN;
    }
    return (vector)((vector_bits)rounded | sign);
}

#endif
