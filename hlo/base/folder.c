/* Temporary folders. */
#define _GNU_SOURCE
#include "hlo/base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hlo/base/error.h"
#include "hlo/base/text.h"

char *folder_make_temporary(struct error *err)
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

void folder_empty(const char *folder)
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

void folder_remove(const char *folder)
{
    folder_empty(folder);
    rmdir(folder);
}
