/* Elements of an array between row-major order and the order of a layout. */
#include "hlo/proto/permute.h"

#include <string.h>

#include "hlo/shape.h"

/* Copies one run along the layout's minor-most dimension. */
static void copy_run(char *to, size_t to_step, const char *from, size_t from_step, int64_t count,
                     size_t element)
{
    for (int64_t i = 0; i < count; i++) {
        memcpy(to, from, element);
        to += to_step;
        from += from_step;
    }
}

static void permute(char *layout_order, char *row_major, size_t element, const struct shape *shape,
                    bool to_layout)
{
    int rank = shape->rank;
    const int64_t *minor_to_major = shape->layout->minor_to_major;
    if (layout_is_row_major(shape->layout)) {
        char *to = to_layout ? layout_order : row_major;
        memcpy(to, to_layout ? row_major : layout_order, (size_t)shape_elements(shape) * element);
        return;
    }
    size_t stride[SHAPE_MAX_RANK]; /* of each dimension, row-major, in bytes */
    size_t step = element;
    for (int i = rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= (size_t)shape->dimensions[i];
    }
    int64_t run = shape->dimensions[minor_to_major[0]];
    size_t run_step = stride[minor_to_major[0]];
    int64_t index[SHAPE_MAX_RANK] = {0}; /* in the order of minor_to_major */
    size_t offset = 0;
    for (int64_t left = shape_elements(shape); left > 0; left -= run) {
        if (to_layout) {
            copy_run(layout_order, element, row_major + offset, run_step, run, element);
        } else {
            copy_run(row_major + offset, run_step, layout_order, element, run, element);
        }
        layout_order += (size_t)run * element;
        for (int k = 1; k < rank; k++) {
            int64_t dimension = minor_to_major[k];
            offset += stride[dimension];
            if (++index[k] < shape->dimensions[dimension]) {
                break;
            }
            offset -= stride[dimension] * (size_t)index[k];
            index[k] = 0;
        }
    }
}

bool layout_is_row_major(const struct layout *layout)
{
    for (int i = 0; i < layout->rank; i++) {
        if (layout->minor_to_major[i] != layout->rank - 1 - i) {
            return false;
        }
    }
    return true;
}

void permute_to_layout(void *to, const void *from, size_t element, const struct shape *shape)
{
    permute(to, (void *)from, element, shape, true);
}

void permute_from_layout(void *to, const void *from, size_t element, const struct shape *shape)
{
    permute((void *)from, to, element, shape, false);
}
