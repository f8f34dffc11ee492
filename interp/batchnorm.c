/* batch-norm-training, batch-norm-inference, batch-norm-grad.
 *
 * The golden is the whole op's exact mathematical result, each element rounded once: the mean and
 * variance that normalise are not rounded in between, and the variance is the mean of squared
 * deviations. It is computed in double-double with an error bound for each element (bounded.h);
 * what the bound leaves open goes to batchnorm_exact.c. With N elements of a feature: training mean
 * = Σx / N, var = Σ(x − mean)² / N, y = (x − mean) / √(var + ε) * scale + offset inference  y from
 * the given mean and variance grad       r = 1 / √(var + ε), d_offset = Σdy, d_scale = Σ dy (x −
 * mean) r, dx = scale r (dy − d_offset / N − (x − mean) r d_scale / N) ε is the f32 nearest to the
 * attribute, as in the proto. Where a feature has an infinity or a NaN, or nothing positive under
 * the root, these formulas are evaluated in doubles, for IEEE 754's special values. An unspecified
 * element makes its whole feature so. Sources: xla/service/batchnorm_expander.cc, StableHLO
 * specification. */
#include <math.h>
#include <stdlib.h>

#include "hlo/attr.h"
#include "hlo/base/error.h"
#include "hlo/base/pool.h"
#include "interp/batchnorm_internal.h"
#include "interp/bounded.h"
#include "interp/eval.h"

/* What is open of one feature. */
struct progress {
    unsigned char *open; /* [elements of a feature] */
    bool any;
    int vectors; /* bit r: result r */
};

static struct bounded element(const struct literal *literal, int64_t index)
{
    return bounded_from(literal_get_double(literal, index));
}

static bool decide(const struct normalization *norm, int result, int64_t index,
                   struct bounded value)
{
    double rounded;
    if (!dd_decide(norm->type, value.value, value.error, &rounded)) {
        return false;
    }
    literal_set_double(norm->results[result], index, rounded);
    return true;
}

/* Element i of the large result. */
static void store(const struct normalization *norm, int64_t feature, int64_t i,
                  struct bounded value, struct progress *progress)
{
    progress->open[i] = !decide(norm, 0, normalization_place(norm, feature, i), value);
    progress->any |= progress->open[i];
}

static void store_vector(const struct normalization *norm, int result, int64_t feature,
                         struct bounded value, struct progress *progress)
{
    progress->vectors |= decide(norm, result, feature, value) ? 0 : 1 << result;
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
            any = literal_is_unspecified(inputs[v], normalization_place(norm, feature, i));
        }
    }
    for (int64_t i = 0; any && i < count; i++) {
        literal_mark_unspecified(norm->results[0], normalization_place(norm, feature, i));
    }
    for (int r = 1; any && r < 3 && norm->results[r] != NULL; r++) {
        literal_mark_unspecified(norm->results[r], feature);
    }
}

static struct bounded deviation_of(const struct normalization *norm, int64_t place,
                                   struct bounded mean)
{
    return bounded_subtract(element(norm->x, place), mean);
}

/* 1 / √(variance + ε) */
static struct bounded inverse_deviation(const struct normalization *norm, struct bounded variance)
{
    struct bounded root = bounded_sqrt(bounded_add(variance, bounded_from(norm->epsilon)));
    return bounded_divide(bounded_from(1), root);
}

static void normalize(const struct normalization *norm, int64_t feature, struct bounded mean,
                      struct bounded variance, struct progress *progress)
{
    struct bounded factor =
        bounded_multiply(inverse_deviation(norm, variance), element(norm->scale, feature));
    struct bounded offset = element(norm->offset, feature);
    for (int64_t i = 0; i < norm->outer * norm->inner; i++) {
        int64_t place = normalization_place(norm, feature, i);
        struct bounded deviation = deviation_of(norm, place, mean);
        store(norm, feature, i, bounded_add(bounded_multiply(deviation, factor), offset), progress);
    }
}

static void train_feature(const struct normalization *norm, int64_t feature,
                          struct progress *progress)
{
    int64_t count = norm->outer * norm->inner;
    struct bounded n = bounded_from((double)count);
    struct bounded sum = bounded_from(0), squares = bounded_from(0);
    for (int64_t i = 0; i < count; i++) {
        sum = bounded_add(sum, element(norm->x, normalization_place(norm, feature, i)));
    }
    struct bounded mean = bounded_divide(sum, n);
    for (int64_t i = 0; i < count; i++) {
        struct bounded deviation = deviation_of(norm, normalization_place(norm, feature, i), mean);
        squares = bounded_add(squares, bounded_multiply(deviation, deviation));
    }
    struct bounded variance = bounded_divide(squares, n);
    store_vector(norm, 1, feature, mean, progress);
    store_vector(norm, 2, feature, variance, progress);
    normalize(norm, feature, mean, variance, progress);
}

static void infer_feature(const struct normalization *norm, int64_t feature,
                          struct progress *progress)
{
    normalize(norm, feature, element(norm->mean, feature), element(norm->variance, feature),
              progress);
}

static void differentiate_feature(const struct normalization *norm, int64_t feature,
                                  struct progress *progress)
{
    int64_t count = norm->outer * norm->inner;
    struct bounded n = bounded_from((double)count), mean = element(norm->mean, feature);
    struct bounded inverse = inverse_deviation(norm, element(norm->variance, feature));
    struct bounded offset_gradient = bounded_from(0), scale_gradient = bounded_from(0);
    for (int64_t i = 0; i < count; i++) {
        int64_t place = normalization_place(norm, feature, i);
        struct bounded gradient = element(norm->gradient, place);
        offset_gradient = bounded_add(offset_gradient, gradient);
        scale_gradient = bounded_add(scale_gradient,
                                     bounded_multiply(gradient, deviation_of(norm, place, mean)));
    }
    scale_gradient = bounded_multiply(scale_gradient, inverse);
    struct bounded factor = bounded_multiply(element(norm->scale, feature), inverse);
    struct bounded offset_part = bounded_divide(offset_gradient, n);
    struct bounded scale_part = bounded_divide(bounded_multiply(scale_gradient, inverse), n);
    for (int64_t i = 0; i < count; i++) {
        int64_t place = normalization_place(norm, feature, i);
        struct bounded value = bounded_subtract(element(norm->gradient, place), offset_part);
        value =
            bounded_subtract(value, bounded_multiply(deviation_of(norm, place, mean), scale_part));
        store(norm, feature, i, bounded_multiply(factor, value), progress);
    }
    store_vector(norm, 1, feature, scale_gradient, progress);
    store_vector(norm, 2, feature, offset_gradient, progress);
}

static void evaluate_features(void *context, int64_t begin, int64_t end)
{
    static void (*const evaluate[])(const struct normalization *, int64_t, struct progress *) = {
        [NORMALIZE_TRAINING] = train_feature,
        [NORMALIZE_INFERENCE] = infer_feature,
        [NORMALIZE_GRADIENT] = differentiate_feature,
    };
    struct normalization *norm = context;
    struct progress progress = {.open = malloc((size_t)(norm->outer * norm->inner) + 1)};
    if (progress.open == NULL) {
        norm->failed = true;
        return;
    }
    for (int64_t feature = begin; feature < end && !poll_stopped(norm->poll); feature++) {
        progress.any = false;
        progress.vectors = 0;
        evaluate[norm->kind](norm, feature, &progress);
        if (progress.any || progress.vectors != 0) {
            normalization_settle(norm, feature, progress.open, progress.vectors);
        }
    }
    free(progress.open);
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
                           const struct operands *operands, struct error *err)
{
    bool ok = prepare(norm, instruction, operands, err);
    norm->poll = poll_current();
    if (ok) {
        pool_for(norm->features, 1, evaluate_features, norm);
    }
    if (norm->failed) {
        ok = error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for a feature");
    }
    if (!ok) {
        for (int i = 0; i < 3; i++) {
            literal_release(norm->results[i]);
        }
        return NULL;
    }
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
    struct normalization norm = {.kind = NORMALIZE_TRAINING, .offset = operands->values[2]};
    return run(&norm, instruction, operands, err);
}

struct literal *eval_batch_norm_inference(struct evaluation *evaluation,
                                          const struct instruction *instruction,
                                          struct operands *operands, struct error *err)
{
    (void)evaluation;
    struct normalization norm = {
        .kind = NORMALIZE_INFERENCE,
        .offset = operands->values[2],
        .mean = operands->values[3],
        .variance = operands->values[4],
    };
    return run(&norm, instruction, operands, err);
}

struct literal *eval_batch_norm_grad(struct evaluation *evaluation,
                                     const struct instruction *instruction,
                                     struct operands *operands, struct error *err)
{
    (void)evaluation;
    struct normalization norm = {
        .kind = NORMALIZE_GRADIENT,
        .mean = operands->values[2],
        .variance = operands->values[3],
        .gradient = operands->values[4],
    };
    return run(&norm, instruction, operands, err);
}
