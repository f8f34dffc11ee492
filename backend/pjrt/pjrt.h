/* The parts of the pjrt backend that run in the tester. */
#ifndef BACKEND_PJRT_PJRT_H
#define BACKEND_PJRT_PJRT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct backend_job;
struct error;
struct module;
struct parcel_reader;
struct parcel_writer;
struct run_result;
struct shape;
struct text;

/* PJRT passes parameters and results as lists of arrays, and XLA's CPU client takes a tuple only as
 * the one parameter or as the result, and nothing nested in it; nor does it pass tokens. Does the
 * module need another entry?
 */
bool module_needs_flat_entry(const struct module *module);
/* Gives the module an entry that takes the leaves of the parameters, calls the old entry, and gives
 * the leaves of its result. A token among the parameters is made there. */
bool module_flatten_entry(struct module *module, struct error *err);
/* XLA's compilers run the partitioner whenever there are several partitions. It leaves alone what
 * is marked as manual, as its own output must be when it is compiled again: without marks it would
 * refuse partition-id and take collectives for those of a whole program. Starts and dones become
 * the operations they are halves of (but for async-start …), which is what XLA's CPU makes of them.
 * Source: xla/tools/multihost_hlo_runner/functional_hlo_runner.cc (an already partitioned module).
 */
void module_mark_manual(struct module *module);
/* Is the module the partitioner's output (or needs it none)? Its parameters may have kept their
 * shardings, but it knows partitions without being marked as manual, or has no shardings at all. */
bool module_is_partitioned(const struct module *module);
/* Releases ignore the fields of a module that are younger than they are: what means something is
 * said here as it always was. Replica groups become lists. False when they contradict each other.
 */
bool module_say_as_ever(struct module *module, struct error *err);
/* Writes arguments into a request: counts, then each leaf, in the layout of its parameter if
 * `keep_layouts`. The literals are borrowed until the
 * request is sent. False with words when a leaf cannot be passed. */
bool arguments_write(const struct backend_job *job, bool keep_layouts, struct parcel_writer *writer,
                     struct text *message);
/* Reads outputs of a reply into result->outputs. False when the reply does not fit the module. */
bool outputs_read(const struct backend_job *job, struct parcel_reader *reader,
                  struct run_result *result, struct error *err);

#endif
