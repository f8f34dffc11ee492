/* Epilogues (epilogue.h): the graph in doubles with error bounds, then by MPFR. */
#include "interp/epilogue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/pool.h"
#include "hlo/floats.h"
#include "interp/eval.h"
#include "interp/exact_internal.h"
#include "interp/poll.h"

enum { PRECISION = 240 };

/* A value and a bound of its error. */
struct ball {
    double value, radius;
};

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

/* --- in doubles --- */

/* f(x) in doubles; *slack: its relative error in units of 2^-50. */
static double activate(enum activation activation, double parameter, double x, double *slack)
{
    *slack = 1;
    switch (activation) {
    case ACTIVATION_RELU:
        return x > 0 ? x : isnan(x) ? x : 0;
    case ACTIVATION_CLIP:
        return x > parameter ? parameter : x > 0 ? x : isnan(x) ? x : 0;
    case ACTIVATION_LEAKY_RELU:
        return x > 0 ? x : parameter * x;
    case ACTIVATION_ELU:
        return x > 0 ? x : parameter * expm1(x);
    case ACTIVATION_TANH:
        return tanh(x);
    case ACTIVATION_SIGMOID:
        return 1 / (1 + exp(-x));
    case ACTIVATION_SWISH:
        *slack = 1 + fabs(parameter * x);
        return x == -INFINITY ? 0 : x / (1 + exp(-parameter * x));
    case ACTIVATION_GELU_TANH: {
        double u = 2 * 0.79788456080286535588 * (x + 0.044715 * x * x * x);
        *slack = 4 + 4 * fabs(u);
        return x == -INFINITY ? 0 : x / (1 + exp(-u));
    }
    case ACTIVATION_GELU_ERF:
        *slack = 4 + 4 * x * x;
        return x == -INFINITY ? 0 : 0.5 * x * erfc(-x * 0.70710678118654752440);
    default:
        *slack = 0;
        return x;
    }
}

/* A bound of |f'|. */
static double steepness(enum activation activation, double parameter)
{
    switch (activation) {
    case ACTIVATION_LEAKY_RELU:
    case ACTIVATION_ELU:
        return fmax(1, fabs(parameter));
    case ACTIVATION_SWISH:
    case ACTIVATION_GELU_TANH:
    case ACTIVATION_GELU_ERF:
        return 1.2;
    default:
        return 1;
    }
}

/* A bound of |f'| / |f| at x and near it, infinite where there is none of use: what an error of x
 * is relative to a small f. */
static double relative_steepness(enum activation activation, double parameter, double x)
{
    double size = fabs(x);
    if (size < 1) {
        return INFINITY;
    }
    switch (activation) {
    case ACTIVATION_SWISH:
        return 1.25 * (1 / size + fabs(parameter));
    case ACTIVATION_GELU_TANH: /* 2 u' = 2 √(2/π) (1 + 3 · 0.044715 x²) */
        return 1.25 * (1 / size + 1.6 * (1 + 0.14 * x * x));
    case ACTIVATION_GELU_ERF: /* φ(x) / Φ(x) < |x| + 1 / |x| below 0 */
        return 1.25 * (2 / size + size);
    default:
        return INFINITY;
    }
}

static const double unit = 0x1p-53;

static struct ball round_off(double value, double radius)
{
    return (struct ball){value, (radius + fabs(value) * unit) * 1.0000001 + 0x1p-1074};
}

static struct ball step(const struct epilogue_node *node, struct ball a, struct ball b)
{
    double slack;
    switch (node->op) {
    case EPILOGUE_SCALE: {
        struct ball c = b;
        if (node->factor != 1) {
            c = round_off(b.value * node->factor, b.radius * fabs(node->factor));
        }
        if (c.value == 1 && c.radius == 0) {
            return a;
        }
        double radius = fabs(a.value) * c.radius + fabs(c.value) * a.radius + a.radius * c.radius;
        return round_off(a.value * c.value, radius);
    }
    case EPILOGUE_DIVIDE: {
        double value = a.value / b.value;
        double low = fabs(b.value) - b.radius;
        double radius = low > 0 ? (a.radius + fabs(value) * b.radius) / low : (double)INFINITY;
        return round_off(value, b.radius == 0 && b.value == 0 ? 0 : radius);
    }
    case EPILOGUE_ADD: {
        struct ball c = b;
        if (node->factor != 1) {
            c = round_off(b.value * node->factor, b.radius * fabs(node->factor));
        }
        double sum = a.value + c.value;
        bool exact = a.value == 0 || c.value == 0;
        return exact ? (struct ball){sum, a.radius + c.radius}
                     : round_off(sum, a.radius + c.radius);
    }
    case EPILOGUE_MINIMUM:
    case EPILOGUE_MAXIMUM: {
        double value = isnan(a.value) || isnan(b.value) ? NAN
                       : node->op == EPILOGUE_MINIMUM   ? fmin(a.value, b.value)
                                                        : fmax(a.value, b.value);
        return (struct ball){value, fmax(a.radius, b.radius)};
    }
    case EPILOGUE_ACTIVATE: {
        double value = activate(node->activation, node->parameter, a.value, &slack);
        bool simple = node->activation == ACTIVATION_RELU || node->activation == ACTIVATION_CLIP;
        double radius = a.radius * steepness(node->activation, node->parameter);
        double relative = relative_steepness(node->activation, node->parameter, a.value) * a.radius;
        if (relative < 0.01) {
            radius = fmin(radius, fabs(value) * relative * 1.1);
        }
        if (simple) {
            /* Zero for certain where the whole ball is below it. */
            return (struct ball){value, a.value + a.radius <= 0 ? 0 : radius};
        }
        return round_off(value, radius + fabs(value) * slack * 0x1p-50);
    }
    default:
        return a;
    }
}

/* --- one element --- */

struct place {
    int64_t sum;                      /* index into the sums */
    int64_t operands[EPILOGUE_NODES]; /* into the operands */
};

static double element(const struct epilogue_node *node, int64_t index)
{
    return node->operand == NULL ? 1 : literal_get_double(node->operand, index);
}

static struct ball evaluate(const struct epilogue *epilogue, int last, const struct place *place,
                            struct ball sum)
{
    struct ball values[EPILOGUE_NODES];
    for (int i = 0; i <= last; i++) {
        const struct epilogue_node *node = &epilogue->nodes[i];
        if (node->op == EPILOGUE_SUM) {
            values[i] = sum;
            continue;
        }
        struct ball b = {1, 0};
        if (node->b >= 0) {
            b = values[node->b];
        } else if (node->operand != NULL) {
            b.value = element(node, place->operands[i]);
        }
        values[i] = step(node, values[node->a], b);
    }
    return values[last];
}

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
static void evaluate_exactly(const struct epilogue *epilogue, int last, const struct place *place,
                             const double sum[3], mpfr_t out)
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
            mpfr_set_d(b, element(node, place->operands[i]), MPFR_RNDN);
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
    double slack, floor; /* error of the sums: slack * |sum| + floor */
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

static double exactly(const struct job *job, const struct place *place)
{
    double sum[3];
    exact_sum_of(job->epilogue, place->sum, sum);
    bool finite = isfinite(sum[0]);
    for (int i = 0; i <= job->last && finite; i++) {
        const struct epilogue_node *node = &job->epilogue->nodes[i];
        finite = node->operand == NULL ||
                 (isfinite(element(node, place->operands[i])) &&
                  (node->op != EPILOGUE_DIVIDE || element(node, place->operands[i]) != 0));
    }
    if (!finite) {
        struct ball ball = evaluate(job->epilogue, job->last, place, (struct ball){sum[0], 0});
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

static double element_value(const struct job *job, const struct place *place)
{
    const struct literal *sums = job->epilogue->sums;
    if (sums == NULL) {
        return exactly(job, place);
    }
    double sum = literal_get_double(sums, place->sum);
    if (!isfinite(sum)) {
        return exactly(job, place);
    }
    struct ball ball = evaluate(
        job->epilogue, job->last, place,
        (struct ball){sum, sum == 0 && job->floor == 0 ? 0 : fabs(sum) * job->slack + job->floor});
    if (isnan(ball.value)) {
        return exactly(job, place);
    }
    double low = rounded(job, ball.value - ball.radius * 1.001);
    double high = rounded(job, ball.value + ball.radius * 1.001);
    /* Around zero the sign is not certain. */
    bool sure = low != 0 || ball.radius == 0 || ball.radius < fabs(ball.value);
    return low == high && sure ? high : exactly(job, place);
}

static void place_at(const struct epilogue *epilogue, int last, const int64_t *index,
                     struct place *place)
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
    } else if (type_is_float(job->type)) {
        literal_set_double(job->to, i, value);
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

static void run(void *context, int64_t begin, int64_t end)
{
    const struct job *job = context;
    const struct shape *shape = job->epilogue->shape;
    int64_t index[SHAPE_MAX_RANK];
    struct place place;
    index_of(shape, begin, index);
    for (int64_t i = begin; i < end && (i % 64 != 0 || !poll_stopped(job->poll)); i++) {
        place_at(job->epilogue, job->last, index, &place);
        store(job, i, element_value(job, &place));
        next_index(shape, index);
    }
}

static void prepare(struct job *job)
{
    job->poll = poll_current();
    const struct literal *sums = job->epilogue->sums;
    if (sums != NULL && sums->shape->type == TYPE_F32) {
        job->slack = 0x1p-24;
        job->floor = 0x1p-150;
    } else if (sums != NULL) {
        job->slack = 0x1p-53;
        job->floor = 0x1p-1074;
    }
}

bool epilogue_apply(const struct epilogue *epilogue, int node, struct literal *to,
                    struct error *err)
{
    (void)err;
    struct job job = {.epilogue = epilogue, .last = node, .to = to, .type = to->shape->type};
    prepare(&job);
    pool_for(shape_elements(epilogue->shape), 256, run, &job);
    bool marked = epilogue->sums != NULL && literal_has_unspecified(epilogue->sums);
    for (int i = 0; i <= node; i++) {
        marked |= epilogue->nodes[i].operand != NULL &&
                  literal_has_unspecified(epilogue->nodes[i].operand);
    }
    int64_t index[SHAPE_MAX_RANK] = {0};
    struct place place;
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
                      .type = to->shape->type};
    if (job.magnitudes == NULL) {
        return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for %lld magnitudes",
                         (long long)count);
    }
    prepare(&job);
    pool_for(count, 256, run, &job);
    double most = 0;
    for (int64_t i = 0; i < count; i++) {
        most = isnan(job.magnitudes[i]) || job.magnitudes[i] > most ? job.magnitudes[i] : most;
    }
    free(job.magnitudes);
    literal_set_double(to, 0, most);
    return true;
}
