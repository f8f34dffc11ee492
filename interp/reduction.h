/* Reduction of whole arrays, element by element: what all-reduce does to its devices' operands.
 * Private to the evaluator. */
#ifndef INTERP_REDUCTION_H
#define INTERP_REDUCTION_H

struct error;
struct evaluation;
struct instruction;
struct literal;

/* values[0] ∘ values[1] ∘ … for each element, where ∘ is the computation that `instruction` applies
 * (two scalar parameters of the elements' type). Known monoids go through the evaluator of reduce:
 * sums are exact and rounded once. Other programs are applied in order. All values have one shape;
 * count ≥ 1. */
struct literal *reduce_values(struct evaluation *evaluation, const struct instruction *instruction,
                              struct literal *const *values, int count, struct error *err);

#endif
