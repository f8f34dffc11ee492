/* recorded:DIR — results that another backend gave once. A run is found by the meaning of its
 * module, its arguments and its device grid: DIR/MODULE-ARGUMENTS-RxP.pb holds the outputs (a
 * RunHloModuleLiterals with one iteration a device), or .txt the outcome and the words of a run
 * that gave none. With ?record=URI (its ? & % written %3f %26 %25) what is missing is run there and
 * kept; without it, it is UNSUPPORTED. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/backend_impl.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/map.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/proto/proto_format.h"

struct recorded_state {
    struct backend *source; /* NULL: replay only */
};

static bool recorded_open(struct backend *backend, struct error *err)
{
    const char *source = NULL;
    for (int i = 0; i < backend->parameter_count; i++) {
        if (strcmp(backend->parameters[i].name, "record") != 0) {
            return error_set(err, ERROR_INVALID_ARGUMENT,
                             "recorded: has no option %s; there is record=URI",
                             backend->parameters[i].name);
        }
        source = backend->parameters[i].value;
    }
    struct stat status;
    if (!*backend->path) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "recorded: needs a folder: recorded:DIR");
    }
    if (source && mkdir(backend->path, 0777) != 0 && errno != EEXIST) {
        return error_set(err, ERROR_NOT_FOUND, "%s: %s", backend->path, strerror(errno));
    }
    if (stat(backend->path, &status) != 0 || !S_ISDIR(status.st_mode)) {
        return error_set(err, ERROR_NOT_FOUND, "there is no folder %s", backend->path);
    }
    struct recorded_state *state = memory_zalloc(sizeof(*state));
    if (source) {
        size_t count = (size_t)backend->flag_count;
        struct backend_flag *flags = memory_zalloc((count + 1) * sizeof(*flags));
        for (size_t i = 0; i < count; i++) {
            flags[i] = (struct backend_flag){backend->flags[i].name, backend->flags[i].value};
        }
        struct backend_options options = backend->options;
        options.flags = flags;
        options.flag_count = backend->flag_count;
        state->source = backend_open(source, &options, err);
        free(flags);
        if (!state->source) {
            free(state);
            return false;
        }
    }
    backend->state = state;
    return true;
}

static void recorded_close(struct backend *backend)
{
    struct recorded_state *state = backend->state;
    backend_close(state->source);
    free(state);
}

/* Where a run is kept, without the suffix. */
static char *record_path(const struct backend *backend, const struct backend_job *job)
{
    uint64_t hash = hash_u64((uint64_t)job->set_count, 0);
    for (int i = 0; i < job->set_count * job->argument_count; i++) {
        hash = hash_u64(literal_hash(job->arguments[i]), hash);
    }
    struct text path;
    text_init(&path);
    text_printf(&path, "%s/%016llx-%016llx-%dx%d", backend->path,
                (unsigned long long)module_hash(job->module), (unsigned long long)hash,
                job->replica_count, job->partition_count);
    char *taken = text_take(&path);
    text_finish(&path);
    return taken;
}

static enum outcome outcome_from_text(const char *text, size_t size)
{
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        const char *word = outcome_text((enum outcome)i);
        if (strlen(word) == size && strncmp(word, text, size) == 0) {
            return (enum outcome)i;
        }
    }
    return OUTCOME_RUNTIME_ERROR;
}

/* The recorded outputs, if they are those of this run. */
static bool replay_outputs(const char *data, size_t size, const struct backend_job *job,
                           struct run_result *result, struct error *err)
{
    struct literal_sets sets = {0};
    if (!proto_read_literals(data, size, &sets, err)) {
        return false;
    }
    bool good = sets.count == job->device_count;
    for (int d = 0; good && d < job->device_count; d++) {
        good = sets.sets[d].result &&
               shape_compatible(sets.sets[d].result->shape, module_result_shape(job->module));
        result->outputs[d] = good ? literal_retain(sets.sets[d].result) : NULL;
    }
    literal_sets_finish(&sets);
    return good ||
           error_set(err, ERROR_INVALID_ARGUMENT, "the recorded outputs are of another run");
}

/* True when there is a record, whatever it says. */
static bool replay(const char *path, const struct backend_job *job, struct run_result *result,
                   struct text *message)
{
    struct error err = {0};
    struct text name;
    size_t size;
    text_init(&name);
    text_printf(&name, "%s.pb", path);
    bool found = file_exists(name.data);
    if (found) {
        char *data = file_read(name.data, &size, &err);
        bool good = data && replay_outputs(data, size, job, result, &err);
        result->outcome = good ? OUTCOME_PASS : OUTCOME_RUNTIME_ERROR;
        text_append(message, good ? "" : err.message);
        free(data);
    }
    text_clear(&name);
    text_printf(&name, "%s.txt", path);
    if (!found && file_exists(name.data)) {
        found = true;
        char *data = file_read(name.data, &size, &err);
        size_t word = data ? strcspn(data, "\n") : 0;
        result->outcome = data ? outcome_from_text(data, word) : OUTCOME_RUNTIME_ERROR;
        text_append(message, data ? data + word + (data[word] == '\n') : err.message);
        free(data);
    }
    text_finish(&name);
    return found;
}

static bool record(const char *path, const struct run_result *result, struct error *err)
{
    struct text name;
    text_init(&name);
    bool good;
    if (result->outcome == OUTCOME_PASS) {
        size_t size = 0;
        struct literal_sets sets = {.count = result->device_count};
        sets.sets = memory_zalloc((size_t)sets.count * sizeof(*sets.sets));
        for (int d = 0; d < sets.count; d++) {
            sets.sets[d].result = result->outputs[d];
        }
        void *data = proto_write_literals(&sets, &size, err);
        text_printf(&name, "%s.pb", path);
        good = data && file_write(name.data, data, size, err);
        free(data);
        free(sets.sets);
    } else {
        struct text data;
        text_init(&data);
        text_printf(&data, "%s\n%s", outcome_text(result->outcome), result->message);
        text_printf(&name, "%s.txt", path);
        good = file_write(name.data, data.data, data.size, err);
        text_finish(&data);
    }
    text_finish(&name);
    return good;
}

static void recorded_run(struct backend *backend, const struct backend_job *job,
                         struct run_result *result, struct text *message)
{
    const struct recorded_state *state = backend->state;
    struct error err = {0};
    char *path = record_path(backend, job);
    if (replay(path, job, result, message)) {
        free(path);
        return;
    }
    if (!state->source) {
        result->outcome = OUTCOME_UNSUPPORTED;
        text_printf(message, "%s holds no such run", backend->path);
        free(path);
        return;
    }
    struct run_result fresh;
    backend_run_grid(state->source, job->module, job->arguments, job->argument_count,
                     job->set_count, job->replica_count, job->partition_count, job->iterations,
                     &fresh);
    if (record(path, &fresh, &err)) {
        result->outcome = fresh.outcome;
        result->compile_seconds = fresh.compile_seconds;
        result->run_seconds = fresh.run_seconds;
        text_append(message, fresh.message);
        for (int d = 0; fresh.outputs && d < job->device_count; d++) {
            result->outputs[d] = literal_retain(fresh.outputs[d]);
        }
    } else {
        result->outcome = OUTCOME_RUNTIME_ERROR;
        error_print(&err, message);
    }
    run_result_finish(&fresh);
    free(path);
}

static bool recorded_describe(struct backend *backend, struct text *json, struct error *err)
{
    const struct recorded_state *state = backend->state;
    text_append(json, "{\"scheme\":\"recorded\",\"folder\":\"");
    for (const char *p = backend->path; *p; p++) {
        text_printf(json, (unsigned char)*p < ' ' || *p == '"' || *p == '\\' ? "\\u%04x" : "%c",
                    (unsigned char)*p);
    }
    text_append(json, "\"");
    if (state->source) {
        text_append(json, ",\"source\":");
        if (!backend_describe(state->source, json, err)) {
            return false;
        }
    }
    text_append(json, "}");
    return true;
}

const struct backend_impl backend_recorded = {
    .open = recorded_open,
    .run = recorded_run,
    .describe = recorded_describe,
    .close = recorded_close,
};
