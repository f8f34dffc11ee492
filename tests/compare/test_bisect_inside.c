/* Bisection inside: nested loops, branches in loops, asynchronous chains, what is applied to
 * elements, devices. The fault stands in a known instruction, at a known iteration and device. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "compare/bisect.h"
#include "compare/inputs.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"

/* The inner loop adds i · j, by subtracting its negative, from outer iteration 2 on when i + j ≥ 4:
 * first at i = 2, j = 2. In the branch of odd i, what is scaled is subtracted from one. */
static const char nested[] =
    "HloModule nested\n"
    "inner_body { s = (s32[], s32[], f32[3]) parameter(0)\n"
    "  i = s32[] get-tuple-element(s), index=0 j = s32[] get-tuple-element(s), index=1\n"
    "  x = f32[3] get-tuple-element(s), index=2 one = s32[] constant(1) k = s32[] add(j, one)\n"
    "  both = s32[] add(i, j) four = s32[] constant(4)\n"
    "  late = pred[] compare(both, four), direction=GE lates = pred[3] broadcast(late), "
    "dimensions={}\n"
    "  part = f32[] convert(both) parts = f32[3] broadcast(part), dimensions={}\n"
    "  z = f32[3] subtract(x, parts) y = f32[3] select(lates, z, x)\n"
    "  ROOT t = (s32[], s32[], f32[3]) tuple(i, k, y) }\n"
    "inner_condition { s = (s32[], s32[], f32[3]) parameter(0)\n"
    "  j = s32[] get-tuple-element(s), index=1 n = s32[] constant(3)\n"
    "  ROOT l = pred[] compare(j, n), direction=LT }\n"
    "odd { p = f32[3] parameter(0) c = f32[] constant(1) cs = f32[3] broadcast(c), dimensions={}\n"
    "  ROOT od = f32[3] subtract(p, cs) }\n"
    "even { p = f32[3] parameter(0) ROOT en = f32[3] negate(p) }\n"
    "outer_body { s = (s32[], f32[3]) parameter(0)\n"
    "  i = s32[] get-tuple-element(s), index=0 x = f32[3] get-tuple-element(s), index=1\n"
    "  zero = s32[] constant(0) start = (s32[], s32[], f32[3]) tuple(i, zero, x)\n"
    "  v = (s32[], s32[], f32[3]) while(start), condition=inner_condition, body=inner_body\n"
    "  y = f32[3] get-tuple-element(v), index=2 one = s32[] constant(1)\n"
    "  bit = s32[] and(i, one) odd = pred[] compare(bit, one), direction=EQ\n"
    "  br = f32[3] conditional(odd, y, y), true_computation=odd, false_computation=even\n"
    "  ii = s32[] add(i, one) ROOT t = (s32[], f32[3]) tuple(ii, br) }\n"
    "outer_condition { s = (s32[], f32[3]) parameter(0)\n"
    "  i = s32[] get-tuple-element(s), index=0 n = s32[] constant(7)\n"
    "  ROOT l = pred[] compare(i, n), direction=LT }\n"
    "ENTRY main { x = f32[3] parameter(0) zero = s32[] constant(0)\n"
    "  start = (s32[], f32[3]) tuple(zero, x)\n"
    "  w = (s32[], f32[3]) while(start), condition=outer_condition, body=outer_body\n"
    "  ROOT r = f32[3] get-tuple-element(w), index=1 }\n";

static const char chains[] =
    "HloModule chains\n"
    "called { p = f32[4] parameter(0) q = f32[4] parameter(1) d = f32[4] subtract(p, q)\n"
    "  ROOT th = f32[4] tanh(d) }\n"
    "wrapped { p = f32[4] parameter(0) q = f32[4] parameter(1)\n"
    "  ROOT c = f32[4] call(p, q), to_apply=called }\n"
    "ENTRY main { a = f32[4] parameter(0) b = f32[4] parameter(1) n = f32[4] negate(a)\n"
    "  start = ((f32[4], f32[4]), f32[4], s32[]) async-start(n, b), calls=wrapped\n"
    "  update = ((f32[4], f32[4]), f32[4], s32[]) async-update(start)\n"
    "  done = f32[4] async-done(update) ROOT r = f32[4] cosine(done) }\n";

static const char applied[] =
    "HloModule applied\n"
    "capped { a = f32[] parameter(0) b = f32[] parameter(1) m = f32[] maximum(a, b)\n"
    "  h = f32[] constant(0.5) n = f32[] multiply(m, h) ROOT s = f32[] add(a, n) }\n"
    "largest { av = f32[] parameter(0) ai = s32[] parameter(1) bv = f32[] parameter(2)\n"
    "  bi = s32[] parameter(3) g = pred[] compare(av, bv), direction=GE\n"
    "  v = f32[] maximum(av, bv) i = s32[] select(g, ai, bi)\n"
    "  ROOT t = (f32[], s32[]) tuple(v, i) }\n"
    "backwards { p = f32[] parameter(0) q = f32[] parameter(1)\n"
    "  ROOT gt = pred[] compare(p, q), direction=GT }\n"
    "combined { o = f32[] parameter(0) u = f32[] parameter(1) ROOT both = f32[] add(o, u) }\n"
    "mapped { m = f32[] parameter(0) e = f32[] exponential(m) ROOT f = f32[] negate(e) }\n"
    "ENTRY main { x = f32[5,6] parameter(0) y = f32[3] parameter(1) zero = f32[] constant(0)\n"
    "  none = s32[] constant(0) numbers = s32[5,6] iota(), iota_dimension=1\n"
    "  r = f32[5] reduce(x, zero), dimensions={1}, to_apply=capped\n"
    "  am = (f32[5], s32[5]) reduce(x, numbers, zero, none), dimensions={1}, to_apply=largest\n"
    "  amv = f32[5] get-tuple-element(am), index=0 ami = s32[5] get-tuple-element(am), index=1\n"
    "  so = f32[5] sort(r), dimensions={0}, to_apply=backwards\n"
    "  indices = s32[3,1] constant({{1},{1},{4}})\n"
    "  sc = f32[5] scatter(so, indices, y), update_window_dims={}, inserted_window_dims={0},\n"
    "    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=combined\n"
    "  ma = f32[5] map(sc), dimensions={0}, to_apply=mapped\n"
    "  ROOT out = (f32[5], f32[5], s32[5]) tuple(ma, amv, ami) }\n";

static const char devices[] =
    "HloModule devices, replica_count=4\n"
    "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
    "first { p = f32[4] parameter(0) ROOT fn = f32[4] negate(p) }\n"
    "rest { p = f32[4] parameter(0) one = f32[] constant(1) ones = f32[4] broadcast(one), "
    "dimensions={}\n"
    "  ROOT rs = f32[4] subtract(p, ones) }\n"
    "ENTRY main { x = f32[4] parameter(0) id = u32[] replica-id() zero = u32[] constant(0)\n"
    "  number = f32[] convert(id) scale = f32[] add(number, number) scales = f32[4] "
    "broadcast(scale), dimensions={}\n"
    "  n = f32[4] add(x, scales) is = pred[] compare(id, zero), direction=EQ\n"
    "  br = f32[4] conditional(is, x, n), true_computation=first, false_computation=rest\n"
    "  all = f32[4] all-reduce(br), replica_groups={{0,1},{2,3}}, to_apply=sum\n"
    "  ROOT r = f32[4] sine(all) }\n";

/* Devices do not matter to each other: one is enough to search on, and it is told which. */
static const char apart[] =
    "HloModule apart, replica_count=2, num_partitions=2\n"
    "ENTRY main { x = f32[4] parameter(0) e = f32[4] exponential(x) ROOT r = f32[4] negate(e) }\n";

/* The path: instructions, each with ":iteration" where it is in a loop. */
static const struct {
    const char *text, *uri, *path;
    bool isolated, applied;
    int device, devices_wrong; /* of the first level */
} cases[] = {
    {nested, "mutant:operands?instruction=z", "w v:2 z:2", true, false, -1, 0},
    {nested, "mutant:operands?instruction=od", "w br:1 od", true, false, -1, 0},
    {nested, "mutant:dropped?instruction=en", "w br:0 en", true, false, -1, 0},
    {nested, "mutant:trip_count?instruction=v", "w v:2", true, false, -1, 0},
    {nested, "mutant:crash?instruction=od", "w br:0 od", true, false, -1, 0},
    {chains, "mutant:crash?instruction=d", "done c d", true, false, -1, 0},
    {chains, "mutant:hang?instruction=th", "done c th", true, false, -1, 0},
    {applied, "mutant:reducer?instruction=m", "r m", false, true, -1, 0},
    {applied, "mutant:reducer?instruction=s", "r s", false, true, -1, 0},
    {applied, "mutant:crash?instruction=n", "r n", true, true, -1, 0},
    {applied, "mutant:reducer?instruction=v", "am v", false, true, -1, 0},
    {applied, "mutant:crash?instruction=g", "am g", true, true, -1, 0},
    {applied, "mutant:sort_order?instruction=gt", "so gt", false, true, -1, 0},
    {applied, "mutant:reducer?instruction=both", "sc both", false, true, -1, 0},
    {applied, "mutant:hang?instruction=e", "ma e", true, true, -1, 0},
    {applied, "mutant:last_element?instruction=r", "r", true, false, -1, 0},
    {applied, "mutant:update?instruction=sc", "sc", true, false, -1, 0},
    {applied, "mutant:tail?instruction=so", "so", true, false, -1, 0},
    {devices, "mutant:add_subtract?instruction=n", "n", true, false, 1, 3},
    {devices, "mutant:replica_groups?instruction=all", "all", true, false, 0, 4},
    {devices, "mutant:dropped?instruction=fn", "br fn", true, false, 0, 1},
    {devices, "mutant:operands?instruction=rs", "br rs", true, false, 1, 3},
    {apart, "mutant:dropped?instruction=e", "e", true, false, 0, 4},
    {devices, "mutant:reducer?instruction=c", "all c", false, true, 0, 4},
};

static struct specimen read_specimen(const char *text)
{
    struct error err = {0};
    struct specimen specimen = {.module = text_read_module(text, strlen(text), "test", 1, &err)};
    ck_assert_msg(specimen.module != NULL, "%d:%d %s", err.line, err.column, err.message);
    int count = specimen.module->entry->parameter_count;
    specimen.argument_count = count;
    specimen.set_count = specimen_devices(&specimen);
    specimen.arguments =
        memory_zalloc(((size_t)specimen_argument_total(&specimen) + 1) * sizeof(void *));
    for (int d = 0; d < specimen_sets(&specimen); d++) {
        struct input_options inputs = {.seed = 3 + (uint64_t)d};
        ck_assert(
            inputs_generate(specimen.module, &inputs, specimen.arguments + d * count, NULL, &err));
    }
    return specimen;
}

START_TEST(test_inside)
{
    struct specimen specimen = read_specimen(cases[_i].text);
    struct error err = {0};
    struct backend *backend = backend_open(cases[_i].uri, NULL, &err);
    ck_assert_msg(backend != NULL, "%s", err.message);
    struct backend *reference = backend_open("interp:", NULL, &err);
    struct bisect_options options = {
        .backend = backend, .reference = reference, .differential = {.tolerance = TOLERANCE_BITS}};
    struct bisect_result result;
    ck_assert_msg(bisect_run(&specimen, &options, &result, &err), "%s", err.message);
    struct text path;
    text_init(&path);
    for (int i = 0; i < result.level_count; i++) {
        text_printf(&path, "%s%s", i > 0 ? " " : "", result.levels[i].instruction);
        if (result.levels[i].iteration >= 0) {
            text_printf(&path, ":%lld", (long long)result.levels[i].iteration);
        }
    }
    ck_assert_msg(strcmp(path.data, cases[_i].path) == 0, "%s: %s, not %s; %s", cases[_i].uri,
                  path.data, cases[_i].path, result.note);
    const struct bisect_level *last = &result.levels[result.level_count - 1];
    ck_assert_int_eq(last->isolated, cases[_i].isolated);
    ck_assert_int_eq(last->applied, cases[_i].applied);
    ck_assert_int_eq(result.levels[0].device, cases[_i].device);
    ck_assert_int_eq(result.levels[0].devices_wrong, cases[_i].devices_wrong);
    ck_assert_int_eq(result.confirming_runs, 1);
    ck_assert_int_eq(result.confirming_failures, 1);
    text_finish(&path);
    bisect_result_finish(&result);
    backend_close(backend);
    backend_close(reference);
    specimen_finish(&specimen);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bisect_inside");
    TCase *tests = tcase_create("all");
    tcase_add_loop_test(tests, test_inside, 0, sizeof cases / sizeof *cases);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
