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

/* Regions and calls within each other. */
enum { IMPORT_MAX_DEPTH = 500, IMPORT_MAX_INSTRUCTIONS = 1 << 22, IMPORT_MAX_INLINED = 1 << 16 };

struct importer {
    struct mlir_file *file;
    const struct mlir_import_options *options; /* never NULL */
    struct module *module;
    struct error *err;     /* never NULL */
    int64_t next_channel;  /* for collectives that were given none */
    int64_t next_name;     /* "add.7": numbers of names */
    int depth;             /* of regions and calls */
    struct active *active; /* functions under way, innermost first */
    /* struct mlir_op* → struct computation*: functions of static shapes, translated once */
    struct map functions;
    struct map dynamic; /* struct mlir_op* of a function → whether it has dynamic shapes */
    struct map symbols; /* struct mlir_op* of a module → struct map*: name → struct mlir_op* */
    struct map shardings; /* text → struct sharding* */
    struct map metadata;  /* struct mlir_location* → struct metadata* */
    struct map known; /* struct instruction* → struct literal*: values worked out for shapes */
    struct frames *frames; /* call stacks so far (frames.c); NULL: none */
    int inlined;           /* calls of functions of open sizes so far */
};

/* A computation under way, and what its instructions are outside it. */
struct frame {
    struct computation *computation;
    struct frame *around; /* of the computation around it that it was given values of, or NULL */
    /* struct instruction* → struct instruction* of the computation around that always has the same
     * value: what a loop or a branch is given and does not change */
    struct map outside;
    struct map copies; /* struct instruction* of outer computations → its copy in this one */
};

/* What one computation under way knows. A function of dynamic shapes is translated anew in the
 * scope of each caller, into the caller's computation (the scopes share a frame); a static one
 * becomes a computation of its own. The computation of a region is a scope whose parent is that of
 * the op; what it uses of the outside is either passed in (while, if, case) or, in reducers and the
 * like, must be made of constants, which are made again inside. */
struct scope {
    struct importer *importer;
    struct computation *computation;
    struct frame *frame;
    struct scope *parent; /* of a region; NULL otherwise */
    struct map values;    /* struct mlir_value* (map_put_int) → struct instruction* */
    int first;            /* instructions from here on were made for the op under way */
    bool is_inline;       /* the frame is the caller's */
};

/* A scope for a computation of its own, with its frame; NULL `parent`: of a function. */
void scope_open(struct scope *scope, struct importer *importer, struct computation *computation,
                struct scope *parent);
/* A scope for a function that is translated into the computation of `caller`. */
void scope_open_inline(struct scope *scope, struct scope *caller);
void scope_close(struct scope *scope);
/* Adds a computation with a name of its own. */
struct computation *import_computation(struct importer *importer, const char *name);

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
/* Adds an instruction with a fresh name, metadata of the op's location, and the op's frontend
 * attributes. shape NULL: import_finish finds it. */
struct instruction *import_add(struct scope *scope, const struct mlir_op *op, enum opcode opcode,
                               const struct shape *shape, int operand_count,
                               struct instruction *const *operands);
/* Gives an instruction that was added without a shape the one that HLO infers (hlo/infer.h), once
 * its attributes and called computations are set. */
bool import_finish(struct scope *scope, const struct mlir_op *op, struct instruction *instruction);
/* Binds a value to an instruction of this scope's computation. A result of an op must fit it, and
 * hands it its sharding; importer->err is set if it does not fit. */
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
/* broadcast_in_dim: dimension i of `from` is dimensions[i] of `shape`; sizes of 1 are repeated, as
 * HLO's broadcast does not. NULL and an error if they do not fit. */
struct instruction *import_broadcast_in_dim(struct scope *scope, const struct mlir_op *op,
                                            struct instruction *from, const struct shape *shape,
                                            int count, const int64_t *dimensions);
/* The result of an op with broadcast_dimensions, bound. shape NULL: an error was said already. */
bool import_broadcast_op(struct scope *scope, const struct mlir_op *op, struct instruction *from,
                         const struct shape *shape);
/* The literal of a DENSE attribute (also of an ARRAY, INTS …: no). NULL on errors. */
struct literal *import_dense(struct scope *scope, const struct mlir_op *op,
                             const struct mlir_attr *attr);

/* Adds the region's block as a computation of its own: parameters are the block's arguments, the
 * root is what it returns: the value itself if it is one (and not `as_tuple`), else a tuple. Values
 * of the outside must be constants. argument_shapes: NULL, or shapes in place of the arguments'
 * own types. */
struct computation *import_region(struct scope *scope, const struct mlir_op *op, int region,
                                  const struct shape *const *argument_shapes, bool as_tuple);

/* Translates the ops of a block but the last one, which ends it and is returned. NULL on errors.
 * The arguments must be bound. `op`: what the block is of. */
struct mlir_op *import_block(struct scope *scope, const struct mlir_op *op,
                             const struct mlir_block *block);
/* The one block of a region; NULL and an error if there is none, or more. */
const struct mlir_block *import_only_block(struct scope *scope, const struct mlir_op *op,
                                           int region);
/* The instruction that a block gives: that of the value it ends with, or a tuple of them. */
struct instruction *import_root(struct scope *scope, const struct mlir_op *end, bool as_tuple);
/* A parameter of the scope's computation. */
struct instruction *import_parameter(struct scope *scope, const struct mlir_op *op, int number,
                                     const struct shape *shape);
/* Ends a computation that was filled: sets its root and collects its parameters, which must be
 * numbered without gaps. Needed before its callers are given a shape. */
void import_close_computation(struct computation *computation, struct instruction *root);
/* The values of something that gives `count` of them: itself if it is one, else its elements. */
bool import_elements(struct scope *scope, const struct mlir_op *op, struct instruction *from,
                     int count, struct instruction **elements);
/* Calls a function: results[0..count) are what it returns, bound by nobody. */
bool import_call(struct scope *scope, const struct mlir_op *op, const struct mlir_op *function,
                 int operand_count, struct instruction *const *operands,
                 struct instruction **results);
/* The function that a symbol names, seen from `op`; NULL and an error if there is none. */
struct mlir_op *import_function_of(struct scope *scope, const struct mlir_op *op,
                                   const struct mlir_attr *symbol);
/* The computation of a function of static shapes, made if need be. */
struct computation *import_function_computation(struct scope *scope, const struct mlir_op *op,
                                                const struct mlir_op *function);

/* The values of an operand that gives a shape: a constant, or what importer->options->evaluate
 * makes of it. The integers live in the module's arena. */
bool import_integers(struct scope *scope, const struct mlir_op *op, int operand,
                     struct ints *values);
/* The same of an instruction; `operand` is for messages. */
bool import_integers_of(struct scope *scope, const struct mlir_op *op, int operand,
                        struct instruction *from, struct ints *values);

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
/* A sharding from its HLO text, or from the bytes of a proto, kept by the module. NULL for an empty
 * text, and with an error at `op` if it is none. */
const struct sharding *import_sharding(struct importer *importer, const struct mlir_op *op,
                                       struct bytes text);
/* Setting attributes of instructions; values are copied to the module's arena. */
void import_set_int(struct instruction *instruction, enum attr_key key, int64_t value);
void import_set_ints(struct instruction *instruction, enum attr_key key, int count,
                     const int64_t *values);
void import_set_string(struct instruction *instruction, enum attr_key key, const char *text,
                       size_t size);
void import_add_frontend_attribute(struct instruction *instruction, const char *key,
                                   const char *value, size_t size);

/* --- the functions of ops.def --- */

#define MLIR_OP(id, name, form, import, opcode) import_function translate_##import;
#include "hlo/mlir/ops.def"

#endif
