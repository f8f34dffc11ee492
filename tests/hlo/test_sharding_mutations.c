/* Damaged shardings, in HLO's own syntax and in Shardy's: what is read must fit a shape or be
 * refused, and an array that is split by it comes together again. How many and from which seed:
 * tests/damage.h. To be run under ASan and UBSan. */
#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/sharding.h"
#include "hlo/shardy.h"
#include "hlo/text/text_format.h"
#include "tests/damage.h"

static const char *const shardings[] = {
    "{replicated}",
    "{manual}",
    "{unknown}",
    "{unreduced}",
    "{maximal device=1}",
    "{maximal_mesh[device_id=4]}",
    "{devices=[2,2]0,1,2,3}",
    "{devices=[2,4]<=[4,2]T(1,0)}",
    "{devices=[2,1,3]5,4,3,2,1,0 last_tile_dim_replicate}",
    "{devices=[1,2,4]<=[2,4]T(1,0) last_tile_dim_replicate}",
    "{devices=[2,1,2,2]<=[2,2,2]T(2,1,0) last_tile_dims={unreduced, replicated}}",
    "{devices=[1,2,2,2]<=[2,4]T(1,0) last_tile_dims={manual, unreduced}}",
    "{mesh[\"a\"=2,\"b\"=2], [{\"b\",?}, {\"a\"}]}",
    "{mesh[\"a\"=2,\"b\"=2], [{\"a\"}, {}], replicated={\"b\"}}",
    "{mesh[\"x\"=4], device_ids=(3,1,2,0), [{\"x\":(2)2}, {}], unreduced={\"x\":(1)2}}",
    "{{devices=[2,1]<=[2]}, {replicated}, {manual}}",
};
static const char *const shardy[] = {
    "#sdy.sharding<@mesh, [{\"a\"}, {}]>",
    ("#sdy.sharding_per_value<[<@mesh, [{\"b\", ?}, {}]>, <@mesh, [{\"a\"}, {}p1], "
     "replicated={\"b\"}>]>"),
    "#sdy.sharding<@other_mesh, [{\"x\":(2)2}, {?}]>",
    "#sdy.sharding<mesh<[\"q\"=2, \"r\"=3]>, [{\"q\"}, {\"r\"}], unreduced={}>",
    "#sdy.sharding<@one, []>",
};
enum { SHARDINGS = sizeof shardings / sizeof *shardings, SHARDY = sizeof shardy / sizeof *shardy };

static const char *const meshes =
    "HloModule m, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<[\"a\"=2, \"b\"=2]>, "
    "other_mesh = #sdy.mesh<[\"x\"=4], device_ids=[3, 1, 2, 0]>, one = #sdy.mesh<[], "
    "device_ids=[2]>}}\nENTRY e { ROOT x = f32[2] parameter(0) }\n";

static void no_memory_is_kept(size_t before, const char *text)
{
    ck_assert_msg(literal_memory_in_use() == before, "memory is kept: %s", text);
}

/* Splits an array into the pieces of all devices and puts them together. */
static void use_tiling(const struct tiling *tiling, const char *text)
{
    struct error err = {0};
    struct literal *whole = literal_fill(tiling->shape, 1, &err);
    struct literal **pieces = memory_zalloc((size_t)tiling->device_count * sizeof *pieces);
    bool ok = whole != NULL;
    for (int d = 0; d < tiling->device_count && ok; d++) {
        pieces[d] = tiling_split(tiling, whole, d, PADDING_HOSTILE, &err);
        ok = pieces[d] != NULL;
    }
    struct replica_conflict conflict;
    struct literal *joined = ok ? tiling_join(tiling, pieces, &conflict, &err) : NULL;
    ck_assert_msg(joined != NULL || err.code != ERROR_NONE, "no error: %s", text);
    if (joined != NULL && tiling->kind == TILING_TILED && tiling->unreduced_count == 1) {
        ck_assert_msg(literal_equal(joined, whole) && conflict.count == 0,
                      "pieces do not make the whole again: %s", text);
    }
    literal_release(joined);
    for (int d = 0; d < tiling->device_count; d++) {
        literal_release(pieces[d]);
    }
    free(pieces);
    literal_release(whole);
}

static void use_sharding(const struct sharding *sharding, const char *text)
{
    static const int64_t sizes[] = {5, 6};
    const struct shape *matrix = shape_array(TYPE_S32, 2, sizes);
    const struct shape *parts[] = {matrix, shape_array(TYPE_F32, 1, sizes), matrix};
    const struct shape *tuple = shape_tuple(3, parts);
    struct error err = {0};
    int64_t devices = sharding_device_count(sharding);
    ck_assert(sharding_check(sharding, tuple, 0, &err) || err.code != ERROR_NONE);
    for (int leaf = 0; leaf < 3; leaf++) {
        const struct sharding *one = sharding_leaf(sharding, leaf);
        struct tiling tiling;
        struct error why = {0};
        int64_t count = devices > 0 ? devices : 4;
        if (one == NULL || count > 64 || !tiling_make(one, parts[leaf], count, &tiling, &why)) {
            ck_assert(one == NULL || count > 64 || why.code != ERROR_NONE);
            continue;
        }
        use_tiling(&tiling, text);
        tiling_finish(&tiling);
    }
}

START_TEST(test_shardings)
{
    uint64_t mutations = damage_count(), read = 0;
    size_t before = literal_memory_in_use();
    for (uint64_t number = 0; number < mutations; number++) {
        struct rng rng;
        damage_rng(&rng, number);
        const char *original = shardings[number % SHARDINGS];
        size_t size = strlen(original);
        char *damaged = damage_copy(&rng, original, &size, true);
        const struct sharding *sharding;
        struct error err = {0};
        double start = damage_seconds();
        struct module *holder = sharding_read(damaged, &sharding, &err);
        if (holder != NULL) {
            use_sharding(sharding, damaged);
            read++;
        }
        ck_assert(holder != NULL || err.code != ERROR_NONE);
        ck_assert_msg(damage_seconds() - start < 1, "it takes a second: %s", damaged);
        module_destroy(holder);
        no_memory_is_kept(before, damaged);
        free(damaged);
    }
    ck_assert_msg(mutations < 1000 || (read > 0 && read < mutations), "all or none were read");
}
END_TEST

START_TEST(test_shardy)
{
    struct error unused = {0};
    struct module *module = text_read_module(meshes, strlen(meshes), "test", 1, &unused);
    uint64_t mutations = damage_count(), read = 0;
    for (uint64_t number = 0; number < mutations; number++) {
        struct rng rng;
        damage_rng(&rng, number);
        const char *original = shardy[number % SHARDY];
        size_t size = strlen(original);
        char *damaged = damage_copy(&rng, original, &size, true);
        struct shardy_shardings list;
        struct error err = {0};
        double start = damage_seconds();
        if (shardy_read(module, damaged, &list, &err)) {
            for (int i = 0; i < list.count; i++) {
                use_sharding(list.list[i], damaged);
                shardy_restrict(list.list[i], "#sdy<manual_axes{\"a\", \"q\"}>", &module->arena);
            }
            shardy_shardings_finish(&list);
            read++;
        } else {
            ck_assert(err.code != ERROR_NONE);
        }
        ck_assert_msg(damage_seconds() - start < 1, "it takes a second: %s", damaged);
        free(damaged);
    }
    module_destroy(module);
    ck_assert_msg(mutations < 1000 || (read > 0 && read < mutations), "all or none were read");
}
END_TEST

/* Damaged meshes, and axes that are taken out of a good sharding. */
START_TEST(test_meshes)
{
    uint64_t mutations = damage_count();
    for (uint64_t number = 0; number < mutations; number++) {
        struct rng rng;
        damage_rng(&rng, number);
        size_t size = strlen(meshes);
        char *damaged = damage_copy(&rng, meshes, &size, false);
        struct error err = {0};
        struct module *module = text_read_module(damaged, size, "test", 1, &err);
        for (int i = 0; module != NULL && i < SHARDY; i++) {
            struct shardy_shardings list;
            if (shardy_read(module, shardy[i], &list, &err)) {
                for (int k = 0; k < list.count; k++) {
                    use_sharding(list.list[k], shardy[i]);
                }
                shardy_shardings_finish(&list);
            }
        }
        module_destroy(module);
        free(damaged);
        const char *axes = "#sdy<manual_axes{\"a\", \"b\"}>";
        const struct sharding *sharding;
        size = strlen(axes);
        damaged = damage_copy(&rng, axes, &size, true);
        struct module *holder = sharding_read(shardings[13], &sharding, &err);
        ck_assert_ptr_nonnull(holder);
        use_sharding(shardy_restrict(sharding, damaged, &holder->arena), damaged);
        module_destroy(holder);
        free(damaged);
    }
}
END_TEST

int main(void)
{
    printf("seed %llu\n", (unsigned long long)environment_number("REFEREE_SEED", 1));
    Suite *suite = suite_create("sharding_mutations");
    TCase *tests = tcase_create("mutations");
    tcase_set_timeout(tests, 1800);
    tcase_add_test(tests, test_shardings);
    tcase_add_test(tests, test_shardy);
    tcase_add_test(tests, test_meshes);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
