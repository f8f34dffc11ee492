/* A convolution as matrix products: how patches of the input and columns of the kernel are read.
 *
 * Row r of the product is one output position (a batch and a place in each spatial dimension),
 * column j one output feature of the group, k one pair of a kernel tap and an input feature:
 *
 *   output[row][j] = Σ_k patch[row][k] * kernel[j][k]
 *
 * Nothing is materialised: the product asks for blocks of patches (exact_dot_fill), which are read
 * from the input as it lies. k runs over taps, then features, as in XLA's evaluator; how a block is
 * filled depends on what is contiguous:
 *   pixels  the features under a tap (NHWC, dim_labels b01f): patch by patch
 *   planes  neighbouring rows (NCHW, or a gradient's batch): k by k
 * Complex values are pairs of reals: each k becomes two, each output feature two columns, with
 * re = Σ (re * re − im * im) and im = Σ (re * im + im * re).
 * Source: xla/service/shape_inference.cc (InferConvolveShape), StableHLO specification. */
#ifndef INTERP_CONVOLUTION_PLAN_H
#define INTERP_CONVOLUTION_PLAN_H

#include "hlo/attr.h"
#include "interp/contract.h"

struct evaluation;
struct literal;
struct instruction;
struct operands;

/* One spatial dimension. Strides in elements of the part type. */
struct convolution_dimension {
    int64_t input_size, output_size, kernel_size;
    int64_t stride, padding, tap_step, hole_step; /* hole_step: base (lhs) dilation */
    bool reversal;
    int64_t input_stride, kernel_stride, output_stride;
};

struct convolution {
    struct contract_format format;
    enum type input_type, kernel_type; /* part types */
    const char *input, *kernel;
    char *output;
    float *bounds; /* NULL, or of elements like the output's: how far each sum may be off */
    int parts;     /* 2: complex */
    int rank;      /* spatial */
    struct convolution_dimension dimensions[SHAPE_MAX_RANK];
    int64_t batches; /* of the output */
    int64_t input_batch_stride, output_batch_stride;
    int64_t group_features; /* input features of one group */
    int64_t input_feature_stride, kernel_input_stride;
    int64_t feature_groups, batch_groups;
    int64_t output_features; /* all */
    int64_t kernel_output_stride, output_feature_stride;
};

/* Operand 0 or 1 (`right`) as a whole array, owned: the operand itself, or what its sparsity_config
 * says that it stands for. NULL with *err. */
struct literal *convolution_dense(const struct instruction *instruction,
                                  const struct operands *operands, bool right, struct error *err);

/* The sums of a convolution of f64 result as doubles that are not rounded further, and in *bounds
 * (f32, owned) how far each may be off (exact_dot_bounded). NULL with *err. */
struct literal *convolution_bounded(struct evaluation *evaluation,
                                    const struct instruction *instruction,
                                    struct operands *operands, struct literal **bounds,
                                    struct error *err);

/* Reads the instruction's numbers; shapes are as the instruction has them, element types as given.
 * False with *err for what is not supported. */
bool convolution_describe(struct convolution *convolution, const struct instruction *instruction,
                          const struct literal *input, const struct literal *kernel,
                          struct literal *output, struct error *err);

/* Marks the NaN of a result that come of padding or holes (convolution_holes.c). `dense`: the
 * operands; `again` evaluates on others, in f32. */
bool convolution_mark_holes(const struct instruction *instruction, struct literal *const dense[2],
                            contract_again *again, struct literal *result, struct error *err);

int64_t convolution_rows(const struct convolution *convolution);
int64_t convolution_taps(const struct convolution *convolution);

/* A dimension in which each output position has exactly one tap, and the kernel several; −1: there
 * is none (convolution_taps.c). */
int convolution_single_taps(const struct convolution *convolution);
/* The convolution at one output position of such a dimension, which then has size 1. */
struct convolution convolution_at(const struct convolution *convolution, int dimension,
                                  int64_t position);

/* No NaN and no infinity among a literal's floats. */
bool convolution_all_finite(const struct literal *literal);

/* Evaluates all groups by products. Fails only with RESOURCE_EXHAUSTED. */
bool convolution_by_products(const struct convolution *convolution, struct error *err);

/* Whether convolution_depthwise takes it: one input feature a group, float types up to 32 bits. */
bool convolution_is_depthwise(const struct convolution *convolution);
bool convolution_depthwise(const struct convolution *convolution, struct error *err);

#endif
