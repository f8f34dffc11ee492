/* `referee gate MANIFEST --add MODULE`: a finding becomes a case of a suite. */
#ifndef TOOLS_GATE_ADD_H
#define TOOLS_GATE_ADD_H

#include "tools/gate_job.h"
#include "tools/options.h"

/* From the command line. */
struct gate_add {
    const char *module; /* NULL: nothing is added */
    const char *name, *reason, *until, *profile;
    bool pass, poison;
    int64_t seed;
};

/* Its rows of a table of options. */
#define GATE_ADD_OPTIONS(add)                                                                     \
    {"add",          0,        OPTION_TEXT,                                                       \
     &(add)->module, "MODULE", "run it and make a case of it, with what it does as expectation"}, \
        {"name",                                                                                  \
         0,                                                                                       \
         OPTION_TEXT,                                                                             \
         &(add)->name,                                                                            \
         "NAME",                                                                                  \
         "--add: the case's name (default: that of its \"//@ case\" line or of the file)"},       \
        {"reason",       0,      OPTION_TEXT,                                                     \
         &(add)->reason, "TEXT", "--add: what is wrong; needed for what does not pass"},          \
        {"until",       0,      OPTION_TEXT,                                                      \
         &(add)->until, "DATE", "--add: the expectation's last day, YYYY-MM-DD"},                 \
        {"pass", 0, OPTION_FLAG, &(add)->pass, NULL, "--add: take a module that passes"},         \
        {"profile",       0,      OPTION_TEXT,                                                    \
         &(add)->profile, "NAME", "--add: what the backend may do in this case"},                 \
    {                                                                                             \
        "poison", 0, OPTION_FLAG, &(add)->poison, NULL, "--add: run the case on poisoned memory"  \
    }

/* Runs the module on options->backends (if none are given, on the suite's), writes it into the
 * folder of the manifest with its arguments and the golden's results, and adds the row. The gate
 * then runs that case and fills the report; unless all is as expected, both files are as they were.
 * Prints what it did. The exit status: EXIT_FINDINGS when it is there already, passes, or does
 * nothing that could be expected. */
int gate_add(const struct gate_add *add, const struct gate_options *options, const char *manifest,
             struct gate_report *report);

#endif
