/* The pjrt backend on real XLA: modules whose results follow from arithmetic run on the fetched CPU
 * plugin. Without the plugin the suite says so and passes. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"

static struct backend *open_uri(const char *uri, double timeout, size_t memory_limit)
{
    struct error err = {0};
    struct backend_options options = {.timeout = timeout, .memory_limit = memory_limit};
    struct backend *backend = backend_open(uri, &options, &err);
    ck_assert_msg(backend != NULL, "%s", err.message);
    return backend;
}

static struct module *read_module(const char *text)
{
    struct error err = {0};
    struct module *module = text_read_module(text, strlen(text), "test", 1, &err);
    ck_assert_msg(module != NULL, "%s: %s", err.message, text);
    return module;
}

static struct literal *read_literal(const struct shape *shape, const char *text)
{
    struct error err = {0};
    size_t used;
    struct literal *literal = literal_parse(shape, text, strlen(text), &used, &err);
    ck_assert_msg(literal != NULL, "%s: %s", err.message, text);
    return literal;
}

/* Runs the module with arguments in text form, `sets` sets of them. */
static struct run_result run_text(struct backend *backend, const char *text,
                                  const char *const *arguments, int sets, int iterations)
{
    struct run_result result;
    struct literal *literals[16];
    struct module *module = read_module(text);
    int count = module->entry->parameter_count;
    for (int i = 0; i < sets * count; i++) {
        literals[i] = read_literal(module->entry->parameters[i % count]->shape, arguments[i]);
    }
    backend_run(backend, module, literals, count, sets, iterations, &result);
    for (int i = 0; i < sets * count; i++) {
        literal_release(literals[i]);
    }
    module_destroy(module);
    return result;
}

/* The output on a device has exactly the given value. */
static void check_output(const struct run_result *result, int device, const char *value)
{
    struct text got;
    struct literal *want = read_literal(result->outputs[device]->shape, value);
    text_init(&got);
    literal_print(result->outputs[device], false, 0, &got);
    ck_assert_msg(literal_equal(result->outputs[device], want), "device %d: got %s, not %s", device,
                  got.data, value);
    text_finish(&got);
    literal_release(want);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static void expect_on(const char *uri, const char *text, const char *const *arguments, int sets,
                      const char *const *outputs)
{
    struct backend *backend = open_uri(uri, 60, 0);
    struct run_result result = run_text(backend, text, arguments, sets, 1);
    ck_assert_msg(result.outcome == OUTCOME_PASS, "%s: %s: %s", text, outcome_text(result.outcome),
                  result.message);
    for (int i = 0; outputs[i]; i++) {
        ck_assert_int_lt(i, result.device_count);
        check_output(&result, i, outputs[i]);
    }
    run_result_finish(&result);
    backend_close(backend);
}

static void expect(const char *text, const char *const *arguments, const char *output)
{
    expect_on("cpu:", text, arguments, 1, LIST(output));
}

START_TEST(arithmetic)
{
    expect("HloModule m\nENTRY e { x = f32[2,3] parameter(0) y = f32[2,3] parameter(1)\n"
           "ROOT z = f32[2,3] add(x, y) }",
           LIST("{{1, 2, 3}, {4, 5, 6}}", "{{10, 20, 30}, {40, 50, 60}}"),
           "{{11, 22, 33}, {44, 55, 66}}");
    expect("HloModule m\nENTRY e { x = s64[] parameter(0) c = s64[] constant(3)\n"
           "ROOT z = s64[] multiply(x, c) }",
           LIST("-14"), "-42");
    expect("HloModule m\nENTRY e { x = f32[0,3] parameter(0) ROOT z = f32[0,3] negate(x) }",
           LIST("{}"), "{}");
}
END_TEST

START_TEST(tuples)
{
    expect("HloModule m\nENTRY e { x = f32[2] parameter(0) y = s32[] parameter(1)\n"
           "n = f32[2] negate(x) ROOT t = (f32[2], s32[], f32[2]) tuple(n, y, x) }",
           LIST("{1, 2}", "7"), "({-1, -2}, 7, {1, 2})");
    expect("HloModule m\nENTRY e { p = (f32[2], f32[2]) parameter(0)\n"
           "a = f32[2] get-tuple-element(p), index=0 b = f32[2] get-tuple-element(p), index=1\n"
           "ROOT s = f32[2] subtract(a, b) }",
           LIST("({5, 6}, {1, 3})"), "{4, 3}");
    /* Not of a form that PJRT takes: nested, several, empty. */
    expect(
        "HloModule m\nENTRY e { p = (f32[], (f32[], s32[2])) parameter(0) q = f32[] parameter(1)\n"
        "a = f32[] get-tuple-element(p), index=0 n = (f32[], s32[2]) get-tuple-element(p), "
        "index=1\n"
        "b = f32[] get-tuple-element(n), index=0 s = f32[] subtract(a, b)\n"
        "d = f32[] divide(s, q) ROOT r = (f32[], (f32[], s32[2])) tuple(d, n) }",
        LIST("(7, (1, {3, 4}))", "2"), "(3, (1, {3, 4}))");
    expect("HloModule m\nENTRY e { p = (f32[]) parameter(0) q = (s32[], s32[]) parameter(1)\n"
           "x = s32[] get-tuple-element(q), index=1 t = (s32[]) tuple(x)\n"
           "ROOT r = ((s32[]), (f32[])) tuple(t, p) }",
           LIST("(1.5)", "(2, 3)"), "((3), (1.5))");
    expect("HloModule m\nENTRY e { ROOT r = () tuple() }", LIST("0"), "()");
    expect("HloModule m\nENTRY e { x = f32[] parameter(0) k = token[] after-all()\n"
           "t = () tuple() ROOT r = (f32[], (), f32[]) tuple(x, t, x) }",
           LIST("2"), "(2, (), 2)");
}
END_TEST

START_TEST(tokens)
{
    struct backend *backend = open_uri("cpu:", 60, 0);
    struct run_result result =
        run_text(backend,
                 "HloModule m\nENTRY e { x = f32[] parameter(0) k = token[] after-all()\n"
                 "ROOT r = (f32[], token[]) tuple(x, k) }",
                 LIST("2"), 1, 1);
    ck_assert_msg(result.outcome == OUTCOME_PASS, "%s", result.message);
    ck_assert_int_eq(result.outputs[0]->elements[1]->shape->type, TYPE_TOKEN);
    ck_assert(literal_get_double(result.outputs[0]->elements[0], 0) == 2);
    run_result_finish(&result);
    struct error err = {0};
    struct literal *arguments[] = {literal_create(shape_token(), &err),
                                   read_literal(shape_scalar(TYPE_F32), "3")};
    struct module *module = read_module("HloModule m\nENTRY e { k = token[] parameter(0)\n"
                                        "x = f32[] parameter(1) ROOT r = f32[] negate(x) }");
    backend_run(backend, module, arguments, 2, 1, 1, &result);
    ck_assert_msg(result.outcome == OUTCOME_PASS, "%s: %s", outcome_text(result.outcome),
                  result.message);
    check_output(&result, 0, "-3");
    run_result_finish(&result);
    literal_release(arguments[0]);
    literal_release(arguments[1]);
    module_destroy(module);
    backend_close(backend);
}
END_TEST

/* Every type's bits survive the way there, a move of the elements, and the way back. */
START_TEST(types)
{
    static const enum type types[] = {
        TYPE_PRED,   TYPE_S8,       TYPE_S16,        TYPE_S32,        TYPE_S64,
        TYPE_U8,     TYPE_U16,      TYPE_U32,        TYPE_U64,        TYPE_F16,
        TYPE_F32,    TYPE_F64,      TYPE_BF16,       TYPE_C64,        TYPE_C128,
        TYPE_F8E5M2, TYPE_F8E4M3FN, TYPE_F8E5M2FNUZ, TYPE_F8E4M3FNUZ, TYPE_F8E4M3B11FNUZ,
        TYPE_F8E4M3, TYPE_F8E3M4,   TYPE_F8E8M0FNU,  TYPE_S4,         TYPE_U4,
        TYPE_S2,     TYPE_U2,       TYPE_F4E2M1FN,
    };
    struct backend *backend = open_uri("cpu:", 60, 0);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        char text[256];
        struct error err = {0};
        struct run_result result;
        enum type type = types[i];
        snprintf(text, sizeof(text),
                 "HloModule m\nENTRY e { x = %s[2,5] parameter(0)\n"
                 "ROOT r = %s[5,2] transpose(x), dimensions={1,0} }",
                 type_text(type), type_text(type));
        struct module *module = read_module(text);
        struct literal *x = literal_create(module->entry->parameters[0]->shape, &err);
        int bits = type_bits(type), bytes = type_bytes(type);
        unsigned char *data = literal_data(x);
        for (int k = 0; k < 10 * bytes; k++) {
            int value = bits < 8 ? (k * 7 + 3) % (1 << bits) : k * 37 + 11;
            /* Sub-byte integers are extended to a byte. */
            bool negative = bits < 8 && type_kind(type) == KIND_SIGNED && value >> (bits - 1);
            data[k] = (unsigned char)(negative ? value - (1 << bits) : value);
        }
        backend_run(backend, module, &x, 1, 1, 1, &result);
        ck_assert_msg(result.outcome == OUTCOME_PASS, "%s: %s: %s", type_text(type),
                      outcome_text(result.outcome), result.message);
        const unsigned char *out = literal_data(result.outputs[0]);
        for (int row = 0; row < 2; row++) {
            for (int column = 0; column < 5; column++) {
                ck_assert_msg(memcmp(out + (column * 2 + row) * bytes,
                                     data + (row * 5 + column) * bytes, (size_t)bytes) == 0,
                              "%s: element %d, %d", type_text(type), row, column);
            }
        }
        run_result_finish(&result);
        literal_release(x);
        module_destroy(module);
    }
    backend_close(backend);
}
END_TEST

START_TEST(small_integers_compute)
{
    expect("HloModule m\nENTRY e { x = s4[4] parameter(0) y = s4[4] parameter(1)\n"
           "ROOT r = s4[4] add(x, y) }",
           LIST("{1, -3, 7, -8}", "{2, -4, -7, 7}"), "{3, -7, 0, -1}");
    expect("HloModule m\nENTRY e { x = u4[3] parameter(0) ROOT r = s32[3] convert(x) }",
           LIST("{0, 9, 15}"), "{0, 9, 15}");
    expect("HloModule m\nENTRY e { x = pred[3] parameter(0) ROOT r = pred[3] not(x) }",
           LIST("{1, 0, 1}"), "{0, 1, 0}");
    expect("HloModule m\nENTRY e { x = bf16[2] parameter(0) ROOT r = f32[2] convert(x) }",
           LIST("{1.5, -256}"), "{1.5, -256}");
    expect("HloModule m\nENTRY e { x = c64[2] parameter(0) ROOT r = c64[2] multiply(x, x) }",
           LIST("{(1, 2), (0, -3)}"), "{(-3, 4), (-9, -0)}");
}
END_TEST

/* Values cross row-major whatever layouts the entry has. */
START_TEST(layouts)
{
    expect("HloModule m, entry_computation_layout={(f32[2,3]{0,1}, f32[2,3]{1,0})->f32[2,3]{0,1}}\n"
           "ENTRY e { x = f32[2,3]{0,1} parameter(0) y = f32[2,3]{1,0} parameter(1)\n"
           "ROOT r = f32[2,3]{0,1} add(x, y) }",
           LIST("{{1, 2, 3}, {4, 5, 6}}", "{{10, 20, 30}, {40, 50, 60}}"),
           "{{11, 22, 33}, {44, 55, 66}}");
    expect("HloModule m\nENTRY e { x = s32[2,3] parameter(0)\n"
           "ROOT r = s32[3,2]{0,1} transpose(x), dimensions={1,0} }",
           LIST("{{1, 2, 3}, {4, 5, 6}}"), "{{1, 4}, {2, 5}, {3, 6}}");
}
END_TEST

static const char all_reduce[] =
    "HloModule m, replica_count=%d, num_partitions=%d\n"
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
    "ENTRY e { x = f32[2] parameter(0)\n"
    "ROOT r = f32[2] all-reduce(x), replica_groups={}, %s to_apply=add }";

START_TEST(devices)
{
    char text[1024];
    snprintf(text, sizeof(text), all_reduce, 2, 1, "");
    expect_on("cpu:", text, LIST("{1, 2}", "{10, 30}"), 2, LIST("{11, 32}", "{11, 32}"));
    expect_on("cpu:?cpu_device_count=2", text, LIST("{1, 2}", "{10, 30}"), 2,
              LIST("{11, 32}", "{11, 32}"));
    /* One set of arguments serves every device. */
    snprintf(text, sizeof(text), all_reduce, 4, 1, "");
    expect_on("cpu:", text, LIST("{1, 2}"), 1, LIST("{4, 8}", "{4, 8}", "{4, 8}", "{4, 8}"));
    /* More devices than the client has by default. */
    snprintf(text, sizeof(text), all_reduce, 6, 1, "");
    expect_on("cpu:", text, LIST("{1, 2}"), 1, LIST("{6, 12}", "{6, 12}"));
    snprintf(text, sizeof(text), all_reduce, 1, 2, "channel_id=1, use_global_device_ids=true,");
    for (char *p = text; (p = strstr(p, "replica_groups={}")) != NULL;) {
        char rest[1024];
        snprintf(rest, sizeof(rest), "replica_groups={{0,1}}%s", p + strlen("replica_groups={}"));
        snprintf(p, sizeof(text) - (size_t)(p - text), "%s", rest);
        break;
    }
    expect_on("cpu:", text, LIST("{1, 2}", "{10, 30}"), 2, LIST("{11, 32}", "{11, 32}"));
}
END_TEST

START_TEST(devices_are_numbered_replica_major)
{
    /* Sums over the replicas of each partition. */
    expect_on("cpu:",
              "HloModule m, replica_count=2, num_partitions=2\n"
              "add { a = u32[] parameter(0) b = u32[] parameter(1) ROOT s = u32[] add(a, b) }\n"
              "ENTRY e { x = u32[] parameter(0) r = u32[] replica-id()\n"
              "s = u32[] all-reduce(x), replica_groups={{0,1}}, to_apply=add\n"
              "t = u32[] constant(100) h = u32[] multiply(r, t) ROOT z = u32[] add(h, s) }",
              LIST("1", "2", "3", "4"), 4, LIST("4", "6", "104", "106"));
}
END_TEST

/* What was partitioned already is not partitioned again: partition-id, groups of partitions, and
 * starts keep their meaning. */
START_TEST(partitioned_modules_stay_as_they_are)
{
    expect_on("cpu:",
              "HloModule m, num_partitions=2\n"
              "add { a = u32[] parameter(0) b = u32[] parameter(1) ROOT s = u32[] add(a, b) }\n"
              "ENTRY e { x = u32[2] parameter(0) p = u32[] partition-id()\n"
              "b = u32[2] broadcast(p), dimensions={} y = u32[2] add(x, b)\n"
              "s = u32[2] all-reduce-start(y), channel_id=1, replica_groups={{0,1}}, "
              "use_global_device_ids=true, to_apply=add\n"
              "g = (u32[2], u32[4]) all-gather-start(y), channel_id=2, replica_groups={{1,0}}, "
              "use_global_device_ids=true, dimensions={0}\n"
              "c = (u32[2], u32[2]) collective-permute-start(y), channel_id=3, "
              "source_target_pairs={{0,1}}\n"
              "sd = u32[2] all-reduce-done(s) gd = u32[4] all-gather-done(g)\n"
              "cd = u32[2] collective-permute-done(c)\n"
              "ROOT r = u32[8] concatenate(sd, gd, cd), dimensions={0} }",
              LIST("{1, 2}", "{10, 20}"), 2,
              LIST("{12, 23, 11, 21, 1, 2, 0, 0}", "{12, 23, 11, 21, 1, 2, 1, 2}"));
    expect_on(
        "cpu:",
        "HloModule m, num_partitions=2\n"
        "ENTRY e { x = (s32[2], s32[]) parameter(0) y = s32[2] get-tuple-element(x), index=0\n"
        "ROOT r = s32[2] all-to-all(y), channel_id=1, replica_groups={{0,1}}, "
        "dimensions={0} }",
        LIST("({1, 2}, 0)", "({10, 20}, 0)"), 2, LIST("{1, 10}", "{2, 20}"));
}
END_TEST

START_TEST(too_many_devices_are_unsupported)
{
    char text[1024];
    struct backend *backend = open_uri("cpu:?cpu_device_count=2", 60, 0);
    snprintf(text, sizeof(text), all_reduce, 4, 1, "");
    struct run_result result = run_text(backend, text, LIST("{1, 2}"), 1, 1);
    ck_assert_int_eq(result.outcome, OUTCOME_UNSUPPORTED);
    run_result_finish(&result);
    backend_close(backend);
}
END_TEST

/* A flag reaches the compiler: with fast min/max a clamp loses NaN bounds. */
START_TEST(flags)
{
    static const char text[] =
        "HloModule m\nENTRY e { a = f32[3] parameter(0) b = f32[3] parameter(1)\n"
        "c = f32[3] parameter(2) ROOT r = f32[3] clamp(a, b, c) }";
    const char *const arguments[] = {"{0, nan, 0}", "{nan, 0, 0}", "{1, 1, nan}"};
    int nan_counts[2];
    for (int fast = 0; fast < 2; fast++) {
        struct backend *backend = open_uri(fast ? "cpu:?xla_cpu_enable_fast_min_max=true"
                                                : "cpu:?xla_cpu_enable_fast_min_max=false",
                                           60, 0);
        struct run_result result = run_text(backend, text, arguments, 1, 1);
        ck_assert_msg(result.outcome == OUTCOME_PASS, "%s", result.message);
        nan_counts[fast] = 0;
        for (int i = 0; i < 3; i++) {
            double value = literal_get_double(result.outputs[0], i);
            nan_counts[fast] += value != value;
        }
        run_result_finish(&result);
        backend_close(backend);
    }
    ck_assert_int_eq(nan_counts[0], 3);
    ck_assert_int_lt(nan_counts[1], 3);
}
END_TEST

START_TEST(flags_of_every_type_and_wrong_ones)
{
    static const char text[] =
        "HloModule m\nENTRY e { x = f32[] parameter(0) ROOT r = f32[] negate(x) }";
    static const struct {
        const char *flag;
        enum outcome outcome;
    } cases[] = {
        {"xla_backend_optimization_level=0", OUTCOME_PASS},
        {"xla_disable_hlo_passes=algsimp,fusion", OUTCOME_PASS},
        {"xla_cpu_enable_fast_math=false", OUTCOME_PASS},
        {"xla_no_such_flag=true", OUTCOME_COMPILE_ERROR},
        {"xla_backend_optimization_level=high", OUTCOME_COMPILE_ERROR},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char uri[256];
        snprintf(uri, sizeof(uri), "cpu:?%s", cases[i].flag);
        struct backend *backend = open_uri(uri, 60, 0);
        struct run_result result = run_text(backend, text, LIST("1"), 1, 1);
        ck_assert_msg(result.outcome == cases[i].outcome, "%s: %s: %s", cases[i].flag,
                      outcome_text(result.outcome), result.message);
        run_result_finish(&result);
        backend_close(backend);
    }
}
END_TEST

START_TEST(bad_modules_are_outcomes)
{
    struct backend *backend = open_uri("cpu:", 60, 0);
    /* XLA's CPU compiler aborts the process here. */
    struct run_result result =
        run_text(backend,
                 "HloModule m\nadd { a = f32[] parameter(0) b = f32[] parameter(1)\n"
                 "ROOT s = f32[] add(a, b) }\n"
                 "ENTRY e { x = f32[3,2] parameter(0) z = f32[] constant(0)\n"
                 "ROOT r = f32[2,2] reduce-window(x, z), window={size=1x1 pad=-1_0x0_0},\n"
                 "to_apply=add }",
                 LIST("{{1, 2}, {3, 4}, {5, 6}}"), 1, 1);
    ck_assert_msg(result.outcome == OUTCOME_CRASH, "%s", outcome_text(result.outcome));
    ck_assert_msg(strstr(result.message, "SIGABRT while compiling"), "%s", result.message);
    ck_assert_msg(strstr(result.message, "RET_CHECK failure"), "%s", result.message);
    run_result_finish(&result);
    result = run_text(backend,
                      "HloModule m\nENTRY e { x = f32[] parameter(0)\n"
                      "ROOT r = f32[] custom-call(x), custom_call_target=\"nobody_knows\" }",
                      LIST("1"), 1, 1);
    ck_assert_msg(result.outcome == OUTCOME_COMPILE_ERROR ||
                      result.outcome == OUTCOME_RUNTIME_ERROR,
                  "%s", outcome_text(result.outcome));
    ck_assert_msg(strstr(result.message, "nobody_knows"), "%s", result.message);
    run_result_finish(&result);
    backend_close(backend);
}
END_TEST

START_TEST(endless_loops_end)
{
    struct backend *backend = open_uri("cpu:", 2, 0);
    struct run_result result =
        run_text(backend,
                 "HloModule m\nc { p = f32[] parameter(0) ROOT t = pred[] constant(true) }\n"
                 "b { p = f32[] parameter(0) ROOT r = f32[] negate(p) }\n"
                 "ENTRY e { x = f32[] parameter(0)\n"
                 "ROOT w = f32[] while(x), condition=c, body=b }",
                 LIST("1"), 1, 1);
    ck_assert_int_eq(result.outcome, OUTCOME_TIMEOUT);
    run_result_finish(&result);
    result = run_text(backend,
                      "HloModule m\nENTRY e { x = f32[] parameter(0)\nROOT r = f32[] negate(x) }",
                      LIST("1"), 1, 1);
    ck_assert_msg(result.outcome == OUTCOME_PASS, "%s", result.message);
    run_result_finish(&result);
    backend_close(backend);
}
END_TEST

START_TEST(memory_is_limited)
{
    struct backend *backend = open_uri("cpu:", 60, (size_t)1 << 30);
    struct run_result result =
        run_text(backend,
                 "HloModule m\nENTRY e { x = f32[] parameter(0)\n"
                 "ROOT r = f32[1024,1024,1024] broadcast(x), dimensions={} }",
                 LIST("1"), 1, 1);
    ck_assert_msg(result.outcome == OUTCOME_OOM, "%s: %s", outcome_text(result.outcome),
                  result.message);
    run_result_finish(&result);
    result = run_text(backend,
                      "HloModule m\nENTRY e { x = f32[] parameter(0)\nROOT r = f32[] negate(x) }",
                      LIST("1"), 1, 1);
    ck_assert_msg(result.outcome == OUTCOME_PASS, "%s", result.message);
    run_result_finish(&result);
    backend_close(backend);
}
END_TEST

START_TEST(dynamic_results)
{
    struct backend *backend = open_uri("cpu:", 60, 0);
    struct run_result result =
        run_text(backend,
                 "HloModule m\nENTRY e { x = s32[2,4] parameter(0) n = s32[] parameter(1)\n"
                 "ROOT d = s32[2,<=4] set-dimension-size(x, n), dimensions={1} }",
                 LIST("{{1, 2, 3, 4}, {5, 6, 7, 8}}", "3"), 1, 1);
    ck_assert_msg(result.outcome == OUTCOME_PASS, "%s: %s", outcome_text(result.outcome),
                  result.message);
    const struct literal *output = result.outputs[0];
    ck_assert(output->dynamic_sizes != NULL);
    ck_assert_int_eq(output->dynamic_sizes[0], 2);
    ck_assert_int_eq(output->dynamic_sizes[1], 3);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(literal_get_int(output, i), 1 + i);
        ck_assert_int_eq(literal_get_int(output, 4 + i), 5 + i);
    }
    run_result_finish(&result);
    backend_close(backend);
}
END_TEST

START_TEST(donated_arguments_serve_every_iteration)
{
    struct backend *backend = open_uri("cpu:", 60, 0);
    struct run_result result =
        run_text(backend,
                 "HloModule m, input_output_alias={ {}: (0, {}, must-alias) }\n"
                 "ENTRY e { x = f32[3] parameter(0) ROOT r = f32[3] add(x, x) }",
                 LIST("{1, 2, 3}"), 1, 5);
    ck_assert_msg(result.outcome == OUTCOME_PASS, "%s: %s", outcome_text(result.outcome),
                  result.message);
    check_output(&result, 0, "{2, 4, 6}");
    run_result_finish(&result);
    backend_close(backend);
}
END_TEST

START_TEST(optimised_modules_run_as_they_are)
{
    struct error err = {0};
    struct backend_options options = {.timeout = 60, .run_backend_only = true};
    struct backend *backend = backend_open("cpu:", &options, &err);
    ck_assert_msg(backend != NULL, "%s", err.message);
    struct run_result result = run_text(backend,
                                        "HloModule m, is_scheduled=true\n"
                                        "f { p = f32[3]{0} parameter(0) n = f32[3]{0} negate(p)\n"
                                        "ROOT r = f32[3]{0} add(n, n) }\n"
                                        "ENTRY e { x = f32[3]{0} parameter(0)\n"
                                        "ROOT r = f32[3]{0} fusion(x), kind=kLoop, calls=f }",
                                        LIST("{1, 2, 3}"), 1, 1);
    ck_assert_msg(result.outcome == OUTCOME_PASS, "%s: %s", outcome_text(result.outcome),
                  result.message);
    check_output(&result, 0, "{-2, -4, -6}");
    run_result_finish(&result);
    backend_close(backend);
}
END_TEST

/* Entries of optimised modules keep their layouts; values still cross row-major. */
START_TEST(optimised_layouts)
{
    struct error err = {0};
    struct backend_options options = {.timeout = 60, .run_backend_only = true};
    struct backend *backend = backend_open("cpu:", &options, &err);
    ck_assert_msg(backend != NULL, "%s", err.message);
    struct run_result result =
        run_text(backend,
                 "HloModule m, is_scheduled=true,\n"
                 "entry_computation_layout={(s32[2,3]{0,1})->s32[2,3]{0,1}}\n"
                 "f { p = s32[2,3]{0,1} parameter(0) i = s32[2,3]{0,1} iota(), iota_dimension=1\n"
                 "ROOT r = s32[2,3]{0,1} add(p, i) }\n"
                 "ENTRY e { x = s32[2,3]{0,1} parameter(0)\n"
                 "ROOT r = s32[2,3]{0,1} fusion(x), kind=kLoop, calls=f }",
                 LIST("{{10, 20, 30}, {40, 50, 60}}"), 1, 1);
    ck_assert_msg(result.outcome == OUTCOME_PASS, "%s: %s", outcome_text(result.outcome),
                  result.message);
    check_output(&result, 0, "{{10, 21, 32}, {40, 51, 62}}");
    run_result_finish(&result);
    backend_close(backend);
}
END_TEST

START_TEST(the_plugin_describes_itself)
{
    struct error err = {0};
    struct text json;
    struct backend *backend = open_uri("cpu:?xla_cpu_enable_fast_math=false", 60, 0);
    text_init(&json);
    ck_assert_msg(backend_describe(backend, &json, &err), "%s", err.message);
    static const char *const parts[] = {"\"scheme\":\"cpu\"", "\"platform\":\"cpu\"",
                                        "\"pjrt_api\":\"0.", "stablehlo_current_version",
                                        "\"xla_cpu_enable_fast_math\":\"false\""};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        ck_assert_msg(strstr(json.data, parts[i]), "no %s in %s", parts[i], json.data);
    }
    text_finish(&json);
    backend_close(backend);
}
END_TEST

START_TEST(results_are_recorded)
{
    static const char text[] =
        "HloModule m\nENTRY e { x = f32[2] parameter(0) n = f32[2] negate(x)\n"
        "ROOT r = (f32[2], f32[2]) tuple(n, x) }";
    char folder[] = "/tmp/referee-test-XXXXXX", uri[256];
    ck_assert(mkdtemp(folder) != NULL);
    snprintf(uri, sizeof(uri), "recorded:%s", folder);
    struct backend *backend = open_uri(uri, 60, 0);
    struct run_result result = run_text(backend, text, LIST("{1, 2}"), 1, 1);
    ck_assert_int_eq(result.outcome, OUTCOME_UNSUPPORTED);
    run_result_finish(&result);
    backend_close(backend);
    for (int i = 0; i < 2; i++) {
        snprintf(uri, sizeof(uri), "recorded:%s%s", folder, i == 0 ? "?record=cpu:" : "");
        backend = open_uri(uri, 60, 0);
        result = run_text(backend, text, LIST("{1, 2}"), 1, 1);
        ck_assert_msg(result.outcome == OUTCOME_PASS, "%s", result.message);
        check_output(&result, 0, "({-1, -2}, {1, 2})");
        run_result_finish(&result);
        backend_close(backend);
    }
    backend = open_uri(uri, 60, 0);
    result = run_text(backend, text, LIST("{1, 3}"), 1, 1);
    ck_assert_int_eq(result.outcome, OUTCOME_UNSUPPORTED);
    run_result_finish(&result);
    backend_close(backend);
    snprintf(uri, sizeof(uri), "rm -r %s", folder);
    ck_assert_int_eq(system(uri), 0);
}
END_TEST

START_TEST(modules_go_as_mlir)
{
    static const char hlo[] = "HloModule m\n\nENTRY e {\n  p = s32[2] parameter(0)\n"
                              "  ROOT a = s32[2] abs(p)\n}\n";
    /* Not the same on purpose: what was sent shows in the result. */
    static const char mlir[] =
        "func.func @main(%p: tensor<2xi32>) -> tensor<2xi32> {\n"
        "  %n = stablehlo.negate %p : tensor<2xi32>\n  return %n : tensor<2xi32>\n}\n";
    struct backend_options options = {.via_mlir = true};
    struct error err = {0};
    struct backend *backend = backend_open("cpu:", &options, &err);
    ck_assert_msg(backend != NULL, "%s", err.message);
    struct module *module = read_module(hlo);
    struct literal *argument = read_literal(module->entry->parameters[0]->shape, "{-3, 4}");
    struct run_result result;
    backend_run(backend, module, &argument, 1, 1, 1, &result);
    ck_assert_msg(result.outcome == OUTCOME_PASS, "%s", result.message);
    check_output(&result, 0, "{3, 4}");
    run_result_finish(&result);
    module->mlir = (struct bytes){mlir, sizeof mlir - 1};
    backend_run(backend, module, &argument, 1, 1, 1, &result);
    ck_assert_msg(result.outcome == OUTCOME_PASS, "%s", result.message);
    check_output(&result, 0, "{3, -4}");
    run_result_finish(&result);
    literal_release(argument);
    module_destroy(module);
    backend_close(backend);
}
END_TEST

int main(int argc, char **argv)
{
    backend_worker_main_if_asked(argc, argv);
    if (!*backend_default_plugin()) {
        printf("XLA's CPU plugin is not there, so nothing is tested; ./dev plugin fetches it\n");
        return 0;
    }
    Suite *suite = suite_create("pjrt");
    TCase *test_case = tcase_create("pjrt");
    tcase_add_test(test_case, arithmetic);
    tcase_add_test(test_case, tuples);
    tcase_add_test(test_case, tokens);
    tcase_add_test(test_case, types);
    tcase_add_test(test_case, small_integers_compute);
    tcase_add_test(test_case, layouts);
    tcase_add_test(test_case, devices);
    tcase_add_test(test_case, devices_are_numbered_replica_major);
    tcase_add_test(test_case, partitioned_modules_stay_as_they_are);
    tcase_add_test(test_case, too_many_devices_are_unsupported);
    tcase_add_test(test_case, flags);
    tcase_add_test(test_case, flags_of_every_type_and_wrong_ones);
    tcase_add_test(test_case, bad_modules_are_outcomes);
    tcase_add_test(test_case, endless_loops_end);
    tcase_add_test(test_case, memory_is_limited);
    tcase_add_test(test_case, dynamic_results);
    tcase_add_test(test_case, donated_arguments_serve_every_iteration);
    tcase_add_test(test_case, optimised_modules_run_as_they_are);
    tcase_add_test(test_case, optimised_layouts);
    tcase_add_test(test_case, the_plugin_describes_itself);
    tcase_add_test(test_case, results_are_recorded);
    tcase_add_test(test_case, modules_go_as_mlir);
    suite_add_tcase(suite, test_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
