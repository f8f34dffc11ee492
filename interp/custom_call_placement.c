/* Custom calls that say where values lie or how they are split, and those that stand for memory.
 *
 * Sources: xla/service/spmd (Sharding, SPMD…), xla/service/host_offload (placement, MoveTo…),
 * xla/service/spmd/shardy (xla.sdy.…), xla/service/memory_space_assignment (ConcatBitcast, Pin),
 * xla/hlo/ir/hlo_instructions.h (AllocateBuffer, CreateBuffer, Pin, call markers). */
#include <stdlib.h>
#include <string.h>

#include "hlo/async.h"
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

/* The slice that a value is, through copies and asynchronous forms; NULL if it is none. */
static const struct instruction *slice_behind(const struct instruction *value)
{
    while (value != NULL && value->opcode != OP_SLICE) {
        switch (value->opcode) {
        case OP_COPY:
        case OP_COPY_START:
        case OP_COPY_DONE:
        case OP_ASYNC_UPDATE:
        case OP_ASYNC_DONE:
            value = value->operands[0];
            break;
        case OP_ASYNC_START: {
            const struct computation *computation = async_computation(value);
            value = computation != NULL ? computation->root : NULL;
            break;
        }
        default:
            value = NULL;
        }
    }
    return value;
}

/* Where operand i begins in the whole, in the dimension in which it is shorter; −1: unknown. */
static int64_t begin_of(const struct instruction *call, int i)
{
    const struct shape *shape = call->shape, *part = call->operands[i]->shape;
    const struct instruction *slice = slice_behind(call->operands[i]);
    for (int d = 0; slice != NULL && d < shape->rank && d < part->rank; d++) {
        if (part->dimensions[d] != shape->dimensions[d]) {
            struct slices slices = attr_slices(slice);
            return d < slices.rank ? slices.dimensions[d].start : -1;
        }
    }
    return -1;
}

bool concat_bitcast_order(const struct instruction *call, int *order)
{
    int64_t begins[CONCAT_BITCAST_MOST];
    int count = call->operand_count;
    bool known = count <= CONCAT_BITCAST_MOST && shape_is_array(call->shape);
    for (int i = 0; i < count && i < CONCAT_BITCAST_MOST; i++) {
        order[i] = i;
        begins[i] = known && shape_is_array(call->operands[i]->shape) ? begin_of(call, i) : -1;
        known = known && begins[i] >= 0;
    }
    for (int i = 1; known && i < count; i++) {
        for (int k = i; k > 0 && begins[order[k]] < begins[order[k - 1]]; k--) {
            int swap = order[k];
            order[k] = order[k - 1];
            order[k - 1] = swap;
        }
    }
    return known;
}

/* Slices of one array that lie behind each other in memory: their concatenation along the one
 * dimension in which they are shorter than the result. The operands stand in the order in which
 * the slices are begun, which need not be that of their places: what they are slices of says where
 * each belongs. */
struct literal *custom_concat_bitcast(struct evaluation *evaluation,
                                      const struct instruction *instruction,
                                      struct operands *operands, struct error *err)
{
    const struct shape *shape = instruction->shape;
    int64_t cut = -1, total = 0;
    bool fits =
        operands->count > 0 && operands->count <= CONCAT_BITCAST_MOST && shape_is_array(shape);
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
    int order[CONCAT_BITCAST_MOST];
    struct literal *values[CONCAT_BITCAST_MOST];
    concat_bitcast_order(instruction, order);
    for (int i = 0; i < operands->count; i++) {
        values[i] = operands->values[order[i]];
    }
    struct inner_call call;
    inner_call_init(&call, instruction, OP_CONCATENATE, shape);
    inner_call_set(&call, (struct attr){.key = ATTR_DIMENSIONS, .ints = {1, &cut}});
    return inner_call_run(&call, evaluation, values, operands->count, err);
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
