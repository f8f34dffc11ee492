/* Asynchronous forms in every shape that XLA's verifier lets pass, and mixed precision: results in
 * another float type than the op is inferred to. */
#include <stdio.h>

#include "hlo/base/pool.h"
#include "hlo/verify.h"
#include "tests/interp/evaluate_text.h"

static void setup(void)
{
    pool_set_threads(2);
}

/* The module verifies and gives `want` for {1, 2} and {10, 20}. */
static void check(const char *text, const char *want)
{
    struct module *module = read_module(text);
    struct findings findings;
    ck_assert_msg(verify_module(module, &findings), "%s\n%s", findings.list[0].text, text);
    findings_finish(&findings);
    module_destroy(module);
    check_evaluates(text, "f32[2] {1, 2}", "f32[2] {10, 20}", NULL, NULL, want);
}

#define BODY                                                                             \
    "HloModule m\n"                                                                      \
    "body { x = f32[2] parameter(0) y = f32[2] parameter(1) s = f32[2] subtract(y, x)\n" \
    "  ROOT t = (f32[2], f32[2]) tuple(s, x) }, execution_thread=\"t\"\n"                \
    "ENTRY e { a = f32[2] parameter(0) b = f32[2] parameter(1)\n"
#define WHOLE "((f32[2], f32[2]), (f32[2], f32[2]), u32[])"
#define PART "((f32[2]), (), u32[])"
#define RESULT "(f32[2], f32[2]) ({9, 18}, {1, 2})"

START_TEST(test_chains)
{
    /* All at once. */
    check(BODY "  s = " WHOLE " async-start(a, b), calls=body, async_execution_thread=\"t\"\n"
               "  ROOT d = (f32[2], f32[2]) async-done(s) }\n",
          RESULT);
    /* Updates that only pass on; the done names the computation again. */
    check(BODY "  s = " WHOLE " async-start(a, b), calls=body, async_execution_thread=\"t\"\n"
               "  u = " WHOLE " async-update(s) v = " WHOLE " async-update(u)\n"
               "  ROOT d = (f32[2], f32[2]) async-done(v), calls=body,\n"
               "    async_execution_thread=\"t\" }\n",
          RESULT);
    /* The second operand comes with an update, the result with another. */
    check(BODY "  s = " PART " async-start(a), calls=body, async_execution_thread=\"t\"\n"
               "  u = ((f32[2], f32[2]), (f32[2]), u32[]) async-update(s, b)\n"
               "  v = " WHOLE " async-update(u)\n"
               "  ROOT d = (f32[2], f32[2]) async-done(v) }\n",
          RESULT);
    /* The result has no place before the done. */
    check(BODY "  s = " PART " async-start(a), calls=body, async_execution_thread=\"t\"\n"
               "  u = ((f32[2], f32[2]), (), u32[]) async-update(s, b)\n"
               "  ROOT d = (f32[2], f32[2]) async-done(u) }\n",
          RESULT);
    /* Through a tuple and a barrier. */
    check(BODY "  s = " WHOLE " async-start(a, b), calls=body, async_execution_thread=\"t\"\n"
               "  p = (f32[2], " WHOLE ") tuple(a, s) q = (f32[2], " WHOLE ") opt-barrier(p)\n"
               "  g = " WHOLE " get-tuple-element(q), index=1\n"
               "  ROOT d = (f32[2], f32[2]) async-done(g) }\n",
          RESULT);
}
END_TEST

/* Short forms, for any opcode. */
START_TEST(test_short_forms)
{
    check("HloModule m\nENTRY e { a = f32[2] parameter(0) b = f32[2] parameter(1)\n"
          "  s = ((f32[2], f32[2]), f32[2], s32[]) add-start(a, b)\n"
          "  u = ((f32[2], f32[2]), f32[2], s32[]) add-update(s)\n"
          "  ROOT r = f32[2] add-done(u) }\n",
          "f32[2] {11, 22}");
    check("HloModule m\n"
          "f { x = f32[2] parameter(0) y = f32[2] parameter(1) ROOT z = f32[2] multiply(x, y) }\n"
          "ENTRY e { a = f32[2] parameter(0) b = f32[2] parameter(1)\n"
          "  s = ((f32[2], f32[2]), f32[2], s32[]) fusion-start(a, b), kind=kLoop, calls=f\n"
          "  ROOT r = f32[2] fusion-done(s) }\n",
          "f32[2] {10, 40}");
    check("HloModule m\nENTRY e { a = f32[2] parameter(0) b = f32[2] parameter(1)\n"
          "  s = (f32[2]{0:S(1)}, f32[2], u32[]) copy-start(a), cross_program_prefetch_index=0\n"
          "  c = f32[2]{0:S(1)} copy-done(s) ROOT r = f32[2] add(c, b) }\n",
          "f32[2] {11, 22}");
}
END_TEST

/* XLA's CPU runs starts whose shape is their result alone, and the other way round, on one device
 * as on several: import_async.hlo of XLA's own tests has them. */
START_TEST(test_starts)
{
#define ENTRY "ENTRY e { a = f32[2] parameter(0) b = f32[2] parameter(1)\n"
#define ADD "add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }\n"
    static const char *const modules[] = {
        ENTRY "s = (f32[2], f32[2]) all-gather-start(a), replica_groups={{0}}, dimensions={0}\n"
              "ROOT r = f32[2] all-gather-done(s) }\n",
        ENTRY "s = f32[2] all-gather-start(a), replica_groups={{0}}, dimensions={0}\n"
              "ROOT r = f32[2] all-gather-done(s) }\n",
        ENTRY "s = f32[2] collective-permute-start(a), source_target_pairs={{0,0}}\n"
              "ROOT r = f32[2] collective-permute-done(s) }\n",
        ENTRY "s = (f32[2], f32[2], u32[], u32[]) collective-permute-start(a), "
              "source_target_pairs={{0,0}}\nROOT r = f32[2] collective-permute-done(s) }\n",
        ADD ENTRY "s = f32[2] all-reduce-start(a), replica_groups={{0}}, to_apply=add\n"
                  "ROOT r = f32[2] all-reduce-done(s) }\n",
        ADD ENTRY "s = (f32[2], f32[2]) all-reduce-start(a), replica_groups={{0}}, to_apply=add\n"
                  "ROOT r = f32[2] all-reduce-done(s) }\n",
    };
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        check(modules[i], "f32[2] {1, 2}");
    }
    check(ADD ENTRY "s = (f32[2], f32[2]) all-reduce-start(a, b), replica_groups={{0}}, "
                    "to_apply=add\nROOT r = (f32[2], f32[2]) all-reduce-done(s) }\n",
          "(f32[2], f32[2]) ({1, 2}, {10, 20})");
    check(ENTRY "s = ((f32[2], f32[2]), (f32[2], f32[2])) all-gather-start(a, b), "
                "replica_groups={{0}}, dimensions={0}\n"
                "ROOT r = (f32[2], f32[2]) all-gather-done(s) }\n",
          "(f32[2], f32[2]) ({1, 2}, {10, 20})");
}
END_TEST

/* bf16 keeps 8 bits of a significand: 257 rounds to 256, 1.00390625 + 2^-9 to 1. */
START_TEST(test_mixed_results)
{
    static const char *const modules[][2] = {
        {"ROOT r = bf16[2] copy(a)", "bf16[2] {256, 2}"},
        {"ROOT r = bf16[2] reverse(a), dimensions={0}", "bf16[2] {2, 256}"},
        {"ROOT r = f64[2,2] transpose(c), dimensions={1,0}", "f64[2,2] {{257, 257}, {2, 2}}"},
        {"z = f32[] constant(1) ROOT r = bf16[] reduce(a, z), dimensions={0}, to_apply=add",
         "bf16[] 260"},
        {"z = f32[] constant(0) ROOT r = bf16[1] reduce-window(a, z), window={size=2}, "
         "to_apply=add",
         "bf16[1] {260}"},
        {"ROOT r = bf16[2] sort(a), dimensions={0}, to_apply=lt", "bf16[2] {2, 256}"},
        {"ROOT r = bf16[2] sort(a), dimensions={0}, to_apply=narrow_lt", "bf16[2] {2, 256}"},
        {"ROOT r = (bf16[2], f32[2]) sort(a, a), dimensions={0}, to_apply=two",
         "(bf16[2], f32[2]) ({2, 256}, {2, 257})"},
        {"ROOT r = bf16[2] map(a), dimensions={0}, to_apply=narrow", "bf16[2] {512, 4}"},
        {"ROOT r = f32[2] map(a), dimensions={0}, to_apply=narrow", "f32[2] {512, 4}"},
        {"ROOT r = (bf16[1], s32[1]) topk(a), k=1", "(bf16[1], s32[1]) ({256}, {0})"},
        {"i = s32[] constant(0) ROOT r = bf16[1] dynamic-slice(a, i), dynamic_slice_sizes={1}",
         "bf16[1] {256}"},
        /* operands of two types */
        {"b = bf16[2] convert(a) ROOT r = f32[4] concatenate(b, a), dimensions={0}",
         "f32[4] {256, 2, 257, 2}"},
        {"b = bf16[2] convert(a) ROOT r = bf16[4] concatenate(a, b), dimensions={0}",
         "bf16[4] {256, 2, 256, 2}"},
        {"h = f64[] constant(0.5) ROOT r = f32[3] pad(a, h), padding=1_0", "f32[3] {0.5, 257, 2}"},
        {"h = bf16[] constant(0.5) ROOT r = f64[3] pad(a, h), padding=1_0", "f64[3] {0.5, 257, 2}"},
        {"i = s32[] constant(1) b = bf16[1] constant({4}) "
         "ROOT r = f32[2] dynamic-update-slice(a, b, i)",
         "f32[2] {257, 4}"},
        {"h = f32[] constant(0.5) ROOT r = bf16[3] pad(a, h), padding=1_0",
         "bf16[3] {0.5, 256, 2}"},
        {"z = f32[] constant(0) ROOT r = (bf16[2], f64[]) scan(a, z), dimensions={0}, "
         "num_carries=1, to_apply=running",
         "(bf16[2], f64[]) ({256, 260}, 259)"},
    };
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        char text[2048];
        snprintf(text, sizeof text,
                 "HloModule m\n" ADD "lt { x = f32[] parameter(0) y = f32[] parameter(1)\n"
                 "  ROOT p = pred[] compare(x, y), direction=LT }\n"
                 "two { x = f32[] parameter(0) y = f32[] parameter(1) v = f32[] parameter(2)\n"
                 "  w = f32[] parameter(3) ROOT p = pred[] compare(x, y), direction=LT }\n"
                 "narrow_lt { x = bf16[] parameter(0) y = bf16[] parameter(1)\n"
                 "  ROOT p = pred[] compare(x, y), direction=LT }\n"
                 "narrow { x = bf16[] parameter(0) ROOT y = bf16[] add(x, x) }\n"
                 "running { x = f32[] parameter(0) y = f32[] parameter(1) z = f32[] add(x, y)\n"
                 "  ROOT t = (f32[], f32[]) tuple(z, z) }\n"
                 "ENTRY e { a = f32[2] parameter(0) c = f32[2,2] broadcast(a), dimensions={1}\n"
                 "  %s }\n",
                 modules[i][0]);
        struct module *module = read_module(text);
        struct findings findings;
        ck_assert_msg(verify_module(module, &findings), "%s\n%s", findings.list[0].text, text);
        findings_finish(&findings);
        module_destroy(module);
        check_evaluates(text, "f32[2] {257, 2}", NULL, NULL, NULL, modules[i][1]);
    }
}
END_TEST

/* Broadcast and reshape into bf16 from f32, which XLA's verifier refuses, and its TPU compiler
 * makes: a conversion, also where they are joined with what follows. */
START_TEST(test_mixed_given)
{
    static const char *const roots[] = {
        "b = bf16[2,1024] broadcast(a), dimensions={0} ROOT r = bf16[2,1024] negate(b)",
        "b = bf16[1024,2] broadcast(a), dimensions={1} n = bf16[1024,2] negate(b) "
        "ROOT r = bf16[2,1024] transpose(n), dimensions={1,0}",
    };
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        char text[512];
        struct error err = {0};
        snprintf(text, sizeof text, "HloModule m\nENTRY e { a = bf16[2] parameter(0) %s }\n",
                 roots[i]);
        struct module *module = read_module(text);
        struct instruction *parameter = module->entry->parameters[0];
        parameter->shape = shape_with_type(parameter->shape, TYPE_F32);
        struct literal *argument = literal_create(parameter->shape, &err);
        literal_set_double(argument, 0, 257);
        literal_set_double(argument, 1, 2);
        struct literal *result = interp_evaluate(module, &argument, 1, NULL, &err);
        ck_assert_msg(result != NULL, "%s", err.message);
        for (int64_t e = 0; e < 2048; e++) {
            ck_assert_double_eq(literal_get_double(result, e), e < 1024 ? -256 : -2);
        }
        literal_release(result);
        literal_release(argument);
        module_destroy(module);
    }
    char text[] = "HloModule m\nENTRY e { a = bf16[2048] parameter(0)\n"
                  "b = bf16[2,1024] reshape(a) ROOT r = bf16[2,1024] negate(b) }\n";
    struct error err = {0};
    struct module *module = read_module(text);
    struct instruction *parameter = module->entry->parameters[0];
    parameter->shape = shape_with_type(parameter->shape, TYPE_F32);
    struct literal *argument = literal_create(parameter->shape, &err);
    for (int64_t e = 0; e < 2048; e++) {
        literal_set_double(argument, e, (double)(257 + 2 * (e % 8)));
    }
    struct literal *result = interp_evaluate(module, &argument, 1, NULL, &err);
    ck_assert_msg(result != NULL, "%s", err.message);
    static const double rounded[] = {256, 260, 260, 264, 264, 268, 268, 272};
    for (int64_t e = 0; e < 2048; e++) {
        ck_assert_double_eq(literal_get_double(result, e), -rounded[e % 8]);
    }
    literal_release(result);
    literal_release(argument);
    module_destroy(module);
}
END_TEST

/* Bytes are bytes: tiles, packed elements and types at once. */
START_TEST(test_bitcasts)
{
    static const char *const modules[][3] = {
        /* 0x3ff00000 00000000, low word first */
        {"f64[2] {1, 2}", "ROOT r = u32[2,2] bitcast(a)",
         "u32[2,2] {{0, 1072693248}, {0, 1073741824}}"},
        {"f64[2] {1, 2}", "ROOT r = u32[4]{0} bitcast(a)", "u32[4] {0, 1072693248, 0, 1073741824}"},
        {"u8[4] {1, 2, 3, 4}", "ROOT r = s4[8]{0:E(4)} bitcast(a)",
         "s4[8] {1, 0, 2, 0, 3, 0, 4, 0}"},
        {"u16[2,2] {{1, 2}, {3, 4}}", "ROOT r = u32[2]{0} bitcast(b)", "u32[2] {196609, 262146}"},
        /* Columns of tiles of 2 × 1, as words. */
        {"u16[2,2] {{1, 2}, {3, 4}}", "ROOT r = u32[2]{0} bitcast(t)", "u32[2] {196609, 262146}"},
        {"c128[1] {(1, 2)}", "ROOT r = f64[2] bitcast(a)", "f64[2] {1, 2}"},
        {"f64[2] {1, 2}", "ROOT r = c128[1] bitcast(a)", "c128[1] {(1, 2)}"},
    };
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        char text[1024], shape[32];
        snprintf(shape, sizeof shape, "%.*s", (int)strcspn(modules[i][0], " "), modules[i][0]);
        bool square = strstr(shape, ",") != NULL;
        snprintf(text, sizeof text, "HloModule m\nENTRY e { a = %s parameter(0)\n%s%s%s%s  %s }\n",
                 shape, square ? "  b = u16[2,2]{0,1} copy(a)" : "", square ? "\n" : "",
                 square ? "  t = u16[2,2]{1,0:T(2,1)} copy(a)" : "", square ? "\n" : "",
                 modules[i][1]);
        check_evaluates(text, modules[i][0], NULL, NULL, NULL, modules[i][2]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("async");
    TCase *tests = tcase_create("async");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, test_chains);
    tcase_add_test(tests, test_short_forms);
    tcase_add_test(tests, test_starts);
    tcase_add_test(tests, test_mixed_results);
    tcase_add_test(tests, test_mixed_given);
    tcase_add_test(tests, test_bitcasts);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
