/* MLIR bytecode made by hand: what is said of malformed files, and encodings that jaxlib does not
 * write. Source: mlir/docs/BytecodeFormat.md. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/mlir/mlir_format.h"
#include "tests/hlo/mlir/varint.h"

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
    size_t size = varint_encode(value, bytes, encoded);
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
        {IR, PIECE("\x41\x01\x10\x01\x07\x04\x07\x03\x01\x01"), "16 ops do not fit"},
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
        {IR, PIECE("\x05\x01\x10\x01\x07\x04\x11\x03\x03\x05\x03\x04\x01\x03\x01"),
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

/* An op that gained a property: StableHLO before 1.20 and after. */
START_TEST(test_layouts)
{
    static const struct piece pieces[SECTIONS] = {
        [STRINGS] = PIECE("\x09\x2b\x15\x0f\x11"
                          "builtin\0module\0stablehlo\0collective_broadcast\0"),
        [DIALECTS] = PIECE("\x05\x01\x09\x05\x01\x03\x07\x03\x03\x0f"),
        [ENTRIES] = PIECE("\x1f\x0f"),
        [ENTRY_SIZES] = PIECE("\x05\x01\x01\x05\x07\x07"),
        [IR] = PIECE("\x05\x01\x10\x01\x07\x04\x17"
                     "\x03\x01\x09\x03\x40\x01\x01\x03\x40\x01\x03"),
        [PROPERTIES] = PIECE("\x05\x05\x01\x03\x07\x01\x07\x03"),
    };
    struct error err;
    struct mlir_file *file = read_pieces(pieces, &err);
    ck_assert_msg(file != NULL, "%s", err.message);
    const struct mlir_block *block = file->module->regions[0].blocks[0];
    ck_assert_int_eq(block->count, 2);
    for (int i = 0; i < 2; i++) {
        const struct mlir_op *op = block->ops[i];
        ck_assert_str_eq(op->name, "stablehlo.collective_broadcast");
        ck_assert_int_eq(op->attrs.count, 1 + i);
        ck_assert_ptr_nonnull(mlir_op_attr(op, "replica_groups"));
        ck_assert_int_eq(mlir_op_attr(op, "has_dynamic_root") != NULL, i == 1);
    }
    mlir_file_destroy(file);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bytecode_made");
    TCase *tcase = tcase_create("made");
    tcase_add_test(tcase, test_made);
    tcase_add_test(tcase, test_sections);
    tcase_add_test(tcase, test_headers);
    tcase_add_test(tcase, test_entries);
    tcase_add_test(tcase, test_quantized);
    tcase_add_test(tcase, test_layouts);
    tcase_add_test(tcase, test_bombs);
    tcase_add_test(tcase, test_shardy);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
