/* Windows over an array: what reduce-window and select-and-scatter share. Private to the
 * evaluators.
 *
 * Output j of a dimension has the window elements k at j * stride + k * dilation − low in the array
 * spread by `base` (base − 1 holes between neighbours); those in holes or outside are no elements
 * of the window (XLA skips them, xla/hlo/evaluator). Dimensions that no window spans are merged
 * with their neighbours of the same kind. */
#ifndef INTERP_WINDOWS_H
#define INTERP_WINDOWS_H

#include "interp/eval.h"
#include "interp/program.h"

struct window_axis {
    int64_t in, out; /* sizes of array and output */
    int64_t size, stride, low, dilation, base;
    int64_t in_stride, out_stride; /* row-major, in elements */
};

struct windows {
    int rank;
    int64_t in_elements, out_elements, window_elements;
    struct window_axis axes[SHAPE_MAX_RANK];
};

void windows_init(struct windows *windows, const struct shape *in, const struct shape *out,
                  struct window window);

/* No window along the axis: output j is element j. */
static inline bool window_axis_is_trivial(const struct window_axis *axis)
{
    return axis->size == 1 && axis->stride == 1 && axis->low == 0 && axis->base == 1 &&
           axis->in == axis->out;
}
/* The element of the axis under window element k of output j, or −1. */
static inline int64_t window_axis_at(const struct window_axis *axis, int64_t j, int64_t k)
{
    int64_t at = j * axis->stride + k * axis->dilation - axis->low;
    if (at < 0 || at % axis->base != 0 || at / axis->base >= axis->in) {
        return -1;
    }
    return at / axis->base;
}
/* Outputs [*first, *last) of the axis have window element k inside, in steps of *step; their
 * elements begin at *at and advance by *at_step. */
void window_axis_range(const struct window_axis *axis, int64_t k, int64_t *first, int64_t *last,
                       int64_t *step, int64_t *at, int64_t *at_step);

/* Up to LANE_STRIP outputs side by side. */
struct window_strip {
    int64_t lanes;
    int64_t starts[][LANE_STRIP]; /* of each axis: j * stride − low */
};
/* Memory for strips of these windows (free() it), or NULL with *err. */
struct window_strip *window_strip_create(const struct windows *windows, struct error *err);
/* Outputs [first, first + lanes). */
void window_strip_set(struct window_strip *strip, const struct windows *windows, int64_t first,
                      int64_t lanes);
/* Window element number w (row-major): offsets[i] is the element in lane i and valid[i] 1, or 0 and
 * 0. Returns how many are valid. */
int64_t window_strip_at(const struct window_strip *strip, const struct windows *windows, int64_t w,
                        int64_t *offsets, uint8_t *valid);

/* The window elements of one output in row-major order: calls each(context, element) with the
 * elements that exist. */
void window_each(const struct windows *windows, int64_t output,
                 void (*each)(void *context, int64_t element), void *context);

/* reduce_window_sum.c: sums of floats, exact, rounded once. */
bool reduce_window_sum(const struct windows *windows, enum type type, const void *in,
                       const void *init, void *out, struct error *err);
/* reduce_window_fold.c: reducers whose order does not matter (not of complex numbers). */
bool reduce_window_fold(const struct windows *windows, enum reducer reducer, enum type type,
                        const void *in, const void *init, void *out, struct error *err);

#endif
