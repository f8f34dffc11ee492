/* Elementwise ops: each becomes the HLO opcode of its row in ops.def.
 * Sources: StableHLO's specification. HLO's opcodes mean what it says for every element type: add
 * and maximum of booleans are OR, multiply and minimum AND, subtract is not defined on them. */
#include <string.h>

#include "hlo/literal.h"
#include "hlo/mlir/import/build.h"
#include "hlo/mlir/import/import_internal.h"

/* #stablehlo.result_accuracy<atol = …, rtol = …, ulps = …, mode = …>; the mode DEFAULT says
 * nothing. */
static bool set_result_accuracy(struct scope *scope, const struct mlir_op *op,
                                struct instruction *instruction)
{
    const struct mlir_attr *attr = mlir_op_attr(op, "result_accuracy");
    if (attr == NULL || !opcode_takes(instruction->opcode, ATTR_RESULT_ACCURACY)) {
        return true;
    }
    if (attr->kind != MLIR_ATTR_DIALECT) {
        return import_fail(scope, op, "result_accuracy must be #stablehlo.result_accuracy<…>");
    }
    const struct mlir_dictionary *parameters = &attr->dialect.parameters;
    const struct mlir_attr *mode = mlir_get(parameters, "mode");
    const struct mlir_attr *atol = mlir_get(parameters, "atol");
    const struct mlir_attr *rtol = mlir_get(parameters, "rtol");
    const struct mlir_attr *ulps = mlir_get(parameters, "ulps");
    const char *word = mode != NULL && mode->kind == MLIR_ATTR_DIALECT ? mode->dialect.word : NULL;
    if (word == NULL || strcmp(word, "DEFAULT") == 0) {
        return true;
    }
    struct result_accuracy accuracy = {0};
    if (strcmp(word, "HIGHEST") == 0) {
        accuracy.mode = 1;
    } else {
        accuracy.has_tolerance = true;
        accuracy.atol = atol != NULL && atol->kind == MLIR_ATTR_FLOAT ? atol->number : 0.0;
        accuracy.rtol = rtol != NULL && rtol->kind == MLIR_ATTR_FLOAT ? rtol->number : 0.0;
        accuracy.ulps = ulps != NULL && ulps->kind == MLIR_ATTR_INT ? ulps->integer : 0;
    }
    struct attr set = {.key = ATTR_RESULT_ACCURACY};
    set.result_accuracy = arena_copy(&scope->importer->module->arena, &accuracy, sizeof accuracy);
    instruction_set_attr(instruction, set);
    return true;
}

/* The principal cube root of complex numbers, which HLO's cbrt does not take. */
static bool translate_complex_cbrt(struct scope *scope, const struct mlir_op *op,
                                   struct instruction *operand)
{
    struct instruction *third = build_fill(scope, op, operand->shape, 1.0 / 3.0);
    struct instruction *operands[] = {operand, third};
    return third != NULL &&
           build_finish(scope, op, import_add(scope, op, OP_POWER, NULL, 2, operands));
}

/* A scalar operand beside an array, made as large as it. HLO takes the scalars of select and clamp
 * as they are, but XLA's translation does this. Dynamic arrays keep their scalars. */
static struct instruction *spread(struct scope *scope, const struct mlir_op *op,
                                  struct instruction *scalar, const struct instruction *beside)
{
    if (!shape_is_scalar(scalar->shape) || !shape_is_array(beside->shape) ||
        beside->shape->rank == 0 || shape_is_dynamic(beside->shape)) {
        return scalar;
    }
    const struct shape *shape = shape_without_layout(beside->shape);
    return import_broadcast(scope, op, scalar, shape_with_type(shape, scalar->shape->type), 0,
                            NULL);
}

bool translate_elementwise(struct scope *scope, const struct mlir_op *op)
{
    enum opcode opcode = mlir_opcode_hlo(op->opcode);
    struct instruction **operands = build_operands(scope, op, opcode_table[opcode].arity, 1, 0);
    if (operands == NULL) {
        return false;
    }
    if (opcode == OP_CBRT && type_is_complex(operands[0]->shape->type)) {
        return translate_complex_cbrt(scope, op, operands[0]);
    }
    if (opcode == OP_CLAMP) {
        operands[0] = spread(scope, op, operands[0], operands[1]);
        operands[2] = spread(scope, op, operands[2], operands[1]);
    }
    struct instruction *instruction =
        import_add(scope, op, opcode, NULL, op->operand_count, operands);
    return set_result_accuracy(scope, op, instruction) && build_finish(scope, op, instruction);
}

/* --- compare --- */

static struct instruction *add_compare(struct scope *scope, const struct mlir_op *op,
                                       enum direction direction, struct instruction *a,
                                       struct instruction *b)
{
    struct instruction *operands[] = {a, b};
    struct instruction *compare = import_add(scope, op, OP_COMPARE, NULL, 2, operands);
    import_set_int(compare, ATTR_DIRECTION, direction);
    return import_finish(scope, op, compare) ? compare : NULL;
}

static struct instruction *add_binary(struct scope *scope, const struct mlir_op *op,
                                      enum opcode opcode, struct instruction *a,
                                      struct instruction *b)
{
    struct instruction *operands[] = {a, b};
    struct instruction *binary =
        a != NULL && b != NULL ? import_add(scope, op, opcode, NULL, 2, operands) : NULL;
    return binary != NULL && import_finish(scope, op, binary) ? binary : NULL;
}

static struct instruction *add_part(struct scope *scope, const struct mlir_op *op,
                                    enum opcode opcode, struct instruction *from)
{
    struct instruction *part = import_add(scope, op, opcode, NULL, 1, &from);
    return import_finish(scope, op, part) ? part : NULL;
}

/* Pairs (real, imaginary) in lexicographic order, which HLO has no comparison for:
 * real < real' or (real = real' and imaginary < imaginary'). */
static bool compare_complex(struct scope *scope, const struct mlir_op *op, enum direction direction,
                            struct instruction *const *operands)
{
    struct instruction *parts[2][2];
    for (int i = 0; i < 2; i++) {
        parts[i][0] = add_part(scope, op, OP_REAL, operands[i]);
        parts[i][1] = add_part(scope, op, OP_IMAG, operands[i]);
        if (parts[i][0] == NULL || parts[i][1] == NULL) {
            return false;
        }
    }
    bool less = direction == DIRECTION_LT || direction == DIRECTION_LE;
    struct instruction *first =
        add_compare(scope, op, less ? DIRECTION_LT : DIRECTION_GT, parts[0][0], parts[1][0]);
    struct instruction *same = add_compare(scope, op, DIRECTION_EQ, parts[0][0], parts[1][0]);
    struct instruction *second = add_compare(scope, op, direction, parts[0][1], parts[1][1]);
    struct instruction *both = add_binary(scope, op, OP_AND, same, second);
    struct instruction *result = add_binary(scope, op, OP_OR, first, both);
    return result != NULL && import_bind_results(scope, op, result);
}

bool translate_compare(struct scope *scope, const struct mlir_op *op)
{
    const char *word = NULL, *type = NULL;
    struct instruction **operands = build_operands(scope, op, 2, 1, 0);
    if (operands == NULL || !import_word_attr(scope, op, "comparison_direction", &word) ||
        !import_word_attr(scope, op, "compare_type", &type)) {
        return false;
    }
    int64_t direction =
        word != NULL ? attr_enum_value(ATTR_KIND_DIRECTION, word, strlen(word)) : -1;
    if (direction < 0) {
        return import_fail(scope, op, "comparison_direction must be EQ, NE, GE, GT, LE or LT");
    }
    if (type_is_complex(operands[0]->shape->type) && direction != DIRECTION_EQ &&
        direction != DIRECTION_NE) {
        return compare_complex(scope, op, (enum direction)direction, operands);
    }
    struct instruction *compare = import_add(scope, op, OP_COMPARE, NULL, 2, operands);
    import_set_int(compare, ATTR_DIRECTION, direction);
    /* The other types are those of the operands anyway. */
    if (type != NULL && strcmp(type, "TOTALORDER") == 0) {
        if (!type_is_float(operands[0]->shape->type)) {
            return import_fail(scope, op, "TOTALORDER compares floats");
        }
        import_set_int(compare, ATTR_TYPE, COMPARE_TOTALORDER);
    }
    return build_finish(scope, op, compare);
}

/* --- conversions --- */

/* The shape of the result: the operand's with the element type of the result's type. */
static const struct shape *converted_shape(struct scope *scope, const struct mlir_op *op,
                                           const struct instruction *operand)
{
    const struct mlir_type *element = op->results[0].type->element;
    if (!shape_is_array(operand->shape) || element == NULL ||
        element->element_type == TYPE_INVALID) {
        import_fail(scope, op, "converts tensors");
        return NULL;
    }
    return import_result_shape(scope, op, 0,
                               shape_with_type(operand->shape, element->element_type));
}

bool translate_convert(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 1, 1, 0);
    const struct shape *shape = operands != NULL ? converted_shape(scope, op, operands[0]) : NULL;
    if (shape == NULL) {
        return false;
    }
    struct instruction *from = operands[0];
    /* The imaginary part is ignored. */
    if (type_is_complex(from->shape->type) && !type_is_complex(shape->type)) {
        from = add_part(scope, op, OP_REAL, from);
    }
    return from != NULL &&
           import_bind_results(scope, op, import_add(scope, op, OP_CONVERT, shape, 1, &from));
}

bool translate_reduce_precision(struct scope *scope, const struct mlir_op *op)
{
    int64_t exponent = -1, mantissa = -1;
    struct instruction **operands = build_operands(scope, op, 1, 1, 0);
    if (operands == NULL || !import_int_attr(scope, op, "exponent_bits", &exponent) ||
        !import_int_attr(scope, op, "mantissa_bits", &mantissa)) {
        return false;
    }
    if (exponent < 1 || mantissa < 0) {
        return import_fail(scope, op, "needs exponent_bits of at least 1 and mantissa_bits");
    }
    if (!type_is_float(operands[0]->shape->type)) {
        return import_fail(scope, op, "reduces the precision of floats");
    }
    struct instruction *reduce = import_add(scope, op, OP_REDUCE_PRECISION, NULL, 1, operands);
    import_set_int(reduce, ATTR_EXPONENT_BITS, exponent);
    import_set_int(reduce, ATTR_MANTISSA_BITS, mantissa);
    return build_finish(scope, op, reduce);
}

/* --- select, map --- */

bool translate_select(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 3, 1, 0);
    if (operands == NULL) {
        return false;
    }
    operands[0] = spread(scope, op, operands[0], operands[1]);
    return build_finish(scope, op, import_add(scope, op, OP_SELECT, NULL, 3, operands));
}

bool translate_map(struct scope *scope, const struct mlir_op *op)
{
    struct ints dimensions = {0};
    struct instruction **operands = build_operands(scope, op, -1, 1, 1);
    if (operands == NULL || !import_ints_attr(scope, op, "dimensions", &dimensions)) {
        return false;
    }
    const struct mlir_block *block = import_only_block(scope, op, 0);
    if (block == NULL) {
        return false;
    }
    if (block->argument_count != op->operand_count) {
        return import_fail(scope, op, "its region must take as many values as there are operands");
    }
    struct computation *computation = import_region(scope, op, 0, NULL, false);
    if (computation == NULL) {
        return false;
    }
    struct instruction *map = import_add(scope, op, OP_MAP, NULL, op->operand_count, operands);
    instruction_set_called(map, 1, &computation);
    import_set_ints(map, ATTR_DIMENSIONS, dimensions.count, dimensions.values);
    return build_finish(scope, op, map);
}
