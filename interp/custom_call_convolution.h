/* Inside custom_call*.c: a convolution, or a gradient of one, as the sum of an epilogue. */
#ifndef INTERP_CUSTOM_CALL_CONVOLUTION_H
#define INTERP_CUSTOM_CALL_CONVOLUTION_H

#include "interp/custom_call_matmul.h"

enum conv_kind { CONV_FORWARD, CONV_BACKWARD_INPUT, CONV_BACKWARD_FILTER };

/* y[n, co, o] = Σ x[n, ci, o * stride + k * dilation − padding] * w[co, ci, k], in three shapes of
 * which two are operands and one is the result; labels and window are those of this sum. */
struct conv {
    enum conv_kind kind;
    const struct literal *first, *second; /* (x, w), (y, w) or (x, y) */
    const struct shape *x, *w, *y;
    struct dim_labels labels;
    struct window window;
    int64_t groups;
    /* Filled by conv_describe. */
    int64_t x_strides[SHAPE_MAX_RANK], w_strides[SHAPE_MAX_RANK], y_strides[SHAPE_MAX_RANK];
    int64_t batches, group_in, out;
};

/* Checks that all fit each other. */
bool conv_describe(struct conv *conv, const struct instruction *instruction, struct error *err);
/* An epilogue_products on a struct conv. */
epilogue_products conv_products;
/* Forms the sums, applies the epilogue; amax_nodes are further results. */
struct literal *conv_finish(const struct conv *conv, struct epilogue *epilogue,
                            struct evaluation *evaluation, const struct instruction *instruction,
                            struct operands *operands, const int *amax_nodes, int amax_count,
                            struct error *err);

#endif
