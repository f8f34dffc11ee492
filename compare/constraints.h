/* What a module asks of its entry parameters, found backwards from the uses of every value.
 *
 * Computations are visited callees first and instructions last to first: what an instruction asks
 * of its operands is known when all its users have been seen. Sources for the kinds of demand:
 * xla/tests/test_utils.cc (indices, sort keys, init values), xla/tests/constraint_propagator.cc
 * (domains of functions); loops, matrices and fan-in are ours. */
#ifndef COMPARE_CONSTRAINTS_H
#define COMPARE_CONSTRAINTS_H

#include <stdbool.h>
#include <stdint.h>

struct module;
struct text;

/* Identity of a reduction that the value must be. */
enum identity {
    IDENTITY_NONE,
    IDENTITY_ZERO,
    IDENTITY_ONE,
    IDENTITY_LOWEST,
    IDENTITY_HIGHEST,
    IDENTITY_ALL_ONES
};

struct constraint {
    bool has_range; /* low ≤ value ≤ high */
    double low, high;
    bool nonzero;  /* and |value| not tiny */
    bool distinct; /* no two equal elements: sort keys */
    bool sorted;   /* ascending: indices_are_sorted */
    bool unique;   /* distinct indices: unique_indices */
    enum identity identity;
    bool positive_definite; /* batches of matrices: symmetric and well conditioned */
    bool triangular;        /* batches of matrices: large diagonal */
    int64_t fan_in;         /* > 0: weights of sums of so many products */
    const char *why;        /* the first demand, for notes */
};

/* constraints[parameter][leaf] for the entry; free with constraints_finish. */
struct constraints {
    int parameter_count;
    struct constraint **leaves;
};

/* Demands read attributes as dimension numbers, which holds for what verifies alone; without
 * `demanding` there are no constraints. */
void constraints_find(const struct module *module, bool demanding, struct constraints *constraints);
void constraints_finish(struct constraints *constraints);
/* One line per constrained leaf. */
void constraints_print(const struct module *module, const struct constraints *constraints,
                       struct text *out);

#endif
