/* Orthogonal factorizations by reflectors: QR, Hessenberg and tridiagonal forms. Reflectors are
 * H = I − τ v vᴴ with v = 1 at its first entry, which is not stored. */
#include <stdlib.h>
#include <string.h>

#include "interp/factor_internal.h"

/* Rows [row, rows) and columns [column, columns) of *a := (I − tau v vᴴ) times themselves. v has an
 * implied 1 in front of tail (step tail_step). `work` holds a row. */
static void reflect_left(struct matrix *a, int64_t row, int64_t column, struct dd_complex tau,
                         const struct dd_complex *tail, int64_t tail_step, struct dd_complex *work)
{
    int64_t count = a->columns - column;
    if (c_is_zero(tau) || count <= 0) {
        return;
    }
    memcpy(work, matrix_entry(a, row, column), (size_t)count * sizeof *work);
    for (int64_t i = row + 1; i < a->rows; i++) {
        vector_add(a->complex, c_conjugate(tail[(i - row - 1) * tail_step]),
                   matrix_entry(a, i, column), 1, work, 1, count);
    }
    struct dd_complex minus = c_negate(tau);
    vector_add(a->complex, minus, work, 1, matrix_entry(a, row, column), 1, count);
    for (int64_t i = row + 1; i < a->rows; i++) {
        vector_add(a->complex, c_multiply(minus, tail[(i - row - 1) * tail_step]), work, 1,
                   matrix_entry(a, i, column), 1, count);
    }
}

/* Rows [0, rows) of columns [column, column + size) of *a := themselves times (I − tau v vᴴ). */
static void reflect_right(struct matrix *a, int64_t rows, int64_t column, int64_t size,
                          struct dd_complex tau, const struct dd_complex *tail, int64_t tail_step)
{
    if (c_is_zero(tau) || size <= 0) {
        return;
    }
    for (int64_t i = 0; i < rows; i++) {
        struct dd_complex *at = matrix_entry(a, i, column);
        struct dd_complex sum = at[0];
        for (int64_t k = 1; k < size; k++) {
            struct dd_complex v = tail[(k - 1) * tail_step];
            sum = c_add(sum, a->complex ? c_multiply(at[k], v) : c_scale(at[k], v.re));
        }
        sum = c_negate(c_multiply(sum, tau));
        at[0] = c_add(at[0], sum);
        for (int64_t k = 1; k < size; k++) {
            at[k] = c_add(at[k], c_multiply(sum, c_conjugate(tail[(k - 1) * tail_step])));
        }
    }
}

/* --- QR --- */

static void qr_step(struct matrix *a, int64_t k, struct dd_complex *tau, struct dd_complex *work,
                    double *certainty, double norm)
{
    struct dd_complex *diagonal = matrix_entry(a, k, k);
    if (certainty != NULL) {
        *certainty = k == 0 ? INFINITY
                            : reflector_certainty(a->complex, diagonal, diagonal + a->columns,
                                                  a->columns, a->rows - k - 1, norm);
    }
    *tau = reflector_make(a->complex, diagonal, diagonal + a->columns, a->columns, a->rows - k - 1);
    reflect_left(a, k, k + 1, c_conjugate(*tau), diagonal + a->columns, a->columns, work);
}

void factor_qr(struct matrix *a, struct dd_complex *tau, double *certainty)
{
    double norm = matrix_norm(a);
    int64_t steps = a->rows < a->columns ? a->rows : a->columns;
    struct dd_complex *work = malloc(((size_t)a->columns + 1) * sizeof *work);
    for (int64_t k = 0; work != NULL && k < steps && !factor_stopped(); k++) {
        qr_step(a, k, &tau[k], work, certainty == NULL ? NULL : &certainty[k], norm);
    }
    free(work);
}

static void exchange_columns(struct matrix *a, int64_t i, int64_t j)
{
    for (int64_t r = 0; i != j && r < a->rows; r++) {
        struct dd_complex swap = *matrix_entry(a, r, i);
        *matrix_entry(a, r, i) = *matrix_entry(a, r, j);
        *matrix_entry(a, r, j) = swap;
    }
}

bool factor_qr_pivoted(struct matrix *a, int64_t *order, struct dd_complex *tau, double *certainty)
{
    double norm = matrix_norm(a);
    int64_t steps = a->rows < a->columns ? a->rows : a->columns;
    struct dd_complex *work = malloc(((size_t)a->columns + 1) * sizeof *work);
    if (work == NULL) {
        return false;
    }
    int64_t fixed = 0;
    for (int64_t j = 0; j < a->columns; j++) {
        if (order[j] != -1) {
            exchange_columns(a, j, fixed);
            order[j] = j != fixed ? order[fixed] : j;
            order[fixed++] = j;
        } else {
            order[j] = j;
        }
    }
    for (int64_t k = 0; k < steps && !factor_stopped(); k++) {
        if (k >= fixed) {
            int64_t best = k;
            double most = -1;
            for (int64_t j = k; j < a->columns; j++) {
                double norm =
                    vector_square(a->complex, matrix_entry(a, k, j), a->columns, a->rows - k).high;
                /* Equal but for the errors of the computation: the first. */
                if (norm > most * (1 + 0x1p-50)) {
                    most = norm;
                    best = j;
                }
            }
            exchange_columns(a, k, best);
            int64_t swap = order[k];
            order[k] = order[best];
            order[best] = swap;
        }
        qr_step(a, k, &tau[k], work, certainty == NULL ? NULL : &certainty[k], norm);
    }
    free(work);
    return true;
}

void factor_q_form(struct matrix *a, const struct dd_complex *tau, int64_t count)
{
    struct dd_complex *work = malloc(((size_t)a->columns + 1) * sizeof *work);
    struct dd_complex *tail = malloc(((size_t)a->rows + 1) * sizeof *tail);
    for (int64_t j = count; j < a->columns; j++) {
        for (int64_t i = 0; i < a->rows; i++) {
            *matrix_entry(a, i, j) = c_real(dd_from(i == j));
        }
    }
    for (int64_t k = count - 1; work != NULL && tail != NULL && k >= 0 && !factor_stopped(); k--) {
        for (int64_t i = k + 1; i < a->rows; i++) {
            tail[i - k - 1] = *matrix_entry(a, i, k);
        }
        for (int64_t i = 0; i < a->rows; i++) {
            *matrix_entry(a, i, k) = c_real(dd_from(i == k));
        }
        reflect_left(a, k, k, tau[k], tail, 1, work);
    }
    free(work);
    free(tail);
}

void factor_q_apply(const struct matrix *a, const struct dd_complex *tau, int64_t count, bool left,
                    bool adjoint, struct matrix *c)
{
    struct dd_complex *work = malloc(((size_t)c->columns + 1) * sizeof *work);
    /* Q C and C Qᴴ begin with the last reflector. */
    bool last_first = left != adjoint;
    for (int64_t step = 0; work != NULL && step < count && !factor_stopped(); step++) {
        int64_t k = last_first ? count - 1 - step : step;
        const struct dd_complex *tail = matrix_entry(a, k, k) + a->columns;
        struct dd_complex factor = adjoint ? c_conjugate(tau[k]) : tau[k];
        if (left) {
            reflect_left(c, k, 0, factor, tail, a->columns, work);
        } else {
            reflect_right(c, c->rows, k, a->rows - k, factor, tail, a->columns);
        }
    }
    free(work);
}

/* --- Hessenberg --- */

void factor_hessenberg(struct matrix *a, int64_t low, int64_t high, struct dd_complex *tau,
                       double *certainty)
{
    int64_t n = a->columns;
    double norm = matrix_norm(a);
    struct dd_complex *work = malloc(((size_t)n + 1) * sizeof *work);
    struct dd_complex *tail = malloc(((size_t)n + 1) * sizeof *tail);
    for (int64_t k = low; work != NULL && tail != NULL && k < high - 1 && !factor_stopped(); k++) {
        struct dd_complex *head = matrix_entry(a, k + 1, k);
        int64_t size = high - k - 1;
        if (certainty != NULL) {
            certainty[k] = k == low
                               ? INFINITY
                               : reflector_certainty(a->complex, head, head + n, n, size - 1, norm);
        }
        tau[k] = reflector_make(a->complex, head, head + n, n, size - 1);
        for (int64_t i = 1; i < size; i++) {
            tail[i - 1] = head[i * n];
        }
        reflect_right(a, high, k + 1, size, tau[k], tail, 1);
        struct matrix part = {.rows = high, .columns = n, .complex = a->complex, .at = a->at};
        reflect_left(&part, k + 1, k + 1, c_conjugate(tau[k]), tail, 1, work);
    }
    free(work);
    free(tail);
}

bool factor_hessenberg_q(const struct matrix *a, int64_t low, int64_t high,
                         const struct dd_complex *tau, struct matrix *q)
{
    int64_t n = a->rows;
    *q = matrix_make(n, n, a->complex);
    struct dd_complex *work = malloc(((size_t)n + 1) * sizeof *work);
    if (q->at == NULL || work == NULL) {
        free(work);
        return false;
    }
    for (int64_t i = 0; i < n; i++) {
        *matrix_entry(q, i, i) = c_real(dd_from(1));
    }
    for (int64_t k = high - 2; k >= low && !factor_stopped(); k--) {
        struct matrix part = {.rows = high, .columns = n, .complex = q->complex, .at = q->at};
        reflect_left(&part, k + 1, 0, tau[k], matrix_entry(a, k + 1, k) + n, n, work);
    }
    free(work);
    return true;
}

/* --- tridiagonal --- */

/* Entry (i, j) of the Hermitian matrix of which one triangle is stored. */
static struct dd_complex hermitian(const struct matrix *a, bool lower, int64_t i, int64_t j)
{
    if (i == j) {
        return c_real(matrix_entry(a, i, i)->re);
    }
    return (i > j) == lower ? *matrix_entry(a, i, j) : c_conjugate(*matrix_entry(a, j, i));
}

/* Block [first, first + size) of *a := Hᴴ block H with H = I − tau v vᴴ; v and work are vectors of
 * that size. */
static void reflect_both(struct matrix *a, bool lower, int64_t first, int64_t size,
                         struct dd_complex tau, const struct dd_complex *v, struct dd_complex *work)
{
    for (int64_t i = 0; i < size; i++) {
        struct dd_complex sum = {0};
        for (int64_t j = 0; j < size; j++) {
            sum = c_add(sum, c_multiply(hermitian(a, lower, first + i, first + j), v[j]));
        }
        work[i] = c_multiply(tau, sum);
    }
    struct dd_complex half = c_multiply(tau, vector_dot(true, work, 1, v, 1, size));
    half = (struct dd_complex){dd_negate(dd_half(half.re)), dd_negate(dd_half(half.im))};
    vector_add(true, half, v, 1, work, 1, size);
    for (int64_t i = 0; i < size; i++) {
        for (int64_t j = lower ? 0 : i; j < (lower ? i + 1 : size); j++) {
            struct dd_complex *entry = matrix_entry(a, first + i, first + j);
            struct dd_complex change = c_add(c_multiply(v[i], c_conjugate(work[j])),
                                             c_multiply(work[i], c_conjugate(v[j])));
            *entry = c_subtract(*entry, change);
            if (i == j) {
                entry->im = dd_from(0);
            }
        }
    }
}

void factor_tridiagonal(struct matrix *a, bool lower, struct double_double *d,
                        struct double_double *e, struct dd_complex *tau, double *certainty)
{
    int64_t n = a->rows;
    double norm = matrix_norm(a);
    struct dd_complex *memory = calloc(2 * (size_t)n + 1, sizeof *memory), *v = memory;
    for (int64_t i = 0; memory != NULL && i < n; i++) {
        matrix_entry(a, i, i)->im = dd_from(0);
    }
    for (int64_t step = 0; memory != NULL && step < n - 1 && !factor_stopped(); step++) {
        /* lower: column k below the diagonal; upper: column k + 1 above it, from the last. */
        int64_t k = lower ? step : n - 2 - step;
        int64_t size = lower ? n - k - 1 : k + 1, first = lower ? k + 1 : 0;
        struct dd_complex *head = lower ? matrix_entry(a, k + 1, k) : matrix_entry(a, k, k + 1);
        struct dd_complex *tail = lower ? head + n : a->at + k + 1;
        if (certainty != NULL) {
            certainty[k] = step == 0
                               ? INFINITY
                               : reflector_certainty(a->complex, head, tail, n, size - 1, norm);
        }
        tau[k] = reflector_make(a->complex, head, tail, n, size - 1);
        e[k] = head->re;
        if (!c_is_zero(tau[k])) {
            for (int64_t i = 0; i < size - 1; i++) {
                v[lower ? i + 1 : i] = tail[i * n];
            }
            v[lower ? 0 : size - 1] = c_real(dd_from(1));
            reflect_both(a, lower, first, size, tau[k], v, memory + n);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        d[i] = matrix_entry(a, i, i)->re;
    }
    free(memory);
}
