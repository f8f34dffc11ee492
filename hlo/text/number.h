/* Numbers of HLO text: reading what a literal or an attribute may hold, printing floats as XLA
 * does. Sources: xla/hlo/parser/hlo_lexer.cc (LexNumberOrPattern, LexNanPayload), xla/util.cc
 * (RoundTripFpToString). */
#ifndef HLO_TEXT_NUMBER_H
#define HLO_TEXT_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hlo/types.h"

struct text;

enum number_kind {
    NUMBER_NONE,    /* no number begins here */
    NUMBER_INT,     /* digits only; `integer` holds the value modulo 2^64 */
    NUMBER_DECIMAL, /* with a point or an exponent */
    NUMBER_INFINITY,
    NUMBER_NAN,       /* `integer` is the payload, 0 when none is written */
    NUMBER_TOO_LARGE, /* an integer beyond 64 bits or a decimal beyond double */
};

struct number {
    enum number_kind kind;
    bool negative;
    uint64_t integer;
    double real; /* the value as a double, correctly rounded, with its sign; unset for NaN */
};

/* Reads the number at text, looking no further than end. Returns the bytes it takes (0 for NONE).
 * "-0" is the integer zero with a sign: as a float it is −0. */
size_t number_read(const char *text, const char *end, struct number *number);

/* Prints an element of a float type. f32 and f64 print in 6 or 15 significant digits if these read
 * back to the same value, else in 9 or 17; the smaller types always in the digits that suffice for
 * any value of theirs; −0 as "-0.0" (a plain -0 would be read as an integer by XLA); NaN with its
 * sign, and with its payload where that is not the default one and the type has payloads. */
void number_print(enum type type, uint64_t bits, struct text *out);

/* Does NaN of the type carry a payload (IEEE-like types)? Then *quiet is the default one and *mask
 * all of its bits. */
bool number_nan_payload(enum type type, uint64_t *quiet, uint64_t *mask);

#endif
