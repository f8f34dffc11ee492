/* Between literals and the factorizations of factor.h: batches, scaling, rounding, what is left
 * open. */
#include "interp/custom_call_solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/floats.h"
#include "interp/custom_call_config.h"

static int64_t batches_of(const struct shape *shape, int batch_rank)
{
    int64_t batches = 1;
    for (int d = 0; d < batch_rank; d++) {
        batches *= shape->dimensions[d];
    }
    return batches;
}

bool solver_begin(struct solver *solver, const struct instruction *instruction,
                  const struct operands *operands, int tail_rank, struct error *err)
{
    *solver = (struct solver){.instruction = instruction, .operands = operands, .err = err};
    if (!custom_call_operand_is(operands, 0, TYPE_INVALID, -1) ||
        operands->values[0]->shape->rank < tail_rank ||
        shape_is_dynamic(operands->values[0]->shape)) {
        custom_call_fail(instruction, err, "operand 0 is no array of rank %d or more", tail_rank);
        solver->failed = true;
        return false;
    }
    const struct shape *shape = operands->values[0]->shape;
    solver->type = shape->type;
    solver->complex = type_is_complex(shape->type);
    solver->batch_rank = shape->rank - tail_rank;
    solver->batches = batches_of(shape, solver->batch_rank);
    enum type part = type_part(shape->type);
    if (type_is_float(part)) {
        solver->epsilon = ldexp(1, -1 - float_formats[part].mantissa_bits);
    }
    return true;
}

static bool fits(const struct solver *solver, const struct shape *shape, enum type type,
                 int tail_rank, int64_t first, int64_t second)
{
    const struct shape *main = solver->operands->values[0]->shape;
    int64_t tail[2] = {first, second};
    bool ok = shape != NULL && shape_is_array(shape) && shape->type == type &&
              shape->rank == solver->batch_rank + tail_rank && !shape_is_dynamic(shape);
    for (int d = 0; ok && d < solver->batch_rank; d++) {
        ok = shape->dimensions[d] == main->dimensions[d];
    }
    for (int d = 0; ok && d < tail_rank; d++) {
        ok = tail[d] < 0 || shape->dimensions[solver->batch_rank + d] == tail[d];
    }
    return ok;
}

bool solver_begin_floats(struct solver *solver, const struct instruction *instruction,
                         const struct operands *operands, struct error *err)
{
    if (solver_begin(solver, instruction, operands, 2, err) &&
        !type_is_float(type_part(solver->type))) {
        custom_call_fail(instruction, err, "matrices of %s", type_text(solver->type));
        solver->failed = true;
    }
    return !solver->failed;
}

double solver_doubt(const struct solver *solver, int64_t n)
{
    return 64 * (double)(n < 4 ? 4 : n) * solver->epsilon;
}

bool solver_operand(struct solver *solver, int i, enum type type, int tail_rank, int64_t first,
                    int64_t second)
{
    if (solver->failed) {
        return false;
    }
    if (!custom_call_operand_is(solver->operands, i, TYPE_INVALID, -1) ||
        !fits(solver, solver->operands->values[i]->shape, type, tail_rank, first, second)) {
        custom_call_fail(solver->instruction, solver->err, "operand %d is missing or does not fit",
                         i);
        solver->failed = true;
        return false;
    }
    return true;
}

bool solver_result(struct solver *solver, int part, enum type type, int tail_rank, int64_t first,
                   int64_t second)
{
    if (solver->failed) {
        return false;
    }
    const struct shape *shape = custom_call_result_shape(solver->instruction, part);
    if (!fits(solver, shape, type, tail_rank, first, second)) {
        custom_call_fail(solver->instruction, solver->err, "result %d is missing or does not fit",
                         part);
        solver->failed = true;
        return false;
    }
    solver->parts[part] = literal_zero(shape, solver->err);
    solver->part_count = part + 1 > solver->part_count ? part + 1 : solver->part_count;
    solver->failed = solver->parts[part] == NULL;
    return !solver->failed;
}

int64_t solver_size(const struct solver *solver, const struct literal *literal, int i)
{
    return literal->shape->dimensions[solver->batch_rank + i];
}

struct literal *solver_finish(struct solver *solver)
{
    if (!solver->failed) {
        for (int i = 0; i < solver->operands->count && !solver->failed; i++) {
            for (int p = 0; p < solver->part_count && !solver->failed; p++) {
                if (literal_has_unspecified(solver->operands->values[i]) &&
                    solver->parts[p] != NULL) {
                    solver->failed = !literal_mark_all_unspecified(solver->parts[p], solver->err);
                }
            }
        }
    }
    if (!solver->failed) {
        return custom_call_result_take(solver->instruction, solver->parts, solver->part_count,
                                       solver->err);
    }
    for (int p = 0; p < solver->part_count; p++) {
        literal_release(solver->parts[p]);
    }
    if (solver->err->code == ERROR_NONE) {
        error_set(solver->err, ERROR_RESOURCE_EXHAUSTED, "no memory for a factorization");
    }
    return NULL;
}

/* --- reading --- */

static void read_entry(const struct solver *solver, const struct literal *from, int64_t index,
                       double value[2])
{
    value[0] = literal_get_double(from, index);
    value[1] = solver->complex ? literal_get_imaginary(from, index) : 0;
}

bool solver_load(struct solver *solver, const struct literal *from, int64_t batch, bool scale,
                 struct matrix *matrix)
{
    int tail = from->shape->rank - solver->batch_rank;
    int64_t rows = tail > 0 ? solver_size(solver, from, 0) : 1;
    int64_t columns = tail > 1 ? solver_size(solver, from, 1) : 1;
    *matrix = matrix_make(rows, columns, type_is_complex(from->shape->type));
    if (matrix->at == NULL) {
        solver->failed = true;
        return false;
    }
    double most = 0;
    for (int64_t i = 0; i < rows * columns; i++) {
        double value[2];
        read_entry(solver, from, batch * rows * columns + i, value);
        for (int part = 0; part < 2; part++) {
            solver->finite &= isfinite(value[part]) != 0;
            most = fabs(value[part]) > most ? fabs(value[part]) : most;
        }
    }
    if (scale) {
        /* An even exponent, so that square roots scale too; none where it is not needed. */
        solver->exponent = most > 0 && isfinite(most) ? ilogb(most) / 2 * 2 : 0;
        solver->exponent = llabs((long long)solver->exponent) < 200 ? 0 : solver->exponent;
    }
    for (int64_t i = 0; i < rows * columns; i++) {
        double value[2];
        read_entry(solver, from, batch * rows * columns + i, value);
        int down = -(int)solver->exponent;
        matrix->at[i].re = dd_from(down == 0 ? value[0] : ldexp(value[0], down));
        matrix->at[i].im = dd_from(down == 0 ? value[1] : ldexp(value[1], down));
    }
    return true;
}

/* --- writing --- */

static double round_part(enum type type, struct double_double value, int64_t exponent)
{
    if (exponent != 0) {
        value.high = ldexp(value.high, (int)exponent);
        value.low = ldexp(value.low, (int)exponent);
        if (!isfinite(value.high)) {
            value.low = 0;
        }
    }
    return dd_round(type, value);
}

void solver_store_entries(struct solver *solver, int part, int64_t batch,
                          const struct dd_complex *values, int64_t count, int64_t exponent)
{
    struct literal *to = solver->parts[part];
    enum type type = type_part(to->shape->type);
    for (int64_t i = 0; i < count; i++) {
        double re = round_part(type, values[i].re, exponent);
        if (type_is_complex(to->shape->type)) {
            literal_set_complex(to, batch * count + i, re,
                                round_part(type, values[i].im, exponent));
        } else {
            literal_set_double(to, batch * count + i, re);
        }
    }
}

void solver_store(struct solver *solver, int part, int64_t batch, const struct matrix *matrix,
                  int64_t exponent)
{
    solver_store_entries(solver, part, batch, matrix->at, matrix->rows * matrix->columns, exponent);
}

void solver_store_reals(struct solver *solver, int part, int64_t batch,
                        const struct double_double *values, int64_t count, int64_t exponent)
{
    for (int64_t i = 0; i < count; i++) {
        enum type type = solver->parts[part]->shape->type;
        literal_set_double(solver->parts[part], batch * count + i,
                           round_part(type, values[i], exponent));
    }
}

static int64_t part_size(const struct solver *solver, int part)
{
    return solver->batches == 0 ? 0 : literal_elements(solver->parts[part]) / solver->batches;
}

void solver_store_integer(struct solver *solver, int part, int64_t batch, int64_t index,
                          int64_t value)
{
    literal_set_int(solver->parts[part], batch * part_size(solver, part) + index, value);
}

/* --- what is open --- */

void solver_open_entries(struct solver *solver, int part, int64_t batch, int64_t first,
                         int64_t count)
{
    int64_t base = batch * part_size(solver, part) + first;
    for (int64_t i = base; i < base + count; i++) {
        literal_mark_unspecified(solver->parts[part], i);
    }
}

void solver_open(struct solver *solver, int part, int64_t batch, bool not_a_number)
{
    struct literal *to = solver->parts[part];
    int64_t count = part_size(solver, part);
    for (int64_t i = batch * count; not_a_number && i < (batch + 1) * count; i++) {
        if (type_is_complex(to->shape->type)) {
            literal_set_complex(to, i, NAN, NAN);
        } else if (type_is_float(to->shape->type)) {
            literal_set_double(to, i, NAN);
        }
    }
    solver_open_entries(solver, part, batch, 0, count);
}

void solver_open_from(struct solver *solver, int part, int64_t batch, int64_t k)
{
    const struct literal *to = solver->parts[part];
    int tail = to->shape->rank - solver->batch_rank;
    if (tail < 2) {
        int64_t count = part_size(solver, part);
        if (k < count) {
            solver_open_entries(solver, part, batch, k, count - k);
        }
        return;
    }
    int64_t rows = solver_size(solver, to, 0), columns = solver_size(solver, to, 1);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            if (i >= k || j >= k) {
                solver_open_entries(solver, part, batch, i * columns + j, 1);
            }
        }
    }
}

void solver_open_all(struct solver *solver, int64_t batch)
{
    for (int p = 0; p < solver->part_count; p++) {
        if (solver->parts[p] != NULL) {
            solver_open(solver, p, batch, true);
        }
    }
}

bool solver_is_lower(const struct instruction *instruction)
{
    int64_t uplo = ffi_attribute(instruction, "uplo", 0);
    return uplo != 0 ? uplo == 'L' : ffi_attribute(instruction, "lower", 1) != 0;
}
