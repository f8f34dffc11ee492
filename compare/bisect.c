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

struct bisection {
    const struct bisect_options *options;
    struct bisect_result *result;
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

/* Runs the part; true when it fails as the whole did. A mismatch of any kind counts: NaN further up
 * may be wrong values further down. The picture goes to *picture if that is not NULL. */
static bool fails(struct bisection *bisection, const struct specimen *part, char **picture)
{
    struct differential_options options = bisection->options->differential;
    options.arguments = part->arguments;
    options.argument_count = part->argument_count;
    struct differential_result result;
    struct failure_signature signature;
    bisection->result->runs++;
    differential_run(part->module, bisection->options->backend, bisection->options->reference,
                     &options, &result);
    failure_signature_of(&result, &signature);
    const struct failure_signature *wanted = &bisection->result->signature;
    bool same = signature.outcome == OUTCOME_MISMATCH ? wanted->outcome == OUTCOME_MISMATCH
                                                      : failure_signature_equal(&signature, wanted);
    if (same && picture != NULL) {
        free(*picture);
        *picture = memory_strdup(result.picture);
    }
    failure_signature_finish(&signature);
    differential_result_finish(&result);
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

/* The instructions that `last` depends on and where the module can be cut, in order; `last` is the
 * last one. Returns how many. */
static int find_ancestors(const struct computation *entry, const struct instruction *last,
                          const struct instruction **list)
{
    bool *needed = memory_zalloc((size_t)entry->count + 1);
    needed[last->id] = true;
    for (int i = last->id; i >= 0; i--) {
        const struct instruction *instruction = entry->instructions[i];
        for (int k = 0; needed[i] && k < instruction->operand_count; k++) {
            needed[instruction->operands[k]->id] = true;
        }
    }
    int count = 0;
    for (int i = 0; i <= last->id; i++) {
        if (needed[i] && (can_be_cut(entry->instructions[i]) || i == last->id)) {
            list[count++] = entry->instructions[i];
        }
    }
    free(needed);
    return count;
}

/* An instruction at which the cut fails while those at its operands pass; `bad` is one where it
 * fails. */
static const struct instruction *first_bad(struct bisection *bisection,
                                           const struct specimen *specimen,
                                           const struct instruction *bad)
{
    const struct computation *entry = specimen->module->entry;
    const struct instruction **list = memory_alloc(((size_t)entry->count + 1) * sizeof *list);
    enum { GOOD = 1, BAD = 2 };
    char *known = memory_zalloc((size_t)entry->count + 1);
    known[bad->id] = BAD;
    /* Halving finds it at once when all that depends on a wrong value is wrong. */
    int count = find_ancestors(entry, bad, list), low = 0, high = count - 1;
    while (low < high) {
        int middle = low + (high - low) / 2;
        bool wrong = cut_fails(bisection, specimen, list[middle]);
        known[list[middle]->id] = wrong ? BAD : GOOD;
        if (wrong) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    /* Where it is not so, there is still something before what was found. */
    const struct instruction *found = list[high];
    bool moved = true;
    while (moved) {
        moved = false;
        count = find_ancestors(entry, found, list);
        for (int i = count - 2; i >= 0 && !moved; i--) {
            bool operand = false;
            for (int k = 0; k < found->operand_count; k++) {
                const struct instruction *through = found->operands[k];
                while (!can_be_cut(through) && through->operand_count == 1) {
                    through = through->operands[0];
                }
                operand |= through == list[i] || found->operands[k] == list[i];
            }
            if (!operand || known[list[i]->id] == GOOD) {
                continue;
            }
            if (known[list[i]->id] == BAD || cut_fails(bisection, specimen, list[i])) {
                known[list[i]->id] = BAD;
                found = list[i];
                moved = true;
            } else {
                known[list[i]->id] = GOOD;
            }
        }
    }
    free(list);
    free(known);
    return found;
}

/* The output of the entry that fails: the root, or one of the elements of a tuple. */
static const struct instruction *bad_output(struct bisection *bisection,
                                            const struct specimen *specimen)
{
    const struct instruction *root = specimen->module->entry->root;
    for (int k = 0; root->opcode == OP_TUPLE && k < root->operand_count; k++) {
        if (can_be_cut(root->operands[k]) && cut_fails(bisection, specimen, root->operands[k])) {
            return root->operands[k];
        }
    }
    return root;
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
    struct differential_result run;
    result->runs++;
    differential_run(specimen->module, options->backend, options->reference, &whole, &run);
    failure_signature_of(&run, &result->signature);
    bool ok = run.outcome != OUTCOME_UNSUPPORTED ||
              error_set(err, ERROR_UNIMPLEMENTED, "%s", run.message);
    differential_result_finish(&run);
    if (ok && result->signature.outcome != OUTCOME_PASS &&
        result->signature.outcome != OUTCOME_VACUOUS &&
        result->signature.outcome != OUTCOME_INCONCLUSIVE) {
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
