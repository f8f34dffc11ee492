/* What the translation of StableHLO to HLO refuses: with which message, where. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/hlo/mlir/import_text.h"

static const struct {
    const char *mlir, *message;
    int line;
    enum error_code code;
} wrong[] = {
    {"func.func @main(%x: tensor<i32>) -> tensor<i32> {\n"
     "  %0 = call @main(%x) : (tensor<i32>) -> tensor<i32>\n  return %0 : tensor<i32>\n}",
     "recursive", 2, ERROR_UNIMPLEMENTED},
    {"func.func @main(%x: tensor<i32>) -> tensor<i32> {\n"
     "  %0 = call @f(%x) : (tensor<i32>) -> tensor<i32>\n  return %0 : tensor<i32>\n}\n"
     "func.func private @f(%x: tensor<i32>) -> tensor<i32> {\n"
     "  %0 = call @g(%x) : (tensor<i32>) -> tensor<i32>\n  return %0 : tensor<i32>\n}\n"
     "func.func private @g(%x: tensor<i32>) -> tensor<i32> {\n"
     "  %0 = call @f(%x) : (tensor<i32>) -> tensor<i32>\n  return %0 : tensor<i32>\n}",
     "recursive", 10, ERROR_UNIMPLEMENTED},
    {"func.func @main(%x: tensor<i32>) -> tensor<i32> {\n"
     "  %0 = \"func.call\"(%x) <{callee = @none}> : (tensor<i32>) -> tensor<i32>\n"
     "  return %0 : tensor<i32>\n}",
     "no function @none", 2, ERROR_INVALID_ARGUMENT},
    {"func.func @main(%x: tensor<i32>) -> tensor<i32> {\n"
     "  %0 = \"func.call\"(%x) <{callee = @f}> : (tensor<i32>) -> tensor<i32>\n"
     "  return %0 : tensor<i32>\n}\nfunc.func private @f(tensor<i32>) -> tensor<i32>",
     "no body", 2, ERROR_INVALID_ARGUMENT},
    {"func.func @main(%x: tensor<i32>) -> tensor<i32> {\n"
     "  %0 = \"func.call\"(%x, %x) <{callee = @f}> : (tensor<i32>, tensor<i32>) -> tensor<i32>\n"
     "  return %0 : tensor<i32>\n}\n"
     "func.func private @f(%x: tensor<i32>) -> tensor<i32> {\n  return %x : tensor<i32>\n}",
     "takes 1 parameters, but there are 2", 2, ERROR_INVALID_ARGUMENT},
    {"func.func @main(%x: tensor<8xf32>, %y: tensor<f32>) -> tensor<f32> {\n"
     "  %0 = stablehlo.reduce(%x init: %y) across dimensions = [0] : (tensor<8xf32>, "
     "tensor<f32>) -> tensor<f32>\n   reducer(%a: tensor<f32>, %b: tensor<f32>) {\n"
     "    %1 = stablehlo.add %a, %y : tensor<f32>\n"
     "    stablehlo.return %1 : tensor<f32>\n  }\n  return %0 : tensor<f32>\n}",
     "uses a value of the outside that is no constant", 4, ERROR_UNIMPLEMENTED},
    {"func.func @main(%x: tensor<2xf32>) -> tensor<3xf32> {\n"
     "  %0 = \"stablehlo.negate\"(%x) : (tensor<2xf32>) -> tensor<3xf32>\n"
     "  return %0 : tensor<3xf32>\n}",
     "the result is f32[2]{0}, but its type says f32[3]{0}", 2, ERROR_INVALID_ARGUMENT},
    {"func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
     "  %0 = \"stablehlo.add\"(%x) : (tensor<2xf32>) -> tensor<2xf32>\n"
     "  return %0 : tensor<2xf32>\n}",
     "1 operands, but it takes 2", 2, ERROR_INVALID_ARGUMENT},
    {"func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
     "  %0 = \"stablehlo.nonesuch\"(%x) : (tensor<2xf32>) -> tensor<2xf32>\n"
     "  return %0 : tensor<2xf32>\n}",
     "stablehlo.nonesuch: is not known", 2, ERROR_UNIMPLEMENTED},
    {"func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
     "  %0 = \"stablehlo.reverse\"(%x) <{dimensions = array<i64: 7>}> : (tensor<2xf32>) -> "
     "tensor<2xf32>\n  return %0 : tensor<2xf32>\n}",
     "out of the range", 2, ERROR_INVALID_ARGUMENT},
    {"func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
     "  %0 = \"stablehlo.reverse\"(%x) <{dimensions = \"0\"}> : (tensor<2xf32>) -> "
     "tensor<2xf32>\n  return %0 : tensor<2xf32>\n}",
     "dimensions must be a list of integers", 2, ERROR_INVALID_ARGUMENT},
    {"func.func @main(%x: tensor<2xf32> {mhlo.sharding = \"{nonsense}\"}) -> tensor<2xf32> {\n"
     "  return %x : tensor<2xf32>\n}",
     "nonsense", 1, ERROR_INVALID_ARGUMENT},
    {"func.func @main(%x: tensor<2xf32> {tf.aliasing_output = 1 : i32}) -> tensor<2xf32> {\n"
     "  return %x : tensor<2xf32>\n}",
     "shares memory with result 1 of 1", 1, ERROR_INVALID_ARGUMENT},
    {"func.func @main(%x: tensor<2xf32> {mhlo.layout_mode = \"{1,0}\"}) -> tensor<2xf32> {\n"
     "  return %x : tensor<2xf32>\n}",
     "mhlo.layout_mode {1,0} does not fit f32[2]{0}", 1, ERROR_INVALID_ARGUMENT},
    {"func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n  return %x : tensor<?xf32>\n}",
     "not known", 1, ERROR_UNIMPLEMENTED},
    {"func.func @main(%x: tensor<*xf32>) -> tensor<*xf32> {\n  return %x : tensor<*xf32>\n}",
     "HLO has no type for tensors of any rank", 1, ERROR_UNIMPLEMENTED},
    {"func.func @main(%x: tensor<i32>) -> tensor<i32> {\n"
     "  %0 = \"stablehlo.while\"(%x) ({\n  ^bb0(%a: tensor<i32>):\n"
     "    stablehlo.return %a : tensor<i32>\n  }, {\n  ^bb0(%a: tensor<i32>):\n"
     "    stablehlo.return %a : tensor<i32>\n  }) : (tensor<i32>) -> tensor<i32>\n"
     "  return %0 : tensor<i32>\n}",
     "must give pred[]", 2, ERROR_INVALID_ARGUMENT},
};

START_TEST(test_wrong)
{
    struct error err = {0};
    ck_assert_ptr_null(import_text(wrong[_i].mlir, NULL, &err));
    if (strstr(err.message, wrong[_i].message) == NULL) {
        ck_abort_msg("expected \"%s\", found \"%s\"", wrong[_i].message, err.message);
    }
    ck_assert_int_eq(err.line, wrong[_i].line);
    ck_assert_int_eq(err.code, wrong[_i].code);
    ck_assert_str_eq(err.file, "test");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hlo/mlir/import_errors");
    TCase *tests = tcase_create("errors");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, test_wrong, 0, sizeof wrong / sizeof *wrong);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
