/* dgemm behind exact_dot.c: the BLAS library's, unless that is missing or found to compute wrong.
 */
#ifndef INTERP_EXACT_GEMM_H
#define INTERP_EXACT_GEMM_H

#include <stdbool.h>
#include <stdint.h>

/* A block of vectors of doubles: element (v, d) at data[v * step + d], or, across, at
 * data[d * step + v]. */
struct gemm_panel {
    const double *data;
    int64_t step;
    bool across;
};

/* out[i * out_step + j] = Σ_d a(i, d) * b(j, d), d < depth, in any order of summation and with
 * any contraction: off by at most (depth + 4) * 2^-53 * Σ |a(i, d) * b(j, d)| where nothing under-
 * or overflows. Single-threaded; call it from several threads. */
void gemm_panels(const struct gemm_panel *a, const struct gemm_panel *b, int64_t rows,
                 int64_t columns, int64_t depth, double *out, int64_t out_step);

/* From now on plain loops do it: some result was outside the bound. Old BLAS builds do that on new
 * processors. */
void gemm_distrust(void);
/* Whether it has come to that. */
bool gemm_distrusted(void);

/* The processor whose kernels OpenBLAS uses, by its own name ("Haswell"); NULL without OpenBLAS. */
const char *gemm_kernels(void);

#endif
