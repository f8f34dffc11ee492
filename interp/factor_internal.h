/* Inside factor_*.c: complex double-double arithmetic and the vector loops. */
#ifndef INTERP_FACTOR_INTERNAL_H
#define INTERP_FACTOR_INTERNAL_H

#include <math.h>

#include "interp/factor.h"
#include "interp/poll.h"

#define EPSILON 0x1p-104

/* Asked in every outer loop: the evaluation is to stop, and nobody wants the result. */
static inline bool factor_stopped(void)
{
    return poll_stopped(poll_current());
}

static inline struct dd_complex c_real(struct double_double re)
{
    return (struct dd_complex){re, {0, 0}};
}
static inline struct dd_complex c_conjugate(struct dd_complex a)
{
    return (struct dd_complex){a.re, dd_negate(a.im)};
}
static inline struct dd_complex c_negate(struct dd_complex a)
{
    return (struct dd_complex){dd_negate(a.re), dd_negate(a.im)};
}
static inline struct dd_complex c_add(struct dd_complex a, struct dd_complex b)
{
    return (struct dd_complex){dd_add(a.re, b.re), dd_add(a.im, b.im)};
}
static inline struct dd_complex c_subtract(struct dd_complex a, struct dd_complex b)
{
    return (struct dd_complex){dd_subtract(a.re, b.re), dd_subtract(a.im, b.im)};
}
static inline struct dd_complex c_multiply(struct dd_complex a, struct dd_complex b)
{
    return (struct dd_complex){
        dd_subtract(dd_multiply(a.re, b.re), dd_multiply(a.im, b.im)),
        dd_add(dd_multiply(a.re, b.im), dd_multiply(a.im, b.re)),
    };
}
static inline struct dd_complex c_scale(struct dd_complex a, struct double_double factor)
{
    return (struct dd_complex){dd_multiply(a.re, factor), dd_multiply(a.im, factor)};
}
static inline struct double_double c_square(struct dd_complex a)
{
    return dd_add(dd_multiply(a.re, a.re), dd_multiply(a.im, a.im));
}
static inline struct dd_complex c_divide(struct dd_complex a, struct dd_complex b)
{
    if (b.im.high == 0) {
        return (struct dd_complex){dd_divide(a.re, b.re), dd_divide(a.im, b.re)};
    }
    struct dd_complex product = c_multiply(a, c_conjugate(b));
    struct double_double size = c_square(b);
    return (struct dd_complex){dd_divide(product.re, size), dd_divide(product.im, size)};
}
static inline bool c_is_zero(struct dd_complex a)
{
    return a.re.high == 0 && a.im.high == 0;
}
/* |a|, to double. */
static inline double c_size(struct dd_complex a)
{
    return hypot(a.re.high, a.im.high);
}
static inline struct double_double c_absolute(struct dd_complex a)
{
    if (a.im.high == 0) {
        return a.re.high < 0 ? dd_negate(a.re) : a.re;
    }
    return dd_sqrt(c_square(a));
}
static inline struct double_double dd_half(struct double_double a)
{
    return (struct double_double){a.high * 0.5, a.low * 0.5};
}

/* Vectors: count entries, each `step` after the one before. */

/* Σ conj(x) y. */
struct dd_complex vector_dot(bool complex, const struct dd_complex *x, int64_t x_step,
                             const struct dd_complex *y, int64_t y_step, int64_t count);
/* y += factor * x. */
void vector_add(bool complex, struct dd_complex factor, const struct dd_complex *x, int64_t x_step,
                struct dd_complex *y, int64_t y_step, int64_t count);
/* x *= factor. */
void vector_scale(bool complex, struct dd_complex factor, struct dd_complex *x, int64_t step,
                  int64_t count);
/* Σ |x|². */
struct double_double vector_square(bool complex, const struct dd_complex *x, int64_t step,
                                   int64_t count);
/* (x, y) := (c x + s y, −conj(s) x + c y), c real. */
void vector_rotate(bool complex, struct double_double c, struct dd_complex s, struct dd_complex *x,
                   int64_t x_step, struct dd_complex *y, int64_t y_step, int64_t count);

/* The reflector H with Hᴴ (alpha, x) = (beta, 0): alpha becomes beta, x the tail of v. Returns τ,
 * 0 (H = I) if x is zero and alpha real. */
struct dd_complex reflector_make(bool complex, struct dd_complex *alpha, struct dd_complex *x,
                                 int64_t step, int64_t count);

/* The certainty of the reflector that is about to be made (factor.h), of a matrix of that norm. */
double reflector_certainty(bool complex, const struct dd_complex *alpha, const struct dd_complex *x,
                           int64_t step, int64_t count, double norm);
/* √Σ |a|². */
double matrix_norm(const struct matrix *a);

/* The rotation (c, s) that takes (f, g) to (*r, 0). */
void rotation_make(struct dd_complex f, struct dd_complex g, struct double_double *c,
                   struct dd_complex *s, struct dd_complex *r);

#endif
