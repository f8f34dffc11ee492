/* StableHLO translated and evaluated: what the translation builds itself (captures, bits, complex
 * order, cube roots, torch_index_select), and shapes that are worked out while it translates.
 * Expectations come from StableHLO's specification (docs/spec.md). */
#include <check.h>
#include <stdlib.h>

#include "tests/interp/evaluate_mlir.h"

static const struct {
    const char *text, *a, *b, *want;
} cases[] = {
    /* A loop that uses values and constants of the outside, in its condition, its body, and a
     * branch of its body. */
    {"func.func @main(%n: tensor<i32>, %y: tensor<i32>) -> tensor<i32> {\n"
     "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
     "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
     "  %0:2 = stablehlo.while(%i = %zero, %a = %zero) : tensor<i32>, tensor<i32> cond {\n"
     "    %2 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
     "    stablehlo.return %2 : tensor<i1>\n  } do {\n"
     "    %3 = stablehlo.and %i, %one : tensor<i32>\n"
     "    %4 = stablehlo.compare EQ, %3, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
     "    %5 = \"stablehlo.if\"(%4) ({\n"
     "      %7 = stablehlo.add %a, %y : tensor<i32>\n"
     "      stablehlo.return %7 : tensor<i32>\n    }, {\n"
     "      %8 = stablehlo.add %a, %one : tensor<i32>\n"
     "      stablehlo.return %8 : tensor<i32>\n    }) : (tensor<i1>) -> tensor<i32>\n"
     "    %6 = stablehlo.add %i, %one : tensor<i32>\n"
     "    stablehlo.return %6, %5 : tensor<i32>, tensor<i32>\n  }\n"
     "  return %0#1 : tensor<i32>\n}",
     "s32[] 5", "s32[] 10", "s32[] 32"},
    /* An index out of range takes the last branch. */
    {"func.func @main(%i: tensor<i32>, %x: tensor<i32>) -> tensor<i32> {\n"
     "  %0 = \"stablehlo.case\"(%i) ({\n    stablehlo.return %x : tensor<i32>\n  }, {\n"
     "    %1 = stablehlo.add %x, %x : tensor<i32>\n    stablehlo.return %1 : tensor<i32>\n  }, {\n"
     "    %2 = stablehlo.negate %x : tensor<i32>\n    stablehlo.return %2 : tensor<i32>\n  }) : "
     "(tensor<i32>) -> tensor<i32>\n  return %0 : tensor<i32>\n}",
     "s32[] -1", "s32[] 7", "s32[] -7"},
    {"func.func @main(%a: tensor<2x8xi1>) -> tensor<2xui8> {\n"
     "  %0 = stablehlo.bitcast_convert %a : (tensor<2x8xi1>) -> tensor<2xui8>\n"
     "  return %0 : tensor<2xui8>\n}",
     "pred[2,8] {{1,0,1,0,0,0,0,0},{0,0,0,0,0,0,0,1}}", NULL, "u8[2] {5, 128}"},
    {"func.func @main(%a: tensor<f16>) -> tensor<16xi1> {\n"
     "  %0 = stablehlo.bitcast_convert %a : (tensor<f16>) -> tensor<16xi1>\n"
     "  return %0 : tensor<16xi1>\n}",
     "f16[] -1.5", NULL, "pred[16] {0,0,0,0,0,0,0,0,0,1,1,1,1,1,0,1}"},
    /* (1, 5) < (2, 0); (2, 1) < (2, 3); (2, 3) = (2, 3). */
    {"func.func @main(%a: tensor<3xcomplex<f32>>, %b: tensor<3xcomplex<f32>>) -> tensor<3xi1> {\n"
     "  %0 = stablehlo.compare LT, %a, %b, FLOAT : (tensor<3xcomplex<f32>>, "
     "tensor<3xcomplex<f32>>) -> tensor<3xi1>\n  return %0 : tensor<3xi1>\n}",
     "c64[3] {(1,5),(2,1),(2,3)}", "c64[3] {(2,0),(2,3),(2,3)}", "pred[3] {1, 1, 0}"},
    /* The imaginary part is ignored. */
    {"func.func @main(%a: tensor<2xcomplex<f32>>) -> tensor<2xi1> {\n"
     "  %0 = stablehlo.convert %a : (tensor<2xcomplex<f32>>) -> tensor<2xi1>\n"
     "  return %0 : tensor<2xi1>\n}",
     "c64[2] {(0,1),(2,0)}", NULL, "pred[2] {0, 1}"},
    /* i1: add is OR, multiply is AND. */
    {"func.func @main(%a: tensor<4xi1>, %b: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi1>) {\n"
     "  %0 = stablehlo.add %a, %b : tensor<4xi1>\n"
     "  %1 = stablehlo.multiply %a, %b : tensor<4xi1>\n"
     "  return %0, %1 : tensor<4xi1>, tensor<4xi1>\n}",
     "pred[4] {0,0,1,1}", "pred[4] {0,1,0,1}", "(pred[4], pred[4]) ({0,1,1,1}, {0,0,0,1})"},
    {"func.func @main(%a: tensor<2x3xi32>, %i: tensor<2x2xi32>) -> tensor<2x2xi32> {\n"
     "  %0 = \"stablehlo.torch_index_select\"(%a, %i) <{dim = 1 : i64, batch_dims = 1 : i64}> : "
     "(tensor<2x3xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>\n  return %0 : tensor<2x2xi32>\n}",
     "s32[2,3] {{10,11,12},{20,21,22}}", "s32[2,2] {{2,0},{1,1}}", "s32[2,2] {{12,10},{21,21}}"},
    /* Dimensions of size 1 are repeated. */
    {"func.func @main(%a: tensor<2x1xi32>) -> tensor<2x2x3xi32> {\n"
     "  %0 = stablehlo.broadcast_in_dim %a, dims = [1, 2] : (tensor<2x1xi32>) -> "
     "tensor<2x2x3xi32>\n  return %0 : tensor<2x2x3xi32>\n}",
     "s32[2,1] {{1},{2}}", NULL, "s32[2,2,3] {{{1,1,1},{2,2,2}},{{1,1,1},{2,2,2}}}"},
};

START_TEST(test_values)
{
    check_mlir(cases[_i].text, cases[_i].a, cases[_i].b, NULL, NULL, cases[_i].want);
}
END_TEST

/* --- shapes worked out while translating --- */

/* Each gives iota of a size that a function of the arguments tells. */
static const struct {
    const char *text, *a, *b, *want;
} shapes[] = {
    /* From an argument, through arithmetic. */
    {"func.func @main(%n: tensor<i32>) -> tensor<?xi32> {\n"
     "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
     "  %0 = stablehlo.add %n, %one : tensor<i32>\n"
     "  %1 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>\n"
     "  %2 = stablehlo.dynamic_iota %1, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>\n"
     "  return %2 : tensor<?xi32>\n}",
     "s32[] 2", NULL, "s32[3] {0, 1, 2}"},
    /* From the shape of an argument, through a function that is called and has a loop. */
    {"func.func private @double(%n: tensor<i32>) -> tensor<i32> {\n"
     "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
     "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
     "  %0:2 = stablehlo.while(%i = %zero, %s = %zero) : tensor<i32>, tensor<i32> cond {\n"
     "    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
     "    stablehlo.return %1 : tensor<i1>\n  } do {\n"
     "    %2 = stablehlo.add %i, %one : tensor<i32>\n"
     "    %3 = stablehlo.add %s, %one : tensor<i32>\n"
     "    %4 = stablehlo.add %3, %one : tensor<i32>\n"
     "    stablehlo.return %2, %4 : tensor<i32>, tensor<i32>\n  }\n"
     "  return %0#1 : tensor<i32>\n}\n"
     "func.func @main(%x: tensor<?xf32>) -> tensor<?xi32> {\n"
     "  %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>\n"
     "  %1 = call @double(%0) : (tensor<i32>) -> tensor<i32>\n"
     "  %2 = stablehlo.reshape %1 : (tensor<i32>) -> tensor<1xi32>\n"
     "  %3 = stablehlo.dynamic_iota %2, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>\n"
     "  return %3 : tensor<?xi32>\n}",
     "f32[2] {7, 8}", NULL, "s32[4] {0, 1, 2, 3}"},
    /* In a loop: from what it is given of the outside, and from what it carries unchanged. */
    {"func.func @main(%n: tensor<i32>, %m: tensor<i32>) -> tensor<i32> {\n"
     "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
     "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
     "  %two = stablehlo.constant dense<2> : tensor<i32>\n"
     "  %0:3 = stablehlo.while(%i = %zero, %k = %m, %s = %zero) : tensor<i32>, tensor<i32>, "
     "tensor<i32> cond {\n"
     "    %1 = stablehlo.compare LT, %i, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
     "    stablehlo.return %1 : tensor<i1>\n  } do {\n"
     "    %2 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>\n"
     "    %3 = stablehlo.reshape %k : (tensor<i32>) -> tensor<1xi32>\n"
     "    %4 = stablehlo.concatenate %2, %3, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> "
     "tensor<2xi32>\n"
     "    %5 = stablehlo.dynamic_iota %4, dim = 1 : (tensor<2xi32>) -> tensor<?x?xi32>\n"
     "    %6 = stablehlo.reduce(%5 init: %zero) applies stablehlo.add across dimensions = [0, 1] : "
     "(tensor<?x?xi32>, tensor<i32>) -> tensor<i32>\n"
     "    %7 = stablehlo.add %s, %6 : tensor<i32>\n"
     "    %8 = stablehlo.add %i, %one : tensor<i32>\n"
     "    stablehlo.return %8, %k, %7 : tensor<i32>, tensor<i32>, tensor<i32>\n  }\n"
     "  return %0#2 : tensor<i32>\n}",
     "s32[] 2", "s32[] 3", "s32[] 12"},
    /* A function that leaves shapes open, called with two. */
    {"func.func private @sum(%x: tensor<?xi32>) -> tensor<i32> {\n"
     "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
     "  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : "
     "(tensor<?xi32>, tensor<i32>) -> tensor<i32>\n  return %0 : tensor<i32>\n}\n"
     "func.func @main(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<i32> {\n"
     "  %0 = call @sum(%a) : (tensor<?xi32>) -> tensor<i32>\n"
     "  %1 = call @sum(%b) : (tensor<?xi32>) -> tensor<i32>\n"
     "  %2 = stablehlo.multiply %0, %1 : tensor<i32>\n  return %2 : tensor<i32>\n}",
     "s32[2] {1, 2}", "s32[3] {1, 1, 2}", "s32[] 12"},
};

START_TEST(test_shapes)
{
    check_mlir(shapes[_i].text, shapes[_i].a, shapes[_i].b, NULL, NULL, shapes[_i].want);
}
END_TEST

/* What a loop changes is not known before it runs. */
START_TEST(test_unknown_shape)
{
    check_mlir_fails(
        "func.func @main(%n: tensor<i32>) -> tensor<i32> {\n"
        "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
        "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
        "  %0:2 = stablehlo.while(%i = %one, %s = %zero) : tensor<i32>, tensor<i32> cond {\n"
        "    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "    stablehlo.return %1 : tensor<i1>\n  } do {\n"
        "    %2 = stablehlo.reshape %i : (tensor<i32>) -> tensor<1xi32>\n"
        "    %3 = stablehlo.dynamic_iota %2, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>\n"
        "    %4 = stablehlo.reduce(%3 init: %s) applies stablehlo.add across dimensions = [0] : "
        "(tensor<?xi32>, tensor<i32>) -> tensor<i32>\n"
        "    %5 = stablehlo.add %i, %one : tensor<i32>\n"
        "    stablehlo.return %5, %4 : tensor<i32>, tensor<i32>\n  }\n"
        "  return %0#1 : tensor<i32>\n}",
        "s32[] 3", NULL, ERROR_UNIMPLEMENTED, "not known before it runs");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interp/mlir_import");
    TCase *tests = tcase_create("import");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, test_values, 0, sizeof cases / sizeof *cases);
    tcase_add_loop_test(tests, test_shapes, 0, sizeof shapes / sizeof *shapes);
    tcase_add_test(tests, test_unknown_shape);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
