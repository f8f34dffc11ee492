/* Between dot.c, dot_ragged.c and dot_scaled.c: operands as matrices, and their products. */
#ifndef INTERP_DOT_INTERNAL_H
#define INTERP_DOT_INTERNAL_H

#include "hlo/attr.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/contract.h"

struct evaluation;
struct operands;

enum dot_role { DOT_BATCH, DOT_FREE, DOT_CONTRACTING, DOT_GROUP };

/* Dimensions of an operand that play one role, in the order in which their indices count. */
struct dot_dims {
    int count;
    int64_t list[SHAPE_MAX_RANK];
};

/* An operand as [batch][vector][depth], each with one stride (in elements). */
struct dot_side {
    struct literal *owned; /* what `data` lies in when it had to be copied; else NULL */
    const char *data;
    enum type type;
    int64_t batches, vectors, depth;
    int64_t batch_stride, vector_stride, depth_stride;
};

/* The dimensions that neither list names, ascending. */
void dot_free_dims(const struct shape *shape, struct ints batch, struct ints contracting,
                   struct dot_dims *free);
void dot_dims_from(struct ints ints, struct dot_dims *dims);
int64_t dot_dims_product(const struct shape *shape, const struct dot_dims *dims);

/* Describes an operand, copying it only if some role has no single stride. Finish it. */
bool dot_side_init(struct dot_side *side, const struct literal *operand,
                   const struct dot_dims *batch, const struct dot_dims *free,
                   const struct dot_dims *contracting, struct error *err);
void dot_side_finish(struct dot_side *side);

/* Orders the pairs of contracting dimensions so that the operands need no copy, if that helps. */
void dot_order_contracting(const struct shape *lhs, const struct shape *rhs, struct dot_dims *left,
                           struct dot_dims *right);

/* out[batch][row][column], dense, of `type` = Σ over depth of a * b. The two sides agree in
 * batches and depth. */
bool dot_multiply(enum type type, bool in_order, const struct dot_side *a, const struct dot_side *b,
                  void *out, struct error *err);

/* The same where the depth holds pairs of an element and its scale, doubles of any kind: Σ of
 * products of four, by MPFR (dot_scaled_exact.c). Stops when the poll says so. */
void scaled_dot_exactly(enum type type, const struct dot_side *a, const struct dot_side *b,
                        void *out);

/* The sums of a dot of f64 result as doubles that are not rounded further, and in *bounds (f32,
 * owned) how far each may be off (exact_dot_bounded). NULL with *err. */
struct literal *dot_bounded(struct evaluation *evaluation, const struct instruction *instruction,
                            struct operands *operands, struct literal **bounds, struct error *err);

/* Operands in types that dot_multiply takes together: complex ones all of the result type, and
 * no complex operand for a real result. Returns an owned literal. */
struct literal *dot_operand(const struct literal *operand, enum type result, struct error *err);

#endif
