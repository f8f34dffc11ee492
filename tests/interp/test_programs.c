/* Devices with programs of their own: collectives, transfers and the host between different modules
 * (interp_evaluate_programs). What they give follows from the definition of each op; the cases are
 * those of StableHLO's interpreter.run_parallel. */
#include "tests/interp/evaluate_devices.h"

/* One device: its program and its argument as text, NULL for none. */
struct part {
    const char *program, *argument, *want;
};

static bool run_parts(const struct part *parts, int replicas, int partitions,
                      struct module **modules, struct literal **results,
                      const struct interp_options *extra, struct error *err)
{
    int count = replicas * partitions, counts[DEVICES_MOST];
    struct literal *argument[DEVICES_MOST], *const *lists[DEVICES_MOST];
    struct interp_options options = extra != NULL ? *extra : (struct interp_options){0};
    options.replica_count = replicas;
    options.partition_count = partitions;
    for (int d = 0; d < count; d++) {
        modules[d] = d > 0 && parts[d].program == parts[d - 1].program
                         ? modules[d - 1]
                         : read_module(parts[d].program);
        argument[d] = parts[d].argument != NULL ? read_literal(parts[d].argument) : NULL;
        lists[d] = &argument[d];
        counts[d] = parts[d].argument != NULL ? 1 : 0;
    }
    bool ok = interp_evaluate_programs((const struct module *const *)modules, count, lists, counts,
                                       results, &options, err);
    for (int d = 0; d < count; d++) {
        literal_release(argument[d]);
    }
    return ok;
}

static void destroy_modules(struct module **modules, int count)
{
    for (int d = 0; d < count; d++) {
        if (d == 0 || modules[d] != modules[d - 1]) {
            module_destroy(modules[d]);
        }
    }
}

static void check_parts(const struct part *parts, int replicas, int partitions,
                        const struct interp_options *extra)
{
    struct module *modules[DEVICES_MOST];
    struct literal *results[DEVICES_MOST];
    struct error err = {0};
    size_t before = literal_memory_in_use();
    bool ok = run_parts(parts, replicas, partitions, modules, results, extra, &err);
    ck_assert_msg(ok, "%s", err.message);
    for (int d = 0; d < replicas * partitions; d++) {
        char where[32];
        snprintf(where, sizeof where, "device %d", d);
        check_literal(results[d], parts[d].want, where);
        literal_release(results[d]);
    }
    destroy_modules(modules, replicas * partitions);
    ck_assert(literal_memory_in_use() == before);
}

static void check_parts_fail(const struct part *parts, int replicas, int partitions,
                             const char *want)
{
    struct module *modules[DEVICES_MOST];
    struct literal *results[DEVICES_MOST];
    struct error err = {0};
    size_t before = literal_memory_in_use();
    ck_assert(!run_parts(parts, replicas, partitions, modules, results, NULL, &err));
    ck_assert_msg(strstr(err.message, want) != NULL, "no \"%s\" in: %s", want, err.message);
    destroy_modules(modules, replicas * partitions);
    ck_assert(literal_memory_in_use() == before);
}

#define SUM \
    "sum {\n a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT c = s32[] add(a, b)\n}\n"

/* Each device's own sum, and the partner's: what they bring is made differently. */
static const char doubled[] =
    "HloModule doubled\n" SUM "ENTRY e {\n x = s32[2] parameter(0)\n y = s32[2] add(x, x)\n"
    " ROOT r = s32[2] all-reduce(y), replica_groups={{0,1}}, to_apply=sum\n}\n";
static const char fixed[] =
    "HloModule fixed\n" SUM "ENTRY e {\n x = s32[2] constant({100, 200})\n"
    " ROOT r = s32[2] all-reduce(x), replica_groups={{0,1}}, to_apply=sum\n}\n";

START_TEST(different_programs_meet_in_a_collective)
{
    static const struct part parts[] = {
        {doubled, "s32[2] {1, 2}", "s32[2] {102, 204}"},
        {fixed, NULL, "s32[2] {102, 204}"},
    };
    check_parts(parts, 2, 1, NULL);
}
END_TEST

START_TEST(the_same_program_twice_is_one_too)
{
    static const struct part parts[] = {
        {doubled, "s32[2] {1, 2}", "s32[2] {8, 12}"},
        {doubled, "s32[2] {3, 4}", "s32[2] {8, 12}"},
    };
    check_parts(parts, 2, 1, NULL);
}
END_TEST

/* Rows are replicas, columns partitions: each gives 10·replica + partition, its partner's first. */
#define IDS                                                                         \
    " r = u32[] replica-id()\n p = u32[] partition-id()\n t = u32[] constant(10)\n" \
    " m = u32[] multiply(r, t)\n i = u32[] add(m, p)\n"
static const char across[] =
    "HloModule across\nENTRY e {\n" IDS " ROOT c = u32[] collective-permute(i), channel_id=1, "
    "source_target_pairs={{0,1},{1,0}}\n}\n";
static const char across_more[] =
    "HloModule across_more\nENTRY e {\n" IDS " k = u32[] constant(100)\n j = u32[] add(i, k)\n"
    " ROOT c = u32[] collective-permute(j), channel_id=1, source_target_pairs={{0,1},{1,0}}\n}\n";

START_TEST(a_grid_has_replicas_and_partitions)
{
    static const struct part parts[] = {
        {across, NULL, "u32[] 101"},
        {across_more, NULL, "u32[] 0"},
        {across_more, NULL, "u32[] 11"},
        {across, NULL, "u32[] 110"},
    };
    check_parts(parts, 2, 2, NULL);
}
END_TEST

/* --- the host passes on what it is sent --- */

static const char sends_two[] =
    "HloModule sends_two\nENTRY e {\n x = s32[2] parameter(0)\n y = s32[2] add(x, x)\n"
    " t = token[] after-all()\n"
    " s = (s32[2], u32[], token[]) send(x, t), channel_id=1, is_host_transfer=true\n"
    " d = token[] send-done(s), channel_id=1, is_host_transfer=true\n"
    " w = (s32[2], u32[], token[]) send(y, d), channel_id=1, is_host_transfer=true\n"
    " d2 = token[] send-done(w), channel_id=1, is_host_transfer=true\n"
    " ROOT r = s32[2] add(x, y)\n}\n";
static const char receives_two[] =
    "HloModule receives_two\nENTRY e {\n t = token[] after-all()\n"
    " a = (s32[2], u32[], token[]) recv(t), channel_id=1, is_host_transfer=true\n"
    " ad = (s32[2], token[]) recv-done(a), channel_id=1, is_host_transfer=true\n"
    " av = s32[2] get-tuple-element(ad), index=0\n at = token[] get-tuple-element(ad), index=1\n"
    " b = (s32[2], u32[], token[]) recv(at), channel_id=1, is_host_transfer=true\n"
    " bd = (s32[2], token[]) recv-done(b), channel_id=1, is_host_transfer=true\n"
    " bv = s32[2] get-tuple-element(bd), index=0\n"
    " ROOT r = (s32[2], s32[2]) tuple(av, bv)\n}\n";
#define RECEIVES(name, channel)                                                              \
    "HloModule " name "\nENTRY e {\n t = token[] after-all()\n"                              \
    " a = (s32[2], u32[], token[]) recv(t), channel_id=" channel ", is_host_transfer=true\n" \
    " ad = (s32[2], token[]) recv-done(a), channel_id=" channel ", is_host_transfer=true\n"  \
    " ROOT r = s32[2] get-tuple-element(ad), index=0\n}\n"
#define SENDS(name, channel)                                                                    \
    "HloModule " name "\nENTRY e {\n x = s32[2] parameter(0)\n t = token[] after-all()\n"       \
    " s = (s32[2], u32[], token[]) send(x, t), channel_id=" channel ", is_host_transfer=true\n" \
    " d = token[] send-done(s), channel_id=" channel ", is_host_transfer=true\n"                \
    " ROOT r = s32[2] add(x, x)\n}\n"
static const char sends_1[] = SENDS("sends_1", "1"), sends_2[] = SENDS("sends_2", "2");
static const char receives_1[] = RECEIVES("receives_1", "1");
static const char receives_2[] = RECEIVES("receives_2", "2");

START_TEST(transfers_go_through_the_host_in_order)
{
    static const struct part forward[] = {
        {sends_two, "s32[2] {1, 2}", "s32[2] {3, 6}"},
        {receives_two, NULL, "(s32[2], s32[2]) ({1, 2}, {2, 4})"},
    };
    check_parts(forward, 2, 1, NULL);
}
END_TEST

START_TEST(a_recv_waits_for_its_send)
{
    const struct part parts[] = {
        {receives_two, NULL, "(s32[2], s32[2]) ({1, 2}, {2, 4})"},
        {sends_two, "s32[2] {1, 2}", "s32[2] {3, 6}"},
    };
    check_parts(parts, 1, 2, NULL);
}
END_TEST

START_TEST(channels_are_apart)
{
    const struct part parts[] = {
        {receives_2, NULL, "s32[2] {5, 6}"},
        {sends_1, "s32[2] {1, 2}", "s32[2] {2, 4}"},
        {receives_1, NULL, "s32[2] {1, 2}"},
        {sends_2, "s32[2] {5, 6}", "s32[2] {10, 12}"},
    };
    check_parts(parts, 4, 1, NULL);
}
END_TEST

START_TEST(nobody_sends)
{
    const struct part parts[] = {
        {receives_2, NULL, NULL},
        {sends_1, "s32[2] {1, 2}", NULL},
    };
    check_parts_fail(parts, 2, 1, "for a send of any device");
}
END_TEST

START_TEST(what_is_sent_must_fit)
{
    static const char sends_f32[] =
        "HloModule sends_f32\nENTRY e {\n x = f32[2] parameter(0)\n t = token[] after-all()\n"
        " s = (f32[2], u32[], token[]) send(x, t), channel_id=1, is_host_transfer=true\n"
        " d = token[] send-done(s), channel_id=1, is_host_transfer=true\n"
        " ROOT r = f32[2] add(x, x)\n}\n";
    const struct part parts[] = {
        {sends_f32, "f32[2] {1, 2}", NULL},
        {receives_1, NULL, NULL},
    };
    check_parts_fail(parts, 2, 1, "but the host sends f32[2]");
}
END_TEST

/* --- transfers between devices, the infeed they share, and misfits --- */

static const char device_send[] =
    "HloModule device_send\nENTRY e {\n x = s32[2] parameter(0)\n t = token[] after-all()\n"
    " s = (s32[2], u32[], token[]) send(x, t), channel_id=7,"
    " frontend_attributes={_xla_send_recv_source_target_pairs=\"{{0,1}}\"}\n"
    " d = token[] send-done(s), channel_id=7\n ROOT r = s32[2] add(x, x)\n}\n";
static const char device_receive[] =
    "HloModule device_receive\nENTRY e {\n t = token[] after-all()\n"
    " a = (s32[2], u32[], token[]) recv(t), channel_id=7,"
    " frontend_attributes={_xla_send_recv_source_target_pairs=\"{{0,1}}\"}\n"
    " ad = (s32[2], token[]) recv-done(a), channel_id=7\n"
    " ROOT r = s32[2] get-tuple-element(ad), index=0\n}\n";

START_TEST(one_program_sends_and_another_receives)
{
    const struct part parts[] = {
        {device_send, "s32[2] {8, 9}", "s32[2] {16, 18}"},
        {device_receive, NULL, "s32[2] {8, 9}"},
    };
    check_parts(parts, 1, 2, NULL);
}
END_TEST

static struct literal *next_in_queue(void *context, int device, const struct shape *shape,
                                     struct error *err)
{
    (void)device;
    int *next = context;
    struct literal *data = literal_create(shape, err);
    if (data != NULL) {
        literal_set_int(data->elements[0], 0, (*next)++);
    }
    return data;
}

START_TEST(the_infeed_is_one_queue)
{
    static const char once[] = "HloModule once\nENTRY e {\n t = token[] after-all()\n"
                               " i = ((s32[]), token[]) infeed(t)\n"
                               " d = (s32[]) get-tuple-element(i), index=0\n"
                               " ROOT r = s32[] get-tuple-element(d), index=0\n}\n";
    static const char twice[] = "HloModule twice\nENTRY e {\n t = token[] after-all()\n"
                                " i = ((s32[]), token[]) infeed(t)\n"
                                " d = (s32[]) get-tuple-element(i), index=0\n"
                                " t2 = token[] get-tuple-element(i), index=1\n"
                                " j = ((s32[]), token[]) infeed(t2)\n"
                                " d2 = (s32[]) get-tuple-element(j), index=0\n"
                                " a = s32[] get-tuple-element(d), index=0\n"
                                " b = s32[] get-tuple-element(d2), index=0\n"
                                " ROOT r = (s32[], s32[]) tuple(a, b)\n}\n";
    int next = 5;
    struct interp_options options = {.infeed = next_in_queue, .context = &next};
    const struct part parts[] = {
        {once, NULL, "s32[] 5"},
        {twice, NULL, "(s32[], s32[]) (6, 7)"},
    };
    check_parts(parts, 2, 1, &options);
}
END_TEST

START_TEST(programs_that_do_not_fit)
{
    static const char gathers[] =
        "HloModule gathers\nENTRY e {\n x = s32[2] constant({1, 2})\n"
        " ROOT r = s32[4] all-gather(x), replica_groups={{0,1}}, dimensions={0}\n}\n";
    static const char leaves[] = "HloModule leaves\nENTRY e {\n ROOT x = s32[] constant(1)\n}\n";
    const struct part kinds[] = {{fixed, NULL, NULL}, {gathers, NULL, NULL}};
    check_parts_fail(kinds, 2, 1, "another kind of collective");
    const struct part absent[] = {{fixed, NULL, NULL}, {leaves, NULL, NULL}};
    check_parts_fail(absent, 2, 1, "device 0 waits in r (all-reduce) for 1 (done)");
    const struct part arguments[] = {{fixed, "s32[2] {1, 2}", NULL}, {fixed, NULL, NULL}};
    check_parts_fail(arguments, 2, 1, "takes 0 arguments, not 1");
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("programs");
    tcase_add_test(cases, different_programs_meet_in_a_collective);
    tcase_add_test(cases, the_same_program_twice_is_one_too);
    tcase_add_test(cases, a_grid_has_replicas_and_partitions);
    tcase_add_test(cases, transfers_go_through_the_host_in_order);
    tcase_add_test(cases, a_recv_waits_for_its_send);
    tcase_add_test(cases, channels_are_apart);
    tcase_add_test(cases, nobody_sends);
    tcase_add_test(cases, what_is_sent_must_fit);
    tcase_add_test(cases, one_program_sends_and_another_receives);
    tcase_add_test(cases, the_infeed_is_one_queue);
    tcase_add_test(cases, programs_that_do_not_fit);
    Suite *suite = suite_create("programs");
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
