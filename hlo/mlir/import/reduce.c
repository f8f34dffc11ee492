/* MLIR → HLO: reduce, reduce_window, select_and_scatter, and batch normalisation.
 *
 * Reducers may compute in wider types than the operands have. XLA's translation leaves the operands
 * as they are; the specification says that operands and initial values are converted to the types
 * of the computation first (to_destination_type), and that is what is made here. */
#include "hlo/mlir/import/build.h"

/* operands[i] and operands[count + i] as types[i]. */
static bool promote_operands(struct scope *scope, const struct mlir_op *op, int count,
                             const enum type *types, struct instruction **operands)
{
    for (int i = 0; i < 2 * count; i++) {
        operands[i] = build_promote(scope, op, operands[i], types[i % count]);
        if (operands[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* The operands of a reduction and its computation. */
static struct instruction **reduction_operands(struct scope *scope, const struct mlir_op *op,
                                               struct computation **reducer)
{
    struct instruction **operands = build_operands(scope, op, -1, -1, 1);
    int count = op->result_count;
    if (operands == NULL) {
        return NULL;
    }
    if (op->operand_count != 2 * count) {
        import_fail(scope, op, "%d operands and initial values for %d results", op->operand_count,
                    count);
        return NULL;
    }
    enum type *types = arena_array(&scope->importer->module->arena, (size_t)count, sizeof *types);
    *reducer = build_reducer(scope, op, 0, count, types);
    if (*reducer == NULL) {
        return NULL;
    }
    return promote_operands(scope, op, count, types, operands) ? operands : NULL;
}

bool translate_reduce(struct scope *scope, const struct mlir_op *op)
{
    struct computation *reducer;
    struct instruction **operands = reduction_operands(scope, op, &reducer);
    struct ints dimensions = {0};
    if (operands == NULL || !import_ints_attr(scope, op, "dimensions", &dimensions)) {
        return false;
    }
    struct instruction *reduce =
        import_add(scope, op, OP_REDUCE, NULL, op->operand_count, operands);
    import_set_ints(reduce, ATTR_DIMENSIONS, dimensions.count, dimensions.values);
    instruction_set_called(reduce, 1, &reducer);
    return build_finish(scope, op, reduce);
}

bool translate_reduce_window(struct scope *scope, const struct mlir_op *op)
{
    struct computation *reducer;
    struct instruction **operands = reduction_operands(scope, op, &reducer);
    struct window_parts parts = {0};
    if (operands == NULL || !import_ints_attr(scope, op, "window_dimensions", &parts.sizes) ||
        !import_ints_attr(scope, op, "window_strides", &parts.strides) ||
        !import_ints_attr(scope, op, "padding", &parts.padding) ||
        !import_ints_attr(scope, op, "base_dilations", &parts.base_dilations) ||
        !import_ints_attr(scope, op, "window_dilations", &parts.window_dilations)) {
        return false;
    }
    int rank = operands[0]->shape->rank;
    if (parts.sizes.count != rank) {
        return import_fail(scope, op, "%d window_dimensions for %s", parts.sizes.count,
                           shape_text(operands[0]->shape));
    }
    struct instruction *reduce =
        import_add(scope, op, OP_REDUCE_WINDOW, NULL, op->operand_count, operands);
    instruction_set_called(reduce, 1, &reducer);
    return build_window(scope, op, reduce, rank, &parts) && build_finish(scope, op, reduce);
}

/* --- select_and_scatter --- */

/* Are all values of a float or integer type values of another of its kind, which has more bits? */
static bool is_exact_widening(enum type from, enum type to)
{
    bool is_scale = from == TYPE_F8E8M0FNU && to == TYPE_F16;
    return type_bits(to) > type_bits(from) && !is_scale;
}

/* The computation for operands that were widened: it is given what they were. */
static struct computation *narrowed_select(struct scope *scope, const struct mlir_op *op,
                                           struct computation *select, enum type narrow,
                                           enum type wide)
{
    struct computation *result = import_computation(scope->importer, "select");
    struct instruction *parameters[2], *values[2];
    for (int i = 0; i < 2; i++) {
        parameters[i] =
            instruction_add(result, i == 0 ? "x" : "y", OP_PARAMETER, shape_scalar(wide), 0, NULL);
        parameters[i]->number = i;
        values[i] = instruction_add(result, i == 0 ? "narrow_x" : "narrow_y", OP_CONVERT,
                                    shape_scalar(narrow), 1, &parameters[i]);
    }
    result->root = instruction_add(result, "root", OP_CALL, shape_scalar(TYPE_PRED), 2, values);
    instruction_set_called(result->root, 1, &select);
    result->parameter_count = 2;
    result->parameters = arena_copy(&scope->importer->module->arena, parameters, sizeof parameters);
    result->line = op->line;
    return result;
}

/* Where scatter computes in a wider type than the operand has, so does HLO's op as a whole, which
 * has one type: the operand is widened too, and narrowed again, exactly, for select. */
bool translate_select_and_scatter(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 3, 1, 2);
    struct window_parts parts = {0};
    enum type narrow, wide;
    if (operands == NULL || !import_ints_attr(scope, op, "window_dimensions", &parts.sizes) ||
        !import_ints_attr(scope, op, "window_strides", &parts.strides) ||
        !import_ints_attr(scope, op, "padding", &parts.padding)) {
        return false;
    }
    struct computation *called[2];
    called[0] = build_reducer(scope, op, 0, 1, &narrow);
    called[1] = called[0] != NULL ? build_reducer(scope, op, 1, 1, &wide) : NULL;
    if (called[1] == NULL) {
        return false;
    }
    if (narrow != wide) {
        if (!is_exact_widening(narrow, wide)) {
            return import_refuse(scope, op, "select takes %s, scatter %s", type_text(narrow),
                                 type_text(wide));
        }
        called[0] = narrowed_select(scope, op, called[0], narrow, wide);
    }
    for (int i = 0; i < 3; i++) {
        operands[i] = build_promote(scope, op, operands[i], wide);
        if (operands[i] == NULL) {
            return false;
        }
    }
    struct instruction *scatter = import_add(scope, op, OP_SELECT_AND_SCATTER, NULL, 3, operands);
    instruction_set_called(scatter, 2, called);
    return build_window(scope, op, scatter, operands[0]->shape->rank, &parts) &&
           build_finish(scope, op, scatter);
}

/* --- batch normalisation --- */

static bool batch_norm(struct scope *scope, const struct mlir_op *op, enum opcode opcode,
                       int operand_count, int result_count)
{
    struct instruction **operands = build_operands(scope, op, operand_count, result_count, 0);
    int64_t feature = 0;
    if (operands == NULL || !import_int_attr(scope, op, "feature_index", &feature)) {
        return false;
    }
    const struct mlir_attr *epsilon = mlir_op_attr(op, "epsilon");
    if (epsilon == NULL || epsilon->kind != MLIR_ATTR_FLOAT) {
        return import_fail(scope, op, "epsilon is no float");
    }
    struct instruction *norm = import_add(scope, op, opcode, NULL, operand_count, operands);
    instruction_set_attr(norm, (struct attr){.key = ATTR_EPSILON, .real = epsilon->number});
    import_set_int(norm, ATTR_FEATURE_INDEX, feature);
    return build_finish(scope, op, norm);
}

bool translate_batch_norm_training(struct scope *scope, const struct mlir_op *op)
{
    return batch_norm(scope, op, OP_BATCH_NORM_TRAINING, 3, 3);
}

bool translate_batch_norm_inference(struct scope *scope, const struct mlir_op *op)
{
    return batch_norm(scope, op, OP_BATCH_NORM_INFERENCE, 5, 1);
}

bool translate_batch_norm_grad(struct scope *scope, const struct mlir_op *op)
{
    return batch_norm(scope, op, OP_BATCH_NORM_GRAD, 5, 3);
}
