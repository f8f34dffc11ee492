/* The pictures of the gate's page: errors, how runs ended over the reports, sparklines. */
#include <math.h>
#include <string.h>

#include "corpus/gate_page.h"
#include "hlo/base/text.h"

const char *const bucket_names[COMPARE_BUCKETS] = {"0",     "≤ 1",     "≤ 4",  "≤ 16",
                                                   "≤ 256", "≤ 65536", "more", "NaN/Inf"};

int run_bucket(const struct gate_run *run)
{
    static const double limits[] = {0, 1, 4, 16, 256, 65536};
    int bucket = 0;
    while (bucket < 6 && run->largest_ulps > limits[bucket]) {
        bucket++;
    }
    return run->buckets[COMPARE_BUCKETS - 1] > 0 ? COMPARE_BUCKETS - 1 : bucket;
}

/* --- bars by error --- */

/* Bars of `values`, heights by logarithm: one is seen beside a million. `bad` of each, below, in
 * another colour; NULL: none is. */
static void bars(const int64_t *values, const int64_t *bad, const char *label, struct text *out)
{
    enum { WIDTH = 48, HEIGHT = 84, TOP = 18 };
    double most = 1;
    for (int i = 0; i < COMPARE_BUCKETS; i++) {
        most = fmax(most, log2(1 + (double)values[i]));
    }
    text_printf(out,
                "<svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" "
                "aria-label=\"%s:",
                WIDTH * COMPARE_BUCKETS, TOP + HEIGHT + 20, WIDTH * COMPARE_BUCKETS,
                TOP + HEIGHT + 20, label);
    for (int i = 0; i < COMPARE_BUCKETS; i++) {
        if (values[i] > 0) {
            text_printf(out, " %s: %lld;", bucket_names[i], (long long)values[i]);
        }
    }
    text_append(out, "\">\n");
    for (int i = 0; i < COMPARE_BUCKETS; i++) {
        double height = log2(1 + (double)values[i]) / most * HEIGHT;
        double part = bad == NULL || values[i] == 0 ? 0 : (double)bad[i] / (double)values[i];
        int middle = i * WIDTH + WIDTH / 2;
        if (values[i] > 0) {
            text_printf(out,
                        "<rect class=\"%s\" x=\"%d\" y=\"%.1f\" width=\"%d\" "
                        "height=\"%.1f\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"middle\">%lld"
                        "</text>",
                        bad != NULL ? "bar fine" : "bar kept", i * WIDTH + 4, TOP + HEIGHT - height,
                        WIDTH - 8, height, middle, TOP + HEIGHT - height - 4, (long long)values[i]);
        }
        if (part > 0) {
            text_printf(out,
                        "<rect class=\"bar unexpected\" x=\"%d\" y=\"%.1f\" width=\"%d\" "
                        "height=\"%.1f\"/>",
                        i * WIDTH + 4, TOP + HEIGHT - height * part, WIDTH - 8, height * part);
        }
        text_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", middle,
                    TOP + HEIGHT + 15, bucket_names[i]);
    }
    text_printf(out, "<line class=\"line\" x1=\"0\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/></svg>\n",
                WIDTH * COMPARE_BUCKETS, TOP + HEIGHT, TOP + HEIGHT);
}

void page_elements(const struct gate_run *run, struct text *out)
{
    text_append(out, "<figure>");
    bars(run->buckets, NULL, "elements by error in ulps", out);
    text_append(out, "<figcaption>Elements by error in units in the last place; heights are "
                     "logarithms.</figcaption></figure>\n");
}

void page_plots(const struct gate_page *page)
{
    struct text *out = page->out;
    text_append(out, "<section id=\"errors\">\n<h2>Largest error of each run, in units in the last "
                     "place</h2>\n<div class=\"plots\">\n");
    for (size_t b = 0; b < page->backends.count; b++) {
        int64_t runs[COMPARE_BUCKETS] = {0}, bad[COMPARE_BUCKETS] = {0};
        for (size_t i = 0; i < page->report->count; i++) {
            const struct gate_run *run = &page->report->runs[i];
            if (run_is_compared(run) && strcmp(run->backend, page->backends.items[b]) == 0) {
                runs[run_bucket(run)]++;
                bad[run_bucket(run)] += strcmp(run->outcome, "PASS") != 0;
            }
        }
        text_append(out, "<figure>");
        bars(runs, bad, "runs by largest error in ulps", out);
        text_append(out, "<figcaption>");
        text_markup(out, page->backends.items[b]);
        text_append(out, "</figcaption></figure>\n");
    }
    text_append(out, "</div>\n<p class=\"dim\">Runs whose values were compared; heights are "
                     "logarithms. The red part of a bar is the share that does not pass.</p>\n"
                     "</section>\n</main>\n");
}

/* --- over the reports --- */

static const struct gate_report *report_of(const struct gate_page *page, size_t position)
{
    return position < page->history_count ? &page->history[position] : page->report;
}

static void count_classes(const struct gate_report *report, size_t counts[RUN_CLASS_COUNT])
{
    memset(counts, 0, RUN_CLASS_COUNT * sizeof *counts);
    for (size_t i = 0; i < report->count; i++) {
        if (report->runs[i].done) {
            counts[run_class_of(&report->runs[i])]++;
        }
    }
}

void page_trend(const struct gate_page *page)
{
    enum { WIDEST_ALL = 504, HEIGHT = 170, TOP = 18, BOTTOM = 22, WIDEST = 72 };
    size_t columns = page->history_count + 1, counts[RUN_CLASS_COUNT], most = 1;
    struct text *out = page->out;
    if (columns < 2) {
        return;
    }
    for (size_t i = 0; i < columns; i++) {
        count_classes(report_of(page, i), counts);
        size_t sum = 0;
        for (int c = 0; c < RUN_FINE; c++) {
            sum += counts[c];
        }
        most = sum > most ? sum : most;
    }
    double step = fmin((double)WIDEST_ALL / (double)columns, WIDEST), width = step * 0.72;
    size_t every = (size_t)ceil(44 / step);
    int all = (int)ceil(step * (double)columns);
    text_printf(out,
                "<figure><svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" "
                "aria-label=\"What did not pass, report by report\">\n",
                all, TOP + HEIGHT + BOTTOM, all, TOP + HEIGHT + BOTTOM);
    for (size_t i = 0; i < columns; i++) {
        const struct gate_report *report = report_of(page, i);
        count_classes(report, counts);
        double x = (double)i * step, y = TOP + HEIGHT;
        size_t sum = 0;
        for (int c = 0; c < RUN_FINE; c++) {
            double height = (double)counts[c] / (double)most * HEIGHT;
            y -= height;
            sum += counts[c];
            if (counts[c] > 0) {
                text_printf(out,
                            "<rect class=\"bar %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                            "height=\"%.1f\"><title>%zu %s</title></rect>",
                            run_classes[c].name, x, y, width, height, counts[c],
                            run_classes[c].label);
            }
        }
        if ((columns - 1 - i) % every == 0) {
            text_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%zu</text>",
                        x + width / 2, y - 4, sum);
            text_printf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", x + width / 2,
                        TOP + HEIGHT + 15);
            char day[6] = ""; /* 12-01 of 2026-12-01 */
            if (strlen(report->date) >= strlen("YYYY-MM-DD")) {
                memcpy(day, report->date + 5, 5);
            }
            text_markup(out, day);
            text_append(out, "</text>\n");
        }
    }
    text_printf(out,
                "<line class=\"line\" x1=\"0\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/></svg>\n"
                "<figcaption>What did not pass, report by report: ",
                all, TOP + HEIGHT, TOP + HEIGHT);
    for (int c = 0; c < RUN_FINE; c++) {
        text_printf(out, "<span class=\"key %s\"></span>%s%s", run_classes[c].name,
                    run_classes[c].label, c + 1 < RUN_FINE ? ", " : "");
    }
    text_append(out, "</figcaption></figure>\n");
}

/* --- sparklines --- */

enum { SPARK_HEIGHT = 12, SPARK_WIDEST = 6, SPARK_ALL = 84 };

static double spark_step(const struct gate_page *page)
{
    return fmin(SPARK_WIDEST, (double)SPARK_ALL / (double)(page->history_count + 1));
}

/* What a report has of a run: a class and a height; 0: it is not in it. */
struct spark {
    enum run_class class;
    int height;
};

static struct spark spark_of(const struct gate_run *run)
{
    if (run == NULL || !run->done) {
        return (struct spark){RUN_FINE, 0};
    }
    enum run_class class = run_class_of(run);
    bool passes = class == RUN_FINE;
    return (struct spark){class,
                          passes ? 2 + (run_bucket(run) < 6 ? run_bucket(run) : 6) : SPARK_HEIGHT};
}

static bool sparks_equal(struct spark a, struct spark b)
{
    return a.class == b.class && a.height == b.height;
}

static void spark_bar(struct spark spark, double x, double width, struct text *out)
{
    if (spark.height > 0) {
        if (spark.class == RUN_FINE) {
            text_append(out, "<path");
        } else {
            text_printf(out, "<path class=\"%s\"", run_classes[spark.class].name);
        }
        text_printf(out, " d=\"M%g %dh%gv%dh-%gz\"/>", x, SPARK_HEIGHT - spark.height, width,
                    spark.height, width);
    }
}

void page_sparkline_symbol(const struct gate_page *page)
{
    double width = spark_step(page) * (double)(page->history_count + 1);
    if (page->history_count == 0) {
        return;
    }
    text_append(page->out, "<svg class=\"symbols\" width=\"0\" height=\"0\" aria-hidden=\"true\">");
    for (int height = 2; height <= 8; height++) {
        text_printf(page->out, "<symbol id=\"level%d\" viewBox=\"0 0 %g %d\">", height, width,
                    SPARK_HEIGHT);
        spark_bar((struct spark){RUN_FINE, height}, 0, width - 1, page->out);
        text_append(page->out, "</symbol>");
    }
    text_append(page->out, "</svg>\n");
}

void page_sparkline(const struct gate_page *page, const struct gate_run *run)
{
    size_t columns = page->history_count + 1;
    if (columns < 2) {
        return;
    }
    double step = spark_step(page), gap = step > 3 ? 1 : 0;
    struct text *out = page->out;
    struct spark now = spark_of(run);
    bool steady = run_class_of(run) == RUN_FINE;
    for (size_t i = 0; i + 1 < columns; i++) {
        steady &= sparks_equal(spark_of(gate_index_find(&page->before[i], run)), now);
    }
    text_printf(out, "<svg class=\"spark\" width=\"%g\" height=\"%d\" aria-hidden=\"true\">",
                step * (double)columns, SPARK_HEIGHT);
    if (steady) { /* most are: their shape is there once */
        text_printf(out, "<use href=\"#level%d\"/></svg>", now.height);
        return;
    }
    text_append(out, "<title>");
    for (size_t i = 0; i + 1 < columns; i++) {
        const struct gate_run *old = gate_index_find(&page->before[i], run);
        page_date(page->history[i].date, out);
        text_append(out, ": ");
        text_markup(out, old != NULL ? run_outcome(old) : "not run");
        text_char(out, ' ');
        page_ulps(old != NULL ? old->largest_ulps : 0, out);
        text_char(out, '\n');
    }
    text_append(out, "</title>");
    for (size_t i = 0, end; i < columns; i = end) {
        const struct gate_run *old = i + 1 < columns ? gate_index_find(&page->before[i], run) : run;
        struct spark spark = spark_of(old);
        end = i + 1;
        while (end < columns &&
               sparks_equal(
                   spark,
                   spark_of(end + 1 < columns ? gate_index_find(&page->before[end], run) : run))) {
            end++;
        }
        spark_bar(spark, (double)i * step, (double)(end - i) * step - gap, out);
    }
    text_append(out, "</svg>");
}
