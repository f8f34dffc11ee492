/* CHLO: elementwise ops of its own, and numpy's broadcasting.
 * Sources: stablehlo/dialect/ChloOps.td, stablehlo/transforms/ChloLegalizeToStablehlo.cpp and
 * ChloDecompositionPatterns.td (what the ops mean). */
#include "hlo/mlir/import/chlo.h"

#include <math.h>
#include <string.h>

#include "hlo/literal.h"
#include "hlo/mlir/import/build.h"
#include "hlo/mlir/import/import_internal.h"
#include "hlo/mlir/import/twin.h"

/* --- formulas --- */

struct instruction *formula_add(struct formula *formula, enum opcode opcode,
                                const struct shape *shape, int count,
                                struct instruction *const *operands)
{
    for (int i = 0; i < count; i++) {
        if (operands[i] == NULL) {
            return NULL;
        }
    }
    struct instruction *instruction = instruction_add(
        formula->computation, import_name(formula->scope->importer, opcode_text(opcode)), opcode,
        shape, count, operands);
    instruction->line = formula->op->line;
    instruction->column = formula->op->line > 0 ? formula->op->column : 0;
    return instruction;
}

struct instruction *formula_unary(struct formula *formula, enum opcode opcode,
                                  struct instruction *a)
{
    return a != NULL ? formula_add(formula, opcode, a->shape, 1, &a) : NULL;
}

struct instruction *formula_binary(struct formula *formula, enum opcode opcode,
                                   struct instruction *a, struct instruction *b)
{
    struct instruction *operands[] = {a, b};
    return a != NULL ? formula_add(formula, opcode, a->shape, 2, operands) : NULL;
}

struct instruction *formula_compare(struct formula *formula, enum direction direction,
                                    struct instruction *a, struct instruction *b)
{
    struct instruction *operands[] = {a, b};
    struct instruction *compare =
        a != NULL
            ? formula_add(formula, OP_COMPARE, shape_with_type(a->shape, TYPE_PRED), 2, operands)
            : NULL;
    if (compare != NULL) {
        import_set_int(compare, ATTR_DIRECTION, direction);
    }
    return compare;
}

struct instruction *formula_select(struct formula *formula, struct instruction *which,
                                   struct instruction *on_true, struct instruction *on_false)
{
    struct instruction *operands[] = {which, on_true, on_false};
    return on_true != NULL ? formula_add(formula, OP_SELECT, on_true->shape, 3, operands) : NULL;
}

/* Takes the scalar. */
static struct instruction *everywhere(struct formula *formula, const struct shape *shape,
                                      struct literal *scalar)
{
    struct instruction *constant = formula_add(formula, OP_CONSTANT, scalar->shape, 0, NULL);
    constant->literal = scalar;
    if (shape->rank == 0) {
        return constant;
    }
    struct instruction *broadcast =
        formula_add(formula, OP_BROADCAST, shape_without_layout(shape), 1, &constant);
    import_set_ints(broadcast, ATTR_DIMENSIONS, 0, NULL);
    return broadcast;
}

/* A zero scalar of the type of `like`; NULL on errors, among them that there is no `like`. */
static struct literal *scalar_like(struct formula *formula, const struct instruction *like)
{
    return like != NULL
               ? literal_zero(shape_scalar(like->shape->type), formula->scope->importer->err)
               : NULL;
}

struct instruction *formula_number(struct formula *formula, struct instruction *like, double value)
{
    struct literal *literal = scalar_like(formula, like);
    if (literal == NULL) {
        return NULL;
    }
    literal_set_double(literal, 0, value);
    return everywhere(formula, like->shape, literal);
}

struct instruction *formula_bits(struct formula *formula, struct instruction *like, uint64_t value)
{
    struct literal *literal = scalar_like(formula, like);
    if (literal == NULL) {
        return NULL;
    }
    literal_set_int(literal, 0, (int64_t)value);
    return everywhere(formula, like->shape, literal);
}

struct instruction *formula_bitcast(struct formula *formula, struct instruction *a, enum type type)
{
    return a != NULL
               ? formula_add(formula, OP_BITCAST_CONVERT, shape_with_type(a->shape, type), 1, &a)
               : NULL;
}

struct instruction *formula_convert(struct formula *formula, struct instruction *a, enum type type)
{
    if (a == NULL || a->shape->type == type) {
        return a;
    }
    return formula_add(formula, OP_CONVERT, shape_with_type(a->shape, type), 1, &a);
}

static struct formula formula_here(struct scope *scope, const struct mlir_op *op)
{
    return (struct formula){.scope = scope, .op = op, .computation = scope->computation};
}

/* Binds the one result. */
static bool finish(struct formula *formula, struct instruction *result)
{
    return result != NULL && import_bind_results(formula->scope, formula->op, result);
}

/* The one operand, which must be an array of floats, or with `complex_too` of complex numbers. */
static struct instruction *float_operand(struct scope *scope, const struct mlir_op *op,
                                         bool complex_too)
{
    struct instruction **operands = build_operands(scope, op, 1, 1, 0);
    if (operands == NULL) {
        return NULL;
    }
    enum type type = operands[0]->shape->type;
    if (!type_is_float(type) && !(complex_too && type_is_complex(type))) {
        import_fail(scope, op, "takes floats, not %s", shape_text(operands[0]->shape));
        return NULL;
    }
    return operands[0];
}

/* --- elementwise --- */

/* real(z) or imag(z). */
static struct instruction *part(struct formula *formula, enum opcode opcode, struct instruction *z)
{
    return formula_add(formula, opcode, shape_with_type(z->shape, type_part(z->shape->type)), 1,
                       &z);
}

static struct instruction *complex_of(struct formula *formula, struct instruction *re,
                                      struct instruction *im)
{
    struct instruction *operands[] = {re, im};
    return re != NULL ? formula_add(formula, OP_COMPLEX,
                                    shape_with_type(re->shape, type_complex_of(re->shape->type)), 2,
                                    operands)
                      : NULL;
}

/* atan x = atan2(x, 1); of complex z, atanh(i z) / i. */
bool translate_chlo_atan(struct scope *scope, const struct mlir_op *op)
{
    struct instruction *x = float_operand(scope, op, true);
    struct formula formula = formula_here(scope, op);
    if (x == NULL) {
        return false;
    }
    if (!type_is_complex(x->shape->type)) {
        return finish(&formula,
                      formula_binary(&formula, OP_ATAN2, x, formula_number(&formula, x, 1)));
    }
    struct instruction *re = part(&formula, OP_REAL, x), *im = part(&formula, OP_IMAG, x);
    struct instruction *turned = complex_of(&formula, formula_unary(&formula, OP_NEGATE, im), re);
    struct instruction *value =
        turned != NULL ? chlo_special(scope, op, "chlo.atanh", 1, &turned) : NULL;
    return value != NULL &&
           finish(&formula,
                  complex_of(&formula, part(&formula, OP_IMAG, value),
                             formula_unary(&formula, OP_NEGATE, part(&formula, OP_REAL, value))));
}

bool translate_chlo_conj(struct scope *scope, const struct mlir_op *op)
{
    struct instruction *x = float_operand(scope, op, true);
    struct formula formula = formula_here(scope, op);
    if (x == NULL || !type_is_complex(x->shape->type)) {
        return x != NULL && finish(&formula, x);
    }
    struct instruction *re = part(&formula, OP_REAL, x);
    struct instruction *im = formula_unary(&formula, OP_NEGATE, part(&formula, OP_IMAG, x));
    return finish(&formula, complex_of(&formula, re, im));
}

/* x · x; of complex numbers ((re − im)(re + im), 2 re im). */
bool translate_chlo_square(struct scope *scope, const struct mlir_op *op)
{
    struct instruction *x = float_operand(scope, op, true);
    struct formula formula = formula_here(scope, op);
    if (x == NULL) {
        return false;
    }
    if (!type_is_complex(x->shape->type)) {
        return finish(&formula, formula_binary(&formula, OP_MULTIPLY, x, x));
    }
    struct instruction *re = part(&formula, OP_REAL, x), *im = part(&formula, OP_IMAG, x);
    struct instruction *real =
        formula_binary(&formula, OP_MULTIPLY, formula_binary(&formula, OP_SUBTRACT, re, im),
                       formula_binary(&formula, OP_ADD, re, im));
    struct instruction *both = formula_binary(&formula, OP_MULTIPLY, re, im);
    return finish(&formula,
                  complex_of(&formula, real, formula_binary(&formula, OP_ADD, both, both)));
}

static bool is_value(struct scope *scope, const struct mlir_op *op, bool magnitude, double value)
{
    struct instruction *x = float_operand(scope, op, false);
    struct formula formula = formula_here(scope, op);
    struct instruction *of = magnitude ? formula_unary(&formula, OP_ABS, x) : x;
    return of != NULL && finish(&formula, formula_compare(&formula, DIRECTION_EQ, of,
                                                          formula_number(&formula, of, value)));
}

bool translate_chlo_is_inf(struct scope *scope, const struct mlir_op *op)
{
    return is_value(scope, op, true, INFINITY);
}

bool translate_chlo_is_neg_inf(struct scope *scope, const struct mlir_op *op)
{
    return is_value(scope, op, false, -INFINITY);
}

bool translate_chlo_is_pos_inf(struct scope *scope, const struct mlir_op *op)
{
    return is_value(scope, op, false, INFINITY);
}

bool translate_chlo_asin_acos_kernel(struct scope *scope, const struct mlir_op *op)
{
    return import_refuse(scope, op,
                         "is a step inside decompositions that no program writes (ChloOps.td)");
}

/* Bits of the magnitude count up away from zero. Of two zeros, and of equal values, y; NaN if
 * either is. */
struct instruction *chlo_next_after(struct scope *scope, const struct mlir_op *op,
                                    struct instruction *x, struct instruction *y)
{
    static const enum type unsigned_types[] = {
        [1] = TYPE_U8, [2] = TYPE_U16, [4] = TYPE_U32, [8] = TYPE_U64};
    enum type type = x->shape->type;
    if (!type_is_float(type) || type_bits(type) < 16 || !shape_compatible(x->shape, y->shape)) {
        import_fail(scope, op, "takes floats of one type, not %s and %s", shape_text(x->shape),
                    shape_text(y->shape));
        return NULL;
    }
    struct formula formula = formula_here(scope, op), *f = &formula;
    enum type bits = unsigned_types[type_bytes(type)];
    const uint64_t sign = (uint64_t)1 << (type_bits(type) - 1);
    struct instruction *a = formula_bitcast(f, x, bits), *b = formula_bitcast(f, y, bits);
    struct instruction *one = formula_bits(f, a, 1), *zero = formula_bits(f, a, 0);
    struct instruction *sign_bit = formula_bits(f, a, sign), *rest = formula_bits(f, a, sign - 1);
    struct instruction *size = formula_binary(f, OP_AND, a, rest);
    struct instruction *other_size = formula_binary(f, OP_AND, b, rest);
    struct instruction *same_side =
        formula_compare(f, DIRECTION_EQ, formula_binary(f, OP_AND, a, sign_bit),
                        formula_binary(f, OP_AND, b, sign_bit));
    struct instruction *grows =
        formula_binary(f, OP_AND, same_side, formula_compare(f, DIRECTION_LT, size, other_size));
    struct instruction *moved = formula_select(f, grows, formula_binary(f, OP_ADD, a, one),
                                               formula_binary(f, OP_SUBTRACT, a, one));
    struct instruction *least =
        formula_binary(f, OP_OR, formula_binary(f, OP_AND, b, sign_bit), one);
    moved = formula_select(f, formula_compare(f, DIRECTION_EQ, size, zero), least, moved);
    moved = formula_select(f, formula_compare(f, DIRECTION_EQ, x, y), b, moved);
    struct instruction *is_number = formula_binary(
        f, OP_AND, formula_compare(f, DIRECTION_EQ, x, x), formula_compare(f, DIRECTION_EQ, y, y));
    return formula_select(f, is_number, formula_bitcast(f, moved, type), formula_number(f, x, NAN));
}

bool translate_chlo_next_after(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 2, 1, 0);
    struct instruction *result =
        operands != NULL ? chlo_next_after(scope, op, operands[0], operands[1]) : NULL;
    return result != NULL && import_bind_results(scope, op, result);
}

/* The value, everywhere in the shape of the operand. */
bool translate_chlo_constant_like(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 1, 1, 0);
    const struct mlir_attr *value = mlir_op_attr(op, "value");
    if (operands == NULL || value == NULL || !shape_is_array(operands[0]->shape)) {
        return import_fail(scope, op, "needs a value and a tensor");
    }
    const struct mlir_type *element = op->results[0].type->element;
    if (element == NULL || !type_is_array(element->element_type)) {
        return import_fail(scope, op, "gives a tensor");
    }
    struct literal *literal =
        literal_zero(shape_scalar(element->element_type), scope->importer->err);
    if (literal == NULL) {
        return false;
    }
    const struct mlir_attr *const *parts =
        value->kind == MLIR_ATTR_ARRAY && value->array.count == 2
            ? (const struct mlir_attr *const *)value->array.elements
            : NULL;
    if (value->kind == MLIR_ATTR_INT || value->kind == MLIR_ATTR_BOOL) {
        literal_set_int(literal, 0, value->integer);
    } else if (value->kind == MLIR_ATTR_FLOAT) {
        literal_set_double(literal, 0, value->number);
    } else if (value->kind == MLIR_ATTR_DENSE && value->type->element != NULL &&
               value->type->element->element_type == element->element_type &&
               value->dense.count >= 1) {
        memcpy(literal_data(literal), value->dense.data, (size_t)type_bytes(element->element_type));
    } else if (parts != NULL && type_is_complex(element->element_type) &&
               parts[0]->kind == MLIR_ATTR_FLOAT && parts[1]->kind == MLIR_ATTR_FLOAT) {
        literal_set_complex(literal, 0, parts[0]->number, parts[1]->number);
    } else {
        literal_release(literal);
        return import_refuse(scope, op, "its value is not understood");
    }
    struct formula formula = formula_here(scope, op);
    return finish(
        &formula,
        everywhere(&formula, shape_with_type(operands[0]->shape, element->element_type), literal));
}

/* --- broadcasting --- */

/* The shape that all operands are broadcast to: dimensions are matched from the last on, sizes of 1
 * are repeated. broadcast_dimensions says otherwise where those of the operand of lower rank go. */
static bool broadcast_shape(struct scope *scope, const struct mlir_op *op, int count,
                            struct instruction *const *operands, struct ints dimensions,
                            int64_t *sizes, int *rank)
{
    *rank = 0;
    for (int i = 0; i < count; i++) {
        if (!shape_is_array(operands[i]->shape)) {
            return import_fail(scope, op, "takes tensors");
        }
        *rank = operands[i]->shape->rank > *rank ? operands[i]->shape->rank : *rank;
    }
    for (int d = 0; d < *rank; d++) {
        sizes[d] = 1;
    }
    for (int i = 0; i < count; i++) {
        const struct shape *shape = operands[i]->shape;
        const bool said = dimensions.count > 0 && shape->rank < *rank;
        if (said && dimensions.count != shape->rank) {
            return import_fail(scope, op, "broadcast_dimensions must name %d dimensions",
                               shape->rank);
        }
        for (int d = 0; d < shape->rank; d++) {
            int64_t at = said ? dimensions.values[d] : *rank - shape->rank + d;
            int64_t size = shape->dimensions[d];
            if (at < 0 || at >= *rank || (sizes[at] != 1 && size != 1 && size != sizes[at])) {
                return import_fail(scope, op, "%s does not fit the other operands",
                                   shape_text(shape));
            }
            sizes[at] = size == 1 ? sizes[at] : size;
        }
    }
    return true;
}

/* The operands, all of one shape. NULL on errors. */
static struct instruction **broadcast_operands(struct scope *scope, const struct mlir_op *op,
                                               int count)
{
    struct instruction **operands = build_operands(scope, op, count, 1, 0);
    struct ints dimensions = {0};
    int64_t sizes[SHAPE_MAX_RANK];
    int rank = 0;
    if (operands == NULL || !import_ints_attr(scope, op, "broadcast_dimensions", &dimensions) ||
        !broadcast_shape(scope, op, count, operands, dimensions, sizes, &rank)) {
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        const struct shape *from = operands[i]->shape;
        const struct shape *shape =
            import_computed_shape(scope, op, from->type, (struct ints){rank, sizes});
        if (shape == NULL) {
            return NULL;
        }
        if (shape_compatible(shape, from)) {
            continue;
        }
        int64_t places[SHAPE_MAX_RANK];
        const bool said = dimensions.count > 0 && from->rank < rank;
        for (int d = 0; d < from->rank; d++) {
            places[d] = said ? dimensions.values[d] : rank - from->rank + d;
        }
        operands[i] = import_broadcast_in_dim(scope, op, operands[i], shape, from->rank, places);
        if (operands[i] == NULL) {
            return NULL;
        }
    }
    return operands;
}

bool translate_chlo_broadcast(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = broadcast_operands(scope, op, 2);
    return operands != NULL &&
           build_finish(scope, op,
                        import_add(scope, op, mlir_opcode_hlo(op->opcode), NULL, 2, operands));
}

/* What translates the op without broadcasting, of operands that are broadcast. */
static bool broadcast_then(struct scope *scope, const struct mlir_op *op, int count,
                           import_function *translate)
{
    struct instruction **operands = broadcast_operands(scope, op, count);
    if (operands == NULL) {
        return false;
    }
    struct mlir_file *file = scope->importer->file;
    struct mlir_op *twin = twin_of(scope, op);
    for (int i = 0; i < count; i++) {
        const struct shape *shape = operands[i]->shape;
        struct mlir_value *value = arena_copy(&file->arena, op->operands[i], sizeof *value);
        value->op = NULL;
        value->type = mlir_tensor(file, shape->type, shape->rank, shape->dimensions);
        twin->operands[i] = value;
        import_bind(scope, value, operands[i]);
    }
    return twin_translate(scope, op, twin, translate);
}

bool translate_chlo_broadcast_next_after(struct scope *scope, const struct mlir_op *op)
{
    return broadcast_then(scope, op, 2, translate_chlo_next_after);
}

bool translate_chlo_broadcast_polygamma(struct scope *scope, const struct mlir_op *op)
{
    return broadcast_then(scope, op, 2, translate_chlo_polygamma);
}

bool translate_chlo_broadcast_zeta(struct scope *scope, const struct mlir_op *op)
{
    return broadcast_then(scope, op, 2, translate_chlo_zeta);
}

bool translate_chlo_broadcast_compare(struct scope *scope, const struct mlir_op *op)
{
    return broadcast_then(scope, op, 2, translate_compare);
}

bool translate_chlo_broadcast_select(struct scope *scope, const struct mlir_op *op)
{
    return broadcast_then(scope, op, 3, translate_select);
}

/* --- composites --- */

bool import_chlo_composite(struct scope *scope, const struct mlir_op *op, const char *name,
                           bool *handled)
{
    static import_function *const table[MLIR_OP_COUNT] = {
#define MLIR_OP(id, name, form, import, opcode) [MLIR_OP_##id] = translate_##import,
#include "hlo/mlir/ops.def"
    };
    const enum mlir_opcode opcode = strncmp(name, "chlo.", strlen("chlo.")) == 0
                                        ? mlir_opcode_of(name, strlen(name))
                                        : MLIR_OP_UNKNOWN;
    *handled = opcode != MLIR_OP_UNKNOWN && op->region_count == 0;
    if (!*handled) {
        return true;
    }
    struct mlir_file *file = scope->importer->file;
    struct mlir_op *twin = twin_of(scope, op);
    const struct mlir_attr *attributes = mlir_op_attr(op, "composite_attributes");
    twin->opcode = opcode;
    twin->name = mlir_opcode_name(opcode);
    for (int i = 0; attributes != NULL && attributes->kind == MLIR_ATTR_DICTIONARY &&
                    i < attributes->dictionary.count;
         i++) {
        const struct mlir_named *entry = &attributes->dictionary.entries[i];
        mlir_set(file, &twin->attrs, entry->key, entry->value);
    }
    return twin_translate(scope, op, twin, table[opcode]);
}
