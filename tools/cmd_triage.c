/* referee triage: hundreds of failing modules as a few reports. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "tools/commands.h"
#include "tools/modules.h"
#include "tools/triage_report.h"

struct triage_command {
    struct triage_settings settings;
    const char *json, *html;
    bool verbose;
};

/* The backends of reports count among those of the command line, once each. */
static void add_backends(const struct triage_items *items, struct string_list *backends)
{
    for (size_t i = 0; i < items->count; i++) {
        const char *uri = items->list[i].backend;
        bool known = uri == NULL;
        for (size_t k = 0; !known && k < backends->count; k++) {
            known = strcmp(backends->items[k], uri) == 0;
        }
        if (!known) {
            string_list_add(backends, uri);
        }
    }
    if (backends->count == 0) {
        string_list_add(backends, "cpu:");
    }
}

static int report(const struct triage_command *command, const struct triage_items *items,
                  const struct triage_results *results)
{
    struct text text;
    text_init(&text);
    triage_report_text(items, &command->settings, results, command->verbose, &text);
    if (!command->settings.quiet) {
        fputs(text.data, stdout);
    }
    text_finish(&text);
    int status = results->group_count > 0 ? EXIT_FINDINGS : EXIT_AS_EXPECTED;
    if (command->json != NULL) {
        json_t *object = triage_report_json(items, &command->settings, results);
        status = write_json(command->json, object) ? status : EXIT_INFRASTRUCTURE;
        json_decref(object);
    }
    if (command->html != NULL) {
        struct error err = {0};
        text_init(&text);
        triage_report_page(results, &text);
        if (!file_write(command->html, text.data, text.size, &err)) {
            print_error(&err);
            status = EXIT_INFRASTRUCTURE;
        }
        text_finish(&text);
    }
    return status;
}

static int run_command(struct triage_command *command, const struct string_list *paths)
{
    struct triage_items items = {0};
    struct triage_results results = {0};
    struct error err = {0};
    int status = EXIT_USAGE;
    if (triage_items_find(paths, &items)) {
        add_backends(&items, &command->settings.backends);
        set_memory_limit(0, MEMORY_BESIDE_BACKENDS);
        if (triage_work(&items, &command->settings, &results, &err)) {
            status = report(command, &items, &results);
        } else {
            print_error(&err);
            status = EXIT_INFRASTRUCTURE;
        }
        triage_results_finish(&results);
    }
    triage_items_finish(&items);
    return status;
}

static void print_help(const struct option *table)
{
    printf("usage: referee triage DIR|FILE|REPORT.json… [--backend URI]… [-o FOLDER]\n\n"
           "Runs modules (or takes the failing ones of reports of 'referee run --json' and "
           "'referee gate\n--json'), looks into each failure, makes groups of those with the same "
           "cause, shrinks one of\neach group, and says of each whether it is the backend's bug, "
           "ill-conditioned, dependent on\nwhat HLO leaves open, or ours. The reduced modules go "
           "into a folder, with their arguments.\n\n");
    options_help(table);
    printf("\nA triage that was killed goes on where it was, with the same --journal. Exit status: "
           "0 nothing\nfails, 1 there are groups, 2 bad usage or input, 3 infrastructure.\n");
}

int command_triage(int argc, char **argv)
{
    struct triage_command command = {
        .settings = {.failing = {.seed = 1, .timeout = 20, .abs = -1, .rel = -1},
                     .output = "triage",
                     .jobs = 2,
                     .shrink_seconds = 30}};
    struct triage_settings *settings = &command.settings;
    struct string_list paths = {0};
    bool help = false;
    const struct option table[] = {
        {"backend", 'b', OPTION_LIST, &settings->backends, "URI",
         "run on it; may be given several times, and each is asked about the failures of the "
         "others (default: that of the reports, or cpu:)"},
        {"opinion", 0, OPTION_LIST, &settings->opinions, "URI",
         "only ask it about the reduced modules: who agrees with whom?"},
        {"output", 'o', OPTION_TEXT, &settings->output, "FOLDER",
         "where the reduced modules go (default triage)"},
        {"json", 0, OPTION_TEXT, &command.json, "FILE", "write a report as JSON (- = stdout)"},
        {"html", 0, OPTION_TEXT, &command.html, "FILE", "write the groups as one HTML page"},
        {"journal", 0, OPTION_TEXT, &settings->journal, "FILE",
         "keep each result here as soon as it is there; what the file holds is not done again"},
        {"jobs", 'j', OPTION_INT, &settings->jobs, "N", "modules at a time (default 2)"},
        {"time", 0, OPTION_SECONDS, &settings->seconds, "TIME",
         "stop after that, and report what is known"},
        {"shrink-time", 0, OPTION_SECONDS, &settings->shrink_seconds, "TIME",
         "for shrinking one of each group (default 30)"},
        {"samples", 0, OPTION_INT, &settings->samples, "N",
         "evaluations with inputs moved by one ulp (default 12)"},
        FAILING_OPTIONS(&settings->failing),
        {"verbose", 'v', OPTION_FLAG, &command.verbose, NULL, "name all members of a group"},
        {"quiet", 'q', OPTION_FLAG, &settings->quiet, NULL, "only write files"},
        {"help", 'h', OPTION_FLAG, &help, NULL, "this text"},
        {0}};
    int status = EXIT_USAGE;
    if (!options_parse(&(struct option_table){.options = table}, argc, argv, &paths)) {
        status = EXIT_USAGE;
    } else if (help) {
        print_help(table);
        status = EXIT_AS_EXPECTED;
    } else if (paths.count == 0) {
        fprintf(stderr,
                "usage: referee triage DIR|FILE|REPORT.json… [--backend URI]…; see --help\n");
    } else if (settings->jobs < 1 || settings->jobs > 64 || settings->samples < 0 ||
               settings->samples > 1000) {
        fprintf(stderr, "referee: --jobs takes 1 to 64, --samples 1 to 1000\n");
    } else if (failing_set(&settings->failing)) {
        status = run_command(&command, &paths);
    }
    string_list_finish(&paths);
    string_list_finish(&settings->backends);
    string_list_finish(&settings->opinions);
    failing_finish(&settings->failing);
    return status;
}
