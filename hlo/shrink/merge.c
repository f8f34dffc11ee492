/* Simplification: of two equal instructions, or two equal computations, one stands for both. */
#include <stdlib.h>
#include <string.h>

#include "hlo/base/map.h"
#include "hlo/shrink/shrink_internal.h"

static bool says_nothing(enum attr_key key)
{
    return key == ATTR_METADATA || key == ATTR_ORIGIN || key == ATTR_STATISTICS;
}

static bool same_attributes(const struct instruction *a, const struct instruction *b)
{
    int i = 0, k = 0;
    for (;;) {
        while (i < a->attr_count && says_nothing(a->attrs[i].key)) {
            i++;
        }
        while (k < b->attr_count && says_nothing(b->attrs[k].key)) {
            k++;
        }
        if (i == a->attr_count || k == b->attr_count) {
            return i == a->attr_count && k == b->attr_count;
        }
        if (!attr_equal(&a->attrs[i++], &b->attrs[k++])) {
            return false;
        }
    }
}

/* Equal in all but their operands. */
static bool same_work(const struct instruction *a, const struct instruction *b)
{
    bool same = a->opcode == b->opcode && a->operand_count == b->operand_count &&
                a->called_count == b->called_count && a->number == b->number &&
                shape_compatible(a->shape, b->shape) &&
                (a->literal == NULL) == (b->literal == NULL) && same_attributes(a, b);
    for (int k = 0; same && k < a->called_count; k++) {
        same = a->called[k] == b->called[k];
    }
    return same && (a->literal == NULL || literal_equal(a->literal, b->literal));
}

static bool same_operands(const struct instruction *a, const struct instruction *b)
{
    for (int k = 0; k < a->operand_count; k++) {
        if (a->operands[k] != b->operands[k]) {
            return false;
        }
    }
    return true;
}

static uint64_t work_hash(const struct instruction *instruction)
{
    uint64_t hash = hash_u64((uint64_t)instruction->opcode, instruction->shape->hash);
    for (int k = 0; k < instruction->operand_count; k++) {
        hash = hash_u64((uint64_t)instruction->operands[k]->id, hash);
    }
    return hash;
}

/* Places of a computation: an instruction, and an earlier one that is equal. */
static void find_equal(const struct computation *computation, struct shrink_places *places)
{
    struct map seen;
    map_init(&seen);
    for (int i = 0; i < computation->count; i++) {
        struct instruction *instruction = computation->instructions[i];
        if (instruction->opcode == OP_PARAMETER || opcode_transfers(instruction->opcode)) {
            continue;
        }
        uint64_t hash = work_hash(instruction);
        const struct instruction *other = map_get_int(&seen, hash);
        if (other == NULL) {
            map_put_int(&seen, hash, instruction);
        } else if (same_work(instruction, other) && same_operands(instruction, other)) {
            place_add(places, computation->id, i, other->id);
        }
    }
    map_finish(&seen);
}

static bool same_computation(const struct computation *a, const struct computation *b)
{
    bool same = a->count == b->count && a->root->id == b->root->id && a->is_fusion == b->is_fusion;
    for (int i = 0; same && i < a->count; i++) {
        const struct instruction *x = a->instructions[i], *y = b->instructions[i];
        same = same_work(x, y);
        for (int k = 0; same && k < x->operand_count; k++) {
            same = x->operands[k]->id == y->operands[k]->id;
        }
    }
    return same;
}

enum { VARIANT_COMPUTATION = 1 << 30 }; /* beyond that: the number of another computation */

void find_merge(const struct specimen *specimen, struct shrink_places *places)
{
    const struct module *module = specimen->module;
    for (int c = 0; c < module->count; c++) {
        find_equal(module->computations[c], places);
        for (int d = 0; d < c; d++) {
            const struct computation *one = module->computations[c],
                                     *other = module->computations[d];
            if (one != module->entry && other != module->entry && same_computation(one, other)) {
                place_add(places, c, 0, VARIANT_COMPUTATION + d);
                break;
            }
        }
    }
}

bool apply_merge(const struct specimen *original, struct specimen *copy, struct shrink_place place,
                 shrink_value *value, void *context)
{
    struct module *module = copy->module;
    struct computation *computation = module->computations[place.computation];
    (void)original;
    (void)value;
    (void)context;
    if (place.variant < VARIANT_COMPUTATION) {
        shrink_replace_uses(place_instruction(copy, place),
                            computation->instructions[place.variant]);
        return true;
    }
    struct computation *other = module->computations[place.variant - VARIANT_COMPUTATION];
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            struct instruction *instruction = module->computations[c]->instructions[i];
            for (int k = 0; k < instruction->called_count; k++) {
                if (instruction->called[k] == computation) {
                    instruction->called[k] = other;
                }
            }
        }
    }
    return true;
}
