/* What a PJRT plugin's compiler is asked besides the program, written as a CompileOptionsProto.
 * Sources: xla/pjrt/proto/compile_options.proto, xla/pjrt/pjrt_executable.cc (ApplyOption). */
#ifndef HLO_PROTO_COMPILE_OPTIONS_H
#define HLO_PROTO_COMPILE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hlo/attr.h"

struct error;
struct shape;

/* A field of DebugOptions by name. XLA parses a value by the type of its field, but as a bool it
 * takes only true and false. */
struct compile_flag {
    const char *name, *value;
};

struct compile_options {
    int replica_count, partition_count;
    const int64_t *device_ids;  /* [replica * partition_count + partition] */
    bool use_spmd_partitioning; /* implied by several partitions: XLA knows no other way */
    /* May the partitioner choose the split of what has no sharding? A bool a parameter, and one for
     * the result or one for each of its elements; empty: no. */
    struct ints propagate_to_parameters, propagate_to_output;
    bool use_shardy_partitioner; /* shardings are Shardy's (xla.sdy.…) */
    bool run_backend_only;       /* the module is optimised already */
    bool alias_passthrough_params;
    bool tupled_parameter; /* the arguments are the elements of the one tuple parameter */
    int flag_count;
    const struct compile_flag *flags;
    /* The layouts that the entry keeps; NULL leaves them to the compiler, which then takes
     * descending ones, whatever the module says. */
    int parameter_count;
    const struct shape *const *parameter_shapes;
    const struct shape *result_shape;
};

/* The serialised message, malloc'ed. */
void *compile_options_write(const struct compile_options *options, size_t *size, struct error *err);

#endif
