/* Collectives on simulated devices. Expected values follow from the definitions in the StableHLO
 * specification; most inputs are device numbers, so that a result tells where it came from. */
#include "hlo/base/pool.h"
#include "tests/interp/evaluate_devices.h"

static void setup(void)
{
    pool_set_threads(2);
}

#define HEAD                                                                           \
    "HloModule m\n"                                                                    \
    "add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = s32[] add(a, b) }\n" \
    "fadd { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }\n"

START_TEST(test_ids)
{
    static const char *const wants[] = {"(u32[], u32[]) (0, 0)", "(u32[], u32[]) (0, 1)",
                                        "(u32[], u32[]) (0, 2)", "(u32[], u32[]) (1, 0)",
                                        "(u32[], u32[]) (1, 1)", "(u32[], u32[]) (1, 2)"};
    check_devices("HloModule m\nENTRY e { r = u32[] replica-id() p = u32[] partition-id()\n"
                  "  ROOT t = (u32[], u32[]) tuple(r, p) }\n",
                  2, 3, NULL, wants);
}
END_TEST

static const char *const powers[] = {"s32[1] {1}",  "s32[1] {2}",  "s32[1] {4}",  "s32[1] {8}",
                                     "s32[1] {16}", "s32[1] {32}", "s32[1] {64}", "s32[1] {128}"};

static void check_all_reduce(const char *attributes, int replicas, int partitions,
                             const char *const *wants)
{
    struct text text;
    text_init(&text);
    text_printf(&text,
                HEAD "ENTRY e { x = s32[1] parameter(0)\n"
                     "  ROOT r = s32[1] all-reduce(x), to_apply=add, %s }\n",
                attributes);
    check_devices(text.data, replicas, partitions, powers, wants);
    text_finish(&text);
}

/* The four modes of groups, on 2 replicas × 2 partitions: devices 0 = (0,0), 1 = (0,1), 2 = (1,0),
 * 3 = (1,1) carry 1, 2, 4, 8. */
START_TEST(test_group_modes)
{
    static const char *const cross_replica[] = {"s32[1] {5}", "s32[1] {10}", "s32[1] {5}",
                                                "s32[1] {10}"};
    check_all_reduce("replica_groups={}", 2, 2, cross_replica);
    check_all_reduce("replica_groups={{0,1}}", 2, 2, cross_replica);
    static const char *const alone[] = {"s32[1] {1}", "s32[1] {2}", "s32[1] {4}", "s32[1] {8}"};
    check_all_reduce("replica_groups={{0},{1}}", 2, 2, alone);
    static const char *const both[] = {"s32[1] {15}", "s32[1] {15}", "s32[1] {15}", "s32[1] {15}"};
    check_all_reduce("replica_groups={{0,1}}, channel_id=1", 2, 2, both);
    static const char *const by_replica[] = {"s32[1] {3}", "s32[1] {3}", "s32[1] {12}",
                                             "s32[1] {12}"};
    check_all_reduce("replica_groups={{0},{1}}, channel_id=1", 2, 2, by_replica);
    static const char *const flattened[] = {"s32[1] {9}", "s32[1] {6}", "s32[1] {6}", "s32[1] {9}"};
    check_all_reduce("replica_groups={{0,3},{1,2}}, channel_id=1, use_global_device_ids=true", 2, 2,
                     flattened);
}
END_TEST

START_TEST(test_group_forms)
{
    /* [2,4]<=[8]: {0,1,2,3}, {4,5,6,7} */
    static const char *const halves[] = {"s32[1] {15}",  "s32[1] {15}",  "s32[1] {15}",
                                         "s32[1] {15}",  "s32[1] {240}", "s32[1] {240}",
                                         "s32[1] {240}", "s32[1] {240}"};
    check_all_reduce("replica_groups=[2,4]<=[8]", 8, 1, halves);
    /* [4,2]<=[2,4]T(1,0): {0,4}, {1,5}, {2,6}, {3,7} */
    static const char *const columns[] = {"s32[1] {17}",  "s32[1] {34}", "s32[1] {68}",
                                          "s32[1] {136}", "s32[1] {17}", "s32[1] {34}",
                                          "s32[1] {68}",  "s32[1] {136}"};
    check_all_reduce("replica_groups=[4,2]<=[2,4]T(1,0)", 8, 1, columns);
    /* A mesh of 2 × 4 devices, groups along its first, then its second axis. */
    check_all_reduce("replica_groups=mesh[\"x\"=2,\"y\"=4] {\"x\"}", 8, 1, columns);
    check_all_reduce("replica_groups=mesh[\"x\"=2,\"y\"=4] {\"y\"}", 8, 1, halves);
    /* The minor half of "y": pairs of neighbours. */
    static const char *const pairs[] = {"s32[1] {3}",   "s32[1] {3}",  "s32[1] {12}",
                                        "s32[1] {12}",  "s32[1] {48}", "s32[1] {48}",
                                        "s32[1] {192}", "s32[1] {192}"};
    check_all_reduce("replica_groups=mesh[\"x\"=2,\"y\"=4] {\"y\":(2)2}", 8, 1, pairs);
}
END_TEST

/* 2^24 + 1 + 1 − 2^24 in f32: rounding at each step gives 0 or 1, the exact sum is 2. */
START_TEST(test_all_reduce_exact)
{
    static const char *const arguments[] = {"f32[2] {16777216, 1}", "f32[2] {1, -0}",
                                            "f32[2] {1, -0}", "f32[2] {-16777216, -1}"};
    static const char *const wants[] = {"f32[2] {2, 0}", "f32[2] {2, 0}", "f32[2] {2, 0}",
                                        "f32[2] {2, 0}"};
    check_devices(HEAD "ENTRY e { x = f32[2] parameter(0)\n"
                       "  ROOT r = f32[2] all-reduce(x), replica_groups={}, to_apply=fadd }\n",
                  4, 1, arguments, wants);
}
END_TEST

/* A collective that was widened without its reducer: the kind counts, in the type of the values. */
START_TEST(test_reducer_of_another_type)
{
    static const char *const integers[] = {"s8[3] {100, 3, -9}", "s8[3] {-100, 1, 17}"};
    static const char *const least[] = {"s8[3] {-100, 1, -9}", "s8[3] {-100, 1, -9}"};
    check_devices(
        "HloModule m\n"
        "min { a = s4[] parameter(0) b = s4[] parameter(1) ROOT r = s4[] minimum(a, b) }\n"
        "ENTRY e { x = s8[3] parameter(0)\n"
        "  ROOT r = s8[3] all-reduce(x), replica_groups={}, to_apply=min }\n",
        2, 1, integers, least);
    static const char *const floats[] = {"f32[2] {16777216, 0.25}", "f32[2] {1, 0.125}",
                                         "f32[2] {1, 0}", "f32[2] {-16777216, 1000}"};
    static const char *const sums[] = {"f32[2] {2, 1000.375}", "f32[2] {2, 1000.375}",
                                       "f32[2] {2, 1000.375}", "f32[2] {2, 1000.375}"};
    check_devices("HloModule m\n"
                  "add { a = f8e5m2[] parameter(0) b = f8e5m2[] parameter(1)\n"
                  "  ROOT r = f8e5m2[] add(a, b) }\n"
                  "ENTRY e { x = f32[2] parameter(0)\n"
                  "  ROOT r = f32[2] all-reduce(x), replica_groups={}, to_apply=add }\n",
                  4, 1, floats, sums);
}
END_TEST

START_TEST(test_all_reduce_programs)
{
    static const char *const arguments[] = {"s32[3] {5, -2, 3}", "s32[3] {2, 7, -3}"};
    static const char *const largest[] = {"s32[3] {5, 7, 3}", "s32[3] {5, 7, 3}"};
    check_devices(
        "HloModule m\n"
        "max { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = s32[] maximum(a, b) "
        "}\n"
        "ENTRY e { x = s32[3] parameter(0)\n"
        "  ROOT r = s32[3] all-reduce(x), replica_groups={}, to_apply=max }\n",
        2, 1, arguments, largest);
    /* No monoid: 2a + b, in the order of the group {1, 0}. */
    static const char *const mixed[] = {"s32[3] {9, 12, -3}", "s32[3] {9, 12, -3}"};
    check_devices("HloModule m\n"
                  "mix { a = s32[] parameter(0) b = s32[] parameter(1) d = s32[] add(a, a)\n"
                  "  ROOT r = s32[] add(d, b) }\n"
                  "ENTRY e { x = s32[3] parameter(0)\n"
                  "  ROOT r = s32[3] all-reduce(x), replica_groups={{1,0}}, to_apply=mix }\n",
                  2, 1, arguments, mixed);
    /* Several operands. */
    static const char *const pair[] = {"(s32[3], s32[1]) ({7, 5, 0}, {5})",
                                       "(s32[3], s32[1]) ({7, 5, 0}, {5})"};
    check_devices(HEAD "ENTRY e { x = s32[3] parameter(0) s = s32[1] slice(x), slice={[1:2]}\n"
                       "  ROOT r = (s32[3], s32[1]) all-reduce(x, s), replica_groups={}, "
                       "to_apply=add }\n",
                  2, 1, arguments, pair);
}
END_TEST

/* StableHLO specification, all_gather, reduce_scatter, all_to_all. */
START_TEST(test_gather_scatter)
{
    static const char *const squares[] = {"s32[2,2] {{1, 2}, {3, 4}}", "s32[2,2] {{5, 6}, {7, 8}}"};
    static const char *const gathered[] = {"s32[2,4] {{1, 2, 5, 6}, {3, 4, 7, 8}}",
                                           "s32[2,4] {{1, 2, 5, 6}, {3, 4, 7, 8}}"};
    check_devices("HloModule m\nENTRY e { x = s32[2,2] parameter(0)\n"
                  "  ROOT r = s32[2,4] all-gather(x), replica_groups={{0,1}}, dimensions={1} }\n",
                  2, 1, squares, gathered);
    static const char *const turned[] = {"s32[4,2] {{5, 6}, {7, 8}, {1, 2}, {3, 4}}",
                                         "s32[4,2] {{5, 6}, {7, 8}, {1, 2}, {3, 4}}"};
    check_devices("HloModule m\nENTRY e { x = s32[2,2] parameter(0)\n"
                  "  ROOT r = s32[4,2] all-gather(x), replica_groups={{1,0}}, dimensions={0} }\n",
                  2, 1, squares, turned);
    static const char *const wide[] = {"s32[2,4] {{1, 2, 3, 4}, {5, 6, 7, 8}}",
                                       "s32[2,4] {{9, 10, 11, 12}, {13, 14, 15, 16}}"};
    static const char *const shares[] = {"s32[2,2] {{10, 12}, {18, 20}}",
                                         "s32[2,2] {{14, 16}, {22, 24}}"};
    check_devices(HEAD "ENTRY e { x = s32[2,4] parameter(0)\n"
                       "  ROOT r = s32[2,2] reduce-scatter(x), replica_groups={{0,1}}, "
                       "dimensions={1}, to_apply=add }\n",
                  2, 1, wide, shares);
    static const char *const exchanged[] = {"s32[2,4] {{1, 2, 9, 10}, {5, 6, 13, 14}}",
                                            "s32[2,4] {{3, 4, 11, 12}, {7, 8, 15, 16}}"};
    check_devices("HloModule m\nENTRY e { x = s32[2,4] parameter(0)\n"
                  "  ROOT r = s32[2,4] all-to-all(x), replica_groups={{0,1}}, dimensions={1} }\n",
                  2, 1, wide, exchanged);
    static const char *const tuples[] = {
        "(s32[1,4], s32[1,4]) ({{1, 2, 3, 4}}, {{9, 10, 11, 12}})",
        "(s32[1,4], s32[1,4]) ({{5, 6, 7, 8}}, {{13, 14, 15, 16}})"};
    check_devices("HloModule m\nENTRY e { x = s32[2,4] parameter(0)\n"
                  "  a = s32[1,4] slice(x), slice={[0:1], [0:4]}\n"
                  "  b = s32[1,4] slice(x), slice={[1:2], [0:4]}\n"
                  "  ROOT r = (s32[1,4], s32[1,4]) all-to-all(a, b), replica_groups={{0,1}} }\n",
                  2, 1, wide, tuples);
}
END_TEST

START_TEST(test_permute_and_broadcast)
{
    static const char *const permuted[] = {"s32[1] {0}", "s32[1] {1}", "s32[1] {2}", "s32[1] {0}"};
    check_devices("HloModule m\nENTRY e { x = s32[1] parameter(0)\n"
                  "  ROOT r = s32[1] collective-permute(x), source_target_pairs={{0,1},{1,2}} }\n",
                  4, 1, powers, permuted);
    /* With a channel the ids are partitions. */
    static const char *const swapped[] = {"s32[1] {2}", "s32[1] {1}", "s32[1] {8}", "s32[1] {4}"};
    check_devices("HloModule m\nENTRY e { x = s32[1] parameter(0)\n"
                  "  ROOT r = s32[1] collective-permute(x), channel_id=3, "
                  "source_target_pairs={{0,1},{1,0}} }\n",
                  2, 2, powers, swapped);
    static const char *const broadcast[] = {"s32[1] {0}", "s32[1] {4}", "s32[1] {4}", "s32[1] {0}"};
    check_devices("HloModule m\nENTRY e { x = s32[1] parameter(0)\n"
                  "  ROOT r = s32[1] collective-broadcast(x), replica_groups={{2,1}} }\n",
                  4, 1, powers, broadcast);
}
END_TEST

/* StableHLO-style example of ragged_all_to_all: device 0 sends row 0 to itself and rows 1, 2 to
 * device 1; device 1 sends row 0 to device 0 and row 1 to itself. */
START_TEST(test_ragged)
{
    static const char *const arguments[] = {"s32[3] {1, 2, 3}", "s32[3] {4, 5, 6}"};
    static const char *const wants[] = {"s32[4] {1, 4, 0, 0}", "s32[4] {2, 3, 5, 0}"};
    check_devices(
        "HloModule m\n"
        "first { z = s32[] parameter(0) ROOT t = (s32[2], s32[2], s32[2], s32[2]) constant(("
        "{0, 1}, {1, 2}, {0, 0}, {1, 1})) }\n"
        "second { z = s32[] parameter(0) ROOT t = (s32[2], s32[2], s32[2], s32[2]) constant(("
        "{0, 1}, {1, 1}, {1, 2}, {2, 1})) }\n"
        "ENTRY e { x = s32[3] parameter(0) z = s32[] constant(0)\n"
        "  o = s32[4] broadcast(z), dimensions={} r = u32[] replica-id() i = s32[] convert(r)\n"
        "  t = (s32[2], s32[2], s32[2], s32[2]) conditional(i, z, z), "
        "branch_computations={first, second}\n"
        "  a = s32[2] get-tuple-element(t), index=0 b = s32[2] get-tuple-element(t), index=1\n"
        "  c = s32[2] get-tuple-element(t), index=2 d = s32[2] get-tuple-element(t), index=3\n"
        "  ROOT y = s32[4] ragged-all-to-all(x, o, a, b, c, d), replica_groups={{0,1}} }\n",
        2, 1, arguments, wants);
}
END_TEST

START_TEST(test_start_done)
{
    static const char *const sums[] = {"(s32[1], s32[2], s32[1]) ({3}, {1, 2}, {2})",
                                       "(s32[1], s32[2], s32[1]) ({3}, {1, 2}, {1})"};
    check_devices(HEAD
                  "ENTRY e { x = s32[1] parameter(0)\n"
                  "  a = s32[1] all-reduce-start(x), replica_groups={}, to_apply=add\n"
                  "  b = (s32[1], s32[2]) all-gather-start(x), replica_groups={}, dimensions={0}\n"
                  "  c = (s32[1], s32[1], u32[], u32[]) collective-permute-start(x), "
                  "source_target_pairs={{0,1},{1,0}}\n"
                  "  f = s32[1] collective-permute-done(c) e = s32[2] all-gather-done(b)\n"
                  "  d = s32[1] all-reduce-done(a)\n"
                  "  ROOT t = (s32[1], s32[2], s32[1]) tuple(d, e, f) }\n",
                  2, 1, powers, sums);
}
END_TEST

/* Devices meet in a loop, as often as it goes round: x = x + (sum of all x), three times. */
START_TEST(test_in_loop)
{
    static const char *const wants[] = {"(s32[1], s32[]) ({40}, 3)", "(s32[1], s32[]) ({41}, 3)"};
    check_devices(
        HEAD "body { s = (s32[1], s32[]) parameter(0) x = s32[1] get-tuple-element(s), index=0\n"
             "  i = s32[] get-tuple-element(s), index=1 one = s32[] constant(1)\n"
             "  r = s32[1] all-reduce(x), replica_groups={}, to_apply=add\n"
             "  y = s32[1] add(x, r) j = s32[] add(i, one)\n"
             "  ROOT t = (s32[1], s32[]) tuple(y, j) }\n"
             "cond { s = (s32[1], s32[]) parameter(0) i = s32[] get-tuple-element(s), index=1\n"
             "  n = s32[] constant(3) ROOT l = pred[] compare(i, n), direction=LT }\n"
             "ENTRY e { x = s32[1] parameter(0) z = s32[] constant(0)\n"
             "  t = (s32[1], s32[]) tuple(x, z)\n"
             "  ROOT w = (s32[1], s32[]) while(t), condition=cond, body=body }\n",
        2, 1, powers, wants);
}
END_TEST

/* One device: groups that are empty or name only it. */
START_TEST(test_one_device)
{
    check_evaluates(HEAD "ENTRY e { x = s32[2] parameter(0)\n"
                         "  a = s32[2] all-reduce(x), replica_groups={}, to_apply=add\n"
                         "  b = s32[2] all-gather(a), replica_groups={{0}}, dimensions={0}\n"
                         "  c = s32[2] reduce-scatter(b), replica_groups={}, dimensions={0}, "
                         "to_apply=add\n"
                         "  d = s32[2] all-to-all(c), replica_groups={}, dimensions={0}\n"
                         "  f = s32[2] collective-permute(d), source_target_pairs={{0,0}}\n"
                         "  g = s32[2] collective-permute(d), source_target_pairs={}\n"
                         "  h = s32[2] collective-broadcast(f), replica_groups={{0}}\n"
                         "  i = s32[2] all-reduce(h), channel_id=1, replica_groups={{0}}, "
                         "use_global_device_ids=true, to_apply=add\n"
                         "  ROOT t = (s32[2], s32[2]) tuple(i, g) }\n",
                    "s32[2] {3, 4}", NULL, NULL, NULL, "(s32[2], s32[2]) ({3, 4}, {0, 0})");
}
END_TEST

/* Groups and pairs that name devices that do not exist: as if they did not name them. XLA's CPU has
 * it so for all-reduce and collective-permute on one device, the only count for which the verifier
 * lets it pass; on more, the same rule. */
START_TEST(test_absent_devices)
{
    static const char *const reduced[] = {"s32[1] {5}", "s32[1] {2}", "s32[1] {5}"};
    check_all_reduce("replica_groups={{0,2,4,6},{1,3,5,7}}", 3, 1, reduced);
    check_all_reduce("replica_groups={{6,4,2,0},{7,5,3,1}}, channel_id=1, "
                     "use_global_device_ids=true",
                     1, 3, reduced);
    static const char *const whole[] = {"s32[1] {3}", "s32[1] {3}"};
    check_all_reduce("replica_groups={{0,7}}, channel_id=1", 1, 2, whole);
    static const char *const moved[] = {"s32[1] {0}", "s32[1] {1}", "s32[1] {2}"};
    check_devices(HEAD "ENTRY e { x = s32[1] parameter(0)\n"
                       "  ROOT p = s32[1] collective-permute(x), "
                       "source_target_pairs={{3,0},{0,1},{1,2},{2,3}} }\n",
                  3, 1, powers, moved);
    check_evaluates(HEAD "ENTRY e { x = s32[2] parameter(0)\n"
                         "  a = s32[2] all-reduce-start(x), channel_id=1, "
                         "replica_groups={{1,0},{2,3}}, use_global_device_ids=true, to_apply=add\n"
                         "  b = s32[2] all-reduce-done(a)\n"
                         "  c = (s32[2], s32[2]) collective-permute-start(x), "
                         "source_target_pairs={{0,1},{1,2}}\n"
                         "  d = s32[2] collective-permute-done(c)\n"
                         "  ROOT t = (s32[2], s32[2]) tuple(b, d) }\n",
                    "s32[2] {3, 4}", NULL, NULL, NULL, "(s32[2], s32[2]) ({3, 4}, {0, 0})");
    /* Nobody fills the places of those who are not there. */
    struct module *module =
        read_module("HloModule m\nENTRY e { x = s32[2] parameter(0)\n"
                    "  ROOT g = s32[4] all-gather(x), replica_groups={{0,1}}, dimensions={0} }\n");
    struct error err = {0};
    struct literal *result = evaluate_module(module, "s32[2] {3, 4}", NULL, NULL, NULL, NULL, &err);
    ck_assert_msg(result != NULL, "%s", err.message);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(literal_is_unspecified(result, i), i >= 2);
        ck_assert_int_eq(literal_get_int(result, i), i < 2 ? 3 + i : 0);
    }
    literal_release(result);
    module_destroy(module);
    check_fails(HEAD "ENTRY e { x = s32[2] parameter(0)\n"
                     "  ROOT a = s32[2] all-reduce(x), replica_groups={{1}}, to_apply=add }\n",
                "s32[2] {3, 4}", NULL, NULL, ERROR_INVALID_ARGUMENT, "in no group");
}
END_TEST

/* marks[device]: a digit for each element, 1 where it must be unspecified. */
static void check_marks(const char *text, int replicas, const char *const *arguments,
                        const char *const *wants, const char *const *marks)
{
    struct module *module = read_module(text);
    struct error err = {0};
    struct literal *results[DEVICES_MOST];
    bool ok = run_devices(module, replicas, 1, arguments, results, NULL, &err);
    ck_assert_msg(ok, "%s\n%s", text, err.message);
    for (int d = 0; d < replicas; d++) {
        check_literal(results[d], wants[d], text);
        for (int i = 0; marks[d][i] != 0; i++) {
            ck_assert_int_eq(literal_is_unspecified(results[d], i), marks[d][i] - '0');
        }
        literal_release(results[d]);
    }
    module_destroy(module);
}

/* Two of three devices that a group names exist: they work together, each in its place. */
START_TEST(test_absent_places)
{
    static const char *const arguments[] = {"s32[3] {1, 2, 3}", "s32[3] {4, 5, 6}"};
    static const char *const none[] = {"0", "0"};
    static const char *const shares[] = {"s32[1] {9}", "s32[1] {5}"};
    check_marks(HEAD "ENTRY e { x = s32[3] parameter(0)\n"
                     "  ROOT r = s32[1] reduce-scatter(x), replica_groups={{1,2,0}}, "
                     "dimensions={0}, to_apply=add }\n",
                2, arguments, shares, none);
    static const char *const gathered[] = {"s32[9] {4, 5, 6, 0, 0, 0, 1, 2, 3}",
                                           "s32[9] {4, 5, 6, 0, 0, 0, 1, 2, 3}"};
    static const char *const middle[] = {"000111000", "000111000"};
    check_marks("HloModule m\nENTRY e { x = s32[3] parameter(0)\n"
                "  ROOT r = s32[9] all-gather(x), replica_groups={{1,2,0}}, dimensions={0} }\n",
                2, arguments, gathered, middle);
    static const char *const exchanged[] = {"s32[3] {6, 0, 3}", "s32[3] {4, 0, 1}"};
    static const char *const second[] = {"010", "010"};
    check_marks("HloModule m\nENTRY e { x = s32[3] parameter(0)\n"
                "  ROOT r = s32[3] all-to-all(x), replica_groups={{1,2,0}}, dimensions={0} }\n",
                2, arguments, exchanged, second);
    static const char *const lost[] = {"s32[3] {0, 0, 0}", "s32[3] {0, 0, 0}"};
    static const char *const all[] = {"111", "111"};
    check_marks("HloModule m\nENTRY e { x = s32[3] parameter(0)\n"
                "  ROOT r = s32[3] collective-broadcast(x), replica_groups={{2,0,1}} }\n",
                2, arguments, lost, all);
    static const char *const kept[] = {"s32[3] {4, 5, 6}", "s32[3] {4, 5, 6}"};
    check_marks("HloModule m\nENTRY e { x = s32[3] parameter(0)\n"
                "  ROOT r = s32[3] collective-broadcast(x), replica_groups={{1,0,2}} }\n",
                2, arguments, kept, none);
}
END_TEST

/* --- collective-permute in place --- */

/* Row 0 of the source's input lands in row 1 of the target's output; with two slices the second
 * half of the pairs moves row 1 to row 2. */
START_TEST(test_permute_in_place)
{
    static const char *const arguments[] = {
        "s32[2,2] {{1, 2}, {3, 4}}", "s32[2,2] {{5, 6}, {7, 8}}", "s32[2,2] {{9, 10}, {11, 12}}"};
#define IN_PLACE                                                                \
    "HloModule m\nENTRY e { x = s32[2,2] parameter(0) n = s32[] constant(-1)\n" \
    "  y = s32[3,2] broadcast(n), dimensions={}\n"                              \
    "  z = s32[] constant(0) one = s32[] constant(1) two = s32[] constant(2)\n" \
    "  a = (s32[], s32[]) tuple(z, z) b = (s32[], s32[]) tuple(one, z)\n"       \
    "  c = (s32[], s32[]) tuple(two, z)\n"                                      \
    "  from = ((s32[], s32[]), (s32[], s32[])) tuple(a, b)\n"                   \
    "  to = ((s32[], s32[]), (s32[], s32[])) tuple(b, c)\n"
    static const char *const single[] = {"s32[3,2] {{-1, -1}, {-1, -1}, {-1, -1}}",
                                         "s32[3,2] {{-1, -1}, {1, 2}, {-1, -1}}",
                                         "s32[3,2] {{-1, -1}, {5, 6}, {-1, -1}}"};
    check_devices(IN_PLACE "  ROOT r = s32[3,2] collective-permute(x, y, a, b), "
                           "source_target_pairs={{0,1},{1,2}}, slice_sizes={{1,2}} }\n",
                  3, 1, arguments, single);
    static const char *const both[] = {"s32[3,2] {{-1, -1}, {-1, -1}, {7, 8}}",
                                       "s32[3,2] {{-1, -1}, {1, 2}, {11, 12}}",
                                       "s32[3,2] {{-1, -1}, {5, 6}, {-1, -1}}"};
    check_devices(IN_PLACE "  ROOT r = s32[3,2] collective-permute(x, y, from, to), "
                           "source_target_pairs={{0,1},{1,2},{1,0},{2,1}}, "
                           "slice_sizes={{1,2},{1,2}} }\n",
                  3, 1, arguments, both);
    /* An offset beyond the array is moved inside; a device that no pair names keeps its output. */
    static const char *const clamped[] = {"s32[3,2] {{-1, -1}, {-1, -1}, {-1, -1}}",
                                          "s32[3,2] {{-1, -1}, {9, 10}, {11, 12}}",
                                          "s32[3,2] {{-1, -1}, {-1, -1}, {-1, -1}}"};
    check_devices(IN_PLACE "  ROOT r = s32[3,2] collective-permute(x, y, c, c), "
                           "source_target_pairs={{2,1}}, slice_sizes={{2,2}} }\n",
                  3, 1, arguments, clamped);
    /* Two buffers, as start and done. */
    static const char *const tuples[] = {
        "(s32[3,2], s32[3,2]) ({{-1, -1}, {7, 8}, {-1, -1}}, {{5, 6}, {7, 8}, {-1, -1}})",
        "(s32[3,2], s32[3,2]) ({{-1, -1}, {3, 4}, {-1, -1}}, {{1, 2}, {3, 4}, {-1, -1}})"};
    check_devices(IN_PLACE
                  "  i = (s32[2,2], s32[2,2]) tuple(x, x) o = (s32[3,2], s32[3,2]) tuple(y, y)\n"
                  "  f = ((s32[], s32[]), (s32[], s32[])) tuple(b, a)\n"
                  "  g = ((s32[], s32[]), (s32[], s32[])) tuple(b, a)\n"
                  "  s = ((s32[2,2], s32[2,2]), (s32[3,2], s32[3,2]), u32[], u32[]) "
                  "collective-permute-start(i, o, f, g), source_target_pairs={{0,1},{1,0}}, "
                  "slice_sizes={{1,2},{2,2}}\n"
                  "  ROOT r = (s32[3,2], s32[3,2]) collective-permute-done(s) }\n",
                  2, 1, arguments, tuples);
#undef IN_PLACE
}
END_TEST

/* The last operand says which device of the group is the root, for each of the others. */
START_TEST(test_dynamic_root)
{
    static const char *const roots[] = {"s32[2] {1, 0}", "s32[2] {1, 0}", "s32[2] {1, 0}"};
    static const char *const wants[] = {"(s32[1], u32[]) ({1}, 2)", "(s32[1], u32[]) ({1}, 2)",
                                        "(s32[1], u32[]) ({1}, 2)"};
    /* In the group {2, 1, 0} place 1 is device 1 (1 of {1, 0} is slice 0), place 0 is device 2. */
    check_devices("HloModule m\nENTRY e { x = s32[2] parameter(0) r = u32[] replica-id()\n"
                  "  y = s32[1] slice(x), slice={[0:1]}\n"
                  "  ROOT b = (s32[1], u32[]) collective-broadcast(y, r, x), "
                  "replica_groups={{2,1,0}}, has_dynamic_root=true }\n",
                  3, 1, roots, wants);
    static const char *const others[] = {"s32[2] {1, 0}", "s32[2] {1, 0}", "s32[2] {0, 0}"};
    static const char *const parts[] = {"root"};
    check_devices_fail("HloModule m\nENTRY e { x = s32[2] parameter(0) r = u32[] replica-id()\n"
                       "  ROOT b = (u32[], u32[]) collective-broadcast(r, r, x), "
                       "replica_groups={{2,1,0}}, has_dynamic_root=true }\n",
                       3, 1, others, ERROR_INVALID_ARGUMENT, parts, 1);
}
END_TEST

/* Rows that one sends and the other does not await, and rows outside. */
START_TEST(test_ragged_mismatch)
{
    static const char text[] =
        "HloModule m\nENTRY e { x = s32[4] parameter(0) z = s32[] constant(0)\n"
        "  i = s32[3] broadcast(z), dimensions={} o = s32[3] broadcast(z), dimensions={}\n"
        "  a = s32[2] slice(x), slice={[0:2]} b = s32[2] slice(x), slice={[2:4]}\n"
        "  zero = s32[2] broadcast(z), dimensions={}\n"
        "  ROOT y = s32[3] ragged-all-to-all(i, o, zero, a, zero, b), "
        "replica_groups={{0,1}} }\n";
    static const char *const awaited[] = {"s32[4] {1, 2, 1, 3}", "s32[4] {2, 1, 2, 1}"};
    static const char *const words[] = {"device 1 sends 2 rows to device 0, which awaits 3"};
    check_devices_fail(text, 2, 1, awaited, ERROR_INVALID_ARGUMENT, words, 1);
    static const char *const outside[] = {"s32[4] {1, 4, 1, 0}", "s32[4] {0, 0, 4, 0}"};
    static const char *const rows[] = {"device 0 sends rows outside the arrays to device 1"};
    check_devices_fail(text, 2, 1, outside, ERROR_INVALID_ARGUMENT, rows, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("collectives");
    TCase *tests = tcase_create("collectives");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, test_ids);
    tcase_add_test(tests, test_group_modes);
    tcase_add_test(tests, test_group_forms);
    tcase_add_test(tests, test_all_reduce_exact);
    tcase_add_test(tests, test_reducer_of_another_type);
    tcase_add_test(tests, test_all_reduce_programs);
    tcase_add_test(tests, test_gather_scatter);
    tcase_add_test(tests, test_permute_and_broadcast);
    tcase_add_test(tests, test_ragged);
    tcase_add_test(tests, test_start_done);
    tcase_add_test(tests, test_in_loop);
    tcase_add_test(tests, test_one_device);
    tcase_add_test(tests, test_absent_devices);
    tcase_add_test(tests, test_absent_places);
    tcase_add_test(tests, test_permute_in_place);
    tcase_add_test(tests, test_dynamic_root);
    tcase_add_test(tests, test_ragged_mismatch);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
