/* Shrinking as a command: what `shrink` and `hlo_bisect` share. */
#ifndef TOOLS_SHRINK_COMMAND_H
#define TOOLS_SHRINK_COMMAND_H

#include "compare/shrink.h"
#include "tools/failing.h"
#include "tools/progress.h"
#include "tools/shrink_script.h"

struct shrink_command {
    struct failing failing;
    const char *backend, *script, *output;
    const char *reference; /* URI; NULL: the golden */
    const char *folder;    /* for the output, named after the module; NULL: as `output` says */
    int64_t jobs, runs, failures;
    double seconds;
    bool resume, quiet;
    bool hasty; /* how the original fails is not known with all that a verdict takes */
    /* Of the work; zero before. */
    struct specimen specimen;
    struct shrink_backend_test test;
    struct script_test script_test;
    char *note;
    char *output_path; /* where it was written; free() it */
    struct progress progress;
    double start, candidate_timeout;
    int64_t longest_loop; /* iterations, of the original, on the golden or a fault in it */
};

/* Shrinks the module of the file, which is what fails (failing_set was called), and says so.
 * Returns the exit status of the command: EXIT_FINDINGS when it does not fail. */
int shrink_command_run(struct shrink_command *command, const char *path);

#endif
