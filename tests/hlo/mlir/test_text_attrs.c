/* Attributes of MLIR text, field by field. Bits of floats are those of IEEE 754 and of the types'
 * own papers, written out. */
#include "tests/hlo/mlir/mlir_text.h"

static void check_int(const char *text, int64_t value, int width, enum mlir_attr_kind kind)
{
    struct mlir_file *file;
    const struct mlir_attr *attr = read_attr(text, &file);
    ck_assert_msg(attr->kind == kind && attr->integer == value && attr->type->width == width,
                  "%s: %lld", text, (long long)attr->integer);
    mlir_file_destroy(file);
}

START_TEST(integers)
{
    check_int("0", 0, 64, MLIR_ATTR_INT);
    check_int("-9223372036854775808", INT64_MIN, 64, MLIR_ATTR_INT);
    check_int("18446744073709551615", -1, 64, MLIR_ATTR_INT);
    check_int("0xFF : i32", 255, 32, MLIR_ATTR_INT);
    check_int("255 : i8", -1, 8, MLIR_ATTR_INT);
    check_int("-128 : si8", -128, 8, MLIR_ATTR_INT);
    check_int("255 : ui8", 255, 8, MLIR_ATTR_INT);
    check_int("18446744073709551615 : ui64", -1, 64, MLIR_ATTR_INT);
    check_int("-5 : index", -5, 64, MLIR_ATTR_INT);
    check_int("7 : i3", -1, 3, MLIR_ATTR_INT);
    check_int("true", 1, 1, MLIR_ATTR_BOOL);
    check_int("false", 0, 1, MLIR_ATTR_BOOL);
    check_int("-1 : i1", 1, 1, MLIR_ATTR_BOOL);
    refuse_attr("256 : i8", 1, "range");
    refuse_attr("-129 : i8", 1, "range");
    refuse_attr("128 : si8", 1, "range");
    refuse_attr("-1 : ui8", 1, "range");
    refuse_attr("18446744073709551616", 1, "range");
    refuse_attr("9223372036854775808 : index", 1, "range");
    refuse_attr("1.0 : i32", 1, "float");
    refuse_attr("1 : none", 1, "type that has none");
}
END_TEST

static void check_float(const char *text, uint64_t bits)
{
    struct mlir_file *file;
    const struct mlir_attr *attr = read_attr(text, &file);
    uint64_t read;
    memcpy(&read, &attr->number, sizeof read);
    ck_assert_msg(attr->kind == MLIR_ATTR_FLOAT && read == bits, "%s: %016llx", text,
                  (unsigned long long)read);
    mlir_file_destroy(file);
}

START_TEST(floats)
{
    /* Bits of the value as a double. */
    check_float("1.0", 0x3ff0000000000000);
    check_float("-0.0", 0x8000000000000000);
    check_float("1.", 0x3ff0000000000000);
    check_float("2.5E+1", 0x4039000000000000);
    check_float("0.1", 0x3fb999999999999a);
    check_float("0.1 : f32", 0x3fb99999a0000000);
    check_float("0.1 : bf16", 0x3fb9a00000000000);
    check_float("0.1 : f8E5M2", 0x3fb8000000000000); /* 0.09375 */
    check_float("1.0e39 : f32", 0x7ff0000000000000);
    check_float("-1.0e400", 0xfff0000000000000);
    check_float("0x7F800000 : f32", 0x7ff0000000000000);
    check_float("0xFF800000 : f32", 0xfff0000000000000);
    check_float("0x3C00 : f16", 0x3ff0000000000000);
    check_float("0x3FF0000000000000 : f64", 0x3ff0000000000000);
    refuse_attr("1 : f32", 1, "integer where a float");
    refuse_attr("-0x3C00 : f16", 1, "bits");
    refuse_attr("0x10000 : f16", 1, "bits");
}
END_TEST

START_TEST(strings)
{
    struct mlir_file *file;
    const struct mlir_attr *attr = read_attr("\"a\\n\\t\\\\\\22\\00z\\C3\\A9\\\"\"", &file);
    static const char expected[] = "a\n\t\\\"\0z\xc3\xa9\"";
    ck_assert_int_eq(attr->kind, MLIR_ATTR_STRING);
    ck_assert_uint_eq(attr->string.size, sizeof expected - 1);
    ck_assert_mem_eq(attr->string.data, expected, sizeof expected);
    ck_assert_ptr_null(attr->type);
    mlir_file_destroy(file);
    refuse_attr("\"a", 1, "end of the string");
    refuse_attr("\"a\n\"", 1, "end of the string");
    refuse_attr("\"a\\q\"", 3, "escape");
}
END_TEST

START_TEST(compound)
{
    struct mlir_file *file;
    const struct mlir_attr *attr = read_attr("[1, unit, {z, a = [], m.n = @f::@\"g h\"}]", &file);
    ck_assert_int_eq(attr->kind, MLIR_ATTR_ARRAY);
    ck_assert_int_eq(attr->array.count, 3);
    ck_assert_int_eq(attr->array.elements[1]->kind, MLIR_ATTR_UNIT);
    const struct mlir_dictionary *dictionary = &attr->array.elements[2]->dictionary;
    ck_assert_int_eq(dictionary->count, 3);
    ck_assert_str_eq(dictionary->entries[0].key, "a");
    ck_assert_str_eq(dictionary->entries[1].key, "m.n");
    ck_assert_str_eq(dictionary->entries[2].key, "z");
    ck_assert_int_eq(dictionary->entries[0].value->array.count, 0);
    const struct mlir_attr *symbol = dictionary->entries[1].value;
    ck_assert_int_eq(symbol->kind, MLIR_ATTR_SYMBOL);
    ck_assert_str_eq(symbol->string.data, "f");
    ck_assert_int_eq(symbol->nested_count, 1);
    ck_assert_str_eq(symbol->nested[0], "g h");
    mlir_file_destroy(file);
    refuse_attr("{x, y, x}", 8, "given twice");
    refuse_attr("[1 2]", 4, "']'");
    refuse_attr("{\"\" = 1}", 2, "empty");
    refuse_attr("@", 2, "symbol name");
    refuse_attr("#nothing", 1, "not defined");
}
END_TEST

/* A dictionary of many keys, which are sorted at once; two of one name among them. */
START_TEST(many_keys)
{
    struct text text;
    text_init(&text);
    text_append(&text, "{");
    for (int i = 99; i >= 0; i--) {
        text_printf(&text, "k%02d = %d%s", i, i, i > 0 ? ", " : "");
    }
    text_append(&text, "}");
    struct mlir_file *file;
    const struct mlir_attr *attr = read_attr(text.data, &file);
    ck_assert_int_eq(attr->dictionary.count, 100);
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(attr->dictionary.entries[i].value->integer, i);
    }
    mlir_file_destroy(file);
    text.data[text.size - 1] = ',';
    text_append(&text, " k50}");
    refuse_attr(text.data, (int)text.size - 3, "'k50' is given twice");
    text_finish(&text);
}
END_TEST

static void check_data(const char *text, enum mlir_attr_kind kind, int64_t count, bool splat,
                       const void *data, size_t size)
{
    struct mlir_file *file;
    const struct mlir_attr *attr = read_attr(text, &file);
    ck_assert_msg(attr->kind == kind && attr->dense.count == count && attr->dense.splat == splat,
                  "%s", text);
    ck_assert_msg(memcmp(attr->dense.data, data, size) == 0, "%s", text);
    mlir_file_destroy(file);
}
#define CHECK_DENSE(text, count, splat, element, ...)                       \
    do {                                                                    \
        element data[] = {__VA_ARGS__};                                     \
        check_data(text, MLIR_ATTR_DENSE, count, splat, data, sizeof data); \
    } while (0)

START_TEST(dense_lists)
{
    CHECK_DENSE("dense<[[1, -2, 3], [4, 5, 2147483647]]> : tensor<2x3xi32>", 6, false, int32_t, 1,
                -2, 3, 4, 5, INT32_MAX);
    CHECK_DENSE("dense<[0x10, 200]> : tensor<2xi8>", 2, false, uint8_t, 0x10, 200);
    CHECK_DENSE("dense<[18446744073709551615]> : tensor<1xui64>", 1, false, uint64_t, UINT64_MAX);
    CHECK_DENSE("dense<[-8, 7, 15]> : tensor<3xi4>", 3, false, int8_t, -8, 7, -1);
    CHECK_DENSE("dense<[15, 0]> : tensor<2xui4>", 2, false, uint8_t, 15, 0);
    CHECK_DENSE("dense<[true, false, 1]> : tensor<3xi1>", 3, false, uint8_t, 1, 0, 1);
    CHECK_DENSE("dense<[1.5, 0x7F800001, -0.0]> : tensor<3xf32>", 3, false, uint32_t, 0x3fc00000,
                0x7f800001, 0x80000000);
    CHECK_DENSE("dense<[0.1]> : tensor<1xf64>", 1, false, uint64_t, 0x3fb999999999999a);
    CHECK_DENSE("dense<[0.1, 0x7FC1]> : tensor<2xbf16>", 2, false, uint16_t, 0x3dcd, 0x7fc1);
    CHECK_DENSE("dense<[448.0, 0.5]> : tensor<2xf8E4M3FN>", 2, false, uint8_t, 0x7e, 0x30);
    CHECK_DENSE("dense<[6.0, -0.5]> : tensor<2xf4E2M1FN>", 2, false, uint8_t, 0x7, 0x9);
    CHECK_DENSE("dense<[(1.0, 2.0), (0x7FC00000, -1.0)]> : tensor<2xcomplex<f32>>", 2, false,
                uint32_t, 0x3f800000, 0x40000000, 0x7fc00000, 0xbf800000);
    CHECK_DENSE("dense<[1, 2]> : vector<2xindex>", 2, false, int64_t, 1, 2);
    check_data("dense<[[], []]> : tensor<2x0xi8>", MLIR_ATTR_DENSE, 0, false, "", 0);
    check_data("dense<> : tensor<2x0xi8>", MLIR_ATTR_DENSE, 0, false, "", 0);
}
END_TEST

START_TEST(dense_splats)
{
    CHECK_DENSE("dense<7> : tensor<3x4xi16>", 12, true, int16_t, 7);
    CHECK_DENSE("dense<-1> : tensor<i64>", 1, true, int64_t, -1);
    CHECK_DENSE("dense<true> : tensor<5xi1>", 5, true, uint8_t, 1);
    CHECK_DENSE("dense<(1.0, -2.0)> : tensor<9xcomplex<f64>>", 9, true, double, 1.0, -2.0);
    CHECK_DENSE("dense<1.0> : tensor<1000000x1000000xf32>", 1000000000000, true, float, 1.0f);
}
END_TEST

START_TEST(dense_hex)
{
    CHECK_DENSE("dense<\"0x01000000FFffFFFF\"> : tensor<2xi32>", 2, false, int32_t, 1, -1);
    CHECK_DENSE("dense<\"0x0000803F\"> : tensor<4xf32>", 4, true, float, 1.0f);
    CHECK_DENSE("dense<\"0x0F01\"> : tensor<2xi4>", 2, false, int8_t, -1, 1);
    CHECK_DENSE("dense<\"0x0F01\"> : tensor<2xui4>", 2, false, uint8_t, 15, 1);
    /* i1: in bytes; packed, as it was; one byte for all. */
    CHECK_DENSE("dense<\"0x00FF01\"> : tensor<3xi1>", 3, false, uint8_t, 0, 1, 1);
    CHECK_DENSE("dense<\"0x0503\"> : tensor<10xi1>", 10, false, uint8_t, 1, 0, 1, 0, 0, 0, 0, 0, 1,
                1);
    CHECK_DENSE("dense<\"0xFF\"> : tensor<100xi1>", 100, true, uint8_t, 1);
    CHECK_DENSE("dense<\"0x0000803F00000040\"> : tensor<1xcomplex<f32>>", 1, false, float, 1.0f,
                2.0f);
    refuse_attr("dense<\"0x010\"> : tensor<2xi8>", 7, "pairs");
    refuse_attr("dense<\"0x01G0\"> : tensor<2xi8>", 7, "pairs");
    refuse_attr("dense<\"01\"> : tensor<1xi8>", 7, "0x");
    refuse_attr("dense<\"0x010203\"> : tensor<2xi8>", 7, "3 bytes");
}
END_TEST

START_TEST(dense_refused)
{
    refuse_attr("dense<[1, 2]> : tensor<3xi32>", 12, "more elements");
    refuse_attr("dense<[1, 2, 3]> : tensor<2xi32>", 12, "no more elements");
    refuse_attr("dense<[[1, 2], [3]]> : tensor<2x2xi32>", 18, "more elements");
    refuse_attr("dense<[1]> : tensor<i32>", 7, "one element");
    refuse_attr("dense<> : tensor<2xi32>", 7, "no elements");
    refuse_attr("dense<[300]> : tensor<1xi8>", 8, "range");
    refuse_attr("dense<[-1]> : tensor<1xui8>", 8, "range");
    refuse_attr("dense<[1]> : tensor<1xf32>", 8, "float is expected");
    refuse_attr("dense<[1.0]> : tensor<1xi32>", 8, "integer is expected");
    refuse_attr("dense<[true]> : tensor<1xi8>", 8, "i1 only");
    refuse_attr("dense<1> : tensor<?xi32>", 10, "dynamic");
    refuse_attr("dense<1> : i32", 10, "neither");
    refuse_attr("dense<[1, 2]> : tensor<9223372036854775807xi32>", 7, "fewer");
    refuse_attr("dense<1> : tensor<1xi128>", 7, "not supported");
    refuse("\"a.b\"() {a = dense<1}", 1, 20, "'>'");
    refuse_attr("dense<(1.0)> : tensor<1xcomplex<f32>>", 11, "','");
}
END_TEST

START_TEST(sparse)
{
    CHECK_DENSE("sparse<[[0, 1], [1, 2]], [5, -6]> : tensor<2x3xi32>", 6, false, int32_t, 0, 5, 0,
                0, 0, -6);
    CHECK_DENSE("sparse<[[1], [3]], 2.0> : tensor<4xf32>", 4, false, float, 0, 2, 0, 2);
    CHECK_DENSE("sparse<1, 7> : tensor<2x2xi8>", 4, false, int8_t, 0, 0, 0, 7);
    CHECK_DENSE("sparse<> : tensor<3xi16>", 3, true, int16_t, 0);
    refuse_attr("sparse<[[0, 3]], 1> : tensor<2x3xi32>", 13, "beyond the shape");
    refuse_attr("sparse<[[0], [1]], [1]> : tensor<3xi32>", 22, "','");
    refuse_attr("sparse<[[0]], [1, 2]> : tensor<3xi32>", 17, "']'");
    refuse_attr("sparse<[[0]], [1]> : tensor<9999999999999xi32>", 8, "bytes");
}
END_TEST

START_TEST(arrays)
{
    struct mlir_file *file;
    const struct mlir_attr *attr = read_attr("array<i64: 1, -2, 9223372036854775807>", &file);
    ck_assert_int_eq(attr->kind, MLIR_ATTR_INTS);
    ck_assert_int_eq(attr->type->width, 64);
    ck_assert_int_eq(attr->ints.count, 3);
    ck_assert(attr->ints.values[1] == -2 && attr->ints.values[2] == INT64_MAX);
    mlir_file_destroy(file);
    attr = read_attr("array<i1: true, false>", &file);
    ck_assert_int_eq(attr->type->width, 1);
    ck_assert(attr->ints.count == 2 && attr->ints.values[0] == 1 && attr->ints.values[1] == 0);
    mlir_file_destroy(file);
    attr = read_attr("array<f32: 0.5, -1.0>", &file);
    ck_assert_int_eq(attr->kind, MLIR_ATTR_FLOATS);
    ck_assert(attr->floats.count == 2 && attr->floats.values[1] == -1.0);
    mlir_file_destroy(file);
    attr = read_attr("array<i32>", &file);
    ck_assert(attr->kind == MLIR_ATTR_INTS && attr->ints.count == 0);
    mlir_file_destroy(file);
    refuse_attr("array<i3: 1>", 7, "can have");
    refuse_attr("array<i64:>", 11, "a number");
}
END_TEST

START_TEST(string_elements)
{
    struct mlir_file *file;
    const struct mlir_attr *attr =
        read_attr("dense<[[\"a\", \"> \\22\"]]> : tensor<1x2x!tf.string>", &file);
    ck_assert_int_eq(attr->kind, MLIR_ATTR_STRINGS);
    ck_assert(attr->strings.count == 2 && !attr->strings.splat);
    ck_assert_str_eq(attr->strings.values[1].data, "> \"");
    mlir_file_destroy(file);
    attr = read_attr("dense<\"0x1\"> : tensor<3x!tf.string>", &file);
    ck_assert(attr->strings.count == 3 && attr->strings.splat);
    ck_assert_str_eq(attr->strings.values[0].data, "0x1");
    mlir_file_destroy(file);
}
END_TEST

START_TEST(resources)
{
    struct mlir_file *file = read_mlir(
        "\"a.b\"() {a = dense_resource<k> : tensor<2xi16>, b = dense_resource<__elided__> : "
        "tensor<8xf32>, c = dense_resource<\"x y\"> : tensor<9xi1>} : () -> ()\n"
        "{-# dialect_resources: { builtin: { k: \"0x0800000001000200\", \"x y\": "
        "\"0x010000000501\" }, other: {k: \"0x00\"} }, external_resources: {a: {b: \"c\"}} #-}");
    const struct mlir_op *op = op_at(file, 0);
    const struct mlir_attr *attr = mlir_op_attr(op, "a");
    ck_assert(attr->kind == MLIR_ATTR_DENSE && attr->dense.count == 2 && !attr->dense.splat);
    ck_assert_mem_eq(attr->dense.data, ((int16_t[]){1, 2}), 4);
    attr = mlir_op_attr(op, "b");
    ck_assert_int_eq(attr->kind, MLIR_ATTR_RESOURCE);
    ck_assert_str_eq(attr->string.data, "__elided__");
    ck_assert_int_eq(attr->type->sizes[0], 8);
    attr = mlir_op_attr(op, "c");
    ck_assert_mem_eq(attr->dense.data, ((uint8_t[]){1, 0, 1, 0, 0, 0, 0, 0, 1}), 9);
    mlir_file_destroy(file);

    /* One blob as several types, and one that is used often. */
    file = read_mlir("\"a.b\"() {a = dense_resource<k> : tensor<2xi16>, b = dense_resource<k> : "
                     "tensor<4xi8>, c = dense_resource<k> : tensor<2xi16>} : () -> ()\n"
                     "{-# dialect_resources: { builtin: { k: \"0x0800000001000200\" } } #-}");
    op = op_at(file, 0);
    ck_assert_mem_eq(mlir_op_attr(op, "b")->dense.data, ((int8_t[]){1, 0, 2, 0}), 4);
    ck_assert_mem_eq(mlir_op_attr(op, "c")->dense.data, ((int16_t[]){1, 2}), 4);
    mlir_file_destroy(file);

    refuse("\"a.b\"() {a = dense_resource<k> : tensor<3xi16>} : () -> ()\n"
           "{-# dialect_resources: { builtin: { k: \"0x0800000001000200\" } } #-}",
           1, 29, "4 bytes");
    refuse("{-# dialect_resources: { builtin: { k: \"0x08\" } } #-}", 1, 40, "alignment");
    refuse("{-# dialect_resources: { builtin: { k: \"0x08000000\", k: \"0x08000000\" } } #-}", 1,
           57, "twice");
    refuse("{-# dialect_resources: { builtin: { k: \"0x08000000\" } }", 1, 56, "'#-}'");
}
END_TEST

START_TEST(aliases)
{
    struct mlir_file *file = read_mlir("#a = [1, 2]\n#b = {x = #a}\n!t = tensor<2xi8>\n"
                                       "\"a.b\"() {b = #b, t = !t, l = loc(#l)} : () -> ()\n"
                                       "#c = 1\n#l = loc(\"x\")\n");
    const struct mlir_op *op = op_at(file, 0);
    ck_assert_int_eq(mlir_get(&mlir_op_attr(op, "b")->dictionary, "x")->array.count, 2);
    ck_assert_int_eq(mlir_op_attr(op, "t")->type->sizes[0], 2);
    ck_assert_str_eq(mlir_op_attr(op, "l")->location->text, "x");
    mlir_file_destroy(file);
    refuse("#a = 1\n#a = 2", 2, 1, "twice");
    refuse("#a.b = 1", 1, 1, "'.'");
    refuse("!a = 1", 1, 6, "a type");
}
END_TEST

static const struct mlir_attr *parameter(const struct mlir_attr *attr, const char *name)
{
    ck_assert_int_eq(attr->kind, MLIR_ATTR_DIALECT);
    const struct mlir_attr *value = mlir_get(&attr->dialect.parameters, name);
    ck_assert_msg(value != NULL, "%s", name);
    return value;
}

static void check_ints(const struct mlir_attr *attr, const char *name, int count,
                       const int64_t *values)
{
    const struct mlir_attr *ints = parameter(attr, name);
    ck_assert_int_eq(ints->kind, MLIR_ATTR_INTS);
    ck_assert_int_eq(ints->ints.count, count);
    ck_assert(count == 0 || memcmp(ints->ints.values, values, (size_t)count * sizeof *values) == 0);
}

START_TEST(stablehlo_numbers)
{
    struct mlir_file *file;
    const struct mlir_attr *attr = read_attr(
        "#stablehlo.gather<start_index_map = [1, 0], offset_dims = [2], index_vector_dim = 3>",
        &file);
    ck_assert_str_eq(attr->dialect.dialect, "stablehlo");
    ck_assert_str_eq(attr->dialect.mnemonic, "gather");
    ck_assert_ptr_null(attr->dialect.word);
    ck_assert_int_eq(attr->dialect.parameters.count, 6);
    check_ints(attr, "start_index_map", 2, (int64_t[]){1, 0});
    check_ints(attr, "offset_dims", 1, (int64_t[]){2});
    check_ints(attr, "operand_batching_dims", 0, NULL);
    ck_assert_int_eq(parameter(attr, "index_vector_dim")->integer, 3);
    mlir_file_destroy(file);

    attr = read_attr("#stablehlo.scatter<>", &file);
    ck_assert_int_eq(attr->dialect.parameters.count, 6);
    ck_assert_int_eq(parameter(attr, "index_vector_dim")->integer, 0);
    mlir_file_destroy(file);

    attr = read_attr("#stablehlo.conv<[f, 1, b, 0]x[o, 0, i, 1]->[0, 1, b, f]>", &file);
    ck_assert_int_eq(parameter(attr, "input_batch_dimension")->integer, 2);
    ck_assert_int_eq(parameter(attr, "input_feature_dimension")->integer, 0);
    check_ints(attr, "input_spatial_dimensions", 2, (int64_t[]){3, 1});
    ck_assert_int_eq(parameter(attr, "kernel_input_feature_dimension")->integer, 2);
    ck_assert_int_eq(parameter(attr, "kernel_output_feature_dimension")->integer, 0);
    check_ints(attr, "kernel_spatial_dimensions", 2, (int64_t[]){1, 3});
    ck_assert_int_eq(parameter(attr, "output_batch_dimension")->integer, 2);
    check_ints(attr, "output_spatial_dimensions", 2, (int64_t[]){0, 1});
    mlir_file_destroy(file);

    attr = read_attr("#stablehlo.conv<raw input_batch_dimension = 5, kernel_spatial_dimensions = "
                     "[1, 1]>",
                     &file);
    ck_assert_int_eq(parameter(attr, "input_batch_dimension")->integer, 5);
    check_ints(attr, "kernel_spatial_dimensions", 2, (int64_t[]){1, 1});
    ck_assert_int_eq(parameter(attr, "output_feature_dimension")->integer, 0);
    mlir_file_destroy(file);

    refuse_attr("#stablehlo.conv<[b, f, 1]x[i, o]->[b, f]>", 17, "not all");
    refuse_attr("#stablehlo.conv<[b, b]x[i, o]->[b, f]>", 21, "twice");
    refuse_attr("#stablehlo.gather<offset = [1]>", 19, "no parameter");
    refuse_attr("#stablehlo.gather<index_vector_dim = 1, index_vector_dim = 1>", 41, "twice");
    refuse_attr("#stablehlo.channel_handle<handle = 1>", 27, "without its 'type'");
}
END_TEST

START_TEST(stablehlo_words)
{
    static const struct {
        const char *text, *dialect, *mnemonic, *word;
    } rows[] = {
        {"#stablehlo<precision HIGHEST>", "stablehlo", "precision", "HIGHEST"},
        {"#stablehlo<comparison_direction NE>", "stablehlo", "comparison_direction", "NE"},
        {"#stablehlo.result_accuracy_mode<TOLERANCE>", "stablehlo", "result_accuracy_mode",
         "TOLERANCE"},
        {"#chlo<comparison_type FLOAT>", "chlo", "comparison_type", "FLOAT"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct mlir_file *file;
        const struct mlir_attr *attr = read_attr(rows[i].text, &file);
        ck_assert_int_eq(attr->kind, MLIR_ATTR_DIALECT);
        ck_assert_str_eq(attr->dialect.dialect, rows[i].dialect);
        ck_assert_str_eq(attr->dialect.mnemonic, rows[i].mnemonic);
        ck_assert_str_eq(attr->dialect.word, rows[i].word);
        mlir_file_destroy(file);
    }
}
END_TEST

START_TEST(stablehlo_others)
{
    struct mlir_file *file;
    const struct mlir_attr *attr =
        read_attr("#stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = bf16, "
                  "accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 2, "
                  "num_primitive_operations = 3, allow_imprecise_accumulation = true>",
                  &file);
    ck_assert_str_eq(parameter(attr, "lhs_precision_type")->type->name, "tf32");
    ck_assert_int_eq(parameter(attr, "rhs_component_count")->integer, 2);
    ck_assert_int_eq(parameter(attr, "allow_imprecise_accumulation")->kind, MLIR_ATTR_BOOL);
    mlir_file_destroy(file);

    attr = read_attr("#stablehlo.result_accuracy<atol = 0.5, rtol = 0.0, ulps = 5, mode = "
                     "#stablehlo.result_accuracy_mode<HIGHEST>>",
                     &file);
    ck_assert(parameter(attr, "atol")->number == 0.5);
    ck_assert_int_eq(parameter(attr, "ulps")->integer, 5);
    ck_assert_str_eq(parameter(attr, "mode")->dialect.word, "HIGHEST");
    mlir_file_destroy(file);

    attr = read_attr("#stablehlo.replica_group_mesh_axes<mesh = @m, axes = [#stablehlo.axis_ref<"
                     "name = \"x\", sub_axis_info = (2)4>]>",
                     &file);
    ck_assert_int_eq(parameter(attr, "mesh")->kind, MLIR_ATTR_SYMBOL);
    const struct mlir_attr *axis = parameter(attr, "axes")->array.elements[0];
    ck_assert_str_eq(parameter(axis, "name")->string.data, "x");
    ck_assert_int_eq(parameter(parameter(axis, "sub_axis_info"), "pre_size")->integer, 2);
    ck_assert_int_eq(parameter(parameter(axis, "sub_axis_info"), "size")->integer, 4);
    mlir_file_destroy(file);

    attr = read_attr("#stablehlo.mesh<axes = [<name = \"x\", size = 2>]>", &file);
    ck_assert_int_eq(parameter(parameter(attr, "axes")->array.elements[0], "size")->integer, 2);
    mlir_file_destroy(file);
}
END_TEST

START_TEST(kept_as_text)
{
    static const char *const texts[] = {
        "affine_map<(d0, d1) -> (d0 + d1)>",
        "affine_set<(d0) : (d0 >= 0)>",
        "#sdy.sharding<@mesh, [{\"x\"}, {?}]>",
        "#mhlo.type<a -> b, [(c)]>",
        "#other<word \"> \\\" >\" <>>",
        "strided<[2, 1], offset: ?>",
        "#other.word",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct mlir_file *file;
        const struct mlir_attr *attr = read_attr(texts[i], &file);
        ck_assert_int_eq(attr->kind, MLIR_ATTR_OTHER);
        ck_assert_str_eq(attr->string.data, texts[i]);
        mlir_file_destroy(file);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mlir_text_attrs");
    TCase *attr_case = tcase_create("attributes");
    tcase_add_test(attr_case, integers);
    tcase_add_test(attr_case, floats);
    tcase_add_test(attr_case, strings);
    tcase_add_test(attr_case, compound);
    tcase_add_test(attr_case, many_keys);
    tcase_add_test(attr_case, dense_lists);
    tcase_add_test(attr_case, dense_splats);
    tcase_add_test(attr_case, dense_hex);
    tcase_add_test(attr_case, dense_refused);
    tcase_add_test(attr_case, sparse);
    tcase_add_test(attr_case, arrays);
    tcase_add_test(attr_case, string_elements);
    tcase_add_test(attr_case, resources);
    tcase_add_test(attr_case, aliases);
    tcase_add_test(attr_case, stablehlo_numbers);
    tcase_add_test(attr_case, stablehlo_words);
    tcase_add_test(attr_case, stablehlo_others);
    tcase_add_test(attr_case, kept_as_text);
    suite_add_tcase(suite, attr_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
