/* Manifests: the cases of a suite, as YAML.
 *
 *   suite: NAME
 *   description: TEXT                       optional
 *   backends: [URI, …]                      default for all cases: ["cpu:"]
 *   cases:
 *     - name: NAME                          unique; default: the file's name without its ending
 *       file: PATH                          relative to the manifest
 *       description: TEXT                   optional
 *       seeds: [1, 2]                       default [1]
 *       tolerance: default                  default, derived, xla, bits
 *       timeout: 60                         seconds, optional
 *       expect:                             per backend URI; PASS where nothing is said
 *         "cpu:": {outcome: MISMATCH, reason: TEXT, until: 2027-06-30}
 *       quarantine: {reason: TEXT, until: 2027-06-30}
 *                                           optional: the case runs, but does not gate (until is
 *                                           optional, too: the last day)
 *
 * Unknown keys, wrong kinds and repeated names are errors with line and column. */
#ifndef CORPUS_MANIFEST_H
#define CORPUS_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "compare/differential.h"

struct error;

struct expectation {
    char *backend;
    enum outcome outcome;
    char *reason;
    char *until; /* "YYYY-MM-DD" or "" */
};

struct test_case {
    char *name, *file, *description;
    int line; /* in the manifest */
    int seed_count;
    int64_t *seeds;
    enum tolerance_kind tolerance;
    double timeout; /* 0 = the default */
    int expectation_count;
    struct expectation *expectations;
    struct expectation *quarantine; /* its reason and until; NULL = it gates */
};

struct manifest {
    char *path, *suite, *description;
    int backend_count;
    char **backends;
    int case_count;
    struct test_case *cases;
};

bool manifest_load(const char *path, struct manifest *manifest, struct error *err);
void manifest_finish(struct manifest *manifest);

/* The expectation for a backend, or NULL (PASS is expected). */
const struct expectation *case_expectation(const struct test_case *test, const char *backend);
/* Has `until` passed? today is "YYYY-MM-DD". */
bool expectation_expired(const struct expectation *expectation, const char *today);

#endif
