/* Complex functions by MPFR at a working precision. Operands are finite, and the formulas keep the
 * sign of zero parts, which tells the side of a branch cut (C99 Annex G). Inverse functions after
 * W. Kahan, "Branch cuts for complex elementary functions", 1987. */
#include "interp/exact_internal.h"

#define ROUND MPFR_RNDN

void exact_complex_start(struct exact_complex *z, mpfr_prec_t precision)
{
    mpfr_inits2(precision, z->re, z->im, (mpfr_ptr)0);
}

void exact_complex_finish(struct exact_complex *z)
{
    mpfr_clears(z->re, z->im, (mpfr_ptr)0);
}

static mpfr_prec_t precision_of(const struct exact_complex *z)
{
    return mpfr_get_prec(z->re);
}

/* (re, im) → (im, re); with the parts' signs this turns a function into its circular twin. */
static void swap_parts(struct exact_complex *z)
{
    mpfr_swap(z->re, z->im);
}

static void copy(struct exact_complex *out, const struct exact_complex *z)
{
    mpfr_set(out->re, z->re, ROUND);
    mpfr_set(out->im, z->im, ROUND);
}

static void multiply(struct exact_complex *out, const struct exact_complex *a,
                     const struct exact_complex *b)
{
    mpfr_t re;
    mpfr_init2(re, precision_of(out));
    mpfr_fmms(re, a->re, b->re, a->im, b->im, ROUND);
    mpfr_fmma(out->im, a->re, b->im, a->im, b->re, ROUND);
    mpfr_swap(out->re, re);
    mpfr_clear(re);
}

static void conjugate(struct exact_complex *z)
{
    mpfr_neg(z->im, z->im, ROUND);
}

/* out *= factor, where 0 * ∞ is the 0 that it is before factor overflows. */
static void scale(mpfr_ptr out, mpfr_srcptr factor)
{
    if (mpfr_zero_p(out)) {
        mpfr_setsign(out, out, mpfr_signbit(out) ^ mpfr_signbit(factor), ROUND);
    } else {
        mpfr_mul(out, out, factor, ROUND);
    }
}

/* exp(x + iy) = e^x cos y + i e^x sin y. */
static void formula_exp(struct exact_complex *out, const struct exact_complex *z)
{
    mpfr_t power;
    mpfr_init2(power, precision_of(out));
    mpfr_exp(power, z->re, ROUND);
    mpfr_sin_cos(out->im, out->re, z->im, ROUND);
    scale(out->re, power);
    scale(out->im, power);
    mpfr_clear(power);
}

/* expm1: the real part is expm1(x) cos y − 2 sin²(y/2). */
static void formula_expm1(struct exact_complex *out, const struct exact_complex *z)
{
    mpfr_t half, rest;
    mpfr_inits2(precision_of(out), half, rest, (mpfr_ptr)0);
    mpfr_div_2ui(half, z->im, 1, ROUND);
    mpfr_sin(half, half, ROUND);
    mpfr_sqr(half, half, ROUND);
    mpfr_mul_2ui(half, half, 1, ROUND);
    mpfr_expm1(rest, z->re, ROUND);
    formula_exp(out, z);
    mpfr_cos(out->re, z->im, ROUND);
    mpfr_mul(out->re, out->re, rest, ROUND);
    if (!mpfr_zero_p(half)) {
        mpfr_sub(out->re, out->re, half, ROUND);
    }
    mpfr_clears(half, rest, (mpfr_ptr)0);
}

/* log|z| + i arg z for z = shift + x + iy: with |z|² − 1 where that is small. */
static void log_shifted(struct exact_complex *out, const struct exact_complex *z, int shift)
{
    mpfr_t square, re;
    mpfr_init2(square, 2 * precision_of(out));
    mpfr_init2(re, precision_of(out) + 64);
    mpfr_add_si(re, z->re, shift, ROUND);
    mpfr_hypot(square, re, z->im, ROUND);
    bool near = mpfr_cmp_d(square, 0.5) > 0 && mpfr_cmp_d(square, 2) < 0;
    if (near) {
        /* (shift + x)² + y² − 1 */
        mpfr_t term;
        mpfr_init2(term, mpfr_get_prec(square));
        mpfr_sqr(square, z->re, ROUND);
        if (shift != 0) {
            mpfr_mul_2ui(term, z->re, 1, ROUND);
            mpfr_add(square, square, term, ROUND);
        } else {
            mpfr_sub_ui(square, square, 1, ROUND);
        }
        mpfr_sqr(term, z->im, ROUND);
        mpfr_add(square, square, term, ROUND);
        mpfr_log1p(square, square, ROUND);
        mpfr_clear(term);
    } else {
        mpfr_log(square, square, ROUND);
        mpfr_mul_2ui(square, square, 1, ROUND);
    }
    mpfr_atan2(out->im, z->im, re, ROUND);
    mpfr_div_2ui(out->re, square, 1, ROUND);
    mpfr_clears(square, re, (mpfr_ptr)0);
}

static void formula_log(struct exact_complex *out, const struct exact_complex *z)
{
    log_shifted(out, z, 0);
}

static void formula_log1p(struct exact_complex *out, const struct exact_complex *z)
{
    log_shifted(out, z, 1);
}

/* √((|x| + |z|) / 2) and |y| / 2 / that; which is which, and the sign, by the signs of x and y. */
static void formula_sqrt(struct exact_complex *out, const struct exact_complex *z)
{
    if (mpfr_zero_p(z->re) && mpfr_zero_p(z->im)) {
        mpfr_abs(out->re, z->re, ROUND);
        mpfr_set(out->im, z->im, ROUND);
        return;
    }
    const bool left = mpfr_signbit(z->re) != 0;
    mpfr_t large, small;
    mpfr_inits2(precision_of(out), large, small, (mpfr_ptr)0);
    mpfr_hypot(large, z->re, z->im, ROUND);
    mpfr_abs(small, z->re, ROUND);
    mpfr_add(large, large, small, ROUND);
    mpfr_div_2ui(large, large, 1, ROUND);
    mpfr_sqrt(large, large, ROUND);
    mpfr_abs(small, z->im, ROUND);
    mpfr_div(small, small, large, ROUND);
    mpfr_div_2ui(small, small, 1, ROUND);
    const int sign = mpfr_signbit(z->im);
    mpfr_set(out->re, left ? small : large, ROUND);
    mpfr_setsign(out->im, left ? large : small, sign, ROUND);
    mpfr_clears(large, small, (mpfr_ptr)0);
}

/* conj(√z) / |z|. */
static void formula_rsqrt(struct exact_complex *out, const struct exact_complex *z)
{
    mpfr_t size;
    mpfr_init2(size, precision_of(out));
    mpfr_hypot(size, z->re, z->im, ROUND);
    formula_sqrt(out, z);
    conjugate(out);
    mpfr_div(out->re, out->re, size, ROUND);
    mpfr_div(out->im, out->im, size, ROUND);
    mpfr_clear(size);
}

/* The principal cube root: ∛|z| at a third of the angle. */
static void formula_cbrt(struct exact_complex *out, const struct exact_complex *z)
{
    mpfr_t size, angle;
    mpfr_inits2(precision_of(out), size, angle, (mpfr_ptr)0);
    mpfr_hypot(size, z->re, z->im, ROUND);
    mpfr_cbrt(size, size, ROUND);
    mpfr_atan2(angle, z->im, z->re, ROUND);
    mpfr_div_ui(angle, angle, 3, ROUND);
    mpfr_sin_cos(out->im, out->re, angle, ROUND);
    mpfr_mul(out->re, out->re, size, ROUND);
    mpfr_mul(out->im, out->im, size, ROUND);
    mpfr_clears(size, angle, (mpfr_ptr)0);
}

/* sinh x cos y + i cosh x sin y. */
static void formula_sinh(struct exact_complex *out, const struct exact_complex *z)
{
    struct exact_complex wide;
    exact_complex_start(&wide, precision_of(out));
    mpfr_sinh_cosh(wide.re, wide.im, z->re, ROUND);
    mpfr_sin_cos(out->im, out->re, z->im, ROUND);
    scale(out->re, wide.re);
    scale(out->im, wide.im);
    exact_complex_finish(&wide);
}

/* cosh x cos y + i sinh x sin y. */
static void formula_cosh(struct exact_complex *out, const struct exact_complex *z)
{
    struct exact_complex wide;
    exact_complex_start(&wide, precision_of(out));
    mpfr_sinh_cosh(wide.im, wide.re, z->re, ROUND);
    mpfr_sin_cos(out->im, out->re, z->im, ROUND);
    scale(out->re, wide.re);
    scale(out->im, wide.im);
    exact_complex_finish(&wide);
}

/* (sinh x cosh x + i sin y cos y) / (sinh²x + cos²y). Far out sinh and cosh would have exponents
 * beyond use: there tanh z is 1 + 4i sin y cos y e^-2x within e^-2x. */
static void formula_tanh(struct exact_complex *out, const struct exact_complex *z)
{
    mpfr_t sinh, cosh, sin, cos, square;
    mpfr_inits2(precision_of(out), sinh, cosh, sin, cos, square, (mpfr_ptr)0);
    mpfr_sin_cos(sin, cos, z->im, ROUND);
    if (mpfr_cmpabs_ui(z->re, 100000) > 0) {
        mpfr_set_si(out->re, mpfr_signbit(z->re) ? -1 : 1, ROUND);
        mpfr_abs(square, z->re, ROUND);
        mpfr_mul_si(square, square, -2, ROUND);
        mpfr_exp(square, square, ROUND);
        mpfr_mul(out->im, sin, cos, ROUND);
        mpfr_mul(out->im, out->im, square, ROUND);
        mpfr_mul_2ui(out->im, out->im, 2, ROUND);
    } else {
        mpfr_sinh_cosh(sinh, cosh, z->re, ROUND);
        mpfr_fmma(square, sinh, sinh, cos, cos, ROUND);
        mpfr_mul(out->re, sinh, cosh, ROUND);
        mpfr_mul(out->im, sin, cos, ROUND);
        mpfr_div(out->re, out->re, square, ROUND);
        mpfr_div(out->im, out->im, square, ROUND);
    }
    mpfr_clears(sinh, cosh, sin, cos, square, (mpfr_ptr)0);
}

/* 1 / (1 + w), w = exp(−z): (1 + conj w) / |1 + w|², where |1 + w|² = expm1(−x)² + 4 e^-x cos²(y/2)
 * does not cancel. Far out on the left it is exp(z), on the right 1 + conj w, to e^-|x|. */
static void formula_logistic(struct exact_complex *out, const struct exact_complex *z)
{
    mpfr_t power, term, square;
    if (mpfr_cmp_si(z->re, -100000) < 0) {
        formula_exp(out, z);
        return;
    }
    mpfr_inits2(precision_of(out), power, term, square, (mpfr_ptr)0);
    mpfr_neg(power, z->re, ROUND);
    mpfr_expm1(square, power, ROUND);
    mpfr_sqr(square, square, ROUND);
    mpfr_exp(power, power, ROUND);
    mpfr_div_2ui(term, z->im, 1, ROUND);
    mpfr_cos(term, term, ROUND);
    mpfr_sqr(term, term, ROUND);
    mpfr_mul(term, term, power, ROUND);
    mpfr_mul_2ui(term, term, 2, ROUND);
    mpfr_add(square, square, term, ROUND);
    mpfr_sin_cos(out->im, out->re, z->im, ROUND);
    mpfr_mul(out->im, out->im, power, ROUND);
    mpfr_mul(out->re, out->re, power, ROUND);
    mpfr_add_ui(out->re, out->re, 1, ROUND);
    mpfr_div(out->im, out->im, square, ROUND);
    mpfr_div(out->re, out->re, square, ROUND);
    mpfr_clears(power, term, square, (mpfr_ptr)0);
}

/* √(1 − z) and √(1 + z), or √(z − 1) and √(z + 1) when `behind`; the parts of z keep their signs.
 */
static void roots_about_one(struct exact_complex *minus, struct exact_complex *plus,
                            const struct exact_complex *z, bool behind)
{
    struct exact_complex shifted;
    exact_complex_start(&shifted, precision_of(minus) + 64);
    if (behind) {
        mpfr_sub_ui(shifted.re, z->re, 1, ROUND);
        mpfr_set(shifted.im, z->im, ROUND);
    } else {
        mpfr_ui_sub(shifted.re, 1, z->re, ROUND);
        mpfr_neg(shifted.im, z->im, ROUND);
    }
    formula_sqrt(minus, &shifted);
    mpfr_add_ui(shifted.re, z->re, 1, ROUND);
    mpfr_set(shifted.im, z->im, ROUND);
    formula_sqrt(plus, &shifted);
    exact_complex_finish(&shifted);
}

/* atan2(x, Re(√(1−z) √(1+z))) + i asinh(Im(conj √(1−z) √(1+z))). */
static void formula_asin(struct exact_complex *out, const struct exact_complex *z)
{
    struct exact_complex minus, plus, product;
    exact_complex_start(&minus, precision_of(out));
    exact_complex_start(&plus, precision_of(out));
    exact_complex_start(&product, precision_of(out));
    roots_about_one(&minus, &plus, z, false);
    multiply(&product, &minus, &plus);
    mpfr_atan2(out->re, z->re, product.re, ROUND);
    conjugate(&minus);
    multiply(&product, &minus, &plus);
    mpfr_asinh(out->im, product.im, ROUND);
    mpfr_setsign(out->im, out->im, mpfr_signbit(z->im), ROUND);
    exact_complex_finish(&minus);
    exact_complex_finish(&plus);
    exact_complex_finish(&product);
}

/* 2 atan2(Re √(1−z), Re √(1+z)) + i asinh(Im(conj √(1+z) √(1−z))). */
static void formula_acos(struct exact_complex *out, const struct exact_complex *z)
{
    struct exact_complex minus, plus, product;
    exact_complex_start(&minus, precision_of(out));
    exact_complex_start(&plus, precision_of(out));
    exact_complex_start(&product, precision_of(out));
    roots_about_one(&minus, &plus, z, false);
    mpfr_atan2(out->re, minus.re, plus.re, ROUND);
    mpfr_mul_2ui(out->re, out->re, 1, ROUND);
    conjugate(&plus);
    multiply(&product, &plus, &minus);
    mpfr_asinh(out->im, product.im, ROUND);
    mpfr_setsign(out->im, out->im, !mpfr_signbit(z->im), ROUND);
    exact_complex_finish(&minus);
    exact_complex_finish(&plus);
    exact_complex_finish(&product);
}

/* asinh(Re(conj √(z−1) √(z+1))) + 2i atan2(Im √(z−1), Re √(z+1)). */
static void formula_acosh(struct exact_complex *out, const struct exact_complex *z)
{
    struct exact_complex minus, plus, product;
    exact_complex_start(&minus, precision_of(out));
    exact_complex_start(&plus, precision_of(out));
    exact_complex_start(&product, precision_of(out));
    roots_about_one(&minus, &plus, z, true);
    mpfr_atan2(out->im, minus.im, plus.re, ROUND);
    mpfr_mul_2ui(out->im, out->im, 1, ROUND);
    conjugate(&minus);
    multiply(&product, &minus, &plus);
    mpfr_asinh(out->re, product.re, ROUND);
    mpfr_abs(out->re, out->re, ROUND);
    exact_complex_finish(&minus);
    exact_complex_finish(&plus);
    exact_complex_finish(&product);
}

/* log1p(4x / ((1 − x)² + y²)) / 4 + i atan2(2y, (1 − x)(1 + x) − y²) / 2, computed for x ≥ 0. */
static void formula_atanh(struct exact_complex *out, const struct exact_complex *z)
{
    const bool left = mpfr_signbit(z->re) != 0;
    mpfr_t x, term, square;
    mpfr_inits2(2 * precision_of(out), x, term, square, (mpfr_ptr)0);
    mpfr_abs(x, z->re, ROUND);
    mpfr_ui_sub(square, 1, x, ROUND);
    mpfr_add_ui(term, x, 1, ROUND);
    mpfr_fmms(term, square, term, z->im, z->im, ROUND);
    mpfr_fmma(square, square, square, z->im, z->im, ROUND);
    mpfr_mul_2ui(out->im, z->im, 1, ROUND);
    mpfr_atan2(out->im, out->im, term, ROUND);
    mpfr_div_2ui(out->im, out->im, 1, ROUND);
    mpfr_mul_2ui(x, x, 2, ROUND);
    mpfr_div(x, x, square, ROUND);
    mpfr_log1p(x, x, ROUND);
    mpfr_div_2ui(x, x, 2, ROUND);
    mpfr_setsign(out->re, x, left, ROUND);
    mpfr_clears(x, term, square, (mpfr_ptr)0);
}

/* f(z) = −i g(iz): sin, tan, atan from sinh, tanh, atanh; asinh from asin by f(z) = i g(−iz), which
 * is the same since all are odd. */
static void rotated(void (*inner)(struct exact_complex *, const struct exact_complex *),
                    struct exact_complex *out, const struct exact_complex *z)
{
    struct exact_complex turned;
    exact_complex_start(&turned, precision_of(z));
    copy(&turned, z);
    swap_parts(&turned);
    mpfr_neg(turned.re, turned.re, ROUND);
    inner(out, &turned);
    swap_parts(out);
    mpfr_neg(out->im, out->im, ROUND);
    exact_complex_finish(&turned);
}

static void formula_sin(struct exact_complex *out, const struct exact_complex *z)
{
    rotated(formula_sinh, out, z);
}
static void formula_tan(struct exact_complex *out, const struct exact_complex *z)
{
    rotated(formula_tanh, out, z);
}
static void formula_atan(struct exact_complex *out, const struct exact_complex *z)
{
    rotated(formula_atanh, out, z);
}
static void formula_asinh(struct exact_complex *out, const struct exact_complex *z)
{
    rotated(formula_asin, out, z);
}

/* cos x cosh y − i sin x sinh y. */
static void formula_cos(struct exact_complex *out, const struct exact_complex *z)
{
    struct exact_complex turned;
    exact_complex_start(&turned, precision_of(z));
    copy(&turned, z);
    swap_parts(&turned);
    mpfr_neg(turned.re, turned.re, ROUND);
    formula_cosh(out, &turned);
    exact_complex_finish(&turned);
}

static void formula_nan(struct exact_complex *out, const struct exact_complex *z)
{
    (void)z;
    mpfr_set_nan(out->re);
    mpfr_set_nan(out->im);
}
#define formula_erf formula_nan
#define formula_erfc formula_nan

void exact_complex_formula(enum exact_function function, struct exact_complex *out,
                           const struct exact_complex *z)
{
    static void (*const formulas[])(struct exact_complex *, const struct exact_complex *) = {
#define EXACT(id, name) formula_##name,
#include "interp/exact.def"
    };
    formulas[function](out, z);
}

void exact_complex_formula_binary(enum exact_binary_function function, struct exact_complex *out,
                                  const struct exact_complex *a, const struct exact_complex *b)
{
    struct exact_complex first, second;
    const mpfr_prec_t precision = precision_of(out);
    exact_complex_start(&first, precision);
    exact_complex_start(&second, precision);
    if (function == EXACT_POWER) { /* exp(b log a) */
        formula_log(&first, a);
        multiply(&second, b, &first);
        formula_exp(out, &second);
    } else { /* −i log((b + ia) / √(a² + b²)) */
        struct exact_complex sum;
        exact_complex_start(&sum, precision);
        multiply(&first, a, a);
        multiply(&second, b, b);
        mpfr_add(sum.re, first.re, second.re, ROUND);
        mpfr_add(sum.im, first.im, second.im, ROUND);
        formula_rsqrt(&second, &sum);
        mpfr_sub(first.re, b->re, a->im, ROUND);
        mpfr_add(first.im, b->im, a->re, ROUND);
        multiply(&sum, &first, &second);
        formula_log(out, &sum);
        swap_parts(out);
        mpfr_neg(out->im, out->im, ROUND);
        exact_complex_finish(&sum);
    }
    exact_complex_finish(&first);
    exact_complex_finish(&second);
}
