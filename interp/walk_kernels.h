/* The inner loops of the walk engine: two dimensions at a time. Private to walk*.c. */
#ifndef INTERP_WALK_KERNELS_H
#define INTERP_WALK_KERNELS_H

#include <stdint.h>

#include "interp/walk.h"

/* m rows of n elements. Strides in elements; the kernel says what holds of them:
 * RUNS source = destination = 1; FILL source = 0, destination = 1; TRANSPOSE source_row = 1,
 * destination = 1. */
struct walk_rows {
    enum walk_kernel kernel;
    int bytes; /* of an element: 1, 2, 4, 8 or 16; addresses need not be aligned to it */
    int64_t m, n;
    int64_t source_row, destination_row;
    int64_t source, destination;
};

void walk_rows_copy(const struct walk_rows *rows, char *destination, const char *source);

#endif
