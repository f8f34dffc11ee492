/* The printer of MLIR and the comparison of files. What is printed is held against text as MLIR's
 * own printer (jaxlib 0.10.2) writes it; files of tests/hlo/mlir/fixtures/text against what MLIR's
 * own parser made of them (make_text.py). */
#include <dirent.h>
#include <stdio.h>

#include "hlo/base/arena.h"
#include "hlo/base/file.h"
#include "tests/hlo/mlir/mlir_text.h"

/* --- printing --- */

static void check_print(const char *text, const char *expected)
{
    struct mlir_file *file;
    const struct mlir_attr *attr = read_attr(text, &file);
    struct text out;
    text_init(&out);
    mlir_print_attr(attr, &out);
    ck_assert_str_eq(out.data, expected);
    text_finish(&out);
    mlir_file_destroy(file);
}

START_TEST(attributes)
{
    check_print("0xFF : i32", "255 : i32");
    check_print("255 : i8", "-1 : i8");
    check_print("18446744073709551615 : ui64", "18446744073709551615 : ui64");
    check_print("1 : i1", "true");
    check_print("0.1 : f32", "1.000000e-01 : f32");
    check_print("0.1 : bf16", "1.000980e-01 : bf16");
    check_print("-0.0 : f16", "-0.000000e+00 : f16");
    check_print("0x7F800000 : f32", "0x7F800000 : f32");
    check_print("\"a\\22\\\\\\n\\FF\"", "\"a\\22\\\\\\0A\\FF\"");
    check_print("{\"b c\" = 1 : i8, a}", "{a, \"b c\" = 1 : i8}");
    check_print("@\"f\"::@\"g h\"", "@f::@\"g h\"");
    check_print("array<i64: 1, 2>", "array<i64: 1, 2>");
    check_print("array<i1: true>", "array<i1: true>");
    check_print("array<f32>", "array<f32>");
    check_print("dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>",
                "dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>");
    check_print("dense<[7, 7]> : tensor<2xi8>", "dense<7> : tensor<2xi8>");
    check_print("dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>",
                "dense<(1.000000e+00,2.000000e+00)> : tensor<2xcomplex<f32>>");
    check_print("dense<[]> : tensor<0xi8>", "dense<> : tensor<0xi8>");
    check_print("#stablehlo.conv<[f,1,b,0]x[o,0,i,1]->[0,1,b,f]>",
                "#stablehlo.conv<[f, 1, b, 0]x[o, 0, i, 1]->[0, 1, b, f]>");
    check_print("#stablehlo.precision<HIGH>", "#stablehlo<precision HIGH>");
    check_print("tensor<2xf32, #stablehlo.type_extensions<bounds = [?]>>",
                "tensor<2xf32, #stablehlo.bounds<?>>");
    check_print("(i1) -> (i2)", "(i1) -> i2");
    check_print("() -> (() -> i1)", "() -> (() -> i1)");
    check_print("!quant.uniform<i8<-127:127>:f32:1, {0.5:1, 2.0}>",
                "!quant.uniform<i8<-127:127>:f32:1, {5.000000e-01:1, 2.000000e+00}>");
}
END_TEST

/* More than a hundred elements are hex. */
START_TEST(long_constants)
{
    struct text text, expected;
    text_init(&text);
    text_init(&expected);
    text_append(&text, "dense<[");
    text_append(&expected, "dense<\"0x");
    for (int i = 0; i < 101; i++) {
        text_printf(&text, "%s%d", i > 0 ? ", " : "", i % 16 - 8);
        text_printf(&expected, "%02X", (unsigned)(i % 16 - 8) & 15);
    }
    text_append(&text, "]> : tensor<101xi4>");
    text_append(&expected, "\"> : tensor<101xi4>");
    check_print(text.data, expected.data);
    text_finish(&text);
    text_finish(&expected);
}
END_TEST

START_TEST(ops)
{
    struct mlir_file *file = read_mlir("module @m {\n"
                                       "  func.func @f(%x: i1, %y: f32) -> i1 {\n"
                                       "    %a:2 = \"t.a\"(%y) ({\n"
                                       "    ^p(%q: i8):\n"
                                       "      \"t.b\"(%q, %x)[^r] : (i8, i1) -> ()\n"
                                       "    ^r:\n"
                                       "      %z = \"t.c\"() : () -> i8\n"
                                       "    }) {k} : (f32) -> (i1, i2)\n"
                                       "    return %a#0 : i1\n"
                                       "  }\n"
                                       "}\n");
    struct text out;
    text_init(&out);
    mlir_print(file, &out);
    ck_assert_str_eq(out.data,
                     "\"builtin.module\"() ({\n"
                     "  \"func.func\"() ({\n"
                     "  ^bb0(%arg0: i1, %arg1: f32):\n"
                     "    %0:2 = \"t.a\"(%arg1) ({\n"
                     "    ^bb0(%arg2: i8):\n"
                     "      \"t.b\"(%arg2, %arg0)[^bb1] : (i8, i1) -> ()\n"
                     "    ^bb1:\n"
                     "      %1 = \"t.c\"() : () -> i8\n"
                     "    }) {k} : (f32) -> (i1, i2)\n"
                     "    \"func.return\"(%0#0) : (i1) -> ()\n"
                     "  }) {function_type = (i1, f32) -> i1, sym_name = \"f\"} : () -> ()\n"
                     "}) {sym_name = \"m\"} : () -> ()\n");
    text_finish(&out);
    mlir_file_destroy(file);
}
END_TEST

/* --- comparing --- */

static void compare(const char *a, const char *b, bool equal)
{
    struct error err = {0};
    struct mlir_file *left = read_mlir(a), *right = read_mlir(b);
    ck_assert_msg(mlir_file_equal(left, right, &err) == equal, "%s\n%s\n%s", a, b, err.message);
    ck_assert_msg(mlir_file_equal(right, left, NULL) == equal, "%s\n%s", a, b);
    ck_assert(equal || err.code != ERROR_NONE);
    mlir_file_destroy(left);
    mlir_file_destroy(right);
}

START_TEST(equal_and_not)
{
    static const char op[] = "%a = \"x.y\"() {k = 1 : i8} : () -> i1\n\"z.z\"(%a) : (i1) -> ()";
    compare(op, "%0 = \"x.y\"() {k = 1 : i8} : () -> i1 loc(\"l\")\n\"z.z\"(%0) : (i1) -> ()",
            true);
    compare(op, "%a = \"x.w\"() {k = 1 : i8} : () -> i1\n\"z.z\"(%a) : (i1) -> ()", false);
    compare(op, "%a = \"x.y\"() {k = 2 : i8} : () -> i1\n\"z.z\"(%a) : (i1) -> ()", false);
    compare(op, "%a = \"x.y\"() {k = 1 : i16} : () -> i1\n\"z.z\"(%a) : (i1) -> ()", false);
    compare(op, "%a = \"x.y\"() {k = 1 : i8, l} : () -> i1\n\"z.z\"(%a) : (i1) -> ()", false);
    compare(op, "%a = \"x.y\"() {k = 1 : i8} : () -> i2\n\"z.z\"(%a) : (i2) -> ()", false);
    compare(op, "%a = \"x.y\"() {k = 1 : i8} : () -> i1\n", false);
    compare("%a:2 = \"x.y\"() : () -> (i1, i1)\n\"z.z\"(%a#0) : (i1) -> ()",
            "%a:2 = \"x.y\"() : () -> (i1, i1)\n\"z.z\"(%a#1) : (i1) -> ()", false);
    compare("%a = \"x\"() : () -> i1\n%b = \"x\"() : () -> i1\n\"z\"(%a) : (i1) -> ()",
            "%a = \"x\"() : () -> i1\n%b = \"x\"() : () -> i1\n\"z\"(%b) : (i1) -> ()", false);
    compare("\"x\"() ({\n^a(%p: i1, %q: i1):\n\"z\"(%p) : (i1) -> ()\n}) : () -> ()",
            "\"x\"() ({\n^a(%p: i1, %q: i1):\n\"z\"(%q) : (i1) -> ()\n}) : () -> ()", false);
    compare("\"x\"() ({\n^a:\n\"z\"()[^a] : () -> ()\n^b:\n}) : () -> ()",
            "\"x\"() ({\n^a:\n\"z\"()[^b] : () -> ()\n^b:\n}) : () -> ()", false);
    compare("\"x\"() {a = dense<[2, 2]> : tensor<2xi8>} : () -> ()",
            "\"x\"() {a = dense<2> : tensor<2xi8>} : () -> ()", true);
    compare("\"x\"() {a = dense<[2, 3]> : tensor<2xi8>} : () -> ()",
            "\"x\"() {a = dense<2> : tensor<2xi8>} : () -> ()", false);
    compare("\"x\"() {a = dense<0.0> : tensor<2xf32>} : () -> ()",
            "\"x\"() {a = dense<-0.0> : tensor<2xf32>} : () -> ()", false);
    compare("\"x\"() {a = [dense<2> : tensor<2xi8>]} : () -> ()",
            "\"x\"() {a = [dense<[2, 2]> : tensor<2xi8>]} : () -> ()", true);
    compare("module {}", "", true);
}
END_TEST

/* An attribute that is absent, and one that says what its absence means. */
START_TEST(defaults)
{
    static const struct {
        const char *op, *same, *other;
    } rows[] = {
        {"stablehlo.dot", "precision_config = [#stablehlo<precision DEFAULT>]",
         "precision_config = [#stablehlo<precision HIGH>]"},
        {"stablehlo.convolution", "window_strides = array<i64: 1, 1>",
         "window_strides = array<i64: 1, 2>"},
        {"stablehlo.convolution", "padding = dense<0> : tensor<2x2xi64>",
         "padding = dense<1> : tensor<2x2xi64>"},
        {"stablehlo.convolution", "window_reversal = array<i1: false>",
         "window_reversal = array<i1: true>"},
        {"stablehlo.reduce_window", "base_dilations = array<i64: 1>",
         "base_dilations = array<i64: 3>"},
        {"stablehlo.custom_call", "has_side_effect = false", "has_side_effect = true"},
        {"stablehlo.custom_call", "api_version = 1 : i32", "api_version = 2 : i32"},
        {"stablehlo.custom_call", "called_computations = []", "called_computations = [@f]"},
        {"stablehlo.custom_call", "backend_config = \"\"", "backend_config = \"x\""},
        {"stablehlo.sort", "is_stable = false", "is_stable = true"},
        {"stablehlo.sort", "dimension = -1 : i64", "dimension = 0 : i64"},
        {"stablehlo.compare", "compare_type = #stablehlo<comparison_type NOTYPE>",
         "compare_type = #stablehlo<comparison_type FLOAT>"},
        {"stablehlo.all_reduce", "channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>",
         "channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>"},
        {"stablehlo.tanh",
         "result_accuracy = #stablehlo.result_accuracy<atol = 0.0, rtol = 0.0, ulps = 0, mode = "
         "#stablehlo.result_accuracy_mode<DEFAULT>>",
         "result_accuracy = #stablehlo.result_accuracy<atol = 0.0, rtol = 0.0, ulps = 0, mode = "
         "#stablehlo.result_accuracy_mode<HIGHEST>>"},
        {"stablehlo.composite", "composite_attributes = {}", "composite_attributes = {a}"},
        {"chlo.top_k", "is_stable = true", "is_stable = false"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char bare[600], same[600], other[600];
        snprintf(bare, sizeof bare, "\"%s\"() : () -> ()", rows[i].op);
        snprintf(same, sizeof same, "\"%s\"() {%s} : () -> ()", rows[i].op, rows[i].same);
        snprintf(other, sizeof other, "\"%s\"() {%s} : () -> ()", rows[i].op, rows[i].other);
        compare(bare, same, true);
        compare(bare, other, false);
        compare(same, other, false);
    }
    compare("\"other.op\"() {is_stable = false} : () -> ()", "\"other.op\"() : () -> ()", false);
}
END_TEST

/* --- files --- */

static struct mlir_file *read_file(const char *path)
{
    struct error err = {0};
    size_t size;
    char *text = file_read(path, &size, &err);
    ck_assert_msg(text != NULL, "%s: %s", path, err.message);
    ck_assert_msg(mlir_is_text(text, size), "%s is not seen as MLIR", path);
    struct mlir_file *file = mlir_parse(text, size, path, 1, &err);
    ck_assert_msg(file != NULL, "%s:%d:%d: %s", path, err.line, err.column, err.message);
    free(text);
    return file;
}

/* Its text reads back to an equal file, and prints as the same text again. */
static void check_round_trip(const struct mlir_file *file, const char *path)
{
    struct error err = {0};
    struct text first, second;
    text_init(&first);
    text_init(&second);
    mlir_print(file, &first);
    struct mlir_file *again = mlir_parse(first.data, first.size, path, 1, &err);
    ck_assert_msg(again != NULL, "%s, printed:%d:%d: %s", path, err.line, err.column, err.message);
    ck_assert_msg(mlir_file_equal(file, again, &err), "%s: %s", path, err.message);
    mlir_print(again, &second);
    ck_assert_str_eq(first.data, second.data);
    mlir_file_destroy(again);
    text_finish(&first);
    text_finish(&second);
}

START_TEST(fixtures)
{
    const char *source = getenv("REFEREE_SOURCE");
    char folder[2048], path[4096];
    snprintf(folder, sizeof folder, "%s/tests/hlo/mlir/fixtures/text",
             source != NULL ? source : ".");
    DIR *directory = opendir(folder);
    ck_assert_ptr_nonnull(directory);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length < 5 || strcmp(entry->d_name + length - 5, ".mlir") != 0) {
            continue;
        }
        struct error err = {0};
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        struct mlir_file *file = read_file(path);
        snprintf(path, sizeof path, "%s/%.*s.generic", folder, (int)length - 5, entry->d_name);
        struct mlir_file *expected = read_file(path);
        ck_assert_msg(mlir_file_equal(file, expected, &err), "%s: %s", entry->d_name, err.message);
        check_round_trip(file, entry->d_name);
        check_round_trip(expected, path);
        mlir_file_destroy(file);
        mlir_file_destroy(expected);
        count++;
    }
    closedir(directory);
    ck_assert_int_ge(count, 8);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mlir_text_print");
    TCase *print_case = tcase_create("print");
    tcase_add_test(print_case, attributes);
    tcase_add_test(print_case, long_constants);
    tcase_add_test(print_case, ops);
    tcase_add_test(print_case, equal_and_not);
    tcase_add_test(print_case, defaults);
    tcase_add_test(print_case, fixtures);
    suite_add_tcase(suite, print_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
