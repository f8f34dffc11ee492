/* reduce-window with a reducer whose order does not matter: one axis after the other.
 *
 * Along one axis, the array is [outer][in][inner] and becomes [outer][out][inner]. Short windows
 * combine whole rows, one window element at a time. Long ones double: with P(w)[i] the fold of w
 * neighbours from i on, P(2w)[i] = P(w)[i] · P(w)[i + w], and a window of any size is made of such
 * pieces. Starting values are the initial value where the reducer is idempotent, else its identity,
 * with the initial value added at the end. */
#include <stdlib.h>
#include <string.h>

#include "interp/poll.h"
#include "interp/windows.h"

enum { LONG_WINDOW = 16 };

struct fold_job {
    const struct lane_step *step;
    const struct window_axis *axis;
    enum type type;
    int bytes;
    bool native;
    int64_t inner;
    const char *in;
    char *out;
    const void *start; /* the fold of no elements */
    int64_t padded;    /* LONG: positions along the spread and padded axis */
    atomic_bool failed;
};

/* to[i] = to[i] · from[i] for stored elements. */
static void combine(const struct fold_job *job, char *to, const char *from, int64_t count)
{
    if (job->native) {
        const void *in[2] = {to, from};
        lane_run(job->step, to, in, count);
        return;
    }
    double a[LANE_STRIP], b[LANE_STRIP];
    for (int64_t first = 0; first < count; first += LANE_STRIP) {
        int64_t n = count - first < LANE_STRIP ? count - first : LANE_STRIP;
        const void *in[2] = {a, b};
        lane_load(job->type, to + first * job->bytes, a, n);
        lane_load(job->type, from + first * job->bytes, b, n);
        lane_run(job->step, a, in, n);
        lane_store(job->type, a, to + first * job->bytes, n);
    }
}

static void fill(const struct fold_job *job, char *to, int64_t count)
{
    if (job->bytes == 1) {
        memset(to, *(const unsigned char *)job->start, (size_t)count);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        memcpy(to + i * job->bytes, job->start, (size_t)job->bytes);
    }
}

/* Elements at, at + step, … of a line into one run. */
static void pick(const struct fold_job *job, const char *line, int64_t at, int64_t step,
                 int64_t count, char *to)
{
#define PICK(type)                                  \
    {                                               \
        const type *from = (const type *)line + at; \
        type *out = (type *)to;                     \
        for (int64_t i = 0; i < count; i++) {       \
            out[i] = from[i * step];                \
        }                                           \
    }
    switch (job->bytes) {
    case 1:
        PICK(uint8_t)
        break;
    case 2:
        PICK(uint16_t)
        break;
    case 4:
        PICK(uint32_t)
        break;
    default:
        PICK(uint64_t)
        break;
    }
#undef PICK
}

enum { WORTH_ASKING = 1 << 16 }; /* whether to stop, before so many elements are combined */

/* One plane [in][inner] → [out][inner], a window element at a time. */
static void fold_short(const struct fold_job *job, const char *in, char *out, char *scratch)
{
    const struct window_axis *axis = job->axis;
    const int64_t inner = job->inner, bytes = job->bytes;
    const bool asks = axis->out * inner >= WORTH_ASKING;
    fill(job, out, axis->out * inner);
    for (int64_t k = 0; k < axis->size && !(asks && poll_now()); k++) {
        int64_t first, last, step, at, at_step;
        window_axis_range(axis, k, &first, &last, &step, &at, &at_step);
        int64_t count = first < last ? (last - first + step - 1) / step : 0;
        if (step == 1 && at_step == 1) {
            combine(job, out + first * inner * bytes, in + at * inner * bytes, count * inner);
        } else if (inner == 1 && step == 1) {
            pick(job, in, at, at_step, count, scratch);
            combine(job, out + first * bytes, scratch, count);
        } else {
            for (int64_t i = 0; i < count; i++) {
                combine(job, out + (first + i * step) * inner * bytes,
                        in + (at + i * at_step) * inner * bytes, inner);
            }
        }
    }
}

/* The same by doubling. scratch: pieces and result along the padded axis. */
static void fold_long(const struct fold_job *job, const char *in, char *out, char *scratch)
{
    const struct window_axis *axis = job->axis;
    const int64_t inner = job->inner, row = inner * job->bytes, padded = job->padded;
    char *piece = scratch, *result = scratch + padded * row;
    fill(job, piece, padded * inner);
    fill(job, result, padded * inner);
    for (int64_t i = 0; i < axis->in; i++) {
        int64_t at = i * axis->base + axis->low;
        if (at >= 0 && at < padded) {
            memcpy(piece + at * row, in + i * row, (size_t)row);
        }
    }
    int64_t done = 0; /* window elements in result */
    const bool asks = padded * inner >= WORTH_ASKING;
    for (int64_t width = 1; width <= axis->size && !(asks && poll_now()); width *= 2) {
        if ((axis->size & width) != 0) {
            int64_t shift = done * axis->dilation;
            if (shift < padded) {
                combine(job, result, piece + shift * row, (padded - shift) * inner);
            }
            done += width;
        }
        int64_t shift = width * axis->dilation;
        if (shift < padded && width * 2 <= axis->size) {
            combine(job, piece, piece + shift * row, (padded - shift) * inner);
        }
    }
    for (int64_t j = 0; j < axis->out; j++) {
        memcpy(out + j * row, result + j * axis->stride * row, (size_t)row);
    }
}

static void fold_range(void *context, int64_t begin, int64_t end)
{
    struct fold_job *job = context;
    const struct window_axis *axis = job->axis;
    const bool is_long = job->padded > 0;
    int64_t row = job->inner * job->bytes;
    char *scratch = malloc((size_t)(is_long ? 2 * job->padded * row : axis->out * job->bytes) + 1);
    if (scratch == NULL) {
        job->failed = true;
        return;
    }
    for (int64_t o = begin; o < end; o++) {
        const char *in = job->in + o * axis->in * row;
        char *out = job->out + o * axis->out * row;
        if (is_long) {
            fold_long(job, in, out, scratch);
        } else {
            fold_short(job, in, out, scratch);
        }
    }
    free(scratch);
}

/* Identity of a reducer on integers and pred. */
static void identity(enum reducer reducer, enum type type, void *element)
{
    memset(element, 0, LANE_MAX_BYTES);
    if (reducer == REDUCER_MULTIPLY) {
        *(unsigned char *)element = 1;
        struct lane_step wrap;
        const uint8_t one = 1;
        const void *in = &one;
        lane_convert(TYPE_PRED, type, &wrap);
        lane_run(&wrap, element, &in, 1);
    }
}

/* Adds the initial value to every output. */
static void add_init(const struct fold_job *job, const void *init, char *out, int64_t count)
{
    double strip[LANE_STRIP];
    char *values = (char *)strip;
    for (int64_t i = 0; i < LANE_STRIP; i++) {
        memcpy(values + i * job->bytes, init, (size_t)job->bytes);
    }
    for (int64_t first = 0; first < count; first += LANE_STRIP) {
        int64_t n = count - first < LANE_STRIP ? count - first : LANE_STRIP;
        combine(job, out + first * job->bytes, values, n);
    }
}

/* The axes one after the other; the array so far is in `from`, which is freed if it was made here.
 */
static bool fold_axes(const struct windows *windows, struct fold_job *job, char *out,
                      struct error *err)
{
    int axes = 0, seen = 0;
    int64_t outer = 1, after = windows->in_elements;
    char *made = NULL;
    for (int d = 0; d < windows->rank; d++) {
        axes += !window_axis_is_trivial(&windows->axes[d]);
    }
    if (axes == 0) {
        memcpy(out, job->in, (size_t)(windows->in_elements * job->bytes));
        return true;
    }
    for (int d = 0; d < windows->rank; d++) {
        const struct window_axis *axis = &windows->axes[d];
        after /= axis->in;
        if (!window_axis_is_trivial(axis)) {
            seen++;
            char *to =
                seen == axes ? out : malloc((size_t)(outer * axis->out * after * job->bytes) + 1);
            if (to == NULL) {
                free(made);
                return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for windows");
            }
            job->axis = axis;
            job->inner = after;
            job->out = to;
            int64_t last = (axis->out - 1) * axis->stride + (axis->size - 1) * axis->dilation;
            job->padded = axis->size > LONG_WINDOW ? last + 1 : 0;
            int64_t work = axis->out * after * (axis->size < 16 ? axis->size : 16);
            poll_for(outer, 1 + 16384 / (work > 0 ? work : 1), fold_range, job);
            free(made);
            made = to;
            job->in = to;
        }
        outer *= axis->out;
    }
    return !job->failed || error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for windows");
}

bool reduce_window_fold(const struct windows *windows, enum reducer reducer, enum type type,
                        const void *in, const void *init, void *out, struct error *err)
{
    bool idempotent =
        reducer != REDUCER_ADD && reducer != REDUCER_MULTIPLY && reducer != REDUCER_XOR;
    double start[LANE_MAX_BYTES / sizeof(double)];
    identity(reducer, type, start);
    struct lane_step step;
    reducer_step(reducer, type, &step);
    struct fold_job job = {.step = &step,
                           .type = type,
                           .bytes = type_bytes(type),
                           .native = lane_is_native(type),
                           .in = in,
                           .start = idempotent ? init : start};
    if (windows->out_elements == 0) {
        return true;
    }
    if (windows->in_elements == 0) {
        job.start = init;
        fill(&job, out, windows->out_elements);
        return true;
    }
    if (!fold_axes(windows, &job, out, err)) {
        return false;
    }
    bool trivial = true;
    for (int d = 0; d < windows->rank; d++) {
        trivial = trivial && window_axis_is_trivial(&windows->axes[d]);
    }
    if (!idempotent || trivial) {
        add_init(&job, init, out, windows->out_elements);
    }
    return true;
}
