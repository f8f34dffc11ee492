/* The commands of the program `referee`. */
#ifndef TOOLS_COMMANDS_H
#define TOOLS_COMMANDS_H

/* Exit statuses of every command. */
enum {
    EXIT_AS_EXPECTED = 0,
    EXIT_FINDINGS = 1,       /* a mismatch, a crash, a module that does not verify … */
    EXIT_USAGE = 2,          /* bad usage or input */
    EXIT_INFRASTRUCTURE = 3, /* a plugin that cannot be loaded, a file that cannot be written … */
};

/* argv[0] is the command's name. Returns the exit status. */
typedef int command_function(int argc, char **argv);

struct command {
    const char *name;
    command_function *run;
    const char *usage, *summary;
};

#define COMMAND(name, usage, summary) command_function command_##name;
#include "tools/commands.def"

/* XLA's run_hlo_module: same flags, same meaning of the exit status (0 or 255). */
command_function command_run_hlo_module;
/* XLA's hlo_bisect: same flags; 0 when the module was trimmed, else 1. */
command_function command_hlo_bisect;

extern const struct command commands[];
extern const int command_count;

#endif
