/* A module in pieces: whole arguments are split over the devices by shardings, each device runs
 * its part, and the whole result is put together again. So a partitioned module is a backend like
 * any other for whoever compares: it takes and gives what the module does that it was made from.
 * One replica. */
#ifndef BACKEND_PIECES_H
#define BACKEND_PIECES_H

#include "backend/backend.h"
#include "hlo/sharding.h"

/* Which leaves are split how. */
struct piece_plan {
    const struct module *whole, *partitioned; /* borrowed */
    int partition_count;
    struct tiling *parameters; /* of the leaves of all parameters, in order */
    int parameter_leaf_count;
    struct tiling *results; /* of the leaves of the result */
    int result_leaf_count;
};

/* The shardings are those that stand in the partitioned module (at its entry's parameters and root,
 * else in its header), else those of the whole one; what has none is replicated. INVALID_ARGUMENT
 * where the tiles are not what the partitioned module takes and gives, naming the parameter. */
bool piece_plan_make(const struct module *whole, const struct module *partitioned,
                     int partition_count, struct piece_plan *plan, struct error *err);
/* Likewise, with everything replicated: `partitioned` runs on several devices, but each takes and
 * gives whole arrays. */
bool piece_plan_make_replicated(const struct module *whole, const struct module *partitioned,
                                int partition_count, struct piece_plan *plan, struct error *err);
void piece_plan_finish(struct piece_plan *plan);

enum pieces_program {
    PIECES_PARTITIONED, /* `inner` runs plan->partitioned on all devices */
    PIECES_WHOLE,       /* `inner` is given plan->whole and partitions it itself */
};

/* A backend that runs plan->whole so. `inner` and `plan` are borrowed. */
struct backend *backend_in_pieces(struct backend *inner, const struct piece_plan *plan,
                                  enum pieces_program program, enum padding_fill fill);

/* Replicas that did not agree in the last run of such a backend. */
struct piece_conflict {
    int leaf; /* of the result */
    struct replica_conflict conflict;
};
/* The first leaf in which they differ; conflict.count 0 if they agreed. */
struct piece_conflict backend_piece_conflict(const struct backend *backend);

#endif
