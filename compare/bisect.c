/* Bisection, level by level. */
#include "compare/bisect.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "compare/bisect_internal.h"
#include "compare/devices.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"

void bisect_say(const struct bisection *bisection, const char *what, const char *name)
{
    if (bisection->options->on_progress != NULL) {
        struct text text;
        text_init(&text);
        text_printf(&text, "%s %s", what, name);
        bisection->options->on_progress(bisection->options->context, text.data);
        text_finish(&text);
    }
}

/* --- asking the backend --- */

/* The output that is furthest off; −1: none is. */
static int wrong_leaf(const struct differential_result *result)
{
    const struct comparison *comparison = &result->comparison;
    int wrong = -1;
    for (int i = 0; i < comparison->leaf_count; i++) {
        const struct leaf_comparison *leaf = &comparison->leaves[i];
        if ((leaf->shapes_differ || leaf->mismatches > 0) &&
            (wrong < 0 || leaf->largest_part > comparison->leaves[wrong].largest_part)) {
            wrong = i;
        }
    }
    return wrong;
}

/* Keeps what went wrong where. */
static void remember(struct bisection *bisection, const struct differential_result *result)
{
    bisection->leaf = wrong_leaf(result);
    bisection->device = -1;
    bisection->devices_wrong = 0;
    bisection->device_count = result->device_count;
    for (int d = 0; result->devices != NULL && d < result->device_count; d++) {
        if (result->devices[d].outcome == OUTCOME_MISMATCH) {
            bisection->device = bisection->devices_wrong == 0 ? d : bisection->device;
            bisection->devices_wrong++;
        }
    }
}

/* Does it fail as the whole did? A mismatch of any kind counts: NaN further up may be wrong values
 * further down. */
static bool fails_as_wanted(const struct differential_result *result,
                            const struct failure_signature *wanted)
{
    struct failure_signature signature;
    failure_signature_of(result, &signature);
    bool same = failure_signature_alike(&signature, wanted);
    failure_signature_finish(&signature);
    return same;
}

/* Runs the part; true when it fails as the whole did. The picture goes to *picture if that is not
 * NULL. */
bool bisect_fails(struct bisection *bisection, const struct specimen *part, char **picture)
{
    struct differential_options options = bisection->options->differential;
    options.arguments = part->arguments;
    options.argument_count = specimen_argument_total(part);
    options.hasty = bisection->hasty;
    const struct bisect_options *asked = bisection->options;
    int runs = asked->runs > 1 ? asked->runs : 1;
    bool same = false;
    for (int i = 0; i < runs && !same; i++) {
        if (asked->stopped != NULL && asked->stopped(asked->context)) {
            break;
        }
        struct differential_result result;
        bisection->result->runs++;
        differential_run(part->module, bisection->options->backend, bisection->options->reference,
                         &options, &result);
        same = fails_as_wanted(&result, &bisection->result->signature);
        if (same) {
            remember(bisection, &result);
        }
        if (same && picture != NULL) {
            free(*picture);
            *picture = memory_strdup(result.picture);
        }
        differential_result_finish(&result);
    }
    return same;
}

/* Keeps the part as the answer so far. */
void bisect_keep_part(struct bisection *bisection, const struct specimen *part)
{
    struct error ignored = {0};
    struct specimen own;
    if (specimen_copy(part, &own, &ignored)) {
        specimen_finish(&bisection->result->part);
        bisection->result->part = own;
    }
}

/* --- isolated, and inside --- */

struct bisect_level *bisect_add_level(struct bisection *bisection,
                                      const struct instruction *instruction)
{
    struct bisect_result *result = bisection->result;
    result->levels =
        memory_realloc(result->levels, ((size_t)result->level_count + 1) * sizeof *result->levels);
    struct bisect_level *level = &result->levels[result->level_count++];
    *level = (struct bisect_level){.computation = memory_strdup(instruction->parent->name),
                                   .instruction = memory_strdup(instruction->name),
                                   .opcode = opcode_text(instruction->opcode),
                                   .iteration = -1,
                                   .device = -1};
    return level;
}

/* Which devices part, as in the last run that failed. */
static void set_devices(struct bisect_level *level, const struct bisection *bisection)
{
    level->device = bisection->device;
    level->devices_wrong = bisection->devices_wrong;
    level->device_count = bisection->device_count;
}

void bisect_set_note(struct bisection *bisection, const char *format, ...)
{
    struct text text;
    text_init(&text);
    va_list args;
    va_start(args, format);
    text_vprintf(&text, format, args);
    va_end(args);
    free(bisection->result->note);
    bisection->result->note = text_take(&text);
    text_finish(&text);
}

/* The smallest part of this level that fails: the instruction alone, or else the module cut at it;
 * its picture and devices are kept. False when neither fails (now), and there is none. */
static bool find_part(struct bisection *bisection, const struct specimen *specimen,
                      const struct instruction *bad, const struct golden_values *values,
                      struct specimen *part, bool *isolated)
{
    struct error ignored = {0};
    char **picture = &bisection->result->picture;
    bisection->device_count = 0;
    *isolated = false;
    bisect_say(bisection, "alone:", bad->name);
    if (specimen_alone(specimen, bad, (struct literal *const *const *)values->lists, part,
                       &ignored)) {
        *isolated = bisect_fails(bisection, part, picture);
        if (*isolated) {
            return true;
        }
        specimen_finish(part);
    }
    if (specimen_cut(specimen, bad, part, &ignored)) {
        if (bisect_fails(bisection, part, picture)) {
            return true;
        }
        specimen_finish(part);
    }
    return false;
}

/* What is wrong on one level. */
struct wrong {
    const struct instruction *instruction;
    struct golden_values values; /* of its operands */
    bool has_part, isolated, narrowed;
    struct specimen part;
};

static void wrong_finish(struct wrong *wrong)
{
    if (wrong->has_part) {
        specimen_finish(&wrong->part);
    }
    golden_values_finish(&wrong->values);
}

/* False, with nothing to finish, where cuts were narrowed and what they led to is not wrong alone:
 * errors may have to add up from the beginning on. */
static bool find_wrong(struct bisection *bisection, const struct specimen *specimen,
                       const struct instruction *output, bool narrow, struct wrong *wrong)
{
    *wrong = (struct wrong){.narrowed = narrow};
    wrong->instruction = bisect_first_bad(bisection, specimen, output, &wrong->narrowed);
    if (wrong->instruction == NULL) {
        return false;
    }
    golden_values_find_operands(specimen, wrong->instruction, &wrong->values);
    wrong->has_part = find_part(bisection, specimen, wrong->instruction, &wrong->values,
                                &wrong->part, &wrong->isolated);
    if (wrong->narrowed && !wrong->isolated) {
        wrong_finish(wrong);
        return false;
    }
    return true;
}

void bisect_search(struct bisection *bisection, const struct specimen *specimen, int64_t iteration,
                   int depth)
{
    const struct instruction *output = bisect_bad_output(bisection, specimen);
    struct wrong wrong;
    if (!find_wrong(bisection, specimen, output, true, &wrong)) {
        find_wrong(bisection, specimen, output, false, &wrong);
    }
    const struct instruction *bad = wrong.instruction;
    struct bisect_level *level = bisect_add_level(bisection, bad);
    level->iteration = iteration;
    level->isolated = wrong.isolated;
    level->narrowed = wrong.narrowed;
    if (bisection->device_count > 1) {
        set_devices(level, bisection);
    }
    bisect_set_note(bisection, "%s",
                    wrong.isolated ? ""
                                   : "it fails only together with what comes before it: its "
                                     "operands are right, and alone on them it passes");
    if (wrong.has_part) {
        bisect_keep_part(bisection, &wrong.part);
    }
    int levels = bisection->result->level_count;
    if (bisect_has_inside(bad)) {
        if (!bisect_go_inside(bisection, specimen, bad, &wrong.values, depth) &&
            levels == bisection->result->level_count && bisection->result->note[0] == '\0') {
            bisect_set_note(bisection, "what it calls passes on its own");
        }
    } else if (wrong.has_part) {
        bisect_applied(bisection, specimen, bad, &wrong.values, &wrong.part);
    }
    wrong_finish(&wrong);
}

/* --- the public face --- */

/* Runs the part that was found once more, or as often as is asked: the odds. */
static void confirm(struct bisection *bisection)
{
    struct bisect_result *result = bisection->result;
    const struct bisect_options *options = bisection->options;
    int runs = options->runs > 1 ? options->runs : 1;
    for (int i = 0; result->part.module != NULL && i < runs; i++) {
        if (options->stopped != NULL && options->stopped(options->context)) {
            break;
        }
        struct bisect_options once = *options;
        struct bisection single = {.options = &once, .result = result};
        once.runs = 1;
        result->confirming_runs++;
        result->confirming_failures += bisect_fails(&single, &result->part, &result->picture);
    }
}

/* A copy for the search: with arguments for each device, or of one device alone if devices do not
 * matter and it fails then too. */
static void prepare(struct bisection *bisection, const struct specimen *specimen,
                    struct specimen *prepared)
{
    struct error ignored = {0};
    specimen_borrow(specimen, prepared);
    specimen_spread(prepared);
    if (specimen_sets(prepared) == 1 || devices_matter(prepared->module)) {
        return;
    }
    struct specimen single;
    int device = bisection->device >= 0 ? bisection->device : 0;
    if (!specimen_of_device(prepared, device, &single, &ignored)) {
        return;
    }
    if (!bisect_fails(bisection, &single, NULL)) {
        specimen_finish(&single);
        return;
    }
    specimen_finish(prepared);
    *prepared = single;
    return;
}

/* How the whole fails; false when it cannot be run, with *err. What is quick has all that a verdict
 * takes before anything is searched. */
static bool run_whole(struct bisection *bisection, const struct specimen *specimen,
                      struct error *err)
{
    const struct bisect_options *options = bisection->options;
    struct bisect_result *result = bisection->result;
    struct differential_options whole = options->differential;
    whole.arguments = specimen->arguments;
    whole.argument_count = specimen_argument_total(specimen);
    whole.hasty = bisection->hasty;
    whole.hasty_from = options->known_to_fail ? 0 : HASTE_FROM;
    bool ok = true, found = false;
    for (int i = 0; ok && !found && (i == 0 || i < options->runs); i++) {
        struct differential_result run;
        result->runs++;
        differential_run(specimen->module, options->backend, options->reference, &whole, &run);
        failure_signature_finish(&result->signature);
        failure_signature_of(&run, &result->signature);
        remember(bisection, &run);
        ok = run.outcome != OUTCOME_UNSUPPORTED ||
             error_set(err, ERROR_UNIMPLEMENTED, "%s", run.message);
        found = ok && failure_signature_fails(&result->signature);
        differential_result_finish(&run);
    }
    return ok;
}

/* What was found; how many runs it took stays. */
static void forget(struct bisect_result *result)
{
    for (int i = 0; i < result->level_count; i++) {
        free(result->levels[i].computation);
        free(result->levels[i].instruction);
    }
    free(result->levels);
    result->levels = NULL;
    result->level_count = 0;
    specimen_finish(&result->part);
    result->confirming_runs = result->confirming_failures = 0;
}

static void search(struct bisection *bisection, const struct specimen *specimen)
{
    struct bisect_result *result = bisection->result;
    struct bisection whole = *bisection;
    struct specimen prepared;
    prepare(bisection, specimen, &prepared);
    bool single = specimen_devices(&prepared) < whole.device_count;
    bisect_search(bisection, &prepared, -1, 0);
    if (single && result->level_count > 0) { /* the whole says which devices */
        set_devices(&result->levels[0], &whole);
    }
    specimen_finish(&prepared);
    confirm(bisection);
}

bool bisect_run(const struct specimen *specimen, const struct bisect_options *options,
                struct bisect_result *result, struct error *err)
{
    *result = (struct bisect_result){.picture = memory_strdup(""), .note = memory_strdup("")};
    bool ok = true, again = true;
    for (bool hasty = options->runs <= 1; ok && again; hasty = false) {
        struct bisection bisection = {
            .options = options, .result = result, .hasty = hasty, .device = -1};
        forget(result);
        ok = run_whole(&bisection, specimen, err);
        if (ok && failure_signature_fails(&result->signature)) {
            search(&bisection, specimen);
        }
        again = hasty && result->level_count > 0 && result->confirming_failures == 0 &&
                (options->stopped == NULL || !options->stopped(options->context));
    }
    if (!ok) {
        bisect_result_finish(result);
    }
    return ok;
}

void bisect_result_finish(struct bisect_result *result)
{
    failure_signature_finish(&result->signature);
    forget(result);
    free(result->picture);
    free(result->note);
    *result = (struct bisect_result){0};
}
