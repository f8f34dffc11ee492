/* Planting faults and looking for them. Threads take units (a case on a backend with one seed of
 * arguments), in order: the run without a fault, then the unit's faults on the same arguments. */
#include "tools/gate_mutants.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/mutant.h"
#include "backend/remember.h"
#include "compare/devices.h"
#include "compare/differential.h"
#include "compare/latitude.h"
#include "corpus/journal.h"
#include "corpus/manifest.h"
#include "hlo/base/arena.h"
#include "hlo/base/clock.h"
#include "hlo/base/error.h"
#include "hlo/base/map.h"
#include "hlo/base/text.h"
#include "hlo/base/threads.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "tools/commands.h"
#include "tools/gate_mutants_plan.h"
#include "tools/gate_mutants_report.h"
#include "tools/modules.h"
#include "tools/progress.h"

/* XLA's rule, as run_hlo_module has it unless told otherwise (tools/run_hlo_module.h). */
static const struct bound xla_bound = {.abs = 1e-3, .rel = 1e-3, .xla_rule = true};

struct work {
    const struct mutants_options *options;
    const struct mutants_plan *plan;
    struct mutants_report *report;
    struct journal journal;
    json_t *past; /* what the journal says of units, by id; NULL: there is none */
    pthread_mutex_t mutex;
    size_t next, recalled;
    bool stopped;
    struct error *err;
    struct progress progress;
};

/* What one thread has open. */
struct open_backend {
    const char *uri;
    double timeout;
    struct backend *backend;
};
struct team {
    size_t count, capacity;
    struct open_backend *list;
    struct backend *golden; /* of changed modules, which have much in common */
    struct backend *reference;
};

static struct backend *team_backend(struct team *team, const char *uri, double timeout,
                                    struct error *err)
{
    for (size_t i = 0; i < team->count; i++) {
        if (strcmp(team->list[i].uri, uri) == 0 && team->list[i].timeout == timeout) {
            return team->list[i].backend;
        }
    }
    struct backend_options options = {.timeout = timeout};
    struct backend *backend = backend_open(uri, &options, err);
    if (backend != NULL) {
        team->list = grow(team->list, team->count, &team->capacity, sizeof *team->list);
        team->list[team->count++] = (struct open_backend){uri, timeout, backend};
    }
    return backend;
}

static bool team_open(struct team *team, struct error *err)
{
    struct backend_options brief = {.timeout = 20};
    team->golden = backend_open("interp:?cache=256", &brief, err);
    team->reference = team->golden != NULL ? backend_open("interp:", NULL, err) : NULL;
    return team->reference != NULL;
}

static void team_close(struct team *team)
{
    for (size_t i = 0; i < team->count; i++) {
        backend_close(team->list[i].backend);
    }
    free(team->list);
    backend_close(team->reference);
    backend_close(team->golden);
}

/* --- one unit --- */

struct unit_run {
    struct work *work;
    const struct mutants_unit *unit;
    const struct mutants_subject *subject;
    struct mutants_report report; /* on this unit */
    struct team *team;
    const struct loaded_module *part;
    struct backend *backend;
    struct backend *reference; /* remembers the run on the unit's arguments */
    struct differential_options options;
    struct differential_result clean;
    struct literal *golden;       /* all devices' results of the reference */
    struct literal *clean_actual; /* and of the backend without a fault */
    struct latitude *latitude;    /* NULL: not found yet */
};

static char *command_text(const struct unit_run *run, const char *uri)
{
    struct text text;
    const struct test_case *test = run->subject->test;
    text_init(&text);
    text_printf(&text, "referee run %s --backend '%s' --seed %llu --profile %s", test->file, uri,
                (unsigned long long)run->options.inputs.seed, run->subject->profile->name);
    if (test->tolerance != TOLERANCE_DEFAULT) {
        text_printf(&text, " --tolerance %s", tolerance_kind_text(test->tolerance));
    }
    if (test->timeout > 0) {
        text_printf(&text, " --timeout %g", test->timeout);
    }
    char *taken = text_take(&text);
    text_finish(&text);
    return taken;
}

static struct mutants_finding *add_finding(struct unit_run *run, enum mutants_finding_kind kind,
                                           int class, const char *what, const char *uri,
                                           enum outcome outcome)
{
    struct mutants_finding *finding = mutants_report_add(&run->report, kind, class);
    struct text name;
    text_init(&name);
    text_printf(&name, "%s on %s", run->part->name, run->subject->backend);
    finding->module = text_take(&name);
    finding->what = memory_strdup(what);
    finding->outcome = memory_strdup(outcome_text(outcome));
    finding->excess = memory_strdup("");
    finding->command = command_text(run, uri);
    text_finish(&name);
    return finding;
}

/* Does XLA's rule find a difference? */
static bool xla_differs(const struct literal *golden, const struct literal *actual)
{
    int leaves = shape_leaves(golden->shape);
    struct bound *bounds = memory_alloc(((size_t)leaves + 1) * sizeof *bounds);
    for (int i = 0; i < leaves; i++) {
        bounds[i] = xla_bound;
    }
    struct comparison comparison;
    literal_compare(golden, actual, bounds, &comparison);
    bool differs = !comparison.equal;
    comparison_finish(&comparison);
    free(bounds);
    return differs;
}

/* A line: how near was it to a false alarm? */
static void print_clean(const struct unit_run *run)
{
    double part = 0;
    for (int i = 0; i < run->clean.comparison.leaf_count; i++) {
        part = fmax(part, run->clean.comparison.leaves[i].largest_part);
    }
    pthread_mutex_lock(&run->work->mutex);
    progress_clear(&run->work->progress);
    printf("%-8s %-12s %-8.3g %s  %s  seed %llu\n", "clean", outcome_text(run->clean.outcome), part,
           run->part->name, run->subject->backend, (unsigned long long)run->options.inputs.seed);
    fflush(stdout);
    pthread_mutex_unlock(&run->work->mutex);
}

/* The run without a fault. False when there is nothing to plant faults in. */
static bool run_clean(struct unit_run *run)
{
    differential_run(run->part->module, run->backend, run->reference, &run->options, &run->clean);
    const struct differential_result *clean = &run->clean;
    bool gave = clean->reference.outcome == OUTCOME_PASS && clean->actual.outcome == OUTCOME_PASS;
    bool by_xla = false;
    if (gave) {
        run->golden = devices_join(clean->reference.outputs, clean->device_count);
        run->clean_actual = devices_join(clean->actual.outputs, clean->device_count);
        by_xla = xla_differs(run->golden, run->clean_actual);
    }
    bool slow = clean->reference.run_seconds > run->work->options->slow ||
                clean->actual.run_seconds > run->work->options->slow;
    struct mutants_clean *counts = &run->report.backends->clean;
    counts->refused += !gave;
    counts->runs += gave;
    counts->inconclusive += gave && clean->outcome == OUTCOME_INCONCLUSIVE;
    counts->vacuous += gave && clean->outcome == OUTCOME_VACUOUS;
    counts->slow += gave && slow && run->unit->fault_count > 0;
    counts->alarms += gave && clean->outcome == OUTCOME_MISMATCH;
    counts->alarms_by_xla += by_xla;
    if (run->work->options->verbose) {
        print_clean(run);
    }
    if (gave && clean->outcome == OUTCOME_MISMATCH) {
        add_finding(run, MUTANTS_ALARM, -1, clean->message, run->subject->backend, clean->outcome);
    }
    if (by_xla) {
        add_finding(run, MUTANTS_ALARM_BY_XLA, -1, clean->message, run->subject->backend,
                    clean->outcome);
    }
    return gave && clean->outcome != OUTCOME_MISMATCH && !slow;
}

/* What the same fault does to the golden: can anybody see it? False when that cannot be told. */
static bool judge_fault(struct unit_run *run, const char *class, uint64_t seed,
                        enum latitude_verdict *verdict, struct latitude_excess *excess)
{
    struct error err = {0};
    const struct differential_result *clean = &run->clean;
    struct backend *mutant = backend_mutant_of(run->team->golden, class, seed, &err);
    struct run_result result;
    backend_run_grid(mutant, run->part->module, clean->arguments,
                     run->part->module->entry->parameter_count, clean->device_count,
                     clean->replica_count, clean->partition_count, 1, &result);
    bool known = result.outcome == OUTCOME_PASS && mutant_planted(mutant)[0] != '\0';
    if (known && run->latitude == NULL) {
        run->latitude = latitude_create(run->part->module, run->subject->profile, clean->arguments,
                                        clean->argument_count, clean->replica_count,
                                        clean->partition_count, run->options.inputs.seed, &err);
    }
    known = known && run->latitude != NULL;
    if (known) {
        struct literal *changed = devices_join(result.outputs, clean->device_count);
        *verdict = latitude_judge(run->latitude, changed, excess);
        literal_release(changed);
    }
    run_result_finish(&result);
    backend_close(mutant);
    return known;
}

static void describe_excess(const struct latitude_excess *excess, struct text *out)
{
    text_printf(out, "output %d element %lld is %.9g instead of %.9g, %.3g times what is right",
                excess->leaf, (long long)excess->index, excess->changed, excess->right,
                excess->times);
}

struct fault_outcome {
    int class;
    const char *what, *uri;
    enum latitude_verdict verdict;
    const struct latitude_excess *excess;
    enum outcome outcome;
    bool found, by_xla;
};

static void count_fault(const struct fault_outcome *fault, struct mutants_counts *counts)
{
    counts->planted++;
    counts->same += fault->verdict == LATITUDE_SAME;
    counts->within += fault->verdict == LATITUDE_WITHIN;
    counts->found_within += fault->verdict == LATITUDE_WITHIN && fault->found;
    if (fault->verdict == LATITUDE_BEYOND) {
        counts->beyond++;
        counts->found += fault->found;
        counts->undecided += !fault->found && fault->outcome == OUTCOME_INCONCLUSIVE;
        counts->found_by_xla += fault->by_xla;
    }
}

static void keep_fault(struct unit_run *run, const struct fault_outcome *fault)
{
    static const char *const verdicts[] = {"same", "within", "beyond"};
    struct text excess;
    text_init(&excess);
    if (fault->verdict == LATITUDE_BEYOND) {
        describe_excess(fault->excess, &excess);
    }
    struct work *work = run->work;
    count_fault(fault, &run->report.classes[fault->class]);
    count_fault(fault, &run->report.backends->faults);
    if (fault->verdict == LATITUDE_BEYOND && !fault->found) {
        struct mutants_finding *missed =
            add_finding(run, MUTANTS_MISSED, fault->class, fault->what, fault->uri, fault->outcome);
        free(missed->excess);
        missed->excess = memory_strdup(excess.data);
    }
    if (work->options->verbose) {
        pthread_mutex_lock(&work->mutex);
        progress_clear(&work->progress);
        printf("%-8s %-12s %-8s %s  %s  %s  %s\n", verdicts[fault->verdict],
               outcome_text(fault->outcome), fault->by_xla ? "xla" : "", run->part->name,
               fault->uri, fault->what, excess.data);
        fflush(stdout);
        pthread_mutex_unlock(&work->mutex);
    }
    text_finish(&excess);
}

static void run_fault(struct unit_run *run, int class, uint64_t seed)
{
    struct error err = {0};
    const char *name = mutant_class(class).name;
    struct latitude_excess excess = {0};
    struct fault_outcome fault = {.class = class, .excess = &excess};
    if (!judge_fault(run, name, seed, &fault.verdict, &excess)) {
        return;
    }
    struct backend *mutant = backend_mutant_of(run->backend, name, seed, &err);
    struct differential_options options = run->options;
    options.arguments = run->clean.arguments;
    options.argument_count = run->clean.argument_count;
    struct differential_result result;
    differential_run(run->part->module, mutant, run->reference, &options, &result);
    /* A fault that the backend refuses is none of a result. */
    if (result.actual.outcome == OUTCOME_PASS && result.reference.outcome == OUTCOME_PASS) {
        struct literal *actual = devices_join(result.actual.outputs, result.device_count);
        if (literal_equal(actual, run->clean_actual)) {
            fault.verdict = LATITUDE_SAME; /* there, whatever it does to the golden */
        }
        fault.by_xla = xla_differs(run->golden, actual);
        fault.outcome = result.outcome;
        fault.found = result.outcome == OUTCOME_MISMATCH;
        fault.what = mutant_planted(mutant);
        fault.uri = backend_uri(mutant);
        literal_release(actual);
        keep_fault(run, &fault);
    }
    differential_result_finish(&result);
    backend_close(mutant);
}

/* Of everything that the unit's results depend on, 16 hexadecimal digits. */
static void make_id(const struct mutants_options *options, const struct mutants_unit *unit,
                    char id[17])
{
    const struct mutants_subject *subject = unit->subject;
    const struct test_case *test = subject->test;
    uint64_t hash = hash_string(subject->backend, subject->content);
    hash = hash_string(subject->profile->name, hash);
    hash = hash_u64((uint64_t)subject->part, hash);
    hash = hash_u64((uint64_t)test->tolerance, hash);
    hash = hash_bytes(&test->timeout, sizeof test->timeout, hash);
    hash = hash_bytes(&options->slow, sizeof options->slow, hash);
    hash = hash_u64(unit->seed, hash);
    for (int i = 0; i < unit->fault_count; i++) {
        const char *class = mutant_class(unit->faults[i].class).name;
        hash = hash_u64(unit->faults[i].seed, hash_string(class, hash));
    }
    snprintf(id, 17, "%016llx", (unsigned long long)hash);
}

/* Takes what the journal says of the unit; false if it says nothing. */
static bool recall_unit(struct work *work, const char *id)
{
    pthread_mutex_lock(&work->mutex);
    const json_t *past = json_object_get(work->past, id);
    bool known = past != NULL && mutants_report_add_part(work->report, past);
    work->recalled += known;
    pthread_mutex_unlock(&work->mutex);
    return known;
}

/* The unit's part of the report, into the journal first. */
static bool keep_unit(struct unit_run *run, const char *id, struct error *err)
{
    struct work *work = run->work;
    json_t *object = work->past != NULL ? mutants_report_part_json(&run->report) : NULL;
    if (object != NULL) {
        json_object_set_new(object, "id", json_string(id));
    }
    pthread_mutex_lock(&work->mutex);
    bool good = object == NULL || journal_write(&work->journal, object, err);
    mutants_report_join(work->report, &run->report);
    pthread_mutex_unlock(&work->mutex);
    json_decref(object);
    return good;
}

static bool run_unit(struct work *work, const struct mutants_unit *unit, struct team *team,
                     struct error *err)
{
    char id[17];
    make_id(work->options, unit, id);
    if (recall_unit(work, id)) {
        return true;
    }
    const struct mutants_subject *subject = unit->subject;
    struct unit_run run = {.work = work, .unit = unit, .subject = subject, .team = team};
    struct mutants_module loaded;
    struct error problem = {0};
    run.backend = team_backend(team, subject->backend, subject->test->timeout, err);
    if (run.backend == NULL) {
        return false;
    }
    if (!mutants_module_load(subject, &loaded, &problem)) {
        mutants_module_finish(&loaded);
        return true; /* it could be loaded before: the file has gone since */
    }
    run.part = loaded.part;
    run.reference = backend_remember(team->reference);
    mutants_report_init(&run.report);
    mutants_report_backend(&run.report, subject->backend);
    run.options = (struct differential_options){
        .inputs = {.seed = unit->seed},
        .arguments = loaded.arguments.count > 0 ? loaded.arguments.literals : NULL,
        .argument_count = loaded.arguments.count,
        .tolerance = subject->test->tolerance,
        .abs_error_bound = xla_bound.abs,
        .rel_error_bound = xla_bound.rel,
        .profile = subject->profile,
    };
    bool good = run_clean(&run);
    for (int i = 0; good && i < unit->fault_count; i++) {
        run_fault(&run, unit->faults[i].class, unit->faults[i].seed);
    }
    latitude_destroy(run.latitude);
    literal_release(run.golden);
    literal_release(run.clean_actual);
    differential_result_finish(&run.clean);
    backend_close(run.reference);
    mutants_module_finish(&loaded);
    good = keep_unit(&run, id, err);
    mutants_report_finish(&run.report);
    return good;
}

/* --- threads --- */

static void *worker(void *context)
{
    struct work *work = context;
    struct team team = {0};
    struct error err = {0};
    bool ok = team_open(&team, &err);
    for (;;) {
        pthread_mutex_lock(&work->mutex);
        if (!ok && !work->stopped) {
            work->stopped = true;
            *work->err = err;
        }
        size_t i = work->stopped ? work->plan->unit_count : work->next++;
        pthread_mutex_unlock(&work->mutex);
        if (i >= work->plan->unit_count) {
            break;
        }
        const struct mutants_unit *unit = &work->plan->units[i];
        ok = run_unit(work, unit, &team, &err);
        pthread_mutex_lock(&work->mutex);
        progress_step(&work->progress, unit->subject->test->name);
        pthread_mutex_unlock(&work->mutex);
    }
    team_close(&team);
    return NULL;
}

static bool open_journal(struct work *work)
{
    if (work->options->journal == NULL) {
        return true;
    }
    if (!journal_open(work->options->journal, &work->journal, work->err)) {
        return false;
    }
    work->past = json_object();
    size_t i;
    json_t *object;
    json_array_foreach(work->journal.past, i, object)
    {
        const char *id = json_string_value(json_object_get(object, "id"));
        if (id == NULL) {
            return error_at(work->err, (struct where){work->options->journal, (int)i + 1, 1},
                            "this is no line of a journal of --mutants");
        }
        json_object_set(work->past, id, object);
    }
    return true;
}

/* Figures first, so that a run that was for nothing still says so. */
static int finish(const struct mutants_options *options, struct work *work)
{
    const struct mutants_report *report = work->report;
    if (work->stopped) {
        print_error(work->err);
    }
    if (work->recalled > 0) {
        printf("%zu of %zu runs were in the journal\n", work->recalled, work->plan->unit_count);
    }
    mutants_report_print(report);
    bool written = true;
    if (options->json != NULL) {
        json_t *json = mutants_report_json(report);
        written = write_json(options->json, json);
        json_decref(json);
    }
    return work->stopped || !written        ? EXIT_INFRASTRUCTURE
           : mutants_report_is_good(report) ? EXIT_AS_EXPECTED
                                            : EXIT_FINDINGS;
}

int gate_mutants(const struct string_list *paths, const struct mutants_options *options)
{
    struct error err = {0};
    struct mutants_plan plan;
    if (!mutants_plan_make(paths, options, &plan, &err)) {
        if (err.code != ERROR_NONE) {
            print_error(&err);
        }
        mutants_plan_finish(&plan);
        return EXIT_USAGE;
    }
    set_memory_limit(0, MEMORY_BESIDE_BACKENDS);
    struct mutants_report report;
    mutants_report_init(&report);
    report.seed = options->seed;
    report.goal = options->goal;
    struct work work = {
        .options = options, .plan = &plan, .report = &report, .journal = {.file = -1}, .err = &err};
    double start = clock_seconds();
    for (size_t i = 0; i < plan.subject_count; i++) {
        size_t entry = mutants_report_backend(&report, plan.subjects[i].backend);
        report.backends[entry].clean.known += plan.subjects[i].known_to_fail;
    }
    int status = EXIT_USAGE;
    if (open_journal(&work)) {
        pthread_mutex_init(&work.mutex, NULL);
        progress_start(&work.progress, plan.unit_count);
        threads_run(options->jobs > 0 ? (size_t)options->jobs : 1, worker, &work);
        progress_clear(&work.progress);
        pthread_mutex_destroy(&work.mutex);
        report.seconds = clock_seconds() - start;
        status = finish(options, &work);
    } else {
        print_error(&err);
    }
    json_decref(work.past);
    journal_close(&work.journal);
    mutants_report_finish(&report);
    mutants_plan_finish(&plan);
    return status;
}
