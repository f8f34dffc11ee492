/* Elements of an array between row-major order, as literals here have them, and the order of the
 * layout's minor_to_major, as LiteralProto and .npy may have them. Tiles are not looked at. */
#ifndef HLO_PROTO_PERMUTE_H
#define HLO_PROTO_PERMUTE_H

#include <stdbool.h>
#include <stddef.h>

struct layout;
struct shape;

/* Whether the two orders are the same. */
bool layout_is_row_major(const struct layout *layout);
/* `element` is the bytes of one element; `to` and `from` do not overlap. */
void permute_to_layout(void *to, const void *from, size_t element, const struct shape *shape);
void permute_from_layout(void *to, const void *from, size_t element, const struct shape *shape);

#endif
