/* referee: the program. Finds the command and runs it. */
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "tools/commands.h"
#include "tools/parts.h"

const struct command commands[] = {
#define COMMAND(name, usage, summary) {#name, command_##name, usage, summary},
#include "tools/commands.def"
};
const int command_count = sizeof commands / sizeof *commands;

/* Tools of XLA, as which the program answers when it is called so. */
static const struct {
    const char *name;
    command_function *run;
} other_names[] = {
    {"run_hlo_module", command_run_hlo_module},
    {"hlo_bisect", command_hlo_bisect},
};

static void print_help(FILE *out)
{
    fprintf(out, "referee: a golden interpreter for XLA's HLO, and a referee for its backends\n\n"
                 "usage: referee COMMAND [ARGS]\n\ncommands:\n");
    for (int i = 0; i < command_count; i++) {
        fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].summary);
    }
    fprintf(out, "\n'referee COMMAND --help' explains a command. Exit status: 0 as expected, "
                 "1 findings, 2 bad\nusage or input, 3 infrastructure.\n");
}

int main(int argc, char **argv)
{
    backend_worker_main_if_asked(argc, argv);
    load_options.evaluate = evaluate_for_shapes;
    const char *slash = strrchr(argv[0], '/');
    const char *name = slash != NULL ? slash + 1 : argv[0];
    for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++) {
        if (strcmp(name, other_names[i].name) == 0) {
            return other_names[i].run(argc, argv);
        }
    }
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return EXIT_AS_EXPECTED;
    }
    for (int i = 0; i < command_count; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    fprintf(stderr, "referee: there is no command '%s'; 'referee help' lists them\n", argv[1]);
    return EXIT_USAGE;
}
