/* Where noise enters: which results round, which operands are summed or multiplied up
 * (interp_options.noise). Private to the evaluator. */
#ifndef INTERP_NOISE_H
#define INTERP_NOISE_H

#include <stdbool.h>

struct instruction;
struct literal;
struct interp_options;
struct error;

/* Does the op round its float result (and not only move, compare or select)? */
bool noise_on_result(const struct instruction *instruction);
/* The same under options->noise_everywhere: every op that has a float result of its own. */
bool noise_on_any_result(const struct instruction *instruction);
/* Does it combine many elements with rounding inside, so that noise belongs on its operands? */
bool noise_on_operands(const struct instruction *instruction);

/* Is the result none that noise moves, unless it goes everywhere? */
bool noise_never_on_result(const struct instruction *instruction);
/* Is there nothing that noise could move, everywhere or not: no float in result and operands? */
bool noise_never_near(const struct instruction *instruction);

/* Lets options->noise move the float elements of a value: an array, or the leaves of a tuple, which
 * must be the caller's alone. */
void noise_apply(const struct interp_options *options, const struct instruction *instruction,
                 bool on_result, int operand, struct literal *value);
/* Whether there is a float among the leaves. */
bool noise_concerns(const struct literal *value);

#endif
