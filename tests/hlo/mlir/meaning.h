/* Do two modules mean the same? Compares what the entry computes, whatever instructions and
 * computations are called, in whatever order they stand, and whether equal computations are one or
 * several. Dead instructions do not count unless they have effects. Shapes (layouts but of custom
 * calls aside), attributes (but for metadata) and literals do. Broadcasts and reshapes that change
 * nothing are passed through. */
#ifndef TESTS_HLO_MLIR_MEANING_H
#define TESTS_HLO_MLIR_MEANING_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/map.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"

static inline bool meaning_has_effect(const struct instruction *instruction)
{
    switch (instruction->opcode) {
    case OP_CUSTOM_CALL:
        return attr_bool(instruction, ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, false);
    case OP_INFEED:
    case OP_OUTFEED:
    case OP_SEND:
    case OP_RECV:
        return true;
    default:
        return false;
    }
}

/* The operand that it always equals, or NULL. */
static inline const struct instruction *meaning_same_as(const struct instruction *instruction)
{
    if (instruction->opcode == OP_GET_TUPLE_ELEMENT &&
        instruction->operands[0]->opcode == OP_TUPLE && attr_sharding(instruction) == NULL) {
        return instruction->operands[0]->operands[attr_int(instruction, ATTR_INDEX, 0)];
    }
    if ((instruction->opcode == OP_RESHAPE || instruction->opcode == OP_BROADCAST) &&
        shape_compatible(instruction->shape, instruction->operands[0]->shape)) {
        struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
        for (int i = 0; instruction->opcode == OP_BROADCAST && i < dimensions.count; i++) {
            if (dimensions.values[i] != i) {
                return NULL;
            }
        }
        return instruction->operands[0];
    }
    return NULL;
}

static inline uint64_t meaning_of_instruction(const struct instruction *instruction,
                                              const uint64_t *operands, const uint64_t *called)
{
    const struct instruction *same = meaning_same_as(instruction);
    if (same != NULL) {
        return operands[same->id];
    }
    const struct shape *shape = instruction->shape;
    if (instruction->opcode != OP_CUSTOM_CALL) {
        shape = shape_without_layout(shape);
    }
    uint64_t hash = hash_u64((uint64_t)instruction->opcode, shape->hash);
    hash = hash_u64((uint64_t)instruction->number, hash);
    for (int k = 0; k < instruction->operand_count; k++) {
        const struct instruction *operand = instruction->operands[k];
        /* Of a reshape of a reshape only the last counts. */
        while (instruction->opcode == OP_RESHAPE && operand->opcode == OP_RESHAPE) {
            operand = operand->operands[0];
        }
        hash = hash_u64(operands[operand->id], hash);
    }
    for (int k = 0; k < instruction->called_count; k++) {
        hash = hash_u64(called[instruction->called[k]->id], hash);
    }
    for (int k = 0; k < instruction->attr_count; k++) {
        const struct attr *attr = &instruction->attrs[k];
        if (attr->key != ATTR_METADATA && attr->key != ATTR_ORIGIN &&
            !attr_is_default(instruction, attr)) {
            hash = hash_u64(attr_hash(attr), hash);
        }
    }
    return instruction->literal != NULL ? hash_u64(literal_hash(instruction->literal), hash) : hash;
}

static inline uint64_t meaning_of(const struct module *module)
{
    uint64_t *called = memory_alloc((size_t)module->count * sizeof *called);
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        uint64_t *values = memory_alloc((size_t)computation->count * sizeof *values);
        uint64_t effects = 0;
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *instruction = computation->instructions[i];
            values[i] = meaning_of_instruction(instruction, values, called);
            effects += meaning_has_effect(instruction) ? values[i] : 0;
        }
        called[c] = hash_u64(effects, values[computation->root->id]);
        for (int i = 0; i < computation->parameter_count; i++) {
            const struct instruction *parameter = computation->parameters[i];
            called[c] = hash_u64(values[parameter->id], called[c]);
        }
        free(values);
    }
    uint64_t meaning = called[module->entry->id];
    free(called);
    return meaning;
}

/* Fails with both texts. */
static inline void check_same_meaning(const struct module *a, const struct module *b,
                                      const char *name)
{
    if (meaning_of(a) == meaning_of(b)) {
        return;
    }
    struct text text;
    text_init(&text);
    text_printf(&text, "%s: these differ in meaning\n", name);
    text_print_module(a, &print_short, &text);
    text_append(&text, "\n");
    text_print_module(b, &print_short, &text);
    fputs(text.data, stderr);
    text_finish(&text);
    ck_abort_msg("%s: the modules differ in meaning", name);
}

#endif
