/* The work of `referee run`. Files are handed to threads one by one; what each prints is kept
 * until all earlier files have printed. */
#include "tools/run_job.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/case.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/threads.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/verify.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/modules.h"
#include "tools/parts.h"
#include "tools/progress.h"
#include "tools/run_report.h"

/* What a file has to say, once it is done. */
struct file_report {
    struct text text;
    json_t *entries;
    bool done;
};

struct queue {
    const struct string_list *files;
    const struct run_options *options;
    pthread_mutex_t mutex;
    size_t next, printed;
    struct file_report *reports;
    json_t *all;
    struct progress progress;
    size_t counts[OUTCOME_COUNT], unreadable;
    bool infrastructure_failed;
};

/* The backends of one thread. */
struct team {
    struct backend **backends;
    struct backend **others; /* the same with via_mlir turned round; NULL entries: not yet open */
    struct backend *reference;
};

static const char *uri_at(const struct run_options *options, size_t i)
{
    return options->backends.count > 0 ? options->backends.items[i] : "cpu:";
}

static size_t uri_count(const struct run_options *options)
{
    return options->backends.count > 0 ? options->backends.count : 1;
}

static void team_close(struct team *team, size_t count)
{
    for (size_t i = 0; team->backends != NULL && i < count; i++) {
        backend_close(team->backends[i]);
        backend_close(team->others[i]);
    }
    backend_close(team->reference);
    free(team->backends);
    free(team->others);
}

static bool team_open(struct team *team, const struct run_options *options, struct error *err)
{
    size_t count = uri_count(options);
    team->backends = memory_zalloc(count * sizeof *team->backends);
    team->others = memory_zalloc(count * sizeof *team->others);
    for (size_t i = 0; i < count; i++) {
        team->backends[i] = backend_open(uri_at(options, i), &options->backend, err);
        if (team->backends[i] == NULL) {
            return false;
        }
    }
    const char *uri = options->reference != NULL ? options->reference : "interp:";
    team->reference = backend_open(uri, &options->backend, err);
    return team->reference != NULL;
}

static void count_outcome(struct queue *queue, enum outcome outcome)
{
    pthread_mutex_lock(&queue->mutex);
    queue->counts[outcome]++;
    pthread_mutex_unlock(&queue->mutex);
}

static void unreadable(struct queue *queue, struct file_report *report, const char *name,
                       const struct error *err)
{
    struct text problem;
    text_init(&problem);
    error_print(err, &problem);
    report_unread_text(name, problem.data, &report->text);
    json_array_append_new(report->entries, report_unread_json(name, problem.data));
    text_finish(&problem);
    pthread_mutex_lock(&queue->mutex);
    queue->unreadable++;
    pthread_mutex_unlock(&queue->mutex);
}

/* The golden itself against "//@ expect" lines: a difference is ours. */
static void check_expected(const struct case_header *header,
                           const struct differential_result *result, struct text *out)
{
    if (header->expected_count == 0 || result->reference.outcome != OUTCOME_PASS) {
        return;
    }
    struct text picture;
    text_init(&picture);
    if (!case_header_check_devices(header, result->reference.outputs, result->device_count,
                                   &picture)) {
        text_printf(out, "    the reference differs from the //@ expect lines:\n%s", picture.data);
    }
    text_finish(&picture);
}

/* Says "MATCHED n of m" per opcode problem; isolated findings are printed as they come. */
struct isolate_context {
    struct queue *queue;
    struct file_report *report;
    const char *module, *uri;
    size_t judged, bad;
    bool verbose;
};

static void report_isolated(void *opaque, const struct isolated *isolated)
{
    struct isolate_context *context = opaque;
    bool good = isolated->outcome == OUTCOME_PASS;
    context->judged++;
    context->bad += !good && isolated->outcome != OUTCOME_VACUOUS;
    json_array_append_new(context->report->entries,
                          json_pack("{s:s, s:s, s:s, s:s, s:s, s:f, s:f, s:i, s:s}", "module",
                                    context->module, "backend", context->uri, "instruction",
                                    isolated->instruction->name, "opcode",
                                    opcode_text(isolated->instruction->opcode), "outcome",
                                    outcome_text(isolated->outcome), "largest_ulps",
                                    isolated->largest_ulps, "allowed_ulps", isolated->allowed_ulps,
                                    "repeats", isolated->repeats, "message", isolated->message));
    count_outcome(context->queue, isolated->outcome);
    if (good && !context->verbose) {
        return;
    }
    text_printf(&context->report->text, "%-13s %s  %s  %s %s", outcome_text(isolated->outcome),
                context->module, context->uri, isolated->instruction->name,
                opcode_text(isolated->instruction->opcode));
    text_printf(&context->report->text, "  %.4g ulp (allowed %.4g)\n", isolated->largest_ulps,
                isolated->allowed_ulps);
    if (!good) {
        text_printf(&context->report->text, "%s%s%s", isolated->message,
                    isolated->message[0] != '\0' ? "\n" : "", isolated->picture);
    }
}

static void isolate(struct queue *queue, struct team *team, const struct loaded_module *part,
                    const struct differential_options *differential, struct file_report *report)
{
    for (size_t i = 0; i < uri_count(queue->options); i++) {
        struct error err = {0};
        struct isolate_context context = {.queue = queue,
                                          .report = report,
                                          .module = part->name,
                                          .uri = uri_at(queue->options, i),
                                          .verbose = queue->options->verbose};
        if (!isolate_run(part->module, team->backends[i], differential, report_isolated, &context,
                         &err)) {
            unreadable(queue, report, part->name, &err);
            continue;
        }
        text_printf(&report->text, "%-13s %s  %s  %zu instructions alone, %zu differ\n",
                    context.bad == 0 ? "ISOLATED" : "DIFFER", part->name, context.uri,
                    context.judged, context.bad);
    }
}

static void add_saved(struct literal_sets *sets, const struct differential_result *result)
{
    sets->sets = memory_realloc(sets->sets, ((size_t)sets->count + 1) * sizeof *sets->sets);
    struct literal_set *set = &sets->sets[sets->count++];
    *set = (struct literal_set){.count = result->argument_count};
    set->arguments = memory_zalloc((size_t)result->argument_count * sizeof *set->arguments);
    for (int i = 0; i < result->argument_count; i++) {
        set->arguments[i] = literal_retain(result->arguments[i]);
    }
    if (result->actual.outputs != NULL && result->actual.outputs[0] != NULL) {
        set->result = literal_retain(result->actual.outputs[0]);
    }
    if (result->reference.outputs != NULL && result->reference.outputs[0] != NULL) {
        set->reference_result = literal_retain(result->reference.outputs[0]);
    }
}

static void print_literal(const char *label, const struct literal *literal, struct text *out)
{
    text_printf(out, "%s: ", label);
    shape_print(literal->shape, false, out);
    text_char(out, ' ');
    literal_print(literal, true, 1000, out);
    text_char(out, '\n');
}

static void print_literals(const struct differential_result *result, struct text *out)
{
    char label[32];
    for (int i = 0; i < result->argument_count; i++) {
        snprintf(label, sizeof label, "argument %d", i);
        print_literal(label, result->arguments[i], out);
    }
    if (result->actual.outputs != NULL && result->actual.outputs[0] != NULL) {
        print_literal("result", result->actual.outputs[0], out);
    }
    if (result->reference.outputs != NULL && result->reference.outputs[0] != NULL) {
        print_literal("reference", result->reference.outputs[0], out);
    }
}

/* A module that did not pass goes the other way too, as HLO or as MLIR: does it pass then? */
static void name_side(const struct run_options *options, struct team *team, size_t i,
                      const struct module *module, const struct differential_options *differential,
                      struct differential_result *result)
{
    struct error err = {0};
    struct backend_options other = options->backend;
    other.via_mlir = !other.via_mlir;
    if (team->others[i] == NULL) {
        team->others[i] = backend_open(uri_at(options, i), &other, &err);
    }
    if (team->others[i] == NULL || backend_is_golden(team->others[i])) {
        return;
    }
    struct differential_options same = *differential;
    struct differential_result again;
    same.arguments = result->arguments;
    same.argument_count = result->argument_count;
    differential_run(module, team->others[i], team->reference, &same, &again);
    const char *way = other.via_mlir ? "MLIR" : "HLO", *why = "";
    switch (again.outcome) {
    case OUTCOME_PASS:
        why = "the difference arises where StableHLO becomes HLO, there or here";
        break;
    case OUTCOME_UNSUPPORTED:
        why = again.message;
        break;
    default:
        why = again.outcome == result->outcome ? "how it is sent is not the cause" : again.message;
        break;
    }
    struct text notes;
    text_init(&notes);
    text_printf(&notes, "%ssent as %s: %s: %s\n", result->notes, way, outcome_text(again.outcome),
                why);
    free(result->notes);
    result->notes = text_take(&notes);
    text_finish(&notes);
    differential_result_finish(&again);
}

static void run_once(struct queue *queue, struct team *team, const struct loaded_module *part,
                     const char *path, const struct case_header *header,
                     const struct arguments *arguments, int iteration, struct file_report *report,
                     struct literal_sets *saved)
{
    const struct run_options *options = queue->options;
    struct differential_options differential = options->differential;
    differential.inputs.seed = (uint64_t)options->seed + (uint64_t)iteration;
    differential.inputs.unverified = !options->verify;
    if (arguments->count > 0) {
        differential.arguments = arguments->literals;
        differential.argument_count = arguments->count;
    }
    if (options->isolate) {
        isolate(queue, team, part, &differential, report);
        return;
    }
    for (size_t i = 0; i < uri_count(options); i++) {
        struct differential_result result;
        differential_run(part->module, team->backends[i], team->reference, &differential, &result);
        if (options->names_side && result.outcome != OUTCOME_PASS) {
            name_side(options, team, i, part->module, &differential, &result);
        }
        struct text command;
        text_init(&command);
        text_append(&command, "referee run ");
        text_shell(&command, path);
        text_append(&command, " --backend ");
        text_quoted(&command, uri_at(options, i));
        text_printf(&command, " --seed %llu%s", (unsigned long long)differential.inputs.seed,
                    options->repeat_options);
        struct run_entry entry = {
            .module = part->name,
            .backend = uri_at(options, i),
            .reference = options->reference != NULL ? options->reference : "interp:",
            .inputs = argument_source_text(arguments->source),
            .iteration = iteration,
            .command = command.data,
            .timeout = backend_timeout(team->backends[i]),
            .failing_options = options->failing_options,
            .passes_options = options->passes_options,
        };
        bool quiet = options->quiet && result.outcome == OUTCOME_PASS;
        if (!quiet) {
            report_text(&entry, &result, options->verbose, &report->text);
        }
        if (options->print_literals) {
            print_literals(&result, &report->text);
        }
        check_expected(header, &result, &report->text);
        json_array_append_new(report->entries, report_json(&entry, &result));
        count_outcome(queue, result.outcome);
        if (saved != NULL && i == 0) {
            add_saved(saved, &result);
        }
        differential_result_finish(&result);
        text_finish(&command);
    }
}

static void run_part(struct queue *queue, struct team *team, struct loaded_module *part,
                     const char *path, struct file_report *report, struct literal_sets *saved)
{
    const struct run_options *options = queue->options;
    struct error err = {0};
    if (!part_refine(part, &options->shapes, &options->inputs, &err) || part->error != NULL) {
        unreadable(queue, report, part->name, err.code != ERROR_NONE ? &err : part->error);
        return;
    }
    struct findings findings = {0};
    set_device_counts(part->module, options->differential.replica_count,
                      options->differential.partition_count);
    if (options->verify && !verify_module(part->module, &findings)) {
        error_at(&err, findings.list[0].where, "%s", findings.list[0].text);
        findings_finish(&findings);
        unreadable(queue, report, part->name, &err);
        return;
    }
    findings_finish(&findings);
    struct case_header header;
    if (!case_header_read(part->header, part->name, &header, &err)) {
        unreadable(queue, report, part->name, &err);
        return;
    }
    if (part->warnings[0] != '\0' && options->verbose) {
        text_printf(&report->text, "%s: warning: %s", part->name, part->warnings);
    }
    for (int i = 0; i < options->iterations; i++) {
        struct arguments arguments;
        if (!arguments_find(part, &header, &options->inputs, i, &arguments, &err)) {
            unreadable(queue, report, part->name, &err);
            break;
        }
        run_once(queue, team, part, path, &header, &arguments, i, report, saved);
        arguments_finish(&arguments);
    }
    case_header_finish(&header);
}

static void run_file(struct queue *queue, struct team *team, size_t index)
{
    const char *path = queue->files->items[index];
    struct file_report *report = &queue->reports[index];
    struct loaded_file file;
    struct error err = {0};
    struct literal_sets saved = {0};
    if (!module_load(path, &file, &err)) {
        unreadable(queue, report, path, &err);
        return;
    }
    for (int i = 0; i < file.count; i++) {
        run_part(queue, team, &file.modules[i], path, report,
                 queue->options->save_literals != NULL ? &saved : NULL);
    }
    loaded_file_finish(&file);
    if (queue->options->save_literals != NULL) {
        size_t size;
        void *bytes = proto_write_literals(&saved, &size, &err);
        if (bytes == NULL || !file_write(queue->options->save_literals, bytes, size, &err)) {
            print_error(&err);
            queue->infrastructure_failed = true;
        }
        free(bytes);
        literal_sets_finish(&saved);
    }
}

/* Prints the reports that are next in order. The mutex is held. */
static void flush_reports(struct queue *queue)
{
    while (queue->printed < queue->files->count && queue->reports[queue->printed].done) {
        struct file_report *report = &queue->reports[queue->printed++];
        progress_clear(&queue->progress);
        fputs(report->text.data, stdout);
        fflush(stdout);
        text_finish(&report->text);
        json_array_extend(queue->all, report->entries);
        json_decref(report->entries);
    }
}

static void *work(void *opaque)
{
    struct queue *queue = opaque;
    struct team team = {0};
    struct error err = {0};
    bool opened = team_open(&team, queue->options, &err);
    pthread_mutex_lock(&queue->mutex);
    if (!opened && !queue->infrastructure_failed) {
        print_error(&err);
        queue->infrastructure_failed = true;
    }
    while (opened && queue->next < queue->files->count) {
        size_t index = queue->next++;
        text_init(&queue->reports[index].text);
        queue->reports[index].entries = json_array();
        pthread_mutex_unlock(&queue->mutex);
        run_file(queue, &team, index);
        pthread_mutex_lock(&queue->mutex);
        queue->reports[index].done = true;
        flush_reports(queue);
        progress_step(&queue->progress, queue->files->items[index]);
    }
    pthread_mutex_unlock(&queue->mutex);
    team_close(&team, uri_count(queue->options));
    return NULL;
}

/* Versions, flags and options of every backend, for the report. */
static json_t *describe_backends(const struct run_options *options)
{
    json_t *list = json_array();
    for (size_t i = 0; i < uri_count(options); i++) {
        struct error err = {0};
        struct text text;
        text_init(&text);
        struct backend *backend = backend_open(uri_at(options, i), &options->backend, &err);
        json_t *object = NULL;
        if (backend != NULL && backend_describe(backend, &text, &err)) {
            object = json_loads(text.data, 0, NULL);
        }
        json_array_append_new(
            list, object != NULL
                      ? object
                      : json_pack("{s:s, s:s}", "uri", uri_at(options, i), "error", err.message));
        backend_close(backend);
        text_finish(&text);
    }
    return list;
}

static bool write_report(const struct queue *queue)
{
    json_t *outcomes = json_object();
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        if (queue->counts[i] > 0) {
            json_object_set_new(outcomes, outcome_text((enum outcome)i),
                                json_integer((json_int_t)queue->counts[i]));
        }
    }
    if (queue->unreadable > 0) {
        json_object_set_new(outcomes, "UNREADABLE", json_integer((json_int_t)queue->unreadable));
    }
    json_t *root = json_pack("{s:o, s:o, s:O}", "outcomes", outcomes, "backends",
                             describe_backends(queue->options), "runs", queue->all);
    bool ok = write_json(queue->options->json, root);
    json_decref(root);
    return ok;
}

int run_files(const struct string_list *files, const struct run_options *options,
              size_t counts[OUTCOME_COUNT], size_t *unreadable_count)
{
    struct queue queue = {.files = files,
                          .options = options,
                          .mutex = PTHREAD_MUTEX_INITIALIZER,
                          .all = json_array()};
    set_memory_limit(options->memory, MEMORY_BESIDE_BACKENDS);
    queue.reports = memory_zalloc(files->count * sizeof *queue.reports);
    progress_start(&queue.progress, files->count);
    size_t jobs = options->jobs < 1 ? 1 : (size_t)options->jobs;
    jobs = jobs < files->count ? jobs : files->count;
    threads_run(jobs, work, &queue);
    progress_clear(&queue.progress);
    bool wrote = options->json == NULL || write_report(&queue);
    memcpy(counts, queue.counts, sizeof queue.counts);
    *unreadable_count = queue.unreadable;
    int status = EXIT_AS_EXPECTED;
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        if (i != OUTCOME_PASS && queue.counts[i] > 0) {
            status = EXIT_FINDINGS;
        }
    }
    if (queue.unreadable > 0) {
        status = EXIT_USAGE;
    }
    if (queue.infrastructure_failed || !wrote) {
        status = EXIT_INFRASTRUCTURE;
    }
    json_decref(queue.all);
    free(queue.reports);
    return status;
}
