/* CHLO's ops that are one HLO instruction: top_k, ragged_dot, scan.
 * Sources: stablehlo/dialect/ChloOps.td; xla/hlo/translate/mhlo_to_hlo/mlir_hlo_to_hlo.cc. */
#include "hlo/mlir/import/build.h"
#include "hlo/mlir/import/import_internal.h"

/* --- top_k --- */

/* Without is_stable, or with it true, equal values come in the order of their indices. */
bool translate_chlo_top_k(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 1, 2, 0);
    int64_t k = -1;
    bool is_stable = true;
    if (operands == NULL || !import_int_attr(scope, op, "k", &k) ||
        !import_bool_attr(scope, op, "is_stable", &is_stable)) {
        return false;
    }
    struct instruction *topk = import_add(scope, op, OP_TOPK, NULL, 1, operands);
    import_set_int(topk, ATTR_K, k);
    import_set_int(topk, ATTR_LARGEST, true);
    if (mlir_op_attr(op, "is_stable") != NULL) {
        import_set_int(topk, ATTR_IS_STABLE, is_stable);
    }
    return build_finish(scope, op, topk);
}

/* --- ragged_dot --- */

bool translate_chlo_ragged_dot(struct scope *scope, const struct mlir_op *op)
{
    static const struct {
        const char *key;
        enum attr_key attr;
        bool optional;
    } rows[] = {{"lhs_batching_dimensions", ATTR_LHS_BATCH_DIMS, true},
                {"rhs_batching_dimensions", ATTR_RHS_BATCH_DIMS, true},
                {"lhs_contracting_dimensions", ATTR_LHS_CONTRACTING_DIMS, false},
                {"rhs_contracting_dimensions", ATTR_RHS_CONTRACTING_DIMS, false},
                {"lhs_ragged_dimensions", ATTR_LHS_RAGGED_DIMS, false},
                {"rhs_group_dimensions", ATTR_RHS_GROUP_DIMS, true}};
    struct instruction **operands = build_operands(scope, op, 3, 1, 0);
    const struct mlir_dictionary *parameters =
        operands != NULL ? build_parameters(scope, op, "ragged_dot_dimension_numbers", "ragged_dot")
                         : NULL;
    if (parameters == NULL) {
        return false;
    }
    struct instruction *dot = import_add(scope, op, OP_RAGGED_DOT, NULL, 3, operands);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ints dimensions = {0};
        if (!build_ints_parameter(scope, op, parameters, rows[i].key, &dimensions)) {
            return false;
        }
        if (dimensions.count > 0 || !rows[i].optional) {
            import_set_ints(dot, rows[i].attr, dimensions.count, dimensions.values);
        }
    }
    if (!build_precision(scope, op, dot) || !import_finish(scope, op, dot)) {
        return false;
    }
    const struct mlir_type *element = op->results[0].type->element;
    if (element != NULL && type_is_array(element->element_type)) {
        dot->shape = shape_with_type(dot->shape, element->element_type);
    }
    return import_bind_results(scope, op, dot);
}

/* --- scan --- */

/* How many of the operands are inputs; the rest are carries. */
static bool count_inputs(struct scope *scope, const struct mlir_op *op, int *inputs)
{
    struct ints sizes = {0};
    if (!import_ints_attr(scope, op, "operandSegmentSizes", &sizes)) {
        return false;
    }
    if (sizes.count != 2 || sizes.values[0] < 0 || sizes.values[0] > op->operand_count ||
        sizes.values[1] != op->operand_count - sizes.values[0]) {
        return import_fail(scope, op, "operandSegmentSizes must say what is input and what carry");
    }
    *inputs = (int)sizes.values[0];
    return true;
}

/* The shape without the dimension. NULL and an error if it has none. */
static const struct shape *without(struct scope *scope, const struct mlir_op *op,
                                   const struct shape *shape, int64_t dimension)
{
    if (!shape_is_array(shape) || dimension < 0 || dimension >= shape->rank) {
        import_fail(scope, op, "%s has no dimension %lld", shape_text(shape), (long long)dimension);
        return NULL;
    }
    int64_t sizes[SHAPE_MAX_RANK];
    bool dynamic[SHAPE_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < shape->rank; i++) {
        if (i != dimension) {
            sizes[rank] = shape->dimensions[i];
            dynamic[rank++] = shape_dimension_is_dynamic(shape, i);
        }
    }
    return shape_make(shape->type, rank, sizes, dynamic, NULL);
}

/* The body takes a slice of each input and the carries, and gives a slice of each output and the
 * carries: HLO's scan is just that. */
bool translate_chlo_scan(struct scope *scope, const struct mlir_op *op)
{
    int inputs = 0;
    int64_t dimension = -1;
    bool is_reverse = false, is_associative = false;
    if (op->region_count != 1 || !count_inputs(scope, op, &inputs) ||
        !import_int_attr(scope, op, "dimension", &dimension) ||
        !import_bool_attr(scope, op, "is_reverse", &is_reverse) ||
        !import_bool_attr(scope, op, "is_associative", &is_associative)) {
        return import_fail(scope, op, "needs a body");
    }
    if (inputs == 0) {
        return import_refuse(scope, op, "HLO's scan needs an input that says how long it is");
    }
    struct instruction **operands = import_operands(scope, op);
    const struct mlir_block *block = operands != NULL ? import_only_block(scope, op, 0) : NULL;
    if (block == NULL) {
        return false;
    }
    if (block->argument_count != op->operand_count) {
        return import_fail(scope, op, "the body must take %d values", op->operand_count);
    }
    const struct shape **shapes =
        arena_array(&scope->importer->module->arena, (size_t)op->operand_count, sizeof *shapes);
    for (int i = 0; i < op->operand_count; i++) {
        shapes[i] = i < inputs ? without(scope, op, operands[i]->shape, dimension)
                               : shape_without_layout(operands[i]->shape);
        if (shapes[i] == NULL) {
            return false;
        }
    }
    struct computation *body = import_region(scope, op, 0, shapes, false);
    if (body == NULL) {
        return false;
    }
    struct instruction *scan = import_add(scope, op, OP_SCAN, NULL, op->operand_count, operands);
    instruction_set_called(scan, 1, &body);
    import_set_ints(scan, ATTR_DIMENSIONS, 1, &dimension);
    import_set_int(scan, ATTR_NUM_CARRIES, op->operand_count - inputs);
    import_set_int(scan, ATTR_IS_REVERSE, is_reverse);
    if (mlir_op_attr(op, "is_associative") != NULL) {
        import_set_int(scan, ATTR_IS_ASSOCIATIVE, is_associative);
    }
    return build_finish(scope, op, scan);
}
