/* Integer matrix products modulo 2^32 or 2^64, exact and the same in any order.
 *
 * The interface is that of exact_dot (exact_dot.h), but the memory that operands fill and emit
 * gets holds uint32_t or uint64_t lanes; steps count lanes. */
#ifndef INTERP_INTEGER_DOT_H
#define INTERP_INTEGER_DOT_H

#include "interp/exact_dot.h"

/* wide: lanes of 64 bits. Parallel inside. Fails only with RESOURCE_EXHAUSTED. */
bool integer_dot(bool wide, const struct exact_dot_operand *a, const struct exact_dot_operand *b,
                 int64_t depth, exact_dot_emit *emit, void *emit_context, struct error *err);

#endif
