/* The work of `referee gate`: cases × backends × seeds, by several threads; what is in the journal
 * already is not run again. */
#ifndef TOOLS_GATE_JOB_H
#define TOOLS_GATE_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include "corpus/gate_report.h"
#include "tools/options.h"

struct error;
struct manifest;

struct gate_options {
    struct string_list backends; /* instead of the manifests', if any */
    int jobs;
    int shard, shard_count; /* cases whose position leaves the remainder shard − 1 */
    const char *journal;    /* NULL = none */
    bool verbose;           /* also print what is as expected */
    char today[16];         /* "YYYY-MM-DD" */
};

/* Runs all cases and fills the report in the order of the manifests; prints a line a run that is
 * not as expected (or a run), with what it has to say. False with *err when a backend cannot be
 * opened or the journal not written; the report then has what was done. */
bool gate_run(const struct manifest *manifests, size_t count, const struct gate_options *options,
              struct gate_report *report, struct error *err);

#endif
