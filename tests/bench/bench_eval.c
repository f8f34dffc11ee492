/* Benchmark: a backend running modules. bench_eval URI FILE… prints one JSON object: file → seconds
 * of its fastest run on the backend, or {"error": text}. Reading, drawing inputs and compiling are
 * not measured. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/backend.h"
#include "compare/inputs.h"
#include "hlo/base/error.h"
#include "hlo/format.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "tests/bench/measure.h"

#define ITERATIONS_MOST 1000

static json_t *refusal(const char *text)
{
    return json_pack("{s:s}", "error", text);
}

/* Once to see how long it takes, then as often as fits. */
static json_t *module_time(struct backend *backend, const struct module *module,
                           struct literal *const *arguments)
{
    int count = module->entry->parameter_count;
    struct run_result result;
    backend_run(backend, module, arguments, count, 1, 1, &result);
    double seconds = result.run_seconds;
    if (result.outcome == OUTCOME_PASS && seconds < MEASURE_PATIENCE) {
        run_result_finish(&result);
        int iterations = seconds > MEASURE_PATIENCE / ITERATIONS_MOST
                             ? (int)(MEASURE_PATIENCE / seconds) + 1
                             : ITERATIONS_MOST;
        backend_run(backend, module, arguments, count, 1, iterations, &result);
        seconds = result.run_seconds;
    }
    json_t *answer = result.outcome == OUTCOME_PASS ? json_real(seconds) : refusal(result.message);
    run_result_finish(&result);
    return answer;
}

static json_t *file_time(struct backend *backend, const char *path)
{
    struct error err = {0};
    struct loaded_file file;
    if (!module_load(path, &file, &err)) {
        return refusal(err.message);
    }
    json_t *answer = NULL;
    if (file.count != 1 || file.modules[0].module == NULL) {
        answer = refusal("not one module");
    } else {
        const struct module *module = file.modules[0].module;
        int count = module->entry->parameter_count;
        struct literal **arguments = calloc((size_t)count + 1, sizeof *arguments);
        struct input_options options = {.seed = 1};
        if (inputs_generate(module, &options, arguments, NULL, &err)) {
            answer = module_time(backend, module, arguments);
        } else {
            answer = refusal(err.message);
        }
        for (int i = 0; i < count; i++) {
            literal_release(arguments[i]);
        }
        free(arguments);
    }
    loaded_file_finish(&file);
    return answer;
}

int main(int argc, char **argv)
{
    backend_worker_main_if_asked(argc, argv);
    if (argc < 2) {
        fprintf(stderr, "usage: bench_eval URI FILE...\n");
        return 2;
    }
    struct error err = {0};
    struct backend_options options = {.timeout = 600};
    struct backend *backend = backend_open(argv[1], &options, &err);
    if (backend == NULL) {
        fprintf(stderr, "bench_eval: %s\n", err.message);
        return 3;
    }
    json_t *results = json_object();
    for (int i = 2; i < argc; i++) {
        json_object_set_new(results, argv[i], file_time(backend, argv[i]));
    }
    json_dumpf(results, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(results);
    backend_close(backend);
    return 0;
}
