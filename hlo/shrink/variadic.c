/* Simplification: operations of several arrays do without one of them, and what has several results
 * without one that nobody reads. */
#include <stdlib.h>
#include <string.h>

#include "hlo/shrink/shrink_internal.h"

/* --- which operations, and where an array is in them --- */

/* How the operands and the parameters of the applied computation go with arrays: array j of n. */
enum variadic_form {
    FORM_REDUCE,  /* operands j, n + j; parameters j, n + j */
    FORM_SCATTER, /* operands j, n + 1 + j; parameters j, n + j */
    FORM_SORT,    /* operand j; parameters 2j, 2j + 1 */
    FORM_MAP,     /* operand j; parameter j; one result */
    FORM_JOINED,  /* operand j; one result, which becomes smaller */
    FORM_PLAIN,   /* operand j; no computation, or one for each array */
    FORM_CUSTOM,  /* operand j; results have nothing to do with it */
};

static const struct {
    enum opcode opcode;
    enum variadic_form form;
} variadic[] = {
    {OP_REDUCE, FORM_REDUCE},
    {OP_REDUCE_WINDOW, FORM_REDUCE},
    {OP_SCATTER, FORM_SCATTER},
    {OP_SORT, FORM_SORT},
    {OP_MAP, FORM_MAP},
    {OP_CONCATENATE, FORM_JOINED},
    {OP_ALL_REDUCE, FORM_PLAIN},
    {OP_ALL_GATHER, FORM_PLAIN},
    {OP_ALL_TO_ALL, FORM_PLAIN},
    {OP_COLLECTIVE_PERMUTE, FORM_PLAIN},
    {OP_REDUCE_SCATTER, FORM_PLAIN},
    {OP_COLLECTIVE_BROADCAST, FORM_PLAIN},
    {OP_CUSTOM_CALL, FORM_CUSTOM},
};

static bool form_of(const struct instruction *instruction, enum variadic_form *form)
{
    for (size_t i = 0; i < sizeof variadic / sizeof *variadic; i++) {
        if (variadic[i].opcode == instruction->opcode) {
            *form = variadic[i].form;
            return true;
        }
    }
    return false;
}

static int array_count(const struct instruction *instruction, enum variadic_form form)
{
    int count = instruction->operand_count;
    return form == FORM_REDUCE ? count / 2 : form == FORM_SCATTER ? (count - 1) / 2 : count;
}

static bool has_results(enum variadic_form form)
{
    return form != FORM_MAP && form != FORM_JOINED && form != FORM_CUSTOM;
}

/* --- results that nobody reads --- */

/* May element `index` of the tuple that the instruction gives be left out? */
static bool is_unread(const struct instruction *instruction, int64_t index)
{
    const struct computation *computation = instruction->parent;
    if (!shape_is_tuple(instruction->shape) || instruction->shape->count < 2 ||
        computation->root == instruction) {
        return false;
    }
    for (int i = 0; i < computation->count; i++) {
        const struct instruction *user = computation->instructions[i];
        for (int k = 0; k < user->operand_count; k++) {
            if (user->operands[k] == instruction &&
                (user->opcode != OP_GET_TUPLE_ELEMENT || attr_int(user, ATTR_INDEX, 0) == index)) {
                return false;
            }
        }
        for (int k = 0; k < user->control_count; k++) {
            if (user->control_predecessors[k] == instruction) {
                return false;
            }
        }
    }
    return true;
}

/* The shape without an element; of two the other one. */
static const struct shape *shape_without(const struct shape *tuple, int64_t index)
{
    const struct shape **elements = memory_alloc((size_t)tuple->count * sizeof *elements);
    int kept = 0;
    for (int i = 0; i < tuple->count; i++) {
        if (i != index) {
            elements[kept++] = tuple->elements[i];
        }
    }
    const struct shape *shape = kept == 1 ? elements[0] : shape_tuple(kept, elements);
    free(elements);
    return shape;
}

/* The result loses an element that nobody reads. */
static void drop_result(struct instruction *instruction, int64_t index)
{
    struct computation *computation = instruction->parent;
    instruction->shape = shape_without(instruction->shape, index);
    bool single = !shape_is_tuple(instruction->shape);
    for (int i = 0; i < computation->count; i++) {
        struct instruction *user = computation->instructions[i];
        if (user->opcode != OP_GET_TUPLE_ELEMENT || user->operands[0] != instruction) {
            continue;
        }
        int64_t at = attr_int(user, ATTR_INDEX, 0);
        if (single) {
            shrink_replace_uses(user, instruction);
        } else if (at > index) {
            instruction_set_attr(user, (struct attr){.key = ATTR_INDEX, .integer = at - 1});
        }
    }
}

/* The root of a called computation loses that element. */
static void drop_from_root(struct computation *computation, int64_t index)
{
    struct instruction *root = computation->root;
    struct arena *arena = &computation->module->arena;
    struct instruction **operands =
        arena_array(arena, (size_t)root->operand_count, sizeof *operands);
    int kept = 0;
    for (int k = 0; k < root->operand_count; k++) {
        if (k != index) {
            operands[kept++] = root->operands[k];
        }
    }
    computation->root =
        kept == 1 ? operands[0]
                  : instruction_add(computation, arena_printf(arena, "%s.less", root->name),
                                    OP_TUPLE, shape_without(root->shape, index), kept, operands);
}

static bool has_tuple_root(const struct computation *computation, int count)
{
    return computation->root->opcode == OP_TUPLE && computation->root->operand_count == count;
}

/* --- computations of the instruction's own --- */

/* Computation number k that the instruction calls, copied if others call it too. */
static struct computation *own_computation(struct instruction *caller, int k)
{
    struct computation *old = caller->called[k];
    if (shrink_only_caller(old) == caller) {
        return old;
    }
    struct module *module = old->module;
    struct computation *copy = computation_add(
        module, arena_printf(&module->arena, "%s.own.%d", old->name, module->count));
    copy->is_fusion = old->is_fusion;
    copy->execution_thread = old->execution_thread;
    shrink_copy_computation(old, copy);
    caller->called[k] = copy;
    return copy;
}

/* A parameter that is no longer passed: another of its shape stands in, or zero. */
static void drop_parameter(struct computation *computation, int number)
{
    struct instruction *gone = NULL, *other = NULL;
    for (int i = 0; i < computation->count; i++) {
        struct instruction *parameter = computation->instructions[i];
        if (parameter->opcode == OP_PARAMETER && parameter->number == number) {
            gone = parameter;
        }
    }
    for (int i = 0; i < computation->count; i++) {
        struct instruction *parameter = computation->instructions[i];
        if (parameter->opcode == OP_PARAMETER && parameter != gone && other == NULL &&
            shape_compatible(parameter->shape, gone->shape)) {
            other = parameter;
        }
    }
    if (other != NULL) {
        shrink_replace_uses(gone, other);
    }
    for (int i = 0; i < computation->count; i++) {
        struct instruction *parameter = computation->instructions[i];
        if (parameter->opcode == OP_PARAMETER && parameter->number > number) {
            parameter->number--;
        }
    }
    shrink_become_constant(gone, literal_zero(gone->shape, NULL));
}

static void drop_operand(struct instruction *instruction, int operand)
{
    memmove(instruction->operands + operand, instruction->operands + operand + 1,
            (size_t)(instruction->operand_count - operand - 1) * sizeof *instruction->operands);
    instruction->operand_count--;
}

static void drop_attribute(struct instruction *instruction, enum attr_key key)
{
    for (int k = 0; k < instruction->attr_count; k++) {
        if (instruction->attrs[k].key == key) {
            memmove(instruction->attrs + k, instruction->attrs + k + 1,
                    (size_t)(instruction->attr_count - k - 1) * sizeof *instruction->attrs);
            instruction->attr_count--;
            return;
        }
    }
}

/* --- the simplification --- */

/* Variants: an array; from these on a result alone, or an element of what a branch is given. */
enum { VARIANT_RESULT = 1 << 20, VARIANT_BRANCH = 1 << 21, ELEMENTS_MOST = 1 << 10 };

static bool gives_results_of_calls(enum opcode opcode)
{
    return opcode == OP_CALL || opcode == OP_FUSION || opcode == OP_CONDITIONAL ||
           opcode == OP_CUSTOM_CALL;
}

/* Is element `index` of the tuple that branch `branch` is given not read there? */
static bool is_unread_in_branch(const struct instruction *conditional, int branch, int64_t index)
{
    const struct computation *computation = conditional->called[branch];
    const struct instruction *given = conditional->operands[1 + branch];
    if (given->opcode != OP_TUPLE || given->operand_count < 2 ||
        computation->parameter_count != 1 || shrink_only_caller(computation) == NULL) {
        return false;
    }
    return is_unread(computation->parameters[0], index);
}

void find_operands(const struct specimen *specimen, struct shrink_places *places)
{
    const struct module *module = specimen->module;
    for (int c = module->count - 1; c >= 0; c--) {
        const struct computation *computation = module->computations[c];
        for (int i = computation->count - 1; i >= 0; i--) {
            const struct instruction *instruction = computation->instructions[i];
            enum variadic_form form;
            if (form_of(instruction, &form)) {
                int count = array_count(instruction, form);
                int least = form == FORM_CUSTOM ? 1 : 2;
                for (int j = count - 1; count >= least && j >= 0; j--) {
                    if (!has_results(form) || is_unread(instruction, j)) {
                        place_add(places, c, i, j);
                    }
                }
            }
            for (int k = 0; gives_results_of_calls(instruction->opcode) &&
                            shape_is_tuple(instruction->shape) && k < instruction->shape->count;
                 k++) {
                if (is_unread(instruction, k)) {
                    place_add(places, c, i, VARIANT_RESULT + k);
                }
            }
            for (int b = 0; instruction->opcode == OP_CONDITIONAL && b < instruction->called_count;
                 b++) {
                int elements = instruction->operands[1 + b]->operand_count;
                for (int k = 0; k < elements && k < ELEMENTS_MOST; k++) {
                    if (is_unread_in_branch(instruction, b, k)) {
                        place_add(places, c, i, VARIANT_BRANCH + b * ELEMENTS_MOST + k);
                    }
                }
            }
        }
    }
}

static bool apply_result(struct instruction *instruction, int64_t index)
{
    int count = instruction->shape->count;
    for (int k = 0; instruction->opcode != OP_CUSTOM_CALL && k < instruction->called_count; k++) {
        if (!has_tuple_root(instruction->called[k], count)) {
            return false;
        }
    }
    for (int k = 0; instruction->opcode != OP_CUSTOM_CALL && k < instruction->called_count; k++) {
        drop_from_root(own_computation(instruction, k), index);
    }
    drop_attribute(instruction, ATTR_OUTPUT_TO_OPERAND_ALIASING);
    drop_result(instruction, index);
    return true;
}

static bool apply_branch(struct instruction *conditional, int64_t variant)
{
    int branch = (int)(variant / ELEMENTS_MOST);
    int64_t index = variant % ELEMENTS_MOST;
    struct computation *computation = conditional->called[branch];
    struct instruction *given = conditional->operands[1 + branch];
    struct arena *arena = &computation->module->arena;
    struct instruction **operands =
        arena_array(arena, (size_t)given->operand_count, sizeof *operands);
    int kept = 0;
    for (int k = 0; k < given->operand_count; k++) {
        if (k != index) {
            operands[kept++] = given->operands[k];
        }
    }
    struct instruction *parameter = computation->parameters[0];
    drop_result(parameter, index); /* what reads it takes the others */
    conditional->operands[1 + branch] =
        kept == 1
            ? operands[0]
            : instruction_add(conditional->parent, arena_printf(arena, "%s.less", given->name),
                              OP_TUPLE, parameter->shape, kept, operands);
    return true;
}

static bool apply_array(struct instruction *instruction, int j)
{
    enum variadic_form form;
    if (!form_of(instruction, &form)) {
        return false;
    }
    int n = array_count(instruction, form);
    bool computes =
        form == FORM_REDUCE || form == FORM_SCATTER || form == FORM_SORT || form == FORM_MAP;
    struct computation *computation = computes ? own_computation(instruction, 0) : NULL;
    bool tuple = form == FORM_REDUCE || form == FORM_SCATTER;
    if (tuple && !has_tuple_root(computation, n)) {
        return false;
    }
    if (tuple) {
        drop_from_root(computation, j);
    }
    switch (form) { /* the later one first */
    case FORM_REDUCE:
        drop_operand(instruction, n + j);
        drop_parameter(computation, n + j);
        break;
    case FORM_SCATTER:
        drop_operand(instruction, n + 1 + j);
        drop_parameter(computation, n + j);
        break;
    case FORM_SORT:
        drop_parameter(computation, 2 * j + 1);
        break;
    case FORM_CUSTOM:
        drop_attribute(instruction, ATTR_OPERAND_LAYOUT_CONSTRAINTS);
        drop_attribute(instruction, ATTR_OUTPUT_TO_OPERAND_ALIASING);
        break;
    default:
        break;
    }
    drop_operand(instruction, j);
    if (computes) {
        drop_parameter(computation, form == FORM_SORT ? 2 * j : j);
    }
    if (has_results(form)) {
        drop_result(instruction, j);
    }
    return true;
}

static bool prepare_joined(const struct specimen *original, struct specimen *copy,
                           struct shrink_place place)
{
    (void)original;
    return apply_array(place_instruction(copy, place), (int)place.variant);
}

bool apply_operands(const struct specimen *original, struct specimen *copy,
                    struct shrink_place place, shrink_value *value, void *context)
{
    struct instruction *instruction = place_instruction(copy, place);
    (void)value;
    (void)context;
    if (place.variant >= VARIANT_BRANCH) {
        return apply_branch(instruction, place.variant - VARIANT_BRANCH);
    }
    if (place.variant >= VARIANT_RESULT) {
        return apply_result(instruction, place.variant - VARIANT_RESULT);
    }
    if (instruction->opcode == OP_CONCATENATE) {
        struct size_rules none = {0};
        return shrink_resize(original, copy, prepare_joined, place, &none);
    }
    return apply_array(instruction, (int)place.variant);
}
