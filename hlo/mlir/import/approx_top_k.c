/* The custom call ApproxTopK. With is_fallback it is no approximation: inputs are sorted along a
 * dimension by the computation that it calls, and the first elements are its results.
 * Source: xla/hlo/builder/lib/approx_topk.cc (ApproxTopKFallback). */
#include <string.h>

#include "hlo/mlir/import/build.h"
#include "hlo/mlir/import/import_internal.h"

/* The entry of the configuration, under either of its names; NULL if there is none. */
static const struct mlir_attr *config_entry(const struct mlir_op *op, const char *key)
{
    const struct mlir_attr *config = mlir_op_attr(op, "mhlo.backend_config");
    config = config != NULL ? config : mlir_op_attr(op, "backend_config");
    return config != NULL && config->kind == MLIR_ATTR_DICTIONARY
               ? mlir_get(&config->dictionary, key)
               : NULL;
}

bool import_is_exact_top_k(const struct mlir_op *op, const char *target)
{
    const struct mlir_attr *flag =
        strcmp(target, "ApproxTopK") == 0 ? config_entry(op, "is_fallback") : NULL;
    return flag != NULL && flag->kind == MLIR_ATTR_BOOL && flag->integer != 0;
}

/* The first sizes[dimension] elements along the dimension. */
static struct instruction *add_slice(struct scope *scope, const struct mlir_op *op,
                                     struct instruction *from, const struct shape *shape)
{
    int rank = shape->rank;
    struct slice_dimension *dimensions =
        arena_array(&scope->importer->module->arena, (size_t)rank, sizeof *dimensions);
    for (int i = 0; i < rank; i++) {
        dimensions[i] = (struct slice_dimension){0, shape->dimensions[i], 1};
    }
    struct instruction *slice = import_add(scope, op, OP_SLICE, shape, 1, &from);
    struct attr attr = {.key = ATTR_SLICE};
    attr.slices = (struct slices){rank, dimensions};
    instruction_set_attr(slice, attr);
    return slice;
}

/* Inputs, then as many initial values, which a sort has no use for. */
bool import_exact_top_k(struct scope *scope, const struct mlir_op *op)
{
    const struct mlir_attr *along = config_entry(op, "reduction_dim");
    const struct mlir_attr *called = mlir_op_attr(op, "called_computations");
    int count = op->result_count;
    struct instruction **operands = import_operands(scope, op);
    if (operands == NULL || count == 0 || op->operand_count != 2 * count || along == NULL ||
        along->kind != MLIR_ATTR_INT || called == NULL || called->kind != MLIR_ATTR_ARRAY ||
        called->array.count != 1) {
        return import_fail(scope, op,
                           "ApproxTopK needs inputs and as many initial values, a "
                           "reduction_dim and a called computation");
    }
    const struct mlir_op *function = import_function_of(scope, op, called->array.elements[0]);
    struct computation *comparator =
        function != NULL ? import_function_computation(scope, op, function) : NULL;
    if (comparator == NULL) {
        return false;
    }
    struct instruction *sort = import_add(scope, op, OP_SORT, NULL, count, operands);
    import_set_ints(sort, ATTR_DIMENSIONS, 1, &along->integer);
    import_set_int(sort, ATTR_IS_STABLE, true);
    instruction_set_called(sort, 1, &comparator);
    struct instruction **sorted =
        arena_array(&scope->importer->module->arena, (size_t)count, sizeof *sorted);
    if (!import_finish(scope, op, sort) || !import_elements(scope, op, sort, count, sorted)) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        const struct shape *shape = import_result_shape(scope, op, i, NULL);
        if (shape == NULL) {
            return false;
        }
        if (!shape_is_array(shape) || shape->rank != sorted[i]->shape->rank) {
            return import_fail(scope, op, "result %d is not of the inputs' rank", i);
        }
        import_bind(scope, &op->results[i], add_slice(scope, op, sorted[i], shape));
    }
    return true;
}
