/* Shrinking what has many parts: variadic operations, collectives on grids of devices, loops,
 * conditionals, windows, dynamic sizes. The failure is a property of the module's text, so the
 * smallest module that has it is known. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "compare/devices.h"
#include "compare/inputs.h"
#include "compare/shrink.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "hlo/verify.h"
#include "interp/interp.h"

static char *print(const struct specimen *specimen)
{
    struct text text;
    text_init(&text);
    text_print_module(specimen->module, &print_short, &text);
    char *taken = text_take(&text);
    text_finish(&text);
    return taken;
}

static const struct {
    const char *text;
    const char *wanted[5];     /* words that have to stay: the failure */
    int instructions, devices; /* at most, of all computations; exactly */
    const char *left, *gone;   /* a word of what is left, and one that is not; NULL: any */
} cases[] = {
    /* One of two sorted arrays; the comparator's parameters of the other go too. */
    {"HloModule m\n"
     "less { a = f32[] parameter(0) b = f32[] parameter(1) c = s32[] parameter(2)\n"
     "  d = s32[] parameter(3) ROOT l = pred[] compare(a, b), direction=LT }\n"
     "ENTRY e { x = f32[6] parameter(0) i = s32[6] parameter(1)\n"
     "  s = (f32[6], s32[6]) sort(x, i), dimensions={0}, to_apply=less\n"
     "  v = f32[6] get-tuple-element(s), index=0 ROOT r = f32[6] negate(v) }\n",
     {"negate(", "sort("},
     6,
     1,
     "ROOT negate = ",
     "s32"},
    /* A reduction of two arrays of which one is enough. */
    {"HloModule m\n"
     "most { a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2)\n"
     "  j = s32[] parameter(3) g = pred[] compare(a, b), direction=GE\n"
     "  v = f32[] select(g, a, b) k = s32[] select(g, i, j)\n"
     "  ROOT t = (f32[], s32[]) tuple(v, k) }\n"
     "ENTRY e { x = f32[6,4] parameter(0) n = s32[6,4] iota(), iota_dimension=1\n"
     "  z = f32[] constant(0) y = s32[] constant(0)\n"
     "  s = (f32[6], s32[6]) reduce(x, n, z, y), dimensions={1}, to_apply=most\n"
     "  v = f32[6] get-tuple-element(s), index=0 ROOT r = f32[6] negate(v) }\n",
     {"negate(", "reduce("},
     6,
     1,
     "reduce(",
     "s32"},
    /* A scatter of two arrays. */
    {"HloModule m\n"
     "both { a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2)\n"
     "  j = s32[] parameter(3) s = f32[] add(a, b) k = s32[] add(i, j)\n"
     "  ROOT t = (f32[], s32[]) tuple(s, k) }\n"
     "ENTRY e { x = f32[6] parameter(0) y = s32[6] parameter(1) i = s32[2,1] parameter(2)\n"
     "  u = f32[2] parameter(3) w = s32[2] parameter(4)\n"
     "  s = (f32[6], s32[6]) scatter(x, y, i, u, w), update_window_dims={},\n"
     "    inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1,\n"
     "    to_apply=both\n"
     "  v = f32[6] get-tuple-element(s), index=0 ROOT r = f32[6] negate(v) }\n",
     {"negate(", "scatter("},
     7,
     1,
     "scatter(",
     "tuple("},
    /* Two of five operands. */
    {"HloModule m\n"
     "ENTRY e { a = f32[3,2] parameter(0) b = f32[4,2] parameter(1) c = f32[5,2] parameter(2)\n"
     "  d = f32[6,2] parameter(3) f = f32[7,2] parameter(4) n = f32[5,2] negate(c)\n"
     "  ROOT r = f32[25,2] concatenate(a, b, n, d, f), dimensions={0} }\n",
     {"concatenate(", "negate("},
     3,
     1,
     "concatenate(",
     ", p1"},
    {"HloModule m\n"
     "ENTRY e { a = f32[3] parameter(0) b = f32[3] parameter(1) c = s32[] parameter(2)\n"
     "  n = f32[3] negate(a)\n"
     "  ROOT r = f32[3] custom-call(b, n, c), custom_call_target=\"x\",\n"
     "    operand_layout_constraints={f32[3]{0}, f32[3]{0}, s32[]} }\n",
     {"custom-call(", "negate("},
     3,
     1,
     "custom-call(negate)",
     "s32"},
    /* A collective needs two devices, not eight; sizes that come from them follow. */
    {"HloModule m, replica_count=8\n"
     "ENTRY e { a = f32[4] parameter(0)\n"
     "  g = f32[16] all-gather(a), dimensions={0}, replica_groups={{0,1,2,3},{4,5,6,7}}\n"
     "  ROOT n = f32[16] negate(g) }\n",
     {"all-gather(", "negate(", "replica_groups={{0,1"},
     3,
     2,
     "f32[2]",
     NULL},
    {"HloModule m, num_partitions=4\n"
     "ENTRY e { a = f32[4] parameter(0) x = f32[4] exponential(a)\n"
     "  p = f32[4] collective-permute(x), channel_id=1, source_target_pairs={{0,1},{2,3},{3,0}}\n"
     "  ROOT n = f32[4] negate(p) }\n",
     {"collective-permute(", "{{0,1}"},
     2,
     2,
     "source_target_pairs={{0,1}}",
     NULL},
    {"HloModule m, replica_count=2, num_partitions=2\n"
     "ENTRY e { a = f32[4] parameter(0) i = u32[] partition-id() f = f32[] convert(i)\n"
     "  b = f32[4] broadcast(f), dimensions={} ROOT r = f32[4] add(a, b) }\n",
     {"partition-id("},
     1,
     1,
     NULL,
     "replica_count"},
    /* An element of the state that only feeds itself. */
    {"HloModule m\n"
     "body { s = (s32[], f32[3], f32[3]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
     "  x = f32[3] get-tuple-element(s), index=1 y = f32[3] get-tuple-element(s), index=2\n"
     "  one = s32[] constant(1) j = s32[] add(i, one) t = f32[3] tanh(x)\n"
     "  n = f32[3] negate(y) m = f32[3] multiply(n, x)\n"
     "  ROOT o = (s32[], f32[3], f32[3]) tuple(j, t, m) }\n"
     "condition { s = (s32[], f32[3], f32[3]) parameter(0)\n"
     "  i = s32[] get-tuple-element(s), index=0 n = s32[] constant(5)\n"
     "  ROOT l = pred[] compare(i, n), direction=LT }\n"
     "ENTRY e { z = s32[] constant(0) x = f32[3] parameter(0) y = f32[3] parameter(1)\n"
     "  s = (s32[], f32[3], f32[3]) tuple(z, x, y)\n"
     "  w = (s32[], f32[3], f32[3]) while(s), condition=condition, body=body\n"
     "  ROOT r = f32[3] get-tuple-element(w), index=1 }\n",
     {"while(", "tanh("},
     14,
     1,
     "tanh(",
     "multiply("},
    /* The state is what the module is given and gives. */
    {"HloModule m\n"
     "body { s = (s32[], f32[3], f32[3], f32[2]) parameter(0)\n"
     "  i = s32[] get-tuple-element(s), index=0 x = f32[3] get-tuple-element(s), index=1\n"
     "  y = f32[3] get-tuple-element(s), index=2 z = f32[2] get-tuple-element(s), index=3\n"
     "  one = s32[] constant(1) j = s32[] add(i, one) t = f32[3] tanh(x)\n"
     "  n = f32[3] negate(y) ROOT o = (s32[], f32[3], f32[3], f32[2]) tuple(j, t, n, z) }\n"
     "condition { s = (s32[], f32[3], f32[3], f32[2]) parameter(0)\n"
     "  i = s32[] get-tuple-element(s), index=0 n = s32[] constant(5)\n"
     "  ROOT l = pred[] compare(i, n), direction=LT }\n"
     "ENTRY e { s = (s32[], f32[3], f32[3], f32[2]) parameter(0)\n"
     "  ROOT w = (s32[], f32[3], f32[3], f32[2]) while(s), condition=condition, body=body }\n",
     {"while(", "tanh(", "compare("},
     9,
     1,
     " (f32[1]{0}) while(",
     "negate("},
    /* What branches are given and do not read, and what they give and nobody reads. */
    {"HloModule m\n"
     "yes { p = (f32[2], f32[3]) parameter(0) a = f32[2] get-tuple-element(p), index=0\n"
     "  n = f32[2] negate(a) c = f32[3] constant({1,2,3})\n"
     "  ROOT t = (f32[2], f32[3]) tuple(n, c) }\n"
     "no { p = (f32[2], f32[3]) parameter(0) a = f32[2] get-tuple-element(p), index=0\n"
     "  b = f32[3] get-tuple-element(p), index=1 ROOT t = (f32[2], f32[3]) tuple(a, b) }\n"
     "ENTRY e { w = pred[] parameter(0) a = f32[2] parameter(1) b = f32[3] parameter(2)\n"
     "  o = (f32[2], f32[3]) tuple(a, b)\n"
     "  c = (f32[2], f32[3]) conditional(w, o, o), true_computation=yes, false_computation=no\n"
     "  x = f32[2] get-tuple-element(c), index=0 ROOT r = f32[2] exponential(x) }\n",
     {"conditional(", "negate(", "exponential("},
     7,
     1,
     "negate(",
     "tuple"},
    /* A window and the base that it walks over become smaller together. */
    {"HloModule m\n"
     "most { a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = f32[] maximum(a, b) }\n"
     "ENTRY e { x = f32[9,12] parameter(0) z = f32[] constant(0)\n"
     "  ROOT w = f32[4,12] reduce-window(x, z), window={size=5x3 stride=2x1 pad=1_1x1_1},\n"
     "    to_apply=most }\n",
     {"reduce-window("},
     6,
     1,
     "f32[1,1]",
     "stride"},
    /* Contracting and free sizes that a reshape binds. */
    {"HloModule m\n"
     "ENTRY e { x = f32[6,35] parameter(0) y = f32[7,4] parameter(1) r = f32[30,7] reshape(x)\n"
     "  ROOT d = f32[30,4] dot(r, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n",
     {"dot(", "reshape("},
     4,
     1,
     "dot(",
     "30"},
    /* Sizes that a reshape lets become smaller only together. */
    {"HloModule m\n"
     "ENTRY e { x = f32[25,49] parameter(0) n = f32[25,49] negate(x)\n"
     "  ROOT r = f32[35,35] reshape(n) }\n",
     {"reshape(", "negate("},
     3,
     1,
     "f32[1,1]",
     "25"},
    /* Three channels, and three places of a window: one size, but not of one kind. */
    {"HloModule m\n"
     "ENTRY e { x = f32[2,3,9,10] parameter(0) k = f32[3,3,4,5] parameter(1)\n"
     "  ROOT c = f32[2,3,3,2] convolution(x, k), window={size=4x5 rhs_dilate=2x2},\n"
     "    dim_labels=bf01_oi01->bf01 }\n",
     {"convolution(", "rhs_dilate=2x2"},
     3,
     1,
     "p0 = f32[1,1,1,1]",
     "x4"},
    {"HloModule m\n"
     "ENTRY e { x = f32[1,1] parameter(0) z = f32[] parameter(1)\n"
     "  p = f32[7,7] pad(x, z), padding=3_3x3_3 b = f32[5,7,7] broadcast(p), dimensions={1,2}\n"
     "  r = f32[1,5,7,1,7] reshape(b) c = f64[1,5,7,1,7] convert(r)\n"
     "  ROOT s = f64[1,5,7,1,1] slice(c), slice={[0:1],[0:5],[0:7],[0:1],[6:7]} }\n",
     {"pad(", "broadcast(", "reshape(", "convert(", "slice("},
     7,
     1,
     "[1,1,1,1,1]",
     "7"},
    /* The last element is the one that matters. */
    {"HloModule m\n"
     "ENTRY e { c = f32[3,2] constant({{1,2},{3,4},{5,6}})\n"
     "  ROOT n = f32[3,2] negate(c) }\n",
     {"negate(", "6 }"},
     2,
     1,
     "f32[1,2]{1,0} constant({ { 5, 6 } })",
     NULL},
    /* Dynamic sizes. */
    {"HloModule m\n"
     "ENTRY e { x = f32[8] parameter(0) n = s32[] parameter(1)\n"
     "  d = f32[<=8] set-dimension-size(x, n), dimensions={0} ROOT r = f32[<=8] tanh(d) }\n",
     {"tanh("},
     2,
     1,
     "f32[1]",
     "<="},
    /* What begins and ends apart stands in one place. */
    {"HloModule m\n"
     "wrapped { p = f32[4] parameter(0) ROOT t = f32[4] tanh(p) }\n"
     "ENTRY e { a = f32[4] parameter(0)\n"
     "  s = ((f32[4]), f32[4], s32[]) async-start(a), calls=wrapped\n"
     "  ROOT d = f32[4] async-done(s) }\n",
     {"tanh("},
     2,
     1,
     NULL,
     "async"},
    {"HloModule m, replica_count=2\n"
     "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
     "ENTRY e { a = f32[4] parameter(0) s = f32[4] all-reduce-start(a), replica_groups={{0,1}},\n"
     "    to_apply=sum\n"
     "  ROOT d = f32[4] all-reduce-done(s) }\n",
     {"to_apply=", "all-reduce"},
     4,
     1,
     "all-reduce(",
     "done"},
    /* Marks and notes. */
    {"HloModule m, frontend_attributes={a=\"b\"}\n"
     "ENTRY e { a = f32[4] parameter(0), sharding={replicated}\n"
     "  ROOT t = f32[4] tanh(a), sharding={devices=[2]0,1}, frontend_attributes={c=\"d\"},\n"
     "    backend_config=\"x\", metadata={op_name=\"y\"} }\n",
     {"tanh("},
     2,
     1,
     "tanh(",
     "attributes"},
};

struct property {
    const char *const *wanted;
};

static bool has_words(void *context, int thread, const struct specimen *specimen)
{
    const struct property *property = context;
    char *text = print(specimen);
    bool all = true;
    (void)thread;
    ck_assert_msg(verify_module(specimen->module, &(struct findings){0}), "%s", text);
    ck_assert_int_eq(specimen->argument_count, specimen->module->entry->parameter_count);
    ck_assert_int_eq(specimen_sets(specimen), specimen_devices(specimen));
    for (int i = 0; i < specimen_argument_total(specimen); i++) {
        const struct instruction *parameter =
            specimen->module->entry->parameters[i % specimen->argument_count];
        ck_assert(shape_compatible(specimen->arguments[i]->shape, parameter->shape));
    }
    for (int i = 0; i < 5 && property->wanted[i] != NULL; i++) {
        all = all && strstr(text, property->wanted[i]) != NULL;
    }
    free(text);
    return all;
}

static struct specimen read_specimen(const char *text)
{
    struct error err = {0};
    struct specimen specimen = {.module = text_read_module(text, strlen(text), "test", 1, &err)};
    ck_assert_msg(specimen.module != NULL, "%d:%d %s", err.line, err.column, err.message);
    int count = specimen.module->entry->parameter_count;
    specimen.argument_count = count;
    specimen.set_count = specimen_devices(&specimen);
    specimen.arguments =
        memory_zalloc(((size_t)specimen_argument_total(&specimen) + 1) * sizeof(void *));
    for (int d = 0; d < specimen_sets(&specimen); d++) {
        struct input_options inputs = {.seed = 1 + (uint64_t)d};
        ck_assert(
            inputs_generate(specimen.module, &inputs, specimen.arguments + d * count, NULL, &err));
    }
    return specimen;
}

START_TEST(test_forms)
{
    struct specimen specimen = read_specimen(cases[_i].text);
    struct property property = {cases[_i].wanted};
    struct shrink_options options = {.test = has_words, .context = &property};
    struct shrink_statistics statistics;
    ck_assert(has_words(&property, 0, &specimen));
    shrink_run(&specimen, &options, &statistics);
    char *text = print(&specimen);
    ck_assert(has_words(&property, 0, &specimen));
    ck_assert_msg(specimen_size(&specimen).instructions <= cases[_i].instructions &&
                      specimen_devices(&specimen) == cases[_i].devices,
                  "%lld instructions, %d devices after %lld candidates:\n%s",
                  (long long)specimen_size(&specimen).instructions, specimen_devices(&specimen),
                  (long long)statistics.candidates, text);
    ck_assert_msg(cases[_i].left == NULL || strstr(text, cases[_i].left) != NULL,
                  "%s is not in\n%s", cases[_i].left, text);
    ck_assert_msg(cases[_i].gone == NULL || strstr(text, cases[_i].gone) == NULL, "%s is in\n%s",
                  cases[_i].gone, text);
    free(text);
    specimen_finish(&specimen);
}
END_TEST

/* The row of that name. */
static const struct simplification *find_row(const char *name)
{
    int by = 0;
    while (strcmp(simplifications[by].name, name) != 0) {
        by++;
    }
    return &simplifications[by];
}

/* Equal computations are one, and then equal instructions. */
START_TEST(test_merge)
{
    struct specimen specimen = read_specimen(
        "HloModule m\n"
        "f { p = f32[2] parameter(0) ROOT t = f32[2] tanh(p) }\n"
        "g { q = f32[2] parameter(0) ROOT u = f32[2] tanh(q), metadata={op_name=\"x\"} }\n"
        "h { p = f32[2] parameter(0) ROOT t = f32[2] negate(p) }\n"
        "ENTRY e { a = f32[2] parameter(0) x = f32[2] call(a), to_apply=f\n"
        "  y = f32[2] call(a), to_apply=g z = f32[2] call(a), to_apply=h\n"
        "  v = f32[2] add(x, y) ROOT r = f32[2] add(v, z) }\n");
    const int64_t left[] = {10, 9}; /* the second tanh with its parameter; then its call */
    struct error err = {0};
    for (int round = 0; round < 2; round++) {
        struct shrink_places places = {0};
        struct specimen candidate;
        find_row("merge")->find(&specimen, &places);
        ck_assert_int_eq(places.count, 1);
        ck_assert(shrink_candidate(find_row("merge"), &specimen, places.list, 1, NULL, NULL,
                                   &candidate, &err));
        struct literal *before =
                           interp_evaluate(specimen.module, specimen.arguments, 1, NULL, &err),
                       *after =
                           interp_evaluate(candidate.module, candidate.arguments, 1, NULL, &err);
        ck_assert(literal_equal(before, after));
        literal_release(before);
        literal_release(after);
        struct specimen own;
        ck_assert(specimen_copy(&candidate, &own, &err));
        specimen_finish(&candidate);
        specimen_finish(&specimen);
        specimen = own;
        ck_assert_int_eq(specimen_size(&specimen).instructions, left[round]);
        shrink_places_finish(&places);
    }
    specimen_finish(&specimen);
}
END_TEST

/* A device alone has its own arguments: what it computes stays. */
START_TEST(test_device_keeps_arguments)
{
    struct specimen specimen =
        read_specimen("HloModule m, replica_count=2, num_partitions=2\n"
                      "ENTRY e { a = f32[4] parameter(0) ROOT n = f32[4] negate(a) }\n");
    struct error err = {0};
    for (int d = 0; d < 4; d++) {
        struct specimen single;
        ck_assert(specimen_of_device(&specimen, d, &single, &err));
        ck_assert_int_eq(specimen_devices(&single), 1);
        ck_assert_int_eq(specimen_sets(&single), 1);
        ck_assert(literal_equal(single.arguments[0], specimen.arguments[d]));
        specimen_finish(&single);
    }
    const struct simplification *fewer = find_row("devices");
    struct shrink_places places = {0};
    fewer->find(&specimen, &places);
    for (int i = 0; i < 4; i++) { /* the first places are single devices */
        struct specimen candidate;
        ck_assert(
            shrink_candidate(fewer, &specimen, &places.list[i], 1, NULL, NULL, &candidate, &err));
        ck_assert(literal_equal(candidate.arguments[0], specimen.arguments[i]));
        specimen_finish(&candidate);
    }
    shrink_places_finish(&places);
    specimen_finish(&specimen);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shrink_forms");
    TCase *tests = tcase_create("all");
    tcase_add_loop_test(tests, test_forms, 0, sizeof cases / sizeof *cases);
    tcase_add_test(tests, test_merge);
    tcase_add_test(tests, test_device_keeps_arguments);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
