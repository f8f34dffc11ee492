/* Several devices as one: a module on a grid of replicas × partitions has, to whoever compares, one
 * result, which is that of its device, or with more than one device a tuple of all their results in
 * order. So bounds, licences, spreads and comparisons need not know about devices: the leaves of
 * device d are those from d · (leaves of one) on. */
#ifndef COMPARE_DEVICES_H
#define COMPARE_DEVICES_H

#include <stdbool.h>

struct error;
struct interp_options;
struct literal;
struct module;

/* The results of all devices as one (owned by the caller; they are shared, not copied). */
struct literal *devices_join(struct literal *const *results, int count);

/* The golden on the devices that interp->replica_count and partition_count name (0 = one), joined.
 * arguments[device * n + i], argument_count = devices * n. NULL with *err. */
struct literal *devices_evaluate(const struct module *module, struct literal *const *arguments,
                                 int argument_count, const struct interp_options *interp,
                                 struct error *err);

/* Can the devices of a run differ by more than their arguments? True when the module holds a
 * collective, a device's number or a transfer between devices; if not, any device stands for all.
 */
bool devices_matter(const struct module *module);

#endif
