/* Damaged files for infeeds (.npy, literals, sets of them, text), and damaged --shardings: what is
 * read has the shape that was asked for, the rest is refused. How many and from which seed:
 * tests/damage.h. To be run under ASan and UBSan. */
#include <unistd.h>

#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "tests/damage.h"
#include "tests/hlo/fixtures.h"
#include "tools/feeds.h"
#include "tools/spmd_shardings.h"

static const char *const binaries[] = {"array_f32.npy",  "array_c64_big.npy", "array_empty.npy",
                                       "literal_s32.pb", "literal_bf16.pb",   "literals.pb",
                                       "literals.pb",    "iteration.pb"};
static const char *const texts[] = {
    "f32[2,3] {{1, 2.5, -inf}, {nan, 1e-40, 0x1p3}}",
    "(s32[2], (pred[3], f8e4m3fn[1])) ({7, -7}, ({0, 1, true}, {0.5}))",
    "c64[2] {(1, 2), (-0, inf)}",
    "s4[<=4] {1, 2, 3, -8}",
};
enum { BINARIES = sizeof binaries / sizeof *binaries, TEXTS = sizeof texts / sizeof *texts };

static char *damaged_file(struct rng *rng, uint64_t number, size_t *size)
{
    if (number % 2 == 0) {
        const char *text = texts[number / 2 % TEXTS];
        *size = strlen(text);
        return damage_copy(rng, text, size, false);
    }
    char *original = fixture_read(binaries[number / 2 % BINARIES], size);
    size_t room = *size + 256;
    char *data = memory_alloc(room);
    memcpy(data, original, *size);
    *size = damage_bytes(rng, data, *size, room);
    free(original);
    return data;
}

START_TEST(test_feeds)
{
    static const char *const shapes[] = {"f32[2,3]", "(s32[2], (pred[3], f8e4m3fn[1]))", "s32[2,2]",
                                         "s4[<=4]"};
    char path[] = "/tmp/referee-feed-XXXXXX";
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    close(file);
    const char *items[] = {path};
    const struct string_list list = {.items = items, .count = 1};
    literal_set_memory_limit((size_t)1 << 26);
    size_t before = literal_memory_in_use();
    uint64_t mutations = damage_count(), read = 0;
    for (uint64_t number = 0; number < mutations; number++) {
        struct rng rng;
        struct error err = {0};
        size_t size, used;
        damage_rng(&rng, number);
        char *data = damaged_file(&rng, number, &size);
        ck_assert_msg(file_write(path, data, size, &err), "%s", err.message);
        struct feeds *feeds = feeds_create(&list, 2);
        const char *text = shapes[rng_below(&rng, 4)];
        const struct shape *shape = shape_parse(text, strlen(text), &used, &err);
        for (int device = 0; device < 2; device++) {
            struct error why = {0};
            double start = damage_seconds();
            struct literal *literal = feeds_infeed(feeds, device, shape, &why);
            ck_assert_msg(literal != NULL || why.code != ERROR_NONE, "mutation %llu: no error",
                          (unsigned long long)number);
            ck_assert_msg(damage_seconds() - start < 1, "mutation %llu takes a second",
                          (unsigned long long)number);
            if (literal != NULL) {
                feeds_outfeed(feeds, device, literal);
                read++;
            }
            literal_release(literal);
        }
        feeds_destroy(feeds);
        ck_assert_msg(literal_memory_in_use() == before, "mutation %llu keeps memory",
                      (unsigned long long)number);
        free(data);
    }
    unlink(path);
    ck_assert_msg(mutations < 1000 || read > 0, "none were read");
}
END_TEST

START_TEST(test_shardings)
{
    static const char *const originals[] = {
        "{devices=[2,1]<=[2]},{replicated}->{devices=[1,2]<=[2]}",
        "{},->{{devices=[2,1]<=[2]},{replicated}}",
        " ,{devices=[1,2,2]<=[4] last_tile_dim_replicate} -> {manual}",
    };
    const char *text =
        "HloModule m\nENTRY e { a = f32[4,6] parameter(0) b = f32[4,6] parameter(1)\n"
        "  ROOT r = f32[4,6] add(a, b) }\n";
    uint64_t mutations = damage_count(), applied = 0;
    for (uint64_t number = 0; number < mutations; number++) {
        struct rng rng;
        struct error err = {0};
        damage_rng(&rng, number);
        const char *original = originals[number % 3];
        size_t size = strlen(original);
        char *damaged = damage_copy(&rng, original, &size, true);
        struct module *module = text_read_module(text, strlen(text), "test", 1, &err);
        struct sharding_holders holders = {0};
        bool ok = shardings_apply(damaged, module, &holders, &err);
        ck_assert_msg(ok || err.code != ERROR_NONE, "no error: %s", damaged);
        applied += ok;
        module_destroy(module);
        sharding_holders_finish(&holders);
        free(damaged);
    }
    ck_assert_msg(mutations < 1000 || (applied > 0 && applied < mutations), "all or none");
}
END_TEST

int main(void)
{
    printf("seed %llu\n", (unsigned long long)environment_number("REFEREE_SEED", 1));
    Suite *suite = suite_create("tools_mutations");
    TCase *tests = tcase_create("mutations");
    tcase_set_timeout(tests, 1800);
    tcase_add_test(tests, test_feeds);
    tcase_add_test(tests, test_shardings);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
