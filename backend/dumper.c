/* Compiling with dumps (dumper.h). Flags: xla/debug_options_flags.cc; which passes are dumped:
 * xla/hlo/pass/hlo_pass_pipeline.cc. */
#define _GNU_SOURCE
#include "backend/dumper.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/folder.h"

/* Is a name of a folder that of a file in it? */
static bool is_entry(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* The named folder by its full path, since the worker has folders of its own. */
static char *make_named(const char *name, struct error *err)
{
    if (mkdir(name, 0777) != 0 && errno != EEXIST) {
        error_set(err, ERROR_NOT_FOUND, "%s: %s", name, strerror(errno));
        return NULL;
    }
    char *folder = realpath(name, NULL);
    DIR *directory = folder != NULL ? opendir(folder) : NULL;
    bool empty = true;
    if (directory == NULL) {
        error_set(err, ERROR_NOT_FOUND, "%s: %s", name, strerror(errno));
        free(folder);
        return NULL;
    }
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        empty &= !is_entry(entry);
    }
    closedir(directory);
    if (!empty) {
        error_set(err, ERROR_INVALID_ARGUMENT, "%s is not empty: dumps would mix", name);
        free(folder);
        return NULL;
    }
    return folder;
}

bool dumper_open(const char *uri, const struct backend_options *options,
                 const struct dumper_options *dump, struct dumper *dumper, struct error *err)
{
    const char *named = dump != NULL ? dump->folder : NULL;
    const char *passes = dump != NULL ? dump->passes : NULL;
    *dumper = (struct dumper){
        .folder = named != NULL ? make_named(named, err) : folder_make_temporary(err),
        .temporary = named == NULL,
    };
    if (dumper->folder == NULL) {
        return false;
    }
    const struct backend_flag dumping[] = {
        {"xla_dump_to", dumper->folder},
        {"xla_dump_hlo_as_proto", "true"},
        {"xla_dump_hlo_as_text", "false"},
        /* Exactly this one means: after the passes that changed the module. */
        {"xla_dump_hlo_pass_re", passes != NULL ? passes : ".*"},
    };
    enum { DUMP_FLAGS = sizeof dumping / sizeof *dumping };
    struct backend_options own = options != NULL ? *options : (struct backend_options){0};
    size_t given = (size_t)own.flag_count;
    struct backend_flag *flags = memory_alloc((given + DUMP_FLAGS) * sizeof *flags);
    if (given > 0) {
        memcpy(flags, own.flags, given * sizeof *flags);
    }
    memcpy(flags + given, dumping, sizeof dumping);
    own.flags = flags;
    own.flag_count += DUMP_FLAGS;
    dumper->backend = backend_open(uri, &own, err);
    free(flags);
    if (dumper->backend == NULL) {
        dumper_close(dumper, false);
        return false;
    }
    return true;
}

void dumper_close(struct dumper *dumper, bool keep)
{
    backend_close(dumper->backend);
    if (dumper->folder != NULL && dumper->temporary && !keep) {
        folder_remove(dumper->folder);
    }
    free(dumper->folder);
    *dumper = (struct dumper){0};
}

void dumper_compile(struct dumper *dumper, const struct module *module, int replica_count,
                    int partition_count, bool partition, struct run_result *result)
{
    if (dumper->temporary) {
        folder_empty(dumper->folder);
    }
    backend_compile(dumper->backend, module, replica_count, partition_count, partition, result);
}
