/* bitcast: the same bytes in memory, read as another type, shape or layout.
 *
 * Literals here are row-major whatever the layout, so that a bitcast first puts the operand into
 * the order in memory that its layout describes and then reads that memory as the result's layout
 * describes it. Source: xla/layout_util.h, xla/index_util.h; docs/tiled_layout.md. */
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "interp/eval.h"
#include "interp/walk.h"

/* Bits of an element in memory: sub-byte types are packed where the layout says so. */
static int memory_bits(const struct shape *shape)
{
    return shape->layout->element_bits > 0 ? (int)shape->layout->element_bits
                                           : 8 * type_bytes(shape->type);
}

/* strides[d]: how far apart neighbours in dimension d are in untiled memory. */
static void memory_strides(const struct shape *shape, int64_t *strides)
{
    int64_t stride = 1;
    for (int i = 0; i < shape->rank; i++) {
        int64_t d = shape->layout->minor_to_major[i];
        strides[d] = stride;
        stride *= shape->dimensions[d];
    }
}

/* --- tiles --- */

/* Dimensions in memory, major to minor, and an index in them. */
struct place {
    int rank;
    int64_t sizes[4 * SHAPE_MAX_RANK], index[4 * SHAPE_MAX_RANK];
};

/* Merges the dimensions that a tile combines ("*") with the next, and returns the tile without
 * them. */
static int combine(struct place *place, const struct tile *tile, int64_t *tile_sizes)
{
    int count = 0, d = place->rank - tile->rank;
    for (int i = 0; i < tile->rank; i++) {
        if (tile->dimensions[i] != TILE_COMBINED) {
            tile_sizes[count++] = tile->dimensions[i];
            d++;
            continue;
        }
        place->index[d + 1] += place->index[d] * place->sizes[d + 1];
        place->sizes[d + 1] *= place->sizes[d];
        place->rank--;
        memmove(&place->index[d], &place->index[d + 1],
                (size_t)(place->rank - d) * sizeof *place->index);
        memmove(&place->sizes[d], &place->sizes[d + 1],
                (size_t)(place->rank - d) * sizeof *place->sizes);
    }
    return count;
}

/* The place of an element in tiled memory, padding counted; *size is the whole memory's. */
static int64_t memory_index(const struct shape *shape, const int64_t *index, int64_t *size)
{
    const struct layout *layout = shape->layout;
    struct place place = {.rank = shape->rank};
    for (int i = 0; i < shape->rank; i++) {
        int64_t d = layout->minor_to_major[shape->rank - 1 - i];
        place.sizes[i] = shape->dimensions[d];
        place.index[i] = index[d];
    }
    for (int t = 0; t < layout->tile_count; t++) {
        int64_t tile[SHAPE_MAX_RANK];
        int count = combine(&place, &layout->tiles[t], tile);
        int first = place.rank - count;
        for (int i = 0; i < count; i++) {
            int d = first + i;
            place.sizes[d + count] = tile[i];
            place.index[d + count] = place.index[d] % tile[i];
            place.sizes[d] = (place.sizes[d] + tile[i] - 1) / tile[i];
            place.index[d] /= tile[i];
        }
        place.rank += count;
    }
    int64_t at = 0;
    *size = 1;
    for (int d = 0; d < place.rank; d++) {
        at = at * place.sizes[d] + place.index[d];
        *size *= place.sizes[d];
    }
    return at;
}

static void next_index(const struct shape *shape, int64_t *index)
{
    for (int d = shape->rank - 1; d >= 0; d--) {
        if (++index[d] < shape->dimensions[d]) {
            return;
        }
        index[d] = 0;
    }
}

/* Tiles this engine can follow: as many dimensions as there are, none of them empty. */
static bool tiles_are_plain(const struct shape *shape)
{
    int rank = shape->rank;
    for (int t = 0; t < shape->layout->tile_count; t++) {
        const struct tile *tile = &shape->layout->tiles[t];
        if (tile->rank > rank || rank + tile->rank > 4 * SHAPE_MAX_RANK || tile->rank == 0 ||
            tile->rank > SHAPE_MAX_RANK || tile->dimensions[tile->rank - 1] == TILE_COMBINED) {
            return false;
        }
        for (int i = 0; i < tile->rank; i++) {
            if (tile->dimensions[i] != TILE_COMBINED) {
                if (tile->dimensions[i] <= 0) {
                    return false;
                }
                rank++;
            } else {
                rank--;
            }
        }
    }
    return true;
}

/* Through tiled memory, element by element; padding is unspecified. */
static bool copy_tiled(const struct literal *operand, const struct shape *from,
                       struct literal *result, const struct shape *to, struct error *err)
{
    int64_t index[SHAPE_MAX_RANK] = {0}, size = 0, result_size = 0;
    memory_index(from, index, &size);
    memory_index(to, index, &result_size);
    int64_t *owner = size < INT64_MAX / 16 ? malloc((size_t)(size > 0 ? size : 1) * sizeof *owner)
                                           : NULL; /* the operand's element at each place */
    if (owner == NULL) {
        return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for the tiles of %s",
                         shape_text(from));
    }
    for (int64_t i = 0; i < size; i++) {
        owner[i] = -1;
    }
    int64_t unused, count = shape_elements(from), result_count = shape_elements(to);
    for (int64_t i = 0; i < count; i++) {
        owner[memory_index(from, index, &unused)] = i;
        next_index(from, index);
    }
    int bytes = type_bytes(to->type);
    memset(index, 0, sizeof index);
    for (int64_t i = 0; i < result_count; i++) {
        int64_t at = memory_index(to, index, &unused);
        int64_t element = at < size ? owner[at] : -1;
        char *place = (char *)literal_data(result) + i * bytes;
        if (element >= 0) {
            memcpy(place, (const char *)literal_data(operand) + element * bytes, (size_t)bytes);
        } else {
            memset(place, 0, (size_t)bytes);
        }
        if (element < 0 || literal_is_unspecified(operand, element)) {
            literal_mark_unspecified(result, i);
        }
        next_index(to, index);
    }
    free(owner);
    return true;
}

/* --- packed elements --- */

/* Appends or reads `bits` bits of little-endian bit streams. */
static void put_bits(uint8_t *stream, int64_t at, int bits, uint64_t value)
{
    for (int b = 0; b < bits; b++, at++) {
        stream[at / 8] |= (uint8_t)((value >> b & 1) << (at % 8));
    }
}
static uint64_t take_bits(const uint8_t *stream, int64_t at, int bits)
{
    uint64_t value = 0;
    for (int b = 0; b < bits; b++, at++) {
        value |= (uint64_t)(stream[at / 8] >> (at % 8) & 1) << b;
    }
    return value;
}

/* From elements in memory order (one per type_bytes bytes) to such of another type. Sub-byte types
 * are extended again as the new type wants it. */
static bool repack(const struct literal *from, int from_bits, struct literal *to, int to_bits,
                   struct error *err)
{
    int64_t count = literal_elements(from), result_count = literal_elements(to);
    uint8_t *stream = calloc((size_t)(count * from_bits / 8 + 9), 1);
    if (stream == NULL) {
        return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for the bits of %s",
                         shape_text(from->shape));
    }
    for (int64_t i = 0; i < count; i++) {
        put_bits(stream, i * from_bits, from_bits, literal_get_bits(from, i));
    }
    for (int64_t i = 0; i < result_count; i++) {
        uint64_t bits = take_bits(stream, i * to_bits, to_bits);
        if (type_is_integer(to->shape->type)) {
            literal_set_int(to, i, (int64_t)bits);
        } else {
            literal_set_bits(to, i, bits);
        }
    }
    free(stream);
    return true;
}

/* --- bitcast --- */

/* A literal's elements moved from row-major order to memory order or back: a new literal of rank 1,
 * or the same one retained when nothing moves. */
static struct literal *reorder(struct literal *literal, const struct shape *shape, bool to_memory,
                               struct error *err)
{
    int64_t logical[SHAPE_MAX_RANK], memory[SHAPE_MAX_RANK];
    walk_strides(shape->rank, shape->dimensions, logical);
    memory_strides(shape, memory);
    struct walk walk;
    walk_begin(&walk);
    for (int d = 0; d < shape->rank; d++) {
        walk_add(&walk, shape->dimensions[d], to_memory ? logical[d] : memory[d],
                 to_memory ? memory[d] : logical[d]);
    }
    walk_finish(&walk);
    if (walk_is_run(&walk) || walk.points == 0) {
        return literal_retain(literal);
    }
    struct literal *moved = literal_create(shape_with_layout(shape, NULL), err);
    if (moved != NULL && !walk_literal(&walk, moved, 0, literal, 0, err)) {
        literal_release(moved);
        return NULL;
    }
    return moved;
}

/* The elements of `memory` (in memory order), as elements of another type in memory order. */
static struct literal *reinterpret(struct literal *memory, const struct shape *from,
                                   const struct shape *to, struct error *err)
{
    bool sub_byte = type_bits(from->type) < 8 || type_bits(to->type) < 8;
    bool same = from->type == to->type && memory_bits(from) == memory_bits(to);
    if (same || (!sub_byte && memory->buffer->unspecified == NULL)) {
        return literal_view(memory, shape_with_layout(to, NULL));
    }
    struct literal *result = literal_create(shape_with_layout(to, NULL), err);
    if (result == NULL) {
        return NULL;
    }
    bool ok = true;
    if (sub_byte && (memory_bits(from) > 64 || memory_bits(to) > 64)) {
        ok = error_set(err, ERROR_UNIMPLEMENTED, "bitcast between packed %s and %s",
                       shape_text(from), shape_text(to));
    } else if (sub_byte) {
        ok = repack(memory, memory_bits(from), result, memory_bits(to), err);
    } else {
        memcpy(literal_data(result), literal_data(memory), memory->buffer->size);
    }
    if (ok && literal_has_unspecified(memory)) {
        ok = literal_mark_all_unspecified(result, err);
    }
    if (!ok) {
        literal_release(result);
        return NULL;
    }
    return result;
}

struct literal *eval_bitcast(struct evaluation *evaluation, const struct instruction *instruction,
                             struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct shape *from = instruction->operands[0]->shape, *to = instruction->shape;
    if (!shape_is_array(from) || !shape_is_array(to) || from->dynamic != NULL ||
        to->dynamic != NULL) {
        error_set(err, ERROR_UNIMPLEMENTED, "bitcast from %s to %s", shape_text(from),
                  shape_text(to));
        return NULL;
    }
    bool tiled = from->layout->tile_count > 0 || to->layout->tile_count > 0;
    int64_t from_bits = shape_elements(from) * memory_bits(from);
    if (!tiled && from_bits != shape_elements(to) * memory_bits(to)) {
        error_set(err, ERROR_INVALID_ARGUMENT, "bitcast between sizes: %s to %s", shape_text(from),
                  shape_text(to));
        return NULL;
    }
    if (tiled && (from->layout != to->layout || !shape_same_dimensions(from, to))) {
        if (!tiles_are_plain(from) || !tiles_are_plain(to) || from->type != to->type) {
            error_set(err, ERROR_UNIMPLEMENTED, "bitcast between the tiles of %s and %s",
                      shape_text(from), shape_text(to));
            return NULL;
        }
        struct literal *result = literal_create(to, err);
        if (result != NULL && !copy_tiled(operands->values[0], from, result, to, err)) {
            literal_release(result);
            return NULL;
        }
        return result;
    }
    if (from->type == to->type && layout_is_default(from->layout) &&
        layout_is_default(to->layout)) {
        return literal_reshape_take(operand_pass(operands, 0), to);
    }
    struct literal *memory = reorder(operands->values[0], from, true, err);
    struct literal *cast = memory != NULL ? reinterpret(memory, from, to, err) : NULL;
    struct literal *result = cast != NULL ? reorder(cast, to, false, err) : NULL;
    literal_release(memory);
    literal_release(cast);
    return result != NULL ? literal_reshape_take(result, to) : NULL;
}
