/* Simplifications of how arrays are walked over: windows, paddings and slices become plainer, with
 * the sizes that follow; dynamic sizes become their bounds. */
#include "hlo/shrink/shrink_internal.h"

/* --- windows, paddings, slices: a variant is a dimension and what of it --- */

/* What of a dimension can be plainer, for each of the attributes. */
enum plainer {
    PLAINER_STRIDE,
    PLAINER_LOW, /* 0 */
    PLAINER_HIGH,
    PLAINER_LOW_ONE, /* 1 */
    PLAINER_HIGH_ONE,
    PLAINER_HOLES,
    PLAINER_SIZE,
    PLAINERS
};

static bool plainer_window(struct window_dimension *dimension, enum plainer what)
{
    struct window_dimension old = *dimension;
    switch (what) {
    case PLAINER_STRIDE:
        dimension->stride = 1;
        break;
    case PLAINER_LOW:
        dimension->padding_low = 0;
        break;
    case PLAINER_HIGH:
        dimension->padding_high = 0;
        break;
    case PLAINER_LOW_ONE:
        dimension->padding_low = dimension->padding_low > 1 ? 1 : dimension->padding_low;
        break;
    case PLAINER_HIGH_ONE:
        dimension->padding_high = dimension->padding_high > 1 ? 1 : dimension->padding_high;
        break;
    case PLAINER_HOLES:
        dimension->window_dilation = dimension->base_dilation = 1;
        dimension->reversal = false;
        break;
    default:
        dimension->size = 1;
        break;
    }
    return old.stride != dimension->stride || old.padding_low != dimension->padding_low ||
           old.padding_high != dimension->padding_high ||
           old.window_dilation != dimension->window_dilation ||
           old.base_dilation != dimension->base_dilation || old.reversal != dimension->reversal ||
           old.size != dimension->size;
}

static bool plainer_padding(struct padding_dimension *dimension, enum plainer what)
{
    int64_t *const fields[PLAINERS] = {[PLAINER_LOW] = &dimension->low,
                                       [PLAINER_HIGH] = &dimension->high,
                                       [PLAINER_LOW_ONE] = &dimension->low,
                                       [PLAINER_HIGH_ONE] = &dimension->high,
                                       [PLAINER_HOLES] = &dimension->interior};
    int64_t *field = fields[what];
    int64_t wanted = what == PLAINER_LOW_ONE || what == PLAINER_HIGH_ONE;
    bool changes = field != NULL && (wanted == 0 ? *field != 0 : *field > 1);
    if (changes) {
        *field = wanted;
    }
    return changes;
}

static bool plainer_slice(struct slice_dimension *dimension, enum plainer what)
{
    struct slice_dimension old = *dimension;
    switch (what) {
    case PLAINER_STRIDE: /* as many elements */
        dimension->limit =
            dimension->start + (dimension->limit - dimension->start + dimension->stride - 1) /
                                   (dimension->stride > 0 ? dimension->stride : 1);
        dimension->stride = 1;
        break;
    case PLAINER_LOW:
        dimension->limit -= dimension->start;
        dimension->start = 0;
        break;
    case PLAINER_SIZE:
        dimension->limit = dimension->start + 1;
        break;
    default:
        break;
    }
    return old.start != dimension->start || old.limit != dimension->limit ||
           old.stride != dimension->stride;
}

/* Makes the change; false if it changes nothing. */
static bool make_plainer(struct instruction *instruction, int64_t variant)
{
    int64_t d = variant / PLAINERS;
    enum plainer what = (enum plainer)(variant % PLAINERS);
    int rank = 0;
    struct window_dimension *window = what != PLAINER_SIZE || instruction->opcode != OP_CONVOLUTION
                                          ? shrink_own_window(instruction, &rank)
                                          : NULL;
    if (window != NULL && d < rank) {
        return plainer_window(&window[d], what);
    }
    const struct attr *attr = attr_get(instruction, ATTR_PADDING);
    if (attr != NULL && d < attr->padding.rank) {
        struct attr changed = *attr;
        struct padding_dimension *made =
            arena_copy(&instruction->parent->module->arena, attr->padding.dimensions,
                       (size_t)attr->padding.rank * sizeof *made);
        changed.padding.dimensions = made;
        instruction_set_attr(instruction, changed);
        return plainer_padding(&made[d], what);
    }
    struct slice_dimension *slices = shrink_own_slices(instruction, &rank);
    return slices != NULL && d < rank && plainer_slice(&slices[d], what);
}

static int walked_rank(const struct instruction *instruction)
{
    const struct attr *window = attr_get(instruction, ATTR_WINDOW),
                      *padding = attr_get(instruction, ATTR_PADDING),
                      *slices = attr_get(instruction, ATTR_SLICE);
    return window != NULL    ? window->window.rank
           : padding != NULL ? padding->padding.rank
           : slices != NULL  ? slices->slices.rank
                             : 0;
}

void find_windows(const struct specimen *specimen, struct shrink_places *places)
{
    const struct module *module = specimen->module;
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            int rank = walked_rank(computation->instructions[i]);
            for (int64_t variant = 0; variant < (int64_t)rank * PLAINERS; variant++) {
                place_add(places, c, i, variant);
            }
        }
    }
}

static bool prepare_windows(const struct specimen *original, struct specimen *copy,
                            struct shrink_place place)
{
    (void)original;
    return make_plainer(place_instruction(copy, place), place.variant);
}

bool apply_windows(const struct specimen *original, struct specimen *copy,
                   struct shrink_place place, shrink_value *value, void *context)
{
    struct size_rules none = {0};
    (void)value;
    (void)context;
    if (shrink_resize(original, copy, prepare_windows, place, &none)) {
        return true;
    }
    specimen_finish(copy); /* sizes that go together need not */
    specimen_borrow(original, copy);
    return place.computation == original->module->entry->id &&
           prepare_windows(original, copy, place) &&
           shrink_follow(original, copy, place_instruction(copy, place));
}

/* --- dynamic sizes --- */

void find_statics(const struct specimen *specimen, struct shrink_places *places)
{
    const struct module *module = specimen->module;
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *instruction = computation->instructions[i];
            if (shape_is_dynamic(instruction->shape) ||
                instruction->opcode == OP_SET_DIMENSION_SIZE) {
                place_add(places, 0, 0, 0);
                return;
            }
        }
    }
}

bool apply_statics(const struct specimen *original, struct specimen *copy,
                   struct shrink_place place, shrink_value *value, void *context)
{
    struct module *module = copy->module;
    (void)original;
    (void)place;
    (void)value;
    (void)context;
    for (int c = 0; c < module->count; c++) {
        struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            struct instruction *instruction = computation->instructions[i];
            instruction->shape = shape_static(instruction->shape);
            if (instruction->literal != NULL && shape_is_dynamic(instruction->literal->shape)) {
                return false;
            }
            if (instruction->opcode == OP_SET_DIMENSION_SIZE) {
                shrink_replace_uses(instruction, instruction->operands[0]);
            }
        }
    }
    for (int k = 0; k < specimen_argument_total(copy); k++) {
        const struct literal *old = copy->arguments[k];
        if (shape_is_array(old->shape) && shape_is_dynamic(old->shape)) {
            struct literal *whole = literal_view(old, shape_static(old->shape));
            if (whole == NULL) {
                return false;
            }
            shrink_set_argument(copy, k, whole);
        } else if (shape_is_dynamic(old->shape)) {
            return false;
        }
    }
    return true;
}
