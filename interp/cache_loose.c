/* Ops that do the same to the elements of an operand whatever dimensions these are given: reshapes
 * move through them, and compilers regroup their dimensions. */
#include <string.h>

#include "hlo/attr.h"
#include "interp/cache.h"

/* A dimension, or several that go together. source: the operand's, −1 for none. */
struct piece {
    int64_t size;
    int source;
};

struct pieces {
    int count;
    struct piece list[SHAPE_MAX_RANK];
};

static bool is_static_array(const struct shape *shape)
{
    return shape_is_array(shape) && shape->dynamic == NULL;
}

/* Adds one; dimensions of one element are nothing. */
static void add_piece(struct pieces *pieces, int64_t size, int source)
{
    if (size != 1) {
        pieces->list[pieces->count++] = (struct piece){size, source};
    }
}

/* Counts the sources that are there from 0, so that neighbours differ by one. */
static void number_sources(struct pieces *pieces)
{
    int numbers[SHAPE_MAX_RANK];
    for (int i = 0; i < pieces->count; i++) {
        numbers[i] = pieces->list[i].source < 0 ? -1 : 0;
        for (int j = 0; j < pieces->count && numbers[i] >= 0; j++) {
            int other = pieces->list[j].source;
            numbers[i] += other >= 0 && other < pieces->list[i].source;
        }
    }
    for (int i = 0; i < pieces->count; i++) {
        pieces->list[i].source = numbers[i];
    }
}

/* Joins neighbours that are neighbours in the operand too, or in it not at all. */
static void join(struct pieces *pieces)
{
    int count = 0, last = 0;
    number_sources(pieces);
    for (int i = 0; i < pieces->count; i++) {
        struct piece piece = pieces->list[i];
        bool joined =
            count > 0 && (piece.source < 0 ? last < 0 : last + 1 == piece.source && last >= 0);
        last = piece.source;
        if (joined) {
            pieces->list[count - 1].size *= piece.size;
        } else {
            pieces->list[count++] = piece;
        }
    }
    pieces->count = count;
    number_sources(pieces);
}

static void broadcast_pieces(const struct instruction *instruction, struct pieces *pieces)
{
    const struct shape *shape = instruction->shape;
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    for (int d = 0; d < shape->rank; d++) {
        int source = -1;
        for (int k = 0; k < dimensions.count; k++) {
            source = dimensions.values[k] == d ? k : source;
        }
        add_piece(pieces, shape->dimensions[d], source);
    }
    join(pieces);
}

static void transpose_pieces(const struct instruction *instruction, struct pieces *pieces)
{
    struct ints permutation = attr_ints(instruction, ATTR_DIMENSIONS);
    for (int d = 0; d < permutation.count; d++) {
        add_piece(pieces, instruction->shape->dimensions[d], (int)permutation.values[d]);
    }
    join(pieces);
}

static bool is_plain_layout(const struct shape *shape)
{
    const struct layout *layout = shape->layout;
    return layout_is_default(layout) ||
           (layout->rank == shape->rank && layout->tile_count == 0 && layout->element_bits <= 0 &&
            layout->tail_padding_alignment <= 1);
}

/* A bitcast of which one side lies in memory as it is counted: a transpose. */
static bool bitcast_pieces(const struct instruction *instruction, struct pieces *pieces)
{
    const struct shape *from = instruction->operands[0]->shape, *to = instruction->shape;
    if (from->type != to->type || shape_elements(from) != shape_elements(to) ||
        !is_plain_layout(from) || !is_plain_layout(to)) {
        return false;
    }
    if (layout_is_default(to->layout) && !layout_is_default(from->layout)) {
        for (int i = from->rank; i-- > 0;) {
            int dimension = (int)from->layout->minor_to_major[i];
            add_piece(pieces, from->dimensions[dimension], dimension);
        }
    } else if (layout_is_default(from->layout) && !layout_is_default(to->layout)) {
        for (int d = 0; d < to->rank; d++) {
            int place = 0; /* in memory, from major to minor */
            while (to->layout->minor_to_major[to->rank - 1 - place] != d) {
                place++;
            }
            add_piece(pieces, to->dimensions[d], place);
        }
    } else {
        return false;
    }
    join(pieces);
    return true;
}

/* Of the operand: which are kept, and which not. In row-major order either way. */
static void reduce_pieces(const struct instruction *instruction, struct pieces *pieces)
{
    const struct shape *shape = instruction->operands[0]->shape;
    struct ints reduced = attr_ints(instruction, ATTR_DIMENSIONS);
    for (int d = 0; d < shape->rank; d++) {
        bool is_reduced = false;
        for (int k = 0; k < reduced.count; k++) {
            is_reduced = is_reduced || reduced.values[k] == d;
        }
        add_piece(pieces, shape->dimensions[d], is_reduced ? -1 : d);
    }
    int count = 0;
    for (int i = 0; i < pieces->count; i++) {
        struct piece piece = pieces->list[i];
        piece.source = piece.source < 0 ? -1 : 0;
        if (count > 0 && pieces->list[count - 1].source == piece.source) {
            pieces->list[count - 1].size *= piece.size;
        } else {
            pieces->list[count++] = piece;
        }
    }
    pieces->count = count;
}

bool loose_begin(const struct instruction *instruction, struct key *key)
{
    struct pieces pieces = {0};
    enum opcode opcode = instruction->opcode;
    if (!is_static_array(instruction->shape)) {
        return false;
    }
    for (int k = 0; k < instruction->operand_count; k++) {
        if (!is_static_array(instruction->operands[k]->shape)) {
            return false;
        }
    }
    switch (opcode) {
    case OP_BROADCAST:
        broadcast_pieces(instruction, &pieces);
        break;
    case OP_TRANSPOSE:
        transpose_pieces(instruction, &pieces);
        break;
    case OP_BITCAST:
        opcode = OP_TRANSPOSE;
        if (!bitcast_pieces(instruction, &pieces)) {
            return false;
        }
        break;
    case OP_REDUCE:
        if (instruction->operand_count != 2) {
            return false;
        }
        reduce_pieces(instruction, &pieces);
        break;
    default:
        return false;
    }
    *key = key_begin(7);
    key_add(key, (uint64_t)opcode);
    key_add(key, (uint64_t)instruction->shape->type);
    key_add(key, (uint64_t)pieces.count);
    for (int i = 0; i < pieces.count; i++) {
        key_add(key, (uint64_t)pieces.list[i].size);
        key_add(key, (uint64_t)(pieces.list[i].source + 1));
    }
    return true;
}
