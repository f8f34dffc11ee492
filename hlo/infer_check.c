/* Written shapes against inferred ones, and the rules of opcodes whose shape must be written.
 * Source: xla/service/hlo_verifier.cc (ShapeVerifier, layout-insensitive, mixed precision). */
#include <stdlib.h>
#include <string.h>

#include "hlo/async.h"
#include "hlo/base/arena.h"
#include "hlo/infer.h"
#include "hlo/infer_internal.h"
#include "hlo/literal.h"

bool infer_similar(const struct shape *a, const struct shape *b)
{
    if (a == b) {
        return true;
    }
    if (a->count != b->count || a->rank != b->rank) {
        return false;
    }
    for (int i = 0; i < a->count; i++) {
        if (!infer_similar(a->elements[i], b->elements[i])) {
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

bool infer_fail_shape(const struct instruction *instruction, struct error *err,
                      const struct shape *expected)
{
    infer_fail(instruction, err, "the shape is %s, but must be %s", shape_text(instruction->shape),
               shape_text(expected));
    return false;
}

/* Opcodes that hand on what they get, so that no float may become narrower on the way. */
static bool types_are_strict(enum opcode opcode)
{
    switch (opcode) {
    case OP_CALL:
    case OP_CONDITIONAL:
    case OP_COPY_DONE:
    case OP_DYNAMIC_UPDATE_SLICE:
    case OP_GET_TUPLE_ELEMENT:
    case OP_OPT_BARRIER:
    case OP_RECV_DONE:
    case OP_SEND_DONE:
    case OP_TUPLE:
    case OP_WHILE:
        return true;
    default:
        return false;
    }
}

/* Contractions accumulate in a type of the writer's choice (preferred_element_type). */
static bool type_is_chosen(enum opcode opcode)
{
    return opcode == OP_DOT || opcode == OP_CONVOLUTION || opcode == OP_RAGGED_DOT ||
           opcode == OP_SCALED_DOT;
}

/* --- opcodes whose shape is given --- */

static bool same_dimensions(const struct instruction *instruction, struct error *err)
{
    const struct shape *from = operand_shape(instruction, 0), *to = instruction->shape;
    if (!shape_is_array(from) || !shape_is_array(to)) {
        infer_fail(instruction, err, "operand and result must be arrays");
        return false;
    }
    const struct shape *expected =
        shape_make(to->type, from->rank, from->dimensions, from->dynamic, NULL);
    return infer_similar(expected, to) || infer_fail_shape(instruction, err, expected);
}

static bool check_broadcast(const struct instruction *instruction, struct error *err)
{
    const struct shape *from = operand_shape(instruction, 0), *to = instruction->shape;
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    if (!shape_is_array(from) || !shape_is_array(to) || from->type != to->type) {
        infer_fail(instruction, err, "operand %s and result %s must be arrays of one type",
                   shape_text(from), shape_text(to));
        return false;
    }
    if (dimensions.count != from->rank) {
        infer_fail(instruction, err, "dimensions has %d entries, the operand has rank %d",
                   dimensions.count, from->rank);
        return false;
    }
    /* XLA's verifier lets two dimensions go to one; its builder and StableHLO do not. */
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
    if (!shape_is_array(from) || !shape_is_array(to) || from->type != to->type) {
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
                   (long long)shape_elements(from), shape_text(to), (long long)shape_elements(to));
        return false;
    }
    return true;
}

static bool check_dynamic_reshape(const struct instruction *instruction, struct error *err)
{
    for (int i = 1; i < instruction->operand_count; i++) {
        if (operand_shape(instruction, i)->type != TYPE_S32) {
            infer_fail(instruction, err, "size %d must be s32, but it is %s", i - 1,
                       shape_text(operand_shape(instruction, i)));
            return false;
        }
    }
    if (instruction->operand_count != instruction->shape->rank + 1) {
        infer_fail(instruction, err, "%s needs a size for each dimension, but there are %d",
                   shape_text(instruction->shape), instruction->operand_count - 1);
        return false;
    }
    return check_reshape(instruction, err);
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
    return (infer_similar(expected, to) && expected->type == to->type) ||
           infer_fail_shape(instruction, err, expected);
}

static bool check_constant(const struct instruction *instruction, struct error *err)
{
    if (instruction->literal == NULL) {
        infer_fail(instruction, err, "a constant needs a literal");
        return false;
    }
    const struct shape *literal = instruction->literal->shape;
    return shape_compatible(shape_static(literal), shape_static(instruction->shape)) ||
           infer_fail_shape(instruction, err, literal);
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
    return root != NULL &&
           (infer_compatible(root, instruction->shape) || infer_fail_shape(instruction, err, root));
}

static bool check_stochastic(const struct instruction *instruction, struct error *err)
{
    const struct shape *from = operand_shape(instruction, 0);
    const struct shape *random = operand_shape(instruction, 1);
    if (!type_is_float(from->type) || type_kind(random->type) != KIND_UNSIGNED ||
        type_bits(random->type) != type_bits(from->type) || !infer_same_sizes(from, random)) {
        infer_fail(instruction, err, "random bits %s do not fit operand %s", shape_text(random),
                   shape_text(from));
        return false;
    }
    return same_dimensions(instruction, err);
}

static bool is_token(const struct instruction *instruction, int operand, struct error *err)
{
    if (operand_shape(instruction, operand)->type != TYPE_TOKEN) {
        infer_fail(instruction, err, "operand %d must be a token, but it is %s", operand,
                   shape_text(operand_shape(instruction, operand)));
        return false;
    }
    return true;
}

static bool check_infeed(const struct instruction *instruction, struct error *err)
{
    const struct shape *shape = instruction->shape;
    if (!shape_is_tuple(shape) || shape->count != 2 || shape->elements[1] != shape_token()) {
        infer_fail(instruction, err, "the shape must be (data, token[]), but it is %s",
                   shape_text(shape));
        return false;
    }
    return is_token(instruction, 0, err);
}

static bool check_outfeed(const struct instruction *instruction, struct error *err)
{
    const struct attr *written = attr_get(instruction, ATTR_OUTFEED_SHAPE);
    const struct shape *data = operand_shape(instruction, 0);
    if (!is_token(instruction, 1, err)) {
        return false;
    }
    if (written != NULL && !infer_compatible(written->shape, data)) {
        infer_fail(instruction, err, "outfeed_shape is %s, but operand 0 is %s",
                   shape_text(written->shape), shape_text(data));
        return false;
    }
    return infer_compatible(instruction->shape, shape_token()) ||
           infer_fail_shape(instruction, err, shape_token());
}

/* What a send or recv gives: the data, a u32[] context and a token. */
static bool check_transfer(const struct instruction *instruction, struct error *err)
{
    const struct shape *shape = instruction->shape;
    const struct shape *data = instruction->opcode == OP_SEND ? operand_shape(instruction, 0)
                               : shape_is_tuple(shape) && shape->count > 0 ? shape->elements[0]
                                                                           : shape_token();
    const struct shape *parts[] = {data, shape_scalar(TYPE_U32), shape_token()};
    const struct shape *expected = shape_tuple(3, parts);
    return infer_compatible(shape, expected) || infer_fail_shape(instruction, err, expected);
}

static bool check_rng(const struct instruction *instruction, struct error *err)
{
    if (instruction->operand_count != 2) {
        infer_fail(instruction, err, "needs two operands, but there are %d",
                   instruction->operand_count);
        return false;
    }
    const struct shape *low = operand_shape(instruction, 0), *high = operand_shape(instruction, 1);
    if (!shape_is_scalar(low) || !shape_is_scalar(high)) {
        infer_fail(instruction, err, "operands must be scalars, but they are %s, %s",
                   shape_text(low), shape_text(high));
        return false;
    }
    if (low->type != high->type || !infer_same_type(low, instruction->shape)) {
        infer_fail(instruction, err, "operands %s, %s and result %s must have one type",
                   shape_text(low), shape_text(high), shape_text(instruction->shape));
        return false;
    }
    bool is_normal = attr_int(instruction, ATTR_DISTRIBUTION, RNG_UNIFORM) == RNG_NORMAL;
    if (is_normal ? !type_is_float(low->type) : type_is_complex(low->type)) {
        infer_fail(instruction, err, "there is no such distribution of %s", type_text(low->type));
        return false;
    }
    return true;
}

static bool check_rng_state(const struct instruction *instruction, struct error *err)
{
    const struct shape *expected = shape_array(TYPE_U64, 1, (const int64_t[]){2});
    return infer_compatible(instruction->shape, expected) ||
           infer_fail_shape(instruction, err, expected);
}

static bool check_rng_bits(const struct instruction *instruction, struct error *err)
{
    const struct shape *shape = instruction->shape, *state = operand_shape(instruction, 0);
    if (shape_is_array(shape)) { /* XLA takes an array without the new state, too */
        return true;
    }
    if (!shape_is_tuple(shape) || shape->count != 2 || !infer_similar(shape->elements[0], state)) {
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
    const struct shape *expected = shape_tuple(3, parts);
    return infer_compatible(instruction->shape, expected) ||
           infer_fail_shape(instruction, err, expected);
}

/* --- all-gather and reduce-scatter: how many parts, only the written shape tells --- */

/* The results of all-gather(-start) or reduce-scatter: one shape, or a tuple of them. */
static const struct shape *gathered(const struct instruction *instruction)
{
    const struct shape *shape = instruction->shape;
    bool pair = instruction->opcode == OP_ALL_GATHER_START && async_start_is_pair(instruction);
    return pair ? shape->elements[1] : shape;
}

int64_t infer_shards(const struct instruction *instruction)
{
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    const struct shape *whole = gathered(instruction), *part = operand_shape(instruction, 0);
    if (instruction->operand_count > 1) {
        whole = shape_is_tuple(whole) && whole->count > 0 ? whole->elements[0] : shape_token();
    }
    if (instruction->opcode == OP_REDUCE_SCATTER) {
        const struct shape *swap = whole;
        whole = part;
        part = swap;
    }
    int64_t along = dimensions.count == 1 ? dimensions.values[0] : -1;
    if (!shape_is_array(whole) || !shape_is_array(part) || along < 0 || along >= whole->rank ||
        along >= part->rank || part->dimensions[along] < 1 || whole->dimensions[along] < 0) {
        return 0;
    }
    return whole->dimensions[along] / part->dimensions[along] +
           (whole->dimensions[along] % part->dimensions[along] != 0);
}

static bool check_gather_scatter(const struct instruction *instruction, struct error *err)
{
    int count = instruction->operand_count;
    int64_t shards = count > 0 ? infer_shards(instruction) : 0;
    if (shards < 1 || !infer_arrays(instruction, 0, err)) {
        infer_fail(instruction, err, "operands and %s do not fit dimensions",
                   shape_text(instruction->shape));
        return false;
    }
    int64_t along = attr_ints(instruction, ATTR_DIMENSIONS).values[0];
    const struct shape **shapes = memory_alloc(2 * (size_t)count * sizeof *shapes);
    const struct shape **inputs = shapes + count;
    bool ok = true;
    for (int i = 0; ok && i < count; i++) {
        int64_t sizes[SHAPE_MAX_RANK];
        const struct shape *shape = inputs[i] = operand_shape(instruction, i);
        memcpy(sizes, shape->dimensions, (size_t)shape->rank * sizeof *sizes);
        ok = along < shape->rank;
        if (ok && instruction->opcode == OP_REDUCE_SCATTER) {
            ok = sizes[along] % shards == 0;
            sizes[along] /= shards;
        } else if (ok) {
            ok = !__builtin_mul_overflow(sizes[along], shards, &sizes[along]);
        }
        shapes[i] = ok ? shape_make(shape->type, shape->rank, sizes, shape->dynamic, NULL) : NULL;
    }
    if (!ok) {
        infer_fail(instruction, err, "dimension %lld of an operand does not fit %lld parts",
                   (long long)along, (long long)shards);
    } else {
        const struct shape *expected = infer_tuple_if_many(count, shapes);
        ok = instruction->opcode == OP_ALL_GATHER_START
                 ? infer_check_collective_start(instruction, infer_tuple_if_many(count, inputs),
                                                expected, err)
                 : infer_similar(expected, instruction->shape) ||
                       infer_fail_shape(instruction, err, expected);
    }
    free(shapes);
    return ok;
}

static const struct {
    enum opcode opcode;
    infer_check_function *check;
} checks[] = {
    {OP_BROADCAST, check_broadcast},
    {OP_RESHAPE, check_reshape},
    {OP_DYNAMIC_RESHAPE, check_dynamic_reshape},
    {OP_CONVERT, same_dimensions},
    {OP_STOCHASTIC_CONVERT, check_stochastic},
    {OP_BITCAST_CONVERT, check_bitcast_convert},
    {OP_CONSTANT, check_constant},
    {OP_IOTA, check_iota},
    {OP_FUSION, check_fusion},
    {OP_INFEED, check_infeed},
    {OP_OUTFEED, check_outfeed},
    {OP_SEND, check_transfer},
    {OP_RECV, check_transfer},
    {OP_RNG, check_rng},
    {OP_RNG_BIT_GENERATOR, check_rng_bits},
    {OP_RNG_GET_AND_UPDATE_STATE, check_rng_state},
    {OP_COPY_START, check_copy_start},
    {OP_ASYNC_START, infer_check_async_start},
    {OP_ASYNC_UPDATE, infer_check_async_update},
    {OP_ASYNC_DONE, infer_check_async_done},
    {OP_ALL_REDUCE_START, infer_check_all_reduce_start},
    {OP_COLLECTIVE_PERMUTE_START, infer_check_permute_start},
    {OP_ALL_GATHER, check_gather_scatter},
    {OP_ALL_GATHER_START, check_gather_scatter},
    {OP_REDUCE_SCATTER, check_gather_scatter},
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
    bool ok = types_are_strict(instruction->opcode) ? infer_compatible(inferred, shape)
                                                    : infer_similar(inferred, shape);
    return ok || infer_fail_shape(instruction, err, inferred);
}
