/* referee fetch: gets the plugin of a compiler, or one of its releases, pinned by version and hash,
 * into the cache folder. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/plugins.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "tools/commands.h"
#include "tools/fetching.h"
#include "tools/modules.h"
#include "tools/options.h"

static bool confirm(void)
{
    char answer[16] = "";
    printf("Fetch? [y/N] ");
    fflush(stdout);
    return fgets(answer, sizeof answer, stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y');
}

/* What to type next. */
static void print_use(const struct plugin_row *row)
{
    static const char *const next[][2] = {
        {"cpu", "referee run MODULE --backend cpu:"},
        {"cuda", "referee passes MODULE --backend cuda: --target h100"},
        {"tpu", "referee passes MODULE --backend tpu: --target v5e:2x2"},
    };
    if (row->date != NULL) {
        printf("to use it: referee run MODULE --backend %s\n", row->name);
    }
    for (size_t i = 0; row->date == NULL && i < sizeof next / sizeof *next; i++) {
        if (strcmp(next[i][0], row->name) == 0) {
            printf("to use it: %s\n", next[i][1]);
        }
    }
}

static int fetch_one(const struct plugin_row *row, bool yes)
{
    struct error err = {0};
    struct text title;
    char *folder = plugin_folder(row);
    int exit_status = EXIT_AS_EXPECTED;
    bool there = fetch_is_there(row);
    text_init(&title);
    fetch_title(row, &title);
    if (!there) {
        fetch_announce(row);
        if (!yes && !isatty(STDIN_FILENO)) {
            fputs("referee fetch: say --yes to fetch it\n", stderr);
            exit_status = EXIT_USAGE;
        } else if (!yes && !confirm()) {
            exit_status = EXIT_FINDINGS;
        } else if (!fetch_row(row, &err)) {
            print_error(&err);
            exit_status = EXIT_INFRASTRUCTURE;
        }
    }
    if (exit_status == EXIT_AS_EXPECTED) {
        printf("%s is %sin %s\n", title.data, there ? "already " : "", folder);
        print_use(row);
    }
    text_finish(&title);
    free(folder);
    return exit_status;
}

static void list(void)
{
    for (int i = 0; i < plugin_row_count + plugin_release_count; i++) {
        const struct plugin_row *row =
            i < plugin_row_count ? &plugin_rows[i] : &plugin_releases[i - plugin_row_count];
        printf("%-16s %-10s %4.0f MB  %s\n", row->name, row->date != NULL ? row->date : "",
               (double)fetch_bytes(row) / 1e6, fetch_is_there(row) ? "there" : "not there");
    }
}

static void help(const struct option *table)
{
    puts("usage: referee fetch NAME… [--yes] | --list\n\n"
         "Gets a compiler under test into the cache folder, after naming size and licence.\n");
    for (int i = 0; i < plugin_row_count; i++) {
        printf("  %-14s %s, %.0f MB\n", plugin_rows[i].name, plugin_rows[i].title,
               (double)fetch_bytes(&plugin_rows[i]) / 1e6);
    }
    puts("  cpu:VERSION    another build of XLA's CPU plugin\n"
         "  jaxlib:VERSION a release of jaxlib, whose XLA compiles for the CPU\n");
    options_help(table);
}

int command_fetch(int argc, char **argv)
{
    bool yes = false, wants_help = false, wants_list = false;
    const struct option table[] = {
        {"yes", 'y', OPTION_FLAG, &yes, NULL, "fetch without asking"},
        {"list", 'l', OPTION_FLAG, &wants_list, NULL,
         "list everything that can be fetched, the releases from the oldest to the newest"},
        {"help", 'h', OPTION_FLAG, &wants_help, NULL, "show this text"},
        {0},
    };
    struct string_list names = {0};
    int status = EXIT_AS_EXPECTED;
    if (!options_parse(&(struct option_table){.options = table}, argc, argv, &names)) {
        status = EXIT_USAGE;
    } else if (wants_help) {
        help(table);
    } else if (wants_list) {
        list();
    } else if (names.count == 0) {
        fputs("referee fetch: name a plugin: cpu, cuda or tpu, or a release of --list\n", stderr);
        status = EXIT_USAGE;
    }
    /* An interrupted pip is a failed one, so that what it left is removed. */
    signal(SIGINT, SIG_IGN);
    bool ready = status == EXIT_AS_EXPECTED && !wants_help && !wants_list;
    for (size_t i = 0; ready && status == EXIT_AS_EXPECTED && i < names.count; i++) {
        const struct plugin_row *row = plugin_find(names.items[i]);
        if (row == NULL) {
            fprintf(stderr,
                    "referee fetch: there is no plugin '%s'; there are cpu, cuda and tpu, and the "
                    "releases of --list\n",
                    names.items[i]);
            status = EXIT_USAGE;
        } else {
            status = fetch_one(row, yes);
        }
    }
    string_list_finish(&names);
    return status;
}
