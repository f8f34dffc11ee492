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
 *       backends: [URI, …]                  default: those of the suite
 *       tolerance: default                  default, derived, xla, bits
 *       profile: strict                     what the backend may do; default: told by its URI
 *       poison: true                        fill the memory that the backend allocates: what is
 * read without having been written shows timeout: 60                         seconds, optional
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
    int backend_count; /* 0 = the manifest's */
    char **backends;
    enum tolerance_kind tolerance;
    const struct profile *profile; /* NULL = by the backend's URI */
    bool poison;
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
/* The same of a text that would stand in the file. */
bool manifest_read(const char *path, const char *text, size_t size, struct manifest *manifest,
                   struct error *err);
void manifest_finish(struct manifest *manifest);

/* The text of a manifest without cases. No backends: the default ones. Owned by the caller. */
char *manifest_begin(const char *suite, const char *const *backends, size_t backend_count);
/* The text of a manifest with a case more, behind the last one; everything else keeps its bytes. It
 * has been read again and says what was meant. `added` has its file relative to the manifest, which
 * must exist; name NULL or "" = told by the file. Owned by the caller; NULL with *err, with the
 * place when the list of cases has no lines of its own. */
char *manifest_with_case(const char *path, const char *text, size_t size,
                         const struct test_case *added, struct error *err);

/* The expectation for a backend, or NULL (PASS is expected). */
const struct expectation *case_expectation(const struct test_case *test, const char *backend);
/* Has `until` passed? today is "YYYY-MM-DD". */
bool expectation_expired(const struct expectation *expectation, const char *today);

#endif
