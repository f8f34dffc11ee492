/* MLIR bytecode: what jaxlib writes, in each version of the format, against the text that it was
 * written from (fixtures/bytecode, make_bytecode.py); numbers against their definition; and what is
 * said of malformed files.
 * Source: mlir/docs/BytecodeFormat.md. */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "hlo/mlir/bytecode/bytecode.h"
#include "hlo/mlir/mlir_format.h"

/* --- fixtures --- */

static const char *fixture_path(const char *name)
{
    static char path[4096];
    const char *source = getenv("REFEREE_SOURCE");
    snprintf(path, sizeof path, "%s/tests/hlo/mlir/fixtures/bytecode/%s",
             source != NULL ? source : ".", name);
    return path;
}

static struct mlir_file *read_fixture(const char *name, bool is_text)
{
    struct error err = {0};
    size_t size;
    char *data = file_read(fixture_path(name), &size, &err);
    ck_assert_msg(data != NULL, "%s", err.message);
    ck_assert_int_eq(mlir_is_bytecode(data, size), !is_text);
    struct mlir_file *file = is_text ? mlir_parse(data, size, name, 1, &err)
                                     : mlir_read_bytecode(data, size, name, &err);
    if (file == NULL) {
        ck_abort_msg("%s:%d:%d: %s", name, err.line, err.column, err.message);
    }
    free(data);
    return file;
}

/* "attributes.mlir" of "attributes.v3.bc"; NULL for other files. */
static const char *text_of(const char *name)
{
    static char text[256];
    const char *end = strstr(name, ".v");
    if (end == NULL) {
        return NULL;
    }
    snprintf(text, sizeof text, "%.*s.mlir", (int)(end - name), name);
    return text;
}

START_TEST(test_fixtures)
{
    DIR *folder = opendir(fixture_path(""));
    ck_assert_ptr_nonnull(folder);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (text_of(entry->d_name) == NULL) {
            continue;
        }
        struct error err = {0};
        struct mlir_file *bytecode = read_fixture(entry->d_name, false);
        struct mlir_file *text = read_fixture(text_of(entry->d_name), true);
        if (!mlir_file_equal(bytecode, text, &err)) {
            ck_abort_msg("%s: %s (line %d)", entry->d_name, err.message, err.line);
        }
        ck_assert_str_eq(bytecode->producer, "MLIR23.0.0git");
        mlir_file_destroy(bytecode);
        mlir_file_destroy(text);
        count++;
    }
    closedir(folder);
    ck_assert_int_ge(count, 40);
}
END_TEST

/* A file cut off anywhere is refused. */
START_TEST(test_prefixes)
{
    struct error err = {0};
    size_t size;
    char *data = file_read(fixture_path("structure.v6.bc"), &size, &err);
    ck_assert_msg(data != NULL, "%s", err.message);
    for (size_t length = 0; length < size; length++) {
        char *prefix = malloc(length + 1); /* its own memory, for sanitizers */
        memcpy(prefix, data, length);
        struct error refused = {0};
        ck_assert_ptr_null(mlir_read_bytecode(prefix, length, "prefix", &refused));
        ck_assert_int_ne(refused.code, ERROR_NONE);
        free(prefix);
    }
    free(data);
}
END_TEST

/* --- what equality does not see: locations, places --- */

static const struct mlir_op *function_op(const struct mlir_file *file, int index)
{
    const struct mlir_op *function = file->module->regions[0].blocks[0]->ops[0];
    return function->regions[0].blocks[0]->ops[index];
}

static void check_place(const struct mlir_location *place, const char *name, int64_t line,
                        int64_t column, int64_t end_line, int64_t end_column)
{
    ck_assert_int_eq(place->kind, MLIR_LOC_FILE);
    ck_assert_str_eq(place->text, name);
    ck_assert_int_eq(place->line, line);
    ck_assert_int_eq(place->column, column);
    ck_assert_int_eq(place->end_line, end_line);
    ck_assert_int_eq(place->end_column, end_column);
}

static void check_main(const struct mlir_location *name)
{
    ck_assert_int_eq(name->kind, MLIR_LOC_NAME);
    ck_assert_str_eq(name->text, "main");
    ck_assert_int_eq(name->count, 1);
    check_place(name->children[0], "a.py", 3, 7, 3, 7);
}

START_TEST(test_locations)
{
    char name[64];
    snprintf(name, sizeof name, "locations.v%d.bc", _i);
    struct mlir_file *file = read_fixture(name, false);
    check_place(file->module->location, "a.py", 3, 7, 3, 7);

    const struct mlir_location *call = function_op(file, 0)->location;
    ck_assert_int_eq(call->kind, MLIR_LOC_CALL);
    ck_assert_int_eq(call->count, 2);
    ck_assert_int_eq(call->children[0]->kind, MLIR_LOC_NAME);
    ck_assert_str_eq(call->children[0]->text, "f");
    check_main(call->children[0]->children[0]);
    check_main(call->children[1]->children[0]);
    check_place(call->children[1]->children[1], "g.py", 1, 2, 1, 2);

    const struct mlir_location *fused = function_op(file, 1)->location;
    ck_assert_int_eq(fused->kind, MLIR_LOC_FUSED);
    ck_assert_int_eq(fused->metadata->kind, MLIR_ATTR_STRING);
    ck_assert_str_eq(fused->metadata->string.data, "meta");
    ck_assert_int_eq(fused->count, 4);
    check_place(fused->children[0], "a.py", 3, 7, 3, 7);
    ck_assert_str_eq(fused->children[1]->text, "n");
    ck_assert_int_eq(fused->children[1]->count, 0);
    check_place(fused->children[2], "h.py", 1, 2, 3, 4);
    check_place(fused->children[3], "i.py", 5, 6, 5, 9);

    ck_assert_ptr_null(function_op(file, 2)->location->metadata);
    ck_assert_ptr_null(function_op(file, 3)->location);
    mlir_file_destroy(file);
}
END_TEST

/* An operand that is defined behind the op, and blocks that are. */
START_TEST(test_forward)
{
    struct mlir_file *file = read_fixture("structure.v6.bc", false);
    const struct mlir_block *top = file->module->regions[0].blocks[0];
    ck_assert_int_eq(top->count, 2);
    const struct mlir_block *graph = top->ops[1]->regions[0].blocks[0];
    const struct mlir_op *use = graph->ops[0], *first = graph->ops[1], *second = graph->ops[2];
    ck_assert_ptr_eq(use->operands[0], &second->results[0]);
    ck_assert_ptr_eq(use->operands[1], &first->results[1]);
    ck_assert_ptr_eq(use->operands[2], &first->results[0]);
    ck_assert_ptr_eq(first->operands[0], &second->results[0]);
    ck_assert_int_eq(second->region_count, 3);
    ck_assert_int_eq(second->regions[1].count, 0);
    const struct mlir_region *last = &second->regions[2];
    ck_assert_int_eq(last->count, 3);
    ck_assert_ptr_eq(last->blocks[0]->ops[0]->successors[1], last->blocks[2]);
    ck_assert_ptr_eq(last->blocks[0]->ops[0]->operands[0], &last->blocks[0]->arguments[1]);
    mlir_file_destroy(file);
}
END_TEST

/* --- numbers --- */

static void cursor_begin(struct bytecode *bytecode, struct cursor *cursor, struct error *err,
                         const uint8_t *data, size_t size)
{
    *err = (struct error){0};
    *bytecode = (struct bytecode){
        .file = mlir_file_create(NULL), .err = err, .data = data, .size = size, .version = 6};
    *cursor = (struct cursor){bytecode, data, data + size, NULL, 0};
}

/* The definition: as many zero bits at the low end as there are further bytes, a one, the value. */
static size_t encode(uint64_t value, int bytes, uint8_t data[9])
{
    if (bytes == 9) {
        data[0] = 0;
        memcpy(data + 1, &value, 8);
    } else {
        uint64_t bits = (value << 1 | 1) << (bytes - 1);
        memcpy(data, &bits, 8);
    }
    return (size_t)bytes;
}

START_TEST(test_varints)
{
    for (int bytes = 1; bytes <= 9; bytes++) {
        uint64_t most = bytes == 9 ? UINT64_MAX : ((uint64_t)1 << 7 * bytes) - 1;
        const uint64_t values[] = {0, 1, most / 3, most / 2, most - 1, most};
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            uint8_t data[9];
            size_t size = encode(values[i], bytes, data);
            struct bytecode bytecode;
            struct cursor cursor;
            struct error err;
            uint64_t value;
            int64_t number;
            cursor_begin(&bytecode, &cursor, &err, data, size);
            ck_assert(cursor_varint(&cursor, &value));
            ck_assert_uint_eq(value, values[i]);
            ck_assert_uint_eq(cursor_left(&cursor), 0);
            cursor.at = data;
            ck_assert(cursor_svarint(&cursor, &number));
            int64_t half = (int64_t)(values[i] / 2);
            ck_assert_int_eq(number, values[i] % 2 == 0 ? half : -half - 1);
            cursor.at = data;
            cursor.end--;
            ck_assert(!cursor_varint(&cursor, &value));
            ck_assert_int_eq(err.code, ERROR_INVALID_ARGUMENT);
            mlir_file_destroy(bytecode.file);
        }
    }
}
END_TEST

/* Integers of up to 8 bits are a byte, others zigzag; what is above their width is dropped. */
START_TEST(test_bits)
{
    static const struct {
        int width;
        uint8_t data[3];
        size_t size;
        uint64_t bits;
    } rows[] = {
        {1, {0xff}, 1, 1},       {4, {0x0d}, 1, 0xd},         {8, {0x80}, 1, 0x80},
        {16, {0x13}, 1, 0xfffb}, {16, {0x02, 0x02}, 2, 0x40}, {64, {0x03}, 1, UINT64_MAX},
        {0, {0x00}, 1, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytecode bytecode;
        struct cursor cursor;
        struct error err;
        uint64_t bits;
        cursor_begin(&bytecode, &cursor, &err, rows[i].data, rows[i].size);
        ck_assert(cursor_bits(&cursor, rows[i].width, &bits));
        ck_assert_uint_eq(bits, rows[i].bits);
        ck_assert_uint_eq(cursor_left(&cursor), 0);
        ck_assert(!cursor_bits(&cursor, 65, &bits));
        ck_assert_int_eq(err.code, ERROR_UNIMPLEMENTED);
        mlir_file_destroy(bytecode.file);
    }
}
END_TEST

/* --- files made by hand: all is right but what a test puts in place of a part --- */

enum { STRINGS, DIALECTS, ENTRIES, ENTRY_SIZES, IR, RESOURCES, RESOURCE_SIZES, PROPERTIES = 8 };
enum { SECTIONS = 9, ROOM = 1 << 16 };

struct piece {
    const char *data; /* NULL: left out */
    size_t size;
};
#define PIECE(literal)               \
    {                                \
        literal, sizeof(literal) - 1 \
    }

/* Strings: builtin, module, x, op, quant, sdy. Dialects: builtin, x, quant, sdy. Ops:
 * builtin.module, x.op. Attributes: loc(unknown). IR: one module with an empty block. */
static const struct piece usual[SECTIONS] = {
    [STRINGS] = PIECE("\x0d\x09\x0d\x07\x05\x0f\x11"
                      "builtin\0module\0x\0op\0quant\0sdy\0"),
    [DIALECTS] = PIECE("\x09\x01\x09\x11\x15\x05\x01\x03\x07\x03\x03\x0d"),
    [ENTRIES] = PIECE("\x1f"),
    [ENTRY_SIZES] = PIECE("\x03\x01\x01\x03\x07"),
    [IR] = PIECE("\x05\x01\x10\x01\x07\x04\x07\x03\x01\x01"),
    [PROPERTIES] = PIECE("\x01"),
};

static size_t put_varint(uint64_t value, char *data)
{
    int bytes = 1;
    while (bytes < 9 && value >> (7 * bytes) != 0) {
        bytes++;
    }
    uint8_t encoded[9];
    size_t size = encode(value, bytes, encoded);
    memcpy(data, encoded, size);
    return size;
}

static size_t make_file(const struct piece pieces[SECTIONS], char *data)
{
    static const char header[] = "ML\xefR\x0dtest";
    size_t size = sizeof header;
    memcpy(data, header, size);
    for (int i = 0; i < SECTIONS; i++) {
        if (pieces[i].data != NULL) {
            data[size++] = (char)i;
            size += put_varint(pieces[i].size, data + size);
            memcpy(data + size, pieces[i].data, pieces[i].size);
            size += pieces[i].size;
        }
    }
    return size;
}

/* Reads a copy of exactly that size, so that a sanitizer sees what is read beyond its end. */
static struct mlir_file *read_copy(const char *data, size_t size, struct error *err)
{
    char *exact = malloc(size + (size == 0));
    memcpy(exact, data, size);
    *err = (struct error){0};
    struct mlir_file *file = mlir_read_bytecode(exact, size, "made", err);
    free(exact);
    return file;
}

static struct mlir_file *read_pieces(const struct piece pieces[SECTIONS], struct error *err)
{
    char data[ROOM];
    return read_copy(data, make_file(pieces, data), err);
}

static void check_refused(struct mlir_file *file, const struct error *err, const char *message)
{
    ck_assert_msg(file == NULL, "read, where \"%s\" was to be said", message);
    ck_assert_msg(strstr(err->message, message) != NULL, "\"%s\" instead of \"%s\"", err->message,
                  message);
    ck_assert_msg(strstr(err->message, "offset 0x") != NULL, "no offset: %s", err->message);
    ck_assert_str_eq(err->file, "made");
}

START_TEST(test_made)
{
    struct error err;
    struct mlir_file *file = read_pieces(usual, &err);
    ck_assert_msg(file != NULL, "%s", err.message);
    ck_assert_int_eq(file->module->opcode, MLIR_OP_MODULE);
    ck_assert(!file->module_was_implied);
    ck_assert_ptr_null(file->module->location);
    ck_assert_int_eq(file->module->regions[0].blocks[0]->count, 0);
    ck_assert_str_eq(file->producer, "test");
    mlir_file_destroy(file);
}
END_TEST

/* One section is another. */
START_TEST(test_sections)
{
    static const struct {
        int section;
        struct piece piece;
        const char *message;
    } rows[] = {
        {STRINGS, {NULL, 0}, "the section \"strings\" is missing"},
        {PROPERTIES, {NULL, 0}, "the section \"properties\" is missing"},
        {RESOURCES, PIECE(""), "one section of resources without the other"},
        {STRINGS, PIECE("\xfe\xff\x03"), "16383 elements do not fit"},
        {STRINGS, PIECE("\x03\x01\x00"), "string 0 does not fit"},
        {STRINGS, PIECE("\x03\x09\x78\x00"), "string 0 does not fit"},
        {STRINGS, PIECE("\x03\x05\x78\x79"), "does not end with a zero"},
        {STRINGS, PIECE("\x05\x05\x05\x78\x00\x00"), "string 0 does not fit"},
        {STRINGS, PIECE("\x03\x05\x00\x78\x00"), "1 bytes that belong to no string"},
        {DIALECTS, PIECE("\x03\x21\x01"), "string 8 of 6"},
        {DIALECTS, PIECE("\x03\x01\x01\x05\x03\x07"), "dialect 2 of 1"},
        {DIALECTS, PIECE("\x03\x01\x01\x01\x03\x1f"), "string 7 of 6"},
        {DIALECTS, PIECE("\x03\x03\x04\x01\x01"), "where the version of a dialect belongs"},
        {ENTRY_SIZES, PIECE("\x03\x01\x01\x03\x0b"), "2 bytes where only 1 are left"},
        {ENTRY_SIZES, PIECE("\x03\x01\x01\x05\x07\x03"),
         "more attributes or types than were announced"},
        {ENTRY_SIZES, PIECE("\x03\x01\x01\x03\x07\x01"), "1 bytes behind the sizes"},
        {ENTRY_SIZES, PIECE("\x03\x01\x11\x03\x07"), "dialect 8 of 4"},
        {PROPERTIES, PIECE("\x03\x05\x00"), "2 bytes where only 1 are left"},
        {PROPERTIES, PIECE("\x03\x01\x01"), "1 bytes behind the properties"},
        {IR, PIECE("\x09\x01\x10\x01\x07\x04\x07\x03\x01\x01"), "ends too early"},
        {IR, PIECE("\x41\x01\x10\x01\x07\x04\x07\x03\x01\x01"), "32 ops do not fit"},
        {IR, PIECE("\x05\x01\x10\x01\x07\x04\x07\x03\x01\x01\x01"), "1 bytes behind the ops"},
        {IR, PIECE("\x05\x01\x10\x01\x07\x04\x09\x03\x01\x01\x01"), "1 bytes behind the regions"},
        {IR, PIECE("\x05\x01\x10\x01\x07\x02\x07\x03\x01\x01"), "section 2 where regions belong"},
        {IR, PIECE("\x05\x01\x10\x01\x07\x1f\x07\x03\x01\x01"), "section 31"},
        {IR, PIECE("\x05\x09\x10\x01\x07\x04\x07\x03\x01\x01"), "op name 4 of 2"},
        {IR, PIECE("\x05\x01\x90\x01\x07\x04\x07\x03\x01\x01"), "mask 0x90"},
        {IR, PIECE("\x05\x01\x10\x03\x07\x04\x07\x03\x01\x01"), "attribute 1 of 1"},
        {IR, PIECE("\x05\x01\x11\x01\x01\x07\x04\x07\x03\x01\x01"),
         "an attribute of kind \"location\" where one of kind \"dictionary\" belongs"},
        {IR, PIECE("\x05\x01\x50\x01\x01\x07\x04\x07\x03\x01\x01"), "properties 0 of 0"},
        {IR, PIECE("\x05\x01\x12\x01\x03\x01\x07\x04\x07\x03\x01\x01"), "type 0 of 0"},
        {IR, PIECE("\x05\x01\x14\x01\x03\x01\x07\x04\x07\x03\x01\x01"), "value 0 of 0"},
        {IR, PIECE("\x05\x01\x18\x01\x03\x01\x07\x04\x07\x03\x01\x01"), "block 0 of 0"},
        {IR, PIECE("\x05\x01\x10\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff"), "regions, more than"},
        {IR, PIECE("\x05\x01\x10\x01\x07\x04\x07\x03\xfd\x01"), "126 values, more than"},
        {IR, PIECE("\x05\x01\x10\x01\x07\x04\x07\x03\x03\x01"), "value 0 is announced"},
        {IR, PIECE("\x05\x01\x10\x01\x07\x04\x0f\x03\x03\x05\x03\x04\x01\x03\x01"),
         "value 0 is used, but not defined"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct piece pieces[SECTIONS];
        struct error err;
        memcpy(pieces, usual, sizeof pieces);
        pieces[rows[i].section] = rows[i].piece;
        check_refused(read_pieces(pieces, &err), &err, rows[i].message);
        ck_assert_int_eq(err.code, ERROR_INVALID_ARGUMENT);
    }
}
END_TEST

START_TEST(test_headers)
{
    static const struct {
        struct piece data;
        const char *message;
        enum error_code code;
    } rows[] = {
        {PIECE("ML\xefR"), "ends too early", ERROR_INVALID_ARGUMENT},
        {PIECE("ML\xefR\x0fmlir\0"), "version 7 of the format", ERROR_UNIMPLEMENTED},
        {PIECE("ML\xefR\x0dmlir"), "a producer without an end", ERROR_INVALID_ARGUMENT},
        {PIECE("ML\xefR\x0d\0\x09\x01"), "section 9", ERROR_INVALID_ARGUMENT},
        {PIECE("ML\xefR\x0d\0\x81\x01\x07\xcb"), "an alignment of 3", ERROR_INVALID_ARGUMENT},
        {PIECE("ML\xefR\x0d\0\x81\x01\x21\xcb\xcb\x00"), "0x00 where padding belongs",
         ERROR_INVALID_ARGUMENT},
        {PIECE("ML\xefR\x0d\0\x01\x01\x01\x01"), "a second section \"dialects\"",
         ERROR_INVALID_ARGUMENT},
        {PIECE("ML\xefR\x0d\0\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff"), "bytes where only 0",
         ERROR_INVALID_ARGUMENT},
    };
    struct error err;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_refused(read_copy(rows[i].data.data, rows[i].data.size, &err), &err, rows[i].message);
        ck_assert_int_eq(err.code, rows[i].code);
    }
    ck_assert_ptr_null(read_copy("MLIR", 4, &err));
    ck_assert_str_eq(err.message, "this is no MLIR bytecode");
    ck_assert(!mlir_is_bytecode("ML\xef", 3));
}
END_TEST

/* --- attributes and types --- */

enum { BUILTIN, X, QUANT, SDY };
struct entry {
    struct piece piece;
    int dialect;
    bool is_text;
};

static size_t put_entries(const struct entry *entries, int count, char *data, char *sizes,
                          size_t *sizes_size)
{
    size_t size = 0;
    for (int i = 0; i < count; i++) {
        memcpy(data + size, entries[i].piece.data, entries[i].piece.size);
        size += entries[i].piece.size;
        *sizes_size += put_varint((uint64_t)entries[i].dialect, sizes + *sizes_size);
        *sizes_size += put_varint(1, sizes + *sizes_size);
        *sizes_size +=
            put_varint(entries[i].piece.size << 1 | !entries[i].is_text, sizes + *sizes_size);
    }
    return size;
}

/* Attributes: loc(unknown), {x = the last one}, and those given; types i32, tensor<2xi32>, i1,
 * tensor<9xi1>, i8, f32, and those given. The module has the dictionary. */
static struct mlir_file *read_entries(const struct entry *attrs, int attr_count,
                                      const struct entry *types, int type_count, struct error *err)
{
    enum { USUAL_ATTRS = 3, USUAL_TYPES = 6 };
    static const struct entry usual_types[USUAL_TYPES] = {
        {PIECE("\x01\x02\x02"), BUILTIN, false}, {PIECE("\x1b\x03\x09\x01"), BUILTIN, false},
        {PIECE("\x01\x09"), BUILTIN, false},     {PIECE("\x1b\x03\x25\x05"), BUILTIN, false},
        {PIECE("\x01\x41"), BUILTIN, false},     {PIECE("\x0b"), BUILTIN, false},
    };
    char dictionary[16] = "\x03\x03\x05", data[ROOM], sizes[ROOM];
    size_t dictionary_size =
        3 + put_varint((uint64_t)(USUAL_ATTRS + attr_count - 1), dictionary + 3);
    const struct entry usual_attrs[USUAL_ATTRS] = {
        {PIECE("\x1f"), BUILTIN, false},
        {{dictionary, dictionary_size}, BUILTIN, false},
        {PIECE("\x05\x05"), BUILTIN, false},
    };
    size_t sizes_size = put_varint((uint64_t)(USUAL_ATTRS + attr_count), sizes);
    sizes_size += put_varint((uint64_t)(USUAL_TYPES + type_count), sizes + sizes_size);
    size_t size = put_entries(usual_attrs, USUAL_ATTRS, data, sizes, &sizes_size);
    size += put_entries(attrs, attr_count, data + size, sizes, &sizes_size);
    size += put_entries(usual_types, USUAL_TYPES, data + size, sizes, &sizes_size);
    size += put_entries(types, type_count, data + size, sizes, &sizes_size);
    static const char ir[] = "\x05\x01\x11\x01\x03\x07\x04\x07\x03\x01\x01";
    struct piece pieces[SECTIONS];
    memcpy(pieces, usual, sizeof pieces);
    pieces[ENTRIES] = (struct piece){data, size};
    pieces[ENTRY_SIZES] = (struct piece){sizes, sizes_size};
    pieces[IR] = (struct piece){ir, sizeof ir - 1};
    return read_pieces(pieces, err);
}

START_TEST(test_entries)
{
    static const struct {
        struct entry entry;
        const char *message;
        enum error_code code;
    } rows[] = {
        {{PIECE("\x01\x03\x07"), BUILTIN, false},
         "attribute 3 contains itself",
         ERROR_INVALID_ARGUMENT},
        {{PIECE("\x01\x03\x13"), BUILTIN, false}, "attribute 9 of 4", ERROR_INVALID_ARGUMENT},
        {{PIECE("\xc7"), BUILTIN, false},
         "dialect builtin, offset 0x49: attribute 99 is not known",
         ERROR_UNIMPLEMENTED},
        {{PIECE("\x0f\x01"), BUILTIN, false},
         "1 bytes after the end of attribute 3",
         ERROR_INVALID_ARGUMENT},
        {{PIECE("\x05\x13"), BUILTIN, false}, "string 9 of 6", ERROR_INVALID_ARGUMENT},
        {{PIECE("\x01\xc9\x01"), BUILTIN, false},
         "100 elements do not fit",
         ERROR_INVALID_ARGUMENT},
        {{PIECE("\x01"), X, false}, "dialect x, offset", ERROR_UNIMPLEMENTED},
        {{PIECE("\x01"), QUANT, false}, "dialect quant, offset", ERROR_UNIMPLEMENTED},
        {{PIECE("unit"), BUILTIN, true}, "text without a zero", ERROR_INVALID_ARGUMENT},
        {{PIECE("u\0it\0"), BUILTIN, true}, "text without a zero", ERROR_INVALID_ARGUMENT},
        {{PIECE("unit unit\0"), BUILTIN, true}, "\"unit unit\"", ERROR_INVALID_ARGUMENT},
        {{PIECE("\x0d\x1f"), BUILTIN, false}, "type 15 of 6", ERROR_INVALID_ARGUMENT},
        {{PIECE("\x11\x0b\x01"), BUILTIN, false},
         "an integer of a type that is none",
         ERROR_INVALID_ARGUMENT},
        {{PIECE("\x13\x01\x01"), BUILTIN, false}, "no float", ERROR_INVALID_ARGUMENT},
        {{PIECE("\x25\x03\x0f\x01\x02\x03\x04\x05\x06\x07"), BUILTIN, false},
         "7 bytes for 2 elements of 4 bytes",
         ERROR_INVALID_ARGUMENT},
        {{PIECE("\x25\x07\x03\x03"), BUILTIN, false},
         "1 bytes for 9 elements",
         ERROR_INVALID_ARGUMENT},
        {{PIECE("\x25\x01\x01"), BUILTIN, false}, "without a shape", ERROR_INVALID_ARGUMENT},
        {{PIECE("\x23\x01\x05\x09\x01\x02\x03\x04"), BUILTIN, false},
         "4 bytes for 2 elements",
         ERROR_INVALID_ARGUMENT},
        {{PIECE("\x23\x05\x03\x03\x02"), BUILTIN, false},
         "an i1 that is 2",
         ERROR_INVALID_ARGUMENT},
        {{PIECE("\x21\x03\x01"), BUILTIN, false}, "resource 0 of 0", ERROR_INVALID_ARGUMENT},
        {{PIECE("\x03\x05\x05\x01\x05\x01"), BUILTIN, false},
         "attribute \"x\" twice",
         ERROR_INVALID_ARGUMENT},
        {{PIECE("\x1d\x01\x01"), BUILTIN, false},
         "where one of kind \"string\" belongs",
         ERROR_INVALID_ARGUMENT},
        {{PIECE("\x0d\x01\x01\x01\x01"), SDY, false},
         "an attribute that is no #sdy.mesh",
         ERROR_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error err;
        check_refused(read_entries(&rows[i].entry, 1, NULL, 0, &err), &err, rows[i].message);
        ck_assert_msg(err.code == rows[i].code, "%s", err.message);
    }
}
END_TEST

/* The text of an attribute that refers to a type of those bytes. */
static void check_type(struct piece piece, int dialect, const char *expected)
{
    static const struct entry attr = {PIECE("\x0d\x0d"), BUILTIN, false};
    const struct entry type = {piece, dialect, false};
    struct error err;
    struct mlir_file *file = read_entries(&attr, 1, &type, 1, &err);
    ck_assert_msg(file != NULL, "%s: %s", expected, err.message);
    struct text text;
    text_init(&text);
    mlir_print_type(mlir_op_attr(file->module, "x")->type, &text);
    ck_assert_str_eq(text.data, expected);
    text_finish(&text);
    mlir_file_destroy(file);
}

/* Encodings that jaxlib 0.10.2 does not write: the dialect quant has text there. */
START_TEST(test_quantized)
{
    check_type((struct piece)PIECE("\x09\x03\x09\x0b\x00\x00\x00\x00\x00\x00\x00\xc0\x7f\x0d\xfe"
                                   "\x03\xfa\x03"),
               QUANT, "!quant.uniform<i8:f32, 5.000000e-01:3>");
    check_type(
        (struct piece)PIECE("\x0b\x01\x09\x0b\x03\x01\xfa\x07\x05\x00\x00\x00\x00\x00\x00\x00"
                            "\xc0\x7f\x00\x00\x00\x00\x00\x00\x00\x00\x80\x05\x01\x09"),
        QUANT, "!quant.uniform<u8:f32:1, {5.000000e-01, 2.000000e+00:2}>");
}
END_TEST

/* Attributes that refer to attributes, each to the one before it in two ways: too much to print,
 * and too deep. */
START_TEST(test_bombs)
{
    enum { COUNT = 60, DEEP = 1500 };
    struct entry *attrs = calloc(DEEP, sizeof *attrs);
    char *data = malloc(DEEP * 12), *at = data;
    struct error err;
    for (int i = 0; i < COUNT; i++) {
        char *start = at;
        *at++ = 1;
        at += put_varint(2, at);
        at += put_varint(i == 0 ? 2 : (uint64_t)(2 + i), at);
        at += put_varint(i == 0 ? 2 : (uint64_t)(2 + i), at);
        attrs[i] = (struct entry){{start, (size_t)(at - start)}, BUILTIN, false};
    }
    check_refused(read_entries(attrs, COUNT, NULL, 0, &err), &err, "parts");
    ck_assert_int_eq(err.code, ERROR_RESOURCE_EXHAUSTED);
    at = data;
    for (int i = 0; i < DEEP; i++) {
        char *start = at;
        *at++ = 1;
        at += put_varint(1, at);
        at += put_varint(i == 0 ? 2 : (uint64_t)(2 + i), at);
        attrs[i] = (struct entry){{start, (size_t)(at - start)}, BUILTIN, false};
    }
    check_refused(read_entries(attrs, DEEP, NULL, 0, &err), &err, "nest deeper");
    ck_assert_int_eq(err.code, ERROR_RESOURCE_EXHAUSTED);
    free(attrs);
    free(data);
}
END_TEST

/* A sharding whose unreduced axes are reduced by max, as Shardy after jaxlib 0.10.2 writes it. */
START_TEST(test_shardy)
{
    static const struct entry attrs[] = {
        {PIECE("\x09\x05"), BUILTIN, false},                 /* 3: @x */
        {PIECE("\x09\x07\x01"), SDY, false},                 /* 4: axis "op" */
        {PIECE("\x23\x07\x01\x01\x03\x09\x05"), SDY, false}, /* 5 */
    };
    struct error err;
    struct mlir_file *file = read_entries(attrs, 3, NULL, 0, &err);
    ck_assert_msg(file != NULL, "%s", err.message);
    const struct mlir_attr *attr = mlir_op_attr(file->module, "x");
    ck_assert_int_eq(attr->kind, MLIR_ATTR_OTHER);
    ck_assert_str_eq(attr->string.data, "#sdy.sharding<@x, [], unreduced=max{\"op\"}>");
    mlir_file_destroy(file);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bytecode");
    TCase *fixtures = tcase_create("fixtures"), *parts = tcase_create("parts");
    tcase_add_test(fixtures, test_fixtures);
    tcase_add_test(fixtures, test_prefixes);
    tcase_add_loop_test(fixtures, test_locations, 0, 7);
    tcase_add_test(fixtures, test_forward);
    tcase_add_test(parts, test_varints);
    tcase_add_test(parts, test_bits);
    tcase_add_test(parts, test_made);
    tcase_add_test(parts, test_sections);
    tcase_add_test(parts, test_headers);
    tcase_add_test(parts, test_entries);
    tcase_add_test(parts, test_quantized);
    tcase_add_test(parts, test_bombs);
    tcase_add_test(parts, test_shardy);
    suite_add_tcase(suite, fixtures);
    suite_add_tcase(suite, parts);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
