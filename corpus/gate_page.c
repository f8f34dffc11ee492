/* The gate's report as one page of HTML: a summary and what changed, what is not as expected, the
 * matrix of cases × backends with their history, plots of error. Nothing is fetched; without
 * scripts all but the filter works. */
#include "corpus/gate_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/page.h"
#include "hlo/base/arena.h"

extern const char gate_page_style[], gate_page_style_hash[];
extern const char gate_page_script[], gate_page_script_hash[];

const struct run_class_row run_classes[RUN_CLASS_COUNT] = {
    {"unexpected", "unexpected", "Unexpected", "They fail the gate."},
    {"known", "known", "Known from the baseline", "Not as expected, as they were in the baseline."},
    {"quarantined", "in quarantine", "In quarantine",
     "Not as expected, in cases that do not gate."},
    {"excused", "expected failures", "Failures that are expected", "As the manifests say."},
    {"fine", "as they should be", "As they should be", ""},
};

enum run_class run_class_of(const struct gate_run *run)
{
    static const enum run_class classes[GATE_STATUS_COUNT] = {RUN_FINE, RUN_UNEXPECTED, RUN_KNOWN,
                                                              RUN_QUARANTINED};
    bool excused = run->status == GATE_AS_EXPECTED && strcmp(run->outcome, "PASS") != 0;
    return excused ? RUN_EXCUSED : classes[run->status];
}

const char *run_outcome(const struct gate_run *run)
{
    return run->golden_differs ? "GOLDEN_DIFFERS" : run->outcome;
}

bool run_is_compared(const struct gate_run *run)
{
    return run->done &&
           (strcmp(run->outcome, "PASS") == 0 || strcmp(run->outcome, "MISMATCH") == 0 ||
            strcmp(run->outcome, "INCONCLUSIVE") == 0);
}

size_t name_list_find(struct name_list *names, const char *name)
{
    size_t i = 0;
    while (i < names->count && strcmp(names->items[i], name) != 0) {
        i++;
    }
    if (i == names->count) {
        names->items = grow(names->items, names->count, &names->capacity, sizeof *names->items);
        names->items[names->count++] = name;
    }
    return i;
}

const struct gate_run *page_before(const struct gate_page *page, const struct gate_run *run)
{
    return page->history_count > 0 ? gate_index_find(&page->before[page->history_count - 1], run)
                                   : NULL;
}

bool page_is_new(const struct gate_page *page, const struct gate_run *run)
{
    const struct gate_run *before = page_before(page, run);
    return page->history_count > 0 && run->status != GATE_AS_EXPECTED &&
           (before == NULL || before->status == GATE_AS_EXPECTED);
}

/* --- small things --- */

void page_case_identity(const struct gate_run *run, struct text *out)
{
    page_identity(run->suite, out);
    text_char(out, '/');
    page_identity(run->name, out);
}

void page_run_identity(const struct gate_run *run, struct text *out)
{
    page_case_identity(run, out);
    text_char(out, '@');
    page_identity(run->backend, out);
    text_printf(out, ",%lld", (long long)run->seed);
}

void page_backend_label(const char *uri, struct text *out)
{
    size_t path = strcspn(uri, "?");
    size_t name = path;
    while (name > 0 && uri[name - 1] != '/') {
        name--;
    }
    size_t scheme = strcspn(uri, ":");
    if (name > scheme + 2) {
        struct text start;
        text_init(&start);
        text_append_n(&start, uri, scheme);
        text_append(&start, ":…/");
        text_markup(out, start.data);
        text_finish(&start);
        uri += name;
    }
    /* It may break before each option. */
    for (size_t size; *uri != '\0'; uri += size) {
        size = 1 + strcspn(uri + 1, "?&");
        struct text part;
        text_init(&part);
        text_append_n(&part, uri, size);
        text_append(out, *uri == '?' || *uri == '&' ? "<wbr>" : "");
        text_markup(out, part.data);
        text_finish(&part);
    }
}

void page_backend_heading(const char *uri, struct text *out)
{
    text_append(out, "<th scope=\"col\" title=\"");
    text_markup(out, uri);
    text_append(out, "\">");
    page_backend_label(uri, out);
    text_append(out, "</th>");
}

void page_date(const char *date, struct text *out)
{
    struct text short_date;
    text_init(&short_date);
    bool known = strlen(date) >= strlen("YYYY-MM-DDTHH:MM") && date[10] == 'T';
    text_append_n(&short_date, date, known ? 16 : strlen(date));
    if (known) {
        short_date.data[10] = ' ';
    }
    text_markup(out, short_date.data);
    text_finish(&short_date);
}

void page_ulps(double ulps, struct text *out)
{
    if (ulps >= 1e6) {
        text_printf(out, "%.1e ulp", ulps);
    } else if (ulps > 0) {
        text_printf(out, "%.*f ulp", ulps < 10 && ulps != floor(ulps) ? 1 : 0, ulps);
    }
}

void page_mark(const struct gate_run *run, struct text *out)
{
    text_printf(out, "<span class=\"mark %s\">", run_classes[run_class_of(run)].name);
    text_markup(out, run_outcome(run));
    text_append(out, "</span>");
}

size_t page_case_end(const struct gate_page *page, size_t first)
{
    const struct gate_run *runs = page->report->runs;
    size_t end = first;
    while (end < page->report->count && strcmp(runs[end].suite, runs[first].suite) == 0 &&
           strcmp(runs[end].name, runs[first].name) == 0) {
        end++;
    }
    return end;
}

/* --- the page --- */

static void take_names(struct gate_page *page)
{
    for (size_t i = 0; i < page->report->count; i++) {
        const struct gate_run *run = &page->report->runs[i];
        name_list_find(&page->backends, run->backend);
        name_list_find(&page->suites, run->suite);
        if (run->done && strcmp(run_outcome(run), "PASS") != 0) {
            name_list_find(&page->outcomes, run_outcome(run));
        }
    }
}

static void write_title(const struct gate_report *report, struct text *title)
{
    size_t count = gate_report_count(report, GATE_UNEXPECTED);
    text_append(title, count > 0 ? "" : "All as expected");
    if (count > 0) {
        text_printf(title, "%zu unexpected", count);
    }
    text_append(title, " – Referee gate ");
    text_append_n(title, report->date, strcspn(report->date, "T"));
}

void gate_report_page(const struct gate_report *report, const struct gate_report *history,
                      size_t history_count, struct text *out)
{
    const struct page_part style = {gate_page_style, gate_page_style_hash};
    const struct page_part script = {gate_page_script, gate_page_script_hash};
    struct gate_page page = {
        .report = report, .history = history, .history_count = history_count, .out = out};
    page.before = memory_zalloc((history_count + 1) * sizeof *page.before);
    for (size_t i = 0; i < history_count; i++) {
        gate_index_make(&history[i], &page.before[i]);
    }
    take_names(&page);
    struct text title;
    text_init(&title);
    write_title(report, &title);
    page_begin(title.data, &style, &script, out);
    text_finish(&title);
    page_summary(&page);
    page_changes(&page);
    page_filter(&page);
    page_sections(&page);
    page_matrix(&page);
    page_plots(&page);
    page_end(&script, out);
    for (size_t i = 0; i < history_count; i++) {
        gate_index_finish(&page.before[i]);
    }
    free(page.before);
    free(page.backends.items);
    free(page.suites.items);
    free(page.outcomes.items);
}
