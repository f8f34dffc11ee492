/* Sensitivity: how far the golden's own result moves when its inputs, or its roundings, move by one
 * unit in the last place. A difference that is no larger says nothing about who is right: the
 * problem is ill-conditioned. (N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd
 * ed., SIAM 2002, section 1.6: the forward error is at most the condition number times the backward
 * error.) */
#ifndef COMPARE_SENSITIVITY_H
#define COMPARE_SENSITIVITY_H

#include "compare/differential.h"

struct sensitivity_options {
    int samples;    /* evaluations with moved inputs, and as many with moved roundings; 0 = 12 */
    uint64_t seed;  /* of the moves, and of `rng` */
    double seconds; /* stop sampling after that; 0 = no limit */
};

/* What explains elements that differ by more than is allowed. */
struct sensitivity {
    int samples; /* that were evaluated, of each kind */
    int64_t mismatches;
    /* Of them: those that the golden moves over as far, when each input (constants too) moves by
     * one ulp; when each result of an operation that rounds moves by one ulp; when each step is
     * rounded as written (fidelity literal); by any of these. */
    int64_t by_inputs, by_roundings, by_literal, explained;
    /* At the worst element: the relative change of the result for a relative change of the inputs,
     * an estimate of the condition number from below (0 where nothing moves, infinite at a result
     * of 0); how far the golden moved, and how far the backend is off, both also in ulps. */
    double amplification, moved, moved_ulps, error, error_ulps;
    /* Where the values become so sensitive: of the entry's instructions the one behind which moved
     * inputs have moved most beyond its operands; its name and canonical form, "" if there is none.
     * `growth` is by how much. */
    char *instruction, *form;
    double growth;
};

/* `result` is of a run that was compared (MISMATCH or INCONCLUSIVE) on this module. False with *err
 * when the golden cannot be evaluated again. */
bool sensitivity_measure(const struct module *module, const struct differential_result *result,
                         const struct sensitivity_options *options, struct sensitivity *sensitivity,
                         struct error *err);
void sensitivity_finish(struct sensitivity *sensitivity);

/* --- shared with what asks for other answers of the golden --- */

/* Widens element bounds (one array a leaf, as in struct bound) to where a sample lies. Integers and
 * whatever is not finite on one side only: bounded by infinity, NaN for integers. */
double **spread_create(const struct literal *reference);
void spread_widen(double **spread, const struct literal *reference, const struct literal *sample);
void spread_destroy(double **spread, const struct literal *reference);
/* How many elements differ by more than the bounds of the run and the spread allow. NULL: a spread
 * of nothing. Where no element is beyond default bounds, these count as far as they decide alone
 * (struct bound, near). */
int64_t spread_mismatches(const struct differential_result *result, double *const *spread);

#endif
