/* Comparing two literals element by element. The picture is in picture.c. */
#include "compare/compare.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/floats.h"
#include "hlo/literal.h"

enum { STRIP = 4096 };

/* An ill-conditioned element so many times its own bound off is wrong all the same. */
static const double ill_conditioned = 4;

/* One number of an element: an element of a real type, or a part of a complex one. */
struct pair {
    double reference, actual;
    double magnitude; /* of the reference number: |part|, or of the whole complex number */
    enum type type;   /* of the part */
    bool bits_equal;
};

static struct pair pair_get(const struct literal *reference, const struct literal *actual,
                            int64_t index, int part)
{
    struct pair pair = {.type = type_part(reference->shape->type)};
    if (type_is_complex(reference->shape->type)) {
        double real = literal_get_double(reference, index);
        double imaginary = literal_get_imaginary(reference, index);
        pair.reference = part == 0 ? real : imaginary;
        pair.magnitude = hypot(real, imaginary);
        pair.actual =
            part == 0 ? literal_get_double(actual, index) : literal_get_imaginary(actual, index);
        pair.bits_equal = memcmp(&pair.reference, &pair.actual, sizeof pair.actual) == 0;
    } else {
        pair.reference = literal_get_double(reference, index);
        pair.magnitude = fabs(pair.reference);
        pair.actual = literal_get_double(actual, index);
        uint64_t a = literal_get_bits(reference, index), b = literal_get_bits(actual, index);
        /* A pred is true whatever bits make it so (a bitcast may make others than 1). */
        pair.bits_equal = pair.type == TYPE_PRED ? (a != 0) == (b != 0) : a == b;
    }
    return pair;
}

static double ulps_between(const struct pair *pair)
{
    if (!type_is_float(pair->type)) {
        return fabs(pair->actual - pair->reference);
    }
    double scale = isfinite(pair->magnitude) ? pair->magnitude : float_max(pair->type);
    return fabs(pair->actual - pair->reference) / float_ulp(pair->type, scale);
}

/* XLA's rule (literal_comparison.cc NearComparator): fails only if both bounds are exceeded. */
static bool within_xla(const struct bound *bound, double error, double reference)
{
    double rel = reference == 0 ? INFINITY : error / fabs(reference);
    return !(error > bound->abs && rel > bound->rel);
}

static double part_of(double error, double allowed)
{
    return error == 0 ? 0 : allowed > 0 ? error / allowed : INFINITY;
}

/* The error as a part of what is allowed without an own bound; beyond 1 it is too large. */
static double allowed_part(const struct bound *bound, const struct pair *pair, double error,
                           double ulps)
{
    if (bound->xla_rule) {
        double abs = part_of(error, bound->abs);
        double rel = part_of(error, bound->rel * fabs(pair->reference));
        return within_xla(bound, error, pair->reference) ? fmin(fmin(abs, rel), 1) : fmin(abs, rel);
    }
    double tiny = float_min_normal(pair->type);
    if (bound->flush_subnormals && fabs(pair->reference) < tiny && fabs(pair->actual) < tiny) {
        return 0;
    }
    return fmin(part_of(error, bound->abs + bound->rel * pair->magnitude),
                part_of(ulps, bound->ulps));
}

/* The same with an own bound; *undecided where the golden does not know. */
static double own_part(const struct bound *bound, double error, double part, double own,
                       bool *undecided)
{
    bool unknown = isnan(own) || isinf(own);
    bool ill = unknown || (bound->undecidable > 0 && own > bound->undecidable);
    *undecided = ill && part > 1 && (unknown || error <= ill_conditioned * own);
    if (unknown || (ill && part <= 1)) {
        return part;
    }
    return fmin(part / (bound->near > 0 ? bound->near : 1), part_of(error, own));
}

/* Is a special number against another one undecided? */
static bool special_undecided(const struct bound *bound, double reference, double own)
{
    return isnan(own) || isinf(own) ||
           (bound->undecidable > 0 && own > bound->undecidable && own >= fabs(reference));
}

static int bucket_of(double ulps)
{
    static const double limits[] = {0, 1, 4, 16, 256, 65536};
    int bucket = 0;
    while (bucket < 6 && ulps > limits[bucket]) {
        bucket++;
    }
    return bucket;
}

static void keep_top(struct leaf_comparison *leaf, const struct element_difference *difference)
{
    int at = leaf->top_count;
    while (at > 0 && leaf->top[at - 1].error < difference->error) {
        at--;
    }
    if (at == COMPARE_EXAMPLES) {
        return;
    }
    if (leaf->top_count < COMPARE_EXAMPLES) {
        leaf->top_count++;
    }
    memmove(&leaf->top[at + 1], &leaf->top[at],
            (size_t)(leaf->top_count - at - 1) * sizeof leaf->top[0]);
    leaf->top[at] = *difference;
}

static void note_mismatch(struct leaf_comparison *leaf, const struct element_difference *difference)
{
    if (leaf->mismatches++ == 0) {
        leaf->first = *difference;
        leaf->worst = *difference;
    }
    if (difference->error > leaf->worst.error) {
        leaf->worst = *difference;
    }
    keep_top(leaf, difference);
}

/* Judges one pair that is not bit-equal. */
static void judge(struct leaf_comparison *leaf, const struct bound *bound, const struct pair *pair,
                  int64_t index, int part, double own)
{
    struct element_difference difference = {index, part, pair->reference, pair->actual, 0, 0};
    if (!type_is_float(pair->type)) {
        if (isnan(own)) {
            leaf->undecided++;
            return;
        }
        difference.error = fabs(pair->actual - pair->reference);
        difference.ulps = difference.error;
        leaf->buckets[bucket_of(difference.ulps > 0 ? difference.ulps : 1)]++;
        leaf->largest_abs = fmax(leaf->largest_abs, difference.error);
        leaf->needed_abs = leaf->needed_rel = leaf->needed_ulps = INFINITY;
        leaf->largest_part = INFINITY;
        note_mismatch(leaf, &difference);
        return;
    }
    bool nan_reference = isnan(pair->reference), nan_actual = isnan(pair->actual);
    if (nan_reference && nan_actual) {
        leaf->buckets[0]++;
        return;
    }
    bool special = nan_reference || nan_actual || isinf(pair->reference) || isinf(pair->actual);
    if (special && special_undecided(bound, pair->reference, own)) {
        leaf->undecided++;
        return;
    }
    if (special) {
        leaf->nan_disagreements += nan_reference || nan_actual;
        leaf->infinity_disagreements += !nan_reference && !nan_actual;
        leaf->buckets[COMPARE_BUCKETS - 1]++;
        difference.error = INFINITY;
        difference.ulps = !nan_reference && !nan_actual ? ulps_between(pair) : INFINITY;
        /* Overflow by a rounding: the largest finite value against infinity. */
        if (!bound->xla_rule && difference.ulps <= bound->ulps && bound->ulps > 0) {
            leaf->largest_part = fmax(leaf->largest_part, difference.ulps / bound->ulps);
            return;
        }
        leaf->largest_part = INFINITY;
        leaf->needed_abs = leaf->needed_rel = leaf->needed_ulps = INFINITY;
        note_mismatch(leaf, &difference);
        return;
    }
    difference.error = fabs(pair->actual - pair->reference);
    difference.ulps = ulps_between(pair);
    leaf->buckets[bucket_of(difference.ulps)]++;
    leaf->largest_abs = fmax(leaf->largest_abs, difference.error);
    leaf->largest_ulps = fmax(leaf->largest_ulps, difference.ulps);
    double scale = bound->xla_rule ? fabs(pair->reference) : pair->magnitude;
    double relative = scale != 0 ? difference.error / scale : difference.error > 0 ? INFINITY : 0;
    leaf->largest_rel = fmax(leaf->largest_rel, relative);
    if (difference.error == 0) { /* +0 against −0 */
        if (!bound->zeros_equal && !bound->xla_rule) {
            leaf->sign_of_zero_disagreements++;
            leaf->largest_part = INFINITY;
            note_mismatch(leaf, &difference);
        }
        return;
    }
    double allowed = allowed_part(bound, pair, difference.error, difference.ulps);
    if (bound->element_bounds != NULL) {
        bool undecided;
        allowed = own_part(bound, difference.error, allowed, own, &undecided);
        if (undecided) {
            leaf->undecided++;
            return;
        }
    }
    leaf->needed_abs = fmax(leaf->needed_abs, difference.error);
    leaf->needed_ulps = fmax(leaf->needed_ulps, difference.ulps);
    leaf->needed_rel = fmax(leaf->needed_rel, relative);
    leaf->largest_part = fmax(leaf->largest_part, allowed);
    if (allowed > 1) {
        note_mismatch(leaf, &difference);
    }
}

double literal_scale(const struct literal *leaf)
{
    enum type part = type_part(leaf->shape->type);
    if (!shape_is_array(leaf->shape) || !type_is_float(part)) {
        return 0;
    }
    int64_t numbers = literal_elements(leaf) * (part != leaf->shape->type ? 2 : 1);
    const char *data = literal_data(leaf);
    double scale = 0, values[STRIP];
    for (int64_t first = 0; first < numbers; first += STRIP) {
        int64_t count = numbers - first < STRIP ? numbers - first : STRIP;
        float_load(part, data + first * type_bytes(part), values, count);
        for (int64_t i = 0; i < count; i++) {
            double magnitude = fabs(values[i]);
            scale = magnitude > scale && magnitude <= DBL_MAX ? magnitude : scale;
        }
    }
    return scale;
}

/* Arrays of real floats without unspecified elements or run-time sizes, strip by strip. */
static void compare_floats(const struct literal *reference, const struct literal *actual,
                           const struct bound *bound, struct leaf_comparison *leaf)
{
    enum type type = reference->shape->type;
    int64_t bytes = type_bytes(type);
    const char *a = literal_data(reference), *b = literal_data(actual);
    struct pair pair = {.type = type};
    double references[STRIP], actuals[STRIP];
    for (int64_t first = 0; first < leaf->elements; first += STRIP) {
        int64_t count = leaf->elements - first < STRIP ? leaf->elements - first : STRIP;
        const char *x = a + first * bytes, *y = b + first * bytes;
        if (memcmp(x, y, (size_t)(count * bytes)) == 0) {
            leaf->buckets[0] += count;
            continue;
        }
        float_load(type, x, references, count);
        float_load(type, y, actuals, count);
        for (int64_t i = 0; i < count; i++) {
            pair.reference = references[i];
            pair.actual = actuals[i];
            pair.magnitude = fabs(references[i]);
            /* Equal numbers other than zeros have equal bits. */
            if (pair.reference == pair.actual &&
                (pair.reference != 0 || signbit(pair.reference) == signbit(pair.actual))) {
                leaf->buckets[0]++;
                continue;
            }
            double own = bound->element_bounds != NULL ? bound->element_bounds[first + i] : 0;
            judge(leaf, bound, &pair, first + i, 0, own);
        }
    }
}

static void compare_leaf(const struct literal *reference, const struct literal *actual,
                         const struct bound *bound, struct leaf_comparison *leaf)
{
    const struct shape *a = reference->shape, *b = actual->shape;
    if (a->type != b->type || a->rank != b->rank ||
        (a->rank > 0 && memcmp(a->dimensions, b->dimensions, (size_t)a->rank * 8) != 0) ||
        (shape_is_array(a) && !literal_sizes_equal(reference, actual))) {
        leaf->shapes_differ = true;
        leaf->mismatches = 1;
        return;
    }
    if (!shape_is_array(a)) {
        return;
    }
    leaf->elements = shape_elements(a);
    /* The common case first: nothing differs. */
    if (reference->buffer->unspecified == NULL &&
        memcmp(literal_data(reference), literal_data(actual), reference->buffer->size) == 0) {
        leaf->buckets[0] = leaf->elements * (type_is_complex(a->type) ? 2 : 1);
        return;
    }
    if (type_is_float(a->type) && reference->buffer->unspecified == NULL &&
        reference->dynamic_sizes == NULL) {
        compare_floats(reference, actual, bound, leaf);
        return;
    }
    int parts = type_is_complex(a->type) ? 2 : 1;
    for (int64_t i = 0; i < leaf->elements; i++) {
        if (!literal_has_element(reference, i)) {
            continue;
        }
        if (literal_is_unspecified(reference, i)) {
            leaf->unspecified++;
            continue;
        }
        int64_t mismatches = leaf->mismatches, undecided = leaf->undecided;
        for (int part = 0; part < parts; part++) {
            struct pair pair = pair_get(reference, actual, i, part);
            if (pair.bits_equal) {
                leaf->buckets[0]++;
                continue;
            }
            double own =
                bound->element_bounds != NULL ? bound->element_bounds[i * parts + part] : 0;
            judge(leaf, bound, &pair, i, part, own);
        }
        if (leaf->mismatches > mismatches) { /* elements count, not their parts */
            leaf->mismatches = mismatches + 1;
        }
        if (leaf->undecided > undecided) {
            leaf->undecided = undecided + 1;
        }
    }
}

void literal_compare(const struct literal *reference, const struct literal *actual,
                     const struct bound *bounds, struct comparison *result)
{
    memset(result, 0, sizeof *result);
    result->leaf_count = shape_leaves(reference->shape);
    result->leaves = memory_zalloc((size_t)result->leaf_count * sizeof *result->leaves);
    for (int i = 0; i < result->leaf_count; i++) {
        struct leaf_comparison *leaf = &result->leaves[i];
        const struct literal *other = literal_leaf(actual, i);
        leaf->leaf = i;
        if (other == NULL) {
            leaf->shapes_differ = true;
            leaf->mismatches = 1;
        } else {
            compare_leaf(literal_leaf(reference, i), other, &bounds[i], leaf);
        }
        result->mismatches += leaf->mismatches;
        result->unspecified += leaf->unspecified;
        result->undecided += leaf->undecided;
    }
    result->equal = result->mismatches == 0;
}

void comparison_finish(struct comparison *comparison)
{
    free(comparison->leaves);
    memset(comparison, 0, sizeof *comparison);
}
