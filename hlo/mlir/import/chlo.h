/* CHLO: what its files share. */
#ifndef HLO_MLIR_IMPORT_CHLO_H
#define HLO_MLIR_IMPORT_CHLO_H

#include "hlo/mlir/import/import.h"

/* Elementwise instructions under construction, in any computation: every function takes NULL for
 * "failed" and gives it on. */
struct formula {
    struct scope *scope;
    const struct mlir_op *op;
    struct computation *computation;
    const struct shape *shape; /* of all values but predicates and bits */
};

struct instruction *formula_add(struct formula *formula, enum opcode opcode,
                                const struct shape *shape, int count,
                                struct instruction *const *operands);
/* Of the type and shape of a. */
struct instruction *formula_unary(struct formula *formula, enum opcode opcode,
                                  struct instruction *a);
struct instruction *formula_binary(struct formula *formula, enum opcode opcode,
                                   struct instruction *a, struct instruction *b);
/* A predicate. */
struct instruction *formula_compare(struct formula *formula, enum direction direction,
                                    struct instruction *a, struct instruction *b);
struct instruction *formula_select(struct formula *formula, struct instruction *which,
                                   struct instruction *on_true, struct instruction *on_false);
/* The number everywhere, in the type and shape of `like`. */
struct instruction *formula_number(struct formula *formula, struct instruction *like, double value);
struct instruction *formula_bits(struct formula *formula, struct instruction *like, uint64_t value);
/* The same values as another type of the same width, bit by bit; or converted. */
struct instruction *formula_bitcast(struct formula *formula, struct instruction *a, enum type type);
struct instruction *formula_convert(struct formula *formula, struct instruction *a, enum type type);

/* chlo_special.c: a special function of op's row applied to values of one shape, as the composite
 * call that the golden knows. */
struct instruction *chlo_special(struct scope *scope, const struct mlir_op *op, const char *name,
                                 int count, struct instruction *const *operands);
/* chlo_formulas.c: its decomposition, of `name` without "chlo."; parameters are of formula->shape,
 * f64 or f32. NULL if there is none, or on errors. */
struct instruction *chlo_decompose(struct formula *formula, const char *name,
                                   struct instruction *const *parameters);
/* chlo_complex.c: the same of complex numbers, one operand. */
struct instruction *chlo_decompose_complex(struct formula *formula, const char *name,
                                           struct instruction *parameter);
/* Is the type wide enough for it? Else it is computed in *compute. */
bool chlo_computes_in(const char *name, enum type type, enum type *compute);

/* chlo.c: the next value of x's type toward y. */
struct instruction *chlo_next_after(struct scope *scope, const struct mlir_op *op,
                                    struct instruction *x, struct instruction *y);
/* A composite by the name of an op of CHLO, translated as that op; *handled: it was one. */
bool import_chlo_composite(struct scope *scope, const struct mlir_op *op, const char *name,
                           bool *handled);

#endif
