/* f64 functions where rounding is hardest to decide, against MPFR: arguments that are known to be
 * bad (the test suite of the LLVM C library lists worst cases for exp, expm1, log, log1p and sin,
 * after V. Lefèvre and J.-M. Muller), others found by a search through 150 000 values of each
 * function with MPFR, whose results lie within 2^-15 ulp of a tie, and families made to be bad,
 * where a function is so nearly constant or linear that its value hardly leaves a tie. */
#include <stdlib.h>

#include "interp/exact.h"
#include "tests/interp/exact_reference.h"

static const char *const names[] = {
#define EXACT(id, name) #name,
#include "interp/exact.def"
};

/* 1 / (1 + exp(−x)), with bits for the smallest x there is. */
static int mpfr_logistic(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t round)
{
    mpfr_t value;
    const mpfr_exp_t least = mpfr_get_emin(), most = mpfr_get_emax();
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
    mpfr_init2(value, 1400);
    mpfr_neg(value, x, MPFR_RNDN);
    mpfr_exp(value, value, MPFR_RNDN);
    mpfr_add_ui(value, value, 1, MPFR_RNDN);
    mpfr_ui_div(value, 1, value, MPFR_RNDN);
    const int inexact = mpfr_set(out, value, round);
    mpfr_clear(value);
    mpfr_set_emin(least);
    mpfr_set_emax(most);
    return inexact;
}
/* IEEE 754 rSqrt(−0) is −∞. */
static int mpfr_rsqrt(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t round)
{
    const int inexact = mpfr_rec_sqrt(out, x, round);
    if (mpfr_zero_p(x)) {
        mpfr_set_inf(out, mpfr_signbit(x) ? -1 : 1);
    }
    return inexact;
}

static int (*const references[])(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t) = {
#define EXACT(id, name) mpfr_##name,
#include "interp/exact.def"
};

static void check(int function, double x)
{
    mpfr_t in, value;
    double got;
    mpfr_init2(in, 53);
    mpfr_set_d(in, x, MPFR_RNDN);
    reference_begin(&reference_f64, value);
    const int inexact = references[function](value, in, MPFR_RNDN);
    const double want = reference_end(value, inexact);
    mpfr_clear(in);
    exact_unary((enum exact_function)function, TYPE_F64, &x, &got, 1);
    REQUIRE(same(got, want), "%s(%a) = %a, not %a", names[function], x, got, want);
}

/* Every function at all of them, and at their opposites. */
static const double known[] = {0x1.79289c6e6a5c0p-2,
                               0x1.05de80a173ea0p-2,
                               -0x1.eb7a4cb841fccp-14,
                               -0x1.9a61fb925970dp-14,
                               0x1.a7b764e2cf47ap-2,
                               -0x1.757852a4b93aap+5,
                               0x1.4c19e5712e377p+5,
                               -0x1.9a74cdab36c28p+4,
                               -0x1.5b3e4e2e3bba9p+9,
                               -0x1.6960d591aec34p+9,
                               -0x1.6232c09d58d91p+9,
                               -0x1.74910d52d3051p+9,
                               -0x1.67a172ceb0990p+9,
                               0x1.fffffffef06adp-1,
                               0x1.fde0f22c7d0ebp-1,
                               0x1.e7812faadb32fp-474,
                               0x1.e1076964c2903p-1,
                               0x1.fe93fff7fceb0p-2,
                               0x1.012631ad8df10p+0,
                               0x1.fbfdaa448ed98p-1,
                               0x1.00a8cefe9a5f8p-2,
                               0x1.0b4d870eb22f8p-2,
                               0x1.0c40cef04efb5p-54,
                               0x1.d2ccad399848ep+74,
                               0x1.12ccdffd9d2ecp+171,
                               0x1.6f070b92d36cep+358,
                               0x1.06dcb74f76bccp+732,
                               0x1.954e72ffd4596p+1010,
                               0x1.1e2f1628093e4p+360,
                               0x1.ac56e2bf1a951p+830,
                               -0x0.1bc6879ea14c5p-1022,
                               0x1.5f09cad750ab1p+3,
                               0x1.fff781921b61fp15,
                               -0x1.f635b70b92407p-21,
                               -0x1.3ecf146c39c0cp-20,
                               0x1.6ac5b262ca1ffp849,
                               0x1.6c6cbc45dc8dep5,
                               0x1.921fb5443p-7,
                               0x1.940c877fb7dacp-7,
                               0x1.fffffffffdb6p24,
                               0x1.fd4da4ef37075p29,
                               0x1.b951f1572eba5p+31,
                               0x1.55202aefde314p+31,
                               0x1.85fc0f04c0128p101,
                               0x1.7776c2343ba4ep101,
                               0x1.678309fa50d58p110,
                               0x1.fffffffffef4ep199,
                               -0x1.ab514bfc61c76p+7,
                               -0x1.f7898d5a756ddp+2,
                               -0x1.f42fb19b5b9b2p-6,
                               -0x1.14823229799c2p+7,
                               -0x1.0285070f9f1bcp-5,
                               0x1.23f40dccdef72p+0,
                               0x1.43cf16358c9d7p+0,
                               0x1.addf3b9722265p+0,
                               0x1.48ff1782ca91dp+8,
                               0x1.a211877de55dbp+4,
                               0x1.dcbfda0c7559ep+8,
                               0x1.1ffb509f3db15p+5,
                               0x1.2345d1e090529p+5,
                               0x1.ae945054939c2p+10,
                               0x1.2e566149bf5fdp+9,
                               0x1.be886d9c2324dp+6,
                               -0x1.119471e9216cdp+10,
                               -0x1.aaf85537ea4c7p+3,
                               0x1.cb996c60f437ep+9,
                               0x1.c96e28eb679f8p+5,
                               -0x1.a5eece87e8606p+4,
                               0x1.e31b55306f22cp+2,
                               0x1.ae78d360afa15p+0,
                               0x1.1685973506319p+3,
                               0x1.4f2b874135d27p+4,
                               0x1.3eec5912ea7cdp+331,
                               0x1.a65d441ea6dcep+4,
                               0x1.e639103a05997p+2,
                               0x1.13114266f9764p+4,
                               0x1.08087e9aad90bp+887,
                               0x1.2b5fe88a9d8d5p+903,
                               -0x1.a880417b7b119p+1023,
                               -0x1.6deb37da81129p-205,
                               0x1.f6d7518808571p+1023,
                               -0x1.8bb5847d49973p+845,
                               0x1.f08b14e1c4d0fp+890,
                               0x1.e0000000001c2p-20,
                               0x1.71547652b82fep-54,
                               0x1.465655f122ff6p-49,
                               0x1.bc8ee6b28659ap-46,
                               0x1.8442b169f672dp-14,
                               0x1.b4f0cfb15ca0fp+3,
                               0x1.2b708872320ddp+5,
                               0x1.77f74111e0894p+6,
                               0x1.a6c3780bbf824p+6,
                               0x1.e3d57e4c557f6p+6,
                               0x1.f07560077985ap+6,
                               0x1.1f0da93354198p+7,
                               0x1.71018579c0758p+7,
                               0x1.204684c1167e9p+8,
                               0x1.ff8p+9,
                               1e0,
                               1e1,
                               1e2,
                               1e3,
                               1e4,
                               1e5,
                               1e6,
                               1e7,
                               1e8,
                               1e9,
                               1e10,
                               1e11,
                               1e12,
                               1e13,
                               1e14,
                               1e15,
                               1e16,
                               1e17,
                               1e18,
                               1e19,
                               1e20,
                               1e21,
                               1e22};

START_TEST(test_known)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        check(_i, known[i]);
        check(_i, -known[i]);
    }
}
END_TEST

static const struct {
    enum exact_function function;
    double x;
} found[] = {
    {EXACT_ACOS, 0x1.1a0f93a23778p-1},       {EXACT_ACOS, -0x1.72d4145bd7d28p-3},
    {EXACT_ACOS, -0x1.ebfe15912dc9ep-1},     {EXACT_ACOS, 0x1.35a9ceddbe9f4p-1},
    {EXACT_ACOSH, 0x1.0e530762c75dp+0},      {EXACT_ACOSH, 0x1.72b0d6022c396p+0},
    {EXACT_ACOSH, 0x1.5e92f7461642fp+0},     {EXACT_ACOSH, 0x1.01746ba006848p+0},
    {EXACT_ASIN, 0x1.1c29722e4438ep-1},      {EXACT_ASIN, -0x1.1d1f027a7d1bp-2},
    {EXACT_ASIN, 0x1.54fb11a958bap-1},       {EXACT_ASIN, 0x1.1c7b93fed37f4p-1},
    {EXACT_ASINH, -0x1.98d221bbb20c8p-3},    {EXACT_ASINH, 0x1.c4f49fa8f0f9p-4},
    {EXACT_ASINH, -0x1.98f40b6a787p-1},      {EXACT_ASINH, -0x1.27169c13592b4p+3},
    {EXACT_ATAN, -0x1.18c16ebefb9fp+1},      {EXACT_ATAN, -0x1.ccd0bdb21da84p-2},
    {EXACT_ATAN, 0x1.fd5413405bbeep+3},      {EXACT_ATAN, -0x1.e8433c3591a5p-6},
    {EXACT_ATANH, 0x1.eea0edf59f778p-1},     {EXACT_ATANH, -0x1.7a10c20c4c34p-3},
    {EXACT_ATANH, -0x1.3639e100aa1d2p-1},    {EXACT_ATANH, 0x1.02f1770afa27p-3},
    {EXACT_CBRT, -0x1.080a4c54d0bd8p+3},     {EXACT_CBRT, 0x1.953fe1d4c5f68p+1},
    {EXACT_CBRT, 0x1.43f31c1309fc2p-1},      {EXACT_CBRT, 0x1.dfff3b09302d6p-4},
    {EXACT_COS, 0x1.4f391d76216a6p+1},       {EXACT_COS, -0x1.748111f1a9e56p-1},
    {EXACT_COS, -0x1.4222b8c6c4508p-2},      {EXACT_COS, -0x1.ef2fff392dc4p+0},
    {EXACT_COSH, 0x1.535fa0eda6dd4p-3},      {EXACT_COSH, 0x1.77d989440aa6p-3},
    {EXACT_COSH, 0x1.eb9e96ccec6d8p-4},      {EXACT_COSH, 0x1.fb44c18fdf09cp-5},
    {EXACT_ERF, 0x1.7afb44cdc147cp+2},       {EXACT_ERF, -0x1.b17f212e84558p+1},
    {EXACT_ERF, 0x1.30343c3a734dcp-1},       {EXACT_ERF, 0x1.d2123331d13b4p+0},
    {EXACT_ERFC, 0x1.23bdcf2158dd6p+1},      {EXACT_ERFC, 0x1.c4eacb88f5928p+2},
    {EXACT_ERFC, -0x1.6f4c7f076a96ap-1},     {EXACT_ERFC, -0x1.9e2446a9c5c8p-2},
    {EXACT_EXP, -0x1.342383b25edcap-3},      {EXACT_EXP, -0x1.da62e3b04bb84p-1},
    {EXACT_EXP, 0x1.cc2fad69bbba8p+0},       {EXACT_EXP, 0x1.a70172485e0fp-5},
    {EXACT_EXPM1, 0x1.dad4c7507fc2p-1},      {EXACT_EXPM1, -0x1.da2847443bb8p-9},
    {EXACT_EXPM1, -0x1.81599cb2f612p+1},     {EXACT_EXPM1, 0x1.46db529b6ddfp-6},
    {EXACT_LOG, 0x1.0d810af9b210cp-1},       {EXACT_LOG, 0x1.ebb86c3a7ff5ap+3},
    {EXACT_LOG, 0x1.95451cde8fdp-8},         {EXACT_LOG, 0x1.6b38c45cd9628p+0},
    {EXACT_LOG1P, 0x1.3798a40548b44p+0},     {EXACT_LOG1P, 0x1.6d401751f86d8p-5},
    {EXACT_LOG1P, 0x1.96431265be5ap-1},      {EXACT_LOG1P, 0x1.f22ed04b386e6p+0},
    {EXACT_LOGISTIC, -0x1.c4fd0b63011aep+1}, {EXACT_LOGISTIC, -0x1.1012d7652699p-7},
    {EXACT_LOGISTIC, -0x1.554da56d72a4ap-1}, {EXACT_LOGISTIC, 0x1.2663cdfc4e2dep-3},
    {EXACT_RSQRT, 0x1.72fcaaa501808p+2},     {EXACT_RSQRT, 0x1.4eb619d75e93ep+2},
    {EXACT_RSQRT, 0x1.7fb2d39998e6p-4},      {EXACT_RSQRT, 0x1.4e3db5e4098bap+3},
    {EXACT_SIN, 0x1.7abd757bdc256p-3},       {EXACT_SIN, -0x1.a35a1a769d29ep-3},
    {EXACT_SIN, -0x1.a0f0e4a5b325cp+1},      {EXACT_SIN, -0x1.0a542248918bcp+1},
    {EXACT_SINH, -0x1.092d06c3b4e68p-2},     {EXACT_SINH, 0x1.3ed286d85af1cp+2},
    {EXACT_SINH, 0x1.fc81c294a902ap-2},      {EXACT_SINH, 0x1.d29fec5ced6e4p-3},
    {EXACT_SQRT, 0x1.fdddf19b8fcecp-4},      {EXACT_SQRT, 0x1.240ade4b52b6ep-2},
    {EXACT_SQRT, 0x1.ed383ba210bp-5},        {EXACT_SQRT, 0x1.bd5f1752273f4p-1},
    {EXACT_TAN, -0x1.1c50bff83d886p-3},      {EXACT_TAN, -0x1.4d54e92055136p+2},
    {EXACT_TAN, -0x1.83cecbe928f3cp-1},      {EXACT_TAN, -0x1.1fe0e9415f542p-4},
    {EXACT_TANH, -0x1.f689feeffe16p-4},      {EXACT_TANH, -0x1.5dc07579720fcp+3},
    {EXACT_TANH, 0x1.f620803fdde18p+1},      {EXACT_TANH, -0x1.a6709911ba336p-3},
};

START_TEST(test_found)
{
    for (size_t i = 0; i < sizeof found / sizeof found[0]; i++) {
        check((int)found[i].function, found[i].x);
    }
}
END_TEST

/* Near 0: x, 1 + x, 1 − x²/2, x ± x³/k and the like. Results lie beside values and ties of f64, by
 * a distance that shrinks with x, down to a millionth part of the smallest number. */
START_TEST(test_small)
{
    static const double significands[] = {
        1, 1.5, 0x1.fffffffffffffp0, 0x1.0000000000001p0, 0x1.8000000000001p0, 0x1.5555555555555p0};
    for (int exponent = -1074; exponent <= -8; exponent += exponent < -120 ? 37 : 1) {
        for (size_t i = 0; i < sizeof significands / sizeof significands[0]; i++) {
            check(_i, ldexp(significands[i], exponent));
            check(_i, ldexp(-significands[i], exponent));
        }
    }
}
END_TEST

/* Near where functions begin, end and turn: 1, −1, multiples of π/2, the ends of exp's range; and
 * so far out that they are as good as constant. */
START_TEST(test_edges)
{
    static const double edges[] = {1,
                                   2,
                                   0.5,
                                   1.5707963267948966,
                                   3.1415926535897931,
                                   4.7123889803846899,
                                   6.2831853071795862,
                                   0.69314718055994529,
                                   709.78271289338397,
                                   710.4758600739439,
                                   745.13321910194122,
                                   708.39641853226408,
                                   18.714973875118524,
                                   19.061547465398498,
                                   22.180709777918249,
                                   36.736800569677101,
                                   37.429947750237048,
                                   5.9215871957945083,
                                   27.226017111108366,
                                   26.543258430632299,
                                   0x1p26,
                                   0x1p27,
                                   0x1p53,
                                   0x1p54,
                                   1e300,
                                   0x1.fffffffffffffp1023};
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        double up = edges[i], down = edges[i];
        for (int step = 0; step < 12; step++) {
            check(_i, up);
            check(_i, -up);
            check(_i, down);
            check(_i, -down);
            up = nextafter(up, HUGE_VAL);
            down = nextafter(down, 0);
        }
    }
}
END_TEST

/* --- of two arguments --- */

static void check_pair(enum exact_binary_function function, double a, double b)
{
    mpfr_t x, y, value;
    double got;
    mpfr_inits2(53, x, y, (mpfr_ptr)0);
    mpfr_set_d(x, a, MPFR_RNDN);
    mpfr_set_d(y, b, MPFR_RNDN);
    reference_begin(&reference_f64, value);
    const int inexact = function == EXACT_POWER   ? mpfr_pow(value, x, y, MPFR_RNDN)
                        : function == EXACT_ATAN2 ? mpfr_atan2(value, x, y, MPFR_RNDN)
                                                  : mpfr_fmod(value, x, y, MPFR_RNDN);
    const double want = reference_end(value, inexact);
    mpfr_clears(x, y, (mpfr_ptr)0);
    exact_binary(function, TYPE_F64, &a, &b, &got, 1);
    REQUIRE(same(got, want), "%d(%a, %a) = %a, not %a", (int)function, a, b, got, want);
}

static const struct {
    enum exact_binary_function function;
    double a, b;
} found_pairs[] = {
    {EXACT_POWER, 0x1.a7e739fd20504p+1, 0x1.ad4b98d0ad91p+0},
    {EXACT_POWER, 0x1.cb6dcd15ca744p-1, -0x1.5cff73b26bc9p+1},
    {EXACT_POWER, 0x1.ab18657540e2fp+1, 0x1.066a7cffffafap+3},
    {EXACT_POWER, 0x1.1ef8cf547dd91p+1, -0x1.ebedb68a0da7p+2},
    {EXACT_ATAN2, 0x1.0806464bb5ab3p+1, -0x1.b9767160ec9ep-1},
    {EXACT_ATAN2, 0x1.a03e63fd5259p-2, 0x1.090733f471454p+3},
    {EXACT_ATAN2, 0x1.23a1b663cfbaap+1, -0x1.56fa0c93d235cp+1},
    {EXACT_ATAN2, 0x1.8a32a75d43bc4p+1, -0x1.f72a059ee506p+0},
};

START_TEST(test_pairs)
{
    for (size_t i = 0; i < sizeof found_pairs / sizeof found_pairs[0]; i++) {
        check_pair(found_pairs[i].function, found_pairs[i].a, found_pairs[i].b);
    }
    /* Powers that are ties: odd whole numbers of 54 bits, (2k + 1)² and (2k + 1)³; and beside 1. */
    for (int i = 0; i < 200; i++) {
        const double odd = 0x1.6a09e667f3bcdp26 - i * 2 + 1;
        check_pair(EXACT_POWER, floor(odd / 2) * 2 + 1, 2);
        check_pair(EXACT_POWER, floor(0x1.965fea53d6e3dp17) + 2 * i + 1, 3);
        check_pair(EXACT_POWER, 165140 + i, 3);
        check_pair(EXACT_POWER, 9740 + i, 4);
        check_pair(EXACT_POWER, 81 + i, i % 7 + 2);
        check_pair(EXACT_POWER, (81 + i) * (81 + i), i % 7 + 1.5);
        check_pair(EXACT_POWER, 1 + i * 0x1p-52, (i - 100) * 0x1p10);
        check_pair(EXACT_POWER, 1 - i * 0x1p-53, 1 + i * 0x1p-40);
        check_pair(EXACT_POWER, 1 + 0x1p-52, ldexp(1.5, i - 60));
        check_pair(EXACT_POWER, 3 + i, ldexp(1.25, -i - 40));
        check_pair(EXACT_POWER, ldexp(1 + i * 0.01, -500), 2.1 + i * 0.0002);
        check_pair(EXACT_ATAN2, ldexp(1 + i * 0.003, -i * 5), 1);
        check_pair(EXACT_ATAN2, ldexp(1.1, -i * 5), -3);
        check_pair(EXACT_ATAN2, 1, ldexp(1 + i * 0.003, -i * 5));
        check_pair(EXACT_ATAN2, ldexp(3, -1070), ldexp(1.7, i - 100));
        check_pair(EXACT_ATAN2, ldexp(3 + i, -1060), ldexp(1.7, -i));
        check_pair(EXACT_REMAINDER, ldexp(1.1 + i, 1000), ldexp(1.3, -i * 5));
        check_pair(EXACT_REMAINDER, -1e308, 5e-324 * (i + 1));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exact_hard");
    TCase *all = tcase_create("hard");
    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, test_known, 0, EXACT_FUNCTION_COUNT);
    tcase_add_test(all, test_found);
    tcase_add_loop_test(all, test_small, 0, EXACT_FUNCTION_COUNT);
    tcase_add_loop_test(all, test_edges, 0, EXACT_FUNCTION_COUNT);
    tcase_add_test(all, test_pairs);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
