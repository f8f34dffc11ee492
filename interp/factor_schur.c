/* Schur forms by the QR method on Hessenberg matrices, with one shift for complex matrices and the
 * double shift for real ones; eigenvectors by back substitution. */
#include <stdlib.h>
#include <string.h>

#include "interp/factor_internal.h"

enum { MOST_ITERATIONS = 100 };

/* The first row of the active block that ends in row `end`: its subdiagonal entry is negligible and
 * becomes zero. */
static int64_t block_start(struct matrix *h, int64_t end, double norm)
{
    int64_t l = end;
    for (; l > 0; l--) {
        struct dd_complex *below = matrix_entry(h, l, l - 1);
        double near = c_size(*matrix_entry(h, l, l)) + c_size(*matrix_entry(h, l - 1, l - 1));
        if (c_size(*below) <= EPSILON * (near == 0 ? norm : near)) {
            *below = (struct dd_complex){0};
            break;
        }
    }
    return l;
}

static double norm_of(const struct matrix *a)
{
    double norm = 0;
    for (int64_t i = 0; i < a->rows * a->columns; i++) {
        double size = c_size(a->at[i]);
        norm = size > norm ? size : norm;
    }
    return norm;
}

static struct dd_complex c_root(struct dd_complex a)
{
    struct double_double size = c_absolute(a);
    if (size.high == 0) {
        return a;
    }
    bool right = a.re.high >= 0;
    struct double_double big = dd_sqrt(dd_half(dd_add(size, right ? a.re : dd_negate(a.re))));
    struct double_double small = dd_divide(dd_half(a.im), big);
    if (right) {
        return (struct dd_complex){big, small};
    }
    if (a.im.high < 0) {
        return (struct dd_complex){dd_negate(small), dd_negate(big)};
    }
    return (struct dd_complex){small, big};
}

/* The eigenvalues of [a b; c d]. */
static void eigenvalues_2(struct dd_complex a, struct dd_complex b, struct dd_complex c,
                          struct dd_complex d, struct dd_complex w[2])
{
    struct dd_complex half = c_subtract(a, d);
    half = (struct dd_complex){dd_half(half.re), dd_half(half.im)};
    struct dd_complex root = c_root(c_add(c_multiply(half, half), c_multiply(b, c)));
    w[0] = c_add(d, c_add(half, root));
    w[1] = c_add(d, c_subtract(half, root));
}

/* Rows p and q of h from column `from` on, columns p and q down to row `to`, and columns p and q of
 * z, turned by the rotation (c, s): rows by it, columns by its adjoint. */
static void turn(struct matrix *h, struct matrix *z, int64_t p, int64_t q, int64_t from, int64_t to,
                 struct double_double c, struct dd_complex s)
{
    int64_t n = h->columns;
    bool complex = h->complex;
    vector_rotate(complex, c, s, matrix_entry(h, p, from), 1, matrix_entry(h, q, from), 1,
                  n - from);
    vector_rotate(complex, c, c_conjugate(s), h->at + p, n, h->at + q, n, to + 1);
    vector_rotate(complex, c, c_conjugate(s), z->at + p, n, z->at + q, n, z->rows);
}

/* --- complex --- */

static bool schur_complex(struct matrix *h, struct matrix *z)
{
    double norm = norm_of(h);
    int iterations = 0;
    for (int64_t end = h->rows - 1; end > 0;) {
        int64_t l = block_start(h, end, norm);
        if (l == end) {
            end--;
            iterations = 0;
            continue;
        }
        if (++iterations > MOST_ITERATIONS || factor_stopped()) {
            return false;
        }
        struct dd_complex corner = *matrix_entry(h, end, end), w[2], shift;
        eigenvalues_2(*matrix_entry(h, end - 1, end - 1), *matrix_entry(h, end - 1, end),
                      *matrix_entry(h, end, end - 1), corner, w);
        shift = c_size(c_subtract(w[0], corner)) < c_size(c_subtract(w[1], corner)) ? w[0] : w[1];
        if (iterations % 20 == 10) { /* an exceptional one */
            shift = c_add(corner, c_real(c_absolute(*matrix_entry(h, end, end - 1))));
        }
        struct dd_complex f = c_subtract(*matrix_entry(h, l, l), shift);
        struct dd_complex g = *matrix_entry(h, l + 1, l);
        for (int64_t k = l; k < end; k++) {
            struct double_double c;
            struct dd_complex s, r;
            rotation_make(f, g, &c, &s, &r);
            turn(h, z, k, k + 1, k > l ? k - 1 : k, k + 2 < end ? k + 2 : end, c, s);
            if (k > l) {
                *matrix_entry(h, k, k - 1) = r;
                *matrix_entry(h, k + 1, k - 1) = (struct dd_complex){0};
            }
            if (k + 2 <= end) {
                f = *matrix_entry(h, k + 1, k);
                g = *matrix_entry(h, k + 2, k);
            }
        }
    }
    return true;
}

/* --- real --- */

/* H := P H P with P = I − tau v vᵀ on rows and columns k, k + 1 … (size of them). */
static void reflect(struct matrix *h, struct matrix *z, int64_t k, int64_t size, int64_t from,
                    int64_t to, struct double_double tau, const struct double_double *v)
{
    int64_t n = h->columns;
    for (int64_t j = from; j < n; j++) {
        struct double_double sum = {0, 0};
        for (int64_t i = 0; i < size; i++) {
            sum = dd_add(sum, dd_multiply(v[i], matrix_entry(h, k + i, j)->re));
        }
        sum = dd_multiply(sum, tau);
        for (int64_t i = 0; i < size; i++) {
            struct dd_complex *at = matrix_entry(h, k + i, j);
            at->re = dd_subtract(at->re, dd_multiply(sum, v[i]));
        }
    }
    for (int pass = 0; pass < 2; pass++) {
        struct matrix *m = pass == 0 ? h : z;
        int64_t rows = pass == 0 ? to + 1 : z->rows;
        for (int64_t i = 0; i < rows; i++) {
            struct dd_complex *at = matrix_entry(m, i, k);
            struct double_double sum = {0, 0};
            for (int64_t j = 0; j < size; j++) {
                sum = dd_add(sum, dd_multiply(v[j], at[j].re));
            }
            sum = dd_multiply(sum, tau);
            for (int64_t j = 0; j < size; j++) {
                at[j].re = dd_subtract(at[j].re, dd_multiply(sum, v[j]));
            }
        }
    }
}

/* The reflector of (x[0], x[1], …): v (v[0] = 1), tau. */
static struct double_double reflector(const struct double_double *x, int64_t size,
                                      struct double_double *v)
{
    struct dd_complex head = c_real(x[0]), tail[2];
    for (int64_t i = 1; i < size; i++) {
        tail[i - 1] = c_real(x[i]);
    }
    struct dd_complex tau = reflector_make(false, &head, tail, 1, size - 1);
    v[0] = dd_from(1);
    for (int64_t i = 1; i < size; i++) {
        v[i] = tail[i - 1].re;
    }
    return tau.re;
}

/* A 2 × 2 block at k: with real eigenvalues it is made triangular, else its diagonal entries are
 * made equal. */
static void standardize(struct matrix *h, struct matrix *z, int64_t k)
{
    struct double_double a = matrix_entry(h, k, k)->re, b = matrix_entry(h, k, k + 1)->re;
    struct double_double c = matrix_entry(h, k + 1, k)->re, d = matrix_entry(h, k + 1, k + 1)->re;
    struct double_double half = dd_half(dd_subtract(a, d));
    struct double_double disc = dd_add(dd_multiply(half, half), dd_multiply(b, c));
    struct double_double cosine;
    struct dd_complex sine, r;
    if (disc.high >= 0) {
        /* (λ − d, c) is an eigenvector, for the eigenvalue that loses no digits. */
        struct double_double root = dd_sqrt(disc);
        struct double_double x = half.high < 0 ? dd_subtract(half, root) : dd_add(half, root);
        if (x.high == 0 && c.high == 0) {
            return;
        }
        rotation_make(c_real(x), c_real(c), &cosine, &sine, &r);
        turn(h, z, k, k + 1, k, k + 1, cosine, sine);
        *matrix_entry(h, k + 1, k) = (struct dd_complex){0};
        return;
    }
    /* Equal diagonal: tan 2θ = (a − d) / (b + c). */
    struct double_double sum = dd_add(b, c), difference = dd_subtract(a, d);
    if (difference.high == 0) {
        return;
    }
    struct double_double size =
        dd_sqrt(dd_add(dd_multiply(sum, sum), dd_multiply(difference, difference)));
    struct double_double absolute = sum.high < 0 ? dd_negate(sum) : sum;
    cosine = dd_sqrt(dd_half(dd_add(dd_from(1), dd_divide(absolute, size))));
    struct double_double s = dd_divide(dd_half(dd_divide(difference, size)), cosine);
    s = sum.high < 0 ? s : dd_negate(s);
    turn(h, z, k, k + 1, k, k + 1, cosine, c_real(s));
    struct double_double mean =
        dd_half(dd_add(matrix_entry(h, k, k)->re, matrix_entry(h, k + 1, k + 1)->re));
    matrix_entry(h, k, k)->re = mean;
    matrix_entry(h, k + 1, k + 1)->re = mean;
}

static bool schur_real(struct matrix *h, struct matrix *z)
{
    double norm = norm_of(h);
    int iterations = 0;
    for (int64_t end = h->rows - 1; end > 0;) {
        int64_t l = block_start(h, end, norm);
        if (l >= end - 1) {
            if (l == end - 1) {
                standardize(h, z, l);
            }
            end = l - 1;
            iterations = 0;
            continue;
        }
        if (++iterations > MOST_ITERATIONS || factor_stopped()) {
            return false;
        }
        struct double_double a = matrix_entry(h, end - 1, end - 1)->re;
        struct double_double b = matrix_entry(h, end - 1, end)->re;
        struct double_double c = matrix_entry(h, end, end - 1)->re;
        struct double_double d = matrix_entry(h, end, end)->re;
        struct double_double trace = dd_add(a, d);
        struct double_double determinant = dd_subtract(dd_multiply(a, d), dd_multiply(b, c));
        if (iterations % 20 == 10) { /* exceptional shifts */
            struct double_double size =
                dd_from(fabs(c.high) + fabs(matrix_entry(h, end - 1, end - 2)->re.high));
            trace = dd_multiply(dd_from(1.5), size);
            determinant = dd_multiply(size, size);
        }
        /* The first column of H² − trace H + determinant. */
        struct double_double h00 = matrix_entry(h, l, l)->re, h10 = matrix_entry(h, l + 1, l)->re;
        struct double_double h01 = matrix_entry(h, l, l + 1)->re;
        struct double_double h11 = matrix_entry(h, l + 1, l + 1)->re;
        struct double_double x[3] = {
            dd_add(dd_add(dd_multiply(h00, dd_subtract(h00, trace)), dd_multiply(h01, h10)),
                   determinant),
            dd_multiply(h10, dd_subtract(dd_add(h00, h11), trace)),
            dd_multiply(h10, matrix_entry(h, l + 2, l + 1)->re),
        };
        for (int64_t k = l; k < end; k++) {
            int64_t size = end - k + 1 < 3 ? end - k + 1 : 3;
            struct double_double v[3];
            struct double_double tau = reflector(x, size, v);
            reflect(h, z, k, size, k > l ? k - 1 : l, k + 3 < end ? k + 3 : end, tau, v);
            for (int64_t i = 1; k > l && i < size; i++) {
                *matrix_entry(h, k + i, k - 1) = (struct dd_complex){0};
            }
            for (int64_t i = 0; i < 3 && k + 1 + i <= end; i++) {
                x[i] = matrix_entry(h, k + 1 + i, k)->re;
            }
        }
    }
    return true;
}

bool factor_schur(struct matrix *a, struct matrix *z, struct dd_complex *w)
{
    int64_t n = a->rows;
    struct dd_complex *tau = calloc((size_t)n + 1, sizeof *tau);
    struct matrix q = {0};
    bool ok = tau != NULL;
    if (ok) {
        factor_hessenberg(a, 0, n, tau, NULL);
        ok = factor_hessenberg_q(a, 0, n, tau, &q);
    }
    for (int64_t i = 0; ok && i < n; i++) {
        for (int64_t j = 0; j + 1 < i; j++) {
            *matrix_entry(a, i, j) = (struct dd_complex){0};
        }
    }
    ok = ok && (a->complex ? schur_complex(a, &q) : schur_real(a, &q));
    for (int64_t i = 0; ok && i < n; i++) {
        w[i] = *matrix_entry(a, i, i);
        if (!a->complex && i + 1 < n && matrix_entry(a, i + 1, i)->re.high != 0) {
            struct double_double b = matrix_entry(a, i, i + 1)->re;
            struct double_double c = matrix_entry(a, i + 1, i)->re;
            w[i].im = dd_sqrt(dd_negate(dd_multiply(b, c)));
            w[i + 1] = c_conjugate(w[i]);
            i++;
        }
    }
    if (ok && z != NULL) {
        memcpy(z->at, q.at, (size_t)(n * n) * sizeof *q.at);
    }
    matrix_finish(&q);
    free(tau);
    return ok;
}

/* --- eigenvectors --- */

/* The 2 × 2 blocks of a real Schur form made triangular. */
static void split_blocks(struct matrix *t, struct matrix *z, const struct dd_complex *w)
{
    t->complex = z->complex = true;
    for (int64_t k = 0; k + 1 < t->rows; k++) {
        struct dd_complex below = *matrix_entry(t, k + 1, k);
        if (c_is_zero(below)) {
            continue;
        }
        struct double_double c;
        struct dd_complex s, r;
        struct dd_complex x = c_subtract(w[k], *matrix_entry(t, k + 1, k + 1));
        rotation_make(x, below, &c, &s, &r);
        turn(t, z, k, k + 1, k, k + 1, c, s);
        *matrix_entry(t, k + 1, k) = (struct dd_complex){0};
        k++;
    }
}

static void normalize_column(struct matrix *m, int64_t column, const struct dd_complex *x)
{
    struct double_double size = dd_sqrt(vector_square(true, x, 1, m->rows));
    for (int64_t i = 0; i < m->rows; i++) {
        *matrix_entry(m, i, column) = c_divide(x[i], c_real(size));
    }
}

/* The vector with T x = t_kk x (right) or xᴴ T = t_kk xᴴ, x_k = 1; times Z it goes to a column. */
static void eigenvector(const struct matrix *t, const struct matrix *z, int64_t k, bool right,
                        double norm, struct dd_complex *x, struct dd_complex *turned,
                        struct matrix *to)
{
    int64_t n = t->rows;
    memset(x, 0, (size_t)n * sizeof *x);
    x[k] = c_real(dd_from(1));
    struct dd_complex lambda = *matrix_entry(t, k, k);
    for (int64_t step = 1; step <= (right ? k : n - 1 - k); step++) {
        int64_t i = right ? k - step : k + step;
        struct dd_complex sum = {0};
        for (int64_t j = right ? i + 1 : k; j <= (right ? k : i - 1); j++) {
            struct dd_complex entry =
                right ? *matrix_entry(t, i, j) : c_conjugate(*matrix_entry(t, j, i));
            sum = c_add(sum, c_multiply(entry, x[j]));
        }
        struct dd_complex gap = c_subtract(lambda, *matrix_entry(t, i, i));
        if (!(c_size(gap) > EPSILON * norm)) {
            gap = c_real(dd_from(norm > 0 ? EPSILON * norm : 1));
        }
        x[i] = c_divide(sum, right ? gap : c_conjugate(gap));
    }
    for (int64_t i = 0; i < n; i++) {
        struct dd_complex sum = {0};
        for (int64_t j = 0; j < n; j++) {
            sum = c_add(sum, c_multiply(*matrix_entry(z, i, j), x[j]));
        }
        turned[i] = sum;
    }
    normalize_column(to, k, turned);
}

bool factor_eigen_general(const struct matrix *a, struct dd_complex *w, struct matrix *right,
                          struct matrix *left)
{
    int64_t n = a->rows;
    struct matrix t = matrix_make(n, n, a->complex), z = matrix_make(n, n, a->complex);
    struct dd_complex *memory = calloc(2 * (size_t)n + 1, sizeof *memory);
    bool ok = t.at != NULL && z.at != NULL && memory != NULL;
    if (ok) {
        memcpy(t.at, a->at, (size_t)(n * n) * sizeof *a->at);
        ok = factor_schur(&t, &z, w);
    }
    if (ok && !a->complex) {
        split_blocks(&t, &z, w);
    }
    double norm = ok ? norm_of(&t) : 0;
    for (int side = 0; ok && side < 2; side++) {
        struct matrix *to = side == 0 ? right : left;
        for (int64_t k = 0; to != NULL && k < n && !factor_stopped(); k++) {
            eigenvector(&t, &z, k, side == 0, norm, memory, memory + n, to);
            if (!a->complex && w[k].im.high < 0 && k > 0) { /* the other one of its pair */
                for (int64_t i = 0; i < n; i++) {
                    *matrix_entry(to, i, k) = c_conjugate(*matrix_entry(to, i, k - 1));
                }
            }
        }
    }
    matrix_finish(&t);
    matrix_finish(&z);
    free(memory);
    return ok;
}
