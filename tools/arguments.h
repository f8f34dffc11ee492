/* Where a module's arguments come from: files, the file's own literals, "//@ arg" lines, a seed. */
#ifndef TOOLS_ARGUMENTS_H
#define TOOLS_ARGUMENTS_H

#include "compare/inputs.h"
#include "corpus/case.h"
#include "hlo/format.h"
#include "tools/options.h"

enum argument_source { ARGUMENTS_SEED, ARGUMENTS_FILES, ARGUMENTS_SNAPSHOT, ARGUMENTS_HEADER };

struct arguments {
    enum argument_source source;
    int count;
    struct literal **literals; /* NULL entries never */
};

/* One argument a parameter, or for several devices one a device and parameter, device after device
 * (whether their number is right is for the caller, who knows the devices, to check).
 * Precedence: --inputs files, "//@ arg" lines, a snapshot's literals, the seed. With a seed
 * nothing is drawn here (count 0): the differential run draws, and may draw again. `iteration`
 * picks the set of a RunHloModuleLiterals file; past its end the seed is used. */
bool arguments_find(const struct loaded_module *part, const struct case_header *header,
                    const struct string_list *files, int iteration, struct arguments *arguments,
                    struct error *err);
/* Makes the arguments of one device those of `devices`: shared where they are given once. False
 * when their number fits neither one device nor all. */
bool arguments_spread(struct arguments *arguments, int parameter_count, int devices,
                      struct error *err);
void arguments_finish(struct arguments *arguments);
const char *argument_source_text(enum argument_source source);

#endif
