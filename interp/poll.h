/* How a long operation finds out that the evaluation is to stop (interp_options.cancelled).
 *
 * An evaluator calls poll_begin and poll_end around its work. What works below it takes
 * poll_current() on the thread that called it, hands it to the threads it works with, and has each
 * ask poll_stopped every few milliseconds; once that is true, it leaves off and fails. */
#ifndef INTERP_POLL_H
#define INTERP_POLL_H

#include <stdatomic.h>
#include <stdbool.h>

struct error;
struct interp_options;

struct poll {
    bool (*cancelled)(void *context);
    void *context;
    atomic_bool stopped;
    atomic_flag asking; /* one thread at a time asks */
    struct poll *outer;
};

/* Makes *poll the calling thread's; poll_end restores the one before. False with *err
 * (DEADLINE_EXCEEDED, first of all errors) when the work was stopped. */
void poll_begin(struct poll *poll, const struct interp_options *options);
bool poll_end(struct poll *poll, struct error *err);

/* The calling thread's; may be NULL, as may the arguments below. */
struct poll *poll_current(void);
/* Sets the calling thread's, and returns the one before: for the threads of a pool. */
struct poll *poll_swap(struct poll *poll);

/* Whether to stop. From any thread. */
bool poll_stopped(struct poll *poll);
/* Fails with DEADLINE_EXCEEDED if the work was stopped; else true. */
bool poll_check(const struct poll *poll, struct error *err);

#endif
