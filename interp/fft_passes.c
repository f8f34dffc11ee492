/* The passes of fft_passes.h: lines are gathered into the lanes of a plan, transformed, and put
 * back. */
#include "interp/fft_passes.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/pool.h"
#include "interp/fft_exact.h"
#include "interp/fft_plan.h"

bool fft_field_init(struct fft_field *field, const struct shape *shape, struct error *err)
{
    *field = (struct fft_field){.rank = shape->rank, .elements = 1};
    for (int d = 0; d < shape->rank; d++) {
        field->dimensions[d] = shape->dimensions[d];
        field->elements *= shape->dimensions[d];
    }
    size_t count = (size_t)field->elements;
    double *memory = count < SIZE_MAX / (PARTS * sizeof *memory) - 1
                         ? malloc((count * PARTS + 1) * sizeof *memory)
                         : NULL;
    if (memory == NULL) {
        return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for an fft of %zu elements",
                         count);
    }
    for (int part = 0; part < PARTS; part++) {
        field->parts[part] = memory + (size_t)part * count;
    }
    return true;
}

void fft_field_finish(struct fft_field *field)
{
    free(field->parts[0]);
    free(field->zero);
}

/* --- one dimension --- */

/* A pass at work. */
struct work {
    const struct fft_pass *pass;
    const struct fft_plan *plan;
    int64_t in_size, out_size, stride; /* of the dimension; stride between its elements */
    int64_t lines;
    struct double_double scale;
    atomic_bool failed; /* no memory */
};

/* The first element of a line. */
static int64_t line_start(const struct work *work, int64_t line, int64_t size)
{
    return line / work->stride * work->stride * size + line % work->stride;
}

/* Brings a line into a lane. */
static void gather_line(const struct work *work, int64_t line, int lane, double *points)
{
    int64_t start = line_start(work, line, work->in_size);
    int64_t n = work->plan->length;
    for (int64_t i = 0; i < n; i++) {
        bool mirrored = work->pass->hermitian && i > n / 2;
        int64_t from = mirrored ? n - i : i;
        bool real = work->pass->hermitian && (i == 0 || 2 * i == n);
        double *point = points + i * DD_POINT + lane;
        for (int part = 0; part < PARTS; part++) {
            double value =
                from < work->in_size ? work->pass->in->parts[part][start + from * work->stride] : 0;
            if (part >= IM_HIGH) {
                value = real ? 0 : mirrored ? -value : value;
            }
            /* The transform of the swapped is the swapped inverse. */
            point[(work->pass->inverse ? (part + 2) % PARTS : part) * DD_LANES] = value;
        }
    }
}

static void scatter_line(const struct work *work, int64_t line, int lane, const double *points)
{
    int64_t start = line_start(work, line, work->out_size);
    for (int64_t i = 0; i < work->out_size; i++) {
        const double *point = points + i * DD_POINT + lane;
        for (int side = 0; side < 2; side++) {
            int from = 2 * (work->pass->inverse ? 1 - side : side);
            struct double_double value = {point[from * DD_LANES], point[(from + 1) * DD_LANES]};
            if (!isfinite(value.high) || !isfinite(value.low)) {
                value = dd_from(NAN);
            } else if (work->pass->inverse) {
                value = dd_multiply(value, work->scale);
            }
            int64_t to = start + i * work->stride;
            work->pass->out->parts[2 * side][to] = value.high;
            work->pass->out->parts[2 * side + 1][to] = value.low;
        }
    }
}

static void transform_lines(void *context, int64_t begin, int64_t end)
{
    struct work *work = context;
    size_t buffer = (size_t)fft_plan_points(work->plan) * DD_POINT;
    double *data = aligned_alloc(64, 2 * buffer * sizeof *data);
    if (data == NULL) {
        work->failed = true;
        return;
    }
    memset(data, 0, 2 * buffer * sizeof *data);
    int64_t lines = work->lines;
    for (int64_t block = begin; block < end && !poll_stopped(work->pass->poll); block++) {
        for (int lane = 0; lane < DD_LANES; lane++) {
            /* Spare lanes repeat the last line. */
            int64_t line = block * DD_LANES + lane;
            gather_line(work, line < lines ? line : lines - 1, lane, data);
        }
        double *result = fft_plan_run(work->plan, data, data + buffer);
        for (int lane = 0; lane < DD_LANES && block * DD_LANES + lane < lines; lane++) {
            scatter_line(work, block * DD_LANES + lane, lane, result);
        }
    }
    free(data);
}

/* --- exact zeros --- */

static bool prepare_zeros(struct fft_field *field)
{
    if (field->zero == NULL) {
        field->zero = calloc((size_t)field->elements + 1, 1);
    }
    return field->zero != NULL;
}

static void set_zero(struct fft_field *field, int64_t at)
{
    field->zero[at] = 1;
    for (int part = 0; part < PARTS; part++) {
        field->parts[part][at] = 0;
    }
}

/* Elements of a line of *out whose bound says that they may be zero: are they? */
static bool find_line(const struct work *work, int64_t line, double *re, double *im)
{
    const struct fft_pass *pass = work->pass;
    int64_t from = line_start(work, line, work->in_size), n = pass->length;
    int64_t to = line_start(work, line, work->out_size);
    double squares = 0;
    bool complex = false, ok = true;
    for (int64_t i = 0; i < n; i++) {
        re[i] = pass->in->parts[RE_HIGH][from + i * work->stride];
        im[i] = pass->in->parts[IM_HIGH][from + i * work->stride];
        complex |= im[i] != 0;
        squares += re[i] * re[i] + im[i] * im[i];
    }
    double bound = 1.01 * (work->plan->error + 0x1p-98) * sqrt((double)n * squares) + DD_TINY;
    bound *= pass->inverse ? work->scale.high : 1;
    struct fft_definition definition = {.type = TYPE_F64,
                                        .rank = 1,
                                        .lengths = {n},
                                        .in_sizes = {n},
                                        .out_sizes = {work->out_size},
                                        .inverse = pass->inverse,
                                        .re = re,
                                        .im = complex ? im : NULL,
                                        .poll = pass->poll};
    struct fft_exact *exact = NULL;
    for (int64_t k = 0; k < work->out_size && ok && isfinite(bound); k++) {
        int64_t at = to + k * work->stride;
        if (!(fabs(pass->out->parts[RE_HIGH][at]) <= bound &&
              fabs(pass->out->parts[IM_HIGH][at]) <= bound)) {
            continue;
        }
        exact = exact == NULL ? fft_exact_create(&definition) : exact;
        bool zero[2] = {false, false};
        ok = exact != NULL && fft_exact_is_zero(exact, k, 0, &zero[0]) &&
             fft_exact_is_zero(exact, k, 1, &zero[1]);
        if (ok && zero[0] && zero[1]) {
            set_zero(pass->out, at);
        }
    }
    fft_exact_destroy(exact);
    return ok;
}

static void find_lines(void *context, int64_t begin, int64_t end)
{
    struct work *work = context;
    double *re = malloc((size_t)(2 * work->pass->length) * sizeof *re);
    bool ok = re != NULL;
    for (int64_t line = begin; line < end && ok; line++) {
        ok = find_line(work, line, re, re + work->pass->length);
    }
    work->failed |= !ok;
    free(re);
}

/* Lines of zeros come out as zeros. */
static void keep_lines(const struct work *work)
{
    const struct fft_pass *pass = work->pass;
    for (int64_t line = 0; line < work->lines; line++) {
        int64_t from = line_start(work, line, work->in_size);
        int64_t to = line_start(work, line, work->out_size);
        bool zero = true;
        for (int64_t i = 0; i < work->in_size && zero; i++) {
            zero = pass->in->zero[from + i * work->stride];
        }
        for (int64_t k = 0; k < work->out_size; k++) {
            pass->out->zero[to + k * work->stride] = 0;
            if (zero) {
                set_zero(pass->out, to + k * work->stride);
            }
        }
    }
}

/* --- a pass --- */

bool fft_pass_run(const struct fft_pass *pass, struct fft_errors *errors, struct error *err)
{
    struct fft_plan plan;
    int d = pass->dimension;
    if (!fft_plan_init(&plan, pass->length, err)) {
        return false;
    }
    struct work work = {
        .pass = pass,
        .plan = &plan,
        .in_size = pass->in->dimensions[d],
        .out_size = pass->out->dimensions[d],
        .stride = 1,
        .scale = dd_divide(dd_from(1), dd_from((double)pass->length)),
    };
    for (int i = d + 1; i < pass->in->rank; i++) {
        work.stride *= pass->in->dimensions[i];
    }
    work.lines = pass->in->elements / work.in_size;
    pool_for((work.lines + DD_LANES - 1) / DD_LANES, 1, transform_lines, &work);
    if (pass->find_zeros || pass->in->zero != NULL) {
        work.failed |= !prepare_zeros(pass->out);
    }
    if (!work.failed && pass->in->zero != NULL) {
        keep_lines(&work);
    } else if (!work.failed && pass->find_zeros) {
        pool_for(work.lines, 1 + 4096 / pass->length, find_lines, &work);
    }
    /* Scaling by 1 / n rounds too. */
    double scaling = pass->inverse ? 0x1p-98 : 0;
    errors->of_elements = errors->norm + plan.error + scaling;
    errors->norm += plan.error_norm + scaling;
    fft_plan_finish(&plan);
    return !work.failed ||
           error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for an fft of length %lld",
                     (long long)pass->length);
}
