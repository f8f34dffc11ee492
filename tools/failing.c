/* A module that fails, from the command line. */
#include "tools/failing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/shrink.h"
#include "corpus/case.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/format.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "tools/arguments.h"
#include "tools/modules.h"

bool failing_set(struct failing *failing)
{
    struct differential_options *options = &failing->differential;
    if (failing->abs >= 0 || failing->rel >= 0) {
        options->tolerance = TOLERANCE_XLA;
    }
    options->abs_error_bound = failing->abs >= 0 ? failing->abs : 1e-3;
    options->rel_error_bound = failing->rel >= 0 ? failing->rel : 1e-3;
    options->inputs.seed = (uint64_t)failing->seed; /* also of samples of roundings, as in run */
    if (failing->tolerance != NULL &&
        !tolerance_kind_find(failing->tolerance, &options->tolerance)) {
        fprintf(stderr, "referee: --tolerance takes default, derived, xla or bits\n");
        return false;
    }
    options->profile = failing->profile != NULL ? profile_find(failing->profile) : NULL;
    if (failing->profile != NULL && options->profile == NULL) {
        fprintf(stderr, "referee: there is no profile '%s'; 'referee show backends' lists them\n",
                failing->profile);
        return false;
    }
    return true;
}

/* The part's module with its arguments, as a specimen of its own. */
static bool make_specimen(struct failing *failing, struct loaded_module *part,
                          const struct arguments *arguments, struct specimen *specimen,
                          struct error *err)
{
    int count = part->module->entry->parameter_count;
    struct specimen borrowed = {.module = part->module, .argument_count = count};
    int devices = specimen_devices(&borrowed), given = arguments->count;
    bool drawn = given == 0 && count > 0;
    failing->drawn = drawn;
    borrowed.set_count = drawn || (given == count * devices && given > 0) ? devices : 1;
    borrowed.arguments =
        memory_zalloc(((size_t)specimen_argument_total(&borrowed) + 1) * sizeof(struct literal *));
    bool ok = drawn || given == specimen_argument_total(&borrowed) ||
              error_set(err, ERROR_INVALID_ARGUMENT,
                        "%d arguments are given for %d parameters on %d device%s", given, count,
                        devices, devices == 1 ? "" : "s");
    for (int i = 0; ok && i < given; i++) {
        borrowed.arguments[i] = literal_retain(arguments->literals[i]);
    }
    for (int d = 0; ok && drawn && d < specimen_sets(&borrowed); d++) { /* as in a run */
        struct input_options inputs = failing->drawing;
        inputs.seed = (uint64_t)failing->seed + ((uint64_t)d << 32);
        inputs.tameness = (int)failing->tameness;
        ok = inputs_generate(part->module, &inputs, borrowed.arguments + d * count, NULL, err);
    }
    ok = ok && specimen_copy(&borrowed, specimen, err);
    borrowed.module = NULL;
    specimen_finish(&borrowed);
    return ok;
}

bool failing_load(struct failing *failing, const char *path, struct specimen *specimen,
                  struct error *err)
{
    struct loaded_file file;
    struct case_header header = {0};
    struct arguments arguments = {0};
    if (!module_load(path, &file, err)) {
        return false;
    }
    struct loaded_module *part = &file.modules[0];
    bool ok = file.count == 1 ||
              error_set(err, ERROR_INVALID_ARGUMENT, "%s holds %d modules; one at a time is taken",
                        path, file.count);
    if (ok && part->error != NULL) {
        *err = *part->error;
        ok = false;
    }
    ok = ok && case_header_read(part->header, part->name, &header, err) &&
         arguments_find(part, &header, &failing->inputs, 0, &arguments, err) &&
         make_specimen(failing, part, &arguments, specimen, err);
    arguments_finish(&arguments);
    case_header_finish(&header);
    loaded_file_finish(&file);
    return ok;
}

bool failing_draw_tamer(struct failing *failing, const char *path, struct backend *backend,
                        struct backend *reference, struct specimen *specimen)
{
    if (!failing->drawn || failing->tameness > 0) {
        return false;
    }
    struct differential_options options = failing->differential;
    options.inputs = failing->drawing;
    options.inputs.seed = (uint64_t)failing->seed;
    struct differential_result result;
    differential_run(specimen->module, backend, reference, &options, &result);
    struct failure_signature signature;
    failure_signature_of(&result, &signature);
    bool fails = result.tameness > 0 && failure_signature_fails(&signature);
    int tameness = result.tameness;
    failure_signature_finish(&signature);
    differential_result_finish(&result);
    if (!fails) {
        return false;
    }
    fprintf(stderr, "referee: arguments are drawn from a tamer range, as in a run: --tameness %d\n",
            tameness);
    struct specimen tamer;
    struct error err = {0};
    failing->tameness = tameness;
    if (!failing_load(failing, path, &tamer, &err)) {
        print_error(&err);
        return false;
    }
    specimen_finish(specimen);
    *specimen = tamer;
    return true;
}

struct backend *failing_open(const struct failing *failing, const char *uri, double timeout,
                             struct error *err)
{
    struct backend_flag *flags = flags_make(&failing->flags);
    struct backend_options options = {.timeout = timeout,
                                      .loop_iterations = failing->loop_iterations,
                                      .flags = flags,
                                      .flag_count = (int)failing->flags.count,
                                      .poison = failing->poison,
                                      .run_backend_only = failing->backend_only,
                                      .memory_limit = failing->worker_memory};
    struct backend *backend = backend_open(uri, &options, err);
    flags_free(flags, failing->flags.count);
    return backend;
}

void failing_repeat(const struct failing *failing, struct text *out)
{
    for (size_t i = 0; i < failing->flags.count; i++) {
        text_append(out, " --option ");
        text_shell(out, failing->flags.items[i]);
    }
    if (failing->tolerance != NULL) {
        text_printf(out, " --tolerance %s", failing->tolerance);
    }
    if (failing->abs >= 0) {
        text_printf(out, " --abs_error_bound %g", failing->abs);
    }
    if (failing->rel >= 0) {
        text_printf(out, " --rel_error_bound %g", failing->rel);
    }
    if (failing->profile != NULL) {
        text_printf(out, " --profile %s", failing->profile);
    }
    if (failing->worker_memory > 0) {
        text_printf(out, " --worker-memory %zu", failing->worker_memory);
    }
    text_append(out, failing->poison ? " --poison" : "");
    text_append(out, failing->backend_only ? " --backend-only" : "");
}

void failing_finish(struct failing *failing)
{
    string_list_finish(&failing->inputs);
    string_list_finish(&failing->flags);
}
