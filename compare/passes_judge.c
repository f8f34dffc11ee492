/* How far results may be from others: default bounds, licensed evaluations, spreads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/devices.h"
#include "compare/licence.h"
#include "compare/passes_internal.h"
#include "compare/tolerance.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/map.h"
#include "hlo/base/text.h"
#include "hlo/floats.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/interp.h"

/* What default bounds grant at once may also be so many steps of the coarsest type that rounds on
 * the way (in terms of the output's largest element). */
enum { STEPS_AT_ONCE_COARSEST = 2 };

/* A few samples move some elements of many too little by luck. Where no more than one element in
 * FEW is outside, spreads are found again, of so many times the samples (which say more exactly
 * how far is too far: tolerance.h). */
enum { ROUNDS = 2, FEW = 1000, MORE_SAMPLES = 4 };

/* --- the same bits --- */

static bool leaves_same(const struct literal *a, const struct literal *b)
{
    if (a == b) {
        return true;
    }
    if (!shape_compatible(a->shape, b->shape) || !shape_is_array(a->shape)) {
        return shape_compatible(a->shape, b->shape);
    }
    if (a->dynamic_sizes != NULL || b->dynamic_sizes != NULL) {
        return literal_equal(a, b);
    }
    const struct buffer *x = a->buffer, *y = b->buffer;
    if (x == y) {
        return true;
    }
    size_t bits = ((size_t)literal_elements(a) + 7) / 8;
    bool marks =
        x->unspecified == y->unspecified || (x->unspecified != NULL && y->unspecified != NULL &&
                                             memcmp(x->unspecified, y->unspecified, bits) == 0);
    return marks && memcmp(x->data, y->data, x->size) == 0;
}

bool pass_results_same(const struct literal *a, const struct literal *b)
{
    int count = shape_leaves(a->shape);
    for (int i = 0; i < count; i++) {
        if (!leaves_same(literal_leaf(a, i), literal_leaf(b, i))) {
            return false;
        }
    }
    return true;
}

/* --- distances --- */

void pass_distance_worsen(struct pass_distance *into, const struct pass_distance *from)
{
    if (!from->known) {
        return;
    }
    into->bits = from->bits && (into->bits || !into->known);
    into->known = true;
    into->ulps = fmax(into->ulps, from->ulps);
    into->tolerance = fmax(into->tolerance, from->tolerance);
    into->elements += from->elements;
    into->mismatches += from->mismatches;
    into->unspecified += from->unspecified;
    into->undecided += from->undecided;
}

static void measure(struct pass_judgement *judgement)
{
    const struct comparison *comparison = &judgement->comparison;
    struct pass_distance *distance = &judgement->distance;
    bool bits = distance->bits;
    *distance = (struct pass_distance){.known = true, .bits = bits};
    for (int i = 0; i < comparison->leaf_count; i++) {
        const struct leaf_comparison *leaf = &comparison->leaves[i];
        distance->elements += leaf->elements;
        distance->ulps = fmax(distance->ulps, leaf->largest_ulps);
        distance->tolerance = fmax(distance->tolerance, leaf->largest_part);
        bool special = leaf->shapes_differ || isinf(leaf->needed_ulps);
        distance->ulps = special ? INFINITY : distance->ulps;
    }
    distance->mismatches = comparison->mismatches;
    distance->unspecified = comparison->unspecified;
    distance->undecided = comparison->undecided;
    judgement->agrees = comparison->equal;
}

static void compare(struct pass_judgement *judgement, const struct literal *actual)
{
    comparison_finish(&judgement->comparison);
    literal_compare(judgement->reference, actual, judgement->bounds, &judgement->comparison);
    measure(judgement);
}

/* --- elements that HLO leaves open --- */

/* A copy of a tree of literals with data of its own where `actual` leaves elements open that it
 * does not, and those marked. */
static struct literal *open_elements(const struct literal *reference, const struct literal *actual)
{
    if (shape_is_tuple(reference->shape)) {
        int count = reference->shape->count;
        struct literal **elements = memory_zalloc(((size_t)count + 1) * sizeof *elements);
        for (int i = 0; i < count; i++) {
            elements[i] = open_elements(reference->elements[i], actual->elements[i]);
        }
        struct literal *tuple = literal_tuple_take(reference->shape, elements);
        free(elements);
        return tuple;
    }
    struct literal *own = literal_retain(reference);
    if (!shape_is_array(reference->shape) || actual->buffer->unspecified == NULL ||
        !shape_compatible(reference->shape, actual->shape)) {
        return own;
    }
    struct literal *writable = literal_own_take(own, NULL);
    int64_t count = writable != NULL ? literal_elements(writable) : 0;
    for (int64_t i = 0; i < count; i++) {
        if (literal_is_unspecified(actual, i)) {
            literal_mark_unspecified(writable, i);
        }
    }
    return writable != NULL ? writable : literal_retain(reference);
}

/* --- bounds --- */

/* Of the coarsest types in which something may round otherwise. */
struct coarsest {
    double step;  /* relative */
    double least; /* smallest positive number, what is lost of it near zero */
};

static struct coarsest find_coarsest(const struct module *module, const struct profile *profile)
{
    struct roundings roundings;
    roundings_find(module, profile, &roundings);
    struct coarsest coarsest = {0};
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *instruction = computation->instructions[i];
            const struct rounding *rounding = &roundings.values[c][i];
            if (rounding->ulps <= 0 && rounding->terms <= 0) {
                continue;
            }
            enum type type = profile_rounding_type(instruction);
            int bits = float_formats[type].mantissa_bits;
            if (instruction->opcode == OP_REDUCE_PRECISION) {
                bits = (int)attr_int(instruction, ATTR_MANTISSA_BITS, bits);
            }
            coarsest.step = fmax(coarsest.step, ldexp(1, -bits));
            coarsest.least = fmax(coarsest.least, float_min_positive(type));
        }
    }
    roundings_finish(&roundings);
    return coarsest;
}

double pass_coarsest_step(const struct module *module, const struct profile *profile)
{
    return find_coarsest(module, profile).step;
}

static void cap(struct bound *bound, const struct literal *leaf, const struct coarsest *coarsest)
{
    enum type part = type_part(leaf->shape->type);
    if (!type_is_float(part)) {
        return;
    }
    double unit = ldexp(1, -float_formats[part].mantissa_bits);
    double most = fmax(bounds_steps_at_once(part) * unit, STEPS_AT_ONCE_COARSEST * coarsest->step);
    if (bound->rel > most) {
        bound->rel = most;
        bound->abs = fmin(bound->abs, most * literal_scale(leaf));
        bound->ulps = fmin(bound->ulps, most / unit);
    }
    if (bound->rel > 0) {
        bound->abs = fmax(bound->abs, coarsest->least);
    }
}

static void default_bounds(const struct pass_judging *judging, struct pass_judgement *judgement)
{
    const struct pass_frame *frame = judging->bases[0].form->frame;
    struct text text;
    text_init(&text);
    for (int d = 0; d < frame->device_count; d++) {
        const struct literal *results =
            frame->device_count == 1 ? judgement->reference : judgement->reference->elements[d];
        bounds_default(judging->bases[0].form->module, judging->profile, results,
                       judgement->bounds + (ptrdiff_t)d * frame->result_count, &text);
    }
    text_finish(&text);
    struct coarsest coarsest = find_coarsest(judging->bases[0].form->module, judging->profile);
    for (int i = 0; i < judgement->bound_count; i++) {
        cap(&judgement->bounds[i], literal_leaf(judgement->reference, i), &coarsest);
    }
}

/* --- spreads --- */

void pass_spreads_finish(struct pass_spread *spreads)
{
    while (spreads != NULL) {
        struct pass_spread *next = spreads->next;
        bounds_finish(spreads->bounds, spreads->count);
        free(spreads);
        spreads = next;
    }
}

/* Of two modules neither is the reference: what is ill-conditioned in one may be anything. */
static void mark_undecidable(struct bound *bound, const struct literal *leaf)
{
    double *own = (double *)bound->element_bounds;
    if (own == NULL || !shape_is_array(leaf->shape)) {
        return;
    }
    int64_t count = literal_elements(leaf) * (type_is_complex(leaf->shape->type) ? 2 : 1);
    for (int64_t i = 0; i < count; i++) {
        own[i] = own[i] > bound->undecidable ? INFINITY : own[i];
    }
    bound->undecidable = 0;
}

static struct bound *find_spread(const struct pass_judging *judging, const struct pass_basis *basis,
                                 int samples, uint64_t seed, int count)
{
    struct bound *bounds = memory_zalloc((size_t)count * sizeof *bounds);
    struct interp_options interp = *judging->interp;
    interp.replica_count = basis->form->replica_count;
    interp.partition_count = basis->form->partition_count;
    int argument_count;
    struct literal **arguments =
        pass_form_arguments(basis->form, basis->arrays, &argument_count, NULL);
    bool good = arguments != NULL &&
                bounds_derived(basis->form->module, judging->profile, arguments, argument_count,
                               samples, seed, &interp, basis->results, bounds, NULL);
    pass_arguments_release(arguments, argument_count);
    if (!good) {
        bounds_finish(bounds, count);
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        mark_undecidable(&bounds[i], literal_leaf(basis->results, i));
    }
    return bounds;
}

static void widen_leaf(struct bound *into, const struct bound *from, const struct literal *leaf)
{
    if (from->element_bounds == NULL || !shape_is_array(leaf->shape)) {
        return;
    }
    int64_t count = literal_elements(leaf) * (type_is_complex(leaf->shape->type) ? 2 : 1);
    double *widths = (double *)into->element_bounds;
    if (widths == NULL) {
        widths = memory_zalloc((size_t)count * sizeof *widths);
        into->element_bounds = widths;
    }
    for (int64_t i = 0; i < count; i++) {
        double own = from->element_bounds[i];
        widths[i] = isnan(own) || isnan(widths[i]) ? NAN : fmax(widths[i], own);
    }
}

void pass_bounds_widen(struct bound *into, const struct bound *from, int count,
                       const struct literal *results)
{
    for (int i = 0; i < count; i++) {
        into[i].abs = fmax(into[i].abs, from[i].abs);
        into[i].rel = fmax(into[i].rel, from[i].rel);
        into[i].ulps = fmax(into[i].ulps, from[i].ulps);
        widen_leaf(&into[i], &from[i], literal_leaf(results, i));
    }
}

/* Twice the distance; 0 of the same, and of both NaN. */
static double moved(enum type part, double first, double now)
{
    if (first == now || (isnan(first) && isnan(now))) {
        return 0;
    }
    double distance = 2 * fabs(now - first);
    return !type_is_float(part) ? NAN : isnan(distance) ? INFINITY : distance;
}

void pass_bounds_accept(struct bound *bounds, const struct literal *first,
                        const struct literal *now, int count)
{
    for (int i = 0; i < count; i++) {
        const struct literal *from = literal_leaf(first, i), *to = literal_leaf(now, i);
        if (!shape_is_array(from->shape) || leaves_same(from, to)) {
            continue;
        }
        enum type type = from->shape->type, part = type_part(type);
        int parts = type_is_complex(type) ? 2 : 1;
        int64_t elements = literal_elements(from);
        double *widths = memory_zalloc((size_t)(elements * parts + 1) * sizeof *widths);
        for (int64_t k = 0; k < elements; k++) {
            if (literal_is_unspecified(from, k) || literal_is_unspecified(to, k)) {
                continue;
            }
            widths[k * parts] = moved(part, literal_get_double(from, k), literal_get_double(to, k));
            if (parts == 2) {
                widths[k * parts + 1] =
                    moved(part, literal_get_imaginary(from, k), literal_get_imaginary(to, k));
            }
        }
        struct bound moves = {.element_bounds = widths};
        widen_leaf(&bounds[i], &moves, from);
        free(widths);
    }
}

/* Adds the golden's own spread on a basis to the bounds; false if it is not known. Each basis has
 * roundings of its own, and each round others. */
static bool widen(const struct pass_judging *judging, int at, unsigned round,
                  struct pass_judgement *judgement)
{
    const struct pass_basis *basis = &judging->bases[at];
    struct pass_spread *kept = basis->spreads != NULL ? *basis->spreads : NULL;
    while (kept != NULL && (kept->licences != judging->licences || kept->round != round)) {
        kept = kept->next;
    }
    if (kept == NULL && judging->quick) {
        return false;
    }
    struct bound *bounds =
        kept != NULL
            ? kept->bounds
            : find_spread(judging, basis, judging->samples * (round > 0 ? MORE_SAMPLES : 1),
                          hash_u64(judging->seed, (uint64_t)at + 8 * round),
                          judgement->bound_count);
    for (int i = 0; bounds != NULL && i < judgement->bound_count; i++) {
        widen_leaf(&judgement->bounds[i], &bounds[i], literal_leaf(judgement->reference, i));
    }
    bool good = bounds != NULL;
    if (kept == NULL && basis->spreads != NULL) {
        kept = memory_zalloc(sizeof *kept);
        *kept = (struct pass_spread){*basis->spreads, judging->licences, round, bounds,
                                     judgement->bound_count};
        *basis->spreads = kept;
    } else if (kept == NULL) {
        bounds_finish(bounds, judgement->bound_count);
    }
    return good;
}

/* --- licensed evaluations --- */

static void try_licences(const struct pass_judging *judging, const struct literal *actual,
                         struct pass_judgement *judgement, struct text *note)
{
    const struct pass_basis *basis = &judging->bases[0];
    struct interp_options interp = *judging->interp;
    interp.replica_count = basis->form->replica_count;
    interp.partition_count = basis->form->partition_count;
    int argument_count;
    struct literal **arguments =
        pass_form_arguments(basis->form, basis->arrays, &argument_count, NULL);
    struct literal *nearest = NULL;
    for (int i = 0; arguments != NULL && i < licence_count && !judgement->agrees; i++) {
        struct literal *licensed =
            licences[i].allowed(judging->profile)
                ? licences[i].evaluate(basis->form->module, arguments, argument_count, &interp,
                                       &(struct error){0})
                : NULL;
        if (licensed == NULL) {
            continue;
        }
        if (nearest == NULL) {
            nearest = literal_copy(judgement->reference, &(struct error){0});
            if (nearest == NULL) {
                literal_release(licensed);
                break;
            }
            literal_release((struct literal *)judgement->reference);
            judgement->reference = nearest;
        }
        /* The module's own tuples are not the frame's: leaf by leaf. */
        int64_t taken = 0;
        for (int k = 0; k < judgement->bound_count; k++) {
            const struct literal *leaf = literal_leaf(licensed, k);
            const struct literal *other = literal_leaf(actual, k);
            if (leaf != NULL && other != NULL && shape_is_array(other->shape)) {
                taken += take_nearer(literal_leaf(nearest, k), leaf, other);
            }
        }
        literal_release(licensed);
        if (taken > 0) {
            compare(judgement, actual);
            text_printf(note, "%s%lld elements are nearer under %s", note->size > 0 ? "; " : "",
                        (long long)taken, licences[i].name);
        }
    }
    pass_arguments_release(arguments, argument_count);
}

/* --- judging --- */

/* Widens by one basis after the other, as long as something differs: first by those whose spreads
 * are kept, since they may cost nothing. */
static void widen_all(const struct pass_judging *judging, unsigned round,
                      const struct literal *actual, struct pass_judgement *judgement)
{
    for (int kept = 1; kept >= 0; kept--) {
        for (int b = 0; b < judging->basis_count; b++) {
            const struct pass_basis *basis = &judging->bases[b];
            if ((basis->spreads != NULL) == kept && basis->form->is_plain && !judgement->agrees &&
                widen(judging, b, round, judgement)) {
                compare(judgement, actual);
            }
        }
    }
}

static void judge_within(const struct pass_judging *judging, const struct literal *actual,
                         struct pass_judgement *judgement, struct text *note)
{
    default_bounds(judging, judgement);
    if (judging->also != NULL) {
        pass_bounds_widen(judgement->bounds, judging->also, judgement->bound_count,
                          judgement->reference);
    }
    compare(judgement, actual);
    for (unsigned round = 0; round < ROUNDS; round++) {
        widen_all(judging, round, actual, judgement);
        const struct pass_distance *distance = &judgement->distance;
        if (distance->mismatches * FEW > distance->elements) {
            break; /* not by luck */
        }
    }
    if (judgement->agrees || judging->quick || !judging->bases[0].form->is_plain) {
        return;
    }
    try_licences(judging, actual, judgement, note);
}

void pass_judge(const struct pass_judging *judging, const struct literal *reference,
                const struct literal *actual, struct pass_judgement *judgement)
{
    *judgement = (struct pass_judgement){.bound_count = shape_leaves(reference->shape)};
    judgement->bounds = memory_zalloc((size_t)judgement->bound_count * sizeof(struct bound));
    struct text note;
    text_init(&note);
    judgement->reference = literal_has_unspecified(actual) ? open_elements(reference, actual)
                                                           : literal_retain(reference);
    compare(judgement, actual);
    judgement->distance.bits = judgement->agrees;
    if (!judgement->agrees && judging->profile != NULL) {
        judge_within(judging, actual, judgement, &note);
    }
    judgement->note = text_take(&note);
    text_finish(&note);
}

void pass_judgement_finish(struct pass_judgement *judgement)
{
    comparison_finish(&judgement->comparison);
    bounds_finish(judgement->bounds, judgement->bound_count);
    literal_release((struct literal *)judgement->reference);
    free(judgement->note);
    *judgement = (struct pass_judgement){0};
}
