/* The builtin dialect's encodings: what its files share. */
#ifndef HLO_MLIR_BYTECODE_BUILTIN_H
#define HLO_MLIR_BYTECODE_BUILTIN_H

#include "hlo/mlir/bytecode/bytecode.h"

/* builtin_types.c */
const struct mlir_type *builtin_type(struct cursor *cursor, uint64_t code);

/* dense.c */
struct mlir_attr *read_dense_array(struct cursor *cursor);
struct mlir_attr *read_sparse(struct cursor *cursor);

#endif
