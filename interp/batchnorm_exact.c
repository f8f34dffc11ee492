/* Batch normalization where double-doubles left elements open: MPFR intervals of more and more
 * bits; and plain doubles where infinities, NaN or a root of nothing positive take part.
 *
 * The formulas are arranged so that everything but one root and one quotient is a polynomial in the
 * operands. With N elements, S = Σx and V = N Σx² − S² + N² ε:
 *   training   mean = S / N, var = (N Σx² − S²) / N², y = (N x − S) scale / √V + offset
 *   inference  y = (x − mean) scale / √v + offset, where v = var + ε
 *   grad       O = Σdy, D = Σ dy (x − mean), d_offset = O, d_scale = D / √v,
 *              dx = scale (v (N dy − O) − (x − mean) D) / (N v √v)
 * Operands are dyadic numbers, and so are these polynomials, exactly so once the precision holds
 * them (LAST_PRECISION bits do for doubles of any exponents). A result on a rounding boundary is
 * dyadic; then its quotient is, so the root is rational, hence dyadic, and all operations come out
 * exact: the interval is a point. A result off every boundary is decided by enough bits. So the
 * loop ends with the correctly rounded value. */
#include <math.h>
#include <stdlib.h>

#include "hlo/floats.h"
#include "interp/batchnorm_internal.h"
#include "interp/bracket.h"

enum {
    FIRST_PRECISION = 192,
    /* More than any polynomial above has: fourth powers of doubles of 2098 binades, and sums. */
    LAST_PRECISION = 1 << 14,
};

/* Registers. */
enum {
    N,
    S,
    SQUARES,
    MEAN,
    VARIANCE,
    RADICAND,
    ROOT,
    DIVISOR,
    D,
    DEVIATION,
    VALUE,
    SPARE,
    REGISTERS
};

struct work {
    struct normalization *norm;
    int64_t feature, count;
    unsigned char *open;
    int vectors;
    bool last; /* the last precision: what is open now is on a boundary */
    struct bracket_scratch scratch;
    struct bracket *r;
    double scale, offset;
};

static double at(const struct work *work, const struct literal *literal, int64_t i)
{
    return literal_get_double(literal, normalization_place(work->norm, work->feature, i));
}

static double of_feature(const struct work *work, const struct literal *literal)
{
    return literal == NULL ? 0 : literal_get_double(literal, work->feature);
}

/* Rounds register `which` if it can; whether it could. */
static bool decide(const struct work *work, int which, double *rounded)
{
    enum type type = work->norm->type;
    if (bracket_round(type, &work->r[which], rounded)) {
        return true;
    }
    *rounded = bracket_boundary(type, &work->r[which]);
    return work->last;
}

static void decide_element(struct work *work, int64_t i)
{
    double rounded;
    if (decide(work, VALUE, &rounded)) {
        literal_set_double(work->norm->results[0],
                           normalization_place(work->norm, work->feature, i), rounded);
        work->open[i] = 0;
    }
}

static void decide_vector(struct work *work, int result, int which)
{
    double rounded;
    if ((work->vectors >> result & 1) != 0 && decide(work, which, &rounded)) {
        literal_set_double(work->norm->results[result], work->feature, rounded);
        work->vectors &= ~(1 << result);
    }
}

/* out += x * y, x and y doubles. */
static void add_product(struct work *work, int out, double x, double y)
{
    bracket_set(&work->r[SPARE], x);
    bracket_multiply_double(&work->scratch, &work->r[SPARE], &work->r[SPARE], y);
    bracket_add(&work->r[out], &work->r[out], &work->r[SPARE]);
}

/* VALUE = VALUE * scale / DIVISOR + offset */
static void finish_element(struct work *work, int64_t i)
{
    struct bracket *value = &work->r[VALUE];
    bracket_multiply_double(&work->scratch, value, value, work->scale);
    bracket_divide(&work->scratch, value, value, &work->r[DIVISOR]);
    bracket_add_double(value, value, work->offset);
    decide_element(work, i);
}

static void set_open_to_nan(struct work *work)
{
    for (int64_t i = 0; i < work->count; i++) {
        if (work->open[i]) {
            literal_set_double(work->norm->results[0],
                               normalization_place(work->norm, work->feature, i), NAN);
            work->open[i] = 0;
        }
    }
}

static void train(struct work *work)
{
    struct bracket *r = work->r;
    const struct literal *x = work->norm->x;
    struct bracket_scratch *scratch = &work->scratch;
    double n = (double)work->count;
    bracket_set(&r[S], 0);
    bracket_set(&r[SQUARES], 0);
    for (int64_t i = 0; i < work->count; i++) {
        double value = at(work, x, i);
        bracket_add_double(&r[S], &r[S], value);
        add_product(work, SQUARES, value, value);
    }
    bracket_divide(scratch, &r[MEAN], &r[S], &r[N]);
    decide_vector(work, 1, MEAN);
    bracket_multiply_double(scratch, &r[VARIANCE], &r[SQUARES], n);
    bracket_multiply(scratch, &r[SPARE], &r[S], &r[S]);
    bracket_subtract(&r[VARIANCE], &r[VARIANCE], &r[SPARE]);
    bracket_set(&r[RADICAND], work->norm->epsilon);
    bracket_multiply_double(scratch, &r[RADICAND], &r[RADICAND], n);
    bracket_multiply_double(scratch, &r[RADICAND], &r[RADICAND], n);
    bracket_add(&r[RADICAND], &r[RADICAND], &r[VARIANCE]);
    bracket_divide(scratch, &r[VARIANCE], &r[VARIANCE], &r[N]);
    bracket_divide(scratch, &r[VARIANCE], &r[VARIANCE], &r[N]);
    decide_vector(work, 2, VARIANCE);
    if (bracket_is_zero(&r[RADICAND]) || bracket_is_negative(&r[RADICAND])) {
        set_open_to_nan(work); /* 0 / 0, or no root */
        return;
    }
    if (!bracket_is_positive(&r[RADICAND])) {
        return;
    }
    bracket_sqrt(&r[DIVISOR], &r[RADICAND]);
    for (int64_t i = 0; i < work->count; i++) {
        if (work->open[i]) {
            bracket_set(&r[VALUE], at(work, x, i));
            bracket_multiply_double(scratch, &r[VALUE], &r[VALUE], n);
            bracket_subtract(&r[VALUE], &r[VALUE], &r[S]);
            finish_element(work, i);
        }
    }
}

/* ROOT = √(var + ε) of the variance that is given. */
static void take_root(struct work *work)
{
    bracket_set(&work->r[RADICAND], of_feature(work, work->norm->variance));
    bracket_add_double(&work->r[RADICAND], &work->r[RADICAND], work->norm->epsilon);
    bracket_sqrt(&work->r[ROOT], &work->r[RADICAND]);
}

static void subtract_mean(struct work *work, int out, int64_t i)
{
    bracket_set(&work->r[out], at(work, work->norm->x, i));
    bracket_add_double(&work->r[out], &work->r[out], -of_feature(work, work->norm->mean));
}

static void infer(struct work *work)
{
    take_root(work);
    bracket_copy(&work->r[DIVISOR], &work->r[ROOT]);
    for (int64_t i = 0; i < work->count; i++) {
        if (work->open[i]) {
            subtract_mean(work, VALUE, i);
            finish_element(work, i);
        }
    }
}

static void differentiate(struct work *work)
{
    struct bracket *r = work->r;
    struct bracket_scratch *scratch = &work->scratch;
    double n = (double)work->count;
    take_root(work);
    bracket_set(&r[S], 0);
    bracket_set(&r[D], 0);
    for (int64_t i = 0; i < work->count; i++) {
        double gradient = at(work, work->norm->gradient, i);
        bracket_add_double(&r[S], &r[S], gradient);
        subtract_mean(work, DEVIATION, i);
        bracket_multiply_double(scratch, &r[DEVIATION], &r[DEVIATION], gradient);
        bracket_add(&r[D], &r[D], &r[DEVIATION]);
    }
    decide_vector(work, 2, S);
    bracket_divide(scratch, &r[VALUE], &r[D], &r[ROOT]);
    decide_vector(work, 1, VALUE);
    bracket_multiply(scratch, &r[DIVISOR], &r[RADICAND], &r[ROOT]);
    bracket_multiply_double(scratch, &r[DIVISOR], &r[DIVISOR], n);
    for (int64_t i = 0; i < work->count; i++) {
        if (work->open[i]) {
            bracket_set(&r[VALUE], at(work, work->norm->gradient, i));
            bracket_multiply_double(scratch, &r[VALUE], &r[VALUE], n);
            bracket_subtract(&r[VALUE], &r[VALUE], &r[S]);
            bracket_multiply(scratch, &r[VALUE], &r[VALUE], &r[RADICAND]);
            subtract_mean(work, DEVIATION, i);
            bracket_multiply(scratch, &r[DEVIATION], &r[DEVIATION], &r[D]);
            bracket_subtract(&r[VALUE], &r[VALUE], &r[DEVIATION]);
            finish_element(work, i);
        }
    }
}

static bool is_done(const struct work *work)
{
    bool open = work->vectors != 0;
    for (int64_t i = 0; i < work->count && !open; i++) {
        open = work->open[i];
    }
    return !open;
}

/* --- special values --- */

static bool all_finite(const struct work *work)
{
    const struct normalization *norm = work->norm;
    bool finite = isfinite(work->scale) && isfinite(work->offset) &&
                  isfinite(of_feature(work, norm->mean)) &&
                  isfinite(of_feature(work, norm->variance)) && isfinite(norm->epsilon);
    for (int64_t i = 0; i < work->count && finite; i++) {
        finite = isfinite(at(work, norm->x, i)) &&
                 (norm->gradient == NULL || isfinite(at(work, norm->gradient, i)));
    }
    return finite;
}

/* NaN is the positive one, whatever the processor made. */
static void store_plainly(struct literal *literal, int64_t index, double value)
{
    literal_set_double(literal, index, isnan(value) ? NAN : value);
}

/* The formulas of batchnorm.c in doubles. */
static void evaluate_plainly(const struct work *work)
{
    const struct normalization *norm = work->norm;
    double n = (double)work->count, sum = 0, squares = 0, scale_gradient = 0;
    double mean = of_feature(work, norm->mean), variance = of_feature(work, norm->variance);
    if (norm->kind == NORMALIZE_TRAINING) {
        for (int64_t i = 0; i < work->count; i++) {
            sum += at(work, norm->x, i);
        }
        mean = sum / n;
        for (int64_t i = 0; i < work->count; i++) {
            double deviation = at(work, norm->x, i) - mean;
            squares += deviation * deviation;
        }
        variance = squares / n;
    }
    double inverse = 1 / sqrt(variance + norm->epsilon);
    for (int64_t i = 0; i < work->count && norm->kind == NORMALIZE_GRADIENT; i++) {
        double gradient = at(work, norm->gradient, i);
        sum += gradient;
        scale_gradient += gradient * (at(work, norm->x, i) - mean);
    }
    scale_gradient *= inverse;
    for (int64_t i = 0; i < work->count; i++) {
        double value = at(work, norm->x, i) - mean;
        if (norm->kind == NORMALIZE_GRADIENT) {
            value = at(work, norm->gradient, i) - sum / n - value * inverse * scale_gradient / n;
        }
        value = value * inverse * work->scale + work->offset;
        store_plainly(norm->results[0], normalization_place(norm, work->feature, i), value);
    }
    if (norm->kind != NORMALIZE_INFERENCE) {
        bool training = norm->kind == NORMALIZE_TRAINING;
        store_plainly(norm->results[1], work->feature, training ? mean : scale_gradient);
        store_plainly(norm->results[2], work->feature, training ? variance : sum);
    }
}

void normalization_settle(struct normalization *norm, int64_t feature, unsigned char *open,
                          int vectors)
{
    static void (*const evaluate[])(struct work *) = {
        [NORMALIZE_TRAINING] = train,
        [NORMALIZE_INFERENCE] = infer,
        [NORMALIZE_GRADIENT] = differentiate,
    };
    struct work work = {.norm = norm,
                        .feature = feature,
                        .count = norm->outer * norm->inner,
                        .open = open,
                        .vectors = vectors};
    work.scale = of_feature(&work, norm->scale);
    work.offset = of_feature(&work, norm->offset);
    bool no_root = norm->variance != NULL && !(of_feature(&work, norm->variance) > -norm->epsilon);
    if (work.count == 0 || no_root || !all_finite(&work)) {
        evaluate_plainly(&work);
        return;
    }
    for (mpfr_prec_t precision = FIRST_PRECISION; !is_done(&work) && !poll_stopped(norm->poll);
         precision = precision * 2 < LAST_PRECISION ? precision * 2 : LAST_PRECISION) {
        work.last = precision == LAST_PRECISION;
        work.r = brackets_create(REGISTERS, precision);
        if (work.r == NULL) {
            norm->failed = true;
            return;
        }
        bracket_scratch_init(&work.scratch, precision);
        bracket_set(&work.r[N], (double)work.count);
        evaluate[norm->kind](&work);
        brackets_destroy(work.r, REGISTERS);
        bracket_scratch_finish(&work.scratch);
    }
}
