/* A command as the test of a shrinker: it is given a file and fails, or not. */
#ifndef TOOLS_SHRINK_SCRIPT_H
#define TOOLS_SHRINK_SCRIPT_H

#include "compare/shrink.h"

struct script_test {
    const char *command; /* for the shell; the file is its last word */
    const char *folder;  /* for candidates */
    double timeout;      /* seconds */
    int status;          /* wanted: of the original */
};

/* How the command ended. */
enum { SCRIPT_TIMEOUT = 1000, SCRIPT_SIGNAL = 2000 };
/* 0: it does not fail; an exit status; SCRIPT_SIGNAL + a signal; SCRIPT_TIMEOUT; −1: it could not
 * be started, with *err. */
int script_run(const struct script_test *test, int thread, const struct specimen *specimen,
               struct error *err);
shrink_test shrink_test_script; /* context: struct script_test */

/* The specimen as HLO text after "//@" lines with its arguments and a note (a line each, "" =
 * none). */
void specimen_print(const struct specimen *specimen, const char *note, struct text *out);
/* The same to a file, whole or not at all. */
bool specimen_write(const struct specimen *specimen, const char *note, const char *path,
                    struct error *err);

#endif
