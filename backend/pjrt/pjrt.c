/* cpu:, cuda:, tpu: and pjrt: — any PJRT plugin as a backend — and jaxlib:. The plugin lives in a
 * worker (serve.c, or jaxlib/worker.py); this side turns a module and its arguments into a request
 * and the reply into literals.
 */
#define _GNU_SOURCE
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend_impl.h"
#include "backend/pjrt/pjrt.h"
#include "backend/pjrt/setup.h"
#include "backend/worker.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/module.h"
#include "hlo/mlir/mlir_format.h"
#include "hlo/proto/compile_options.h"
#include "hlo/proto/proto_format.h"
#include "hlo/shardy.h"

struct pjrt_state {
    pthread_mutex_t lock; /* one request at a time */
    struct pjrt_setup setup;
    struct worker *worker;
    /* Of the running worker; invalid once it ended. */
    bool is_open;
    int runs;
    int64_t device_count, *device_ids;
    json_t *info;
};

/* --- opening --- */

typedef bool setup_function(struct backend *backend, struct pjrt_setup *setup, struct error *err);

static bool open_with(setup_function *make_setup, struct backend *backend, struct error *err)
{
    struct pjrt_setup setup = {0};
    if (!make_setup(backend, &setup, err)) {
        pjrt_setup_finish(&setup);
        return false;
    }
    struct pjrt_state *state = memory_zalloc(sizeof(*state));
    pthread_mutex_init(&state->lock, NULL);
    state->setup = setup;
    state->worker = worker_create(backend->options.memory_limit);
    worker_set_environment(state->worker, setup.environment, setup.environment_count);
    if (setup.program[0] != NULL) {
        worker_set_program(state->worker, state->setup.program);
    }
    if (backend->options.poison) {
        worker_poison(state->worker);
    }
    backend->state = state;
    return true;
}

static void forget_plugin(struct pjrt_state *state)
{
    free(state->device_ids);
    json_decref(state->info);
    state->device_ids = NULL;
    state->info = NULL;
    state->device_count = 0;
    state->runs = 0;
    state->is_open = false;
}

static void pjrt_close(struct backend *backend)
{
    struct pjrt_state *state = backend->state;
    worker_destroy(state->worker);
    forget_plugin(state);
    pthread_mutex_destroy(&state->lock);
    pjrt_setup_finish(&state->setup);
    free(state);
}

static void put_text(struct parcel_writer *writer, const char *text)
{
    parcel_put_string(writer, text, strlen(text));
}

/* The request that opens the plugin, with at least `devices` devices where that is up to us. */
static void write_setup(const struct pjrt_setup *setup, int devices, struct parcel_writer *writer)
{
    bool grown = setup->grows != NULL && (devices > 1 || setup->grows_from == 1);
    put_text(writer, setup->plugin);
    parcel_put_int(writer, setup->topology != NULL);
    put_text(writer, setup->topology != NULL ? setup->topology : "");
    parcel_put_int(writer, setup->option_count + grown);
    for (int i = 0; i < setup->option_count; i++) {
        put_text(writer, setup->options[i].name);
        put_text(writer, setup->options[i].value);
    }
    if (grown) {
        struct text value;
        text_init(&value);
        text_printf(&value, "%s%d", setup->grows_prefix,
                    devices > setup->grows_from ? devices : setup->grows_from);
        put_text(writer, setup->grows);
        put_text(writer, value.data);
        text_finish(&value);
    }
}

/* Loads the plugin into the worker. On false *outcome and message say why. */
static bool ensure_open(struct backend *backend, int devices, enum outcome *outcome,
                        struct text *message)
{
    struct pjrt_state *state = backend->state;
    if (state->setup.missing != NULL) {
        *outcome = OUTCOME_UNSUPPORTED;
        text_append(message, state->setup.missing);
        return false;
    }
    if (!worker_is_running(state->worker)) {
        forget_plugin(state);
    }
    if (state->is_open && state->setup.grows != NULL && state->device_count < devices) {
        worker_stop(state->worker);
        forget_plugin(state);
    }
    if (state->is_open) {
        return true;
    }
    struct parcel_writer writer;
    struct parcel_reader reply;
    parcel_writer_init(&writer);
    write_setup(&state->setup, devices, &writer);
    bool answered = worker_call(state->worker, WORKER_OPEN, &writer, backend_timeout(backend),
                                &reply, outcome, message);
    parcel_writer_finish(&writer);
    if (!answered) {
        return false;
    }
    bool good = parcel_get_int(&reply) != 0;
    size_t size;
    const char *words = parcel_get_string(&reply, &size);
    if (!good) {
        *outcome = OUTCOME_RUNTIME_ERROR;
        text_append(message, "the plugin cannot be used: ");
        text_append_clean(message, words, size, 16384);
    }
    const char *info = parcel_get_string(&reply, &size);
    state->info = json_loadb(info, size, 0, NULL);
    state->device_count = parcel_get_range(&reply, 0, 1 << 20);
    state->device_ids = memory_zalloc(((size_t)state->device_count + 1) * sizeof(int64_t));
    for (int64_t i = 0; i < state->device_count; i++) {
        state->device_ids[i] = parcel_get_int(&reply);
    }
    if (good && reply.failed) {
        *outcome = OUTCOME_RUNTIME_ERROR;
        text_append(message, "the worker's reply is cut short");
        good = false;
    }
    parcel_reader_finish(&reply);
    state->is_open = good;
    if (!good) {
        /* A half-made client is not asked again. */
        worker_stop(state->worker);
        forget_plugin(state);
    }
    return good;
}

/* --- running --- */

/* What is changed in a copy of the module before it is sent. */
struct changes {
    bool flat_entry;    /* an entry that PJRT can take */
    bool mark_manual;   /* for the partitioner */
    bool plain_layouts; /* arrays come and go row-major */
    bool as_ever;       /* for readers of any age */
};

static bool changes_any(const struct changes *changes)
{
    return changes->flat_entry || changes->mark_manual || changes->plain_layouts ||
           changes->as_ever;
}

/* What a parameter or the result is laid out as is a copy in the module then. */
static bool forget_entry_layouts(struct module *module, struct error *err)
{
    struct computation *entry = module->entry;
    for (int i = 0; i < entry->parameter_count; i++) {
        entry->parameters[i]->shape = shape_without_layout(entry->parameters[i]->shape);
    }
    entry->root->shape = shape_without_layout(entry->root->shape);
    module->config.has_entry_layout = false;
    module->config.parameter_count = 0;
    module->config.result_shape = NULL;
    return module_finish(module, err);
}

static struct module *make_copy(const struct module *module, const struct changes *changes,
                                struct error *err)
{
    size_t size;
    void *bytes = proto_write_module(module, PROTO_MODULE, &size, err);
    struct module *copy =
        bytes ? proto_read_module(bytes, size, module->name, NULL, NULL, err) : NULL;
    free(bytes);
    if (copy && ((changes->flat_entry && !module_flatten_entry(copy, err)) ||
                 (changes->plain_layouts && !forget_entry_layouts(copy, err)) ||
                 (changes->as_ever && !module_say_as_ever(copy, err)))) {
        module_destroy(copy);
        return NULL;
    }
    if (copy && changes->mark_manual) {
        module_mark_manual(copy);
    }
    return copy;
}

/* Does an array in the shape lie otherwise than row-major? */
static bool has_order(const struct shape *shape)
{
    bool has = false;
    for (int i = 0; i < shape->rank; i++) {
        has |= shape->layout->minor_to_major[i] != shape->rank - 1 - i;
    }
    for (int i = 0; shape_is_tuple(shape) && i < shape->count; i++) {
        has |= has_order(shape->elements[i]);
    }
    return has;
}

static bool entry_has_order(const struct module *module)
{
    bool ordered = has_order(module_result_shape(module));
    for (int i = 0; i < module->entry->parameter_count; i++) {
        ordered |= has_order(module_parameter_shape(module, i));
    }
    return ordered;
}

/* Must the compiler be told the entry's layouts? Where they are not row-major, they are part of
 * what a bitcast means, and an optimised module is compiled for no others. But a scheduled module
 * that is optimised again has no room for the copies that they may need. */
static bool keeps_layouts(const struct backend *backend, const struct module *module)
{
    const struct pjrt_state *state = backend->state;
    return !state->setup.any_age && entry_has_order(module) &&
           (backend->options.run_backend_only || !module->config.is_scheduled);
}

/* `module` is what is sent: the job's or its copy. */
static void *write_options(const struct backend *backend, const struct backend_job *job,
                           const struct module *module, size_t *size, struct error *err)
{
    const struct pjrt_state *state = backend->state;
    const struct module_config *config = &job->module->config;
    const struct computation *entry = module->entry;
    size_t parameters = (size_t)entry->parameter_count;
    const struct shape **shapes = memory_zalloc((parameters + 1) * sizeof(*shapes));
    for (size_t i = 0; i < parameters; i++) {
        shapes[i] = module_parameter_shape(module, (int)i);
    }
    size_t count = (size_t)backend->flag_count;
    struct compile_flag *flags = memory_zalloc((count + 1) * sizeof(*flags));
    for (size_t i = 0; i < count; i++) {
        flags[i] = (struct compile_flag){backend->flags[i].name, backend->flags[i].value};
    }
    struct compile_options options = {
        .replica_count = job->replica_count,
        .partition_count = job->partition_count,
        .device_ids = state->device_ids,
        .use_spmd_partitioning = config->use_spmd_partitioning,
        .propagate_to_parameters = module->config.propagate_to_parameters,
        .propagate_to_output = module->config.propagate_to_output,
        .use_shardy_partitioner = module_uses_shardy(module),
        .run_backend_only = backend->options.run_backend_only,
        .alias_passthrough_params = config->alias_passthrough_params,
        .tupled_parameter = parameters == 1 && shape_is_tuple(shapes[0]),
        .flag_count = backend->flag_count,
        .flags = flags,
        .parameter_count = entry->parameter_count,
        .parameter_shapes = shapes,
        .result_shape = keeps_layouts(backend, module) ? module_result_shape(module) : NULL,
    };
    void *bytes = compile_options_write(&options, size, err);
    free(flags);
    free(shapes);
    return bytes;
}

/* The program as MLIR: as it came, or if it came as HLO, as StableHLO. */
static void *write_mlir(const struct module *module, size_t *size, struct error *err)
{
    struct text text;
    text_init(&text);
    struct mlir_file *file = NULL;
    if (module->mlir.size > 0) {
        text_append_n(&text, module->mlir.data, module->mlir.size);
    } else if ((file = mlir_export(module, err)) != NULL) {
        mlir_print(file, &text);
    }
    mlir_file_destroy(file);
    *size = text.size;
    void *bytes = text.size > 0 ? text_take(&text) : NULL;
    text_finish(&text);
    return bytes;
}

/* The request; what it borrows is kept in *module and *options. */
static bool write_request(const struct backend *backend, const struct backend_job *job,
                          struct parcel_writer *writer, void **module, void **options,
                          struct text *message)
{
    const struct pjrt_state *state = backend->state;
    struct error err = {0};
    size_t module_size = 0, options_size = 0;
    struct changes changes = {
        .flat_entry = module_needs_flat_entry(job->module),
        .mark_manual =
            job->partition_count > 1 && !job->partitions && module_is_partitioned(job->module),
        .plain_layouts = state->setup.any_age && entry_has_order(job->module),
        .as_ever = state->setup.any_age,
    };
    bool changed = changes_any(&changes);
    struct module *copy = changed ? make_copy(job->module, &changes, &err) : NULL;
    const struct module *sent = changed ? copy : job->module;
    if (sent != NULL && backend->options.via_mlir) {
        *module = write_mlir(job->module, &module_size, &err);
    } else if (sent != NULL) {
        *module = proto_write_module(sent, PROTO_MODULE, &module_size, &err);
    }
    *options = *module ? write_options(backend, job, sent, &options_size, &err) : NULL;
    module_destroy(copy);
    if (!*options) {
        error_print(&err, message);
        return false;
    }
    parcel_put_int(writer, backend->options.via_mlir);
    parcel_put_blob(writer, *module, module_size);
    parcel_put_blob(writer, *options, options_size);
    parcel_put_int(writer, job->compile_only ? 0 : job->iterations);
    parcel_put_int(writer,
                   job->module->config.alias_count > 0 || job->module->config.donor_count > 0);
    parcel_put_int(writer, job->device_count);
    for (int i = 0; i < job->device_count; i++) {
        parcel_put_int(writer, state->device_ids[i]);
    }
    if (job->compile_only) {
        parcel_put_int(writer, 0);
        parcel_put_int(writer, 0);
        return true;
    }
    return arguments_write(job, keeps_layouts(backend, job->module), writer, message);
}

static void read_reply(const struct backend_job *job, struct parcel_reader *reply,
                       struct run_result *result, struct text *message)
{
    struct error err = {0};
    size_t size;
    result->outcome = (enum outcome)parcel_get_range(reply, 0, OUTCOME_COUNT - 1);
    const char *words = parcel_get_string(reply, &size);
    text_append_clean(message, words, size, 16384);
    result->compile_seconds = parcel_get_double(reply);
    result->run_seconds = parcel_get_double(reply);
    if (reply->failed) {
        result->outcome = OUTCOME_CRASH;
        text_append(message, "the worker's reply is cut short");
        return;
    }
    if (result->outcome == OUTCOME_PASS && !job->compile_only &&
        !outputs_read(job, reply, result, &err)) {
        result->outcome = err.code == ERROR_RESOURCE_EXHAUSTED ? OUTCOME_OOM
                          : err.code == ERROR_UNIMPLEMENTED    ? OUTCOME_UNSUPPORTED
                                                               : OUTCOME_RUNTIME_ERROR;
        error_print(&err, message);
    }
}

static void run_locked(struct backend *backend, const struct backend_job *job,
                       struct run_result *result, struct text *message)
{
    struct pjrt_state *state = backend->state;
    struct parcel_writer writer;
    struct parcel_reader reply;
    void *module = NULL, *options = NULL;
    if (!ensure_open(backend, job->device_count, &result->outcome, message)) {
        return;
    }
    if (job->device_count > state->device_count) {
        result->outcome = OUTCOME_UNSUPPORTED;
        text_printf(message, "the module runs on %d devices, %s has %lld", job->device_count,
                    state->setup.target != NULL ? state->setup.target : "the plugin",
                    (long long)state->device_count);
        return;
    }
    parcel_writer_init(&writer);
    if (!write_request(backend, job, &writer, &module, &options, message)) {
        result->outcome = OUTCOME_UNSUPPORTED;
    } else {
        bool answered = worker_call(state->worker, WORKER_RUN, &writer, backend_timeout(backend),
                                    &reply, &result->outcome, message);
        if (!answered && result->outcome == OUTCOME_CRASH && state->runs > 0) {
            /* An earlier module may have harmed the process: this one is judged in a fresh one. */
            text_clear(message);
            answered = ensure_open(backend, job->device_count, &result->outcome, message) &&
                       worker_call(state->worker, WORKER_RUN, &writer, backend_timeout(backend),
                                   &reply, &result->outcome, message);
        }
        state->runs++;
        if (answered) {
            read_reply(job, &reply, result, message);
            parcel_reader_finish(&reply);
        }
    }
    parcel_writer_finish(&writer);
    free(module);
    free(options);
}

static void pjrt_run(struct backend *backend, const struct backend_job *job,
                     struct run_result *result, struct text *message)
{
    struct pjrt_state *state = backend->state;
    struct backend_job compile = *job;
    bool deviceless = state->setup.topology != NULL && !job->compile_only;
    compile.compile_only |= deviceless;
    pthread_mutex_lock(&state->lock);
    run_locked(backend, &compile, result, message);
    pthread_mutex_unlock(&state->lock);
    if (deviceless && result->outcome == OUTCOME_PASS) {
        result->outcome = OUTCOME_UNSUPPORTED;
        text_printf(message,
                    "compiled for %s, but nothing here can execute it; `referee passes` can "
                    "referee the compiler",
                    state->setup.target);
    }
}

/* --- describing --- */

static json_t *parameters_json(const struct backend_parameter *list, int count)
{
    json_t *object = json_object();
    for (int i = 0; i < count; i++) {
        json_object_set_new(object, list[i].name, json_string(list[i].value));
    }
    return object;
}

static bool pjrt_describe(struct backend *backend, struct text *json, struct error *err)
{
    struct pjrt_state *state = backend->state;
    enum outcome outcome;
    struct text message;
    text_init(&message);
    pthread_mutex_lock(&state->lock);
    bool good = ensure_open(backend, 1, &outcome, &message);
    json_t *object = json_object();
    json_object_set_new(object, "scheme", json_string(backend->scheme));
    json_object_set_new(object, "plugin", json_string(state->setup.plugin));
    if (state->setup.target != NULL) {
        json_object_set_new(object, "target", json_string(state->setup.target));
    }
    if (good && json_is_object(state->info)) {
        json_object_update(object, state->info);
    }
    pthread_mutex_unlock(&state->lock);
    json_object_set_new(object, "options",
                        parameters_json(backend->parameters, backend->parameter_count));
    json_object_set_new(object, "flags", parameters_json(backend->flags, backend->flag_count));
    if (getenv("XLA_FLAGS")) {
        json_object_set_new(object, "environment_flags", json_string(getenv("XLA_FLAGS")));
    }
    char *text = good ? json_dumps(object, JSON_COMPACT) : NULL;
    if (text) {
        text_append(json, text);
    } else {
        error_set(err, ERROR_ABORTED, "%s: %s: %s", state->setup.plugin, outcome_text(outcome),
                  message.data);
    }
    free(text);
    json_decref(object);
    text_finish(&message);
    return good;
}

/* The schemes differ in how they open the plugin alone. */
#define SCHEME(name, setup)                                             \
    static bool name##_open(struct backend *backend, struct error *err) \
    {                                                                   \
        return open_with(setup, backend, err);                          \
    }                                                                   \
    const struct backend_impl backend_##name = {                        \
        .compiles = true,                                               \
        .open = name##_open,                                            \
        .run = pjrt_run,                                                \
        .describe = pjrt_describe,                                      \
        .close = pjrt_close,                                            \
    };
SCHEME(cpu, pjrt_setup_cpu)
SCHEME(cuda, pjrt_setup_cuda)
SCHEME(tpu, pjrt_setup_tpu)
SCHEME(pjrt, pjrt_setup_path)
SCHEME(jaxlib, pjrt_setup_jaxlib)
#undef SCHEME
