/* Reading and writing whole files. */
#include "hlo/base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"

char *file_read(const char *path, size_t *size, struct error *err)
{
    bool standard_input = strcmp(path, "-") == 0;
    struct stat info;
    if (!standard_input && (stat(path, &info) != 0)) {
        error_set(err, ERROR_NOT_FOUND, "cannot read %s: %s", path, strerror(errno));
        return NULL;
    }
    if (!standard_input && S_ISDIR(info.st_mode)) {
        error_set(err, ERROR_INVALID_ARGUMENT, "cannot read %s: it is a folder", path);
        return NULL;
    }
    /* gzread passes plain files through. */
    gzFile file = standard_input ? gzdopen(dup(STDIN_FILENO), "rb") : gzopen(path, "rb");
    if (file == NULL) {
        error_set(err, ERROR_NOT_FOUND, "cannot read %s: %s", path, strerror(errno));
        return NULL;
    }
    gzbuffer(file, 1 << 18);
    size_t capacity = !standard_input && info.st_size > 0 ? (size_t)info.st_size + 2 : 1 << 16;
    char *data = memory_alloc(capacity);
    size_t used = 0;
    for (;;) {
        size_t room = capacity - used - 1;
        if (room == 0) {
            capacity *= 2;
            data = memory_realloc(data, capacity);
            continue;
        }
        int got = gzread(file, data + used, room > 1 << 30 ? 1 << 30 : (unsigned)room);
        if (got < 0) {
            int code;
            error_set(err, ERROR_INVALID_ARGUMENT, "cannot read %s: %s", path,
                      gzerror(file, &code));
            gzclose(file);
            free(data);
            return NULL;
        }
        if (got == 0) {
            break;
        }
        used += (size_t)got;
    }
    if (gzclose(file) == Z_BUF_ERROR) {
        error_set(err, ERROR_INVALID_ARGUMENT, "cannot read %s: the compressed file is cut short",
                  path);
        free(data);
        return NULL;
    }
    data[used] = '\0';
    *size = used;
    return data;
}

/* For what cannot be replaced: pipes, terminals, devices. */
static bool write_stream(FILE *stream, const void *data, size_t size, const char *name,
                         struct error *err)
{
    bool ok = fwrite(data, 1, size, stream) == size && fflush(stream) == 0;
    return ok || error_set(err, ERROR_INTERNAL, "cannot write %s: %s", name, strerror(errno));
}

bool file_write(const char *path, const void *data, size_t size, struct error *err)
{
    if (strcmp(path, "-") == 0) {
        return write_stream(stdout, data, size, "standard output", err);
    }
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        FILE *stream = fopen(path, "wb");
        if (stream == NULL) {
            return error_set(err, ERROR_INVALID_ARGUMENT, "cannot write %s: %s", path,
                             strerror(errno));
        }
        bool written = write_stream(stream, data, size, path, err);
        fclose(stream);
        return written;
    }
    size_t length = strlen(path);
    char *temporary = memory_alloc(length + 16);
    snprintf(temporary, length + 16, "%s.XXXXXX", path);
    int fd = mkstemp(temporary);
    bool ok = fd >= 0;
    const char *next = data;
    while (ok && size > 0) {
        ssize_t put = write(fd, next, size);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        ok = put > 0;
        next += ok ? put : 0;
        size -= ok ? (size_t)put : 0;
    }
    mode_t mask = umask(0);
    umask(mask);
    ok = ok && fchmod(fd, 0666 & ~mask) == 0;
    int problem = errno;
    if (fd >= 0) {
        close(fd);
    }
    if (ok && rename(temporary, path) != 0) {
        problem = errno;
        ok = false;
    }
    if (!ok) {
        if (fd >= 0) {
            unlink(temporary);
        }
        error_set(err, ERROR_INVALID_ARGUMENT, "cannot write %s: %s", path, strerror(problem));
    }
    free(temporary);
    return ok;
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}
