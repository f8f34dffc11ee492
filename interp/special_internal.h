/* Between special.c and special_*.c. */
#ifndef INTERP_SPECIAL_INTERNAL_H
#define INTERP_SPECIAL_INTERNAL_H

#include <mpfr.h>
#include <stdbool.h>

#include "interp/special.h"

/* A value with a bound of its error: |exact − value| ≤ error. */
struct special_value {
    mpfr_t value, error;
};

/* function(a, b) rounded once to `type`, of operands that are no limits: for zeta s = a > 1 and
 * finite, q = b finite and no pole. Not of ERFC. */
double special_mpfr(enum special_function function, enum type type, double a, double b);

/* special_guess.c: the same, if long doubles decide it. */
bool special_guess(enum special_function function, enum type type, double a, double *out);

/* special_zeta.c: zeta(s, q) of s or q that are infinite or NaN, s ≤ 1, or a pole; false for
 * others. */
bool special_zeta_limit(double s, double q, double *out);
/* zeta(s, q), and polygamma(n, x) for n ≥ 1, with about `precision` bits. */
void special_zeta(struct special_value *out, double s, double q, mpfr_prec_t precision);
void special_polygamma(struct special_value *out, double n, double x, mpfr_prec_t precision);

#endif
