/* What the gate says: one record a run (a case on a backend with a seed), kept in memory, in a
 * journal while the gate runs, and in a JSON report from which all other forms are made.
 *
 * The report is an object:
 *   {"format": "referee-gate", "version": 1, "date": "2026-12-01T09:30:00Z", "shard": "1/1",
 *    "runs": [{"suite", "case", "backend", "seed", "outcome", "expected", "status", "reason",
 *              "message", "picture", "command", "next", "file", "line", "content", "seconds",
 * "golden_differs", "largest_ulps", "buckets": [8 counts]}, …]} A journal holds the same run
 * objects, one a line, each written and synced when its run is over: what is in it survives
 * whatever ends the gate, and is not run again. */
#ifndef CORPUS_GATE_REPORT_H
#define CORPUS_GATE_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compare/compare.h"
#include "corpus/journal.h"

struct error;
struct text;

/* What a run means for the gate. */
enum gate_status {
    GATE_AS_EXPECTED,
    GATE_UNEXPECTED,  /* fails the gate */
    GATE_KNOWN,       /* as unexpected as it was in the baseline */
    GATE_QUARANTINED, /* not as expected, but its case does not gate */
    GATE_STATUS_COUNT
};
/* "as expected", "unexpected", "known", "quarantined" */
const char *gate_status_text(enum gate_status status);

struct gate_run {
    /* Which run it is. Suite, case, backend and seed are unique in a report. */
    char *suite, *name, *backend;
    int64_t seed;
    uint64_t content; /* hash of the module and of how it is run: another content is another run */
    char *file;       /* the module */
    char *manifest;   /* with `line`, where the case stands */
    int line;
    /* What became of it. Texts are never NULL. */
    bool done;
    bool golden_differs; /* from the case's "//@ expect" lines */
    char *outcome;       /* outcome_text, or "UNREADABLE" */
    char *expected;      /* outcome_text */
    char *reason;        /* of the expectation, the quarantine, or why it is not as expected */
    char *message, *picture, *command;
    char *next; /* what to type then, a line each: "LABEL: COMMAND" */
    enum gate_status status;
    double seconds, largest_ulps;
    int64_t buckets[COMPARE_BUCKETS]; /* elements by error, as in compare.h */
};

struct gate_report {
    size_t count, capacity;
    struct gate_run *runs;
    char date[32];  /* "2026-12-01T09:30:00Z" */
    char shard[32]; /* "2/5"; of what was put together, "1/1" */
};

void gate_report_init(struct gate_report *report);
void gate_report_finish(struct gate_report *report);
/* A new run with empty texts; the pointer is good until the next one is added. */
struct gate_run *gate_report_add(struct gate_report *report, const char *suite, const char *name,
                                 const char *backend, int64_t seed);
/* Replaces a text of a run. */
void gate_run_set(char **text, const char *value);
/* Runs of a report by identity; good as long as none is added. */
struct gate_index {
    size_t count;
    const struct gate_run **sorted;
};
void gate_index_make(const struct gate_report *report, struct gate_index *index);
void gate_index_finish(struct gate_index *index);
/* The run with the suite, case, backend and seed of `like`; NULL if there is none. */
const struct gate_run *gate_index_find(const struct gate_index *index, const struct gate_run *like);
size_t gate_report_count(const struct gate_report *report, enum gate_status status);

/* A new object. Bytes that are no UTF-8 become '?'. */
json_t *gate_run_json(const struct gate_run *run);
json_t *gate_report_json(const struct gate_report *report);
/* INVALID_ARGUMENT when the file is no such report, with the place for malformed JSON. */
bool gate_report_load(const char *path, struct gate_report *report, struct error *err);

/* Puts the runs of `part`, which is empty afterwards, beside those of `report`: shards of one gate,
 * or gates of other suites or backends. The runs of a suite, and of a case in it, stand together
 * afterwards, in the order of their manifest; the date is the later one. INVALID_ARGUMENT, and
 * nothing is changed, when both have the same run. */
bool gate_report_join(struct gate_report *report, struct gate_report *part, struct error *err);

/* Runs that are not as expected and had the same outcome in the baseline become KNOWN. */
void gate_report_apply_baseline(struct gate_report *report, const struct gate_report *baseline);

/* --- the journal --- */
struct gate_journal {
    struct journal journal;
    struct gate_report past; /* what it held when it was opened */
};
/* As journal_open; false also when it is another command's. */
bool gate_journal_open(const char *path, struct gate_journal *journal, struct error *err);
bool gate_journal_write(struct gate_journal *journal, const struct gate_run *run,
                        struct error *err);
void gate_journal_close(struct gate_journal *journal);

/* --- other forms --- */

/* JUnit XML as CI systems read it: a testsuite a suite and backend, a testcase a run; what fails
 * the gate is a failure, what is quarantined or known is skipped with its reason. */
void gate_report_junit(const struct gate_report *report, struct text *out);
/* A line a run that fails the gate (::error) or is known or quarantined (::warning), as GitHub
 * shows it beside the manifest's line:
 * "::error file=…,line=…,title=…::message". */
void gate_report_annotations(const struct gate_report *report, struct text *out);
/* One page of HTML that needs nothing else: cases × backends, what they were in earlier reports
 * (oldest first), what each run that is not as expected has to say, and plots of error. */
void gate_report_page(const struct gate_report *report, const struct gate_report *history,
                      size_t history_count, struct text *out);

#endif
