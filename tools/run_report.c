/* Reports of `referee run`. */
#include "tools/run_report.h"

#include <math.h>
#include <string.h>

#include "tools/next_commands.h"

/* Beyond this many devices only those that did not pass are listed, unless asked. */
enum { LISTED_DEVICES = 8 };

static void append_largest(const struct comparison *comparison, struct text *out)
{
    double ulps = 0;
    int64_t unspecified = 0;
    for (int i = 0; i < comparison->leaf_count; i++) {
        ulps = fmax(ulps, comparison->leaves[i].largest_ulps);
        unspecified += comparison->leaves[i].unspecified;
    }
    if (ulps > 0) {
        text_printf(out, "  largest error %.4g ulp", ulps);
    } else {
        text_append(out, "  bit-equal");
    }
    if (unspecified > 0) {
        text_printf(out, "  %lld elements unspecified", (long long)unspecified);
    }
}

/* "  4 devices", where there are several. */
static void append_devices(const struct differential_result *result, struct text *out)
{
    if (result->device_count > 1) {
        text_printf(out, "  %d replicas × %d partitions", result->replica_count,
                    result->partition_count);
    }
}

/* A line for each device: all of them, or those that did not pass. */
static void append_verdicts(const struct differential_result *result, bool all, struct text *out)
{
    for (int d = 0; result->devices != NULL && d < result->device_count; d++) {
        const struct device_verdict *verdict = &result->devices[d];
        if (result->device_count == 1 || (!all && verdict->outcome == OUTCOME_PASS)) {
            continue;
        }
        text_printf(out, "    %-12s replica %d, partition %d", outcome_text(verdict->outcome),
                    verdict->replica, verdict->partition);
        if (verdict->outcome == OUTCOME_MISMATCH) {
            text_printf(out, "  %lld of %lld elements differ", (long long)verdict->mismatches,
                        (long long)verdict->elements);
        } else if (verdict->largest_ulps > 0) {
            text_printf(out, "  largest error %.4g ulp", verdict->largest_ulps);
        } else {
            text_append(out, "  bit-equal");
        }
        text_char(out, '\n');
    }
}

void report_text(const struct run_entry *entry, const struct differential_result *result,
                 bool verbose, struct text *out)
{
    text_printf(out, "%-13s %s  %s", outcome_text(result->outcome), entry->module, entry->backend);
    append_devices(result, out);
    if (result->outcome == OUTCOME_PASS) {
        append_largest(&result->comparison, out);
    }
    if (verbose && result->outcome == OUTCOME_PASS) {
        text_printf(out, "  (golden %.3g s, backend compile %.3g s, run %.3g s)",
                    result->reference.run_seconds, result->actual.compile_seconds,
                    result->actual.run_seconds);
    }
    text_char(out, '\n');
    if (result->message[0] != '\0') {
        text_append_lines(result->message, "    ", out);
    }
    if (verbose || result->outcome != OUTCOME_PASS) {
        append_verdicts(result, verbose || result->device_count <= LISTED_DEVICES, out);
    }
    if (result->outcome == OUTCOME_PASS && !verbose) {
        return;
    }
    text_append_lines(result->picture, "    ", out);
    text_append_lines(result->notes, "    note: ", out);
    if (result->outcome != OUTCOME_PASS) {
        if (result->tolerance_text[0] != '\0') { /* something was compared */
            text_printf(out, "    tolerance: %s\n", result->tolerance_text);
        }
        text_printf(out, "    again: %s\n", entry->command);
        next_commands_text(entry, result, "    ", out);
    }
}

static json_t *number_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *verdict_json(const struct device_verdict *verdict)
{
    return json_pack("{s:i, s:i, s:s, s:I, s:I, s:I, s:I, s:o}", "replica", verdict->replica,
                     "partition", verdict->partition, "outcome", outcome_text(verdict->outcome),
                     "elements", (json_int_t)verdict->elements, "mismatches",
                     (json_int_t)verdict->mismatches, "unspecified",
                     (json_int_t)verdict->unspecified, "undecided", (json_int_t)verdict->undecided,
                     "largest_ulps", number_or_null(verdict->largest_ulps));
}

/* The devices and what became of each; leaves are numbered through them. */
static void add_devices_json(const struct differential_result *result, json_t *object)
{
    json_object_set_new(object, "replicas", json_integer(result->replica_count));
    json_object_set_new(object, "partitions", json_integer(result->partition_count));
    json_t *devices = json_array();
    for (int d = 0; result->devices != NULL && d < result->device_count; d++) {
        json_array_append_new(devices, verdict_json(&result->devices[d]));
    }
    json_object_set_new(object, "devices", devices);
}

static json_t *leaf_json(const struct leaf_comparison *leaf)
{
    json_t *object = json_pack(
        "{s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:b}", "leaf", leaf->leaf, "elements",
        (json_int_t)leaf->elements, "mismatches", (json_int_t)leaf->mismatches, "unspecified",
        (json_int_t)leaf->unspecified, "undecided", (json_int_t)leaf->undecided,
        "nan_disagreements", (json_int_t)leaf->nan_disagreements, "infinity_disagreements",
        (json_int_t)leaf->infinity_disagreements, "shapes_differ", leaf->shapes_differ);
    json_object_set_new(object, "largest_abs", number_or_null(leaf->largest_abs));
    json_object_set_new(object, "largest_rel", number_or_null(leaf->largest_rel));
    json_object_set_new(object, "largest_ulps", number_or_null(leaf->largest_ulps));
    json_object_set_new(object, "needed_abs", number_or_null(leaf->needed_abs));
    json_object_set_new(object, "needed_rel", number_or_null(leaf->needed_rel));
    json_object_set_new(object, "needed_ulps", number_or_null(leaf->needed_ulps));
    return object;
}

json_t *report_json(const struct run_entry *entry, const struct differential_result *result)
{
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:s, s:i, s:I, s:i, s:s, s:s, s:s, s:s, s:s, s:f, s:f, s:f, s:s}",
        "module", entry->module, "backend", entry->backend, "reference", entry->reference, "inputs",
        entry->inputs, "iteration", entry->iteration, "seed", (json_int_t)result->seed, "tameness",
        result->tameness, "outcome", outcome_text(result->outcome), "message", result->message,
        "picture", result->picture, "notes", result->notes, "tolerance", result->tolerance_text,
        "reference_seconds", result->reference.run_seconds, "compile_seconds",
        result->actual.compile_seconds, "run_seconds", result->actual.run_seconds, "command",
        entry->command);
    if (object == NULL) { /* text that is no UTF-8: the backend's words */
        object =
            json_pack("{s:s, s:s, s:s, s:s}", "module", entry->module, "backend", entry->backend,
                      "outcome", outcome_text(result->outcome), "command", entry->command);
    }
    json_t *leaves = json_array();
    for (int i = 0; i < result->comparison.leaf_count; i++) {
        json_array_append_new(leaves, leaf_json(&result->comparison.leaves[i]));
    }
    json_object_set_new(object, "leaves", leaves);
    json_object_set_new(object, "next", next_commands_json(entry, result));
    add_devices_json(result, object);
    return object;
}

void report_unread_text(const char *module, const char *problem, struct text *out)
{
    text_printf(out, "%-13s %s\n", "UNREADABLE", module);
    text_append_lines(problem, "    ", out);
}

json_t *report_unread_json(const char *module, const char *problem)
{
    return json_pack("{s:s, s:s, s:s}", "module", module, "outcome", "UNREADABLE", "message",
                     problem);
}
