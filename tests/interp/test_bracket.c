/* What settles linear algebra, transforms and normalization: brackets (interp/bracket.h) hold the
 * exact results of their operations, and the rounding tests of double-doubles are never wrong. */
#include <stdlib.h>

#include "hlo/base/rng.h"
#include "hlo/floats.h"
#include "interp/bracket.h"
#include "interp/double_double.h"
#include "tests/interp/exact_reference.h"

enum { PRECISION = 60 };

/* Intervals of every mixture of signs, points among them. */
static void make_bracket(struct rng *rng, struct bracket *a)
{
    double x = (double)(int)rng_below(rng, 7) - 3, y = x + (double)rng_below(rng, 4);
    if (rng_below(rng, 3) == 0) {
        x += 0.1;
        y += 0.7;
    }
    mpfr_set_d(a->low, x, MPFR_RNDD);
    mpfr_set_d(a->high, y, MPFR_RNDU);
}

/* A point of the interval: an end, or one between. */
static double pick(struct rng *rng, const struct bracket *a)
{
    double low = mpfr_get_d(a->low, MPFR_RNDN), high = mpfr_get_d(a->high, MPFR_RNDN);
    uint64_t which = rng_below(rng, 3);
    return which == 0 ? low : which == 1 ? high : low + (high - low) * rng_uniform(rng);
}

static void check_holds(const struct bracket *a, mpfr_srcptr value, const char *what)
{
    REQUIRE(mpfr_cmp(a->low, value) <= 0 && mpfr_cmp(a->high, value) >= 0,
            "%s: %g outside [%g, %g]", what, mpfr_get_d(value, MPFR_RNDN),
            mpfr_get_d(a->low, MPFR_RNDN), mpfr_get_d(a->high, MPFR_RNDN));
}

START_TEST(test_operations)
{
    struct bracket *r = brackets_create(4, PRECISION), *a = &r[0], *b = &r[1], *c = &r[2];
    struct bracket_scratch scratch;
    struct rng rng;
    mpfr_t x, y, value;
    rng_init(&rng, 5);
    bracket_scratch_init(&scratch, PRECISION);
    mpfr_inits2(400, x, y, value, (mpfr_ptr)NULL);
    for (int round = 0; round < 20000; round++) {
        make_bracket(&rng, a);
        make_bracket(&rng, b);
        double factor = rng_uniform(&rng) - 0.5;
        mpfr_set_d(x, pick(&rng, a), MPFR_RNDN);
        mpfr_set_d(y, pick(&rng, b), MPFR_RNDN);
        bracket_add(c, a, b);
        mpfr_add(value, x, y, MPFR_RNDN);
        check_holds(c, value, "add");
        bracket_subtract(c, a, b);
        mpfr_sub(value, x, y, MPFR_RNDN);
        check_holds(c, value, "subtract");
        bracket_copy(c, b);
        bracket_subtract(c, a, c); /* in place of the second */
        check_holds(c, value, "subtract in place");
        bracket_multiply(&scratch, c, a, b);
        mpfr_mul(value, x, y, MPFR_RNDN);
        check_holds(c, value, "multiply");
        bracket_copy(c, a);
        bracket_multiply(&scratch, c, c, b);
        check_holds(c, value, "multiply in place");
        bracket_multiply_double(&scratch, c, a, factor);
        mpfr_mul_d(value, x, factor, MPFR_RNDN);
        check_holds(c, value, "multiply by a double");
        if (bracket_is_positive(b) || bracket_is_negative(b)) {
            bracket_divide(&scratch, c, a, b);
            mpfr_div(value, x, y, MPFR_RNDN);
            check_holds(c, value, "divide");
        }
        if (mpfr_sgn(x) >= 0) {
            bracket_sqrt(c, a);
            mpfr_sqrt(value, x, MPFR_RNDN);
            check_holds(c, value, "sqrt");
        }
        /* Integers stay points. */
        bracket_set(a, (double)rng_below(&rng, 1000));
        bracket_set(b, (double)rng_below(&rng, 1000) - 500);
        bracket_multiply(&scratch, c, a, b);
        bracket_add(c, c, a);
        REQUIRE(mpfr_equal_p(c->low, c->high), "integers are no point any more");
    }
    mpfr_clears(x, y, value, (mpfr_ptr)NULL);
    bracket_scratch_finish(&scratch);
    brackets_destroy(r, 4);
}
END_TEST

/* Intervals around ties and zero: undecided, and the boundary is rounded to even. */
START_TEST(test_boundaries)
{
    static const struct {
        enum type type;
        double center, add; /* their sum is the boundary */
        double width, want;
    } cases[] = {
        {TYPE_F32, 0x1p24, 1, 0x1p-50, 0x1p24},
        {TYPE_F32, 0x1p24, 3, 0x1p-50, 0x1p24 + 4},
        {TYPE_F32, -0x1p24, -3, 0x1p-50, -0x1p24 - 4},
        {TYPE_F32, 0x1p-150, 0, 0x1p-210, 0}, /* half the least number */
        {TYPE_BF16, 0x1.ffp127, 0, 0x1p60, INFINITY},
        {TYPE_F8E4M3FN, 17, 0, 0x1p-60, 16},
        {TYPE_F64, 0x1p53, 1, 0x1p-20, 0x1p53},
        {TYPE_F64, 0x1p53, 3, 0x1p-20, 0x1p53 + 4},
        {TYPE_F64, 0x1.fffffffffffffp1023, 0x1p970, 0x1p950, INFINITY},
        {TYPE_F64, 0, 0, 0x1p-1074, 0},
    };
    struct bracket *a = brackets_create(1, 80);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double rounded;
        mpfr_set_d(a->low, cases[i].center, MPFR_RNDN);
        mpfr_add_d(a->low, a->low, cases[i].add, MPFR_RNDN);
        mpfr_add_d(a->high, a->low, cases[i].width, MPFR_RNDN);
        mpfr_sub_d(a->low, a->low, cases[i].width, MPFR_RNDN);
        ck_assert_msg(!bracket_round(cases[i].type, a, &rounded), "case %zu", i);
        double boundary = bracket_boundary(cases[i].type, a);
        ck_assert_msg(same(boundary, cases[i].want), "case %zu: %a", i, boundary);
        /* What lies to one side is decided. */
        mpfr_add_d(a->low, a->low, 1.5 * cases[i].width, MPFR_RNDN);
        ck_assert_msg(bracket_round(cases[i].type, a, &rounded), "beside case %zu", i);
    }
    brackets_destroy(a, 1);
}
END_TEST

/* Double-doubles with a bound, near boundaries and far from them, scaled all over the range: what
 * is decided is what MPFR makes of every value within the bound. */
START_TEST(test_decide)
{
    static const struct reference_format *const formats[] = {&reference_f64, &reference_f32,
                                                             &reference_bf16, &reference_f16};
    struct rng rng;
    mpfr_t value;
    int decided = 0, tried = 0;
    rng_init(&rng, 8);
    mpfr_init2(value, 3000);
    for (int round = 0; round < 200000; round++) {
        const struct reference_format *format = formats[round % 4];
        double high = ldexp(1 + rng_uniform(&rng), (int)rng_below(&rng, 40) - 20);
        if (rng_below(&rng, 2) == 0) { /* on few bits: representable, or a tie */
            high = ldexp(rint(ldexp(high, 30 - ilogb(high) - (int)rng_below(&rng, 24))), -20);
        }
        high = rng_below(&rng, 2) == 0 ? -high : high;
        double low = (rng_uniform(&rng) - 0.5) * 0x1p-53 * fabs(high);
        low = rng_below(&rng, 3) == 0 ? 0 : ldexp(low, -(int)rng_below(&rng, 60));
        double bound = fabs(high) * ldexp(1, -40 - (int)rng_below(&rng, 70));
        int exponent = format->type != TYPE_F64 ? 0
                       : rng_below(&rng, 2) == 0
                           ? (int)rng_below(&rng, 2200) - 1110
                           : (int)rng_below(&rng, 60) + (rng_below(&rng, 2) == 0 ? 990 : -1090);
        double got;
        tried++;
        if (high == 0 || !dd_decide_scaled(format->type, (struct double_double){high, low}, bound,
                                           exponent, &got)) {
            continue;
        }
        decided++;
        for (int side = -1; side <= 1; side++) {
            mpfr_set_d(value, high, MPFR_RNDN);
            mpfr_add_d(value, value, low, MPFR_RNDN);
            mpfr_add_d(value, value, side * bound, MPFR_RNDN);
            mpfr_mul_2si(value, value, exponent, MPFR_RNDN);
            double want = reference_round(format, value);
            REQUIRE(same(got, want), "%s: %a + %a ± %a, 2^%d: %a, not %a", type_text(format->type),
                    high, low, bound, exponent, got, want);
        }
    }
    mpfr_clear(value);
    ck_assert_int_gt(decided, tried / 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interp_bracket");
    TCase *tests = tcase_create("bracket");
    tcase_add_test(tests, test_operations);
    tcase_add_test(tests, test_boundaries);
    tcase_add_test(tests, test_decide);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
