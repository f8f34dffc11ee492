/* Which modules of a dump are walked, in order, and what they are called. */
#ifndef TOOLS_PASSES_STEPS_H
#define TOOLS_PASSES_STEPS_H

#include <stdbool.h>

#include "compare/passes.h"
#include "hlo/dump.h"

struct error;

struct passes_steps {
    int count; /* modules; the first one is that before all passes, at position 0 */
    const struct dump_step **list; /* [count]; borrowed from the dump */
    struct pass_source *sources;   /* [count] */
    char **names;                  /* [count] for people: "algsimp (simplification)" */
    int same;                      /* left out: byte for byte the module before */
};

/* every: also modules that are byte for byte the one before. False with *err when a file cannot be
 * read. */
bool passes_steps_choose(const struct dump_module *module, bool every, struct passes_steps *steps,
                         struct error *err);
void passes_steps_finish(struct passes_steps *steps);

/* The position that a word of the command line names: a number as the report prints it, the name of
 * a pass or of a line, or NAME#N for the N-th of that name. Without #N the first one after `after`,
 * or with `last` the last one. −1 with *err if there is none. */
int passes_steps_find(const struct passes_steps *steps, const char *word, int after, bool last,
                      struct error *err);

/* The pass itself, as flags name it; "" where the module comes from none: a start of a pipeline, a
 * landmark. */
const char *passes_step_pass(const struct dump_step *step);

#endif
