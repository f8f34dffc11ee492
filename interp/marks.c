/* Marks of unspecified elements. */
#include "interp/marks.h"

#include <string.h>

#include "hlo/base/arena.h"

static size_t mark_bytes(const struct literal *literal)
{
    return ((size_t)literal_elements(literal) + 7) / 8;
}

uint8_t *marks_make(struct literal *literal)
{
    if (literal->buffer->unspecified == NULL) {
        literal->buffer->unspecified = memory_zalloc(mark_bytes(literal) + 1);
    }
    return literal->buffer->unspecified;
}

void marks_set_all(struct literal *literal)
{
    memset(marks_make(literal), 0xff, mark_bytes(literal));
}

void marks_spread(struct literal *to, const struct literal *from)
{
    const uint8_t *marks = marks_of(from);
    if (marks == NULL) {
        return;
    }
    if (literal_elements(from) != literal_elements(to)) {
        if (mark_get(marks, 0)) {
            marks_set_all(to);
        }
        return;
    }
    uint8_t *out = marks_make(to);
    size_t bytes = mark_bytes(to);
    for (size_t i = 0; i < bytes; i++) {
        out[i] |= marks[i];
    }
}
