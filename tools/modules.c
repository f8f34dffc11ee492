/* Files and folders of modules on the command line. */
#include "tools/modules.h"

#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/backend.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"

void print_error(const struct error *err)
{
    struct text text;
    text_init(&text);
    error_print(err, &text);
    fputs(text.data, stderr);
    text_finish(&text);
}

bool write_json(const char *path, const json_t *report)
{
    char *text = json_dumps(report, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
    struct error err = {0};
    bool ok = file_write(path, text, strlen(text), &err);
    if (!ok) {
        print_error(&err);
    }
    free(text);
    return ok;
}

static bool has_module_ending(const char *path)
{
    static const char *const endings[] = {".hlo", ".txt", ".pb", ".gz", ".mlir", ".mlirbc", ".bc"};
    size_t size = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t length = strlen(endings[i]);
        if (size > length && strcmp(path + size - length, endings[i]) == 0) {
            return true;
        }
    }
    return false;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static bool add_folder(const char *path, struct string_list *files)
{
    char *copy = memory_strdup(path);
    char *roots[] = {copy, NULL};
    FTS *tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
    for (FTSENT *entry; tree != NULL && (entry = fts_read(tree)) != NULL;) {
        if (entry->fts_info == FTS_F && has_module_ending(entry->fts_path)) {
            string_list_add(files, memory_strdup(entry->fts_path));
        }
    }
    bool ok = tree != NULL;
    if (ok) {
        fts_close(tree);
    }
    free(copy);
    return ok;
}

void set_device_counts(struct module *module, int64_t replicas, int64_t partitions)
{
    struct module_config *config = &module->config;
    config->replica_count = replicas > 0 ? replicas : config->replica_count;
    config->partition_count = partitions > 0 ? partitions : config->partition_count;
}

struct backend_flag *flags_make(const struct string_list *words)
{
    struct backend_flag *flags = memory_zalloc((words->count + 1) * sizeof *flags);
    for (size_t i = 0; i < words->count; i++) {
        char *name = memory_strdup(words->items[i] + strspn(words->items[i], "-"));
        char *equals = strchr(name, '=');
        if (equals != NULL) {
            *equals = '\0';
        }
        flags[i] = (struct backend_flag){name, equals != NULL ? equals + 1 : "true"};
    }
    return flags;
}

void flags_free(struct backend_flag *flags, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free((char *)flags[i].name);
    }
    free(flags);
}

void set_memory_limit(size_t given, double share)
{
    FILE *file = given == 0 ? fopen("/proc/meminfo", "re") : NULL;
    char line[128];
    unsigned long long available = 0; /* KiB; 0 where nobody says: no limit */
    while (file != NULL && available == 0 && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "MemAvailable: %llu", &available) != 1) {
            available = 0;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    literal_set_memory_limit(given != 0 ? given : (size_t)((double)available * 1024 * share));
}

bool expand_paths(const struct string_list *paths, struct string_list *files)
{
    for (size_t i = 0; i < paths->count; i++) {
        struct stat info;
        if (strcmp(paths->items[i], "-") == 0) {
            string_list_add(files, memory_strdup("-"));
        } else if (stat(paths->items[i], &info) != 0) {
            fprintf(stderr, "referee: %s: no such file or folder\n", paths->items[i]);
            return false;
        } else if (S_ISDIR(info.st_mode)) {
            size_t before = files->count;
            if (!add_folder(paths->items[i], files) || files->count == before) {
                fprintf(stderr, "referee: %s: no module files in this folder\n", paths->items[i]);
                return false;
            }
        } else {
            string_list_add(files, memory_strdup(paths->items[i]));
        }
    }
    return true;
}

void free_paths(struct string_list *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free((char *)files->items[i]);
    }
    string_list_finish(files);
}
