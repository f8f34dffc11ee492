/* Public HLO texts: what XLA reads (MANIFEST.tsv, column jaxlib_parses) is read here, and both our
 * prints of it read back to an equal module. The data is ../shared/corpus-data beside the checkout
 * (or below REFEREE_SHARED); without it the test says so and passes. */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"

static char *shared_path(const char *name)
{
    static char path[4096];
    const char *shared = getenv("REFEREE_SHARED"), *source = getenv("REFEREE_SOURCE");
    if (shared != NULL) {
        snprintf(path, sizeof path, "%s/%s", shared, name);
    } else {
        snprintf(path, sizeof path, "%s/../shared/%s", source != NULL ? source : ".", name);
    }
    return path;
}

static void check_print(const struct module *module, const struct print_options *options,
                        const char *path)
{
    struct text out;
    text_init(&out);
    text_print_module(module, options, &out);
    struct error err = {0};
    struct module *again = text_read_module(out.data, out.size, "printed", 1, &err);
    if (again == NULL) {
        ck_abort_msg("%s: its print is refused: %d:%d: %s", path, err.line, err.column,
                     err.message);
    }
    if (!module_equal(module, again, &err)) {
        ck_abort_msg("%s reads back as another: %s", path, err.message);
    }
    module_destroy(again);
    text_finish(&out);
}

/* Reads a text and checks its prints; false, with *err, if it is refused. */
static bool check_text(const char *text, size_t size, const char *path, int line, struct error *err)
{
    struct module *module = text_read_module(text, size, path, line, err);
    if (module == NULL) {
        return false;
    }
    check_print(module, &print_canonical, path);
    check_print(module, &print_long, path);
    module_destroy(module);
    return true;
}

static bool is_blank(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)text[i] > ' ') {
            return false;
        }
    }
    return true;
}

/* The whole file, or else its parts between "// -----" lines: how many are read. */
static int count_read(const char *path)
{
    size_t size;
    struct error err = {0};
    char *data = file_read(path, &size, &err);
    if (data == NULL) {
        ck_abort_msg("%s", err.message);
    }
    int read = check_text(data, size, path, 1, &err);
    bool is_split = read == 0 && strstr(data, "\n// -----") != NULL;
    int line = 1;
    for (const char *at = data; is_split && at != NULL;) {
        const char *mark = strstr(at, "\n// -----");
        size_t length = mark != NULL ? (size_t)(mark - at) : strlen(at);
        struct error part_err = {0};
        if (!is_blank(at, length) && check_text(at, length, path, line, &part_err)) {
            read++;
        } else if (part_err.code != ERROR_NONE) {
            printf("%s:%d:%d: %s\n", path, part_err.line, part_err.column, part_err.message);
        }
        const char *next = mark != NULL ? strchr(mark + 1, '\n') : NULL;
        for (const char *c = at; next != NULL && c <= next; c++) {
            line += *c == '\n';
        }
        at = next;
    }
    if (read == 0) {
        printf("%s:%d:%d: %s\n", path, err.line, err.column, err.message);
    }
    free(data);
    return read;
}

START_TEST(manifest)
{
    size_t size;
    char *rows = file_read(shared_path("corpus-data/MANIFEST.tsv"), &size, NULL);
    if (rows == NULL) {
        printf("no public corpus at %s: nothing is tested\n", shared_path("corpus-data"));
        return;
    }
    int files = 0, failed = 0;
    char *save = NULL;
    for (char *row = strtok_r(rows, "\n", &save); row != NULL; row = strtok_r(NULL, "\n", &save)) {
        char local[1024], parses[32];
        if (sscanf(row, "%1023[^\t]\t%*[^\t]\t%*[^\t]\t%*[^\t]\t%31[^\t]", local, parses) != 2 ||
            strstr(local, ".hlo") == NULL) {
            continue;
        }
        char name[1200];
        snprintf(name, sizeof name, "corpus-data/%s", local);
        /* "y": all of it; "3/4": three of its parts; "n": none. */
        int expected = parses[0] == 'y' ? 1 : atoi(parses);
        int read = count_read(shared_path(name));
        files++;
        if (read < expected || (parses[0] == 'n' && read > 0)) {
            printf("%s: %d read, expected %s\n", local, read, parses);
            failed++;
        }
    }
    printf("%d texts of the corpus\n", files);
    ck_assert_int_eq(failed, 0);
    ck_assert_int_gt(files, 0);
    free(rows);
}
END_TEST

static void check_folder(const char *folder, int *files, int *failed)
{
    DIR *directory = opendir(folder);
    if (directory == NULL) {
        printf("no folder %s: not tested\n", folder);
        return;
    }
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length < 4 || strcmp(entry->d_name + length - 4, ".hlo") != 0) {
            continue;
        }
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        (*files)++;
        *failed += count_read(path) == 0;
    }
    closedir(directory);
}

/* Modules lowered from StableHLO's tests, and XLA's bugs: jaxlib wrote them all. */
START_TEST(lowered)
{
    static const char *const folders[] = {"corpus-data/golden/interpret",
                                          "corpus-data/golden/testdata", "facts/bugs"};
    int files = 0, failed = 0;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        check_folder(shared_path(folders[i]), &files, &failed);
    }
    printf("%d lowered texts\n", files);
    ck_assert_int_eq(failed, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text_corpus");
    TCase *all = tcase_create("text_corpus");
    tcase_set_timeout(all, 800);
    tcase_add_test(all, manifest);
    tcase_add_test(all, lowered);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
