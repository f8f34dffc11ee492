/* Exact matrix products: panels of doubles, dgemm on tiles of them, a rounding test, and exact sums
 * for what the test leaves open. f64 results and small products take compensated sums at once. Ten
 * dgemms of slices of the mantissas, which 106 bits take, would cost as much as the compensated
 * sums do. */
#include "interp/exact_dot.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "hlo/base/error.h"
#include "hlo/base/pool.h"
#include "hlo/floats.h"
#include "interp/exact_dot_panel.h"
#include "interp/exact_gemm.h"
#include "interp/exact_sum.h"
#include "interp/exact_sum_kernels.h"
#include "interp/poll.h"

enum {
    PANEL_DOUBLES = 1 << 22, /* of one operand, and of results, in memory at a time: 32 MiB each */
    ROWS_DOUBLES = 1 << 18,  /* of the rows' panel, which should stay in the cache until used, */
    ROWS_LEAST = 1024,       /* but not fewer rows than keep threads busy and dgemm efficient */
    DEPTH_MOST = 1 << 18,    /* deeper products are read in slices of DEPTH_SLICE */
    DEPTH_SLICE = 1 << 15,
    GEMM_DEPTH = 768, /* dgemm's own sums are no longer, so that its error bound stays small */
    TILE_ROWS = 256,
    TILE_COLUMNS = 512,
    TILE_SUMS = 64,          /* edge of a tile of compensated sums */
    QUICK_DEPTH = 48,        /* from which norms are worth their time in sums of f64 */
    SMALL_PRODUCT = 1 << 13, /* multiplications for which BLAS is not worth its call */
    TURNED_FROM = 512, /* vectors on the other side from which turning pays: open elements read */
};

struct product {
    enum type type;
    const struct float_layout *layout;
    struct panel a, b;
    int64_t depth; /* of the whole product */
    bool sums;     /* compensated sums only */
    bool quick;    /* of them: with bounds by the vectors' norms */
    bool last_slice;
    double factor; /* bound = factor * |a| * |b| */
    /* a.count × b.count; where an element is the sum of several dgemms, as double-doubles. */
    double *results, *results_low;
    int64_t tile_rows, tile_columns, tiles_across;
    exact_dot_emit *emit, *emit_bounds; /* emit_bounds: NULL where sums are rounded */
    void *emit_context;
    struct poll *poll;
    atomic_bool no_memory;
};

/* --- Elements. ---------------------------------------------------------------------------------
 */

enum { BUFFER = 4096 }; /* depth read at a time */

static struct exact_partial element_sum(const struct product *product, int64_t i, int64_t j)
{
    const struct exact_sum_kernels *kernels = exact_sum_kernels_here();
    const bool exact = !product->a.operand->wide && !product->b.operand->wide;
    struct exact_partial sum = {0, 0, 0};
    double a_buffer[BUFFER], b_buffer[BUFFER];
    for (int64_t k = 0; k < product->depth; k += BUFFER) {
        const int64_t size = product->depth - k < BUFFER ? product->depth - k : BUFFER;
        const double *a = panel_vector(&product->a, i, k, size, a_buffer);
        const double *b = panel_vector(&product->b, j, k, size, b_buffer);
        const struct exact_partial part = kernels->dot(a, b, size, exact);
        exact_partial_merge(&sum, &part);
    }
    return sum;
}

static double element_long_sum(const struct product *product, int64_t i, int64_t j)
{
    struct exact_accumulator accumulator;
    double a_buffer[BUFFER], b_buffer[BUFFER];
    exact_accumulator_init(&accumulator);
    exact_accumulator_add(&accumulator, 0);
    for (int64_t k = 0; k < product->depth; k += BUFFER) {
        const int64_t size = product->depth - k < BUFFER ? product->depth - k : BUFFER;
        const double *a = panel_vector(&product->a, i, k, size, a_buffer);
        const double *b = panel_vector(&product->b, j, k, size, b_buffer);
        for (int64_t d = 0; d < size; d++) {
            exact_accumulator_add_product(&accumulator, a[d], b[d]);
        }
    }
    return exact_accumulator_round(&accumulator, product->type);
}

/* Additions to the low part of a dot of that depth, products with errors counting twice. */
static double additions_of(int64_t depth)
{
    return 2 * ((double)(depth / EXACT_SUM_LANES) + 64) * 2 + 4 * (double)(depth / BUFFER);
}

/* The same with less work a term, which leaves `slack`, the sum of the magnitudes of all errors, to
 * be bounded by the norms: u |a * b| of each product; and each of the depth / EXACT_SUM_LANES
 * additions in a lane, and of those that join lanes and pieces, u times what it has added up so
 * far, which is at most Σ |a * b| ≤ |a| |b| over all lanes together. Errors of products may
 * underflow. */
static bool quick_element(const struct product *product, int64_t i, int64_t j, double *value)
{
    const struct exact_sum_kernels *kernels = exact_sum_kernels_here();
    const double depth = (double)product->depth;
    struct exact_partial sum = {0, 0, 0};
    double a_buffer[BUFFER], b_buffer[BUFFER];
    for (int64_t k = 0; k < product->depth; k += BUFFER) {
        const int64_t size = product->depth - k < BUFFER ? product->depth - k : BUFFER;
        const double *a = panel_vector(&product->a, i, k, size, a_buffer);
        const double *b = panel_vector(&product->b, j, k, size, b_buffer);
        const struct exact_partial part = kernels->quick_dot(a, b, size);
        exact_partial_merge(&sum, &part);
    }
    const double additions = depth / EXACT_SUM_LANES + 128 + 64 * (depth / BUFFER + 1);
    sum.slack =
        0x1.1p-53 * additions * product->a.norms[i] * product->b.norms[j] + depth * 0x1p-1060;
    return exact_partial_round(&sum, additions_of(product->depth), product->type, value);
}

static double element(const struct product *product, int64_t i, int64_t j)
{
    double value;
    if (product->quick && quick_element(product, i, j, &value)) {
        return value;
    }
    const struct exact_partial sum = element_sum(product, i, j);
    if (exact_partial_round(&sum, additions_of(product->depth), product->type, &value)) {
        return value;
    }
    if (!isfinite(sum.high) && !product->a.operand->wide && !product->b.operand->wide) {
        /* No overflow: NaN and infinities came in. */
        return float_round(product->type, isnan(sum.high) ? NAN : sum.high);
    }
    return element_long_sum(product, i, j);
}

/* --- Tiles. ------------------------------------------------------------------------------------
 */

/* Whether element (i, j) of a finished dgemm is within its bound. */
static bool is_plausible(const struct product *product, int64_t i, int64_t j, double value)
{
    const struct exact_partial sum = element_sum(product, i, j);
    const double bound = product->factor * product->a.norms[i] * product->b.norms[j];
    if (!isfinite(sum.high) || !isfinite(bound)) {
        return true;
    }
    return fabs(value - sum.high) <= 2 * bound + fabs(sum.low);
}

/* Rounds row i of a tile, and decides what stays open. */
static void settle_row(const struct product *product, int64_t i, int64_t j, int64_t columns)
{
    uint64_t open[TILE_COLUMNS / 64];
    const double *norms = product->b.norms;
    if (product->a.marked && product->a.integral[i]) {
        norms = product->b.inexact_norms;
    }
    double *row = product->results + i * product->b.count + j;
    if (!exact_sum_kernels_here()->settle(product->layout, row,
                                          product->factor * product->a.norms[i], norms + j, row,
                                          open, columns)) {
        return;
    }
    for (int64_t block = 0; block < (columns + 63) / 64; block++) {
        for (uint64_t bits = open[block]; bits != 0; bits &= bits - 1) {
            const int64_t column = block * 64 + __builtin_ctzll(bits);
            /* A norm is NaN only if an element is. Whole rows of that kind are common (masks). */
            const bool is_nan = isnan(product->a.norms[i]) || isnan(product->b.norms[j + column]);
            row[column] =
                is_nan ? float_round(product->type, NAN) : element(product, i, j + column);
        }
    }
}

/* A bound that an f32 holds: a little larger. */
static double bound_as_f32(double bound)
{
    return bound == 0 ? 0 : bound * 1.000001 + 0x1p-140;
}

/* How far the elements of row i of a tile may be off. What came by dgemm from vectors that are not
 * finite is decided anew. */
static void bound_row(const struct product *product, int64_t i, int64_t j, int64_t columns,
                      double *bounds)
{
    double *row = product->results + i * product->b.count + j;
    const bool integral = product->a.marked && product->a.integral[i];
    const double *norms = (integral ? product->b.inexact_norms : product->b.norms) + j;
    for (int64_t c = 0; c < columns; c++) {
        double bound =
            product->sums ? (double)INFINITY : product->factor * product->a.norms[i] * norms[c];
        row[c] += 0.0; /* −0 becomes +0 */
        if (!(bound < INFINITY)) {
            const bool is_nan = isnan(bound);
            row[c] = product->sums ? row[c] : is_nan ? (double)NAN : element(product, i, j + c);
            bound = isfinite(row[c]) ? fabs(row[c]) * 0x1p-53 + 0x1p-1074 : 0;
        }
        bounds[c] = bound_as_f32(bound);
    }
}

/* dgemm over depth [k, k + depth) of the panels. */
static void multiply_part(const struct product *product, int64_t i, int64_t rows, int64_t j,
                          int64_t columns, int64_t k, int64_t depth, double *out, int64_t out_step)
{
    const struct panel *a = &product->a, *b = &product->b;
    const struct gemm_panel left = {a->data + (a->across ? k * a->step + i : i * a->step + k),
                                    a->step, a->across};
    const struct gemm_panel right = {b->data + (b->across ? k * b->step + j : j * b->step + k),
                                     b->step, b->across};
    gemm_panels(&left, &right, rows, columns, depth, out, out_step);
}

/* A tile's dgemms over the panels' depth; several are added up with their rounding errors, by way
 * of part. */
static void multiply_tile(const struct product *product, int64_t i, int64_t rows, int64_t j,
                          int64_t columns, double *part)
{
    const int64_t step = product->b.count, depth = product->a.depth;
    double *results = product->results + i * step + j;
    if (product->results_low == NULL) {
        multiply_part(product, i, rows, j, columns, 0, depth, results, step);
        return;
    }
    double *results_low = product->results_low + i * step + j;
    for (int64_t k = 0; k < depth; k += GEMM_DEPTH) {
        const int64_t size = depth - k < GEMM_DEPTH ? depth - k : GEMM_DEPTH;
        const bool first = k == 0 && product->a.first_slice;
        multiply_part(product, i, rows, j, columns, k, size, part, columns);
        for (int64_t r = 0; r < rows; r++) {
            exact_sum_kernels_here()->gather(results + r * step, results_low + r * step,
                                             part + r * columns, columns, first);
        }
    }
    for (int64_t r = 0; r < rows && product->last_slice; r++) {
        for (int64_t c = 0; c < columns; c++) {
            results[r * step + c] += results_low[r * step + c];
        }
    }
}

/* part: room for a tile where dgemms are added up; bounds: where bounds are wanted. */
static void tile(const struct product *product, int64_t i, int64_t rows, int64_t j, int64_t columns,
                 double *part, double *bounds)
{
    const int64_t step = product->b.count;
    double *results = product->results + i * step + j;
    if (product->sums) {
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t c = 0; c < columns; c++) {
                results[r * step + c] = element(product, i + r, j + c);
            }
        }
    } else {
        multiply_tile(product, i, rows, j, columns, part);
        if (!product->last_slice) {
            return;
        }
        const double last = results[(rows - 1) * step + columns - 1];
        if (product->a.whole && !gemm_distrusted() &&
            (!is_plausible(product, i, j, results[0]) ||
             !is_plausible(product, i + rows - 1, j + columns - 1, last))) {
            gemm_distrust();
            multiply_tile(product, i, rows, j, columns, part);
        }
        for (int64_t r = 0; r < rows && product->emit_bounds == NULL; r++) {
            settle_row(product, i + r, j, columns);
        }
    }
    for (int64_t r = 0; r < rows && product->emit_bounds != NULL; r++) {
        bound_row(product, i + r, j, columns, bounds + r * columns);
    }
    if (product->emit_bounds != NULL) {
        product->emit_bounds(product->emit_context, product->a.first + i, rows,
                             product->b.first + j, columns, bounds, columns);
    }
    product->emit(product->emit_context, product->a.first + i, rows, product->b.first + j, columns,
                  results, step);
}

static void tiles(void *context, int64_t begin, int64_t end)
{
    struct product *product = context;
    const size_t size = (size_t)(product->tile_rows * product->tile_columns) * sizeof(double);
    const bool adds = product->results_low != NULL, bounded = product->emit_bounds != NULL;
    double *part = adds ? malloc(size) : NULL, *bounds = bounded ? malloc(size) : NULL;
    if ((adds && part == NULL) || (bounded && bounds == NULL)) {
        atomic_store(&product->no_memory, true);
        free(part);
        free(bounds);
        return;
    }
    for (int64_t t = begin; t < end && !poll_stopped(product->poll); t++) {
        const int64_t i = t / product->tiles_across * product->tile_rows;
        const int64_t j = t % product->tiles_across * product->tile_columns;
        tile(product, i, dot_at_most(product->a.count - i, product->tile_rows), j,
             dot_at_most(product->b.count - j, product->tile_columns), part, bounds);
    }
    free(part);
    free(bounds);
}

static int64_t parts_of(int64_t size, int64_t part)
{
    return (size + part - 1) / part;
}

/* Tiles as large as dgemm likes, but enough of them to keep the threads busy. */
static void choose_tiles(struct product *product)
{
    const int64_t rows = product->a.count, columns = product->b.count;
    product->tile_rows = product->sums ? TILE_SUMS : TILE_ROWS;
    product->tile_columns = product->sums ? TILE_SUMS : TILE_COLUMNS;
    const int64_t wanted = 2 * (int64_t)pool_threads();
    while (pool_threads() > 1 && !product->sums &&
           parts_of(rows, product->tile_rows) * parts_of(columns, product->tile_columns) < wanted &&
           (product->tile_rows > 64 || product->tile_columns > 64)) {
        if (product->tile_columns > product->tile_rows || product->tile_rows <= 64) {
            product->tile_columns /= 2;
        } else {
            product->tile_rows /= 2;
        }
    }
    product->tiles_across = parts_of(columns, product->tile_columns);
}

/* --- Memory. ------------------------------------------------------------------------------------
 */

/* The memory of one product. One set is kept for the next product: fresh pages cost as much as a
 * good part of a dgemm. */
struct workspace {
    double *blocks[5]; /* A, B, results and their low parts, norms */
    size_t sizes[5];   /* in doubles */
};
static _Atomic(struct workspace *) spare;

static void workspace_free(struct workspace *workspace)
{
    for (int i = 0; i < 5 && workspace != NULL; i++) {
        free(workspace->blocks[i]);
    }
    free(workspace);
}

/* NULL if there is no memory. */
static struct workspace *workspace_take(const size_t sizes[5])
{
    struct workspace *workspace = atomic_exchange(&spare, NULL);
    if (workspace == NULL) {
        workspace = calloc(1, sizeof(*workspace));
    }
    for (int i = 0; i < 5 && workspace != NULL; i++) {
        if (workspace->sizes[i] >= sizes[i]) {
            continue;
        }
        free(workspace->blocks[i]);
        workspace->blocks[i] = malloc(sizes[i] * sizeof(double));
        workspace->sizes[i] = sizes[i];
        if (workspace->blocks[i] == NULL) {
            workspace_free(workspace);
            return NULL;
        }
    }
    return workspace;
}

static void workspace_give(struct workspace *workspace)
{
    workspace_free(atomic_exchange(&spare, workspace));
}

/* --- The whole product, block by block. --------------------------------------------------------
 */

static bool multiply_block(struct product *product, int64_t slice)
{
    for (int64_t k = 0; k < product->depth; k += slice) {
        const int64_t depth = product->depth - k < slice ? product->depth - k : slice;
        struct panel *panels[] = {&product->a, &product->b};
        product->last_slice = k + depth == product->depth;
        for (int p = 0; p < 2; p++) {
            panels[p]->k = k;
            panels[p]->depth = depth;
            panels[p]->first_slice = k == 0;
            panel_fill(panels[p]);
            if (product->last_slice && panels[p]->normed) {
                panel_finish_norms(panels[p], product->depth);
            }
        }
        if (atomic_load(&product->no_memory) || poll_stopped(product->poll)) {
            return false;
        }
        choose_tiles(product);
        pool_for(parts_of(product->a.count, product->tile_rows) * product->tiles_across, 1, tiles,
                 product);
    }
    return !atomic_load(&product->no_memory) && !poll_stopped(product->poll);
}

static void emit_zeros(struct product *product, int64_t rows, int64_t columns)
{
    static const double zeros[TILE_COLUMNS];
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j += TILE_COLUMNS) {
            const int64_t count = dot_at_most(columns - j, TILE_COLUMNS);
            product->emit(product->emit_context, i, 1, j, count, zeros, TILE_COLUMNS);
            if (product->emit_bounds != NULL) {
                product->emit_bounds(product->emit_context, i, 1, j, count, zeros, TILE_COLUMNS);
            }
        }
    }
}

/* How many vectors of the depth fit in a panel; 16 at least, all if there are fewer. */
static int64_t panel_vectors(int64_t vectors, int64_t depth)
{
    const int64_t fit = PANEL_DOUBLES / depth;
    return dot_at_most(vectors, fit < 16 ? 16 : fit);
}

static bool multiply(enum type type, const struct exact_dot_operand *a,
                     const struct exact_dot_operand *b, int64_t depth, exact_dot_emit *emit,
                     exact_dot_emit *emit_bounds, void *emit_context, struct error *err)
{
    const int64_t rows = a->vectors, columns = b->vectors;
    struct product product = {
        .type = type,
        .layout = type == TYPE_F32 ? NULL : float_layout(type),
        .depth = depth,
        .emit = emit,
        .emit_bounds = emit_bounds,
        .emit_context = emit_context,
        .poll = poll_current(),
        /* (terms + 4) units for dgemm, the rest for the norms' and the test's own rounding. */
        .factor = ((double)dot_at_most(depth, GEMM_DEPTH) + 24) * 0x1.04p-53,
    };
    if (rows <= 0 || columns <= 0) {
        return true;
    }
    if (depth <= 0) {
        emit_zeros(&product, rows, columns);
        return true;
    }
    product.sums = (type == TYPE_F64 && (emit_bounds == NULL || a->wide || b->wide)) ||
                   type == TYPE_F8E8M0FNU ||
                   (double)rows * (double)columns * (double)depth <= SMALL_PRODUCT;
    product.quick =
        product.sums && type == TYPE_F64 && depth >= QUICK_DEPTH && rows > 1 && columns > 1;
    const int64_t slice = depth <= DEPTH_MOST || product.sums ? depth : DEPTH_SLICE;
    const bool whole = slice == depth;
    product.a = (struct panel){.operand = a,
                               .whole = whole,
                               .normed = !product.sums || product.quick,
                               .marked = !product.sums && whole};
    product.b = product.a;
    product.b.operand = b;
    product.a.across = a->across && !product.sums && columns < TURNED_FROM;
    product.b.across = b->across && !product.sums && rows < TURNED_FROM;
    /* Integers of the two vectors' bits, times depth, stay within 53 bits. */
    int depth_bits = 0;
    while ((int64_t)1 << depth_bits < depth) {
        depth_bits++;
    }
    product.a.integral_bits = product.b.integral_bits = (53 - depth_bits) / 2;

    const int64_t cached = ROWS_DOUBLES / slice;
    int64_t block_rows =
        dot_at_most(panel_vectors(rows, slice), cached < ROWS_LEAST ? ROWS_LEAST : cached);
    const int64_t block_columns = panel_vectors(columns, slice);
    block_rows = dot_at_most(block_rows, PANEL_DOUBLES / block_columns + 1);
    const size_t block_results = (size_t)block_rows * (size_t)block_columns;
    const bool added_up = depth > GEMM_DEPTH && !product.sums;
    const size_t sizes[5] = {
        (size_t)block_rows * (size_t)slice, (size_t)block_columns * (size_t)slice, block_results,
        added_up ? block_results : 0, 3 * (size_t)(block_rows + block_columns)};
    struct workspace *workspace = workspace_take(sizes);
    bool ok = workspace != NULL;
    if (ok) {
        panel_place(&product.a, workspace->blocks[0], workspace->blocks[4], block_rows);
        panel_place(&product.b, workspace->blocks[1], workspace->blocks[4] + 3 * block_rows,
                    block_columns);
        product.results = workspace->blocks[2];
        product.results_low = added_up ? workspace->blocks[3] : NULL;
    }
    for (int64_t j = 0; j < columns && ok; j += block_columns) {
        for (int64_t i = 0; i < rows && ok; i += block_rows) {
            product.a.first = i;
            product.a.count = dot_at_most(rows - i, block_rows);
            product.b.first = j;
            product.b.count = dot_at_most(columns - j, block_columns);
            ok = multiply_block(&product, slice);
        }
    }
    if (workspace != NULL) {
        workspace_give(workspace);
    }
    return poll_check(product.poll, err) &&
           (ok || error_set(err, ERROR_RESOURCE_EXHAUSTED,
                            "no memory for a product of %lld x %lld x %lld", (long long)rows,
                            (long long)columns, (long long)depth));
}

bool exact_dot(enum type type, const struct exact_dot_operand *a, const struct exact_dot_operand *b,
               int64_t depth, exact_dot_emit *emit, void *emit_context, struct error *err)
{
    return multiply(type, a, b, depth, emit, NULL, emit_context, err);
}

bool exact_dot_bounded(const struct exact_dot_operand *a, const struct exact_dot_operand *b,
                       int64_t depth, exact_dot_emit *emit, exact_dot_emit *emit_bounds,
                       void *emit_context, struct error *err)
{
    return multiply(TYPE_F64, a, b, depth, emit, emit_bounds, emit_context, err);
}
