/* Floating point formats as vector loops want them: for floats.c and for loops elsewhere that round
 * to a format as they go (floats_vector.h). */
#ifndef HLO_FLOATS_LAYOUT_H
#define HLO_FLOATS_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "hlo/types.h"

#define INFINITY_BITS 0x7ff0000000000000
#define QUIET_BIT 0x0008000000000000

/* A format as the loops want it; every format but f64 and e8m0. */
struct float_layout {
    int width, mantissa_bits;
    bool negative_zero, nan;
    double min_normal, max;
    double beyond;             /* twice max: stands for all larger magnitudes */
    double overflow;           /* what magnitudes above max become */
    double unbias;             /* 2^(1023 - bias) */
    int64_t magic;             /* added to exponent bits: 52 - mantissa_bits binades up */
    int64_t infinity_bits;     /* encoding of the top exponent, moved to a double's place */
    int64_t rebias;            /* what encodings from a double's bits have too much */
    int64_t least_normal_bits; /* encoding of min_normal */
    int64_t overflow_encoding, nan_encoding, sign_encoding;
    int64_t payload_mask; /* bits of a NaN that carry its payload */
};

/* The layout of any float type but f64 and e8m0 (NULL for those). */
const struct float_layout *float_layout(enum type type);

struct float_loops {
    int64_t (*load_f32)(const float *in, double *out, int64_t count);
    int64_t (*store_f32)(const double *in, float *out, int64_t count);
    int64_t (*round_f32)(const double *in, double *out, int64_t count);
    int64_t (*load_16)(const struct float_layout *layout, const uint16_t *in, double *out,
                       int64_t count);
    int64_t (*round)(const struct float_layout *layout, const double *in, double *out,
                     int64_t count);
    int64_t (*store_16)(const struct float_layout *layout, const double *in, uint16_t *out,
                        int64_t count);
    int64_t (*store_8)(const struct float_layout *layout, const double *in, uint8_t *out,
                       int64_t count);
};

extern const struct float_loops float_loops_level0, float_loops_level2, float_loops_level3;

#endif
