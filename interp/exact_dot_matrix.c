/* Exact products of stored matrices: operands that read them, results that write them, batches, and
 * complex products as real ones of twice the depth. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/pool.h"
#include "hlo/floats.h"
#include "interp/exact_dot.h"
#include "interp/exact_sum.h"
#include "interp/exact_sum_kernels.h"
#include "interp/poll.h"

enum { STRIP = 256 };

/* count elements of `bytes` bytes, `stride` elements apart, side by side. */
static void gather(const char *in, int64_t stride, int bytes, char *out, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        memcpy(out + i * bytes, in + i * stride * bytes, (size_t)bytes);
    }
}

static void scatter(const char *in, int64_t stride, int bytes, char *out, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        memcpy(out + i * stride * bytes, in + i * bytes, (size_t)bytes);
    }
}

static void load_strided(enum type type, const char *in, int64_t stride, double *out, int64_t count)
{
    if (stride == 1) {
        float_load(type, in, out, count);
        return;
    }
    char strip[STRIP * sizeof(double)];
    const int bytes = type_bytes(type);
    for (int64_t i = 0; i < count; i += STRIP) {
        const int64_t size = count - i < STRIP ? count - i : STRIP;
        gather(in + i * stride * bytes, stride, bytes, strip, size);
        float_load(type, strip, out + i, size);
    }
}

static void fill_vectors(const void *context, int64_t first, int64_t count, int64_t k,
                         int64_t depth, double *out, int64_t step)
{
    const struct exact_dot_matrix *matrix = context;
    const char *data = matrix->data;
    for (int64_t v = 0; v < count; v++) {
        const int64_t at = (first + v) * matrix->vector_stride + k * matrix->depth_stride;
        load_strided(matrix->type, data + at * type_bytes(matrix->type), matrix->depth_stride,
                     out + v * step, depth);
    }
}

static void fill_across(const void *context, int64_t first, int64_t count, int64_t k, int64_t depth,
                        double *out, int64_t step)
{
    const struct exact_dot_matrix *matrix = context;
    const char *data = matrix->data;
    for (int64_t d = 0; d < depth; d++) {
        const int64_t at = first * matrix->vector_stride + (k + d) * matrix->depth_stride;
        load_strided(matrix->type, data + at * type_bytes(matrix->type), matrix->vector_stride,
                     out + d * step, count);
    }
}

struct exact_dot_operand exact_dot_matrix_operand(const struct exact_dot_matrix *matrix,
                                                  int64_t vectors)
{
    const bool across = matrix->depth_stride != 1 && matrix->vector_stride == 1;
    return (struct exact_dot_operand){across ? fill_across : fill_vectors, matrix, vectors, across,
                                      matrix->type == TYPE_F64};
}

void exact_dot_store(void *context, int64_t first_row, int64_t rows, int64_t first_column,
                     int64_t columns, const double *values, int64_t step)
{
    const struct exact_dot_output *output = context;
    const int bytes = type_bytes(output->type);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t at =
            (first_row + i) * output->row_stride + first_column * output->column_stride;
        char *data = (char *)output->data + at * bytes;
        if (output->column_stride == 1) {
            float_store(output->type, values + i * step, data, columns);
            continue;
        }
        char strip[STRIP * sizeof(double)];
        for (int64_t j = 0; j < columns; j += STRIP) {
            const int64_t size = columns - j < STRIP ? columns - j : STRIP;
            float_store(output->type, values + i * step + j, strip, size);
            scatter(strip, output->column_stride, bytes, data + j * output->column_stride * bytes,
                    size);
        }
    }
}

/* --- Batches. ----------------------------------------------------------------------------------
 */

struct batch_job {
    const struct exact_dot_matrix *a, *b;
    const struct exact_dot_output *out;
    int64_t rows, columns, depth;
    struct exact_dot_batch batch;
    bool (*one)(const struct exact_dot_matrix *a, const struct exact_dot_matrix *b,
                const struct exact_dot_output *out, int64_t rows, int64_t columns, int64_t depth,
                struct error *err);
    struct poll *poll;
    atomic_bool failed;
};

static void run_batch(void *context, int64_t begin, int64_t end)
{
    struct batch_job *job = context;
    struct poll *before = poll_swap(job->poll);
    for (int64_t i = begin; i < end && !poll_stopped(job->poll); i++) {
        struct exact_dot_matrix a = *job->a, b = *job->b;
        struct exact_dot_output out = *job->out;
        a.data = (const char *)a.data + i * job->batch.a_stride * type_bytes(a.type);
        b.data = (const char *)b.data + i * job->batch.b_stride * type_bytes(b.type);
        out.data = (char *)out.data + i * job->batch.out_stride * type_bytes(out.type);
        if (!job->one(&a, &b, &out, job->rows, job->columns, job->depth, NULL)) {
            atomic_store(&job->failed, true);
        }
    }
    poll_swap(before);
}

static bool run_job(struct batch_job *job, const struct exact_dot_batch *batch, struct error *err)
{
    job->poll = poll_current();
    job->batch = batch != NULL ? *batch : (struct exact_dot_batch){1, 0, 0, 0};
    if (job->batch.count < pool_threads()) {
        run_batch(job, 0, job->batch.count); /* parallel inside */
    } else {
        const double each = (double)job->rows * (double)job->columns * (double)job->depth + 100;
        pool_for(job->batch.count, (int64_t)(20000 / each) + 1, run_batch, job);
    }
    return poll_check(job->poll, err) &&
           (!atomic_load(&job->failed) ||
            error_set(err, ERROR_RESOURCE_EXHAUSTED,
                      "no memory for a product of %lld x %lld x %lld", (long long)job->rows,
                      (long long)job->columns, (long long)job->depth));
}

static bool one_real(const struct exact_dot_matrix *a, const struct exact_dot_matrix *b,
                     const struct exact_dot_output *out, int64_t rows, int64_t columns,
                     int64_t depth, struct error *err)
{
    const struct exact_dot_operand left = exact_dot_matrix_operand(a, rows);
    const struct exact_dot_operand right = exact_dot_matrix_operand(b, columns);
    struct exact_dot_output output = *out;
    return exact_dot(out->type, &left, &right, depth, exact_dot_store, &output, err);
}

bool exact_dot_matrices(const struct exact_dot_matrix *a, const struct exact_dot_matrix *b,
                        const struct exact_dot_output *out, int64_t rows, int64_t columns,
                        int64_t depth, const struct exact_dot_batch *batch, struct error *err)
{
    struct batch_job job = {.a = a,
                            .b = b,
                            .out = out,
                            .rows = rows,
                            .columns = columns,
                            .depth = depth,
                            .one = one_real};
    return run_job(&job, batch, err);
}

/* --- Complex. ----------------------------------------------------------------------------------
 */

/* A vector of parts of twice the depth: (re, im) of each element, or what (re, im) of the other
 * operand must be multiplied with. */
struct complex_view {
    const struct exact_dot_matrix *matrix;
    enum { PARTS, FOR_REAL, FOR_IMAGINARY } order; /* (re, im), (re, −im), (im, re) */
};

static void fill_parts(const void *context, int64_t first, int64_t count, int64_t k, int64_t depth,
                       double *out, int64_t step)
{
    const struct complex_view *view = context;
    const struct exact_dot_matrix *matrix = view->matrix;
    const enum type part = type_part(matrix->type);
    const int bytes = type_bytes(part);
    for (int64_t v = 0; v < count; v++) {
        for (int64_t d = 0; d < depth; d++) {
            const int64_t element = (k + d) / 2, which = (k + d) % 2;
            const int64_t at = (first + v) * matrix->vector_stride + element * matrix->depth_stride;
            const bool imaginary = (which == 1) != (view->order == FOR_IMAGINARY);
            double value;
            float_load(part, (const char *)matrix->data + (2 * at + imaginary) * bytes, &value, 1);
            out[v * step + d] = view->order == FOR_REAL && imaginary ? -value : value;
        }
    }
}

static bool one_complex(const struct exact_dot_matrix *a, const struct exact_dot_matrix *b,
                        const struct exact_dot_output *out, int64_t rows, int64_t columns,
                        int64_t depth, struct error *err)
{
    const enum type part = type_part(out->type);
    const bool wide = part == TYPE_F64;
    for (int imaginary = 0; imaginary < 2; imaginary++) {
        const struct complex_view left = {a, PARTS};
        const struct complex_view right = {b, imaginary ? FOR_IMAGINARY : FOR_REAL};
        const struct exact_dot_operand x = {fill_parts, &left, rows, false, wide};
        const struct exact_dot_operand y = {fill_parts, &right, columns, false, wide};
        struct exact_dot_output output = {(char *)out->data + imaginary * type_bytes(part), part,
                                          2 * out->row_stride, 2 * out->column_stride};
        if (!exact_dot(part, &x, &y, 2 * depth, exact_dot_store, &output, err)) {
            return false;
        }
    }
    return true;
}

bool exact_dot_complex(const struct exact_dot_matrix *a, const struct exact_dot_matrix *b,
                       const struct exact_dot_output *out, int64_t rows, int64_t columns,
                       int64_t depth, const struct exact_dot_batch *batch, struct error *err)
{
    struct batch_job job = {.a = a,
                            .b = b,
                            .out = out,
                            .rows = rows,
                            .columns = columns,
                            .depth = depth,
                            .one = one_complex};
    return run_job(&job, batch, err);
}

/* --- One. --------------------------------------------------------------------------------------
 */

double exact_dot_one(enum type type, const double *a, int64_t a_stride, const double *b,
                     int64_t b_stride, int64_t depth)
{
    struct exact_partial sum = {0, 0, 0};
    double a_strip[STRIP], b_strip[STRIP], value;
    for (int64_t k = 0; k < depth; k += STRIP) {
        const int64_t size = depth - k < STRIP ? depth - k : STRIP;
        for (int64_t d = 0; d < size; d++) {
            a_strip[d] = a[(k + d) * a_stride];
            b_strip[d] = b[(k + d) * b_stride];
        }
        const struct exact_partial part =
            exact_sum_kernels_here()->dot(a_strip, b_strip, size, false);
        exact_partial_merge(&sum, &part);
    }
    if (exact_partial_round(&sum, (double)depth + 512, type, &value)) {
        return value;
    }
    struct exact_accumulator accumulator;
    exact_accumulator_init(&accumulator);
    exact_accumulator_add(&accumulator, 0);
    for (int64_t k = 0; k < depth; k++) {
        exact_accumulator_add_product(&accumulator, a[k * a_stride], b[k * b_stride]);
    }
    return exact_accumulator_round(&accumulator, type);
}
