/* Literals: life, sharing, elements. Text is in literal_text.c, the fill in literal_fill.c. */
#include "hlo/literal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/map.h"
#include "hlo/floats.h"

static atomic_size_t memory_limit, memory_in_use, memory_peak;

enum {
    ALIGNMENT = 64,
    SMALL_SIZE = 1024, /* up to this the data stands beside its buffer */
    /* From this size on, huge pages save most page faults. */
    HUGE_SIZE = 4 << 20,
    HUGE_ALIGNMENT = 2 << 20,
    SPARES = 16,
};

/* Released memory of the sizes that pay, kept for the next array of the same size: the kernel would
 * clear every page again, which takes as long as most ops. */
#define SPARE_BYTES ((size_t)1 << 30) /* at most, all together; not in memory_in_use */
static struct {
    pthread_mutex_t mutex;
    size_t bytes;
    int next; /* the oldest */
    void *data[SPARES];
    size_t sizes[SPARES];
} spares = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void spare_drop(int i)
{
    free(spares.data[i]);
    spares.bytes -= spares.sizes[i];
    spares.data[i] = NULL;
    spares.sizes[i] = 0;
}

/* Memory of the size, or NULL. */
static void *spare_take(size_t size)
{
    void *data = NULL;
    pthread_mutex_lock(&spares.mutex);
    for (int i = 0; i < SPARES && data == NULL; i++) {
        if (spares.sizes[i] == size) {
            data = spares.data[i];
            spares.data[i] = NULL;
            spare_drop(i);
        }
    }
    pthread_mutex_unlock(&spares.mutex);
    return data;
}

/* Keeps memory instead of freeing it; the oldest go when there is too much. */
static void spare_give(void *data, size_t size)
{
    if (size > SPARE_BYTES / 2) {
        free(data);
        return;
    }
    pthread_mutex_lock(&spares.mutex);
    spare_drop(spares.next);
    for (int i = 1; i < SPARES && spares.bytes + size > SPARE_BYTES; i++) {
        spare_drop((spares.next + i) % SPARES);
    }
    spares.data[spares.next] = data;
    spares.sizes[spares.next] = size;
    spares.bytes += size;
    spares.next = (spares.next + 1) % SPARES;
    pthread_mutex_unlock(&spares.mutex);
}

void literal_set_memory_limit(size_t bytes)
{
    memory_limit = bytes;
}

size_t literal_memory_in_use(void)
{
    return memory_in_use;
}

size_t literal_memory_peak(void)
{
    return memory_peak;
}

/* Adds to the memory in use; false when that would pass the limit. */
static bool account(size_t size)
{
    size_t limit = memory_limit;
    size_t now = atomic_fetch_add(&memory_in_use, size) + size;
    if (limit != 0 && now > limit) {
        atomic_fetch_sub(&memory_in_use, size);
        return false;
    }
    size_t peak = memory_peak;
    while (now > peak && !atomic_compare_exchange_weak(&memory_peak, &peak, now)) {
    }
    return true;
}

/* A buffer with its data in one piece of memory. */
static struct buffer *small_buffer(size_t size)
{
    struct buffer *buffer = memory_alloc(sizeof *buffer + ALIGNMENT + size);
    uintptr_t after = (uintptr_t)(buffer + 1);
    *buffer =
        (struct buffer){.references = 1,
                        .size = size,
                        .data = (void *)((after + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1))};
    return buffer;
}

static struct buffer *buffer_create(size_t size, struct error *err)
{
    if (!account(size)) {
        error_set(err, ERROR_RESOURCE_EXHAUSTED,
                  "literals would take more than the memory limit of %zu bytes",
                  (size_t)memory_limit);
        return NULL;
    }
    if (size <= SMALL_SIZE) {
        return small_buffer(size);
    }
    size_t alignment = size >= HUGE_SIZE ? HUGE_ALIGNMENT : ALIGNMENT;
    void *data = size >= HUGE_SIZE ? spare_take(size) : NULL;
    bool is_new = data == NULL;
    if (is_new &&
        (size > SIZE_MAX / 2 || posix_memalign(&data, alignment, size > 0 ? size : 1) != 0)) {
        atomic_fetch_sub(&memory_in_use, size);
        error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for a literal of %zu bytes", size);
        return NULL;
    }
    if (is_new && size >= HUGE_SIZE) {
        madvise(data, size, MADV_HUGEPAGE);
    }
    struct buffer *buffer = memory_zalloc(sizeof *buffer);
    buffer->references = 1;
    buffer->size = size;
    buffer->data = data;
    return buffer;
}

static void buffer_release(struct buffer *buffer)
{
    if (atomic_fetch_sub(&buffer->references, 1) == 1) {
        atomic_fetch_sub(&memory_in_use, buffer->size);
        if (buffer->size >= HUGE_SIZE) {
            spare_give(buffer->data, buffer->size);
        } else if (buffer->size > SMALL_SIZE) {
            free(buffer->data);
        }
        free(buffer->unspecified);
        free(buffer);
    }
}

static struct literal *literal_bare(const struct shape *shape)
{
    struct literal *literal = memory_zalloc(sizeof *literal);
    literal->references = 1;
    literal->shape = shape;
    if (shape->dynamic != NULL) {
        size_t bytes = (size_t)shape->rank * sizeof *literal->dynamic_sizes;
        literal->dynamic_sizes = memory_alloc(bytes);
        memcpy(literal->dynamic_sizes, shape->dimensions, bytes);
    }
    return literal;
}

static struct literal *create_leaf(void *context, const struct shape *shape, struct error *err)
{
    struct literal *literal = literal_bare(shape);
    (void)context;
    if (shape_is_array(shape)) {
        literal->buffer = buffer_create((size_t)shape_bytes(shape), err);
        if (literal->buffer == NULL) {
            literal_release(literal);
            return NULL;
        }
    }
    return literal;
}

struct literal *literal_create(const struct shape *shape, struct error *err)
{
    return literal_build(shape, create_leaf, NULL, err);
}

static void clear(struct literal *literal)
{
    if (literal->buffer != NULL) {
        memset(literal->buffer->data, 0, literal->buffer->size);
    }
    for (int i = 0; literal->elements != NULL && i < literal->shape->count; i++) {
        clear(literal->elements[i]);
    }
}

struct literal *literal_zero(const struct shape *shape, struct error *err)
{
    struct literal *literal = literal_create(shape, err);
    if (literal != NULL) {
        clear(literal);
    }
    return literal;
}

struct literal *literal_tuple_take(const struct shape *shape, struct literal **elements)
{
    struct literal *literal = literal_bare(shape);
    size_t bytes = (size_t)shape->count * sizeof *literal->elements;
    literal->elements = memory_alloc(bytes);
    if (bytes > 0) {
        memcpy(literal->elements, elements, bytes);
    }
    return literal;
}

struct literal *literal_build(const struct shape *shape, literal_make_leaf *make_leaf,
                              void *context, struct error *err)
{
    if (!shape_is_tuple(shape)) {
        return make_leaf(context, shape, err);
    }
    struct literal *tuple = literal_bare(shape);
    tuple->elements = memory_zalloc((size_t)shape->count * sizeof *tuple->elements);
    for (int i = 0; i < shape->count; i++) {
        tuple->elements[i] = literal_build(shape->elements[i], make_leaf, context, err);
        if (tuple->elements[i] == NULL) {
            literal_release(tuple);
            return NULL;
        }
    }
    return tuple;
}

struct literal *literal_view(const struct literal *from, const struct shape *shape)
{
    struct literal *literal = literal_bare(shape);
    atomic_fetch_add(&from->buffer->references, 1);
    literal->buffer = from->buffer;
    if (literal->dynamic_sizes != NULL && from->dynamic_sizes != NULL &&
        from->shape->rank == shape->rank) {
        memcpy(literal->dynamic_sizes, from->dynamic_sizes,
               (size_t)shape->rank * sizeof *literal->dynamic_sizes);
    }
    return literal;
}

struct literal *literal_retain(const struct literal *literal)
{
    /* Only the count changes, which is no part of the value. */
    struct literal *shared = (struct literal *)literal;
    atomic_fetch_add(&shared->references, 1);
    return shared;
}

void literal_release(struct literal *literal)
{
    if (literal == NULL || atomic_fetch_sub(&literal->references, 1) != 1) {
        return;
    }
    if (literal->buffer != NULL) {
        buffer_release(literal->buffer);
    }
    for (int i = 0; literal->elements != NULL && i < literal->shape->count; i++) {
        literal_release(literal->elements[i]);
    }
    free(literal->elements);
    free(literal->dynamic_sizes);
    free(literal);
}

bool literal_is_unique(const struct literal *literal)
{
    if (literal->references != 1 || (literal->buffer != NULL && literal->buffer->references != 1)) {
        return false;
    }
    for (int i = 0; literal->elements != NULL && i < literal->shape->count; i++) {
        if (!literal_is_unique(literal->elements[i])) {
            return false;
        }
    }
    return true;
}

static size_t mask_bytes(const struct literal *literal)
{
    return ((size_t)literal_elements(literal) + 7) / 8;
}

struct literal *literal_copy(const struct literal *from, struct error *err)
{
    struct literal *literal = literal_bare(from->shape);
    if (from->dynamic_sizes != NULL) {
        memcpy(literal->dynamic_sizes, from->dynamic_sizes,
               (size_t)from->shape->rank * sizeof *from->dynamic_sizes);
    }
    if (from->buffer != NULL) {
        literal->buffer = buffer_create(from->buffer->size, err);
        if (literal->buffer == NULL) {
            literal_release(literal);
            return NULL;
        }
        memcpy(literal->buffer->data, from->buffer->data, from->buffer->size);
        if (from->buffer->unspecified != NULL) {
            literal->buffer->unspecified = memory_alloc(mask_bytes(from));
            memcpy(literal->buffer->unspecified, from->buffer->unspecified, mask_bytes(from));
        }
    }
    if (from->elements != NULL) {
        literal->elements = memory_zalloc((size_t)from->shape->count * sizeof *literal->elements);
        for (int i = 0; i < from->shape->count; i++) {
            literal->elements[i] = literal_copy(from->elements[i], err);
            if (literal->elements[i] == NULL) {
                literal_release(literal);
                return NULL;
            }
        }
    }
    return literal;
}

struct literal *literal_own_take(struct literal *literal, struct error *err)
{
    if (literal_is_unique(literal)) {
        return literal;
    }
    struct literal *own = literal_copy(literal, err);
    literal_release(literal);
    return own;
}

bool literal_has_element(const struct literal *array, int64_t index)
{
    const struct shape *shape = array->shape;
    for (int i = shape->rank - 1; array->dynamic_sizes != NULL && i >= 0; i--) {
        if (index % shape->dimensions[i] >= array->dynamic_sizes[i]) {
            return false;
        }
        index /= shape->dimensions[i];
    }
    return true;
}

bool literal_sizes_equal(const struct literal *a, const struct literal *b)
{
    for (int i = 0; i < a->shape->rank; i++) {
        int64_t x = a->dynamic_sizes != NULL ? a->dynamic_sizes[i] : a->shape->dimensions[i];
        int64_t y = b->dynamic_sizes != NULL ? b->dynamic_sizes[i] : b->shape->dimensions[i];
        if (x != y) {
            return false;
        }
    }
    return true;
}

/* --- elements --- */

uint64_t literal_get_bits(const struct literal *literal, int64_t index)
{
    const void *data = literal_data(literal);
    switch (type_bytes(literal->shape->type)) {
    case 1:
        return ((const uint8_t *)data)[index];
    case 2:
        return ((const uint16_t *)data)[index];
    case 4:
        return ((const uint32_t *)data)[index];
    default:
        return ((const uint64_t *)data)[index];
    }
}

void literal_set_bits(struct literal *literal, int64_t index, uint64_t bits)
{
    void *data = literal_data(literal);
    switch (type_bytes(literal->shape->type)) {
    case 1:
        ((uint8_t *)data)[index] = (uint8_t)bits;
        break;
    case 2:
        ((uint16_t *)data)[index] = (uint16_t)bits;
        break;
    case 4:
        ((uint32_t *)data)[index] = (uint32_t)bits;
        break;
    default:
        ((uint64_t *)data)[index] = bits;
        break;
    }
}

int64_t literal_get_int(const struct literal *literal, int64_t index)
{
    enum type type = literal->shape->type;
    uint64_t bits = literal_get_bits(literal, index);
    if (type_kind(type) != KIND_SIGNED) {
        return (int64_t)bits;
    }
    int unused = 64 - 8 * type_bytes(type); /* sub-byte types are kept sign-extended */
    return (int64_t)(bits << unused) >> unused;
}

void literal_set_int(struct literal *literal, int64_t index, int64_t value)
{
    enum type type = literal->shape->type;
    int unused = 64 - type_bits(type);
    uint64_t bits = (uint64_t)value << unused;
    literal_set_bits(literal, index,
                     type_kind(type) == KIND_SIGNED ? (uint64_t)((int64_t)bits >> unused)
                                                    : bits >> unused);
}

static double get_part(const struct literal *literal, int64_t index)
{
    return type_bytes(literal->shape->type) == 8 ? ((const float *)literal_data(literal))[index]
                                                 : ((const double *)literal_data(literal))[index];
}

double literal_get_double(const struct literal *literal, int64_t index)
{
    enum type type = literal->shape->type;
    switch (type_kind(type)) {
    case KIND_FLOAT:
        return float_to_double(type, literal_get_bits(literal, index));
    case KIND_COMPLEX:
        return get_part(literal, 2 * index);
    case KIND_UNSIGNED:
        return (double)literal_get_bits(literal, index);
    default:
        return (double)literal_get_int(literal, index);
    }
}

double literal_get_imaginary(const struct literal *literal, int64_t index)
{
    return type_is_complex(literal->shape->type) ? get_part(literal, 2 * index + 1) : 0.0;
}

void literal_set_complex(struct literal *literal, int64_t index, double real, double imaginary)
{
    if (type_bytes(literal->shape->type) == 8) {
        float *parts = (float *)literal_data(literal) + 2 * index;
        parts[0] = (float)real;
        parts[1] = (float)imaginary;
    } else {
        double *parts = (double *)literal_data(literal) + 2 * index;
        parts[0] = real;
        parts[1] = imaginary;
    }
}

/* Towards zero; saturates beyond the range, and NaN is 0. */
static int64_t double_to_int(double value)
{
    if (value != value) {
        return 0;
    }
    return value >= 0x1p63 ? INT64_MAX : value < -0x1p63 ? INT64_MIN : (int64_t)value;
}

void literal_set_double(struct literal *literal, int64_t index, double value)
{
    enum type type = literal->shape->type;
    switch (type_kind(type)) {
    case KIND_FLOAT:
        literal_set_bits(literal, index, float_from_double(type, value));
        break;
    case KIND_COMPLEX:
        literal_set_complex(literal, index, value, 0.0);
        break;
    case KIND_PRED:
        literal_set_bits(literal, index, value != 0.0);
        break;
    case KIND_UNSIGNED:
        literal_set_bits(literal, index,
                         value < 0x1p63 ? (uint64_t)double_to_int(value)
                                        : (uint64_t)double_to_int(value - 0x1p63) + (1ull << 63));
        break;
    default:
        literal_set_int(literal, index, double_to_int(value));
        break;
    }
}

bool literal_is_unspecified(const struct literal *literal, int64_t index)
{
    const uint8_t *mask = literal->buffer->unspecified;
    return mask != NULL && (mask[index / 8] >> (index % 8) & 1) != 0;
}

void literal_mark_unspecified(struct literal *literal, int64_t index)
{
    if (literal->buffer->unspecified == NULL) {
        literal->buffer->unspecified = memory_zalloc(mask_bytes(literal));
    }
    literal->buffer->unspecified[index / 8] |= (uint8_t)(1 << (index % 8));
}

bool literal_has_unspecified(const struct literal *literal)
{
    if (literal->buffer != NULL && literal->buffer->unspecified != NULL) {
        for (size_t i = 0; i < mask_bytes(literal); i++) {
            if (literal->buffer->unspecified[i] != 0) {
                return true;
            }
        }
    }
    for (int i = 0; literal->elements != NULL && i < literal->shape->count; i++) {
        if (literal_has_unspecified(literal->elements[i])) {
            return true;
        }
    }
    return false;
}

bool literal_equal(const struct literal *a, const struct literal *b)
{
    if (a == b) {
        return true;
    }
    if (!shape_compatible(a->shape, b->shape)) {
        return false;
    }
    if (a->dynamic_sizes != NULL &&
        memcmp(a->dynamic_sizes, b->dynamic_sizes,
               (size_t)a->shape->rank * sizeof *a->dynamic_sizes) != 0) {
        return false;
    }
    if (a->buffer != NULL && a->buffer != b->buffer &&
        memcmp(a->buffer->data, b->buffer->data, a->buffer->size) != 0) {
        return false;
    }
    for (int i = 0; a->elements != NULL && i < a->shape->count; i++) {
        if (!literal_equal(a->elements[i], b->elements[i])) {
            return false;
        }
    }
    return true;
}

uint64_t literal_hash(const struct literal *literal)
{
    uint64_t hash = shape_without_layout(literal->shape)->hash;
    if (literal->buffer != NULL) {
        hash = hash_bytes(literal->buffer->data, literal->buffer->size, hash);
    }
    for (int i = 0; literal->elements != NULL && i < literal->shape->count; i++) {
        hash = hash_u64(literal_hash(literal->elements[i]), hash);
    }
    return hash;
}

static struct literal *find_leaf(const struct literal *literal, int *n)
{
    if (!shape_is_tuple(literal->shape)) {
        return (*n)-- == 0 ? (struct literal *)literal : NULL;
    }
    for (int i = 0; i < literal->shape->count; i++) {
        struct literal *leaf = find_leaf(literal->elements[i], n);
        if (leaf != NULL) {
            return leaf;
        }
    }
    return NULL;
}

struct literal *literal_leaf(const struct literal *literal, int n)
{
    return find_leaf(literal, &n);
}
