/* What differs between two modules, instruction by instruction: the diff of one compiler pass.
 *
 * Instructions are matched by what they compute (opcode, attributes, matched operands) first, then
 * by name and place. What remains is removed from the old module or added by the new one; a matched
 * pair whose opcode, shape, attributes or operands differ is changed. Names, ids, metadata,
 * layouts, shardings, the configuration of backends (but for custom calls) and the order of
 * instructions are no differences.
 *
 * Fusions, calls and async computations are seen through: their parameters stand for the operands
 * of the instruction that calls them, so that grouping instructions, or moving one from one group
 * into another, changes nothing; which groups are new is told apart (regrouped). Bodies of loops,
 * branches, reducers and the like are matched through the instructions that call them.
 *
 * The time is that of sorting the instructions. */
#ifndef HLO_DIFF_H
#define HLO_DIFF_H

#include <stdbool.h>

#include "hlo/base/arena.h"

struct instruction;
struct module;
struct text;

enum diff_kind { DIFF_REMOVED, DIFF_ADDED, DIFF_CHANGED };
struct diff_entry {
    enum diff_kind kind;
    const struct instruction *old, *new; /* NULL on the side where there is none */
    /* Where in the new module, by ids: the new instruction itself, or what a removed one stood
     * before (one past the last: the end of the computation). */
    int computation, place;
};
struct diff {
    const struct module *old, *new; /* borrowed */
    int count;
    struct diff_entry
        *entries; /* in the order of the new module, removed ones beside their users */
    /* The old instruction that computes the same, NULL if there is none:
     * matches[computation id][instruction id] of the new module. For an instruction of a loop body,
     * branch or reducer: the same of the parameters. An instruction outside of all groups is
     * matched with the old group (fusion, call) whose result that value was, if there is one. */
    const struct instruction ***matches;
    /* The same where there is a match; else the old instruction in the place of this one: the other
     * one of a changed pair, or the same operation on operands that do not compute the same. */
    const struct instruction ***counterparts;
    bool layouts_only; /* the modules differ, but only in layouts, memory spaces or the schedule */
    /* Fusions, calls and async-starts of the new module that hold other instructions than any of
     * the old, and those of the old that are gone. */
    int regrouped_count, dissolved_count;
    const struct instruction **regrouped, **dissolved;
    struct arena arena; /* of the arrays above */
};
void diff_modules(const struct module *old, const struct module *new, struct diff *diff);
void diff_finish(struct diff *diff);
/* As a unified diff of instructions with the unchanged ones that are up to `context` operands or
 * users away. */
void diff_print(const struct diff *diff, int context, struct text *out);

#endif
