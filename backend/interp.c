/* The golden as a backend: interp:[?fidelity=exact|literal&seed=N&cache=N]. It runs in this
 * process, since nothing in it is foreign; the deadline is kept by asking it to stop. With a cache,
 * of so many MiB, runs of modules that have much in common take over each other's values. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "backend/backend_impl.h"
#include "hlo/base/arena.h"
#include "hlo/base/clock.h"
#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "interp/interp.h"

struct interp_state {
    enum fidelity fidelity;
    uint64_t seed;
    struct interp_cache *cache; /* NULL: none */
};

struct deadline {
    double end;
};

static bool deadline_passed(void *context)
{
    const struct deadline *deadline = context;
    return clock_seconds() > deadline->end;
}

static bool interp_open(struct backend *backend, struct error *err)
{
    struct interp_state state = {.fidelity = FIDELITY_EXACT};
    unsigned long long mebibytes = 0;
    for (int i = 0; i < backend->parameter_count; i++) {
        const struct backend_parameter *parameter = &backend->parameters[i];
        char *end = parameter->value;
        if (strcmp(parameter->name, "fidelity") == 0 && strcmp(parameter->value, "exact") == 0) {
            state.fidelity = FIDELITY_EXACT;
        } else if (strcmp(parameter->name, "fidelity") == 0 &&
                   strcmp(parameter->value, "literal") == 0) {
            state.fidelity = FIDELITY_LITERAL;
        } else if (strcmp(parameter->name, "seed") == 0 && *parameter->value) {
            state.seed = strtoull(parameter->value, &end, 10);
            if (*end) {
                return error_set(err, ERROR_INVALID_ARGUMENT, "seed=%s is not a number",
                                 parameter->value);
            }
        } else if (strcmp(parameter->name, "cache") == 0 && *parameter->value) {
            mebibytes = strtoull(parameter->value, &end, 10);
            if (*end || mebibytes > INT32_MAX) {
                return error_set(err, ERROR_INVALID_ARGUMENT, "cache=%s is not a number of MiB",
                                 parameter->value);
            }
        } else {
            return error_set(err, ERROR_INVALID_ARGUMENT,
                             "interp: has no option %s=%s; there are fidelity=exact|literal, "
                             "seed=NUMBER and cache=MIB",
                             parameter->name, parameter->value);
        }
    }
    if (*backend->path) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "interp: takes no path");
    }
    state.cache = mebibytes > 0 ? interp_cache_create((size_t)mebibytes << 20) : NULL;
    backend->state = memory_alloc(sizeof(state));
    memcpy(backend->state, &state, sizeof(state));
    return true;
}

static enum outcome outcome_of(const struct error *err)
{
    switch (err->code) {
    case ERROR_UNIMPLEMENTED:
        return OUTCOME_UNSUPPORTED;
    case ERROR_DEADLINE_EXCEEDED:
        return OUTCOME_TIMEOUT;
    case ERROR_RESOURCE_EXHAUSTED:
        return OUTCOME_OOM;
    default:
        return OUTCOME_RUNTIME_ERROR;
    }
}

/* One evaluation on all devices into result->outputs. */
static bool evaluate(const struct backend_job *job, const struct interp_options *options,
                     struct literal **outputs, struct error *err)
{
    if (job->device_count == 1) {
        outputs[0] =
            interp_evaluate(job->module, job->arguments, job->argument_count, options, err);
        return outputs[0] != NULL;
    }
    struct literal *const **sets = memory_alloc((size_t)job->device_count * sizeof(*sets));
    for (int d = 0; d < job->device_count; d++) {
        sets[d] = job->arguments + (job->set_count == 1 ? 0 : d * job->argument_count);
    }
    bool good = interp_evaluate_devices(job->module, job->device_count, sets, job->argument_count,
                                        outputs, options, err);
    free(sets);
    return good;
}

static void interp_run(struct backend *backend, const struct backend_job *job,
                       struct run_result *result, struct text *message)
{
    const struct interp_state *state = backend->state;
    struct error err = {0};
    struct deadline deadline = {clock_seconds() + backend_timeout(backend)};
    struct interp_options options = {.fidelity = state->fidelity,
                                     .seed = state->seed,
                                     .cache = state->cache,
                                     .context = &deadline,
                                     .cancelled = deadline_passed,
                                     .max_loop_iterations = backend->options.loop_iterations,
                                     .longest_loop =
                                         job->device_count == 1 ? &result->longest_loop : NULL,
                                     .replica_count = job->replica_count,
                                     .partition_count = job->partition_count};
    for (int i = 0; i < job->iterations; i++) {
        for (int d = 0; d < job->device_count; d++) {
            literal_release(result->outputs[d]);
            result->outputs[d] = NULL;
        }
        double start = clock_seconds();
        if (!evaluate(job, &options, result->outputs, &err)) {
            result->outcome = outcome_of(&err);
            error_print(&err, message);
            return;
        }
        double seconds = clock_seconds() - start;
        if (i == 0 || seconds < result->run_seconds) {
            result->run_seconds = seconds;
        }
    }
    result->outcome = OUTCOME_PASS;
}

static bool interp_describe(struct backend *backend, struct text *json, struct error *err)
{
    const struct interp_state *state = backend->state;
    (void)err;
    text_printf(json, "{\"scheme\":\"interp\",\"fidelity\":\"%s\",\"seed\":%llu}",
                state->fidelity == FIDELITY_EXACT ? "exact" : "literal",
                (unsigned long long)state->seed);
    return true;
}

static void interp_close(struct backend *backend)
{
    const struct interp_state *state = backend->state;
    interp_cache_destroy(state->cache);
    free(backend->state);
}

const struct backend_impl backend_interp = {
    .golden = true,
    .open = interp_open,
    .run = interp_run,
    .describe = interp_describe,
    .close = interp_close,
};
