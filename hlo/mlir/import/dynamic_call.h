/* Custom calls about dynamic shapes. */
#ifndef HLO_MLIR_IMPORT_DYNAMIC_CALL_H
#define HLO_MLIR_IMPORT_DYNAMIC_CALL_H

#include "hlo/mlir/import/import.h"

/* Translates a custom call that stands for an op with dynamic shapes, is about shapes, or has
 * shapes of its results among its operands (indices_of_shape_operands). *handled: it was one; else
 * nothing was done. False on errors. */
bool import_dynamic_call(struct scope *scope, const struct mlir_op *op, const char *target,
                         bool *handled);

#endif
