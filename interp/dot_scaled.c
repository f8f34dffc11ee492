/* scaled-dot: a dot whose operands come with scales, each scale standing for a block.
 *
 * Element i of a dimension of size n is scaled by element i / (n / m) of the scale's dimension of
 * size m; a scalar scale means none. The golden is Σ (lhs * scale) * (rhs * scale), exact and
 * rounded once. Of types of at most 32 bits a scaled element is a double; of f64 it is the exact
 * sum of two, high + low, and the dot has four products for each, (high + low) * (high + low).
 * Where infinities, NaN or the ends of the range forbid that, MPFR multiplies and adds
 * (dot_scaled_exact.c). fidelity=literal rounds scaled elements to f64. Unspecified operands make
 * the whole result so. Source: xla/hlo/evaluator (HandleScaledDot). */
#include <math.h>

#include "hlo/base/error.h"
#include "interp/dot_internal.h"
#include "interp/double_double.h"
#include "interp/eval.h"

/* What a scaled element becomes: doubles along a new last dimension, which is contracted too. */
enum form {
    ROUNDED,  /* one: the product */
    FOURFOLD, /* high, high, low, low; of rhs high, low, high, low */
    PAIRS,    /* element and scale, for scaled_dot_exactly */
};

static int form_size(enum form form)
{
    return form == ROUNDED ? 1 : form == FOURFOLD ? 4 : 2;
}

static bool scale_fits(const struct shape *shape, const struct shape *scale, struct error *err)
{
    for (int d = 0; scale->rank > 0 && d < shape->rank; d++) {
        int64_t blocks = scale->rank == shape->rank ? scale->dimensions[d] : 0;
        if (blocks <= 0 || shape->dimensions[d] % blocks != 0) {
            return error_set(err, ERROR_INVALID_ARGUMENT,
                             "scaled-dot: the scale does not fit its operand");
        }
    }
    return true;
}

/* The scale of the element at an index. */
static double scale_at(const struct literal *scale, const struct shape *shape, const int64_t *index)
{
    int64_t place = 0;
    if (scale->shape->rank == 0) {
        return 1;
    }
    for (int d = 0; d < shape->rank; d++) {
        int64_t blocks = scale->shape->dimensions[d];
        place = place * blocks + index[d] / (shape->dimensions[d] / blocks);
    }
    return literal_get_double(scale, place);
}

/* Whether the product is high + low, both doubles, no matter what becomes of low. */
static bool is_tame(double element, double scale, struct double_double product)
{
    bool zero = element == 0 || scale == 0;
    return isfinite(element) && isfinite(scale) && isfinite(product.high) &&
           (zero || fabs(product.high) > 0x1p-900);
}

static void next_index(const struct shape *shape, int64_t *index)
{
    for (int d = shape->rank - 1; d >= 0 && ++index[d] == shape->dimensions[d]; d--) {
        index[d] = 0;
    }
}

/* The form that the operand's elements allow at best. */
static enum form form_of(const struct literal *operand, const struct literal *scale)
{
    const struct shape *shape = operand->shape;
    int64_t index[SHAPE_MAX_RANK] = {0};
    enum form form = ROUNDED;
    if (!contract_is_wide(shape->type) && !contract_is_wide(scale->shape->type)) {
        return ROUNDED;
    }
    for (int64_t i = 0; i < literal_elements(operand) && form != PAIRS; i++) {
        double element = literal_get_double(operand, i), factor = scale_at(scale, shape, index);
        struct double_double product = dd_product(element, factor);
        form = !is_tame(element, factor, product) ? PAIRS : product.low != 0 ? FOURFOLD : form;
        next_index(shape, index);
    }
    return form;
}

/* The scaled operand as f64, with the dimension of the form at its end unless that is ROUNDED. */
static struct literal *scaled(const struct literal *operand, const struct literal *scale,
                              enum form form, bool right, struct error *err)
{
    const struct shape *shape = operand->shape;
    int64_t dimensions[SHAPE_MAX_RANK], index[SHAPE_MAX_RANK] = {0};
    int size = form_size(form), rank = shape->rank;
    if (rank + 1 > SHAPE_MAX_RANK) {
        error_set(err, ERROR_UNIMPLEMENTED, "scaled-dot of %s", shape_text(shape));
        return NULL;
    }
    for (int d = 0; d < rank; d++) {
        dimensions[d] = shape->dimensions[d];
    }
    dimensions[rank] = size;
    struct literal *result =
        literal_create(shape_array(TYPE_F64, size > 1 ? rank + 1 : rank, dimensions), err);
    if (result == NULL) {
        return NULL;
    }
    double *data = literal_data(result);
    for (int64_t i = 0; i < literal_elements(operand); i++) {
        double element = literal_get_double(operand, i), factor = scale_at(scale, shape, index);
        struct double_double product = dd_product(element, factor);
        for (int k = 0; k < size; k++) {
            bool low = form == FOURFOLD && (right ? k % 2 == 1 : k / 2 == 1);
            data[i * size + k] = form == PAIRS ? (k == 0 ? element : factor)
                                 : low         ? product.low
                                               : product.high;
        }
        next_index(shape, index);
    }
    return result;
}

struct literal *eval_scaled_dot(struct evaluation *evaluation,
                                const struct instruction *instruction, struct operands *operands,
                                struct error *err)
{
    struct ints batches[2] = {attr_ints(instruction, ATTR_LHS_BATCH_DIMS),
                              attr_ints(instruction, ATTR_RHS_BATCH_DIMS)};
    struct ints contractings[2] = {attr_ints(instruction, ATTR_LHS_CONTRACTING_DIMS),
                                   attr_ints(instruction, ATTR_RHS_CONTRACTING_DIMS)};
    struct literal **values = operands->values, *factors[2] = {0};
    struct dot_side sides[2] = {0};
    struct literal *result = literal_create(instruction->shape, err);
    bool in_order = evaluation->options.fidelity == FIDELITY_LITERAL;
    bool ok = result != NULL && scale_fits(values[0]->shape, values[2]->shape, err) &&
              scale_fits(values[1]->shape, values[3]->shape, err);
    enum form form = ROUNDED;
    for (int i = 0; ok && !in_order && i < 2; i++) {
        enum form needed = form_of(values[i], values[2 + i]);
        form = needed > form ? needed : form;
    }
    for (int i = 0; ok && i < 2; i++) {
        factors[i] = scaled(values[i], values[2 + i], form, i == 1, err);
        struct dot_dims batch, free, contracting;
        dot_dims_from(batches[i], &batch);
        dot_dims_from(contractings[i], &contracting);
        dot_free_dims(values[i]->shape, batches[i], contractings[i], &free);
        if (form != ROUNDED) {
            contracting.list[contracting.count++] = values[i]->shape->rank;
        }
        ok = factors[i] != NULL &&
             dot_side_init(&sides[i], factors[i], &batch, &free, &contracting, err);
    }
    if (ok && form == PAIRS) {
        scaled_dot_exactly(instruction->shape->type, &sides[0], &sides[1], literal_data(result));
    } else if (ok) {
        ok = dot_multiply(instruction->shape->type, in_order, &sides[0], &sides[1],
                          literal_data(result), err);
    }
    for (int i = 0; i < 2; i++) {
        dot_side_finish(&sides[i]);
        literal_release(factors[i]);
    }
    if (!ok) {
        literal_release(result);
        return NULL;
    }
    for (int i = 0; i < 4; i++) {
        for (int64_t j = 0;
             literal_has_unspecified(operands->values[i]) && j < literal_elements(result); j++) {
            literal_mark_unspecified(result, j);
        }
    }
    return result;
}
