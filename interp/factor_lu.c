/* Triangular factorizations: LU, Cholesky, tridiagonal systems; and the vector loops of factor_*.c.
 */
#include <stdlib.h>
#include <string.h>

#include "interp/factor_internal.h"

struct matrix matrix_make(int64_t rows, int64_t columns, bool complex)
{
    struct matrix matrix = {.rows = rows, .columns = columns, .complex = complex};
    if (rows > 0 && columns > INT64_MAX / 64 / rows) {
        return matrix;
    }
    matrix.at = calloc((size_t)(rows * columns) + 1, sizeof *matrix.at);
    return matrix;
}

void matrix_finish(struct matrix *matrix)
{
    free(matrix->at);
    matrix->at = NULL;
}

/* --- vectors --- */

struct dd_complex vector_dot(bool complex, const struct dd_complex *x, int64_t x_step,
                             const struct dd_complex *y, int64_t y_step, int64_t count)
{
    struct dd_complex sum = {0};
    for (int64_t i = 0; i < count; i++, x += x_step, y += y_step) {
        if (complex) {
            sum = c_add(sum, c_multiply(c_conjugate(*x), *y));
        } else {
            sum.re = dd_add(sum.re, dd_multiply(x->re, y->re));
        }
    }
    return sum;
}

void vector_add(bool complex, struct dd_complex factor, const struct dd_complex *x, int64_t x_step,
                struct dd_complex *y, int64_t y_step, int64_t count)
{
    for (int64_t i = 0; i < count; i++, x += x_step, y += y_step) {
        if (complex) {
            *y = c_add(*y, c_multiply(factor, *x));
        } else {
            y->re = dd_add(y->re, dd_multiply(factor.re, x->re));
        }
    }
}

void vector_scale(bool complex, struct dd_complex factor, struct dd_complex *x, int64_t step,
                  int64_t count)
{
    for (int64_t i = 0; i < count; i++, x += step) {
        if (complex) {
            *x = c_multiply(factor, *x);
        } else {
            x->re = dd_multiply(factor.re, x->re);
        }
    }
}

struct double_double vector_square(bool complex, const struct dd_complex *x, int64_t step,
                                   int64_t count)
{
    struct double_double sum = {0, 0};
    for (int64_t i = 0; i < count; i++, x += step) {
        sum = dd_add(sum, complex ? c_square(*x) : dd_multiply(x->re, x->re));
    }
    return sum;
}

void vector_rotate(bool complex, struct double_double c, struct dd_complex s, struct dd_complex *x,
                   int64_t x_step, struct dd_complex *y, int64_t y_step, int64_t count)
{
    struct dd_complex back = c_negate(c_conjugate(s));
    for (int64_t i = 0; i < count; i++, x += x_step, y += y_step) {
        struct dd_complex old = *x;
        if (complex) {
            *x = c_add(c_scale(old, c), c_multiply(s, *y));
            *y = c_add(c_multiply(back, old), c_scale(*y, c));
        } else {
            x->re = dd_add(dd_multiply(c, old.re), dd_multiply(s.re, y->re));
            y->re = dd_add(dd_multiply(back.re, old.re), dd_multiply(c, y->re));
        }
    }
}

struct dd_complex reflector_make(bool complex, struct dd_complex *alpha, struct dd_complex *x,
                                 int64_t step, int64_t count)
{
    struct double_double rest = vector_square(complex, x, step, count);
    if (rest.high == 0 && alpha->im.high == 0) {
        return (struct dd_complex){0};
    }
    struct double_double beta = dd_sqrt(dd_add(c_square(*alpha), rest));
    beta = signbit(alpha->re.high) ? beta : dd_negate(beta);
    struct dd_complex tau = c_divide(c_subtract(c_real(beta), *alpha), c_real(beta));
    struct dd_complex scale = c_divide(c_real(dd_from(1)), c_subtract(*alpha, c_real(beta)));
    vector_scale(complex, scale, x, step, count);
    *alpha = c_real(beta);
    return tau;
}

void rotation_make(struct dd_complex f, struct dd_complex g, struct double_double *c,
                   struct dd_complex *s, struct dd_complex *r)
{
    if (c_is_zero(g)) {
        *c = dd_from(1);
        *s = (struct dd_complex){0};
        *r = f;
        return;
    }
    struct double_double size = dd_sqrt(dd_add(c_square(f), c_square(g)));
    if (c_is_zero(f)) {
        *c = dd_from(0);
        struct double_double absolute = c_absolute(g);
        *s = c_divide(c_conjugate(g), c_real(absolute));
        *r = c_real(absolute);
        return;
    }
    struct double_double absolute = c_absolute(f);
    struct dd_complex phase = c_divide(f, c_real(absolute));
    *c = dd_divide(absolute, size);
    *s = c_divide(c_multiply(phase, c_conjugate(g)), c_real(size));
    *r = c_scale(phase, size);
}

double reflector_certainty(bool complex, const struct dd_complex *alpha, const struct dd_complex *x,
                           int64_t step, int64_t count, double norm)
{
    if (count <= 0) {
        return complex && alpha->im.high != 0 ? fabs(alpha->re.high) / norm : INFINITY;
    }
    double tail = sqrt(vector_square(complex, x, step, count).high), head = fabs(alpha->re.high);
    return (tail < head ? tail : head) / norm;
}

double matrix_norm(const struct matrix *a)
{
    return sqrt(vector_square(true, a->at, 1, a->rows * a->columns).high);
}

/* --- LU --- */

static double size_of(struct dd_complex a)
{
    return fabs(a.re.high) + fabs(a.im.high);
}

/* Whether |re| + |im| of a is the larger one, in double-double. */
static bool is_larger(struct dd_complex a, struct dd_complex b)
{
    double left = size_of(a), right = size_of(b);
    if (fabs(left - right) > 0x1p-50 * right) {
        return left > right;
    }
    struct double_double sizes[2];
    for (int i = 0; i < 2; i++) {
        struct dd_complex value = i == 0 ? a : b;
        struct double_double re = value.re.high < 0 ? dd_negate(value.re) : value.re;
        struct double_double im = value.im.high < 0 ? dd_negate(value.im) : value.im;
        sizes[i] = dd_add(re, im);
    }
    /* A difference below the errors of the computation is none. */
    return dd_subtract(sizes[0], sizes[1]).high > 0x1p-90 * sizes[1].high;
}

int64_t factor_lu(struct matrix *a, int64_t *pivots, double *gap)
{
    int64_t steps = a->rows < a->columns ? a->rows : a->columns, info = 0;
    *gap = INFINITY;
    for (int64_t k = 0; k < steps && !factor_stopped(); k++) {
        int64_t best = k;
        for (int64_t i = k + 1; i < a->rows; i++) {
            best = is_larger(*matrix_entry(a, i, k), *matrix_entry(a, best, k)) ? i : best;
        }
        pivots[k] = best;
        double largest = size_of(*matrix_entry(a, best, k));
        for (int64_t i = k; i < a->rows; i++) {
            double distance = largest - size_of(*matrix_entry(a, i, k));
            if (i != best && (k > 0 || distance > 0) && distance < *gap * largest) {
                *gap = distance / largest;
            }
        }
        for (int64_t j = 0; best != k && j < a->columns; j++) {
            struct dd_complex swap = *matrix_entry(a, k, j);
            *matrix_entry(a, k, j) = *matrix_entry(a, best, j);
            *matrix_entry(a, best, j) = swap;
        }
        struct dd_complex pivot = *matrix_entry(a, k, k);
        if (c_is_zero(pivot)) {
            info = info == 0 ? k + 1 : info;
            continue;
        }
        for (int64_t i = k + 1; i < a->rows; i++) {
            struct dd_complex factor = c_divide(*matrix_entry(a, i, k), pivot);
            *matrix_entry(a, i, k) = factor;
            vector_add(a->complex, c_negate(factor), matrix_entry(a, k, k) + 1, 1,
                       matrix_entry(a, i, k) + 1, 1, a->columns - k - 1);
        }
    }
    return info;
}

/* --- Cholesky --- */

int64_t factor_cholesky(struct matrix *a, bool lower, double *smallest)
{
    int64_t n = a->rows;
    *smallest = INFINITY;
    for (int64_t j = 0; j < n && !factor_stopped(); j++) {
        /* Row j of L, or column j of U: its squares come off the diagonal. */
        const struct dd_complex *row = lower ? matrix_entry(a, j, 0) : a->at + j;
        int64_t step = lower ? 1 : n;
        struct double_double diagonal = matrix_entry(a, j, j)->re;
        struct double_double rest = dd_subtract(diagonal, vector_square(a->complex, row, step, j));
        double ratio = diagonal.high == 0 ? 0 : rest.high / fabs(diagonal.high);
        *smallest = ratio < *smallest ? ratio : *smallest;
        if (!(rest.high > 0)) {
            return j + 1;
        }
        struct double_double pivot = dd_sqrt(rest);
        *matrix_entry(a, j, j) = c_real(pivot);
        for (int64_t i = j + 1; i < n; i++) {
            struct dd_complex *entry = lower ? matrix_entry(a, i, j) : matrix_entry(a, j, i);
            const struct dd_complex *other = lower ? matrix_entry(a, i, 0) : a->at + i;
            /* L: a_ij − Σ l_ik conj(l_jk);  U: a_ji − Σ conj(u_kj) u_ki. */
            struct dd_complex sum = vector_dot(a->complex, row, step, other, step, j);
            sum = c_subtract(*entry, sum);
            *entry = c_divide(sum, c_real(pivot));
        }
    }
    return 0;
}

void factor_cholesky_update(struct matrix *r, struct dd_complex *w)
{
    int64_t n = r->rows;
    for (int64_t k = 0; k < n; k++) {
        struct double_double c;
        struct dd_complex s, size;
        rotation_make(*matrix_entry(r, k, k), w[k], &c, &s, &size);
        *matrix_entry(r, k, k) = size;
        vector_rotate(r->complex, c, s, matrix_entry(r, k, k) + 1, 1, w + k + 1, 1, n - k - 1);
    }
}

/* --- tridiagonal systems --- */

int64_t factor_tridiagonal_solve(int64_t n, bool complex, struct dd_complex *dl,
                                 struct dd_complex *d, struct dd_complex *du, struct matrix *b)
{
    int64_t columns = b->columns;
    for (int64_t k = 0; k < n - 1; k++) {
        struct dd_complex *below = &dl[k + 1];
        if (c_is_zero(*below)) {
            if (c_is_zero(d[k])) {
                return k + 1;
            }
        } else if (!is_larger(*below, d[k])) {
            struct dd_complex factor = c_negate(c_divide(*below, d[k]));
            d[k + 1] = c_add(d[k + 1], c_multiply(factor, du[k]));
            vector_add(complex, factor, matrix_entry(b, k, 0), 1, matrix_entry(b, k + 1, 0), 1,
                       columns);
            *below = (struct dd_complex){0};
        } else {
            struct dd_complex factor = c_divide(d[k], *below), above = d[k + 1];
            d[k] = *below;
            d[k + 1] = c_subtract(du[k], c_multiply(factor, above));
            if (k < n - 2) {
                *below = du[k + 1];
                du[k + 1] = c_negate(c_multiply(factor, *below));
            } else {
                *below = (struct dd_complex){0};
            }
            du[k] = above;
            for (int64_t j = 0; j < columns; j++) {
                struct dd_complex *upper = matrix_entry(b, k, j);
                struct dd_complex *lower = matrix_entry(b, k + 1, j);
                struct dd_complex old = *upper;
                *upper = *lower;
                *lower = c_subtract(old, c_multiply(factor, *lower));
            }
        }
    }
    if (n > 0 && c_is_zero(d[n - 1])) {
        return n;
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int64_t j = 0; j < columns; j++) {
            struct dd_complex value = *matrix_entry(b, i, j);
            if (i < n - 1) {
                value = c_subtract(value, c_multiply(du[i], *matrix_entry(b, i + 1, j)));
            }
            if (i < n - 2) {
                value = c_subtract(value, c_multiply(dl[i + 1], *matrix_entry(b, i + 2, j)));
            }
            *matrix_entry(b, i, j) = c_divide(value, d[i]);
        }
    }
    return 0;
}
