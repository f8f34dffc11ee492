/* MLIR in memory: types, each interned in its file. */
#include "hlo/mlir/ir.h"

#include <stdlib.h>
#include <string.h>

/* A float type: its spelling in MLIR, its width and the HLO type, if any. */
static const struct {
    const char *name;
    int width;
    enum type type;
} float_types[] = {
    {"f32", 32, TYPE_F32},
    {"f64", 64, TYPE_F64},
    {"f16", 16, TYPE_F16},
    {"bf16", 16, TYPE_BF16},
    {"f4E2M1FN", 4, TYPE_F4E2M1FN},
    {"f6E2M3FN", 6, TYPE_F6E2M3FN},
    {"f6E3M2FN", 6, TYPE_F6E3M2FN},
    {"f8E3M4", 8, TYPE_F8E3M4},
    {"f8E4M3", 8, TYPE_F8E4M3},
    {"f8E4M3FN", 8, TYPE_F8E4M3FN},
    {"f8E4M3FNUZ", 8, TYPE_F8E4M3FNUZ},
    {"f8E4M3B11FNUZ", 8, TYPE_F8E4M3B11FNUZ},
    {"f8E5M2", 8, TYPE_F8E5M2},
    {"f8E5M2FNUZ", 8, TYPE_F8E5M2FNUZ},
    {"f8E8M0FNU", 8, TYPE_F8E8M0FNU},
    {"tf32", 19, TYPE_INVALID},
    {"f80", 80, TYPE_INVALID},
    {"f128", 128, TYPE_INVALID},
};

static enum type integer_hlo_type(int width, enum mlir_sign sign)
{
    static const struct {
        int width;
        enum type signed_type, unsigned_type;
    } rows[] = {
        {2, TYPE_S2, TYPE_U2},    {4, TYPE_S4, TYPE_U4},    {8, TYPE_S8, TYPE_U8},
        {16, TYPE_S16, TYPE_U16}, {32, TYPE_S32, TYPE_U32}, {64, TYPE_S64, TYPE_U64},
    };
    if (width == 1) {
        return sign == MLIR_SIGNLESS ? TYPE_PRED : sign == MLIR_SIGNED ? TYPE_S1 : TYPE_U1;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].width == width) {
            return sign == MLIR_UNSIGNED ? rows[i].unsigned_type : rows[i].signed_type;
        }
    }
    return TYPE_INVALID;
}

/* The bytes that tell a type from all others are built in a key; parts are already interned, so
 * their addresses stand for them. */
struct key {
    char small[256];
    char *data;
    size_t size, capacity;
};

static void key_init(struct key *key)
{
    key->data = key->small;
    key->size = 0;
    key->capacity = sizeof key->small;
}

static void key_add(struct key *key, const void *data, size_t size)
{
    if (size == 0) {
        return;
    }
    if (key->size + size > key->capacity) {
        size_t capacity = 2 * (key->size + size);
        char *moved = memory_alloc(capacity);
        memcpy(moved, key->data, key->size);
        if (key->data != key->small) {
            free(key->data);
        }
        key->data = moved;
        key->capacity = capacity;
    }
    memcpy(key->data + key->size, data, size);
    key->size += size;
}

static void key_add_int(struct key *key, int64_t value)
{
    key_add(key, &value, sizeof value);
}

/* The type of that key if there is one already; else a new one of `kind`, *is_new. Ends the key. */
static struct mlir_type *type_intern(struct mlir_file *file, struct key *key,
                                     enum mlir_type_kind kind, bool *is_new)
{
    struct mlir_type *type = map_get(&file->types, key->data, key->size);
    *is_new = type == NULL;
    if (*is_new) {
        type = arena_alloc(&file->arena, sizeof *type);
        type->kind = kind;
        map_put(&file->types, arena_copy(&file->arena, key->data, key->size), key->size, type);
    }
    if (key->data != key->small) {
        free(key->data);
    }
    return type;
}

static void key_begin(struct key *key, enum mlir_type_kind kind)
{
    key_init(key);
    key_add_int(key, kind);
}

const struct mlir_type *mlir_integer(struct mlir_file *file, int width, enum mlir_sign sign)
{
    struct key key;
    bool is_new;
    key_begin(&key, MLIR_INTEGER);
    key_add_int(&key, width);
    key_add_int(&key, sign);
    struct mlir_type *type = type_intern(file, &key, MLIR_INTEGER, &is_new);
    if (is_new) {
        type->width = width;
        type->sign = sign;
        type->element_type = integer_hlo_type(width, sign);
    }
    return type;
}

const struct mlir_type *mlir_simple(struct mlir_file *file, enum mlir_type_kind kind)
{
    struct key key;
    bool is_new;
    key_begin(&key, kind);
    return type_intern(file, &key, kind, &is_new);
}

const struct mlir_type *mlir_index(struct mlir_file *file)
{
    struct key key;
    bool is_new;
    key_begin(&key, MLIR_INDEX);
    struct mlir_type *type = type_intern(file, &key, MLIR_INDEX, &is_new);
    type->width = 64;
    type->element_type = TYPE_S64;
    return type;
}

const struct mlir_type *mlir_float(struct mlir_file *file, const char *name, size_t size)
{
    for (size_t i = 0; i < sizeof float_types / sizeof *float_types; i++) {
        if (strlen(float_types[i].name) == size && memcmp(float_types[i].name, name, size) == 0) {
            struct key key;
            bool is_new;
            key_begin(&key, MLIR_FLOAT);
            key_add_int(&key, (int64_t)i);
            struct mlir_type *type = type_intern(file, &key, MLIR_FLOAT, &is_new);
            type->name = float_types[i].name;
            type->width = float_types[i].width;
            type->element_type = float_types[i].type;
            return type;
        }
    }
    return NULL;
}

const struct mlir_type *mlir_complex(struct mlir_file *file, const struct mlir_type *element)
{
    struct key key;
    bool is_new;
    key_begin(&key, MLIR_COMPLEX);
    key_add(&key, &element, sizeof element);
    struct mlir_type *type = type_intern(file, &key, MLIR_COMPLEX, &is_new);
    type->element = element;
    type->element_type = type_complex_of(element->element_type);
    return type;
}

/* The lists of types of TUPLE, FUTURE and FUNCTION. */
static const struct mlir_type *type_of_types(struct mlir_file *file, enum mlir_type_kind kind,
                                             int count, int result_count,
                                             const struct mlir_type *const *types)
{
    struct key key;
    bool is_new;
    size_t total = (size_t)count + (size_t)result_count;
    key_begin(&key, kind);
    key_add_int(&key, count);
    key_add(&key, types, total * sizeof *types);
    struct mlir_type *type = type_intern(file, &key, kind, &is_new);
    if (is_new) {
        type->count = count;
        type->result_count = result_count;
        type->types = arena_copy(&file->arena, types, total * sizeof *types);
    }
    return type;
}

const struct mlir_type *mlir_tuple(struct mlir_file *file, enum mlir_type_kind kind, int count,
                                   const struct mlir_type *const *types)
{
    return type_of_types(file, kind, count, 0, types);
}

const struct mlir_type *mlir_function(struct mlir_file *file, int count, int result_count,
                                      const struct mlir_type *const *types)
{
    return type_of_types(file, MLIR_FUNCTION, count, result_count, types);
}

static bool attr_equal_or_none(const struct mlir_attr *a, const struct mlir_attr *b)
{
    return a == b || (a != NULL && b != NULL && mlir_attr_equal(a, b));
}

const struct mlir_type *mlir_shaped(struct mlir_file *file, enum mlir_type_kind kind,
                                    const struct mlir_type *element, int rank, const int64_t *sizes,
                                    const struct mlir_attr *encoding)
{
    /* Encodings are no interned pointers: those of one key are numbered until one is equal. */
    for (int64_t variant = 0;; variant++) {
        struct key key;
        bool is_new;
        key_begin(&key, kind);
        key_add_int(&key, variant);
        key_add(&key, &element, sizeof element);
        key_add(&key, sizes, (size_t)rank * sizeof *sizes);
        struct mlir_type *type = type_intern(file, &key, kind, &is_new);
        if (is_new) {
            type->element = element;
            type->rank = rank;
            type->sizes = arena_copy(&file->arena, sizes, (size_t)rank * sizeof *sizes);
            type->encoding = encoding;
        }
        if (attr_equal_or_none(type->encoding, encoding)) {
            return type;
        }
    }
}

const struct mlir_type *mlir_quantized(struct mlir_file *file,
                                       const struct mlir_quantized *quantized)
{
    struct key key;
    bool is_new;
    key_begin(&key, MLIR_QUANTIZED);
    key_add(&key, &quantized->storage, sizeof quantized->storage);
    key_add(&key, &quantized->expressed, sizeof quantized->expressed);
    key_add_int(&key, quantized->minimum);
    key_add_int(&key, quantized->maximum);
    key_add_int(&key, quantized->axis_count);
    key_add_int(&key, quantized->rank);
    key_add_int(&key, quantized->count);
    size_t axes = (size_t)quantized->axis_count, rank = (size_t)quantized->rank;
    size_t count = (size_t)quantized->count;
    key_add(&key, quantized->axes, axes * sizeof *quantized->axes);
    key_add(&key, quantized->block_sizes, axes * sizeof *quantized->block_sizes);
    key_add(&key, quantized->counts, rank * sizeof *quantized->counts);
    key_add(&key, quantized->scales, count * sizeof *quantized->scales);
    key_add(&key, quantized->zero_points, count * sizeof *quantized->zero_points);
    struct mlir_type *type = type_intern(file, &key, MLIR_QUANTIZED, &is_new);
    if (is_new) {
        struct arena *arena = &file->arena;
        struct mlir_quantized *copy = arena_copy(arena, quantized, sizeof *quantized);
        copy->axes = arena_copy(arena, copy->axes, axes * sizeof *copy->axes);
        copy->block_sizes = arena_copy(arena, copy->block_sizes, axes * sizeof *copy->block_sizes);
        copy->counts = arena_copy(arena, copy->counts, rank * sizeof *copy->counts);
        copy->scales = arena_copy(arena, copy->scales, count * sizeof *copy->scales);
        copy->zero_points = arena_copy(arena, copy->zero_points, count * sizeof *copy->zero_points);
        type->quantized = copy;
        type->element_type = copy->storage->element_type;
    }
    return type;
}

const struct mlir_type *mlir_other_type(struct mlir_file *file, const char *text, size_t size)
{
    struct key key;
    bool is_new;
    key_begin(&key, MLIR_OTHER_TYPE);
    key_add(&key, text, size);
    struct mlir_type *type = type_intern(file, &key, MLIR_OTHER_TYPE, &is_new);
    type->name = mlir_intern(file, text, size);
    return type;
}

const struct mlir_type *mlir_type_of_hlo(struct mlir_file *file, enum type type)
{
    switch (type_kind(type)) {
    case KIND_PRED:
        return mlir_integer(file, 1, MLIR_SIGNLESS);
    case KIND_SIGNED:
        /* A signless i1 is pred. */
        return mlir_integer(file, type_bits(type), type == TYPE_S1 ? MLIR_SIGNED : MLIR_SIGNLESS);
    case KIND_UNSIGNED:
        return mlir_integer(file, type_bits(type), MLIR_UNSIGNED);
    case KIND_COMPLEX:
        return mlir_complex(file, mlir_type_of_hlo(file, type_part(type)));
    case KIND_FLOAT:
        for (size_t i = 0; i < sizeof float_types / sizeof *float_types; i++) {
            if (float_types[i].type == type) {
                return mlir_float(file, float_types[i].name, strlen(float_types[i].name));
            }
        }
        return NULL;
    case KIND_NONE:
        break;
    }
    return type == TYPE_TOKEN ? mlir_simple(file, MLIR_TOKEN) : NULL;
}

const struct mlir_type *mlir_tensor(struct mlir_file *file, enum type type, int rank,
                                    const int64_t *sizes)
{
    return mlir_shaped(file, MLIR_TENSOR, mlir_type_of_hlo(file, type), rank, sizes, NULL);
}

int64_t mlir_type_elements(const struct mlir_type *type)
{
    int64_t elements = 1;
    for (int i = 0; i < type->rank; i++) {
        if (type->sizes[i] == MLIR_DYNAMIC ||
            __builtin_mul_overflow(elements, type->sizes[i], &elements)) {
            return -1;
        }
    }
    return elements;
}

bool mlir_type_is_static(const struct mlir_type *type)
{
    if (type->kind == MLIR_UNRANKED) {
        return false;
    }
    for (int i = 0; i < type->rank; i++) {
        if (type->sizes[i] == MLIR_DYNAMIC) {
            return false;
        }
    }
    for (int i = 0; i < type->count + type->result_count; i++) {
        if (!mlir_type_is_static(type->types[i])) {
            return false;
        }
    }
    return true;
}
