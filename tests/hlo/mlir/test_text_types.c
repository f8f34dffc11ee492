/* Types of MLIR text, field by field. */
#include "tests/hlo/mlir/mlir_text.h"

START_TEST(scalars)
{
    static const struct {
        const char *text;
        enum mlir_type_kind kind;
        int width;
        enum mlir_sign sign;
        enum type type;
    } rows[] = {
        {"i1", MLIR_INTEGER, 1, MLIR_SIGNLESS, TYPE_PRED},
        {"i4", MLIR_INTEGER, 4, MLIR_SIGNLESS, TYPE_S4},
        {"i64", MLIR_INTEGER, 64, MLIR_SIGNLESS, TYPE_S64},
        {"si8", MLIR_INTEGER, 8, MLIR_SIGNED, TYPE_S8},
        {"ui16", MLIR_INTEGER, 16, MLIR_UNSIGNED, TYPE_U16},
        {"i3", MLIR_INTEGER, 3, MLIR_SIGNLESS, TYPE_INVALID},
        {"i128", MLIR_INTEGER, 128, MLIR_SIGNLESS, TYPE_INVALID},
        {"index", MLIR_INDEX, 64, MLIR_SIGNLESS, TYPE_S64},
        {"bf16", MLIR_FLOAT, 16, MLIR_SIGNLESS, TYPE_BF16},
        {"f8E4M3B11FNUZ", MLIR_FLOAT, 8, MLIR_SIGNLESS, TYPE_F8E4M3B11FNUZ},
        {"f4E2M1FN", MLIR_FLOAT, 4, MLIR_SIGNLESS, TYPE_F4E2M1FN},
        {"tf32", MLIR_FLOAT, 19, MLIR_SIGNLESS, TYPE_INVALID},
        {"none", MLIR_NONE, 0, MLIR_SIGNLESS, TYPE_INVALID},
        {"!stablehlo.token", MLIR_TOKEN, 0, MLIR_SIGNLESS, TYPE_INVALID},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct mlir_file *file;
        const struct mlir_type *type = read_type(rows[i].text, &file);
        ck_assert_msg(type->kind == rows[i].kind && type->width == rows[i].width &&
                          type->sign == rows[i].sign && type->element_type == rows[i].type,
                      "%s", rows[i].text);
        mlir_file_destroy(file);
    }
}
END_TEST

START_TEST(tensors)
{
    struct mlir_file *file;
    const struct mlir_type *type = read_type("tensor<2x?x0xcomplex<f32>>", &file);
    ck_assert_int_eq(type->kind, MLIR_TENSOR);
    ck_assert_int_eq(type->rank, 3);
    ck_assert_int_eq(type->sizes[0], 2);
    ck_assert(type->sizes[1] == MLIR_DYNAMIC);
    ck_assert_int_eq(type->sizes[2], 0);
    ck_assert_int_eq(type->element->kind, MLIR_COMPLEX);
    ck_assert_int_eq(type->element->element_type, TYPE_C64);
    ck_assert_ptr_null(type->encoding);
    mlir_file_destroy(file);

    type = read_type("tensor<f64>", &file);
    ck_assert_int_eq(type->rank, 0);
    mlir_file_destroy(file);

    /* Dimensions that begin like hex digits. */
    type = read_type("tensor<0x4x0x1xi8>", &file);
    ck_assert_int_eq(type->rank, 4);
    ck_assert_int_eq(type->sizes[1], 4);
    mlir_file_destroy(file);

    type = read_type("tensor<*xbf16>", &file);
    ck_assert_int_eq(type->kind, MLIR_UNRANKED);
    ck_assert_int_eq(type->element->element_type, TYPE_BF16);
    mlir_file_destroy(file);

    type = read_type("tensor<3x?xf32, #stablehlo.bounds<?, 7>>", &file);
    ck_assert_str_eq(type->encoding->dialect.mnemonic, "type_extensions");
    struct ints bounds = mlir_get(&type->encoding->dialect.parameters, "bounds")->ints;
    ck_assert_int_eq(bounds.count, 2);
    ck_assert(bounds.values[0] == MLIR_DYNAMIC && bounds.values[1] == 7);
    mlir_file_destroy(file);

    type = read_type("memref<2x3xf32, strided<[3, 1], offset: 2>, 1 : i32>", &file);
    ck_assert_int_eq(type->kind, MLIR_MEMREF);
    ck_assert_str_eq(type->encoding->string.data, "strided<[3, 1], offset: 2>, 1 : i32");
    mlir_file_destroy(file);
}
END_TEST

START_TEST(compound)
{
    struct mlir_file *file;
    const struct mlir_type *type = read_type("(i32, f32) -> (() -> (), i8)", &file);
    ck_assert_int_eq(type->kind, MLIR_FUNCTION);
    ck_assert_int_eq(type->count, 2);
    ck_assert_int_eq(type->result_count, 2);
    ck_assert_int_eq(type->types[1]->element_type, TYPE_F32);
    ck_assert_int_eq(type->types[2]->kind, MLIR_FUNCTION);
    ck_assert_int_eq(type->types[2]->count + type->types[2]->result_count, 0);
    ck_assert_int_eq(type->types[3]->width, 8);
    mlir_file_destroy(file);

    type = read_type("tuple<i1, tuple<>, tensor<2xi8>>", &file);
    ck_assert_int_eq(type->kind, MLIR_TUPLE);
    ck_assert_int_eq(type->count, 3);
    ck_assert_int_eq(type->types[1]->count, 0);
    mlir_file_destroy(file);

    type = read_type("!stablehlo.future<tensor<2xi8>, tensor<f32>>", &file);
    ck_assert_int_eq(type->kind, MLIR_FUTURE);
    ck_assert_int_eq(type->count, 2);
    mlir_file_destroy(file);

    type = read_type("!other.type<a [b, <c>] \"> x\" (d) -> e>", &file);
    ck_assert_int_eq(type->kind, MLIR_OTHER_TYPE);
    ck_assert_str_eq(type->name, "!other.type<a [b, <c>] \"> x\" (d) -> e>");
    mlir_file_destroy(file);
}
END_TEST

START_TEST(interned)
{
    struct mlir_file *file = read_mlir("!t = tensor<2xf32>\n"
                                       "\"a.b\"() {a = !t, b = tensor<2xf32>, c = tensor< 2xf32 >,"
                                       " d = tensor<2xf32, \"x\">} : () -> ()");
    const struct mlir_op *op = op_at(file, 0);
    const struct mlir_type *type = mlir_op_attr(op, "a")->type;
    ck_assert_ptr_eq(type, mlir_op_attr(op, "b")->type);
    ck_assert_ptr_eq(type, mlir_op_attr(op, "c")->type);
    ck_assert_ptr_ne(type, mlir_op_attr(op, "d")->type);
    mlir_file_destroy(file);
}
END_TEST

/* The second time a type is looked up by its text. */
START_TEST(repeated)
{
    struct mlir_file *file = read_mlir("\"a.b\"() {a = tensor<2x4xf32>, b = tensor<2x4xf32>,"
                                       " c = tensor<2x4xf64>} : () -> ()");
    const struct mlir_op *op = op_at(file, 0);
    ck_assert_ptr_eq(mlir_op_attr(op, "a")->type, mlir_op_attr(op, "b")->type);
    ck_assert_int_eq(mlir_op_attr(op, "c")->type->element->element_type, TYPE_F64);
    mlir_file_destroy(file);
}
END_TEST

START_TEST(quantized_per_tensor)
{
    struct mlir_file *file;
    const struct mlir_type *type = read_type("!quant.uniform<i8:f32, 0.5:-3>", &file);
    const struct mlir_quantized *quantized = type->quantized;
    ck_assert_int_eq(type->kind, MLIR_QUANTIZED);
    ck_assert_int_eq(type->element_type, TYPE_S8);
    ck_assert_int_eq(quantized->storage->width, 8);
    ck_assert_int_eq(quantized->expressed->element_type, TYPE_F32);
    ck_assert(quantized->minimum == -128 && quantized->maximum == 127);
    ck_assert(quantized->axis_count == 0 && quantized->rank == 1 && quantized->count == 1);
    ck_assert(quantized->scales[0] == 0.5 && quantized->zero_points[0] == -3);
    mlir_file_destroy(file);

    type = read_type("!quant.uniform<u4<1:14>:bf16, 2.0e-3>", &file);
    quantized = type->quantized;
    ck_assert_int_eq(type->element_type, TYPE_U4);
    ck_assert(quantized->minimum == 1 && quantized->maximum == 14);
    ck_assert(quantized->scales[0] == 2.0e-3 && quantized->zero_points[0] == 0);
    mlir_file_destroy(file);

    type = read_type("tensor<2x!quant.uniform<i8:f32, 1.0>>", &file);
    ck_assert_int_eq(type->element->kind, MLIR_QUANTIZED);
    mlir_file_destroy(file);

    /* Not known: text. */
    type = read_type("!quant.calibrated<f32<-1.0:1.0>>", &file);
    ck_assert_int_eq(type->kind, MLIR_OTHER_TYPE);
    mlir_file_destroy(file);
    type = read_type("!quant.uniform<f8E5M2:f32, 1.0>", &file);
    ck_assert_int_eq(type->kind, MLIR_OTHER_TYPE);
    mlir_file_destroy(file);
}
END_TEST

START_TEST(quantized_per_axis)
{
    struct mlir_file *file;
    const struct mlir_quantized *quantized =
        read_type("!quant.uniform<i8:f32:1, {0.5:1, 0.25, 2.0:-7}>", &file)->quantized;
    ck_assert(quantized->axis_count == 1 && quantized->axes[0] == 1);
    ck_assert(quantized->block_sizes[0] == 0 && quantized->rank == 1);
    ck_assert(quantized->counts[0] == 3 && quantized->count == 3);
    ck_assert(quantized->scales[1] == 0.25 && quantized->zero_points[1] == 0);
    ck_assert(quantized->scales[2] == 2.0 && quantized->zero_points[2] == -7);
    mlir_file_destroy(file);

    quantized =
        read_type("!quant.uniform<i8:f32:{0:1, 1:2}, {{1.0:1, 2.0}, {3.0, 4.0:4}, {5.0, 6.0}}>",
                  &file)
            ->quantized;
    ck_assert(quantized->axis_count == 2 && quantized->axes[1] == 1);
    ck_assert(quantized->block_sizes[0] == 1 && quantized->block_sizes[1] == 2);
    ck_assert(quantized->rank == 2 && quantized->counts[0] == 3 && quantized->counts[1] == 2);
    ck_assert(quantized->count == 6 && quantized->scales[3] == 4.0);
    ck_assert(quantized->zero_points[3] == 4 && quantized->scales[5] == 6.0);
    mlir_file_destroy(file);
}
END_TEST

START_TEST(refused)
{
    refuse_attr("tensor<2x>", 10, "a type");
    refuse_attr("tensor<-1xf32>", 8, "a type");
    refuse_attr("tensor<2x3>", 11, "'x' behind a dimension");
    refuse_attr("tensor<2xnone>", 10, "nothing can have");
    refuse_attr("tensor<99999999999999999999xf32>", 8, "63 bits");
    refuse_attr("tensor<4294967296x4294967296xf32>", 8, "2^63");
    refuse_attr("i99999999", 1, "bits");
    refuse_attr("complex<index>", 9, "complex numbers");
    refuse_attr("(i32, ) -> i32", 7, "a type");
    refuse_attr("!undefined", 1, "not defined");
    refuse_attr("!other.type<(>", 14, "closes no bracket");
    refuse_attr("!quant.uniform<i64:f32, 1.0>", 16, "at most 32 bits");
    refuse_attr("!quant.uniform<i8<-129:0>:f32, 1.0>", 16, "beyond");
    refuse_attr("!quant.uniform<i8:f32, -1.0>", 24, "positive");
    refuse_attr("!quant.uniform<i8:f32, 0.0>", 24, "positive");
    refuse_attr("!quant.uniform<i8:f32:{0:1, 1:1}, {{1.0}, {1.0, 2.0}}>", 43, "different lengths");
    refuse_attr("!quant.uniform<i8:i32, 1.0>", 19, "float type");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mlir_text_types");
    TCase *type_case = tcase_create("types");
    tcase_add_test(type_case, scalars);
    tcase_add_test(type_case, tensors);
    tcase_add_test(type_case, compound);
    tcase_add_test(type_case, interned);
    tcase_add_test(type_case, repeated);
    tcase_add_test(type_case, quantized_per_tensor);
    tcase_add_test(type_case, quantized_per_axis);
    tcase_add_test(type_case, refused);
    suite_add_tcase(suite, type_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
