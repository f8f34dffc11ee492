/* Twins: copies of an op to change and translate in its place, as the static form of a dynamic op,
 * or the float form of a quantized one. They live in the arena of the file. */
#ifndef HLO_MLIR_IMPORT_TWIN_H
#define HLO_MLIR_IMPORT_TWIN_H

#include "hlo/mlir/import/import.h"

/* A copy with operands, results and attributes of its own; regions are shared. */
struct mlir_op *twin_of(struct scope *scope, const struct mlir_op *op);
/* Takes the attribute away, if it is there. */
void twin_remove_attr(struct mlir_op *twin, const char *key);
/* array<i64: …>. */
void twin_set_ints(struct scope *scope, struct mlir_op *twin, const char *key, struct ints values);
/* Takes operand `index` away. */
void twin_remove_operand(struct mlir_op *twin, int index);
/* Gives result `index` the sizes; false and an error if they are no sizes of it. */
bool twin_set_sizes(struct scope *scope, struct mlir_op *twin, int index, struct ints sizes);
/* Translates the twin, and gives the op's results what the twin's have. */
bool twin_translate(struct scope *scope, const struct mlir_op *op, struct mlir_op *twin,
                    import_function *translate);

/* The shape of an array of `type` with sizes that a program computed; NULL and an error if it is
 * none. */
const struct shape *import_computed_shape(struct scope *scope, const struct mlir_op *op,
                                          enum type type, struct ints sizes);

#endif
