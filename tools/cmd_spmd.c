/* referee spmd: does the partitioned form of a module do what the module does? */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/partitioner.h"
#include "compare/spmd.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "hlo/verify.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/modules.h"
#include "tools/progress.h"
#include "tools/spmd_report.h"
#include "tools/spmd_shardings.h"

struct spmd_command {
    struct string_list inputs, flags;
    const char *backend, *partitioned, *shardings, *padding, *tolerance, *json, *save;
    int64_t partitions, seed, draw; /* draw < 0: the module's own shardings */
    size_t memory, worker_memory;
    double timeout;
    bool execute, verbose, quiet, verify, help;
    struct spmd_options options;
    struct partitioner partitioner; /* backend NULL: only the golden runs */
    struct loaded_file given;       /* of --partitioned */
    char *repeat_options;
    json_t *report;
    size_t counts[OUTCOME_COUNT], unreadable;
};

static const struct {
    const char *name;
    enum tolerance_kind kind;
} tolerances[] = {
    {"default", TOLERANCE_DEFAULT}, {"derived", TOLERANCE_DERIVED}, {"bits", TOLERANCE_BITS}};

static bool set_words(struct spmd_command *command)
{
    if (command->padding != NULL) {
        bool zero = strcmp(command->padding, "zero") == 0;
        if (!zero && strcmp(command->padding, "hostile") != 0) {
            fprintf(stderr, "referee: --padding takes hostile or zero\n");
            return false;
        }
        command->options.padding = zero ? PADDING_ZERO : PADDING_HOSTILE;
    }
    if (command->partitions < 0 || command->partitions > TILING_MAX_DEVICES) {
        fprintf(stderr, "referee: --partitions takes 2 to %d\n", TILING_MAX_DEVICES);
        return false;
    }
    if (command->draw >= 0 && (command->partitions < 2 || command->shardings != NULL)) {
        fprintf(stderr, "referee: --draw-shardings needs --partitions, and no --shardings\n");
        return false;
    }
    if (command->tolerance == NULL) {
        return true;
    }
    for (size_t i = 0; i < sizeof tolerances / sizeof *tolerances; i++) {
        if (strcmp(tolerances[i].name, command->tolerance) == 0) {
            command->options.differential.tolerance = tolerances[i].kind;
            return true;
        }
    }
    fprintf(stderr, "referee: --tolerance takes default, derived or bits\n");
    return false;
}

/* The options that a repeated run needs, as they were typed. */
static char *repeated_options(const struct spmd_command *command)
{
    const struct {
        const char *name, *value;
    } words[] = {{"partitioned", command->partitioned},
                 {"backend", command->backend},
                 {"shardings", command->shardings},
                 {"padding", command->padding},
                 {"tolerance", command->tolerance}};
    struct text text;
    text_init(&text);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (words[i].value != NULL) {
            text_printf(&text, " --%s '%s'", words[i].name, words[i].value);
        }
    }
    if (command->partitions > 0) {
        text_printf(&text, " --partitions %lld", (long long)command->partitions);
    }
    if (!command->execute) {
        text_append(&text, " --no-execute");
    }
    for (size_t i = 0; i < command->inputs.count; i++) {
        text_printf(&text, " --inputs '%s'", command->inputs.items[i]);
    }
    for (size_t i = 0; i < command->flags.count; i++) {
        text_printf(&text, " --option '%s'", command->flags.items[i]);
    }
    text_printf(&text, " --seed %lld", (long long)command->seed);
    char *result = text_take(&text);
    text_finish(&text);
    return result;
}

static bool open_partitioner(struct spmd_command *command, struct error *err)
{
    size_t count = command->flags.count;
    struct backend_flag *flags = flags_make(&command->flags);
    struct backend_options options = {.timeout = command->timeout,
                                      .memory_limit = command->worker_memory,
                                      .flags = flags,
                                      .flag_count = (int)count};
    bool good = partitioner_open(command->backend != NULL ? command->backend : "cpu:", &options,
                                 &command->partitioner, err);
    flags_free(flags, count);
    return good;
}

static bool load_partitioned(struct spmd_command *command, struct error *err)
{
    if (!module_load(command->partitioned, &command->given, err)) {
        return false;
    }
    if (command->given.count != 1 || command->given.modules[0].module == NULL) {
        const struct error *why = command->given.count > 0 ? command->given.modules[0].error : NULL;
        if (why != NULL) {
            *err = *why;
            return false;
        }
        return error_set(err, ERROR_INVALID_ARGUMENT, "%s holds %d modules, not one",
                         command->partitioned, command->given.count);
    }
    return true;
}

/* --- one module --- */

static bool save_partitioned(const char *path, const struct module *module, struct error *err)
{
    struct text text;
    text_init(&text);
    text_print_module(module, &print_canonical, &text);
    bool good = file_write(path, text.data, text.size, err);
    text_finish(&text);
    return good;
}

/* What stands between a module and its verdict. */
struct failure {
    enum outcome outcome;
    struct text message; /* "" if there is none */
};

static void fail(struct failure *failure, const char *text)
{
    failure->outcome = OUTCOME_UNSUPPORTED;
    text_append(&failure->message, text);
}

/* What a plugin or a file gives need not be a module that makes sense. */
static bool verify_partitioned(const struct module *module, struct failure *failure)
{
    struct findings findings;
    if (!verify_module(module, &findings)) {
        fail(failure, "the partitioned module does not verify: ");
        text_append(&failure->message, findings.list[0].text);
    }
    findings_finish(&findings);
    return failure->outcome == OUTCOME_PASS;
}

/* The module after partitioning: given, or made by XLA (then *owned). NULL with a failure. */
static struct module *find_partitioned(struct spmd_command *command, const struct module *module,
                                       struct module **owned, struct failure *failure)
{
    struct module *partitioned = NULL;
    struct error err = {0};
    if (module->config.replica_count > 1) {
        fail(failure, "the module has several replicas");
    } else if (command->given.count > 0) {
        partitioned = command->given.modules[0].module;
    } else {
        *owned =
            partitioner_partition(&command->partitioner, module, command->options.partition_count,
                                  &failure->outcome, &failure->message);
        partitioned = *owned;
    }
    if (partitioned != NULL && command->verify) {
        verify_partitioned(partitioned, failure);
    }
    if (*owned != NULL && command->save != NULL && !save_partitioned(command->save, *owned, &err)) {
        fail(failure, err.message);
    }
    return failure->outcome == OUTCOME_PASS ? partitioned : NULL;
}

static void report(struct spmd_command *command, const struct spmd_entry *entry,
                   const struct spmd_result *result)
{
    struct text text;
    text_init(&text);
    spmd_report_text(entry, result, command->verbose, &text);
    if (!command->quiet || result->outcome != OUTCOME_PASS) {
        fputs(text.data, stdout);
    }
    text_finish(&text);
    command->counts[result->outcome]++;
    json_array_append_new(command->report, spmd_report_json(entry, result));
}

static void report_failure(struct spmd_command *command, const struct spmd_entry *entry,
                           const char *outcome, const char *problem)
{
    struct text text;
    text_init(&text);
    spmd_report_failed_text(entry, outcome, problem, &text);
    fputs(text.data, stdout);
    text_finish(&text);
    json_array_append_new(command->report, spmd_report_failed_json(entry, outcome, problem));
}

static void judge_module(struct spmd_command *command, const struct module *module,
                         const struct arguments *arguments, struct spmd_entry *entry)
{
    struct failure failure = {.outcome = OUTCOME_PASS};
    struct module *owned = NULL;
    text_init(&failure.message);
    int64_t count = command->partitions > 0 ? command->partitions : spmd_partition_count(module);
    if (count < 2 || count > TILING_MAX_DEVICES) {
        failure.outcome = OUTCOME_UNSUPPORTED;
        text_append(&failure.message, count < 2
                                          ? "nothing says how many partitions; --partitions does"
                                          : "too many partitions");
    }
    command->options.partition_count = entry->partition_count = (int)count;
    struct module *partitioned = failure.outcome == OUTCOME_PASS
                                     ? find_partitioned(command, module, &owned, &failure)
                                     : NULL;
    if (partitioned == NULL) {
        report_failure(command, entry, outcome_text(failure.outcome), failure.message.data);
        command->counts[failure.outcome]++;
    } else {
        struct spmd_result result;
        command->options.differential.arguments = arguments->count > 0 ? arguments->literals : NULL;
        command->options.differential.argument_count = arguments->count;
        spmd_run(module, partitioned, command->execute ? command->partitioner.backend : NULL,
                 owned != NULL ? PIECES_WHOLE : PIECES_PARTITIONED, &command->options, &result);
        report(command, entry, &result);
        spmd_result_finish(&result);
    }
    text_finish(&failure.message);
    module_destroy(owned);
}

static void print_problem(const struct error *err, struct text *out)
{
    text_clear(out);
    error_print(err, out);
}

/* What `passes` is asked, where the module has its own shardings and XLA partitions it. */
static void print_passes(const struct spmd_command *command, const char *path,
                         const struct loaded_module *part, const struct arguments *arguments,
                         struct text *out)
{
    const char *backend = command->backend != NULL ? command->backend : "cpu:";
    if (command->partitioned != NULL || command->shardings != NULL || command->draw >= 0 ||
        strchr(part->name, '#') != NULL) {
        return;
    }
    text_append(out, "referee passes ");
    text_shell(out, path);
    text_append(out, " --backend ");
    text_quoted(out, backend);
    for (size_t i = 0; i < command->flags.count; i++) {
        text_append(out, " --option ");
        text_shell(out, command->flags.items[i]);
    }
    for (size_t i = 0; i < command->inputs.count; i++) {
        text_append(out, " --inputs ");
        text_quoted(out, command->inputs.items[i]);
    }
    if (arguments->source == ARGUMENTS_SEED) {
        text_printf(out, " --seed %lld", (long long)command->seed);
    }
}

static void judge_part(struct spmd_command *command, const struct loaded_module *part,
                       const char *path)
{
    struct error err = {0};
    struct case_header header = {0};
    struct arguments arguments = {0};
    struct sharding_holders holders = {0};
    struct text line, passes;
    text_init(&line);
    text_init(&passes);
    char *drawn = NULL;
    struct spmd_entry entry = {.module = part->name,
                               .backend = command->partitioner.backend != NULL
                                              ? backend_uri(command->partitioner.backend)
                                              : "",
                               .inputs = "",
                               .passes = ""};
    bool good = part->module != NULL;
    if (!good) {
        err = *part->error;
    }
    if (good && command->partitions > 0) {
        part->module->config.partition_count = command->partitions;
        part->module->config.use_spmd_partitioning = command->partitions > 1;
    }
    good = good &&
           (command->draw < 0 || shardings_draw(part->module, command->partitions,
                                                (uint64_t)command->draw, &drawn, &holders, &err)) &&
           (command->shardings == NULL ||
            shardings_apply(command->shardings, part->module, &holders, &err)) &&
           case_header_read(part->header, part->name, &header, &err) &&
           arguments_find(part, &header, &command->inputs, 0, &arguments, &err);
    text_printf(&line, "referee spmd %s%s", path, command->repeat_options);
    if (drawn != NULL) {
        text_printf(&line, " --shardings '%s'", drawn);
    }
    entry.command = line.data;
    struct findings findings = {0};
    if (good && command->verify && !verify_module(part->module, &findings)) {
        good = error_at(&err, findings.list[0].where, "%s", findings.list[0].text);
    }
    findings_finish(&findings);
    if (good) {
        entry.inputs = argument_source_text(arguments.source);
        print_passes(command, path, part, &arguments, &passes);
        entry.passes = passes.data;
        judge_module(command, part->module, &arguments, &entry);
    } else {
        struct text problem;
        text_init(&problem);
        print_problem(&err, &problem);
        report_failure(command, &entry, "UNREADABLE", problem.data);
        text_finish(&problem);
        command->unreadable++;
    }
    arguments_finish(&arguments);
    case_header_finish(&header);
    sharding_holders_finish(&holders);
    free(drawn);
    text_finish(&line);
    text_finish(&passes);
}

static void judge_file(struct spmd_command *command, const char *path)
{
    struct error err = {0};
    struct loaded_file file;
    if (!module_load(path, &file, &err)) {
        print_error(&err);
        command->unreadable++;
        return;
    }
    for (int i = 0; i < file.count; i++) {
        judge_part(command, &file.modules[i], path);
        fflush(stdout);
    }
    loaded_file_finish(&file);
}

/* --- all --- */

static int judge_all(struct spmd_command *command, const struct string_list *files)
{
    struct progress progress;
    progress_start(&progress, files->count);
    for (size_t i = 0; i < files->count; i++) {
        progress_clear(&progress);
        judge_file(command, files->items[i]);
        progress_step(&progress, files->items[i]);
    }
    progress_clear(&progress);
    size_t total = command->unreadable;
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        total += command->counts[i];
    }
    if (total > 1) {
        const char *separator = "";
        for (int i = 0; i < OUTCOME_COUNT; i++) {
            if (command->counts[i] > 0) {
                printf("%s%zu %s", separator, command->counts[i], outcome_text((enum outcome)i));
                separator = ", ";
            }
        }
        if (command->unreadable > 0) {
            printf("%s%zu UNREADABLE", separator, command->unreadable);
        }
        printf("\n");
    }
    return command->unreadable > 0                 ? EXIT_USAGE
           : command->counts[OUTCOME_PASS] < total ? EXIT_FINDINGS
                                                   : EXIT_AS_EXPECTED;
}

static int run(struct spmd_command *command, const struct string_list *files)
{
    struct error err = {0};
    bool needs_backend = command->partitioned == NULL || command->backend != NULL;
    if (command->partitioned != NULL && !load_partitioned(command, &err)) {
        print_error(&err);
        return EXIT_USAGE;
    }
    if (needs_backend && !open_partitioner(command, &err)) {
        print_error(&err);
        return err.code == ERROR_INVALID_ARGUMENT ? EXIT_USAGE : EXIT_INFRASTRUCTURE;
    }
    command->repeat_options = repeated_options(command);
    set_memory_limit(command->memory, MEMORY_BESIDE_BACKENDS);
    command->options.differential.inputs.seed = (uint64_t)command->seed;
    command->options.differential.inputs.unverified = !command->verify;
    command->options.timeout = command->timeout;
    command->report = json_array();
    int status = judge_all(command, files);
    if (command->json != NULL && !write_json(command->json, command->report)) {
        status = EXIT_INFRASTRUCTURE;
    }
    json_decref(command->report);
    return status;
}

static int parse(struct spmd_command *command, int argc, char **argv)
{
    struct input_options *inputs = &command->options.differential.inputs;
    const struct option table[] = {
        {"partitioned", 0, OPTION_TEXT, &command->partitioned, "FILE",
         "the module after partitioning, from a dump; by default the backend makes it"},
        {"backend", 'b', OPTION_TEXT, &command->backend, "URI",
         "partitions, and runs the result (default cpu:; with --partitioned none)"},
        {"partitions", 'n', OPTION_INT, &command->partitions, "N",
         "how many; by default as the header says, or the first sharding"},
        {"shardings", 0, OPTION_TEXT, &command->shardings, "IN,IN,…->OUT",
         "shardings of the parameters and the result, instead of the module's"},
        {"draw-shardings", 0, OPTION_INT, &command->draw, "SEED",
         "draw shardings of the parameters and the result; needs --partitions"},
        {"execute", 0, OPTION_FLAG, &command->execute, NULL,
         "--no-execute: only the golden runs the partitioned module"},
        {"padding", 0, OPTION_TEXT, &command->padding, "KIND",
         "what tiles hold beyond the array: hostile (NaN, extremes; default) or zero"},
        {"option", 'O', OPTION_LIST, &command->flags, "NAME=VALUE",
         "set an XLA flag for the backend"},
        {"inputs", 'i', OPTION_LIST, &command->inputs, "FILE",
         "an argument, one per parameter, whole; or one RunHloModuleLiterals file for all"},
        {"seed", 's', OPTION_INT, &command->seed, "N", "draw arguments from this seed (default 1)"},
        {"large-range", 0, OPTION_FLAG, &inputs->large_range, NULL,
         "draw floats over the whole exponent range"},
        {"boundary-values", 0, OPTION_FLAG, &inputs->boundary_values, NULL,
         "mix in ±0, ±Inf, NaN, subnormals and extremes"},
        {"zeros", 0, OPTION_FLAG, &inputs->zeros, NULL, "all arguments are zero"},
        {"tolerance", 0, OPTION_TEXT, &command->tolerance, "KIND",
         "default, derived or bits ('referee show tolerances' explains)"},
        {"timeout", 't', OPTION_SECONDS, &command->timeout, "TIME",
         "for one module on the backend, and on the golden (default 60)"},
        {"memory", 'm', OPTION_SIZE, &command->memory, "SIZE",
         "most bytes of the golden's values (default: 40 % of the memory available)"},
        {"worker-memory", 0, OPTION_SIZE, &command->worker_memory, "SIZE",
         "most bytes the backend's process may take"},
        {"save", 'o', OPTION_TEXT, &command->save, "FILE", "write the partitioned module"},
        {"json", 0, OPTION_TEXT, &command->json, "FILE", "write a report as JSON (- = stdout)"},
        {"verbose", 'v', OPTION_FLAG, &command->verbose, NULL, "also notes of what passed"},
        {"quiet", 'q', OPTION_FLAG, &command->quiet, NULL, "only what did not pass"},
        {"verify", 0, OPTION_FLAG, &command->verify, NULL,
         "--no-verify: run without checking first"},
        {"help", 'h', OPTION_FLAG, &command->help, NULL, "this text"},
        {0}};
    struct string_list paths = {0}, files = {0};
    if (!options_parse(&(struct option_table){.options = table}, argc, argv, &paths)) {
        return EXIT_USAGE;
    }
    if (command->help || paths.count == 0) {
        fprintf(command->help ? stdout : stderr,
                "usage: referee spmd MODULE… [--partitioned FILE] [--backend URI] "
                "[--partitions N]\n\n"
                "Runs each module whole on the golden, and its partitioned form on N devices: on "
                "the golden\nand on the backend, with arguments split and results put together by "
                "the shardings. Says\nwhether they agree, and who parts: the partitioner, or what "
                "comes after it.\n\n");
        if (command->help) {
            options_help(table);
        }
        return command->help ? EXIT_AS_EXPECTED : EXIT_USAGE;
    }
    int status = EXIT_USAGE;
    if (command->partitioned != NULL && paths.count > 1) {
        fprintf(stderr, "referee: --partitioned is of one module\n");
    } else if (set_words(command) && expand_paths(&paths, &files)) {
        status = run(command, &files);
        free_paths(&files);
    }
    string_list_finish(&paths);
    return status;
}

int command_spmd(int argc, char **argv)
{
    struct spmd_command command = {.seed = 1, .draw = -1, .execute = true, .verify = true};
    command.options.padding = PADDING_HOSTILE;
    int status = parse(&command, argc, argv);
    partitioner_close(&command.partitioner);
    if (command.given.count > 0) {
        loaded_file_finish(&command.given);
    }
    free(command.repeat_options);
    string_list_finish(&command.inputs);
    string_list_finish(&command.flags);
    return status;
}
