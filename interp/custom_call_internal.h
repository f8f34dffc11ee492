/* Inside custom_call*.c: what the families of targets share. */
#ifndef INTERP_CUSTOM_CALL_INTERNAL_H
#define INTERP_CUSTOM_CALL_INTERNAL_H

#include "hlo/attr.h"
#include "hlo/base/error.h"
#include "interp/eval.h"

enum { CONCAT_BITCAST_MOST = 16 };
/* order[k]: which operand of a call to ConcatBitcast is the k-th part of the array. False, and the
 * operands' own order, if they are not known to be slices, or there are too many. */
bool concat_bitcast_order(const struct instruction *call, int *order);

/* The evaluators that the rows name: custom_<token>. */
#define CALL(target, evaluator, meaning, source) eval_function custom_##evaluator;
#define REFUSED(target, reason, source)
#include "interp/custom_calls.def"

static inline const char *custom_call_target(const struct instruction *instruction)
{
    return attr_string(instruction, ATTR_CUSTOM_CALL_TARGET);
}

/* Sets UNIMPLEMENTED "custom call to <target>: <message>". Always NULL. */
struct literal *custom_call_fail(const struct instruction *instruction, struct error *err,
                                 const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Element i of a tuple-shaped result; the result itself when it is no tuple and i is 0; NULL beyond
 * its elements. */
const struct shape *custom_call_result_shape(const struct instruction *instruction, int i);
int custom_call_result_count(const struct instruction *instruction);

/* The result from its parts (taken; parts[i] of custom_call_result_shape(i)). Missing (NULL) parts
 * are workspaces and the like: zeros, unspecified. parts may be fewer than the result has. */
struct literal *custom_call_result_take(const struct instruction *instruction,
                                        struct literal **parts, int count, struct error *err);

/* Is operand i there, an array, of that type (TYPE_INVALID = any) and rank (−1 = any)? */
bool custom_call_operand_is(const struct operands *operands, int i, enum type type, int rank);

/* Marks the whole of *to unspecified if an operand has an unspecified element. */
bool custom_call_spread(const struct operands *operands, struct literal *to, struct error *err);

/* An instruction of another opcode, made to be evaluated with the operands of a custom call. */
struct inner_call {
    struct instruction instruction;
    struct attr attrs[12];
};
void inner_call_init(struct inner_call *call, const struct instruction *outer, enum opcode opcode,
                     const struct shape *shape);
/* Attributes must come in any order; the list is kept sorted. */
void inner_call_set(struct inner_call *call, struct attr attr);
struct literal *inner_call_run(struct inner_call *call, struct evaluation *evaluation,
                               struct literal *const *values, int count, struct error *err);

#endif
