/* The latitude of a run: how far right implementations of a module may be apart on given arguments,
 * found by evaluating it, and by nothing that verdicts are made of (no bounds along the module, no
 * 8 × spread, no share of the largest element). A planted fault that stays within it is none that
 * anybody could see; what exceeds it, a tester has to find.
 *
 * Right are: the golden; the golden under each licence of the profile (licence.h); every step as
 * written and rounded (literal fidelity); and what lies three times as far from one of these as the
 * farthest of 16 evaluations in which each rounding is off by the whole of what the table of ulps
 * grants the instruction (sums of n terms: operands by 1 + √n/2 units of the type of the partial
 * sums, the sum by √n/2, and in types of 16 bits and fewer by one unit at least), up or down at
 * random. Where the evaluations move an output at all, each of its elements may be off by one unit
 * in the last place. Where they disagree on an integer, or on what is finite, anything is right. An
 * output that none of this moves is exact to the bit. */
#ifndef COMPARE_LATITUDE_H
#define COMPARE_LATITUDE_H

#include <stdint.h>

struct error;
struct literal;
struct module;
struct profile;

struct latitude;

/* Arguments are those of all devices of the grid (devices.h), borrowed for the call. NULL with *err
 * when the golden cannot evaluate the module. */
struct latitude *latitude_create(const struct module *module, const struct profile *profile,
                                 struct literal *const *arguments, int argument_count,
                                 int replica_count, int partition_count, uint64_t seed,
                                 struct error *err);
void latitude_destroy(struct latitude *latitude); /* NULL is allowed */

enum latitude_verdict {
    LATITUDE_SAME,   /* every element has its bits (or is NaN as before), or is unspecified */
    LATITUDE_WITHIN, /* something changed, as far as a right implementation might change it */
    LATITUDE_BEYOND,
};
/* The element that exceeds what is right by most, in units of what is right. */
struct latitude_excess {
    int leaf; /* of all devices' results, in depth-first order */
    int64_t index;
    double right, changed;
    double times; /* infinite: nothing but the right value is right, or a special number is not */
};
/* Judges another result of all devices (devices_join). excess is filled when it is BEYOND. */
enum latitude_verdict latitude_judge(const struct latitude *latitude, const struct literal *changed,
                                     struct latitude_excess *excess);

#endif
