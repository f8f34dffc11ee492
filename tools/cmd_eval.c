/* referee eval: modules on the golden interpreter alone. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/checks.h"
#include "compare/devices.h"
#include "backend/backend.h"
#include "corpus/pairs.h"
#include "hlo/base/clock.h"
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
#include "tools/feeds.h"
#include "tools/modules.h"
#include "tools/options.h"
#include "tools/parts.h"
#include "tools/profile.h"
#include "tools/progress.h"

struct eval_options {
    bool pairs, quiet, help, full, verify, zeros, large_range, profile, bf16_products;
    const char *json, *save, *fidelity;
    int64_t seed, repeat, threads;
    int64_t replicas, partitions, device; /* 0: as the header says; device −1: all */
    double timeout;
    size_t memory;
    struct string_list inputs, infeeds, received;
    struct string_list shapes;
    const char *outfeed, *sent, *trace, *probes, *entry;
};

/* What the hooks of an evaluation look at. */
struct host {
    double deadline;                 /* 0 = none */
    struct feeds *feeds, *transfers; /* infeed and outfeed; recv and send */
    struct profile *profile;         /* or NULL */
    struct checks checks;
};

static bool past_deadline(void *context)
{
    const struct host *host = context;
    return host->deadline > 0 && clock_seconds() > host->deadline;
}

static void hear(void *context, const struct interp_span *span, bool ends)
{
    const struct host *host = context;
    profile_span(host->profile, span, ends);
}

static struct literal *give(void *context, int device, const struct shape *shape, struct error *err)
{
    const struct host *host = context;
    return feeds_infeed(host->feeds, device, shape, err);
}

static bool take(void *context, int device, const struct literal *value, struct error *err)
{
    const struct host *host = context;
    (void)err;
    feeds_outfeed(host->feeds, device, value);
    return true;
}

static struct literal *give_transfer(void *context, int device, const struct instruction *recv,
                                     const struct shape *shape, struct error *err)
{
    const struct host *host = context;
    (void)recv;
    return feeds_infeed(host->transfers, device, shape, err);
}

static bool take_transfer(void *context, int device, const struct instruction *send,
                          const struct literal *value, struct error *err)
{
    const struct host *host = context;
    (void)send;
    (void)err;
    feeds_outfeed(host->transfers, device, value);
    return true;
}

static bool check(void *context, const struct instruction *call, struct literal *const *operands,
                  int count, bool *holds, struct error *err)
{
    struct host *host = context;
    return checks_hear(&host->checks, call, operands, count, holds, err);
}

/* What became of one module. */
struct evaluated {
    struct literal *result; /* of all devices (compare/devices.h) */
    int replicas, partitions;
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

static int device_count(const struct evaluated *evaluated)
{
    return evaluated->replicas * evaluated->partitions;
}

static struct literal *device_result(const struct evaluated *evaluated, int device)
{
    return device_count(evaluated) == 1 ? evaluated->result : evaluated->result->elements[device];
}

static bool is_chosen(const struct eval_options *options, int device)
{
    return options->device < 0 || options->device == device;
}

/* Those asked for, else the header's, but one where devices cannot differ. */
static bool choose_devices(struct module *module, const struct eval_options *options,
                           struct evaluated *evaluated, struct error *err)
{
    const struct module_config *config = &module->config;
    set_device_counts(module, options->replicas, options->partitions);
    bool one = options->pairs || !devices_matter(module);
    int64_t replicas = options->replicas > 0 ? options->replicas : one ? 1 : config->replica_count;
    int64_t partitions = options->partitions > 0 ? options->partitions
                         : one                   ? 1
                                                 : config->partition_count;
    if (replicas < 1 || partitions < 1 || replicas > DEVICES_MOST || partitions > DEVICES_MOST ||
        replicas * partitions > DEVICES_MOST) {
        return error_set(err, ERROR_RESOURCE_EXHAUSTED,
                         "%lld replicas of %lld partitions are too many devices",
                         (long long)replicas, (long long)partitions);
    }
    evaluated->replicas = (int)replicas;
    evaluated->partitions = (int)partitions;
    if (options->device >= replicas * partitions) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "there is no device %lld among %lld",
                         (long long)options->device, (long long)(replicas * partitions));
    }
    return true;
}

/* Each device draws its own arguments, as in a differential run. */
static bool draw(const struct module *module, int devices, const struct eval_options *options,
                 struct arguments *arguments, struct error *err)
{
    struct input_options inputs = {.seed = (uint64_t)options->seed,
                                   .unverified = !options->verify,
                                   .zeros = options->zeros,
                                   .large_range = options->large_range};
    int count = module->entry->parameter_count;
    arguments->literals = calloc((size_t)(count * devices) + 1, sizeof *arguments->literals);
    for (int d = 0; d < devices; d++) {
        inputs.seed = (uint64_t)options->seed + ((uint64_t)d << 32);
        if (!inputs_generate(module, &inputs, arguments->literals + d * count, NULL, err)) {
            return false;
        }
        arguments->count += count;
    }
    return true;
}

static void run_part(const struct loaded_module *part, const struct arguments *arguments,
                     const struct eval_options *options, const struct interp_options *interp,
                     struct evaluated *evaluated, struct error *err)
{
    struct host *host = interp->context;
    for (int64_t i = 0; i < options->repeat; i++) {
        literal_release(evaluated->result);
        checks_finish(&host->checks);
        feeds_rewind(host->feeds);
        feeds_rewind(host->transfers);
        double start = clock_seconds();
        evaluated->result =
            devices_evaluate(part->module, arguments->literals, arguments->count, interp, err);
        double seconds = clock_seconds() - start;
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
    } else if (header->expected_count > 0) {
        int devices = device_count(evaluated);
        struct literal *const *results =
            devices == 1 ? &evaluated->result : evaluated->result->elements;
        if (!case_header_check_devices(header, results, devices, &picture)) {
            set_problem(evaluated, EXIT_FINDINGS, picture.data);
        }
    }
    text_finish(&picture);
}

/* What the program itself demanded. A check that fails because its expectation was rounded on the
 * way is as expected, and told. */
static void check_checks(const struct pairs *pairs, const struct checks *checks,
                         const struct eval_options *options, struct evaluated *evaluated)
{
    struct error err = {0};
    struct text picture;
    text_init(&picture);
    int rounded = 0;
    if (checks->failed > 0 && !pairs_check_failures(pairs, checks, &rounded, &picture, &err)) {
        text_clear(&picture);
    }
    if (checks->failed > rounded) {
        set_problem(evaluated, EXIT_FINDINGS, checks->pictures->data);
    } else if (checks->failed > 0) {
        set_problem(evaluated, EXIT_AS_EXPECTED, picture.data);
        evaluated->rounded = true;
    }
    text_finish(&picture);
    if (options->probes != NULL && !probes_save(checks, options->probes, &err)) {
        set_problem(evaluated, EXIT_INFRASTRUCTURE, err.message);
    }
}

static void print_outputs(const struct literal *result, const struct eval_options *options)
{
    struct text text;
    text_init(&text);
    int leaves = shape_leaves(result->shape);
    for (int i = 0; i < leaves; i++) {
        const struct literal *leaf = literal_leaf(result, i);
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
    for (int d = 0; d < device_count(evaluated); d++) {
        if (device_count(evaluated) > 1 && is_chosen(options, d)) {
            printf("device %d (replica %d, partition %d):\n", d, d / evaluated->partitions,
                   d % evaluated->partitions);
        }
        if (is_chosen(options, d)) {
            print_outputs(device_result(evaluated, d), options);
        }
    }
}

/* All arguments and results, as run_hlo_module writes them: a set for each device. */
static void *write_sets(const struct eval_options *options, const struct arguments *arguments,
                        const struct evaluated *evaluated, size_t *size, struct error *err)
{
    int devices = device_count(evaluated), each = arguments->count / devices;
    struct literal_set *list = calloc((size_t)devices, sizeof *list);
    struct literal_sets sets = {0, list};
    for (int d = 0; d < devices; d++) {
        if (is_chosen(options, d)) {
            list[sets.count++] = (struct literal_set){each, arguments->literals + d * each,
                                                      device_result(evaluated, d), NULL};
        }
    }
    void *bytes = proto_write_literals(&sets, size, err);
    free(list);
    return bytes;
}

static bool save(const struct eval_options *options, const struct arguments *arguments,
                 const struct evaluated *evaluated, struct error *err)
{
    const char *path = options->save;
    size_t length = strlen(path), size;
    bool is_npy = length > 4 && strcmp(path + length - 4, ".npy") == 0;
    if (is_npy && device_count(evaluated) > 1 && options->device < 0) {
        return error_set(err, ERROR_INVALID_ARGUMENT,
                         "%s holds one array: say which device's with --device", path);
    }
    void *bytes =
        is_npy ? npy_write(device_result(evaluated, options->device < 0 ? 0 : (int)options->device),
                           &size, err)
               : write_sets(options, arguments, evaluated, &size, err);
    bool ok = bytes != NULL && file_write(path, bytes, size, err);
    free(bytes);
    return ok;
}

/* Shows and saves what the profile heard; false when it cannot be saved. */
static bool show_profile(const struct host *host, const char *name,
                         const struct eval_options *options)
{
    if (options->profile && host->profile != NULL) {
        profile_print(host->profile, name, stdout);
    }
    return options->trace == NULL || profile_write_trace(host->profile, options->trace);
}

static int eval_part(struct loaded_module *part, const char *source,
                     const struct eval_options *options, json_t *report, size_t *rounded,
                     struct checks *total)
{
    struct evaluated evaluated = {.problem = strdup(""), .replicas = 1, .partitions = 1};
    struct host host = {0};
    struct interp_options interp = {
        .fidelity = options->fidelity != NULL && strcmp(options->fidelity, "literal") == 0
                        ? FIDELITY_LITERAL
                        : FIDELITY_EXACT,
        .bf16_products = options->bf16_products,
        .seed = (uint64_t)options->seed,
        .context = &host,
        .cancelled = past_deadline,
        .infeed = give,
        .outfeed = options->outfeed != NULL ? take : NULL,
        .host_receive = options->received.count > 0 ? give_transfer : NULL,
        .host_send = take_transfer,
        .on_check = check,
    };
    if (options->profile || options->trace != NULL) {
        host.profile = profile_create(options->trace != NULL);
        interp.on_span = hear;
    }
    struct error err = {0};
    struct case_header header = {0};
    struct arguments arguments = {0};
    bool ready = part_refine(part, &options->shapes, &options->inputs, &err);
    if (ready && part->error != NULL) {
        err = *part->error;
    } else if (ready && case_header_read(part->header, part->name, &header, &err) &&
               choose_devices(part->module, options, &evaluated, &err) &&
               arguments_find(part, &header, &options->inputs, 0, &arguments, &err) &&
               (arguments.count > 0 ||
                draw(part->module, device_count(&evaluated), options, &arguments, &err)) &&
               arguments_spread(&arguments, part->module->entry->parameter_count,
                                device_count(&evaluated), &err)) {
        interp.replica_count = evaluated.replicas;
        interp.partition_count = evaluated.partitions;
        struct findings findings = {0};
        if (options->verify && !verify_module(part->module, &findings)) {
            error_at(&err, findings.list[0].where, "%s", findings.list[0].text);
        } else {
            host.deadline = options->timeout > 0 ? clock_seconds() + options->timeout : 0;
            host.feeds = feeds_create(&options->infeeds, device_count(&evaluated));
            host.transfers = feeds_create(&options->received, device_count(&evaluated));
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
        if ((options->save != NULL && !save(options, &arguments, &evaluated, &err)) ||
            (options->outfeed != NULL && !feeds_save(host.feeds, options->outfeed, &err)) ||
            (options->sent != NULL && !feeds_save(host.transfers, options->sent, &err))) {
            set_problem(&evaluated, EXIT_INFRASTRUCTURE, err.message);
        }
        check_checks(&pairs, &host.checks, options, &evaluated);
    }
    print_result(part, options, &evaluated);
    if (!show_profile(&host, part->name, options)) {
        evaluated.status = EXIT_INFRASTRUCTURE;
    }
    json_array_append_new(report, json_pack("{s:s, s:i, s:s, s:f, s:s, s:I, s:I, s:I}", "module",
                                            part->name, "status", evaluated.status, "problem",
                                            evaluated.problem, "seconds", evaluated.seconds,
                                            "inputs", argument_source_text(arguments.source),
                                            "seed", (json_int_t)options->seed, "checks_passed",
                                            (json_int_t)host.checks.passed, "checks_failed",
                                            (json_int_t)host.checks.failed));
    total->passed += host.checks.passed;
    total->failed += host.checks.failed;
    int status = evaluated.status;
    *rounded += evaluated.rounded;
    literal_release(evaluated.result);
    free(evaluated.problem);
    feeds_destroy(host.feeds);
    feeds_destroy(host.transfers);
    profile_destroy(host.profile);
    checks_finish(&host.checks);
    arguments_finish(&arguments);
    case_header_finish(&header);
    return status;
}

/* counts: by exit status; *rounded: how many of them are as expected within its rounding; *total:
 * how many checks passed and failed. */
static int eval_file(const char *path, const struct eval_options *options, json_t *report,
                     size_t counts[4], size_t *rounded, struct checks *total)
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
                            report, rounded, total);
        counts[one]++;
        status = one > status ? one : status;
    }
    loaded_file_finish(&file);
    free(data);
    return status;
}

int command_eval(int argc, char **argv)
{
    struct eval_options o = {.seed = 1, .repeat = 1, .verify = true, .device = -1};
    const struct option table[] = {
        {"inputs", 'i', OPTION_LIST, &o.inputs, "FILE",
         "an argument (.npy, LiteralProto, or text \"f32[2] {1, 2}\"), one per parameter in order "
         "(or per device and parameter); or one RunHloModuleLiterals file for all"},
        {"entry", 0, OPTION_TEXT, &o.entry, "NAME",
         "the function to evaluate of an MLIR file (default: main, or each public one)"},
        {"shapes", 0, OPTION_LIST, &o.shapes, "SHAPE",
         "shape of an argument, one per argument in order, where a function of an MLIR file leaves "
         "sizes open; otherwise those of --inputs count"},
        {"probes", 0, OPTION_TEXT, &o.probes, "FOLDER",
         "save what interpreter.probe ops see as .npy files and index.csv"},
        {"replicas", 0, OPTION_INT, &o.replicas, "N",
         "evaluate on N replicas instead of those of the module's header"},
        {"partitions", 0, OPTION_INT, &o.partitions, "N",
         "evaluate on N partitions instead of those of the module's header"},
        {"device", 0, OPTION_INT, &o.device, "N",
         "print and save only device N (replica × partitions + partition)"},
        {"seed", 's', OPTION_INT, &o.seed, "N", "draw the arguments from this seed (default 1)"},
        {"zeros", 0, OPTION_FLAG, &o.zeros, NULL, "all arguments are zero"},
        {"large-range", 0, OPTION_FLAG, &o.large_range, NULL,
         "draw floats over the whole exponent range"},
        {"pairs", 'p', OPTION_FLAG, &o.pairs, NULL,
         "the entry returns (got, want) pairs: compare them"},
        {"fidelity", 0, OPTION_TEXT, &o.fidelity, "exact|literal",
         "exact: each result exact and rounded once (default); literal: every step as written"},
        {"bf16-products", 0, OPTION_FLAG, &o.bf16_products, NULL,
         "f32 operands of products with the default precision are rounded to bf16, as on TPUs"},
        {"save", 'o', OPTION_TEXT, &o.save, "FILE",
         "save arguments and result as RunHloModuleLiterals, or the result as .npy"},
        {"infeed", 0, OPTION_LIST, &o.infeeds, "FILE",
         "what infeeds give, a file or leaf after the other, to each device (.npy, LiteralProto, "
         "text, or RunHloModuleLiterals)"},
        {"outfeed", 0, OPTION_TEXT, &o.outfeed, "FILE",
         "save what outfeeds take as RunHloModuleLiterals, a set for each device"},
        {"receive", 0, OPTION_LIST, &o.received, "FILE",
         "what recv gets from the host, as --infeed"},
        {"sent", 0, OPTION_TEXT, &o.sent, "FILE", "save what send gives the host, as --outfeed"},
        {"full", 'f', OPTION_FLAG, &o.full, NULL, "print results of more than 1000 elements whole"},
        {"quiet", 'q', OPTION_FLAG, &o.quiet, NULL, "print no results"},
        {"json", 0, OPTION_TEXT, &o.json, "FILE", "write a report as JSON (- = stdout)"},
        {"repeat", 0, OPTION_INT, &o.repeat, "N", "evaluate N times; the report has the fastest"},
        {"profile", 0, OPTION_FLAG, &o.profile, NULL,
         "print time and bytes by instruction, opcode and computation"},
        {"trace", 0, OPTION_TEXT, &o.trace, "FILE",
         "write the evaluation as a trace for Perfetto or chrome://tracing"},
        {"timeout", 't', OPTION_SECONDS, &o.timeout, "TIME", "give up on a module after this time"},
        {"memory", 'm', OPTION_SIZE, &o.memory, "SIZE",
         "most bytes of values at a time (default: 80 % of the memory available)"},
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
    set_memory_limit(o.memory, MEMORY_ALONE);
    load_options.entry = o.entry;
    load_options.checks = MLIR_CHECKS_KEEP;
    json_t *report = json_array();
    struct progress progress;
    progress_start(&progress, files.count);
    size_t counts[4] = {0}, rounded = 0;
    struct checks checks = {0};
    int status = EXIT_AS_EXPECTED;
    for (size_t i = 0; i < files.count; i++) {
        progress_clear(&progress);
        int one = eval_file(files.items[i], &o, report, counts, &rounded, &checks);
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
    if (checks.passed + checks.failed > 0) {
        printf("%lld checks hold, %lld do not\n", (long long)checks.passed,
               (long long)checks.failed);
    }
    if (o.json != NULL && !write_json(o.json, report)) {
        status = EXIT_INFRASTRUCTURE;
    }
    json_decref(report);
    free_paths(&files);
    string_list_finish(&paths);
    string_list_finish(&o.inputs);
    string_list_finish(&o.infeeds);
    string_list_finish(&o.received);
    string_list_finish(&o.shapes);
    return status;
}
