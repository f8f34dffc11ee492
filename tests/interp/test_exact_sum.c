/* Exact sums against MPFR's correctly rounded mpfr_sum: cancellation, wide exponents, ties, special
 * values, every shape that the loops distinguish. */
#include <stdlib.h>

#include "hlo/base/pool.h"
#include "hlo/base/rng.h"
#include "hlo/floats.h"
#include "interp/exact_sum.h"
#include "interp/exact_sum_kernels.h"
#include "tests/interp/exact_reference.h"

static const struct reference_format *const formats[] = {
    &reference_f32, &reference_f64, &reference_f16, &reference_bf16, &reference_f8e5m2};
enum { FORMATS = 5 };

/* init + Σ terms[i * stride] rounded once; all finite. A zero sum has the sign that the terms say.
 */
static double reference_sum(const struct reference_format *format, double init, const double *terms,
                            int64_t count, int64_t stride)
{
    mpfr_t *values = malloc(((size_t)count + 1) * sizeof(mpfr_t));
    mpfr_ptr *pointers = malloc(((size_t)count + 1) * sizeof(mpfr_ptr));
    mpfr_t sum;
    bool minus = signbit(init) != 0, nonzero = init != 0;
    mpfr_init2(sum, 2300); /* any sum of doubles */
    for (int64_t i = 0; i <= count; i++) {
        const double term = i == count ? init : terms[i * stride];
        mpfr_init2(values[i], 53);
        mpfr_set_d(values[i], term, MPFR_RNDN);
        pointers[i] = values[i];
        minus = minus && signbit(term) != 0;
        nonzero = nonzero || term != 0;
    }
    mpfr_sum(sum, pointers, (unsigned long)count + 1, MPFR_RNDN);
    double result =
        mpfr_zero_p(sum) ? (minus && !nonzero ? -0.0 : 0.0) : reference_round(format, sum);
    for (int64_t i = 0; i <= count; i++) {
        mpfr_clear(values[i]);
    }
    mpfr_clear(sum);
    free(values);
    free(pointers);
    return result;
}

enum kind { PLAIN, WIDE, CANCELLING, INTEGERS, TIES, ZEROS, KINDS };

/* Terms that are values of `type`. */
static void make_terms(enum kind kind, enum type type, struct rng *rng, double *terms,
                       int64_t count)
{
    const int spread = type == TYPE_F64 ? 1800 : type == TYPE_F16 || type == TYPE_F8E5M2 ? 24 : 200;
    for (int64_t i = 0; i < count; i++) {
        double value = rng_uniform(rng) - 0.5;
        switch (kind) {
        case WIDE:
            value = ldexp(value, (int)rng_below(rng, (uint64_t)spread) - spread / 2);
            break;
        case CANCELLING: /* most terms come back with the other sign */
            value = i % 2 == 1 && rng_below(rng, 10) != 0
                        ? -terms[i - 1]
                        : ldexp(value, (int)rng_below(rng, (uint64_t)spread / 2));
            break;
        case INTEGERS:
            value = (double)(int64_t)(value * 16);
            break;
        case TIES: /* a one and many pieces near half its last place */
            value =
                i == 0 ? 1 : ldexp(rng_below(rng, 3) == 0 ? 1 : -1, -24 - (int)rng_below(rng, 3));
            break;
        case ZEROS:
            value = rng_below(rng, 50) == 0 ? 0.0 : -0.0;
            break;
        default:
            break;
        }
        terms[i] = float_round(type, value);
    }
}

START_TEST(test_one_sum)
{
    static double terms[6100];
    const int64_t counts[] = {0, 1, 2, 3, 7, 31, 32, 33, 100, 511, 512, 513, 2000};
    struct rng rng;
    rng_init(&rng, (uint64_t)_i + 1);
    for (int f = 0; f < FORMATS; f++) {
        for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
            for (int repeat = 0; repeat < 4; repeat++) {
                const int64_t count = counts[c], stride = repeat == 3 ? 3 : repeat == 2 ? 20 : 1;
                if (count * stride > 6000) {
                    continue;
                }
                make_terms((enum kind)_i, formats[f]->type, &rng, terms, count * stride + 1);
                for (int r = 0; r < FORMATS; r++) {
                    const double init = repeat == 1 ? terms[count * stride] : -0.0;
                    double got = exact_sum(formats[r]->type, init, terms, count, stride);
                    double want = reference_sum(formats[r], init, terms, count, stride);
                    REQUIRE(same(got, want), "%s of %lld %s, kind %d: %a, not %a",
                            type_text(formats[r]->type), (long long)count,
                            type_text(formats[f]->type), _i, got, want);
                }
            }
        }
    }
}
END_TEST

/* The accumulator alone, so that it is tested where the fast sums do not need it. */
START_TEST(test_accumulator)
{
    static double terms[2000];
    struct rng rng;
    rng_init(&rng, (uint64_t)_i + 100);
    for (int f = 0; f < FORMATS; f++) {
        for (int64_t count = 1; count <= 2000; count = count * 3 + 1) {
            make_terms((enum kind)_i, formats[f]->type, &rng, terms, count);
            struct exact_accumulator accumulator;
            exact_accumulator_init(&accumulator);
            for (int64_t i = 0; i < count; i++) {
                exact_accumulator_add(&accumulator, terms[i]);
            }
            for (int r = 0; r < FORMATS; r++) {
                double want = reference_sum(formats[r], -0.0, terms, count, 1);
                double got = exact_accumulator_round(&accumulator, formats[r]->type);
                REQUIRE(same(got, want), "%s of %lld %s, kind %d: %a, not %a",
                        type_text(formats[r]->type), (long long)count, type_text(formats[f]->type),
                        _i, got, want);
            }
        }
    }
}
END_TEST

/* Exact products down to 2^-2148 and up to 2^2047. */
START_TEST(test_products)
{
    struct rng rng;
    rng_init(&rng, 5);
    for (int round = 0; round < 3000; round++) {
        mpfr_t x, y, product, sum;
        mpfr_inits2(53, x, y, (mpfr_ptr)0);
        mpfr_init2(product, 106);
        mpfr_init2(sum, 5000);
        mpfr_set_zero(sum, 1);
        struct exact_accumulator accumulator;
        exact_accumulator_init(&accumulator);
        const int spread = round % 3 == 0 ? 2098 : round % 3 == 1 ? 400 : 20;
        for (int i = 0; i < 5; i++) {
            double a = ldexp(rng_uniform(&rng) - 0.5, (int)rng_below(&rng, (uint64_t)spread) -
                                                          (spread > 2000 ? 1074 : spread / 2));
            double b = ldexp(rng_uniform(&rng) - 0.5, (int)rng_below(&rng, (uint64_t)spread) -
                                                          (spread > 2000 ? 1074 : spread / 2));
            exact_accumulator_add_product(&accumulator, a, b);
            mpfr_set_d(x, a, MPFR_RNDN);
            mpfr_set_d(y, b, MPFR_RNDN);
            mpfr_mul(product, x, y, MPFR_RNDN);
            mpfr_add(sum, sum, product, MPFR_RNDN);
        }
        for (int f = 0; f < 4; f++) {
            double want = mpfr_zero_p(sum) ? 0 : reference_round(formats[f], sum);
            double got = exact_accumulator_round(&accumulator, formats[f]->type);
            REQUIRE(same(got, want), "%s: %a, not %a", type_text(formats[f]->type), got, want);
        }
        mpfr_clears(x, y, product, sum, (mpfr_ptr)0);
    }
}
END_TEST

START_TEST(test_special_values)
{
    static const struct {
        double terms[4], f32, f64;
    } cases[] = {
        {{1, NAN, 2, 3}, NAN, NAN},
        {{INFINITY, 1, 2, 3}, INFINITY, INFINITY},
        {{1, 2, -INFINITY, 3}, -INFINITY, -INFINITY},
        {{INFINITY, -INFINITY, 0, 0}, NAN, NAN},
        {{0x1p1023, 0x1p1023, -0x1p1023, 0}, INFINITY, 0x1p1023},
        {{0x1p1023, 0x1p1023, 0, 0}, INFINITY, INFINITY},
        {{0x1.fffffep127, 0x1p103, 0, 0}, INFINITY, 0x1.ffffffp127},
        {{0x1.fffffep127, 0x1p102, 0, 0}, 0x1.fffffep127, 0x1.fffffe8p127},
        {{-0.0, -0.0, -0.0, -0.0}, -0.0, -0.0},
        {{-0.0, 0.0, -0.0, -0.0}, 0.0, 0.0},
        {{1, -1, -0.0, -0.0}, 0.0, 0.0},
        {{0x1p-149, -0x1p-150, 0, 0}, 0.0, 0x1p-150},
        {{0x1p-149, 0x1p-150, 0, 0}, 0x1p-148, 0x1.8p-149},
        {{5e-324, 5e-324, -5e-324, 0}, 0.0, 5e-324},
        {{0x1p53, 1, 0x1p-1000, 0}, 0x1p53, 0x1.0000000000001p53},
        {{0x1p53, 1, -0x1p-1000, 0}, 0x1p53, 0x1p53},
        {{0x1p24, 1, 0x1p-1000, 0}, 0x1.000002p24, 0x1.000001p24},
        {{0x1p1000, 1, -0x1p1000, 0x1p-60}, 1, 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int copies = 1; copies < 40; copies += 38) { /* in a vector, and in the rest */
            double terms[160];
            for (int k = 0; k < 160; k++) {
                terms[k] = k < 4 ? cases[i].terms[k] : -0.0;
            }
            double f32 = exact_sum(TYPE_F32, -0.0, terms, 4 * copies, 1);
            double f64 = exact_sum(TYPE_F64, -0.0, terms, 4 * copies, 1);
            REQUIRE(same(f32, cases[i].f32), "case %zu: f32 %a, not %a", i, f32, cases[i].f32);
            REQUIRE(same(f64, cases[i].f64), "case %zu: f64 %a, not %a", i, f64, cases[i].f64);
        }
    }
    ck_assert(same(exact_sum(TYPE_F32, -0.0, NULL, 0, 1), -0.0));
    ck_assert(same(exact_sum(TYPE_F32, 0.0, NULL, 0, 1), 0.0));
}
END_TEST

/* [outer][terms][inner] in every way that the code splits it, on one thread and on two. */
START_TEST(test_reduce)
{
    static const int64_t shapes[][3] = {{1, 1, 1},      {1, 300, 1},  {5, 17, 1},   {1, 100, 3},
                                        {3, 40, 7},     {2, 50, 8},   {1, 30, 700}, {4, 9, 513},
                                        {0, 3, 3},      {3, 0, 3},    {2, 0, 10},   {300, 4, 2},
                                        {1, 140000, 1}, {1, 1200, 40}};
    static const enum type sources[] = {TYPE_F32, TYPE_BF16, TYPE_F64, TYPE_F8E5M2};
    struct rng rng;
    rng_init(&rng, (uint64_t)_i + 9);
    for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
        const int64_t outer = shapes[s][0], terms = shapes[s][1], inner = shapes[s][2];
        const int64_t count = outer * terms * inner;
        double *values = malloc(((size_t)count + 1) * sizeof(double));
        double *want = malloc(((size_t)(outer * inner) + 1) * sizeof(double));
        char *bits = malloc(((size_t)count + 1) * sizeof(double));
        char *out = malloc(((size_t)(outer * inner) + 1) * sizeof(double));
        double *got = malloc(((size_t)(outer * inner) + 1) * sizeof(double));
        const enum type source = sources[(s + (size_t)_i) % 4];
        const struct reference_format *format = formats[(s / 2 + (size_t)_i) % FORMATS];
        make_terms((enum kind)_i, source, &rng, values, count);
        float_store(source, values, bits, count);
        for (int64_t i = 0; i < outer * inner; i++) {
            want[i] = reference_sum(format, 0.0, values + i / inner * terms * inner + i % inner,
                                    terms, inner);
        }
        for (int threads = 1; threads <= 2; threads++) {
            pool_set_threads(threads);
            exact_sum_reduce(format->type, 0.0, source, bits, outer, terms, inner, out);
            float_load(format->type, out, got, outer * inner);
            for (int64_t i = 0; i < outer * inner; i++) {
                REQUIRE(same(got[i], want[i]), "shape %zu, kind %d, sum %lld: %a, not %a", s, _i,
                        (long long)i, got[i], want[i]);
            }
        }
        free(values);
        free(want);
        free(bits);
        free(out);
        free(got);
    }
}
END_TEST

/* --- Adversaries. ------------------------------------------------------------------------------
 */

enum { ADVERSARIES = 15, TERMS = 8 };

/* Terms, any doubles, whose sum is on a rounding boundary of the format or next to it, behind what
 * cancels. */
static void make_adversary(const struct reference_format *format, int which, double terms[TERMS])
{
    const int p = format->precision;
    const double large = ldexp(1, format->most - 1), most = large * (2 - ldexp(1, 1 - p));
    const double tail = which % 3 == 0 ? 0 : which % 3 == 1 ? 5e-324 : -5e-324;
    const double sets[][TERMS] = {
        {ldexp(1, p), 1, tail},                      /* 2^p + 1 is halfway */
        {large, ldexp(1, p), tail, 1, -large, tail}, /* behind what cancels */
        {most, most, large, -most, -large, ldexp(1, format->most - 1 - p), tail}, /* to infinity */
        {large, -large, ldexp(1, format->least) / 2, tail}, /* half the least number */
        {large, tail, -large, -0.0, tail, -tail, -tail},    /* zero */
    };
    memcpy(terms, sets[which / 3], sizeof(sets[0]));
    if (format->type == TYPE_F64 && which / 3 == 3) {
        terms[2] = 0; /* there is no half of that */
    }
}

/* The terms in random order between neighbours that cancel, in all shapes of sums: alone, in rows,
 * in columns, in the accumulator. */
START_TEST(test_adversaries)
{
    enum { LONGEST = 700, COLUMNS = 9 };
    static double line[LONGEST], table[LONGEST * COLUMNS], out[COLUMNS];
    struct rng rng;
    rng_init(&rng, 91);
    for (int f = 0; f < FORMATS; f++) {
        const struct reference_format *format = formats[f];
        for (int which = 0; which < 2 * ADVERSARIES; which++) {
            for (int round = 0; round < 6; round++) {
                double terms[TERMS];
                const int64_t count = round < 2 ? TERMS : round < 4 ? 100 : LONGEST;
                make_adversary(format, which / 2, terms);
                for (int64_t i = 0; i < count; i += 2) {
                    const double value = ldexp(rng_uniform(&rng), (int)rng_below(&rng, 40) - 20);
                    line[i] = i < TERMS ? terms[i] : value;
                    line[i + 1] = i < TERMS ? terms[i + 1] : -value;
                }
                for (int64_t i = count - 1; i > 0; i--) { /* shuffled */
                    const int64_t j = (int64_t)rng_below(&rng, (uint64_t)i + 1);
                    const double swap = line[i];
                    line[i] = line[j];
                    line[j] = swap;
                }
                struct exact_accumulator accumulator;
                exact_accumulator_init(&accumulator);
                for (int64_t i = 0; i < count; i++) {
                    line[i] = which % 2 == 1 ? -line[i] : line[i];
                    exact_accumulator_add(&accumulator, line[i]);
                    for (int c = 0; c < COLUMNS; c++) {
                        table[i * COLUMNS + c] = c % 2 == 0 ? line[i] : -line[i];
                    }
                }
                const double want = reference_sum(format, -0.0, line, count, 1);
                const double opposite = want == 0 && !signbit(want) ? want : -want;
                double got = exact_sum(format->type, -0.0, line, count, 1);
                REQUIRE(same(got, want), "%s, adversary %d of %lld: %a, not %a",
                        type_text(format->type), which, (long long)count, got, want);
                got = exact_accumulator_round(&accumulator, format->type);
                REQUIRE(same(got, want), "%s, adversary %d accumulated: %a, not %a",
                        type_text(format->type), which, got, want);
                char bits[COLUMNS * sizeof(double)];
                exact_sum_reduce(format->type, -0.0, TYPE_F64, table, 1, count, COLUMNS, bits);
                float_load(format->type, bits, out, COLUMNS);
                for (int c = 0; c < COLUMNS; c++) {
                    const bool zero = isnan(want) || want == 0;
                    REQUIRE(zero ? out[c] == want || isnan(want)
                                 : same(out[c], c % 2 == 0 ? want : opposite),
                            "%s, adversary %d, column %d: %a, not %a", type_text(format->type),
                            which, c, out[c], want);
                }
            }
        }
    }
}
END_TEST

/* Every float type summed to every other, elements of all bits: against MPFR to odd at 53 bits,
 * then hlo/floats.c. */
START_TEST(test_all_types)
{
    enum { COUNT = 60 };
    uint64_t bits[COUNT];
    double values[COUNT];
    struct rng rng;
    rng_init(&rng, (uint64_t)_i + 300);
    for (int source = 0; source < TYPE_COUNT; source++) {
        if (!type_is_float((enum type)source) || !type_is_float((enum type)_i)) {
            continue;
        }
        for (int round = 0; round < 20; round++) {
            const int64_t count = round < 10 ? round : COUNT;
            mpfr_t sum;
            mpfr_init2(sum, 2300);
            mpfr_set_zero(sum, 1);
            for (int64_t i = 0; i < count; i++) {
                do {
                    const uint64_t random = rng_next(&rng) >> (64 - type_bits((enum type)source));
                    memcpy((char *)bits + i * type_bytes((enum type)source), &random,
                           (size_t)type_bytes((enum type)source));
                    float_load((enum type)source,
                               (const char *)bits + i * type_bytes((enum type)source), &values[i],
                               1);
                } while (!isfinite(values[i]));
                mpfr_add_d(sum, sum, values[i], MPFR_RNDN);
            }
            double odd = mpfr_get_d(sum, MPFR_RNDZ);
            if (mpfr_cmp_d(sum, odd) != 0) {
                uint64_t raw;
                memcpy(&raw, &odd, sizeof(raw));
                raw |= 1;
                memcpy(&odd, &raw, sizeof(odd));
            }
            const double want = mpfr_zero_p(sum) ? float_round((enum type)_i, 0.0)
                                : _i == TYPE_F64 ? mpfr_get_d(sum, MPFR_RNDN)
                                                 : float_round((enum type)_i, odd);
            const double got =
                exact_sum_typed((enum type)_i, 0.0, (enum type)source, bits, count, 1);
            REQUIRE(same(got, want), "%s of %lld %s: %a, not %a", type_text((enum type)_i),
                    (long long)count, type_text((enum type)source), got, want);
            mpfr_clear(sum);
        }
    }
}
END_TEST

/* Terms one by one into running sums, in rows with gaps, as scatters do. */
START_TEST(test_running_sums)
{
    enum { SUMS = 37, ROWS = 60 };
    static double terms[ROWS * SUMS], memory[3 * SUMS], out[SUMS];
    unsigned char open[SUMS];
    struct rng rng;
    rng_init(&rng, (uint64_t)_i + 20);
    for (int f = 0; f < FORMATS; f++) {
        struct exact_sums sums;
        make_terms((enum kind)_i, formats[f]->type, &rng, terms, ROWS * SUMS);
        exact_sums_init(&sums, memory, SUMS, -0.0);
        for (int r = 0; r < ROWS; r++) {
            const double *row = terms + r * SUMS;
            exact_sums_add(&sums, 0, row, 10, 1);
            exact_sums_add(&sums, 10, row + 10, SUMS - 10, 1);
        }
        int64_t left = exact_sums_round(&sums, formats[f]->type, out, open), counted = 0;
        for (int i = 0; i < SUMS; i++) {
            double want = reference_sum(formats[f], -0.0, terms + i, ROWS, SUMS);
            counted += open[i];
            REQUIRE(open[i] || same(out[i], want), "kind %d, sum %d: %a, not %a", _i, i, out[i],
                    want);
        }
        ck_assert_int_eq(left, counted);
        ck_assert(_i == CANCELLING || _i == WIDE || left < SUMS / 4);
    }
}
END_TEST

/* Each vector level, and fewer lanes than the additions that the bound counts on. */
START_TEST(test_levels)
{
    static double terms[3000];
    const struct exact_sum_kernels *levels[] = {&exact_sum_kernels_level0,
                                                exact_sum_kernels_here()};
    struct rng rng;
    rng_init(&rng, 30);
    for (int l = 0; l < 2; l++) {
        for (int64_t count = 0; count < 3000; count = count * 2 + 1) {
            make_terms((enum kind)_i, TYPE_F64, &rng, terms, count);
            struct exact_partial sum = levels[l]->sum(terms, count);
            double got, want = reference_sum(&reference_f64, -0.0, terms, count, 1);
            const double additions = (double)count / EXACT_SUM_LANES + 64;
            if (exact_partial_round(&sum, additions, TYPE_F64, &got)) {
                REQUIRE(same(got, want), "level %d, %lld terms: %a, not %a", l, (long long)count,
                        got, want);
            }
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exact_sum");
    TCase *all = tcase_create("exact_sum");
    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, test_one_sum, 0, KINDS);
    tcase_add_loop_test(all, test_accumulator, 0, KINDS);
    tcase_add_test(all, test_products);
    tcase_add_test(all, test_special_values);
    tcase_add_test(all, test_adversaries);
    tcase_add_loop_test(all, test_all_types, 0, TYPE_COUNT);
    tcase_add_loop_test(all, test_reduce, 0, KINDS);
    tcase_add_loop_test(all, test_running_sums, 0, KINDS);
    tcase_add_loop_test(all, test_levels, 0, KINDS);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
