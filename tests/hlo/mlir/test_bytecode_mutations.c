/* Damaged MLIR bytecode, of all versions of the format (VHLO has its own test): the reader must
 * refuse it with an error, or read it, in less than a second; what it reads can be printed, and
 * equals itself. REFEREE_MUTATIONS sets how many (2000 by default), REFEREE_SEED the seed, which is
 * printed first. */
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/mlir/mlir_format.h"
#include "tests/damage.h"

enum { FILES_MOST = 256 };

static struct bytecode_file {
    char *name, *data;
    size_t size;
} files[FILES_MOST];
static int file_count;

static int name_order(const void *a, const void *b)
{
    return strcmp(((const struct bytecode_file *)a)->name, ((const struct bytecode_file *)b)->name);
}

static void collect(void)
{
    const char *source = getenv("REFEREE_SOURCE");
    char folder[4096], path[8192];
    snprintf(folder, sizeof folder, "%s/tests/hlo/mlir/fixtures/bytecode",
             source != NULL ? source : ".");
    DIR *directory = opendir(folder);
    ck_assert_msg(directory != NULL, "no folder %s", folder);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length > 3 && strcmp(entry->d_name + length - 3, ".bc") == 0) {
            struct bytecode_file *file = &files[file_count++];
            ck_assert_int_le(file_count, FILES_MOST);
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            file->name = memory_strdup(entry->d_name);
            file->data = file_read(path, &file->size, NULL);
            ck_assert_msg(file->data != NULL, "%s", path);
        }
    }
    closedir(directory);
    ck_assert_int_gt(file_count, 0);
    qsort(files, (size_t)file_count, sizeof *files, name_order);
}

/* Whether it was read. */
static bool check_one(const char *data, size_t size, const char *name, long number)
{
    struct error err = {0};
    double start = damage_seconds();
    struct mlir_file *file = mlir_read_bytecode(data, size, name, &err);
    double took = damage_seconds() - start;
    ck_assert_msg(took < 1.0, "mutation %ld of %s takes %.1f s", number, name, took);
    if (file == NULL) {
        ck_assert_msg(err.code != ERROR_NONE, "mutation %ld of %s: refused without an error",
                      number, name);
        return false;
    }
    struct text printed;
    text_init(&printed);
    mlir_print(file, &printed);
    ck_assert_msg(mlir_file_equal(file, file, &err), "mutation %ld of %s is not itself: %s", number,
                  name, err.message);
    text_finish(&printed);
    mlir_file_destroy(file);
    return true;
}

/* One to three bytes become small numbers, which as often as not are indices of something: the
 * sections stay where they are. */
static size_t damage_in_place(struct rng *rng, char *data, size_t size)
{
    for (uint64_t changes = 1 + rng_below(rng, 3); changes > 0; changes--) {
        data[rng_below(rng, size)] = (char)rng_below(rng, 64);
    }
    return size;
}

START_TEST(mutations)
{
    uint64_t count = damage_count(), read = 0;
    printf("seed %llu, %llu mutations\n", (unsigned long long)environment_number("REFEREE_SEED", 1),
           (unsigned long long)count);
    collect();
    for (uint64_t number = 0; number < count; number++) {
        struct rng rng;
        damage_rng(&rng, number);
        uint64_t choice = rng_below(&rng, (uint64_t)file_count);
        size_t size = files[choice].size, room = size + 128;
        char *damaged = memory_alloc(room), *exact;
        memcpy(damaged, files[choice].data, size);
        size = rng_below(&rng, 2) == 0 ? damage_bytes(&rng, damaged, size, room)
                                       : damage_in_place(&rng, damaged, size);
        exact = memory_alloc(size + (size == 0)); /* for a sanitizer to see its end */
        memcpy(exact, damaged, size);
        read += check_one(exact, size, files[choice].name, (long)number);
        free(damaged);
        free(exact);
    }
    printf("%d files; %llu of their damaged copies were read\n", file_count,
           (unsigned long long)read);
    ck_assert_msg(count < 1000 || (read > 0 && read < count), "all or none were read");
    for (int i = 0; i < file_count; i++) {
        free(files[i].name);
        free(files[i].data);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bytecode_mutations");
    TCase *tcase = tcase_create("mutations");
    tcase_set_timeout(tcase, 1800);
    tcase_add_test(tcase, mutations);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
