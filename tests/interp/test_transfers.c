/* send and recv between simulated devices, and with the host. Expected values follow from HLO's
 * operation semantics (Send, Recv) and from what XLA's GPU runtime does with pairs: a device that
 * nobody sends to receives zeros (xla/backends/gpu/runtime/recv_thunk.cc). */
#include "tests/interp/evaluate_devices.h"

static const char *const tens[] = {"f32[2] {10, 11}", "f32[2] {20, 21}", "f32[2] {30, 31}",
                                   "f32[2] {40, 41}"};

#define ATTRIBUTE(pairs) "frontend_attributes={_xla_send_recv_source_target_pairs=\"" pairs "\"}"
#define PAIR_01 ATTRIBUTE("{{0,1}}")
#define PAIR_SPACED ATTRIBUTE("{{0, 1}}")
#define PAIR_10 ATTRIBUTE("{{1,0}}")
#define RING_OF_4 ATTRIBUTE("{{0,1},{1,2},{2,3},{3,0}}")
#define CHAIN_OF_3 ATTRIBUTE("{{0,1},{1,2}}")
/* channel: "" or "channel_id=N, " */
#define EXCHANGE(pairs, channel)                                               \
    "HloModule m\nENTRY e { x = f32[2] parameter(0) t = token[] after-all()\n" \
    "  a = (f32[2], u32[], token[]) recv(t), " channel                         \
    "frontend_attributes={_xla_send_recv_source_target_pairs=\"" pairs "\"}\n" \
    "  b = (f32[2], u32[], token[]) send(x, t), " channel                      \
    "frontend_attributes={_xla_send_recv_source_target_pairs=\"" pairs "\"}\n" \
    "  c = (f32[2], token[]) recv-done(a), " channel "metadata={}\n"           \
    "  d = token[] send-done(b), " channel "metadata={}\n"                     \
    "  ROOT r = f32[2] get-tuple-element(c), index=0 }\n"

START_TEST(test_between_devices)
{
    static const char *const ring[] = {"f32[2] {30, 31}", "f32[2] {10, 11}", "f32[2] {20, 21}"};
    check_devices(EXCHANGE("{{0,1},{1,2},{2,0}}", ""), 3, 1, tens, ring);
    static const char *const chain[] = {"f32[2] {0, 0}", "f32[2] {10, 11}", "f32[2] {20, 21}"};
    check_devices(EXCHANGE("{{0,1},{1,2}}", ""), 3, 1, tens, chain);
    /* With a channel the numbers are partitions, within each replica. */
    static const char *const partitions[] = {"f32[2] {20, 21}", "f32[2] {0, 0}", "f32[2] {40, 41}",
                                             "f32[2] {0, 0}"};
    check_devices(EXCHANGE("{{1,0}}", "channel_id=3, "), 2, 2, tens, partitions);
    static const char *const replicas[] = {"f32[2] {30, 31}", "f32[2] {40, 41}", "f32[2] {0, 0}",
                                           "f32[2] {0, 0}"};
    check_devices(EXCHANGE("{{1,0}}", ""), 2, 2, tens, replicas);
    /* Pairs with devices that do not exist are none; a device may send to itself. */
    static const char *const some[] = {"f32[2] {10, 11}", "f32[2] {0, 0}"};
    check_devices(EXCHANGE("{{0,0},{1,2},{5,1}}", ""), 2, 1, tens, some);
}
END_TEST

/* One device: without pairs, or with the pair {0,0}, it sends to itself. */
START_TEST(test_one_device)
{
    check_evaluates(EXCHANGE("{{0,0}}", "channel_id=1, "), tens[0], NULL, NULL, NULL, tens[0]);
    check_evaluates(EXCHANGE("{}", ""), tens[0], NULL, NULL, NULL, "f32[2] {0, 0}");
    check_evaluates("HloModule m\n"
                    "ENTRY e { x = f32[2] parameter(0) t = token[] after-all()\n"
                    "  b = (f32[2], u32[], token[]) send(x, t), channel_id=1\n"
                    "  a = (f32[2], u32[], token[]) recv(t), channel_id=1\n"
                    "  c = (f32[2], token[]) recv-done(a), channel_id=1\n"
                    "  d = token[] send-done(b), channel_id=1\n"
                    "  ROOT r = f32[2] get-tuple-element(c), index=0 }\n",
                    tens[0], NULL, NULL, NULL, tens[0]);
}
END_TEST

/* Sends to the same device are received in the order in which they are sent. */
START_TEST(test_order)
{
    static const char *const wants[] = {
        "(f32[2], f32[2], f32[2]) ({0, 0}, {0, 0}, {0, 0})",
        "(f32[2], f32[2], f32[2]) ({10, 11}, {20, 22}, {-10, -11})"};
    check_devices("HloModule m\n"
                  "ENTRY e { x = f32[2] parameter(0) t = token[] after-all()\n"
                  "  y = f32[2] add(x, x) n = f32[2] negate(x)\n"
                  "  a1 = (f32[2], u32[], token[]) send(x, t), " PAIR_01 "\n"
                  "  a2 = (f32[2], u32[], token[]) send(y, t), " PAIR_01 "\n"
                  "  r1 = (f32[2], u32[], token[]) recv(t), " PAIR_01 "\n"
                  "  r2 = (f32[2], u32[], token[]) recv(t), " PAIR_01 "\n"
                  "  a3 = (f32[2], u32[], token[]) send(n, t), " PAIR_SPACED "\n"
                  "  r3 = (f32[2], u32[], token[]) recv(t), " PAIR_SPACED "\n"
                  "  d3 = (f32[2], token[]) recv-done(r3)\n"
                  "  d2 = (f32[2], token[]) recv-done(r2)\n"
                  "  d1 = (f32[2], token[]) recv-done(r1)\n"
                  "  e1 = token[] send-done(a1) e2 = token[] send-done(a2)\n"
                  "  e3 = token[] send-done(a3)\n"
                  "  a = f32[2] get-tuple-element(d1), index=0\n"
                  "  b = f32[2] get-tuple-element(d2), index=0\n"
                  "  c = f32[2] get-tuple-element(d3), index=0\n"
                  "  ROOT r = (f32[2], f32[2], f32[2]) tuple(a, b, c) }\n",
                  2, 1, tens, wants);
}
END_TEST

/* A pipeline: each iteration receives what the one before announced. Device d ends with what device
 * d − 3 began with, through three hops of a ring of four. */
START_TEST(test_pipelined_loop)
{
    static const char *const wants[] = {"f32[2] {20, 21}", "f32[2] {30, 31}", "f32[2] {40, 41}",
                                        "f32[2] {10, 11}"};
    static const char text[] =
        "HloModule m\n"
        "body {\n"
        "  s = (s32[], (f32[2], u32[], token[]), (f32[2], u32[], token[])) parameter(0)\n"
        "  i = s32[] get-tuple-element(s), index=0\n"
        "  a = (f32[2], u32[], token[]) get-tuple-element(s), index=1\n"
        "  b = (f32[2], u32[], token[]) get-tuple-element(s), index=2\n"
        "  c = (f32[2], token[]) recv-done(a), channel_id=1\n"
        "  d = token[] send-done(b), channel_id=1\n"
        "  x = f32[2] get-tuple-element(c), index=0 t = token[] after-all()\n"
        "  na = (f32[2], u32[], token[]) recv(t), channel_id=1, " RING_OF_4 "\n"
        "  nb = (f32[2], u32[], token[]) send(x, t), channel_id=1, " RING_OF_4 "\n"
        "  one = s32[] constant(1) j = s32[] add(i, one)\n"
        "  ROOT n = (s32[], (f32[2], u32[], token[]), (f32[2], u32[], token[])) tuple(j, na, nb) "
        "}\n"
        "condition {\n"
        "  s = (s32[], (f32[2], u32[], token[]), (f32[2], u32[], token[])) parameter(0)\n"
        "  i = s32[] get-tuple-element(s), index=0 n = s32[] constant(2)\n"
        "  ROOT l = pred[] compare(i, n), direction=LT }\n"
        "ENTRY e { x = f32[2] parameter(0) t = token[] after-all() z = s32[] constant(0)\n"
        "  a = (f32[2], u32[], token[]) recv(t), channel_id=1, " RING_OF_4 "\n"
        "  b = (f32[2], u32[], token[]) send(x, t), channel_id=1, " RING_OF_4 "\n"
        "  s = (s32[], (f32[2], u32[], token[]), (f32[2], u32[], token[])) tuple(z, a, b)\n"
        "  w = (s32[], (f32[2], u32[], token[]), (f32[2], u32[], token[])) while(s), "
        "condition=condition, body=body\n"
        "  wa = (f32[2], u32[], token[]) get-tuple-element(w), index=1\n"
        "  wb = (f32[2], u32[], token[]) get-tuple-element(w), index=2\n"
        "  c = (f32[2], token[]) recv-done(wa) d = token[] send-done(wb)\n"
        "  ROOT r = f32[2] get-tuple-element(c), index=0 }\n";
    check_devices(text, 1, 4, tens, wants);
}
END_TEST

/* What is only sent on one channel and only received on another is one transfer (as in XLA's
 * collective_pipeline_parallelism_test.cc). */
START_TEST(test_two_channels)
{
    static const char *const wants[] = {"f32[2] {0, 0}", "f32[2] {10, 11}", "f32[2] {20, 21}"};
    check_devices("HloModule m\n"
                  "ENTRY e { x = f32[2] parameter(0) t = token[] after-all()\n"
                  "  a = (f32[2], u32[], token[]) recv(t), channel_id=2, " CHAIN_OF_3 "\n"
                  "  b = (f32[2], u32[], token[]) send(x, t), channel_id=1, " CHAIN_OF_3 "\n"
                  "  d = token[] send-done(b), channel_id=1\n"
                  "  c = (f32[2], token[]) recv-done(a), channel_id=2\n"
                  "  ROOT r = f32[2] get-tuple-element(c), index=0 }\n",
                  1, 3, tens, wants);
}
END_TEST

/* Sends and recvs in one asynchronous computation: its async-done is the done of all. */
START_TEST(test_group)
{
    static const char *const wants[] = {"(f32[2], f32[2]) ({0, 0}, {20, 21})",
                                        "(f32[2], f32[2]) ({10, 11}, {0, 0})"};
    check_devices(
        "HloModule m\n"
        "group { x = f32[2] parameter(0) t = token[] parameter(1)\n"
        "  fs = (f32[2], u32[], token[]) send(x, t), " PAIR_01 "\n"
        "  fr = (f32[2], u32[], token[]) recv(t), " PAIR_01 "\n"
        "  bs = (f32[2], u32[], token[]) send(x, t), " PAIR_10 "\n"
        "  br = (f32[2], u32[], token[]) recv(t), " PAIR_10 "\n"
        "  ROOT o = ((f32[2], u32[], token[]), (f32[2], u32[], token[]), (f32[2], u32[], token[]), "
        "(f32[2], u32[], token[])) tuple(fs, fr, bs, br) }\n"
        "ENTRY e { x = f32[2] parameter(0) t = token[] after-all()\n"
        "  s = ((f32[2], token[]), ((f32[2], u32[], token[]), (f32[2], u32[], token[]), (f32[2], "
        "u32[], token[]), (f32[2], u32[], token[])), s32[]) async-start(x, t), calls=group\n"
        "  d = ((f32[2], u32[], token[]), (f32[2], u32[], token[]), (f32[2], u32[], token[]), "
        "(f32[2], u32[], token[])) async-done(s)\n"
        "  f = (f32[2], u32[], token[]) get-tuple-element(d), index=1\n"
        "  b = (f32[2], u32[], token[]) get-tuple-element(d), index=3\n"
        "  y = f32[2] get-tuple-element(f), index=0 z = f32[2] get-tuple-element(b), index=0\n"
        "  ROOT r = (f32[2], f32[2]) tuple(y, z) }\n",
        2, 1, tens, wants);
}
END_TEST

#define TAKE_TURNS(first, second)                                                     \
    "HloModule m\n"                                                                   \
    "first { x = f32[2] parameter(0) t = token[] after-all()\n" first "}\n"           \
    "second { x = f32[2] parameter(0) t = token[] after-all()\n" second "}\n"         \
    "ENTRY e { x = f32[2] parameter(0) r = u32[] replica-id() i = s32[] convert(r)\n" \
    "  ROOT c = f32[2] conditional(i, x, x), branch_computations={first, second} }\n"
#define SENDS                                                  \
    "  b = (f32[2], u32[], token[]) send(x, t), " PAIR_01 "\n" \
    "  d = token[] send-done(b)\n  ROOT y = f32[2] copy(x) "
#define RECEIVES                                            \
    "  a = (f32[2], u32[], token[]) recv(t), " PAIR_01 "\n" \
    "  c = (f32[2], token[]) recv-done(a)\n  ROOT y = f32[2] get-tuple-element(c), index=0 "

/* Each device does its own half, in its own instructions. */
START_TEST(test_divergent)
{
    static const char *const wants[] = {"f32[2] {10, 11}", "f32[2] {10, 11}"};
    check_devices(TAKE_TURNS(SENDS, RECEIVES), 2, 1, tens, wants);
    /* What is on its way does not wait for a collective on the other side. */
    check_devices(
        TAKE_TURNS("  b = (f32[2], u32[], token[]) send(x, t), " PAIR_01 "\n"
                   "  y = f32[2] collective-permute(x), channel_id=4, source_target_pairs={{0,0}}\n"
                   "  d = token[] send-done(b)\n"
                   "  ROOT z = f32[2] copy(x) ",
                   RECEIVES),
        2, 1, tens, wants);
}
END_TEST

START_TEST(test_deadlocks)
{
    /* Nobody sends; nobody receives. */
    static const char *const alone[] = {"device 1 waits in c (recv-done) for a send of 0 (done)",
                                        "device 0 is done"};
    check_devices_fail(TAKE_TURNS("  ROOT y = f32[2] copy(x) ", RECEIVES), 2, 1, tens,
                       ERROR_INVALID_ARGUMENT, alone, 2);
    static const char *const unheard[] = {"device 0 waits in d (send-done) for a recv of 1 (done)",
                                          "device 1 is done"};
    check_devices_fail(TAKE_TURNS(SENDS, "  ROOT y = f32[2] copy(x) "), 2, 1, tens,
                       ERROR_INVALID_ARGUMENT, unheard, 2);
    /* Both wait before they send. */
    static const char *const both[] = {
        "devices 0-3 wait in c (recv-done, channel 2) for a send of 3, 0, 1, 2"};
    check_devices_fail("HloModule m\n"
                       "ENTRY e { x = f32[2] parameter(0) t = token[] after-all()\n"
                       "  a = (f32[2], u32[], token[]) recv(t), channel_id=2, " RING_OF_4 "\n"
                       "  c = (f32[2], token[]) recv-done(a), channel_id=2\n"
                       "  y = f32[2] get-tuple-element(c), index=0\n"
                       "  b = (f32[2], u32[], token[]) send(y, t), channel_id=2, " RING_OF_4 "\n"
                       "  d = token[] send-done(b), channel_id=2 ROOT r = f32[2] copy(y) }\n",
                       1, 4, tens, ERROR_INVALID_ARGUMENT, both, 1);
    /* Without pairs, on one device. */
    check_fails("HloModule m\n"
                "ENTRY e { t = token[] after-all()\n"
                "  a = (f32[2], u32[], token[]) recv(t), channel_id=5\n"
                "  c = (f32[2], token[]) recv-done(a), channel_id=5\n"
                "  ROOT y = f32[2] get-tuple-element(c), index=0 }\n",
                NULL, NULL, NULL, ERROR_INVALID_ARGUMENT, "deadlock: c waits for a send of 0");
}
END_TEST

START_TEST(test_wrong)
{
    static const char *const shapes[] = {"device 1", "but device 0 sends f32[3]"};
    check_devices_fail(TAKE_TURNS("  z = f32[] constant(0) w = f32[3] broadcast(z), dimensions={}\n"
                                  "  b = (f32[3], u32[], token[]) send(w, t), " PAIR_01 "\n"
                                  "  d = token[] send-done(b)\n"
                                  "  ROOT y = f32[2] copy(x) ",
                                  RECEIVES),
                       2, 1, tens, ERROR_INVALID_ARGUMENT, shapes, 2);
    static const char *const pairs[] = {"are no pairs of devices"};
    check_devices_fail(EXCHANGE("{{0,1},{1}}", ""), 2, 1, tens, ERROR_INVALID_ARGUMENT, pairs, 1);
    check_devices_fail(EXCHANGE("{{0,x}}", ""), 2, 1, tens, ERROR_INVALID_ARGUMENT, pairs, 1);
    check_devices_fail(EXCHANGE("{{0,-1}}", ""), 2, 1, tens, ERROR_INVALID_ARGUMENT, pairs, 1);
    static const char *const twice[] = {"as a target more than once"};
    check_devices_fail(EXCHANGE("{{0,1},{1,1}}", ""), 2, 1, tens, ERROR_INVALID_ARGUMENT, twice, 1);
}
END_TEST

/* --- the host --- */

struct host {
    float sum;
    int received;
};

static bool take(void *context, int device, const struct instruction *send,
                 const struct literal *value, struct error *err)
{
    struct host *host = context;
    if (strcmp(send->name, "b") != 0) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "who is %s?", send->name);
    }
    host->sum += (float)(device + 1) * (float)literal_get_double(value, 0);
    return true;
}

static struct literal *give(void *context, int device, const struct instruction *recv,
                            const struct shape *shape, struct error *err)
{
    struct host *host = context;
    (void)recv;
    if (host->received == 3) {
        error_set(err, ERROR_INVALID_ARGUMENT, "the host has nothing more");
        return NULL;
    }
    struct literal *literal = literal_create(shape, err);
    for (int i = 0; literal != NULL && i < 2; i++) {
        literal_set_double(literal, i, 100 * device + host->received);
    }
    host->received++;
    return literal;
}

static const char hosted[] =
    "HloModule m\n"
    "ENTRY e { x = f32[2] parameter(0) t = token[] after-all()\n"
    "  b = (f32[2], u32[], token[]) send(x, t), channel_id=1, is_host_transfer=true\n"
    "  d = token[] send-done(b), channel_id=1, is_host_transfer=true\n"
    "  a = (f32[2], u32[], token[]) recv(d), channel_id=2, is_host_transfer=true\n"
    "  c = (f32[2], token[]) recv-done(a), channel_id=2, is_host_transfer=true\n"
    "  ROOT r = f32[2] get-tuple-element(c), index=0 }\n";

START_TEST(test_host)
{
    struct host host = {0};
    struct interp_options options = {.context = &host, .host_send = take, .host_receive = give};
    struct module *module = read_module(hosted);
    struct error err = {0};
    struct literal *results[DEVICES_MOST];
    ck_assert_msg(run_devices(module, 2, 1, tens, results, &options, &err), "%s", err.message);
    check_literal(results[0], "f32[2] {0, 0}", "device 0");
    check_literal(results[1], "f32[2] {101, 101}", "device 1");
    ck_assert_int_eq(host.received, 2);
    ck_assert(host.sum == 10 + 2 * 20);
    literal_release(results[0]);
    literal_release(results[1]);
    ck_assert(!run_devices(module, 2, 1, tens, results, &options, &err));
    ck_assert_msg(strstr(err.message, "nothing more") != NULL, "%s", err.message);
    module_destroy(module);
    /* Without hooks what is sent is dropped, and nothing can be received. */
    check_fails(hosted, tens[0], NULL, NULL, ERROR_UNIMPLEMENTED, "nobody sends");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transfers");
    TCase *tests = tcase_create("transfers");
    tcase_add_test(tests, test_between_devices);
    tcase_add_test(tests, test_one_device);
    tcase_add_test(tests, test_order);
    tcase_add_test(tests, test_pipelined_loop);
    tcase_add_test(tests, test_two_channels);
    tcase_add_test(tests, test_group);
    tcase_add_test(tests, test_divergent);
    tcase_add_test(tests, test_deadlocks);
    tcase_add_test(tests, test_wrong);
    tcase_add_test(tests, test_host);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
