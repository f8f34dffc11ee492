/* The references of the long tests: what an elementwise operation must give, element by element.
 *
 * A transcendental function is evaluated by the C library in long double (x87: 64 significant
 * bits) and granted a relative error of 2^-58, 64 units in its last place; the GNU C library's
 * manual ("Known Maximum Errors in Math Functions") has at most 7 for those used. If all numbers
 * within that bound round alike, that is the result; if not, MPFR decides. What is exact in long
 * double, or rounded once from it (64 ≥ 2·24 + 2), needs no bound. Rounding is number.h's, so
 * nothing here is the golden's. */
#ifndef TESTS_LONG_REFERENCE_H
#define TESTS_LONG_REFERENCE_H

#include "tests/interp/number.h"

enum reference_kind {
    REFERENCE_UNARY,   /* the operand's type out */
    REFERENCE_BITS,    /* bits of f32 to bits */
    REFERENCE_CONVERT, /* `result` out */
    REFERENCE_BINARY,  /* two operands of one type, which is that of the result */
};

/* How exact the value of the long double function is. */
enum reference_bound { BOUND_EXACT, BOUND_LIBM };

struct reference {
    const char *opcode;
    enum reference_kind kind;
    enum reference_bound bound;
    enum type type, result; /* of the operands and the result; INVALID: f32 and the operands' */
    long double (*unary)(long double);
    int (*unary_mpfr)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
    long double (*binary)(long double, long double);
    int (*binary_mpfr)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
    uint32_t (*bits)(uint32_t);
};

extern const struct reference references[];
extern const int reference_count;
/* By value, where the table's are by bits. */
extern const struct reference abs_reference, negate_reference;

/* The bits of the result of type `result` for operands of `type` given as bits. *by_mpfr is set if
 * MPFR decided; then *outside tells whether MPFR's value lies outside the bound granted to the C
 * library (which would make the reference wrong). `always` asks MPFR whatever the bound says. */
uint64_t reference_result(const struct reference *reference, enum type type, enum type result,
                          uint64_t a, uint64_t b, bool always, bool *by_mpfr, bool *outside);

#endif
