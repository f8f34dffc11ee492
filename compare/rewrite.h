/* Rewrites of a module, on a copy: licensed ones, and one that changes no bit. */
#ifndef COMPARE_REWRITE_H
#define COMPARE_REWRITE_H

#include <stdbool.h>

struct error;
struct instruction;
struct module;

/* Rewrites one instruction if it matches (true), else leaves everything as it is. With `dry` it
 * only says whether it would. */
typedef bool rewrite_function(struct instruction *instruction, bool dry);

/* a·b ± c with one rounding: through f64, for types of at most 32 bits. Where both sides are
 * products, the first or the second one keeps its rounding. */
rewrite_function rewrite_contract_first, rewrite_contract_second;
/* The algebra of licence.h. */
rewrite_function rewrite_algebra;

/* Conversions of floats through other floats go straight: A → B → C becomes A → C, as XLA's pass
 * simplify-fp-conversions has it (xla_allow_excess_precision). */
rewrite_function rewrite_conversions;

/* A map of elementwise operations is these operations on arrays: no licence, the same bits; but
 * roundings in it can be seen, as XLA's pass map-inliner shows them to a compiler. */
rewrite_function rewrite_maps;

/* A copy with every match rewritten; NULL with *err unset when nothing matches. */
struct module *rewrite_copy(const struct module *module, rewrite_function *rewrite,
                            struct error *err);

#endif
