/* Intervals: MPFR numbers rounded down and up, for what nothing cheaper decides.
 *
 * The exact value lies in [lo, hi], which comes out of a workspace of one precision; there is no
 * other bound to believe than MPFR's directed rounding. An interval of two zeros is an exact zero,
 * whose sign is right. NaN in either end means that nothing is known. */
#ifndef INTERP_EXACT_ENCLOSURE_H
#define INTERP_EXACT_ENCLOSURE_H

#include <mpfr.h>
#include <stdbool.h>

struct enclosure {
    mpfr_t lo, hi;
};
typedef const struct enclosure *enclosure_value;

/* Hands out intervals; all live until the workspace is finished, or until `used` is set back. */
struct enclosure_work {
    mpfr_prec_t precision;
    int used;
    struct enclosure *slots;
    void *limbs;
};
enum { ENCLOSURE_SLOTS = 256 };

/* False when memory does not suffice. */
bool enclosure_work_init(struct enclosure_work *work, mpfr_prec_t precision);
void enclosure_work_finish(struct enclosure_work *work);
/* Whether more were asked for than there are: then some have been overwritten. */
bool enclosure_work_is_full(const struct enclosure_work *work);

#define WORK struct enclosure_work *work
enclosure_value enclosure_of(WORK, double x);
bool enclosure_is_zero(enclosure_value a);
bool enclosure_is_negative(enclosure_value a);
/* Whether the sign is known. */
bool enclosure_is_sure(enclosure_value a);
enclosure_value enclosure_none(WORK);
enclosure_value enclosure_neg(WORK, enclosure_value a);
enclosure_value enclosure_scale(WORK, enclosure_value a, int power);
enclosure_value enclosure_add(WORK, enclosure_value a, enclosure_value b);
enclosure_value enclosure_sub(WORK, enclosure_value a, enclosure_value b);
enclosure_value enclosure_mul(WORK, enclosure_value a, enclosure_value b);
enclosure_value enclosure_sqr(WORK, enclosure_value a);
enclosure_value enclosure_div(WORK, enclosure_value a, enclosure_value b);
enclosure_value enclosure_sqrt(WORK, enclosure_value a);
enclosure_value enclosure_hypot(WORK, enclosure_value x, enclosure_value y);
enclosure_value enclosure_exp(WORK, enclosure_value a);
enclosure_value enclosure_expm1(WORK, enclosure_value a);
enclosure_value enclosure_sinh(WORK, enclosure_value a);
enclosure_value enclosure_cosh(WORK, enclosure_value a);
enclosure_value enclosure_log(WORK, enclosure_value a);
enclosure_value enclosure_log1p(WORK, enclosure_value a);
enclosure_value enclosure_sin(WORK, enclosure_value a);
enclosure_value enclosure_cos(WORK, enclosure_value a);
enclosure_value enclosure_asinh(WORK, enclosure_value a);
enclosure_value enclosure_cbrt(WORK, enclosure_value a);
enclosure_value enclosure_atan2(WORK, enclosure_value y, enclosure_value x);
enclosure_value enclosure_with_sign(WORK, enclosure_value a, bool negative);
enclosure_value enclosure_near(WORK, enclosure_value a, int power);
/* sin and cos of a whole number of eighths of a turn, exact where they are 0 or ±1. eighths is a
 * product of a double and an integer of at most 3 bits. */
enclosure_value enclosure_sin_eighths(WORK, double factor, int eighths);
enclosure_value enclosure_cos_eighths(WORK, double factor, int eighths);
/* x ^ y for exact x > 0 and y. */
enclosure_value enclosure_power(WORK, enclosure_value x, double y);
#undef WORK

#endif
