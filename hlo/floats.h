/* Floating point formats: between the bits of an element and a double.
 *
 * Every format of at most 32 bits embeds in double, so a double carries any value of it exactly.
 * Conversion to a format rounds once, to nearest, ties to even. Sources: see floats.def. */
#ifndef HLO_FLOATS_H
#define HLO_FLOATS_H

#include <stdbool.h>
#include <stdint.h>

#include "hlo/types.h"

/* Which bit patterns are not finite numbers. */
enum float_specials {
    SPECIALS_NONE,              /* not a floating point type */
    SPECIALS_IEEE,              /* top exponent: infinity (mantissa 0) and NaN */
    SPECIALS_ALL_ONES_NAN,      /* no infinity; exponent and mantissa all ones is NaN */
    SPECIALS_NEGATIVE_ZERO_NAN, /* no infinity, no −0; the pattern of −0 is the one NaN */
    SPECIALS_FINITE,            /* no infinity, no NaN */
    SPECIALS_UNSIGNED_POWER,    /* e8m0: a power of two, 0xff is NaN, no sign, no zero */
};

struct float_format {
    int exponent_bits, mantissa_bits, bias;
    enum float_specials specials;
};

/* Indexed by enum type; specials is NONE for types that are not floats. */
extern const struct float_format float_formats[TYPE_COUNT];

/* The value of an element of type `type`; NaN keeps its sign and the payload that fits. */
double float_to_double(enum type type, uint64_t bits);

/* The element of `type` nearest to value, ties to even; one rounding. Out of range as the format
 * and XLA's conversions define it (xla/tsl ml_dtypes): IEEE formats overflow to infinity; formats
 * without infinity go to NaN where they have one; FINITE formats saturate (NaN becomes −0 or +0
 * by ml_dtypes' rule, see floats.c). */
uint64_t float_from_double(enum type type, double value);

/* Like float_from_double for the exact number value + tail, where |tail| is below half an ulp of
 * value: the sign of tail decides ties that value alone would leave open (no double rounding). */
uint64_t float_from_double_tail(enum type type, double value, double tail);

/* The nearest value of `type` as a double: float_to_double of float_from_double. */
double float_round(enum type type, double value);

/* value + tail, |tail| at most half an ulp of value, rounded to odd: if inexact, the one of the two
 * neighbours whose last bit is 1. Rounding that to any type of at most 51 significant bits equals
 * rounding value + tail (S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums:
 * proved algorithms using rounding to odd", IEEE Trans. Comput. 57, 2008). */
double float_round_to_odd(double value, double tail);

/* Distance to the next larger magnitude at |value| in `type` (the smallest subnormal at 0). */
double float_ulp(enum type type, double value);

/* Largest finite value, smallest normal and smallest positive value of the format. */
double float_max(enum type type);
double float_min_normal(enum type type);
double float_min_positive(enum type type);
bool float_has_infinity(enum type type);
bool float_has_nan(enum type type);
bool float_has_negative_zero(enum type type);

/* Whole-array conversions, vectorised where it matters (f32, f16, bf16, f64). count elements;
 * `bits` is the literal's storage (type_bytes each). */
void float_load(enum type type, const void *bits, double *out, int64_t count);
void float_store(enum type type, const double *in, void *bits, int64_t count);
/* out[i] = float_round(type, in[i]); in and out may be the same array. */
void float_round_array(enum type type, const double *in, double *out, int64_t count);

#endif
