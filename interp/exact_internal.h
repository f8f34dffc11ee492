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

/* A complex number. */
struct exact_parts {
    double re, im;
};
/* Which parts a guess has decided. */
enum { EXACT_RE = 1, EXACT_IM = 2, EXACT_BOTH = 3 };

/* Complex functions of finite arguments, other than poles, in balls of long doubles
 * (exact_complex_guess.c): the parts that are proved, as a set of the bits above. part: f32, f64.
 */
int exact_complex_guess(enum exact_function function, enum type part, struct exact_parts z,
                        struct exact_parts *out);
/* POWER and ATAN2. */
int exact_complex_guess_binary(enum exact_binary_function function, enum type part,
                               struct exact_parts a, struct exact_parts b, struct exact_parts *out);
/* (a b + c d) / (e² + f²), e and f not both 0: whether it is proved. It never is for 0. */
bool exact_complex_guess_quotient(enum type part, double a, double b, double c, double d, double e,
                                  double f, double *out);
/* The same in intervals of MPFR numbers (exact_complex_mpfr.c), always proved: the wanted parts. */
struct exact_parts exact_complex_mpfr(enum exact_function function, enum type part,
                                      struct exact_parts z, int wanted);
struct exact_parts exact_complex_mpfr_binary(enum exact_binary_function function, enum type part,
                                             struct exact_parts a, struct exact_parts b,
                                             int wanted);
/* Where a part of z is infinite or NaN, as C99 Annex G has it (exact_complex_limits.c). The parts
 * are not rounded yet. */
struct exact_parts exact_complex_limit(enum exact_function function, struct exact_parts z);
/* a * b and a / b where something is infinite or NaN, or b is zero (G.5.1); of finite numbers, as
 * plain doubles give it. */
struct exact_parts exact_complex_multiply_limit(struct exact_parts a, struct exact_parts b);
struct exact_parts exact_complex_divide_limit(struct exact_parts a, struct exact_parts b);
/* numerator / |z|. */
double exact_complex_mpfr_sign(enum type part, double numerator, struct exact_parts z);
/* Powers whose zero parts only exact angles show: for exact_complex_mpfr_binary alone. */
bool exact_complex_power_is_special(struct exact_parts a, struct exact_parts b);

#endif
