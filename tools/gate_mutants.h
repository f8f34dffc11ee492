/* The work of `referee gate --mutants`: what is the tester worth? Faults of every class are planted
 * in backends (backend/mutant.h), one a run, and what our comparison says of each is held against
 * whether it can be seen at all (compare/latitude.h); and beside it XLA's rule, on the same
 * outputs. Runs without a fault show the false alarms. */
#ifndef TOOLS_GATE_MUTANTS_H
#define TOOLS_GATE_MUTANTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/options.h"

struct mutants_options {
    struct string_list backends; /* instead of the literal golden and the manifests' */
    int64_t count;               /* faults to plant */
    int64_t clean;               /* runs without a fault, at least; 0 = one a case and backend */
    int64_t seed;                /* of arguments (this one and those after it) and of faults */
    int jobs;
    double slow;         /* seconds; what the golden takes longer for gets no faults */
    double goal;         /* per cent of the faults that can be seen; fewer is a finding */
    const char *json;    /* report file or NULL */
    const char *journal; /* keeps what is done, and goes on from there; NULL: none */
    bool verbose;        /* a line for each fault */
};

/* Paths are manifests (.yaml, .yml), module files and folders of them. Returns the exit status. */
int gate_mutants(const struct string_list *paths, const struct mutants_options *options);

#endif
