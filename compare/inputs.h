/* Inputs from a seed, with the constraints that the module puts on them.
 *
 * Indices of dynamic-slice, dynamic-update-slice, gather and scatter are in range; sort keys are
 * without ties; init values of reductions are the identity of every known monoid; arguments of
 * log, sqrt, rsqrt, divide, power, exp … keep in their domain by interval propagation backwards
 * through the module; everything else is drawn from a range by type. The same on every machine.
 * Compare xla/tests/test_utils.cc and constraint_propagator.cc. */
#ifndef COMPARE_INPUTS_H
#define COMPARE_INPUTS_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct literal;
struct module;
struct text;

struct input_options {
    uint64_t seed;
    int tameness;     /* 0 = as usual; 1, 2: drawn from ever tamer ranges (after a vacuous run) */
    bool large_range; /* floats over the whole exponent range (XLA's --use_large_float_range) */
    bool boundary_values; /* ±0, ±Inf, NaN, subnormals, extremes crossed with random values */
    bool zeros;           /* everything zero (XLA's --random_init_input_literals=false) */
    bool unverified;      /* the module may not verify: then nothing is demanded of its arguments */
};

/* One literal per entry parameter, owned by the caller: arguments[parameter count]. notes (may be
 * NULL) says which constraints were found, one line each. */
bool inputs_generate(const struct module *module, const struct input_options *options,
                     struct literal **arguments, struct text *notes, struct error *err);

/* All NaN, Inf, or one constant in every float or integer output with more than one element: the
 * run proves nothing. *why says which. Modules whose outputs do not depend on any parameter
 * (nothing flows from one to the root), pred outputs and single elements are never vacuous by being
 * constant. */
bool outputs_are_vacuous(const struct module *module, const struct literal *output,
                         const char **why);

/* Are all outputs finite constants (of every output with more than one element one value)? */
bool outputs_are_constant(const struct literal *output);

#endif
