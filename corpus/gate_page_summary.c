/* The top of the gate's page: how many runs ended how on each backend, over time, and what changed
 * since the last report. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/gate_page.h"
#include "corpus/page.h"
#include "hlo/base/arena.h"
#include "hlo/base/text.h"

/* --- counts --- */

/* Whether a run is in a row of the table of counts. */
typedef bool counts_function(const struct gate_run *run, const void *what);

static bool is_of_class(const struct gate_run *run, const void *what)
{
    return run->done && run_class_of(run) == *(const enum run_class *)what;
}

static bool has_outcome(const struct gate_run *run, const void *what)
{
    return run->done && strcmp(run_outcome(run), what) == 0;
}

static bool is_not_done(const struct gate_run *run, const void *what)
{
    (void)what;
    return !run->done;
}

/* A number of runs; a link to them if the filter can show them. */
static void count_cell(const struct gate_page *page, size_t count, const char *key,
                       const char *value, const char *backend)
{
    struct text *out = page->out;
    text_append(out, "<td class=\"number\">");
    if (count == 0 || key == NULL) {
        text_printf(out, count == 0 ? "<span class=\"dim\">·</span>" : "%zu", count);
    } else {
        text_printf(out, "<a href=\"#%s=", key);
        page_address(value, out);
        if (backend != NULL) {
            text_append(out, "&amp;backend=");
            page_address(backend, out);
        }
        text_printf(out, "\">%zu</a>", count);
    }
    text_append(out, "</td>");
}

/* A row: the number of runs for which `counts` is true, of each backend and in all. `key` and
 * `value` are what the filter needs to show them; NULL: it cannot. */
static void count_row(const struct gate_page *page, const char *label, const char *key,
                      const char *value, counts_function *counts, const void *what)
{
    size_t *of_backend = memory_zalloc((page->backends.count + 1) * sizeof *of_backend);
    size_t all = 0;
    struct name_list backends = page->backends;
    for (size_t i = 0; i < page->report->count; i++) {
        if (counts(&page->report->runs[i], what)) {
            of_backend[name_list_find(&backends, page->report->runs[i].backend)]++;
            all++;
        }
    }
    text_append(page->out, "<tr><th scope=\"row\">");
    if (key != NULL && strcmp(key, "status") == 0) {
        text_printf(page->out, "<span class=\"mark %s\">", value);
        text_markup(page->out, label);
        text_append(page->out, "</span>");
    } else {
        text_markup(page->out, label);
    }
    text_append(page->out, "</th>");
    count_cell(page, all, key, value, NULL);
    for (size_t b = 0; b < page->backends.count && page->backends.count > 1; b++) {
        count_cell(page, of_backend[b], key, value, page->backends.items[b]);
    }
    text_append(page->out, "</tr>\n");
    free(of_backend);
}

static void count_table(const struct gate_page *page)
{
    struct text *out = page->out;
    text_append(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Counts\">"
                     "<table class=\"counts\">\n<thead><tr><th scope=\"col\">runs</th>"
                     "<th scope=\"col\" class=\"number\">all</th>");
    for (size_t b = 0; b < page->backends.count && page->backends.count > 1; b++) {
        page_backend_heading(page->backends.items[b], out);
    }
    text_append(out, "</tr></thead>\n<tbody>\n");
    for (int c = 0; c < RUN_CLASS_COUNT; c++) {
        enum run_class class = (enum run_class)c;
        count_row(page, run_classes[c].label, "status", run_classes[c].name, is_of_class, &class);
    }
    text_append(out, "</tbody>\n<tbody>\n");
    for (size_t i = 0; i < page->outcomes.count; i++) {
        const char *outcome = page->outcomes.items[i];
        count_row(page, outcome, "outcome", outcome, has_outcome, outcome);
    }
    size_t done = 0;
    for (int status = 0; status < GATE_STATUS_COUNT; status++) {
        done += gate_report_count(page->report, (enum gate_status)status);
    }
    if (done < page->report->count) {
        count_row(page, "not run", NULL, NULL, is_not_done, NULL);
    }
    text_append(out, "</tbody></table></div>\n");
}

static void duration(double seconds, struct text *out)
{
    static const struct {
        double least, unit;
        const char *name;
    } units[] = {{7200, 3600, "h"}, {120, 60, "min"}, {0, 1, "s"}};
    int i = 0;
    while (seconds < units[i].least) {
        i++;
    }
    text_printf(out, "%.*f %s", seconds / units[i].unit < 10 ? 1 : 0, seconds / units[i].unit,
                units[i].name);
}

static void counted(size_t count, const char *noun, struct text *out)
{
    text_printf(out, "%zu %s%s", count, noun, count == 1 ? "" : "s");
}

static void headline(const struct gate_page *page)
{
    struct text *out = page->out;
    size_t cases = 0, unexpected = gate_report_count(page->report, GATE_UNEXPECTED);
    double seconds = 0;
    for (size_t i = 0; i < page->report->count; i = page_case_end(page, i)) {
        cases++;
    }
    for (size_t i = 0; i < page->report->count; i++) {
        seconds += isfinite(page->report->runs[i].seconds) ? page->report->runs[i].seconds : 0;
    }
    text_append(out, "<header>\n<h1>Referee gate: ");
    if (unexpected > 0) {
        text_printf(out, "<span class=\"verdict unexpected\">%zu unexpected</span>", unexpected);
    } else {
        text_append(out, "<span class=\"verdict fine\">all as expected</span>");
    }
    text_append(out, "</h1>\n<p class=\"dim\">");
    page_date(page->report->date, out);
    text_append(out, " UTC");
    if (strcmp(page->report->shard, "1/1") != 0) {
        text_append(out, ", shard ");
        text_markup(out, page->report->shard);
    }
    text_append(out, ": ");
    counted(cases, "case", out);
    text_append(out, " of ");
    counted(page->suites.count, "suite", out);
    text_append(out, " on ");
    counted(page->backends.count, "backend", out);
    text_append(out, ", ");
    counted(page->report->count, "run", out);
    text_append(out, " in ");
    duration(seconds, out);
    if (page->history_count > 0) {
        text_append(out, "; ");
        counted(page->history_count, "earlier report", out);
        text_append(out, " since ");
        page_date(page->history[0].date, out);
    }
    text_append(out, "</p>\n</header>\n");
}

static size_t count_class(const struct gate_page *page, enum run_class class)
{
    size_t count = 0;
    for (size_t i = 0; i < page->report->count; i++) {
        count += is_of_class(&page->report->runs[i], &class);
    }
    return count;
}

void page_summary(const struct gate_page *page)
{
    struct text *out = page->out;
    headline(page);
    text_append(out, "<nav aria-label=\"Parts\">");
    if (page->history_count > 0) {
        text_append(out, "<a href=\"#changes\">Changes</a> ");
    }
    for (int c = 0; c < RUN_FINE; c++) {
        size_t count = count_class(page, (enum run_class)c);
        if (count > 0) {
            text_printf(out, "<a href=\"#%s\">%s</a> <span class=\"count\">%zu</span> ",
                        run_classes[c].name, run_classes[c].title, count);
        }
    }
    text_append(out, "<a href=\"#cases\">All cases</a> <a href=\"#errors\">Errors</a></nav>\n"
                     "<main>\n<div class=\"top\">\n");
    count_table(page);
    page_trend(page);
    text_append(out, "</div>\n");
}

/* --- what changed --- */

enum { LISTED_MOST = 40, OPEN_MOST = 12 };

/* An error that grew by so many buckets of compare.h is worth a look. */
enum { GREW_BUCKETS = 2 };

typedef bool changed_function(const struct gate_run *run, const struct gate_run *before);

static bool broke(const struct gate_run *run, const struct gate_run *before)
{
    return before->status == GATE_AS_EXPECTED && run->status != GATE_AS_EXPECTED;
}

static bool was_fixed(const struct gate_run *run, const struct gate_run *before)
{
    return before->status != GATE_AS_EXPECTED && run->status == GATE_AS_EXPECTED;
}

static bool has_another_outcome(const struct gate_run *run, const struct gate_run *before)
{
    return (before->status == GATE_AS_EXPECTED) == (run->status == GATE_AS_EXPECTED) &&
           strcmp(run_outcome(run), run_outcome(before)) != 0;
}

static bool error_grew(const struct gate_run *run, const struct gate_run *before)
{
    return strcmp(run->outcome, "PASS") == 0 && strcmp(before->outcome, "PASS") == 0 &&
           run_bucket(run) >= run_bucket(before) + GREW_BUCKETS;
}

static const struct change {
    changed_function *is;
    const char *title;
    bool open; /* listed without being asked, if there are few */
} changes[] = {
    {broke, "Not as expected any more", true},
    {has_another_outcome, "Another outcome", true},
    {was_fixed, "As expected again", false},
    {error_grew, "Pass, with a larger error", false},
};

static void list_begin(struct text *out, const char *title, size_t count, bool open)
{
    text_printf(out,
                "<details class=\"change\"%s><summary>%s <span class=\"count\">%zu</span>"
                "</summary>\n<ul>\n",
                open ? " open" : "", title, count);
}

static void list_end(struct text *out, size_t count)
{
    text_append(out, "</ul>\n");
    if (count > LISTED_MOST) {
        text_printf(out, "<p class=\"dim\">and %zu more</p>\n", count - LISTED_MOST);
    }
    text_append(out, "</details>\n");
}

static void case_name(const struct gate_run *run, struct text *out)
{
    text_append(out, "<span class=\"dim\">");
    text_markup(out, run->suite);
    text_append(out, "/</span>");
    text_markup(out, run->name);
}

static void outcome_and_error(const struct gate_run *run, bool with_error, struct text *out)
{
    text_markup(out, run_outcome(run));
    if (with_error && run->largest_ulps > 0) {
        text_char(out, ' ');
        page_ulps(run->largest_ulps, out);
    }
}

static void change_item(const struct gate_page *page, const struct gate_run *run,
                        const struct gate_run *before)
{
    struct text *out = page->out;
    bool both_pass = strcmp(run->outcome, before->outcome) == 0;
    text_append(out, "<li><a href=\"#");
    if (run_class_of(run) == RUN_FINE) {
        page_case_identity(run, out);
    } else {
        page_run_identity(run, out);
    }
    text_append(out, "\">");
    case_name(run, out);
    text_append(out, "</a> <span class=\"on\">");
    page_backend_label(run->backend, out);
    text_append(out, "</span> ");
    outcome_and_error(before, both_pass, out);
    text_append(out, " → ");
    outcome_and_error(run, both_pass, out);
    text_append(out, "</li>\n");
}

static void change_list(const struct gate_page *page, const struct change *change)
{
    size_t count = 0, listed = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < page->report->count; i++) {
            const struct gate_run *run = &page->report->runs[i];
            const struct gate_run *before = run->done ? page_before(page, run) : NULL;
            if (before == NULL || !change->is(run, before)) {
                continue;
            }
            count += pass == 0;
            if (pass == 1 && listed++ < LISTED_MOST) {
                change_item(page, run, before);
            }
        }
        if (pass == 0 && count == 0) {
            return;
        }
        if (pass == 0) {
            list_begin(page->out, change->title, count, change->open && count <= OPEN_MOST);
        }
    }
    list_end(page->out, count);
}

/* Cases of one report that have no run in the other one. */
static void list_missing(const struct gate_page *page, const struct gate_report *has,
                         const struct gate_index *lacks, const char *title, bool linked)
{
    size_t count = 0, listed = 0;
    const struct gate_page of = {.report = has};
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0, end; i < has->count; i = end) {
            end = page_case_end(&of, i);
            bool missing = true;
            for (size_t k = i; k < end; k++) {
                missing &= gate_index_find(lacks, &has->runs[k]) == NULL;
            }
            count += missing && pass == 0;
            if (missing && pass == 1 && listed++ < LISTED_MOST) {
                text_append(page->out, linked ? "<li><a href=\"#" : "<li>");
                if (linked) {
                    page_case_identity(&has->runs[i], page->out);
                    text_append(page->out, "\">");
                }
                case_name(&has->runs[i], page->out);
                text_append(page->out, linked ? "</a></li>\n" : "</li>\n");
            }
        }
        if (pass == 0 && count == 0) {
            return;
        }
        if (pass == 0) {
            list_begin(page->out, title, count, false);
        }
    }
    list_end(page->out, count);
}

void page_changes(const struct gate_page *page)
{
    if (page->history_count == 0) {
        return;
    }
    const struct gate_report *last = &page->history[page->history_count - 1];
    struct text *out = page->out;
    text_append(out, "<section id=\"changes\">\n<h2>Changes since ");
    page_date(last->date, out);
    text_append(out, "</h2>\n");
    size_t before = out->size;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        change_list(page, &changes[i]);
    }
    struct gate_index now;
    gate_index_make(page->report, &now);
    list_missing(page, page->report, &page->before[page->history_count - 1], "New cases", true);
    list_missing(page, last, &now, "No longer run", false);
    gate_index_finish(&now);
    if (out->size == before) {
        text_append(out, "<p>None: every run ended as it did then.</p>\n");
    }
    text_append(out, "</section>\n");
}
