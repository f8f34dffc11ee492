/* Profiles of evaluations: time and bytes of each instruction, as a table and as a trace.
 *
 * A profile hears of spans (interp_options.on_span), nested as computations are. The time of an
 * instruction by itself is that of its spans without the spans inside. */
#ifndef TOOLS_PROFILE_H
#define TOOLS_PROFILE_H

#include <stdbool.h>
#include <stdio.h>

#include "interp/interp.h"

struct profile;

/* traced: spans are kept for profile_write_trace. */
struct profile *profile_create(bool traced);
void profile_destroy(struct profile *profile); /* NULL is allowed */
/* To be called from on_span. Each thread has spans of its own. */
void profile_span(struct profile *profile, const struct interp_span *span, bool ends);
/* Prints the instructions that took longest, then all by opcode and by computation. name: of the
 * module. */
void profile_print(const struct profile *profile, const char *name, FILE *out);
/* Writes the spans as a trace that chrome://tracing and Perfetto open: one complete event for each,
 * by thread. Of an instruction that runs often only the first spans are there. False, with a
 * message, when the file cannot be written. */
bool profile_write_trace(const struct profile *profile, const char *path);

#endif
