/* The walk over a compiler's pipeline: the module after every pass is evaluated by the golden on
 * the same inputs, and the first pass after which the outputs leave what the pass is allowed to
 * change is named.
 *
 * Two distances are kept for every step: the *drift* from the first module of the walk, and the
 * *jump* from the step before. A pass that no rule names (pass_rules.def) must keep every bit; one
 * that a rule names may move outputs as far as the golden's own spread under the roundings that the
 * rule allows. So a slow leak (each jump allowed, the drift beyond the tolerance of the whole
 * module) and a jump are told apart. Elements that HLO leaves open accuse nobody. */
#ifndef COMPARE_PASSES_H
#define COMPARE_PASSES_H

#include "backend/backend.h"
#include "compare/compare.h"
#include "compare/inputs.h"
#include "compare/profile.h"

struct pass_rule;
struct text;

/* Where a module of the walk comes from. Names are borrowed. */
struct pass_source {
    const char *title;    /* of the file, for messages */
    const char *pipeline; /* "" for the first and the last module */
    const char *pass;     /* that made it; "" likewise */
};

struct passes_options {
    struct input_options inputs; /* inputs.seed is the first seed */
    int seed_count;              /* the walk uses the seeds from inputs.seed on; 0 = 1 */
    /* Given ones instead (a snapshot's), or NULL: for all devices, or a set for each. */
    struct literal *const *arguments;
    int argument_count;
    const struct profile *profile; /* of the compiler's target, for the drift; NULL = "cpu" */
    size_t cache_bytes;            /* memory for values kept between steps; 0 = 4 GiB */
    double timeout;                /* seconds for one step; 0 = no limit */
    int derived_samples;           /* golden evaluations for a spread; 0 = 4 */
    bool find_culprits; /* the smallest set of changed instructions, at the first bad step */
};

/* How far outputs are from others, over all seeds. */
struct pass_distance {
    bool known;       /* false: there was nothing to compare with */
    bool bits;        /* every specified element is bit-equal */
    double ulps;      /* largest error in units in the last place; infinite: NaN, Inf, integers */
    double tolerance; /* largest error as a part of what is allowed; > 1 (or infinite) = too far */
    int64_t elements, mismatches, unspecified;
    int64_t undecided; /* the golden itself moves as much under allowed roundings */
};

/* What the walk says of one step. */
struct pass_verdict {
    int step;
    const struct pass_source *source;
    /* PASS; MISMATCH: this pass changed the meaning, or the drift left the tolerance here
     * (is_leak); UNSUPPORTED: the golden cannot evaluate or read the module (message names what);
     * OOM, TIMEOUT: it cannot within the limits. The walk goes on after each. */
    enum outcome outcome;
    bool is_leak;
    char *message;                /* one line; "" on a plain PASS */
    const struct pass_rule *rule; /* that let it differ; NULL: must keep every bit */
    int compared_with;            /* the step that the jump is from: the last one evaluated */
    struct pass_distance jump, drift;
    int instructions;          /* in the module */
    int64_t evaluated, reused; /* pieces of work done, and found among the kept values */
    double seconds;            /* of evaluation */
};

/* The first step with a MISMATCH, in detail. */
struct pass_finding {
    int step;      /* −1: none */
    char *picture; /* the outputs that moved (compare.h) */
    /* Names of the instructions of the module after the pass whose replacement by their old values
     * restores the outputs, fewest that do. If none is found that does (restores is false), those
     * whose values differ although all they are computed from is as before the pass. */
    bool restores;
    int culprit_count;
    char **culprits;
    char *within;  /* the loops and iterations that they are in, outermost first; NULL: none */
    uint64_t seed; /* on which it shows; device d draws from pass_device_seed(seed, d) */
    int tameness;  /* of the inputs drawn from it */
};

/* Loads the module of a step, once and in order; the walk destroys it. NULL with *err: the step is
 * UNSUPPORTED. */
typedef struct module *pass_load(void *context, int step, struct error *err);

struct passes_hooks {
    pass_load *load;
    void (*on_step)(void *context, const struct pass_verdict *verdict); /* as each is judged */
    void *context;
};

struct passes_result {
    int count;
    struct pass_verdict *verdicts; /* [count] */
    struct pass_finding finding;
    int device_count;     /* on which the modules are evaluated */
    double first_seconds; /* evaluating the first module once */
    double seconds;       /* the whole walk's evaluations */
    size_t peak_bytes;    /* of kept values */
    char *notes;          /* one line each: inputs redrawn, outputs that are random … */
};

/* The seed from which a device's inputs are drawn. */
uint64_t pass_device_seed(uint64_t seed, int device);

/* False only when the first module cannot be loaded or evaluated, with *err. */
bool passes_walk(const struct pass_source *sources, int count, const struct passes_hooks *hooks,
                 const struct passes_options *options, struct passes_result *result,
                 struct error *err);
void passes_result_finish(struct passes_result *result);

/* --- the table of what passes may change (pass_rules.def) --- */
struct pass_rule {
    const char *pass;     /* name of the pass; '*' stands for any characters */
    const char *pipeline; /* likewise; NULL: in any */
    unsigned licences;    /* enum pass_licence, or-ed */
    const char *why;
};
/* What each allows, in roundings of the type in which an instruction rounds; pass_licence_table in
 * pass_rules.c has the same by type, docs/tolerances.md the reasons. */
enum pass_licence {
    PASS_REASSOCIATES = 1, /* sums in another order or grouping */
    PASS_ROUNDS = 2,       /* intermediate roundings move, come or go (contraction, f32 algebra) */
    PASS_EXCESS = 4,       /* types of 16 bits and fewer may be computed wider */
    PASS_NARROWS = 8,      /* f32 may be computed in bf16/tf32 (as precision config allows) */
    PASS_RANDOM = 16,      /* rng becomes an algorithm of the target: what depends on it is open */
    PASS_EXPANDS = 32,     /* functions and factorizations become approximations */
    PASS_BFLOAT16 = 64,    /* values may be made in bf16 that were not; no coarser type comes in */
};
extern const struct pass_rule pass_rules[];
extern const int pass_rule_count;
/* NULL: the pass must keep every bit. */
const struct pass_rule *pass_rule_find(const char *pipeline, const char *pass);
/* "reassociates, rounds". */
void pass_licences_print(unsigned licences, struct text *out);
/* The profile that grants what licences allow (and nothing else), on a compiler for `target`. */
struct profile pass_licences_profile(unsigned licences, const struct profile *target);
/* For `referee show`: the rows, and what each licence allows by type. */
void pass_rules_explain(struct text *out);

#endif
