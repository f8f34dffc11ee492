/* Differential runs on several devices: who differs, what each is given, and what is forgiven.
 *
 * The backend here is the golden on another module, on as many devices. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend_impl.h"
#include "compare/devices.h"
#include "compare/differential.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "interp/interp.h"

static struct module *read(const char *text)
{
    struct error err = {0};
    struct module *module = text_read_module(text, strlen(text), "test", 1, &err);
    ck_assert_msg(module != NULL, "%d:%d %s\n%s", err.line, err.column, err.message, text);
    return module;
}

/* What stands for a backend: evaluates `module` and keeps the grid it was asked for. */
struct stand_in {
    struct module *module;
    int replicas, partitions;
};

static void stand_in_run(struct backend *backend, const struct backend_job *job,
                         struct run_result *result, struct text *message)
{
    struct stand_in *stand_in = backend->state;
    struct error err = {0};
    (void)message;
    stand_in->replicas = job->replica_count;
    stand_in->partitions = job->partition_count;
    struct literal *const *sets[64];
    for (int d = 0; d < job->device_count; d++) {
        sets[d] = job->arguments + (job->set_count > 1 ? d * job->argument_count : 0);
    }
    struct interp_options options = {.replica_count = job->replica_count,
                                     .partition_count = job->partition_count};
    bool ok = interp_evaluate_devices(stand_in->module, job->device_count, sets,
                                      job->argument_count, result->outputs, &options, &err);
    ck_assert_msg(ok, "%s", err.message);
    result->outcome = OUTCOME_PASS;
}

/* Runs `text` against `made`; the caller finishes the result. */
static void run(const char *text, const char *made, struct differential_options options,
                struct differential_result *result, struct stand_in *stand_in)
{
    static const struct backend_impl impl = {.run = stand_in_run};
    char uri[] = "cpu:";
    struct error err = {0};
    struct module *module = read(text);
    stand_in->module = read(made);
    struct backend backend = {.impl = &impl, .scheme = "cpu", .uri = uri, .state = stand_in};
    struct backend *reference = backend_open("interp:", NULL, &err);
    options.inputs.seed = 1;
    differential_run(module, &backend, reference, &options, result);
    backend_close(reference);
    module_destroy(module);
    module_destroy(stand_in->module);
}

#define ADD "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }\n"
#define SUMS(header)                                                    \
    "HloModule m" header "\n" ADD "ENTRY e { x = f32[3] parameter(0)\n" \
    "  ROOT r = f32[3] all-reduce(x), replica_groups={}, to_apply=add }\n"
/* Replica 1 adds one to its share. */
#define SUMS_BUT_ONE(header)                                                                      \
    "HloModule m" header "\n" ADD "ENTRY e { x = f32[3] parameter(0)\n"                           \
    "  s = f32[3] all-reduce(x), replica_groups={}, to_apply=add\n"                               \
    "  r = u32[] replica-id() one = u32[] constant(1) e = pred[] compare(r, one), direction=EQ\n" \
    "  f = f32[] convert(e) b = f32[3] broadcast(f), dimensions={} ROOT t = f32[3] add(s, b) }\n"

START_TEST(test_all_agree)
{
    struct differential_result result;
    struct stand_in stand_in;
    run(SUMS(", replica_count=3, num_partitions=2"), SUMS(""), (struct differential_options){0},
        &result, &stand_in);
    ck_assert_msg(result.outcome == OUTCOME_PASS, "%s", result.message);
    ck_assert_int_eq(result.device_count, 6);
    ck_assert_int_eq(stand_in.replicas, 3);
    ck_assert_int_eq(stand_in.partitions, 2);
    for (int d = 0; d < 6; d++) {
        ck_assert_int_eq(result.devices[d].replica, d / 2);
        ck_assert_int_eq(result.devices[d].partition, d % 2);
        ck_assert_int_eq(result.devices[d].outcome, OUTCOME_PASS);
        ck_assert_int_eq(result.devices[d].elements, 3);
    }
    differential_result_finish(&result);
}
END_TEST

START_TEST(test_some_differ)
{
    struct differential_result result;
    struct stand_in stand_in;
    run(SUMS(", replica_count=3, num_partitions=2"), SUMS_BUT_ONE(""),
        (struct differential_options){0}, &result, &stand_in);
    ck_assert_int_eq(result.outcome, OUTCOME_MISMATCH);
    ck_assert_str_eq(result.message, "6 elements differ on 2 of 6 devices");
    ck_assert_msg(strstr(result.picture, "replica 1, partition 0: output f32[3]: 3 of 3") != NULL,
                  "%s", result.picture);
    for (int d = 0; d < 6; d++) {
        bool wrong = d / 2 == 1;
        ck_assert_int_eq(result.devices[d].outcome, wrong ? OUTCOME_MISMATCH : OUTCOME_PASS);
        ck_assert_int_eq(result.devices[d].mismatches, wrong ? 3 : 0);
    }
    differential_result_finish(&result);
}
END_TEST

/* The options' counts win over the header's. */
START_TEST(test_grid_override)
{
    struct differential_result result;
    struct stand_in stand_in;
    run(SUMS(", replica_count=3"), SUMS(""),
        (struct differential_options){.replica_count = 2, .partition_count = 4}, &result,
        &stand_in);
    ck_assert_msg(result.outcome == OUTCOME_PASS, "%s", result.message);
    ck_assert_int_eq(result.device_count, 8);
    ck_assert_int_eq(stand_in.replicas, 2);
    ck_assert_int_eq(stand_in.partitions, 4);
    differential_result_finish(&result);
    run(SUMS(", replica_count=3"), SUMS(""), (struct differential_options){.replica_count = 64},
        &result, &stand_in);
    ck_assert_msg(result.outcome == OUTCOME_PASS, "%s", result.message);
    ck_assert_int_eq(result.device_count, 64);
    differential_result_finish(&result);
}
END_TEST

/* Drawn: each device its own, or all the same. */
START_TEST(test_drawn_inputs)
{
    struct differential_result own, same;
    struct stand_in stand_in;
    static const char text[] = SUMS(", replica_count=3");
    run(text, text, (struct differential_options){0}, &own, &stand_in);
    run(text, text, (struct differential_options){.same_inputs = true}, &same, &stand_in);
    ck_assert_int_eq(own.argument_count, 3);
    for (int d = 1; d < 3; d++) {
        ck_assert(!literal_equal(own.arguments[0], own.arguments[d]));
        ck_assert(literal_equal(same.arguments[0], same.arguments[d]));
    }
    ck_assert(literal_equal(own.arguments[0], same.arguments[0]));
    differential_result_finish(&own);
    differential_result_finish(&same);
}
END_TEST

static struct literal *filled(float value)
{
    struct error err = {0};
    int64_t three = 3;
    struct literal *literal = literal_create(shape_array(TYPE_F32, 1, &three), &err);
    for (int i = 0; i < 3; i++) {
        literal_set_double(literal, i, (double)value);
    }
    return literal;
}

/* Given: one set for all devices, one for each, or a wrong number. */
START_TEST(test_given_inputs)
{
    static const char text[] = SUMS(", replica_count=3");
    static const double sums[] = {0, 3, 0, 111};
    struct literal *given[3] = {filled(1), filled(10), filled(100)};
    for (int count = 1; count <= 3; count++) {
        struct differential_result result;
        struct stand_in stand_in;
        run(text, text, (struct differential_options){.arguments = given, .argument_count = count},
            &result, &stand_in);
        if (count == 2) {
            ck_assert_int_eq(result.outcome, OUTCOME_UNSUPPORTED);
            ck_assert_msg(strstr(result.message, "2 arguments are given for 1 parameters on 3") !=
                              NULL,
                          "%s", result.message);
        } else {
            ck_assert_msg(result.outcome == OUTCOME_PASS, "%s", result.message);
            for (int d = 0; d < 3; d++) {
                ck_assert(literal_get_double(result.reference.outputs[d], 2) == sums[count]);
            }
        }
        differential_result_finish(&result);
    }
    for (int i = 0; i < 3; i++) {
        literal_release(given[i]);
    }
}
END_TEST

/* Sums in another order: exact 2^24 + 3, which rounds to 2^24 + 4; one by one, 2^24. */
START_TEST(test_order_of_sums)
{
    static const char text[] = SUMS(", replica_count=4");
    static const char one_by_one[] =
        "HloModule m\nENTRY e { x = f32[3] parameter(0)\n"
        "  y = f32[1,3] reshape(x)\n"
        "  a = f32[4,3] all-gather(y), replica_groups={}, dimensions={0}\n"
        "  b = f32[1,3] slice(a), slice={[0:1], [0:3]} c = f32[1,3] slice(a), slice={[1:2], "
        "[0:3]}\n"
        "  d = f32[1,3] slice(a), slice={[2:3], [0:3]} f = f32[1,3] slice(a), slice={[3:4], "
        "[0:3]}\n"
        "  s = f32[1,3] add(b, c) t = f32[1,3] add(s, d) u = f32[1,3] add(t, f)\n"
        "  ROOT r = f32[3] reshape(u) }\n";
    struct literal *given[4] = {filled(16777216.F), filled(1), filled(1), filled(1)};
    struct differential_result result;
    struct stand_in stand_in;
    run(text, one_by_one, (struct differential_options){.arguments = given, .argument_count = 4},
        &result, &stand_in);
    ck_assert_msg(result.outcome == OUTCOME_PASS, "%s\n%s", result.message, result.picture);
    ck_assert(result.devices[3].largest_ulps > 0);
    differential_result_finish(&result);
    run(text, one_by_one,
        (struct differential_options){
            .arguments = given, .argument_count = 4, .profile = profile_find("strict")},
        &result, &stand_in);
    ck_assert_int_eq(result.outcome, OUTCOME_MISMATCH);
    differential_result_finish(&result);
    run(text, one_by_one,
        (struct differential_options){
            .arguments = given, .argument_count = 4, .tolerance = TOLERANCE_DERIVED},
        &result, &stand_in);
    ck_assert_msg(result.outcome == OUTCOME_PASS, "%s\n%s", result.message, result.picture);
    differential_result_finish(&result);
    for (int i = 0; i < 4; i++) {
        literal_release(given[i]);
    }
}
END_TEST

/* A maximum over devices rounds nothing: no tolerance. */
START_TEST(test_maximum_is_exact)
{
#define MAXIMUM(after)                                                                     \
    "HloModule m, replica_count=2\n"                                                       \
    "max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }\n" \
    "ENTRY e { x = f32[3] parameter(0) m = f32[3] all-reduce(x), replica_groups={}, "      \
    "to_apply=max\n" after "}\n"
    struct differential_result result;
    struct stand_in stand_in;
    run(MAXIMUM("  ROOT r = f32[3] copy(m) "),
        MAXIMUM("  i = s32[3] bitcast-convert(m) o = s32[] constant(1)\n"
                "  n = s32[3] broadcast(o), dimensions={} j = s32[3] add(i, n)\n"
                "  ROOT r = f32[3] bitcast-convert(j) "),
        (struct differential_options){0}, &result, &stand_in);
    ck_assert_int_eq(result.outcome, OUTCOME_MISMATCH);
    differential_result_finish(&result);
#undef MAXIMUM
}
END_TEST

/* What a profile allows on one device it allows on several: here subnormals become zero. */
START_TEST(test_licence)
{
#define HALVES(after)                                                                     \
    "HloModule m, replica_count=2\n" ADD "ENTRY e { x = f32[3] parameter(0) h = f32[] "   \
    "constant(0.5)\n  b = f32[3] broadcast(h), dimensions={} y = f32[3] multiply(x, b)\n" \
    "  r = s32[3] bitcast-convert(y)\n" after "}\n"
    struct literal *given[2] = {filled(1.1754944e-38F), filled(3)};
    struct differential_result result;
    struct stand_in stand_in;
    run(HALVES("  ROOT c = s32[3] copy(r) "),
        HALVES("  m = s32[] constant(8388608) n = s32[3] broadcast(m), dimensions={}\n"
               "  l = pred[3] compare(r, n), direction=LT z = s32[] constant(0)\n"
               "  zs = s32[3] broadcast(z), dimensions={} ROOT s = s32[3] select(l, zs, r) "),
        (struct differential_options){.arguments = given, .argument_count = 2}, &result, &stand_in);
    ck_assert_msg(result.outcome == OUTCOME_PASS, "%s\n%s", result.message, result.picture);
    ck_assert_msg(strstr(result.notes, "flush to zero") != NULL, "%s", result.notes);
    differential_result_finish(&result);
    literal_release(given[0]);
    literal_release(given[1]);
#undef HALVES
}
END_TEST

START_TEST(test_devices_matter)
{
    static const struct {
        const char *text;
        bool matter;
    } rows[] = {
        {"HloModule m\nENTRY e { x = f32[3] parameter(0) ROOT r = f32[3] negate(x) }\n", false},
        {"HloModule m\nENTRY e { ROOT r = u32[] replica-id() }\n", true},
        {"HloModule m\nENTRY e { ROOT r = u32[] partition-id() }\n", true},
        {SUMS(""), true},
        {"HloModule m\nENTRY e { x = f32[3] parameter(0)\n"
         "  ROOT r = f32[3] collective-permute(x), source_target_pairs={{0,1}} }\n",
         true},
        {"HloModule m\nENTRY e { x = f32[3] parameter(0) t = token[] after-all()\n"
         "  s = (f32[3], u32[], token[]) send(x, t), channel_id=1, is_host_transfer=true\n"
         "  d = token[] send-done(s), channel_id=1, is_host_transfer=true\n"
         "  ROOT r = f32[3] negate(x) }\n",
         false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct module *module = read(rows[i].text);
        ck_assert_msg(devices_matter(module) == rows[i].matter, "%s", rows[i].text);
        module_destroy(module);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("devices");
    TCase *tests = tcase_create("devices");
    tcase_add_test(tests, test_all_agree);
    tcase_add_test(tests, test_some_differ);
    tcase_add_test(tests, test_grid_override);
    tcase_add_test(tests, test_drawn_inputs);
    tcase_add_test(tests, test_given_inputs);
    tcase_add_test(tests, test_order_of_sums);
    tcase_add_test(tests, test_maximum_is_exact);
    tcase_add_test(tests, test_licence);
    tcase_add_test(tests, test_devices_matter);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
