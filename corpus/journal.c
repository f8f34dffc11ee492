/* JSON lines that survive. */
#define _GNU_SOURCE
#include "corpus/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "hlo/base/error.h"
#include "hlo/base/file.h"

/* The objects of the whole lines; *end is where those end. */
static bool read_lines(const char *path, const char *data, size_t size, struct journal *journal,
                       size_t *end, struct error *err)
{
    int number = 1;
    for (*end = 0; *end < size; number++) {
        const char *line = data + *end, *stop = memchr(line, '\n', size - *end);
        if (stop == NULL) { /* half a line: the last one */
            return true;
        }
        json_t *object = json_loadb(line, (size_t)(stop - line), 0, NULL);
        if (!json_is_object(object)) {
            json_decref(object);
            return error_at(err, (struct where){path, number, 0}, "this is no line of a journal");
        }
        json_array_append_new(journal->past, object);
        *end = (size_t)(stop - data) + 1;
    }
    return true;
}

bool journal_open(const char *path, struct journal *journal, struct error *err)
{
    *journal = (struct journal){.past = json_array()};
    journal->file = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (journal->file < 0) {
        error_set(err, ERROR_NOT_FOUND, "%s: %s", path, strerror(errno));
        journal_close(journal);
        return false;
    }
    size_t size = 0, end = 0;
    char *data = NULL;
    bool ok = flock(journal->file, LOCK_EX | LOCK_NB) == 0 ||
              error_set(err, ERROR_INVALID_ARGUMENT, "%s: another process is writing it", path);
    data = ok ? file_read(path, &size, err) : NULL;
    ok = data != NULL && read_lines(path, data, size, journal, &end, err);
    if (ok && end < size && ftruncate(journal->file, (off_t)end) != 0) {
        ok = error_set(err, ERROR_INTERNAL, "%s: %s", path, strerror(errno));
    }
    free(data);
    if (!ok) {
        journal_close(journal);
    }
    return ok;
}

bool journal_write(struct journal *journal, const json_t *object, struct error *err)
{
    char *line = json_dumps(object, JSON_COMPACT | JSON_PRESERVE_ORDER);
    if (line == NULL) {
        return error_set(err, ERROR_INTERNAL, "a record is no JSON");
    }
    size_t size = strlen(line), done = 0;
    line[size++] = '\n'; /* in the place of the end */
    while (done < size) {
        ssize_t wrote = write(journal->file, line + done, size - done);
        if (wrote < 0 && errno != EINTR) {
            break;
        }
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    free(line);
    return (done == size && fdatasync(journal->file) == 0) ||
           error_set(err, ERROR_RESOURCE_EXHAUSTED, "the journal cannot be written: %s",
                     strerror(errno));
}

void journal_close(struct journal *journal)
{
    if (journal->file >= 0) {
        close(journal->file);
    }
    json_decref(journal->past);
    *journal = (struct journal){.file = -1};
}
