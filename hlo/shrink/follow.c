/* One dimension of one parameter or constant becomes smaller, and shapes follow from operands to
 * users by shape inference. Where dimensions of one size are of several kinds, as those of windows
 * often are, this does what changing all of one size (sizes.c) cannot. */
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/infer.h"
#include "hlo/shrink/shrink_internal.h"

enum { INSTRUCTIONS_MOST = 64 }; /* a larger module is not looked at dimension by dimension */

static void follow_window(struct instruction *new)
{
    const struct attr *labels = attr_get(new, ATTR_DIM_LABELS);
    int rank = 0;
    struct window_dimension *window = labels != NULL ? shrink_own_window(new, &rank) : NULL;
    for (int d = 0; d < rank; d++) {
        window[d].size = new->operands[1]->shape->dimensions[labels->dim_labels->kernel_spatial[d]];
    }
}

/* A slice that went to the end still does. */
static void follow_slice(const struct instruction *old, struct instruction *new)
{
    int rank = 0;
    struct slice_dimension *slices = shrink_own_slices(new, &rank);
    for (int d = 0; d < rank; d++) {
        if (slices[d].limit == old->operands[0]->shape->dimensions[d]) {
            slices[d].limit = new->operands[0]->shape->dimensions[d];
        }
    }
}

static bool follow_broadcast(const struct instruction *old, struct instruction *new)
{
    struct ints dimensions = attr_ints(old, ATTR_DIMENSIONS);
    const struct shape *operand = new->operands[0]->shape;
    int64_t made[SHAPE_MAX_RANK];
    memcpy(made, old->shape->dimensions, (size_t)old->shape->rank * sizeof *made);
    for (int k = 0; k < dimensions.count; k++) {
        made[dimensions.values[k]] = operand->dimensions[k];
    }
    new->shape = shape_make(old->shape->type, old->shape->rank, made, NULL, NULL);
    return true;
}

/* Of a reshape that only adds and drops dimensions of size 1. */
static bool follow_reshape(const struct instruction *old, struct instruction *new)
{
    const struct shape *before = old->operands[0]->shape, *now = new->operands[0]->shape;
    int64_t made[SHAPE_MAX_RANK];
    int k = 0;
    if (!shape_is_array(before) || !shape_is_array(old->shape)) {
        return false;
    }
    for (int d = 0; d < old->shape->rank; d++) {
        made[d] = 1;
        if (old->shape->dimensions[d] != 1) {
            while (k < before->rank && before->dimensions[k] == 1) {
                k++;
            }
            if (k == before->rank || before->dimensions[k] != old->shape->dimensions[d]) {
                return false;
            }
            made[d] = now->dimensions[k++];
        }
    }
    new->shape = shape_make(old->shape->type, old->shape->rank, made, NULL, NULL);
    return true;
}

/* `new` has operands of other shapes, or other attributes, than `old`. */
static bool follow_one(const struct instruction *old, struct instruction *new)
{
    struct error err = {0};
    switch (old->opcode) {
    case OP_BROADCAST:
        return follow_broadcast(old, new);
    case OP_RESHAPE:
        return follow_reshape(old, new);
    case OP_CONVERT:
        new->shape = shape_with_type(new->operands[0]->shape, old->shape->type);
        return true;
    default:
        break;
    }
    const struct shape *shape = infer_shape(new, &err);
    if (shape != NULL) {
        new->shape = shape;
    }
    return shape != NULL;
}

bool shrink_follow(const struct specimen *original, struct specimen *copy,
                   const struct instruction *changed)
{
    const struct computation *from = original->module->entry;
    struct computation *to = copy->module->entry;
    for (int i = 0; i < to->count; i++) {
        const struct instruction *old = from->instructions[i];
        struct instruction *new = to->instructions[i];
        bool other = new == changed;
        for (int k = 0; k < new->operand_count; k++) {
            if (!shape_compatible(old->operands[k]->shape, new->operands[k]->shape)) {
                follow_window(new);
                follow_slice(old, new);
                other = true;
                break;
            }
        }
        if (other && !follow_one(old, new)) {
            return false;
        }
    }
    return true;
}

/* --- the simplification: a variant is a dimension and what is left of it --- */

enum { FIRST, FIRST_HALF, ALL_BUT_LAST, LAST, LAST_HALF, KINDS };
static int64_t smaller(int64_t size, int64_t kind)
{
    return kind == ALL_BUT_LAST ? size - 1 : kind == FIRST_HALF || kind == LAST_HALF ? size / 2 : 1;
}

void find_dimensions(const struct specimen *specimen, struct shrink_places *places)
{
    const struct computation *entry = specimen->module->entry;
    for (int i = 0;
         module_instruction_count(specimen->module) <= INSTRUCTIONS_MOST && i < entry->count; i++) {
        const struct instruction *leaf = entry->instructions[i];
        bool array = shape_is_array(leaf->shape) && !shape_is_dynamic(leaf->shape);
        if (!array || (leaf->opcode != OP_PARAMETER && leaf->opcode != OP_CONSTANT)) {
            continue;
        }
        for (int64_t d = 0; d < leaf->shape->rank; d++) {
            int64_t size = leaf->shape->dimensions[d];
            for (int64_t kind = 0; size > 1 && kind < KINDS; kind++) {
                bool one = kind == FIRST || kind == LAST;
                if (one || smaller(size, kind) > 1) {
                    place_add(places, entry->id, i, KINDS * d + kind);
                }
            }
        }
    }
}

bool apply_dimensions(const struct specimen *original, struct specimen *copy,
                      struct shrink_place place, shrink_value *value, void *context)
{
    struct instruction *leaf = place_instruction(copy, place);
    int64_t made[SHAPE_MAX_RANK], d = place.variant / KINDS;
    (void)value;
    (void)context;
    memcpy(made, leaf->shape->dimensions, (size_t)leaf->shape->rank * sizeof *made);
    int64_t kind = place.variant % KINDS;
    bool last = kind == LAST || kind == LAST_HALF;
    made[d] = smaller(made[d], kind);
    leaf->shape = shape_make(leaf->shape->type, leaf->shape->rank, made, NULL, NULL);
    if (leaf->opcode == OP_CONSTANT) {
        struct literal *literal = shrink_cropped(leaf->literal, leaf->shape, last);
        literal_release(leaf->literal);
        leaf->literal = literal;
        return literal != NULL && shrink_follow(original, copy, NULL);
    }
    for (int s = 0; s < specimen_sets(copy); s++) {
        int at = s * copy->argument_count + (int)leaf->number;
        struct literal *literal = shrink_cropped(copy->arguments[at], leaf->shape, last);
        if (literal == NULL) {
            return false;
        }
        shrink_set_argument(copy, at, literal);
    }
    return shrink_follow(original, copy, NULL);
}
