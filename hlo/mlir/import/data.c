/* Ops that move data: constants, iota, broadcasts, reshapes, slices.
 * Source: StableHLO's specification. */
#include <string.h>

#include "hlo/literal.h"
#include "hlo/mlir/import/build.h"
#include "hlo/mlir/import/import_internal.h"

/* Are all elements the same? */
static bool is_uniform(const struct mlir_attr *value, const struct shape *shape)
{
    if (value->kind != MLIR_ATTR_DENSE || !shape_is_array(shape) || value->type->element == NULL ||
        value->type->element->element_type != shape->type ||
        value->dense.count != shape_elements(shape)) {
        return false;
    }
    size_t size = (size_t)type_bytes(shape->type);
    const char *data = value->dense.data;
    return value->dense.splat ||
           memcmp(data, data + size, ((size_t)value->dense.count - 1) * size) == 0;
}

/* Several elements that are all the same are the broadcast of a scalar, as in XLA
 * (XlaBuilder::ConstantLiteral). */
bool translate_constant(struct scope *scope, const struct mlir_op *op)
{
    const struct mlir_attr *value = mlir_op_attr(op, "value");
    if (op->operand_count != 0 || op->result_count != 1 || value == NULL) {
        return import_fail(scope, op, "needs a value and has one result");
    }
    const struct shape *shape = import_result_shape(scope, op, 0, NULL);
    if (shape == NULL) {
        return false;
    }
    if (shape_elements(shape) <= 1 || !is_uniform(value, shape)) {
        struct literal *literal = import_dense(scope, op, value);
        return literal != NULL &&
               import_bind_results(scope, op, import_constant(scope, op, literal));
    }
    struct literal *scalar = literal_zero(shape_scalar(shape->type), scope->importer->err);
    if (scalar == NULL) {
        return false;
    }
    memcpy(literal_data(scalar), value->dense.data, (size_t)type_bytes(shape->type));
    struct instruction *constant = import_constant(scope, op, scalar);
    return import_bind_results(scope, op, import_broadcast(scope, op, constant, shape, 0, NULL));
}

bool translate_iota(struct scope *scope, const struct mlir_op *op)
{
    int64_t dimension = -1;
    if (build_operands(scope, op, 0, 1, 0) == NULL ||
        !import_int_attr(scope, op, "iota_dimension", &dimension)) {
        return false;
    }
    const struct shape *shape = import_result_shape(scope, op, 0, NULL);
    if (shape == NULL) {
        return false;
    }
    if (dimension < 0 || dimension >= shape->rank) {
        return import_fail(scope, op, "iota_dimension must be a dimension of the result");
    }
    struct instruction *iota = import_add(scope, op, OP_IOTA, shape, 0, NULL);
    import_set_int(iota, ATTR_IOTA_DIMENSION, dimension);
    return import_bind_results(scope, op, iota);
}

/* --- broadcasts --- */

/* broadcast_sizes, then the operand's dimensions. */
bool translate_broadcast(struct scope *scope, const struct mlir_op *op)
{
    struct ints sizes = {0};
    struct instruction **operands = build_operands(scope, op, 1, 1, 0);
    if (operands == NULL || !import_ints_attr(scope, op, "broadcast_sizes", &sizes)) {
        return false;
    }
    const struct shape *from = operands[0]->shape;
    if (!shape_is_array(from) || sizes.count + from->rank > SHAPE_MAX_RANK) {
        return import_fail(scope, op, "broadcasts a tensor");
    }
    int64_t all[SHAPE_MAX_RANK], dimensions[SHAPE_MAX_RANK];
    bool dynamic[SHAPE_MAX_RANK] = {false};
    for (int i = 0; i < sizes.count; i++) {
        all[i] = sizes.values[i];
        if (all[i] < 0) {
            return import_fail(scope, op, "broadcast_sizes must not be negative");
        }
    }
    for (int i = 0; i < from->rank; i++) {
        dimensions[i] = sizes.count + i;
        all[sizes.count + i] = from->dimensions[i];
        dynamic[sizes.count + i] = shape_dimension_is_dynamic(from, i);
    }
    const struct shape *shape = import_result_shape(
        scope, op, 0, shape_make(from->type, sizes.count + from->rank, all, dynamic, NULL));
    return shape != NULL &&
           import_bind_results(
               scope, op, import_broadcast(scope, op, operands[0], shape, from->rank, dimensions));
}

struct instruction *import_broadcast_in_dim(struct scope *scope, const struct mlir_op *op,
                                            struct instruction *from, const struct shape *shape,
                                            int count, const int64_t *dimensions)
{
    const struct shape *given = from->shape;
    if (!shape_is_array(given) || given->rank != count) {
        import_fail(scope, op, "%d dimensions are named, but the operand has %d", count,
                    given->rank);
        return NULL;
    }
    bool seen[SHAPE_MAX_RANK] = {false};
    int64_t kept[SHAPE_MAX_RANK], sizes[SHAPE_MAX_RANK];
    bool dynamic[SHAPE_MAX_RANK];
    int kept_count = 0;
    for (int i = 0; i < count; i++) {
        int64_t to = dimensions[i];
        if (to < 0 || to >= shape->rank || seen[to]) {
            import_fail(scope, op,
                        "broadcast_dimensions must be different dimensions of the "
                        "result");
            return NULL;
        }
        seen[to] = true;
        int64_t size = given->dimensions[i];
        if (size != shape->dimensions[to] && size != 1) {
            import_fail(scope, op, "dimension %d, of size %lld, does not fit %s", i,
                        (long long)size, shape_text(shape));
            return NULL;
        }
        if (size == shape->dimensions[to]) {
            kept[kept_count] = to;
            sizes[kept_count] = size;
            dynamic[kept_count++] = shape_dimension_is_dynamic(given, i);
        }
    }
    if (kept_count < count) {
        const struct shape *squeezed = shape_make(given->type, kept_count, sizes, dynamic, NULL);
        from = import_add(scope, op, OP_RESHAPE, squeezed, 1, &from);
    }
    return import_broadcast(scope, op, from, shape_with_type(shape, given->type), kept_count, kept);
}

bool import_broadcast_op(struct scope *scope, const struct mlir_op *op, struct instruction *from,
                         const struct shape *shape)
{
    struct ints dimensions = {0};
    if (shape == NULL || !import_ints_attr(scope, op, "broadcast_dimensions", &dimensions)) {
        return false;
    }
    struct instruction *result =
        import_broadcast_in_dim(scope, op, from, shape, dimensions.count, dimensions.values);
    return result != NULL && import_bind_results(scope, op, result);
}

bool translate_broadcast_in_dim(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 1, 1, 0);
    return operands != NULL &&
           import_broadcast_op(scope, op, operands[0], import_result_shape(scope, op, 0, NULL));
}

/* --- the same elements in another shape or order --- */

bool translate_reshape(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 1, 1, 0);
    const struct shape *shape = operands != NULL ? import_result_shape(scope, op, 0, NULL) : NULL;
    return shape != NULL &&
           import_bind_results(scope, op, import_add(scope, op, OP_RESHAPE, shape, 1, operands));
}

/* transpose, reverse: `key` lists dimensions. */
static bool translate_dimensions(struct scope *scope, const struct mlir_op *op, enum opcode opcode,
                                 const char *key)
{
    struct ints dimensions = {0};
    struct instruction **operands = build_operands(scope, op, 1, 1, 0);
    if (operands == NULL || !import_ints_attr(scope, op, key, &dimensions)) {
        return false;
    }
    struct instruction *instruction = import_add(scope, op, opcode, NULL, 1, operands);
    import_set_ints(instruction, ATTR_DIMENSIONS, dimensions.count, dimensions.values);
    return build_finish(scope, op, instruction);
}

bool translate_transpose(struct scope *scope, const struct mlir_op *op)
{
    return translate_dimensions(scope, op, OP_TRANSPOSE, "permutation");
}

bool translate_reverse(struct scope *scope, const struct mlir_op *op)
{
    return translate_dimensions(scope, op, OP_REVERSE, "dimensions");
}

bool translate_concatenate(struct scope *scope, const struct mlir_op *op)
{
    int64_t dimension = -1;
    struct instruction **operands = build_operands(scope, op, -1, 1, 0);
    if (operands == NULL || !import_int_attr(scope, op, "dimension", &dimension)) {
        return false;
    }
    struct instruction *concatenate =
        import_add(scope, op, OP_CONCATENATE, NULL, op->operand_count, operands);
    import_set_ints(concatenate, ATTR_DIMENSIONS, 1, &dimension);
    return build_finish(scope, op, concatenate);
}

bool translate_slice(struct scope *scope, const struct mlir_op *op)
{
    struct ints starts = {0}, limits = {0}, strides = {0};
    struct instruction **operands = build_operands(scope, op, 1, 1, 0);
    if (operands == NULL || !import_ints_attr(scope, op, "start_indices", &starts) ||
        !import_ints_attr(scope, op, "limit_indices", &limits) ||
        !import_ints_attr(scope, op, "strides", &strides)) {
        return false;
    }
    int rank = operands[0]->shape->rank;
    if (starts.count != rank || limits.count != rank || strides.count != rank) {
        return import_fail(scope, op, "needs starts, limits and strides for %d dimensions", rank);
    }
    struct slice_dimension *dimensions =
        arena_array(&scope->importer->module->arena, (size_t)rank, sizeof *dimensions);
    for (int i = 0; i < rank; i++) {
        dimensions[i] =
            (struct slice_dimension){starts.values[i], limits.values[i], strides.values[i]};
    }
    struct instruction *slice = import_add(scope, op, OP_SLICE, NULL, 1, operands);
    struct attr attr = {.key = ATTR_SLICE};
    attr.slices = (struct slices){rank, dimensions};
    instruction_set_attr(slice, attr);
    return build_finish(scope, op, slice);
}

bool translate_pad(struct scope *scope, const struct mlir_op *op)
{
    struct ints low = {0}, high = {0}, interior = {0};
    struct instruction **operands = build_operands(scope, op, 2, 1, 0);
    if (operands == NULL || !import_ints_attr(scope, op, "edge_padding_low", &low) ||
        !import_ints_attr(scope, op, "edge_padding_high", &high) ||
        !import_ints_attr(scope, op, "interior_padding", &interior)) {
        return false;
    }
    int rank = operands[0]->shape->rank;
    if (low.count != rank || high.count != rank || interior.count != rank) {
        return import_fail(scope, op, "needs padding for %d dimensions", rank);
    }
    struct padding_dimension *dimensions =
        arena_array(&scope->importer->module->arena, (size_t)rank, sizeof *dimensions);
    for (int i = 0; i < rank; i++) {
        dimensions[i] =
            (struct padding_dimension){low.values[i], high.values[i], interior.values[i]};
    }
    struct instruction *pad = import_add(scope, op, OP_PAD, NULL, 2, operands);
    struct attr attr = {.key = ATTR_PADDING};
    attr.padding = (struct padding){rank, dimensions};
    instruction_set_attr(pad, attr);
    return build_finish(scope, op, pad);
}

/* --- slices at places known at run time --- */

bool translate_dynamic_slice(struct scope *scope, const struct mlir_op *op)
{
    struct ints sizes = {0};
    struct instruction **operands = build_operands(scope, op, -1, 1, 0);
    if (operands == NULL || !import_ints_attr(scope, op, "slice_sizes", &sizes)) {
        return false;
    }
    if (op->operand_count != 1 + operands[0]->shape->rank) {
        return import_fail(scope, op, "needs a start for each of %d dimensions",
                           operands[0]->shape->rank);
    }
    struct instruction *slice =
        import_add(scope, op, OP_DYNAMIC_SLICE, NULL, op->operand_count, operands);
    import_set_ints(slice, ATTR_DYNAMIC_SLICE_SIZES, sizes.count, sizes.values);
    return build_finish(scope, op, slice);
}

bool translate_dynamic_update_slice(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, -1, 1, 0);
    if (operands == NULL) {
        return false;
    }
    if (op->operand_count != 2 + operands[0]->shape->rank) {
        return import_fail(scope, op, "needs an update, and a start for each of %d dimensions",
                           operands[0]->shape->rank);
    }
    return build_finish(
        scope, op,
        import_add(scope, op, OP_DYNAMIC_UPDATE_SLICE, NULL, op->operand_count, operands));
}

/* --- sizes --- */

static bool translate_size(struct scope *scope, const struct mlir_op *op, enum opcode opcode,
                           int operand_count)
{
    int64_t dimension = -1;
    struct instruction **operands = build_operands(scope, op, operand_count, 1, 0);
    if (operands == NULL || !import_int_attr(scope, op, "dimension", &dimension)) {
        return false;
    }
    struct instruction *instruction = import_add(scope, op, opcode, NULL, operand_count, operands);
    import_set_ints(instruction, ATTR_DIMENSIONS, 1, &dimension);
    return build_finish(scope, op, instruction);
}

/* Static sizes are constants, as in XLA. */
bool translate_get_dimension_size(struct scope *scope, const struct mlir_op *op)
{
    int64_t dimension = -1;
    struct instruction **operands = build_operands(scope, op, 1, 1, 0);
    if (operands == NULL || !import_int_attr(scope, op, "dimension", &dimension)) {
        return false;
    }
    const struct shape *shape = operands[0]->shape;
    if (dimension < 0 || dimension >= shape->rank ||
        shape_dimension_is_dynamic(shape, (int)dimension) ||
        shape->dimensions[dimension] > INT32_MAX) {
        return translate_size(scope, op, OP_GET_DIMENSION_SIZE, 1);
    }
    struct instruction *size =
        import_scalar(scope, op, TYPE_S32, (double)shape->dimensions[dimension]);
    return size != NULL && import_bind_results(scope, op, size);
}

bool translate_set_dimension_size(struct scope *scope, const struct mlir_op *op)
{
    return translate_size(scope, op, OP_SET_DIMENSION_SIZE, 2);
}

/* --- tuples --- */

bool translate_tuple(struct scope *scope, const struct mlir_op *op)
{
    if (op->result_count != 1 || op->region_count != 0) {
        return import_fail(scope, op, "has one result");
    }
    struct instruction **operands = import_operands(scope, op);
    return operands != NULL &&
           import_bind_results(scope, op, build_tuple(scope, op, op->operand_count, operands));
}

bool translate_get_tuple_element(struct scope *scope, const struct mlir_op *op)
{
    int64_t index = -1;
    struct instruction **operands = build_operands(scope, op, 1, 1, 0);
    if (operands == NULL || !import_int_attr(scope, op, "index", &index)) {
        return false;
    }
    if (!shape_is_tuple(operands[0]->shape) || index < 0 || index >= operands[0]->shape->count) {
        return import_fail(scope, op, "%s has no element %lld", shape_text(operands[0]->shape),
                           (long long)index);
    }
    return import_bind_results(scope, op, build_element(scope, op, operands[0], (int)index));
}

/* --- torch_index_select --- */

/* A gather of slices along `dim`, whose first batch_dims dimensions are those of the index too:
 * result[batch, before dim, index, after dim] = operand[batch, before, index[batch, index], after].
 * Source: xla/hlo/builder/lib/slicing.cc (TorchIndexSelect). */
bool translate_torch_index_select(struct scope *scope, const struct mlir_op *op)
{
    int64_t dim = 0, batch = 0;
    struct instruction **operands = build_operands(scope, op, 2, 1, 0);
    if (operands == NULL || !import_int_attr(scope, op, "dim", &dim) ||
        !import_int_attr(scope, op, "batch_dims", &batch)) {
        return false;
    }
    const struct shape *from = operands[0]->shape, *index = operands[1]->shape;
    dim += dim < 0 ? from->rank : 0;
    batch += batch < 0 ? index->rank : 0;
    if (!shape_is_array(from) || !shape_is_array(index) || batch < 0 || dim < batch ||
        dim >= from->rank || batch > index->rank || from->rank + index->rank > SHAPE_MAX_RANK) {
        return import_fail(scope, op, "dim %lld and batch_dims %lld do not fit %s and %s",
                           (long long)dim, (long long)batch, shape_text(from), shape_text(index));
    }
    int64_t sizes[SHAPE_MAX_RANK], offsets[SHAPE_MAX_RANK], batches[SHAPE_MAX_RANK];
    int offset_count = 0;
    int64_t indexed = index->rank - batch; /* dimensions of the result in place of dim */
    for (int i = 0; i < from->rank; i++) {
        bool sliced = i >= batch && i != dim;
        sizes[i] = sliced ? from->dimensions[i] : (from->dimensions[i] > 0 ? 1 : 0);
        if (i < batch) {
            batches[i] = i;
        }
        if (sliced) {
            offsets[offset_count++] = i < dim ? i : i - 1 + indexed;
        }
    }
    struct instruction *gather = import_add(scope, op, OP_GATHER, NULL, 2, operands);
    import_set_ints(gather, ATTR_OFFSET_DIMS, offset_count, offsets);
    import_set_ints(gather, ATTR_COLLAPSED_SLICE_DIMS, 1, &dim);
    import_set_ints(gather, ATTR_START_INDEX_MAP, 1, &dim);
    if (batch > 0) {
        import_set_ints(gather, ATTR_OPERAND_BATCHING_DIMS, (int)batch, batches);
        import_set_ints(gather, ATTR_START_INDICES_BATCHING_DIMS, (int)batch, batches);
    }
    import_set_int(gather, ATTR_INDEX_VECTOR_DIM, index->rank);
    struct ints list = {from->rank, sizes};
    struct attr attr = {.key = ATTR_SLICE_SIZES};
    struct ints *one = arena_copy(&scope->importer->module->arena, &list, sizeof list);
    one->values =
        arena_copy(&scope->importer->module->arena, sizes, (size_t)from->rank * sizeof *sizes);
    attr.lists = (struct lists){1, one, false};
    instruction_set_attr(gather, attr);
    return build_finish(scope, op, gather);
}
