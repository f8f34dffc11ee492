/* Written shapes against inferred ones, and the rules of opcodes whose shape must be written.
 * Source: xla/service/hlo_verifier.cc (ShapeVerifier, layout-insensitive, mixed precision). */
#include <string.h>

#include "hlo/infer.h"
#include "hlo/infer_internal.h"
#include "hlo/literal.h"

/* Equal but for layouts, dynamic marks and the width of floats. */
static bool similar(const struct shape *a, const struct shape *b)
{
    if (a == b) {
        return true;
    }
    if (a->count != b->count || a->rank != b->rank) {
        return false;
    }
    for (int i = 0; i < a->count; i++) {
        if (!similar(a->elements[i], b->elements[i])) {
            return false;
        }
    }
    for (int i = 0; i < a->rank; i++) {
        if (a->dimensions[i] != b->dimensions[i] && a->dimensions[i] != DIMENSION_UNBOUNDED &&
            b->dimensions[i] != DIMENSION_UNBOUNDED) {
            return false;
        }
    }
    return a->type == b->type || (type_is_float(a->type) && type_is_float(b->type));
}

static bool fail(const struct instruction *instruction, struct error *err,
                 const struct shape *expected)
{
    infer_fail(instruction, err, "the shape is %s, but must be %s",
               shape_text(instruction->shape), shape_text(expected));
    return false;
}

/* Contractions accumulate in a type of the writer's choice (preferred_element_type). */
static bool type_is_chosen(enum opcode opcode)
{
    return opcode == OP_DOT || opcode == OP_CONVOLUTION || opcode == OP_RAGGED_DOT ||
           opcode == OP_SCALED_DOT;
}

/* --- opcodes whose shape is given --- */

typedef bool check_function(const struct instruction *instruction, struct error *err);

static bool same_dimensions(const struct instruction *instruction, struct error *err)
{
    const struct shape *from = operand_shape(instruction, 0), *to = instruction->shape;
    if (!shape_is_array(from) || !shape_is_array(to)) {
        infer_fail(instruction, err, "operand and result must be arrays");
        return false;
    }
    const struct shape *expected = shape_make(to->type, from->rank, from->dimensions,
                                              from->dynamic, NULL);
    return similar(expected, to) || fail(instruction, err, expected);
}

static bool check_broadcast(const struct instruction *instruction, struct error *err)
{
    const struct shape *from = operand_shape(instruction, 0), *to = instruction->shape;
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    if (!shape_is_array(from) || !shape_is_array(to) || !infer_same_type(from, to)) {
        infer_fail(instruction, err, "operand %s and result %s must be arrays of one type",
                   shape_text(from), shape_text(to));
        return false;
    }
    if (dimensions.count != from->rank) {
        infer_fail(instruction, err, "dimensions has %d entries, the operand has rank %d",
                   dimensions.count, from->rank);
        return false;
    }
    if (!infer_dimensions_ok(instruction, dimensions, to->rank, "dimensions", err)) {
        return false;
    }
    for (int i = 0; i < from->rank; i++) {
        if (from->dimensions[i] != to->dimensions[dimensions.values[i]] &&
            from->dimensions[i] != DIMENSION_UNBOUNDED &&
            to->dimensions[dimensions.values[i]] != DIMENSION_UNBOUNDED) {
            infer_fail(instruction, err,
                       "operand dimension %d of %s differs from result dimension %lld of %s", i,
                       shape_text(from), (long long)dimensions.values[i], shape_text(to));
            return false;
        }
    }
    return true;
}

static bool check_reshape(const struct instruction *instruction, struct error *err)
{
    const struct shape *from = operand_shape(instruction, 0), *to = instruction->shape;
    if (!shape_is_array(from) || !shape_is_array(to) || !infer_same_type(from, to)) {
        infer_fail(instruction, err, "operand %s and result %s must be arrays of one type",
                   shape_text(from), shape_text(to));
        return false;
    }
    bool unbounded = false;
    for (int i = 0; i < from->rank; i++) {
        unbounded |= from->dimensions[i] == DIMENSION_UNBOUNDED;
    }
    for (int i = 0; i < to->rank; i++) {
        unbounded |= to->dimensions[i] == DIMENSION_UNBOUNDED;
    }
    if (!unbounded && shape_elements(from) != shape_elements(to)) {
        infer_fail(instruction, err, "%s has %lld elements, but %s has %lld", shape_text(from),
                   (long long)shape_elements(from), shape_text(to),
                   (long long)shape_elements(to));
        return false;
    }
    return true;
}

static bool check_bitcast_convert(const struct instruction *instruction, struct error *err)
{
    const struct shape *from = operand_shape(instruction, 0), *to = instruction->shape;
    if (!shape_is_array(from) || !shape_is_array(to) ||
        type_is_complex(from->type) != type_is_complex(to->type)) {
        infer_fail(instruction, err, "%s cannot become %s", shape_text(from), shape_text(to));
        return false;
    }
    int from_bits = from->type == TYPE_PRED ? 8 : type_bits(from->type);
    int to_bits = to->type == TYPE_PRED ? 8 : type_bits(to->type);
    int64_t sizes[SHAPE_MAX_RANK];
    int rank = from->rank;
    memcpy(sizes, from->dimensions, (size_t)rank * sizeof *sizes);
    if (from_bits > to_bits && rank < SHAPE_MAX_RANK) {
        sizes[rank++] = from_bits / to_bits;
    } else if (from_bits < to_bits) {
        if (rank == 0 || sizes[rank - 1] != to_bits / from_bits) {
            infer_fail(instruction, err, "the last dimension of %s must be %d to become %s",
                       shape_text(from), to_bits / from_bits, type_text(to->type));
            return false;
        }
        rank--;
    }
    const struct shape *expected = shape_array(to->type, rank, sizes);
    return (similar(expected, to) && expected->type == to->type) ||
           fail(instruction, err, expected);
}

static bool check_constant(const struct instruction *instruction, struct error *err)
{
    if (instruction->literal == NULL) {
        infer_fail(instruction, err, "a constant needs a literal");
        return false;
    }
    const struct shape *literal = instruction->literal->shape;
    return shape_compatible(shape_static(literal), shape_static(instruction->shape)) ||
           fail(instruction, err, literal);
}

static bool check_iota(const struct instruction *instruction, struct error *err)
{
    const struct shape *shape = instruction->shape;
    int64_t dimension = attr_int(instruction, ATTR_IOTA_DIMENSION, -1);
    if (!shape_is_array(shape) || shape->rank < 1 || dimension < 0 || dimension >= shape->rank ||
        shape->type == TYPE_PRED) {
        infer_fail(instruction, err,
                   "iota_dimension %lld does not fit %s (which must be an array of numbers of "
                   "rank 1 or more)",
                   (long long)dimension, shape_text(shape));
        return false;
    }
    return true;
}

static bool check_fusion(const struct instruction *instruction, struct error *err)
{
    const struct shape *root = infer_called_root(instruction, err);
    if (root == NULL) {
        return false;
    }
    return similar(root, instruction->shape) || fail(instruction, err, root);
}

static bool check_convert(const struct instruction *instruction, struct error *err)
{
    const struct shape *from = operand_shape(instruction, 0), *to = instruction->shape;
    if (shape_is_array(from) && shape_is_array(to) && type_is_complex(from->type) &&
        !type_is_complex(to->type) && to->type != TYPE_PRED) {
        infer_fail(instruction, err, "%s cannot become %s: use real", type_text(from->type),
                   type_text(to->type));
        return false;
    }
    return same_dimensions(instruction, err);
}

static bool check_stochastic(const struct instruction *instruction, struct error *err)
{
    const struct shape *from = operand_shape(instruction, 0);
    const struct shape *random = operand_shape(instruction, 1);
    if (!type_is_float(from->type) || type_kind(random->type) != KIND_UNSIGNED ||
        type_bits(random->type) != type_bits(from->type) ||
        !shape_same_dimensions(from, random)) {
        infer_fail(instruction, err, "random bits %s do not fit operand %s", shape_text(random),
                   shape_text(from));
        return false;
    }
    return same_dimensions(instruction, err);
}

static bool check_infeed(const struct instruction *instruction, struct error *err)
{
    const struct shape *shape = instruction->shape;
    if (!shape_is_tuple(shape) || shape->count != 2 || shape->elements[1] != shape_token()) {
        infer_fail(instruction, err, "the shape must be (data, token[]), but it is %s",
                   shape_text(shape));
        return false;
    }
    return true;
}

static bool check_rng(const struct instruction *instruction, struct error *err)
{
    if (instruction->operand_count != 2) {
        infer_fail(instruction, err, "needs two operands, but there are %d",
                   instruction->operand_count);
        return false;
    }
    for (int i = 0; i < 2; i++) {
        if (!shape_is_scalar(operand_shape(instruction, i))) {
            infer_fail(instruction, err, "operand %d must be a scalar, but it is %s", i,
                       shape_text(operand_shape(instruction, i)));
            return false;
        }
    }
    if (!shape_is_array(instruction->shape) ||
        !infer_same_type(operand_shape(instruction, 0), instruction->shape) ||
        !infer_same_type(operand_shape(instruction, 1), instruction->shape)) {
        infer_fail(instruction, err, "operands and result must have one type");
        return false;
    }
    return true;
}

static bool check_rng_bits(const struct instruction *instruction, struct error *err)
{
    const struct shape *shape = instruction->shape, *state = operand_shape(instruction, 0);
    if (shape_is_array(shape)) { /* XLA takes an array without the new state, too */
        return true;
    }
    if (!shape_is_tuple(shape) || shape->count != 2 || !similar(shape->elements[0], state)) {
        infer_fail(instruction, err, "the shape must be (%s, random bits), but it is %s",
                   shape_text(state), shape_text(shape));
        return false;
    }
    return true;
}

static bool check_copy_start(const struct instruction *instruction, struct error *err)
{
    const struct shape *from = operand_shape(instruction, 0);
    const struct shape *parts[] = {from, from, shape_scalar(TYPE_U32)};
    const struct shape *expected = shape_tuple(3, parts), *shape = instruction->shape;
    bool ok = shape_is_tuple(shape) && shape->count >= 2 && similar(shape->elements[0], from) &&
              similar(shape->elements[1], from);
    return ok || fail(instruction, err, expected);
}

static bool check_async_start(const struct instruction *instruction, struct error *err)
{
    const struct shape *shape = instruction->shape;
    if (!shape_is_tuple(shape) || shape->count < 2 || !shape_is_tuple(shape->elements[0]) ||
        shape->elements[0]->count != instruction->operand_count) {
        infer_fail(instruction, err,
                   "the shape must be ((operands), result, …), but it is %s", shape_text(shape));
        return false;
    }
    const struct shape *root = infer_called_root(instruction, err);
    if (root == NULL) {
        return false;
    }
    for (int i = 0; i < instruction->operand_count; i++) {
        if (!similar(shape->elements[0]->elements[i], operand_shape(instruction, i))) {
            infer_fail(instruction, err, "operand %d is %s, but the shape says %s", i,
                       shape_text(operand_shape(instruction, i)),
                       shape_text(shape->elements[0]->elements[i]));
            return false;
        }
    }
    return similar(shape->elements[1], root) || fail(instruction, err, root);
}

static bool check_all_gather_like(const struct instruction *instruction, struct error *err)
{
    const struct shape *inferred = infer_shape(instruction, err);
    if (inferred == NULL) {
        return err == NULL || err->code == ERROR_NONE;
    }
    return similar(inferred, instruction->shape) || fail(instruction, err, inferred);
}

static const struct {
    enum opcode opcode;
    check_function *check;
} checks[] = {
    {OP_BROADCAST, check_broadcast},
    {OP_RESHAPE, check_reshape},
    {OP_DYNAMIC_RESHAPE, check_reshape},
    {OP_CONVERT, check_convert},
    {OP_STOCHASTIC_CONVERT, check_stochastic},
    {OP_BITCAST_CONVERT, check_bitcast_convert},
    {OP_CONSTANT, check_constant},
    {OP_IOTA, check_iota},
    {OP_FUSION, check_fusion},
    {OP_INFEED, check_infeed},
    {OP_RNG, check_rng},
    {OP_RNG_BIT_GENERATOR, check_rng_bits},
    {OP_COPY_START, check_copy_start},
    {OP_ASYNC_START, check_async_start},
    {OP_ALL_GATHER, check_all_gather_like},
    {OP_ALL_GATHER_START, check_all_gather_like},
    {OP_REDUCE_SCATTER, check_all_gather_like},
};

bool infer_check(const struct instruction *instruction, struct error *err)
{
    const struct shape *shape = instruction->shape;
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        if (checks[i].opcode == instruction->opcode) {
            return checks[i].check(instruction, err);
        }
    }
    struct error problem = {0};
    const struct shape *inferred = infer_shape(instruction, &problem);
    if (problem.code != ERROR_NONE) {
        if (err != NULL && err->code == ERROR_NONE) {
            *err = problem;
        }
        return false;
    }
    if (inferred == NULL) {
        return true;
    }
    if (type_is_chosen(instruction->opcode) && shape_is_array(shape)) {
        inferred = shape_with_type(inferred, shape->type);
    }
    return similar(inferred, shape) || fail(instruction, err, inferred);
}
