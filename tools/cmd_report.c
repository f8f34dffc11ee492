/* referee report: other forms of the gate's JSON reports; those of shards are put together. */
#include <stdio.h>
#include <stdlib.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "tools/commands.h"
#include "tools/gate_forms.h"
#include "tools/modules.h"

/* Of a gate in shards: how many there are, and which of them are here. */
struct shards {
    int count;
    bool *here; /* [count] */
};

/* Takes note of "2/5". False, with a message, when others were of another number. */
static bool shards_add(struct shards *shards, const char *path, const char *shard)
{
    int number = 1, count = 1;
    if (sscanf(shard, "%d/%d", &number, &count) != 2 || number < 1 || number > count) {
        fprintf(stderr, "referee: %s: '%s' is no shard\n", path, shard);
        return false;
    }
    if (shards->count != 0 && shards->count != count) {
        fprintf(stderr, "referee: %s is shard %s, the one before was of %d\n", path, shard,
                shards->count);
        return false;
    }
    if (shards->count == 0) {
        shards->count = count;
        shards->here = memory_zalloc((size_t)count * sizeof *shards->here);
    }
    shards->here[number - 1] = true;
    return true;
}

/* False, with a line for each, when some are missing. */
static bool shards_are_whole(const struct shards *shards)
{
    bool whole = true;
    for (int i = 0; i < shards->count; i++) {
        if (!shards->here[i]) {
            fprintf(stderr, "referee: shard %d/%d is missing\n", i + 1, shards->count);
            whole = false;
        }
    }
    return whole;
}

/* Reads a report and puts it to the others. */
static bool add_report(const char *path, struct gate_report *report, struct shards *shards)
{
    struct gate_report part;
    struct error err = {0};
    if (!gate_report_load(path, &part, &err)) {
        print_error(&err);
        return false;
    }
    bool ok = shards_add(shards, path, part.shard);
    if (ok && !gate_report_join(report, &part, &err)) {
        fprintf(stderr, "referee: %s: %s\n", path, err.message);
        ok = false;
    }
    gate_report_finish(&part);
    return ok;
}

static int make_report(const struct gate_forms *forms, const struct string_list *paths)
{
    struct gate_report report, baseline;
    struct shards shards = {0};
    if (!gate_forms_baseline(forms, &baseline)) {
        return EXIT_USAGE;
    }
    gate_report_init(&report);
    bool ok = true;
    for (size_t i = 0; ok && i < paths->count; i++) {
        ok = add_report(paths->items[i], &report, &shards);
    }
    int status = EXIT_USAGE;
    if (ok) {
        bool whole = shards_are_whole(&shards);
        whole &= gate_forms_write(forms, &report, &baseline);
        status = gate_forms_status(&report, whole);
    }
    free(shards.here);
    gate_report_finish(&report);
    gate_report_finish(&baseline);
    return status;
}

static void print_help(const struct option *table)
{
    printf("usage: referee report REPORT.json… [--html FILE] [--history FILE…]\n\n"
           "Makes other forms of what 'referee gate --json' wrote, without running anything. "
           "Several\nreports, of shards, suites or backends, become one; no run may be in two of "
           "them.\n\n");
    options_help(table);
    printf("\nExit status, as of the gate: 0 all as expected, 1 not, 2 a file that is no report, "
           "3 a shard\nis missing (what is there is written all the same) or a form cannot be "
           "written.\n");
}

int command_report(int argc, char **argv)
{
    struct gate_forms forms = {0};
    struct string_list paths = {0};
    bool help = false;
    const struct option table[] = {
#define FORMS forms
#include "tools/gate_options.def"
        {"help", 'h', OPTION_FLAG, &help, NULL, "this text"}, {0}};
    int status = EXIT_USAGE;
    if (!options_parse(&(struct option_table){.options = table}, argc, argv, &paths)) {
        status = EXIT_USAGE;
    } else if (help) {
        print_help(table);
        status = EXIT_AS_EXPECTED;
    } else if (paths.count == 0) {
        fprintf(stderr, "usage: referee report REPORT.json… [--html FILE]; see --help\n");
    } else if (gate_forms_check(&forms)) {
        status = make_report(&forms, &paths);
    }
    string_list_finish(&paths);
    gate_forms_finish(&forms);
    return status;
}
