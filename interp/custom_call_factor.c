/* Custom calls to LAPACK, cuSOLVER and their like whose results are unique: LU, Cholesky, QR and
 * the reduced forms by reflectors, products with Q, triangular and tridiagonal systems.
 *
 * All is computed in double-double and rounded once (factor.h). Where an implementation's own
 * rounding decides a pivot or a sign (a tie, a column that vanishes up to its precision), what
 * depends on that is unspecified. Non-finite input makes NaN, unspecified.
 * Sources: jax/_src/lax/linalg.py (operands, results and attributes of each target), the LAPACK
 * Users' Guide; XLA's expanders (xla/hlo/transforms/expanders/qr_expander.cc, cholesky_expander.cc)
 * for Qr and ProductOfElementaryHouseholderReflectors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interp/custom_call_config.h"
#include "interp/custom_call_solver.h"

/* × 2^exponent */
static void scale_entry(struct dd_complex *entry, int exponent)
{
    entry->re =
        (struct double_double){ldexp(entry->re.high, exponent), ldexp(entry->re.low, exponent)};
    entry->im =
        (struct double_double){ldexp(entry->im.high, exponent), ldexp(entry->im.low, exponent)};
}

/* --- LU --- */

/* (a) → (LU, pivots from 1, info); LuDecomposition: (LU, pivots from 0, permutation). */
static struct literal *lu(const struct instruction *instruction, struct operands *operands,
                          bool expanded, struct error *err)
{
    struct solver solver;
    if (!solver_begin_floats(&solver, instruction, operands, err)) {
        return solver_finish(&solver);
    }
    int64_t m = solver_size(&solver, operands->values[0], 0);
    int64_t n = solver_size(&solver, operands->values[0], 1), k = m < n ? m : n;
    solver_result(&solver, 0, solver.type, 2, m, n);
    solver_result(&solver, 1, TYPE_S32, 1, k, 0);
    solver_result(&solver, 2, TYPE_S32, expanded ? 1 : 0, m, 0);
    int64_t *pivots = calloc((size_t)m + (size_t)k + 1, sizeof *pivots);
    solver.failed |= pivots == NULL;
    for (int64_t batch = 0; !solver.failed && batch < solver.batches; batch++) {
        struct matrix a;
        double gap;
        solver.finite = true;
        if (!solver_load(&solver, operands->values[0], batch, true, &a)) {
            break;
        }
        if (!solver.finite) {
            solver_open_all(&solver, batch);
            matrix_finish(&a);
            continue;
        }
        int64_t info = factor_lu(&a, pivots, &gap);
        for (int64_t i = 0; i < k; i++) { /* L has no scale */
            for (int64_t r = i + 1; r < m; r++) {
                scale_entry(matrix_entry(&a, r, i), -(int)solver.exponent);
            }
        }
        solver_store(&solver, 0, batch, &a, solver.exponent);
        int64_t *order = pivots + k;
        for (int64_t i = 0; i < m; i++) {
            order[i] = i;
        }
        for (int64_t i = 0; i < k; i++) {
            solver_store_integer(&solver, 1, batch, i, pivots[i] + !expanded);
            int64_t swap = order[i];
            order[i] = order[pivots[i]];
            order[pivots[i]] = swap;
        }
        for (int64_t i = 0; expanded && i < m; i++) {
            solver_store_integer(&solver, 2, batch, i, order[i]);
        }
        if (!expanded) {
            solver_store_integer(&solver, 2, batch, 0, info);
        }
        if (gap < solver_doubt(&solver, n)) {
            for (int part = 0; part < 3; part++) {
                solver_open(&solver, part, batch, false);
            }
        }
        matrix_finish(&a);
    }
    free(pivots);
    return solver_finish(&solver);
}

struct literal *custom_lu(struct evaluation *evaluation, const struct instruction *instruction,
                          struct operands *operands, struct error *err)
{
    (void)evaluation;
    return lu(instruction, operands, false, err);
}

struct literal *custom_lu_expanded(struct evaluation *evaluation,
                                   const struct instruction *instruction, struct operands *operands,
                                   struct error *err)
{
    (void)evaluation;
    return lu(instruction, operands, true, err);
}

/* Pivots (from 0) → the permutation of the rows that they come to. */
struct literal *custom_pivots_to_permutation(struct evaluation *evaluation,
                                             const struct instruction *instruction,
                                             struct operands *operands, struct error *err)
{
    (void)evaluation;
    struct solver solver;
    if (!solver_begin(&solver, instruction, operands, 1, err)) {
        return solver_finish(&solver);
    }
    int64_t k = solver_size(&solver, operands->values[0], 0);
    solver_operand(&solver, 0, TYPE_S32, 1, k, 0);
    solver_result(&solver, 0, TYPE_S32, 1, -1, 0);
    int64_t n = solver.failed ? 0 : solver_size(&solver, solver.parts[0], 0);
    if (!solver.failed && n < k) {
        custom_call_fail(instruction, err, "fewer rows than pivots");
        solver.failed = true;
    }
    for (int64_t batch = 0; !solver.failed && batch < solver.batches; batch++) {
        for (int64_t i = 0; i < n; i++) {
            solver_store_integer(&solver, 0, batch, i, i);
        }
        for (int64_t i = 0; i < k; i++) {
            int64_t pivot = literal_get_int(operands->values[0], batch * k + i);
            if (pivot < 0 || pivot >= n) {
                solver_open(&solver, 0, batch, false);
                break;
            }
            int64_t swap = literal_get_int(solver.parts[0], batch * n + i);
            solver_store_integer(&solver, 0, batch, i,
                                 literal_get_int(solver.parts[0], batch * n + pivot));
            solver_store_integer(&solver, 0, batch, pivot, swap);
        }
    }
    return solver_finish(&solver);
}

/* --- Cholesky --- */

/* (a) → (factor in the triangle asked for, beside a's other one; info). */
struct literal *custom_cholesky(struct evaluation *evaluation,
                                const struct instruction *instruction, struct operands *operands,
                                struct error *err)
{
    (void)evaluation;
    struct solver solver;
    if (!solver_begin_floats(&solver, instruction, operands, err)) {
        return solver_finish(&solver);
    }
    int64_t n = solver_size(&solver, operands->values[0], 0);
    solver_operand(&solver, 0, solver.type, 2, n, n);
    solver_result(&solver, 0, solver.type, 2, n, n);
    solver_result(&solver, 1, TYPE_S32, 0, 0, 0);
    bool lower = solver_is_lower(instruction);
    for (int64_t batch = 0; !solver.failed && batch < solver.batches; batch++) {
        struct matrix a, old;
        double smallest;
        solver.finite = true;
        if (!solver_load(&solver, operands->values[0], batch, true, &a)) {
            break;
        }
        int64_t exponent = solver.exponent;
        if (!solver.finite) {
            solver_open_all(&solver, batch);
            matrix_finish(&a);
            continue;
        }
        int64_t info = factor_cholesky(&a, lower, &smallest);
        solver_store(&solver, 0, batch, &a, exponent / 2);
        solver.exponent = 0;
        if (solver_load(&solver, operands->values[0], batch, false, &old)) {
            for (int64_t i = 0; i < n; i++) {
                for (int64_t j = 0; j < n; j++) {
                    if (i != j && (i > j) != lower) {
                        struct dd_complex value = *matrix_entry(&old, i, j);
                        int64_t at = batch * n * n + i * n + j;
                        if (solver.complex) {
                            literal_set_complex(solver.parts[0], at, value.re.high, value.im.high);
                        } else {
                            literal_set_double(solver.parts[0], at, value.re.high);
                        }
                    }
                }
            }
            matrix_finish(&old);
        }
        solver_store_integer(&solver, 1, batch, 0, info);
        if (info != 0) {
            solver_open(&solver, 0, batch, true);
        }
        if (fabs(smallest) < solver_doubt(&solver, n)) {
            solver_open(&solver, 0, batch, false);
            solver_open(&solver, 1, batch, false);
        }
        matrix_finish(&a);
    }
    return solver_finish(&solver);
}

/* (R, w) → (R', w spent): the upper factor of RᴴR + w wᴴ. */
struct literal *custom_cholesky_update(struct evaluation *evaluation,
                                       const struct instruction *instruction,
                                       struct operands *operands, struct error *err)
{
    (void)evaluation;
    struct solver solver;
    if (!solver_begin_floats(&solver, instruction, operands, err)) {
        return solver_finish(&solver);
    }
    int64_t n = solver_size(&solver, operands->values[0], 0);
    solver_operand(&solver, 0, solver.type, 2, n, n);
    solver_operand(&solver, 1, solver.type, 1, n, 0);
    solver_result(&solver, 0, solver.type, 2, n, n);
    for (int64_t batch = 0; !solver.failed && batch < solver.batches; batch++) {
        struct matrix r = {0}, w = {0};
        solver.finite = true;
        if (solver_load(&solver, operands->values[0], batch, true, &r) &&
            solver_load(&solver, operands->values[1], batch, false, &w)) {
            factor_cholesky_update(&r, w.at);
            for (int64_t i = 0; i < n; i++) {
                for (int64_t j = 0; j < i; j++) {
                    *matrix_entry(&r, i, j) = (struct dd_complex){0};
                }
            }
            solver_store(&solver, 0, batch, &r, solver.exponent);
            if (!solver.finite) {
                solver_open_all(&solver, batch);
            }
        }
        matrix_finish(&r);
        matrix_finish(&w);
    }
    return solver_finish(&solver);
}

/* --- QR --- */

/* Leaves open what depends on the reflectors whose sign is in doubt: rows and columns from the
 * first such step on. */
static void open_doubtful(struct solver *solver, int64_t batch, const double *certainty,
                          int64_t steps, int64_t n, const int *parts, int part_count)
{
    for (int64_t k = 0; k < steps; k++) {
        if (!(certainty[k] > solver_doubt(solver, n))) {
            for (int i = 0; i < part_count; i++) {
                solver_open_from(solver, parts[i], batch, k);
            }
            return;
        }
    }
}

/* (a) → (R over reflectors, taus). */
struct literal *custom_qr(struct evaluation *evaluation, const struct instruction *instruction,
                          struct operands *operands, struct error *err)
{
    (void)evaluation;
    struct solver solver;
    if (!solver_begin_floats(&solver, instruction, operands, err)) {
        return solver_finish(&solver);
    }
    int64_t m = solver_size(&solver, operands->values[0], 0);
    int64_t n = solver_size(&solver, operands->values[0], 1), k = m < n ? m : n;
    solver_result(&solver, 0, solver.type, 2, m, n);
    solver_result(&solver, 1, solver.type, 1, k, 0);
    struct dd_complex *tau = calloc((size_t)k + 1, sizeof *tau);
    double *certainty = calloc((size_t)k + 1, sizeof *certainty);
    solver.failed |= tau == NULL || certainty == NULL;
    for (int64_t batch = 0; !solver.failed && batch < solver.batches; batch++) {
        struct matrix a;
        solver.finite = true;
        if (!solver_load(&solver, operands->values[0], batch, true, &a)) {
            break;
        }
        if (!solver.finite) {
            solver_open_all(&solver, batch);
        } else {
            int64_t exponent = solver.exponent;
            factor_qr(&a, tau, certainty);
            for (int64_t i = 0; exponent != 0 && i < m; i++) { /* reflectors have no scale */
                for (int64_t j = 0; j < i && j < n; j++) {
                    scale_entry(matrix_entry(&a, i, j), -(int)exponent);
                }
            }
            solver_store(&solver, 0, batch, &a, exponent);
            solver_store_entries(&solver, 1, batch, tau, k, 0);
            open_doubtful(&solver, batch, certainty, k, m > n ? m : n, (const int[]){0, 1}, 2);
        }
        matrix_finish(&a);
    }
    free(tau);
    free(certainty);
    return solver_finish(&solver);
}

/* (a, jpvt) → (R over reflectors, jpvt from 1, taus). */
struct literal *custom_qr_pivoted(struct evaluation *evaluation,
                                  const struct instruction *instruction, struct operands *operands,
                                  struct error *err)
{
    (void)evaluation;
    struct solver solver;
    if (!solver_begin_floats(&solver, instruction, operands, err)) {
        return solver_finish(&solver);
    }
    int64_t m = solver_size(&solver, operands->values[0], 0);
    int64_t n = solver_size(&solver, operands->values[0], 1), k = m < n ? m : n;
    solver_operand(&solver, 1, TYPE_S32, 1, n, 0);
    solver_result(&solver, 0, solver.type, 2, m, n);
    solver_result(&solver, 1, TYPE_S32, 1, n, 0);
    solver_result(&solver, 2, solver.type, 1, k, 0);
    struct dd_complex *tau = calloc((size_t)k + 1, sizeof *tau);
    double *certainty = calloc((size_t)k + 1, sizeof *certainty);
    int64_t *order = calloc((size_t)n + 1, sizeof *order);
    solver.failed |= tau == NULL || certainty == NULL || order == NULL;
    for (int64_t batch = 0; !solver.failed && batch < solver.batches; batch++) {
        struct matrix a;
        solver.finite = true;
        if (!solver_load(&solver, operands->values[0], batch, true, &a)) {
            break;
        }
        for (int64_t j = 0; j < n; j++) {
            order[j] = literal_get_int(operands->values[1], batch * n + j) != 0 ? 0 : -1;
        }
        if (!solver.finite || solver.exponent != 0) {
            solver_open_all(&solver, batch);
        } else if (factor_qr_pivoted(&a, order, tau, certainty)) {
            solver_store(&solver, 0, batch, &a, 0);
            solver_store_entries(&solver, 2, batch, tau, k, 0);
            for (int64_t j = 0; j < n; j++) {
                solver_store_integer(&solver, 1, batch, j, order[j] + 1);
            }
            open_doubtful(&solver, batch, certainty, k, m > n ? m : n, (const int[]){0, 1, 2}, 3);
        } else {
            solver.failed = true;
        }
        matrix_finish(&a);
    }
    free(tau);
    free(certainty);
    free(order);
    return solver_finish(&solver);
}

/* (a, taus) → the first columns of Q. */
struct literal *custom_q_form(struct evaluation *evaluation, const struct instruction *instruction,
                              struct operands *operands, struct error *err)
{
    (void)evaluation;
    struct solver solver;
    if (!solver_begin_floats(&solver, instruction, operands, err)) {
        return solver_finish(&solver);
    }
    int64_t m = solver_size(&solver, operands->values[0], 0);
    int64_t n = solver_size(&solver, operands->values[0], 1);
    solver_operand(&solver, 1, solver.type, 1, -1, 0);
    solver_result(&solver, 0, solver.type, 2, m, n);
    int64_t k = solver.failed ? 0 : solver_size(&solver, operands->values[1], 0);
    if (!solver.failed && (n > m || k > n)) {
        custom_call_fail(instruction, err, "%lld reflectors, %lld columns of %lld rows",
                         (long long)k, (long long)n, (long long)m);
        solver.failed = true;
    }
    for (int64_t batch = 0; !solver.failed && batch < solver.batches; batch++) {
        struct matrix a = {0}, tau = {0};
        solver.finite = true;
        if (solver_load(&solver, operands->values[0], batch, false, &a) &&
            solver_load(&solver, operands->values[1], batch, false, &tau)) {
            factor_q_form(&a, tau.at, k);
            solver_store(&solver, 0, batch, &a, 0);
            if (!solver.finite) {
                solver_open_all(&solver, batch);
            }
        }
        matrix_finish(&a);
        matrix_finish(&tau);
    }
    return solver_finish(&solver);
}

/* (a, taus, c) → Q c, Qᴴ c, c Q or c Qᴴ. */
struct literal *custom_q_apply(struct evaluation *evaluation, const struct instruction *instruction,
                               struct operands *operands, struct error *err)
{
    (void)evaluation;
    struct solver solver;
    if (!solver_begin_floats(&solver, instruction, operands, err)) {
        return solver_finish(&solver);
    }
    bool left = ffi_attribute(instruction, "left", 1) != 0;
    bool adjoint = ffi_attribute(instruction, "transpose", 0) != 0;
    int64_t r = solver_size(&solver, operands->values[0], 0);
    int64_t columns = solver_size(&solver, operands->values[0], 1);
    solver_operand(&solver, 1, solver.type, 1, -1, 0);
    solver_operand(&solver, 2, solver.type, 2, left ? r : -1, left ? -1 : r);
    int64_t k = solver.failed ? 0 : solver_size(&solver, operands->values[1], 0);
    if (!solver.failed) {
        const struct literal *c = operands->values[2];
        solver_result(&solver, 0, solver.type, 2, solver_size(&solver, c, 0),
                      solver_size(&solver, c, 1));
    }
    if (!solver.failed && (k > columns || k > r)) {
        custom_call_fail(instruction, err, "more reflectors than columns");
        solver.failed = true;
    }
    for (int64_t batch = 0; !solver.failed && batch < solver.batches; batch++) {
        struct matrix a = {0}, tau = {0}, c = {0};
        solver.finite = true;
        if (solver_load(&solver, operands->values[2], batch, true, &c)) {
            int64_t exponent = solver.exponent;
            solver.exponent = 0;
            if (solver_load(&solver, operands->values[0], batch, false, &a) &&
                solver_load(&solver, operands->values[1], batch, false, &tau)) {
                factor_q_apply(&a, tau.at, k, left, adjoint, &c);
                solver_store(&solver, 0, batch, &c, exponent);
                if (!solver.finite) {
                    solver_open_all(&solver, batch);
                }
            }
        }
        matrix_finish(&a);
        matrix_finish(&tau);
        matrix_finish(&c);
    }
    return solver_finish(&solver);
}
