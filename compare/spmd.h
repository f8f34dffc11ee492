/* The SPMD referee: does a partitioned module do what the module does that it was made from?
 *
 * The whole module runs on the golden (a); its partitioned form runs on N devices of the golden,
 * with arguments split and results put together by the shardings (c); a backend partitions,
 * compiles and runs it itself on N devices (d). c ≠ a: the partitioner did wrong; c = a and d ≠ a:
 * what came after it. */
#ifndef COMPARE_SPMD_H
#define COMPARE_SPMD_H

#include "backend/pieces.h"
#include "compare/differential.h"

struct spmd_options {
    struct differential_options differential; /* replica_count, partition_count are set here */
    int partition_count;                      /* of the partitioned form */
    enum padding_fill padding;
    double timeout; /* seconds for one run on the golden; 0 = 60 */
};

/* Who parts from the golden. */
enum spmd_culprit {
    SPMD_NOBODY,
    SPMD_PARTITIONER,
    SPMD_COMPILER, /* whatever comes after the partitioner */
    SPMD_BOTH,
};
const char *spmd_culprit_text(enum spmd_culprit culprit);

struct spmd_result {
    enum outcome outcome;
    enum spmd_culprit culprit;
    char *message; /* one line; "" on a plain PASS */
    bool has_simulated, has_executed;
    struct differential_result simulated; /* c against a */
    struct differential_result executed;  /* d against a */
    bool agree; /* with a mismatch of both: d and c agree within the tolerance */
    struct piece_conflict simulated_conflict, executed_conflict;
    struct piece_plan plan; /* of the partitioned module */
};

/* `partitioned` is the module after partitioning; its shardings are taken out of it. `backend` runs
 * d: the whole module, which it partitions itself (PIECES_WHOLE), or `partitioned`; NULL: no d. The
 * modules and the backend outlive the result. */
void spmd_run(const struct module *module, struct module *partitioned, struct backend *backend,
              enum pieces_program program, const struct spmd_options *options,
              struct spmd_result *result);
void spmd_result_finish(struct spmd_result *result);

/* Who holds an element of an output leaf: "device 3" (the first that does), "every device". */
void spmd_owner(const struct spmd_result *result, int leaf, int64_t element, struct text *out);

/* How many partitions: the module's own count if it has one, else that of its first sharding that
 * says; 1 if none does. */
int64_t spmd_partition_count(const struct module *module);

#endif
