/* Exact sums: Σ of any number of doubles, correctly rounded once to a float type.
 *
 * The sum is that of the exact real numbers; intermediate overflow does not exist. Special values
 * as in IEEE 754: NaN (positive, quiet) if a term is NaN or both infinities occur, else the
 * infinity if one occurs. A zero sum is −0 only if every term (the initial value included) is −0;
 * the empty sum without an initial value is −0 (the identity of addition). Results come back as the
 * double that equals the stored element (see exact.h) and depend on nothing but the multiset of
 * terms.
 *
 * Fast sums keep a double-double and a running bound of its error (after T. Ogita, S. M. Rump,
 * S. Oishi, "Accurate sum and dot product", SIAM J. Sci. Comput. 26, 2005); what the bound leaves
 * open is summed again in a long accumulator of integer limbs that holds any sum exactly. */
#ifndef INTERP_EXACT_SUM_H
#define INTERP_EXACT_SUM_H

#include <stdbool.h>
#include <stdint.h>

#include "hlo/types.h"

/* --- The long accumulator: slow (some ns a term), exact for everything. ------------------------
 */

/* Fixed point number with digits of 32 bits in 64-bit limbs; spans all products of two doubles
 * (2^-2148 … 2^2048) and room for 2^63 of them. */
#define EXACT_LIMBS 136
struct exact_accumulator {
    int64_t limbs[EXACT_LIMBS];
    int64_t pending; /* terms since carries were last propagated */
    bool nan, plus_infinity, minus_infinity;
    bool nonzero;    /* a finite nonzero term was added */
    bool plus_zero;  /* a +0 term was added */
    bool minus_zero; /* a −0 term was added */
};

void exact_accumulator_init(struct exact_accumulator *accumulator);
void exact_accumulator_add(struct exact_accumulator *accumulator, double term);
/* Adds the exact product a * b. */
void exact_accumulator_add_product(struct exact_accumulator *accumulator, double a, double b);
/* The sum so far, rounded once to `type`; more may be added afterwards. */
double exact_accumulator_round(const struct exact_accumulator *accumulator, enum type type);

/* --- One sum. ----------------------------------------------------------------------------------
 */

/* init + Σ in[i * stride], i < count, rounded to `type`. stride in elements. */
double exact_sum(enum type type, double init, const double *in, int64_t count, int64_t stride);
/* The same over stored elements of float type `source`, which may differ from `type`. */
double exact_sum_typed(enum type type, double init, enum type source, const void *in, int64_t count,
                       int64_t stride);

/* --- Many sums at once: [outer][terms][inner] → [outer][inner]. --------------------------------
 */

/* out[o * inner + i] = init + Σ_t in[(o * terms + t) * inner + i] over dense row-major stored
 * elements of `source`, each rounded to `type` and stored as `type`. Parallel inside. */
void exact_sum_reduce(enum type type, double init, enum type source, const void *in, int64_t outer,
                      int64_t terms, int64_t inner, void *out);

/* --- Many sums, terms arriving in any order (scatter, windows). --------------------------------
 */

/* count running sums; memory is the caller's: 3 arrays of count doubles. */
struct exact_sums {
    double *high, *low, *slack; /* sum = high + low ± 2^-52 * (terms + 4) * slack */
    int64_t count;
    int64_t terms; /* upper bound of the terms in any one sum */
};
/* Points at memory[0 .. 3 * count) and sets every sum to init (−0 for the empty sum). */
void exact_sums_init(struct exact_sums *sums, double *memory, int64_t count, double init);
/* sums[first + i] += terms[i * stride], i < count (stride 0 adds one value to all). */
void exact_sums_add(struct exact_sums *sums, int64_t first, const double *terms, int64_t count,
                    int64_t stride);
/* out[i] = sum i rounded to `type`. Returns how many were left open; those have open[i] = 1 (else
 * 0), and the caller adds their terms (and init) once more to an exact_accumulator. open must hold
 * sums->count bytes. Sums with NaN, infinities or overflow are left open too. */
int64_t exact_sums_round(const struct exact_sums *sums, enum type type, double *out,
                         unsigned char *open);

#endif
