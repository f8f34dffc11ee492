/* Threads, the journal, the order of the work. */
#include "tools/triage_job.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/clock.h"
#include "hlo/base/error.h"
#include "hlo/base/map.h"
#include "hlo/base/threads.h"
#include "tools/modules.h"
#include "tools/triage_internal.h"

static volatile sig_atomic_t interrupted;

static void on_signal(int signal)
{
    (void)signal;
    interrupted = 1;
}

bool triage_is_over(void *context)
{
    const struct triage_state *state = context;
    double limit = state->settings->seconds;
    return interrupted || (limit > 0 && clock_seconds() - state->start > limit);
}

/* --- JSON --- */

void json_set_text(json_t *object, const char *name, const char *text)
{
    struct text clean;
    text_init(&clean);
    for (const char *at = text; *at != '\0';) {
        int length = utf8_length(at);
        text_append_n(&clean, length > 0 ? at : "?", length > 0 ? (size_t)length : 1);
        at += length > 0 ? length : 1;
    }
    json_object_set_new(object, name, json_string(clean.data));
    text_finish(&clean);
}

const char *json_get_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

json_t *json_lines(const char *lines)
{
    json_t *list = json_array(), *holder = json_object();
    while (*lines != '\0') {
        size_t size = strcspn(lines, "\n");
        struct text line;
        text_init(&line);
        text_append_n(&line, lines, size);
        json_set_text(holder, "line", line.data);
        json_array_append(list, json_object_get(holder, "line"));
        text_finish(&line);
        lines += size + (lines[size] == '\n');
    }
    json_decref(holder);
    return list;
}

/* --- backends --- */

bool team_start(const struct triage_state *state, struct triage_team *team, struct error *err)
{
    struct backend_options options = {.timeout = state->settings->failing.timeout};
    *team = (struct triage_team){.reference = backend_open("interp:?cache=1024", &options, err)};
    return team->reference != NULL;
}

struct backend *team_backend(const struct triage_state *state, struct triage_team *team,
                             const char *uri, double timeout, struct error *err)
{
    for (size_t i = 0; i < team->count; i++) {
        if (strcmp(team->list[i].uri, uri) == 0 && team->list[i].timeout == timeout) {
            return team->list[i].backend;
        }
    }
    struct backend *backend = failing_open(&state->settings->failing, uri, timeout, err);
    if (backend != NULL) {
        team->list = grow(team->list, team->count, &team->capacity, sizeof *team->list);
        team->list[team->count++] = (struct team_member){memory_strdup(uri), timeout, backend};
    }
    return backend;
}

void team_finish(struct triage_team *team)
{
    for (size_t i = 0; i < team->count; i++) {
        backend_close(team->list[i].backend);
        free(team->list[i].uri);
    }
    free(team->list);
    backend_close(team->reference);
    *team = (struct triage_team){0};
}

double triage_hurried(double timeout)
{
    const double part = 5, least = 1;
    return timeout / part > least ? timeout / part : timeout < least ? timeout : least;
}

/* Long URIs make keys that nobody reads: their beginning and their hash stand for them. */
char *triage_backend_text(const char *uri)
{
    enum { LONGEST = 60, SHOWN = 40 };
    struct text text;
    text_init(&text);
    if (strlen(uri) <= LONGEST) {
        text_append(&text, uri);
    } else {
        text_printf(&text, "%.*s…#%08x", SHOWN, uri, (unsigned)hash_bytes(uri, strlen(uri), 0));
    }
    char *name = text_take(&text);
    text_finish(&text);
    return name;
}

struct triage_options triage_options_of(const struct triage_state *state, const char *backend_name,
                                        struct backend *backend, struct backend *reference)
{
    return (struct triage_options){.backend = backend,
                                   .reference = reference,
                                   .differential = state->settings->failing.differential,
                                   .backend_name = backend_name,
                                   .timeout = state->settings->failing.timeout,
                                   .samples = (int)state->settings->samples,
                                   .stopped = triage_is_over,
                                   .context = (void *)(uintptr_t)state};
}

/* --- errors and the journal --- */

void triage_fail(struct triage_state *state, const struct error *err)
{
    pthread_mutex_lock(&state->mutex);
    if (!state->failed) {
        *state->err = *err;
        state->failed = true;
    }
    pthread_mutex_unlock(&state->mutex);
}

void triage_keep(struct triage_state *state, const json_t *object)
{
    struct error err = {0};
    pthread_mutex_lock(&state->mutex);
    bool ok = !state->has_journal || journal_write(&state->journal, object, &err);
    pthread_mutex_unlock(&state->mutex);
    if (!ok) {
        triage_fail(state, &err);
    }
}

static bool open_journal(struct triage_state *state)
{
    state->past = json_object();
    state->reduced = json_object();
    if (state->settings->journal == NULL) {
        return true;
    }
    if (!journal_open(state->settings->journal, &state->journal, state->err)) {
        return false;
    }
    state->has_journal = true;
    for (size_t i = 0; i < json_array_size(state->journal.past); i++) {
        json_t *object = json_array_get(state->journal.past, i);
        json_t *reduced = json_object_get(object, "reduced");
        json_object_set(reduced != NULL ? state->reduced : state->past, json_get_text(object, "id"),
                        reduced != NULL ? reduced : object);
    }
    return true;
}

/* --- threads --- */

struct crew {
    struct triage_state *state;
    size_t count;
    triage_work_function *work;
};

static void *crew_member(void *context)
{
    const struct crew *crew = context;
    struct triage_state *state = crew->state;
    struct triage_team team;
    struct error err = {0};
    bool ok = team_start(state, &team, &err);
    for (;;) {
        pthread_mutex_lock(&state->mutex);
        bool more = ok && !state->failed && !triage_is_over(state) && state->next < crew->count;
        size_t index = state->next;
        state->next += more;
        pthread_mutex_unlock(&state->mutex);
        if (!more) {
            break;
        }
        const char *title = crew->work(state, &team, index, &err);
        ok = err.code == ERROR_NONE;
        pthread_mutex_lock(&state->mutex);
        progress_step(&state->progress, title);
        pthread_mutex_unlock(&state->mutex);
    }
    if (!ok) {
        triage_fail(state, &err);
    }
    team_finish(&team);
    return NULL;
}

void triage_threads(struct triage_state *state, size_t count, triage_work_function *work)
{
    struct crew crew = {state, count, work};
    state->next = 0;
    threads_run((size_t)state->settings->jobs, crew_member, &crew);
}

static const char *look(struct triage_state *state, struct triage_team *team, size_t index,
                        struct error *err)
{
    state->done[index] = triage_look_into(state, team, &state->items->list[index], err);
    return state->items->list[index].path;
}

bool triage_work(const struct triage_items *items, const struct triage_settings *settings,
                 struct triage_results *results, struct error *err)
{
    *results = (struct triage_results){.records = json_array()};
    struct triage_state state = {.items = items,
                                 .settings = settings,
                                 .results = results,
                                 .mutex = PTHREAD_MUTEX_INITIALIZER,
                                 .journal = {.file = -1},
                                 .err = err,
                                 .start = clock_seconds()};
    if (!open_journal(&state)) {
        json_decref(state.past);
        json_decref(state.reduced);
        return false;
    }
    state.done = memory_zalloc((items->count + 1) * sizeof(json_t *));
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    progress_start(&state.progress, items->count);
    triage_threads(&state, items->count, look);
    progress_clear(&state.progress);
    for (size_t i = 0; i < items->count; i++) {
        results->left += state.done[i] == NULL;
        if (state.done[i] != NULL) {
            json_array_extend(results->records, state.done[i]);
        }
        json_decref(state.done[i]);
    }
    free(state.done);
    if (!state.failed) {
        triage_group_all(&state);
    }
    results->seconds = clock_seconds() - state.start;
    if (state.has_journal) {
        journal_close(&state.journal);
    }
    json_decref(state.past);
    json_decref(state.reduced);
    pthread_mutex_destroy(&state.mutex);
    return !state.failed;
}

void triage_results_finish(struct triage_results *results)
{
    for (size_t i = 0; i < results->group_count; i++) {
        struct triage_group *group = &results->groups[i];
        free(group->members);
        json_decref(group->reduced);
        free(group->key);
        free(group->file);
    }
    free(results->groups);
    json_decref(results->records);
    *results = (struct triage_results){0};
}
