/* Floating point formats: conversions between elements and doubles.
 *
 * Overflow and NaN, as ml_dtypes 0.6 and XLA's CPU convert f32 (measured):
 *   IEEE               overflow → ±infinity; NaN keeps its sign and the payload that fits, quiet
 *   ALL_ONES_NAN       overflow and infinity → NaN of that sign
 *   NEGATIVE_ZERO_NAN  overflow, infinity and NaN → the one NaN; −0 and negative underflow → +0
 *   FINITE             overflow and infinity → ± the largest value; a NaN becomes the zero of the
 *                      opposite sign (ml_dtypes; XLA's CPU gives −0 for both)
 *   UNSIGNED_POWER     zero, negative values, NaN and overflow → NaN; ties go to the larger power;
 *                      there is no zero to underflow to, so tiny values become 2^-127 (ml_dtypes
 *                      goes through f32 and makes NaN of what underflows there) */
#include "hlo/floats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/floats_layout.h"
#include "hlo/vector.h"

const struct float_format float_formats[TYPE_COUNT] = {
#define FLOAT(id, exponent_bits, mantissa_bits, bias, specials) \
    [TYPE_##id] = {exponent_bits, mantissa_bits, bias, SPECIALS_##specials},
#include "hlo/floats.def"
};

static struct float_layout layouts[TYPE_COUNT];
/* The values of the formats of at most 8 bits. */
static double small_values[TYPE_COUNT][256];
static const struct float_loops *loops;

static uint64_t double_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static double bits_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

int vector_level(void)
{
    int level = 0;
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        level = 2;
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
            level = 3;
        }
    }
#endif
    const char *wanted = getenv("REFEREE_VECTOR_LEVEL");
    if (wanted != NULL && wanted[0] >= '0' && wanted[0] <= '9' && wanted[0] - '0' < level) {
        level = wanted[0] - '0';
    }
    return level;
}

static bool has_sign(const struct float_format *format)
{
    return format->specials != SPECIALS_UNSIGNED_POWER;
}

static int format_width(const struct float_format *format)
{
    return format->exponent_bits + format->mantissa_bits + (has_sign(format) ? 1 : 0);
}

double float_max(enum type type)
{
    const struct float_format *format = &float_formats[type];
    const int mantissa_bits = format->mantissa_bits;
    int exponent = (1 << format->exponent_bits) - 1 - format->bias;
    double significand = 2 - ldexp(1, -mantissa_bits);
    if (format->specials == SPECIALS_IEEE || format->specials == SPECIALS_UNSIGNED_POWER) {
        exponent--;
    }
    if (format->specials == SPECIALS_ALL_ONES_NAN) {
        significand -= ldexp(1, -mantissa_bits);
    }
    return ldexp(significand, exponent);
}

double float_min_normal(enum type type)
{
    const struct float_format *format = &float_formats[type];
    return ldexp(1, (has_sign(format) ? 1 : 0) - format->bias);
}

double float_min_positive(enum type type)
{
    return ldexp(float_min_normal(type), -float_formats[type].mantissa_bits);
}

bool float_has_infinity(enum type type)
{
    return float_formats[type].specials == SPECIALS_IEEE;
}

bool float_has_nan(enum type type)
{
    return float_formats[type].specials != SPECIALS_FINITE;
}

bool float_has_negative_zero(enum type type)
{
    enum float_specials specials = float_formats[type].specials;
    return specials != SPECIALS_NEGATIVE_ZERO_NAN && specials != SPECIALS_UNSIGNED_POWER;
}

double float_ulp(enum type type, double value)
{
    if (isnan(value) || isinf(value)) {
        return fabs(value);
    }
    const double floor = float_min_normal(type);
    int exponent;
    frexp(fabs(value) > floor ? value : floor, &exponent);
    return ldexp(1, exponent - 1 - float_formats[type].mantissa_bits);
}

/* Bit patterns → value, without tables. */
static double decode(enum type type, uint64_t bits)
{
    const struct float_format *format = &float_formats[type];
    const int mantissa_bits = format->mantissa_bits;
    const uint64_t mantissa_mask = ((uint64_t)1 << mantissa_bits) - 1;
    const int exponent_mask = (1 << format->exponent_bits) - 1;
    uint64_t mantissa = bits & mantissa_mask;
    int exponent = (int)(bits >> mantissa_bits) & exponent_mask;
    uint64_t sign = 0;
    if (has_sign(format)) {
        sign = bits >> (format_width(format) - 1) << 63;
    }
    bool infinite = false, nan = false;
    switch (format->specials) {
    case SPECIALS_IEEE:
        infinite = exponent == exponent_mask && mantissa == 0;
        nan = exponent == exponent_mask && mantissa != 0;
        break;
    case SPECIALS_ALL_ONES_NAN:
        nan = exponent == exponent_mask && mantissa == mantissa_mask;
        break;
    case SPECIALS_NEGATIVE_ZERO_NAN:
        nan = sign != 0 && exponent == 0 && mantissa == 0;
        break;
    case SPECIALS_UNSIGNED_POWER:
        return exponent == exponent_mask ? NAN : ldexp(1, exponent - format->bias);
    case SPECIALS_FINITE:
    case SPECIALS_NONE:
        break;
    }
    if (nan) {
        uint64_t payload = format->specials == SPECIALS_IEEE ? mantissa << (52 - mantissa_bits) : 0;
        sign = format->specials == SPECIALS_NEGATIVE_ZERO_NAN ? 0 : sign;
        return bits_double(sign | INFINITY_BITS | QUIET_BIT | payload);
    }
    double magnitude;
    if (infinite) {
        magnitude = INFINITY;
    } else if (exponent == 0) {
        magnitude = ldexp((double)mantissa, 1 - format->bias - mantissa_bits);
    } else {
        magnitude = ldexp((double)(mantissa | (mantissa_mask + 1)),
                          exponent - format->bias - mantissa_bits);
    }
    return bits_double(double_bits(magnitude) | sign);
}

static struct float_layout make_layout(enum type type)
{
    const struct float_format *format = &float_formats[type];
    const int mantissa_bits = format->mantissa_bits;
    const int width = format_width(format);
    const int64_t sign = (int64_t)1 << (width - 1);
    const int64_t infinity = (((int64_t)1 << format->exponent_bits) - 1) << mantissa_bits;
    struct float_layout layout = {
        .width = width,
        .mantissa_bits = mantissa_bits,
        .negative_zero = float_has_negative_zero(type),
        .nan = float_has_nan(type),
        .min_normal = float_min_normal(type),
        .max = float_max(type),
        .beyond = 2 * float_max(type),
        .unbias = ldexp(1, 1023 - format->bias),
        .magic = (int64_t)(52 - mantissa_bits) << 52,
        .infinity_bits = infinity << (52 - mantissa_bits),
        .rebias = (int64_t)(1023 - format->bias) << mantissa_bits,
        .least_normal_bits = (int64_t)1 << mantissa_bits,
        .sign_encoding = sign,
        .overflow = NAN,
    };
    switch (format->specials) {
    case SPECIALS_IEEE:
        layout.overflow = INFINITY;
        layout.overflow_encoding = infinity;
        layout.nan_encoding = infinity | (int64_t)1 << (mantissa_bits - 1);
        layout.payload_mask = ((int64_t)1 << mantissa_bits) - 1;
        break;
    case SPECIALS_ALL_ONES_NAN:
        layout.overflow_encoding = layout.nan_encoding = sign - 1;
        break;
    case SPECIALS_NEGATIVE_ZERO_NAN:
        layout.overflow_encoding = layout.nan_encoding = sign;
        break;
    case SPECIALS_FINITE:
        layout.overflow = layout.max;
        layout.overflow_encoding = sign - 1;
        break;
    case SPECIALS_UNSIGNED_POWER:
    case SPECIALS_NONE:
        break;
    }
    return layout;
}

/* Before main: the tables are small, and nothing has to ask whether they are there. */
__attribute__((constructor)) static void floats_init(void)
{
    const int level = vector_level();
    loops = &float_loops_level0;
#ifdef __x86_64__
    loops = level == 3 ? &float_loops_level3 : level == 2 ? &float_loops_level2 : loops;
#else
    (void)level;
#endif
    for (int t = 0; t < TYPE_COUNT; t++) {
        const enum type type = (enum type)t;
        if (float_formats[t].specials == SPECIALS_NONE || type == TYPE_F64) {
            continue;
        }
        layouts[t] = make_layout(type);
        for (uint64_t bits = 0; bits < 256 && type_bytes(type) == 1; bits++) {
            small_values[t][bits] = decode(type, bits);
        }
    }
}

const struct float_layout *float_layout(enum type type)
{
    return layouts[type].width == 0 || type == TYPE_F8E8M0FNU ? NULL : &layouts[type];
}

double float_to_double(enum type type, uint64_t bits)
{
    if (type_bytes(type) == 1) {
        return small_values[type][bits & 0xff];
    }
    return decode(type, bits);
}

/* The nearest power of two in range; the exponent alone tells, ties go up. */
static uint64_t encode_power(double value)
{
    if (!(value > 0)) {
        return 0xff;
    }
    int exponent;
    double fraction = frexp(value, &exponent); /* in [1/2, 1) */
    exponent += fraction >= 0.75 ? 0 : -1;
    exponent = isinf(value) || exponent > 127 ? 128 : exponent < -127 ? -127 : exponent;
    return (uint64_t)(exponent + 127);
}

/* |value| rounded to the format, as if exponents had no upper end; see floats_loops.h. */
static double round_magnitude(const struct float_layout *layout, double value)
{
    double magnitude = fabs(value);
    double scale = magnitude < layout->min_normal ? layout->min_normal : magnitude;
    scale = scale > layout->beyond || isnan(value) ? layout->beyond : scale;
    double magic = bits_double((double_bits(scale) & INFINITY_BITS) + (uint64_t)layout->magic);
    return (magnitude + magic) - magic;
}

uint64_t float_from_double(enum type type, double value)
{
    if (type == TYPE_F64) {
        return double_bits(isnan(value) ? value + value : value);
    }
    if (type == TYPE_F8E8M0FNU) {
        return encode_power(value);
    }
    const struct float_layout *layout = &layouts[type];
    const uint64_t sign = signbit(value) ? (uint64_t)layout->sign_encoding : 0;
    if (isnan(value)) {
        if (!layout->nan) {
            return sign ^ (uint64_t)layout->sign_encoding;
        }
        uint64_t payload = double_bits(value) >> (52 - layout->mantissa_bits);
        payload &= (uint64_t)layout->payload_mask;
        return payload | (uint64_t)layout->nan_encoding | (layout->negative_zero ? sign : 0);
    }
    double rounded = round_magnitude(layout, value);
    if (rounded > layout->max) {
        return (uint64_t)layout->overflow_encoding | (layout->negative_zero ? sign : 0);
    }
    if (rounded == 0) {
        return layout->negative_zero ? sign : 0;
    }
    uint64_t bits;
    if (rounded < layout->min_normal) {
        bits = double_bits(rounded + layout->min_normal) >> (52 - layout->mantissa_bits);
        bits -= (uint64_t)layout->least_normal_bits;
    } else {
        bits = double_bits(rounded) >> (52 - layout->mantissa_bits);
    }
    return (bits - (uint64_t)layout->rebias) | sign;
}

double float_round_to_odd(double value, double tail)
{
    if (value == 0) {
        return tail == 0 ? value : tail;
    }
    uint64_t bits = double_bits(value);
    if (tail == 0 || (bits & 1) != 0 || isnan(tail) || isnan(value) || isinf(value)) {
        return value;
    }
    return bits_double((tail > 0) == (value > 0) ? bits + 1 : bits - 1);
}

uint64_t float_from_double_tail(enum type type, double value, double tail)
{
    return float_from_double(type, type == TYPE_F64 ? value : float_round_to_odd(value, tail));
}

double float_round(enum type type, double value)
{
    if (type == TYPE_F64) {
        return value;
    }
    if (type == TYPE_F32) {
        return (double)(float)value;
    }
    return float_to_double(type, float_from_double(type, value));
}

void float_load(enum type type, const void *bits, double *out, int64_t count)
{
    int64_t i = 0;
    switch (type) {
    case TYPE_F64:
        memcpy(out, bits, (size_t)count * sizeof(double));
        return;
    case TYPE_F32:
        for (i = loops->load_f32(bits, out, count); i < count; i++) {
            out[i] = (double)((const float *)bits)[i];
        }
        return;
    case TYPE_F16:
    case TYPE_BF16:
        for (i = loops->load_16(&layouts[type], bits, out, count); i < count; i++) {
            out[i] = decode(type, ((const uint16_t *)bits)[i]);
        }
        return;
    default:
        for (; i < count; i++) {
            out[i] = small_values[type][((const uint8_t *)bits)[i]];
        }
    }
}

void float_store(enum type type, const double *in, void *bits, int64_t count)
{
    int64_t i = 0;
    switch (type) {
    case TYPE_F64:
        memcpy(bits, in, (size_t)count * sizeof(double));
        return;
    case TYPE_F32:
        for (i = loops->store_f32(in, bits, count); i < count; i++) {
            ((float *)bits)[i] = (float)in[i];
        }
        return;
    case TYPE_F16:
    case TYPE_BF16:
        for (i = loops->store_16(&layouts[type], in, bits, count); i < count; i++) {
            ((uint16_t *)bits)[i] = (uint16_t)float_from_double(type, in[i]);
        }
        return;
    default:
        if (type != TYPE_F8E8M0FNU) {
            i = loops->store_8(&layouts[type], in, bits, count);
        }
        for (; i < count; i++) {
            ((uint8_t *)bits)[i] = (uint8_t)float_from_double(type, in[i]);
        }
    }
}

void float_round_array(enum type type, const double *in, double *out, int64_t count)
{
    int64_t i = 0;
    if (type == TYPE_F64) {
        memmove(out, in, (size_t)count * sizeof(double));
        return;
    }
    if (type == TYPE_F32) {
        i = loops->round_f32(in, out, count);
    } else if (type != TYPE_F8E8M0FNU) {
        i = loops->round(&layouts[type], in, out, count);
    }
    for (; i < count; i++) {
        out[i] = float_round(type, in[i]);
    }
}
