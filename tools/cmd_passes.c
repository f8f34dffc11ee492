/* referee passes: which pass of a compiler changed the meaning of a module? */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/dumper.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/module.h"
#include "tools/commands.h"
#include "tools/modules.h"
#include "tools/passes_job.h"

struct passes_command {
    struct passes_job job;
    struct string_list flags; /* --option NAME=VALUE */
    const char *backend, *target, *keep, *module, *json, *html;
    int64_t seed, seeds, partitions;
    size_t memory, worker_memory;
    double compile_timeout;
    bool list, help;
    char *uri;              /* the backend with its target */
    char *repeated;         /* the options that a repeated walk needs */
    char *flag_lines;       /* the flags, one a line */
    bool no_infrastructure; /* a backend that cannot be opened … */
};

/* Seeds are any integers; this one is none that anybody types. */
#define NO_SEED INT64_MIN

/* --- what is said --- */

/* The options that a repeated walk needs, as they were typed. */
static char *repeated_options(const struct passes_command *command)
{
    const struct passes_job *job = &command->job;
    const struct {
        const char *name, *value;
    } words[] = {{"backend", command->backend},
                 {"target", command->target},
                 {"profile", job->profile},
                 {"from", job->from},
                 {"to", job->to}};
    struct text text;
    text_init(&text);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (words[i].value != NULL) {
            text_printf(&text, " --%s '%s'", words[i].name, words[i].value);
        }
    }
    for (size_t i = 0; i < command->flags.count; i++) {
        text_printf(&text, " --option '%s'", command->flags.items[i]);
    }
    if (command->partitions > 0) {
        text_printf(&text, " --partitions %lld", (long long)command->partitions);
    }
    for (size_t i = 0; i < job->inputs.count; i++) {
        text_printf(&text, " --inputs '%s'", job->inputs.items[i]);
    }
    if (command->seed != NO_SEED) {
        text_printf(&text, " --seed %lld", (long long)command->seed);
    }
    if (command->seeds > 1) {
        text_printf(&text, " --seeds %lld", (long long)command->seeds);
    }
    text_append(&text, job->options.inputs.boundary_values ? " --boundary" : "");
    text_append(&text, job->options.inputs.large_range ? " --large-range" : "");
    text_append(&text, job->every ? " --every" : "");
    char *result = text_take(&text);
    text_finish(&text);
    return result;
}

static char *lines_of(const struct string_list *words)
{
    struct text text;
    text_init(&text);
    for (size_t i = 0; i < words->count; i++) {
        text_printf(&text, "%s\n", words->items[i]);
    }
    char *result = text_take(&text);
    text_finish(&text);
    return result;
}

/* "module_0003.jit_f", "jit_f" and "3" name the same. */
static bool is_asked_for(const struct passes_command *command, const struct dump_module *module)
{
    const char *word = command->module;
    if (word == NULL || strcmp(word, module->name) == 0) {
        return true;
    }
    word += strncmp(word, "module_", 7) == 0 ? 7 : 0;
    char *end;
    long long id = strtoll(word, &end, 10);
    return end > word && (*end == '\0' || (*end == '.' && strcmp(end + 1, module->name) == 0)) &&
           id == module->id;
}

static void list_module(struct passes_command *command, const struct dump_module *module)
{
    printf("module_%04lld %s  %d modules", (long long)module->id, module->name, module->step_count);
    if (module->folder[0] != '\0') {
        printf("  in %s", module->folder);
    }
    if (module->timestamp[0] != '\0') {
        printf("  of %s", module->timestamp);
    }
    if (module->snapshot_count > 0) {
        printf("  %d snapshots", module->snapshot_count);
    }
    printf("\n");
    struct passes_steps steps;
    struct error err = {0};
    if (command->module == NULL && !command->job.verbose) {
        return;
    }
    if (!passes_steps_choose(module, command->job.every, &steps, &err)) {
        print_error(&err);
        command->job.unreadable++;
        return;
    }
    for (int i = 0; i < steps.count; i++) {
        printf("%4d  %s\n", i, steps.names[i]);
    }
    passes_steps_finish(&steps);
}

/* --- dump folders --- */

/* All modules of a dump, or the one asked for. */
static void walk_dump(struct passes_command *command, struct passes_origin *origin,
                      const struct dump *dump)
{
    int found = 0;
    origin->several = dump->module_count > 1;
    for (int i = 0; i < dump->module_count; i++) {
        const struct dump_module *module = &dump->modules[i];
        if (!is_asked_for(command, module)) {
            continue;
        }
        found++;
        if (command->list) {
            list_module(command, module);
        } else {
            passes_job_run(&command->job, origin, module);
        }
    }
    if (found == 0) {
        fprintf(stderr, "referee: %s: no module '%s' in this dump; --list shows its %d\n",
                origin->path, command->module, dump->module_count);
        command->job.unreadable++;
    }
}

static void walk_folder(struct passes_command *command, const char *path)
{
    struct error err = {0};
    struct dump dump;
    if (!dump_scan(path, &dump, &err)) {
        print_error(&err);
        command->job.unreadable++;
        return;
    }
    struct text again;
    text_init(&again);
    text_printf(&again, "referee passes '%s'%s", path, command->repeated);
    struct passes_origin origin = {.path = path,
                                   .command = again.data,
                                   .backend = "",
                                   .target = "",
                                   .plugin = "",
                                   .flags = command->flag_lines,
                                   .compile_message = ""};
    walk_dump(command, &origin, &dump);
    text_finish(&again);
    dump_finish(&dump);
}

/* --- modules that are compiled --- */

/* Where the dumps of a part are kept; NULL: nowhere. With several parts each has a folder. */
static char *folder_of(const struct passes_command *command, const char *part, bool several)
{
    if (command->keep == NULL) {
        return NULL;
    }
    const char *slash = strrchr(part, '/');
    struct text text;
    text_init(&text);
    text_append(&text, command->keep);
    if (several) {
        mkdir(command->keep, 0777); /* it may be there; else the dumper says why not */
        text_printf(&text, "/%s", slash != NULL ? slash + 1 : part);
    }
    char *folder = text_take(&text);
    text_finish(&text);
    return folder;
}

static bool open_dumper(struct passes_command *command, const char *folder, struct dumper *dumper)
{
    struct error err = {0};
    size_t count = command->flags.count;
    struct backend_flag *flags = flags_make(&command->flags);
    struct backend_options options = {.timeout = command->compile_timeout,
                                      .memory_limit = command->worker_memory,
                                      .flags = flags,
                                      .flag_count = (int)count};
    struct dumper_options dump = {.folder = folder, .passes = command->job.every ? "." : NULL};
    bool good = dumper_open(command->uri, &options, &dump, dumper, &err);
    flags_free(flags, count);
    if (!good) {
        print_error(&err);
        command->job.unreadable += err.code == ERROR_INVALID_ARGUMENT;
        command->no_infrastructure |= err.code != ERROR_INVALID_ARGUMENT;
    }
    return good;
}

static void compile_and_walk(struct passes_command *command, const struct loaded_module *part,
                             struct dumper *dumper, struct passes_origin *origin)
{
    struct run_result compiled;
    struct error err = {0};
    struct dump dump;
    struct text plugin;
    text_init(&plugin);
    bool described = (command->json != NULL || command->job.report != NULL) &&
                     backend_describe(dumper->backend, &plugin, &err);
    origin->plugin = described ? plugin.data : "";
    error_clear(&err);
    dumper_compile(dumper, part->module, 0, (int)command->partitions, command->partitions > 1,
                   &compiled);
    origin->compile = compiled.outcome;
    origin->compile_message = compiled.message;
    if (compiled.outcome == OUTCOME_UNSUPPORTED) {
        command->job.unchecked++;
    } else if (compiled.outcome != OUTCOME_PASS) {
        command->job.findings++;
    }
    if (dump_scan(dumper->folder, &dump, &err)) {
        walk_dump(command, origin, &dump);
        dump_finish(&dump);
    } else if (compiled.outcome != OUTCOME_PASS) {
        passes_job_failed(&command->job, origin, outcome_text(compiled.outcome), compiled.message);
    } else {
        command->job.unchecked++;
        passes_job_failed(&command->job, origin, outcome_text(OUTCOME_UNSUPPORTED),
                          "the backend compiled it and dumped nothing");
    }
    run_result_finish(&compiled);
    text_finish(&plugin);
}

/* False when there is no point in going on. */
static bool walk_part(struct passes_command *command, const struct loaded_module *part,
                      const char *path, bool several)
{
    struct text again;
    text_init(&again);
    text_printf(&again, "referee passes '%s'%s", path, command->repeated);
    struct passes_origin origin = {.path = part->name,
                                   .command = again.data,
                                   .backend = command->backend,
                                   .target = command->target != NULL ? command->target : "",
                                   .plugin = "",
                                   .flags = command->flag_lines,
                                   .source = part,
                                   .compile_message = ""};
    bool good = true;
    if (part->module == NULL) {
        struct text problem;
        text_init(&problem);
        error_print(part->error, &problem);
        passes_job_failed(&command->job, &origin, "UNREADABLE", problem.data);
        command->job.unreadable++;
        text_finish(&problem);
    } else {
        struct dumper dumper;
        char *folder = folder_of(command, part->name, several);
        good = open_dumper(command, folder, &dumper);
        if (good) {
            set_device_counts(part->module, 0, command->partitions);
            compile_and_walk(command, part, &dumper, &origin);
            dumper_close(&dumper, false);
        }
        free(folder);
    }
    text_finish(&again);
    return good;
}

static bool walk_file(struct passes_command *command, const char *path, bool several)
{
    struct error err = {0};
    struct loaded_file file;
    if (!module_load(path, &file, &err)) {
        print_error(&err);
        command->job.unreadable++;
        return true;
    }
    bool good = true;
    for (int i = 0; i < file.count && good; i++) {
        good = walk_part(command, &file.modules[i], path, several || file.count > 1);
    }
    loaded_file_finish(&file);
    return good;
}

/* --- all --- */

static bool write_html(struct passes_command *command, const struct string_list *paths)
{
    struct text page;
    struct error err = {0};
    text_init(&page);
    text_append(&page, "Passes of ");
    text_append(&page, paths->items[0]);
    text_append(&page, paths->count > 1 ? " …" : "");
    char *title = text_take(&page);
    passes_html_begin(title, &page);
    text_append_n(&page, command->job.html.data, command->job.html.size);
    passes_html_end(&page);
    bool good = file_write(command->html, page.data, page.size, &err);
    if (!good) {
        print_error(&err);
    }
    free(title);
    text_finish(&page);
    return good;
}

static int status_of(const struct passes_command *command)
{
    const struct passes_job *job = &command->job;
    bool nothing = job->unchecked > 0 && job->unchecked >= job->walked;
    return job->unreadable > 0                               ? EXIT_USAGE
           : job->cannot_write || command->no_infrastructure ? EXIT_INFRASTRUCTURE
           : job->findings > 0                               ? EXIT_FINDINGS
           : nothing                                         ? EXIT_INFRASTRUCTURE
                                                             : EXIT_AS_EXPECTED;
}

static int run(struct passes_command *command, const struct string_list *paths)
{
    struct passes_job *job = &command->job;
    bool given = command->seed != NO_SEED;
    job->seed_given = given;
    job->options.inputs.seed = given ? (uint64_t)command->seed : 1;
    job->options.seed_count = (int)command->seeds;
    job->options.cache_bytes = command->memory / 2;
    job->options.find_culprits = true;
    job->wants_html = command->html != NULL;
    job->json = json_array();
    text_init(&job->html);
    command->repeated = repeated_options(command);
    command->flag_lines = lines_of(&command->flags);
    set_memory_limit(command->memory, MEMORY_ALONE);
    if (command->backend == NULL) {
        for (size_t i = 0; i < paths->count; i++) {
            walk_folder(command, paths->items[i]);
        }
    } else {
        struct string_list files = {0};
        command->uri = command->target != NULL
                           ? backend_uri_for_target(command->backend, command->target)
                           : memory_strdup(command->backend);
        bool good = expand_paths(paths, &files);
        job->unreadable += !good;
        for (size_t i = 0; i < files.count && good; i++) {
            good = walk_file(command, files.items[i], files.count > 1);
        }
        free_paths(&files);
    }
    if (command->json != NULL && !write_json(command->json, job->json)) {
        job->cannot_write = true;
    }
    if (command->html != NULL && !write_html(command, paths)) {
        job->cannot_write = true;
    }
    return status_of(command);
}

/* Do the options go together? */
static bool check(const struct passes_command *command, const struct string_list *paths)
{
    const struct passes_job *job = &command->job;
    struct stat info;
    const char *problem = NULL;
    if (job->profile != NULL && profile_find(job->profile) == NULL) {
        problem = "there is no such profile; 'referee show backends' lists them";
    } else if (command->seeds < 1 || command->seeds > 1000) {
        problem = "--seeds takes 1 to 1000";
    } else if (command->partitions < 0 || command->partitions > DEVICES_MOST) {
        problem = "--partitions is out of range";
    } else if (command->backend == NULL &&
               (command->target != NULL || command->keep != NULL || command->partitions > 0)) {
        problem = "--target, --keep and --partitions need --backend: they are of a compile";
    } else if (command->seed != NO_SEED && job->inputs.count > 0) {
        problem = "--seed and --inputs are two sources of the same";
    }
    for (size_t i = 0; i < paths->count && problem == NULL && command->backend == NULL; i++) {
        if (stat(paths->items[i], &info) == 0 && !S_ISDIR(info.st_mode)) {
            problem = "a file is compiled, so --backend must say by what; a dump is a folder";
        }
    }
    if (problem != NULL) {
        fprintf(stderr, "referee: %s\n", problem);
    }
    return problem == NULL;
}

static int parse(struct passes_command *command, int argc, char **argv)
{
    struct passes_job *job = &command->job;
    struct input_options *inputs = &job->options.inputs;
    const struct option table[] = {
        {"backend", 'b', OPTION_TEXT, &command->backend, "URI",
         "compile the modules with dumps on this backend, and walk those"},
        {"target", 0, OPTION_TEXT, &command->target, "NAME",
         "what to compile for, without having it: h100, v5e:2x2 … ('referee show backends')"},
        {"option", 'O', OPTION_LIST, &command->flags, "NAME=VALUE",
         "set an XLA flag for the backend"},
        {"partitions", 0, OPTION_INT, &command->partitions, "N",
         "compile for N partitions instead of those of the module's header"},
        {"keep", 'k', OPTION_TEXT, &command->keep, "DIR", "keep the dumps in this folder"},
        {"compile-timeout", 0, OPTION_SECONDS, &command->compile_timeout, "TIME",
         "for compiling one module (default 10m)"},
        {"worker-memory", 0, OPTION_SIZE, &command->worker_memory, "SIZE",
         "most bytes that the compiler's process may take"},
        {"module", 0, OPTION_TEXT, &command->module, "NAME|ID",
         "of several modules in a dump, only this one"},
        {"list", 'l', OPTION_FLAG, &command->list, NULL,
         "list the modules of a dump; with --module or --verbose their passes too"},
        {"from", 0, OPTION_TEXT, &job->from, "PASS|NUMBER",
         "begin with this pass: a name, NAME#2 for its second run, or its number"},
        {"to", 0, OPTION_TEXT, &job->to, "PASS|NUMBER", "end with this pass"},
        {"every", 0, OPTION_FLAG, &job->every, NULL,
         "also modules that are byte for byte the one before; with --backend after every pass"},
        {"blame", 0, OPTION_TEXT, &job->blame, "PASS|NUMBER",
         "print what a pass did to the module, and evaluate nothing"},
        {"inputs", 'i', OPTION_LIST, &job->inputs, "FILE",
         "an argument, one per parameter; or one RunHloModuleLiterals file for all"},
        {"seed", 's', OPTION_INT, &command->seed, "N",
         "draw arguments from this seed (default: a snapshot's, or else seed 1)"},
        {"seeds", 0, OPTION_INT, &command->seeds, "COUNT",
         "walk with this many seeds at once (default 1)"},
        {"boundary", 0, OPTION_FLAG, &inputs->boundary_values, NULL,
         "mix in ±0, ±Inf, NaN, subnormals and extremes"},
        {"large-range", 0, OPTION_FLAG, &inputs->large_range, NULL,
         "draw floats over the whole exponent range"},
        {"profile", 0, OPTION_TEXT, &job->profile, "NAME",
         "what the compiler's target may do: cpu, gpu, tpu, strict …; by default told by the dump"},
        {"timeout", 't', OPTION_SECONDS, &job->options.timeout, "TIME",
         "for evaluating one module (default: none)"},
        {"memory", 'm', OPTION_SIZE, &command->memory, "SIZE",
         "most bytes of values, half of them kept between passes (default: 80 % of the memory "
         "available, 4 GiB kept)"},
        {"json", 0, OPTION_TEXT, &command->json, "FILE", "write a report as JSON (- = stdout)"},
        {"html", 0, OPTION_TEXT, &command->html, "FILE",
         "write a page with the curve of error over the passes"},
        {"report", 0, OPTION_TEXT, &job->report, "FILE|DIR/",
         "write what a bug report of the first bad pass needs"},
        {"verbose", 'v', OPTION_FLAG, &job->verbose, NULL, "also sizes, times and what was kept"},
        {"quiet", 'q', OPTION_FLAG, &job->quiet, NULL, "only what did not pass"},
        {"help", 'h', OPTION_FLAG, &command->help, NULL, "this text"},
        {0}};
    struct string_list paths = {0};
    if (!options_parse(&(struct option_table){.options = table}, argc, argv, &paths)) {
        return EXIT_USAGE;
    }
    int status = EXIT_USAGE;
    if (command->help || paths.count == 0) {
        fprintf(command->help ? stdout : stderr,
                "usage: referee passes DIR… | MODULE… --backend URI [--target NAME]\n\n"
                "Evaluates the module after every pass of a compiler on the golden, on the same "
                "inputs, and\nnames the first pass that changed what it means. DIR is a folder "
                "that XLA dumped into\n(--xla_dump_to=DIR --xla_dump_hlo_pass_re=.* "
                "--xla_dump_hlo_as_proto).\n\n");
        if (command->help) {
            options_help(table);
        }
        status = command->help ? EXIT_AS_EXPECTED : EXIT_USAGE;
    } else if (check(command, &paths)) {
        status = run(command, &paths);
    }
    string_list_finish(&paths);
    return status;
}

int command_passes(int argc, char **argv)
{
    struct passes_command command = {.seed = NO_SEED, .seeds = 1, .compile_timeout = 600};
    int status = parse(&command, argc, argv);
    json_decref(command.job.json);
    if (command.job.html.data != NULL) {
        text_finish(&command.job.html);
    }
    free(command.job.report_source);
    free(command.uri);
    free(command.repeated);
    free(command.flag_lines);
    string_list_finish(&command.job.inputs);
    string_list_finish(&command.flags);
    return status;
}
