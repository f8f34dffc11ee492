/* reduce-window with add on floats: every window's exact sum, rounded once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/floats.h"
#include "interp/exact_sum.h"
#include "interp/poll.h"
#include "interp/windows.h"

struct sum_job {
    const struct windows *windows;
    enum type type;
    int bytes;
    const char *in;
    char *out;
    double init;
    int64_t line;   /* outputs along the last axis */
    int64_t pieces; /* strips a line is cut into */
    atomic_bool failed;
    struct error *err;
};

/* Working memory of one strip: its running sums, the values that were loaded. */
struct sum_strip {
    struct exact_sums sums;
    double memory[3 * LANE_STRIP], result[LANE_STRIP];
    unsigned char open[LANE_STRIP];
    double *loaded; /* the widest span of inputs under a strip */
};

enum { BETWEEN = 256 }; /* questions whether to stop: strips of terms, or windows that slide */

/* The elements of the input that lie under a strip of outputs, at most. */
static int64_t loaded_span(const struct window_axis *axis)
{
    return LANE_STRIP *
               (axis->stride > axis->base ? (axis->stride + axis->base - 1) / axis->base : 1) +
           1;
}

/* Adds window element k of the last axis, of the line that begins at element `line`, to the strip
 * of outputs [begin, end). */
static void add_along(const struct sum_job *job, struct sum_strip *strip, int64_t line, int64_t k,
                      int64_t begin, int64_t end)
{
    const struct window_axis *axis = &job->windows->axes[job->windows->rank - 1];
    int64_t first, last, step, at, at_step;
    window_axis_range(axis, k, &first, &last, &step, &at, &at_step);
    if (first < begin) {
        int64_t skipped = (begin - first + step - 1) / step;
        first += skipped * step;
        at += skipped * at_step;
    }
    last = last < end ? last : end;
    if (first >= last) {
        return;
    }
    int64_t count = (last - first + step - 1) / step;
    float_load(job->type, job->in + (line + at) * job->bytes, strip->loaded,
               (count - 1) * at_step + 1);
    if (step == 1) {
        exact_sums_add(&strip->sums, first - begin, strip->loaded, count, at_step);
    } else {
        for (int64_t i = 0; i < count; i++) {
            exact_sums_add(&strip->sums, first - begin + i * step, &strip->loaded[i * at_step], 1,
                           1);
        }
    }
}

struct slow_sum {
    const struct sum_job *job;
    struct exact_accumulator accumulator;
};

static void add_term(void *context, int64_t element)
{
    struct slow_sum *slow = context;
    double term;
    float_load(slow->job->type, slow->job->in + element * slow->job->bytes, &term, 1);
    exact_accumulator_add(&slow->accumulator, term);
}

/* A sum that the fast one left open. */
static double sum_slowly(const struct sum_job *job, int64_t output)
{
    struct slow_sum slow = {.job = job};
    exact_accumulator_init(&slow.accumulator);
    exact_accumulator_add(&slow.accumulator, job->init);
    window_each(job->windows, output, add_term, &slow);
    return exact_accumulator_round(&slow.accumulator, job->type);
}

/* Outputs [begin, end) of the line that begins at output `line`. */
static void sum_strip(const struct sum_job *job, struct sum_strip *strip, int64_t line,
                      int64_t begin, int64_t end)
{
    const struct windows *windows = job->windows;
    const struct window_axis *along = &windows->axes[windows->rank - 1];
    exact_sums_init(&strip->sums, strip->memory, end - begin, job->init);
    strip->sums.terms = windows->window_elements + 1;
    const int64_t rows = windows->window_elements / along->size;
    for (int64_t w = 0; w < rows && (w % BETWEEN != BETWEEN - 1 || !poll_now()); w++) {
        int64_t rest = w, at_line = 0;
        bool inside = true;
        for (int d = windows->rank - 2; d >= 0 && inside; d--) {
            const struct window_axis *axis = &windows->axes[d];
            int64_t at =
                window_axis_at(axis, line / axis->out_stride % axis->out, rest % axis->size);
            rest /= axis->size;
            inside = at >= 0;
            at_line += at * axis->in_stride;
        }
        for (int64_t k = 0;
             k < along->size && inside && (k % BETWEEN != BETWEEN - 1 || !poll_now()); k++) {
            add_along(job, strip, at_line, k, begin, end);
        }
    }
    if (exact_sums_round(&strip->sums, job->type, strip->result, strip->open) > 0) {
        for (int64_t i = 0; i < end - begin; i++) {
            if (strip->open[i]) {
                strip->result[i] = sum_slowly(job, line + begin + i);
            }
        }
    }
    float_store(job->type, strip->result, job->out + (line + begin) * job->bytes, end - begin);
}

static void sum_range(void *context, int64_t begin, int64_t end)
{
    struct sum_job *job = context;
    const struct window_axis *along = &job->windows->axes[job->windows->rank - 1];
    struct sum_strip *strip = malloc(sizeof *strip);
    double *loaded = malloc((size_t)loaded_span(along) * sizeof *loaded);
    if (strip == NULL || loaded == NULL) {
        job->failed = true;
    } else {
        strip->loaded = loaded;
        for (int64_t piece = begin; piece < end; piece++) {
            int64_t line = piece / job->pieces * job->line;
            int64_t first = piece % job->pieces * LANE_STRIP;
            int64_t last = first + LANE_STRIP < job->line ? first + LANE_STRIP : job->line;
            sum_strip(job, strip, line, first, last);
        }
    }
    free(loaded);
    free(strip);
}

/* --- Long windows along one axis: a sum that slides, terms entering and leaving. ---------------
 */

enum { LONG_WINDOW = 128 };

/* The one axis with a window if it is long and moves by whole elements; else −1. */
static int long_axis(const struct windows *windows)
{
    int found = -1;
    for (int d = 0; d < windows->rank; d++) {
        const struct window_axis *axis = &windows->axes[d];
        if (window_axis_is_trivial(axis)) {
            continue;
        }
        if (found >= 0 || axis->size < LONG_WINDOW || axis->dilation != 1 || axis->base != 1) {
            return -1;
        }
        found = d;
    }
    return found;
}

/* The sum of a window that slides along a line: that of its finite terms, as real numbers, and how
 * many terms of other kinds it has. */
struct slide {
    struct exact_sums sum;
    double memory[3];
    int64_t from, to; /* the elements inside */
    int64_t nans, plus_infinities, minus_infinities;
    int64_t others; /* finite terms but −0 */
};

/* Lets a term enter, or leave: as a sum of reals that is adding its opposite. */
static void slide_add(struct slide *slide, double term, int64_t direction)
{
    if (isfinite(term)) {
        double added = direction > 0 ? term : -term;
        exact_sums_add(&slide->sum, 0, &added, 1, 1);
        slide->others += term == 0 && signbit(term) ? 0 : direction;
    } else if (isnan(term)) {
        slide->nans += direction;
    } else {
        *(term > 0 ? &slide->plus_infinities : &slide->minus_infinities) += direction;
    }
}

/* The window of output 0, before any term has entered. */
static void slide_begin(struct slide *slide, double init)
{
    *slide = (struct slide){.from = 0};
    exact_sums_init(&slide->sum, slide->memory, 1, 0);
    slide_add(slide, init, 1);
}

static void slide_to(struct slide *slide, const struct window_axis *axis, int64_t j,
                     const double *values)
{
    int64_t from = j * axis->stride - axis->low, to = from + axis->size;
    from = from < 0 ? 0 : from > axis->in ? axis->in : from;
    to = to < from ? from : to > axis->in ? axis->in : to;
    if (slide->to <= from) {
        for (; slide->from < slide->to; slide->from++) {
            slide_add(slide, values[slide->from], -1);
        }
        slide->from = from;
        slide->to = from;
    }
    for (; slide->to < to; slide->to++) {
        slide_add(slide, values[slide->to], 1);
    }
    for (; slide->from < from; slide->from++) {
        slide_add(slide, values[slide->from], -1);
    }
}

/* The sum now, rounded; false if it is left open. */
static bool slide_round(const struct slide *slide, enum type type, double *sum)
{
    if (slide->nans > 0 || (slide->plus_infinities > 0 && slide->minus_infinities > 0)) {
        *sum = float_round(type, NAN);
    } else if (slide->plus_infinities > 0 || slide->minus_infinities > 0) {
        *sum = float_round(type, slide->plus_infinities > 0 ? INFINITY : -INFINITY);
    } else {
        unsigned char open;
        if (exact_sums_round(&slide->sum, type, sum, &open) > 0) {
            return false;
        }
        /* Zeros that have left would count for the sign of a zero. */
        *sum = *sum == 0 ? (slide->others == 0 ? -0.0 : 0.0) : *sum;
    }
    return true;
}

static double slide_slowly(const struct sum_job *job, const struct slide *slide,
                           const double *values)
{
    struct exact_accumulator accumulator;
    exact_accumulator_init(&accumulator);
    exact_accumulator_add(&accumulator, job->init);
    for (int64_t i = slide->from; i < slide->to; i++) {
        exact_accumulator_add(&accumulator, values[i]);
    }
    return exact_accumulator_round(&accumulator, job->type);
}

/* One line of the axis, beginning at elements `in` and `out`. values: memory for it. */
static void slide_line(const struct sum_job *job, const struct window_axis *axis, int64_t in,
                       int64_t out, double *values)
{
    for (int64_t i = 0; i < axis->in; i++) {
        float_load(job->type, job->in + (in + i * axis->in_stride) * job->bytes, &values[i], 1);
    }
    struct slide slide;
    slide_begin(&slide, job->init);
    for (int64_t j = 0; j < axis->out && (j % BETWEEN != BETWEEN - 1 || !poll_now()); j++) {
        double sum;
        slide_to(&slide, axis, j, values);
        if (!slide_round(&slide, job->type, &sum)) {
            sum = slide_slowly(job, &slide, values);
            if (poll_now()) {
                return;
            }
            /* What large terms have left behind as slack goes when the sum begins anew. */
            int64_t from = slide.from, to = slide.to;
            slide_begin(&slide, job->init);
            for (slide.from = from, slide.to = from; slide.to < to; slide.to++) {
                slide_add(&slide, values[slide.to], 1);
            }
        }
        float_store(job->type, &sum, job->out + (out + j * axis->out_stride) * job->bytes, 1);
    }
}

static void slide_range(void *context, int64_t begin, int64_t end)
{
    struct sum_job *job = context;
    const struct windows *windows = job->windows;
    const struct window_axis *axis = &windows->axes[long_axis(windows)];
    double *values = malloc((size_t)(axis->in + 1) * sizeof *values);
    for (int64_t l = begin; l < end && values != NULL; l++) {
        int64_t outer = l / axis->in_stride, inner = l % axis->in_stride;
        slide_line(job, axis, outer * axis->in_stride * axis->in + inner,
                   outer * axis->out_stride * axis->out + inner, values);
    }
    if (values == NULL) {
        job->failed = true;
    }
    free(values);
}

bool reduce_window_sum(const struct windows *windows, enum type type, const void *in,
                       const void *init, void *out, struct error *err)
{
    struct sum_job job = {.windows = windows,
                          .type = type,
                          .bytes = type_bytes(type),
                          .in = in,
                          .out = out,
                          .line = 1,
                          .err = err};
    float_load(type, init, &job.init, 1);
    int axis = long_axis(windows);
    if (windows->out_elements == 0) {
        return true;
    }
    if (windows->rank == 0) {
        double terms[1];
        float_load(type, in, terms, 1);
        double sum = exact_sum(type, job.init, terms, 1, 1);
        float_store(type, &sum, out, 1);
        return true;
    }
    if (axis >= 0) {
        int64_t lines = windows->out_elements / windows->axes[axis].out;
        poll_for(lines, 1, slide_range, &job);
    } else {
        job.line = windows->axes[windows->rank - 1].out;
        job.pieces = (job.line + LANE_STRIP - 1) / LANE_STRIP;
        int64_t lines = windows->out_elements / job.line;
        int64_t work = windows->window_elements * (job.line < LANE_STRIP ? job.line : LANE_STRIP);
        poll_for(lines * job.pieces, 1 + 8192 / work, sum_range, &job);
    }
    return !job.failed || error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for window sums");
}
