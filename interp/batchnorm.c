/* batch-norm-training, batch-norm-inference, batch-norm-grad.
 *
 * The golden is the whole op's mathematical result, computed in double-double (double_double.h) and
 * rounded once: the mean and variance that normalise are not rounded in between, and the variance
 * is the mean of squared deviations (XLA's expander takes the difference of two means). With N
 * elements of a feature:
 *   training   mean = Σx / N, var = Σ(x − mean)² / N, y = (x − mean) / √(var + ε) * scale + offset
 *   inference  y from the given mean and variance
 *   grad       r = 1 / √(var + ε), d_offset = Σdy, d_scale = Σ dy (x − mean) r,
 *              dx = scale r (dy − d_offset / N − (x − mean) r d_scale / N)
 * ε is the f32 nearest to the attribute, as in the proto. Infinities and NaN make NaN of what they
 * enter. An unspecified element makes its whole feature so.
 * Sources: xla/service/batchnorm_expander.cc, StableHLO specification. */
#include <math.h>
#include <stdlib.h>

#include "hlo/attr.h"
#include "hlo/base/error.h"
#include "hlo/base/pool.h"
#include "interp/double_double.h"
#include "interp/eval.h"

/* The arrays of one op; [outer][features][inner] are the dimensions around the feature index. */
struct normalization {
    const struct literal *x, *scale, *offset, *mean, *variance, *gradient; /* NULL: not given */
    int64_t outer, features, inner;
    double epsilon;
    enum type type;
    struct literal *results[3];
};

static struct double_double element(const struct literal *literal, int64_t index)
{
    return dd_from(literal_get_double(literal, index));
}

static int64_t place_of(const struct normalization *norm, int64_t feature, int64_t i)
{
    return (i / norm->inner * norm->features + feature) * norm->inner + i % norm->inner;
}

static void store(const struct normalization *norm, int result, int64_t index,
                  struct double_double value)
{
    bool finite = isfinite(value.high) && isfinite(value.low);
    literal_set_double(norm->results[result], index, finite ? dd_round(norm->type, value) : NAN);
}

static void mark_feature(const struct normalization *norm, int64_t feature)
{
    const struct literal *inputs[] = {norm->x, norm->gradient};
    const struct literal *vectors[] = {norm->scale, norm->offset, norm->mean, norm->variance};
    int64_t count = norm->outer * norm->inner;
    bool any = false;
    for (int v = 0; v < 4; v++) {
        any |= vectors[v] != NULL && literal_is_unspecified(vectors[v], feature);
    }
    for (int v = 0; v < 2; v++) {
        bool some = inputs[v] != NULL && literal_has_unspecified(inputs[v]);
        for (int64_t i = 0; some && !any && i < count; i++) {
            any = literal_is_unspecified(inputs[v], place_of(norm, feature, i));
        }
    }
    for (int64_t i = 0; any && i < count; i++) {
        literal_mark_unspecified(norm->results[0], place_of(norm, feature, i));
    }
    for (int r = 1; any && r < 3 && norm->results[r] != NULL; r++) {
        literal_mark_unspecified(norm->results[r], feature);
    }
}

/* 1 / √(variance + ε) */
static struct double_double inverse_deviation(const struct normalization *norm,
                                              struct double_double variance)
{
    return dd_divide(dd_from(1), dd_sqrt(dd_add(variance, dd_from(norm->epsilon))));
}

static void normalize(const struct normalization *norm, int64_t feature, struct double_double mean,
                      struct double_double variance)
{
    struct double_double factor =
        dd_multiply(inverse_deviation(norm, variance), element(norm->scale, feature));
    struct double_double offset = element(norm->offset, feature);
    for (int64_t i = 0; i < norm->outer * norm->inner; i++) {
        int64_t place = place_of(norm, feature, i);
        struct double_double deviation = dd_subtract(element(norm->x, place), mean);
        store(norm, 0, place, dd_add(dd_multiply(deviation, factor), offset));
    }
}

static void train_feature(const struct normalization *norm, int64_t feature)
{
    int64_t count = norm->outer * norm->inner;
    struct double_double n = dd_from((double)count), sum = {0}, squares = {0};
    for (int64_t i = 0; i < count; i++) {
        sum = dd_add(sum, element(norm->x, place_of(norm, feature, i)));
    }
    struct double_double mean = dd_divide(sum, n);
    for (int64_t i = 0; i < count; i++) {
        struct double_double deviation =
            dd_subtract(element(norm->x, place_of(norm, feature, i)), mean);
        squares = dd_add(squares, dd_multiply(deviation, deviation));
    }
    struct double_double variance = dd_divide(squares, n);
    store(norm, 1, feature, mean);
    store(norm, 2, feature, variance);
    normalize(norm, feature, mean, variance);
}

static void infer_feature(const struct normalization *norm, int64_t feature)
{
    normalize(norm, feature, element(norm->mean, feature), element(norm->variance, feature));
}

static void differentiate_feature(const struct normalization *norm, int64_t feature)
{
    int64_t count = norm->outer * norm->inner;
    struct double_double n = dd_from((double)count), mean = element(norm->mean, feature);
    struct double_double inverse = inverse_deviation(norm, element(norm->variance, feature));
    struct double_double offset_gradient = {0}, scale_gradient = {0};
    for (int64_t i = 0; i < count; i++) {
        int64_t place = place_of(norm, feature, i);
        struct double_double gradient = element(norm->gradient, place);
        struct double_double deviation = dd_subtract(element(norm->x, place), mean);
        offset_gradient = dd_add(offset_gradient, gradient);
        scale_gradient = dd_add(scale_gradient, dd_multiply(gradient, deviation));
    }
    scale_gradient = dd_multiply(scale_gradient, inverse);
    struct double_double factor = dd_multiply(element(norm->scale, feature), inverse);
    struct double_double offset_part = dd_divide(offset_gradient, n);
    struct double_double scale_part = dd_divide(dd_multiply(scale_gradient, inverse), n);
    for (int64_t i = 0; i < count; i++) {
        int64_t place = place_of(norm, feature, i);
        struct double_double deviation = dd_subtract(element(norm->x, place), mean);
        struct double_double value = dd_subtract(element(norm->gradient, place), offset_part);
        value = dd_subtract(value, dd_multiply(deviation, scale_part));
        store(norm, 0, place, dd_multiply(factor, value));
    }
    store(norm, 1, feature, scale_gradient);
    store(norm, 2, feature, offset_gradient);
}

static void train_features(void *context, int64_t begin, int64_t end)
{
    for (int64_t feature = begin; feature < end; feature++) {
        train_feature(context, feature);
    }
}

static void infer_features(void *context, int64_t begin, int64_t end)
{
    for (int64_t feature = begin; feature < end; feature++) {
        infer_feature(context, feature);
    }
}

static void differentiate_features(void *context, int64_t begin, int64_t end)
{
    for (int64_t feature = begin; feature < end; feature++) {
        differentiate_feature(context, feature);
    }
}

/* Reads dimensions and makes the results; false with *err. */
static bool prepare(struct normalization *norm, const struct instruction *instruction,
                    const struct operands *operands, struct error *err)
{
    const struct shape *shape = operands->values[0]->shape;
    int64_t index = attr_int(instruction, ATTR_FEATURE_INDEX, 0);
    if (index < 0 || index >= shape->rank || !type_is_float(shape->type)) {
        return error_set(err, ERROR_UNIMPLEMENTED, "%s of %s", opcode_text(instruction->opcode),
                         shape_text(shape));
    }
    norm->x = operands->values[0];
    norm->scale = operands->values[1];
    norm->type = shape->type;
    norm->epsilon = (float)attr_float(instruction, ATTR_EPSILON, 0);
    norm->features = shape->dimensions[index];
    norm->outer = norm->inner = 1;
    for (int d = 0; d < shape->rank; d++) {
        if (d != index) {
            *(d < index ? &norm->outer : &norm->inner) *= shape->dimensions[d];
        }
    }
    int count = shape_is_tuple(instruction->shape) ? instruction->shape->count : 1;
    if (count != 1 && count != 3) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "%s gives three arrays",
                         opcode_text(instruction->opcode));
    }
    for (int i = 0; i < count; i++) {
        const struct shape *part =
            count == 1 ? instruction->shape : instruction->shape->elements[i];
        norm->results[i] = literal_create(part, err);
        if (norm->results[i] == NULL) {
            return false;
        }
    }
    return true;
}

static struct literal *run(struct normalization *norm, const struct instruction *instruction,
                           const struct operands *operands, pool_function *function,
                           struct error *err)
{
    if (!prepare(norm, instruction, operands, err)) {
        for (int i = 0; i < 3; i++) {
            literal_release(norm->results[i]);
        }
        return NULL;
    }
    pool_for(norm->features, 1, function, norm);
    for (int64_t feature = 0; feature < norm->features; feature++) {
        mark_feature(norm, feature);
    }
    if (!shape_is_tuple(instruction->shape)) {
        return norm->results[0];
    }
    return literal_tuple_take(instruction->shape, norm->results);
}

struct literal *eval_batch_norm_training(struct evaluation *evaluation,
                                         const struct instruction *instruction,
                                         struct operands *operands, struct error *err)
{
    (void)evaluation;
    struct normalization norm = {.offset = operands->values[2]};
    return run(&norm, instruction, operands, train_features, err);
}

struct literal *eval_batch_norm_inference(struct evaluation *evaluation,
                                          const struct instruction *instruction,
                                          struct operands *operands, struct error *err)
{
    (void)evaluation;
    struct normalization norm = {
        .offset = operands->values[2],
        .mean = operands->values[3],
        .variance = operands->values[4],
    };
    return run(&norm, instruction, operands, infer_features, err);
}

struct literal *eval_batch_norm_grad(struct evaluation *evaluation,
                                     const struct instruction *instruction,
                                     struct operands *operands, struct error *err)
{
    (void)evaluation;
    struct normalization norm = {
        .mean = operands->values[2],
        .variance = operands->values[3],
        .gradient = operands->values[4],
    };
    return run(&norm, instruction, operands, differentiate_features, err);
}
