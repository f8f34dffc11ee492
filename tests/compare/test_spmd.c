/* The SPMD referee: partitioned modules that are right and wrong, and who is blamed. Whole and
 * partitioned modules are written side by side; which verdict is right follows from what they
 * compute. Manual regions are held against values worked out by hand. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend_impl.h"
#include "compare/manual.h"
#include "compare/spmd.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "hlo/verify.h"
#include "interp/interp.h"

static struct module *read(const char *text)
{
    struct error err = {0};
    struct module *module = text_read_module(text, strlen(text), "test", 1, &err);
    ck_assert_msg(module != NULL, "%d:%d %s\n%s", err.line, err.column, err.message, text);
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

/* --- verdicts --- */

/* A compiler that is asked to run a module on several devices and runs another one. */
static void stand_in_run(struct backend *backend, const struct backend_job *job,
                         struct run_result *result, struct text *message)
{
    const struct module *made = backend->state;
    struct error err = {0};
    struct interp_options options = {.replica_count = job->replica_count,
                                     .partition_count = job->partition_count};
    struct literal *const *sets[8];
    (void)message;
    ck_assert_int_le(job->device_count, 8);
    for (int d = 0; d < job->device_count; d++) {
        sets[d] = job->arguments + d * job->argument_count;
    }
    ck_assert_msg(interp_evaluate_devices(made, job->device_count, sets, job->argument_count,
                                          result->outputs, &options, &err),
                  "%s", err.message);
    result->outcome = OUTCOME_PASS;
}

#define ADD "add { a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT s = s32[] add(a, b) }\n"
#define HEAD "HloModule m, num_partitions=2\n" ADD "ENTRY e {\n"
#define WHOLE                                                                                \
    HEAD "x = s32[5] parameter(0), sharding={devices=[2]<=[2]}\n zero = s32[] constant(0)\n" \
         "sum = s32[] reduce(x, zero), dimensions={0}, to_apply=add\n"                       \
         "wide = s32[5] broadcast(sum), dimensions={}\n"                                     \
         "ROOT y = s32[5] subtract(x, wide), sharding={devices=[2]<=[2]} }\n"
/* The last element of device 1 is padding. */
#define MASK                                                                               \
    "id = u32[] partition-id()\n n = s32[] convert(id)\n three = s32[] constant(3)\n"      \
    "first = s32[] multiply(n, three)\n firsts = s32[3] broadcast(first), dimensions={}\n" \
    "i = s32[3] iota(), iota_dimension=0\n at = s32[3] add(i, firsts)\n"                   \
    "five = s32[] constant(5)\n fives = s32[3] broadcast(five), dimensions={}\n"           \
    "inside = pred[3] compare(at, fives), direction=LT\n"                                  \
    "zeros = s32[3] broadcast(zero), dimensions={}\n own = s32[3] select(inside, x, zeros)\n"
#define PARTS(x) \
    HEAD "x = s32[3] parameter(0), sharding={devices=[2]<=[2]}\n zero = s32[] constant(0)\n" x
#define SUM(of)                                                                                \
    "part = s32[] reduce(" of ", zero), dimensions={0}, to_apply=add\n"                        \
    "sum = s32[] all-reduce(part), channel_id=1, replica_groups={{0,1}}, "                     \
    "use_global_device_ids=true, to_apply=add\n wide = s32[3] broadcast(sum), dimensions={}\n" \
    "ROOT y = s32[3] subtract(x, wide), sharding={devices=[2]<=[2]} }\n"
#define RIGHT PARTS(MASK SUM("own"))
#define UNMASKED PARTS(SUM("x"))
#define UNSUMMED                                                               \
    PARTS(MASK "sum = s32[] reduce(own, zero), dimensions={0}, to_apply=add\n" \
               "wide = s32[3] broadcast(sum), dimensions={}\n"                 \
               "ROOT y = s32[3] subtract(x, wide), sharding={devices=[2]<=[2]} }\n")

struct verdict_case {
    const char *whole, *partitioned, *made; /* made NULL: nothing is executed */
    enum outcome outcome;
    enum spmd_culprit culprit;
    bool agree;
    const char *message;
};
static const struct verdict_case verdicts[] = {
    {WHOLE, RIGHT, NULL, OUTCOME_PASS, SPMD_NOBODY, false, ""},
    {WHOLE, RIGHT, RIGHT, OUTCOME_PASS, SPMD_NOBODY, false, ""},
    {WHOLE, UNSUMMED, NULL, OUTCOME_MISMATCH, SPMD_PARTITIONER, false, "on the golden"},
    {WHOLE, UNSUMMED, UNSUMMED, OUTCOME_MISMATCH, SPMD_PARTITIONER, true, "agrees with it"},
    {WHOLE, UNSUMMED, RIGHT, OUTCOME_MISMATCH, SPMD_PARTITIONER, false,
     "what the backend ran does not"},
    {WHOLE, RIGHT, UNSUMMED, OUTCOME_MISMATCH, SPMD_COMPILER, false, "what the backend made of it"},
    {WHOLE, UNSUMMED, UNMASKED, OUTCOME_MISMATCH, SPMD_BOTH, false, "differs from both"},
    /* What lies beyond the array counts: only hostile padding shows it. */
    {WHOLE, UNMASKED, NULL, OUTCOME_MISMATCH, SPMD_PARTITIONER, false, "on the golden"},
    /* Tiles that are not the pieces, and another number of arrays. */
    {WHOLE, WHOLE, NULL, OUTCOME_UNSUPPORTED, SPMD_NOBODY, false, "makes pieces of s32[3]"},
    {WHOLE, HEAD "ROOT c = s32[3] constant({1,2,3}) }", NULL, OUTCOME_UNSUPPORTED, SPMD_NOBODY,
     false, "1 arrays among its parameters, the partitioned one 0"},
    /* Replicas that should agree. */
    {HEAD "x = s32[2] parameter(0), sharding={replicated}\n ROOT y = s32[2] negate(x), "
          "sharding={replicated} }",
     HEAD "x = s32[2] parameter(0), sharding={replicated}\n n = s32[2] negate(x)\n"
          "id = u32[] partition-id()\n m = s32[] convert(id)\n w = s32[2] broadcast(m), "
          "dimensions={}\n ROOT y = s32[2] add(n, w), sharding={replicated} }",
     NULL, OUTCOME_MISMATCH, SPMD_PARTITIONER, false,
     "devices 0 and 1 should hold the same part of output 0, but 2 of its elements differ"},
    /* A summand on each device. */
    {HEAD "x = s32[4] parameter(0), sharding={devices=[2]<=[2]}\n zero = s32[] constant(0)\n"
          "ROOT y = s32[] reduce(x, zero), dimensions={0}, to_apply=add, sharding={unreduced} }",
     HEAD "x = s32[2] parameter(0), sharding={devices=[2]<=[2]}\n zero = s32[] constant(0)\n"
          "ROOT y = s32[] reduce(x, zero), dimensions={0}, to_apply=add, sharding={unreduced} }",
     NULL, OUTCOME_PASS, SPMD_NOBODY, false, ""},
    /* The same as newer partitioners write it. */
    {HEAD "x = s32[4] parameter(0), sharding={devices=[2]<=[2]}\n zero = s32[] constant(0)\n"
          "ROOT y = s32[] reduce(x, zero), dimensions={0}, to_apply=add, sharding={unreduced} }",
     HEAD "x = s32[2] parameter(0), sharding={devices=[2]<=[2]}\n zero = s32[] constant(0)\n"
          "ROOT y = s32[] reduce(x, zero), dimensions={0}, to_apply=add, sharding={replicated}, "
          "frontend_attributes={xla.sdy.has_unreduced_axes=\"true\"} }",
     NULL, OUTCOME_PASS, SPMD_NOBODY, false, ""},
    {HEAD "ROOT x = s32[4] parameter(0), sharding={devices=[2]<=[2]} }",
     HEAD "ROOT x = s32[2] parameter(0), sharding={devices=[2]1,0} }", NULL, OUTCOME_PASS,
     SPMD_NOBODY, false, ""},
    {HEAD "x = s32[4] parameter(0), sharding={devices=[2]<=[2]}\n ROOT y = s32[4] negate(x), "
          "sharding={manual} }",
     HEAD "x = s32[2] parameter(0), sharding={devices=[2]<=[2]}\n c = s32[4] concatenate(x, x), "
          "dimensions={0}\n ROOT y = s32[4] negate(c), sharding={manual} }",
     NULL, OUTCOME_UNSUPPORTED, SPMD_NOBODY, false, "under manual control"},
};

START_TEST(test_verdict)
{
    const struct verdict_case *c = &verdicts[_i];
    static const struct backend_impl impl = {.run = stand_in_run};
    struct module *whole = read(c->whole), *partitioned = read(c->partitioned);
    struct module *made = c->made != NULL ? read(c->made) : NULL;
    char uri[] = "cpu:";
    struct backend backend = {.impl = &impl, .scheme = "cpu", .uri = uri, .state = made};
    struct spmd_options options = {
        .differential = {.inputs = {.seed = 1}}, .partition_count = 2, .padding = PADDING_HOSTILE};
    struct spmd_result result;
    spmd_run(whole, partitioned, made != NULL ? &backend : NULL, PIECES_PARTITIONED, &options,
             &result);
    ck_assert_msg(result.outcome == c->outcome, "%s, not %s: %s", outcome_text(result.outcome),
                  outcome_text(c->outcome), result.message);
    ck_assert_str_eq(spmd_culprit_text(result.culprit), spmd_culprit_text(c->culprit));
    ck_assert_msg(strstr(result.message, c->message) != NULL, "%s", result.message);
    ck_assert_int_eq(result.agree, c->agree);
    spmd_result_finish(&result);
    module_destroy(whole);
    module_destroy(partitioned);
    module_destroy(made);
}
END_TEST

/* The picture has indices of the whole array, and the owner is the device of the tile. */
START_TEST(test_owner)
{
    struct module *whole = read(WHOLE), *partitioned = read(UNSUMMED);
    struct spmd_options options = {.differential = {.inputs = {.seed = 1}}, .partition_count = 2};
    struct spmd_result result;
    spmd_run(whole, partitioned, NULL, PIECES_PARTITIONED, &options, &result);
    ck_assert_int_eq(result.outcome, OUTCOME_MISMATCH);
    ck_assert_int_eq(result.simulated.comparison.leaves[0].elements, 5);
    static const char *const owners[] = {"device 0", "device 0", "device 0", "device 1",
                                         "device 1"};
    for (int i = 0; i < 5; i++) {
        struct text owner;
        text_init(&owner);
        spmd_owner(&result, 0, i, &owner);
        ck_assert_str_eq(owner.data, owners[i]);
        text_finish(&owner);
    }
    spmd_result_finish(&result);
    module_destroy(whole);
    module_destroy(partitioned);
}
END_TEST

START_TEST(test_partition_count)
{
    static const struct {
        const char *text;
        int64_t count;
    } cases[] = {
        {"HloModule m, num_partitions=6\nENTRY e { ROOT x = f32[2] parameter(0) }", 6},
        {"HloModule m\nENTRY e { ROOT x = f32[2] parameter(0) }", 1},
        {"HloModule m\nENTRY e { x = f32[8] parameter(0), sharding={replicated}\n ROOT y = f32[8] "
         "negate(x), sharding={devices=[4]<=[4]} }",
         4},
        {"HloModule m\nENTRY e { ROOT x = (f32[8], f32[]) parameter(0), "
         "sharding={{devices=[8]<=[8]}, {replicated}} }",
         8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct module *module = read(cases[i].text);
        ck_assert_int_eq(spmd_partition_count(module), cases[i].count);
        module_destroy(module);
    }
}
END_TEST

/* --- manual regions --- */

/* clang-format off */
#define SPLIT "custom_call_target=\"Sharding\", sharding="
#define ENTER "custom_call_target=\"SPMDFullToShardShape\", sharding="
#define LEAVE "custom_call_target=\"SPMDShardToFullShape\", sharding="
#define MESHES \
    "HloModule m, num_partitions=4, frontend_attributes={xla.sdy.meshes=" \
    "{mesh = #sdy.mesh<[\"a\"=2, \"b\"=2]>}}\n"
#define ENTER_SHARDY \
    "custom_call_target=\"xla.sdy.GlobalToLocalShape\", frontend_attributes={" ALONG_A \
    "xla.sdy.in_shardings="
#define LEAVE_SHARDY \
    "custom_call_target=\"xla.sdy.LocalToGlobalShape\", frontend_attributes={" ALONG_A \
    "xla.sdy.out_shardings="
#define ALONG_A "xla.sdy.manual_axes=\"#sdy<manual_axes{\\\"a\\\"}>\","
#define ID "id = u32[] partition-id()\n n = s32[] convert(id)\n"

struct manual_case {
    const char *text;
    int devices;
    const char *argument, *want; /* of one parameter and result; want NULL: refused */
    const char *message;         /* of a refusal */
};
static const struct manual_case manuals[] = {
    /* Each device adds its number to its part. */
    {"ENTRY e { x = s32[4] parameter(0)\n"
     "s = s32[4] custom-call(x), " SPLIT "{devices=[4]<=[4]}\n"
     "p = s32[1] custom-call(s), " ENTER "{manual}\n" ID
     "w = s32[1] broadcast(n), dimensions={}\n q = s32[1] add(p, w)\n"
     "ROOT y = s32[4] custom-call(q), " LEAVE "{devices=[4]<=[4]} }",
     4, "{10, 20, 30, 40}", "{10, 21, 32, 43}", NULL},
    /* Another order of the devices in, and out: parts that move. */
    {"ENTRY e { x = s32[4] parameter(0)\n"
     "s = s32[4] custom-call(x), " SPLIT "{devices=[4]3,2,1,0}\n"
     "p = s32[1] custom-call(s), " ENTER "{manual}\n"
     "ROOT y = s32[4] custom-call(p), " LEAVE "{devices=[4]<=[4]} }",
     4, "{10, 20, 30, 40}", "{40, 30, 20, 10}", NULL},
    /* Uneven: the last part ends in zeros, and is cut off again. */
    {"ENTRY e { x = s32[5] parameter(0)\n"
     "s = s32[5] custom-call(x), " SPLIT "{devices=[4]<=[4]}\n"
     "p = s32[2] custom-call(s), " ENTER "{manual}\n r = s32[2] reverse(p), dimensions={0}\n"
     "ROOT y = s32[5] custom-call(r), " LEAVE "{devices=[4]<=[4]} }",
     4, "{1, 2, 3, 4, 5}", "{2, 1, 4, 3, 0}", NULL},
    /* Two dimensions on a 2 × 2 mesh, which is transposed at the exit. */
    {"ENTRY e { x = s32[2,2] parameter(0)\n"
     "s = s32[2,2] custom-call(x), " SPLIT "{devices=[2,2]<=[4]}\n"
     "p = s32[1,1] custom-call(s), " ENTER "{manual}\n" ID
     "w = s32[1,1] broadcast(n), dimensions={}\n q = s32[1,1] add(p, w)\n"
     "ROOT y = s32[2,2] custom-call(q), " LEAVE "{devices=[2,2]<=[2,2]T(1,0)} }",
     4, "{{10, 20}, {30, 40}}", "{{10, 32}, {21, 43}}", NULL},
    /* Manual along the first of two axes only; devices 0 and 2, 1 and 3 exchange their parts. */
    {"ENTRY e { x = s32[2,2] parameter(0)\n"
     "s = s32[2,2] custom-call(x), " SPLIT "{devices=[2,2]<=[4]}\n"
     "p = s32[1,2] custom-call(s), " ENTER
     "{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dims={manual}}\n"
     "q = s32[1,2] collective-permute(p), channel_id=1, "
     "source_target_pairs={{0,2},{2,0},{1,3},{3,1}}\n"
     "ROOT y = s32[2,2] custom-call(q), " LEAVE "{devices=[2,2]<=[4]} }",
     4, "{{1, 2}, {3, 4}}", "{{3, 4}, {1, 2}}", NULL},
    /* A region within it that is manual along the other axis too: each pair of devices has a whole
     * of its own there, the number of its first device. */
    {"ENTRY e { x = s32[2] parameter(0)\n"
     "s = s32[2] custom-call(x), " SPLIT "{devices=[2,2]<=[4] last_tile_dim_replicate}\n"
     "p = s32[1] custom-call(s), " ENTER
     "{devices=[1,2,2]<=[4] last_tile_dims={manual, replicated}}\n" ID
     "m = s32[] custom-call(n), " SPLIT "{manual}\n"
     "g = s32[] custom-call(m), " LEAVE "{devices=[2,2]<=[4] last_tile_dims={manual, replicated}}\n"
     "w = s32[1] broadcast(g), dimensions={}\n q = s32[1] add(p, w)\n"
     "ROOT y = s32[2] custom-call(q), " LEAVE "{devices=[2,2]<=[4] last_tile_dim_replicate} }",
     4, "{10, 20}", "{10, 22}", NULL},
    /* Shardy: each adds its number along axis a. */
    {MESHES "ENTRY e { x = s32[2,2] parameter(0)\n"
     "p = s32[1,2] custom-call(x), " ENTER_SHARDY
     "\"#sdy.sharding_per_value<[<@mesh, [{\\\"a\\\", ?}, {\\\"b\\\"}]>]>\"}\n" ID
     "two = s32[] constant(2)\n a = s32[] divide(n, two)\n"
     "w = s32[1,2] broadcast(a), dimensions={}\n q = s32[1,2] add(p, w)\n"
     "ROOT y = s32[2,2] custom-call(q), " LEAVE_SHARDY
     "\"#sdy.sharding_per_value<[<@mesh, [{\\\"a\\\"}, {?}]>]>\"} }",
     4, "{{10, 20}, {30, 40}}", "{{10, 20}, {31, 41}}", NULL},
    /* Shardings that do not make the parts. */
    {"ENTRY e { x = s32[4] parameter(0), sharding={replicated}\n"
     "p = s32[1] custom-call(x), " ENTER "{manual}\n"
     "ROOT y = s32[4] custom-call(p), " LEAVE "{devices=[4]<=[4]} }",
     4, "{1, 2, 3, 4}", NULL, "does not make s32[1]"},
    {"ENTRY e { x = s32[4] parameter(0), sharding={devices=[4]<=[4]}\n"
     "p = s32[1] custom-call(x), " ENTER "{manual}\n"
     "ROOT y = s32[4] custom-call(p), " LEAVE "{devices=[4]<=[4]} }",
     2, "{1, 2, 3, 4}", NULL, "over 4 devices, but there are 2"},
    {MESHES "ENTRY e { x = s32[4] parameter(0)\n"
     "ROOT p = s32[2] custom-call(x), " ENTER_SHARDY
     "\"#sdy.sharding_per_value<[<@other, [{\\\"a\\\"}]>]>\"} }",
     4, "{1, 2, 3, 4}", NULL, "no Shardy mesh @other"},
    {MESHES "ENTRY e { x = s32[4] parameter(0)\n"
     "ROOT p = s32[2] custom-call(x), " ENTER_SHARDY "\"\"} }",
     4, "{1, 2, 3, 4}", NULL, "no Shardy shardings"},
};
/* clang-format on */

START_TEST(test_manual)
{
    const struct manual_case *c = &manuals[_i];
    struct error err = {0};
    struct module *module = read(c->text);
    ck_assert(module_has_manual_regions(module));
    struct module *lowered = module_lower_manual_regions(module, c->devices, &err);
    if (c->want == NULL) {
        ck_assert(lowered == NULL);
        ck_assert_msg(strstr(err.message, c->message) != NULL, "%s", err.message);
        module_destroy(module);
        return;
    }
    ck_assert_msg(lowered != NULL, "%s", err.message);
    ck_assert(!module_has_manual_regions(lowered));
    struct findings findings;
    ck_assert_msg(verify_module(lowered, &findings), "%s",
                  findings.count > 0 ? findings.list[0].text : "");
    struct literal *argument = read_literal(module->entry->parameters[0]->shape, c->argument);
    struct literal *want = read_literal(module->entry->root->shape, c->want);
    struct literal *const *sets[4];
    struct literal *outputs[4];
    struct interp_options options = {.replica_count = 1, .partition_count = c->devices};
    for (int d = 0; d < c->devices; d++) {
        sets[d] = &argument;
    }
    ck_assert_msg(interp_evaluate_devices(lowered, c->devices, sets, 1, outputs, &options, &err),
                  "%s", err.message);
    for (int d = 0; d < c->devices; d++) {
        struct literal *output = outputs[d];
        struct text got;
        text_init(&got);
        literal_print(output, false, 0, &got);
        ck_assert_msg(literal_equal(output, want), "device %d: %s", d, got.data);
        text_finish(&got);
        literal_release(output);
    }
    literal_release(argument);
    literal_release(want);
    module_destroy(lowered);
    module_destroy(module);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spmd");
    TCase *tests = tcase_create("spmd");
    tcase_set_timeout(tests, 60);
#define LOOP(test, cases) \
    tcase_add_loop_test(tests, test, 0, (int)(sizeof(cases) / sizeof((cases)[0])))
    LOOP(test_verdict, verdicts);
    tcase_add_test(tests, test_owner);
    tcase_add_test(tests, test_partition_count);
    LOOP(test_manual, manuals);
#undef LOOP
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
