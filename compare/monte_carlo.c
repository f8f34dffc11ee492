/* Derived bounds: the spread of the golden when its roundings are moved at random. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/devices.h"
#include "compare/tolerance.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/map.h"
#include "hlo/base/pool.h"
#include "hlo/base/rng.h"
#include "hlo/floats.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/interp.h"

enum { STRIP = 4096 };

/* The spread times this is the bound: few samples see less than the whole range. */
enum { FEW_SAMPLES = 15 };
static const double safety_of_few = 8, safety_of_many = 4;
/* A spread beyond this part of the output's scale decides nothing. */
static const double undecidable = 0.05;

struct monte_carlo {
    const struct roundings *roundings;
    struct interp_options inner; /* whose callbacks are passed on */
    uint64_t stream;             /* changes with every value that is moved */
};

struct moving {
    struct literal *literal;
    double amplitude; /* relative, uniform on both sides */
    uint64_t stream;
};

/* `random` is uniform over all of its values. Infinity stays what it is. */
static inline void move_number(double *value, int32_t random, double amplitude)
{
    double step = *value * (random * 0x1p-31) * amplitude;
    *value += isfinite(step) ? step : 0;
}

static void move_strips(void *context, int64_t begin, int64_t end)
{
    const struct moving *moving = context;
    enum type type = moving->literal->shape->type, part = type_part(type);
    int64_t total = literal_elements(moving->literal) * (type_is_complex(type) ? 2 : 1);
    char *data = literal_data(moving->literal);
    double values[STRIP] = {0}; /* of even length: the last number of all may have no neighbour */
    for (int64_t strip = begin; strip < end; strip++) {
        struct rng rng;
        rng_init(&rng, hash_u64((uint64_t)strip, moving->stream));
        int64_t first = strip * STRIP, count = total - first < STRIP ? total - first : STRIP;
        float_load(part, data + first * type_bytes(part), values, count);
        for (int64_t i = 0; i < count; i += 2) {
            uint64_t random = rng_next(&rng);
            move_number(&values[i], (int32_t)(random >> 32), moving->amplitude);
            move_number(&values[i + 1], (int32_t)random, moving->amplitude);
        }
        float_store(part, values, data + first * type_bytes(part), count);
    }
}

static void move(struct monte_carlo *monte_carlo, struct literal *literal, double ulps)
{
    if (shape_is_tuple(literal->shape)) {
        for (int i = 0; i < literal->shape->count; i++) {
            move(monte_carlo, literal->elements[i], ulps);
        }
        return;
    }
    enum type type = literal->shape->type, part = type_part(type);
    if (!type_is_float(part) || ulps <= 0) {
        return;
    }
    struct moving moving = {literal, ulps * ldexp(1.0, -float_formats[part].mantissa_bits),
                            hash_u64(monte_carlo->stream++, 7)};
    int64_t numbers = literal_elements(literal) * (type_is_complex(type) ? 2 : 1);
    pool_for((numbers + STRIP - 1) / STRIP, 4, move_strips, &moving);
}

static void add_noise(void *context, const struct instruction *instruction, enum noise_place place,
                      int operand, struct literal *value)
{
    struct monte_carlo *monte_carlo = context;
    const struct rounding *rounding =
        &monte_carlo->roundings->values[instruction->parent->id][instruction->id];
    (void)operand;
    if (place == NOISE_RESULT) {
        bool narrow = type_bits(profile_rounding_type(instruction)) <= 16;
        double sum = rounding->terms > 0 && narrow ? 1 : 0;
        move(monte_carlo, value, fmax(rounding->ulps, sum));
    } else if (rounding->terms > 0) {
        enum type part = type_part(value->shape->type);
        double ulps = 1 + sqrt((double)rounding->terms) / 2;
        int kept = float_formats[profile_sum_type(instruction)].mantissa_bits;
        if (type_is_float(part) && float_formats[part].mantissa_bits < kept) {
            ulps *= ldexp(1.0, float_formats[part].mantissa_bits - kept);
        }
        move(monte_carlo, value, ulps);
    }
}

static bool pass_cancelled(void *context)
{
    const struct monte_carlo *monte_carlo = context;
    return monte_carlo->inner.cancelled != NULL &&
           monte_carlo->inner.cancelled(monte_carlo->inner.context);
}

/* Widens one number's bound by what one sample shows. */
static void widen_number(enum type type, double safety, double reference, double sample,
                         double *bound)
{
    if (reference == sample || (isnan(reference) && isnan(sample)) || isnan(*bound)) {
        return;
    }
    double distance = fabs(reference - sample);
    if (!type_is_float(type)) {
        *bound = NAN;
        return;
    }
    /* Steps of narrow types are as large as the spread: one more is enough. */
    double deviation =
        type_bits(type) <= 8 ? distance + float_ulp(type, reference) : safety * distance;
    if (!(deviation <= *bound)) {
        *bound = isnan(deviation) ? INFINITY : deviation;
    }
}

/* The same for a leaf. */
static void widen(const struct literal *reference, const struct literal *sample, double safety,
                  double *bounds)
{
    enum type type = reference->shape->type, part = type_part(type);
    int64_t count = literal_elements(reference);
    if (literal_has_unspecified(reference) || !type_is_float(part)) {
        for (int64_t i = 0; i < count; i++) {
            if (literal_is_unspecified(reference, i)) {
                continue;
            }
            double *bound = &bounds[type_is_complex(type) ? 2 * i : i];
            widen_number(part, safety, literal_get_double(reference, i),
                         literal_get_double(sample, i), bound);
            if (type_is_complex(type)) {
                widen_number(part, safety, literal_get_imaginary(reference, i),
                             literal_get_imaginary(sample, i), bound + 1);
            }
        }
        return;
    }
    int64_t numbers = type_is_complex(type) ? 2 * count : count;
    const char *a = literal_data(reference), *b = literal_data(sample);
    double references[STRIP], samples[STRIP];
    for (int64_t first = 0; first < numbers; first += STRIP) {
        int64_t strip = numbers - first < STRIP ? numbers - first : STRIP;
        float_load(part, a + first * type_bytes(part), references, strip);
        float_load(part, b + first * type_bytes(part), samples, strip);
        for (int64_t i = 0; i < strip; i++) {
            widen_number(part, safety, references[i], samples[i], &bounds[first + i]);
        }
    }
}

/* A few samples may round an element alike by luck: where roundings move a leaf at all, each of its
 * elements may be off by a step (|x|·2⁻ᵐ is one to two ulps). */
static void allow_a_step(const struct literal *reference, double *bounds)
{
    enum type type = reference->shape->type, part = type_part(type);
    int64_t numbers = literal_elements(reference) * (part != type ? 2 : 1), moved = 0;
    while (moved < numbers && bounds[moved] == 0) {
        moved++;
    }
    if (!type_is_float(part) || moved == numbers) {
        return;
    }
    double step = ldexp(1.0, -float_formats[part].mantissa_bits), values[STRIP];
    for (int64_t first = 0; first < numbers; first += STRIP) {
        int64_t strip = numbers - first < STRIP ? numbers - first : STRIP;
        const char *data = literal_data(reference);
        float_load(part, data + first * type_bytes(part), values, strip);
        for (int64_t i = 0; i < strip; i++) {
            bounds[first + i] =
                fmax(bounds[first + i], isfinite(values[i]) ? fabs(values[i]) * step : 0);
        }
    }
}

/* Bounds as large as the values decide nothing: beyond which one? */
static double undecidable_bound(const struct literal *reference)
{
    enum type part = type_part(reference->shape->type);
    double scale = literal_scale(reference), limit = undecidable * scale;
    return type_is_float(part) && type_bits(part) <= 8 ? fmax(limit, 2 * float_ulp(part, scale))
                                                       : limit;
}

/* Errors of one part of a complex number are as large as those of the other. */
static void join_parts(const struct literal *reference, double *bounds)
{
    if (!type_is_complex(reference->shape->type)) {
        return;
    }
    int64_t count = literal_elements(reference);
    for (int64_t i = 0; i < count; i++) {
        bounds[2 * i] = bounds[2 * i + 1] = fmax(bounds[2 * i], bounds[2 * i + 1]);
    }
}

static struct literal *sample(const struct module *module, struct literal *const *arguments,
                              int argument_count, struct monte_carlo *monte_carlo,
                              struct error *err)
{
    struct interp_options options = monte_carlo->inner;
    options.on_instruction = NULL;
    options.noise = add_noise;
    options.cancelled = pass_cancelled;
    options.context = monte_carlo;
    return devices_evaluate(module, arguments, argument_count, &options, err);
}

/* Without one, all samples are the same. */
static bool any_rounding(const struct module *module, const struct roundings *roundings)
{
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            const struct rounding *rounding = &roundings->values[c][i];
            if (rounding->ulps > 0 || rounding->terms > 0) {
                return true;
            }
        }
    }
    return false;
}

bool bounds_derived(const struct module *module, const struct profile *profile,
                    struct literal *const *arguments, int argument_count, int samples,
                    uint64_t seed, const struct interp_options *interp,
                    const struct literal *reference, struct bound *bounds, struct error *err)
{
    int leaves = shape_leaves(reference->shape);
    double **widths = memory_zalloc((size_t)leaves * sizeof *widths);
    for (int i = 0; i < leaves; i++) {
        const struct literal *leaf = literal_leaf(reference, i);
        int64_t count = shape_is_array(leaf->shape) ? literal_elements(leaf) : 0;
        count *= type_is_complex(leaf->shape->type) ? 2 : 1;
        widths[i] = memory_zalloc((size_t)count * sizeof **widths);
    }
    struct roundings roundings;
    roundings_find(module, profile, &roundings);
    struct monte_carlo monte_carlo = {.roundings = &roundings, .stream = hash_u64(seed, 99)};
    if (interp != NULL) {
        monte_carlo.inner = *interp;
    }
    bool ok = true;
    samples = any_rounding(module, &roundings) ? samples : 0;
    for (int s = 0; ok && s < samples; s++) {
        struct literal *value = sample(module, arguments, argument_count, &monte_carlo, err);
        ok = value != NULL;
        for (int i = 0; ok && i < leaves; i++) {
            const struct literal *leaf = literal_leaf(reference, i);
            if (shape_is_array(leaf->shape)) {
                widen(leaf, literal_leaf(value, i),
                      samples > FEW_SAMPLES ? safety_of_many : safety_of_few, widths[i]);
            }
        }
        literal_release(value);
    }
    for (int i = 0; i < leaves; i++) {
        const struct literal *leaf = literal_leaf(reference, i);
        if (ok && shape_is_array(leaf->shape)) {
            allow_a_step(leaf, widths[i]);
            join_parts(leaf, widths[i]);
            free((double *)bounds[i].element_bounds);
            bounds[i].element_bounds = widths[i];
            bounds[i].undecidable = undecidable_bound(leaf);
        } else {
            free(widths[i]);
        }
    }
    free(widths);
    roundings_finish(&roundings);
    return ok;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of what numbers may be off by in terms of themselves, of at most STRIP of them. */
static double median_part(const struct literal *leaf, const double *bounds, int64_t numbers)
{
    enum type part = type_part(leaf->shape->type);
    double parts[STRIP], value;
    const char *data = literal_data(leaf);
    int64_t step = numbers / STRIP + 1;
    size_t count = 0;
    for (int64_t i = 0; i < numbers; i += step) {
        float_load(part, data + i * type_bytes(part), &value, 1);
        if (isfinite(value) && value != 0 && isfinite(bounds[i])) {
            parts[count++] = bounds[i] / fabs(value);
        }
    }
    qsort(parts, count, sizeof *parts, by_size);
    return count > 0 ? parts[count / 2] : 0;
}

void bounds_level(const struct literal *reference, struct bound *bounds, int count)
{
    for (int i = 0; i < count; i++) {
        const struct literal *leaf = literal_leaf(reference, i);
        enum type part = type_part(leaf->shape->type);
        double *own = (double *)bounds[i].element_bounds;
        if (own == NULL || !shape_is_array(leaf->shape) || !type_is_float(part)) {
            continue;
        }
        int64_t numbers = literal_elements(leaf) * (part != leaf->shape->type ? 2 : 1);
        double least = median_part(leaf, own, numbers) / 2, value;
        for (int64_t k = 0; k < numbers; k++) {
            float_load(part, (const char *)literal_data(leaf) + k * type_bytes(part), &value, 1);
            own[k] = isfinite(value) && !isnan(own[k]) ? fmax(own[k], fabs(value) * least) : own[k];
        }
    }
}
