/* Custom calls that say where values lie or how they are split, and those that stand for memory.
 *
 * Sources: xla/service/spmd (Sharding, SPMD…), xla/service/host_offload (placement, MoveTo…),
 * xla/service/spmd/shardy (xla.sdy.…), xla/service/memory_space_assignment (ConcatBitcast, Pin),
 * xla/hlo/ir/hlo_instructions.h (AllocateBuffer, CreateBuffer, Pin, call markers),
 * xla/hlo/analysis/hlo_replication_analysis.cc (X64…). */
#include <stdlib.h>
#include <string.h>

#include "interp/custom_call_internal.h"

/* The operand, for marks that say where a value shall lie and how it is split. On one device the
 * whole array is its own shard. */
struct literal *custom_identity(struct evaluation *evaluation,
                                const struct instruction *instruction, struct operands *operands,
                                struct error *err)
{
    (void)evaluation;
    if (operands->count < 1 || !shape_compatible(instruction->shape, operands->values[0]->shape)) {
        return custom_call_fail(instruction, err, "between shapes that differ");
    }
    return operand_pass(operands, 0);
}

/* All arrays of a value with several operands, one a leaf. */
struct literal *custom_identities(struct evaluation *evaluation,
                                  const struct instruction *instruction, struct operands *operands,
                                  struct error *err)
{
    if (shape_is_tuple(instruction->shape) && instruction->shape->count == 0) {
        return literal_create(instruction->shape, err);
    }
    if (!shape_is_tuple(instruction->shape) ||
        (operands->count == 1 &&
         shape_compatible(instruction->shape, operands->values[0]->shape))) {
        return custom_identity(evaluation, instruction, operands, err);
    }
    bool fits = operands->count == instruction->shape->count;
    for (int i = 0; fits && i < operands->count; i++) {
        fits = shape_compatible(instruction->shape->elements[i], operands->values[i]->shape);
    }
    if (!fits) {
        return custom_call_fail(instruction, err, "between shapes that differ");
    }
    struct literal **elements = memory_alloc((size_t)(operands->count + 1) * sizeof *elements);
    for (int i = 0; i < operands->count; i++) {
        elements[i] = operand_pass(operands, i);
    }
    struct literal *tuple = literal_tuple_take(instruction->shape, elements);
    free(elements);
    return tuple;
}

/* Between an array and a buffer that holds it. */
struct literal *custom_pin(struct evaluation *evaluation, const struct instruction *instruction,
                           struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct shape *from = operands->count == 1 ? operands->values[0]->shape : NULL;
    const struct shape *to = instruction->shape;
    const struct shape *inner =
        from != NULL && from->type == TYPE_BUFFER ? from->elements[0] : from;
    const struct shape *outer = to->type == TYPE_BUFFER ? to->elements[0] : to;
    if (inner == NULL || !shape_is_array(inner) || !shape_compatible(inner, outer)) {
        return custom_call_fail(instruction, err, "between shapes that differ");
    }
    return literal_view(operands->values[0], to);
}

/* Memory that nobody has written yet: zeros, all unspecified. */
struct literal *custom_uninitialised(struct evaluation *evaluation,
                                     const struct instruction *instruction,
                                     struct operands *operands, struct error *err)
{
    (void)evaluation;
    (void)operands;
    const struct shape *shape = instruction->shape;
    const struct shape *inner = shape->type == TYPE_BUFFER ? shape->elements[0] : shape;
    struct literal *result = literal_zero(inner, err);
    if (result == NULL || !literal_mark_all_unspecified(result, err)) {
        literal_release(result);
        return NULL;
    }
    if (inner != shape) {
        struct literal *view = literal_view(result, shape);
        literal_release(result);
        return view;
    }
    return result;
}

/* Slices of one array, in order, that lie behind each other in memory: their concatenation along
 * the one dimension in which they are shorter than the result. */
struct literal *custom_concat_bitcast(struct evaluation *evaluation,
                                      const struct instruction *instruction,
                                      struct operands *operands, struct error *err)
{
    const struct shape *shape = instruction->shape;
    int64_t cut = -1, total = 0;
    bool fits = operands->count > 0 && operands->count <= 16 && shape_is_array(shape);
    for (int i = 0; fits && i < operands->count; i++) {
        fits = custom_call_operand_is(operands, i, shape->type, shape->rank);
        for (int d = 0; fits && d < shape->rank; d++) {
            if (operands->values[i]->shape->dimensions[d] != shape->dimensions[d]) {
                fits = cut < 0 || cut == d;
                cut = d;
            }
        }
    }
    if (fits && cut < 0) {
        return operands->count == 1
                   ? operand_pass(operands, 0)
                   : custom_call_fail(instruction, err, "several operands of the result's shape");
    }
    for (int i = 0; fits && i < operands->count; i++) {
        total += operands->values[i]->shape->dimensions[cut];
    }
    if (!fits || total != shape->dimensions[cut]) {
        return custom_call_fail(instruction, err, "the operands are no slices of %s",
                                shape_text(shape));
    }
    struct inner_call call;
    inner_call_init(&call, instruction, OP_CONCATENATE, shape);
    inner_call_set(&call, (struct attr){.key = ATTR_DIMENSIONS, .ints = {1, &cut}});
    return inner_call_run(&call, evaluation, operands->values, operands->count, err);
}

/* The computation that comes with the call, where the target's meaning is that computation. */
struct literal *custom_called(struct evaluation *evaluation, const struct instruction *instruction,
                              struct operands *operands, struct error *err)
{
    const struct computation *body = instruction->called_count == 1 ? instruction->called[0] : NULL;
    bool fits = body != NULL && body->parameter_count == operands->count &&
                shape_compatible(body->root->shape, instruction->shape);
    for (int i = 0; fits && i < operands->count; i++) {
        fits = shape_compatible(body->parameters[i]->shape, operands->values[i]->shape);
    }
    if (!fits) {
        return custom_call_fail(instruction, err, "no computation, or one of other shapes");
    }
    struct literal **arguments = memory_alloc((size_t)(operands->count + 1) * sizeof *arguments);
    for (int i = 0; i < operands->count; i++) {
        arguments[i] = operand_pass(operands, i);
    }
    struct literal *result = eval_computation(evaluation, body, arguments, operands->count, err);
    free(arguments);
    return result;
}

/* --- 64-bit values in two 32-bit halves --- */

static bool is_64_bits(enum type type)
{
    return type == TYPE_U64 || type == TYPE_S64 || type == TYPE_F64;
}

/* Integers: the low or high 32 bits. f64: the nearest f32 (high), and the nearest f32 of what is
 * left (low). */
static struct literal *split(const struct instruction *instruction, struct operands *operands,
                             bool high, struct error *err)
{
    const struct shape *shape = instruction->shape;
    bool real = operands->count == 1 && operands->values[0]->shape->type == TYPE_F64;
    if (operands->count != 1 || !shape_is_array(shape) ||
        !is_64_bits(operands->values[0]->shape->type) ||
        !shape_same_dimensions(shape, operands->values[0]->shape) ||
        (real ? shape->type != TYPE_F32 : type_bits(shape->type) != 32)) {
        return custom_call_fail(instruction, err, "shapes that do not fit");
    }
    const struct literal *from = operands->values[0];
    struct literal *result = literal_create(shape, err);
    for (int64_t i = 0; result != NULL && i < literal_elements(from); i++) {
        if (real) {
            double value = literal_get_double(from, i);
            float near = (float)value;
            double rest = value - (double)near;
            literal_set_double(result, i, high ? near : near - near == 0 ? rest : 0);
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

/* (low, high): the inverse; f64 is their sum. */
struct literal *custom_x64_combine(struct evaluation *evaluation,
                                   const struct instruction *instruction, struct operands *operands,
                                   struct error *err)
{
    (void)evaluation;
    const struct shape *shape = instruction->shape;
    bool fits = operands->count == 2 && shape_is_array(shape) && is_64_bits(shape->type);
    bool real = shape->type == TYPE_F64;
    for (int i = 0; fits && i < 2; i++) {
        const struct shape *half = operands->values[i]->shape;
        fits = shape_is_array(half) && shape_same_dimensions(shape, half) &&
               (real ? half->type == TYPE_F32
                     : type_bits(half->type) == 32 && !type_is_float(half->type));
    }
    if (!fits) {
        return custom_call_fail(instruction, err, "shapes that do not fit");
    }
    const struct literal *low = operands->values[0], *high = operands->values[1];
    struct literal *result = literal_create(shape, err);
    for (int64_t i = 0; result != NULL && i < literal_elements(result); i++) {
        if (real) {
            literal_set_double(result, i, literal_get_double(high, i) + literal_get_double(low, i));
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
