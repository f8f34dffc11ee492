/* Numbers of the values and blocks of a file, in the order of its text, for the printer and for the
 * comparison: values of one file correspond to those of another if they have the same numbers. */
#ifndef HLO_MLIR_NUMBERS_H
#define HLO_MLIR_NUMBERS_H

#include "hlo/mlir/ir.h"

struct mlir_numbers {
    struct map ops;       /* struct mlir_op* with results → its number + 1 */
    struct map arguments; /* struct mlir_block* → the number of its first argument + 1 */
    struct map blocks;    /* struct mlir_block* → its number in its region + 1 */
};

/* Functions and modules, which isolate their names, have numbers beyond all of what is around them,
 * but may have those of their neighbours: MLIR's parser sees no isolation in generic form. */
void mlir_numbers_init(struct mlir_numbers *numbers, const struct mlir_op *op);
void mlir_numbers_finish(struct mlir_numbers *numbers);
/* −1: the value or block is not in the file. */
int64_t mlir_number_of_value(const struct mlir_numbers *numbers, const struct mlir_value *value);
int64_t mlir_number_of_block(const struct mlir_numbers *numbers, const struct mlir_block *block);

#endif
