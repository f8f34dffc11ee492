/* Cursors over bytecode: numbers, strings, lists, and what is said when they do not fit.
 * Source: mlir/docs/BytecodeFormat.md, "Primitives". */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hlo/floats.h"
#include "hlo/mlir/bytecode/bytecode.h"

static bool cursor_vfail(struct cursor *cursor, enum error_code code, const char *format,
                         va_list args)
{
    struct bytecode *bytecode = cursor->bytecode;
    const struct bytecode_dialect *dialect = cursor->dialect;
    char message[512], place[160] = "";
    vsnprintf(message, sizeof message, format, args);
    if (dialect != NULL && dialect->has_version) {
        snprintf(place, sizeof place, "dialect %.64s %" PRId64 ".%" PRId64 ".%" PRId64 ", ",
                 dialect->name, dialect->version[0], dialect->version[1], dialect->version[2]);
    } else if (dialect != NULL) {
        snprintf(place, sizeof place, "dialect %.64s, ", dialect->name);
    }
    error_set(bytecode->err, code, "bytecode version %" PRIu64 "%s%s, %soffset 0x%zx: %s",
              bytecode->version, bytecode->file->producer == NULL ? "" : " of ",
              bytecode->file->producer == NULL ? "" : bytecode->file->producer, place,
              (size_t)(cursor->at - bytecode->data), message);
    return false;
}

bool cursor_fail(struct cursor *cursor, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    cursor_vfail(cursor, ERROR_INVALID_ARGUMENT, format, args);
    va_end(args);
    return false;
}

bool cursor_refuse(struct cursor *cursor, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    cursor_vfail(cursor, ERROR_UNIMPLEMENTED, format, args);
    va_end(args);
    return false;
}

bool cursor_fail_code(struct cursor *cursor, enum error_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    cursor_vfail(cursor, code, format, args);
    va_end(args);
    return false;
}

size_t cursor_left(const struct cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

/* --- numbers --- */

bool cursor_byte(struct cursor *cursor, uint8_t *value)
{
    if (cursor->at == cursor->end) {
        return cursor_fail(cursor, "ends too early");
    }
    *value = *cursor->at++;
    return true;
}

bool cursor_bool(struct cursor *cursor, bool *value)
{
    uint8_t byte = 0;
    if (!cursor_byte(cursor, &byte)) {
        return false;
    }
    if (byte > 1) {
        return cursor_fail(cursor, "%d where 0 or 1 belongs", byte);
    }
    *value = byte == 1;
    return true;
}

/* The zero bits at the low end of the first byte are the number of bytes that follow it; the lowest
 * bit set ends them. A first byte of zero: eight bytes follow, which are the value. */
bool cursor_varint(struct cursor *cursor, uint64_t *value)
{
    if (cursor->at < cursor->end && (*cursor->at & 1) != 0) {
        *value = *cursor->at++ >> 1;
        return true;
    }
    if (cursor->at == cursor->end) {
        return cursor_fail(cursor, "ends too early");
    }
    int following = *cursor->at == 0 ? 8 : __builtin_ctz(*cursor->at);
    if (cursor_left(cursor) <= (size_t)following) {
        return cursor_fail(cursor, "ends within a number");
    }
    uint64_t bits = 0;
    for (int i = following; i > 0; i--) {
        bits = bits << 8 | cursor->at[i];
    }
    *value = following == 8 ? bits : (bits << 8 | *cursor->at) >> (following + 1);
    cursor->at += following + 1;
    return true;
}

bool cursor_svarint(struct cursor *cursor, int64_t *value)
{
    uint64_t bits;
    if (!cursor_varint(cursor, &bits)) {
        return false;
    }
    *value = (int64_t)((bits >> 1) ^ (~(bits & 1) + 1));
    return true;
}

bool cursor_flagged(struct cursor *cursor, uint64_t *value, bool *flag)
{
    uint64_t bits;
    if (!cursor_varint(cursor, &bits)) {
        return false;
    }
    *value = bits >> 1;
    *flag = (bits & 1) != 0;
    return true;
}

bool cursor_count(struct cursor *cursor, size_t least, int *count)
{
    uint64_t value;
    if (!cursor_varint(cursor, &value)) {
        return false;
    }
    if (value > cursor_left(cursor) / least || value > INT32_MAX / 64) {
        return cursor_fail(cursor, "%" PRIu64 " elements do not fit in the %zu bytes that are left",
                           value, cursor_left(cursor));
    }
    *count = (int)value;
    return true;
}

/* Integers of at most 8 bits are a byte, others a zigzag varint of the sign-extended value (of
 * more than 64 bits: a list of them, which nothing here holds). */
bool cursor_bits(struct cursor *cursor, int width, uint64_t *bits)
{
    if (width > 64) {
        return cursor_refuse(cursor, "a number of %d bits", width);
    }
    if (width <= 8) {
        uint8_t byte = 0;
        if (!cursor_byte(cursor, &byte)) {
            return false;
        }
        *bits = byte;
    } else {
        int64_t value;
        if (!cursor_svarint(cursor, &value)) {
            return false;
        }
        *bits = (uint64_t)value;
    }
    *bits &= width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
    return true;
}

bool cursor_float(struct cursor *cursor, const struct mlir_type *type, double *value)
{
    uint64_t bits;
    if (type->kind != MLIR_FLOAT) {
        return cursor_fail(cursor, "a float of a type that is no float");
    }
    if (!type_is_float(type->element_type)) {
        return cursor_refuse(cursor, "a number of type %s", type->name);
    }
    if (!cursor_bits(cursor, type->width, &bits)) {
        return false;
    }
    *value = float_to_double(type->element_type, bits);
    return true;
}

/* --- bytes and strings --- */

bool cursor_bytes(struct cursor *cursor, size_t size, const uint8_t **data)
{
    if (size > cursor_left(cursor)) {
        return cursor_fail(cursor, "%zu bytes where only %zu are left", size, cursor_left(cursor));
    }
    *data = cursor->at;
    cursor->at += size;
    return true;
}

bool cursor_blob(struct cursor *cursor, const uint8_t **data, size_t *size)
{
    uint64_t length;
    if (!cursor_varint(cursor, &length)) {
        return false;
    }
    *size = length;
    return cursor_bytes(cursor, length, data);
}

bool cursor_string(struct cursor *cursor, struct bytecode_string *string)
{
    uint64_t index;
    if (!cursor_varint(cursor, &index)) {
        return false;
    }
    if (index >= cursor->bytecode->string_count) {
        return cursor_fail(cursor, "string %" PRIu64 " of %zu", index,
                           cursor->bytecode->string_count);
    }
    *string = cursor->bytecode->strings[index];
    return true;
}

bool cursor_name(struct cursor *cursor, const char **name)
{
    struct bytecode_string string;
    if (!cursor_string(cursor, &string)) {
        return false;
    }
    if (memchr(string.text, 0, string.size) != NULL) {
        return cursor_fail(cursor, "a name with a zero byte in it");
    }
    *name = mlir_intern(cursor->bytecode->file, string.text, string.size);
    return true;
}

/* --- lists --- */

bool cursor_svarints(struct cursor *cursor, struct ints *ints)
{
    int count;
    if (!cursor_count(cursor, 1, &count)) {
        return false;
    }
    int64_t *values = arena_array(&cursor->bytecode->file->arena, (size_t)count, sizeof *values);
    for (int i = 0; i < count; i++) {
        if (!cursor_svarint(cursor, &values[i])) {
            return false;
        }
    }
    ints->count = count;
    ints->values = values;
    return true;
}

bool cursor_attrs(struct cursor *cursor, int *count, struct mlir_attr ***attrs)
{
    if (!cursor_count(cursor, 1, count)) {
        return false;
    }
    *attrs = arena_array(&cursor->bytecode->file->arena, (size_t)*count, sizeof **attrs);
    for (int i = 0; i < *count; i++) {
        if (!cursor_attr(cursor, *attrs + i)) {
            return false;
        }
    }
    return true;
}

bool cursor_types(struct cursor *cursor, int *count, const struct mlir_type ***types)
{
    if (!cursor_count(cursor, 1, count)) {
        return false;
    }
    *types = arena_array(&cursor->bytecode->file->arena, (size_t)*count, sizeof **types);
    for (int i = 0; i < *count; i++) {
        if (!cursor_type(cursor, *types + i)) {
            return false;
        }
    }
    return true;
}
