/* StableHLO → HLO, the core of it: elementwise ops, data, control flow, functions, custom calls.
 * fixtures/import has programs beside what jaxlib's own translation makes of them
 * (make_import_core.py); where the specification and XLA differ, what is expected is written here
 * from the specification.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/literal.h"
#include "hlo/mlir/mlir_format.h"
#include "tests/hlo/mlir/import_text.h"
#include "tests/hlo/mlir/meaning.h"

static struct module *read_hlo(const char *text)
{
    struct error err = {0};
    struct module *module = text_read_module(text, strlen(text), "expected", 1, &err);
    if (module == NULL) {
        ck_abort_msg("line %d: %s\n%s", err.line, err.message, text);
    }
    return module;
}

/* The program becomes HLO of that meaning, which reads back from its own text as it is. */
static void check_becomes(const char *mlir, const char *hlo, const char *name)
{
    struct module *made = import_good(mlir, NULL), *expected = read_hlo(hlo);
    check_same_meaning(made, expected, name);
    struct text text;
    text_init(&text);
    text_print_module(made, &print_canonical, &text);
    struct module *again = read_hlo(text.data);
    struct error err = {0};
    if (!module_equal(made, again, &err)) {
        ck_abort_msg("%s: not equal to its own text: %s\n%s", name, err.message, text.data);
    }
    text_finish(&text);
    module_destroy(again);
    module_destroy(made);
    module_destroy(expected);
}

/* --- against jaxlib's translation --- */

static const char *const fixtures[] = {"elementwise", "data", "control", "functions"};

static char *read_fixture(const char *name, const char *kind)
{
    char path[4096];
    const char *source = getenv("REFEREE_SOURCE");
    snprintf(path, sizeof path, "%s/tests/hlo/mlir/fixtures/import/%s.%s",
             source != NULL ? source : ".", name, kind);
    struct error err = {0};
    size_t size;
    char *text = file_read(path, &size, &err);
    if (text == NULL) {
        ck_abort_msg("%s", err.message);
    }
    return text;
}

/* Cuts the text at the next line of dashes; NULL at the end. */
static char *next_part(char *text)
{
    static const char line[] = "// -----\n";
    char *end = strstr(text, line);
    if (end == NULL) {
        return NULL;
    }
    *end = '\0';
    return end + strlen(line);
}

START_TEST(test_fixtures)
{
    char *mlir = read_fixture(fixtures[_i], "mlir"), *hlo = read_fixture(fixtures[_i], "hlo");
    int number = 0;
    for (char *a = mlir, *b = hlo; a != NULL; number++) {
        char *next_a = next_part(a);
        ck_assert_ptr_nonnull(b);
        char *next_b = next_part(b);
        char name[64];
        snprintf(name, sizeof name, "%s, module %d", fixtures[_i], number);
        check_becomes(a, b, name);
        a = next_a;
        b = next_b;
    }
    ck_assert_int_gt(number, 4);
    free(mlir);
    free(hlo);
}
END_TEST

/* --- where XLA's translation is another, or none --- */

static const struct {
    const char *name, *mlir, *hlo;
} specified[] = {
    {"complex numbers in order",
     "func.func @main(%a: tensor<2xcomplex<f32>>, %b: tensor<2xcomplex<f32>>) -> tensor<2xi1> {\n"
     "  %0 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<2xcomplex<f32>>, "
     "tensor<2xcomplex<f32>>) -> tensor<2xi1>\n"
     "  return %0 : tensor<2xi1>\n}",
     "HloModule m\nENTRY e {\n"
     "  a = c64[2] parameter(0)\n  b = c64[2] parameter(1)\n"
     "  ar = f32[2] real(a)\n  ai = f32[2] imag(a)\n  br = f32[2] real(b)\n  bi = f32[2] imag(b)\n"
     "  more = pred[2] compare(ar, br), direction=GT\n"
     "  same = pred[2] compare(ar, br), direction=EQ\n"
     "  rest = pred[2] compare(ai, bi), direction=GE\n"
     "  both = pred[2] and(same, rest)\n"
     "  ROOT r = pred[2] or(more, both)\n}"},
    {"complex to real",
     "func.func @main(%a: tensor<2xcomplex<f64>>) -> tensor<2xi1> {\n"
     "  %0 = stablehlo.convert %a : (tensor<2xcomplex<f64>>) -> tensor<2xi1>\n"
     "  return %0 : tensor<2xi1>\n}",
     "HloModule m\nENTRY e {\n  a = c128[2] parameter(0)\n  r = f64[2] real(a)\n"
     "  ROOT c = pred[2] convert(r)\n}"},
    {"complex cube roots",
     "func.func @main(%a: tensor<complex<f64>>) -> tensor<complex<f64>> {\n"
     "  %0 = stablehlo.cbrt %a : tensor<complex<f64>>\n"
     "  return %0 : tensor<complex<f64>>\n}",
     "HloModule m\nENTRY e {\n  a = c128[] parameter(0)\n"
     "  third = c128[] constant((0.33333333333333331, 0))\n"
     "  ROOT r = c128[] power(a, third)\n}"},
    {"bits to a word",
     "func.func @main(%a: tensor<3x16xi1>) -> tensor<3xi16> {\n"
     "  %0 = stablehlo.bitcast_convert %a : (tensor<3x16xi1>) -> tensor<3xi16>\n"
     "  return %0 : tensor<3xi16>\n}",
     "HloModule m\n"
     "sum { x = u16[] parameter(0)\n  y = u16[] parameter(1)\n  ROOT s = u16[] add(x, y) }\n"
     "ENTRY e {\n  a = pred[3,16] parameter(0)\n  wide = u16[3,16] convert(a)\n"
     "  places = u16[3,16] iota(), iota_dimension=1\n"
     "  moved = u16[3,16] shift-left(wide, places)\n  zero = u16[] constant(0)\n"
     "  word = u16[3] reduce(moved, zero), dimensions={1}, to_apply=sum\n"
     "  ROOT r = s16[3] bitcast-convert(word)\n}"},
    {"a word to bits",
     "func.func @main(%a: tensor<2xui8>) -> tensor<2x8xi1> {\n"
     "  %0 = stablehlo.bitcast_convert %a : (tensor<2xui8>) -> tensor<2x8xi1>\n"
     "  return %0 : tensor<2x8xi1>\n}",
     "HloModule m\nENTRY e {\n  a = u8[2] parameter(0)\n"
     "  wide = u8[2,8] broadcast(a), dimensions={0}\n"
     "  places = u8[2,8] iota(), iota_dimension=1\n"
     "  moved = u8[2,8] shift-right-logical(wide, places)\n"
     "  one = u8[] constant(1)\n  ones = u8[2,8] broadcast(one), dimensions={}\n"
     "  bit = u8[2,8] and(moved, ones)\n"
     "  zero = u8[] constant(0)\n  zeros = u8[2,8] broadcast(zero), dimensions={}\n"
     "  ROOT r = pred[2,8] compare(bit, zeros), direction=NE\n}"},
    {"torch_index_select",
     "func.func @main(%a: tensor<2x5x7xf32>, %i: tensor<2x3xi32>) -> tensor<2x5x3xf32> {\n"
     "  %0 = \"stablehlo.torch_index_select\"(%a, %i) <{dim = 2 : i64, batch_dims = 1 : i64}> : "
     "(tensor<2x5x7xf32>, tensor<2x3xi32>) -> tensor<2x5x3xf32>\n"
     "  return %0 : tensor<2x5x3xf32>\n}",
     "HloModule m\nENTRY e {\n  a = f32[2,5,7] parameter(0)\n  i = s32[2,3] parameter(1)\n"
     "  ROOT r = f32[2,5,3] gather(a, i), offset_dims={1}, collapsed_slice_dims={2}, "
     "start_index_map={2}, operand_batching_dims={0}, start_indices_batching_dims={0}, "
     "index_vector_dim=2, slice_sizes={1,5,1}\n}"},
    {"broadcast",
     "func.func @main(%a: tensor<3xf32>) -> tensor<2x4x3xf32> {\n"
     "  %0 = \"stablehlo.broadcast\"(%a) <{broadcast_sizes = array<i64: 2, 4>}> : "
     "(tensor<3xf32>) -> tensor<2x4x3xf32>\n  return %0 : tensor<2x4x3xf32>\n}",
     "HloModule m\nENTRY e {\n  a = f32[3] parameter(0)\n"
     "  ROOT r = f32[2,4,3] broadcast(a), dimensions={2}\n}"},
    {"iota along one of two dimensions",
     "func.func @main() -> tensor<2x3xi32> {\n"
     "  %0 = stablehlo.iota dim = 1 : tensor<2x3xi32>\n  return %0 : tensor<2x3xi32>\n}",
     "HloModule m\nENTRY e {\n  ROOT r = s32[2,3] iota(), iota_dimension=1\n}"},
    {"mhlo targets",
     "func.func @main(%a: tensor<4x9xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>) {\n"
     "  %0 = stablehlo.custom_call @mhlo.erf(%a) {mhlo.attributes = {}, mhlo.version = 1 : i64} : "
     "(tensor<4x9xf32>) -> tensor<4x9xf32>\n"
     "  %1:2 = stablehlo.custom_call @mhlo.topk(%0) {mhlo.attributes = {k = 2 : i64, largest = "
     "true}, mhlo.version = 1 : i64} : (tensor<4x9xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)\n"
     "  return %1#0, %1#1 : tensor<4x2xf32>, tensor<4x2xi32>\n}",
     "HloModule m\nENTRY e {\n  a = f32[4,9] parameter(0)\n  f = f32[4,9] erf(a)\n"
     "  t = (f32[4,2], s32[4,2]) topk(f), k=2, largest=true\n"
     "  v = f32[4,2] get-tuple-element(t), index=0\n"
     "  i = s32[4,2] get-tuple-element(t), index=1\n"
     "  ROOT r = (f32[4,2], s32[4,2]) tuple(v, i)\n}"},
    {"typed configuration beside an empty one",
     "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
     "  %0 = stablehlo.custom_call @f(%a) {backend_config = \"\", mhlo.backend_config = {u = 85 : "
     "ui8}} : (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>\n}",
     "HloModule m\nENTRY e {\n  a = f32[4] parameter(0)\n"
     "  ROOT r = f32[4] custom-call(a), custom_call_target=\"f\", "
     "api_version=API_VERSION_TYPED_FFI, backend_config={u = 85 : ui8}\n}"},
    {"ApproxTopK that is exact",
     "func.func private @gt(%a: tensor<f32>, %b: tensor<f32>) -> tensor<i1> {\n"
     "  %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
     "  return %0 : tensor<i1>\n}\n"
     "func.func @main(%a: tensor<4x9xf32>, %i: tensor<f32>) -> tensor<4x2xf32> {\n"
     "  %0 = stablehlo.custom_call @ApproxTopK(%a, %i) {api_version = 4 : i32, backend_config = "
     "{aggregate_to_topk = true, is_fallback = true, recall_target = 0.95 : f32, reduction_dim = 1 "
     ": i64, reduction_input_size_override = -1 : i64, top_k = 2 : i64}, called_computations = "
     "[@gt]} : (tensor<4x9xf32>, tensor<f32>) -> tensor<4x2xf32>\n"
     "  return %0 : tensor<4x2xf32>\n}",
     "HloModule m\n"
     "gt { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
     "  ROOT r = pred[] compare(a, b), direction=GT }\n"
     "ENTRY e {\n  a = f32[4,9] parameter(0)\n  i = f32[] parameter(1)\n"
     "  s = f32[4,9] sort(a), dimensions={1}, is_stable=true, to_apply=gt\n"
     "  ROOT r = f32[4,2] slice(s), slice={[0:4], [0:2]}\n}"},
    {"ragged_all_to_all",
     "func.func @main(%a: tensor<6xf32>, %o: tensor<8xf32>, %i: tensor<2xi32>) -> tensor<8xf32> {\n"
     "  %0 = stablehlo.custom_call @ragged_all_to_all(%a, %o, %i, %i, %i, %i) {api_version = 4 : "
     "i32, backend_config = {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_id = 1 : "
     "i64}} : (tensor<6xf32>, tensor<8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, "
     "tensor<2xi32>) -> tensor<8xf32>\n  return %0 : tensor<8xf32>\n}",
     "HloModule m\nENTRY e {\n  a = f32[6] parameter(0)\n  o = f32[8] parameter(1)\n"
     "  i = s32[2] parameter(2)\n"
     "  ROOT r = f32[8] ragged-all-to-all(a, o, i, i, i, i), replica_groups={{0,1}}, "
     "channel_id=1\n}"},
    {"constants in a reducer",
     "func.func @main(%x: tensor<8xf32>) -> tensor<f32> {\n"
     "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
     "  %two = stablehlo.constant dense<2.0> : tensor<f32>\n"
     "  %four = stablehlo.multiply %two, %two : tensor<f32>\n"
     "  %0 = stablehlo.reduce(%x init: %zero) across dimensions = [0] : (tensor<8xf32>, "
     "tensor<f32>) -> tensor<f32>\n"
     "   reducer(%a: tensor<f32>, %b: tensor<f32>) {\n"
     "    %1 = stablehlo.multiply %a, %four : tensor<f32>\n"
     "    %2 = stablehlo.add %1, %b : tensor<f32>\n"
     "    stablehlo.return %2 : tensor<f32>\n  }\n  return %0 : tensor<f32>\n}",
     "HloModule m\n"
     "f { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  two = f32[] constant(2)\n"
     "  four = f32[] multiply(two, two)\n  m = f32[] multiply(a, four)\n"
     "  ROOT s = f32[] add(m, b) }\n"
     "ENTRY e {\n  x = f32[8] parameter(0)\n  zero = f32[] constant(0)\n"
     "  ROOT r = f32[] reduce(x, zero), dimensions={0}, to_apply=f\n}"},
    {"a cast that changes nothing",
     "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n"
     "  %0 = \"builtin.unrealized_conversion_cast\"(%x) : (tensor<8xf32>) -> tensor<8xf32>\n"
     "  return %0 : tensor<8xf32>\n}",
     "HloModule m\nENTRY e {\n  ROOT x = f32[8] parameter(0)\n}"},
};

START_TEST(test_specified)
{
    check_becomes(specified[_i].mlir, specified[_i].hlo, specified[_i].name);
}
END_TEST

/* --- the entry --- */

START_TEST(test_entry)
{
    static const char text[] = "module @outer {\n"
                               "  func.func @f() -> tensor<i32> {\n"
                               "    %0 = stablehlo.constant dense<1> : tensor<i32>\n"
                               "    return %0 : tensor<i32>\n  }\n"
                               "  func.func @g() -> tensor<i32> {\n"
                               "    %0 = stablehlo.constant dense<2> : tensor<i32>\n"
                               "    return %0 : tensor<i32>\n  }\n}";
    struct error err = {0};
    ck_assert_ptr_null(import_text(text, NULL, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "more than one"));
    struct mlir_import_options options = {.entry = "g"};
    struct module *module = import_good(text, &options);
    ck_assert_str_eq(module->name, "outer");
    ck_assert_int_eq(literal_get_int(module->entry->root->literal, 0), 2);
    module_destroy(module);
    options.entry = "h";
    error_clear(&err);
    ck_assert_ptr_null(import_text(text, &options, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "@h"));
}
END_TEST

/* Symbols in modules within modules. */
START_TEST(test_nested_modules)
{
    struct module *module = import_good(
        "module @outer {\n"
        "  module @inner {\n"
        "    func.func @f(%x: tensor<i32>) -> tensor<i32> {\n"
        "      %0 = stablehlo.negate %x : tensor<i32>\n"
        "      return %0 : tensor<i32>\n    }\n  }\n"
        "  func.func @main(%x: tensor<i32>) -> tensor<i32> {\n"
        "    %0 = \"func.call\"(%x) <{callee = @inner::@f}> : (tensor<i32>) -> tensor<i32>\n"
        "    return %0 : tensor<i32>\n  }\n}",
        NULL);
    ck_assert_int_eq(module->entry->root->opcode, OP_CALL);
    ck_assert_int_eq(module->entry->root->called[0]->root->opcode, OP_NEGATE);
    module_destroy(module);
}
END_TEST

/* A function that stands in a module of another name is called once, whoever calls it. */
START_TEST(test_shared_functions)
{
    struct module *module = import_good("func.func private @f(%x: tensor<i32>) -> tensor<i32> {\n"
                                        "  return %x : tensor<i32>\n}\n"
                                        "func.func @main(%x: tensor<i32>) -> tensor<i32> {\n"
                                        "  %0 = call @f(%x) : (tensor<i32>) -> tensor<i32>\n"
                                        "  %1 = call @f(%0) : (tensor<i32>) -> tensor<i32>\n"
                                        "  return %1 : tensor<i32>\n}",
                                        NULL);
    ck_assert_int_eq(module->count, 2);
    module_destroy(module);
}
END_TEST

/* Shapes of the arguments go through functions that leave them open. */
START_TEST(test_argument_shapes)
{
    int64_t sizes[] = {5, 3};
    const struct shape *shape = shape_array(TYPE_F32, 2, sizes);
    struct mlir_import_options options = {.argument_count = 1, .argument_shapes = &shape};
    static const char text[] =
        "func.func private @twice(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {\n"
        "  %0 = stablehlo.add %x, %x : tensor<?x3xf32>\n"
        "  return %0 : tensor<?x3xf32>\n}\n"
        "func.func @main(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {\n"
        "  %0 = call @twice(%x) : (tensor<?x3xf32>) -> tensor<?x3xf32>\n"
        "  %1 = stablehlo.negate %0 : tensor<?x3xf32>\n"
        "  return %1 : tensor<?x3xf32>\n}";
    struct module *module = import_good(text, &options);
    struct module *expected =
        read_hlo("HloModule m\nENTRY e {\n  x = f32[5,3] parameter(0)\n"
                 "  a = f32[5,3] add(x, x)\n  ROOT n = f32[5,3] negate(a)\n}");
    check_same_meaning(module, expected, "argument shapes");
    module_destroy(module);
    module_destroy(expected);
    struct error err = {0};
    ck_assert_ptr_null(import_text(text, NULL, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "not known"));
    sizes[1] = 4;
    shape = shape_array(TYPE_F32, 2, sizes);
    error_clear(&err);
    ck_assert_ptr_null(import_text(text, &options, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "argument 0 cannot be f32[5,4]"));
    options.argument_count = 2;
    error_clear(&err);
    ck_assert_ptr_null(import_text(text, &options, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "takes 1 arguments, not 2"));
}
END_TEST

START_TEST(test_parameter_replication)
{
    struct module *module = import_good(
        "func.func @main(%x: tensor<2xi32> {mhlo.is_same_data_across_replicas = true}, "
        "%y: tuple<tensor<i32>, tensor<f32>> {mhlo.parameter_replication = [true, false]}) -> "
        "tensor<2xi32> {\n  return %x : tensor<2xi32>\n}",
        NULL);
    struct ints x = attr_ints(module->entry->parameters[0], ATTR_PARAMETER_REPLICATION);
    struct ints y = attr_ints(module->entry->parameters[1], ATTR_PARAMETER_REPLICATION);
    ck_assert_int_eq(x.count, 1);
    ck_assert_int_eq(x.values[0], 1);
    ck_assert_int_eq(y.count, 2);
    ck_assert_int_eq(y.values[0], 1);
    ck_assert_int_eq(y.values[1], 0);
    module_destroy(module);
}
END_TEST

START_TEST(test_config)
{
    struct module *module = import_good(
        "module @m attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 2 : i32, "
        "mhlo.use_auto_spmd_partitioning = true, mhlo.spmd_output_sharding = \"{replicated}\", "
        "mhlo.spmd_parameters_shardings = [\"{devices=[2]<=[2]}\"]} {\n"
        "  func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {\n"
        "    return %x : tensor<2xi32>\n  }\n}",
        NULL);
    ck_assert_int_eq(module->config.partition_count, 4);
    ck_assert_int_eq(module->config.replica_count, 2);
    ck_assert(module->config.use_auto_spmd_partitioning);
    ck_assert_int_eq(module->config.spmd_output_sharding->form, SHARDING_REPLICATED);
    ck_assert_int_eq(module->config.spmd_parameter_count, 1);
    ck_assert_int_eq(module->config.spmd_parameters_shardings[0]->form, SHARDING_TILED);
    module_destroy(module);
}
END_TEST

/* JAX writes shardings over many devices as the bytes of OpSharding (xla/xla_data.proto): type
 * OTHER, tiles [2,1], devices 0 and 1. */
START_TEST(test_binary_sharding)
{
    struct module *module = import_good(
        "func.func @main(%x: tensor<8x4xf32> {mhlo.sharding = "
        "\"\\08\\03\\1A\\02\\02\\01\\22\\02\\00\\01\"}, %y: tensor<i32> {mhlo.sharding = \"\"}) -> "
        "tensor<8x4xf32> {\n  return %x : tensor<8x4xf32>\n}",
        NULL);
    const struct sharding *sharding = attr_sharding(module->entry->parameters[0]);
    ck_assert_ptr_nonnull(sharding);
    ck_assert_int_eq(sharding->form, SHARDING_TILED);
    ck_assert_int_eq(sharding->tile_dims.count, 2);
    ck_assert_int_eq(sharding->tile_dims.values[0], 2);
    ck_assert_int_eq(sharding->devices.count, 2);
    ck_assert_ptr_null(attr_sharding(module->entry->parameters[1]));
    module_destroy(module);
}
END_TEST

START_TEST(test_layout_mode)
{
    struct module *module = import_good(
        "func.func @main(%x: tensor<2x3xi32> {mhlo.layout_mode = \"{0,1}\"}, %y: tensor<4xf32> "
        "{mhlo.layout_mode = \"default\"}) -> (tensor<2x3xi32> {mhlo.layout_mode = \"auto\"}, "
        "tensor<2x3xi32> {mhlo.layout_mode = \"{0,1}\"}) {\n"
        "  return %x, %x : tensor<2x3xi32>, tensor<2x3xi32>\n}",
        NULL);
    ck_assert_str_eq(shape_text(module_parameter_shape(module, 0)), "s32[2,3]{0,1}");
    ck_assert_str_eq(shape_text(module_parameter_shape(module, 1)), "f32[4]{0}");
    ck_assert_str_eq(shape_text(module_result_shape(module)), "(s32[2,3]{1,0}, s32[2,3]{0,1})");
    module_destroy(module);
}
END_TEST

/* --- locations --- */

START_TEST(test_metadata)
{
    struct module *module = import_good(
        "func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {\n"
        "  %0 = stablehlo.negate %x : tensor<2xi32> loc(\"jit(f)/neg\"(\"a.py\":3:7))\n"
        "  %1 = stablehlo.negate %0 : tensor<2xi32> loc(fused[\"neg:\", \"one@f\", "
        "\"two\"(\"b.py\":1:2)])\n"
        "  %2 = stablehlo.negate %1 : tensor<2xi32> loc(callsite(\"in\"(\"c.py\":5:6) at "
        "\"d.py\":7:8))\n"
        "  return %2 : tensor<2xi32>\n}",
        NULL);
    static const struct {
        const char *name, *type, *file;
        int64_t line, column;
    } expected[] = {{"in", NULL, "c.py", 5, 6},
                    {"one;two", "neg", "b.py", 1, 2},
                    {"jit(f)/neg", NULL, "a.py", 3, 7}};
    const struct instruction *at = module->entry->root;
    for (size_t i = 0; i < 3; i++, at = at->operands[0]) {
        const struct metadata *metadata = attr_get(at, ATTR_METADATA)->metadata;
        ck_assert_str_eq(metadata->op_name, expected[i].name);
        ck_assert_str_eq(metadata->source_file, expected[i].file);
        ck_assert_int_eq(metadata->source_line, expected[i].line);
        ck_assert_int_eq(metadata->source_column, expected[i].column);
        if (expected[i].type != NULL) {
            ck_assert_str_eq(metadata->op_type, expected[i].type);
        } else {
            ck_assert_ptr_null(metadata->op_type);
        }
    }
    module_destroy(module);
}
END_TEST

/* JAX's locations of two operations in a function that is called at two places, one of them in
 * another function; expected: what XLA's own translation makes of such (the frames of stacks,
 * outermost first, each once). */
START_TEST(test_frames)
{
    struct module *module =
        import_good("#main = loc(\"<module>\"(\"a.py\":7:4))\n"
                    "#f = loc(callsite(\"f\"(\"a.py\":5:2) at #main))\n"
                    "func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {\n"
                    "  %0 = stablehlo.negate %x : tensor<2xi32> "
                    "loc(\"jit(f)/neg\"(callsite(\"g\"(\"b.py\":1:9) at "
                    "#f)))\n"
                    "  %1 = stablehlo.not %0 : tensor<2xi32> "
                    "loc(\"jit(f)/not\"(callsite(\"g\"(\"b.py\":2:9) at "
                    "#f)))\n"
                    "  %2 = stablehlo.abs %1 : tensor<2xi32> loc(\"jit(f)/abs\"(#main))\n"
                    "  return %2 : tensor<2xi32>\n}",
                    NULL);
    struct module *expected =
        read_hlo("HloModule main\n\n"
                 "FileNames\n1 \"a.py\"\n2 \"b.py\"\n\n"
                 "FunctionNames\n1 \"<module>\"\n2 \"f\"\n3 \"g\"\n\n"
                 "FileLocations\n"
                 "1 {file_name_id=1 function_name_id=1 line=7 end_line=7 column=4 end_column=4}\n"
                 "2 {file_name_id=1 function_name_id=2 line=5 end_line=5 column=2 end_column=2}\n"
                 "3 {file_name_id=2 function_name_id=3 line=1 end_line=1 column=9 end_column=9}\n"
                 "4 {file_name_id=2 function_name_id=3 line=2 end_line=2 column=9 end_column=9}\n\n"
                 "StackFrames\n"
                 "1 {file_location_id=1 parent_frame_id=1}\n"
                 "2 {file_location_id=2 parent_frame_id=2}\n"
                 "3 {file_location_id=3 parent_frame_id=3}\n"
                 "4 {file_location_id=4 parent_frame_id=3}\n\n"
                 "ENTRY e {\n  ROOT x = s32[2] parameter(0)\n}\n");
    const struct frame_tables *made = &module->frames, *wanted = &expected->frames;
    ck_assert_int_eq(made->file_name_count, wanted->file_name_count);
    ck_assert_int_eq(made->function_name_count, wanted->function_name_count);
    ck_assert_int_eq(made->location_count, wanted->location_count);
    ck_assert_int_eq(made->frame_count, wanted->frame_count);
    for (int i = 0; i < wanted->file_name_count; i++) {
        ck_assert_str_eq(made->file_names[i], wanted->file_names[i]);
    }
    for (int i = 0; i < wanted->function_name_count; i++) {
        ck_assert_str_eq(made->function_names[i], wanted->function_names[i]);
    }
    ck_assert_mem_eq(made->locations, wanted->locations,
                     (size_t)wanted->location_count * sizeof *wanted->locations);
    ck_assert_mem_eq(made->frames, wanted->frames,
                     (size_t)wanted->frame_count * sizeof *wanted->frames);
    const struct instruction *at = module->entry->root;
    static const int ids[] = {1, 4, 3};
    for (int i = 0; i < 3; i++, at = at->operands[0]) {
        ck_assert_int_eq(attr_get(at, ATTR_METADATA)->metadata->stack_frame_id, ids[i]);
    }
    module_destroy(module);
    module_destroy(expected);
}
END_TEST

/* --- checks --- */

static const char checked[] =
    "func.func @main(%x: tensor<2xf32>) {\n"
    "  %0 = interpreter.probe %x, probe_id = \"a\\\"b\" : tensor<2xf32>\n"
    "  check.expect_eq %0, %x : tensor<2xf32>\n"
    "  check.expect_almost_eq_const %0, dense<[1.0, 2.0]> : tensor<2xf32>, tolerance = 0.25\n"
    "  check.expect_close %0, %x, max_ulp_difference = 3, min_ulp_difference = 1 : tensor<2xf32>, "
    "tensor<2xf32>\n"
    "  stablehlo.custom_call @check.expect_eq(%0, %x) : (tensor<2xf32>, tensor<2xf32>) -> ()\n"
    "  interpreter.print %0 : tensor<2xf32>\n"
    "  func.return\n}";

START_TEST(test_checks_kept)
{
    struct mlir_import_options options = {.checks = MLIR_CHECKS_KEEP};
    struct module *module = import_good(checked, &options);
    struct module *expected =
        read_hlo("HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n"
                 "  c = f32[2] constant({1, 2})\n"
                 "  p = () custom-call(x), custom_call_target=\"interpreter.probe\", "
                 "custom_call_has_side_effect=true, backend_config={\"probe_id\": \"a\\\"b\"}\n"
                 "  q = () custom-call(x, x), custom_call_target=\"check.expect_eq\", "
                 "custom_call_has_side_effect=true\n"
                 "  r = () custom-call(x, c), custom_call_target=\"check.expect_almost_eq_const\", "
                 "custom_call_has_side_effect=true, backend_config={\"tolerance\": 0.25}\n"
                 "  s = () custom-call(x, x), custom_call_target=\"check.expect_close\", "
                 "custom_call_has_side_effect=true, backend_config={\"min_ulp_difference\": 1, "
                 "\"max_ulp_difference\": 3}\n"
                 "  t = () custom-call(x, x), custom_call_target=\"check.expect_eq\", "
                 "custom_call_has_side_effect=true\n"
                 "  u = () custom-call(x), custom_call_target=\"interpreter.print\", "
                 "custom_call_has_side_effect=true\n"
                 "  ROOT n = () tuple()\n}");
    check_same_meaning(module, expected, "checks");
    module_destroy(module);
    module_destroy(expected);
}
END_TEST

START_TEST(test_checks_dropped)
{
    struct module *module = import_good(checked, NULL);
    for (int i = 0; i < module->entry->count; i++) {
        ck_assert_int_ne(module->entry->instructions[i]->opcode, OP_CUSTOM_CALL);
    }
    module_destroy(module);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hlo/mlir/import");
    TCase *tests = tcase_create("import");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, test_fixtures, 0, sizeof fixtures / sizeof *fixtures);
    tcase_add_loop_test(tests, test_specified, 0, sizeof specified / sizeof *specified);
    tcase_add_test(tests, test_entry);
    tcase_add_test(tests, test_nested_modules);
    tcase_add_test(tests, test_shared_functions);
    tcase_add_test(tests, test_argument_shapes);
    tcase_add_test(tests, test_parameter_replication);
    tcase_add_test(tests, test_config);
    tcase_add_test(tests, test_binary_sharding);
    tcase_add_test(tests, test_layout_mode);
    tcase_add_test(tests, test_metadata);
    tcase_add_test(tests, test_frames);
    tcase_add_test(tests, test_checks_kept);
    tcase_add_test(tests, test_checks_dropped);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
