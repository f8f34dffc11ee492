/* NumPy's .npy files. Source: numpy/lib/format.py (the format), ml_dtypes (types beyond NumPy's,
 * which are written as "V1" and "V2", untyped bytes). */
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/arena.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/proto/permute.h"
#include "hlo/proto/proto_format.h"

static const char magic[] = "\x93NUMPY";
enum { MAGIC_SIZE = sizeof magic - 1, ALIGNMENT = 64 };

/* The types that NumPy has. */
static const struct {
    enum type type;
    const char *dtype;
} dtypes[] = {
    {TYPE_PRED, "b1"}, {TYPE_S8, "i1"},  {TYPE_S16, "i2"}, {TYPE_S32, "i4"},   {TYPE_S64, "i8"},
    {TYPE_U8, "u1"},   {TYPE_U16, "u2"}, {TYPE_U32, "u4"}, {TYPE_U64, "u8"},   {TYPE_F16, "f2"},
    {TYPE_F32, "f4"},  {TYPE_F64, "f8"}, {TYPE_C64, "c8"}, {TYPE_C128, "c16"},
};

static const char *dtype_of(enum type type)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        if (dtypes[i].type == type) {
            return dtypes[i].dtype;
        }
    }
    return type_bytes(type) == 2 ? "V2" : "V1";
}

/* --- the header --- */

struct header {
    char byte_order; /* '<', '>' or '|' */
    char dtype[4];
    bool fortran_order;
    int rank;
    int64_t dimensions[SHAPE_MAX_RANK];
};

/* The header's text is a dictionary of Python. */
struct cursor {
    const char *at, *end;
};

static void skip_blanks(struct cursor *cursor)
{
    while (cursor->at < cursor->end && strchr(" \t\n", *cursor->at) != NULL &&
           *cursor->at != '\0') {
        cursor->at++;
    }
}

static bool accept(struct cursor *cursor, const char *word)
{
    skip_blanks(cursor);
    size_t size = strlen(word);
    if ((size_t)(cursor->end - cursor->at) < size || memcmp(cursor->at, word, size) != 0) {
        return false;
    }
    cursor->at += size;
    return true;
}

/* 'text' or "text"; at most room − 1 bytes. */
static bool read_string(struct cursor *cursor, char *text, size_t room)
{
    skip_blanks(cursor);
    if (cursor->at == cursor->end || (*cursor->at != '\'' && *cursor->at != '"')) {
        return false;
    }
    char quote = *cursor->at++;
    size_t size = 0;
    while (cursor->at < cursor->end && *cursor->at != quote) {
        if (size + 1 >= room) {
            return false;
        }
        text[size++] = *cursor->at++;
    }
    text[size] = '\0';
    return accept(cursor, quote == '"' ? "\"" : "'");
}

static bool read_number(struct cursor *cursor, int64_t *value)
{
    skip_blanks(cursor);
    const char *begin = cursor->at;
    *value = 0;
    while (cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9') {
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, *cursor->at - '0', value)) {
            return false;
        }
        cursor->at++;
    }
    bool read = cursor->at > begin;
    accept(cursor, "L"); /* Python 2 wrote long integers so */
    return read;
}

static bool read_tuple(struct cursor *cursor, struct header *header)
{
    header->rank = 0;
    if (!accept(cursor, "(")) {
        return false;
    }
    while (!accept(cursor, ")")) {
        if (header->rank == SHAPE_MAX_RANK ||
            !read_number(cursor, &header->dimensions[header->rank++])) {
            return false;
        }
        if (!accept(cursor, ",")) {
            return accept(cursor, ")");
        }
    }
    return true;
}

static bool read_dtype(struct cursor *cursor, struct header *header)
{
    char text[16];
    if (!read_string(cursor, text, sizeof text) || strlen(text) > sizeof header->dtype ||
        text[0] == '\0' || strchr("<>|", text[0]) == NULL) {
        return false;
    }
    header->byte_order = text[0];
    memcpy(header->dtype, text + 1, strlen(text + 1) + 1);
    return true;
}

static bool read_entries(struct cursor *cursor, struct header *header)
{
    enum { DESCR = 1, ORDER = 2, SHAPE = 4 };
    int seen = 0;
    if (!accept(cursor, "{")) {
        return false;
    }
    while (!accept(cursor, "}")) {
        char key[16];
        if (!read_string(cursor, key, sizeof key) || !accept(cursor, ":")) {
            return false;
        }
        bool ok = false;
        if (strcmp(key, "descr") == 0) {
            ok = read_dtype(cursor, header);
            seen |= DESCR;
        } else if (strcmp(key, "fortran_order") == 0) {
            header->fortran_order = accept(cursor, "True");
            ok = header->fortran_order || accept(cursor, "False");
            seen |= ORDER;
        } else if (strcmp(key, "shape") == 0) {
            ok = read_tuple(cursor, header);
            seen |= SHAPE;
        }
        if (!ok) {
            return false;
        }
        accept(cursor, ",");
    }
    return seen == (DESCR | ORDER | SHAPE);
}

/* *data_at is where the elements begin. */
static bool read_header(const uint8_t *data, size_t size, struct header *header, size_t *data_at,
                        struct error *err)
{
    size_t text_at = MAGIC_SIZE + 4;
    if (size < text_at || memcmp(data, magic, MAGIC_SIZE) != 0) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "not a .npy file");
    }
    int version = data[MAGIC_SIZE];
    size_t length = data[MAGIC_SIZE + 2] | (size_t)data[MAGIC_SIZE + 3] << 8;
    if (version < 1 || version > 3) {
        return error_set(err, ERROR_INVALID_ARGUMENT, ".npy of version %d is unknown", version);
    }
    if (version > 1) {
        text_at += 2;
        if (size < text_at) {
            return error_set(err, ERROR_INVALID_ARGUMENT, ".npy file ends in its header");
        }
        length |= (size_t)data[MAGIC_SIZE + 4] << 16 | (size_t)data[MAGIC_SIZE + 5] << 24;
    }
    if (length > size - text_at) {
        return error_set(err, ERROR_INVALID_ARGUMENT, ".npy file ends in its header");
    }
    const char *text = (const char *)data + text_at;
    struct cursor cursor = {text, text + length};
    *header = (struct header){0};
    *data_at = text_at + length;
    return read_entries(&cursor, header) ||
           error_set(err, ERROR_INVALID_ARGUMENT,
                     "the header of the .npy file is malformed or of an unsupported kind: %.*s",
                     length < 200 ? (int)length : 200, text);
}

/* --- reading --- */

/* The element type: what the dtype says, or, when it says only the bytes, `wanted`. */
static enum type type_of(const struct header *header, enum type wanted)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        if (strcmp(header->dtype, dtypes[i].dtype) == 0) {
            return dtypes[i].type;
        }
    }
    if (strcmp(header->dtype, "f1") == 0) { /* what ml_dtypes writes, though it cannot read it */
        return TYPE_F8E5M2;
    }
    if (header->dtype[0] == 'V' && type_is_array(wanted) &&
        atoi(header->dtype + 1) == type_bytes(wanted)) {
        return wanted;
    }
    return TYPE_INVALID;
}

static void swap_bytes(uint8_t *data, size_t size, size_t part)
{
    for (size_t at = 0; at + part <= size; at += part) {
        for (size_t i = 0; i < part / 2; i++) {
            uint8_t byte = data[at + i];
            data[at + i] = data[at + part - 1 - i];
            data[at + part - 1 - i] = byte;
        }
    }
}

/* The array as the file has it: its dimensions, and its order as the layout. */
static const struct shape *stored_shape(const struct header *header, enum type type)
{
    int64_t minor_to_major[SHAPE_MAX_RANK];
    for (int i = 0; i < header->rank; i++) {
        minor_to_major[i] = header->fortran_order ? i : header->rank - 1 - i;
    }
    struct layout layout = {
        .rank = header->rank, .minor_to_major = minor_to_major, .tail_padding_alignment = 1};
    return shape_make(type, header->rank, header->dimensions, NULL, layout_make(&layout));
}

/* Elements of types that do not use all bits of their byte. */
static void clean_elements(struct literal *literal)
{
    enum type type = literal->shape->type;
    if (type != TYPE_PRED && type_bits(type) == 8 * type_bytes(type)) {
        return;
    }
    for (int64_t i = 0; i < literal_elements(literal); i++) {
        uint64_t bits = literal_get_bits(literal, i);
        if (type == TYPE_PRED) {
            literal_set_bits(literal, i, bits != 0);
        } else {
            bits &= ((uint64_t)1 << type_bits(type)) - 1;
            bool negative = type_kind(type) == KIND_SIGNED && bits >> (type_bits(type) - 1);
            literal_set_bits(literal, i, negative ? bits | 0xff << type_bits(type) : bits);
        }
    }
}

static bool check_wanted(const struct shape *stored, const struct shape *wanted, struct error *err)
{
    return wanted == NULL || shape_compatible(stored, shape_static(wanted)) ||
           error_set(err, ERROR_INVALID_ARGUMENT, "the .npy file has shape %s instead of %s",
                     shape_text(shape_without_layout(stored)),
                     shape_text(shape_without_layout(wanted)));
}

struct literal *npy_read(const void *data, size_t size, const struct shape *shape,
                         struct error *err)
{
    struct header header;
    size_t data_at = 0;
    if (!read_header(data, size, &header, &data_at, err)) {
        return NULL;
    }
    enum type type = type_of(&header, shape != NULL ? shape->type : TYPE_INVALID);
    if (type == TYPE_INVALID) {
        error_set(err, ERROR_INVALID_ARGUMENT, "the .npy file has elements of dtype %c%s: %s",
                  header.byte_order, header.dtype,
                  header.dtype[0] == 'V' ? "say with a shape which type they are"
                                         : "there is no such type in HLO");
        return NULL;
    }
    const struct shape *stored = stored_shape(&header, type);
    if (!shape_check(stored, err) || !check_wanted(stored, shape, err)) {
        return NULL;
    }
    size_t bytes = (size_t)shape_bytes(stored);
    if (size - data_at < bytes) {
        error_set(err, ERROR_INVALID_ARGUMENT,
                  "the .npy file has %zu bytes of elements, its shape wants %zu", size - data_at,
                  bytes);
        return NULL;
    }
    struct literal *literal =
        literal_create(shape != NULL ? shape : shape_without_layout(stored), err);
    if (literal == NULL) {
        return NULL;
    }
    size_t element = (size_t)type_bytes(type);
    if (bytes > 0) {
        permute_from_layout(literal_data(literal), (const uint8_t *)data + data_at, element,
                            stored);
    }
    if (header.byte_order == '>') {
        swap_bytes(literal_data(literal), bytes, (size_t)type_bytes(type_part(type)));
    }
    clean_elements(literal);
    return literal;
}

/* --- writing --- */

void *npy_write(const struct literal *literal, size_t *size, struct error *err)
{
    const struct shape *shape = literal->shape;
    if (!shape_is_array(shape) || shape_is_dynamic(shape)) {
        error_set(err, ERROR_INVALID_ARGUMENT, "a .npy file cannot have the shape %s",
                  shape_text(shape));
        return NULL;
    }
    struct text header;
    text_init(&header);
    const char *dtype = dtype_of(shape->type);
    text_printf(&header, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                dtype[1] == '1' && dtype[0] != 'V' && dtype[2] == '\0' ? '|' : '<', dtype);
    for (int i = 0; i < shape->rank; i++) {
        text_printf(&header, i > 0 ? ", %lld" : "%lld", (long long)shape->dimensions[i]);
    }
    text_append(&header, shape->rank == 1 ? ",), }" : "), }");
    while ((MAGIC_SIZE + 4 + header.size + 1) % ALIGNMENT != 0) {
        text_char(&header, ' ');
    }
    text_char(&header, '\n');
    size_t start = MAGIC_SIZE + 4 + header.size, bytes = (size_t)shape_bytes(shape);
    uint8_t *data = malloc(start + bytes);
    if (data == NULL) {
        error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for a .npy file of %zu bytes",
                  start + bytes);
    } else {
        memcpy(data, magic, MAGIC_SIZE);
        const uint8_t lead[] = {1, 0, (uint8_t)header.size, (uint8_t)(header.size >> 8)};
        memcpy(data + MAGIC_SIZE, lead, sizeof lead);
        memcpy(data + MAGIC_SIZE + 4, header.data, header.size);
        if (bytes > 0) {
            memcpy(data + start, literal_data(literal), bytes);
        }
        *size = start + bytes;
    }
    text_finish(&header);
    return data;
}
