/* convolution: infinities and NaN of the kernel that meet padding or holes of the input.
 *
 * Padding is zeros that take part here (choices.h), and 0 · inf is NaN. XLA's evaluator leaves
 * padding and holes out, and XLA's CPU does the one for padding and the other for holes. So a NaN
 * that such a product enters is unspecified. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/floats.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/convolution_plan.h"
#include "interp/walk.h"

enum { STRIP = 512 };

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

/* Every convolution with padding asks this, so it is done by strips. */
bool convolution_all_finite(const struct literal *literal)
{
    enum type part = type_part(literal->shape->type);
    int64_t count = literal_elements(literal) * (type_is_complex(literal->shape->type) ? 2 : 1);
    const char *data = literal_data(literal);
    double strip[STRIP];
    int bad = 0;
    for (int64_t at = 0; at < count && !bad; at += STRIP) {
        int64_t size = count - at < STRIP ? count - at : STRIP;
        float_load(part, data + at * type_bytes(part), strip, size);
        for (int64_t i = 0; i < size; i++) {
            bad |= !(fabs(strip[i]) <= DBL_MAX);
        }
    }
    return !bad;
}

static bool is_not_finite(const struct literal *literal, int64_t i)
{
    return !isfinite(literal_get_double(literal, i)) ||
           (type_is_complex(literal->shape->type) && !isfinite(literal_get_imaginary(literal, i)));
}

static bool is_nan(const struct literal *literal, int64_t i)
{
    return isnan(literal_get_double(literal, i)) ||
           (type_is_complex(literal->shape->type) && isnan(literal_get_imaginary(literal, i)));
}

/* The index of element i along a dimension. */
static int64_t index_along(const struct shape *shape, int dimension, int64_t i)
{
    int64_t strides[SHAPE_MAX_RANK];
    walk_strides(shape->rank, shape->dimensions, strides);
    return i / strides[dimension] % shape->dimensions[dimension];
}

/* reached: how many elements that are not finite met elements of the input. */
static void mark(const struct literal *reached, const double *totals, int dimension,
                 struct literal *result)
{
    const float *data = literal_data(reached);
    for (int64_t i = 0; i < literal_elements(result); i++) {
        if (is_nan(result, i) && data[i] < totals[index_along(result->shape, dimension, i)]) {
            literal_mark_unspecified(result, i);
        }
    }
}

bool convolution_mark_holes(const struct instruction *instruction, struct literal *const dense[2],
                            contract_again *again, struct literal *result, struct error *err)
{
    const struct literal *kernel = dense[1];
    if (!type_is_float(type_part(kernel->shape->type)) || !has_holes(instruction) ||
        convolution_all_finite(kernel)) {
        return true;
    }
    const struct dim_labels *labels = attr_dim_labels(instruction);
    int output = labels->kernel_output_feature;
    double *totals = memory_zalloc((size_t)kernel->shape->dimensions[output] * sizeof *totals);
    struct literal *operands[2] = {contract_indicator(dense[0], NULL, err),
                                   contract_indicator(kernel, is_not_finite, err)};
    for (int64_t i = 0; i < literal_elements(kernel); i++) {
        totals[index_along(kernel->shape, output, i)] += is_not_finite(kernel, i);
    }
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
