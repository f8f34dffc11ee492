/* Bisection and planted backends: the fault stands in a known instruction, which has to be named,
 * on every level. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend_impl.h"
#include "compare/bisect.h"
#include "compare/inputs.h"
#include "compare/licence.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "interp/interp.h"

static const char program[] =
    "HloModule program\n"
    "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
    "fused { p = f32[6,8] parameter(0) q = f32[6,8] parameter(1)\n"
    "  e = f32[6,8] exponential(p) fd = f32[6,8] divide(e, q) ROOT m = f32[6,8] negate(fd) }\n"
    "body { s = (s32[], f32[6,8]) parameter(0)\n"
    "  i = s32[] get-tuple-element(s), index=0 x = f32[6,8] get-tuple-element(s), index=1\n"
    "  one = s32[] constant(1) j = s32[] add(i, one) f = f32[] convert(i)\n"
    "  four = f32[] constant(4) late = pred[] compare(f, four), direction=GE\n"
    "  lates = pred[6,8] broadcast(late), dimensions={} half = f32[] constant(0.5)\n"
    "  halves = f32[6,8] broadcast(half), dimensions={} z = f32[6,8] subtract(x, halves)\n"
    "  y = f32[6,8] select(lates, z, x) ROOT t = (s32[], f32[6,8]) tuple(j, y) }\n"
    "condition { s = (s32[], f32[6,8]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
    "  n = s32[] constant(9) ROOT l = pred[] compare(i, n), direction=LT }\n"
    "left { lp = f32[6,8] parameter(0) ROOT lt = f32[6,8] tanh(lp) }\n"
    "right { rp = f32[6,8] parameter(0) ROOT rt = f32[6,8] cosine(rp) }\n"
    "ENTRY main {\n"
    "  a = f32[6,8] parameter(0) b = f32[6,8] parameter(1) k = s32[] constant(0)\n"
    "  sub = f32[6,8] subtract(a, b)\n"
    "  init = (s32[], f32[6,8]) tuple(k, sub)\n"
    "  w = (s32[], f32[6,8]) while(init), condition=condition, body=body\n"
    "  state = f32[6,8] get-tuple-element(w), index=1\n"
    "  fu = f32[6,8] fusion(state, b), kind=kLoop, calls=fused\n"
    "  which = pred[] constant(false)\n"
    "  br = f32[6,8] conditional(which, fu, fu), true_computation=left, false_computation=right\n"
    "  zero = f32[] constant(0)\n"
    "  r = f32[6] reduce(br, zero), dimensions={1}, to_apply=sum\n"
    "  ROOT out = (f32[6], f32[6,8]) tuple(r, fu)\n"
    "}\n";

static const struct {
    const char *uri, *answer, *path;
    int64_t iteration; /* of the last level */
} cases[] = {
    {"mutant:operands?instruction=sub", "sub", "sub", -1},
    {"mutant:last_element?instruction=r", "r", "r", -1},
    {"mutant:operands?instruction=fd", "fd", "fu fd", -1},
    {"mutant:function?instruction=rt", "rt", "br rt", -1},
    {"mutant:operands?instruction=z", "z", "w z", 4},
    {"mutant:constant?instruction=half", "half", "w half", 4},
    {"mutant:operands?opcode=subtract&type=f32", "sub", "sub", -1},
    {"mutant:operands?opcode=divide", "fd", "fu fd", -1},
    {"mutant:crash?instruction=fd", "fd", "fu fd", -1},
    {"mutant:crash?opcode=cosine", "rt", "br rt", -1},
    {"mutant:hang?instruction=r", "r", "r", -1},
};

static struct specimen read_specimen(const char *text)
{
    struct error err = {0};
    struct specimen specimen = {.module = text_read_module(text, strlen(text), "test", 1, &err)};
    ck_assert_msg(specimen.module != NULL, "%d:%d %s", err.line, err.column, err.message);
    specimen.argument_count = 2;
    specimen.arguments = memory_zalloc(3 * sizeof *specimen.arguments);
    struct input_options inputs = {.seed = 1};
    ck_assert(inputs_generate(specimen.module, &inputs, specimen.arguments, NULL, &err));
    return specimen;
}

static void run(const char *uri, int runs, struct bisect_result *result)
{
    struct specimen specimen = read_specimen(program);
    struct error err = {0};
    struct backend *backend = backend_open(uri, NULL, &err);
    ck_assert_msg(backend != NULL, "%s", err.message);
    struct backend *reference = backend_open("interp:", NULL, &err);
    struct bisect_options options = {.backend = backend,
                                     .reference = reference,
                                     .differential = {.tolerance = TOLERANCE_BITS},
                                     .runs = runs};
    ck_assert_msg(bisect_run(&specimen, &options, result, &err), "%s", err.message);
    backend_close(backend);
    backend_close(reference);
    specimen_finish(&specimen);
}

START_TEST(test_named)
{
    struct bisect_result result;
    run(cases[_i].uri, 1, &result);
    struct text path;
    text_init(&path);
    for (int i = 0; i < result.level_count; i++) {
        text_printf(&path, "%s%s", i > 0 ? " " : "", result.levels[i].instruction);
    }
    ck_assert_str_eq(path.data, cases[_i].path);
    const struct bisect_level *last = &result.levels[result.level_count - 1];
    ck_assert_str_eq(last->instruction, cases[_i].answer);
    ck_assert_int_eq(last->iteration, cases[_i].iteration);
    ck_assert(last->isolated);
    ck_assert(result.part.module != NULL);
    ck_assert_int_le(module_instruction_count(result.part.module), 6);
    text_finish(&path);
    bisect_result_finish(&result);
}
END_TEST

/* A backend that flushes as a licence lets it: far from the golden, and right. */
static void flushing_run(struct backend *backend, const struct backend_job *job,
                         struct run_result *result, struct text *message)
{
    struct error err = {0};
    struct interp_options interp = {0};
    (void)backend;
    (void)message;
    result->outputs[0] =
        licences[0].evaluate(job->module, job->arguments, job->argument_count, &interp, &err);
    if (result->outputs[0] == NULL) { /* there is nothing to flush */
        result->outputs[0] =
            interp_evaluate(job->module, job->arguments, job->argument_count, &interp, &err);
    }
    ck_assert_msg(result->outputs[0] != NULL, "%s", err.message);
    result->outcome = OUTCOME_PASS;
}

START_TEST(test_what_is_allowed_is_not_found)
{
    static const char text[] =
        "HloModule m\nENTRY e { a = f32[2] parameter(0) h = f32[] constant(1e-39)\n"
        "  hs = f32[2] broadcast(h), dimensions={} k = f32[] constant(0.001)\n"
        "  ks = f32[2] broadcast(k), dimensions={} m = f32[2] multiply(a, hs)\n"
        "  d = f32[2] divide(ks, m) ROOT n = f32[2] negate(d) }";
    static const struct backend_impl impl = {.run = flushing_run};
    char uri[] = "cpu:";
    struct backend backend = {.impl = &impl, .scheme = "cpu", .uri = uri};
    struct error err = {0};
    struct specimen specimen = {.module = text_read_module(text, strlen(text), "test", 1, &err)};
    ck_assert_msg(specimen.module != NULL, "%s", err.message);
    specimen.argument_count = 1;
    specimen.arguments = memory_zalloc(2 * sizeof *specimen.arguments);
    specimen.arguments[0] = literal_zero(specimen.module->entry->parameters[0]->shape, &err);
    literal_set_double(specimen.arguments[0], 0, 1);
    literal_set_double(specimen.arguments[0], 1, 3);
    struct backend *reference = backend_open("interp:", NULL, &err);
    struct bisect_options options = {.backend = &backend, .reference = reference};
    struct bisect_result result;
    ck_assert_msg(bisect_run(&specimen, &options, &result, &err), "%s", err.message);
    ck_assert_int_eq(result.level_count, 0);
    bisect_result_finish(&result);
    options.known_to_fail = true;
    ck_assert_msg(bisect_run(&specimen, &options, &result, &err), "%s", err.message);
    ck_assert_int_eq(result.level_count, 0);
    ck_assert_ptr_null(result.part.module);
    ck_assert(!failure_signature_fails(&result.signature));
    ck_assert_int_gt(result.runs, 2); /* it was looked for */
    bisect_result_finish(&result);
    options.differential.profile = profile_find("strict");
    ck_assert_msg(bisect_run(&specimen, &options, &result, &err), "%s", err.message);
    ck_assert_int_ge(result.level_count, 1);
    ck_assert_int_eq(result.confirming_failures, 1);
    bisect_result_finish(&result);
    backend_close(reference);
    specimen_finish(&specimen);
}
END_TEST

/* x5 is wrong, of x0 … x199; but what goes on for long from x150 times zero is right. */
START_TEST(test_misled)
{
    struct text text;
    struct error err = {0};
    text_init(&text);
    text_append(&text, "HloModule misled\n"
                       "ENTRY main { a = f32[4] parameter(0) b = f32[4] parameter(1)\n"
                       "  c = f32[] constant(0) z = f32[4] broadcast(c), dimensions={}\n"
                       "  x0 = f32[4] subtract(a, b)\n");
    for (int i = 1; i < 200; i++) {
        text_printf(&text, "  x%d = f32[4] subtract(x%d, b)\n", i, i - 1);
    }
    text_append(&text, "  m = f32[4] multiply(x150, z) y0 = f32[4] add(m, b)\n");
    for (int i = 1; i < 500; i++) {
        text_printf(&text, "  y%d = f32[4] negate(y%d)\n", i, i - 1);
    }
    text_append(&text, "  ROOT r = f32[4] add(x199, y499) }\n");
    struct specimen specimen = read_specimen(text.data);
    struct backend *backend = backend_open("mutant:operands?instruction=x5", NULL, &err);
    struct backend *reference = backend_open("interp:", NULL, &err);
    struct bisect_options options = {
        .backend = backend, .reference = reference, .differential = {.tolerance = TOLERANCE_BITS}};
    struct bisect_result result;
    ck_assert_msg(bisect_run(&specimen, &options, &result, &err), "%s", err.message);
    ck_assert_int_eq(result.level_count, 1);
    ck_assert_str_eq(result.levels[0].instruction, "x5");
    ck_assert_int_le(result.runs, 40);
    bisect_result_finish(&result);
    backend_close(backend);
    backend_close(reference);
    text_finish(&text);
    specimen_finish(&specimen);
}
END_TEST

/* --- cuts that begin where all is well --- */

enum { LINKS = 20 };

/* Subtractions, a loop of one, subtractions: x0 … x19, w, x20 … x39. */
static struct specimen read_chain(void)
{
    struct text text;
    text_init(&text);
    text_append(
        &text,
        "HloModule chain\n"
        "body { s = (s32[], f32[4], f32[4]) parameter(0)\n"
        "  i = s32[] get-tuple-element(s), index=0 x = f32[4] get-tuple-element(s), index=1\n"
        "  y = f32[4] get-tuple-element(s), index=2 one = s32[] constant(1)\n"
        "  j = s32[] add(i, one) z = f32[4] subtract(x, y)\n"
        "  ROOT t = (s32[], f32[4], f32[4]) tuple(j, z, y) }\n"
        "condition { s = (s32[], f32[4], f32[4]) parameter(0)\n"
        "  i = s32[] get-tuple-element(s), index=0 n = s32[] constant(3)\n"
        "  ROOT l = pred[] compare(i, n), direction=LT }\n"
        "ENTRY main { a = f32[4] parameter(0) b = f32[4] parameter(1)\n"
        "  k = s32[] constant(0) x0 = f32[4] subtract(a, b)\n");
    for (int i = 1; i < 2 * LINKS; i++) {
        if (i == LINKS) {
            text_printf(&text,
                        "  init = (s32[], f32[4], f32[4]) tuple(k, x%d, b)\n"
                        "  w = (s32[], f32[4], f32[4]) while(init), condition=condition, "
                        "body=body\n  e = f32[4] get-tuple-element(w), index=1\n"
                        "  same = f32[4] get-tuple-element(w), index=2\n"
                        "  x%d = f32[4] subtract(e, same)\n",
                        i - 1, i);
        } else {
            text_printf(&text, "  x%d = f32[4] subtract(x%d, %s)\n", i, i - 1,
                        i < LINKS ? "b" : "same");
        }
    }
    text_printf(&text, "  n = f32[4] negate(x3)\n  ROOT r = (f32[4], f32[4]) tuple(x%d, n) }\n",
                2 * LINKS - 1);
    struct specimen specimen = read_specimen(text.data);
    text_finish(&text);
    return specimen;
}

/* A cut that took long, however quick it was: 1e-9 s. */
static void bisect_chain(struct backend *backend, struct bisect_result *result)
{
    struct specimen specimen = read_chain();
    struct error err = {0};
    struct backend *reference = backend_open("interp:", NULL, &err);
    struct bisect_options options = {.backend = backend,
                                     .reference = reference,
                                     .differential = {.tolerance = TOLERANCE_BITS},
                                     .narrow_from = 1e-9};
    ck_assert_msg(bisect_run(&specimen, &options, result, &err), "%s", err.message);
    ck_assert_int_ge(result->level_count, 1);
    backend_close(reference);
    specimen_finish(&specimen);
}

/* Wherever in the chain it is wrong; most often with fewer instructions than there are in a cut. */
START_TEST(test_narrowed)
{
    int narrowed = 0;
    for (int i = 0; i < 2 * LINKS; i++) {
        char uri[80], name[16];
        struct error err = {0};
        snprintf(name, sizeof name, "x%d", i);
        snprintf(uri, sizeof uri, "mutant:operands?instruction=%s", name);
        struct backend *backend = backend_open(uri, NULL, &err);
        struct bisect_result result;
        bisect_chain(backend, &result);
        ck_assert_int_eq(result.level_count, 1);
        ck_assert_str_eq(result.levels[0].instruction, name);
        ck_assert(result.levels[0].isolated);
        ck_assert_int_eq(result.confirming_failures, 1);
        ck_assert_int_le(result.runs, 14);
        narrowed += result.levels[0].narrowed;
        bisect_result_finish(&result);
        backend_close(backend);
    }
    ck_assert_int_ge(narrowed, LINKS);
}
END_TEST

/* Wrong where x30 comes together with x12, far above it: each is right alone. */
static void together_run(struct backend *backend, const struct backend_job *job,
                         struct run_result *result, struct text *message)
{
    struct error err = {0};
    const struct computation *entry = job->module->entry;
    const struct instruction *above = computation_find(entry, "x12");
    (void)backend;
    (void)message;
    result->outputs[0] =
        interp_evaluate(job->module, job->arguments, job->argument_count, NULL, &err);
    ck_assert_msg(result->outputs[0] != NULL, "%s", err.message);
    if (computation_find(entry, "x30") != NULL && above != NULL && above->opcode == OP_SUBTRACT) {
        result->outputs[0] = literal_own_take(result->outputs[0], &err);
        struct literal *output = result->outputs[0];
        output = shape_is_tuple(output->shape) ? output->elements[0] : output;
        literal_set_double(output, 1, literal_get_double(output, 1) + 1);
    }
    result->outcome = OUTCOME_PASS;
}

START_TEST(test_together)
{
    static const struct backend_impl impl = {.run = together_run};
    char uri[] = "cpu:";
    struct backend backend = {.impl = &impl, .scheme = "cpu", .uri = uri};
    struct bisect_result result;
    bisect_chain(&backend, &result);
    ck_assert_int_eq(result.level_count, 1);
    ck_assert_str_eq(result.levels[0].instruction, "x30");
    ck_assert(!result.levels[0].isolated && !result.levels[0].narrowed);
    ck_assert(strstr(result.note, "only together with what comes before") != NULL);
    ck_assert_ptr_nonnull(computation_find(result.part.module->entry, "x12"));
    bisect_result_finish(&result);
}
END_TEST

START_TEST(test_nothing_to_find)
{
    struct bisect_result result;
    run("mutant:operands?instruction=nothing", 1, &result);
    ck_assert_int_eq(result.level_count, 0);
    ck_assert_int_eq(result.signature.outcome, OUTCOME_PASS);
    bisect_result_finish(&result);
}
END_TEST

/* Shows in 3 of 10 runs: found when each part is run often enough. */
START_TEST(test_flaky_named)
{
    struct bisect_result result;
    run("mutant:operands?instruction=fd&fails=3&runs=10", 10, &result);
    ck_assert_int_eq(result.level_count, 2);
    ck_assert_str_eq(result.levels[1].instruction, "fd");
    ck_assert(result.levels[1].isolated);
    bisect_result_finish(&result);
}
END_TEST

static bool at_once(void *context)
{
    (void)context;
    return true;
}

/* Stopped before anything was cut, the whole is still known to fail. */
START_TEST(test_stopped)
{
    struct specimen specimen = read_specimen(program);
    struct error err = {0};
    struct backend *backend = backend_open("mutant:operands?instruction=sub", NULL, &err);
    struct backend *reference = backend_open("interp:", NULL, &err);
    struct bisect_options options = {.backend = backend,
                                     .reference = reference,
                                     .differential = {.tolerance = TOLERANCE_BITS},
                                     .stopped = at_once};
    struct bisect_result result;
    ck_assert(bisect_run(&specimen, &options, &result, &err));
    ck_assert_int_eq(result.signature.outcome, OUTCOME_MISMATCH);
    ck_assert_int_eq(result.runs, 1);
    bisect_result_finish(&result);
    backend_close(backend);
    backend_close(reference);
    specimen_finish(&specimen);
}
END_TEST

/* Shows in 3 of 10 runs: run often enough, it shrinks to what is at fault. */
START_TEST(test_flaky)
{
    struct specimen specimen = read_specimen(program);
    struct error err = {0};
    struct backend *backend =
        backend_open("mutant:operands?instruction=sub&fails=3&runs=10", NULL, &err);
    struct backend *reference = backend_open("interp:", NULL, &err);
    struct shrink_backend_test test = {.backends = &backend,
                                       .references = &reference,
                                       .differential = {.tolerance = TOLERANCE_BITS},
                                       .runs = 10,
                                       .failures = 1};
    test.signature =
        (struct failure_signature){.outcome = OUTCOME_MISMATCH, .kind = memory_strdup("values")};
    struct shrink_options options = {.test = shrink_test_backend, .context = &test};
    struct shrink_statistics statistics;
    shrink_run(&specimen, &options, &statistics);
    ck_assert_int_eq(specimen_size(&specimen).instructions, 3);
    ck_assert(computation_find(specimen.module->entry, "sub") != NULL);
    failure_signature_finish(&test.signature);
    specimen_finish(&specimen);
    backend_close(backend);
    backend_close(reference);
}
END_TEST

static const struct {
    const char *uri, *words;
} refused[] = {
    {"mutant:nonsense", "there is no class of faults 'nonsense'"},
    {"mutant:?colour=red", "has no option colour"},
    {"mutant:?seed=x", "seed=x is not a number"},
    {"mutant:operands?opcode=minus", "opcode=minus is no opcode"},
    {"mutant:?opcode=subtract", "needs a class of faults"},
    {"mutant:operands?type=f32", "needs opcode=NAME"},
    {"mutant:operands?opcode=subtract&type=f31", "is no element type"},
    {"mutant:?of=nonsense:", "nonsense"},
};

START_TEST(test_refused)
{
    struct error err = {0};
    ck_assert_ptr_null(backend_open(refused[_i].uri, NULL, &err));
    ck_assert_msg(strstr(err.message, refused[_i].words) != NULL, "%s", err.message);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bisect");
    TCase *tests = tcase_create("all");
    tcase_add_loop_test(tests, test_named, 0, sizeof cases / sizeof *cases);
    tcase_add_loop_test(tests, test_refused, 0, sizeof refused / sizeof *refused);
    tcase_add_test(tests, test_what_is_allowed_is_not_found);
    tcase_add_test(tests, test_misled);
    tcase_add_test(tests, test_narrowed);
    tcase_add_test(tests, test_together);
    tcase_add_test(tests, test_nothing_to_find);
    tcase_add_test(tests, test_flaky);
    tcase_add_test(tests, test_flaky_named);
    tcase_add_test(tests, test_stopped);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
