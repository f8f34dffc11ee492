/* Dot products summed in order. */
#include "interp/ordered_dot.h"

#include <stdlib.h>

#include "hlo/base/error.h"
#include "hlo/base/pool.h"
#include "hlo/floats.h"
#include "interp/poll.h"

enum { BLOCK_ROWS = 16, BLOCK_COLUMNS = 16, BLOCK_DEPTH = 512 };

struct product {
    enum type type;
    const struct exact_dot_operand *a, *b;
    int64_t depth, column_blocks;
    exact_dot_emit *emit;
    void *emit_context;
    struct poll *poll;
    bool failed; /* written by any thread, only to true */
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Fills [count][BLOCK_DEPTH] with values of the product's type. */
static void fill(const struct product *product, const struct exact_dot_operand *operand,
                 int64_t first, int64_t count, int64_t k, int64_t depth, double *out, double *spare)
{
    if (operand->across) {
        operand->fill(operand->context, first, count, k, depth, spare, count);
        for (int64_t i = 0; i < count; i++) {
            for (int64_t j = 0; j < depth; j++) {
                out[i * BLOCK_DEPTH + j] = spare[j * count + i];
            }
        }
    } else {
        operand->fill(operand->context, first, count, k, depth, out, BLOCK_DEPTH);
    }
    for (int64_t i = 0; i < count; i++) {
        double *row = out + i * BLOCK_DEPTH;
        float_round_array(product->type, row, row, depth);
    }
}

static double accumulate_f32(double sum, const double *a, const double *b, int64_t depth)
{
    float total = (float)sum;
    for (int64_t k = 0; k < depth; k++) {
        float step = (float)a[k] * (float)b[k];
        total += step;
    }
    return total;
}

static double accumulate_f64(double sum, const double *a, const double *b, int64_t depth)
{
    for (int64_t k = 0; k < depth; k++) {
        sum += a[k] * b[k];
    }
    return sum;
}

static void multiply_blocks(void *context, int64_t begin, int64_t end)
{
    struct product *product = context;
    enum { A = BLOCK_ROWS * BLOCK_DEPTH, B = BLOCK_COLUMNS * BLOCK_DEPTH };
    double *memory = malloc((2 * A + B) * sizeof *memory);
    if (memory == NULL) {
        product->failed = true;
        return;
    }
    double *a = memory, *b = memory + A, *spare = memory + A + B;
    for (int64_t block = begin; block < end && !poll_stopped(product->poll); block++) {
        int64_t row = block / product->column_blocks * BLOCK_ROWS;
        int64_t column = block % product->column_blocks * BLOCK_COLUMNS;
        int64_t rows = least(BLOCK_ROWS, product->a->vectors - row);
        int64_t columns = least(BLOCK_COLUMNS, product->b->vectors - column);
        double sums[BLOCK_ROWS * BLOCK_COLUMNS] = {0};
        for (int64_t k = 0; k < product->depth; k += BLOCK_DEPTH) {
            int64_t depth = least(BLOCK_DEPTH, product->depth - k);
            fill(product, product->a, row, rows, k, depth, a, spare);
            fill(product, product->b, column, columns, k, depth, b, spare);
            for (int64_t i = 0; i < rows; i++) {
                for (int64_t j = 0; j < columns; j++) {
                    double *sum = &sums[i * BLOCK_COLUMNS + j];
                    const double *left = a + i * BLOCK_DEPTH, *right = b + j * BLOCK_DEPTH;
                    *sum = product->type == TYPE_F64 ? accumulate_f64(*sum, left, right, depth)
                                                     : accumulate_f32(*sum, left, right, depth);
                }
            }
        }
        float_round_array(product->type, sums, sums, BLOCK_ROWS * BLOCK_COLUMNS);
        product->emit(product->emit_context, row, rows, column, columns, sums, BLOCK_COLUMNS);
    }
    free(memory);
}

bool ordered_dot(enum type type, const struct exact_dot_operand *a,
                 const struct exact_dot_operand *b, int64_t depth, exact_dot_emit *emit,
                 void *emit_context, struct error *err)
{
    struct product product = {
        .type = type,
        .a = a,
        .b = b,
        .depth = depth,
        .column_blocks = (b->vectors + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS,
        .emit = emit,
        .emit_context = emit_context,
        .poll = poll_current(),
    };
    int64_t row_blocks = (a->vectors + BLOCK_ROWS - 1) / BLOCK_ROWS;
    pool_for(row_blocks * product.column_blocks, 1, multiply_blocks, &product);
    if (product.failed) {
        return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for blocks of a product");
    }
    return poll_check(product.poll, err);
}
