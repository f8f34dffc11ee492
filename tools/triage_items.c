/* Files and reports. A report names files as they were called when it was written: relative to the
 * folder of that time. They are looked for there, and from the report's own folder upwards. */
#include "tools/triage_items.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "tools/modules.h"

static struct triage_item *add_item(struct triage_items *items, const char *path)
{
    items->list = grow(items->list, items->count, &items->capacity, sizeof *items->list);
    struct triage_item *item = &items->list[items->count++];
    *item = (struct triage_item){.path = memory_strdup(path)};
    return item;
}

/* --- commands of reports --- */

/* The words of a shell command, single quotes undone. The caller frees the words. */
static void split_words(const char *command, struct string_list *words)
{
    while (*command != '\0') {
        struct text word;
        text_init(&word);
        bool quoted = false;
        for (; *command != '\0' && (quoted || *command != ' '); command++) {
            if (*command == '\'') {
                quoted = !quoted;
            } else if (*command == '\\' && !quoted && command[1] != '\0') {
                text_char(&word, *++command);
            } else {
                text_char(&word, *command);
            }
        }
        command += strspn(command, " ");
        string_list_add(words, text_take(&word));
        text_finish(&word);
    }
}

/* --- where files are --- */

/* The path as it is, or below the report's folder or one of those above it. NULL: nowhere. */
static char *find_beside(const char *report, const char *path)
{
    if (file_exists(path) || path[0] == '/') {
        return file_exists(path) ? memory_strdup(path) : NULL;
    }
    char *folder = realpath(report, NULL);
    char *found = NULL;
    for (char *slash = folder != NULL ? strrchr(folder, '/') : NULL; found == NULL && slash != NULL;
         slash = strrchr(folder, '/')) {
        struct text text;
        *slash = '\0';
        text_init(&text);
        text_printf(&text, "%s/%s", folder, path);
        if (file_exists(text.data)) {
            found = text_take(&text);
        }
        text_finish(&text);
    }
    free(folder);
    return found;
}

/* "file.mlir#3@main" is a file and a part of it. *part is where the part begins. */
static char *find_file(const char *report, const char *name, const char **part)
{
    *part = name + strlen(name);
    char *found = find_beside(report, name);
    for (const char *at = name; found == NULL && (at = strpbrk(at, "#@")) != NULL; at++) {
        char *file = memory_strdup(name);
        file[at - name] = '\0';
        found = find_beside(report, file);
        *part = found != NULL ? at : *part;
        free(file);
    }
    return found;
}

/* --- reports --- */

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

/* Options of the command that a run depends on. Input files are looked for like modules. */
static bool take_command(const char *report, const char *command, struct triage_item *item)
{
    struct string_list words = {0};
    bool ok = true;
    split_words(command, &words);
    for (size_t i = 0; i + 1 < words.count; i++) {
        const char *word = words.items[i];
        bool inputs = strcmp(word, "--inputs") == 0 || strcmp(word, "-i") == 0;
        if (strcmp(word, "--tolerance") == 0 && item->tolerance == NULL) {
            item->tolerance = memory_strdup(words.items[i + 1]);
        } else if (strcmp(word, "--timeout") == 0) {
            item->timeout = strtod(words.items[i + 1], NULL);
        } else if (inputs) {
            for (size_t k = i + 1; ok && k < words.count && words.items[k][0] != '-'; k++) {
                char *file = find_beside(report, words.items[k]);
                ok = file != NULL;
                if (!ok) {
                    fprintf(stderr, "referee: %s: the input %s is not there\n", report,
                            words.items[k]);
                } else {
                    string_list_add(&item->inputs, file);
                }
            }
        }
    }
    free_paths(&words);
    return ok;
}

/* A run of a report, if it failed. Runs of the gate that failed as expected are known. */
static bool take_run(const char *report, const json_t *run, struct triage_items *items)
{
    const char *outcome = text_of(run, "outcome"), *file = text_of(run, "file"), *part;
    if (strcmp(outcome, "PASS") == 0 || strcmp(outcome, "VACUOUS") == 0) {
        items->passing++;
        return true;
    }
    if (strcmp(text_of(run, "status"), "as expected") == 0) {
        items->expected++;
        return true;
    }
    const char *name = file[0] != '\0' ? file : text_of(run, "module");
    char *path = find_file(report, name, &part);
    if (path == NULL) {
        fprintf(stderr, "referee: %s: %s is not there, nor in a folder above the report\n", report,
                name);
        return false;
    }
    struct triage_item *item = add_item(items, path);
    free(path);
    item->part = memory_strdup(part);
    item->backend = memory_strdup(text_of(run, "backend"));
    item->seed = json_integer_value(json_object_get(run, "seed"));
    item->iteration = json_integer_value(json_object_get(run, "iteration"));
    return take_command(report, text_of(run, "command"), item);
}

static bool add_report(const char *path, struct triage_items *items)
{
    json_error_t where;
    json_t *root = json_load_file(path, 0, &where);
    const json_t *runs = json_object_get(root, "runs");
    bool ok = json_is_array(runs);
    if (root == NULL && where.line < 0) { /* it was not opened */
        fprintf(stderr, "referee: %s: no such file or folder\n", path);
    } else if (root == NULL) {
        fprintf(stderr, "referee: %s:%d:%d: %s\n", path, where.line, where.column, where.text);
    } else if (!ok) {
        fprintf(stderr, "referee: %s: this is no report of 'referee run' or 'referee gate'\n",
                path);
    }
    for (size_t i = 0; ok && i < json_array_size(runs); i++) {
        ok = take_run(path, json_array_get(runs, i), items);
    }
    items->reports += ok;
    json_decref(root);
    return ok;
}

static bool is_report(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL && strcmp(dot, ".json") == 0;
}

bool triage_items_find(const struct string_list *paths, struct triage_items *items)
{
    bool ok = true;
    for (size_t i = 0; ok && i < paths->count; i++) {
        struct string_list one = {0}, files = {0};
        string_list_add(&one, paths->items[i]);
        if (is_report(paths->items[i])) {
            ok = add_report(paths->items[i], items);
        } else {
            ok = expand_paths(&one, &files);
            for (size_t k = 0; ok && k < files.count; k++) {
                add_item(items, files.items[k]);
            }
        }
        string_list_finish(&one);
        free_paths(&files);
    }
    return ok;
}

void triage_items_finish(struct triage_items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        struct triage_item *item = &items->list[i];
        free(item->path);
        free(item->part);
        free(item->backend);
        free(item->tolerance);
        free_paths(&item->inputs);
    }
    free(items->list);
    *items = (struct triage_items){0};
}
