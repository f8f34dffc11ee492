/* Tapes: loops compiled once and run without looking anything up.
 *
 * A while with its condition and body becomes a list of steps on numbered slots. Calls, fusions,
 * tuples and reshapes are dissolved, branches and inner loops become lists of their own. Small
 * arrays live in memory that belongs to their slot for as long as the tape lives, and small
 * arithmetic and data movement on them costs some nanoseconds; everything else is done by the
 * evaluators and clusters, as eval_computation would, with values dying at their last use.
 *
 * What does not change in a loop is not evaluated again: a pure instruction that depends only on
 * constants and on elements of the state that the body passes through keeps its value from the
 * first iteration that reaches it, up to some gigabytes.
 *
 * The results have the bits and marks of the steps one by one. Who observes or moves single values
 * gets no tape (control.c). */
#ifndef INTERP_TAPE_H
#define INTERP_TAPE_H

#include "interp/eval.h"

struct tape;

/* The tape of a while instruction; NULL when there is none (dynamic shapes, too many steps, no
 * memory). */
struct tape *tape_create(const struct instruction *loop);
void tape_destroy(struct tape *tape); /* NULL is allowed */
bool tape_is_running(const struct tape *tape);
/* The value of the while. Not for several threads at once, and not while it runs. */
struct literal *tape_run(struct tape *tape, struct evaluation *evaluation,
                         struct operands *operands, struct error *err);

#endif
