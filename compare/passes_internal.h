/* What the parts of the walk over a pipeline (passes.h) share. */
#ifndef COMPARE_PASSES_INTERNAL_H
#define COMPARE_PASSES_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "compare/compare.h"
#include "compare/passes.h"

struct error;
struct instruction;
struct interp_options;
struct literal;
struct module;
struct shape;
struct text;
struct tiling;

/* --- passes_form.c: modules of a pipeline take and give the same things in different forms --- */

/* One array that the first module takes or gives. */
struct pass_array {
    const struct shape *shape;
    const char *name; /* of its parameter; "" of results */
};

/* What the first module takes and gives: the arrays of all parameters and of the result, those of
 * tuples one after another. All later modules are given and asked for the same. */
struct pass_frame {
    const struct module *module;
    int replica_count, partition_count, device_count; /* on which it is evaluated */
    int partitions_to_come; /* that a partitioner will split it for; 1 = none */
    int parameter_count, result_count;
    struct pass_array *parameters, *results;
    /* How the arrays were last split, once a module was partitioned; else NULL. */
    struct tiling *parameter_tilings, *result_tilings;
};
void pass_frame_make(const struct module *module, struct pass_frame *frame);
void pass_frame_finish(struct pass_frame *frame);

/* Which array of the frame one array of a module is, or which part of its elements. */
enum pass_part { PART_WHOLE, PART_LOW, PART_HIGH };
struct pass_leaf {
    int array;
    enum pass_part part;
};

/* How a module takes the frame's arrays and gives its results. */
struct pass_form {
    const struct module *module;
    const struct pass_frame *frame; /* whose tilings are those of the module if it is in pieces */
    int replica_count, partition_count, device_count;
    bool in_pieces;         /* each device has its tile of every array */
    struct module *lowered; /* what is evaluated if it has manual regions (manual.h), else NULL */
    /* Its results are the frame's, array for array: bounds and spreads can be found on it. */
    bool is_plain;
    int leaf_count;
    struct pass_leaf *leaves;  /* [leaf_count] of the parameters in order */
    struct pass_leaf *results; /* of the result */
    int result_leaf_count;
};
/* `previous` is the module before it, or NULL. UNIMPLEMENTED: it takes or gives something else. */
bool pass_form_make(const struct module *module, const struct module *previous,
                    struct pass_frame *frame, struct pass_form *form, struct error *err);
void pass_form_finish(struct pass_form *form);

/* --- passes_evaluate.c: a module on the frame's arrays --- */

/* The module's arguments from the frame's arrays: [device * parameters + parameter], *count of
 * them; pass_arguments_release frees both. */
struct literal **pass_form_arguments(const struct pass_form *form, struct literal *const *arrays,
                                     int *count, struct error *err);
void pass_arguments_release(struct literal **arguments, int count);
/* Evaluates the module on the arrays ([device * frame parameters + i]). The result is a tuple of
 * the frame's arrays, or on several devices a tuple of those; *conflict (may be NULL) gets a line
 * when devices that should hold the same do not. */
struct literal *pass_form_evaluate(const struct pass_form *form, struct literal *const *arrays,
                                   const struct interp_options *interp, struct text *conflict,
                                   struct error *err);

/* --- passes_random.c --- */

/* Which of the frame's results depend on numbers that a backend draws in its own way: open[result
 * count], the caller's. NULL when none does. */
bool *pass_frame_random(const struct pass_frame *frame);

/* --- passes_elided.c --- */

/* Gives constants whose values a dump leaves out the same values in all modules of a walk.
 * UNIMPLEMENTED where one is not like any of the first module. */
bool pass_fill_elided(struct module *module, const struct module *first, struct error *err);

/* --- passes_judge.c --- */

/* A module on which bounds may be found. */
struct pass_basis {
    const struct pass_form *form;
    struct literal *const *arrays;
    const struct literal *results; /* its own */
    /* Spreads that were found on it are kept here; NULL = not kept. */
    struct pass_spread **spreads;
};
/* Element bounds found once, by the name of a profile's licences. */
struct pass_spread {
    struct pass_spread *next;
    unsigned licences, round;
    struct bound *bounds; /* NULL: it could not be found */
    int count;
};
void pass_spreads_finish(struct pass_spread *spreads);
/* The relative step of the coarsest type in which something of the module may round otherwise under
 * the profile; 0: nothing may. */
double pass_coarsest_step(const struct module *module, const struct profile *profile);

struct pass_judging {
    /* Default bounds come from the first; spreads from one after the other, those that are kept
     * before others, as long as something differs; licensed evaluations from the first. */
    struct pass_basis bases[3];
    int basis_count;
    const struct profile *profile; /* NULL: every bit */
    unsigned licences;             /* tells spreads of profiles apart */
    const struct interp_options *interp;
    int samples;
    uint64_t seed;
    const struct bound *also; /* what is allowed besides, one per leaf; or NULL */
    bool quick;               /* no further evaluation: default bounds and spreads that are kept */
};

struct pass_judgement {
    bool agrees;
    struct pass_distance distance;
    const struct literal *reference; /* owned; as compared */
    struct comparison comparison;
    struct bound *bounds; /* as applied */
    int bound_count;
    char *note; /* "" or why it agrees all the same */
};
void pass_judge(const struct pass_judging *judging, const struct literal *reference,
                const struct literal *actual, struct pass_judgement *judgement);
void pass_judgement_finish(struct pass_judgement *judgement);
/* Are all leaves the same bits, unspecified elements included? */
bool pass_results_same(const struct literal *a, const struct literal *b);
/* Each bound of `into` becomes the wider one of both. */
void pass_bounds_widen(struct bound *into, const struct bound *from, int count,
                       const struct literal *results);
/* Each element's bound becomes at least twice what it moved from `first` to `now`; where integers,
 * NaN or Inf come and go it is open. */
void pass_bounds_accept(struct bound *bounds, const struct literal *first,
                        const struct literal *now, int count);
/* `into` becomes the worse of both. */
void pass_distance_worsen(struct pass_distance *into, const struct pass_distance *from);

/* --- passes_values.c --- */

/* A value that tells something: others will not have it by chance. */
bool pass_value_tells(const struct literal *value);
uint64_t pass_value_hash(const struct literal *value);
/* How far two values of one shape are apart, in terms of the largest element; 0: not at all. */
double pass_deviation(const struct literal *old, const struct literal *now);

/* --- passes_culprits.c --- */

struct pass_culprits_options {
    struct literal *const *arrays;
    const struct literal *old_results;
    const struct bound *bounds; /* within which results are restored */
    const struct interp_options *interp;
    size_t bytes;   /* of old values that may be kept */
    double seconds; /* after which the search ends with what it has; 0 = no limit */
    bool exact;     /* the pass must keep every bit */
};
/* The smallest set of instructions of `now` that restores the old results when they get their old
 * values. `now` is changed while it is evaluated, and as it was afterwards. */
void pass_culprits_find(const struct pass_form *old, const struct pass_form *now,
                        struct module *module, const struct pass_culprits_options *options,
                        struct pass_finding *finding);

/* --- passes_loops.c --- */

/* A loop of both modules that is at fault: the culprits in the first iteration in which it parts,
 * if they are found, become the finding's. */
void pass_culprits_enter(const struct pass_form *old, const struct instruction *old_loop,
                         const struct pass_form *now, const struct instruction *now_loop,
                         const struct pass_culprits_options *options, struct pass_finding *finding);

#endif
