/* Backend profiles: what a backend may do and still be right, and the ulp bounds that follow.
 * Sources: measured distances of XLA's CPU from the exact result (docs/tolerances.md), XLA's
 * documented licences (algebraic simplifier, excess precision, flush to zero). */
#ifndef COMPARE_PROFILE_H
#define COMPARE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "hlo/opcode.h"
#include "hlo/types.h"

struct instruction;
struct text;

/* Which of a compiler's roundings count; or-ed. */
enum rounding_kind {
    ROUNDING_SUMS = 1,      /* sums in any order: their partial sums round */
    ROUNDING_FUNCTIONS = 2, /* the table of ulp bounds, and sums within such functions */
    ROUNDING_RESULTS = 4,   /* every result may be rounded once more, or once less */
    ROUNDING_NARROW = 8,    /* the same of types of 16 bits and fewer; and their sums */
    ROUNDING_FACTORS = 16,  /* f32 factors of products may be bf16, f64 two f32 */
};

struct profile {
    const char *name, *summary;
    bool flush_subnormals; /* subnormal inputs and results of arithmetic may become 0 */
    bool excess_precision; /* bf16/f16 intermediates may stay in f32 */
    bool contract;         /* a·b + c may be one rounding */
    bool algebra;          /* rewrites that hide or make overflow, NaN and roundings (licence.h) */
    double ulp_scale;      /* multiplies the table of ulp bounds; 0 = correctly rounded */
    unsigned roundings;    /* enum rounding_kind, or-ed */
    bool bf16_products;    /* f32 factors at default precision count as bf16 (interp.h) */
};

extern const struct profile profiles[];
extern const int profile_count;
const struct profile *profile_find(const char *name); /* NULL if there is none */
/* The profile for a backend URI by default. */
const struct profile *profile_for(const char *uri);

/* Ulps of the result type by which the backend may miss the exact result of one instruction on
 * exact operands; for sums (dot, convolution, reduce …) *terms is the number of summands, whose
 * partial sums each round once more, else 0. Data movement, integers and compares: 0. */
double profile_ulps(const struct profile *profile, const struct instruction *instruction,
                    int64_t *terms);
/* The summands of one element of a sum; 0: it is none, or picks one of them. */
int64_t profile_terms(const struct instruction *instruction);
/* The type that the instruction rounds to: its result's, part of a complex one, or of the first
 * array of a tuple; INVALID when nothing rounds. */
enum type profile_rounding_type(const struct instruction *instruction);
/* The type of the partial sums of such an instruction: f32 at least, but reductions of f16 and bf16
 * are added up in that type on XLA's CPU, as their computation says. */
enum type profile_sum_type(const struct instruction *instruction);
/* `referee show tolerances`: the table and how each tolerance is made. */
void profile_explain(struct text *out);

#endif
