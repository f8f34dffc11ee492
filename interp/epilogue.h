/* Epilogues: what libraries fuse to a contraction. A small graph of scalar operations on the exact
 * sum of each result element and on other operands; every element of the result is one real
 * expression of the operands as they are, rounded once.
 *
 * The sum comes rounded to f32 or f64 first. The graph is evaluated on it in doubles with a bound
 * of the error; where the bound leaves the rounding open, the sum is formed again exactly from its
 * products and the graph evaluated by MPFR (240 bits). NaN and infinities take the course of
 * IEEE 754 through the same graph. */
#ifndef INTERP_EPILOGUE_H
#define INTERP_EPILOGUE_H

#include <stdbool.h>
#include <stdint.h>

#include "hlo/literal.h"
#include "interp/exact_sum.h"

enum activation {
    ACTIVATION_NONE,
    ACTIVATION_RELU,       /* max(x, 0) */
    ACTIVATION_CLIP,       /* min(max(x, 0), parameter) */
    ACTIVATION_LEAKY_RELU, /* x > 0 ? x : parameter * x */
    ACTIVATION_ELU,        /* x > 0 ? x : parameter * (exp(x) − 1) */
    ACTIVATION_TANH,
    ACTIVATION_SIGMOID,   /* 1 / (1 + exp(−x)) */
    ACTIVATION_SWISH,     /* x * sigmoid(parameter * x) */
    ACTIVATION_GELU_TANH, /* x / 2 * (1 + tanh(√(2/π) (x + 0.044715 x³))) */
    ACTIVATION_GELU_ERF,  /* x / 2 * (1 + erf(x / √2)) */
};

enum epilogue_op {
    EPILOGUE_SUM,      /* the contraction */
    EPILOGUE_SCALE,    /* a * factor * operand (none: 1) */
    EPILOGUE_DIVIDE,   /* a / operand */
    EPILOGUE_ADD,      /* a + factor * operand */
    EPILOGUE_MINIMUM,  /* min(a, operand) */
    EPILOGUE_MAXIMUM,  /* max(a, operand) */
    EPILOGUE_ACTIVATE, /* activation(a) */
};

enum { EPILOGUE_NODES = 32 };

/* Node a is an earlier one; the other operand is node b or, if b is −1, an element of `operand`. */
struct epilogue_node {
    enum epilogue_op op;
    int a, b;
    double factor;
    const struct literal *operand;
    int64_t strides[SHAPE_MAX_RANK]; /* of the operand, in elements, for each result dimension */
    enum activation activation;
    double parameter;
};

/* Adds the products of the sum for one element of the contraction (row-major index in its own
 * dimensions) to an accumulator. */
typedef void epilogue_products(const void *context, int64_t index,
                               struct exact_accumulator *accumulator);

struct epilogue {
    const struct shape *shape; /* of the result; its type may differ from one call to the other */
    int count;
    struct epilogue_node nodes[EPILOGUE_NODES];
    /* The sums: f32 or f64, correctly rounded, or NULL: all formed from their products. With
     * bounds (f32, of the same dimensions): f64, off by no more than those. */
    const struct literal *sums, *bounds;
    int64_t sum_strides[SHAPE_MAX_RANK]; /* for each result dimension */
    epilogue_products *products;
    const void *context;
    bool saturate; /* results beyond the type's range become its largest value (f8) */
};

/* Appends a node; returns its number, −1 when there are too many. Operands broadcast as numpy's do:
 * aligned at the last dimension, sizes equal or 1; false if that does not fit (-1 too). */
int epilogue_add(struct epilogue *epilogue, struct epilogue_node node);
/* The node that all others lead to: the last. */
static inline int epilogue_last(const struct epilogue *epilogue)
{
    return epilogue->count - 1;
}
/* Strides of an operand that broadcasts along all but the listed dimensions of the result. */
bool epilogue_broadcast(const struct shape *result, const struct shape *operand, int64_t *strides);

/* Node `node` for every element into *to (of the result's dimensions), rounded once to its type
 * (integers: to nearest, ties to even, saturated). Marks elements of unspecified ones. */
bool epilogue_apply(const struct epilogue *epilogue, int node, struct literal *to,
                    struct error *err);
/* The largest magnitude of node `node`, rounded once to the type of *to, one element. */
bool epilogue_amax(const struct epilogue *epilogue, int node, struct literal *to,
                   struct error *err);

#endif
