/* Simplifications of loops: fewer trips, less state. */
#include <stdlib.h>
#include <string.h>

#include "hlo/shrink/shrink_internal.h"

/* --- trips --- */

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

static bool is_entry(const struct computation *computation)
{
    return computation == computation->module->entry;
}

/* Can elements of what goes into the loop be left out? It is a tuple, or an argument of the module
 * that nothing else reads. */
static bool can_begin_with_less(const struct instruction *loop)
{
    const struct instruction *init = loop->operands[0];
    bool can = init->opcode == OP_TUPLE || (init->opcode == OP_PARAMETER && is_entry(loop->parent));
    for (int i = 0; can && init->opcode == OP_PARAMETER && i < loop->parent->count; i++) {
        const struct instruction *user = loop->parent->instructions[i];
        for (int k = 0; k < user->operand_count; k++) {
            can &= user == loop || user->operands[k] != init;
        }
    }
    return can && loop->parent->root != init;
}

/* Of what comes out of it? The module's result may be less. */
static bool can_end_with_less(const struct instruction *loop)
{
    return loop->parent->root != loop || is_entry(loop->parent);
}

static bool droppable(const struct instruction *loop, int64_t index)
{
    const struct computation *computation = loop->parent;
    if (loop->opcode != OP_WHILE || !can_begin_with_less(loop) || !can_end_with_less(loop) ||
        loop->shape->count < 2 || !passes_through(loop->called[0], index, true) ||
        !passes_through(loop->called[1], index, false) ||
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
                if (loop->operands[0]->opcode != OP_TUPLE || out->opcode != OP_GET_TUPLE_ELEMENT ||
                    out->operands[0] != loop->called[0]->parameters[0] ||
                    attr_int(out, ATTR_INDEX, 0) != index) {
                    return false;
                }
            }
        }
    }
    return true;
}

/* Marks what is needed for the instruction; of `parameter` the elements that are read: needed[e].
 * False when all of it is. */
static bool mark_needed(const struct instruction *instruction, const struct instruction *parameter,
                        bool *seen, bool *needed)
{
    if (instruction == parameter) {
        return false;
    }
    if (seen[instruction->id]) {
        return true;
    }
    seen[instruction->id] = true;
    if (instruction->opcode == OP_GET_TUPLE_ELEMENT && instruction->operands[0] == parameter) {
        needed[attr_int(instruction, ATTR_INDEX, 0)] = true;
        return true;
    }
    for (int k = 0; k < instruction->operand_count; k++) {
        if (!mark_needed(instruction->operands[k], parameter, seen, needed)) {
            return false;
        }
    }
    for (int k = 0; k < instruction->control_count; k++) {
        if (!mark_needed(instruction->control_predecessors[k], parameter, seen, needed)) {
            return false;
        }
    }
    return true;
}

/* Which elements of a loop's state are read after it. False when that cannot be told. */
static bool mark_read_after(const struct instruction *loop, bool *needed)
{
    const struct computation *computation = loop->parent;
    bool told = can_end_with_less(loop);
    for (int i = 0; i < computation->count; i++) {
        const struct instruction *user = computation->instructions[i];
        for (int k = 0; k < user->operand_count; k++) {
            if (user->operands[k] == loop) {
                told &= user->opcode == OP_GET_TUPLE_ELEMENT;
                if (told) {
                    needed[attr_int(user, ATTR_INDEX, 0)] = true;
                }
            }
        }
    }
    return told;
}

/* Which elements of a loop's state matter: to what comes after it, to its condition, or to such an
 * element in the next iteration. False when all may. */
static bool find_needed(const struct instruction *loop, bool *needed)
{
    const struct computation *body = loop->called[0], *condition = loop->called[1];
    int count = loop->shape->count;
    size_t room = (size_t)(body->count > condition->count ? body->count : condition->count) + 1;
    bool *seen = memory_zalloc(room);
    bool told = can_begin_with_less(loop) && body->root->opcode == OP_TUPLE &&
                shrink_only_caller(body) == loop && shrink_only_caller(condition) == loop &&
                mark_read_after(loop, needed) &&
                mark_needed(condition->root, condition->parameters[0], seen, needed);
    memset(seen, 0, room);
    for (int i = 0; told && i < body->count; i++) { /* what acts elsewhere */
        const struct instruction *instruction = body->instructions[i];
        if (opcode_transfers(instruction->opcode) || instruction->opcode == OP_CUSTOM_CALL) {
            told = mark_needed(instruction, body->parameters[0], seen, needed);
        }
    }
    for (bool more = true; told && more;) {
        more = false;
        for (int e = 0; told && e < count; e++) {
            if (needed[e] && !seen[body->root->operands[e]->id]) {
                told = mark_needed(body->root->operands[e], body->parameters[0], seen, needed);
                more = true;
            }
        }
    }
    free(seen);
    return told;
}

enum { VARIANT_NEEDLESS = -1 }; /* all elements that do not matter */

void find_state(const struct specimen *specimen, struct shrink_places *places)
{
    const struct module *module = specimen->module;
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *loop = computation->instructions[i];
            if (loop->opcode == OP_WHILE && shape_is_tuple(loop->shape)) {
                place_add(places, c, i, VARIANT_NEEDLESS);
            }
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
    /* It has the name from now on: bugs, too, can be known by names. */
    const char *name = tuple->name;
    tuple->name = arena_printf(arena, "%s.more.%d", name, tuple->parent->count);
    return instruction_add(tuple->parent, name, OP_TUPLE, without(tuple->shape, index), kept,
                           operands);
}

/* The argument of the module that lacks the element. */
static void shorten_argument(struct specimen *copy, struct instruction *parameter, int64_t index)
{
    parameter->shape = without(parameter->shape, index);
    for (int s = 0; s < specimen_sets(copy); s++) {
        int at = s * copy->argument_count + (int)parameter->number, kept = 0;
        const struct literal *old = copy->arguments[at];
        struct literal **elements =
            memory_alloc(((size_t)parameter->shape->count + 1) * sizeof *elements);
        for (int e = 0; e <= parameter->shape->count; e++) {
            if (e != index) {
                elements[kept++] = literal_retain(old->elements[e]);
            }
        }
        shrink_set_argument(copy, at, literal_tuple_take(parameter->shape, elements));
        free(elements);
    }
}

static void drop_state(struct specimen *copy, struct instruction *loop, int64_t index)
{
    struct computation *parent = loop->parent;
    bool given = loop->operands[0]->opcode == OP_PARAMETER;
    for (int i = 0; i < parent->count && !given; i++) { /* what comes out is what went in */
        struct instruction *user = parent->instructions[i];
        if (user->opcode == OP_GET_TUPLE_ELEMENT && user->operands[0] == loop &&
            attr_int(user, ATTR_INDEX, 0) == index) {
            shrink_replace_uses(user, loop->operands[0]->operands[index]);
        }
    }
    if (given) {
        shorten_argument(copy, loop->operands[0], index);
    } else {
        loop->operands[0] = shorter_tuple(loop->operands[0], index);
    }
    loop->shape = loop->operands[0]->shape;
    renumber(parent, loop, index);
    for (int k = 0; k < 2; k++) {
        struct computation *computation = loop->called[k];
        computation->parameters[0]->shape = loop->shape;
        renumber(computation, computation->parameters[0], index);
    }
    loop->called[0]->root = shorter_tuple(loop->called[0]->root, index);
    /* What read the element itself is dead now, and is swept away. */
}

static bool drop_needless(struct specimen *copy, struct instruction *loop)
{
    bool *needed = memory_zalloc((size_t)loop->shape->count + 1);
    bool any = false;
    if (find_needed(loop, needed)) {
        for (int e = loop->shape->count - 1; e >= 0 && loop->shape->count > 1; e--) {
            if (!needed[e]) {
                drop_state(copy, loop, e);
                any = true;
            }
        }
    }
    free(needed);
    return any;
}

bool apply_state(const struct specimen *original, struct specimen *copy, struct shrink_place place,
                 shrink_value *value, void *context)
{
    struct instruction *loop = place_instruction(copy, place);
    (void)original;
    (void)value;
    (void)context;
    if (place.variant == VARIANT_NEEDLESS) {
        return drop_needless(copy, loop);
    }
    drop_state(copy, loop, place.variant);
    return true;
}
