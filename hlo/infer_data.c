/* Shape inference: data movement and tuples. Source: xla/service/shape_inference.cc. */
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/infer_internal.h"

/* A copy of a shape's dimensions to change. */
struct dimensions {
    int64_t sizes[SHAPE_MAX_RANK];
    bool dynamic[SHAPE_MAX_RANK];
};

static struct dimensions dimensions_of(const struct shape *shape)
{
    struct dimensions d;
    memset(&d, 0, sizeof d);
    for (int i = 0; i < shape->rank; i++) {
        d.sizes[i] = shape->dimensions[i];
        d.dynamic[i] = shape_dimension_is_dynamic(shape, i);
    }
    return d;
}

static bool operands_at_least(const struct instruction *instruction, int count, struct error *err)
{
    if (instruction->operand_count < count) {
        infer_fail(instruction, err, "needs at least %d operands, but there are %d", count,
                   instruction->operand_count);
        return false;
    }
    return true;
}

const struct shape *infer_concatenate(const struct instruction *instruction, struct error *err)
{
    struct ints attr = attr_ints(instruction, ATTR_DIMENSIONS);
    if (!operands_at_least(instruction, 1, err) || !infer_arrays(instruction, 0, err)) {
        return NULL;
    }
    const struct shape *first = operand_shape(instruction, 0);
    if (attr.count != 1 ||
        !infer_dimensions_ok(instruction, attr, first->rank, "dimensions", err)) {
        return infer_fail(instruction, err, "dimensions must name one dimension");
    }
    int along = (int)attr.values[0];
    struct dimensions d = dimensions_of(first);
    enum type type = first->type;
    for (int k = 1; k < instruction->operand_count; k++) {
        const struct shape *shape = operand_shape(instruction, k);
        if (shape->rank != first->rank || !infer_same_type(first, shape)) {
            return infer_fail(instruction, err, "operands differ in rank or type: %s, %s",
                              shape_text(first), shape_text(shape));
        }
        type = infer_higher_type(type, shape->type);
        for (int i = 0; i < first->rank; i++) {
            if (i == along) {
                bool unbounded = d.sizes[i] == DIMENSION_UNBOUNDED ||
                                 shape->dimensions[i] == DIMENSION_UNBOUNDED;
                d.dynamic[i] |= shape_dimension_is_dynamic(shape, i);
                if (unbounded) {
                    d.sizes[i] = DIMENSION_UNBOUNDED;
                } else if (__builtin_add_overflow(d.sizes[i], shape->dimensions[i], &d.sizes[i])) {
                    return infer_fail(instruction, err, "dimension %d overflows", i);
                }
            } else if (d.sizes[i] == DIMENSION_UNBOUNDED) {
                d.sizes[i] = shape->dimensions[i];
                d.dynamic[i] = shape_dimension_is_dynamic(shape, i);
            } else if (shape->dimensions[i] != d.sizes[i] &&
                       shape->dimensions[i] != DIMENSION_UNBOUNDED) {
                return infer_fail(instruction, err, "operands differ in dimension %d: %s, %s", i,
                                  shape_text(first), shape_text(shape));
            } else if (shape->dimensions[i] != DIMENSION_UNBOUNDED) {
                d.dynamic[i] |= shape_dimension_is_dynamic(shape, i);
            }
        }
    }
    return shape_make(type, first->rank, d.sizes, d.dynamic, NULL);
}

const struct shape *infer_pad(const struct instruction *instruction, struct error *err)
{
    if (!infer_arrays(instruction, 0, err)) {
        return NULL;
    }
    const struct shape *shape = operand_shape(instruction, 0);
    const struct shape *value = operand_shape(instruction, 1);
    struct padding padding = attr_padding(instruction);
    if (value->rank != 0) {
        return infer_fail(instruction, err, "the padding value must be a scalar, but it is %s",
                          shape_text(value));
    }
    if (!infer_same_type(shape, value)) {
        return infer_fail(instruction, err, "operand and padding value differ in type: %s, %s",
                          shape_text(shape), shape_text(value));
    }
    if (padding.rank != shape->rank) {
        return infer_fail(instruction, err, "padding has rank %d, the operand %s has rank %d",
                          padding.rank, shape_text(shape), shape->rank);
    }
    struct dimensions d = dimensions_of(shape);
    for (int i = 0; i < shape->rank; i++) {
        const struct padding_dimension *p = &padding.dimensions[i];
        if (p->interior < 0) {
            return infer_fail(instruction, err, "interior padding is negative");
        }
        if (d.sizes[i] == DIMENSION_UNBOUNDED) {
            continue;
        }
        int64_t inner = 0;
        bool beyond = d.sizes[i] > 0 && __builtin_mul_overflow(d.sizes[i] - 1, p->interior, &inner);
        beyond = beyond || __builtin_add_overflow(d.sizes[i], inner, &d.sizes[i]) ||
                 __builtin_add_overflow(d.sizes[i], p->low, &d.sizes[i]) ||
                 __builtin_add_overflow(d.sizes[i], p->high, &d.sizes[i]);
        if (beyond) {
            return infer_fail(instruction, err, "the padding overflows in dimension %d", i);
        }
        if (d.sizes[i] < 0) {
            return infer_fail(instruction, err, "dimension %d would get the negative size %lld", i,
                              (long long)d.sizes[i]);
        }
    }
    return shape_make(infer_higher_type(shape->type, value->type), shape->rank, d.sizes, d.dynamic,
                      NULL);
}

const struct shape *infer_slice(const struct instruction *instruction, struct error *err)
{
    if (!infer_arrays(instruction, 0, err)) {
        return NULL;
    }
    const struct shape *shape = operand_shape(instruction, 0);
    struct slices slices = attr_slices(instruction);
    if (slices.rank != shape->rank) {
        return infer_fail(instruction, err, "slice has rank %d, the operand %s has rank %d",
                          slices.rank, shape_text(shape), shape->rank);
    }
    struct dimensions d = dimensions_of(shape);
    for (int i = 0; i < shape->rank; i++) {
        struct slice_dimension s = slices.dimensions[i];
        if (s.start < 0 || s.limit < s.start || s.stride <= 0 ||
            (d.sizes[i] != DIMENSION_UNBOUNDED && s.limit > d.sizes[i])) {
            return infer_fail(
                instruction, err, "slice [%lld:%lld:%lld] does not fit dimension %d of %s",
                (long long)s.start, (long long)s.limit, (long long)s.stride, i, shape_text(shape));
        }
        int64_t size = s.limit - s.start;
        /* A slice of the whole of a dynamic dimension stays dynamic, any other becomes static. */
        bool whole = s.start == 0 && s.limit == d.sizes[i] && s.stride == 1;
        d.dynamic[i] = d.dynamic[i] && (whole || d.sizes[i] != DIMENSION_UNBOUNDED);
        d.sizes[i] = size / s.stride + (size % s.stride != 0);
    }
    return shape_make(shape->type, shape->rank, d.sizes, d.dynamic, NULL);
}

/* Start indices: one scalar per dimension, or one vector; all of one integer type. */
static bool starts_ok(const struct instruction *instruction, int first, int rank, struct error *err)
{
    int count = instruction->operand_count - first;
    if (count == 1 && operand_shape(instruction, first)->rank == 1) {
        const struct shape *vector = operand_shape(instruction, first);
        if (vector->dimensions[0] != rank || !type_is_integer(vector->type)) {
            infer_fail(instruction, err, "start indices %s do not fit rank %d", shape_text(vector),
                       rank);
            return false;
        }
        return true;
    }
    if (count != rank) {
        infer_fail(instruction, err, "there are %d start indices for %d dimensions", count, rank);
        return false;
    }
    for (int i = first; i < instruction->operand_count; i++) {
        const struct shape *start = operand_shape(instruction, i);
        if (start->rank != 0 || !type_is_integer(start->type)) {
            infer_fail(instruction, err, "start index %d must be an integer scalar, but it is %s",
                       i - first, shape_text(start));
            return false;
        }
        if (start->type != operand_shape(instruction, first)->type) {
            infer_fail(instruction, err, "start indices must all have one type: %s, %s",
                       shape_text(operand_shape(instruction, first)), shape_text(start));
            return false;
        }
    }
    return true;
}

const struct shape *infer_dynamic_slice(const struct instruction *instruction, struct error *err)
{
    if (!operands_at_least(instruction, 1, err) || !infer_arrays(instruction, 0, err)) {
        return NULL;
    }
    const struct shape *shape = operand_shape(instruction, 0);
    struct ints sizes = attr_ints(instruction, ATTR_DYNAMIC_SLICE_SIZES);
    if (sizes.count != shape->rank) {
        return infer_fail(instruction, err, "dynamic_slice_sizes has %d entries for rank %d",
                          sizes.count, shape->rank);
    }
    for (int i = 0; i < shape->rank; i++) {
        if (sizes.values[i] < 0 || (shape->dimensions[i] != DIMENSION_UNBOUNDED &&
                                    sizes.values[i] > shape->dimensions[i])) {
            return infer_fail(instruction, err, "slice size %lld does not fit dimension %d of %s",
                              (long long)sizes.values[i], i, shape_text(shape));
        }
    }
    if (!starts_ok(instruction, 1, shape->rank, err)) {
        return NULL;
    }
    return shape_array(shape->type, shape->rank, sizes.values);
}

const struct shape *infer_dynamic_update_slice(const struct instruction *instruction,
                                               struct error *err)
{
    if (!operands_at_least(instruction, 2, err) || !infer_arrays(instruction, 0, err)) {
        return NULL;
    }
    const struct shape *shape = operand_shape(instruction, 0);
    const struct shape *update = operand_shape(instruction, 1);
    if (!infer_same_type(shape, update) || update->rank != shape->rank) {
        return infer_fail(instruction, err, "update %s does not fit operand %s", shape_text(update),
                          shape_text(shape));
    }
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dimensions[i] != DIMENSION_UNBOUNDED &&
            update->dimensions[i] != DIMENSION_UNBOUNDED &&
            update->dimensions[i] > shape->dimensions[i]) {
            return infer_fail(instruction, err, "update %s is larger than operand %s",
                              shape_text(update), shape_text(shape));
        }
    }
    return starts_ok(instruction, 2, shape->rank, err) ? shape_without_layout(shape) : NULL;
}

const struct shape *infer_transpose(const struct instruction *instruction, struct error *err)
{
    if (!infer_arrays(instruction, 0, err)) {
        return NULL;
    }
    const struct shape *shape = operand_shape(instruction, 0);
    struct ints order = attr_ints(instruction, ATTR_DIMENSIONS);
    if (order.count != shape->rank ||
        !infer_dimensions_ok(instruction, order, shape->rank, "dimensions", err)) {
        return infer_fail(instruction, err, "dimensions is not a permutation of the %d of %s",
                          shape->rank, shape_text(shape));
    }
    struct dimensions from = dimensions_of(shape), to = from;
    for (int i = 0; i < shape->rank; i++) {
        to.sizes[i] = from.sizes[order.values[i]];
        to.dynamic[i] = from.dynamic[order.values[i]];
    }
    return shape_make(shape->type, shape->rank, to.sizes, to.dynamic, NULL);
}

const struct shape *infer_reverse(const struct instruction *instruction, struct error *err)
{
    if (!infer_arrays(instruction, 0, err)) {
        return NULL;
    }
    const struct shape *shape = operand_shape(instruction, 0);
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    return infer_dimensions_ok(instruction, dimensions, shape->rank, "dimensions", err)
               ? shape_without_layout(shape)
               : NULL;
}

static bool one_dimension(const struct instruction *instruction, struct error *err)
{
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    if (!shape_is_array(operand_shape(instruction, 0)) || dimensions.count != 1 ||
        dimensions.values[0] < 0 || dimensions.values[0] >= operand_shape(instruction, 0)->rank) {
        infer_fail(instruction, err, "dimensions must name one dimension of the operand %s",
                   shape_text(operand_shape(instruction, 0)));
        return false;
    }
    return true;
}

const struct shape *infer_get_dimension_size(const struct instruction *instruction,
                                             struct error *err)
{
    return one_dimension(instruction, err) ? shape_scalar(TYPE_S32) : NULL;
}

const struct shape *infer_set_dimension_size(const struct instruction *instruction,
                                             struct error *err)
{
    if (!one_dimension(instruction, err)) {
        return NULL;
    }
    const struct shape *shape = operand_shape(instruction, 0);
    const struct shape *size = operand_shape(instruction, 1);
    if (size->rank != 0 || size->type != TYPE_S32) {
        return infer_fail(instruction, err, "the size must be s32[], but it is %s",
                          shape_text(size));
    }
    struct dimensions d = dimensions_of(shape);
    d.dynamic[attr_ints(instruction, ATTR_DIMENSIONS).values[0]] = true;
    return shape_make(shape->type, shape->rank, d.sizes, d.dynamic, NULL);
}

const struct shape *infer_tuple(const struct instruction *instruction, struct error *err)
{
    (void)err;
    const struct shape **shapes = memory_alloc((size_t)instruction->operand_count * sizeof *shapes);
    for (int i = 0; i < instruction->operand_count; i++) {
        shapes[i] = operand_shape(instruction, i);
    }
    const struct shape *shape = shape_tuple(instruction->operand_count, shapes);
    free(shapes);
    return shape;
}

const struct shape *infer_get_tuple_element(const struct instruction *instruction,
                                            struct error *err)
{
    const struct shape *shape = operand_shape(instruction, 0);
    int64_t index = attr_int(instruction, ATTR_INDEX, -1);
    if (!shape_is_tuple(shape)) {
        return infer_fail(instruction, err, "the operand must be a tuple, but it is %s",
                          shape_text(shape));
    }
    if (index < 0 || index >= shape->count) {
        return infer_fail(instruction, err, "index %lld is out of the range of %s",
                          (long long)index, shape_text(shape));
    }
    return shape->elements[index];
}

/* --- gather and scatter: xla/service/shape_inference.cc ValidateGatherDimensionNumbers --- */

static bool is_sorted(struct ints dimensions)
{
    for (int i = 1; i < dimensions.count; i++) {
        if (dimensions.values[i - 1] >= dimensions.values[i]) {
            return false;
        }
    }
    return true;
}

/* The dimensions of the indices but for the index vector, in order. */
static int index_dimensions(const struct shape *indices, int64_t vector, int64_t *sizes,
                            bool *dynamic)
{
    int count = 0;
    for (int i = 0; i < indices->rank; i++) {
        if (i != vector) {
            sizes[count] = indices->dimensions[i];
            dynamic[count++] = shape_dimension_is_dynamic(indices, i);
        }
    }
    return count;
}

const struct shape *infer_gather(const struct instruction *instruction, struct error *err)
{
    if (!infer_arrays(instruction, 0, err)) {
        return NULL;
    }
    const struct shape *operand = operand_shape(instruction, 0);
    const struct shape *indices = operand_shape(instruction, 1);
    struct ints offset = attr_ints(instruction, ATTR_OFFSET_DIMS);
    struct ints collapsed = attr_ints(instruction, ATTR_COLLAPSED_SLICE_DIMS);
    struct ints map = attr_ints(instruction, ATTR_START_INDEX_MAP);
    struct ints batching = attr_ints(instruction, ATTR_OPERAND_BATCHING_DIMS);
    struct ints index_batching = attr_ints(instruction, ATTR_START_INDICES_BATCHING_DIMS);
    struct ints sizes = attr_ints(instruction, ATTR_SLICE_SIZES);
    int64_t vector = attr_int(instruction, ATTR_INDEX_VECTOR_DIM, 0);
    if (!type_is_integer(indices->type)) {
        return infer_fail(instruction, err, "indices must be integers, but they are %s",
                          shape_text(indices));
    }
    if (vector < 0 || vector > indices->rank) {
        return infer_fail(instruction, err, "index_vector_dim is out of range");
    }
    int64_t batch_sizes[SHAPE_MAX_RANK];
    bool batch_dynamic[SHAPE_MAX_RANK];
    int batch = index_dimensions(indices, vector, batch_sizes, batch_dynamic);
    int rank = batch + offset.count;
    int64_t components = vector == indices->rank ? 1 : indices->dimensions[vector];
    if (rank > SHAPE_MAX_RANK) {
        return infer_fail(instruction, err, "the result has too many dimensions");
    }
    if (!infer_dimensions_ok(instruction, offset, rank, "offset_dims", err) ||
        !infer_dimensions_ok(instruction, collapsed, operand->rank, "collapsed_slice_dims", err) ||
        !infer_dimensions_ok(instruction, batching, operand->rank, "operand_batching_dims", err) ||
        !infer_dimensions_ok(instruction, index_batching, indices->rank,
                             "start_indices_batching_dims", err) ||
        !infer_dimensions_ok(instruction, map, operand->rank, "start_index_map", err)) {
        return NULL;
    }
    if (!is_sorted(offset) || !is_sorted(collapsed) || !is_sorted(batching)) {
        return infer_fail(instruction, err,
                          "offset_dims, collapsed_slice_dims and operand_batching_dims must be "
                          "sorted");
    }
    if (map.count != components && components != DIMENSION_UNBOUNDED) {
        return infer_fail(instruction, err,
                          "start_index_map has %d entries, but an index has %lld components",
                          map.count, (long long)components);
    }
    if (sizes.count != operand->rank ||
        offset.count + collapsed.count + batching.count != operand->rank) {
        return infer_fail(instruction, err,
                          "slice_sizes, offset_dims, collapsed_slice_dims and batching dims do "
                          "not fit the operand's rank %d",
                          operand->rank);
    }
    if (batching.count != index_batching.count) {
        return infer_fail(instruction, err,
                          "batching dims of operand and indices differ in number");
    }
    for (int i = 0; i < batching.count; i++) {
        if (infer_contains(collapsed, batching.values[i]) ||
            infer_contains(map, batching.values[i])) {
            return infer_fail(instruction, err,
                              "dimension %lld is a batching dimension and another one too",
                              (long long)batching.values[i]);
        }
        /* XLA lets sizes differ, but then says nothing of what lies beyond; StableHLO refuses. */
        if (index_batching.values[i] == vector ||
            operand->dimensions[batching.values[i]] !=
                indices->dimensions[index_batching.values[i]]) {
            return infer_fail(instruction, err, "batching dimensions differ in size");
        }
    }
    for (int i = 0; i < operand->rank; i++) {
        int64_t bound = operand->dimensions[i];
        if (sizes.values[i] < 0 || (bound != DIMENSION_UNBOUNDED && sizes.values[i] > bound)) {
            return infer_fail(instruction, err, "slice size %lld does not fit dimension %d of %s",
                              (long long)sizes.values[i], i, shape_text(operand));
        }
        if ((infer_contains(collapsed, i) || infer_contains(batching, i)) && sizes.values[i] > 1) {
            return infer_fail(instruction, err,
                              "slice size of collapsed or batching dimension %d must be 0 or 1", i);
        }
    }
    int64_t out[SHAPE_MAX_RANK];
    bool dynamic[SHAPE_MAX_RANK] = {false};
    int next_batch = 0, next_operand = 0;
    for (int i = 0; i < rank; i++) {
        if (infer_contains(offset, i)) {
            while (infer_contains(collapsed, next_operand) ||
                   infer_contains(batching, next_operand)) {
                next_operand++;
            }
            out[i] = sizes.values[next_operand];
            dynamic[i] = shape_dimension_is_dynamic(operand, next_operand) &&
                         out[i] == operand->dimensions[next_operand];
            next_operand++;
        } else {
            out[i] = batch_sizes[next_batch];
            dynamic[i] = batch_dynamic[next_batch++];
        }
    }
    return shape_make(operand->type, rank, out, dynamic, NULL);
}

/* Checks one operand and its updates; the operands come first, then the indices, then the
 * updates. */
static bool scatter_fits(const struct instruction *instruction, const struct shape *operand,
                         const struct shape *indices, const struct shape *updates,
                         struct error *err)
{
    struct ints window = attr_ints(instruction, ATTR_UPDATE_WINDOW_DIMS);
    struct ints inserted = attr_ints(instruction, ATTR_INSERTED_WINDOW_DIMS);
    struct ints batching = attr_ints(instruction, ATTR_INPUT_BATCHING_DIMS);
    struct ints index_batching = attr_ints(instruction, ATTR_SCATTER_INDICES_BATCHING_DIMS);
    struct ints map = attr_ints(instruction, ATTR_SCATTER_DIMS_TO_OPERAND_DIMS);
    int64_t vector = attr_int(instruction, ATTR_INDEX_VECTOR_DIM, 0);
    int64_t batch_sizes[SHAPE_MAX_RANK];
    bool batch_dynamic[SHAPE_MAX_RANK];
    int batch = index_dimensions(indices, vector, batch_sizes, batch_dynamic);
    int64_t components = vector == indices->rank ? 1 : indices->dimensions[vector];
    if (!infer_dimensions_ok(instruction, window, updates->rank, "update_window_dims", err) ||
        !infer_dimensions_ok(instruction, inserted, operand->rank, "inserted_window_dims", err) ||
        !infer_dimensions_ok(instruction, batching, operand->rank, "input_batching_dims", err) ||
        !infer_dimensions_ok(instruction, index_batching, indices->rank,
                             "scatter_indices_batching_dims", err) ||
        !infer_dimensions_ok(instruction, map, operand->rank, "scatter_dims_to_operand_dims",
                             err)) {
        return false;
    }
    if (!is_sorted(window) || !is_sorted(inserted) || !is_sorted(batching)) {
        infer_fail(instruction, err,
                   "update_window_dims, inserted_window_dims and input_batching_dims must be "
                   "sorted");
        return false;
    }
    if (map.count != components || updates->rank != batch + window.count ||
        operand->rank != window.count + inserted.count + batching.count ||
        batching.count != index_batching.count || !infer_same_type(operand, updates)) {
        infer_fail(instruction, err,
                   "operand %s, indices %s and updates %s do not fit the dimension numbers",
                   shape_text(operand), shape_text(indices), shape_text(updates));
        return false;
    }
    for (int i = 0; i < batching.count; i++) {
        if (infer_contains(inserted, batching.values[i]) ||
            infer_contains(map, batching.values[i]) || index_batching.values[i] == vector ||
            operand->dimensions[batching.values[i]] !=
                indices->dimensions[index_batching.values[i]]) {
            infer_fail(instruction, err, "batching dimension %lld does not fit",
                       (long long)batching.values[i]);
            return false;
        }
    }
    int next_batch = 0, next_operand = 0;
    for (int i = 0; i < updates->rank; i++) {
        if (infer_contains(window, i)) {
            while (infer_contains(inserted, next_operand) ||
                   infer_contains(batching, next_operand)) {
                next_operand++;
            }
            if (updates->dimensions[i] > operand->dimensions[next_operand++]) {
                infer_fail(instruction, err, "update window is larger than the operand: %s, %s",
                           shape_text(updates), shape_text(operand));
                return false;
            }
        } else if (updates->dimensions[i] != batch_sizes[next_batch++]) {
            infer_fail(instruction, err, "updates %s do not fit the indices %s",
                       shape_text(updates), shape_text(indices));
            return false;
        }
    }
    return true;
}

const struct shape *infer_scatter(const struct instruction *instruction, struct error *err)
{
    int count = instruction->operand_count / 2;
    if (instruction->operand_count < 3 || instruction->operand_count % 2 == 0) {
        return infer_fail(instruction, err, "needs N operands, the indices and N updates");
    }
    if (!infer_arrays(instruction, 0, err)) {
        return NULL;
    }
    const struct shape *indices = operand_shape(instruction, count);
    int64_t vector = attr_int(instruction, ATTR_INDEX_VECTOR_DIM, 0);
    if (!type_is_integer(indices->type) || vector < 0 || vector > indices->rank) {
        return infer_fail(instruction, err,
                          "indices %s are not integers or index_vector_dim is "
                          "out of range",
                          shape_text(indices));
    }
    const struct shape **shapes = memory_alloc(2 * (size_t)count * sizeof *shapes);
    const struct shape **updates = shapes + count;
    bool ok = true;
    for (int i = 0; ok && i < count; i++) {
        shapes[i] = shape_without_layout(operand_shape(instruction, i));
        updates[i] = operand_shape(instruction, count + 1 + i);
        ok = scatter_fits(instruction, shapes[i], indices, updates[i], err);
    }
    ok = ok && (instruction->called_count == 0 ||
                infer_reducer(instruction, instruction->called[0], count, shapes, updates, err));
    const struct shape *result = ok ? infer_tuple_if_many(count, shapes) : NULL;
    free(shapes);
    return result;
}
