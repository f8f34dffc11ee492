/* Asynchronous forms. The work is done as soon as its operands are there and its result has a
 * place, which is at the async-start unless that leaves some of either to later updates; done gives
 * the result. Source: xla/service/hlo_verifier.cc (CheckAsyncOp). */
#include "hlo/async.h"

#include <stdlib.h>

#include "hlo/base/error.h"
#include "interp/eval.h"
#include "interp/transfers.h"

/* Zeros where there is no value yet. */
static struct literal *nothing_yet(const struct shape *shape, struct error *err)
{
    struct literal *literal = literal_zero(shape, err);
    if (literal != NULL && !literal_mark_all_unspecified(literal, err)) {
        literal_release(literal);
        return NULL;
    }
    return literal;
}

/* Runs the computation on the elements of a tuple. */
static struct literal *run(struct evaluation *evaluation, const struct computation *computation,
                           const struct literal *arguments, struct error *err)
{
    int count = arguments->shape->count;
    struct literal **owned = memory_zalloc((size_t)(count + 1) * sizeof(struct literal *));
    for (int i = 0; i < count; i++) {
        owned[i] = literal_retain(arguments->elements[i]);
    }
    struct literal *result = eval_computation(evaluation, computation, owned, count, err);
    free(owned);
    return result;
}

/* ((operands before, new operands), result, contexts…). `before` is NULL for a start. */
static struct literal *step(struct evaluation *evaluation, const struct instruction *instruction,
                            const struct literal *before, const struct operands *operands,
                            struct error *err)
{
    const struct shape *shape = instruction->shape;
    const struct computation *computation = async_computation(instruction);
    if (computation == NULL) {
        error_set(err, ERROR_UNIMPLEMENTED, "its async-start is not in sight");
        return NULL;
    }
    int bound = before != NULL ? before->elements[0]->shape->count : 0;
    int first = before != NULL ? 1 : 0;
    struct literal **elements = memory_zalloc((size_t)shape->count * sizeof(struct literal *));
    int count = shape->elements[0]->count;
    struct literal **arguments = memory_zalloc((size_t)(count + 1) * sizeof(struct literal *));
    for (int i = 0; i < count; i++) {
        arguments[i] = literal_retain(i < bound ? before->elements[0]->elements[i]
                                                : operands->values[first + i - bound]);
    }
    elements[0] = literal_tuple_take(shape->elements[0], arguments);
    free(arguments);
    if (before != NULL && async_is_complete(before->shape, computation)) {
        elements[1] = literal_retain(before->elements[1]);
    } else if (async_is_complete(shape, computation)) {
        elements[1] = run(evaluation, computation, elements[0], err);
    } else {
        elements[1] = nothing_yet(shape->elements[1], err);
    }
    bool ok = elements[1] != NULL;
    for (int i = 2; i < shape->count && ok; i++) {
        bool kept = before != NULL && i < before->shape->count &&
                    shape_compatible(before->shape->elements[i], shape->elements[i]);
        elements[i] =
            kept ? literal_retain(before->elements[i]) : literal_zero(shape->elements[i], err);
        ok = elements[i] != NULL;
    }
    struct literal *result = ok ? literal_tuple_take(shape, elements) : NULL;
    for (int i = 0; i < shape->count && !ok; i++) {
        literal_release(elements[i]);
    }
    free(elements);
    return result;
}

struct literal *eval_async_start(struct evaluation *evaluation,
                                 const struct instruction *instruction, struct operands *operands,
                                 struct error *err)
{
    return step(evaluation, instruction, NULL, operands, err);
}

struct literal *eval_async_update(struct evaluation *evaluation,
                                  const struct instruction *instruction, struct operands *operands,
                                  struct error *err)
{
    if (shape_compatible(instruction->shape, operands->values[0]->shape)) {
        return operand_pass(operands, 0);
    }
    return step(evaluation, instruction, operands->values[0], operands, err);
}

struct literal *eval_async_done(struct evaluation *evaluation,
                                const struct instruction *instruction, struct operands *operands,
                                struct error *err)
{
    const struct computation *computation = async_computation(instruction);
    const struct literal *before = operands->values[0];
    if (computation == NULL || async_is_complete(before->shape, computation)) {
        return transfers_settle(evaluation, instruction, literal_retain(before->elements[1]), err);
    }
    if (before->elements[0]->shape->count != computation->parameter_count) {
        error_set(err, ERROR_INVALID_ARGUMENT, "only %d of %d operands of %s are there",
                  before->elements[0]->shape->count, computation->parameter_count,
                  computation->name);
        return NULL;
    }
    struct literal *value = run(evaluation, computation, before->elements[0], err);
    return transfers_settle(evaluation, instruction, value, err);
}

/* The end of a collective: what its start gives is (operand, result, contexts…) or the result.
 * Source: xla/service/shape_inference.cc. */
struct literal *eval_start_done(struct evaluation *evaluation,
                                const struct instruction *instruction, struct operands *operands,
                                struct error *err)
{
    (void)evaluation;
    (void)err;
    const struct instruction *start = instruction->operands[0];
    const struct literal *value = operands->values[0];
    bool pair = instruction->opcode != OP_ALL_REDUCE_DONE;
    switch (start->opcode) {
    case OP_ALL_GATHER_START:
    case OP_ALL_REDUCE_START:
    case OP_COLLECTIVE_PERMUTE_START:
        pair = async_start_is_pair(start);
        break;
    default:
        break;
    }
    return pair ? literal_retain(value->elements[1]) : operand_pass(operands, 0);
}
