/* StableHLO in and out: MLIR text and bytecode ↔ MLIR in memory (ir.h) ↔ HLO. */
#ifndef HLO_MLIR_MLIR_FORMAT_H
#define HLO_MLIR_MLIR_FORMAT_H

#include "hlo/mlir/ir.h"
#include "hlo/module.h"

struct text;
struct literal;

/* --- reading and writing MLIR; NULL or false on errors --- */

/* Does this look like MLIR text (and not like HLO text)? Like MLIR bytecode ("ML\xefR")? */
bool mlir_is_text(const char *text, size_t size);
bool mlir_is_bytecode(const void *data, size_t size);
/* One top-level region of MLIR text. text[size] must be zero. The text is only borrowed. Lines are
 * counted from first_line. */
struct mlir_file *mlir_parse(const char *text, size_t size, const char *name, int first_line,
                             struct error *err);
/* One attribute or type, which is all of the text (text[size] is zero), for a file that is being
 * made. NULL on errors. */
struct mlir_attr *mlir_parse_attr(struct mlir_file *file, const char *text, size_t size,
                                  struct error *err);
const struct mlir_type *mlir_parse_type(struct mlir_file *file, const char *text, size_t size,
                                        struct error *err);
/* Bytecode of any dialect; portable artifacts (VHLO, versions 0.9.0 on) are upgraded to today's
 * StableHLO, StableHLO's own encoding is read as it is. The data are only borrowed. */
struct mlir_file *mlir_read_bytecode(const void *data, size_t size, const char *name,
                                     struct error *err);
/* Text in generic form, which mlir_parse and MLIR's own parser read. */
void mlir_print(const struct mlir_file *file, struct text *out);
void mlir_print_type(const struct mlir_type *type, struct text *out);
void mlir_print_attr(const struct mlir_attr *attr, struct text *out);
/* Same ops, operands, types, regions; attributes but for those that mean the same absent (see
 * equal.c); names and locations do not count. On false *err says what differs. */
bool mlir_file_equal(const struct mlir_file *a, const struct mlir_file *b, struct error *err);

/* --- MLIR → HLO --- */

/* Evaluates a module without parameters to its result; NULL on errors. The room that can do this
 * is above this one, so it is handed in. */
typedef struct literal *mlir_evaluate(const struct module *module, struct error *err);

enum mlir_checks {
    MLIR_CHECKS_DROP, /* check.* and interpreter.* ops that have no results vanish */
    MLIR_CHECKS_KEEP, /* they become custom calls of their names, with side effects */
};

struct mlir_import_options {
    /* The function to translate, without "@"; NULL: main, or the only function that is not
     * private. */
    const char *entry;
    /* Shapes of the arguments, which replace dynamic dimensions in the function's own; or 0. */
    int argument_count;
    const struct shape *const *argument_shapes;
    /* Values of the arguments, for the shapes that depend on them; or NULL, or NULL for one. */
    const struct literal *const *arguments;
    /* Finds the values of operands that give shapes. NULL: only constants are understood. */
    mlir_evaluate *evaluate;
    enum mlir_checks checks;
};

/* options may be NULL: all its fields zero. *file is not changed but for the `user` of values and
 * its arena, which grows. */
struct module *mlir_import(struct mlir_file *file, const struct mlir_import_options *options,
                           struct error *err);
/* Does the function take anything whose size is not known before it gets arguments? */
bool mlir_function_is_dynamic(const struct mlir_op *function);
/* The function that mlir_import takes for that name (NULL: see above); NULL and *err if there is
 * none, or several. */
struct mlir_op *mlir_entry(const struct mlir_file *file, const char *name, struct error *err);

/* --- HLO → StableHLO --- */

/* UNIMPLEMENTED names the first instruction that StableHLO cannot say. */
struct mlir_file *mlir_export(const struct module *module, struct error *err);

#endif
