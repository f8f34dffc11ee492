/* referee run: modules on a backend and on the golden, and whether they agree. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/text.h"
#include "hlo/format.h"
#include "hlo/literal.h"
#include "tools/commands.h"
#include "tools/modules.h"
#include "tools/run_job.h"

/* What the table of options fills besides struct run_options. */
struct words {
    const char *tolerance, *profile, *via, *entry;
    struct string_list flags; /* --option NAME=VALUE */
    double abs, rel;
    int64_t replicas, partitions;
    bool help;
};

static bool set_tolerance(const struct words *words, struct run_options *options)
{
    if (words->abs >= 0 || words->rel >= 0) {
        options->differential.tolerance = TOLERANCE_XLA;
    }
    options->differential.abs_error_bound = words->abs >= 0 ? words->abs : 1e-3;
    options->differential.rel_error_bound = words->rel >= 0 ? words->rel : 1e-3;
    if (words->tolerance == NULL ||
        tolerance_kind_find(words->tolerance, &options->differential.tolerance)) {
        return true;
    }
    fprintf(stderr, "referee: --tolerance takes default, derived, xla or bits\n");
    return false;
}

static bool set_profile(const struct words *words, struct run_options *options)
{
    if (words->profile == NULL) {
        return true;
    }
    options->differential.profile = profile_find(words->profile);
    if (options->differential.profile == NULL) {
        fprintf(stderr, "referee: there is no profile '%s'; 'referee show backends' lists them\n",
                words->profile);
        return false;
    }
    return true;
}

static bool set_devices(const struct words *words, struct run_options *options)
{
    if (words->replicas < 0 || words->partitions < 0 || words->replicas > DEVICES_MOST ||
        words->partitions > DEVICES_MOST || words->replicas * words->partitions > DEVICES_MOST) {
        fprintf(stderr, "referee: --replicas and --partitions take 1 to %d devices together\n",
                DEVICES_MOST);
        return false;
    }
    options->differential.replica_count = (int)words->replicas;
    options->differential.partition_count = (int)words->partitions;
    return true;
}

static bool set_via(const struct words *words, struct run_options *options)
{
    load_options.entry = words->entry;
    if (words->via == NULL) {
        return true;
    }
    options->names_side = load_options.keep_mlir = true;
    options->backend.via_mlir = strcmp(words->via, "mlir") == 0;
    if (!options->backend.via_mlir && strcmp(words->via, "hlo") != 0) {
        fprintf(stderr, "referee: --via takes mlir or hlo\n");
        return false;
    }
    return true;
}

static void append_flag(const char *name, bool set, struct text *out)
{
    if (set) {
        text_printf(out, " --%s", name);
    }
}

static void append_files(const char *name, const struct string_list *files, struct text *out)
{
    for (size_t i = 0; i < files->count; i++) {
        text_printf(out, " --%s ", name);
        text_quoted(out, files->items[i]);
    }
}

/* What every command takes that runs something on a backend. */
static void append_backend_options(const struct words *words, const struct run_options *options,
                                   struct text *out)
{
    for (int i = 0; i < options->backend.flag_count; i++) {
        struct text flag;
        text_init(&flag);
        text_printf(&flag, "%s=%s", options->backend.flags[i].name,
                    options->backend.flags[i].value);
        text_append(out, " --option ");
        text_shell(out, flag.data);
        text_finish(&flag);
    }
    if (words->profile != NULL) {
        text_printf(out, " --profile %s", words->profile);
    }
    append_flag("large-range", options->differential.inputs.large_range, out);
    if (options->backend.memory_limit > 0) {
        text_printf(out, " --worker-memory %zu", options->backend.memory_limit);
    }
    append_files("inputs", &options->inputs, out);
}

/* What the commands take besides that compare results. */
static void append_compare_options(const struct words *words, const struct run_options *options,
                                   struct text *out)
{
    if (words->tolerance != NULL) {
        text_printf(out, " --tolerance %s", words->tolerance);
    }
    if (words->abs >= 0) {
        text_printf(out, " --abs_error_bound %g", words->abs);
    }
    if (words->rel >= 0) {
        text_printf(out, " --rel_error_bound %g", words->rel);
    }
    append_flag("boundary-values", options->differential.inputs.boundary_values, out);
    append_flag("zeros", options->differential.inputs.zeros, out);
    append_flag("poison", options->backend.poison, out);
    append_flag("backend-only", options->backend.run_backend_only, out);
    if (options->backend.timeout > 0) {
        text_printf(out, " --timeout %g", options->backend.timeout);
    }
}

/* The options that a repeated run needs, as they were typed. */
static char *repeated_options(const struct words *words, const struct run_options *options)
{
    struct text text;
    text_init(&text);
    append_backend_options(words, options, &text);
    append_compare_options(words, options, &text);
    if (options->reference != NULL) {
        text_append(&text, " --reference ");
        text_quoted(&text, options->reference);
    }
    if (words->via != NULL) {
        text_printf(&text, " --via %s", words->via);
    }
    if (words->entry != NULL) {
        text_append(&text, " --entry ");
        text_quoted(&text, words->entry);
    }
    if (words->replicas > 0) {
        text_printf(&text, " --replicas %lld", (long long)words->replicas);
    }
    if (words->partitions > 0) {
        text_printf(&text, " --partitions %lld", (long long)words->partitions);
    }
    if (options->differential.repeat > 1) {
        text_printf(&text, " --repeat %d", options->differential.repeat);
    }
    if (options->differential.derived_samples > 0) {
        text_printf(&text, " --samples %d", options->differential.derived_samples);
    }
    append_flag("same-inputs", options->differential.same_inputs, &text);
    append_flag("isolate", options->isolate, &text);
    append_flag("no-verify", !options->verify, &text);
    append_files("shapes", &options->shapes, &text);
    char *result = text_take(&text);
    text_finish(&text);
    return result;
}

/* Those that `bisect` and `shrink`, or else `passes`, need to show the same; NULL when it does not
 * take what was typed. */
static char *following_options(const struct words *words, const struct run_options *options,
                               bool passes)
{
    const struct differential_options *differential = &options->differential;
    bool known = words->via == NULL && words->entry == NULL && options->shapes.count == 0 &&
                 words->replicas == 0 && !differential->same_inputs && options->verify;
    bool taken = passes ? !differential->inputs.zeros && !options->backend.run_backend_only
                        : words->partitions == 0 && differential->derived_samples == 0;
    if (!known || !taken) {
        return NULL;
    }
    struct text text;
    text_init(&text);
    append_backend_options(words, options, &text);
    if (passes) {
        append_flag("boundary", differential->inputs.boundary_values, &text);
        if (words->partitions > 0) {
            text_printf(&text, " --partitions %lld", (long long)words->partitions);
        }
    } else {
        append_compare_options(words, options, &text);
    }
    char *result = text_take(&text);
    text_finish(&text);
    return result;
}

static void print_summary(const size_t counts[OUTCOME_COUNT], size_t unreadable)
{
    const char *separator = "";
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        if (counts[i] > 0) {
            printf("%s%zu %s", separator, counts[i], outcome_text((enum outcome)i));
            separator = ", ";
        }
    }
    if (unreadable > 0) {
        printf("%s%zu UNREADABLE", separator, unreadable);
    }
    printf("\n");
}

static int run(int argc, char **argv, struct run_options *o, struct words *words)
{
    struct input_options *inputs = &o->differential.inputs;
    int64_t repeat = 1, samples = 0;
    const struct option table[] = {
        {"backend", 'b', OPTION_LIST, &o->backends, "URI",
         "backend under test (default cpu:); may be given several times"},
        {"reference", 0, OPTION_TEXT, &o->reference, "URI",
         "what it is held against (default interp:, the golden)"},
        {"option", 'O', OPTION_LIST, &words->flags, "NAME=VALUE",
         "set an XLA flag for the backend, e.g. xla_cpu_enable_fast_min_max=false"},
        {"inputs", 'i', OPTION_LIST, &o->inputs, "FILE",
         "an argument, one per parameter (or per device and parameter); or one "
         "RunHloModuleLiterals file for all"},
        {"via", 0, OPTION_TEXT, &words->via, "mlir|hlo",
         "how modules are sent to the backend; those that do not pass are sent the other way too, "
         "to name the side on which a difference appears"},
        {"entry", 0, OPTION_TEXT, &words->entry, "NAME",
         "the function to run of an MLIR file (default: main, or each public one)"},
        {"shapes", 0, OPTION_LIST, &o->shapes, "SHAPE",
         "shape of an argument, one per argument in order, where a function of an MLIR file leaves "
         "sizes open; otherwise those of --inputs count"},
        {"replicas", 0, OPTION_INT, &words->replicas, "N",
         "run on N replicas instead of those of the module's header"},
        {"partitions", 0, OPTION_INT, &words->partitions, "N",
         "run on N partitions instead of those of the module's header"},
        {"same-inputs", 0, OPTION_FLAG, &o->differential.same_inputs, NULL,
         "draw the same arguments on every device"},
        {"seed", 's', OPTION_INT, &o->seed, "N", "draw arguments from this seed (default 1)"},
        {"iterations", 'n', OPTION_INT, &o->iterations, "N",
         "runs per module, each with its own seed"},
        {"large-range", 0, OPTION_FLAG, &inputs->large_range, NULL,
         "draw floats over the whole exponent range"},
        {"boundary-values", 0, OPTION_FLAG, &inputs->boundary_values, NULL,
         "mix in ±0, ±Inf, NaN, subnormals and extremes"},
        {"zeros", 0, OPTION_FLAG, &inputs->zeros, NULL, "all arguments are zero"},
        {"tolerance", 0, OPTION_TEXT, &words->tolerance, "KIND",
         "default, derived, xla or bits ('referee show tolerances' explains)"},
        {"abs_error_bound", 0, OPTION_REAL, &words->abs, "X", "XLA's rule: absolute bound"},
        {"rel_error_bound", 0, OPTION_REAL, &words->rel, "X", "XLA's rule: relative bound"},
        {"profile", 0, OPTION_TEXT, &words->profile, "NAME",
         "what the backend may do: cpu, gpu, tpu, strict …; by default told by the URI"},
        {"samples", 0, OPTION_INT, &samples, "N", "golden evaluations for derived tolerances"},
        {"isolate", 0, OPTION_FLAG, &o->isolate, NULL,
         "run every instruction alone on the golden's operands"},
        {"repeat", 0, OPTION_INT, &repeat, "N",
         "run N times on the backend: differing runs are FLAKY"},
        {"backend-only", 0, OPTION_FLAG, &o->backend.run_backend_only, NULL,
         "the module is optimised already: skip the backend's HLO passes"},
        {"timeout", 't', OPTION_SECONDS, &o->backend.timeout, "TIME",
         "for one module on one backend (default 60)"},
        {"memory", 'm', OPTION_SIZE, &o->memory, "SIZE",
         "most bytes of the golden's values (default: 40 % of the memory available)"},
        {"worker-memory", 0, OPTION_SIZE, &o->backend.memory_limit, "SIZE",
         "most bytes a backend's process may take: beyond it the outcome is OOM"},
        {"poison", 0, OPTION_FLAG, &o->backend.poison, NULL,
         "fill the memory that the backend allocates: reading what nobody wrote shows"},
        {"jobs", 'j', OPTION_INT, &o->jobs, "N", "modules at a time (default 1)"},
        {"save", 0, OPTION_TEXT, &o->save_literals, "FILE",
         "save arguments and results as RunHloModuleLiterals"},
        {"json", 0, OPTION_TEXT, &o->json, "FILE", "write a report as JSON (- = stdout)"},
        {"verbose", 'v', OPTION_FLAG, &o->verbose, NULL, "also notes and times of what passed"},
        {"quiet", 'q', OPTION_FLAG, &o->quiet, NULL, "only what did not pass"},
        {"verify", 0, OPTION_FLAG, &o->verify, NULL, "--no-verify: run without checking first"},
        {"help", 'h', OPTION_FLAG, &words->help, NULL, "this text"},
        {0}};
    struct string_list paths = {0}, files = {0};
    if (!options_parse(&(struct option_table){.options = table}, argc, argv, &paths)) {
        return EXIT_USAGE;
    }
    if (words->help || paths.count == 0) {
        fprintf(words->help ? stdout : stderr,
                "usage: referee run MODULE… [--backend URI]… [--reference URI]\n\n"
                "Runs each module on the backends and on the golden interpreter, on the same "
                "inputs, and\ncompares. Every backend runs in a process of its own: a crash, a "
                "hang or running out of\nmemory is an outcome. Exit status 0 if all passed, 1 "
                "otherwise.\n\n");
        if (words->help) {
            options_help(table);
        }
        return words->help ? EXIT_AS_EXPECTED : EXIT_USAGE;
    }
    if (!set_tolerance(words, o) || !set_profile(words, o) || !set_devices(words, o) ||
        !set_via(words, o) || !expand_paths(&paths, &files)) {
        string_list_finish(&paths);
        return EXIT_USAGE;
    }
    struct backend_flag *flags = flags_make(&words->flags);
    o->backend.flags = flags;
    o->backend.flag_count = (int)words->flags.count;
    o->differential.repeat = (int)repeat;
    o->differential.derived_samples = (int)samples;
    o->iterations = o->iterations < 1 ? 1 : o->iterations;
    o->repeat_options = repeated_options(words, o);
    o->failing_options = following_options(words, o, false);
    o->passes_options = following_options(words, o, true);
    size_t counts[OUTCOME_COUNT] = {0}, unreadable = 0;
    int status = run_files(&files, o, counts, &unreadable);
    size_t total = unreadable;
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        total += counts[i];
    }
    if (total > 1) {
        print_summary(counts, unreadable);
    }
    free(o->repeat_options);
    free(o->failing_options);
    free(o->passes_options);
    flags_free(flags, words->flags.count);
    free_paths(&files);
    string_list_finish(&paths);
    return status;
}

int command_run(int argc, char **argv)
{
    struct run_options options = {.iterations = 1, .seed = 1, .jobs = 1, .verify = true};
    struct words words = {.abs = -1, .rel = -1};
    int status = run(argc, argv, &options, &words);
    string_list_finish(&options.backends);
    string_list_finish(&options.inputs);
    string_list_finish(&options.shapes);
    string_list_finish(&words.flags);
    return status;
}
