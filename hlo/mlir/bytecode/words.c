/* Attributes of dialects: words of enumerations, and records of parameters. */
#include <inttypes.h>
#include <string.h>

#include "hlo/mlir/bytecode/bytecode.h"

struct mlir_attr *cursor_word(struct cursor *cursor, const char *dialect,
                              const struct bytecode_words *words)
{
    uint64_t number;
    if (!cursor_varint(cursor, &number)) {
        return NULL;
    }
    if (number >= words->count || words->words[number] == NULL) {
        cursor_refuse(cursor, "%s %" PRIu64 " is not known", words->mnemonic, number);
        return NULL;
    }
    const char *word = words->words[number];
    return mlir_attr_word(cursor->bytecode->file, dialect, words->mnemonic, word, strlen(word));
}

static struct mlir_attr *read_int(struct cursor *cursor)
{
    struct mlir_file *file = cursor->bytecode->file;
    int64_t value;
    return cursor_svarint(cursor, &value)
               ? mlir_attr_int(file, value, mlir_integer(file, 64, MLIR_SIGNLESS))
               : NULL;
}

static struct mlir_attr *read_ints(struct cursor *cursor)
{
    struct ints ints;
    return cursor_svarints(cursor, &ints)
               ? mlir_attr_ints(cursor->bytecode->file, ints.count, ints.values)
               : NULL;
}

static struct mlir_attr *read_bool(struct cursor *cursor)
{
    bool value;
    return cursor_bool(cursor, &value) ? bytecode_bool(cursor->bytecode->file, value) : NULL;
}

static struct mlir_attr *read_type(struct cursor *cursor)
{
    const struct mlir_type *type;
    return cursor_type(cursor, &type) ? bytecode_type_attr(cursor->bytecode->file, type) : NULL;
}

static struct mlir_attr *read_name(struct cursor *cursor)
{
    struct bytecode_string name;
    return cursor_string(cursor, &name)
               ? mlir_attr_string(cursor->bytecode->file, name.text, name.size)
               : NULL;
}

static struct mlir_attr *read_f64(struct cursor *cursor)
{
    struct mlir_file *file = cursor->bytecode->file;
    const struct mlir_type *type = mlir_float(file, "f64", 3);
    double number;
    if (!cursor_float(cursor, type, &number)) {
        return NULL;
    }
    struct mlir_attr *attr = mlir_attr_new(file, MLIR_ATTR_FLOAT);
    attr->type = type;
    attr->number = number;
    return attr;
}

static struct mlir_attr *read_attrs(struct cursor *cursor)
{
    int count;
    struct mlir_attr **attrs;
    return cursor_attrs(cursor, &count, &attrs)
               ? bytecode_array(cursor->bytecode->file, count, attrs)
               : NULL;
}

/* false: an error; *attr is NULL for what is not there. */
static bool read_parameter(struct cursor *cursor, enum parameter_kind kind, struct mlir_attr **attr)
{
    bool is_there = true;
    switch (kind) {
    case PARAMETER_END:
        break;
    case PARAMETER_INT:
        *attr = read_int(cursor);
        break;
    case PARAMETER_INTS:
        *attr = read_ints(cursor);
        break;
    case PARAMETER_BOOL:
        *attr = read_bool(cursor);
        break;
    case PARAMETER_TYPE:
        *attr = read_type(cursor);
        break;
    case PARAMETER_NAME:
        *attr = read_name(cursor);
        break;
    case PARAMETER_F64:
        *attr = read_f64(cursor);
        break;
    case PARAMETER_ATTRS:
        *attr = read_attrs(cursor);
        break;
    case PARAMETER_FLAGGED_ATTR:
        if (!cursor_bool(cursor, &is_there)) {
            return false;
        }
        if (!is_there) {
            return true;
        }
        return cursor_attr(cursor, attr);
    case PARAMETER_ATTR:
        return cursor_attr(cursor, attr);
    }
    return *attr != NULL;
}

struct mlir_attr *cursor_parameters(struct cursor *cursor, const char *dialect,
                                    const char *mnemonic, const struct parameter *parameters)
{
    struct mlir_file *file = cursor->bytecode->file;
    struct mlir_attr *attr = mlir_attr_new(file, MLIR_ATTR_DIALECT);
    attr->dialect.dialect = mlir_intern(file, dialect, strlen(dialect));
    attr->dialect.mnemonic = mlir_intern(file, mnemonic, strlen(mnemonic));
    for (; parameters->kind != PARAMETER_END; parameters++) {
        struct mlir_attr *value = NULL;
        if (!read_parameter(cursor, parameters->kind, &value)) {
            return NULL;
        }
        if (value != NULL) {
            mlir_set(file, &attr->dialect.parameters, parameters->name, value);
        }
    }
    return attr;
}
