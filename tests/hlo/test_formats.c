/* Files told apart by content; literals in protos, .npy files and text; texts in several parts. */
#include "hlo/format.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/text.h"
#include "tests/hlo/fixtures.h"

/* --- formats --- */

START_TEST(test_format_of_fixtures)
{
    static const struct {
        const char *name;
        enum format format;
    } files[] = {
        {"control.hlo", FORMAT_TEXT},          {"make.py", FORMAT_TEXT},
        {"control.pb", FORMAT_PROTO},          {"control_hlo.pb", FORMAT_PROTO},
        {"control_snapshot.pb", FORMAT_PROTO}, {"control_config.pb", FORMAT_PROTO},
        {"control_unknown.pb", FORMAT_PROTO},  {"literal_s32.pb", FORMAT_LITERAL},
        {"literal_bf16.pb", FORMAT_LITERAL},   {"literals.pb", FORMAT_LITERALS},
        {"iteration.pb", FORMAT_LITERALS},     {"array_f32.npy", FORMAT_NPY},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t size;
        char *data = fixture_read(files[i].name, &size);
        ck_assert_msg(format_of(data, size) == files[i].format, "%s is taken for %s", files[i].name,
                      format_text(format_of(data, size)));
        free(data);
    }
}
END_TEST

START_TEST(test_unknown_formats)
{
    static const struct {
        const char *data;
        size_t size;
        const char *message;
    } files[] = {
        {"", 0, "the file is empty"},
        {" \n\t\n", 4, "the file is empty"},
        {"\x7f"
         "ELF\1\2\3\4",
         8, "no HloModuleProto"},
        {"ML\xefS\0\0\1", 7, "no HloModuleProto"},
        {"\n\3abc", 5, NULL}, /* printable: an HLO text that does not parse */
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct loaded_file file;
        struct error err = {0};
        bool loaded = module_load_memory("x", files[i].data, files[i].size, &file, &err);
        ck_assert(!loaded);
        if (files[i].message != NULL) {
            ck_assert_int_eq(file.format, FORMAT_UNKNOWN);
            ck_assert_msg(strstr(err.message, files[i].message) != NULL, "%s", err.message);
        }
        loaded_file_finish(&file);
    }
    struct loaded_file file;
    struct error err = {0};
    ck_assert(!module_load(fixture_path("array_f32.npy"), &file, &err));
    ck_assert_str_eq(err.message, "this is no module but .npy");
}
END_TEST

/* MLIR is told by its first bytes, and what is wrong with it said by its reader. */
START_TEST(test_mlir_formats)
{
    static const struct {
        const char *data;
        size_t size;
        enum format format;
        const char *message; /* NULL: it is read */
    } files[] = {
        {"ML\xefR\0\0\1", 7, FORMAT_MLIR_BYTECODE, ""},
        {"func.func @main() {\n  return\n}\n", 31, FORMAT_MLIR, NULL},
        {"module {\n", 9, FORMAT_MLIR, ""},
        {"HloModule m\n\nENTRY e {\n  ROOT c = s32[] constant(1)\n}\n", 54, FORMAT_TEXT, NULL},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct loaded_file file;
        struct error err = {0};
        ck_assert_msg(module_load_memory("x", files[i].data, files[i].size, &file, &err), "%s",
                      err.message);
        ck_assert_int_eq(file.format, files[i].format);
        ck_assert_int_eq(file.count, 1);
        ck_assert_int_eq(file.modules[0].module == NULL, files[i].message != NULL);
        ck_assert_int_eq(file.modules[0].error != NULL, files[i].message != NULL);
        loaded_file_finish(&file);
    }
}
END_TEST

/* A proto that ends too early is refused with the place, not taken for something else. */
START_TEST(test_broken_proto_says_where)
{
    size_t size;
    char *data = fixture_read("control.pb", &size);
    struct loaded_file file;
    struct error err = {0};
    ck_assert(!module_load_memory("short.pb", data, size - 1, &file, &err));
    ck_assert_str_eq(err.file, "short.pb");
    ck_assert_ptr_nonnull(strstr(err.message, "malformed HloModuleProto at byte "));
    free(data);
}
END_TEST

/* --- texts in parts --- */

static const char good[] = "HloModule good\nENTRY e { ROOT p = f32[] parameter(0) }\n";

static void load(const char *text, struct loaded_file *file)
{
    struct error err = {0};
    ck_assert_msg(module_load_memory("file", text, strlen(text), file, &err), "%s", err.message);
}

START_TEST(test_whole_text_first)
{
    struct text text;
    text_init(&text);
    text_printf(&text, "//@ case one\n// a comment\n//@ arg f32[] 1\n\n%s// -----\n//@ late\n",
                good);
    struct loaded_file file;
    load(text.data, &file);
    ck_assert_int_eq(file.count, 1);
    ck_assert_ptr_nonnull(file.modules[0].module);
    ck_assert_str_eq(file.modules[0].name, "file");
    ck_assert_str_eq(file.modules[0].header, "//@ case one\n//@ arg f32[] 1\n");
    loaded_file_finish(&file);
    text_finish(&text);
}
END_TEST

START_TEST(test_parts)
{
    struct text text;
    text_init(&text);
    text_printf(&text,
                "// RUN: something %%s\n// -----\n//@ first\n%s  // -----\n\nHloModule bad\n"
                "ENTRY e {\n  ROOT r = f32[] nonsense(p)\n}\n// ----- third\n%s// -----\n",
                good, good);
    struct loaded_file file;
    load(text.data, &file);
    ck_assert_int_eq(file.count, 3);
    ck_assert_str_eq(file.modules[0].name, "file#0");
    ck_assert_str_eq(file.modules[0].header, "//@ first\n");
    ck_assert_ptr_nonnull(file.modules[0].module);
    ck_assert_ptr_null(file.modules[1].module);
    ck_assert_str_eq(file.modules[1].error->file, "file");
    ck_assert_int_eq(file.modules[1].error->line, 10);
    ck_assert_str_eq(file.modules[2].name, "file#2");
    ck_assert_ptr_nonnull(file.modules[2].module);
    loaded_file_finish(&file);
    text_finish(&text);
}
END_TEST

START_TEST(test_one_bad_text)
{
    struct loaded_file file;
    load("HloModule bad\nENTRY e {\n  ROOT r = f32[] nonsense(p)\n}\n", &file);
    ck_assert_int_eq(file.count, 1);
    ck_assert_ptr_null(file.modules[0].module);
    ck_assert_int_eq(file.modules[0].error->line, 3);
    loaded_file_finish(&file);
}
END_TEST

/* --- literals --- */

static struct literal *parse(const char *text)
{
    struct error err = {0};
    size_t used, value_used;
    const struct shape *shape = shape_parse(text, strlen(text), &used, &err);
    ck_assert_msg(shape != NULL, "%s", err.message);
    struct literal *literal =
        literal_parse(shape, text + used, strlen(text) - used, &value_used, &err);
    ck_assert_msg(literal != NULL, "%s", err.message);
    return literal;
}

static struct literal *load_literal(const char *name, const struct shape *shape)
{
    struct error err = {0};
    struct literal *literal = literal_load(fixture_path(name), shape, &err);
    ck_assert_msg(literal != NULL, "%s: %s", name, err.message);
    return literal;
}

static const struct known_literal {
    const char *file, *shape, *value;
} known_literals[] = {
    {"literal_s32.pb", NULL, "s32[2,3] {{1, 2, 3}, {4, 5, 6}}"},
    {"literal_bf16.pb", NULL, "bf16[2,3,2] {{{1,2},{3,4},{5,6}},{{7,8},{9,10},{11,12}}}"},
    {"array_f32.npy", NULL, "f32[2,3] {{0, 1, 2}, {3, 4, 5}}"},
    {"array_f32.npy", "f32[2,3]{0,1}", "f32[2,3] {{0, 1, 2}, {3, 4, 5}}"},
    {"array_f32_fortran.npy", NULL, "f32[2,3] {{0, 1, 2}, {3, 4, 5}}"},
    {"array_f32_big.npy", NULL, "f32[2,3] {{0, 1, 2}, {3, 4, 5}}"},
    {"array_version2.npy", NULL, "f32[2,3] {{0, 1, 2}, {3, 4, 5}}"},
    {"array_c64_big.npy", NULL, "c64[2,3] {{(0,10), (1,10), (2,10)}, {(3,10), (4,10), (5,10)}}"},
    {"array_c128.npy", NULL, "c128[2,3] {{(0,10), (1,10), (2,10)}, {(3,10), (4,10), (5,10)}}"},
    {"array_pred.npy", NULL, "pred[2,3] {{0, 0, 0}, {1, 1, 1}}"},
    {"array_s64.npy", NULL, "s64[] -5"},
    {"array_u16.npy", NULL, "u16[2] {1, 65535}"},
    {"array_bf16.npy", "bf16[2,3]", "bf16[2,3] {{0, 1, 2}, {3, 4, 5}}"},
    {"array_s4.npy", "s4[3]", "s4[3] {-8, -1, 7}"},
    {"array_empty.npy", NULL, "f64[0,3] {}"},
};

START_TEST(test_literal_files)
{
    const struct known_literal *known = &known_literals[_i];
    const struct shape *shape = NULL;
    if (known->shape != NULL) {
        size_t used;
        shape = shape_parse(known->shape, strlen(known->shape), &used, NULL);
    }
    struct literal *literal = load_literal(known->file, shape);
    struct literal *expected = parse(known->value);
    ck_assert_msg(literal_equal(literal, expected), "%s", known->file);
    literal_release(expected);
    literal_release(literal);
}
END_TEST

/* What NumPy has a name for is the same file, byte by byte, as NumPy writes. */
START_TEST(test_npy_like_numpy)
{
    static const char *const names[] = {"array_f32.npy", "array_c128.npy", "array_pred.npy",
                                        "array_s64.npy", "array_u16.npy",  "array_empty.npy"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size, numpy_size;
        struct error err = {0};
        struct literal *literal = load_literal(names[i], NULL);
        char *numpy = fixture_read(names[i], &numpy_size);
        void *data = npy_write(literal, &size, &err);
        ck_assert_msg(data != NULL, "%s", err.message);
        ck_assert_msg(size == numpy_size && memcmp(data, numpy, size) == 0, "%s", names[i]);
        free(data);
        free(numpy);
        literal_release(literal);
    }
}
END_TEST

START_TEST(test_npy_of_other_types)
{
    static const char *const values[] = {
        "bf16[2] {1.5, -2}",  "s4[3] {-8, 0, 7}",         "f8e4m3fn[2] {0.5, 448}",
        "u2[4] {0, 1, 2, 3}", "f6e2m3fn[2] {0.125, 7.5}", "f16[1] {65504}",
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct error err = {0};
        size_t size;
        struct literal *literal = parse(values[i]);
        void *data = npy_write(literal, &size, &err);
        ck_assert_msg(data != NULL, "%s", err.message);
        struct literal *again = npy_read(data, size, literal->shape, &err);
        ck_assert_msg(again != NULL, "%s", err.message);
        ck_assert(literal_equal(literal, again));
        literal_release(again);
        literal_release(literal);
        free(data);
    }
}
END_TEST

START_TEST(test_npy_refusals)
{
    struct error err = {0};
    ck_assert_ptr_null(literal_load(fixture_path("array_bf16.npy"), NULL, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "say with a shape which type they are"));
    err = (struct error){0};
    const int64_t dimensions[] = {3, 2};
    const struct shape *shape = shape_array(TYPE_F32, 2, dimensions);
    ck_assert_ptr_null(literal_load(fixture_path("array_f32.npy"), shape, &err));
    ck_assert_str_eq(err.message, "the .npy file has shape f32[2,3]{1,0} instead of f32[3,2]{1,0}");

    size_t size;
    char *data = fixture_read("array_f32.npy", &size);
    err = (struct error){0};
    ck_assert_ptr_null(npy_read(data, size - 1, NULL, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "has 23 bytes of elements, its shape wants 24"));
    char *dtype = strstr(data + 10, "<f4");
    memcpy(dtype, "<U4", 3);
    err = (struct error){0};
    ck_assert_ptr_null(npy_read(data, size, NULL, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "there is no such type in HLO"));
    free(data);
}
END_TEST

/* All types, non-default layouts, tuples and dynamic sizes through LiteralProto. */
START_TEST(test_literal_protos)
{
    static const char *const values[] = {
        "pred[3] {1, 0, 1}",
        "s1[2] {0, -1}",
        "s2[4] {-2, -1, 0, 1}",
        "s4[3]{0} {-8, 0, 7}",
        "u1[2] {0, 1}",
        "u64[2] {1, 18446744073709551615}",
        "f6e3m2fn[2] {0.25, 28}",
        "f6e2m3fn[2] {0.125, 7.5}",
        "f4e2m1fn[2] {0.5, -6}",
        "f32[2,3,2]{0,2,1} {{{1,2},{3,4},{5,6}},{{7,8},{9,10},{11,12}}}",
        "pred[2,2]{0,1} {{1,0},{1,1}}",
        "c64[2,2]{0,1} {{(1,2),(3,4)},{(5,6),(7,8)}}",
        "f32[] nan(0x1234)",
        "(f32[2]{0}, (s32[], u8[2]{0})) ( {1, 2}, ( -3, {4, 5} ) )",
        "() ()",
        "f32[<=3] {1, 2, 3}",
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct error err = {0};
        size_t size;
        struct literal *literal = parse(values[i]);
        if (literal->dynamic_sizes != NULL) {
            literal->dynamic_sizes[0] = 2;
        }
        void *data = proto_write_literal(literal, &size, &err);
        ck_assert_msg(data != NULL, "%s", err.message);
        ck_assert_msg(format_of(data, size) == FORMAT_LITERAL, "%s", values[i]);
        struct literal *again = proto_read_literal(data, size, &err);
        ck_assert_msg(again != NULL, "%s: %s", values[i], err.message);
        ck_assert_msg(literal_equal(literal, again), "%s", values[i]);
        ck_assert_msg(again->shape == literal->shape, "%s", values[i]);
        literal_release(again);
        literal_release(literal);
        free(data);
    }
}
END_TEST

START_TEST(test_sets_of_literals)
{
    static const char *const names[] = {"literals.pb", "iteration.pb"};
    for (int i = 0; i < 2; i++) {
        size_t size, again_size;
        struct error err = {0};
        char *data = fixture_read(names[i], &size);
        struct literal_sets sets, again;
        ck_assert_msg(proto_read_literals(data, size, &sets, &err), "%s", err.message);
        ck_assert_int_eq(sets.count, i == 0 ? 2 : 1);
        ck_assert_int_eq(sets.sets[0].count, 2);
        ck_assert_int_eq(literal_get_int(sets.sets[0].arguments[0], 5), 6);
        ck_assert_ptr_nonnull(sets.sets[0].result);
        ck_assert_ptr_null(sets.sets[0].reference_result);
        void *written = proto_write_literals(&sets, &again_size, &err);
        ck_assert_msg(written != NULL, "%s", err.message);
        if (i == 0) { /* XLA's own bytes, but for the marks of static dimensions */
            ck_assert_ptr_nonnull(sets.sets[1].reference_result);
            ck_assert_int_eq(sets.sets[1].count, 0);
        }
        ck_assert_msg(proto_read_literals(written, again_size, &again, &err), "%s", err.message);
        ck_assert_int_eq(again.count, sets.count);
        ck_assert(literal_equal(again.sets[0].arguments[1], sets.sets[0].arguments[1]));
        literal_sets_finish(&again);
        literal_sets_finish(&sets);
        free(written);
        free(data);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("formats");
    TCase *files = tcase_create("files");
    tcase_add_test(files, test_format_of_fixtures);
    tcase_add_test(files, test_unknown_formats);
    tcase_add_test(files, test_mlir_formats);
    tcase_add_test(files, test_broken_proto_says_where);
    tcase_add_test(files, test_whole_text_first);
    tcase_add_test(files, test_parts);
    tcase_add_test(files, test_one_bad_text);
    suite_add_tcase(suite, files);
    TCase *literals = tcase_create("literals");
    tcase_add_loop_test(literals, test_literal_files, 0,
                        sizeof known_literals / sizeof *known_literals);
    tcase_add_test(literals, test_npy_like_numpy);
    tcase_add_test(literals, test_npy_of_other_types);
    tcase_add_test(literals, test_npy_refusals);
    tcase_add_test(literals, test_literal_protos);
    tcase_add_test(literals, test_sets_of_literals);
    suite_add_tcase(suite, literals);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
