/* Ops on quantized tensors, which HLO has not: there they are the integers that are stored. */
#ifndef HLO_MLIR_IMPORT_QUANTIZED_H
#define HLO_MLIR_IMPORT_QUANTIZED_H

#include "hlo/mlir/import/import.h"

/* Has the op an operand or a result of a quantized type? */
bool import_is_quantized(const struct mlir_op *op);
/* Translates such an op; `translate` is what translates its opcode: on the stored integers, for ops
 * that move data and pass it on; else on the reals that they stand for, as the specification says
 * (dequantize_op_quantize and its like). */
bool import_quantized(struct scope *scope, const struct mlir_op *op, import_function *translate);

#endif
