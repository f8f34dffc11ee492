/* The vector loops behind exact sums and dots: between their .c files and exact_sum_loops.h. */
#ifndef INTERP_EXACT_SUM_KERNELS_H
#define INTERP_EXACT_SUM_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "hlo/floats_layout.h"
#include "hlo/types.h"

/* A sum under way: high + low, off by at most 2^-52 * (additions to low + 4) * slack. slack is the
 * sum of the magnitudes of the errors that went to low; 0 means exact. */
struct exact_partial {
    double high, low, slack;
};

struct exact_sum_kernels {
    /* The sum of in[0 .. count). Its low parts took count / EXACT_SUM_LANES + 64 additions or less.
     */
    struct exact_partial (*sum)(const double *in, int64_t count);
    /* Running sums: high, low, slack each of count; one term each (all the same if `one`). */
    void (*add)(double *high, double *low, double *slack, const double *terms, int64_t count,
                bool one);
    /* Σ a[i] * b[i] with products rounded (exact if `exact` says they are), like sum. */
    struct exact_partial (*dot)(const double *a, const double *b, int64_t count, bool exact);
    /* Σ a[i] * b[i] with products rounded, like sum, but slack is left to the caller: high and low
     * are those of dot, in less than half the time. */
    struct exact_partial (*quick_dot)(const double *a, const double *b, int64_t count);
    /* For exact_dot.c: out[i] = round(in[i]) where in[i] ± row * columns[i] rounds alike, and bit
     * i % 64 of open[i / 64] elsewhere. layout NULL is f32. Returns whether any is open. */
    bool (*settle)(const struct float_layout *layout, const double *in, double row,
                   const double *columns, double *out, uint64_t *open, int64_t count);
    /* (high, low)[i] += terms[i] as double-doubles, or = terms[i] if `first`. */
    void (*gather)(double *high, double *low, const double *terms, int64_t count, bool first);
    /* Σ v[i]² over count elements, each 1 + 2^-40 too large at most and never too small. */
    double (*norm)(const double *v, int64_t count);
    /* sums[i] += v[i]² */
    void (*add_squares)(double *sums, const double *v, int64_t count);
};
/* Fewest lanes that any level's sum splits its terms over. */
#define EXACT_SUM_LANES 8

extern const struct exact_sum_kernels exact_sum_kernels_level0, exact_sum_kernels_level2,
    exact_sum_kernels_level3;
const struct exact_sum_kernels *exact_sum_kernels_here(void);

/* Adds one term; b's high may be any size. */
static inline void exact_partial_add(struct exact_partial *a, double term)
{
    const double sum = a->high + term;
    const double share = sum - a->high;
    const double error = (a->high - (sum - share)) + (term - share);
    a->high = sum;
    a->low += error;
    a->slack += error < 0 ? -error : error;
}
static inline void exact_partial_merge(struct exact_partial *a, const struct exact_partial *b)
{
    exact_partial_add(a, b->high);
    a->low += b->low;
    a->slack += b->slack;
}
/* Whether the sum's rounding to `type` is certain, and that in *out. `additions`: see above. */
bool exact_partial_round(const struct exact_partial *sum, double additions, enum type type,
                         double *out);

#endif
