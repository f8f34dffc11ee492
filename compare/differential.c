/* The differential run. */
#include "compare/differential.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/licence.h"
#include "compare/tolerance.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/interp.h"

enum { TAMEST = 2, DEFAULT_SAMPLES = 4 };

struct run {
    const struct module *module;
    struct backend *backend, *reference;
    const struct differential_options *options;
    const struct profile *profile;
    struct differential_result *result;
    struct text notes, tolerance;
    int devices;
    int leaves;
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

/* The given arguments on every device, or drawn ones, each device with its own. */
static bool make_arguments(struct run *run, int tameness, struct error *err)
{
    const struct differential_options *options = run->options;
    int count = run->module->entry->parameter_count;
    struct differential_result *result = run->result;
    release_arguments(result);
    result->arguments =
        memory_zalloc((size_t)(run->devices * count + 1) * sizeof *result->arguments);
    result->tameness = tameness;
    for (int device = 0; device < run->devices; device++) {
        struct literal **own = result->arguments + device * count;
        if (options->arguments != NULL) {
            for (int i = 0; i < count; i++) {
                own[i] = literal_retain(options->arguments[i]);
            }
        } else {
            struct input_options inputs = options->inputs;
            inputs.tameness = tameness;
            inputs.seed += (uint64_t)device << 32;
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
    backend_run(backend, run->module, run->result->arguments, run->module->entry->parameter_count,
                run->devices, 1, out);
}

/* Constant outputs that change with the inputs (a broadcast scalar) are as they should be. */
static bool moved(const struct literal *before, const struct literal *after)
{
    return before != NULL && after != NULL && !literal_equal(before, after);
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
            !outputs_are_vacuous(run->module, result->reference.outputs[0], vacuous)) {
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

/* --- comparing one device --- */

/* An element's own bound may be all that there is. */
static bool derive(struct run *run, int device, const struct literal *reference,
                   struct bound *bounds)
{
    struct error err = {0};
    int count = run->module->entry->parameter_count;
    int samples =
        run->options->derived_samples > 0 ? run->options->derived_samples : DEFAULT_SAMPLES;
    if (run->devices > 1) {
        note(run, "no derived bounds for a run on several devices");
        return false;
    }
    struct interp_options interp = {.seed = run->options->inputs.seed};
    if (!bounds_derived(run->module, run->profile, run->result->arguments + device * count, count,
                        samples, run->options->inputs.seed, &interp, reference, bounds, &err)) {
        note(run, "no derived bounds: %s", err.message);
        return false;
    }
    return true;
}

static void initial_bounds(struct run *run, int device, const struct literal *reference,
                           struct bound *bounds)
{
    const struct differential_options *options = run->options;
    text_clear(&run->tolerance);
    switch (options->tolerance) {
    case TOLERANCE_DEFAULT:
        bounds_default(run->module, run->profile, reference, bounds, &run->tolerance);
        break;
    case TOLERANCE_DERIVED:
        bounds_default(run->module, profile_find("strict"), reference, bounds, &run->tolerance);
        text_clear(&run->tolerance);
        derive(run, device, reference, bounds);
        for (int i = 0; i < run->leaves; i++) {
            bounds[i].zeros_equal = run->profile->algebra;
            bounds[i].flush_subnormals = run->profile->flush_subnormals;
        }
        text_printf(&run->tolerance, "derived, profile %s", run->profile->name);
        break;
    case TOLERANCE_XLA:
        for (int i = 0; i < run->leaves; i++) {
            bounds[i] = (struct bound){
                .abs = options->abs_error_bound, .rel = options->rel_error_bound, .xla_rule = true};
        }
        text_printf(&run->tolerance, "XLA's rule, abs %g or rel %g", options->abs_error_bound,
                    options->rel_error_bound);
        break;
    case TOLERANCE_BITS:
        memset(bounds, 0, (size_t)run->leaves * sizeof *bounds);
        text_append(&run->tolerance, "bit-equal");
        break;
    }
}

static void compare_again(struct run *run, const struct literal *reference,
                          const struct literal *actual, const struct bound *bounds)
{
    comparison_finish(&run->result->comparison);
    literal_compare(reference, actual, bounds, &run->result->comparison);
}

static bool has_licences(const struct run *run)
{
    return (run->options->tolerance == TOLERANCE_DEFAULT ||
            run->options->tolerance == TOLERANCE_DERIVED) &&
           backend_is_golden(run->reference) && run->devices == 1;
}

/* Tries the profile's licences one after the other; *reference (owned) collects the answers that
 * are nearest to the actual ones. */
static void try_licences(struct run *run, struct literal **reference, const struct literal *actual,
                         const struct bound *bounds)
{
    int count = run->module->entry->parameter_count;
    for (int i = 0; i < licence_count && !run->result->comparison.equal; i++) {
        if (!licences[i].allowed(run->profile)) {
            continue;
        }
        struct error err = {0};
        struct interp_options interp = {.seed = run->options->inputs.seed};
        struct literal *licensed =
            licences[i].evaluate(run->module, run->result->arguments, count, &interp, &err);
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

static void show(struct run *run, const struct literal *reference, const struct literal *actual,
                 int device)
{
    struct text picture;
    text_init(&picture);
    if (run->devices > 1) {
        text_printf(&picture, "device %d: ", device);
    }
    comparison_print(&run->result->comparison, reference, actual, &picture);
    free(run->result->picture);
    run->result->picture = text_take(&picture);
    text_finish(&picture);
}

/* Judges one device; true on PASS. */
static bool judge_device(struct run *run, int device)
{
    struct differential_result *result = run->result;
    const struct literal *golden = result->reference.outputs[device];
    const struct literal *actual = result->actual.outputs[device];
    struct bound *bounds = memory_zalloc((size_t)run->leaves * sizeof *bounds);
    bounds_finish(result->bounds, run->leaves);
    result->bounds = bounds;
    initial_bounds(run, device, golden, bounds);
    compare_again(run, golden, actual, bounds);
    struct literal *reference = literal_retain(golden);
    if (!result->comparison.equal && has_licences(run)) {
        try_licences(run, &reference, actual, bounds);
        if (!result->comparison.equal && run->options->tolerance == TOLERANCE_DEFAULT &&
            run->profile->ulp_scale > 0 && derive(run, device, golden, bounds)) {
            compare_again(run, reference, actual, bounds);
            if (result->comparison.equal) {
                note(run, "beyond the default tolerance, within the golden's own spread under "
                          "allowed roundings");
            }
        }
    }
    const struct comparison *comparison = &result->comparison;
    bool pass = comparison->equal && comparison->undecided == 0;
    if (!comparison->equal) {
        struct text message;
        text_init(&message);
        text_printf(&message, "%lld elements differ", (long long)comparison->mismatches);
        conclude(run, OUTCOME_MISMATCH, message.data);
        text_finish(&message);
        show(run, reference, actual, device);
    } else if (!pass) {
        struct text message;
        text_init(&message);
        text_printf(&message,
                    "%lld elements are ill-conditioned: the golden itself moves as much under "
                    "allowed roundings",
                    (long long)comparison->undecided);
        conclude(run, OUTCOME_INCONCLUSIVE, message.data);
        text_finish(&message);
    }
    literal_release(reference);
    return pass;
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
    for (int device = 0; device < run->devices; device++) {
        if (!judge_device(run, device)) {
            return;
        }
    }
    if (vacuous != NULL) {
        conclude(run, OUTCOME_VACUOUS, vacuous);
    }
}

static int device_count(const struct module *module)
{
    int64_t count = module->config.replica_count * module->config.partition_count;
    return count < 1 ? 1 : count > 4096 ? 4096 : (int)count;
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
        .devices = device_count(module),
        .leaves = shape_leaves(module->entry->root->shape),
    };
    text_init(&run.notes);
    text_init(&run.tolerance);
    result->seed = options->inputs.seed;
    result->outcome = OUTCOME_PASS;
    result->message = memory_strdup("");
    result->picture = memory_strdup("");
    if (module->elided_count > 0) {
        note(&run, "%d elided constants are filled in", module->elided_count);
    }
    const char *vacuous = NULL;
    if (run_reference(&run, &vacuous)) {
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
    run_result_finish(&result->actual);
    run_result_finish(&result->reference);
    free(result->message);
    free(result->picture);
    free(result->notes);
    free(result->tolerance_text);
    memset(result, 0, sizeof *result);
}
