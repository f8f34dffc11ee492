/* What the files of shape inference share. */
#ifndef HLO_INFER_INTERNAL_H
#define HLO_INFER_INTERNAL_H

#include "hlo/attr.h"
#include "hlo/base/error.h"
#include "hlo/module.h"
#include "hlo/shape.h"

typedef const struct shape *infer_function(const struct instruction *instruction,
                                           struct error *err);

/* error_at the instruction, with its opcode before the text; always NULL. */
const struct shape *infer_fail(const struct instruction *instruction, struct error *err,
                               const char *format, ...) __attribute__((format(printf, 3, 4)));

static inline const struct shape *operand_shape(const struct instruction *instruction, int i)
{
    return instruction->operands[i]->shape;
}

/* Each operand from `first` on is an array; NULL-safe message otherwise. */
bool infer_arrays(const struct instruction *instruction, int first, struct error *err);
/* Values are in [0, rank), without repetition; `what` names the attribute. */
bool infer_dimensions_ok(const struct instruction *instruction, struct ints dimensions, int rank,
                         const char *what, struct error *err);
bool infer_contains(struct ints dimensions, int64_t dimension);
/* Same types, or both floats (mixed precision is allowed; the higher one counts). */
bool infer_same_type(const struct shape *a, const struct shape *b);
/* The one XLA takes of two types that meet: complex before real, then the wider range, the longer
 * mantissa, more bits, signed. Source: xla/primitive_util.h HigherPrecisionType. */
enum type infer_higher_type(enum type a, enum type b);
/* Equal dimensions of arrays; dynamic marks may differ, as XLA's ShapeUtil::SameDimensions. */
bool infer_same_sizes(const struct shape *a, const struct shape *b);
/* Equal but for layouts and dynamic marks, as XLA's ShapeUtil::Compatible. */
bool infer_compatible(const struct shape *a, const struct shape *b);
/* The computation takes `parameters` scalars. */
bool infer_scalar_computation(const struct instruction *instruction,
                              const struct computation *computation, int parameters,
                              struct error *err);
/* The reducer fits `count` accumulators that begin as inits (their types) and as many inputs.
 * True when the instruction calls nothing. Source: shape_inference.cc VerifyReducerShape. */
bool infer_reducer(const struct instruction *instruction, const struct computation *reducer,
                   int count, const struct shape *const *inits, const struct shape *const *inputs,
                   struct error *err);
/* The shape after a window slides over base; err names the dimension. */
const struct shape *infer_windowed(const struct instruction *instruction, const struct shape *base,
                                   const struct window *window, enum type type, struct error *err);
/* Into how many parts an all-gather(-start) or reduce-scatter splits, by its written shape; 0 when
 * that does not fit the operands. */
int64_t infer_shards(const struct instruction *instruction);
/* Equal but for layouts, dynamic marks and the width of floats. */
bool infer_similar(const struct shape *a, const struct shape *b);
/* Says what the shape must be; always false. */
bool infer_fail_shape(const struct instruction *instruction, struct error *err,
                      const struct shape *expected);

/* Checks of single opcodes: the written shape, where inference does not decide (infer_async.c). */
typedef bool infer_check_function(const struct instruction *instruction, struct error *err);
infer_check_function infer_check_async_start, infer_check_async_update, infer_check_async_done;
infer_check_function infer_check_permute_start, infer_check_all_reduce_start;
/* The written shape against (operands, results, contexts…) if it is a pair, else against the
 * results. */
bool infer_check_collective_start(const struct instruction *instruction,
                                  const struct shape *operands, const struct shape *results,
                                  struct error *err);

/* One shape stays itself, several become a tuple; without layouts, of all operands. */
const struct shape *infer_same_as_operands(const struct instruction *instruction,
                                           struct error *err);
const struct shape *infer_tuple_if_many(int count, const struct shape *const *shapes);

#define OP(id, text, arity, infer, eval, attributes) \
    const struct shape *infer_##infer(const struct instruction *instruction, struct error *err);
#include "hlo/opcodes.def"

#endif
