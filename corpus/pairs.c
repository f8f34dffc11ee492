/* (got, want) pairs. */
#include "corpus/pairs.h"

#include <stdio.h>
#include <string.h>

#include "compare/compare.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"

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

bool pairs_check(const struct literal *result, const char *source, int *failed,
                 struct text *picture, struct error *err)
{
    *failed = 0;
    if (!shape_is_tuple(result->shape) || result->shape->count % 2 != 0) {
        return error_set(err, ERROR_INVALID_ARGUMENT,
                         "the entry must return a tuple of (got, want) pairs, but it returns %s",
                         shape_text(result->shape));
    }
    for (int i = 0; i < result->shape->count; i += 2) {
        const struct literal *got = result->elements[i], *want = result->elements[i + 1];
        if (!shape_is_array(got->shape)) {
            return error_set(err, ERROR_INVALID_ARGUMENT, "pair %d is not a pair of arrays", i / 2);
        }
        struct bound bound = bound_of(source, i / 2, got->shape->type);
        struct comparison comparison;
        literal_compare(want, got, &bound, &comparison);
        if (!comparison.equal) {
            (*failed)++;
            text_printf(picture, "pair %d: ", i / 2);
            comparison_print(&comparison, want, got, picture);
        }
        comparison_finish(&comparison);
    }
    return true;
}
