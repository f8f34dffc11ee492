/* Convolutions by matrix products: patches and kernel columns as exact_dot wants them. */
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "interp/convolution_plan.h"
#include "interp/walk.h"

/* A dimension of the rows: the batch, or a spatial dimension. */
struct row_dimension {
    int spatial; /* or -1: the batch */
    int64_t size, output_stride;
};

struct products {
    const struct convolution *convolution;
    const char *input, *kernel; /* of the group */
    char *output;
    float *bounds;   /* of its elements, or NULL */
    int64_t columns; /* output features of a group */
    bool pixels;
    int row_rank;
    struct row_dimension rows[SHAPE_MAX_RANK];
    int64_t taps;
    int64_t *tap_places; /* [taps][rank]: where a tap lies beside a patch's first */
    int64_t *tap_kernel; /* [taps]: its offset in the kernel */
    /* pixels: runs of contiguous k. A run is the features under one tap, or under all taps of the
     * last dimension where those are contiguous too (`merged`). */
    bool merged;
    int64_t run;
    int64_t *run_offset; /* [runs]: from a patch's first element, where there are no holes */
};

int64_t convolution_rows(const struct convolution *convolution)
{
    int64_t rows = convolution->batches;
    for (int d = 0; d < convolution->rank; d++) {
        rows *= convolution->dimensions[d].output_size;
    }
    return rows;
}

int64_t convolution_taps(const struct convolution *convolution)
{
    int64_t taps = 1;
    for (int d = 0; d < convolution->rank; d++) {
        taps *= convolution->dimensions[d].kernel_size;
    }
    return taps;
}

/* --- rows --- */

static void unravel_row(const struct products *products, int64_t row, int64_t *index)
{
    for (int i = products->row_rank - 1; i >= 0; i--) {
        index[i] = row % products->rows[i].size;
        row /= products->rows[i].size;
    }
}

static void next_row(const struct products *products, int64_t *index)
{
    for (int i = products->row_rank - 1; i >= 0 && ++index[i] == products->rows[i].size; i--) {
        index[i] = 0;
    }
}

/* The first place of a row's patch in each spatial dimension (holes counted); returns the offset
 * of the row's batch. */
static int64_t row_places(const struct products *products, const int64_t *index, int64_t *places)
{
    const struct convolution *convolution = products->convolution;
    int64_t offset = 0;
    for (int i = 0; i < products->row_rank; i++) {
        int spatial = products->rows[i].spatial;
        if (spatial < 0) {
            offset = index[i] * convolution->input_batch_stride;
        } else {
            const struct convolution_dimension *dimension = &convolution->dimensions[spatial];
            places[spatial] = index[i] * dimension->stride - dimension->padding;
        }
    }
    return offset;
}

/* Turns a place into an offset; false where there is padding or a hole. */
static bool resolve(const struct convolution_dimension *dimension, int64_t place, int64_t *offset)
{
    if (dimension->hole_step > 1) {
        if (place < 0 || place % dimension->hole_step != 0) {
            return false;
        }
        place /= dimension->hole_step;
    }
    if (place < 0 || place >= dimension->input_size) {
        return false;
    }
    *offset += place * dimension->input_stride;
    return true;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* --- patches, pixels --- */

static void load(const struct products *products, const char *from, int64_t offset, int64_t stride,
                 char *to, int64_t count)
{
    const struct convolution *convolution = products->convolution;
    enum type type = convolution->input_type;
    contract_load(&convolution->format, type, from + offset * type_bytes(type), stride, to, count);
}

/* One run, or a part of it: elements [within, within + count). */
static void fill_run(const struct products *products, const int64_t *places, int64_t offset,
                     int64_t run, int64_t within, int64_t count, char *to)
{
    const struct convolution *convolution = products->convolution;
    int lane = contract_lane_bytes(convolution->format.class);
    int last = convolution->rank - 1;
    int64_t tap = run;
    int64_t first = 0, end = products->run; /* the elements that exist */
    if (products->merged) {
        const struct convolution_dimension *dimension = &convolution->dimensions[last];
        int64_t unit = dimension->input_stride;
        tap = run * dimension->kernel_size;
        int64_t begin = most(0, -places[last]);
        first = begin * unit;
        end = least(dimension->kernel_size, dimension->input_size - places[last]) * unit;
        offset += places[last] * unit;
    }
    const int64_t *tap_places = products->tap_places + tap * convolution->rank;
    bool exists = true;
    for (int d = 0; d < convolution->rank - (products->merged ? 1 : 0) && exists; d++) {
        exists = resolve(&convolution->dimensions[d], places[d] + tap_places[d], &offset);
    }
    first = most(first, within);
    end = least(end, within + count);
    if (!exists || first >= end) {
        memset(to, 0, (size_t)(count * lane));
        return;
    }
    memset(to, 0, (size_t)((first - within) * lane));
    load(products, products->input, offset + first, 1, to + (first - within) * lane, end - first);
    memset(to + (end - within) * lane, 0, (size_t)((within + count - end) * lane));
}

/* Whether the whole patch lies inside the input, which has no holes. */
static bool is_inside(const struct convolution *convolution, const int64_t *places, int64_t *offset)
{
    bool inside = true;
    for (int d = 0; d < convolution->rank; d++) {
        const struct convolution_dimension *dimension = &convolution->dimensions[d];
        int64_t reach = (dimension->kernel_size - 1) * dimension->tap_step;
        inside &= places[d] >= 0 && places[d] + reach < dimension->input_size &&
                  dimension->hole_step == 1;
        *offset += places[d] * dimension->input_stride;
    }
    return inside;
}

static void fill_pixels(const void *context, int64_t first, int64_t count, int64_t k, int64_t depth,
                        double *out, int64_t step)
{
    const struct products *products = context;
    int lane = contract_lane_bytes(products->convolution->format.class);
    int64_t index[SHAPE_MAX_RANK], places[SHAPE_MAX_RANK] = {0};
    unravel_row(products, first, index);
    for (int64_t i = 0; i < count; i++, next_row(products, index)) {
        int64_t batch = row_places(products, index, places);
        int64_t whole = batch;
        bool inside = is_inside(products->convolution, places, &whole);
        char *to = (char *)out + i * step * lane;
        int64_t run = k / products->run, within = k % products->run;
        for (int64_t done = 0; done < depth; run++, within = 0) {
            int64_t part = least(products->run - within, depth - done);
            if (inside) {
                load(products, products->input, whole + products->run_offset[run] + within, 1, to,
                     part);
            } else {
                fill_run(products, places, batch, run, within, part, to);
            }
            done += part;
            to += part * lane;
        }
    }
}

/* --- patches, planes --- */

/* The same k of `count` rows that differ only in the innermost row dimension, from `begin` on. */
static void fill_line(const struct products *products, int64_t begin, int64_t count,
                      int64_t tap_place, int64_t offset, char *to)
{
    const struct convolution *convolution = products->convolution;
    int lane = contract_lane_bytes(convolution->format.class);
    int spatial = products->rows[products->row_rank - 1].spatial;
    if (spatial < 0) {
        load(products, products->input, offset + begin * convolution->input_batch_stride,
             convolution->input_batch_stride, to, count);
        return;
    }
    const struct convolution_dimension *dimension = &convolution->dimensions[spatial];
    int64_t start = begin * dimension->stride - dimension->padding + tap_place;
    if (dimension->hole_step > 1) {
        for (int64_t i = 0; i < count; i++, to += lane) {
            int64_t element = offset;
            if (resolve(dimension, start + i * dimension->stride, &element)) {
                load(products, products->input, element, 1, to, 1);
            } else {
                memset(to, 0, (size_t)lane);
            }
        }
        return;
    }
    int64_t first, last;
    walk_clip(count, dimension->stride, start, dimension->input_size, &first, &last);
    memset(to, 0, (size_t)(first * lane));
    if (first < last) {
        load(products, products->input,
             offset + (start + first * dimension->stride) * dimension->input_stride,
             dimension->stride * dimension->input_stride, to + first * lane, last - first);
    }
    memset(to + last * lane, 0, (size_t)((count - last) * lane));
}

static void fill_planes(const void *context, int64_t first, int64_t count, int64_t k, int64_t depth,
                        double *out, int64_t step)
{
    const struct products *products = context;
    const struct convolution *convolution = products->convolution;
    int lane = contract_lane_bytes(convolution->format.class);
    int inner = products->row_rank - 1;
    int inner_spatial = products->rows[inner].spatial;
    int64_t index[SHAPE_MAX_RANK], places[SHAPE_MAX_RANK] = {0};
    unravel_row(products, first, index);
    for (int64_t done = 0; done < count;) {
        int64_t begin = index[inner];
        int64_t part = least(products->rows[inner].size - begin, count - done);
        int64_t batch = row_places(products, index, places);
        if (inner_spatial < 0) {
            batch -= begin * convolution->input_batch_stride;
        }
        int64_t piece = k % convolution->parts, rest = k / convolution->parts;
        int64_t tap = rest / convolution->group_features;
        int64_t feature = rest % convolution->group_features;
        for (int64_t d = 0; d < depth; d++) {
            const int64_t *tap_places = products->tap_places + tap * convolution->rank;
            char *to = (char *)out + (d * step + done) * lane;
            int64_t offset = batch + feature * convolution->input_feature_stride + piece;
            bool exists = true;
            for (int s = 0; s < convolution->rank && exists; s++) {
                exists = s == inner_spatial ||
                         resolve(&convolution->dimensions[s], places[s] + tap_places[s], &offset);
            }
            if (exists) {
                int64_t tap_place = inner_spatial < 0 ? 0 : tap_places[inner_spatial];
                fill_line(products, begin, part, tap_place, offset, to);
            } else {
                memset(to, 0, (size_t)(part * lane));
            }
            if (++piece == convolution->parts) {
                piece = 0;
                if (++feature == convolution->group_features) {
                    feature = 0;
                    tap++;
                }
            }
        }
        done += part;
        index[inner] = products->rows[inner].size - 1;
        next_row(products, index);
    }
}

/* --- kernel --- */

static void load_kernel(const struct products *products, int64_t offset, int64_t stride, char *to,
                        int64_t count)
{
    const struct convolution *convolution = products->convolution;
    enum type type = convolution->kernel_type;
    contract_load(&convolution->format, type, products->kernel + offset * type_bytes(type), stride,
                  to, count);
}

/* Where in the kernel the k-th factor of output feature 0 lies (parts not counted in k). */
static int64_t kernel_offset(const struct products *products, int64_t k)
{
    const struct convolution *convolution = products->convolution;
    return products->tap_kernel[k / convolution->group_features] +
           k % convolution->group_features * convolution->kernel_input_stride;
}

static void fill_kernel_across(const void *context, int64_t first, int64_t count, int64_t k,
                               int64_t depth, double *out, int64_t step)
{
    const struct products *products = context;
    int lane = contract_lane_bytes(products->convolution->format.class);
    int64_t stride = products->convolution->kernel_output_stride;
    for (int64_t d = 0; d < depth; d++) {
        load_kernel(products, kernel_offset(products, k + d) + first * stride, stride,
                    (char *)out + d * step * lane, count);
    }
}

static void fill_kernel_along(const void *context, int64_t first, int64_t count, int64_t k,
                              int64_t depth, double *out, int64_t step)
{
    const struct products *products = context;
    const struct convolution *convolution = products->convolution;
    int lane = contract_lane_bytes(convolution->format.class);
    int64_t run = convolution->group_features;
    for (int64_t i = 0; i < count; i++) {
        int64_t column = (first + i) * convolution->kernel_output_stride;
        for (int64_t done = 0; done < depth;) {
            int64_t part = least(run - (k + done) % run, depth - done);
            load_kernel(products, kernel_offset(products, k + done) + column,
                        convolution->kernel_input_stride, (char *)out + (i * step + done) * lane,
                        part);
            done += part;
        }
    }
}

/* Complex: vector 2j meets (re, −im), vector 2j + 1 meets (im, re). */
static void fill_kernel_complex(const void *context, int64_t first, int64_t count, int64_t k,
                                int64_t depth, double *out, int64_t step)
{
    const struct products *products = context;
    for (int64_t i = 0; i < count; i++) {
        int64_t column = (first + i) / 2 * products->convolution->kernel_output_stride;
        int64_t part = (first + i) % 2;
        for (int64_t d = 0; d < depth; d++) {
            int64_t side = (k + d) % 2;
            double *to = out + i * step + d;
            load_kernel(products,
                        kernel_offset(products, (k + d) / 2) + column + (part != side ? 1 : 0), 1,
                        (char *)to, 1);
            if (part == 0 && side == 1) {
                *to = -*to;
            }
        }
    }
}

/* --- results --- */

static void emit_rows(void *context, int64_t first_row, int64_t rows, int64_t first_column,
                      int64_t columns, const double *values, int64_t step)
{
    const struct products *products = context;
    const struct convolution *convolution = products->convolution;
    const struct contract_format *format = &convolution->format;
    int lane = contract_lane_bytes(format->class);
    int bytes = type_bytes(format->type);
    int parts = convolution->parts;
    int64_t column_stride = convolution->output_feature_stride;
    int inner = products->row_rank - 1;
    int64_t inner_stride = products->rows[inner].output_stride;
    bool by_row = column_stride == parts;
    int64_t index[SHAPE_MAX_RANK];
    unravel_row(products, first_row, index);
    for (int64_t done = 0; done < rows;) {
        int64_t offset = 0;
        for (int i = 0; i < products->row_rank; i++) {
            offset += index[i] * products->rows[i].output_stride;
        }
        int64_t part = by_row ? 1 : least(products->rows[inner].size - index[inner], rows - done);
        const char *from = (const char *)values + done * step * lane;
        if (by_row) {
            contract_store(format, from, 1, products->output + (offset + first_column) * bytes, 1,
                           columns);
        } else {
            for (int64_t j = 0; j < columns; j++) {
                int64_t column = first_column + j;
                int64_t place = offset + column / parts * column_stride + column % parts;
                contract_store(format, from + j * lane, step, products->output + place * bytes,
                               inner_stride, part);
            }
        }
        done += part;
        index[inner] += part - 1;
        next_row(products, index);
    }
}

/* The bounds of the same sums. */
static void emit_bounds(void *context, int64_t first_row, int64_t rows, int64_t first_column,
                        int64_t columns, const double *values, int64_t step)
{
    const struct products *sums = context;
    struct convolution convolution = *sums->convolution;
    struct products bounds = *sums;
    convolution.format.type = TYPE_F32;
    bounds.convolution = &convolution;
    bounds.output = (char *)sums->bounds;
    emit_rows(&bounds, first_row, rows, first_column, columns, values, step);
}

/* --- the plan --- */

/* The innermost row dimension: for planes, the one that is densest in the input. */
static void order_rows(struct products *products)
{
    const struct convolution *convolution = products->convolution;
    int inner = -1;
    int64_t density = convolution->batches > 1 ? convolution->input_batch_stride : INT64_MAX;
    for (int d = 0; d < convolution->rank; d++) {
        const struct convolution_dimension *dimension = &convolution->dimensions[d];
        int64_t step = dimension->input_stride * dimension->stride;
        if (products->pixels || (dimension->output_size > 1 && step < density)) {
            density = step;
            inner = d;
        }
    }
    for (int spatial = -1; spatial <= convolution->rank; spatial++) {
        int which = spatial == convolution->rank ? inner : spatial;
        if (which == inner && spatial != convolution->rank) {
            continue;
        }
        products->rows[products->row_rank++] = (struct row_dimension){
            .spatial = which,
            .size = which < 0 ? convolution->batches : convolution->dimensions[which].output_size,
            .output_stride = which < 0 ? convolution->output_batch_stride
                                       : convolution->dimensions[which].output_stride,
        };
    }
}

/* Are the taps of the last dimension contiguous with the features under them? */
static bool can_merge(const struct convolution *convolution)
{
    if (convolution->rank == 0) {
        return false;
    }
    const struct convolution_dimension *last = &convolution->dimensions[convolution->rank - 1];
    return last->input_stride == convolution->group_features * convolution->parts &&
           last->tap_step == 1 && last->hole_step == 1 && last->kernel_size > 1;
}

static bool plan(struct products *products, struct error *err)
{
    const struct convolution *convolution = products->convolution;
    int rank = convolution->rank;
    int64_t unit = convolution->group_features * convolution->parts;
    bool dense_features = convolution->input_feature_stride == convolution->parts;
    bool dense_rows = convolution->input_batch_stride == 1 && convolution->batches > 1;
    for (int d = 0; d < rank; d++) {
        dense_rows |= convolution->dimensions[d].input_stride == 1 &&
                      convolution->dimensions[d].input_size > 1;
    }
    products->pixels = dense_features && (unit > 1 || !dense_rows);
    products->merged = products->pixels && can_merge(convolution);
    order_rows(products);
    products->taps = convolution_taps(convolution);
    size_t taps = (size_t)products->taps;
    products->tap_places = calloc(taps * (size_t)(rank + 1) + 1, sizeof *products->tap_places);
    products->tap_kernel = calloc(taps + 1, sizeof *products->tap_kernel);
    products->run_offset = calloc(taps + 1, sizeof *products->run_offset);
    if (products->tap_places == NULL || products->tap_kernel == NULL ||
        products->run_offset == NULL) {
        return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for %zu taps of a window", taps);
    }
    int64_t group = products->merged ? convolution->dimensions[rank - 1].kernel_size : 1;
    products->run = most(group * unit, 1);
    for (int64_t tap = 0; tap < products->taps; tap++) {
        int64_t rest = tap, offset = 0;
        for (int d = rank - 1; d >= 0; d--) {
            const struct convolution_dimension *dimension = &convolution->dimensions[d];
            int64_t at = rest % dimension->kernel_size;
            rest /= dimension->kernel_size;
            int64_t place = at * dimension->tap_step;
            products->tap_places[tap * rank + d] = place;
            products->tap_kernel[tap] +=
                (dimension->reversal ? dimension->kernel_size - 1 - at : at) *
                dimension->kernel_stride;
            offset += place * dimension->input_stride;
        }
        if (tap % group == 0) {
            products->run_offset[tap / group] = offset;
        }
    }
    return true;
}

static bool multiply(struct products *products, struct error *err)
{
    const struct convolution *convolution = products->convolution;
    bool complex = convolution->parts == 2;
    bool across = !complex && convolution->kernel_output_stride < convolution->kernel_input_stride;
    struct exact_dot_operand patches = {
        .fill = products->pixels ? fill_pixels : fill_planes,
        .context = products,
        .vectors = convolution_rows(convolution),
        .across = !products->pixels,
        .wide = contract_is_wide(convolution->input_type),
    };
    struct exact_dot_operand kernel = {
        .fill = complex  ? fill_kernel_complex
                : across ? fill_kernel_across
                         : fill_kernel_along,
        .context = products,
        .vectors = products->columns * convolution->parts,
        .across = across,
        .wide = contract_is_wide(convolution->kernel_type),
    };
    int64_t depth = products->taps * convolution->group_features * convolution->parts;
    return convolution->bounds == NULL
               ? contract(&convolution->format, &patches, &kernel, depth, emit_rows, products, err)
               : exact_dot_bounded(&patches, &kernel, depth, emit_rows, emit_bounds, products, err);
}

bool convolution_by_products(const struct convolution *convolution, struct error *err)
{
    int64_t groups = convolution->feature_groups * convolution->batch_groups;
    if (convolution->output_features == 0 || convolution_rows(convolution) == 0) {
        return true;
    }
    struct products products = {
        .convolution = convolution,
        .columns = convolution->output_features / groups,
    };
    bool ok = plan(&products, err);
    for (int64_t group = 0; ok && group < groups; group++) {
        int64_t batch = convolution->batch_groups > 1 ? group * convolution->batches : 0;
        int64_t feature = convolution->feature_groups > 1 ? group * convolution->group_features : 0;
        int64_t column = group * products.columns;
        products.input = convolution->input + (batch * convolution->input_batch_stride +
                                               feature * convolution->input_feature_stride) *
                                                  type_bytes(convolution->input_type);
        products.kernel = convolution->kernel + column * convolution->kernel_output_stride *
                                                    type_bytes(convolution->kernel_type);
        products.output = convolution->output + column * convolution->output_feature_stride *
                                                    type_bytes(convolution->format.type);
        products.bounds = convolution->bounds == NULL
                              ? NULL
                              : convolution->bounds + column * convolution->output_feature_stride;
        ok = multiply(&products, err);
    }
    free(products.tap_places);
    free(products.tap_kernel);
    free(products.run_offset);
    return ok;
}
