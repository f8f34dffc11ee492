/* Where noise enters: the table of rounding ops. */
#include "interp/noise.h"

#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/interp.h"
#include "interp/special.h"

enum rounding {
    ROUNDS_NEVER,
    ROUNDS_RESULT,   /* elementwise: one rounding an element */
    ROUNDS_OPERANDS, /* also inside, over many elements */
    ROUNDS_PROGRAM,  /* as OPERANDS, if a computation it calls rounds */
    ROUNDS_CONVERT,  /* if the target holds fewer values */
};

static const enum rounding rounding_table[OPCODE_COUNT] = {
    [OP_ACOS] = ROUNDS_RESULT,
    [OP_ACOSH] = ROUNDS_RESULT,
    [OP_ADD] = ROUNDS_RESULT,
    [OP_ASIN] = ROUNDS_RESULT,
    [OP_ASINH] = ROUNDS_RESULT,
    [OP_ATAN2] = ROUNDS_RESULT,
    [OP_ATANH] = ROUNDS_RESULT,
    [OP_CBRT] = ROUNDS_RESULT,
    [OP_COSINE] = ROUNDS_RESULT,
    [OP_COSH] = ROUNDS_RESULT,
    [OP_DIVIDE] = ROUNDS_RESULT,
    [OP_ERF] = ROUNDS_RESULT,
    [OP_EXPONENTIAL] = ROUNDS_RESULT,
    [OP_EXPONENTIAL_MINUS_ONE] = ROUNDS_RESULT,
    [OP_LOG] = ROUNDS_RESULT,
    [OP_LOG_PLUS_ONE] = ROUNDS_RESULT,
    [OP_LOGISTIC] = ROUNDS_RESULT,
    [OP_MULTIPLY] = ROUNDS_RESULT,
    [OP_POWER] = ROUNDS_RESULT,
    [OP_RSQRT] = ROUNDS_RESULT,
    [OP_SINE] = ROUNDS_RESULT,
    [OP_SINH] = ROUNDS_RESULT,
    [OP_SQRT] = ROUNDS_RESULT,
    [OP_SUBTRACT] = ROUNDS_RESULT,
    [OP_TAN] = ROUNDS_RESULT,
    [OP_TANH] = ROUNDS_RESULT,
    [OP_REDUCE_PRECISION] = ROUNDS_RESULT,
    [OP_CONVERT] = ROUNDS_CONVERT,
    [OP_BATCH_NORM_GRAD] = ROUNDS_OPERANDS,
    [OP_BATCH_NORM_INFERENCE] = ROUNDS_OPERANDS,
    [OP_BATCH_NORM_TRAINING] = ROUNDS_OPERANDS,
    [OP_CHOLESKY] = ROUNDS_OPERANDS,
    [OP_CONVOLUTION] = ROUNDS_OPERANDS,
    [OP_CUSTOM_CALL] = ROUNDS_OPERANDS,
    [OP_DOT] = ROUNDS_OPERANDS,
    [OP_FFT] = ROUNDS_OPERANDS,
    [OP_RAGGED_DOT] = ROUNDS_OPERANDS,
    [OP_SCALED_DOT] = ROUNDS_OPERANDS,
    [OP_TRIANGULAR_SOLVE] = ROUNDS_OPERANDS,
    [OP_ALL_REDUCE] = ROUNDS_PROGRAM,
    [OP_ALL_REDUCE_START] = ROUNDS_PROGRAM,
    [OP_MAP] = ROUNDS_PROGRAM,
    [OP_REDUCE] = ROUNDS_PROGRAM,
    [OP_REDUCE_SCATTER] = ROUNDS_PROGRAM,
    [OP_REDUCE_WINDOW] = ROUNDS_PROGRAM,
    [OP_SCAN] = ROUNDS_PROGRAM,
    [OP_SCATTER] = ROUNDS_PROGRAM,
    [OP_SELECT_AND_SCATTER] = ROUNDS_PROGRAM,
};

static bool is_inexact(enum type type)
{
    return type_is_float(type) || type_is_complex(type);
}

/* Does a reducer or the like round? Computations called from it count as rounding. */
static bool program_rounds(const struct instruction *instruction)
{
    for (int c = 0; c < instruction->called_count; c++) {
        const struct computation *called = instruction->called[c];
        for (int i = 0; i < called->count; i++) {
            const struct instruction *inner = called->instructions[i];
            if (inner->called_count > 0 ||
                (rounding_table[inner->opcode] != ROUNDS_NEVER && is_inexact(inner->shape->type))) {
                return true;
            }
        }
    }
    return false;
}

static bool convert_rounds(const struct instruction *instruction)
{
    enum type to = instruction->shape->type;
    enum type from = instruction->operands[0]->shape->type;
    return is_inexact(to) &&
           (!is_inexact(from) || type_bits(type_part(to)) < type_bits(type_part(from)));
}

bool noise_on_result(const struct instruction *instruction)
{
    switch (rounding_table[instruction->opcode]) {
    case ROUNDS_RESULT:
    case ROUNDS_OPERANDS:
        return true;
    case ROUNDS_PROGRAM:
        return program_rounds(instruction);
    case ROUNDS_CONVERT:
        return convert_rounds(instruction);
    default:
        if (special_is_call(instruction)) {
            return true;
        }
        /* The magnitude and the unit vector of complex numbers are rounded, those of reals not. */
        return (instruction->opcode == OP_ABS || instruction->opcode == OP_SIGN) &&
               type_is_complex(instruction->operands[0]->shape->type);
    }
}

bool noise_on_any_result(const struct instruction *instruction)
{
    switch (instruction->opcode) {
    case OP_TUPLE:
    case OP_GET_TUPLE_ELEMENT:
    case OP_FUSION:
    case OP_WHILE:
    case OP_CONDITIONAL:
        return false; /* what they hold has been seen */
    case OP_CALL:
        return special_is_call(instruction);
    default:
        return true;
    }
}

bool noise_on_operands(const struct instruction *instruction)
{
    switch (rounding_table[instruction->opcode]) {
    case ROUNDS_OPERANDS:
        return true;
    case ROUNDS_PROGRAM:
        return program_rounds(instruction);
    default:
        return false;
    }
}

static bool has_inexact(const struct shape *shape)
{
    bool any = !shape_is_tuple(shape) && is_inexact(shape->type);
    for (int i = 0; shape_is_tuple(shape) && i < shape->count && !any; i++) {
        any = has_inexact(shape->elements[i]);
    }
    return any;
}

bool noise_never_on_result(const struct instruction *instruction)
{
    return !has_inexact(instruction->shape) || !noise_on_result(instruction);
}

bool noise_never_near(const struct instruction *instruction)
{
    bool any = has_inexact(instruction->shape);
    for (int i = 0; i < instruction->operand_count && !any; i++) {
        any = has_inexact(instruction->operands[i]->shape);
    }
    return !any;
}

bool noise_concerns(const struct literal *value)
{
    return has_inexact(value->shape);
}

void noise_apply(const struct interp_options *options, const struct instruction *instruction,
                 bool on_result, int operand, struct literal *value)
{
    if (shape_is_tuple(value->shape)) {
        for (int i = 0; i < value->shape->count; i++) {
            noise_apply(options, instruction, on_result, operand, value->elements[i]);
        }
    } else if (is_inexact(value->shape->type)) {
        options->noise(options->context, instruction, on_result ? NOISE_RESULT : NOISE_OPERAND,
                       operand, value);
    }
}
