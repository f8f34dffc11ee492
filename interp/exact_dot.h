/* Exact matrix products: C[i][j] = Σ_k A[i][k] * B[j][k], each element the exact sum of exact
 * products, rounded once to the result type. The same bits on every BLAS kernel and thread count.
 *
 * Result types of at most 32 bits: one dgemm, whose error is at most (k + 16) * 2^-53 * |row| *
 * |column| whatever its order of summation (N. J. Higham, "Accuracy and Stability of Numerical
 * Algorithms", 2nd ed., section 3.5), then a rounding test per element; what stays open is summed
 * with compensation, then in a long accumulator (exact_sum.h). f64: compensated products and sums
 * (Ogita, Rump, Oishi 2005) with the same test. NaN and infinities as IEEE 754 sums of IEEE
 * products. Sums start from +0, so an exactly zero result is +0, as with every implementation that
 * clears its accumulators; a nonzero sum that underflows keeps its sign.
 *
 * Both operands are "k-vectors": A has `rows` of them, B has `columns` of them. */
#ifndef INTERP_EXACT_DOT_H
#define INTERP_EXACT_DOT_H

#include <stdbool.h>
#include <stdint.h>

#include "hlo/types.h"

struct error;

/* Writes vectors [first, first + count), elements [k, k + depth) of an operand as doubles:
 * element (v, d) to out[v * step + d], or to out[d * step + v] if the operand is `across`.
 * Called from several threads at once, and possibly again for the same range. */
typedef void exact_dot_fill(const void *context, int64_t first, int64_t count, int64_t k,
                            int64_t depth, double *out, int64_t step);

/* Takes the finished tile: element (i, j) = values[i * step + j] belongs to row first_row + i and
 * column first_column + j and is rounded already. Called from several threads at once, for
 * disjoint tiles. */
typedef void exact_dot_emit(void *context, int64_t first_row, int64_t rows, int64_t first_column,
                            int64_t columns, const double *values, int64_t step);

struct exact_dot_operand {
    exact_dot_fill *fill;
    const void *context;
    int64_t vectors; /* rows of A, columns of B */
    bool across;     /* fill's layout: false: each vector contiguous, true: k outermost */
    bool wide;       /* elements may be no values of f32: products are not exact in double */
};

/* A stored matrix: element (v, k) at data[v * vector_stride + k * depth_stride], in elements of
 * float type `type`. */
struct exact_dot_matrix {
    const void *data;
    enum type type;
    int64_t vector_stride, depth_stride;
};
/* The operand that reads *matrix (borrowed). */
struct exact_dot_operand exact_dot_matrix_operand(const struct exact_dot_matrix *matrix,
                                                  int64_t vectors);

/* A stored result: element (i, j) at data[i * row_stride + j * column_stride] of type `type`. */
struct exact_dot_output {
    void *data;
    enum type type;
    int64_t row_stride, column_stride;
};
/* An exact_dot_emit whose context is a struct exact_dot_output. */
exact_dot_emit exact_dot_store;

/* The product; depth is the length of the k-vectors. `type`: any float type. Elements of A and B
 * are any doubles if the operand says `wide`, else values of f32 (any smaller type's are).
 * Parallel inside (pool.h). Fails only with RESOURCE_EXHAUSTED. */
bool exact_dot(enum type type, const struct exact_dot_operand *a, const struct exact_dot_operand *b,
               int64_t depth, exact_dot_emit *emit, void *emit_context, struct error *err);

/* The product as doubles, not rounded further, and how far each may be off: `emit` takes a tile of
 * sums, `emit_bounds` the same tile of bounds, which may be rounded to f32. 0 where the sum is
 * exact or not finite. For whoever goes on computing with the sums (epilogue.h): as cheap as a
 * dgemm. */
bool exact_dot_bounded(const struct exact_dot_operand *a, const struct exact_dot_operand *b,
                       int64_t depth, exact_dot_emit *emit, exact_dot_emit *emit_bounds,
                       void *emit_context, struct error *err);

/* Plain stored matrices: `batch` products in a row, operands and result advancing by the given
 * batch strides (elements). */
struct exact_dot_batch {
    int64_t count;
    int64_t a_stride, b_stride, out_stride;
};
bool exact_dot_matrices(const struct exact_dot_matrix *a, const struct exact_dot_matrix *b,
                        const struct exact_dot_output *out, int64_t rows, int64_t columns,
                        int64_t depth, const struct exact_dot_batch *batch, struct error *err);

/* Complex product of matrices of c64 or c128 (all three types equal): each part of each element is
 * the exact sum of the exact products of parts, rounded once. Strides in complex elements. */
bool exact_dot_complex(const struct exact_dot_matrix *a, const struct exact_dot_matrix *b,
                       const struct exact_dot_output *out, int64_t rows, int64_t columns,
                       int64_t depth, const struct exact_dot_batch *batch, struct error *err);

/* One dot product of doubles: Σ a[i * a_stride] * b[i * b_stride], rounded to `type`. */
double exact_dot_one(enum type type, const double *a, int64_t a_stride, const double *b,
                     int64_t b_stride, int64_t depth);

#endif
