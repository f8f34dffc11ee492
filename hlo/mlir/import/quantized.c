/* Quantized tensors: uniform_quantize, uniform_dequantize, and any op between the two.
 * Source: StableHLO's specification, "Quantization computations" (quantize, dequantize,
 * dequantize_op_quantize, hybrid_dequantize_then_op). It writes the difference stored − zero point
 * in the storage type, where it may not fit; here it is computed in a wider type, as StableHLO's
 * interpreter does. */
#include "hlo/mlir/import/quantized.h"

#include <string.h>

#include "hlo/literal.h"
#include "hlo/mlir/import/build.h"
#include "hlo/mlir/import/twin.h"

/* The quantized element type of a value, or NULL. */
static const struct mlir_quantized *quantized_of(const struct mlir_type *type)
{
    if ((type->kind == MLIR_TENSOR || type->kind == MLIR_UNRANKED) &&
        type->element->kind == MLIR_QUANTIZED) {
        type = type->element;
    }
    return type->kind == MLIR_QUANTIZED ? type->quantized : NULL;
}

bool import_is_quantized(const struct mlir_op *op)
{
    for (int i = 0; i < op->operand_count; i++) {
        if (quantized_of(op->operands[i]->type) != NULL) {
            return true;
        }
    }
    for (int i = 0; i < op->result_count; i++) {
        if (quantized_of(op->results[i].type) != NULL) {
            return true;
        }
    }
    return false;
}

/* --- scales and zero points as arrays --- */

/* One number for each scale, in the shape of the scales. `values` are scales, or NULL: zero points
 * then. */
static struct instruction *parameter_constant(struct scope *scope, const struct mlir_op *op,
                                              const struct mlir_quantized *quantized,
                                              const double *values, enum type type)
{
    const struct shape *shape = quantized->axis_count == 0
                                    ? shape_scalar(type)
                                    : shape_array(type, quantized->rank, quantized->counts);
    struct literal *literal = literal_zero(shape, scope->importer->err);
    if (literal == NULL) {
        return NULL;
    }
    for (int i = 0; i < quantized->count; i++) {
        if (values != NULL) {
            literal_set_double(literal, i, values[i]);
        } else if (type_is_float(type)) {
            literal_set_double(literal, i, (double)quantized->zero_points[i]);
        } else {
            literal_set_int(literal, i, quantized->zero_points[i]);
        }
    }
    return import_constant(scope, op, literal);
}

/* Do the scales fit an array of that shape? */
static bool scales_fit(struct scope *scope, const struct mlir_op *op, const struct shape *shape,
                       const struct mlir_quantized *quantized)
{
    for (int i = 0; i < quantized->axis_count; i++) {
        int64_t axis = quantized->axes[i], block = quantized->block_sizes[i];
        if (axis < 0 || axis >= shape->rank || (i > 0 && axis <= quantized->axes[i - 1])) {
            return import_refuse(scope, op, "scales along axes in that order of %s",
                                 shape_text(shape));
        }
        int64_t size = shape->dimensions[axis], count = quantized->counts[i];
        bool fits = block > 0 ? size % block == 0 && size / block == count : size == count;
        if (!fits) {
            return import_fail(scope, op, "%lld scales for dimension %lld of %s", (long long)count,
                               (long long)axis, shape_text(shape));
        }
    }
    return true;
}

/* The parameters as an array of that shape: each goes along its axes, over its block. */
static struct instruction *spread(struct scope *scope, const struct mlir_op *op,
                                  const struct shape *shape, const struct mlir_quantized *quantized,
                                  const double *values)
{
    enum type type = shape->type;
    struct instruction *constant = parameter_constant(scope, op, quantized, values, type);
    if (constant == NULL || (quantized->axis_count == 0 && shape->rank == 0)) {
        return constant;
    }
    if (quantized->axis_count > SHAPE_MAX_RANK / 2) {
        import_refuse(scope, op, "scales along %d axes", quantized->axis_count);
        return NULL;
    }
    int64_t split[SHAPE_MAX_RANK], places[SHAPE_MAX_RANK], joined[SHAPE_MAX_RANK];
    bool blocks = false;
    for (int i = 0; i < quantized->axis_count; i++) {
        split[2 * i] = quantized->counts[i];
        split[2 * i + 1] = quantized->block_sizes[i] > 0 ? quantized->block_sizes[i] : 1;
        places[i] = (int64_t)2 * i;
        joined[i] = shape->dimensions[quantized->axes[i]];
        blocks |= split[2 * i + 1] > 1;
    }
    if (blocks) {
        constant = import_broadcast(scope, op, constant,
                                    shape_array(type, 2 * quantized->axis_count, split),
                                    quantized->axis_count, places);
        constant = build_reshape(scope, op, constant, quantized->axis_count, joined);
    }
    return import_broadcast(scope, op, constant, shape_without_layout(shape), quantized->axis_count,
                            quantized->axes);
}

static bool has_zero_points(const struct mlir_quantized *quantized)
{
    for (int i = 0; i < quantized->count; i++) {
        if (quantized->zero_points[i] != 0) {
            return true;
        }
    }
    return false;
}

static struct instruction *binary(struct scope *scope, const struct mlir_op *op, enum opcode opcode,
                                  struct instruction *a, struct instruction *b)
{
    struct instruction *operands[] = {a, b};
    return a != NULL && b != NULL ? import_add(scope, op, opcode, a->shape, 2, operands) : NULL;
}

/* --- quantize, dequantize --- */

static struct instruction *dequantize(struct scope *scope, const struct mlir_op *op,
                                      struct instruction *from,
                                      const struct mlir_quantized *quantized)
{
    enum type expressed = quantized->expressed->element_type;
    if (!shape_is_array(from->shape) || !type_is_float(expressed)) {
        import_fail(scope, op, "%s cannot be dequantized to that type", shape_text(from->shape));
        return NULL;
    }
    if (!scales_fit(scope, op, from->shape, quantized)) {
        return NULL;
    }
    struct instruction *value = from;
    if (has_zero_points(quantized)) {
        enum type wide = type_bits(from->shape->type) >= 32 ? TYPE_S64 : TYPE_S32;
        value = build_convert(scope, op, value, wide);
        value =
            binary(scope, op, OP_SUBTRACT, value, spread(scope, op, value->shape, quantized, NULL));
    }
    if (value == NULL) {
        return NULL;
    }
    value = build_convert(scope, op, value, expressed);
    return binary(scope, op, OP_MULTIPLY, value,
                  spread(scope, op, value->shape, quantized, quantized->scales));
}

static struct instruction *quantize(struct scope *scope, const struct mlir_op *op,
                                    struct instruction *from,
                                    const struct mlir_quantized *quantized)
{
    enum type expressed = quantized->expressed->element_type;
    const struct shape *shape = from->shape;
    if (!shape_is_array(shape) || shape->type != expressed ||
        !type_is_integer(quantized->storage->element_type) ||
        !scales_fit(scope, op, shape, quantized)) {
        import_fail(scope, op, "%s cannot be quantized to that type", shape_text(shape));
        return NULL;
    }
    struct instruction *value =
        binary(scope, op, OP_DIVIDE, from, spread(scope, op, shape, quantized, quantized->scales));
    if (has_zero_points(quantized)) {
        value = binary(scope, op, OP_ADD, value, spread(scope, op, shape, quantized, NULL));
    }
    struct instruction *clamped[] = {
        import_scalar(scope, op, expressed, (double)quantized->minimum), value,
        import_scalar(scope, op, expressed, (double)quantized->maximum)};
    if (clamped[0] == NULL || value == NULL || clamped[2] == NULL) {
        return NULL;
    }
    value = import_add(scope, op, OP_CLAMP, value->shape, 3, clamped);
    value = import_add(scope, op, OP_ROUND_NEAREST_EVEN, value->shape, 1, &value);
    return build_convert(scope, op, value, quantized->storage->element_type);
}

bool translate_uniform_dequantize(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 1, 1, 0);
    const struct mlir_quantized *quantized =
        operands != NULL ? quantized_of(op->operands[0]->type) : NULL;
    if (quantized == NULL) {
        return import_fail(scope, op, "takes a quantized tensor");
    }
    struct instruction *value = dequantize(scope, op, operands[0], quantized);
    return value != NULL && import_bind_results(scope, op, value);
}

bool translate_uniform_quantize(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 1, 1, 0);
    const struct mlir_quantized *from =
        operands != NULL ? quantized_of(op->operands[0]->type) : NULL;
    const struct mlir_quantized *to = operands != NULL ? quantized_of(op->results[0].type) : NULL;
    if (to == NULL) {
        return import_fail(scope, op, "gives a quantized tensor");
    }
    struct instruction *value = operands[0];
    if (from != NULL) {
        value = dequantize(scope, op, value, from);
    }
    value = value != NULL ? quantize(scope, op, value, to) : NULL;
    return value != NULL && import_bind_results(scope, op, value);
}

/* --- other ops --- */

enum how {
    ON_REALS,   /* dequantize the operands, quantize the results */
    ON_STORAGE, /* what is stored is moved, or passed to regions and functions */
    MOVES,      /* likewise, and must keep scales and zero points */
};

static enum how how_of(enum mlir_opcode opcode)
{
    switch (opcode) {
    case MLIR_OP_BROADCAST:
    case MLIR_OP_BROADCAST_IN_DIM:
    case MLIR_OP_CONCATENATE:
    case MLIR_OP_DYNAMIC_BROADCAST_IN_DIM:
    case MLIR_OP_DYNAMIC_GATHER:
    case MLIR_OP_DYNAMIC_PAD:
    case MLIR_OP_DYNAMIC_RESHAPE:
    case MLIR_OP_DYNAMIC_SLICE:
    case MLIR_OP_DYNAMIC_UPDATE_SLICE:
    case MLIR_OP_GATHER:
    case MLIR_OP_PAD:
    case MLIR_OP_REAL_DYNAMIC_SLICE:
    case MLIR_OP_RESHAPE:
    case MLIR_OP_REVERSE:
    case MLIR_OP_SLICE:
    case MLIR_OP_TORCH_INDEX_SELECT:
    case MLIR_OP_TRANSPOSE:
    case MLIR_OP_ALL_GATHER:
    case MLIR_OP_ALL_TO_ALL:
    case MLIR_OP_COLLECTIVE_BROADCAST:
    case MLIR_OP_COLLECTIVE_PERMUTE:
    case MLIR_OP_OPTIMIZATION_BARRIER:
        return MOVES;
    case MLIR_OP_CONSTANT:
    case MLIR_OP_BITCAST_CONVERT:
    case MLIR_OP_UNIFORM_QUANTIZE:
    case MLIR_OP_UNIFORM_DEQUANTIZE:
    case MLIR_OP_GET_DIMENSION_SIZE:
    case MLIR_OP_SET_DIMENSION_SIZE:
    case MLIR_OP_ALL_REDUCE:
    case MLIR_OP_COLLECTIVE_REDUCE:
    case MLIR_OP_REDUCE_SCATTER:
    case MLIR_OP_CROSS_REPLICA_SUM:
    case MLIR_OP_MAP:
    case MLIR_OP_REDUCE:
    case MLIR_OP_REDUCE_WINDOW:
    case MLIR_OP_SCATTER:
    case MLIR_OP_SELECT_AND_SCATTER:
    case MLIR_OP_SORT:
    case MLIR_OP_WHILE:
    case MLIR_OP_IF:
    case MLIR_OP_CASE:
    case MLIR_OP_CALL:
    case MLIR_OP_COMPOSITE:
    case MLIR_OP_CUSTOM_CALL:
    case MLIR_OP_TUPLE:
    case MLIR_OP_GET_TUPLE_ELEMENT:
    case MLIR_OP_INFEED:
    case MLIR_OP_OUTFEED:
    case MLIR_OP_SEND:
    case MLIR_OP_RECV:
    case MLIR_OP_ASYNC_START:
    case MLIR_OP_ASYNC_DONE:
    case MLIR_OP_CONVERSION_CAST:
    case MLIR_OP_TENSOR_CAST:
    case MLIR_OP_TENSOR_DIM:
    case MLIR_OP_SHAPE_SHAPE_OF:
    case MLIR_OP_CHECK_EXPECT_EQ:
    case MLIR_OP_CHECK_EXPECT_EQ_CONST:
    case MLIR_OP_CHECK_EXPECT_SERIALIZED_EQ:
    case MLIR_OP_INTERPRETER_RUN_PARALLEL:
    case MLIR_OP_INTERPRETER_PROBE:
    case MLIR_OP_INTERPRETER_PRINT:
    case MLIR_OP_SDY_SHARDING_CONSTRAINT:
    case MLIR_OP_SDY_MANUAL_COMPUTATION:
    case MLIR_OP_SDY_NAMED_COMPUTATION:
    case MLIR_OP_SDY_PROPAGATION_BARRIER:
    case MLIR_OP_SDY_SHARDING_GROUP:
    case MLIR_OP_SDY_DATA_FLOW_EDGE:
    case MLIR_OP_SDY_RESHARD:
        return ON_STORAGE;
    default:
        return ON_REALS;
    }
}

static bool same_parameters(const struct mlir_quantized *a, const struct mlir_quantized *b)
{
    return a->storage == b->storage && a->expressed == b->expressed && a->minimum == b->minimum &&
           a->maximum == b->maximum && a->count == b->count &&
           memcmp(a->scales, b->scales, (size_t)a->count * sizeof *a->scales) == 0 &&
           memcmp(a->zero_points, b->zero_points, (size_t)a->count * sizeof *a->zero_points) == 0;
}

/* Is every quantized operand quantized as the result is, if scales are one for all? (Those along an
 * axis may be those of a part of the other's.) */
static bool keeps_parameters(struct scope *scope, const struct mlir_op *op)
{
    const struct mlir_quantized *to =
        op->result_count == 1 ? quantized_of(op->results[0].type) : NULL;
    for (int i = 0; i < op->operand_count && to != NULL; i++) {
        const struct mlir_quantized *from = quantized_of(op->operands[i]->type);
        if (from != NULL && from->axis_count == 0 && to->axis_count == 0 &&
            !same_parameters(from, to)) {
            return import_fail(scope, op, "operand %d is quantized in another way than the result",
                               i);
        }
    }
    return true;
}

/* The type with the expressed type in place of the quantized one. */
static const struct mlir_type *expressed_type(struct mlir_file *file, const struct mlir_type *type)
{
    const struct mlir_type *expressed = quantized_of(type)->expressed;
    return type->kind == MLIR_QUANTIZED
               ? expressed
               : mlir_shaped(file, type->kind, expressed, type->rank, type->sizes, type->encoding);
}

static bool on_reals(struct scope *scope, const struct mlir_op *op, import_function *translate)
{
    struct mlir_file *file = scope->importer->file;
    struct mlir_op *twin = twin_of(scope, op);
    for (int i = 0; i < op->operand_count; i++) {
        const struct mlir_quantized *quantized = quantized_of(op->operands[i]->type);
        if (quantized == NULL) {
            continue;
        }
        struct instruction *from = import_value(scope, op, op->operands[i]);
        struct instruction *real = from != NULL ? dequantize(scope, op, from, quantized) : NULL;
        if (real == NULL) {
            return false;
        }
        struct mlir_value *value = arena_copy(&file->arena, op->operands[i], sizeof *value);
        value->op = NULL;
        value->type = expressed_type(file, value->type);
        twin->operands[i] = value;
        import_bind(scope, value, real);
    }
    for (int i = 0; i < op->result_count; i++) {
        if (quantized_of(op->results[i].type) != NULL) {
            twin->results[i].type = expressed_type(file, op->results[i].type);
        }
    }
    if (!translate(scope, twin)) {
        return false;
    }
    for (int i = 0; i < op->result_count; i++) {
        const struct mlir_quantized *quantized = quantized_of(op->results[i].type);
        struct instruction *value = import_value(scope, op, &twin->results[i]);
        if (value != NULL && quantized != NULL) {
            value = quantize(scope, op, value, quantized);
        }
        if (value == NULL) {
            return false;
        }
        import_bind(scope, &op->results[i], value);
    }
    return scope->importer->err->code == ERROR_NONE;
}

bool import_quantized(struct scope *scope, const struct mlir_op *op, import_function *translate)
{
    const enum how how = how_of(op->opcode);
    if (how == MOVES && !keeps_parameters(scope, op)) {
        return false;
    }
    return how == ON_REALS ? on_reals(scope, op, translate) : translate(scope, op);
}
