/* Inside custom_call_solver*.c: matrices of literals, batch by batch. */
#ifndef INTERP_CUSTOM_CALL_SOLVER_H
#define INTERP_CUSTOM_CALL_SOLVER_H

#include "interp/custom_call_internal.h"
#include "interp/factor.h"

enum { SOLVER_PARTS = 8 };

/* One custom call: its results, made whole at the start. */
struct solver {
    const struct instruction *instruction;
    const struct operands *operands;
    struct literal *parts[SOLVER_PARTS];
    int part_count;
    int batch_rank; /* leading dimensions of all operands and results */
    int64_t batches;
    enum type type; /* of the matrices */
    bool complex;
    double epsilon;   /* 2^-p of the type: the half unit in the last place of 1 */
    int64_t exponent; /* of the current matrix: it was scaled by 2^-exponent */
    bool finite;      /* the current matrix (vectors and others included) is */
    bool failed;      /* no memory, or no convergence: *err says which */
    struct error *err;
};

/* Operand 0 is a batch of matrices (or vectors: tail_rank 1). False with *err if it is not. */
bool solver_begin(struct solver *solver, const struct instruction *instruction,
                  const struct operands *operands, int tail_rank, struct error *err);
/* The same for matrices of floats or complex numbers, and nothing else. */
bool solver_begin_floats(struct solver *solver, const struct instruction *instruction,
                         const struct operands *operands, struct error *err);
/* Below this, in matrices of size n, a decision (a pivot, a sign) is not one: half units in the
 * last place of the type. */
double solver_doubt(const struct solver *solver, int64_t n);
/* Operand i: a batch of that tail (−1: any size). */
bool solver_operand(struct solver *solver, int i, enum type type, int tail_rank, int64_t first,
                    int64_t second);
/* Declares and makes result `part`: a batch of tails of that type. */
bool solver_result(struct solver *solver, int part, enum type type, int tail_rank, int64_t first,
                   int64_t second);
/* Size of dimension i (0 or 1) behind the batch dimensions of an operand or result. */
int64_t solver_size(const struct solver *solver, const struct literal *literal, int i);
/* The result; releases everything when the call failed. */
struct literal *solver_finish(struct solver *solver);

/* Reads matrix `batch` (tail_rank 2) or vector (one column) of an operand; scaled by
 * 2^-solver->exponent, which the first call of a batch chooses (`scale` true), so that powers
 * neither overflow nor vanish. Sets solver->finite to false on NaN and infinities. */
bool solver_load(struct solver *solver, const struct literal *from, int64_t batch, bool scale,
                 struct matrix *matrix);
/* Rounds into place, times 2^exponent. vector: `matrix` has one column. */
void solver_store(struct solver *solver, int part, int64_t batch, const struct matrix *matrix,
                  int64_t exponent);
void solver_store_entries(struct solver *solver, int part, int64_t batch,
                          const struct dd_complex *values, int64_t count, int64_t exponent);
void solver_store_reals(struct solver *solver, int part, int64_t batch,
                        const struct double_double *values, int64_t count, int64_t exponent);
void solver_store_integer(struct solver *solver, int part, int64_t batch, int64_t index,
                          int64_t value);
/* Marks a batch of a result as unspecified; `not_a_number`: sets it to NaN (integers: 0) first. */
void solver_open(struct solver *solver, int part, int64_t batch, bool not_a_number);
/* Elements [first, first + count) of a batch of a result, and every element of row or column ≥ k of
 * a matrix. */
void solver_open_entries(struct solver *solver, int part, int64_t batch, int64_t first,
                         int64_t count);
void solver_open_from(struct solver *solver, int part, int64_t batch, int64_t k);
/* The whole batch of every result is NaN and unspecified (not finite, or not converged). */
void solver_open_all(struct solver *solver, int64_t batch);

/* The triangle that an attribute `uplo` ('L'/'U') or `lower` names. */
bool solver_is_lower(const struct instruction *instruction);

#endif
