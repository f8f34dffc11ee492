/* Faults: where classes apply, that a seed decides all, and that copies stay valid. What each class
 * does to values is in tests/interp/test_mutate.c. */
#include "hlo/mutate/mutate.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "hlo/verify.h"

static const char all_kinds[] =
    "HloModule m, is_scheduled=true\n"
    "sum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }\n"
    "less { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
    "  ROOT l = pred[] compare(a, b), direction=LT }\n"
    "fused { a = f32[4,4] parameter(0)\n b = f32[4,4] parameter(1)\n"
    "  t = f32[4,4] transpose(a), dimensions={1,0}\n ROOT d = f32[4,4] subtract(t, b) }\n"
    "body { s = (s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
    "  v = f32[4] get-tuple-element(s), index=1\n one = s32[] constant(1)\n"
    "  n = s32[] add(i, one)\n w = f32[4] negate(v)\n ROOT b = (s32[], f32[4]) tuple(n, w) }\n"
    "cond { s = (s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
    "  five = s32[] constant(5)\n ROOT l = pred[] compare(i, five), direction=LT }\n"
    "ENTRY e { x = f32[4,4] parameter(0)\n y = f32[4,4] parameter(1)\n"
    "  f = f32[4,4] fusion(x, y), kind=kLoop, calls=fused\n"
    "  d = f32[4,4] dot(f, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  zero = f32[] constant(0)\n"
    "  r = f32[4] reduce(d, zero), dimensions={1}, to_apply=sum\n"
    "  o = f32[4] sort(r), dimensions={0}, to_apply=less\n"
    "  c = s32[] constant(0)\n t = (s32[], f32[4]) tuple(c, o)\n"
    "  ROOT w = (s32[], f32[4]) while(t), condition=cond, body=body }\n";

static struct module *read_text(const char *text)
{
    struct error err = {0};
    struct module *module = text_read_module(text, strlen(text), "test", 1, &err);
    ck_assert_msg(module != NULL, "line %d: %s", err.line, err.message);
    return module;
}

static char *print(const struct module *module)
{
    struct text text;
    text_init(&text);
    text_print_module(module, &print_canonical, &text);
    char *result = text_take(&text);
    text_finish(&text);
    return result;
}

static int count_places(const struct module *module, const char *class)
{
    struct mutation_places places;
    mutation_places(module, mutation_find(class), &places);
    int count = places.count;
    mutation_places_finish(&places);
    return count;
}

/* Counted by hand. */
START_TEST(test_places)
{
    struct module *module = read_text(all_kinds);
    static const struct {
        const char *class;
        int count;
    } wants[] = {
        {"operands", 1},     /* d of fused */
        {"add_subtract", 2}, /* d of fused, n of body: not the reducer's */
        {"constant", 3},     /* one of body, zero and c of the entry: not that of the condition */
        {"comparison", 0},   /* only in comparators and conditions, where it does not apply */
        {"sort_order", 1},   /* l of less */
        {"reducer", 1},      /* s of sum */
        {"transpose", 1},    {"dot", 1},         {"last_element", 1}, {"last_product", 1},
        {"init", 1},         {"trip_count", 1},  {"stale_state", 1},  {"arguments", 1},
        {"gather_index", 0}, {"convolution", 0}, {"narrow", 8}, /* t, d of fused; n, w of body; f,
                                                                   d, r, o of the entry */
    };
    int sum = 0;
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
        ck_assert_msg(count_places(module, wants[i].class) == wants[i].count, "%s: %d, wanted %d",
                      wants[i].class, count_places(module, wants[i].class), wants[i].count);
    }
    for (int m = 0; m < mutation_count; m++) {
        sum += count_places(module, mutations[m].name);
    }
    struct mutation_places all;
    mutation_places(module, NULL, &all);
    ck_assert_int_eq(all.count, sum);
    mutation_places_finish(&all);
    module_destroy(module);
}
END_TEST

/* Asking changes nothing. */
START_TEST(test_asking)
{
    struct module *module = read_text(all_kinds);
    char *before = print(module);
    struct mutation_places places;
    mutation_places(module, NULL, &places);
    mutation_places_finish(&places);
    char *after = print(module);
    ck_assert_str_eq(before, after);
    free(before);
    free(after);
    module_destroy(module);
}
END_TEST

/* Every place of every class leaves a valid module, still in order of its schedule, that says
 * something else; the same seed the same, and the result can be written and read. */
START_TEST(test_every_place)
{
    struct module *module = read_text(all_kinds);
    char *original = print(module);
    for (int m = 0; m < mutation_count; m++) {
        int count = count_places(module, mutations[m].name);
        for (int i = 0; i < 3 * count; i++) {
            char *texts[2];
            for (int round = 0; round < 2; round++) {
                struct module *copy = read_text(all_kinds);
                struct mutation_places places;
                mutation_places(copy, &mutations[m], &places);
                ck_assert_int_eq(places.count, count);
                struct text what;
                struct error err = {0};
                text_init(&what);
                ck_assert_msg(mutate_instruction(places.list[i % count].instruction, &mutations[m],
                                                 (uint64_t)i, &what, &err),
                              "%s", err.message);
                ck_assert_uint_gt(what.size, 0);
                struct findings findings;
                ck_assert(verify_module(copy, &findings));
                findings_finish(&findings);
                struct module *again = text_copy_module(copy, &err);
                ck_assert_msg(again != NULL, "%s: %s", mutations[m].name, err.message);
                module_destroy(again);
                texts[round] = print(copy);
                text_finish(&what);
                mutation_places_finish(&places);
                module_destroy(copy);
            }
            ck_assert_str_eq(texts[0], texts[1]);
            ck_assert_str_ne(texts[0], original);
            free(texts[0]);
            free(texts[1]);
        }
    }
    free(original);
    module_destroy(module);
}
END_TEST

START_TEST(test_not_applicable)
{
    struct module *module = read_text(all_kinds);
    char *before = print(module);
    static const struct {
        const char *class, *computation, *instruction;
    } cases[] = {{"operands", "e", "d"},
                 {"slice", "e", "x"},
                 {"repeated", "fused", "d"},  /* a parameter would be without a user */
                 {"comparison", "cond", "l"}, /* would never end */
                 {"add_subtract", "sum", "s"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct instruction *instruction = computation_find(
            module_find_computation(module, cases[i].computation), cases[i].instruction);
        struct error err = {0};
        struct text what;
        text_init(&what);
        ck_assert(!mutate_instruction(instruction, mutation_find(cases[i].class), 1, &what, &err));
        ck_assert_int_eq(err.code, ERROR_INVALID_ARGUMENT);
        ck_assert_ptr_nonnull(strstr(err.message, "does not apply"));
        text_finish(&what);
    }
    char *after = print(module);
    ck_assert_str_eq(before, after);
    free(before);
    free(after);
    struct error err = {0};
    struct mutant mutant;
    ck_assert_ptr_null(mutate_module(module, mutation_find("gather_index"), 1, &mutant, &err));
    ck_assert_msg(strstr(err.message, "no place for a fault of class gather_index") != NULL, "%s",
                  err.message);
    ck_assert_ptr_null(mutation_find("nothing"));
    module_destroy(module);
}
END_TEST

/* mutate_module leaves its argument, depends on the seed alone, and draws all classes. */
START_TEST(test_modules)
{
    struct module *module = read_text(all_kinds);
    char *before = print(module);
    bool seen[256] = {false};
    int classes = 0, drawn = 0;
    ck_assert_int_lt(mutation_count, 256);
    for (int m = 0; m < mutation_count; m++) {
        classes += count_places(module, mutations[m].name) > 0;
    }
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct mutant mutants[2];
        struct module *copies[2];
        char *texts[2];
        for (int i = 0; i < 2; i++) {
            struct error err = {0};
            copies[i] = mutate_module(module, NULL, seed, &mutants[i], &err);
            ck_assert_msg(copies[i] != NULL, "%s", err.message);
            texts[i] = print(copies[i]);
        }
        ck_assert_str_eq(texts[0], texts[1]);
        ck_assert_str_ne(texts[0], before);
        ck_assert_str_eq(mutants[0].what, mutants[1].what);
        ck_assert_ptr_nonnull(computation_find(
            module_find_computation(copies[0], mutants[0].computation), mutants[0].instruction));
        seen[mutants[0].mutation - mutations] = true;
        for (int i = 0; i < 2; i++) {
            module_destroy(copies[i]);
            free(texts[i]);
        }
    }
    for (int m = 0; m < mutation_count; m++) {
        drawn += seen[m];
    }
    ck_assert_int_eq(drawn, classes);
    char *after = print(module);
    ck_assert_str_eq(before, after);
    free(before);
    free(after);
    module_destroy(module);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mutate");
    TCase *tcase = tcase_create("mutate");
    tcase_add_test(tcase, test_places);
    tcase_add_test(tcase, test_asking);
    tcase_add_test(tcase, test_every_place);
    tcase_add_test(tcase, test_not_applicable);
    tcase_add_test(tcase, test_modules);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
