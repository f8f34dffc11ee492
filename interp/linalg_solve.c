/* triangular-solve.
 *
 * The golden is the exact solution of the given system, each part of each element rounded once. It
 * is computed by substitution in double-double, with a bound of the error of each element that
 * follows from those before: with e(k) the bound of x(k) and u = dd_dot_unit,
 *
 *   s = b(i) − Σ t(i, k) x(k)     off by at most Σ |t(i, k)| (e(k) + u |x(k)|) + u |b(i)|
 *   x(i) = s / t(i, i)            off by at most that / |t(i, i)| + 2^-99 |x(i)|
 *
 * (complex: with |re| + |im| for magnitudes, and the division written out, see divide). A rounding
 * test decides nearly all elements; a column with one that stays open is solved again with as many
 * bits as it takes (linalg_exact.c).
 *
 * One triangle is read. A column that meets an infinity, NaN or a zero on the diagonal is solved in
 * plain doubles, for the sake of IEEE 754's special values.
 * Sources: xla/xla_data.proto (TriangularSolveOptions), StableHLO specification. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/attr.h"
#include "hlo/base/error.h"
#include "hlo/base/pool.h"
#include "hlo/floats.h"
#include "interp/eval.h"
#include "interp/exact.h"
#include "interp/linalg_internal.h"

/* T x = b for many b, where T is the operand a or what it comes to when its options are applied. */
struct triangular {
    const struct literal *a, *b;
    struct literal *result;
    int64_t size, columns; /* of T; right-hand sides of one matrix */
    bool left, lower, unit, transposed, conjugated, complex;
    int64_t matrix;
    double *re, *im; /* T of the current matrix, row-major; im: complex only */
    bool regular;    /* T is finite and its diagonal is not zero */
    double *zeros;   /* [size] */
    const struct double_double_loops *loops;
    struct poll *poll;
    bool failed; /* no memory; written by any thread, only to true */
};

/* One solution, by parts. */
struct solution {
    double *re_high, *re_low, *im_high, *im_low;
    double *weights; /* e(k) + u |x(k)| */
    double *b;       /* pairs of parts */
    double *values;  /* pairs of rounded parts */
    unsigned char *open;
    void *memory;
};

static bool solution_init(struct solution *x, int64_t size)
{
    size_t n = (size_t)size;
    double *memory = calloc(9 * n * sizeof *memory + n + 1, 1);
    *x = (struct solution){
        memory,         memory + n,     memory + 2 * n, memory + 3 * n,
        memory + 4 * n, memory + 5 * n, memory + 7 * n, (unsigned char *)(memory + 9 * n),
        memory};
    return memory != NULL;
}

static int64_t place_of(const struct triangular *triangular, int64_t column, int64_t i)
{
    int64_t matrix = triangular->matrix * triangular->size * triangular->columns;
    return matrix +
           (triangular->left ? i * triangular->columns + column : column * triangular->size + i);
}

/* sum / (re + i im), and the bound that *error becomes:
 * (s conj t) / |t|², each part a sum of two products over a sum of two squares. */
static struct dd_complex divide(struct dd_complex sum, double re, double im, double *error)
{
    double size_of_sum = fabs(sum.re.high) + fabs(sum.im.high);
    if (im == 0) {
        struct double_double pivot = dd_from(re);
        struct dd_complex quotient = {dd_divide(sum.re, pivot), dd_divide(sum.im, pivot)};
        *error = *error / fabs(re) + DD_DIVIDE_UNIT * size_of_sum / fabs(re);
        return quotient;
    }
    struct double_double size = dd_add(dd_product(re, re), dd_product(im, im));
    struct dd_complex product = {
        dd_add(dd_multiply(sum.re, dd_from(re)), dd_multiply(sum.im, dd_from(im))),
        dd_subtract(dd_multiply(sum.im, dd_from(re)), dd_multiply(sum.re, dd_from(im))),
    };
    double ratio = (fabs(re) + fabs(im)) / size.high;
    *error = ratio * (*error + 4 * DD_DIVIDE_UNIT * size_of_sum);
    return (struct dd_complex){dd_divide(product.re, size), dd_divide(product.im, size)};
}

/* Rounds element i if its bound allows. */
static void decide(const struct triangular *triangular, struct solution *x, int64_t i,
                   struct dd_complex value, double error)
{
    enum type type = type_part(triangular->result->shape->type);
    x->open[i] = 0;
    if (!dd_decide(type, value.re, error, &x->values[2 * i])) {
        x->open[i] |= OPEN_RE;
    }
    x->values[2 * i + 1] = 0;
    if (triangular->complex && !dd_decide(type, value.im, error, &x->values[2 * i + 1])) {
        x->open[i] |= OPEN_IM;
    }
}

/* Returns whether something stays open. Zeros that meet only zeros are exact. */
static bool solve_column(const struct triangular *triangular, struct solution *x)
{
    int64_t n = triangular->size;
    const double *zeros = triangular->zeros;
    const struct double_double_loops *loops = triangular->loops;
    const double unit = 2 * dd_dot_unit(n);
    bool open = false;
    for (int64_t step = 0; step < n; step++) {
        int64_t i = triangular->lower ? step : n - 1 - step;
        int64_t first = triangular->lower ? 0 : i + 1;
        int64_t row = i * n + first;
        struct dd_complex sum = {dd_from(x->b[2 * i]), dd_from(x->b[2 * i + 1])};
        const double *re = triangular->re + row;
        double error = loops->weigh(re, x->weights + first, step);
        sum.re =
            dd_subtract(sum.re, loops->dot(re, zeros, x->re_high + first, x->re_low + first, step));
        if (triangular->complex) {
            const double *im = triangular->im + row;
            error += loops->weigh(im, x->weights + first, step);
            sum.re =
                dd_add(sum.re, loops->dot(im, zeros, x->im_high + first, x->im_low + first, step));
            sum.im = dd_subtract(
                sum.im, loops->dot(re, zeros, x->im_high + first, x->im_low + first, step));
            sum.im = dd_subtract(
                sum.im, loops->dot(im, zeros, x->re_high + first, x->re_low + first, step));
        }
        if (error > 0) {
            error += unit * (fabs(x->b[2 * i]) + fabs(x->b[2 * i + 1])) + DD_TINY;
        }
        bool zero = error == 0 && x->b[2 * i] == 0 && x->b[2 * i + 1] == 0;
        if (!triangular->unit && !zero) {
            int64_t diagonal = i * n + i;
            sum = divide(sum, triangular->re[diagonal],
                         triangular->complex ? triangular->im[diagonal] : 0, &error);
        }
        double size = fabs(sum.re.high) + fabs(sum.im.high);
        error = zero || (triangular->unit && error == 0) ? error : error * (1 + 0x1p-20) + DD_TINY;
        x->re_high[i] = sum.re.high;
        x->re_low[i] = sum.re.low;
        x->im_high[i] = sum.im.high;
        x->im_low[i] = sum.im.low;
        x->weights[i] = error + unit * size;
        decide(triangular, x, i, sum, error);
        open |= x->open[i] != 0;
    }
    return open;
}

/* NaN is the positive one, whatever the processor made. */
static double round_special(enum type type, double value)
{
    return float_round(type, isnan(value) ? NAN : value);
}

/* The same in plain doubles; complex quotients as C99 Annex G has them. */
static void solve_plainly(const struct triangular *triangular, struct solution *x)
{
    int64_t n = triangular->size;
    for (int64_t step = 0; step < n; step++) {
        int64_t i = triangular->lower ? step : n - 1 - step;
        int64_t first = triangular->lower ? 0 : i + 1;
        double sum[2] = {x->b[2 * i], x->b[2 * i + 1]};
        for (int64_t k = first; k < first + step; k++) {
            double re = triangular->re[i * n + k];
            sum[0] -= re * x->re_high[k];
            if (triangular->complex) {
                double im = triangular->im[i * n + k];
                sum[0] += im * x->im_high[k];
                sum[1] -= re * x->im_high[k] + im * x->re_high[k];
            }
        }
        double re = triangular->unit ? 1 : triangular->re[i * n + i];
        if (triangular->complex && !triangular->unit) {
            exact_complex_binary(EXACT_DIVIDE, TYPE_F64, &sum[0], &sum[1], &re,
                                 &triangular->im[i * n + i], &x->re_high[i], &x->im_high[i], 1);
        } else {
            x->re_high[i] = sum[0] / re;
            x->im_high[i] = sum[1] / re;
        }
        enum type type = type_part(triangular->result->shape->type);
        x->values[2 * i] = round_special(type, x->re_high[i]);
        x->values[2 * i + 1] = round_special(type, x->im_high[i]);
    }
}

/* Whether all of a right-hand side is finite. */
static bool load_column(const struct triangular *triangular, int64_t column, struct solution *x)
{
    bool finite = true;
    for (int64_t i = 0; i < triangular->size; i++) {
        linalg_read(triangular->b, place_of(triangular, column, i), x->b + 2 * i);
        finite &= isfinite(x->b[2 * i]) && isfinite(x->b[2 * i + 1]);
    }
    return finite;
}

static void solve_columns(void *context, int64_t begin, int64_t end)
{
    struct triangular *triangular = context;
    struct solution x;
    if (!solution_init(&x, triangular->size)) {
        triangular->failed = true;
        return;
    }
    for (int64_t column = begin; column < end && !poll_stopped(triangular->poll); column++) {
        if (!load_column(triangular, column, &x) || !triangular->regular) {
            solve_plainly(triangular, &x);
        } else if (solve_column(triangular, &x)) {
            struct triangular_system system = {
                .type = type_part(triangular->result->shape->type),
                .size = triangular->size,
                .lower = triangular->lower,
                .unit = triangular->unit,
                .re = triangular->re,
                .im = triangular->complex ? triangular->im : NULL,
                .b = x.b,
                .poll = triangular->poll,
            };
            triangular->failed |= solve_exactly(&system, x.open, x.values) == EXACT_NO_MEMORY;
        }
        for (int64_t i = 0; i < triangular->size; i++) {
            linalg_write(triangular->result, place_of(triangular, column, i), x.values + 2 * i);
        }
    }
    free(x.memory);
}

/* Brings T of one matrix to doubles; only the triangle that counts. */
static void load_matrix(struct triangular *triangular)
{
    int64_t n = triangular->size;
    triangular->regular = true;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = triangular->lower ? 0 : i; k <= (triangular->lower ? i : n - 1); k++) {
            int64_t at = triangular->transposed ? k * n + i : i * n + k;
            double value[2];
            linalg_read(triangular->a, triangular->matrix * n * n + at, value);
            triangular->re[i * n + k] = value[0];
            if (triangular->complex) {
                triangular->im[i * n + k] = triangular->conjugated ? -value[1] : value[1];
            }
            bool unused = triangular->unit && i == k;
            triangular->regular &= unused || (isfinite(value[0]) && isfinite(value[1]) &&
                                              (i != k || value[0] != 0 || value[1] != 0));
        }
    }
}

struct literal *eval_triangular_solve(struct evaluation *evaluation,
                                      const struct instruction *instruction,
                                      struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct literal *a = operands->values[0], *b = operands->values[1];
    if (!linalg_is_supported(a->shape) || a->shape->type != b->shape->type || b->shape->rank < 2) {
        error_set(err, ERROR_UNIMPLEMENTED, "triangular-solve of %s and %s", shape_text(a->shape),
                  shape_text(b->shape));
        return NULL;
    }
    int64_t transpose = attr_int(instruction, ATTR_TRANSPOSE_A, TRANSPOSE_NO);
    bool turned = transpose == TRANSPOSE_YES || transpose == TRANSPOSE_ADJOINT;
    int64_t n = a->shape->dimensions[a->shape->rank - 1];
    int64_t matrices = n > 0 ? literal_elements(a) / (n * n) : 0;
    struct triangular triangular = {
        .a = a,
        .b = b,
        .result = literal_create(instruction->shape, err),
        .size = n,
        .columns = n > 0 && matrices > 0 ? literal_elements(b) / (n * matrices) : 0,
        .left = attr_bool(instruction, ATTR_LEFT_SIDE, false),
        .unit = attr_bool(instruction, ATTR_UNIT_DIAGONAL, false),
        .conjugated = transpose == TRANSPOSE_ADJOINT,
        .complex = type_is_complex(a->shape->type),
        .loops = double_double_loops_choose(),
        .poll = poll_current(),
    };
    /* X * T = B is T^T * X^T = B^T. */
    triangular.transposed = turned == triangular.left;
    triangular.lower = attr_bool(instruction, ATTR_LOWER, false) != triangular.transposed;
    size_t area = (size_t)n * (size_t)n;
    double *memory = calloc(area * (triangular.complex ? 2 : 1) + (size_t)n + 1, sizeof *memory);
    triangular.failed = memory == NULL;
    if (memory != NULL && triangular.result != NULL) {
        triangular.re = memory;
        triangular.im = memory + area;
        triangular.zeros = memory + area * (triangular.complex ? 2 : 1);
        for (; triangular.matrix < matrices && !poll_stopped(triangular.poll);
             triangular.matrix++) {
            load_matrix(&triangular);
            pool_for(triangular.columns, 1 + 65536 / (n * n + 1), solve_columns, &triangular);
        }
    }
    free(memory);
    if (triangular.failed) {
        error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for a triangular matrix");
    }
    if (triangular.failed || triangular.result == NULL) {
        literal_release(triangular.result);
        return NULL;
    }
    linalg_spread(a, triangular.result, matrices);
    linalg_spread(b, triangular.result, matrices);
    return triangular.result;
}
