/* Damaged MLIR text: truncated, with flipped bits, with parts cut, doubled and moved. The reader
 * must refuse it with a place, or read it, in less than a second; what it reads must print, and
 * read back to an equal file. REFEREE_MUTATIONS sets how many (2000 by default), REFEREE_SEED the
 * seed, which is printed first. Texts are our fixtures, and small files of the public corpus
 * (../shared/corpus-data, or below REFEREE_SHARED) where it is there. */
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/mlir/mlir_format.h"
#include "tests/damage.h"

/* Whether the text was read. */
static bool check_one(const char *data, size_t size, const char *path, long number)
{
    struct error err = {0};
    double start = damage_seconds();
    struct mlir_file *file = mlir_parse(data, size, path, 1, &err);
    double took = damage_seconds() - start;
    ck_assert_msg(took < 1.0, "mutation %ld of %s takes %.1f s", number, path, took);
    mlir_is_text(data, size);
    if (file == NULL) {
        ck_assert_msg(err.code != ERROR_NONE && err.line > 0,
                      "mutation %ld of %s: refused without a place", number, path);
        return false;
    }
    struct text printed;
    text_init(&printed);
    mlir_print(file, &printed);
    struct mlir_file *again = mlir_parse(printed.data, printed.size, "printed", 1, &err);
    ck_assert_msg(again != NULL, "mutation %ld of %s: its print is refused: %d:%d: %s", number,
                  path, err.line, err.column, err.message);
    ck_assert_msg(mlir_file_equal(file, again, &err),
                  "mutation %ld of %s: reads back as another: %s", number, path, err.message);
    mlir_file_destroy(again);
    mlir_file_destroy(file);
    text_finish(&printed);
    return true;
}

START_TEST(mutations)
{
    struct damage_texts texts = {0};
    damage_collect_source_files(&texts, "tests/hlo/mlir/fixtures", ".mlir");
    damage_collect_source_files(&texts, "tests/hlo/mlir/fixtures", ".generic");
    damage_collect_public(&texts, "stablehlo/interpret", ".mlir");
    damage_read_texts(&texts, true, check_one);
    damage_texts_finish(&texts);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mlir_text_mutations");
    TCase *mutation_case = tcase_create("mutations");
    tcase_set_timeout(mutation_case, 900);
    tcase_add_test(mutation_case, mutations);
    suite_add_tcase(suite, mutation_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
