/* Damaged portable artifacts: the reader must refuse them with an error, or read something that can
 * be printed, but never crash or hang. REFEREE_MUTATIONS is their number (2000), REFEREE_SEED the
 * seed. To be run under ASan and UBSan. */
#include "hlo/base/text.h"
#include "hlo/mlir/mlir_format.h"
#include "tests/damage.h"

enum { ARTIFACTS_MOST = 256 };

static struct artifact {
    char *name, *data;
    size_t size;
} artifacts[ARTIFACTS_MOST];
static int artifact_count;

static int compare_artifacts(const void *a, const void *b)
{
    return strcmp(((const struct artifact *)a)->name, ((const struct artifact *)b)->name);
}

static void collect_artifacts(void)
{
    char folder[4096], path[8192];
    const char *source = getenv("REFEREE_SOURCE");
    snprintf(folder, sizeof folder, "%s/tests/hlo/mlir/fixtures/vhlo",
             source != NULL ? source : ".");
    DIR *open = opendir(folder);
    ck_assert_ptr_nonnull(open);
    for (struct dirent *entry; (entry = readdir(open)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length > 3 && strcmp(entry->d_name + length - 3, ".bc") == 0) {
            struct artifact *artifact = &artifacts[artifact_count++];
            struct error err = {0};
            ck_assert_int_le(artifact_count, ARTIFACTS_MOST);
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            artifact->name = memory_strdup(entry->d_name);
            artifact->data = file_read(path, &artifact->size, &err);
            ck_assert_msg(artifact->data != NULL, "%s", err.message);
        }
    }
    closedir(open);
    ck_assert_int_gt(artifact_count, 0);
    qsort(artifacts, (size_t)artifact_count, sizeof *artifacts, compare_artifacts);
}

static void free_artifacts(void)
{
    for (int i = 0; i < artifact_count; i++) {
        free(artifacts[i].name);
        free(artifacts[i].data);
    }
}

/* One to four bytes become others, most often small numbers as MLIR writes them, so that the
 * sections stay what they are and what is in them goes wrong. */
static void damage_in_place(struct rng *rng, char *data, size_t size)
{
    for (uint64_t changes = 1 + rng_below(rng, 4); changes > 0; changes--) {
        uint64_t byte = rng_below(rng, 4) == 0 ? rng_below(rng, 256) : 2 * rng_below(rng, 48) + 1;
        data[rng_below(rng, size)] = (char)byte;
    }
}

static void read_damaged(const char *name, const char *data, size_t size)
{
    struct error err = {0};
    struct mlir_file *file = mlir_read_bytecode(data, size, name, &err);
    if (file == NULL) {
        ck_assert_int_ne(err.code, ERROR_NONE);
        ck_assert_int_ne(err.code, ERROR_INTERNAL);
        return;
    }
    struct text text;
    text_init(&text);
    mlir_print(file, &text);
    text_finish(&text);
    mlir_file_destroy(file);
}

START_TEST(test_mutations)
{
    collect_artifacts();
    for (uint64_t i = 0; i < damage_count(); i++) {
        const struct artifact *artifact = &artifacts[i % (uint64_t)artifact_count];
        struct rng rng;
        damage_rng(&rng, i);
        size_t room = artifact->size + 256, size = artifact->size;
        char *work = memory_alloc(room);
        memcpy(work, artifact->data, size);
        if (rng_below(&rng, 4) == 0) {
            size = damage_bytes(&rng, work, size, room);
        } else {
            damage_in_place(&rng, work, size);
        }
        char *exact = memory_alloc(size > 0 ? size : 1);
        memcpy(exact, work, size);
        double start = damage_seconds();
        read_damaged(artifact->name, exact, size);
        double taken = damage_seconds() - start;
        ck_assert_msg(taken < 5, "mutation %llu of %s took %.1f s", (unsigned long long)i,
                      artifact->name, taken);
        free(exact);
        free(work);
    }
    free_artifacts();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("vhlo_mutations");
    TCase *tests = tcase_create("mutations");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, test_mutations);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
