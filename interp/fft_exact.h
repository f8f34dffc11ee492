/* Single elements of a discrete Fourier transform, each part rounded once, when double-doubles
 * leave them open.
 *
 * A part of an element is Σ c(t) cos(2π t / M) with exact coefficients c(t): a number of the real
 * subfield of Q(ζ), ζ = exp(2πi / M). Rounding boundaries and zero are rational, so
 * 1. the coefficients are reduced to a basis of Q(ζ) over Q, in exact integers. The value is
 * rational exactly when all coefficients but that of 1 vanish; then it is rounded as what it is.
 * This is the same for all its conjugates, so it is decided once for all elements that are
 * conjugate.
 * 2. An irrational value is on no boundary: MPFR intervals of more and more bits decide it. */
#ifndef INTERP_FFT_EXACT_H
#define INTERP_FFT_EXACT_H

#include <stdbool.h>
#include <stdint.h>

#include "hlo/types.h"
#include "interp/poll.h"

enum { FFT_MOST_RANK = 3 };

/* One transform: out[k] = factor * Σ_j in[j] * exp(∓2πi Σ_d j(d) k(d) / lengths(d)), + if inverse.
 * hermitian: in is half of the spectrum of real numbers along the last dimension, and the imaginary
 * parts that it cannot have are left out. Arrays are dense, row-major. */
struct fft_definition {
    enum type type; /* of parts of the result */
    int rank;
    int64_t lengths[FFT_MOST_RANK], in_sizes[FFT_MOST_RANK], out_sizes[FFT_MOST_RANK];
    bool inverse, hermitian;
    const double *re, *im; /* the elements of in; im NULL if all are zero */
    struct poll *poll;
};

struct fft_exact;
/* Borrows *definition and its arrays. NULL if there is no memory. */
struct fft_exact *fft_exact_create(const struct fft_definition *definition);
void fft_exact_destroy(struct fft_exact *exact);

/* Part 0 (real) or 1 of element `index` of the result. False if there is no memory or the work was
 * stopped. */
bool fft_exact_element(struct fft_exact *exact, int64_t index, int part, double *value);

/* Whether that part is exactly zero. */
bool fft_exact_is_zero(struct fft_exact *exact, int64_t index, int part, bool *zero);

#endif
