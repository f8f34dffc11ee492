/* MLIR → HLO of contractions, reductions, gather, scatter, sort, collectives, transfers and async
 * ops. What each fixture X.mlir must become stands in X.hlo, module by module: there it is what XLA
 * makes of it (make_import.py), in specification.* what the specification says where XLA differs.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "hlo/mlir/mlir_format.h"
#include "hlo/text/text_format.h"
#include "hlo/verify.h"
#include "tests/hlo/mlir/meaning.h"

static const char *const fixtures[] = {"collective", "contract", "gather",       "linalg",
                                       "reduce",     "transfer", "specification"};

static char *read_fixture(const char *name, const char *suffix)
{
    const char *source = getenv("REFEREE_SOURCE");
    char path[4096];
    size_t size;
    struct error err = {0};
    snprintf(path, sizeof path, "%s/tests/hlo/mlir/fixtures/import_ops/%s.%s",
             source != NULL ? source : ".", name, suffix);
    char *text = file_read(path, &size, &err);
    ck_assert_msg(text != NULL, "%s", err.message);
    return text;
}

/* The part that begins at text, cut off; the next one, or NULL. */
static char *cut(char *text)
{
    char *end = strstr(text, "// -----");
    if (end == NULL) {
        return NULL;
    }
    *end = '\0';
    return end + strlen("// -----");
}

static struct module *import_text(const char *text, struct error *err)
{
    struct mlir_file *file = mlir_parse(text, strlen(text), "test.mlir", 1, err);
    struct module *module = file != NULL ? mlir_import(file, NULL, err) : NULL;
    mlir_file_destroy(file);
    return module;
}

static void check_verified(const struct module *module, const char *text)
{
    struct findings findings = {0};
    if (!verify_module(module, &findings)) {
        ck_abort_msg("%s\n%s", findings.list[0].text, text);
    }
    findings_finish(&findings);
}

START_TEST(becomes_the_expected_module)
{
    char *mlir = read_fixture(fixtures[_i], "mlir"), *hlo = read_fixture(fixtures[_i], "hlo");
    char *next = mlir, *next_hlo = hlo;
    while (next != NULL) {
        char *text = next, *want_text = next_hlo;
        ck_assert_ptr_nonnull(want_text);
        next = cut(text);
        next_hlo = cut(want_text);
        struct error err = {0};
        struct module *want = text_read_module(want_text, strlen(want_text), fixtures[_i], 1, &err);
        ck_assert_msg(want != NULL, "line %d: %s\n%s", err.line, err.message, want_text);
        struct module *got = import_text(text, &err);
        ck_assert_msg(got != NULL, "%d:%d: %s\n%s", err.line, err.column, err.message, text);
        check_same_meaning(got, want, fixtures[_i]);
        check_verified(got, text);
        module_destroy(got);
        module_destroy(want);
    }
    ck_assert_ptr_null(next_hlo);
    free(mlir);
    free(hlo);
}
END_TEST

/* --- what is refused --- */

static const struct {
    const char *arguments, *result, *op, *message;
} refused[] = {
    {"%a: tensor<2x3xf32>", "tensor<2xf32>",
     "\"stablehlo.dot\"(%a) : (tensor<2x3xf32>) -> tensor<2xf32>", "1 operands, but it takes 2"},
    {"%a: tensor<f32>", "tensor<f32>",
     "\"stablehlo.dot\"(%a, %a) : (tensor<f32>, tensor<f32>) -> tensor<f32>",
     "operands must be vectors or matrices"},
    {"%a: tensor<2x3xf32>", "tensor<2x3xf32>",
     "\"stablehlo.dot\"(%a, %a) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>",
     "contracting"},
    {"%a: tensor<2xf32>", "tensor<f32>",
     "\"stablehlo.dot_general\"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>",
     "dot_dimension_numbers is missing"},
    {"%a: tensor<2xf32>", "tensor<f32>",
     "\"stablehlo.dot_general\"(%a, %a) {dot_dimension_numbers = "
     "#stablehlo.dot<lhs_contracting_dimensions = [5], rhs_contracting_dimensions = [0]>} : "
     "(tensor<2xf32>, tensor<2xf32>) -> tensor<f32>",
     "5"},
    {"%a: tensor<2xf32>", "tensor<3xf32>",
     "\"stablehlo.dot_general\"(%a, %a) {dot_dimension_numbers = "
     "#stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>} : "
     "(tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>",
     "the result is f32[], but its type says f32[3]"},
    {"%a: tensor<2xf32>", "tensor<f32>",
     "\"stablehlo.dot_general\"(%a, %a) {dot_dimension_numbers = "
     "#stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, "
     "algorithm = #stablehlo.dot_algorithm<lhs_precision_type = bf16, rhs_precision_type = bf16, "
     "accumulation_type = f32, lhs_component_count = 3, rhs_component_count = 3, "
     "num_primitive_operations = 6, allow_imprecise_accumulation = false>} : "
     "(tensor<2xf32>, tensor<2xf32>) -> tensor<f32>",
     "HLO has no algorithm with operands bf16 and bf16 in 3 and 3 parts, 6 products"},
    {"%a: tensor<2xf32>", "tensor<f32>",
     "\"stablehlo.dot_general\"(%a, %a) {dot_dimension_numbers = "
     "#stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, "
     "precision_config = [#stablehlo<precision HIGH>]} : (tensor<2xf32>, tensor<2xf32>) -> "
     "tensor<f32>",
     "precision_config has 1 entries, not 2"},
    {"%a: tensor<1x4x1xf32>, %b: tensor<2x1x1xf32>", "tensor<1x3x1xf32>",
     "\"stablehlo.convolution\"(%a, %b) {dimension_numbers = "
     "#stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 2, "
     "input_spatial_dimensions = [2], kernel_input_feature_dimension = 1, "
     "kernel_output_feature_dimension = 2, kernel_spatial_dimensions = [0], "
     "output_batch_dimension = 0, output_feature_dimension = 2, output_spatial_dimensions = [1]>, "
     "feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x4x1xf32>, "
     "tensor<2x1x1xf32>) -> tensor<1x3x1xf32>",
     "dimension_numbers do not fit"},
    {"%a: tensor<1x4x1xf32>, %b: tensor<2x1x1xf32>", "tensor<1x3x1xf32>",
     "\"stablehlo.convolution\"(%a, %b) {dimension_numbers = "
     "#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, window_strides = array<i64: 1, 2>, "
     "feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x4x1xf32>, "
     "tensor<2x1x1xf32>) -> tensor<1x3x1xf32>",
     "the window has 2 strides, but must have 1"},
    {"%a: tensor<3xf32>, %b: tensor<f32>", "tensor<f32>",
     "\"stablehlo.reduce\"(%a, %b) ({\n^bb0(%x: tensor<f32>):\n"
     "stablehlo.return %x : tensor<f32>\n}) {dimensions = array<i64: 0>} : (tensor<3xf32>, "
     "tensor<f32>) -> tensor<f32>",
     "the computation takes 1 values, but must take 2"},
    {"%a: tensor<3xf32>, %b: tensor<f32>", "tensor<f32>",
     "\"stablehlo.reduce\"(%a, %b) ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
     "%1 = stablehlo.add %x, %b : tensor<f32>\n"
     "stablehlo.return %1 : tensor<f32>\n}) {dimensions = array<i64: 0>} : (tensor<3xf32>, "
     "tensor<f32>) -> tensor<f32>",
     ""},
    {"%a: tensor<3xf32>", "tensor<f32>",
     "\"stablehlo.reduce\"(%a) ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
     "stablehlo.return %x : tensor<f32>\n}) {dimensions = array<i64: 0>} : (tensor<3xf32>) -> "
     "tensor<f32>",
     "1 operands and initial values for 1 results"},
    {"%a: tensor<3xf32>, %b: tensor<f32>", "tensor<2xf32>",
     "\"stablehlo.reduce_window\"(%a, %b) ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
     "stablehlo.return %x : tensor<f32>\n}) {window_dimensions = array<i64: 2, 2>} : "
     "(tensor<3xf32>, tensor<f32>) -> tensor<2xf32>",
     "2 window_dimensions for f32[3]"},
    {"%a: tensor<3xf32>, %b: tensor<f32>", "tensor<2xf32>",
     "\"stablehlo.reduce_window\"(%a, %b) ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
     "stablehlo.return %x : tensor<f32>\n}) {window_dimensions = array<i64: 2>, padding = "
     "dense<[[1, 1, 1]]> : tensor<1x3xi64>} : (tensor<3xf32>, tensor<f32>) -> tensor<2xf32>",
     "the window has 3 paddings, but must have 2"},
    {"%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<f32>", "tensor<4xbf16>",
     "\"stablehlo.select_and_scatter\"(%a, %b, %c) ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
     "%1 = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
     "stablehlo.return %1 : tensor<i1>\n}, {\n^bb0(%x: tensor<bf16>, %y: tensor<bf16>):\n"
     "stablehlo.return %x : tensor<bf16>\n}) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> "
     "tensor<4xbf16>",
     "select takes f32, scatter bf16"},
    {"%a: tensor<3xcomplex<f32>>, %b: tensor<complex<f32>>", "tensor<f32>",
     "\"stablehlo.reduce\"(%a, %b) ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
     "stablehlo.return %x : tensor<f32>\n}) {dimensions = array<i64: 0>} : "
     "(tensor<3xcomplex<f32>>, tensor<complex<f32>>) -> tensor<f32>",
     "c64[3]{0} cannot be promoted to f32"},
    {"%a: tensor<3xf32>", "!stablehlo.token",
     "\"stablehlo.outfeed\"(%a) : (tensor<3xf32>) -> !stablehlo.token",
     "takes a token last, not f32[3]"},
    {"%a: tensor<4xf32>", "tensor<4xf32>",
     "\"stablehlo.fft\"(%a) {fft_length = array<i64: 4>} : (tensor<4xf32>) -> tensor<4xf32>",
     "fft_type is missing"},
    {"%a: tensor<2x2xf32>", "tensor<2x2xf32>",
     "\"stablehlo.triangular_solve\"(%a, %a) {left_side = true, lower = true, unit_diagonal = "
     "false} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>",
     "transpose_a is missing"},
    {"%a: tensor<4xf32>", "tensor<8xf32>",
     "\"stablehlo.all_gather\"(%a) {all_gather_dim = 3 : i64, replica_groups = dense<[[0, 1]]> : "
     "tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<8xf32>",
     "all_gather_dim is 3, of f32[4]"},
    {"%a: tensor<4xf32>", "tensor<8xf32>",
     "\"stablehlo.all_gather\"(%a) {all_gather_dim = 0 : i64, replica_groups = dense<[0, 1]> : "
     "tensor<2xi64>} : (tensor<4xf32>) -> tensor<8xf32>",
     "replica_groups is no matrix of integers"},
    {"%a: tensor<4xf32>", "tensor<8xf32>",
     "\"stablehlo.all_gather\"(%a) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : "
     "tensor<1x2xi64>, use_global_device_ids} : (tensor<4xf32>) -> tensor<8xf32>",
     "use_global_device_ids needs a channel"},
    {"%a: tensor<4xf32>", "tensor<8xf32>",
     "\"stablehlo.all_gather\"(%a) {all_gather_dim = 0 : i64, replica_groups = "
     "#stablehlo.replica_group_mesh_axes<mesh = @none, axes = []>} : (tensor<4xf32>) -> "
     "tensor<8xf32>",
     "there is no mesh @none"},
    {"%a: tensor<4xf32>", "tensor<8xf32>",
     "\"stablehlo.all_gather\"(%a) {all_gather_dim = 0 : i64, replica_groups = "
     "#stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = "
     "[#stablehlo.mesh_axis<name = \"x\", size = 2>]>, axes = [#stablehlo.axis_ref<name = "
     "\"z\">]>} : (tensor<4xf32>) -> tensor<8xf32>",
     "the mesh has no axis z"},
    {"%a: tensor<4xf32>", "tensor<4xf32>",
     "\"stablehlo.all_to_all\"(%a) {split_dimension = 0 : i64, concat_dimension = 0 : i64, "
     "split_count = 3 : i64, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>} : "
     "(tensor<4xf32>) -> tensor<4xf32>",
     "f32[4]{0} cannot be split in 3 along 0"},
    {"%a: tensor<4xf32>", "tensor<4xf32>",
     "\"stablehlo.collective_permute\"(%a) {source_target_pairs = dense<[0, 1, 2]> : "
     "tensor<3xi64>} : (tensor<4xf32>) -> tensor<4xf32>",
     "source_target_pairs has an odd number of entries"},
    {"%a: tensor<4xf32>", "!stablehlo.future<tensor<4xf32>>",
     "\"stablehlo.async_start\"(%a) ({\n^bb0(%x: tensor<4xf32>):\n"
     "%1 = stablehlo.add %x, %x : tensor<4xf32>\nstablehlo.return %1 : tensor<4xf32>\n}) : "
     "(tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>",
     "stablehlo.add cannot be done asynchronously"},
    {"%a: !stablehlo.token", "tensor<4xf32>",
     "\"stablehlo.infeed\"(%a) : (!stablehlo.token) -> tensor<4xf32>",
     "the last result must be a token"},
    {"%a: tensor<2x3xf32>", "tensor<3x2xf32>",
     "\"stablehlo.unary_einsum\"(%a) {einsum_config = \"ij,k->ji\"} : (tensor<2x3xf32>) -> "
     "tensor<3x2xf32>",
     "does not fit the operands"},
    {"%a: tensor<2x3xf32>", "tensor<3x2xf32>",
     "\"stablehlo.unary_einsum\"(%a) {einsum_config = \"ij->jk\"} : (tensor<2x3xf32>) -> "
     "tensor<3x2xf32>",
     "the result has labels twice, or some that no operand has"},
    {"%a: tensor<2x3xf32>", "tensor<2xf32>",
     "\"stablehlo.unary_einsum\"(%a) {einsum_config = \"ii->i\"} : (tensor<2x3xf32>) -> "
     "tensor<2xf32>",
     "dimensions 0 and 1 of f32[2,3]{1,0} share a label"},
    {"%a: tensor<2x3xf32>, %b: tensor<2x4xf32>", "tensor<2xf32>",
     "\"stablehlo.einsum\"(%a, %b) {einsum_config = \"ij,ij->i\"} : (tensor<2x3xf32>, "
     "tensor<2x4xf32>) -> tensor<2xf32>",
     "dimension 1 of f32[2,3]{1,0} does not fit f32[2,4]{1,0}"},
};
enum { REFUSED = sizeof refused / sizeof *refused };

START_TEST(is_refused)
{
    struct text text;
    text_init(&text);
    text_printf(&text, "func.func @main(%s) -> %s {\n%%0 = %s\nreturn %%0 : %s\n}\n",
                refused[_i].arguments, refused[_i].result, refused[_i].op, refused[_i].result);
    struct error err = {0};
    struct module *module = import_text(text.data, &err);
    ck_assert_msg(module == NULL, "%s", text.data);
    ck_assert_msg(strstr(err.message, refused[_i].message) != NULL, "no \"%s\" in: %s",
                  refused[_i].message, err.message);
    ck_assert_int_gt(err.line, 0);
    text_finish(&text);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("import_ops");
    tcase_add_loop_test(cases, becomes_the_expected_module, 0,
                        (int)(sizeof fixtures / sizeof *fixtures));
    tcase_add_loop_test(cases, is_refused, 0, REFUSED);
    Suite *suite = suite_create("import_ops");
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
