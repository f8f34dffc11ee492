/* referee gate: the cases of suites against what is expected of each backend. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "corpus/manifest.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "tools/commands.h"
#include "tools/gate_add.h"
#include "tools/gate_forms.h"
#include "tools/gate_job.h"
#include "tools/gate_mutants.h"
#include "tools/modules.h"
#include "tools/options.h"

/* What the command line says besides gate_options. */
struct gate_command {
    struct gate_options options;
    struct gate_add add;
    struct gate_forms forms;
    const char *shard;
    int64_t jobs, seed;
    char date[32]; /* of this run, UTC */
    bool plants;   /* --mutants */
    struct mutants_options mutants;
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
    ok &= gate_forms_write(&command->forms, &report, baseline);
    int status = gate_forms_status(&report, ok);
    gate_report_finish(&report);
    return status;
}

static int run_add(const struct gate_command *command, const char *manifest)
{
    struct gate_report report, baseline;
    gate_report_init(&report);
    gate_report_init(&baseline);
    strcpy(report.date, command->date);
    set_memory_limit(0, MEMORY_BESIDE_BACKENDS);
    struct gate_add add = command->add;
    add.seed = command->seed;
    int status = gate_add(&add, &command->options, manifest, &report);
    if (status == EXIT_AS_EXPECTED && !gate_forms_write(&command->forms, &report, &baseline)) {
        status = EXIT_INFRASTRUCTURE;
    }
    gate_report_finish(&report);
    gate_report_finish(&baseline);
    return status;
}

static int run_command(const struct gate_command *command, const struct string_list *paths)
{
    struct error err = {0};
    struct gate_report baseline;
    if (!gate_forms_baseline(&command->forms, &baseline)) {
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
        status = run_loaded(command, manifests, loaded, &baseline);
    }
    for (size_t i = 0; i < loaded; i++) {
        manifest_finish(&manifests[i]);
    }
    free(manifests);
    gate_report_finish(&baseline);
    return status;
}

/* --mutants: instead of the gate itself, what it is worth. */
static int run_mutants(struct gate_command *command, const struct string_list *paths)
{
    struct mutants_options *mutants = &command->mutants;
    mutants->seed = command->seed;
    if (mutants->count < 0 || mutants->clean < 0 || mutants->seed < 0) {
        fprintf(stderr, "referee: --count, --clean and --seed take no negative number\n");
        return EXIT_USAGE;
    }
    const struct gate_forms *forms = &command->forms;
    if (forms->baseline != NULL || forms->junit != NULL || forms->html != NULL ||
        forms->annotations != NULL || command->shard != NULL) {
        fprintf(stderr, "referee: --mutants reports as text and --json alone, and of all cases\n");
        return EXIT_USAGE;
    }
    mutants->backends = command->options.backends;
    mutants->jobs = (int)command->jobs;
    mutants->json = command->forms.json;
    mutants->journal = command->options.journal;
    mutants->verbose = command->options.verbose;
    return gate_mutants(paths, mutants);
}

static void print_help(const struct option *table)
{
    printf("usage: referee gate MANIFEST… [--backend URI]…\n"
           "       referee gate MANIFEST --add MODULE --reason TEXT [--until DATE] [--name NAME]\n"
           "       referee gate --mutants MANIFEST|MODULE|FOLDER… [--count N] [--seed N]\n\n"
           "Runs every case of the manifests (YAML; corpus/manifest.h tells the keys) on the "
           "backends\nand holds the outcomes against the expectations. An expected failure that "
           "passes, and an\nexpectation whose date is over, fail the gate.\n\n");
    options_help(table);
    printf(
        "\nA gate that was killed goes on where it was, with the same --journal: nothing that was "
        "done\nis lost or done again. With --mutants faults of every class are planted in the "
        "backends,\nand a table says which were found (docs/mutants.md). Exit status: 0 all as "
        "expected, 1 not,\n2 a bad manifest, 3 a backend or report that cannot be opened or "
        "written.\n");
}

int command_gate(int argc, char **argv)
{
    struct gate_command command = {
        .jobs = 1, .seed = 1, .mutants = {.count = 1000, .slow = 1, .goal = 99}};
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
#define FORMS command.forms
#include "tools/gate_options.def"
        GATE_ADD_OPTIONS(&command.add),
        {"mutants", 0, OPTION_FLAG, &command.plants, NULL,
         "plant faults in the backends and count which are found, and false alarms without"},
        {"count", 0, OPTION_INT, &command.mutants.count, "N", "--mutants: so many (default 1000)"},
        {"clean", 0, OPTION_INT, &command.mutants.clean, "N",
         "--mutants: at least so many runs without a fault (default one a case and backend)"},
        {"goal", 0, OPTION_REAL, &command.mutants.goal, "PERCENT",
         "--mutants: exit status 1 if fewer are found (default 99)"},
        {"slow", 0, OPTION_SECONDS, &command.mutants.slow, "TIME",
         "--mutants: no faults in what the golden takes longer for (default 1)"},
        {"seed", 's', OPTION_INT, &command.seed, "N",
         "--add, --mutants: of arguments where a module brings none, and of faults (default 1)"},
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
    } else if (!gate_forms_check(&command.forms)) {
        status = EXIT_USAGE;
    } else if (command.jobs < 1 || command.jobs > 256) {
        fprintf(stderr, "referee: --jobs takes 1 to 256\n");
    } else if (command.plants) {
        status = run_mutants(&command, &paths);
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
    gate_forms_finish(&command.forms);
    return status;
}
