/* Messages between the tester and its workers: typed fields and large blobs in one memory file.
 *
 * A message is written into an anonymous memory file whose descriptor travels over a socket, so
 * that literals of any size cross with one copy. Both ends are the same program, so numbers keep
 * the machine's form. The receiver trusts nothing: a field that is not there reads as zero and sets
 * `failed`, and blobs are read by copying, since a mapping could be cut under the reader's feet. */
#ifndef BACKEND_PARCEL_H
#define BACKEND_PARCEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hlo/base/text.h"

struct error;

struct parcel_blob {
    uint64_t offset, size;
    const void *data; /* while writing */
    bool owned;
};

struct parcel_writer {
    struct text body;
    struct parcel_blob *blobs;
    size_t blob_count, blob_capacity;
};

void parcel_writer_init(struct parcel_writer *writer);
void parcel_writer_finish(struct parcel_writer *writer);
void parcel_put_int(struct parcel_writer *writer, int64_t value);
void parcel_put_double(struct parcel_writer *writer, double value);
void parcel_put_string(struct parcel_writer *writer, const char *data, size_t size);
/* The data is borrowed until the message is sealed. */
void parcel_put_blob(struct parcel_writer *writer, const void *data, size_t size);
/* The data is freed with the writer. */
void parcel_put_blob_take(struct parcel_writer *writer, void *data, size_t size);
/* The finished message as a memory file, owned by the caller; -1 and *err when memory is short. */
int parcel_seal(const struct parcel_writer *writer, struct error *err);

struct parcel_reader {
    int file; /* owned */
    char *body;
    size_t body_size, next;
    struct parcel_blob *blobs;
    size_t blob_count, next_blob;
    char *map; /* the whole message, when mapped */
    size_t map_size;
    bool failed;
};

/* Takes the descriptor. False on anything that is no whole message. */
bool parcel_reader_init(struct parcel_reader *reader, int file, struct error *err);
void parcel_reader_finish(struct parcel_reader *reader);
int64_t parcel_get_int(struct parcel_reader *reader);
/* An integer in [low, high], else low and `failed`. */
int64_t parcel_get_range(struct parcel_reader *reader, int64_t low, int64_t high);
double parcel_get_double(struct parcel_reader *reader);
/* Zero-terminated, in the reader's memory; "" on failure. size may be NULL. */
const char *parcel_get_string(struct parcel_reader *reader, size_t *size);
/* The next blob: its size, and its number for parcel_copy_blob. */
size_t parcel_get_blob(struct parcel_reader *reader, size_t *number);
/* Copies a blob of exactly `size` bytes; false when it is not there. */
bool parcel_copy_blob(struct parcel_reader *reader, size_t number, void *data, size_t size);
/* The blob in place, for a reader that trusts the sender (a worker trusts the tester): a private
 * copy-on-write mapping. NULL on failure. */
void *parcel_map_blob(struct parcel_reader *reader, size_t number);

#endif
