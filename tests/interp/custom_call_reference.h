/* For tests of fused custom calls: the real expression by MPFR, by the textbook formulas, and the
 * check that an element is its value rounded once. */
#ifndef TESTS_INTERP_CUSTOM_CALL_REFERENCE_H
#define TESTS_INTERP_CUSTOM_CALL_REFERENCE_H

#include "one_op.h"

enum { REFERENCE_PRECISION = 3000 };

static inline void reference_init(mpfr_t x)
{
    mpfr_init2(x, REFERENCE_PRECISION);
    mpfr_set_zero(x, 1);
}

/* x += a * b */
static inline void reference_add(mpfr_t x, double a, double b)
{
    mpfr_t t;
    reference_init(t);
    mpfr_set_d(t, a, MPFR_RNDN);
    mpfr_mul_d(t, t, b, MPFR_RNDN);
    mpfr_add(x, x, t, MPFR_RNDN);
    mpfr_clear(t);
}

/* "relu", "relu6", "gelu" (tanh), "gelu_erf", "silu", "tanh", "sigmoid", "elu", "leaky" (0.25) */
static inline void reference_activate(mpfr_t x, const char *name)
{
    mpfr_t t, u;
    reference_init(t);
    reference_init(u);
    if (strcmp(name, "relu") == 0 || strcmp(name, "relu6") == 0) {
        if (mpfr_sgn(x) < 0) {
            mpfr_set_zero(x, 1);
        }
        if (strcmp(name, "relu6") == 0 && mpfr_cmp_ui(x, 6) > 0) {
            mpfr_set_ui(x, 6, MPFR_RNDN);
        }
    } else if (strcmp(name, "gelu") == 0) { /* x / 2 (1 + tanh(√(2/π) (x + 0.044715 x³))) */
        mpfr_pow_ui(t, x, 3, MPFR_RNDN);
        mpfr_mul_ui(t, t, 44715, MPFR_RNDN);
        mpfr_div_ui(t, t, 1000000, MPFR_RNDN);
        mpfr_add(t, t, x, MPFR_RNDN);
        mpfr_const_pi(u, MPFR_RNDN);
        mpfr_ui_div(u, 2, u, MPFR_RNDN);
        mpfr_sqrt(u, u, MPFR_RNDN);
        mpfr_mul(t, t, u, MPFR_RNDN);
        mpfr_tanh(t, t, MPFR_RNDN);
        mpfr_add_ui(t, t, 1, MPFR_RNDN);
        mpfr_mul(x, x, t, MPFR_RNDN);
        mpfr_div_ui(x, x, 2, MPFR_RNDN);
    } else if (strcmp(name, "gelu_erf") == 0) { /* x / 2 (1 + erf(x / √2)) */
        mpfr_sqrt_ui(t, 2, MPFR_RNDN);
        mpfr_div(t, x, t, MPFR_RNDN);
        mpfr_erf(t, t, MPFR_RNDN);
        mpfr_add_ui(t, t, 1, MPFR_RNDN);
        mpfr_mul(x, x, t, MPFR_RNDN);
        mpfr_div_ui(x, x, 2, MPFR_RNDN);
    } else if (strcmp(name, "silu") == 0 || strcmp(name, "sigmoid") == 0) {
        /* sigmoid(x) = (1 + tanh(x / 2)) / 2 */
        mpfr_div_ui(t, x, 2, MPFR_RNDN);
        mpfr_tanh(t, t, MPFR_RNDN);
        mpfr_add_ui(t, t, 1, MPFR_RNDN);
        mpfr_div_ui(t, t, 2, MPFR_RNDN);
        mpfr_mul_ui(t, t, 1, MPFR_RNDN);
        if (strcmp(name, "silu") == 0) {
            mpfr_mul(x, x, t, MPFR_RNDN);
        } else {
            mpfr_set(x, t, MPFR_RNDN);
        }
    } else if (strcmp(name, "tanh") == 0) {
        mpfr_tanh(x, x, MPFR_RNDN);
    } else if (strcmp(name, "elu") == 0 && mpfr_sgn(x) < 0) {
        mpfr_exp(x, x, MPFR_RNDN);
        mpfr_sub_ui(x, x, 1, MPFR_RNDN);
    } else if (strcmp(name, "leaky") == 0 && mpfr_sgn(x) < 0) {
        mpfr_div_ui(x, x, 4, MPFR_RNDN);
    }
    mpfr_clear(t);
    mpfr_clear(u);
}

/* x rounded once to a type whose range it does not leave. */
static inline double reference_round(mpfr_srcptr x, enum type type)
{
    int bits = float_formats[type].mantissa_bits + 1;
    int least = 1 - float_formats[type].bias - float_formats[type].mantissa_bits;
    mpfr_exp_t exponent = mpfr_zero_p(x) ? 0 : mpfr_get_exp(x);
    if (!mpfr_zero_p(x) && exponent - bits < least) { /* subnormal */
        bits = (int)(exponent - least);
    }
    mpfr_t rounded;
    if (bits < 1) {
        double half = ldexp(1, least - 1);
        return mpfr_cmpabs_ui(x, 0) == 0 || fabs(mpfr_get_d(x, MPFR_RNDA)) <= half
                   ? 0
                   : copysign(2 * half, mpfr_get_d(x, MPFR_RNDA));
    }
    mpfr_init2(rounded, bits);
    mpfr_set(rounded, x, MPFR_RNDN);
    double value = mpfr_get_d(rounded, MPFR_RNDN);
    mpfr_clear(rounded);
    return value;
}

static inline void check_rounded(mpfr_srcptr exact, const struct literal *got, int64_t index,
                                 const char *what)
{
    double want = reference_round(exact, got->shape->type);
    double value = literal_get_double(got, index);
    ck_assert_msg(value == want, "%s: element %lld is %.17g, not %.17g", what, (long long)index,
                  value, want);
}

#endif
