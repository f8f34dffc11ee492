/* The makers of steps: which function computes an operation on a type. */
#include "hlo/floats.h"
#include "hlo/module.h"
#include "interp/exact.h"
#include "interp/lanes_internal.h"
#include "interp/special.h"

/* A step of one operand type; the caller chooses the function. */
static void step_init(struct lane_step *step, int operand_count, enum type type, enum type result)
{
    *step = (struct lane_step){.operand_count = operand_count, .result = result};
    for (int k = 0; k < operand_count; k++) {
        step->operands[k] = type;
    }
    step->bits = type_kind(type) == KIND_PRED ? 8 : type_bits(type);
}

/* Values of the type that are wider in a strip than in memory need rounding after arithmetic. */
static bool needs_round(enum type type)
{
    return (type_is_float(type) && !lane_is_native(type)) ||
           (type_is_integer(type) && type_bits(type) < 8);
}

static const struct {
    bool unary, binary;
    uint8_t unary_function, binary_function;
} exact_functions[OPCODE_COUNT] = {
#define UNARY_EXACT(opcode, function) \
    [OP_##opcode].unary = true, [OP_##opcode].unary_function = EXACT_##function,
#define BINARY_EXACT(opcode, function) \
    [OP_##opcode].binary = true, [OP_##opcode].binary_function = EXACT_##function,
#include "interp/scalar.def"
};

void lane_copy(enum type type, struct lane_step *step)
{
    step_init(step, 1, type, type);
    enum lane lane = lane_of(type);
    lane = lane == LANE_BF16 ? LANE_U16 : lane; /* as bits: a conversion would quiet NaNs */
    step->function = lane == LANE_COMPLEX ? lane_complex_copy : lane_loops()->convert[lane][lane];
}

bool lane_unary(enum opcode opcode, enum type type, struct lane_step *step)
{
    if (opcode == OP_COPY) {
        lane_copy(type, step);
        return true;
    }
    if (type_is_complex(type)) {
        step_init(step, 1, type, type);
        return lane_complex_unary(opcode, type, step);
    }
    enum lane lane = lane_of(type);
    step_init(step, 1, type, type);
    if (opcode == OP_IS_FINITE) {
        step->result = TYPE_PRED;
        step->function = lane_loops()->is_finite[lane];
    } else if (exact_functions[opcode].unary && type_is_float(type)) {
        step->function = lane_exact_unary;
        step->code[0] = exact_functions[opcode].unary_function;
    } else {
        step->function = lane_loops()->unary[opcode][lane];
        step->round = needs_round(type);
    }
    return step->function != NULL;
}

bool lane_binary(enum opcode opcode, enum type type, struct lane_step *step)
{
    if (type_is_complex(type)) {
        step_init(step, 2, type, type);
        return lane_complex_binary(opcode, type, step);
    }
    step_init(step, 2, type, type);
    if (opcode == OP_COMPLEX) {
        step->result = type_complex_of(type);
        step->function = lane_complex_make;
        return step->result != TYPE_INVALID;
    }
    if (exact_functions[opcode].binary && type_is_float(type)) {
        step->function = lane_exact_binary;
        step->code[0] = exact_functions[opcode].binary_function;
    } else {
        step->function = lane_loops()->binary[opcode][lane_of(type)];
        step->round = needs_round(type);
    }
    return step->function != NULL;
}

bool lane_compare(enum direction direction, int kind, enum type type, struct lane_step *step)
{
    step_init(step, 2, type, TYPE_PRED);
    bool total = kind == COMPARE_TOTALORDER && type_is_float(type);
    step->code[0] = (int)direction;
    step->code[1] = total;
    if (type_is_complex(type)) {
        return lane_complex_compare(direction, type, step);
    }
    const struct lane_loops *loops = lane_loops();
    enum lane lane = lane_of(type);
    step->function =
        total ? loops->compare_total[direction][lane] : loops->compare[direction][lane];
    return true;
}

bool lane_select(enum type type, struct lane_step *step)
{
    step_init(step, 3, type, type);
    step->operands[0] = TYPE_PRED;
    enum lane lane = lane_of(type);
    step->function =
        lane == LANE_COMPLEX ? lane_complex_select : lane_loops()->select[lane_bytes(lane)];
    return true;
}

bool lane_clamp(enum type type, struct lane_step *step)
{
    step_init(step, 3, type, type);
    if (type_is_complex(type)) {
        return false;
    }
    step->function = lane_loops()->clamp[lane_of(type)];
    return true;
}

/* To floats that are rounded in strips of doubles: a NaN keeps no payload there, so that it does
 * not matter whether the value goes through memory. */
static void convert_narrow(const struct lane_step *step, void *out, const void *const *in,
                           int64_t count)
{
    const void *values = out;
    lane_loops()->convert[lane_of(step->operands[0])][LANE_F64](step, out, in, count);
    lane_loops()->number[LANE_F64](step, out, &values, count);
}

/* Integers of 64 bits to floats narrower than f32: through a double they would be rounded twice. */
static void convert_s64(const struct lane_step *step, void *out, const void *const *in,
                        int64_t count)
{
    exact_from_s64(step->result, in[0], out, count);
}
static void convert_u64(const struct lane_step *step, void *out, const void *const *in,
                        int64_t count)
{
    exact_from_u64(step->result, in[0], out, count);
}

/* Likewise to bf16, from all that f32 does not hold: as doubles, rounded when they are stored. */
static void convert_to_bf16(const struct lane_step *step, void *out, const void *const *in,
                            int64_t count)
{
    const enum lane lane = lane_of(step->operands[0]);
    double values[LANE_STRIP];
    for (int64_t first = 0; first < count; first += LANE_STRIP) {
        int64_t n = count - first < LANE_STRIP ? count - first : LANE_STRIP;
        const void *from = (const char *)in[0] + first * lane_bytes(lane);
        if (lane == LANE_S64) {
            exact_from_s64(TYPE_BF16, from, values, n);
        } else if (lane == LANE_U64) {
            exact_from_u64(TYPE_BF16, from, values, n);
        } else {
            const void *doubles = values;
            lane_loops()->convert[lane][LANE_F64](step, values, &from, n);
            lane_loops()->number[LANE_F64](step, values, &doubles, n);
        }
        float_store(TYPE_BF16, values, (uint16_t *)out + first, n);
    }
}

/* Does f32 hold every value of the lane? */
static bool fits_f32(enum lane lane)
{
    return lane == LANE_PRED || lane == LANE_S8 || lane == LANE_U8 || lane == LANE_S16 ||
           lane == LANE_U16 || lane == LANE_F32 || lane == LANE_BF16;
}

bool lane_convert(enum type from, enum type to, struct lane_step *step)
{
    if (from == to) {
        lane_copy(from, step);
        return true;
    }
    step_init(step, 1, from, to);
    if (type_is_complex(from) || type_is_complex(to)) {
        return lane_complex_convert(from, to, step);
    }
    step->round = needs_round(to);
    if (type_is_integer(to)) {
        step->bits = type_bits(to);
        step->round = needs_round(to) && !type_is_float(from);
    }
    if (to == TYPE_BF16 && !fits_f32(lane_of(from))) {
        step->function = convert_to_bf16;
    } else if (needs_round(to) && type_is_float(to) && (from == TYPE_S64 || from == TYPE_U64)) {
        step->function = from == TYPE_S64 ? convert_s64 : convert_u64;
        step->round = false;
    } else if (type_is_float(from) && type_is_float(to) && needs_round(to)) {
        step->function = convert_narrow;
    } else {
        step->function = lane_loops()->convert[lane_of(from)][lane_of(to)];
    }
    return true;
}

/* Bits of an element in memory as bitcast-convert sees it. */
static int storage_bits(enum type type)
{
    return type == TYPE_PRED ? 8 : type_bits(type);
}

bool lane_bitcast(enum type from, enum type to, struct lane_step *step)
{
    if (storage_bits(from) != storage_bits(to)) {
        return false;
    }
    if (from == to) {
        lane_copy(from, step);
        return true;
    }
    step_init(step, 1, from, to);
    step->function = lane_bits_cast;
    step->round = type_is_integer(to) && needs_round(to);
    return true;
}

bool lane_reduce_precision(enum type type, int exponent_bits, int mantissa_bits,
                           struct lane_step *step)
{
    step_init(step, 1, type, type);
    step->function = lane_bits_reduce;
    step->code[0] = exponent_bits;
    step->code[1] = mantissa_bits;
    return type_is_float(type);
}

bool lane_stochastic_convert(enum type type, enum type random, enum type result,
                             struct lane_step *step)
{
    step_init(step, 2, type, result);
    step->operands[1] = random;
    step->bits = type_bits(result);
    step->function = lane_bits_stochastic;
    return type_is_float(type) && type_kind(random) == KIND_UNSIGNED &&
           type_kind(result) == KIND_SIGNED;
}

/* --- Instructions. -----------------------------------------------------------------------------
 */

static bool wider(enum type a, enum type b)
{
    return float_formats[a].mantissa_bits > float_formats[b].mantissa_bits ||
           float_formats[a].exponent_bits > float_formats[b].exponent_bits;
}

/* Mixed precision: is an operand wider than a result that is narrower than f32? Then the operation
 * is computed in f64 and rounded to the result. Otherwise operands are converted to the result's
 * type, which holds them. */
static bool is_narrowing(const struct instruction *instruction)
{
    enum type result = instruction->shape->type;
    bool wide = false;
    for (int k = 0; k < instruction->operand_count; k++) {
        enum type type = instruction->operands[k]->shape->type;
        wide = wide || (type_is_float(type) && wider(type, result));
    }
    return type_is_float(result) && result != TYPE_F32 && result != TYPE_F64 && wide;
}

static void narrowing(const struct lane_step *step, void *out, const void *const *in, int64_t count)
{
    enum opcode opcode = (enum opcode)step->code[0];
    struct lane_step compute, convert;
    if (step->operand_count == 1) {
        lane_unary(opcode, TYPE_F64, &compute);
    } else {
        lane_binary(opcode, TYPE_F64, &compute);
    }
    lane_convert(TYPE_F64, step->result, &convert);
    double values[LANE_STRIP];
    for (int64_t first = 0; first < count; first += LANE_STRIP) {
        int64_t n = count - first < LANE_STRIP ? count - first : LANE_STRIP;
        const void *from[2], *doubles = values;
        for (int k = 0; k < step->operand_count; k++) {
            from[k] = (const double *)in[k] + first;
        }
        lane_run(&compute, values, from, n);
        lane_run(&convert, (char *)out + first * lane_bytes(lane_of(step->result)), &doubles, n);
    }
}

/* The common type of operands whose types are not that of the result. */
static enum type join_type(const struct instruction *instruction)
{
    enum type join = instruction->operands[0]->shape->type;
    for (int k = 1; k < instruction->operand_count; k++) {
        enum type type = instruction->operands[k]->shape->type;
        if (type_is_float(type) && type_is_float(join) && type != join) {
            join = wider(type, join) && wider(join, type) ? TYPE_F32
                   : wider(type, join)                    ? type
                                                          : join;
        }
    }
    return join;
}

static bool instruction_arithmetic(const struct instruction *instruction, struct lane_step *step)
{
    enum opcode opcode = instruction->opcode;
    enum type result = instruction->shape->type;
    enum type operand = instruction->operands[0]->shape->type;
    bool same_type = !(opcode == OP_IS_FINITE || opcode == OP_COMPLEX || opcode == OP_REAL ||
                       opcode == OP_IMAG || (opcode == OP_ABS && type_is_complex(operand)));
    bool narrows = same_type && is_narrowing(instruction);
    enum type type = narrows ? TYPE_F64 : same_type ? result : join_type(instruction);
    if (instruction->operand_count == 1 ? !lane_unary(opcode, type, step)
                                        : !lane_binary(opcode, type, step)) {
        return false;
    }
    if (narrows) {
        step->result = result;
        step->function = narrowing;
        step->code[0] = (int)opcode;
    }
    return true;
}

bool lane_instruction(const struct instruction *instruction, struct lane_step *step)
{
    enum type result = instruction->shape->type;
    int count = instruction->operand_count;
    if (!type_is_array(result) || count < 1 || count > LANE_MAX_OPERANDS) {
        return false;
    }
    for (int k = 0; k < count; k++) {
        if (!type_is_array(instruction->operands[k]->shape->type)) {
            return false;
        }
    }
    enum type operand = instruction->operands[0]->shape->type;
    switch (instruction->opcode) {
    case OP_COMPARE:
        return lane_compare((enum direction)attr_int(instruction, ATTR_DIRECTION, DIRECTION_EQ),
                            (int)attr_int(instruction, ATTR_TYPE, -1), join_type(instruction),
                            step);
    case OP_SELECT:
        return lane_select(result, step);
    case OP_CLAMP:
        return lane_clamp(result, step);
    case OP_CONVERT:
        return lane_convert(operand, result, step);
    case OP_BITCAST_CONVERT:
        return lane_bitcast(operand, result, step);
    case OP_REDUCE_PRECISION:
        return lane_reduce_precision(result, (int)attr_int(instruction, ATTR_EXPONENT_BITS, 0),
                                     (int)attr_int(instruction, ATTR_MANTISSA_BITS, 0), step);
    case OP_CALL:
        return special_call_step(instruction, step);
    case OP_STOCHASTIC_CONVERT:
        return lane_stochastic_convert(operand, instruction->operands[1]->shape->type, result,
                                       step);
    case OP_COPY:
        lane_copy(result, step);
        return true;
    default:
        return count <= 2 && instruction_arithmetic(instruction, step);
    }
}
