/* Bisection on one level: cuts of an entry computation.
 *
 * Where a cut takes long, since the backend compiles slowly or the golden computes much, cuts are
 * *narrowed*: what cuts that passed depend on is no longer computed, its values are the golden's.
 * Then all cuts together take little more than the first, where else each takes as long. */
#include <stdlib.h>
#include <string.h>

#include "compare/bisect_internal.h"
#include "hlo/base/arena.h"
#include "hlo/base/clock.h"
#include "hlo/base/error.h"
#include "hlo/literal.h"

/* What is known of the cut at an instruction. */
enum { UNKNOWN, GOOD, BAD };

static const double narrow_from_default = 1; /* seconds of a cut */
enum { NARROW_LEAST = 16 };                  /* instructions: fewer are not worth an evaluation */

struct cuts {
    struct bisection *bisection;
    const struct specimen *specimen;
    double seconds; /* that the last cut took */
    /* Of instructions of the entry: */
    char *known;
    bool *good;     /* cuts that passed depend on them */
    bool *given;    /* parameters of cuts, with `values` */
    int64_t *sizes; /* how many instructions it is, with those of what it calls */
    bool narrowed;
    int64_t size; /* of what the cut at the wrong one computes */
    struct golden_values values;
};

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
    switch (instruction->opcode) {
    case OP_PARAMETER:
    case OP_CONSTANT:
    case OP_TUPLE:
    case OP_ASYNC_START: /* no result without their ends */
    case OP_ASYNC_UPDATE:
    case OP_ALL_GATHER_START:
    case OP_ALL_REDUCE_START:
    case OP_COLLECTIVE_PERMUTE_START:
    case OP_COPY_START:
        return false;
    default:
        return flat(instruction->shape);
    }
}

static bool cut_fails(struct cuts *cuts, const struct instruction *instruction)
{
    struct specimen cut;
    struct error ignored = {0};
    double start = clock_seconds();
    if (!specimen_cut_between(cuts->specimen, cuts->given, golden_value_of, &cuts->values,
                              instruction, &cut, &ignored)) {
        return false;
    }
    bisect_say(cuts->bisection, "cut at", instruction->name);
    bool bad = bisect_fails(cuts->bisection, &cut, NULL);
    specimen_finish(&cut);
    cuts->seconds = clock_seconds() - start;
    cuts->known[instruction->id] = bad ? BAD : GOOD;
    return bad;
}

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

/* --- narrower --- */

/* May its value be a parameter's? */
static bool can_be_given(const struct instruction *instruction)
{
    return shape_is_array(instruction->shape) && !shape_is_dynamic(instruction->shape) &&
           instruction->opcode != OP_PARAMETER && instruction->opcode != OP_CONSTANT;
}

/* Marks what is good and needed by what is not, for `bad`; returns the size of what is needed with
 * that. */
static int64_t mark_border(const struct cuts *cuts, const struct instruction *bad, bool *border)
{
    const struct computation *entry = cuts->specimen->module->entry;
    bool *needed = memory_zalloc((size_t)entry->count + 1);
    int64_t size = 0;
    needed[bad->id] = true;
    for (int i = bad->id; i >= 0; i--) { /* users come after what they use */
        const struct instruction *instruction = entry->instructions[i];
        border[i] = needed[i] && cuts->good[i] && can_be_given(instruction);
        size += needed[i] && !border[i] ? cuts->sizes[i] : 0;
        for (int k = 0; needed[i] && !border[i] && k < instruction->operand_count; k++) {
            needed[instruction->operands[k]->id] = true;
        }
    }
    free(needed);
    return size;
}

/* After a cut that passed: gives what it depends on, if that makes cuts notably smaller. */
static void narrow(struct cuts *cuts, const struct instruction *bad)
{
    const struct computation *entry = cuts->specimen->module->entry;
    bool *border = memory_zalloc((size_t)entry->count + 1);
    for (int i = 0; i < entry->count; i++) { /* an element of a tuple is as good as that */
        const struct instruction *instruction = entry->instructions[i];
        cuts->good[i] |=
            instruction->opcode == OP_GET_TUPLE_ELEMENT && cuts->good[instruction->operands[0]->id];
    }
    int64_t size = mark_border(cuts, bad, border);
    if (4 * size > 3 * cuts->size || cuts->size < NARROW_LEAST) {
        free(border);
        return;
    }
    golden_values_finish(&cuts->values);
    bisect_say(cuts->bisection, "what goes before", bad->name);
    golden_values_find_marked(cuts->specimen, border, &cuts->values);
    free(cuts->given);
    cuts->given = border;
    cuts->size = size;
    cuts->narrowed = true;
    cuts->known[bad->id] = UNKNOWN; /* it was seen to fail with what was computed */
}

/* --- the search --- */

/* An operand at which the cut fails too; NULL: none. Tuples and what cannot be a result are looked
 * through; constants count, since they can be wrong in themselves. */
static const struct instruction *bad_operand(struct cuts *cuts,
                                             const struct instruction *instruction)
{
    for (int k = 0; k < instruction->operand_count; k++) {
        const struct instruction *operand = instruction->operands[k];
        if (cuts->narrowed && cuts->good[operand->id]) {
            continue;
        }
        if (!can_be_cut(operand) && operand->opcode != OP_CONSTANT) {
            operand = bad_operand(cuts, operand);
            if (operand != NULL) {
                return operand;
            }
            continue;
        }
        if (cuts->known[operand->id] == UNKNOWN) {
            cut_fails(cuts, operand);
        }
        if (cuts->known[operand->id] == BAD) {
            return operand;
        }
    }
    return NULL;
}

/* Halving of what the wrong one depends on finds it at once when all that depends on a wrong value
 * is wrong: what is right has nothing wrong below it. What earlier halvings have taken for right by
 * that rule counts again. */
static const struct instruction *halve(struct cuts *cuts, const struct instruction *bad,
                                       double narrow_from)
{
    const struct computation *entry = cuts->specimen->module->entry;
    size_t room = ((size_t)entry->count + 1) * sizeof(bool);
    bool *candidates = memory_zalloc(room), *marks = memory_zalloc(room);
    int count = 0;
    mark_ancestors(entry, bad, candidates);
    cuts->size = 0;
    for (int i = 0; i < entry->count; i++) {
        cuts->size += candidates[i] ? cuts->sizes[i] : 0;
        cuts->good[i] &= cuts->narrowed;
        candidates[i] &= i != bad->id && can_be_cut(entry->instructions[i]) &&
                         cuts->known[i] == UNKNOWN && !cuts->good[i];
        count += candidates[i];
    }
    while (count > 0) {
        const struct instruction *middle = middle_of(entry, candidates, count, marks);
        bool wrong = cut_fails(cuts, middle);
        bad = wrong ? middle : bad;
        mark_ancestors(entry, middle, marks);
        for (int i = 0; i < entry->count; i++) {
            cuts->good[i] |= marks[i] && !wrong;
        }
        if (!wrong && narrow_from >= 0 && cuts->seconds >= narrow_from) {
            narrow(cuts, bad);
        }
        count = 0;
        for (int i = 0; i < entry->count; i++) {
            candidates[i] &= marks[i] == wrong && i != middle->id && !cuts->good[i];
            count += candidates[i];
        }
    }
    free(candidates);
    free(marks);
    return bad;
}

/* `bad` is an instruction where the cut fails. */
static const struct instruction *first_bad(struct cuts *cuts, const struct instruction *bad,
                                           double narrow_from)
{
    bad = halve(cuts, bad, narrow_from);
    if (cuts->narrowed && cuts->known[bad->id] == UNKNOWN && !cut_fails(cuts, bad)) {
        return NULL;
    }
    /* Where halving was misled, there is still something before what was found: it is halved again
     * after a step back, after two, four … where that was no use. */
    for (int steps = 1;;) {
        for (int i = 0; i < steps; i++) {
            const struct instruction *before = bad_operand(cuts, bad);
            if (before == NULL) {
                return bad;
            }
            bad = before;
        }
        const struct instruction *found = halve(cuts, bad, -1);
        steps = found != bad ? 1 : 2 * steps;
        bad = found;
    }
}

/* known: by computation, 0 = not yet. */
static int64_t computation_size(const struct computation *computation, int64_t *known);

static int64_t instruction_size(const struct instruction *instruction, int64_t *known)
{
    int64_t size = 1;
    for (int c = 0; c < instruction->called_count; c++) {
        size += computation_size(instruction->called[c], known);
    }
    return size;
}

static int64_t computation_size(const struct computation *computation, int64_t *known)
{
    int64_t size = known[computation->id];
    for (int i = 0; known[computation->id] == 0 && i < computation->count; i++) {
        size += instruction_size(computation->instructions[i], known);
    }
    known[computation->id] = size;
    return size;
}

static void cuts_init(struct cuts *cuts, struct bisection *bisection,
                      const struct specimen *specimen)
{
    const struct computation *entry = specimen->module->entry;
    size_t room = (size_t)entry->count + 1;
    *cuts = (struct cuts){.bisection = bisection,
                          .specimen = specimen,
                          .known = memory_zalloc(room),
                          .good = memory_zalloc(room),
                          .given = memory_zalloc(room),
                          .sizes = memory_zalloc(room * sizeof *cuts->sizes)};
    int64_t *known = memory_zalloc((size_t)specimen->module->count * sizeof *known);
    for (int i = 0; i < entry->count; i++) {
        cuts->sizes[i] = instruction_size(entry->instructions[i], known);
    }
    free(known);
}

static void cuts_finish(struct cuts *cuts)
{
    golden_values_finish(&cuts->values);
    free(cuts->known);
    free(cuts->good);
    free(cuts->given);
    free(cuts->sizes);
}

const struct instruction *bisect_bad_output(struct bisection *bisection,
                                            const struct specimen *specimen)
{
    const struct instruction *root = specimen->module->entry->root;
    if (root->opcode != OP_TUPLE || !flat(root->shape) || bisection->leaf < 0) {
        return root;
    }
    const struct instruction *output = root->operands[bisection->leaf % root->operand_count];
    struct cuts cuts;
    cuts_init(&cuts, bisection, specimen);
    bool fails = (can_be_cut(output) || output->opcode == OP_CONSTANT) && cut_fails(&cuts, output);
    cuts_finish(&cuts);
    return fails ? output : root;
}

const struct instruction *bisect_first_bad(struct bisection *bisection,
                                           const struct specimen *specimen,
                                           const struct instruction *output, bool *narrow)
{
    double asked = bisection->options->narrow_from;
    double from = !*narrow ? -1 : asked == 0 ? narrow_from_default : asked;
    struct cuts cuts;
    cuts_init(&cuts, bisection, specimen);
    cuts.known[output->id] = BAD;
    const struct instruction *bad = first_bad(&cuts, output, from);
    *narrow = cuts.narrowed;
    cuts_finish(&cuts);
    return bad;
}
