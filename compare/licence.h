/* Licences: value-changing things that a profile allows a backend, as golden evaluations of their
 * own. Each licensed evaluation is one right answer more.
 *
 * flush     subnormal arguments and results of arithmetic are zero (FTZ and DAZ); once for what is
 *           rounded, once for every value, since compares, min, max, sort keys, is-finite and
 *           sign take subnormals for zero too
 * contract  a·b ± c is rounded once
 * excess    a float that is converted through other types of floats does not round on the way
 *           (xla_allow_excess_precision, on by default; xla/hlo/transforms/simplifiers/
 *           simplify_fp_conversions.cc)
 * algebra   rewrites of XLA's algebraic simplifier that hide or make overflow, NaN and roundings:
 *           (a/b)/c → a/(b·c), a/(b/c) → (a·c)/b, log(exp x) → x, log(x^y) → y·log x,
 *           a/√b → a·rsqrt b, a/rsqrt b → a·√b, a/exp b → a·exp(−b), x/c → x·(1/c)
 *           (xla/hlo/transforms/simplifiers/algebraic_simplifier.cc) */
#ifndef COMPARE_LICENCE_H
#define COMPARE_LICENCE_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct interp_options;
struct literal;
struct module;
struct profile;

struct licence {
    const char *name;
    bool (*allowed)(const struct profile *profile);
    /* The golden under the licence; NULL with *err unset when the licence changes nothing in this
     * module, NULL with *err set when it cannot be evaluated. On several devices (interp tells)
     * arguments and result are those of all (devices.h). */
    struct literal *(*evaluate)(const struct module *module, struct literal *const *arguments,
                                int argument_count, const struct interp_options *interp,
                                struct error *err);
};
extern const struct licence licences[];
extern const int licence_count;

/* Replaces each element of *reference (the caller's own data) by that of `candidate` where the
 * latter is nearer to `actual`; returns the number of elements replaced. */
int64_t take_nearer(struct literal *reference, const struct literal *candidate,
                    const struct literal *actual);

#endif
