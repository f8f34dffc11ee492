/* The classes of faults, and what they change modules with. Private to hlo/mutate. */
#ifndef HLO_MUTATE_MUTATE_INTERNAL_H
#define HLO_MUTATE_MUTATE_INTERNAL_H

#include "hlo/base/rng.h"
#include "hlo/base/text.h"
#include "hlo/module.h"
#include "hlo/mutate/mutate.h"

#define MUTATION(name, role, summary) mutation_function mutate_##name;
#include "hlo/mutate/mutations.def"

/* --- edit.c: changes that keep instructions in order, schedules too --- */

/* A new instruction right before `near`, without attributes. */
struct instruction *edit_before(struct instruction *near, enum opcode opcode,
                                const struct shape *shape, int count,
                                struct instruction *const *operands);
/* Such a constant: every element has the value (rounded to the type). */
struct instruction *edit_constant(struct instruction *near, const struct shape *shape,
                                  double value);
struct instruction *edit_unary(struct instruction *near, enum opcode opcode,
                               const struct shape *shape, struct instruction *operand);
struct instruction *edit_binary(struct instruction *near, enum opcode opcode, struct instruction *a,
                                struct instruction *b);
/* operand + number (integers wrap, pred: not). */
struct instruction *edit_add(struct instruction *near, struct instruction *operand, double number);
/* The part of `operand` without the last element along the dimension. */
struct instruction *edit_without_last(struct instruction *near, struct instruction *operand,
                                      int dimension);
/* The same, filled up again with `fill`, a scalar (NULL: zero). */
struct instruction *edit_last_filled(struct instruction *near, struct instruction *operand,
                                     int dimension, struct instruction *fill);

/* Makes the instruction another operation in place, so that its users need no change; of its
 * attributes those remain that say where it comes from. */
void edit_become(struct instruction *instruction, enum opcode opcode, int count,
                 struct instruction *const *operands);
/* Can what the instruction gives be changed behind it? A static array that is computed in one
 * piece. */
bool edit_wraps(const struct instruction *instruction);
/* Moves what the instruction does to a new one right before it, which is returned; the instruction
 * then has to become something else. */
struct instruction *edit_move(struct instruction *instruction);

/* May the instruction stop using that operand? In the body of a fusion every parameter has to have
 * a user; what else is left without one, edit_sweep removes there. */
bool edit_drops(const struct instruction *instruction, int operand);
void edit_sweep(struct computation *computation);

/* Copies of the values of a list attribute, to be changed. */
int64_t *edit_ints(const struct instruction *instruction, struct ints ints);
void edit_set_ints(struct instruction *instruction, enum attr_key key, int count,
                   const int64_t *values);
void edit_set_integer(struct instruction *instruction, enum attr_key key, int64_t value);
void edit_swap(struct instruction *instruction, int a, int b);
/* The shape with another size of one dimension, in the default layout. */
const struct shape *edit_resized(const struct shape *shape, int dimension, int64_t size);
/* The instruction with attributes of its own, not in the module: to try out what it infers. */
struct instruction edit_probe(const struct instruction *instruction);

/* One of `count`. */
static inline int edit_draw(struct rng *rng, int count)
{
    return (int)rng_below(rng, (uint64_t)count);
}

#endif
