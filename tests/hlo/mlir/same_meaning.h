/* Help for tests: do two modules say the same, whatever their names, the order in which things
 * stand, layouts, metadata? Compared from the roots on; what sends or receives also counts where
 * nothing depends on it. */
#ifndef TESTS_HLO_MLIR_SAME_MEANING_H
#define TESTS_HLO_MLIR_SAME_MEANING_H

#include <stdio.h>
#include <stdlib.h>

#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "hlo/module.h"

#define UNUSED __attribute__((unused))

static bool same_computation(const struct computation *a, const struct computation *b,
                             struct error *err);

/* Those of an instruction that say something. */
static bool is_said(const struct instruction *instruction, const struct attr *attr)
{
    return attr->key != ATTR_METADATA && attr->key != ATTR_ORIGIN &&
           !attr_is_default(instruction, attr);
}

static bool has_all_attrs(const struct instruction *a, const struct instruction *b,
                          struct error *err)
{
    for (int i = 0; i < a->attr_count; i++) {
        const struct attr *attr = &a->attrs[i], *other = attr_get(b, attr->key);
        if (is_said(a, attr) && (other == NULL || !attr_equal(attr, other))) {
            return error_set(err, ERROR_INVALID_ARGUMENT, "%s and %s: %s differs", a->name, b->name,
                             attr_table[attr->key].text);
        }
    }
    return true;
}

/* An element of a tuple that was just made is what was put there. */
static const struct instruction *made(const struct instruction *instruction)
{
    while (instruction->opcode == OP_GET_TUPLE_ELEMENT &&
           instruction->operands[0]->opcode == OP_TUPLE) {
        instruction = instruction->operands[0]->operands[attr_int(instruction, ATTR_INDEX, 0)];
    }
    return instruction;
}

/* matches[id of a] is the instruction that was found to be the same. */
static bool same_value(const struct instruction *a, const struct instruction *b,
                       const struct instruction **matches, struct error *err)
{
    a = made(a);
    b = made(b);
    if (matches[a->id] != NULL) {
        return matches[a->id] == b ||
               error_set(err, ERROR_INVALID_ARGUMENT, "%s is used in the place of %s, and of %s",
                         a->name, matches[a->id]->name, b->name);
    }
    matches[a->id] = b;
    if (a->opcode != b->opcode || !shape_compatible(a->shape, b->shape) ||
        a->operand_count != b->operand_count || a->called_count != b->called_count ||
        a->number != b->number) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "%s is %s %s of %d, %s is %s %s of %d",
                         a->name, opcode_text(a->opcode), shape_text(a->shape), a->operand_count,
                         b->name, opcode_text(b->opcode), shape_text(b->shape), b->operand_count);
    }
    bool elided = a->elided || b->elided; /* {...} may be anything */
    if ((a->literal != NULL) != (b->literal != NULL) ||
        (a->literal != NULL && !elided && !literal_equal(a->literal, b->literal))) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "%s and %s are constants that differ",
                         a->name, b->name);
    }
    for (int i = 0; i < a->operand_count; i++) {
        if (!same_value(a->operands[i], b->operands[i], matches, err)) {
            return false;
        }
    }
    for (int i = 0; i < a->called_count; i++) {
        if (!same_computation(a->called[i], b->called[i], err)) {
            return false;
        }
    }
    return has_all_attrs(a, b, err) && has_all_attrs(b, a, err);
}

static bool has_effect(const struct instruction *instruction)
{
    return instruction->opcode == OP_SEND || instruction->opcode == OP_RECV ||
           instruction->opcode == OP_INFEED || instruction->opcode == OP_OUTFEED;
}

/* The first instruction from *at on that has effects, NULL after the last. */
static const struct instruction *next_effect(const struct computation *computation, int *at)
{
    while (*at < computation->count) {
        const struct instruction *instruction = computation->instructions[(*at)++];
        if (has_effect(instruction)) {
            return instruction;
        }
    }
    return NULL;
}

/* Is there one in b that is the same? Their order is that of tokens alone. */
static bool same_effects(const struct computation *a, const struct computation *b,
                         const struct instruction **matches, struct error *err)
{
    int at = 0;
    for (const struct instruction *effect; (effect = next_effect(a, &at)) != NULL;) {
        bool found = matches[effect->id] != NULL;
        int other_at = 0;
        const struct instruction *other;
        while (!found && (other = next_effect(b, &other_at)) != NULL) {
            size_t bytes = ((size_t)a->count + 1) * sizeof *matches;
            const struct instruction **tried = malloc(bytes);
            struct error difference = {0};
            for (int i = 0; i < a->count; i++) {
                tried[i] = matches[i];
            }
            found = same_value(effect, other, tried, &difference);
            free(tried);
        }
        if (!found) {
            return error_set(err, ERROR_INVALID_ARGUMENT, "nothing is like %s", effect->name);
        }
    }
    return true;
}

static bool same_computation(const struct computation *a, const struct computation *b,
                             struct error *err)
{
    if (a->parameter_count != b->parameter_count) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "%s takes %d parameters, %s %d", a->name,
                         a->parameter_count, b->name, b->parameter_count);
    }
    const struct instruction **matches = calloc((size_t)a->count + 1, sizeof *matches);
    bool same = same_value(a->root, b->root, matches, err) && same_effects(a, b, matches, err);
    free(matches);
    return same;
}

UNUSED static bool same_meaning(const struct module *a, const struct module *b, struct error *err)
{
    return same_computation(a->entry, b->entry, err);
}

#endif
