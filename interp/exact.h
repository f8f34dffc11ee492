/* Correctly rounded scalar functions over arrays.
 *
 * Every result is the exact mathematical value rounded once to `type` (to nearest, ties to even;
 * subnormals included), and comes back as the double that equals the stored element: where the
 * format overflows to infinity, to NaN or saturates (floats.h), so does the result here.
 * float_store of it is therefore exact. The results are the same bits on every machine, libm and
 * instruction set: a fast guess with a known error bound is rounded only if every value within the
 * bound rounds alike, otherwise MPFR decides (Ziv's strategy: A. Ziv, "Fast evaluation of
 * elementary mathematical functions with correctly rounded last bit", ACM TOMS 17, 1991).
 *
 * Special values follow C99 Annex F (real) and Annex G (complex). Every NaN result is the positive
 * quiet NaN without payload, whatever came in: processors differ in what they make of NaNs.
 * `type` is any float type, f64 included; complex functions take the part type (f32 or f64).
 * Inputs are doubles that are values of `type`. in and out may be the same array. No errors. */
#ifndef INTERP_EXACT_H
#define INTERP_EXACT_H

#include <stdint.h>

#include "hlo/types.h"

enum exact_function {
#define EXACT(id, name) EXACT_##id,
#include "interp/exact.def"
    EXACT_FUNCTION_COUNT
};

enum exact_binary_function {
    EXACT_ADD,
    EXACT_SUBTRACT,
    EXACT_MULTIPLY,
    EXACT_DIVIDE,
    EXACT_POWER,     /* C99 pow; complex: exp(b * log(a)) with 0^0 = 1 */
    EXACT_ATAN2,     /* atan2(a, b); complex: -i * log((b + i*a) / sqrt(a*a + b*b)), as XLA */
    EXACT_REMAINDER, /* C99 fmod: sign of the dividend; real only */
};

/* out[i] = function(in[i]), i < count. */
void exact_unary(enum exact_function function, enum type type, const double *in, double *out,
                 int64_t count);

/* out[i] = function(a[i], b[i]), i < count. */
void exact_binary(enum exact_binary_function function, enum type type, const double *a,
                  const double *b, double *out, int64_t count);

/* Complex values as separate arrays of real and imaginary parts; each part of the result is
 * rounded on its own. All functions but ERF and ERFC (those give NaN). Branch cuts as in C99
 * Annex G: the sign of a zero part tells the side. */
void exact_complex_unary(enum exact_function function, enum type part, const double *in_re,
                         const double *in_im, double *out_re, double *out_im, int64_t count);

/* All binary functions but REMAINDER. */
void exact_complex_binary(enum exact_binary_function function, enum type part, const double *a_re,
                          const double *a_im, const double *b_re, const double *b_im,
                          double *out_re, double *out_im, int64_t count);

/* |z| without intermediate overflow; infinite if a part is, even beside a NaN. */
void exact_complex_abs(enum type part, const double *in_re, const double *in_im, double *out,
                       int64_t count);

/* z / |z|, and z where z is zero; a NaN part makes both parts NaN; infinite parts give NaN (as
 * inf / inf) beside a zero for a finite part. */
void exact_complex_sign(enum type part, const double *in_re, const double *in_im, double *out_re,
                        double *out_im, int64_t count);

/* Integers to floats with one rounding (through a plain double 2^60 + 2^36 + 1 would round twice
 * on its way to f32). out[i] is the element's value as above. */
void exact_from_s64(enum type type, const int64_t *in, double *out, int64_t count);
void exact_from_u64(enum type type, const uint64_t *in, double *out, int64_t count);

#endif
