/* "//@" lines: what they say, how results are held against them, and errors with their line. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/case.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"

static struct literal *read_literal(const char *text)
{
    struct error err = {0};
    size_t used;
    const struct shape *shape = shape_parse(text, strlen(text), &used, &err);
    ck_assert_msg(shape != NULL, "%s", err.message);
    struct literal *literal = literal_parse(shape, text + used, strlen(text) - used, NULL, &err);
    ck_assert_msg(literal != NULL, "%s: %s", text, err.message);
    return literal;
}

START_TEST(test_read)
{
    struct case_header header;
    struct error err = {0};
    ck_assert(case_header_read("// a comment\n"
                               "//@ case two_of_them\r\n"
                               "//@ note whatever it says\n"
                               "  //@ arg f32[2] {1, -0}\n"
                               "//@ arg s32[] 7\n"
                               "//@ expect pred[] true\n"
                               "//@ compare ulp 3\n",
                               "file.hlo", &header, &err));
    ck_assert_str_eq(header.name, "two_of_them");
    ck_assert_int_eq(header.argument_count, 2);
    ck_assert_int_eq(header.expected_count, 1);
    ck_assert(header.ulps == 3 && header.abs == 0);
    struct literal *want = read_literal("f32[2] {1, -0}");
    ck_assert(literal_equal(header.arguments[0], want));
    literal_release(want);
    ck_assert_int_eq(literal_get_int(header.arguments[1], 0), 7);
    case_header_finish(&header);
    ck_assert(case_header_read("", "file.hlo", &header, &err));
    ck_assert_str_eq(header.name, "");
    ck_assert_int_eq(header.argument_count + header.expected_count, 0);
    case_header_finish(&header);
}
END_TEST

static const struct {
    const char *text;
    int line;
    const char *words;
} bad[] = {
    {"//@ case a\n//@ argument f32[] 1\n", 2, "unknown key"},
    {"//@ arg f32[2] {1}\n", 1, "arg"},
    {"\n\n//@ expect f32[] 1 2\n", 3, "expect"},
    {"//@ arg g32[] 1\n", 1, "arg"},
    {"//@ compare ulp\n", 1, "compare"},
    {"//@ compare ulp -1\n", 1, "compare"},
    {"//@ compare near\n", 1, "compare"},
};

START_TEST(test_errors)
{
    struct case_header header;
    struct error err = {0};
    ck_assert_msg(!case_header_read(bad[_i].text, "file.hlo", &header, &err), "%s", bad[_i].text);
    ck_assert_msg(err.line == bad[_i].line, "line %d of %s", err.line, bad[_i].text);
    ck_assert_str_eq(err.file, "file.hlo");
    ck_assert_msg(strstr(err.message, bad[_i].words) != NULL, "%s", err.message);
}
END_TEST

static bool agrees(const char *header_text, const char *result_text)
{
    struct case_header header;
    struct error err = {0};
    struct text picture;
    ck_assert_msg(case_header_read(header_text, "f", &header, &err), "%s", err.message);
    struct literal *result = read_literal(result_text);
    text_init(&picture);
    bool good = case_header_check(&header, result, &picture);
    ck_assert_msg(good == (picture.size == 0), "%s", picture.data);
    text_finish(&picture);
    literal_release(result);
    case_header_finish(&header);
    return good;
}

START_TEST(test_check)
{
    ck_assert(agrees("//@ expect f32[2] {1, nan}\n", "f32[2] {1, -nan}"));
    ck_assert(!agrees("//@ expect f32[2] {1, 0}\n", "f32[2] {1, -0}"));
    ck_assert(!agrees("//@ expect f32[] 1\n", "f32[] 1.00000012"));
    ck_assert(agrees("//@ expect f32[] 1\n//@ compare ulp 1\n", "f32[] 1.00000012"));
    ck_assert(!agrees("//@ expect f32[] 1\n//@ compare ulp 1\n", "f32[] 1.00000024"));
    ck_assert(agrees("//@ expect f32[] 1\n//@ compare abs 0.25\n", "f32[] 1.25"));
    ck_assert(!agrees("//@ expect s32[] 1\n//@ compare abs 4\n", "s32[] 2"));
    /* Leaves of a tuple in order; too few or too many are a difference. */
    const char *two = "//@ expect s32[] 1\n//@ expect f32[1] {2}\n";
    ck_assert(agrees(two, "(s32[], f32[1]) (1, {2})"));
    ck_assert(!agrees(two, "(s32[], f32[1]) (1, {3})"));
    ck_assert(!agrees(two, "s32[] 1"));
    ck_assert(!agrees("//@ expect s32[] 1\n", "(s32[], f32[1]) (1, {2})"));
    ck_assert(!agrees("//@ expect s32[] 1\n", "u32[] 1"));
}
END_TEST

/* Two devices: expected lines are those of each, or those of both in order. */
START_TEST(test_devices)
{
    static const struct {
        const char *header;
        const char *results[2];
        bool good;
    } rows[] = {
        {"//@ expect s32[] 1\n", {"s32[] 1", "s32[] 1"}, true},
        {"//@ expect s32[] 1\n", {"s32[] 1", "s32[] 2"}, false},
        {"//@ expect s32[] 1\n//@ expect s32[] 2\n", {"s32[] 1", "s32[] 2"}, true},
        {"//@ expect s32[] 1\n//@ expect s32[] 2\n", {"s32[] 2", "s32[] 1"}, false},
        {"//@ expect s32[] 1\n//@ expect s32[] 2\n//@ expect s32[] 3\n",
         {"s32[] 1", "s32[] 2"},
         false},
        {"//@ expect s32[] 1\n//@ expect s32[] 2\n",
         {"(s32[], s32[]) (1, 2)", "(s32[], s32[]) (1, 2)"},
         true},
        {"//@ expect s32[] 1\n//@ expect s32[] 2\n//@ expect s32[] 3\n//@ expect s32[] 4\n",
         {"(s32[], s32[]) (1, 2)", "(s32[], s32[]) (3, 4)"},
         true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct case_header header;
        struct error err = {0};
        struct text picture;
        text_init(&picture);
        ck_assert(case_header_read(rows[i].header, "file.hlo", &header, &err));
        struct literal *results[2] = {read_literal(rows[i].results[0]),
                                      read_literal(rows[i].results[1])};
        bool good = case_header_check_devices(&header, results, 2, &picture);
        ck_assert_msg(good == rows[i].good && good == (picture.size == 0), "%zu: %s", i,
                      picture.data);
        literal_release(results[0]);
        literal_release(results[1]);
        text_finish(&picture);
        case_header_finish(&header);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("case");
    TCase *tests = tcase_create("headers");
    tcase_add_test(tests, test_read);
    tcase_add_loop_test(tests, test_errors, 0, sizeof bad / sizeof *bad);
    tcase_add_test(tests, test_check);
    tcase_add_test(tests, test_devices);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
