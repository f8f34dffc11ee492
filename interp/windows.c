/* Windows over an array: geometry. */
#include "interp/windows.h"

#include <stdlib.h>
#include <string.h>

static int64_t gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

void windows_init(struct windows *windows, const struct shape *in, const struct shape *out,
                  struct window window)
{
    windows->rank = 0;
    windows->in_elements = shape_elements(in);
    windows->out_elements = shape_elements(out);
    windows->window_elements = 1;
    for (int d = 0; d < in->rank; d++) {
        struct window_axis axis = {in->dimensions[d], out->dimensions[d], 1, 1, 0, 1, 1, 0, 0};
        if (d < window.rank) {
            const struct window_dimension *dimension = &window.dimensions[d];
            axis.size = dimension->size;
            axis.stride = dimension->stride;
            axis.low = dimension->padding_low;
            axis.dilation = dimension->window_dilation;
            axis.base = dimension->base_dilation;
        }
        windows->window_elements *= axis.size;
        struct window_axis *last = windows->rank > 0 ? &windows->axes[windows->rank - 1] : NULL;
        if (last != NULL && window_axis_is_trivial(last) && window_axis_is_trivial(&axis)) {
            last->in *= axis.in;
            last->out *= axis.out;
        } else {
            windows->axes[windows->rank++] = axis;
        }
    }
    int64_t in_stride = 1, out_stride = 1;
    for (int d = windows->rank - 1; d >= 0; d--) {
        windows->axes[d].in_stride = in_stride;
        windows->axes[d].out_stride = out_stride;
        in_stride *= windows->axes[d].in;
        out_stride *= windows->axes[d].out;
    }
}

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

void window_axis_range(const struct window_axis *axis, int64_t k, int64_t *first, int64_t *last,
                       int64_t *step, int64_t *at, int64_t *at_step)
{
    /* j * stride + offset must be a multiple of base in [0, base * in). */
    int64_t offset = k * axis->dilation - axis->low;
    int64_t end = axis->base * (axis->in - 1);
    int64_t low = -floor_divide(offset, axis->stride);
    low = low < 0 ? 0 : low;
    int64_t high = axis->in > 0 ? floor_divide(end - offset, axis->stride) + 1 : 0;
    high = high > axis->out ? axis->out : high;
    *step = axis->base / gcd(axis->base, axis->stride);
    int64_t tried = 0;
    while (tried < *step && low < high && (low * axis->stride + offset) % axis->base != 0) {
        low++;
        tried++;
    }
    low = tried < *step ? low : high; /* no multiple at all */
    *first = low < high ? low : 0;
    *last = low < high ? high : 0;
    *at = low < high ? (low * axis->stride + offset) / axis->base : 0;
    *at_step = *step * axis->stride / axis->base;
}

struct window_strip *window_strip_create(const struct windows *windows, struct error *err)
{
    struct window_strip *strip =
        malloc(sizeof *strip + (size_t)windows->rank * sizeof strip->starts[0]);
    if (strip == NULL) {
        error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for windows");
    }
    return strip;
}

void window_strip_set(struct window_strip *strip, const struct windows *windows, int64_t first,
                      int64_t lanes)
{
    strip->lanes = lanes;
    for (int d = 0; d < windows->rank; d++) {
        const struct window_axis *axis = &windows->axes[d];
        int64_t j = first / axis->out_stride % axis->out, run = first % axis->out_stride;
        for (int64_t i = 0; i < lanes; i++) {
            strip->starts[d][i] = j * axis->stride - axis->low;
            if (++run == axis->out_stride) {
                run = 0;
                j = j + 1 < axis->out ? j + 1 : 0;
            }
        }
    }
}

/* Narrows valid to the lanes inside along one axis and moves offsets. Unsigned comparison: negative
 * places are large. */
static void along_axis(const struct window_axis *axis, const int64_t *starts, int64_t shift,
                       int64_t lanes, int64_t *offsets, uint8_t *valid)
{
    if (axis->base == 1) {
        for (int64_t i = 0; i < lanes; i++) {
            int64_t at = starts[i] + shift;
            valid[i] &= (uint64_t)at < (uint64_t)axis->in;
            offsets[i] += at * axis->in_stride;
        }
        return;
    }
    for (int64_t i = 0; i < lanes; i++) {
        int64_t at = starts[i] + shift;
        valid[i] &= at >= 0 && at % axis->base == 0 && at / axis->base < axis->in;
        offsets[i] += at / axis->base * axis->in_stride;
    }
}

int64_t window_strip_at(const struct window_strip *strip, const struct windows *windows, int64_t w,
                        int64_t *offsets, uint8_t *valid)
{
    memset(valid, 1, (size_t)strip->lanes);
    memset(offsets, 0, (size_t)strip->lanes * sizeof *offsets);
    for (int d = windows->rank - 1; d >= 0; d--) {
        const struct window_axis *axis = &windows->axes[d];
        along_axis(axis, strip->starts[d], w % axis->size * axis->dilation, strip->lanes, offsets,
                   valid);
        w /= axis->size;
    }
    int64_t count = 0;
    for (int64_t i = 0; i < strip->lanes; i++) {
        offsets[i] = valid[i] ? offsets[i] : 0;
        count += valid[i];
    }
    return count;
}

void window_each(const struct windows *windows, int64_t output,
                 void (*each)(void *context, int64_t element), void *context)
{
    for (int64_t w = 0; w < windows->window_elements; w++) {
        int64_t rest = w, element = 0;
        bool inside = true;
        for (int d = windows->rank - 1; d >= 0 && inside; d--) {
            const struct window_axis *axis = &windows->axes[d];
            int64_t at =
                window_axis_at(axis, output / axis->out_stride % axis->out, rest % axis->size);
            rest /= axis->size;
            inside = at >= 0;
            element += at * axis->in_stride;
        }
        if (inside) {
            each(context, element);
        }
    }
}
