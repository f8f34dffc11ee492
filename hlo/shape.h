/* Shapes and layouts.
 *
 * Shapes and layouts are immutable and interned for the whole process: two equal ones are the same
 * pointer, nobody owns them and they are never freed. Every maker is thread-safe.
 * Sources: xla/shape.h, xla/layout.h, xla/xla_data.proto (ShapeProto, LayoutProto). */
#ifndef HLO_SHAPE_H
#define HLO_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hlo/types.h"

struct error;
struct text;

enum {
    SHAPE_MAX_RANK = 64,     /* more dimensions are refused */
    SHAPE_MAX_NESTING = 256, /* deeper tuples are refused */
    LAYOUT_MAX_TILES = 8,
};

/* The size of an unbounded dynamic dimension ("?"). */
#define DIMENSION_UNBOUNDED INT64_MIN
/* A tile dimension that is combined with the next ("*"). */
#define TILE_COMBINED INT64_MIN

struct tile {
    int rank;
    const int64_t *dimensions;
};

struct split_config {
    int64_t dimension;
    int count;
    const int64_t *indices;
};

struct shape;

/* How an array lies in memory. All fields count for equality. */
struct layout {
    int rank;
    const int64_t *minor_to_major; /* [rank] */
    int tile_count;
    const struct tile *tiles;
    int64_t tail_padding_alignment; /* in elements; 1 = none */
    enum type index_type, pointer_type;
    int64_t element_bits; /* 0 = the type's own */
    int64_t memory_space;
    int split_count;
    const struct split_config *splits;
    const struct shape *physical_shape; /* or NULL */
    int64_t dynamic_metadata_bytes;
    const char *dim_level_types; /* sparse "D(C,S+~)" text between the brackets, or NULL */
};

/* An array, tuple, token, opaque or buffer. */
struct shape {
    enum type type;
    int rank;                    /* arrays; 0 otherwise */
    const int64_t *dimensions;   /* [rank]; the bound of a dynamic dimension */
    const bool *dynamic;         /* [rank], or NULL when every dimension is static */
    const struct layout *layout; /* arrays: never NULL, descending by default */
    int count;                   /* tuple: elements; buffer: 1 */
    const struct shape *const *elements;
    uint64_t hash; /* the same in every process */
};

/* --- making --- */

/* An array with the default layout {rank-1, …, 0}. Dimensions must be valid. */
const struct shape *shape_array(enum type type, int rank, const int64_t *dimensions);
/* Likewise; dynamic may be NULL, layout NULL means the default layout. */
const struct shape *shape_make(enum type type, int rank, const int64_t *dimensions,
                               const bool *dynamic, const struct layout *layout);
const struct shape *shape_scalar(enum type type);
const struct shape *shape_tuple(int count, const struct shape *const *elements);
const struct shape *shape_token(void);
const struct shape *shape_opaque(void);
const struct shape *shape_buffer(const struct shape *inner);
const struct layout *layout_default(int rank);
/* Interns a copy of *layout (which may live on the stack). */
const struct layout *layout_make(const struct layout *layout);
/* The same array with another type, dimensions or layout. */
const struct shape *shape_with_type(const struct shape *shape, enum type type);
const struct shape *shape_with_layout(const struct shape *shape, const struct layout *layout);
/* Drops layouts (descending everywhere, no tiles, no memory space), also inside tuples. */
const struct shape *shape_without_layout(const struct shape *shape);
/* Drops the dynamic marks (the bounds stay), also inside tuples. */
const struct shape *shape_static(const struct shape *shape);

/* --- asking --- */

static inline bool shape_is_tuple(const struct shape *shape)
{
    return shape->type == TYPE_TUPLE;
}
static inline bool shape_is_array(const struct shape *shape)
{
    return type_is_array(shape->type);
}
static inline bool shape_is_scalar(const struct shape *shape)
{
    return shape_is_array(shape) && shape->rank == 0;
}
bool shape_is_dynamic(const struct shape *shape); /* any dynamic dimension, tuples too */
bool shape_dimension_is_dynamic(const struct shape *shape, int dimension);
/* Equal but for layouts (tiles, memory spaces, element bits). */
bool shape_compatible(const struct shape *a, const struct shape *b);
/* Equal dimensions and dynamic marks; types and layouts may differ. Arrays only. */
bool shape_same_dimensions(const struct shape *a, const struct shape *b);
/* Elements of an array (the bound for dynamic ones); 1 for a scalar, 0 for what is no array;
 * SHAPE_TOO_MANY with an unbounded dimension. Shapes whose element count or byte size overflows
 * int64 are refused by shape_check. */
#define SHAPE_TOO_MANY (INT64_MAX / 16)
int64_t shape_elements(const struct shape *shape);
/* Bytes of the elements here, tuples summed; INT64_MAX when they are too many. */
int64_t shape_bytes(const struct shape *shape);
/* Number of leaves (non-tuple parts). */
int shape_leaves(const struct shape *shape);
bool layout_is_default(const struct layout *layout);

/* --- text: the syntax of HLO, with layouts or without --- */

void shape_print(const struct shape *shape, bool with_layout, struct text *out);
/* Where an element of an array is, from its row-major number: [1,2]. */
void shape_print_index(const struct shape *shape, int64_t index, struct text *out);
/* Like shape_print into a static per-thread buffer, for messages (four may live at once). */
const char *shape_text(const struct shape *shape);
/* Reads a shape from text[0..size); *used is the number of bytes consumed. Comments are skipped.
 * Errors carry the column (1-based offset) in err->column. */
const struct shape *shape_parse(const char *text, size_t size, size_t *used, struct error *err);
/* Valid by XLA's rules (ShapeUtil::ValidateShape, LayoutUtil::ValidateLayout)? */
bool shape_check(const struct shape *shape, struct error *err);

#endif
