/* The builtin dialect's encodings of attributes.
 * Source: mlir/include/mlir/IR/BuiltinDialectBytecode.td, mlir/lib/IR/BuiltinDialectBytecode.cpp;
 * what jaxlib 0.10.2 (MLIR 23) writes. Affine maps, strided layouts and integer sets are text
 * there. */
#include <stdlib.h>
#include <string.h>

#include "hlo/base/text.h"
#include "hlo/floats.h"
#include "hlo/mlir/bytecode/builtin.h"

struct mlir_attr *bytecode_bool(struct mlir_file *file, bool value)
{
    struct mlir_attr *attr = mlir_attr_new(file, MLIR_ATTR_BOOL);
    attr->type = mlir_integer(file, 1, MLIR_SIGNLESS);
    attr->integer = value ? 1 : 0;
    return attr;
}

struct mlir_attr *bytecode_type_attr(struct mlir_file *file, const struct mlir_type *type)
{
    struct mlir_attr *attr = mlir_attr_new(file, MLIR_ATTR_TYPE);
    attr->type = type;
    return attr;
}

struct mlir_attr *bytecode_array(struct mlir_file *file, int count, struct mlir_attr **elements)
{
    struct mlir_attr *attr = mlir_attr_new(file, MLIR_ATTR_ARRAY);
    attr->array.count = count;
    attr->array.elements = elements;
    return attr;
}

/* --- numbers --- */

struct mlir_attr *bytecode_integer(struct mlir_file *file, const struct mlir_type *type,
                                   uint64_t bits)
{
    if (type->kind == MLIR_INTEGER && type->width == 1 && type->sign == MLIR_SIGNLESS) {
        return bytecode_bool(file, (bits & 1) != 0);
    }
    if (type->sign != MLIR_UNSIGNED && type->width > 0 && type->width < 64) {
        uint64_t sign = (uint64_t)1 << (type->width - 1);
        bits = (bits ^ sign) - sign;
    }
    return mlir_attr_int(file, (int64_t)bits, type);
}

static struct mlir_attr *read_integer(struct cursor *cursor)
{
    const struct mlir_type *type;
    uint64_t bits;
    if (!cursor_type(cursor, &type)) {
        return NULL;
    }
    if (type->kind != MLIR_INTEGER && type->kind != MLIR_INDEX) {
        cursor_fail(cursor, "an integer of a type that is none");
        return NULL;
    }
    return cursor_bits(cursor, type->width, &bits)
               ? bytecode_integer(cursor->bytecode->file, type, bits)
               : NULL;
}

static struct mlir_attr *read_float(struct cursor *cursor)
{
    const struct mlir_type *type;
    double number;
    if (!cursor_type(cursor, &type) || !cursor_float(cursor, type, &number)) {
        return NULL;
    }
    struct mlir_attr *attr = mlir_attr_new(cursor->bytecode->file, MLIR_ATTR_FLOAT);
    attr->type = type;
    attr->number = number;
    return attr;
}

/* --- strings, symbols --- */

static struct mlir_attr *read_string(struct cursor *cursor, bool has_type)
{
    struct bytecode_string string;
    const struct mlir_type *type = NULL;
    if (!cursor_string(cursor, &string) || (has_type && !cursor_type(cursor, &type))) {
        return NULL;
    }
    struct mlir_attr *attr = mlir_attr_string(cursor->bytecode->file, string.text, string.size);
    attr->type = type;
    return attr;
}

/* Names are used as C strings from here on. */
static bool name_attr(struct cursor *cursor, enum mlir_attr_kind kind, struct mlir_attr **attr)
{
    if (!cursor_attr_of(cursor, kind, attr)) {
        return false;
    }
    if (memchr((*attr)->string.data, 0, (*attr)->string.size) != NULL) {
        return cursor_fail(cursor, "a name with a zero byte in it");
    }
    return true;
}

static struct mlir_attr *read_symbol(struct cursor *cursor, bool is_nested)
{
    struct mlir_attr *root;
    if (!name_attr(cursor, MLIR_ATTR_STRING, &root)) {
        return NULL;
    }
    struct mlir_file *file = cursor->bytecode->file;
    struct mlir_attr *attr = mlir_attr_symbol(file, root->string.data, root->string.size);
    if (!is_nested) {
        return attr;
    }
    int count;
    if (!cursor_count(cursor, 1, &count)) {
        return NULL;
    }
    const char **nested = arena_array(&file->arena, (size_t)count, sizeof *nested);
    for (int i = 0; i < count; i++) {
        struct mlir_attr *leaf;
        if (!name_attr(cursor, MLIR_ATTR_SYMBOL, &leaf)) {
            return NULL;
        }
        nested[i] = mlir_intern(file, leaf->string.data, leaf->string.size);
    }
    attr->nested_count = count;
    attr->nested = nested;
    return attr;
}

/* --- arrays, dictionaries --- */

static struct mlir_attr *read_array(struct cursor *cursor)
{
    int count;
    struct mlir_attr **elements;
    return cursor_attrs(cursor, &count, &elements)
               ? bytecode_array(cursor->bytecode->file, count, elements)
               : NULL;
}

static int named_order(const void *a, const void *b)
{
    return strcmp(((const struct mlir_named *)a)->key, ((const struct mlir_named *)b)->key);
}

void bytecode_dictionary_reserve(struct mlir_file *file, struct mlir_dictionary *dictionary,
                                 int count)
{
    size_t capacity = 1;
    while (capacity < (size_t)count) {
        capacity *= 2;
    }
    dictionary->count = 0;
    dictionary->entries = arena_array(&file->arena, capacity, sizeof *dictionary->entries);
}

bool bytecode_dictionary_sort(struct cursor *cursor, struct mlir_dictionary *dictionary)
{
    bool is_sorted = true;
    for (int i = 1; i < dictionary->count; i++) {
        is_sorted &= strcmp(dictionary->entries[i - 1].key, dictionary->entries[i].key) < 0;
    }
    if (is_sorted) {
        return true;
    }
    qsort(dictionary->entries, (size_t)dictionary->count, sizeof *dictionary->entries, named_order);
    for (int i = 1; i < dictionary->count; i++) {
        if (strcmp(dictionary->entries[i - 1].key, dictionary->entries[i].key) == 0) {
            return cursor_fail(cursor, "attribute \"%.100s\" twice", dictionary->entries[i].key);
        }
    }
    return true;
}

struct mlir_attr *bytecode_dictionary(struct cursor *cursor)
{
    struct mlir_file *file = cursor->bytecode->file;
    int count;
    if (!cursor_count(cursor, 2, &count)) {
        return NULL;
    }
    struct mlir_attr *attr = mlir_attr_new(file, MLIR_ATTR_DICTIONARY);
    struct mlir_dictionary *dictionary = &attr->dictionary;
    bytecode_dictionary_reserve(file, dictionary, count);
    for (int i = 0; i < count; i++) {
        struct mlir_attr *name, *value;
        if (!name_attr(cursor, MLIR_ATTR_STRING, &name) || !cursor_attr(cursor, &value)) {
            return NULL;
        }
        const char *key = mlir_intern(file, name->string.data, name->string.size);
        dictionary->entries[dictionary->count++] = (struct mlir_named){key, value};
    }
    return bytecode_dictionary_sort(cursor, dictionary) ? attr : NULL;
}

/* --- elements --- */

static bool shaped_type(struct cursor *cursor, const struct mlir_type **type)
{
    if (!cursor_type(cursor, type)) {
        return false;
    }
    if (((*type)->kind != MLIR_TENSOR && (*type)->kind != MLIR_VECTOR) ||
        mlir_type_elements(*type) < 0) {
        return cursor_fail(cursor, "elements of a type without a shape");
    }
    return true;
}

static struct mlir_attr *read_dense(struct cursor *cursor)
{
    const struct mlir_type *type;
    const uint8_t *data;
    size_t size;
    return shaped_type(cursor, &type) && cursor_blob(cursor, &data, &size)
               ? cursor_dense(cursor, type, data, size)
               : NULL;
}

static struct mlir_attr *read_strings(struct cursor *cursor)
{
    struct mlir_file *file = cursor->bytecode->file;
    const struct mlir_type *type;
    uint64_t is_splat;
    if (!shaped_type(cursor, &type) || !cursor_varint(cursor, &is_splat)) {
        return NULL;
    }
    int64_t count = mlir_type_elements(type), stored = is_splat != 0 ? 1 : count;
    if ((uint64_t)stored > cursor_left(cursor) || count > INT32_MAX) {
        cursor_fail(cursor, "%lld strings in %zu bytes", (long long)count, cursor_left(cursor));
        return NULL;
    }
    struct bytes *values = arena_array(&file->arena, (size_t)stored, sizeof *values);
    for (int64_t i = 0; i < stored; i++) {
        struct bytecode_string string;
        if (!cursor_string(cursor, &string)) {
            return NULL;
        }
        values[i] =
            (struct bytes){arena_string(&file->arena, string.text, string.size), string.size};
    }
    struct mlir_attr *attr = mlir_attr_new(file, MLIR_ATTR_STRINGS);
    attr->type = type;
    attr->strings.count = (int)count;
    attr->strings.values = values;
    attr->strings.splat = is_splat != 0;
    return attr;
}

static struct mlir_attr *read_resource(struct cursor *cursor)
{
    struct bytecode *bytecode = cursor->bytecode;
    const struct mlir_type *type;
    uint64_t index;
    if (!shaped_type(cursor, &type) || !cursor_varint(cursor, &index)) {
        return NULL;
    }
    if (index >= bytecode->resource_count) {
        cursor_fail(cursor, "resource %llu of %zu", (unsigned long long)index,
                    bytecode->resource_count);
        return NULL;
    }
    struct bytecode_string key = bytecode->resources[index];
    const struct mlir_attr *blob = map_get(&bytecode->file->resources, key.text, key.size);
    if (blob != NULL) {
        return cursor_dense_bytes(cursor, type, (const uint8_t *)blob->string.data,
                                  blob->string.size);
    }
    struct mlir_attr *attr = mlir_attr_new(bytecode->file, MLIR_ATTR_RESOURCE);
    attr->type = type;
    attr->string =
        (struct bytes){arena_string(&bytecode->file->arena, key.text, key.size), key.size};
    return attr;
}

/* --- the rest --- */

static struct mlir_attr *read_type_attr(struct cursor *cursor)
{
    const struct mlir_type *type;
    return cursor_type(cursor, &type) ? bytecode_type_attr(cursor->bytecode->file, type) : NULL;
}

/* The number that tells distinct attributes of one value apart is not written. */
static struct mlir_attr *read_distinct(struct cursor *cursor)
{
    struct mlir_attr *inner;
    if (!cursor_attr(cursor, &inner)) {
        return NULL;
    }
    struct text text;
    text_init(&text);
    text_append(&text, "distinct[0]<");
    mlir_print_attr(inner, &text);
    text_append(&text, ">");
    struct mlir_attr *attr = mlir_attr_new(cursor->bytecode->file, MLIR_ATTR_OTHER);
    attr->string = (struct bytes){
        arena_string(&cursor->bytecode->file->arena, text.data, text.size), text.size};
    text_finish(&text);
    return attr;
}

/* --- locations --- */

static struct mlir_attr *location_attr(struct cursor *cursor, enum mlir_location_kind kind)
{
    struct mlir_file *file = cursor->bytecode->file;
    struct mlir_attr *attr = mlir_attr_new(file, MLIR_ATTR_LOCATION);
    attr->location = arena_alloc(&file->arena, sizeof *attr->location);
    attr->location->kind = kind;
    return attr;
}

static bool read_location(struct cursor *cursor, struct mlir_location **location)
{
    struct mlir_attr *attr;
    if (!cursor_attr_of(cursor, MLIR_ATTR_LOCATION, &attr)) {
        return false;
    }
    *location = attr->location;
    return true;
}

static bool read_locations(struct cursor *cursor, struct mlir_location *location, int count)
{
    location->children =
        arena_array(&cursor->bytecode->file->arena, (size_t)count, sizeof *location->children);
    for (int i = 0; i < count; i++) {
        if (!read_location(cursor, &location->children[i])) {
            return false;
        }
    }
    location->count = count;
    return true;
}

static struct mlir_attr *read_call_location(struct cursor *cursor)
{
    struct mlir_attr *attr = location_attr(cursor, MLIR_LOC_CALL);
    return read_locations(cursor, attr->location, 2) ? attr : NULL;
}

static struct mlir_attr *read_fused_location(struct cursor *cursor, bool has_metadata)
{
    struct mlir_attr *attr = location_attr(cursor, MLIR_LOC_FUSED);
    int count;
    if (!cursor_count(cursor, 1, &count) || !read_locations(cursor, attr->location, count) ||
        (has_metadata && !cursor_attr(cursor, &attr->location->metadata))) {
        return NULL;
    }
    return attr;
}

static struct mlir_attr *read_name_location(struct cursor *cursor)
{
    struct mlir_attr *attr = location_attr(cursor, MLIR_LOC_NAME), *name;
    struct mlir_location *location = attr->location;
    if (!name_attr(cursor, MLIR_ATTR_STRING, &name) || !read_locations(cursor, location, 1)) {
        return NULL;
    }
    location->text = name->string.data;
    /* Text has no child where there is nothing to say. */
    location->count = location->children[0]->kind == MLIR_LOC_UNKNOWN ? 0 : 1;
    return attr;
}

static bool read_place(struct cursor *cursor, int64_t *place)
{
    uint64_t value;
    if (!cursor_varint(cursor, &value)) {
        return false;
    }
    *place = value > INT64_MAX ? INT64_MAX : (int64_t)value;
    return true;
}

static struct mlir_attr *read_file_location(struct cursor *cursor)
{
    struct mlir_attr *attr = location_attr(cursor, MLIR_LOC_FILE), *name;
    struct mlir_location *location = attr->location;
    if (!name_attr(cursor, MLIR_ATTR_STRING, &name) || !read_place(cursor, &location->line) ||
        !read_place(cursor, &location->column)) {
        return NULL;
    }
    location->text = name->string.data;
    return attr;
}

/* Up to four numbers: line; column; then the last column of that line; or end line and column. */
static struct mlir_attr *read_range_location(struct cursor *cursor)
{
    struct mlir_attr *attr = location_attr(cursor, MLIR_LOC_FILE), *name;
    struct mlir_location *location = attr->location;
    int count;
    int64_t places[4] = {0};
    if (!name_attr(cursor, MLIR_ATTR_STRING, &name) || !cursor_count(cursor, 1, &count)) {
        return NULL;
    }
    if (count > 4) {
        cursor_fail(cursor, "%d numbers of a place in a file", count);
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        if (!read_place(cursor, &places[i])) {
            return NULL;
        }
    }
    location->text = name->string.data;
    location->line = places[0];
    location->column = places[1];
    if (count >= 3) {
        location->end_line = count == 4 ? places[2] : places[0];
        location->end_column = count == 4 ? places[3] : places[2];
    }
    return attr;
}

/* --- codes --- */

static struct mlir_attr *builtin_attr(struct cursor *cursor, uint64_t code)
{
    switch (code) {
    case 0:
        return read_array(cursor);
    case 1:
        return bytecode_dictionary(cursor);
    case 2:
        return read_string(cursor, false);
    case 3:
        return read_string(cursor, true);
    case 4:
        return read_symbol(cursor, false);
    case 5:
        return read_symbol(cursor, true);
    case 6:
        return read_type_attr(cursor);
    case 7:
        return mlir_attr_new(cursor->bytecode->file, MLIR_ATTR_UNIT);
    case 8:
        return read_integer(cursor);
    case 9:
        return read_float(cursor);
    case 10:
        return read_call_location(cursor);
    case 11:
        return read_file_location(cursor);
    case 12:
        return read_fused_location(cursor, false);
    case 13:
        return read_fused_location(cursor, true);
    case 14:
        return read_name_location(cursor);
    case 15:
        return location_attr(cursor, MLIR_LOC_UNKNOWN);
    case 16:
        return read_resource(cursor);
    case 17:
        return read_dense_array(cursor);
    case 18:
        return read_dense(cursor);
    case 19:
        return read_strings(cursor);
    case 20:
        return read_sparse(cursor);
    case 21:
        return read_distinct(cursor);
    case 22:
        return read_range_location(cursor);
    default:
        return NULL;
    }
}

static const struct op_properties builtin_ops[] = {
    {"module", "sym_name? sym_visibility?"},
};

const struct dialect_reader builtin_dialect = {
    .name = "builtin",
    .read_attr = builtin_attr,
    .read_type = builtin_type,
    .ops = builtin_ops,
    .op_count = sizeof builtin_ops / sizeof *builtin_ops,
};
