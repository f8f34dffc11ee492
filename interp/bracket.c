/* Interval arithmetic; see bracket.h. */
#include "interp/bracket.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/floats.h"

void bracket_scratch_init(struct bracket_scratch *scratch, mpfr_prec_t precision)
{
    scratch->precision = precision;
    mpfr_inits2(precision, scratch->a, scratch->b, scratch->c, (mpfr_ptr)NULL);
}

void bracket_scratch_finish(struct bracket_scratch *scratch)
{
    mpfr_clears(scratch->a, scratch->b, scratch->c, (mpfr_ptr)NULL);
}

struct bracket *brackets_create(int64_t count, mpfr_prec_t precision)
{
    struct bracket *brackets = malloc((size_t)count * sizeof *brackets + 1);
    for (int64_t i = 0; brackets != NULL && i < count; i++) {
        mpfr_inits2(precision, brackets[i].low, brackets[i].high, (mpfr_ptr)NULL);
        mpfr_set_zero(brackets[i].low, 1);
        mpfr_set_zero(brackets[i].high, 1);
    }
    return brackets;
}

void brackets_destroy(struct bracket *brackets, int64_t count)
{
    for (int64_t i = 0; brackets != NULL && i < count; i++) {
        mpfr_clears(brackets[i].low, brackets[i].high, (mpfr_ptr)NULL);
    }
    free(brackets);
}

void bracket_set(struct bracket *out, double value)
{
    mpfr_set_d(out->low, value, MPFR_RNDD);
    mpfr_set_d(out->high, value, MPFR_RNDU);
}

void bracket_copy(struct bracket *out, const struct bracket *a)
{
    mpfr_set(out->low, a->low, MPFR_RNDD);
    mpfr_set(out->high, a->high, MPFR_RNDU);
}

void bracket_negate(struct bracket *out, const struct bracket *a)
{
    if (out != a) {
        bracket_copy(out, a);
    }
    mpfr_swap(out->low, out->high);
    mpfr_neg(out->low, out->low, MPFR_RNDD);
    mpfr_neg(out->high, out->high, MPFR_RNDU);
}

void bracket_add(struct bracket *out, const struct bracket *a, const struct bracket *b)
{
    mpfr_add(out->low, a->low, b->low, MPFR_RNDD);
    mpfr_add(out->high, a->high, b->high, MPFR_RNDU);
}

void bracket_add_double(struct bracket *out, const struct bracket *a, double b)
{
    mpfr_add_d(out->low, a->low, b, MPFR_RNDD);
    mpfr_add_d(out->high, a->high, b, MPFR_RNDU);
}

void bracket_subtract(struct bracket *out, const struct bracket *a, const struct bracket *b)
{
    if (out == b) { /* b's ends are needed crosswise */
        bracket_negate(out, b);
        bracket_add(out, a, out);
        return;
    }
    mpfr_sub(out->low, a->low, b->high, MPFR_RNDD);
    mpfr_sub(out->high, a->high, b->low, MPFR_RNDU);
}

/* 1: no value below zero, −1: none above, 0: both. */
static int side(const struct bracket *a)
{
    return mpfr_sgn(a->low) >= 0 ? 1 : mpfr_sgn(a->high) <= 0 ? -1 : 0;
}

void bracket_multiply(struct bracket_scratch *scratch, struct bracket *out, const struct bracket *a,
                      const struct bracket *b)
{
    int left = side(a), right = side(b);
    if (left == 0 && right == 0) {
        mpfr_mul(scratch->a, a->low, b->high, MPFR_RNDD);
        mpfr_mul(scratch->c, a->high, b->low, MPFR_RNDD);
        mpfr_min(scratch->a, scratch->a, scratch->c, MPFR_RNDD);
        mpfr_mul(scratch->b, a->low, b->low, MPFR_RNDU);
        mpfr_mul(scratch->c, a->high, b->high, MPFR_RNDU);
        mpfr_max(scratch->b, scratch->b, scratch->c, MPFR_RNDU);
    } else {
        /* The ends that make the least and the greatest product. */
        bool low_a = right > 0 || (right == 0 && left < 0);  /* the least takes a->low… */
        bool low_b = left > 0 || (left == 0 && right < 0);   /* … and b->low */
        bool high_a = right > 0 || (right == 0 && left > 0); /* the greatest takes a->high… */
        bool high_b = left > 0 || (left == 0 && right > 0);  /* … and b->high */
        mpfr_mul(scratch->a, low_a ? a->low : a->high, low_b ? b->low : b->high, MPFR_RNDD);
        mpfr_mul(scratch->b, high_a ? a->high : a->low, high_b ? b->high : b->low, MPFR_RNDU);
    }
    mpfr_swap(out->low, scratch->a);
    mpfr_swap(out->high, scratch->b);
}

void bracket_multiply_double(struct bracket_scratch *scratch, struct bracket *out,
                             const struct bracket *a, double b)
{
    mpfr_mul_d(scratch->a, b >= 0 ? a->low : a->high, b, MPFR_RNDD);
    mpfr_mul_d(scratch->b, b >= 0 ? a->high : a->low, b, MPFR_RNDU);
    mpfr_swap(out->low, scratch->a);
    mpfr_swap(out->high, scratch->b);
}

void bracket_divide(struct bracket_scratch *scratch, struct bracket *out, const struct bracket *a,
                    const struct bracket *b)
{
    bool low_plus = mpfr_sgn(a->low) >= 0, high_plus = mpfr_sgn(a->high) >= 0;
    if (bracket_is_positive(b)) {
        mpfr_div(scratch->a, a->low, low_plus ? b->high : b->low, MPFR_RNDD);
        mpfr_div(scratch->b, a->high, high_plus ? b->low : b->high, MPFR_RNDU);
    } else {
        mpfr_div(scratch->a, a->high, high_plus ? b->high : b->low, MPFR_RNDD);
        mpfr_div(scratch->b, a->low, low_plus ? b->low : b->high, MPFR_RNDU);
    }
    mpfr_swap(out->low, scratch->a);
    mpfr_swap(out->high, scratch->b);
}

void bracket_sqrt(struct bracket *out, const struct bracket *a)
{
    if (mpfr_sgn(a->low) <= 0) {
        mpfr_set_zero(out->low, 1);
    } else {
        mpfr_sqrt(out->low, a->low, MPFR_RNDD);
    }
    if (mpfr_sgn(a->high) <= 0) {
        mpfr_set_zero(out->high, 1);
    } else {
        mpfr_sqrt(out->high, a->high, MPFR_RNDU);
    }
}

/* --- rounding --- */

double bracket_round_number(enum type type, mpfr_srcptr value)
{
    if (mpfr_zero_p(value)) {
        return float_round(type, 0.0);
    }
    if (type == TYPE_F64) {
        return mpfr_get_d(value, MPFR_RNDN);
    }
    /* To odd at 53 bits first: float_round_to_odd says why. */
    double odd = mpfr_get_d(value, MPFR_RNDZ);
    if (mpfr_cmp_d(value, odd) != 0) {
        uint64_t bits;
        memcpy(&bits, &odd, sizeof bits);
        bits |= 1;
        memcpy(&odd, &bits, sizeof bits);
    }
    return float_round(type, odd);
}

bool bracket_round(enum type type, const struct bracket *a, double *out)
{
    double low = bracket_round_number(type, a->low);
    *out = bracket_round_number(type, a->high);
    return memcmp(&low, out, sizeof low) == 0;
}

double bracket_boundary(enum type type, const struct bracket *a)
{
    double low = bracket_round_number(type, a->low), high = bracket_round_number(type, a->high);
    if (mpfr_sgn(a->low) <= 0 && mpfr_sgn(a->high) >= 0) {
        return float_round(type, 0.0);
    }
    if (type != TYPE_F64) {
        /* The boundary is a double, and the one that is nearest to all of the interval. */
        return float_round(type, mpfr_get_d(a->low, MPFR_RNDN));
    }
    uint64_t bits;
    memcpy(&bits, &low, sizeof bits);
    return (bits & 1) == 0 ? low : high;
}
