/* Records of the gate: in memory, as JSON, in a journal. */
#include "corpus/gate_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"

static const char report_format[] = "referee-gate";
enum { REPORT_VERSION = 1 };

const char *gate_status_text(enum gate_status status)
{
    static const char *const texts[GATE_STATUS_COUNT] = {"as expected", "unexpected", "known",
                                                         "quarantined"};
    return texts[status];
}

/* --- runs --- */

/* The texts of a run and their names in JSON. */
struct text_field {
    const char *name;
    size_t offset;
};
#define FIELD(name, member)                     \
    {                                           \
        name, offsetof(struct gate_run, member) \
    }
static const struct text_field text_fields[] = {
    FIELD("suite", suite),     FIELD("case", name),         FIELD("backend", backend),
    FIELD("outcome", outcome), FIELD("expected", expected), FIELD("reason", reason),
    FIELD("message", message), FIELD("picture", picture),   FIELD("command", command),
    FIELD("file", file),       FIELD("manifest", manifest), FIELD("next", next),
};
#undef FIELD
enum { TEXT_FIELDS = sizeof text_fields / sizeof *text_fields };

static char **text_at(const struct gate_run *run, int field)
{
    return (char **)((char *)(uintptr_t)run + text_fields[field].offset);
}

void gate_report_init(struct gate_report *report)
{
    *report = (struct gate_report){.shard = "1/1"};
}

void gate_report_finish(struct gate_report *report)
{
    for (size_t i = 0; i < report->count; i++) {
        for (int k = 0; k < TEXT_FIELDS; k++) {
            free(*text_at(&report->runs[i], k));
        }
    }
    free(report->runs);
    *report = (struct gate_report){0};
}

void gate_run_set(char **text, const char *value)
{
    char *copy = memory_strdup(value);
    free(*text);
    *text = copy;
}

struct gate_run *gate_report_add(struct gate_report *report, const char *suite, const char *name,
                                 const char *backend, int64_t seed)
{
    report->runs = grow(report->runs, report->count, &report->capacity, sizeof *report->runs);
    struct gate_run *run = &report->runs[report->count++];
    *run = (struct gate_run){.seed = seed};
    for (int k = 0; k < TEXT_FIELDS; k++) {
        *text_at(run, k) = memory_strdup("");
    }
    gate_run_set(&run->suite, suite);
    gate_run_set(&run->name, name);
    gate_run_set(&run->backend, backend);
    return run;
}

static int by_identity(const void *left, const void *right)
{
    const struct gate_run *a = *(const struct gate_run *const *)left;
    const struct gate_run *b = *(const struct gate_run *const *)right;
    int order = strcmp(a->suite, b->suite);
    order = order != 0 ? order : strcmp(a->name, b->name);
    order = order != 0 ? order : strcmp(a->backend, b->backend);
    return order != 0 ? order : (a->seed > b->seed) - (a->seed < b->seed);
}

void gate_index_make(const struct gate_report *report, struct gate_index *index)
{
    index->count = report->count;
    index->sorted = memory_alloc((report->count + 1) * sizeof *index->sorted);
    for (size_t i = 0; i < report->count; i++) {
        index->sorted[i] = &report->runs[i];
    }
    qsort(index->sorted, index->count, sizeof *index->sorted, by_identity);
}

void gate_index_finish(struct gate_index *index)
{
    free(index->sorted);
    *index = (struct gate_index){0};
}

const struct gate_run *gate_index_find(const struct gate_index *index, const struct gate_run *like)
{
    if (index->count == 0) {
        return NULL;
    }
    const struct gate_run *const *found =
        bsearch(&like, index->sorted, index->count, sizeof *index->sorted, by_identity);
    return found != NULL ? *found : NULL;
}

size_t gate_report_count(const struct gate_report *report, enum gate_status status)
{
    size_t count = 0;
    for (size_t i = 0; i < report->count; i++) {
        count += report->runs[i].done && report->runs[i].status == status;
    }
    return count;
}

void gate_report_apply_baseline(struct gate_report *report, const struct gate_report *baseline)
{
    struct gate_index index;
    gate_index_make(baseline, &index);
    for (size_t i = 0; i < report->count; i++) {
        struct gate_run *run = &report->runs[i];
        const struct gate_run *before = gate_index_find(&index, run);
        if (run->status == GATE_UNEXPECTED && before != NULL &&
            before->status != GATE_AS_EXPECTED && strcmp(before->outcome, run->outcome) == 0) {
            run->status = GATE_KNOWN;
        }
    }
    gate_index_finish(&index);
}

/* --- JSON --- */

static json_t *json_of_text(const char *string)
{
    struct text text;
    text_init(&text);
    for (const char *at = string; *at != '\0';) {
        int length = utf8_length(at);
        text_append_n(&text, length > 0 ? at : "?", length > 0 ? (size_t)length : 1);
        at += length > 0 ? length : 1;
    }
    json_t *value = json_string(text.data);
    text_finish(&text);
    return value;
}

json_t *gate_run_json(const struct gate_run *run)
{
    json_t *object = json_object();
    for (int k = 0; k < TEXT_FIELDS; k++) {
        json_object_set_new(object, text_fields[k].name, json_of_text(*text_at(run, k)));
    }
    json_object_set_new(object, "seed", json_integer(run->seed));
    json_object_set_new(object, "status", json_string(gate_status_text(run->status)));
    json_object_set_new(object, "line", json_integer(run->line));
    json_object_set_new(object, "content", json_integer((json_int_t)run->content));
    json_object_set_new(object, "golden_differs", json_boolean(run->golden_differs));
    json_object_set_new(object, "seconds", json_real(run->seconds));
    json_object_set_new(object, "largest_ulps",
                        isfinite(run->largest_ulps) ? json_real(run->largest_ulps) : json_null());
    json_t *buckets = json_array();
    for (int i = 0; i < COMPARE_BUCKETS; i++) {
        json_array_append_new(buckets, json_integer(run->buckets[i]));
    }
    json_object_set_new(object, "buckets", buckets);
    return object;
}

json_t *gate_report_json(const struct gate_report *report)
{
    json_t *runs = json_array();
    for (size_t i = 0; i < report->count; i++) {
        if (report->runs[i].done) {
            json_array_append_new(runs, gate_run_json(&report->runs[i]));
        }
    }
    json_t *object = json_object();
    json_object_set_new(object, "format", json_string(report_format));
    json_object_set_new(object, "version", json_integer(REPORT_VERSION));
    json_object_set_new(object, "date", json_string(report->date));
    json_object_set_new(object, "shard", json_string(report->shard));
    json_object_set_new(object, "runs", runs);
    return object;
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_null(value) ? INFINITY : json_number_value(value);
}

static int64_t integer_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* False when a name or the status is missing. */
static bool read_run(const json_t *object, struct gate_report *report)
{
    const char *status = json_string_value(json_object_get(object, "status"));
    for (int k = 0; k < 4; k++) { /* suite, case, backend, outcome */
        if (!json_is_string(json_object_get(object, text_fields[k].name))) {
            return false;
        }
    }
    int s = 0;
    while (s < GATE_STATUS_COUNT &&
           (status == NULL || strcmp(status, gate_status_text((enum gate_status)s)) != 0)) {
        s++;
    }
    if (s == GATE_STATUS_COUNT) {
        return false;
    }
    struct gate_run *run = gate_report_add(report, "", "", "", integer_of(object, "seed"));
    for (int k = 0; k < TEXT_FIELDS; k++) {
        const char *value = json_string_value(json_object_get(object, text_fields[k].name));
        gate_run_set(text_at(run, k), value != NULL ? value : "");
    }
    run->status = (enum gate_status)s;
    run->line = (int)integer_of(object, "line");
    run->content = (uint64_t)integer_of(object, "content");
    run->golden_differs = json_is_true(json_object_get(object, "golden_differs"));
    run->seconds = number_of(object, "seconds");
    run->largest_ulps = number_of(object, "largest_ulps");
    const json_t *buckets = json_object_get(object, "buckets");
    for (int i = 0; i < COMPARE_BUCKETS; i++) {
        run->buckets[i] = json_integer_value(json_array_get(buckets, (size_t)i));
    }
    run->done = true;
    return true;
}

static void copy_text(const json_t *object, const char *key, char *out, size_t size)
{
    const char *value = json_string_value(json_object_get(object, key));
    strncpy(out, value != NULL ? value : "", size - 1);
}

static bool read_report(const char *path, const json_t *object, struct gate_report *report,
                        struct error *err)
{
    const char *format = json_string_value(json_object_get(object, "format"));
    if (format == NULL || strcmp(format, report_format) != 0) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "%s is no report of the gate", path);
    }
    if (integer_of(object, "version") != REPORT_VERSION) {
        return error_set(err, ERROR_INVALID_ARGUMENT,
                         "%s has version %lld of the format; version %d is known", path,
                         (long long)integer_of(object, "version"), REPORT_VERSION);
    }
    copy_text(object, "date", report->date, sizeof report->date);
    copy_text(object, "shard", report->shard, sizeof report->shard);
    const json_t *runs = json_object_get(object, "runs");
    for (size_t i = 0; i < json_array_size(runs); i++) {
        if (!read_run(json_array_get(runs, i), report)) {
            return error_set(err, ERROR_INVALID_ARGUMENT, "%s: run %zu lacks a name or its status",
                             path, i);
        }
    }
    return true;
}

bool gate_report_load(const char *path, struct gate_report *report, struct error *err)
{
    gate_report_init(report);
    size_t size;
    char *data = file_read(path, &size, err);
    if (data == NULL) {
        return false;
    }
    json_error_t problem;
    json_t *object = json_loadb(data, size, 0, &problem);
    bool ok = object != NULL;
    if (!ok) {
        struct where where = {path, problem.line, problem.column};
        error_at(err, where, "%s", problem.text);
        error_quote(err, data, size);
    } else {
        ok = read_report(path, object, report, err);
    }
    json_decref(object);
    free(data);
    if (!ok) {
        gate_report_finish(report);
    }
    return ok;
}

/* --- the journal --- */

bool gate_journal_open(const char *path, struct gate_journal *journal, struct error *err)
{
    gate_report_init(&journal->past);
    bool ok = journal_open(path, &journal->journal, err);
    const json_t *past = journal->journal.past;
    for (size_t i = 0; ok && i < json_array_size(past); i++) {
        ok = read_run(json_array_get(past, i), &journal->past) ||
             error_at(err, (struct where){path, (int)i + 1, 1},
                      "this is no line of a journal of the gate");
    }
    if (!ok) {
        gate_journal_close(journal);
    }
    return ok;
}

bool gate_journal_write(struct gate_journal *journal, const struct gate_run *run, struct error *err)
{
    json_t *object = gate_run_json(run);
    bool ok = journal_write(&journal->journal, object, err);
    json_decref(object);
    return ok;
}

void gate_journal_close(struct gate_journal *journal)
{
    journal_close(&journal->journal);
    gate_report_finish(&journal->past);
}
