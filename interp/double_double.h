/* Numbers as unevaluated sums of two doubles, high + low with |low| ≤ half an ulp of high: about
 * 106 bits. Relative errors: add and subtract 2^-104 of |a| + |b|, multiply 2^-104, divide and
 * square root 2^-102 (M. Joldes, J.-M. Muller, V. Popescu, "Tight and rigorous error bounds for
 * basic building blocks of double-word arithmetic", ACM TOMS 44, 2017). Infinities and NaN do not
 * survive: callers look at `high` and fall back to doubles.
 *
 * The loops are compiled once per vector level and give the same bits on all of them: products of
 * doubles are split exactly, by fused multiply-add or by Dekker's method. */
#ifndef INTERP_DOUBLE_DOUBLE_H
#define INTERP_DOUBLE_DOUBLE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "hlo/floats.h"

struct double_double {
    double high, low;
};

static inline struct double_double dd_from(double value)
{
    return (struct double_double){value, 0};
}

/* a + b exactly. */
static inline struct double_double dd_sum(double a, double b)
{
    double sum = a + b;
    double other = sum - a;
    return (struct double_double){sum, (a - (sum - other)) + (b - other)};
}

/* The same for |a| ≥ |b|. */
static inline struct double_double dd_quick_sum(double a, double b)
{
    double sum = a + b;
    return (struct double_double){sum, b - (sum - a)};
}

/* a * b exactly. */
static inline struct double_double dd_product(double a, double b)
{
    double product = a * b;
    return (struct double_double){product, fma(a, b, -product)};
}

static inline struct double_double dd_add(struct double_double a, struct double_double b)
{
    struct double_double high = dd_sum(a.high, b.high);
    struct double_double low = dd_sum(a.low, b.low);
    high = dd_quick_sum(high.high, high.low + low.high);
    return dd_quick_sum(high.high, high.low + low.low);
}

static inline struct double_double dd_negate(struct double_double a)
{
    return (struct double_double){-a.high, -a.low};
}

static inline struct double_double dd_subtract(struct double_double a, struct double_double b)
{
    return dd_add(a, dd_negate(b));
}

static inline struct double_double dd_multiply(struct double_double a, struct double_double b)
{
    struct double_double product = dd_product(a.high, b.high);
    return dd_quick_sum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

static inline struct double_double dd_divide(struct double_double a, struct double_double b)
{
    double first = a.high / b.high;
    struct double_double rest = dd_subtract(a, dd_multiply(b, dd_from(first)));
    double second = rest.high / b.high;
    rest = dd_subtract(rest, dd_multiply(b, dd_from(second)));
    struct double_double quotient = dd_quick_sum(first, second);
    return dd_add(quotient, dd_from(rest.high / b.high));
}

/* Of a ≥ 0. */
static inline struct double_double dd_sqrt(struct double_double a)
{
    if (a.high <= 0) {
        return dd_from(sqrt(a.high));
    }
    double root = sqrt(a.high);
    struct double_double rest = dd_subtract(a, dd_product(root, root));
    return dd_quick_sum(root, rest.high / (2 * root));
}

/* Relative errors that callers may count on: of one addition (relative to |a| + |b|) or product,
 * also of the loops' shorter addition, and of one quotient or square root. Where low parts
 * underflow there is DD_TINY besides. */
#define DD_UNIT 0x1p-102
#define DD_DIVIDE_UNIT 0x1p-99
#define DD_TINY 0x1p-1000
/* The error of a dot of the loops, relative to Σ |a[i] * b[i]|: each sum takes a product (with its
 * own error) for each eighth term, then eight sums are added up. */
static inline double dd_dot_unit(int64_t count)
{
    return DD_UNIT * ((double)count / 8 + 20);
}

/* The rounding test: whether all values within `bound` of a round alike to `type`, and to what.
 * bound 0: a is exact. Infinities, NaN and what lies near the end of the range of doubles are never
 * decided. */
bool dd_decide(enum type type, struct double_double a, double bound, double *out);

/* The same for a * 2^exponent ± bound * 2^exponent, which may be anything. */
bool dd_decide_scaled(enum type type, struct double_double a, double bound, int exponent,
                      double *out);

/* The element of `type` nearest to a, as a double; one rounding. */
static inline double dd_round(enum type type, struct double_double a)
{
    return float_to_double(type, float_from_double_tail(type, a.high, a.low));
}

/* --- loops --- */

/* FFT data: points of DD_LANES complex numbers side by side, one of each of as many transforms:
 * DD_LANES doubles each of real high, real low, imaginary high, imaginary low. */
enum { DD_LANES = 8, DD_POINT = 4 * DD_LANES };

/* A complex number: real high, real low, imaginary high, imaginary low. */
struct dd_complex {
    struct double_double re, im;
};

struct double_double_loops {
    /* Σ (a_high + a_low)[i] * (b_high + b_low)[i], i < count. */
    struct double_double (*dot)(const double *a_high, const double *a_low, const double *b_high,
                                const double *b_low, int64_t count);
    /* Σ |a[i]| * b[i] in plain doubles, for bounds. */
    double (*weigh)(const double *a, const double *b, int64_t count);
    /* One pass of Stockham's transform of 2 * half * group points: for j < half and k < group,
     * a = in[j * group + k], b = in[(j + half) * group + k]:
     * out[2 * j * group + k] = a + b, out[(2 * j + 1) * group + k] = (a − b) * twiddles[j * step]
     */
    void (*butterflies)(const double *in, double *out, const struct dd_complex *twiddles,
                        int64_t step, int64_t half, int64_t group);
    /* data[i] *= factors[i], i < count. */
    void (*scale)(double *data, const struct dd_complex *factors, int64_t count);
    /* out[k] = Σ_j in[j] * roots[j * k mod count]. */
    void (*direct)(const double *in, double *out, const struct dd_complex *roots, int64_t count);
};

extern const struct double_double_loops double_double_loops_level0, double_double_loops_level2,
    double_double_loops_level3;

/* Those for this machine. */
const struct double_double_loops *double_double_loops_choose(void);

#endif
