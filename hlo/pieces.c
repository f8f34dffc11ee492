/* Values in pieces: a device's tile of a literal, and the literal again from all tiles
 * (sharding.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "hlo/sharding.h"

/* --- runs: the contiguous parts that a tile and the whole array share --- */

struct run {
    int64_t whole, piece; /* first element in each */
    int64_t length;       /* elements */
};

struct runs {
    int rank; /* dimensions that are counted; those after them are in one run */
    int64_t at[SHAPE_MAX_RANK], box[SHAPE_MAX_RANK];
    int64_t whole_stride[SHAPE_MAX_RANK], piece_stride[SHAPE_MAX_RANK];
    int64_t left; /* runs still to come */
    struct run next;
};

static void runs_init(struct runs *runs, const struct tiling *tiling, int device)
{
    const int64_t *whole = tiling->shape->dimensions;
    const int64_t *tile = tiling_tile_shape(tiling)->dimensions;
    int64_t offset[SHAPE_MAX_RANK], limit[SHAPE_MAX_RANK];
    int64_t whole_stride = 1, piece_stride = 1;
    tiling_box(tiling, device, offset, limit);
    memset(runs, 0, sizeof *runs);
    runs->rank = tiling->rank;
    runs->left = 1;
    runs->next.length = 1;
    bool dense = true; /* what follows is whole on both sides */
    for (int i = tiling->rank - 1; i >= 0; i--) {
        int64_t size = limit[i] - offset[i];
        runs->next.whole += offset[i] * whole_stride;
        if (dense) {
            runs->next.length *= size;
            runs->rank = i;
            dense = size == whole[i] && size == tile[i];
        } else {
            runs->box[i] = size;
            runs->whole_stride[i] = whole_stride;
            runs->piece_stride[i] = piece_stride;
            runs->left *= size;
        }
        whole_stride *= whole[i];
        piece_stride *= tile[i];
    }
    if (runs->next.length == 0) {
        runs->left = 0;
    }
}

static bool runs_next(struct runs *runs, struct run *run)
{
    if (runs->left == 0) {
        return false;
    }
    *run = runs->next;
    runs->left--;
    for (int i = runs->rank - 1; i >= 0; i--) {
        runs->next.whole += runs->whole_stride[i];
        runs->next.piece += runs->piece_stride[i];
        if (++runs->at[i] < runs->box[i]) {
            break;
        }
        runs->next.whole -= runs->box[i] * runs->whole_stride[i];
        runs->next.piece -= runs->box[i] * runs->piece_stride[i];
        runs->at[i] = 0;
    }
    return true;
}

/* --- splitting --- */

static void put_float(struct literal *literal, int64_t index, double real, double imaginary)
{
    if (type_is_complex(literal->shape->type)) {
        literal_set_complex(literal, index, real, imaginary);
    } else {
        literal_set_double(literal, index, real);
    }
}

/* Least and largest in turn, so that neither a minimum nor a maximum hides it. */
static void fill_integers(struct literal *piece)
{
    int bits = type_bits(piece->shape->type);
    bool is_signed = type_kind(piece->shape->type) == KIND_SIGNED;
    int64_t largest = bits >= 64  ? (is_signed ? INT64_MAX : -1)
                      : is_signed ? ((int64_t)1 << (bits - 1)) - 1
                                  : (int64_t)(((uint64_t)1 << bits) - 1);
    int64_t least = is_signed ? -largest - 1 : 0;
    int64_t count = literal_elements(piece);
    for (int64_t i = 0; i < count; i++) {
        literal_set_int(piece, i, i % 2 == 0 ? largest : least);
    }
}

static void fill_hostile(struct literal *piece)
{
    enum type_kind kind = type_kind(piece->shape->type);
    int64_t count = literal_elements(piece);
    if (kind == KIND_FLOAT || kind == KIND_COMPLEX) {
        for (int64_t i = 0; i < count; i++) {
            put_float(piece, i, NAN, NAN);
        }
    } else if (kind == KIND_PRED) {
        memset(literal_data(piece), 1, (size_t)count);
    } else {
        fill_integers(piece);
    }
}

static bool is_dynamic(const struct literal *literal)
{
    return shape_is_dynamic(literal->shape);
}

struct literal *tiling_split(const struct tiling *tiling, const struct literal *whole, int device,
                             enum padding_fill fill, struct error *err)
{
    const struct shape *shape = tiling_tile_shape(tiling);
    if (!shape_is_array(shape) || shape_compatible(shape, whole->shape)) {
        return literal_retain(whole);
    }
    if (is_dynamic(whole)) {
        error_set(err, ERROR_UNIMPLEMENTED, "a dynamic array in tiles: %s",
                  shape_text(whole->shape));
        return NULL;
    }
    struct literal *piece = literal_zero(shape, err);
    if (piece == NULL) {
        return NULL;
    }
    struct runs runs;
    struct run run;
    int64_t held = 0;
    size_t bytes = (size_t)type_bytes(shape->type);
    runs_init(&runs, tiling, device);
    held = runs.left * runs.next.length;
    if (fill == PADDING_HOSTILE && held < shape_elements(shape)) {
        fill_hostile(piece);
    }
    while (runs_next(&runs, &run)) {
        memcpy((char *)literal_data(piece) + (size_t)run.piece * bytes,
               (const char *)literal_data(whole) + (size_t)run.whole * bytes,
               (size_t)run.length * bytes);
    }
    return piece;
}

/* --- joining --- */

/* Compares the device's piece with what is there already. */
static void compare_piece(const struct tiling *tiling, const struct literal *whole,
                          const struct literal *piece, int first, int device,
                          struct replica_conflict *conflict)
{
    struct runs runs;
    struct run run;
    size_t bytes = (size_t)type_bytes(whole->shape->type);
    runs_init(&runs, tiling, device);
    while (runs_next(&runs, &run)) {
        const char *a = (const char *)literal_data(whole) + (size_t)run.whole * bytes;
        const char *b = (const char *)literal_data(piece) + (size_t)run.piece * bytes;
        if (memcmp(a, b, (size_t)run.length * bytes) == 0) {
            continue;
        }
        for (int64_t i = 0; i < run.length; i++) {
            if (memcmp(a + (size_t)i * bytes, b + (size_t)i * bytes, bytes) != 0 &&
                conflict->count++ == 0) {
                conflict->first = first;
                conflict->second = device;
                conflict->index = run.whole + i;
            }
        }
    }
}

static void copy_piece(const struct tiling *tiling, struct literal *whole,
                       const struct literal *piece, int device)
{
    struct runs runs;
    struct run run;
    size_t bytes = (size_t)type_bytes(whole->shape->type);
    runs_init(&runs, tiling, device);
    while (runs_next(&runs, &run)) {
        memcpy((char *)literal_data(whole) + (size_t)run.whole * bytes,
               (const char *)literal_data(piece) + (size_t)run.piece * bytes,
               (size_t)run.length * bytes);
    }
}

static int64_t tile_number(const struct tiling *tiling, int device)
{
    int64_t number = 0;
    for (int i = 0; i < tiling->rank; i++) {
        number = number * tiling->tiles[i] + tiling->index[(int64_t)device * tiling->rank + i];
    }
    return number;
}

/* The whole array of those devices that are in one group of summands. */
static struct literal *join_group(const struct tiling *tiling, struct literal *const *pieces,
                                  int64_t group, struct replica_conflict *conflict,
                                  struct error *err)
{
    int64_t tiles = 1;
    for (int i = 0; i < tiling->rank; i++) {
        tiles *= tiling->tiles[i];
    }
    struct literal *whole = literal_zero(tiling->shape, err);
    if (whole == NULL) {
        return NULL;
    }
    int *holder = memory_alloc((size_t)tiles * sizeof *holder);
    for (int64_t i = 0; i < tiles; i++) {
        holder[i] = -1;
    }
    for (int device = 0; device < tiling->device_count; device++) {
        if (tiling->unreduced[device] != group) {
            continue;
        }
        int *first = &holder[tile_number(tiling, device)];
        if (*first < 0) {
            *first = device;
            copy_piece(tiling, whole, pieces[device], device);
        } else {
            compare_piece(tiling, whole, pieces[device], *first, device, conflict);
        }
    }
    free(holder);
    return whole;
}

/* --- summands --- */

static void add_integers(struct literal *sum, const struct literal *summand,
                         enum tiling_reduction reduction)
{
    bool is_signed = type_kind(sum->shape->type) == KIND_SIGNED;
    int64_t count = literal_elements(sum);
    for (int64_t i = 0; i < count; i++) {
        int64_t a = literal_get_int(sum, i), b = literal_get_int(summand, i);
        bool less = is_signed ? a < b : (uint64_t)a < (uint64_t)b;
        int64_t result = reduction == TILING_SUM             ? (int64_t)((uint64_t)a + (uint64_t)b)
                         : (reduction == TILING_MAX) == less ? b
                                                             : a;
        literal_set_int(sum, i, result);
    }
}

static double reduce_doubles(double a, double b, enum tiling_reduction reduction)
{
    return reduction == TILING_SUM                     ? a + b
           : isnan(a) || isnan(b)                      ? NAN
           : (reduction == TILING_MAX ? b > a : b < a) ? b
                                                       : a;
}

/* The element of all summands at once, so that it is rounded once. */
static void add_floats(struct literal *const *groups, int64_t count, struct literal *sum,
                       enum tiling_reduction reduction)
{
    int64_t elements = literal_elements(sum);
    for (int64_t i = 0; i < elements; i++) {
        double real = literal_get_double(groups[0], i);
        double imaginary = literal_get_imaginary(groups[0], i);
        for (int64_t k = 1; k < count; k++) {
            real = reduce_doubles(real, literal_get_double(groups[k], i), reduction);
            imaginary = reduce_doubles(imaginary, literal_get_imaginary(groups[k], i), reduction);
        }
        put_float(sum, i, real, imaginary);
    }
}

/* groups[count] are used up. */
static struct literal *add_groups(struct literal **groups, int64_t count,
                                  enum tiling_reduction reduction, struct error *err)
{
    enum type_kind kind = type_kind(groups[0]->shape->type);
    struct literal *sum = NULL;
    if (kind == KIND_FLOAT || kind == KIND_COMPLEX) {
        sum = literal_zero(groups[0]->shape, err);
        if (sum != NULL) {
            add_floats(groups, count, sum, reduction);
        }
    } else {
        sum = literal_own_take(groups[0], err);
        groups[0] = NULL;
        for (int64_t k = 1; sum != NULL && k < count; k++) {
            add_integers(sum, groups[k], reduction);
        }
    }
    for (int64_t k = 0; k < count; k++) {
        literal_release(groups[k]);
    }
    return sum;
}

static struct literal *join_unreduced(const struct tiling *tiling, struct literal *const *pieces,
                                      struct replica_conflict *conflict, struct error *err)
{
    int64_t count = tiling->unreduced_count;
    struct literal **groups = memory_zalloc((size_t)count * sizeof *groups);
    struct literal *sum = NULL;
    bool good = true;
    for (int64_t i = 0; good && i < count; i++) {
        groups[i] = join_group(tiling, pieces, i, conflict, err);
        good = groups[i] != NULL;
    }
    if (good) {
        sum = add_groups(groups, count, tiling->reduction, err);
    }
    for (int64_t i = 0; !good && i < count; i++) {
        literal_release(groups[i]);
    }
    free(groups);
    return sum;
}

static bool check_pieces(const struct tiling *tiling, struct literal *const *pieces,
                         struct error *err)
{
    const struct shape *tile = tiling_tile_shape(tiling);
    for (int device = 0; device < tiling->device_count; device++) {
        if (!shape_compatible(pieces[device]->shape, tile)) {
            return error_set(err, ERROR_INVALID_ARGUMENT,
                             "device %d gave %s for a tile of shape %s", device,
                             shape_text(pieces[device]->shape), shape_text(tile));
        }
        if (is_dynamic(pieces[device])) {
            return error_set(err, ERROR_UNIMPLEMENTED, "a dynamic array in tiles: %s",
                             shape_text(tile));
        }
    }
    return true;
}

struct literal *tiling_join(const struct tiling *tiling, struct literal *const *pieces,
                            struct replica_conflict *conflict, struct error *err)
{
    struct replica_conflict unused;
    conflict = conflict != NULL ? conflict : &unused;
    *conflict = (struct replica_conflict){0};
    if (!shape_is_array(tiling->shape)) {
        return literal_retain(pieces[0]);
    }
    if (tiling->kind == TILING_MANUAL || tiling->kind == TILING_UNKNOWN ||
        tiling->manual_count > 1) {
        error_set(err, ERROR_UNIMPLEMENTED,
                  "there is no whole array of pieces that are under manual control");
        return NULL;
    }
    if (!check_pieces(tiling, pieces, err)) {
        return NULL;
    }
    if (tiling->kind == TILING_MAXIMAL) {
        return literal_retain(pieces[tiling->maximal_device]);
    }
    return tiling->unreduced_count > 1 ? join_unreduced(tiling, pieces, conflict, err)
                                       : join_group(tiling, pieces, 0, conflict, err);
}
