/* Matrix products as XLA's evaluator makes them, for fidelity=literal: the operands are converted
 * to the result type, then product after product is added in the order of k, multiplication and
 * addition rounded each: to f64 for f64, to f32 for every smaller type; the sum starts at +0 and
 * is rounded to the result type at the end.
 * Source: xla/hlo/evaluator/hlo_evaluator_typed_visitor.h (HandleDotSlowPath). */
#ifndef INTERP_ORDERED_DOT_H
#define INTERP_ORDERED_DOT_H

#include "interp/exact_dot.h"

/* The interface of exact_dot (exact_dot.h). */
bool ordered_dot(enum type type, const struct exact_dot_operand *a,
                 const struct exact_dot_operand *b, int64_t depth, exact_dot_emit *emit,
                 void *emit_context, struct error *err);

#endif
