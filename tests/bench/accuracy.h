/* What the accuracy table is about: operations, types, inputs and exact results. */
#ifndef TESTS_BENCH_ACCURACY_H
#define TESTS_BENCH_ACCURACY_H

#include <mpfr.h>
#include <stdbool.h>
#include <stdint.h>

#include "hlo/types.h"
#include "interp/exact.h"

typedef int real_unary(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
typedef int real_binary(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

/* Where arguments are drawn from besides everywhere. */
enum accuracy_domain { DOMAIN_ALL, DOMAIN_POSITIVE, DOMAIN_UNIT, DOMAIN_ABOVE_ONE };

struct accuracy_operation {
    const char *opcode;
    int operand_count;
    enum accuracy_domain domain;
    real_unary *unary;
    real_binary *binary;
    /* For complex numbers: a row of exact.def, a binary function or −1 where there is none. */
    int complex_unary, complex_binary;
};
extern const struct accuracy_operation accuracy_operations[];
extern const int accuracy_operation_count;

/* The operation named, or NULL. */
const struct accuracy_operation *accuracy_find(const char *opcode);
bool accuracy_takes(const struct accuracy_operation *operation, enum type type);

/* Parts of operands: 1 or 2 operands of 1 or 2 parts, as bits of the part's type. */
enum { ACCURACY_PARTS = 4 };
int accuracy_part_count(const struct accuracy_operation *operation, enum type type);
int64_t accuracy_count(const struct accuracy_operation *operation, enum type type);
/* Input number i. */
void accuracy_input(const struct accuracy_operation *operation, enum type type, int64_t i,
                    uint64_t bits[ACCURACY_PARTS]);
/* The exact result on it: re, and im for complex numbers, of at least 100 bits or as many as are
 * needed so that its rounding is right, and whether each was rounded toward zero. */
void accuracy_exact(const struct accuracy_operation *operation, enum type type,
                    const uint64_t bits[ACCURACY_PARTS], mpfr_ptr re, mpfr_ptr im, bool inexact[2]);

#endif
