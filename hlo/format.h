/* Any supported file → modules or literals; formats are told by content, never by name. */
#ifndef HLO_FORMAT_H
#define HLO_FORMAT_H

#include "hlo/proto/proto_format.h"

enum format {
    FORMAT_UNKNOWN,
    FORMAT_TEXT,     /* HLO text */
    FORMAT_PROTO,    /* any of the module protos, binary */
    FORMAT_LITERAL,  /* LiteralProto */
    FORMAT_LITERALS, /* RunHloModuleLiterals */
    FORMAT_NPY,
};

/* One part of a file: a whole file, or a piece between "// -----" lines. */
struct loaded_module {
    struct module *module;    /* NULL when this part was refused: then `error` says why */
    struct error *error;      /* heap; NULL when there is a module */
    char *name;               /* "file" or "file#3" (parts count from 0) */
    char *header;             /* the leading "//@" lines of the part; "" if none */
    struct literal_sets sets; /* literals of a snapshot */
    char *warnings;           /* "" if none */
};
struct loaded_file {
    enum format format;
    int count;
    struct loaded_module *modules;
};

/* Reads a module file. A text is tried whole first; only if that fails and it has "// -----" lines
 * is it split (empty parts are dropped). False when the file cannot be read at all or is of no
 * known format; parts that fail are in the list with their error. */
bool module_load(const char *path, struct loaded_file *file, struct error *err);
bool module_load_memory(const char *path, const char *data, size_t size, struct loaded_file *file,
                        struct error *err);
void loaded_file_finish(struct loaded_file *file);

enum format format_of(const void *data, size_t size);
const char *format_text(enum format format);

/* One literal from .npy, LiteralProto (binary), or text ("f32[2] {1, 2}"); shape may be NULL. */
struct literal *literal_load(const char *path, const struct shape *shape, struct error *err);

#endif
