/* What the files of the translation's core share among themselves. */
#ifndef HLO_MLIR_IMPORT_IMPORT_INTERNAL_H
#define HLO_MLIR_IMPORT_IMPORT_INTERNAL_H

#include "hlo/mlir/import/import.h"

struct active {
    const struct mlir_op *function;
    struct active *outer;
};

static inline uint64_t pointer_key(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

/* --- scope.c --- */

/* "text.7", with what no name may hold replaced. In the arena of the module. */
const char *import_name(struct importer *importer, const char *text);
/* The instruction that a value is bound to in the scope or in one around it; NULL if none. */
struct instruction *import_bound(const struct scope *scope, const struct mlir_value *value);
/* Deeper by one region or call; false and an error if that is too deep. Pair with depth--. */
bool import_deeper(struct scope *scope, const struct mlir_op *op);

/* --- copy.c --- */

/* The same value in the computation of the scope: copies of everything it is made of. `from` is of
 * a computation around it. NULL and an error if it is not made of constants. */
struct instruction *import_copy(struct scope *scope, const struct mlir_op *op,
                                struct instruction *from);

/* --- shapes.c --- */

/* Are all its dimensions known, as sizes or bounds? Tuples: of all elements. */
bool type_has_sizes(const struct mlir_type *type);
/* May a value of the type have the shape? Sizes that the type leaves open are free. */
bool shape_fits(const struct shape *shape, const struct mlir_type *type);

/* --- metadata.c --- */

/* NULL if the location says nothing. */
struct metadata *import_metadata(struct importer *importer, const struct mlir_op *op);

/* --- frames.c --- */

/* Is it "function"("file":line:column)? */
bool import_is_frame(const struct mlir_location *location);
/* The id of a call stack's innermost frame in the module's tables; 0 if it is none. */
int64_t import_stack(struct importer *importer, const struct mlir_location *location);
/* Hands the tables to the module. */
void import_finish_stacks(struct importer *importer);

/* --- attributes.c --- */

/* Adds the entries of a dictionary of strings and booleans to the frontend attributes. */
void import_frontend_dictionary(struct instruction *instruction,
                                const struct mlir_dictionary *dictionary);
/* The sharding of a tuple; elements that are NULL are replicated. */
const struct sharding *import_tuple_sharding(struct importer *importer, int count,
                                             const struct sharding *const *elements);
struct string_map import_string_map(struct importer *importer,
                                    const struct mlir_dictionary *dictionary);

/* --- function.c --- */

/* Makes the entry computation, with what its attributes say in the module's configuration. */
bool import_entry(struct importer *importer, const struct mlir_op *function);
/* Does any value in the function have a shape that its type does not tell? */
bool function_has_dynamic(struct importer *importer, const struct mlir_op *function);

/* --- approx_top_k.c --- */

/* Is that a custom call ApproxTopK that gives the exact answer? */
bool import_is_exact_top_k(const struct mlir_op *op, const char *target);
bool import_exact_top_k(struct scope *scope, const struct mlir_op *op);

/* --- tidy.c --- */

/* Drops attributes that say what holds anyway. */
void import_tidy(struct module *module);

/* --- import.c, module.c --- */

/* The builtin.module around an op, the nearest one; NULL if there is none. */
struct mlir_op *module_around(const struct mlir_op *op);
/* The op that a symbol names, seen from an op; NULL if there is none. */
struct mlir_op *import_symbol(struct importer *importer, const struct mlir_op *from,
                              const struct mlir_attr *symbol);
/* Gives the configuration a layout of the entry if it has none: the one that its shapes have. */
void import_start_layout(struct importer *importer);
/* The shape with the layout of mhlo.layout_mode ("{0,1}"; "default", "auto" and none leave it as it
 * is). NULL and an error if it does not fit. */
const struct shape *import_layout_mode(struct importer *importer, const struct mlir_op *function,
                                       const struct shape *shape, const struct mlir_attr *mode);
/* What the attributes of the module and of those around it say. */
bool import_module_attributes(struct importer *importer, const struct mlir_op *module);

#endif
