/* fft: FFT, IFFT, RFFT and IRFFT over the last one to three dimensions, any lengths.
 *
 * The golden transforms in double-double (fft_plan.h) and rounds each part of each element once.
 * Errors stay below 2^-96 of the sum of the magnitudes that enter an element, and results are taken
 * to the nearest multiple of 2^-94 of it: exact zeros (constant input) and exact ties (where all
 * roots of unity are rational) are common, other values that near to one are not. So the result is
 * the correctly rounded exact one unless that lies within 2^-94 of a rounding boundary, but not on
 * it.
 * Inverse transforms are divided by the number of points. IRFFT ignores the imaginary parts that
 * the transform of a real signal cannot have (of element 0, and of n / 2 for even n), as XLA does;
 * they are those after the other dimensions have been transformed. An infinity or NaN makes NaN of
 * all elements it enters, and leaves them unspecified: which of them come out infinite depends on
 * the algorithm. Sources: xla/hlo/evaluator (HandleFft), StableHLO specification. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/attr.h"
#include "hlo/base/error.h"
#include "hlo/base/pool.h"
#include "hlo/floats.h"
#include "interp/eval.h"
#include "interp/fft_plan.h"
#include "interp/walk.h"

enum part { RE_HIGH, RE_LOW, IM_HIGH, IM_LOW, PARTS };

/* An array of complex double-doubles, by parts. */
struct field {
    int rank;
    int64_t dimensions[SHAPE_MAX_RANK];
    int64_t elements;
    double *parts[PARTS];
};

static bool field_init(struct field *field, const struct shape *shape, struct error *err)
{
    *field = (struct field){.rank = shape->rank, .elements = 1};
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

static void field_finish(struct field *field)
{
    free(field->parts[0]);
}

/* --- one dimension --- */

struct pass {
    const struct field *in;
    struct field *out;
    const struct fft_plan *plan;
    int64_t in_size, out_size, stride; /* of the dimension; stride between its elements */
    bool inverse, hermitian;           /* hermitian: in is half of the spectrum of a real signal */
    struct double_double scale;
    bool failed; /* no memory; written by any thread, only to true */
};

/* The first element of a line. */
static int64_t line_start(const struct pass *pass, int64_t line, int64_t size)
{
    return line / pass->stride * pass->stride * size + line % pass->stride;
}

/* Brings a line into a lane; the sum of the magnitudes comes back. */
static double gather_line(const struct pass *pass, int64_t line, int lane, double *points)
{
    int64_t start = line_start(pass, line, pass->in_size);
    int64_t n = pass->plan->length;
    double size = 0;
    for (int64_t i = 0; i < n; i++) {
        bool mirrored = pass->hermitian && i > n / 2;
        int64_t from = mirrored ? n - i : i;
        bool real = pass->hermitian && (i == 0 || 2 * i == n);
        double *point = points + i * DD_POINT + lane;
        for (int part = 0; part < PARTS; part++) {
            double value =
                from < pass->in_size ? pass->in->parts[part][start + from * pass->stride] : 0;
            if (part >= IM_HIGH) {
                value = real ? 0 : mirrored ? -value : value;
            }
            /* The transform of the swapped is the swapped inverse. */
            point[(pass->inverse ? (part + 2) % PARTS : part) * DD_LANES] = value;
            size += fabs(value);
        }
    }
    return size;
}

/* `value` to the nearest multiple of quantum (a power of two, at least 2^-105 of the value). */
static struct double_double quantize(struct double_double value, double quantum)
{
    const double rounder = 0x1.8p52 * quantum;
    if (fabs(value.high) < 0x1p51 * quantum) {
        return dd_from((value.high + value.low + rounder) - rounder);
    }
    return dd_quick_sum(value.high, (value.low + rounder) - rounder);
}

static void scatter_line(const struct pass *pass, int64_t line, int lane, const double *points,
                         double size)
{
    int64_t start = line_start(pass, line, pass->out_size);
    size *= pass->inverse ? pass->scale.high : 1;
    double quantum = size > 0x1p-900 && size < INFINITY ? ldexp(1, ilogb(size) - 94) : 0;
    for (int64_t i = 0; i < pass->out_size; i++) {
        const double *point = points + i * DD_POINT + lane;
        for (int side = 0; side < 2; side++) {
            int from = 2 * (pass->inverse ? 1 - side : side);
            struct double_double value = {point[from * DD_LANES], point[(from + 1) * DD_LANES]};
            if (!isfinite(value.high) || !isfinite(value.low)) {
                value = dd_from(NAN);
            } else {
                value = pass->inverse ? dd_multiply(value, pass->scale) : value;
                value = quantum > 0 ? quantize(value, quantum) : value;
            }
            int64_t to = start + i * pass->stride;
            pass->out->parts[2 * side][to] = value.high;
            pass->out->parts[2 * side + 1][to] = value.low;
        }
    }
}

static void transform_lines(void *context, int64_t begin, int64_t end)
{
    struct pass *pass = context;
    size_t buffer = (size_t)fft_plan_points(pass->plan) * DD_POINT;
    double *data = aligned_alloc(64, 2 * buffer * sizeof *data);
    if (data == NULL) {
        pass->failed = true;
        return;
    }
    memset(data, 0, 2 * buffer * sizeof *data);
    int64_t lines = pass->in->elements / pass->in_size;
    for (int64_t block = begin; block < end; block++) {
        double sizes[DD_LANES] = {0};
        for (int lane = 0; lane < DD_LANES; lane++) {
            /* Spare lanes repeat the last line. */
            int64_t line = block * DD_LANES + lane;
            sizes[lane] = gather_line(pass, line < lines ? line : lines - 1, lane, data);
        }
        double *result = fft_plan_run(pass->plan, data, data + buffer);
        for (int lane = 0; lane < DD_LANES && block * DD_LANES + lane < lines; lane++) {
            scatter_line(pass, block * DD_LANES + lane, lane, result, sizes[lane]);
        }
    }
    free(data);
}

/* Transforms dimension d of *in, which has n points when it is whole, into *out. */
static bool transform_dimension(const struct field *in, struct field *out, int d, int64_t n,
                                bool inverse, bool hermitian, struct error *err)
{
    struct fft_plan plan;
    if (!fft_plan_init(&plan, n, err)) {
        return false;
    }
    struct pass pass = {
        .in = in,
        .out = out,
        .plan = &plan,
        .in_size = in->dimensions[d],
        .out_size = out->dimensions[d],
        .stride = 1,
        .inverse = inverse,
        .hermitian = hermitian,
        .scale = dd_divide(dd_from(1), dd_from((double)n)),
    };
    for (int i = d + 1; i < in->rank; i++) {
        pass.stride *= in->dimensions[i];
    }
    int64_t lines = in->elements / pass.in_size;
    pool_for((lines + DD_LANES - 1) / DD_LANES, 1, transform_lines, &pass);
    fft_plan_finish(&plan);
    if (pass.failed) {
        return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for an fft of length %lld",
                         (long long)n);
    }
    return true;
}

/* --- the instruction --- */

static void load_field(struct field *field, const struct literal *literal)
{
    enum type type = literal->shape->type;
    size_t bytes = (size_t)field->elements * sizeof(double);
    memset(field->parts[RE_LOW], 0, bytes);
    memset(field->parts[IM_LOW], 0, bytes);
    memset(field->parts[IM_HIGH], 0, bytes);
    if (!type_is_complex(type)) {
        float_load(type, literal_data(literal), field->parts[RE_HIGH], field->elements);
        return;
    }
    for (int64_t i = 0; i < field->elements; i++) {
        field->parts[RE_HIGH][i] = literal_get_double(literal, i);
        field->parts[IM_HIGH][i] = literal_get_imaginary(literal, i);
    }
}

static void store_field(const struct field *field, struct literal *literal)
{
    enum type type = literal->shape->type;
    for (int64_t i = 0; i < field->elements; i++) {
        double parts[2];
        for (int side = 0; side < 2; side++) {
            struct double_double value = {field->parts[2 * side][i], field->parts[2 * side + 1][i]};
            parts[side] = dd_round(type_part(type), value);
        }
        if (type_is_complex(type)) {
            literal_set_complex(literal, i, parts[0], parts[1]);
        } else {
            literal_set_double(literal, i, parts[0]);
        }
        if (isnan(parts[0]) || isnan(parts[1])) {
            literal_mark_unspecified(literal, i);
        }
    }
}

/* Marks all transforms that a marked element enters. */
static void spread(const struct literal *operand, struct literal *result, int fft_rank)
{
    if (!literal_has_unspecified(operand)) {
        return;
    }
    int64_t from = 1, to = 1;
    for (int d = operand->shape->rank - fft_rank; d < operand->shape->rank; d++) {
        from *= operand->shape->dimensions[d];
        to *= result->shape->dimensions[d];
    }
    for (int64_t i = 0; i < literal_elements(operand); i++) {
        if (literal_is_unspecified(operand, i)) {
            for (int64_t j = 0; j < to; j++) {
                literal_mark_unspecified(result, i / from * to + j);
            }
        }
    }
}

/* All dimensions, the last one first, but for IRFFT, where it is the one that becomes real. */
static bool transform(const struct instruction *instruction, const struct literal *operand,
                      struct literal *result, struct error *err)
{
    struct ints lengths = attr_ints(instruction, ATTR_FFT_LENGTH);
    int64_t type = attr_int(instruction, ATTR_FFT_TYPE, FFT_FFT);
    bool inverse = type == FFT_IFFT || type == FFT_IRFFT;
    int rank = operand->shape->rank, first = rank - lengths.count;
    struct field in, out;
    if (!field_init(&in, operand->shape, err)) {
        return false;
    }
    if (!field_init(&out, result->shape, err)) {
        field_finish(&in);
        return false;
    }
    load_field(&in, operand);
    bool ok = true;
    int last = rank - 1;
    if (type == FFT_IRFFT) {
        for (int d = last - 1; ok && d >= first; d--) {
            ok = transform_dimension(&in, &in, d, in.dimensions[d], inverse, false, err);
        }
        ok = ok && transform_dimension(&in, &out, last, lengths.values[lengths.count - 1], inverse,
                                       true, err);
    } else {
        ok = transform_dimension(&in, &out, last, lengths.values[lengths.count - 1], inverse, false,
                                 err);
        for (int d = last - 1; ok && d >= first; d--) {
            ok = transform_dimension(&out, &out, d, out.dimensions[d], inverse, false, err);
        }
    }
    if (ok) {
        store_field(&out, result);
    }
    field_finish(&in);
    field_finish(&out);
    return ok;
}

struct literal *eval_fft(struct evaluation *evaluation, const struct instruction *instruction,
                         struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct literal *operand = operands->values[0];
    struct ints lengths = attr_ints(instruction, ATTR_FFT_LENGTH);
    if (lengths.count < 1 || lengths.count > operand->shape->rank) {
        error_set(err, ERROR_INVALID_ARGUMENT, "fft_length does not fit %s",
                  shape_text(operand->shape));
        return NULL;
    }
    struct literal *result = literal_create(instruction->shape, err);
    if (result == NULL) {
        return NULL;
    }
    if (literal_elements(result) == 0 || literal_elements(operand) == 0) {
        memset(literal_data(result), 0, (size_t)shape_bytes(result->shape));
        return result;
    }
    if (!transform(instruction, operand, result, err)) {
        literal_release(result);
        return NULL;
    }
    spread(operand, result, lengths.count);
    return result;
}
