/* Chains of asynchronous instructions, and the two shapes that starts of collectives come in. */
#ifndef HLO_ASYNC_H
#define HLO_ASYNC_H

#include "hlo/module.h"

/* The async-start or async-update that makes this value, which may have passed through tuples,
 * barriers, copies, loops and calls; NULL if it is not in sight.
 * Source: xla/hlo/ir/hlo_instruction_utils.cc (FindAsyncProducer). */
const struct instruction *async_producer(const struct instruction *value);
/* Where a value comes from that has passed through such: the instruction that made it; NULL if that
 * is not in sight. */
const struct instruction *async_origin(const struct instruction *value);
/* The computation that an async-start, -update or -done is about, which only the start has to name;
 * NULL if that is not in sight. */
const struct computation *async_computation(const struct instruction *instruction);
/* Is `prefix` all or the beginning of `shape`? A tuple is the beginning of a longer one, () of
 * anything. An async instruction whose shape holds the operands and the result only in part has not
 * got them all yet. Source: xla/shape_util.cc (IsPrefix). */
bool async_is_prefix(const struct shape *prefix, const struct shape *shape);
/* Can what has this async shape ((operands), result, …) hold the result of the computation: are
 * its operands all there, and its result whole? */
bool async_is_complete(const struct shape *shape, const struct computation *computation);

/* Does a start of a collective give (operand, result, …), or its result alone? By rule all-reduce
 * does the latter, all-gather and collective-permute the former; XLA's CPU runs either. */
bool async_start_is_pair(const struct instruction *start);

#endif
