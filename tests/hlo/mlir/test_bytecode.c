/* MLIR bytecode: what jaxlib writes, in each version of the format, against the text that it was
 * written from (fixtures/bytecode, make_bytecode.py); and numbers against their definition. Files
 * made by hand, most of them malformed, are in test_bytecode_made.c. Source:
 * mlir/docs/BytecodeFormat.md. */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/mlir/bytecode/bytecode.h"
#include "hlo/mlir/mlir_format.h"
#include "tests/hlo/mlir/varint.h"

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
    check_place(name->children[0], "a.py", 3, 7, 0, 0);
}

START_TEST(test_locations)
{
    char name[64];
    snprintf(name, sizeof name, "locations.v%d.bc", _i);
    struct mlir_file *file = read_fixture(name, false);
    check_place(file->module->location, "a.py", 3, 7, 0, 0);

    const struct mlir_location *call = function_op(file, 0)->location;
    ck_assert_int_eq(call->kind, MLIR_LOC_CALL);
    ck_assert_int_eq(call->count, 2);
    ck_assert_int_eq(call->children[0]->kind, MLIR_LOC_NAME);
    ck_assert_str_eq(call->children[0]->text, "f");
    check_main(call->children[0]->children[0]);
    check_main(call->children[1]->children[0]);
    check_place(call->children[1]->children[1], "g.py", 1, 2, 0, 0);

    const struct mlir_location *fused = function_op(file, 1)->location;
    ck_assert_int_eq(fused->kind, MLIR_LOC_FUSED);
    ck_assert_int_eq(fused->metadata->kind, MLIR_ATTR_STRING);
    ck_assert_str_eq(fused->metadata->string.data, "meta");
    ck_assert_int_eq(fused->count, 4);
    check_place(fused->children[0], "a.py", 3, 7, 0, 0);
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

START_TEST(test_varints)
{
    for (int bytes = 1; bytes <= 9; bytes++) {
        uint64_t most = bytes == 9 ? UINT64_MAX : ((uint64_t)1 << 7 * bytes) - 1;
        const uint64_t values[] = {0, 1, most / 3, most / 2, most - 1, most};
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            uint8_t data[9];
            size_t size = varint_encode(values[i], bytes, data);
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

int main(void)
{
    Suite *suite = suite_create("bytecode");
    TCase *fixtures = tcase_create("fixtures"), *numbers = tcase_create("numbers");
    tcase_add_test(fixtures, test_fixtures);
    tcase_add_test(fixtures, test_prefixes);
    tcase_add_loop_test(fixtures, test_locations, 0, 7);
    tcase_add_test(fixtures, test_forward);
    tcase_add_test(numbers, test_varints);
    tcase_add_test(numbers, test_bits);
    suite_add_tcase(suite, fixtures);
    suite_add_tcase(suite, numbers);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
