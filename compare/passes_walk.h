/* The state of a walk over a pipeline (passes.c), for those that judge its steps. */
#ifndef COMPARE_PASSES_WALK_H
#define COMPARE_PASSES_WALK_H

#include "compare/passes_internal.h"
#include "hlo/base/text.h"
#include "interp/interp.h"

/* One seed, or the given arguments. */
struct pass_case {
    uint64_t seed;
    int tameness;
    struct literal **arrays;  /* of the frame's devices and parameters */
    struct literal *first;    /* results of the first module; where random numbers were drawn anew,
                                 those of the module that draws them */
    struct literal *previous; /* of the last one that was evaluated */
    struct literal *now;
    struct pass_spread *spreads; /* found on the first module */
    struct bound *accepted;      /* what passes that moved outputs first were allowed, or NULL */
    int accepted_count;
};

/* A module of the walk that is in memory. */
struct stage {
    int step; /* −1: none */
    struct module *module;
    struct pass_form form;
};

struct walk {
    const struct pass_source *sources;
    const struct passes_hooks *hooks;
    const struct passes_options *options;
    const struct profile *profile;
    struct passes_result *result;
    struct interp_options interp;
    struct interp_cache *cache;
    struct pass_frame frame;
    unsigned granted; /* licences of the passes that changed bits so far */
    int case_count;
    struct pass_case *cases;
    struct stage first, previous, now;
    bool *random;         /* the frame's results that depend on random numbers, or NULL */
    bool drift_is_judged; /* nothing was blamed yet */
    unsigned licences;    /* of the passes since `previous` */
    bool any_rule;
    double deadline; /* 0 = none */
    struct text notes;
};

/* --- passes.c --- */

size_t walk_cache_bytes(const struct passes_options *options);
/* The clock of one evaluation, or `times` as much for several; without a time limit it never ends.
 */
void walk_start_clock(struct walk *walk, int times);
bool walk_is_late(void *walk);
const char *walk_step_name(const struct walk *walk, int step);
/* The message of a verdict: this text, or this text after what is there. */
void walk_say(struct pass_verdict *verdict, const char *text);
void walk_add_message(struct pass_verdict *verdict, const char *text);

/* --- passes_verdict.c --- */

/* Judges walk->now, whose results all cases have; on the first mismatch it keeps what shows it.
 * `conflict`: devices that should hold the same do not, or empty. */
void walk_judge_step(struct walk *walk, struct pass_verdict *verdict, const struct text *conflict);

#endif
