/* Shape inference: the table, the shared checks and the elementwise family.
 * Source: xla/service/shape_inference.cc. */
#include "hlo/infer.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/floats.h"
#include "hlo/infer_internal.h"

static infer_function *const table[OPCODE_COUNT] = {
#define OP(id, text, arity, infer, eval, attributes) [OP_##id] = infer_##infer,
#include "hlo/opcodes.def"
};

const struct shape *infer_fail(const struct instruction *instruction, struct error *err,
                               const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    error_at(err, instruction_where(instruction), "%s %s: %s", opcode_text(instruction->opcode),
             instruction->name, text);
    return NULL;
}

const struct shape *infer_given(const struct instruction *instruction, struct error *err)
{
    (void)instruction;
    (void)err;
    return NULL;
}

const struct shape *infer_shape(const struct instruction *instruction, struct error *err)
{
    return table[instruction->opcode](instruction, err);
}

bool infer_arrays(const struct instruction *instruction, int first, struct error *err)
{
    for (int i = first; i < instruction->operand_count; i++) {
        if (!shape_is_array(operand_shape(instruction, i))) {
            infer_fail(instruction, err, "operand %d must be an array, but it is %s", i,
                       shape_text(operand_shape(instruction, i)));
            return false;
        }
    }
    return true;
}

bool infer_contains(struct ints dimensions, int64_t dimension)
{
    for (int i = 0; i < dimensions.count; i++) {
        if (dimensions.values[i] == dimension) {
            return true;
        }
    }
    return false;
}

bool infer_dimensions_ok(const struct instruction *instruction, struct ints dimensions, int rank,
                         const char *what, struct error *err)
{
    bool seen[SHAPE_MAX_RANK] = {false};
    for (int i = 0; i < dimensions.count; i++) {
        int64_t dimension = dimensions.values[i];
        if (dimension < 0 || dimension >= rank) {
            infer_fail(instruction, err, "%s holds %lld, which is out of the range of rank %d",
                       what, (long long)dimension, rank);
            return false;
        }
        if (seen[dimension]) {
            infer_fail(instruction, err, "%s holds dimension %lld twice", what,
                       (long long)dimension);
            return false;
        }
        seen[dimension] = true;
    }
    return true;
}

/* The exponent of the power of two above the largest finite value. */
static int float_max_exponent(enum type type)
{
    int exponent;
    frexp(float_max(type), &exponent);
    return exponent;
}

bool infer_same_type(const struct shape *a, const struct shape *b)
{
    return a->type == b->type || (type_is_float(a->type) && type_is_float(b->type));
}

enum type infer_higher_type(enum type a, enum type b)
{
    enum type part_a = type_part(a), part_b = type_part(b);
    bool is_float_a = type_is_float(part_a), is_float_b = type_is_float(part_b);
    const double ranks[][2] = {
        {type_is_complex(a), type_is_complex(b)},
        {is_float_a ? float_max_exponent(part_a) : -1,
         is_float_b ? float_max_exponent(part_b) : -1},
        {float_formats[part_a].mantissa_bits, float_formats[part_b].mantissa_bits},
        {type_bits(part_a), type_bits(part_b)},
        {type_kind(a) == KIND_SIGNED, type_kind(b) == KIND_SIGNED},
    };
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        if (ranks[i][0] != ranks[i][1]) {
            return ranks[i][0] > ranks[i][1] ? a : b;
        }
    }
    return a;
}

bool infer_same_sizes(const struct shape *a, const struct shape *b)
{
    if (a->rank != b->rank) {
        return false;
    }
    for (int i = 0; i < a->rank; i++) {
        if (a->dimensions[i] != b->dimensions[i]) {
            return false;
        }
    }
    return true;
}

bool infer_compatible(const struct shape *a, const struct shape *b)
{
    return shape_compatible(shape_static(a), shape_static(b));
}

const struct shape *infer_tuple_if_many(int count, const struct shape *const *shapes)
{
    return count == 1 ? shapes[0] : shape_tuple(count, shapes);
}

/* --- elementwise --- */

/* One dimension of a binary operation: equal sizes; a static size beside a bound keeps the
 * smaller; the result is dynamic if either is. Sizes of 1 do not broadcast in HLO, except that XLA
 * lets an unbounded dimension meet any size. */
static bool merge_dimension(const struct shape *a, const struct shape *b, int i, int64_t *size,
                            bool *dynamic)
{
    int64_t x = a->dimensions[i], y = b->dimensions[i];
    bool x_dynamic = shape_dimension_is_dynamic(a, i), y_dynamic = shape_dimension_is_dynamic(b, i);
    if (x == DIMENSION_UNBOUNDED || y == DIMENSION_UNBOUNDED) {
        *size = x == DIMENSION_UNBOUNDED ? y : x;
        *dynamic =
            *size == DIMENSION_UNBOUNDED || (x == DIMENSION_UNBOUNDED ? y_dynamic : x_dynamic);
        return true;
    }
    *size = x;
    *dynamic = x_dynamic || y_dynamic;
    return x == y;
}

/* The common shape of operands first.., with the higher float type; layouts are dropped. */
static const struct shape *merge_operands(const struct instruction *instruction, int first,
                                          int last, struct error *err)
{
    const struct shape *shape = operand_shape(instruction, first);
    enum type type = shape->type;
    int64_t sizes[SHAPE_MAX_RANK];
    bool dynamic[SHAPE_MAX_RANK];
    for (int i = 0; i < shape->rank; i++) {
        sizes[i] = shape->dimensions[i];
        dynamic[i] = shape_dimension_is_dynamic(shape, i);
    }
    const struct shape *merged = shape_make(type, shape->rank, sizes, dynamic, NULL);
    for (int k = first + 1; k <= last; k++) {
        const struct shape *other = operand_shape(instruction, k);
        if (!infer_same_type(merged, other)) {
            return infer_fail(instruction, err, "operand types differ: %s, %s", shape_text(merged),
                              shape_text(other));
        }
        type = infer_higher_type(merged->type, other->type);
        if (other->rank != merged->rank) {
            return infer_fail(instruction, err, "operand ranks differ: %s, %s", shape_text(merged),
                              shape_text(other));
        }
        for (int i = 0; i < merged->rank; i++) {
            if (!merge_dimension(merged, other, i, &sizes[i], &dynamic[i])) {
                return infer_fail(instruction, err, "operand dimensions differ: %s, %s",
                                  shape_text(merged), shape_text(other));
            }
        }
        merged = shape_make(type, merged->rank, sizes, dynamic, NULL);
    }
    return merged;
}

/* What element types an elementwise opcode takes. XLA's inference and verifier let more pass than
 * its backends can compile (shifts of floats, remainders of complex numbers). */
enum domain_bits {
    ON_PRED = 1,
    ON_SIGNED = 2,
    ON_UNSIGNED = 4,
    ON_FLOAT = 8,
    ON_COMPLEX = 16,
    ON_INTEGER = ON_SIGNED | ON_UNSIGNED,
    ON_NUMBER = ON_INTEGER | ON_FLOAT | ON_COMPLEX,
    ON_ANY = ON_NUMBER | ON_PRED,
};

static const struct {
    enum opcode opcode;
    int domain;
} domains[] = {
    {OP_ABS, ON_SIGNED | ON_FLOAT | ON_COMPLEX},
    {OP_ACOS, ON_FLOAT | ON_COMPLEX},
    {OP_ACOSH, ON_FLOAT | ON_COMPLEX},
    {OP_ASIN, ON_FLOAT | ON_COMPLEX},
    {OP_ASINH, ON_FLOAT | ON_COMPLEX},
    {OP_ATANH, ON_FLOAT | ON_COMPLEX},
    {OP_CBRT, ON_FLOAT},
    {OP_CEIL, ON_FLOAT},
    {OP_COPY, ON_ANY},
    {OP_COSH, ON_FLOAT | ON_COMPLEX},
    {OP_COSINE, ON_FLOAT | ON_COMPLEX},
    {OP_COUNT_LEADING_ZEROS, ON_INTEGER},
    {OP_ERF, ON_FLOAT},
    {OP_EXPONENTIAL, ON_FLOAT | ON_COMPLEX},
    {OP_EXPONENTIAL_MINUS_ONE, ON_FLOAT | ON_COMPLEX},
    {OP_FLOOR, ON_FLOAT},
    {OP_IMAG, ON_FLOAT | ON_COMPLEX},
    {OP_IS_FINITE, ON_FLOAT},
    {OP_LOG, ON_FLOAT | ON_COMPLEX},
    {OP_LOGISTIC, ON_FLOAT | ON_COMPLEX},
    {OP_LOG_PLUS_ONE, ON_FLOAT | ON_COMPLEX},
    {OP_NEGATE, ON_NUMBER},
    {OP_NOT, ON_PRED | ON_INTEGER},
    {OP_POPCNT, ON_INTEGER},
    {OP_REAL, ON_FLOAT | ON_COMPLEX},
    {OP_ROUND_NEAREST_AFZ, ON_FLOAT},
    {OP_ROUND_NEAREST_EVEN, ON_FLOAT},
    {OP_RSQRT, ON_FLOAT | ON_COMPLEX},
    {OP_SIGN, ON_SIGNED | ON_FLOAT | ON_COMPLEX},
    {OP_SINE, ON_FLOAT | ON_COMPLEX},
    {OP_SINH, ON_FLOAT | ON_COMPLEX},
    {OP_SQRT, ON_FLOAT | ON_COMPLEX},
    {OP_TAN, ON_FLOAT | ON_COMPLEX},
    {OP_TANH, ON_FLOAT | ON_COMPLEX},
    {OP_ADD, ON_ANY},
    {OP_AND, ON_PRED | ON_INTEGER},
    {OP_ATAN2, ON_FLOAT | ON_COMPLEX},
    {OP_COMPLEX, ON_FLOAT},
    {OP_DIVIDE, ON_NUMBER},
    {OP_MAXIMUM, ON_ANY},
    {OP_MINIMUM, ON_ANY},
    {OP_MULHI, ON_ANY},
    {OP_MULTIPLY, ON_ANY},
    {OP_OR, ON_PRED | ON_INTEGER},
    {OP_POWER, ON_NUMBER},
    {OP_REMAINDER, ON_NUMBER},
    {OP_SHIFT_LEFT, ON_NUMBER},
    {OP_SHIFT_RIGHT_ARITHMETIC, ON_NUMBER},
    {OP_SHIFT_RIGHT_LOGICAL, ON_NUMBER},
    {OP_SUBTRACT, ON_NUMBER},
    {OP_XOR, ON_PRED | ON_INTEGER},
};

static int kind_bit(enum type type)
{
    static const int bits[] = {
        [KIND_PRED] = ON_PRED,   [KIND_SIGNED] = ON_SIGNED,   [KIND_UNSIGNED] = ON_UNSIGNED,
        [KIND_FLOAT] = ON_FLOAT, [KIND_COMPLEX] = ON_COMPLEX, [KIND_NONE] = 0,
    };
    return bits[type_kind(type)];
}

static bool domain_ok(const struct instruction *instruction, enum type type, struct error *err)
{
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) {
        if (domains[i].opcode == instruction->opcode) {
            if ((domains[i].domain & kind_bit(type)) == 0) {
                infer_fail(instruction, err, "operands of type %s are not allowed",
                           type_text(type));
                return false;
            }
            return true;
        }
    }
    return true;
}

const struct shape *infer_unary(const struct instruction *instruction, struct error *err)
{
    const struct shape *shape = operand_shape(instruction, 0);
    if (instruction->opcode == OP_COPY) {
        return shape_without_layout(shape);
    }
    if (!infer_arrays(instruction, 0, err) || !domain_ok(instruction, shape->type, err)) {
        return NULL;
    }
    shape = shape_without_layout(shape);
    switch (instruction->opcode) {
    case OP_ABS:
    case OP_REAL:
    case OP_IMAG:
        return shape_with_type(shape, type_part(shape->type));
    case OP_IS_FINITE:
        return shape_with_type(shape, TYPE_PRED);
    default:
        return shape;
    }
}

const struct shape *infer_binary(const struct instruction *instruction, struct error *err)
{
    if (!infer_arrays(instruction, 0, err) ||
        !domain_ok(instruction, operand_shape(instruction, 0)->type, err)) {
        return NULL;
    }
    return merge_operands(instruction, 0, 1, err);
}

const struct shape *infer_complex(const struct instruction *instruction, struct error *err)
{
    const struct shape *shape = infer_binary(instruction, err);
    if (shape == NULL) {
        return NULL;
    }
    enum type type = type_complex_of(shape->type);
    if (type == TYPE_INVALID) {
        return infer_fail(instruction, err, "parts must be f32 or f64, but they are %s",
                          type_text(shape->type));
    }
    return shape_with_type(shape, type);
}

const struct shape *infer_compare(const struct instruction *instruction, struct error *err)
{
    if (!infer_arrays(instruction, 0, err)) {
        return NULL;
    }
    const struct shape *shape = merge_operands(instruction, 0, 1, err);
    return shape != NULL ? shape_with_type(shape, TYPE_PRED) : NULL;
}

const struct shape *infer_select(const struct instruction *instruction, struct error *err)
{
    const struct shape *pred = operand_shape(instruction, 0);
    if (!infer_arrays(instruction, 0, err)) {
        return NULL;
    }
    if (pred->type != TYPE_PRED) {
        return infer_fail(instruction, err, "the first operand must be pred, but it is %s",
                          shape_text(pred));
    }
    const struct shape *values = merge_operands(instruction, 1, 2, err);
    if (values == NULL || pred->rank == 0) {
        return values;
    }
    if (pred->rank != values->rank) {
        return infer_fail(instruction, err, "predicate %s does not fit %s", shape_text(pred),
                          shape_text(values));
    }
    int64_t sizes[SHAPE_MAX_RANK];
    bool dynamic[SHAPE_MAX_RANK];
    for (int i = 0; i < pred->rank; i++) {
        if (!merge_dimension(pred, values, i, &sizes[i], &dynamic[i])) {
            return infer_fail(instruction, err, "predicate %s does not fit %s", shape_text(pred),
                              shape_text(values));
        }
    }
    return shape_make(values->type, values->rank, sizes, dynamic, NULL);
}

const struct shape *infer_clamp(const struct instruction *instruction, struct error *err)
{
    if (!infer_arrays(instruction, 0, err)) {
        return NULL;
    }
    const struct shape *value = operand_shape(instruction, 1);
    for (int k = 0; k < 3; k += 2) {
        const struct shape *bound = operand_shape(instruction, k);
        if (!infer_same_type(bound, value) ||
            (bound->rank != 0 && !infer_same_sizes(bound, value))) {
            return infer_fail(instruction, err, "bound %s does not fit %s", shape_text(bound),
                              shape_text(value));
        }
    }
    return shape_without_layout(value);
}

const struct shape *infer_same_as_operands(const struct instruction *instruction, struct error *err)
{
    if (instruction->operand_count == 0) {
        return infer_fail(instruction, err, "needs an operand");
    }
    const struct shape **shapes = memory_alloc((size_t)instruction->operand_count * sizeof *shapes);
    for (int i = 0; i < instruction->operand_count; i++) {
        shapes[i] = operand_shape(instruction, i);
    }
    const struct shape *shape = infer_tuple_if_many(instruction->operand_count, shapes);
    free(shapes);
    return shape_without_layout(shape);
}

const struct shape *infer_add_dependency(const struct instruction *instruction, struct error *err)
{
    if (operand_shape(instruction, 1)->type != TYPE_TOKEN) {
        return infer_fail(instruction, err, "operand 1 must be a token, but it is %s",
                          shape_text(operand_shape(instruction, 1)));
    }
    return operand_shape(instruction, 0);
}

const struct shape *infer_first_operand(const struct instruction *instruction, struct error *err)
{
    if (instruction->operand_count == 0) {
        return infer_fail(instruction, err, "needs an operand");
    }
    return operand_shape(instruction, 0);
}

const struct shape *infer_token(const struct instruction *instruction, struct error *err)
{
    (void)instruction;
    (void)err;
    return shape_token();
}

const struct shape *infer_scalar_u32(const struct instruction *instruction, struct error *err)
{
    (void)instruction;
    (void)err;
    return shape_scalar(TYPE_U32);
}
