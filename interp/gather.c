/* gather: many windows of one size from run-time places.
 *
 * The indices are looked at as an array of `batch` dimensions times one vector of start indices.
 * Each vector, clamped so that the window lies inside, says where a window begins; the windows'
 * dimensions go to offset_dims of the result (collapsed and batching ones have size 1 and vanish),
 * the batch dimensions to the others, in order. Operand batching dimensions move along with the
 * batch dimension that start_indices_batching_dims pairs them with.
 * Source: HLO operation semantics, Gather; StableHLO specification, gather. */
#include <string.h>

#include "interp/eval.h"
#include "interp/poll.h"
#include "interp/walk.h"

struct gather {
    const struct literal *operand, *indices;
    struct literal *result;
    struct walk window; /* finished: one window from its start to its place */
    int bytes;
    /* the batch dimensions of the indices */
    int batch_rank;
    int64_t batch_sizes[SHAPE_MAX_RANK];
    int64_t index_strides[SHAPE_MAX_RANK];  /* in the indices */
    int64_t result_strides[SHAPE_MAX_RANK]; /* in the result */
    int64_t batch_source[SHAPE_MAX_RANK];   /* in the operand: batching dimensions */
    int64_t batches;
    /* the start vectors */
    int vector_size;
    int64_t vector_stride;
    int64_t vector_most[SHAPE_MAX_RANK]; /* the greatest start that is inside */
    int64_t vector_source[SHAPE_MAX_RANK];
};

static bool contains(struct ints ints, int64_t value)
{
    for (int i = 0; i < ints.count; i++) {
        if (ints.values[i] == value) {
            return true;
        }
    }
    return false;
}

/* Dimensions of the window, in order, to offset_dims. */
static void describe_window(struct gather *gather, const struct instruction *instruction,
                            const int64_t *operand_strides, const int64_t *result_strides)
{
    struct ints slice_sizes = attr_ints(instruction, ATTR_SLICE_SIZES);
    struct ints offset_dims = attr_ints(instruction, ATTR_OFFSET_DIMS);
    struct ints collapsed = attr_ints(instruction, ATTR_COLLAPSED_SLICE_DIMS);
    struct ints batching = attr_ints(instruction, ATTR_OPERAND_BATCHING_DIMS);
    walk_begin(&gather->window);
    int offset = 0;
    for (int d = 0; d < gather->operand->shape->rank; d++) {
        if (!contains(collapsed, d) && !contains(batching, d)) {
            walk_add(&gather->window, slice_sizes.values[d], operand_strides[d],
                     result_strides[offset_dims.values[offset++]]);
        }
    }
    walk_finish(&gather->window);
}

static void describe_batches(struct gather *gather, const struct instruction *instruction,
                             int vector_dim, const int64_t *operand_strides,
                             const int64_t *index_strides, const int64_t *result_strides)
{
    struct ints offset_dims = attr_ints(instruction, ATTR_OFFSET_DIMS);
    struct ints operand_batching = attr_ints(instruction, ATTR_OPERAND_BATCHING_DIMS);
    struct ints index_batching = attr_ints(instruction, ATTR_START_INDICES_BATCHING_DIMS);
    const struct shape *indices = gather->indices->shape;
    int result_dim = 0;
    gather->batches = 1;
    for (int d = 0; d < indices->rank; d++) {
        if (d == vector_dim) {
            continue;
        }
        while (contains(offset_dims, result_dim)) {
            result_dim++;
        }
        int b = gather->batch_rank++;
        gather->batch_sizes[b] = indices->dimensions[d];
        gather->batches *= indices->dimensions[d];
        gather->index_strides[b] = index_strides[d];
        gather->result_strides[b] = result_strides[result_dim++];
        gather->batch_source[b] = 0;
        for (int i = 0; i < index_batching.count; i++) {
            if (index_batching.values[i] == d) {
                gather->batch_source[b] = operand_strides[operand_batching.values[i]];
            }
        }
    }
}

static void describe_vectors(struct gather *gather, const struct instruction *instruction,
                             int vector_dim, const int64_t *operand_strides,
                             const int64_t *index_strides)
{
    struct ints slice_sizes = attr_ints(instruction, ATTR_SLICE_SIZES);
    struct ints start_index_map = attr_ints(instruction, ATTR_START_INDEX_MAP);
    gather->vector_size = start_index_map.count;
    gather->vector_stride =
        vector_dim < gather->indices->shape->rank ? index_strides[vector_dim] : 0;
    for (int i = 0; i < gather->vector_size; i++) {
        int64_t d = start_index_map.values[i];
        gather->vector_most[i] = gather->operand->shape->dimensions[d] - slice_sizes.values[d];
        gather->vector_source[i] = operand_strides[d];
    }
}

/* Where batch number `batch` has its start vector, its window's place, and its batching offset. */
struct place {
    int64_t index, result, source;
};

static struct place batch_place(const struct gather *gather, int64_t batch)
{
    struct place place = {0, 0, 0};
    for (int b = gather->batch_rank - 1; b >= 0; b--) {
        int64_t i = batch % gather->batch_sizes[b];
        batch /= gather->batch_sizes[b];
        place.index += i * gather->index_strides[b];
        place.result += i * gather->result_strides[b];
        place.source += i * gather->batch_source[b];
    }
    return place;
}

/* The operand's element where the window with the start vector at `index` begins. */
static int64_t window_start(const struct gather *gather, int64_t index)
{
    bool is_unsigned = type_kind(gather->indices->shape->type) == KIND_UNSIGNED;
    int64_t source = 0;
    for (int i = 0; i < gather->vector_size; i++) {
        int64_t start = literal_get_int(gather->indices, index + i * gather->vector_stride);
        int64_t most = gather->vector_most[i];
        if (start < 0) {
            start = is_unsigned ? most : 0;
        } else if (start > most) {
            start = most;
        }
        source += start * gather->vector_source[i];
    }
    return source;
}

static void gather_batches(void *context, int64_t begin, int64_t end)
{
    const struct gather *gather = context;
    const char *operand = literal_data(gather->operand);
    char *result = literal_data(gather->result);
    int bytes = gather->bytes;
    int64_t run = walk_is_run(&gather->window) ? gather->window.points * bytes : 0;
    for (int64_t batch = begin; batch < end; batch++) {
        struct place place = batch_place(gather, batch);
        int64_t source = place.source + window_start(gather, place.index);
        const char *from = operand + source * bytes;
        char *to = result + place.result * bytes;
        if (run == 4) {
            memcpy(to, from, 4);
        } else if (run > 0) {
            memcpy(to, from, (size_t)run);
        } else {
            walk_copy_serial(&gather->window, to, from, bytes);
        }
    }
}

/* Marks: those of the operand move along; an unspecified index makes its window unspecified. */
static bool gather_marks(const struct gather *gather, struct error *err)
{
    const uint8_t *marks = gather->operand->buffer->unspecified;
    if (marks == NULL && gather->indices->buffer->unspecified == NULL) {
        return true;
    }
    if (!literal_mark_all_unspecified(gather->result, err)) {
        return false;
    }
    for (int64_t batch = 0; batch < gather->batches; batch++) {
        struct place place = batch_place(gather, batch);
        bool specified = true;
        for (int i = 0; i < gather->vector_size; i++) {
            specified &=
                !literal_is_unspecified(gather->indices, place.index + i * gather->vector_stride);
        }
        if (specified) {
            walk_copy_bits(&gather->window, gather->result->buffer->unspecified, place.result,
                           marks, place.source + window_start(gather, place.index));
        }
    }
    return true;
}

struct literal *eval_gather(struct evaluation *evaluation, const struct instruction *instruction,
                            struct operands *operands, struct error *err)
{
    (void)evaluation;
    struct gather gather = {.operand = operands->values[0], .indices = operands->values[1]};
    const struct shape *operand = gather.operand->shape, *indices = gather.indices->shape;
    const struct shape *shape = instruction->shape;
    int64_t operand_strides[SHAPE_MAX_RANK], index_strides[SHAPE_MAX_RANK];
    int64_t result_strides[SHAPE_MAX_RANK];
    walk_strides(operand->rank, operand->dimensions, operand_strides);
    walk_strides(indices->rank, indices->dimensions, index_strides);
    walk_strides(shape->rank, shape->dimensions, result_strides);
    int vector_dim = (int)attr_int(instruction, ATTR_INDEX_VECTOR_DIM, indices->rank);
    describe_window(&gather, instruction, operand_strides, result_strides);
    describe_batches(&gather, instruction, vector_dim, operand_strides, index_strides,
                     result_strides);
    describe_vectors(&gather, instruction, vector_dim, operand_strides, index_strides);
    gather.bytes = type_bytes(shape->type);
    gather.result = literal_create(shape, err);
    if (gather.result == NULL || gather.window.points == 0) {
        return gather.result;
    }
    enum { WORK = 16 << 10 }; /* bytes worth a thread */
    poll_for(gather.batches, WORK / (gather.window.points * gather.bytes + 8), gather_batches,
             &gather);
    if (!gather_marks(&gather, err)) {
        literal_release(gather.result);
        return NULL;
    }
    return gather.result;
}
