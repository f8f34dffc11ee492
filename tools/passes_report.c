/* Reports of `referee passes`: text and JSON (passes_report.h). */
#include "tools/passes_report.h"

#include <math.h>
#include <string.h>

/* Columns that the name of a pass takes at most before what is said of it. */
enum { NAME_WIDTH_MOST = 64 };

/* --- words --- */

void passes_count(const struct passes_result *result, struct passes_counts *counts)
{
    *counts = (struct passes_counts){.passes = result->count - 1};
    for (int i = 1; i < result->count; i++) {
        const struct pass_verdict *verdict = &result->verdicts[i];
        counts->outcomes[verdict->outcome]++;
        counts->rounded +=
            verdict->outcome == OUTCOME_PASS && verdict->jump.known && !verdict->jump.bits;
    }
}

const char *passes_word(const struct pass_verdict *verdict)
{
    if (verdict->outcome != OUTCOME_PASS) {
        return verdict->is_leak ? "LEAK" : outcome_text(verdict->outcome);
    }
    return !verdict->jump.known || verdict->jump.bits ? "ok" : "allowed";
}

void passes_distance(const struct pass_distance *distance, struct text *out)
{
    if (!distance->known) {
        text_append(out, "unknown");
    } else if (distance->bits) {
        text_append(out, "bits");
    } else if (!isfinite(distance->tolerance)) {
        text_append(out, "beyond any tolerance");
    } else if (!isfinite(distance->ulps)) {
        text_printf(out, "%.2g of the tolerance", distance->tolerance);
    } else {
        text_printf(out, "%.3g ulp, %.2g of the tolerance", distance->ulps, distance->tolerance);
    }
}

void passes_reason(const struct pass_verdict *verdict, struct text *out)
{
    bool differs = verdict->jump.known && !verdict->jump.bits;
    bool changed = verdict->outcome == OUTCOME_MISMATCH && !verdict->is_leak && differs;
    if (changed && verdict->rule == NULL) {
        text_append(out, "no rule lets it change a bit");
    } else if (differs && verdict->rule != NULL) {
        text_append(out, changed ? "more than it may: " : "");
        pass_licences_print(verdict->rule->licences, out);
    }
    if (verdict->message[0] != '\0') {
        text_printf(out, "%s%s", differs && (changed || verdict->rule != NULL) ? "; " : "",
                    verdict->message);
    }
}

const char *passes_culprits_text(const struct pass_finding *finding)
{
    return finding->restores
               ? "with the values of before at these instructions the outputs are right"
               : "computed from the same as before, yet different";
}

void passes_place(const struct passes_entry *entry, int step, struct text *out)
{
    int position = entry->first + step;
    const struct dump_step *file = entry->steps->list[position];
    const char *pass = passes_step_pass(file);
    if (pass[0] != '\0' && file->pipeline[0] != '\0') {
        text_printf(out, "%s (pipeline %s, ", pass, file->pipeline);
    } else {
        text_printf(out, "%s (", entry->steps->names[position]);
    }
    text_printf(out, "%d of %d)", position, entry->steps->count - 1);
}

void passes_compile_end(const struct passes_entry *entry, struct text *out)
{
    text_printf(out, "%s in the compiler", outcome_text(entry->compile));
    int last = entry->steps != NULL ? entry->steps->count - 1 : -1;
    if (last < 0) {
        text_append(out, ", before it dumped a module");
        return;
    }
    const struct dump_step *step = entry->steps->list[last];
    text_printf(out, ": the last module that it dumped is %s%s", last > 0 ? "after " : "",
                entry->steps->names[last]);
    if (step->next[0] != '\0' && strcmp(step->next, "pipeline-end") != 0) {
        text_printf(out,
                    "; the next pass was %s (pipeline %s), so it ended in that pass or in one "
                    "after it that had changed nothing yet",
                    step->next, step->pipeline);
    } else if (step->next[0] != '\0') {
        text_printf(out, "; that was the last pass of the pipeline %s", step->pipeline);
    }
}

void passes_summary(const struct passes_entry *entry, const struct passes_result *result,
                    struct text *out)
{
    struct passes_counts counts;
    passes_count(result, &counts);
    text_printf(out, "%d passes: %d ok", counts.passes, counts.outcomes[OUTCOME_PASS]);
    if (counts.rounded > 0) {
        text_printf(out, " (%d rounded as allowed)", counts.rounded);
    }
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        if (counts.outcomes[i] > 0 && i != OUTCOME_PASS && i != OUTCOME_MISMATCH) {
            text_printf(out, ", %d %s", counts.outcomes[i], outcome_text((enum outcome)i));
        }
    }
    int changed = counts.outcomes[OUTCOME_MISMATCH];
    if (changed > 0) {
        text_printf(out, ", %d changed the meaning%s", changed, changed > 1 ? ", first " : ": ");
        passes_place(entry, result->finding.step, out);
    }
}

/* --- text --- */

static int name_width(const struct passes_entry *entry)
{
    int width = 20;
    for (int i = entry->first; i <= entry->last; i++) {
        int length = (int)strlen(entry->steps->names[i]);
        width = length > width && length <= NAME_WIDTH_MOST ? length : width;
    }
    return width;
}

void passes_report_head(const struct passes_entry *entry, struct text *out)
{
    text_printf(out, "%s  module_%04lld %s", entry->origin, (long long)entry->id, entry->module);
    if (entry->backend[0] != '\0') {
        text_printf(out, "  %s%s%s", entry->backend, entry->target[0] != '\0' ? " for " : "",
                    entry->target);
    }
    text_printf(out, "  %d passes", entry->steps->count - 1);
    if (entry->steps->same > 0) {
        text_printf(out, " (and %d dumps without a change)", entry->steps->same);
    }
    if (entry->first > 0 || entry->last < entry->steps->count - 1) {
        text_printf(out, ", from %d to %d", entry->first + 1, entry->last);
    }
    if (strcmp(entry->inputs, "seed") != 0) {
        text_printf(out, ", inputs from %s\n", entry->inputs);
    } else if (entry->seeds > 1) {
        text_printf(out, ", seeds %llu to %llu\n", (unsigned long long)entry->seed,
                    (unsigned long long)entry->seed + (unsigned long long)entry->seeds - 1);
    } else {
        text_printf(out, ", seed %llu\n", (unsigned long long)entry->seed);
    }
}

void passes_report_step(const struct passes_entry *entry, const struct pass_verdict *verdict,
                        bool verbose, struct text *out)
{
    int position = entry->first + verdict->step;
    text_printf(out, "%4d  %-11s  %-*s", position, passes_word(verdict), name_width(entry),
                entry->steps->names[position]);
    bool compared = verdict->jump.known;
    if (compared) {
        text_append(out, "  ");
        passes_distance(&verdict->jump, out);
        if (verdict->compared_with < verdict->step - 1) {
            text_printf(out, " since %d", entry->first + verdict->compared_with);
        }
    }
    /* Equal bits leave the drift as it was; the first error is both. */
    const struct pass_distance *jump = &verdict->jump, *drift = &verdict->drift;
    bool tells =
        !jump->known ||
        (!jump->bits && (jump->ulps != drift->ulps || jump->tolerance != drift->tolerance));
    if (drift->known && !drift->bits && (verbose || tells)) {
        text_append(out, "; drift ");
        passes_distance(&verdict->drift, out);
    }
    struct text reason;
    text_init(&reason);
    passes_reason(verdict, &reason);
    if (reason.size > 0) {
        text_printf(out, "%s%s", compared ? "; " : "  ", reason.data);
    }
    text_finish(&reason);
    if (verbose) {
        int64_t unspecified = verdict->jump.unspecified;
        if (unspecified > 0) {
            text_printf(out, "; %lld elements unspecified", (long long)unspecified);
        }
        text_printf(out, "  [%d instructions, %lld evaluated, %lld reused, %.3g s]",
                    verdict->instructions, (long long)verdict->evaluated,
                    (long long)verdict->reused, verdict->seconds);
    }
    text_char(out, '\n');
}

void passes_report_finding(const struct passes_entry *entry, const struct passes_result *result,
                           struct text *out)
{
    const struct pass_finding *finding = &result->finding;
    if (finding->step < 0) {
        return;
    }
    const struct pass_verdict *verdict = &result->verdicts[finding->step];
    text_append(out, verdict->is_leak ? "the drift left the tolerance at: " : "first bad pass: ");
    passes_place(entry, finding->step, out);
    text_append(out, "\n    file: ");
    text_append(out, entry->steps->sources[entry->first + finding->step].title);
    text_char(out, '\n');
    struct text reason;
    text_init(&reason);
    passes_reason(verdict, &reason);
    if (reason.size > 0) {
        text_printf(out, "    %s\n", reason.data);
    }
    text_finish(&reason);
    if (strcmp(entry->inputs, "seed") == 0) {
        text_printf(out, "    shows on seed %llu\n", (unsigned long long)finding->seed);
    }
    text_append_lines(finding->picture, "    ", out);
    if (finding->culprit_count > 0) {
        text_printf(out, "    %s:", passes_culprits_text(finding));
        for (int i = 0; i < finding->culprit_count; i++) {
            text_printf(out, "%s %s", i > 0 ? "," : "", finding->culprits[i]);
        }
        if (finding->within != NULL) {
            text_printf(out, " (%s)", finding->within);
        }
        text_char(out, '\n');
    }
    if (entry->diff[0] != '\0') {
        text_append(out, "    what the pass did:\n");
        text_append_lines(entry->diff, "      ", out);
    }
    text_printf(out, "    again: %s\n", entry->command);
}

void passes_report_end(const struct passes_entry *entry, const struct passes_result *result,
                       bool verbose, struct text *out)
{
    text_append_lines(result->notes, "note: ", out);
    if (entry->compile != OUTCOME_PASS) {
        passes_compile_end(entry, out);
        text_char(out, '\n');
        text_append_lines(entry->compile_message, "    ", out);
    }
    passes_summary(entry, result, out);
    text_char(out, '\n');
    if (verbose) {
        text_printf(out, "%.3g s, %.3g × evaluating the first module; %.3g MB of values kept\n",
                    result->seconds,
                    result->first_seconds > 0 ? result->seconds / result->first_seconds : 0,
                    (double)result->peak_bytes / 1e6);
    }
}

void passes_report_failed_text(const struct passes_entry *entry, const char *outcome,
                               const char *problem, struct text *out)
{
    text_printf(out, "%-11s  %s", outcome,
                entry->module[0] != '\0' ? entry->module : entry->origin);
    if (entry->backend[0] != '\0') {
        text_printf(out, "  %s", entry->backend);
    }
    text_char(out, '\n');
    text_append_lines(problem, "    ", out);
}

/* --- JSON --- */

static json_t *number_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* Text that is no UTF-8 (a backend's words) becomes null. */
static json_t *string_or_null(const char *string)
{
    json_t *value = json_string(string);
    return value != NULL ? value : json_null();
}

static json_t *distance_json(const struct pass_distance *distance)
{
    if (!distance->known) {
        return json_null();
    }
    return json_pack("{s:b, s:o, s:o, s:I, s:I, s:I}", "bits", distance->bits, "ulps",
                     number_or_null(distance->ulps), "tolerance",
                     number_or_null(distance->tolerance), "elements",
                     (json_int_t)distance->elements, "mismatches", (json_int_t)distance->mismatches,
                     "unspecified", (json_int_t)distance->unspecified);
}

static json_t *rule_json(const struct pass_rule *rule)
{
    if (rule == NULL) {
        return json_null();
    }
    struct text licences;
    text_init(&licences);
    pass_licences_print(rule->licences, &licences);
    json_t *object = json_pack("{s:s, s:s?, s:s, s:s}", "pass", rule->pass, "pipeline",
                               rule->pipeline, "allows", licences.data, "why", rule->why);
    text_finish(&licences);
    return object;
}

static json_t *verdict_json(const struct passes_entry *entry, const struct pass_verdict *verdict)
{
    int position = entry->first + verdict->step;
    const struct dump_step *step = entry->steps->list[position];
    json_t *object = json_object();
    json_object_set_new(object, "position", json_integer(position));
    json_object_set_new(object, "file", string_or_null(step->file));
    json_object_set_new(object, "number",
                        step->number >= 0 ? json_integer(step->number) : json_null());
    json_object_set_new(object, "name", string_or_null(entry->steps->names[position]));
    json_object_set_new(object, "pipeline", string_or_null(step->pipeline));
    json_object_set_new(object, "pass", string_or_null(step->pass));
    json_object_set_new(object, "outcome", json_string(outcome_text(verdict->outcome)));
    json_object_set_new(object, "is_leak", json_boolean(verdict->is_leak));
    json_object_set_new(object, "message", string_or_null(verdict->message));
    json_object_set_new(object, "rule", rule_json(verdict->rule));
    json_object_set_new(object, "compared_with",
                        verdict->step > 0 ? json_integer(entry->first + verdict->compared_with)
                                          : json_null());
    json_object_set_new(object, "jump", distance_json(&verdict->jump));
    json_object_set_new(object, "drift", distance_json(&verdict->drift));
    json_object_set_new(object, "instructions", json_integer(verdict->instructions));
    json_object_set_new(object, "evaluated", json_integer((json_int_t)verdict->evaluated));
    json_object_set_new(object, "reused", json_integer((json_int_t)verdict->reused));
    json_object_set_new(object, "seconds", json_real(verdict->seconds));
    return object;
}

static json_t *finding_json(const struct passes_entry *entry, const struct passes_result *result)
{
    const struct pass_finding *finding = &result->finding;
    if (finding->step < 0) {
        return json_null();
    }
    json_t *object = verdict_json(entry, &result->verdicts[finding->step]);
    json_object_set_new(object, "seed", json_integer((json_int_t)finding->seed));
    json_object_set_new(object, "picture", string_or_null(finding->picture));
    json_object_set_new(object, "diff", string_or_null(entry->diff));
    json_t *culprits = json_array();
    for (int i = 0; i < finding->culprit_count; i++) {
        json_array_append_new(culprits, string_or_null(finding->culprits[i]));
    }
    json_object_set_new(object, "culprits", culprits);
    json_object_set_new(object, "culprits_within", string_or_null(finding->within));
    json_object_set_new(object, "culprits_restore", json_boolean(finding->restores));
    return object;
}

static json_t *entry_json(const struct passes_entry *entry)
{
    json_t *object = json_object();
    const struct {
        const char *key, *value;
    } words[] = {{"origin", entry->origin},   {"module", entry->module},
                 {"backend", entry->backend}, {"target", entry->target},
                 {"inputs", entry->inputs},   {"profile", entry->profile},
                 {"command", entry->command}, {"compile", outcome_text(entry->compile)}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        json_object_set_new(object, words[i].key, string_or_null(words[i].value));
    }
    json_object_set_new(object, "id", json_integer((json_int_t)entry->id));
    json_object_set_new(object, "seed", json_integer((json_int_t)entry->seed));
    json_object_set_new(object, "seeds", json_integer(entry->seeds));
    json_object_set_new(object, "compile_message", string_or_null(entry->compile_message));
    json_t *plugin = json_loads(entry->plugin, 0, NULL);
    json_object_set_new(object, "plugin", plugin != NULL ? plugin : json_null());
    return object;
}

static json_t *counts_json(const struct passes_entry *entry, const struct passes_counts *counts)
{
    json_t *object = json_pack("{s:i, s:i, s:i}", "passes", counts->passes, "rounded",
                               counts->rounded, "same", entry->steps->same);
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        if (counts->outcomes[i] > 0) {
            json_object_set_new(object, outcome_text((enum outcome)i),
                                json_integer(counts->outcomes[i]));
        }
    }
    return object;
}

json_t *passes_report_json(const struct passes_entry *entry, const struct passes_result *result)
{
    json_t *object = entry_json(entry);
    struct text text;
    text_init(&text);
    passes_summary(entry, result, &text);
    json_object_set_new(object, "summary", string_or_null(text.data));
    if (entry->compile != OUTCOME_PASS) {
        text_clear(&text);
        passes_compile_end(entry, &text);
        json_object_set_new(object, "compile_end", string_or_null(text.data));
    }
    text_finish(&text);
    struct passes_counts counts;
    passes_count(result, &counts);
    json_object_set_new(object, "counts", counts_json(entry, &counts));
    json_t *passes = json_array();
    for (int i = 0; i < result->count; i++) {
        json_array_append_new(passes, verdict_json(entry, &result->verdicts[i]));
    }
    json_object_set_new(object, "passes", passes);
    json_object_set_new(object, "finding", finding_json(entry, result));
    json_object_set_new(object, "notes", string_or_null(result->notes));
    json_object_set_new(object, "first_seconds", json_real(result->first_seconds));
    json_object_set_new(object, "seconds", json_real(result->seconds));
    json_object_set_new(object, "peak_bytes", json_integer((json_int_t)result->peak_bytes));
    return object;
}

json_t *passes_report_failed_json(const struct passes_entry *entry, const char *outcome,
                                  const char *problem)
{
    json_t *object = entry_json(entry);
    json_object_set_new(object, "outcome", json_string(outcome));
    json_object_set_new(object, "message", string_or_null(problem));
    return object;
}
