/* The page of `referee passes`: the curve of error over the passes, a table of them, and the first
 * bad one in full. Everything is in the file: styles, pictures, no scripts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/page.h"
#include "hlo/base/arena.h"
#include "tools/passes_report.h"

extern const char passes_style[], passes_style_hash[];

void passes_html_begin(const char *title, struct text *out)
{
    const struct page_part style = {passes_style, passes_style_hash};
    page_begin(title, &style, NULL, out);
    text_append(out, "<h1>");
    text_markup(out, title);
    text_append(out, "</h1>\n<main>\n");
}

void passes_html_end(struct text *out)
{
    text_append(out, "</main>\n");
    page_end(NULL, out);
}

/* --- the curve --- */

enum { RIGHT = 16, HEIGHT = 190, BOTTOM = 44, ZERO = 22, LETTER = 7 };

/* A desk's screen and a telephone's: CSS shows one of the two. */
static const struct view {
    const char *class;
    int width, left, head; /* head: the lines above the panel */
} views[] = {{"wide", 1240, 92, 20}, {"narrow", 380, 92, 38}};

/* One panel: a value of each pass on a logarithmic axis; equal bits lie on a line of their own
 * below it, what is not finite on the upper edge. */
struct panel {
    const struct view *view;
    const struct passes_entry *entry;
    const struct passes_result *result;
    double (*value)(const struct pass_distance *distance);
    const char *title;
    bool has_limit;               /* a line at 1 */
    int left, right, head, floor; /* the panel's edges */
    int low, high;                /* exponents of ten at the ends of the axis */
    int top; /* where the axis ends; above it is what is beyond any tolerance */
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
    return panel->left + (double)(panel->right - panel->left) * step / steps;
}

/* Where a power of ten lies. */
static double axis_y(const struct panel *panel, double exponent)
{
    double part = (exponent - panel->low) / (panel->high - panel->low);
    return panel->top + (panel->floor - ZERO - panel->top) * (1 - fmin(fmax(part, 0), 1));
}

static double y_of(const struct panel *panel, const struct pass_distance *distance)
{
    double value = panel->value(distance);
    if (distance->bits || value <= 0) {
        return panel->floor;
    }
    return isfinite(value) ? axis_y(panel, log10(value)) : panel->head;
}

static void axis_find(struct panel *panel)
{
    panel->top = panel->head;
    double low = panel->has_limit ? 0 : INFINITY, high = panel->has_limit ? 0 : -INFINITY;
    for (int i = 0; i < panel->result->count; i++) {
        const struct pass_distance *const sides[] = {&panel->result->verdicts[i].jump,
                                                     &panel->result->verdicts[i].drift};
        for (int k = 0; k < 2; k++) {
            double value = panel->value(sides[k]);
            if (sides[k]->known && !sides[k]->bits && !isfinite(value)) {
                panel->top = panel->head + ZERO;
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
    text_printf(out, "<text x=\"%d\" y=\"12\">%s</text>", panel->left, panel->title);
    int decades = panel->high - panel->low, skip = decades > 8 ? (decades + 7) / 8 : 1;
    for (int d = panel->low; d <= panel->high; d += skip) {
        double y = axis_y(panel, d);
        text_printf(out,
                    "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                    "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>",
                    panel->left, panel->right, y, y, panel->left - 8, y + 4, pow(10, d));
    }
    text_printf(out,
                "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>"
                "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">equal bits</text>",
                panel->left, panel->right, panel->floor, panel->floor, panel->left - 8,
                panel->floor + 4);
    if (panel->top > panel->head) {
        text_printf(out,
                    "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>"
                    "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">without bound</text>",
                    panel->left, panel->right, panel->head, panel->head, panel->left - 8,
                    panel->head + 4);
    }
    int every = 1 + panel->result->count * 46 / (panel->right - panel->left);
    every = every > 2 ? (every + 4) / 5 * 5 : every;
    for (int i = 0; i < panel->result->count; i++) {
        int position = panel->entry->first + i;
        if (position % every == 0) {
            text_printf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d</text>",
                        x_of(panel, i), panel->floor + 20, position);
        }
    }
    text_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">pass</text>", panel->left - 8,
                panel->floor + 20);
    if (panel->has_limit) {
        double y = axis_y(panel, 0);
        text_printf(out, "<line class=\"limit\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>",
                    panel->left, panel->right, y, y);
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
                        x - half, panel->head, 2 * half, HEIGHT);
        }
        return;
    }
    bool bad = verdict->outcome == OUTCOME_MISMATCH;
    if (!verdict->jump.bits) {
        text_printf(panel->out,
                    "<line class=\"%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%.1f\"/>",
                    bad ? "bad" : "stem", x, x, panel->floor, y);
    }
    text_printf(panel->out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"/>",
                bad ? "bad" : "dot", x, y,
                bad                  ? "5"
                : verdict->jump.bits ? (half < 2 ? "0.8" : "1.8")
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
                (long long)panel->entry->id, position, x_of(panel, step) - half, panel->head,
                2 * half, HEIGHT + 6);
    text_markup(panel->out, words.data);
    text_append(panel->out, "</title></rect></a>");
    text_finish(&words);
}

/* The name of the first bad pass above it; as much of it as there is room for. */
static void draw_word(const struct panel *panel)
{
    int bad = panel->result->finding.step;
    if (bad < 0) {
        return;
    }
    struct text word;
    text_init(&word);
    int position = panel->entry->first + bad, room = (panel->right - panel->left) / LETTER;
    text_printf(&word, "%d ", position);
    text_append(&word, panel->entry->steps->names[position]);
    if (word.size > (size_t)room) {
        word.data[room] = '\0';
    }
    double x = x_of(panel, bad), width = LETTER * (double)strlen(word.data);
    double least = panel->left + (panel->head < 30 ? 300 : 0); /* beside the title, or below it */
    text_printf(panel->out, "<text class=\"word\" x=\"%.1f\" y=\"%d\">",
                fmax(fmin(x, panel->right - width), least), panel->head - 8);
    text_markup(panel->out, word.data);
    text_append(panel->out, "</text>");
    text_finish(&word);
}

static void draw_panel(struct panel *panel)
{
    panel->left = panel->view->left;
    panel->right = panel->view->width - RIGHT;
    panel->head = panel->view->head;
    panel->floor = panel->head + HEIGHT;
    axis_find(panel);
    int count = panel->result->count;
    double half = (double)(panel->right - panel->left) / (count > 1 ? count - 1 : 1) / 2;
    half = fmin(half, 30);
    text_printf(panel->out,
                "<figure class=\"%s\"><svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
                "role=\"img\" aria-label=\"%s\">",
                panel->view->class, panel->view->width, panel->floor + BOTTOM, panel->view->width,
                panel->floor + BOTTOM, panel->title);
    draw_axis(panel);
    for (int i = 0; i < count; i++) {
        draw_jump(panel, i, half);
    }
    draw_drift(panel);
    draw_word(panel);
    for (int i = 0; i < count && panel->view == &views[0]; i++) {
        draw_hover(panel, i, half);
    }
    text_append(panel->out, "</svg></figure>\n");
}

/* --- the table --- */

/* Two cells: ulps and the share of the tolerance. */
static void number_cells(const struct pass_distance *distance, const char *class, struct text *out)
{
    if (!distance->known) {
        text_append(out, "<td></td><td></td>");
        return;
    }
    text_printf(out, "<td class=\"number distance ulps %s%s\">", class,
                distance->bits ? " ok" : "");
    if (distance->bits) {
        text_append(out, "bits");
    } else {
        text_printf(out, isfinite(distance->ulps) ? "%.3g" : "∞", distance->ulps);
    }
    text_append(out, "</td><td class=\"number distance share\">");
    if (distance->bits) {
        text_append(out, "0");
    } else {
        text_printf(out, isfinite(distance->tolerance) ? "%.2g" : "∞", distance->tolerance);
    }
    text_append(out, "</td>");
}

static void table_row(const struct passes_entry *entry, const struct pass_verdict *verdict,
                      struct text *out)
{
    int position = entry->first + verdict->step;
    const char *word = passes_word(verdict);
    bool passes = verdict->outcome == OUTCOME_PASS;
    bool quiet = passes && (!verdict->jump.known || verdict->jump.bits);
    text_printf(out,
                "<tr id=\"m%lld-%d\"%s><td class=\"number place-number\">%d</td><th "
                "scope=\"row\" class=\"name\" title=\"",
                (long long)entry->id, position,
                verdict->outcome == OUTCOME_MISMATCH ? " class=\"bad\""
                : !passes                            ? " class=\"open\""
                : quiet                              ? " class=\"quiet\""
                                                     : "",
                position);
    text_markup(out, entry->steps->sources[position].title);
    text_append(out, "\">");
    text_markup(out, entry->steps->names[position]);
    text_printf(out, "</th><td class=\"word %s\">%s</td>", passes ? word : "", word);
    number_cells(&verdict->jump, "jump", out);
    number_cells(&verdict->drift, "drift", out);
    struct text reason;
    text_init(&reason);
    passes_reason(verdict, &reason);
    text_append(out, "<td class=\"why\"");
    if (verdict->rule != NULL) {
        text_append(out, " title=\"");
        text_markup(out, verdict->rule->why);
        text_char(out, '"');
    }
    text_char(out, '>');
    text_markup(out, reason.data);
    text_finish(&reason);
    text_printf(out,
                "</td><td class=\"number size\">%d</td><td class=\"number size\">%.2g</td></tr>\n",
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
    text_append(out, "<section class=\"finding\">\n<h3>The first bad pass: ");
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
    text_append(out, "<p>Again:</p>\n<pre>");
    text_markup(out, entry->command);
    text_append(out, "</pre>\n</section>\n");
}

void passes_html_module(const struct passes_entry *entry, const struct passes_result *result,
                        struct text *out)
{
    struct text words;
    text_init(&words);
    text_append(out, "<h2>");
    text_markup(out, entry->module);
    text_append(out, "</h2>\n<p class=\"dim head\">");
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
    text_append(out, "</p>\n<p><span class=\"key\"><i class=\"jump\"></i>jump: "
                     "from the module before</span><span class=\"key\"><i class=\"drift\">"
                     "</i>drift: from the first module</span><span class=\"key\">"
                     "<i class=\"bad\"></i>changed the meaning</span><span "
                     "class=\"key\"><i class=\"open\"></i>not evaluated</span>"
                     "</p>\n");
    text_finish(&words);
    struct panel panels[] = {
        {.value = tolerance_of,
         .title = "Largest error, as a part of what is allowed",
         .has_limit = true},
        {.value = ulps_of, .title = "Largest error in units in the last place"}};
    for (size_t i = 0; i < sizeof panels / sizeof *panels; i++) {
        for (size_t v = 0; v < sizeof views / sizeof *views; v++) {
            panels[i].view = &views[v];
            panels[i].entry = entry;
            panels[i].result = result;
            panels[i].out = out;
            draw_panel(&panels[i]);
        }
    }
    finding(entry, result, out);
    text_append(out,
                "<h3>Passes</h3>\n<p class=\"moved\"><label><input type=\"checkbox\"> only those "
                "that moved a bit</label></p>\n<table class=\"passes\"><thead><tr>");
    static const struct {
        const char *title;
        bool number;
    } columns[] = {{"#", true},
                   {"pass (pipeline)", false},
                   {"verdict", false},
                   {"jump, ulp", true},
                   {"of tolerance", true},
                   {"drift, ulp", true},
                   {"of tolerance", true},
                   {"why", false},
                   {"instructions", true},
                   {"s", true}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        text_printf(out, "<th scope=\"col\"%s>%s</th>",
                    columns[i].number ? " class=\"number\"" : "", columns[i].title);
    }
    text_append(out, "</tr></thead><tbody>\n");
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
