/* Reports of `referee spmd` (spmd_report.h). */
#include "tools/spmd_report.h"

#include <math.h>
#include <string.h>

static double largest_ulps(const struct differential_result *side)
{
    double ulps = 0;
    for (int i = 0; i < side->comparison.leaf_count; i++) {
        ulps = fmax(ulps, side->comparison.leaves[i].largest_ulps);
    }
    return ulps;
}

/* "simulated bit-equal" */
static void append_side(const char *name, const struct differential_result *side, struct text *out)
{
    text_printf(out, "  %s ", name);
    if (side->outcome != OUTCOME_PASS) {
        text_append(out, outcome_text(side->outcome));
    } else if (largest_ulps(side) > 0) {
        text_printf(out, "%.4g ulp", largest_ulps(side));
    } else {
        text_append(out, "bit-equal");
    }
}

static void append_owners(const struct spmd_result *result, const struct differential_result *side,
                          struct text *out)
{
    for (int i = 0; i < side->comparison.leaf_count; i++) {
        const struct leaf_comparison *leaf = &side->comparison.leaves[i];
        if (leaf->mismatches == 0 || leaf->shapes_differ) {
            continue;
        }
        text_printf(out, "    output %d: the first differing element is on ", leaf->leaf);
        spmd_owner(result, leaf->leaf, leaf->first.index, out);
        text_append(out, ", the worst on ");
        spmd_owner(result, leaf->leaf, leaf->worst.index, out);
        text_char(out, '\n');
    }
}

static void append_details(const char *name, const struct spmd_result *result,
                           const struct differential_result *side, struct text *out)
{
    if (side->picture[0] != '\0') {
        text_printf(out, "    %s:\n", name);
        text_append_lines(side->picture, "    ", out);
        append_owners(result, side, out);
    }
    text_append_lines(side->notes, "    note: ", out);
}

/* Whether a walk over the compiler's passes has something to say. */
static bool names_pass(const struct spmd_entry *entry, const struct spmd_result *result)
{
    return result->outcome == OUTCOME_MISMATCH && entry->passes[0] != '\0';
}

void spmd_report_text(const struct spmd_entry *entry, const struct spmd_result *result,
                      bool verbose, struct text *out)
{
    bool passed = result->outcome == OUTCOME_PASS;
    text_printf(out, "%-13s %s  %d partitions", outcome_text(result->outcome), entry->module,
                entry->partition_count);
    if (result->culprit != SPMD_NOBODY) {
        text_printf(out, "  %s", spmd_culprit_text(result->culprit));
    }
    if (result->has_simulated) {
        append_side("simulated", &result->simulated, out);
    }
    if (result->has_executed) {
        append_side(entry->backend, &result->executed, out);
    }
    text_char(out, '\n');
    text_append_lines(result->message, "    ", out);
    if (passed && !verbose) {
        return;
    }
    if (result->has_simulated) {
        append_details("the partitioned module on the golden", result, &result->simulated, out);
    }
    if (result->has_executed && (verbose || !result->agree)) {
        append_details("what the backend ran", result, &result->executed, out);
    }
    if (!passed) {
        if (result->has_simulated) {
            text_printf(out, "    tolerance: %s\n", result->simulated.tolerance_text);
        }
        text_printf(out, "    again: %s\n", entry->command);
        if (names_pass(entry, result)) {
            text_printf(out, "    which pass: %s --partitions %d\n", entry->passes,
                        entry->partition_count);
        }
    }
}

static json_t *number_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *conflict_json(const struct piece_conflict *conflict)
{
    const struct replica_conflict *found = &conflict->conflict;
    return found->count == 0
               ? json_null()
               : json_pack("{s:i, s:i, s:i, s:I, s:I}", "leaf", conflict->leaf, "first",
                           found->first, "second", found->second, "elements",
                           (json_int_t)found->count, "index", (json_int_t)found->index);
}

static json_t *owner_json(const struct spmd_result *result, int leaf, int64_t index)
{
    struct text owner;
    text_init(&owner);
    spmd_owner(result, leaf, index, &owner);
    json_t *object = json_pack("{s:I, s:s}", "index", (json_int_t)index, "owner", owner.data);
    text_finish(&owner);
    return object;
}

static json_t *leaf_json(const struct spmd_result *result, const struct leaf_comparison *leaf)
{
    json_t *object = json_pack(
        "{s:i, s:I, s:I, s:I, s:I}", "leaf", leaf->leaf, "elements", (json_int_t)leaf->elements,
        "mismatches", (json_int_t)leaf->mismatches, "unspecified", (json_int_t)leaf->unspecified,
        "undecided", (json_int_t)leaf->undecided);
    json_object_set_new(object, "largest_ulps", number_or_null(leaf->largest_ulps));
    if (leaf->mismatches > 0 && !leaf->shapes_differ) {
        json_object_set_new(object, "first", owner_json(result, leaf->leaf, leaf->first.index));
        json_object_set_new(object, "worst", owner_json(result, leaf->leaf, leaf->worst.index));
    }
    return object;
}

static json_t *side_json(const struct spmd_result *result, const struct differential_result *side,
                         const struct piece_conflict *conflict)
{
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:f, s:f}", "outcome", outcome_text(side->outcome),
                  "message", side->message, "picture", side->picture, "notes", side->notes,
                  "tolerance", side->tolerance_text, "compile_seconds",
                  side->actual.compile_seconds, "run_seconds", side->actual.run_seconds);
    if (object == NULL) { /* text that is no UTF-8: the backend's words */
        object = json_pack("{s:s}", "outcome", outcome_text(side->outcome));
    }
    json_t *leaves = json_array();
    for (int i = 0; i < side->comparison.leaf_count; i++) {
        json_array_append_new(leaves, leaf_json(result, &side->comparison.leaves[i]));
    }
    json_object_set_new(object, "leaves", leaves);
    json_object_set_new(object, "replica_conflict", conflict_json(conflict));
    return object;
}

static json_t *entry_json(const struct spmd_entry *entry, const char *outcome, const char *message)
{
    json_t *object = json_pack("{s:s, s:s, s:s, s:s, s:i, s:s}", "module", entry->module, "backend",
                               entry->backend, "outcome", outcome, "message", message, "partitions",
                               entry->partition_count, "command", entry->command);
    return object != NULL ? object
                          : json_pack("{s:s, s:s}", "module", entry->module, "outcome", outcome);
}

json_t *spmd_report_json(const struct spmd_entry *entry, const struct spmd_result *result)
{
    json_t *object = entry_json(entry, outcome_text(result->outcome), result->message);
    json_object_set_new(object, "culprit", json_string(spmd_culprit_text(result->culprit)));
    json_object_set_new(object, "inputs", json_string(entry->inputs));
    if (result->has_simulated) {
        json_object_set_new(object, "seed", json_integer((json_int_t)result->simulated.seed));
        json_object_set_new(object, "simulated",
                            side_json(result, &result->simulated, &result->simulated_conflict));
    }
    if (result->has_executed) {
        json_object_set_new(object, "executed",
                            side_json(result, &result->executed, &result->executed_conflict));
    }
    json_t *next = json_array();
    if (names_pass(entry, result)) {
        struct text command;
        text_init(&command);
        text_printf(&command, "%s --partitions %d", entry->passes, entry->partition_count);
        json_array_append_new(
            next, json_pack("{s:s, s:s}", "label", "which pass", "command", command.data));
        text_finish(&command);
    }
    json_object_set_new(object, "next", next);
    return object;
}

void spmd_report_failed_text(const struct spmd_entry *entry, const char *outcome,
                             const char *problem, struct text *out)
{
    text_printf(out, "%-13s %s\n", outcome, entry->module);
    text_append_lines(problem, "    ", out);
}

json_t *spmd_report_failed_json(const struct spmd_entry *entry, const char *outcome,
                                const char *problem)
{
    return entry_json(entry, outcome, problem);
}
