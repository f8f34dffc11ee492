/* Bisection on one level: cuts of an entry computation. */
#include <stdlib.h>
#include <string.h>

#include "compare/bisect_internal.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"

/* What is known of the cut at an instruction. */
enum { UNKNOWN, GOOD, BAD };

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

static bool cut_fails(struct bisection *bisection, const struct specimen *specimen,
                      const struct instruction *instruction)
{
    struct specimen cut;
    struct error ignored = {0};
    if (!specimen_cut(specimen, instruction, &cut, &ignored)) {
        return false;
    }
    bisect_say(bisection, "cut at", instruction->name);
    bool bad = bisect_fails(bisection, &cut, NULL);
    specimen_finish(&cut);
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

const struct instruction *bisect_first_bad(struct bisection *bisection,
                                           const struct specimen *specimen)
{
    return first_bad(bisection, specimen, bad_output(bisection, specimen));
}
