/* HLO → StableHLO: products, convolutions, transforms and linear algebra. */
#include <string.h>

#include "hlo/mlir/export/export.h"

static void set_list(struct export_scope *scope, struct mlir_attr *attr, const char *key,
                     struct ints values)
{
    struct mlir_file *file = scope->exporter->file;
    mlir_set(file, &attr->dialect.parameters, key,
             mlir_attr_ints(file, values.count, values.values));
}

static void set_number(struct export_scope *scope, struct mlir_attr *attr, const char *key,
                       int64_t value)
{
    struct mlir_file *file = scope->exporter->file;
    mlir_set(file, &attr->dialect.parameters, key,
             mlir_attr_int(file, value, mlir_integer(file, 64, MLIR_SIGNLESS)));
}

/* --- dot --- */

/* What each algorithm of HLO is in parts. Source: stablehlo's specification, DotAlgorithm; xla's
 * PrecisionConfig.Algorithm (xla_data.proto). The f8 ones name no operand type of their own. */
static const struct algorithm {
    const char *lhs, *rhs, *accumulation; /* NULL: the operand's type */
    int components, products;
    bool imprecise;
} algorithms[] = {
    [1] = {NULL, NULL, "f32", 1, 1, false},      [2] = {NULL, NULL, "f32", 1, 1, true},
    [3] = {"f16", "f16", "f16", 1, 1, false},    [4] = {"f16", "f16", "f32", 1, 1, false},
    [5] = {"bf16", "bf16", "bf16", 1, 1, false}, [6] = {"bf16", "bf16", "f32", 1, 1, false},
    [7] = {"bf16", "bf16", "f32", 1, 3, false},  [8] = {"bf16", "bf16", "f32", 1, 6, false},
    [9] = {"tf32", "tf32", "f32", 1, 1, false},  [10] = {"tf32", "tf32", "f32", 1, 3, false},
    [11] = {"f32", "f32", "f32", 1, 1, false},   [12] = {"f64", "f64", "f64", 1, 1, false},
    [13] = {"bf16", "bf16", "f32", 1, 9, false},
};

static struct mlir_attr *type_attr(struct export_scope *scope, const char *name, enum type given)
{
    struct mlir_file *file = scope->exporter->file;
    struct mlir_attr *attr = mlir_attr_new(file, MLIR_ATTR_TYPE);
    attr->type =
        name != NULL ? mlir_float(file, name, strlen(name)) : mlir_type_of_hlo(file, given);
    return attr;
}

static bool set_algorithm(struct export_scope *scope, struct mlir_op *op,
                          const struct instruction *dot)
{
    int64_t number = attr_int(dot, ATTR_ALGORITHM, 0);
    if (number == 0) {
        return true;
    }
    if (number < 0 || number >= (int64_t)(sizeof algorithms / sizeof *algorithms)) {
        return export_refuse(scope, dot, "with algorithm %lld", (long long)number);
    }
    const struct algorithm *row = &algorithms[number];
    struct mlir_file *file = scope->exporter->file;
    struct mlir_attr *attr = export_set_parameters(scope, op, "algorithm", "dot_algorithm");
    struct mlir_dictionary *parameters = &attr->dialect.parameters;
    struct mlir_attr *imprecise = mlir_attr_new(file, MLIR_ATTR_BOOL);
    imprecise->type = mlir_integer(file, 1, MLIR_SIGNLESS);
    imprecise->integer = row->imprecise;
    mlir_set(file, parameters, "lhs_precision_type",
             type_attr(scope, row->lhs, dot->operands[0]->shape->type));
    mlir_set(file, parameters, "rhs_precision_type",
             type_attr(scope, row->rhs, dot->operands[1]->shape->type));
    mlir_set(file, parameters, "accumulation_type", type_attr(scope, row->accumulation, TYPE_F32));
    set_number(scope, attr, "lhs_component_count", row->components);
    set_number(scope, attr, "rhs_component_count", row->components);
    set_number(scope, attr, "num_primitive_operations", row->products);
    mlir_set(file, parameters, "allow_imprecise_accumulation", imprecise);
    return true;
}

static void set_dot_lists(struct export_scope *scope, struct mlir_attr *dot,
                          const struct instruction *instruction)
{
    set_list(scope, dot, "lhs_batching_dimensions", attr_ints(instruction, ATTR_LHS_BATCH_DIMS));
    set_list(scope, dot, "rhs_batching_dimensions", attr_ints(instruction, ATTR_RHS_BATCH_DIMS));
    set_list(scope, dot, "lhs_contracting_dimensions",
             attr_ints(instruction, ATTR_LHS_CONTRACTING_DIMS));
    set_list(scope, dot, "rhs_contracting_dimensions",
             attr_ints(instruction, ATTR_RHS_CONTRACTING_DIMS));
}

bool export_dot(struct export_scope *scope, const struct instruction *instruction)
{
    struct mlir_op *op = export_plain(scope, instruction, "dot_general", 0);
    if (op == NULL) {
        return false;
    }
    struct mlir_attr *dot = export_set_parameters(scope, op, "dot_dimension_numbers", "dot");
    set_dot_lists(scope, dot, instruction);
    export_set_precision(scope, op, "stablehlo", instruction);
    return set_algorithm(scope, op, instruction);
}

bool export_ragged_dot(struct export_scope *scope, const struct instruction *instruction)
{
    if (attr_int(instruction, ATTR_ALGORITHM, 0) != 0) {
        return export_refuse(scope, instruction, "with an algorithm");
    }
    struct mlir_op *op = export_plain(scope, instruction, "chlo.ragged_dot", 0);
    if (op == NULL) {
        return false;
    }
    struct mlir_attr *dot =
        export_set_parameters(scope, op, "ragged_dot_dimension_numbers", "ragged_dot");
    dot->dialect.dialect = mlir_intern(scope->exporter->file, "chlo", 4);
    set_dot_lists(scope, dot, instruction);
    set_list(scope, dot, "lhs_ragged_dimensions", attr_ints(instruction, ATTR_LHS_RAGGED_DIMS));
    set_list(scope, dot, "rhs_group_dimensions", attr_ints(instruction, ATTR_RHS_GROUP_DIMS));
    export_set_precision(scope, op, "chlo", instruction);
    return true;
}

/* --- convolution --- */

static void set_labels(struct export_scope *scope, struct mlir_op *op,
                       const struct dim_labels *labels)
{
    struct mlir_attr *conv = export_set_parameters(scope, op, "dimension_numbers", "conv");
    int rank = labels->spatial_rank;
    set_number(scope, conv, "input_batch_dimension", labels->input_batch);
    set_number(scope, conv, "input_feature_dimension", labels->input_feature);
    set_list(scope, conv, "input_spatial_dimensions", (struct ints){rank, labels->input_spatial});
    set_number(scope, conv, "kernel_input_feature_dimension", labels->kernel_input_feature);
    set_number(scope, conv, "kernel_output_feature_dimension", labels->kernel_output_feature);
    set_list(scope, conv, "kernel_spatial_dimensions", (struct ints){rank, labels->kernel_spatial});
    set_number(scope, conv, "output_batch_dimension", labels->output_batch);
    set_number(scope, conv, "output_feature_dimension", labels->output_feature);
    set_list(scope, conv, "output_spatial_dimensions", (struct ints){rank, labels->output_spatial});
}

/* HLO lets the operands' types differ. Of StableHLO's they must not: truth values become numbers.
 */
static bool match_types(struct export_scope *scope, const struct instruction *instruction,
                        struct leaves operands)
{
    const struct shape *const shapes[] = {instruction->operands[0]->shape,
                                          instruction->operands[1]->shape};
    if (shapes[0]->type == shapes[1]->type) {
        return true;
    }
    if (shapes[0]->type != TYPE_PRED && shapes[1]->type != TYPE_PRED) {
        return export_refuse(scope, instruction, "of %s and %s", type_text(shapes[0]->type),
                             type_text(shapes[1]->type));
    }
    int changed = shapes[0]->type == TYPE_PRED ? 0 : 1;
    const struct shape *from = shapes[changed];
    const struct mlir_type *type =
        mlir_tensor(scope->exporter->file, shapes[1 - changed]->type, from->rank, from->dimensions);
    struct leaves one = {1, &operands.values[changed]};
    struct mlir_op *convert = export_op(scope, instruction, "convert", one, 1, &type, 0);
    operands.values[changed] = &convert->results[0];
    return true;
}

bool export_convolution(struct export_scope *scope, const struct instruction *instruction)
{
    const struct attr *labels = attr_get(instruction, ATTR_DIM_LABELS);
    struct window window = attr_window(instruction);
    if (labels == NULL || labels->dim_labels->input_unknown > 0 ||
        labels->dim_labels->kernel_unknown > 0 || labels->dim_labels->output_unknown > 0 ||
        instruction->operand_count != 2 || attr_int(instruction, ATTR_ALGORITHM, 0) != 0) {
        return export_refuse(scope, instruction, "with these dimension labels or operands");
    }
    const struct mlir_type *type = export_type(scope, instruction, instruction->shape);
    struct leaves operands = export_operands(scope, instruction);
    if (type == NULL || !match_types(scope, instruction, operands)) {
        return false;
    }
    struct mlir_op *op = export_op(scope, instruction, "convolution", operands, 1, &type, 0);
    export_bind(scope, instruction, op);
    int64_t strides[SHAPE_MAX_RANK], base[SHAPE_MAX_RANK], dilation[SHAPE_MAX_RANK];
    int64_t padding[2 * SHAPE_MAX_RANK], reversal[SHAPE_MAX_RANK];
    for (int i = 0; i < window.rank; i++) {
        const struct window_dimension *dimension = &window.dimensions[i];
        strides[i] = dimension->stride;
        base[i] = dimension->base_dilation;
        dilation[i] = dimension->window_dilation;
        padding[2 * i] = dimension->padding_low;
        padding[2 * i + 1] = dimension->padding_high;
        reversal[i] = dimension->reversal;
    }
    int rank = window.rank;
    export_set_ints(scope, op, "window_strides", (struct ints){rank, strides});
    export_set_matrix(scope, op, "padding", rank, 2, padding);
    export_set_ints(scope, op, "lhs_dilation", (struct ints){rank, base});
    export_set_ints(scope, op, "rhs_dilation", (struct ints){rank, dilation});
    export_set_ints(scope, op, "window_reversal", (struct ints){rank, reversal});
    mlir_op_attr(op, "window_reversal")->type =
        mlir_integer(scope->exporter->file, 1, MLIR_SIGNLESS);
    set_labels(scope, op, labels->dim_labels);
    export_set_int(scope, op, "feature_group_count",
                   attr_int(instruction, ATTR_FEATURE_GROUP_COUNT, 1));
    export_set_int(scope, op, "batch_group_count",
                   attr_int(instruction, ATTR_BATCH_GROUP_COUNT, 1));
    export_set_precision(scope, op, "stablehlo", instruction);
    return true;
}

/* --- linear algebra and transforms --- */

bool export_fft(struct export_scope *scope, const struct instruction *instruction)
{
    struct mlir_op *op = export_plain(scope, instruction, "fft", 0);
    if (op != NULL) {
        export_set_word(
            scope, op, "fft_type", "fft_type",
            attr_enum_text(ATTR_KIND_FFT_TYPE, attr_int(instruction, ATTR_FFT_TYPE, FFT_FFT)));
        export_set_ints(scope, op, "fft_length", attr_ints(instruction, ATTR_FFT_LENGTH));
    }
    return op != NULL;
}

bool export_cholesky(struct export_scope *scope, const struct instruction *instruction)
{
    struct mlir_op *op = export_plain(scope, instruction, "cholesky", 0);
    if (op != NULL) {
        export_set_bool(scope, op, "lower", attr_bool(instruction, ATTR_LOWER, false));
    }
    return op != NULL;
}

bool export_triangular_solve(struct export_scope *scope, const struct instruction *instruction)
{
    struct mlir_op *op = export_plain(scope, instruction, "triangular_solve", 0);
    if (op == NULL) {
        return false;
    }
    export_set_bool(scope, op, "left_side", attr_bool(instruction, ATTR_LEFT_SIDE, false));
    export_set_bool(scope, op, "lower", attr_bool(instruction, ATTR_LOWER, false));
    export_set_bool(scope, op, "unit_diagonal", attr_bool(instruction, ATTR_UNIT_DIAGONAL, false));
    export_set_word(
        scope, op, "transpose_a", "transpose",
        attr_enum_text(ATTR_KIND_TRANSPOSE, attr_int(instruction, ATTR_TRANSPOSE_A, TRANSPOSE_NO)));
    return true;
}

bool export_batch_norm(struct export_scope *scope, const struct instruction *instruction)
{
    const char *name = instruction->opcode == OP_BATCH_NORM_GRAD       ? "batch_norm_grad"
                       : instruction->opcode == OP_BATCH_NORM_TRAINING ? "batch_norm_training"
                                                                       : "batch_norm_inference";
    struct mlir_op *op = export_plain(scope, instruction, name, 0);
    if (op == NULL) {
        return false;
    }
    struct mlir_file *file = scope->exporter->file;
    struct mlir_attr *epsilon = mlir_attr_new(file, MLIR_ATTR_FLOAT);
    epsilon->type = mlir_float(file, "f32", 3);
    epsilon->number = (float)attr_float(instruction, ATTR_EPSILON, 0);
    mlir_set(file, &op->attrs, "epsilon", epsilon);
    export_set_int(scope, op, "feature_index", attr_int(instruction, ATTR_FEATURE_INDEX, 0));
    return true;
}
