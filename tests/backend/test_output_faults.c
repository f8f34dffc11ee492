/* Faults in outputs: what each class does to values, that a seed decides all, and mutant: backends
 * that have them. */
#include "backend/output_faults.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/mutant.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/mutate/mutate.h"
#include "hlo/shape.h"
#include "hlo/text/text_format.h"

enum { SEEDS = 64, MOST = 64 };

static struct literal *make(enum type type, int rank, const int64_t *dimensions,
                            const double *values)
{
    struct error err = {0};
    struct literal *literal = literal_zero(shape_array(type, rank, dimensions), &err);
    for (int64_t i = 0; i < literal_elements(literal); i++) {
        literal_set_double(literal, i, values != NULL ? values[i] : (double)(i + 1));
    }
    return literal;
}

/* Plants the class in a copy; the result is the caller's, NULL if there is no place. */
static struct literal *plant(const char *name, uint64_t seed, const struct literal *literal,
                             const struct literal *earlier)
{
    struct literal *outputs[] = {literal_retain(literal)};
    struct literal *before[] = {earlier != NULL ? literal_retain(earlier) : NULL};
    struct text what;
    text_init(&what);
    bool planted = output_fault_plant(output_fault_find(name), seed, outputs,
                                      earlier != NULL ? before : NULL, 1, &what);
    ck_assert_msg(planted == (what.size > 0), "%s: '%s'", name, what.data);
    text_finish(&what);
    literal_release(before[0]);
    if (!planted) {
        ck_assert_msg(literal_equal(outputs[0], literal), "%s", name);
        literal_release(outputs[0]);
        return NULL;
    }
    return outputs[0];
}

static int count_changed(const struct literal *a, const struct literal *b)
{
    int changed = 0;
    for (int64_t i = 0; i < literal_elements(a); i++) {
        changed += literal_get_bits(a, i) != literal_get_bits(b, i);
    }
    return changed;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool same_values(const struct literal *a, const struct literal *b)
{
    double x[MOST], y[MOST];
    size_t count = (size_t)literal_elements(a);
    for (size_t i = 0; i < count; i++) {
        x[i] = literal_get_double(a, (int64_t)i);
        y[i] = literal_get_double(b, (int64_t)i);
    }
    qsort(x, count, sizeof *x, by_value);
    qsort(y, count, sizeof *y, by_value);
    return memcmp(x, y, count * sizeof *x) == 0;
}

START_TEST(a_seed_makes_the_same_change_every_time)
{
    const int64_t dimensions[] = {4, 6};
    const double special[] = {-0.0, NAN, INFINITY, 1e-40, -1, 2,  3,  4,  -5, 6,  7,  8,
                              9,    10,  11,       12,    13, 14, 15, 16, 17, 18, 19, 20};
    struct literal *literal = make(TYPE_F32, 2, dimensions, special);
    struct literal *earlier = make(TYPE_F32, 2, dimensions, NULL);
    for (int f = 0; f < output_fault_count; f++) {
        const char *name = output_faults[f].name;
        if (!output_fault_applies(&output_faults[f], literal->shape, 1)) {
            ck_assert_ptr_null(plant(name, 1, literal, earlier));
            continue;
        }
        bool other = false;
        struct literal *first = plant(name, 1, literal, earlier);
        ck_assert_msg(first != NULL, "%s", name);
        for (uint64_t seed = 1; seed < SEEDS; seed++) {
            struct literal *a = plant(name, seed, literal, earlier);
            struct literal *b = plant(name, seed, literal, earlier);
            ck_assert_msg(a != NULL && literal_equal(a, b), "%s", name);
            ck_assert(shape_compatible(a->shape, literal->shape));
            other |= !literal_equal(a, first);
            literal_release(a);
            literal_release(b);
        }
        static const char whole[] = "stale sign_lost subnormals_flushed zero_unsigned nan_dropped "
                                    "infinity_dropped other_layout";
        ck_assert_msg(other == (strstr(whole, name) == NULL), "%s", name);
        literal_release(first);
    }
    literal_release(literal);
    literal_release(earlier);
}
END_TEST

/* What is true of a class whatever the seed: of the numbers 1 … 24 (negative every other one where
 * signs matter). */
static const struct {
    const char *name;
    int least, most; /* elements that change */
    bool permutes;   /* the values are the same ones */
    bool zeroes;     /* what changes is zero */
} effects[] = {
    {"block_zero", 1, 8, false, true},         {"block_garbage", 0, 8, false, false},
    {"block_stale", 1, 8, false, false},       {"block_repeated", 1, 12, false, false},
    {"block_doubled", 1, 8, false, false},     {"lane_zero", 1, 2, false, true},
    {"tile_zero", 1, 24, false, true},         {"row_zero", 4, 6, false, true},
    {"remainder_zero", 8, 24, false, true},    {"stale", 24, 24, false, false},
    {"elements_exchanged", 2, 2, true, false}, {"rows_exchanged", 8, 12, true, false},
    {"buffer_shifted", 23, 23, false, false},  {"rows_shifted", 18, 20, false, false},
    {"reversed", 24, 24, true, false},         {"other_layout", 22, 22, true, false},
    {"element_wrong", 0, 1, false, false},     {"bit_flip", 1, 1, false, false},
    {"mantissa_flip", 1, 1, false, false},     {"scaled", 24, 24, false, false},
    {"drifted", 20, 24, false, false},         {"toward_zero", 4, 22, false, false},
    {"truncated", 0, 24, false, false},        {"nan_made", 1, 1, false, false},
    {"infinity_made", 1, 1, false, false},
};

START_TEST(classes_change_what_they_say)
{
    const int64_t dimensions[] = {4, 6};
    struct literal *literal = make(TYPE_F32, 2, dimensions, NULL);
    double negative[24];
    for (int i = 0; i < 24; i++) {
        negative[i] = -i - 1;
    }
    struct literal *earlier = make(TYPE_F32, 2, dimensions, negative);
    for (size_t k = 0; k < sizeof effects / sizeof *effects; k++) {
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct literal *changed = plant(effects[k].name, seed, literal, earlier);
            if (changed == NULL) {
                ck_assert_int_eq(effects[k].least, 0);
                continue;
            }
            int count = count_changed(literal, changed);
            ck_assert_msg(count >= effects[k].least && count <= effects[k].most, "%s seed %d: %d",
                          effects[k].name, (int)seed, count);
            ck_assert_msg(!effects[k].permutes || same_values(literal, changed), "%s",
                          effects[k].name);
            for (int64_t i = 0; i < 24; i++) {
                ck_assert(!effects[k].zeroes || literal_get_double(changed, i) == 0 ||
                          literal_get_double(changed, i) == i + 1);
            }
            literal_release(changed);
        }
    }
    literal_release(literal);
    literal_release(earlier);
}
END_TEST

static void expect_values(const char *name, enum type type, int count, const double *before,
                          const double *after)
{
    const int64_t dimensions[] = {count};
    struct literal *literal = make(type, 1, dimensions, before);
    struct literal *want = make(type, 1, dimensions, after);
    struct literal *changed = plant(name, 3, literal, NULL);
    ck_assert_msg(changed != NULL && literal_equal(changed, want), "%s", name);
    literal_release(changed);
    literal_release(want);
    literal_release(literal);
}

#define VALUES(...) ((const double[]){__VA_ARGS__})

START_TEST(special_values_are_lost)
{
    expect_values("nan_dropped", TYPE_F32, 3, VALUES(1, NAN, -2), VALUES(1, 0, -2));
    expect_values("infinity_dropped", TYPE_F16, 3, VALUES(1, INFINITY, -INFINITY),
                  VALUES(1, 65504, -65504));
    expect_values("zero_unsigned", TYPE_F64, 3, VALUES(-0.0, 0, -1), VALUES(0, 0, -1));
    expect_values("subnormals_flushed", TYPE_F32, 3, VALUES(1e-40, -1e-40, 1e-30),
                  VALUES(0, -0.0, 1e-30));
    expect_values("sign_lost", TYPE_S8, 3, VALUES(-128, -1, 5), VALUES(-128, 1, 5));
    expect_values("truncated", TYPE_S16, 3, VALUES(300, -129, 5), VALUES(44, 127, 5));
    expect_values("truncated", TYPE_U16, 2, VALUES(300, 255), VALUES(44, 255));
    const int64_t one[] = {1};
    struct literal *plain = make(TYPE_F32, 1, one, VALUES(1));
    ck_assert_ptr_null(plant("nan_dropped", 1, plain, NULL));
    ck_assert_ptr_null(plant("elements_exchanged", 1, plain, NULL));
    ck_assert_ptr_null(plant("off_by_one", 1, plain, NULL));
    literal_release(plain);
}
END_TEST

/* Bits of elements below a byte stay within the type. */
START_TEST(narrow_elements_stay_what_they_are)
{
    const int64_t dimensions[] = {16};
    const double zero[16] = {0};
    static const struct {
        enum type type;
        int least, most;
    } types[] = {
        {TYPE_PRED, 0, 1}, {TYPE_S4, -8, 7}, {TYPE_U4, 0, 15}, {TYPE_S1, -1, 0}, {TYPE_U1, 0, 1}};
    static const char *const names[] = {"block_garbage", "bit_flip", "element_wrong"};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        struct literal *literal = make(types[t].type, 1, dimensions, zero);
        for (uint64_t seed = 0; seed < 3 * SEEDS; seed++) {
            struct literal *changed = plant(names[seed % 3], seed, literal, NULL);
            ck_assert_ptr_nonnull(changed);
            for (int64_t i = 0; i < 16; i++) {
                int64_t value = literal_get_int(changed, i);
                ck_assert(value >= types[t].least && value <= types[t].most);
            }
            literal_release(changed);
        }
        literal_release(literal);
    }
}
END_TEST

START_TEST(results_of_several_arrays_and_devices)
{
    const int64_t two[] = {2};
    struct literal *outputs[2], *kept[2];
    struct text what;
    text_init(&what);
    for (int d = 0; d < 2; d++) {
        struct literal *arrays[] = {make(TYPE_F32, 1, two, VALUES(10 * d + 1, 2)),
                                    make(TYPE_S32, 1, two, NULL),
                                    make(TYPE_F32, 1, two, VALUES(10 * d + 3, 4))};
        const struct shape *shapes[] = {arrays[0]->shape, arrays[1]->shape, arrays[2]->shape};
        outputs[d] = literal_tuple_take(shape_tuple(3, shapes), arrays);
        kept[d] = literal_retain(outputs[d]);
    }
    for (uint64_t seed = 0; seed < 16; seed++) {
        struct literal *changed[] = {literal_retain(outputs[0]), literal_retain(outputs[1])};
        ck_assert(output_fault_plant(output_fault_find("results_exchanged"), seed, changed, NULL, 2,
                                     &what));
        int d = literal_equal(changed[0], outputs[0]) ? 1 : 0;
        ck_assert(literal_equal(changed[1 - d], outputs[1 - d]));
        ck_assert(literal_equal(literal_leaf(changed[d], 0), literal_leaf(outputs[d], 2)));
        ck_assert(literal_equal(literal_leaf(changed[d], 2), literal_leaf(outputs[d], 0)));
        ck_assert(literal_equal(literal_leaf(changed[d], 1), literal_leaf(outputs[d], 1)));
        literal_release(changed[0]);
        literal_release(changed[1]);
    }
    ck_assert(
        output_fault_plant(output_fault_find("devices_exchanged"), 1, outputs, NULL, 2, &what));
    ck_assert(literal_equal(outputs[0], kept[1]) && literal_equal(outputs[1], kept[0]));
    ck_assert(output_fault_plant(output_fault_find("device_repeated"), 1, outputs, NULL, 2, &what));
    ck_assert(literal_equal(outputs[0], outputs[1]));
    for (int d = 0; d < 2; d++) {
        literal_release(outputs[d]);
        literal_release(kept[d]);
    }
    text_finish(&what);
}
END_TEST

/* --- backends --- */

static const char doubled[] = "HloModule m\nENTRY e { x = f32[4] parameter(0)\n"
                              "  ROOT s = f32[4] add(x, x) }\n";

static void run(struct backend *backend, const double *want)
{
    struct error err = {0};
    struct module *module = text_read_module(doubled, strlen(doubled), "test", 1, &err);
    const int64_t four[] = {4};
    struct literal *arguments[] = {make(TYPE_F32, 1, four, NULL)};
    struct literal *expected = make(TYPE_F32, 1, four, want);
    struct run_result result;
    backend_run(backend, module, arguments, 1, 1, 1, &result);
    ck_assert_msg(result.outcome == OUTCOME_PASS, "%s", result.message);
    ck_assert(literal_equal(result.outputs[0], expected));
    run_result_finish(&result);
    literal_release(expected);
    literal_release(arguments[0]);
    module_destroy(module);
}

START_TEST(backends_have_them)
{
    struct error err = {0};
    struct backend *backend = backend_open("mutant:stale", NULL, &err);
    ck_assert_msg(backend != NULL, "%s", err.message);
    run(backend, VALUES(8, 6, 4, 2)); /* of an earlier run, on the arguments reversed */
    ck_assert_str_eq(mutant_planted(backend), "everything is of an earlier run");
    backend_close(backend);
    backend = backend_open("mutant:reversed?fails=0", NULL, &err);
    ck_assert_msg(backend != NULL, "%s", err.message);
    run(backend, VALUES(2, 4, 6, 8));
    ck_assert_str_eq(mutant_planted(backend), "");
    backend_close(backend);
    ck_assert_ptr_null(backend_open("mutant:stale?instruction=s", NULL, &err));
    ck_assert_str_eq(err.message, "stale is a fault of outputs, and in no instruction");
}
END_TEST

START_TEST(mutants_of_an_open_backend)
{
    struct error err = {0};
    struct backend *inner = backend_open("interp:?fidelity=literal", NULL, &err);
    struct backend *mutant = backend_mutant_of(inner, "reversed", 5, &err);
    ck_assert_str_eq(backend_uri(mutant), "mutant:reversed?seed=5&of=interp:?fidelity=literal");
    run(mutant, VALUES(8, 6, 4, 2));
    struct backend *same = backend_open(backend_uri(mutant), NULL, &err);
    ck_assert_msg(same != NULL, "%s", err.message);
    run(same, VALUES(8, 6, 4, 2));
    backend_close(same);
    backend_close(mutant);
    mutant = backend_mutant_of(inner, "repeated", 1, &err);
    run(mutant, VALUES(2, 4, 6, 8)); /* x + x has no operand that could be taken twice */
    ck_assert_str_eq(mutant_planted(mutant), "");
    backend_close(mutant);
    run(inner, VALUES(2, 4, 6, 8));
    backend_close(inner);
    ck_assert_ptr_null(backend_mutant_of(NULL, "nothing", 1, &err));
    char *uri = mutant_uri("stale", 1, "cpu:?a=1&b=%");
    ck_assert_str_eq(uri, "mutant:stale?seed=1&of=cpu:?a=1%26b=%25");
    free(uri);
}
END_TEST

START_TEST(every_class_has_a_name_of_its_own)
{
    ck_assert_int_eq(mutant_class_count(), mutation_count + output_fault_count);
    for (int i = 0; i < mutant_class_count(); i++) {
        struct mutant_class class = mutant_class(i);
        ck_assert_int_eq(class.in_outputs, output_fault_find(class.name) != NULL);
        ck_assert_int_eq(class.in_outputs, mutation_find(class.name) == NULL);
        for (int k = 0; k < i; k++) {
            ck_assert_str_ne(mutant_class(k).name, class.name);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("output_faults");
    TCase *tests = tcase_create("output_faults");
    tcase_add_test(tests, a_seed_makes_the_same_change_every_time);
    tcase_add_test(tests, classes_change_what_they_say);
    tcase_add_test(tests, special_values_are_lost);
    tcase_add_test(tests, narrow_elements_stay_what_they_are);
    tcase_add_test(tests, results_of_several_arrays_and_devices);
    tcase_add_test(tests, backends_have_them);
    tcase_add_test(tests, mutants_of_an_open_backend);
    tcase_add_test(tests, every_class_has_a_name_of_its_own);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
