/* run_hlo_module: XLA's tool of that name, with its flags (xla/tools/run_hlo_module_main.cc). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "tools/commands.h"
#include "tools/modules.h"
#include "tools/run_job.h"
#include "tools/xla_platforms.h"

struct xla_flags {
    struct backend_flag *flags;
    size_t count, capacity;
};

/* Every --xla_… flag is passed on to the backend. */
static bool take_xla_flag(void *context, const char *name, const char *value)
{
    struct xla_flags *flags = context;
    if (strncmp(name, "xla_", 4) != 0) {
        return false;
    }
    flags->flags = grow(flags->flags, flags->count, &flags->capacity, sizeof *flags->flags);
    flags->flags[flags->count++] =
        (struct backend_flag){memory_strdup(name), value != NULL ? value : "true"};
    return true;
}

static int run(const struct string_list *paths, struct run_options *options)
{
    struct string_list files = {0};
    if (!expand_paths(paths, &files)) {
        return 1;
    }
    size_t counts[OUTCOME_COUNT] = {0}, unreadable = 0, bad;
    run_files(&files, options, counts, &unreadable);
    bad = unreadable;
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        bad += i != OUTCOME_PASS ? counts[i] : 0;
    }
    fprintf(stderr, "%zu/%zu runs failed.\n", bad, bad + counts[OUTCOME_PASS]);
    free_paths(&files);
    return bad > 0 ? 255 : 0;
}

int command_run_hlo_module(int argc, char **argv)
{
    const char *platform = "", *reference = "default", *input_literals = "";
    const char *output_literals = "", *ignored = NULL;
    bool random_inputs = true, test_passes = true, help = false;
    struct run_options o = {
        .iterations = 1, .seed = 42, .jobs = 1, .verify = true, .verbose = true};
    o.differential.tolerance = TOLERANCE_XLA;
    o.differential.abs_error_bound = 1e-3;
    o.differential.rel_error_bound = 1e-3;
    const struct option table[] = {
        {"platform", 0, OPTION_TEXT, &platform, "NAME",
         "backend under test: cpu, cuda, tpu, interpreter, or a URI (pjrt:PATH …)"},
        {"reference_platform", 0, OPTION_TEXT, &reference, "NAME",
         "what it is held against (default: the golden interpreter)"},
        {"print_literals", 0, OPTION_FLAG, &o.print_literals, NULL, "print arguments and results"},
        {"input_literals_file", 0, OPTION_TEXT, &input_literals, "FILE",
         "arguments: RunHloModuleLiterals"},
        {"output_literals_file", 0, OPTION_TEXT, &output_literals, "FILE",
         "write arguments and results as RunHloModuleLiterals"},
        {"run_test_hlo_passes", 0, OPTION_FLAG, &test_passes, NULL,
         "--run_test_hlo_passes=false: the module is optimised already"},
        {"run_reference_hlo_passes", 0, OPTION_IGNORED, &ignored, NULL,
         "accepted; the golden interpreter has no passes"},
        {"random_init_input_literals", 0, OPTION_FLAG, &random_inputs, NULL,
         "--random_init_input_literals=false: all arguments are zero"},
        {"use_large_float_range", 0, OPTION_FLAG, &o.differential.inputs.large_range, NULL,
         "draw floats over the whole exponent range"},
        {"abs_error_bound", 0, OPTION_REAL, &o.differential.abs_error_bound, "X",
         "absolute bound (default 1e-3)"},
        {"rel_error_bound", 0, OPTION_REAL, &o.differential.rel_error_bound, "X",
         "relative bound (default 1e-3)"},
        {"input_format", 0, OPTION_IGNORED, &ignored, NULL,
         "accepted; formats are told by content"},
        {"iterations", 0, OPTION_INT, &o.iterations, "N", "runs per module"},
        {"isolate_instructions", 0, OPTION_FLAG, &o.isolate, NULL,
         "run every instruction as a module of its own"},
        {"different_random_seeds", 0, OPTION_IGNORED, &ignored, NULL,
         "accepted; every iteration has its own seed"},
        {"help", 'h', OPTION_FLAG, &help, NULL, "this text"},
        {0}};
    struct xla_flags flags = {0};
    struct string_list paths = {0};
    struct option_table options = {table, take_xla_flag, &flags};
    if (!options_parse(&options, argc, argv, &paths)) {
        return 1;
    }
    const char *uri = platform_uri(platform), *reference_uri = platform_uri(reference);
    if (help || paths.count == 0 || uri == NULL || reference_uri == NULL) {
        fprintf(help ? stdout : stderr,
                "usage: run_hlo_module --platform=NAME MODULE…\n\n"
                "XLA's run_hlo_module on the golden interpreter and PJRT plugins. All --xla_… "
                "flags go to\nthe backend. Exit status 0 if all agree, 255 if not, 1 for bad "
                "usage.\n\n");
        if (help) {
            options_help(table);
        }
        return help ? 0 : 1;
    }
    string_list_add(&o.backends, uri);
    o.reference = reference_uri;
    if (input_literals[0] != '\0') {
        string_list_add(&o.inputs, input_literals);
    }
    o.save_literals = output_literals[0] != '\0' ? output_literals : NULL;
    o.differential.inputs.zeros = !random_inputs;
    o.backend.run_backend_only = !test_passes;
    o.backend.flags = flags.flags;
    o.backend.flag_count = (int)flags.count;
    char none[] = " --abs_error_bound 1e-3 --rel_error_bound 1e-3";
    o.repeat_options = none;
    int status = run(&paths, &o);
    for (size_t i = 0; i < flags.count; i++) {
        free((char *)flags.flags[i].name);
    }
    free(flags.flags);
    string_list_finish(&paths);
    string_list_finish(&o.backends);
    string_list_finish(&o.inputs);
    return status;
}
