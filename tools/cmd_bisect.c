/* referee bisect: the first instruction on which a backend and the golden, or two backends, part.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compare/bisect.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/module.h"
#include "tools/commands.h"
#include "tools/failing.h"
#include "tools/modules.h"
#include "tools/options.h"
#include "tools/shrink_script.h"
#include "tools/versions.h"

struct bisect_command {
    struct failing failing;
    struct string_list backends;
    const char *output, *json, *between;
    int64_t runs;
    bool quiet, versions, all, yes;
};

static void show_progress(void *context, const char *what)
{
    const struct bisect_command *command = context;
    if (!command->quiet && isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r\033[K%s", what);
    }
}

/* "while.3 (while) → iteration 7: reduce.1 (reduce) → applied: tanh.2 (tanh)" */
static void print_levels(const struct bisect_result *result, struct text *out)
{
    for (int i = 0; i < result->level_count; i++) {
        const struct bisect_level *level = &result->levels[i];
        text_append(out, i > 0 ? " → " : "");
        if (level->iteration >= 0) {
            text_printf(out, "iteration %lld: ", (long long)level->iteration);
        }
        text_printf(out, "%s%s (%s)", level->applied ? "applied: " : "", level->instruction,
                    level->opcode);
    }
}

/* How the last level is known, and on which devices. */
static void print_evidence(const struct bisect_result *result, const struct module *module)
{
    const struct bisect_level *last = &result->levels[result->level_count - 1];
    if (last->applied && last->isolated) {
        printf("  applied: %s, mapped over samples of the operands, fails with what %s gives; "
               "with what comes before it passes\n",
               last->computation, last->instruction);
    } else if (last->applied) {
        printf("  applied: with a plain computation in the place of %s it passes, with what %s "
               "gives it fails\n",
               last->computation, last->instruction);
    } else {
        printf("  accumulated: %sthe module cut there fails; cut at its operands it passes\n",
               last->narrowed ? "from the golden's values of what had passed on, " : "");
        printf("  isolated: alone on the reference's operands it %s\n",
               last->isolated ? "fails" : "passes");
    }
    for (int i = result->level_count - 1; i >= 0; i--) {
        const struct bisect_level *level = &result->levels[i];
        if (level->device_count > 1 && level->device >= 0) {
            int64_t partitions = module->config.partition_count;
            partitions = partitions > 1 ? partitions : 1;
            printf("  devices: %s is wrong on %d of %d, first on replica %lld, partition %lld\n",
                   level->instruction, level->devices_wrong, level->device_count,
                   (long long)(level->device / partitions),
                   (long long)(level->device % partitions));
            break;
        }
    }
    printf("  confirmed: the part %s%s", result->confirming_failures > 0 ? "fails" : "passes",
           result->confirming_runs == 1 ? " again\n" : "");
    if (result->confirming_runs != 1) {
        printf(" in %d of %d runs\n",
               result->confirming_failures > 0
                   ? result->confirming_failures
                   : result->confirming_runs - result->confirming_failures,
               result->confirming_runs);
    }
}

/* What to type to shrink the part; "" when there is none. */
static void print_next(const struct bisect_command *command, const struct bisect_result *result,
                       const char *output, struct text *out)
{
    if (result->part.module == NULL || command->backends.count > 1) {
        return; /* shrink knows no second backend */
    }
    text_append(out, "referee shrink ");
    text_shell(out, output);
    text_printf(out, " --backend '%s'", command->backends.items[0]);
    failing_repeat(&command->failing, out);
    if (command->runs > 1) {
        text_printf(out, " --runs %lld", (long long)command->runs);
    }
}

static void print_result(const struct bisect_command *command, const struct bisect_result *result,
                         const struct module *module, const char *path, const char *output)
{
    struct text text;
    text_init(&text);
    failure_signature_print(&result->signature, &text);
    if (result->level_count == 0) {
        printf("%s: %s on %s: nothing to find\n", path, text.data, command->backends.items[0]);
        text_finish(&text);
        return;
    }
    printf("%s: %s on %s\nfirst wrong: ", path, text.data, command->backends.items[0]);
    text_clear(&text);
    print_levels(result, &text);
    printf("%s\n", text.data);
    print_evidence(result, module);
    if (result->note[0] != '\0') {
        printf("  note: %s\n", result->note);
    }
    printf("%s%d runs on the backend\n", result->picture, result->runs);
    if (result->part.module != NULL) {
        text_clear(&text);
        print_next(command, result, output, &text);
        printf("the part that fails is in %s%s%s\n", output, text.size > 0 ? "; next: " : "",
               text.data);
    }
    text_finish(&text);
}

static json_t *result_json(const struct bisect_command *command, const struct bisect_result *result,
                           const char *path, const char *output)
{
    json_t *levels = json_array();
    for (int i = 0; i < result->level_count; i++) {
        const struct bisect_level *level = &result->levels[i];
        json_array_append_new(
            levels, json_pack("{s:s, s:s, s:s, s:I, s:b, s:b, s:b, s:i, s:i, s:i}", "computation",
                              level->computation, "instruction", level->instruction, "opcode",
                              level->opcode, "iteration", (json_int_t)level->iteration, "isolated",
                              level->isolated, "narrowed", level->narrowed, "applied",
                              level->applied, "device", level->device, "devices_wrong",
                              level->devices_wrong, "device_count", level->device_count));
    }
    struct text text;
    text_init(&text);
    failure_signature_print(&result->signature, &text);
    json_t *object =
        json_pack("{s:s, s:s, s:o, s:i, s:i, s:i, s:s, s:s}", "module", path, "signature",
                  text.data, "levels", levels, "runs", result->runs, "confirming_runs",
                  result->confirming_runs, "confirming_failures", result->confirming_failures,
                  "picture", result->picture, "note", result->note);
    text_clear(&text);
    print_next(command, result, output, &text);
    json_object_set_new(object, "next", json_string(text.data));
    text_finish(&text);
    return object;
}

static int report(const struct bisect_command *command, const struct bisect_result *result,
                  const struct module *module, const char *path)
{
    struct error err = {0};
    struct text output, note;
    int status = result->level_count > 0 ? EXIT_FINDINGS : EXIT_AS_EXPECTED;
    text_init(&output);
    text_init(&note);
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    if (command->output != NULL) {
        text_append(&output, command->output);
    } else {
        text_printf(&output, "%.*s.part.hlo", (int)strcspn(name, "."), name);
    }
    if (result->part.module != NULL) {
        failure_signature_print(&result->signature, &note);
        if (!specimen_write(&result->part, note.data, output.data, &err)) {
            print_error(&err);
            status = EXIT_INFRASTRUCTURE;
        }
    }
    if (!command->quiet) {
        print_result(command, result, module, path, output.data);
    }
    if (command->json != NULL) {
        json_t *object = result_json(command, result, path, output.data);
        status = write_json(command->json, object) ? status : EXIT_INFRASTRUCTURE;
        json_decref(object);
    }
    text_finish(&output);
    text_finish(&note);
    return status;
}

static int run_command(struct bisect_command *command, const char *path)
{
    struct specimen specimen = {0};
    struct error err = {0};
    struct bisect_result result;
    int status = EXIT_INFRASTRUCTURE;
    set_memory_limit(0, MEMORY_BESIDE_BACKENDS);
    if (!failing_load(&command->failing, path, &specimen, &err)) {
        print_error(&err);
        return EXIT_USAGE;
    }
    const char *second =
        command->backends.count > 1 ? command->backends.items[1] : "interp:?cache=1024";
    struct backend *backend =
        failing_open(&command->failing, command->backends.items[0], command->failing.timeout, &err);
    struct backend *reference =
        backend != NULL ? failing_open(&command->failing, second, command->failing.timeout, &err)
                        : NULL;
    struct bisect_options options = {.backend = backend,
                                     .reference = reference,
                                     .differential = command->failing.differential,
                                     .on_progress = show_progress,
                                     .context = command,
                                     .runs = (int)command->runs};
    bool ok = reference != NULL && bisect_run(&specimen, &options, &result, &err);
    if (ok && result.level_count == 0 &&
        failing_draw_tamer(&command->failing, path, backend, reference, &specimen)) {
        bisect_result_finish(&result);
        ok = bisect_run(&specimen, &options, &result, &err);
    }
    if (isatty(STDERR_FILENO) && !command->quiet) {
        fprintf(stderr, "\r\033[K");
    }
    if (ok) {
        status = report(command, &result, specimen.module, path);
        bisect_result_finish(&result);
    } else {
        print_error(&err);
    }
    backend_close(backend);
    backend_close(reference);
    specimen_finish(&specimen);
    return status;
}

int command_bisect(int argc, char **argv)
{
    struct bisect_command command = {.failing = FAILING_DEFAULTS, .runs = 1};
    struct string_list paths = {0};
    bool help = false;
    const struct option table[] = {
        {"backend", 'b', OPTION_LIST, &command.backends, "URI",
         "what it fails on (default cpu:); a second one is held against instead of the golden"},
        {"output", 'o', OPTION_TEXT, &command.output, "FILE",
         "where the smallest part that fails goes (default NAME.part.hlo)"},
        {"versions", 0, OPTION_FLAG, &command.versions, NULL,
         "find the release that broke it instead: XLA's CPU compiler since 2023; --backend jaxlib: "
         "or cpu: takes those alone"},
        {"between", 0, OPTION_TEXT, &command.between, "FIRST..LAST",
         "only releases from one to the other, by version or date (0.4.30..0.6.0, 2024-06..)"},
        {"all", 0, OPTION_FLAG, &command.all, NULL, "judge every release, not as few as will do"},
        {"yes", 'y', OPTION_FLAG, &command.yes, NULL, "fetch the releases that are needed"},
        {"runs", 0, OPTION_INT, &command.runs, "N",
         "run each part up to N times, for failures that come and go"},
        FAILING_OPTIONS(&command.failing),
        {"json", 0, OPTION_TEXT, &command.json, "FILE", "write a report as JSON (- = stdout)"},
        {"quiet", 'q', OPTION_FLAG, &command.quiet, NULL, "only write files"},
        {"help", 'h', OPTION_FLAG, &help, NULL, "this text"},
        {0}};
    int status = EXIT_USAGE;
    if (!options_parse(&(struct option_table){.options = table}, argc, argv, &paths)) {
        status = EXIT_USAGE;
    } else if (help) {
        printf("usage: referee bisect MODULE [--backend URI [--backend URI]]\n"
               "       referee bisect MODULE --versions [--between FIRST..LAST] [--yes]\n\n"
               "Finds the first instruction on which the backend and the golden (or two backends) "
               "part, also\ninside fusions, calls, branches and loops: accumulated, by cutting the "
               "module there, and\nisolated, by running the instruction alone on the golden's "
               "operands.\n\n");
        options_help(table);
        status = EXIT_AS_EXPECTED;
    } else if (paths.count != 1 || command.backends.count > 2) {
        fprintf(stderr, "usage: referee bisect MODULE [--backend URI [--backend URI]]\n");
    } else if (!command.versions && (command.all || command.yes || command.between != NULL)) {
        fprintf(stderr, "referee: --between, --all and --yes go with --versions\n");
    } else if (command.runs < 1 || command.runs > 1000) {
        fprintf(stderr, "referee: --runs takes 1 to 1000\n");
    } else if (command.versions && failing_set(&command.failing)) {
        struct versions_options options = {.failing = &command.failing,
                                           .schemes = &command.backends,
                                           .between = command.between,
                                           .all = command.all,
                                           .yes = command.yes,
                                           .quiet = command.quiet,
                                           .json = command.json};
        status = versions_search(&options, paths.items[0]);
    } else if (!command.versions && failing_set(&command.failing)) {
        if (command.backends.count == 0) {
            string_list_add(&command.backends, "cpu:");
        }
        status = run_command(&command, paths.items[0]);
    }
    string_list_finish(&paths);
    string_list_finish(&command.backends);
    failing_finish(&command.failing);
    return status;
}
