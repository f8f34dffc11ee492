/* One-ulp moves of inputs and roundings, and what becomes of the golden's result. */
#include "compare/sensitivity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/canonical.h"
#include "compare/devices.h"
#include "hlo/base/arena.h"
#include "hlo/base/clock.h"
#include "hlo/base/error.h"
#include "hlo/base/map.h"
#include "hlo/base/rng.h"
#include "hlo/base/text.h"
#include "hlo/floats.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/interp.h"

enum { DEFAULT_SAMPLES = 12 };

/* Values of the entry are kept for the search of where they become sensitive up to this size. */
static const int64_t values_most = 256 << 20;

/* --- moving by one ulp --- */

/* Each finite float that is not zero goes to a neighbour, up or down. Zeros are what they are: of
 * padding, masks and identities. */
static void move_array(struct literal *literal, struct rng *rng)
{
    enum type type = literal->shape->type, part = type_part(type);
    int64_t count = literal_elements(literal);
    for (int64_t i = 0; i < count; i++) {
        double parts[2] = {literal_get_double(literal, i), 0};
        if (type != part) {
            parts[1] = literal_get_imaginary(literal, i);
        }
        for (int k = 0; k < (type != part ? 2 : 1); k++) {
            double up = rng_next(rng) >> 63 != 0 ? 1 : -1;
            if (parts[k] != 0 && isfinite(parts[k])) {
                double moved = float_round(part, parts[k] + up * float_ulp(part, parts[k]));
                parts[k] = isfinite(moved) && moved != 0 ? moved : parts[k];
            }
        }
        if (type != part) {
            literal_set_complex(literal, i, parts[0], parts[1]);
        } else {
            literal_set_double(literal, i, parts[0]);
        }
    }
}

static void move_all(struct literal *literal, struct rng *rng)
{
    if (shape_is_tuple(literal->shape)) {
        for (int i = 0; i < literal->shape->count; i++) {
            move_all(literal->elements[i], rng);
        }
    } else if (type_is_float(type_part(literal->shape->type))) {
        move_array(literal, rng);
    }
}

/* Moved inputs may make a loop run for ever. The context of every evaluation begins with its
 * deadline. */
static bool is_late(void *context)
{
    const double *deadline = context;
    return clock_seconds() > *deadline;
}

struct mover {
    double deadline; /* first: see is_late */
    struct rng rng;
    bool inputs; /* parameters are moved already; constants and nothing else */
};

static void move_value(void *context, const struct instruction *instruction, enum noise_place place,
                       int operand, struct literal *value)
{
    struct mover *mover = context;
    (void)operand;
    bool is_input = instruction->opcode == OP_CONSTANT;
    if (mover->inputs ? is_input && place == NOISE_RESULT : !is_input) {
        move_all(value, &mover->rng);
    }
}

/* --- samples --- */

struct sampling {
    double deadline;
    const struct module *module;
    const struct differential_result *result;
    uint64_t seed;
};

static struct interp_options interp_of(const struct sampling *sampling)
{
    return (struct interp_options){.seed = sampling->result->seed,
                                   .replica_count = sampling->result->replica_count,
                                   .partition_count = sampling->result->partition_count,
                                   .context = (void *)(uintptr_t)&sampling->deadline,
                                   .cancelled = is_late};
}

static struct literal *sample(const struct sampling *sampling, bool inputs, int number,
                              struct error *err)
{
    const struct differential_result *result = sampling->result;
    int count = result->argument_count;
    struct mover mover = {.deadline = sampling->deadline, .inputs = inputs};
    rng_init(&mover.rng, hash_u64((uint64_t)number * 2 + inputs, sampling->seed));
    struct literal **arguments = memory_zalloc(((size_t)count + 1) * sizeof *arguments);
    for (int i = 0; i < count; i++) {
        arguments[i] = inputs ? literal_copy(result->arguments[i], &(struct error){0})
                              : literal_retain(result->arguments[i]);
        if (inputs) {
            move_all(arguments[i], &mover.rng);
        }
    }
    struct interp_options interp = interp_of(sampling);
    interp.noise = move_value;
    interp.noise_everywhere = inputs;
    interp.context = &mover;
    struct literal *value = devices_evaluate(sampling->module, arguments, count, &interp, err);
    for (int i = 0; i < count; i++) {
        literal_release(arguments[i]);
    }
    free(arguments);
    return value;
}

/* --- spreads --- */

static int64_t numbers_of(const struct literal *leaf)
{
    enum type type = leaf->shape->type;
    return shape_is_array(leaf->shape) ? literal_elements(leaf) * (type_is_complex(type) ? 2 : 1)
                                       : 0;
}

double **spread_create(const struct literal *reference)
{
    int leaves = shape_leaves(reference->shape);
    double **spread = memory_zalloc(((size_t)leaves + 1) * sizeof *spread);
    for (int i = 0; i < leaves; i++) {
        size_t count = (size_t)numbers_of(literal_leaf(reference, i));
        spread[i] = memory_zalloc((count + 1) * sizeof **spread);
    }
    return spread;
}

void spread_destroy(double **spread, const struct literal *reference)
{
    int leaves = shape_leaves(reference->shape);
    for (int i = 0; spread != NULL && i < leaves; i++) {
        free(spread[i]);
    }
    free(spread);
}

static double number_at(const struct literal *leaf, int64_t i)
{
    if (!type_is_complex(leaf->shape->type)) {
        return literal_get_double(leaf, i);
    }
    return i % 2 == 0 ? literal_get_double(leaf, i / 2) : literal_get_imaginary(leaf, i / 2);
}

void spread_widen(double **spread, const struct literal *reference, const struct literal *sample)
{
    int leaves = shape_leaves(reference->shape);
    for (int l = 0; l < leaves; l++) {
        const struct literal *a = literal_leaf(reference, l), *b = literal_leaf(sample, l);
        bool floats = type_is_float(type_part(a->shape->type));
        int64_t count = numbers_of(a);
        for (int64_t i = 0; i < count; i++) {
            double x = number_at(a, i), y = number_at(b, i), distance = fabs(x - y);
            bool same = x == y ? !floats || signbit(x) == signbit(y) : isnan(x) && isnan(y);
            if (same || isnan(spread[l][i])) {
                continue;
            }
            if (!floats) {
                spread[l][i] = NAN;
            } else if (!(distance <= spread[l][i])) {
                spread[l][i] = isnan(distance) ? INFINITY : distance;
            }
        }
    }
}

/* Beyond the larger of the run's bounds and the spread. */
static int64_t mismatches_beyond(const struct differential_result *result, double *const *spread,
                                 bool tightened)
{
    int devices = result->device_count, leaves = result->comparison.leaf_count;
    struct bound *bounds = memory_zalloc(((size_t)leaves + 1) * sizeof *bounds);
    for (int i = 0; i < leaves; i++) {
        bounds[i] = result->bounds[i];
        bounds[i].element_bounds = spread != NULL ? spread[i] : NULL;
        bounds[i].near = tightened ? bounds[i].near : 0;
    }
    struct literal *reference = devices_join(result->reference.outputs, devices);
    struct literal *actual = devices_join(result->actual.outputs, devices);
    struct comparison comparison;
    literal_compare(reference, actual, bounds, &comparison);
    int64_t mismatches = comparison.mismatches;
    comparison_finish(&comparison);
    literal_release(reference);
    literal_release(actual);
    free(bounds);
    return mismatches;
}

int64_t spread_mismatches(const struct differential_result *result, double *const *spread)
{
    int64_t beyond = mismatches_beyond(result, NULL, false);
    if (beyond > 0) {
        return spread != NULL ? mismatches_beyond(result, spread, false) : beyond;
    }
    if (spread != NULL) {
        return mismatches_beyond(result, spread, true);
    }
    struct literal *reference = devices_join(result->reference.outputs, result->device_count);
    double **none = spread_create(reference);
    int64_t mismatches = mismatches_beyond(result, none, true);
    spread_destroy(none, reference);
    literal_release(reference);
    return mismatches;
}

/* --- the worst element --- */

static void fill_worst(const struct differential_result *result, const struct literal *reference,
                       double *const *inputs, struct sensitivity *sensitivity)
{
    const struct leaf_comparison *worst = NULL;
    for (int i = 0; i < result->comparison.leaf_count; i++) {
        const struct leaf_comparison *leaf = &result->comparison.leaves[i];
        bool wrong = leaf->mismatches + leaf->undecided > 0;
        if (wrong && !leaf->shapes_differ &&
            (worst == NULL || leaf->largest_part > worst->largest_part)) {
            worst = leaf;
        }
    }
    if (worst == NULL) {
        return;
    }
    const struct element_difference *element = worst->mismatches > 0  ? &worst->worst
                                               : worst->top_count > 0 ? &worst->top[0]
                                                                      : NULL;
    const struct literal *leaf = literal_leaf(reference, worst->leaf);
    enum type type = leaf->shape->type, part = type_part(type);
    int64_t best = -1, count = numbers_of(leaf);
    if (element != NULL) {
        best = type_is_complex(type) ? 2 * element->index + element->part : element->index;
        sensitivity->error = element->error;
        sensitivity->error_ulps = element->ulps;
    } else { /* only undecided ones: the one that moves most */
        for (int64_t i = 0; i < count; i++) {
            if (best < 0 || inputs[worst->leaf][i] > inputs[worst->leaf][best]) {
                best = i;
            }
        }
    }
    if (best < 0 || best >= count || !type_is_float(part)) {
        return;
    }
    double value = number_at(leaf, best), moved = inputs[worst->leaf][best];
    sensitivity->moved = moved;
    sensitivity->moved_ulps = moved / float_ulp(part, isfinite(value) ? value : 1);
    double step = ldexp(1.0, -float_formats[part].mantissa_bits);
    sensitivity->amplification = moved == 0   ? 0
                                 : value == 0 ? INFINITY
                                              : moved / fabs(value) / step;
}

/* --- where it becomes sensitive --- */

struct recording {
    double deadline;         /* first: see is_late */
    struct literal **values; /* of the entry */
    const struct computation *entry;
    int64_t bytes;
    struct mover *mover;
};

static bool record(void *context, const struct instruction *instruction,
                   const struct literal *value, int64_t iteration, struct error *err)
{
    struct recording *recording = context;
    (void)iteration;
    if (instruction->parent != recording->entry) {
        return true;
    }
    recording->bytes += shape_bytes(value->shape);
    if (recording->bytes > values_most) {
        return error_set(err, ERROR_RESOURCE_EXHAUSTED, "the values are too large to be kept");
    }
    literal_release(recording->values[instruction->id]);
    recording->values[instruction->id] = literal_retain(value);
    return true;
}

static bool record_values(const struct sampling *sampling, bool moved, struct recording *recording,
                          struct error *err)
{
    const struct computation *entry = sampling->module->entry;
    int count = entry->parameter_count;
    struct mover mover = {.inputs = true};
    rng_init(&mover.rng, hash_u64(77, sampling->seed));
    *recording = (struct recording){
        .deadline = sampling->deadline,
        .entry = entry,
        .values = memory_zalloc(((size_t)entry->count + 1) * sizeof *recording->values)};
    struct literal **arguments = memory_zalloc(((size_t)count + 1) * sizeof *arguments);
    for (int i = 0; i < count; i++) {
        arguments[i] = literal_copy(sampling->result->arguments[i], &(struct error){0});
        if (moved) {
            move_all(arguments[i], &mover.rng);
        }
    }
    struct interp_options interp = {.seed = sampling->result->seed,
                                    .on_instruction = record,
                                    .context = recording,
                                    .cancelled = is_late};
    struct literal *value = interp_evaluate(sampling->module, arguments, count, &interp, err);
    bool ok = value != NULL;
    literal_release(value);
    for (int i = 0; i < count; i++) {
        literal_release(arguments[i]);
    }
    free(arguments);
    return ok;
}

static void recording_finish(struct recording *recording)
{
    for (int i = 0; recording->values != NULL && i < recording->entry->count; i++) {
        literal_release(recording->values[i]);
    }
    free(recording->values);
}

/* The largest relative distance of two values' elements; 1 where a decision falls otherwise. */
static double relative_distance(const struct literal *a, const struct literal *b)
{
    double largest = 0;
    int leaves = shape_leaves(a->shape);
    for (int l = 0; l < leaves; l++) {
        const struct literal *x = literal_leaf(a, l), *y = literal_leaf(b, l);
        int64_t count = numbers_of(x);
        for (int64_t i = 0; i < count; i++) {
            double u = number_at(x, i), v = number_at(y, i);
            if (u == v || (isnan(u) && isnan(v))) {
                continue;
            }
            double distance = fabs(u - v) / fmax(fabs(u), fabs(v));
            largest = fmax(largest, isnan(distance) ? 1 : distance);
        }
    }
    return largest;
}

static void find_amplifier(const struct sampling *sampling, struct sensitivity *sensitivity)
{
    struct recording plain, moved = {0};
    struct error ignored = {0};
    const struct computation *entry = sampling->module->entry;
    bool ok = record_values(sampling, false, &plain, &ignored) &&
              record_values(sampling, true, &moved, &ignored);
    double *distances = memory_zalloc(((size_t)entry->count + 1) * sizeof *distances);
    const struct instruction *found = NULL;
    for (int i = 0; ok && i < entry->count; i++) {
        const struct instruction *instruction = entry->instructions[i];
        if (plain.values[i] == NULL || moved.values[i] == NULL) {
            continue;
        }
        distances[i] = relative_distance(plain.values[i], moved.values[i]);
        double least = 0x1p-60;
        for (int k = 0; k < instruction->operand_count; k++) {
            least = fmax(least, distances[instruction->operands[k]->id]);
        }
        double growth = distances[i] / least;
        bool counts =
            instruction->operand_count > 0 && instruction->opcode != OP_CONVERT && least > 0x1p-60;
        if (counts && growth > fmax(2, sensitivity->growth)) {
            sensitivity->growth = growth;
            found = instruction;
        }
    }
    if (found != NULL) {
        struct text text;
        text_init(&text);
        canonical_print_instruction(found, &text);
        free(sensitivity->instruction);
        free(sensitivity->form);
        sensitivity->instruction = memory_strdup(found->name);
        sensitivity->form = text_take(&text);
        text_finish(&text);
    }
    free(distances);
    recording_finish(&plain);
    if (moved.entry != NULL) {
        recording_finish(&moved);
    }
}

/* --- the public face --- */

static bool take_samples(const struct sampling *sampling, const struct literal *reference,
                         const struct sensitivity_options *options, double **inputs,
                         double **roundings, struct sensitivity *sensitivity, struct error *err)
{
    int samples = options->samples > 0 ? options->samples : DEFAULT_SAMPLES;
    double start = clock_seconds();
    for (int s = 0; s < samples; s++) {
        struct literal *by_inputs = sample(sampling, true, s, err);
        struct literal *by_roundings = by_inputs != NULL ? sample(sampling, false, s, err) : NULL;
        bool ok = by_roundings != NULL;
        if (ok) {
            spread_widen(inputs, reference, by_inputs);
            spread_widen(roundings, reference, by_roundings);
            sensitivity->samples++;
        }
        literal_release(by_inputs);
        literal_release(by_roundings);
        if (!ok) {
            return false;
        }
        if (options->seconds > 0 && clock_seconds() - start > options->seconds) {
            break;
        }
    }
    return true;
}

static void widen_by_other(const struct literal *reference, double **spread, double *const *other)
{
    int leaves = shape_leaves(reference->shape);
    for (int l = 0; l < leaves; l++) {
        int64_t count = numbers_of(literal_leaf(reference, l));
        for (int64_t i = 0; i < count; i++) {
            spread[l][i] = isnan(other[l][i]) ? NAN : fmax(spread[l][i], other[l][i]);
        }
    }
}

bool sensitivity_measure(const struct module *module, const struct differential_result *result,
                         const struct sensitivity_options *options, struct sensitivity *sensitivity,
                         struct error *err)
{
    *sensitivity =
        (struct sensitivity){.instruction = memory_strdup(""), .form = memory_strdup("")};
    const double enough = 600; /* s */
    double room = options->seconds > 0 ? 2 * options->seconds : enough;
    struct sampling sampling = {clock_seconds() + room, module, result, options->seed};
    struct literal *reference = devices_join(result->reference.outputs, result->device_count);
    double **inputs = spread_create(reference), **roundings = spread_create(reference);
    double **literal = spread_create(reference);
    bool ok = take_samples(&sampling, reference, options, inputs, roundings, sensitivity, err);
    struct interp_options as_written = interp_of(&sampling);
    as_written.fidelity = FIDELITY_LITERAL;
    struct literal *written =
        ok ? devices_evaluate(module, result->arguments, result->argument_count, &as_written, err)
           : NULL;
    if (written != NULL) {
        spread_widen(literal, reference, written);
        literal_release(written);
        int64_t all = spread_mismatches(result, NULL);
        sensitivity->mismatches = all;
        sensitivity->by_inputs = all - spread_mismatches(result, inputs);
        sensitivity->by_roundings = all - spread_mismatches(result, roundings);
        sensitivity->by_literal = all - spread_mismatches(result, literal);
        fill_worst(result, reference, inputs, sensitivity);
        widen_by_other(reference, inputs, roundings);
        widen_by_other(reference, inputs, literal);
        sensitivity->explained = all - spread_mismatches(result, inputs);
        if (sensitivity->explained > 0 && result->device_count == 1) {
            find_amplifier(&sampling, sensitivity);
        }
    }
    spread_destroy(inputs, reference);
    spread_destroy(roundings, reference);
    spread_destroy(literal, reference);
    literal_release(reference);
    if (written == NULL) {
        sensitivity_finish(sensitivity);
    }
    return written != NULL;
}

void sensitivity_finish(struct sensitivity *sensitivity)
{
    free(sensitivity->instruction);
    free(sensitivity->form);
    *sensitivity = (struct sensitivity){0};
}
