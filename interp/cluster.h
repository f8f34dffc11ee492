/* Clusters: elementwise instructions evaluated together, strip by strip, so that what lies between
 * them never goes to memory.
 *
 * A cluster is a set of instructions of one computation with equally many elements: elementwise
 * ones, and reshapes, which change nothing. All but its root are read inside the cluster only. It
 * reads its inputs as they are or through views: scalars repeated, broadcasts along one or two runs
 * of dimensions of the operand, iota. Its result has the same bits as the instructions one by one.
 * Where that takes more than arithmetic (marks of unspecified elements, signalling NaNs in floats
 * that are converted on loading), the instructions are evaluated one by one after all. */
#ifndef INTERP_CLUSTER_H
#define INTERP_CLUSTER_H

#include "interp/eval.h"

struct cluster;

/* The clusters of a computation. */
struct clusters {
    int count;              /* of the computation's instructions */
    struct cluster **roots; /* [count] the cluster whose root the instruction is, or NULL */
    bool *inside; /* [count] nobody needs the value by itself: it is not to be evaluated */
};

/* Those of at least `least` elements, of instructions that may join (may_join NULL: all). NULL if
 * there is none. */
struct clusters *clusters_find(const struct computation *computation, int64_t least,
                               bool (*may_join)(const struct instruction *));
void clusters_destroy(struct clusters *clusters); /* NULL is allowed */

/* Elementwise, on types and with results that need nothing but arithmetic? */
bool cluster_is_elementwise(const struct instruction *instruction);

/* Floats of a type that is converted on loading: signalling NaNs among them would become quiet ones
 * in doubles. */
bool cluster_has_signalling(enum type type, const void *elements, int64_t count);

/* The instructions whose values cluster_run wants as operands. */
int cluster_input_count(const struct cluster *cluster);
const struct instruction *cluster_input(const struct cluster *cluster, int i);

/* How many instructions it stands for, and those that it looks through. */
int cluster_size(const struct cluster *cluster);
const struct instruction *cluster_member(const struct cluster *cluster, int i);

/* The value of the root. Not for several threads at once. */
struct literal *cluster_run(struct cluster *cluster, struct evaluation *evaluation,
                            struct operands *operands, struct error *err);

#endif
