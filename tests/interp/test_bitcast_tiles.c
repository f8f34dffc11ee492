/* bitcast between tiled layouts, against the places of elements in memory as XLA's documentation of
 * tiled layouts defines them (docs/tiled_layout.md), written down for each layout on its own. */
#include "one_op.h"

enum { MOST = 1 << 14 };

/* Where element (row, column) of rows of `columns` lies in T(8,128). */
static int64_t place_8_128(int64_t columns, int64_t row, int64_t column)
{
    int64_t across = (columns + 127) / 128;
    return (row / 8 * across + column / 128) * 1024 + row % 8 * 128 + column % 128;
}

/* In T(8,128)(2,1): pairs of rows stand side by side. */
static int64_t place_8_128_2_1(int64_t columns, int64_t row, int64_t column)
{
    int64_t across = (columns + 127) / 128;
    return (row / 8 * across + column / 128) * 1024 + row % 8 / 2 * 256 + column % 128 * 2 +
           row % 2;
}

/* Runs a bitcast of values 1, 2, …; expects result element i to be what lies at to(i) in memory,
 * given that operand element i lies at from(i); unspecified where nothing does. */
static void check(const char *body, int64_t (*from)(int64_t), int64_t (*to)(int64_t))
{
    static double memory[MOST];
    struct one_op op;
    one_op_init(&op, body);
    memset(memory, 0, sizeof memory);
    for (int64_t i = 0; i < literal_elements(op.values[0]); i++) {
        literal_set_double(op.values[0], i, (double)(i % 200 + 1));
        ck_assert_int_lt(from(i), MOST);
        memory[from(i)] = (double)(i % 200 + 1);
    }
    struct literal *result = one_op_run(&op, eval_bitcast);
    for (int64_t i = 0; i < literal_elements(result); i++) {
        ck_assert_int_lt(to(i), MOST);
        double expected = memory[to(i)];
        if (expected == 0) {
            ck_assert_msg(literal_is_unspecified(result, i), "%s: %d", body, (int)i);
        } else {
            ck_assert_msg(
                !literal_is_unspecified(result, i) && literal_get_double(result, i) == expected,
                "%s: %d is %g, not %g", body, (int)i, literal_get_double(result, i), expected);
        }
    }
    literal_release(result);
    one_op_finish(&op);
}

static int64_t same(int64_t i)
{
    return i;
}
static int64_t rows_of_130(int64_t i)
{
    return place_8_128(130, i / 130, i % 130);
}
static int64_t rows_of_128(int64_t i)
{
    return place_8_128(128, i / 128, i % 128);
}
/* [3,5,128]: each of the three has a tile of its own. */
static int64_t five_rows(int64_t i)
{
    return i / 640 * 1024 + rows_of_128(i % 640);
}
static int64_t rows_of_256(int64_t i)
{
    return place_8_128(256, i / 256, i % 256);
}
static int64_t pairs_of_256(int64_t i)
{
    return place_8_128_2_1(256, i / 256, i % 256);
}
/* [16,3]{0,1}: columns are what lies behind each other. */
static int64_t columns_of_16(int64_t i)
{
    return place_8_128(16, i % 3, i / 3);
}
static int64_t rows_of_16(int64_t i)
{
    return place_8_128(16, i / 16, i % 16);
}

START_TEST(test_tiles)
{
    /* dimensions of size 1, and rows joined where tiles are full */
    check("a = f32[5,130]{1,0:T(8,128)} parameter(0)\n"
          "ROOT r = f32[1,5,130]{2,1,0:T(8,128)} bitcast(a)",
          rows_of_130, rows_of_130);
    check("a = f32[4,8,130]{2,1,0:T(8,128)} parameter(0)\n"
          "ROOT r = f32[2,16,130]{2,1,0:T(8,128)} bitcast(a)",
          rows_of_130, rows_of_130);
    check("a = bf16[16,256]{1,0:T(8,128)(2,1)} parameter(0)\n"
          "ROOT r = bf16[2,1,8,256]{3,2,1,0:T(8,128)(2,1)} bitcast(a)",
          pairs_of_256, pairs_of_256);
    /* a transpose that moves nothing in memory */
    check("a = f32[16,3]{0,1:T(8,128)} parameter(0)\n"
          "ROOT r = f32[3,16]{1,0:T(8,128)} bitcast(a)",
          columns_of_16, rows_of_16);
    /* rows of different tiles become rows of one: padding shows */
    check("a = f32[3,5,128]{2,1,0:T(8,128)} parameter(0)\n"
          "ROOT r = f32[24,128]{1,0:T(8,128)} bitcast(a)",
          five_rows, rows_of_128);
    check("a = f32[24,128]{1,0:T(8,128)} parameter(0)\n"
          "ROOT r = f32[3,5,128]{2,1,0:T(8,128)} bitcast(a)",
          rows_of_128, five_rows);
    /* between tiles and none, and between tiles that differ */
    check("a = f32[16,256]{1,0:T(8,128)} parameter(0)\n"
          "ROOT r = f32[2,2,8,128]{3,2,1,0} bitcast(a)",
          rows_of_256, same);
    check("a = bf16[16,256]{1,0:T(8,128)(2,1)} parameter(0)\n"
          "ROOT r = bf16[16,256]{1,0:T(8,128)} bitcast(a)",
          pairs_of_256, rows_of_256);
    /* a scalar is the first of its tile */
    check("a = u32[1]{0:T(128)} parameter(0)\nROOT r = u32[]{:T(128)} bitcast(a)", same, same);
    check("a = s32[]{:T(128)} parameter(0)\nROOT r = s32[1,1]{1,0:T(1,128)} bitcast(a)", same,
          same);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interp_bitcast_tiles");
    TCase *tests = tcase_create("bitcast_tiles");
    tcase_add_test(tests, test_tiles);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
