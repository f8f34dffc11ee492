/* Attributes of MLIR text: numbers, strings, lists, dictionaries, symbols; the others by their
 * first word. Source: mlir/lib/AsmParser/AttributeParser.cpp. */
#include <stdlib.h>

#include "hlo/floats.h"
#include "hlo/mlir/text/reader_internal.h"

/* --- made here --- */

struct mlir_attr *reader_attr_bool(struct reader *reader, bool value)
{
    struct mlir_attr *attr = mlir_attr_new(reader->file, MLIR_ATTR_BOOL);
    attr->type = mlir_integer(reader->file, 1, MLIR_SIGNLESS);
    attr->integer = value;
    return attr;
}

struct mlir_attr *reader_attr_unit(struct reader *reader)
{
    return mlir_attr_new(reader->file, MLIR_ATTR_UNIT);
}

struct mlir_attr *reader_attr_array(struct reader *reader, int count,
                                    struct mlir_attr *const *elements)
{
    struct mlir_attr *attr = mlir_attr_new(reader->file, MLIR_ATTR_ARRAY);
    attr->array.count = count;
    attr->array.elements =
        arena_copy(&reader->file->arena, elements, (size_t)count * sizeof(*elements));
    return attr;
}

struct mlir_attr *reader_attr_type(struct reader *reader, const struct mlir_type *type)
{
    struct mlir_attr *attr = mlir_attr_new(reader->file, MLIR_ATTR_TYPE);
    attr->type = type;
    return attr;
}

/* --- numbers --- */

bool reader_integer_bits(struct reader *reader, const struct reader_number *number,
                         const struct mlir_type *type, int64_t *value)
{
    if (number->decimal) {
        return reader_fail(reader, number->at, "a float where an integer is expected");
    }
    if (type->width > 64 && !number->too_large) {
        return reader_fail_code(reader, ERROR_UNIMPLEMENTED, number->at,
                                "integers of more than 64 bits are not supported");
    }
    bool is_signed = type->sign == MLIR_SIGNED || type->kind == MLIR_INDEX;
    uint64_t sign = type->width > 0 ? (uint64_t)1 << (type->width - 1) : 0;
    uint64_t most = type->width == 0 ? 0 : sign | (sign - 1);
    bool fits =
        !number->too_large &&
        (number->negative ? type->sign != MLIR_UNSIGNED && number->integer <= sign &&
                                (number->integer > 0 || type->width > 0)
                          : number->integer <= (is_signed && type->width > 0 ? sign - 1 : most));
    if (!fits) {
        return reader_fail(reader, number->at, "an integer out of its type's range");
    }
    uint64_t bits = number->negative ? 0 - number->integer : number->integer;
    /* Narrow ones are kept with their sign, unsigned ones and i1 without. */
    if (!number->negative && type->sign != MLIR_UNSIGNED && type->width > 1 && (bits & sign) != 0) {
        bits |= ~most;
    }
    *value = (int64_t)(type->width == 1 && type->sign != MLIR_SIGNED ? bits & 1 : bits);
    return true;
}

bool reader_float_value(struct reader *reader, const struct reader_number *number,
                        const struct mlir_type *type, double *value)
{
    enum type hlo = type->element_type;
    if (hlo == TYPE_INVALID) {
        return reader_fail_code(reader, ERROR_UNIMPLEMENTED, number->at,
                                "floats of type %s are not supported", type->name);
    }
    if (number->decimal) {
        *value = float_round(hlo, number->real);
        return true;
    }
    if (!number->hex) {
        return reader_fail(reader, number->at,
                           "an integer where a float is expected (1.0, or its bits as 0x…)");
    }
    if (number->negative || number->too_large ||
        (type->width < 64 && number->integer >> type->width != 0)) {
        return reader_fail(reader, number->at, "bits that are no %s", type->name);
    }
    *value = float_to_double(hlo, number->integer);
    return true;
}

bool reader_number_attr(struct reader *reader, const struct mlir_type *type,
                        struct mlir_attr **result)
{
    struct reader_number number;
    if (!reader_number(reader, &number)) {
        return false;
    }
    if (type == NULL && reader_accept(reader, ':') && !reader_type(reader, &type)) {
        return false;
    }
    if (type == NULL) {
        type = number.decimal ? mlir_float(reader->file, "f64", 3)
                              : mlir_integer(reader->file, 64, MLIR_SIGNLESS);
    }
    if (type->kind == MLIR_FLOAT) {
        struct mlir_attr *attr = mlir_attr_new(reader->file, MLIR_ATTR_FLOAT);
        attr->type = type;
        *result = attr;
        return reader_float_value(reader, &number, type, &attr->number);
    }
    if (type->kind != MLIR_INTEGER && type->kind != MLIR_INDEX) {
        return reader_fail(reader, number.at, "a number of a type that has none");
    }
    int64_t value;
    if (!reader_integer_bits(reader, &number, type, &value)) {
        return false;
    }
    *result = mlir_attr_int(reader->file, value, type);
    if (type->width == 1 && type->sign == MLIR_SIGNLESS) {
        (*result)->kind = MLIR_ATTR_BOOL;
    }
    return true;
}

/* --- strings and symbols --- */

static bool read_string(struct reader *reader, const struct mlir_type *type,
                        struct mlir_attr **result)
{
    struct mlir_attr *attr = mlir_attr_new(reader->file, MLIR_ATTR_STRING);
    *result = attr;
    attr->type = type;
    return reader_string(reader, &attr->string) &&
           (type != NULL || !reader_accept(reader, ':') || reader_type(reader, &attr->type));
}

/* @a::@b */
static bool read_symbol(struct reader *reader, struct mlir_attr **result)
{
    struct mlir_attr *attr = mlir_attr_new(reader->file, MLIR_ATTR_SYMBOL);
    *result = attr;
    if (!reader_symbol_name(reader, &attr->string)) {
        return false;
    }
    int capacity = 0;
    while (reader_peek(reader) == ':' && reader->at[1] == ':') {
        reader->at += 2;
        struct bytes name;
        if (!reader_symbol_name(reader, &name)) {
            return false;
        }
        if (attr->nested_count == capacity) {
            capacity = capacity == 0 ? 2 : 2 * capacity;
            const char **nested =
                arena_array(&reader->file->arena, (size_t)capacity, sizeof *nested);
            if (attr->nested_count > 0) {
                memcpy(nested, attr->nested, (size_t)attr->nested_count * sizeof *nested);
            }
            attr->nested = nested;
        }
        ((const char **)attr->nested)[attr->nested_count++] = name.data;
    }
    return true;
}

/* --- lists and dictionaries --- */

static bool read_array(struct reader *reader, struct mlir_attr **result)
{
    struct mlir_attr *few[8], **elements = few;
    int count = 0, capacity = (int)(sizeof few / sizeof(*few));
    if (!reader_expect(reader, '[')) {
        return false;
    }
    if (!reader_accept(reader, ']')) {
        do {
            if (count == capacity) {
                struct mlir_attr **more =
                    arena_array(&reader->file->arena, 2 * (size_t)capacity, sizeof(*more));
                memcpy(more, elements, (size_t)count * sizeof(*more));
                elements = more;
                capacity *= 2;
            }
            if (!reader_attr(reader, &elements[count++])) {
                return false;
            }
        } while (reader_accept(reader, ','));
        if (!reader_expect(reader, ']')) {
            return false;
        }
    }
    *result = reader_attr_array(reader, count, elements);
    return true;
}

/* The key of an entry: a word, a number's word (i32) or a string; interned. */
static bool read_key(struct reader *reader, const char **key)
{
    if (reader_peek(reader) == '"') {
        const char *at = reader->at;
        struct bytes string;
        if (!reader_string(reader, &string)) {
            return false;
        }
        if (string.size == 0 || memchr(string.data, '\0', string.size) != NULL) {
            return reader_fail(reader, at, "a name that is empty or has a zero byte");
        }
        *key = mlir_intern(reader->file, string.data, string.size);
        return true;
    }
    struct span word = reader_word(reader);
    if (word.size == 0) {
        return reader_expected(reader, "the name of an attribute");
    }
    *key = mlir_intern(reader->file, word.data, word.size);
    return true;
}

/* An entry as it is read. */
struct entry {
    struct mlir_named named;
    const char *at;
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;
    int order = strcmp(left->named.key, right->named.key);
    return order != 0 ? order : left->at < right->at ? -1 : 1;
}

/* Few entries are put in their places; many are sorted, with those that are there already. */
static bool add_entries(struct reader *reader, struct mlir_dictionary *dictionary,
                        struct entry *entries, int count)
{
    enum { FEW = 16 };
    const struct entry *twice = NULL;
    if (dictionary->count + count <= FEW) {
        for (int i = 0; i < count && twice == NULL; i++) {
            const char *key = entries[i].named.key;
            twice = mlir_get(dictionary, key) != NULL ? &entries[i] : NULL;
            mlir_set(reader->file, dictionary, key, entries[i].named.value);
        }
    } else {
        size_t total = (size_t)dictionary->count + (size_t)count;
        struct entry *all = memory_alloc(total * sizeof *all);
        for (int i = 0; i < dictionary->count; i++) {
            all[i] = (struct entry){dictionary->entries[i], reader->text};
        }
        memcpy(all + dictionary->count, entries, (size_t)count * sizeof *all);
        qsort(all, total, sizeof *all, compare_entries);
        /* Room is for a power of two of entries, as mlir_set() expects. */
        size_t room = 1;
        while (room < total) {
            room *= 2;
        }
        dictionary->entries = arena_array(&reader->file->arena, room, sizeof *dictionary->entries);
        dictionary->count = (int)total;
        for (size_t i = 0; i < total; i++) {
            dictionary->entries[i] = all[i].named;
            if (i > 0 && strcmp(all[i].named.key, all[i - 1].named.key) == 0 && twice == NULL) {
                entries[0] = all[i];
                twice = &entries[0];
            }
        }
        free(all);
    }
    return twice == NULL ||
           reader_fail(reader, twice->at, "attribute '%s' is given twice", twice->named.key);
}

bool reader_attr_dict(struct reader *reader, struct mlir_dictionary *dictionary)
{
    if (!reader_accept(reader, '{') || reader_accept(reader, '}')) {
        return true;
    }
    struct entry few[16], *entries = few;
    int count = 0, capacity = (int)(sizeof few / sizeof *few);
    do {
        if (count == capacity) {
            struct entry *more =
                arena_array(&reader->file->arena, 2 * (size_t)capacity, sizeof *more);
            entries = memcpy(more, entries, (size_t)count * sizeof *more);
            capacity *= 2;
        }
        struct entry *entry = &entries[count++];
        reader_skip(reader);
        entry->at = reader->at;
        if (!read_key(reader, &entry->named.key)) {
            return false;
        }
        if (!reader_accept(reader, '=')) {
            entry->named.value = reader_attr_unit(reader);
        } else if (!reader_attr(reader, &entry->named.value)) {
            return false;
        }
    } while (reader_accept(reader, ','));
    return reader_expect(reader, '}') && add_entries(reader, dictionary, entries, count);
}

bool reader_attributes_keyword(struct reader *reader, struct mlir_dictionary *dictionary)
{
    if (!reader_accept_word(reader, "attributes")) {
        return true;
    }
    return (reader_peek(reader) == '{' || reader_expected(reader, "'{'")) &&
           reader_attr_dict(reader, dictionary);
}

static bool read_dictionary(struct reader *reader, struct mlir_attr **result)
{
    *result = mlir_attr_new(reader->file, MLIR_ATTR_DICTIONARY);
    return reader_attr_dict(reader, &(*result)->dictionary);
}

/* --- attributes that are kept as text, and those that begin with a word --- */

/* word<…>, as it stands. */
static bool read_text(struct reader *reader, const char *begin, struct mlir_attr **result)
{
    struct span body;
    if (reader_peek(reader) != '<') {
        return reader_expected(reader, "'<'");
    }
    if (!reader_balanced(reader, &body)) {
        return false;
    }
    struct mlir_attr *attr = mlir_attr_new(reader->file, MLIR_ATTR_OTHER);
    size_t size = (size_t)(reader->at - begin);
    attr->string = (struct bytes){arena_string(&reader->file->arena, begin, size), size};
    *result = attr;
    return true;
}

/* distinct[0]<attribute> */
static bool read_distinct(struct reader *reader, const char *begin, struct mlir_attr **result)
{
    struct span number;
    return (reader_peek(reader) == '[' || reader_expected(reader, "'['")) &&
           reader_balanced(reader, &number) && read_text(reader, begin, result);
}

static bool read_location_attr(struct reader *reader, struct mlir_attr **result)
{
    *result = mlir_attr_new(reader->file, MLIR_ATTR_LOCATION);
    return reader_location_body(reader, &(*result)->location);
}

static bool read_word_attr(struct reader *reader, const struct mlir_type *type,
                           struct mlir_attr **result)
{
    const char *begin = reader->at;
    struct span word = reader_keyword(reader);
    switch (word.size > 0 ? word.data[0] : '\0') {
    case 't':
    case 'f':
        if (span_is(word, "true") || span_is(word, "false")) {
            *result = reader_attr_bool(reader, word.data[0] == 't');
            return true;
        }
        break;
    case 'd':
        if (span_is(word, "dense")) {
            return reader_dense(reader, type, result);
        }
        if (span_is(word, "dense_resource")) {
            return reader_dense_resource(reader, type, result);
        }
        if (span_is(word, "distinct")) {
            return read_distinct(reader, begin, result);
        }
        break;
    case 'a':
        if (span_is(word, "array")) {
            return reader_array_attr(reader, result);
        }
        if (span_is(word, "affine_map") || span_is(word, "affine_set")) {
            return read_text(reader, begin, result);
        }
        break;
    case 's':
        if (span_is(word, "sparse")) {
            return reader_sparse(reader, type, result);
        }
        if (span_is(word, "strided")) {
            return read_text(reader, begin, result);
        }
        break;
    case 'u':
        if (span_is(word, "unit")) {
            *result = reader_attr_unit(reader);
            return true;
        }
        break;
    case 'l':
        if (span_is(word, "loc")) {
            return read_location_attr(reader, result);
        }
        break;
    default:
        break;
    }
    reader->at = begin;
    if (word.size == 0 && *begin != '!' && *begin != '(') {
        return reader_expected(reader, "an attribute");
    }
    const struct mlir_type *value;
    if (!reader_type(reader, &value)) {
        return false;
    }
    *result = reader_attr_type(reader, value);
    return true;
}

/* #alias, or an attribute of a dialect. */
static bool read_hash(struct reader *reader, struct mlir_attr **result)
{
    const char *begin = reader->at;
    struct span name = reader_alias_name(reader);
    if (name.size >= 2 && memchr(name.data, '.', name.size) == NULL && *reader->at != '<') {
        struct mlir_location *location;
        if (reader_location_attr_alias(reader, name, &location)) {
            *result = mlir_attr_new(reader->file, MLIR_ATTR_LOCATION);
            (*result)->location = location;
            return true;
        }
        const struct reader_alias *alias = reader_alias(reader, name);
        *result = alias == NULL ? NULL : alias->attr;
        return alias != NULL;
    }
    reader->at = begin;
    return reader_dialect_attr(reader, result);
}

static bool read_attr(struct reader *reader, const struct mlir_type *type,
                      struct mlir_attr **result)
{
    char c = reader_peek(reader);
    switch (c) {
    case '"':
        return read_string(reader, type, result);
    case '@':
        return read_symbol(reader, result);
    case '[':
        return read_array(reader, result);
    case '{':
        return read_dictionary(reader, result);
    case '#':
        return read_hash(reader, result);
    default:
        if (c == '-' || (reader_class_of(c) & CLASS_DIGIT)) {
            return reader_number_attr(reader, type, result);
        }
        return read_word_attr(reader, type, result);
    }
}

bool reader_attr_of_type(struct reader *reader, const struct mlir_type *type,
                         struct mlir_attr **attr)
{
    *attr = NULL;
    if (!reader_enter(reader)) {
        return false;
    }
    bool read = read_attr(reader, type, attr);
    reader_leave(reader);
    return read;
}

bool reader_attr(struct reader *reader, struct mlir_attr **attr)
{
    return reader_attr_of_type(reader, NULL, attr);
}
