/* For tests of linear algebra: matrices of literals as C's complex numbers. */
#ifndef TESTS_INTERP_CUSTOM_CALL_MATRICES_H
#define TESTS_INTERP_CUSTOM_CALL_MATRICES_H

#include <complex.h>

#include "custom_call_reference.h"

__attribute__((unused)) static const char *const real_types[] = {"f32", "f64"};
__attribute__((unused)) static const char *const letters[] = {"s", "d", "c", "z"};

__attribute__((unused)) static double complex at(const struct literal *m, int64_t index)
{
    bool is_complex = type_is_complex(m->shape->type);
    return literal_get_double(m, index) +
           (is_complex ? literal_get_imaginary(m, index) * (double complex)I : 0);
}

/* Is Σ_k a[i,k] b[k,j] − c near 0 everywhere? Sizes m × k × n; b_adjoint: conj(b[j,k]). */
__attribute__((unused)) static double product_error(const struct literal *a,
                                                    const struct literal *b, bool b_adjoint,
                                                    const double complex *c, int64_t m, int64_t k,
                                                    int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            double complex sum = 0;
            for (int64_t l = 0; l < k; l++) {
                sum += at(a, i * k + l) * (b_adjoint ? conj(at(b, j * k + l)) : at(b, l * n + j));
            }
            most = fmax(most, cabs(sum - c[i * n + j]));
        }
    }
    return most;
}

__attribute__((unused)) static void fill_matrix(struct literal *a, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed);
    fill_random(a, &rng, 1);
}

__attribute__((unused)) static const char *const wide_types[] = {"f64", "c128"};

__attribute__((unused)) static double orthogonality(const struct literal *q, int64_t rows,
                                                    int64_t columns)
{
    double most = 0;
    for (int64_t i = 0; i < columns; i++) {
        for (int64_t j = 0; j < columns; j++) {
            double complex sum = i == j ? -1 : 0;
            for (int64_t k = 0; k < rows; k++) {
                sum += conj(at(q, k * columns + i)) * at(q, k * columns + j);
            }
            most = fmax(most, cabs(sum));
        }
    }
    return most;
}

#endif
