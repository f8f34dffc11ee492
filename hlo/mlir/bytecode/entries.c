/* Entries of the tables of attributes and types: decoded when they are first referred to. */
#include <inttypes.h>
#include <string.h>

#include "hlo/mlir/bytecode/bytecode.h"

enum {
    /* References from entry to entry nest no deeper than that (JAX's locations are the deepest:
     * one step for each frame of a stack trace). */
    DEPTH_MOST = 1000,
    /* Entries behind an entry, counted as often as they are referred to: a small file can refer
     * to one in more ways than there are atoms. */
    WEIGHT_MOST = 1 << 24,
};

/* --- decoding --- */

/* An entry in the syntax of text, which ends with a zero. */
static void *entry_parse(struct cursor *cursor, const struct bytecode_entry *entry, bool is_type)
{
    struct bytecode *bytecode = cursor->bytecode;
    const char *text = (const char *)entry->data;
    if (entry->size == 0 || memchr(text, 0, entry->size) != text + entry->size - 1) {
        cursor_fail(cursor, "text without a zero at its end");
        return NULL;
    }
    struct error err = {0};
    void *value = NULL;
    if (is_type) {
        value = (void *)(uintptr_t)mlir_parse_type(bytecode->file, text, entry->size - 1, &err);
    } else {
        value = mlir_parse_attr(bytecode->file, text, entry->size - 1, &err);
    }
    if (value == NULL) {
        cursor_fail_code(cursor, err.code, "\"%.200s\": %s", text, err.message);
        return NULL;
    }
    cursor->at = cursor->end;
    return value;
}

/* An entry in the encoding of its dialect: a code, and what belongs to it. */
static void *entry_decode(struct cursor *cursor, const struct bytecode_entry *entry, bool is_type)
{
    const struct dialect_reader *reader = entry->dialect->reader;
    const char *what = is_type ? "type" : "attribute";
    if (reader == NULL || (is_type ? reader->read_type == NULL : reader->read_attr == NULL)) {
        cursor_refuse(cursor, "%ss of this dialect's own encoding are not known", what);
        return NULL;
    }
    uint64_t code;
    if (!cursor_varint(cursor, &code)) {
        return NULL;
    }
    void *value = NULL;
    if (is_type) {
        value = (void *)(uintptr_t)reader->read_type(cursor, code);
    } else {
        value = reader->read_attr(cursor, code);
    }
    if (value == NULL) {
        /* Readers that do not know a code just return. */
        cursor_refuse(cursor, "%s %" PRIu64 " is not known", what, code);
    }
    return value;
}

static void *entry_value(struct cursor *from, struct bytecode_entry *entries, size_t count,
                         uint64_t index, bool is_type)
{
    struct bytecode *bytecode = from->bytecode;
    const char *what = is_type ? "type" : "attribute";
    if (index >= count) {
        cursor_fail(from, "%s %" PRIu64 " of %zu", what, index, count);
        return NULL;
    }
    struct bytecode_entry *entry = &entries[index];
    if (entry->value == NULL) {
        struct cursor cursor = {bytecode, entry->data, entry->data + entry->size, entry->dialect,
                                1};
        if (entry->is_open) {
            cursor_fail(&cursor, "%s %" PRIu64 " contains itself", what, index);
            return NULL;
        }
        if (bytecode->depth == DEPTH_MOST) {
            cursor_fail_code(&cursor, ERROR_RESOURCE_EXHAUSTED,
                             "attributes and types nest deeper than %d", DEPTH_MOST);
            return NULL;
        }
        bytecode->depth++;
        entry->is_open = true;
        void *value = entry->is_custom ? entry_decode(&cursor, entry, is_type)
                                       : entry_parse(&cursor, entry, is_type);
        entry->is_open = false;
        bytecode->depth--;
        if (value == NULL) {
            return NULL;
        }
        if (cursor.at != cursor.end) {
            cursor_fail(&cursor, "%zu bytes after the end of %s %" PRIu64, cursor_left(&cursor),
                        what, index);
            return NULL;
        }
        entry->weight = cursor.weight;
        entry->value = value;
    }
    if (entry->weight > WEIGHT_MOST - from->weight) {
        cursor_fail_code(from, ERROR_RESOURCE_EXHAUSTED,
                         "an attribute or type of more than %d parts", WEIGHT_MOST);
        return NULL;
    }
    from->weight += entry->weight;
    return entry->value;
}

/* --- references --- */

static struct mlir_attr *attr_at(struct cursor *cursor, uint64_t index)
{
    return entry_value(cursor, cursor->bytecode->attrs, cursor->bytecode->attr_count, index, false);
}

bool cursor_attr(struct cursor *cursor, struct mlir_attr **attr)
{
    uint64_t index;
    *attr = NULL;
    if (!cursor_varint(cursor, &index)) {
        return false;
    }
    *attr = attr_at(cursor, index);
    return *attr != NULL;
}

bool cursor_attr_of(struct cursor *cursor, enum mlir_attr_kind kind, struct mlir_attr **attr)
{
    static const char *const names[] = {
        [MLIR_ATTR_UNIT] = "unit",
        [MLIR_ATTR_BOOL] = "bool",
        [MLIR_ATTR_INT] = "integer",
        [MLIR_ATTR_FLOAT] = "float",
        [MLIR_ATTR_STRING] = "string",
        [MLIR_ATTR_TYPE] = "type",
        [MLIR_ATTR_ARRAY] = "array",
        [MLIR_ATTR_DICTIONARY] = "dictionary",
        [MLIR_ATTR_SYMBOL] = "symbol",
        [MLIR_ATTR_DENSE] = "dense elements",
        [MLIR_ATTR_STRINGS] = "dense strings",
        [MLIR_ATTR_RESOURCE] = "resource",
        [MLIR_ATTR_INTS] = "integers",
        [MLIR_ATTR_FLOATS] = "floats",
        [MLIR_ATTR_DIALECT] = "attribute of a dialect",
        [MLIR_ATTR_LOCATION] = "location",
        [MLIR_ATTR_OTHER] = "other attribute",
    };
    if (!cursor_attr(cursor, attr)) {
        return false;
    }
    if ((*attr)->kind != kind) {
        return cursor_fail(cursor, "an attribute of kind \"%s\" where one of kind \"%s\" belongs",
                           names[(*attr)->kind], names[kind]);
    }
    return true;
}

bool cursor_optional_attr(struct cursor *cursor, struct mlir_attr **attr)
{
    uint64_t index;
    bool is_there;
    *attr = NULL;
    if (!cursor_flagged(cursor, &index, &is_there)) {
        return false;
    }
    if (!is_there) {
        return true;
    }
    *attr = attr_at(cursor, index);
    return *attr != NULL;
}

static const struct mlir_type *type_at(struct cursor *cursor, uint64_t index)
{
    return entry_value(cursor, cursor->bytecode->types, cursor->bytecode->type_count, index, true);
}

bool cursor_type(struct cursor *cursor, const struct mlir_type **type)
{
    uint64_t index;
    *type = NULL;
    if (!cursor_varint(cursor, &index)) {
        return false;
    }
    *type = type_at(cursor, index);
    return *type != NULL;
}

bool cursor_flagged_type(struct cursor *cursor, const struct mlir_type **type, bool *flag)
{
    uint64_t index;
    *type = NULL;
    if (!cursor_flagged(cursor, &index, flag)) {
        return false;
    }
    *type = type_at(cursor, index);
    return *type != NULL;
}

bool cursor_type_of(struct cursor *cursor, enum mlir_type_kind kind, const struct mlir_type **type)
{
    if (!cursor_type(cursor, type)) {
        return false;
    }
    if ((*type)->kind != kind) {
        return cursor_fail(cursor, "a type of another kind than belongs here");
    }
    return true;
}
