/* Inside format*.c: the parts of a file, and the list of what was read of them. */
#ifndef HLO_FORMAT_INTERNAL_H
#define HLO_FORMAT_INTERNAL_H

#include "hlo/format.h"

struct part {
    const char *text;
    size_t size;
    int line; /* of its first line in the file */
};

/* The pieces between "// -----" lines that are not empty (heap); *separators counts the lines. */
struct part *parts_split(const char *text, size_t size, int *count, int *separators);
/* The "//@" lines among the comments at the head of the part (heap). */
char *part_header(struct part part);
/* Puts a module, or why there is none, at the end of the file's list. Takes the header. */
struct loaded_module *file_add_module(struct loaded_file *file, struct module *module,
                                      const struct error *err, const char *name, char *header);
/* Adds what MLIR text or bytecode holds. */
void load_mlir(const char *path, const char *data, size_t size, struct loaded_file *file);

#endif
