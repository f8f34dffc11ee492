/* Shrinking: the smallest module that still fails in the same way.
 *
 * Simplifications (hlo/shrink) are tried in the order of their table until none helps any more,
 * many places at once where they allow it (delta debugging). A candidate counts only if it verifies
 * and fails with the signature of the original. Whether it fails is asked of a test: a backend
 * against the golden, or a command. */
#ifndef COMPARE_SHRINK_H
#define COMPARE_SHRINK_H

#include "backend/backend.h"
#include "compare/differential.h"
#include "hlo/shrink/shrink.h"

/* How something fails. Candidates are held to all of it. */
struct failure_signature {
    enum outcome outcome;
    /* MISMATCH: what disagrees: "values", "NaN", "infinity", "shape"; what does not run: the words
     * of the message that names and numbers do not change. */
    char *kind;
};
void failure_signature_finish(struct failure_signature *signature);
/* The signature of a run; "PASS" when it did not fail. */
void failure_signature_of(const struct differential_result *result,
                          struct failure_signature *signature);
bool failure_signature_equal(const struct failure_signature *a, const struct failure_signature *b);
/* May a part that fails like `part` have the cause of a whole that fails like `whole`? What is
 * wrong in one way (NaN) further down may be wrong in another (values) where it begins, but a crash
 * is no wrong value. */
bool failure_signature_alike(const struct failure_signature *part,
                             const struct failure_signature *whole);
/* Is it a failure of the backend? Not PASS, VACUOUS, INCONCLUSIVE or UNSUPPORTED. */
bool failure_signature_fails(const struct failure_signature *signature);
/* "MISMATCH values", "CRASH Check failed: …" */
void failure_signature_print(const struct failure_signature *signature, struct text *out);

/* Does the specimen fail in the way that is wanted? `thread` is below the number of jobs: what
 * belongs to it is nobody else's at that time. */
typedef bool shrink_test(void *context, int thread, const struct specimen *specimen);

struct shrink_options {
    int jobs;       /* candidates tested at a time; 0 = 1 */
    double seconds; /* stop after that; 0 = no limit */
    shrink_test *test;
    /* A smaller specimen was found: keep it, show it. May be NULL. `by` is the simplification. */
    void (*on_progress)(void *context, const struct specimen *best, const char *by);
    /* Asked between candidates: stop now? May be NULL. */
    bool (*stopped)(void *context);
    void *context;
};

struct shrink_statistics {
    int64_t candidates, invalid, failing; /* made; of them not verified; failing in the same way */
    double seconds;
    bool complete; /* nothing more helps; false: time was over, or stopped */
};

/* Shrinks *specimen in place: whatever happens it fails as before and is no larger. */
void shrink_run(struct specimen *specimen, const struct shrink_options *options,
                struct shrink_statistics *statistics);

/* --- tests --- */

/* A backend against the golden on the specimen's arguments. */
struct shrink_backend_test {
    struct backend **backends, **references; /* [jobs] */
    struct differential_options differential;
    struct failure_signature signature; /* wanted */
    int runs, failures;                 /* fails if at least `failures` of `runs` do; 0 = 1 of 1 */
};
shrink_test shrink_test_backend; /* context: struct shrink_backend_test */
/* Seconds for a candidate, of an original that failed so in that many seconds: as many and room,
 * for it may go on for ever where the original did not; `timeout`, after which the original would
 * have been given up, where it hangs. */
double shrink_candidate_seconds(const struct failure_signature *signature, double seconds,
                                double timeout);

#endif
