/* Canonical form: what a module computes without its names, sizes and values, as one line. Two
 * modules with the same form are of the same kind: what goes wrong in one for its opcodes and types
 * goes wrong in the other.
 *
 *   dynamic-slice(dynamic-slice(s32, s32), s32)
 *   convert:f16(f64)                       the element type where it is not the first operand's
 *   multiply(exponential(f32) #1, #1)      what is used more than once has a number
 *   reduce{maximum(f32, f32)}(f32, f32)    computations that are called
 *   reduce-window[negative pad]{add(f32, f32)}(f32, f32)
 *
 * Parameters and constants are their element types. Operands of operations that commute are in one
 * order, whichever they had. Of attributes there is what changes the kind of the operation: flags
 * and words that are not as by default, what windows and paddings have that not all have, custom
 * calls' targets. */
#ifndef COMPARE_CANONICAL_H
#define COMPARE_CANONICAL_H

struct instruction;
struct module;
struct text;

/* The form of the entry. What is longer than a few thousand bytes ends with "… #HASH". */
void canonical_print(const struct module *module, struct text *out);
/* The opcode, its features and types: "convert:f16(f64)", "reduce{maximum(f32, f32)}(f32, f32)". */
void canonical_print_instruction(const struct instruction *instruction, struct text *out);

#endif
