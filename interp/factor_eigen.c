/* Eigenvalues of Hermitian matrices by the symmetric QR method (implicit shifts), singular values
 * by one-sided Jacobi rotations. */
#include <stdlib.h>
#include <string.h>

#include "interp/factor_internal.h"

enum { MOST_ITERATIONS = 80, MOST_SWEEPS = 40 };

/* --- Hermitian --- */

/* The eigenvalues of the symmetric tridiagonal (d, e) into d, unsorted; rows of vt (eigenvectors
 * as they come) turn along. e has n entries, the last one scratch. */
static bool tridiagonal_eigenvalues(int64_t n, struct double_double *d, struct double_double *e,
                                    struct matrix *vt)
{
    if (n > 0) {
        e[n - 1] = dd_from(0);
    }
    for (int64_t l = 0; l < n; l++) {
        for (int iteration = 0;; iteration++) {
            int64_t m = l;
            while (m < n - 1 &&
                   fabs(e[m].high) > EPSILON * (fabs(d[m].high) + fabs(d[m + 1].high))) {
                m++;
            }
            if (m == l) {
                break;
            }
            if (iteration == MOST_ITERATIONS || factor_stopped()) {
                return false;
            }
            /* The eigenvalue of the leading 2 × 2 block that is nearer to d[l]. */
            struct double_double g = dd_divide(dd_subtract(d[l + 1], d[l]), dd_add(e[l], e[l]));
            struct double_double r = dd_sqrt(dd_add(dd_multiply(g, g), dd_from(1)));
            r = g.high < 0 ? dd_negate(r) : r;
            g = dd_add(dd_subtract(d[m], d[l]), dd_divide(e[l], dd_add(g, r)));
            struct double_double s = dd_from(1), c = dd_from(1), p = dd_from(0);
            int64_t i = m - 1;
            for (; i >= l; i--) {
                struct double_double f = dd_multiply(s, e[i]), b = dd_multiply(c, e[i]);
                r = dd_sqrt(dd_add(dd_multiply(f, f), dd_multiply(g, g)));
                e[i + 1] = r;
                if (r.high == 0) {
                    d[i + 1] = dd_subtract(d[i + 1], p);
                    e[m] = dd_from(0);
                    break;
                }
                s = dd_divide(f, r);
                c = dd_divide(g, r);
                g = dd_subtract(d[i + 1], p);
                r = dd_add(dd_multiply(dd_subtract(d[i], g), s), dd_multiply(dd_add(c, c), b));
                p = dd_multiply(s, r);
                d[i + 1] = dd_add(g, p);
                g = dd_subtract(dd_multiply(c, r), b);
                vector_rotate(vt->complex, c, c_real(s), matrix_entry(vt, i + 1, 0), 1,
                              matrix_entry(vt, i, 0), 1, vt->columns);
            }
            if (r.high == 0 && i >= l) {
                continue;
            }
            d[l] = dd_subtract(d[l], p);
            e[l] = g;
            e[m] = dd_from(0);
        }
    }
    return true;
}

bool factor_eigen_hermitian(struct matrix *a, bool lower, struct double_double *w)
{
    int64_t n = a->rows;
    struct matrix work = matrix_make(n, n, a->complex), q = {0}, vt = matrix_make(n, n, a->complex);
    struct double_double *e = calloc((size_t)n + 1, sizeof *e);
    struct dd_complex *tau = calloc((size_t)n + 1, sizeof *tau);
    int64_t *order = calloc((size_t)n + 1, sizeof *order);
    bool ok = work.at != NULL && vt.at != NULL && e != NULL && tau != NULL && order != NULL;
    for (int64_t i = 0; ok && i < n; i++) { /* the lower triangle, whichever was asked for */
        for (int64_t j = 0; j <= i; j++) {
            *matrix_entry(&work, i, j) =
                lower ? *matrix_entry(a, i, j) : c_conjugate(*matrix_entry(a, j, i));
        }
    }
    if (ok) {
        factor_tridiagonal(&work, true, w, e, tau, NULL);
        ok = factor_hessenberg_q(&work, 0, n, tau, &q);
    }
    for (int64_t i = 0; ok && i < n; i++) {
        order[i] = i;
        for (int64_t j = 0; j < n; j++) {
            *matrix_entry(&vt, j, i) = *matrix_entry(&q, i, j);
        }
    }
    ok = ok && tridiagonal_eigenvalues(n, w, e, &vt);
    for (int64_t i = 1; ok && i < n; i++) { /* ascending */
        for (int64_t j = i; j > 0 && dd_subtract(w[order[j]], w[order[j - 1]]).high < 0; j--) {
            int64_t swap = order[j];
            order[j] = order[j - 1];
            order[j - 1] = swap;
        }
    }
    for (int64_t i = 0; ok && i < n; i++) {
        e[i] = w[order[i]];
        for (int64_t j = 0; j < n; j++) {
            *matrix_entry(a, j, i) = *matrix_entry(&vt, order[i], j);
        }
    }
    if (ok) {
        memcpy(w, e, (size_t)n * sizeof *w);
    }
    matrix_finish(&work);
    matrix_finish(&vt);
    matrix_finish(&q);
    free(e);
    free(tau);
    free(order);
    return ok;
}

/* --- singular values --- */

/* Makes rows p and q of *g orthogonal; *vt turns along. False if they were already. */
static bool orthogonalize(struct matrix *g, struct matrix *vt, int64_t p, int64_t q)
{
    struct dd_complex *x = matrix_entry(g, p, 0), *y = matrix_entry(g, q, 0);
    struct double_double alpha = vector_square(g->complex, x, 1, g->columns);
    struct double_double beta = vector_square(g->complex, y, 1, g->columns);
    struct dd_complex gamma = vector_dot(g->complex, x, 1, y, 1, g->columns);
    double size = c_size(gamma);
    if (!(size > 0x1p-100 * sqrt(alpha.high) * sqrt(beta.high))) {
        return false;
    }
    struct double_double absolute = c_absolute(gamma);
    struct double_double zeta = dd_divide(dd_subtract(beta, alpha), dd_add(absolute, absolute));
    struct double_double root = dd_sqrt(dd_add(dd_from(1), dd_multiply(zeta, zeta)));
    struct double_double t =
        dd_divide(dd_from(1), zeta.high < 0 ? dd_subtract(zeta, root) : dd_add(zeta, root));
    struct double_double c = dd_divide(dd_from(1), dd_sqrt(dd_add(dd_from(1), dd_multiply(t, t))));
    struct double_double s = dd_multiply(c, t);
    /* With y turned by the conjugate phase of gamma, both rotations are real. */
    struct dd_complex phase = c_divide(gamma, c_real(absolute));
    vector_scale(g->complex, c_conjugate(phase), y, 1, g->columns);
    vector_scale(g->complex, c_conjugate(phase), matrix_entry(vt, q, 0), 1, vt->columns);
    struct dd_complex minus = c_real(dd_negate(s));
    vector_rotate(g->complex, c, minus, x, 1, y, 1, g->columns);
    vector_rotate(g->complex, c, minus, matrix_entry(vt, p, 0), 1, matrix_entry(vt, q, 0), 1,
                  vt->columns);
    return true;
}

/* Makes row `at` of *rows orthogonal to those before it and of norm 1: from what it holds if that
 * is not nearly dependent, else from a unit vector. */
static void complete_row(struct matrix *rows, int64_t at)
{
    struct dd_complex *row = matrix_entry(rows, at, 0);
    for (int64_t attempt = 0; attempt <= rows->columns; attempt++) {
        if (attempt > 0) {
            memset(row, 0, (size_t)rows->columns * sizeof *row);
            row[attempt - 1] = c_real(dd_from(1));
        }
        double before = vector_square(rows->complex, row, 1, rows->columns).high;
        for (int pass = 0; pass < 2; pass++) {
            for (int64_t k = 0; k < at; k++) {
                const struct dd_complex *other = matrix_entry(rows, k, 0);
                struct dd_complex part = vector_dot(rows->complex, other, 1, row, 1, rows->columns);
                vector_add(rows->complex, c_negate(part), other, 1, row, 1, rows->columns);
            }
        }
        struct double_double square = vector_square(rows->complex, row, 1, rows->columns);
        if (before > 0 && square.high > 0.25 / (double)rows->columns * before) {
            vector_scale(rows->complex, c_real(dd_divide(dd_from(1), dd_sqrt(square))), row, 1,
                         rows->columns);
            return;
        }
    }
}

/* The matrix whose rows are those of *rows, then more up to `count`, all orthonormal. */
static bool complete(struct matrix *rows, int64_t count)
{
    struct matrix all = matrix_make(count, rows->columns, rows->complex);
    if (all.at == NULL) {
        return false;
    }
    int64_t kept = rows->rows < count ? rows->rows : count;
    memcpy(all.at, rows->at, (size_t)(kept * rows->columns) * sizeof *all.at);
    for (int64_t i = 0; i < count; i++) {
        if (i >= kept || c_is_zero(vector_dot(true, matrix_entry(&all, i, 0), 1,
                                              matrix_entry(&all, i, 0), 1, all.columns))) {
            complete_row(&all, i);
        }
    }
    matrix_finish(rows);
    *rows = all;
    return true;
}

bool factor_singular(const struct matrix *a, struct double_double *s, struct matrix *u,
                     struct matrix *vh)
{
    /* Rows of g: the columns of A, or of Aᴴ if A is wide. */
    bool wide = a->columns > a->rows;
    int64_t n = wide ? a->rows : a->columns, m = wide ? a->columns : a->rows;
    struct matrix g = matrix_make(n, m, a->complex), vt = matrix_make(n, n, a->complex);
    struct matrix sorted = matrix_make(n, m, a->complex), turned = matrix_make(n, n, a->complex);
    int64_t *order = calloc((size_t)n + 1, sizeof *order);
    struct double_double *norms = calloc((size_t)n + 1, sizeof *norms);
    bool ok = g.at != NULL && vt.at != NULL && sorted.at != NULL && turned.at != NULL &&
              order != NULL && norms != NULL;
    for (int64_t i = 0; ok && i < n; i++) {
        *matrix_entry(&vt, i, i) = c_real(dd_from(1));
        for (int64_t j = 0; j < m; j++) {
            *matrix_entry(&g, i, j) =
                wide ? c_conjugate(*matrix_entry(a, i, j)) : *matrix_entry(a, j, i);
        }
    }
    bool again = true;
    for (int sweep = 0; ok && again; sweep++) {
        ok = sweep < MOST_SWEEPS && !factor_stopped();
        again = false;
        for (int64_t p = 0; p < n - 1 && !factor_stopped(); p++) {
            for (int64_t q = p + 1; q < n; q++) {
                again |= orthogonalize(&g, &vt, p, q);
            }
        }
    }
    for (int64_t i = 0; ok && i < n; i++) {
        norms[i] = dd_sqrt(vector_square(g.complex, matrix_entry(&g, i, 0), 1, m));
        order[i] = i;
        for (int64_t j = i; j > 0 && dd_subtract(norms[order[j]], norms[order[j - 1]]).high > 0;
             j--) {
            int64_t swap = order[j];
            order[j] = order[j - 1];
            order[j - 1] = swap;
        }
    }
    double largest = ok && n > 0 ? norms[order[0]].high : 0;
    for (int64_t i = 0; ok && i < n; i++) {
        s[i] = norms[order[i]];
        memcpy(matrix_entry(&turned, i, 0), matrix_entry(&vt, order[i], 0),
               (size_t)n * sizeof *vt.at);
        if (s[i].high > 0x1p-90 * largest) { /* else completed later */
            memcpy(matrix_entry(&sorted, i, 0), matrix_entry(&g, order[i], 0),
                   (size_t)m * sizeof *g.at);
            vector_scale(g.complex, c_real(dd_divide(dd_from(1), s[i])),
                         matrix_entry(&sorted, i, 0), 1, m);
        }
    }
    /* A (or Aᴴ) = Σ s sortedᵢ turnedᵢᴴ, vectors as rows. */
    struct matrix *outer = wide ? vh : u, *inner = wide ? u : vh;
    if (ok && outer != NULL) {
        ok = complete(&sorted, wide ? outer->rows : outer->columns);
        for (int64_t i = 0; ok && i < sorted.rows; i++) {
            for (int64_t j = 0; j < m; j++) {
                struct dd_complex value = *matrix_entry(&sorted, i, j);
                if (wide) {
                    *matrix_entry(outer, i, j) = c_conjugate(value);
                } else {
                    *matrix_entry(outer, j, i) = value;
                }
            }
        }
    }
    for (int64_t i = 0; ok && inner != NULL && i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            struct dd_complex value = *matrix_entry(&turned, i, j);
            if (wide) {
                *matrix_entry(inner, j, i) = value;
            } else {
                *matrix_entry(inner, i, j) = c_conjugate(value);
            }
        }
    }
    matrix_finish(&g);
    matrix_finish(&vt);
    matrix_finish(&sorted);
    matrix_finish(&turned);
    free(order);
    free(norms);
    return ok;
}
