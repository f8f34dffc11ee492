/* How a long operation finds out that the evaluation is to stop (interp_options.cancelled).
 *
 * Whoever calls an evaluator calls poll_begin before and poll_end after it, which drops the result
 * of work that was stopped. So what works below may leave off in the middle, with elements of its
 * result not written, as long as nothing it goes on with (indices, sizes) is left unwritten too. It
 * works in poll_for, asks poll_now in a loop that is long on its own, or takes poll_current() on
 * the thread that called it, hands it to the threads it works with, and has each ask poll_stopped
 * every few milliseconds. */
#ifndef INTERP_POLL_H
#define INTERP_POLL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hlo/base/pool.h"

struct error;
struct interp_options;
struct literal;

struct poll {
    bool (*cancelled)(void *context);
    void *context;
    atomic_bool stopped;
    atomic_flag asking; /* one thread at a time asks */
    struct poll *outer;
};

/* Makes *poll the calling thread's. */
void poll_begin(struct poll *poll, const struct interp_options *options);
/* Restores the one before. The value (may be NULL), which it takes; NULL with *err
 * (DEADLINE_EXCEEDED, instead of any other error) when the work was stopped. */
struct literal *poll_end(struct poll *poll, struct literal *value, struct error *err);

/* The calling thread's; may be NULL, as may the arguments below. */
struct poll *poll_current(void);
/* Sets the calling thread's, and returns the one before: for the threads of a pool. */
struct poll *poll_swap(struct poll *poll);

/* Whether to stop. From any thread; it costs some tens of nanoseconds. */
bool poll_stopped(struct poll *poll);
/* The same of the calling thread's. */
bool poll_now(void);
/* Fails with DEADLINE_EXCEEDED if the work was stopped; else true. */
bool poll_check(const struct poll *poll, struct error *err);

/* pool_for, in pieces of some milliseconds, between which it stops; in each the poll is the calling
 * thread's. False when it was stopped: then the function has not seen all of the range. */
bool poll_for(int64_t count, int64_t grain, pool_function *function, void *context);

#endif
