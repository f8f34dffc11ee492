/* The second stage: failures of one key are a group; of each one member is shrunk; groups whose
 * reduced modules are of one kind become one. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "compare/canonical.h"
#include "hlo/base/arena.h"
#include "hlo/base/clock.h"
#include "hlo/base/error.h"
#include "hlo/module.h"
#include "tools/shrink_script.h"
#include "tools/triage_internal.h"

/* Members that are tried until one fails again. */
enum { REPRESENTATIVES_MOST = 3 };

/* --- groups --- */

static struct triage_group *find_group(struct triage_results *results, const char *key)
{
    for (size_t i = 0; i < results->group_count; i++) {
        if (strcmp(results->groups[i].key, key) == 0) {
            return &results->groups[i];
        }
    }
    results->groups = grow(results->groups, results->group_count, &results->group_capacity,
                           sizeof *results->groups);
    struct triage_group *group = &results->groups[results->group_count++];
    *group = (struct triage_group){.key = memory_strdup(key)};
    return group;
}

void triage_add_member(struct triage_group *group, json_t *record)
{
    group->members = grow(group->members, group->count, &group->capacity, sizeof(json_t *));
    group->members[group->count++] = record;
}

static json_int_t integer_of(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

/* Those with a part first, smaller ones first, then in the order of the files. */
static int by_size(const void *left, const void *right)
{
    const json_t *a = *(json_t *const *)left, *b = *(json_t *const *)right;
    bool has_a = json_is_true(json_object_get(a, "has_part"));
    bool has_b = json_is_true(json_object_get(b, "has_part"));
    json_int_t order = has_b - has_a;
    order = order != 0 ? order : integer_of(a, "instructions") - integer_of(b, "instructions");
    order = order != 0 ? order : integer_of(a, "elements") - integer_of(b, "elements");
    if (order != 0) {
        return order < 0 ? -1 : 1;
    }
    int modules = strcmp(json_get_text(a, "module"), json_get_text(b, "module"));
    return modules != 0 ? modules : (int)(integer_of(a, "seed") - integer_of(b, "seed"));
}

static void make_groups(struct triage_state *state)
{
    struct triage_results *results = state->results;
    for (size_t i = 0; i < json_array_size(results->records); i++) {
        json_t *record = json_array_get(results->records, i);
        const char *key = json_get_text(record, "key");
        if (key[0] != '\0') {
            triage_add_member(find_group(results, key), record);
        }
    }
    for (size_t i = 0; i < results->group_count; i++) {
        qsort(results->groups[i].members, results->groups[i].count, sizeof(json_t *), by_size);
    }
    results->before = results->group_count;
}

/* --- shrinking one --- */

/* A member under reduction. */
struct reduction {
    struct triage_state *state;
    struct triage_team *team;
    const char *backend_name;
    struct specimen specimen;
    struct shrink_backend_test test;
    struct backend *backends[1], *references[1];
    struct triage_options options;
};

static bool test_candidate(void *context, int thread, const struct specimen *specimen)
{
    struct reduction *reduction = context;
    return shrink_test_backend(&reduction->test, thread, specimen);
}

static bool is_over(void *context)
{
    const struct reduction *reduction = context;
    return triage_is_over(reduction->state);
}

/* Runs the specimen; sets the wanted signature, and how long a candidate may take. False: it does
 * not fail now. */
static bool begin(struct reduction *reduction, const json_t *member, struct error *err)
{
    struct triage_state *state = reduction->state;
    double timeout = state->settings->failing.timeout, start = clock_seconds();
    if (strcmp(json_get_text(member, "outcome"), outcome_text(OUTCOME_TIMEOUT)) == 0) {
        timeout = triage_hurried(timeout);
    }
    struct backend *backend =
        team_backend(state, reduction->team, reduction->backend_name, timeout, err);
    if (backend == NULL) {
        return false;
    }
    reduction->options =
        triage_options_of(state, reduction->backend_name, backend, reduction->team->reference);
    reduction->options.differential.tolerance = TOLERANCE_DEFAULT;
    bool flaky = strcmp(json_get_text(member, "outcome"), outcome_text(OUTCOME_FLAKY)) == 0;
    reduction->options.differential.repeat = flaky ? FLAKY_RUNS : 1;
    struct differential_options differential = reduction->options.differential;
    differential.arguments = reduction->specimen.arguments;
    differential.argument_count = specimen_argument_total(&reduction->specimen);
    struct differential_result result;
    differential_run(reduction->specimen.module, backend, reduction->team->reference, &differential,
                     &result);
    failure_signature_of(&result, &reduction->test.signature);
    differential_result_finish(&result);
    if (!failure_signature_fails(&reduction->test.signature)) {
        failure_signature_finish(&reduction->test.signature);
        return false;
    }
    /* In whole seconds, so that few backends are opened. */
    double limit = fmin(ceil(shrink_candidate_seconds(&reduction->test.signature,
                                                      clock_seconds() - start, timeout)),
                        timeout);
    reduction->backends[0] =
        team_backend(state, reduction->team, reduction->backend_name, limit, err);
    reduction->references[0] =
        team_backend(state, reduction->team, "interp:?cache=1024", limit, err);
    reduction->test.backends = reduction->backends;
    reduction->test.references = reduction->references;
    reduction->test.differential = reduction->options.differential;
    return reduction->backends[0] != NULL && reduction->references[0] != NULL;
}

/* The backends of the command line that are not this one, and those that are only asked. */
static int find_opinions(struct reduction *reduction, struct triage_opinion *opinions)
{
    const struct triage_settings *settings = reduction->state->settings;
    const struct string_list *lists[] = {&settings->backends, &settings->opinions};
    int count = 0;
    for (size_t l = 0; l < 2; l++) {
        for (size_t i = 0; i < lists[l]->count; i++) {
            const char *uri = lists[l]->items[i];
            struct error ignored = {0};
            struct backend *backend = strcmp(uri, reduction->backend_name) == 0
                                          ? NULL
                                          : team_backend(reduction->state, reduction->team, uri,
                                                         settings->failing.timeout, &ignored);
            if (backend != NULL) {
                opinions[count++] = (struct triage_opinion){uri, backend};
            }
        }
    }
    return count;
}

static void print_evidence(const json_t *lines, struct text *out)
{
    for (size_t i = 0; i < json_array_size(lines); i++) {
        text_printf(out, "%s\n", json_string_value(json_array_get(lines, i)));
    }
}

static enum triage_confidence confidence_of(const char *name)
{
    enum triage_confidence confidence = TRIAGE_STRONG;
    while (confidence > TRIAGE_WEAK && strcmp(triage_confidence_text(confidence), name) != 0) {
        confidence--;
    }
    return confidence;
}

static void judge(struct reduction *reduction, const json_t *member, json_t *reduced)
{
    const struct triage_settings *settings = reduction->state->settings;
    size_t most = settings->backends.count + settings->opinions.count + 1;
    struct triage_opinion *opinions = memory_zalloc(most * sizeof *opinions);
    struct triage_judgement judgement = {.verdict = TRIAGE_BACKEND,
                                         .confidence =
                                             confidence_of(json_get_text(member, "confidence")),
                                         .reason = memory_strdup(json_get_text(member, "reason"))};
    text_init(&judgement.evidence);
    print_evidence(json_object_get(member, "evidence"), &judgement.evidence);
    int count = find_opinions(reduction, opinions);
    triage_judge(&reduction->specimen, &reduction->options, opinions, count, &judgement);
    json_set_text(reduced, "verdict", triage_verdict_name(judgement.verdict));
    json_set_text(reduced, "confidence", triage_confidence_text(judgement.confidence));
    json_set_text(reduced, "reason", judgement.reason);
    json_object_set_new(reduced, "evidence", json_lines(judgement.evidence.data));
    struct text text;
    text_init(&text);
    canonical_print(reduction->specimen.module, &text);
    json_set_text(reduced, "form", text.data);
    const struct shape *shape = reduction->specimen.module->entry->root->shape;
    json_set_text(reduced, "type", shape_is_array(shape) ? type_text(shape->type) : "");
    char *name = triage_backend_text(reduction->backend_name);
    char *key = triage_key(name, judgement.verdict, &reduction->test.signature, text.data);
    free(name);
    json_set_text(reduced, "key", key);
    text_clear(&text);
    failure_signature_print(&reduction->test.signature, &text);
    json_set_text(reduced, "signature", text.data);
    free(key);
    text_finish(&text);
    triage_judgement_finish(&judgement);
    free(opinions);
}

static json_t *finish_reduction(struct reduction *reduction, const json_t *member,
                                const struct shrink_statistics *statistics)
{
    json_t *reduced = json_object();
    struct specimen_size size = specimen_size(&reduction->specimen);
    judge(reduction, member, reduced);
    struct text note, text;
    text_init(&note);
    text_init(&text);
    text_printf(&note, "%s on %s", json_get_text(reduced, "signature"), reduction->backend_name);
    specimen_print(&reduction->specimen, note.data, &text);
    json_set_text(reduced, "note", note.data);
    json_set_text(reduced, "text", text.data);
    json_object_set_new(reduced, "instructions", json_integer(size.instructions));
    json_object_set_new(reduced, "elements", json_integer(size.elements));
    json_object_set_new(reduced, "candidates", json_integer(statistics->candidates));
    json_object_set_new(reduced, "seconds", json_real(statistics->seconds));
    json_object_set_new(reduced, "complete", json_boolean(statistics->complete));
    text_finish(&note);
    text_finish(&text);
    return reduced;
}

/* NULL: the member has no part, or does not fail now, or with *err. */
static json_t *reduce_member(struct triage_state *state, struct triage_team *team,
                             const json_t *member, struct error *err)
{
    struct reduction reduction = {
        .state = state, .team = team, .backend_name = json_get_text(member, "backend")};
    struct error ignored = {0};
    json_t *reduced = NULL;
    if (!triage_part_of(state, member, &reduction.specimen, &ignored)) {
        return NULL;
    }
    if (begin(&reduction, member, err)) {
        double seconds = state->settings->shrink_seconds;
        struct shrink_options options = {.jobs = 1,
                                         .seconds = seconds,
                                         .test = test_candidate,
                                         .stopped = is_over,
                                         .context = &reduction};
        struct shrink_statistics statistics;
        shrink_run(&reduction.specimen, &options, &statistics);
        reduced = finish_reduction(&reduction, member, &statistics);
        failure_signature_finish(&reduction.test.signature);
    }
    specimen_finish(&reduction.specimen);
    return reduced;
}

/* What is in the journal is kept if it is of the same member and as complete as it can be. */
static void reduce_group(struct triage_state *state, struct triage_team *team,
                         struct triage_group *group, struct error *err)
{
    for (size_t i = 0; i < group->count && i < REPRESENTATIVES_MOST && err->code == ERROR_NONE;
         i++) {
        const char *id = json_get_text(group->members[i], "id");
        json_t *past = json_object_get(state->reduced, id);
        group->reduced =
            past != NULL ? json_incref(past) : reduce_member(state, team, group->members[i], err);
        if (group->reduced != NULL && past == NULL && !triage_is_over(state)) {
            json_t *line = json_pack("{s:s, s:O}", "id", id, "reduced", group->reduced);
            triage_keep(state, line);
            json_decref(line);
        }
        if (group->reduced != NULL) {
            json_t *first = group->members[i]; /* stands for the others */
            group->members[i] = group->members[0];
            group->members[0] = first;
            return;
        }
        if (triage_is_over(state)) {
            return;
        }
    }
}

static const char *reduce(struct triage_state *state, struct triage_team *team, size_t index,
                          struct error *err)
{
    struct triage_group *group = &state->results->groups[index];
    const char *verdict = json_get_text(group->members[0], "verdict");
    if (strcmp(verdict, triage_verdict_name(TRIAGE_BACKEND)) == 0) {
        reduce_group(state, team, group, err);
    }
    return "shrinking";
}

/* --- order and files --- */

static int rank(const struct triage_group *group)
{
    static const enum triage_verdict order[] = {TRIAGE_BACKEND, TRIAGE_OURS, TRIAGE_OPEN,
                                                TRIAGE_ILL_CONDITIONED, TRIAGE_PERMITTED};
    const char *verdict =
        json_get_text(group->reduced != NULL ? group->reduced : group->members[0], "verdict");
    int at = 0;
    while (at < 4 && strcmp(triage_verdict_name(order[at]), verdict) != 0) {
        at++;
    }
    return at;
}

static int by_importance(const void *left, const void *right)
{
    const struct triage_group *a = left, *b = right;
    int order = rank(a) - rank(b);
    if (order != 0) {
        return order;
    }
    return a->count != b->count ? (a->count < b->count ? 1 : -1) : strcmp(a->key, b->key);
}

/* "dynamic-slice_s32" of "dynamic-slice(dynamic-slice(s32, …" and s32. */
static void print_name(const struct triage_group *group, struct text *out)
{
    enum { LONGEST = 40 };
    const char *form = json_get_text(group->reduced, "form");
    for (int i = 0; i < LONGEST && (isalnum((unsigned char)form[i]) || form[i] == '-'); i++) {
        text_char(out, form[i]);
    }
    const char *type = json_get_text(group->reduced, "type");
    text_printf(out, "%s%s", type[0] != '\0' ? "_" : "", type);
}

static bool write_files(const struct triage_state *state, struct error *err)
{
    const char *folder = state->settings->output;
    struct triage_results *results = state->results;
    if (folder == NULL) {
        return true;
    }
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return error_set(err, ERROR_NOT_FOUND, "%s: %s", folder, strerror(errno));
    }
    for (size_t i = 0; i < results->group_count; i++) {
        struct triage_group *group = &results->groups[i];
        struct specimen specimen;
        struct text path;
        if (group->reduced == NULL) {
            continue;
        }
        text_init(&path);
        text_printf(&path, "%s/%02zu_", folder, i + 1);
        print_name(group, &path);
        text_append(&path, ".hlo");
        bool ok = triage_read_part(json_get_text(group->reduced, "text"), &specimen, err) &&
                  specimen_write(&specimen, json_get_text(group->reduced, "note"), path.data, err);
        specimen_finish(&specimen);
        group->file = text_take(&path);
        text_finish(&path);
        if (!ok) {
            return false;
        }
    }
    return true;
}

void triage_group_all(struct triage_state *state)
{
    struct triage_results *results = state->results;
    struct error err = {0};
    make_groups(state);
    progress_start(&state->progress, results->group_count);
    triage_threads(state, results->group_count, reduce);
    progress_clear(&state->progress);
    if (state->failed) {
        return;
    }
    triage_join_all(state);
    if (results->group_count > 0) {
        qsort(results->groups, results->group_count, sizeof *results->groups, by_importance);
    }
    if (!write_files(state, &err)) {
        triage_fail(state, &err);
    }
}
