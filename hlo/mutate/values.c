/* Faults of values: constants, types, special numbers, what is not written. */
#include <math.h>

#include "hlo/floats.h"
#include "hlo/literal.h"
#include "hlo/mutate/mutate_internal.h"

/* --- constants --- */

/* Another value of the same type: the negative, or one more. */
static void change_float(struct literal *literal, int64_t index, bool negate)
{
    double value = literal_get_double(literal, index);
    literal_set_double(literal, index, negate && value != 0 ? -value : value + 1);
    if (literal_get_double(literal, index) == value || isnan(value)) {
        literal_set_double(literal, index, isnan(value) || value == 0 ? 1 : -value);
    }
}

static void change_element(struct literal *literal, int64_t index, bool negate)
{
    enum type type = literal->shape->type;
    if (type_is_float(type)) {
        change_float(literal, index, negate);
    } else if (type_is_complex(type)) {
        literal_set_complex(literal, index, literal_get_double(literal, index) + 1,
                            literal_get_imaginary(literal, index));
    } else if (type == TYPE_PRED) {
        literal_set_int(literal, index, !literal_get_int(literal, index));
    } else {
        int64_t value = literal_get_int(literal, index);
        literal_set_int(literal, index, negate ? value - 1 : value + 1);
    }
}

bool mutate_constant(struct instruction *instruction, struct rng *rng, struct text *what)
{
    const struct shape *shape = instruction->shape;
    if (instruction->opcode != OP_CONSTANT || !shape_is_array(shape) ||
        shape_elements(shape) == 0) {
        return false;
    }
    if (what == NULL) {
        return true;
    }
    struct literal *own = literal_own_take(literal_retain(instruction->literal), NULL);
    if (own == NULL) {
        return false;
    }
    int64_t index = (int64_t)rng_below(rng, (uint64_t)shape_elements(shape));
    double before = literal_get_double(own, index);
    change_element(own, index, edit_draw(rng, 2));
    literal_release(instruction->literal);
    instruction->literal = own;
    text_printf(what, "element ");
    shape_print_index(shape, index, what);
    text_printf(what, " is %.9g instead of %.9g", literal_get_double(own, index), before);
    return true;
}

/* --- types --- */

bool mutate_narrow(struct instruction *instruction, struct rng *rng, struct text *what)
{
    static const struct {
        enum type from, to;
    } narrower[] = {
        {TYPE_F64, TYPE_F32},     {TYPE_F32, TYPE_BF16}, {TYPE_F32, TYPE_F16},
        {TYPE_BF16, TYPE_F8E5M2}, {TYPE_F16, TYPE_BF16}, {TYPE_S64, TYPE_S32},
        {TYPE_S32, TYPE_S16},     {TYPE_S16, TYPE_S8},   {TYPE_U64, TYPE_U32},
        {TYPE_U32, TYPE_U16},     {TYPE_U16, TYPE_U8},   {TYPE_C128, TYPE_C64},
    };
    enum type found[2];
    int count = 0;
    if (!edit_wraps(instruction)) {
        return false;
    }
    for (size_t i = 0; i < sizeof narrower / sizeof *narrower; i++) {
        if (instruction->shape->type == narrower[i].from) {
            found[count++] = narrower[i].to;
        }
    }
    if (count > 0 && what != NULL) {
        enum type type = found[edit_draw(rng, count)];
        struct instruction *moved = edit_move(instruction);
        struct instruction *narrow = edit_unary(
            instruction, OP_CONVERT,
            shape_array(type, instruction->shape->rank, instruction->shape->dimensions), moved);
        text_printf(what, "the result goes through %s", type_text(type));
        edit_become(instruction, OP_CONVERT, 1, &narrow);
    }
    return count > 0;
}

/* --- what is not written --- */

bool mutate_tail(struct instruction *instruction, struct rng *rng, struct text *what)
{
    int dimensions[SHAPE_MAX_RANK], count = 0;
    const struct shape *shape = instruction->shape;
    if (!edit_wraps(instruction)) {
        return false;
    }
    for (int d = 0; d < shape->rank; d++) {
        if (shape->dimensions[d] > 1) {
            dimensions[count++] = d;
        }
    }
    if (count > 0 && what != NULL) {
        int dimension = dimensions[edit_draw(rng, count)];
        struct instruction *moved = edit_move(instruction);
        struct instruction *slice = edit_without_last(instruction, moved, dimension);
        struct instruction *operands[] = {slice,
                                          edit_constant(instruction, shape_scalar(shape->type), 0)};
        struct padding_dimension *padding =
            arena_array(&instruction->parent->module->arena, (size_t)shape->rank, sizeof *padding);
        padding[dimension].high = 1;
        text_printf(what, "the last row along dimension %d stays zero", dimension);
        edit_become(instruction, OP_PAD, 2, operands);
        instruction_set_attr(instruction,
                             (struct attr){.key = ATTR_PADDING, .padding = {shape->rank, padding}});
    }
    return count > 0;
}

/* --- special numbers --- */

bool mutate_nan(struct instruction *instruction, struct rng *rng, struct text *what)
{
    (void)rng;
    if ((instruction->opcode != OP_MAXIMUM && instruction->opcode != OP_MINIMUM) ||
        !type_is_float(instruction->shape->type)) {
        return false;
    }
    if (what != NULL) {
        struct instruction *a = instruction->operands[0], *b = instruction->operands[1];
        const struct shape *shape = instruction->shape;
        struct instruction *pair[] = {a, b};
        struct instruction *better =
            edit_before(instruction, OP_COMPARE,
                        shape_array(TYPE_PRED, shape->rank, shape->dimensions), 2, pair);
        edit_set_integer(better, ATTR_DIRECTION,
                         instruction->opcode == OP_MAXIMUM ? DIRECTION_GT : DIRECTION_LT);
        struct instruction *operands[] = {better, a, b};
        text_append(what, "where the first operand is NaN the second is taken");
        edit_become(instruction, OP_SELECT, 3, operands);
    }
    return true;
}

bool mutate_negative_zero(struct instruction *instruction, struct rng *rng, struct text *what)
{
    (void)rng;
    if (instruction->opcode != OP_NEGATE || !type_is_float(instruction->shape->type)) {
        return false;
    }
    if (what != NULL) {
        struct instruction *operands[] = {edit_constant(instruction, instruction->shape, 0),
                                          instruction->operands[0]};
        text_append(what, "0 - x instead of -x");
        edit_become(instruction, OP_SUBTRACT, 2, operands);
    }
    return true;
}

bool mutate_infinity(struct instruction *instruction, struct rng *rng, struct text *what)
{
    static const enum opcode growing[] = {OP_EXPONENTIAL, OP_MULTIPLY, OP_DIVIDE,
                                          OP_POWER,       OP_ADD,      OP_CONVERT};
    (void)rng;
    bool grows = false;
    for (size_t i = 0; i < sizeof growing / sizeof *growing; i++) {
        grows = grows || instruction->opcode == growing[i];
    }
    if (!grows || !type_is_float(instruction->shape->type) || !edit_wraps(instruction)) {
        return false;
    }
    double largest = float_max(instruction->shape->type);
    if (what != NULL) {
        struct instruction *moved = edit_move(instruction);
        const struct shape *scalar = shape_scalar(instruction->shape->type);
        struct instruction *operands[] = {edit_constant(instruction, scalar, -largest), moved,
                                          edit_constant(instruction, scalar, largest)};
        text_append(what, "infinity becomes the largest number");
        edit_become(instruction, OP_CLAMP, 3, operands);
    }
    return true;
}
