/* Residuals of factorizations (residuals.h). */
#include "compare/residuals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/literal.h"

/* --- matrices --- */

static double complex *entry(const struct matrix *m, int64_t i, int64_t j)
{
    return &m->at[i * m->columns + j];
}

static struct matrix make(int64_t rows, int64_t columns)
{
    size_t count = (size_t)(rows * columns) + 1;
    struct matrix m = {rows, columns, memory_alloc(count * sizeof(double complex))};
    memset(m.at, 0, count * sizeof(double complex));
    return m;
}

struct matrix matrix_load(const struct literal *from, int64_t batches, int64_t batch, bool vector)
{
    const struct shape *shape = from->shape;
    int64_t size = batches > 0 ? shape_elements(shape) / batches : 0;
    int64_t columns = vector || shape->rank < 1 ? 1 : shape->dimensions[shape->rank - 1];
    struct matrix m = make(columns > 0 ? size / columns : 0, columns);
    for (int64_t i = 0; i < size; i++) {
        double im =
            type_is_complex(shape->type) ? literal_get_imaginary(from, batch * size + i) : 0;
        bool is_float = type_is_float(shape->type) || type_is_complex(shape->type);
        double re = is_float ? literal_get_double(from, batch * size + i)
                             : (double)literal_get_int(from, batch * size + i);
        m.at[i] = re + im * (double complex)I;
    }
    return m;
}

struct matrix matrix_adjoint(const struct matrix *m)
{
    struct matrix result = make(m->columns, m->rows);
    for (int64_t i = 0; i < m->rows; i++) {
        for (int64_t j = 0; j < m->columns; j++) {
            *entry(&result, j, i) = conj(*entry(m, i, j));
        }
    }
    return result;
}

static struct matrix multiply(const struct matrix *a, const struct matrix *b)
{
    struct matrix result = make(a->rows, b->columns);
    for (int64_t i = 0; i < a->rows; i++) {
        for (int64_t k = 0; k < a->columns && k < b->rows; k++) {
            double complex factor = *entry(a, i, k);
            for (int64_t j = 0; factor != 0 && j < b->columns; j++) {
                *entry(&result, i, j) += factor * *entry(b, k, j);
            }
        }
    }
    return result;
}

double matrix_distance(const struct matrix *a, const struct matrix *b)
{
    double sum = 0;
    for (int64_t i = 0; i < a->rows * a->columns; i++) {
        double complex difference = a->at[i] - (b == NULL ? 0 : b->at[i]);
        sum += creal(difference) * creal(difference) + cimag(difference) * cimag(difference);
    }
    return sqrt(sum);
}

/* |Mᴴ M − 1| */
static double unitarity(const struct matrix *m)
{
    struct matrix h = matrix_adjoint(m), product = multiply(&h, m);
    for (int64_t i = 0; i < product.rows; i++) {
        *entry(&product, i, i) -= 1;
    }
    double result = matrix_distance(&product, NULL);
    free(h.at);
    free(product.at);
    return result;
}

/* m times diag(w). */
static struct matrix scaled(const struct matrix *m, const struct matrix *w)
{
    struct matrix result = make(m->rows, m->columns);
    for (int64_t i = 0; i < m->rows; i++) {
        for (int64_t j = 0; j < m->columns; j++) {
            *entry(&result, i, j) = j < w->rows ? *entry(m, i, j) * w->at[j] : 0;
        }
    }
    return result;
}

/* --- judging --- */

static void residual(struct judge *judge, const char *what, double value, bool relative)
{
    double allowed = judge->bound * (relative ? judge->norm : 1);
    double ratio = isnan(value) ? INFINITY : value == 0 ? 0 : value / allowed;
    judge->any = true;
    if (judge->what == NULL || ratio > judge->worst) {
        judge->worst = ratio;
        judge->what = what;
    }
}

static bool is_ordered(const struct matrix *w, bool ascending)
{
    for (int64_t i = 0; i + 1 < w->rows; i++) {
        double step = creal(w->at[i + 1]) - creal(w->at[i]);
        if (!(ascending ? step >= 0 : step <= 0)) {
            return false;
        }
    }
    return true;
}

static void judge_products(struct judge *judge, const char *what, const struct matrix *a,
                           const struct matrix *v, const struct matrix *w)
{
    struct matrix av = multiply(a, v), vw = scaled(v, w);
    residual(judge, what, matrix_distance(&av, &vw), true);
    free(av.at);
    free(vw.at);
}

static void judge_eigh(struct judge *judge, const struct factors *batch, bool lower)
{
    struct matrix a = make(batch->a.rows, batch->a.columns);
    for (int64_t i = 0; i < a.rows; i++) {
        for (int64_t j = 0; j < a.columns; j++) {
            bool own = (i > j) == lower;
            double complex value = own ? *entry(&batch->a, i, j) : conj(*entry(&batch->a, j, i));
            *entry(&a, i, j) = i == j ? creal(*entry(&batch->a, i, i)) : value;
        }
    }
    judge->norm = matrix_distance(&a, NULL);
    if (batch->values.at != NULL) {
        residual(judge, "ascending", is_ordered(&batch->values, true) ? 0 : INFINITY, false);
    }
    if (batch->right.at != NULL) {
        residual(judge, "|V^H V - 1|", unitarity(&batch->right), false);
        judge_products(judge, "|A V - V w|", &a, &batch->right,
                       batch->values.at != NULL ? &batch->values : &batch->golden_values);
    } else if (batch->values.at != NULL) {
        residual(judge, "|w - golden|", matrix_distance(&batch->values, &batch->golden_values),
                 true);
    }
    free(a.at);
}

static void judge_svd(struct judge *judge, const struct factors *batch)
{
    const struct matrix *s = batch->values.at != NULL ? &batch->values : &batch->golden_values;
    if (batch->values.at != NULL) {
        bool ordered = is_ordered(s, false) && (s->rows == 0 || creal(s->at[s->rows - 1]) >= 0);
        residual(judge, "descending", ordered ? 0 : INFINITY, false);
    }
    if (batch->left.at != NULL) {
        residual(judge, "|U^H U - 1|", unitarity(&batch->left), false);
    }
    if (batch->right.at != NULL) {
        residual(judge, "|V^H V - 1|", unitarity(&batch->right), false);
    }
    if (batch->left.at != NULL && batch->right.at != NULL) {
        struct matrix vh = matrix_adjoint(&batch->right), us = scaled(&batch->left, s);
        struct matrix product = multiply(&us, &vh);
        residual(judge, "|A - U s V^H|", matrix_distance(&batch->a, &product), true);
        free(vh.at);
        free(us.at);
        free(product.at);
        return;
    }
    if (batch->values.at != NULL) {
        residual(judge, "|s - golden|", matrix_distance(s, &batch->golden_values), true);
    }
    /* One side alone: its vectors diagonalise A Aᴴ or Aᴴ A. */
    if (batch->left.at != NULL || batch->right.at != NULL) {
        bool is_left = batch->left.at != NULL;
        struct matrix h = matrix_adjoint(&batch->a);
        struct matrix product = is_left ? multiply(&batch->a, &h) : multiply(&h, &batch->a);
        struct matrix squares = make(s->rows, 1);
        for (int64_t i = 0; i < s->rows; i++) {
            squares.at[i] = s->at[i] * s->at[i];
        }
        double norm = judge->norm;
        judge->norm = norm * norm;
        judge_products(judge, is_left ? "|A A^H U - U s^2|" : "|A^H A V - V s^2|", &product,
                       is_left ? &batch->left : &batch->right, &squares);
        judge->norm = norm;
        free(h.at);
        free(product.at);
        free(squares.at);
    }
}

/* 1 / |(A − λ)⁻¹ b| for a fixed b of norm 1: small only if A − λ is nearly singular. */
static double smallest(const struct matrix *a, double complex lambda)
{
    int64_t n = a->rows;
    struct matrix m = make(n, n), x = make(n, 1);
    memcpy(m.at, a->at, (size_t)(n * n) * sizeof *m.at);
    double norm = matrix_distance(a, NULL);
    for (int64_t i = 0; i < n; i++) {
        *entry(&m, i, i) -= lambda;
        x.at[i] = (1 + 0.3 * (double)(i % 3) + 0.2 * (double complex)I * (double)(i % 2)) /
                  sqrt((double)n);
    }
    for (int64_t k = 0; k < n; k++) {
        int64_t best = k;
        for (int64_t i = k + 1; i < n; i++) {
            best = cabs(*entry(&m, i, k)) > cabs(*entry(&m, best, k)) ? i : best;
        }
        for (int64_t j = 0; j < n; j++) {
            double complex swap = *entry(&m, k, j);
            *entry(&m, k, j) = *entry(&m, best, j);
            *entry(&m, best, j) = swap;
        }
        double complex swap = x.at[k];
        x.at[k] = x.at[best];
        x.at[best] = swap;
        if (cabs(*entry(&m, k, k)) < norm * 0x1p-60) {
            *entry(&m, k, k) = norm * 0x1p-60 + 0x1p-1000;
        }
        for (int64_t i = k + 1; i < n; i++) {
            double complex factor = *entry(&m, i, k) / *entry(&m, k, k);
            for (int64_t j = k; j < n; j++) {
                *entry(&m, i, j) -= factor * *entry(&m, k, j);
            }
            x.at[i] -= factor * x.at[k];
        }
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int64_t j = i + 1; j < n; j++) {
            x.at[i] -= *entry(&m, i, j) * x.at[j];
        }
        x.at[i] /= *entry(&m, i, i);
    }
    double size = matrix_distance(&x, NULL);
    free(m.at);
    free(x.at);
    return 1 / size;
}

static void judge_eig(struct judge *judge, const struct factors *batch)
{
    const struct matrix *w = &batch->values;
    for (int side = 0; side < 2; side++) {
        const struct matrix *v = side == 0 ? &batch->right : &batch->left;
        if (v->at == NULL) {
            continue;
        }
        double worst = 0;
        for (int64_t j = 0; j < v->columns; j++) {
            double norm = 0;
            for (int64_t i = 0; i < v->rows; i++) {
                norm += pow(cabs(*entry(v, i, j)), 2);
            }
            worst = fmax(worst, fabs(sqrt(norm) - 1));
        }
        residual(judge, side == 0 ? "norms of R" : "norms of L", worst, false);
        if (w->at == NULL) {
            continue;
        }
        if (side == 0) {
            judge_products(judge, "|A R - R w|", &batch->a, v, w);
        } else { /* Aᴴ L = L conj(w) */
            struct matrix h = matrix_adjoint(&batch->a), conjugates = make(w->rows, 1);
            for (int64_t i = 0; i < w->rows; i++) {
                conjugates.at[i] = conj(w->at[i]);
            }
            judge_products(judge, "|A^H L - L conj(w)|", &h, v, &conjugates);
            free(h.at);
            free(conjugates.at);
        }
    }
    if (w->at == NULL) {
        return;
    }
    double complex trace = 0;
    for (int64_t i = 0; i < w->rows; i++) {
        trace += w->at[i] - *entry(&batch->a, i, i);
        if (batch->right.at == NULL && batch->left.at == NULL) {
            residual(judge, "|A - w| nearly singular", smallest(&batch->a, w->at[i]), true);
        }
    }
    residual(judge, "sum of w = trace", cabs(trace), true);
}

static void judge_schur(struct judge *judge, const struct factors *batch, bool real)
{
    const struct matrix *t = &batch->form, *z = &batch->right;
    double below = 0;
    for (int64_t i = 0; t->at != NULL && i < t->rows; i++) {
        for (int64_t j = 0; j < i; j++) {
            bool block = real && j == i - 1 && (i + 1 >= t->rows || *entry(t, i + 1, i) == 0) &&
                         (j == 0 || *entry(t, j, j - 1) == 0);
            below = fmax(below, block ? 0 : cabs(*entry(t, i, j)));
        }
    }
    if (t->at != NULL) {
        residual(judge, "T triangular", below == 0 ? 0 : INFINITY, false);
    }
    if (z->at != NULL) {
        residual(judge, "|Z^H Z - 1|", unitarity(z), false);
    }
    if (t->at != NULL && z->at != NULL) {
        struct matrix zt = multiply(z, t), h = matrix_adjoint(z), product = multiply(&zt, &h);
        residual(judge, "|A - Z T Z^H|", matrix_distance(&batch->a, &product), true);
        free(zt.at);
        free(h.at);
        free(product.at);
    }
}

/* R, then H(k) … H(1) from the left. */
static void judge_qr(struct judge *judge, const struct factors *batch)
{
    const struct matrix *packed = &batch->form;
    if (packed->at == NULL || batch->scalars.at == NULL) {
        return;
    }
    struct matrix m = make(packed->rows, packed->columns);
    for (int64_t i = 0; i < m.rows; i++) {
        for (int64_t j = i; j < m.columns; j++) {
            *entry(&m, i, j) = *entry(packed, i, j);
        }
    }
    for (int64_t k = batch->scalars.rows - 1; k >= 0; k--) {
        for (int64_t j = 0; j < m.columns; j++) {
            double complex sum = *entry(&m, k, j);
            for (int64_t i = k + 1; i < m.rows; i++) {
                sum += conj(*entry(packed, i, k)) * *entry(&m, i, j);
            }
            sum *= batch->scalars.at[k];
            *entry(&m, k, j) -= sum;
            for (int64_t i = k + 1; i < m.rows; i++) {
                *entry(&m, i, j) -= *entry(packed, i, k) * sum;
            }
        }
    }
    residual(judge, "|A - Q R|", matrix_distance(&batch->a, &m), true);
    free(m.at);
}

static void judge_lu(struct judge *judge, const struct factors *batch)
{
    const struct matrix *packed = &batch->form;
    if (packed->at == NULL || batch->scalars.at == NULL) {
        return;
    }
    int64_t k = packed->rows < packed->columns ? packed->rows : packed->columns;
    struct matrix l = make(packed->rows, k), u = make(k, packed->columns);
    struct matrix pa = make(packed->rows, packed->columns);
    double largest = 0;
    memcpy(pa.at, batch->a.at, (size_t)(pa.rows * pa.columns) * sizeof *pa.at);
    for (int64_t i = 0; i < packed->rows; i++) {
        for (int64_t j = 0; j < packed->columns; j++) {
            if (i > j) {
                *entry(&l, i, j) = *entry(packed, i, j);
                /* |re| + |im| of a pivot is the largest of its column: |l| ≤ √2. */
                largest = fmax(largest, cabs(*entry(packed, i, j)));
            } else {
                *entry(&u, i, j) = *entry(packed, i, j);
            }
        }
        if (i < k) {
            *entry(&l, i, i) = 1;
        }
    }
    for (int64_t i = 0; i < k; i++) {
        int64_t pivot = (int64_t)creal(batch->scalars.at[i]) - 1;
        if (pivot < i || pivot >= packed->rows) {
            residual(judge, "pivots", INFINITY, false);
            pivot = i;
        }
        for (int64_t j = 0; j < pa.columns; j++) {
            double complex swap = *entry(&pa, i, j);
            *entry(&pa, i, j) = *entry(&pa, pivot, j);
            *entry(&pa, pivot, j) = swap;
        }
    }
    struct matrix product = multiply(&l, &u);
    residual(judge, "pivots are the largest", largest <= 1.5 ? 0 : INFINITY, false);
    residual(judge, "|P A - L U|", matrix_distance(&pa, &product), true);
    free(l.at);
    free(u.at);
    free(pa.at);
    free(product.at);
}

void residuals_judge(struct judge *judge, enum factorization kind, const struct factors *factors,
                     bool lower, bool real)
{
    judge->norm = matrix_distance(&factors->a, NULL);
    switch (kind) {
    case FACTORIZATION_EIGH:
        judge_eigh(judge, factors, lower);
        break;
    case FACTORIZATION_SVD:
        judge_svd(judge, factors);
        break;
    case FACTORIZATION_EIG:
        judge_eig(judge, factors);
        break;
    case FACTORIZATION_SCHUR:
        judge_schur(judge, factors, real);
        break;
    case FACTORIZATION_QR:
        judge_qr(judge, factors);
        break;
    case FACTORIZATION_LU:
        judge_lu(judge, factors);
        break;
    default:
        break;
    }
}
