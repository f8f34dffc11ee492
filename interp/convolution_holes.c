/* convolution: infinities and NaN of the kernel that meet padding or holes of the input.
 *
 * Padding is zeros that take part here (choices.h), and 0 · inf is NaN. XLA's evaluator leaves
 * padding and holes out, and XLA's CPU does the one for padding and the other for holes. So a NaN
 * that such a product enters is unspecified. */
#include <math.h>
#include <stdlib.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/convolution_plan.h"

static bool has_holes(const struct instruction *instruction)
{
    struct window window = attr_window(instruction);
    for (int d = 0; d < window.rank; d++) {
        const struct window_dimension *dimension = &window.dimensions[d];
        if (dimension->padding_low > 0 || dimension->padding_high > 0 ||
            dimension->base_dilation > 1) {
            return true;
        }
    }
    return false;
}

static bool is_finite(const struct literal *literal, int64_t i)
{
    return isfinite(literal_get_double(literal, i)) &&
           (!type_is_complex(literal->shape->type) || isfinite(literal_get_imaginary(literal, i)));
}

static bool is_nan(const struct literal *literal, int64_t i)
{
    return isnan(literal_get_double(literal, i)) ||
           (type_is_complex(literal->shape->type) && isnan(literal_get_imaginary(literal, i)));
}

/* f32 of the operand's dimensions: 1 everywhere, or 1 for what is not finite, else 0. Its sum by
 * the index of dimension `dimension` goes to totals[] if that is not NULL. */
static struct literal *indicator(const struct literal *operand, bool everywhere, int dimension,
                                 double *totals, struct error *err)
{
    const struct shape *shape = operand->shape;
    struct literal *literal =
        literal_create(shape_array(TYPE_F32, shape->rank, shape->dimensions), err);
    if (literal == NULL) {
        return NULL;
    }
    int64_t stride = 1;
    for (int d = dimension + 1; d < shape->rank; d++) {
        stride *= shape->dimensions[d];
    }
    float *data = literal_data(literal);
    for (int64_t i = 0; i < literal_elements(literal); i++) {
        data[i] = everywhere || !is_finite(operand, i);
        if (totals != NULL) {
            totals[i / stride % shape->dimensions[dimension]] += data[i];
        }
    }
    return literal;
}

/* reached: how many elements that are not finite met elements of the input. */
static void mark(const struct literal *reached, const double *totals, int dimension,
                 struct literal *result)
{
    const struct shape *shape = result->shape;
    const float *data = literal_data(reached);
    int64_t stride = 1;
    for (int d = dimension + 1; d < shape->rank; d++) {
        stride *= shape->dimensions[d];
    }
    for (int64_t i = 0; i < literal_elements(result); i++) {
        if (data[i] < totals[i / stride % shape->dimensions[dimension]] && is_nan(result, i)) {
            literal_mark_unspecified(result, i);
        }
    }
}

bool convolution_mark_holes(const struct instruction *instruction, struct literal *const dense[2],
                            contract_again *again, struct literal *result, struct error *err)
{
    const struct literal *kernel = dense[1];
    bool finite = true;
    if (!type_is_float(type_part(kernel->shape->type)) || !has_holes(instruction)) {
        return true;
    }
    for (int64_t i = 0; finite && i < literal_elements(kernel); i++) {
        finite = is_finite(kernel, i);
    }
    if (finite) {
        return true;
    }
    const struct dim_labels *labels = attr_dim_labels(instruction);
    int output = labels->kernel_output_feature;
    double *totals = memory_zalloc((size_t)kernel->shape->dimensions[output] * sizeof *totals);
    struct literal *operands[2] = {indicator(dense[0], true, 0, NULL, err),
                                   indicator(kernel, false, output, totals, err)};
    struct literal *reached =
        operands[0] != NULL && operands[1] != NULL ? again(instruction, operands, err) : NULL;
    if (reached != NULL) {
        mark(reached, totals, labels->output_feature, result);
    }
    literal_release(operands[0]);
    literal_release(operands[1]);
    free(totals);
    bool ok = reached != NULL;
    literal_release(reached);
    return ok;
}
