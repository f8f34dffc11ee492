/* infeed and outfeed: what the hooks see, in which order and on which device. */
#include <stdio.h>

#include "hlo/base/pool.h"
#include "tests/interp/evaluate_text.h"

static void setup(void)
{
    pool_set_threads(2);
}

/* Gives out numbers in order; keeps what was sent, as text. */
struct host {
    int next, dry;             /* literals given, and how many there are; 0 = any number */
    const struct shape *shape; /* of what is given, NULL = what is asked for */
    char log[1024];
};

static struct literal *give(void *context, int device, const struct shape *shape, struct error *err)
{
    struct host *host = context;
    if (host->dry > 0 && host->next == host->dry) {
        error_set(err, ERROR_NOT_FOUND, "dry");
        return NULL;
    }
    struct literal *literal = literal_zero(host->shape != NULL ? host->shape : shape, err);
    struct literal *leaf = literal_leaf(literal, 0);
    for (int64_t i = 0; i < literal_elements(leaf); i++) {
        literal_set_double(leaf, i, 10 * device + ++host->next);
    }
    return literal;
}

static bool take(void *context, int device, const struct literal *value, struct error *err)
{
    struct host *host = context;
    (void)err;
    struct text text;
    text_init(&text);
    literal_print(value, false, 0, &text);
    size_t used = strlen(host->log);
    snprintf(host->log + used, sizeof host->log - used, "%d:%s;", device, text.data);
    text_finish(&text);
    return true;
}

static bool refuse(void *context, int device, const struct literal *value, struct error *err)
{
    (void)context;
    (void)device;
    (void)value;
    return error_set(err, ERROR_RESOURCE_EXHAUSTED, "the host is full");
}

/* Twice in, once out after each, in a loop of three. */
static const char loop[] =
    "HloModule m\n"
    "cond { s = (s32[], f32[], token[]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
    "  three = s32[] constant(3) ROOT l = pred[] compare(i, three), direction=LT }\n"
    "body { s = (s32[], f32[], token[]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
    "  sum = f32[] get-tuple-element(s), index=1 t = token[] get-tuple-element(s), index=2\n"
    "  one = s32[] constant(1) j = s32[] add(i, one)\n"
    "  a = (f32[], token[]) infeed(t) x = f32[] get-tuple-element(a), index=0\n"
    "  u = token[] get-tuple-element(a), index=1\n"
    "  n = f32[] add(sum, x)\n"
    "  o = token[] outfeed(n, u), outfeed_shape=f32[]\n"
    "  ROOT r = (s32[], f32[], token[]) tuple(j, n, o) }\n"
    "ENTRY e { z = s32[] constant(0) f = f32[] constant(0) t = token[] after-all()\n"
    "  s = (s32[], f32[], token[]) tuple(z, f, t)\n"
    "  w = (s32[], f32[], token[]) while(s), condition=cond, body=body\n"
    "  ROOT r = f32[] get-tuple-element(w), index=1 }\n";

START_TEST(test_loop)
{
    struct host host = {0};
    struct interp_options options = {.infeed = give, .outfeed = take, .context = &host};
    struct module *module = read_module(loop);
    struct error err = {0};
    struct literal *result = evaluate_module(module, NULL, NULL, NULL, NULL, &options, &err);
    ck_assert_msg(result != NULL, "%s", err.message);
    check_literal(result, "f32[] 6", loop);
    ck_assert_str_eq(host.log, "0:1;0:3;0:6;");
    ck_assert_int_eq(host.next, 3);
    literal_release(result);
    module_destroy(module);
}
END_TEST

/* An outfeed whose token nobody wants sends all the same. */
START_TEST(test_unused)
{
    static const char text[] = "HloModule m\n"
                               "ENTRY e { x = f32[2] parameter(0) t = token[] after-all()\n"
                               "  i = ((f32[2], s32[]), token[]) infeed(t) d = (f32[2], s32[]) "
                               "get-tuple-element(i), index=0\n"
                               "  o = token[] outfeed(d, t), outfeed_shape=(f32[2], s32[])\n"
                               "  ROOT r = f32[2] negate(x) }\n";
    struct host host = {0};
    struct interp_options options = {.infeed = give, .outfeed = take, .context = &host};
    struct module *module = read_module(text);
    struct error err = {0};
    struct literal *result =
        evaluate_module(module, "f32[2] {1, 2}", NULL, NULL, NULL, &options, &err);
    ck_assert_msg(result != NULL, "%s", err.message);
    ck_assert_str_eq(host.log, "0:( {1, 2}, 0 );");
    literal_release(result);
    module_destroy(module);
}
END_TEST

START_TEST(test_devices)
{
    static const char text[] =
        "HloModule m, replica_count=2, num_partitions=2\n"
        "ENTRY e { t = token[] after-all() i = (f32[], token[]) infeed(t)\n"
        "  x = f32[] get-tuple-element(i), index=0 u = token[] get-tuple-element(i), index=1\n"
        "  o = token[] outfeed(x, u), outfeed_shape=f32[]\n"
        "  ROOT r = f32[] negate(x) }\n";
    struct host host = {0};
    struct interp_options options = {.infeed = give, .outfeed = take, .context = &host};
    struct module *module = read_module(text);
    struct literal **lists[4] = {NULL}, *results[4];
    struct error err = {0};
    ck_assert_msg(interp_evaluate_devices(module, 4, (struct literal *const *const *)lists, 0,
                                          results, &options, &err),
                  "%s", err.message);
    ck_assert_str_eq(host.log, "0:1;1:12;2:23;3:34;");
    for (int d = 0; d < 4; d++) {
        literal_release(results[d]);
    }
    module_destroy(module);
}
END_TEST

START_TEST(test_errors)
{
    struct host host = {.dry = 2};
    struct interp_options options = {.infeed = give, .outfeed = take, .context = &host};
    check_fails(loop, NULL, NULL, &options, ERROR_NOT_FOUND, "a (infeed): dry");
    host = (struct host){.shape = shape_array(TYPE_F32, 1, (const int64_t[]){2})};
    check_fails(loop, NULL, NULL, &options, ERROR_INVALID_ARGUMENT,
                "a (infeed): the infeed gives f32[2]{0}, but f32[] is wanted");
    host = (struct host){0};
    options.outfeed = refuse;
    check_fails(loop, NULL, NULL, &options, ERROR_RESOURCE_EXHAUSTED,
                "o (outfeed): the host is full");
    options.infeed = NULL;
    check_fails(loop, NULL, NULL, &options, ERROR_UNIMPLEMENTED,
                "a (infeed): nothing feeds the module");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("feeds");
    TCase *tests = tcase_create("feeds");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, test_loop);
    tcase_add_test(tests, test_unused);
    tcase_add_test(tests, test_devices);
    tcase_add_test(tests, test_errors);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
