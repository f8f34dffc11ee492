/* Integer matrix products: blocks of operands are filled, multiplied, emitted. */
#include "interp/integer_dot.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/pool.h"
#include "hlo/vector.h"
#include "interp/integer_dot_internal.h"
#include "interp/poll.h"

enum { BLOCK_ROWS = 64, BLOCK_COLUMNS = 128, BLOCK_DEPTH = 256 };

struct product {
    bool wide;
    const struct exact_dot_operand *a, *b;
    int64_t depth, column_blocks;
    int64_t block_rows, block_columns, block_depth; /* no more than there are, or little */
    exact_dot_emit *emit;
    void *emit_context;
    const struct integer_loops *loops;
    struct poll *poll;
    bool failed; /* written by any thread, only to true */
};

static const struct integer_loops *choose_loops(void)
{
#ifdef __x86_64__
    int level = vector_level();
    return level == 3   ? &integer_loops_level3
           : level == 2 ? &integer_loops_level2
                        : &integer_loops_level0;
#else
    return &integer_loops_level0;
#endif
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The least multiple of `unit` that is not less. */
static int64_t multiple_from(int64_t count, int64_t unit)
{
    return (count + unit - 1) / unit * unit;
}

/* Moves a filled block between the layouts [count][depth] and [depth][count]. */
static void turn(bool wide, const void *in, int64_t in_step, void *out, int64_t out_step,
                 int64_t outer, int64_t inner)
{
    for (int64_t i = 0; i < outer; i++) {
        for (int64_t j = 0; j < inner; j++) {
            if (wide) {
                ((uint64_t *)out)[j * out_step + i] = ((const uint64_t *)in)[i * in_step + j];
            } else {
                ((uint32_t *)out)[j * out_step + i] = ((const uint32_t *)in)[i * in_step + j];
            }
        }
    }
}

/* Fills a block of an operand in the wanted layout; `spare` holds one block. */
static void fill(const struct product *product, const struct exact_dot_operand *operand,
                 int64_t first, int64_t count, int64_t k, int64_t depth, bool across, void *out,
                 int64_t step, void *spare)
{
    if (operand->across == across) {
        operand->fill(operand->context, first, count, k, depth, out, step);
        return;
    }
    int64_t spare_step = across ? depth : count;
    operand->fill(operand->context, first, count, k, depth, spare, spare_step);
    turn(product->wide, spare, spare_step, out, step, across ? count : depth,
         across ? depth : count);
}

static void multiply_blocks(void *context, int64_t begin, int64_t end)
{
    struct product *product = context;
    const int64_t a_step = product->block_depth, step = product->block_columns;
    size_t lane = product->wide ? 8 : 4;
    size_t a_size = lane * (size_t)(product->block_rows * a_step);
    size_t b_size = lane * (size_t)(product->block_depth * step);
    size_t c_size = lane * (size_t)(product->block_rows * step);
    /* Zeroed: what lies beyond the edges is multiplied too, and never emitted. */
    char *memory = calloc(1, a_size + b_size + (a_size > b_size ? a_size : b_size) + c_size);
    if (memory == NULL) {
        product->failed = true;
        return;
    }
    void *a = memory, *b = memory + a_size, *spare = memory + a_size + b_size;
    void *c = memory + a_size + b_size + (a_size > b_size ? a_size : b_size);
    for (int64_t block = begin; block < end && !poll_stopped(product->poll); block++) {
        int64_t row = block / product->column_blocks * BLOCK_ROWS;
        int64_t column = block % product->column_blocks * BLOCK_COLUMNS;
        int64_t rows = least(BLOCK_ROWS, product->a->vectors - row);
        int64_t columns = least(BLOCK_COLUMNS, product->b->vectors - column);
        int64_t full_rows = multiple_from(rows, INTEGER_ROWS);
        int64_t full_columns = multiple_from(columns, INTEGER_COLUMNS);
        memset(c, 0, c_size);
        for (int64_t k = 0; k < product->depth; k += BLOCK_DEPTH) {
            int64_t depth = least(BLOCK_DEPTH, product->depth - k);
            fill(product, product->a, row, rows, k, depth, false, a, a_step, spare);
            fill(product, product->b, column, columns, k, depth, true, b, step, spare);
            if (product->wide) {
                product->loops->wide(a, a_step, b, step, c, step, full_rows, full_columns, depth);
            } else {
                product->loops->narrow(a, a_step, b, step, c, step, full_rows, full_columns, depth);
            }
        }
        product->emit(product->emit_context, row, rows, column, columns, c, step);
    }
    free(memory);
}

bool integer_dot(bool wide, const struct exact_dot_operand *a, const struct exact_dot_operand *b,
                 int64_t depth, exact_dot_emit *emit, void *emit_context, struct error *err)
{
    struct product product = {
        .wide = wide,
        .a = a,
        .b = b,
        .depth = depth,
        .column_blocks = (b->vectors + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS,
        .block_rows = multiple_from(least(a->vectors, BLOCK_ROWS), INTEGER_ROWS),
        .block_columns = multiple_from(least(b->vectors, BLOCK_COLUMNS), INTEGER_COLUMNS),
        .block_depth = least(depth, BLOCK_DEPTH),
        .emit = emit,
        .emit_context = emit_context,
        .poll = poll_current(),
        .loops = choose_loops(),
    };
    int64_t row_blocks = (a->vectors + BLOCK_ROWS - 1) / BLOCK_ROWS;
    pool_for(row_blocks * product.column_blocks, 1, multiply_blocks, &product);
    if (product.failed) {
        return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for blocks of a product");
    }
    return poll_check(product.poll, err);
}
