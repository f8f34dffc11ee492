/* Control flow: which computation runs, how often, on what; that values die in time and loops
 * update in place. */
#include "hlo/base/pool.h"
#include "tests/interp/evaluate_text.h"

static void setup(void)
{
    pool_set_threads(2);
}

START_TEST(test_call_and_fusion)
{
    check_evaluates("HloModule m\n"
                    "twice { x = s32[2] parameter(0) ROOT r = s32[2] add(x, x) }\n"
                    "inner { a = s32[2] parameter(0) b = s32[2] parameter(1)\n"
                    "  c = s32[2] call(b), to_apply=twice ROOT r = s32[2] subtract(c, a) }\n"
                    "ENTRY e { p = s32[2] parameter(0) q = s32[2] parameter(1)\n"
                    "  ROOT r = s32[2] fusion(p, q), kind=kLoop, calls=inner }\n",
                    "s32[2] {1, 2}", "s32[2] {10, 20}", NULL, NULL, "s32[2] {19, 38}");
    /* An operand more than the body takes: one that lives on, and one that dies there. */
    check_evaluates("HloModule m\n"
                    "inner { a = s32[2] parameter(0) ROOT r = s32[2] negate(a) }\n"
                    "ENTRY e { p = s32[2] parameter(0) q = s32[2] add(p, p)\n"
                    "  f = s32[2] fusion(q, p), kind=kLoop, calls=inner\n"
                    "  ROOT r = s32[2] fusion(f, q), kind=kLoop, calls=inner }\n",
                    "s32[2] {1, 2}", NULL, NULL, NULL, "s32[2] {2, 4}");
    check_fails("HloModule m\n"
                "inner { a = s32[2] parameter(0) ROOT r = s32[2] negate(a) }\n"
                "ENTRY e { p = s32[2] parameter(0) ROOT r = s32[2] call(p, p), to_apply=inner }\n",
                "s32[2] {1, 2}", NULL, NULL, ERROR_INVALID_ARGUMENT, "wants 1 arguments, not 2");
}
END_TEST

/* A reducer whose root is a tuple of one gives a tuple of one. */
START_TEST(test_tuple_of_one)
{
    check_evaluates("HloModule m\n"
                    "add { a = s32[] parameter(0) b = s32[] parameter(1) s = s32[] add(a, b)\n"
                    "  ROOT t = (s32[]) tuple(s) }\n"
                    "odd { a = s32[] parameter(0) b = s32[] parameter(1) d = s32[] add(a, a)\n"
                    "  s = s32[] add(d, b) ROOT t = (s32[]) tuple(s) }\n"
                    "ENTRY e { x = s32[2,3] parameter(0) z = s32[] parameter(1)\n"
                    "  r = (s32[2]) reduce(x, z), dimensions={1}, to_apply=add\n"
                    "  o = (s32[2]) reduce(x, z), dimensions={1}, to_apply=odd\n"
                    "  g = s32[2] get-tuple-element(r), index=0 n = s32[2] negate(g)\n"
                    "  ROOT t = (s32[2], (s32[2]), (s32[2])) tuple(n, r, o) }\n",
                    "s32[2,3] {{1, 2, 3}, {4, 5, 6}}", "s32[] 10", NULL, NULL,
                    "(s32[2], (s32[2]), (s32[2])) ({-16, -25}, ({16, 25}), ({91, 112}))");
}
END_TEST

/* StableHLO specification, while: the sum of 0 … 9 with its counter. */
static const char sum_loop[] =
    "HloModule m\n"
    "body { s = (s64[], s64[]) parameter(0)\n"
    "  i = s64[] get-tuple-element(s), index=0 sum = s64[] get-tuple-element(s), index=1\n"
    "  one = s64[] constant(1) next = s64[] add(i, one) new = s64[] add(sum, one)\n"
    "  ROOT t = (s64[], s64[]) tuple(next, new) }\n"
    "cond { s = (s64[], s64[]) parameter(0) i = s64[] get-tuple-element(s), index=0\n"
    "  ten = s64[] constant(10) ROOT l = pred[] compare(i, ten), direction=LT }\n"
    "ENTRY e { i = s64[] parameter(0) sum = s64[] parameter(1)\n"
    "  t = (s64[], s64[]) tuple(i, sum)\n"
    "  ROOT w = (s64[], s64[]) while(t), condition=cond, body=body }\n";

START_TEST(test_while)
{
    check_evaluates(sum_loop, "s64[] 0", "s64[] 0", NULL, NULL, "(s64[], s64[]) (10, 10)");
    check_evaluates(sum_loop, "s64[] 7", "s64[] 0", NULL, NULL, "(s64[], s64[]) (10, 3)");
    /* The condition is asked first. */
    check_evaluates(sum_loop, "s64[] 10", "s64[] 5", NULL, NULL, "(s64[], s64[]) (10, 5)");
}
END_TEST

static bool cancel_at_once(void *context)
{
    ++*(int *)context;
    return true;
}

START_TEST(test_while_limits)
{
    struct interp_options options = {.max_loop_iterations = 4};
    check_fails(sum_loop, "s64[] 0", "s64[] 0", &options, ERROR_DEADLINE_EXCEEDED, "w (while)");
    options.max_loop_iterations = 10;
    struct module *module = read_module(sum_loop);
    struct error err = {0};
    struct literal *result =
        evaluate_module(module, "s64[] 0", "s64[] 0", NULL, NULL, &options, &err);
    ck_assert_ptr_nonnull(result);
    literal_release(result);
    module_destroy(module);
    int calls = 0;
    options = (struct interp_options){.cancelled = cancel_at_once, .context = &calls};
    check_fails(sum_loop, "s64[] 0", "s64[] 0", &options, ERROR_DEADLINE_EXCEEDED, "cancelled");
    ck_assert_int_ge(calls, 1);
    /* A loop without instructions of its own can be cancelled too. */
    check_fails("HloModule m\n"
                "body { ROOT s = s32[] parameter(0) }\n"
                "cond { s = s32[] parameter(0) ROOT t = pred[] constant(true) }\n"
                "ENTRY e { p = s32[] parameter(0)\n"
                "  ROOT w = s32[] while(p), condition=cond, body=body }\n",
                "s32[] 0", NULL, &options, ERROR_DEADLINE_EXCEEDED, "cancelled");
}
END_TEST

START_TEST(test_conditional)
{
    static const char by_pred[] =
        "HloModule m\n"
        "yes { x = f32[] parameter(0) ROOT n = f32[] negate(x) }\n"
        "no { ROOT x = f32[] parameter(0) }\n"
        "ENTRY e { p = pred[] parameter(0) a = f32[] parameter(1) b = f32[] parameter(2)\n"
        "  ROOT c = f32[] conditional(p, a, b), true_computation=yes, false_computation=no }\n";
    check_evaluates(by_pred, "pred[] true", "f32[] 1", "f32[] 2", NULL, "f32[] -1");
    check_evaluates(by_pred, "pred[] false", "f32[] 1", "f32[] 2", NULL, "f32[] 2");
    static const char by_index[] =
        "HloModule m\n"
        "f0 { x = s32[] parameter(0) ROOT r = s32[] constant(100) }\n"
        "f1 { x = s32[] parameter(0) ROOT r = s32[] constant(101) }\n"
        "f2 { x = s32[] parameter(0) ROOT r = s32[] add(x, x) }\n"
        "ENTRY e { i = s32[] parameter(0) x = s32[] parameter(1)\n"
        "  ROOT c = s32[] conditional(i, x, x, x), branch_computations={f0, f1, f2} }\n";
    check_evaluates(by_index, "s32[] 0", "s32[] 7", NULL, NULL, "s32[] 100");
    check_evaluates(by_index, "s32[] 1", "s32[] 7", NULL, NULL, "s32[] 101");
    check_evaluates(by_index, "s32[] 2", "s32[] 7", NULL, NULL, "s32[] 14");
    /* Out of range, the last branch (HLO operation semantics, Conditional). */
    check_evaluates(by_index, "s32[] -1", "s32[] 7", NULL, NULL, "s32[] 14");
    check_evaluates(by_index, "s32[] 3", "s32[] 7", NULL, NULL, "s32[] 14");
}
END_TEST

START_TEST(test_tuples)
{
    check_evaluates("HloModule m\n"
                    "ENTRY e { a = s32[] parameter(0) b = f32[2] parameter(1)\n"
                    "  t = (s32[], f32[2]) tuple(a, b) u = ((s32[], f32[2]), s32[]) tuple(t, a)\n"
                    "  v = (s32[], f32[2]) get-tuple-element(u), index=0\n"
                    "  w = f32[2] get-tuple-element(v), index=1\n"
                    "  x = s32[] get-tuple-element(v), index=0\n"
                    "  ROOT r = (f32[2], s32[], (s32[], f32[2])) tuple(w, x, v) }\n",
                    "s32[] 3", "f32[2] {1, 2}", NULL, NULL,
                    "(f32[2], s32[], (s32[], f32[2])) ({1, 2}, 3, (3, {1, 2}))");
}
END_TEST

START_TEST(test_passing_ops)
{
    check_evaluates("HloModule m\n"
                    "ENTRY e { a = s32[2] parameter(0) t = token[] after-all()\n"
                    "  b = s32[2] add-dependency(a, t) c = s32[2] copy(b)\n"
                    "  d = s32[2] opt-barrier(c)\n"
                    "  s = (s32[2], s32[2], u32[]) copy-start(d)\n"
                    "  ROOT r = s32[2] copy-done(s) }\n",
                    "s32[2] {4, 5}", NULL, NULL, NULL, "s32[2] {4, 5}");
    check_evaluates("HloModule m\n"
                    "f { x = s32[2] parameter(0) ROOT r = s32[2] add(x, x) }\n"
                    "ENTRY e { a = s32[2] parameter(0)\n"
                    "  s = ((s32[2]), s32[2], u32[]) async-start(a), calls=f\n"
                    "  u = ((s32[2]), s32[2], u32[]) async-update(s)\n"
                    "  ROOT r = s32[2] async-done(u) }\n",
                    "s32[2] {4, 5}", NULL, NULL, NULL, "s32[2] {8, 10}");
}
END_TEST

/* A loop that sets row i of a large array to i. */
static const char row_loop[] =
    "HloModule m\n"
    "body { s = (s32[], f32[4096,1024], f32[]) parameter(0)\n"
    "  i = s32[] get-tuple-element(s), index=0\n"
    "  a = f32[4096,1024] get-tuple-element(s), index=1\n"
    "  v = f32[] convert(i) row = f32[1,1024] broadcast(v), dimensions={}\n"
    "  zero = s32[] constant(0)\n"
    "  new = f32[4096,1024] dynamic-update-slice(a, row, i, zero)\n"
    "  k = f32[] get-tuple-element(s), index=2\n"
    "  one = s32[] constant(1) next = s32[] add(i, one)\n"
    "  ROOT t = (s32[], f32[4096,1024], f32[]) tuple(next, new, k) }\n"
    "cond { s = (s32[], f32[4096,1024], f32[]) parameter(0)\n"
    "  i = s32[] get-tuple-element(s), index=0\n"
    "  n = s32[] constant(4096) ROOT l = pred[] compare(i, n), direction=LT }\n"
    "ENTRY e { i = s32[] constant(0) z = f32[] parameter(0)\n"
    "  a = f32[4096,1024] broadcast(z), dimensions={}\n"
    "  t = (s32[], f32[4096,1024], f32[]) tuple(i, a, z)\n"
    "  w = (s32[], f32[4096,1024], f32[]) while(t), condition=cond, body=body\n"
    "  ROOT r = f32[4096,1024] get-tuple-element(w), index=1 }\n";

/* 4096 copies of the 16 MiB would take a minute and a second array. */
START_TEST(test_loop_in_place)
{
    struct module *module = read_module(row_loop);
    struct error err = {0};
    size_t before = literal_memory_peak();
    struct literal *result = evaluate_module(module, "f32[] 0", NULL, NULL, NULL, NULL, &err);
    ck_assert_msg(result != NULL, "%s", err.message);
    const float *data = literal_data(result);
    for (int i = 0; i < 4096; i += 97) {
        ck_assert(data[i * 1024] == (float)i && data[i * 1024 + 1023] == (float)i);
    }
    ck_assert_msg(literal_memory_peak() - before < (size_t)17 << 20, "%zu bytes at the peak",
                  literal_memory_peak() - before);
    literal_release(result);
    module_destroy(module);
}
END_TEST

/* A chain of ops on large arrays needs two of them at most. */
START_TEST(test_values_die)
{
    struct text text;
    text_init(&text);
    text_append(&text, "HloModule m\nENTRY e { z = f32[] parameter(0)\n"
                       "x0 = f32[1048576] broadcast(z), dimensions={}\n");
    for (int i = 1; i <= 40; i++) {
        text_printf(&text, "x%d = f32[1048576] reverse(x%d), dimensions={0}\n", i, i - 1);
    }
    text_append(&text, "ROOT r = f32[2] slice(x40), slice={[0:2]} }\n");
    struct module *module = read_module(text.data);
    struct error err = {0};
    struct literal *result = evaluate_module(module, "f32[] 3", NULL, NULL, NULL, NULL, &err);
    ck_assert_msg(result != NULL, "%s", err.message);
    check_literal(result, "f32[2] {3, 3}", "chain");
    ck_assert_msg(literal_memory_peak() < (size_t)9 << 20, "%zu bytes", literal_memory_peak());
    literal_release(result);
    module_destroy(module);
    text_finish(&text);
}
END_TEST

/* The arguments belong to the caller: they stay as they are. */
START_TEST(test_arguments_stay)
{
    struct module *module =
        read_module("HloModule m\nENTRY e { a = s32[4] parameter(0) u = s32[1] parameter(1)\n"
                    "  i = s32[] constant(2) ROOT d = s32[4] dynamic-update-slice(a, u, i) }\n");
    struct literal *arguments[] = {read_literal("s32[4] {1, 2, 3, 4}"), read_literal("s32[1] {9}")};
    struct error err = {0};
    struct literal *result = interp_evaluate(module, arguments, 2, NULL, &err);
    check_literal(result, "s32[4] {1, 2, 9, 4}", "result");
    check_literal(arguments[0], "s32[4] {1, 2, 3, 4}", "argument");
    literal_release(result);
    /* A constant is updated in a copy as well. */
    literal_release(arguments[0]);
    literal_release(arguments[1]);
    module_destroy(module);
    check_evaluates(
        "HloModule m\n"
        "f { c = s32[2] constant({1, 2}) u = s32[1] parameter(0) i = s32[] constant(0)\n"
        "  ROOT d = s32[2] dynamic-update-slice(c, u, i) }\n"
        "ENTRY e { u = s32[1] parameter(0) v = s32[1] parameter(1)\n"
        "  a = s32[2] call(u), to_apply=f b = s32[2] call(v), to_apply=f\n"
        "  ROOT t = (s32[2], s32[2]) tuple(a, b) }\n",
        "s32[1] {5}", "s32[1] {6}", NULL, NULL, "(s32[2], s32[2]) ({5, 2}, {6, 2})");
}
END_TEST

struct observation {
    struct text text;
    int stop_after;
};

static bool observe(void *context, const struct instruction *instruction,
                    const struct literal *value, int64_t iteration, struct error *err)
{
    struct observation *observation = context;
    text_printf(&observation->text, "%s@%lld=", instruction->name, (long long)iteration);
    literal_print(value, false, 0, &observation->text);
    text_char(&observation->text, ' ');
    if (--observation->stop_after == 0) {
        return error_set(err, ERROR_ABORTED, "enough");
    }
    return true;
}

START_TEST(test_observer)
{
    static const char loop[] =
        "HloModule m\n"
        "inner { x = s32[] parameter(0) ROOT y = s32[] add(x, x) }\n"
        "body { s = s32[] parameter(0) ROOT n = s32[] fusion(s), kind=kLoop, calls=inner }\n"
        "cond { c = s32[] parameter(0) k = s32[] constant(4)\n"
        "  ROOT l = pred[] compare(c, k), direction=LT }\n"
        "ENTRY e { p = s32[] parameter(0)\n"
        "  ROOT w = s32[] while(p), condition=cond, body=body }\n";
    struct module *module = read_module(loop);
    struct observation observation = {.stop_after = 0};
    text_init(&observation.text);
    struct interp_options options = {.on_instruction = observe, .context = &observation};
    struct error err = {0};
    struct literal *result = evaluate_module(module, "s32[] 1", NULL, NULL, NULL, &options, &err);
    ck_assert_str_eq(observation.text.data, "p@0=1 "
                                            "c@0=1 k@0=4 l@0=true s@0=1 x@0=1 y@0=2 n@0=2 "
                                            "c@1=2 k@1=4 l@1=true s@1=2 x@1=2 y@1=4 n@1=4 "
                                            "c@2=4 k@2=4 l@2=false w@0=4 ");
    literal_release(result);
    text_clear(&observation.text);
    observation.stop_after = 3;
    result = evaluate_module(module, "s32[] 1", NULL, NULL, NULL, &options, &err);
    ck_assert_ptr_null(result);
    ck_assert_str_eq(observation.text.data, "p@0=1 c@0=1 k@0=4 ");
    ck_assert_int_eq(err.code, ERROR_ABORTED);
    text_finish(&observation.text);
    module_destroy(module);
}
END_TEST

/* Adds 1 to every element; tells what it was called for. */
static void noise(void *context, const struct instruction *instruction, enum noise_place place,
                  int operand, struct literal *value)
{
    struct text *text = context;
    text_printf(text, "%s:%s%d ", instruction->name, place == NOISE_RESULT ? "r" : "o", operand);
    for (int64_t i = 0; i < literal_elements(value); i++) {
        literal_set_double(value, i, literal_get_double(value, i) + 1);
    }
}

START_TEST(test_noise)
{
    struct module *module = read_module(
        "HloModule m\n"
        "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
        "max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] maximum(a, b) }\n"
        "ENTRY e { p = f32[2] parameter(0) z = f32[] constant(0)\n"
        "  n = f32[2] negate(p)\n"
        "  m = f32[2] multiply(n, n)\n"
        "  u = f32[] reduce(m, z), dimensions={0}, to_apply=add\n"
        "  v = f32[] reduce(p, z), dimensions={0}, to_apply=max\n"
        "  i = s32[2] parameter(1) j = s32[2] add(i, i)\n"
        "  ROOT t = (f32[], f32[], f32[2], s32[2]) tuple(u, v, p, j) }\n");
    struct text text;
    text_init(&text);
    struct interp_options options = {.noise = noise, .context = &text};
    struct error err = {0};
    struct literal *result =
        evaluate_module(module, "f32[2] {1, 2}", "s32[2] {3, 4}", NULL, NULL, &options, &err);
    ck_assert_msg(result != NULL, "%s", err.message);
    /* m = {1, 4} + 1; its copy for u {3, 6}, the initial value 1, and 1 on the sum. */
    check_literal(result, "(f32[], f32[], f32[2], s32[2]) (11, 2, {1, 2}, {6, 8})", "noise");
    ck_assert_str_eq(text.data, "m:r-1 u:o0 u:o1 u:r-1 ");
    literal_release(result);
    text_finish(&text);
    module_destroy(module);
}
END_TEST

START_TEST(test_instruction_alone)
{
    struct module *module = read_module(
        "HloModule m\n"
        "f { x = s32[2] parameter(0) ROOT y = s32[2] add(x, x) }\n"
        "ENTRY e { p = s32[2] parameter(0) u = s32[1] parameter(1) i = s32[] constant(1)\n"
        "  d = s32[2] dynamic-update-slice(p, u, i)\n"
        "  ROOT c = s32[2] call(d), to_apply=f }\n");
    struct literal *operands[] = {read_literal("s32[2] {1, 2}"), read_literal("s32[1] {7}"),
                                  read_literal("s32[] 0")};
    struct error err = {0};
    const struct instruction *update = computation_find(module->entry, "d");
    struct literal *result = interp_evaluate_instruction(update, operands, NULL, &err);
    check_literal(result, "s32[2] {7, 2}", "dynamic-update-slice");
    check_literal(operands[0], "s32[2] {1, 2}", "operand");
    literal_release(result);
    result = interp_evaluate_instruction(module->entry->root, operands, NULL, &err);
    check_literal(result, "s32[2] {2, 4}", "call");
    literal_release(result);
    for (int i = 0; i < 3; i++) {
        literal_release(operands[i]);
    }
    module_destroy(module);
}
END_TEST

START_TEST(test_errors)
{
    static const char infeed[] = "HloModule m\nENTRY e { t = token[] after-all()\n"
                                 "  i = (s32[2], token[]) infeed(t)\n"
                                 "  ROOT r = s32[2] get-tuple-element(i), index=0 }\n";
    check_fails(infeed, NULL, NULL, NULL, ERROR_UNIMPLEMENTED, "i (infeed)");
    struct module *module = read_module(infeed);
    const char *why = NULL;
    const struct instruction *instruction = interp_unsupported(module, &why);
    ck_assert_ptr_nonnull(instruction);
    ck_assert_str_eq(instruction->name, "i");
    ck_assert_ptr_nonnull(why);
    module_destroy(module);
    static const char plain[] = "HloModule m\nENTRY e { ROOT p = f32[3] parameter(0) }\n";
    check_fails(plain, "f32[2] {1, 2}", NULL, NULL, ERROR_INVALID_ARGUMENT, "argument 0");
    check_fails(plain, "s32[3] {1, 2, 3}", NULL, NULL, ERROR_INVALID_ARGUMENT, "argument 0");
    check_fails(plain, NULL, NULL, NULL, ERROR_INVALID_ARGUMENT, "takes 1 arguments");
    module = read_module(plain);
    ck_assert_ptr_null(interp_unsupported(module, &why));
    module_destroy(module);
}
END_TEST

START_TEST(test_memory_limit)
{
    literal_set_memory_limit((size_t)1 << 20);
    check_fails("HloModule m\nENTRY e { z = f32[] parameter(0)\n"
                "  ROOT b = f32[1048576] broadcast(z), dimensions={} }\n",
                "f32[] 0", NULL, NULL, ERROR_RESOURCE_EXHAUSTED, "b (broadcast)");
    literal_set_memory_limit(0);
}
END_TEST

/* Source: xla's counter starts at 0x7012395 and is advanced by delta, low word first. */
START_TEST(test_rng_state)
{
    struct module *module =
        read_module("HloModule m\nENTRY e { a = u64[2] rng-get-and-update-state(), delta=3\n"
                    "  b = u64[2] rng-get-and-update-state(), delta=1\n"
                    "  ROOT t = (u64[2], u64[2]) tuple(a, b) }\n");
    struct error err = {0};
    struct literal *result = interp_evaluate(module, NULL, 0, NULL, &err);
    check_literal(result, "(u64[2], u64[2]) ({117515157, 0}, {117515160, 0})", "state");
    ck_assert(literal_has_unspecified(result));
    literal_release(result);
    module_destroy(module);
}
END_TEST

/* Very deep calls are refused, not run into the end of the stack. */
START_TEST(test_depth)
{
    struct text text;
    text_init(&text);
    text_append(&text, "HloModule m\nlevel0 { ROOT x = s32[] parameter(0) }\n");
    enum { DEEP = 30000 };
    for (int i = 1; i <= DEEP; i++) {
        text_printf(&text,
                    "level%d { x = s32[] parameter(0)\n"
                    "  ROOT r = s32[] call(x), to_apply=level%d }\n",
                    i, i - 1);
    }
    text_printf(&text,
                "ENTRY e { x = s32[] parameter(0)\n  ROOT r = s32[] call(x), to_apply=level%d }\n",
                DEEP);
    check_fails(text.data, "s32[] 1", NULL, NULL, ERROR_RESOURCE_EXHAUSTED, "nested deeper");
    text_finish(&text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("control");
    TCase *tests = tcase_create("control");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, test_call_and_fusion);
    tcase_add_test(tests, test_tuple_of_one);
    tcase_add_test(tests, test_while);
    tcase_add_test(tests, test_while_limits);
    tcase_add_test(tests, test_conditional);
    tcase_add_test(tests, test_tuples);
    tcase_add_test(tests, test_passing_ops);
    tcase_add_test(tests, test_loop_in_place);
    tcase_add_test(tests, test_values_die);
    tcase_add_test(tests, test_arguments_stay);
    tcase_add_test(tests, test_observer);
    tcase_add_test(tests, test_noise);
    tcase_add_test(tests, test_instruction_alone);
    tcase_add_test(tests, test_errors);
    tcase_add_test(tests, test_memory_limit);
    tcase_add_test(tests, test_rng_state);
    tcase_add_test(tests, test_depth);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
