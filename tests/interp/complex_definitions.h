/* Complex functions by their definitions, exponentials and logarithms, in MPFR: with enough bits no
 * cancellation matters. Arithmetic works at the precision of `out`, which may be an operand of all
 * but define. */
#ifndef TESTS_INTERP_COMPLEX_DEFINITIONS_H
#define TESTS_INTERP_COMPLEX_DEFINITIONS_H

#include <mpfr.h>

#include "interp/exact.h"

/* --- complex arithmetic at a precision --- */

struct wide {
    mpfr_t re, im;
};

static inline void wide_start(struct wide *z, mpfr_prec_t precision)
{
    mpfr_inits2(precision, z->re, z->im, (mpfr_ptr)0);
}
static inline mpfr_prec_t wide_precision(const struct wide *z)
{
    return mpfr_get_prec(z->re);
}
static inline void wide_finish(struct wide *z)
{
    mpfr_clears(z->re, z->im, (mpfr_ptr)0);
}
static inline void wide_set(struct wide *out, const struct wide *z)
{
    mpfr_set(out->re, z->re, MPFR_RNDN);
    mpfr_set(out->im, z->im, MPFR_RNDN);
}
static inline void wide_add(struct wide *out, const struct wide *a, const struct wide *b)
{
    mpfr_add(out->re, a->re, b->re, MPFR_RNDN);
    mpfr_add(out->im, a->im, b->im, MPFR_RNDN);
}
static inline void wide_subtract(struct wide *out, const struct wide *a, const struct wide *b)
{
    mpfr_sub(out->re, a->re, b->re, MPFR_RNDN);
    mpfr_sub(out->im, a->im, b->im, MPFR_RNDN);
}
static inline void wide_multiply(struct wide *out, const struct wide *a, const struct wide *b)
{
    mpfr_t re;
    mpfr_init2(re, wide_precision(out));
    mpfr_fmms(re, a->re, b->re, a->im, b->im, MPFR_RNDN);
    mpfr_fmma(out->im, a->re, b->im, a->im, b->re, MPFR_RNDN);
    mpfr_swap(out->re, re);
    mpfr_clear(re);
}
/* a / b = a conj(b) / |b|². */
static inline void wide_divide(struct wide *out, const struct wide *a, const struct wide *b)
{
    mpfr_t square;
    struct wide turned;
    mpfr_init2(square, wide_precision(out));
    wide_start(&turned, wide_precision(out));
    mpfr_fmma(square, b->re, b->re, b->im, b->im, MPFR_RNDN);
    wide_set(&turned, b);
    mpfr_neg(turned.im, turned.im, MPFR_RNDN);
    wide_multiply(out, a, &turned);
    mpfr_div(out->re, out->re, square, MPFR_RNDN);
    mpfr_div(out->im, out->im, square, MPFR_RNDN);
    wide_finish(&turned);
    mpfr_clear(square);
}
static inline void wide_scale(struct wide *z, double factor)
{
    mpfr_mul_d(z->re, z->re, factor, MPFR_RNDN);
    mpfr_mul_d(z->im, z->im, factor, MPFR_RNDN);
}
/* z *= i. */
static inline void wide_turn(struct wide *z)
{
    mpfr_swap(z->re, z->im);
    mpfr_neg(z->re, z->re, MPFR_RNDN);
}
static inline void wide_turn_back(struct wide *z)
{
    mpfr_swap(z->re, z->im);
    mpfr_neg(z->im, z->im, MPFR_RNDN);
}
static inline void wide_power_of_e(struct wide *out, const struct wide *z)
{
    mpfr_t size;
    mpfr_init2(size, wide_precision(out));
    mpfr_exp(size, z->re, MPFR_RNDN);
    mpfr_sin_cos(out->im, out->re, z->im, MPFR_RNDN);
    mpfr_mul(out->re, out->re, size, MPFR_RNDN);
    mpfr_mul(out->im, out->im, size, MPFR_RNDN);
    mpfr_clear(size);
}
static inline void wide_logarithm(struct wide *out, const struct wide *z)
{
    mpfr_t size;
    mpfr_init2(size, wide_precision(out));
    mpfr_hypot(size, z->re, z->im, MPFR_RNDN);
    mpfr_atan2(out->im, z->im, z->re, MPFR_RNDN);
    mpfr_log(out->re, size, MPFR_RNDN);
    mpfr_clear(size);
}
/* exp(log(z) / divisor). */
static inline void wide_root(struct wide *out, const struct wide *z, int divisor)
{
    wide_logarithm(out, z);
    mpfr_div_si(out->re, out->re, divisor, MPFR_RNDN);
    mpfr_div_si(out->im, out->im, divisor, MPFR_RNDN);
    wide_power_of_e(out, out);
}

/* --- definitions --- */

/* (e^z + sign e^-z) / 2 */
static inline void wide_hyperbolic(struct wide *out, const struct wide *z, int sign)
{
    struct wide back;
    wide_start(&back, wide_precision(out));
    wide_set(&back, z);
    wide_scale(&back, -1);
    wide_power_of_e(&back, &back);
    wide_power_of_e(out, z);
    (sign > 0 ? wide_add : wide_subtract)(out, out, &back);
    wide_scale(out, 0.5);
    wide_finish(&back);
}

/* √(1 + sign z²) */
static inline void wide_root_of_square(struct wide *out, const struct wide *z, int sign)
{
    wide_multiply(out, z, z);
    wide_scale(out, sign);
    mpfr_add_ui(out->re, out->re, 1, MPFR_RNDN);
    wide_root(out, out, 2);
}

static inline void wide_define(enum exact_function function, struct wide *out, const struct wide *z)
{
    struct wide a, b;
    wide_start(&a, wide_precision(out));
    wide_start(&b, wide_precision(out));
    switch (function) {
    case EXACT_ASIN: /* −i log(iz + √(1 − z²)) */
    case EXACT_ACOS: /* π/2 − asin z */
        wide_root_of_square(&a, z, -1);
        wide_set(&b, z);
        wide_turn(&b);
        wide_add(&a, &a, &b);
        wide_logarithm(out, &a);
        wide_turn_back(out);
        if (function == EXACT_ACOS) {
            mpfr_const_pi(a.re, MPFR_RNDN);
            mpfr_div_2ui(a.re, a.re, 1, MPFR_RNDN);
            mpfr_sub(out->re, a.re, out->re, MPFR_RNDN);
            mpfr_neg(out->im, out->im, MPFR_RNDN);
        }
        break;
    case EXACT_ASINH: /* log(z + √(1 + z²)) */
        wide_root_of_square(&a, z, 1);
        wide_add(&a, &a, z);
        wide_logarithm(out, &a);
        break;
    case EXACT_ACOSH: /* log(z + √(z + 1) √(z − 1)) */
        wide_set(&a, z);
        wide_set(&b, z);
        mpfr_add_ui(a.re, a.re, 1, MPFR_RNDN);
        mpfr_sub_ui(b.re, b.re, 1, MPFR_RNDN);
        wide_root(&a, &a, 2);
        wide_root(&b, &b, 2);
        wide_multiply(&a, &a, &b);
        wide_add(&a, &a, z);
        wide_logarithm(out, &a);
        break;
    case EXACT_ATANH: /* (log(1 + z) − log(1 − z)) / 2 */
    case EXACT_ATAN:  /* −i atanh(iz) */
        wide_set(&a, z);
        if (function == EXACT_ATAN) {
            wide_turn(&a);
        }
        wide_set(&b, &a);
        wide_scale(&b, -1);
        mpfr_add_ui(a.re, a.re, 1, MPFR_RNDN);
        mpfr_add_ui(b.re, b.re, 1, MPFR_RNDN);
        wide_logarithm(&a, &a);
        wide_logarithm(&b, &b);
        wide_subtract(out, &a, &b);
        wide_scale(out, 0.5);
        if (function == EXACT_ATAN) {
            wide_turn_back(out);
        }
        break;
    case EXACT_CBRT:
        wide_root(out, z, 3);
        break;
    case EXACT_SQRT:
        wide_root(out, z, 2);
        break;
    case EXACT_RSQRT:
        wide_root(out, z, -2);
        break;
    case EXACT_COSH:
        wide_hyperbolic(out, z, 1);
        break;
    case EXACT_SINH:
        wide_hyperbolic(out, z, -1);
        break;
    case EXACT_COS: /* cosh(iz) */
    case EXACT_SIN: /* −i sinh(iz) */
        wide_set(&a, z);
        wide_turn(&a);
        wide_hyperbolic(out, &a, function == EXACT_COS ? 1 : -1);
        if (function == EXACT_SIN) {
            wide_turn_back(out);
        }
        break;
    case EXACT_TANH: /* sinh / cosh */
    case EXACT_TAN:  /* −i tanh(iz) */
        wide_set(&a, z);
        if (function == EXACT_TAN) {
            wide_turn(&a);
        }
        wide_hyperbolic(&b, &a, -1);
        wide_hyperbolic(&a, &a, 1);
        wide_divide(out, &b, &a);
        if (function == EXACT_TAN) {
            wide_turn_back(out);
        }
        break;
    case EXACT_EXP:
        wide_power_of_e(out, z);
        break;
    case EXACT_EXPM1:
        wide_power_of_e(out, z);
        mpfr_sub_ui(out->re, out->re, 1, MPFR_RNDN);
        break;
    case EXACT_LOG:
        wide_logarithm(out, z);
        break;
    case EXACT_LOG1P:
        wide_set(&a, z);
        mpfr_add_ui(a.re, a.re, 1, MPFR_RNDN);
        wide_logarithm(out, &a);
        break;
    default: /* EXACT_LOGISTIC: 1 / (1 + e^-z) */
        wide_set(&a, z);
        wide_scale(&a, -1);
        wide_power_of_e(&a, &a);
        mpfr_add_ui(a.re, a.re, 1, MPFR_RNDN);
        mpfr_set_ui(b.re, 1, MPFR_RNDN);
        mpfr_set_ui(b.im, 0, MPFR_RNDN);
        wide_divide(out, &b, &a);
        break;
    }
    wide_finish(&a);
    wide_finish(&b);
}

/* e^(b log a). */
static inline void wide_power(struct wide *out, const struct wide *a, const struct wide *b)
{
    wide_logarithm(out, a);
    wide_multiply(out, out, b);
    wide_power_of_e(out, out);
}

/* −i log((b + ia) / √(a² + b²)). */
static inline void wide_atan2(struct wide *out, const struct wide *a, const struct wide *b)
{
    struct wide x, y;
    wide_start(&x, wide_precision(out));
    wide_start(&y, wide_precision(out));
    wide_multiply(&x, a, a);
    wide_multiply(&y, b, b);
    wide_add(&x, &x, &y);
    wide_root(&x, &x, 2);
    wide_set(&y, a);
    wide_turn(&y);
    wide_add(&y, &y, b);
    wide_divide(&x, &y, &x);
    wide_logarithm(out, &x);
    wide_turn_back(out);
    wide_finish(&x);
    wide_finish(&y);
}

#endif
