/* Complex functions of zeros, infinities and NaN: the tables of C99 Annex G.6 as the standard's
 * text has them (with technical corrigenda, as in C17), each row with its conjugate and, for odd
 * and even functions, its opposite; the functions that Annex G defines by others; what is said of
 * products and quotients in G.5.1; and what HLO's own functions are by their definitions. */
#include <stdlib.h>

#include "interp/exact.h"
#include "tests/interp/exact_reference.h"

static const char *const names[] = {
#define EXACT(id, name) #name,
#include "interp/exact.def"
};

#define INF INFINITY
#define FINITE 1.5 /* positive-signed finite and not zero */
#define ANGLE 2.5  /* cos < 0, sin > 0 */
#define PI 3.14159265358979323846
#define THREE_QUARTERS 2.35619449019234492885 /* of π */

enum {
    RE_SIGN = 1, /* the sign of the real part is unspecified */
    IM_SIGN = 2,
    ODD = 4,
    EVEN = 8,
};

static const struct row {
    enum exact_function function;
    double x, y, re, im;
    int flags;
} rows[] = {
    /* G.6.1.1 cacos */
    {EXACT_ACOS, 0, 0, PI / 2, -0.0, 0},
    {EXACT_ACOS, -0.0, 0, PI / 2, -0.0, 0},
    {EXACT_ACOS, 0, NAN, PI / 2, NAN, 0},
    {EXACT_ACOS, -0.0, NAN, PI / 2, NAN, 0},
    {EXACT_ACOS, FINITE, INF, PI / 2, -INF, 0},
    {EXACT_ACOS, -FINITE, INF, PI / 2, -INF, 0},
    {EXACT_ACOS, FINITE, NAN, NAN, NAN, 0},
    {EXACT_ACOS, -INF, FINITE, PI, -INF, 0},
    {EXACT_ACOS, -INF, 0, PI, -INF, 0},
    {EXACT_ACOS, INF, FINITE, 0, -INF, 0},
    {EXACT_ACOS, INF, 0, 0, -INF, 0},
    {EXACT_ACOS, -INF, INF, THREE_QUARTERS, -INF, 0},
    {EXACT_ACOS, INF, INF, PI / 4, -INF, 0},
    {EXACT_ACOS, INF, NAN, NAN, INF, IM_SIGN},
    {EXACT_ACOS, -INF, NAN, NAN, INF, IM_SIGN},
    {EXACT_ACOS, NAN, FINITE, NAN, NAN, 0},
    {EXACT_ACOS, NAN, 0, NAN, NAN, 0},
    {EXACT_ACOS, NAN, INF, NAN, -INF, 0},
    {EXACT_ACOS, NAN, NAN, NAN, NAN, 0},
    /* G.6.2.1 cacosh */
    {EXACT_ACOSH, 0, 0, 0, PI / 2, 0},
    {EXACT_ACOSH, -0.0, 0, 0, PI / 2, 0},
    {EXACT_ACOSH, FINITE, INF, INF, PI / 2, 0},
    {EXACT_ACOSH, 0, NAN, NAN, PI / 2, IM_SIGN},
    {EXACT_ACOSH, FINITE, NAN, NAN, NAN, 0},
    {EXACT_ACOSH, -INF, FINITE, INF, PI, 0},
    {EXACT_ACOSH, INF, FINITE, INF, 0, 0},
    {EXACT_ACOSH, -INF, INF, INF, THREE_QUARTERS, 0},
    {EXACT_ACOSH, INF, INF, INF, PI / 4, 0},
    {EXACT_ACOSH, INF, NAN, INF, NAN, 0},
    {EXACT_ACOSH, -INF, NAN, INF, NAN, 0},
    {EXACT_ACOSH, NAN, FINITE, NAN, NAN, 0},
    {EXACT_ACOSH, NAN, INF, INF, NAN, 0},
    {EXACT_ACOSH, NAN, NAN, NAN, NAN, 0},
    /* G.6.2.2 casinh */
    {EXACT_ASINH, 0, 0, 0, 0, ODD},
    {EXACT_ASINH, FINITE, INF, INF, PI / 2, ODD},
    {EXACT_ASINH, FINITE, NAN, NAN, NAN, ODD},
    {EXACT_ASINH, INF, FINITE, INF, 0, ODD},
    {EXACT_ASINH, INF, INF, INF, PI / 4, ODD},
    {EXACT_ASINH, INF, NAN, INF, NAN, ODD},
    {EXACT_ASINH, NAN, 0, NAN, 0, ODD},
    {EXACT_ASINH, NAN, FINITE, NAN, NAN, ODD},
    {EXACT_ASINH, NAN, INF, INF, NAN, ODD | RE_SIGN},
    {EXACT_ASINH, NAN, NAN, NAN, NAN, ODD},
    /* G.6.2.3 catanh */
    {EXACT_ATANH, 0, 0, 0, 0, ODD},
    {EXACT_ATANH, 0, NAN, 0, NAN, ODD},
    {EXACT_ATANH, 1, 0, INF, 0, ODD},
    {EXACT_ATANH, FINITE, INF, 0, PI / 2, ODD},
    {EXACT_ATANH, FINITE, NAN, NAN, NAN, ODD},
    {EXACT_ATANH, INF, FINITE, 0, PI / 2, ODD},
    {EXACT_ATANH, INF, INF, 0, PI / 2, ODD},
    {EXACT_ATANH, INF, NAN, 0, NAN, ODD},
    {EXACT_ATANH, NAN, FINITE, NAN, NAN, ODD},
    {EXACT_ATANH, NAN, INF, 0, PI / 2, ODD | RE_SIGN},
    {EXACT_ATANH, NAN, NAN, NAN, NAN, ODD},
    /* G.6.2.4 ccosh */
    {EXACT_COSH, 0, 0, 1, 0, EVEN},
    {EXACT_COSH, 0, INF, NAN, 0, EVEN | IM_SIGN},
    {EXACT_COSH, 0, NAN, NAN, 0, EVEN | IM_SIGN},
    {EXACT_COSH, FINITE, INF, NAN, NAN, EVEN},
    {EXACT_COSH, FINITE, NAN, NAN, NAN, EVEN},
    {EXACT_COSH, INF, 0, INF, 0, EVEN},
    {EXACT_COSH, INF, ANGLE, -INF, INF, EVEN},
    {EXACT_COSH, INF, 1, INF, INF, EVEN},
    {EXACT_COSH, INF, INF, INF, NAN, EVEN | RE_SIGN},
    {EXACT_COSH, INF, NAN, INF, NAN, EVEN},
    {EXACT_COSH, NAN, 0, NAN, 0, EVEN | IM_SIGN},
    {EXACT_COSH, NAN, FINITE, NAN, NAN, EVEN},
    {EXACT_COSH, NAN, INF, NAN, NAN, EVEN},
    {EXACT_COSH, NAN, NAN, NAN, NAN, EVEN},
    /* G.6.2.5 csinh */
    {EXACT_SINH, 0, 0, 0, 0, ODD},
    {EXACT_SINH, 0, INF, 0, NAN, ODD | RE_SIGN},
    {EXACT_SINH, 0, NAN, 0, NAN, ODD | RE_SIGN},
    {EXACT_SINH, FINITE, INF, NAN, NAN, ODD},
    {EXACT_SINH, FINITE, NAN, NAN, NAN, ODD},
    {EXACT_SINH, INF, 0, INF, 0, ODD},
    {EXACT_SINH, INF, ANGLE, -INF, INF, ODD},
    {EXACT_SINH, INF, INF, INF, NAN, ODD | RE_SIGN},
    {EXACT_SINH, INF, NAN, INF, NAN, ODD | RE_SIGN},
    {EXACT_SINH, NAN, 0, NAN, 0, ODD},
    {EXACT_SINH, NAN, FINITE, NAN, NAN, ODD},
    {EXACT_SINH, NAN, INF, NAN, NAN, ODD},
    {EXACT_SINH, NAN, NAN, NAN, NAN, ODD},
    /* G.6.2.6 ctanh */
    {EXACT_TANH, 0, 0, 0, 0, ODD},
    {EXACT_TANH, 0, INF, 0, NAN, ODD},
    {EXACT_TANH, 0, NAN, 0, NAN, ODD},
    {EXACT_TANH, FINITE, INF, NAN, NAN, ODD},
    {EXACT_TANH, FINITE, NAN, NAN, NAN, ODD},
    {EXACT_TANH, INF, 1, 1, 0, ODD},
    {EXACT_TANH, INF, ANGLE, 1, -0.0, ODD},
    {EXACT_TANH, INF, 0, 1, 0, ODD},
    {EXACT_TANH, INF, INF, 1, 0, ODD | IM_SIGN},
    {EXACT_TANH, INF, NAN, 1, 0, ODD | IM_SIGN},
    {EXACT_TANH, NAN, 0, NAN, 0, ODD},
    {EXACT_TANH, NAN, FINITE, NAN, NAN, ODD},
    {EXACT_TANH, NAN, INF, NAN, NAN, ODD},
    {EXACT_TANH, NAN, NAN, NAN, NAN, ODD},
    /* G.6.3.1 cexp */
    {EXACT_EXP, 0, 0, 1, 0, 0},
    {EXACT_EXP, -0.0, 0, 1, 0, 0},
    {EXACT_EXP, FINITE, INF, NAN, NAN, 0},
    {EXACT_EXP, FINITE, NAN, NAN, NAN, 0},
    {EXACT_EXP, INF, 0, INF, 0, 0},
    {EXACT_EXP, -INF, ANGLE, -0.0, 0, 0},
    {EXACT_EXP, -INF, 0, 0, 0, 0},
    {EXACT_EXP, INF, ANGLE, -INF, INF, 0},
    {EXACT_EXP, -INF, INF, 0, 0, RE_SIGN | IM_SIGN},
    {EXACT_EXP, INF, INF, INF, NAN, RE_SIGN},
    {EXACT_EXP, -INF, NAN, 0, 0, RE_SIGN | IM_SIGN},
    {EXACT_EXP, INF, NAN, INF, NAN, RE_SIGN},
    {EXACT_EXP, NAN, 0, NAN, 0, 0},
    {EXACT_EXP, NAN, FINITE, NAN, NAN, 0},
    {EXACT_EXP, NAN, INF, NAN, NAN, 0},
    {EXACT_EXP, NAN, NAN, NAN, NAN, 0},
    /* G.6.3.2 clog */
    {EXACT_LOG, -0.0, 0, -INF, PI, 0},
    {EXACT_LOG, 0, 0, -INF, 0, 0},
    {EXACT_LOG, FINITE, INF, INF, PI / 2, 0},
    {EXACT_LOG, -FINITE, INF, INF, PI / 2, 0},
    {EXACT_LOG, FINITE, NAN, NAN, NAN, 0},
    {EXACT_LOG, -INF, FINITE, INF, PI, 0},
    {EXACT_LOG, INF, FINITE, INF, 0, 0},
    {EXACT_LOG, -INF, INF, INF, THREE_QUARTERS, 0},
    {EXACT_LOG, INF, INF, INF, PI / 4, 0},
    {EXACT_LOG, INF, NAN, INF, NAN, 0},
    {EXACT_LOG, -INF, NAN, INF, NAN, 0},
    {EXACT_LOG, NAN, FINITE, NAN, NAN, 0},
    {EXACT_LOG, NAN, INF, INF, NAN, 0},
    {EXACT_LOG, NAN, NAN, NAN, NAN, 0},
    /* G.6.4.2 csqrt */
    {EXACT_SQRT, 0, 0, 0, 0, 0},
    {EXACT_SQRT, -0.0, 0, 0, 0, 0},
    {EXACT_SQRT, FINITE, INF, INF, INF, 0},
    {EXACT_SQRT, -INF, INF, INF, INF, 0},
    {EXACT_SQRT, INF, INF, INF, INF, 0},
    {EXACT_SQRT, NAN, INF, INF, INF, 0},
    {EXACT_SQRT, FINITE, NAN, NAN, NAN, 0},
    {EXACT_SQRT, -INF, FINITE, 0, INF, 0},
    {EXACT_SQRT, INF, FINITE, INF, 0, 0},
    {EXACT_SQRT, -INF, NAN, NAN, INF, IM_SIGN},
    {EXACT_SQRT, INF, NAN, INF, NAN, 0},
    {EXACT_SQRT, NAN, FINITE, NAN, NAN, 0},
    {EXACT_SQRT, NAN, NAN, NAN, NAN, 0},
    /* exp(z) − 1, log(1 + z), 1 / (1 + exp(−z)), 1 / √z, the cube root at a third of the angle */
    {EXACT_EXPM1, -INF, FINITE, -1, 0, 0},
    {EXACT_EXPM1, INF, 0, INF, 0, 0},
    {EXACT_EXPM1, INF, ANGLE, -INF, INF, 0},
    {EXACT_EXPM1, NAN, 0, NAN, 0, 0},
    {EXACT_EXPM1, FINITE, INF, NAN, NAN, 0},
    {EXACT_LOG1P, -1, 0, -INF, 0, 0},
    {EXACT_LOG1P, INF, FINITE, INF, 0, 0},
    {EXACT_LOG1P, -INF, FINITE, INF, PI, 0},
    {EXACT_LOG1P, FINITE, INF, INF, PI / 2, 0},
    {EXACT_LOG1P, NAN, INF, INF, NAN, 0},
    {EXACT_LOGISTIC, INF, 0, 1, 0, 0},
    {EXACT_LOGISTIC, INF, 4, 1, -0.0, 0},
    {EXACT_LOGISTIC, -INF, ANGLE, -0.0, 0, 0},
    {EXACT_LOGISTIC, FINITE, INF, NAN, NAN, 0},
    {EXACT_LOGISTIC, NAN, FINITE, NAN, NAN, 0},
    {EXACT_RSQRT, INF, FINITE, 0, -0.0, 0},
    {EXACT_RSQRT, -INF, FINITE, 0, -0.0, 0},
    {EXACT_RSQRT, FINITE, INF, 0, -0.0, 0},
    {EXACT_RSQRT, NAN, NAN, NAN, NAN, 0},
    {EXACT_CBRT, INF, FINITE, INF, 0, 0},
    {EXACT_CBRT, -INF, FINITE, INF, INF, 0},
    {EXACT_CBRT, FINITE, INF, INF, INF, 0},
    {EXACT_CBRT, NAN, FINITE, NAN, NAN, 0},
};

static bool part_is(double got, double want, bool any_sign)
{
    return (isnan(want) && isnan(got)) ||
           (got == want && (any_sign || signbit(got) == signbit(want))) ||
           (any_sign && got == -want);
}

static void check(enum exact_function function, double x, double y, double re, double im, int flags)
{
    for (int t = 0; t < 2; t++) {
        const enum type part = t == 0 ? TYPE_F32 : TYPE_F64;
        double got_re, got_im;
        exact_complex_unary(function, part, &x, &y, &got_re, &got_im, 1);
        const double want_re = t == 0 ? (double)(float)re : re;
        const double want_im = t == 0 ? (double)(float)im : im;
        REQUIRE(part_is(got_re, want_re, (flags & RE_SIGN) != 0) &&
                    part_is(got_im, want_im, (flags & IM_SIGN) != 0),
                "%s %s(%g + i%g) = %g + i%g, not %g + i%g", type_text(part), names[function], x, y,
                got_re, got_im, re, im);
    }
}

/* With f(conj z) = conj f(z); a sign of a NaN means nothing. */
static void check_row(enum exact_function function, double x, double y, double re, double im,
                      int flags)
{
    for (int opposite = 0; opposite < 2; opposite++) {
        const int turned = opposite == 0 ? 1 : -1, sign = (flags & ODD) != 0 ? turned : 1;
        if (opposite == 1 && (flags & (ODD | EVEN)) == 0) {
            break;
        }
        check(function, turned * x, turned * y, sign * re, sign * im, flags);
        check(function, turned * x, -turned * y, sign * re, -sign * im, flags);
    }
}

START_TEST(test_table)
{
    const struct row *row = &rows[_i];
    check_row(row->function, row->x, row->y, row->re, row->im, row->flags);
    /* G.6: casin(z) = −i casinh(iz), catan(z) = −i catanh(iz), ccos(z) = ccosh(iz), csin(z) =
     * −i csinh(iz), ctan(z) = −i ctanh(iz). With w = iz = x + iy: z = y − ix. */
    const double x = row->y, y = -row->x;
    const int swapped = (row->flags & RE_SIGN ? IM_SIGN : 0) | (row->flags & IM_SIGN ? RE_SIGN : 0);
    switch (row->function) {
    case EXACT_ASINH:
        check_row(EXACT_ASIN, x, y, row->im, -row->re, swapped);
        break;
    case EXACT_ATANH:
        check_row(EXACT_ATAN, x, y, row->im, -row->re, swapped);
        break;
    case EXACT_SINH:
        check_row(EXACT_SIN, x, y, row->im, -row->re, swapped);
        break;
    case EXACT_TANH:
        check_row(EXACT_TAN, x, y, row->im, -row->re, swapped);
        break;
    case EXACT_COSH:
        check_row(EXACT_COS, x, y, row->re, row->im, row->flags & (RE_SIGN | IM_SIGN));
        break;
    default:
        break;
    }
}
END_TEST

/* G.5.1: an infinity times what is not zero is infinite; finite / 0 and infinite / finite are
 * infinite; finite / infinite is zero. An infinity is one with an infinite part, even beside a NaN.
 * G.6.4.1 has no more of cpow than that it may be cexp(c clog(z)). */
START_TEST(test_arithmetic)
{
    static const double values[] = {0, -0.0, 1, -2.5, INFINITY, -INFINITY, NAN};
    enum { COUNT = sizeof values / sizeof values[0] };
    for (int i = 0; i < COUNT * COUNT * COUNT * COUNT; i++) {
        const double a = values[i % COUNT], b = values[i / COUNT % COUNT];
        const double c = values[i / COUNT / COUNT % COUNT], d = values[i / COUNT / COUNT / COUNT];
        const bool infinite[2] = {isinf(a) || isinf(b), isinf(c) || isinf(d)};
        const bool finite[2] = {isfinite(a) && isfinite(b), isfinite(c) && isfinite(d)};
        const bool zero[2] = {a == 0 && b == 0, c == 0 && d == 0};
        /* Not zero: a part that is not, and a NaN might not be. */
        const bool nonzero[2] = {(isfinite(a) && a != 0) || (isfinite(b) && b != 0) || infinite[0],
                                 (isfinite(c) && c != 0) || (isfinite(d) && d != 0) || infinite[1]};
        double re, im;
        exact_complex_binary(EXACT_MULTIPLY, TYPE_F32, &a, &b, &c, &d, &re, &im, 1);
        if ((infinite[0] && nonzero[1]) || (infinite[1] && nonzero[0])) {
            REQUIRE(isinf(re) || isinf(im), "(%g, %g) * (%g, %g) = (%g, %g)", a, b, c, d, re, im);
        }
        exact_complex_binary(EXACT_DIVIDE, TYPE_F32, &a, &b, &c, &d, &re, &im, 1);
        if ((infinite[0] && finite[1]) || (nonzero[0] && !isnan(a) && !isnan(b) && zero[1])) {
            REQUIRE(isinf(re) || isinf(im), "(%g, %g) / (%g, %g) = (%g, %g)", a, b, c, d, re, im);
        }
        if (finite[0] && infinite[1]) {
            REQUIRE(re == 0 && im == 0, "(%g, %g) / (%g, %g) = (%g, %g)", a, b, c, d, re, im);
        }
        double size;
        exact_complex_abs(TYPE_F32, &a, &b, &size, 1);
        REQUIRE(infinite[0]            ? size == INFINITY
                : isnan(a) || isnan(b) ? isnan(size)
                                       : size >= 0,
                "|(%g, %g)| = %g", a, b, size);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exact_complex_limits");
    TCase *all = tcase_create("limits");
    tcase_add_loop_test(all, test_table, 0, sizeof rows / sizeof rows[0]);
    tcase_add_test(all, test_arithmetic);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
