/* Contraction: what dot, convolution and their relatives share.
 *
 * A contraction is C[i][j] = Σ_k A[i][k] * B[j][k] in one of three classes of values ("lanes"):
 *   FLOAT  doubles; the exact sum of the exact products, rounded once (exact_dot.h)
 *   U32    32-bit integers modulo 2^32: pred and integer results of at most 32 bits
 *   U64    64-bit integers modulo 2^64
 * Operands are described as in exact_dot.h, by functions that fill k-vectors; in the integer
 * classes the memory they fill holds uint32_t or uint64_t lanes instead of doubles. */
#ifndef INTERP_CONTRACT_H
#define INTERP_CONTRACT_H

#include <stdbool.h>
#include <stdint.h>

#include "hlo/types.h"
#include "interp/exact_dot.h"

struct error;
struct evaluation;
struct instruction;
struct literal;

enum contract_class { CONTRACT_FLOAT, CONTRACT_U32, CONTRACT_U64 };

/* The class that computes a result of `type` (a part type, never complex). */
enum contract_class contract_class_of(enum type type);
/* Bytes of one lane. */
int contract_lane_bytes(enum contract_class class);

/* What a contraction wants to know of its values. */
struct contract_format {
    enum contract_class class;
    enum type type; /* of the result's parts */
    bool in_order;  /* fidelity=literal: each step rounded, in the order of k */
};

/* Whether elements of the type may be no values of f32 (exact_dot_operand.wide). */
bool contract_is_wide(enum type type);

/* Lanes of `count` stored elements of `type`, element i at in[i * stride] (in elements). Integers
 * and pred become doubles in the class FLOAT: exactly, but for 64-bit ones, which are rounded to
 * the result's type as XLA's conversion does before it multiplies. Floats become integers as
 * XLA's convert does: truncated, saturated to the result type, NaN to 0. */
void contract_load(const struct contract_format *format, enum type type, const void *in,
                   int64_t stride, void *lanes, int64_t count);

/* Stores lanes[i * lane_stride], i < count, as the elements out[i * stride] of format->type:
 * floats must be rounded already, integers wrap, pred is lane ≠ 0. */
void contract_store(const struct contract_format *format, const void *lanes, int64_t lane_stride,
                    void *out, int64_t stride, int64_t count);

/* A stored matrix whose elements are loaded by contract_load. */
struct contract_matrix {
    const struct contract_format *format;
    const void *data;
    enum type type;
    int64_t vector_stride, depth_stride; /* in elements */
};
struct exact_dot_operand contract_matrix_operand(const struct contract_matrix *matrix,
                                                 int64_t vectors);

/* A stored result; contract_emit's context. */
struct contract_output {
    const struct contract_format *format;
    void *data;
    int64_t row_stride, column_stride; /* in elements */
};
exact_dot_emit contract_emit;

/* The contraction in the class and fidelity of *format; parallel inside. Fails only with
 * RESOURCE_EXHAUSTED. */
bool contract(const struct contract_format *format, const struct exact_dot_operand *a,
              const struct exact_dot_operand *b, int64_t depth, exact_dot_emit *emit,
              void *emit_context, struct error *err);

/* Operand 0 or 1 of a dot or convolution as it is multiplied: the value itself, retained, or
 * rounded to bf16 where the options want that (bf16_products). */
struct literal *contract_operand(const struct evaluation *evaluation,
                                 const struct instruction *instruction, int operand,
                                 struct literal *value, struct error *err);

/* f32 of the operand's dimensions: 1 where the element is such, else 0; 1 everywhere without `is`.
 */
struct literal *contract_indicator(const struct literal *operand,
                                   bool (*is)(const struct literal *, int64_t), struct error *err);

/* Marks as unspecified what depends on unspecified elements of operands 0 and 1: evaluates the
 * instruction's own index arithmetic on zeros and ones. `again` computes the instruction as an f32
 * result from f32 operands of the same shapes. Does nothing when no element is unspecified. */
typedef struct literal *contract_again(const struct instruction *instruction,
                                       struct literal *const operands[2], struct error *err);
bool contract_spread(const struct instruction *instruction, struct literal *const *values,
                     contract_again *again, struct literal *result, struct error *err);

#endif
