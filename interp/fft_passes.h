/* Fourier transforms of arrays of double-doubles, one dimension at a time, with error bounds and
 * with the zeros that are known to be exact. */
#ifndef INTERP_FFT_PASSES_H
#define INTERP_FFT_PASSES_H

#include <stdbool.h>
#include <stdint.h>

#include "hlo/shape.h"
#include "interp/poll.h"

struct error;

enum part { RE_HIGH, RE_LOW, IM_HIGH, IM_LOW, PARTS };

/* An array of complex double-doubles, by parts. */
struct fft_field {
    int rank;
    int64_t dimensions[SHAPE_MAX_RANK];
    int64_t elements;
    double *parts[PARTS];
    unsigned char *zero; /* [elements]: whether both parts are exactly zero; NULL: none known */
};

bool fft_field_init(struct fft_field *field, const struct shape *shape, struct error *err);
void fft_field_finish(struct fft_field *field);

struct fft_pass {
    const struct fft_field *in;
    struct fft_field *out; /* may be *in, but for hermitian and find_zeros */
    int dimension;
    int64_t length; /* of that dimension, when it is whole */
    bool inverse;   /* divides by length */
    bool hermitian; /* in is half of the spectrum of a real signal */
    /* in is exact (no low parts): elements of *out that are exactly zero shall be known as such.
     * Lines of zeros stay zeros in later passes anyway. Worth it if such passes follow. */
    bool find_zeros;
    struct poll *poll;
};

/* How far the passes so far may be off, in units of √N |x| (fft_plan.h): each element, and the norm
 * of all. Begin with zeros. */
struct fft_errors {
    double of_elements, norm;
};

/* Transforms, and adds to *errors. An infinity or NaN makes NaN of all elements that it enters. */
bool fft_pass_run(const struct fft_pass *pass, struct fft_errors *errors, struct error *err);

#endif
