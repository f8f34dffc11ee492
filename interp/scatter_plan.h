/* Contributions to the elements of an array: what scatter and select-and-scatter share. Private to
 * the evaluators.
 *
 * Contribution (s, w) takes element update_start[s] + update_offset[w] of the updates to element
 * start[s] + offset[w] of the array, and is dropped where start[s] is −1. They come in the order of
 * s, then w. */
#ifndef INTERP_SCATTER_PLAN_H
#define INTERP_SCATTER_PLAN_H

#include "interp/eval.h"
#include "interp/program.h"

struct scatter_plan {
    int64_t places, window;          /* s < places, w < window */
    int64_t *start, *update_start;   /* [places] */
    int64_t *offset, *update_offset; /* [window] */
};

bool scatter_plan_create(struct scatter_plan *plan, int64_t places, int64_t window,
                         struct error *err);
void scatter_plan_finish(struct scatter_plan *plan);

/* Walks through the contributions that are not dropped. */
struct scatter_cursor {
    int64_t s, w;
    uint64_t calls;
};
/* The next ones, at most `most`: targets[i], sources[i]. Returns how many; 0 at the end, and when
 * the work is to stop (poll.h). */
int64_t scatter_next(const struct scatter_plan *plan, struct scatter_cursor *cursor, int64_t most,
                     int64_t *targets, int64_t *sources);

/* results[i] (the operands, owned) each take their contributions updates[i] by the program: inputs
 * are results then updates, or updates then results if `swapped`. The program's types are those of
 * the arrays. Sums of floats are exact: the operand and all contributions, rounded once. */
bool scatter_apply(const struct scatter_plan *plan, const struct program *program, bool swapped,
                   enum fidelity fidelity, struct literal *const *results,
                   struct literal *const *updates, int count, struct error *err);

/* scatter_rows.c: windows that are runs of memory on both sides, long enough to be worth it. */
bool scatter_is_rows(const struct scatter_plan *plan);
/* Every row in order: result = step(result, update), or overwritten if step is NULL. The type is
 * native (lane_is_native) or there is no step. */
void scatter_rows(const struct scatter_plan *plan, const struct lane_step *step,
                  struct literal *result, const struct literal *updates);
/* Exact sums if rows coincide or lie apart; otherwise *done is false. */
bool scatter_sum_rows(const struct scatter_plan *plan, struct literal *result,
                      const struct literal *updates, bool *done, struct error *err);

/* scatter_sum.c: the exact sums. */
bool scatter_sum(const struct scatter_plan *plan, struct literal *result,
                 const struct literal *updates, struct error *err);

#endif
