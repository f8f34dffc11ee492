/* Factorizations: results that are unique only up to signs, phases or order, or that are as badly
 * conditioned as their matrix, judged by what they must satisfy.
 *
 * An output leaf is judged when it comes from a custom call that decomposes (interp/custom_call.h),
 * through get-tuple-element, tuple, copy, bitcast to the same dimensions, transpose, reshape,
 * opt-barrier, a slice that keeps the first so many, `select` (whose first choice is taken: JAX
 * puts NaN where a call failed) and complex(re, im). All leaves of one call are judged together, on
 * the call's operand as the golden computes it:
 *
 *   eigh    |A V − V Λ|, |Vᴴ V − 1|, Λ ascending
 *   svd     |A − U Σ Vᴴ|, |Uᴴ U − 1|, |Vᴴ V − 1|, Σ descending and ≥ 0
 *   eig     |A R − R Λ|, |Lᴴ A − Λ Lᴴ|, columns of norm 1; Λ alone: A − λ is nearly singular, Σ λ
 * is the trace schur   |A − Z T Zᴴ|, |Zᴴ Z − 1|, T triangular, or with 2 × 2 blocks qr, lu  |A − Q
 * R|, |P A − L U|
 *
 * Residuals are at most 32 n ε |A| (Frobenius norm; 32 n ε for unitary ones), n the larger
 * dimension and ε the unit in the last place of 1 of the type: the backward error that LAPACK's
 * algorithms have with room to spare (LAPACK Users' Guide, 3rd ed., section 4). Values whose
 * vectors are no outputs are held against the golden's, within the same bound (Weyl's theorem).
 * Infinite and NaN matrices are not judged. */
#ifndef COMPARE_FACTORIZATION_H
#define COMPARE_FACTORIZATION_H

#include <stdbool.h>

struct error;
struct interp_options;
struct literal;
struct module;
struct text;

enum factorization_verdict {
    FACTORIZATION_NOT_JUDGED,
    FACTORIZATION_SATISFIED, /* whatever its elements are */
    FACTORIZATION_VIOLATED,
};

/* verdicts[leaf] of the outputs `actual` (of one device), and lines of explanation. False only when
 * the golden cannot be evaluated again; all verdicts are NOT_JUDGED then. */
bool factorizations_judge(const struct module *module, struct literal *const *arguments,
                          int argument_count, const struct interp_options *options,
                          const struct literal *actual, enum factorization_verdict *verdicts,
                          struct text *explanation, struct error *err);

#endif
