/* Inside factorization.c: dense matrices in double, and the residuals of each kind of
 * factorization.
 */
#ifndef COMPARE_RESIDUALS_H
#define COMPARE_RESIDUALS_H

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

#include "interp/custom_call.h"

struct literal;

/* A matrix, or a vector as one column; row-major; at is owned, NULL: there is none. */
struct matrix {
    int64_t rows, columns;
    double complex *at;
};

/* Matrix `batch` of a literal that holds so many (vector: one column). */
struct matrix matrix_load(const struct literal *from, int64_t batches, int64_t batch, bool vector);
struct matrix matrix_adjoint(const struct matrix *m);
/* The Frobenius norm of a − b (b NULL: of a); NaN if there is one. */
double matrix_distance(const struct matrix *a, const struct matrix *b);

struct judge {
    double bound;     /* multiple of n ε */
    double norm;      /* of A */
    double worst;     /* residual / what is allowed, so far; infinite for NaN and wrong orders */
    const char *what; /* the worst one */
    bool any;
};

/* A, and what plays which role in one batch; at == NULL: not an output. right: V (not its adjoint),
 * R or Z. */
struct factors {
    struct matrix a, values, left, right, form, scalars, golden_values;
};

/* Adds the residuals of a kind. lower: the triangle of a Hermitian A; real: 2 × 2 blocks may be. */
void residuals_judge(struct judge *judge, enum factorization kind, const struct factors *factors,
                     bool lower, bool real);

#endif
