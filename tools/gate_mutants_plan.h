/* What `referee gate --mutants` will do: which cases on which backends with which arguments, and
 * which faults in each. All of it follows from the command line. */
#ifndef TOOLS_GATE_MUTANTS_PLAN_H
#define TOOLS_GATE_MUTANTS_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "corpus/case.h"
#include "hlo/format.h"
#include "tools/arguments.h"
#include "tools/gate_mutants.h"

struct error;
struct manifest;
struct profile;
struct test_case;

/* A module on a backend. */
struct mutants_subject {
    const struct test_case *test;
    int part; /* of the file */
    const char *backend;
    const struct profile *profile; /* that it is judged by */
    bool known_to_fail;            /* the case says so; it is left out */
    bool draws;                    /* it has arguments, and they are drawn */
    bool *applies;                 /* [class]: it has a place for such a fault */
    uint64_t content;              /* hash of the file */
};

struct mutants_fault {
    int class;
    uint64_t seed;
};
struct mutants_unit {
    const struct mutants_subject *subject;
    uint64_t seed; /* of arguments */
    int fault_count;
    struct mutants_fault *faults;
};

struct mutants_plan {
    size_t manifest_count;
    struct manifest *manifests;
    size_t subject_count, subject_capacity;
    struct mutants_subject *subjects;
    size_t unit_count, unit_capacity;
    struct mutants_unit *units;
};

/* Loads all modules once. Each case runs on each backend with one seed of arguments, and if that
 * makes fewer than options->clean runs with the next ones, where arguments are drawn at all. The
 * faults are spread over these runs, each of the class that has the fewest so far of those that
 * apply. Files that cannot be read are said on stderr and left out. False with *err, or with a
 * message on stderr, when there is nothing to do. */
bool mutants_plan_make(const struct string_list *paths, const struct mutants_options *options,
                       struct mutants_plan *plan, struct error *err);
void mutants_plan_finish(struct mutants_plan *plan);

/* A subject's module with its arguments (none: they are drawn). */
struct mutants_module {
    struct loaded_file file;
    const struct loaded_module *part;
    struct arguments arguments;
};
bool mutants_module_load(const struct mutants_subject *subject, struct mutants_module *loaded,
                         struct error *err);
void mutants_module_finish(struct mutants_module *loaded);

#endif
