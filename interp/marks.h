/* Marks of unspecified elements: one bit per element, NULL where there are none (literal.h). */
#ifndef INTERP_MARKS_H
#define INTERP_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "hlo/literal.h"

static inline bool mark_get(const uint8_t *marks, int64_t index)
{
    return (marks[index / 8] >> (index % 8) & 1) != 0;
}
static inline void mark_set(uint8_t *marks, int64_t index)
{
    marks[index / 8] |= (uint8_t)(1 << (index % 8));
}
/* The marks of an array, or NULL. */
static inline const uint8_t *marks_of(const struct literal *literal)
{
    return literal->buffer->unspecified;
}
/* The marks of an array that is the caller's alone, made (all clear) if there are none. */
uint8_t *marks_make(struct literal *literal);
void marks_set_all(struct literal *literal);
/* Adds the marks of `from`, element by element; those of a one-element `from` go to all. */
void marks_spread(struct literal *to, const struct literal *from);

#endif
