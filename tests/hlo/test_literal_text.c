/* The text of literals: values of every type against the bits of their formats, XLA's way to print
 * them, and back. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/text/number.h"

/* Values by their definition: bits of the formats (IEEE 754, OCP 8-bit and microscaling formats).
 */
static const struct {
    enum type type;
    const char *text;
    uint64_t bits;
    const char *printed; /* as XLA does; NULL: like text */
} elements[] = {
    {TYPE_F32, "1", 0x3f800000, NULL},
    {TYPE_F32, "-2.5", 0xc0200000, NULL},
    {TYPE_F32, "1.41421354", 0x3fb504f3, NULL},
    {TYPE_F32, "0.1", 0x3dcccccd, NULL},
    {TYPE_F32, "16777216", 0x4b800000, "16777216"},
    {TYPE_F32, "1e10", 0x501502f9, "1e+10"},
    {TYPE_F32, "3.4028235e38", 0x7f7fffff, "3.40282347e+38"},
    {TYPE_F32, "1e-45", 0x00000001, "1.4013e-45"},
    {TYPE_F32, "9.99999974737875163555e-05", 0x38d1b717, "0.0001"},
    {TYPE_F32, "-0", 0x80000000, "-0.0"},
    {TYPE_F32, "-0.0", 0x80000000, NULL},
    {TYPE_F32, "inf", 0x7f800000, NULL},
    {TYPE_F32, "-inf", 0xff800000, NULL},
    {TYPE_F32, "nan", 0x7fc00000, NULL},
    {TYPE_F32, "-nan", 0xffc00000, NULL},
    {TYPE_F32, "nan(0x1)", 0x7f800001, NULL},
    {TYPE_F32, "-nan(0x7fffff)", 0xffffffff, NULL},
    {TYPE_F64, "0.1", 0x3fb999999999999a, NULL},
    {TYPE_F64, "3.1415926535897931", 0x400921fb54442d18, NULL},
    {TYPE_F64, "4.9406564584124654e-324", 1, "4.94065645841247e-324"},
    {TYPE_F64, "1.7976931348623157e308", 0x7fefffffffffffff, "1.7976931348623157e+308"},
    {TYPE_F64, "9007199254740993", 0x4340000000000000, "9007199254740992"},
    {TYPE_F64, "123456789012345678901234567890e-10", 0x43e56a95319d63e1, "1.2345678901234567e+19"},
    {TYPE_F64, "nan(0xfffffffffffff)", 0x7fffffffffffffff, NULL},
    {TYPE_F16, "0.1", 0x2e66, "0.099976"},
    {TYPE_F16, "65504", 0x7bff, NULL},
    {TYPE_F16, "6e-8", 0x0001, "5.9605e-08"},
    {TYPE_F16, "nan(0x3)", 0x7c03, NULL},
    {TYPE_BF16, "3.14", 0x4049, "3.141"},
    {TYPE_BF16, "-1e38", 0xfe96, "-9.969e+37"},
    {TYPE_BF16, "12345", 0x4641, "1.235e+04"},
    {TYPE_F8E5M2, "57344", 0x7b, "5.7e+04"},
    {TYPE_F8E5M2, "nan", 0x7e, NULL},
    {TYPE_F8E4M3FN, "448", 0x7e, NULL},
    {TYPE_F8E4M3FN, "nan", 0x7f, NULL},
    {TYPE_F8E4M3FN, "-0.001953125", 0x81, "-0.00195"},
    {TYPE_F8E4M3B11FNUZ, "30", 0x7f, NULL},
    {TYPE_F8E5M2FNUZ, "nan", 0x80, NULL},
    {TYPE_F8E8M0FNU, "0.5", 0x7e, NULL},
    {TYPE_F4E2M1FN, "-6", 0xf, NULL},
    {TYPE_F6E2M3FN, "7.5", 0x1f, NULL},
    {TYPE_F6E3M2FN, "28", 0x1f, NULL},
    {TYPE_PRED, "true", 1, NULL},
    {TYPE_PRED, "7", 1, "true"},
    {TYPE_PRED, "false", 0, NULL},
    {TYPE_S4, "-8", 0xf8, NULL},
    {TYPE_U4, "15", 15, NULL},
    {TYPE_S1, "-1", 0xff, NULL},
    {TYPE_S8, "-128", 0x80, NULL},
    {TYPE_U16, "65535", 0xffff, NULL},
    {TYPE_S32, "-2147483648", 0x80000000, NULL},
    {TYPE_U32, "4294967295", 0xffffffff, NULL},
    {TYPE_S64, "-9223372036854775808", 0x8000000000000000, NULL},
    {TYPE_U64, "18446744073709551615", 0xffffffffffffffff, NULL},
};

START_TEST(element_values)
{
    const char *text = elements[_i].text;
    enum type type = elements[_i].type;
    struct error err = {0};
    size_t used = 0;
    struct literal *literal = literal_parse(shape_scalar(type), text, strlen(text), &used, &err);
    ck_assert_msg(literal != NULL, "%s %s: %s", type_text(type), text, err.message);
    ck_assert_uint_eq(used, strlen(text));
    uint64_t bits = literal_get_bits(literal, 0);
    ck_assert_msg(bits == elements[_i].bits, "%s %s: expected 0x%llx, found 0x%llx",
                  type_text(type), text, (unsigned long long)elements[_i].bits,
                  (unsigned long long)bits);
    struct text out;
    text_init(&out);
    literal_print(literal, false, 0, &out);
    ck_assert_str_eq(out.data, elements[_i].printed != NULL ? elements[_i].printed : text);
    struct literal *again = literal_parse(literal->shape, out.data, out.size, NULL, &err);
    ck_assert_ptr_nonnull(again);
    ck_assert(literal_equal(literal, again));
    literal_release(again);
    literal_release(literal);
    text_finish(&out);
}
END_TEST

/* Every finite value of the 16-bit and smaller formats survives printing. */
START_TEST(small_floats_round_trip)
{
    static const enum type types[] = {
        TYPE_F16,      TYPE_BF16,          TYPE_F8E5M2,     TYPE_F8E4M3,     TYPE_F8E3M4,
        TYPE_F8E4M3FN, TYPE_F8E4M3B11FNUZ, TYPE_F8E5M2FNUZ, TYPE_F8E4M3FNUZ, TYPE_F8E8M0FNU,
        TYPE_F4E2M1FN, TYPE_F6E3M2FN,      TYPE_F6E2M3FN,
    };
    struct text out;
    text_init(&out);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        for (uint64_t bits = 0; bits < (uint64_t)1 << type_bits(types[i]); bits++) {
            text_clear(&out);
            number_print(types[i], bits, &out);
            struct error err = {0};
            struct literal *literal =
                literal_parse(shape_scalar(types[i]), out.data, out.size, NULL, &err);
            if (literal == NULL || literal_get_bits(literal, 0) != bits) {
                /* Formats with several NaNs but no payloads keep the sign only. */
                bool is_nan = strstr(out.data, "nan") != NULL;
                ck_assert_msg(is_nan && literal != NULL, "%s 0x%llx prints as %s: %s",
                              type_text(types[i]), (unsigned long long)bits, out.data, err.message);
            }
            literal_release(literal);
        }
    }
    text_finish(&out);
}
END_TEST

START_TEST(literal_layouts)
{
    /* XLA's forms (Literal::ToString) on one line and on several. */
    const int64_t dimensions[] = {2, 2};
    const struct shape *shape = shape_array(TYPE_S32, 2, dimensions);
    struct error err = {0};
    const char *text = "{{1,2},/*i*/{3,4}} rest";
    size_t used;
    struct literal *literal = literal_parse(shape, text, strlen(text), &used, &err);
    ck_assert_ptr_nonnull(literal);
    ck_assert_uint_eq(used, strlen(text) - 5);
    struct text out;
    text_init(&out);
    literal_print(literal, true, 0, &out);
    ck_assert_str_eq(out.data, "{\n  { 1, 2 },\n  { 3, 4 }\n}");
    text_clear(&out);
    literal_print(literal, false, 3, &out);
    ck_assert_str_eq(out.data, "{...}");
    text_finish(&out);
    literal_release(literal);
    ck_assert_ptr_null(literal_parse(shape, "{...}", 5, &used, &err));
    ck_assert(strstr(err.message, "left out") != NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("literal_text");
    TCase *all = tcase_create("literal_text");
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, element_values, 0, sizeof elements / sizeof *elements);
    tcase_add_test(all, small_floats_round_trip);
    tcase_add_test(all, literal_layouts);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
