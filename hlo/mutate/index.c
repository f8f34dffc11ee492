/* Faults of indices: what is cut, padded, looked up or slid over is off by one. */
#include "hlo/mutate/mutate_internal.h"

/* A change of one dimension. */
struct shifting {
    int dimension, by; /* by 0: low and high are exchanged */
};
enum { SHIFTS_MOST = 3 * SHAPE_MAX_RANK };

/* --- slices --- */

bool mutate_slice(struct instruction *instruction, struct rng *rng, struct text *what)
{
    struct shifting found[SHIFTS_MOST];
    int count = 0;
    if (instruction->opcode != OP_SLICE) {
        return false;
    }
    struct slices slices = attr_slices(instruction);
    const int64_t *sizes = instruction->operands[0]->shape->dimensions;
    for (int d = 0; d < slices.rank; d++) {
        if (slices.dimensions[d].limit < sizes[d]) {
            found[count++] = (struct shifting){d, 1};
        }
        if (slices.dimensions[d].start > 0) {
            found[count++] = (struct shifting){d, -1};
        }
    }
    if (count > 0 && what != NULL) {
        struct shifting shift = found[edit_draw(rng, count)];
        struct slice_dimension *shifted =
            arena_copy(&instruction->parent->module->arena, slices.dimensions,
                       (size_t)slices.rank * sizeof *shifted);
        shifted[shift.dimension].start += shift.by;
        shifted[shift.dimension].limit += shift.by;
        text_printf(what, "dimension %d begins at %lld instead of %lld", shift.dimension,
                    (long long)shifted[shift.dimension].start,
                    (long long)slices.dimensions[shift.dimension].start);
        instruction_set_attr(instruction,
                             (struct attr){.key = ATTR_SLICE, .slices = {slices.rank, shifted}});
    }
    return count > 0;
}

bool mutate_dynamic_slice(struct instruction *instruction, struct rng *rng, struct text *what)
{
    int found[SHAPE_MAX_RANK], count = 0;
    bool updates = instruction->opcode == OP_DYNAMIC_UPDATE_SLICE;
    if (instruction->opcode != OP_DYNAMIC_SLICE && !updates) {
        return false;
    }
    const struct shape *whole = instruction->operands[0]->shape;
    const struct shape *part = updates ? instruction->operands[1]->shape : instruction->shape;
    int first = updates ? 2 : 1;
    if (instruction->operand_count != first + whole->rank) {
        return false; /* the older form with all indices in one array */
    }
    for (int d = 0; d < whole->rank; d++) {
        if (whole->dimensions[d] > part->dimensions[d]) {
            found[count++] = d;
        }
    }
    if (count > 0 && what != NULL) {
        int d = found[edit_draw(rng, count)], by = edit_draw(rng, 2) == 0 ? 1 : -1;
        text_printf(what, "the start in dimension %d is one too %s", d, by > 0 ? "high" : "low");
        instruction->operands[first + d] =
            edit_add(instruction, instruction->operands[first + d], by);
    }
    return count > 0;
}

/* --- padding --- */

/* Ways to move padding of low and high from one side to the other. */
static int padding_shifts(int dimension, int64_t low, int64_t high, bool negative,
                          struct shifting *found)
{
    int count = 0;
    if (low != high && (low > 0 || high > 0)) {
        found[count++] = (struct shifting){dimension, 0};
    }
    if (high > 0 || negative) {
        found[count++] = (struct shifting){dimension, 1};
    }
    if (low > 0 || negative) {
        found[count++] = (struct shifting){dimension, -1};
    }
    return count;
}

static void shift_padding(struct shifting shift, int64_t *low, int64_t *high, struct text *what)
{
    int64_t old_low = *low, old_high = *high;
    *low = shift.by == 0 ? old_high : old_low + shift.by;
    *high = shift.by == 0 ? old_low : old_high - shift.by;
    text_printf(what, "dimension %d is padded by %lld and %lld instead of %lld and %lld",
                shift.dimension, (long long)*low, (long long)*high, (long long)old_low,
                (long long)old_high);
}

bool mutate_pad(struct instruction *instruction, struct rng *rng, struct text *what)
{
    struct shifting found[SHIFTS_MOST];
    int count = 0;
    if (instruction->opcode != OP_PAD) {
        return false;
    }
    struct padding padding = attr_padding(instruction);
    for (int d = 0; d < padding.rank; d++) {
        count += padding_shifts(d, padding.dimensions[d].low, padding.dimensions[d].high,
                                instruction->shape->dimensions[d] > 1, found + count);
    }
    if (count > 0 && what != NULL) {
        struct shifting shift = found[edit_draw(rng, count)];
        struct padding_dimension *shifted =
            arena_copy(&instruction->parent->module->arena, padding.dimensions,
                       (size_t)padding.rank * sizeof *shifted);
        shift_padding(shift, &shifted[shift.dimension].low, &shifted[shift.dimension].high, what);
        instruction_set_attr(
            instruction, (struct attr){.key = ATTR_PADDING, .padding = {padding.rank, shifted}});
    }
    return count > 0;
}

bool mutate_pad_value(struct instruction *instruction, struct rng *rng, struct text *what)
{
    (void)rng;
    if (instruction->opcode != OP_PAD) {
        return false;
    }
    if (what != NULL) {
        text_append(what, "the padding is one more");
        instruction->operands[1] = edit_add(instruction, instruction->operands[1], 1);
    }
    return true;
}

bool mutate_window(struct instruction *instruction, struct rng *rng, struct text *what)
{
    struct shifting found[SHIFTS_MOST];
    int count = 0;
    if (instruction->opcode != OP_CONVOLUTION && instruction->opcode != OP_REDUCE_WINDOW &&
        instruction->opcode != OP_SELECT_AND_SCATTER) {
        return false;
    }
    struct window window = attr_window(instruction);
    for (int d = 0; d < window.rank; d++) {
        const struct window_dimension *dimension = &window.dimensions[d];
        if (dimension->size > 1) {
            count += padding_shifts(d, dimension->padding_low, dimension->padding_high,
                                    instruction->opcode == OP_CONVOLUTION, found + count);
        }
    }
    if (count > 0 && what != NULL) {
        struct shifting shift = found[edit_draw(rng, count)];
        struct window_dimension *shifted =
            arena_copy(&instruction->parent->module->arena, window.dimensions,
                       (size_t)window.rank * sizeof *shifted);
        shift_padding(shift, &shifted[shift.dimension].padding_low,
                      &shifted[shift.dimension].padding_high, what);
        instruction_set_attr(instruction,
                             (struct attr){.key = ATTR_WINDOW, .window = {window.rank, shifted}});
    }
    return count > 0;
}

/* --- gather, scatter --- */

bool mutate_gather_index(struct instruction *instruction, struct rng *rng, struct text *what)
{
    if (instruction->opcode != OP_GATHER && instruction->opcode != OP_SCATTER) {
        return false;
    }
    if (what != NULL) {
        int at = instruction->opcode == OP_GATHER ? 1 : instruction->operand_count / 2;
        int by = edit_draw(rng, 2) == 0 ? 1 : -1;
        text_printf(what, "all indices are one too %s", by > 0 ? "high" : "low");
        instruction->operands[at] = edit_add(instruction, instruction->operands[at], by);
    }
    return true;
}

bool mutate_gather_clamp(struct instruction *instruction, struct rng *rng, struct text *what)
{
    (void)rng;
    if (instruction->opcode != OP_GATHER) {
        return false;
    }
    struct ints map = attr_ints(instruction, ATTR_START_INDEX_MAP);
    const struct attr *sizes = attr_get(instruction, ATTR_SLICE_SIZES);
    if (map.count != 1 || sizes == NULL || sizes->lists.count != 1) {
        return false;
    }
    int64_t dimension = map.values[0];
    int64_t last = instruction->operands[0]->shape->dimensions[dimension] -
                   sizes->lists.lists[0].values[dimension];
    if (last < 1) {
        return false;
    }
    if (what != NULL) {
        struct instruction *indices = instruction->operands[1];
        text_printf(what, "the last index is %lld instead of %lld", (long long)last - 1,
                    (long long)last);
        instruction->operands[1] =
            edit_binary(instruction, OP_MINIMUM, indices,
                        edit_constant(instruction, indices->shape, (double)(last - 1)));
    }
    return true;
}
