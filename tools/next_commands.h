/* What to type after a run that did not pass: find where, make it smaller, name the pass. */
#ifndef TOOLS_NEXT_COMMANDS_H
#define TOOLS_NEXT_COMMANDS_H

#include <jansson.h>

#include "compare/differential.h"
#include "tools/run_report.h"

/* Appends a line a command, "LABEL: COMMAND", in the order in which they are of use:
 *   only slow     referee run: the same with more time, of what gave no answer
 *   first wrong   referee bisect: the instruction
 *   smallest      referee shrink: the module
 *   which pass    referee passes: of a backend that compiles
 * with the arguments and options of the run, so that each shows the same failure. Nothing of what
 * they cannot be asked for: several devices, parts of files, other functions of MLIR. */
void next_commands_text(const struct run_entry *entry, const struct differential_result *result,
                        const char *indent, struct text *out);
/* The same as a list of {"label", "command"}. */
json_t *next_commands_json(const struct run_entry *entry, const struct differential_result *result);

#endif
