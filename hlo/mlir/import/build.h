/* What the translations of StableHLO's larger ops share: attributes of MLIR into those of HLO,
 * reducers, windows, groups of devices. Everything made lives in the arena of the module; what
 * fails fills importer->err at the op. */
#ifndef HLO_MLIR_IMPORT_BUILD_H
#define HLO_MLIR_IMPORT_BUILD_H

#include "hlo/mlir/import/import.h"

/* The operands, once the op has as many operands, results and regions as it takes; −1: one or
 * more. NULL on errors. */
struct instruction **build_operands(struct scope *scope, const struct mlir_op *op, int operands,
                                    int results, int regions);
/* Ends an instruction that gives all results of the op: the shape is inferred where none was given
 * (of contractions, with the element type of the op's result); binds the results. */
bool build_finish(struct scope *scope, const struct mlir_op *op, struct instruction *instruction);
/* The shape of all results: one's own, or a tuple of them. inferred[i] may be NULL, and so may
 * `inferred`. NULL on errors. */
const struct shape *build_results_shape(struct scope *scope, const struct mlir_op *op,
                                        const struct shape *const *inferred);

/* --- instructions --- */

/* The same values as that type; `from` itself if it has it. */
struct instruction *build_convert(struct scope *scope, const struct mlir_op *op,
                                  struct instruction *from, enum type type);
/* The same, if the type is of the same kind and has no fewer bits (is_promotable in the
 * specification); else NULL and an error. */
struct instruction *build_promote(struct scope *scope, const struct mlir_op *op,
                                  struct instruction *from, enum type type);
struct instruction *build_reshape(struct scope *scope, const struct mlir_op *op,
                                  struct instruction *from, int rank, const int64_t *sizes);
/* Dimension i of the result is dimension order[i] of `from`; `from` itself if nothing moves. */
struct instruction *build_transpose(struct scope *scope, const struct mlir_op *op,
                                    struct instruction *from, const int64_t *order);
/* get-tuple-element. */
struct instruction *build_element(struct scope *scope, const struct mlir_op *op,
                                  struct instruction *tuple, int index);
/* tuple(operands…). */
struct instruction *build_tuple(struct scope *scope, const struct mlir_op *op, int count,
                                struct instruction *const *elements);
/* 0 (or `value`) everywhere. */
struct instruction *build_fill(struct scope *scope, const struct mlir_op *op,
                               const struct shape *shape, double value);
/* A one-dimensional constant. */
struct instruction *build_ints(struct scope *scope, const struct mlir_op *op, enum type type,
                               int count, const int64_t *values);
/* A computation of two scalars: their sum, or of preds whether one holds. */
struct computation *build_sum(struct scope *scope, const struct mlir_op *op, enum type type);

/* Is the value a token? An error at the op if not. */
bool build_is_token(struct scope *scope, const struct mlir_op *op, const struct instruction *value);

/* --- regions --- */

/* Region `region` as a reducer of `count` values: a computation of 2·count scalars. types[0..count)
 * are the element types of its accumulators: what it reduces is converted to them first, as the
 * specification says. */
struct computation *build_reducer(struct scope *scope, const struct mlir_op *op, int region,
                                  int count, enum type *types);

/* --- attributes --- */

/* The parameters of #stablehlo.<mnemonic><…>; NULL and an error if it is absent or another. */
const struct mlir_dictionary *build_parameters(struct scope *scope, const struct mlir_op *op,
                                               const char *key, const char *mnemonic);
/* One of the parameters; absent ones leave the value as it is. */
bool build_ints_parameter(struct scope *scope, const struct mlir_op *op,
                          const struct mlir_dictionary *parameters, const char *key,
                          struct ints *values);
bool build_int_parameter(struct scope *scope, const struct mlir_op *op,
                         const struct mlir_dictionary *parameters, const char *key, int64_t *value);

/* A BOOL, true for a UNIT; false if absent or neither. */
bool build_flag(const struct mlir_op *op, const char *key);
/* precision_config → operand_precision. */
bool build_precision(struct scope *scope, const struct mlir_op *op,
                     struct instruction *instruction);

/* The parts of a window, each one entry a dimension (padding: two); those that are empty say what
 * holds by default. */
struct window_parts {
    struct ints sizes, strides, padding, base_dilations, window_dilations, reversal;
};
bool build_window(struct scope *scope, const struct mlir_op *op, struct instruction *instruction,
                  int rank, const struct window_parts *parts);

/* --- groups.c: devices --- */

/* The channel of channel_handle; 0: none. */
bool build_channel(struct scope *scope, const struct mlir_op *op, int64_t *channel);
/* replica_groups: lists, or axes of a mesh. NULL on errors. */
struct groups *build_groups(struct scope *scope, const struct mlir_op *op);
/* source_target_pairs; empty if absent. */
bool build_pairs(struct scope *scope, const struct mlir_op *op, struct ints *pairs);

#endif
