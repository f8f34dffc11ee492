/* Backend profiles: what a backend may do and still be right, and the tolerances that follow.
 * Sources: measured distances of XLA's CPU from the exact result (ulp per op and type), XLA's
 * documented licences (algebraic simplifier, fast-min-max, excess precision, flush to zero). */
#ifndef COMPARE_PROFILE_H
#define COMPARE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "hlo/opcode.h"
#include "hlo/types.h"

struct instruction;
struct module;
struct text;

struct profile {
    const char *name; /* "cpu", "gpu", "tpu", "strict" */
    const char *summary;
    bool flush_subnormals;  /* inputs and results of arithmetic may become 0 */
    bool excess_precision;  /* bf16/f16 intermediates may stay in f32 */
    bool reciprocal;        /* x / constant may be x · (1/constant); a/sqrt(b) a·rsqrt(b) */
    bool contract;          /* a·b + c may be one rounding */
    bool algebra;           /* rewrites that hide or make overflow (licence.h) */
    bool fast_min_max;      /* NaN may be lost in minimum/maximum */
    double ulp_scale;       /* multiplies the table of ulp bounds; 0 = correctly rounded */
};

const struct profile *profile_find(const char *name); /* NULL if there is none */
extern const struct profile profiles[];
extern const int profile_count;
/* The profile for a backend URI by default. */
const struct profile *profile_for(const char *uri);

/* Ulp of the result type by which the backend may miss the exact result of one instruction on
 * exact operands; sums also move by `terms` roundings of the partial sums (see *terms, 0 for
 * non-sums). Data movement, integers and compares: 0. */
double profile_ulps(const struct profile *profile, const struct instruction *instruction,
                    int64_t *terms);
/* `referee show tolerances`: the table and how each tolerance is made. */
void profile_explain(struct text *out);

#endif
