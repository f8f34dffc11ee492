/* collective-permute. Plain: a device gets the operands of its source, zeros if nobody sends to it.
 * In place (operands input, output, input offsets, output offsets; slice_sizes): slices of the
 * source's input land in the device's output.
 * Sources: HLO operation semantics, CollectivePermute; xla/service/hlo_verifier.cc
 * (CheckInplaceCollectivePermute), xla/backends/cpu/runtime/collective_permute_thunk.cc. */
#include "interp/permute.h"

#include <stdlib.h>
#include <string.h>

#include "interp/devices.h"
#include "interp/eval.h"
#include "interp/groups.h"
#include "interp/walk.h"

/* Who takes part, and from whom this device receives. */
struct permute {
    struct group group; /* each device that a pair names, once, in the order they are named */
    int pair_count;
    int *sources; /* [pair]: the position of the sender to this device; −1: not to this one */
};

static void permute_finish(struct permute *permute)
{
    group_finish(&permute->group);
    free(permute->sources);
}

/* A pair with a device that does not exist is no pair. */
static void find_pairs(struct evaluation *evaluation, const struct instruction *instruction,
                       struct permute *permute)
{
    struct ints pairs = attr_ints(instruction, ATTR_SOURCE_TARGET_PAIRS);
    enum group_mode mode = group_mode_of(instruction);
    struct group *group = &permute->group;
    int self = grid_device(evaluation), total = grid_device_count(evaluation);
    *permute = (struct permute){.group = {.position = -1}, .pair_count = pairs.count / 2};
    group->devices = memory_alloc((size_t)pairs.count * sizeof *group->devices);
    permute->sources = memory_alloc((size_t)permute->pair_count * sizeof *permute->sources);
    int *position =
        memory_alloc((size_t)total * sizeof *position); /* in the group; −1: not in it */
    memset(position, 0xff, (size_t)total * sizeof *position);
    for (int i = 0; i < permute->pair_count; i++) {
        const int ends[2] = {group_device(evaluation, mode, pairs.values[2 * i]),
                             group_device(evaluation, mode, pairs.values[2 * i + 1])};
        bool exists = ends[0] >= 0 && ends[1] >= 0;
        for (int k = 0; exists && k < 2; k++) {
            if (position[ends[k]] < 0) {
                position[ends[k]] = group->count;
                group->devices[group->count++] = ends[k];
            }
        }
        permute->sources[i] = exists && ends[1] == self ? position[ends[0]] : -1;
    }
    group->position = position[self];
    free(position);
}

/* --- plain --- */

static struct literal *received(const struct permute *permute, const struct meeting *meeting,
                                const struct shape *shape, struct error *err)
{
    int source = -1;
    for (int i = 0; i < permute->pair_count; i++) {
        source = permute->sources[i] >= 0 ? permute->sources[i] : source;
    }
    if (source < 0) {
        return literal_zero(shape, err);
    }
    if (!shape_is_tuple(shape)) {
        return literal_retain(meeting_operand(meeting, source, 0));
    }
    struct literal **parts = memory_alloc((size_t)shape->count * sizeof *parts);
    for (int i = 0; i < shape->count; i++) {
        parts[i] = literal_retain(meeting_operand(meeting, source, i));
    }
    struct literal *result = literal_tuple_take(shape, parts);
    free(parts);
    return result;
}

/* --- in place --- */

/* One buffer of several: its arrays on both sides and the offsets of its slices. */
struct slice_arrays {
    const struct literal *input; /* of the source */
    struct literal *output;      /* own */
    const struct literal *input_offsets, *output_offsets;
};

/* The offsets of slice i: a tuple of scalars, or one of several such tuples. */
static const struct literal *slice_offsets(const struct literal *offsets, int i)
{
    bool several = offsets->shape->count > 0 && shape_is_tuple(offsets->shape->elements[0]);
    return several ? offsets->elements[i] : offsets;
}

static int slice_count(const struct shape *offsets)
{
    return offsets->count > 0 && shape_is_tuple(offsets->elements[0]) ? offsets->count : 1;
}

/* Where a slice begins, as an element; it is moved inside the array, as dynamic-slice does. */
static int64_t slice_start(const struct literal *array, const struct literal *offsets,
                           struct ints sizes, const int64_t *strides)
{
    int64_t start = 0;
    for (int d = 0; d < sizes.count; d++) {
        int64_t last = array->shape->dimensions[d] - sizes.values[d];
        int64_t offset = literal_get_int(offsets->elements[d], 0);
        start += (offset < 0 ? 0 : offset > last ? last : offset) * strides[d];
    }
    return start;
}

static bool slice_fits(const struct shape *shape, const struct literal *offsets, struct ints sizes)
{
    bool fits = shape->rank == sizes.count && offsets->shape->count == shape->rank;
    for (int d = 0; fits && d < shape->rank; d++) {
        const struct shape *offset = offsets->shape->elements[d];
        fits = sizes.values[d] >= 0 && sizes.values[d] <= shape->dimensions[d] &&
               type_is_integer(offset->type) && offset->rank == 0;
    }
    return fits;
}

static bool copy_slice(const struct instruction *instruction, const struct slice_arrays *arrays,
                       int slice, struct ints sizes, struct error *err)
{
    const struct literal *from = slice_offsets(arrays->input_offsets, slice);
    const struct literal *to = slice_offsets(arrays->output_offsets, slice);
    if (!slice_fits(arrays->input->shape, from, sizes) ||
        !slice_fits(arrays->output->shape, to, sizes)) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "slice %d of %s does not fit its arrays",
                         slice, instruction->name);
    }
    int64_t from_strides[SHAPE_MAX_RANK], to_strides[SHAPE_MAX_RANK];
    walk_strides(sizes.count, arrays->input->shape->dimensions, from_strides);
    walk_strides(sizes.count, arrays->output->shape->dimensions, to_strides);
    struct walk walk;
    walk_begin(&walk);
    for (int d = 0; d < sizes.count; d++) {
        walk_add(&walk, sizes.values[d], from_strides[d], to_strides[d]);
    }
    walk_finish(&walk);
    return walk_literal(&walk, arrays->output, slice_start(arrays->output, to, sizes, to_strides),
                        arrays->input, slice_start(arrays->input, from, sizes, from_strides), err);
}

/* Writes what comes into one buffer. With n slices a buffer, the first n-th of the pairs moves the
 * first slice, and so on: what was n permutes is one (choices.h). The offsets in the input are the
 * sender's, those in the output the receiver's. */
static bool fill_buffer(const struct instruction *instruction, const struct permute *permute,
                        const struct meeting *meeting, int number, bool is_tuple,
                        struct literal *output, struct error *err)
{
    struct lists sizes = attr_get(instruction, ATTR_SLICE_SIZES)->lists;
    const struct literal *own_offsets = meeting_operand(meeting, permute->group.position, 3);
    own_offsets = is_tuple ? own_offsets->elements[number] : own_offsets;
    int slices = slice_count(own_offsets->shape);
    int each = slices > 0 ? permute->pair_count / slices : 0;
    if (each * slices != permute->pair_count || (number + 1) * slices > sizes.count) {
        return error_set(err, ERROR_INVALID_ARGUMENT,
                         "%d slices of %s cannot be told among %d pairs and %d slice sizes", slices,
                         instruction->name, permute->pair_count, sizes.count);
    }
    for (int i = 0; i < permute->pair_count; i++) {
        int source = permute->sources[i];
        if (source < 0) {
            continue;
        }
        const struct literal *input = meeting_operand(meeting, source, 0);
        const struct literal *offsets = meeting_operand(meeting, source, 2);
        struct slice_arrays one = {is_tuple ? input->elements[number] : input, output,
                                   is_tuple ? offsets->elements[number] : offsets, own_offsets};
        if (!copy_slice(instruction, &one, i / each, sizes.lists[number * slices + i / each],
                        err)) {
            return false;
        }
    }
    return true;
}

static struct literal *filled(const struct instruction *instruction, const struct permute *permute,
                              const struct meeting *meeting, const struct literal *output,
                              struct error *err)
{
    bool is_tuple = shape_is_tuple(output->shape);
    int count = is_tuple ? output->shape->count : 1;
    struct literal **parts = memory_zalloc((size_t)count * sizeof *parts);
    bool ok = true;
    for (int i = 0; ok && i < count; i++) {
        const struct literal *whole = is_tuple ? output->elements[i] : output;
        parts[i] = literal_own_take(literal_retain(whole), err);
        ok = parts[i] != NULL &&
             fill_buffer(instruction, permute, meeting, i, is_tuple, parts[i], err);
    }
    struct literal *result = NULL;
    if (ok) {
        result = is_tuple ? literal_tuple_take(output->shape, parts) : parts[0];
    } else {
        for (int i = 0; i < count; i++) {
            literal_release(parts[i]);
        }
    }
    free(parts);
    return result;
}

struct literal *permute_values(struct evaluation *evaluation, const struct instruction *instruction,
                               struct operands *operands, const struct shape *shape,
                               struct error *err)
{
    bool in_place = attr_get(instruction, ATTR_SLICE_SIZES) != NULL;
    if (in_place && operands->count != 4) {
        error_set(err, ERROR_INVALID_ARGUMENT, "%s has slice_sizes, but %d operands",
                  instruction->name, operands->count);
        return NULL;
    }
    struct permute permute;
    find_pairs(evaluation, instruction, &permute);
    struct literal *result = NULL;
    if (permute.group.position < 0) {
        result = in_place ? literal_retain(operands->values[1]) : literal_zero(shape, err);
    } else {
        struct meeting *meeting = grid_meet(
            evaluation, instruction, collective_channel(instruction), permute.group.devices,
            permute.group.count, permute.group.position, operands, err);
        if (meeting != NULL) {
            result = in_place ? filled(instruction, &permute, meeting, operands->values[1], err)
                              : received(&permute, meeting, shape, err);
            grid_leave(evaluation, meeting);
        }
    }
    permute_finish(&permute);
    return result;
}
