/* Literals: sharing, copy on write, tuples, unspecified elements, dynamic sizes, limits. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"

static const struct shape *shape_of(const char *text)
{
    struct error err = {0};
    const struct shape *shape = shape_parse(text, strlen(text), NULL, &err);
    ck_assert_msg(shape != NULL, "%s", err.message);
    return shape;
}

static struct literal *read(const char *shape, const char *value)
{
    struct error err = {0};
    size_t used;
    struct literal *literal = literal_parse(shape_of(shape), value, strlen(value), &used, &err);
    ck_assert_msg(literal != NULL, "%s %s: %s", shape, value, err.message);
    ck_assert_uint_eq(used, strlen(value));
    return literal;
}

START_TEST(test_create)
{
    struct error err = {0};
    struct literal *literal = literal_zero(shape_of("f32[3,2]{0,1}"), &err);
    ck_assert_int_eq(literal_elements(literal), 6);
    ck_assert_uint_eq((uintptr_t)literal_data(literal) % 64, 0);
    for (int i = 0; i < 6; i++) {
        ck_assert_uint_eq(literal_get_bits(literal, i), 0);
    }
    literal_release(literal);
    literal = literal_zero(shape_of("f32[0]"), &err);
    ck_assert_int_eq(literal_elements(literal), 0);
    literal_release(literal);
    literal = literal_zero(shape_of("(token[], s8[2])"), &err);
    ck_assert_ptr_null(literal->elements[0]->buffer);
    ck_assert_int_eq(literal_get_int(literal->elements[1], 1), 0);
    literal_release(literal);
    literal_release(NULL);
}
END_TEST

START_TEST(test_sharing)
{
    struct error err = {0};
    size_t before = literal_memory_in_use();
    struct literal *literal = read("s32[4]", "{1, 2, 3, 4}");
    ck_assert(literal_is_unique(literal));
    struct literal *view = literal_view(literal, shape_of("s32[2,2]"));
    ck_assert_ptr_eq(literal_data(view), literal_data(literal));
    ck_assert(!literal_is_unique(literal));
    ck_assert(!literal_is_unique(view));
    /* Copy on write: the other one keeps its data. */
    struct literal *own = literal_own_take(view, &err);
    ck_assert_ptr_ne(literal_data(own), literal_data(literal));
    literal_set_int(own, 0, 9);
    ck_assert_int_eq(literal_get_int(literal, 0), 1);
    ck_assert_int_eq(literal_get_int(own, 0), 9);
    ck_assert_int_eq(literal_get_int(own, 3), 4);
    /* Unique now: no copy. */
    void *data = literal_data(literal);
    ck_assert(literal_is_unique(literal));
    literal = literal_own_take(literal, &err);
    ck_assert_ptr_eq(literal_data(literal), data);
    struct literal *second = literal_retain(literal);
    ck_assert(!literal_is_unique(literal));
    literal_release(second);
    ck_assert(literal_is_unique(literal));
    literal_release(literal);
    literal_release(own);
    ck_assert_uint_eq(literal_memory_in_use(), before);
}
END_TEST

START_TEST(test_tuples)
{
    struct error err = {0};
    struct literal *parts[] = {read("s32[2]", "{1, 2}"), read("f32[]", "3")};
    struct literal *shared = literal_retain(parts[0]);
    struct literal *tuple = literal_tuple_take(shape_of("(s32[2], f32[])"), parts);
    ck_assert(!literal_is_unique(tuple));
    tuple = literal_own_take(tuple, &err); /* copies what is shared */
    literal_set_int(tuple->elements[0], 0, 7);
    ck_assert_int_eq(literal_get_int(shared, 0), 1);
    literal_release(shared);
    struct literal *nested_parts[] = {tuple, read("pred[]", "true")};
    struct literal *nested =
        literal_tuple_take(shape_of("((s32[2], f32[]), pred[])"), nested_parts);
    ck_assert_int_eq(literal_get_int(literal_leaf(nested, 0), 0), 7);
    ck_assert(literal_get_double(literal_leaf(nested, 1), 0) == 3);
    ck_assert_int_eq(literal_get_int(literal_leaf(nested, 2), 0), 1);
    struct literal *same = read("((s32[2], f32[]), pred[])", "( ( {7, 2}, 3 ), true )");
    ck_assert(literal_equal(nested, same));
    ck_assert_uint_eq(literal_hash(nested), literal_hash(same));
    literal_set_int(literal_leaf(same, 2), 0, 0);
    ck_assert(!literal_equal(nested, same));
    ck_assert_uint_ne(literal_hash(nested), literal_hash(same));
    literal_release(nested);
    literal_release(same);
}
END_TEST

START_TEST(test_equality)
{
    struct literal *a = read("f32[2]", "{0, nan}"), *b = read("f32[2]", "{0, nan}");
    ck_assert(literal_equal(a, b));
    literal_set_double(b, 0, -0.0); /* bits count */
    ck_assert(!literal_equal(a, b));
    literal_release(b);
    b = read("f32[2]{0:S(1)}", "{0, nan}"); /* layouts do not */
    ck_assert(literal_equal(a, b));
    literal_release(b);
    b = read("s32[2]", "{0, 0}");
    ck_assert(!literal_equal(a, b));
    literal_release(a);
    literal_release(b);
}
END_TEST

START_TEST(test_unspecified)
{
    struct error err = {0};
    struct literal *literal = literal_zero(shape_of("f32[20]"), &err);
    ck_assert(!literal_has_unspecified(literal));
    literal_mark_unspecified(literal, 0);
    literal_mark_unspecified(literal, 19);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(literal_is_unspecified(literal, i), i == 0 || i == 19);
    }
    struct literal *copy = literal_own_take(literal_view(literal, shape_of("f32[4,5]")), &err);
    ck_assert_ptr_ne(literal_data(copy), literal_data(literal));
    ck_assert(literal_is_unspecified(copy, 19)); /* marks are copied, too */
    literal_mark_unspecified(copy, 1);
    ck_assert(!literal_is_unspecified(literal, 1));
    literal_release(literal);
    struct literal *parts[] = {copy};
    struct literal *tuple = literal_tuple_take(shape_of("(f32[4,5])"), parts);
    ck_assert(literal_has_unspecified(tuple));
    literal_release(tuple);
}
END_TEST

START_TEST(test_dynamic)
{
    struct error err = {0};
    struct literal *a = literal_zero(shape_of("s32[<=4,2]"), &err);
    ck_assert_int_eq(a->dynamic_sizes[0], 4);
    ck_assert_int_eq(a->dynamic_sizes[1], 2);
    struct literal *b = literal_zero(shape_of("s32[<=4,2]"), &err);
    ck_assert(literal_equal(a, b));
    b->dynamic_sizes[0] = 3;
    ck_assert(!literal_equal(a, b));
    struct literal *view = literal_view(b, shape_of("s32[<=4,2]{0,1}"));
    ck_assert_int_eq(view->dynamic_sizes[0], 3);
    struct literal *own = literal_own_take(view, &err);
    ck_assert_int_eq(own->dynamic_sizes[0], 3);
    literal_release(a);
    literal_release(b);
    literal_release(own);
}
END_TEST

START_TEST(test_memory_limit)
{
    struct error err = {0};
    size_t before = literal_memory_in_use();
    literal_set_memory_limit(before + 1000);
    struct literal *small = literal_create(shape_of("u8[600]"), &err);
    ck_assert_ptr_nonnull(small);
    ck_assert_ptr_null(literal_create(shape_of("u8[600]"), &err));
    ck_assert_int_eq(err.code, ERROR_RESOURCE_EXHAUSTED);
    error_clear(&err);
    /* Of a tuple that does not fit nothing stays. */
    ck_assert_ptr_null(literal_create(shape_of("(u8[300], u8[600])"), &err));
    ck_assert_int_eq(err.code, ERROR_RESOURCE_EXHAUSTED);
    ck_assert_uint_eq(literal_memory_in_use(), before + 600);
    literal_release(small);
    ck_assert_uint_eq(literal_memory_in_use(), before);
    ck_assert_uint_ge(literal_memory_peak(), before + 600);
    literal_set_memory_limit(0);
    error_clear(&err);
    const int64_t sizes[] = {INT64_MAX / 16}; /* more than there is */
    ck_assert_ptr_null(literal_create(shape_array(TYPE_F64, 1, sizes), &err));
    ck_assert_int_eq(err.code, ERROR_RESOURCE_EXHAUSTED);
}
END_TEST

/* Large arrays are taken from memory released before: they must be as good as new ones. */
START_TEST(test_large)
{
    struct error err = {0};
    const struct shape *shape = shape_of("u8[8388608]");
    for (int round = 0; round < 40; round++) {
        struct literal *literal = literal_zero(shape, &err);
        const unsigned char *data = literal_data(literal);
        ck_assert_int_eq(data[0] | data[4194304] | data[8388607], 0);
        memset(literal_data(literal), 0xff, 8388608);
        ck_assert(!literal_has_unspecified(literal));
        literal_mark_unspecified(literal, 5);
        literal_release(literal);
    }
}
END_TEST

/* What a double becomes in each kind of type. */
START_TEST(test_elements)
{
    struct error err = {0};
    static const struct {
        const char *shape;
        double value, expected;
    } cases[] = {
        {"f32[]", 1.0 / 3, 0x1.555556p-2},
        {"bf16[]", 1.0 / 3, 0x1.56p-2},
        {"f16[]", 70000, INFINITY},
        {"f8e4m3fn[]", 0x1.1p0, 1},
        {"s8[]", -3.9, -3},
        {"u8[]", 250.5, 250},
        {"pred[]", 0.5, 1},
        {"pred[]", 0, 0},
        {"u64[]", 0x1.8p63, 0x1.8p63},
        {"s64[]", -0x1p63, -0x1p63},
        {"s64[]", 1e300, 0x1p63},
        {"s64[]", NAN, 0},
        {"c64[]", 1.0 / 3, 0x1.555556p-2},
        {"f64[]", 1.0 / 3, 1.0 / 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct literal *literal = literal_zero(shape_of(cases[i].shape), &err);
        literal_set_double(literal, 0, cases[i].value);
        ck_assert_msg(literal_get_double(literal, 0) == cases[i].expected, "%s of %g is %g",
                      cases[i].shape, cases[i].value, literal_get_double(literal, 0));
        literal_release(literal);
    }
    struct literal *complex = literal_zero(shape_of("c128[2]"), &err);
    literal_set_complex(complex, 1, 2, -3);
    ck_assert(literal_get_double(complex, 1) == 2 && literal_get_imaginary(complex, 1) == -3);
    ck_assert(literal_get_double(complex, 0) == 0);
    literal_release(complex);
}
END_TEST

/* The fill of elided constants is the same always, and differs by salt. */
START_TEST(test_fill)
{
    struct error err = {0};
    const struct shape *shape = shape_of("(f32[100], s8[100], pred[7])");
    struct literal *a = literal_fill(shape, 1, &err), *b = literal_fill(shape, 1, &err);
    struct literal *c = literal_fill(shape, 2, &err);
    ck_assert(literal_equal(a, b));
    ck_assert(!literal_equal(a, c));
    for (int i = 0; i < 100; i++) {
        ck_assert(isfinite(literal_get_double(literal_leaf(a, 0), i)));
    }
    literal_release(a);
    literal_release(b);
    literal_release(c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("literal");
    TCase *tcase = tcase_create("literal");
    tcase_add_test(tcase, test_create);
    tcase_add_test(tcase, test_sharing);
    tcase_add_test(tcase, test_tuples);
    tcase_add_test(tcase, test_equality);
    tcase_add_test(tcase, test_unspecified);
    tcase_add_test(tcase, test_dynamic);
    tcase_add_test(tcase, test_memory_limit);
    tcase_add_test(tcase, test_large);
    tcase_add_test(tcase, test_elements);
    tcase_add_test(tcase, test_fill);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
