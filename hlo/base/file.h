/* Files: read whole, written whole or not at all (temporary file + rename; pipes and devices are
 * written directly). */
#ifndef HLO_BASE_FILE_H
#define HLO_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct error;

/* The whole file, zero-terminated (the terminator is not counted); free() it. gzip is unpacked.
 * "-" is standard input. */
char *file_read(const char *path, size_t *size, struct error *err);
bool file_write(const char *path, const void *data, size_t size, struct error *err);
bool file_exists(const char *path);

#endif
