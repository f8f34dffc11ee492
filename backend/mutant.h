/* Backends with one planted fault, for measuring what finds faults: the classes, and mutants of a
 * backend that is open already (`mutant:` URIs open their own). */
#ifndef BACKEND_MUTANT_H
#define BACKEND_MUTANT_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"

/* The classes of faults that leave a result: those in modules (hlo/mutate) first, then those in
 * outputs (output_faults.def). */
struct mutant_class {
    const char *name, *summary;
    bool in_outputs;
};
int mutant_class_count(void);
struct mutant_class mutant_class(int index);
/* Does the module have a place for a fault of that class, on so many devices? One that depends on
 * values (a NaN that is lost) may find none all the same. */
bool mutant_class_applies(int index, const struct module *module, int device_count);

/* The URI of a backend with a fault of the class; what it opens does the same as
 * backend_mutant_of. free() it. */
char *mutant_uri(const char *name, uint64_t seed, const char *of);
/* A backend with one fault of the class on `inner`, which is borrowed. NULL with *err when there is
 * no such class. */
struct backend *backend_mutant_of(struct backend *inner, const char *name, uint64_t seed,
                                  struct error *err);
/* What the last run of a mutant had: one line, "" if there was no place for the fault. Lives until
 * the next run. */
const char *mutant_planted(const struct backend *mutant);

#endif
