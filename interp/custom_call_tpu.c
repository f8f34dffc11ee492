/* Custom calls that libtpu's compiler leaves in its modules; its factorizations are in
 * custom_call_tpu_factor.c.
 *
 * Its sources are closed. What a target means is read off pairs of modules, before and after the
 * pass that makes it: what stands there afterwards must have the value of what stood there before.
 *
 * X64SplitLow, X64SplitHigh, X64Combine, and the same with X128 (x64_rewriter, xprecision-rewriter,
 * complex-rewriter): a value in two halves that the core can compute with. Integers: the low and
 * the high 32 bits. f64: low is the nearest f32, high the nearest f32 of what is left, the whole
 * their sum: products cut the lows into pieces of 12 bits (T. J. Dekker, "A floating-point
 * technique for extending the available precision", Numerische Mathematik 18, 1971), and add
 * low·high + high·low to the rest. Complex: low is the real part, high the imaginary one: a product
 * has low·low − high·high as its low half, and complex(low, −high) is the conjugate.
 *
 * A bug of the compiler's own list, (b/522284627) behind the word for what is still to be done, is
 * the name of a call that embed-call-graph (megachip_compiler, from TPU v6e on) puts in the place
 * of the asynchronous calls of a program of the sparse cores. That program is its called
 * computation.
 *
 * GatherScatterIndicesBitpacked (tpu_scatter_gather_normalizer): the index vectors are clamped,
 * their components shifted and joined to one integer; inside the fusion around gather or scatter
 * they are cut out of it again and handed to this call, whose result takes the place of the
 * indices: the operand itself, marked as having been packed.
 *
 * ZeroCrop (tpu-all-reduce-legalizer): an array of a narrow type before it is summed up as packed
 * words: its buffer up to the end of its last tile, where zeros take the place of what lies beyond
 * the array. */
#include "interp/custom_call_internal.h"
#include "interp/walk.h"

/* --- values in two halves --- */

/* The types of values and of their halves; of integers, any of 32 bits. */
static const struct {
    enum type whole, half;
} halves[] = {
    {TYPE_U64, TYPE_U32}, {TYPE_S64, TYPE_U32}, {TYPE_U64, TYPE_S32},  {TYPE_S64, TYPE_S32},
    {TYPE_F64, TYPE_F32}, {TYPE_C64, TYPE_F32}, {TYPE_C128, TYPE_F64},
};

static bool halves_fit(const struct shape *whole, const struct shape *half)
{
    if (!shape_is_array(whole) || !shape_is_array(half) || !shape_same_dimensions(whole, half)) {
        return false;
    }
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        if (halves[i].whole == whole->type && halves[i].half == half->type) {
            return true;
        }
    }
    return false;
}

static double half_of_double(double value, bool high)
{
    float near = (float)value;
    bool is_finite = near - near == 0;
    return !high ? near : is_finite ? (float)(value - (double)near) : 0;
}

static struct literal *split(const struct instruction *instruction, struct operands *operands,
                             bool high, struct error *err)
{
    if (operands->count != 1 || !halves_fit(operands->values[0]->shape, instruction->shape)) {
        return custom_call_fail(instruction, err, "shapes that do not fit");
    }
    const struct literal *from = operands->values[0];
    enum type type = from->shape->type;
    struct literal *result = literal_create(instruction->shape, err);
    for (int64_t i = 0; result != NULL && i < literal_elements(from); i++) {
        if (type == TYPE_F64) {
            literal_set_double(result, i, half_of_double(literal_get_double(from, i), high));
        } else if (type_is_complex(type)) {
            literal_set_double(result, i,
                               high ? literal_get_imaginary(from, i) : literal_get_double(from, i));
        } else {
            uint64_t bits = literal_get_bits(from, i);
            literal_set_bits(result, i, high ? bits >> 32 : bits & UINT32_MAX);
        }
        if (literal_is_unspecified(from, i)) {
            literal_mark_unspecified(result, i);
        }
    }
    return result;
}

struct literal *custom_x64_low(struct evaluation *evaluation, const struct instruction *instruction,
                               struct operands *operands, struct error *err)
{
    (void)evaluation;
    return split(instruction, operands, false, err);
}

struct literal *custom_x64_high(struct evaluation *evaluation,
                                const struct instruction *instruction, struct operands *operands,
                                struct error *err)
{
    (void)evaluation;
    return split(instruction, operands, true, err);
}

/* (low, high): the inverse. */
struct literal *custom_x64_combine(struct evaluation *evaluation,
                                   const struct instruction *instruction, struct operands *operands,
                                   struct error *err)
{
    (void)evaluation;
    const struct shape *shape = instruction->shape;
    if (operands->count != 2 || !halves_fit(shape, operands->values[0]->shape) ||
        !halves_fit(shape, operands->values[1]->shape)) {
        return custom_call_fail(instruction, err, "shapes that do not fit");
    }
    const struct literal *low = operands->values[0], *high = operands->values[1];
    struct literal *result = literal_create(shape, err);
    for (int64_t i = 0; result != NULL && i < literal_elements(result); i++) {
        if (shape->type == TYPE_F64) {
            literal_set_double(result, i, literal_get_double(high, i) + literal_get_double(low, i));
        } else if (type_is_complex(shape->type)) {
            literal_set_complex(result, i, literal_get_double(low, i), literal_get_double(high, i));
        } else {
            uint64_t bits = (literal_get_bits(high, i) & UINT32_MAX) << 32 |
                            (literal_get_bits(low, i) & UINT32_MAX);
            literal_set_bits(result, i, bits);
        }
        if (literal_is_unspecified(low, i) || literal_is_unspecified(high, i)) {
            literal_mark_unspecified(result, i);
        }
    }
    return result;
}

/* --- padding --- */

struct literal *custom_zero_crop(struct evaluation *evaluation,
                                 const struct instruction *instruction, struct operands *operands,
                                 struct error *err)
{
    (void)evaluation;
    const struct shape *shape = instruction->shape;
    const struct shape *from = operands->count == 1 ? operands->values[0]->shape : NULL;
    bool fits = from != NULL && shape_is_array(from) && shape_is_array(shape) &&
                from->type == shape->type && from->rank == shape->rank;
    for (int d = 0; fits && d < shape->rank; d++) {
        fits = from->dimensions[d] <= shape->dimensions[d];
    }
    if (!fits) {
        return custom_call_fail(instruction, err, "shapes that do not fit");
    }
    struct literal *result = literal_zero(shape, err);
    int64_t to_strides[SHAPE_MAX_RANK], from_strides[SHAPE_MAX_RANK];
    walk_strides(shape->rank, shape->dimensions, to_strides);
    walk_strides(from->rank, from->dimensions, from_strides);
    struct walk walk;
    walk_begin(&walk);
    for (int d = 0; d < shape->rank; d++) {
        walk_add(&walk, from->dimensions[d], from_strides[d], to_strides[d]);
    }
    walk_finish(&walk);
    if (result != NULL && !walk_literal(&walk, result, 0, operands->values[0], 0, err)) {
        literal_release(result);
        return NULL;
    }
    return result;
}
