/* Between batchnorm.c, which decides nearly all elements in double-double, and batchnorm_exact.c,
 * which settles the rest. */
#ifndef INTERP_BATCHNORM_INTERNAL_H
#define INTERP_BATCHNORM_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "hlo/literal.h"
#include "interp/poll.h"

enum normalization_kind { NORMALIZE_TRAINING, NORMALIZE_INFERENCE, NORMALIZE_GRADIENT };

/* The arrays of one op; [outer][features][inner] are the dimensions around the feature index. */
struct normalization {
    enum normalization_kind kind;
    const struct literal *x, *scale, *offset, *mean, *variance, *gradient; /* NULL: not given */
    int64_t outer, features, inner;
    double epsilon;
    enum type type;
    struct literal *results[3];
    struct poll *poll;
    bool failed; /* no memory; written by any thread, only to true */
};

static inline int64_t normalization_place(const struct normalization *norm, int64_t feature,
                                          int64_t i)
{
    return (i / norm->inner * norm->features + feature) * norm->inner + i % norm->inner;
}

/* Computes the elements of one feature that are still open: element i of the large result where
 * open[i] is set (it is cleared), and of the results 1 and 2 where `vectors` has the bit of that
 * number. */
void normalization_settle(struct normalization *norm, int64_t feature, unsigned char *open,
                          int vectors);

#endif
