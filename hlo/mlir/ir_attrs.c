/* MLIR in memory: attributes and dictionaries. */
#include "hlo/mlir/ir.h"

#include <string.h>

struct mlir_attr *mlir_attr_new(struct mlir_file *file, enum mlir_attr_kind kind)
{
    struct mlir_attr *attr = arena_alloc(&file->arena, sizeof *attr);
    attr->kind = kind;
    return attr;
}

struct mlir_attr *mlir_attr_int(struct mlir_file *file, int64_t value, const struct mlir_type *type)
{
    struct mlir_attr *attr = mlir_attr_new(file, MLIR_ATTR_INT);
    attr->type = type;
    attr->integer = value;
    return attr;
}

static struct mlir_attr *attr_of_text(struct mlir_file *file, enum mlir_attr_kind kind,
                                      const char *text, size_t size)
{
    struct mlir_attr *attr = mlir_attr_new(file, kind);
    attr->string = (struct bytes){arena_string(&file->arena, text, size), size};
    return attr;
}

struct mlir_attr *mlir_attr_string(struct mlir_file *file, const char *text, size_t size)
{
    return attr_of_text(file, MLIR_ATTR_STRING, text, size);
}

struct mlir_attr *mlir_attr_symbol(struct mlir_file *file, const char *text, size_t size)
{
    return attr_of_text(file, MLIR_ATTR_SYMBOL, text, size);
}

struct mlir_attr *mlir_attr_ints(struct mlir_file *file, int count, const int64_t *values)
{
    struct mlir_attr *attr = mlir_attr_new(file, MLIR_ATTR_INTS);
    attr->type = mlir_integer(file, 64, MLIR_SIGNLESS);
    attr->ints.count = count;
    attr->ints.values = arena_copy(&file->arena, values, (size_t)count * sizeof *values);
    return attr;
}

struct mlir_attr *mlir_attr_word(struct mlir_file *file, const char *dialect, const char *mnemonic,
                                 const char *word, size_t size)
{
    struct mlir_attr *attr = mlir_attr_new(file, MLIR_ATTR_DIALECT);
    attr->dialect.dialect = mlir_intern(file, dialect, strlen(dialect));
    attr->dialect.mnemonic = mlir_intern(file, mnemonic, strlen(mnemonic));
    attr->dialect.word = mlir_intern(file, word, size);
    return attr;
}

/* The first entry that is not before `key`. */
static int dictionary_place(const struct mlir_dictionary *dictionary, const char *key, bool *found)
{
    int low = 0, high = dictionary->count;
    *found = false;
    while (low < high) {
        int middle = (low + high) / 2;
        int order = strcmp(dictionary->entries[middle].key, key);
        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

struct mlir_attr *mlir_get(const struct mlir_dictionary *dictionary, const char *key)
{
    bool found;
    int place = dictionary_place(dictionary, key, &found);
    return found ? dictionary->entries[place].value : NULL;
}

void mlir_set(struct mlir_file *file, struct mlir_dictionary *dictionary, const char *key,
              struct mlir_attr *value)
{
    bool found;
    int place = dictionary_place(dictionary, key, &found);
    if (found) {
        dictionary->entries[place].value = value;
        return;
    }
    /* Room doubles at the powers of two. */
    int count = dictionary->count;
    if ((count & (count - 1)) == 0) {
        int capacity = count == 0 ? 1 : 2 * count;
        struct mlir_named *entries = arena_array(&file->arena, (size_t)capacity, sizeof *entries);
        if (count > 0) {
            memcpy(entries, dictionary->entries, (size_t)count * sizeof *entries);
        }
        dictionary->entries = entries;
    }
    memmove(dictionary->entries + place + 1, dictionary->entries + place,
            (size_t)(count - place) * sizeof *dictionary->entries);
    dictionary->entries[place] = (struct mlir_named){mlir_intern(file, key, strlen(key)), value};
    dictionary->count++;
}

static bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static bool dictionary_equal(const struct mlir_dictionary *a, const struct mlir_dictionary *b)
{
    if (a->count != b->count) {
        return false;
    }
    for (int i = 0; i < a->count; i++) {
        if (strcmp(a->entries[i].key, b->entries[i].key) != 0 ||
            !mlir_attr_equal(a->entries[i].value, b->entries[i].value)) {
            return false;
        }
    }
    return true;
}

static bool text_equal(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool dense_equal(const struct mlir_attr *a, const struct mlir_attr *b)
{
    size_t size = (size_t)type_bytes(a->type->element->element_type);
    if (a->dense.splat == b->dense.splat) {
        int64_t count = a->dense.splat ? 1 : a->dense.count;
        return a->dense.count == b->dense.count &&
               memcmp(a->dense.data, b->dense.data, (size_t)count * size) == 0;
    }
    const struct mlir_attr *splat = a->dense.splat ? a : b, *full = a->dense.splat ? b : a;
    for (int64_t i = 0; i < full->dense.count; i++) {
        if (memcmp(splat->dense.data, (const char *)full->dense.data + (size_t)i * size, size) !=
            0) {
            return false;
        }
    }
    return splat->dense.count == full->dense.count;
}

static bool strings_equal(const struct mlir_attr *a, const struct mlir_attr *b)
{
    int count = a->strings.splat ? 1 : a->strings.count;
    if (a->strings.count != b->strings.count || a->strings.splat != b->strings.splat) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (!bytes_equal(a->strings.values[i], b->strings.values[i])) {
            return false;
        }
    }
    return true;
}

static bool array_equal(const struct mlir_attr *a, const struct mlir_attr *b)
{
    if (a->array.count != b->array.count) {
        return false;
    }
    for (int i = 0; i < a->array.count; i++) {
        if (!mlir_attr_equal(a->array.elements[i], b->array.elements[i])) {
            return false;
        }
    }
    return true;
}

static bool symbol_equal(const struct mlir_attr *a, const struct mlir_attr *b)
{
    if (!bytes_equal(a->string, b->string) || a->nested_count != b->nested_count) {
        return false;
    }
    for (int i = 0; i < a->nested_count; i++) {
        if (strcmp(a->nested[i], b->nested[i]) != 0) {
            return false;
        }
    }
    return true;
}

bool mlir_attr_equal(const struct mlir_attr *a, const struct mlir_attr *b)
{
    if (a == b) {
        return true;
    }
    if (a->kind != b->kind || a->type != b->type) {
        return false;
    }
    switch (a->kind) {
    case MLIR_ATTR_UNIT:
    case MLIR_ATTR_TYPE:
    case MLIR_ATTR_LOCATION:
        return true;
    case MLIR_ATTR_BOOL:
    case MLIR_ATTR_INT:
        return a->integer == b->integer;
    case MLIR_ATTR_FLOAT:
        return memcmp(&a->number, &b->number, sizeof a->number) == 0;
    case MLIR_ATTR_STRING:
    case MLIR_ATTR_RESOURCE:
    case MLIR_ATTR_OTHER:
        return bytes_equal(a->string, b->string);
    case MLIR_ATTR_SYMBOL:
        return symbol_equal(a, b);
    case MLIR_ATTR_ARRAY:
        return array_equal(a, b);
    case MLIR_ATTR_DICTIONARY:
        return dictionary_equal(&a->dictionary, &b->dictionary);
    case MLIR_ATTR_DENSE:
        return dense_equal(a, b);
    case MLIR_ATTR_STRINGS:
        return strings_equal(a, b);
    case MLIR_ATTR_INTS:
        return ints_equal(a->ints, b->ints);
    case MLIR_ATTR_FLOATS:
        return a->floats.count == b->floats.count &&
               (a->floats.count == 0 ||
                memcmp(a->floats.values, b->floats.values,
                       (size_t)a->floats.count * sizeof *a->floats.values) == 0);
    case MLIR_ATTR_DIALECT:
        return text_equal(a->dialect.dialect, b->dialect.dialect) &&
               text_equal(a->dialect.mnemonic, b->dialect.mnemonic) &&
               text_equal(a->dialect.word, b->dialect.word) &&
               dictionary_equal(&a->dialect.parameters, &b->dialect.parameters);
    }
    return false;
}

/* Element `index` of a DENSE of integers. */
static int64_t dense_int(const struct mlir_attr *attr, int64_t index)
{
    enum type type = attr->type->element->element_type;
    const char *at = attr->dense.data;
    at += attr->dense.splat ? 0 : index * type_bytes(type);
    bool is_signed = type_kind(type) == KIND_SIGNED;
    switch (type_bytes(type)) {
    case 1:
        return is_signed ? *(const int8_t *)at : *(const uint8_t *)at;
    case 2:
        return is_signed ? *(const int16_t *)at : *(const uint16_t *)at;
    case 4:
        return is_signed ? (int64_t) * (const int32_t *)at : (int64_t) * (const uint32_t *)at;
    default:
        return *(const int64_t *)at;
    }
}

enum { SPLAT_INTS_MOST = 1 << 12 };

bool mlir_attr_as_ints(struct mlir_file *file, const struct mlir_attr *attr, struct ints *ints)
{
    int64_t count = attr->kind == MLIR_ATTR_INTS    ? attr->ints.count
                    : attr->kind == MLIR_ATTR_DENSE ? attr->dense.count
                    : attr->kind == MLIR_ATTR_ARRAY ? attr->array.count
                                                    : -1;
    if (attr->kind == MLIR_ATTR_INTS) {
        *ints = attr->ints;
        return true;
    }
    /* What is written out is no longer than the file; a splat may say any length. */
    bool is_splat = attr->kind == MLIR_ATTR_DENSE && attr->dense.splat;
    if (count < 0 || count > (is_splat ? SPLAT_INTS_MOST : INT32_MAX)) {
        return false;
    }
    if (attr->kind == MLIR_ATTR_DENSE) {
        enum type type = attr->type->element->element_type;
        if (type != TYPE_PRED && !type_is_integer(type)) {
            return false;
        }
    }
    int64_t *values = arena_array(&file->arena, (size_t)count, sizeof *values);
    for (int i = 0; i < count; i++) {
        if (attr->kind == MLIR_ATTR_DENSE) {
            values[i] = dense_int(attr, i);
            continue;
        }
        const struct mlir_attr *element = attr->array.elements[i];
        if (element->kind != MLIR_ATTR_INT && element->kind != MLIR_ATTR_BOOL) {
            return false;
        }
        values[i] = element->integer;
    }
    *ints = (struct ints){(int)count, values};
    return true;
}

bool mlir_attr_is_empty(const struct mlir_attr *attr)
{
    switch (attr->kind) {
    case MLIR_ATTR_STRING:
        return attr->string.size == 0;
    case MLIR_ATTR_ARRAY:
        return attr->array.count == 0;
    case MLIR_ATTR_DICTIONARY:
        return attr->dictionary.count == 0;
    case MLIR_ATTR_INTS:
        return attr->ints.count == 0;
    case MLIR_ATTR_DENSE:
        return attr->dense.count == 0;
    default:
        return false;
    }
}

bool mlir_attr_is_word(const struct mlir_attr *attr, const char *mnemonic, const char *word)
{
    return attr->kind == MLIR_ATTR_DIALECT && attr->dialect.word != NULL &&
           (mnemonic == NULL || strcmp(attr->dialect.mnemonic, mnemonic) == 0) &&
           strcmp(attr->dialect.word, word) == 0;
}
