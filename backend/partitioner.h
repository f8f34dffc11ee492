/* XLA's partitioner: a plugin is asked to compile a module for several partitions and to dump what
 * comes out of its pass spmd-partitioning. */
#ifndef BACKEND_PARTITIONER_H
#define BACKEND_PARTITIONER_H

#include "backend/backend.h"
#include "backend/dumper.h"

struct partitioner {
    struct backend *backend; /* of the dumper */
    struct dumper dumper;
};

/* Opens the backend with flags that make it dump. False with *err as backend_open, or when no
 * temporary folder can be made. */
bool partitioner_open(const char *uri, const struct backend_options *options,
                      struct partitioner *partitioner, struct error *err);
void partitioner_close(struct partitioner *partitioner);

/* The module after the pass, owned by the caller; NULL with *outcome and a message. The executable
 * is kept: backend_run_pieces of the same module compiles nothing again. */
struct module *partitioner_partition(struct partitioner *partitioner, const struct module *module,
                                     int partition_count, enum outcome *outcome,
                                     struct text *message);

#endif
