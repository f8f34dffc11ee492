/* Compiling with dumps (dumper.h). Flags: xla/debug_options_flags.cc; which passes are dumped:
 * xla/hlo/pass/hlo_pass_pipeline.cc. */
#define _GNU_SOURCE
#include "backend/dumper.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"

static char *make_temporary(struct error *err)
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

bool dumper_open(const char *uri, const struct backend_options *options,
                 const struct dumper_options *dump, struct dumper *dumper, struct error *err)
{
    const char *named = dump != NULL ? dump->folder : NULL;
    const char *passes = dump != NULL ? dump->passes : NULL;
    *dumper = (struct dumper){
        .folder = named != NULL ? make_named(named, err) : make_temporary(err),
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
        empty_folder(dumper->folder);
        rmdir(dumper->folder);
    }
    free(dumper->folder);
    *dumper = (struct dumper){0};
}

void dumper_compile(struct dumper *dumper, const struct module *module, int replica_count,
                    int partition_count, bool partition, struct run_result *result)
{
    if (dumper->temporary) {
        empty_folder(dumper->folder);
    }
    backend_compile(dumper->backend, module, replica_count, partition_count, partition, result);
}
