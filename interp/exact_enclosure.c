/* Intervals of MPFR numbers. */
#include "interp/exact_enclosure.h"

#include <stdint.h>
#include <stdlib.h>

bool enclosure_work_init(struct enclosure_work *work, mpfr_prec_t precision)
{
    const size_t bytes = mpfr_custom_get_size(precision);
    *work = (struct enclosure_work){.precision = precision};
    work->slots = malloc(ENCLOSURE_SLOTS * sizeof *work->slots);
    work->limbs = malloc(2 * ENCLOSURE_SLOTS * bytes);
    if (work->slots == NULL || work->limbs == NULL) {
        enclosure_work_finish(work);
        return false;
    }
    return true;
}

void enclosure_work_finish(struct enclosure_work *work)
{
    free(work->slots);
    free(work->limbs);
    work->slots = NULL;
    work->limbs = NULL;
}

bool enclosure_work_is_full(const struct enclosure_work *work)
{
    return work->used == ENCLOSURE_SLOTS;
}

static struct enclosure *take(struct enclosure_work *work)
{
    if (work->used == ENCLOSURE_SLOTS) { /* no formula needs so many; the caller looks */
        work->used--;
    }
    struct enclosure *out = &work->slots[work->used];
    const size_t bytes = mpfr_custom_get_size(work->precision);
    char *limbs = (char *)work->limbs + (size_t)work->used * 2 * bytes;
    work->used++;
    mpfr_custom_init_set(out->lo, MPFR_NAN_KIND, 0, work->precision, limbs);
    mpfr_custom_init_set(out->hi, MPFR_NAN_KIND, 0, work->precision, limbs + bytes);
    return out;
}

enclosure_value enclosure_none(struct enclosure_work *work)
{
    return take(work);
}

static bool is_nan(enclosure_value a)
{
    return mpfr_nan_p(a->lo) || mpfr_nan_p(a->hi);
}
static bool is_point(enclosure_value a)
{
    return mpfr_equal_p(a->lo, a->hi) != 0;
}

bool enclosure_is_zero(enclosure_value a)
{
    return mpfr_zero_p(a->lo) && mpfr_zero_p(a->hi) && mpfr_signbit(a->lo) == mpfr_signbit(a->hi);
}

bool enclosure_is_negative(enclosure_value a)
{
    return mpfr_signbit(a->hi) != 0;
}

bool enclosure_is_sure(enclosure_value a)
{
    return !is_nan(a) && mpfr_signbit(a->lo) == mpfr_signbit(a->hi);
}

static enclosure_value zero(struct enclosure_work *work, bool negative)
{
    struct enclosure *out = take(work);
    mpfr_set_zero(out->lo, negative ? -1 : 1);
    mpfr_set_zero(out->hi, negative ? -1 : 1);
    return out;
}

/* `lo` was rounded down from the exact value of a monotone function at a point: hi follows. */
static void close_point(struct enclosure *out, int inexact)
{
    mpfr_set(out->hi, out->lo, MPFR_RNDN);
    if (inexact != 0) {
        mpfr_nextabove(out->hi);
    }
}

enclosure_value enclosure_of(struct enclosure_work *work, double x)
{
    struct enclosure *out = take(work);
    close_point(out, mpfr_set_d(out->lo, x, MPFR_RNDD));
    return out;
}

enclosure_value enclosure_neg(struct enclosure_work *work, enclosure_value a)
{
    struct enclosure *out = take(work);
    mpfr_neg(out->lo, a->hi, MPFR_RNDD);
    mpfr_neg(out->hi, a->lo, MPFR_RNDU);
    return out;
}

enclosure_value enclosure_scale(struct enclosure_work *work, enclosure_value a, int power)
{
    struct enclosure *out = take(work);
    mpfr_mul_2si(out->lo, a->lo, power, MPFR_RNDD);
    mpfr_mul_2si(out->hi, a->hi, power, MPFR_RNDU);
    return out;
}

enclosure_value enclosure_add(struct enclosure_work *work, enclosure_value a, enclosure_value b)
{
    struct enclosure *out = take(work);
    if (is_point(a) && is_point(b)) {
        const int inexact = mpfr_add(out->lo, a->lo, b->lo, MPFR_RNDN);
        if (inexact == 0) { /* the sign of a zero is that of rounding to nearest */
            mpfr_set(out->hi, out->lo, MPFR_RNDN);
            return out;
        }
    }
    mpfr_add(out->lo, a->lo, b->lo, MPFR_RNDD);
    mpfr_add(out->hi, a->hi, b->hi, MPFR_RNDU);
    return out;
}

enclosure_value enclosure_sub(struct enclosure_work *work, enclosure_value a, enclosure_value b)
{
    return enclosure_add(work, a, enclosure_neg(work, b));
}

static bool straddles(enclosure_value a)
{
    return mpfr_sgn(a->lo) < 0 && mpfr_sgn(a->hi) > 0;
}

enclosure_value enclosure_mul(struct enclosure_work *work, enclosure_value a, enclosure_value b)
{
    if (is_nan(a) || is_nan(b)) {
        return enclosure_none(work);
    }
    if (enclosure_is_zero(a) || enclosure_is_zero(b)) {
        if (!enclosure_is_sure(a) || !enclosure_is_sure(b)) {
            return enclosure_none(work);
        }
        return zero(work, enclosure_is_negative(a) != enclosure_is_negative(b));
    }
    struct enclosure *out = take(work);
    if (!straddles(a) && !straddles(b)) {
        /* By magnitudes: the near ends and the far ends. */
        const bool a_negative = enclosure_is_negative(a) || mpfr_sgn(a->lo) < 0;
        const bool b_negative = enclosure_is_negative(b) || mpfr_sgn(b->lo) < 0;
        mpfr_srcptr a_near = a_negative ? a->hi : a->lo, a_far = a_negative ? a->lo : a->hi;
        mpfr_srcptr b_near = b_negative ? b->hi : b->lo, b_far = b_negative ? b->lo : b->hi;
        if (a_negative == b_negative) {
            mpfr_mul(out->lo, a_near, b_near, MPFR_RNDD);
            mpfr_mul(out->hi, a_far, b_far, MPFR_RNDU);
        } else {
            mpfr_mul(out->lo, a_far, b_far, MPFR_RNDD);
            mpfr_mul(out->hi, a_near, b_near, MPFR_RNDU);
        }
        return out;
    }
    struct enclosure *other = take(work);
    mpfr_srcptr ends[2][2] = {{a->lo, a->hi}, {b->lo, b->hi}};
    for (int i = 0; i < 4; i++) {
        mpfr_mul(i == 0 ? out->lo : other->lo, ends[0][i & 1], ends[1][i >> 1], MPFR_RNDD);
        mpfr_mul(i == 0 ? out->hi : other->hi, ends[0][i & 1], ends[1][i >> 1], MPFR_RNDU);
        if (i > 0) {
            mpfr_min(out->lo, out->lo, other->lo, MPFR_RNDD);
            mpfr_max(out->hi, out->hi, other->hi, MPFR_RNDU);
        }
    }
    return out;
}

/* Of a value whose sign is sure. */
enclosure_value enclosure_sqr(struct enclosure_work *work, enclosure_value a)
{
    return enclosure_mul(work, a, a);
}

/* b's sign is sure, and it is not zero. */
enclosure_value enclosure_div(struct enclosure_work *work, enclosure_value a, enclosure_value b)
{
    if (is_nan(a) || is_nan(b) || mpfr_sgn(b->lo) * mpfr_sgn(b->hi) <= 0) {
        return enclosure_none(work);
    }
    const bool b_negative = mpfr_sgn(b->lo) < 0;
    if (enclosure_is_zero(a)) {
        return zero(work, enclosure_is_negative(a) != b_negative);
    }
    struct enclosure *out = take(work);
    if (b_negative) {
        a = enclosure_neg(work, a);
        b = enclosure_neg(work, b);
    }
    const bool lo_negative = mpfr_signbit(a->lo) != 0, hi_negative = mpfr_signbit(a->hi) != 0;
    mpfr_div(out->lo, a->lo, lo_negative ? b->lo : b->hi, MPFR_RNDD);
    mpfr_div(out->hi, a->hi, hi_negative ? b->hi : b->lo, MPFR_RNDU);
    return out;
}

/* Increasing functions. */
static enclosure_value increasing(struct enclosure_work *work, enclosure_value a,
                                  int (*function)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t))
{
    struct enclosure *out = take(work);
    const int inexact = function(out->lo, a->lo, MPFR_RNDD);
    if (is_point(a)) {
        close_point(out, inexact);
    } else {
        function(out->hi, a->hi, MPFR_RNDU);
    }
    return out;
}

enclosure_value enclosure_sqrt(struct enclosure_work *work, enclosure_value a)
{
    return increasing(work, a, mpfr_sqrt);
}
enclosure_value enclosure_exp(struct enclosure_work *work, enclosure_value a)
{
    return increasing(work, a, mpfr_exp);
}
enclosure_value enclosure_expm1(struct enclosure_work *work, enclosure_value a)
{
    return increasing(work, a, mpfr_expm1);
}
enclosure_value enclosure_sinh(struct enclosure_work *work, enclosure_value a)
{
    return increasing(work, a, mpfr_sinh);
}
enclosure_value enclosure_log(struct enclosure_work *work, enclosure_value a)
{
    return increasing(work, a, mpfr_log);
}
enclosure_value enclosure_log1p(struct enclosure_work *work, enclosure_value a)
{
    return increasing(work, a, mpfr_log1p);
}
enclosure_value enclosure_asinh(struct enclosure_work *work, enclosure_value a)
{
    return increasing(work, a, mpfr_asinh);
}
enclosure_value enclosure_cbrt(struct enclosure_work *work, enclosure_value a)
{
    return increasing(work, a, mpfr_cbrt);
}

/* Of exact values. */
enclosure_value enclosure_cosh(struct enclosure_work *work, enclosure_value a)
{
    if (!is_point(a)) {
        return enclosure_none(work);
    }
    struct enclosure *out = take(work);
    close_point(out, mpfr_cosh(out->lo, a->lo, MPFR_RNDD));
    return out;
}
enclosure_value enclosure_hypot(struct enclosure_work *work, enclosure_value x, enclosure_value y)
{
    if (!is_point(x) || !is_point(y)) {
        return enclosure_sqrt(work,
                              enclosure_add(work, enclosure_sqr(work, x), enclosure_sqr(work, y)));
    }
    struct enclosure *out = take(work);
    close_point(out, mpfr_hypot(out->lo, x->lo, y->lo, MPFR_RNDD));
    return out;
}

/* A function that moves by no more than its argument does: its value at lo, moved by the width. */
static enclosure_value wave(struct enclosure_work *work, enclosure_value a,
                            int (*function)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t))
{
    struct enclosure *out = take(work);
    if (is_nan(a) || mpfr_inf_p(a->lo) || mpfr_inf_p(a->hi)) {
        return out;
    }
    close_point(out, function(out->lo, a->lo, MPFR_RNDD));
    if (!is_point(a)) {
        struct enclosure *width = take(work);
        mpfr_sub(width->hi, a->hi, a->lo, MPFR_RNDU);
        mpfr_sub(out->lo, out->lo, width->hi, MPFR_RNDD);
        mpfr_add(out->hi, out->hi, width->hi, MPFR_RNDU);
    }
    return out;
}

enclosure_value enclosure_sin(struct enclosure_work *work, enclosure_value a)
{
    return wave(work, a, mpfr_sin);
}
enclosure_value enclosure_cos(struct enclosure_work *work, enclosure_value a)
{
    return wave(work, a, mpfr_cos);
}

/* Over a rectangle that contains neither the origin nor a point of the cut, the angle is least and
 * largest at corners. */
enclosure_value enclosure_atan2(struct enclosure_work *work, enclosure_value y, enclosure_value x)
{
    if (is_nan(x) || is_nan(y)) {
        return enclosure_none(work);
    }
    const bool y_sure = !straddles(y) && (mpfr_sgn(y->lo) != 0 || mpfr_sgn(y->hi) != 0);
    const bool right = mpfr_sgn(x->lo) > 0;
    const bool axis = enclosure_is_zero(y) && (right || mpfr_sgn(x->hi) < 0 || is_point(x));
    if (!(right || axis || (y_sure && mpfr_sgn(y->lo) * mpfr_sgn(y->hi) > 0))) {
        return enclosure_none(work);
    }
    struct enclosure *out = take(work);
    if (is_point(x) && is_point(y)) {
        close_point(out, mpfr_atan2(out->lo, y->lo, x->lo, MPFR_RNDD));
        return out;
    }
    if (axis) {
        close_point(out, mpfr_atan2(out->lo, y->lo, x->lo, MPFR_RNDD));
        return out;
    }
    struct enclosure *other = take(work);
    mpfr_srcptr ends[2][2] = {{x->lo, x->hi}, {y->lo, y->hi}};
    for (int i = 0; i < 4; i++) {
        struct enclosure *at = i == 0 ? out : other;
        close_point(at, mpfr_atan2(at->lo, ends[1][i >> 1], ends[0][i & 1], MPFR_RNDD));
        if (i > 0) {
            mpfr_min(out->lo, out->lo, other->lo, MPFR_RNDD);
            mpfr_max(out->hi, out->hi, other->hi, MPFR_RNDU);
        }
    }
    return out;
}

enclosure_value enclosure_with_sign(struct enclosure_work *work, enclosure_value a, bool negative)
{
    const bool is_negative = enclosure_is_negative(a) || mpfr_sgn(a->lo) < 0;
    return is_negative == negative ? a : enclosure_neg(work, a);
}

enclosure_value enclosure_near(struct enclosure_work *work, enclosure_value a, int power)
{
    if (is_nan(a) || enclosure_is_zero(a)) {
        return a;
    }
    struct enclosure *factor = take(work);
    mpfr_set_ui(factor->lo, 1, MPFR_RNDN);
    mpfr_set_ui(factor->hi, 1, MPFR_RNDN);
    if (power < work->precision) {
        struct enclosure *part = take(work);
        mpfr_set_ui_2exp(part->lo, 1, -power, MPFR_RNDN);
        mpfr_sub(factor->lo, factor->lo, part->lo, MPFR_RNDD);
        mpfr_add(factor->hi, factor->hi, part->lo, MPFR_RNDU);
    } else {
        mpfr_nextbelow(factor->lo);
        mpfr_nextabove(factor->hi);
    }
    return enclosure_mul(work, a, factor);
}

static enclosure_value eighths_of(struct enclosure_work *work, double factor, int eighths,
                                  int (*function)(mpfr_ptr, mpfr_srcptr, unsigned long, mpfr_rnd_t))
{
    struct enclosure *out = take(work), *product = take(work);
    mpfr_set_d(product->lo, factor, MPFR_RNDN);
    mpfr_mul_si(product->lo, product->lo, eighths, MPFR_RNDN); /* exact: 56 bits */
    close_point(out, function(out->lo, product->lo, 8, MPFR_RNDD));
    if (mpfr_zero_p(out->lo)) { /* an exact zero, whatever was rounded how: with nearest's sign */
        function(out->lo, product->lo, 8, MPFR_RNDN);
        mpfr_set(out->hi, out->lo, MPFR_RNDN);
    }
    return out;
}

enclosure_value enclosure_sin_eighths(struct enclosure_work *work, double factor, int eighths)
{
    return eighths_of(work, factor, eighths, mpfr_sinu);
}
enclosure_value enclosure_cos_eighths(struct enclosure_work *work, double factor, int eighths)
{
    return eighths_of(work, factor, eighths, mpfr_cosu);
}

enclosure_value enclosure_power(struct enclosure_work *work, enclosure_value x, double y)
{
    struct enclosure *out = take(work), *exponent = take(work);
    mpfr_set_d(exponent->lo, y, MPFR_RNDN);
    if (is_point(x)) {
        close_point(out, mpfr_pow(out->lo, x->lo, exponent->lo, MPFR_RNDD));
    } else {
        mpfr_pow(out->lo, y < 0 ? x->hi : x->lo, exponent->lo, MPFR_RNDD);
        mpfr_pow(out->hi, y < 0 ? x->lo : x->hi, exponent->lo, MPFR_RNDU);
    }
    return out;
}
