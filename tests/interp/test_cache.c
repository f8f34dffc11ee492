/* Values kept between evaluations: the same bits and marks as without, and that they are reused. */
#include <stdarg.h>

#include "hlo/base/rng.h"
#include "tests/interp/evaluate_text.h"

enum { BYTES = 64 << 20 };

/* An evaluation with the cache. */
static struct literal *evaluate_kept(struct interp_cache *cache, const char *text,
                                     struct literal *const *arguments, int count)
{
    struct module *module = read_module(text);
    struct interp_options options = {.cache = cache};
    struct error err = {0};
    struct literal *result = interp_evaluate(module, arguments, count, &options, &err);
    ck_assert_msg(result != NULL, "%s\n%s", err.message, text);
    module_destroy(module);
    return result;
}

static void check_same(const struct literal *got, const struct literal *want, const char *text)
{
    ck_assert_msg(literal_equal(got, want), "other bits:\n%s", text);
    for (int l = 0; l < shape_leaves(want->shape); l++) {
        const struct literal *a = literal_leaf(got, l), *b = literal_leaf(want, l);
        for (int64_t i = 0; a->buffer != NULL && i < literal_elements(a); i++) {
            ck_assert_msg(literal_is_unspecified(a, i) == literal_is_unspecified(b, i),
                          "other marks:\n%s", text);
        }
    }
}

/* Evaluates with and without, compares, and returns how many instructions were evaluated. */
static int64_t step(struct interp_cache *cache, const char *text, struct literal *const *arguments,
                    int count)
{
    struct module *module = read_module(text);
    struct error err = {0};
    struct literal *want = interp_evaluate(module, arguments, count, NULL, &err);
    ck_assert_msg(want != NULL, "%s\n%s", err.message, text);
    module_destroy(module);
    struct literal *got = evaluate_kept(cache, text, arguments, count);
    check_same(got, want, text);
    literal_release(got);
    literal_release(want);
    return interp_cache_statistics(cache).evaluated;
}

/* A row of modules: {text, how many instructions are evaluated}. */
struct walk_step {
    const char *text;
    int64_t evaluated;
};

static void check_walk(const struct walk_step *steps, int count, const char *a, const char *b)
{
    size_t before = literal_memory_in_use();
    struct interp_cache *cache = interp_cache_create(BYTES);
    struct literal *arguments[] = {read_literal(a), read_literal(b)};
    for (int i = 0; i < count; i++) {
        int64_t evaluated = step(cache, steps[i].text, arguments, 2);
        ck_assert_msg(evaluated == steps[i].evaluated, "%d evaluated instead of %d:\n%s",
                      (int)evaluated, (int)steps[i].evaluated, steps[i].text);
    }
    literal_release(arguments[0]);
    literal_release(arguments[1]);
    interp_cache_destroy(cache);
    ck_assert_uint_eq(literal_memory_in_use(), before);
}

#define A "f32[2,3] {{1,2,3},{4,5,6}}"
#define B "f32[3,2] {{1,-1},{0.5,2},{3,0.25}}"

START_TEST(test_what_passes_on_is_looked_through)
{
    static const struct walk_step steps[] = {
        {"HloModule m\nENTRY e { a = f32[2,3] parameter(0) b = f32[3,2] parameter(1)\n"
         "d = f32[2,2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
         "ROOT t = f32[2,2] tanh(d) }",
         2},
        /* Names, layouts, copies, metadata. */
        {"HloModule n\nENTRY f { x = f32[2,3]{0,1} parameter(0) y = f32[3,2] parameter(1)\n"
         "c = f32[2,3] copy(x)\n"
         "z = f32[2,2]{0,1} dot(c, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
         "metadata={op_name=\"n\"}\n"
         "ROOT t = f32[2,2]{0,1} tanh(z) }",
         0},
        /* Fusions, calls, tuples, reshapes. */
        {"HloModule m\n"
         "inner { p = f32[4] parameter(0) ROOT t = f32[4] tanh(p) }\n"
         "outer { a = f32[2,3] parameter(0) b = f32[3,2] parameter(1)\n"
         "d = f32[2,2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
         "r = f32[4] reshape(d)\n"
         "c = f32[4] call(r), to_apply=inner ROOT o = (f32[4], f32[2,3]) tuple(c, a) }\n"
         "ENTRY e { a = f32[2,3] parameter(0) b = f32[3,2] parameter(1)\n"
         "f = (f32[4], f32[2,3]) fusion(a, b), kind=kLoop, calls=outer\n"
         "g = f32[4] get-tuple-element(f), index=0 ROOT r = f32[2,2] reshape(g) }",
         0},
        /* One more instruction. */
        {"HloModule m\nENTRY e { a = f32[2,3] parameter(0) b = f32[3,2] parameter(1)\n"
         "d = f32[2,2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
         "t = f32[2,2] tanh(d) ROOT n = f32[2,2] negate(t) }",
         1},
        /* Other instructions with the same value, and what depends on it. */
        {"HloModule m\nENTRY e { a = f32[2,3] parameter(0) b = f32[3,2] parameter(1)\n"
         "m = f32[2,3] negate(a) k = f32[2,3] negate(m)\n"
         "d = f32[2,2] dot(k, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
         "t = f32[2,2] tanh(d) ROOT n = f32[2,2] negate(t) }",
         2},
        /* Another opcode is another value. */
        {"HloModule m\nENTRY e { a = f32[2,3] parameter(0) b = f32[3,2] parameter(1)\n"
         "d = f32[2,2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
         "t = f32[2,2] tanh(d) ROOT n = f32[2,2] abs(t) }",
         1},
    };
    check_walk(steps, (int)(sizeof steps / sizeof *steps), A, B);
}
END_TEST

#define DOT(result, x, y, lhs, rhs)                                                               \
    "HloModule m\nENTRY e { a = f32[2,3] parameter(0) b = f32[3,2] parameter(1)\n"                \
    "at = f32[3,2] transpose(a), dimensions={1,0} bt = f32[2,3] transpose(b), dimensions={1,0}\n" \
    "ROOT d = " result " dot(" x ", " y "), lhs_contracting_dims={" lhs                           \
    "}, rhs_contracting_dims={" rhs "} }"

START_TEST(test_dot_in_any_order)
{
    /* Only the transposes are evaluated once the product is there. */
    static const struct walk_step steps[] = {
        {DOT("f32[2,2]", "a", "b", "1", "0"), 1},   {DOT("f32[2,2]", "at", "b", "0", "0"), 1},
        {DOT("f32[2,2]", "at", "bt", "0", "1"), 1}, {DOT("f32[2,2]", "b", "a", "0", "1"), 0},
        {DOT("f32[2,2]", "bt", "at", "1", "0"), 0}, {DOT("f32[3,3]", "a", "b", "0", "1"), 1},
    };
    check_walk(steps, (int)(sizeof steps / sizeof *steps), A, B);
}
END_TEST

#define CONVOLUTION(parameters, result, labels, more)                        \
    "HloModule m\nENTRY e { a = f32[1,4,5,2] parameter(0) k = f32[2,3,2,3] " \
    "parameter(1)\n" parameters "ROOT c = " result                           \
    ", window={size=2x3 pad=0_1x1_1}, dim_labels=" labels more " }"
#define CUDNN                                                                       \
    ", custom_call_target=\"__cudnn$convForward\", "                                \
    "backend_config={\"cudnn_conv_backend_config\":{\"activation_mode\":\"kNone\"," \
    "\"conv_result_scale\":1,\"side_input_scale\":0}}"

START_TEST(test_convolution_in_any_order)
{
    static const struct walk_step steps[] = {
        {CONVOLUTION("", "f32[1,4,5,3] convolution(a, k)", "b01f_01io->b01f", ""), 1},
        {CONVOLUTION("kt = f32[3,2,3,2] transpose(k), dimensions={3,0,1,2}\n",
                     "f32[1,4,5,3] convolution(a, kt)", "b01f_o01i->b01f", ""),
         1},
        {CONVOLUTION("at = f32[1,2,4,5] transpose(a), dimensions={0,3,1,2}\n",
                     "f32[1,3,4,5] convolution(at, k)", "bf01_01io->bf01", ""),
         1},
        {CONVOLUTION("", "(f32[1,4,5,3], u8[8]) custom-call(a, k)", "b01f_01io->b01f", CUDNN), 0},
        {CONVOLUTION("kt = f32[3,2,3,2] transpose(k), dimensions={3,0,1,2}\n",
                     "(f32[1,3,4,5], u8[8]) custom-call(a, kt)", "b01f_o01i->bf01", CUDNN),
         0},
        /* Another window is another value. */
        {"HloModule m\nENTRY e { a = f32[1,4,5,2] parameter(0) k = f32[2,3,2,3] parameter(1)\n"
         "ROOT c = f32[1,4,5,3] convolution(a, k), window={size=2x3 pad=1_0x1_1}, "
         "dim_labels=b01f_01io->b01f }",
         1},
    };
    struct text a, k;
    text_init(&a);
    text_init(&k);
    text_append(&a, "f32[1,4,5,2] {{");
    for (int i = 0; i < 4; i++) {
        text_append(&a, i > 0 ? ",{" : "{");
        for (int j = 0; j < 5; j++) {
            text_printf(&a, "%s{%d.5,%d}", j > 0 ? "," : "", i - j, i * j + 1);
        }
        text_append(&a, "}");
    }
    text_append(&a, "}}");
    text_append(&k, "f32[2,3,2,3] {");
    for (int i = 0; i < 6; i++) {
        text_printf(&k, "%s{{%d,2,-%d.25},{%d,0.125,1}}%s", i % 3 == 0 ? "{" : ",", i, i, 3 - i,
                    i == 2   ? "},"
                    : i == 5 ? "}"
                             : "");
    }
    text_append(&k, "}");
    check_walk(steps, (int)(sizeof steps / sizeof *steps), a.data, k.data);
    text_finish(&a);
    text_finish(&k);
}
END_TEST

START_TEST(test_loops_reducers_and_attributes)
{
#define LOOP(body, limit)                                                                      \
    "HloModule m\n"                                                                            \
    "f { x = f32[2,3] parameter(0) ROOT y = f32[2,3] multiply(x, x) }\n"                       \
    "body { s = (s32[], f32[2,3]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"      \
    "v = f32[2,3] get-tuple-element(s), index=1 one = s32[] constant(1)\n"                     \
    "j = s32[] add(i, one) w = f32[2,3] " body "\n"                                            \
    "ROOT t = (s32[], f32[2,3]) tuple(j, w) }\n"                                               \
    "condition { s = (s32[], f32[2,3]) parameter(0) i = s32[] get-tuple-element(s), index=0\n" \
    "n = s32[] constant(" limit ") ROOT c = pred[] compare(i, n), direction=LT }\n"            \
    "ENTRY e { a = f32[2,3] parameter(0) b = f32[3,2] parameter(1) z = s32[] constant(0)\n"    \
    "t = (s32[], f32[2,3]) tuple(z, a)\n"                                                      \
    "w = (s32[], f32[2,3]) while(t), condition=condition, body=body\n"                         \
    "ROOT v = f32[2,3] get-tuple-element(w), index=1 }"
#define REDUCE(reducer, dimension)                                                           \
    "HloModule m\nr { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] " reducer \
    "(x, y) }\nENTRY e { a = f32[2,3] parameter(0) b = f32[3,2] parameter(1)\n"              \
    "z = f32[] constant(0) ROOT s = f32[2] reduce(" dimension ", z), dimensions={"
    static const struct walk_step steps[] = {
        {LOOP("multiply(v, v)", "2"), 1},
        {LOOP("fusion(v), kind=kLoop, calls=f", "2"), 0},
        {LOOP("multiply(v, v)", "3"), 1},
        {LOOP("add(v, v)", "3"), 1},
        {REDUCE("add", "a") "1}, to_apply=r }", 1},
        {REDUCE("maximum", "a") "1}, to_apply=r }", 1},
        {REDUCE("maximum", "b") "0}, to_apply=r }", 1},
        {REDUCE("add", "a") "1}, to_apply=r }", 0},
    };
    check_walk(steps, (int)(sizeof steps / sizeof *steps), A, B);
}
END_TEST

/* What depends on a generator with a state is evaluated each time. */
START_TEST(test_effects_happen)
{
    const char *text =
        "HloModule m\nENTRY e { a = f32[] parameter(0) b = f32[] parameter(1)\n"
        "r = f32[2000] rng(a, b), distribution=rng_uniform s = u64[2] "
        "rng-get-and-update-state(), delta=3\n"
        "u = u64[2] rng-get-and-update-state(), delta=3\n"
        "x = u64[2] xor(s, u) n = f32[2000] negate(r) ROOT t = (f32[2000], u64[2]) tuple(n, x) }";
    struct module *module = read_module(text);
    struct interp_cache *cache = interp_cache_create(BYTES);
    struct literal *arguments[] = {read_literal("f32[] 0"), read_literal("f32[] 1")};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct interp_options options = {.seed = seed};
        struct error err = {0};
        struct literal *want = interp_evaluate(module, arguments, 2, &options, &err);
        options.cache = cache;
        struct literal *got = interp_evaluate(module, arguments, 2, &options, &err);
        ck_assert_msg(got != NULL && want != NULL, "%s", err.message);
        check_same(got, want, text);
        ck_assert_int_ge(interp_cache_statistics(cache).evaluated, 3);
        literal_release(got);
        literal_release(want);
    }
    literal_release(arguments[0]);
    literal_release(arguments[1]);
    interp_cache_destroy(cache);
    module_destroy(module);
}
END_TEST

/* Marks of what HLO leaves open go with the values: here, an integer out of range. */
START_TEST(test_marks_are_kept)
{
    static const struct walk_step steps[] = {
        {"HloModule m\nENTRY e { a = f32[4] parameter(0) b = s32[4] parameter(1)\n"
         "i = s32[4] convert(a) ROOT s = s32[4] add(i, b) }",
         2},
        {"HloModule m\nENTRY e { a = f32[4] parameter(0) b = s32[4] parameter(1)\n"
         "i = s32[4] convert(a) s = s32[4] add(i, b) ROOT n = s32[4] negate(s) }",
         1},
    };
    check_walk(steps, 2, "f32[4] {1, 1e30, nan, -2}", "s32[4] {1, 2, 3, 4}");
}
END_TEST

/* Little room: values go, and are evaluated again; what is held stays within it. */
START_TEST(test_memory_is_bounded)
{
    enum { ROOM = 100000 };
    struct interp_cache *cache = interp_cache_create(ROOM);
    struct literal *arguments[] = {read_literal("f32[] 2"), read_literal("f32[] 3")};
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 8; i++) {
            struct text text;
            text_init(&text);
            text_printf(&text,
                        "HloModule m\nENTRY e { a = f32[] parameter(0) b = f32[] parameter(1)\n"
                        "c = f32[] constant(%d) d = f32[] add(a, c) "
                        "w = f32[10000] broadcast(d), dimensions={}\n"
                        "x = f32[10000] cosine(w) ROOT y = f32[10000] multiply(x, x) }",
                        i);
            ck_assert_int_gt(step(cache, text.data, arguments, 2), 0);
            text_finish(&text);
            struct interp_cache_statistics statistics = interp_cache_statistics(cache);
            ck_assert_uint_gt(statistics.bytes, 0);
            ck_assert_uint_le(statistics.bytes, ROOM);
            ck_assert_uint_le(statistics.peak_bytes, ROOM);
        }
    }
    literal_release(arguments[0]);
    literal_release(arguments[1]);
    interp_cache_destroy(cache);
}
END_TEST

/* Other dimensions for the same elements in the same order. */
START_TEST(test_dimensions_in_other_groups)
{
#define GROUPS(body)                                                                   \
    "HloModule m\nsum { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] " \
    "add(x, y) }\nENTRY e { a = f32[2,3,4] parameter(0) b = f32[3] parameter(1)\n"     \
    "z = f32[] constant(0) " body " }"
    static const struct walk_step steps[] = {
        {GROUPS("ROOT r = f32[4] reduce(a, z), dimensions={0,1}, to_apply=sum"), 1},
        {GROUPS("c = f32[6,1,4] reshape(a) ROOT r = f32[1,4] reduce(c, z), dimensions={0}, "
                "to_apply=sum"),
         0},
        {GROUPS("ROOT r = f32[3] reduce(a, z), dimensions={0,2}, to_apply=sum"), 1},
        {GROUPS("c = f32[2,3,2,2] reshape(a) ROOT r = f32[3] reduce(c, z), dimensions={0,2,3}, "
                "to_apply=sum"),
         0},
        {GROUPS("c = f32[3,2,4] reshape(a) ROOT r = f32[2] reduce(c, z), dimensions={0,2}, "
                "to_apply=sum"),
         1},
        {GROUPS("ROOT t = f32[4,2,3] transpose(a), dimensions={2,0,1}"), 1},
        {GROUPS("c = f32[6,4] reshape(a) ROOT t = f32[4,6] transpose(c), dimensions={1,0}"), 0},
        {GROUPS("ROOT t = f32[4,2,3]{0,2,1} bitcast(a)"), 0},
        {GROUPS("c = f32[2,3,4]{1,0,2} copy(a) ROOT t = f32[4,6] bitcast(c)"), 0},
        {GROUPS("ROOT t = f32[4,3,2] transpose(a), dimensions={2,1,0}"), 1},
        {GROUPS("ROOT t = f32[4,3,2]{0,1,2} bitcast(a)"), 0},
        {GROUPS("ROOT t = f32[2,4,3,2] broadcast(b), dimensions={2}"), 1},
        {GROUPS("c = f32[1,3] reshape(b) ROOT t = f32[8,3,1,2] broadcast(c), dimensions={2,1}"), 0},
        {GROUPS("ROOT t = f32[4,3,4] broadcast(b), dimensions={1}"), 1},
    };
    check_walk(
        steps, (int)(sizeof steps / sizeof *steps),
        "f32[2,3,4] {{{1,2,3,4},{5,6,7,8},{9,0,-1,-2}},{{0.5,0.25,3,1},{8,7,6,5},{0,0,1,9}}}",
        "f32[3] {1,2,3}");
}
END_TEST

/* Large values that cost little are known, not held: what depends on them is found without them,
 * and they are evaluated when somebody reads their elements. */
START_TEST(test_known_values_are_put_off)
{
#define LARGE(operand, root)                                                                \
    "HloModule m\nsum { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] "      \
    "add(x, y) }\nmost { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] "     \
    "maximum(x, y) }\nENTRY e { a = f32[1000,1000] parameter(0) zero = f32[] constant(0)\n" \
    "b = f32[1000,1000] reverse(a), dimensions={0}\n"                                       \
    "c = f32[1000,1000] reverse(b), dimensions={0}\n"                                       \
    "d = f32[1000,1000] multiply(" operand ", " operand ") f = f32[1000000] reshape(d)\n"   \
    "g = f32[1000000] reverse(f), dimensions={0}\n"                                         \
    "r = f32[] reduce(g, zero), dimensions={0}, to_apply=sum\n"                             \
    "q = f32[] reduce(g, zero), dimensions={0}, to_apply=most\nROOT t = f32[] " root " }"
    static const struct walk_step steps[] = {
        {LARGE("a", "negate(r)"), 4},
        {LARGE("c", "negate(r)"), 2}, /* b and c; all else by the contents of c */
        {LARGE("c", "negate(q)"), 6}, /* g is read, and all that it comes from; q, its negative */
        {LARGE("c", "subtract(q, r)"), 1},
    };
    size_t before = literal_memory_in_use();
    struct interp_cache *cache = interp_cache_create(BYTES);
    struct error err = {0};
    int64_t sizes[] = {1000, 1000};
    struct literal *argument = literal_create(shape_array(TYPE_F32, 2, sizes), &err);
    for (int64_t i = 0; i < literal_elements(argument); i++) {
        literal_set_double(argument, i, (double)(i % 1013) - 500);
    }
    for (int i = 0; i < (int)(sizeof steps / sizeof *steps); i++) {
        ck_assert_int_eq(step(cache, steps[i].text, &argument, 1), steps[i].evaluated);
    }
    literal_release(argument);
    interp_cache_destroy(cache);
    ck_assert_uint_eq(literal_memory_in_use(), before);
}
END_TEST

/* What was evaluated without a limit is not given to who asks for one. */
START_TEST(test_limits_of_loops_hold)
{
    struct module *module = read_module(LOOP("multiply(v, v)", "9"));
    struct interp_cache *cache = interp_cache_create(BYTES);
    struct literal *arguments[] = {read_literal(A), read_literal(B)};
    static const int64_t limits[] = {0, 5, 9, 0, 8};
    for (int i = 0; i < 5; i++) {
        struct interp_options options = {.cache = cache, .max_loop_iterations = limits[i]};
        struct error err = {0};
        struct literal *result = interp_evaluate(module, arguments, 2, &options, &err);
        ck_assert_msg((result != NULL) == (limits[i] == 0 || limits[i] >= 9), "limit %d",
                      (int)limits[i]);
        literal_release(result);
    }
    literal_release(arguments[0]);
    literal_release(arguments[1]);
    interp_cache_destroy(cache);
    module_destroy(module);
}
END_TEST

/* One cache serves both: products of f32 operands as they are, and of those rounded to bf16. */
START_TEST(test_options_have_values_of_their_own)
{
    struct module *module = read_module(DOT("f32[2,2]", "at", "b", "0", "0"));
    struct interp_cache *cache = interp_cache_create(BYTES);
    struct literal *arguments[] = {read_literal("f32[2,3] {{1.001,2,3},{4,5.003,6}}"),
                                   read_literal("f32[3,2] {{1,-1.002},{0.5,2},{3,0.25}}")};
    for (int i = 0; i < 8; i++) {
        struct interp_options options = {.bf16_products = i % 2 == 1,
                                         .fidelity =
                                             i % 4 == 2 ? FIDELITY_LITERAL : FIDELITY_EXACT};
        struct error err = {0};
        struct literal *want = interp_evaluate(module, arguments, 2, &options, &err);
        options.cache = cache;
        struct literal *got = interp_evaluate(module, arguments, 2, &options, &err);
        ck_assert_msg(got != NULL && want != NULL, "%s", err.message);
        check_same(got, want, "bf16_products");
        literal_release(got);
        literal_release(want);
    }
    literal_release(arguments[0]);
    literal_release(arguments[1]);
    interp_cache_destroy(cache);
    module_destroy(module);
}
END_TEST

/* What is known takes room as well: all is forgotten when that has come to be too much. */
START_TEST(test_records_are_bounded)
{
    static const size_t rooms[] = {1 << 20, (size_t)1 << 30};
    for (int r = 0; r < 2; r++) {
        struct interp_cache *cache = interp_cache_create(rooms[r]);
        struct literal *arguments[] = {read_literal("f32[] 2"), read_literal("f32[] 3")};
        for (int i = 0; i <= 20; i++) {
            struct text text;
            text_init(&text);
            text_append(&text, "HloModule m\nENTRY e { v0 = f32[] parameter(0) b = f32[] "
                               "parameter(1)\n");
            for (int j = 1; j <= 500; j++) {
                text_printf(&text, "k%d = f32[] constant(%d) v%d = f32[] add(v%d, k%d)\n", j,
                            i % 20 * 500 + j, j, j - 1, j);
            }
            text_append(&text, "ROOT n = f32[] negate(v500) }");
            int64_t evaluated = step(cache, text.data, arguments, 2);
            ck_assert_int_eq(evaluated, i == 20 && r == 1 ? 0 : 501);
            text_finish(&text);
        }
        literal_release(arguments[0]);
        literal_release(arguments[1]);
        interp_cache_destroy(cache);
    }
}
END_TEST

static bool stop_later(void *context)
{
    int *left = context;
    return --*left < 0;
}

/* Stopped anywhere: what was kept until then is right. */
START_TEST(test_stopped_half_way)
{
    const char *text =
        "HloModule m\nENTRY e { a = f32[2,3] parameter(0) b = f32[3,2] parameter(1)\n"
        "d = f32[2,2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        "t = f32[2,2] tanh(d) n = f32[2,2] cosine(t)\n"
        "c = f32[4,2] concatenate(t, n), dimensions={0} ROOT e = f32[4,2] abs(c) }";
    struct module *module = read_module(text);
    struct literal *arguments[] = {read_literal(A), read_literal(B)};
    bool stopped = false, ended = false;
    for (int after = 0; after < 12; after++) {
        struct interp_cache *cache = interp_cache_create(BYTES);
        int left = after;
        struct interp_options options = {.cache = cache, .cancelled = stop_later, .context = &left};
        struct error err = {0};
        struct literal *result = interp_evaluate(module, arguments, 2, &options, &err);
        stopped = stopped || result == NULL;
        ended = ended || result != NULL;
        ck_assert(result != NULL || err.code == ERROR_DEADLINE_EXCEEDED);
        literal_release(result);
        step(cache, text, arguments, 2);
        interp_cache_destroy(cache);
    }
    ck_assert(stopped && ended);
    literal_release(arguments[0]);
    literal_release(arguments[1]);
    module_destroy(module);
}
END_TEST

static struct literal *replace_d(void *context, const struct instruction *instruction,
                                 int64_t iteration)
{
    int *asked = context;
    ck_assert_int_ge(iteration, 0);
    ++*asked;
    return strcmp(instruction->name, "d") == 0 ? read_literal("f32[2] {-1, 7}") : NULL;
}

START_TEST(test_stand_ins)
{
    struct module *module = read_module(
        "HloModule m\nf { p = f32[2] parameter(0) d = f32[2] negate(p) ROOT s = f32[2] add(d, p) "
        "}\n"
        "ENTRY e { a = f32[2] parameter(0) ROOT f = f32[2] fusion(a), kind=kLoop, calls=f }");
    int asked = 0;
    struct interp_options options = {.replace = replace_d, .context = &asked};
    struct error err = {0};
    struct literal *result =
        evaluate_module(module, "f32[2] {1, 2}", NULL, NULL, NULL, &options, &err);
    ck_assert_msg(result != NULL, "%s", err.message);
    check_literal(result, "f32[2] {0, 9}", "a stand-in for d");
    ck_assert_int_eq(asked, 5);
    literal_release(result);
    module_destroy(module);
}
END_TEST

/* --- random modules, changed step by step --- */

enum { LINES = 24 };

/* A module is a row of instructions on f32[4,6,64] (cluster size), each on two earlier ones. */
struct line {
    int kind, a, b, variant;
};

static void print_line(struct text *text, const struct line *lines, int i)
{
    static const char *const ops[] = {"add", "multiply", "subtract", "maximum"};
    static const char *const unary[] = {"negate", "tanh", "abs", "cosine"};
    const struct line *line = &lines[i];
    const char *type = "f32[4,6,64]";
    switch (line->kind) {
    case 0:
    case 1:
        text_printf(text, "v%d = %s %s(v%d, v%d)\n", i, type, ops[line->variant], line->a, line->b);
        break;
    case 2:
        text_printf(text, "v%d = %s %s(v%d)\n", i, type, unary[line->variant], line->a);
        break;
    case 3: /* there and back, in one of three ways that are the same */
        text_printf(text,
                    line->b % 3 == 0   ? "t%d = f32[64,4,6] transpose(v%d), dimensions={2,0,1}\n"
                                         "w%d = f32[64,4,6] %s(t%d)\n"
                                         "v%d = %s transpose(w%d), dimensions={1,2,0}\n"
                    : line->b % 3 == 1 ? "t%d = f32[64,4,6]{0,2,1} bitcast(v%d)\n"
                                         "w%d = f32[64,4,6]{0,2,1} %s(t%d)\n"
                                         "v%d = %s bitcast(w%d)\n"
                                       : "t%d = f32[64,4,6]{0,2,1} bitcast(v%d)\n"
                                         "w%d = f32[64,4,6] %s(t%d)\n"
                                         "v%d = %s transpose(w%d), dimensions={1,2,0}\n",
                    i, line->a, i, unary[line->variant], i, i, type, i);
        break;
    case 4:
        text_printf(text, "c%d = f32[24,64]{0,1} reshape(v%d)\nv%d = %s reshape(c%d)\n", i, line->a,
                    i, type, i);
        break;
    case 5:
        if (line->b % 2 == 0) {
            text_printf(text,
                        "r%d = f32[4,64] reduce(v%d, zero), dimensions={1}, to_apply=sum\n"
                        "v%d = %s broadcast(r%d), dimensions={0,2}\n",
                        i, line->a, i, type, i);
        } else {
            text_printf(text,
                        "g%d = f32[2,2,3,1,2,64] reshape(v%d)\n"
                        "r%d = f32[2,2,1,64] reduce(g%d, zero), dimensions={2,4}, to_apply=sum\n"
                        "q%d = f32[4,2,32] reshape(r%d)\n"
                        "b%d = f32[1,4,2,3,2,32] broadcast(q%d), dimensions={1,4,5}\n"
                        "v%d = %s reshape(b%d)\n",
                        i, line->a, i, i, i, i, i, i, i, type, i);
        }
        break;
    case 6:
        text_printf(text, "v%d = %s fusion(v%d, v%d), kind=kLoop, calls=fused%d\n", i, type,
                    line->a, line->b, line->variant);
        break;
    case 7:
        text_printf(text,
                    "i%d = s32[4,6,64] convert(v%d)\n"
                    "v%d = %s convert(i%d)\n",
                    i, line->a, i, type, i);
        break;
    case 8:
        text_printf(text,
                    "d%d = f32[4,6,6] dot(v%d, v%d), lhs_batch_dims={0}, rhs_batch_dims={0}, "
                    "lhs_contracting_dims={2}, rhs_contracting_dims={2}\n"
                    "e%d = f32[4,6] reduce(d%d, zero), dimensions={2}, to_apply=sum\n"
                    "v%d = %s broadcast(e%d), dimensions={0,1}\n",
                    i, line->a, line->b, i, i, i, type, i);
        break;
    default:
        text_printf(text, "k%d = f32[] constant(%d.5)\nv%d = %s broadcast(k%d), dimensions={}\n", i,
                    line->variant, i, type, i);
        break;
    }
}

static void change(struct rng *rng, struct line *line, int i)
{
    *line = (struct line){(int)rng_below(rng, 10), (int)rng_below(rng, (uint64_t)i),
                          (int)rng_below(rng, (uint64_t)i), (int)rng_below(rng, 4)};
}

static void print_module(struct text *text, const struct line *lines)
{
    text_append(text, "HloModule m\n"
                      "sum { x = f32[] parameter(0) y = f32[] parameter(1) "
                      "ROOT z = f32[] add(x, y) }\n");
    static const char *const bodies[] = {
        "ROOT r = f32[4,6,64] add(p, q)",
        "n = f32[4,6,64] negate(q) ROOT r = f32[4,6,64] add(p, n)",
        "t = f32[4,6,64] tanh(p) ROOT r = f32[4,6,64] multiply(t, q)",
        "m = f32[4,6,64] multiply(p, q) ROOT r = f32[4,6,64] maximum(m, p)"};
    for (int f = 0; f < 4; f++) {
        text_printf(text,
                    "fused%d { p = f32[4,6,64] parameter(0) q = f32[4,6,64] parameter(1)\n%s }\n",
                    f, bodies[f]);
    }
    text_append(text, "ENTRY e {\nv0 = f32[4,6,64] parameter(0)\nv1 = f32[4,6,64] parameter(1)\n"
                      "zero = f32[] constant(0)\n");
    for (int i = 2; i < LINES; i++) {
        print_line(text, lines, i);
    }
    text_printf(text, "ROOT t = (f32[4,6,64], f32[4,6,64]) tuple(v%d, v%d) }\n", LINES - 1,
                LINES - 2);
}

START_TEST(test_random_walks)
{
    uint64_t seed = 7000 + (uint64_t)_i;
    struct rng rng;
    rng_init(&rng, seed);
    struct line lines[LINES];
    for (int i = 2; i < LINES; i++) {
        change(&rng, &lines[i], i);
    }
    struct error err = {0};
    int64_t sizes[] = {4, 6, 64};
    struct literal *arguments[2];
    for (int k = 0; k < 2; k++) {
        arguments[k] = literal_create(shape_array(TYPE_F32, 3, sizes), &err);
        for (int64_t i = 0; i < literal_elements(arguments[k]); i++) {
            literal_set_double(arguments[k], i, 8 * rng_uniform(&rng) - 4);
        }
    }
    /* Every other seed with so little room that values come and go, or are only known. */
    static const size_t rooms[] = {BYTES, 40000, BYTES, 10000};
    struct interp_cache *cache = interp_cache_create(rooms[_i % 4]);
    int64_t evaluated = 0, reused = 0;
    for (int round = 0; round < 20; round++) {
        struct text text;
        text_init(&text);
        text_printf(&text, "// seed %llu, round %d\n", (unsigned long long)seed, round);
        print_module(&text, lines);
        evaluated += step(cache, text.data, arguments, 2);
        reused += interp_cache_statistics(cache).reused;
        text_finish(&text);
        int i = 2 + (int)rng_below(&rng, LINES - 2);
        change(&rng, &lines[i], i);
    }
    ck_assert_msg(_i % 2 == 1 || reused > evaluated, "seed %llu: %d reused, %d evaluated",
                  (unsigned long long)seed, (int)reused, (int)evaluated);
    literal_release(arguments[0]);
    literal_release(arguments[1]);
    interp_cache_destroy(cache);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("cache");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, test_what_passes_on_is_looked_through);
    tcase_add_test(tcase, test_dot_in_any_order);
    tcase_add_test(tcase, test_convolution_in_any_order);
    tcase_add_test(tcase, test_loops_reducers_and_attributes);
    tcase_add_test(tcase, test_effects_happen);
    tcase_add_test(tcase, test_marks_are_kept);
    tcase_add_test(tcase, test_memory_is_bounded);
    tcase_add_test(tcase, test_dimensions_in_other_groups);
    tcase_add_test(tcase, test_known_values_are_put_off);
    tcase_add_test(tcase, test_limits_of_loops_hold);
    tcase_add_test(tcase, test_options_have_values_of_their_own);
    tcase_add_test(tcase, test_records_are_bounded);
    tcase_add_test(tcase, test_stopped_half_way);
    tcase_add_test(tcase, test_stand_ins);
    tcase_add_loop_test(tcase, test_random_walks, 0, 12);
    Suite *suite = suite_create("interp_cache");
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
