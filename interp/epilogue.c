/* Epilogues (epilogue.h): the graph in doubles with error bounds (epilogue_ball.c), then by MPFR.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/pool.h"
#include "hlo/floats.h"
#include "interp/epilogue_internal.h"
#include "interp/eval.h"
#include "interp/exact_internal.h"
#include "interp/poll.h"

enum { PRECISION = 240 };

bool epilogue_broadcast(const struct shape *result, const struct shape *operand, int64_t *strides)
{
    int64_t step = 1;
    memset(strides, 0, (size_t)(result->rank + 1) * sizeof *strides);
    if (!shape_is_array(operand) || operand->rank > result->rank) {
        return false;
    }
    for (int d = 1; d <= operand->rank; d++) {
        int64_t size = operand->dimensions[operand->rank - d];
        if (size != result->dimensions[result->rank - d] && size != 1) {
            return false;
        }
        strides[result->rank - d] = size == 1 ? 0 : step;
        step *= size;
    }
    return true;
}

int epilogue_add(struct epilogue *epilogue, struct epilogue_node node)
{
    if (epilogue->count == EPILOGUE_NODES) {
        return -1;
    }
    epilogue->nodes[epilogue->count] = node;
    return epilogue->count++;
}

/* --- one element --- */

static void activate_exactly(mpfr_t x, enum activation activation, double parameter)
{
    mpfr_t t, u;
    mpfr_inits2(PRECISION, t, u, (mpfr_ptr)0);
    bool negative = mpfr_sgn(x) <= 0;
    switch (activation) {
    case ACTIVATION_RELU:
        if (negative) {
            mpfr_set_zero(x, 1);
        }
        break;
    case ACTIVATION_CLIP:
        if (negative) {
            mpfr_set_zero(x, 1);
        } else if (mpfr_cmp_d(x, parameter) > 0) {
            mpfr_set_d(x, parameter, MPFR_RNDN);
        }
        break;
    case ACTIVATION_LEAKY_RELU:
        if (negative) {
            mpfr_mul_d(x, x, parameter, MPFR_RNDN);
        }
        break;
    case ACTIVATION_ELU:
        if (negative) {
            mpfr_expm1(x, x, MPFR_RNDN);
            mpfr_mul_d(x, x, parameter, MPFR_RNDN);
        }
        break;
    case ACTIVATION_TANH:
        mpfr_tanh(x, x, MPFR_RNDN);
        break;
    case ACTIVATION_SIGMOID:
    case ACTIVATION_SWISH:
    case ACTIVATION_GELU_TANH:
        if (activation == ACTIVATION_GELU_TANH) { /* 2 √(2/π) (x + 0.044715 x³) */
            mpfr_sqr(t, x, MPFR_RNDN);
            mpfr_set_str(u, "0.044715", 10, MPFR_RNDN);
            mpfr_mul(t, t, u, MPFR_RNDN);
            mpfr_add_ui(t, t, 1, MPFR_RNDN);
            mpfr_mul(t, t, x, MPFR_RNDN);
            mpfr_const_pi(u, MPFR_RNDN);
            mpfr_ui_div(u, 8, u, MPFR_RNDN);
            mpfr_sqrt(u, u, MPFR_RNDN);
            mpfr_mul(t, t, u, MPFR_RNDN);
        } else {
            mpfr_mul_d(t, x, activation == ACTIVATION_SWISH ? parameter : 1, MPFR_RNDN);
        }
        mpfr_neg(t, t, MPFR_RNDN);
        mpfr_exp(t, t, MPFR_RNDN);
        mpfr_add_ui(t, t, 1, MPFR_RNDN);
        if (activation == ACTIVATION_SIGMOID) {
            mpfr_ui_div(x, 1, t, MPFR_RNDN);
        } else {
            mpfr_div(x, x, t, MPFR_RNDN);
        }
        break;
    case ACTIVATION_GELU_ERF:
        mpfr_sqrt_ui(t, 2, MPFR_RNDN);
        mpfr_div(t, x, t, MPFR_RNDN);
        mpfr_neg(t, t, MPFR_RNDN);
        mpfr_erfc(t, t, MPFR_RNDN);
        mpfr_mul(x, x, t, MPFR_RNDN);
        mpfr_div_2ui(x, x, 1, MPFR_RNDN);
        break;
    default:
        break;
    }
    mpfr_clears(t, u, (mpfr_ptr)0);
}

/* The sum of an element to 106 bits and more: values[0] + values[1] + values[2]. Not finite: in
 * values[0]. */
static void exact_sum_of(const struct epilogue *epilogue, int64_t index, double values[3])
{
    struct exact_accumulator accumulator;
    exact_accumulator_init(&accumulator);
    epilogue->products(epilogue->context, index, &accumulator);
    for (int i = 0; i < 3; i++) {
        values[i] = exact_accumulator_round(&accumulator, TYPE_F64);
        if (!isfinite(values[i]) || values[i] == 0) {
            for (int k = i + (values[i] == 0 ? 0 : 1); k < 3; k++) {
                values[k] = 0;
            }
            return;
        }
        exact_accumulator_add(&accumulator, -values[i]);
    }
}

/* The same graph by MPFR, into `out`; the sum must be finite, and so must all operands. */
static void evaluate_exactly(const struct epilogue *epilogue, int last,
                             const struct epilogue_place *place, const double sum[3], mpfr_t out)
{
    mpfr_t values[EPILOGUE_NODES], b;
    mpfr_init2(b, PRECISION);
    for (int i = 0; i <= last; i++) {
        const struct epilogue_node *node = &epilogue->nodes[i];
        mpfr_init2(values[i], PRECISION);
        if (node->op == EPILOGUE_SUM) {
            mpfr_set_d(values[i], sum[2], MPFR_RNDN);
            mpfr_add_d(values[i], values[i], sum[1], MPFR_RNDN);
            mpfr_add_d(values[i], values[i], sum[0], MPFR_RNDN);
            continue;
        }
        if (node->b >= 0) {
            mpfr_set(b, values[node->b], MPFR_RNDN);
        } else {
            mpfr_set_d(b, epilogue_operand(node, place->operands[i]), MPFR_RNDN);
        }
        switch (node->op) {
        case EPILOGUE_SCALE:
            mpfr_mul_d(b, b, node->factor, MPFR_RNDN);
            mpfr_mul(values[i], values[node->a], b, MPFR_RNDN);
            break;
        case EPILOGUE_DIVIDE:
            mpfr_div(values[i], values[node->a], b, MPFR_RNDN);
            break;
        case EPILOGUE_ADD:
            mpfr_mul_d(b, b, node->factor, MPFR_RNDN);
            mpfr_add(values[i], values[node->a], b, MPFR_RNDN);
            break;
        case EPILOGUE_MINIMUM:
            mpfr_min(values[i], values[node->a], b, MPFR_RNDN);
            break;
        case EPILOGUE_MAXIMUM:
            mpfr_max(values[i], values[node->a], b, MPFR_RNDN);
            break;
        default:
            mpfr_set(values[i], values[node->a], MPFR_RNDN);
            activate_exactly(values[i], node->activation, node->parameter);
        }
    }
    mpfr_set_prec(out, PRECISION);
    mpfr_set(out, values[last], MPFR_RNDN);
    for (int i = 0; i <= last; i++) {
        mpfr_clear(values[i]);
    }
    mpfr_clear(b);
}

/* --- all elements --- */

struct job {
    const struct epilogue *epilogue;
    int last;
    struct literal *to; /* NULL: only the largest magnitude is wanted */
    double *magnitudes; /* [elements], of type `type` */
    enum type type;
    struct poll *poll;
};

static double saturated(const struct job *job, double value)
{
    double most = float_max(job->type);
    return !job->epilogue->saturate || isnan(value) ? value : fmin(fmax(value, -most), most);
}

/* The double that is stored: rounded once to the type. */
static double rounded(const struct job *job, double value)
{
    if (!type_is_float(job->type)) {
        return isnan(value) ? 0 : nearbyint(value);
    }
    return float_round(job->type, saturated(job, value));
}

static double exactly(const struct job *job, const struct epilogue_place *place)
{
    double sum[3];
    exact_sum_of(job->epilogue, place->sum, sum);
    bool finite = isfinite(sum[0]);
    for (int i = 0; i <= job->last && finite; i++) {
        const struct epilogue_node *node = &job->epilogue->nodes[i];
        finite = node->operand == NULL ||
                 (isfinite(epilogue_operand(node, place->operands[i])) &&
                  (node->op != EPILOGUE_DIVIDE || epilogue_operand(node, place->operands[i]) != 0));
    }
    if (!finite) {
        struct ball ball = epilogue_ball(job->epilogue, job->last, place, (struct ball){sum[0], 0});
        return rounded(job, ball.value);
    }
    mpfr_t value;
    mpfr_init2(value, PRECISION);
    evaluate_exactly(job->epilogue, job->last, place, sum, value);
    double result;
    double most = type_is_float(job->type) ? float_max(job->type) : 0;
    if (!type_is_float(job->type)) {
        mpfr_rint(value, value, MPFR_RNDN);
        result = mpfr_get_d(value, MPFR_RNDN);
    } else if (job->epilogue->saturate && mpfr_cmpabs(value, value) == 0 &&
               mpfr_cmp_d(value, most) > 0) {
        result = most;
    } else if (job->epilogue->saturate && mpfr_cmp_d(value, -most) < 0) {
        result = -most;
    } else {
        result = exact_from_mpfr(job->type, value, true);
        result = mpfr_zero_p(value) ? 0 : result;
    }
    mpfr_clear(value);
    return result;
}

/* Whether all of a ball rounds alike; to what. */
static bool is_decided(const struct job *job, struct ball ball, double *value)
{
    double low = rounded(job, ball.value - ball.radius * 1.001);
    double high = rounded(job, ball.value + ball.radius * 1.001);
    /* Around zero the sign is not certain. */
    bool sure = low != 0 || ball.radius == 0 || ball.radius < fabs(ball.value);
    *value = high;
    return low == high && sure;
}

static double element_value(const struct job *job, const struct epilogue_place *place)
{
    if (job->epilogue->sums == NULL) {
        return exactly(job, place);
    }
    struct ball sum = epilogue_sum(job->epilogue, place->sum);
    if (isnan(sum.value)) {
        return rounded(job, epilogue_ball(job->epilogue, job->last, place, sum).value);
    }
    double value;
    struct ball ball = epilogue_ball(job->epilogue, job->last, place, sum);
    bool decided = isfinite(sum.value) && is_decided(job, ball, &value);
    return decided ? value : exactly(job, place);
}

static void place_at(const struct epilogue *epilogue, int last, const int64_t *index,
                     struct epilogue_place *place)
{
    const struct shape *shape = epilogue->shape;
    place->sum = 0;
    for (int d = 0; d < shape->rank; d++) {
        place->sum += index[d] * epilogue->sum_strides[d];
    }
    for (int i = 0; i <= last; i++) {
        place->operands[i] = 0;
        for (int d = 0; epilogue->nodes[i].operand != NULL && d < shape->rank; d++) {
            place->operands[i] += index[d] * epilogue->nodes[i].strides[d];
        }
    }
}

static void index_of(const struct shape *shape, int64_t i, int64_t *index)
{
    for (int d = shape->rank - 1; d >= 0; d--) {
        index[d] = i % shape->dimensions[d];
        i /= shape->dimensions[d];
    }
}

static void next_index(const struct shape *shape, int64_t *index)
{
    for (int d = shape->rank - 1; d >= 0 && ++index[d] == shape->dimensions[d]; d--) {
        index[d] = 0;
    }
}

static void store(const struct job *job, int64_t i, double value)
{
    if (job->to == NULL) {
        job->magnitudes[i] = fabs(value);
    } else {
        int bits = type_bits(job->type);
        bool is_signed = type_kind(job->type) == KIND_SIGNED;
        double most = ldexp(1, bits - is_signed) - 1, least = is_signed ? -most - 1 : 0;
        value = fmin(fmax(value, least), most);
        literal_set_int(job->to, i,
                        value >= 0x1p63
                            ? (bits > 63 && !is_signed ? (int64_t)(uint64_t)value : INT64_MAX)
                            : (int64_t)value);
    }
}

/* `count` elements from *place on, side by side in the result. */
static void run_strip(const struct job *job, struct epilogue_place *place, int64_t first,
                      int64_t count)
{
    const struct epilogue *epilogue = job->epilogue;
    const int inner = epilogue->shape->rank - 1;
    struct epilogue_strip strip;
    double low[EPILOGUE_STRIP], high[EPILOGUE_STRIP];
    const bool balls = epilogue->sums != NULL && type_is_float(job->type);
    if (balls) {
        epilogue_balls(epilogue, job->last, place, count, &strip);
        for (int64_t i = 0; i < count; i++) {
            low[i] = strip.value[i] - strip.radius[i] * 1.001;
            high[i] = strip.value[i] + strip.radius[i] * 1.001;
        }
        for (int64_t i = 0; epilogue->saturate && i < count; i++) {
            low[i] = saturated(job, low[i]);
            high[i] = saturated(job, high[i]);
        }
        float_round_array(job->type, low, low, count);
        float_round_array(job->type, high, high, count);
    }
    for (int64_t i = 0; i < count; i++) {
        /* Around zero the sign is not certain. NaN is left to element_value. */
        bool sure = balls && low[i] == high[i] &&
                    (low[i] != 0 || strip.radius[i] == 0 || strip.radius[i] < fabs(strip.value[i]));
        if (!sure || !isfinite(high[i])) {
            high[i] = element_value(job, place);
        }
        place->sum += inner < 0 ? 0 : epilogue->sum_strides[inner];
        for (int k = 0; k <= job->last; k++) {
            place->operands[k] += inner < 0 ? 0 : epilogue->nodes[k].strides[inner];
        }
    }
    if (job->to != NULL && type_is_float(job->type)) {
        float_store(job->type, high, (char *)literal_data(job->to) + first * type_bytes(job->type),
                    count);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        store(job, first + i, high[i]);
    }
}

static void run(void *context, int64_t begin, int64_t end)
{
    const struct job *job = context;
    const struct shape *shape = job->epilogue->shape;
    const int inner = shape->rank - 1;
    int64_t index[SHAPE_MAX_RANK];
    struct epilogue_place place;
    for (int64_t i = begin, count; i < end && !poll_stopped(job->poll); i += count) {
        index_of(shape, i, index);
        place_at(job->epilogue, job->last, index, &place);
        count = inner < 0 ? 1 : shape->dimensions[inner] - index[inner];
        count = count < end - i ? count : end - i;
        count = count < EPILOGUE_STRIP ? count : EPILOGUE_STRIP;
        run_strip(job, &place, i, count);
    }
}

bool epilogue_apply(const struct epilogue *epilogue, int node, struct literal *to,
                    struct error *err)
{
    (void)err;
    struct job job = {.epilogue = epilogue,
                      .last = node,
                      .to = to,
                      .type = to->shape->type,
                      .poll = poll_current()};
    pool_for(shape_elements(epilogue->shape), 256, run, &job);
    bool marked = epilogue->sums != NULL && literal_has_unspecified(epilogue->sums);
    for (int i = 0; i <= node; i++) {
        marked |= epilogue->nodes[i].operand != NULL &&
                  literal_has_unspecified(epilogue->nodes[i].operand);
    }
    int64_t index[SHAPE_MAX_RANK] = {0};
    struct epilogue_place place;
    for (int64_t i = 0; marked && i < shape_elements(epilogue->shape); i++) {
        place_at(epilogue, node, index, &place);
        bool open = epilogue->sums != NULL && literal_is_unspecified(epilogue->sums, place.sum);
        for (int k = 0; k <= node; k++) {
            open |= epilogue->nodes[k].operand != NULL &&
                    literal_is_unspecified(epilogue->nodes[k].operand, place.operands[k]);
        }
        if (open) {
            literal_mark_unspecified(to, i);
        }
        next_index(epilogue->shape, index);
    }
    return true;
}

bool epilogue_amax(const struct epilogue *epilogue, int node, struct literal *to, struct error *err)
{
    int64_t count = shape_elements(epilogue->shape);
    struct job job = {.epilogue = epilogue,
                      .last = node,
                      .magnitudes = malloc((size_t)count * sizeof(double) + 1),
                      .type = to->shape->type,
                      .poll = poll_current()};
    if (job.magnitudes == NULL) {
        return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for %lld magnitudes",
                         (long long)count);
    }
    pool_for(count, 256, run, &job);
    double most = 0;
    for (int64_t i = 0; i < count; i++) {
        most = isnan(job.magnitudes[i]) || job.magnitudes[i] > most ? job.magnitudes[i] : most;
    }
    free(job.magnitudes);
    literal_set_double(to, 0, most);
    return true;
}
