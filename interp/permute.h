/* collective-permute, plain and in place. Private to the evaluator. */
#ifndef INTERP_PERMUTE_H
#define INTERP_PERMUTE_H

struct error;
struct evaluation;
struct instruction;
struct literal;
struct operands;
struct shape;

/* What this device has after the permute; `shape` is that of the result (not of the start tuple).
 */
struct literal *permute_values(struct evaluation *evaluation, const struct instruction *instruction,
                               struct operands *operands, const struct shape *shape,
                               struct error *err);

#endif
