/* referee shrink: the smallest module that still fails in the same way. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compare/bisect.h"
#include "hlo/base/arena.h"
#include "hlo/base/clock.h"
#include "hlo/base/error.h"
#include "hlo/base/folder.h"
#include "hlo/base/text.h"
#include "tools/commands.h"
#include "tools/failing.h"
#include "tools/modules.h"
#include "tools/options.h"
#include "tools/shrink_command.h"

static volatile sig_atomic_t interrupted;

static void on_signal(int signal)
{
    (void)signal;
    interrupted = 1;
}

static bool is_interrupted(void *context)
{
    (void)context;
    return interrupted != 0;
}

/* --- tests --- */

static void close_backends(struct shrink_command *command)
{
    struct shrink_backend_test *test = &command->test;
    for (int64_t i = 0; test->references != NULL && i < command->jobs; i++) {
        backend_close(test->backends[i]);
        backend_close(test->references[i]);
    }
    free(test->backends);
    free(test->references);
    test->backends = test->references = NULL;
}

/* One of each a job, with that many seconds for a module. */
static bool open_backends(struct shrink_command *command, double timeout, struct error *err)
{
    struct shrink_backend_test *test = &command->test;
    size_t count = (size_t)command->jobs;
    struct backend_options options = {.timeout = timeout,
                                      .loop_iterations = command->failing.loop_iterations};
    const char *uri = command->reference != NULL ? command->reference : "interp:?cache=1024";
    close_backends(command);
    test->backends = memory_zalloc(count * sizeof(struct backend *));
    test->references = memory_zalloc(count * sizeof(struct backend *));
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        test->backends[i] = failing_open(&command->failing, command->backend, timeout, err);
        test->references[i] = test->backends[i] != NULL ? backend_open(uri, &options, err) : NULL;
        ok = test->references[i] != NULL;
    }
    return ok;
}

/* A candidate may loop for ever where the original did not, or for much longer. */
static void limit_candidates(struct shrink_command *command, double seconds)
{
    bool hangs = command->test.signature.outcome == OUTCOME_TIMEOUT;
    command->candidate_timeout =
        shrink_candidate_seconds(&command->test.signature, seconds, command->failing.timeout);
    command->failing.loop_iterations =
        hangs || command->longest_loop == 0 ? 0 : 2 * command->longest_loop + 64;
}

static void count_loops(struct shrink_command *command, const struct run_result *result)
{
    if (result->longest_loop > command->longest_loop) {
        command->longest_loop = result->longest_loop;
    }
}

/* How the original fails on the backend: the first failure of the runs. False when none fails, or
 * not often enough; the odds are told. */
static bool find_signature(struct shrink_command *command)
{
    struct shrink_backend_test *test = &command->test;
    int failed = 0, runs = (int)command->runs;
    double start = clock_seconds();
    for (int i = 0; i < runs; i++) {
        struct differential_options options = test->differential;
        options.arguments = command->specimen.arguments;
        options.argument_count = specimen_argument_total(&command->specimen);
        options.hasty = command->hasty;
        options.hasty_from = HASTE_FROM;
        struct differential_result result;
        struct failure_signature signature;
        differential_run(command->specimen.module, test->backends[0], test->references[0], &options,
                         &result);
        count_loops(command, &result.reference);
        count_loops(command, &result.actual); /* a fault may be that they go on */
        command->hasty = result.hasty;
        failure_signature_of(&result, &signature);
        bool fails = failure_signature_fails(&signature);
        if (fails && test->signature.kind == NULL) {
            test->signature = signature;
            failed++;
        } else {
            failed += fails && failure_signature_equal(&signature, &test->signature);
            failure_signature_finish(&signature);
        }
        differential_result_finish(&result);
    }
    struct text text;
    text_init(&text);
    if (failed > 0) {
        failure_signature_print(&test->signature, &text);
        text_printf(&text, " on %s", command->backend);
        if (runs > 1) {
            text_printf(&text, " in %d of %d runs", failed, runs);
        }
        if (!command->quiet && !command->hasty) {
            printf("fails: %s\n", text.data);
        }
    }
    free(command->note);
    command->note = text_take(&text);
    text_finish(&text);
    test->runs = runs;
    test->failures = (int)command->failures;
    limit_candidates(command, (clock_seconds() - start) / runs);
    return failed > 0;
}

/* The same with all that a verdict takes. */
static bool find_signature_again(struct shrink_command *command)
{
    command->hasty = false;
    failure_signature_finish(&command->test.signature);
    return find_signature(command);
}

static bool find_script_status(struct shrink_command *command)
{
    struct error err = {0};
    struct text text;
    int status = script_run(&command->script_test, 0, &command->specimen, &err);
    command->script_test.status = status;
    if (status < 0) {
        print_error(&err);
        return false;
    }
    if (status == 0) {
        fprintf(stderr, "referee: the command does not fail on it (exit status 0); nothing to "
                        "shrink\n");
        return false;
    }
    text_init(&text);
    text_printf(&text, "%s ends with ", command->script);
    if (status >= SCRIPT_SIGNAL) {
        text_printf(&text, "signal %d", status - SCRIPT_SIGNAL);
    } else if (status == SCRIPT_TIMEOUT) {
        text_append(&text, "no end within the time limit");
    } else {
        text_printf(&text, "exit status %d", status);
    }
    if (!command->quiet) {
        printf("fails: %s\n", text.data);
    }
    command->note = text_take(&text);
    text_finish(&text);
    return true;
}

/* --- progress --- */

static void save_best(void *context, const struct specimen *best, const char *by)
{
    struct shrink_command *command = context;
    struct error err = {0};
    if (!specimen_write(best, command->note, command->output_path, &err)) {
        print_error(&err);
    }
    if (!command->quiet && isatty(STDERR_FILENO)) {
        struct specimen_size size = specimen_size(best);
        fprintf(stderr, "\r\033[K%.1f s: %lld instructions, %lld elements (%s)",
                clock_seconds() - command->start, (long long)size.instructions,
                (long long)size.elements, by);
    }
}

/* The contexts of tests and of the other hooks differ: these pass on what is theirs. */
static bool run_test(void *context, int thread, const struct specimen *specimen)
{
    struct shrink_command *command = context;
    return command->script != NULL ? shrink_test_script(&command->script_test, thread, specimen)
                                   : shrink_test_backend(&command->test, thread, specimen);
}

static bool is_over(void *context)
{
    const struct shrink_command *command = context;
    return interrupted ||
           (command->seconds > 0 && clock_seconds() - command->start > command->seconds);
}

/* How the part fails, if it does so for the cause of the whole. */
static bool adopt_signature(struct shrink_command *command, const struct specimen *part)
{
    struct shrink_backend_test *test = &command->test;
    struct differential_options options = test->differential;
    options.arguments = part->arguments;
    options.argument_count = specimen_argument_total(part);
    struct failure_signature signature = {0};
    bool same = false;
    for (int i = 0; !same && (i == 0 || i < command->runs); i++) {
        struct differential_result result;
        failure_signature_finish(&signature);
        differential_run(part->module, test->backends[0], test->references[0], &options, &result);
        failure_signature_of(&result, &signature);
        same = failure_signature_alike(&signature, &test->signature);
        differential_result_finish(&result);
    }
    if (same) {
        struct text text;
        text_init(&text);
        failure_signature_print(&signature, &text);
        text_printf(&text, " on %s", command->backend);
        free(command->note);
        command->note = text_take(&text);
        text_finish(&text);
        failure_signature_finish(&test->signature);
        test->signature = signature;
    } else {
        failure_signature_finish(&signature);
    }
    return same;
}

/* Is it worth it to bisect first, which takes few runs? */
static bool is_bisected(const struct shrink_command *command)
{
    const int64_t least = 10; /* instructions */
    return command->script == NULL && specimen_size(&command->specimen).instructions >= least;
}

/* Begins with the part that bisection leaves. False when there is none that fails. */
static bool begin_with_part(struct shrink_command *command)
{
    struct bisect_options options = {.backend = command->test.backends[0],
                                     .reference = command->test.references[0],
                                     .differential = command->test.differential,
                                     .known_to_fail = true,
                                     .runs = (int)command->runs,
                                     .stopped = is_over,
                                     .context = command};
    struct bisect_result result;
    struct error ignored = {0};
    if (!bisect_run(&command->specimen, &options, &result, &ignored)) {
        return false;
    }
    struct specimen *part = &result.part;
    char *whole = memory_strdup(command->note);
    bool begins = part->module != NULL &&
                  specimen_size_less(specimen_size(part), specimen_size(&command->specimen)) &&
                  adopt_signature(command, part);
    if (begins) {
        if (!command->quiet && command->hasty) {
            printf("fails: %s\n", whole);
        }
        specimen_finish(&command->specimen);
        command->specimen = *part;
        *part = (struct specimen){0};
        save_best(command, &command->specimen, "bisected");
    }
    free(whole);
    bisect_result_finish(&result);
    return begins;
}

/* Of failures that come and go: how often what is left fails. */
static void print_odds(struct shrink_command *command)
{
    struct shrink_backend_test once = command->test;
    int failed = 0;
    once.runs = once.failures = 1;
    for (int64_t i = 0; i < command->runs; i++) {
        failed += shrink_test_backend(&once, 0, &command->specimen);
    }
    printf("what is left fails in %d of %lld runs\n", failed, (long long)command->runs);
}

static void say_nothing_to_shrink(const struct shrink_command *command)
{
    fprintf(stderr, "referee: it does not fail on %s in %lld run%s; nothing to shrink\n",
            command->backend, (long long)command->runs, command->runs > 1 ? "s: try --runs" : "");
}

static int shrink_and_report(struct shrink_command *command)
{
    struct shrink_options options = {.jobs = (int)command->jobs,
                                     .seconds = command->seconds,
                                     .test = run_test,
                                     .on_progress = save_best,
                                     .stopped = is_interrupted,
                                     .context = command};
    struct shrink_statistics statistics;
    struct specimen_size before = specimen_size(&command->specimen);
    struct error err = {0};
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    command->start = clock_seconds();
    bool begun = is_bisected(command) && begin_with_part(command);
    if (command->hasty && !begun && !find_signature_again(command)) { /* it is allowed */
        say_nothing_to_shrink(command);
        return EXIT_FINDINGS;
    }
    if (options.seconds > 0) { /* what is left of it */
        double left = options.seconds - (clock_seconds() - command->start);
        options.seconds = left > 1e-3 ? left : 1e-3;
    }
    shrink_run(&command->specimen, &options, &statistics);
    struct specimen_size after = specimen_size(&command->specimen);
    if (!command->quiet && isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r\033[K");
    }
    if (!specimen_write(&command->specimen, command->note, command->output_path, &err)) {
        print_error(&err);
        return EXIT_INFRASTRUCTURE;
    }
    if (!command->quiet) {
        printf(
            "%lld instructions, %lld elements → %lld instructions, %lld elements in %.1f s, %lld "
            "candidates (%lld not valid)%s\nwritten to %s\n",
            (long long)before.instructions, (long long)before.elements,
            (long long)after.instructions, (long long)after.elements,
            clock_seconds() - command->start, (long long)statistics.candidates,
            (long long)statistics.invalid,
            statistics.complete ? "" : "; stopped before nothing more helped",
            command->output_path);
        if (command->script == NULL && command->runs > 1 && !interrupted) {
            print_odds(command);
        }
    }
    return EXIT_AS_EXPECTED;
}

/* --- the command --- */

static char *default_output(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    size_t size = strcspn(name, ".");
    struct text text;
    text_init(&text);
    text_printf(&text, "%.*s.reduced.hlo", (int)size, name);
    char *output = text_take(&text);
    text_finish(&text);
    return output;
}

/* In the folder that is asked for, after the name of the module. */
static void set_output_in_folder(struct shrink_command *command)
{
    struct text text;
    text_init(&text);
    text_printf(&text, "%s/%s_trimmed.hlo", command->folder, command->specimen.module->name);
    free(command->output_path);
    command->output_path = text_take(&text);
    text_finish(&text);
}

/* How it fails, on the arguments that a run would draw. */
static bool find_failure(struct shrink_command *command, const char *path)
{
    struct error ignored = {0};
    if (find_signature(command)) {
        return true;
    }
    /* Backends without what they remember: loops are counted as they are evaluated. */
    return failing_draw_tamer(&command->failing, path, command->test.backends[0],
                              command->test.references[0], &command->specimen) &&
           open_backends(command, command->failing.timeout, &ignored) && find_signature(command);
}

int shrink_command_run(struct shrink_command *command, const char *path)
{
    struct error err = {0};
    int status = EXIT_INFRASTRUCTURE;
    command->test.differential = command->failing.differential;
    command->output_path =
        command->output != NULL ? memory_strdup(command->output) : default_output(path);
    if (command->resume && access(command->output_path, R_OK) == 0) {
        path = command->output_path;
    }
    set_memory_limit(0, MEMORY_BESIDE_BACKENDS);
    bool loaded = failing_load(&command->failing, path, &command->specimen, &err);
    if (loaded && command->folder != NULL) {
        set_output_in_folder(command);
    }
    command->hasty = loaded && command->runs <= 1 && is_bisected(command);
    if (!loaded) {
        print_error(&err);
        status = EXIT_USAGE;
    } else if (command->script != NULL) {
        char *folder = folder_make_temporary(&err);
        command->script_test = (struct script_test){
            .command = command->script, .folder = folder, .timeout = command->failing.timeout};
        if (folder == NULL) {
            print_error(&err);
        } else {
            status = find_script_status(command) ? shrink_and_report(command) : EXIT_FINDINGS;
            folder_remove(folder);
            free(folder);
        }
    } else if (!open_backends(command, command->failing.timeout, &err)) {
        print_error(&err);
    } else if (!find_failure(command, path)) {
        say_nothing_to_shrink(command);
        status = EXIT_FINDINGS;
    } else if (!open_backends(command, command->candidate_timeout, &err)) {
        print_error(&err);
    } else {
        status = shrink_and_report(command);
    }
    close_backends(command);
    failure_signature_finish(&command->test.signature);
    specimen_finish(&command->specimen);
    free(command->note);
    return status;
}

int command_shrink(int argc, char **argv)
{
    struct shrink_command command = {
        .failing = FAILING_DEFAULTS, .backend = "cpu:", .jobs = 2, .runs = 1, .failures = 1};
    struct string_list paths = {0};
    bool help = false;
    const struct option table[] = {
        {"backend", 'b', OPTION_TEXT, &command.backend, "URI", "what it fails on (default cpu:)"},
        {"script", 0, OPTION_TEXT, &command.script, "CMD",
         "a command that is given a file instead: it fails if its exit status is not 0, and "
         "candidates must end with the same"},
        {"output", 'o', OPTION_TEXT, &command.output, "FILE",
         "where the smallest module goes, and each smaller one as it is found (default "
         "NAME.reduced.hlo)"},
        {"resume", 0, OPTION_FLAG, &command.resume, NULL,
         "go on from what the output file holds already"},
        {"time", 0, OPTION_SECONDS, &command.seconds, "TIME",
         "stop after that, with the best so far"},
        {"jobs", 'j', OPTION_INT, &command.jobs, "N", "candidates at a time (default 2)"},
        {"runs", 0, OPTION_INT, &command.runs, "N",
         "run each candidate up to N times, for failures that come and go"},
        {"failures", 0, OPTION_INT, &command.failures, "K",
         "how many of the runs must fail (default 1)"},
        FAILING_OPTIONS(&command.failing),
        {"quiet", 'q', OPTION_FLAG, &command.quiet, NULL, "write the file and say nothing"},
        {"help", 'h', OPTION_FLAG, &help, NULL, "this text"},
        {0}};
    int status = EXIT_USAGE;
    if (!options_parse(&(struct option_table){.options = table}, argc, argv, &paths)) {
        status = EXIT_USAGE;
    } else if (help) {
        printf("usage: referee shrink MODULE (--backend URI | --script CMD) [-o FILE]\n\n"
               "Finds the smallest module that still fails with the same signature: outcome and "
               "kind of\nerror. Every candidate verifies before it counts. The file has the "
               "arguments in \"//@ arg\"\nlines, so that 'referee run FILE' shows the "
               "failure.\n\n");
        options_help(table);
        status = EXIT_AS_EXPECTED;
    } else if (paths.count != 1) {
        fprintf(stderr, "usage: referee shrink MODULE (--backend URI | --script CMD) [-o FILE]\n");
    } else if (command.jobs < 1 || command.jobs > 64 || command.runs < 1 || command.runs > 1000 ||
               command.failures < 1 || command.failures > command.runs) {
        fprintf(stderr,
                "referee: --jobs takes 1 to 64, --runs 1 to 1000, --failures 1 to --runs\n");
    } else if (failing_set(&command.failing)) {
        status = shrink_command_run(&command, paths.items[0]);
        free(command.output_path);
    }
    string_list_finish(&paths);
    failing_finish(&command.failing);
    return status;
}
