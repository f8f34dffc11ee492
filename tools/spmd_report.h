/* What `referee spmd` says of one module: text for people, JSON for programs. */
#ifndef TOOLS_SPMD_REPORT_H
#define TOOLS_SPMD_REPORT_H

#include <jansson.h>

#include "compare/spmd.h"
#include "hlo/base/text.h"

struct spmd_entry {
    const char *module;  /* "file" or "file#3" */
    const char *backend; /* URI, or "" */
    const char *inputs;  /* where they came from */
    const char *command; /* that repeats this run */
    const char *passes;  /* the command that names the pass, without --partitions; "" = none does */
    int partition_count;
};

/* One line, and on anything else than PASS the picture of the side that parts, which device holds
 * the elements shown, notes, and the command that repeats the run. */
void spmd_report_text(const struct spmd_entry *entry, const struct spmd_result *result,
                      bool verbose, struct text *out);
json_t *spmd_report_json(const struct spmd_entry *entry, const struct spmd_result *result);

/* A module that never came so far: not readable, without shardings, not partitioned. */
void spmd_report_failed_text(const struct spmd_entry *entry, const char *outcome,
                             const char *problem, struct text *out);
json_t *spmd_report_failed_json(const struct spmd_entry *entry, const char *outcome,
                                const char *problem);

#endif
