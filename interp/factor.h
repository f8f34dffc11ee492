/* Dense factorizations in double-double (106 bits), in LAPACK's conventions.
 *
 * A matrix is row-major with complex entries; `complex` false says that all imaginary parts are
 * zero, and they stay so. Nothing is rounded here: callers round each entry once. Errors are about
 * 2^-98 times the norm of the matrix (times its condition for what is ill-conditioned), so that
 * unique results come out correctly rounded unless that decides.
 * Sources: LAPACK Users' Guide, 3rd ed. (netlib.org/lapack): storage of factors, reflectors, signs;
 * G. H. Golub, C. F. Van Loan, "Matrix Computations", 4th ed.: algorithms 5.1.1 (reflectors), 7.5.2
 * (QR with double shift), 8.3.3 (symmetric QR), 8.6.3 (one-sided Jacobi).
 * Functions return false when they do not converge (no finite matrix was seen to do so). */
#ifndef INTERP_FACTOR_H
#define INTERP_FACTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "interp/double_double.h"

struct matrix {
    int64_t rows, columns;
    bool complex;
    struct dd_complex *at;
};

/* Zeros. at == NULL when memory does not suffice. */
struct matrix matrix_make(int64_t rows, int64_t columns, bool complex);
void matrix_finish(struct matrix *matrix);
static inline struct dd_complex *matrix_entry(const struct matrix *matrix, int64_t i, int64_t j)
{
    return &matrix->at[i * matrix->columns + j];
}

/* --- factor_lu.c --- */

/* P A = L U by partial pivoting: L below the unit diagonal, U on and above it. pivots[k]: row k was
 * exchanged with that row (from 0), k < min(rows, columns). Returns LAPACK's info: 0, or 1 + the
 * index of the first pivot that is exactly zero. Pivots are compared by |re| + |im|, the first of
 * equal ones is taken. *gap: the least relative distance by which a pivot won (0: a tie after the
 * first step, where roundings decide elsewhere). */
int64_t factor_lu(struct matrix *a, int64_t *pivots, double *gap);

/* A = L Lᴴ (lower) or Uᴴ U in the given triangle; the other is not touched. Returns 0 or 1 + the
 * index of the first diagonal entry that comes out ≤ 0, where it stops. *smallest is the least
 * ratio of such an entry (before its square root) to the original diagonal. */
int64_t factor_cholesky(struct matrix *a, bool lower, double *smallest);

/* Solves a tridiagonal system as gtsv does: dl[1…n), d[0…n), du[0…n − 1); b has n rows. On return
 * d and du hold the diagonals of U and dl[1…n − 1) its second superdiagonal. Returns info. */
int64_t factor_tridiagonal_solve(int64_t n, bool complex, struct dd_complex *dl,
                                 struct dd_complex *d, struct dd_complex *du, struct matrix *b);

/* R'ᴴ R' = Rᴴ R + w wᴴ for the upper triangle R, row by row; w is used up. */
void factor_cholesky_update(struct matrix *r, struct dd_complex *w);

/* --- factor_qr.c --- */

/* How clearly each reflector's sign is decided, or NULL: for a step whose column was computed, the
 * smaller of its head's and its tail's size in terms of the norm of the whole matrix; infinite for
 * the first step and where there is no tail. Where it is near the precision of a type, an
 * implementation in that type may come out with the other sign.
 *
 * A = Q R: R on and above the diagonal, the reflectors I − τ v vᴴ below it. tau has min(rows,
 * columns) entries. */
void factor_qr(struct matrix *a, struct dd_complex *tau, double *certainty);
/* The same with column exchanges; order[j] (from 0) is the column that came to place j. Columns
 * whose order[j] is not −1 on entry come first, in their order. */
bool factor_qr_pivoted(struct matrix *a, int64_t *order, struct dd_complex *tau, double *certainty);
/* The first columns of Q = H(1) … H(count), in place of the reflectors. */
void factor_q_form(struct matrix *a, const struct dd_complex *tau, int64_t count);
/* C := Q C, Qᴴ C, C Q or C Qᴴ. */
void factor_q_apply(const struct matrix *a, const struct dd_complex *tau, int64_t count, bool left,
                    bool adjoint, struct matrix *c);
/* A = Q H Qᴴ on rows and columns [low, high): H upper Hessenberg, reflectors below. */
void factor_hessenberg(struct matrix *a, int64_t low, int64_t high, struct dd_complex *tau,
                       double *certainty);
/* The Q of factor_hessenberg. */
bool factor_hessenberg_q(const struct matrix *a, int64_t low, int64_t high,
                         const struct dd_complex *tau, struct matrix *q);
/* A = Q T Qᴴ for Hermitian A, of which one triangle is read and written; T is real with diagonal d
 * and off-diagonal e. */
void factor_tridiagonal(struct matrix *a, bool lower, struct double_double *d,
                        struct double_double *e, struct dd_complex *tau, double *certainty);

/* --- factor_eigen.c --- */

/* A = V diag(w) Vᴴ for Hermitian A (one triangle is read): w ascending, V in place of A. */
bool factor_eigen_hermitian(struct matrix *a, bool lower, struct double_double *w);
/* A = U diag(s) Vᴴ: s descending, min(rows, columns) of them. u: rows × rows or rows × min; vh:
 * columns × columns or min × columns; either may be NULL. */
bool factor_singular(const struct matrix *a, struct double_double *s, struct matrix *u,
                     struct matrix *vh);

/* --- factor_schur.c --- */

/* A = Z T Zᴴ in place of A: T upper triangular if complex, else with 2 × 2 blocks of conjugate
 * pairs on the diagonal. w: the eigenvalues. */
bool factor_schur(struct matrix *a, struct matrix *z, struct dd_complex *w);
/* Eigenvalues, and right and left eigenvectors of norm 1 as columns of complex matrices; either
 * may be NULL. The pairs of a real matrix are conjugates, that with im > 0 first. */
bool factor_eigen_general(const struct matrix *a, struct dd_complex *w, struct matrix *right,
                          struct matrix *left);

#endif
