/* Collectives: every device of a group brings its operands to a meeting (devices.h), then works out
 * its own result from what all of them brought. */
#include <stdlib.h>
#include <string.h>

#include "interp/devices.h"
#include "interp/eval.h"
#include "interp/groups.h"
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
    int position;
};
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

/* Places of a result along a dimension from `start` on that no device gives: XLA lets a module say
 * a result larger than what its devices gather, and leaves the rest as it was. */
static void mark_beyond(struct literal *result, int along, int64_t start)
{
    const struct shape *shape = result->shape;
    int64_t inner = 1, size = shape->dimensions[along], count = literal_elements(result);
    for (int d = along + 1; d < shape->rank; d++) {
        inner *= shape->dimensions[d];
    }
    for (int64_t i = 0; start < size && i < count; i++) {
        if (i / inner % size >= start) {
            literal_mark_unspecified(result, i);
        }
    }
}

static struct literal *all_gather_part(const struct collective *collective, int i,
                                       const struct shape *shape, struct error *err)
{
    const struct meeting *meeting = collective->meeting;
    int along = (int)attr_ints(collective->instruction, ATTR_DIMENSIONS).values[0];
    struct literal *result = literal_zero(shape, err);
    int64_t start = 0;
    for (int p = 0; result != NULL && p < meeting->count; p++) {
        const struct literal *operand = meeting_operand(meeting, p, i);
        int64_t size = operand->shape->dimensions[along];
        if (start + size > shape->dimensions[along]) {
            error_set(err, ERROR_INVALID_ARGUMENT, "%d devices give more than %s holds",
                      meeting->count, shape_text(shape));
            literal_release(result);
            return NULL;
        }
        if (!copy_block(result, start, operand, 0, along, size, err)) {
            literal_release(result);
            return NULL;
        }
        start += size;
    }
    if (result != NULL) {
        mark_beyond(result, along, start);
    }
    return result;
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
    if (size * (collective->position + 1) > whole->shape->dimensions[along]) {
        error_set(err, ERROR_INVALID_ARGUMENT, "no share of %s for device %d of %d",
                  shape_text(whole->shape), collective->position, meeting->count);
        return NULL;
    }
    struct literal *result = literal_create(shape, err);
    if (result != NULL &&
        !copy_block(result, 0, whole, size * collective->position, along, size, err)) {
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
    const struct meeting *meeting = collective->meeting;
    int along = (int)attr_ints(collective->instruction, ATTR_DIMENSIONS).values[0];
    int64_t size = shape->dimensions[along] / meeting->count;
    struct literal *result = literal_create(shape, err);
    for (int p = 0; result != NULL && p < meeting->count; p++) {
        if (!copy_block(result, p * size, meeting_operand(meeting, p, i),
                        collective->position * size, along, size, err)) {
            literal_release(result);
            return NULL;
        }
    }
    return result;
}

/* Tuple form: operand j goes to device j. */
static struct literal *all_to_all_tuple(const struct collective *collective, int i,
                                        const struct shape *shape, struct error *err)
{
    (void)shape;
    const struct meeting *meeting = collective->meeting;
    if (i >= meeting->count || collective->position >= meeting->operand_count) {
        error_set(err, ERROR_INVALID_ARGUMENT, "%d operands for %d devices", meeting->operand_count,
                  meeting->count);
        return NULL;
    }
    return literal_retain(meeting_operand(meeting, i, collective->position));
}

static struct literal *broadcast_part(const struct collective *collective, int i,
                                      const struct shape *shape, struct error *err)
{
    (void)shape;
    (void)err;
    return literal_retain(meeting_operand(collective->meeting, 0, i));
}

/* Operands: input, output, input_offsets, send_sizes, output_offsets, recv_sizes; the last four
 * have, for each device of the group in order, the same number of entries. Rows (of dimension 0)
 * [input_offset, + send_size) of a sender's input land at its output_offset in the receiver's
 * output. Source: HLO operation semantics, RaggedAllToAll. */
static struct literal *ragged_part(const struct collective *collective, int i,
                                   const struct shape *shape, struct error *err)
{
    (void)i;
    (void)shape;
    const struct meeting *meeting = collective->meeting;
    int self = collective->position;
    struct literal *result =
        literal_own_take(literal_retain(meeting_operand(meeting, self, 1)), err);
    for (int p = 0; result != NULL && p < meeting->count; p++) {
        const struct literal *input = meeting_operand(meeting, p, 0);
        const struct literal *offsets = meeting_operand(meeting, p, 2);
        const struct literal *sizes = meeting_operand(meeting, p, 3);
        const struct literal *targets = meeting_operand(meeting, p, 4);
        int64_t each = literal_elements(offsets) / meeting->count;
        for (int64_t u = self * each; u < (self + 1) * each; u++) {
            int64_t from = literal_get_int(offsets, u), size = literal_get_int(sizes, u);
            int64_t to = literal_get_int(targets, u);
            if (from < 0 || size < 0 || to < 0 || size > input->shape->dimensions[0] - from ||
                size > result->shape->dimensions[0] - to) {
                error_set(err, ERROR_INVALID_ARGUMENT,
                          "device %d sends rows outside the arrays to device %d", p, self);
                literal_release(result);
                return NULL;
            }
            if (!copy_block(result, to, input, from, 0, size, err)) {
                literal_release(result);
                return NULL;
            }
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

/* --- collective-permute --- */

/* The devices in source_target_pairs, each once, in the order they are named, and the source that
 * sends to this device (a position among them, −1 if none). A pair with a device that does not
 * exist is no pair. */
static void permute_group(struct evaluation *evaluation, const struct instruction *instruction,
                          struct group *group, int *source)
{
    struct ints pairs = attr_ints(instruction, ATTR_SOURCE_TARGET_PAIRS);
    enum group_mode mode = group_mode_of(instruction);
    int self = grid_device(evaluation);
    *group = (struct group){.position = -1};
    *source = -1;
    group->devices = memory_alloc((size_t)pairs.count * sizeof *group->devices);
    /* position[device] among the group, −1 = not named */
    int total = grid_device_count(evaluation);
    int *position = memory_alloc((size_t)total * sizeof *position);
    memset(position, 0xff, (size_t)total * sizeof *position);
    for (int i = 0; i + 1 < pairs.count; i += 2) {
        const int ends[2] = {group_device(evaluation, mode, pairs.values[i]),
                             group_device(evaluation, mode, pairs.values[i + 1])};
        for (int k = 0; k < 2 && ends[0] >= 0 && ends[1] >= 0; k++) {
            if (position[ends[k]] < 0) {
                position[ends[k]] = group->count;
                group->devices[group->count++] = ends[k];
            }
        }
        if (ends[0] >= 0 && ends[1] == self) {
            *source = position[ends[0]];
        }
    }
    group->position = position[self];
    free(position);
}

/* A device that nobody sends to gets zeros. */
static struct literal *eval_permute(struct evaluation *evaluation,
                                    const struct instruction *instruction,
                                    struct operands *operands, const struct shape *shape,
                                    struct error *err)
{
    if (attr_get(instruction, ATTR_SLICE_SIZES) != NULL) {
        error_set(err, ERROR_UNIMPLEMENTED, "collective-permute in place");
        return NULL;
    }
    struct group group;
    int source;
    struct literal *result = NULL;
    permute_group(evaluation, instruction, &group, &source);
    if (group.position < 0) {
        group_finish(&group);
        return literal_zero(shape, err);
    }
    struct meeting *meeting = grid_meet(evaluation, instruction, collective_channel(instruction),
                                        group.devices, group.count, group.position, operands, err);
    group_finish(&group);
    if (meeting == NULL) {
        return NULL;
    }
    if (source < 0) {
        result = literal_zero(shape, err);
    } else if (shape_is_tuple(shape)) {
        struct literal **parts = memory_alloc((size_t)shape->count * sizeof *parts);
        for (int i = 0; i < shape->count; i++) {
            parts[i] = literal_retain(meeting_operand(meeting, source, i));
        }
        result = literal_tuple_take(shape, parts);
        free(parts);
    } else {
        result = literal_retain(meeting_operand(meeting, source, 0));
    }
    grid_leave(evaluation, meeting);
    return result;
}

/* --- the ops --- */

/* Whether the op has a meaning when some devices of its group do not exist: it has where each
 * device adds its part and none has a place of its own. XLA's CPU runs the all-reduce of a module
 * for one device whatever groups it names. */
static bool bears_absence(enum opcode opcode)
{
    switch (opcode) {
    case OP_ALL_REDUCE:
    case OP_ALL_REDUCE_START:
    case OP_ALL_GATHER:
    case OP_ALL_GATHER_START:
        return true;
    default:
        return false;
    }
}

static struct literal *eval_in_group(struct evaluation *evaluation,
                                     const struct instruction *instruction,
                                     struct operands *operands, const struct shape *shape,
                                     struct error *err)
{
    if (attr_bool(instruction, ATTR_HAS_DYNAMIC_ROOT, false)) {
        error_set(err, ERROR_UNIMPLEMENTED, "collective-broadcast from a dynamic root");
        return NULL;
    }
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
    if (group.absent && !bears_absence(instruction->opcode)) {
        error_set(err, ERROR_INVALID_ARGUMENT,
                  "a group of %s names devices that do not exist: there are %d replicas and %d "
                  "partitions",
                  instruction->name, grid_replicas(evaluation), grid_partitions(evaluation));
        group_finish(&group);
        return NULL;
    }
    struct meeting *meeting = grid_meet(evaluation, instruction, collective_channel(instruction),
                                        group.devices, group.count, group.position, operands, err);
    struct literal *result = NULL;
    if (meeting != NULL) {
        struct collective collective = {evaluation, instruction, meeting, group.position};
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
    if (shape_is_tuple(shape->elements[0])) {
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
        start = true;
        break;
    default:
        break;
    }
    if (start && (!shape_is_tuple(shape) || shape->count < 2)) {
        error_set(err, ERROR_INVALID_ARGUMENT, "the result of %s is no (operand, result, …)",
                  instruction->name);
        return NULL;
    }
    const struct shape *result_shape = start ? shape->elements[1] : shape;
    struct literal *result =
        permute ? eval_permute(evaluation, instruction, operands, result_shape, err)
                : eval_in_group(evaluation, instruction, operands, result_shape, err);
    return result != NULL && start ? start_result(instruction, operands, result, err) : result;
}
