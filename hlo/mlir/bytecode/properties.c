/* Properties of ops, which become attributes.
 * Sources: mlir/tools/mlir-tblgen/OpDefinitionsGen.cpp (what an op writes), mlir/include/mlir/
 * Bytecode/BytecodeImplementation.h (sparse arrays), mlir/lib/Bytecode. */
#include <inttypes.h>
#include <string.h>

#include "hlo/mlir/bytecode/container.h"

/* One word of a row: "name", "name?" or "name[n]". */
struct property {
    const char *name;
    size_t size;
    bool is_optional;
    int segments; /* n, or 0 */
};

enum { SEGMENTS_MOST = 16, PROPERTIES_MOST = 32 };

static bool next_property(const char **at, struct property *property)
{
    const char *begin = *at + (**at == ' ' ? 1 : 0), *end = begin;
    if (*begin == '\0') {
        return false;
    }
    while (*end != '\0' && *end != ' ' && *end != '?' && *end != '[') {
        end++;
    }
    *property = (struct property){begin, (size_t)(end - begin), *end == '?', 0};
    if (*end == '?') {
        end++;
    } else if (*end == '[') {
        for (end++; *end != ']'; end++) {
            property->segments = property->segments * 10 + (*end - '0');
        }
        end++;
    }
    *at = end;
    return true;
}

static int row_count(const struct op_properties *row)
{
    const char *at = row->attrs;
    struct property property;
    int count = 0;
    while (next_property(&at, &property)) {
        count++;
    }
    return count;
}

/* The properties of a row in the order in which that version writes them: where segment sizes were
 * attributes, they stand among the others, by name. */
static int row_properties(const struct op_properties *row, uint64_t version,
                          struct property properties[PROPERTIES_MOST])
{
    const char *at = row->attrs;
    struct property property;
    int count = 0;
    while (count < PROPERTIES_MOST && next_property(&at, &property)) {
        int place = count++;
        while (version < VERSION_SEGMENTS && place > 0 &&
               strncmp(properties[place - 1].name, property.name, property.size) > 0) {
            properties[place] = properties[place - 1];
            place--;
        }
        properties[place] = property;
    }
    return count;
}

int bytecode_properties_most(const struct bytecode_op_name *name)
{
    int most = 0;
    for (int i = 0; i < name->layout_count; i++) {
        int count = row_count(&name->properties[i]);
        most = count > most ? count : most;
    }
    return most;
}

/* The row of as many properties as there are numbers; the last if there is none such. */
static const struct op_properties *choose_row(const struct cursor *cursor,
                                              const struct bytecode_op_name *name)
{
    const struct op_properties *row = name->properties;
    struct cursor ahead = *cursor;
    struct bytecode silent = *cursor->bytecode;
    uint64_t unused;
    int count = 0;
    silent.err = NULL;
    ahead.bytecode = &silent;
    while (ahead.at < ahead.end && cursor_varint(&ahead, &unused)) {
        count++;
    }
    for (int i = 1; i < name->layout_count && row_count(row) != count; i++) {
        row++;
    }
    return row;
}

static struct mlir_attr *segments_attr(struct mlir_file *file, int count, const int64_t *values)
{
    struct mlir_attr *attr = mlir_attr_ints(file, count, values);
    attr->type = mlir_integer(file, 32, MLIR_SIGNLESS);
    return attr;
}

/* A sparse array of small numbers: count << 1 | 0 and all of them up to the last that is not zero;
 * or count << 1 | 1, the bits of an index, and pairs value << bits | index. */
static bool read_segments(struct cursor *cursor, int size, struct mlir_attr **attr)
{
    int64_t values[SEGMENTS_MOST] = {0};
    uint64_t count, bits = 0;
    bool is_sparse;
    if (!cursor_flagged(cursor, &count, &is_sparse)) {
        return false;
    }
    if (count > (uint64_t)size) {
        return cursor_fail(cursor, "%" PRIu64 " segments of %d", count, size);
    }
    if (is_sparse && !cursor_varint(cursor, &bits)) {
        return false;
    }
    if (bits > 8) {
        return cursor_fail(cursor, "an index of %" PRIu64 " bits", bits);
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value;
        if (!cursor_varint(cursor, &value)) {
            return false;
        }
        uint64_t index = is_sparse ? value & (((uint64_t)1 << bits) - 1) : i;
        value >>= bits;
        if (index >= (uint64_t)size || value > INT32_MAX) {
            return cursor_fail(cursor, "segment %" PRIu64 " of %d", index, size);
        }
        values[index] = (int64_t)value;
    }
    *attr = segments_attr(cursor->bytecode->file, size, values);
    return true;
}

static bool read_property(struct cursor *cursor, const struct property *property,
                          struct mlir_attr **attr)
{
    if (property->segments > 0 && cursor->bytecode->version >= VERSION_SEGMENTS) {
        return read_segments(cursor, property->segments, attr);
    }
    if (property->segments > 0) {
        return cursor_attr_of(cursor, MLIR_ATTR_INTS, attr);
    }
    return property->is_optional ? cursor_optional_attr(cursor, attr) : cursor_attr(cursor, attr);
}

/* Of an op that was not registered where it was written: one dictionary. */
static bool read_unregistered(struct cursor *cursor, struct mlir_dictionary *dictionary)
{
    struct mlir_file *file = cursor->bytecode->file;
    struct mlir_attr *attr;
    if (!cursor_attr_of(cursor, MLIR_ATTR_DICTIONARY, &attr)) {
        return false;
    }
    struct mlir_dictionary all;
    bytecode_dictionary_reserve(file, &all, dictionary->count + attr->dictionary.count);
    for (int i = 0; i < dictionary->count; i++) {
        all.entries[all.count++] = dictionary->entries[i];
    }
    for (int i = 0; i < attr->dictionary.count; i++) {
        all.entries[all.count++] = attr->dictionary.entries[i];
    }
    *dictionary = all;
    return true;
}

bool bytecode_read_properties(struct cursor *cursor, const struct bytecode_op_name *name,
                              uint64_t index, struct mlir_dictionary *dictionary)
{
    struct bytecode *bytecode = cursor->bytecode;
    if (index >= bytecode->property_count) {
        return cursor_fail(cursor, "properties %" PRIu64 " of %zu", index,
                           bytecode->property_count);
    }
    const uint8_t *data = (const uint8_t *)bytecode->properties[index].text;
    struct cursor own = {bytecode, data, data + bytecode->properties[index].size, name->dialect, 0};
    if (!name->is_registered) {
        return read_unregistered(&own, dictionary);
    }
    if (name->properties == NULL) {
        return cursor_refuse(&own, "the properties of %s are not known", name->name);
    }
    const struct op_properties *row =
        name->layout_count == 1 ? name->properties : choose_row(&own, name);
    struct property properties[PROPERTIES_MOST];
    int count = row_properties(row, bytecode->version, properties);
    for (int i = 0; i < count; i++) {
        struct mlir_attr *attr = NULL;
        if (!read_property(&own, &properties[i], &attr)) {
            return false;
        }
        if (attr != NULL) {
            const char *key = mlir_intern(bytecode->file, properties[i].name, properties[i].size);
            dictionary->entries[dictionary->count++] = (struct mlir_named){key, attr};
        }
    }
    if (own.at != own.end) {
        return cursor_fail(&own, "%zu bytes behind the properties of %s", cursor_left(&own),
                           name->name);
    }
    return true;
}
