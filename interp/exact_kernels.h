/* The vector kernels behind exact_unary: between exact_unary.c, exact_loops.h and their tests. */
#ifndef INTERP_EXACT_KERNELS_H
#define INTERP_EXACT_KERNELS_H

#include <stdint.h>

#include "hlo/floats_layout.h"
#include "interp/exact.h"

/* Elements a kernel takes at once. */
#define EXACT_BLOCK 64
/* Relative distance kept from the rounding boundaries; four times the kernels' error bound. */
#define EXACT_KERNEL_SLACK 0x1p-44

struct exact_kernels {
    /* out = in's values rounded to the format (f32 if layout is NULL); the bits of the result tell
     * which elements are open: undecided, or beyond the kernel. in and out are distinct. */
    uint64_t (*blocks[EXACT_FUNCTION_COUNT])(const struct float_layout *layout, const double *in,
                                             double *out);
    /* The unrounded values, for tests of the error bound. */
    void (*raw[EXACT_FUNCTION_COUNT])(const double *in, double *out);
    void (*square_root)(const double *in, double *out);
};

extern const struct exact_kernels exact_kernels_level0, exact_kernels_level2, exact_kernels_level3;

/* Those of this machine's vector level. */
const struct exact_kernels *exact_kernels_here(void);

#endif
