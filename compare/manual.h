/* Manual regions: where a module takes its partitions into its own hands (JAX's shard_map).
 *
 * Between SPMDFullToShardShape and SPMDShardToFullShape (or xla.sdy.GlobalToLocalShape and
 * LocalToGlobalShape) each device computes on its own part, with collectives that name devices, and
 * the shapes are those of parts. Such a module means something only on all its devices. Here it is
 * rewritten so that it can be evaluated: it runs on every device with whole arguments, outside of
 * the regions every device computes the same whole arrays, at the entrance each takes its part, and
 * at the exit the parts of all are put together. */
#ifndef COMPARE_MANUAL_H
#define COMPARE_MANUAL_H

#include <stdbool.h>

struct error;
struct module;

bool module_has_manual_regions(const struct module *module);

/* The rewritten copy, for partition_count partitions; owned by the caller. NULL with *err. */
struct module *module_lower_manual_regions(const struct module *module, int partition_count,
                                           struct error *err);

#endif
