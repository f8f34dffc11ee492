/* Steps of factorizations for which libtpu's compiler has kernels of its own.
 *
 * Its sources are closed. XLA has open expanders of the same operations, in which these calls take
 * the place of a piece of a graph; what that piece gives is what the call means, and evaluating
 * modules before and after the expander bears it out. Complex matrices come as (real, imaginary)
 * and leave so.
 *
 * Cholesky (tpu_cholesky_expander): the lower factor of a diagonal block. Only the lower triangle
 * counts; a matrix that is not positive definite is recognised by a NaN on the diagonal. What
 * stands above the diagonal is left open (xla/hlo/transforms/expanders/cholesky_expander.cc).
 *
 * InvertDiagBlocksLowerTriangular, …UpperTriangular (tpu_triangular_solve_expander): the inverses
 * of triangular matrices (triangular_solve_expander.cc there).
 *
 * QrDecompositionBlock (tpu_qr_expander): (R over the reflectors, taus) of a block of columns.
 * CompactWyHelper: given X = D + U, D = diag(−τ) and U strictly upper triangular with −τj viᴴvj,
 * the T of Q = I + V T Vᴴ. The open expander finds it column by column, T[:j, j] = T[:j, :j] X[:j,
 * j] and T[j, j] = X[j, j]; so T = D + T U, which is T (I − U) = D (qr_expander.cc there).
 *
 * LuRealDecompositionBlock, LuComplexDecompositionBlock (lu_decomposition_expander): (LU, pivots
 * from 0, permutation of the rows), partial pivoting (xla/hlo/builder/lib/lu_decomposition.cc).
 *
 * EighTpu (tpu_eigh_expander): one-sided Jacobi rotations on a symmetric matrix in four blocks, top
 * left, top right, bottom left, bottom right: (values of the top, values of the bottom, and the
 * vectors as rows, in four blocks likewise), in no order. A matrix of odd size is padded with
 * zeros, whose value, 0, stays the last (eigh_expander.cc there). */
#include <stdlib.h>
#include <string.h>

#include "interp/custom_call_internal.h"

/* --- complex matrices in two parts --- */

static enum type complex_of(enum type part)
{
    return part == TYPE_F32 ? TYPE_C64 : part == TYPE_F64 ? TYPE_C128 : TYPE_INVALID;
}

static struct literal *join(const struct literal *real, const struct literal *imaginary,
                            struct error *err)
{
    const struct shape *shape = real->shape;
    struct literal *result =
        literal_create(shape_array(complex_of(shape->type), shape->rank, shape->dimensions), err);
    for (int64_t i = 0; result != NULL && i < literal_elements(result); i++) {
        literal_set_complex(result, i, literal_get_double(real, i),
                            literal_get_double(imaginary, i));
        if (literal_is_unspecified(real, i) || literal_is_unspecified(imaginary, i)) {
            literal_mark_unspecified(result, i);
        }
    }
    return result;
}

static struct literal *part(const struct literal *whole, const struct shape *shape, bool imaginary,
                            struct error *err)
{
    struct literal *result = literal_create(shape, err);
    for (int64_t i = 0; result != NULL && i < literal_elements(result); i++) {
        literal_set_double(
            result, i, imaginary ? literal_get_imaginary(whole, i) : literal_get_double(whole, i));
        if (literal_is_unspecified(whole, i)) {
            literal_mark_unspecified(result, i);
        }
    }
    return result;
}

enum { MOST_PARTS = 8 };

/* The result's shape with (real, imaginary) neighbours made one; NULL if they are no pairs. */
static const struct shape *joined_shape(const struct shape *shape)
{
    const struct shape *parts[MOST_PARTS];
    int count = 0;
    if (!shape_is_tuple(shape) || shape->count > MOST_PARTS) {
        return NULL;
    }
    for (int i = 0; i < shape->count; i++) {
        const struct shape *first = shape->elements[i];
        if (shape_is_array(first) && complex_of(first->type) != TYPE_INVALID) {
            if (i + 1 == shape->count || !shape_compatible(first, shape->elements[i + 1])) {
                return NULL;
            }
            first = shape_array(complex_of(first->type), first->rank, first->dimensions);
            i++;
        }
        parts[count++] = first;
    }
    return count == 1 ? parts[0] : shape_tuple(count, parts);
}

/* The inverse, of a value of that shape. Takes it; NULL remains NULL. */
static struct literal *part_take(struct literal *joined, const struct shape *shape,
                                 struct error *err)
{
    struct literal *parts[MOST_PARTS] = {NULL};
    bool ok = joined != NULL;
    for (int i = 0, leaf = 0; ok && i < shape->count; i++, leaf++) {
        const struct literal *from = literal_leaf(joined, leaf);
        if (type_is_complex(from->shape->type)) {
            parts[i] = part(from, shape->elements[i], false, err);
            parts[i + 1] = part(from, shape->elements[i + 1], true, err);
            ok = parts[i] != NULL && parts[i + 1] != NULL;
            i++;
        } else {
            parts[i] = literal_retain(from);
        }
    }
    literal_release(joined);
    if (ok) {
        return literal_tuple_take(shape, parts);
    }
    for (int i = 0; i < MOST_PARTS; i++) {
        literal_release(parts[i]);
    }
    return NULL;
}

/* Runs `function` on one matrix, given whole or in two parts. */
static struct literal *run_whole(eval_function *function, struct evaluation *evaluation,
                                 const struct instruction *instruction, struct operands *operands,
                                 struct error *err)
{
    if (operands->count == 1) {
        return function(evaluation, instruction, operands, err);
    }
    const struct shape *shape = joined_shape(instruction->shape);
    if (operands->count != 2 || shape == NULL || !shape_is_array(operands->values[0]->shape) ||
        complex_of(operands->values[0]->shape->type) == TYPE_INVALID ||
        !shape_compatible(operands->values[0]->shape, operands->values[1]->shape)) {
        return custom_call_fail(instruction, err, "operands that are not (real, imaginary)");
    }
    struct literal *matrix = join(operands->values[0], operands->values[1], err);
    if (matrix == NULL) {
        return NULL;
    }
    struct instruction whole = *instruction;
    whole.shape = shape;
    whole.operand_count = 1;
    static const bool alive = false;
    struct operands one = {.count = 1, .values = &matrix, .dying = &alive};
    struct literal *result = function(evaluation, &whole, &one, err);
    literal_release(matrix);
    return part_take(result, instruction->shape, err);
}

/* The operand and the result are square matrices. */
static bool check_square(const struct instruction *instruction, const struct operands *operands,
                         struct error *err)
{
    const struct shape *shape = instruction->shape;
    if (!shape_is_array(shape) || shape->rank < 2 ||
        !shape_compatible(shape, operands->values[0]->shape) ||
        shape->dimensions[shape->rank - 1] != shape->dimensions[shape->rank - 2]) {
        custom_call_fail(instruction, err, "of what is no square matrix");
        return false;
    }
    return true;
}

/* --- Cholesky --- */

static struct literal *cholesky(struct evaluation *evaluation,
                                const struct instruction *instruction, struct operands *operands,
                                struct error *err)
{
    const struct shape *shape = instruction->shape;
    if (!check_square(instruction, operands, err)) {
        return NULL;
    }
    struct inner_call call;
    inner_call_init(&call, instruction, OP_CHOLESKY, shape);
    inner_call_set(&call, (struct attr){.key = ATTR_LOWER, .integer = 1});
    struct literal *result = inner_call_run(&call, evaluation, operands->values, 1, err);
    result = result != NULL ? literal_own_take(result, err) : NULL;
    int64_t n = shape->dimensions[shape->rank - 1];
    for (int64_t i = 0; result != NULL && i < literal_elements(result); i++) {
        if (i % n > i / n % n) {
            literal_mark_unspecified(result, i);
        }
    }
    return result;
}

struct literal *custom_tpu_cholesky(struct evaluation *evaluation,
                                    const struct instruction *instruction,
                                    struct operands *operands, struct error *err)
{
    return run_whole(cholesky, evaluation, instruction, operands, err);
}

/* --- triangles --- */

/* Solves A X = B, or X A = B, A triangular. */
static struct literal *solve(struct evaluation *evaluation, const struct instruction *instruction,
                             struct literal *a, struct literal *b, bool left, bool lower, bool unit,
                             struct error *err)
{
    struct inner_call call;
    inner_call_init(&call, instruction, OP_TRIANGULAR_SOLVE, instruction->shape);
    inner_call_set(&call, (struct attr){.key = ATTR_LEFT_SIDE, .integer = left});
    inner_call_set(&call, (struct attr){.key = ATTR_LOWER, .integer = lower});
    inner_call_set(&call, (struct attr){.key = ATTR_UNIT_DIAGONAL, .integer = unit});
    inner_call_set(&call, (struct attr){.key = ATTR_TRANSPOSE_A, .integer = TRANSPOSE_NO});
    return inner_call_run(&call, evaluation, (struct literal *[]){a, b}, 2, err);
}

static struct literal *invert(struct evaluation *evaluation, const struct instruction *instruction,
                              struct operands *operands, struct error *err)
{
    const struct shape *shape = instruction->shape;
    if (!check_square(instruction, operands, err)) {
        return NULL;
    }
    struct literal *one = literal_zero(shape, err);
    if (one == NULL) {
        return NULL;
    }
    int64_t n = shape->dimensions[shape->rank - 1];
    for (int64_t i = 0; i < literal_elements(one); i++) {
        if (i % n == i / n % n) {
            literal_set_double(one, i, 1);
        }
    }
    bool lower = strstr(custom_call_target(instruction), "Lower") != NULL;
    struct literal *result =
        solve(evaluation, instruction, operands->values[0], one, true, lower, false, err);
    literal_release(one);
    return result;
}

struct literal *custom_tpu_invert_triangle(struct evaluation *evaluation,
                                           const struct instruction *instruction,
                                           struct operands *operands, struct error *err)
{
    return run_whole(invert, evaluation, instruction, operands, err);
}

static struct literal *compact_wy(struct evaluation *evaluation,
                                  const struct instruction *instruction, struct operands *operands,
                                  struct error *err)
{
    const struct shape *shape = instruction->shape;
    if (!check_square(instruction, operands, err)) {
        return NULL;
    }
    const struct literal *x = operands->values[0];
    struct literal *diagonal = literal_zero(shape, err), *unit = literal_zero(shape, err);
    int64_t n = shape->dimensions[shape->rank - 1];
    bool ok = diagonal != NULL && unit != NULL, complex = type_is_complex(shape->type);
    for (int64_t i = 0; ok && i < literal_elements(x); i++) {
        int64_t row = i / n % n, column = i % n;
        double sign = row == column ? 1 : -1;
        struct literal *to = row == column ? diagonal : unit;
        if (row > column) {
            continue;
        }
        if (complex) {
            literal_set_complex(to, i, sign * literal_get_double(x, i),
                                sign * literal_get_imaginary(x, i));
        } else {
            literal_set_double(to, i, sign * literal_get_double(x, i));
        }
        if (literal_is_unspecified(x, i)) {
            literal_mark_unspecified(to, i);
        }
    }
    struct literal *result =
        ok ? solve(evaluation, instruction, unit, diagonal, false, false, true, err) : NULL;
    literal_release(diagonal);
    literal_release(unit);
    return result;
}

struct literal *custom_tpu_compact_wy(struct evaluation *evaluation,
                                      const struct instruction *instruction,
                                      struct operands *operands, struct error *err)
{
    return run_whole(compact_wy, evaluation, instruction, operands, err);
}

/* --- QR and LU --- */

struct literal *custom_tpu_qr(struct evaluation *evaluation, const struct instruction *instruction,
                              struct operands *operands, struct error *err)
{
    return run_whole(custom_qr, evaluation, instruction, operands, err);
}

struct literal *custom_tpu_lu(struct evaluation *evaluation, const struct instruction *instruction,
                              struct operands *operands, struct error *err)
{
    return run_whole(custom_lu_expanded, evaluation, instruction, operands, err);
}

/* --- eigenvalues --- */

/* Element (i, j) of a matrix of m rows and columns in four blocks of k. */
struct corner {
    int block;
    int64_t offset;
};

static struct corner corner_of(int64_t k, int64_t i, int64_t j)
{
    return (struct corner){(i >= k ? 2 : 0) + (j >= k ? 1 : 0), i % k * k + j % k};
}

static struct literal *eigh_of_blocks(struct evaluation *evaluation,
                                      const struct instruction *instruction,
                                      struct literal *const *blocks, int64_t size, int64_t batch,
                                      struct error *err)
{
    const struct shape *block = blocks[0]->shape;
    int64_t k = block->dimensions[block->rank - 1];
    const struct shape *shape = shape_array(block->type, 2, (int64_t[]){size, size});
    struct literal *whole = literal_create(shape, err);
    if (whole == NULL) {
        return NULL;
    }
    for (int64_t i = 0; i < size * size; i++) {
        struct corner at = corner_of(k, i / size, i % size);
        int64_t from = batch * k * k + at.offset;
        literal_set_double(whole, i, literal_get_double(blocks[at.block], from));
        if (literal_is_unspecified(blocks[at.block], from)) {
            literal_mark_unspecified(whole, i);
        }
    }
    const struct shape *parts[] = {shape, shape_array(block->type, 1, &size)};
    struct inner_call call;
    inner_call_init(&call, instruction, OP_CUSTOM_CALL, shape_tuple(2, parts));
    inner_call_set(&call, *attr_get(instruction, ATTR_CUSTOM_CALL_TARGET));
    call.instruction.operand_count = 1;
    static const bool alive = false;
    struct operands operands = {.count = 1, .values = &whole, .dying = &alive};
    struct literal *result = custom_eigh_expanded(evaluation, &call.instruction, &operands, err);
    literal_release(whole);
    return result;
}

/* Is the last row or column of a matrix in four blocks more than zeros? */
static bool has_last(struct literal *const *blocks, int64_t k, int64_t batch)
{
    for (int64_t i = 0; i < 2 * k; i++) {
        struct corner row = corner_of(k, 2 * k - 1, i), column = corner_of(k, i, 2 * k - 1);
        int64_t base = batch * k * k;
        if (literal_get_double(blocks[row.block], base + row.offset) != 0 ||
            literal_get_double(blocks[column.block], base + column.offset) != 0) {
            return true;
        }
    }
    return false;
}

static void copy_element(const struct literal *from, int64_t i, struct literal *to, int64_t at)
{
    literal_set_double(to, at, literal_get_double(from, i));
    if (literal_is_unspecified(from, i)) {
        literal_mark_unspecified(to, at);
    }
}

struct literal *custom_tpu_eigh(struct evaluation *evaluation,
                                const struct instruction *instruction, struct operands *operands,
                                struct error *err)
{
    const struct shape *block =
        operands->count == 4 ? operands->values[0]->shape : instruction->shape;
    bool fits = shape_is_array(block) && block->rank >= 2 && type_is_float(block->type) &&
                block->dimensions[block->rank - 1] == block->dimensions[block->rank - 2] &&
                custom_call_result_count(instruction) == 6;
    for (int i = 0; fits && i < 6; i++) {
        const struct shape *shape = custom_call_result_shape(instruction, i);
        fits = i < 2 ? shape_is_array(shape) && shape->type == block->type &&
                           shape->rank == block->rank - 1 &&
                           memcmp(shape->dimensions, block->dimensions,
                                  (size_t)shape->rank * sizeof *shape->dimensions) == 0
                     : shape_compatible(shape, block) &&
                           shape_compatible(operands->values[i - 2]->shape, block);
    }
    if (!fits) {
        return custom_call_fail(instruction, err, "of what are no four blocks of a matrix");
    }
    struct literal *parts[6];
    bool ok = true;
    for (int i = 0; i < 6; i++) {
        parts[i] = literal_zero(custom_call_result_shape(instruction, i), err);
        ok &= parts[i] != NULL;
    }
    int64_t k = block->dimensions[block->rank - 1];
    int64_t batches = k > 0 ? shape_elements(block) / (k * k) : 0;
    for (int64_t batch = 0; ok && batch < batches; batch++) {
        int64_t size = has_last(operands->values, k, batch) ? 2 * k : 2 * k - 1;
        struct literal *one =
            eigh_of_blocks(evaluation, instruction, operands->values, size, batch, err);
        ok = one != NULL;
        for (int64_t i = 0; ok && i < size; i++) { /* vectors come as columns */
            copy_element(one->elements[1], i, parts[i / k], batch * k + i % k);
            for (int64_t j = 0; j < size; j++) {
                struct corner at = corner_of(k, i, j);
                copy_element(one->elements[0], j * size + i, parts[2 + at.block],
                             batch * k * k + at.offset);
            }
        }
        if (ok && size < 2 * k) {
            literal_set_double(parts[5], (batch + 1) * k * k - 1, 1);
        }
        literal_release(one);
    }
    if (ok) {
        return literal_tuple_take(instruction->shape, parts);
    }
    for (int i = 0; i < 6; i++) {
        literal_release(parts[i]);
    }
    return NULL;
}
