/* Inputs: the constraints that modules put on them are kept, and the values do not depend on the
 * number of threads. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/inputs.h"
#include "hlo/base/error.h"
#include "hlo/base/pool.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"

static struct module *read(const char *text)
{
    struct error err = {0};
    struct module *module = text_read_module(text, strlen(text), "test", 1, &err);
    ck_assert_msg(module != NULL, "%d:%d %s", err.line, err.column, err.message);
    return module;
}

static struct literal **draw_as(const struct module *module, const struct input_options *options)
{
    struct error err = {0};
    struct literal **arguments = calloc(16, sizeof *arguments);
    ck_assert_msg(inputs_generate(module, options, arguments, NULL, &err), "%s", err.message);
    return arguments;
}

static struct literal **draw(const struct module *module, uint64_t seed)
{
    return draw_as(module, &(struct input_options){.seed = seed});
}

static void finish(struct module *module, struct literal **arguments)
{
    for (int i = 0; i < 16; i++) {
        literal_release(arguments[i]);
    }
    free(arguments);
    module_destroy(module);
}

static void check_range(const struct literal *literal, double low, double high)
{
    for (int64_t i = 0; i < literal_elements(literal); i++) {
        double value = literal_get_double(literal, i);
        ck_assert_msg(value >= low && value <= high, "element %lld is %g, not in [%g, %g]",
                      (long long)i, value, low, high);
    }
}

START_TEST(test_start_indices)
{
    struct module *module =
        read("HloModule m\nENTRY e {\n  x = f32[10,20] parameter(0)\n  i = s32[] parameter(1)\n"
             "  j = s32[] parameter(2)\n  u = f32[3,4] parameter(3)\n  k = u8[] parameter(4)\n"
             "  z = u8[] constant(0)\n"
             "  s = f32[4,5] dynamic-slice(x, i, j), dynamic_slice_sizes={4,5}\n"
             "  d = f32[10,20] dynamic-update-slice(x, u, k, z)\n"
             "  ROOT t = (f32[4,5], f32[10,20]) tuple(s, d)\n}\n");
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct literal **arguments = draw(module, seed);
        check_range(arguments[1], 0, 6);
        check_range(arguments[2], 0, 15);
        check_range(arguments[4], 0, 7);
        finish(NULL, arguments);
    }
    module_destroy(module);
}
END_TEST

#define LOOK_UP                                                                            \
    "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, " \
    "slice_sizes={1,3}"

START_TEST(test_gather_through_control_flow)
{
    struct module *module =
        read("HloModule m\n"
             "look { t = f32[7,3] parameter(0)\n  i = s32[5,1] parameter(1)\n"
             "  ROOT g = f32[5,3] gather(t, i), " LOOK_UP " }\n"
             "ENTRY e {\n  t = f32[7,3] parameter(0)\n  i = s64[5] parameter(1)\n"
             "  c = s32[5] convert(i)\n  r = s32[5,1] reshape(c)\n"
             "  ROOT f = f32[5,3] call(t, r), to_apply=look\n}\n");
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct literal **arguments = draw(module, seed);
        check_range(arguments[1], 0, 6);
        finish(NULL, arguments);
    }
    module_destroy(module);
}
END_TEST

#define TAKE(name, rows)                                                               \
    name " { t = f32[" rows ",3] parameter(0)\n  i = s32[5] parameter(1)\n"            \
         "  z = s32[] constant(0)\n  zs = s32[5] broadcast(z), dimensions={}\n"        \
         "  n = s32[] constant(" rows ")\n  ns = s32[5] broadcast(n), dimensions={}\n" \
         "  c = pred[5] compare(i, zs), direction=LT\n  a = s32[5] add(i, ns)\n"       \
         "  w = s32[5] call(c, a, i), to_apply=where\n  r = s32[5,1] reshape(w)\n"     \
         "  ROOT g = f32[5,3] gather(t, r), " LOOK_UP " }\n"
#define WHERE                                                       \
    "where { p = pred[5] parameter(0)\n  a = s32[5] parameter(1)\n" \
    "  b = s32[5] parameter(2)\n  ROOT s = s32[5] select(p, a, b) }\n"
#define TWO_TABLES                                                        \
    "ENTRY e {\n  t = f32[7,3] parameter(0)\n  i = s32[5] parameter(1)\n" \
    "  u = f32[100,3] parameter(2)\n  k = s32[5] parameter(3)\n"          \
    "  x = f32[5,3] call(t, i), to_apply=take7\n"                         \
    "  y = f32[5,3] call(u, k), to_apply=take100\n"                       \
    "  ROOT s = f32[5,3] add(x, y)\n}\n"

/* As JAX looks up two tables: what wraps negative indices is one computation for both. */
START_TEST(test_demands_of_each_call)
{
    struct module *module =
        read("HloModule m\n" WHERE TAKE("take7", "7") TAKE("take100", "100") TWO_TABLES);
    bool large = false;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct literal **arguments = draw(module, seed);
        check_range(arguments[1], 0, 6);
        check_range(arguments[3], 0, 99);
        large |= literal_get_int(arguments[3], 0) > 6;
        finish(NULL, arguments);
    }
    ck_assert(large);
    module_destroy(module);
}
END_TEST

/* Adam's corrected rate, sqrt(1 - 0.999^t) / (1 - 0.9^t): steps are counted from one. */
START_TEST(test_counted_steps)
{
    struct module *module =
        read("HloModule m\nENTRY e {\n  n = s32[] parameter(0)\n  one = s32[] constant(1)\n"
             "  m = s32[] add(n, one)\n  t = f32[] convert(m)\n  i = f32[] constant(1)\n"
             "  b = f32[] constant(0.999)\n  a = f32[] constant(0.9)\n  p = f32[] power(b, t)\n"
             "  q = f32[] power(a, t)\n  v = f32[] subtract(i, p)\n  w = f32[] subtract(i, q)\n"
             "  r = f32[] sqrt(v)\n  ROOT d = f32[] divide(r, w)\n}\n");
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct literal **arguments = draw(module, seed);
        check_range(arguments[0], 0, 7);
        finish(NULL, arguments);
    }
    module_destroy(module);
}
END_TEST

/* What is looked up counted from the end, and from the third. */
START_TEST(test_indices_plus_and_minus)
{
    struct module *module =
        read("HloModule m\nENTRY e {\n  x = f32[10,20] parameter(0)\n  i = s32[] parameter(1)\n"
             "  j = u32[] parameter(2)\n  last = s32[] constant(9)\n  three = u32[] constant(3)\n"
             "  k = s32[] subtract(last, i)\n  n = u32[] add(three, j)\n"
             "  m = s32[] convert(n)\n"
             "  ROOT s = f32[4,5] dynamic-slice(x, k, m), dynamic_slice_sizes={4,5}\n}\n");
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct literal **arguments = draw(module, seed);
        check_range(arguments[1], 3, 9);
        check_range(arguments[2], 0, 12);
        finish(NULL, arguments);
    }
    module_destroy(module);
}
END_TEST

START_TEST(test_sort_keys_are_distinct)
{
    struct module *module =
        read("HloModule m\n"
             "less { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  c = s32[] parameter(2)\n"
             "  d = s32[] parameter(3)\n  ROOT l = pred[] compare(a, b), direction=LT }\n"
             "ENTRY e {\n  k = f32[300] parameter(0)\n  v = s32[300] parameter(1)\n"
             "  ROOT s = (f32[300], s32[300]) sort(k, v), dimensions={0}, to_apply=less\n}\n");
    struct literal **arguments = draw(module, 3);
    for (int i = 0; i < 300; i++) {
        for (int k = 0; k < i; k++) {
            ck_assert(literal_get_double(arguments[0], i) != literal_get_double(arguments[0], k));
        }
    }
    finish(module, arguments);
}
END_TEST

START_TEST(test_init_values_are_identities)
{
    struct module *module = read(
        "HloModule m\n"
        "most { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT m = f32[] maximum(a, b) "
        "}\n"
        "all { a = pred[] parameter(0)\n  b = pred[] parameter(1)\n  ROOT m = pred[] and(a, b) }\n"
        "times { a = s32[] parameter(0)\n  b = s32[] parameter(1)\n"
        "  ROOT m = s32[] multiply(a, b) }\n"
        "ENTRY e {\n  x = f32[4] parameter(0)\n  i = f32[] parameter(1)\n  y = pred[4] "
        "parameter(2)\n"
        "  j = pred[] parameter(3)\n  z = s32[4] parameter(4)\n  k = s32[] parameter(5)\n"
        "  a = f32[] reduce(x, i), dimensions={0}, to_apply=most\n"
        "  b = pred[] reduce(y, j), dimensions={0}, to_apply=all\n"
        "  c = s32[] reduce(z, k), dimensions={0}, to_apply=times\n"
        "  ROOT t = (f32[], pred[], s32[]) tuple(a, b, c)\n}\n");
    struct literal **arguments = draw(module, 1);
    ck_assert(literal_get_double(arguments[1], 0) == -INFINITY);
    ck_assert_int_eq(literal_get_int(arguments[3], 0), 1);
    ck_assert_int_eq(literal_get_int(arguments[5], 0), 1);
    finish(module, arguments);
}
END_TEST

/* The index of the smallest, as JAX writes it: NaN wins, ties go to the lower index. And a product
 * of complex numbers. */
START_TEST(test_init_values_of_several_results)
{
    struct module *module = read(
        "HloModule m\n"
        "least {\n  a = f32[] parameter(0)\n  i = s32[] parameter(1)\n  b = f32[] parameter(2)\n"
        "  j = s32[] parameter(3)\n  less = pred[] compare(a, b), direction=LT\n"
        "  odd = pred[] compare(a, a), direction=NE\n  keep = pred[] or(less, odd)\n"
        "  same = pred[] compare(a, b), direction=EQ\n"
        "  lower = pred[] compare(i, j), direction=LT\n  tie = pred[] and(same, lower)\n"
        "  first = pred[] or(keep, tie)\n  v = f32[] select(keep, a, b)\n"
        "  w = s32[] select(first, i, j)\n  ROOT r = (f32[], s32[]) tuple(v, w)\n}\n"
        "times { a = c64[] parameter(0)\n  b = c64[] parameter(1)\n"
        "  ROOT m = c64[] multiply(a, b) }\n"
        "ENTRY e {\n  x = f32[4] parameter(0)\n  y = s32[4] iota(), iota_dimension=0\n"
        "  i = f32[] parameter(1)\n  z = s32[] constant(0)\n  c = c64[4] parameter(2)\n"
        "  k = c64[] parameter(3)\n"
        "  l = (f32[], s32[]) reduce(x, y, i, z), dimensions={0}, to_apply=least\n"
        "  m = c64[] reduce(c, k), dimensions={0}, to_apply=times\n"
        "  ROOT t = ((f32[], s32[]), c64[]) tuple(l, m)\n}\n");
    struct literal **arguments = draw(module, 1);
    ck_assert(literal_get_double(arguments[1], 0) == INFINITY);
    ck_assert(literal_get_double(arguments[3], 0) == 1);
    ck_assert(literal_get_imaginary(arguments[3], 0) == 0);
    finish(module, arguments);
}
END_TEST

/* What does not verify is drawn for without demands: its attributes may be anything. */
START_TEST(test_malformed)
{
    struct module *module =
        read("HloModule m\nc { a = f32[] parameter(0)\n  ROOT b = f32[] parameter(1) }\n"
             "ENTRY e {\n  x = f32[4] parameter(0)\n  i = s32[2,1] parameter(1)\n"
             "  u = f32[2] parameter(2)\n"
             "  ROOT r = f32[4] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, "
             "scatter_dims_to_operand_dims={1094795585}, index_vector_dim=1, to_apply=c\n}\n");
    finish(module, draw_as(module, &(struct input_options){.seed = 1, .unverified = true}));
}
END_TEST

START_TEST(test_domains)
{
    struct module *module =
        read("HloModule m\nENTRY e {\n  x = f32[100] parameter(0)\n  v = f32[100] parameter(1)\n"
             "  d = f32[100] parameter(2)\n  e = f32[] constant(1e-5)\n"
             "  es = f32[100] broadcast(e), dimensions={}\n  s = f32[100] add(v, es)\n"
             "  r = f32[100] rsqrt(s)\n  l = f32[100] log(x)\n  m = f32[100] multiply(r, l)\n"
             "  ROOT q = f32[100] divide(m, d)\n}\n");
    for (uint64_t seed = 0; seed < 5; seed++) {
        struct literal **arguments = draw(module, seed);
        check_range(arguments[0], 1e-3, 100);
        check_range(arguments[1], 1e-3, 100);
        for (int i = 0; i < 100; i++) {
            ck_assert(fabs(literal_get_double(arguments[2], i)) > 1e-2);
        }
        finish(NULL, arguments);
    }
    module_destroy(module);
}
END_TEST

START_TEST(test_threads_change_nothing)
{
    struct module *module = read(
        "HloModule m\nENTRY e {\n  x = f32[50000] parameter(0)\n  y = bf16[50000] parameter(1)\n"
        "  c = f32[50000] convert(y)\n  ROOT s = f32[50000] add(x, c)\n}\n");
    pool_set_threads(1);
    struct literal **one = draw(module, 9);
    pool_set_threads(4);
    struct literal **four = draw(module, 9);
    struct literal **other = draw(module, 10);
    ck_assert(literal_equal(one[0], four[0]));
    ck_assert(literal_equal(one[1], four[1]));
    ck_assert(!literal_equal(one[0], other[0]));
    finish(NULL, one);
    finish(NULL, four);
    finish(module, other);
}
END_TEST

START_TEST(test_vacuous)
{
    struct module *module = read("HloModule m\nENTRY e {\n  x = f32[3] parameter(0)\n"
                                 "  ROOT l = f32[3] log(x)\n}\n");
    static const struct {
        float values[3];
        bool vacuous;
    } rows[] = {{{1, 2, 3}, false},
                {{NAN, NAN, NAN}, true},
                {{5, 5, 5}, true},
                {{INFINITY, -INFINITY, INFINITY}, true},
                {{NAN, 1, 1}, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error err = {0};
        struct literal *output = literal_create(module->entry->root->shape, &err);
        memcpy(literal_data(output), rows[i].values, sizeof rows[i].values);
        const char *why;
        ck_assert_int_eq(outputs_are_vacuous(module, output, &why), rows[i].vacuous);
        literal_release(output);
    }
    module_destroy(module);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("inputs");
    TCase *tests = tcase_create("constraints");
    tcase_add_test(tests, test_start_indices);
    tcase_add_test(tests, test_gather_through_control_flow);
    tcase_add_test(tests, test_demands_of_each_call);
    tcase_add_test(tests, test_counted_steps);
    tcase_add_test(tests, test_indices_plus_and_minus);
    tcase_add_test(tests, test_sort_keys_are_distinct);
    tcase_add_test(tests, test_init_values_are_identities);
    tcase_add_test(tests, test_init_values_of_several_results);
    tcase_add_test(tests, test_malformed);
    tcase_add_test(tests, test_domains);
    tcase_add_test(tests, test_threads_change_nothing);
    tcase_add_test(tests, test_vacuous);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
