/* Shapes and layouts: text both ways, interning, questions, refusals with their columns.
 * Texts and their printed forms are those of XLA: xla/hlo/parser/hlo_parser_test.cc,
 * xla/layout_test.cc, xla/shape_test.cc. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/shape.h"

static const struct shape *read(const char *text)
{
    struct error err = {0};
    size_t used = 0;
    const struct shape *shape = shape_parse(text, strlen(text), &used, &err);
    ck_assert_msg(shape != NULL, "%s: %d: %s", text, err.column, err.message);
    ck_assert_uint_eq(used, strlen(text));
    return shape;
}

static void check_printed(const char *text, bool with_layout, const char *expected)
{
    struct text out;
    text_init(&out);
    shape_print(read(text), with_layout, &out);
    ck_assert_str_eq(out.data, expected);
    text_finish(&out);
}

/* Canonical texts: print gives them back. */
START_TEST(test_round_trip)
{
    static const char *const texts[] = {
        "f32[]",
        "pred[3]{0}",
        "f32[2,3]{0,1}",
        "bf16[2,3]{1,0:T(2,128)(2,1)}",
        "f32[2,3]{1,0:T(8,*,128)}",
        "f32[8]{0:L(4)}",
        "s4[8]{0:E(4)}",
        "f32[8]{0:S(5)}",
        "f32[8]{0:T(8)L(2)E(32)S(1)}",
        "f32[8]{0:#(u32)*(u64)}",
        "f32[4,8]{1,0:SC(0:2)(1:4,6)}",
        "f32[8]{0:M(16)}",
        "f32[<=8,4]{1,0}",
        "f32[?,4]{1,0}",
        "(f32[], (s32[2]{0}, pred[]), token[])",
        "(u8[], u8[], u8[], u8[], u8[], /*index=5*/u8[])",
        "()",
        "token[]",
        "opaque[]",
        "b(f32[2]{0})",
        "f8e4m3b11fnuz[3]{0}",
        "c128[2]{0}",
        "u1[2]{0}",
        "f6e3m2fn[2]{0}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        check_printed(texts[i], true, texts[i]);
    }
}
END_TEST

START_TEST(test_loose_texts)
{
    check_printed("f32[2,3]", true, "f32[2,3]{1,0}");
    check_printed("f32[2,3]{:T(8)}", true, "f32[2,3]{1,0:T(8)}");
    check_printed("f32[ 2 , /* why */ 3 ]", true, "f32[2,3]{1,0}");
    check_printed("f32[]{}", true, "f32[]");
    check_printed("(f32[2]{0},s32[])", true, "(f32[2]{0}, s32[])");
    check_printed("f32[<=?]", true, "f32[?]{0}");
    check_printed("f32[2,3]{0,1:T(8)S(1)}", false, "f32[2,3]");
    check_printed("(f32[<=2]{0:S(1)}, s32[])", false, "(f32[<=2], s32[])");
}
END_TEST

START_TEST(test_used)
{
    struct error err = {0};
    size_t used;
    ck_assert_ptr_nonnull(shape_parse("f32[2]{0} parameter(0)", 22, &used, &err));
    ck_assert_uint_eq(used, 9);
    /* What follows a blank is a value, not a layout. */
    ck_assert_ptr_nonnull(shape_parse("f32[2] {1, 2}", 13, &used, &err));
    ck_assert_uint_eq(used, 6);
}
END_TEST

START_TEST(test_refusals)
{
    static const struct {
        const char *text;
        int column; /* 0: the whole is refused */
        const char *message;
    } cases[] = {
        {"f33[2]", 1, "type"},
        {"f32", 4, "'['"},
        {"f32[2", 6, "','"},
        {"f32[2,]", 7, "integer"},
        {"f32[-2]", 0, "negative"},
        {"f32[<2]", 6, "'='"},
        {"f32[2]{0,1}", 12, "rank"},
        {"f32[2]{1}", 0, "permutation"},
        {"f32[2,3]{0,0}", 0, "permutation"},
        {"f32[2]{0:X(1)}", 10, "layout field"},
        {"f32[2]{0:T(1}", 13, "','"},
        {"f32[2]{0:T(8)", 14, "'}'"},
        {"f32[2]{0:S", 11, "'('"},
        {"f32[2]{0:D", 11, "level"},
        {"f32[2]{0:L(0)}", 0, "padding"},
        {"f32[2]{0:E(-1)}", 0, "negative"},
        {"token[1]", 9, "no dimensions"},
        {"tuple[]", 8, "element type"},
        {"(f32[2]", 8, "','"},
        {"b(f32[2]", 9, "')'"},
        {"f32[9223372036854775807]", 0, "overflows"},
        {"f32[9223372036854775808]", 5, "64 bits"},
        {"f32[4294967296,4294967296]", 0, "overflow"},
        {"", 1, "type"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = {0};
        size_t size = strlen(cases[i].text);
        char *exact = malloc(size > 0 ? size : 1); /* not terminated: reading beyond is seen */
        memcpy(exact, cases[i].text, size);
        ck_assert_msg(shape_parse(exact, size, NULL, &err) == NULL, "%s", cases[i].text);
        ck_assert_msg(err.column == cases[i].column, "%s: column %d: %s", cases[i].text, err.column,
                      err.message);
        ck_assert_msg(strstr(err.message, cases[i].message) != NULL, "%s: %s", cases[i].text,
                      err.message);
        free(exact);
    }
}
END_TEST

START_TEST(test_limits)
{
    char text[4096] = "";
    for (int i = 0; i < SHAPE_MAX_RANK + 1; i++) {
        strcat(text, i == 0 ? "f32[1" : ",1");
    }
    strcat(text, "]");
    struct error err = {0};
    ck_assert_ptr_null(shape_parse(text, strlen(text), NULL, &err));
    memset(text, '(', 1000);
    error_clear(&err);
    ck_assert_ptr_null(shape_parse(text, 1000, NULL, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "nesting"));
    /* Any number of elements of size 0 is 0 bytes. */
    ck_assert_int_eq(shape_elements(read("f32[0,4294967296,4294967296]")), 0);
    const int64_t sizes[] = {INT64_MAX / 2};
    ck_assert_int_eq(shape_bytes(shape_array(TYPE_F64, 1, sizes)), INT64_MAX);
    ck_assert_int_eq(shape_elements(read("f32[?]")), SHAPE_TOO_MANY);
}
END_TEST

START_TEST(test_interning)
{
    ck_assert_ptr_eq(read("f32[2,3]"), read("f32[2,3]{1,0}"));
    ck_assert_ptr_ne(read("f32[2,3]"), read("f32[2,3]{0,1}"));
    ck_assert_ptr_ne(read("f32[2,3]"), read("f32[<=2,3]"));
    ck_assert_ptr_ne(read("f32[2]"), read("f32[2]{0:S(1)}"));
    ck_assert_ptr_ne(read("f32[2]{0:T(8)}"), read("f32[2]{0:T(16)}"));
    ck_assert_ptr_ne(read("f32[2]{0:M(1)}"), read("f32[2]{0:M(2)}"));
    ck_assert_ptr_ne(read("f32[2]{0:SC(0:1)}"), read("f32[2]{0}"));
    ck_assert_ptr_eq(read("(f32[2], s32[])"), read("(f32[2]{0}, s32[])"));
    const struct shape *parts[] = {read("f32[2]"), shape_scalar(TYPE_S32)};
    ck_assert_ptr_eq(shape_tuple(2, parts), read("(f32[2], s32[])"));
    /* Many shapes: all stay themselves while the tables grow. */
    const struct shape *many[3000];
    for (int i = 0; i < 3000; i++) {
        many[i] = shape_array(TYPE_F32, 1, (const int64_t[]){i});
    }
    for (int i = 0; i < 3000; i++) {
        ck_assert_ptr_eq(many[i], shape_array(TYPE_F32, 1, (const int64_t[]){i}));
        ck_assert_int_eq(many[i]->dimensions[0], i);
    }
}
END_TEST

START_TEST(test_questions)
{
    const struct shape *tuple = read("(f32[2,3]{0,1:S(1)}, (s8[<=5], token[]), pred[])");
    ck_assert_int_eq(shape_leaves(tuple), 4);
    ck_assert_int_eq(shape_bytes(tuple), 24 + 5 + 1);
    ck_assert(shape_is_dynamic(tuple));
    ck_assert_ptr_eq(shape_without_layout(tuple), read("(f32[2,3], (s8[<=5], token[]), pred[])"));
    ck_assert_ptr_eq(shape_static(tuple), read("(f32[2,3]{0,1:S(1)}, (s8[5], token[]), pred[])"));
    ck_assert(shape_compatible(tuple, shape_without_layout(tuple)));
    ck_assert(!shape_compatible(tuple, shape_static(tuple)));
    ck_assert(!shape_compatible(read("f32[2]"), read("s32[2]")));
    ck_assert(shape_same_dimensions(read("f32[2]{0:S(1)}"), read("s32[2]")));
    ck_assert(!shape_same_dimensions(read("f32[<=2]"), read("f32[2]")));
    ck_assert_int_eq(shape_elements(shape_scalar(TYPE_F32)), 1);
    ck_assert_int_eq(shape_bytes(read("s4[3]")), 3); /* one byte each here */
    ck_assert_int_eq(shape_bytes(read("c128[3]")), 48);
    ck_assert_ptr_eq(shape_with_type(read("f32[2,3]{0,1}"), TYPE_PRED), read("pred[2,3]{0,1}"));
    ck_assert(layout_is_default(read("f32[2,3]")->layout));
    ck_assert(!layout_is_default(read("f32[2,3]{0,1}")->layout));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shape");
    TCase *tcase = tcase_create("shape");
    tcase_add_test(tcase, test_round_trip);
    tcase_add_test(tcase, test_loose_texts);
    tcase_add_test(tcase, test_used);
    tcase_add_test(tcase, test_refusals);
    tcase_add_test(tcase, test_limits);
    tcase_add_test(tcase, test_interning);
    tcase_add_test(tcase, test_questions);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
