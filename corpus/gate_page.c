/* The gate's report as one page of HTML: a summary, plots of error, the matrix of cases × backends
 * with what they were before, and what each run that is not as expected has to say. Nothing is
 * fetched; without scripts all but the filter works. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/gate_report.h"
#include "hlo/base/arena.h"
#include "hlo/base/text.h"

static const char style[] =
    "body{font:14px/1.4 system-ui,sans-serif;margin:0 auto;max-width:1200px;padding:0 16px 48px;"
    "color:#1c2024;background:#fff}"
    "h1{font-size:22px;margin:20px 0 4px}h2{font-size:17px;margin:28px 0 8px}"
    "code,pre{font:12px/1.45 ui-monospace,monospace}"
    "pre{background:#f5f6f8;padding:8px 10px;overflow-x:auto;margin:6px 0}"
    ".sum span{display:inline-block;padding:2px 10px;margin:4px 6px 4px 0;border-radius:4px}"
    ".as{background:#dff3e3;color:#135c2a}.un{background:#fbdcdc;color:#8a1010}"
    ".kn{background:#fdebc8;color:#6b4500}.qu{background:#e4e6ea;color:#3d4450}"
    ".xf{background:#dbe8fa;color:#1b3f78}"
    "table{border-collapse:collapse;width:100%}"
    "th{position:sticky;top:0;background:#fff;text-align:left;border-bottom:2px solid #c8ccd2;"
    "padding:6px 8px;z-index:1}"
    "td{border-bottom:1px solid #e6e8ec;padding:2px 8px;vertical-align:top}"
    "td:first-child{word-break:break-word}"
    "tr.suite td{background:#f5f6f8;font-weight:600;padding:5px 8px}"
    ".b{display:inline-block;min-width:16px;padding:0 5px;margin:1px 2px 1px 0;border-radius:3px;"
    "font-size:12px;text-align:center;text-decoration:none}"
    ".h{display:inline-block;width:6px;height:12px;margin-right:1px;border-radius:1px}"
    "details{border:1px solid #d9dce1;border-radius:4px;margin:6px 0;padding:4px 10px}"
    "summary{cursor:pointer}details:target{outline:2px solid #4a7bd0}"
    ".filter{margin:8px 0}.filter input[type=search]{width:260px;padding:3px 6px}"
    "figure{display:inline-block;margin:0 24px 8px 0;vertical-align:top}"
    "figcaption{font-size:12px;color:#555}svg text{font:11px system-ui,sans-serif;fill:#444}";

static const char script[] =
    "const q=document.getElementById('q'),o=document.getElementById('o');"
    "function f(){const w=q.value.toLowerCase();"
    "document.querySelectorAll('tr[data-n]').forEach(r=>{"
    "r.hidden=!(r.dataset.n.includes(w)&&(!o.checked||r.dataset.s!=='ok'))});}"
    "q.oninput=o.onchange=f;"
    "function g(){const d=document.getElementById(location.hash.slice(1));"
    "if(d&&d.tagName==='DETAILS')d.open=true;}"
    "onhashchange=g;g();";

static const char *const bucket_names[COMPARE_BUCKETS] = {"0",    "≤1",     "≤4",     "≤16",
                                                          "≤256", "≤65536", ">65536", "NaN/Inf"};

/* The class of a badge. */
static const char *class_of(const struct gate_run *run)
{
    static const char *const classes[GATE_STATUS_COUNT] = {"as", "un", "kn", "qu"};
    bool failure_expected = run->status == GATE_AS_EXPECTED && strcmp(run->outcome, "PASS") != 0;
    return failure_expected ? "xf" : classes[run->status];
}

/* --- plots --- */

/* Bars of `values` under `names`, heights by logarithm: one is seen beside a million. */
static void bars(const int64_t *values, const char *color, struct text *out)
{
    enum { WIDTH = 46, HEIGHT = 90, TOP = 16 };
    double most = 1;
    for (int i = 0; i < COMPARE_BUCKETS; i++) {
        most = fmax(most, log2(1 + (double)values[i]));
    }
    text_printf(out, "<svg width=\"%d\" height=\"%d\" role=\"img\">", WIDTH * COMPARE_BUCKETS,
                TOP + HEIGHT + 18);
    for (int i = 0; i < COMPARE_BUCKETS; i++) {
        double height = log2(1 + (double)values[i]) / most * HEIGHT;
        text_printf(out,
                    "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" fill=\"%s\"/>"
                    "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>",
                    i * WIDTH + 4, TOP + HEIGHT - height, WIDTH - 8, height,
                    i < 4 ? color : "#c0392b", i * WIDTH + WIDTH / 2, TOP + HEIGHT + 14,
                    bucket_names[i]);
        if (values[i] > 0) {
            text_printf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"middle\">%lld</text>",
                        i * WIDTH + WIDTH / 2, TOP + HEIGHT - height - 3, (long long)values[i]);
        }
    }
    text_append(out, "</svg>");
}

/* The bucket of a run's largest error, as compare.h has them for elements. */
static int bucket_of(const struct gate_run *run)
{
    static const double limits[] = {0, 1, 4, 16, 256, 65536};
    int bucket = 0;
    while (bucket < 6 && run->largest_ulps > limits[bucket]) {
        bucket++;
    }
    return run->buckets[COMPARE_BUCKETS - 1] > 0 ? COMPARE_BUCKETS - 1 : bucket;
}

/* --- what stands in rows and columns --- */

/* Distinct names in the order in which they come. */
struct names {
    size_t count, capacity;
    const char **items;
};

static void names_add(struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->items[i], name) == 0) {
            return;
        }
    }
    names->items = grow(names->items, names->count, &names->capacity, sizeof *names->items);
    names->items[names->count++] = name;
}

/* A page in the making. */
struct page {
    const struct gate_report *report;
    const struct gate_report *history;
    struct gate_index *before; /* [history_count] */
    size_t history_count;
    struct names backends;
    struct text *out;
};

static void plots(const struct page *page)
{
    text_append(page->out, "<h2>Largest error of each run, in units in the last place</h2>\n");
    for (size_t b = 0; b < page->backends.count; b++) {
        int64_t runs[COMPARE_BUCKETS] = {0};
        for (size_t i = 0; i < page->report->count; i++) {
            const struct gate_run *run = &page->report->runs[i];
            bool compared = strcmp(run->outcome, "PASS") == 0 ||
                            strcmp(run->outcome, "MISMATCH") == 0 ||
                            strcmp(run->outcome, "INCONCLUSIVE") == 0;
            if (run->done && compared && strcmp(run->backend, page->backends.items[b]) == 0) {
                runs[bucket_of(run)]++;
            }
        }
        text_append(page->out, "<figure>");
        bars(runs, "#4a8f5c", page->out);
        text_append(page->out, "<figcaption>");
        text_markup(page->out, page->backends.items[b]);
        text_append(page->out, ": runs by largest error (heights are logarithms)</figcaption>"
                               "</figure>\n");
    }
}

static bool same_case(const struct gate_run *a, const struct gate_run *b)
{
    return strcmp(a->suite, b->suite) == 0 && strcmp(a->name, b->name) == 0;
}

static void badge(const struct page *page, size_t i)
{
    const struct gate_run *run = &page->report->runs[i];
    const char *mark = strcmp(run->outcome, "PASS") == 0 ? "✓" : run->outcome;
    for (size_t h = 0; h < page->history_count; h++) {
        const struct gate_run *old = gate_index_find(&page->before[h], run);
        text_printf(page->out, "<span class=\"h %s\" title=\"", old != NULL ? class_of(old) : "");
        text_markup(page->out, page->history[h].date);
        text_append(page->out, ": ");
        text_markup(page->out, old != NULL ? old->outcome : "not run");
        text_append(page->out, "\"></span>");
    }
    bool linked = run->status != GATE_AS_EXPECTED || run->reason[0] != '\0';
    text_printf(page->out, linked ? "<a href=\"#r%zu\"" : "<span", i);
    text_printf(page->out, " class=\"b %s\" title=\"seed %lld: %s", class_of(run),
                (long long)run->seed, run->outcome);
    if (run->largest_ulps > 0 && isfinite(run->largest_ulps)) {
        text_printf(page->out, ", %.4g ulp", run->largest_ulps);
    }
    text_printf(page->out, ", %.3g s\">%s</%s>", run->seconds, mark, linked ? "a" : "span");
}

/* What the filter looks through. */
static void lower_case(const char *name, struct text *out)
{
    char *copy = memory_strdup(name);
    for (char *at = copy; *at != '\0'; at++) {
        *at = *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
    }
    text_markup(out, copy);
    free(copy);
}

/* The row of the case of run `first`; the runs of a case stand together. Returns where the next
 * case begins. */
static size_t row(const struct page *page, size_t first)
{
    const struct gate_run *head = &page->report->runs[first];
    size_t end = first;
    bool fine = true;
    while (end < page->report->count && same_case(&page->report->runs[end], head)) {
        fine &= !page->report->runs[end].done || page->report->runs[end].status == GATE_AS_EXPECTED;
        end++;
    }
    text_append(page->out, "<tr data-n=\"");
    lower_case(head->suite, page->out);
    text_char(page->out, '/');
    lower_case(head->name, page->out);
    text_printf(page->out, "\" data-s=\"%s\"><td>", fine ? "ok" : "bad");
    text_markup(page->out, head->name);
    text_append(page->out, "</td>");
    for (size_t b = 0; b < page->backends.count; b++) {
        text_append(page->out, "<td>");
        for (size_t i = first; i < end; i++) {
            const struct gate_run *run = &page->report->runs[i];
            if (run->done && strcmp(run->backend, page->backends.items[b]) == 0) {
                badge(page, i);
            }
        }
        text_append(page->out, "</td>");
    }
    text_append(page->out, "</tr>\n");
    return end;
}

static void matrix(const struct page *page)
{
    struct text *out = page->out;
    text_append(out,
                "<h2>Cases</h2>\n<p class=\"filter\"><input type=\"search\" id=\"q\" "
                "placeholder=\"filter by suite/case\"> <label><input type=\"checkbox\" id=\"o\"> "
                "only what is not as expected</label></p>\n<table>\n<tr><th>case</th>");
    for (size_t b = 0; b < page->backends.count; b++) {
        text_append(out, "<th>");
        text_markup(out, page->backends.items[b]);
        text_append(out, "</th>");
    }
    text_append(out, "</tr>\n");
    const char *suite = "";
    for (size_t i = 0; i < page->report->count;) {
        if (strcmp(page->report->runs[i].suite, suite) != 0) {
            suite = page->report->runs[i].suite;
            text_printf(out, "<tr class=\"suite\"><td colspan=\"%zu\">", page->backends.count + 1);
            text_markup(out, suite);
            text_append(out, "</td></tr>\n");
        }
        i = row(page, i);
    }
    text_append(out, "</table>\n");
}

static void paragraph(struct text *out, const char *before, const char *content, const char *after)
{
    if (content[0] != '\0') {
        text_append(out, before);
        text_markup(out, content);
        text_append(out, after);
    }
}

static void details(const struct page *page, size_t i)
{
    const struct gate_run *run = &page->report->runs[i];
    struct text *out = page->out;
    text_printf(out, "<details id=\"r%zu\"><summary><span class=\"b %s\">%s</span> ", i,
                class_of(run), run->outcome);
    text_markup(out, run->suite);
    text_char(out, '/');
    text_markup(out, run->name);
    text_append(out, " on ");
    text_markup(out, run->backend);
    text_printf(out, ", seed %lld</summary>\n", (long long)run->seed);
    text_printf(out, "<p>%s; expected %s", gate_status_text(run->status), run->expected);
    paragraph(out, ": ", run->reason, "");
    text_append(out, "</p>\n");
    paragraph(out, "<pre>", run->message, "</pre>\n");
    paragraph(out, "<pre>", run->picture, "</pre>\n");
    int64_t elements = 0;
    for (int k = 1; k < COMPARE_BUCKETS; k++) {
        elements += run->buckets[k];
    }
    if (elements > 0) {
        text_append(out, "<figure>");
        bars(run->buckets, "#4a7bd0", out);
        text_append(out, "<figcaption>elements by error in ulps (heights are logarithms)"
                         "</figcaption></figure>\n");
    }
    paragraph(out, "<p>again: <code>", run->command, "</code></p>\n");
    paragraph(out, "<pre>", run->next, "</pre>\n");
    paragraph(out, "<p>module: <code>", run->file, "</code></p>\n");
    text_append(out, "</details>\n");
}

/* Those that are not as expected first, then expected failures. */
static void all_details(const struct page *page)
{
    for (int pass = 0; pass < 2; pass++) {
        bool any = false;
        for (size_t i = 0; i < page->report->count; i++) {
            const struct gate_run *run = &page->report->runs[i];
            bool bad = run->status != GATE_AS_EXPECTED;
            if (!run->done || (pass == 0 ? !bad : bad || run->reason[0] == '\0')) {
                continue;
            }
            if (!any) {
                text_append(page->out, pass == 0 ? "<h2>Not as expected</h2>\n"
                                                 : "<h2>Failures that are expected</h2>\n");
                any = true;
            }
            details(page, i);
        }
    }
}

static void summary(const struct page *page)
{
    static const char *const classes[GATE_STATUS_COUNT] = {"as", "un", "kn", "qu"};
    struct text *out = page->out;
    text_append(out, "<h1>Referee gate</h1>\n<p>");
    text_markup(out, page->report->date);
    if (strcmp(page->report->shard, "1/1") != 0) {
        text_append(out, ", shard ");
        text_markup(out, page->report->shard);
    }
    if (page->history_count > 0) {
        text_printf(out, "; the bars before each mark are %zu earlier report%s, oldest first",
                    page->history_count, page->history_count > 1 ? "s" : "");
    }
    text_append(out, "</p>\n<p class=\"sum\">");
    for (int s = 0; s < GATE_STATUS_COUNT; s++) {
        size_t count = gate_report_count(page->report, (enum gate_status)s);
        if (count > 0 || s <= GATE_UNEXPECTED) {
            text_printf(out, "<span class=\"%s\">%zu %s</span>", classes[s], count,
                        gate_status_text((enum gate_status)s));
        }
    }
    text_append(out, "</p>\n");
}

void gate_report_page(const struct gate_report *report, const struct gate_report *history,
                      size_t history_count, struct text *out)
{
    struct page page = {
        .report = report, .history = history, .history_count = history_count, .out = out};
    page.before = memory_zalloc((history_count + 1) * sizeof *page.before);
    for (size_t i = 0; i < history_count; i++) {
        gate_index_make(&history[i], &page.before[i]);
    }
    for (size_t i = 0; i < report->count; i++) {
        if (report->runs[i].backend[0] != '\0') {
            names_add(&page.backends, report->runs[i].backend);
        }
    }
    text_printf(out,
                "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                "<meta name=\"viewport\" content=\"width=device-width\">"
                "<title>Referee gate: %zu unexpected</title><style>%s</style></head><body>\n",
                gate_report_count(report, GATE_UNEXPECTED), style);
    summary(&page);
    plots(&page);
    matrix(&page);
    all_details(&page);
    text_printf(out, "<script>%s</script>\n</body></html>\n", script);
    for (size_t i = 0; i < history_count; i++) {
        gate_index_finish(&page.before[i]);
    }
    free(page.before);
    free(page.backends.items);
}
