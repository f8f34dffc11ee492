/* Custom calls that normalise: layer norm and softmax of oneDNN, cuDNN's norm.
 *
 * Each element is one real expression, computed in double-double (2^-100 of the magnitudes
 * involved) and rounded once. Unspecified operands make all results so.
 * Sources: xla/service/cpu/onednn_layer_norm.cc, onednn_softmax.cc, onednn_config.proto;
 * xla/service/gpu/backend_configs.proto (CudnnNormBackendConfig), thunk_emitter.cc (EmitNorm),
 * xla/backends/gpu/transforms/cudnn_norm_rewriter.cc. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/floats.h"
#include "interp/custom_call_config.h"
#include "interp/custom_call_internal.h"
#include "interp/double_double.h"
#include "interp/epilogue.h"

/* Rounds once; NaN for what is no number in double-double. */
static void store(struct literal *to, int64_t index, struct double_double value)
{
    bool finite = isfinite(value.high) && isfinite(value.low);
    literal_set_double(to, index, finite ? dd_round(to->shape->type, value) : NAN);
}

static struct double_double element(const struct literal *from, int64_t index)
{
    return dd_from(literal_get_double(from, index));
}

/* (x, scale, shift): each row of the last dimension normalised; scale and shift by themselves when
 * the configuration has only one of them. */
struct literal *custom_onednn_layer_norm(struct evaluation *evaluation,
                                         const struct instruction *instruction,
                                         struct operands *operands, struct error *err)
{
    (void)evaluation;
    static const char *const rescales[] = {"UNDEFINED", "SCALE", "SHIFT", "SCALE_AND_SHIFT"};
    const struct shape *shape = instruction->shape;
    struct config config;
    if (!config_read(&config, instruction, err)) {
        config_finish(&config);
        return NULL;
    }
    config_enter(&config, "onednn_layer_norm_config", err);
    int rescale = config_word(&config, "rescale", rescales, 4, 3, err);
    int64_t bits = config_integer(&config, "epsilon_typecast", 0, err);
    bool bad = config.failed;
    config_finish(&config);
    int wanted = rescale == 3 ? 3 : rescale == 0 ? 1 : 2;
    bool fits = !bad && operands->count == wanted && shape_is_array(shape) &&
                type_is_float(shape->type) && shape->rank > 0 &&
                custom_call_operand_is(operands, 0, TYPE_INVALID, shape->rank) &&
                type_is_float(operands->values[0]->shape->type) &&
                shape_same_dimensions(shape, operands->values[0]->shape);
    int64_t size = fits ? shape->dimensions[shape->rank - 1] : 0;
    for (int i = 1; i < wanted && fits; i++) {
        fits = custom_call_operand_is(operands, i, TYPE_INVALID, -1) &&
               type_is_float(operands->values[i]->shape->type) &&
               literal_elements(operands->values[i]) == size;
    }
    if (!fits) {
        return bad ? NULL : custom_call_fail(instruction, err, "to %s", shape_text(shape));
    }
    const struct literal *x = operands->values[0];
    const struct literal *scale = rescale & 1 ? operands->values[1] : NULL;
    const struct literal *shift = rescale & 2 ? operands->values[wanted - 1] : NULL;
    struct literal *result = literal_create(shape, err);
    struct double_double n = dd_from((double)size);
    struct double_double epsilon = dd_from(float_to_double(TYPE_F32, (uint32_t)bits));
    for (int64_t row = 0; result != NULL && row < literal_elements(result); row += size) {
        struct double_double sum = {0}, squares = {0};
        for (int64_t i = row; i < row + size; i++) {
            sum = dd_add(sum, element(x, i));
        }
        struct double_double mean = dd_divide(sum, n);
        for (int64_t i = row; i < row + size; i++) {
            struct double_double deviation = dd_subtract(element(x, i), mean);
            squares = dd_add(squares, dd_multiply(deviation, deviation));
        }
        struct double_double deviation = dd_sqrt(dd_add(dd_divide(squares, n), epsilon));
        for (int64_t i = row; i < row + size; i++) {
            struct double_double value = dd_divide(dd_subtract(element(x, i), mean), deviation);
            if (scale != NULL) {
                value = dd_multiply(value, element(scale, i - row));
            }
            if (shift != NULL) {
                value = dd_add(value, element(shift, i - row));
            }
            store(result, i, value);
        }
    }
    if (result != NULL && !custom_call_spread(operands, result, err)) {
        literal_release(result);
        return NULL;
    }
    return result;
}

/* --- cuDNN --- */

/* Layer norm over the dimensions along which the scale varies. */
struct norm {
    const struct shape *shape;             /* of x */
    int64_t scale_strides[SHAPE_MAX_RANK]; /* 0 along the others */
    int64_t stat_strides[SHAPE_MAX_RANK];  /* of what is one number a row */
    int64_t rows, features;
    int64_t *row_of, *feature_of; /* [elements] */
};

static void norm_finish(struct norm *norm)
{
    free(norm->row_of);
    free(norm->feature_of);
}

static bool norm_begin(struct norm *norm, const struct instruction *instruction,
                       const struct literal *x, const struct literal *scale, struct error *err)
{
    const struct shape *shape = x->shape;
    *norm = (struct norm){.shape = shape, .rows = 1, .features = 1};
    if (!epilogue_broadcast(shape, scale->shape, norm->scale_strides) || shape_is_dynamic(shape)) {
        custom_call_fail(instruction, err, "a scale of %s for %s", shape_text(scale->shape),
                         shape_text(shape));
        return false;
    }
    for (int d = shape->rank - 1; d >= 0; d--) {
        if (norm->scale_strides[d] == 0) {
            norm->stat_strides[d] = norm->rows;
            norm->rows *= shape->dimensions[d];
        } else {
            norm->features *= shape->dimensions[d];
        }
    }
    int64_t count = shape_elements(shape);
    norm->row_of = malloc((size_t)count * sizeof(int64_t) + 1);
    norm->feature_of = malloc((size_t)count * sizeof(int64_t) + 1);
    if (norm->row_of == NULL || norm->feature_of == NULL) {
        error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for a norm");
        return false;
    }
    int64_t index[SHAPE_MAX_RANK] = {0};
    for (int64_t i = 0; i < count; i++) {
        norm->row_of[i] = norm->feature_of[i] = 0;
        for (int d = 0; d < shape->rank; d++) {
            norm->row_of[i] += index[d] * norm->stat_strides[d];
            norm->feature_of[i] += index[d] * norm->scale_strides[d];
        }
        for (int d = shape->rank - 1; d >= 0 && ++index[d] == shape->dimensions[d]; d--) {
            index[d] = 0;
        }
    }
    return true;
}

/* Sums of `values` by row or by feature. */
static struct double_double *sums_of(const int64_t *group, int64_t groups,
                                     const struct double_double *values, int64_t count)
{
    struct double_double *sums = calloc((size_t)groups + 1, sizeof *sums);
    for (int64_t i = 0; sums != NULL && i < count; i++) {
        sums[group[i]] = dd_add(sums[group[i]], values[i]);
    }
    return sums;
}

/* (x, scale, bias) → (y[, mean, norm factor], workspace). */
static bool norm_forward(const struct norm *norm, struct operands *operands, double epsilon,
                         bool train, struct literal **parts, struct error *err)
{
    int64_t count = shape_elements(norm->shape);
    struct double_double *values = malloc((size_t)count * sizeof *values + 1);
    struct double_double n = dd_from((double)norm->features), *means = NULL, *squares = NULL;
    for (int64_t i = 0; values != NULL && i < count; i++) {
        values[i] = element(operands->values[0], i);
    }
    means = values == NULL ? NULL : sums_of(norm->row_of, norm->rows, values, count);
    for (int64_t r = 0; means != NULL && r < norm->rows; r++) {
        means[r] = dd_divide(means[r], n);
    }
    for (int64_t i = 0; means != NULL && i < count; i++) {
        struct double_double deviation = dd_subtract(values[i], means[norm->row_of[i]]);
        values[i] = dd_multiply(deviation, deviation);
    }
    squares = means == NULL ? NULL : sums_of(norm->row_of, norm->rows, values, count);
    for (int64_t r = 0; squares != NULL && r < norm->rows; r++) { /* 1 / √(variance + ε) */
        struct double_double variance = dd_add(dd_divide(squares[r], n), dd_from(epsilon));
        squares[r] = dd_divide(dd_from(1), dd_sqrt(variance));
        if (train) {
            store(parts[1], r, means[r]);
            store(parts[2], r, squares[r]);
        }
    }
    for (int64_t i = 0; squares != NULL && i < count; i++) {
        int64_t row = norm->row_of[i], feature = norm->feature_of[i];
        struct double_double y = dd_subtract(element(operands->values[0], i), means[row]);
        y = dd_multiply(dd_multiply(y, squares[row]), element(operands->values[1], feature));
        store(parts[0], i, dd_add(y, element(operands->values[2], feature)));
    }
    bool ok = squares != NULL || error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for a norm");
    free(values);
    free(means);
    free(squares);
    return ok;
}

/* (x, scale, dy, mean, norm factor) → (dx, dscale, dbias, workspace). */
static bool norm_backward(const struct norm *norm, struct operands *operands,
                          struct literal **parts, struct error *err)
{
    int64_t count = shape_elements(norm->shape);
    struct double_double *memory = calloc(4 * (size_t)count + 1, sizeof *memory);
    struct double_double *hat = memory, *dy = memory + count, *g = dy + count, *gh = g + count;
    struct double_double n = dd_from((double)norm->features);
    const struct literal *scale = operands->values[1];
    if (memory == NULL) {
        return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for a norm");
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t row = norm->row_of[i];
        hat[i] = dd_subtract(element(operands->values[0], i), element(operands->values[3], row));
        hat[i] = dd_multiply(hat[i], element(operands->values[4], row));
        dy[i] = element(operands->values[2], i);
        g[i] = dd_multiply(dy[i], element(scale, norm->feature_of[i]));
        gh[i] = dd_multiply(g[i], hat[i]);
    }
    struct double_double *sums[4] = {
        sums_of(norm->row_of, norm->rows, g, count),
        sums_of(norm->row_of, norm->rows, gh, count),
        sums_of(norm->feature_of, norm->features, dy, count),
    };
    for (int64_t i = 0; i < count; i++) {
        gh[i] = dd_multiply(dy[i], hat[i]);
    }
    sums[3] = sums_of(norm->feature_of, norm->features, gh, count);
    bool ok = sums[0] != NULL && sums[1] != NULL && sums[2] != NULL && sums[3] != NULL;
    for (int64_t i = 0; ok && i < count; i++) {
        int64_t row = norm->row_of[i];
        struct double_double dx = dd_subtract(g[i], dd_divide(sums[0][row], n));
        dx = dd_subtract(dx, dd_multiply(hat[i], dd_divide(sums[1][row], n)));
        store(parts[0], i, dd_multiply(dx, element(operands->values[4], row)));
    }
    for (int64_t f = 0; ok && f < norm->features; f++) {
        store(parts[1], f, sums[3][f]);
        store(parts[2], f, sums[2][f]);
    }
    if (!ok) {
        error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for a norm");
    }
    for (int i = 0; i < 4; i++) {
        free(sums[i]);
    }
    free(memory);
    return ok;
}

struct literal *custom_cudnn_norm(struct evaluation *evaluation,
                                  const struct instruction *instruction, struct operands *operands,
                                  struct error *err)
{
    (void)evaluation;
    static const char *const kinds[] = {"LAYER_FWD_INFER", "LAYER_FWD_TRAIN", "LAYER_BWD"};
    struct config config;
    bool read = config_read(&config, instruction, err);
    if (read && config_has(&config, "cudnn_norm_backend_config")) {
        config_enter(&config, "cudnn_norm_backend_config", err);
    }
    double epsilon = config_number(&config, "epsilon", 0, err);
    int kind = config_word(&config, "kind", kinds, 3, 0, err);
    bool bad = !read || config.failed;
    config_finish(&config);
    if (bad) {
        return NULL;
    }
    bool fits = operands->count == (kind == 2 ? 5 : 3) && isfinite(epsilon);
    for (int i = 0; fits && i < operands->count; i++) {
        fits = custom_call_operand_is(operands, i, TYPE_INVALID, -1) &&
               type_is_float(operands->values[i]->shape->type);
    }
    if (!fits) {
        return custom_call_fail(instruction, err, "operands that do not fit");
    }
    struct norm norm;
    bool ok = norm_begin(&norm, instruction, operands->values[0], operands->values[1], err);
    int64_t sizes[5] = {shape_elements(operands->values[0]->shape), norm.features, norm.features,
                        norm.rows, norm.rows};
    sizes[2] = kind == 2 ? sizes[0] : sizes[2];
    for (int i = 0; ok && i < operands->count; i++) {
        ok = literal_elements(operands->values[i]) == sizes[i];
    }
    struct literal *parts[3] = {0};
    int64_t results[3] = {sizes[0], kind == 2 ? norm.features : norm.rows,
                          kind == 2 ? norm.features : norm.rows};
    int count = kind == 0 ? 1 : 3;
    for (int i = 0; ok && i < count; i++) {
        const struct shape *part = custom_call_result_shape(instruction, i);
        ok = part != NULL && shape_is_array(part) && type_is_float(part->type) &&
             shape_elements(part) == results[i];
        parts[i] = ok ? literal_create(part, err) : NULL;
    }
    if (!ok && err->code == ERROR_NONE) {
        custom_call_fail(instruction, err, "operands or results that do not fit");
    }
    ok = ok && parts[count - 1] != NULL && parts[0] != NULL && err->code == ERROR_NONE;
    if (ok) {
        ok = kind == 2 ? norm_backward(&norm, operands, parts, err)
                       : norm_forward(&norm, operands, epsilon, kind == 1, parts, err);
    }
    for (int i = 0; ok && i < count; i++) {
        ok = custom_call_spread(operands, parts[i], err);
    }
    norm_finish(&norm);
    if (!ok) {
        for (int i = 0; i < 3; i++) {
            literal_release(parts[i]);
        }
        return NULL;
    }
    return custom_call_result_take(instruction, parts, count, err);
}
