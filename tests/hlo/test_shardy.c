/* Shardy's marks in HLO: its meshes and shardings as text, and which modules are its. */
#include <check.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/module.h"
#include "hlo/sharding.h"
#include "hlo/shardy.h"
#include "hlo/text/text_format.h"

#define MESHES                                                                                 \
    "HloModule m, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<[\"a\"=2, \"b\"=2]>, " \
    "other_mesh = #sdy.mesh<[\"x\"=4], device_ids=[3, 1, 2, 0]>, "                             \
    "one = #sdy.mesh<[], device_ids=[2]>}}\nENTRY e { ROOT x = f32[2] parameter(0) }\n"

/* The syntax is that of MLIR's printed attributes; want is the same in HLO's own. */
static const struct shardy_case {
    const char *text, *want[2]; /* want[0] NULL: refused */
    const char *message;
} shardy[] = {
    {"#sdy.sharding<@mesh, [{\"a\"}, {}]>", {"{mesh[\"a\"=2,\"b\"=2], [{\"a\"}, {}]}"}, NULL},
    {"#sdy.sharding_per_value<[<@mesh, [{\"b\", ?}]>, <@mesh, [{\"a\"}], replicated={\"b\"}>]>",
     {"{mesh[\"a\"=2,\"b\"=2], [{\"b\",?}]}",
      "{mesh[\"a\"=2,\"b\"=2], [{\"a\"}], replicated={\"b\"}}"},
     NULL},
    {"#sdy.sharding<@other_mesh, [{\"x\":(2)2}]>",
     {"{mesh[\"x\"=4], device_ids=(3,1,2,0), [{\"x\":(2)2}]}"},
     NULL},
    {"#sdy.sharding<mesh<[\"q\"=2]>, [{\"q\"}]>", {"{mesh[\"q\"=2], [{\"q\"}]}"}, NULL},
    {"#sdy.sharding_per_value<[]>", {""}, NULL},
    {"#sdy.sharding<@mes, [{\"a\"}]>", {NULL}, "no Shardy mesh @mes"},
    {"#sdy.sharding<@mesh, [{\"c\"}]>", {NULL}, "no axis c"},
    {"#sdy.sharding<@mesh, [{\"a\"}", {NULL}, "no Shardy sharding"},
    {"#sdy.sharding<mesh<[", {NULL}, "no Shardy sharding"},
    {"#sdy.mesh<[]>", {NULL}, "no Shardy shardings"},
    {"", {NULL}, "no Shardy shardings"},
};

START_TEST(test_shardy)
{
    const struct shardy_case *c = &shardy[_i];
    struct error err = {0};
    struct module *module = text_read_module(MESHES, strlen(MESHES), "test", 1, &err);
    ck_assert_msg(module != NULL, "%s", err.message);
    ck_assert(module_uses_shardy(module));
    struct shardy_shardings read;
    bool good = shardy_read(module, c->text, &read, &err);
    ck_assert_msg(good == (c->want[0] != NULL), "%s: %s", c->text, err.message);
    if (!good) {
        ck_assert_msg(strstr(err.message, c->message) != NULL, "%s", err.message);
        module_destroy(module);
        return;
    }
    int count = c->want[0][0] == '\0' ? 0 : c->want[1] != NULL ? 2 : 1;
    ck_assert_int_eq(read.count, count);
    for (int i = 0; i < count; i++) {
        const struct sharding *want;
        struct module *holder = sharding_read(c->want[i], &want, &err);
        ck_assert_msg(holder != NULL, "%s", err.message);
        ck_assert_msg(sharding_equal(read.list[i], want), "%s: %d", c->text, i);
        module_destroy(holder);
    }
    shardy_shardings_finish(&read);
    module_destroy(module);
}
END_TEST

/* Of two axes in one dimension the manual one stays; the other tells groups apart. */
START_TEST(test_shardy_restrict)
{
    const struct sharding *sharding, *want;
    struct error err = {0};
    struct arena arena;
    arena_init(&arena);
    struct module *holder =
        sharding_read("{mesh[\"a\"=2,\"b\"=2,\"c\"=2], [{\"b\",\"a\"}, {\"c\"}]}", &sharding, &err);
    struct module *other = sharding_read(
        "{mesh[\"a\"=2,\"b\"=2,\"c\"=2], [{\"b\"}, {\"c\"}], manual={\"a\"}}", &want, &err);
    ck_assert(holder != NULL && other != NULL);
    ck_assert(
        sharding_equal(shardy_restrict(sharding, "#sdy<manual_axes{\"b\", \"c\"}>", &arena), want));
    arena_finish(&arena);
    module_destroy(holder);
    module_destroy(other);
}
END_TEST

START_TEST(test_uses_shardy)
{
    static const struct {
        const char *text;
        bool uses;
    } cases[] = {
        {"ENTRY e { ROOT x = f32[2] parameter(0), sharding={replicated} }", false},
        {"ENTRY e { ROOT x = f32[2] parameter(0), "
         "frontend_attributes={xla.sdy.sharding=\"#sdy.sharding<@mesh, [{}]>\"} }",
         true},
        {"ENTRY e { x = f32[2] parameter(0)\n ROOT y = f32[2] custom-call(x), "
         "custom_call_target=\"xla.sdy.FuncResultSharding\" }",
         true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = {0};
        struct module *module =
            text_read_module(cases[i].text, strlen(cases[i].text), "test", 1, &err);
        ck_assert_msg(module != NULL, "%s", err.message);
        ck_assert_int_eq(module_uses_shardy(module), cases[i].uses);
        module_destroy(module);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shardy");
    TCase *tests = tcase_create("shardy");
    tcase_add_loop_test(tests, test_shardy, 0, (int)(sizeof shardy / sizeof *shardy));
    tcase_add_test(tests, test_shardy_restrict);
    tcase_add_test(tests, test_uses_shardy);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
