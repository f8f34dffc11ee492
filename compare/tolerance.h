/* Bounds for whole modules: the default ones from the module's structure, and derived ones from
 * the golden's own spread. */
#ifndef COMPARE_TOLERANCE_H
#define COMPARE_TOLERANCE_H

#include "compare/compare.h"
#include "compare/profile.h"

struct error;
struct interp_options;
struct module;

enum tolerance_kind {
    TOLERANCE_DEFAULT, /* by type, by what was computed and how much was summed */
    TOLERANCE_DERIVED, /* spread of the golden with every rounding moved (Monte Carlo arithmetic) */
    TOLERANCE_XLA,     /* --abs_error_bound / --rel_error_bound, XLA's rule */
    TOLERANCE_BITS,    /* bit-equal */
};
/* "default", "derived", "xla", "bits"; and the other way round, false if there is none of that
 * name. */
const char *tolerance_kind_text(enum tolerance_kind kind);
bool tolerance_kind_find(const char *name, enum tolerance_kind *kind);

/* What each instruction may be off by under a profile; values[computation][instruction]. */
struct rounding {
    double ulps;   /* of its rounding type */
    int64_t terms; /* summands of a sum, else 0 */
};
struct roundings {
    int count;
    struct rounding **values;
};
/* Products that feed a sum count one ulp where the profile contracts. */
void roundings_find(const struct module *module, const struct profile *profile,
                    struct roundings *roundings);
void roundings_finish(struct roundings *roundings);

/* Are the bits of the result those of operands (or of the attributes), whatever compiles it? */
bool moves_data_only(enum opcode opcode);
/* Is the sign of a zero always what the operand's bits say? Not after arithmetic, where a licence
 * may change it, nor after minimum and maximum, where HLO leaves it open. */
bool keeps_zero_signs(enum opcode opcode);

/* One bound per leaf of the result, from the longest path of roundings to it ('referee show
 * tolerances' tells the rule). explanation gets one line. */
void bounds_default(const struct module *module, const struct profile *profile,
                    const struct literal *reference, struct bound *bounds,
                    struct text *explanation);
/* They are worst cases, which grow without end in deep modules. What they grant at once is no more
 * than so many steps of an output of this type; beyond that the golden's spread decides. */
double bounds_steps_at_once(enum type type);

/* Adds element bounds: the golden is evaluated `samples` times with moved roundings (Monte Carlo
 * arithmetic; D. S. Parker, "Monte Carlo Arithmetic", UCLA CSD-970002, 1997) and the same
 * arguments. An element's bound is 8 × its largest deviation, of 16 samples and more 4 × (for types
 * of 8 bits and fewer, that deviation and one step), and a step at least where anything in its leaf
 * moved; infinite (NaN for integers) where infinity, NaN or an integer comes and goes.
 * `undecidable` of a leaf is 5 % of its largest element. On several devices (interp tells)
 * arguments, reference and bounds are those of all (devices.h). */
bool bounds_derived(const struct module *module, const struct profile *profile,
                    struct literal *const *arguments, int argument_count, int samples,
                    uint64_t seed, const struct interp_options *interp,
                    const struct literal *reference, struct bound *bounds, struct error *err);
/* Evens derived bounds out: a few samples leave an element near its place by luck. Each gets at
 * least half of what the median element of its leaf has, in terms of itself. */
void bounds_level(const struct literal *reference, struct bound *bounds, int count);
void bounds_finish(struct bound *bounds, int count);

#endif
