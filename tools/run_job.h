/* The work of `referee run` and `run_hlo_module`: modules × backends × iterations, by several
 * threads, reported in order. */
#ifndef TOOLS_RUN_JOB_H
#define TOOLS_RUN_JOB_H

#include "compare/differential.h"
#include "tools/options.h"

struct run_options {
    struct string_list backends; /* URIs; empty = cpu: */
    const char *reference;       /* URI; NULL = interp: */
    struct string_list inputs;
    struct string_list shapes; /* of arguments whose sizes an MLIR file leaves open */
    /* Modules are sent as backend.via_mlir says, and those that do not pass the other way too, to
     * name the side on which a difference appears. */
    bool names_side;
    int64_t iterations, seed, jobs;
    bool isolate, verbose, quiet, verify;
    size_t memory;    /* most bytes of the golden's values; 0 = a share of what is available */
    const char *json; /* report file or NULL */
    const char *save_literals; /* RunHloModuleLiterals of all iterations, or NULL */
    bool print_literals;
    struct backend_options backend;
    struct differential_options differential;
    char *repeat_options; /* those of the command line that a repeated run needs; owned */
    char *failing_options, *passes_options; /* see struct run_entry; owned, may be NULL */
};

/* Runs everything; prints to stdout. counts[outcome] and *unreadable are filled. Returns the exit
 * status. */
int run_files(const struct string_list *files, const struct run_options *options,
              size_t counts[OUTCOME_COUNT], size_t *unreadable);

#endif
