/* The short forms of ops, against the generic forms of the same ops: fixtures/forms has modules
 * written by hand, each in the generic form of jaxlib's printer and in today's short spelling
 * (make_forms.py); and where errors in each form are found. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/mlir/mlir_format.h"

/* --- short and generic forms --- */

static const char *const modules[] = {
    "check",       "chlo",  "contractions", "control", "data",
    "elementwise", "newer", "quantized",    "sdy",     "shapes",
};
enum { MODULES = sizeof modules / sizeof *modules };

/* NULL when there is no such file. */
static struct mlir_file *read_form(const char *module, const char *kind)
{
    char path[4096];
    const char *source = getenv("REFEREE_SOURCE");
    snprintf(path, sizeof path, "%s/tests/hlo/mlir/fixtures/forms/%s%s.mlir",
             source != NULL ? source : ".", module, kind);
    struct error err = {0};
    size_t size;
    char *text = file_read(path, &size, &err);
    if (text == NULL) {
        ck_assert_int_eq(err.code, ERROR_NOT_FOUND);
        return NULL;
    }
    struct mlir_file *file = mlir_parse(text, size, path, 1, &err);
    if (file == NULL) {
        ck_abort_msg("%s%s:%d:%d: %s", module, kind, err.line, err.column, err.message);
    }
    free(text);
    return file;
}

static void check_equal(const char *module, const char *kind, const struct mlir_file *generic)
{
    struct mlir_file *file = read_form(module, kind);
    if (file == NULL) {
        ck_assert_str_eq(kind, ".printed");
        return;
    }
    struct error err = {0};
    if (!mlir_file_equal(file, generic, &err)) {
        ck_abort_msg("%s%s: %s (line %d)", module, kind, err.message, err.line);
    }
    mlir_file_destroy(file);
}

START_TEST(test_forms)
{
    struct mlir_file *generic = read_form(modules[_i], ".generic");
    ck_assert_ptr_nonnull(generic);
    check_equal(modules[_i], "", generic);
    check_equal(modules[_i], ".printed", generic);
    mlir_file_destroy(generic);
}
END_TEST

/* --- what the forms leave, field by field --- */

static struct mlir_file *parse(const char *text)
{
    struct error err = {0};
    struct mlir_file *file = mlir_parse(text, strlen(text), "text", 1, &err);
    if (file == NULL) {
        ck_abort_msg("%d:%d: %s\n%s", err.line, err.column, err.message, text);
    }
    return file;
}

/* The first op of the function that is the module's first op. */
static struct mlir_op *first_op(const struct mlir_file *file)
{
    struct mlir_op *function = file->module->regions[0].blocks[0]->ops[0];
    return function->regions[0].blocks[0]->ops[0];
}

static void check_ints(const struct mlir_op *op, const char *key, int width, int count,
                       const int64_t *values)
{
    const struct mlir_attr *attr = mlir_op_attr(op, key);
    ck_assert_msg(attr != NULL, "%s", key);
    ck_assert_int_eq(attr->kind, MLIR_ATTR_INTS);
    ck_assert_int_eq(attr->type->width, width);
    ck_assert_int_eq(attr->ints.count, count);
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(attr->ints.values[i], values[i]);
    }
}

START_TEST(test_slice)
{
    struct mlir_file *file =
        parse("func.func @f(%a: tensor<9x9x9x9x9x9x9x9x9xf32>) {\n"
              "  %0 = stablehlo.slice %a [0:1, 1:2:3, 2:3, 3:4, 4:5, 5:6, 6:7, 7:8, 8:9:10] :\n"
              "    (tensor<9x9x9x9x9x9x9x9x9xf32>) -> tensor<1x1x1x1x1x1x1x1x1xf32>\n"
              "  return\n}\n");
    const struct mlir_op *op = first_op(file);
    static const int64_t starts[] = {0, 1, 2, 3, 4, 5, 6, 7, 8},
                         limits[] = {1, 2, 3, 4, 5, 6, 7, 8, 9},
                         strides[] = {1, 3, 1, 1, 1, 1, 1, 1, 10};
    ck_assert_int_eq(op->opcode, MLIR_OP_SLICE);
    ck_assert_int_eq(op->attrs.count, 3);
    check_ints(op, "start_indices", 64, 9, starts);
    check_ints(op, "limit_indices", 64, 9, limits);
    check_ints(op, "strides", 64, 9, strides);
    mlir_file_destroy(file);
}
END_TEST

START_TEST(test_reduce)
{
    struct mlir_file *file =
        parse("func.func @f(%a: tensor<2x3xf32>, %b: tensor<f32>) {\n"
              "  %0 = stablehlo.reduce(%a init: %b) applies stablehlo.add across dimensions = [1]\n"
              "    : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>\n"
              "  return\n}\n");
    const struct mlir_op *op = first_op(file);
    ck_assert_int_eq(op->operand_count, 2);
    ck_assert_int_eq(op->region_count, 1);
    const struct mlir_block *body = op->regions[0].blocks[0];
    ck_assert_int_eq(op->regions[0].count, 1);
    ck_assert_int_eq(body->argument_count, 2);
    ck_assert_int_eq(body->count, 2);
    ck_assert_int_eq(body->ops[0]->opcode, MLIR_OP_ADD);
    ck_assert_ptr_eq(body->ops[0]->operands[0], &body->arguments[0]);
    ck_assert_ptr_eq(body->ops[0]->operands[1], &body->arguments[1]);
    ck_assert_ptr_eq(body->ops[0]->results[0].type, op->operands[1]->type);
    ck_assert_ptr_eq(body->arguments[0].type, op->operands[1]->type);
    ck_assert_int_eq(body->ops[1]->opcode, MLIR_OP_RETURN);
    ck_assert_ptr_eq(body->ops[1]->operands[0], &body->ops[0]->results[0]);
    ck_assert_int_eq(body->ops[0]->line, 2);
    ck_assert_int_eq(body->ops[0]->column, 46);
    mlir_file_destroy(file);
}
END_TEST

START_TEST(test_reducer_of_pairs)
{
    struct mlir_file *file = parse(
        "func.func @f(%a: tensor<2xf32>, %b: tensor<2xi32>, %c: tensor<f32>, %d: tensor<i32>) {\n"
        "  %0:2 = stablehlo.reduce(%a init: %c), (%b init: %d) across dimensions = [0] :\n"
        "    (tensor<2xf32>, tensor<2xi32>, tensor<f32>, tensor<i32>) ->\n"
        "    (tensor<f32>, tensor<i32>)\n"
        "   reducer(%x: tensor<f32>, %y: tensor<f32>) (%p: tensor<i32>, %q: tensor<i32>) {\n"
        "    stablehlo.return %y, %p : tensor<f32>, tensor<i32>\n"
        "  }\n"
        "  return\n}\n");
    const struct mlir_op *op = first_op(file);
    const struct mlir_block *outside = op->block, *body = op->regions[0].blocks[0];
    ck_assert_int_eq(op->operand_count, 4);
    for (int i = 0; i < 4; i++) {
        ck_assert_ptr_eq(op->operands[i], &outside->arguments[i]);
    }
    ck_assert_int_eq(body->argument_count, 4);
    static const char *const names[] = {"x", "p", "y", "q"};
    for (int i = 0; i < 4; i++) {
        ck_assert_str_eq(body->arguments[i].name, names[i]);
    }
    ck_assert_ptr_eq(body->ops[0]->operands[0], &body->arguments[2]);
    ck_assert_ptr_eq(body->ops[0]->operands[1], &body->arguments[1]);
    mlir_file_destroy(file);
}
END_TEST

START_TEST(test_convolution)
{
    struct mlir_file *file =
        parse("func.func @f(%a: tensor<1x8x8x1xf32>, %b: tensor<3x3x1x1xf32>) {\n"
              "  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, "
              "0, 1, f],\n"
              "    window = {reverse = [0, 1], pad = [[1, -2], [3, 4]], lhs_dilate = [1, 2], "
              "stride = [3, 4]}\n"
              "    {batch_group_count = 1 : i64} :\n"
              "    (tensor<1x8x8x1xf32>, tensor<3x3x1x1xf32>) -> tensor<1x8x8x1xf32>\n"
              "  return\n}\n");
    const struct mlir_op *op = first_op(file);
    static const int64_t reversal[] = {0, 1}, dilation[] = {1, 2}, strides[] = {3, 4};
    check_ints(op, "window_reversal", 1, 2, reversal);
    check_ints(op, "lhs_dilation", 64, 2, dilation);
    check_ints(op, "window_strides", 64, 2, strides);
    ck_assert_ptr_null(mlir_op_attr(op, "rhs_dilation"));
    const struct mlir_attr *padding = mlir_op_attr(op, "padding");
    ck_assert_int_eq(padding->kind, MLIR_ATTR_DENSE);
    ck_assert_int_eq(padding->type->kind, MLIR_TENSOR);
    ck_assert_int_eq(padding->type->rank, 2);
    ck_assert_int_eq(padding->type->sizes[0], 2);
    ck_assert_int_eq(padding->type->sizes[1], 2);
    static const int64_t pads[] = {1, -2, 3, 4};
    ck_assert_int_eq(padding->dense.count, 4);
    ck_assert(!padding->dense.splat);
    ck_assert_mem_eq(padding->dense.data, pads, sizeof pads);
    mlir_file_destroy(file);
}
END_TEST

/* --- errors --- */

/* An op with "~" at the place of its error, and a part of what is said about it. */
static const struct wrong {
    const char *op, *message;
} wrongs[] = {
    /* what all forms are made of */
    {"%0 = stablehlo.abs ~: tensor<4xf32>", ""},
    {"%0 = stablehlo.abs ~%x : tensor<4xf32>", "x"},
    {"%0 = stablehlo.abs ~%a : tensor<5xf32>", ""},
    {"%0 = stablehlo.abs %a ~tensor<4xf32>", "':'"},
    {"%0 = stablehlo.abs %a : () ~: tensor<4xf32>", "'->'"},
    {"%0 = stablehlo.abs %a : ~(tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)", "one result"},
    {"%0 = ~stablehlo.abs %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>", "2 types"},
    {"~%0:2 = stablehlo.abs %a : tensor<4xf32>", ""},
    {"%0 = stablehlo.add %a~ : tensor<4xf32>", "','"},
    {"%0 = stablehlo.add %a, %b~, %a : tensor<4xf32>", "':'"},
    {"%0 = stablehlo.add %a, ~%z : tensor<4xf32>", ""},
    {"%0 = stablehlo.clamp %a, %b~ : tensor<4xf32>", "','"},
    {"%0 = stablehlo.reshape %a ~-> tensor<2x2xf32>", "':'"},
    {"%0 = stablehlo.reshape %a : ~tensor<4xf32> -> tensor<2x2xf32>", "'('"},
    /* elementwise */
    {"%0 = stablehlo.complex %a, %b : ~tensor<4xf32>", "complex"},
    {"%0 = stablehlo.complex %a, ~%z : tensor<4xcomplex<f32>>", ""},
    {"%0 = stablehlo.compare ~EX, %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>",
     "'EX' is no comparison_direction"},
    {"%0 = stablehlo.compare EQ, %a, %b, ~HALF : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>",
     "'HALF' is no comparison_type"},
    {"%0 = stablehlo.compare EQ, %a~ : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>", "','"},
    {"%0 = stablehlo.select %p, %a, %b : tensor<4xi1> ~-> tensor<4xf32>", "','"},
    {"%0 = stablehlo.select %p, ~%z, %b : tensor<4xi1>, tensor<4xf32>", ""},
    {"%0 = stablehlo.reduce_precision %a, format = ~e5 : tensor<4xf32>", "no format"},
    {"%0 = stablehlo.reduce_precision %a, format = ~e5m10x : tensor<4xf32>", "no format"},
    {"%0 = stablehlo.reduce_precision %a, format = ~e99999999999m1 : tensor<4xf32>", "no format"},
    {"%0 = stablehlo.reduce_precision %a, ~5 : tensor<4xf32>", "format"},
    {"%0 = chlo.erf %a : tensor<4xf32> ~: tensor<4xf32>", "'->'"},
    {"%0 = ~chlo.zeta %a, %b : tensor<4xf32> -> tensor<4xf32>", "1 types"},
    {"%0 = stablehlo.replica_id ~%a : tensor<ui32>", "':'"},
    {"%0:2 = stablehlo.optimization_barrier %a, ~%b : tensor<4xf32>, tensor<4xf64>", ""},
    /* data */
    {"%0 = stablehlo.constant ~7 : i32", "dense"},
    {"%0 = stablehlo.constant dense<[1, ~2.5]> : tensor<2xi32>", ""},
    {"%0 = arith.constant ~\"text\"", "a number"},
    {"%0 = stablehlo.iota ~%a : tensor<4xi32>", "dim"},
    {"%0 = stablehlo.iota dim = ~x : tensor<4xi32>", ""},
    {"%0 = stablehlo.concatenate %a, %b~ : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>", "','"},
    {"%0 = stablehlo.transpose %a, ~permutation = [0] : (tensor<4xf32>) -> tensor<4xf32>", "dims"},
    {"%0 = stablehlo.transpose %a, dims = ~0 : (tensor<4xf32>) -> tensor<4xf32>", "'['"},
    {"%0 = stablehlo.reverse %a, dims = [0~ : tensor<4xf32>", ""},
    {"%0 = stablehlo.broadcast %a, ~dims = [0] : (tensor<4xf32>) -> tensor<4xf32>", "sizes"},
    {"%0 = stablehlo.pad %a, %s, low = [0], ~interior = [0] : (tensor<4xf32>) -> tensor<4xf32>",
     "high"},
    {"%0 = stablehlo.slice %a [0~] : (tensor<4xf32>) -> tensor<1xf32>", "':'"},
    {"%0 = stablehlo.slice %a [0:1 ~; (tensor<4xf32>) -> tensor<1xf32>", ""},
    {"%0 = stablehlo.slice %a [0:1:2~:3] : (tensor<4xf32>) -> tensor<1xf32>", ""},
    {"%0 = stablehlo.tuple %a, %b : ~tensor<4xf32>", "tuple<"},
    {"%0 = stablehlo.tuple %a, %b : ~tuple<tensor<4xf32>>", "1 elements of 2"},
    {"%0 = stablehlo.tuple ~%a : tuple<tensor<5xf32>>", ""},
    {"%0 = stablehlo.get_tuple_element %a[~x] : (tensor<4xf32>) -> tensor<4xf32>", ""},
    {"%0 = stablehlo.get_tuple_element %a[~99999999999] : (tensor<4xf32>) -> tensor<4xf32>",
     "32 bits"},
    /* contractions */
    {"%0 = stablehlo.dot %a, %b, precision = [~LOW] : (tensor<4xf32>, tensor<4xf32>) -> "
     "tensor<f32>",
     "'LOW' is no precision"},
    {"%0 = stablehlo.dot_general %a, %b, ~dims = [0] : (tensor<4xf32>, tensor<4xf32>) -> "
     "tensor<f32>",
     "contracting_dims"},
    {"%0 = stablehlo.dot_general %a, %b, contracting_dims = [0] ~[0] : (tensor<4xf32>, "
     "tensor<4xf32>) -> tensor<f32>",
     "x"},
    {"%0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0], ~speed = 1 : "
     "(tensor<4xf32>, tensor<4xf32>) -> tensor<f32>",
     "algorithm"},
    {"%0 = stablehlo.convolution(%a, %b) dim_numbers = [b, f]x[i, o]->[b, f], window = {~wide = "
     "[1]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>",
     "'wide'"},
    {"%0 = stablehlo.convolution(%a, %b) dim_numbers = [b, f]x[i, o]->[b, f], window = {stride = "
     "[], ~stride = []} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>",
     "twice"},
    {"%0 = stablehlo.convolution(%a, %b) dim_numbers = [b, f]x[i, o]->[b, f], window = {pad = "
     "[~[1]]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>",
     "two numbers"},
    {"%0 = stablehlo.fft %a, type = ~DCT, length = [4] : (tensor<4xf32>) -> tensor<4xf32>",
     "'DCT' is no fft_type"},
    {"%0 = stablehlo.cholesky %a, lower = ~1 : tensor<4xf32>", ""},
    {"%0 = stablehlo.cholesky %a, ~upper = true : tensor<4xf32>", "lower"},
    {"%0 = stablehlo.einsum %a, %b, config = ~ab : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>",
     ""},
    {"%0 = stablehlo.rng %s, %s, %i, distribution = ~GAMMA : (tensor<f32>, tensor<f32>, "
     "tensor<i32>) -> tensor<4xf32>",
     "'GAMMA'"},
    {"%0:2 = stablehlo.rng_bit_generator %i, algorithm = ~MERSENNE : (tensor<i32>) -> "
     "(tensor<i32>, tensor<4xui32>)",
     "'MERSENNE'"},
    /* control */
    {"stablehlo.return ~%z : tensor<4xf32>", ""},
    {"stablehlo.return %a ~tensor<4xf32>", "':'"},
    {"call ~f(%a) : (tensor<4xf32>) -> tensor<4xf32>", "symbol"},
    {"%0 = stablehlo.custom_call ~\"f\"(%a) : (tensor<4xf32>) -> tensor<4xf32>", "symbol"},
    {"%0 = stablehlo.custom_call @f ~%a : (tensor<4xf32>) -> tensor<4xf32>", "'('"},
    {"%0 = stablehlo.composite ~@f %a : (tensor<4xf32>) -> tensor<4xf32>", "string"},
    {"%0 = stablehlo.while(%x ~%a) : tensor<4xf32> cond {} do {}", "'='"},
    {"%0 = stablehlo.while(%x = %a) ~cond {} do {}", "':'"},
    {"%0 = stablehlo.while(%x = %a) : tensor<4xf32> cond { stablehlo.return } ~{}", "do"},
    {"%0 = stablehlo.while(%x = ~%a) : tensor<3xf32> cond {} do {}", ""},
    {"%0 = stablehlo.reduce(%a ~%s) applies stablehlo.add across dimensions = [0]", "init"},
    {"%0 = stablehlo.reduce(%a init: %s) applies ~stablehlo.subtract across dimensions = [0]",
     "'stablehlo.subtract'"},
    {"%0 = stablehlo.reduce(%a init: %s) applies ~stablehlo.nothing across dimensions = [0]",
     "'stablehlo.nothing'"},
    {"%0 = stablehlo.reduce(%a init: %s), (%a init: %s) applies ~stablehlo.add across", "one"},
    {"%0 = stablehlo.reduce(%a init: %s) ~dimensions = [0]", "across"},
    {"%0 = stablehlo.reduce(%a init: %s) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) "
     "-> tensor<f32> ~{}",
     "reducer"},
    {"%0 = stablehlo.reduce(%a init: %s) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) "
     "-> tensor<f32> reducer(%x: tensor<f32>~) {}",
     "','"},
    {"%0:2 = chlo.top_k(%a, ~4) : tensor<4xf32> -> (tensor<4xf32>, tensor<4xi32>)", "k"},
    {"%0:2 = chlo.top_k(%a, k = 4, ~largest = true) : tensor<4xf32> -> (tensor<4xf32>, "
     "tensor<4xi32>)",
     "is_stable"},
    {"%0 = chlo.scan(%a) ~(%s) dimension=0 {} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>",
     "inits"},
    {"%0 = chlo.scan(%a) inits (%s) dimension=0 { stablehlo.return } ~: (tensor<4xf32>, "
     "tensor<f32>) -> ()",
     "0 results"},
    /* check and interpreter */
    {"check.expect_eq %a, ~%s : tensor<4xf32>", ""},
    {"check.expect_eq_const %a, ~1.0 : f32", "dense"},
    {"check.expect_eq_const ~%a, dense<1.0> : tensor<5xf32>", ""},
    {"check.expect_almost_eq %a, %b, ~error = 1.0 : tensor<4xf32>", "tolerance"},
    {"check.expect_close %a, %b, ~ulps = 1 : tensor<4xf32>, tensor<4xf32>", "max_ulp_difference"},
    {"check.expect_serialized_eq %a, probe_id = ~7 : tensor<4xf32>", ""},
    {"%0 = interpreter.probe %a~ : tensor<4xf32>", "','"},
    {"interpreter.print ~7 : tensor<4xf32>", ""},
    /* shape, arith, tensor */
    {"%0 = shape.const_shape ~2 : tensor<1xindex>", "'['"},
    {"%0 = shape.const_size ~x", ""},
    {"%0 = shape.from_extents ~%a : index", ""},
    {"%0 = shape.index_to_size ~%a", ""},
    {"shape.assuming ~%a { shape.assuming_yield }", ""},
    {"%0 = arith.addi %a, ~%s : tensor<4xf32>", ""},
    {"%0 = arith.cmpi ~lt, %i, %i : tensor<i32>", "'lt' is no predicate"},
    {"%0 = arith.select ~%p, %i, %i : tensor<i32>", ""},
    {"%0 = arith.index_cast %i : tensor<i32> ~-> tensor<index>", "to"},
    {"%0 = tensor.dim %a, ~%i : tensor<4xf32>", ""},
    {"%0 = tensor.from_elements %i : ~i32", "tensor"},
    {"%0 = tensor.extract %a~ : tensor<4xf32>", "'['"},
    {"%0 = builtin.unrealized_conversion_cast %a : tensor<4xf32> ~: tensor<4xf64>", "to"},
    /* Shardy */
    {"sdy.mesh ~mesh = <[]>", "symbol"},
    {"sdy.mesh @mesh = ~[]", "'<'"},
    {"%0 = sdy.sharding_constraint %a ~@mesh : tensor<4xf32>", "'<'"},
    {"%0 = sdy.propagation_barrier %a allowed_direction=~UP : tensor<4xf32>", "'UP'"},
    {"sdy.sharding_group %a ~group=1 : tensor<4xf32>", "group_id"},
    {"%0 = sdy.all_gather ~%a out_sharding=<@mesh, [{}]> : tensor<4xf32>", "'['"},
    {"%0 = sdy.all_reduce ~mean {\"a\"} %a out_sharding=<@mesh, [{}]> : tensor<4xf32>", "'mean'"},
    {"%0 = sdy.all_slice [{}] %a ~: tensor<4xf32>", "out_sharding"},
    {"%0 = sdy.manual_computation(%a) ~out_shardings=[] : () -> ()", "in_shardings"},
    {"%0 = sdy.manual_computation(%a) in_shardings=[] out_shardings=[] manual_axes=~[]", "'{'"},
    {"%0 = sdy.named_computation~(%a) (%b: tensor<4xf32>) {}", "'<'"},
    {"%0 = sdy.data_flow_edge %a sharding=~[] : tensor<4xf32>", "'<'"},
};
enum { WRONGS = sizeof wrongs / sizeof *wrongs };

START_TEST(test_errors)
{
    static const char head[] =
        "func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>, %s: tensor<f32>, %i: tensor<i32>, "
        "%p: tensor<4xi1>, %z: tensor<f64>) {\n  ";
    const struct wrong *wrong = &wrongs[_i];
    const char *mark = strchr(wrong->op, '~');
    ck_assert_ptr_nonnull(mark);
    char text[2048];
    int size = snprintf(text, sizeof text, "%s%.*s%s\n  return\n}\n", head, (int)(mark - wrong->op),
                        wrong->op, mark + 1);
    ck_assert_int_lt(size, (int)sizeof text);
    struct error err = {0};
    struct mlir_file *file = mlir_parse(text, (size_t)size, "text", 1, &err);
    if (file != NULL) {
        ck_abort_msg("read: %s", wrong->op);
    }
    /* A blank before the place makes no difference. */
    int column = (int)(mark - wrong->op) + 3;
    if (err.line != 2 || err.column < column || err.column > column + 1 ||
        (err.column == column + 1 && mark[1] != ' ')) {
        ck_abort_msg("%s: at %d:%d, not 2:%d: %s", wrong->op, err.line, err.column, column,
                     err.message);
    }
    if (strstr(err.message, wrong->message) == NULL) {
        ck_abort_msg("%s: \"%s\" has no \"%s\"", wrong->op, err.message, wrong->message);
    }
}
END_TEST

/* Every beginning of every module is an error, or a module, and never anything worse. */
START_TEST(test_beginnings)
{
    struct mlir_file *file = read_form(modules[_i], "");
    ck_assert_ptr_nonnull(file);
    mlir_file_destroy(file);
    char path[4096];
    const char *source = getenv("REFEREE_SOURCE");
    snprintf(path, sizeof path, "%s/tests/hlo/mlir/fixtures/forms/%s.mlir",
             source != NULL ? source : ".", modules[_i]);
    struct error err = {0};
    size_t size;
    char *text = file_read(path, &size, &err);
    ck_assert_ptr_nonnull(text);
    for (size_t end = 0; end < size; end++) {
        char *cut = malloc(end + 1);
        memcpy(cut, text, end);
        cut[end] = '\0';
        error_clear(&err);
        file = mlir_parse(cut, end, "cut", 1, &err);
        ck_assert((file != NULL) == (err.code == ERROR_NONE));
        mlir_file_destroy(file);
        free(cut);
    }
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mlir_forms");
    TCase *forms = tcase_create("forms");
    tcase_add_loop_test(forms, test_forms, 0, MODULES);
    tcase_add_test(forms, test_slice);
    tcase_add_test(forms, test_reduce);
    tcase_add_test(forms, test_reducer_of_pairs);
    tcase_add_test(forms, test_convolution);
    suite_add_tcase(suite, forms);
    TCase *errors = tcase_create("errors");
    tcase_add_loop_test(errors, test_errors, 0, WRONGS);
    tcase_add_loop_test(errors, test_beginnings, 0, MODULES);
    suite_add_tcase(suite, errors);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
