/* Simplifications of what calls computations: bodies stand in their callers, loops do less. */
#include <stdlib.h>
#include <string.h>

#include "hlo/shrink/shrink_internal.h"

/* A copy of the computation's instructions in `into`, with arguments for parameters; its root. */
static struct instruction *copy_body(const struct computation *body, struct computation *into,
                                     struct instruction *const *arguments)
{
    struct arena *arena = &into->module->arena;
    struct instruction **made = memory_alloc((size_t)body->count * sizeof *made);
    for (int i = 0; i < body->count; i++) {
        const struct instruction *old = body->instructions[i];
        if (old->opcode == OP_PARAMETER) {
            made[i] = arguments[old->number];
            continue;
        }
        struct instruction **operands =
            arena_array(arena, (size_t)old->operand_count + 1, sizeof *operands);
        for (int k = 0; k < old->operand_count; k++) {
            operands[k] = made[old->operands[k]->id];
        }
        /* It keeps its name if that is free: bugs, too, can be known by names. */
        const char *name = computation_find(into, old->name) == NULL
                               ? old->name
                               : arena_printf(arena, "%s.in.%d", old->name, into->count);
        made[i] =
            instruction_add(into, name, old->opcode, old->shape, old->operand_count, operands);
        if (old->called_count > 0) {
            instruction_set_called(made[i], old->called_count, old->called);
        }
        for (int k = 0; k < old->attr_count; k++) {
            struct attr attr = old->attrs[k];
            if (attr.key == ATTR_LITERAL) {
                attr.literal = literal_retain(attr.literal);
            }
            instruction_set_attr(made[i], attr);
        }
        made[i]->literal = old->literal != NULL ? literal_retain(old->literal) : NULL;
    }
    struct instruction *root = made[body->root->id];
    free(made);
    return root;
}

void find_inline(const struct specimen *specimen, struct shrink_places *places)
{
    const struct module *module = specimen->module;
    for (int c = module->count - 1; c >= 0; c--) {
        const struct computation *computation = module->computations[c];
        for (int i = computation->count - 1; i >= 0; i--) {
            const struct instruction *instruction = computation->instructions[i];
            switch (instruction->opcode) {
            case OP_CALL:
            case OP_FUSION:
                place_add(places, c, i, 0);
                break;
            case OP_WHILE: /* called[0] is the body */
                place_add(places, c, i, 0);
                break;
            case OP_CONDITIONAL:
                for (int k = 0; k < instruction->called_count; k++) {
                    place_add(places, c, i, k);
                }
                break;
            default:
                break;
            }
        }
    }
}

bool apply_inline(const struct specimen *original, struct specimen *copy, struct shrink_place place,
                  shrink_value *value, void *context)
{
    struct instruction *caller = place_instruction(copy, place);
    const struct computation *body = caller->called[place.variant];
    struct instruction *const *arguments = caller->operands;
    struct instruction *root;
    (void)original;
    (void)value;
    (void)context;
    /* A branch takes the operand after the predicate or index that is its own. */
    if (caller->opcode == OP_CONDITIONAL) {
        arguments = caller->operands + 1 + place.variant;
    }
    for (int i = 0; i < body->count; i++) { /* numbers may not be positions after other changes */
        body->instructions[i]->id = i;
    }
    root = copy_body(body, caller->parent, arguments);
    if (caller->parent->root == caller || root != caller) {
        shrink_replace_uses(caller, root);
    }
    return true;
}

/* --- loops --- */

/* The constant that the condition compares the counter with, if it is of that form. */
static struct instruction *find_limit(const struct instruction *loop)
{
    const struct computation *condition = loop->called[1];
    const struct instruction *root = condition->root;
    if (root->opcode != OP_COMPARE) {
        return NULL;
    }
    for (int k = 0; k < 2; k++) {
        if (root->operands[k]->opcode == OP_CONSTANT && root->operands[k]->shape->rank == 0 &&
            type_is_integer(root->operands[k]->shape->type)) {
            return root->operands[k];
        }
    }
    return NULL;
}

void find_trips(const struct specimen *specimen, struct shrink_places *places)
{
    const struct module *module = specimen->module;
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *instruction = computation->instructions[i];
            const struct instruction *limit =
                instruction->opcode == OP_WHILE ? find_limit(instruction) : NULL;
            if (limit == NULL) {
                continue;
            }
            int64_t now = literal_get_int(limit->literal, 0);
            const int64_t tries[] = {1, 2, now / 2, now - 1};
            for (size_t k = 0; k < sizeof tries / sizeof *tries; k++) {
                if (tries[k] < now && tries[k] > 0) {
                    place_add(places, c, i, tries[k]);
                }
            }
        }
    }
}

bool apply_trips(const struct specimen *original, struct specimen *copy, struct shrink_place place,
                 shrink_value *value, void *context)
{
    struct instruction *limit = find_limit(place_instruction(copy, place));
    (void)original;
    (void)value;
    (void)context;
    struct literal *literal = literal_zero(limit->shape, NULL);
    literal_set_int(literal, 0, place.variant);
    shrink_become_constant(limit, literal);
    return true;
}

/* --- the state of loops --- */

/* Does nothing in the computation read element `index` of its parameter but, perhaps, the same
 * element of its root? */
static bool passes_through(const struct computation *computation, int64_t index,
                           bool has_state_root)
{
    const struct instruction *parameter = computation->parameters[0];
    for (int i = 0; i < computation->count; i++) {
        const struct instruction *user = computation->instructions[i];
        bool whole = false, element = false;
        for (int k = 0; k < user->operand_count; k++) {
            const struct instruction *operand = user->operands[k];
            whole |= operand == parameter && user->opcode != OP_GET_TUPLE_ELEMENT;
            element |= operand->opcode == OP_GET_TUPLE_ELEMENT &&
                       operand->operands[0] == parameter &&
                       attr_int(operand, ATTR_INDEX, 0) == index &&
                       !(has_state_root && user == computation->root && k == index);
        }
        if (whole || element) {
            return false;
        }
    }
    if (!has_state_root) {
        return computation->root->opcode != OP_GET_TUPLE_ELEMENT;
    }
    return computation->root->opcode == OP_TUPLE;
}

static bool droppable(const struct instruction *loop, int64_t index)
{
    const struct computation *computation = loop->parent;
    if (loop->opcode != OP_WHILE || loop->operands[0]->opcode != OP_TUPLE ||
        loop->shape->count < 2 || !passes_through(loop->called[0], index, true) ||
        !passes_through(loop->called[1], index, false) || computation->root == loop ||
        shrink_only_caller(loop->called[0]) == NULL ||
        shrink_only_caller(loop->called[1]) == NULL) {
        return false;
    }
    for (int i = 0; i < computation->count; i++) { /* only elements of its result are read */
        const struct instruction *user = computation->instructions[i];
        for (int k = 0; k < user->operand_count; k++) {
            if (user->operands[k] == loop && user->opcode != OP_GET_TUPLE_ELEMENT) {
                return false;
            }
            /* Nor the element itself, unless it is what went in. */
            if (user->operands[k] == loop && attr_int(user, ATTR_INDEX, 0) == index) {
                const struct instruction *out = loop->called[0]->root->operands[index];
                if (out->opcode != OP_GET_TUPLE_ELEMENT ||
                    out->operands[0] != loop->called[0]->parameters[0] ||
                    attr_int(out, ATTR_INDEX, 0) != index) {
                    return false;
                }
            }
        }
    }
    return true;
}

void find_state(const struct specimen *specimen, struct shrink_places *places)
{
    const struct module *module = specimen->module;
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *loop = computation->instructions[i];
            for (int k = 0;
                 loop->opcode == OP_WHILE && shape_is_tuple(loop->shape) && k < loop->shape->count;
                 k++) {
                if (droppable(loop, k)) {
                    place_add(places, c, i, k);
                }
            }
        }
    }
}

/* The tuple without an element. */
static const struct shape *without(const struct shape *tuple, int64_t index)
{
    const struct shape **elements = memory_alloc((size_t)tuple->count * sizeof *elements);
    int kept = 0;
    for (int i = 0; i < tuple->count; i++) {
        if (i != index) {
            elements[kept++] = tuple->elements[i];
        }
    }
    const struct shape *shape = shape_tuple(kept, elements);
    free(elements);
    return shape;
}

/* get-tuple-elements of `tuple` behind the element move down. */
static void renumber(struct computation *computation, const struct instruction *tuple,
                     int64_t index)
{
    for (int i = 0; i < computation->count; i++) {
        struct instruction *user = computation->instructions[i];
        if (user->opcode == OP_GET_TUPLE_ELEMENT && user->operands[0] == tuple) {
            int64_t at = attr_int(user, ATTR_INDEX, 0);
            if (at > index) {
                instruction_set_attr(user, (struct attr){.key = ATTR_INDEX, .integer = at - 1});
            }
        }
    }
}

/* A tuple instruction of its own that lacks the element. */
static struct instruction *shorter_tuple(struct instruction *tuple, int64_t index)
{
    struct arena *arena = &tuple->parent->module->arena;
    struct instruction **operands =
        arena_array(arena, (size_t)tuple->operand_count, sizeof *operands);
    int kept = 0;
    for (int k = 0; k < tuple->operand_count; k++) {
        if (k != index) {
            operands[kept++] = tuple->operands[k];
        }
    }
    return instruction_add(tuple->parent,
                           arena_printf(arena, "%s.less.%d", tuple->name, tuple->parent->count),
                           OP_TUPLE, without(tuple->shape, index), kept, operands);
}

bool apply_state(const struct specimen *original, struct specimen *copy, struct shrink_place place,
                 shrink_value *value, void *context)
{
    struct instruction *loop = place_instruction(copy, place);
    int64_t index = place.variant;
    (void)original;
    (void)value;
    (void)context;
    struct computation *parent = loop->parent;
    for (int i = 0; i < parent->count; i++) { /* what comes out is what went in */
        struct instruction *user = parent->instructions[i];
        if (user->opcode == OP_GET_TUPLE_ELEMENT && user->operands[0] == loop &&
            attr_int(user, ATTR_INDEX, 0) == index) {
            shrink_replace_uses(user, loop->operands[0]->operands[index]);
        }
    }
    loop->operands[0] = shorter_tuple(loop->operands[0], index);
    loop->shape = loop->operands[0]->shape;
    renumber(parent, loop, index);
    for (int k = 0; k < 2; k++) {
        struct computation *computation = loop->called[k];
        computation->parameters[0]->shape = loop->shape;
        renumber(computation, computation->parameters[0], index);
    }
    loop->called[0]->root = shorter_tuple(loop->called[0]->root, index);
    /* What read the element itself is dead now, and is swept away. */
    return true;
}
