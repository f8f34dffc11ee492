/* Data movement on tapes: where each element comes from, worked out beforehand. */
#include <string.h>

#include "interp/tape_internal.h"
#include "interp/walk.h"

/* --- pieces --- */

struct pieces {
    struct tape_piece list[TAPE_SMALL];
    int count;
};

/* The next element of the result comes from element `from` of the operand. */
static void add_element(struct pieces *pieces, int64_t to, int operand, int64_t from)
{
    struct tape_piece *last = pieces->count > 0 ? &pieces->list[pieces->count - 1] : NULL;
    if (last != NULL && last->operand == operand) {
        int64_t stride = last->count > 1 ? last->stride : from - last->from;
        if (from == last->from + last->count * stride) {
            last->stride = stride;
            last->count++;
            return;
        }
    }
    pieces->list[pieces->count++] = (struct tape_piece){operand, to, 1, from, 1};
}

/* Which operand and which of its elements stand at `index` of the result. */
typedef int64_t source_function(const struct instruction *instruction, const int64_t *index,
                                int *operand);

static int64_t flat_index(const struct shape *shape, const int64_t *index)
{
    int64_t flat = 0;
    for (int d = 0; d < shape->rank; d++) {
        flat = flat * shape->dimensions[d] + index[d];
    }
    return flat;
}

static int64_t broadcast_source(const struct instruction *instruction, const int64_t *index,
                                int *operand)
{
    (void)operand;
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    int64_t from[SHAPE_MAX_RANK];
    const struct shape *shape = instruction->operands[0]->shape;
    for (int d = 0; d < shape->rank; d++) {
        from[d] = shape->dimensions[d] == 1 ? 0 : index[dimensions.values[d]];
    }
    return flat_index(shape, from);
}

static int64_t transpose_source(const struct instruction *instruction, const int64_t *index,
                                int *operand)
{
    (void)operand;
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    int64_t from[SHAPE_MAX_RANK];
    for (int d = 0; d < instruction->shape->rank; d++) {
        from[dimensions.values[d]] = index[d];
    }
    return flat_index(instruction->operands[0]->shape, from);
}

static int64_t reverse_source(const struct instruction *instruction, const int64_t *index,
                              int *operand)
{
    (void)operand;
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    const struct shape *shape = instruction->shape;
    int64_t from[SHAPE_MAX_RANK];
    for (int d = 0; d < shape->rank; d++) {
        from[d] = index[d];
    }
    for (int i = 0; i < dimensions.count; i++) {
        int64_t d = dimensions.values[i];
        from[d] = shape->dimensions[d] - 1 - index[d];
    }
    return flat_index(shape, from);
}

static int64_t slice_source(const struct instruction *instruction, const int64_t *index,
                            int *operand)
{
    (void)operand;
    struct slices slices = attr_slices(instruction);
    int64_t from[SHAPE_MAX_RANK];
    for (int d = 0; d < instruction->shape->rank; d++) {
        from[d] = slices.dimensions[d].start + index[d] * slices.dimensions[d].stride;
    }
    return flat_index(instruction->operands[0]->shape, from);
}

static int64_t concatenate_source(const struct instruction *instruction, const int64_t *index,
                                  int *operand)
{
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    int64_t along = dimensions.values[0], from[SHAPE_MAX_RANK];
    for (int d = 0; d < instruction->shape->rank; d++) {
        from[d] = index[d];
    }
    while (from[along] >= instruction->operands[*operand]->shape->dimensions[along]) {
        from[along] -= instruction->operands[*operand]->shape->dimensions[along];
        ++*operand;
    }
    return flat_index(instruction->operands[*operand]->shape, from);
}

static source_function *source_of(enum opcode opcode)
{
    switch (opcode) {
    case OP_BROADCAST:
        return broadcast_source;
    case OP_TRANSPOSE:
        return transpose_source;
    case OP_REVERSE:
        return reverse_source;
    case OP_SLICE:
        return slice_source;
    case OP_CONCATENATE:
        return concatenate_source;
    default:
        return NULL;
    }
}

bool tape_moves_of(struct tape *tape, const struct instruction *instruction,
                   struct tape_moves *moves)
{
    source_function *source = source_of(instruction->opcode);
    const struct shape *shape = instruction->shape;
    if (source == NULL || !tape_is_small(shape)) {
        return false;
    }
    for (int k = 0; k < instruction->operand_count; k++) {
        const struct shape *operand = instruction->operands[k]->shape;
        if (!shape_is_array(operand) || operand->type != shape->type) {
            return false;
        }
    }
    struct pieces pieces = {.count = 0};
    int64_t index[SHAPE_MAX_RANK] = {0}, elements = shape_elements(shape);
    for (int64_t i = 0; i < elements; i++) {
        int operand = 0;
        int64_t from = source(instruction, index, &operand);
        add_element(&pieces, i, operand, from);
        for (int d = shape->rank - 1; d >= 0 && ++index[d] == shape->dimensions[d]; d--) {
            index[d] = 0;
        }
    }
    moves->count = pieces.count;
    moves->bytes = type_bytes(shape->type);
    moves->pieces =
        arena_copy(&tape->arena, pieces.list, (size_t)pieces.count * sizeof *moves->pieces);
    return true;
}

/* Movements as lane functions: code[0] is where the piece begins, in bytes. */

static void move_4(const struct lane_step *step, void *out, const void *const *in, int64_t count)
{
    (void)count;
    memcpy(out, (const char *)in[0] + step->code[0], 4);
}

static void move_run(const struct lane_step *step, void *out, const void *const *in, int64_t count)
{
    memcpy(out, (const char *)in[0] + step->code[0], (size_t)(count * step->code[1]));
}

static void fill_4(const struct lane_step *step, void *out, const void *const *in, int64_t count)
{
    uint32_t element;
    memcpy(&element, (const char *)in[0] + step->code[0], sizeof element);
    for (int64_t i = 0; i < count; i++) {
        memcpy((char *)out + 4 * i, &element, sizeof element);
    }
}

bool tape_moves_function(const struct tape_moves *moves, int *operand, lane_function **function,
                         struct lane_step *step)
{
    const struct tape_piece *piece = moves->pieces;
    if (moves->count != 1 || piece->from > INT32_MAX / LANE_MAX_BYTES ||
        (piece->stride != 1 && (piece->stride != 0 || moves->bytes != 4))) {
        return false;
    }
    *step = (struct lane_step){.code = {(int)piece->from * moves->bytes, moves->bytes}};
    *operand = piece->operand;
    *function = piece->stride == 0 ? fill_4 : piece->count * moves->bytes == 4 ? move_4 : move_run;
    return true;
}

/* --- windows --- */

bool tape_window_of(struct tape *tape, const struct instruction *instruction,
                    struct tape_window *window)
{
    bool update = instruction->opcode == OP_DYNAMIC_UPDATE_SLICE;
    const struct shape *base = instruction->operands[0]->shape;
    const struct shape *part = update ? instruction->operands[1]->shape : instruction->shape;
    int first = update ? 2 : 1, rank = base->rank;
    if ((!update && instruction->opcode != OP_DYNAMIC_SLICE) || !tape_is_small(part) ||
        part->rank != rank || part->type != base->type || instruction->shape->type != base->type) {
        return false;
    }
    *window = (struct tape_window){.first = first, .rank = rank, .bytes = type_bytes(base->type)};
    if (rank > 0) {
        if (first >= instruction->operand_count) {
            return false;
        }
        const struct shape *index = instruction->operands[first]->shape;
        window->array = index->rank == 1;
        window->index_type = index->type;
        int given = window->array ? 1 : rank;
        for (int k = first; k < first + given; k++) {
            const struct shape *other =
                k < instruction->operand_count ? instruction->operands[k]->shape : NULL;
            if (other == NULL || other->type != index->type || !type_is_integer(other->type) ||
                shape_elements(other) != (window->array ? rank : 1)) {
                return false;
            }
        }
    }
    int64_t *most = arena_array(&tape->arena, (size_t)rank + 1, sizeof *most);
    int64_t *strides = arena_array(&tape->arena, (size_t)rank + 1, sizeof *strides);
    walk_strides(rank, base->dimensions, strides);
    window->run = 1;
    window->outer = rank;
    /* Dimensions that are whole, and one more, are one run. */
    for (bool whole = true; window->outer > 0 && whole;) {
        int d = --window->outer;
        window->run *= part->dimensions[d];
        whole = part->dimensions[d] == base->dimensions[d];
    }
    for (int d = 0; d < rank; d++) {
        most[d] = base->dimensions[d] - part->dimensions[d];
        if (most[d] < 0) {
            return false;
        }
    }
    window->most = most;
    window->strides = strides;
    window->sizes = part->dimensions;
    return true;
}
