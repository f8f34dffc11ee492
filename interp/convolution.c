/* convolution: any spatial rank, strides, padding, dilations, reversal, groups, dim_labels, types.
 *
 * The golden is the exact sum of the exact products of the operands as they are, rounded once to
 * the result type; integers wrap, as XLA's CPU has it (its evaluator saturates); pred is "any
 * product true". As in the StableHLO specification the input is padded, and its holes filled, with
 * zeros that take part: an infinite kernel element over padding gives NaN, as on XLA's CPU, and is
 * unspecified (convolution_holes.c). An
 * operand with sparsity_config stands for one with more zeros (convolution_sparse.c).
 * convolution_kind, operand_precision and algorithm say how a backend may compute, not what. */
#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/convolution_plan.h"
#include "interp/dot_internal.h"
#include "interp/eval.h"
#include "interp/walk.h"

bool convolution_describe(struct convolution *convolution, const struct instruction *instruction,
                          const struct literal *input, const struct literal *kernel,
                          struct literal *output, struct error *err)
{
    const struct dim_labels *labels = attr_dim_labels(instruction);
    struct window window = attr_window(instruction);
    int rank = labels == NULL ? -1 : labels->spatial_rank;
    if (rank < 0 || window.rank != rank || input->shape->rank != rank + 2 ||
        kernel->shape->rank != rank + 2 || output->shape->rank != rank + 2) {
        return error_set(err, ERROR_UNIMPLEMENTED,
                         "convolution whose labels, window and shapes differ in rank");
    }
    int64_t input_strides[SHAPE_MAX_RANK], kernel_strides[SHAPE_MAX_RANK];
    int64_t output_strides[SHAPE_MAX_RANK];
    walk_strides(rank + 2, input->shape->dimensions, input_strides);
    walk_strides(rank + 2, kernel->shape->dimensions, kernel_strides);
    walk_strides(rank + 2, output->shape->dimensions, output_strides);
    enum type part = type_part(output->shape->type);
    int parts = type_is_complex(output->shape->type) ? 2 : 1;
    *convolution = (struct convolution){
        .format = {.class = contract_class_of(part), .type = part},
        .input_type = type_part(input->shape->type),
        .kernel_type = type_part(kernel->shape->type),
        .input = literal_data(input),
        .kernel = literal_data(kernel),
        .output = literal_data(output),
        .parts = parts,
        .rank = rank,
        .batches = output->shape->dimensions[labels->output_batch],
        .input_batch_stride = input_strides[labels->input_batch] * parts,
        .output_batch_stride = output_strides[labels->output_batch] * parts,
        .group_features = kernel->shape->dimensions[labels->kernel_input_feature],
        .input_feature_stride = input_strides[labels->input_feature] * parts,
        .kernel_input_stride = kernel_strides[labels->kernel_input_feature] * parts,
        .feature_groups = attr_int(instruction, ATTR_FEATURE_GROUP_COUNT, 1),
        .batch_groups = attr_int(instruction, ATTR_BATCH_GROUP_COUNT, 1),
        .output_features = output->shape->dimensions[labels->output_feature],
        .kernel_output_stride = kernel_strides[labels->kernel_output_feature] * parts,
        .output_feature_stride = output_strides[labels->output_feature] * parts,
    };
    for (int d = 0; d < rank; d++) {
        const struct window_dimension *from = &window.dimensions[d];
        convolution->dimensions[d] = (struct convolution_dimension){
            .input_size = input->shape->dimensions[labels->input_spatial[d]],
            .output_size = output->shape->dimensions[labels->output_spatial[d]],
            .kernel_size = kernel->shape->dimensions[labels->kernel_spatial[d]],
            .stride = from->stride,
            .padding = from->padding_low,
            .tap_step = from->window_dilation,
            .hole_step = from->base_dilation,
            .reversal = from->reversal,
            .input_stride = input_strides[labels->input_spatial[d]] * parts,
            .kernel_stride = kernel_strides[labels->kernel_spatial[d]] * parts,
            .output_stride = output_strides[labels->output_spatial[d]] * parts,
        };
    }
    return true;
}

static bool run(const struct convolution *convolution, bool finite, struct error *err)
{
    int single = finite ? convolution_single_taps(convolution) : -1;
    bool ok = true;
    for (int64_t o = 0; single >= 0 && o < convolution->dimensions[single].output_size && ok; o++) {
        struct convolution part = convolution_at(convolution, single, o);
        ok = run(&part, finite, err);
    }
    if (single >= 0) {
        return ok;
    }
    return convolution->bounds == NULL && convolution_is_depthwise(convolution)
               ? convolution_depthwise(convolution, err)
               : convolution_by_products(convolution, err);
}

/* bounds: NULL, or where those of sums go that are not rounded. */
static struct literal *evaluate(const struct instruction *instruction, const struct literal *lhs,
                                const struct literal *rhs, const struct shape *shape, bool in_order,
                                struct literal **bounds, struct error *err)
{
    struct literal *input = dot_operand(lhs, shape->type, err);
    struct literal *kernel = dot_operand(rhs, shape->type, err);
    struct literal *output = literal_create(shape, err);
    struct convolution convolution;
    bool ok = input != NULL && kernel != NULL && output != NULL &&
              convolution_describe(&convolution, instruction, input, kernel, output, err);
    if (ok && bounds != NULL) {
        *bounds = literal_create(shape_with_type(shape, TYPE_F32), err);
        ok = *bounds != NULL;
        convolution.bounds = ok ? literal_data(*bounds) : NULL;
    } else if (ok) {
        convolution.format.in_order = in_order;
    }
    /* Padding and holes matter only to what is not finite in the kernel. */
    bool finite =
        ok && (!type_is_float(type_part(kernel->shape->type)) || convolution_all_finite(kernel));
    ok = ok && run(&convolution, finite, err);
    literal_release(input);
    literal_release(kernel);
    if (!ok) {
        literal_release(output);
        return NULL;
    }
    return output;
}

static struct literal *evaluate_again(const struct instruction *instruction,
                                      struct literal *const operands[2], struct error *err)
{
    return evaluate(instruction, operands[0], operands[1],
                    shape_with_type(instruction->shape, TYPE_F32), false, NULL, err);
}

struct literal *convolution_bounded(struct evaluation *evaluation,
                                    const struct instruction *instruction,
                                    struct operands *operands, struct literal **bounds,
                                    struct error *err)
{
    struct literal *dense[2] = {convolution_dense(instruction, operands, false, err),
                                convolution_dense(instruction, operands, true, err)};
    struct literal *result = NULL;
    for (int i = 0; i < 2; i++) {
        struct literal *whole = dense[i];
        dense[i] = whole != NULL ? contract_operand(evaluation, instruction, i, whole, err) : NULL;
        literal_release(whole);
    }
    if (dense[0] != NULL && dense[1] != NULL) {
        result = evaluate(instruction, dense[0], dense[1], instruction->shape,
                          evaluation->options.fidelity == FIDELITY_LITERAL, bounds, err);
    }
    bool ok = result != NULL && contract_spread(instruction, dense, evaluate_again, result, err) &&
              convolution_mark_holes(instruction, dense, evaluate_again, result, err);
    literal_release(dense[0]);
    literal_release(dense[1]);
    if (!ok) {
        literal_release(result);
        return NULL;
    }
    return result;
}

struct literal *eval_convolution(struct evaluation *evaluation,
                                 const struct instruction *instruction, struct operands *operands,
                                 struct error *err)
{
    return convolution_bounded(evaluation, instruction, operands, NULL, err);
}
