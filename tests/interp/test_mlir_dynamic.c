/* MLIR functions of dynamic shapes, translated for given arguments: programs as JAX exports them
 * against what XLA's CPU gave (tests/hlo/mlir/make_dynamic.py), dynamic ops against the static ops
 * that the specification says they are, shapes computed by the dialects shape, arith and tensor. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>

#include "hlo/base/file.h"
#include "tests/interp/evaluate_mlir.h"

/* --- programs of JAX --- */

/* The literals of NAME.txt: lines "arg …" and "want …". */
struct lines {
    struct literal *arguments[8], *wanted[8];
    int argument_count, wanted_count;
};

static char *read_fixture(const char *name, const char *ending)
{
    const char *source = getenv("REFEREE_SOURCE");
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/hlo/mlir/fixtures/dynamic/%s%s",
             source != NULL ? source : ".", name, ending);
    struct error err = {0};
    size_t size;
    char *text = file_read(path, &size, &err);
    ck_assert_msg(text != NULL, "%s: %s", path, err.message);
    return text;
}

static void read_lines(const char *name, struct lines *lines)
{
    char *text = read_fixture(name, ".txt");
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (strncmp(line, "arg ", 4) == 0) {
            ck_assert_int_lt(lines->argument_count, 8);
            lines->arguments[lines->argument_count++] = read_literal(line + 4);
        } else {
            ck_assert(strncmp(line, "want ", 5) == 0 && lines->wanted_count < 8);
            lines->wanted[lines->wanted_count++] = read_literal(line + 5);
        }
    }
    free(text);
}

/* Equal but for what XLA's sums and functions may be off. */
static void check_near(const char *name, const struct literal *got, const struct literal *want)
{
    ck_assert_msg(shape_compatible(got->shape, want->shape), "%s: %s, not %s", name,
                  shape_text(got->shape), shape_text(want->shape));
    for (int64_t i = 0; i < literal_elements(want); i++) {
        if (!type_is_float(want->shape->type)) {
            ck_assert_msg(literal_get_int(got, i) == literal_get_int(want, i), "%s: element %lld",
                          name, (long long)i);
            continue;
        }
        const double a = literal_get_double(got, i), b = literal_get_double(want, i);
        ck_assert_msg(a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-6 + 2e-5 * fabs(b),
                      "%s: element %lld is %.9g, not %.9g", name, (long long)i, a, b);
    }
}

static void check_program(const char *name)
{
    struct lines lines = {0};
    struct error err = {0};
    read_lines(name, &lines);
    char *text = read_fixture(name, ".mlir");
    struct module *module = import_text(text, lines.arguments, lines.argument_count, &err);
    ck_assert_msg(module != NULL, "%s:%d: %s", name, err.line, err.message);
    struct literal *result =
        interp_evaluate(module, lines.arguments, lines.argument_count, NULL, &err);
    ck_assert_msg(result != NULL, "%s: %s", name, err.message);
    const bool tuple = shape_is_tuple(result->shape);
    ck_assert_int_eq(tuple ? result->shape->count : 1, lines.wanted_count);
    for (int i = 0; i < lines.wanted_count; i++) {
        check_near(name, tuple ? result->elements[i] : result, lines.wanted[i]);
        literal_release(lines.wanted[i]);
    }
    for (int i = 0; i < lines.argument_count; i++) {
        literal_release(lines.arguments[i]);
    }
    literal_release(result);
    module_destroy(module);
    free(text);
}

START_TEST(test_programs)
{
    static const char *const names[] = {
        "approx_top_k",  "arange",     "concatenate", "cond",    "conv",        "cumsum",
        "dynamic_slice", "gather",     "matmul",      "pad",     "random_bits", "reduce_window",
        "reshape",       "same_sizes", "scan",        "scatter", "softmax",     "special",
        "threefry",      "top_k",      "while"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        check_program(names[i]);
    }
}
END_TEST

/* The sizes that JAX's program demands: b of the second argument is that of the first. */
START_TEST(test_assertion)
{
    char *text = read_fixture("same_sizes", ".mlir");
    check_mlir_fails(text, "f32[3,4] {{1,2,3,4},{1,2,3,4},{1,2,3,4}}",
                     "f32[4,2] {{1,2},{1,2},{3,4},{3,4}}", ERROR_INVALID_ARGUMENT,
                     "Input shapes do not match the polymorphic shapes specification");
    free(text);
}
END_TEST

/* --- ops --- */

START_TEST(test_ops)
{
    check_mlir("func.func @main(%a: tensor<?xf32>, %s: tensor<2xi64>) -> tensor<?x?xf32> {\n"
               "  %0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [1] : "
               "(tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>\n"
               "  return %0 : tensor<?x?xf32>\n}\n",
               "f32[1] {7}", "s64[2] {2, 3}", NULL, NULL, "f32[2,3] {{7, 7, 7}, {7, 7, 7}}");
    check_mlir("func.func @main(%s: tensor<2xi32>) -> tensor<?x?xi32> {\n"
               "  %0 = stablehlo.dynamic_iota %s, dim = 1 : (tensor<2xi32>) -> tensor<?x?xi32>\n"
               "  return %0 : tensor<?x?xi32>\n}\n",
               "s32[2] {2, 3}", NULL, NULL, NULL, "s32[2,3] {{0, 1, 2}, {0, 1, 2}}");
    check_mlir("func.func @main(%a: tensor<?xf32>, %s: tensor<2xi32>) -> tensor<?x?xf32> {\n"
               "  %0 = stablehlo.dynamic_reshape %a, %s : (tensor<?xf32>, tensor<2xi32>) -> "
               "tensor<?x?xf32>\n  return %0 : tensor<?x?xf32>\n}\n",
               "f32[4] {1, 2, 3, 4}", "s32[2] {2, 2}", NULL, NULL, "f32[2,2] {{1, 2}, {3, 4}}");
    check_mlir("func.func @main(%a: tensor<?xf32>, %v: tensor<f32>, %p: tensor<1xi64>) -> "
               "tensor<?xf32> {\n"
               "  %0 = stablehlo.dynamic_pad %a, %v, %p, %p, %p : (tensor<?xf32>, tensor<f32>, "
               "tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>\n"
               "  return %0 : tensor<?xf32>\n}\n",
               "f32[2] {1, 2}", "f32[] 9", "s64[1] {1}", NULL, "f32[5] {9, 1, 9, 2, 9}");
    check_mlir("func.func @main(%a: tensor<?xf32>, %s: tensor<1xi64>, %l: tensor<1xi64>) -> "
               "tensor<?xf32> {\n"
               "  %c = stablehlo.constant dense<2> : tensor<1xi64>\n"
               "  %0 = stablehlo.real_dynamic_slice %a, %s, %l, %c : (tensor<?xf32>, "
               "tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>\n"
               "  return %0 : tensor<?xf32>\n}\n",
               "f32[6] {0, 1, 2, 3, 4, 5}", "s64[1] {1}", "s64[1] {5}", NULL, "f32[2] {1, 3}");
    check_mlir("func.func @main(%a: tensor<?x?xf32>, %i: tensor<2xi32>) -> tensor<?x?xf32> {\n"
               "  %s = stablehlo.constant dense<[1, 2]> : tensor<2xi32>\n"
               "  %0 = \"stablehlo.dynamic_gather\"(%a, %i, %s) <{dimension_numbers = "
               "#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], "
               "start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : "
               "(tensor<?x?xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>\n"
               "  return %0 : tensor<?x?xf32>\n}\n",
               "f32[3,2] {{1, 2}, {3, 4}, {5, 6}}", "s32[2] {2, 0}", NULL, NULL,
               "f32[2,2] {{5, 6}, {1, 2}}");
}
END_TEST

/* Starts known at run time only: sizes by the type, or by limit = start + sizes, however often the
 * start is worked out. */
START_TEST(test_run_time_starts)
{
    static const char by_type[] =
        "func.func @main(%a: tensor<4xf32>, %s: tensor<1xi64>) -> tensor<2xf32> {\n"
        "  %c = stablehlo.constant dense<1> : tensor<1xi64>\n"
        "  %l = stablehlo.constant dense<3> : tensor<1xi64>\n"
        "  %0 = stablehlo.real_dynamic_slice %a, %s, %l, %c : (tensor<4xf32>, tensor<1xi64>, "
        "tensor<1xi64>, tensor<1xi64>) -> tensor<2xf32>\n  return %0 : tensor<2xf32>\n}\n";
    static const char by_limit[] =
        "func.func @main(%a: tensor<?xf32>, %s: tensor<1xi64>) -> tensor<?xf32> {\n"
        "  %c = stablehlo.constant dense<1> : tensor<1xi64>\n"
        "  %n = stablehlo.constant dense<2> : tensor<1xi64>\n"
        "  %m = stablehlo.negate %s : tensor<1xi64>\n"
        "  %t = stablehlo.negate %s : tensor<1xi64>\n"
        "  %l = stablehlo.add %n, %t : tensor<1xi64>\n"
        "  %0 = stablehlo.real_dynamic_slice %a, %m, %l, %c : (tensor<?xf32>, tensor<1xi64>, "
        "tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>\n  return %0 : tensor<?xf32>\n}\n";
    static const char unknown[] =
        "func.func @main(%a: tensor<?xf32>, %s: tensor<1xi64>) -> tensor<?xf32> {\n"
        "  %0 = stablehlo.real_dynamic_slice %a, %s, %s, %s : (tensor<?xf32>, tensor<1xi64>, "
        "tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>\n  return %0 : tensor<?xf32>\n}\n";
    const int64_t four = 4, one = 1;
    const char *const texts[] = {by_type, by_limit, unknown};
    for (int i = 0; i < 3; i++) {
        /* Shapes alone: no values. */
        const struct shape *shapes[] = {shape_array(TYPE_F32, 1, &four),
                                        shape_array(TYPE_S64, 1, &one)};
        struct mlir_import_options options = {
            .argument_count = 2, .argument_shapes = shapes, .evaluate = evaluate_for_shape};
        struct error err = {0};
        struct mlir_file *file = mlir_parse(texts[i], strlen(texts[i]), "test", 1, &err);
        ck_assert_msg(file != NULL, "%s", err.message);
        struct module *module = mlir_import(file, &options, &err);
        mlir_file_destroy(file);
        if (i == 2) {
            ck_assert(module == NULL && err.code == ERROR_UNIMPLEMENTED);
            continue;
        }
        ck_assert_msg(module != NULL, "%s", err.message);
        struct literal *arguments[] = {read_literal("f32[4] {0, 1, 2, 3}"),
                                       read_literal(i == 0 ? "s64[1] {1}" : "s64[1] {-1}")};
        struct literal *result = interp_evaluate(module, arguments, 2, NULL, &err);
        ck_assert_msg(result != NULL, "%s", err.message);
        check_literal(result, "f32[2] {1, 2}", texts[i]);
        literal_release(arguments[0]);
        literal_release(arguments[1]);
        literal_release(result);
        module_destroy(module);
    }
}
END_TEST

START_TEST(test_refusals)
{
    check_mlir_fails("func.func @main(%a: tensor<?xf32>, %s: tensor<1xi64>) -> tensor<?xf32> {\n"
                     "  %0 = stablehlo.dynamic_reshape %a, %s : (tensor<?xf32>, tensor<1xi64>) -> "
                     "tensor<?xf32>\n  return %0 : tensor<?xf32>\n}\n",
                     "f32[4] {1, 2, 3, 4}", "s64[1] {3}", ERROR_INVALID_ARGUMENT,
                     "number of elements");
    check_mlir_fails("func.func @main(%s: tensor<1xi64>) -> tensor<?xf32> {\n"
                     "  %0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi64>) -> "
                     "tensor<?xf32>\n  return %0 : tensor<?xf32>\n}\n",
                     "s64[1] {-3}", NULL, ERROR_INVALID_ARGUMENT, "the size of dimension 0 is -3");
    check_mlir_fails("func.func @main(%s: tensor<2xi64>) -> tensor<?x?xf32> {\n"
                     "  %0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<2xi64>) -> "
                     "tensor<?x?xf32>\n  return %0 : tensor<?x?xf32>\n}\n",
                     "s64[2] {9223372036854775807, 9223372036854775807}", NULL,
                     ERROR_INVALID_ARGUMENT, "");
}
END_TEST

/* --- shape, arith, tensor --- */

START_TEST(test_shapes)
{
    check_mlir("func.func @main(%a: tensor<?x3xf32>, %b: tensor<3xf32>) -> tensor<?x3xf32> {\n"
               "  %0 = shape.shape_of %a : tensor<?x3xf32> -> tensor<2xindex>\n"
               "  %1 = shape.shape_of %b : tensor<3xf32> -> tensor<1xindex>\n"
               "  %2 = shape.cstr_broadcastable %0, %1 : tensor<2xindex>, tensor<1xindex>\n"
               "  %3 = shape.assuming %2 -> (tensor<?x3xf32>) {\n"
               "    %4 = shape.broadcast %0, %1 : tensor<2xindex>, tensor<1xindex> -> "
               "tensor<2xindex>\n"
               "    %5 = stablehlo.dynamic_broadcast_in_dim %b, %4, dims = [1] : (tensor<3xf32>, "
               "tensor<2xindex>) -> tensor<?x3xf32>\n"
               "    shape.assuming_yield %5 : tensor<?x3xf32>\n  }\n"
               "  %6 = stablehlo.add %3, %a : tensor<?x3xf32>\n"
               "  return %6 : tensor<?x3xf32>\n}\n",
               "f32[2,3] {{1, 2, 3}, {4, 5, 6}}", "f32[3] {10, 20, 30}", NULL, NULL,
               "f32[2,3] {{11, 22, 33}, {14, 25, 36}}");
    check_mlir("func.func @main(%a: tensor<?x?xf32>) -> tensor<?xf32> {\n"
               "  %0 = shape.shape_of %a : tensor<?x?xf32> -> tensor<2xindex>\n"
               "  %1 = shape.num_elements %0 : tensor<2xindex> -> index\n"
               "  %2 = tensor.from_elements %1 : tensor<1xindex>\n"
               "  %3 = stablehlo.dynamic_reshape %a, %2 : (tensor<?x?xf32>, tensor<1xindex>) -> "
               "tensor<?xf32>\n  return %3 : tensor<?xf32>\n}\n",
               "f32[2,2] {{1, 2}, {3, 4}}", NULL, NULL, NULL, "f32[4] {1, 2, 3, 4}");
    check_mlir("func.func @main(%a: tensor<?x?xf32>) -> tensor<?xi32> {\n"
               "  %c1 = arith.constant 1 : index\n"
               "  %c2 = arith.constant 2 : index\n"
               "  %0 = tensor.dim %a, %c1 : tensor<?x?xf32>\n"
               "  %1 = arith.muli %0, %c2 : index\n"
               "  %2 = arith.subi %1, %c1 : index\n"
               "  %3 = arith.maxsi %2, %c2 : index\n"
               "  %4 = arith.cmpi sgt, %3, %c2 : index\n"
               "  %5 = arith.select %4, %3, %c1 : index\n"
               "  %6 = arith.index_cast %5 : index to i32\n"
               "  %7 = tensor.from_elements %6 : tensor<1xi32>\n"
               "  %8 = stablehlo.dynamic_iota %7, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>\n"
               "  return %8 : tensor<?xi32>\n}\n",
               "f32[1,3] {{1, 2, 3}}", NULL, NULL, NULL, "s32[5] {0, 1, 2, 3, 4}");
    check_mlir("func.func @main(%a: tensor<2x2xf32>) -> tensor<f32> {\n"
               "  %c1 = arith.constant 1 : index\n"
               "  %0 = tensor.extract %a[%c1, %c1] : tensor<2x2xf32>\n"
               "  %1 = tensor.from_elements %0 : tensor<f32>\n"
               "  return %1 : tensor<f32>\n}\n",
               "f32[2,2] {{1, 2}, {3, 4}}", NULL, NULL, NULL, "f32[] 4");
    check_mlir_fails("func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {\n"
                     "  %0 = shape.shape_of %a : tensor<?xf32> -> tensor<1xindex>\n"
                     "  %1 = shape.shape_of %b : tensor<?xf32> -> tensor<1xindex>\n"
                     "  %2 = shape.cstr_broadcastable %0, %1 : tensor<1xindex>, tensor<1xindex>\n"
                     "  return %a : tensor<?xf32>\n}\n",
                     "f32[2] {1, 2}", "f32[3] {1, 2, 3}", ERROR_INVALID_ARGUMENT, "do not fit");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mlir_dynamic");
    TCase *cases = tcase_create("mlir_dynamic");
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, test_programs);
    tcase_add_test(cases, test_assertion);
    tcase_add_test(cases, test_ops);
    tcase_add_test(cases, test_run_time_starts);
    tcase_add_test(cases, test_refusals);
    tcase_add_test(cases, test_shapes);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
