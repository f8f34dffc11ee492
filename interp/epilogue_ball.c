/* Epilogues (epilogue.h) in doubles with error bounds: one element, and strips of them. */
#include <math.h>
#include <string.h>

#include "interp/epilogue_internal.h"

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

static inline struct ball round_off(double value, double radius)
{
    return (struct ball){value, (radius + fabs(value) * unit) * 1.0000001 + 0x1p-1074};
}

static inline struct ball times(struct ball b, double factor)
{
    return factor == 1 ? b : round_off(b.value * factor, b.radius * fabs(factor));
}

static inline struct ball scale(struct ball a, struct ball b, double factor)
{
    struct ball c = times(b, factor);
    double radius = fabs(a.value) * c.radius + fabs(c.value) * a.radius + a.radius * c.radius;
    return c.value == 1 && c.radius == 0 ? a : round_off(a.value * c.value, radius);
}

static inline struct ball add(struct ball a, struct ball b, double factor)
{
    struct ball c = times(b, factor);
    double sum = a.value + c.value;
    bool exact = a.value == 0 || c.value == 0;
    struct ball rounded = round_off(sum, a.radius + c.radius);
    return (struct ball){sum, exact ? a.radius + c.radius : rounded.radius};
}

/* max(a, 0): zero for certain where the whole ball is below it. */
static inline struct ball relu(struct ball a)
{
    double value = a.value <= 0 ? 0 : a.value;
    return (struct ball){value, a.value + a.radius <= 0 ? 0 : a.radius};
}

static struct ball step(const struct epilogue_node *node, struct ball a, struct ball b)
{
    double slack;
    switch (node->op) {
    case EPILOGUE_SCALE:
        return scale(a, b, node->factor);
    case EPILOGUE_DIVIDE: {
        double value = a.value / b.value;
        double low = fabs(b.value) - b.radius;
        double radius = low > 0 ? (a.radius + fabs(value) * b.radius) / low : (double)INFINITY;
        return round_off(value, b.radius == 0 && b.value == 0 ? 0 : radius);
    }
    case EPILOGUE_ADD:
        return add(a, b, node->factor);
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

struct ball epilogue_sum(const struct epilogue *epilogue, int64_t index)
{
    double sum = literal_get_double(epilogue->sums, index);
    if (epilogue->bounds != NULL) {
        return (struct ball){sum, literal_get_double(epilogue->bounds, index)};
    }
    bool narrow = epilogue->sums->shape->type == TYPE_F32;
    return (struct ball){sum,
                         narrow ? fabs(sum) * 0x1p-24 + 0x1p-150 : fabs(sum) * 0x1p-53 + 0x1p-1074};
}

struct ball epilogue_ball(const struct epilogue *epilogue, int last,
                          const struct epilogue_place *place, struct ball sum)
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
        } else {
            b.value = epilogue_operand(node, place->operands[i]);
        }
        values[i] = step(node, values[node->a], b);
    }
    return values[last];
}

/* --- strips --- */

/* out[i] = element `at + i * stride`. */
static void load(const struct literal *literal, int64_t at, int64_t stride, int64_t count,
                 double *out)
{
    if (literal->shape->type == TYPE_F32) {
        const float *data = (const float *)literal_data(literal) + at;
        for (int64_t i = 0; i < count; i++) {
            out[i] = (double)data[i * stride];
        }
    } else if (literal->shape->type == TYPE_F64) {
        const double *data = (const double *)literal_data(literal) + at;
        for (int64_t i = 0; i < count; i++) {
            out[i] = data[i * stride];
        }
    } else if (stride == 0) {
        double value = literal_get_double(literal, at);
        for (int64_t i = 0; i < count; i++) {
            out[i] = value;
        }
    } else {
        for (int64_t i = 0; i < count; i++) {
            out[i] = literal_get_double(literal, at + i * stride);
        }
    }
}

static void load_sums(const struct epilogue *epilogue, int64_t at, int64_t stride, int64_t count,
                      struct epilogue_strip *out)
{
    load(epilogue->sums, at, stride, count, out->value);
    if (epilogue->bounds != NULL) {
        load(epilogue->bounds, at, stride, count, out->radius);
        return;
    }
    bool narrow = epilogue->sums->shape->type == TYPE_F32;
    double slack = narrow ? 0x1p-24 : 0x1p-53, floor = narrow ? 0x1p-150 : 0x1p-1074;
    for (int64_t i = 0; i < count; i++) {
        out->radius[i] = fabs(out->value[i]) * slack + floor;
    }
}

static void step_strip(const struct epilogue_node *node, const struct epilogue_strip *a,
                       const struct epilogue_strip *b, int64_t count, struct epilogue_strip *out)
{
#define EACH(of_x_y)                                       \
    for (int64_t i = 0; i < count; i++) {                  \
        const struct ball x = {a->value[i], a->radius[i]}; \
        const struct ball y = {b->value[i], b->radius[i]}; \
        const struct ball result = of_x_y;                 \
        (void)y;                                           \
        out->value[i] = result.value;                      \
        out->radius[i] = result.radius;                    \
    }
    if (node->op == EPILOGUE_ADD && node->factor == 1) {
        EACH(add(x, y, 1))
    } else if (node->op == EPILOGUE_ADD) {
        EACH(add(x, y, node->factor))
    } else if (node->op == EPILOGUE_SCALE) {
        EACH(scale(x, y, node->factor))
    } else if (node->op == EPILOGUE_ACTIVATE && node->activation == ACTIVATION_RELU) {
        EACH(relu(x))
    } else {
        EACH(step(node, x, y))
    }
#undef EACH
}

void epilogue_balls(const struct epilogue *epilogue, int last, const struct epilogue_place *place,
                    int64_t count, struct epilogue_strip *out)
{
    struct epilogue_strip values[EPILOGUE_NODES], other;
    int inner = epilogue->shape->rank - 1;
    for (int i = 0; i <= last; i++) {
        const struct epilogue_node *node = &epilogue->nodes[i];
        struct epilogue_strip *to = i == last ? out : &values[i];
        if (node->op == EPILOGUE_SUM) {
            load_sums(epilogue, place->sum, inner < 0 ? 0 : epilogue->sum_strides[inner], count,
                      to);
            continue;
        }
        if (node->b < 0) {
            memset(other.radius, 0, sizeof other.radius);
            if (node->operand != NULL) {
                load(node->operand, place->operands[i], inner < 0 ? 0 : node->strides[inner], count,
                     other.value);
            } else {
                for (int64_t k = 0; k < count; k++) {
                    other.value[k] = 1;
                }
            }
        }
        step_strip(node, &values[node->a], node->b < 0 ? &other : &values[node->b], count, to);
    }
}
