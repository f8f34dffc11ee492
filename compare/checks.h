/* Checks that a program carries with it: the ops of StableHLO's check dialect, and probes.
 *
 * In HLO they are custom calls of the ops' names, which the golden hands to interp_options.on_check
 * with the values of their operands; what they demand is decided here.
 *   check.expect_eq, check.expect_eq_const       equal values; NaN equals NaN, +0 equals −0
 *   check.expect_almost_eq, …_const              |actual − expected| ≤ tolerance
 *   check.expect_close                           min ≤ units in the last place between them ≤ max
 *   check.expect_serialized_eq                   what a probe saw in a given iteration
 *   check.eq                                     equal integers; floats within 1e-4; gives a pred
 *   interpreter.probe, interpreter.print         keep, or show, the operand
 * The numbers stand in backend_config as JSON ({"tolerance": 1e-4}); a custom call that a program
 * wrote itself has none, and other defaults.
 * Sources: stablehlo/tests/CheckOps.td and .cpp, stablehlo/reference/Element.cpp
 * (areApproximatelyEqual), stablehlo/tools/StablehloTranslateMain.cpp. */
#ifndef COMPARE_CHECKS_H
#define COMPARE_CHECKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bound;
struct error;
struct instruction;
struct literal;
struct map;
struct text;

struct probe {
    char *id;
    int64_t iteration; /* how often this id was met before */
    struct literal *value;
};

/* What the checks of one evaluation said. */
struct checks {
    int64_t passed, failed;
    const struct instruction **failures; /* [failed], in order; one may be there more than once */
    struct text *pictures;               /* of those that failed, as lines of text */
    struct text *printed;                /* of interpreter.print; or NULL: dropped */
    size_t probe_count, probe_capacity;
    struct probe *probes;
    struct map *counts; /* id → how often it was met, as a pointer's bits; NULL: no probe yet */
};

/* Is that a custom call that checks_hear understands? */
bool checks_is_check(const struct instruction *call);
/* For interp_options.on_check. *holds: what the check says. False with *err when the call itself is
 * wrong (its operands, its configuration, a probe that never was). */
bool checks_hear(struct checks *checks, const struct instruction *call,
                 struct literal *const *operands, int count, bool *holds, struct error *err);
void checks_finish(struct checks *checks);
/* What a check of two operands allows between them, as literal_compare takes it; false for others.
 */
bool check_bound(const struct instruction *call, struct bound *bound);

#endif
