/* How far right implementations may be apart. */
#include "compare/latitude.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/devices.h"
#include "compare/licence.h"
#include "compare/tolerance.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/map.h"
#include "hlo/base/rng.h"
#include "hlo/floats.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/interp.h"

enum { SAMPLES = 16, RIGHT_MOST = 16, STRIP = 4096 };
static const double reach = 3; /* times the farthest sample */

/* One array of the result: how far the samples are from the golden, a value a number (the parts of
 * complex elements are two). Infinite: they disagree on more than a rounding. */
struct leaf_spread {
    int64_t numbers;
    double *farthest; /* NULL: no array */
    bool moves;       /* something in it is computed with roundings */
};

struct latitude {
    const struct profile *profile;
    struct literal *right[RIGHT_MOST]; /* the golden first */
    int right_count;
    bool computes;    /* the module does more than move data */
    bool loses_signs; /* of zeros: and it does something that may */
    int leaf_count;
    struct leaf_spread *leaves;
};

/* --- roundings that are off --- */

struct shaking {
    const struct roundings *roundings;
    uint64_t stream; /* changes with every value that is moved */
};

/* Every float of the value is off by so many units of 2^-mantissa_bits, up or down. */
static void shake(struct literal *value, double units, int mantissa_bits, uint64_t stream)
{
    for (int i = 0; shape_is_tuple(value->shape) && i < value->shape->count; i++) {
        shake(value->elements[i], units, mantissa_bits, hash_u64((uint64_t)i, stream));
    }
    enum type part = type_part(value->shape->type);
    if (!shape_is_array(value->shape) || !type_is_float(part)) {
        return;
    }
    double numbers[STRIP], amplitude = units * ldexp(1, -mantissa_bits);
    int64_t count = literal_elements(value) * (part != value->shape->type ? 2 : 1);
    char *data = literal_data(value);
    struct rng rng;
    rng_init(&rng, stream);
    for (int64_t first = 0; first < count; first += STRIP) {
        int64_t strip = count - first < STRIP ? count - first : STRIP;
        float_load(part, data + first * type_bytes(part), numbers, strip);
        uint64_t signs = 0;
        for (int64_t i = 0; i < strip; i++, signs >>= 1) {
            signs = i % 64 == 0 ? rng_next(&rng) : signs;
            double step = (signs & 1 ? amplitude : -amplitude) * numbers[i];
            numbers[i] += isfinite(step) ? step : 0;
        }
        float_store(part, numbers, data + first * type_bytes(part), strip);
    }
}

static void shake_rounding(void *context, const struct instruction *instruction,
                           enum noise_place place, int operand, struct literal *value)
{
    struct shaking *shaking = context;
    const struct rounding *rounding =
        &shaking->roundings->values[instruction->parent->id][instruction->id];
    (void)operand;
    enum type type = profile_rounding_type(instruction);
    double terms = sqrt((double)rounding->terms) / 2;
    uint64_t stream = hash_u64(shaking->stream++, 3);
    if (type == TYPE_INVALID) {
        return;
    }
    /* Sums of narrow types may be rounded to them more than once. */
    double ulps =
        rounding->terms > 0 && type_bits(type) <= 16 ? fmax(rounding->ulps, 1) : rounding->ulps;
    if (place == NOISE_RESULT && ulps > 0) {
        shake(value, ulps, float_formats[type].mantissa_bits, stream);
    }
    if (rounding->terms > 0) {
        int kept = float_formats[profile_sum_type(instruction)].mantissa_bits;
        shake(value, place == NOISE_RESULT ? terms : 1 + terms, kept, hash_u64(stream, 5));
    }
}

/* --- samples --- */

static double number_at(const struct literal *array, int64_t number)
{
    if (!type_is_complex(array->shape->type)) {
        return literal_get_double(array, number);
    }
    return number % 2 == 0 ? literal_get_double(array, number / 2)
                           : literal_get_imaginary(array, number / 2);
}

static void widen(struct leaf_spread *spread, const struct literal *golden,
                  const struct literal *sample)
{
    bool floats = type_is_float(type_part(golden->shape->type));
    if (spread->farthest == NULL ||
        memcmp(literal_data(golden), literal_data(sample), golden->buffer->size) == 0) {
        return;
    }
    for (int64_t i = 0; i < spread->numbers; i++) {
        double a = number_at(golden, i), b = number_at(sample, i);
        bool same = a == b || (isnan(a) && isnan(b));
        if (!floats && !same) {
            spread->farthest[i] = INFINITY;
        } else if (!same) {
            double distance = fabs(a - b);
            spread->farthest[i] = fmax(spread->farthest[i], isnan(distance) ? INFINITY : distance);
            spread->moves = true;
        }
    }
}

static void widen_all(struct latitude *latitude, struct literal *take_sample)
{
    for (int i = 0; take_sample != NULL && i < latitude->leaf_count; i++) {
        widen(&latitude->leaves[i], literal_leaf(latitude->right[0], i),
              literal_leaf(take_sample, i));
    }
    literal_release(take_sample);
}

/* Errors of one part of a complex number are as large as those of the other. */
static void join_parts(struct latitude *latitude)
{
    for (int l = 0; l < latitude->leaf_count; l++) {
        struct leaf_spread *spread = &latitude->leaves[l];
        enum type type = literal_leaf(latitude->right[0], l)->shape->type;
        for (int64_t i = 0; type_is_complex(type) && i + 1 < spread->numbers; i += 2) {
            double both = fmax(spread->farthest[i], spread->farthest[i + 1]);
            spread->farthest[i] = spread->farthest[i + 1] = both;
        }
    }
}

/* Where anything is computed, a licence may flush subnormals; and where more is than signs and
 * roundings to integers, change the sign of a zero. */
static void find_rights(struct latitude *latitude, const struct module *module)
{
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            const struct instruction *instruction = module->computations[c]->instructions[i];
            if (profile_rounding_type(instruction) != TYPE_INVALID) {
                latitude->computes |= !moves_data_only(instruction->opcode);
                latitude->loses_signs |= !keeps_zero_signs(instruction->opcode);
            }
        }
    }
}

static void find_licensed(struct latitude *latitude, const struct module *module,
                          struct literal *const *arguments, int argument_count,
                          const struct interp_options *interp)
{
    for (int i = 0; i < licence_count && latitude->right_count < RIGHT_MOST; i++) {
        struct error ignored = {0};
        struct literal *licensed =
            licences[i].allowed(latitude->profile)
                ? licences[i].evaluate(module, arguments, argument_count, interp, &ignored)
                : NULL;
        if (licensed != NULL) {
            latitude->right[latitude->right_count++] = licensed;
        }
    }
}

static void take_samples(struct latitude *latitude, const struct module *module,
                         struct literal *const *arguments, int argument_count,
                         const struct interp_options *interp, uint64_t seed)
{
    struct error ignored = {0};
    struct interp_options options = *interp;
    options.fidelity = FIDELITY_LITERAL;
    widen_all(latitude, devices_evaluate(module, arguments, argument_count, &options, &ignored));
    struct roundings roundings;
    roundings_find(module, latitude->profile, &roundings);
    struct shaking shaking = {.roundings = &roundings, .stream = hash_u64(seed, 17)};
    options.fidelity = FIDELITY_EXACT;
    options.noise = shake_rounding;
    options.context = &shaking;
    for (int s = 0; s < SAMPLES; s++) {
        ignored = (struct error){0};
        widen_all(latitude,
                  devices_evaluate(module, arguments, argument_count, &options, &ignored));
    }
    roundings_finish(&roundings);
}

struct latitude *latitude_create(const struct module *module, const struct profile *profile,
                                 struct literal *const *arguments, int argument_count,
                                 int replica_count, int partition_count, uint64_t seed,
                                 struct error *err)
{
    struct interp_options interp = {
        .seed = seed, .replica_count = replica_count, .partition_count = partition_count};
    struct literal *golden = devices_evaluate(module, arguments, argument_count, &interp, err);
    if (golden == NULL) {
        return NULL;
    }
    struct latitude *latitude = memory_zalloc(sizeof *latitude);
    latitude->profile = profile;
    find_rights(latitude, module);
    latitude->right[latitude->right_count++] = golden;
    latitude->leaf_count = shape_leaves(golden->shape);
    latitude->leaves = memory_zalloc(((size_t)latitude->leaf_count + 1) * sizeof *latitude->leaves);
    for (int i = 0; i < latitude->leaf_count; i++) {
        const struct literal *leaf = literal_leaf(golden, i);
        struct leaf_spread *spread = &latitude->leaves[i];
        if (shape_is_array(leaf->shape)) {
            spread->numbers = literal_elements(leaf) * (type_is_complex(leaf->shape->type) ? 2 : 1);
            spread->farthest = memory_zalloc(((size_t)spread->numbers + 1) * sizeof(double));
        }
    }
    find_licensed(latitude, module, arguments, argument_count, &interp);
    take_samples(latitude, module, arguments, argument_count, &interp, seed);
    join_parts(latitude);
    return latitude;
}

void latitude_destroy(struct latitude *latitude)
{
    for (int i = 0; latitude != NULL && i < latitude->right_count; i++) {
        literal_release(latitude->right[i]);
    }
    for (int i = 0; latitude != NULL && i < latitude->leaf_count; i++) {
        free(latitude->leaves[i].farthest);
    }
    if (latitude != NULL) {
        free(latitude->leaves);
    }
    free(latitude);
}

/* --- judging --- */

/* How often the distance of a number from a right one goes into what is right; ≤ 1: it is right. */
static double excess_of(const struct latitude *latitude, const struct leaf_spread *spread,
                        enum type type, double right, double changed, double farthest)
{
    double distance = fabs(changed - right);
    if (isinf(farthest) || (isnan(right) && isnan(changed))) {
        return 0;
    }
    if (!type_is_float(type) || isnan(distance)) {
        return changed == right ? 0 : INFINITY;
    }
    if (distance == 0) {
        bool signs = latitude->profile->algebra && latitude->loses_signs;
        return signs || signbit(changed) == signbit(right) ? 0 : INFINITY;
    }
    double tiny = float_min_normal(type);
    if (latitude->profile->flush_subnormals && latitude->computes && fabs(right) < tiny &&
        fabs(changed) < tiny) {
        return 0;
    }
    double limit = reach * farthest;
    limit = spread->moves && isfinite(right) ? fmax(limit, float_ulp(type, fabs(right))) : limit;
    return limit > 0 ? distance / limit : INFINITY;
}

/* Has the number its bits, whatever those of a NaN are? */
static bool same_number(const struct literal *a, const struct literal *b, int64_t number)
{
    double x = number_at(a, number), y = number_at(b, number);
    if (!type_is_float(type_part(a->shape->type))) {
        return a->shape->type == TYPE_PRED
                   ? (x != 0) == (y != 0)
                   : literal_get_bits(a, number) == literal_get_bits(b, number);
    }
    return (isnan(x) && isnan(y)) || (x == y && signbit(x) == signbit(y));
}

static enum latitude_verdict judge_leaf(const struct latitude *latitude, int leaf,
                                        const struct literal *changed,
                                        struct latitude_excess *excess)
{
    const struct literal *golden = literal_leaf(latitude->right[0], leaf);
    const struct leaf_spread *spread = &latitude->leaves[leaf];
    enum type type = type_part(golden->shape->type);
    enum latitude_verdict verdict = LATITUDE_SAME;
    int parts = type_is_complex(golden->shape->type) ? 2 : 1;
    if (!literal_sizes_equal(golden, changed)) {
        *excess = (struct latitude_excess){leaf, 0, NAN, NAN, INFINITY};
        return LATITUDE_BEYOND;
    }
    for (int64_t i = 0; i < spread->numbers; i++) {
        if (same_number(golden, changed, i) || literal_is_unspecified(golden, i / parts) ||
            !literal_has_element(golden, i / parts)) {
            continue;
        }
        double value = number_at(changed, i), least = INFINITY;
        verdict = verdict == LATITUDE_SAME ? LATITUDE_WITHIN : verdict;
        for (int r = 0; r < latitude->right_count; r++) {
            const struct literal *right = literal_leaf(latitude->right[r], leaf);
            double times = same_number(right, changed, i)
                               ? 0
                               : excess_of(latitude, spread, type, number_at(right, i), value,
                                           spread->farthest[i]);
            least = fmin(least, times);
        }
        if (least > 1 && (verdict != LATITUDE_BEYOND || least > excess->times)) {
            verdict = LATITUDE_BEYOND;
            *excess = (struct latitude_excess){leaf, i / parts, number_at(golden, i), value, least};
        }
    }
    return verdict;
}

enum latitude_verdict latitude_judge(const struct latitude *latitude, const struct literal *changed,
                                     struct latitude_excess *excess)
{
    enum latitude_verdict worst = LATITUDE_SAME;
    *excess = (struct latitude_excess){0};
    for (int i = 0; i < latitude->leaf_count; i++) {
        struct latitude_excess own = {0};
        const struct literal *leaf = literal_leaf(changed, i);
        if (latitude->leaves[i].farthest == NULL) {
            continue;
        }
        enum latitude_verdict verdict = judge_leaf(latitude, i, leaf, &own);
        if (verdict == LATITUDE_BEYOND && own.times >= excess->times) {
            *excess = own;
        }
        worst = verdict > worst ? verdict : worst;
    }
    return worst;
}
