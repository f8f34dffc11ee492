/* One-dimensional discrete Fourier transforms of any length, in double-double.
 *
 * Lengths up to 48 and not a power of two are summed as they are defined; powers of two go through
 * Stockham's radix-2 passes; all others through Bluestein's convolution (L. Bluestein, "A linear
 * filtering approach to the computation of the discrete Fourier transform", 1970).
 *
 * Errors: with |.| the Euclidean norm of a line, the error of each element of the transform of x is
 * at most `error` √n |x|, and the norm of all errors at most `error_norm` √n |x|. Twiddles come
 * from MPFR and are good to 2^-99; a complex product with one is off by at most 2^-98.5 of its
 * magnitude, a butterfly by at most ε = 2^-98 of |a| + |b| (double_double.h). So powers of two θ(n)
 * = ε log2 n for both: a pass is √2 times a unitary map as defined     each element is off by 2^-97
 * Σ |x| ≤ 2^-97 √n |x| Bluestein      with m points, C the largest magnitude in the chirp's
 * transform, K that transform over m, F the transform of x times chirp: products and transforms
 * lose (2 θ(m) + 2 ε) C |x|, errors of K at most |F| |δK| ≤ √(2n) (θ(m) + ε) |x| */
#ifndef INTERP_FFT_PLAN_H
#define INTERP_FFT_PLAN_H

#include <stdbool.h>

#include "interp/double_double.h"

struct error;

struct fft_plan {
    int64_t length; /* of the transform */
    int64_t padded; /* of Bluestein's convolution; 0 when it is not used */
    bool direct;
    struct dd_complex *roots; /* [length]: exp(-2πi k / length) */
    struct dd_complex *chirp; /* [length]: exp(-πi k² / length) */
    struct dd_complex *padded_roots;
    struct dd_complex *kernel; /* [padded]: transform of the conjugate chirp, divided by padded */
    const struct double_double_loops *loops;
    double error, error_norm;
};

bool fft_plan_init(struct fft_plan *plan, int64_t length, struct error *err);
void fft_plan_finish(struct fft_plan *plan);

/* Doubles of work space for one call: two buffers of this many points. */
int64_t fft_plan_points(const struct fft_plan *plan);

/* Transforms DD_LANES lines, data[point] as DD_POINT doubles (double_double.h), with
 * exp(-2πi jk / length); data and spare hold fft_plan_points points each. The result is in the
 * first `length` points of the one that is returned. */
double *fft_plan_run(const struct fft_plan *plan, double *data, double *spare);

#endif
