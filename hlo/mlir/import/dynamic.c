/* Ops whose shapes are operands: they become the static ops of the sizes that the operands have
 * (import_integers).
 * Sources: StableHLO's specification; stablehlo/transforms/StablehloCanonicalizeDynamism.cpp and
 * StablehloRefineShapes.cpp say which operands may give them. */
#include "hlo/literal.h"
#include "hlo/mlir/import/build.h"
#include "hlo/mlir/import/import_internal.h"
#include "hlo/mlir/import/twin.h"

/* The shape of the result: its type if that is static, else the sizes that operand `at` gives. */
static const struct shape *shape_operand(struct scope *scope, const struct mlir_op *op, int at,
                                         enum type type)
{
    const struct mlir_type *result = op->results[0].type;
    if (result->kind == MLIR_TENSOR && mlir_type_is_static(result)) {
        return import_shape(scope, op, result);
    }
    struct ints sizes = {0};
    return import_integers(scope, op, at, &sizes) ? import_computed_shape(scope, op, type, sizes)
                                                  : NULL;
}

bool translate_dynamic_broadcast_in_dim(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 2, 1, 0);
    return operands != NULL &&
           import_broadcast_op(scope, op, operands[0],
                               shape_operand(scope, op, 1, operands[0]->shape->type));
}

bool translate_dynamic_iota(struct scope *scope, const struct mlir_op *op)
{
    int64_t dimension = -1;
    if (build_operands(scope, op, 1, 1, 0) == NULL ||
        !import_int_attr(scope, op, "iota_dimension", &dimension)) {
        return false;
    }
    const struct mlir_type *element = op->results[0].type->element;
    const struct shape *shape =
        element != NULL ? shape_operand(scope, op, 0, element->element_type) : NULL;
    if (shape == NULL || dimension < 0 || dimension >= shape->rank) {
        return import_fail(scope, op, "iota_dimension must be a dimension of the result");
    }
    struct instruction *iota = import_add(scope, op, OP_IOTA, shape, 0, NULL);
    import_set_int(iota, ATTR_IOTA_DIMENSION, dimension);
    return import_bind_results(scope, op, iota);
}

bool translate_dynamic_reshape(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 2, 1, 0);
    const struct shape *shape =
        operands != NULL ? shape_operand(scope, op, 1, operands[0]->shape->type) : NULL;
    if (shape == NULL) {
        return false;
    }
    if (shape_elements(shape) != shape_elements(operands[0]->shape)) {
        return import_fail(scope, op, "%s has another number of elements than %s",
                           shape_text(operands[0]->shape), shape_text(shape));
    }
    return import_bind_results(scope, op, import_add(scope, op, OP_RESHAPE, shape, 1, operands));
}

/* An op whose last operands are what attributes of its static form say. */
static bool translate_static(struct scope *scope, const struct mlir_op *op, int operand_count,
                             int key_count, const char *const *keys, import_function *translate)
{
    if (build_operands(scope, op, operand_count + key_count, 1, 0) == NULL) {
        return false;
    }
    struct mlir_op *twin = twin_of(scope, op);
    for (int i = 0; i < key_count; i++) {
        struct ints values = {0};
        if (!import_integers(scope, op, operand_count + i, &values)) {
            return false;
        }
        twin_set_ints(scope, twin, keys[i], values);
    }
    twin->operand_count = operand_count;
    return twin_translate(scope, op, twin, translate);
}

bool translate_dynamic_pad(struct scope *scope, const struct mlir_op *op)
{
    static const char *const keys[] = {"edge_padding_low", "edge_padding_high", "interior_padding"};
    return translate_static(scope, op, 2, 3, keys, translate_pad);
}

bool translate_dynamic_gather(struct scope *scope, const struct mlir_op *op)
{
    static const char *const keys[] = {"slice_sizes"};
    return translate_static(scope, op, 2, 1, keys, translate_gather);
}

bool translate_dynamic_conv(struct scope *scope, const struct mlir_op *op)
{
    static const char *const keys[] = {"padding"};
    return translate_static(scope, op, 2, 1, keys, translate_convolution);
}

/* --- real_dynamic_slice --- */

/* Does the op give the same whenever it gets the same? */
static bool is_function_of_operands(enum opcode opcode)
{
    switch (opcode) {
    case OP_PARAMETER:
    case OP_CUSTOM_CALL:
    case OP_INFEED:
    case OP_RECV:
    case OP_RECV_DONE:
    case OP_RNG:
    case OP_RNG_GET_AND_UPDATE_STATE:
    case OP_ASYNC_START:
    case OP_ASYNC_UPDATE:
    case OP_ASYNC_DONE:
        return false;
    default:
        return true;
    }
}

/* Are both made alike, of the same values? What looks further than `fuel` steps says no. */
static bool made_alike(const struct instruction *a, const struct instruction *b, int *fuel)
{
    if (a == b) {
        return true;
    }
    if (a->opcode != b->opcode || !is_function_of_operands(a->opcode) ||
        a->operand_count != b->operand_count || a->called_count > 0 || b->called_count > 0 ||
        a->attr_count != b->attr_count || !shape_compatible(a->shape, b->shape) || --*fuel < 0 ||
        (a->literal == NULL) != (b->literal == NULL) ||
        (a->literal != NULL && !literal_equal(a->literal, b->literal))) {
        return false;
    }
    for (int i = 0; i < a->attr_count; i++) {
        if (a->attrs[i].key != b->attrs[i].key ||
            (a->attrs[i].key != ATTR_METADATA && !attr_equal(&a->attrs[i], &b->attrs[i]))) {
            return false;
        }
    }
    for (int i = 0; i < a->operand_count; i++) {
        if (!made_alike(a->operands[i], b->operands[i], fuel)) {
            return false;
        }
    }
    return true;
}

/* Where the limit is start + sizes with sizes known, or the sizes are those of the result and
 * strides are 1, starts may be known at run time only: a dynamic-slice. NULL sizes: it is not so.
 */
static bool find_sizes(struct scope *scope, const struct mlir_op *op,
                       struct instruction *const *operands, struct ints *sizes, bool *found)
{
    struct ints strides = {0};
    *found = false;
    if (operands[1]->opcode == OP_CONSTANT || !import_integers(scope, op, 3, &strides)) {
        return scope->importer->err->code == ERROR_NONE;
    }
    for (int i = 0; i < strides.count; i++) {
        if (strides.values[i] != 1) {
            return true;
        }
    }
    const struct mlir_type *type = op->results[0].type;
    const struct instruction *limit = operands[2];
    if (type->kind == MLIR_TENSOR && mlir_type_is_static(type)) {
        *sizes = (struct ints){type->rank, type->sizes};
        *found = true;
        return true;
    }
    for (int i = 0; i < 2 && limit->opcode == OP_ADD; i++) {
        int fuel = 1000;
        if (made_alike(limit->operands[i], operands[1], &fuel)) {
            *found = import_integers_of(scope, op, 2, limit->operands[1 - i], sizes);
            return *found;
        }
    }
    return true;
}

/* Element i of a vector, as a scalar. */
static struct instruction *vector_element(struct scope *scope, const struct mlir_op *op,
                                          struct instruction *vector, int i)
{
    int64_t one = 1;
    struct slice_dimension *dimension =
        arena_alloc(&scope->importer->module->arena, sizeof *dimension);
    *dimension = (struct slice_dimension){i, i + 1, 1};
    struct instruction *slice =
        import_add(scope, op, OP_SLICE, shape_array(vector->shape->type, 1, &one), 1, &vector);
    struct attr attr = {.key = ATTR_SLICE};
    attr.slices = (struct slices){1, dimension};
    instruction_set_attr(slice, attr);
    return build_reshape(scope, op, slice, 0, NULL);
}

bool translate_real_dynamic_slice(struct scope *scope, const struct mlir_op *op)
{
    static const char *const keys[] = {"start_indices", "limit_indices", "strides"};
    struct instruction **operands = build_operands(scope, op, 4, 1, 0);
    struct ints sizes = {0};
    bool found = false;
    if (operands == NULL || !find_sizes(scope, op, operands, &sizes, &found)) {
        return false;
    }
    if (!found) {
        return translate_static(scope, op, 1, 3, keys, translate_slice);
    }
    const struct shape *from = operands[0]->shape, *starts = operands[1]->shape;
    if (from->rank != sizes.count || starts->rank != 1 || starts->dimensions[0] != from->rank) {
        return import_fail(scope, op, "needs starts and limits for %d dimensions", from->rank);
    }
    struct instruction *given[1 + SHAPE_MAX_RANK];
    given[0] = operands[0];
    for (int i = 0; i < from->rank; i++) {
        given[1 + i] = vector_element(scope, op, operands[1], i);
    }
    struct instruction *slice =
        import_add(scope, op, OP_DYNAMIC_SLICE, NULL, 1 + from->rank, given);
    import_set_ints(slice, ATTR_DYNAMIC_SLICE_SIZES, sizes.count, sizes.values);
    return build_finish(scope, op, slice);
}
