/* Bisection, level by level. */
#include "compare/bisect.h"

#include <stdlib.h>
#include <string.h>

#include "compare/golden_values.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"

enum { ITERATIONS_MOST = 1000, DEPTH_MOST = 32 };

/* What is known of the cut at an instruction. */
enum { UNKNOWN, GOOD, BAD };

struct bisection {
    const struct bisect_options *options;
    struct bisect_result *result;
    int leaf; /* of the last run that failed: the output that is furthest off, −1: none is */
};

static void say(const struct bisection *bisection, const char *format, const char *name)
{
    if (bisection->options->on_progress != NULL) {
        struct text text;
        text_init(&text);
        text_printf(&text, "%s %s", format, name);
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

/* Does it fail as the whole did? A mismatch of any kind counts: NaN further up may be wrong values
 * further down. */
static bool fails_as_wanted(const struct differential_result *result,
                            const struct failure_signature *wanted)
{
    struct failure_signature signature;
    failure_signature_of(result, &signature);
    bool same = signature.outcome == OUTCOME_MISMATCH ? wanted->outcome == OUTCOME_MISMATCH
                                                      : failure_signature_equal(&signature, wanted);
    failure_signature_finish(&signature);
    return same;
}

/* Runs the part; true when it fails as the whole did. The picture goes to *picture if that is not
 * NULL. */
static bool fails(struct bisection *bisection, const struct specimen *part, char **picture)
{
    struct differential_options options = bisection->options->differential;
    options.arguments = part->arguments;
    options.argument_count = part->argument_count;
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
            bisection->leaf = wrong_leaf(&result);
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
static void keep_part(struct bisection *bisection, const struct specimen *part)
{
    struct error ignored = {0};
    struct specimen own;
    if (specimen_copy(part, &own, &ignored)) {
        specimen_finish(&bisection->result->part);
        bisection->result->part = own;
    }
}

static bool flat(const struct shape *shape)
{
    for (int i = 0; shape_is_tuple(shape) && i < shape->count; i++) {
        if (!shape_is_array(shape->elements[i])) {
            return false;
        }
    }
    return shape_is_array(shape) || (shape_is_tuple(shape) && shape->count > 0);
}

static bool can_be_cut(const struct instruction *instruction)
{
    return instruction->opcode != OP_PARAMETER && instruction->opcode != OP_CONSTANT &&
           instruction->opcode != OP_TUPLE && flat(instruction->shape);
}

static bool cut_fails(struct bisection *bisection, const struct specimen *specimen,
                      const struct instruction *instruction)
{
    struct specimen cut;
    struct error ignored = {0};
    if (!specimen_cut(specimen, instruction, &cut, &ignored)) {
        return false;
    }
    say(bisection, "cut at", instruction->name);
    bool bad = fails(bisection, &cut, NULL);
    specimen_finish(&cut);
    return bad;
}

/* --- accumulated --- */

/* Marks the instructions that `last` depends on, itself too; the marks of others go. */
static void mark_ancestors(const struct computation *entry, const struct instruction *last,
                           bool *marks)
{
    memset(marks, 0, (size_t)entry->count * sizeof *marks);
    marks[last->id] = true;
    for (int i = last->id; i >= 0; i--) {
        const struct instruction *instruction = entry->instructions[i];
        for (int k = 0; marks[i] && k < instruction->operand_count; k++) {
            marks[instruction->operands[k]->id] = true;
        }
    }
}

/* A candidate such that about half of the candidates are among what it depends on. */
static const struct instruction *middle_of(const struct computation *entry, const bool *candidates,
                                           int count, bool *marks)
{
    const struct instruction *best = NULL;
    int least = count + 1, seen = 0;
    for (int i = 0; i < entry->count; i++) {
        if (!candidates[i]) {
            continue;
        }
        /* It cannot have more below it than stand before it. */
        seen++;
        if (2 * seen < count - least) {
            continue;
        }
        mark_ancestors(entry, entry->instructions[i], marks);
        int below = 0;
        for (int k = 0; k <= i; k++) {
            below += candidates[k] && marks[k];
        }
        int off = abs(2 * below - count);
        if (off < least) {
            least = off;
            best = entry->instructions[i];
        }
        if (least <= 1) {
            break;
        }
    }
    return best;
}

/* An operand at which the cut fails too; NULL: none. Tuples and what cannot be a result are looked
 * through; constants count, since they can be wrong in themselves. */
static const struct instruction *bad_operand(struct bisection *bisection,
                                             const struct specimen *specimen,
                                             const struct instruction *instruction, char *known)
{
    for (int k = 0; k < instruction->operand_count; k++) {
        const struct instruction *operand = instruction->operands[k];
        if (!can_be_cut(operand) && operand->opcode != OP_CONSTANT) {
            operand = bad_operand(bisection, specimen, operand, known);
            if (operand != NULL) {
                return operand;
            }
            continue;
        }
        if (known[operand->id] == UNKNOWN) {
            known[operand->id] = cut_fails(bisection, specimen, operand) ? BAD : GOOD;
        }
        if (known[operand->id] == BAD) {
            return operand;
        }
    }
    return NULL;
}

/* An instruction at which the cut fails while those at its operands pass; `bad` is one where it
 * fails. */
static const struct instruction *first_bad(struct bisection *bisection,
                                           const struct specimen *specimen,
                                           const struct instruction *bad)
{
    const struct computation *entry = specimen->module->entry;
    size_t room = ((size_t)entry->count + 1) * sizeof(bool);
    bool *candidates = memory_zalloc(room), *marks = memory_zalloc(room);
    char *known = memory_zalloc((size_t)entry->count + 1);
    known[bad->id] = BAD;
    /* Halving of what the wrong one depends on finds it at once when all that depends on a wrong
     * value is wrong: what is right has nothing wrong below it. */
    int count = 0;
    mark_ancestors(entry, bad, candidates);
    for (int i = 0; i < entry->count; i++) {
        candidates[i] &= i != bad->id && can_be_cut(entry->instructions[i]);
        count += candidates[i];
    }
    while (count > 0) {
        const struct instruction *middle = middle_of(entry, candidates, count, marks);
        bool wrong = cut_fails(bisection, specimen, middle);
        known[middle->id] = wrong ? BAD : GOOD;
        bad = wrong ? middle : bad;
        mark_ancestors(entry, middle, marks);
        count = 0;
        for (int i = 0; i < entry->count; i++) {
            candidates[i] &= marks[i] == wrong && i != middle->id;
            count += candidates[i];
        }
    }
    /* Where it is not so, there is still something before what was found. */
    for (const struct instruction *before = bad; before != NULL;) {
        bad = before;
        before = bad_operand(bisection, specimen, bad, known);
    }
    free(candidates);
    free(marks);
    free(known);
    return bad;
}

/* The output of the entry that fails, which was the last to be run: the element of a tuple that is
 * furthest off, or the root if it is no tuple or wrong in itself. */
static const struct instruction *bad_output(struct bisection *bisection,
                                            const struct specimen *specimen)
{
    const struct instruction *root = specimen->module->entry->root;
    if (root->opcode != OP_TUPLE || !flat(root->shape) || bisection->leaf < 0) {
        return root;
    }
    const struct instruction *output = root->operands[bisection->leaf % root->operand_count];
    return (can_be_cut(output) || output->opcode == OP_CONSTANT) &&
                   cut_fails(bisection, specimen, output)
               ? output
               : root;
}

/* --- isolated, and inside --- */

static void add_level(struct bisection *bisection, const struct instruction *instruction,
                      int64_t iteration, bool isolated)
{
    struct bisect_result *result = bisection->result;
    result->levels =
        memory_realloc(result->levels, ((size_t)result->level_count + 1) * sizeof *result->levels);
    result->levels[result->level_count++] =
        (struct bisect_level){.computation = memory_strdup(instruction->parent->name),
                              .instruction = memory_strdup(instruction->name),
                              .opcode = opcode_text(instruction->opcode),
                              .iteration = iteration,
                              .isolated = isolated};
}

static void set_note(struct bisection *bisection, const char *note)
{
    free(bisection->result->note);
    bisection->result->note = memory_strdup(note);
}

static struct literal **operand_values(const struct instruction *instruction,
                                       const struct golden_values *values)
{
    struct literal **operands =
        memory_zalloc(((size_t)instruction->operand_count + 1) * sizeof *operands);
    for (int k = 0; k < instruction->operand_count; k++) {
        operands[k] = values->list[instruction->operands[k]->id];
    }
    return operands;
}

static bool search(struct bisection *bisection, const struct specimen *specimen, int64_t iteration,
                   int depth);

/* Goes into the computation with those arguments. True if it fails there. */
static bool enter(struct bisection *bisection, const struct specimen *specimen,
                  const struct computation *computation, struct literal *const *arguments,
                  int64_t iteration, int depth)
{
    struct specimen body;
    struct error ignored = {0};
    for (int i = 0; i < computation->parameter_count; i++) {
        if (arguments[i] == NULL) {
            return false;
        }
    }
    if (!specimen_body(specimen, computation, arguments, &body, &ignored)) {
        return false;
    }
    say(bisection, "into", computation->name);
    bool bad = fails(bisection, &body, NULL);
    if (bad) {
        search(bisection, &body, iteration, depth + 1);
    }
    specimen_finish(&body);
    return bad;
}

/* The first iteration whose step alone fails. */
static bool enter_loop(struct bisection *bisection, const struct specimen *specimen,
                       const struct instruction *loop, int depth)
{
    int64_t most = bisection->options->iterations_most;
    struct loop_states states;
    loop_states_find(specimen, loop, most > 0 ? most : ITERATIONS_MOST, &states);
    bool bad = false;
    for (int64_t i = 0; i < states.count && !bad; i++) {
        bad = enter(bisection, specimen, loop->called[0], &states.list[i], i, depth);
    }
    loop_states_finish(&states);
    return bad;
}

/* The branch that the golden takes. */
static bool enter_branch(struct bisection *bisection, const struct specimen *specimen,
                         const struct instruction *conditional, struct literal *const *operands,
                         int depth)
{
    int64_t branch = operands[0] != NULL ? literal_get_int(operands[0], 0) : 0;
    if (conditional->operands[0]->shape->type == TYPE_PRED) {
        branch = branch != 0 ? 0 : 1;
    } else if (branch < 0 || branch >= conditional->called_count) {
        branch = conditional->called_count - 1;
    }
    return enter(bisection, specimen, conditional->called[branch], operands + 1 + branch, -1,
                 depth);
}

static bool go_inside(struct bisection *bisection, const struct specimen *specimen,
                      const struct instruction *instruction, struct literal *const *operands,
                      int depth)
{
    if (depth == DEPTH_MOST) {
        return false;
    }
    switch (instruction->opcode) {
    case OP_CALL:
    case OP_FUSION:
        return enter(bisection, specimen, instruction->called[0], operands, -1, depth);
    case OP_WHILE:
        return enter_loop(bisection, specimen, instruction, depth);
    case OP_CONDITIONAL:
        return enter_branch(bisection, specimen, instruction, operands, depth);
    default:
        return false;
    }
}

static bool calls_more_than_a_reducer(const struct instruction *instruction)
{
    return instruction->opcode == OP_CALL || instruction->opcode == OP_FUSION ||
           instruction->opcode == OP_WHILE || instruction->opcode == OP_CONDITIONAL;
}

/* The specimen fails: finds where, on this level and those below. */
static bool search(struct bisection *bisection, const struct specimen *specimen, int64_t iteration,
                   int depth)
{
    struct error ignored = {0};
    const struct instruction *bad = first_bad(bisection, specimen, bad_output(bisection, specimen));
    struct golden_values values;
    struct specimen part;
    golden_values_find(specimen, &values);
    struct literal **operands = operand_values(bad, &values);
    bool isolated = false;
    if (specimen_alone(specimen, bad, operands, &part, &ignored)) {
        say(bisection, "alone:", bad->name);
        isolated = fails(bisection, &part, &bisection->result->picture);
        if (isolated) {
            keep_part(bisection, &part);
        }
        specimen_finish(&part);
    }
    if (!isolated && specimen_cut(specimen, bad, &part, &ignored)) {
        fails(bisection, &part, &bisection->result->picture);
        keep_part(bisection, &part);
        specimen_finish(&part);
        set_note(bisection,
                 "it fails only together with what comes before it: its operands are right, "
                 "and alone on them it passes");
    } else {
        set_note(bisection, "");
    }
    add_level(bisection, bad, iteration, isolated);
    int levels = bisection->result->level_count;
    if (calls_more_than_a_reducer(bad) && !go_inside(bisection, specimen, bad, operands, depth) &&
        levels == bisection->result->level_count) {
        set_note(bisection,
                 bad->opcode == OP_WHILE
                     ? "each step of the loop passes alone: what fails is how they follow "
                       "on each other, or how often"
                     : "what it calls passes on its own");
    }
    free(operands);
    golden_values_finish(&values);
    return true;
}

/* --- the public face --- */

bool bisect_run(const struct specimen *specimen, const struct bisect_options *options,
                struct bisect_result *result, struct error *err)
{
    *result = (struct bisect_result){.picture = memory_strdup(""), .note = memory_strdup("")};
    struct bisection bisection = {.options = options, .result = result};
    struct differential_options whole = options->differential;
    whole.arguments = specimen->arguments;
    whole.argument_count = specimen->argument_count;
    bool ok = true, found = false;
    for (int i = 0; ok && !found && (i == 0 || i < options->runs); i++) {
        struct differential_result run;
        result->runs++;
        differential_run(specimen->module, options->backend, options->reference, &whole, &run);
        failure_signature_finish(&result->signature);
        failure_signature_of(&run, &result->signature);
        bisection.leaf = wrong_leaf(&run);
        ok = run.outcome != OUTCOME_UNSUPPORTED ||
             error_set(err, ERROR_UNIMPLEMENTED, "%s", run.message);
        found = ok && run.outcome != OUTCOME_PASS && run.outcome != OUTCOME_VACUOUS &&
                run.outcome != OUTCOME_INCONCLUSIVE;
        differential_result_finish(&run);
    }
    if (found) {
        search(&bisection, specimen, -1, 0);
    }
    if (!ok) {
        bisect_result_finish(result);
    }
    return ok;
}

void bisect_result_finish(struct bisect_result *result)
{
    failure_signature_finish(&result->signature);
    for (int i = 0; i < result->level_count; i++) {
        free(result->levels[i].computation);
        free(result->levels[i].instruction);
    }
    free(result->levels);
    specimen_finish(&result->part);
    free(result->picture);
    free(result->note);
    *result = (struct bisect_result){0};
}
