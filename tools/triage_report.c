/* Reports of `referee triage`. */
#include "tools/triage_report.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"

enum { MEMBERS_SHOWN = 6 };

/* Who knows more of the group: its reduced module, or its first member. */
const json_t *triage_speaker(const struct triage_group *group)
{
    return group->reduced != NULL ? group->reduced : group->members[0];
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* "//@" lines and the rest as it stands in the file: the command that shows it again, and for a
 * compiler that which names the pass. */
void triage_print_next(const struct triage_group *group, struct text *out)
{
    static const char *const compilers[] = {"cpu:", "cuda:", "tpu:", "pjrt:"};
    const char *backend = json_get_text(group->members[0], "backend");
    const char *verdict = json_get_text(triage_speaker(group), "verdict");
    if (group->file == NULL) {
        text_append(out, json_get_text(group->members[0], "command"));
        return;
    }
    bool compiles = false;
    for (size_t i = 0; i < sizeof compilers / sizeof *compilers; i++) {
        compiles |= starts_with(backend, compilers[i]);
    }
    bool names_pass = compiles && strcmp(verdict, triage_verdict_name(TRIAGE_BACKEND)) == 0 &&
                      starts_with(json_get_text(group->reduced, "signature"), "MISMATCH");
    text_printf(out, "referee %s %s --backend '%s'", names_pass ? "passes" : "run", group->file,
                backend);
}

/* --- what passes --- */

/* Why modules pass, and how many: {"bit-equal": 12, "licence flush": 3}. */
static json_t *count_passes(const struct triage_results *results, size_t *passing, size_t *failing)
{
    json_t *counts = json_object();
    *passing = *failing = 0;
    for (size_t i = 0; i < json_array_size(results->records); i++) {
        const json_t *record = json_array_get(results->records, i);
        if (json_get_text(record, "key")[0] != '\0') {
            ++*failing;
            continue;
        }
        ++*passing;
        const char *why = json_get_text(record, "allowed");
        why = strcmp(json_get_text(record, "outcome"), "VACUOUS") == 0
                  ? "vacuous: it proves nothing"
              : why[0] != '\0' ? why
                               : "bit-equal";
        json_int_t before = json_integer_value(json_object_get(counts, why));
        json_object_set_new(counts, why, json_integer(before + 1));
    }
    return counts;
}

static void print_passes(const json_t *counts, size_t passing, struct text *out)
{
    const char *why;
    json_t *count;
    if (passing == 0) {
        return;
    }
    text_printf(out, "%zu pass", passing);
    const char *separator = ": ";
    json_object_foreach((json_t *)(uintptr_t)counts, why, count)
    {
        text_printf(out, "%s%lld %s", separator, (long long)json_integer_value(count), why);
        separator = ", ";
    }
    text_char(out, '\n');
}

/* --- groups --- */

const char *triage_verdict_words(const char *name)
{
    for (int i = 0; i < TRIAGE_VERDICTS; i++) {
        if (strcmp(triage_verdict_name((enum triage_verdict)i), name) == 0) {
            return triage_verdict_text((enum triage_verdict)i);
        }
    }
    return name;
}

static void print_members(const struct triage_group *group, bool verbose, struct text *out)
{
    size_t shown = verbose ? group->count : MEMBERS_SHOWN;
    text_append(out, "    members: ");
    for (size_t i = 0; i < group->count && i < shown; i++) {
        const json_t *member = group->members[i];
        text_printf(out, "%s%s", i > 0 ? ", " : "", base_name(json_get_text(member, "module")));
        const char *place = json_get_text(member, "place");
        if (place[0] != '\0' && strlen(place) < 60) {
            text_printf(out, " at %s", place);
        }
    }
    if (group->count > shown) {
        text_printf(out, " and %zu more", group->count - shown);
    }
    text_char(out, '\n');
}

static void print_group(const struct triage_group *group, size_t number, bool verbose,
                        struct text *out)
{
    const json_t *said = triage_speaker(group);
    const char *verdict = json_get_text(said, "verdict");
    text_printf(out, "\n%2zu  %s, %s  (%zu failure%s)\n", number, triage_verdict_words(verdict),
                json_get_text(said, "confidence"), group->count, group->count == 1 ? "" : "s");
    text_printf(out, "    %s\n", group->key);
    text_printf(out, "    why: %s\n", json_get_text(said, "reason"));
    const json_t *lines = json_object_get(said, "evidence");
    for (size_t i = 0; i < json_array_size(lines); i++) {
        text_printf(out, "      %s\n", json_string_value(json_array_get(lines, i)));
    }
    if (group->reduced != NULL) {
        text_printf(out, "    reduced to %lld instructions, %lld elements%s%s%s\n",
                    (long long)json_integer_value(json_object_get(group->reduced, "instructions")),
                    (long long)json_integer_value(json_object_get(group->reduced, "elements")),
                    group->file != NULL ? ": " : "", group->file != NULL ? group->file : "",
                    json_is_true(json_object_get(group->reduced, "complete"))
                        ? ""
                        : " (stopped before nothing more helped)");
    }
    print_members(group, verbose, out);
    text_append(out, "    next: ");
    triage_print_next(group, out);
    text_char(out, '\n');
}

void triage_report_text(const struct triage_items *items, const struct triage_settings *settings,
                        const struct triage_results *results, bool verbose, struct text *out)
{
    size_t passing, failing;
    json_t *counts = count_passes(results, &passing, &failing);
    (void)settings;
    for (size_t i = 0; i < results->group_count; i++) {
        print_group(&results->groups[i], i + 1, verbose, out);
    }
    text_append(out, results->group_count > 0 ? "\n" : "");
    print_passes(counts, passing, out);
    if (items->passing + items->expected > 0) {
        text_printf(out, "of the reports: %zu pass there, %zu fail as expected; these were left\n",
                    items->passing, items->expected);
    }
    if (results->left > 0) {
        text_printf(out, "%zu were not looked at: the time was over\n", results->left);
    }
    text_printf(out, "%zu modules, %zu fail in %zu group%s", passing + failing, failing,
                results->group_count, results->group_count == 1 ? "" : "s");
    const char *separator = ": ";
    for (int v = TRIAGE_BACKEND; v < TRIAGE_VERDICTS; v++) {
        const char *name = triage_verdict_name((enum triage_verdict)v);
        size_t count = 0;
        for (size_t i = 0; i < results->group_count; i++) {
            count +=
                strcmp(json_get_text(triage_speaker(&results->groups[i]), "verdict"), name) == 0;
        }
        if (count > 0) {
            text_printf(out, "%s%zu %s", separator, count,
                        triage_verdict_text((enum triage_verdict)v));
            separator = ", ";
        }
    }
    text_printf(out, " (%.1f s)\n", results->seconds);
    json_decref(counts);
}

/* --- JSON --- */

static json_t *strings_json(const struct string_list *list)
{
    json_t *array = json_array();
    for (size_t i = 0; i < list->count; i++) {
        json_array_append_new(array, json_string(list->items[i]));
    }
    return array;
}

static json_t *group_json(const struct triage_group *group, size_t number)
{
    static const char *const copied[] = {"verdict",       "confidence", "reason", "evidence",
                                         "amplification", "signature",  "forms"};
    json_t *object = json_pack("{s:I, s:I, s:s}", "number", (json_int_t)number, "count",
                               (json_int_t)group->count, "key", group->key);
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        json_t *value = json_object_get(triage_speaker(group), copied[i]);
        if (value != NULL) {
            json_object_set(object, copied[i], value);
        }
    }
    if (group->reduced != NULL) {
        json_t *reduced = json_object();
        static const char *const parts[] = {"form",       "text",    "instructions", "elements",
                                            "candidates", "seconds", "complete"};
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            json_object_set(reduced, parts[i], json_object_get(group->reduced, parts[i]));
        }
        json_object_set_new(reduced, "file",
                            group->file != NULL ? json_string(group->file) : json_null());
        json_object_set_new(object, "reduced", reduced);
    }
    json_t *members = json_array();
    for (size_t i = 0; i < group->count; i++) {
        const json_t *member = group->members[i];
        json_array_append_new(members,
                              json_pack("{s:s, s:s, s:O, s:s}", "id", json_get_text(member, "id"),
                                        "module", json_get_text(member, "module"), "seed",
                                        json_object_get(member, "seed"), "place",
                                        json_get_text(member, "place")));
    }
    json_object_set_new(object, "members", members);
    struct text next;
    text_init(&next);
    triage_print_next(group, &next);
    json_set_text(object, "next", next.data);
    text_finish(&next);
    return object;
}

json_t *triage_report_json(const struct triage_items *items, const struct triage_settings *settings,
                           const struct triage_results *results)
{
    size_t passing, failing;
    json_t *counts = count_passes(results, &passing, &failing), *groups = json_array();
    for (size_t i = 0; i < results->group_count; i++) {
        json_array_append_new(groups, group_json(&results->groups[i], i + 1));
    }
    return json_pack("{s:s, s:i, s:o, s:I, s:I, s:I, s:I, s:f, s:I, s:o, s:o, s:O}", "format",
                     "referee-triage", "version", 1, "backends", strings_json(&settings->backends),
                     "passing", (json_int_t)passing, "failing", (json_int_t)failing, "left",
                     (json_int_t)results->left, "left_of_reports",
                     (json_int_t)(items->passing + items->expected), "seconds", results->seconds,
                     "groups_before_joining", (json_int_t)results->before, "passes", counts,
                     "groups", groups, "modules", results->records);
}
