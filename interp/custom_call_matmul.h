/* Inside custom_call*.c: a matrix product as the sum of an epilogue. */
#ifndef INTERP_CUSTOM_CALL_MATMUL_H
#define INTERP_CUSTOM_CALL_MATMUL_H

#include "interp/custom_call_config.h"
#include "interp/custom_call_internal.h"
#include "interp/epilogue.h"

/* Dimensions as dot_dimension_numbers has them, and how elements are found. */
struct matmul {
    const struct literal *lhs, *rhs;
    int batch_count, contracting_count;
    int64_t lhs_batch[SHAPE_MAX_RANK], rhs_batch[SHAPE_MAX_RANK];
    int64_t lhs_contracting[SHAPE_MAX_RANK], rhs_contracting[SHAPE_MAX_RANK];
    /* Filled by matmul_finish: the result's dimensions (batch, lhs free, rhs free). */
    int rank;
    int64_t dimensions[SHAPE_MAX_RANK];
    int64_t lhs_strides[SHAPE_MAX_RANK], rhs_strides[SHAPE_MAX_RANK];
    int64_t sizes[SHAPE_MAX_RANK]; /* of contracting dimensions */
    int64_t lhs_steps[SHAPE_MAX_RANK], rhs_steps[SHAPE_MAX_RANK];
};

/* Reads the lists of the section's dot_dimension_numbers, or of another key with the same proto. */
bool matmul_read(struct matmul *matmul, struct config *config, struct error *err);
bool matmul_read_as(struct matmul *matmul, struct config *config, const char *key,
                    struct error *err);
/* Checks the lists against the operands and fills the rest. */
bool matmul_finish(struct matmul *matmul, const struct instruction *instruction, struct error *err);

/* The products of one element; an epilogue_products on a struct matmul. Real types only. */
epilogue_products matmul_products;

/* Runs the dot or convolution of the call for the sums of an epilogue: rounded to the type of its
 * shape or, f64 ones and `bounded`, not rounded further and with bounds. Both are the epilogue's
 * then; release them by epilogue_release. False: *err is set. */
bool epilogue_take_sums(struct epilogue *epilogue, struct inner_call *call, bool bounded,
                        struct evaluation *evaluation, struct literal *const values[2],
                        struct error *err);
void epilogue_release(struct epilogue *epilogue);

/* Such sums of the product, of type epilogue_sum_type or f64. */
bool matmul_sums(const struct matmul *matmul, struct evaluation *evaluation,
                 const struct instruction *instruction, enum type type, struct epilogue *epilogue,
                 struct error *err);
/* The product as dot evaluates it, of a shape with the result's dimensions. */
struct literal *matmul_dot(const struct matmul *matmul, struct evaluation *evaluation,
                           const struct instruction *instruction, const struct shape *shape,
                           struct error *err);
/* The type in which sums are wanted for results of a type: f32 where its 24 bits leave few results
 * open, else f64. */
enum type epilogue_sum_type(enum type result);

#endif
