/* Between the files of cholesky and triangular-solve: elements, marks, and what the exact paths
 * (linalg_exact.c) are asked for. */
#ifndef INTERP_LINALG_INTERNAL_H
#define INTERP_LINALG_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "hlo/literal.h"
#include "interp/double_double.h"
#include "interp/poll.h"

/* Reads one element as doubles. */
static inline void linalg_read(const struct literal *literal, int64_t index, double value[2])
{
    value[0] = literal_get_double(literal, index);
    value[1] = type_is_complex(literal->shape->type) ? literal_get_imaginary(literal, index) : 0;
}

/* Stores an element whose parts are rounded already. */
static inline void linalg_write(struct literal *literal, int64_t index, const double value[2])
{
    if (type_is_complex(literal->shape->type)) {
        literal_set_complex(literal, index, value[0], value[1]);
    } else {
        literal_set_double(literal, index, value[0]);
    }
}

bool linalg_is_supported(const struct shape *shape);

/* Marks the elements of the matrices of `result` whose matrix in `operand` has a marked one. */
void linalg_spread(const struct literal *operand, struct literal *result, int64_t matrices);

/* Bits of an element of `open`. */
enum { OPEN_RE = 1, OPEN_IM = 2 };

enum exact_outcome { EXACT_DONE, EXACT_INDEFINITE, EXACT_NO_MEMORY, EXACT_STOPPED };

/* One Hermitian matrix: its lower triangle, row-major n × n; im NULL when it is real. */
struct hermitian {
    enum type type; /* of parts of the factor */
    int64_t size;
    const double *re, *im;
    bool definite; /* it is known to be positive definite */
    struct poll *poll;
};
/* Computes the elements (i, j), j ≤ i, of the Cholesky factor that are open: values[2 * (i * n +
 * j)] and the next are their parts. INDEFINITE: there is no factor. All elements are finite. */
enum exact_outcome cholesky_exactly(const struct hermitian *a, unsigned char *open, double *values);

/* One triangular system T x = b: T row-major n × n with zeros beyond its triangle; im NULL when
 * real; b as pairs of parts. All elements are finite and the diagonal is nonzero. */
struct triangular_system {
    enum type type; /* of parts of x */
    int64_t size;
    bool lower, unit;
    const double *re, *im;
    const double *b;
    struct poll *poll;
};
/* Computes the elements of x that are open, as pairs of parts. */
enum exact_outcome solve_exactly(const struct triangular_system *system, unsigned char *open,
                                 double *values);

#endif
