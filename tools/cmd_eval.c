/* referee eval: modules on the golden interpreter alone. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/pairs.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/pool.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/verify.h"
#include "interp/interp.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/modules.h"
#include "tools/options.h"
#include "tools/progress.h"

struct eval_options {
    bool pairs, quiet, help, full, verify, zeros, large_range;
    const char *json, *save, *fidelity;
    int64_t seed, repeat, threads;
    double timeout;
    size_t memory;
    struct string_list inputs;
};

struct deadline {
    double at; /* 0 = none */
};

static bool past_deadline(void *context)
{
    const struct deadline *deadline = context;
    return deadline->at > 0 && now_seconds() > deadline->at;
}

/* What became of one module. */
struct evaluated {
    struct literal *result;
    double seconds; /* fastest of --repeat */
    int status;
    char *problem; /* "" if none */
    bool rounded;  /* as expected but for the roundings of the expectation, told in `problem` */
};

static void set_problem(struct evaluated *evaluated, int status, const char *problem)
{
    evaluated->status = status;
    free(evaluated->problem);
    evaluated->problem = strdup(problem);
}

static bool draw(const struct module *module, const struct eval_options *options,
                 struct arguments *arguments, struct error *err)
{
    struct input_options inputs = {.seed = (uint64_t)options->seed,
                                   .zeros = options->zeros,
                                   .large_range = options->large_range};
    int count = module->entry->parameter_count;
    arguments->literals = calloc((size_t)count + 1, sizeof *arguments->literals);
    if (!inputs_generate(module, &inputs, arguments->literals, NULL, err)) {
        return false;
    }
    arguments->count = count;
    return true;
}

static void run_part(const struct loaded_module *part, const struct arguments *arguments,
                     const struct eval_options *options, const struct interp_options *interp,
                     struct evaluated *evaluated, struct error *err)
{
    for (int64_t i = 0; i < options->repeat; i++) {
        literal_release(evaluated->result);
        double start = now_seconds();
        evaluated->result =
            interp_evaluate(part->module, arguments->literals, arguments->count, interp, err);
        double seconds = now_seconds() - start;
        if (i == 0 || seconds < evaluated->seconds) {
            evaluated->seconds = seconds;
        }
        if (evaluated->result == NULL) {
            return;
        }
    }
}

/* Held against "//@ expect" lines or its own pairs. */
static void check_part(const struct case_header *header, const struct pairs *pairs,
                       const struct eval_options *options, struct evaluated *evaluated)
{
    struct text picture;
    struct error err = {0};
    text_init(&picture);
    if (options->pairs) {
        struct pairs_outcome outcome;
        if (!pairs_check(pairs, &outcome, &picture, &err)) {
            set_problem(evaluated, EXIT_USAGE, err.message);
        } else if (outcome.failed > 0 || outcome.rounded > 0) {
            evaluated->rounded = outcome.failed == 0;
            set_problem(evaluated, outcome.failed > 0 ? EXIT_FINDINGS : EXIT_AS_EXPECTED,
                        picture.data);
        }
    } else if (header->expected_count > 0 &&
               !case_header_check(header, evaluated->result, &picture)) {
        set_problem(evaluated, EXIT_FINDINGS, picture.data);
    }
    text_finish(&picture);
}

static void print_result(const struct loaded_module *part, const struct eval_options *options,
                         const struct evaluated *evaluated)
{
    if (evaluated->problem[0] != '\0') {
        fprintf(stderr, "%s: %s%s", part->name,
                evaluated->status == EXIT_FINDINGS ? "not as expected\n"
                : evaluated->rounded               ? "as expected, within its rounding\n"
                                                   : "",
                evaluated->problem);
        if (evaluated->problem[strlen(evaluated->problem) - 1] != '\n') {
            fputc('\n', stderr);
        }
    }
    if (evaluated->result == NULL || options->quiet || options->pairs) {
        return;
    }
    struct text text;
    text_init(&text);
    int leaves = shape_leaves(evaluated->result->shape);
    for (int i = 0; i < leaves; i++) {
        const struct literal *leaf = literal_leaf(evaluated->result, i);
        text_clear(&text);
        if (leaves > 1) {
            text_printf(&text, "output %d: ", i);
        }
        shape_print(leaf->shape, false, &text);
        text_char(&text, ' ');
        literal_print(leaf, false, options->full ? 0 : 1000, &text);
        printf("%s\n", text.data);
    }
    text_finish(&text);
}

/* All arguments and the result, as run_hlo_module writes them. */
static bool save(const char *path, const struct arguments *arguments,
                 const struct evaluated *evaluated, struct error *err)
{
    size_t length = strlen(path), size;
    if (length > 4 && strcmp(path + length - 4, ".npy") == 0) {
        void *bytes = npy_write(evaluated->result, &size, err);
        bool ok = bytes != NULL && file_write(path, bytes, size, err);
        free(bytes);
        return ok;
    }
    struct literal_set set = {arguments->count, arguments->literals, evaluated->result, NULL};
    struct literal_sets sets = {1, &set};
    void *bytes = proto_write_literals(&sets, &size, err);
    bool ok = bytes != NULL && file_write(path, bytes, size, err);
    free(bytes);
    return ok;
}

static int eval_part(const struct loaded_module *part, const char *source,
                     const struct eval_options *options, json_t *report, size_t *rounded)
{
    struct evaluated evaluated = {.problem = strdup("")};
    struct deadline deadline = {0};
    struct interp_options interp = {
        .fidelity = options->fidelity != NULL && strcmp(options->fidelity, "literal") == 0
                        ? FIDELITY_LITERAL
                        : FIDELITY_EXACT,
        .seed = (uint64_t)options->seed,
        .context = &deadline,
        .cancelled = past_deadline,
    };
    struct error err = {0};
    struct case_header header = {0};
    struct arguments arguments = {0};
    if (part->error != NULL) {
        err = *part->error;
    } else if (case_header_read(part->header, part->name, &header, &err) &&
               arguments_find(part, &header, &options->inputs, 0, &arguments, &err) &&
               (arguments.count == part->module->entry->parameter_count ||
                draw(part->module, options, &arguments, &err))) {
        struct findings findings = {0};
        if (options->verify && !verify_module(part->module, &findings)) {
            error_at(&err, findings.list[0].where, "%s", findings.list[0].text);
        } else {
            deadline.at = options->timeout > 0 ? now_seconds() + options->timeout : 0;
            run_part(part, &arguments, options, &interp, &evaluated, &err);
        }
        findings_finish(&findings);
    }
    if (err.code != ERROR_NONE) {
        struct text text;
        text_init(&text);
        error_print(&err, &text);
        bool unable = err.code == ERROR_RESOURCE_EXHAUSTED || err.code == ERROR_UNIMPLEMENTED ||
                      err.code == ERROR_DEADLINE_EXCEEDED;
        set_problem(&evaluated, unable ? EXIT_INFRASTRUCTURE : EXIT_USAGE, text.data);
        text_finish(&text);
    } else {
        struct pairs pairs = {.module = part->module,
                              .arguments = arguments.literals,
                              .argument_count = arguments.count,
                              .options = &interp,
                              .result = evaluated.result,
                              .source = source};
        check_part(&header, &pairs, options, &evaluated);
        if (options->save != NULL && !save(options->save, &arguments, &evaluated, &err)) {
            set_problem(&evaluated, EXIT_INFRASTRUCTURE, err.message);
        }
    }
    print_result(part, options, &evaluated);
    json_array_append_new(report, json_pack("{s:s, s:i, s:s, s:f, s:s, s:I}", "module", part->name,
                                            "status", evaluated.status, "problem",
                                            evaluated.problem, "seconds", evaluated.seconds,
                                            "inputs", argument_source_text(arguments.source),
                                            "seed", (json_int_t)options->seed));
    int status = evaluated.status;
    *rounded += evaluated.rounded;
    literal_release(evaluated.result);
    free(evaluated.problem);
    arguments_finish(&arguments);
    case_header_finish(&header);
    return status;
}

/* counts: by exit status; *rounded: how many of them are as expected within its rounding. */
static int eval_file(const char *path, const struct eval_options *options, json_t *report,
                     size_t counts[4], size_t *rounded)
{
    struct error err = {0};
    struct loaded_file file;
    size_t size = 0;
    char *data = file_read(path, &size, &err);
    if (data == NULL || !module_load_memory(path, data, size, &file, &err)) {
        print_error(&err);
        free(data);
        counts[EXIT_USAGE]++;
        return EXIT_USAGE;
    }
    int status = EXIT_AS_EXPECTED;
    for (int i = 0; i < file.count; i++) {
        int one = eval_part(&file.modules[i], file.format == FORMAT_TEXT ? data : NULL, options,
                            report, rounded);
        counts[one]++;
        status = one > status ? one : status;
    }
    loaded_file_finish(&file);
    free(data);
    return status;
}

int command_eval(int argc, char **argv)
{
    struct eval_options o = {.seed = 1, .repeat = 1, .verify = true};
    const struct option table[] = {
        {"inputs", 'i', OPTION_LIST, &o.inputs, "FILE",
         "an argument (.npy, LiteralProto, or text \"f32[2] {1, 2}\"), one per parameter in order; "
         "or one RunHloModuleLiterals file for all"},
        {"seed", 's', OPTION_INT, &o.seed, "N", "draw the arguments from this seed (default 1)"},
        {"zeros", 0, OPTION_FLAG, &o.zeros, NULL, "all arguments are zero"},
        {"large-range", 0, OPTION_FLAG, &o.large_range, NULL,
         "draw floats over the whole exponent range"},
        {"pairs", 'p', OPTION_FLAG, &o.pairs, NULL,
         "the entry returns (got, want) pairs: compare them"},
        {"fidelity", 0, OPTION_TEXT, &o.fidelity, "exact|literal",
         "exact: each result exact and rounded once (default); literal: every step as written"},
        {"save", 'o', OPTION_TEXT, &o.save, "FILE",
         "save arguments and result as RunHloModuleLiterals, or the result as .npy"},
        {"full", 'f', OPTION_FLAG, &o.full, NULL, "print results of more than 1000 elements whole"},
        {"quiet", 'q', OPTION_FLAG, &o.quiet, NULL, "print no results"},
        {"json", 0, OPTION_TEXT, &o.json, "FILE", "write a report as JSON (- = stdout)"},
        {"repeat", 0, OPTION_INT, &o.repeat, "N", "evaluate N times; the report has the fastest"},
        {"timeout", 't', OPTION_SECONDS, &o.timeout, "TIME", "give up on a module after this time"},
        {"memory", 'm', OPTION_SIZE, &o.memory, "SIZE", "most bytes of values at a time (20G)"},
        {"threads", 0, OPTION_INT, &o.threads, "N", "threads to use (default: the cores)"},
        {"verify", 0, OPTION_FLAG, &o.verify, NULL, "--no-verify: evaluate without checking first"},
        {"help", 'h', OPTION_FLAG, &o.help, NULL, "this text"},
        {0}};
    struct string_list paths = {0}, files = {0};
    if (!options_parse(&(struct option_table){.options = table}, argc, argv, &paths)) {
        return EXIT_USAGE;
    }
    if (o.help || paths.count == 0) {
        fprintf(o.help ? stdout : stderr,
                "usage: referee eval MODULE… [--inputs FILE…]\n\n"
                "Evaluates modules on the golden interpreter and prints the outputs. Arguments "
                "come from\n--inputs, from \"//@ arg\" lines in the file, from a snapshot, or from "
                "a seed. \"//@ expect\"\nlines are compared with the outputs.\n\n");
        if (o.help) {
            options_help(table);
        }
        return o.help ? EXIT_AS_EXPECTED : EXIT_USAGE;
    }
    if (o.fidelity != NULL && strcmp(o.fidelity, "exact") != 0 &&
        strcmp(o.fidelity, "literal") != 0) {
        fprintf(stderr, "referee: --fidelity takes exact or literal\n");
        return EXIT_USAGE;
    }
    if (!expand_paths(&paths, &files)) {
        return EXIT_USAGE;
    }
    if (o.threads > 0) {
        pool_set_threads((int)o.threads);
    }
    o.repeat = o.repeat < 1 ? 1 : o.repeat;
    literal_set_memory_limit(o.memory);
    json_t *report = json_array();
    struct progress progress;
    progress_start(&progress, files.count);
    size_t counts[4] = {0}, rounded = 0;
    int status = EXIT_AS_EXPECTED;
    for (size_t i = 0; i < files.count; i++) {
        progress_clear(&progress);
        int one = eval_file(files.items[i], &o, report, counts, &rounded);
        status = one > status ? one : status;
        progress_step(&progress, files.items[i]);
    }
    progress_clear(&progress);
    if (files.count > 1) {
        printf("%zu modules as expected", counts[0]);
        if (rounded > 0) {
            printf(" (%zu of them within the rounding of the expectation)", rounded);
        }
        printf(", %zu not as expected, %zu unusable, %zu not evaluated\n", counts[1], counts[2],
               counts[3]);
    }
    if (o.json != NULL && !write_json(o.json, report)) {
        status = EXIT_INFRASTRUCTURE;
    }
    json_decref(report);
    free_paths(&files);
    string_list_finish(&paths);
    string_list_finish(&o.inputs);
    return status;
}
