/* Private to cluster*.c. */
#ifndef INTERP_CLUSTER_INTERNAL_H
#define INTERP_CLUSTER_INTERNAL_H

#include "interp/cluster.h"
#include "interp/program.h"

enum { CLUSTER_MAX_MEMBERS = 256, CLUSTER_MAX_VIEWS = 64 };

/* An input of the program: lane i is element (i / quotient) mod period of the operand, or, of an
 * iota, that number itself. An operand may have several such periods, `outer` of them, which follow
 * each other when one has been repeated `gap` times. */
struct cluster_view {
    const struct instruction *source; /* the operand, or the iota */
    int input;                        /* number of the operand; −1 for an iota */
    enum type type;
    int64_t quotient, period, gap, outer;
};

struct cluster {
    const struct instruction *root;
    int64_t elements;
    int member_count, view_count, input_count;
    /* In order: elementwise instructions and reshapes, and the broadcasts and iotas that views look
     * through, for evaluation one by one. */
    const struct instruction **members;
    struct cluster_view *views;        /* inputs of the program */
    const struct instruction **inputs; /* distinct */
    struct program *program;
    struct program_frame *spare; /* an idle frame */
    bool narrow;                 /* a view's floats are converted on loading */
};

/* cluster_evaluate.c: the members one by one. */
struct literal *cluster_evaluate(const struct cluster *cluster, struct evaluation *evaluation,
                                 struct operands *operands, struct error *err);

#endif
