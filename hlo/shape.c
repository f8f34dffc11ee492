/* Shapes and layouts: the intern tables, makers, questions and checks. Text is in shape_text.c. */
#include "hlo/shape.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/map.h"

/* Interned values live in one arena for the life of the process. The tables are open-addressed
 * sets; a set's entries are pointers to the interned values. */
struct intern_set {
    void **entries;
    uint64_t *hashes;
    size_t count, capacity;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct arena arena;
static struct intern_set shapes, layouts;

typedef bool equal_function(const void *a, const void *b);

static void **intern_find(struct intern_set *set, uint64_t hash, const void *value,
                          equal_function *equal)
{
    if (set->count * 2 >= set->capacity) {
        struct intern_set old = *set;
        set->capacity = old.capacity > 0 ? old.capacity * 2 : 256;
        set->entries = memory_zalloc(set->capacity * sizeof *set->entries);
        set->hashes = memory_zalloc(set->capacity * sizeof *set->hashes);
        for (size_t i = 0; i < old.capacity; i++) {
            if (old.entries[i] != NULL) {
                size_t at = old.hashes[i] & (set->capacity - 1);
                while (set->entries[at] != NULL) {
                    at = (at + 1) & (set->capacity - 1);
                }
                set->entries[at] = old.entries[i];
                set->hashes[at] = old.hashes[i];
            }
        }
        free(old.entries);
        free(old.hashes);
    }
    size_t at = hash & (set->capacity - 1);
    while (set->entries[at] != NULL &&
           (set->hashes[at] != hash || !equal(set->entries[at], value))) {
        at = (at + 1) & (set->capacity - 1);
    }
    set->hashes[at] = hash;
    return &set->entries[at];
}

static uint64_t hash_ints(const int64_t *values, int count, uint64_t seed)
{
    return hash_bytes(values, (size_t)count * sizeof *values, seed);
}

static bool same_ints(const int64_t *a, const int64_t *b, int count)
{
    return count == 0 || memcmp(a, b, (size_t)count * sizeof *a) == 0;
}

/* --- layouts --- */

static bool layout_same(const void *x, const void *y)
{
    const struct layout *a = x, *b = y;
    if (a->rank != b->rank || !same_ints(a->minor_to_major, b->minor_to_major, a->rank) ||
        a->tile_count != b->tile_count || a->tail_padding_alignment != b->tail_padding_alignment ||
        a->index_type != b->index_type || a->pointer_type != b->pointer_type ||
        a->element_bits != b->element_bits || a->memory_space != b->memory_space ||
        a->split_count != b->split_count || a->physical_shape != b->physical_shape ||
        a->dynamic_metadata_bytes != b->dynamic_metadata_bytes ||
        (a->dim_level_types == NULL) != (b->dim_level_types == NULL) ||
        (a->dim_level_types != NULL && strcmp(a->dim_level_types, b->dim_level_types) != 0)) {
        return false;
    }
    for (int i = 0; i < a->tile_count; i++) {
        if (a->tiles[i].rank != b->tiles[i].rank ||
            !same_ints(a->tiles[i].dimensions, b->tiles[i].dimensions, a->tiles[i].rank)) {
            return false;
        }
    }
    for (int i = 0; i < a->split_count; i++) {
        if (a->splits[i].dimension != b->splits[i].dimension ||
            a->splits[i].count != b->splits[i].count ||
            !same_ints(a->splits[i].indices, b->splits[i].indices, a->splits[i].count)) {
            return false;
        }
    }
    return true;
}

static uint64_t layout_hash(const struct layout *layout)
{
    uint64_t h = hash_ints(layout->minor_to_major, layout->rank, (uint64_t)layout->rank);
    h = hash_u64((uint64_t)layout->element_bits, h);
    h = hash_u64((uint64_t)layout->memory_space, h);
    for (int i = 0; i < layout->tile_count; i++) {
        h = hash_ints(layout->tiles[i].dimensions, layout->tiles[i].rank, h);
    }
    return h;
}

static const struct layout *layout_copy(const struct layout *layout)
{
    struct layout *copy = arena_copy(&arena, layout, sizeof *layout);
    copy->minor_to_major =
        arena_copy(&arena, layout->minor_to_major, (size_t)layout->rank * sizeof(int64_t));
    struct tile *tiles = arena_array(&arena, (size_t)layout->tile_count, sizeof *tiles);
    for (int i = 0; i < layout->tile_count; i++) {
        tiles[i].rank = layout->tiles[i].rank;
        tiles[i].dimensions = arena_copy(&arena, layout->tiles[i].dimensions,
                                         (size_t)tiles[i].rank * sizeof(int64_t));
    }
    copy->tiles = tiles;
    struct split_config *splits = arena_array(&arena, (size_t)layout->split_count, sizeof *splits);
    for (int i = 0; i < layout->split_count; i++) {
        splits[i] = layout->splits[i];
        splits[i].indices = arena_copy(&arena, layout->splits[i].indices,
                                       (size_t)splits[i].count * sizeof(int64_t));
    }
    copy->splits = splits;
    if (layout->dim_level_types != NULL) {
        copy->dim_level_types =
            arena_string(&arena, layout->dim_level_types, strlen(layout->dim_level_types));
    }
    return copy;
}

const struct layout *layout_make(const struct layout *layout)
{
    uint64_t hash = layout_hash(layout);
    pthread_mutex_lock(&mutex);
    void **entry = intern_find(&layouts, hash, layout, layout_same);
    if (*entry == NULL) {
        *entry = (void *)layout_copy(layout);
        layouts.count++;
    }
    const struct layout *interned = *entry;
    pthread_mutex_unlock(&mutex);
    return interned;
}

const struct layout *layout_default(int rank)
{
    static const struct layout *_Atomic cache[SHAPE_MAX_RANK + 1];
    const struct layout *cached = cache[rank];
    if (cached != NULL) {
        return cached;
    }
    int64_t minor_to_major[SHAPE_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        minor_to_major[i] = rank - 1 - i;
    }
    struct layout layout = {
        .rank = rank, .minor_to_major = minor_to_major, .tail_padding_alignment = 1};
    cached = layout_make(&layout);
    cache[rank] = cached;
    return cached;
}

bool layout_is_default(const struct layout *layout)
{
    return layout == layout_default(layout->rank);
}

/* --- shapes --- */

static bool shape_same(const void *x, const void *y)
{
    const struct shape *a = x, *b = y;
    return a->type == b->type && a->rank == b->rank && a->layout == b->layout &&
           a->count == b->count && same_ints(a->dimensions, b->dimensions, a->rank) &&
           (a->dynamic == NULL) == (b->dynamic == NULL) &&
           (a->dynamic == NULL || memcmp(a->dynamic, b->dynamic, (size_t)a->rank) == 0) &&
           (a->count == 0 ||
            memcmp(a->elements, b->elements, (size_t)a->count * sizeof *a->elements) == 0);
}

static const struct shape *shape_intern(struct shape *shape)
{
    uint64_t h = hash_ints(shape->dimensions, shape->rank, (uint64_t)shape->type);
    h = shape->layout != NULL ? hash_u64(layout_hash(shape->layout), h) : h;
    for (int i = 0; i < shape->count; i++) {
        h = hash_u64(shape->elements[i]->hash, h);
    }
    for (int i = 0; shape->dynamic != NULL && i < shape->rank; i++) {
        h = hash_u64(shape->dynamic[i], h);
    }
    shape->hash = h;
    pthread_mutex_lock(&mutex);
    void **entry = intern_find(&shapes, h, shape, shape_same);
    if (*entry == NULL) {
        struct shape *copy = arena_copy(&arena, shape, sizeof *shape);
        copy->dimensions =
            arena_copy(&arena, shape->dimensions, (size_t)shape->rank * sizeof(int64_t));
        if (shape->dynamic != NULL) {
            copy->dynamic = arena_copy(&arena, shape->dynamic, (size_t)shape->rank);
        }
        copy->elements =
            arena_copy(&arena, shape->elements, (size_t)shape->count * sizeof *shape->elements);
        *entry = copy;
        shapes.count++;
    }
    const struct shape *interned = *entry;
    pthread_mutex_unlock(&mutex);
    return interned;
}

const struct shape *shape_make(enum type type, int rank, const int64_t *dimensions,
                               const bool *dynamic, const struct layout *layout)
{
    bool any = false;
    for (int i = 0; dynamic != NULL && i < rank; i++) {
        any |= dynamic[i];
    }
    struct shape shape = {
        .type = type,
        .rank = rank,
        .dimensions = dimensions,
        .dynamic = any ? dynamic : NULL,
        .layout = layout != NULL ? layout : layout_default(rank),
    };
    return shape_intern(&shape);
}

const struct shape *shape_array(enum type type, int rank, const int64_t *dimensions)
{
    return shape_make(type, rank, dimensions, NULL, NULL);
}

const struct shape *shape_scalar(enum type type)
{
    static const struct shape *_Atomic cache[TYPE_COUNT];
    const struct shape *cached = cache[type];
    if (cached == NULL) {
        cached = shape_array(type, 0, NULL);
        cache[type] = cached;
    }
    return cached;
}

const struct shape *shape_tuple(int count, const struct shape *const *elements)
{
    struct shape shape = {.type = TYPE_TUPLE, .count = count, .elements = elements};
    return shape_intern(&shape);
}

const struct shape *shape_token(void)
{
    return shape_intern(&(struct shape){.type = TYPE_TOKEN});
}

const struct shape *shape_opaque(void)
{
    return shape_intern(&(struct shape){.type = TYPE_OPAQUE});
}

const struct shape *shape_buffer(const struct shape *inner)
{
    struct shape shape = {.type = TYPE_BUFFER, .count = 1, .elements = &inner};
    return shape_intern(&shape);
}

const struct shape *shape_with_type(const struct shape *shape, enum type type)
{
    return shape_make(type, shape->rank, shape->dimensions, shape->dynamic, shape->layout);
}

const struct shape *shape_with_layout(const struct shape *shape, const struct layout *layout)
{
    return shape_make(shape->type, shape->rank, shape->dimensions, shape->dynamic, layout);
}

typedef const struct shape *shape_function(const struct shape *shape);

/* Applies function to the elements of a tuple or buffer. */
static const struct shape *map_elements(const struct shape *shape, shape_function *function)
{
    if (shape->count == 0) {
        return shape;
    }
    const struct shape **elements = memory_alloc((size_t)shape->count * sizeof *elements);
    for (int i = 0; i < shape->count; i++) {
        elements[i] = function(shape->elements[i]);
    }
    struct shape changed = *shape;
    changed.elements = elements;
    const struct shape *result = shape_intern(&changed);
    free(elements);
    return result;
}

const struct shape *shape_without_layout(const struct shape *shape)
{
    if (!shape_is_array(shape)) {
        return map_elements(shape, shape_without_layout);
    }
    if (layout_is_default(shape->layout)) {
        return shape;
    }
    return shape_with_layout(shape, NULL);
}

const struct shape *shape_static(const struct shape *shape)
{
    if (!shape_is_array(shape)) {
        return map_elements(shape, shape_static);
    }
    return shape->dynamic == NULL
               ? shape
               : shape_make(shape->type, shape->rank, shape->dimensions, NULL, shape->layout);
}

/* --- questions --- */

bool shape_is_dynamic(const struct shape *shape)
{
    for (int i = 0; i < shape->count; i++) {
        if (shape_is_dynamic(shape->elements[i])) {
            return true;
        }
    }
    return shape->dynamic != NULL;
}

bool shape_dimension_is_dynamic(const struct shape *shape, int dimension)
{
    return shape->dynamic != NULL && shape->dynamic[dimension];
}

bool shape_compatible(const struct shape *a, const struct shape *b)
{
    return a == b || shape_without_layout(a) == shape_without_layout(b);
}

bool shape_same_dimensions(const struct shape *a, const struct shape *b)
{
    return a->rank == b->rank && same_ints(a->dimensions, b->dimensions, a->rank) &&
           (a->dynamic == NULL) == (b->dynamic == NULL) &&
           (a->dynamic == NULL || memcmp(a->dynamic, b->dynamic, (size_t)a->rank) == 0);
}

int64_t shape_elements(const struct shape *shape)
{
    if (!shape_is_array(shape)) {
        return 0;
    }
    int64_t count = 1;
    bool beyond = false;
    for (int i = 0; i < shape->rank; i++) {
        int64_t size = shape->dimensions[i];
        if (size == 0) {
            return 0;
        }
        beyond |= size < 0 || __builtin_mul_overflow(count, size, &count);
    }
    return beyond ? SHAPE_TOO_MANY : count;
}

int64_t shape_bytes(const struct shape *shape)
{
    int64_t bytes;
    bool beyond = __builtin_mul_overflow(shape_elements(shape), type_bytes(shape->type), &bytes);
    for (int i = 0; i < shape->count; i++) {
        beyond |= __builtin_add_overflow(bytes, shape_bytes(shape->elements[i]), &bytes);
    }
    return beyond ? INT64_MAX : bytes;
}

int shape_leaves(const struct shape *shape)
{
    if (!shape_is_tuple(shape)) {
        return 1;
    }
    int leaves = 0;
    for (int i = 0; i < shape->count; i++) {
        leaves += shape_leaves(shape->elements[i]);
    }
    return leaves;
}

static bool layout_check(const struct shape *shape, struct error *err)
{
    const struct layout *layout = shape->layout;
    if (layout->rank != shape->rank) {
        return error_set(err, ERROR_INVALID_ARGUMENT,
                         "layout has %d dimensions, the shape %s has %d", layout->rank,
                         type_text(shape->type), shape->rank);
    }
    bool seen[SHAPE_MAX_RANK] = {false};
    for (int i = 0; i < layout->rank; i++) {
        int64_t dimension = layout->minor_to_major[i];
        if (dimension < 0 || dimension >= layout->rank || seen[dimension]) {
            return error_set(err, ERROR_INVALID_ARGUMENT,
                             "layout minor_to_major is not a permutation of 0 to %d",
                             layout->rank - 1);
        }
        seen[dimension] = true;
    }
    if (layout->tail_padding_alignment < 1) {
        return error_set(err, ERROR_INVALID_ARGUMENT,
                         "layout tail padding alignment must be positive");
    }
    if (layout->element_bits < 0) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "layout element size is negative");
    }
    return layout->physical_shape == NULL ||
           error_set(err, ERROR_INVALID_ARGUMENT,
                     "layout has a physical shape, which only sparse arrays have");
}

bool shape_check(const struct shape *shape, struct error *err)
{
    for (int i = 0; i < shape->count; i++) {
        if (!shape_check(shape->elements[i], err)) {
            return false;
        }
    }
    if (shape->type == TYPE_INVALID) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "shape has an invalid element type");
    }
    if (!shape_is_array(shape)) {
        return true;
    }
    int64_t bytes = type_bytes(shape->type);
    bool zero = false;
    for (int i = 0; i < shape->rank; i++) {
        int64_t size = shape->dimensions[i];
        if (size == DIMENSION_UNBOUNDED && shape_dimension_is_dynamic(shape, i)) {
            continue;
        }
        if (size < 0) {
            return error_set(err, ERROR_INVALID_ARGUMENT, "shape has a negative dimension");
        }
        zero |= size == 0;
        if (size > 0 && __builtin_mul_overflow(bytes, size, &bytes)) {
            bytes = INT64_MAX;
        }
    }
    if (!zero && bytes == INT64_MAX) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "shape's size in bytes overflows");
    }
    return layout_check(shape, err);
}
