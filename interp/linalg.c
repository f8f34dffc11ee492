/* cholesky and triangular-solve.
 *
 * The golden computes the textbook recurrences in double-double (double_double.h: about 2^-104 per
 * operation) and rounds each element of the result once. That is the correctly rounded exact result
 * unless the matrix is so badly conditioned that 2^-100 times its condition number reaches an ulp
 * of the result, or the exact value lies that near a rounding boundary.
 *
 * cholesky reads the triangle it is asked for (and the real parts of the diagonal) and gives zeros
 * in the other, as XLA's expander does. A matrix that is not positive definite gives NaN
 * everywhere, as there; those elements are unspecified, because HLO leaves them open.
 * triangular-solve likewise reads one triangle. A column that meets an infinity, NaN or a zero on
 * the diagonal is solved in plain doubles, for the sake of IEEE 754's special values.
 * Sources: xla/hlo/transforms/expanders/cholesky_expander.cc, xla/xla_data.proto
 * (TriangularSolveOptions), StableHLO specification. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/attr.h"
#include "hlo/base/error.h"
#include "hlo/base/pool.h"
#include "hlo/floats.h"
#include "interp/double_double.h"
#include "interp/eval.h"

/* --- elements --- */

/* Reads one element as doubles. */
static void read_element(const struct literal *literal, int64_t index, double value[2])
{
    value[0] = literal_get_double(literal, index);
    value[1] = type_is_complex(literal->shape->type) ? literal_get_imaginary(literal, index) : 0;
}

/* Rounds one element into place. */
static void write_element(struct literal *literal, int64_t index, const struct dd_complex *value)
{
    enum type part = type_part(literal->shape->type);
    if (type_is_complex(literal->shape->type)) {
        literal_set_complex(literal, index, dd_round(part, value->re), dd_round(part, value->im));
    } else {
        literal_set_double(literal, index, dd_round(part, value->re));
    }
}

static bool is_supported(const struct shape *shape)
{
    return shape->rank >= 2 && (type_is_float(shape->type) || type_is_complex(shape->type));
}

/* Marks the elements of the matrices of `result` whose matrix in `operand` has a marked one. */
static void spread(const struct literal *operand, struct literal *result, int64_t matrices)
{
    if (!literal_has_unspecified(operand) || matrices == 0) {
        return;
    }
    int64_t from = literal_elements(operand) / matrices, to = literal_elements(result) / matrices;
    for (int64_t matrix = 0; matrix < matrices; matrix++) {
        bool any = false;
        for (int64_t i = 0; i < from && !any; i++) {
            any = literal_is_unspecified(operand, matrix * from + i);
        }
        for (int64_t i = 0; i < to && any; i++) {
            literal_mark_unspecified(result, matrix * to + i);
        }
    }
}

/* --- cholesky --- */

struct factorization {
    const struct literal *operand;
    struct literal *result;
    int64_t size;
    bool lower, complex;
    const struct double_double_loops *loops;
    bool failed;     /* no memory; written by any thread, only to true */
    uint8_t *broken; /* [matrices]: not positive definite */
};

/* A matrix of double-doubles, by parts; row-major. */
struct planes {
    double *re_high, *re_low, *im_high, *im_low; /* im: complex only */
};

/* Σ_k l[i][k] * conj(l[j][k]), k < count. */
static struct dd_complex row_product(const struct factorization *factorization,
                                     const struct planes *l, int64_t i, int64_t j, int64_t count)
{
    int64_t a = i * factorization->size, b = j * factorization->size;
    struct dd_complex product = {0};
    const struct double_double_loops *loops = factorization->loops;
    product.re = loops->dot(l->re_high + a, l->re_low + a, l->re_high + b, l->re_low + b, count);
    if (factorization->complex) {
        struct double_double imaginary =
            loops->dot(l->im_high + a, l->im_low + a, l->im_high + b, l->im_low + b, count);
        product.re = dd_add(product.re, imaginary);
        product.im = dd_subtract(
            loops->dot(l->im_high + a, l->im_low + a, l->re_high + b, l->re_low + b, count),
            loops->dot(l->re_high + a, l->re_low + a, l->im_high + b, l->im_low + b, count));
    }
    return product;
}

struct column {
    const struct factorization *factorization;
    struct planes *l;
    int64_t number;
    struct double_double pivot;
};

static void eliminate(void *context, int64_t begin, int64_t end)
{
    const struct column *column = context;
    const struct factorization *factorization = column->factorization;
    struct planes *l = column->l;
    int64_t j = column->number;
    for (int64_t i = j + 1 + begin; i < j + 1 + end; i++) {
        int64_t at = i * factorization->size + j;
        struct dd_complex product = row_product(factorization, l, i, j, j);
        struct double_double re = dd_subtract(dd_from(l->re_high[at]), product.re);
        re = dd_divide(re, column->pivot);
        l->re_high[at] = re.high;
        l->re_low[at] = re.low;
        if (factorization->complex) {
            struct double_double im = dd_subtract(dd_from(l->im_high[at]), product.im);
            im = dd_divide(im, column->pivot);
            l->im_high[at] = im.high;
            l->im_low[at] = im.low;
        }
    }
}

/* Turns the lower triangle into its factor; false when it is not positive definite. A last pivot
 * of zero passes, as in XLA. */
static bool factorize(const struct factorization *factorization, struct planes *l)
{
    int64_t n = factorization->size;
    for (int64_t j = 0; j < n; j++) {
        int64_t at = j * n + j;
        struct double_double square = dd_from(l->re_high[at]);
        square = dd_subtract(square, row_product(factorization, l, j, j, j).re);
        if (!(square.high > 0 || (square.high == 0 && j == n - 1)) || isinf(square.high)) {
            return false;
        }
        struct column column = {factorization, l, j, dd_sqrt(square)};
        l->re_high[at] = column.pivot.high;
        l->re_low[at] = column.pivot.low;
        if (factorization->complex) {
            l->im_high[at] = 0;
        }
        pool_for(n - j - 1, 1 + 16384 / (j + 1), eliminate, &column);
    }
    return true;
}

static void factorize_matrices(void *context, int64_t begin, int64_t end)
{
    struct factorization *factorization = context;
    int64_t n = factorization->size;
    size_t area = (size_t)n * (size_t)n;
    double *memory = calloc(area * (factorization->complex ? 4 : 2) + 1, sizeof *memory);
    if (memory == NULL) {
        factorization->failed = true;
        return;
    }
    struct planes l = {memory, memory + area, memory + 2 * area, memory + 3 * area};
    for (int64_t matrix = begin; matrix < end; matrix++) {
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j <= i; j++) {
                int64_t from = matrix * n * n + (factorization->lower ? i * n + j : j * n + i);
                double value[2];
                read_element(factorization->operand, from, value);
                l.re_high[i * n + j] = value[0];
                l.re_low[i * n + j] = 0;
                if (factorization->complex) {
                    l.im_high[i * n + j] = value[1];
                    l.im_low[i * n + j] = 0;
                }
            }
        }
        bool ok = factorize(factorization, &l);
        factorization->broken[matrix] = !ok;
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j < n; j++) {
                int64_t row = factorization->lower ? i : j, column = factorization->lower ? j : i;
                struct dd_complex value = {0};
                if (!ok) {
                    value.re = dd_from(NAN);
                    value.im = value.re;
                } else if (column <= row) {
                    int64_t at = row * n + column;
                    value.re = (struct double_double){l.re_high[at], l.re_low[at]};
                    if (factorization->complex) {
                        value.im = (struct double_double){l.im_high[at], l.im_low[at]};
                    }
                }
                write_element(factorization->result, matrix * n * n + i * n + j, &value);
            }
        }
    }
    free(memory);
}

struct literal *eval_cholesky(struct evaluation *evaluation, const struct instruction *instruction,
                              struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct literal *operand = operands->values[0];
    if (!is_supported(operand->shape)) {
        error_set(err, ERROR_UNIMPLEMENTED, "cholesky of %s", shape_text(operand->shape));
        return NULL;
    }
    int64_t n = operand->shape->dimensions[operand->shape->rank - 1];
    int64_t matrices = n > 0 ? literal_elements(operand) / (n * n) : 0;
    struct factorization factorization = {
        .operand = operand,
        .result = literal_create(instruction->shape, err),
        .size = n,
        .lower = attr_bool(instruction, ATTR_LOWER, false),
        .complex = type_is_complex(operand->shape->type),
        .loops = double_double_loops_choose(),
        .broken = calloc((size_t)matrices + 1, 1),
    };
    if (factorization.result != NULL && factorization.broken != NULL) {
        pool_for(matrices, 1, factorize_matrices, &factorization);
    }
    if (factorization.result == NULL || factorization.broken == NULL || factorization.failed) {
        error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for a factorization");
        literal_release(factorization.result);
        free(factorization.broken);
        return NULL;
    }
    for (int64_t i = 0; i < matrices * n * n; i++) {
        if (factorization.broken[i / (n * n)]) {
            literal_mark_unspecified(factorization.result, i);
        }
    }
    free(factorization.broken);
    spread(operand, factorization.result, matrices);
    return factorization.result;
}

/* --- triangular-solve --- */

/* T x = b for many b, where T is the operand a or what it comes to when its options are applied. */
struct triangular {
    const struct literal *a, *b;
    struct literal *result;
    int64_t size, columns; /* of T; right-hand sides of one matrix */
    bool left, lower, unit, transposed, conjugated, complex;
    int64_t matrix;
    double *re, *im; /* T of the current matrix, row-major; im: complex only */
    double *zeros;   /* [size] */
    const struct double_double_loops *loops;
    bool failed; /* no memory; written by any thread, only to true */
};

/* One solution, by parts. */
struct solution {
    double *re_high, *re_low, *im_high, *im_low;
};

static int64_t place_of(const struct triangular *triangular, int64_t column, int64_t i)
{
    int64_t matrix = triangular->matrix * triangular->size * triangular->columns;
    return matrix +
           (triangular->left ? i * triangular->columns + column : column * triangular->size + i);
}

static struct dd_complex divide_complex(struct dd_complex a, double re, double im)
{
    struct double_double size = dd_add(dd_product(re, re), dd_product(im, im));
    struct dd_complex product = {
        dd_add(dd_multiply(a.re, dd_from(re)), dd_multiply(a.im, dd_from(im))),
        dd_subtract(dd_multiply(a.im, dd_from(re)), dd_multiply(a.re, dd_from(im))),
    };
    return (struct dd_complex){dd_divide(product.re, size), dd_divide(product.im, size)};
}

/* False when something infinite or NaN came up. */
static bool solve_column(const struct triangular *triangular, int64_t column, struct solution *x)
{
    int64_t n = triangular->size;
    const double *zeros = triangular->zeros;
    const struct double_double_loops *loops = triangular->loops;
    for (int64_t step = 0; step < n; step++) {
        int64_t i = triangular->lower ? step : n - 1 - step;
        int64_t first = triangular->lower ? 0 : i + 1;
        int64_t row = i * n + first;
        double value[2];
        read_element(triangular->b, place_of(triangular, column, i), value);
        struct dd_complex sum = {dd_from(value[0]), dd_from(value[1])};
        const double *re = triangular->re + row;
        sum.re =
            dd_subtract(sum.re, loops->dot(re, zeros, x->re_high + first, x->re_low + first, step));
        if (triangular->complex) {
            const double *im = triangular->im + row;
            sum.re =
                dd_add(sum.re, loops->dot(im, zeros, x->im_high + first, x->im_low + first, step));
            sum.im = dd_subtract(
                sum.im, loops->dot(re, zeros, x->im_high + first, x->im_low + first, step));
            sum.im = dd_subtract(
                sum.im, loops->dot(im, zeros, x->re_high + first, x->re_low + first, step));
        }
        int64_t diagonal = i * n + i;
        if (!triangular->unit && triangular->complex) {
            sum = divide_complex(sum, triangular->re[diagonal], triangular->im[diagonal]);
        } else if (!triangular->unit) {
            sum.re = dd_divide(sum.re, dd_from(triangular->re[diagonal]));
        }
        if (!isfinite(sum.re.high) || !isfinite(sum.im.high) || !isfinite(sum.re.low) ||
            !isfinite(sum.im.low)) {
            return false;
        }
        x->re_high[i] = sum.re.high;
        x->re_low[i] = sum.re.low;
        x->im_high[i] = sum.im.high;
        x->im_low[i] = sum.im.low;
    }
    return true;
}

/* The same in plain doubles. */
static void solve_plainly(const struct triangular *triangular, int64_t column, struct solution *x)
{
    int64_t n = triangular->size;
    memset(x->re_low, 0, (size_t)n * sizeof(double));
    memset(x->im_low, 0, (size_t)n * sizeof(double));
    for (int64_t step = 0; step < n; step++) {
        int64_t i = triangular->lower ? step : n - 1 - step;
        int64_t first = triangular->lower ? 0 : i + 1;
        double sum[2];
        read_element(triangular->b, place_of(triangular, column, i), sum);
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
            double im = triangular->im[i * n + i], size = re * re + im * im;
            x->re_high[i] = (sum[0] * re + sum[1] * im) / size;
            x->im_high[i] = (sum[1] * re - sum[0] * im) / size;
        } else {
            x->re_high[i] = sum[0] / re;
            x->im_high[i] = sum[1] / re;
        }
    }
}

static void solve_columns(void *context, int64_t begin, int64_t end)
{
    struct triangular *triangular = context;
    size_t n = (size_t)triangular->size;
    double *memory = calloc(4 * n + 1, sizeof *memory);
    if (memory == NULL) {
        triangular->failed = true;
        return;
    }
    struct solution x = {memory, memory + n, memory + 2 * n, memory + 3 * n};
    for (int64_t column = begin; column < end; column++) {
        if (!solve_column(triangular, column, &x)) {
            solve_plainly(triangular, column, &x);
        }
        for (int64_t i = 0; i < triangular->size; i++) {
            struct dd_complex value = {{x.re_high[i], x.re_low[i]}, {x.im_high[i], x.im_low[i]}};
            write_element(triangular->result, place_of(triangular, column, i), &value);
        }
    }
    free(memory);
}

/* Brings T of one matrix to doubles; only the triangle that counts. */
static void load_matrix(struct triangular *triangular)
{
    int64_t n = triangular->size;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = triangular->lower ? 0 : i; k <= (triangular->lower ? i : n - 1); k++) {
            int64_t at = triangular->transposed ? k * n + i : i * n + k;
            double value[2];
            read_element(triangular->a, triangular->matrix * n * n + at, value);
            triangular->re[i * n + k] = value[0];
            if (triangular->complex) {
                triangular->im[i * n + k] = triangular->conjugated ? -value[1] : value[1];
            }
        }
    }
}

struct literal *eval_triangular_solve(struct evaluation *evaluation,
                                      const struct instruction *instruction,
                                      struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct literal *a = operands->values[0], *b = operands->values[1];
    if (!is_supported(a->shape) || a->shape->type != b->shape->type || b->shape->rank < 2) {
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
        for (; triangular.matrix < matrices; triangular.matrix++) {
            load_matrix(&triangular);
            pool_for(triangular.columns, 1 + 65536 / (n * n + 1), solve_columns, &triangular);
        }
    }
    free(memory);
    if (triangular.failed) {
        error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for a triangular matrix");
        literal_release(triangular.result);
        return NULL;
    }
    if (triangular.result != NULL) {
        spread(a, triangular.result, matrices);
        spread(b, triangular.result, matrices);
    }
    return triangular.result;
}
