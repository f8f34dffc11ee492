/* References for the tests of exact arithmetic: MPFR rounding to a format by its own exponent range
 * and subnormals, which shares nothing with hlo/floats.c. */
#ifndef TESTS_INTERP_EXACT_REFERENCE_H
#define TESTS_INTERP_EXACT_REFERENCE_H

#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <stdbool.h>
#include <string.h>

#include "hlo/types.h"

/* An assertion for inner loops: Check's own talk to the parent process each time. */
#define REQUIRE(condition, ...)        \
    do {                               \
        if (!(condition)) {            \
            ck_abort_msg(__VA_ARGS__); \
        }                              \
    } while (0)

/* IEEE formats: significant bits, exponent of the smallest subnormal, exponent above the largest.
 */
struct reference_format {
    enum type type;
    int precision, least, most;
};
static const struct reference_format reference_f16 = {TYPE_F16, 11, -24, 16};
static const struct reference_format reference_bf16 = {TYPE_BF16, 8, -133, 128};
static const struct reference_format reference_f32 = {TYPE_F32, 24, -149, 128};
static const struct reference_format reference_f64 = {TYPE_F64, 53, -1074, 1024};
static const struct reference_format reference_f8e5m2 = {TYPE_F8E5M2, 3, -16, 16};

/* Between these two MPFR computes as the format does; value must have the format's precision. */
static inline void reference_begin(const struct reference_format *format, mpfr_ptr value)
{
    mpfr_init2(value, format->precision);
    mpfr_set_emin(format->least + 1);
    mpfr_set_emax(format->most);
}
static inline double reference_end(mpfr_ptr value, int inexact)
{
    inexact = mpfr_check_range(value, inexact, MPFR_RNDN);
    mpfr_subnormalize(value, inexact, MPFR_RNDN);
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
    double result = mpfr_get_d(value, MPFR_RNDN);
    mpfr_clear(value);
    return result;
}

/* A value of any precision rounded to the format, once. */
static inline double reference_round(const struct reference_format *format, mpfr_srcptr exact)
{
    mpfr_t value;
    reference_begin(format, value);
    /* mpfr_set needs room for what is out of the range. */
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
    int inexact = mpfr_set(value, exact, MPFR_RNDN);
    mpfr_set_emin(format->least + 1);
    mpfr_set_emax(format->most);
    return reference_end(value, inexact);
}

/* Equal bits, or both NaN. */
static inline bool same(double a, double b)
{
    return memcmp(&a, &b, sizeof(a)) == 0 || (isnan(a) && isnan(b));
}

#endif
