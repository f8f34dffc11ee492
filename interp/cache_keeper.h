/* The computation made of what a graph's result needs (cache_run.c), and its steps while it runs
 * (cache_steps.c). Private to them. */
#ifndef INTERP_CACHE_KEEPER_H
#define INTERP_CACHE_KEEPER_H

#include "interp/cache.h"

struct deferred;

struct keeper {
    struct graph graph;
    struct module module; /* the evaluation's with one computation more */
    struct computation made;
    size_t capacity;
    struct node **nodes; /* [made.count] the node that an instruction computes, or NULL */
    const struct instruction **origins; /* [made.count] */
    size_t node_capacity, origin_capacity;
    struct literal **arguments; /* of made, owned */
    size_t argument_count, argument_capacity;
    struct node **wanted; /* elements of made's root: parts of the result, and what has effects */
    size_t wanted_count, wanted_capacity;
    struct twin twin; /* of the instruction that is being evaluated */
    bool has_twin;
    size_t next; /* nodes before it are settled */
    bool any;    /* is there something to evaluate? */
    int64_t evaluated;
    struct deferred **deferred; /* [made.count], by instruction: its value if it is put off */
};

/* Lets go of what is still put off. */
void keeper_finish_deferred(struct keeper *keeper);

#endif
