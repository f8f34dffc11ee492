/* The differential run: one module, inputs, the golden or another reference, a backend, a verdict.
 *
 * 1 inputs from the seed (or given) → 2 reference → 3 drawn again, tamer, while outputs are vacuous
 * → 4 backend → 5 compare within the tolerance → 6 unless the profile is strict, on a mismatch of
 * floats and on differences that are not far within the default tolerance: the golden under each
 * licence of the profile (flush to zero, excess precision, algebra, fast min/max …), and the
 * golden's own spread under allowed roundings. Agreement with a licensed evaluation is PASS with a
 * note, a spread as large as the difference INCONCLUSIVE (docs/tolerances.md). */
#ifndef COMPARE_DIFFERENTIAL_H
#define COMPARE_DIFFERENTIAL_H

#include "backend/backend.h"
#include "compare/compare.h"
#include "compare/inputs.h"
#include "compare/profile.h"
#include "compare/tolerance.h"

/* Seconds of the golden from which on a search begins in haste. */
#define HASTE_FROM 0.5

struct differential_options {
    struct input_options inputs;
    /* Given inputs, or NULL: one per parameter (every device gets the same), or one per device and
     * parameter (arguments[device * parameters + i]). */
    struct literal *const *arguments;
    int argument_count;
    int replica_count, partition_count; /* devices; 0 = as the module's header says */
    bool same_inputs;                   /* every device draws the same inputs */
    enum tolerance_kind tolerance;
    double abs_error_bound, rel_error_bound; /* TOLERANCE_XLA */
    const struct profile *profile;           /* NULL: by the backend's URI */
    int derived_samples;                     /* golden evaluations for spreads; 0 = 4 */
    int repeat; /* runs on the backend; differing ones are FLAKY; 0 = 1 */
    /* What is far beyond the default tolerance (in deep modules, where that is too wide: beyond
     * steps of the output) is a MISMATCH at once: neither licences nor spreads are asked, which
     * take many evaluations, if the reference has taken hasty_from seconds; nor is what few samples
     * of the spread say looked into by more. For searches that ask again at their end. */
    bool hasty;
    double hasty_from;
};

/* What became of one device of several. */
struct device_verdict {
    int replica, partition;
    enum outcome outcome; /* PASS, MISMATCH or INCONCLUSIVE */
    int64_t elements, mismatches, unspecified, undecided;
    double largest_ulps;
};

struct differential_result {
    enum outcome outcome;
    char *message; /* one line: why; "" on a plain PASS */
    char *picture; /* the mismatch picture; "" if there is none */
    char *notes;   /* one line each: licences used, inputs redrawn, elided constants … */
    bool hasty;    /* a MISMATCH without all that a verdict takes */
    uint64_t seed;
    int tameness;
    int replica_count, partition_count, device_count;
    struct device_verdict *devices; /* [device_count] if results were compared, else NULL */
    /* Of all devices' results as one (devices.h): leaves of device d follow those of d − 1. */
    struct comparison comparison;
    struct bound *bounds; /* per leaf, as applied */
    char *tolerance_text; /* what the tolerance was */
    struct run_result actual, reference;
    struct literal **arguments; /* those used, of all devices; owned */
    int argument_count;
};

void differential_run(const struct module *module, struct backend *backend,
                      struct backend *reference, const struct differential_options *options,
                      struct differential_result *result);
void differential_result_finish(struct differential_result *result);

/* --isolate: every instruction that is worth it, alone, on the golden's operand values, with the
 * per-op ulp bounds as they are. Calls `report` for each distinct one as it is judged. */
struct isolated {
    const struct instruction *instruction;
    enum outcome outcome;
    const char *message, *picture;
    double largest_ulps, allowed_ulps;
    int repeats; /* instructions of the module that are the same as this one */
};
bool isolate_run(const struct module *module, struct backend *backend,
                 const struct differential_options *options,
                 void (*report)(void *context, const struct isolated *isolated), void *context,
                 struct error *err);

#endif
