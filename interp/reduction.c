/* Reduction of whole arrays, element by element. */
#include "interp/reduction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/text.h"
#include "hlo/floats.h"
#include "hlo/text/text_format.h"
#include "interp/eval.h"
#include "interp/interp.h"
#include "interp/walk.h"

/* The identity of a monoid, as bytes of one element; false if the opcode has none for the type. The
 * identity of addition is −0, so that a sum of −0s is −0. */
static bool identity(enum opcode opcode, struct literal *scalar)
{
    enum type type = scalar->shape->type;
    bool whole = type_is_integer(type) || type == TYPE_PRED;
    bool least = type_is_float(type) && float_formats[type].specials == SPECIALS_IEEE;
    memset(literal_data(scalar), 0, (size_t)type_bytes(type));
    switch (opcode) {
    case OP_ADD:
        if (type_is_complex(type)) {
            literal_set_complex(scalar, 0, -0.0, -0.0);
        } else if (!whole) {
            literal_set_double(scalar, 0, -0.0);
        }
        return true;
    case OP_MULTIPLY:
        literal_set_double(scalar, 0, 1.0);
        return true;
    case OP_AND:
        literal_set_int(scalar, 0, -1);
        return whole;
    case OP_OR:
    case OP_XOR:
        return whole;
    case OP_MAXIMUM:
        if (type_kind(type) == KIND_SIGNED) {
            literal_set_int(scalar, 0, (int64_t)(UINT64_MAX << (type_bits(type) - 1)));
        } else if (least) {
            literal_set_double(scalar, 0, -INFINITY);
        }
        return whole || least;
    case OP_MINIMUM:
        if (type_kind(type) == KIND_SIGNED) {
            literal_set_int(scalar, 0, (int64_t)(UINT64_MAX >> (65 - type_bits(type))));
        } else if (least) {
            literal_set_double(scalar, 0, INFINITY);
        } else {
            literal_set_int(scalar, 0, -1);
        }
        return whole || least;
    default:
        return false;
    }
}

/* Is the computation f(a, b) = a op b? */
static bool is_monoid(const struct computation *computation)
{
    const struct instruction *root = computation->root;
    return computation->parameter_count == 2 && root->operand_count == 2 &&
           root->operands[0]->opcode == OP_PARAMETER && root->operands[1]->opcode == OP_PARAMETER &&
           root->operands[0] != root->operands[1];
}

/* All values under one another: [count, elements]. */
static struct literal *stack_values(struct literal *const *values, int count, struct error *err)
{
    int64_t elements = literal_elements(values[0]);
    int64_t sizes[2] = {count, elements};
    struct literal *stack = literal_create(shape_array(values[0]->shape->type, 2, sizes), err);
    struct walk walk;
    walk_begin(&walk);
    walk_add(&walk, elements, 1, 1);
    walk_finish(&walk);
    for (int i = 0; stack != NULL && i < count; i++) {
        if (!walk_literal(&walk, stack, i * elements, values[i], 0, err)) {
            literal_release(stack);
            return NULL;
        }
    }
    return stack;
}

/* As a reduce over the first dimension of the stacked values. */
static struct literal *reduce_stacked(struct evaluation *evaluation,
                                      const struct instruction *instruction, struct literal *stack,
                                      struct literal *initial, const struct shape *shape,
                                      struct error *err)
{
    int64_t elements = literal_elements(stack) / stack->shape->dimensions[0], zero = 0;
    struct instruction stacked = {.name = instruction->name,
                                  .opcode = OP_PARAMETER,
                                  .shape = stack->shape,
                                  .parent = instruction->parent};
    struct instruction start = stacked;
    start.shape = initial->shape;
    struct instruction *inputs[2] = {&stacked, &start};
    struct attr dimensions = {.key = ATTR_DIMENSIONS, .ints = {1, &zero}};
    struct instruction reduce = {.name = instruction->name,
                                 .opcode = OP_REDUCE,
                                 .shape = shape_array(shape->type, 1, &elements),
                                 .parent = instruction->parent,
                                 .operand_count = 2,
                                 .operands = inputs,
                                 .called_count = 1,
                                 .called = instruction->called,
                                 .attr_count = 1,
                                 .attrs = &dimensions};
    struct literal *values[2] = {stack, initial};
    const bool dying[2] = {false, false};
    struct operands operands = {2, values, dying};
    eval_function *eval_reduction = eval_function_of(OP_REDUCE);
    if (eval_reduction == NULL) {
        error_set(err, ERROR_UNIMPLEMENTED, "the golden has no evaluator for reduce");
        return NULL;
    }
    struct literal *result = eval_reduction(evaluation, &reduce, &operands, err);
    return result != NULL ? literal_reshape_take(result, shape) : NULL;
}

static struct literal *scalar_of(const struct literal *from, int64_t index,
                                 const struct shape *shape, struct error *err)
{
    struct literal *scalar = literal_create(shape, err);
    if (scalar != NULL) {
        size_t bytes = (size_t)type_bytes(shape->type);
        memcpy(literal_data(scalar), (const char *)literal_data(from) + (size_t)index * bytes,
               bytes);
        if (literal_is_unspecified(from, index)) {
            literal_mark_unspecified(scalar, 0);
        }
    }
    return scalar;
}

/* Any program, one element after the other. */
static struct literal *reduce_in_order(struct evaluation *evaluation,
                                       const struct instruction *instruction,
                                       struct literal *const *values, int count, struct error *err)
{
    const struct shape *shape = values[0]->shape, *scalar = shape_scalar(shape->type);
    size_t bytes = (size_t)type_bytes(shape->type);
    struct literal *result = literal_create(shape, err);
    for (int64_t i = 0; result != NULL && i < literal_elements(result); i++) {
        struct literal *sum = scalar_of(values[0], i, scalar, err);
        for (int v = 1; sum != NULL && v < count; v++) {
            struct literal *pair[2] = {sum, scalar_of(values[v], i, scalar, err)};
            if (pair[1] == NULL) {
                literal_release(sum);
                sum = NULL;
                break;
            }
            sum = eval_scalar_computation(evaluation, instruction->called[0], pair, 2, err);
        }
        if (sum == NULL || sum->shape->type != shape->type) {
            if (sum != NULL) {
                error_set(err, ERROR_INVALID_ARGUMENT, "the reducer of %s gives %s, not %s",
                          instruction->name, shape_text(sum->shape), shape_text(scalar));
            }
            literal_release(sum);
            literal_release(result);
            return NULL;
        }
        memcpy((char *)literal_data(result) + (size_t)i * bytes, literal_data(sum), bytes);
        if (literal_is_unspecified(sum, 0)) {
            literal_mark_unspecified(result, i);
        }
        literal_release(sum);
    }
    return result;
}

/* Compilers that widen a collective leave its reducer as it is: the kind counts (xla/service/
 * collective_ops_utils.cc, MatchReductionComputation). As a reduce over the first dimension with a
 * reducer of that kind. */
static struct literal *reduce_in_kind(const struct evaluation *evaluation, enum opcode opcode,
                                      struct literal *stack, struct literal *initial,
                                      const struct shape *shape, struct error *err)
{
    const char *type = type_text(shape->type);
    long long count = stack->shape->dimensions[0], elements = stack->shape->dimensions[1];
    struct text text;
    text_init(&text);
    text_printf(&text,
                "HloModule kind\nc {\n  a = %s[] parameter(0)\n  b = %s[] parameter(1)\n"
                "  ROOT r = %s[] %s(a, b)\n}\n",
                type, type, type, opcode_text(opcode));
    text_printf(&text,
                "ENTRY e {\n  x = %s[%lld,%lld] parameter(0)\n  i = %s[] parameter(1)\n"
                "  ROOT r = %s[%lld] reduce(x, i), dimensions={0}, to_apply=c\n}\n",
                type, count, elements, type, type, elements);
    struct module *module = text_read_module(text.data, text.size, "kind", 1, err);
    text_finish(&text);
    if (module == NULL) {
        return NULL;
    }
    struct interp_options options = {.fidelity = evaluation->options.fidelity,
                                     .cancelled = evaluation->options.cancelled,
                                     .context = evaluation->options.context};
    struct literal *const arguments[2] = {stack, initial};
    struct literal *result = interp_evaluate(module, arguments, 2, &options, err);
    module_destroy(module);
    return result != NULL ? literal_reshape_take(result, shape) : NULL;
}

struct literal *reduce_values(struct evaluation *evaluation, const struct instruction *instruction,
                              struct literal *const *values, int count, struct error *err)
{
    if (count == 1) {
        return literal_retain(values[0]);
    }
    const struct computation *reducer = instruction->called[0];
    struct literal *initial = literal_create(shape_scalar(values[0]->shape->type), err);
    if (initial == NULL) {
        return NULL;
    }
    struct literal *result = NULL;
    if (is_monoid(reducer) && identity(reducer->root->opcode, initial)) {
        const struct shape *shape = values[0]->shape;
        struct literal *stack = stack_values(values, count, err);
        if (stack != NULL && reducer->root->shape->type == shape->type) {
            result = reduce_stacked(evaluation, instruction, stack, initial, shape, err);
        } else if (stack != NULL) {
            result = reduce_in_kind(evaluation, reducer->root->opcode, stack, initial, shape, err);
        }
        literal_release(stack);
    } else {
        result = reduce_in_order(evaluation, instruction, values, count, err);
    }
    literal_release(initial);
    return result;
}
