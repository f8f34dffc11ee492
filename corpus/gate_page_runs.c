/* What each run that did not pass has to say: sections of the gate's page, the most urgent first.
 */
#include <stdlib.h>
#include <string.h>

#include "corpus/gate_page.h"
#include "hlo/base/arena.h"
#include "hlo/base/text.h"

/* --- one run --- */

/* The beginning of a text, up to its first line's end. */
static void first_line(const char *words, struct text *out)
{
    enum { MOST = 160 };
    size_t size = strcspn(words, "\n");
    bool cut = size > MOST;
    size = cut ? MOST : size;
    while (cut && size > 0 && ((unsigned char)words[size] & 0xc0) == 0x80) {
        size--; /* not within a character */
    }
    struct text line;
    text_init(&line);
    text_append_n(&line, words, size);
    text_append(&line, cut ? "…" : "");
    text_markup(out, line.data);
    text_finish(&line);
}

static void run_summary(const struct gate_page *page, const struct gate_run *run)
{
    struct text *out = page->out;
    text_append(out, "<summary>");
    page_mark(run, out);
    text_append(out, page_is_new(page, run) ? "<span class=\"new\">new</span>" : "<span></span>");
    text_append(out, "<span class=\"case\"><span class=\"dim\">");
    text_markup(out, run->suite);
    text_append(out, "/</span>");
    text_markup(out, run->name);
    text_append(out, "</span><span class=\"on\">");
    page_backend_label(run->backend, out);
    text_printf(out, " seed %lld</span><span class=\"say\">", (long long)run->seed);
    bool excused = run_class_of(run) == RUN_EXCUSED;
    first_line(run->message[0] != '\0' && !excused ? run->message : run->reason, out);
    if (!excused && run_is_compared(run) && run->largest_ulps > 0) {
        text_append(out, ", ");
        page_ulps(run->largest_ulps, out);
    }
    text_append(out, "</span></summary>\n");
}

static void row(const char *name, const char *value, bool code, struct text *out)
{
    if (value[0] != '\0') {
        text_printf(out, "<dt>%s</dt><dd>%s", name, code ? "<code>" : "");
        text_markup(out, value);
        text_append(out, code ? "</code></dd>\n" : "</dd>\n");
    }
}

static void run_facts(const struct gate_page *page, const struct gate_run *run)
{
    struct text *out = page->out;
    struct text words;
    text_init(&words);
    text_append(out, "<dl>\n");
    row("status", run_classes[run_class_of(run)].label, false, out);
    row("expected", run->expected, false, out);
    text_printf(&words, "expected %s", run->expected);
    row("reason", strcmp(run->reason, words.data) != 0 ? run->reason : "", false, out);
    row("backend", run->backend, true, out);
    if (run_is_compared(run)) {
        text_clear(&words);
        page_ulps(run->largest_ulps, &words);
        row("largest error", words.size > 0 ? words.data : "0", false, out);
    }
    text_clear(&words);
    text_printf(&words, "%.3g s", run->seconds);
    row("time", words.data, false, out);
    row("module", run->file, true, out);
    if (run->manifest[0] != '\0') {
        text_clear(&words);
        text_printf(&words, "%s:%d", run->manifest, run->line);
        row("case", words.data, true, out);
    }
    text_append(out, "</dl>\n");
    text_finish(&words);
}

static void run_history(const struct gate_page *page, const struct gate_run *run)
{
    struct text *out = page->out;
    if (page->history_count == 0) {
        return;
    }
    text_append(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                     "aria-label=\"Earlier reports\"><table class=\"past\"><thead><tr>");
    for (size_t i = 0; i < page->history_count; i++) {
        text_append(out, "<th scope=\"col\">");
        page_date(page->history[i].date, out);
        text_append(out, "</th>");
    }
    text_append(out, "</tr></thead><tbody><tr>");
    for (size_t i = 0; i < page->history_count; i++) {
        const struct gate_run *old = gate_index_find(&page->before[i], run);
        text_append(out, "<td>");
        if (old == NULL) {
            text_append(out, "<span class=\"dim\">not run</span>");
        } else {
            page_mark(old, out);
            if (run_is_compared(old) && old->largest_ulps > 0) {
                text_char(out, ' ');
                page_ulps(old->largest_ulps, out);
            }
        }
        text_append(out, "</td>");
    }
    text_append(out, "</tr></tbody></table></div>\n");
}

static void run_details(const struct gate_page *page, const struct gate_run *run)
{
    struct text *out = page->out;
    struct name_list backends = page->backends;
    text_printf(out,
                "<details class=\"run\" data-backend=\"%zu\" data-status=\"%s\" data-outcome=\"",
                name_list_find(&backends, run->backend), run_classes[run_class_of(run)].name);
    text_markup(out, run_outcome(run));
    text_append(out, "\">\n");
    run_summary(page, run);
    /* Inside, so that a link to it opens what it is in, without a script. */
    text_append(out, "<div class=\"body\" id=\"");
    page_run_identity(run, out);
    text_append(out, "\">\n<p class=\"links\"><a href=\"#");
    page_run_identity(run, out);
    text_append(out, "\">link to this run</a> <a href=\"#");
    page_case_identity(run, out);
    text_append(out, "\">its case on all backends</a></p>\n");
    if (run->command[0] != '\0') {
        text_append(out, "<pre class=\"command\" aria-label=\"The command that repeats it\">");
        text_markup(out, run->command);
        text_append(out, "</pre>\n");
    }
    if (run->next[0] != '\0') {
        text_append(out, "<pre class=\"command\" aria-label=\"What to type next\">");
        text_markup(out, run->next);
        text_append(out, "</pre>\n");
    }
    if (run->message[0] != '\0') {
        bool line = strchr(run->message, '\n') == NULL;
        text_append(out, line ? "<p class=\"message\">" : "<pre class=\"message\">");
        text_markup(out, run->message);
        text_append(out, line ? "</p>\n" : "</pre>\n");
    }
    if (run->picture[0] != '\0') {
        text_append(out, "<pre class=\"picture\" tabindex=\"0\">");
        text_markup(out, run->picture);
        text_append(out, "</pre>\n");
    }
    int64_t elements = 0;
    for (int k = 1; k < COMPARE_BUCKETS; k++) {
        elements += run->buckets[k];
    }
    text_append(out, "<div class=\"facts\">\n");
    run_facts(page, run);
    if (elements > 0) {
        page_elements(run, out);
    }
    text_append(out, "</div>\n");
    run_history(page, run);
    text_append(out, "</div>\n</details>\n");
}

/* --- sections --- */

/* The order in a section: what is new, then by outcome, then as in the report. */
struct place {
    bool is_new;
    size_t outcome, self;
};

static int by_place(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    int order = b->is_new - a->is_new;
    order = order != 0 ? order : (a->outcome > b->outcome) - (a->outcome < b->outcome);
    return order != 0 ? order : (a->self > b->self) - (a->self < b->self);
}

static void section(const struct gate_page *page, enum run_class class)
{
    struct place *places = memory_alloc((page->report->count + 1) * sizeof *places);
    size_t count = 0;
    struct name_list outcomes = page->outcomes;
    for (size_t i = 0; i < page->report->count; i++) {
        const struct gate_run *run = &page->report->runs[i];
        if (run->done && run_class_of(run) == class) {
            bool pass = strcmp(run_outcome(run), "PASS") == 0;
            places[count++] =
                (struct place){page_is_new(page, run),
                               pass ? 0 : 1 + name_list_find(&outcomes, run_outcome(run)), i};
        }
    }
    if (count > 0) {
        qsort(places, count, sizeof *places, by_place);
        const struct run_class_row *row = &run_classes[class];
        text_printf(page->out,
                    "<section class=\"runs\" id=\"%s\">\n<h2>%s <span class=\"count\">%zu</span>"
                    "</h2>\n<p class=\"dim\">%s</p>\n",
                    row->name, row->title, count, row->what);
        for (size_t i = 0; i < count; i++) {
            run_details(page, &page->report->runs[places[i].self]);
        }
        text_append(page->out, "</section>\n");
    }
    free(places);
}

void page_sections(const struct gate_page *page)
{
    for (int c = 0; c < RUN_FINE; c++) {
        section(page, (enum run_class)c);
    }
}
