/* Dynamic dimensions: run-time sizes through the ops.
 *
 * An array of a shape with dynamic dimensions has its bounds' memory and run-time sizes
 * (literal.dynamic_sizes). Values of the golden keep the elements beyond those sizes zero and
 * unspecified. eval_computation calls the functions below around every op that has to do with
 * such a shape, so that evaluators may work on whole arrays: operands are masked before the op
 * wherever elements beyond would count, and the sizes of the result are worked out from those of
 * the operands by the rules of xla/service/dynamic_dimension_inference.cc and dynamic_padder.cc.
 * Private to the evaluator. */
#ifndef INTERP_DYNAMIC_H
#define INTERP_DYNAMIC_H

#include "interp/eval.h"

/* Is a shape with dynamic dimensions among result and operands? */
bool dynamic_concerns(const struct instruction *instruction);

/* Run-time size of a dimension. */
static inline int64_t dynamic_size(const struct literal *literal, int dimension)
{
    return literal->dynamic_sizes != NULL ? literal->dynamic_sizes[dimension]
                                          : literal->shape->dimensions[dimension];
}
/* Are there elements beyond the run-time sizes? */
bool dynamic_is_partial(const struct literal *literal);
/* The elements within the run-time sizes. */
int64_t dynamic_elements(const struct literal *literal);

/* What the op must see in place of operand i (borrowed): a retained or masked literal, or NULL with
 * *err. */
struct literal *dynamic_operand(const struct instruction *instruction,
                                const struct operands *operands, int i, struct error *err);

/* Works out the run-time sizes of the result's arrays; sizes must hold SHAPE_MAX_RANK. False when
 * the op sets them itself. */
bool dynamic_result_sizes(const struct instruction *instruction, const struct operands *operands,
                          int64_t *sizes);
/* Sets the sizes in `value` (an array, or a tuple of arrays of one rank), which must be the
 * caller's alone, and clears what lies beyond. */
bool dynamic_set_sizes(struct literal *value, const int64_t *sizes, struct error *err);
/* Some ops are evaluated on the live parts of their operands (dynamic_live.c): is it one of them,
 * has it a part to evaluate on, and its value by `evaluate` (run-time sizes set). */
bool dynamic_runs_live(enum opcode opcode);
bool dynamic_live_concerns(const struct instruction *instruction, const struct operands *operands);
struct literal *dynamic_live(struct evaluation *evaluation, eval_function *evaluate,
                             const struct instruction *instruction, const struct operands *operands,
                             struct error *err);
/* Makes the elements beyond the run-time sizes zero and unspecified. */
bool dynamic_clear_beyond(struct literal *literal, struct error *err);
/* The same for what lies outside a box of these sizes at the origin. */
bool dynamic_clear_outside(struct literal *literal, const int64_t *sizes, struct error *err);

#endif
