/* Benchmark: our readers of text, HLO's and MLIR's, as the content says. bench_parse FILE… prints
 * one JSON object: file → seconds to parse it once and free what was made (the fastest run), or
 * {"error": text}. Reading the file is not measured. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/mlir/mlir_format.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "tests/bench/measure.h"

static void parse(const char *path, const char *text, size_t size, bool is_mlir, struct error *err)
{
    if (is_mlir) {
        mlir_file_destroy(mlir_parse(text, size, path, 1, err));
    } else {
        module_destroy(text_read_module(text, size, path, 1, err));
    }
}

static json_t *parse_time(const char *path)
{
    struct error err = {0};
    size_t size;
    char *text = file_read(path, &size, &err);
    bool is_mlir = text != NULL && mlir_is_text(text, size);
    struct measure measure = {0};
    while (text && err.code == ERROR_NONE && !measure_enough(&measure)) {
        double start = seconds_now();
        parse(path, text, size, is_mlir, &err);
        measure_add(&measure, seconds_now() - start);
    }
    free(text);
    if (err.code != ERROR_NONE) {
        return json_pack("{s:s}", "error", err.message);
    }
    return json_real(measure.fastest);
}

int main(int argc, char **argv)
{
    json_t *results = json_object();
    for (int i = 1; i < argc; i++) {
        json_object_set_new(results, argv[i], parse_time(argv[i]));
    }
    json_dumpf(results, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(results);
    return 0;
}
