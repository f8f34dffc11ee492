/* Any supported file → modules or literals; formats are told by content, never by name. */
#ifndef HLO_FORMAT_H
#define HLO_FORMAT_H

#include "hlo/mlir/mlir_format.h"
#include "hlo/proto/proto_format.h"

enum format {
    FORMAT_UNKNOWN,
    FORMAT_TEXT, /* HLO text */
    FORMAT_MLIR, /* MLIR text: StableHLO */
    FORMAT_MLIR_BYTECODE,
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
    /* Of MLIR: where it comes from (belongs to the file), and the function that is the entry. */
    struct mlir_file *mlir;
    const char *function;
    struct bytes source; /* as it was written; borrowed from what was loaded */
    /* The function's arguments have no shapes yet: loaded_module_refine makes the module. Until
     * then `error` says what is missing. */
    bool is_dynamic;
};
struct loaded_file {
    enum format format;
    int count;
    struct loaded_module *modules;
    int mlir_count;
    struct mlir_file **mlir;
};

/* How MLIR becomes HLO; one for the whole process, set before the first file is loaded. */
struct load_options {
    /* The function to take, without "@". NULL: main, or if there is none each one that is not
     * private, as a module of its own ("file#3@name"). */
    const char *entry;
    enum mlir_checks checks;
    mlir_evaluate *evaluate; /* see mlir_import_options */
    bool keep_mlir;          /* fill module->mlir */
};
extern struct load_options load_options;

/* Reads a module file. A text is tried whole first; only if that fails and it has "// -----" lines
 * is it split (empty parts are dropped). False when the file cannot be read at all or is of no
 * known format; parts that fail are in the list with their error. */
bool module_load(const char *path, struct loaded_file *file, struct error *err);
bool module_load_memory(const char *path, const char *data, size_t size, struct loaded_file *file,
                        struct error *err);
void loaded_file_finish(struct loaded_file *file);
/* Makes the module of a function of MLIR anew, for arguments of these shapes and, where known,
 * values (NULL: none is known, or that one is not). The old module, if any, is destroyed. */
bool loaded_module_refine(struct loaded_module *part, int count, const struct shape *const *shapes,
                          const struct literal *const *arguments, struct error *err);

enum format format_of(const void *data, size_t size);
const char *format_text(enum format format);

/* One literal from .npy, LiteralProto (binary), or text ("f32[2] {1, 2}"); shape may be NULL. */
struct literal *literal_load(const char *path, const struct shape *shape, struct error *err);

#endif
