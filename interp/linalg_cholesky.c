/* cholesky.
 *
 * The golden factor L is that of the exact factorization A = L L* of the given matrix, each part of
 * each element rounded once. It is computed in double-double by the textbook recurrence; how far L̃,
 * so computed, may be from L follows from how far L̃ L̃* is from A:
 *
 *   |L̃ L̃* − A|ij ≤ η |L̃i| |L̃j|, where L̃i is row i and η sums up the rounding errors of one element;
 *   so with M = L̃ scaled to rows of length 1 and ρ = |M⁻¹|² n η, A = L̃ (I − H) L̃* and |H|F ≤ ρ;
 *   if ρ < 1/2, A is positive definite, L = L̃ (I + X) and |X|F ≤ √2 ρ (X is lower triangular with
 *   X + X* + X X* = −H, and |X + X*|F² ≥ 2 |X|F²; compare J.-g. Sun, "Perturbation bounds for the
 *   Cholesky and QR factorizations", BIT 31, 1991);
 *   hence |L − L̃|ij ≤ √2 ρ √aii.
 *
 * M⁻¹ is computed in doubles: X̂ with |M X̂ − I| ≤ 4 (n + 8) 2^-53 |M| |X̂|, so that |M⁻¹| ≤
 * |X̂| / (1 − φ), φ = 4 (n + 8) 2^-53 √n |X̂|, with |X̂|² bounded by inverse_square. A rounding test
 * with this bound decides nearly all elements of f32 matrices whose scaled condition number is
 * below 10^10 or so; where one stays open, or a pivot comes out not positive, linalg_exact.c
 * computes what is open, and what that depends on, with as many bits as it takes. Elements whose
 * products all are zero (the zeros of banded and block matrices that do not fill up) are exactly
 * zero.
 *
 * One triangle is read (and the real parts of the diagonal); the other is zero in the result, as in
 * XLA's expander. A matrix that is not positive definite, or has an infinity or NaN, gives NaN
 * everywhere, as there; those elements are unspecified, because HLO leaves them open.
 * Source: xla/hlo/transforms/expanders/cholesky_expander.cc, StableHLO specification. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/attr.h"
#include "hlo/base/error.h"
#include "hlo/base/pool.h"
#include "interp/eval.h"
#include "interp/linalg_internal.h"

struct factorization {
    const struct literal *operand;
    struct literal *result;
    int64_t size;
    bool lower, complex;
    const struct double_double_loops *loops;
    struct poll *poll;
    bool failed;     /* no memory; written by any thread, only to true */
    uint8_t *broken; /* [matrices]: not positive definite */
};

/* The memory of one matrix. A matrix of double-doubles by parts, row-major; im: complex only. */
struct work {
    double *re_high, *re_low, *im_high, *im_low; /* the matrix, then its factor */
    double *re, *im;                             /* the matrix */
    double *inverse_re, *inverse_im;             /* M⁻¹ */
    double *lengths;                             /* [n]: √aii */
    double *values;                              /* pairs of rounded parts */
    uint64_t *pattern;                           /* bits of elements that may be nonzero */
    unsigned char *open;
    bool real; /* all imaginary parts are zero */
    void *memory;
};

static bool work_init(struct work *work, const struct factorization *factorization)
{
    size_t n = (size_t)factorization->size, area = n * n, words = n * ((n + 63) / 64);
    size_t doubles = (factorization->complex ? 8 : 4) * area + n + 2 * area + words;
    *work = (struct work){.memory = calloc(doubles * sizeof(double) + area + 1, 1)};
    double *at = work->memory;
    double **const planes[] = {&work->re_high, &work->re_low, &work->re, &work->inverse_re,
                               &work->im_high, &work->im_low, &work->im, &work->inverse_im};
    if (at == NULL) {
        return false;
    }
    for (int i = 0; i < (factorization->complex ? 8 : 4); i++, at += area) {
        *planes[i] = at;
    }
    work->values = at;
    work->lengths = at + 2 * area;
    work->pattern = (uint64_t *)(work->lengths + n);
    work->open = (unsigned char *)(work->pattern + words);
    return true;
}

/* --- the factor in double-double --- */

/* Σ_k l[i][k] * conj(l[j][k]), k < count. */
static struct dd_complex row_product(const struct factorization *factorization,
                                     const struct work *l, int64_t i, int64_t j, int64_t count)
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
    struct work *l;
    int64_t number;
    struct double_double pivot;
};

static void eliminate(void *context, int64_t begin, int64_t end)
{
    const struct column *column = context;
    const struct factorization *factorization = column->factorization;
    struct work *l = column->l;
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

/* Turns the lower triangle into its factor; false when a pivot comes out not positive. */
static bool factorize(const struct factorization *factorization, struct work *l)
{
    int64_t n = factorization->size;
    for (int64_t j = 0; j < n && !poll_stopped(factorization->poll); j++) {
        int64_t at = j * n + j;
        struct double_double square = dd_from(l->re_high[at]);
        square = dd_subtract(square, row_product(factorization, l, j, j, j).re);
        if (!(square.high > 0) || isinf(square.high)) {
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

/* --- its error --- */

/* Row i of M⁻¹, the rows above being there: x[i] = (e[i] − Σ_k m[i][k] x[k]) / m[i][i]. */
static void invert_row(const struct factorization *factorization, struct work *work, int64_t i)
{
    int64_t n = factorization->size;
    double scale = 1 / work->lengths[i], pivot = work->re_high[i * n + i] * scale;
    double *re = work->inverse_re + i * n;
    double *im = factorization->complex ? work->inverse_im + i * n : NULL;
    re[i] = 1;
    for (int64_t k = 0; k < i; k++) {
        double m = -work->re_high[i * n + k] * scale;
        const double *other = work->inverse_re + k * n;
        for (int64_t j = 0; j <= k; j++) {
            re[j] += m * other[j];
        }
        if (factorization->complex) {
            double y = -work->im_high[i * n + k] * scale;
            const double *other_im = work->inverse_im + k * n;
            for (int64_t j = 0; j <= k; j++) {
                re[j] -= y * other_im[j];
                im[j] += m * other_im[j] + y * other[j];
            }
        }
    }
    for (int64_t j = 0; j <= i; j++) {
        re[j] /= pivot;
        if (factorization->complex) {
            im[j] /= pivot;
        }
    }
}

/* An upper bound of the square of the norm of X̂: that of all its elements, or the product of its
 * greatest row and column sum. */
static double inverse_square(const struct factorization *factorization, const struct work *work,
                             double *columns)
{
    int64_t n = factorization->size;
    double squares = 0, most_row = 0, most_column = 0;
    memset(columns, 0, (size_t)n * sizeof *columns);
    for (int64_t i = 0; i < n; i++) {
        double row = 0;
        for (int64_t j = 0; j <= i; j++) {
            double re = work->inverse_re[i * n + j];
            double im = factorization->complex ? work->inverse_im[i * n + j] : 0;
            double size = fabs(re) + fabs(im);
            squares += re * re + im * im;
            columns[j] += size;
            row += size;
        }
        most_row = fmax(most_row, row);
    }
    for (int64_t j = 0; j < n; j++) {
        most_column = fmax(most_column, columns[j]);
    }
    return isfinite(squares) ? fmin(squares, most_row * most_column) : INFINITY;
}

/* b such that |L − L̃|ij ≤ b √aii; infinite where nothing can be said. */
static double error_bound(const struct factorization *factorization, struct work *work)
{
    int64_t n = factorization->size;
    size_t bytes = (size_t)(n * n) * sizeof(double);
    double size = (double)n;
    memset(work->inverse_re, 0, bytes);
    if (factorization->complex) {
        memset(work->inverse_im, 0, bytes);
    }
    for (int64_t i = 0; i < n; i++) {
        double diagonal = work->re[i * n + i];
        if (!(diagonal > 0x1p-400 && diagonal < 0x1p400)) {
            return INFINITY;
        }
        work->lengths[i] = sqrt(diagonal);
        invert_row(factorization, work, i);
    }
    double inverse = 1.01 * sqrt(inverse_square(factorization, work, work->values));
    double off = 4 * (size + 8) * 0x1p-53 * sqrt(size) * inverse;
    double unit = dd_dot_unit(n) + 2 * DD_DIVIDE_UNIT + 0x1p-500;
    if (factorization->complex) {
        off *= 4;
        unit *= 4;
    }
    if (!(off < 0.5)) {
        return INFINITY;
    }
    inverse /= 1 - off;
    double rho = inverse * inverse * size * unit;
    return rho < 0.125 ? 1.42 * 1.02 * rho : INFINITY;
}

/* --- elements --- */

/* Finds the elements that may be nonzero: those of the matrix, and where both rows have some in one
 * column before. */
static void find_pattern(const struct factorization *factorization, struct work *work)
{
    int64_t n = factorization->size, words = (n + 63) / 64;
    memset(work->pattern, 0, (size_t)(n * words) * sizeof *work->pattern);
    for (int64_t i = 0; i < n; i++) {
        uint64_t *row = work->pattern + i * words;
        for (int64_t j = 0; j <= i; j++) {
            const uint64_t *other = work->pattern + j * words;
            bool nonzero =
                work->re[i * n + j] != 0 || (factorization->complex && work->im[i * n + j] != 0);
            for (int64_t w = 0; w <= j / 64 && !nonzero; w++) {
                uint64_t before = w < j / 64 ? UINT64_MAX : ((uint64_t)1 << j % 64) - 1;
                nonzero = (row[w] & other[w] & before) != 0;
            }
            row[j / 64] |= (uint64_t)nonzero << j % 64;
        }
    }
}

/* Rounds what the bound decides; returns how much stays open. */
static int64_t decide(const struct factorization *factorization, struct work *work, double bound)
{
    int64_t n = factorization->size, words = (n + 63) / 64, open = 0;
    enum type type = type_part(factorization->result->shape->type);
    for (int64_t i = 0; i < n; i++) {
        double row_bound = bound * work->lengths[i];
        for (int64_t j = 0; j <= i; j++) {
            int64_t at = i * n + j;
            double *value = work->values + 2 * at;
            value[0] = value[1] = 0;
            work->open[at] = 0;
            if ((work->pattern[i * words + j / 64] >> j % 64 & 1) == 0) {
                continue;
            }
            struct double_double re = {work->re_high[at], work->re_low[at]};
            if (!dd_decide(type, re, row_bound, &value[0])) {
                work->open[at] |= OPEN_RE;
            }
            if (factorization->complex && !work->real && i != j) {
                struct double_double im = {work->im_high[at], work->im_low[at]};
                if (!dd_decide(type, im, row_bound, &value[1])) {
                    work->open[at] |= OPEN_IM;
                }
            }
            open += work->open[at] != 0;
        }
    }
    return open;
}

/* Reads a matrix; false if it has an infinity or NaN. */
static bool load(const struct factorization *factorization, int64_t matrix, struct work *work)
{
    int64_t n = factorization->size;
    bool finite = true;
    work->real = true;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            int64_t from = matrix * n * n + (factorization->lower ? i * n + j : j * n + i);
            int64_t to = i * n + j;
            double value[2];
            linalg_read(factorization->operand, from, value);
            work->re[to] = work->re_high[to] = value[0];
            work->re_low[to] = 0;
            if (factorization->complex) {
                /* Of the upper triangle this is the conjugate of A, whose factor is conjugate. */
                work->im[to] = work->im_high[to] = i == j ? 0 : value[1];
                work->im_low[to] = 0;
                work->real &= work->im[to] == 0;
            }
            finite &= isfinite(value[0]) && (i == j || isfinite(value[1]));
        }
    }
    return finite;
}

static enum exact_outcome factorize_one(const struct factorization *factorization, int64_t matrix,
                                        struct work *work)
{
    int64_t n = factorization->size;
    if (!load(factorization, matrix, work)) {
        return EXACT_INDEFINITE;
    }
    find_pattern(factorization, work);
    double bound = factorize(factorization, work) ? error_bound(factorization, work) : INFINITY;
    if (decide(factorization, work, bound) == 0) {
        return EXACT_DONE;
    }
    struct hermitian a = {.type = type_part(factorization->result->shape->type),
                          .size = n,
                          .re = work->re,
                          .im = work->real ? NULL : work->im,
                          .definite = isfinite(bound),
                          .poll = factorization->poll};
    return cholesky_exactly(&a, work->open, work->values);
}

static void factorize_matrices(void *context, int64_t begin, int64_t end)
{
    struct factorization *factorization = context;
    int64_t n = factorization->size;
    struct work work;
    if (!work_init(&work, factorization)) {
        factorization->failed = true;
        return;
    }
    for (int64_t matrix = begin; matrix < end && !poll_stopped(factorization->poll); matrix++) {
        enum exact_outcome outcome = factorize_one(factorization, matrix, &work);
        factorization->failed |= outcome == EXACT_NO_MEMORY;
        factorization->broken[matrix] = outcome != EXACT_DONE;
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j < n; j++) {
                static const double nothing[2] = {0, 0}, broken[2] = {NAN, NAN};
                int64_t row = factorization->lower ? i : j, column = factorization->lower ? j : i;
                const double *value = outcome != EXACT_DONE ? broken
                                      : column <= row       ? work.values + 2 * (row * n + column)
                                                            : nothing;
                linalg_write(factorization->result, (matrix * n + i) * n + j, value);
            }
        }
    }
    free(work.memory);
}

struct literal *eval_cholesky(struct evaluation *evaluation, const struct instruction *instruction,
                              struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct literal *operand = operands->values[0];
    if (!linalg_is_supported(operand->shape)) {
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
        .poll = poll_current(),
        .broken = calloc((size_t)matrices + 1, 1),
    };
    bool ok = factorization.result != NULL && factorization.broken != NULL;
    if (ok) {
        pool_for(matrices, 1, factorize_matrices, &factorization);
    }
    ok = ok && !factorization.failed;
    for (int64_t i = 0; ok && i < matrices * n * n; i++) {
        if (factorization.broken[i / (n * n)]) {
            literal_mark_unspecified(factorization.result, i);
        }
    }
    free(factorization.broken);
    if (!ok) {
        error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for a factorization");
        literal_release(factorization.result);
        return NULL;
    }
    linalg_spread(operand, factorization.result, matrices);
    return factorization.result;
}
