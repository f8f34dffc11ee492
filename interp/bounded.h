/* Double-doubles that carry a bound of their error: value ± error holds the exact result of all the
 * operations so far. The bound of each operation is that of double_double.h, plus what the errors
 * of the operands come to; it is itself computed in doubles and enlarged for that. What is exactly
 * zero stays so. A bound that is no longer finite decides nothing (dd_decide). */
#ifndef INTERP_BOUNDED_H
#define INTERP_BOUNDED_H

#include "interp/double_double.h"

struct bounded {
    struct double_double value;
    double error;
};

static inline struct bounded bounded_from(double value)
{
    return (struct bounded){dd_from(value), 0};
}

static inline double bounded_magnitude(struct bounded a)
{
    return fabs(a.value.high) * (1 + 0x1p-50);
}

static inline bool bounded_is_zero(struct bounded a)
{
    return a.value.high == 0 && a.error == 0;
}

/* The bound as computed, so much larger that its own rounding does not count. */
static inline double bounded_error(double error)
{
    return error * (1 + 0x1p-48) + DD_TINY;
}

static inline struct bounded bounded_add(struct bounded a, struct bounded b)
{
    if (bounded_is_zero(a) || bounded_is_zero(b)) {
        return bounded_is_zero(a) ? b : a;
    }
    double size = bounded_magnitude(a) + bounded_magnitude(b);
    return (struct bounded){dd_add(a.value, b.value),
                            bounded_error(a.error + b.error + DD_UNIT * size)};
}

static inline struct bounded bounded_subtract(struct bounded a, struct bounded b)
{
    b.value = dd_negate(b.value);
    return bounded_add(a, b);
}

static inline struct bounded bounded_multiply(struct bounded a, struct bounded b)
{
    if (bounded_is_zero(a) || bounded_is_zero(b)) {
        return bounded_from(0);
    }
    double x = bounded_magnitude(a), y = bounded_magnitude(b);
    return (struct bounded){
        dd_multiply(a.value, b.value),
        bounded_error(x * b.error + y * a.error + a.error * b.error + DD_UNIT * x * y)};
}

/* b ≠ 0; where its bound does not say so, the result's is infinite. */
static inline struct bounded bounded_divide(struct bounded a, struct bounded b)
{
    if (bounded_is_zero(a)) {
        return a;
    }
    struct bounded quotient = {dd_divide(a.value, b.value), INFINITY};
    double least = fabs(b.value.high) * (1 - 0x1p-50) - b.error;
    if (least > 0) {
        double size = bounded_magnitude(quotient);
        quotient.error = bounded_error((a.error + size * b.error) / least + DD_DIVIDE_UNIT * size);
    }
    return quotient;
}

/* a > 0; where its bound does not say so, the result's is infinite. */
static inline struct bounded bounded_sqrt(struct bounded a)
{
    struct bounded root = {dd_sqrt(a.value), INFINITY};
    if (a.value.high * (1 - 0x1p-50) - a.error > 0) {
        /* |√(a + e) − √a| ≤ |e| / √a */
        double size = bounded_magnitude(root);
        root.error = bounded_error(a.error * (1 + 0x1p-40) / size + DD_DIVIDE_UNIT * size);
    }
    return root;
}

#endif
