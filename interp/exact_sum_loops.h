/* Vector loops of exact sums and dots, compiled once per vector level (hlo/vector.h). The results
 * depend on the level's number of lanes; the bounds that come with them hold at every level. */
#ifndef INTERP_EXACT_SUM_LOOPS_H
#define INTERP_EXACT_SUM_LOOPS_H

#include "hlo/floats_vector.h"
#include "hlo/vector.h"
#include "interp/exact_sum_kernels.h"

#define CHAINS 4 /* independent sums, to keep the adders busy */

struct vector_partial {
    vector high, low, slack;
};

/* Knuth's TwoSum: the sum, and what rounding took from it, exactly. */
VECTOR_INLINE vector two_sum(vector a, vector b, vector *error)
{
    vector sum = a + b;
    vector share = sum - a;
    *error = (a - (sum - share)) + (b - share);
    return sum;
}

VECTOR_INLINE void partial_add(struct vector_partial *partial, vector term)
{
    vector error;
    partial->high = two_sum(partial->high, term, &error);
    partial->low += error;
    partial->slack += vector_abs(error);
}

/* a * b exactly as product + error, unless the error underflows. */
VECTOR_INLINE vector two_product(vector a, vector b, vector *error)
{
    vector product = a * b;
#if VECTOR_HAS_FMA
    *error = vector_fma(a, b, -product);
#else
    /* Dekker and Veltkamp: halves of 26 bits have exact products. */
    vector a_high = a * 134217729, b_high = b * 134217729;
    a_high = a_high - (a_high - a);
    b_high = b_high - (b_high - b);
    vector a_low = a - a_high, b_low = b - b_high;
    *error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
#endif
    return product;
}

VECTOR_INLINE void partial_merge(struct vector_partial *a, const struct vector_partial *b)
{
    partial_add(a, b->high);
    a->low += b->low;
    a->slack += b->slack;
}

/* The lanes of all chains as one sum. */
VECTOR_INLINE struct exact_partial join(struct vector_partial chains[CHAINS])
{
    struct exact_partial sum = {-0.0, 0, 0};
    partial_merge(&chains[0], &chains[1]);
    partial_merge(&chains[2], &chains[3]);
    partial_merge(&chains[0], &chains[2]);
    for (int i = 0; i < VECTOR_WIDTH; i++) {
        struct exact_partial lane = {chains[0].high[i], chains[0].low[i], chains[0].slack[i]};
        exact_partial_merge(&sum, &lane);
    }
    return sum;
}

static struct exact_partial VECTOR_FUNCTION(sum)(const double *in, int64_t count)
{
    struct vector_partial chains[CHAINS];
    int64_t i = 0;
    for (int c = 0; c < CHAINS; c++) {
        chains[c] = (struct vector_partial){vector_all(-0.0), vector_all(0), vector_all(0)};
    }
    for (; i + CHAINS * VECTOR_WIDTH <= count; i += CHAINS * VECTOR_WIDTH) {
#pragma GCC unroll 4
        for (int c = 0; c < CHAINS; c++) {
            partial_add(&chains[c], vector_read(in + i + c * VECTOR_WIDTH));
        }
    }
    struct exact_partial sum = {-0.0, 0, 0};
    if (i > 0) {
        sum = join(chains);
    }
    for (; i < count; i++) {
        exact_partial_add(&sum, in[i]);
    }
    return sum;
}

static void VECTOR_FUNCTION(add)(double *high, double *low, double *slack, const double *terms,
                                 int64_t count, bool one)
{
    int64_t i = 0;
    for (; i + VECTOR_WIDTH <= count; i += VECTOR_WIDTH) {
        struct vector_partial partial = {vector_read(high + i), vector_read(low + i),
                                         vector_read(slack + i)};
        partial_add(&partial, one ? vector_all(terms[0]) : vector_read(terms + i));
        vector_write(high + i, partial.high);
        vector_write(low + i, partial.low);
        vector_write(slack + i, partial.slack);
    }
    for (; i < count; i++) {
        struct exact_partial partial = {high[i], low[i], slack[i]};
        exact_partial_add(&partial, terms[one ? 0 : i]);
        high[i] = partial.high;
        low[i] = partial.low;
        slack[i] = partial.slack;
    }
}

/* Products that are not exact in double bring their error along; where even that may have
 * underflowed, slack grows by what stands for it. */
VECTOR_INLINE void add_product(struct vector_partial *partial, vector a, vector b, bool exact)
{
    if (exact) {
        partial_add(partial, a * b);
        return;
    }
    vector error;
    vector product = two_product(a, b, &error);
    vector_bits tiny = (vector_abs(product) < 0x1p-960) & (a != 0) & (b != 0);
    partial_add(partial, product);
    partial->low += error;
    partial->slack += vector_abs(error) + (vector)(tiny & (vector_bits)vector_all(0x1p-1020));
}

static struct exact_partial VECTOR_FUNCTION(dot)(const double *a, const double *b, int64_t count,
                                                 bool exact)
{
    struct vector_partial chains[CHAINS];
    int64_t i = 0;
    if (exact && count <= 2 * VECTOR_WIDTH) {
        struct exact_partial sum = {-0.0, 0, 0};
        for (; i < count; i++) {
            exact_partial_add(&sum, a[i] * b[i]);
        }
        return sum;
    }
    for (int c = 0; c < CHAINS; c++) {
        chains[c] = (struct vector_partial){vector_all(-0.0), vector_all(0), vector_all(0)};
    }
    if (exact) {
        for (; i + CHAINS * VECTOR_WIDTH <= count; i += CHAINS * VECTOR_WIDTH) {
#pragma GCC unroll 4
            for (int c = 0; c < CHAINS; c++) {
                const int64_t at = i + c * VECTOR_WIDTH;
                add_product(&chains[c], vector_read(a + at), vector_read(b + at), true);
            }
        }
    } else {
        for (; i + CHAINS * VECTOR_WIDTH <= count; i += CHAINS * VECTOR_WIDTH) {
#pragma GCC unroll 4
            for (int c = 0; c < CHAINS; c++) {
                const int64_t at = i + c * VECTOR_WIDTH;
                add_product(&chains[c], vector_read(a + at), vector_read(b + at), false);
            }
        }
    }
    for (; i < count; i += VECTOR_WIDTH) { /* the rest, filled up with zeros */
        double rest_a[VECTOR_WIDTH] = {0}, rest_b[VECTOR_WIDTH] = {0};
        for (int k = 0; k < VECTOR_WIDTH && i + k < count; k++) {
            rest_a[k] = a[i + k];
            rest_b[k] = b[i + k];
        }
        add_product(&chains[0], vector_read(rest_a), vector_read(rest_b), exact);
    }
    return join(chains);
}

static struct exact_partial VECTOR_FUNCTION(quick_dot)(const double *a, const double *b,
                                                       int64_t count)
{
    struct vector_partial chains[CHAINS];
    int64_t i = 0;
    for (int c = 0; c < CHAINS; c++) {
        chains[c] = (struct vector_partial){vector_all(-0.0), vector_all(0), vector_all(0)};
    }
    for (; i + CHAINS * VECTOR_WIDTH <= count; i += CHAINS * VECTOR_WIDTH) {
#pragma GCC unroll 4
        for (int c = 0; c < CHAINS; c++) {
            const int64_t at = i + c * VECTOR_WIDTH;
            vector product_error, sum_error;
            vector product = two_product(vector_read(a + at), vector_read(b + at), &product_error);
            chains[c].high = two_sum(chains[c].high, product, &sum_error);
            chains[c].low += product_error + sum_error;
        }
    }
    struct exact_partial sum = join(chains);
    if (i < count) {
        const struct exact_partial rest = VECTOR_FUNCTION(dot)(a + i, b + i, count - i, false);
        exact_partial_merge(&sum, &rest);
    }
    sum.slack = 0;
    return sum;
}

/* One vector of settle: the rounded values, and which lanes stay open. */
VECTOR_INLINE vector settle_vector(const struct float_layout *layout, vector value, vector bound,
                                   uint64_t *open)
{
    value += 0.0; /* −0 becomes +0 */
    vector low = value - bound, high = value + bound;
    low = layout == NULL ? vector_round_f32(low) : vector_round(layout, low);
    high = layout == NULL ? vector_round_f32(high) : vector_round(layout, high);
    *open = vector_lanes(((vector_bits)low != (vector_bits)high) | (low != low) | (value != value));
    return low;
}

VECTOR_INLINE uint64_t settle_range(const struct float_layout *layout, const double *in, double row,
                                    const double *columns, double *out, int64_t count)
{
    uint64_t open = 0, bits;
    int64_t i = 0;
    for (; i + VECTOR_WIDTH <= count; i += VECTOR_WIDTH) {
        vector value =
            settle_vector(layout, vector_read(in + i), vector_read(columns + i) * row, &bits);
        vector_write(out + i, value);
        open |= bits << i;
    }
    if (i < count) {
        double values[VECTOR_WIDTH] = {0}, norms[VECTOR_WIDTH] = {0};
        memcpy(values, in + i, (size_t)(count - i) * sizeof(double));
        memcpy(norms, columns + i, (size_t)(count - i) * sizeof(double));
        vector_write(values,
                     settle_vector(layout, vector_read(values), vector_read(norms) * row, &bits));
        memcpy(out + i, values, (size_t)(count - i) * sizeof(double));
        open |= (bits & (((uint64_t)1 << (count - i)) - 1)) << i;
    }
    return open;
}

static bool VECTOR_FUNCTION(settle)(const struct float_layout *layout, const double *in, double row,
                                    const double *columns, double *out, uint64_t *open,
                                    int64_t count)
{
    uint64_t any = 0;
    for (int64_t i = 0; i < count; i += 64) {
        const int64_t size = count - i < 64 ? count - i : 64;
        uint64_t bits = layout == NULL
                            ? settle_range(NULL, in + i, row, columns + i, out + i, size)
                            : settle_range(layout, in + i, row, columns + i, out + i, size);
        open[i / 64] = bits;
        any |= bits;
    }
    return any != 0;
}

static void VECTOR_FUNCTION(gather)(double *high, double *low, const double *terms, int64_t count,
                                    bool first)
{
    int64_t i = 0;
    if (first) {
        memcpy(high, terms, (size_t)count * sizeof(double));
        memset(low, 0, (size_t)count * sizeof(double));
        return;
    }
    for (; i + VECTOR_WIDTH <= count; i += VECTOR_WIDTH) {
        vector error;
        vector_write(high + i, two_sum(vector_read(high + i), vector_read(terms + i), &error));
        vector_write(low + i, vector_read(low + i) + error);
    }
    for (; i < count; i++) {
        struct exact_partial sum = {high[i], low[i], 0};
        exact_partial_add(&sum, terms[i]);
        high[i] = sum.high;
        low[i] = sum.low;
    }
}

static double VECTOR_FUNCTION(norm)(const double *v, int64_t count)
{
    vector sums[CHAINS];
    int64_t i = 0;
    for (int c = 0; c < CHAINS; c++) {
        sums[c] = vector_all(0);
    }
    for (; i + CHAINS * VECTOR_WIDTH <= count; i += CHAINS * VECTOR_WIDTH) {
#pragma GCC unroll 4
        for (int c = 0; c < CHAINS; c++) {
            vector value = vector_read(v + i + c * VECTOR_WIDTH);
            sums[c] += value * value;
        }
    }
    double sum = vector_sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
    for (; i < count; i++) {
        sum += v[i] * v[i];
    }
    return sum;
}

static void VECTOR_FUNCTION(add_squares)(double *sums, const double *v, int64_t count)
{
    int64_t i = 0;
    for (; i + VECTOR_WIDTH <= count; i += VECTOR_WIDTH) {
        vector value = vector_read(v + i);
        vector_write(sums + i, vector_read(sums + i) + value * value);
    }
    for (; i < count; i++) {
        sums[i] += v[i] * v[i];
    }
}

const struct exact_sum_kernels VECTOR_FUNCTION(exact_sum_kernels) = {
    .sum = VECTOR_FUNCTION(sum),
    .add = VECTOR_FUNCTION(add),
    .dot = VECTOR_FUNCTION(dot),
    .quick_dot = VECTOR_FUNCTION(quick_dot),
    .settle = VECTOR_FUNCTION(settle),
    .gather = VECTOR_FUNCTION(gather),
    .norm = VECTOR_FUNCTION(norm),
    .add_squares = VECTOR_FUNCTION(add_squares),
};

#undef CHAINS

#endif
