/* The gate's page: the filter, and the matrix of cases × backends, a table a suite. */
#include <math.h>
#include <string.h>

#include "corpus/gate_page.h"
#include "hlo/base/text.h"

/* --- the filter --- */

static void choice_begin(struct text *out, const char *name)
{
    text_printf(out, "<select name=\"%s\" aria-label=\"%s\"><option value=\"\">%s</option>", name,
                name, name);
}

static void choice(struct text *out, const char *value, const char *label)
{
    text_append(out, "<option value=\"");
    text_markup(out, value);
    text_append(out, "\">");
    text_markup(out, label);
    text_append(out, "</option>");
}

void page_filter(const struct gate_page *page)
{
    struct text *out = page->out;
    text_append(out, "<form id=\"filter\" role=\"search\" hidden>\n<input type=\"search\" "
                     "name=\"text\" placeholder=\"suite/case\" aria-label=\"part of suite/case\" "
                     "autocomplete=\"off\" spellcheck=\"false\">\n");
    choice_begin(out, "status");
    choice(out, "bad", "all but passes");
    for (int c = 0; c < RUN_CLASS_COUNT; c++) {
        choice(out, run_classes[c].name, run_classes[c].label);
    }
    text_append(out, "</select>\n");
    choice_begin(out, "outcome");
    choice(out, "PASS", "PASS");
    for (size_t i = 0; i < page->outcomes.count; i++) {
        choice(out, page->outcomes.items[i], page->outcomes.items[i]);
    }
    text_append(out, "</select>\n");
    choice_begin(out, "backend");
    for (size_t i = 0; i < page->backends.count; i++) {
        choice(out, page->backends.items[i], page->backends.items[i]);
    }
    text_append(out, "</select>\n");
    choice_begin(out, "suite");
    for (size_t i = 0; i < page->suites.count; i++) {
        choice(out, page->suites.items[i], page->suites.items[i]);
    }
    text_append(out, "</select>\n<button type=\"reset\">all</button>\n"
                     "<output aria-live=\"polite\"></output>\n"
                     "<span class=\"keys\"><kbd>/</kbd> search, <kbd>j</kbd> <kbd>k</kbd> next and "
                     "previous run, <kbd>Esc</kbd> all</span>\n</form>\n");
}

/* --- the matrix --- */

static bool is_alike(const struct gate_run *a, const struct gate_run *b)
{
    return a->done == b->done && run_class_of(a) == run_class_of(b) &&
           strcmp(run_outcome(a), run_outcome(b)) == 0;
}

/* Runs of one case on one backend that ended alike, with several seeds: the worst of them. */
static void cell_mark(const struct gate_page *page, const struct gate_run *worst, size_t seeds)
{
    struct text *out = page->out;
    if (!worst->done) {
        text_append(out, "<span class=\"dim\">not run</span>");
        return;
    }
    if (run_class_of(worst) == RUN_FINE) {
        text_append(out, "<span class=\"pass\">✓</span>");
        if (worst->largest_ulps > 0) {
            text_append(out, " <small>");
            page_ulps(worst->largest_ulps, out);
            text_append(out, "</small>");
        }
    } else {
        text_printf(out, "<a class=\"mark %s\" href=\"#", run_classes[run_class_of(worst)].name);
        page_run_identity(worst, out);
        text_append(out, "\">");
        text_markup(out, run_outcome(worst));
        text_append(out, "</a>");
    }
    if (seeds > 1) {
        text_printf(out, " <small>×%zu</small>", seeds);
    }
}

/* The runs of a case on a backend: those that ended alike as one mark. */
static void cell(const struct gate_page *page, size_t first, size_t end, const char *backend)
{
    const struct gate_run *runs = page->report->runs;
    const struct gate_run *worst_of_all = NULL;
    for (size_t i = first; i < end; i++) {
        if (strcmp(runs[i].backend, backend) == 0 &&
            (worst_of_all == NULL || run_class_of(&runs[i]) < run_class_of(worst_of_all))) {
            worst_of_all = &runs[i];
        }
    }
    text_append(page->out, "<td>");
    if (worst_of_all != NULL) {
        page_sparkline(page, worst_of_all);
    }
    for (size_t i = first; i < end; i++) {
        if (strcmp(runs[i].backend, backend) != 0) {
            continue;
        }
        const struct gate_run *worst = &runs[i];
        size_t alike = 0, earlier = 0;
        for (size_t k = first; k < end; k++) {
            if (strcmp(runs[k].backend, backend) == 0 && is_alike(&runs[k], &runs[i])) {
                alike++;
                earlier += k < i;
                worst = runs[k].largest_ulps > worst->largest_ulps ? &runs[k] : worst;
            }
        }
        if (earlier == 0) {
            cell_mark(page, worst, alike);
        }
    }
    text_append(page->out, "</td>");
}

static void case_row(const struct gate_page *page, size_t first, size_t end)
{
    const struct gate_run *run = &page->report->runs[first];
    text_append(page->out, "<tr id=\"");
    page_case_identity(run, page->out);
    text_append(page->out, "\"><th scope=\"row\">");
    text_markup(page->out, run->name);
    text_append(page->out, "</th>");
    for (size_t b = 0; b < page->backends.count; b++) {
        cell(page, first, end, page->backends.items[b]);
    }
    text_append(page->out, "</tr>\n");
}

static size_t suite_end(const struct gate_page *page, size_t first)
{
    const struct gate_run *runs = page->report->runs;
    size_t end = first;
    while (end < page->report->count && strcmp(runs[end].suite, runs[first].suite) == 0) {
        end++;
    }
    return end;
}

/* "420 cases, 12 unexpected, 3 known". Returns whether all runs are as they should be. */
static bool suite_counts(const struct gate_page *page, size_t first, size_t end)
{
    size_t counts[RUN_CLASS_COUNT] = {0}, cases = 0;
    for (size_t i = first; i < end; i = page_case_end(page, i)) {
        cases++;
    }
    for (size_t i = first; i < end; i++) {
        if (page->report->runs[i].done) {
            counts[run_class_of(&page->report->runs[i])]++;
        }
    }
    text_printf(page->out, " <span class=\"dim\">%zu case%s</span>", cases, cases == 1 ? "" : "s");
    bool fine = true;
    for (int c = 0; c < RUN_FINE; c++) {
        if (counts[c] > 0) {
            text_printf(page->out, " <span class=\"mark %s\">%zu %s</span>", run_classes[c].name,
                        counts[c], run_classes[c].label);
            fine &= c == RUN_EXCUSED;
        }
    }
    return fine;
}

static void suite_table(const struct gate_page *page, size_t first, size_t end)
{
    /* Up to so many cases all suites are open; above, those with something to see. */
    enum { OPEN_MOST = 1000 };
    struct text *out = page->out;
    struct name_list suites = page->suites;
    struct text counts;
    struct gate_page aside = *page;
    text_init(&counts);
    aside.out = &counts;
    bool fine = suite_counts(&aside, first, end);
    text_printf(out, "<details class=\"suite\" data-suite=\"%zu\"%s><summary><h3>",
                name_list_find(&suites, page->report->runs[first].suite),
                !fine || page->report->count <= OPEN_MOST ? " open" : "");
    text_markup(out, page->report->runs[first].suite);
    text_printf(out,
                "</h3>%s</summary>\n<table class=\"cases\">\n<thead><tr><th scope=\"col\">case"
                "</th>",
                counts.data);
    text_finish(&counts);
    for (size_t b = 0; b < page->backends.count; b++) {
        page_backend_heading(page->backends.items[b], out);
    }
    text_append(out, "</tr></thead>\n<tbody>\n");
    for (size_t i = first, next; i < end; i = next) {
        next = page_case_end(page, i);
        case_row(page, i, next);
    }
    text_append(out, "</tbody></table>\n</details>\n");
}

void page_matrix(const struct gate_page *page)
{
    struct text *out = page->out;
    text_append(out, "<section id=\"cases\">\n<h2>All cases</h2>\n");
    text_append(out,
                "<p class=\"wanted\" hidden><a href=\"#status=bad\">only those with a run that "
                "did not pass</a></p>\n");
    if (page->history_count > 0) {
        text_printf(out,
                    "<p class=\"dim\">The bars are %zu reports, oldest first, this one last: "
                    "as high as the largest error, or full where a run did not pass.</p>\n",
                    page->history_count + 1);
    }
    page_sparkline_symbol(page);
    for (size_t i = 0, end; i < page->report->count; i = end) {
        end = suite_end(page, i);
        suite_table(page, i, end);
    }
    text_append(out, "</section>\n");
}
