/* MLIR → HLO: dot, dot_general, convolution. */
#include <string.h>

#include "hlo/mlir/import/build.h"

/* --- dot --- */

/* `algorithm` of dot_general and the HLO algorithm it is; 8 of the three f8 columns stands for any
 * 8-bit float. Source: the pairs that XLA's translation accepts (ConvertDotAlgorithm in
 * xla/hlo/translate/mhlo_to_hlo/attribute_exporter.cc). */
static const struct dot_algorithm {
    const char *operand, *accumulator;
    int primitives;
    bool imprecise;
    const char *text;
} dot_algorithms[] = {
    {"f8", "f32", 1, false, "dot_any_f8_any_f8_f32"},
    {"f8", "f32", 1, true, "dot_any_f8_any_f8_f32_fast_accum"},
    {"f16", "f16", 1, false, "dot_f16_f16_f16"},
    {"f16", "f32", 1, false, "dot_f16_f16_f32"},
    {"bf16", "bf16", 1, false, "dot_bf16_bf16_bf16"},
    {"bf16", "f32", 1, false, "dot_bf16_bf16_f32"},
    {"bf16", "f32", 3, false, "dot_bf16_bf16_f32_x3"},
    {"bf16", "f32", 6, false, "dot_bf16_bf16_f32_x6"},
    {"bf16", "f32", 9, false, "dot_bf16_bf16_f32_x9"},
    {"tf32", "f32", 1, false, "dot_tf32_tf32_f32"},
    {"tf32", "f32", 3, false, "dot_tf32_tf32_f32_x3"},
    {"f32", "f32", 1, false, "dot_f32_f32_f32"},
    {"f64", "f64", 1, false, "dot_f64_f64_f64"},
};

static const char *float_parameter(const struct mlir_dictionary *parameters, const char *key)
{
    const struct mlir_attr *attr = mlir_get(parameters, key);
    bool is_float = attr != NULL && attr->kind == MLIR_ATTR_TYPE && attr->type->kind == MLIR_FLOAT;
    return is_float ? attr->type->name : "";
}

static bool is_operand(const char *wanted, const char *name)
{
    return strcmp(wanted, "f8") == 0 ? strncmp(name, "f8E", 3) == 0 : strcmp(wanted, name) == 0;
}

static bool set_algorithm(struct scope *scope, const struct mlir_op *op,
                          struct instruction *instruction)
{
    if (mlir_op_attr(op, "algorithm") == NULL) {
        return true;
    }
    const struct mlir_dictionary *parameters =
        build_parameters(scope, op, "algorithm", "dot_algorithm");
    int64_t components[2] = {1, 1}, primitives = 1;
    if (parameters == NULL ||
        !build_int_parameter(scope, op, parameters, "lhs_component_count", &components[0]) ||
        !build_int_parameter(scope, op, parameters, "rhs_component_count", &components[1]) ||
        !build_int_parameter(scope, op, parameters, "num_primitive_operations", &primitives)) {
        return false;
    }
    const char *lhs = float_parameter(parameters, "lhs_precision_type");
    const char *rhs = float_parameter(parameters, "rhs_precision_type");
    const char *accumulator = float_parameter(parameters, "accumulation_type");
    const struct mlir_attr *allow = mlir_get(parameters, "allow_imprecise_accumulation");
    bool imprecise = allow != NULL && allow->kind == MLIR_ATTR_BOOL && allow->integer != 0;
    for (size_t i = 0; i < sizeof dot_algorithms / sizeof *dot_algorithms; i++) {
        const struct dot_algorithm *row = &dot_algorithms[i];
        if (is_operand(row->operand, lhs) && is_operand(row->operand, rhs) &&
            strcmp(row->accumulator, accumulator) == 0 && components[0] == 1 &&
            components[1] == 1 && row->primitives == primitives && row->imprecise == imprecise) {
            import_set_int(instruction, ATTR_ALGORITHM,
                           attr_enum_value(ATTR_KIND_ALGORITHM, row->text, strlen(row->text)));
            return true;
        }
    }
    return import_refuse(scope, op,
                         "HLO has no algorithm with operands %s and %s in %lld and %lld parts, "
                         "%lld products and accumulation in %s%s",
                         lhs, rhs, (long long)components[0], (long long)components[1],
                         (long long)primitives, accumulator, imprecise ? ", imprecise" : "");
}

static void set_dimensions(struct instruction *instruction, enum attr_key key, struct ints ints)
{
    if (ints.count > 0) {
        import_set_ints(instruction, key, ints.count, ints.values);
    }
}

bool translate_dot(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 2, 1, 0);
    if (operands == NULL) {
        return false;
    }
    int64_t last = operands[0]->shape->rank - 1, first = 0;
    if (last < 0 || operands[1]->shape->rank < 1) {
        return import_fail(scope, op, "operands must be vectors or matrices");
    }
    struct instruction *dot = import_add(scope, op, OP_DOT, NULL, 2, operands);
    import_set_ints(dot, ATTR_LHS_CONTRACTING_DIMS, 1, &last);
    import_set_ints(dot, ATTR_RHS_CONTRACTING_DIMS, 1, &first);
    return build_precision(scope, op, dot) && build_finish(scope, op, dot);
}

bool translate_dot_general(struct scope *scope, const struct mlir_op *op)
{
    static const struct {
        const char *key;
        enum attr_key attr;
    } rows[] = {{"lhs_batching_dimensions", ATTR_LHS_BATCH_DIMS},
                {"rhs_batching_dimensions", ATTR_RHS_BATCH_DIMS},
                {"lhs_contracting_dimensions", ATTR_LHS_CONTRACTING_DIMS},
                {"rhs_contracting_dimensions", ATTR_RHS_CONTRACTING_DIMS}};
    struct instruction **operands = build_operands(scope, op, 2, 1, 0);
    const struct mlir_dictionary *parameters =
        operands != NULL ? build_parameters(scope, op, "dot_dimension_numbers", "dot") : NULL;
    if (parameters == NULL) {
        return false;
    }
    struct instruction *dot = import_add(scope, op, OP_DOT, NULL, 2, operands);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ints dimensions = {0};
        if (!build_ints_parameter(scope, op, parameters, rows[i].key, &dimensions)) {
            return false;
        }
        set_dimensions(dot, rows[i].attr, dimensions);
    }
    return build_precision(scope, op, dot) && set_algorithm(scope, op, dot) &&
           build_finish(scope, op, dot);
}

/* --- convolution --- */

static struct dim_labels *read_labels(struct scope *scope, const struct mlir_op *op,
                                      const struct mlir_dictionary *parameters)
{
    struct dim_labels *labels = arena_alloc(&scope->importer->module->arena, sizeof *labels);
    const struct {
        const char *key;
        int64_t *value;
    } one[] = {{"input_batch_dimension", &labels->input_batch},
               {"input_feature_dimension", &labels->input_feature},
               {"kernel_input_feature_dimension", &labels->kernel_input_feature},
               {"kernel_output_feature_dimension", &labels->kernel_output_feature},
               {"output_batch_dimension", &labels->output_batch},
               {"output_feature_dimension", &labels->output_feature}};
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
        *one[i].value = -1;
        if (!build_int_parameter(scope, op, parameters, one[i].key, one[i].value)) {
            return NULL;
        }
    }
    struct ints input = {0}, kernel = {0}, output = {0};
    if (!build_ints_parameter(scope, op, parameters, "input_spatial_dimensions", &input) ||
        !build_ints_parameter(scope, op, parameters, "kernel_spatial_dimensions", &kernel) ||
        !build_ints_parameter(scope, op, parameters, "output_spatial_dimensions", &output)) {
        return NULL;
    }
    if (kernel.count != input.count || output.count != input.count) {
        import_fail(scope, op, "%d, %d and %d spatial dimensions", input.count, kernel.count,
                    output.count);
        return NULL;
    }
    labels->spatial_rank = input.count;
    labels->input_spatial = input.values;
    labels->kernel_spatial = kernel.values;
    labels->output_spatial = output.values;
    return labels;
}

/* Are the dimensions those of an array of rank 2 + spatial_rank, each once? */
static bool labels_ok(int rank, int64_t one, int64_t other, const int64_t *spatial,
                      int spatial_rank)
{
    bool seen[SHAPE_MAX_RANK] = {false};
    if (rank != spatial_rank + 2 || rank > SHAPE_MAX_RANK) {
        return false;
    }
    for (int i = 0; i < rank; i++) {
        int64_t at = i == 0 ? one : i == 1 ? other : spatial[i - 2];
        if (at < 0 || at >= rank || seen[at]) {
            return false;
        }
        seen[at] = true;
    }
    return true;
}

bool translate_convolution(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 2, 1, 0);
    const struct mlir_dictionary *parameters =
        operands != NULL ? build_parameters(scope, op, "dimension_numbers", "conv") : NULL;
    struct dim_labels *labels = parameters != NULL ? read_labels(scope, op, parameters) : NULL;
    if (labels == NULL) {
        return false;
    }
    int spatial = labels->spatial_rank;
    const struct shape *input = operands[0]->shape, *kernel = operands[1]->shape;
    if (!labels_ok(input->rank, labels->input_batch, labels->input_feature, labels->input_spatial,
                   spatial) ||
        !labels_ok(kernel->rank, labels->kernel_input_feature, labels->kernel_output_feature,
                   labels->kernel_spatial, spatial) ||
        !labels_ok(spatial + 2, labels->output_batch, labels->output_feature,
                   labels->output_spatial, spatial)) {
        return import_fail(scope, op, "dimension_numbers do not fit %s and %s", shape_text(input),
                           shape_text(kernel));
    }
    struct window_parts parts = {0};
    int64_t features = 1, batches = 1;
    if (!import_ints_attr(scope, op, "window_strides", &parts.strides) ||
        !import_ints_attr(scope, op, "padding", &parts.padding) ||
        !import_ints_attr(scope, op, "lhs_dilation", &parts.base_dilations) ||
        !import_ints_attr(scope, op, "rhs_dilation", &parts.window_dilations) ||
        !import_ints_attr(scope, op, "window_reversal", &parts.reversal) ||
        !import_int_attr(scope, op, "feature_group_count", &features) ||
        !import_int_attr(scope, op, "batch_group_count", &batches)) {
        return false;
    }
    int64_t sizes[SHAPE_MAX_RANK];
    for (int i = 0; i < spatial; i++) {
        sizes[i] = kernel->dimensions[labels->kernel_spatial[i]];
    }
    parts.sizes = (struct ints){spatial, sizes};
    struct instruction *convolution = import_add(scope, op, OP_CONVOLUTION, NULL, 2, operands);
    instruction_set_attr(convolution, (struct attr){.key = ATTR_DIM_LABELS, .dim_labels = labels});
    import_set_int(convolution, ATTR_FEATURE_GROUP_COUNT, features);
    import_set_int(convolution, ATTR_BATCH_GROUP_COUNT, batches);
    return build_window(scope, op, convolution, spatial, &parts) &&
           build_precision(scope, op, convolution) && build_finish(scope, op, convolution);
}
