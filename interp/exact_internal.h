/* What the files of exact.h share: rounding tests, and MPFR as the last resort. */
#ifndef INTERP_EXACT_INTERNAL_H
#define INTERP_EXACT_INTERNAL_H

#include <mpfr.h>
#include <stdbool.h>

#include "interp/exact.h"

/* Relative error granted to a double function of libm: 16 ulp. The GNU C library's manual ("Known
 * Maximum Errors in Math Functions", 2.36, x86_64 and aarch64) has at most 5 ulp for those used. */
#define EXACT_LIBM_SLACK 0x1p-49
/* The same for long double functions with 64 significant bits: 32 ulp where that manual has 7. */
#define EXACT_WIDE_SLACK 0x1p-59L

/* If all values within |value| * slack of value round alike to `type` (not f64), gives that in
 * *out. NaN is never decided. */
bool exact_decided(enum type type, double value, double slack, double *out);

/* The same for f64, from an x87 long double. False where long double is something else (also where
 * an emulator keeps only 53 bits). */
bool exact_decided_wide(long double value, double *out);
/* Whether long double here has 64 significant bits. */
bool exact_wide_works(void);

/* MPFR's value rounded to `type`: value has at least 64 bits of precision and was rounded toward
 * zero, inexact tells whether anything was cut off. */
double exact_from_mpfr(enum type type, mpfr_srcptr value, bool inexact);

/* function(x) by MPFR, for finite x at which it is finite. */
double exact_unary_mpfr(enum exact_function function, enum type type, double x);
/* One element of exact_unary, without vector kernels. */
double exact_unary_one(enum exact_function function, enum type type, double x);

/* Complex formulas at a working precision (exact_complex_mpfr.c). Operands are finite; each part of
 * the result is within 2^-(precision / 2) of the exact one, relative to it, unless terms cancel. */
struct exact_complex {
    mpfr_t re, im;
};
void exact_complex_formula(enum exact_function function, struct exact_complex *out,
                           const struct exact_complex *z);
/* POWER and ATAN2. */
void exact_complex_formula_binary(enum exact_binary_function function, struct exact_complex *out,
                                  const struct exact_complex *a, const struct exact_complex *b);
void exact_complex_start(struct exact_complex *z, mpfr_prec_t precision);
void exact_complex_finish(struct exact_complex *z);

#endif
