/* The walk engine: choosing a kernel, spreading the work, marks. The inner loops are in
 * walk_kernels.c. */
#include "interp/walk.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "interp/poll.h"
#include "interp/walk_kernels.h"

enum {
    SERIAL_BYTES = 128 << 10, /* less than this is copied by the caller alone */
    UNIT_BYTES = 64 << 10,    /* what one unit of parallel work should move at least */
    TILE = 64,                /* blocks of a dimension are multiples of this */
    TRANSPOSE_BYTES = 2048,   /* what one run of a transpose should have (walk_kernels.c) */
    TRANSPOSE_LEAST = 4,      /* shorter source runs are not worth a blocked transpose */
};

static int64_t magnitude(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

static void move_dimension(struct walk *walk, int from, int to)
{
    int64_t size = walk->sizes[from], source = walk->source[from];
    int64_t destination = walk->destination[from];
    int step = from < to ? 1 : -1;
    for (int d = from; d != to; d += step) {
        walk->sizes[d] = walk->sizes[d + step];
        walk->source[d] = walk->source[d + step];
        walk->destination[d] = walk->destination[d + step];
    }
    walk->sizes[to] = size;
    walk->source[to] = source;
    walk->destination[to] = destination;
}

/* Does dimension d go before dimension e, so that the destination is written in order? */
static bool is_outer(const struct walk *walk, int d, int e)
{
    int64_t a = magnitude(walk->destination[d]), b = magnitude(walk->destination[e]);
    return a != b ? a > b : magnitude(walk->source[d]) > magnitude(walk->source[e]);
}

/* Drops dimensions of size 1 and multiplies up the points. */
static void drop_ones(struct walk *walk)
{
    int kept = 0;
    walk->points = 1;
    for (int d = 0; d < walk->rank; d++) {
        walk->points *= walk->sizes[d];
        if (walk->sizes[d] != 1) {
            walk->sizes[kept] = walk->sizes[d];
            walk->source[kept] = walk->source[d];
            walk->destination[kept] = walk->destination[d];
            kept++;
        }
    }
    walk->rank = kept;
}

static void merge_neighbours(struct walk *walk)
{
    int last = 0; /* the dimension that the next may join */
    for (int d = 1; d < walk->rank; d++) {
        if (walk->source[last] == walk->source[d] * walk->sizes[d] &&
            walk->destination[last] == walk->destination[d] * walk->sizes[d]) {
            walk->sizes[last] *= walk->sizes[d];
        } else {
            last++;
            walk->sizes[last] = walk->sizes[d];
        }
        walk->source[last] = walk->source[d];
        walk->destination[last] = walk->destination[d];
    }
    walk->rank = last + 1;
}

void walk_finish(struct walk *walk)
{
    drop_ones(walk);
    if (walk->points == 0) {
        walk->kernel = WALK_NOTHING;
        return;
    }
    if (walk->rank == 0) {
        walk_add(walk, 1, 1, 1);
        walk->kernel = WALK_RUNS;
        return;
    }
    for (int d = 1; d < walk->rank; d++) {
        int to = d;
        while (to > 0 && is_outer(walk, d, to - 1)) {
            to--;
        }
        move_dimension(walk, d, to);
    }
    merge_neighbours(walk);
    int inner = walk->rank - 1;
    walk->kernel = WALK_STRIDED;
    if (walk->destination[inner] != 1) {
        return;
    }
    if (walk->source[inner] == 1) {
        walk->kernel = WALK_RUNS;
        return;
    }
    if (walk->source[inner] == 0) {
        walk->kernel = WALK_FILL;
        return;
    }
    for (int d = 0; d < inner; d++) {
        if (walk->source[d] == 1 && walk->sizes[d] >= TRANSPOSE_LEAST) {
            move_dimension(walk, d, inner - 1);
            walk->kernel = WALK_TRANSPOSE;
            return;
        }
    }
}

/* A walk cut into units: one for each point of the outer dimensions and each block of one of the
 * two inner ones. */
struct spread {
    const struct walk *walk;
    char *destination;
    const char *source;
    int bytes;
    int outer_rank;
    int blocked;                /* 0: the inner dimension is cut, 1: the one before it */
    int64_t block, block_count; /* indices in a block; blocks */
    int64_t unit_count;
};

static struct spread spread_plan(const struct walk *walk, void *destination, const void *source,
                                 int bytes)
{
    int inner = walk->rank - 1;
    int64_t n = walk->sizes[inner], m = inner > 0 ? walk->sizes[inner - 1] : 1;
    struct spread spread = {.walk = walk,
                            .destination = destination,
                            .source = source,
                            .bytes = bytes,
                            .outer_rank = inner > 1 ? inner - 1 : 0};
    spread.blocked = walk->kernel == WALK_TRANSPOSE ? m >= n : m > 1 && n * bytes <= UNIT_BYTES;
    int64_t whole = spread.blocked ? m : n, other = spread.blocked ? n : m;
    int64_t block = UNIT_BYTES / (other * bytes);
    if (walk->kernel == WALK_TRANSPOSE) {
        /* Long runs on both sides, but enough units for all threads. */
        int64_t wide = TRANSPOSE_BYTES / bytes < whole / 8 ? TRANSPOSE_BYTES / bytes : whole / 8;
        block = block > wide ? block : wide;
    }
    block = (block + TILE - 1) / TILE * TILE;
    spread.block = block < TILE ? TILE : block > whole ? whole : block;
    spread.block_count = (whole + spread.block - 1) / spread.block;
    spread.unit_count = walk->points / (m * n) * spread.block_count;
    return spread;
}

static void spread_run(void *context, int64_t begin, int64_t end)
{
    const struct spread *spread = context;
    const struct walk *walk = spread->walk;
    int inner = walk->rank - 1;
    int64_t index[WALK_MAX_RANK];
    int64_t block = begin % spread->block_count, rest = begin / spread->block_count;
    int64_t source = 0, destination = 0;
    for (int d = spread->outer_rank - 1; d >= 0; d--) {
        index[d] = rest % walk->sizes[d];
        rest /= walk->sizes[d];
        source += index[d] * walk->source[d];
        destination += index[d] * walk->destination[d];
    }
    struct walk_rows rows = {.kernel = walk->kernel, .bytes = spread->bytes};
    rows.n = walk->sizes[inner];
    rows.source = walk->source[inner];
    rows.destination = walk->destination[inner];
    rows.m = 1;
    if (inner > 0) {
        rows.m = walk->sizes[inner - 1];
        rows.source_row = walk->source[inner - 1];
        rows.destination_row = walk->destination[inner - 1];
    }
    int64_t *cut = spread->blocked ? &rows.m : &rows.n;
    int64_t whole = *cut;
    int64_t source_step = spread->blocked ? rows.source_row : rows.source;
    int64_t destination_step = spread->blocked ? rows.destination_row : rows.destination;
    for (int64_t unit = begin;;) {
        int64_t first = block * spread->block;
        *cut = whole - first < spread->block ? whole - first : spread->block;
        walk_rows_copy(
            &rows, spread->destination + (destination + first * destination_step) * spread->bytes,
            spread->source + (source + first * source_step) * spread->bytes);
        if (++unit >= end) {
            return;
        }
        if (++block < spread->block_count) {
            continue;
        }
        block = 0;
        for (int d = spread->outer_rank - 1; d >= 0; d--) {
            source += walk->source[d];
            destination += walk->destination[d];
            if (++index[d] < walk->sizes[d]) {
                break;
            }
            source -= walk->sizes[d] * walk->source[d];
            destination -= walk->sizes[d] * walk->destination[d];
            index[d] = 0;
        }
    }
}

/* Runs of 2, 4, 8 or 16 bytes are elements themselves: without its inner dimension the walk is over
 * fewer, larger elements and may find a better kernel. */
static bool fold_run(const struct walk *walk, int bytes, struct walk *folded)
{
    int inner = walk->rank - 1;
    int64_t run = walk->sizes[inner];
    if (walk->kernel != WALK_RUNS || inner < 1 || run > 16 / bytes || (run & (run - 1)) != 0) {
        return false;
    }
    walk_begin(folded);
    for (int d = 0; d < inner; d++) {
        if (walk->source[d] % run != 0 || walk->destination[d] % run != 0) {
            return false;
        }
        walk_add(folded, walk->sizes[d], walk->source[d] / run, walk->destination[d] / run);
    }
    walk_finish(folded);
    return true;
}

static void copy(const struct walk *walk, void *destination, const void *source, int bytes,
                 bool parallel)
{
    if (walk->kernel == WALK_NOTHING) {
        return;
    }
    struct walk folded;
    if (fold_run(walk, bytes, &folded)) {
        bytes *= (int)walk->sizes[walk->rank - 1];
        walk = &folded;
    }
    struct spread spread = spread_plan(walk, destination, source, bytes);
    if (!parallel || walk->points * bytes < SERIAL_BYTES) {
        spread_run(&spread, 0, spread.unit_count);
        return;
    }
    int64_t unit_bytes = walk->points * bytes / spread.unit_count;
    poll_for(spread.unit_count, UNIT_BYTES / (unit_bytes > 0 ? unit_bytes : 1), spread_run,
             &spread);
}

void walk_copy(const struct walk *walk, void *destination, const void *source, int bytes)
{
    copy(walk, destination, source, bytes, true);
}

void walk_copy_serial(const struct walk *walk, void *destination, const void *source, int bytes)
{
    copy(walk, destination, source, bytes, false);
}

void walk_copy_bits(const struct walk *walk, uint8_t *destination, int64_t destination_offset,
                    const uint8_t *source, int64_t source_offset)
{
    if (walk->kernel == WALK_NOTHING || destination == NULL) {
        return;
    }
    int64_t index[WALK_MAX_RANK] = {0};
    for (int64_t point = 0; point < walk->points; point++) {
        bool bit = source != NULL && (source[source_offset / 8] >> (source_offset % 8) & 1) != 0;
        uint8_t mask = (uint8_t)(1 << (destination_offset % 8));
        uint8_t *byte = &destination[destination_offset / 8];
        *byte = bit ? *byte | mask : *byte & (uint8_t)~mask;
        for (int d = walk->rank - 1; d >= 0; d--) {
            source_offset += walk->source[d];
            destination_offset += walk->destination[d];
            if (++index[d] < walk->sizes[d]) {
                break;
            }
            source_offset -= walk->sizes[d] * walk->source[d];
            destination_offset -= walk->sizes[d] * walk->destination[d];
            index[d] = 0;
        }
    }
}

bool walk_literal(const struct walk *walk, struct literal *to, int64_t destination_offset,
                  const struct literal *from, int64_t source_offset, struct error *err)
{
    if (walk->kernel == WALK_NOTHING) {
        return true;
    }
    int bytes = type_bytes(to->shape->type);
    walk_copy(walk, (char *)literal_data(to) + destination_offset * bytes,
              (const char *)literal_data(from) + source_offset * bytes, bytes);
    const uint8_t *marks = from->buffer->unspecified;
    if (marks != NULL && to->buffer->unspecified == NULL) {
        size_t size = ((size_t)literal_elements(to) + 7) / 8;
        to->buffer->unspecified = calloc(size, 1);
        if (to->buffer->unspecified == NULL) {
            return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for the marks of %zu bytes",
                             size);
        }
    }
    walk_copy_bits(walk, to->buffer->unspecified, destination_offset, marks, source_offset);
    return true;
}

void walk_strides(int rank, const int64_t *sizes, int64_t *strides)
{
    int64_t stride = 1;
    for (int d = rank - 1; d >= 0; d--) {
        strides[d] = stride;
        stride *= sizes[d];
    }
}

/* ⌈a / b⌉ for b > 0. */
static int64_t divide_up(int64_t a, int64_t b)
{
    return a >= 0 ? a / b + (a % b != 0) : -(-a / b);
}

void walk_clip(int64_t count, int64_t step, int64_t offset, int64_t size, int64_t *first,
               int64_t *last)
{
    if (step < 0) {
        /* Seen from the end of the array the dimension runs upward. */
        step = -step;
        offset = size - 1 - offset;
    }
    int64_t low = divide_up(-offset, step), high = divide_up(size - offset, step);
    *first = low < 0 ? 0 : low > count ? count : low;
    *last = high > count ? count : high;
    if (*last < *first) {
        *last = *first;
    }
}
