/* The page of `referee passes`: the curve of error over the passes, a table of them, and the first
 * bad one in full. Everything is in the file: styles, pictures, no scripts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "tools/passes_report.h"

static const char style[] =
    ":root{--text:#1c2024;--back:#fff;--soft:#f5f6f8;--line:#d9dce1;--dim:#5d6570;--jump:#3b76c4;"
    "--drift:#c77d1e;--bad:#c62f2f;--open:#9aa1ab;--good:#23804a}"
    "@media(prefers-color-scheme:dark){:root{--text:#e4e7eb;--back:#17191d;--soft:#22262c;"
    "--line:#3a4049;--dim:#9aa3af;--jump:#6ea6ee;--drift:#e0a04c;--bad:#f06a6a;--open:#79818c;"
    "--good:#58bd80}}"
    "body{font:14px/1.45 system-ui,sans-serif;margin:0 auto;max-width:1240px;padding:0 16px 48px;"
    "color:var(--text);background:var(--back)}"
    "h1{font-size:21px;margin:20px 0 4px}h2{font-size:17px;margin:32px 0 6px}"
    "h3{font-size:15px;margin:22px 0 6px}p{margin:4px 0}"
    ".dim,figcaption{color:var(--dim)}figure{margin:10px 0;overflow-x:auto}"
    "code,pre{font:12px/1.45 ui-monospace,monospace}"
    "pre{background:var(--soft);padding:8px 10px;overflow-x:auto;margin:6px 0}"
    ".verdict{padding:6px 12px;border-left:4px solid var(--good);background:var(--soft);"
    "margin:8px 0}.verdict.bad{border-color:var(--bad)}"
    "table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}"
    "th{position:sticky;top:0;background:var(--back);text-align:left;padding:5px 8px;"
    "border-bottom:2px solid var(--line)}"
    "td{border-bottom:1px solid var(--line);padding:2px 8px;vertical-align:top}"
    "td.n,th.n{text-align:right;white-space:nowrap}td.name{word-break:break-word}"
    "tr:target td{background:var(--soft)}tr.bad td{color:var(--bad);font-weight:600}"
    "tr.open td{color:var(--dim)}.ok{color:var(--good)}.allowed{color:var(--drift)}"
    ".plus{color:var(--good)}.minus{color:var(--bad)}.place{color:var(--jump)}"
    "svg text{font:11px system-ui,sans-serif;fill:var(--dim)}svg .grid{stroke:var(--line)}"
    "svg .drift{stroke:var(--drift);fill:none;stroke-width:1.5}"
    "svg .stem{stroke:var(--jump)}svg .dot{fill:var(--jump)}svg .mark{fill:var(--drift)}"
    "svg .bad{fill:var(--bad);stroke:var(--bad)}svg .open{fill:var(--open);opacity:.35}"
    "svg .limit{stroke:var(--bad);stroke-dasharray:5 4}svg .hit{fill:transparent}"
    "svg .hit:hover{fill:var(--jump);opacity:.15}svg .word{fill:var(--bad)}"
    ".key{display:inline-block;margin-right:16px}.key i{display:inline-block;width:10px;"
    "height:10px;border-radius:5px;margin-right:5px}";

void passes_html_begin(const char *title, struct text *out)
{
    text_append(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                     "<meta name=\"viewport\" content=\"width=device-width\"><title>");
    text_markup(out, title);
    text_printf(out, "</title><style>%s</style></head><body>\n<h1>", style);
    text_markup(out, title);
    text_append(out, "</h1>\n");
}

void passes_html_end(struct text *out)
{
    text_append(out, "</body></html>\n");
}

/* --- the curve --- */

enum { WIDTH = 1200, LEFT = 92, RIGHT = 16, HEIGHT = 190, TOP = 20, BOTTOM = 34, ZERO = 22 };

/* One panel: a value of each pass on a logarithmic axis; equal bits lie on a line of their own
 * below it, what is not finite on the upper edge. */
struct panel {
    const struct passes_entry *entry;
    const struct passes_result *result;
    double (*value)(const struct pass_distance *distance);
    const char *title;
    bool has_limit; /* a line at 1 */
    int low, high;  /* exponents of ten at the ends of the axis */
    int top;        /* where the axis ends; above it is what is beyond any tolerance */
    struct text *out;
};

static double ulps_of(const struct pass_distance *distance)
{
    return distance->ulps;
}

static double tolerance_of(const struct pass_distance *distance)
{
    return distance->tolerance;
}

static double x_of(const struct panel *panel, int step)
{
    int steps = panel->result->count > 1 ? panel->result->count - 1 : 1;
    return LEFT + (double)(WIDTH - LEFT - RIGHT) * step / steps;
}

/* Where a power of ten lies. */
static double axis_y(const struct panel *panel, double exponent)
{
    double part = (exponent - panel->low) / (panel->high - panel->low);
    return panel->top + (TOP + HEIGHT - ZERO - panel->top) * (1 - fmin(fmax(part, 0), 1));
}

static double y_of(const struct panel *panel, const struct pass_distance *distance)
{
    double value = panel->value(distance);
    if (distance->bits || value <= 0) {
        return TOP + HEIGHT;
    }
    return isfinite(value) ? axis_y(panel, log10(value)) : TOP;
}

static void axis_find(struct panel *panel)
{
    panel->top = TOP;
    double low = panel->has_limit ? 0 : INFINITY, high = panel->has_limit ? 0 : -INFINITY;
    for (int i = 0; i < panel->result->count; i++) {
        const struct pass_distance *const sides[] = {&panel->result->verdicts[i].jump,
                                                     &panel->result->verdicts[i].drift};
        for (int k = 0; k < 2; k++) {
            double value = panel->value(sides[k]);
            if (sides[k]->known && !sides[k]->bits && !isfinite(value)) {
                panel->top = TOP + ZERO;
            } else if (sides[k]->known && !sides[k]->bits && value > 0) {
                low = fmin(low, log10(value));
                high = fmax(high, log10(value));
            }
        }
    }
    low = isfinite(low) ? low : 0;
    high = isfinite(high) ? high : 1;
    panel->low = (int)floor(fmax(low, high - 24));
    panel->high = (int)ceil(high + 0.05);
    panel->low -= panel->high - panel->low < 2;
}

static void draw_axis(const struct panel *panel)
{
    struct text *out = panel->out;
    text_printf(out, "<text x=\"%d\" y=\"12\">%s</text>", LEFT, panel->title);
    int decades = panel->high - panel->low, skip = decades > 8 ? (decades + 7) / 8 : 1;
    for (int d = panel->low; d <= panel->high; d += skip) {
        double y = axis_y(panel, d);
        text_printf(out,
                    "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                    "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>",
                    LEFT, WIDTH - RIGHT, y, y, LEFT - 8, y + 4, pow(10, d));
    }
    text_printf(out,
                "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>"
                "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">equal bits</text>",
                LEFT, WIDTH - RIGHT, TOP + HEIGHT, TOP + HEIGHT, LEFT - 8, TOP + HEIGHT + 4);
    if (panel->top > TOP) {
        text_printf(out,
                    "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>"
                    "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">without bound</text>",
                    LEFT, WIDTH - RIGHT, TOP, TOP, LEFT - 8, TOP + 4);
    }
    int every = 1 + panel->result->count / 26;
    every = every > 2 ? (every + 4) / 5 * 5 : every;
    for (int i = 0; i < panel->result->count; i++) {
        int position = panel->entry->first + i;
        if (position % every == 0) {
            text_printf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d</text>",
                        x_of(panel, i), TOP + HEIGHT + 20, position);
        }
    }
    if (panel->has_limit) {
        double y = axis_y(panel, 0);
        text_printf(out, "<line class=\"limit\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>",
                    LEFT, WIDTH - RIGHT, y, y);
    }
}

/* The drift as a line, which breaks where nothing was evaluated. */
static void draw_drift(const struct panel *panel)
{
    bool open = false;
    for (int i = 0; i < panel->result->count; i++) {
        /* The first module is not away from itself. */
        const struct pass_distance none = {.known = true, .bits = true};
        const struct pass_distance *drift = i == 0 ? &none : &panel->result->verdicts[i].drift;
        if (drift->known && !open) {
            text_append(panel->out, "<polyline class=\"drift\" points=\"");
        } else if (!drift->known && open) {
            text_append(panel->out, "\"/>");
        }
        open = drift->known;
        if (open) {
            text_printf(panel->out, "%.1f,%.1f ", x_of(panel, i), y_of(panel, drift));
        }
    }
    text_append(panel->out, open ? "\"/>" : "");
}

/* The jump as a dot on a stem, or a column where there is none. */
static void draw_jump(const struct panel *panel, int step, double half)
{
    const struct pass_verdict *verdict = &panel->result->verdicts[step];
    double x = x_of(panel, step), y = y_of(panel, &verdict->jump);
    if (!verdict->jump.known) {
        if (verdict->outcome != OUTCOME_PASS) {
            text_printf(panel->out,
                        "<rect class=\"open\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>",
                        x - half, TOP, 2 * half, HEIGHT);
        }
        return;
    }
    bool bad = verdict->outcome == OUTCOME_MISMATCH;
    if (!verdict->jump.bits) {
        text_printf(panel->out,
                    "<line class=\"%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%.1f\"/>",
                    bad ? "bad" : "stem", x, x, TOP + HEIGHT, y);
    }
    text_printf(panel->out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"/>",
                bad ? "bad" : "dot", x, y,
                bad                  ? "5"
                : verdict->jump.bits ? "1.8"
                                     : "3.2");
}

/* What a pass says when the mouse is on it; its row in the table is a click away. */
static void draw_hover(const struct panel *panel, int step, double half)
{
    const struct pass_verdict *verdict = &panel->result->verdicts[step];
    int position = panel->entry->first + step;
    struct text words;
    text_init(&words);
    text_printf(&words, "%d  %s\n%s", position, panel->entry->steps->names[position],
                passes_word(verdict));
    if (verdict->jump.known) {
        text_append(&words, "\njump: ");
        passes_distance(&verdict->jump, &words);
    }
    if (verdict->drift.known) {
        text_append(&words, "\ndrift: ");
        passes_distance(&verdict->drift, &words);
    }
    text_char(&words, '\n');
    passes_reason(verdict, &words);
    text_printf(panel->out,
                "<a href=\"#m%lld-%d\"><rect class=\"hit\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" "
                "height=\"%d\"><title>",
                (long long)panel->entry->id, position, x_of(panel, step) - half, TOP, 2 * half,
                HEIGHT + 6);
    text_markup(panel->out, words.data);
    text_append(panel->out, "</title></rect></a>");
    text_finish(&words);
}

static void draw_panel(struct panel *panel)
{
    axis_find(panel);
    int count = panel->result->count;
    double half = (double)(WIDTH - LEFT - RIGHT) / (count > 1 ? count - 1 : 1) / 2;
    half = fmin(half, 30);
    text_printf(panel->out,
                "<figure><svg viewBox=\"0 0 %d %d\" width=\"%d\" style=\"max-width:100%%\" "
                "role=\"img\" aria-label=\"%s\">",
                WIDTH, TOP + HEIGHT + BOTTOM, WIDTH, panel->title);
    draw_axis(panel);
    for (int i = 0; i < count; i++) {
        draw_jump(panel, i, half);
    }
    draw_drift(panel);
    int bad = panel->result->finding.step;
    if (bad >= 0) {
        double x = x_of(panel, bad);
        text_printf(panel->out, "<text class=\"word\" x=\"%.1f\" y=\"12\" text-anchor=\"%s\">",
                    fmax(x, LEFT + 300), x < WIDTH * 0.7 ? "start" : "end");
        text_markup(panel->out, panel->entry->steps->names[panel->entry->first + bad]);
        text_append(panel->out, "</text>");
    }
    for (int i = 0; i < count; i++) {
        draw_hover(panel, i, half);
    }
    text_append(panel->out, "</svg></figure>\n");
}

/* --- the table --- */

static void number_cells(const struct pass_distance *distance, struct text *out)
{
    if (!distance->known) {
        text_append(out, "<td class=\"n\"></td><td class=\"n\"></td>");
    } else if (distance->bits) {
        text_append(out, "<td class=\"n ok\">bits</td><td class=\"n\">0</td>");
    } else {
        text_printf(
            out, isfinite(distance->ulps) ? "<td class=\"n\">%.3g</td>" : "<td class=\"n\">∞</td>",
            distance->ulps);
        text_printf(out,
                    isfinite(distance->tolerance) ? "<td class=\"n\">%.2g</td>"
                                                  : "<td class=\"n\">∞</td>",
                    distance->tolerance);
    }
}

static void table_row(const struct passes_entry *entry, const struct pass_verdict *verdict,
                      struct text *out)
{
    int position = entry->first + verdict->step;
    const char *word = passes_word(verdict);
    text_printf(out, "<tr id=\"m%lld-%d\"%s><td class=\"n\">%d</td><td class=\"name\" title=\"",
                (long long)entry->id, position,
                verdict->outcome == OUTCOME_MISMATCH ? " class=\"bad\""
                : verdict->outcome != OUTCOME_PASS   ? " class=\"open\""
                                                     : "",
                position);
    text_markup(out, entry->steps->sources[position].title);
    text_append(out, "\">");
    text_markup(out, entry->steps->names[position]);
    text_printf(out, "</td><td class=\"%s\">%s</td>", verdict->outcome == OUTCOME_PASS ? word : "",
                word);
    number_cells(&verdict->jump, out);
    number_cells(&verdict->drift, out);
    struct text reason;
    text_init(&reason);
    passes_reason(verdict, &reason);
    text_append(out, "<td");
    if (verdict->rule != NULL) {
        text_append(out, " title=\"");
        text_markup(out, verdict->rule->why);
        text_char(out, '"');
    }
    text_char(out, '>');
    text_markup(out, reason.data);
    text_finish(&reason);
    text_printf(out, "</td><td class=\"n\">%d</td><td class=\"n\">%.2g</td></tr>\n",
                verdict->instructions, verdict->seconds);
}

/* --- the finding --- */

/* Lines of a diff, coloured by how they begin. */
static void diff_lines(const char *diff, struct text *out)
{
    static const struct {
        char start;
        const char *class;
    } classes[] = {{'+', "plus"}, {'-', "minus"}, {'@', "place"}};
    text_append(out, "<pre>");
    while (*diff != '\0') {
        size_t size = strcspn(diff, "\n");
        char *line = memory_alloc(size + 1);
        memcpy(line, diff, size);
        line[size] = '\0';
        const char *class = NULL;
        for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
            class = line[0] == classes[i].start ? classes[i].class : class;
        }
        if (class != NULL) {
            text_printf(out, "<span class=\"%s\">", class);
        }
        text_markup(out, line);
        text_append(out, class != NULL ? "</span>\n" : "\n");
        free(line);
        diff += size + (diff[size] == '\n');
    }
    text_append(out, "</pre>\n");
}

static void finding(const struct passes_entry *entry, const struct passes_result *result,
                    struct text *out)
{
    const struct pass_finding *found = &result->finding;
    if (found->step < 0) {
        return;
    }
    struct text place;
    text_init(&place);
    passes_place(entry, found->step, &place);
    text_append(out, "<h3>The first bad pass: ");
    text_markup(out, place.data);
    text_finish(&place);
    struct text reason;
    text_init(&reason);
    passes_reason(&result->verdicts[found->step], &reason);
    text_append(out, "</h3>\n<p>");
    text_markup(out, reason.data);
    text_append(out, "</p>\n<pre>");
    text_finish(&reason);
    text_markup(out, found->picture);
    text_append(out, "</pre>\n");
    if (found->culprit_count > 0) {
        text_printf(out, "<p>Culprits (%s): ", passes_culprits_text(found));
        for (int i = 0; i < found->culprit_count; i++) {
            text_append(out, i > 0 ? ", <code>" : "<code>");
            text_markup(out, found->culprits[i]);
            text_append(out, "</code>");
        }
        if (found->within != NULL) {
            text_append(out, ", ");
            text_markup(out, found->within);
        }
        text_append(out, "</p>\n");
    }
    if (entry->diff[0] != '\0') {
        text_append(out, "<p>What the pass did:</p>\n");
        diff_lines(entry->diff, out);
    }
    text_append(out, "<p>Again: <code>");
    text_markup(out, entry->command);
    text_append(out, "</code></p>\n");
}

void passes_html_module(const struct passes_entry *entry, const struct passes_result *result,
                        struct text *out)
{
    struct text words;
    text_init(&words);
    text_append(out, "<h2>");
    text_markup(out, entry->module);
    text_append(out, "</h2>\n<p class=\"dim\">");
    passes_report_head(entry, &words);
    text_markup(out, words.data);
    text_append(out, "</p>\n");
    bool bad = result->finding.step >= 0 || entry->compile != OUTCOME_PASS;
    text_printf(out, "<p class=\"verdict%s\">", bad ? " bad" : "");
    text_clear(&words);
    passes_summary(entry, result, &words);
    if (entry->compile != OUTCOME_PASS) {
        text_append(&words, ". ");
        passes_compile_end(entry, &words);
    }
    text_markup(out, words.data);
    text_append(out, "</p>\n<p><span class=\"key\"><i style=\"background:var(--jump)\"></i>jump: "
                     "from the module before</span><span class=\"key\"><i style=\"background:"
                     "var(--drift)\"></i>drift: from the first module</span><span class=\"key\">"
                     "<i style=\"background:var(--bad)\"></i>changed the meaning</span><span "
                     "class=\"key\"><i style=\"background:var(--open)\"></i>not evaluated</span>"
                     "</p>\n");
    text_finish(&words);
    struct panel panels[] = {
        {.value = tolerance_of,
         .title = "Largest error, as a part of what is allowed",
         .has_limit = true},
        {.value = ulps_of, .title = "Largest error in units in the last place"}};
    for (size_t i = 0; i < sizeof panels / sizeof *panels; i++) {
        panels[i].entry = entry;
        panels[i].result = result;
        panels[i].out = out;
        draw_panel(&panels[i]);
    }
    finding(entry, result, out);
    text_append(out, "<h3>Passes</h3>\n<table><thead><tr><th class=\"n\">#</th><th>pass "
                     "(pipeline)</th><th></th><th class=\"n\">jump, ulp</th><th class=\"n\">of "
                     "tolerance</th><th class=\"n\">drift, ulp</th><th class=\"n\">of "
                     "tolerance</th><th>why</th><th class=\"n\">instructions</th><th "
                     "class=\"n\">s</th></tr></thead><tbody>\n");
    for (int i = 0; i < result->count; i++) {
        table_row(entry, &result->verdicts[i], out);
    }
    text_append(out, "</tbody></table>\n");
    if (result->notes[0] != '\0') {
        text_append(out, "<h3>Notes</h3>\n<pre>");
        text_markup(out, result->notes);
        text_append(out, "</pre>\n");
    }
}

void passes_html_failed(const struct passes_entry *entry, const char *outcome, const char *problem,
                        struct text *out)
{
    text_append(out, "<h2>");
    text_markup(out, entry->module[0] != '\0' ? entry->module : entry->origin);
    text_printf(out, "</h2>\n<p class=\"verdict bad\">%s</p>\n<pre>", outcome);
    text_markup(out, problem);
    text_append(out, "</pre>\n");
}
