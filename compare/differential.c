/* The differential run. */
#include "compare/differential.h"

#include <stdlib.h>
#include <string.h>

#include "compare/devices.h"
#include "compare/differential_internal.h"
#include "compare/tolerance.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"

enum { TAMEST = 2 };

void differential_note(struct differential_run *run, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_vprintf(&run->notes, format, args);
    va_end(args);
    text_char(&run->notes, '\n');
}

void differential_conclude(struct differential_run *run, enum outcome outcome, const char *message)
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
static bool make_arguments(struct differential_run *run, int tameness, struct error *err)
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

static void run_on(struct differential_run *run, struct backend *backend, struct run_result *out)
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
static bool all_vacuous(const struct differential_run *run, const struct run_result *reference,
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
static bool run_reference(struct differential_run *run, const char **vacuous)
{
    struct error err = {0};
    struct differential_result *result = run->result;
    bool drawn = run->options->arguments == NULL && !run->options->inputs.zeros;
    struct literal *before = NULL;
    for (int tameness = 0;; tameness++) {
        *vacuous = NULL;
        if (!make_arguments(run, tameness, &err)) {
            differential_conclude(
                run, err.code == ERROR_RESOURCE_EXHAUSTED ? OUTCOME_OOM : OUTCOME_UNSUPPORTED,
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
        differential_note(run, "inputs drawn again from a tamer range: %s", *vacuous);
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

static bool is_flaky(struct differential_run *run)
{
    int different = 0;
    for (int i = 1; i < run->options->repeat; i++) {
        struct run_result again = {0};
        run_on(run, run->backend, &again);
        different += !same_outputs(&run->result->actual, &again);
        run_result_finish(&again);
    }
    if (different > 0) {
        differential_note(run, "%d of %d runs differ from the first", different,
                          run->options->repeat - 1);
    }
    return different > 0;
}

static void judge(struct differential_run *run, const char *vacuous)
{
    struct differential_result *result = run->result;
    if (result->reference.outcome != OUTCOME_PASS) {
        struct text message;
        text_init(&message);
        text_printf(&message, "the reference could not tell: %s: %s",
                    outcome_text(result->reference.outcome), result->reference.message);
        differential_conclude(
            run, result->reference.outcome == OUTCOME_OOM ? OUTCOME_OOM : OUTCOME_UNSUPPORTED,
            message.data);
        text_finish(&message);
        return;
    }
    differential_judge_devices(run);
    if (result->outcome == OUTCOME_PASS && vacuous != NULL) {
        differential_conclude(run, OUTCOME_VACUOUS, vacuous);
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
    struct differential_run run = {
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
        differential_note(&run, "%d elided constants are filled in", module->elided_count);
    }
    const char *vacuous = NULL;
    const struct instruction *host_feed = find_host_feed(module);
    if (run.devices > DEVICES_MOST) {
        differential_conclude(&run, OUTCOME_UNSUPPORTED, "too many devices");
    } else if (host_feed != NULL) {
        struct text message;
        text_init(&message);
        text_printf(&message, "%s (%s): the backend would wait for the host", host_feed->name,
                    opcode_text(host_feed->opcode));
        differential_conclude(&run, OUTCOME_UNSUPPORTED, message.data);
        text_finish(&message);
    } else if (run_reference(&run, &vacuous)) {
        run_on(&run, backend, &result->actual);
        if (options->repeat > 1 && is_flaky(&run)) {
            differential_conclude(&run, OUTCOME_FLAKY,
                                  "the backend's answers differ from run to run");
        } else if (result->actual.outcome != OUTCOME_PASS) {
            differential_conclude(&run, result->actual.outcome, result->actual.message);
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
