/* bitcast: the same bytes in memory, read as another type, shape or layout.
 *
 * Literals here are row-major whatever the layout, so that a bitcast first puts the operand into
 * the order in memory that its layout describes and then reads that memory as the result's layout
 * describes it. Source: xla/layout_util.h, xla/index_util.h; docs/tiled_layout.md. */
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "interp/dynamic.h"
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

/* Dimensions that the first tile has beyond those of the shape: they are major ones of size 1, as
 * in u32[]{:T(128)}, one element in a tile of 128. */
static int missing_dimensions(const struct shape *shape)
{
    int rank = shape->layout->tile_count > 0 ? shape->layout->tiles[0].rank : 0;
    return rank > shape->rank ? rank - shape->rank : 0;
}

/* The place of an element in tiled memory, padding counted; *size is the whole memory's. */
static int64_t memory_index(const struct shape *shape, const int64_t *index, int64_t *size)
{
    const struct layout *layout = shape->layout;
    int missing = missing_dimensions(shape);
    struct place place = {.rank = shape->rank + missing};
    for (int i = 0; i < missing; i++) {
        place.sizes[i] = 1;
    }
    for (int i = 0; i < shape->rank; i++) {
        int64_t d = layout->minor_to_major[shape->rank - 1 - i];
        place.sizes[missing + i] = shape->dimensions[d];
        place.index[missing + i] = index[d];
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
    int rank = shape->rank + missing_dimensions(shape);
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

/* --- memory --- */

/* The memory of an array: its bits, and which of them are known (padding is not). */
struct image {
    int64_t bits;
    uint8_t *data, *known;
};

static bool image_create(int64_t bits, struct image *image, struct error *err)
{
    size_t bytes = (size_t)(bits / 8 + 9);
    *image = (struct image){bits, calloc(bytes, 1), calloc(bytes, 1)};
    return (image->data != NULL && image->known != NULL) ||
           error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for a bitcast of %lld bits",
                     (long long)bits);
}

static void image_finish(struct image *image)
{
    free(image->data);
    free(image->known);
}

/* Writes or reads up to 64 bits of a little-endian bit stream. */
static void put_bits(uint8_t *stream, int64_t at, int bits, uint64_t value)
{
    if (at % 8 == 0 && bits % 8 == 0) {
        memcpy(stream + at / 8, &value, (size_t)bits / 8);
        return;
    }
    for (int b = 0; b < bits; b++, at++) {
        stream[at / 8] |= (uint8_t)((value >> b & 1) << (at % 8));
    }
}
static uint64_t take_bits(const uint8_t *stream, int64_t at, int bits)
{
    uint64_t value = 0;
    if (at % 8 == 0 && bits % 8 == 0) {
        memcpy(&value, stream + at / 8, (size_t)bits / 8);
        return value;
    }
    for (int b = 0; b < bits; b++, at++) {
        value |= (uint64_t)(stream[at / 8] >> (at % 8) & 1) << b;
    }
    return value;
}

/* Element i between a literal and place `at` of memory. Elements of 128 bits are two of 64. */
static void put_element(const struct literal *from, int64_t i, int bits, int64_t at,
                        struct image *image)
{
    uint64_t known = literal_is_unspecified(from, i) ? 0 : UINT64_MAX;
    for (int part = 0; part < bits; part += 64) {
        int width = bits - part < 64 ? bits - part : 64;
        uint64_t value = bits > 64 ? ((const uint64_t *)literal_data(from))[2 * i + part / 64]
                                   : literal_get_bits(from, i);
        put_bits(image->data, at * bits + part, width, value);
        put_bits(image->known, at * bits + part, width, known >> (64 - width));
    }
}
static void take_element(const struct image *image, int64_t at, int bits, struct literal *to,
                         int64_t i)
{
    uint64_t parts[2] = {0};
    bool known = (at + 1) * bits <= image->bits;
    for (int part = 0; part < bits && known; part += 64) {
        int width = bits - part < 64 ? bits - part : 64;
        uint64_t all = UINT64_MAX >> (64 - width);
        parts[part / 64] = take_bits(image->data, at * bits + part, width);
        known = take_bits(image->known, at * bits + part, width) == all;
    }
    if (bits > 64) {
        memcpy((char *)literal_data(to) + 16 * i, parts, sizeof parts);
    } else if (type_is_integer(to->shape->type)) {
        literal_set_int(to, i, (int64_t)parts[0]);
    } else {
        literal_set_bits(to, i, parts[0]);
    }
    if (!known) {
        literal_mark_unspecified(to, i);
    }
}

/* The place of an element in tiled memory is a sum over its dimensions, as long as no tile combines
 * some: offsets[d][i] is what index i in dimension d adds. NULL: combined, or no memory. */
struct places {
    int64_t *offsets[SHAPE_MAX_RANK];
    int64_t *memory;
};

static bool has_combined_tiles(const struct shape *shape)
{
    for (int t = 0; t < shape->layout->tile_count; t++) {
        const struct tile *tile = &shape->layout->tiles[t];
        for (int i = 0; i < tile->rank; i++) {
            if (tile->dimensions[i] == TILE_COMBINED) {
                return true;
            }
        }
    }
    return false;
}

static void places_init(const struct shape *shape, struct places *places)
{
    int64_t total = 1, unused;
    for (int d = 0; d < shape->rank; d++) {
        total += shape->dimensions[d];
    }
    places->memory =
        has_combined_tiles(shape) ? NULL : calloc((size_t)total, sizeof *places->memory);
    int64_t *at = places->memory, index[SHAPE_MAX_RANK] = {0};
    for (int d = 0; at != NULL && d < shape->rank; d++) {
        places->offsets[d] = at;
        for (int64_t i = 0; i < shape->dimensions[d]; i++) {
            index[d] = i;
            *at++ = memory_index(shape, index, &unused);
        }
        index[d] = 0;
    }
}

static int64_t place_of(const struct shape *shape, const struct places *places,
                        const int64_t *index)
{
    int64_t at = 0, unused;
    if (places->memory == NULL) {
        return memory_index(shape, index, &unused);
    }
    for (int d = 0; d < shape->rank; d++) {
        at += places->offsets[d][index[d]];
    }
    return at;
}

/* Through memory, element by element. */
static bool copy_through(const struct literal *operand, const struct shape *from,
                         struct literal *result, const struct shape *to, struct error *err)
{
    int64_t index[SHAPE_MAX_RANK] = {0}, size = 0, result_size = 0;
    int from_bits = memory_bits(from), to_bits = memory_bits(to);
    memory_index(from, index, &size);
    memory_index(to, index, &result_size);
    if (size > INT64_MAX / 256 || result_size > INT64_MAX / 256) {
        return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for the tiles of %s",
                         shape_text(from));
    }
    struct image image;
    bool ok = image_create(size * from_bits, &image, err);
    int64_t count = ok ? shape_elements(from) : 0, result_count = ok ? shape_elements(to) : 0;
    struct places from_places, to_places;
    places_init(from, &from_places);
    places_init(to, &to_places);
    for (int64_t i = 0; i < count; i++) {
        put_element(operand, i, from_bits, place_of(from, &from_places, index), &image);
        next_index(from, index);
    }
    memset(index, 0, sizeof index);
    for (int64_t i = 0; i < result_count; i++) {
        take_element(&image, place_of(to, &to_places, index), to_bits, result, i);
        next_index(to, index);
    }
    free(from_places.memory);
    free(to_places.memory);
    image_finish(&image);
    return ok;
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

/* Whole bytes in memory as they are here. */
static bool is_bytes(const struct shape *shape)
{
    return type_bits(shape->type) >= 8 && memory_bits(shape) == 8 * type_bytes(shape->type);
}

/* Sizes of the dimensions in memory, major to minor: the tile's own in *last and before, all the
 * others multiplied. */
static int64_t major_size(const struct shape *shape, int tile_rank, int64_t *last)
{
    int64_t major = 1;
    for (int i = 0; i < tile_rank; i++) {
        last[i] = 1;
    }
    for (int i = 0; i < shape->rank; i++) {
        int64_t size = shape->dimensions[shape->layout->minor_to_major[i]];
        if (i < tile_rank) {
            last[tile_rank - 1 - i] = size;
        } else {
            major *= size;
        }
    }
    return major;
}

/* The same tiles cover the same sizes, so that what they do to the order of elements is the same on
 * both sides. The major dimension of a tile may be joined to those before it, or parted from them,
 * where tiles fill it: [4,8,128] and [32,128] in T(8,128). Later tiles must lie within the first.
 */
static bool tiles_agree(const struct shape *from, const struct shape *to)
{
    const struct layout *a = from->layout, *b = to->layout;
    if (a->tile_count != b->tile_count || has_combined_tiles(from) || has_combined_tiles(to)) {
        return false;
    }
    if (a->tile_count == 0) {
        return true;
    }
    int rank = a->tiles[0].rank, inner = rank;
    if (rank == 0 || rank > SHAPE_MAX_RANK || type_bits(from->type) != type_bits(to->type)) {
        return false;
    }
    for (int t = 0; t < a->tile_count; t++) {
        const struct tile *left = &a->tiles[t], *right = &b->tiles[t];
        if (left->rank != right->rank || (t > 0 && left->rank > inner) ||
            memcmp(left->dimensions, right->dimensions,
                   (size_t)left->rank * sizeof *left->dimensions) != 0) {
            return false;
        }
        inner += t > 0 ? left->rank : 0;
    }
    int64_t last[SHAPE_MAX_RANK], other[SHAPE_MAX_RANK], tile = a->tiles[0].dimensions[0];
    int64_t major = major_size(from, rank, last), other_major = major_size(to, rank, other);
    return memcmp(last + 1, other + 1, (size_t)(rank - 1) * sizeof *last) == 0 &&
           major * last[0] == other_major * other[0] &&
           (last[0] == other[0] || (tile > 0 && last[0] % tile == 0 && other[0] % tile == 0));
}

/* No more than the order of dimensions changes; elements keep their bits, or are bytes that are
 * read as elements of another type. */
static bool is_reordering(const struct literal *operand, const struct shape *from,
                          const struct shape *to)
{
    bool same = from->type == to->type && memory_bits(from) == memory_bits(to);
    return (same || (is_bytes(from) && is_bytes(to) && !literal_has_unspecified(operand))) &&
           tiles_agree(from, to);
}

/* Sizes of a dynamic result: dimensions but those of size 1 are the same, in order. */
static bool matched_sizes(const struct literal *operand, const struct shape *to, int64_t *sizes)
{
    const struct shape *from = operand->shape;
    int f = 0;
    for (int t = 0; t < to->rank; t++) {
        sizes[t] = to->dimensions[t];
        if (to->dimensions[t] == 1 && !shape_dimension_is_dynamic(to, t)) {
            continue;
        }
        while (f < from->rank && from->dimensions[f] == 1 && !shape_dimension_is_dynamic(from, f)) {
            f++;
        }
        if (f == from->rank || from->dimensions[f] != to->dimensions[t]) {
            return false;
        }
        sizes[t] = dynamic_size(operand, f++);
    }
    for (; f < from->rank; f++) {
        if (from->dimensions[f] != 1) {
            return false;
        }
    }
    return true;
}

/* Neither shape is dynamic. */
static struct literal *bitcast(struct literal *operand, const struct shape *from,
                               const struct shape *to, struct error *err)
{
    bool tiled = from->layout->tile_count > 0 || to->layout->tile_count > 0;
    if (!tiled &&
        shape_elements(from) * memory_bits(from) != shape_elements(to) * memory_bits(to)) {
        error_set(err, ERROR_UNIMPLEMENTED, "bitcast between sizes: %s to %s", shape_text(from),
                  shape_text(to));
        return NULL;
    }
    if (!is_reordering(operand, from, to)) {
        if (!tiles_are_plain(from) || !tiles_are_plain(to)) {
            error_set(err, ERROR_UNIMPLEMENTED, "bitcast between the tiles of %s and %s",
                      shape_text(from), shape_text(to));
            return NULL;
        }
        struct literal *result = literal_create(to, err);
        if (result != NULL && !copy_through(operand, from, result, to, err)) {
            literal_release(result);
            return NULL;
        }
        return result;
    }
    struct literal *memory = reorder(operand, from, true, err);
    struct literal *view =
        memory != NULL ? literal_view(memory, shape_with_layout(to, NULL)) : NULL;
    struct literal *result = view != NULL ? reorder(view, to, false, err) : NULL;
    literal_release(memory);
    literal_release(view);
    return result != NULL ? literal_reshape_take(result, to) : NULL;
}

/* A dynamic array stays where it is in memory; its sizes go with its dimensions. */
static struct literal *bitcast_dynamic(const struct literal *operand, const struct shape *from,
                                       const struct shape *to, struct error *err)
{
    int64_t sizes[SHAPE_MAX_RANK];
    if (!matched_sizes(operand, to, sizes)) {
        error_set(err, ERROR_UNIMPLEMENTED,
                  "bitcast between dynamic dimensions that differ: %s to %s", shape_text(from),
                  shape_text(to));
        return NULL;
    }
    struct literal *whole = literal_view(operand, shape_static(from));
    struct literal *moved =
        whole != NULL ? bitcast(whole, shape_static(from), shape_static(to), err) : NULL;
    literal_release(whole);
    struct literal *result = moved != NULL ? literal_view(moved, to) : NULL;
    literal_release(moved);
    result = result != NULL ? literal_own_take(result, err) : NULL;
    if (result != NULL && !dynamic_set_sizes(result, sizes, err)) {
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
    if (from == to) {
        return operand_pass(operands, 0);
    }
    if (!shape_is_array(from) || !shape_is_array(to)) {
        error_set(err, ERROR_UNIMPLEMENTED, "bitcast of what is no array: %s to %s",
                  shape_text(from), shape_text(to));
        return NULL;
    }
    if (from->dynamic != NULL || to->dynamic != NULL) {
        return bitcast_dynamic(operands->values[0], from, to, err);
    }
    if (from->type == to->type && layout_is_default(from->layout) &&
        layout_is_default(to->layout) && shape_elements(from) == shape_elements(to)) {
        return literal_reshape_take(operand_pass(operands, 0), to);
    }
    return bitcast(operands->values[0], from, to, err);
}
