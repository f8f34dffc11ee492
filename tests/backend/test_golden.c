/* The golden as a backend: its errors become outcomes, its options reach it. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"

static struct literal *read_literal(const struct shape *shape, const char *text)
{
    struct error err = {0};
    size_t used;
    struct literal *literal = literal_parse(shape, text, strlen(text), &used, &err);
    ck_assert_msg(literal != NULL, "%s: %s", err.message, text);
    return literal;
}

/* Runs the module and checks the outcome; on PASS, the output of each device against a text. */
static void expect(const char *uri, double timeout, const char *text, const char *const *arguments,
                   int sets, enum outcome outcome, const char *const *outputs)
{
    struct error err = {0};
    struct backend_options options = {.timeout = timeout};
    struct run_result result;
    struct literal *literals[16];
    struct backend *backend = backend_open(uri, &options, &err);
    ck_assert_msg(backend != NULL, "%s", err.message);
    struct module *module = text_read_module(text, strlen(text), "test", 1, &err);
    ck_assert_msg(module != NULL, "%s: %s", err.message, text);
    int count = module->entry->parameter_count;
    for (int i = 0; i < sets * count; i++) {
        literals[i] = read_literal(module->entry->parameters[i % count]->shape, arguments[i]);
    }
    backend_run(backend, module, literals, count, sets, 2, &result);
    ck_assert_msg(result.outcome == outcome, "%s: %s: %s", text, outcome_text(result.outcome),
                  result.message);
    ck_assert(outcome == OUTCOME_PASS ? result.outputs != NULL : *result.message != '\0');
    for (int d = 0; outcome == OUTCOME_PASS && d < result.device_count; d++) {
        struct text got;
        struct literal *want = read_literal(result.outputs[d]->shape, outputs[d]);
        text_init(&got);
        literal_print(result.outputs[d], false, 0, &got);
        ck_assert_msg(literal_equal(result.outputs[d], want), "device %d: got %s, not %s", d,
                      got.data, outputs[d]);
        text_finish(&got);
        literal_release(want);
    }
    run_result_finish(&result);
    for (int i = 0; i < sets * count; i++) {
        literal_release(literals[i]);
    }
    module_destroy(module);
    backend_close(backend);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char sum[] =
    "HloModule m\nadd { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
    "ENTRY e { x = f32[3] parameter(0) z = f32[] constant(0)\n"
    "ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=add }";

/* 1e8 + 1 is no f32: rounded at each step the sum is 0, exactly it is 1. */
START_TEST(fidelity_is_chosen_by_the_uri)
{
    expect("interp:", 60, sum, LIST("{1e8, 1, -1e8}"), 1, OUTCOME_PASS, LIST("1"));
    expect("interp:?fidelity=exact", 60, sum, LIST("{1e8, 1, -1e8}"), 1, OUTCOME_PASS, LIST("1"));
    expect("interp:?fidelity=literal", 60, sum, LIST("{1e8, 1, -1e8}"), 1, OUTCOME_PASS, LIST("0"));
}
END_TEST

START_TEST(a_deadline_is_kept)
{
    expect("interp:", 0.2,
           "HloModule m\nc { p = f32[] parameter(0) ROOT t = pred[] constant(true) }\n"
           "b { p = f32[] parameter(0) ROOT r = f32[] negate(p) }\n"
           "ENTRY e { x = f32[] parameter(0) ROOT w = f32[] while(x), condition=c, body=b }",
           LIST("1"), 1, OUTCOME_TIMEOUT, NULL);
}
END_TEST

START_TEST(what_it_cannot_do_is_unsupported)
{
    expect("interp:", 60,
           "HloModule m\nENTRY e { x = f32[] parameter(0)\n"
           "ROOT r = f32[] custom-call(x), custom_call_target=\"nobody_knows\" }",
           LIST("1"), 1, OUTCOME_UNSUPPORTED, NULL);
}
END_TEST

START_TEST(memory_is_limited)
{
    literal_set_memory_limit((size_t)64 << 20);
    expect("interp:", 60,
           "HloModule m\nENTRY e { x = f32[] parameter(0)\n"
           "ROOT r = f32[1024,1024,64] broadcast(x), dimensions={} }",
           LIST("1"), 1, OUTCOME_OOM, NULL);
    literal_set_memory_limit(0);
}
END_TEST

/* Counts from the argument to ten: on the golden, and on a mutant of it with its loop. */
START_TEST(loops_are_limited)
{
    static const char counting[] =
        "HloModule m\nc { p = s32[] parameter(0) n = s32[] constant(10)\n"
        "ROOT l = pred[] compare(p, n), direction=LT }\n"
        "b { p = s32[] parameter(0) o = s32[] constant(1) ROOT s = s32[] add(p, o) }\n"
        "ENTRY e { x = s32[] parameter(0)\n"
        "ROOT w = s32[] while(x), condition=c, body=b }";
    static const struct {
        const char *uri;
        int64_t most;
        const char *start;
        enum outcome outcome;
        int64_t longest;
    } rows[] = {
        {"interp:", 0, "0", OUTCOME_PASS, 10},
        {"interp:", 10, "0", OUTCOME_PASS, 10},
        {"interp:", 9, "0", OUTCOME_TIMEOUT, 10},
        {"interp:", 5, "6", OUTCOME_PASS, 4},
        {"interp:", 5, "-1000000000", OUTCOME_TIMEOUT, 6},
        {"mutant:add_subtract?instruction=s", 50, "0", OUTCOME_TIMEOUT, 51},
        {"mutant:add_subtract?instruction=elsewhere", 50, "0", OUTCOME_PASS, 10},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error err = {0};
        struct backend_options options = {.timeout = 60, .loop_iterations = rows[i].most};
        struct backend *backend = backend_open(rows[i].uri, &options, &err);
        ck_assert_msg(backend != NULL, "%s", err.message);
        struct module *module = text_read_module(counting, strlen(counting), "test", 1, &err);
        struct literal *start = read_literal(module->entry->parameters[0]->shape, rows[i].start);
        struct run_result result;
        backend_run(backend, module, &start, 1, 1, 1, &result);
        ck_assert_msg(result.outcome == rows[i].outcome, "row %zu: %s %s", i,
                      outcome_text(result.outcome), result.message);
        ck_assert_int_eq(result.longest_loop, rows[i].longest);
        run_result_finish(&result);
        literal_release(start);
        module_destroy(module);
        backend_close(backend);
    }
}
END_TEST

START_TEST(devices_have_arguments_of_their_own)
{
    expect("interp:", 60,
           "HloModule m, replica_count=2\n"
           "add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT s = s32[] add(a, b) }\n"
           "ENTRY e { x = s32[] parameter(0)\n"
           "s = s32[] all-reduce(x), replica_groups={}, to_apply=add\n"
           "ROOT r = s32[] subtract(s, x) }",
           LIST("3", "40"), 2, OUTCOME_PASS, LIST("40", "3"));
}
END_TEST

int main(int argc, char **argv)
{
    backend_worker_main_if_asked(argc, argv);
    Suite *suite = suite_create("golden");
    TCase *test_case = tcase_create("golden");
    tcase_add_test(test_case, fidelity_is_chosen_by_the_uri);
    tcase_add_test(test_case, a_deadline_is_kept);
    tcase_add_test(test_case, what_it_cannot_do_is_unsupported);
    tcase_add_test(test_case, memory_is_limited);
    tcase_add_test(test_case, loops_are_limited);
    tcase_add_test(test_case, devices_have_arguments_of_their_own);
    suite_add_tcase(suite, test_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
