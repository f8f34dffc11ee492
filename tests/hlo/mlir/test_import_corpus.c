/* All static files of StableHLO's own tests (../shared/corpus-data/stablehlo, or below
 * REFEREE_SHARED): every function whose arguments have known shapes becomes HLO, and that of the
 * files of one program each (testdata) is without findings. */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/mlir/mlir_format.h"
#include "hlo/verify.h"

static int translated, open, wrong;

static void complain(const char *path, const char *name, const char *what)
{
    fprintf(stderr, "%s, @%s: %s\n", path, name, what);
    wrong++;
}

static void translate(struct mlir_file *file, const char *path, const char *name, bool verifies)
{
    struct mlir_import_options options = {.entry = name, .checks = MLIR_CHECKS_KEEP};
    struct error err = {0};
    struct module *module = mlir_import(file, &options, &err);
    struct findings findings = {0};
    if (module == NULL && strstr(err.message, "must be a constant") != NULL) {
        open++; /* a shape is computed: here is nothing that evaluates */
    } else if (module == NULL) {
        complain(path, name, err.message);
    } else if (verifies && !verify_module(module, &findings)) {
        complain(path, name, findings.list[0].text);
    }
    findings_finish(&findings);
    module_destroy(module);
    translated++;
}

static void translate_all(struct mlir_file *file, const char *path, bool verifies)
{
    const struct mlir_block *block = file->module->regions[0].blocks[0];
    for (int i = 0; i < block->count; i++) {
        const struct mlir_op *op = block->ops[i];
        const struct mlir_attr *name = mlir_op_attr(op, "sym_name");
        if (op->opcode == MLIR_OP_FUNC && name != NULL && !mlir_function_is_dynamic(op)) {
            translate(file, path, name->string.data, verifies);
        }
    }
}

/* Each part between lines of dashes is a file. */
static void read_parts(const char *path, bool verifies)
{
    struct error err = {0};
    size_t size;
    char *text = file_read(path, &size, &err);
    ck_assert_msg(text != NULL, "%s", err.message);
    for (char *part = text, *next; part != NULL; part = next) {
        next = strstr(part, "\n// -----");
        if (next != NULL) {
            *next = '\0';
            next = strchr(next + 1, '\n');
        }
        error_clear(&err);
        struct mlir_file *file = mlir_parse(part, strlen(part), path, 1, &err);
        if (file == NULL) {
            complain(path, "", err.message);
            continue;
        }
        translate_all(file, path, verifies);
        mlir_file_destroy(file);
    }
    free(text);
}

static void read_folder(const char *name, bool verifies)
{
    char folder[2048], path[4096];
    const char *source = getenv("REFEREE_SOURCE"), *shared = getenv("REFEREE_SHARED");
    if (shared != NULL) {
        snprintf(folder, sizeof folder, "%s/corpus-data/stablehlo/%s", shared, name);
    } else {
        snprintf(folder, sizeof folder, "%s/../shared/corpus-data/stablehlo/%s",
                 source != NULL ? source : ".", name);
    }
    DIR *directory = opendir(folder);
    if (directory == NULL) {
        printf("no public data at %s: nothing is translated\n", folder);
        return;
    }
    translated = open = wrong = 0;
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        size_t size = strlen(entry->d_name);
        if (size > 5 && strcmp(entry->d_name + size - 5, ".mlir") == 0) {
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            read_parts(path, verifies);
        }
    }
    closedir(directory);
    printf("%s: %d functions, %d with computed shapes, %d wrong\n", name, translated, open, wrong);
    ck_assert_int_gt(translated, 10);
    ck_assert_int_le(open, 1);
    ck_assert_int_eq(wrong, 0);
}

/* A function that is meant for several devices cannot be verified by itself. */
START_TEST(test_interpret)
{
    read_folder("interpret", false);
}
END_TEST

START_TEST(test_interpret_chlo)
{
    read_folder("interpret/chlo", true);
}
END_TEST

START_TEST(test_testdata)
{
    read_folder("testdata", true);
}
END_TEST

START_TEST(test_quantized)
{
    read_folder("testdata/quantized", true);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hlo/mlir/import_corpus");
    TCase *tests = tcase_create("corpus");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, test_interpret);
    tcase_add_test(tests, test_interpret_chlo);
    tcase_add_test(tests, test_testdata);
    tcase_add_test(tests, test_quantized);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
