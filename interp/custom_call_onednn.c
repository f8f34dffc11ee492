/* oneDNN: matrix products and convolutions with post-operations, softmax.
 *
 * The operations of `fusions` are applied in their order to the exact sum; BIAS comes before all
 * others, wherever it is written. The operands behind the second one go to BIAS, BINARY_ADD and SUM
 * in turn; they broadcast as numpy's do. Each element is one real expression, rounded once.
 * Sources: xla/service/cpu/onednn_config.proto, onednn_matmul.cc, onednn_convolution.cc,
 * onednn_util.cc (PopulateOneDnnPostOps), onednn_contraction_rewriter.cc, onednn_softmax.cc; the
 * formulas of the post-operations: oneDNN's documentation of eltwise. */
#include <math.h>
#include <mpfr.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/floats.h"
#include "interp/custom_call_convolution.h"
#include "interp/exact_internal.h"
#include "interp/walk.h"

enum { MOST_FUSIONS = EPILOGUE_NODES - 1 };

static const char *const fusion_words[] = {
    "UNDEFINED", "BIAS", "RELU",  "TANH",    "GELU_ERF", "GELU_TANH", "BINARY_ADD",
    "LINEAR",    "ELU",  "RELU6", "SIGMOID", "SUM",      "SWISH",
};
enum fusion {
    FUSION_BIAS = 1,
    FUSION_BINARY_ADD = 6,
    FUSION_LINEAR = 7,
    FUSION_SUM = 11,
    FUSION_WORDS = 13,
};

static const enum activation fusion_activations[FUSION_WORDS] = {
    [2] = ACTIVATION_RELU,      [3] = ACTIVATION_TANH,   [4] = ACTIVATION_GELU_ERF,
    [5] = ACTIVATION_GELU_TANH, [8] = ACTIVATION_ELU,    [9] = ACTIVATION_CLIP,
    [10] = ACTIVATION_SIGMOID,  [12] = ACTIVATION_SWISH,
};

struct fusions {
    int count, ops[MOST_FUSIONS];
    int alpha_count;
    double alphas[MOST_FUSIONS];
};

/* Reads `fusions` and `optimization_config` of the section. */
static bool read_fusions(struct fusions *fusions, struct config *config, struct error *err)
{
    void *section = config->section;
    config_enter(config, "fusions", err);
    fusions->count =
        config_words(config, "ops", fusion_words, FUSION_WORDS, fusions->ops, MOST_FUSIONS, err);
    fusions->alpha_count = config_numbers(config, "alpha", fusions->alphas, MOST_FUSIONS, err);
    config->section = section;
    config_enter(config, "optimization_config", err);
    if (config_bool(config, "weights_prepacked", false, err)) {
        config->failed = true;
        custom_call_fail(config->instruction, err, "weights in oneDNN's packed order");
    }
    config->section = section;
    return !config->failed;
}

static bool attach(struct epilogue *epilogue, const struct instruction *instruction,
                   const struct literal *operand, struct error *err)
{
    struct epilogue_node node = {
        .op = EPILOGUE_ADD, .a = epilogue_last(epilogue), .b = -1, .factor = 1, .operand = operand};
    if (!epilogue_broadcast(epilogue->shape, operand->shape, node.strides) ||
        type_is_complex(operand->shape->type)) {
        custom_call_fail(instruction, err, "%s does not broadcast to %s",
                         shape_text(operand->shape), shape_text(epilogue->shape));
        return false;
    }
    return epilogue_add(epilogue, node) >= 0;
}

/* Adds the nodes; bias_feature ≥ 0: the dimension of a bias of rank 1. */
static bool apply_fusions(const struct fusions *fusions, struct epilogue *epilogue,
                          const struct instruction *instruction, struct operands *operands,
                          int64_t bias_dimension, struct error *err)
{
    int next = 2, alpha = 0, owners[MOST_FUSIONS];
    for (int i = 0; i < fusions->count; i++) {
        int op = fusions->ops[i];
        bool takes = op == FUSION_BIAS || op == FUSION_BINARY_ADD || op == FUSION_SUM;
        owners[i] = takes ? next++ : -1;
        if (owners[i] >= operands->count ||
            (takes && !custom_call_operand_is(operands, owners[i], TYPE_INVALID, -1))) {
            custom_call_fail(instruction, err, "no operand is left for %s", fusion_words[op]);
            return false;
        }
    }
    if (next != operands->count) {
        custom_call_fail(instruction, err, "%d operands where %d are used", operands->count, next);
        return false;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < fusions->count; i++) {
            int op = fusions->ops[i];
            bool ok = true;
            if ((op == FUSION_BIAS) != (pass == 0)) {
                continue;
            }
            if (op == FUSION_BIAS && bias_dimension >= 0) {
                const struct literal *bias = operands->values[owners[i]];
                struct epilogue_node node = {.op = EPILOGUE_ADD,
                                             .a = epilogue_last(epilogue),
                                             .b = -1,
                                             .factor = 1,
                                             .operand = bias};
                node.strides[bias_dimension] = 1;
                ok = bias->shape->rank == 1 &&
                     bias->shape->dimensions[0] == epilogue->shape->dimensions[bias_dimension];
                if (!ok) {
                    custom_call_fail(instruction, err, "a bias of %s", shape_text(bias->shape));
                }
                ok = ok && epilogue_add(epilogue, node) >= 0;
            } else if (owners[i] >= 0) {
                ok = attach(epilogue, instruction, operands->values[owners[i]], err);
            } else if (op == FUSION_LINEAR) {
                ok = alpha < fusions->alpha_count && isfinite(fusions->alphas[alpha]);
                if (!ok) {
                    custom_call_fail(instruction, err, "LINEAR without a finite alpha");
                    return false;
                }
                /* The configuration holds floats. */
                double factor = (double)(float)fusions->alphas[alpha++];
                ok = epilogue_add(epilogue, (struct epilogue_node){.op = EPILOGUE_SCALE,
                                                                   .a = epilogue_last(epilogue),
                                                                   .b = -1,
                                                                   .factor = factor}) >= 0;
            } else if (fusion_activations[op] != ACTIVATION_NONE) {
                ok = epilogue_add(
                         epilogue,
                         (struct epilogue_node){
                             .op = EPILOGUE_ACTIVATE,
                             .a = epilogue_last(epilogue),
                             .b = -1,
                             .activation = fusion_activations[op],
                             .parameter = fusion_activations[op] == ACTIVATION_CLIP ? 6 : 1}) >= 0;
            } else {
                custom_call_fail(instruction, err, "fusion %s", fusion_words[op]);
                return false;
            }
            if (!ok) {
                if (err->code == ERROR_NONE) {
                    custom_call_fail(instruction, err, "too many fusions");
                }
                return false;
            }
        }
    }
    return true;
}

/* --- matrix products --- */

/* order[i]: the stored dimension that is dimension i of the library's view. */
static bool read_order(struct config *config, const char *key, const struct shape *shape,
                       int64_t *order, struct error *err)
{
    void *section = config->section;
    int64_t given[SHAPE_MAX_RANK];
    config_enter(config, key, err);
    config_enter(config, "tensor", err);
    int count = config_integers(config, "dimensions", given, SHAPE_MAX_RANK, err);
    config->section = section;
    bool used[SHAPE_MAX_RANK] = {false};
    bool ok = !config->failed && (count == 0 || count == shape->rank);
    for (int d = 0; d < shape->rank; d++) {
        order[d] = d;
    }
    for (int d = 0; ok && d < count; d++) { /* permutation[given[d] − 1] = d: stored → viewed */
        ok = given[d] >= 1 && given[d] <= count && !used[given[d] - 1];
        if (ok) {
            used[given[d] - 1] = true;
            order[d] = given[d] - 1;
        }
    }
    if (!ok && err->code == ERROR_NONE) {
        custom_call_fail(config->instruction, err, "the dimensions of %s are no permutation", key);
    }
    config->failed |= !ok;
    return ok;
}

struct literal *custom_onednn_matmul(struct evaluation *evaluation,
                                     const struct instruction *instruction,
                                     struct operands *operands, struct error *err)
{
    const struct shape *shape = custom_call_result_shape(instruction, 0);
    if (!custom_call_operand_is(operands, 0, TYPE_INVALID, -1) ||
        !custom_call_operand_is(operands, 1, TYPE_INVALID, operands->values[0]->shape->rank) ||
        operands->values[0]->shape->rank < 2 || shape == NULL || !shape_is_array(shape) ||
        shape->rank != operands->values[0]->shape->rank || shape_is_dynamic(shape) ||
        type_is_complex(shape->type) || type_is_complex(operands->values[0]->shape->type) ||
        type_is_complex(operands->values[1]->shape->type)) {
        return custom_call_fail(instruction, err, "operands or results do not fit");
    }
    int rank = shape->rank;
    struct config config;
    struct fusions fusions = {0};
    struct matmul matmul = {.lhs = operands->values[0], .rhs = operands->values[1]};
    int64_t orders[3][SHAPE_MAX_RANK];
    bool ok = config_read(&config, instruction, err);
    config_enter(&config, "onednn_matmul_config", err);
    bool turned[2] = {config_bool(&config, "transpose_a", false, err),
                      config_bool(&config, "transpose_b", false, err)};
    ok = ok && read_order(&config, "lhs", matmul.lhs->shape, orders[0], err) &&
         read_order(&config, "rhs", matmul.rhs->shape, orders[1], err) &&
         read_order(&config, "result", shape, orders[2], err) &&
         read_fusions(&fusions, &config, err);
    ok = ok && !config.failed;
    config_finish(&config);
    if (!ok) {
        return NULL;
    }
    matmul.batch_count = rank - 2;
    matmul.contracting_count = 1;
    for (int d = 0; d < rank - 2; d++) {
        matmul.lhs_batch[d] = orders[0][d];
        matmul.rhs_batch[d] = orders[1][d];
    }
    matmul.lhs_contracting[0] = orders[0][turned[0] ? rank - 2 : rank - 1];
    matmul.rhs_contracting[0] = orders[1][turned[1] ? rank - 1 : rank - 2];
    if (!matmul_finish(&matmul, instruction, err)) {
        return NULL;
    }
    struct epilogue epilogue = {.shape = shape, .products = matmul_products, .context = &matmul};
    int64_t strides[SHAPE_MAX_RANK];
    walk_strides(rank, matmul.dimensions, strides);
    bool plain = true;
    for (int d = 0; d < rank; d++) { /* dimension d of the product is stored as orders[2][d] */
        epilogue.sum_strides[orders[2][d]] = strides[d];
        ok = ok && shape->dimensions[orders[2][d]] == matmul.dimensions[d];
        plain &= orders[2][d] == d;
    }
    if (!ok || (!plain && fusions.count > 0)) {
        return custom_call_fail(instruction, err,
                                ok ? "fusions on a transposed result" : "the product is no %s",
                                shape_text(shape));
    }
    epilogue_add(&epilogue, (struct epilogue_node){.op = EPILOGUE_SUM});
    if (!apply_fusions(&fusions, &epilogue, instruction, operands, -1, err)) {
        return NULL;
    }
    struct literal *result = NULL;
    if (fusions.count == 0 && plain) {
        result = matmul_dot(&matmul, evaluation, instruction, shape, err);
    } else {
        enum type type = fusions.count == 0 ? shape->type : epilogue_sum_type(shape->type);
        ok = matmul_sums(&matmul, evaluation, instruction, type, &epilogue, err);
        result = ok ? literal_create(shape, err) : NULL;
        if (result != NULL && !epilogue_apply(&epilogue, epilogue_last(&epilogue), result, err)) {
            literal_release(result);
            result = NULL;
        }
        epilogue_release(&epilogue);
    }
    return result == NULL ? NULL : custom_call_result_take(instruction, &result, 1, err);
}

/* --- convolutions --- */

static bool read_layout(struct config *config, const char *key, const char *kind, const char *first,
                        const char *second, int spatial_rank, int64_t *places, int64_t *spatial,
                        struct error *err)
{
    void *section = config->section;
    config_enter(config, key, err);
    config_enter(config, kind, err);
    places[0] = config_integer(config, first, 0, err);
    places[1] = config_integer(config, second, 0, err);
    int count = config_integers(config, "spatial_dims", spatial, SHAPE_MAX_RANK, err);
    config->section = section;
    if (!config->failed && count != spatial_rank) {
        config->failed = true;
        custom_call_fail(config->instruction, err, "%s has %d spatial dimensions", key, count);
    }
    return !config->failed;
}

struct literal *custom_onednn_convolution(struct evaluation *evaluation,
                                          const struct instruction *instruction,
                                          struct operands *operands, struct error *err)
{
    const struct shape *shape = custom_call_result_shape(instruction, 0);
    if (!custom_call_operand_is(operands, 0, TYPE_INVALID, -1) ||
        !custom_call_operand_is(operands, 1, TYPE_INVALID, -1) || shape == NULL ||
        !shape_is_array(shape) || shape_is_dynamic(shape) || shape->rank < 3) {
        return custom_call_fail(instruction, err, "operands or results do not fit");
    }
    int rank = shape->rank - 2;
    struct config config;
    struct fusions fusions = {0};
    struct window_dimension window[SHAPE_MAX_RANK] = {{0}};
    int64_t spatial[3][SHAPE_MAX_RANK] = {{0}}, places[3][2], numbers[4][SHAPE_MAX_RANK] = {{0}};
    int counts[4] = {0};
    bool ok = config_read(&config, instruction, err);
    config_enter(&config, "onednn_conv_config", err);
    int64_t groups = config_integer(&config, "feature_groups", 1, err);
    ok = ok &&
         read_layout(&config, "input", "data", "batch_dim", "feature_dim", rank, places[0],
                     spatial[0], err) &&
         read_layout(&config, "kernel", "filter", "input_feature_dim", "output_feature_dim", rank,
                     places[1], spatial[1], err) &&
         read_layout(&config, "output", "data", "batch_dim", "feature_dim", rank, places[2],
                     spatial[2], err) &&
         read_fusions(&fusions, &config, err);
    config_enter(&config, "window", err);
    static const char *const lists[] = {"pad_left", "pad_right", "strides", "window_dilations"};
    for (int i = 0; i < 4; i++) {
        counts[i] = config_integers(&config, lists[i], numbers[i], SHAPE_MAX_RANK, err);
        ok = ok && (counts[i] == rank || config.failed);
    }
    bool failed = config.failed;
    config_finish(&config);
    if (failed || !ok) {
        return err->code != ERROR_NONE
                   ? NULL
                   : custom_call_fail(instruction, err, "window does not fit %s",
                                      shape_text(shape));
    }
    for (int d = 0; d < rank; d++) {
        window[d] = (struct window_dimension){
            .padding_low = numbers[0][d],
            .padding_high = numbers[1][d],
            .stride = numbers[2][d],
            .window_dilation = numbers[3][d],
            .base_dilation = 1,
        };
    }
    struct conv conv = {
        .kind = CONV_FORWARD,
        .first = operands->values[0],
        .second = operands->values[1],
        .x = operands->values[0]->shape,
        .w = operands->values[1]->shape,
        .y = shape,
        .labels = {.spatial_rank = rank,
                   .input_batch = places[0][0],
                   .input_feature = places[0][1],
                   .kernel_input_feature = places[1][0],
                   .kernel_output_feature = places[1][1],
                   .output_batch = places[2][0],
                   .output_feature = places[2][1],
                   .input_spatial = spatial[0],
                   .kernel_spatial = spatial[1],
                   .output_spatial = spatial[2]},
        .window = {rank, window},
        .groups = groups,
    };
    if (!conv_describe(&conv, instruction, err)) {
        return NULL;
    }
    struct epilogue epilogue = {.shape = shape, .products = conv_products, .context = &conv};
    walk_strides(shape->rank, shape->dimensions, epilogue.sum_strides);
    epilogue_add(&epilogue, (struct epilogue_node){.op = EPILOGUE_SUM});
    if (!apply_fusions(&fusions, &epilogue, instruction, operands, places[2][1], err)) {
        return NULL;
    }
    return conv_finish(&conv, &epilogue, evaluation, instruction, operands, NULL, 0, err);
}

/* --- softmax --- */

/* exp(x − most) / Σ along a line, by MPFR. */
static double softmax_exactly(enum type type, const struct literal *x, int64_t first, int64_t step,
                              int64_t size, int64_t at)
{
    mpfr_t sum, term, one;
    mpfr_inits2(240, sum, term, one, (mpfr_ptr)0);
    mpfr_set_zero(sum, 1);
    double own = literal_get_double(x, first + at * step);
    for (int64_t i = 0; i < size; i++) { /* 1 / Σ exp(xᵢ − x) */
        mpfr_set_d(term, literal_get_double(x, first + i * step), MPFR_RNDN);
        mpfr_sub_d(term, term, own, MPFR_RNDN);
        mpfr_exp(term, term, MPFR_RNDN);
        mpfr_add(sum, sum, term, MPFR_RNDN);
    }
    mpfr_ui_div(one, 1, sum, MPFR_RNDN);
    double value = exact_from_mpfr(type, one, true);
    mpfr_clears(sum, term, one, (mpfr_ptr)0);
    return value;
}

struct literal *custom_onednn_softmax(struct evaluation *evaluation,
                                      const struct instruction *instruction,
                                      struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct shape *shape = instruction->shape;
    struct config config;
    bool ok = config_read(&config, instruction, err);
    config_enter(&config, "onednn_softmax_config", err);
    int64_t axis = config_integer(&config, "softmax_axis", 0, err);
    ok = ok && !config.failed;
    config_finish(&config);
    if (!ok) {
        return NULL;
    }
    if (!shape_is_array(shape) || !type_is_float(shape->type) || operands->count != 1 ||
        !custom_call_operand_is(operands, 0, TYPE_INVALID, shape->rank) ||
        !shape_same_dimensions(shape, operands->values[0]->shape) ||
        !type_is_float(operands->values[0]->shape->type) || axis < 0 || axis >= shape->rank) {
        return custom_call_fail(instruction, err, "to %s along %lld", shape_text(shape),
                                (long long)axis);
    }
    const struct literal *x = operands->values[0];
    struct literal *result = literal_create(shape, err);
    int64_t strides[SHAPE_MAX_RANK];
    walk_strides(shape->rank, shape->dimensions, strides);
    int64_t size = shape->dimensions[axis], step = strides[axis];
    double *powers = malloc(((size_t)size + 1) * sizeof *powers);
    if (powers == NULL || result == NULL) {
        free(powers);
        literal_release(result);
        error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for a softmax");
        return NULL;
    }
    int64_t lines = size > 0 ? literal_elements(x) / size : 0;
    for (int64_t line = 0; line < lines; line++) {
        int64_t first = line / step * step * size + line % step;
        double most = -INFINITY, sum = 0;
        bool nan = false;
        for (int64_t i = 0; i < size; i++) {
            double value = literal_get_double(x, first + i * step);
            nan |= isnan(value);
            most = value > most ? value : most;
        }
        nan |= isinf(most); /* ∞ − ∞ */
        for (int64_t i = 0; i < size; i++) {
            powers[i] = nan ? NAN : exp(literal_get_double(x, first + i * step) - most);
            sum += powers[i];
        }
        for (int64_t i = 0; i < size; i++) {
            double value = powers[i] / sum;
            /* exp of a rounded difference: (|x − most| + 4 + n) half units in the last place. */
            double gap = most - literal_get_double(x, first + i * step);
            double slack = value * (gap + 4 + (double)size) * 0x1p-52;
            double low = float_round(shape->type, value - slack);
            double high = float_round(shape->type, value + slack);
            if (low != high && !nan && isfinite(gap)) {
                value = softmax_exactly(shape->type, x, first, step, size, i);
            }
            literal_set_double(result, first + i * step, value);
        }
    }
    free(powers);
    if (!custom_call_spread(operands, result, err)) {
        literal_release(result);
        return NULL;
    }
    return result;
}
