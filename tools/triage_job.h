/* The work of `referee triage`: every module is looked into (compare/triage.h), failures of one key
 * become a group, the smallest of each group is shrunk, groups whose reduced modules are of one
 * kind become one.
 *
 * What is known of a failure is a JSON object, kept in memory, in the journal and in the report:
 *   {"module", "file", "backend", "seed", "inputs", "outcome", "kind", "message", "allowed",
 *    "place", "opcode", "type", "isolated", "form", "key", "verdict", "confidence", "reason",
 *    "evidence": [lines], "amplification", "runs", "seconds", "command", "id", "part": HLO text,
 *    "has_part", "instructions", "elements"} */
#ifndef TOOLS_TRIAGE_JOB_H
#define TOOLS_TRIAGE_JOB_H

#include <jansson.h>

#include "compare/triage.h"
#include "corpus/journal.h"
#include "tools/failing.h"
#include "tools/triage_items.h"

struct triage_settings {
    struct failing failing;
    struct string_list backends; /* at least one */
    struct string_list opinions; /* asked for the reduced modules, beside the other backends */
    const char *journal;         /* or NULL */
    const char *output;          /* folder for the reduced modules; NULL: they are not written */
    int64_t jobs, samples;
    double seconds, shrink_seconds; /* for all, and for one group; 0 = no limit */
    bool quiet;
};

/* Failures of one cause. */
struct triage_group {
    size_t count, capacity;
    json_t **members; /* borrowed from the results; the first one stands for all */
    json_t *reduced;  /* owned; NULL: nothing was shrunk. Keys: "text" (the module), "note",
                         "instructions", "elements", "signature", "form", "complete", "seconds",
                         "verdict", "confidence", "reason", "evidence", "forms" */
    char *key;        /* of the reduced module where there is one */
    char *file;       /* where it was written; NULL = nowhere */
};

struct triage_results {
    json_t *records; /* of all modules, in order */
    size_t group_count, group_capacity;
    struct triage_group *groups; /* sorted for the report */
    size_t before;               /* groups before those with reduced modules of one kind joined */
    size_t left;                 /* items that were not looked at: the time was over */
    double seconds;
};

/* False with *err when a backend or the journal cannot be opened or written. */
bool triage_work(const struct triage_items *items, const struct triage_settings *settings,
                 struct triage_results *results, struct error *err);
void triage_results_finish(struct triage_results *results);

/* Sets `name` of an object to the text; bytes that are no UTF-8 become '?'. */
void json_set_text(json_t *object, const char *name, const char *text);
const char *json_get_text(const json_t *object, const char *name); /* "" if there is none */

#endif
