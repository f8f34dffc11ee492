/* referee gate: the cases of suites against what is expected of each backend. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "corpus/gate_report.h"
#include "corpus/manifest.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "tools/commands.h"
#include "tools/gate_add.h"
#include "tools/gate_job.h"
#include "tools/modules.h"
#include "tools/options.h"

/* What the command line says besides gate_options. */
struct gate_command {
    struct gate_options options;
    struct gate_add add;
    struct string_list history;
    const char *json, *junit, *html, *annotations, *baseline, *shard;
    int64_t jobs;
    char date[32]; /* of this run, UTC */
};

static bool set_shard(struct gate_command *command)
{
    char rest;
    command->options.shard = command->options.shard_count = 1;
    if (command->shard == NULL) {
        return true;
    }
    return (sscanf(command->shard, "%d/%d%c", &command->options.shard,
                   &command->options.shard_count, &rest) == 2 &&
            command->options.shard >= 1 &&
            command->options.shard <= command->options.shard_count) ||
           (fprintf(stderr, "referee: --shard takes I/N with 1 ≤ I ≤ N, not '%s'\n",
                    command->shard),
            false);
}

/* --- reports --- */

static bool write_text(const char *path, const struct text *text)
{
    struct error err = {0};
    bool ok = file_write(path, text->data, text->size, &err);
    if (!ok) {
        print_error(&err);
    }
    return ok;
}

static void finish_reports(struct gate_report *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        gate_report_finish(&list[i]);
    }
    free(list);
}

static bool write_page(const struct gate_command *command, const struct gate_report *report)
{
    size_t count = command->history.count, loaded = 0;
    struct gate_report *history = memory_zalloc((count + 1) * sizeof *history);
    struct error err = {0};
    while (loaded < count &&
           gate_report_load(command->history.items[loaded], &history[loaded], &err)) {
        loaded++;
    }
    bool ok = loaded == count;
    struct text text;
    text_init(&text);
    if (ok) {
        gate_report_page(report, history, count, &text);
        ok = write_text(command->html, &text);
    } else {
        print_error(&err);
    }
    text_finish(&text);
    finish_reports(history, loaded);
    return ok;
}

/* All forms that were asked for; as many as can be written. */
static bool write_reports(const struct gate_command *command, const struct gate_report *report)
{
    bool ok = true;
    struct text text;
    text_init(&text);
    if (command->annotations != NULL) {
        gate_report_annotations(report, &text);
        fputs(text.data, stdout);
        text_clear(&text);
    }
    if (command->json != NULL) {
        json_t *object = gate_report_json(report);
        ok &= write_json(command->json, object);
        json_decref(object);
    }
    if (command->junit != NULL) {
        gate_report_junit(report, &text);
        ok &= write_text(command->junit, &text);
    }
    text_finish(&text);
    return (command->html == NULL || write_page(command, report)) && ok;
}

/* --- the command --- */

static void print_summary(const struct gate_report *report)
{
    size_t quarantined = gate_report_count(report, GATE_QUARANTINED);
    size_t known = gate_report_count(report, GATE_KNOWN);
    if (quarantined + known > 0) {
        printf("%zu known from the baseline, %zu in quarantine\n", known, quarantined);
    }
    printf("%zu runs as expected, %zu not\n", gate_report_count(report, GATE_AS_EXPECTED),
           gate_report_count(report, GATE_UNEXPECTED));
}

static int run_loaded(const struct gate_command *command, const struct manifest *manifests,
                      size_t count, const struct gate_report *baseline)
{
    struct gate_report report;
    struct error err = {0};
    gate_report_init(&report);
    strcpy(report.date, command->date);
    snprintf(report.shard, sizeof report.shard, "%d/%d", command->options.shard,
             command->options.shard_count);
    bool ok = gate_run(manifests, count, &command->options, &report, &err);
    if (!ok) {
        print_error(&err);
    }
    if (baseline != NULL) {
        gate_report_apply_baseline(&report, baseline);
    }
    print_summary(&report);
    ok &= write_reports(command, &report);
    int status = !ok                                               ? EXIT_INFRASTRUCTURE
                 : gate_report_count(&report, GATE_UNEXPECTED) > 0 ? EXIT_FINDINGS
                                                                   : EXIT_AS_EXPECTED;
    gate_report_finish(&report);
    return status;
}

static int run_add(const struct gate_command *command, const char *manifest)
{
    struct gate_report report;
    gate_report_init(&report);
    strcpy(report.date, command->date);
    set_memory_limit(0, MEMORY_BESIDE_BACKENDS);
    int status = gate_add(&command->add, &command->options, manifest, &report);
    if (status == EXIT_AS_EXPECTED && !write_reports(command, &report)) {
        status = EXIT_INFRASTRUCTURE;
    }
    gate_report_finish(&report);
    return status;
}

static int run_command(const struct gate_command *command, const struct string_list *paths)
{
    struct error err = {0};
    struct gate_report baseline;
    bool has_baseline = command->baseline != NULL;
    if (has_baseline && !gate_report_load(command->baseline, &baseline, &err)) {
        print_error(&err);
        return EXIT_USAGE;
    }
    struct manifest *manifests = memory_zalloc((paths->count + 1) * sizeof *manifests);
    size_t loaded = 0;
    while (loaded < paths->count && manifest_load(paths->items[loaded], &manifests[loaded], &err)) {
        loaded++;
    }
    int status = EXIT_USAGE;
    if (loaded < paths->count) {
        print_error(&err);
    } else {
        set_memory_limit(0, MEMORY_BESIDE_BACKENDS);
        status = run_loaded(command, manifests, loaded, has_baseline ? &baseline : NULL);
    }
    for (size_t i = 0; i < loaded; i++) {
        manifest_finish(&manifests[i]);
    }
    free(manifests);
    if (has_baseline) {
        gate_report_finish(&baseline);
    }
    return status;
}

static void print_help(const struct option *table)
{
    printf(
        "usage: referee gate MANIFEST… [--backend URI]…\n"
        "       referee gate MANIFEST --add MODULE --reason TEXT [--until DATE] [--name NAME]\n\n"
        "Runs every case of the manifests (YAML; corpus/manifest.h tells the keys) on the "
        "backends\nand holds the outcomes against the expectations. An expected failure that "
        "passes, and an\nexpectation whose date is over, fail the gate.\n\n");
    options_help(table);
    printf("\nA gate that was killed goes on where it was, with the same --journal: nothing that "
           "was done\nis lost or done again. Exit status: 0 all as expected, 1 not, 2 a bad "
           "manifest, 3 a backend\nor report that cannot be opened or written.\n");
}

int command_gate(int argc, char **argv)
{
    struct gate_command command = {.jobs = 1, .add = {.seed = 1}};
    struct string_list paths = {0};
    bool help = false;
    const struct option table[] = {
        {"backend", 'b', OPTION_LIST, &command.options.backends, "URI",
         "run on this backend instead of the manifest's; may be given several times"},
        {"jobs", 'j', OPTION_INT, &command.jobs, "N", "run N cases at a time (default 1)"},
        {"shard", 0, OPTION_TEXT, &command.shard, "I/N",
         "only the I-th of N parts of the cases, for N machines"},
        {"journal", 0, OPTION_TEXT, &command.options.journal, "FILE",
         "keep each result here as soon as it is there; what the file holds is not run again"},
        {"baseline", 0, OPTION_TEXT, &command.baseline, "FILE",
         "an earlier --json report: what was not as expected there with the same outcome does "
         "not fail the gate"},
        {"json", 0, OPTION_TEXT, &command.json, "FILE", "write a report as JSON (- = stdout)"},
        {"junit", 0, OPTION_TEXT, &command.junit, "FILE", "write a report as JUnit XML"},
        {"html", 0, OPTION_TEXT, &command.html, "FILE", "write a report as one HTML page"},
        {"history", 0, OPTION_LIST, &command.history, "FILE",
         "earlier --json reports to show in the page, oldest first"},
        {"annotations", 0, OPTION_TEXT, &command.annotations, "KIND",
         "print what is not as expected for a CI system: github"},
        GATE_ADD_OPTIONS(&command.add),
        {"verbose", 'v', OPTION_FLAG, &command.options.verbose, NULL, "also what is as expected"},
        {"help", 'h', OPTION_FLAG, &help, NULL, "this text"},
        {0}};
    int status = EXIT_USAGE;
    if (!options_parse(&(struct option_table){.options = table}, argc, argv, &paths)) {
        status = EXIT_USAGE;
    } else if (help) {
        print_help(table);
        status = EXIT_AS_EXPECTED;
    } else if (paths.count == 0) {
        fprintf(stderr, "usage: referee gate MANIFEST… [--backend URI]…; see --help\n");
    } else if (command.add.module != NULL && paths.count > 1) {
        fprintf(stderr, "referee: --add takes one manifest\n");
    } else if (command.annotations != NULL && strcmp(command.annotations, "github") != 0) {
        fprintf(stderr, "referee: --annotations knows github, not '%s'\n", command.annotations);
    } else if (command.jobs < 1 || command.jobs > 256) {
        fprintf(stderr, "referee: --jobs takes 1 to 256\n");
    } else if (set_shard(&command)) {
        command.options.jobs = (int)command.jobs;
        time_t now = time(NULL);
        struct tm date;
        strftime(command.date, sizeof command.date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &date));
        memcpy(command.options.today, command.date, strlen("YYYY-MM-DD"));
        status = command.add.module != NULL ? run_add(&command, paths.items[0])
                                            : run_command(&command, &paths);
    }
    string_list_finish(&paths);
    string_list_finish(&command.options.backends);
    string_list_finish(&command.history);
    return status;
}
