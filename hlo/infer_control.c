/* Shape inference: control flow, asynchronous ops and collectives.
 * Source: xla/service/shape_inference.cc. */
#include <stdlib.h>
#include <string.h>

#include "hlo/async.h"
#include "hlo/base/arena.h"
#include "hlo/infer_internal.h"

/* The arguments fit the computation's parameters but for layouts and dynamic marks. */
static bool arguments_fit(const struct instruction *instruction,
                          const struct computation *computation, int first, struct error *err)
{
    int count = instruction->operand_count - first, taken = computation->parameter_count;
    /* A fusion may have operands that its body has no use for. */
    if (instruction->opcode == OP_FUSION ? taken > count : taken != count) {
        infer_fail(instruction, err, "%s takes %d parameters, but there are %d operands",
                   computation->name, taken, count);
        return false;
    }
    for (int i = 0; i < taken; i++) {
        const struct shape *given = operand_shape(instruction, first + i);
        const struct shape *wanted = computation->parameters[i]->shape;
        if (!infer_compatible(given, wanted)) {
            infer_fail(instruction, err, "parameter %d of %s is %s, but the operand is %s", i,
                       computation->name, shape_text(wanted), shape_text(given));
            return false;
        }
    }
    return true;
}

static bool calls(const struct instruction *instruction, int count, struct error *err)
{
    if (instruction->called_count < count) {
        infer_fail(instruction, err, "needs %d called computations, but there are %d", count,
                   instruction->called_count);
        return false;
    }
    return true;
}

const struct shape *infer_called_root(const struct instruction *instruction, struct error *err)
{
    if (!calls(instruction, 1, err) ||
        !arguments_fit(instruction, instruction->called[0], 0, err)) {
        return NULL;
    }
    return instruction->called[0]->root->shape;
}

const struct shape *infer_while(const struct instruction *instruction, struct error *err)
{
    if (!calls(instruction, 2, err)) {
        return NULL;
    }
    const struct computation *body = instruction->called[0], *condition = instruction->called[1];
    if (!arguments_fit(instruction, body, 0, err) ||
        !arguments_fit(instruction, condition, 0, err)) {
        return NULL;
    }
    if (!shape_is_scalar(condition->root->shape) || condition->root->shape->type != TYPE_PRED) {
        return infer_fail(instruction, err, "condition %s must give pred[], but it gives %s",
                          condition->name, shape_text(condition->root->shape));
    }
    const struct shape *init = operand_shape(instruction, 0);
    if (!infer_compatible(body->root->shape, init)) {
        return infer_fail(instruction, err, "body %s gives %s, but the state is %s", body->name,
                          shape_text(body->root->shape), shape_text(init));
    }
    return init;
}

const struct shape *infer_conditional(const struct instruction *instruction, struct error *err)
{
    if (instruction->operand_count < 1 || instruction->called_count < 1) {
        return infer_fail(instruction, err, "needs a selector and at least one branch");
    }
    const struct shape *selector = operand_shape(instruction, 0);
    bool is_pred = selector->type == TYPE_PRED;
    if (!shape_is_scalar(selector) || (!is_pred && selector->type != TYPE_S32)) {
        return infer_fail(instruction, err, "the selector must be pred[] or s32[], but it is %s",
                          shape_text(selector));
    }
    if (is_pred && instruction->called_count != 2) {
        return infer_fail(instruction, err, "a pred selector needs two branches");
    }
    if (instruction->operand_count != instruction->called_count + 1) {
        return infer_fail(instruction, err, "there are %d branches, but %d branch operands",
                          instruction->called_count, instruction->operand_count - 1);
    }
    const struct shape *result = instruction->called[0]->root->shape;
    for (int i = 0; i < instruction->called_count; i++) {
        const struct computation *branch = instruction->called[i];
        if (branch->parameter_count != 1) {
            return infer_fail(instruction, err, "branch %s must take one parameter", branch->name);
        }
        if (!infer_compatible(branch->parameters[0]->shape, operand_shape(instruction, i + 1))) {
            return infer_fail(instruction, err, "branch %s takes %s, but the operand is %s",
                              branch->name, shape_text(branch->parameters[0]->shape),
                              shape_text(operand_shape(instruction, i + 1)));
        }
        if (!infer_compatible(branch->root->shape, result)) {
            return infer_fail(instruction, err, "branches differ in shape: %s, %s",
                              shape_text(result), shape_text(branch->root->shape));
        }
    }
    return result;
}

/* Element `index` of the tuple that a -start op gives. */
static const struct shape *part(const struct instruction *instruction, int index, struct error *err)
{
    const struct shape *shape = operand_shape(instruction, 0);
    if (!shape_is_tuple(shape) || shape->count <= index) {
        return infer_fail(instruction, err,
                          "the operand must be what a start op gives, but it "
                          "is %s",
                          shape_text(shape));
    }
    return shape->elements[index];
}

const struct shape *infer_async_done(const struct instruction *instruction, struct error *err)
{
    return part(instruction, 1, err);
}

const struct shape *infer_copy_done(const struct instruction *instruction, struct error *err)
{
    return part(instruction, 0, err);
}

/* The result in what the start gives, a pair by rule. */
static const struct shape *result_part(const struct instruction *instruction, enum opcode start,
                                       bool is_pair, struct error *err)
{
    const struct instruction *from = instruction->operands[0];
    if (from->opcode == start) {
        is_pair = async_start_is_pair(from);
    }
    return is_pair ? part(instruction, 1, err) : from->shape;
}

const struct shape *infer_all_gather_done(const struct instruction *instruction, struct error *err)
{
    return result_part(instruction, OP_ALL_GATHER_START, true, err);
}

const struct shape *infer_all_reduce_done(const struct instruction *instruction, struct error *err)
{
    return result_part(instruction, OP_ALL_REDUCE_START, false, err);
}

const struct shape *infer_collective_permute_done(const struct instruction *instruction,
                                                  struct error *err)
{
    return result_part(instruction, OP_COLLECTIVE_PERMUTE_START, true, err);
}

const struct shape *infer_recv_done(const struct instruction *instruction, struct error *err)
{
    const struct shape *data = part(instruction, 0, err);
    if (data == NULL) {
        return NULL;
    }
    const struct shape *parts[] = {data, shape_token()};
    return shape_tuple(2, parts);
}

/* --- collectives --- */

const struct shape *infer_all_reduce(const struct instruction *instruction, struct error *err)
{
    return infer_arrays(instruction, 0, err) ? infer_same_as_operands(instruction, err) : NULL;
}

/* Devices in a group, or 0 when the module does not tell. */
static int64_t group_size(const struct instruction *instruction)
{
    const struct groups *groups = attr_groups(instruction);
    if (groups == NULL) {
        return 0;
    }
    if (groups->form == GROUPS_IOTA) {
        return groups->group_size;
    }
    if (groups->form == GROUPS_LIST && groups->list.count > 0) {
        return groups->list.lists[0].count;
    }
    return 0;
}

/* The result of these is written by XLA (its size depends on the groups); here it is inferred
 * where groups are listed. */
static const struct shape *resized(const struct instruction *instruction, bool grow,
                                   struct error *err)
{
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    int64_t size = group_size(instruction);
    if (!infer_arrays(instruction, 0, err) || size == 0 || dimensions.count != 1) {
        return NULL;
    }
    int count = instruction->operand_count;
    const struct shape **shapes = memory_alloc((size_t)count * sizeof *shapes);
    const struct shape *result = NULL;
    for (int i = 0; i < count; i++) {
        const struct shape *shape = operand_shape(instruction, i);
        int64_t along = dimensions.values[0], sizes[SHAPE_MAX_RANK];
        if (along < 0 || along >= shape->rank) {
            infer_fail(instruction, err, "dimension %lld is out of the range of %s",
                       (long long)along, shape_text(shape));
            goto done;
        }
        memcpy(sizes, shape->dimensions, (size_t)shape->rank * sizeof *sizes);
        if (!grow && sizes[along] % size != 0) {
            infer_fail(instruction, err, "dimension %lld of %s does not divide by %lld",
                       (long long)along, shape_text(shape), (long long)size);
            goto done;
        }
        sizes[along] = grow ? sizes[along] * size : sizes[along] / size;
        shapes[i] = shape_make(shape->type, shape->rank, sizes, shape->dynamic, NULL);
    }
    result = infer_tuple_if_many(count, shapes);
done:
    free(shapes);
    return result;
}

const struct shape *infer_all_gather(const struct instruction *instruction, struct error *err)
{
    return resized(instruction, true, err);
}

const struct shape *infer_reduce_scatter(const struct instruction *instruction, struct error *err)
{
    return resized(instruction, false, err);
}

static const struct shape *with_operands(const struct instruction *instruction,
                                         const struct shape *output, struct error *err)
{
    if (output == NULL) {
        return NULL;
    }
    const struct shape *input = infer_same_as_operands(instruction, err);
    const struct shape *parts[] = {input, output};
    return input != NULL ? shape_tuple(2, parts) : NULL;
}

const struct shape *infer_all_gather_start(const struct instruction *instruction, struct error *err)
{
    return with_operands(instruction, infer_all_gather(instruction, err), err);
}

/* With a dimension: the operand is split along it and the parts are put together along it, so the
 * shape stays. Without: one operand a device, tuple in, tuple out. */
const struct shape *infer_all_to_all(const struct instruction *instruction, struct error *err)
{
    if (!infer_arrays(instruction, 0, err)) {
        return NULL;
    }
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    if (dimensions.count == 1 && instruction->operand_count == 1) {
        return shape_without_layout(operand_shape(instruction, 0));
    }
    for (int i = 1; i < instruction->operand_count; i++) {
        if (!shape_compatible(operand_shape(instruction, 0), operand_shape(instruction, i))) {
            return infer_fail(instruction, err, "operands must have one shape: %s, %s",
                              shape_text(operand_shape(instruction, 0)),
                              shape_text(operand_shape(instruction, i)));
        }
    }
    return infer_tuple(instruction, err);
}

const struct shape *infer_ragged_all_to_all(const struct instruction *instruction,
                                            struct error *err)
{
    return infer_arrays(instruction, 0, err) ? shape_without_layout(operand_shape(instruction, 1))
                                             : NULL;
}

/* With a dynamic root the last operand says which device that is, an s32 for each of the others. */
const struct shape *infer_collective_broadcast(const struct instruction *instruction,
                                               struct error *err)
{
    int count = instruction->operand_count;
    if (!infer_arrays(instruction, 0, err)) {
        return NULL;
    }
    if (!attr_bool(instruction, ATTR_HAS_DYNAMIC_ROOT, false)) {
        return infer_same_as_operands(instruction, err);
    }
    if (count < 2) {
        return infer_fail(instruction, err, "needs data and its root");
    }
    const struct shape *root = operand_shape(instruction, count - 1);
    if (root->type != TYPE_S32 || root->rank != 1 || root->dimensions[0] != count - 1) {
        return infer_fail(instruction, err, "the root must be s32[%d], but it is %s", count - 1,
                          shape_text(root));
    }
    const struct shape **shapes = memory_alloc((size_t)count * sizeof *shapes);
    for (int i = 0; i < count - 1; i++) {
        shapes[i] = shape_without_layout(operand_shape(instruction, i));
    }
    const struct shape *result = infer_tuple_if_many(count - 1, shapes);
    free(shapes);
    return result;
}

/* In place (4 operands: input, output, input offsets, output offsets): the output's shape. */
const struct shape *infer_collective_permute(const struct instruction *instruction,
                                             struct error *err)
{
    const struct attr *in_place = attr_get(instruction, ATTR_SLICE_SIZES);
    if (in_place != NULL && instruction->operand_count == 4) {
        return operand_shape(instruction, 1);
    }
    return infer_arrays(instruction, 0, err) ? infer_same_as_operands(instruction, err) : NULL;
}

const struct shape *infer_collective_permute_start(const struct instruction *instruction,
                                                   struct error *err)
{
    return with_operands(instruction, infer_collective_permute(instruction, err), err);
}
