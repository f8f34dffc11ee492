/* Messages in memory files (parcel.h). Layout: header, blob table, body, blobs on 64-byte bounds.
 */
#define _GNU_SOURCE
#include "backend/parcel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"

#define PARCEL_MAGIC UINT64_C(0x31656c6972576652)
#define PARCEL_ALIGNMENT 64
#define PARCEL_BODY_MOST ((uint64_t)256 << 20)

struct parcel_header {
    uint64_t magic, body_size, blob_count;
};

/* --- writing --- */

void parcel_writer_init(struct parcel_writer *writer)
{
    *writer = (struct parcel_writer){0};
    text_init(&writer->body);
}

void parcel_writer_finish(struct parcel_writer *writer)
{
    for (size_t i = 0; i < writer->blob_count; i++) {
        if (writer->blobs[i].owned) {
            free((void *)writer->blobs[i].data);
        }
    }
    text_finish(&writer->body);
    free(writer->blobs);
}

void parcel_put_int(struct parcel_writer *writer, int64_t value)
{
    text_append_n(&writer->body, (const char *)&value, sizeof(value));
}

void parcel_put_double(struct parcel_writer *writer, double value)
{
    text_append_n(&writer->body, (const char *)&value, sizeof(value));
}

void parcel_put_string(struct parcel_writer *writer, const char *data, size_t size)
{
    parcel_put_int(writer, (int64_t)size);
    text_append_n(&writer->body, data, size);
    text_char(&writer->body, '\0');
}

void parcel_put_blob(struct parcel_writer *writer, const void *data, size_t size)
{
    writer->blobs =
        grow(writer->blobs, writer->blob_count, &writer->blob_capacity, sizeof(writer->blobs[0]));
    writer->blobs[writer->blob_count++] = (struct parcel_blob){.data = data, .size = size};
}

void parcel_put_blob_take(struct parcel_writer *writer, void *data, size_t size)
{
    parcel_put_blob(writer, data, size);
    writer->blobs[writer->blob_count - 1].owned = true;
}

static uint64_t align(uint64_t offset)
{
    return (offset + PARCEL_ALIGNMENT - 1) / PARCEL_ALIGNMENT * PARCEL_ALIGNMENT;
}

static bool write_at(int file, const void *data, size_t size, uint64_t offset)
{
    const char *from = data;
    while (size > 0) {
        ssize_t written = pwrite(file, from, size, (off_t)offset);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return false;
        }
        from += written;
        offset += (uint64_t)written;
        size -= (size_t)written;
    }
    return true;
}

int parcel_seal(const struct parcel_writer *writer, struct error *err)
{
    struct parcel_header header = {PARCEL_MAGIC, writer->body.size, writer->blob_count};
    int file = memfd_create("referee", MFD_CLOEXEC);
    if (file < 0) {
        error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory file: %s", strerror(errno));
        return -1;
    }
    size_t table_size = writer->blob_count * sizeof(struct parcel_blob);
    struct parcel_blob *table = memory_zalloc(table_size + 1);
    uint64_t end = align(sizeof(header) + table_size + writer->body.size);
    bool good = true;
    for (size_t i = 0; good && i < writer->blob_count; i++) {
        table[i].offset = end;
        table[i].size = writer->blobs[i].size;
        good = write_at(file, writer->blobs[i].data, writer->blobs[i].size, end);
        end = align(end + writer->blobs[i].size);
    }
    good = good && ftruncate(file, (off_t)end) == 0 && write_at(file, &header, sizeof(header), 0) &&
           write_at(file, table, table_size, sizeof(header)) &&
           write_at(file, writer->body.data, writer->body.size, sizeof(header) + table_size);
    free(table);
    if (!good) {
        error_set(err, ERROR_RESOURCE_EXHAUSTED, "a message of %llu bytes: %s",
                  (unsigned long long)end, strerror(errno));
        close(file);
        return -1;
    }
    return file;
}

/* --- reading --- */

static bool read_at(int file, void *data, size_t size, uint64_t offset)
{
    char *to = data;
    while (size > 0) {
        ssize_t got = pread(file, to, size, (off_t)offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        to += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return true;
}

static bool reader_load(struct parcel_reader *reader)
{
    struct parcel_header header;
    struct stat status;
    if (fstat(reader->file, &status) != 0 || status.st_size < (off_t)sizeof(header) ||
        !read_at(reader->file, &header, sizeof(header), 0) || header.magic != PARCEL_MAGIC) {
        return false;
    }
    uint64_t size = (uint64_t)status.st_size;
    uint64_t room = size - sizeof(header);
    if (header.blob_count > room / sizeof(struct parcel_blob) ||
        header.blob_count * sizeof(struct parcel_blob) > PARCEL_BODY_MOST ||
        header.body_size > PARCEL_BODY_MOST ||
        header.body_size > room - header.blob_count * sizeof(struct parcel_blob)) {
        return false;
    }
    size_t table_size = header.blob_count * sizeof(struct parcel_blob);
    reader->blobs = malloc(table_size + 1);
    reader->body = malloc(header.body_size + 1);
    if (!reader->blobs || !reader->body ||
        !read_at(reader->file, reader->blobs, table_size, sizeof(header)) ||
        !read_at(reader->file, reader->body, header.body_size, sizeof(header) + table_size)) {
        return false;
    }
    reader->body_size = header.body_size;
    reader->blob_count = header.blob_count;
    reader->map_size = size;
    for (size_t i = 0; i < reader->blob_count; i++) {
        if (reader->blobs[i].size > size ||
            reader->blobs[i].offset > size - reader->blobs[i].size) {
            return false;
        }
    }
    return true;
}

bool parcel_reader_init(struct parcel_reader *reader, int file, struct error *err)
{
    *reader = (struct parcel_reader){.file = file};
    if (!reader_load(reader)) {
        parcel_reader_finish(reader);
        return error_set(err, ERROR_INTERNAL, "not a whole message");
    }
    return true;
}

void parcel_reader_finish(struct parcel_reader *reader)
{
    if (reader->map) {
        munmap(reader->map, reader->map_size);
    }
    if (reader->file >= 0) {
        close(reader->file);
    }
    free(reader->body);
    free(reader->blobs);
    *reader = (struct parcel_reader){.file = -1};
}

static const char *take(struct parcel_reader *reader, size_t size)
{
    if (reader->failed || size > reader->body_size - reader->next) {
        reader->failed = true;
        return NULL;
    }
    const char *data = reader->body + reader->next;
    reader->next += size;
    return data;
}

int64_t parcel_get_int(struct parcel_reader *reader)
{
    int64_t value = 0;
    const char *data = take(reader, sizeof(value));
    if (data) {
        memcpy(&value, data, sizeof(value));
    }
    return value;
}

int64_t parcel_get_range(struct parcel_reader *reader, int64_t low, int64_t high)
{
    int64_t value = parcel_get_int(reader);
    if (value < low || value > high) {
        reader->failed = true;
        return low;
    }
    return value;
}

double parcel_get_double(struct parcel_reader *reader)
{
    double value = 0;
    const char *data = take(reader, sizeof(value));
    if (data) {
        memcpy(&value, data, sizeof(value));
    }
    return value;
}

const char *parcel_get_string(struct parcel_reader *reader, size_t *size)
{
    size_t length = (size_t)parcel_get_range(reader, 0, (int64_t)reader->body_size);
    const char *data = take(reader, length + 1);
    if (data && data[length] != '\0') {
        reader->failed = true;
        data = NULL;
    }
    if (size) {
        *size = data ? length : 0;
    }
    return data ? data : "";
}

size_t parcel_get_blob(struct parcel_reader *reader, size_t *number)
{
    *number = reader->next_blob;
    if (reader->next_blob >= reader->blob_count) {
        reader->failed = true;
        return 0;
    }
    return reader->blobs[reader->next_blob++].size;
}

bool parcel_copy_blob(struct parcel_reader *reader, size_t number, void *data, size_t size)
{
    return number < reader->blob_count && reader->blobs[number].size == size &&
           read_at(reader->file, data, size, reader->blobs[number].offset);
}

void *parcel_map_blob(struct parcel_reader *reader, size_t number)
{
    if (number >= reader->blob_count) {
        return NULL;
    }
    if (!reader->map) {
        void *map =
            mmap(NULL, reader->map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, reader->file, 0);
        if (map == MAP_FAILED) {
            return NULL;
        }
        reader->map = map;
    }
    return reader->map + reader->blobs[number].offset;
}
