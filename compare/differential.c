/* The differential run. */
#include "compare/differential.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/devices.h"
#include "compare/factorization.h"
#include "compare/licence.h"
#include "compare/tolerance.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/interp.h"

enum { TAMEST = 2, DEFAULT_SAMPLES = 4, SAMPLES_IN_DOUBT = 16 };
/* The part of a default bound within which nothing else is asked. */
static const double near_part = 1.0 / 32;
/* Parts of what few samples allow between which more samples are taken. */
static const double doubt_from = 0.5, doubt_to = 4;

struct run {
    const struct module *module;
    struct backend *backend, *reference;
    const struct differential_options *options;
    const struct profile *profile;
    struct differential_result *result;
    struct text notes, tolerance;
    int devices;
    int leaves;                                 /* of one device's result */
    enum factorization_verdict *factorizations; /* [devices * leaves] */
};

static void note(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void note(struct run *run, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_vprintf(&run->notes, format, args);
    va_end(args);
    text_char(&run->notes, '\n');
}

static void conclude(struct run *run, enum outcome outcome, const char *message)
{
    run->result->outcome = outcome;
    free(run->result->message);
    run->result->message = memory_strdup(message);
}

/* --- arguments --- */

static void release_arguments(struct differential_result *result)
{
    for (int i = 0; i < result->argument_count; i++) {
        literal_release(result->arguments[i]);
    }
    free(result->arguments);
    result->arguments = NULL;
    result->argument_count = 0;
}

/* The given arguments, the same on every device or each device's own, or drawn ones. */
static bool make_arguments(struct run *run, int tameness, struct error *err)
{
    const struct differential_options *options = run->options;
    int count = run->module->entry->parameter_count;
    struct differential_result *result = run->result;
    bool own_given = options->argument_count == run->devices * count;
    if (options->arguments != NULL && options->argument_count != count && !own_given) {
        return error_set(err, ERROR_INVALID_ARGUMENT,
                         "%d arguments are given for %d parameters on %d devices",
                         options->argument_count, count, run->devices);
    }
    release_arguments(result);
    result->arguments =
        memory_zalloc((size_t)(run->devices * count + 1) * sizeof *result->arguments);
    result->tameness = tameness;
    for (int device = 0; device < run->devices; device++) {
        struct literal **own = result->arguments + device * count;
        if (options->arguments != NULL) {
            for (int i = 0; i < count; i++) {
                own[i] = literal_retain(options->arguments[own_given ? device * count + i : i]);
            }
        } else {
            struct input_options inputs = options->inputs;
            inputs.tameness = tameness;
            inputs.seed += options->same_inputs ? 0 : (uint64_t)device << 32;
            if (!inputs_generate(run->module, &inputs, own, NULL, err)) {
                return false;
            }
        }
        result->argument_count += count;
    }
    return true;
}

static void run_on(struct run *run, struct backend *backend, struct run_result *out)
{
    run_result_finish(out);
    const struct differential_result *result = run->result;
    backend_run_grid(backend, run->module, result->arguments, run->module->entry->parameter_count,
                     run->devices, result->replica_count, result->partition_count, 1, out);
}

/* Constant outputs that change with the inputs (a broadcast scalar) are as they should be. */
static bool moved(const struct literal *before, const struct literal *after)
{
    return before != NULL && after != NULL && !literal_equal(before, after);
}

/* Do the outputs of every device prove nothing? */
static bool all_vacuous(const struct run *run, const struct run_result *reference,
                        const char **vacuous)
{
    for (int d = 0; d < run->devices; d++) {
        if (!outputs_are_vacuous(run->module, reference->outputs[d], vacuous)) {
            *vacuous = NULL;
            return false;
        }
    }
    return true;
}

/* The reference, on inputs that are drawn again as long as its outputs prove nothing. */
static bool run_reference(struct run *run, const char **vacuous)
{
    struct error err = {0};
    struct differential_result *result = run->result;
    bool drawn = run->options->arguments == NULL && !run->options->inputs.zeros;
    struct literal *before = NULL;
    for (int tameness = 0;; tameness++) {
        *vacuous = NULL;
        if (!make_arguments(run, tameness, &err)) {
            conclude(run, err.code == ERROR_RESOURCE_EXHAUSTED ? OUTCOME_OOM : OUTCOME_UNSUPPORTED,
                     err.message);
            literal_release(before);
            return false;
        }
        run_on(run, run->reference, &result->reference);
        /* Who gives the inputs knows what they are for. */
        if (run->options->arguments != NULL || result->reference.outcome != OUTCOME_PASS ||
            !all_vacuous(run, &result->reference, vacuous)) {
            break;
        }
        const struct literal *output = result->reference.outputs[0];
        if (outputs_are_constant(output) && moved(before, output)) {
            *vacuous = NULL;
            break;
        }
        if (!drawn || tameness == TAMEST) {
            break;
        }
        note(run, "inputs drawn again from a tamer range: %s", *vacuous);
        literal_release(before);
        before = literal_retain(result->reference.outputs[0]);
    }
    literal_release(before);
    return true;
}

/* --- flakiness --- */

static bool same_outputs(const struct run_result *a, const struct run_result *b)
{
    if (a->outcome != b->outcome) {
        return false;
    }
    for (int d = 0; a->outcome == OUTCOME_PASS && d < a->device_count; d++) {
        if (!literal_equal(a->outputs[d], b->outputs[d])) {
            return false;
        }
    }
    return true;
}

static bool is_flaky(struct run *run)
{
    int different = 0;
    for (int i = 1; i < run->options->repeat; i++) {
        struct run_result again = {0};
        run_on(run, run->backend, &again);
        different += !same_outputs(&run->result->actual, &again);
        run_result_finish(&again);
    }
    if (different > 0) {
        note(run, "%d of %d runs differ from the first", different, run->options->repeat - 1);
    }
    return different > 0;
}

/* --- comparing --- */

static struct interp_options golden_options(const struct run *run)
{
    return (struct interp_options){.seed = run->options->inputs.seed,
                                   .replica_count = run->result->replica_count,
                                   .partition_count = run->result->partition_count};
}

/* An element's own bound may be all that there is. */
static bool derive(struct run *run, const struct literal *reference, struct bound *bounds,
                   int samples)
{
    struct error err = {0};
    const struct differential_result *result = run->result;
    samples = run->options->derived_samples > 0 ? run->options->derived_samples : samples;
    struct interp_options interp = golden_options(run);
    if (!bounds_derived(run->module, run->profile, result->arguments, result->argument_count,
                        samples, run->options->inputs.seed, &interp, reference, bounds, &err)) {
        note(run, "no derived bounds: %s", err.message);
        return false;
    }
    return true;
}

static void default_bounds(struct run *run, const struct profile *profile, struct bound *bounds)
{
    for (int d = 0; d < run->devices; d++) {
        text_clear(&run->tolerance);
        bounds_default(run->module, profile, run->result->reference.outputs[d],
                       bounds + (ptrdiff_t)d * run->leaves, &run->tolerance);
    }
}

/* `reference` and bounds are those of all devices. */
static void initial_bounds(struct run *run, const struct literal *reference, struct bound *bounds)
{
    const struct differential_options *options = run->options;
    int count = run->devices * run->leaves;
    text_clear(&run->tolerance);
    switch (options->tolerance) {
    case TOLERANCE_DEFAULT:
        default_bounds(run, run->profile, bounds);
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
static void judge_factorizations(struct run *run)
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
            note(run, "factorizations are not judged: %s", err.message);
        }
    }
}

static void apply_factorizations(struct run *run)
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

static void compare_again(struct run *run, const struct literal *reference,
                          const struct literal *actual, const struct bound *bounds)
{
    comparison_finish(&run->result->comparison);
    literal_compare(reference, actual, bounds, &run->result->comparison);
    apply_factorizations(run);
}

static bool has_licences(const struct run *run)
{
    return (run->options->tolerance == TOLERANCE_DEFAULT ||
            run->options->tolerance == TOLERANCE_DERIVED) &&
           backend_is_golden(run->reference);
}

/* Tries the profile's licences one after the other; *reference (owned) collects the answers that
 * are nearest to the actual ones. */
static void try_licences(struct run *run, struct literal **reference, const struct literal *actual,
                         const struct bound *bounds)
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
                note(run, "licence %s could not be evaluated: %s", licences[i].name, err.message);
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
            note(run, "%lld elements are nearer to the answer under %s", (long long)taken,
                 licences[i].name);
        }
    }
}

/* Default bounds are worst cases along the module, far too wide in deep ones. They decide alone
 * only over what is far within them; the golden's own spread decides over the rest. */
static bool is_tightened(const struct run *run)
{
    return run->options->tolerance == TOLERANCE_DEFAULT && has_licences(run) &&
           run->profile->ulp_scale > 0;
}

static bool is_near(const struct run *run)
{
    const struct comparison *comparison = &run->result->comparison;
    bool near = comparison->equal;
    for (int i = 0; i < comparison->leaf_count && near; i++) {
        near = comparison->leaves[i].largest_part <= near_part ||
               run->factorizations[i] == FACTORIZATION_SATISFIED;
    }
    return near;
}

/* Compares within the golden's own spread, as so many samples see it. */
static bool compare_spread(struct run *run, const struct literal *golden,
                           const struct literal *reference, const struct literal *actual,
                           struct bound *bounds, int samples)
{
    if (!derive(run, golden, bounds, samples)) {
        return false;
    }
    bounds_level(golden, bounds, run->devices * run->leaves);
    for (int i = 0; i < run->devices * run->leaves; i++) {
        bounds[i].near = near_part;
    }
    compare_again(run, reference, actual, bounds);
    return true;
}

/* After few samples: would more of them, that say more exactly how far is too far, say something
 * else? */
static bool is_in_doubt(const struct run *run)
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
static void tighten(struct run *run, const struct literal *golden, struct literal **reference,
                    const struct literal *actual, struct bound *bounds, bool differs)
{
    const struct comparison *comparison = &run->result->comparison;
    if (!compare_spread(run, golden, *reference, actual, bounds, DEFAULT_SAMPLES)) {
        return;
    }
    if (is_in_doubt(run)) {
        compare_spread(run, golden, *reference, actual, bounds, SAMPLES_IN_DOUBT);
    }
    if (!comparison->equal && !differs) {
        try_licences(run, reference, actual, bounds);
    }
    if (comparison->equal && differs) {
        note(run, "beyond the default tolerance, within the golden's own spread under allowed "
                  "roundings");
    } else if (!comparison->equal && !differs) {
        note(run, "within the default tolerance, beyond the golden's own spread under allowed "
                  "roundings");
    }
}

/* The leaves of one device, numbered from 0; their array is the caller's to free. */
static struct comparison device_comparison(const struct run *run, int device)
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

static void fill_verdicts(struct run *run)
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
static int first_device(const struct run *run, enum outcome outcome, int *count)
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
static void name_device(const struct run *run, int device, struct text *out)
{
    const struct device_verdict *verdict = &run->result->devices[device];
    text_printf(out, "replica %d, partition %d", verdict->replica, verdict->partition);
}

/* `reference` and `actual` are those of all devices: the first device that differs is shown. */
static void show(struct run *run, const struct literal *reference, const struct literal *actual,
                 int device)
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

static void conclude_compared(struct run *run, const struct literal *reference,
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
        conclude(run, OUTCOME_MISMATCH, message.data);
        show(run, reference, actual, device);
    } else if (first_device(run, OUTCOME_INCONCLUSIVE, &count) >= 0) {
        text_printf(&message,
                    "%lld elements are ill-conditioned: the golden itself moves as much under "
                    "allowed roundings",
                    (long long)comparison->undecided);
        if (run->devices > 1) {
            text_printf(&message, " (on %d of %d devices)", count, run->devices);
        }
        conclude(run, OUTCOME_INCONCLUSIVE, message.data);
    }
    text_finish(&message);
}

/* Compares the results of all devices. */
static void judge_devices(struct run *run)
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
    if (differs && has_licences(run)) {
        struct literal *golden = literal_retain(reference);
        try_licences(run, &reference, actual, bounds);
        if (tight && !is_near(run)) {
            tighten(run, golden, &reference, actual, bounds, true);
        }
        literal_release(golden);
    } else if (tight && !is_near(run)) {
        struct literal *golden = literal_retain(reference);
        tighten(run, golden, &reference, actual, bounds, false);
        literal_release(golden);
    }
    fill_verdicts(run);
    conclude_compared(run, reference, actual);
    free(run->factorizations);
    run->factorizations = NULL;
    literal_release(reference);
    literal_release(actual);
}

static void judge(struct run *run, const char *vacuous)
{
    struct differential_result *result = run->result;
    if (result->reference.outcome != OUTCOME_PASS) {
        struct text message;
        text_init(&message);
        text_printf(&message, "the reference could not tell: %s: %s",
                    outcome_text(result->reference.outcome), result->reference.message);
        conclude(run, result->reference.outcome == OUTCOME_OOM ? OUTCOME_OOM : OUTCOME_UNSUPPORTED,
                 message.data);
        text_finish(&message);
        return;
    }
    judge_devices(run);
    if (result->outcome == OUTCOME_PASS && vacuous != NULL) {
        conclude(run, OUTCOME_VACUOUS, vacuous);
    }
}

/* What makes a backend wait for a host that feeds it or takes from it, which nobody does here. */
static const struct instruction *find_host_feed(const struct module *module)
{
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            const struct instruction *instruction = module->computations[c]->instructions[i];
            if (instruction->opcode == OP_INFEED || instruction->opcode == OP_OUTFEED) {
                return instruction;
            }
        }
    }
    return NULL;
}

void differential_run(const struct module *module, struct backend *backend,
                      struct backend *reference, const struct differential_options *options,
                      struct differential_result *result)
{
    memset(result, 0, sizeof *result);
    struct run run = {
        .module = module,
        .backend = backend,
        .reference = reference,
        .options = options,
        .profile = options->profile != NULL ? options->profile : profile_for(backend_uri(backend)),
        .result = result,
        .leaves = shape_leaves(module->entry->root->shape),
    };
    text_init(&run.notes);
    text_init(&run.tolerance);
    result->seed = options->inputs.seed;
    result->replica_count = devices_along(options->replica_count, module->config.replica_count);
    result->partition_count =
        devices_along(options->partition_count, module->config.partition_count);
    run.devices = result->replica_count * result->partition_count;
    result->device_count = run.devices;
    result->outcome = OUTCOME_PASS;
    result->message = memory_strdup("");
    result->picture = memory_strdup("");
    if (module->elided_count > 0) {
        note(&run, "%d elided constants are filled in", module->elided_count);
    }
    const char *vacuous = NULL;
    const struct instruction *host_feed = find_host_feed(module);
    if (run.devices > DEVICES_MOST) {
        conclude(&run, OUTCOME_UNSUPPORTED, "too many devices");
    } else if (host_feed != NULL) {
        struct text message;
        text_init(&message);
        text_printf(&message, "%s (%s): the backend would wait for the host", host_feed->name,
                    opcode_text(host_feed->opcode));
        conclude(&run, OUTCOME_UNSUPPORTED, message.data);
        text_finish(&message);
    } else if (run_reference(&run, &vacuous)) {
        run_on(&run, backend, &result->actual);
        if (options->repeat > 1 && is_flaky(&run)) {
            conclude(&run, OUTCOME_FLAKY, "the backend's answers differ from run to run");
        } else if (result->actual.outcome != OUTCOME_PASS) {
            conclude(&run, result->actual.outcome, result->actual.message);
        } else {
            judge(&run, vacuous);
        }
    }
    result->notes = text_take(&run.notes);
    result->tolerance_text = text_take(&run.tolerance);
    text_finish(&run.notes);
    text_finish(&run.tolerance);
}

void differential_result_finish(struct differential_result *result)
{
    bounds_finish(result->bounds, result->comparison.leaf_count);
    comparison_finish(&result->comparison);
    release_arguments(result);
    free(result->devices);
    run_result_finish(&result->actual);
    run_result_finish(&result->reference);
    free(result->message);
    free(result->picture);
    free(result->notes);
    free(result->tolerance_text);
    memset(result, 0, sizeof *result);
}
