/* Which modules of a dump are walked (passes_steps.h). */
#include "tools/passes_steps.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"

/* What XLA calls the module before the first pass of a pipeline. */
static const char pipeline_start[] = "pipeline-start";

const char *passes_step_pass(const struct dump_step *step)
{
    return strcmp(step->pass, pipeline_start) == 0 ? "" : step->pass;
}

/* "algsimp (simplification)" */
static char *name_make(const struct dump_step *step)
{
    struct text text;
    text_init(&text);
    if (step->kind == DUMP_BEFORE) {
        text_append(&text, "before optimizations");
    } else if (step->pass[0] == '\0') {
        text_append(&text, step->step[0] != '\0' ? step->step : step->file);
    } else if (strcmp(step->pass, pipeline_start) == 0) {
        text_printf(&text, "start of %s", step->pipeline);
    } else {
        text_append(&text, step->pass);
        if (step->step[0] != '\0') {
            text_printf(&text, ": %s", step->step);
        }
        if (step->pipeline[0] != '\0') {
            text_printf(&text, " (%s)", step->pipeline);
        }
    }
    char *name = text_take(&text);
    text_finish(&text);
    return name;
}

/* Are two files the same bytes? Their sizes usually tell. */
static bool same_bytes(const char *a, const char *b, bool *same, struct error *err)
{
    struct stat first, second;
    *same = false;
    if (stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_size != second.st_size) {
        return true;
    }
    size_t size = 0, other_size = 0;
    char *data = file_read(a, &size, err);
    char *other = data != NULL ? file_read(b, &other_size, err) : NULL;
    *same = other != NULL && size == other_size && memcmp(data, other, size) == 0;
    bool good = other != NULL;
    free(data);
    free(other);
    return good;
}

bool passes_steps_choose(const struct dump_module *module, bool every, struct passes_steps *steps,
                         struct error *err)
{
    size_t most = (size_t)module->step_count + 1;
    *steps = (struct passes_steps){.list = memory_zalloc(most * sizeof *steps->list),
                                   .sources = memory_zalloc(most * sizeof *steps->sources),
                                   .names = memory_zalloc(most * sizeof *steps->names)};
    for (int i = 0; i < module->step_count; i++) {
        const struct dump_step *step = &module->steps[i];
        bool same = false;
        if (!every && steps->count > 0 &&
            !same_bytes(steps->list[steps->count - 1]->path, step->path, &same, err)) {
            passes_steps_finish(steps);
            return false;
        }
        if (same) {
            steps->same++;
            continue;
        }
        int position = steps->count++;
        steps->list[position] = step;
        steps->names[position] = name_make(step);
        steps->sources[position] = (struct pass_source){
            .title = step->file, .pipeline = step->pipeline, .pass = step->pass};
    }
    return true;
}

void passes_steps_finish(struct passes_steps *steps)
{
    for (int i = 0; i < steps->count; i++) {
        free(steps->names[i]);
    }
    free(steps->names);
    free(steps->sources);
    free(steps->list);
    memset(steps, 0, sizeof *steps);
}

static bool is_named(const struct passes_steps *steps, int position, const char *word, size_t size)
{
    const char *const names[] = {steps->list[position]->pass, steps->names[position]};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) == size && memcmp(names[i], word, size) == 0) {
            return true;
        }
    }
    return false;
}

int passes_steps_find(const struct passes_steps *steps, const char *word, int after, bool last,
                      struct error *err)
{
    if (word[0] != '\0' && word[strspn(word, "0123456789")] == '\0') {
        long position = strtol(word, NULL, 10);
        if (position >= 1 && position < steps->count) {
            return (int)position;
        }
        error_set(err, ERROR_NOT_FOUND, "there is no pass %s: they count from 1 to %d", word,
                  steps->count - 1);
        return -1;
    }
    const char *mark = strrchr(word, '#');
    bool counted = mark != NULL && isdigit((unsigned char)mark[1]);
    size_t size = counted ? (size_t)(mark - word) : strlen(word);
    long wanted = counted ? strtol(mark + 1, NULL, 10) : 0;
    int found = -1, seen = 0;
    for (int i = 1; i < steps->count; i++) {
        if (!is_named(steps, i, word, size)) {
            continue;
        }
        seen++;
        bool hit = counted ? seen == wanted : i > after && (last || found < 0);
        found = hit ? i : found;
    }
    if (found < 0) {
        error_set(err, ERROR_NOT_FOUND, "no pass '%s' among the %d dumped; '--list' shows them",
                  word, steps->count - 1);
    }
    return found;
}
