/* The results of a differential run: bounds, licensed evaluations, spreads; the verdict on each
 * device. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/devices.h"
#include "compare/differential_internal.h"
#include "compare/licence.h"
#include "compare/rewrite.h"
#include "compare/tolerance.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/interp.h"

enum { DEFAULT_SAMPLES = 4, SAMPLES_IN_DOUBT = 16 };
/* The part of a default bound within which nothing else is asked, but no more than
 * bounds_steps_at_once. */
static const double near_part = 1.0 / 32;
/* The part beyond which a hasty run asks nothing else: of a default bound, or where that is too
 * wide for near_part of one as narrow as to have it within bounds_steps_at_once. */
static const double far_part = 64;
/* Parts of what few samples allow between which more samples are taken. */
static const double doubt_from = 0.5, doubt_to = 4;

/* --- comparing --- */

static struct interp_options golden_options(const struct differential_run *run)
{
    return (struct interp_options){.seed = run->options->inputs.seed,
                                   .replica_count = run->result->replica_count,
                                   .partition_count = run->result->partition_count};
}

/* An element's own bound may be all that there is. */
static bool derive(struct differential_run *run, const struct literal *reference,
                   struct bound *bounds, int samples)
{
    struct error err = {0};
    const struct differential_result *result = run->result;
    samples = run->options->derived_samples > 0 ? run->options->derived_samples : samples;
    struct interp_options interp = golden_options(run);
    if (!bounds_derived(run->module, run->profile, result->arguments, result->argument_count,
                        samples, run->options->inputs.seed, &interp, reference, bounds, &err)) {
        differential_note(run, "no derived bounds: %s", err.message);
        return false;
    }
    return true;
}

static void default_bounds(struct differential_run *run, const struct profile *profile,
                           struct bound *bounds)
{
    for (int d = 0; d < run->devices; d++) {
        text_clear(&run->tolerance);
        bounds_default(run->module, profile, run->result->reference.outputs[d],
                       bounds + (ptrdiff_t)d * run->leaves, &run->tolerance);
    }
}

/* What suffices alone, of the default bounds. */
static void set_near(const struct differential_run *run, const struct literal *reference,
                     struct bound *bounds)
{
    for (int i = 0; i < run->devices * run->leaves; i++) {
        double steps = bounds_steps_at_once(literal_leaf(reference, i)->shape->type);
        bounds[i].near = fmin(near_part, steps / bounds[i].ulps);
    }
}

/* `reference` and bounds are those of all devices. */
static void initial_bounds(struct differential_run *run, const struct literal *reference,
                           struct bound *bounds)
{
    const struct differential_options *options = run->options;
    int count = run->devices * run->leaves;
    text_clear(&run->tolerance);
    switch (options->tolerance) {
    case TOLERANCE_DEFAULT:
        default_bounds(run, run->profile, bounds);
        set_near(run, reference, bounds);
        break;
    case TOLERANCE_DERIVED:
        default_bounds(run, profile_find("strict"), bounds);
        text_clear(&run->tolerance);
        derive(run, reference, bounds, DEFAULT_SAMPLES);
        for (int i = 0; i < count; i++) {
            bounds[i].zeros_equal = run->profile->algebra;
            bounds[i].flush_subnormals = run->profile->flush_subnormals;
        }
        text_printf(&run->tolerance, "derived, profile %s", run->profile->name);
        break;
    case TOLERANCE_XLA:
        for (int i = 0; i < count; i++) {
            bounds[i] = (struct bound){
                .abs = options->abs_error_bound, .rel = options->rel_error_bound, .xla_rule = true};
        }
        text_printf(&run->tolerance, "XLA's rule, abs %g or rel %g", options->abs_error_bound,
                    options->rel_error_bound);
        break;
    case TOLERANCE_BITS:
        memset(bounds, 0, (size_t)count * sizeof *bounds);
        text_append(&run->tolerance, "bit-equal");
        break;
    }
}

/* Leaves that come from factorizations: by what they must satisfy, whatever their elements are. */
static void judge_factorizations(struct differential_run *run)
{
    struct differential_result *result = run->result;
    if (run->options->tolerance != TOLERANCE_DEFAULT &&
        run->options->tolerance != TOLERANCE_DERIVED) {
        return;
    }
    int count = run->module->entry->parameter_count;
    for (int d = 0; d < run->devices; d++) {
        struct error err = {0};
        struct interp_options interp = {.seed = run->options->inputs.seed};
        if (!factorizations_judge(run->module, result->arguments + (ptrdiff_t)d * count, count,
                                  &interp, result->actual.outputs[d],
                                  run->factorizations + (ptrdiff_t)d * run->leaves, &run->notes,
                                  &err)) {
            differential_note(run, "factorizations are not judged: %s", err.message);
        }
    }
}

static void apply_factorizations(struct differential_run *run)
{
    struct comparison *comparison = &run->result->comparison;
    for (int i = 0; i < comparison->leaf_count && run->factorizations != NULL; i++) {
        struct leaf_comparison *leaf = &comparison->leaves[i];
        int64_t before = leaf->mismatches;
        if (run->factorizations[i] == FACTORIZATION_SATISFIED) {
            leaf->mismatches = 0;
        } else if (run->factorizations[i] == FACTORIZATION_VIOLATED && before == 0) {
            leaf->mismatches = leaf->elements;
        }
        comparison->mismatches += leaf->mismatches - before;
    }
    comparison->equal = comparison->mismatches == 0;
}

static void compare_again(struct differential_run *run, const struct literal *reference,
                          const struct literal *actual, const struct bound *bounds)
{
    comparison_finish(&run->result->comparison);
    literal_compare(reference, actual, bounds, &run->result->comparison);
    apply_factorizations(run);
}

static bool has_licences(const struct differential_run *run)
{
    return (run->options->tolerance == TOLERANCE_DEFAULT ||
            run->options->tolerance == TOLERANCE_DERIVED) &&
           backend_is_golden(run->reference);
}

/* Tries the profile's licences one after the other; *reference (owned) collects the answers that
 * are nearest to the actual ones. */
static void try_licences(struct differential_run *run, struct literal **reference,
                         const struct literal *actual, const struct bound *bounds)
{
    const struct differential_result *result = run->result;
    for (int i = 0; i < licence_count && !result->comparison.equal; i++) {
        if (!licences[i].allowed(run->profile)) {
            continue;
        }
        struct error err = {0};
        struct interp_options interp = golden_options(run);
        struct literal *licensed = licences[i].evaluate(run->module, result->arguments,
                                                        result->argument_count, &interp, &err);
        if (licensed == NULL) {
            if (err.code != ERROR_NONE) {
                differential_note(run, "licence %s could not be evaluated: %s", licences[i].name,
                                  err.message);
            }
            continue;
        }
        *reference = literal_own_take(*reference, &err);
        if (*reference == NULL) {
            literal_release(licensed);
            return;
        }
        int64_t taken = take_nearer(*reference, licensed, actual);
        literal_release(licensed);
        if (taken > 0) {
            compare_again(run, *reference, actual, bounds);
            differential_note(run, "%lld elements are nearer to the answer under %s",
                              (long long)taken, licences[i].name);
        }
    }
}

/* Default bounds are worst cases along the module, far too wide in deep ones. They decide alone
 * only over what is far within them; the golden's own spread decides over the rest. */
static bool is_tightened(const struct differential_run *run)
{
    return run->options->tolerance == TOLERANCE_DEFAULT && has_licences(run) &&
           run->profile->ulp_scale > 0;
}

static bool is_near(const struct differential_run *run)
{
    const struct comparison *comparison = &run->result->comparison;
    bool near = comparison->equal;
    for (int i = 0; i < comparison->leaf_count && near; i++) {
        near = comparison->leaves[i].largest_part <= run->result->bounds[i].near ||
               run->factorizations[i] == FACTORIZATION_SATISFIED;
    }
    return near;
}

/* Is there a difference that roundings cannot explain by far? If so, it is compared within bounds
 * that say so: in deep modules those along the module are none at all. */
static bool is_far(struct differential_run *run, const struct literal *reference,
                   const struct literal *actual, struct bound *bounds)
{
    const struct comparison *comparison = &run->result->comparison;
    size_t leaves = (size_t)run->leaves * (size_t)run->devices;
    struct bound *narrow = memory_zalloc(leaves * sizeof *narrow);
    for (size_t i = 0; i < leaves; i++) {
        double scale = bounds[i].near > 0 ? bounds[i].near / near_part : 1;
        narrow[i] = bounds[i];
        narrow[i].abs *= scale;
        narrow[i].rel *= scale;
        narrow[i].ulps *= scale;
    }
    compare_again(run, reference, actual, narrow);
    bool far = false;
    for (int i = 0; i < comparison->leaf_count; i++) {
        far |=
            comparison->leaves[i].mismatches > 0 && comparison->leaves[i].largest_part >= far_part;
    }
    if (far) {
        memcpy(bounds, narrow, leaves * sizeof *bounds);
    } else {
        compare_again(run, reference, actual, bounds);
    }
    free(narrow);
    return far;
}

/* What takes long need not be known exactly yet. */
static bool may_haste(const struct differential_run *run)
{
    return run->options->hasty && has_licences(run) &&
           run->result->reference.run_seconds >= run->options->hasty_from;
}

/* Compares within the golden's own spread, as so many samples see it. */
static bool compare_spread(struct differential_run *run, const struct literal *golden,
                           const struct literal *reference, const struct literal *actual,
                           struct bound *bounds, int samples)
{
    if (!derive(run, golden, bounds, samples)) {
        return false;
    }
    bounds_level(golden, bounds, run->devices * run->leaves);
    compare_again(run, reference, actual, bounds);
    return true;
}

/* After few samples: would more of them, that say more exactly how far is too far, say something
 * else? */
static bool is_in_doubt(const struct differential_run *run)
{
    const struct comparison *comparison = &run->result->comparison;
    double largest = 0;
    for (int i = 0; i < comparison->leaf_count; i++) {
        if (run->factorizations[i] != FACTORIZATION_SATISFIED) {
            largest = fmax(largest, comparison->leaves[i].largest_part);
        }
    }
    return run->options->derived_samples == 0 &&
           (comparison->undecided > 0 || (largest > doubt_from && largest <= doubt_to));
}

/* Compares anew within the spread of the golden; *reference as for try_licences. */
static void tighten(struct differential_run *run, const struct literal *golden,
                    struct literal **reference, const struct literal *actual, struct bound *bounds,
                    bool differs)
{
    const struct comparison *comparison = &run->result->comparison;
    if (!compare_spread(run, golden, *reference, actual, bounds, DEFAULT_SAMPLES)) {
        return;
    }
    if (is_in_doubt(run)) {
        run->result->hasty = may_haste(run) && !comparison->equal;
        if (!run->result->hasty) {
            compare_spread(run, golden, *reference, actual, bounds, SAMPLES_IN_DOUBT);
        }
    }
    if (!comparison->equal && !differs) {
        try_licences(run, reference, actual, bounds);
    }
    if (comparison->equal && differs) {
        differential_note(
            run, "beyond the default tolerance, within the golden's own spread under allowed "
                 "roundings");
    } else if (!comparison->equal && !differs) {
        differential_note(
            run, "within the default tolerance, beyond the golden's own spread under allowed "
                 "roundings");
    }
}

/* The leaves of one device, numbered from 0; their array is the caller's to free. */
static struct comparison device_comparison(const struct differential_run *run, int device)
{
    const struct comparison *all = &run->result->comparison;
    struct comparison own = {.equal = true, .leaf_count = run->leaves};
    own.leaves = memory_zalloc((size_t)run->leaves * sizeof *own.leaves);
    for (int i = 0; i < run->leaves && device * run->leaves + i < all->leaf_count; i++) {
        own.leaves[i] = all->leaves[device * run->leaves + i];
        own.leaves[i].leaf = i;
        own.mismatches += own.leaves[i].mismatches;
        own.unspecified += own.leaves[i].unspecified;
        own.undecided += own.leaves[i].undecided;
    }
    own.equal = own.mismatches == 0;
    return own;
}

static void fill_verdicts(struct differential_run *run)
{
    struct differential_result *result = run->result;
    result->devices = memory_zalloc((size_t)run->devices * sizeof *result->devices);
    for (int d = 0; d < run->devices; d++) {
        struct comparison own = device_comparison(run, d);
        struct device_verdict *verdict = &result->devices[d];
        *verdict = (struct device_verdict){
            .replica = d / result->partition_count,
            .partition = d % result->partition_count,
            .outcome = !own.equal          ? OUTCOME_MISMATCH
                       : own.undecided > 0 ? OUTCOME_INCONCLUSIVE
                                           : OUTCOME_PASS,
            .mismatches = own.mismatches,
            .unspecified = own.unspecified,
            .undecided = own.undecided,
        };
        for (int i = 0; i < run->leaves; i++) {
            verdict->elements += own.leaves[i].elements;
            verdict->largest_ulps = fmax(verdict->largest_ulps, own.leaves[i].largest_ulps);
        }
        free(own.leaves);
    }
}

/* The first device with an outcome, −1 if there is none; *count of them. */
static int first_device(const struct differential_run *run, enum outcome outcome, int *count)
{
    int first = -1;
    *count = 0;
    for (int d = run->devices - 1; d >= 0; d--) {
        if (run->result->devices[d].outcome == outcome) {
            first = d;
            ++*count;
        }
    }
    return first;
}

/* Names a device where there are several: "replica 1, partition 0". */
static void name_device(const struct differential_run *run, int device, struct text *out)
{
    const struct device_verdict *verdict = &run->result->devices[device];
    text_printf(out, "replica %d, partition %d", verdict->replica, verdict->partition);
}

/* `reference` and `actual` are those of all devices: the first device that differs is shown. */
static void show(struct differential_run *run, const struct literal *reference,
                 const struct literal *actual, int device)
{
    struct text picture;
    text_init(&picture);
    struct comparison own = device_comparison(run, device);
    if (run->devices > 1) {
        name_device(run, device, &picture);
        text_append(&picture, ": ");
        reference = reference->elements[device];
        actual = actual->elements[device];
    }
    comparison_print(&own, reference, actual, &picture);
    free(own.leaves);
    free(run->result->picture);
    run->result->picture = text_take(&picture);
    text_finish(&picture);
}

static void conclude_compared(struct differential_run *run, const struct literal *reference,
                              const struct literal *actual)
{
    const struct comparison *comparison = &run->result->comparison;
    struct text message;
    int count, device = first_device(run, OUTCOME_MISMATCH, &count);
    text_init(&message);
    if (device >= 0) {
        text_printf(&message, "%lld elements differ", (long long)comparison->mismatches);
        if (run->devices > 1) {
            text_printf(&message, " on %d of %d devices", count, run->devices);
        }
        differential_conclude(run, OUTCOME_MISMATCH, message.data);
        show(run, reference, actual, device);
    } else if (first_device(run, OUTCOME_INCONCLUSIVE, &count) >= 0) {
        text_printf(&message,
                    "%lld elements are ill-conditioned: the golden itself moves as much under "
                    "allowed roundings",
                    (long long)comparison->undecided);
        if (run->devices > 1) {
            text_printf(&message, " (on %d of %d devices)", count, run->devices);
        }
        differential_conclude(run, OUTCOME_INCONCLUSIVE, message.data);
    }
    text_finish(&message);
}

/* With bounds, licences and spreads of run->module. */
static void judge(struct differential_run *run)
{
    struct differential_result *result = run->result;
    struct literal *reference = devices_join(result->reference.outputs, run->devices);
    struct literal *actual = devices_join(result->actual.outputs, run->devices);
    size_t leaves = (size_t)run->leaves * (size_t)run->devices;
    struct bound *bounds = memory_zalloc(leaves * sizeof *bounds);
    result->bounds = bounds;
    initial_bounds(run, reference, bounds);
    run->factorizations = memory_zalloc(leaves * sizeof *run->factorizations);
    judge_factorizations(run);
    compare_again(run, reference, actual, bounds);
    bool tight = is_tightened(run);
    bool differs = !result->comparison.equal;
    result->hasty = may_haste(run) && is_far(run, reference, actual, bounds);
    if (has_licences(run) && !result->hasty) {
        struct literal *golden = literal_retain(reference);
        if (differs) {
            try_licences(run, &reference, actual, bounds);
        }
        if (tight && !is_near(run)) {
            tighten(run, golden, &reference, actual, bounds, differs);
        }
        literal_release(golden);
    }
    result->hasty &= !result->comparison.equal;
    fill_verdicts(run);
    conclude_compared(run, reference, actual);
    free(run->factorizations);
    run->factorizations = NULL;
    literal_release(reference);
    literal_release(actual);
}

void differential_judge_devices(struct differential_run *run)
{
    const struct module *given = run->module;
    struct error err = {0};
    struct module *without_maps = rewrite_copy(given, rewrite_maps, &err);
    if (err.code != ERROR_NONE) {
        differential_note(run, "roundings in maps are not seen: %s", err.message);
    }
    run->module = without_maps != NULL ? without_maps : given;
    judge(run);
    run->module = given;
    module_destroy(without_maps);
}
