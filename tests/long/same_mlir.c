/* Are files the same module? Reads pairs of paths from standard input, a tab between them and one
 * pair a line; each may be MLIR text or bytecode. Prints the pairs that differ or cannot be read,
 * and closes with "<n> passed, <m> failed". `same_mlir --generic FILE` prints a file in generic
 * form. Used by artifacts.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "hlo/mlir/mlir_format.h"

static struct mlir_file *read_any(const char *path, struct error *err)
{
    size_t size;
    char *data = file_read(path, &size, err);
    if (data == NULL) {
        return NULL;
    }
    struct mlir_file *file = mlir_is_bytecode(data, size)
                                 ? mlir_read_bytecode(data, size, path, err)
                                 : mlir_parse(data, size, path, 1, err);
    free(data);
    return file;
}

static bool say(const char *a, const char *b, const struct error *err)
{
    printf("%s\t%s\t", a, b);
    if (err->line > 0) {
        printf("%d:%d: ", err->line, err->column);
    }
    puts(err->message);
    return false;
}

static bool are_same(const char *a, const char *b)
{
    struct error err = {0};
    struct mlir_file *first = read_any(a, &err);
    struct mlir_file *second = first == NULL ? NULL : read_any(b, &err);
    bool same = second != NULL && mlir_file_equal(first, second, &err);
    mlir_file_destroy(first);
    mlir_file_destroy(second);
    return same || say(a, b, &err);
}

static int print_generic(const char *path)
{
    struct error err = {0};
    struct mlir_file *file = read_any(path, &err);
    if (file == NULL) {
        say(path, path, &err);
        return EXIT_FAILURE;
    }
    struct text text;
    text_init(&text);
    mlir_print(file, &text);
    fwrite(text.data, 1, text.size, stdout);
    text_finish(&text);
    mlir_file_destroy(file);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--generic") == 0) {
        return print_generic(argv[2]);
    }
    static char line[8192];
    int passed = 0, failed = 0;
    while (fgets(line, sizeof line, stdin) != NULL) {
        char *tab = strchr(line, '\t');
        line[strcspn(line, "\n")] = '\0';
        if (tab == NULL) {
            fprintf(stderr, "no tab in \"%s\"\n", line);
            return EXIT_FAILURE;
        }
        *tab = '\0';
        if (are_same(line, tab + 1)) {
            passed++;
        } else {
            failed++;
        }
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
