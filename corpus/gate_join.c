/* Reports put together: shards of one gate, and gates of other suites and backends. */
#include <stdlib.h>
#include <string.h>

#include "corpus/gate_report.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/map.h"

/* A run and what it is sorted by: its suite's first place, its line in the manifest, its case's
 * first place, and its own place. */
struct place {
    struct gate_run run;
    size_t suite, name, self;
};

static int by_place(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    int order = (a->suite > b->suite) - (a->suite < b->suite);
    order = order != 0 ? order : (a->run.line > b->run.line) - (a->run.line < b->run.line);
    order = order != 0 ? order : (a->name > b->name) - (a->name < b->name);
    return order != 0 ? order : (a->self > b->self) - (a->self < b->self);
}

/* The first place of a name; `self` if it is new. */
static size_t first_place(struct map *places, const char *name, size_t self)
{
    void *known = map_get(places, name, strlen(name));
    if (known == NULL) {
        map_put(places, name, strlen(name), (void *)(uintptr_t)(self + 1));
        return self;
    }
    return (size_t)(uintptr_t)known - 1;
}

static void sort_runs(struct gate_report *report)
{
    struct place *places = memory_alloc((report->count + 1) * sizeof *places);
    struct map suites, names;
    map_init(&suites);
    map_init(&names);
    for (size_t i = 0; i < report->count; i++) {
        struct gate_run *run = &report->runs[i];
        places[i] = (struct place){*run, first_place(&suites, run->suite, i),
                                   first_place(&names, run->name, i), i};
    }
    map_finish(&suites);
    map_finish(&names);
    qsort(places, report->count, sizeof *places, by_place);
    for (size_t i = 0; i < report->count; i++) {
        report->runs[i] = places[i].run;
    }
    free(places);
}

bool gate_report_join(struct gate_report *report, struct gate_report *part, struct error *err)
{
    struct gate_index index;
    gate_index_make(report, &index);
    const struct gate_run *twice = NULL;
    for (size_t i = 0; i < part->count && twice == NULL; i++) {
        twice = gate_index_find(&index, &part->runs[i]);
    }
    gate_index_finish(&index);
    if (twice != NULL) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "%s/%s on %s with seed %lld is in both",
                         twice->suite, twice->name, twice->backend, (long long)twice->seed);
    }
    for (size_t i = 0; i < part->count; i++) {
        report->runs = grow(report->runs, report->count, &report->capacity, sizeof *report->runs);
        report->runs[report->count++] = part->runs[i];
    }
    part->count = 0;
    if (strcmp(part->date, report->date) > 0) {
        memcpy(report->date, part->date, sizeof report->date);
    }
    strcpy(report->shard, "1/1");
    sort_runs(report);
    return true;
}
