/* Portable artifacts of StableHLO. What the serializer in jaxlib makes of our modules, in every
 * version that changed something, reads as the module's text does; what it cannot make yet (ops of
 * later versions) and what must be refused are tried op by op. */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/file.h"
#include "hlo/mlir/bytecode/vhlo.h"
#include "hlo/mlir/mlir_format.h"

static const char *fixtures(void)
{
    static char path[4096];
    const char *source = getenv("REFEREE_SOURCE");
    snprintf(path, sizeof path, "%s/tests/hlo/mlir/fixtures/vhlo", source != NULL ? source : ".");
    return path;
}

static char *read_fixture(const char *name, size_t *size)
{
    char path[8192];
    struct error err = {0};
    snprintf(path, sizeof path, "%s/%s", fixtures(), name);
    char *data = file_read(path, size, &err);
    if (data == NULL) {
        ck_abort_msg("%s", err.message);
    }
    return data;
}

/* --- artifacts --- */

static struct mlir_file *parse_fixture(const char *name)
{
    size_t size;
    struct error err = {0};
    char *text = read_fixture(name, &size);
    struct mlir_file *file = mlir_parse(text, size, name, 1, &err);
    if (file == NULL) {
        ck_abort_msg("%s:%d:%d: %s", name, err.line, err.column, err.message);
    }
    free(text);
    return file;
}

/* NAME.VERSION.bc is NAME.mlir. */
static void check_artifact(const char *name)
{
    char source[256];
    size_t size;
    struct error err = {0};
    snprintf(source, sizeof source, "%.*s.mlir", (int)strcspn(name, "."), name);
    struct mlir_file *expected = parse_fixture(source);
    char *data = read_fixture(name, &size);
    struct mlir_file *file = mlir_read_bytecode(data, size, name, &err);
    if (file == NULL) {
        ck_abort_msg("%s: %s", name, err.message);
    }
    char version[64];
    snprintf(version, sizeof version, "StableHLO_v%.*s",
             (int)(strlen(name) - strlen(source) + sizeof "mlir" - 1 - sizeof ".bc" + 1),
             name + strcspn(name, ".") + 1);
    ck_assert_str_eq(file->producer, version);
    if (!mlir_file_equal(expected, file, &err)) {
        ck_abort_msg("%s is not %s: %s", name, source, err.message);
    }
    mlir_file_destroy(file);
    mlir_file_destroy(expected);
    free(data);
}

START_TEST(test_artifacts)
{
    DIR *folder = opendir(fixtures());
    ck_assert_ptr_nonnull(folder);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length > 3 && strcmp(entry->d_name + length - 3, ".bc") == 0) {
            check_artifact(entry->d_name);
            count++;
        }
    }
    closedir(folder);
    ck_assert_int_ge(count, 50);
}
END_TEST

/* --- the table --- */

#define A(name, how, drop) name,
#define NONE
#define V(major, minor) \
    {                   \
        major, minor    \
    }
#define NOW          \
    {                \
        INT32_MAX, 0 \
    }
#define VHLO_OP(name, since, until, target, attributes) \
    {name, since, until, target, (const char *const[]){attributes NULL}},
static const struct row {
    const char *name;
    struct vhlo_version since, until;
    const char *target;
    const char *const *attrs;
} rows[] = {
#include "hlo/mlir/bytecode/vhlo.def"
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

/* "gather_v2" → 2, and the length of "gather". */
static int row_number(const struct row *row, size_t *length)
{
    const char *mark = strrchr(row->name, '_');
    ck_assert_msg(mark != NULL && mark[1] == 'v', "%s", row->name);
    *length = (size_t)(mark - row->name);
    return atoi(mark + 2);
}

/* Every version of an op ends where the next one begins, and the last one is today's. */
START_TEST(test_versions)
{
    for (int i = 0; i < ROW_COUNT; i++) {
        const struct row *row = &rows[i], *next = i + 1 < ROW_COUNT ? row + 1 : NULL;
        size_t length, next_length = 0;
        int number = row_number(row, &length);
        bool is_last = next == NULL || row_number(next, &next_length) == 1;
        ck_assert_msg(next == NULL || strcmp(row->name, next->name) < 0, "%s", row->name);
        ck_assert_str_eq(vhlo_find_op(row->name)->target, row->target);
        if (is_last) {
            ck_assert_msg(row->until.major == INT32_MAX, "%s", row->name);
        } else {
            ck_assert_msg(row_number(next, &next_length) == number + 1 && length == next_length &&
                              strncmp(row->name, next->name, length) == 0 &&
                              strcmp(row->target, next->target) == 0,
                          "%s", row->name);
            /* 0.20 was followed by 1.0. */
            bool is_next = next->since.major == row->until.major
                               ? next->since.minor == row->until.minor + 1
                               : row->until.minor == 20 && next->since.minor == 0;
            ck_assert_msg(is_next, "%s", row->name);
        }
        for (int j = 0; row->attrs[j] != NULL && row->attrs[j + 1] != NULL; j++) {
            ck_assert_msg(strcmp(row->attrs[j], row->attrs[j + 1]) < 0, "%s", row->name);
        }
    }
}
END_TEST

/* --- op by op --- */

/* Upgrades a module that has ops of vhlo with attributes of today, as the encodings of both give
 * them. */
static struct mlir_file *upgrade(const char *text, struct error *err)
{
    struct mlir_file *file = mlir_parse(text, strlen(text), NULL, 1, err);
    if (file == NULL) {
        ck_abort_msg("%d:%d: %s", err->line, err->column, err->message);
    }
    struct bytecode_dialect dialect = {.name = "vhlo", .reader = &vhlo_dialect};
    struct bytecode bytecode = {
        .file = file, .err = err, .data = (const uint8_t *)"", .version = 6};
    if (!vhlo_upgrade(&bytecode, &dialect)) {
        mlir_file_destroy(file);
        return NULL;
    }
    return file;
}

static void check_upgrade(const char *text, const char *expected_text)
{
    struct error err = {0};
    struct mlir_file *file = upgrade(text, &err);
    if (file == NULL) {
        ck_abort_msg("%s: %s", text, err.message);
    }
    struct mlir_file *expected = mlir_parse(expected_text, strlen(expected_text), NULL, 1, &err);
    if (expected == NULL) {
        ck_abort_msg("%s:%d:%d: %s", expected_text, err.line, err.column, err.message);
    }
    if (!mlir_file_equal(expected, file, &err)) {
        ck_abort_msg("%s: %s", text, err.message);
    }
    mlir_file_destroy(file);
    mlir_file_destroy(expected);
}

/* What the versions up to 1.20 added, to which jaxlib's serializer has not come yet. */
START_TEST(test_newest)
{
    check_upgrade(
        "\"vhlo.func_v1\"() ({\n"
        "^bb0(%a: tensor<2xf32>, %r: tensor<i32>):\n"
        "  %0 = \"vhlo.custom_call_v2\"(%a) {call_target_name = \"f\", has_side_effect = false,\n"
        "    backend_config = \"\", api_version = 1 : i32, called_computations = [\"g\"],\n"
        "    operand_layouts = [], result_layouts = [], output_operand_aliases = [],\n"
        "    result_tilings = [[dense<8> : tensor<1xindex>]]} : (tensor<2xf32>) -> tensor<2xf32>\n"
        "  %1:2 = \"vhlo.collective_reduce_v1\"(%a, %a, %r) ({\n"
        "  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
        "    \"vhlo.return_v1\"(%x) : (tensor<f32>) -> ()\n"
        "  }) {replica_groups = dense<0> : tensor<1x1xi64>, channel_id = 3 : i64,\n"
        "    use_global_device_ids = true, has_dynamic_root = true}\n"
        "    : (tensor<2xf32>, tensor<2xf32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xf32>)\n"
        "  %2 = \"vhlo.collective_broadcast_v2\"(%a, %r) {replica_groups = dense<0> :\n"
        "    tensor<1x1xi64>, channel_id = 0 : i64, has_dynamic_root = true}\n"
        "    : (tensor<2xf32>, tensor<i32>) -> tensor<2xf32>\n"
        "  \"vhlo.return_v1\"(%2) : (tensor<2xf32>) -> ()\n"
        "}) {sym_name = \"main\", function_type = (tensor<2xf32>, tensor<i32>) -> tensor<2xf32>,\n"
        "    sym_visibility = \"\", arg_attrs = [], res_attrs = []} : () -> ()\n",
        "\"func.func\"() ({\n"
        "^bb0(%a: tensor<2xf32>, %r: tensor<i32>):\n"
        "  %0 = \"stablehlo.custom_call\"(%a) {call_target_name = \"f\", called_computations = "
        "[@g],\n"
        "    result_tilings = [[dense<8> : tensor<1xindex>]]} : (tensor<2xf32>) -> tensor<2xf32>\n"
        "  %1:2 = \"stablehlo.collective_reduce\"(%a, %a, %r) ({\n"
        "  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
        "    \"stablehlo.return\"(%x) : (tensor<f32>) -> ()\n"
        "  }) {replica_groups = dense<0> : tensor<1x1xi64>, channel_handle =\n"
        "    #stablehlo.channel_handle<handle = 3, type = 0>, use_global_device_ids,\n"
        "    has_dynamic_root}\n"
        "    : (tensor<2xf32>, tensor<2xf32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xf32>)\n"
        "  %2 = \"stablehlo.collective_broadcast\"(%a, %r) {replica_groups = dense<0> :\n"
        "    tensor<1x1xi64>, has_dynamic_root} : (tensor<2xf32>, tensor<i32>) -> tensor<2xf32>\n"
        "  \"func.return\"(%2) : (tensor<2xf32>) -> ()\n"
        "}) {sym_name = \"main\", function_type = (tensor<2xf32>, tensor<i32>) -> tensor<2xf32>}\n"
        "  : () -> ()\n");
}
END_TEST

/* Layouts stay if only one of the two lists is empty; attributes that no row knows stay. */
START_TEST(test_kept)
{
    check_upgrade(
        "%a = \"vhlo.create_token_v1\"() {ours = 1 : i32} : () -> !stablehlo.token\n"
        "%0 = \"vhlo.custom_call_v1\"(%a) {call_target_name = \"f\", has_side_effect = false,\n"
        "  backend_config = {}, api_version = 2 : i32, called_computations = [],\n"
        "  operand_layouts = [dense<> : tensor<0xindex>], result_layouts = [],\n"
        "  output_operand_aliases = []} : (!stablehlo.token) -> !stablehlo.token\n",
        "%a = \"stablehlo.create_token\"() {ours = 1 : i32} : () -> !stablehlo.token\n"
        "%0 = \"stablehlo.custom_call\"(%a) {call_target_name = \"f\", api_version = 2 : i32,\n"
        "  operand_layouts = [dense<> : tensor<0xindex>], result_layouts = []}\n"
        "  : (!stablehlo.token) -> !stablehlo.token\n");
}
END_TEST

/* Between VHLO and other dialects stand casts, whose both sides read as one type. */
START_TEST(test_casts)
{
    check_upgrade("%a, %b = \"ours.make\"() : () -> (tensor<f32>, index)\n"
                  "%0:2 = builtin.unrealized_conversion_cast %a, %b : tensor<f32>, index to\n"
                  "  tensor<f32>, index\n"
                  "%1:2 = builtin.unrealized_conversion_cast %0#0, %0#1 : tensor<f32>, index to\n"
                  "  tensor<f32>, index\n"
                  "%2 = \"vhlo.abs_v1\"(%1#0) : (tensor<f32>) -> tensor<f32>\n"
                  "%3 = builtin.unrealized_conversion_cast %1#1 : index to i64\n"
                  "\"ours.use\"(%2, %1#1, %3) : (tensor<f32>, index, i64) -> ()\n",
                  "%a, %b = \"ours.make\"() : () -> (tensor<f32>, index)\n"
                  "%2 = \"stablehlo.abs\"(%a) : (tensor<f32>) -> tensor<f32>\n"
                  "%3 = builtin.unrealized_conversion_cast %b : index to i64\n"
                  "\"ours.use\"(%2, %b, %3) : (tensor<f32>, index, i64) -> ()\n");
}
END_TEST

static void check_refused(const char *text, enum error_code code, const char *message)
{
    struct error err = {0};
    struct mlir_file *file = upgrade(text, &err);
    ck_assert_msg(file == NULL, "%s", text);
    ck_assert_int_eq(err.code, code);
    ck_assert_msg(strstr(err.message, "dialect vhlo, offset 0x0: ") != NULL &&
                      strstr(err.message, message) != NULL,
                  "%s", err.message);
}

START_TEST(test_refused)
{
    check_refused("%a = \"vhlo.create_token_v9\"() : () -> !stablehlo.token", ERROR_UNIMPLEMENTED,
                  "op vhlo.create_token_v9 is unknown");
    check_refused("%a = \"vhlo.iota_v1\"() : () -> tensor<3xi32>", ERROR_INVALID_ARGUMENT,
                  "vhlo.iota_v1 (version 0.9 on): lacks the attribute iota_dimension");
    check_refused("%a = \"vhlo.recv_v1\"() {channel_id = \"3\", channel_type = 1 : i64,\n"
                  "  is_host_transfer = true} : () -> !stablehlo.token",
                  ERROR_INVALID_ARGUMENT,
                  "vhlo.recv_v1 (version 0.9 to 1.11): attribute channel_id is not of its kind");
    check_refused("\"vhlo.transpose_v1\"() {permutation = dense<1.0> : tensor<1xf64>} : () -> ()",
                  ERROR_INVALID_ARGUMENT, "permutation is not of its kind");
    check_refused("\"vhlo.transpose_v1\"() {permutation = dense<0> : tensor<2000000000xi64>}\n"
                  "  : () -> ()",
                  ERROR_INVALID_ARGUMENT, "permutation is not of its kind");
    check_refused("\"vhlo.call_v1\"() {callee = 3 : i64} : () -> ()", ERROR_INVALID_ARGUMENT,
                  "callee is not of its kind");
    check_refused(
        "%a = \"vhlo.create_token_v1\"() : () -> !stablehlo.token\n"
        "\"vhlo.dot_general_v2\"(%a, %a) {lhs_batching_dimensions = dense<> : "
        "tensor<0xi64>,\n"
        "  rhs_batching_dimensions = dense<> : tensor<0xi64>,\n"
        "  lhs_contracting_dimensions = dense<> : tensor<0xi64>,\n"
        "  rhs_contracting_dimensions = dense<> : tensor<0xi64>, precision_config = [],\n"
        "  lhs_precision_type = none, rhs_precision_type = f32, accumulation_type = none,\n"
        "  lhs_component_count = none, rhs_component_count = none,\n"
        "  num_primitive_operations = none, allow_imprecise_accumulation = none}\n"
        "  : (!stablehlo.token, !stablehlo.token) -> ()",
        ERROR_INVALID_ARGUMENT, "a part of an algorithm alone, rhs_precision_type");
    check_refused("%a = \"vhlo.iota_v1\"() {iota_dimension = 0 : i64} : () -> tensor<3xi32>\n"
                  "\"vhlo.recv_v1\"() {channel_id = 3 : i64, channel_type = 1 : i64,\n"
                  "  is_host_transfer = true, channel_handle = 7 : i64} : () -> ()",
                  ERROR_INVALID_ARGUMENT, "attribute \"channel_handle\" twice");
    /* In a region where order does not matter. */
    check_refused("%0 = builtin.unrealized_conversion_cast %1 : index to index\n"
                  "%1 = builtin.unrealized_conversion_cast %0 : index to index\n",
                  ERROR_INVALID_ARGUMENT, "casts of each other");
}
END_TEST

/* --- encodings --- */

/* A file that has one type, with the code and its bytes, and in it an attribute. */
struct encoded {
    struct mlir_file *file;
    struct error err;
    struct bytecode_dialect dialect;
    struct bytecode_entry types[2];
    struct bytecode bytecode;
};

static void encoded_make(struct encoded *encoded, const char *type, size_t size)
{
    *encoded = (struct encoded){.file = mlir_file_create(NULL)};
    encoded->dialect = (struct bytecode_dialect){.name = "vhlo", .reader = &vhlo_dialect};
    /* Type 1 is i1 of VHLO. */
    static const uint8_t boolean[] = {0 << 1 | 1};
    encoded->types[0] = (struct bytecode_entry){.data = (const uint8_t *)type,
                                                .size = size,
                                                .dialect = &encoded->dialect,
                                                .is_custom = true};
    encoded->types[1] = (struct bytecode_entry){
        .data = boolean, .size = 1, .dialect = &encoded->dialect, .is_custom = true};
    encoded->bytecode = (struct bytecode){.file = encoded->file,
                                          .err = &encoded->err,
                                          .data = (const uint8_t *)type,
                                          .size = size,
                                          .version = 6,
                                          .dialects = &encoded->dialect,
                                          .dialect_count = 1,
                                          .types = encoded->types,
                                          .type_count = 2};
}

/* Bytes of numbers below 64 as MLIR writes them. */
#define N(value) ((value) << 1 | 1)

/* An i1 tensor of `elements` (below 32), with this buffer. */
static void check_booleans(int elements, const char *buffer, size_t size, const char *expected)
{
    struct encoded encoded;
    /* ranked_tensor: one size, zigzag, and type 1. */
    const char type[] = {N(20), N(1), (char)N(elements << 1), N(1)};
    char attr[64] = {N(0), (char)N(size)};
    memcpy(attr + 2, buffer, size);
    encoded_make(&encoded, type, sizeof type);
    struct cursor cursor = {.bytecode = &encoded.bytecode,
                            .at = (const uint8_t *)attr,
                            .end = (const uint8_t *)attr + size + 2,
                            .dialect = &encoded.dialect};
    struct mlir_attr *made = vhlo_read_attr(&cursor, 15);
    if (made == NULL) {
        ck_abort_msg("%s: %s", expected, encoded.err.message);
    }
    ck_assert_int_eq(made->kind, MLIR_ATTR_DENSE);
    ck_assert_int_eq(made->dense.count, elements);
    for (int i = 0; i < elements; i++) {
        int value = ((const uint8_t *)made->dense.data)[made->dense.splat ? 0 : i];
        ck_assert_msg(value == expected[i] - '0', "%s: element %d", expected, i);
    }
    mlir_file_destroy(encoded.file);
}

/* The three forms that writers have used for i1, of different ages. */
START_TEST(test_booleans)
{
    check_booleans(1, "\x01", 1, "1");
    check_booleans(1, "\x00", 1, "0");
    check_booleans(1, "\xff", 1, "1");
    check_booleans(3, "\x05", 1, "101");
    check_booleans(3, "\x01", 1, "100");
    check_booleans(3, "\x01\x00\x01", 3, "101");
    check_booleans(3, "\xff", 1, "111");
    check_booleans(10, "\xff", 1, "1111111111");
    check_booleans(10, "\x01", 1, "1111111111");
    check_booleans(10, "\x00", 1, "0000000000");
    check_booleans(10, "\x05\x02", 2, "1010000001");
    check_booleans(10, "\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01", 10, "1001000001");
}
END_TEST

START_TEST(test_codes)
{
    struct encoded encoded;
    encoded_make(&encoded, "", 0);
    struct cursor cursor = {.bytecode = &encoded.bytecode,
                            .at = encoded.bytecode.data,
                            .end = encoded.bytecode.data,
                            .dialect = &encoded.dialect};
    /* Codes that VHLO has never used, or no longer does: the caller says so. */
    ck_assert_ptr_null(vhlo_read_attr(&cursor, 0));
    ck_assert_ptr_null(vhlo_read_attr(&cursor, 26));
    ck_assert_ptr_null(vhlo_read_attr(&cursor, UINT64_MAX));
    ck_assert_ptr_null(vhlo_read_type(&cursor, 43));
    ck_assert_ptr_null(vhlo_read_type(&cursor, UINT64_MAX));
    ck_assert_int_eq(encoded.err.code, ERROR_NONE);
    /* Scalars by their codes. */
    static const struct {
        uint64_t code;
        enum type type;
    } scalars[] = {
        {0, TYPE_PRED},        {2, TYPE_BF16},        {3, TYPE_F16},
        {4, TYPE_F32},         {5, TYPE_F64},         {6, TYPE_F8E4M3FN},
        {7, TYPE_F8E5M2},      {10, TYPE_S4},         {11, TYPE_S8},
        {12, TYPE_S16},        {13, TYPE_S32},        {14, TYPE_S64},
        {15, TYPE_U4},         {16, TYPE_U8},         {17, TYPE_U16},
        {18, TYPE_U32},        {19, TYPE_U64},        {22, TYPE_TOKEN},
        {27, TYPE_F8E4M3FNUZ}, {28, TYPE_F8E5M2FNUZ}, {29, TYPE_F8E4M3B11FNUZ},
        {31, TYPE_S2},         {32, TYPE_U2},         {35, TYPE_F8E4M3},
        {36, TYPE_F8E3M4},     {37, TYPE_F4E2M1FN},   {38, TYPE_F6E2M3FN},
        {39, TYPE_F6E3M2FN},   {40, TYPE_F8E8M0FNU},
    };
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        const struct mlir_type *type = vhlo_read_type(&cursor, scalars[i].code);
        ck_assert_ptr_nonnull(type);
        ck_assert_msg(type->kind == MLIR_TOKEN || type->element_type == scalars[i].type, "type %d",
                      (int)scalars[i].code);
    }
    mlir_file_destroy(encoded.file);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("vhlo");
    TCase *tests = tcase_create("vhlo");
    tcase_add_test(tests, test_artifacts);
    tcase_add_test(tests, test_versions);
    tcase_add_test(tests, test_newest);
    tcase_add_test(tests, test_kept);
    tcase_add_test(tests, test_casts);
    tcase_add_test(tests, test_refused);
    tcase_add_test(tests, test_booleans);
    tcase_add_test(tests, test_codes);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
