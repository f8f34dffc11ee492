/* Cholesky factors and triangular solutions to any precision: MPFR intervals of more and more bits
 * until every element that is asked for is decided.
 *
 * An interval that shrinks around a rounding boundary (or zero) without leaving it means that the
 * exact value lies on it. That is proved by how near another value can come. All operands are
 * multiples of a power of two, so determinants are, and the exact values are quotients (and one
 * root) of determinants:
 *
 *   triangular-solve, n rows so far, row k (right-hand side included) multiples of 2^q(k),
 *   |t(k, k)| < 2^e(k): x is a determinant, a multiple of 2^Σq, over Π t(k, k) (Cramer). A boundary
 *   is a multiple of 2^b, b ≤ 0. So x is on it or at least 2^(Σq + b − Σe) away. Complex x:
 * numerator and denominator times Π conj t(k, k), whence twice the sums, and e(k) for |t(k, k)|.
 *
 *   cholesky, A a multiple of 2^q, its diagonal below 2^e: L(i, j) = M / √(D(j) D(j − 1)), where M
 *   and D(j) are minors of j + 1 rows, so multiples of 2^(q (j + 1)), and D(j) ≤ 2^(e (j + 1))
 *   (Hadamard). M / D(j − 1) is zero or at least 2^(q (j + 1) − e j). And L − β =
 *   (M² − β² D(j) D(j − 1)) / (D(j) D(j − 1) (L + β)) is zero or at least
 *   2^((2j + 2) q + 2b − |q| − (2j + 2) e − 2).
 *
 * MOST_PRECISION bits are the end of it where those gaps are smaller still: an interval that has
 * not left a boundary by then (no wider than 2^-30000 of the values that enter it) is taken to be
 * on it.
 *
 * cholesky eliminates without roots, A = C D⁻¹ C*, so that dyadic numbers stay exact where they
 * can: L(i, j) = c(i, j) / √c(j, j). c(i, j) depends on rows 0 to j and i of A alone, up to column
 * j. So of a matrix that is known to be positive definite, the rows up to the last column with an
 * open element are eliminated, and below them those rows that have one, each as far as its last: a
 * tenth of the work for one element anywhere, but nearly all of it for one in the last columns.
 * Whether any other matrix is positive definite takes all pivots. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/pool.h"
#include "interp/bracket.h"
#include "interp/linalg_internal.h"

enum { FIRST_PRECISION = 192, MOST_PRECISION = 1 << 15 };

/* The exponent of the last bit of a finite double that is not zero. */
static int64_t last_bit(double value)
{
    int exponent;
    double mantissa = frexp(value, &exponent);
    int64_t integer = (int64_t)ldexp(fabs(mantissa), 53);
    return exponent - 53 + __builtin_ctzll((unsigned long long)integer);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Rounding boundaries are multiples of 2^this. */
static int64_t boundary_bit(enum type type)
{
    return type == TYPE_F64 ? -1075 : -151;
}

/* Whether an interval is narrower than 2^gap. */
static bool is_narrower(const struct bracket *a, int64_t gap)
{
    mpfr_t width;
    mpfr_init2(width, 32);
    mpfr_sub(width, a->high, a->low, MPFR_RNDU);
    bool narrower = mpfr_zero_p(width) || mpfr_get_exp(width) <= gap;
    mpfr_clear(width);
    return narrower;
}

/* Rounds one part of an element; whether that could be done. */
static bool decide(enum type type, const struct bracket *a, int64_t gap, bool last, double *out)
{
    if (bracket_round(type, a, out)) {
        return true;
    }
    if (last || is_narrower(a, gap)) {
        *out = bracket_boundary(type, a);
        return true;
    }
    return false;
}

/* re ± i im: two intervals side by side; im is not used when all is real. */
struct number {
    struct bracket *re, *im;
};

static struct number number_at(struct bracket *array, int64_t index)
{
    return (struct number){array + 2 * index, array + 2 * index + 1};
}

/* sum −= a * b, or a * conj(b); t: two registers. */
static void subtract_product(struct bracket_scratch *scratch, struct number sum, struct number a,
                             struct number b, bool conjugate, bool complex, struct bracket *t)
{
    bracket_multiply(scratch, t, a.re, b.re);
    bracket_subtract(sum.re, sum.re, t);
    if (!complex) {
        return;
    }
    bracket_multiply(scratch, t, a.im, b.im);
    if (conjugate) {
        bracket_subtract(sum.re, sum.re, t);
    } else {
        bracket_add(sum.re, sum.re, t);
    }
    bracket_multiply(scratch, t, a.im, b.re);
    bracket_subtract(sum.im, sum.im, t);
    bracket_multiply(scratch, t, a.re, b.im);
    if (conjugate) {
        bracket_add(sum.im, sum.im, t);
    } else {
        bracket_subtract(sum.im, sum.im, t);
    }
}

/* --- cholesky --- */

struct elimination {
    const struct hermitian *a;
    unsigned char *open;
    double *values;
    mpfr_prec_t precision;
    bool last;
    int64_t quantum, top; /* q and e */
    /* What is eliminated: columns 0 to `columns`, of `size` rows; all rows up to there and some
     * below: rows[i] is the row's number in A, reach[i] its last column of interest. */
    int64_t size, columns;
    int64_t *rows, *reach; /* [n] */
    /* c(i, j) and c(i, j) / c(j, j), i ≥ j, at i (i + 1) / 2 + j. */
    struct bracket *c, *m;
    int64_t column;
    const struct bracket *root; /* √c(j, j) */
    bool complex;
    bool failed; /* no memory; written by any thread, only to true */
};

static int64_t place(int64_t i, int64_t j)
{
    return i * (i + 1) / 2 + j;
}

static void decide_factor(const struct elimination *e, int64_t i, struct number value)
{
    int64_t j = e->column, at = e->rows[i] * e->a->size + j, rows = 2 * j + 2;
    int64_t gap =
        rows * e->quantum + 2 * boundary_bit(e->a->type) - llabs(e->quantum) - rows * e->top - 2;
    double *out = e->values + 2 * at;
    if ((e->open[at] & OPEN_RE) != 0 && decide(e->a->type, value.re, gap, e->last, &out[0])) {
        e->open[at] &= (unsigned char)~OPEN_RE;
    }
    if ((e->open[at] & OPEN_IM) != 0 && decide(e->a->type, value.im, gap, e->last, &out[1])) {
        e->open[at] &= (unsigned char)~OPEN_IM;
    }
}

/* c(i, j) of the current column, without the division. */
static void eliminate(const struct elimination *e, struct bracket_scratch *scratch, int64_t i,
                      struct bracket *t)
{
    int64_t j = e->column, at = e->rows[i] * e->a->size + j;
    struct number c = number_at(e->c, place(i, j));
    bracket_set(c.re, e->a->re[at]);
    if (e->complex) {
        bracket_set(c.im, e->a->im[at]);
    }
    for (int64_t k = 0; k < j; k++) {
        subtract_product(scratch, c, number_at(e->c, place(i, k)), number_at(e->m, place(j, k)),
                         true, e->complex, t);
    }
}

static void eliminate_rows(void *context, int64_t begin, int64_t end)
{
    struct elimination *e = context;
    int64_t j = e->column;
    struct bracket_scratch scratch;
    struct bracket *t = brackets_create(3, e->precision);
    if (t == NULL) {
        e->failed = true;
        return;
    }
    bracket_scratch_init(&scratch, e->precision);
    for (int64_t i = j + 1 + begin; i < j + 1 + end && !poll_stopped(e->a->poll); i++) {
        if (e->reach[i] < j) {
            continue;
        }
        struct number c = number_at(e->c, place(i, j)), m = number_at(e->m, place(i, j));
        const struct bracket *pivot = number_at(e->c, place(j, j)).re;
        eliminate(e, &scratch, i, t);
        bracket_divide(&scratch, m.re, c.re, pivot);
        bracket_divide(&scratch, &t[1], c.re, e->root);
        if (e->complex) {
            bracket_divide(&scratch, m.im, c.im, pivot);
            bracket_divide(&scratch, &t[2], c.im, e->root);
        }
        decide_factor(e, i, (struct number){&t[1], &t[2]});
    }
    bracket_scratch_finish(&scratch);
    brackets_destroy(t, 3);
}

enum pivot { PIVOT_POSITIVE, PIVOT_ZERO, PIVOT_NEGATIVE, PIVOT_UNKNOWN };

static enum pivot pivot_sign(const struct elimination *e, const struct bracket *pivot)
{
    int64_t j = e->column;
    if (bracket_is_positive(pivot) || bracket_is_negative(pivot)) {
        return bracket_is_positive(pivot) ? PIVOT_POSITIVE : PIVOT_NEGATIVE;
    }
    bool zero = e->last || is_narrower(pivot, e->quantum * (j + 1) - e->top * j);
    return zero ? PIVOT_ZERO : PIVOT_UNKNOWN;
}

/* One elimination at one precision. A last pivot of zero is none too few, as in XLA. */
static enum exact_outcome eliminate_all(struct elimination *e, struct bracket_scratch *scratch,
                                        struct bracket *registers)
{
    int64_t n = e->a->size;
    for (e->column = 0; e->column < e->columns && !e->failed; e->column++) {
        int64_t j = e->column;
        struct bracket *pivot = number_at(e->c, place(j, j)).re;
        if (poll_stopped(e->a->poll)) {
            return EXACT_STOPPED;
        }
        eliminate(e, scratch, j, registers);
        enum pivot sign = pivot_sign(e, pivot);
        if (sign == PIVOT_UNKNOWN) {
            return EXACT_DONE; /* what is open stays so */
        }
        if (sign == PIVOT_NEGATIVE || (sign == PIVOT_ZERO && j < n - 1)) {
            return EXACT_INDEFINITE;
        }
        if (sign == PIVOT_ZERO) {
            bracket_set(pivot, 0);
        }
        bracket_sqrt(&registers[2], pivot);
        e->root = &registers[2];
        decide_factor(e, j, (struct number){&registers[2], &registers[2]});
        pool_for(e->size - j - 1, 1 + 1024 / (j + 1), eliminate_rows, e);
    }
    return e->failed ? EXACT_NO_MEMORY : EXACT_DONE;
}

static bool any_open(const unsigned char *open, int64_t count)
{
    bool any = false;
    for (int64_t i = 0; i < count && !any; i++) {
        any = open[i] != 0;
    }
    return any;
}

/* Chooses what is eliminated. */
static void choose_rows(struct elimination *e)
{
    const int64_t n = e->a->size;
    e->columns = e->a->definite ? 0 : n;
    for (int64_t i = 0; i < n; i++) {
        e->reach[i] = -1;
        for (int64_t j = 0; j <= i; j++) {
            e->reach[i] = e->open[i * n + j] != 0 ? j : e->reach[i];
        }
        e->columns = most(e->columns, e->reach[i] + 1);
    }
    e->size = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i < e->columns || e->reach[i] >= 0) {
            e->rows[e->size] = i;
            e->reach[e->size++] = i < e->columns ? i : e->reach[i];
        }
    }
}

enum exact_outcome cholesky_exactly(const struct hermitian *a, unsigned char *open, double *values)
{
    int64_t n = a->size;
    struct elimination e = {.a = a,
                            .open = open,
                            .values = values,
                            .quantum = INT64_MAX,
                            .top = INT64_MIN,
                            .complex = a->im != NULL};
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            const double parts[2] = {a->re[i * n + j], e.complex ? a->im[i * n + j] : 0};
            for (int p = 0; p < 2; p++) {
                e.quantum = parts[p] != 0 ? least(e.quantum, last_bit(parts[p])) : e.quantum;
            }
        }
        int exponent;
        frexp(a->re[i * n + i], &exponent);
        e.top = most(e.top, exponent);
        if (a->re[i * n + i] < 0) {
            return EXACT_INDEFINITE;
        }
    }
    e.quantum = e.quantum == INT64_MAX ? 0 : e.quantum;
    e.rows = malloc((2 * (size_t)n + 1) * sizeof *e.rows);
    e.reach = e.rows + n;
    enum exact_outcome outcome = e.rows == NULL ? EXACT_NO_MEMORY : EXACT_DONE;
    for (e.precision = FIRST_PRECISION; outcome == EXACT_DONE && any_open(open, n * n);
         e.precision = least(2 * e.precision, MOST_PRECISION)) {
        choose_rows(&e);
        const int64_t count = place(e.size, 0);
        struct bracket_scratch scratch;
        struct bracket *registers = brackets_create(3, e.precision);
        e.last = e.precision == MOST_PRECISION;
        e.c = brackets_create(2 * count, e.precision);
        e.m = brackets_create(2 * count, e.precision);
        bracket_scratch_init(&scratch, e.precision);
        outcome = registers == NULL || e.c == NULL || e.m == NULL
                      ? EXACT_NO_MEMORY
                      : eliminate_all(&e, &scratch, registers);
        bracket_scratch_finish(&scratch);
        brackets_destroy(e.c, 2 * count);
        brackets_destroy(e.m, 2 * count);
        brackets_destroy(registers, 3);
    }
    free(e.rows);
    return outcome;
}

/* --- triangular-solve --- */

struct substitution {
    const struct triangular_system *system;
    unsigned char *open;
    double *values;
    struct bracket *x, *t; /* the solution; registers */
    struct bracket_scratch scratch;
    bool complex, last;
};

/* The exponents by which one more row makes the gap smaller. */
static int64_t row_loss(const struct triangular_system *system, int64_t i)
{
    int64_t n = system->size, quantum = system->unit ? 0 : INT64_MAX, pivot = 0;
    bool complex = system->im != NULL;
    for (int64_t k = 0; k <= n; k++) {
        const double parts[2] = {k < n ? system->re[i * n + k] : system->b[2 * i],
                                 k < n ? (complex ? system->im[i * n + k] : 0)
                                       : system->b[2 * i + 1]};
        for (int p = 0; p < 2; p++) {
            bool counts = parts[p] != 0 && !(k == i && system->unit);
            quantum = counts ? least(quantum, last_bit(parts[p])) : quantum;
            if (counts && k == i) {
                int exponent;
                frexp(parts[p], &exponent);
                pivot = p == 0 || system->re[i * n + i] == 0 ? exponent : most(pivot, exponent);
            }
        }
    }
    /* |t| < √2 2^pivot */
    return complex ? 2 * (pivot + 1 - quantum) : pivot - quantum;
}

/* sum /= T(i, i) */
static void divide(struct substitution *s, struct number sum, int64_t i)
{
    int64_t at = i * s->system->size + i;
    double re = s->system->re[at], im = s->complex ? s->system->im[at] : 0;
    struct bracket *t = s->t;
    struct bracket_scratch *scratch = &s->scratch;
    if (im == 0) {
        bracket_set(&t[0], re);
        bracket_divide(scratch, sum.re, sum.re, &t[0]);
        bracket_divide(scratch, sum.im, sum.im, &t[0]);
        return;
    }
    bracket_set(&t[0], re);
    bracket_multiply_double(scratch, &t[0], &t[0], re);
    bracket_set(&t[1], im);
    bracket_multiply_double(scratch, &t[1], &t[1], im);
    bracket_add(&t[0], &t[0], &t[1]); /* |t|² */
    bracket_multiply_double(scratch, &t[1], sum.re, re);
    bracket_multiply_double(scratch, &t[2], sum.im, im);
    bracket_add(&t[1], &t[1], &t[2]);
    bracket_multiply_double(scratch, &t[2], sum.im, re);
    bracket_multiply_double(scratch, &t[3], sum.re, im);
    bracket_subtract(&t[2], &t[2], &t[3]);
    bracket_divide(scratch, sum.re, &t[1], &t[0]);
    bracket_divide(scratch, sum.im, &t[2], &t[0]);
}

/* sum −= factor * x, factor a double; t a register. */
static void subtract_multiple(struct substitution *s, struct bracket *sum, const struct bracket *x,
                              double factor)
{
    if (factor != 0 && !bracket_is_zero(x)) {
        bracket_multiply_double(&s->scratch, &s->t[0], x, factor);
        bracket_subtract(sum, sum, &s->t[0]);
    }
}

static void substitute(struct substitution *s, int64_t i, int64_t first, int64_t count)
{
    const struct triangular_system *system = s->system;
    struct number sum = number_at(s->x, i);
    bracket_set(sum.re, system->b[2 * i]);
    bracket_set(sum.im, system->b[2 * i + 1]);
    for (int64_t k = first; k < first + count; k++) {
        struct number x = number_at(s->x, k);
        double re = system->re[i * system->size + k];
        subtract_multiple(s, sum.re, x.re, re);
        if (s->complex) {
            double im = system->im[i * system->size + k];
            subtract_multiple(s, sum.re, x.im, -im);
            subtract_multiple(s, sum.im, x.im, re);
            subtract_multiple(s, sum.im, x.re, im);
        }
    }
    if (!system->unit) {
        divide(s, sum, i);
    }
}

/* All rows at one precision. */
static void substitute_all(struct substitution *s)
{
    const struct triangular_system *system = s->system;
    int64_t n = system->size, loss = 0;
    for (int64_t step = 0; step < n && !poll_stopped(system->poll); step++) {
        int64_t i = system->lower ? step : n - 1 - step;
        struct number x = number_at(s->x, i);
        substitute(s, i, system->lower ? 0 : i + 1, step);
        loss += row_loss(system, i);
        int64_t gap = boundary_bit(system->type) - loss;
        double *out = s->values + 2 * i;
        if ((s->open[i] & OPEN_RE) != 0 && decide(system->type, x.re, gap, s->last, &out[0])) {
            s->open[i] &= (unsigned char)~OPEN_RE;
        }
        if ((s->open[i] & OPEN_IM) != 0 && decide(system->type, x.im, gap, s->last, &out[1])) {
            s->open[i] &= (unsigned char)~OPEN_IM;
        }
    }
}

enum exact_outcome solve_exactly(const struct triangular_system *system, unsigned char *open,
                                 double *values)
{
    int64_t n = system->size;
    enum { REGISTERS = 4 };
    struct substitution s = {
        .system = system, .open = open, .values = values, .complex = system->im != NULL};
    for (mpfr_prec_t precision = FIRST_PRECISION; any_open(open, n);
         precision = least(2 * precision, MOST_PRECISION)) {
        s.x = brackets_create(2 * n, precision);
        s.t = brackets_create(REGISTERS, precision);
        s.last = precision == MOST_PRECISION;
        bool ok = s.x != NULL && s.t != NULL;
        if (ok) {
            bracket_scratch_init(&s.scratch, precision);
            substitute_all(&s);
            bracket_scratch_finish(&s.scratch);
        }
        brackets_destroy(s.x, 2 * n);
        brackets_destroy(s.t, REGISTERS);
        if (!ok || poll_stopped(system->poll)) {
            return ok ? EXACT_STOPPED : EXACT_NO_MEMORY;
        }
    }
    return EXACT_DONE;
}
