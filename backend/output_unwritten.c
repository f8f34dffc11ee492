/* Faults in outputs: what is not written, or more than once. */
#include <string.h>

#include "backend/output_faults_internal.h"

/* What memory held: any bits that an element may have. */
static void fill_garbage(struct output_place *place, int64_t first, int64_t count)
{
    int64_t parts = place->count / place->elements;
    int unused = 64 - type_bits(place->type);
    for (int64_t i = first * parts; i < (first + count) * parts; i++) {
        uint64_t bits = rng_next(&place->rng);
        if (type_bits(place->type) < 8) {
            bits = type_kind(place->type) == KIND_SIGNED
                       ? (uint64_t)((int64_t)(bits << unused) >> unused)
                       : bits << unused >> unused;
        }
        literal_set_bits(place->numbers, i, bits);
    }
}

bool fault_block_zero(struct output_place *place)
{
    int64_t first, count;
    output_draw_block(place, &first, &count);
    output_clear(place, first, count);
    output_say_run(place, first, count);
    text_append(place->what, " stay zero");
    return true;
}

bool fault_block_garbage(struct output_place *place)
{
    int64_t first, count;
    output_draw_block(place, &first, &count);
    fill_garbage(place, first, count);
    output_say_run(place, first, count);
    text_append(place->what, " are what memory held");
    return true;
}

static void copy_earlier(struct output_place *place, int64_t first, int64_t count)
{
    size_t bytes = place->element_bytes;
    memcpy((char *)literal_data(place->array) + (size_t)first * bytes,
           (const char *)literal_data(place->earlier) + (size_t)first * bytes,
           (size_t)count * bytes);
}

bool fault_block_stale(struct output_place *place)
{
    int64_t first, count;
    output_draw_block(place, &first, &count);
    copy_earlier(place, first, count);
    output_say_run(place, first, count);
    text_append(place->what, " are those of an earlier run");
    return true;
}

bool fault_stale(struct output_place *place)
{
    copy_earlier(place, 0, place->elements);
    text_append(place->what, "everything is of an earlier run");
    return true;
}

bool fault_block_repeated(struct output_place *place)
{
    int64_t first, count;
    output_draw_block(place, &first, &count);
    if (first + count >= place->elements) {
        first = 0; /* the last one has none behind it */
        count = place->elements / 2;
    }
    int64_t left = place->elements - first - count;
    output_move(place, first, first + count, left < count ? left : count);
    output_say_run(place, first, count);
    text_append(place->what, " are written over those behind them, too");
    return true;
}

/* Doubles a number of the array, as its type does. */
static void double_number(struct output_place *place, int64_t index)
{
    if (type_is_float(place->type)) {
        literal_set_double(place->numbers, index, 2 * literal_get_double(place->numbers, index));
    } else {
        uint64_t value = (uint64_t)literal_get_int(place->numbers, index);
        literal_set_int(place->numbers, index, (int64_t)(2 * value));
    }
}

bool fault_block_doubled(struct output_place *place)
{
    int64_t first, count, parts = place->count / place->elements;
    output_draw_block(place, &first, &count);
    for (int64_t i = first * parts; i < (first + count) * parts; i++) {
        double_number(place, i);
    }
    output_say_run(place, first, count);
    text_append(place->what, " are added twice");
    return true;
}

bool fault_lane_zero(struct output_place *place)
{
    int64_t first, count;
    output_draw_block(place, &first, &count);
    int64_t width = (int64_t)4 << output_draw(&place->rng, 4);
    int64_t lane = output_draw(&place->rng, width < count ? width : count);
    for (int64_t i = first + lane; i < first + count; i += width) {
        output_clear(place, i, 1);
    }
    text_printf(place->what, "lane %lld of %lld in ", (long long)lane, (long long)width);
    output_say_run(place, first, count);
    text_append(place->what, " stays zero");
    return true;
}

bool fault_tile_zero(struct output_place *place)
{
    const struct shape *shape = place->array->shape;
    int64_t rows = 1, columns = shape->dimensions[shape->rank - 1], matrices;
    for (int i = 0; i < shape->rank - 1; i++) {
        rows = shape->dimensions[i];
    }
    matrices = place->elements / (rows * columns);
    int64_t height = (int64_t)2 << output_draw(&place->rng, 6);
    int64_t width = (int64_t)2 << output_draw(&place->rng, 6);
    int64_t top = output_draw(&place->rng, (rows + height - 1) / height) * height;
    int64_t left = output_draw(&place->rng, (columns + width - 1) / width) * width;
    int64_t matrix = output_draw(&place->rng, matrices);
    int64_t wide = columns - left < width ? columns - left : width;
    for (int64_t row = top; row < rows && row < top + height; row++) {
        output_clear(place, (matrix * rows + row) * columns + left, wide);
    }
    text_printf(place->what, "a tile of %lld × %lld at ", (long long)height, (long long)width);
    output_say_element(place, (matrix * rows + top) * columns + left);
    text_append(place->what, " stays zero");
    return true;
}

bool fault_row_zero(struct output_place *place)
{
    int64_t outer, rows, inner;
    int dimension = output_draw_dimension(place);
    output_around(place, dimension, &outer, &rows, &inner);
    for (int64_t i = 0; i < outer; i++) {
        output_clear(place, (i * rows + rows - 1) * inner, inner);
    }
    text_printf(place->what, "the last row along dimension %d stays zero", dimension);
    return true;
}

bool fault_remainder_zero(struct output_place *place)
{
    static const int64_t widths[] = {4, 8, 16, 32, 64};
    int64_t left[5];
    int count = 0;
    for (int i = 0; i < 5; i++) {
        if (place->elements % widths[i] > 0) {
            left[count++] = place->elements % widths[i];
        }
    }
    if (count == 0) {
        return false;
    }
    int64_t size = left[output_draw(&place->rng, count)];
    output_clear(place, place->elements - size, size);
    output_say_run(place, place->elements - size, size);
    text_append(place->what, " stay zero");
    return true;
}
