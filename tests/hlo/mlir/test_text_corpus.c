/* Public MLIR texts, all of them: each is read, its print reads back to an equal file, and that
 * prints as the same text. The data is ../shared/corpus-data/stablehlo beside the checkout (or
 * below REFEREE_SHARED); without it the test says so and passes. REFEREE_PRINTED names a folder
 * that gets each part as it is (N.P.mlir) and as it is printed (N.P.generic), for compare_text.py.
 */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "hlo/mlir/mlir_format.h"

static int files, parts;

static void keep(const char *ending, const char *data, size_t size)
{
    const char *folder = getenv("REFEREE_PRINTED");
    if (folder != NULL) {
        char path[4096];
        struct error err = {0};
        snprintf(path, sizeof path, "%s/%d.%d.%s", folder, files, parts, ending);
        ck_assert_msg(file_write(path, data, size, &err), "%s", err.message);
    }
}

static void check_part(const char *text, size_t size, const char *path, int line)
{
    struct error err = {0};
    struct mlir_file *file = mlir_parse(text, size, path, line, &err);
    ck_assert_msg(file != NULL, "%s:%d:%d: %s", path, err.line, err.column, err.message);
    struct text first, second;
    text_init(&first);
    text_init(&second);
    mlir_print(file, &first);
    struct mlir_file *again = mlir_parse(first.data, first.size, path, 1, &err);
    ck_assert_msg(again != NULL, "%s, printed:%d:%d: %s", path, err.line, err.column, err.message);
    ck_assert_msg(mlir_file_equal(file, again, &err), "%s: %s", path, err.message);
    mlir_print(again, &second);
    ck_assert_msg(strcmp(first.data, second.data) == 0, "%s prints in two ways", path);
    keep("mlir", text, size);
    keep("generic", first.data, first.size);
    parts++;
    mlir_file_destroy(file);
    mlir_file_destroy(again);
    text_finish(&first);
    text_finish(&second);
}

/* The parts between lines "// -----". */
static void check_file(const char *path)
{
    struct error err = {0};
    size_t size;
    char *data = file_read(path, &size, &err);
    ck_assert_msg(data != NULL, "%s", err.message);
    ck_assert_msg(mlir_is_text(data, size), "%s is not seen as MLIR", path);
    int line = 1;
    for (char *at = data; at != NULL;) {
        char *end = strstr(at, "\n// -----");
        size_t length = end != NULL ? (size_t)(end - at) : strlen(at);
        /* The part alone, with its zero. */
        char *part = memory_alloc(length + 1);
        memcpy(part, at, length);
        part[length] = '\0';
        check_part(part, length, path, line);
        free(part);
        char *next = end != NULL ? strchr(end + 1, '\n') : NULL;
        for (; next != NULL && at < next; at++) {
            line += *at == '\n';
        }
        at = next;
    }
    free(data);
    files++;
}

static void check_folder(const char *folder)
{
    DIR *directory = opendir(folder);
    if (directory == NULL) {
        return;
    }
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        size_t length = strlen(path);
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
            check_folder(path);
        } else if (length > 5 && strcmp(path + length - 5, ".mlir") == 0) {
            check_file(path);
        }
    }
    closedir(directory);
}

START_TEST(corpus)
{
    const char *shared = getenv("REFEREE_SHARED"), *source = getenv("REFEREE_SOURCE");
    char folder[4096];
    if (shared != NULL) {
        snprintf(folder, sizeof folder, "%s/corpus-data/stablehlo", shared);
    } else {
        snprintf(folder, sizeof folder, "%s/../shared/corpus-data/stablehlo",
                 source != NULL ? source : ".");
    }
    check_folder(folder);
    if (files == 0) {
        printf("no public texts at %s: nothing is checked\n", folder);
    } else {
        printf("%d files, %d parts\n", files, parts);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mlir_text_corpus");
    TCase *corpus_case = tcase_create("corpus");
    tcase_set_timeout(corpus_case, 600);
    tcase_add_test(corpus_case, corpus);
    suite_add_tcase(suite, corpus_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
