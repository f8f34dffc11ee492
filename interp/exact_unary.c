/* exact_unary: vector kernels first, then libm, then MPFR; each decides what the one before left.
 */
#include <math.h>
#include <string.h>

#include "hlo/floats.h"
#include "hlo/vector.h"
#include "interp/exact.h"
#include "interp/exact_internal.h"
#include "interp/exact_kernels.h"

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}
static long double logisticl(long double x)
{
    return 1 / (1 + expl(-x));
}
static double rsqrt(double x)
{
    return 1 / sqrt(x);
}
static long double rsqrtl(long double x)
{
    return 1 / sqrtl(x);
}

static double (*const guesses[])(double) = {
#define EXACT(id, name) name,
#include "interp/exact.def"
};
static long double (*const wide_guesses[])(long double) = {
#define EXACT(id, name) name##l,
#include "interp/exact.def"
};

const struct exact_kernels *exact_kernels_here(void)
{
    static const struct exact_kernels *here;
    const struct exact_kernels *kernels = __atomic_load_n(&here, __ATOMIC_RELAXED);
    if (kernels == NULL) {
        kernels = &exact_kernels_level0;
#ifdef __x86_64__
        const int level = vector_level();
        kernels = level == 3 ? &exact_kernels_level3 : level == 2 ? &exact_kernels_level2 : kernels;
#endif
        __atomic_store_n(&here, kernels, __ATOMIC_RELAXED);
    }
    return kernels;
}

bool exact_decided(enum type type, double value, double slack, double *out)
{
    double low = float_round(type, value - value * slack);
    *out = float_round(type, value + value * slack);
    return memcmp(&low, out, sizeof(low)) == 0 && !isnan(value);
}

bool exact_wide_works(void)
{
    static int works; /* 0: not asked yet, 1: yes, -1: no */
    int known = __atomic_load_n(&works, __ATOMIC_RELAXED);
    if (known == 0) {
        volatile long double one = 1, small = 0x1p-63L;
        volatile long double sum = one + small;
        known = sum - one == small && sizeof(long double) > sizeof(double) ? 1 : -1;
        __atomic_store_n(&works, known, __ATOMIC_RELAXED);
    }
    return known > 0;
}

bool exact_decided_wide(long double value, double *out)
{
    double low = (double)(value - value * EXACT_WIDE_SLACK);
    *out = (double)(value + value * EXACT_WIDE_SLACK);
    return low == *out && exact_wide_works();
}

static double one_f64(enum exact_function function, double x)
{
    double value;
    if (exact_decided_wide(wide_guesses[function](x), &value)) {
        return value;
    }
    return exact_unary_mpfr(function, TYPE_F64, x);
}

double exact_unary_one(enum exact_function function, enum type type, double x)
{
    /* libm follows C99 Annex F at zeros, infinities, NaN, poles and outside the domain. */
    double guess = guesses[function](x);
    const bool limit = (x == 0 || isinf(x)) && (guess == 0 || isinf(guess));
    if (isnan(guess)) {
        return float_round(type, NAN);
    }
    if (limit || function == EXACT_SQRT) {
        return float_round(type, guess);
    }
    if (type == TYPE_F64) {
        return one_f64(function, x);
    }
    if (isinf(guess)) { /* a pole, or beyond f64 and so beyond `type` */
        return float_round(type, guess);
    }
    if (guess == 0 && function == EXACT_ERFC) { /* underflow; e8m0 has no zero */
        guess = 0x1p-1022;
    }
    double value;
    if (exact_decided(type, guess, EXACT_LIBM_SLACK, &value)) {
        return value;
    }
    return exact_unary_mpfr(function, type, x);
}

static void square_roots(enum type type, const double *in, double *out, int64_t count)
{
    const struct exact_kernels *kernels = exact_kernels_here();
    int64_t i = 0;
    for (; i + EXACT_BLOCK <= count; i += EXACT_BLOCK) {
        kernels->square_root(in + i, out + i);
    }
    for (; i < count; i++) {
        out[i] = sqrt(in[i]);
    }
    for (i = 0; i < count; i++) {
        out[i] = isnan(out[i]) ? NAN : out[i];
    }
    /* Rounding twice is harmless: 53 ≥ 2 * 24 + 2 (S. A. Figueroa, 1995). */
    float_round_array(type, out, out, count);
}

void exact_unary(enum exact_function function, enum type type, const double *in, double *out,
                 int64_t count)
{
    if (function == EXACT_SQRT) {
        square_roots(type, in, out, count);
        return;
    }
    const struct float_layout *layout = type == TYPE_F32 ? NULL : float_layout(type);
    uint64_t (*block)(const struct float_layout *, const double *, double *) =
        exact_kernels_here()->blocks[function];
    if (block == NULL || (layout == NULL && type != TYPE_F32)) {
        for (int64_t i = 0; i < count; i++) {
            out[i] = exact_unary_one(function, type, in[i]);
        }
        return;
    }
    for (int64_t i = 0; i < count; i += EXACT_BLOCK) {
        const int64_t size = count - i < EXACT_BLOCK ? count - i : EXACT_BLOCK;
        double arguments[EXACT_BLOCK], values[EXACT_BLOCK];
        memcpy(arguments, in + i, (size_t)size * sizeof(double));
        for (int64_t k = size; k < EXACT_BLOCK; k++) {
            arguments[k] = 0.5;
        }
        uint64_t open = block(layout, arguments, values);
        for (; open != 0; open &= open - 1) {
            const int k = __builtin_ctzll(open);
            values[k] = exact_unary_one(function, type, arguments[k]);
        }
        memcpy(out + i, values, (size_t)size * sizeof(double));
    }
}

void exact_from_s64(enum type type, const int64_t *in, double *out, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        /* Both halves and their sum's error are exact. */
        double high = (double)(in[i] >> 32) * 0x1p32, low = (double)(in[i] & 0xffffffff);
        double sum = high + low;
        out[i] = type == TYPE_F64 ? sum : float_round_to_odd(sum, low - (sum - high));
    }
    float_round_array(type, out, out, count);
}

void exact_from_u64(enum type type, const uint64_t *in, double *out, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double high = (double)(in[i] >> 32) * 0x1p32, low = (double)(in[i] & 0xffffffff);
        double sum = high + low;
        out[i] = type == TYPE_F64 ? sum : float_round_to_odd(sum, low - (sum - high));
    }
    float_round_array(type, out, out, count);
}
