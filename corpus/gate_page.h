/* The parts of the gate's page; for corpus/gate_page*.c alone.
 *
 * In the page every run has data-backend (a number), data-status (a name of run_classes) and
 * data-outcome, which the filter of gate_page.js looks at. A case's identity is SUITE/CASE, a run's
 * SUITE/CASE@BACKEND,SEED. */
#ifndef CORPUS_GATE_PAGE_H
#define CORPUS_GATE_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "corpus/gate_report.h"

struct text;

/* What a run means to a reader, most urgent first. */
enum run_class {
    RUN_UNEXPECTED,
    RUN_KNOWN,
    RUN_QUARANTINED,
    RUN_EXCUSED, /* a failure that is expected */
    RUN_FINE,
    RUN_CLASS_COUNT
};
struct run_class_row {
    const char *name;         /* in classes of style and in the filter */
    const char *label;        /* for people */
    const char *title, *what; /* of its section */
};
extern const struct run_class_row run_classes[RUN_CLASS_COUNT];
enum run_class run_class_of(const struct gate_run *run);
/* Its outcome, or GOLDEN_DIFFERS where the golden itself is not what the case says. */
const char *run_outcome(const struct gate_run *run);
bool run_is_compared(const struct gate_run *run);

/* Distinct names in the order in which they come. */
struct name_list {
    size_t count, capacity;
    const char **items;
};
/* The number of a name, which is added if it is new. */
size_t name_list_find(struct name_list *names, const char *name);

/* A page in the making. */
struct gate_page {
    const struct gate_report *report;
    const struct gate_report *history; /* oldest first */
    size_t history_count;
    struct gate_index *before; /* [history_count] */
    struct name_list backends, suites, outcomes;
    struct text *out;
};
/* What a run was in the last report but this; NULL if it was not in it. */
const struct gate_run *page_before(const struct gate_page *page, const struct gate_run *run);
/* It is not as expected, and was in the last report, or was not in it. */
bool page_is_new(const struct gate_page *page, const struct gate_run *run);

/* --- gate_page.c: small things that all parts have --- */

/* "SUITE/CASE" and "SUITE/CASE@BACKEND,SEED", as identities. */
void page_case_identity(const struct gate_run *run, struct text *out);
void page_run_identity(const struct gate_run *run, struct text *out);
/* A backend's URI without the folders of a path, for the text of an element. */
void page_backend_label(const char *uri, struct text *out);
/* The heading of its column in a table. */
void page_backend_heading(const char *uri, struct text *out);
/* "2026-12-01 09:30" of "2026-12-01T09:30:00Z"; what is no such date stays. */
void page_date(const char *date, struct text *out);
/* "1.5 ulp", "3 ulp", "3.0e+07 ulp"; nothing for 0. */
void page_ulps(double ulps, struct text *out);
/* The mark of a class: its outcome on its colour. */
void page_mark(const struct gate_run *run, struct text *out);
/* The runs of the case of run `first` are [first, result). */
size_t page_case_end(const struct gate_page *page, size_t first);

/* --- parts --- */
void page_summary(const struct gate_page *page);  /* gate_page_summary.c */
void page_changes(const struct gate_page *page);  /* gate_page_summary.c */
void page_filter(const struct gate_page *page);   /* gate_page_cases.c */
void page_sections(const struct gate_page *page); /* gate_page_runs.c */
void page_matrix(const struct gate_page *page);   /* gate_page_cases.c */
void page_plots(const struct gate_page *page);    /* gate_page_plots.c */

/* --- gate_page_plots.c --- */

/* How runs ended over the reports. */
void page_trend(const struct gate_page *page);
/* Elements of a run by their error. */
void page_elements(const struct gate_run *run, struct text *out);
/* A bar a report and one for now: its colour is how the run ended, its height how far it was off.
 */
void page_sparkline(const struct gate_page *page, const struct gate_run *run);
/* The shape that most sparklines refer to. */
void page_sparkline_symbol(const struct gate_page *page);
/* The bucket of compare.h of a run's largest error. */
int run_bucket(const struct gate_run *run);
extern const char *const bucket_names[COMPARE_BUCKETS];

#endif
