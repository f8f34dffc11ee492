/* Simplification: bodies stand in their callers, and what begins and ends apart in one place. */
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

void shrink_copy_computation(const struct computation *from, struct computation *to)
{
    struct arena *arena = &to->module->arena;
    struct instruction **parameters =
        arena_array(arena, (size_t)from->parameter_count + 1, sizeof *parameters);
    for (int i = 0; i < from->parameter_count; i++) {
        const struct instruction *old = from->parameters[i];
        parameters[i] = instruction_add(to, old->name, OP_PARAMETER, old->shape, 0, NULL);
        parameters[i]->number = i;
    }
    to->root = copy_body(from, to, parameters);
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
            case OP_ASYNC_DONE:
            case OP_ALL_REDUCE_DONE:
            case OP_ALL_GATHER_DONE:
            case OP_COLLECTIVE_PERMUTE_DONE:
            case OP_COPY_DONE:
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

/* The operation that a start and a done are the halves of, in one: it becomes that of the start. */
static bool join_halves(struct instruction *done)
{
    static const struct {
        enum opcode done, start, whole;
    } halves[] = {
        {OP_ALL_REDUCE_DONE, OP_ALL_REDUCE_START, OP_ALL_REDUCE},
        {OP_ALL_GATHER_DONE, OP_ALL_GATHER_START, OP_ALL_GATHER},
        {OP_COLLECTIVE_PERMUTE_DONE, OP_COLLECTIVE_PERMUTE_START, OP_COLLECTIVE_PERMUTE},
        {OP_COPY_DONE, OP_COPY_START, OP_COPY},
    };
    struct instruction *start = done->operands[0];
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        if (halves[i].done == done->opcode && halves[i].start == start->opcode) {
            struct arena *arena = &done->parent->module->arena;
            shrink_become(done, halves[i].whole, start->operand_count, start->operands);
            for (int k = 0; k < start->attr_count; k++) {
                instruction_set_attr(done, start->attrs[k]);
            }
            done->called_count = start->called_count;
            done->called = arena_copy(arena, start->called,
                                      (size_t)start->called_count * sizeof *start->called);
            return true;
        }
    }
    return false;
}

/* The beginning of an asynchronous chain; NULL if its operands come later. */
static struct instruction *find_start(const struct instruction *done)
{
    struct instruction *start = done->operands[0];
    while (start->opcode == OP_ASYNC_UPDATE) {
        start = start->operands[0];
    }
    bool whole = start->opcode == OP_ASYNC_START && start->called_count == 1 &&
                 start->called[0]->parameter_count == start->operand_count;
    return whole ? start : NULL;
}

bool apply_inline(const struct specimen *original, struct specimen *copy, struct shrink_place place,
                  shrink_value *value, void *context)
{
    struct instruction *caller = place_instruction(copy, place), *from = caller;
    (void)original;
    (void)value;
    (void)context;
    if (caller->called_count == 0 && caller->opcode != OP_ASYNC_DONE) {
        return join_halves(caller);
    }
    if (caller->opcode == OP_ASYNC_DONE) {
        from = find_start(caller);
        if (from == NULL) {
            return false;
        }
    }
    const struct computation *body = from->called[place.variant];
    struct instruction *const *arguments = from->operands;
    struct instruction *root;
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
