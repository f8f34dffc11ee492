/* Custom calls: the table of targets that the golden knows, what each means and where that is
 * written. The rows are custom_calls.def; docs/custom-calls.md is made from them.
 *
 * Rows are patterns: '?' stands for one of s, d, c, z (LAPACK's letter of a type), '%' for cu or
 * hip, a trailing '*' for anything. The first row that matches counts. */
#ifndef INTERP_CUSTOM_CALL_H
#define INTERP_CUSTOM_CALL_H

#include <stdbool.h>
#include <stdint.h>

struct instruction;
struct text;

struct custom_call_info {
    const char *target; /* the pattern */
    bool evaluated;     /* false: refused by name */
    const char *text;   /* what it means, or why it is refused */
    const char *source; /* where that is written */
};

extern const int custom_call_count;
struct custom_call_info custom_call_info(int row);

/* Why the golden cannot evaluate calls of this target, or NULL when it can. */
const char *custom_call_refusal(const char *target);
/* Whether eval_custom_call can evaluate calls of this target. */
bool custom_call_is_known(const char *target);

/* About how many terms are summed up in an element of a call's result; 0 for calls that do no
 * arithmetic on floats. */
int64_t custom_call_terms(const struct instruction *call);

/* --- decompositions: results that are unique only up to signs, phases or order --- */

enum factorization {
    FACTORIZATION_NONE,
    FACTORIZATION_EIGH,  /* A V = V diag(w), Vᴴ V = 1, w ascending */
    FACTORIZATION_SVD,   /* A = U diag(s) Vᴴ, Uᴴ U = 1, Vᴴ V = 1, s descending */
    FACTORIZATION_EIG,   /* A R = R diag(w), Lᴴ A = diag(w) Lᴴ, columns of norm 1 */
    FACTORIZATION_SCHUR, /* A = Z T Zᴴ, Zᴴ Z = 1, T (quasi-)triangular */
    FACTORIZATION_QR,    /* A = H(1) … H(k) R, R over reflectors, taus */
    FACTORIZATION_LU,    /* P A = L U, pivots from 1 */
};

/* Which results of a call play which role; −1: none does. A is operand 0. */
struct factorization_roles {
    enum factorization kind;
    bool lower;        /* EIGH: the triangle of A that is read */
    int values;        /* w, s; EIG of a real matrix: real parts, with the imaginary ones behind */
    bool values_apart; /* EIG of a real matrix: so */
    int left, right;   /* EIGH: right = V; SVD: U and V; EIG: L and R; SCHUR: right = Z */
    bool adjoint;      /* SVD: right is Vᴴ */
    int form, scalars; /* SCHUR: T; QR: R over reflectors, taus; LU: LU, pivots */
};
/* False, and kind NONE, for all other targets. */
bool custom_call_factorization(const struct instruction *call, struct factorization_roles *roles);

/* The two tables in Markdown (`referee show custom-calls`). */
void custom_call_explain(struct text *out);

#endif
