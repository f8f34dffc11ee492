/* Between integer_dot.c and its vector loops. */
#ifndef INTERP_INTEGER_DOT_INTERNAL_H
#define INTERP_INTEGER_DOT_INTERNAL_H

#include <stdint.h>

/* c[i * c_step + j] += Σ_k a[i * a_step + k] * b[k * b_step + j], i < rows, j < columns, k < depth.
 * Rows and columns are multiples of INTEGER_ROWS and INTEGER_COLUMNS. */
struct integer_loops {
    void (*narrow)(const uint32_t *a, int64_t a_step, const uint32_t *b, int64_t b_step,
                   uint32_t *c, int64_t c_step, int64_t rows, int64_t columns, int64_t depth);
    void (*wide)(const uint64_t *a, int64_t a_step, const uint64_t *b, int64_t b_step, uint64_t *c,
                 int64_t c_step, int64_t rows, int64_t columns, int64_t depth);
};

enum { INTEGER_ROWS = 4, INTEGER_COLUMNS = 32 };

extern const struct integer_loops integer_loops_level0, integer_loops_level2, integer_loops_level3;

#endif
