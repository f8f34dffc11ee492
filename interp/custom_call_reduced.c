/* Custom calls to LAPACK and the like: Hessenberg and tridiagonal forms, triangular and tridiagonal
 * systems. See custom_call_factor.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interp/custom_call_config.h"
#include "interp/custom_call_solver.h"

static bool begin_square(struct solver *solver, const struct instruction *instruction,
                         struct operands *operands, int64_t *n, struct error *err)
{
    if (!solver_begin_floats(solver, instruction, operands, err)) {
        return false;
    }
    *n = solver_size(solver, operands->values[0], 0);
    return solver_operand(solver, 0, solver->type, 2, *n, *n);
}

/* (a) → (H over reflectors, taus, info). */
struct literal *custom_hessenberg(struct evaluation *evaluation,
                                  const struct instruction *instruction, struct operands *operands,
                                  struct error *err)
{
    (void)evaluation;
    struct solver solver;
    int64_t n = 0;
    if (!begin_square(&solver, instruction, operands, &n, err)) {
        return solver_finish(&solver);
    }
    int64_t steps = n > 0 ? n - 1 : 0;
    int64_t low = ffi_attribute(instruction, "low", 1); /* from 1 */
    int64_t high = ffi_attribute(instruction, "high", n);
    if (low < 1 || high > n || (n > 0 && low > high)) {
        custom_call_fail(instruction, err, "low and high are out of range");
        solver.failed = true;
    }
    solver_result(&solver, 0, solver.type, 2, n, n);
    solver_result(&solver, 1, solver.type, 1, steps, 0);
    solver_result(&solver, 2, TYPE_S32, 0, 0, 0);
    struct dd_complex *tau = calloc((size_t)n + 1, sizeof *tau);
    double *certainty = malloc(((size_t)n + 1) * sizeof *certainty);
    solver.failed |= tau == NULL || certainty == NULL;
    for (int64_t batch = 0; !solver.failed && batch < solver.batches; batch++) {
        struct matrix a;
        solver.finite = true;
        if (!solver_load(&solver, operands->values[0], batch, true, &a)) {
            break;
        }
        memset(tau, 0, ((size_t)n + 1) * sizeof *tau);
        for (int64_t k = 0; k <= n; k++) {
            certainty[k] = INFINITY;
        }
        if (!solver.finite || solver.exponent != 0) {
            solver_open_all(&solver, batch);
        } else {
            factor_hessenberg(&a, low - 1, high, tau, certainty);
            solver_store(&solver, 0, batch, &a, 0);
            solver_store_entries(&solver, 1, batch, tau, steps, 0);
            for (int64_t k = 0; k < steps; k++) {
                if (!(certainty[k] > solver_doubt(&solver, n))) {
                    solver_open_from(&solver, 0, batch, k);
                    solver_open_from(&solver, 1, batch, k);
                    break;
                }
            }
        }
        matrix_finish(&a);
    }
    free(tau);
    free(certainty);
    return solver_finish(&solver);
}

/* (a) → (T over reflectors, diagonal, off-diagonal, taus, info). */
struct literal *custom_tridiagonal(struct evaluation *evaluation,
                                   const struct instruction *instruction, struct operands *operands,
                                   struct error *err)
{
    (void)evaluation;
    struct solver solver;
    int64_t n = 0;
    if (!begin_square(&solver, instruction, operands, &n, err)) {
        return solver_finish(&solver);
    }
    int64_t steps = n > 0 ? n - 1 : 0;
    bool lower = solver_is_lower(instruction);
    enum type real = type_part(solver.type);
    solver_result(&solver, 0, solver.type, 2, n, n);
    solver_result(&solver, 1, real, 1, n, 0);
    solver_result(&solver, 2, real, 1, steps, 0);
    solver_result(&solver, 3, solver.type, 1, steps, 0);
    solver_result(&solver, 4, TYPE_S32, 0, 0, 0);
    struct dd_complex *tau = calloc((size_t)n + 1, sizeof *tau);
    struct double_double *d = calloc(2 * (size_t)n + 2, sizeof *d);
    double *certainty = malloc(((size_t)n + 1) * sizeof *certainty);
    solver.failed |= tau == NULL || d == NULL || certainty == NULL;
    for (int64_t batch = 0; !solver.failed && batch < solver.batches; batch++) {
        struct matrix a;
        solver.finite = true;
        if (!solver_load(&solver, operands->values[0], batch, true, &a)) {
            break;
        }
        if (!solver.finite || solver.exponent != 0) {
            solver_open_all(&solver, batch);
        } else {
            struct double_double *e = d + n + 1;
            factor_tridiagonal(&a, lower, d, e, tau, certainty);
            solver_store(&solver, 0, batch, &a, 0);
            solver_store_reals(&solver, 1, batch, d, n, 0);
            solver_store_reals(&solver, 2, batch, e, steps, 0);
            solver_store_entries(&solver, 3, batch, tau, steps, 0);
            for (int64_t step = 0; step < steps; step++) {
                if (!(certainty[lower ? step : steps - 1 - step] > solver_doubt(&solver, n))) {
                    for (int part = 0; part < 4; part++) {
                        solver_open(&solver, part, batch, false);
                    }
                    break;
                }
            }
        }
        matrix_finish(&a);
    }
    free(tau);
    free(d);
    free(certainty);
    return solver_finish(&solver);
}

/* --- systems --- */

static struct literal *solve(struct evaluation *evaluation, const struct instruction *instruction,
                             struct operands *operands, bool left, bool lower, bool unit,
                             int64_t transpose, struct error *err)
{
    const struct shape *shape = custom_call_result_shape(instruction, 0);
    int rank = operands->count >= 2 && shape_is_array(operands->values[0]->shape)
                   ? operands->values[0]->shape->rank
                   : 0;
    bool fits = rank >= 2 && custom_call_operand_is(operands, 1, TYPE_INVALID, rank) &&
                shape_compatible(shape, operands->values[1]->shape) &&
                operands->values[0]->shape->type == operands->values[1]->shape->type;
    const int64_t *a = fits ? operands->values[0]->shape->dimensions : NULL;
    const int64_t *b = fits ? operands->values[1]->shape->dimensions : NULL;
    for (int d = 0; fits && d < rank - 2; d++) {
        fits = a[d] == b[d];
    }
    if (!fits || a[rank - 1] != a[rank - 2] || a[rank - 1] != b[left ? rank - 2 : rank - 1]) {
        return custom_call_fail(instruction, err, "operands that do not fit");
    }
    struct inner_call call;
    inner_call_init(&call, instruction, OP_TRIANGULAR_SOLVE, shape);
    inner_call_set(&call, (struct attr){.key = ATTR_LEFT_SIDE, .integer = left});
    inner_call_set(&call, (struct attr){.key = ATTR_LOWER, .integer = lower});
    inner_call_set(&call, (struct attr){.key = ATTR_UNIT_DIAGONAL, .integer = unit});
    inner_call_set(&call, (struct attr){.key = ATTR_TRANSPOSE_A, .integer = transpose});
    struct literal *part = inner_call_run(&call, evaluation, operands->values, 2, err);
    return part == NULL ? NULL : custom_call_result_take(instruction, &part, 1, err);
}

/* (a, b) with side, uplo, trans_x and diag as LAPACK's letters. */
struct literal *custom_solve(struct evaluation *evaluation, const struct instruction *instruction,
                             struct operands *operands, struct error *err)
{
    int64_t trans = ffi_attribute(instruction, "trans_x", 'N');
    int64_t transpose = trans == 'N'   ? TRANSPOSE_NO
                        : trans == 'T' ? TRANSPOSE_YES
                        : trans == 'C' ? TRANSPOSE_ADJOINT
                                       : TRANSPOSE_INVALID;
    int64_t side = ffi_attribute(instruction, "side", 'L');
    int64_t uplo = ffi_attribute(instruction, "uplo", 'L');
    int64_t diag = ffi_attribute(instruction, "diag", 'N');
    if (transpose == TRANSPOSE_INVALID || (side != 'L' && side != 'R') ||
        (uplo != 'L' && uplo != 'U') || (diag != 'N' && diag != 'U')) {
        return custom_call_fail(instruction, err, "unknown letters in its attributes");
    }
    return solve(evaluation, instruction, operands, side == 'L', uplo == 'L', diag == 'U',
                 transpose, err);
}

/* cuBLAS: (a, b) → (x, workspace), with TriangularSolveOptions as JSON. */
struct literal *custom_solve_json(struct evaluation *evaluation,
                                  const struct instruction *instruction, struct operands *operands,
                                  struct error *err)
{
    static const char *const transposes[] = {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE",
                                             "ADJOINT"};
    struct config config;
    config_read(&config, instruction, err);
    bool left = config_bool(&config, "left_side", false, err);
    bool lower = config_bool(&config, "lower", false, err);
    bool unit = config_bool(&config, "unit_diagonal", false, err);
    int transpose = config_word(&config, "transpose_a", transposes, 4, TRANSPOSE_NO, err);
    bool failed = config.failed;
    config_finish(&config);
    return failed ? NULL
                  : solve(evaluation, instruction, operands, left, lower, unit,
                          transpose == TRANSPOSE_INVALID ? TRANSPOSE_NO : transpose, err);
}

/* (dl, d, du, b) → (dl, d, du overwritten by factors, x, info), or x alone. */
static struct literal *tridiagonal_solve(const struct instruction *instruction,
                                         struct operands *operands, bool factors, struct error *err)
{
    struct solver solver;
    if (!solver_begin(&solver, instruction, operands, 1, err)) {
        return solver_finish(&solver);
    }
    int64_t n = solver_size(&solver, operands->values[0], 0);
    int x = factors ? 3 : 0;
    for (int i = 0; i < 3; i++) {
        solver_operand(&solver, i, solver.type, 1, n, 0);
        if (factors) {
            solver_result(&solver, i, solver.type, 1, n, 0);
        }
    }
    solver_operand(&solver, 3, solver.type, 2, n, -1);
    int64_t columns = solver.failed ? 0 : solver_size(&solver, operands->values[3], 1);
    solver_result(&solver, x, solver.type, 2, n, columns);
    if (factors) {
        solver_result(&solver, 4, TYPE_S32, 0, 0, 0);
    }
    if (!solver.failed && !type_is_float(type_part(solver.type))) {
        custom_call_fail(instruction, err, "systems of %s", type_text(solver.type));
        solver.failed = true;
    }
    for (int64_t batch = 0; !solver.failed && batch < solver.batches; batch++) {
        struct matrix m[4] = {{0}};
        bool loaded = true;
        solver.finite = true;
        for (int i = 0; i < 4 && loaded; i++) {
            loaded = solver_load(&solver, operands->values[i], batch, false, &m[i]);
        }
        if (loaded && !solver.finite) {
            solver_open_all(&solver, batch);
        } else if (loaded) {
            int64_t info =
                factor_tridiagonal_solve(n, solver.complex, m[0].at, m[1].at, m[2].at, &m[3]);
            solver_store(&solver, x, batch, &m[3], 0);
            for (int i = 0; factors && i < 3; i++) {
                solver_store(&solver, i, batch, &m[i], 0);
            }
            if (factors) {
                solver_store_integer(&solver, 4, batch, 0, info);
                /* What is no entry of the factors. */
                solver_open_entries(&solver, 0, batch, 0, n > 0);
                solver_open_entries(&solver, 0, batch, n > 1 ? n - 1 : 0, n > 1);
                solver_open_entries(&solver, 2, batch, n > 0 ? n - 1 : 0, n > 0);
            }
            if (info != 0) {
                solver_open(&solver, x, batch, true);
            }
        }
        for (int i = 0; i < 4; i++) {
            matrix_finish(&m[i]);
        }
    }
    return solver_finish(&solver);
}

struct literal *custom_tridiagonal_solve(struct evaluation *evaluation,
                                         const struct instruction *instruction,
                                         struct operands *operands, struct error *err)
{
    (void)evaluation;
    return tridiagonal_solve(instruction, operands, true, err);
}

struct literal *custom_tridiagonal_solve_alone(struct evaluation *evaluation,
                                               const struct instruction *instruction,
                                               struct operands *operands, struct error *err)
{
    (void)evaluation;
    return tridiagonal_solve(instruction, operands, false, err);
}
