/* exact_binary: arithmetic by the hardware, power and atan2 by Ziv's strategy. */
#include <math.h>

#include "hlo/floats.h"
#include "interp/exact.h"
#include "interp/exact_internal.h"

static double binary_mpfr(enum exact_binary_function function, enum type type, double a, double b)
{
    mpfr_t x, y, value;
    mpfr_inits2(53, x, y, (mpfr_ptr)0);
    mpfr_init2(value, 64);
    mpfr_set_d(x, a, MPFR_RNDN);
    mpfr_set_d(y, b, MPFR_RNDN);
    int inexact = function == EXACT_POWER ? mpfr_pow(value, x, y, MPFR_RNDZ)
                                          : mpfr_atan2(value, x, y, MPFR_RNDZ);
    double result = exact_from_mpfr(type, value, inexact != 0);
    mpfr_clears(x, y, value, (mpfr_ptr)0);
    return result;
}

static double power_one(enum type type, double a, double b)
{
    double value;
    /* Frequent exponents that are one correctly rounded operation. */
    if (b == 1 || b == 2 || b == -1) {
        return float_round(type, isnan(a) ? NAN : b == 1 ? a : b == 2 ? a * a : 1 / a);
    }
    if (b == 0.5 && a > 0) {
        return float_round(type, sqrt(a));
    }
    double guess = pow(a, b);
    if (isnan(guess)) {
        return float_round(type, NAN);
    }
    /* C99 Annex F.9.4.4 lists the results that are exact limits. A finite power of finite numbers
     * that came out as 0 or infinity is beyond f64 and so beyond smaller types. */
    const bool limit = a == 0 || b == 0 || a == 1 || isinf(a) || isinf(b);
    if (limit || ((guess == 0 || isinf(guess)) && type != TYPE_F64 && type != TYPE_F8E8M0FNU)) {
        return float_round(type, guess);
    }
    bool decided = type == TYPE_F64
                       ? exact_decided_wide(powl(a, b), &value)
                       : guess != 0 && exact_decided(type, guess, EXACT_LIBM_SLACK, &value);
    return decided ? value : binary_mpfr(EXACT_POWER, type, a, b);
}

static double atan2_one(enum type type, double a, double b)
{
    double value;
    double guess = atan2(a, b);
    if (isnan(guess)) {
        return float_round(type, NAN);
    }
    if ((a == 0 && guess == 0) || (isinf(b) && b > 0 && !isinf(a))) {
        return float_round(type, guess);
    }
    bool decided = type == TYPE_F64
                       ? exact_decided_wide(atan2l(a, b), &value)
                       : guess != 0 && exact_decided(type, guess, EXACT_LIBM_SLACK, &value);
    return decided ? value : binary_mpfr(EXACT_ATAN2, type, a, b);
}

void exact_binary(enum exact_binary_function function, enum type type, const double *a,
                  const double *b, double *out, int64_t count)
{
    if (function == EXACT_POWER || function == EXACT_ATAN2) {
        for (int64_t i = 0; i < count; i++) {
            out[i] =
                function == EXACT_POWER ? power_one(type, a[i], b[i]) : atan2_one(type, a[i], b[i]);
        }
        return;
    }
    /* The double nearest to a op b rounds to a type of at most 24 significant bits as the exact
     * value does: for ÷ because 53 ≥ 2 * 24 + 2 (S. A. Figueroa, "When is double rounding
     * innocuous?", SIGNUM Newsletter 30, 1995), for × because it is exact, for + and − because they
     * are exact or the smaller operand lies beyond the bits that matter. The remainder is exact in
     * any format. */
    switch (function) {
    case EXACT_ADD:
        for (int64_t i = 0; i < count; i++) {
            out[i] = a[i] + b[i];
        }
        break;
    case EXACT_SUBTRACT:
        for (int64_t i = 0; i < count; i++) {
            out[i] = a[i] - b[i];
        }
        break;
    case EXACT_MULTIPLY:
        for (int64_t i = 0; i < count; i++) {
            out[i] = a[i] * b[i];
        }
        break;
    case EXACT_DIVIDE:
        for (int64_t i = 0; i < count; i++) {
            out[i] = a[i] / b[i];
        }
        break;
    default:
        for (int64_t i = 0; i < count; i++) {
            out[i] = fmod(a[i], b[i]);
        }
        break;
    }
    for (int64_t i = 0; i < count; i++) {
        out[i] = isnan(out[i]) ? NAN : out[i];
    }
    float_round_array(type, out, out, count);
}
