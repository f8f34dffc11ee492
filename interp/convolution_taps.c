/* Spatial dimensions in which every output position has one tap: of all places of the kernel there
 * no more than one meets an element of the input, the rest padding or holes. TPU's compiler writes
 * batch dimensions of products so (kernel n, stride n − 1, base dilation n; xla/service
 * dot_as_convolution_util.h calls them batch dimensions), and outer ones (an input of 1 with
 * padding n − 1). Padding and holes are zeros, which add nothing to sums of finite numbers: each
 * position is a convolution without the dimension, on its part of the input and of the kernel. */
#include "interp/convolution_plan.h"

/* The tap and the input's place of an output position; false when there is not exactly one. */
static bool find_tap(const struct convolution_dimension *dimension, int64_t position, int64_t *tap,
                     int64_t *place)
{
    int count = 0;
    for (int64_t t = 0; t < dimension->kernel_size && count <= 1; t++) {
        int64_t at = position * dimension->stride + t * dimension->tap_step - dimension->padding;
        if (at >= 0 && at % dimension->hole_step == 0 &&
            at / dimension->hole_step < dimension->input_size) {
            *tap = dimension->reversal ? dimension->kernel_size - 1 - t : t;
            *place = at / dimension->hole_step;
            count++;
        }
    }
    return count == 1;
}

static bool has_single_taps(const struct convolution_dimension *dimension)
{
    int64_t tap, place;
    bool single = dimension->kernel_size > 1;
    for (int64_t o = 0; o < dimension->output_size && single; o++) {
        single = find_tap(dimension, o, &tap, &place);
    }
    return single;
}

int convolution_single_taps(const struct convolution *convolution)
{
    for (int d = 0; d < convolution->rank; d++) {
        if (has_single_taps(&convolution->dimensions[d])) {
            return d;
        }
    }
    return -1;
}

struct convolution convolution_at(const struct convolution *convolution, int dimension,
                                  int64_t position)
{
    const struct convolution_dimension *from = &convolution->dimensions[dimension];
    struct convolution part = *convolution;
    int64_t tap = 0, place = 0;
    find_tap(from, position, &tap, &place);
    part.input += place * from->input_stride * type_bytes(convolution->input_type);
    part.kernel += tap * from->kernel_stride * type_bytes(convolution->kernel_type);
    part.output += position * from->output_stride * type_bytes(convolution->format.type);
    if (part.bounds != NULL) {
        part.bounds += position * from->output_stride;
    }
    struct convolution_dimension *one = &part.dimensions[dimension];
    one->input_size = one->output_size = one->kernel_size = 1;
    one->stride = one->tap_step = one->hole_step = 1;
    one->padding = 0;
    one->reversal = false;
    return part;
}
