/* Brackets: intervals with MPFR ends, rounded outward: the last resort of operations whose fast
 * path, with an error bound, leaves an element open. The exact value lies inside by construction,
 * and an interval whose operations all come out exact is a point. So more and more bits decide
 * every rounding but that of a value that lies on a boundary and is no dyadic number's exact
 * result; what a caller knows about such values it says in its own file.
 *
 * All intervals of one calculation have the precision of its scratch. Results may be operands. */
#ifndef INTERP_BRACKET_H
#define INTERP_BRACKET_H

#include <mpfr.h>
#include <stdbool.h>
#include <stdint.h>

#include "hlo/types.h"

struct bracket {
    mpfr_t low, high;
};

struct bracket_scratch {
    mpfr_prec_t precision;
    mpfr_t a, b, c;
};

void bracket_scratch_init(struct bracket_scratch *scratch, mpfr_prec_t precision);
void bracket_scratch_finish(struct bracket_scratch *scratch);

/* NULL if there is no memory. Zeros. */
struct bracket *brackets_create(int64_t count, mpfr_prec_t precision);
void brackets_destroy(struct bracket *brackets, int64_t count);

/* precision ≥ 53: exact. */
void bracket_set(struct bracket *out, double value);
void bracket_copy(struct bracket *out, const struct bracket *a);
void bracket_negate(struct bracket *out, const struct bracket *a);
void bracket_add(struct bracket *out, const struct bracket *a, const struct bracket *b);
void bracket_add_double(struct bracket *out, const struct bracket *a, double b);
void bracket_subtract(struct bracket *out, const struct bracket *a, const struct bracket *b);
void bracket_multiply(struct bracket_scratch *scratch, struct bracket *out, const struct bracket *a,
                      const struct bracket *b);
void bracket_multiply_double(struct bracket_scratch *scratch, struct bracket *out,
                             const struct bracket *a, double b);
/* b does not contain 0. */
void bracket_divide(struct bracket_scratch *scratch, struct bracket *out, const struct bracket *a,
                    const struct bracket *b);
/* Of the part of a that is not negative. */
void bracket_sqrt(struct bracket *out, const struct bracket *a);

static inline bool bracket_is_positive(const struct bracket *a)
{
    return mpfr_sgn(a->low) > 0;
}
static inline bool bracket_is_negative(const struct bracket *a)
{
    return mpfr_sgn(a->high) < 0;
}
/* A point at 0. */
static inline bool bracket_is_zero(const struct bracket *a)
{
    return mpfr_zero_p(a->low) && mpfr_zero_p(a->high);
}

/* Whether all values inside round alike to `type`, and to what. Zero is +0, what underflows keeps
 * its sign. */
bool bracket_round(enum type type, const struct bracket *a, double *out);
/* The rounded value of the one rounding boundary (or zero) inside a narrow interval. */
double bracket_boundary(enum type type, const struct bracket *a);

/* An MPFR number rounded once to `type`. */
double bracket_round_number(enum type type, mpfr_srcptr value);

#endif
