/* Quantized types of MLIR text: !quant.uniform<…>.
 * Sources: mlir/lib/Dialect/Quant/IR/TypeParser.cpp, QuantTypes.cpp. */
#include <math.h>
#include <stdlib.h>

#include "hlo/floats.h"
#include "hlo/mlir/text/reader_internal.h"

/* The lists that grow while a type is read. */
struct quantized_lists {
    int64_t *axes, *block_sizes, *counts, *zero_points;
    double *scales;
    size_t axis_capacity, block_capacity, count_capacity, zero_capacity, scale_capacity;
    struct mlir_quantized made;
};

static void lists_finish(struct quantized_lists *lists)
{
    free(lists->axes);
    free(lists->block_sizes);
    free(lists->counts);
    free(lists->zero_points);
    free(lists->scales);
}

/* i8, si8, u8 or ui8, and maybe its range <minimum:maximum>. */
static bool read_storage(struct reader *reader, struct mlir_quantized *made, bool *is_text)
{
    enum { MAX_BITS = 32 };
    reader_skip(reader);
    const char *at = reader->at;
    struct span word = reader_keyword(reader);
    bool is_unsigned = word.size > 1 && word.data[0] == 'u';
    size_t digits = is_unsigned && word.data[1] != 'i'                      ? 1
                    : word.size > 1 && (is_unsigned || word.data[0] == 's') ? 2
                                                                            : 1;
    int width = 0;
    for (size_t i = digits; i < word.size && width <= MAX_BITS; i++) {
        char c = word.data[i];
        width = reader_class_of(c) & CLASS_DIGIT ? width * 10 + (c - '0') : MAX_BITS + 1;
    }
    bool is_integer = word.size > digits && (is_unsigned || word.data[digits - 1] == 'i');
    if (!is_integer && word.size > 0 && mlir_float(reader->file, word.data, word.size) != NULL) {
        *is_text = true; /* stored as floats: no such type is known here */
        return true;
    }
    if (!is_integer || width < 1 || width > MAX_BITS) {
        return reader_fail(reader, at, "not an integer type of at most %d bits", MAX_BITS);
    }
    made->storage = mlir_integer(reader->file, width, is_unsigned ? MLIR_UNSIGNED : MLIR_SIGNLESS);
    int64_t least = is_unsigned ? 0 : -((int64_t)1 << (width - 1));
    int64_t most = ((int64_t)1 << (width - !is_unsigned)) - 1;
    made->minimum = least;
    made->maximum = most;
    if (!reader_accept(reader, '<')) {
        return true;
    }
    if (!reader_int(reader, &made->minimum) || !reader_expect(reader, ':') ||
        !reader_int(reader, &made->maximum) || !reader_expect(reader, '>')) {
        return false;
    }
    return (made->minimum >= least && made->maximum <= most) ||
           reader_fail(reader, at, "a range beyond that of the stored type");
}

/* Behind the ":": an axis, or {axis:size, …}. */
static bool read_axes(struct reader *reader, struct quantized_lists *lists)
{
    struct mlir_quantized *made = &lists->made;
    bool blocks = reader_accept(reader, '{');
    if (blocks && reader_accept(reader, '}')) {
        return true;
    }
    do {
        size_t count = (size_t)made->axis_count;
        lists->axes = grow(lists->axes, count, &lists->axis_capacity, sizeof *lists->axes);
        lists->block_sizes =
            grow(lists->block_sizes, count, &lists->block_capacity, sizeof *lists->block_sizes);
        reader_skip(reader);
        const char *at = reader->at;
        lists->block_sizes[count] = 0;
        if (!reader_int(reader, &lists->axes[count]) ||
            (blocks &&
             (!reader_expect(reader, ':') || !reader_int(reader, &lists->block_sizes[count])))) {
            return false;
        }
        if (lists->axes[count] < 0 || lists->axes[count] >= INT32_MAX ||
            (blocks && lists->block_sizes[count] < 1)) {
            return reader_fail(reader, at, "not an axis and its size of blocks");
        }
        made->axis_count++;
    } while (blocks && made->axis_count < READER_MAX_RANK && reader_accept(reader, ','));
    return !blocks || reader_expect(reader, '}');
}

/* scale or scale:zero_point */
static bool read_scale(struct reader *reader, struct quantized_lists *lists)
{
    struct mlir_quantized *made = &lists->made;
    size_t count = (size_t)made->count;
    lists->scales = grow(lists->scales, count, &lists->scale_capacity, sizeof *lists->scales);
    lists->zero_points =
        grow(lists->zero_points, count, &lists->zero_capacity, sizeof *lists->zero_points);
    reader_skip(reader);
    const char *at = reader->at;
    lists->zero_points[count] = 0;
    if (made->count == INT32_MAX || !reader_float(reader, &lists->scales[count]) ||
        (reader_accept(reader, ':') && !reader_int(reader, &lists->zero_points[count]))) {
        return false;
    }
    enum type type = made->expressed->element_type;
    if (!(lists->scales[count] >= float_min_positive(type) &&
          lists->scales[count] <= float_max(type))) {
        return reader_fail(reader, at, "a scale that is no positive number of the expressed type");
    }
    made->count++;
    return true;
}

/* {scale, …}, or lists of them to the depth of `level`. */
static bool read_scales(struct reader *reader, struct quantized_lists *lists, int level)
{
    reader_skip(reader);
    const char *at = reader->at;
    int64_t count = 0;
    if (!reader_expect(reader, '{')) {
        return false;
    }
    do {
        if (!(level + 1 < lists->made.rank ? read_scales(reader, lists, level + 1)
                                           : read_scale(reader, lists))) {
            return false;
        }
        count++;
    } while (reader_accept(reader, ','));
    if (lists->counts[level] != 0 && lists->counts[level] != count) {
        return reader_fail(reader, at, "lists of scales of different lengths");
    }
    lists->counts[level] = count;
    return reader_expect(reader, '}');
}

static bool read_uniform(struct reader *reader, struct quantized_lists *lists, bool *is_text)
{
    struct mlir_quantized *made = &lists->made;
    if (!reader_expect(reader, '<') || !read_storage(reader, made, is_text)) {
        return false;
    }
    if (*is_text) {
        return true;
    }
    if (!reader_expect(reader, ':')) {
        return false;
    }
    reader_skip(reader);
    const char *at = reader->at;
    if (!reader_type(reader, &made->expressed)) {
        return false;
    }
    if (made->expressed->kind != MLIR_FLOAT || made->expressed->element_type == TYPE_INVALID) {
        return reader_fail(reader, at, "not a float type");
    }
    bool lists_of_scales = reader_accept(reader, ':');
    if ((lists_of_scales && !read_axes(reader, lists)) || !reader_expect(reader, ',')) {
        return false;
    }
    made->rank = made->axis_count > 1 ? made->axis_count : 1;
    lists->counts = memory_zalloc((size_t)made->rank * sizeof *lists->counts);
    if (!lists_of_scales) {
        lists->counts[0] = 1;
    }
    if (!(lists_of_scales ? read_scales(reader, lists, 0) : read_scale(reader, lists)) ||
        !reader_expect(reader, '>')) {
        return false;
    }
    return made->axis_count > 0 || made->count == 1 ||
           reader_fail(reader, at, "%d scales, and no axis that they go along", made->count);
}

bool reader_quantized(struct reader *reader, const struct mlir_type **type)
{
    struct quantized_lists lists = {0};
    const char *begin = reader->at;
    bool is_text = false;
    bool fine = read_uniform(reader, &lists, &is_text);
    *type = NULL;
    if (fine && is_text) {
        reader->at = begin;
    } else if (fine) {
        struct mlir_quantized *made = &lists.made;
        made->axes = lists.axes;
        made->block_sizes = lists.block_sizes;
        made->counts = lists.counts;
        made->scales = lists.scales;
        made->zero_points = lists.zero_points;
        *type = mlir_quantized(reader->file, made);
    }
    lists_finish(&lists);
    return fine;
}
