/* Smaller dimensions, consistently through the module: every dimension of one size becomes another,
 * and whatever follows from that by shape inference and by the element counts of reshapes.
 * Constants and arguments keep the elements with the smallest indices. */
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/infer.h"
#include "hlo/shrink/shrink_internal.h"
#include "hlo/verify.h"

static int64_t mapped(const struct size_rules *rules, int64_t size)
{
    for (int i = 0; i < rules->count; i++) {
        if (rules->from[i] == size) {
            return rules->to[i];
        }
    }
    return size;
}

bool size_rule_add(struct size_rules *rules, int64_t from, int64_t to)
{
    for (int i = 0; i < rules->count; i++) {
        if (rules->from[i] == from) {
            return rules->to[i] == to;
        }
    }
    if (rules->count == SIZE_RULES_MOST || to < 1 || to > from) {
        return false;
    }
    rules->from[rules->count] = from;
    rules->to[rules->count++] = to;
    return true;
}

static const struct shape *mapped_shape(const struct size_rules *rules, const struct shape *shape)
{
    if (shape_is_tuple(shape)) {
        const struct shape **elements = memory_alloc(((size_t)shape->count + 1) * sizeof *elements);
        for (int i = 0; i < shape->count; i++) {
            elements[i] = mapped_shape(rules, shape->elements[i]);
        }
        const struct shape *tuple = shape_tuple(shape->count, elements);
        free(elements);
        return tuple;
    }
    if (!shape_is_array(shape) || shape->rank == 0) {
        return shape;
    }
    int64_t dimensions[SHAPE_MAX_RANK];
    for (int d = 0; d < shape->rank; d++) {
        dimensions[d] = mapped(rules, shape->dimensions[d]);
    }
    return shape_make(shape->type, shape->rank, dimensions, shape->dynamic, NULL);
}

struct literal *shrink_cropped(const struct literal *literal, const struct shape *shape, bool last)
{
    if (shape_compatible(literal->shape, shape)) {
        return literal_retain((struct literal *)(uintptr_t)literal);
    }
    struct literal *result = literal_create(shape, NULL);
    if (result == NULL || shape_is_tuple(shape) || shape->rank == 0) {
        return result;
    }
    for (int d = 0;
         literal->dynamic_sizes != NULL && result->dynamic_sizes != NULL && d < shape->rank; d++) {
        int64_t size = literal->dynamic_sizes[d];
        result->dynamic_sizes[d] = size < shape->dimensions[d] ? size : shape->dimensions[d];
    }
    int width = type_bytes(shape->type);
    const char *from = literal_data(literal);
    char *to = literal_data(result);
    int64_t count = shape_elements(shape), at[SHAPE_MAX_RANK] = {0};
    for (int64_t i = 0; i < count; i++) {
        int64_t source = 0;
        for (int d = 0; d < shape->rank; d++) {
            int64_t size = literal->shape->dimensions[d];
            source = source * size + at[d] + (last ? size - shape->dimensions[d] : 0);
        }
        memcpy(to + i * width, from + source * width, (size_t)width);
        for (int d = shape->rank - 1; d >= 0 && ++at[d] == shape->dimensions[d]; d--) {
            at[d] = 0;
        }
    }
    return result;
}

static void map_ints(struct instruction *instruction, enum attr_key key,
                     const struct size_rules *rules)
{
    const struct attr *attr = attr_get(instruction, key);
    if (attr == NULL) {
        return;
    }
    struct ints ints = attr->ints;
    int64_t *values = arena_copy(&instruction->parent->module->arena, ints.values,
                                 (size_t)ints.count * sizeof *values);
    for (int i = 0; i < ints.count; i++) {
        values[i] = mapped(rules, values[i]);
    }
    instruction_set_attr(instruction, (struct attr){.key = key, .ints = {ints.count, values}});
}

/* A number of groups that is the size of a dimension. */
static void map_integer(struct instruction *instruction, enum attr_key key,
                        const struct size_rules *rules)
{
    const struct attr *attr = attr_get(instruction, key);
    if (attr != NULL && attr->integer > 1) {
        instruction_set_attr(instruction,
                             (struct attr){.key = key, .integer = mapped(rules, attr->integer)});
    }
}

/* Limits that were at the end stay there; others move as far as they must. */
static void map_slices(struct instruction *instruction, const struct size_rules *rules)
{
    int rank = 0;
    struct slice_dimension *made = shrink_own_slices(instruction, &rank);
    for (int d = 0; d < rank; d++) {
        const struct shape *operand = instruction->operands[0]->shape;
        int64_t old_count = instruction->shape->dimensions[d],
                size = mapped(rules, operand->dimensions[d]);
        int64_t count = mapped(rules, old_count);
        bool whole = made[d].start == 0 && made[d].limit == operand->dimensions[d];
        if (whole) {
            made[d].limit = size;
        } else if (count != old_count || made[d].limit > size) {
            int64_t room = (count - 1) * made[d].stride + 1;
            made[d].start = made[d].start + room > size ? size - room : made[d].start;
            made[d].start = made[d].start < 0 ? 0 : made[d].start;
            made[d].limit = made[d].start + room;
        }
    }
}

static void map_window(struct instruction *instruction, const struct size_rules *rules)
{
    int rank = 0;
    struct window_dimension *made = shrink_own_window(instruction, &rank);
    const struct attr *labels = attr_get(instruction, ATTR_DIM_LABELS);
    for (int d = 0; d < rank; d++) {
        if (labels != NULL) { /* the size is the kernel's */
            const struct shape *kernel = instruction->operands[1]->shape;
            made[d].size = mapped(rules, kernel->dimensions[labels->dim_labels->kernel_spatial[d]]);
        } else {
            made[d].size = mapped(rules, made[d].size);
            made[d].stride = mapped(rules, made[d].stride);
        }
    }
}

/* The one dimension of a reshape's result or operand that is free to take up the difference: finds
 * what it must become, so that the counts are equal. */
static bool balance(const struct shape *old_a, const struct shape *old_b, struct size_rules *rules)
{
    const struct shape *sides[] = {old_a, old_b};
    int64_t counts[2] = {1, 1};
    for (int s = 0; s < 2; s++) {
        for (int d = 0; d < sides[s]->rank; d++) {
            counts[s] *= mapped(rules, sides[s]->dimensions[d]);
        }
    }
    int larger = counts[0] > counts[1] ? 0 : 1;
    int64_t most = counts[larger], least = counts[1 - larger];
    for (int d = 0; d < sides[larger]->rank; d++) {
        int64_t size = sides[larger]->dimensions[d], now = mapped(rules, size);
        if (now == size && size > 1 && least > 0 && (size * least) % most == 0) {
            return size_rule_add(rules, size, size * least / most);
        }
    }
    return false;
}

/* What the new module's shapes say that the rules do not have yet: 1 a rule was added, 0 nothing,
 * −1 they contradict. `old` has the instruction's shape as it was. */
static int learn(const struct instruction *old, struct instruction *new, struct size_rules *rules)
{
    if (old->opcode == OP_RESHAPE || old->opcode == OP_BITCAST) {
        if (!shape_is_array(old->operands[0]->shape) ||
            shape_elements(new->shape) == shape_elements(new->operands[0]->shape)) {
            return 0;
        }
        return balance(old->shape, old->operands[0]->shape, rules) ? 1 : -1;
    }
    struct error err = {0};
    const struct shape *inferred = infer_shape(new, &err);
    if (inferred == NULL || !shape_is_array(inferred) || !shape_is_array(new->shape)) {
        return inferred == NULL && err.code != ERROR_NONE ? -1 : 0;
    }
    if (inferred->rank != new->shape->rank) {
        return -1;
    }
    for (int d = 0; d < inferred->rank; d++) {
        if (inferred->dimensions[d] != new->shape->dimensions[d]) {
            bool fresh = new->shape->dimensions[d] == old->shape->dimensions[d];
            return fresh && size_rule_add(rules, old->shape->dimensions[d], inferred->dimensions[d])
                       ? 1
                       : -1;
        }
    }
    return 0;
}

/* Gives the instruction its new sizes. Operands have theirs already, but old shapes are asked of
 * the original. */
static bool resize(const struct instruction *old, struct instruction *new,
                   const struct size_rules *rules)
{
    new->shape = mapped_shape(rules, old->shape);
    if (new->literal != NULL) {
        struct literal *literal = shrink_cropped(old->literal, new->shape, false);
        literal_release(new->literal);
        new->literal = literal;
        return literal != NULL;
    }
    map_ints(new, ATTR_DYNAMIC_SLICE_SIZES, rules);
    map_integer(new, ATTR_FEATURE_GROUP_COUNT, rules);
    map_integer(new, ATTR_BATCH_GROUP_COUNT, rules);
    map_ints(new, ATTR_FFT_LENGTH, rules);
    if (old->opcode == OP_GATHER) {
        const struct attr *sizes = attr_get(old, ATTR_SLICE_SIZES);
        if (sizes != NULL && sizes->lists.count == 1) {
            struct arena *arena = &new->parent->module->arena;
            struct ints *list = arena_copy(arena, sizes->lists.lists, sizeof *list);
            int64_t *values = arena_copy(arena, list->values, (size_t)list->count * sizeof *values);
            for (int i = 0; i < list->count; i++) {
                values[i] = mapped(rules, values[i]);
            }
            list->values = values;
            struct attr attr = *sizes;
            attr.lists.lists = list;
            instruction_set_attr(new, attr);
        }
    }
    return true;
}

/* Slices and windows look at old shapes of operands: before these change. */
static void resize_attributes(struct module *module, const struct size_rules *rules)
{
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            struct instruction *instruction = module->computations[c]->instructions[i];
            map_slices(instruction, rules);
            map_window(instruction, rules);
        }
    }
}

static bool rewrite(const struct specimen *original, struct specimen *copy,
                    struct size_rules *rules, int *learned)
{
    *learned = 0;
    resize_attributes(copy->module, rules);
    for (int c = 0; c < copy->module->count; c++) {
        const struct computation *from = original->module->computations[c];
        struct computation *to = copy->module->computations[c];
        for (int i = 0; i < to->count; i++) {
            const struct instruction *old = from->instructions[i];
            struct instruction *new = to->instructions[i];
            if (!resize(old, new, rules)) {
                return false;
            }
            if (old->opcode == OP_PARAMETER || old->opcode == OP_CONSTANT) {
                continue;
            }
            int known = learn(old, new, rules);
            if (known != 0) {
                *learned = known;
                return known > 0;
            }
        }
    }
    for (int k = 0; k < specimen_argument_total(copy); k++) {
        struct literal *argument = shrink_cropped(
            copy->arguments[k], mapped_shape(rules, copy->arguments[k]->shape), false);
        if (argument == NULL) {
            return false;
        }
        shrink_set_argument(copy, k, argument);
    }
    return true;
}

/* --- the simplification: a variant is the old size and the new one --- */

enum { VARIANT_SHIFT = 31 };

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

void find_sizes(const struct specimen *specimen, struct shrink_places *places)
{
    const struct module *module = specimen->module;
    size_t count = 0, capacity = 0;
    int64_t *sizes = NULL;
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            const struct shape *shape = module->computations[c]->instructions[i]->shape;
            for (int d = 0; shape_is_array(shape) && d < shape->rank; d++) {
                if (shape->dimensions[d] > 1 && shape->dimensions[d] < INT64_C(1)
                                                                           << VARIANT_SHIFT) {
                    sizes = grow(sizes, count, &capacity, sizeof *sizes);
                    sizes[count++] = shape->dimensions[d];
                }
            }
        }
    }
    if (count > 0) {
        qsort(sizes, count, sizeof *sizes, by_size);
    }
    for (size_t k = 0; k < count; k++) {
        if (k > 0 && sizes[k] == sizes[k - 1]) {
            continue;
        }
        const int64_t tries[] = {1, 2, 4, sizes[k] / 4, sizes[k] / 2, sizes[k] - 1};
        for (size_t t = 0; t < sizeof tries / sizeof *tries; t++) {
            bool new_one = tries[t] >= 1 && tries[t] < sizes[k];
            for (size_t u = 0; u < t; u++) {
                new_one &= tries[u] != tries[t];
            }
            if (new_one) {
                place_add(places, 0, 0, sizes[k] << VARIANT_SHIFT | tries[t]);
            }
        }
    }
    free(sizes);
}

bool shrink_resize(const struct specimen *original, struct specimen *copy, shrink_prepare *prepare,
                   struct shrink_place place, const struct size_rules *given)
{
    struct size_rules rules = *given;
    for (int learned = 1; learned > 0;) {
        specimen_finish(copy); /* begins anew with one rule more */
        specimen_borrow(original, copy);
        if (prepare != NULL && !prepare(original, copy, place)) {
            return false;
        }
        if (!rewrite(original, copy, &rules, &learned) && learned <= 0) {
            return false;
        }
    }
    return true;
}

static int64_t variant_from(int64_t variant)
{
    return variant >> VARIANT_SHIFT;
}

static int64_t variant_to(int64_t variant)
{
    return variant & ((INT64_C(1) << VARIANT_SHIFT) - 1);
}

bool apply_sizes(const struct specimen *original, struct specimen *copy, struct shrink_place place,
                 shrink_value *value, void *context)
{
    struct size_rules rules = {0};
    (void)value;
    (void)context;
    return size_rule_add(&rules, variant_from(place.variant), variant_to(place.variant)) &&
           shrink_resize(original, copy, NULL, place, &rules);
}

/* --- two sizes: the place's computation and instruction are the second size, old and new --- */

/* What a size becomes there: one, half, one less. */
enum { PAIR_KINDS = 3 };
static int64_t smaller(int64_t size, int kind)
{
    return kind == 0 ? 1 : kind == 1 ? size / 2 : size - 1;
}

void find_size_pairs(const struct specimen *specimen, struct shrink_places *places)
{
    enum { SIZES_MOST = 6 };
    struct shrink_places single = {0};
    int64_t sizes[SIZES_MOST + 1];
    int count = 0;
    find_sizes(specimen, &single);
    for (int i = 0; i < single.count && count <= SIZES_MOST; i++) {
        int64_t size = variant_from(single.list[i].variant);
        if (count == 0 || sizes[count - 1] != size) {
            sizes[count++] = size;
        }
    }
    shrink_places_finish(&single);
    for (int kinds = 0; count <= SIZES_MOST && kinds < PAIR_KINDS * PAIR_KINDS; kinds++) {
        for (int i = 0; i < count; i++) {
            for (int k = i + 1; k < count; k++) {
                int64_t one = smaller(sizes[i], kinds / PAIR_KINDS),
                        other = smaller(sizes[k], kinds % PAIR_KINDS);
                place_add(places, (int)sizes[k], (int)other, sizes[i] << VARIANT_SHIFT | one);
            }
        }
    }
}

/* Can the size alone become that? */
static bool size_stands_alone(const struct specimen *original, int64_t from, int64_t to)
{
    struct size_rules rules = {0};
    struct specimen copy;
    struct error ignored = {0};
    struct findings findings = {0};
    specimen_borrow(original, &copy);
    bool ok = size_rule_add(&rules, from, to) &&
              shrink_resize(original, &copy, NULL, (struct shrink_place){0}, &rules) &&
              specimen_settle(&copy, &ignored) && verify_module(copy.module, &findings);
    findings_finish(&findings);
    specimen_finish(&copy);
    return ok;
}

bool apply_size_pairs(const struct specimen *original, struct specimen *copy,
                      struct shrink_place place, shrink_value *value, void *context)
{
    struct size_rules rules = {0};
    int64_t from = variant_from(place.variant), to = variant_to(place.variant);
    int64_t other_from = place.computation, other_to = place.instruction;
    (void)value;
    (void)context;
    bool alike = false;
    for (int kind = 0; kind < PAIR_KINDS; kind++) {
        alike |= smaller(from, kind) == to && smaller(other_from, kind) == other_to;
    }
    /* What each can become alone was tried; both go together where that is for a reason. */
    if (!alike && size_stands_alone(original, from, to) &&
        size_stands_alone(original, other_from, other_to)) {
        return false;
    }
    return size_rule_add(&rules, from, to) && size_rule_add(&rules, other_from, other_to) &&
           shrink_resize(original, copy, NULL, place, &rules);
}
