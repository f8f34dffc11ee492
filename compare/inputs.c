/* Drawing inputs. Every strip of 4096 elements has its own stream, seeded by (seed, parameter,
 * leaf, strip), so that the values do not depend on how the work is split. */
#include "compare/inputs.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/constraints.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/map.h"
#include "hlo/base/pool.h"
#include "hlo/base/rng.h"
#include "hlo/base/text.h"
#include "hlo/floats.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/verify.h"

enum { STRIP = 4096 };

struct drawing {
    const struct input_options *options;
    const struct constraint *constraint;
    struct literal *literal;
    uint64_t stream;
    double low, high; /* of floats */
};

/* Values at the edges of a type; only those that the type has are used. */
static double boundary_value(enum type type, struct rng *rng)
{
    double values[] = {0.0,
                       float_has_negative_zero(type) ? -0.0 : 0.0,
                       1.0,
                       -1.0,
                       float_max(type),
                       -float_max(type),
                       float_min_normal(type),
                       -float_min_normal(type),
                       float_min_positive(type),
                       float_has_infinity(type) ? INFINITY : 1.0,
                       float_has_infinity(type) ? -INFINITY : 1.0,
                       float_has_nan(type) ? NAN : 0.0};
    return values[rng_below(rng, sizeof values / sizeof *values)];
}

/* Log-uniform over the exponents of the type, either sign, now and then a special value
 * (xla/literal_util.cc, use_large_range). */
static double large_value(enum type type, struct rng *rng)
{
    static const double specials[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY};
    if (rng_below(rng, 1 << 20) < 6) {
        return specials[rng_below(rng, 6)];
    }
    double low = log2(float_min_normal(type)), high = log2(float_max(type));
    double magnitude = exp2(low + (high - low) * rng_uniform(rng));
    return rng_next(rng) & 1 ? magnitude : -magnitude;
}

static double draw_float(const struct drawing *drawing, enum type type, struct rng *rng)
{
    const struct constraint *c = drawing->constraint;
    if (drawing->options->boundary_values && rng_below(rng, 8) == 0) {
        return boundary_value(type, rng);
    }
    if (drawing->options->large_range && !c->has_range) {
        return large_value(type, rng);
    }
    double value = drawing->low + (drawing->high - drawing->low) * rng_uniform(rng);
    if (c->nonzero) {
        double least = (drawing->high - drawing->low) / 16;
        if (fabs(value) < least) {
            value = value < 0 || drawing->high <= 0 ? value - least : value + least;
        }
    }
    return value;
}

/* The range of a float leaf: what is demanded, else by fan-in and tameness. */
static void float_range(struct drawing *drawing)
{
    const struct constraint *c = drawing->constraint;
    double reach = 1.0;
    if (c->fan_in > 1) { /* keeps the variance of sums of products at about that of the inputs */
        reach = fmin(1.0, sqrt(3.0 / (double)c->fan_in) * 1.5);
    }
    for (int i = 0; i < drawing->options->tameness; i++) {
        reach /= 8;
    }
    drawing->low = -reach;
    drawing->high = reach;
    if (c->has_range) {
        drawing->low = c->low;
        drawing->high = c->high;
        if (drawing->options->tameness > 0 && isfinite(c->low) && isfinite(c->high)) {
            double middle = (c->low + c->high) / 2, half = (c->high - c->low) / 8;
            drawing->low = fmax(c->low, fmin(middle, c->low + half));
            drawing->high = drawing->low + half;
        }
    }
}

static void fill_floats(void *context, int64_t begin, int64_t end)
{
    const struct drawing *drawing = context;
    struct literal *literal = drawing->literal;
    enum type type = literal->shape->type, part = type_part(type);
    int64_t parts = type_is_complex(type) ? 2 : 1, total = parts * literal_elements(literal);
    double values[STRIP];
    for (int64_t strip = begin; strip < end; strip++) {
        struct rng rng;
        rng_init(&rng, hash_u64((uint64_t)strip, drawing->stream));
        int64_t first = strip * STRIP, count = total - first < STRIP ? total - first : STRIP;
        for (int64_t i = 0; i < count; i++) {
            values[i] = draw_float(drawing, part, &rng);
        }
        float_store(part, values, (char *)literal_data(literal) + first * type_bytes(part), count);
    }
}

static int64_t type_low(enum type type)
{
    return type_kind(type) == KIND_SIGNED ? INT64_MIN >> (64 - type_bits(type)) : 0;
}

/* u64's highest value does not fit; half of it does. */
static int64_t type_high(enum type type)
{
    int bits = type_kind(type) == KIND_SIGNED ? type_bits(type) - 1 : type_bits(type);
    return bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
}

static int64_t draw_int(const struct drawing *drawing, enum type type, struct rng *rng)
{
    const struct constraint *c = drawing->constraint;
    int64_t low = type_low(type), high = type_high(type);
    if (c->has_range) {
        low = c->low > (double)low ? (int64_t)c->low : low;
        high = c->high < (double)high ? (int64_t)c->high : high;
        high = high < low ? low : high;
        return (int64_t)((uint64_t)low + rng_below(rng, (uint64_t)(high - low) + 1));
    }
    if (drawing->options->boundary_values && rng_below(rng, 8) == 0) {
        int64_t values[] = {low, high, 0, 1, -1, low + 1, high - 1};
        int64_t value = values[rng_below(rng, 7)];
        return value < low ? 0 : value;
    }
    if (drawing->options->tameness > 0) {
        low = low < -8 ? -8 : low;
        high = high > 8 ? 8 : high;
        int64_t value = low + (int64_t)rng_below(rng, (uint64_t)(high - low) + 1);
        /* Products of odd numbers are never zero, however many. */
        bool even = value % 2 == 0;
        return drawing->options->tameness > 1 && even ? (value > low ? value - 1 : value + 1)
                                                      : value;
    }
    /* Half over the whole type, half small: both wrap-around and ordinary use are seen. */
    uint64_t bits = rng_next(rng);
    if (bits & 1) {
        bits >>= 64 - 6;
        return (int64_t)(bits % 13) - (low < 0 ? 6 : 0);
    }
    return (int64_t)(rng_next(rng));
}

static void fill_ints(void *context, int64_t begin, int64_t end)
{
    const struct drawing *drawing = context;
    struct literal *literal = drawing->literal;
    enum type type = literal->shape->type;
    int64_t total = literal_elements(literal);
    for (int64_t strip = begin; strip < end; strip++) {
        struct rng rng;
        rng_init(&rng, hash_u64((uint64_t)strip, drawing->stream));
        int64_t first = strip * STRIP, last = first + STRIP < total ? first + STRIP : total;
        for (int64_t i = first; i < last; i++) {
            if (type == TYPE_PRED) {
                literal_set_bits(literal, i, rng_next(&rng) >> 63);
            } else {
                literal_set_int(literal, i, draw_int(drawing, type, &rng));
            }
        }
    }
}

static void shuffle(int64_t *values, int64_t count, uint64_t stream)
{
    struct rng rng;
    rng_init(&rng, stream);
    for (int64_t i = count - 1; i > 0; i--) {
        int64_t k = (int64_t)rng_below(&rng, (uint64_t)i + 1);
        int64_t swap = values[i];
        values[i] = values[k];
        values[k] = swap;
    }
}

/* Sort keys and unique indices: a shuffled stretch of numbers. Floats take consecutive values of
 * their type around zero, or evenly spaced ones where there are enough; when the type has too few
 * values they repeat. */
static void fill_distinct(const struct drawing *drawing)
{
    struct literal *literal = drawing->literal;
    enum type type = literal->shape->type;
    int64_t count = literal_elements(literal);
    int64_t *order = memory_alloc(((size_t)count + 1) * sizeof *order);
    for (int64_t i = 0; i < count; i++) {
        order[i] = i;
    }
    if (!drawing->constraint->sorted) {
        shuffle(order, count, drawing->stream);
    }
    for (int64_t i = 0; i < count; i++) {
        if (type_is_float(type)) {
            double step = (drawing->high - drawing->low) / (double)(count > 1 ? count : 2);
            int bits = float_formats[type].mantissa_bits;
            if (count < (int64_t)1 << bits) {
                literal_set_double(literal, i, drawing->low + step * (double)order[i]);
                continue;
            }
            /* Values of the type one after the other, over both signs. */
            int64_t half = ((int64_t)1 << (type_bits(type) - 1)) - 1;
            int64_t finite = (int64_t)float_from_double(type, float_max(type));
            int64_t rank = order[i] % (2 * (finite < half ? finite : half)) - finite;
            uint64_t sign = rank < 0 ? (uint64_t)1 << (type_bits(type) - 1) : 0;
            literal_set_bits(literal, i, sign | (uint64_t)(rank < 0 ? -rank : rank));
        } else if (drawing->constraint->has_range) {
            int64_t low = (int64_t)drawing->constraint->low;
            int64_t span = (int64_t)(drawing->constraint->high - drawing->constraint->low) + 1;
            literal_set_int(literal, i, low + order[i] % span);
        } else {
            int64_t middle = type_kind(type) == KIND_SIGNED ? count / 2 : 0;
            literal_set_int(literal, i, order[i] - middle);
        }
    }
    free(order);
}

static int compare_ints(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void sort_ints(struct literal *literal)
{
    int64_t count = literal_elements(literal);
    int64_t *values = memory_alloc(((size_t)count + 1) * sizeof *values);
    for (int64_t i = 0; i < count; i++) {
        values[i] = literal_get_int(literal, i);
    }
    qsort(values, (size_t)count, sizeof *values, compare_ints);
    for (int64_t i = 0; i < count; i++) {
        literal_set_int(literal, i, values[i]);
    }
    free(values);
}

static void fill_identity(struct literal *literal, enum identity identity)
{
    enum type type = literal->shape->type;
    int64_t count = literal_elements(literal);
    for (int64_t i = 0; i < count; i++) {
        bool is_float = type_is_float(type);
        double limit = is_float && float_has_infinity(type) ? INFINITY
                       : is_float                           ? float_max(type)
                                                            : 0;
        switch (identity) {
        case IDENTITY_ONE:
            if (type_is_complex(type)) {
                literal_set_complex(literal, i, 1, 0);
            } else {
                literal_set_double(literal, i, 1);
            }
            break;
        case IDENTITY_LOWEST:
        case IDENTITY_HIGHEST: {
            bool lowest = identity == IDENTITY_LOWEST;
            if (type_is_complex(type)) { /* ordered by real part, then imaginary part */
                double end = lowest ? -INFINITY : INFINITY;
                literal_set_complex(literal, i, end, end);
            } else if (is_float) {
                literal_set_double(literal, i, lowest ? -limit : limit);
            } else if (type_kind(type) == KIND_SIGNED) {
                literal_set_int(literal, i, lowest ? type_low(type) : type_high(type));
            } else {
                literal_set_int(literal, i, lowest ? 0 : -1);
            }
            break;
        }
        case IDENTITY_ALL_ONES:
            if (type == TYPE_PRED) {
                literal_set_bits(literal, i, 1);
            } else {
                literal_set_int(literal, i, -1);
            }
            break;
        default:
            memset(literal_data(literal), 0, literal->buffer->size);
            return;
        }
    }
}

/* Makes drawn square matrices well conditioned: A ← small·(A + Aᴴ)/2 + I, or a large diagonal. */
static void condition_matrices(struct literal *literal, bool symmetric)
{
    const struct shape *shape = literal->shape;
    int64_t n = shape->rank >= 2 ? shape->dimensions[shape->rank - 1] : 0;
    if (n == 0 || shape->dimensions[shape->rank - 2] != n) {
        return;
    }
    int64_t matrices = shape_elements(shape) / (n * n);
    double scale = 0.5 / (double)n;
    for (int64_t m = 0; m < matrices; m++) {
        int64_t base = m * n * n;
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j < n; j++) {
                int64_t at = base + i * n + j, mirror = base + j * n + i;
                double re = literal_get_double(literal, at) * scale;
                double im = literal_get_imaginary(literal, at) * scale;
                if (symmetric && j < i) { /* the upper part is done already */
                    re = literal_get_double(literal, mirror);
                    im = -literal_get_imaginary(literal, mirror);
                }
                if (i == j) {
                    re = 1 + fabs(re);
                    im = symmetric ? 0 : im;
                }
                if (type_is_complex(shape->type)) {
                    literal_set_complex(literal, at, re, im);
                } else {
                    literal_set_double(literal, at, re);
                }
            }
        }
    }
}

static void fill_leaf(const struct input_options *options, const struct constraint *constraint,
                      uint64_t stream, struct literal *literal)
{
    struct drawing drawing = {options, constraint, literal, stream, 0, 0};
    enum type type = literal->shape->type;
    if (!shape_is_array(literal->shape)) {
        return;
    }
    if (options->zeros) {
        memset(literal_data(literal), 0, literal->buffer->size);
        return;
    }
    float_range(&drawing);
    if (constraint->identity != IDENTITY_NONE) {
        fill_identity(literal, constraint->identity);
        return;
    }
    bool distinct = constraint->distinct || constraint->unique;
    if (distinct && (type_is_float(type) || type_is_integer(type)) && !options->boundary_values) {
        fill_distinct(&drawing);
        return;
    }
    bool inexact = type_is_float(type) || type_is_complex(type);
    int64_t numbers = literal_elements(literal) * (type_is_complex(type) ? 2 : 1);
    pool_for((numbers + STRIP - 1) / STRIP, 4, inexact ? fill_floats : fill_ints, &drawing);
    if (constraint->sorted && !inexact && type != TYPE_PRED) {
        sort_ints(literal);
    }
    if (inexact && (constraint->positive_definite || constraint->triangular)) {
        condition_matrices(literal, constraint->positive_definite);
    }
}

bool inputs_generate(const struct module *module, const struct input_options *options,
                     struct literal **arguments, struct text *notes, struct error *err)
{
    struct constraints constraints;
    struct findings findings = {0};
    bool demanding = !options->unverified || verify_module(module, &findings);
    findings_finish(&findings);
    constraints_find(module, demanding, &constraints);
    if (notes != NULL) {
        constraints_print(module, &constraints, notes);
    }
    int made = 0;
    for (; made < constraints.parameter_count; made++) {
        const struct shape *shape = module->entry->parameters[made]->shape;
        struct literal *literal = literal_create(shape, err);
        if (literal == NULL) {
            break;
        }
        arguments[made] = literal;
        int leaves = shape_leaves(shape);
        for (int leaf = 0; leaf < leaves; leaf++) {
            uint64_t stream = hash_u64((uint64_t)made * 65536 + (uint64_t)leaf,
                                       hash_u64(options->seed, (uint64_t)options->tameness + 1));
            fill_leaf(options, &constraints.leaves[made][leaf], stream,
                      literal_leaf(literal, leaf));
        }
    }
    bool ok = made == constraints.parameter_count;
    for (int i = 0; !ok && i < made; i++) {
        literal_release(arguments[i]);
        arguments[i] = NULL;
    }
    constraints_finish(&constraints);
    return ok;
}

/* --- vacuous outputs --- */

/* Does anything flow from a parameter to the root? What does not gives the same whatever is drawn.
 */
static bool depends_on_parameters(const struct computation *computation)
{
    bool *depends = memory_zalloc((size_t)computation->count * sizeof *depends);
    for (int i = 0; i < computation->count; i++) {
        const struct instruction *instruction = computation->instructions[i];
        depends[i] = instruction->opcode == OP_PARAMETER;
        /* Nobody sends: zeros. */
        bool cut = instruction->opcode == OP_COLLECTIVE_PERMUTE &&
                   attr_get(instruction, ATTR_SOURCE_TARGET_PAIRS) != NULL &&
                   attr_ints(instruction, ATTR_SOURCE_TARGET_PAIRS).count == 0;
        for (int k = 0; k < instruction->operand_count && !cut; k++) {
            depends[i] |= depends[instruction->operands[k]->id];
        }
    }
    bool result = depends[computation->root->id];
    free(depends);
    return result;
}

enum leaf_state { LEAF_SAYS_NOTHING, LEAF_NAN, LEAF_INFINITE, LEAF_CONSTANT, LEAF_VARIED };

static enum leaf_state state_of(const struct literal *leaf)
{
    enum type type = leaf->shape->type;
    int64_t count = shape_is_array(leaf->shape) ? literal_elements(leaf) : 0;
    if (count < 2 || type == TYPE_PRED) {
        bool lost = count == 1 && type_is_float(type) && !isfinite(literal_get_double(leaf, 0));
        return lost ? LEAF_NAN : LEAF_SAYS_NOTHING;
    }
    bool all_nan = true, all_infinite = true, constant = true;
    double first_re = literal_get_double(leaf, 0), first_im = literal_get_imaginary(leaf, 0);
    for (int64_t i = 0; i < count && (all_nan || all_infinite || constant); i++) {
        double re = literal_get_double(leaf, i), im = literal_get_imaginary(leaf, i);
        all_nan &= isnan(re) || isnan(im);
        all_infinite &= isinf(re) || isinf(im);
        constant &= re == first_re && im == first_im;
    }
    return all_nan        ? LEAF_NAN
           : all_infinite ? LEAF_INFINITE
           : constant     ? LEAF_CONSTANT
                          : LEAF_VARIED;
}

bool outputs_are_vacuous(const struct module *module, const struct literal *output,
                         const char **why)
{
    static const char *const reasons[] = {"", "every output is NaN or infinite",
                                          "every output is infinite",
                                          "every output is one constant"};
    if (!depends_on_parameters(module->entry)) {
        return false;
    }
    int leaves = shape_leaves(output->shape);
    enum leaf_state worst = LEAF_SAYS_NOTHING;
    for (int i = 0; i < leaves; i++) {
        enum leaf_state state = state_of(literal_leaf(output, i));
        if (state == LEAF_VARIED ||
            (state == LEAF_SAYS_NOTHING && shape_is_array(literal_leaf(output, i)->shape) &&
             literal_elements(literal_leaf(output, i)) > 0)) {
            return false;
        }
        worst = state > worst ? state : worst;
    }
    *why = reasons[worst];
    return worst != LEAF_SAYS_NOTHING;
}

bool outputs_are_constant(const struct literal *output)
{
    int leaves = shape_leaves(output->shape);
    for (int i = 0; i < leaves; i++) {
        enum leaf_state state = state_of(literal_leaf(output, i));
        if (state != LEAF_CONSTANT && state != LEAF_SAYS_NOTHING) {
            return false;
        }
    }
    return true;
}
