/* One dumped module walked and reported: what `referee passes` does for each. */
#ifndef TOOLS_PASSES_JOB_H
#define TOOLS_PASSES_JOB_H

#include <jansson.h>

#include "tools/arguments.h"
#include "tools/passes_report.h"

/* What the command line asks for, and what came of it. */
struct passes_job {
    struct passes_options options; /* arguments are those of each module, found here */
    struct string_list inputs;     /* --inputs */
    const char *profile;           /* NULL: by the backend, or by what the dump was made for */
    const char *from, *to, *blame, *report;
    bool seed_given, every, quiet, verbose;
    json_t *json;        /* an array */
    struct text html;    /* sections of the page */
    bool wants_html;     /* else html is left empty */
    char *report_source; /* the module whose finding the bug report is of; NULL: none yet */

    int walked, findings, unchecked, unreadable;
    bool cannot_write;
};

/* Where dumped modules come from. */
struct passes_origin {
    const char *path;    /* as on the command line: a dump folder or a module */
    const char *command; /* that repeats this, without --module */
    const char *backend, *target, *plugin, *flags; /* "" of a dump folder */
    const struct loaded_module *source;            /* the module that was compiled; or NULL */
    enum outcome compile;
    const char *compile_message;
    bool several; /* modules in the dump: then a command must name one */
};

/* Walks one module of a dump, or with --blame prints the diffs of one pass. Prints as it goes. */
void passes_job_run(struct passes_job *job, const struct passes_origin *origin,
                    const struct dump_module *module);
/* Nothing was dumped, or nothing could be read: says so in every form. `outcome` is "UNREADABLE" or
 * that of the compile. */
void passes_job_failed(struct passes_job *job, const struct passes_origin *origin,
                       const char *outcome, const char *problem);

#endif
