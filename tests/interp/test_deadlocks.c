/* Devices that wait for each other in vain, or meet what does not belong together: the report names
 * every device, where it is and for whom it waits. */
#include "tests/interp/evaluate_devices.h"

#define HEAD                                                                           \
    "HloModule m\n"                                                                    \
    "add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = s32[] add(a, b) }\n" \
    "fadd { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }\n"

static const char *const powers[] = {"s32[1] {1}", "s32[1] {2}", "s32[1] {4}"};

/* Replica 0 takes part, replica 1 takes the other branch and is done. */
START_TEST(test_deadlock)
{
    static const char *const parts[] = {
        "deadlock", "device 0 waits in meet (all-reduce) for 1 (done)", "device 1 is done"};
    check_devices_fail(
        HEAD "meets { x = s32[1] parameter(0)\n"
             "  ROOT meet = s32[1] all-reduce(x), replica_groups={}, to_apply=add }\n"
             "stays { ROOT x = s32[1] parameter(0) }\n"
             "ENTRY e { x = s32[1] parameter(0) r = u32[] replica-id() i = s32[] convert(r)\n"
             "  ROOT c = s32[1] conditional(i, x, x), branch_computations={meets, stays} }\n",
        2, 1, powers, ERROR_INVALID_ARGUMENT, parts, 3);
    /* Each waits where the other is not. */
    static const char *const crossed[] = {"device 0 waits in here (all-reduce) for 1",
                                          "device 1 waits in there (all-reduce) for 0"};
    check_devices_fail(
        HEAD "first { x = s32[1] parameter(0)\n"
             "  ROOT here = s32[1] all-reduce(x), replica_groups={}, to_apply=add }\n"
             "second { x = s32[1] parameter(0)\n"
             "  ROOT there = s32[1] all-reduce(x), replica_groups={}, to_apply=add }\n"
             "ENTRY e { x = s32[1] parameter(0) r = u32[] replica-id() i = s32[] convert(r)\n"
             "  ROOT c = s32[1] conditional(i, x, x), branch_computations={first, second} }\n",
        2, 1, powers, ERROR_INVALID_ARGUMENT, crossed, 2);
}
END_TEST

/* Many devices are told in few words. Even ones wait for all; odd ones are done or wait elsewhere.
 */
START_TEST(test_deadlock_of_many)
{
    static const char *const parts[] = {
        "deadlock: devices 0, 3-63 wait in meet (all-reduce, channel 7) for 2, 1 (done)",
        "device 1 is done", "device 2 waits in other (all-gather) for 0, 3-63, 1 (done)"};
    check_devices_fail(
        HEAD "meets { x = s32[] parameter(0)\n"
             "  ROOT meet = s32[] all-reduce(x), channel_id=7, replica_groups={}, to_apply=add }\n"
             "stays { ROOT x = s32[] parameter(0) }\n"
             "turns { x = s32[] parameter(0) y = s32[1] reshape(x)\n"
             "  other = s32[64] all-gather(y), replica_groups={}, dimensions={0}\n"
             "  z = s32[1] slice(other), slice={[0:1]} ROOT v = s32[] reshape(z) }\n"
             "ENTRY e { r = u32[] replica-id() i = s32[] convert(r)\n"
             "  ROOT c = s32[] conditional(i, i, i, i, i), branch_computations={meets, stays, "
             "turns, meets} }\n",
        64, 1, NULL, ERROR_INVALID_ARGUMENT, parts, 3);
}
END_TEST

/* Two channels in another order on the second device. */
START_TEST(test_crossed_channels)
{
    static const char *const parts[] = {"device 0 waits in a (all-reduce, channel 1) for 1",
                                        "device 1 waits in d (all-reduce, channel 2) for 0"};
    check_devices_fail(
        HEAD "first { x = s32[1] parameter(0)\n"
             "  a = s32[1] all-reduce(x), channel_id=1, replica_groups={}, to_apply=add\n"
             "  ROOT b = s32[1] all-reduce(a), channel_id=2, replica_groups={}, to_apply=add }\n"
             "second { x = s32[1] parameter(0)\n"
             "  d = s32[1] all-reduce(x), channel_id=2, replica_groups={}, to_apply=add\n"
             "  ROOT e = s32[1] all-reduce(d), channel_id=1, replica_groups={}, to_apply=add }\n"
             "ENTRY e { x = s32[1] parameter(0) r = u32[] replica-id() i = s32[] convert(r)\n"
             "  ROOT c = s32[1] conditional(i, x, x), branch_computations={first, second} }\n",
        2, 1, powers, ERROR_INVALID_ARGUMENT, parts, 2);
}
END_TEST

/* One device fails while others wait for it: its error is the one reported. */
START_TEST(test_failure_elsewhere)
{
    static const char *const parts[] = {"device 1", "nothing feeds"};
    check_devices_fail(
        HEAD "meets { x = s32[1] parameter(0)\n"
             "  ROOT meet = s32[1] all-reduce(x), replica_groups={}, to_apply=add }\n"
             "fails { x = s32[1] parameter(0) t = token[] after-all()\n"
             "  f = (s32[1], token[]) infeed(t) ROOT y = s32[1] get-tuple-element(f), index=0 }\n"
             "ENTRY e { x = s32[1] parameter(0) r = u32[] replica-id() i = s32[] convert(r)\n"
             "  ROOT c = s32[1] conditional(i, x, x), branch_computations={meets, fails} }\n",
        3, 1, powers, ERROR_UNIMPLEMENTED, parts, 2);
}
END_TEST

static void check_meets(const char *first, const char *second, const char *words)
{
    struct text text;
    const char *const parts[] = {words};
    text_init(&text);
    text_printf(&text,
                HEAD "max { a = s32[] parameter(0) b = s32[] parameter(1)\n"
                     "  ROOT r = s32[] maximum(a, b) }\n"
                     "first { x = s32[2] parameter(0)\n  %s }\n"
                     "second { x = s32[2] parameter(0)\n  %s }\n"
                     "ENTRY e { z = s32[] constant(1) x = s32[2] broadcast(z), dimensions={}\n"
                     "  r = u32[] replica-id() i = s32[] convert(r)\n"
                     "  ROOT c = s32[2] conditional(i, x, x), "
                     "branch_computations={first, second} }\n",
                first, second);
    check_devices_fail(text.data, 2, 1, NULL, ERROR_INVALID_ARGUMENT, parts, 1);
    text_finish(&text);
}

/* What meets on one channel but does not belong together. */
START_TEST(test_mismatch)
{
    static const char sum[] = "ROOT here = s32[2] all-reduce(x), channel_id=1, replica_groups={}, "
                              "to_apply=add";
    check_meets(sum,
                "y = s32[4] all-gather(x), channel_id=1, replica_groups={}, dimensions={0}\n"
                "  ROOT z = s32[2] slice(y), slice={[0:2]}",
                "y (all-gather of s32[2]{0}) meets here (all-reduce of s32[2]{0}), which is "
                "another kind of collective");
    check_meets(sum,
                "y = s32[1] slice(x), slice={[0:1]}\n"
                "  there = s32[1] all-reduce(y), channel_id=1, replica_groups={}, to_apply=add\n"
                "  w = s32[] reshape(there) ROOT z = s32[2] broadcast(w), dimensions={}",
                "another shape or type");
    check_meets(sum,
                "y = f32[2] convert(x)\n"
                "  there = f32[2] all-reduce(y), channel_id=1, replica_groups={}, to_apply=fadd\n"
                "  ROOT z = s32[2] convert(there)",
                "another shape or type");
    check_meets(sum,
                "there = (s32[2], s32[2]) all-reduce(x, x), channel_id=1, replica_groups={}, "
                "to_apply=add\n  ROOT z = s32[2] get-tuple-element(there), index=0",
                "another number of operands");
    check_meets(sum,
                "ROOT there = s32[2] all-reduce(x), channel_id=1, replica_groups={}, to_apply=max",
                "another reduction");
    check_meets("y = s32[1,2] reshape(x)\n  a = s32[2,2] all-gather(y), channel_id=1, "
                "replica_groups={}, dimensions={0}\n  b = s32[1,2] slice(a), "
                "slice={[0:1], [0:2]} ROOT z = s32[2] reshape(b)",
                "y = s32[1,2] reshape(x)\n  a = s32[1,4] all-gather(y), channel_id=1, "
                "replica_groups={}, dimensions={1}\n  b = s32[1,2] slice(a), "
                "slice={[0:1], [0:2]} ROOT z = s32[2] reshape(b)",
                "another dimension");
    /* Other groups never meet. */
    check_meets(sum,
                "ROOT there = s32[2] all-reduce(x), channel_id=1, replica_groups={{1,0}}, "
                "to_apply=add",
                "device 1 waits in there (all-reduce, channel 1) for 0");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("deadlocks");
    TCase *tests = tcase_create("deadlocks");
    tcase_add_test(tests, test_deadlock);
    tcase_add_test(tests, test_failure_elsewhere);
    tcase_add_test(tests, test_deadlock_of_many);
    tcase_add_test(tests, test_crossed_channels);
    tcase_add_test(tests, test_mismatch);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
