/* Exact matrix products against MPFR's exact sums of exact products; and the same bits from every
 * BLAS kernel, vector level and thread count: the program runs itself under several environments
 * and compares what they print. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "hlo/base/error.h"
#include "hlo/base/map.h"
#include "hlo/base/pool.h"
#include "hlo/base/rng.h"
#include "hlo/floats.h"
#include "interp/exact_dot.h"
#include "interp/exact_gemm.h"
#include "tests/interp/exact_reference.h"

static const struct reference_format *format_of(enum type type)
{
    const struct reference_format *formats[] = {&reference_f32, &reference_f64, &reference_f16,
                                                &reference_bf16, &reference_f8e5m2};
    for (int i = 0; i < 5; i++) {
        if (formats[i]->type == type) {
            return formats[i];
        }
    }
    return NULL;
}

/* Σ a[k] b[k], exactly, rounded once; sums start from +0. */
static double reference_dot(enum type type, const double *a, int64_t a_stride, const double *b,
                            int64_t b_stride, int64_t depth)
{
    mpfr_t x, y, product, sum;
    double special = 0;
    bool narrow = true; /* values of f32: sums need fewer bits */
    for (int64_t k = 0; k < depth && narrow; k++) {
        const double left = a[k * a_stride], right = b[k * b_stride];
        narrow = (double)(float)left == left && (double)(float)right == right;
    }
    mpfr_inits2(53, x, y, (mpfr_ptr)0);
    mpfr_init2(product, 106);
    mpfr_init2(sum, narrow ? 700 : 4600);
    mpfr_set_zero(sum, 1);
    for (int64_t k = 0; k < depth; k++) {
        const double left = a[k * a_stride], right = b[k * b_stride];
        if (!isfinite(left) || !isfinite(right)) {
            special += left * right;
            continue;
        }
        mpfr_set_d(x, left, MPFR_RNDN);
        mpfr_set_d(y, right, MPFR_RNDN);
        mpfr_mul(product, x, y, MPFR_RNDN);
        mpfr_add(sum, sum, product, MPFR_RNDN);
    }
    double result = special != 0       ? special
                    : mpfr_zero_p(sum) ? 0.0
                                       : reference_round(format_of(type), sum);
    mpfr_clears(x, y, product, sum, (mpfr_ptr)0);
    return result;
}

/* CANCELLING and REPEATING vectors have products that cancel; LARGE and LARGE_REPEATING are theirs
 * of large integers. */
enum kind {
    PLAIN,
    WIDE,
    CANCELLING,
    INTEGERS,
    SPECIALS,
    ZEROS,
    LARGE,
    KINDS,
    REPEATING,
    LARGE_REPEATING
};

static enum kind partner(enum kind kind)
{
    return kind == CANCELLING ? REPEATING
           : kind == LARGE    ? LARGE_REPEATING
           : kind == ZEROS    ? PLAIN
                              : kind;
}

static double make_element(enum kind kind, enum type type, struct rng *rng, int64_t k, double last)
{
    const int spread = type == TYPE_F64 ? 600 : type == TYPE_F16 || type == TYPE_F8E5M2 ? 16 : 120;
    double value = rng_uniform(rng) - 0.5;
    switch (kind) {
    case WIDE:
        return ldexp(value, (int)rng_below(rng, (uint64_t)spread) - spread / 2);
    case CANCELLING:
    case REPEATING:
        return k % 2 == 0 || rng_below(rng, 16) == 0 ? value : kind == CANCELLING ? -last : last;
    case LARGE:
    case LARGE_REPEATING:
        value = (double)(int64_t)(value * (type == TYPE_F64 ? 0x1p40 : 0x1p24));
        return k % 2 == 0 || k == 21 ? value : kind == LARGE ? -last : last;
    case INTEGERS:
        return (double)(int64_t)(value * 24);
    case SPECIALS:
        return rng_below(rng, 150) != 0 ? value
               : rng_below(rng, 3) == 0 ? NAN
                                        : copysign(INFINITY, value);
    case ZEROS:
        return rng_below(rng, 3) == 0 ? 0.25 : rng_below(rng, 2) == 0 ? -0.0 : 0.0;
    default:
        return value;
    }
}

/* A matrix of vectors as doubles (dense) and stored with the given strides. */
struct stored {
    double *values;
    char *bits;
    struct exact_dot_matrix matrix;
};

static struct stored make_matrix(enum kind kind, enum type type, struct rng *rng, int64_t vectors,
                                 int64_t depth, int64_t vector_stride, int64_t depth_stride)
{
    struct stored m;
    const int bytes = type_bytes(type);
    const size_t room = (size_t)(vectors * vector_stride + depth * depth_stride + 1);
    m.values = malloc((size_t)(vectors * depth + 1) * sizeof(double));
    m.bits = calloc(room, (size_t)bytes);
    for (int64_t v = 0; v < vectors; v++) {
        for (int64_t k = 0; k < depth; k++) {
            double *value = &m.values[v * depth + k];
            *value = make_element(kind, type, rng, k, k > 0 ? value[-1] : 0);
            float_store(type, value, m.bits + (v * vector_stride + k * depth_stride) * bytes, 1);
            float_load(type, m.bits + (v * vector_stride + k * depth_stride) * bytes, value, 1);
        }
    }
    m.matrix = (struct exact_dot_matrix){m.bits, type, vector_stride, depth_stride};
    return m;
}

static void free_matrix(struct stored *m)
{
    free(m->values);
    free(m->bits);
}

enum layout { ROW_MAJOR, TURNED, GAPS, LAYOUTS };

static void check_product(enum kind kind, enum type type, enum type source, int64_t rows,
                          int64_t columns, int64_t depth, enum layout layout, int samples)
{
    struct rng rng;
    rng_init(&rng, (uint64_t)(rows * 7 + columns * 3 + depth) + (uint64_t)kind);
    const bool gaps = layout == GAPS;
    const int64_t gap = gaps ? 3 : 1;
    struct stored a =
        make_matrix(kind, source, &rng, rows, depth, layout == TURNED ? 1 : depth * gap,
                    layout == TURNED ? rows : gap);
    struct stored b =
        make_matrix(partner(kind), source, &rng, columns, depth,
                    layout == ROW_MAJOR ? 1 : depth * gap, layout == ROW_MAJOR ? columns : gap);
    char *out = calloc((size_t)(rows * columns * 2 + 1), sizeof(double));
    struct exact_dot_output output = {out, type, gaps ? 1 : columns, gaps ? rows : 1};
    struct error error;
    error_clear(&error);
    bool ok = exact_dot_matrices(&a.matrix, &b.matrix, &output, rows, columns, depth, NULL, &error);
    REQUIRE(ok, "%s", error.message);
    const int64_t count = rows * columns;
    for (int64_t s = 0; s < (samples > 0 ? samples : count); s++) {
        const int64_t e = samples > 0 ? (int64_t)rng_below(&rng, (uint64_t)count) : s;
        const int64_t i = e / columns, j = e % columns;
        double got,
            want = reference_dot(type, a.values + i * depth, 1, b.values + j * depth, 1, depth);
        float_load(type,
                   out + (i * output.row_stride + j * output.column_stride) * type_bytes(type),
                   &got, 1);
        REQUIRE(same(got, want),
                "%s of %s, %lld x %lld x %lld, kind %d, layout %d, (%lld, %lld): %a, "
                "not %a",
                type_text(type), type_text(source), (long long)rows, (long long)columns,
                (long long)depth, kind, layout, (long long)i, (long long)j, got, want);
    }
    free_matrix(&a);
    free_matrix(&b);
    free(out);
}

static const struct {
    enum type type, source;
} kinds_of_types[] = {
    {TYPE_F32, TYPE_F32}, {TYPE_BF16, TYPE_BF16},   {TYPE_F32, TYPE_BF16},
    {TYPE_F16, TYPE_F16}, {TYPE_F64, TYPE_F64},     {TYPE_F64, TYPE_F32},
    {TYPE_F32, TYPE_F64}, {TYPE_BF16, TYPE_F8E5M2}, {TYPE_F8E5M2, TYPE_F16},
};
enum { TYPE_PAIRS = 9 };

START_TEST(test_products)
{
    static const int64_t shapes[][4] = {/* the last: how many elements are checked, 0 is all */
                                        {1, 1, 1, 0},       {3, 5, 0, 0},      {2, 3, 7, 0},
                                        {5, 4, 100, 0},     {1, 70, 130, 0},   {33, 1, 300, 0},
                                        {40, 50, 17, 200},  {20, 30, 800, 40}, {65, 70, 1700, 30},
                                        {300, 530, 20, 150}};
    for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
        for (int layout = 0; layout < LAYOUTS; layout++) {
            for (int kind = 0; kind < KINDS; kind++) {
                check_product((enum kind)kind, kinds_of_types[_i].type, kinds_of_types[_i].source,
                              shapes[s][0], shapes[s][1], shapes[s][2], (enum layout)layout,
                              (int)shapes[s][3]);
            }
        }
    }
}
END_TEST

/* Depths read in slices, panels in several blocks. */
START_TEST(test_large)
{
    check_product(PLAIN, TYPE_F32, TYPE_F32, 3, 5, 300000, ROW_MAJOR, 4);
    check_product(CANCELLING, TYPE_BF16, TYPE_F32, 9, 4, 270000, TURNED, 4);
    check_product(SPECIALS, TYPE_F32, TYPE_F32, 2, 3, 263000, TURNED, 4);
    check_product(PLAIN, TYPE_F32, TYPE_F32, 70, 9, 200000, TURNED, 5);
    check_product(PLAIN, TYPE_F32, TYPE_F16, 2500, 2100, 3, ROW_MAJOR, 500);
}
END_TEST

START_TEST(test_batch)
{
    enum { BATCH = 7, ROWS = 6, COLUMNS = 9, DEPTH = 50 };
    struct rng rng;
    rng_init(&rng, 40);
    struct stored a = make_matrix(PLAIN, TYPE_F32, &rng, BATCH * ROWS, DEPTH, DEPTH, 1);
    struct stored b = make_matrix(PLAIN, TYPE_F32, &rng, BATCH * COLUMNS, DEPTH, DEPTH, 1);
    float out[BATCH * ROWS * COLUMNS];
    struct exact_dot_output output = {out, TYPE_F32, COLUMNS, 1};
    for (int threads = 1; threads <= 2; threads++) {
        pool_set_threads(threads);
        struct exact_dot_batch batch = {BATCH, ROWS * DEPTH, COLUMNS * DEPTH, ROWS * COLUMNS};
        memset(out, 0, sizeof(out));
        ck_assert(
            exact_dot_matrices(&a.matrix, &b.matrix, &output, ROWS, COLUMNS, DEPTH, &batch, NULL));
        for (int64_t e = 0; e < BATCH * ROWS * COLUMNS; e++) {
            const int64_t n = e / (ROWS * COLUMNS), i = e / COLUMNS % ROWS, j = e % COLUMNS;
            double want = reference_dot(TYPE_F32, a.values + (n * ROWS + i) * DEPTH, 1,
                                        b.values + (n * COLUMNS + j) * DEPTH, 1, DEPTH);
            REQUIRE(same((double)out[e], want), "%lld: %a, not %a", (long long)e, (double)out[e],
                    want);
        }
    }
    free_matrix(&a);
    free_matrix(&b);
}
END_TEST

/* Re and im of Σ a b as real dots of twice the depth. */
START_TEST(test_complex)
{
    enum { ROWS = 5, COLUMNS = 4, DEPTH = 40 };
    const enum type part = _i == 0 ? TYPE_F32 : TYPE_F64, whole = _i == 0 ? TYPE_C64 : TYPE_C128;
    struct rng rng;
    rng_init(&rng, 41);
    for (int kind = 0; kind < KINDS; kind++) {
        if (kind == SPECIALS) {
            continue;
        }
        struct stored a = make_matrix((enum kind)kind, part, &rng, ROWS, 2 * DEPTH, 2 * DEPTH, 1);
        struct stored b =
            make_matrix((enum kind)kind, part, &rng, COLUMNS, 2 * DEPTH, 2 * DEPTH, 1);
        struct exact_dot_matrix left = {a.bits, whole, DEPTH, 1}, right = {b.bits, whole, DEPTH, 1};
        double out[2 * ROWS * COLUMNS], got[2 * ROWS * COLUMNS];
        struct exact_dot_output output = {out, whole, COLUMNS, 1};
        ck_assert(exact_dot_complex(&left, &right, &output, ROWS, COLUMNS, DEPTH, NULL, NULL));
        float_load(part, out, got, 2 * ROWS * COLUMNS);
        for (int e = 0; e < ROWS * COLUMNS; e++) {
            const double *x = a.values + e / COLUMNS * 2 * DEPTH;
            const double *y = b.values + e % COLUMNS * 2 * DEPTH;
            double turned[2][2 * DEPTH];
            for (int k = 0; k < DEPTH; k++) {
                turned[0][2 * k] = y[2 * k];
                turned[0][2 * k + 1] = -y[2 * k + 1];
                turned[1][2 * k] = y[2 * k + 1];
                turned[1][2 * k + 1] = y[2 * k];
            }
            for (int p = 0; p < 2; p++) {
                double want = reference_dot(part, x, 1, turned[p], 1, 2 * DEPTH);
                REQUIRE(same(got[2 * e + p], want), "%d.%d: %a, not %a", e, p, got[2 * e + p],
                        want);
            }
        }
        free_matrix(&a);
        free_matrix(&b);
    }
}
END_TEST

/* --- Adversaries. ------------------------------------------------------------------------------
 */

enum { ADVERSARIES = 13 };

/* Terms a[k] * b[k] whose sum is on a rounding boundary of the format, or next to one, behind terms
 * that cancel; b is the same for all. Returns how many terms it takes. */
static int64_t make_adversary(const struct reference_format *format, int which, bool negative,
                              double *a, double *b)
{
    const int p = format->precision;
    const double half = 0.5, tiny = ldexp(1, format->least);
    const double large = ldexp(1, format->most - 1);
    const double most = large * (2 - ldexp(1, 1 - p));
    const double tail = which % 3 == 0 ? 0 : which % 3 == 1 ? tiny : -tiny;
    double terms[12] = {0};
    const double factors[12] = {1, 1, 1, 1, 1, 1, 1, half, ldexp(1, -9), 1, 1, 1};
    switch (which) {
    case 0: /* 2^p + 1 is halfway; the tail decides */
    case 1:
    case 2:
        terms[0] = ldexp(1, p);
        terms[1] = 1;
        terms[2] = tail;
        break;
    case 3: /* the same behind what cancels, in an order that loses it */
    case 4:
    case 5:
        terms[0] = large;
        terms[1] = ldexp(1, p);
        terms[2] = tail;
        terms[3] = 1;
        terms[4] = -large;
        terms[5] = tail;
        break;
    case 6: /* halfway between the largest number and infinity; partial sums overflow */
    case 7:
    case 8:
        terms[0] = most;
        terms[1] = most;
        terms[2] = large;
        terms[3] = -most;
        terms[4] = -large;
        terms[5] = ldexp(1, format->most - 1 - p);
        terms[6] = tail;
        break;
    case 9: /* half the smallest subnormal, and a little more or less */
    case 10:
    case 11:
        terms[0] = large;
        terms[6] = -large;
        terms[7] = tiny;
        terms[8] = tail;
        break;
    default: /* −0, and what cancels to zero */
        terms[0] = large;
        terms[3] = -0.0;
        terms[6] = -large;
        break;
    }
    for (int k = 0; k < 12; k++) {
        a[k] = negative ? -terms[k] : terms[k];
        b[k] = factors[k];
    }
    return 12;
}

/* Rows of adversaries against columns that scale them; fillers between the terms cancel. */
static void check_adversaries(enum type type, int64_t columns, int64_t depth)
{
    enum { ROWS = 2 * ADVERSARIES };
    const struct reference_format *format = format_of(type);
    double *a = calloc((size_t)(ROWS * depth), sizeof(double));
    double *b = calloc((size_t)(columns * depth), sizeof(double));
    const int bytes = type_bytes(type);
    char *a_bits = malloc((size_t)(ROWS * depth * bytes));
    char *b_bits = malloc((size_t)(columns * depth * bytes));
    char *out = malloc((size_t)(ROWS * columns * bytes));
    const int64_t step = (depth - 1) / 12; /* terms are spread over the depth */
    for (int64_t i = 0; i < ROWS; i++) {
        double terms[12], factors[12];
        make_adversary(format, (int)i / 2, i % 2 == 1, terms, factors);
        for (int64_t k = 0; k < depth; k++) {
            /* Pairs of neighbours that no term lies between cancel. */
            a[i * depth + k] = k % step % 2 == 1 && k % step + 1 < step ? 1 : 0;
            a[i * depth + k] = k % step % 2 == 0 && k % step > 0 ? -1 : a[i * depth + k];
        }
        for (int k = 0; k < 12; k++) {
            a[i * depth + k * step] = terms[k];
        }
        for (int64_t j = 0; i == 0 && j < columns; j++) {
            const double scale = ldexp(j % 2 == 0 ? 1 : -1, (int)(j / 2 % 3) - 1);
            for (int64_t k = 0; k < depth; k++) {
                b[j * depth + k] = scale;
            }
            for (int k = 0; k < 12; k++) {
                b[j * depth + k * step] = factors[k] * scale;
            }
        }
    }
    float_store(type, a, a_bits, ROWS * depth);
    float_store(type, b, b_bits, columns * depth);
    float_load(type, a_bits, a, ROWS * depth);
    float_load(type, b_bits, b, columns * depth);
    const struct exact_dot_matrix left = {a_bits, type, depth, 1}, right = {b_bits, type, depth, 1};
    struct exact_dot_output output = {out, type, columns, 1};
    ck_assert(exact_dot_matrices(&left, &right, &output, ROWS, columns, depth, NULL, NULL));
    for (int64_t e = 0; e < ROWS * columns; e++) {
        double got, want = reference_dot(type, a + e / columns * depth, 1, b + e % columns * depth,
                                         1, depth);
        float_load(type, out + e * bytes, &got, 1);
        REQUIRE(same(got, want), "%s: adversary %lld, column %lld of %lld, depth %lld: %a, not %a",
                type_text(type), (long long)(e / columns), (long long)(e % columns),
                (long long)columns, (long long)depth, got, want);
    }
    free(a);
    free(b);
    free(a_bits);
    free(b_bits);
    free(out);
}

START_TEST(test_adversaries)
{
    static const enum type types[] = {TYPE_F32, TYPE_F64, TYPE_F16, TYPE_BF16, TYPE_F8E5M2};
    for (int t = 0; t < 5; t++) {
        check_adversaries(types[t], 6, 14);   /* compensated sums at once */
        check_adversaries(types[t], 30, 50);  /* one dgemm */
        check_adversaries(types[t], 4, 1700); /* dgemms added up */
    }
}
END_TEST

/* Vectors of f64 whose elements all are tiny, with others that are not: a dgemm of them says
 * little, and their products may be below all doubles. */
START_TEST(test_tiny_vectors)
{
    enum { ROWS = 40, COLUMNS = 30, DEPTH = 40 };
    static const int exponents[][2] = {{-420, 0},    {-420, 400},  {-420, -420},
                                       {-1060, 900}, {-530, -545}, {-1060, -20}};
    static const enum type types[] = {TYPE_F32, TYPE_BF16, TYPE_F64};
    struct rng rng;
    rng_init(&rng, 77);
    for (size_t x = 0; x < sizeof(exponents) / sizeof(exponents[0]); x++) {
        static double a[ROWS * DEPTH], b[COLUMNS * DEPTH];
        for (int i = 0; i < ROWS * DEPTH; i++) {
            /* Some rows are zeros, of either sign, some are integers of a tiny unit. */
            const int row = i / DEPTH;
            double value = row % 4 == 0   ? (double)(int64_t)rng_below(&rng, 9) - 4
                           : row % 7 == 0 ? -0.0
                                          : rng_uniform(&rng) - 0.5;
            a[i] = ldexp(value, exponents[x][0]);
        }
        for (int i = 0; i < COLUMNS * DEPTH; i++) {
            b[i] = ldexp(i / DEPTH % 3 == 0 ? 1 : rng_uniform(&rng) - 0.5, exponents[x][1]);
        }
        for (int t = 0; t < 3; t++) {
            static double out[ROWS * COLUMNS];
            const struct exact_dot_matrix left = {a, TYPE_F64, DEPTH, 1};
            const struct exact_dot_matrix right = {b, TYPE_F64, DEPTH, 1};
            struct exact_dot_output output = {out, types[t], COLUMNS, 1};
            ck_assert(exact_dot_matrices(&left, &right, &output, ROWS, COLUMNS, DEPTH, NULL, NULL));
            for (int e = 0; e < ROWS * COLUMNS; e++) {
                double got, want = reference_dot(types[t], a + e / COLUMNS * DEPTH, 1,
                                                 b + e % COLUMNS * DEPTH, 1, DEPTH);
                float_load(types[t], (const char *)out + e * type_bytes(types[t]), &got, 1);
                REQUIRE(same(got, want), "%s of 2^%d by 2^%d, %d: %a, not %a", type_text(types[t]),
                        exponents[x][0], exponents[x][1], e, got, want);
            }
        }
    }
}
END_TEST

/* --- All types. --------------------------------------------------------------------------------
 */

/* Σ a b rounded once to any type: to odd at 53 bits by MPFR, then by hlo/floats.c, whose roundings
 * are tested on their own. */
static double reference_any(enum type type, const double *a, const double *b, int64_t depth)
{
    mpfr_t product, sum;
    double special = 0;
    mpfr_init2(product, 106);
    mpfr_init2(sum, 4600);
    mpfr_set_zero(sum, 1);
    for (int64_t k = 0; k < depth; k++) {
        if (!isfinite(a[k]) || !isfinite(b[k])) {
            special += a[k] * b[k];
            continue;
        }
        mpfr_set_d(product, a[k], MPFR_RNDN);
        mpfr_mul_d(product, product, b[k], MPFR_RNDN);
        mpfr_add(sum, sum, product, MPFR_RNDN);
    }
    double odd = mpfr_get_d(sum, MPFR_RNDZ);
    if (mpfr_cmp_d(sum, odd) != 0) {
        uint64_t bits;
        memcpy(&bits, &odd, sizeof(bits));
        bits |= 1;
        memcpy(&odd, &bits, sizeof(bits));
    }
    double result = special != 0       ? float_round(type, isnan(special) ? NAN : special)
                    : type == TYPE_F64 ? mpfr_get_d(sum, MPFR_RNDN)
                    : mpfr_zero_p(sum) ? float_round(type, 0.0)
                                       : float_round(type, odd);
    mpfr_clears(product, sum, (mpfr_ptr)0);
    return result;
}

/* Every float type by every other to every other, elements of all bits. */
START_TEST(test_all_types)
{
    enum { ROWS = 21, COLUMNS = 20, DEPTH = 22, SAMPLES = 3 };
    static double a[ROWS * DEPTH], b[COLUMNS * DEPTH], out[ROWS * COLUMNS];
    static uint64_t a_bits[ROWS * DEPTH], b_bits[COLUMNS * DEPTH];
    struct rng rng;
    rng_init(&rng, (uint64_t)_i);
    if (!type_is_float((enum type)_i)) {
        return;
    }
    for (int x = 0; x < TYPE_COUNT; x++) {
        for (int y = 0; y < TYPE_COUNT; y++) {
            const enum type left = (enum type)x, right = (enum type)y, type = (enum type)_i;
            if (!type_is_float(left) || !type_is_float(right)) {
                continue;
            }
            const bool specials = rng_below(&rng, 4) == 0;
            for (int side = 0; side < 2; side++) {
                const enum type source = side == 0 ? left : right;
                const int64_t count = (side == 0 ? ROWS : COLUMNS) * DEPTH;
                char *bits = (char *)(side == 0 ? a_bits : b_bits);
                double *values = side == 0 ? a : b;
                for (int64_t i = 0; i < count; i++) {
                    do {
                        uint64_t random = rng_next(&rng) >> (64 - type_bits(source));
                        memcpy(bits + i * type_bytes(source), &random, (size_t)type_bytes(source));
                        float_load(source, bits + i * type_bytes(source), &values[i], 1);
                    } while (!specials && !isfinite(values[i]));
                }
            }
            const struct exact_dot_matrix a_matrix = {a_bits, left, DEPTH, 1};
            const struct exact_dot_matrix b_matrix = {b_bits, right, DEPTH, 1};
            struct exact_dot_output output = {out, type, COLUMNS, 1};
            ck_assert(exact_dot_matrices(&a_matrix, &b_matrix, &output, ROWS, COLUMNS, DEPTH, NULL,
                                         NULL));
            for (int sample = 0; sample < SAMPLES; sample++) {
                const int64_t e = (int64_t)rng_below(&rng, ROWS * COLUMNS);
                double got, want = reference_any(type, a + e / COLUMNS * DEPTH,
                                                 b + e % COLUMNS * DEPTH, DEPTH);
                float_load(type, (const char *)out + e * type_bytes(type), &got, 1);
                REQUIRE(same(got, want), "%s of %s and %s, %lld: %a, not %a", type_text(type),
                        type_text(left), type_text(right), (long long)e, got, want);
            }
        }
    }
}
END_TEST

START_TEST(test_one)
{
    struct rng rng;
    rng_init(&rng, 42);
    for (int kind = 0; kind < KINDS; kind++) {
        for (int64_t depth = 0; depth < 700; depth = depth * 2 + 1) {
            for (size_t p = 0; p < TYPE_PAIRS; p++) {
                const enum type source = kinds_of_types[p].source, type = kinds_of_types[p].type;
                struct stored a = make_matrix((enum kind)kind, source, &rng, 3, depth, depth, 1);
                struct stored b =
                    make_matrix(partner((enum kind)kind), source, &rng, 1, depth, depth, 1);
                double got = exact_dot_one(type, a.values, 3, b.values, 1, depth);
                double want = reference_dot(type, a.values, 3, b.values, 1, depth);
                REQUIRE(same(got, want), "%s depth %lld kind %d: %a, not %a", type_text(type),
                        (long long)depth, kind, got, want);
                free_matrix(&a);
                free_matrix(&b);
            }
        }
    }
}
END_TEST

/* With BLAS distrusted, plain loops give the same. */
START_TEST(test_distrusted)
{
    gemm_distrust();
    ck_assert(gemm_distrusted());
    for (int layout = 0; layout < LAYOUTS; layout++) {
        check_product(PLAIN, TYPE_F32, TYPE_F32, 65, 70, 900, (enum layout)layout, 300);
    }
}
END_TEST

/* --- The same bits everywhere. -----------------------------------------------------------------
 */

/* A hash of some products that take the paths through BLAS. */
static uint64_t products_hash(void)
{
    static const int64_t shapes[][3] = {
        {300, 200, 1000}, {64, 64, 64}, {1, 500, 700}, {257, 129, 300}};
    static const enum type types[] = {TYPE_F32, TYPE_BF16, TYPE_F32, TYPE_F16};
    uint64_t hash = 0;
    for (int s = 0; s < 4; s++) {
        struct rng rng;
        rng_init(&rng, (uint64_t)s);
        const int64_t rows = shapes[s][0], columns = shapes[s][1], depth = shapes[s][2];
        struct stored a =
            make_matrix(s == 3 ? CANCELLING : PLAIN, types[s], &rng, rows, depth, depth, 1);
        struct stored b =
            make_matrix(s == 3 ? REPEATING : PLAIN, types[s], &rng, columns, depth, 1, columns);
        const size_t size = (size_t)(rows * columns * type_bytes(types[s]));
        char *out = malloc(size);
        struct exact_dot_output output = {out, types[s], columns, 1};
        if (!exact_dot_matrices(&a.matrix, &b.matrix, &output, rows, columns, depth, NULL, NULL)) {
            return 0;
        }
        hash = hash_bytes(out, size, hash);
        free(out);
        free_matrix(&a);
        free_matrix(&b);
    }
    return hash;
}

START_TEST(test_same_everywhere)
{
    static const char *const settings[] = {
        "REFEREE_THREADS=1",
        "REFEREE_THREADS=2",
        "OPENBLAS_CORETYPE=Nehalem REFEREE_THREADS=2",
        "OPENBLAS_CORETYPE=Haswell REFEREE_THREADS=2",
        "OPENBLAS_CORETYPE=Sandybridge REFEREE_THREADS=1",
        "REFEREE_VECTOR_LEVEL=0",
        "REFEREE_VECTOR_LEVEL=2 OPENBLAS_NUM_THREADS=2",
    };
    char self[4096], command[8192], line[2][64] = {"", ""};
    ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
    ck_assert(size > 0);
    self[size] = 0;
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        snprintf(command, sizeof(command), "%s '%s' --hash", settings[i], self);
        FILE *child = popen(command, "r");
        ck_assert_ptr_nonnull(child);
        ck_assert_ptr_nonnull(fgets(line[i > 0], sizeof(line[0]), child));
        ck_assert_int_eq(pclose(child), 0);
        ck_assert_msg(i == 0 || strcmp(line[0], line[1]) == 0, "%s: %s, but %s: %s", settings[i],
                      line[1], settings[0], line[0]);
    }
    ck_assert(strlen(line[0]) > 8);
}
END_TEST

/* A processor that OpenBLAS does not know gets kernels that use what it can do, unless the
 * environment says which. */
START_TEST(test_kernels)
{
#ifdef __x86_64__
    const char *wanted = getenv("OPENBLAS_CORETYPE");
    if (wanted == NULL && gemm_kernels() != NULL && __builtin_cpu_supports("avx2") &&
        __builtin_cpu_supports("fma")) {
        ck_assert_str_ne(gemm_kernels(), "Prescott");
        ck_assert_ptr_null(getenv("OPENBLAS_CORETYPE"));
    }
#endif
    ck_assert(gemm_kernels() == NULL || gemm_kernels()[0] != '\0');
}
END_TEST

/* Sums that are not rounded lie within their bounds, which are small. */
struct bounded {
    double sums[24 * 20], bounds[24 * 20];
};

static void take(double *to, int64_t first_row, int64_t rows, int64_t first_column, int64_t columns,
                 const double *values, int64_t step)
{
    for (int64_t i = 0; i < rows * columns; i++) {
        to[(first_row + i / columns) * 20 + first_column + i % columns] =
            values[i / columns * step + i % columns];
    }
}

static void take_sums(void *context, int64_t first_row, int64_t rows, int64_t first_column,
                      int64_t columns, const double *values, int64_t step)
{
    take(((struct bounded *)context)->sums, first_row, rows, first_column, columns, values, step);
}

static void take_bounds(void *context, int64_t first_row, int64_t rows, int64_t first_column,
                        int64_t columns, const double *values, int64_t step)
{
    take(((struct bounded *)context)->bounds, first_row, rows, first_column, columns, values, step);
}

START_TEST(test_bounded)
{
    enum { ROWS = 24, COLUMNS = 20, MOST = 900 };
    static const enum kind kinds[] = {PLAIN, CANCELLING, INTEGERS, SPECIALS, ZEROS};
    static float a[ROWS * MOST], b[COLUMNS * MOST];
    static double left[ROWS * MOST], right[COLUMNS * MOST];
    static struct bounded got;
    const enum kind kind = kinds[_i % 5];
    const int64_t depth = _i / 5 == 0 ? 100 : MOST; /* of one dgemm, of several */
    struct rng rng;
    struct error err = {0};
    rng_init(&rng, (uint64_t)_i);
    for (int64_t i = 0; i < ROWS * depth; i++) {
        a[i] = (float)make_element(kind, TYPE_F32, &rng, i, i == 0 ? 0 : left[i - 1]);
        left[i] = (double)a[i];
    }
    for (int64_t i = 0; i < COLUMNS * depth; i++) {
        b[i] = (float)make_element(partner(kind), TYPE_F32, &rng, i, i == 0 ? 0 : right[i - 1]);
        right[i] = (double)b[i];
    }
    const struct exact_dot_matrix rows = {a, TYPE_F32, depth, 1}, columns = {b, TYPE_F32, depth, 1};
    const struct exact_dot_operand x = exact_dot_matrix_operand(&rows, ROWS);
    const struct exact_dot_operand y = exact_dot_matrix_operand(&columns, COLUMNS);
    ck_assert(exact_dot_bounded(&x, &y, depth, take_sums, take_bounds, &got, &err));
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        const double want = reference_dot(TYPE_F64, left + i / COLUMNS * depth, 1,
                                          right + i % COLUMNS * depth, 1, depth);
        const double bound = got.bounds[i];
        if (isfinite(want)) {
            ck_assert_msg(fabs(got.sums[i] - want) <= bound + fabs(want) * 0x1p-53,
                          "%d: %.17g, not %.17g, bound %g", i, got.sums[i], want, bound);
            ck_assert(bound == 0 ? !signbit(got.sums[i]) || want != 0 : bound < 1e-9);
        } else {
            ck_assert(isnan(want) ? isnan(got.sums[i]) : got.sums[i] == want);
            ck_assert_double_eq(bound, 0);
        }
    }
}
END_TEST

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--hash") == 0) {
        printf("%016llx\n", (unsigned long long)products_hash());
        return EXIT_SUCCESS;
    }
    Suite *suite = suite_create("exact_dot");
    TCase *all = tcase_create("exact_dot");
    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, test_products, 0, TYPE_PAIRS);
    tcase_add_loop_test(all, test_bounded, 0, 10);
    tcase_add_test(all, test_large);
    tcase_add_test(all, test_batch);
    tcase_add_loop_test(all, test_complex, 0, 2);
    tcase_add_test(all, test_adversaries);
    tcase_add_test(all, test_tiny_vectors);
    tcase_add_loop_test(all, test_all_types, 0, TYPE_COUNT);
    tcase_add_test(all, test_one);
    tcase_add_test(all, test_distrusted);
    tcase_add_test(all, test_same_everywhere);
    tcase_add_test(all, test_kernels);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
