/* Mixed precision: instructions that give another float type than they are inferred to, or move
 * operands of several into one array.
 *
 * XLA's verifier (with mixed precision allowed) accepts them, and passes that shrink float types
 * leave them. Elementwise ops and contractions compute into any type themselves; what moves data or
 * runs an embedded computation is evaluated as inferred and converted. Private to the evaluator. */
#ifndef INTERP_MIXED_H
#define INTERP_MIXED_H

#include "interp/eval.h"

/* Must the instruction be evaluated by eval_mixed? */
bool mixed_concerns(const struct instruction *instruction);
/* The evaluator of such an instruction. */
eval_function eval_mixed;

#endif
