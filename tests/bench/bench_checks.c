/* Benchmark: the golden on files of StableHLO's tests. bench_checks FILE… prints one JSON object:
 * file → list of the seconds of the fastest evaluation of each part, null for one that cannot be
 * evaluated. Reading is not measured; what the checks ask for is computed, but not compared. */
#include <jansson.h>
#include <stdio.h>

#include "hlo/base/error.h"
#include "hlo/format.h"
#include "hlo/literal.h"
#include "interp/interp.h"
#include "tests/bench/measure.h"

#define PATIENCE 0.02

static struct literal *evaluate(const struct module *module, struct error *err)
{
    return interp_evaluate(module, NULL, 0, NULL, err);
}

static bool pass(void *context, const struct instruction *check, struct literal *const *operands,
                 int count, bool *holds, struct error *err)
{
    (void)context;
    (void)check;
    (void)operands;
    (void)count;
    (void)err;
    *holds = true;
    return true;
}

static json_t *part_time(const struct loaded_module *part)
{
    struct interp_options options = {.on_check = pass};
    double fastest = 0, total = 0;
    if (part->module == NULL) {
        return json_null();
    }
    while (total < PATIENCE) {
        struct error err = {0};
        double start = seconds_now();
        struct literal *result = interp_evaluate(part->module, NULL, 0, &options, &err);
        double seconds = seconds_now() - start;
        if (result == NULL) {
            return json_null();
        }
        literal_release(result);
        fastest = total == 0 || seconds < fastest ? seconds : fastest;
        total += seconds + 1e-6;
    }
    return json_real(fastest);
}

int main(int argc, char **argv)
{
    json_t *results = json_object();
    load_options.checks = MLIR_CHECKS_KEEP;
    load_options.evaluate = evaluate;
    for (int i = 1; i < argc; i++) {
        struct error err = {0};
        struct loaded_file file;
        json_t *times = json_array();
        if (module_load(argv[i], &file, &err)) {
            for (int k = 0; k < file.count; k++) {
                json_array_append_new(times, part_time(&file.modules[k]));
            }
            loaded_file_finish(&file);
        }
        json_object_set_new(results, argv[i], times);
    }
    json_dumpf(results, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(results);
    return 0;
}
