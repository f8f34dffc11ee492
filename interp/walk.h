/* The walk engine: data movement by one affine index map.
 *
 * A walk visits the points of a box of `rank` dimensions and copies, at each point, the element at
 * Σ index[d] * source[d] to Σ index[d] * destination[d], both counted in elements from the places
 * that the caller passes. Strides may be zero (the source of a broadcast), negative (reverse) and
 * repeat memory (windows, convolution patches: give the window's dimensions strides of their own);
 * destinations of different points must differ. Broadcast, transpose, slice, pad, concatenate,
 * dynamic slices, gather windows, iota and convolution patches are all such walks.
 *
 * walk_finish orders the dimensions for memory and merges those that are contiguous on both sides,
 * so that whole runs become memcpy, and transposes are done in cache-sized blocks. Large walks run
 * on the thread pool. Nothing here depends on the element type, only on its size (1, 2, 4, 8 or 16
 * bytes). */
#ifndef INTERP_WALK_H
#define INTERP_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "hlo/shape.h"

struct error;
struct literal;

/* Room for the dimensions of an array and of a window over it. */
enum { WALK_MAX_RANK = 2 * SHAPE_MAX_RANK };

enum walk_kernel {
    WALK_NOTHING,   /* the box is empty */
    WALK_RUNS,      /* the inner dimension is contiguous on both sides */
    WALK_FILL,      /* one source element fills the contiguous inner dimension */
    WALK_TRANSPOSE, /* the two inner dimensions are contiguous on one side each */
    WALK_STRIDED,   /* any strides */
};

struct walk {
    int rank;
    enum walk_kernel kernel; /* set by walk_finish */
    int64_t points;          /* likewise: the size of the box */
    int64_t sizes[WALK_MAX_RANK], source[WALK_MAX_RANK], destination[WALK_MAX_RANK];
};

/* Starts an empty description: a box of rank 0, which has one point. */
static inline void walk_begin(struct walk *walk)
{
    walk->rank = 0;
}
/* Adds a dimension; the order of dimensions does not matter. */
static inline void walk_add(struct walk *walk, int64_t size, int64_t source, int64_t destination)
{
    int d = walk->rank++;
    walk->sizes[d] = size;
    walk->source[d] = source;
    walk->destination[d] = destination;
}
/* Chooses the kernel. Must be called once after the last walk_add and before the functions below,
 * which only read the walk. */
void walk_finish(struct walk *walk);

/* Copies elements of `bytes` bytes; on the thread pool when there is much to do. The memory of
 * source and destination must not overlap. */
void walk_copy(const struct walk *walk, void *destination, const void *source, int bytes);
/* The same in the calling thread: for many small walks that the caller has spread himself. */
void walk_copy_serial(const struct walk *walk, void *destination, const void *source, int bytes);
/* Copies the bits at the given places of two bit arrays: marks of unspecified elements. source
 * NULL means all clear; destination NULL means nobody wants them. */
void walk_copy_bits(const struct walk *walk, uint8_t *destination, int64_t destination_offset,
                    const uint8_t *source, int64_t source_offset);
/* Whether the walk copies one run to one run, in order and without gaps: with equal sizes on both
 * sides it is no change of data at all. */
static inline bool walk_is_run(const struct walk *walk)
{
    return walk->points <= 1 || (walk->rank == 1 && walk->kernel == WALK_RUNS);
}

/* destination[0 .. count) = *element. */
void walk_fill(void *destination, const void *element, int64_t count, int bytes);

/* Copies between literals of the same element type: data from the element at source_offset of
 * `from` on, and the marks of unspecified elements with it. `to` must be the caller's alone. */
bool walk_literal(const struct walk *walk, struct literal *to, int64_t destination_offset,
                  const struct literal *from, int64_t source_offset, struct error *err);

/* strides[rank] of the dense row-major array with these sizes. */
void walk_strides(int rank, const int64_t *sizes, int64_t *strides);

/* Which points of a strided dimension fall inside an array? The indices i in [*first, *last) are
 * those of 0 <= i < count with 0 <= i * step + offset < size (step ≠ 0); *first = *last if none. */
void walk_clip(int64_t count, int64_t step, int64_t offset, int64_t size, int64_t *first,
               int64_t *last);

#endif
