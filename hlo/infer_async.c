/* Written shapes of asynchronous ops and of the starts of collectives.
 * Source: xla/service/hlo_verifier.cc (CheckAsyncOp, HandleAllGatherStart and the like). */
#include "hlo/async.h"
#include "hlo/infer_internal.h"

static bool fail_async(const struct instruction *instruction, struct error *err, const char *what,
                       const struct shape *own, const struct shape *other)
{
    infer_fail(instruction, err, "%s: %s, %s", what, shape_text(own), shape_text(other));
    return false;
}

/* ((operands), result, …), the first two of which begin as the computation's parameters and result
 * do. */
static bool check_async_shape(const struct instruction *instruction, struct error *err)
{
    const struct shape *shape = instruction->shape;
    const struct computation *computation = async_computation(instruction);
    if (!shape_is_tuple(shape) || shape->count < 2 || !shape_is_tuple(shape->elements[0])) {
        infer_fail(instruction, err, "the shape must be ((operands), result, …), but it is %s",
                   shape_text(shape));
        return false;
    }
    if (computation == NULL) {
        return true;
    }
    const struct shape *given = shape->elements[0];
    bool ok = given->count <= computation->parameter_count;
    for (int i = 0; ok && i < given->count; i++) {
        ok = async_is_prefix(given->elements[i], computation->parameters[i]->shape);
    }
    if (!ok) {
        infer_fail(instruction, err, "the operands %s do not fit the parameters of %s",
                   shape_text(given), computation->name);
        return false;
    }
    return async_is_prefix(shape->elements[1], computation->root->shape) ||
           fail_async(instruction, err, "the result is no part of what the computation gives",
                      shape->elements[1], computation->root->shape);
}

/* Operands `first` on are those of the shape from number `number` on. */
static bool check_async_operands(const struct instruction *instruction, int first, int number,
                                 struct error *err)
{
    const struct shape *given = instruction->shape->elements[0];
    if (instruction->operand_count - first != given->count - number) {
        infer_fail(instruction, err, "there are %d operands for the %d that the shape %s adds",
                   instruction->operand_count - first, given->count - number,
                   shape_text(instruction->shape));
        return false;
    }
    for (int i = first; i < instruction->operand_count; i++) {
        if (!infer_compatible(given->elements[number + i - first], operand_shape(instruction, i))) {
            infer_fail(instruction, err, "operand %d is %s, but the shape says %s", i,
                       shape_text(operand_shape(instruction, i)),
                       shape_text(given->elements[number + i - first]));
            return false;
        }
    }
    return true;
}

bool infer_check_async_start(const struct instruction *instruction, struct error *err)
{
    return check_async_shape(instruction, err) && check_async_operands(instruction, 0, 0, err);
}

/* What comes before has the form of an async shape. */
static bool check_async_before(const struct instruction *instruction, struct error *err)
{
    const struct shape *before =
        instruction->operand_count > 0 ? operand_shape(instruction, 0) : shape_token();
    if (!shape_is_tuple(before) || before->count < 2 || !shape_is_tuple(before->elements[0])) {
        infer_fail(instruction, err, "the operand must be what a start op gives, but it is %s",
                   shape_text(before));
        return false;
    }
    return true;
}

/* An update may bring operands and widen the result. */
bool infer_check_async_update(const struct instruction *instruction, struct error *err)
{
    if (!check_async_before(instruction, err) || !check_async_shape(instruction, err)) {
        return false;
    }
    const struct shape *before = operand_shape(instruction, 0), *shape = instruction->shape;
    for (int i = 0; i < 2; i++) {
        if (!async_is_prefix(before->elements[i], shape->elements[i])) {
            return fail_async(instruction, err, "the shape does not go on from its operand's",
                              shape, before);
        }
    }
    return check_async_operands(instruction, 1, before->elements[0]->count, err);
}

bool infer_check_async_done(const struct instruction *instruction, struct error *err)
{
    if (!check_async_before(instruction, err)) {
        return false;
    }
    const struct computation *computation = async_computation(instruction);
    const struct shape *before = operand_shape(instruction, 0);
    const struct shape *result =
        computation != NULL ? computation->root->shape : before->elements[1];
    if (computation != NULL && before->elements[0]->count != computation->parameter_count) {
        infer_fail(instruction, err, "only %d of %d operands of %s are there",
                   before->elements[0]->count, computation->parameter_count, computation->name);
        return false;
    }
    return infer_compatible(result, instruction->shape) ||
           infer_fail_shape(instruction, err, result);
}

/* --- starts of collectives --- */

/* The written shape against (operands, results, contexts…) if it is a pair, else against the
 * results. */
bool infer_check_collective_start(const struct instruction *instruction,
                                  const struct shape *operands, const struct shape *results,
                                  struct error *err)
{
    const struct shape *shape = instruction->shape;
    if (!async_start_is_pair(instruction)) {
        return infer_similar(results, shape) || infer_fail_shape(instruction, err, results);
    }
    if (infer_similar(operands, shape->elements[0]) && infer_similar(results, shape->elements[1])) {
        return true;
    }
    const struct shape *pair[] = {operands, results};
    return infer_fail_shape(instruction, err, shape_tuple(2, pair));
}

bool infer_check_permute_start(const struct instruction *instruction, struct error *err)
{
    const struct shape *results = infer_collective_permute(instruction, err);
    if (results == NULL) {
        return false;
    }
    bool in_place = attr_get(instruction, ATTR_SLICE_SIZES) != NULL;
    const struct shape *operands = in_place && instruction->operand_count == 4
                                       ? operand_shape(instruction, 0)
                                       : infer_same_as_operands(instruction, err);
    return operands != NULL && infer_check_collective_start(instruction, operands, results, err);
}

bool infer_check_all_reduce_start(const struct instruction *instruction, struct error *err)
{
    const struct shape *results = infer_all_reduce(instruction, err);
    return results != NULL && infer_check_collective_start(instruction, results, results, err);
}
