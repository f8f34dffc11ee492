/* Damaged HLO text: truncated, with flipped bits, with parts cut, doubled and moved. The reader
 * must refuse it or read it, in less than a second; what it reads must print and read back to an
 * equal module. REFEREE_MUTATIONS sets how many (2000 by default), REFEREE_SEED the seed, which is
 * printed first. Texts are the golden ones, and small files of the public corpus
 * (../shared/corpus-data, or below REFEREE_SHARED) where it is there. */
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "tests/damage.h"

/* Whether the text was read. */
static bool check_one(const char *data, size_t size, const char *path, long number)
{
    struct error err = {0};
    double start = damage_seconds();
    struct module *module = text_read_module(data, size, path, 1, &err);
    double took = damage_seconds() - start;
    ck_assert_msg(took < 1.0, "mutation %ld of %s takes %.1f s", number, path, took);
    if (module == NULL) {
        ck_assert_msg(err.code != ERROR_NONE, "mutation %ld of %s: refused without an error",
                      number, path);
        return false;
    }
    struct text printed;
    text_init(&printed);
    text_print_module(module, &print_canonical, &printed);
    struct module *again = text_read_module(printed.data, printed.size, "printed", 1, &err);
    ck_assert_msg(again != NULL, "mutation %ld of %s: its print is refused: %d:%d: %s", number,
                  path, err.line, err.column, err.message);
    ck_assert_msg(module_equal(module, again, &err),
                  "mutation %ld of %s: reads back as another: %s", number, path, err.message);
    module_destroy(again);
    module_destroy(module);
    text_finish(&printed);
    return true;
}

START_TEST(mutations)
{
    struct damage_texts texts = {0};
    damage_collect_source(&texts, "tests/hlo/golden");
    damage_collect_public(&texts, "hlo", ".hlo");
    literal_set_memory_limit((size_t)64 << 20);
    damage_read_texts(&texts, false, check_one);
    literal_set_memory_limit(0);
    damage_texts_finish(&texts);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text_mutations");
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
