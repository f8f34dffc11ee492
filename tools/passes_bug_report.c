/* The bug report of `referee passes`: what somebody who maintains the compiler needs to see that a
 * pass changed the meaning of a module, without running us (passes_report.h). */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "compare/inputs.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/proto/proto_format.h"
#include "hlo/text/text_format.h"
#include "tools/passes_report.h"

/* Modules of at most so many bytes of text stand in the report itself. */
enum { INLINE_BYTES = 64 << 10 };

/* A report in the making. */
struct writing {
    const char *folder; /* NULL: one file */
    const struct passes_entry *entry;
    const struct passes_result *result;
    const struct passes_options *options;
    int bad, before; /* positions of the modules after and before the pass */
    bool has_inputs;
    struct text out; /* report.md */
};

/* Of a module that was dumped: text has no other form beside it. */
static bool is_text(const struct dump_step *step)
{
    return strstr(step->file, ".txt") != NULL;
}

static bool write_file(const struct writing *writing, const char *name, const void *data,
                       size_t size, struct error *err)
{
    struct text path;
    text_init(&path);
    text_printf(&path, "%s/%s", writing->folder, name);
    bool good = file_write(path.data, data, size, err);
    text_finish(&path);
    return good;
}

static void fenced(const char *text, const char *language, struct text *out)
{
    size_t size = strlen(text);
    text_printf(out, "```%s\n%s%s```\n", language, text,
                size > 0 && text[size - 1] != '\n' ? "\n" : "");
}

/* Writes a module as the compiler dumped it and, if that was a proto, as text too. */
static bool put_module(struct writing *writing, int position, const char *name, struct error *err)
{
    const struct dump_step *step = writing->entry->steps->list[position];
    size_t size = 0;
    char *data = file_read(step->path, &size, err);
    struct module *module = data != NULL ? dump_load(step, err) : NULL;
    bool good = module != NULL;
    struct text text, file;
    text_init(&text);
    text_init(&file);
    if (good) {
        text_print_module(module, &print_canonical, &text);
        text_printf(&writing->out, "\n## The module %s\n\nDumped as `%s`", name, step->file);
    }
    if (good && writing->folder != NULL) {
        text_printf(&file, "%s.%s", name, is_text(step) ? "txt" : "hlo.pb");
        good = write_file(writing, file.data, data, size, err);
        text_printf(&writing->out, ", here `%s`", file.data);
        if (good && !is_text(step)) {
            text_clear(&file);
            text_printf(&file, "%s.hlo", name);
            good = write_file(writing, file.data, text.data, text.size, err);
            text_printf(&writing->out, " and as text `%s`", file.data);
        }
    }
    if (good && text.size <= INLINE_BYTES) {
        text_append(&writing->out, ":\n\n");
        fenced(text.data, "", &writing->out);
    } else if (good) {
        text_printf(&writing->out, ": %d instructions%s.\n", module_instruction_count(module),
                    writing->folder == NULL ? ", too long to stand here" : "");
    }
    text_finish(&text);
    text_finish(&file);
    module_destroy(module);
    free(data);
    return good;
}

/* The arguments on which it shows: those that the walk was given to all devices, or drew from the
 * finding's seed for its first module, device by device. */
static bool find_arguments(const struct writing *writing, const struct module *module,
                           struct literal_set *set, struct error *err)
{
    const struct passes_options *options = writing->options;
    bool given = options->arguments != NULL;
    int parameters = module->entry->parameter_count, devices = writing->result->device_count;
    set->count = given ? options->argument_count : parameters * devices;
    set->arguments = memory_zalloc(((size_t)set->count + 1) * sizeof *set->arguments);
    struct input_options inputs = options->inputs;
    inputs.tameness = writing->result->finding.tameness;
    for (int d = 0; d < devices && !given; d++) {
        inputs.seed = pass_device_seed(writing->result->finding.seed, d);
        struct literal **arguments = set->arguments + (ptrdiff_t)d * parameters;
        if (!inputs_generate(module, &inputs, arguments, NULL, err)) {
            return false;
        }
    }
    if (!given) {
        return true;
    }
    for (int i = 0; i < set->count; i++) {
        set->arguments[i] = literal_retain(options->arguments[i]);
    }
    return true;
}

/* The values themselves, where they are short: a number takes two characters at least. */
static bool print_arguments(const struct literal_set *set, int devices, struct text *out)
{
    int each = set->count / devices;
    int64_t bytes = 0;
    for (int i = 0; i < set->count; i++) {
        bytes += shape_bytes(set->arguments[i]->shape);
    }
    for (int i = 0; i < set->count && bytes <= INLINE_BYTES && out->size <= INLINE_BYTES; i++) {
        if (devices > 1 && i % each == 0) {
            text_printf(out, "device %d:\n", i / each);
        }
        text_printf(out, "%s ", shape_text(set->arguments[i]->shape));
        literal_print(set->arguments[i], false, 0, out);
        text_char(out, '\n');
    }
    return bytes <= INLINE_BYTES && out->size <= INLINE_BYTES;
}

static bool put_arguments(struct writing *writing, struct literal_set *set, struct error *err)
{
    struct text *out = &writing->out;
    text_append(out, "\n## The inputs\n\n");
    if (set->count == 0) {
        text_append(out, "None: the module has no parameters.\n");
        return true;
    }
    bool good = true;
    if (writing->folder != NULL) {
        struct literal_sets sets = {.count = 1, .sets = set};
        size_t size = 0;
        void *data = proto_write_literals(&sets, &size, err);
        good = data != NULL && write_file(writing, "inputs.pb", data, size, err);
        free(data);
        text_append(out, "`inputs.pb`, a RunHloModuleLiterals proto, as XLA's `run_hlo_module "
                         "--input_literals_file` takes it.\n\n");
    }
    struct text text;
    text_init(&text);
    bool of_all = writing->options->arguments != NULL;
    if (print_arguments(set, of_all ? 1 : writing->result->device_count, &text)) {
        fenced(text.data, "", out);
    } else if (writing->folder == NULL) {
        text_printf(out, "Drawn from seed %llu; too long to stand here.\n",
                    (unsigned long long)writing->result->finding.seed);
    }
    text_finish(&text);
    return good;
}

static void put_facts(struct writing *writing)
{
    const struct passes_entry *entry = writing->entry;
    const struct passes_result *result = writing->result;
    const struct pass_verdict *verdict = &result->verdicts[result->finding.step];
    const struct dump_step *step = entry->steps->list[writing->bad];
    const char *pass = passes_step_pass(step);
    struct text *out = &writing->out;
    text_printf(out, "# `%s` changes the meaning of a module\n\n",
                pass[0] != '\0' ? pass : entry->steps->names[writing->bad]);
    text_printf(out,
                "The module after this pass, evaluated on the same inputs as the module before it, "
                "gives other\noutputs. Both were evaluated by an interpreter that rounds every "
                "operation correctly, not by the\ncompiler's back end.\n\n"
                "| | |\n|---|---|\n| pass | `%s` |\n| pipeline | `%s` |\n"
                "| position | %d of %d passes that changed the module |\n| module | `%s` |\n",
                pass, step->pipeline, writing->bad, entry->steps->count - 1, entry->module);
    const struct {
        const char *name, *value;
    } rows[] = {{"backend", entry->backend},
                {"target", entry->target},
                {"judged by the profile", entry->profile}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].value[0] != '\0') {
            text_printf(out, "| %s | `%s` |\n", rows[i].name, rows[i].value);
        }
    }
    text_append(out, "| error of this pass | ");
    passes_distance(&verdict->jump, out);
    text_append(out, " |\n| error from the first module | ");
    passes_distance(&verdict->drift, out);
    text_append(out, " |\n\nWhat it may change: ");
    passes_reason(verdict, out);
    text_append(out, ".\n\n");
    fenced(result->finding.picture, "", out);
    if (result->finding.culprit_count > 0) {
        const char *within = result->finding.within != NULL ? result->finding.within : "";
        text_printf(out, "\nCulprits (%s):\n\n", passes_culprits_text(&result->finding));
        for (int i = 0; i < result->finding.culprit_count; i++) {
            text_printf(out, "- `%s`%s%s\n", result->finding.culprits[i],
                        within[0] != '\0' ? ", " : "", within);
        }
    }
    if (writing->before < writing->bad - 1) {
        text_printf(out,
                    "\nThe modules between %d and %d could not be evaluated, so one of the "
                    "passes from %d on is meant.\n",
                    writing->before, writing->bad, writing->before + 1);
    }
    text_append(out, "\n## What the pass did\n\n");
    fenced(entry->diff, "diff", out);
    text_append(out, writing->folder != NULL ? "\nThe whole difference: `diff.txt`.\n" : "");
}

static void put_commands(struct writing *writing)
{
    const struct passes_entry *entry = writing->entry;
    const char *pass = passes_step_pass(entry->steps->list[writing->bad]);
    struct text *out = &writing->out;
    text_printf(out, "\n## To see it again\n\n```sh\n%s\n```\n\n", entry->command);
    if (writing->folder != NULL) {
        const char *inputs = writing->has_inputs ? " --inputs inputs.pb" : "";
        const struct dump_step **list = entry->steps->list;
        text_printf(out,
                    "The two modules alone, each on the inputs below:\n\n```sh\n"
                    "referee eval before.%s%s\nreferee eval after.%s%s\n```\n\n",
                    is_text(list[writing->before]) ? "txt" : "hlo", inputs,
                    is_text(list[writing->bad]) ? "txt" : "hlo", inputs);
    }
    if (pass[0] != '\0') {
        text_printf(out,
                    "A process that uses XLA leaves these dumps with\n\n```sh\nXLA_FLAGS=\""
                    "--xla_dump_to=DIR --xla_dump_hlo_pass_re=.* --xla_dump_hlo_as_proto\"\n```\n\n"
                    "and leaves the pass out with `--xla_disable_hlo_passes=%s`.\n",
                    pass);
    }
    text_append(out, "\n## Versions\n\n- referee " REFEREE_VERSION "\n");
    if (entry->plugin[0] != '\0') {
        text_append(out, "- the compiler, by its own account:\n\n");
        fenced(entry->plugin, "json", out);
    }
    if (entry->flags[0] != '\0') {
        text_append(out, "\nFlags:\n\n");
        fenced(entry->flags, "", out);
    }
}

/* The flags that the compiler wrote beside its dumps, if it did. */
static bool put_debug_options(struct writing *writing, struct error *err)
{
    const struct dump_step *first = writing->entry->steps->list[0];
    const char *mark = strstr(first->path, ".before_optimizations");
    if (mark == NULL) {
        return true;
    }
    struct text path;
    text_init(&path);
    text_append_n(&path, first->path, (size_t)(mark - first->path));
    text_append(&path, ".debug_options");
    bool good = true;
    if (file_exists(path.data)) {
        size_t size = 0;
        char *data = file_read(path.data, &size, err);
        good = data != NULL && write_file(writing, "debug_options.txt", data, size, err);
        free(data);
        text_append(&writing->out,
                    "\nAll flags as the compiler wrote them: `debug_options.txt`.\n");
    }
    text_finish(&path);
    return good;
}

static bool is_folder(const char *path)
{
    struct stat info;
    size_t size = strlen(path);
    return (size > 0 && path[size - 1] == '/') || (stat(path, &info) == 0 && S_ISDIR(info.st_mode));
}

static bool put_all(struct writing *writing, struct literal_set *inputs, struct error *err)
{
    put_facts(writing);
    put_commands(writing);
    return put_arguments(writing, inputs, err) &&
           put_module(writing, writing->before, "before", err) &&
           put_module(writing, writing->bad, "after", err) &&
           (writing->folder == NULL || put_debug_options(writing, err));
}

bool passes_bug_report(const char *path, const struct passes_entry *entry,
                       const struct passes_result *result, const struct passes_options *options,
                       struct error *err)
{
    struct writing writing = {.entry = entry, .result = result, .options = options};
    writing.bad = entry->first + result->finding.step;
    writing.before = entry->first + result->verdicts[result->finding.step].compared_with;
    if (is_folder(path)) {
        writing.folder = path;
        mkdir(path, 0777); /* it may be there; else writing says why not */
    }
    text_init(&writing.out);
    struct module *first = dump_load(entry->steps->list[entry->first], err);
    struct literal_set inputs = {0};
    bool good = first != NULL && find_arguments(&writing, first, &inputs, err);
    writing.has_inputs = inputs.count > 0;
    good = good && put_all(&writing, &inputs, err);
    if (good && writing.folder != NULL) {
        const char *diff = entry->whole_diff;
        good = write_file(&writing, "diff.txt", diff, strlen(diff), err) &&
               write_file(&writing, "report.md", writing.out.data, writing.out.size, err);
    } else if (good) {
        good = file_write(path, writing.out.data, writing.out.size, err);
    }
    for (int i = 0; i < inputs.count; i++) {
        literal_release(inputs.arguments[i]);
    }
    free(inputs.arguments);
    module_destroy(first);
    text_finish(&writing.out);
    return good;
}
