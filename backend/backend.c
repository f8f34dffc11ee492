/* Backends: the table of kinds, URIs, and what is common to every run (backend.h). */
#define _GNU_SOURCE
#include "backend/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend_impl.h"
#include "backend/plugins.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "hlo/module.h"

/* Every kind is one row: BACKEND(scheme, summary); backend_<scheme> implements it. */
#define BACKENDS(BACKEND)                                                                      \
    BACKEND(interp, "the golden interpreter; ?fidelity=literal rounds every step as written")  \
    BACKEND(cpu, "XLA's CPU backend: the plugin that was fetched, cpu:VERSION another")        \
    BACKEND(cuda, "XLA's CUDA backend, on a GPU; ?target=NAME compiles without one")           \
    BACKEND(tpu, "XLA's TPU backend, on a TPU; ?target=NAME compiles without one")             \
    BACKEND(pjrt, "any PJRT plugin by the path of its library: pjrt:PATH[?OPTION=VALUE&…]")    \
    BACKEND(jaxlib, "a release of jaxlib, whose XLA compiles for the CPU: jaxlib:VERSION")     \
    BACKEND(recorded, "results stored in a folder; ?record=URI fills it from another backend") \
    BACKEND(mutant, "another backend with a planted fault: mutant:CLASS?instruction=NAME&of=URI")

const struct backend_scheme backend_schemes[] = {
#define BACKEND(scheme, summary) {#scheme, summary},
    BACKENDS(BACKEND)
#undef BACKEND
};
static const struct backend_impl *const impls[] = {
#define BACKEND(scheme, summary) &backend_##scheme,
    BACKENDS(BACKEND)
#undef BACKEND
};
enum { SCHEME_COUNT = sizeof(impls) / sizeof(impls[0]) };
const int backend_scheme_count = SCHEME_COUNT;

const char *outcome_text(enum outcome outcome)
{
    static const char *const texts[OUTCOME_COUNT] = {
        [OUTCOME_PASS] = "PASS",
        [OUTCOME_MISMATCH] = "MISMATCH",
        [OUTCOME_INCONCLUSIVE] = "INCONCLUSIVE",
        [OUTCOME_VACUOUS] = "VACUOUS",
        [OUTCOME_UNSUPPORTED] = "UNSUPPORTED",
        [OUTCOME_COMPILE_ERROR] = "COMPILE_ERROR",
        [OUTCOME_RUNTIME_ERROR] = "RUNTIME_ERROR",
        [OUTCOME_CRASH] = "CRASH",
        [OUTCOME_TIMEOUT] = "TIMEOUT",
        [OUTCOME_OOM] = "OOM",
        [OUTCOME_FLAKY] = "FLAKY",
    };
    return (unsigned)outcome < OUTCOME_COUNT ? texts[outcome] : "?";
}

/* --- the fetched plugin --- */

const char *backend_default_plugin(void)
{
    static _Thread_local char path[4096];
    char *library = plugin_library(plugin_find("cpu"));
    snprintf(path, sizeof(path), "%s", library ? library : "");
    free(library);
    return path;
}

/* --- URIs --- */

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef";
    const char *found = c ? strchr(digits, c | 0x20) : NULL;
    return found ? (int)(found - digits) : -1;
}

/* A copy of text[0..size) with %XX decoded. */
static char *decode(const char *text, size_t size)
{
    char *copy = memory_alloc(size + 1);
    size_t filled = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '%' && i + 2 < size && hex_digit(text[i + 1]) >= 0 &&
            hex_digit(text[i + 2]) >= 0) {
            copy[filled++] = (char)(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
            i += 2;
        } else {
            copy[filled++] = text[i];
        }
    }
    copy[filled] = '\0';
    return copy;
}

static void parameter_add(struct backend_parameter **list, int *count, char *name, char *value)
{
    *list = memory_realloc(*list, ((size_t)*count + 1) * sizeof(**list));
    (*list)[(*count)++] = (struct backend_parameter){name, value};
}

static void parameters_free(struct backend_parameter *list, int count)
{
    for (int i = 0; i < count; i++) {
        free(list[i].name);
        free(list[i].value);
    }
    free(list);
}

/* KEY=VALUE&KEY=VALUE… */
static bool parse_parameters(struct backend *backend, const char *text, struct error *err)
{
    while (*text) {
        size_t size = strcspn(text, "&");
        size_t name_size = strcspn(text, "=");
        if (name_size == 0 || name_size >= size) {
            return error_set(err, ERROR_INVALID_ARGUMENT, "backend %s: '%.*s' is not KEY=VALUE",
                             backend->uri, (int)size, text);
        }
        char *name = decode(text, name_size);
        char *value = decode(text + name_size + 1, size - name_size - 1);
        if (strncmp(name, "xla_", 4) == 0) {
            parameter_add(&backend->flags, &backend->flag_count, name, value);
        } else {
            parameter_add(&backend->parameters, &backend->parameter_count, name, value);
        }
        text += size + (text[size] == '&');
    }
    return true;
}

void backend_default_flag(struct backend *backend, const char *name, const char *value)
{
    for (int i = 0; i < backend->flag_count; i++) {
        if (strcmp(backend->flags[i].name, name) == 0) {
            return;
        }
    }
    parameter_add(&backend->flags, &backend->flag_count, memory_strdup(name), memory_strdup(value));
}

char *backend_uri_for_target(const char *uri, const char *target)
{
    struct text text;
    text_init(&text);
    text_printf(&text, "%s%starget=", uri, strchr(uri, '?') ? "&" : "?");
    for (const char *c = target; *c; c++) {
        if (strchr("&%", *c)) {
            text_printf(&text, "%%%02x", (unsigned)*c);
        } else {
            text_char(&text, *c);
        }
    }
    char *whole = text_take(&text);
    text_finish(&text);
    return whole;
}

const char *backend_parameter(const struct backend *backend, const char *name)
{
    const char *value = NULL;
    for (int i = 0; i < backend->parameter_count; i++) {
        if (strcmp(backend->parameters[i].name, name) == 0) {
            value = backend->parameters[i].value;
        }
    }
    return value;
}

double backend_timeout(const struct backend *backend)
{
    return backend->options.timeout > 0 ? backend->options.timeout : 60;
}

/* --- life --- */

static void backend_free(struct backend *backend)
{
    parameters_free(backend->parameters, backend->parameter_count);
    parameters_free(backend->flags, backend->flag_count);
    free(backend->uri);
    free(backend->path);
    free(backend);
}

/* A later flag of the same name replaces an earlier one. */
static void flags_settle(struct backend *backend)
{
    int kept = 0;
    for (int i = 0; i < backend->flag_count; i++) {
        bool last = true;
        for (int k = i + 1; k < backend->flag_count; k++) {
            last &= strcmp(backend->flags[i].name, backend->flags[k].name) != 0;
        }
        if (last) {
            backend->flags[kept++] = backend->flags[i];
        } else {
            free(backend->flags[i].name);
            free(backend->flags[i].value);
        }
    }
    backend->flag_count = kept;
}

struct backend *backend_open(const char *uri, const struct backend_options *options,
                             struct error *err)
{
    size_t scheme_size = strcspn(uri, ":");
    int found = -1;
    for (int i = 0; i < SCHEME_COUNT; i++) {
        const char *scheme = backend_schemes[i].scheme;
        if (strlen(scheme) == scheme_size && strncmp(scheme, uri, scheme_size) == 0) {
            found = i;
        }
    }
    if (found < 0) {
        struct text known;
        text_init(&known);
        for (int i = 0; i < SCHEME_COUNT; i++) {
            text_printf(&known, " %s:", backend_schemes[i].scheme);
        }
        error_set(err, ERROR_INVALID_ARGUMENT, "'%s' names no backend; there are%s", uri,
                  known.data);
        text_finish(&known);
        return NULL;
    }
    struct backend *backend = memory_zalloc(sizeof(*backend));
    backend->impl = impls[found];
    backend->scheme = backend_schemes[found].scheme;
    backend->uri = memory_strdup(uri);
    backend->options = options ? *options : (struct backend_options){0};
    const char *rest = uri[scheme_size] == ':' ? uri + scheme_size + 1 : "";
    size_t path_size = strcspn(rest, "?");
    backend->path = decode(rest, path_size);
    bool good = parse_parameters(backend, rest[path_size] ? rest + path_size + 1 : "", err);
    for (int i = 0; i < backend->options.flag_count; i++) {
        const struct backend_flag *flag = &backend->options.flags[i];
        parameter_add(&backend->flags, &backend->flag_count, memory_strdup(flag->name),
                      memory_strdup(flag->value));
    }
    backend->options.flags = NULL;
    backend->options.flag_count = 0;
    flags_settle(backend);
    if (!good || !backend->impl->open(backend, err)) {
        backend_free(backend);
        return NULL;
    }
    return backend;
}

void backend_close(struct backend *backend)
{
    if (backend) {
        backend->impl->close(backend);
        backend_free(backend);
    }
}

const char *backend_uri(const struct backend *backend)
{
    return backend->uri;
}

bool backend_is_golden(const struct backend *backend)
{
    return backend->impl->golden;
}

bool backend_describe(struct backend *backend, struct text *json, struct error *err)
{
    return backend->impl->describe(backend, json, err);
}

/* --- running --- */

static void drop_outputs(struct run_result *result)
{
    for (int i = 0; result->outputs && i < result->device_count; i++) {
        literal_release(result->outputs[i]);
    }
    free(result->outputs);
    result->outputs = NULL;
}

void run_result_finish(struct run_result *result)
{
    drop_outputs(result);
    free(result->message);
    *result = (struct run_result){0};
}

/* Do the arguments fit the module? */
static bool check_arguments(const struct backend_job *job, struct text *message)
{
    const struct computation *entry = job->module->entry;
    if (job->argument_count != entry->parameter_count) {
        text_printf(message, "%d arguments for %d parameters", job->argument_count,
                    entry->parameter_count);
        return false;
    }
    if (job->set_count != 1 && job->set_count != job->device_count) {
        text_printf(message, "arguments for %d devices, but the module runs on %d", job->set_count,
                    job->device_count);
        return false;
    }
    for (int i = 0; i < job->set_count * job->argument_count; i++) {
        int number = i % job->argument_count;
        const struct shape *parameter = entry->parameters[number]->shape;
        parameter = job->pieces != NULL ? job->pieces->parameter_shapes[number] : parameter;
        if (!shape_compatible(job->arguments[i]->shape, parameter)) {
            text_printf(message, "argument %d has shape %s, the parameter %s",
                        i % job->argument_count, shape_text(job->arguments[i]->shape),
                        shape_text(parameter));
            return false;
        }
    }
    return true;
}

int devices_along(int asked, int64_t own)
{
    return asked > 0 ? asked : own < 1 ? 1 : own > DEVICES_MOST ? DEVICES_MOST + 1 : (int)own;
}

/* The first of a list that says something, else the module's. */
static int grid_size(int asked, int option, int64_t own)
{
    return devices_along(asked > 0 ? asked : option, own);
}

/* Fills in the number of devices, and the result. */
static void run_job(struct backend *backend, struct backend_job *job, struct run_result *result)
{
    struct text message;
    *result = (struct run_result){.outcome = OUTCOME_UNSUPPORTED};
    text_init(&message);
    int64_t devices = (int64_t)job->replica_count * job->partition_count;
    if (devices > DEVICES_MOST) {
        text_printf(&message, "%d replicas of %d partitions are too many devices",
                    job->replica_count, job->partition_count);
    } else if ((job->pieces != NULL || job->compile_only) && !backend->impl->compiles) {
        text_printf(&message, "%s: partitions nothing", backend->scheme);
    } else {
        job->device_count = (int)devices;
        result->device_count = job->device_count;
        if (job->compile_only || check_arguments(job, &message)) {
            result->outputs = memory_zalloc((size_t)devices * sizeof(*result->outputs));
            backend->impl->run(backend, job, result, &message);
        }
    }
    if (result->outcome == OUTCOME_PASS) {
        text_clear(&message);
    } else {
        drop_outputs(result);
    }
    result->message = text_take(&message);
    text_finish(&message);
}

void backend_run(struct backend *backend, const struct module *module,
                 struct literal *const *arguments, int argument_count, int device_count,
                 int iterations, struct run_result *result)
{
    backend_run_grid(backend, module, arguments, argument_count,
                     device_count > 1 ? device_count : 1, 0, 0, iterations, result);
}

static void set_grid(const struct backend *backend, int replica_count, int partition_count,
                     struct backend_job *job)
{
    const struct module_config *config = &job->module->config;
    const struct backend_options *options = &backend->options;
    job->replica_count = grid_size(replica_count, options->replica_count, config->replica_count);
    job->partition_count =
        grid_size(partition_count, options->partition_count, config->partition_count);
}

void backend_run_grid(struct backend *backend, const struct module *module,
                      struct literal *const *arguments, int argument_count, int set_count,
                      int replica_count, int partition_count, int iterations,
                      struct run_result *result)
{
    struct backend_job job = {
        .module = module,
        .arguments = arguments,
        .argument_count = argument_count,
        .set_count = set_count,
        .iterations = iterations > 1 ? iterations : 1,
    };
    set_grid(backend, replica_count, partition_count, &job);
    run_job(backend, &job, result);
}

void backend_run_pieces(struct backend *backend, const struct module *module,
                        const struct backend_pieces *pieces, struct literal *const *arguments,
                        int argument_count, int partition_count, struct run_result *result)
{
    struct backend_job job = {
        .module = module,
        .pieces = pieces,
        .partitions = true,
        .arguments = arguments,
        .argument_count = argument_count,
        .set_count = partition_count,
        .replica_count = 1,
        .partition_count = partition_count,
        .iterations = 1,
    };
    run_job(backend, &job, result);
}

void backend_compile(struct backend *backend, const struct module *module, int replica_count,
                     int partition_count, bool partition, struct run_result *result)
{
    struct backend_job job = {
        .module = module,
        .compile_only = true,
        .partitions = partition,
    };
    set_grid(backend, replica_count, partition_count, &job);
    run_job(backend, &job, result);
}
