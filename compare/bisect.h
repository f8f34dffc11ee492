/* Bisection: the first instruction on which a backend and the reference part.
 *
 * The module is cut at instructions until one is found at which the cut fails while the cuts at all
 * of its operands pass (*accumulated*: errors add up as they do in the module). That instruction is
 * then tried alone on the reference's operand values (*isolated*). Where it calls computations, the
 * search goes on inside: fusions and calls with the reference's operands, branches that are taken,
 * bodies of loops at the first iteration that parts, beginnings of asynchronous chains, and what is
 * applied to elements. At the end the part that was found is run again. Until then runs are hasty
 * (differential_options); if the part passes at the end, all is done once more, and not in haste.
 */
#ifndef COMPARE_BISECT_H
#define COMPARE_BISECT_H

#include "compare/shrink.h"

/* One level of the search: an instruction of the entry, then of what it calls … */
struct bisect_level {
    char *computation, *instruction;
    const char *opcode;
    int64_t iteration; /* of the loop whose body this level is in; −1 elsewhere */
    bool isolated;     /* it also fails alone on the reference's operands */
    /* Cuts took long, so that they began with the golden's values of what had passed. Only what is
     * isolated is found so. */
    bool narrowed;
    /* In a computation that the level above applies to elements (a reducer, a comparator, what a
     * scatter combines with, a map). Isolated: the computation fails alone, on samples of the
     * operands' elements; else what applies it fails with this and passes without. */
    bool applied;
    /* Of several devices: the first that parts (replica * partitions + partition), −1 when none
     * gave results; how many do. device_count is 0 on one device. */
    int device, devices_wrong, device_count;
};

struct bisect_options {
    struct backend *backend, *reference;
    struct differential_options differential;
    /* Called as the search goes on; may be NULL. */
    void (*on_progress)(void *context, const char *what);
    /* Asked between runs: stop now, with what is known? May be NULL. */
    bool (*stopped)(void *context);
    void *context;
    bool known_to_fail;      /* the whole: then it is judged in haste however quick the golden is */
    int64_t iterations_most; /* of a loop that are tried; 0 = 1000 */
    double narrow_from; /* seconds of a cut from which cuts are narrowed; 0 = 1; −1 = never */
    int runs;           /* of each part, until one fails: for what fails now and then; 0 = 1 */
};

struct bisect_result {
    struct failure_signature signature; /* of the whole module; PASS: nothing to find */
    int level_count;
    struct bisect_level *levels;              /* outermost first; the last is the answer */
    int runs;                                 /* on the backend */
    int confirming_runs, confirming_failures; /* of the part, at the end: how many failed */
    /* The smallest part that failed: the instruction alone if that fails, else the module cut at
     * it. It stands on its own. Empty when nothing was found. */
    struct specimen part;
    char *picture; /* of the part's mismatch; "" if it has none */
    char *note;    /* why the search ended where it did; "" if it went to the end */
};

/* False only when the whole cannot be run, with *err. */
bool bisect_run(const struct specimen *specimen, const struct bisect_options *options,
                struct bisect_result *result, struct error *err);
void bisect_result_finish(struct bisect_result *result);

#endif
