/* The references of the long tests, and the table of what is tested. */
#include "tests/long/reference.h"

#define LIBM_SLACK 0x1p-58L

/* --- functions that C lacks --- */

static long double logisticl(long double x)
{
    return 1 / (1 + expl(-x));
}
static long double rsqrtl(long double x)
{
    return 1 / sqrtl(x);
}
static long double absl(long double x)
{
    return fabsl(x);
}
static long double negatel(long double x)
{
    return -x;
}
static long double signl(long double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : x;
}
static long double samel(long double x)
{
    return x;
}
/* IEEE 754-2019 maximum and minimum: NaN wins, −0 is less than +0. */
static long double maximuml(long double a, long double b)
{
    return isnan(a) || isnan(b) ? (long double)NAN : a == b ? (signbit(a) ? b : a) : a > b ? a : b;
}
static long double minimuml(long double a, long double b)
{
    return isnan(a) || isnan(b) ? (long double)NAN : a == b ? (signbit(a) ? a : b) : a < b ? a : b;
}
static long double addl(long double a, long double b)
{
    return a + b;
}
static long double subtractl(long double a, long double b)
{
    return a - b;
}
static long double multiplyl(long double a, long double b)
{
    return a * b;
}
static long double dividel(long double a, long double b)
{
    return a / b;
}

static uint32_t abs_bits(uint32_t x)
{
    return x & 0x7fffffff;
}
static uint32_t negate_bits(uint32_t x)
{
    return x ^ 0x80000000;
}
static uint32_t is_finite_bits(uint32_t x)
{
    return (x >> 23 & 0xff) != 0xff;
}

/* 1 / (1 + exp(−x)) toward zero. Beyond 200 it is less than 1 by less than 2^-280. */
static int mpfr_logistic(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t round)
{
    if (mpfr_zero_p(x)) {
        return mpfr_set_d(out, 0.5, round);
    }
    if (mpfr_cmp_si(x, 200) > 0) {
        mpfr_set_ui(out, 1, round);
        mpfr_nextbelow(out);
        return -1;
    }
    mpfr_t value;
    mpfr_init2(value, 600);
    mpfr_neg(value, x, MPFR_RNDN);
    mpfr_exp(value, value, MPFR_RNDN);
    mpfr_add_ui(value, value, 1, MPFR_RNDN);
    mpfr_ui_div(value, 1, value, MPFR_RNDN);
    mpfr_set(out, value, MPFR_RNDZ);
    mpfr_clear(value);
    return -1;
}

/* --- the table --- */

#define UNARY(opcode, name)                                                              \
    {                                                                                    \
        opcode, REFERENCE_UNARY, BOUND_LIBM, .unary = name##l, .unary_mpfr = mpfr_##name \
    }
#define UNARY_EXACT(opcode, name)                              \
    {                                                          \
        opcode, REFERENCE_UNARY, BOUND_EXACT, .unary = name##l \
    }
#define BITS(opcode, result_type, name)                                                        \
    {                                                                                          \
        opcode, REFERENCE_BITS, BOUND_EXACT, .result = TYPE_##result_type, .bits = name##_bits \
    }
#define CONVERT(type)                                                                    \
    {                                                                                    \
        "convert", REFERENCE_CONVERT, BOUND_EXACT, .result = TYPE_##type, .unary = samel \
    }
#define BINARY_EXACT(opcode, operand_type, name)                                              \
    {                                                                                         \
        opcode, REFERENCE_BINARY, BOUND_EXACT, .type = TYPE_##operand_type, .binary = name##l \
    }
#define BINARY(opcode, operand_type, name)                                                    \
    {                                                                                         \
        opcode, REFERENCE_BINARY, BOUND_LIBM, .type = TYPE_##operand_type, .binary = name##l, \
                                              .binary_mpfr = mpfr_##name                      \
    }

#define mpfr_rsqrt mpfr_rec_sqrt
const struct reference references[] = {
    BITS("abs", F32, abs),
    BITS("negate", F32, negate),
    BITS("is-finite", PRED, is_finite),
    UNARY_EXACT("sign", sign),
    UNARY_EXACT("floor", floor),
    UNARY_EXACT("ceil", ceil),
    UNARY_EXACT("round-nearest-afz", round),
    UNARY_EXACT("round-nearest-even", rint),
    UNARY_EXACT("sqrt", sqrt),
    UNARY("rsqrt", rsqrt),
    UNARY("cbrt", cbrt),
    UNARY("exponential", exp),
    UNARY("exponential-minus-one", expm1),
    UNARY("log", log),
    UNARY("log-plus-one", log1p),
    UNARY("logistic", logistic),
    UNARY("tanh", tanh),
    UNARY("sine", sin),
    UNARY("cosine", cos),
    UNARY("tan", tan),
    UNARY("erf", erf),
    UNARY("asin", asin),
    UNARY("acos", acos),
    UNARY("sinh", sinh),
    UNARY("cosh", cosh),
    UNARY("asinh", asinh),
    UNARY("acosh", acosh),
    UNARY("atanh", atanh),
    CONVERT(F64),
    CONVERT(F16),
    CONVERT(BF16),
    CONVERT(F8E5M2),
    CONVERT(F8E4M3),
    CONVERT(F8E3M4),
    CONVERT(F8E4M3FN),
    CONVERT(F8E4M3B11FNUZ),
    CONVERT(F8E5M2FNUZ),
    CONVERT(F8E4M3FNUZ),
    CONVERT(F8E8M0FNU),
    CONVERT(F4E2M1FN),
    CONVERT(F6E3M2FN),
    CONVERT(F6E2M3FN),
    BINARY_EXACT("add", BF16, add),
    BINARY_EXACT("subtract", BF16, subtract),
    BINARY_EXACT("multiply", BF16, multiply),
    BINARY_EXACT("divide", BF16, divide),
    BINARY_EXACT("remainder", BF16, fmod),
    BINARY_EXACT("maximum", BF16, maximum),
    BINARY_EXACT("minimum", BF16, minimum),
    BINARY("atan2", BF16, atan2),
    {"power", REFERENCE_BINARY, BOUND_LIBM, .type = TYPE_BF16, .binary = powl,
     .binary_mpfr = mpfr_pow},
    BINARY_EXACT("add", F16, add),
    BINARY_EXACT("subtract", F16, subtract),
    BINARY_EXACT("multiply", F16, multiply),
    BINARY_EXACT("divide", F16, divide),
    BINARY_EXACT("remainder", F16, fmod),
    BINARY_EXACT("maximum", F16, maximum),
    BINARY_EXACT("minimum", F16, minimum),
    BINARY("atan2", F16, atan2),
    {"power", REFERENCE_BINARY, BOUND_LIBM, .type = TYPE_F16, .binary = powl,
     .binary_mpfr = mpfr_pow},
};
#undef mpfr_rsqrt
/* The same by value, for formats of all kinds. */
const struct reference abs_reference = UNARY_EXACT("abs", abs);
const struct reference negate_reference = UNARY_EXACT("negate", negate);
const int reference_count = sizeof references / sizeof references[0];

/* --- results --- */

static uint64_t bits_of_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The value of an element; f32 by the processor. */
static long double value_of(enum type type, uint64_t bits)
{
    if (type == TYPE_F32) {
        const uint32_t low = (uint32_t)bits;
        float value;
        memcpy(&value, &low, sizeof value);
        return value;
    }
    const struct number n = number_decode(type, bits);
    return number_value(&n);
}

/* A value of unlimited range and `more` bits rounded to the type; f32 by the processor. */
static uint64_t rounded(enum type type, long double value)
{
    if (type == TYPE_F32) {
        return bits_of_f32((float)value);
    }
    struct number n = number_of_long_double(value);
    return number_encode(type, &n);
}

static uint64_t by_mpfr_of(const struct reference *reference, enum type type, long double a,
                           long double b, long double guess, bool *outside)
{
    mpfr_t x, y, value;
    mpfr_inits2(64, x, y, value, (mpfr_ptr)0);
    mpfr_set_ld(x, a, MPFR_RNDN);
    mpfr_set_ld(y, b, MPFR_RNDN);
    const int inexact = reference->kind == REFERENCE_BINARY
                            ? reference->binary_mpfr(value, x, y, MPFR_RNDZ)
                            : reference->unary_mpfr(value, x, MPFR_RNDZ);
    const struct number n = number_of_mpfr(value, inexact != 0);
    const long double exact = number_value(&n);
    /* At the lower end of long double's range the C library has fewer bits, and rightly so. */
    *outside = isfinite(a) && isfinite(b) && fabsl(exact) > 0x1p-16300L &&
               fabsl(guess - exact) > fabsl(exact) * LIBM_SLACK;
    mpfr_clears(x, y, value, (mpfr_ptr)0);
    return number_encode(type, &n);
}

uint64_t reference_result(const struct reference *reference, enum type type, enum type result,
                          uint64_t a, uint64_t b, bool always, bool *by_mpfr, bool *outside)
{
    *by_mpfr = *outside = false;
    if (reference->kind == REFERENCE_BITS) {
        return reference->bits((uint32_t)a);
    }
    const long double x = value_of(type, a), y = value_of(type, b);
    const long double value =
        reference->kind == REFERENCE_BINARY ? reference->binary(x, y) : reference->unary(x);
    /* The C library's powl takes −∞ to −2^63 for an odd power. */
    if (reference->binary_mpfr != NULL && (isinf(x) || isinf(y))) {
        return by_mpfr_of(reference, result, x, y, value, outside);
    }
    /* An infinite one is a limit, or beyond 2^16384 and so beyond the format. */
    if (reference->bound == BOUND_EXACT || isnan(value) || isinf(value)) {
        return rounded(result, value);
    }
    const uint64_t low = rounded(result, value - value * LIBM_SLACK);
    const uint64_t high = rounded(result, value + value * LIBM_SLACK);
    /* e8m0 has no zero: what underflows is its least number. */
    const bool underflow = value == 0 && result == TYPE_F8E8M0FNU;
    if (low == high && !always && !underflow) {
        return high;
    }
    *by_mpfr = true;
    return by_mpfr_of(reference, result, x, y, value, outside);
}
