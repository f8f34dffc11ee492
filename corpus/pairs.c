/* (got, want) pairs. */
#include "corpus/pairs.h"

#include <stdio.h>
#include <string.h>

#include "compare/compare.h"
#include "compare/tolerance.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "interp/interp.h"

static const struct {
    const char *name;
    struct bound bound;
} kinds[] = {
    {"expect_eq", {.ulps = 0}},
    {"expect_eq_const", {.ulps = 0}},
    {"expect_almost_eq", {.abs = 1e-3, .zeros_equal = true}},
    {"expect_almost_eq_const", {.abs = 1e-3, .zeros_equal = true}},
    {"expect_close", {.ulps = 3, .zeros_equal = true}},
};

/* The bound of pair n as the comment says, or by default. */
static struct bound bound_of(const char *source, int n, enum type type)
{
    const char *at = source != NULL ? strstr(source, "; kinds: ") : NULL;
    const char *newline = at != NULL ? strchr(at, '\n') : NULL;
    if (at != NULL) {
        at += strlen("; kinds: ");
        for (int i = 0; i < n && at != NULL; i++) {
            at = strchr(at, ' ');
            at = at != NULL && (newline == NULL || at < newline) ? at + 1 : NULL;
        }
    }
    if (at != NULL) {
        size_t size = strcspn(at, " \r\n");
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            if (strlen(kinds[i].name) == size && memcmp(kinds[i].name, at, size) == 0) {
                return kinds[i].bound;
            }
        }
    }
    bool inexact = type_is_float(type) || type_is_complex(type);
    return inexact ? kinds[4].bound : kinds[0].bound;
}

/* Other values of the module that a difference is held against, made when first asked for. */
struct second_looks {
    const struct pairs *pairs;
    struct literal *literal; /* every step rounded in written order, or NULL */
    struct bound *derived;   /* one a leaf of the result, or NULL */
    bool literal_tried, derived_tried;
};

static const struct literal *literal_value(struct second_looks *looks)
{
    if (!looks->literal_tried) {
        looks->literal_tried = true;
        struct interp_options options = *looks->pairs->options;
        struct error err = {0};
        options.fidelity = FIDELITY_LITERAL;
        looks->literal = interp_evaluate(looks->pairs->module, looks->pairs->arguments,
                                         looks->pairs->argument_count, &options, &err);
    }
    return looks->literal;
}

enum { SAMPLES = 12 };

static const struct bound *derived_bounds(struct second_looks *looks)
{
    const struct pairs *pairs = looks->pairs;
    if (!looks->derived_tried) {
        looks->derived_tried = true;
        int leaves = shape_leaves(pairs->result->shape);
        struct bound *bounds = memory_zalloc((size_t)leaves * sizeof *bounds);
        struct error err = {0};
        if (bounds_derived(pairs->module, profile_find("cpu"), pairs->arguments,
                           pairs->argument_count, SAMPLES, 1, pairs->options, pairs->result, bounds,
                           &err)) {
            looks->derived = bounds;
        } else {
            bounds_finish(bounds, leaves);
        }
    }
    return looks->derived;
}

static void second_looks_finish(struct second_looks *looks)
{
    literal_release(looks->literal);
    bounds_finish(looks->derived, shape_leaves(looks->pairs->result->shape));
}

static bool agree(const struct literal *want, const struct literal *got, const struct bound *bound)
{
    struct comparison comparison;
    literal_compare(want, got, bound, &comparison);
    bool equal = comparison.equal && comparison.undecided == 0;
    comparison_finish(&comparison);
    return equal;
}

/* How the roundings of the expectation account for a difference, or NULL when they do not. The
 * golden as the reference: what it marks as unspecified or ill-conditioned stays a difference. */
static const char *rounding_of(struct second_looks *looks, int i, const struct bound *bound)
{
    const struct literal *got = looks->pairs->result->elements[i];
    const struct literal *want = looks->pairs->result->elements[i + 1];
    if (!type_is_float(type_part(got->shape->type)) || looks->pairs->options->noise != NULL) {
        return NULL;
    }
    const struct literal *stepwise = literal_value(looks);
    if (stepwise != NULL && agree(want, stepwise->elements[i], bound)) {
        return "is what the operations give when every step is rounded in written order";
    }
    const struct bound *derived = derived_bounds(looks);
    struct bound spread = *bound;
    if (derived != NULL) {
        spread.element_bounds = derived[i].element_bounds;
        spread.zeros_equal = true;
    }
    return derived != NULL && agree(got, want, &spread)
               ? "is within the spread of the operations' roundings"
               : NULL;
}

static void check_pair(struct second_looks *looks, int i, struct pairs_outcome *outcome,
                       struct text *picture)
{
    const struct literal *got = looks->pairs->result->elements[i];
    const struct literal *want = looks->pairs->result->elements[i + 1];
    struct bound bound = looks->pairs->bounds != NULL
                             ? looks->pairs->bounds[i / 2]
                             : bound_of(looks->pairs->source, i / 2, got->shape->type);
    struct comparison comparison;
    literal_compare(want, got, &bound, &comparison);
    if (!comparison.equal) {
        const char *how = comparison.leaves[0].shapes_differ ? NULL : rounding_of(looks, i, &bound);
        outcome->failed += how == NULL;
        outcome->rounded += how != NULL;
        text_printf(picture, "pair %d: ", i / 2);
        if (how != NULL) {
            text_printf(picture, "the expectation is not exact; it %s\n", how);
        }
        comparison_print(&comparison, want, got, picture);
    }
    comparison_finish(&comparison);
}

bool pairs_check(const struct pairs *pairs, struct pairs_outcome *outcome, struct text *picture,
                 struct error *err)
{
    *outcome = (struct pairs_outcome){0};
    const struct literal *result = pairs->result;
    if (!shape_is_tuple(result->shape) || result->shape->count % 2 != 0) {
        return error_set(err, ERROR_INVALID_ARGUMENT,
                         "the entry must return a tuple of (got, want) pairs, but it returns %s",
                         shape_text(result->shape));
    }
    for (int i = 0; i < result->shape->count; i++) {
        if (!shape_is_array(result->elements[i]->shape)) {
            return error_set(err, ERROR_INVALID_ARGUMENT, "pair %d is not a pair of arrays", i / 2);
        }
    }
    struct second_looks looks = {.pairs = pairs};
    for (int i = 0; i < result->shape->count; i += 2) {
        check_pair(&looks, i, outcome, picture);
    }
    second_looks_finish(&looks);
    return true;
}
