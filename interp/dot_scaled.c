/* scaled-dot: a dot whose operands come with scales, each scale standing for a block.
 *
 * Element i of a dimension of size n is scaled by element i / (n / m) of the scale's dimension of
 * size m; a scalar scale means none. The golden is Σ (lhs * scale) * (rhs * scale), exact and
 * rounded once, for all types whose scaled elements are doubles (every type of at most 32 bits);
 * an f64 operand times its scale is rounded to f64 first. Unspecified operands make the whole
 * result so. Source: xla/hlo/evaluator (HandleScaledDot). */
#include "hlo/base/error.h"
#include "interp/dot_internal.h"
#include "interp/eval.h"

/* The scaled operand as f64. */
static struct literal *scaled(const struct literal *operand, const struct literal *scale,
                              struct error *err)
{
    const struct shape *shape = operand->shape;
    bool has_scale = scale->shape->rank > 0;
    for (int d = 0; has_scale && d < shape->rank; d++) {
        int64_t blocks = scale->shape->rank == shape->rank ? scale->shape->dimensions[d] : 0;
        if (blocks <= 0 || shape->dimensions[d] % blocks != 0) {
            error_set(err, ERROR_INVALID_ARGUMENT,
                      "scaled-dot: the scale does not fit its operand");
            return NULL;
        }
    }
    struct literal *result = literal_create(shape_with_type(shape, TYPE_F64), err);
    if (result == NULL) {
        return NULL;
    }
    double *data = literal_data(result);
    int64_t index[SHAPE_MAX_RANK] = {0};
    for (int64_t i = 0; i < literal_elements(operand); i++) {
        data[i] = literal_get_double(operand, i);
        if (has_scale) {
            int64_t place = 0;
            for (int d = 0; d < shape->rank; d++) {
                int64_t blocks = scale->shape->dimensions[d];
                place = place * blocks + index[d] / (shape->dimensions[d] / blocks);
            }
            data[i] *= literal_get_double(scale, place);
        }
        for (int d = shape->rank - 1; d >= 0 && ++index[d] == shape->dimensions[d]; d--) {
            index[d] = 0;
        }
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
    struct literal *factors[2] = {0};
    struct dot_side sides[2] = {0};
    struct literal *result = literal_create(instruction->shape, err);
    bool ok = result != NULL;
    for (int i = 0; ok && i < 2; i++) {
        factors[i] = scaled(operands->values[i], operands->values[2 + i], err);
        struct dot_dims batch, free, contracting;
        dot_dims_from(batches[i], &batch);
        dot_dims_from(contractings[i], &contracting);
        dot_free_dims(operands->values[i]->shape, batches[i], contractings[i], &free);
        ok = factors[i] != NULL &&
             dot_side_init(&sides[i], factors[i], &batch, &free, &contracting, err);
    }
    ok = ok &&
         dot_multiply(instruction->shape->type, evaluation->options.fidelity == FIDELITY_LITERAL,
                      &sides[0], &sides[1], literal_data(result), err);
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
