/* The loops of the lanes engine: scalar.def over arrays, compiled once per vector level
 * (hlo/vector.h). They are plain loops for the compiler to vectorise; out and in may be the same
 * array, which LANE_LOOP says. */
#include "interp/choices.h"
#include "interp/lanes_internal.h"

#ifdef __clang__
/* Loops with branches or divisions stay scalar; that is no news. */
#pragma clang diagnostic ignored "-Wpass-failed"
#define LANE_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define LANE_LOOP _Pragma("GCC ivdep")
#endif
#define NAME(name) VECTOR_FUNCTION(name)

__extension__ typedef __int128 wide_signed;
__extension__ typedef unsigned __int128 wide_unsigned;

VECTOR_INLINE int leading_zeros(uint64_t value, int bits)
{
    return value == 0 ? bits : __builtin_clzll(value) - (64 - bits);
}

VECTOR_INLINE uint64_t integer_power(uint64_t base, uint64_t exponent)
{
    uint64_t result = 1;
    for (; exponent != 0; exponent >>= 1) {
        result *= (exponent & 1) != 0 ? base : 1;
        base *= base;
    }
    return result;
}

/* The value of `bits` bits shifted right, its top bit coming in from the left. */
VECTOR_INLINE uint64_t shift_right_sign(uint64_t value, int shift, int bits)
{
    return (uint64_t)((int64_t)(value << (64 - bits)) >> (64 - bits) >> shift);
}

VECTOR_INLINE uint32_t bits_of_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}
VECTOR_INLINE float f32_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}
VECTOR_INLINE uint64_t bits_of_f64(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}
VECTOR_INLINE double f64_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Of a, b: NaN if one is; −0 is less than +0 (IEEE 754-2019 maximum and minimum). */
VECTOR_INLINE float maximum_f32(float a, float b)
{
    float equal = f32_of_bits(bits_of_f32(a) & bits_of_f32(b));
    return a != a ? a : b != b ? b : a > b ? a : b > a ? b : equal;
}
VECTOR_INLINE float minimum_f32(float a, float b)
{
    float equal = f32_of_bits(bits_of_f32(a) | bits_of_f32(b));
    return a != a ? a : b != b ? b : a < b ? a : b < a ? b : equal;
}
VECTOR_INLINE double maximum_f64(double a, double b)
{
    double equal = f64_of_bits(bits_of_f64(a) & bits_of_f64(b));
    return a != a ? a : b != b ? b : a > b ? a : b > a ? b : equal;
}
VECTOR_INLINE double minimum_f64(double a, double b)
{
    double equal = f64_of_bits(bits_of_f64(a) | bits_of_f64(b));
    return a != a ? a : b != b ? b : a < b ? a : b < a ? b : equal;
}
/* IEEE 754 roundToIntegralTiesToAway: the difference to the truncated value is exact. */
VECTOR_INLINE float round_away_f32(float a)
{
    float whole = __builtin_truncf(a);
    return __builtin_fabsf(a - whole) >= 0.5f ? whole + __builtin_copysignf(1, a) : whole;
}
VECTOR_INLINE double round_away_f64(double a)
{
    double whole = __builtin_trunc(a);
    return __builtin_fabs(a - whole) >= 0.5 ? whole + __builtin_copysign(1, a) : whole;
}

#define PICK(f32, f64) _Generic((T)0, float : f32, default : f64)
#define NUMBER(x) PICK(number_f32, number_f64)(x)
#define MAGNITUDE(x) PICK(__builtin_fabsf, __builtin_fabs)(x)
#define FLOOR(x) PICK(__builtin_floorf, __builtin_floor)(x)
#define CEIL(x) PICK(__builtin_ceilf, __builtin_ceil)(x)
#define ROUND_EVEN(x) PICK(__builtin_rintf, __builtin_rint)(x)
#define ROUND_AWAY(x) PICK(round_away_f32, round_away_f64)(x)
#define SQRT(x) PICK(__builtin_sqrtf, __builtin_sqrt)(x)
#define MAXIMUM(x, y) PICK(maximum_f32, maximum_f64)(x, y)
#define MINIMUM(x, y) PICK(minimum_f32, minimum_f64)(x, y)
#define SHIFT_MASK (8 * sizeof(W) - 1)

VECTOR_INLINE float number_f32(float value)
{
    return value == value ? value : f32_of_bits(0x7fc00000);
}
VECTOR_INLINE double number_f64(double value)
{
    return value == value ? value : f64_of_bits(UINT64_C(0x7ff8) << 48);
}

/* bf16 is the upper half of f32; rounding is to nearest, ties to even. */
VECTOR_INLINE float f32_of_bf16(uint16_t bits)
{
    return f32_of_bits((uint32_t)bits << 16);
}
VECTOR_INLINE uint16_t bf16_of_f32(float value)
{
    uint32_t bits = bits_of_f32(value);
    bits += 0x7fff + (bits >> 16 & 1);
    return (uint16_t)(value == value ? bits >> 16 : 0x7fc0);
}

/* --- One function per row of scalar.def and type of strip. -------------------------------------
 */

/* A value that is computed with as it is stored. */
#define PLAIN(value) (value)

#define LOOP_BEGIN(name, type, wide)                                                  \
    static void name(const struct lane_step *step, void *out_, const void *const *in, \
                     int64_t count)                                                   \
    {                                                                                 \
        typedef type T;                                                               \
        typedef wide W;                                                               \
        const int bits = step->bits;                                                  \
        const W mask = (W)(~UINT64_C(0) >> (64 - bits));                              \
        (void)bits;                                                                   \
        (void)mask;
#define LOOP_UNARY(name, storage, type, wide, load, store, value) \
    LOOP_BEGIN(name, type, wide)                                  \
    const storage *as = in[0];                                    \
    storage *out = out_;                                          \
    LANE_LOOP                                                     \
    for (int64_t i = 0; i < count; i++) {                         \
        const T a = load(as[i]);                                  \
        (void)a;                                                  \
        out[i] = store((T)(value));                               \
    }                                                             \
    }
#define LOOP_BINARY(name, storage, type, wide, load, store, value) \
    LOOP_BEGIN(name, type, wide)                                   \
    const storage *as = in[0], *bs = in[1];                        \
    storage *out = out_;                                           \
    LANE_LOOP                                                      \
    for (int64_t i = 0; i < count; i++) {                          \
        const T a = load(as[i]), b = load(bs[i]);                  \
        out[i] = store((T)(value));                                \
    }                                                              \
    }
#define LOOP_TERNARY(name, storage, type, wide, load, store, value) \
    LOOP_BEGIN(name, type, wide)                                    \
    const storage *as = in[0], *bs = in[1], *cs = in[2];            \
    storage *out = out_;                                            \
    LANE_LOOP                                                       \
    for (int64_t i = 0; i < count; i++) {                           \
        const T a = load(as[i]), b = load(bs[i]), c = load(cs[i]);  \
        out[i] = store((T)(value));                                 \
    }                                                               \
    }

/* Which strips a class has; `each` is called with id, C types in memory and while computed with,
 * wide type, and how one becomes the other. */
#define STRIPS_PRED(each, ...) each(PRED, uint8_t, uint8_t, uint32_t, PLAIN, PLAIN, __VA_ARGS__)
#define STRIPS_SIGNED(each, ...)                                             \
    each(S8, int8_t, int8_t, uint32_t, PLAIN, PLAIN, __VA_ARGS__)            \
        each(S16, int16_t, int16_t, uint32_t, PLAIN, PLAIN, __VA_ARGS__)     \
            each(S32, int32_t, int32_t, uint32_t, PLAIN, PLAIN, __VA_ARGS__) \
                each(S64, int64_t, int64_t, uint64_t, PLAIN, PLAIN, __VA_ARGS__)
#define STRIPS_UNSIGNED(each, ...)                                             \
    each(U8, uint8_t, uint8_t, uint32_t, PLAIN, PLAIN, __VA_ARGS__)            \
        each(U16, uint16_t, uint16_t, uint32_t, PLAIN, PLAIN, __VA_ARGS__)     \
            each(U32, uint32_t, uint32_t, uint32_t, PLAIN, PLAIN, __VA_ARGS__) \
                each(U64, uint64_t, uint64_t, uint64_t, PLAIN, PLAIN, __VA_ARGS__)
#define STRIPS_WIDE_FLOAT(each, ...)                             \
    each(F32, float, float, uint32_t, PLAIN, PLAIN, __VA_ARGS__) \
        each(F64, double, double, uint64_t, PLAIN, PLAIN, __VA_ARGS__)
#define STRIPS_BF16_BITS(each, ...) \
    each(BF16, uint16_t, uint16_t, uint32_t, PLAIN, PLAIN, __VA_ARGS__)
#define STRIPS_FLOAT(each, ...)          \
    STRIPS_WIDE_FLOAT(each, __VA_ARGS__) \
    each(BF16, uint16_t, float, uint32_t, f32_of_bf16, bf16_of_f32, __VA_ARGS__)

#define EACH_UNARY(strip, storage, type, wide, load, store, opcode, ...) \
    LOOP_UNARY(NAME(unary_##opcode##_##strip), storage, type, wide, load, store, __VA_ARGS__)
#define UNARY(opcode, class, ...) STRIPS_##class(EACH_UNARY, opcode, __VA_ARGS__)
#define EACH_BINARY(strip, storage, type, wide, load, store, opcode, ...) \
    LOOP_BINARY(NAME(binary_##opcode##_##strip), storage, type, wide, load, store, __VA_ARGS__)
#define BINARY(opcode, class, ...) STRIPS_##class(EACH_BINARY, opcode, __VA_ARGS__)
#define EACH_TERNARY(strip, storage, type, wide, load, store, opcode, ...) \
    LOOP_TERNARY(NAME(ternary_##opcode##_##strip), storage, type, wide, load, store, __VA_ARGS__)
#define TERNARY(opcode, class, ...) STRIPS_##class(EACH_TERNARY, opcode, __VA_ARGS__)
#include "interp/scalar.def"
#undef EACH_UNARY
#undef EACH_BINARY
#undef EACH_TERNARY
#undef LOOP_TERNARY

/* --- Comparisons. ------------------------------------------------------------------------------
 */

#define LOOP_COMPARE(name, storage, type, load, condition)                            \
    static void name(const struct lane_step *step, void *out_, const void *const *in, \
                     int64_t count)                                                   \
    {                                                                                 \
        const storage *as = in[0], *bs = in[1];                                       \
        uint8_t *out = out_;                                                          \
        (void)step;                                                                   \
        LANE_LOOP                                                                     \
        for (int64_t i = 0; i < count; i++) {                                         \
            const type a = load(as[i]), b = load(bs[i]);                              \
            out[i] = condition;                                                       \
        }                                                                             \
    }
#define LOOPS_COMPARE(strip, storage, type, wide, load, store, ...)     \
    LOOP_COMPARE(NAME(compare_EQ_##strip), storage, type, load, a == b) \
    LOOP_COMPARE(NAME(compare_NE_##strip), storage, type, load, a != b) \
    LOOP_COMPARE(NAME(compare_GE_##strip), storage, type, load, a >= b) \
    LOOP_COMPARE(NAME(compare_GT_##strip), storage, type, load, a > b)  \
    LOOP_COMPARE(NAME(compare_LE_##strip), storage, type, load, a <= b) \
    LOOP_COMPARE(NAME(compare_LT_##strip), storage, type, load, a < b)
STRIPS_PRED(LOOPS_COMPARE, )
STRIPS_SIGNED(LOOPS_COMPARE, )
STRIPS_UNSIGNED(LOOPS_COMPARE, )
STRIPS_FLOAT(LOOPS_COMPARE, )
#undef LOOPS_COMPARE
#undef LOOP_COMPARE

/* IEEE 754 totalOrder: the bits as an integer, the magnitude of negative ones reversed. */
#define LOOP_TOTAL(name, type, bits_type, operation)                                  \
    static void name(const struct lane_step *step, void *out_, const void *const *in, \
                     int64_t count)                                                   \
    {                                                                                 \
        const bits_type *as = in[0], *bs = in[1];                                     \
        uint8_t *out = out_;                                                          \
        (void)step;                                                                   \
        const int sign = 8 * sizeof(bits_type) - 1;                                   \
        const bits_type magnitude = (bits_type)(~UINT64_C(0) >> (64 - sign));         \
        LANE_LOOP                                                                     \
        for (int64_t i = 0; i < count; i++) {                                         \
            bits_type a = as[i], b = bs[i];                                           \
            a ^= (bits_type)((a >> sign) & magnitude);                                \
            b ^= (bits_type)((b >> sign) & magnitude);                                \
            out[i] = a operation b;                                                   \
        }                                                                             \
    }
#define LOOPS_TOTAL(strip, type, bits_type)                 \
    LOOP_TOTAL(NAME(total_EQ_##strip), type, bits_type, ==) \
    LOOP_TOTAL(NAME(total_NE_##strip), type, bits_type, !=) \
    LOOP_TOTAL(NAME(total_GE_##strip), type, bits_type, >=) \
    LOOP_TOTAL(NAME(total_GT_##strip), type, bits_type, >)  \
    LOOP_TOTAL(NAME(total_LE_##strip), type, bits_type, <=) \
    LOOP_TOTAL(NAME(total_LT_##strip), type, bits_type, <)
LOOPS_TOTAL(F32, float, int32_t)
LOOPS_TOTAL(F64, double, int64_t)
LOOPS_TOTAL(BF16, uint16_t, int16_t)
#undef LOOPS_TOTAL
#undef LOOP_TOTAL

/* --- Selection, wrapping, finiteness. ----------------------------------------------------------
 */

#define LOOP_SELECT(bytes, type)                                               \
    static void NAME(select_##bytes)(const struct lane_step *step, void *out_, \
                                     const void *const *in, int64_t count)     \
    {                                                                          \
        const uint8_t *which = in[0];                                          \
        const type *yes = in[1], *no = in[2];                                  \
        type *out = out_;                                                      \
        (void)step;                                                            \
        LANE_LOOP                                                              \
        for (int64_t i = 0; i < count; i++) {                                  \
            const type a = yes[i], b = no[i];                                  \
            out[i] = which[i] != 0 ? a : b;                                    \
        }                                                                      \
    }
LOOP_SELECT(1, uint8_t)
LOOP_SELECT(2, uint16_t)
LOOP_SELECT(4, uint32_t)
LOOP_SELECT(8, uint64_t)
#undef LOOP_SELECT

LOOP_UNARY(NAME(wrap_S8), int8_t, int8_t, uint32_t, PLAIN, PLAIN,
           (T)((T)((W)a << (8 - bits)) >> (8 - bits)))
LOOP_UNARY(NAME(wrap_U8), uint8_t, uint8_t, uint32_t, PLAIN, PLAIN, (T)((W)a &mask))

static void NAME(is_finite_F32)(const struct lane_step *step, void *out_, const void *const *in,
                                int64_t count)
{
    const uint32_t *as = in[0];
    uint8_t *out = out_;
    (void)step;
    LANE_LOOP
    for (int64_t i = 0; i < count; i++) {
        out[i] = (as[i] & 0x7f800000) != 0x7f800000;
    }
}
static void NAME(is_finite_BF16)(const struct lane_step *step, void *out_, const void *const *in,
                                 int64_t count)
{
    const uint16_t *as = in[0];
    uint8_t *out = out_;
    (void)step;
    LANE_LOOP
    for (int64_t i = 0; i < count; i++) {
        out[i] = (as[i] & 0x7f80) != 0x7f80;
    }
}
static void NAME(is_finite_F64)(const struct lane_step *step, void *out_, const void *const *in,
                                int64_t count)
{
    const double *as = in[0];
    uint8_t *out = out_;
    (void)step;
    LANE_LOOP
    for (int64_t i = 0; i < count; i++) {
        out[i] = as[i] - as[i] == 0;
    }
}

/* Results of exact.h as strips: every NaN the same one. */
LOOP_UNARY(NAME(number_F64), double, double, uint64_t, PLAIN, PLAIN, NUMBER(a))
static void NAME(number_F32)(const struct lane_step *step, void *out_, const void *const *in,
                             int64_t count)
{
    const double *as = in[0];
    float *out = out_;
    (void)step;
    LANE_LOOP
    for (int64_t i = 0; i < count; i++) {
        out[i] = number_f32((float)as[i]);
    }
}

/* --- Conversions. ------------------------------------------------------------------------------
 */

#define LOOP_CONVERT(from, from_storage, from_type, load, to, to_storage, to_type, store, value) \
    static void NAME(convert_##from##_##to)(const struct lane_step *step, void *out_,            \
                                            const void *const *in, int64_t count)                \
    {                                                                                            \
        typedef from_type F;                                                                     \
        typedef to_type T;                                                                       \
        const from_storage *as = in[0];                                                          \
        to_storage *out = out_;                                                                  \
        (void)step;                                                                              \
        LANE_LOOP                                                                                \
        for (int64_t i = 0; i < count; i++) {                                                    \
            const F a = load(as[i]);                                                             \
            out[i] = store((T)(value));                                                          \
        }                                                                                        \
    }
/* Truncates; saturates at the ends of the integer type of step->bits bits; NaN gives 0. */
#define LOOP_CONVERT_SATURATE(from, from_storage, from_type, load, to, to_type, is_signed) \
    static void NAME(convert_##from##_##to)(const struct lane_step *step, void *out_,      \
                                            const void *const *in, int64_t count)          \
    {                                                                                      \
        typedef from_type F;                                                               \
        typedef to_type T;                                                                 \
        const from_storage *as = in[0];                                                    \
        T *out = out_;                                                                     \
        const int digits = step->bits - (is_signed ? 1 : 0);                               \
        const F beyond = digits == 0 ? 1 : 2 * (F)(UINT64_C(1) << (digits - 1));           \
        const F below = is_signed ? -beyond : (F)0;                                        \
        const T most = (T)(digits == 0 ? 0 : ~UINT64_C(0) >> (64 - digits));               \
        const T least = is_signed ? (T)(-most - 1) : (T)0;                                 \
        LANE_LOOP                                                                          \
        for (int64_t i = 0; i < count; i++) {                                              \
            const F a = load(as[i]);                                                       \
            const F inside = a > below && a < beyond ? a : (F)0;                           \
            const T whole = (T)inside;                                                     \
            out[i] = a >= beyond ? most : a <= below ? least : whole;                      \
        }                                                                                  \
    }

/* From one strip to each; integers saturate (`signed`, `unsigned`) where they come from floats. To
 * bf16 only what f32 holds exactly and bf16 itself: others are rounded twice that way
 * (lanes_steps.c). */
#define CONVERT_PLAIN(from, from_storage, from_type, load, to, to_type, is_signed) \
    LOOP_CONVERT(from, from_storage, from_type, load, to, to_type, to_type, PLAIN, a)
#define CONVERT_ROW(integers, from, from_storage, from_type, load)                                 \
    LOOP_CONVERT(from, from_storage, from_type, load, PRED, uint8_t, uint8_t, PLAIN, a != 0)       \
    integers(from, from_storage, from_type, load, S8, int8_t,                                      \
             true) integers(from, from_storage, from_type, load, S16, int16_t, true)               \
        integers(from, from_storage, from_type, load, S32, int32_t, true)                          \
            integers(from, from_storage, from_type, load, S64, int64_t, true)                      \
                integers(from, from_storage, from_type, load, U8, uint8_t, false)                  \
                    integers(from, from_storage, from_type, load, U16, uint16_t, false)            \
                        integers(from, from_storage, from_type, load, U32, uint32_t, false)        \
                            integers(from, from_storage, from_type, load, U64, uint64_t, false)    \
                                LOOP_CONVERT(from, from_storage, from_type, load, F32, float,      \
                                             float, PLAIN, a)                                      \
                                    LOOP_CONVERT(from, from_storage, from_type, load, F64, double, \
                                                 double, PLAIN, a)                                 \
                                        LOOP_CONVERT(from, from_storage, from_type, load, BF16,    \
                                                     uint16_t, float, bf16_of_f32, a)
#define CONVERT_INTEGER(strip, storage, type, wide, load, store, ...) \
    CONVERT_ROW(CONVERT_PLAIN, strip, storage, type, load)
#define CONVERT_FLOAT(strip, storage, type, wide, load, store, ...) \
    CONVERT_ROW(LOOP_CONVERT_SATURATE, strip, storage, type, load)
STRIPS_PRED(CONVERT_INTEGER, )
STRIPS_SIGNED(CONVERT_INTEGER, )
STRIPS_UNSIGNED(CONVERT_INTEGER, )
STRIPS_FLOAT(CONVERT_FLOAT, )

/* --- The table. --------------------------------------------------------------------------------
 */

const struct lane_loops VECTOR_FUNCTION(lane_loops) = {
#define EACH_UNARY(strip, storage, type, wide, load, store, opcode, ...) \
    .unary[OP_##opcode][LANE_##strip] = NAME(unary_##opcode##_##strip),
#define UNARY(opcode, class, ...) STRIPS_##class(EACH_UNARY, opcode, __VA_ARGS__)
#define EACH_BINARY(strip, storage, type, wide, load, store, opcode, ...) \
    .binary[OP_##opcode][LANE_##strip] = NAME(binary_##opcode##_##strip),
#define BINARY(opcode, class, ...) STRIPS_##class(EACH_BINARY, opcode, __VA_ARGS__)
#define EACH_TERNARY(strip, storage, type, wide, load, store, opcode, ...) \
    .clamp[LANE_##strip] = NAME(ternary_##opcode##_##strip),
#define TERNARY(opcode, class, ...) STRIPS_##class(EACH_TERNARY, opcode, __VA_ARGS__)
#include "interp/scalar.def"
    .is_finite[LANE_F32] = NAME(is_finite_F32),
    .is_finite[LANE_F64] = NAME(is_finite_F64),
    .is_finite[LANE_BF16] = NAME(is_finite_BF16),
#define ENTRY_COMPARE(table, prefix, strip)                         \
    .table[DIRECTION_EQ][LANE_##strip] = NAME(prefix##_EQ_##strip), \
    .table[DIRECTION_NE][LANE_##strip] = NAME(prefix##_NE_##strip), \
    .table[DIRECTION_GE][LANE_##strip] = NAME(prefix##_GE_##strip), \
    .table[DIRECTION_GT][LANE_##strip] = NAME(prefix##_GT_##strip), \
    .table[DIRECTION_LE][LANE_##strip] = NAME(prefix##_LE_##strip), \
    .table[DIRECTION_LT][LANE_##strip] = NAME(prefix##_LT_##strip),
#define LANE(id, c_type, wide, class, bytes) ENTRY_COMPARE(compare, compare, id)
#include "interp/lanes.def"
    ENTRY_COMPARE(compare_total, total, F32) ENTRY_COMPARE(compare_total, total, F64)
        ENTRY_COMPARE(compare_total, total, BF16)
#define ENTRY_CONVERT(from, to) .convert[LANE_##from][LANE_##to] = NAME(convert_##from##_##to),
#define LANE(id, c_type, wide, class, bytes) \
    ENTRY_CONVERT(id, PRED)                  \
    ENTRY_CONVERT(id, S8)                    \
    ENTRY_CONVERT(id, S16)                   \
    ENTRY_CONVERT(id, S32)                   \
    ENTRY_CONVERT(id, S64)                   \
    ENTRY_CONVERT(id, U8)                    \
    ENTRY_CONVERT(id, U16)                   \
    ENTRY_CONVERT(id, U32)                   \
    ENTRY_CONVERT(id, U64)                   \
    ENTRY_CONVERT(id, F32)                   \
    ENTRY_CONVERT(id, F64)                   \
    ENTRY_CONVERT(id, BF16)
#include "interp/lanes.def"
            .select[1] = NAME(select_1),
    .select[2] = NAME(select_2),
    .select[4] = NAME(select_4),
    .select[8] = NAME(select_8),
    .number[LANE_F32] = NAME(number_F32),
    .number[LANE_F64] = NAME(number_F64),
    .wrap[LANE_S8] = NAME(wrap_S8),
    .wrap[LANE_U8] = NAME(wrap_U8),
};
