/* Asking XLA to partition (partitioner.h). Names of dump files: xla/service/dump.cc. */
#define _GNU_SOURCE
#include "backend/partitioner.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/format.h"
#include "hlo/module.h"

bool partitioner_open(const char *uri, const struct backend_options *options,
                      struct partitioner *partitioner, struct error *err)
{
    const struct dumper_options dump = {.passes = "spmd-partitioning"};
    bool good = dumper_open(uri, options, &dump, &partitioner->dumper, err);
    partitioner->backend = partitioner->dumper.backend;
    return good;
}

void partitioner_close(struct partitioner *partitioner)
{
    dumper_close(&partitioner->dumper, false);
    partitioner->backend = NULL;
}

/* Is it the dump after the pass, as XLA or as libtpu names it? */
static bool is_partitioned_dump(const char *name)
{
    const char *end = strstr(name, ".hlo.pb");
    return end != NULL && strcmp(end, ".hlo.pb") == 0 &&
           (strstr(name, ".after_spmd-partitioning.") != NULL ||
            strstr(name, ".after_tpu-spmd-partitioning.") != NULL);
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
        const char *name = entry->d_name;
        if (is_partitioned_dump(name) && (best == NULL || strcmp(name, best) < 0)) {
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
    dumper_compile(&partitioner->dumper, module, 1, partition_count, true, &result);
    *outcome = result.outcome;
    text_append(message, result.message);
    run_result_finish(&result);
    if (*outcome != OUTCOME_PASS) {
        return NULL;
    }
    char *path = find_dump(partitioner->dumper.folder);
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
