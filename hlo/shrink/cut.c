/* Simplifications that take instructions away: outputs, an earlier root, parameters and constants
 * in the place of what is computed, operands in the place of results. */
#include <stdlib.h>
#include <string.h>

#include "hlo/shrink/shrink_internal.h"

static bool is_leaf(const struct instruction *instruction)
{
    return instruction->opcode == OP_PARAMETER || instruction->opcode == OP_CONSTANT;
}

static bool is_plain_array(const struct shape *shape)
{
    return shape_is_array(shape) && !shape_is_dynamic(shape);
}

/* --- outputs --- */

void find_outputs(const struct specimen *specimen, struct shrink_places *places)
{
    const struct computation *entry = specimen->module->entry;
    const struct instruction *root = entry->root;
    for (int k = 0; root->opcode == OP_TUPLE && root->operand_count > 1 && k < root->operand_count;
         k++) {
        place_add(places, entry->id, root->id, k);
    }
    for (int k = 0;
         root->opcode != OP_TUPLE && shape_is_tuple(root->shape) && k < root->shape->count; k++) {
        if (shape_is_array(root->shape->elements[k])) {
            place_add(places, entry->id, root->id, k);
        }
    }
}

bool apply_outputs(const struct specimen *original, struct specimen *copy,
                   struct shrink_place place, shrink_value *value, void *context)
{
    const struct instruction *old = place_instruction(original, place);
    struct computation *entry = copy->module->entry;
    struct instruction *root = place_instruction(copy, place);
    (void)value;
    (void)context;
    if (old->opcode != OP_TUPLE) { /* that element alone */
        if (entry->root != root) {
            return false;
        }
        struct instruction *element =
            instruction_add(entry, arena_printf(&copy->module->arena, "element.%d", entry->count),
                            OP_GET_TUPLE_ELEMENT, root->shape->elements[place.variant], 1, &root);
        instruction_set_attr(element, (struct attr){.key = ATTR_INDEX, .integer = place.variant});
        entry->root = element;
        return true;
    }
    /* The operands that are left stand in their old order: find this one. */
    if (entry->root != root || root->operand_count < 2) {
        return false;
    }
    const struct instruction *gone = entry->instructions[old->operands[place.variant]->id];
    int at = 0;
    while (at < root->operand_count && root->operands[at] != gone) {
        at++;
    }
    if (at == root->operand_count) {
        return false;
    }
    memmove(root->operands + at, root->operands + at + 1,
            (size_t)(root->operand_count - at - 1) * sizeof *root->operands);
    root->operand_count--;
    if (root->operand_count == 1) {
        entry->root = root->operands[0];
        return true;
    }
    const struct shape *elements[1024];
    if (root->operand_count > 1024) {
        return false;
    }
    for (int k = 0; k < root->operand_count; k++) {
        elements[k] = root->operands[k]->shape;
    }
    root->shape = shape_tuple(root->operand_count, elements);
    return true;
}

/* --- an earlier root --- */

/* The middle first, then the middles of the halves: where failing begins is found in few steps. */
static void add_middles(struct shrink_places *places, const struct computation *entry, int begin,
                        int end)
{
    int *queue = memory_alloc(((size_t)(end - begin) + 2) * 4 * sizeof *queue);
    int first = 0, last = 0;
    queue[last++] = begin;
    queue[last++] = end;
    while (first < last) {
        int low = queue[first++], high = queue[first++];
        if (low >= high) {
            continue;
        }
        int middle = low + (high - low) / 2;
        const struct instruction *instruction = entry->instructions[middle];
        if (instruction != entry->root && !is_leaf(instruction) &&
            is_plain_array(instruction->shape)) {
            place_add(places, entry->id, middle, 0);
        }
        if (low < middle) {
            queue[last++] = low;
            queue[last++] = middle;
        }
        if (middle + 1 < high) {
            queue[last++] = middle + 1;
            queue[last++] = high;
        }
    }
    free(queue);
}

void find_root(const struct specimen *specimen, struct shrink_places *places)
{
    add_middles(places, specimen->module->entry, 0, specimen->module->entry->count);
}

bool apply_root(const struct specimen *original, struct specimen *copy, struct shrink_place place,
                shrink_value *value, void *context)
{
    (void)original;
    (void)value;
    (void)context;
    copy->module->entry->root = place_instruction(copy, place);
    return true;
}

/* --- parameters --- */

void find_parameters(const struct specimen *specimen, struct shrink_places *places)
{
    const struct computation *entry = specimen->module->entry;
    for (int i = entry->count - 1; i >= 0; i--) {
        const struct instruction *instruction = entry->instructions[i];
        if (instruction != entry->root && !is_leaf(instruction) &&
            is_plain_array(instruction->shape)) {
            place_add(places, entry->id, i, 0);
        }
    }
}

bool apply_parameters(const struct specimen *original, struct specimen *copy,
                      struct shrink_place place, shrink_value *value, void *context)
{
    const struct instruction *old = place_instruction(original, place);
    struct instruction *instruction = place_instruction(copy, place);
    int sets = specimen_sets(original);
    struct literal **arguments = memory_zalloc((size_t)sets * sizeof *arguments);
    bool all = value != NULL;
    for (int s = 0; all && s < sets; s++) {
        arguments[s] = value(context, old, s);
        all = arguments[s] != NULL;
    }
    if (all) {
        shrink_become_parameter(copy, instruction, arguments);
    } else {
        for (int s = 0; s < sets; s++) {
            literal_release(arguments[s]);
        }
    }
    free(arguments);
    return all;
}

/* --- operands that stand in --- */

void find_bypass(const struct specimen *specimen, struct shrink_places *places)
{
    const struct module *module = specimen->module;
    for (int c = module->count - 1; c >= 0; c--) {
        const struct computation *computation = module->computations[c];
        for (int i = computation->count - 1; i >= 0; i--) {
            const struct instruction *instruction = computation->instructions[i];
            for (int k = 0; k < instruction->operand_count; k++) {
                if (shape_compatible(instruction->operands[k]->shape, instruction->shape)) {
                    place_add(places, c, i, k);
                }
            }
        }
    }
}

bool apply_bypass(const struct specimen *original, struct specimen *copy, struct shrink_place place,
                  shrink_value *value, void *context)
{
    struct instruction *instruction = place_instruction(copy, place);
    (void)original;
    (void)value;
    (void)context;
    if (place.variant >= instruction->operand_count) {
        return false;
    }
    shrink_replace_uses(instruction, instruction->operands[place.variant]);
    return true;
}

/* --- one parameter for two --- */

void find_share(const struct specimen *specimen, struct shrink_places *places)
{
    const struct computation *entry = specimen->module->entry;
    for (int i = entry->parameter_count - 1; i > 0; i--) {
        for (int k = 0; k < i; k++) {
            if (shape_compatible(entry->parameters[i]->shape, entry->parameters[k]->shape)) {
                place_add(places, entry->id, entry->parameters[i]->id, k);
            }
        }
    }
}

bool apply_share(const struct specimen *original, struct specimen *copy, struct shrink_place place,
                 shrink_value *value, void *context)
{
    (void)original;
    (void)value;
    (void)context;
    shrink_replace_uses(place_instruction(copy, place),
                        copy->module->entry->parameters[place.variant]);
    return true;
}

/* --- constants --- */

void find_constants(const struct specimen *specimen, struct shrink_places *places)
{
    const struct module *module = specimen->module;
    for (int64_t variant = 0; variant < 2; variant++) {
        for (int c = module->count - 1; c >= 0; c--) {
            const struct computation *computation = module->computations[c];
            for (int i = computation->count - 1; i >= 0; i--) {
                const struct instruction *instruction = computation->instructions[i];
                bool whole = instruction->opcode == OP_BROADCAST &&
                             instruction->operands[0]->opcode == OP_CONSTANT;
                bool inner_parameter =
                    instruction->opcode == OP_PARAMETER && computation != module->entry;
                if (is_plain_array(instruction->shape) && !is_leaf(instruction) && !whole &&
                    !inner_parameter && !type_is_complex(instruction->shape->type)) {
                    place_add(places, c, i, variant);
                }
            }
        }
    }
}

bool apply_constants(const struct specimen *original, struct specimen *copy,
                     struct shrink_place place, shrink_value *value, void *context)
{
    struct instruction *instruction = place_instruction(copy, place);
    const struct shape *scalar = shape_scalar(instruction->shape->type);
    (void)original;
    (void)value;
    (void)context;
    if (is_leaf(instruction)) {
        return false; /* together with another place */
    }
    struct literal *literal = literal_zero(scalar, NULL);
    if (place.variant == 1 && type_is_float(scalar->type)) {
        literal_set_double(literal, 0, 1);
    } else if (place.variant == 1) {
        literal_set_int(literal, 0, 1);
    }
    if (instruction->shape->rank == 0) {
        shrink_become_constant(instruction, literal);
        return true;
    }
    struct computation *computation = instruction->parent;
    struct instruction *constant = instruction_add(
        computation, arena_printf(&copy->module->arena, "constant.of.%d", computation->count),
        OP_CONSTANT, scalar, 0, NULL);
    constant->literal = literal;
    shrink_become(instruction, OP_BROADCAST, 1, &constant);
    instruction_set_attr(instruction, (struct attr){.key = ATTR_DIMENSIONS});
    return true;
}
