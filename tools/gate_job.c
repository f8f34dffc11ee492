/* The gate's runs. Threads take units, a case on a backend each, in order; what each prints is kept
 * until all earlier ones have printed. */
#include "tools/gate_job.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/profile.h"
#include "corpus/case.h"
#include "corpus/manifest.h"
#include "hlo/base/arena.h"
#include "hlo/base/clock.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/map.h"
#include "hlo/base/text.h"
#include "hlo/base/threads.h"
#include "hlo/module.h"
#include "hlo/verify.h"
#include "tools/arguments.h"
#include "tools/modules.h"
#include "tools/next_commands.h"
#include "tools/progress.h"

/* A case on a backend: the runs [first, first + test->seed_count) of the report. */
struct unit {
    const struct manifest *manifest;
    const struct test_case *test;
    const char *backend;
    size_t first;
    char *printed; /* once it is done */
    bool done;
};

struct work {
    const struct gate_options *options;
    struct gate_report *report;
    size_t count, capacity;
    struct unit *units;
    struct gate_journal journal;
    struct gate_index past;
    bool has_journal;
    pthread_mutex_t mutex;
    size_t next, shown;
    bool stopped;
    struct error *err;
    struct progress progress;
};

/* The backends of one thread, opened when they are first needed. */
struct open_backend {
    const char *uri;
    double timeout;
    bool poison;
    struct backend *backend;
};
struct team {
    size_t count, capacity;
    struct open_backend *list;
    struct backend *reference;
};

static struct backend *team_backend(struct team *team, const char *uri,
                                    const struct test_case *test, struct error *err)
{
    for (size_t i = 0; i < team->count; i++) {
        const struct open_backend *open = &team->list[i];
        if (strcmp(open->uri, uri) == 0 && open->timeout == test->timeout &&
            open->poison == test->poison) {
            return open->backend;
        }
    }
    struct backend_options options = {.timeout = test->timeout, .poison = test->poison};
    struct backend *backend = backend_open(uri, &options, err);
    if (backend != NULL) {
        team->list = grow(team->list, team->count, &team->capacity, sizeof *team->list);
        team->list[team->count++] =
            (struct open_backend){uri, test->timeout, test->poison, backend};
    }
    return backend;
}

static void team_close(struct team *team)
{
    for (size_t i = 0; i < team->count; i++) {
        backend_close(team->list[i].backend);
    }
    free(team->list);
    backend_close(team->reference);
}

/* --- what a run means --- */

/* Sets the status and its reason by what the case expects of the backend. */
static void judge(const struct gate_options *options, const struct test_case *test,
                  struct gate_run *run)
{
    const struct expectation *expectation = case_expectation(test, run->backend);
    const char *wanted = outcome_text(expectation != NULL ? expectation->outcome : OUTCOME_PASS);
    struct text reason;
    text_init(&reason);
    gate_run_set(&run->expected, wanted);
    run->status = GATE_UNEXPECTED;
    if (run->golden_differs) {
        text_append(&reason, "the golden differs from the //@ expect lines");
    } else if (strcmp(run->outcome, wanted) != 0) {
        text_printf(&reason, "expected %s%s%s", wanted, expectation != NULL ? ": " : "",
                    expectation != NULL ? expectation->reason : "");
    } else if (expectation != NULL && expectation_expired(expectation, options->today)) {
        text_printf(&reason, "the expectation ended on %s: %s", expectation->until,
                    expectation->reason);
    } else {
        run->status = GATE_AS_EXPECTED;
        text_append(&reason, expectation != NULL ? expectation->reason : "");
    }
    const struct expectation *quarantine = test->quarantine;
    if (quarantine != NULL && run->status == GATE_UNEXPECTED) {
        bool over = expectation_expired(quarantine, options->today);
        text_printf(&reason, over ? "; its quarantine ended on %s (%s)" : "; in quarantine%s: %s",
                    over ? quarantine->until : "", quarantine->reason);
        run->status = over ? GATE_UNEXPECTED : GATE_QUARANTINED;
    }
    gate_run_set(&run->reason, reason.data);
    text_finish(&reason);
}

static void print_run(const struct gate_run *run, bool verbose, struct text *out)
{
    if (run->status == GATE_AS_EXPECTED && !verbose) {
        return;
    }
    text_printf(out, "%-13s %s/%s  %s seed %lld", run->outcome, run->suite, run->name, run->backend,
                (long long)run->seed);
    if (run->status == GATE_AS_EXPECTED) {
        text_printf(out, "%s%s\n", run->reason[0] != '\0' ? "  as expected: " : "", run->reason);
        return;
    }
    text_printf(out, "  %s\n%s%s%s    again: %s\n", run->reason, run->message,
                run->message[0] != '\0' ? "\n" : "", run->picture, run->command);
    text_append_lines(run->next, "    ", out);
}

/* How a case is run, as options of `run`, `bisect` and `shrink`. */
static void append_case_options(const struct test_case *test, struct text *out)
{
    if (test->tolerance != TOLERANCE_DEFAULT) {
        text_printf(out, " --tolerance %s", tolerance_kind_text(test->tolerance));
    }
    if (test->profile != NULL) {
        text_printf(out, " --profile %s", test->profile->name);
    }
    if (test->poison) {
        text_append(out, " --poison");
    }
    if (test->timeout > 0) {
        text_printf(out, " --timeout %g", test->timeout);
    }
}

/* What to type after a run that did not pass. */
static void take_next(const struct test_case *test, const struct arguments *arguments,
                      const struct differential_result *result, struct gate_run *run)
{
    struct text options, passes, next;
    text_init(&options);
    text_init(&passes);
    text_init(&next);
    append_case_options(test, &options);
    if (test->profile != NULL) {
        text_printf(&passes, " --profile %s", test->profile->name);
    }
    const struct run_entry entry = {.module = test->file,
                                    .backend = run->backend,
                                    .reference = "interp:",
                                    .inputs = argument_source_text(arguments->source),
                                    .failing_options = options.data,
                                    .passes_options = passes.data};
    next_commands_text(&entry, result, "", &next);
    gate_run_set(&run->next, next.data);
    text_finish(&options);
    text_finish(&passes);
    text_finish(&next);
}

/* --- one unit --- */

/* Fills in a run that has its outcome and what it has to say, and keeps it. */
static void finish_run(struct work *work, const struct unit *unit, struct gate_run *run,
                       struct text *printed)
{
    judge(work->options, unit->test, run);
    print_run(run, work->options->verbose, printed);
    pthread_mutex_lock(&work->mutex);
    run->done = true;
    if (work->has_journal && !work->stopped &&
        !gate_journal_write(&work->journal, run, work->err)) {
        work->stopped = true;
    }
    pthread_mutex_unlock(&work->mutex);
}

static void refuse(struct work *work, const struct unit *unit, const struct error *err,
                   struct text *printed)
{
    struct text message;
    text_init(&message);
    error_print(err, &message);
    for (int i = 0; i < unit->test->seed_count; i++) {
        struct gate_run *run = &work->report->runs[unit->first + (size_t)i];
        if (!run->done) {
            gate_run_set(&run->outcome, "UNREADABLE");
            gate_run_set(&run->message, message.data);
            finish_run(work, unit, run, printed);
        }
    }
    text_finish(&message);
}

static void take_result(const struct differential_result *result, struct gate_run *run)
{
    gate_run_set(&run->outcome, outcome_text(result->outcome));
    gate_run_set(&run->message, result->message);
    struct text picture;
    text_init(&picture);
    text_printf(&picture, "%s%s", result->picture, result->notes);
    gate_run_set(&run->picture, picture.data);
    for (int i = 0; i < result->comparison.leaf_count; i++) {
        const struct leaf_comparison *leaf = &result->comparison.leaves[i];
        if (leaf->largest_ulps > run->largest_ulps) {
            run->largest_ulps = leaf->largest_ulps;
        }
        for (int k = 0; k < COMPARE_BUCKETS; k++) {
            run->buckets[k] += leaf->buckets[k];
        }
    }
    text_finish(&picture);
}

static void run_seed(struct work *work, const struct unit *unit, struct team *team,
                     const struct loaded_module *part, const struct case_header *header,
                     const struct arguments *arguments, struct backend *backend,
                     struct gate_run *run, struct text *printed)
{
    struct differential_options options = {
        .inputs = {.seed = (uint64_t)run->seed},
        .arguments = arguments->count > 0 ? arguments->literals : NULL,
        .argument_count = arguments->count,
        .tolerance = unit->test->tolerance,
        .profile = unit->test->profile,
        .abs_error_bound = 1e-3,
        .rel_error_bound = 1e-3,
    };
    struct differential_result result;
    double start = clock_seconds();
    differential_run(part->module, backend, team->reference, &options, &result);
    take_result(&result, run);
    take_next(unit->test, arguments, &result, run);
    run->seconds = clock_seconds() - start;
    if (header->expected_count > 0 && result.reference.outcome == OUTCOME_PASS) {
        struct text picture;
        text_init(&picture);
        run->golden_differs = !case_header_check_devices(header, result.reference.outputs,
                                                         result.device_count, &picture);
        if (run->golden_differs) {
            text_append(&picture, run->picture);
            gate_run_set(&run->picture, picture.data);
        }
        text_finish(&picture);
    }
    finish_run(work, unit, run, printed);
    differential_result_finish(&result);
}

/* Everything of the unit that the journal does not have. False when the backend cannot be opened.
 */
static bool run_unit(struct work *work, const struct unit *unit, struct team *team,
                     struct text *printed, struct error *err)
{
    const struct test_case *test = unit->test;
    struct backend *backend = team_backend(team, unit->backend, test, err);
    struct loaded_file file = {0};
    struct error problem = {0};
    if (backend == NULL) {
        return false;
    }
    if (!module_load(test->file, &file, &problem)) {
        refuse(work, unit, &problem, printed);
        return true;
    }
    const struct loaded_module *part = &file.modules[0];
    struct case_header header = {0};
    struct arguments arguments = {0};
    struct findings findings = {0};
    const struct string_list none = {0};
    if (file.count != 1) {
        error_set(&problem, ERROR_INVALID_ARGUMENT, "a case holds one module, %s holds %d",
                  test->file, file.count);
    } else if (part->error != NULL) {
        problem = *part->error;
    } else if (!verify_module(part->module, &findings)) {
        error_at(&problem, findings.list[0].where, "%s", findings.list[0].text);
    } else if (case_header_read(part->header, part->name, &header, &problem)) {
        arguments_find(part, &header, &none, 0, &arguments, &problem);
    }
    if (problem.code != ERROR_NONE) {
        refuse(work, unit, &problem, printed);
    }
    for (int i = 0; problem.code == ERROR_NONE && i < test->seed_count; i++) {
        struct gate_run *run = &work->report->runs[unit->first + (size_t)i];
        if (!run->done) {
            run_seed(work, unit, team, part, &header, &arguments, backend, run, printed);
        }
    }
    findings_finish(&findings);
    arguments_finish(&arguments);
    case_header_finish(&header);
    loaded_file_finish(&file);
    return true;
}

/* --- the plan --- */

/* Of the module and of how the case is run. */
static uint64_t case_hash(const struct test_case *test)
{
    size_t size = 0;
    struct error ignored = {0};
    char *data = file_read(test->file, &size, &ignored);
    uint64_t hash = data != NULL ? hash_bytes(data, size, 0) : 0;
    free(data);
    const char *profile = test->profile != NULL ? test->profile->name : "";
    hash = hash_bytes(profile, strlen(profile), hash_u64((uint64_t)test->tolerance, hash));
    hash = hash_u64(test->poison, hash);
    return hash_bytes((const char *)&test->timeout, sizeof test->timeout, hash) >>
           1; /* a JSON integer */
}

/* What the journal says of a run, if it is of the same module and options. */
static void recall(const struct work *work, const struct test_case *test, struct gate_run *run,
                   struct text *printed)
{
    const struct gate_run *past = work->has_journal ? gate_index_find(&work->past, run) : NULL;
    if (past == NULL || past->content != run->content) {
        return;
    }
    gate_run_set(&run->outcome, past->outcome);
    gate_run_set(&run->message, past->message);
    gate_run_set(&run->picture, past->picture);
    gate_run_set(&run->next, past->next);
    run->seconds = past->seconds;
    run->largest_ulps = past->largest_ulps;
    memcpy(run->buckets, past->buckets, sizeof run->buckets);
    run->golden_differs = past->golden_differs;
    run->done = true;
    judge(work->options, test, run);
    print_run(run, work->options->verbose, printed);
}

static void make_command(const struct test_case *test, struct gate_run *run)
{
    struct text command;
    text_init(&command);
    text_append(&command, "referee run ");
    text_shell(&command, test->file);
    text_append(&command, " --backend ");
    text_quoted(&command, run->backend);
    text_printf(&command, " --seed %lld", (long long)run->seed);
    append_case_options(test, &command);
    gate_run_set(&run->command, command.data);
    text_finish(&command);
}

static void add_unit(struct work *work, const struct manifest *manifest,
                     const struct test_case *test, uint64_t content, const char *backend)
{
    work->units = grow(work->units, work->count, &work->capacity, sizeof *work->units);
    struct unit *unit = &work->units[work->count++];
    *unit = (struct unit){
        .manifest = manifest, .test = test, .backend = backend, .first = work->report->count};
    struct text printed;
    text_init(&printed);
    for (int i = 0; i < test->seed_count; i++) {
        struct gate_run *run =
            gate_report_add(work->report, manifest->suite, test->name, backend, test->seeds[i]);
        gate_run_set(&run->file, test->file);
        gate_run_set(&run->manifest, manifest->path);
        run->line = test->line;
        run->content = content;
        make_command(test, run);
        recall(work, test, run, &printed);
    }
    unit->printed = text_take(&printed);
    text_finish(&printed);
}

static void plan(struct work *work, const struct manifest *manifests, size_t count)
{
    const struct gate_options *options = work->options;
    size_t position = 0;
    for (size_t m = 0; m < count; m++) {
        const struct manifest *manifest = &manifests[m];
        for (int i = 0; i < manifest->case_count; i++, position++) {
            const struct test_case *test = &manifest->cases[i];
            bool given = options->backends.count > 0, own = test->backend_count > 0;
            char **list = own ? test->backends : manifest->backends;
            size_t backends = given ? options->backends.count
                                    : (size_t)(own ? test->backend_count : manifest->backend_count);
            if (position % (size_t)options->shard_count != (size_t)options->shard - 1) {
                continue;
            }
            uint64_t content = case_hash(test);
            for (size_t b = 0; b < backends; b++) {
                add_unit(work, manifest, test, content,
                         given ? options->backends.items[b] : list[b]);
            }
        }
    }
}

/* --- threads --- */

static bool unit_is_recalled(const struct work *work, const struct unit *unit)
{
    bool all = true;
    for (int i = 0; i < unit->test->seed_count; i++) {
        all &= work->report->runs[unit->first + (size_t)i].done;
    }
    return all;
}

/* Prints what is done up to the first that is not. */
static void show(struct work *work)
{
    while (work->shown < work->count && work->units[work->shown].done) {
        struct unit *unit = &work->units[work->shown++];
        if (unit->printed[0] != '\0') {
            progress_clear(&work->progress);
            fputs(unit->printed, stdout);
            fflush(stdout);
        }
        free(unit->printed);
        unit->printed = NULL;
    }
}

static void *worker(void *context)
{
    struct work *work = context;
    struct team team = {0};
    struct error err = {0};
    team.reference = backend_open("interp:", NULL, &err);
    bool ok = team.reference != NULL;
    for (;;) {
        pthread_mutex_lock(&work->mutex);
        if (!ok && !work->stopped) {
            work->stopped = true;
            *work->err = err;
        }
        size_t i = work->stopped ? work->count : work->next;
        work->next = i < work->count ? i + 1 : work->next;
        pthread_mutex_unlock(&work->mutex);
        if (i >= work->count) {
            break;
        }
        struct unit *unit = &work->units[i];
        struct text printed;
        text_init(&printed);
        text_append(&printed, unit->printed);
        ok = unit_is_recalled(work, unit) || run_unit(work, unit, &team, &printed, &err);
        pthread_mutex_lock(&work->mutex);
        free(unit->printed);
        unit->printed = text_take(&printed);
        unit->done = true;
        show(work);
        progress_step(&work->progress, unit->test->name);
        pthread_mutex_unlock(&work->mutex);
        text_finish(&printed);
    }
    team_close(&team);
    return NULL;
}

bool gate_run(const struct manifest *manifests, size_t count, const struct gate_options *options,
              struct gate_report *report, struct error *err)
{
    struct work work = {.options = options, .report = report, .err = err};
    if (options->journal != NULL) {
        if (!gate_journal_open(options->journal, &work.journal, err)) {
            return false;
        }
        gate_index_make(&work.journal.past, &work.past);
        work.has_journal = true;
    }
    pthread_mutex_init(&work.mutex, NULL);
    plan(&work, manifests, count);
    progress_start(&work.progress, work.count);
    threads_run(options->jobs > 0 ? (size_t)options->jobs : 1, worker, &work);
    progress_clear(&work.progress);
    for (size_t i = 0; i < work.count; i++) {
        free(work.units[i].printed);
    }
    free(work.units);
    if (work.has_journal) {
        gate_index_finish(&work.past);
        gate_journal_close(&work.journal);
    }
    pthread_mutex_destroy(&work.mutex);
    return !work.stopped;
}
