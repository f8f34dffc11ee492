/* Mixed precision: evaluated as inferred, then converted. */
#include "interp/mixed.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/infer.h"
#include "interp/elementwise.h"

/* Evaluators that compute into whatever type the instruction has, or have no type of their own. */
static bool computes_into(enum opcode opcode)
{
    static const char *const evaluators[] = {
        "unary",
        "binary",
        "compare",
        "select",
        "clamp",
        "convert",
        "bitcast_convert",
        "reduce_precision",
        "dot",
        "ragged_dot",
        "scaled_dot",
        "convolution",
        "stochastic_convert",
        "rng",
        "tuple",
        "parameter",
        "get_tuple_element",
        "while",
        "conditional",
        "call",
    };
    for (size_t i = 0; i < sizeof evaluators / sizeof *evaluators; i++) {
        if (strcmp(opcode_table[opcode].eval, evaluators[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Some float of `a` has another type in `b`, which is the same otherwise. */
static bool floats_differ(const struct shape *a, const struct shape *b)
{
    if (a->count != b->count) {
        return false;
    }
    for (int i = 0; i < a->count; i++) {
        if (floats_differ(a->elements[i], b->elements[i])) {
            return true;
        }
    }
    return type_is_float(a->type) && type_is_float(b->type) && a->type != b->type;
}

static bool has_float(const struct shape *shape)
{
    for (int i = 0; i < shape->count; i++) {
        if (has_float(shape->elements[i])) {
            return true;
        }
    }
    return type_is_float(shape->type);
}

/* How many operands, from the first on, are moved into the result, so that they must have its type.
 * Others are converted where they are used. */
static int moved_operands(const struct instruction *instruction)
{
    switch (instruction->opcode) {
    case OP_CONCATENATE:
        return instruction->operand_count;
    case OP_DYNAMIC_UPDATE_SLICE:
    case OP_PAD:
        return 2;
    default:
        return 0;
    }
}

/* The shapes of a broadcast and of a reshape are given, but their type is the operand's. XLA's
 * verifier refuses another; the TPU compiler's bfloat16-propagation makes such ones all the same,
 * and means a conversion: the module has the same values before. */
static const struct shape *inferred_shape(const struct instruction *instruction, struct error *err)
{
    const struct shape *shape = instruction->shape;
    bool is_given = instruction->opcode == OP_RESHAPE || instruction->opcode == OP_BROADCAST;
    if (is_given && shape_is_array(shape) && shape_is_array(instruction->operands[0]->shape)) {
        return shape_with_type(shape, instruction->operands[0]->shape->type);
    }
    return infer_shape(instruction, err);
}

bool mixed_concerns(const struct instruction *instruction)
{
    for (int i = 0; i < moved_operands(instruction); i++) {
        if (instruction->operands[i]->shape->type != instruction->shape->type) {
            return true;
        }
    }
    if (instruction->operand_count == 0 || !has_float(instruction->shape) ||
        computes_into(instruction->opcode)) {
        return false;
    }
    /* What calls nothing and keeps its first operand's type is as inferred. */
    if (instruction->called_count == 0 && shape_is_array(instruction->shape) &&
        instruction->shape->type == instruction->operands[0]->shape->type) {
        return false;
    }
    struct error err = {0};
    const struct shape *inferred = inferred_shape(instruction, &err);
    return inferred != NULL && floats_differ(instruction->shape, inferred);
}

/* The shape with the types of another. */
static const struct shape *retyped(const struct shape *shape, const struct shape *types)
{
    if (!shape_is_tuple(shape)) {
        return shape_is_array(shape) ? shape_with_type(shape, types->type) : shape;
    }
    const struct shape **elements = memory_alloc((size_t)shape->count * sizeof *elements);
    for (int i = 0; i < shape->count; i++) {
        elements[i] = retyped(shape->elements[i], types->elements[i]);
    }
    const struct shape *tuple = shape_tuple(shape->count, elements);
    free(elements);
    return tuple;
}

static struct literal *converted_take(struct literal *value, const struct shape *shape,
                                      struct error *err)
{
    struct literal *result = NULL;
    if (shape_is_tuple(shape)) {
        struct literal **elements = memory_zalloc((size_t)shape->count * sizeof(struct literal *));
        bool ok = true;
        for (int i = 0; i < shape->count && ok; i++) {
            elements[i] =
                converted_take(literal_retain(value->elements[i]), shape->elements[i], err);
            ok = elements[i] != NULL;
        }
        for (int i = 0; i < shape->count && !ok; i++) {
            literal_release(elements[i]);
        }
        result = ok ? literal_tuple_take(shape, elements) : NULL;
        free(elements);
    } else if (!shape_is_array(shape) || value->shape->type == shape->type) {
        return value;
    } else {
        struct literal *converted = elementwise_convert(value, shape->type, err);
        result = converted != NULL ? literal_view(converted, shape) : NULL;
        literal_release(converted);
    }
    literal_release(value);
    return result;
}

/* The op on operands of one type where it moves them. */
static struct literal *evaluate(struct evaluation *evaluation,
                                const struct instruction *instruction, struct operands *operands,
                                struct error *err)
{
    int moved = moved_operands(instruction), count = operands->count;
    eval_function *function = eval_function_of(instruction->opcode);
    if (moved == 0) {
        return function(evaluation, instruction, operands, err);
    }
    struct literal **values = memory_zalloc((size_t)count * sizeof(struct literal *));
    bool *dying = memory_zalloc((size_t)count);
    bool ok = true;
    for (int i = 0; i < count && ok; i++) {
        values[i] = i < moved
                        ? elementwise_convert(operands->values[i], instruction->shape->type, err)
                        : literal_retain(operands->values[i]);
        ok = values[i] != NULL;
    }
    struct operands converted = {count, values, dying};
    struct literal *result = ok ? function(evaluation, instruction, &converted, err) : NULL;
    for (int i = 0; i < count; i++) {
        literal_release(values[i]);
    }
    free(values);
    free(dying);
    return result;
}

struct literal *eval_mixed(struct evaluation *evaluation, const struct instruction *instruction,
                           struct operands *operands, struct error *err)
{
    /* Collectives meet under their instruction, which must be the same for all devices. */
    if (strcmp(opcode_table[instruction->opcode].eval, "collective") == 0) {
        error_set(err, ERROR_UNIMPLEMENTED, "a collective that gives another float type: %s",
                  shape_text(instruction->shape));
        return NULL;
    }
    struct instruction inferred = *instruction;
    const struct shape *shape = inferred_shape(instruction, err);
    if (shape == NULL) {
        return NULL;
    }
    inferred.shape = retyped(instruction->shape, shape);
    struct literal *value = evaluate(evaluation, &inferred, operands, err);
    return value != NULL ? converted_take(value, instruction->shape, err) : NULL;
}
