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
/* Writes arguments into a request: counts, then each leaf, in the layout of its parameter if
 * `keep_layouts`. The literals are borrowed until the
 * request is sent. False with words when a leaf cannot be passed. */
bool arguments_write(const struct backend_job *job, bool keep_layouts, struct parcel_writer *writer,
                     struct text *message);
/* Reads outputs of a reply into result->outputs. False when the reply does not fit the module. */
bool outputs_read(const struct backend_job *job, struct parcel_reader *reader,
                  struct run_result *result, struct error *err);

#endif
