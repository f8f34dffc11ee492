/* Canonical forms, sensitivity, open choices, and findings, each against what is known of a small
 * program. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "compare/canonical.h"
#include "compare/open_choices.h"
#include "compare/sensitivity.h"
#include "compare/triage.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"

static struct module *read_module(const char *text)
{
    struct error err = {0};
    struct module *module = text_read_module(text, strlen(text), "test", 1, &err);
    ck_assert_msg(module != NULL, "%d:%d %s", err.line, err.column, err.message);
    return module;
}

static struct specimen specimen_of(const char *text, int count, const char *const *arguments)
{
    struct specimen specimen = {.module = read_module(text), .argument_count = count};
    specimen.arguments = memory_zalloc(((size_t)count + 1) * sizeof *specimen.arguments);
    for (int i = 0; i < count; i++) {
        struct error err = {0};
        size_t used;
        specimen.arguments[i] = literal_parse(specimen.module->entry->parameters[i]->shape,
                                              arguments[i], strlen(arguments[i]), &used, &err);
        ck_assert_msg(specimen.arguments[i] != NULL, "%s", err.message);
    }
    return specimen;
}

/* --- canonical forms --- */

static const struct {
    const char *body, *form;
} forms[] = {
    {"a = s32[9] parameter(0) i = s32[] parameter(1) d = s32[5] dynamic-slice(a, i), "
     "dynamic_slice_sizes={5} j = s32[] constant(1) ROOT e = s32[2] dynamic-slice(d, j), "
     "dynamic_slice_sizes={2}",
     "dynamic-slice(dynamic-slice(s32, s32), s32)"},
    {"a = f64[2] parameter(0) ROOT c = f16[2] convert(a)", "convert:f16(f64)"},
    {"a = f32[2] parameter(0) e = f32[2] exponential(a) ROOT m = f32[2] multiply(e, e)",
     "multiply(exponential(f32) #1, #1)"},
    /* Operands of what commutes are in one order. */
    {"a = f32[2] parameter(0) b = f32[2] parameter(1) n = f32[2] negate(b) ROOT m = f32[2] add(a, "
     "n)",
     "add(negate(f32), f32)"},
    {"a = f32[7] parameter(0) b = f32[7] parameter(1) n = f32[7] negate(a) ROOT m = f32[7] add(n, "
     "b)",
     "add(negate(f32), f32)"},
    {"a = f32[4] parameter(0) z = f32[] constant(0) ROOT r = f32[3] reduce-window(a, z), "
     "window={size=1 pad=-1_0}, to_apply=sum",
     "reduce-window[unit window, negative pad]{add(f32, f32)}(f32, f32)"},
    {"a = f32[4] parameter(0) z = f32[] constant(0) ROOT r = f32[6] pad(a, z), padding=-1_0_1",
     "pad[negative, interior](f32, f32)"},
    {"a = f32[4] parameter(0) b = f32[4] parameter(1) ROOT c = pred[4] compare(a, b), "
     "direction=LT, "
     "type=TOTALORDER",
     "compare[TOTALORDER](f32, f32)"},
    {"a = f32[4] parameter(0) b = f32[4] parameter(1) ROOT c = pred[4] compare(a, b), direction=GT",
     "compare(f32, f32)"},
};

START_TEST(canonical)
{
    struct text text, form;
    text_init(&text);
    text_init(&form);
    text_printf(&text,
                "HloModule m\nsum { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] "
                "add(x, y) }\nENTRY e { %s }\n",
                forms[_i].body);
    struct module *module = read_module(text.data);
    canonical_print(module, &form);
    ck_assert_str_eq(form.data, forms[_i].form);
    module_destroy(module);
    text_finish(&text);
    text_finish(&form);
}
END_TEST

/* Forms do not grow with the module. */
START_TEST(canonical_of_much)
{
    struct text text, form;
    text_init(&text);
    text_init(&form);
    text_append(&text, "HloModule m\nENTRY e {\n  x0 = f32[3] parameter(0)\n");
    for (int i = 1; i <= 3000; i++) {
        text_printf(&text, "  x%d = f32[3] %s(x%d, x%d)\n", i, i % 7 == 0 ? "divide" : "subtract",
                    i - 1, i / 2);
    }
    text_append(&text, "  ROOT r = f32[3] negate(x3000)\n}\n");
    struct module *module = read_module(text.data);
    canonical_print(module, &form);
    ck_assert_uint_lt(form.size, 4200);
    ck_assert_ptr_nonnull(strstr(form.data, "… #"));
    module_destroy(module);
    text_finish(&text);
    text_finish(&form);
}
END_TEST

/* --- sensitivity --- */

struct run {
    struct specimen specimen;
    struct backend *backend, *reference;
    struct differential_result result;
};

static struct run run_on(const char *uri, const char *text, int count, const char *const *arguments)
{
    struct run run = {.specimen = specimen_of(text, count, arguments)};
    struct error err = {0};
    run.backend = backend_open(uri, NULL, &err);
    ck_assert_msg(run.backend != NULL, "%s", err.message);
    run.reference = backend_open("interp:", NULL, &err);
    struct differential_options options = {
        .arguments = run.specimen.arguments, .argument_count = count, .tolerance = TOLERANCE_BITS};
    differential_run(run.specimen.module, run.backend, run.reference, &options, &run.result);
    return run;
}

static void finish(struct run *run)
{
    differential_result_finish(&run->result);
    backend_close(run->backend);
    backend_close(run->reference);
    specimen_finish(&run->specimen);
}

static const char difference[] =
    "HloModule m\nENTRY e { x = f32[] parameter(0) y = f32[] parameter(1)"
    "\n  s = f32[] subtract(x, y) ROOT t = f32[] negate(s) }\n";

/* x − y for x = 1 + 2⁻²⁰, y = 1: the condition number is (|x| + |y|)/|x − y| ≈ 2²¹; a move of both
 * by 2⁻²³ and 2⁻²⁴ or 2⁻²³ moves the result by up to 2⁻²²: relative 2⁻², that is 2²¹ times 2⁻²³. */
START_TEST(amplification)
{
    struct run run = run_on("mutant:dropped?instruction=t", difference, 2,
                            (const char *[]){"1.00000095367431640625", "1"});
    ck_assert_int_eq(run.result.outcome, OUTCOME_MISMATCH);
    struct sensitivity sensitivity;
    struct error err = {0};
    struct sensitivity_options options = {.samples = 20, .seed = 1};
    ck_assert(sensitivity_measure(run.specimen.module, &run.result, &options, &sensitivity, &err));
    ck_assert_double_gt(sensitivity.amplification, 0x1p20);
    ck_assert_double_le(sensitivity.amplification, 0x1p21);
    /* The sign is wrong, which no such move explains. */
    ck_assert_int_eq(sensitivity.mismatches, 1);
    ck_assert_int_eq(sensitivity.explained, 0);
    sensitivity_finish(&sensitivity);
    finish(&run);
}
END_TEST

/* Where x and y are neighbours a move by one ulp makes of their difference its opposite. */
START_TEST(cancellation)
{
    struct run run = run_on("mutant:dropped?instruction=t", difference, 2,
                            (const char *[]){"1.00000011920928955078125", "1"});
    struct sensitivity sensitivity;
    struct error err = {0};
    struct sensitivity_options options = {.samples = 20, .seed = 1};
    ck_assert(sensitivity_measure(run.specimen.module, &run.result, &options, &sensitivity, &err));
    ck_assert_int_eq(sensitivity.by_inputs, 1);
    ck_assert_str_eq(sensitivity.instruction, "s");
    ck_assert_str_eq(sensitivity.form, "subtract(f32, f32)");
    sensitivity_finish(&sensitivity);
    finish(&run);
}
END_TEST

/* --- open choices --- */

static void find_open(const struct run *run, bool explains, const char *kind)
{
    struct open_choices choices;
    struct error err = {0};
    ck_assert_int_eq(run->result.outcome, OUTCOME_MISMATCH);
    ck_assert(open_choices_find(run->specimen.module, &run->result, &choices, &err));
    ck_assert_int_eq(choices.explains, explains);
    ck_assert_str_eq(choices.kind, kind);
    open_choices_finish(&choices);
}

#define ONE_OVER_LARGEST                                                       \
    "HloModule m\nENTRY e { x = f32[2] parameter(0) y = f32[2] parameter(1)\n" \
    "  a = f32[2] maximum(x, y) n = f32[2] negate(a)\n"                        \
    "  o = f32[] constant(1) os = f32[2] broadcast(o), dimensions={}\n"        \
    "  ROOT d = f32[2] divide(os, n) }\n"

START_TEST(sign_of_zero)
{
    /* Operands swapped do not matter to max, but to 1/max: here a dropped negation is the choice.
     */
    struct run run = run_on("mutant:dropped?instruction=n", ONE_OVER_LARGEST, 2,
                            (const char *[]){"{0, -0}", "{-0, 0}"});
    find_open(&run, true, "the sign of zero from min or max");
    finish(&run);
}
END_TEST

/* max(+0, +0) is +0: there is nothing to choose. */
START_TEST(no_choice)
{
    struct run run = run_on("mutant:dropped?instruction=n", ONE_OVER_LARGEST, 2,
                            (const char *[]){"{0, 0}", "{0, 0}"});
    find_open(&run, false, "");
    finish(&run);
}
END_TEST

/* How often the loop runs is what an open conversion gives: whatever comes out depends on it. */
START_TEST(open_loop)
{
    struct run run = run_on(
        "mutant:add_subtract?instruction=y",
        "HloModule m\n"
        "body { s = (s32[], s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
        "  x = s32[] get-tuple-element(s), index=1 one = s32[] constant(1)\n"
        "  j = s32[] subtract(i, one) y = s32[] add(x, one)\n"
        "  ROOT t = (s32[], s32[]) tuple(j, y) }\n"
        "condition { s = (s32[], s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
        "  zero = s32[] constant(0) ROOT l = pred[] compare(i, zero), direction=GT }\n"
        "ENTRY e { x = f32[] parameter(0) c = s8[] convert(x) n = s32[] convert(c)\n"
        "  k = s32[] constant(5) init = (s32[], s32[]) tuple(n, k)\n"
        "  w = (s32[], s32[]) while(init), condition=condition, body=body\n"
        "  ROOT r = s32[] get-tuple-element(w), index=1 }\n",
        1, (const char *[]){"3e10"});
    struct open_choices choices;
    struct error err = {0};
    ck_assert(open_choices_find(run.specimen.module, &run.result, &choices, &err));
    ck_assert_int_eq(run.result.outcome, OUTCOME_MISMATCH);
    ck_assert(choices.depends && !choices.explains);
    ck_assert_ptr_nonnull(strstr(choices.choice, "c (convert)"));
    open_choices_finish(&choices);
    finish(&run);
}
END_TEST

/* --- findings --- */

static const struct {
    const char *uri, *text, *key;
    enum triage_verdict verdict;
    bool isolated;
} findings[] = {
    {"mutant:operands?opcode=subtract",
     "HloModule m\nENTRY e { x = f32[4] parameter(0) y = f32[4] parameter(1)\n"
     "  s = f32[4] subtract(x, y) n = f32[4] negate(s) ROOT m = f32[4] multiply(n, x) }\n",
     "b MISMATCH values: subtract(f32, f32)", TRIAGE_BACKEND, true},
    {"mutant:crash?opcode=cosine",
     "HloModule m\nENTRY e { x = f32[4] parameter(0) y = f32[4] parameter(1)\n"
     "  s = f32[4] cosine(x) ROOT m = f32[4] multiply(s, y) }\n",
     "b CRASH signal # (Segmentation fault), planted: cosine(f32)", TRIAGE_BACKEND, true},
    /* What nobody uses. */
    {"mutant:crash?opcode=cosine",
     "HloModule m\nENTRY e { x = f32[4] parameter(0) y = f32[4] parameter(1)\n"
     "  s = f32[4] cosine(x) ROOT m = f32[4] multiply(x, y) }\n",
     "b CRASH signal # (Segmentation fault), planted: cosine(f32)", TRIAGE_BACKEND, false},
    {"mutant:operands?opcode=subtract",
     "HloModule m\nENTRY e { x = f32[4] parameter(0) y = f32[4] parameter(1)\n"
     "  ROOT s = f32[4] add(x, y) }\n",
     "", TRIAGE_PASS, false},
    {"interp:",
     "HloModule m\nENTRY e { x = f32[4] parameter(0) y = f32[4] parameter(1)\n"
     "  ROOT c = f32[4] custom-call(x, y), custom_call_target=\"nobody.knows\" }\n",
     "b ours: UNSUPPORTED", TRIAGE_OURS, false},
};

START_TEST(finding)
{
    struct specimen specimen =
        specimen_of(findings[_i].text, 2, (const char *[]){"{1, 2, 3, 4}", "{7, 5, 6, 9}"});
    struct error err = {0};
    struct backend *backend = backend_open(findings[_i].uri, NULL, &err);
    struct backend *reference = backend_open("interp:", NULL, &err);
    ck_assert_msg(backend != NULL && reference != NULL, "%s", err.message);
    struct triage_options options = {
        .backend = backend, .reference = reference, .backend_name = "b"};
    struct triage_finding found;
    ck_assert(triage_find(&specimen, &options, &found, &err));
    ck_assert_msg(strncmp(found.key, findings[_i].key, strlen(findings[_i].key)) == 0, "%s",
                  found.key);
    ck_assert_int_eq(found.key[0] == '\0', findings[_i].verdict == TRIAGE_PASS);
    ck_assert_int_eq(found.judgement.verdict, findings[_i].verdict);
    ck_assert_int_eq(found.isolated, findings[_i].isolated);
    ck_assert_int_eq(found.part.module != NULL, findings[_i].verdict == TRIAGE_BACKEND);
    triage_finding_finish(&found);
    backend_close(backend);
    backend_close(reference);
    specimen_finish(&specimen);
}
END_TEST

START_TEST(consistent)
{
    struct specimen specimen =
        specimen_of(findings[0].text, 2, (const char *[]){"{1, 2, 3, 4}", "{7, 5, 6, 9}"});
    struct text text;
    text_init(&text);
    ck_assert_msg(triage_golden_is_consistent(&specimen, &text), "%s", text.data);
    ck_assert_uint_eq(text.size, 0);
    text_finish(&text);
    specimen_finish(&specimen);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("triage");
    TCase *test_case = tcase_create("triage");
    tcase_add_loop_test(test_case, canonical, 0, sizeof forms / sizeof *forms);
    tcase_add_test(test_case, canonical_of_much);
    tcase_add_test(test_case, amplification);
    tcase_add_test(test_case, cancellation);
    tcase_add_test(test_case, sign_of_zero);
    tcase_add_test(test_case, no_choice);
    tcase_add_test(test_case, open_loop);
    tcase_add_loop_test(test_case, finding, 0, sizeof findings / sizeof *findings);
    tcase_add_test(test_case, consistent);
    suite_add_tcase(suite, test_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
