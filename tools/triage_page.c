/* The report of `referee triage` as a page. */
#include <string.h>

#include "tools/triage_report.h"

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Triage</title>\n"
    "<style>body{font:15px/1.5 sans-serif;max-width:70em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.2em .6em;"
    "border-bottom:1px solid #ccc;vertical-align:top}code,pre{font:13px/1.45 monospace}"
    "pre{background:#f4f4f4;padding:.7em;overflow:auto}.backend{color:#a00}"
    ".ours{color:#850}.open,.ill-conditioned,.permitted{color:#246}</style></head><body>\n"
    "<h1>Triage</h1>\n";

static void print_row(const struct triage_group *group, size_t number, struct text *out)
{
    const json_t *said = triage_speaker(group);
    const char *verdict = json_get_text(said, "verdict");
    text_printf(out, "<tr><td><a href=\"#g%zu\">%zu</a></td><td>%zu</td><td class=\"%s\">", number,
                number, group->count, verdict);
    text_markup(out, triage_verdict_words(verdict));
    text_printf(out, ", %s</td><td><code>", json_get_text(said, "confidence"));
    text_markup(out, group->key);
    text_append(out, "</code></td></tr>\n");
}

static void print_members(const struct triage_group *group, struct text *out)
{
    text_printf(out, "<details><summary>%zu member%s</summary><ul>\n", group->count,
                group->count == 1 ? "" : "s");
    for (size_t i = 0; i < group->count; i++) {
        text_append(out, "<li><code>");
        text_markup(out, json_get_text(group->members[i], "command"));
        text_append(out, "</code> ");
        text_markup(out, json_get_text(group->members[i], "place"));
        text_append(out, "</li>\n");
    }
    text_append(out, "</ul></details>\n");
}

static void print_section(const struct triage_group *group, size_t number, struct text *out)
{
    const json_t *said = triage_speaker(group), *lines = json_object_get(said, "evidence");
    text_printf(out, "<h2 id=\"g%zu\">%zu. ", number, number);
    text_markup(out, triage_verdict_words(json_get_text(said, "verdict")));
    text_printf(out, ", %s</h2>\n<p><code>", json_get_text(said, "confidence"));
    text_markup(out, group->key);
    text_append(out, "</code></p>\n<p>");
    text_markup(out, json_get_text(said, "reason"));
    text_append(out, "</p>\n<ul>");
    for (size_t i = 0; i < json_array_size(lines); i++) {
        text_append(out, "<li>");
        text_markup(out, json_string_value(json_array_get(lines, i)));
        text_append(out, "</li>");
    }
    text_append(out, "</ul>\n");
    if (group->reduced != NULL) {
        text_append(out, "<pre>");
        text_markup(out, json_get_text(group->reduced, "text"));
        text_append(out, "</pre>\n");
    }
    text_append(out, "<p>Next: <code>");
    struct text next;
    text_init(&next);
    triage_print_next(group, &next);
    text_markup(out, next.data);
    text_finish(&next);
    text_append(out, "</code></p>\n");
    print_members(group, out);
}

void triage_report_page(const struct triage_results *results, struct text *out)
{
    size_t failing = 0;
    for (size_t i = 0; i < results->group_count; i++) {
        failing += results->groups[i].count;
    }
    text_append(out, head);
    text_printf(out,
                "<p>%zu modules, %zu fail in %zu groups.</p>\n<table><tr><th>group</th>"
                "<th>failures</th><th>whose fault</th><th>what</th></tr>\n",
                json_array_size(results->records), failing, results->group_count);
    for (size_t i = 0; i < results->group_count; i++) {
        print_row(&results->groups[i], i + 1, out);
    }
    text_append(out, "</table>\n");
    for (size_t i = 0; i < results->group_count; i++) {
        print_section(&results->groups[i], i + 1, out);
    }
    text_append(out, "</body></html>\n");
}
