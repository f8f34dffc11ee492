/* What `referee triage` looks at: files of modules, and the failures in reports of `referee run`
 * and `referee gate`. */
#ifndef TOOLS_TRIAGE_ITEMS_H
#define TOOLS_TRIAGE_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/options.h"

struct error;

/* A file of modules, or one run of a report. Texts are owned. */
struct triage_item {
    char *path;
    /* Of a report: the module in the file ("#3", "@function", "" = the only one), on which backend
     * and how; else NULL, and all modules of the file are run as the command line says. */
    char *part, *backend, *tolerance;
    struct string_list inputs; /* owned texts */
    int64_t seed, iteration;
    double timeout; /* 0 = as the command line says */
};

struct triage_items {
    struct triage_item *list;
    size_t count, capacity;
    size_t reports, passing, expected; /* reports read; runs in them that were left: why */
};

/* Folders, files, reports (JSON). False (with a message on stderr) when one does not exist or a
 * report is none, or names a file that cannot be found beside it. */
bool triage_items_find(const struct string_list *paths, struct triage_items *items);
void triage_items_finish(struct triage_items *items);

#endif
