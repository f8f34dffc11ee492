/* Planting a fault in a dump: one pass of a compiler gets one instruction wrong, and all modules
 * from there on have it so. */
#ifndef TOOLS_PLANT_H
#define TOOLS_PLANT_H

#include <stdbool.h>
#include <stdint.h>

#include "hlo/dump.h"
#include "hlo/mutate/mutate.h"

struct error;

struct plant_options {
    const struct mutation *mutation; /* NULL: drawn */
    uint64_t seed;
    int64_t number;  /* of the file that gets it first; < 0: drawn */
    bool observable; /* an output has to change by more than rounding could */
    uint64_t inputs; /* the first seed of arguments on which that is tried */
    int seed_count;  /* how many of them */
    int attempts;    /* at how many places */
    double timeout;  /* seconds, of one evaluation */
};

/* What was planted. Strings belong to it. */
struct plant {
    int step; /* of the module's steps, the first one with the fault */
    const struct mutation *mutation;
    char *computation, *instruction, *opcode, *what;
    uint64_t fault_seed;  /* of mutate_instruction */
    uint64_t shows_on;    /* the seed of arguments on which an output changes */
    double difference;    /* of the output that changes most, relative to its largest element */
    int attempts;         /* places tried */
    bool *has, *left_out; /* [steps] the fault is in it; it could not be found there again */
    int planted, left_out_count;
};

/* Chooses a place. False with *err when none of those tried will do. */
bool plant_choose(const struct dump_module *module, const struct plant_options *options,
                  struct plant *plant, struct error *err);
/* Writes the steps of the module into a folder, which is made if it is not there: before the fault
 * as they are, from there on with it; those in which its place is not found again are left out. */
bool plant_write(const struct dump_module *module, const char *folder, struct plant *plant,
                 struct error *err);
void plant_finish(struct plant *plant);

#endif
