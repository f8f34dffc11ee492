/* MLIR → HLO: what the functions that translate ops share.
 *
 * Each op is translated by translate_<token>(), named in the import column of ops.def, which reads
 * its operands as instructions, adds instructions to the scope's computation, and binds its
 * results. Sources: StableHLO's specification (docs/spec.md); what XLA makes of the same ops:
 * xla/hlo/translate/mhlo_to_hlo/mlir_hlo_to_hlo.cc, stablehlo_to_hlo. Where these two differ, the
 * specification is followed and the difference noted at the function. */
#ifndef HLO_MLIR_IMPORT_IMPORT_H
#define HLO_MLIR_IMPORT_IMPORT_H

#include "hlo/mlir/mlir_format.h"

struct importer {
    struct mlir_file *file;
    const struct mlir_import_options *options; /* never NULL */
    struct module *module;
    struct error *err;
    int64_t next_channel; /* for collectives that were given none */
    int depth;            /* of calls, to stop recursion */
    struct map functions; /* struct mlir_op* → struct computation*: static ones, translated once */
};

/* What one computation under way knows. A function of dynamic shapes is translated anew in the
 * scope of each caller, into the caller's computation; a static one becomes a computation of its
 * own. The computation of a region is a scope whose parent is that of the op; what it uses of the
 * outside is either passed in (while, if, case) or, in reducers and the like, must be made of
 * constants, which are made again inside. */
struct scope {
    struct importer *importer;
    struct computation *computation;
    struct scope *parent; /* of a region; NULL otherwise */
    struct map values;    /* struct mlir_value* (map_put_int) → struct instruction* */
    bool passes_captures; /* values of the outside were bound before: none is made again */
};

/* --- for the functions that translate ops; those that fail fill importer->err at the op --- */

typedef bool import_function(struct scope *scope, const struct mlir_op *op);

/* Always false: "name of the op: message", with its place. */
bool import_fail(struct scope *scope, const struct mlir_op *op, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with ERROR_UNIMPLEMENTED. */
bool import_refuse(struct scope *scope, const struct mlir_op *op, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The instruction of a value; NULL and an error if it cannot be had here. */
struct instruction *import_value(struct scope *scope, const struct mlir_op *op,
                                 const struct mlir_value *value);
/* All operands, in the arena of the module; NULL on errors (and for an op without operands a
 * pointer that is not NULL). */
struct instruction **import_operands(struct scope *scope, const struct mlir_op *op);
/* The HLO shape of a type: tensors (dynamic dimensions with bounds from the encoding become
 * dynamic ones), tokens, tuples; quantized elements become their storage. An error at `op` for
 * others. */
const struct shape *import_shape(struct scope *scope, const struct mlir_op *op,
                                 const struct mlir_type *type);
/* The shape of result `index`: its type where that is static, else refined by `inferred` (NULL:
 * an error). */
const struct shape *import_result_shape(struct scope *scope, const struct mlir_op *op, int index,
                                        const struct shape *inferred);
/* Adds an instruction with a fresh name, metadata of the op's location, and the op's discardable
 * attributes that HLO keeps (mhlo.sharding, mhlo.frontend_attributes). shape NULL: HLO's own
 * inference gives it (hlo/infer.h), from operands, attributes and called computations that must
 * then be set by import_finish. */
struct instruction *import_add(struct scope *scope, const struct mlir_op *op, enum opcode opcode,
                               const struct shape *shape, int operand_count,
                               struct instruction *const *operands);
/* Binds a value to an instruction of this scope's computation. */
void import_bind(struct scope *scope, const struct mlir_value *value,
                 struct instruction *instruction);
/* Binds all results: one result to the instruction itself, several to get-tuple-elements of it. */
bool import_bind_results(struct scope *scope, const struct mlir_op *op,
                         struct instruction *instruction);
/* A constant of the computation. Takes the reference. */
struct instruction *import_constant(struct scope *scope, const struct mlir_op *op,
                                    struct literal *literal_take);
/* A scalar constant of an HLO type, rounded to it. */
struct instruction *import_scalar(struct scope *scope, const struct mlir_op *op, enum type type,
                                  double value);
/* broadcast of `from` (which may be a scalar) into `shape` along `dimensions`. */
struct instruction *import_broadcast(struct scope *scope, const struct mlir_op *op,
                                     struct instruction *from, const struct shape *shape, int count,
                                     const int64_t *dimensions);
/* The literal of a DENSE attribute (also of an ARRAY, INTS …: no). NULL on errors. */
struct literal *import_dense(struct scope *scope, const struct mlir_op *op,
                             const struct mlir_attr *attr);

/* Adds the region's block as a computation of its own: parameters are the block's arguments, the
 * root is what it returns: the value itself if it is one (and not `as_tuple`), else a tuple. Values
 * of the outside must be constants. argument_shapes: NULL, or shapes in place of the arguments'
 * own types. */
struct computation *import_region(struct scope *scope, const struct mlir_op *op, int region,
                                  const struct shape *const *argument_shapes, bool as_tuple);

/* The values of an operand that gives a shape: a constant, or what importer->options->evaluate
 * makes of it. The integers live in the module's arena. */
bool import_integers(struct scope *scope, const struct mlir_op *op, int operand,
                     struct ints *values);

/* --- attributes of ops; absent ones leave *value as it is; wrong kinds are errors --- */

bool import_int_attr(struct scope *scope, const struct mlir_op *op, const char *key,
                     int64_t *value);
bool import_bool_attr(struct scope *scope, const struct mlir_op *op, const char *key, bool *value);
/* array<i64>, dense<> and [..] of integers, copied to the module's arena. */
bool import_ints_attr(struct scope *scope, const struct mlir_op *op, const char *key,
                      struct ints *values);
/* The word of an enumeration (#stablehlo<comparison_direction EQ>), or of a string attribute. */
bool import_word_attr(struct scope *scope, const struct mlir_op *op, const char *key,
                      const char **word);

/* --- the functions of ops.def --- */

#define MLIR_OP(id, name, form, import, opcode) import_function translate_##import;
#include "hlo/mlir/ops.def"

#endif
