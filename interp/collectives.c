/* Collectives: every device of a group brings its operands to a meeting (devices.h), then works out
 * its own result from what all of them brought. */
#include <stdlib.h>
#include <string.h>

#include "hlo/async.h"
#include "interp/devices.h"
#include "interp/eval.h"
#include "interp/groups.h"
#include "interp/permute.h"
#include "interp/reduction.h"
#include "interp/walk.h"

/* One element of the result: instruction->shape, or its i-th element when the op has several
 * operands. `shape` is that of the whole result (not of the start tuple). */
static const struct shape *part_shape(const struct shape *shape, int i)
{
    return shape_is_tuple(shape) ? shape->elements[i] : shape;
}

/* Puts the parts together, as a tuple where the shape is one. Takes the parts; NULL if one is. */
static struct literal *join_parts(const struct shape *shape, struct literal **parts, int count)
{
    bool complete = true;
    for (int i = 0; i < count; i++) {
        complete &= parts[i] != NULL;
    }
    if (complete) {
        return shape_is_tuple(shape) ? literal_tuple_take(shape, parts) : parts[0];
    }
    for (int i = 0; i < count; i++) {
        literal_release(parts[i]);
    }
    return NULL;
}

/* Copies a block of `from` into a block of `to`: all dimensions whole but `along`, of which `size`
 * indices from `from_start` on go to `to_start` on. */
static bool copy_block(struct literal *to, int64_t to_start, const struct literal *from,
                       int64_t from_start, int along, int64_t size, struct error *err)
{
    int64_t to_strides[SHAPE_MAX_RANK], from_strides[SHAPE_MAX_RANK];
    walk_strides(to->shape->rank, to->shape->dimensions, to_strides);
    walk_strides(from->shape->rank, from->shape->dimensions, from_strides);
    struct walk walk;
    walk_begin(&walk);
    for (int d = 0; d < to->shape->rank; d++) {
        walk_add(&walk, d == along ? size : from->shape->dimensions[d], from_strides[d],
                 to_strides[d]);
    }
    walk_finish(&walk);
    return walk_literal(&walk, to, to_start * to_strides[along], from,
                        from_start * from_strides[along], err);
}

/* --- what each collective makes of a meeting; operand i, device at `position` --- */

struct collective {
    struct evaluation *evaluation;
    const struct instruction *instruction;
    const struct meeting *meeting;
    const struct group *group;
};

/* The place in the group of a device that is there, of this one. */
static int place_of(const struct collective *collective, int position)
{
    return group_place(collective->group, position);
}

static int own_place(const struct collective *collective)
{
    return place_of(collective, collective->group->position);
}
typedef struct literal *part_function(const struct collective *collective, int i,
                                      const struct shape *shape, struct error *err);

static struct literal *all_reduce_part(const struct collective *collective, int i,
                                       const struct shape *shape, struct error *err)
{
    (void)shape;
    const struct meeting *meeting = collective->meeting;
    struct literal **values = memory_alloc((size_t)meeting->count * sizeof *values);
    for (int p = 0; p < meeting->count; p++) {
        values[p] = meeting_operand(meeting, p, i);
    }
    struct literal *result =
        reduce_values(collective->evaluation, collective->instruction, values, meeting->count, err);
    free(values);
    return result;
}

/* A result of which nobody gives the indices for which given[index / size] is false (or that lie
 * beyond them) along a dimension: those of devices that do not exist, and what a module says its
 * result is larger than what its devices gather, which XLA leaves as it was. */
static void mark_missing(struct literal *result, int along, const bool *given, int count,
                         int64_t size)
{
    const struct shape *shape = result->shape;
    int64_t inner = 1, elements = literal_elements(result);
    for (int d = along + 1; d < shape->rank; d++) {
        inner *= shape->dimensions[d];
    }
    for (int64_t i = 0; i < elements; i++) {
        int64_t index = i / inner % shape->dimensions[along];
        if (index >= count * size || !given[index / size]) {
            literal_mark_unspecified(result, i);
        }
    }
}

/* Puts pieces of `size` indices along a dimension side by side in the places of those who gave
 * them: piece p begins at from_start in operand i of device p. */
static struct literal *gather_pieces(const struct collective *collective, int i,
                                     const struct shape *shape, int along, int64_t size,
                                     int64_t from_start, struct error *err)
{
    const struct meeting *meeting = collective->meeting;
    int count = collective->group->size;
    struct literal *result = literal_zero(shape, err);
    bool *given = memory_zalloc((size_t)count), ok = result != NULL;
    for (int p = 0; ok && p < meeting->count; p++) {
        int place = place_of(collective, p);
        given[place] = true;
        ok = copy_block(result, place * size, meeting_operand(meeting, p, i), from_start, along,
                        size, err);
    }
    if (ok && (meeting->count < count || count * size < shape->dimensions[along])) {
        mark_missing(result, along, given, count, size);
    }
    free(given);
    if (!ok) {
        literal_release(result);
        return NULL;
    }
    return result;
}

static struct literal *all_gather_part(const struct collective *collective, int i,
                                       const struct shape *shape, struct error *err)
{
    const struct meeting *meeting = collective->meeting;
    int along = (int)attr_ints(collective->instruction, ATTR_DIMENSIONS).values[0];
    int64_t size = meeting_operand(meeting, 0, i)->shape->dimensions[along];
    if (collective->group->size * size > shape->dimensions[along]) {
        error_set(err, ERROR_INVALID_ARGUMENT, "%d devices give more than %s holds",
                  collective->group->size, shape_text(shape));
        return NULL;
    }
    return gather_pieces(collective, i, shape, along, size, 0, err);
}

/* The device's share of the reduced value, which is meeting->shared. */
static struct literal *reduce_scatter_part(const struct collective *collective, int i,
                                           const struct shape *shape, struct error *err)
{
    const struct meeting *meeting = collective->meeting;
    const struct literal *whole =
        shape_is_tuple(meeting->shared->shape) ? meeting->shared->elements[i] : meeting->shared;
    int along = (int)attr_ints(collective->instruction, ATTR_DIMENSIONS).values[0];
    int64_t size = shape->dimensions[along];
    int place = own_place(collective);
    if (size * (place + 1) > whole->shape->dimensions[along]) {
        error_set(err, ERROR_INVALID_ARGUMENT, "no share of %s for device %d of %d",
                  shape_text(whole->shape), place, collective->group->size);
        return NULL;
    }
    struct literal *result = literal_create(shape, err);
    if (result != NULL && !copy_block(result, 0, whole, size * place, along, size, err)) {
        literal_release(result);
        return NULL;
    }
    return result;
}

/* Array form: each operand is cut along a dimension into one piece for each device; a device's
 * result is the pieces for it, in order. */
static struct literal *all_to_all_array(const struct collective *collective, int i,
                                        const struct shape *shape, struct error *err)
{
    int along = (int)attr_ints(collective->instruction, ATTR_DIMENSIONS).values[0];
    int64_t size = shape->dimensions[along] / collective->group->size;
    return gather_pieces(collective, i, shape, along, size, own_place(collective) * size, err);
}

static struct literal *unspecified(const struct shape *shape, struct error *err)
{
    struct literal *result = literal_zero(shape, err);
    if (result != NULL && !literal_mark_all_unspecified(result, err)) {
        literal_release(result);
        return NULL;
    }
    return result;
}

/* The device of the group at a place, as a position in the meeting; −1 if it does not exist. */
static int find_place(const struct collective *collective, int place)
{
    for (int p = 0; p < collective->group->count; p++) {
        if (place_of(collective, p) == place) {
            return p;
        }
    }
    return -1;
}

/* Tuple form: operand j goes to device j. */
static struct literal *all_to_all_tuple(const struct collective *collective, int i,
                                        const struct shape *shape, struct error *err)
{
    const struct meeting *meeting = collective->meeting;
    if (meeting->operand_count != collective->group->size) {
        error_set(err, ERROR_INVALID_ARGUMENT, "%d operands for %d devices", meeting->operand_count,
                  collective->group->size);
        return NULL;
    }
    int source = find_place(collective, i);
    return source >= 0 ? literal_retain(meeting_operand(meeting, source, own_place(collective)))
                       : unspecified(shape, err);
}

/* Everybody gets what the first device of the group has, or the one at the place that the last
 * operand says for each of the others. Source:
 * xla/backends/gpu/runtime/collective_broadcast_thunk.cc.
 */
static struct literal *broadcast_part(const struct collective *collective, int i,
                                      const struct shape *shape, struct error *err)
{
    const struct meeting *meeting = collective->meeting;
    int64_t root = 0;
    if (attr_bool(collective->instruction, ATTR_HAS_DYNAMIC_ROOT, false)) {
        int last = meeting->operand_count - 1;
        root = literal_get_int(meeting_operand(meeting, collective->group->position, last), i);
        for (int p = 0; p < meeting->count; p++) {
            int64_t other = literal_get_int(meeting_operand(meeting, p, last), i);
            if (other != root || root < 0 || root >= collective->group->size) {
                error_set(err, ERROR_INVALID_ARGUMENT,
                          "root %lld of device %d and root %lld of device %d among %d devices",
                          (long long)root, grid_device(collective->evaluation), (long long)other,
                          meeting->devices[p], collective->group->size);
                return NULL;
            }
        }
    }
    int source = find_place(collective, (int)root);
    return source >= 0 ? literal_retain(meeting_operand(meeting, source, i))
                       : unspecified(shape, err);
}

/* Copies the rows that the device at position p sends to this one. */
static bool copy_rows(const struct collective *collective, int p, struct literal *result,
                      struct error *err)
{
    const struct meeting *meeting = collective->meeting;
    const struct literal *input = meeting_operand(meeting, p, 0);
    const struct literal *offsets = meeting_operand(meeting, p, 2);
    const struct literal *sizes = meeting_operand(meeting, p, 3);
    const struct literal *targets = meeting_operand(meeting, p, 4);
    const struct literal *awaited = meeting_operand(meeting, collective->group->position, 5);
    int64_t each = literal_elements(offsets) / collective->group->size;
    int64_t first = own_place(collective) * each, other = place_of(collective, p) * each;
    for (int64_t u = 0; u < each; u++) {
        int64_t from = literal_get_int(offsets, first + u);
        int64_t size = literal_get_int(sizes, first + u);
        int64_t to = literal_get_int(targets, first + u);
        if (from < 0 || size < 0 || to < 0 || size > input->shape->dimensions[0] - from ||
            size > result->shape->dimensions[0] - to) {
            return error_set(err, ERROR_INVALID_ARGUMENT,
                             "device %d sends rows outside the arrays to device %d",
                             meeting->devices[p], grid_device(collective->evaluation));
        }
        if (literal_get_int(awaited, other + u) != size) {
            return error_set(err, ERROR_INVALID_ARGUMENT,
                             "device %d sends %lld rows to device %d, which awaits %lld",
                             meeting->devices[p], (long long)size,
                             grid_device(collective->evaluation),
                             (long long)literal_get_int(awaited, other + u));
        }
        if (!copy_block(result, to, input, from, 0, size, err)) {
            return false;
        }
    }
    return true;
}

/* Operands: input, output, input_offsets, send_sizes, output_offsets, recv_sizes; the last four
 * have, for each device of the group in order, the same number of entries. Rows (of dimension 0)
 * [input_offset, + send_size) of a sender's input land at its output_offset in the receiver's
 * output. Sources: HLO operation semantics, RaggedAllToAll;
 * xla/backends/gpu/runtime/ragged_all_to_all_thunk.cc. */
static struct literal *ragged_part(const struct collective *collective, int i,
                                   const struct shape *shape, struct error *err)
{
    (void)i;
    (void)shape;
    const struct meeting *meeting = collective->meeting;
    int self = collective->group->position;
    struct literal *result =
        literal_own_take(literal_retain(meeting_operand(meeting, self, 1)), err);
    for (int p = 0; result != NULL && p < meeting->count; p++) {
        if (!copy_rows(collective, p, result, err)) {
            literal_release(result);
            return NULL;
        }
    }
    return result;
}

/* The i-th part of the result for each operand (or element of the tuple). */
static struct literal *make_parts(const struct collective *collective, part_function *part,
                                  const struct shape *shape, struct error *err)
{
    int count = shape_is_tuple(shape) ? shape->count : 1;
    struct literal **parts = memory_zalloc((size_t)count * sizeof *parts);
    for (int i = 0; i < count; i++) {
        parts[i] = part(collective, i, part_shape(shape, i), err);
        if (parts[i] == NULL) {
            break;
        }
    }
    struct literal *result = join_parts(shape, parts, count);
    free(parts);
    return result;
}

/* The reduced values, in the shapes of the operands; the same for the whole group. */
static bool make_reduced(const struct collective *collective, struct meeting *meeting,
                         struct error *err)
{
    if (meeting->shared == NULL) {
        int count = meeting->operand_count;
        const struct shape **shapes = memory_alloc((size_t)count * sizeof *shapes);
        for (int i = 0; i < count; i++) {
            shapes[i] = meeting_operand(meeting, 0, i)->shape;
        }
        const struct shape *shape = count == 1 ? shapes[0] : shape_tuple(count, shapes);
        free(shapes);
        meeting->shared = make_parts(collective, all_reduce_part, shape, err);
    }
    return meeting->shared != NULL;
}

static struct literal *make_result(const struct collective *collective, struct meeting *meeting,
                                   const struct shape *shape, struct error *err)
{
    bool array = attr_get(collective->instruction, ATTR_DIMENSIONS) != NULL;
    switch (collective->instruction->opcode) {
    case OP_ALL_REDUCE:
    case OP_ALL_REDUCE_START:
        return make_reduced(collective, meeting, err) ? literal_retain(meeting->shared) : NULL;
    case OP_REDUCE_SCATTER:
        return make_reduced(collective, meeting, err)
                   ? make_parts(collective, reduce_scatter_part, shape, err)
                   : NULL;
    case OP_ALL_GATHER:
    case OP_ALL_GATHER_START:
        if (meeting->shared == NULL) {
            meeting->shared = make_parts(collective, all_gather_part, shape, err);
        }
        return meeting->shared != NULL ? literal_retain(meeting->shared) : NULL;
    case OP_ALL_TO_ALL:
        return make_parts(collective, array ? all_to_all_array : all_to_all_tuple, shape, err);
    case OP_COLLECTIVE_BROADCAST:
        return make_parts(collective, broadcast_part, shape, err);
    default:
        return make_parts(collective, ragged_part, shape, err);
    }
}

/* --- the ops --- */

static struct literal *eval_in_group(struct evaluation *evaluation,
                                     const struct instruction *instruction,
                                     struct operands *operands, const struct shape *shape,
                                     struct error *err)
{
    struct group group;
    if (!group_find(evaluation, instruction, &group, err)) {
        return NULL;
    }
    if (group.position < 0) {
        if (instruction->opcode == OP_COLLECTIVE_BROADCAST) {
            return literal_zero(shape, err);
        }
        error_set(err, ERROR_INVALID_ARGUMENT, "replica %d, partition %d is in no group",
                  evaluation->replica, evaluation->partition);
        return NULL;
    }
    struct meeting *meeting = grid_meet(evaluation, instruction, collective_channel(instruction),
                                        group.devices, group.count, group.position, operands, err);
    struct literal *result = NULL;
    if (meeting != NULL) {
        struct collective collective = {evaluation, instruction, meeting, &group};
        result = make_result(&collective, meeting, shape, err);
        grid_leave(evaluation, meeting);
    }
    group_finish(&group);
    return result;
}

/* (operand, result, contexts…); several operands form a tuple.
 * Source: xla/service/shape_inference.cc (InferAllGatherStartShape, …PermuteStartShape). */
static struct literal *start_result(const struct instruction *instruction,
                                    const struct operands *operands, struct literal *result,
                                    struct error *err)
{
    const struct shape *shape = instruction->shape;
    struct literal **elements = memory_zalloc((size_t)shape->count * sizeof *elements);
    elements[1] = result;
    if (shape_is_tuple(shape->elements[0]) && !shape_is_tuple(operands->values[0]->shape)) {
        struct literal **parts = memory_alloc((size_t)operands->count * sizeof *parts);
        for (int i = 0; i < operands->count; i++) {
            parts[i] = literal_retain(operands->values[i]);
        }
        elements[0] = literal_tuple_take(shape->elements[0], parts);
        free(parts);
    } else {
        elements[0] = literal_retain(operands->values[0]);
    }
    for (int i = 2; i < shape->count; i++) {
        elements[i] = literal_zero(shape->elements[i], err);
    }
    struct literal *start = join_parts(shape, elements, shape->count);
    free(elements);
    return start;
}

struct literal *eval_collective(struct evaluation *evaluation,
                                const struct instruction *instruction, struct operands *operands,
                                struct error *err)
{
    const struct shape *shape = instruction->shape;
    bool permute = false, start = false;
    switch (instruction->opcode) {
    case OP_COLLECTIVE_PERMUTE_START:
        start = permute = true;
        break;
    case OP_COLLECTIVE_PERMUTE:
        permute = true;
        break;
    case OP_ALL_GATHER_START:
    case OP_ALL_REDUCE_START:
        start = true;
        break;
    default:
        break;
    }
    start = start && async_start_is_pair(instruction);
    const struct shape *result_shape = start ? shape->elements[1] : shape;
    struct literal *result =
        permute ? permute_values(evaluation, instruction, operands, result_shape, err)
                : eval_in_group(evaluation, instruction, operands, result_shape, err);
    return result != NULL && start ? start_result(instruction, operands, result, err) : result;
}
