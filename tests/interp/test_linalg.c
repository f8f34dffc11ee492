/* cholesky and triangular-solve against the same recurrences in MPFR at 400 bits and more (also
 * where the matrix is so badly conditioned that hundreds of bits cancel), results on and next to
 * rounding boundaries, exact zeros, singular matrices; and triangular-solve in every variant
 * against values of XLA's CPU (jaxlib 0.10.2). */
#include "one_op.h"

static struct rng rng;
static mpfr_prec_t precision = 400;

static void setup(void)
{
    rng_init(&rng, 31);
    pool_set_threads(2);
}

/* --- complex MPFR numbers --- */

struct number {
    mpfr_t re, im;
};

static struct number *numbers_create(int64_t count)
{
    struct number *numbers = malloc((size_t)count * sizeof *numbers);
    for (int64_t i = 0; i < count; i++) {
        mpfr_init2(numbers[i].re, precision);
        mpfr_init2(numbers[i].im, precision);
        mpfr_set_zero(numbers[i].re, 1);
        mpfr_set_zero(numbers[i].im, 1);
    }
    return numbers;
}

static void numbers_destroy(struct number *numbers, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        mpfr_clear(numbers[i].re);
        mpfr_clear(numbers[i].im);
    }
    free(numbers);
}

static void load(struct number *number, const struct literal *literal, int64_t index,
                 bool conjugate)
{
    double imaginary = literal_get_imaginary(literal, index);
    mpfr_set_d(number->re, literal_get_double(literal, index), MPFR_RNDN);
    mpfr_set_d(number->im, conjugate ? -imaginary : imaginary, MPFR_RNDN);
}

/* sum -= a * b, or a * conj(b) */
static void subtract_product(struct number *sum, const struct number *a, const struct number *b,
                             bool conjugate)
{
    mpfr_t t, u;
    mpfr_inits2(precision, t, u, (mpfr_ptr)NULL);
    mpfr_mul(t, a->re, b->re, MPFR_RNDN);
    mpfr_mul(u, a->im, b->im, MPFR_RNDN);
    mpfr_sub(sum->re, sum->re, t, MPFR_RNDN);
    (conjugate ? mpfr_sub : mpfr_add)(sum->re, sum->re, u, MPFR_RNDN);
    mpfr_mul(t, a->re, b->im, MPFR_RNDN);
    mpfr_mul(u, a->im, b->re, MPFR_RNDN);
    (conjugate ? mpfr_add : mpfr_sub)(sum->im, sum->im, t, MPFR_RNDN);
    mpfr_sub(sum->im, sum->im, u, MPFR_RNDN);
    mpfr_clears(t, u, (mpfr_ptr)NULL);
}

/* a /= b */
static void divide(struct number *a, const struct number *b)
{
    mpfr_t size, t, u;
    mpfr_inits2(precision, size, t, u, (mpfr_ptr)NULL);
    mpfr_sqr(size, b->re, MPFR_RNDN);
    mpfr_sqr(t, b->im, MPFR_RNDN);
    mpfr_add(size, size, t, MPFR_RNDN);
    mpfr_mul(t, a->re, b->re, MPFR_RNDN);
    mpfr_mul(u, a->im, b->im, MPFR_RNDN);
    mpfr_add(t, t, u, MPFR_RNDN);
    mpfr_mul(a->im, a->im, b->re, MPFR_RNDN);
    mpfr_mul(u, a->re, b->im, MPFR_RNDN);
    mpfr_sub(u, a->im, u, MPFR_RNDN);
    mpfr_div(a->re, t, size, MPFR_RNDN);
    mpfr_div(a->im, u, size, MPFR_RNDN);
    mpfr_clears(size, t, u, (mpfr_ptr)NULL);
}

static void check_number(const struct literal *literal, int64_t index, const struct number *want)
{
    check_nearest(literal, index, 0, *(mpfr_t *)&want->re);
    if (type_is_complex(literal->shape->type)) {
        check_nearest(literal, index, 1, *(mpfr_t *)&want->im);
    }
}

/* --- cholesky --- */

/* A Hermitian positive definite matrix; the triangle that is not read is spoilt. */
static void fill_definite(struct literal *a, int64_t matrix, int64_t n, bool lower)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            int64_t at = (matrix * n + i) * n + j;
            double re = i == j ? (double)n : 2 * rng_uniform(&rng) - 1;
            double im = i == j ? 0 : 2 * rng_uniform(&rng) - 1;
            bool read = lower ? j <= i : j >= i;
            if (type_is_complex(a->shape->type)) {
                literal_set_complex(a, at, read ? re : NAN, read ? im : NAN);
            } else {
                literal_set_double(a, at, read ? re : NAN);
            }
        }
    }
}

static void check_factorization(struct one_op *op, int64_t matrices, int64_t n, bool lower)
{
    struct literal *result = one_op_run(op, eval_cholesky);
    for (int64_t m = 0; m < matrices; m++) {
        struct number *l = numbers_create(n * n);
        for (int64_t j = 0; j < n; j++) {
            for (int64_t i = j; i < n; i++) {
                struct number *element = &l[i * n + j];
                int64_t at = lower ? i * n + j : j * n + i;
                load(element, op->values[0], m * n * n + at, false);
                for (int64_t k = 0; k < j; k++) {
                    subtract_product(element, &l[i * n + k], &l[j * n + k], true);
                }
                if (i == j) {
                    mpfr_sqrt(element->re, element->re, MPFR_RNDN);
                    mpfr_set_zero(element->im, 1);
                } else {
                    divide(element, &l[j * n + j]);
                }
                check_number(result, m * n * n + at, element);
                if (i != j) {
                    int64_t other = lower ? j * n + i : i * n + j;
                    ck_assert(literal_get_double(result, m * n * n + other) == 0);
                }
            }
        }
        numbers_destroy(l, n * n);
    }
    literal_release(result);
}

static void check_cholesky(const char *type, int64_t matrices, int64_t n, bool lower)
{
    char body[512];
    snprintf(body, sizeof body,
             "a = %s[%d,%d,%d] parameter(0)\nROOT r = %s[%d,%d,%d] cholesky(a), lower=%s", type,
             (int)matrices, (int)n, (int)n, type, (int)matrices, (int)n, (int)n,
             lower ? "true" : "false");
    struct one_op op;
    one_op_init(&op, body);
    for (int64_t m = 0; m < matrices; m++) {
        fill_definite(op.values[0], m, n, lower);
    }
    check_factorization(&op, matrices, n, lower);
    one_op_finish(&op);
}

START_TEST(test_cholesky)
{
    static const char *const types[] = {"f32", "f64", "c64", "c128", "bf16"};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        check_cholesky(types[t], 1, 1, true);
        check_cholesky(types[t], 3, 6, true);
        check_cholesky(types[t], 2, 6, false);
        check_cholesky(types[t], 1, 40, _i != 0);
    }
}
END_TEST

/* XLA gives NaN everywhere for a matrix that is not positive definite, and leaves the others of the
 * batch alone. */
START_TEST(test_cholesky_indefinite)
{
    struct one_op op;
    one_op_init(&op, "a = f32[2,2,2] parameter(0)\nROOT r = f32[2,2,2] cholesky(a), lower=true");
    static const double values[] = {4, 0, 2, -5, 4, 0, 2, 5};
    for (int i = 0; i < 8; i++) {
        literal_set_double(op.values[0], i, values[i]);
    }
    struct literal *result = one_op_run(&op, eval_cholesky);
    for (int i = 0; i < 4; i++) {
        ck_assert(isnan(literal_get_double(result, i)));
        ck_assert(literal_is_unspecified(result, i));
        static const double want[] = {2, 0, 1, 2};
        ck_assert(literal_get_double(result, 4 + i) == want[i]);
        ck_assert(!literal_is_unspecified(result, 4 + i));
    }
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

/* Sets the triangle that is read, row by row, and evaluates; NULL: all is as it should be. */
static struct literal *factor_of(struct one_op *op, const char *type, int n, const double *rows)
{
    char body[256];
    snprintf(body, sizeof body,
             "a = %s[%d,%d] parameter(0)\nROOT r = %s[%d,%d] cholesky(a), lower=true", type, n, n,
             type, n, n);
    one_op_init(op, body);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            literal_set_double(op->values[0], i * n + j, *rows++);
        }
    }
    return one_op_run(op, eval_cholesky);
}

static void check_factor(const char *type, int n, const double *rows, const double *want)
{
    struct one_op op;
    struct literal *result = factor_of(&op, type, n, rows);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++, want++) {
            double got = literal_get_double(result, i * n + j);
            ck_assert_msg(memcmp(&got, want, sizeof got) == 0 || (isnan(got) && isnan(*want)),
                          "%s (%d, %d): %a, not %a", type, i, j, got, *want);
            ck_assert(literal_is_unspecified(result, i * n + j) == (isnan(*want) != 0));
        }
    }
    literal_release(result);
    one_op_finish(&op);
}

/* Factors known by construction. */
START_TEST(test_cholesky_boundaries)
{
    /* l21 = 2^24 − l20 l10 on a tie of f32, and with l30 l20 2^-100 to either side of it. */
    static const double tie[] = {1, 1, 2, -1, 0x1p24, 0x1p52};
    struct one_op op;
    struct literal *result = factor_of(&op, "f32", 3, tie);
    ck_assert(literal_get_double(result, 7) == 0x1p24);
    literal_release(result);
    one_op_finish(&op);
    for (int sign = -1; sign <= 1; sign += 2) {
        const double rows[] = {1, 0x1p-50, 1, 1, 0, 2, -1, -sign * 0x1p-50, 0x1p24, 0x1p52};
        result = factor_of(&op, "f32", 4, rows);
        /* l21 = 0 − 2^-50 · 1, about; l32 (l22 = 1 + 2^-101) = 2^24 + 1 − l31 l21 */
        mpfr_t l[10], t;
        int at = 0;
        mpfr_init2(t, 2000);
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j <= i; j++, at++) {
                mpfr_init2(l[at], 2000);
                mpfr_set_d(l[at], rows[at], MPFR_RNDN);
                for (int k = 0; k < j; k++) {
                    mpfr_mul(t, l[i * (i + 1) / 2 + k], l[j * (j + 1) / 2 + k], MPFR_RNDN);
                    mpfr_sub(l[at], l[at], t, MPFR_RNDN);
                }
                if (i == j) {
                    mpfr_sqrt(l[at], l[at], MPFR_RNDN);
                } else {
                    mpfr_div(l[at], l[at], l[j * (j + 1) / 2 + j], MPFR_RNDN);
                }
                check_nearest(result, i * 4 + j, 0, l[at]);
            }
        }
        for (int i = 0; i < at; i++) {
            mpfr_clear(l[i]);
        }
        mpfr_clear(t);
        literal_release(result);
        one_op_finish(&op);
    }
    /* v vᵀ is singular, though no pivot is a dyadic multiple of another. */
    static const double singular[] = {9, 15, 25, 21, 35, 49},
                        nothing[6] = {NAN, NAN, NAN, NAN, NAN, NAN};
    check_factor("f32", 3, singular, nothing);
    check_factor("f64", 3, singular, nothing);
    /* A last pivot of zero passes, as in XLA; the smallest step below does not. */
    static const double last[] = {9, 15, 25}, last_factor[] = {3, 5, 0};
    check_factor("f64", 2, last, last_factor);
    const double below[] = {9, 15, nextafter(25, 0)};
    check_factor("f64", 2, below, nothing);
    const double above[] = {9, 15, nextafter(25, 26)}, above_factor[] = {3, 5, 0x1p-24};
    check_factor("f64", 2, above, above_factor);
    /* Zeros that come about by cancellation of irrational numbers, and those of a band. */
    static const double cancelled[] = {2, 1, 2, 1, 0.5, 2};
    result = factor_of(&op, "f32", 3, cancelled);
    double zero = literal_get_double(result, 7);
    ck_assert(zero == 0 && !signbit(zero));
    literal_release(result);
    one_op_finish(&op);
    /* The ends of the range. */
    static const double huge[] = {0x1p1022, -0x1p1022, 0x1p1023},
                        huge_factor[] = {0x1p511, -0x1p511, 0x1p511};
    check_factor("f64", 2, huge, huge_factor);
    static const double small[] = {0x1p-1072, 0x1p-1073, 0x1p-1072};
    result = factor_of(&op, "f64", 2, small);
    ck_assert(literal_get_double(result, 2) == 0x1p-537);
    ck_assert(literal_get_double(result, 3) == 0x1.bb67ae8584caap-537); /* √3/2 · 2^-536 */
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

/* Two elements on ties in the midst of a matrix whose other elements are integers and roots of
 * them, so that only what those two depend on is computed again: rows p < q < r of L are (1 at p),
 * (1 at p, 1 at q) and (−1 at p, 2^24 + 1 at q), with a(r, q) = 2^24. */
START_TEST(test_cholesky_open_elements)
{
    enum { N = 40, BLOCKS = 2 };
    static const int blocks[BLOCKS][3] = {{5, 11, 30}, {7, 20, 25}};
    static double l[N][N], a[N * (N + 1) / 2];
    const double half = _i == 0 ? 0x1p24 : 0x1p53, square = _i == 0 ? 0x1p52 : 0x1p110;
    rng_init(&rng, 11);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j <= i; j++) {
            l[i][j] = i == j ? 4 : (double)rng_below(&rng, 3) - 1;
        }
    }
    for (int b = 0; b < BLOCKS; b++) {
        const int p = blocks[b][0], q = blocks[b][1], r = blocks[b][2];
        for (int k = 0; k < N; k++) {
            l[p][k] = l[q][k] = l[r][k] = 0;
            l[k][q] = l[k][r] = 0;
        }
        l[p][p] = l[q][p] = l[q][q] = 1;
        l[r][p] = -1;
    }
    double *at = a;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j <= i; j++, at++) {
            *at = 0;
            for (int k = 0; k <= j; k++) {
                *at += l[i][k] * l[j][k];
            }
        }
    }
    for (int b = 0; b < BLOCKS; b++) {
        const int q = blocks[b][1], r = blocks[b][2];
        a[r * (r + 1) / 2 + q] = half;
        a[r * (r + 1) / 2 + r] = square;
        l[r][q] = half; /* rounded to even */
        l[r][r] = NAN;  /* no integer */
    }
    struct one_op op;
    struct literal *result = factor_of(&op, _i == 0 ? "f32" : "f64", N, a);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j <= i; j++) {
            double got = literal_get_double(result, i * N + j);
            ck_assert_msg(got == l[i][j] || isnan(l[i][j]), "(%d, %d): %a, not %a", i, j, got,
                          l[i][j]);
        }
    }
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

/* Hilbert matrices: with entries rounded to f64 those of up to 12 rows are positive definite, and
 * the last pivots lose nearly all bits of a double-double. */
START_TEST(test_cholesky_hilbert)
{
    precision = 1000;
    for (int n = 2; n <= 12; n += 5) {
        struct one_op op;
        char body[256];
        snprintf(body, sizeof body,
                 "a = f64[%d,%d] parameter(0)\nROOT r = f64[%d,%d] cholesky(a), lower=true", n, n,
                 n, n);
        one_op_init(&op, body);
        for (int i = 0; i < n * n; i++) {
            literal_set_double(op.values[0], i, 1.0 / (i / n + i % n + 1));
        }
        check_factorization(&op, 1, n, true);
        one_op_finish(&op);
    }
}
END_TEST

/* --- triangular-solve --- */

struct variant {
    bool left, lower, unit;
    const char *transpose;
};

static void init_solve(struct one_op *op, const char *type, const struct variant *v, int batch,
                       int n, int columns)
{
    char body[512], b[64];
    snprintf(b, sizeof b, "%s[%d,%d,%d]", type, batch, v->left ? n : columns,
             v->left ? columns : n);
    snprintf(body, sizeof body,
             "a = %s[%d,%d,%d] parameter(0)\nb = %s parameter(1)\n"
             "ROOT r = %s triangular-solve(a, b), left_side=%s, lower=%s, unit_diagonal=%s, "
             "transpose_a=%s",
             type, batch, n, n, b, b, v->left ? "true" : "false", v->lower ? "true" : "false",
             v->unit ? "true" : "false", v->transpose);
    one_op_init(op, body);
}

static void check_solution(struct one_op *op, const struct variant *v, int matrices, int n,
                           int columns)
{
    struct literal *result = one_op_run(op, eval_triangular_solve);
    bool transposed = strcmp(v->transpose, "NO_TRANSPOSE") != 0;
    bool conjugate = strcmp(v->transpose, "ADJOINT") == 0;
    /* X op(A) = B has the solution of op(A)^T X^T = B^T. */
    bool turned = transposed == v->left;
    bool lower = v->lower != turned;
    struct number *x = numbers_create(n), *t = numbers_create(1);
    for (int64_t m = 0; m < matrices; m++) {
        for (int64_t c = 0; c < columns; c++) {
            for (int64_t step = 0; step < n; step++) {
                int64_t i = lower ? step : n - 1 - step;
                int64_t place = m * n * columns + (v->left ? i * columns + c : c * n + i);
                load(&x[i], op->values[1], place, false);
                for (int64_t k = 0; k < n; k++) {
                    if (lower ? k < i : k > i) {
                        load(t, op->values[0], m * n * n + (turned ? k * n + i : i * n + k),
                             conjugate);
                        subtract_product(&x[i], t, &x[k], false);
                    }
                }
                if (!v->unit) {
                    load(t, op->values[0], m * n * n + i * n + i, conjugate);
                    divide(&x[i], t);
                }
                check_number(result, place, &x[i]);
            }
        }
    }
    numbers_destroy(x, n);
    numbers_destroy(t, 1);
    literal_release(result);
}

static void check_solve(const char *type, const struct variant *v, int n, int columns)
{
    struct one_op op;
    init_solve(&op, type, v, 2, n, columns);
    fill_random(op.values[0], &rng, 1);
    fill_random(op.values[1], &rng, 1);
    for (int64_t m = 0; m < 2; m++) {
        for (int64_t i = 0; i < n; i++) {
            double diagonal = 3 + rng_uniform(&rng);
            int64_t at = (m * n + i) * n + i;
            if (type_is_complex(op.values[0]->shape->type)) {
                literal_set_complex(op.values[0], at, diagonal, 1);
            } else {
                literal_set_double(op.values[0], at, diagonal);
            }
        }
    }
    check_solution(&op, v, 2, n, columns);
    one_op_finish(&op);
}

START_TEST(test_solve)
{
    static const char *const types[] = {"f32", "f64", "c64", "c128", "f16"};
    static const char *const transposes[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
    for (int bits = 0; bits < 24; bits++) {
        struct variant v = {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0,
                            transposes[bits / 8]};
        check_solve(types[_i], &v, 7, 3);
    }
    struct variant v = {true, true, false, "NO_TRANSPOSE"};
    check_solve(types[_i], &v, 33, 2);
}
END_TEST

/* Every variant on a = {2 3 5, 7 4 1, 6 8 3} and b = {1 2, 3 4, 5 6} (transposed when on the
 * right): what jaxlib 0.10.2 computed on CPU, f64. TRANSPOSE and ADJOINT agree on real numbers. */
struct recorded {
    bool left, lower, unit, transposed;
    double x[6];
};

static const struct recorded recorded[] = {
    {true, true, true, false, {1.0, 2.0, -4.0, -10.0, 31.0, 74.0}},
    {true, true, true, true, {230.0, 274.0, -37.0, -44.0, 5.0, 6.0}},
    {true, true, false, false, {0.5, 1.0, -0.125, -0.75, 1.0, 2.0}},
    {true,
     true,
     false,
     true,
     {4.541666666666666, 5.5, -2.583333333333333, -3.0, 1.6666666666666665, 2.0}},
    {true, false, true, false, {-18.0, -22.0, -2.0, -2.0, 5.0, 6.0}},
    {true, false, true, true, {1.0, 2.0, 0.0, -2.0, 0.0, -2.0}},
    {true,
     false,
     false,
     false,
     {-4.166666666666666, -4.75, 0.33333333333333337, 0.5, 1.6666666666666665, 2.0}},
    {true, false, false, true, {0.5, 1.0, 0.375, 0.25, 0.7083333333333333, 0.2500000000000001}},
    {false, true, true, false, {230.0, -37.0, 5.0, 274.0, -44.0, 6.0}},
    {false, true, true, true, {1.0, -4.0, 31.0, 2.0, -10.0, 74.0}},
    {false,
     true,
     false,
     false,
     {4.541666666666666, -2.583333333333333, 1.6666666666666665, 5.5, -3.0, 2.0}},
    {false, true, false, true, {0.5, -0.125, 1.0, 1.0, -0.75, 2.0}},
    {false, false, true, false, {1.0, 0.0, 0.0, 2.0, -2.0, -2.0}},
    {false, false, true, true, {-18.0, -2.0, 5.0, -22.0, -2.0, 6.0}},
    {false, false, false, false, {0.5, 0.375, 0.7083333333333333, 1.0, 0.25, 0.2500000000000001}},
    {false,
     false,
     false,
     true,
     {-4.166666666666666, 0.33333333333333337, 1.6666666666666665, -4.75, 0.5, 2.0}},
};

START_TEST(test_solve_as_xla)
{
    static const double a[] = {2, 3, 5, 7, 4, 1, 6, 8, 3}, b[] = {1, 2, 3, 4, 5, 6};
    for (size_t r = 0; r < sizeof recorded / sizeof *recorded; r++) {
        struct variant v = {recorded[r].left, recorded[r].lower, recorded[r].unit,
                            recorded[r].transposed ? "TRANSPOSE" : "NO_TRANSPOSE"};
        struct one_op op;
        init_solve(&op, "f64", &v, 1, 3, 2);
        for (int i = 0; i < 9; i++) {
            literal_set_double(op.values[0], i, a[i]);
        }
        for (int i = 0; i < 6; i++) {
            literal_set_double(op.values[1], i, v.left ? b[i] : b[i % 3 * 2 + i / 3]);
        }
        struct literal *result = one_op_run(&op, eval_triangular_solve);
        for (int i = 0; i < 6; i++) {
            ck_assert_double_eq_tol(literal_get_double(result, i), recorded[r].x[i], 1e-14);
        }
        literal_release(result);
        one_op_finish(&op);
    }
}
END_TEST

/* Rows of a lower triangle and right-hand sides; what comes out is known by construction. */
static void check_known(const char *type, int n, const double *rows, const double *b,
                        const double *want)
{
    struct variant v = {true, true, false, "NO_TRANSPOSE"};
    struct one_op op;
    init_solve(&op, type, &v, 1, n, 1);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            literal_set_double(op.values[0], i * n + j, *rows++);
        }
        literal_set_double(op.values[1], i, b[i]);
    }
    struct literal *result = one_op_run(&op, eval_triangular_solve);
    for (int i = 0; i < n; i++) {
        double got = literal_get_double(result, i);
        ck_assert_msg(memcmp(&got, &want[i], sizeof got) == 0, "%s (%d): %a, not %a", type, i, got,
                      want[i]);
    }
    literal_release(result);
    one_op_finish(&op);
}

START_TEST(test_solve_boundaries)
{
    /* x1 = 2^24 + 1, once exactly, once by way of thirds: a tie of f32, so even. */
    static const double b[] = {1, 0x1p24}, rows[] = {1, -1, 1}, x[] = {1, 0x1p24};
    static const double thirds[] = {3, -3, 1}, third[] = {0x1.555556p-2, 0x1p24};
    check_known("f32", 2, rows, b, x);
    check_known("f32", 2, thirds, b, third);
    /* 2^24 + 3 goes up. */
    static const double up[] = {3, -9, 1}, above[] = {0x1.555556p-2, 0x1.000004p24};
    check_known("f32", 2, up, b, above);
    /* 2^-100 to either side of the tie. */
    static const double near_rows[] = {3, 0, 1, -3, 0x1p-100, 1};
    static const double side[][3] = {{1, 1, 0x1p24}, {1, -1, 0x1p24}};
    static const double near[][3] = {{0x1.555556p-2, 1, 0x1p24},
                                     {0x1.555556p-2, -1, 0x1.000002p24}};
    check_known("f32", 3, near_rows, side[0], near[0]);
    check_known("f32", 3, near_rows, side[1], near[1]);
    /* Zero by cancellation of thirds, the smallest subnormal, overflow. */
    static const double ones[] = {1, 1}, cancel[] = {3, 3, 7}, zero[] = {0x1.5555555555555p-2, 0};
    check_known("f64", 2, cancel, ones, zero);
    static const double halves[] = {2, 0, 0.5}, little[] = {5e-324, 0x1.8p1023};
    static const double ends[] = {0, INFINITY};
    check_known("f64", 2, halves, little, ends);
    static const double negative[] = {-3, 1, 0x1p-1074}, tiny[] = {5e-324, 0};
    static const double signs[] = {-0.0, 0x1.5555555555555p-2};
    check_known("f64", 2, negative, tiny, signs);
}
END_TEST

/* Small diagonals and right-hand sides T x of small x: solutions are what rounding b leaves, times
 * eight binades a row, and as many bits cancel. */
START_TEST(test_solve_badly_conditioned)
{
    static const char *const types[] = {"f32", "f64", "c128"};
    struct variant v = {true, false, false, "NO_TRANSPOSE"};
    const int n = _i == 0 ? 12 : 60;
    struct one_op op;
    precision = 4000;
    init_solve(&op, types[_i], &v, 1, n, 3);
    fill_random(op.values[0], &rng, 1);
    fill_random(op.values[1], &rng, 1);
    for (int64_t i = 0; i < n; i++) {
        double diagonal = ldexp(1 + rng_uniform(&rng), -8);
        if (type_is_complex(op.values[0]->shape->type)) {
            literal_set_complex(op.values[0], i * n + i, diagonal, -diagonal / 3);
        } else {
            literal_set_double(op.values[0], i * n + i, diagonal);
        }
    }
    for (int64_t i = 0; i < 3 * n; i++) {
        double re = 0, im = 0;
        for (int64_t k = i / 3; k < n; k++) {
            double x = (double)((k * 7 + i % 3) % 5) - 2;
            re += x * literal_get_double(op.values[0], i / 3 * n + k);
            im += x * literal_get_imaginary(op.values[0], i / 3 * n + k);
        }
        if (type_is_complex(op.values[0]->shape->type)) {
            literal_set_complex(op.values[1], i, re, im);
        } else {
            literal_set_double(op.values[1], i, re);
        }
    }
    check_solution(&op, &v, 1, n, 3);
    one_op_finish(&op);
}
END_TEST

/* A zero on the diagonal divides as in IEEE 754. */
START_TEST(test_singular)
{
    struct one_op op;
    one_op_init(&op, "a = f32[2,2] parameter(0)\nb = f32[2,1] parameter(1)\n"
                     "ROOT r = f32[2,1] triangular-solve(a, b), left_side=true, lower=true, "
                     "unit_diagonal=false, transpose_a=NO_TRANSPOSE");
    literal_set_double(op.values[0], 0, 0);
    literal_set_double(op.values[0], 2, 1);
    literal_set_double(op.values[0], 3, 2);
    literal_set_double(op.values[1], 0, 3);
    literal_set_double(op.values[1], 1, 4);
    struct literal *result = one_op_run(&op, eval_triangular_solve);
    ck_assert(literal_get_double(result, 0) == INFINITY);
    ck_assert(literal_get_double(result, 1) == -INFINITY);
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

/* And a quotient of complex numbers is that of C99 Annex G (G.5.1): finite / infinite = 0. */
START_TEST(test_complex_specials)
{
    struct one_op op;
    one_op_init(&op, "a = c64[1,1] parameter(0)\nb = c64[1,1] parameter(1)\n"
                     "ROOT r = c64[1,1] triangular-solve(a, b), left_side=true, lower=true, "
                     "unit_diagonal=false, transpose_a=NO_TRANSPOSE");
    literal_set_complex(op.values[0], 0, INFINITY, 1);
    literal_set_complex(op.values[1], 0, 1, 2);
    struct literal *result = one_op_run(&op, eval_triangular_solve);
    ck_assert(literal_get_double(result, 0) == 0);
    ck_assert(literal_get_imaginary(result, 0) == 0);
    literal_release(result);
    literal_set_complex(op.values[0], 0, 0, 0);
    result = one_op_run(&op, eval_triangular_solve);
    ck_assert(literal_get_double(result, 0) == INFINITY);
    ck_assert(literal_get_imaginary(result, 0) == INFINITY);
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interp_linalg");
    TCase *tests = tcase_create("linalg");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_loop_test(tests, test_cholesky, 0, 2);
    tcase_add_test(tests, test_cholesky_indefinite);
    tcase_add_test(tests, test_cholesky_boundaries);
    tcase_add_loop_test(tests, test_cholesky_open_elements, 0, 2);
    tcase_add_test(tests, test_cholesky_hilbert);
    tcase_add_test(tests, test_solve_boundaries);
    tcase_add_loop_test(tests, test_solve_badly_conditioned, 0, 3);
    tcase_add_loop_test(tests, test_solve, 0, 5);
    tcase_add_test(tests, test_solve_as_xla);
    tcase_add_test(tests, test_singular);
    tcase_add_test(tests, test_complex_specials);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
