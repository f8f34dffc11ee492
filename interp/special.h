/* Special functions, correctly rounded, and the composite calls that stand for them.
 *
 * As in exact.h every result is the exact value rounded once to the type. What they are where the
 * mathematical function has a pole or no value follows CHLO (ChloOps.td, and how XLA expands its
 * ops):
 *
 * bessel_i1e(x)   exp(−|x|) I₁(x); 0 with the sign of x at infinity
 * digamma(x)      Γ'(x) / Γ(x); NaN at 0, −1, −2, … and −∞
 * erf_inv(x)      the y with erf(y) = x; ±∞ at ±1, NaN beyond
 * erfc(x)         1 − erf(x)
 * lgamma(x)       log |Γ(x)|; +∞ at 0, −1, −2, … and ±∞
 * zeta(s, q)      Σ (q + k)^−s over k ≥ 0 (Hurwitz): +∞ at s = 1, NaN for s < 1; of q ≤ 0 NaN
 * unless s is an integer; at the poles q = 0, −1, −2, … +∞ if s is even, otherwise NaN polygamma(n,
 * x) the n-th derivative of digamma, (−1)^(n+1) n! zeta(n + 1, x); NaN unless n is 0, 1, 2, …; of n
 * = 0 digamma
 *
 * NaN operands give NaN. Limits at infinite operands are those of the function: zeta(s, ∞) = 0. */
#ifndef INTERP_SPECIAL_H
#define INTERP_SPECIAL_H

#include <stdint.h>

#include "hlo/module.h"
#include "interp/lanes.h"

enum special_function {
#define SPECIAL(id, name, arity) SPECIAL_##id,
#include "interp/special.def"
    SPECIAL_COUNT
};

/* What a call is a composite of: is_composite=true, composite.name is in the table, and operands
 * and result are arrays of one float type and shape. SPECIAL_COUNT for everything else. */
enum special_function special_of_call(const struct instruction *instruction);

/* The step of a call that is a composite of a special function, or of one of complex numbers that
 * the table has; false if it is neither. */
bool special_call_step(const struct instruction *instruction, struct lane_step *step);

/* Is it such a call? */
bool special_is_call(const struct instruction *instruction);

/* out[i] = function(in[0][i], in[1][i]); values of the type, as doubles. out may be in[k]. */
void special_apply(enum special_function function, enum type type, const double *const *in,
                   double *out, int64_t count);

#endif
