/* Spans: telling options.on_span what is evaluated. Private to the evaluator. */
#ifndef INTERP_SPAN_H
#define INTERP_SPAN_H

#include "interp/eval.h"

/* Is anybody told? Never inside reducers and the like. */
static inline bool span_wanted(const struct evaluation *evaluation)
{
    return evaluation->options.on_span != NULL && evaluation->scalar_depth == 0;
}

/* Begins the span of an instruction, or of several that are evaluated as one on these operands
 * (NULL is allowed for one: the shapes of the instruction's operands say what it reads). */
void span_begin(struct evaluation *evaluation, struct interp_span *span,
                const struct instruction *instruction, int members,
                const struct operands *operands);
void span_end(struct evaluation *evaluation, const struct interp_span *span);

#endif
