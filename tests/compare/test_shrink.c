/* Shrinking: modules whose failure is a property that the test looks for, so that the smallest
 * module that has it is known; and every simplification on a module made for it. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

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

static struct specimen read_specimen(const char *text)
{
    struct error err = {0};
    struct specimen specimen = {.module = text_read_module(text, strlen(text), "test", 1, &err)};
    ck_assert_msg(specimen.module != NULL, "%d:%d %s", err.line, err.column, err.message);
    specimen.argument_count = specimen.module->entry->parameter_count;
    specimen.arguments =
        memory_zalloc(((size_t)specimen.argument_count + 1) * sizeof *specimen.arguments);
    struct input_options inputs = {.seed = 1};
    ck_assert(inputs_generate(specimen.module, &inputs, specimen.arguments, NULL, &err));
    return specimen;
}

/* Is there an instruction of the opcode `what` whose operand is one of the opcode `operand`? */
struct wanted {
    enum opcode what, operand;
    int tested;
};

static bool has_pair(void *context, int thread, const struct specimen *specimen)
{
    struct wanted *wanted = context;
    (void)thread;
    wanted->tested++;
    ck_assert(verify_module(specimen->module, &(struct findings){0}));
    ck_assert_int_eq(specimen->argument_count, specimen->module->entry->parameter_count);
    for (int i = 0; i < specimen->argument_count; i++) {
        ck_assert(shape_compatible(specimen->arguments[i]->shape,
                                   specimen->module->entry->parameters[i]->shape));
    }
    for (int c = 0; c < specimen->module->count; c++) {
        const struct computation *computation = specimen->module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *instruction = computation->instructions[i];
            for (int k = 0; k < instruction->operand_count; k++) {
                if (instruction->opcode == wanted->what &&
                    instruction->operands[k]->opcode == wanted->operand) {
                    return true;
                }
            }
        }
    }
    return false;
}

static char *print(const struct specimen *specimen)
{
    struct text text;
    text_init(&text);
    text_print_module(specimen->module, &print_short, &text);
    char *taken = text_take(&text);
    text_finish(&text);
    return taken;
}

static const char program[] =
    "HloModule program, entry_computation_layout={(f32[16,24]{1,0}, f32[24,32]{1,0}, "
    "s32[]{:T(128)})"
    "->(f32[16,32]{1,0}, f32[], f32[16,32]{1,0})}\n"
    "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
    "fused { p = f32[16,32]{1,0} parameter(0) q = f32[16,32]{1,0} parameter(1)\n"
    "  e = f32[16,32]{1,0} exponential(p) n = f32[16,32]{1,0} negate(e)\n"
    "  ROOT m = f32[16,32]{1,0} multiply(n, q) }\n"
    "body { s = (s32[], f32[16,32]{1,0}, f32[4]{0}) parameter(0)\n"
    "  i = s32[] get-tuple-element(s), index=0 x = f32[16,32]{1,0} get-tuple-element(s), index=1\n"
    "  u = f32[4]{0} get-tuple-element(s), index=2 one = s32[] constant(1)\n"
    "  j = s32[] add(i, one) y = f32[16,32]{1,0} tanh(x)\n"
    "  ROOT t = (s32[], f32[16,32]{1,0}, f32[4]{0}) tuple(j, y, u) }\n"
    "condition { s = (s32[], f32[16,32]{1,0}, f32[4]{0}) parameter(0)\n"
    "  i = s32[] get-tuple-element(s), index=0 n = s32[] constant(9)\n"
    "  ROOT l = pred[] compare(i, n), direction=LT }\n"
    "ENTRY main {\n"
    "  a = f32[16,24]{1,0} parameter(0), metadata={op_name=\"a\"}\n"
    "  b = f32[24,32]{1,0} parameter(1)\n"
    "  k = s32[] parameter(2)\n"
    "  d = f32[16,32]{1,0} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  f = f32[16,32]{1,0} fusion(d, d), kind=kLoop, calls=fused\n"
    "  four = f32[4]{0} constant({1, 2, 3, 4})\n"
    "  init = (s32[], f32[16,32]{1,0}, f32[4]{0}) tuple(k, f, four)\n"
    "  w = (s32[], f32[16,32]{1,0}, f32[4]{0}) while(init), condition=condition, body=body\n"
    "  y = f32[16,32]{1,0} get-tuple-element(w), index=1\n"
    "  zero = f32[] constant(0)\n"
    "  r = f32[] reduce(y, zero), dimensions={0,1}, to_apply=sum\n"
    "  g = f32[16,32]{1,0} add(y, d)\n"
    "  ROOT out = (f32[16,32]{1,0}, f32[], f32[16,32]{1,0}) tuple(g, r, f)\n"
    "}\n";

static const struct {
    enum opcode what, operand;
    int instructions, elements; /* at most, of all computations */
    const char *line;           /* that is still there */
} pairs[] = {
    {OP_NEGATE, OP_EXPONENTIAL, 3, 3, "negate("},
    {OP_ADD, OP_DOT, 3, 3, "dot("},
    {OP_TANH, OP_GET_TUPLE_ELEMENT, 13, 20, "tanh("},
    {OP_REDUCE, OP_CONSTANT, 6, 6, "reduce("},
    {OP_COMPARE, OP_GET_TUPLE_ELEMENT, 13, 18, "compare("},
    {OP_MULTIPLY, OP_NEGATE, 4, 4, "multiply("},
};

START_TEST(test_smallest)
{
    struct specimen specimen = read_specimen(program);
    struct wanted wanted = {pairs[_i].what, pairs[_i].operand, 0};
    struct shrink_options options = {.test = has_pair, .context = &wanted};
    struct shrink_statistics statistics;
    shrink_run(&specimen, &options, &statistics);
    char *text = print(&specimen);
    ck_assert(statistics.complete);
    ck_assert(has_pair(&wanted, 0, &specimen));
    struct specimen_size size = specimen_size(&specimen);
    ck_assert_msg(
        size.instructions <= pairs[_i].instructions && size.elements <= pairs[_i].elements,
        "%lld instructions, %lld elements after %lld candidates:\n%s", (long long)size.instructions,
        (long long)size.elements, (long long)statistics.candidates, text);
    ck_assert_msg(strstr(text, pairs[_i].line) != NULL, "%s", text);
    ck_assert_msg(strstr(text, "HloModule reduced") != NULL, "%s", text);
    ck_assert_msg(strstr(text, "metadata") == NULL, "%s", text);
    free(text);
    specimen_finish(&specimen);
}
END_TEST

/* A call that passes two operands of one shape, and some instruction. */
static bool passes_two(void *context, int thread, const struct specimen *specimen)
{
    (void)context;
    (void)thread;
    for (int c = 0; c < specimen->module->count; c++) {
        const struct computation *computation = specimen->module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *instruction = computation->instructions[i];
            if (instruction->opcode == OP_CALL && instruction->operand_count == 2) {
                return true;
            }
        }
    }
    return false;
}

/* What goes wrong is how a call passes what its computation does not read. */
START_TEST(test_unread)
{
    struct specimen specimen =
        read_specimen("HloModule m\n"
                      "idle { x = f32[9] parameter(0)\n  ROOT n = f32[9] negate(x) }\n"
                      "one { x = f32[9] parameter(0)\n  y = f32[9] parameter(1)\n"
                      "  d = f32[9] add(x, y)\n  e = f32[9] exponential(y)\n"
                      "  ROOT n = f32[9] negate(e) }\n"
                      "ENTRY e {\n  x = f32[9] parameter(0)\n  y = f32[9] tanh(x)\n"
                      "  z = f32[9] cosine(y)\n  i = f32[9] call(z), to_apply=idle\n"
                      "  c = f32[9] call(y, z), to_apply=one\n  ROOT s = f32[9] sine(c)\n}\n");
    struct shrink_options options = {.test = passes_two};
    struct shrink_statistics statistics;
    shrink_run(&specimen, &options, &statistics);
    char *text = print(&specimen);
    struct specimen_size size = specimen_size(&specimen);
    ck_assert(statistics.complete && passes_two(NULL, 0, &specimen));
    ck_assert_msg(size.instructions <= 4 && size.elements <= 4, "%s", text);
    free(text);
    specimen_finish(&specimen);
}
END_TEST

/* The value of an instruction of the specimen, by evaluating up to it. */
static struct literal *evaluated(void *context, const struct instruction *instruction, int set)
{
    struct specimen *specimen = context;
    ck_assert_int_eq(set, 0);
    struct instruction *root = specimen->module->entry->root;
    struct error err = {0};
    specimen->module->entry->root = (struct instruction *)(uintptr_t)instruction;
    struct literal *value = interp_evaluate(specimen->module, specimen->arguments,
                                            specimen->argument_count, NULL, &err);
    specimen->module->entry->root = root;
    return value;
}

/* What becomes a parameter has the value that the golden computes, so the result stays. */
START_TEST(test_parameters_keep_values)
{
    static const char text[] =
        "HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  y = f32[2] exponential(x)\n"
        "  z = f32[2] negate(y)\n  ROOT r = f32[2] add(z, z)\n}\n";
    struct specimen specimen = read_specimen(text), candidate;
    struct error err = {0};
    struct literal *before = interp_evaluate(specimen.module, specimen.arguments, 1, NULL, &err);
    struct wanted wanted = {OP_ADD, OP_PARAMETER, 0};
    struct shrink_options options = {.test = has_pair, .context = &wanted};
    struct shrink_statistics statistics;
    shrink_run(&specimen, &options, &statistics);
    ck_assert_int_eq(specimen_size(&specimen).instructions, 2);
    specimen_finish(&specimen);
    /* The same step by step, before values are made simpler. */
    specimen = read_specimen(text);
    struct shrink_place place = {0, 2, 0};
    int by = 0;
    while (strcmp(simplifications[by].name, "parameters") != 0) {
        by++;
    }
    ck_assert(shrink_candidate(&simplifications[by], &specimen, &place, 1, evaluated, &specimen,
                               &candidate, &err));
    struct literal *after = interp_evaluate(candidate.module, candidate.arguments,
                                            candidate.argument_count, NULL, &err);
    ck_assert_int_eq(candidate.argument_count, 1);
    ck_assert_int_eq(candidate.module->entry->count, 2);
    ck_assert(literal_equal(before, after));
    literal_release(before);
    literal_release(after);
    specimen_finish(&candidate);
    specimen_finish(&specimen);
}
END_TEST

/* Several jobs find what one finds. */
START_TEST(test_jobs)
{
    char *texts[2];
    for (int i = 0; i < 2; i++) {
        struct specimen specimen = read_specimen(program);
        struct wanted wanted = {OP_MULTIPLY, OP_NEGATE, 0};
        struct shrink_options options = {
            .test = has_pair, .context = &wanted, .jobs = i == 0 ? 1 : 4};
        struct shrink_statistics statistics;
        shrink_run(&specimen, &options, &statistics);
        texts[i] = print(&specimen);
        specimen_finish(&specimen);
    }
    ck_assert_str_eq(texts[0], texts[1]);
    free(texts[0]);
    free(texts[1]);
}
END_TEST

static bool stop_soon(void *context)
{
    return ((struct wanted *)context)->tested >= 3;
}

/* Stopped early, what is left fails still. */
START_TEST(test_stopped)
{
    struct specimen specimen = read_specimen(program);
    struct wanted wanted = {OP_MULTIPLY, OP_NEGATE, 0};
    struct shrink_options options = {.test = has_pair, .context = &wanted, .stopped = stop_soon};
    struct shrink_statistics statistics;
    shrink_run(&specimen, &options, &statistics);
    ck_assert(!statistics.complete);
    ck_assert(has_pair(&wanted, 0, &specimen));
    specimen_finish(&specimen);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shrink");
    TCase *tests = tcase_create("all");
    tcase_add_loop_test(tests, test_smallest, 0, sizeof pairs / sizeof *pairs);
    tcase_add_test(tests, test_unread);
    tcase_add_test(tests, test_parameters_keep_values);
    tcase_add_test(tests, test_jobs);
    tcase_add_test(tests, test_stopped);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
