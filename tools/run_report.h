/* What `referee run` says of one module on one backend: text for people, JSON for programs. */
#ifndef TOOLS_RUN_REPORT_H
#define TOOLS_RUN_REPORT_H

#include <jansson.h>

#include "compare/differential.h"
#include "hlo/base/text.h"

/* One run to report. */
struct run_entry {
    const char *module; /* "file" or "file#3" */
    const char *backend, *reference;
    const char *inputs; /* where they came from */
    int iteration;
    const char *command; /* that repeats this run; NULL: nothing does */
    double timeout;      /* seconds it was given */
    /* The run's options as `bisect` and `shrink` take them, and as `passes` does; NULL: they do not
     * take them. */
    const char *failing_options, *passes_options;
};

/* One line ("PASS  file  cpu:  …"), and on anything else than PASS the picture, the notes and the
 * command that repeats the run. `verbose` also shows notes and times of what passed. */
void report_text(const struct run_entry *entry, const struct differential_result *result,
                 bool verbose, struct text *out);
/* A new JSON object. */
json_t *report_json(const struct run_entry *entry, const struct differential_result *result);

/* A module that could not be read or verified. */
void report_unread_text(const char *module, const char *problem, struct text *out);
json_t *report_unread_json(const char *module, const char *problem);

#endif
