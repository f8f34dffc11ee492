/* HLO → StableHLO: what the functions that translate instructions share.
 *
 * StableHLO computes with arrays and tokens; tuples do not exist there but at borders. So the value
 * of an instruction is its leaves (arrays, tokens) in depth-first order: tuple and
 * get-tuple-element make no op, and parameters, loops and calls take and give leaves. Sources:
 * StableHLO's specification; xla/hlo/translate/hlo_to_mhlo/ (what XLA makes of the same
 * instructions). */
#ifndef HLO_MLIR_EXPORT_EXPORT_H
#define HLO_MLIR_EXPORT_EXPORT_H

#include "hlo/mlir/mlir_format.h"

struct leaves {
    int count;
    struct mlir_value **values;
};

/* Ops in the order they are made. */
struct op_list {
    size_t count, capacity;
    struct mlir_op **ops;
};

struct exporter {
    const struct module *module;
    struct mlir_file *file;
    struct error *err;
    struct op_list functions; /* of the module: the entry first */
    struct map made;          /* struct computation* → name of its function */
    int depth;                /* of computations */
};

/* A computation under way. */
struct export_scope {
    struct exporter *exporter;
    const struct computation *computation;
    struct leaves *leaves; /* [instruction id] */
    struct op_list ops;
};

typedef bool export_function(struct export_scope *scope, const struct instruction *instruction);

/* Always false: "instruction: message", UNIMPLEMENTED, with its place. */
bool export_refuse(struct export_scope *scope, const struct instruction *instruction,
                   const char *format, ...) __attribute__((format(printf, 3, 4)));
/* NULL and an error for what is neither array nor token, and for dynamic sizes. */
const struct mlir_type *export_type(struct export_scope *scope,
                                    const struct instruction *instruction,
                                    const struct shape *shape);
/* The types of the leaves; *count is their number. NULL on errors. */
const struct mlir_type **export_leaf_types(struct export_scope *scope,
                                           const struct instruction *instruction,
                                           const struct shape *shape, int *count);
static inline struct leaves export_leaves(struct export_scope *scope,
                                          const struct instruction *instruction)
{
    return scope->leaves[instruction->id];
}
/* The leaves of all operands, one behind the other. */
struct leaves export_operands(struct export_scope *scope, const struct instruction *instruction);

/* Adds "stablehlo.<name>" (or "dialect.name") with these operands and results; regions are empty.
 * Discardable attributes (sharding) are those of the instruction. */
struct mlir_op *export_op(struct export_scope *scope, const struct instruction *instruction,
                          const char *name, struct leaves operands, int result_count,
                          const struct mlir_type *const *types, int region_count);
/* The same with the instruction's operands and its own leaves as results, which become its value.
 * NULL on errors. */
struct mlir_op *export_plain(struct export_scope *scope, const struct instruction *instruction,
                             const char *name, int region_count);
/* The same with the leaves of another shape as results. */
struct mlir_op *export_shaped(struct export_scope *scope, const struct instruction *instruction,
                              const struct shape *shape, const char *name, int region_count);
/* What waits for an instruction that only starts something: the one use of it, an instruction of
 * opcode `done` (async-update passed through). NULL and an error if it is used in any other way, or
 * if send, recv, infeed or outfeed stand between them: then to do all of it at the start could wait
 * forever. `alone`: neither may anything else stand there that devices wait for each other in. */
const struct instruction *export_done(struct export_scope *scope, const struct instruction *start,
                                      enum opcode done, bool alone);
/* Results of an op as the value of an instruction. */
void export_bind(struct export_scope *scope, const struct instruction *instruction,
                 struct mlir_op *op);
/* Fills a region with a computation; what it gives are its root's leaves. */
bool export_region(struct export_scope *scope, struct mlir_op *op, int region,
                   const struct computation *computation);
/* The same without arguments of the block: arguments[i] is the value of parameter i. */
bool export_branch(struct export_scope *scope, struct mlir_op *op, int region,
                   const struct computation *computation, const struct leaves *arguments);
/* The name of the function that a computation is, made if need be. NULL on errors. */
const char *export_function_name(struct export_scope *scope, const struct computation *computation);

/* What the entry says of its arguments and results: shardings, frontend attributes, memory that is
 * shared or given away. */
void export_entry_attributes(struct exporter *exporter, struct mlir_op *function);

/* --- attributes --- */

void export_set_int(struct export_scope *scope, struct mlir_op *op, const char *key, int64_t value);
void export_set_bool(struct export_scope *scope, struct mlir_op *op, const char *key, bool value);
void export_set_ints(struct export_scope *scope, struct mlir_op *op, const char *key,
                     struct ints values);
/* dense<…> : tensor<rows x columns x i64>. */
void export_set_matrix(struct export_scope *scope, struct mlir_op *op, const char *key,
                       int64_t rows, int64_t columns, const int64_t *values);
void export_set_word(struct export_scope *scope, struct mlir_op *op, const char *key,
                     const char *mnemonic, const char *word);
void export_set_string(struct export_scope *scope, struct mlir_op *op, const char *key,
                       const char *text);
/* {key = "text", …} */
struct mlir_attr *export_strings(struct mlir_file *file, const struct string_map *map);
struct mlir_attr *export_sharding(struct mlir_file *file, const struct sharding *sharding);
/* array<i32: …> */
void export_set_sizes(struct export_scope *scope, struct mlir_op *op, const char *key, int count,
                      const int64_t *values);
/* #stablehlo.<mnemonic><…>, to be filled by mlir_set. */
struct mlir_attr *export_set_parameters(struct export_scope *scope, struct mlir_op *op,
                                        const char *key, const char *mnemonic);
/* #stablehlo.channel_handle<handle, type>. */
void export_set_channel(struct export_scope *scope, struct mlir_op *op, int64_t handle,
                        int64_t type);
/* precision_config of that dialect's words, where the instruction has one. */
void export_set_precision(struct export_scope *scope, struct mlir_op *op, const char *dialect,
                          const struct instruction *instruction);
/* DENSE of a literal; NULL for a type that StableHLO has not. */
struct mlir_attr *export_dense(struct export_scope *scope, const struct instruction *instruction,
                               const struct literal *literal);

#define EXPORT(opcode, token) export_function export_##token;
#include "hlo/mlir/export/export.def"

#endif
