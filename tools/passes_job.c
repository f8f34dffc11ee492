/* One dumped module walked and reported (passes_job.h). */
#include "tools/passes_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/case.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/diff.h"
#include "hlo/module.h"
#include "tools/modules.h"
#include "tools/progress.h"

/* A diff of more lines is cut to what is around the culprits, and then to its first ones. */
enum { DIFF_LINES = 100, DIFF_CONTEXT = 2 };

/* The walk of one module in progress. */
struct walk {
    struct passes_job *job;
    const struct passes_origin *origin;
    const struct dump_module *module;
    struct passes_entry entry;
    struct passes_steps steps;
    struct arguments arguments;
    struct progress progress;
    struct text command;
};

static void entry_begin(struct passes_entry *entry, const struct passes_job *job,
                        const struct passes_origin *origin)
{
    *entry = (struct passes_entry){.origin = origin->path,
                                   .module = "",
                                   .backend = origin->backend,
                                   .target = origin->target,
                                   .plugin = origin->plugin,
                                   .flags = origin->flags,
                                   .inputs = argument_source_text(ARGUMENTS_SEED),
                                   .profile = "",
                                   .command = origin->command,
                                   .seed = job->options.inputs.seed,
                                   .seeds = job->options.seed_count,
                                   .compile = origin->compile,
                                   .compile_message = origin->compile_message,
                                   .diff = "",
                                   .whole_diff = ""};
}

static void print_and_clear(struct walk *walk, struct text *text)
{
    progress_clear(&walk->progress);
    fputs(text->data, stdout);
    fflush(stdout);
    text_clear(text);
}

static void add_failure(struct passes_job *job, const struct passes_entry *entry,
                        const char *outcome, const char *problem)
{
    struct text text;
    text_init(&text);
    passes_report_failed_text(entry, outcome, problem, &text);
    fputs(text.data, stdout);
    fflush(stdout);
    text_finish(&text);
    json_array_append_new(job->json, passes_report_failed_json(entry, outcome, problem));
    if (job->wants_html) {
        passes_html_failed(entry, outcome, problem, &job->html);
    }
}

void passes_job_failed(struct passes_job *job, const struct passes_origin *origin,
                       const char *outcome, const char *problem)
{
    struct passes_entry entry;
    entry_begin(&entry, job, origin);
    struct text end;
    text_init(&end);
    if (origin->compile != OUTCOME_PASS) {
        passes_compile_end(&entry, &end);
        text_char(&end, '\n');
    }
    text_append(&end, problem);
    add_failure(job, &entry, outcome, end.data);
    text_finish(&end);
}

static void fail(struct walk *walk, const char *outcome, const struct error *err)
{
    struct text text;
    text_init(&text);
    error_print(err, &text);
    add_failure(walk->job, &walk->entry, outcome, text.data);
    text_finish(&text);
}

/* What became of a walk that could not begin. */
static const char *word_of(const struct error *err)
{
    static const struct {
        enum error_code code;
        enum outcome outcome;
    } outcomes[] = {{ERROR_UNIMPLEMENTED, OUTCOME_UNSUPPORTED},
                    {ERROR_RESOURCE_EXHAUSTED, OUTCOME_OOM},
                    {ERROR_DEADLINE_EXCEEDED, OUTCOME_TIMEOUT}};
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++) {
        if (outcomes[i].code == err->code) {
            return outcome_text(outcomes[i].outcome);
        }
    }
    return "UNREADABLE";
}

/* --- the diff of a pass --- */

static size_t line_count(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++) {
        count += *text == '\n';
    }
    return count;
}

static bool is_culprit(const struct instruction *instruction, const struct pass_finding *finding)
{
    for (int i = 0; instruction != NULL && i < finding->culprit_count; i++) {
        if (strcmp(instruction->name, finding->culprits[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_near_culprit(const struct instruction *instruction,
                            const struct pass_finding *finding)
{
    bool near = is_culprit(instruction, finding);
    for (int i = 0; instruction != NULL && !near && i < instruction->operand_count; i++) {
        near = is_culprit(instruction->operands[i], finding);
    }
    return near;
}

/* The entries of a diff that are culprits, use one, or feed one. */
static void entries_near_culprits(const struct diff *diff, const struct pass_finding *finding,
                                  struct diff *near)
{
    *near = *diff;
    near->entries = memory_zalloc(((size_t)diff->count + 1) * sizeof *near->entries);
    near->count = 0;
    for (int i = 0; i < diff->count; i++) {
        const struct diff_entry *entry = &diff->entries[i];
        bool kept = is_near_culprit(entry->new, finding) || is_near_culprit(entry->old, finding);
        for (int k = 0; !kept && k < diff->count; k++) {
            const struct instruction *user = diff->entries[k].new;
            for (int o = 0; is_culprit(user, finding) && !kept && o < user->operand_count; o++) {
                kept = user->operands[o] == entry->new;
            }
        }
        if (kept) {
            near->entries[near->count++] = *entry;
        }
    }
}

/* Cuts the text after so many lines, and says how many there were. */
static void cut_lines(struct text *text, size_t most, const char *hint)
{
    size_t count = line_count(text->data);
    if (count <= most) {
        return;
    }
    char *at = text->data;
    for (size_t i = 0; i < most; i++) {
        at = strchr(at, '\n') + 1;
    }
    char *kept = memory_strdup(text->data);
    kept[at - text->data] = '\0';
    text_clear(text);
    text_printf(text, "%s… %zu more lines; %s\n", kept, count - most, hint);
    free(kept);
}

/* The diff of the module at `position` from that at `before`. With a finding `brief` receives what
 * is around the culprits where the whole is long. */
static bool diff_text(const struct passes_steps *steps, int before, int position,
                      const struct pass_finding *finding, struct text *whole, struct text *brief,
                      struct error *err)
{
    struct module *old = dump_load(steps->list[before], err);
    struct module *new = old != NULL ? dump_load(steps->list[position], err) : NULL;
    bool good = new != NULL;
    if (good) {
        struct diff diff;
        old->source = steps->list[before]->file;
        new->source = steps->list[position]->file;
        diff_modules(old, new, &diff);
        diff_print(&diff, DIFF_CONTEXT, whole);
        if (diff.layouts_only) {
            text_append(whole, "(nothing differs but layouts, memory spaces or the schedule)\n");
        }
        struct diff near = {0};
        if (finding != NULL && line_count(whole->data) > DIFF_LINES) {
            entries_near_culprits(&diff, finding, &near);
        }
        if (near.count > 0) {
            text_printf(brief, "(%d of %d changes: those at and around the culprits)\n", near.count,
                        diff.count);
            diff_print(&near, DIFF_CONTEXT, brief);
        } else if (finding != NULL) {
            text_append(brief, whole->data);
        }
        free(near.entries);
        diff_finish(&diff);
    }
    module_destroy(old);
    module_destroy(new);
    return good;
}

static bool blame(struct walk *walk, struct error *err)
{
    const char *word = walk->job->blame;
    bool single = strchr(word, '#') != NULL || word[strspn(word, "0123456789")] == '\0';
    int position = passes_steps_find(&walk->steps, word, 0, false, err);
    bool good = position >= 0;
    struct text text;
    text_init(&text);
    while (good && position >= 0) {
        text_printf(&text, "%d of %d  %s\n    %s\n", position, walk->steps.count - 1,
                    walk->steps.names[position], walk->steps.list[position]->file);
        good = diff_text(&walk->steps, position - 1, position, NULL, &text, NULL, err);
        print_and_clear(walk, &text);
        position = single
                       ? -1
                       : passes_steps_find(&walk->steps, word, position, false, &(struct error){0});
    }
    text_finish(&text);
    return good;
}

/* --- arguments and profile --- */

/* Literals of the first snapshot that the dump has. */
static bool snapshot_arguments(struct walk *walk, struct error *err)
{
    struct loaded_file file;
    if (!module_load(walk->module->snapshots[0], &file, err)) {
        return false;
    }
    struct case_header header = {0};
    bool good =
        file.count > 0 && file.modules[0].module != NULL &&
        arguments_find(&file.modules[0], &header, &walk->job->inputs, 0, &walk->arguments, err);
    loaded_file_finish(&file);
    return good;
}

static bool find_arguments(struct walk *walk, struct error *err)
{
    const struct loaded_module *source = walk->origin->source;
    struct case_header header = {0};
    bool good = true;
    if (walk->job->inputs.count > 0) {
        struct loaded_module part = {.header = (char *)""};
        part.module = dump_load(walk->steps.list[walk->entry.first], err);
        good = part.module != NULL &&
               arguments_find(&part, &header, &walk->job->inputs, 0, &walk->arguments, err);
        module_destroy(part.module);
    } else if (!walk->job->seed_given && walk->module->snapshot_count > 0) {
        good = snapshot_arguments(walk, err);
    } else if (!walk->job->seed_given && source != NULL) {
        good = case_header_read(source->header, source->name, &header, err) &&
               arguments_find(source, &header, &walk->job->inputs, 0, &walk->arguments, err);
        case_header_finish(&header);
    }
    walk->entry.inputs = argument_source_text(walk->arguments.source);
    return good;
}

/* What the compiler of a dump compiled for, as the name of its last module tells, or else, for the
 * dump may end before, passes and pipelines that only one has. */
static const struct profile *profile_of_dump(const struct dump_module *module)
{
    static const struct {
        const char *mark, *profile;
    } marks[] = {{"gpu_after_optimizations", "gpu"},
                 {"cpu_after_optimizations", "cpu"},
                 {"after_codegen", "tpu"},
                 {".X64_elimination.", "tpu"},
                 {".Before_X64_rewriter.", "tpu"},
                 {"_tpu-", "tpu"},
                 {"_cudnn", "gpu"},
                 {"_cublas", "gpu"},
                 {".nvptx_", "gpu"},
                 {"_gpu-", "gpu"}};
    for (size_t k = 0; k < sizeof marks / sizeof *marks; k++) {
        for (int i = 0; i < module->step_count; i++) {
            if (strstr(module->steps[i].file, marks[k].mark) != NULL) {
                return profile_find(marks[k].profile);
            }
        }
    }
    return NULL;
}

static const struct profile *choose_profile(const struct walk *walk)
{
    if (walk->job->profile != NULL) {
        return profile_find(walk->job->profile);
    }
    return walk->origin->backend[0] != '\0' ? profile_for(walk->origin->backend)
                                            : profile_of_dump(walk->module);
}

/* --- the walk --- */

static struct module *load_step(void *context, int step, struct error *err)
{
    const struct walk *walk = context;
    return dump_load(walk->steps.list[walk->entry.first + step], err);
}

static void on_step(void *context, const struct pass_verdict *verdict)
{
    struct walk *walk = context;
    bool passed = verdict->outcome == OUTCOME_PASS;
    bool shown = walk->job->verbose || (verdict->step > 0 && !walk->job->quiet) || !passed;
    struct text text;
    text_init(&text);
    if (shown) {
        passes_report_step(&walk->entry, verdict, walk->job->verbose, &text);
        print_and_clear(walk, &text);
    }
    text_finish(&text);
    progress_step(&walk->progress, walk->steps.names[walk->entry.first + verdict->step]);
}

static bool narrow(struct walk *walk, struct error *err)
{
    struct passes_entry *entry = &walk->entry;
    entry->last = walk->steps.count - 1;
    if (walk->job->from != NULL) {
        int from = passes_steps_find(&walk->steps, walk->job->from, 0, false, err);
        if (from < 0) {
            return false;
        }
        entry->first = from - 1;
    }
    if (walk->job->to != NULL) {
        int to = passes_steps_find(&walk->steps, walk->job->to, entry->first, true, err);
        if (to < 0) {
            return false;
        }
        entry->last = to;
    }
    if (entry->last <= entry->first) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "--to comes before --from");
    }
    return true;
}

static void write_bug_report(struct walk *walk, const struct passes_result *result,
                             const struct passes_options *options)
{
    struct passes_job *job = walk->job;
    struct error err = {0};
    if (job->report == NULL) {
        return;
    }
    if (job->report_source != NULL) {
        fprintf(stderr, "referee: the bug report is of %s; for %s, name it with --module\n",
                job->report_source, walk->entry.module);
    } else if (passes_bug_report(job->report, &walk->entry, result, options, &err)) {
        job->report_source = memory_strdup(walk->entry.module);
    } else {
        print_error(&err);
        job->cannot_write = true;
    }
}

static void report(struct walk *walk, const struct passes_result *result,
                   const struct passes_options *options)
{
    struct passes_job *job = walk->job;
    struct passes_entry *entry = &walk->entry;
    const struct pass_finding *finding = &result->finding;
    struct error err = {0};
    struct text text, whole, brief;
    text_init(&text);
    text_init(&whole);
    text_init(&brief);
    if (finding->step >= 0) {
        int before = entry->first + result->verdicts[finding->step].compared_with;
        if (!diff_text(&walk->steps, before, entry->first + finding->step, finding, &whole, &brief,
                       &err)) {
            text_printf(&brief, "(no diff: %s)\n", err.message);
        }
        char hint[64];
        snprintf(hint, sizeof hint, "--blame %d shows all", entry->first + finding->step);
        cut_lines(&brief, DIFF_LINES, hint);
        entry->diff = brief.data;
        entry->whole_diff = whole.data;
        job->findings++;
        write_bug_report(walk, result, options);
    }
    struct passes_counts counts;
    passes_count(result, &counts);
    job->unchecked += counts.outcomes[OUTCOME_PASS] + counts.outcomes[OUTCOME_MISMATCH] == 0;
    passes_report_finding(entry, result, &text);
    passes_report_end(entry, result, job->verbose, &text);
    print_and_clear(walk, &text);
    json_array_append_new(job->json, passes_report_json(entry, result));
    if (job->wants_html) {
        passes_html_module(entry, result, &job->html);
    }
    entry->diff = entry->whole_diff = "";
    text_finish(&whole);
    text_finish(&brief);
    text_finish(&text);
}

static bool walk_module(struct walk *walk, struct error *err)
{
    struct passes_job *job = walk->job;
    struct passes_options options = job->options;
    struct text head;
    options.profile = choose_profile(walk);
    walk->entry.profile = options.profile != NULL ? options.profile->name : "";
    if (!narrow(walk, err) || !find_arguments(walk, err)) {
        job->unreadable++;
        return false;
    }
    if (walk->arguments.count > 0) {
        options.arguments = walk->arguments.literals;
        options.argument_count = walk->arguments.count;
    }
    text_init(&head);
    passes_report_head(&walk->entry, &head);
    print_and_clear(walk, &head);
    text_finish(&head);
    int count = walk->entry.last - walk->entry.first + 1;
    const struct passes_hooks hooks = {.load = load_step, .on_step = on_step, .context = walk};
    struct passes_result result;
    progress_start(&walk->progress, (size_t)count);
    job->walked++;
    bool good =
        passes_walk(walk->steps.sources + walk->entry.first, count, &hooks, &options, &result, err);
    progress_clear(&walk->progress);
    if (good) {
        report(walk, &result, &options);
        passes_result_finish(&result);
    } else if (err->code == ERROR_INVALID_ARGUMENT) {
        job->unreadable++;
    } else {
        job->unchecked++;
    }
    return good;
}

void passes_job_run(struct passes_job *job, const struct passes_origin *origin,
                    const struct dump_module *module)
{
    struct walk walk = {.job = job, .origin = origin, .module = module};
    struct error err = {0};
    entry_begin(&walk.entry, job, origin);
    walk.entry.module = module->name;
    walk.entry.id = module->id;
    text_init(&walk.command);
    text_append(&walk.command, origin->command);
    if (origin->several) {
        text_printf(&walk.command, " --module %lld", (long long)module->id);
    }
    walk.entry.command = walk.command.data;
    if (!passes_steps_choose(module, job->every, &walk.steps, &err)) {
        job->unreadable++;
        fail(&walk, "UNREADABLE", &err);
    } else {
        walk.entry.steps = &walk.steps;
        bool good = true;
        if (job->blame != NULL) {
            good = blame(&walk, &err);
            job->unreadable += !good;
        } else if (walk.steps.count < 2 && origin->compile != OUTCOME_PASS) {
            struct text problem;
            text_init(&problem);
            passes_compile_end(&walk.entry, &problem);
            text_printf(&problem, "%s\n%s",
                        job->every ? "" : "; --every dumps it after every pass, changed or not",
                        origin->compile_message);
            add_failure(job, &walk.entry, outcome_text(origin->compile), problem.data);
            text_finish(&problem);
            job->walked++;
        } else if (walk.steps.count < 2) {
            good = error_set(&err, ERROR_UNIMPLEMENTED,
                             "the dump has one module of it, and none after a pass: "
                             "--xla_dump_hlo_pass_re=.* was not set");
            job->walked++;
            job->unchecked++;
        } else {
            good = walk_module(&walk, &err);
        }
        if (!good) {
            fail(&walk, word_of(&err), &err);
        }
        passes_steps_finish(&walk.steps);
    }
    arguments_finish(&walk.arguments);
    text_finish(&walk.command);
}
