/* Asking XLA to partition (partitioner.h). Names of dump files: xla/service/dump.cc. */
#define _GNU_SOURCE
#include "backend/partitioner.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/format.h"
#include "hlo/module.h"

static char *make_folder(struct error *err)
{
    const char *base = getenv("TMPDIR");
    struct text path;
    text_init(&path);
    text_printf(&path, "%s/referee-XXXXXX", base != NULL && *base != '\0' ? base : "/tmp");
    char *folder = text_take(&path);
    text_finish(&path);
    if (mkdtemp(folder) == NULL) {
        error_set(err, ERROR_NOT_FOUND, "%s: %s", folder, strerror(errno));
        free(folder);
        return NULL;
    }
    return folder;
}

static void empty_folder(const char *folder)
{
    DIR *directory = opendir(folder);
    if (directory == NULL) {
        return;
    }
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        unlinkat(dirfd(directory), entry->d_name, 0);
    }
    closedir(directory);
}

bool partitioner_open(const char *uri, const struct backend_options *options,
                      struct partitioner *partitioner, struct error *err)
{
    *partitioner = (struct partitioner){.folder = make_folder(err)};
    if (partitioner->folder == NULL) {
        return false;
    }
    const struct backend_flag dump[] = {
        {"xla_dump_to", partitioner->folder},
        {"xla_dump_hlo_as_proto", "true"},
        {"xla_dump_hlo_pass_re", "spmd-partitioning"},
    };
    enum { DUMP_FLAGS = sizeof dump / sizeof *dump };
    struct backend_options own = options != NULL ? *options : (struct backend_options){0};
    size_t given = (size_t)own.flag_count;
    struct backend_flag *flags = memory_alloc((given + DUMP_FLAGS) * sizeof *flags);
    if (given > 0) {
        memcpy(flags, own.flags, given * sizeof *flags);
    }
    memcpy(flags + given, dump, sizeof dump);
    own.flags = flags;
    own.flag_count += DUMP_FLAGS;
    partitioner->backend = backend_open(uri, &own, err);
    free(flags);
    if (partitioner->backend == NULL) {
        partitioner_close(partitioner);
        return false;
    }
    return true;
}

void partitioner_close(struct partitioner *partitioner)
{
    backend_close(partitioner->backend);
    if (partitioner->folder != NULL) {
        empty_folder(partitioner->folder);
        rmdir(partitioner->folder);
        free(partitioner->folder);
    }
    *partitioner = (struct partitioner){0};
}

/* The path of the dump of the pass; NULL if there is none. Of several modules (a compiler may
 * compile parts on its own) it is the first: names begin with numbers. */
static char *find_dump(const char *folder)
{
    DIR *directory = opendir(folder);
    char *best = NULL;
    if (directory == NULL) {
        return NULL;
    }
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        const char *name = entry->d_name, *end = strstr(name, ".hlo.pb");
        if (strstr(name, ".after_spmd-partitioning.") != NULL && end != NULL &&
            strcmp(end, ".hlo.pb") == 0 && (best == NULL || strcmp(name, best) < 0)) {
            free(best);
            best = memory_strdup(name);
        }
    }
    closedir(directory);
    if (best == NULL) {
        return NULL;
    }
    struct text path;
    text_init(&path);
    text_printf(&path, "%s/%s", folder, best);
    free(best);
    char *taken = text_take(&path);
    text_finish(&path);
    return taken;
}

static struct module *read_dump(const char *path, struct error *err)
{
    struct loaded_file file;
    if (!module_load(path, &file, err)) {
        return NULL;
    }
    struct module *module = file.count > 0 ? file.modules[0].module : NULL;
    if (module != NULL) {
        file.modules[0].module = NULL;
        module->source = NULL; /* the file is gone soon */
    } else if (file.count > 0 && file.modules[0].error != NULL) {
        *err = *file.modules[0].error;
    }
    loaded_file_finish(&file);
    return module;
}

struct module *partitioner_partition(struct partitioner *partitioner, const struct module *module,
                                     int partition_count, enum outcome *outcome,
                                     struct text *message)
{
    struct run_result result;
    struct error err = {0};
    empty_folder(partitioner->folder);
    backend_compile(partitioner->backend, module, partition_count, &result);
    *outcome = result.outcome;
    text_append(message, result.message);
    run_result_finish(&result);
    if (*outcome != OUTCOME_PASS) {
        return NULL;
    }
    char *path = find_dump(partitioner->folder);
    struct module *partitioned = path != NULL ? read_dump(path, &err) : NULL;
    if (path == NULL) {
        text_append(message, "the backend dumped no partitioned module");
    } else if (partitioned == NULL) {
        text_append(message, "the partitioned module cannot be read: ");
        error_print(&err, message);
    }
    if (partitioned == NULL) {
        *outcome = OUTCOME_UNSUPPORTED;
    }
    if (partitioned != NULL) {
        partitioned->config.partition_count = partition_count; /* dumps do not say */
    }
    free(path);
    return partitioned;
}
