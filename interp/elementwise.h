/* Elementwise instructions on whole literals. Private to the evaluators. */
#ifndef INTERP_ELEMENTWISE_H
#define INTERP_ELEMENTWISE_H

#include "interp/eval.h"
#include "interp/lanes.h"

/* The literal to write the result of an elementwise op to: the memory of an operand that dies here
 * and whose elements have the same size, else a new one. Operands that were taken are NULL
 * afterwards, but their data is where it was. */
struct literal *elementwise_result(const struct shape *shape, struct operands *operands,
                                   struct error *err);

/* The step over the operands' arrays (one-element operands are repeated), with their marks. */
struct literal *elementwise_apply(const struct lane_step *step, const struct shape *shape,
                                  struct operands *operands, struct error *err);

/* `from` as an array of another type, its marks kept; retained when it has the type already. For
 * XLA's mixed precision, where a computation takes other floats than it is given. */
struct literal *elementwise_convert(const struct literal *from, enum type type, struct error *err);

/* Marks the elements of `to` (integers) whose float operand has no integer to become: NaN, or out
 * of range (choices.h). */
void convert_mark_open(const struct literal *from, struct literal *to);

#endif
