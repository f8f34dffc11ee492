/* convert: every value of the types of at most 16 bits to every type; edges, ties, traps of double
 * rounding and random values of the wide ones to every type; each against number.h, an integer
 * definition of the formats that shares nothing with hlo/floats. Runs itself again at each vector
 * level. */
#include "tests/interp/elementwise_op.h"
#include "tests/interp/number.h"

enum { WIDE_COUNT = 12000 };

static struct literal *convert(const struct literal *from, enum type to)
{
    char body[512];
    snprintf(body, sizeof body, "a = %s parameter(0)\nROOT r = %s[%lld] convert(a)",
             shape_text(from->shape), type_text(to), (long long)literal_elements(from));
    struct one_op op;
    one_op_init(&op, body);
    literal_release(op.values[0]);
    op.values[0] = literal_retain(from);
    struct literal *result = run(&op);
    one_op_finish(&op);
    return result;
}

static struct literal *vector_of(enum type type, int64_t count)
{
    struct error err = {0};
    struct literal *literal = literal_zero(shape_array(type, 1, &count), &err);
    ck_assert_ptr_nonnull(literal);
    return literal;
}

/* --- what a conversion must give --- */

/* The low bits of a value, as an element of an integer type keeps them. */
static int64_t wrap(enum type type, uint64_t value)
{
    int unused = 64 - type_bits(type);
    return type_kind(type) == KIND_SIGNED ? (int64_t)(value << unused) >> unused
                                          : (int64_t)(value << unused >> unused);
}

static uint64_t part_bits(const struct literal *literal, int64_t i, int part)
{
    const int bytes = type_bytes(type_part(literal->shape->type));
    const int parts = type_is_complex(literal->shape->type) ? 2 : 1;
    uint64_t bits = 0;
    memcpy(&bits, (const char *)literal_data(literal) + (i * parts + part) * bytes, (size_t)bytes);
    return bits;
}

/* An element as an exact number; part 1 of what is not complex is zero. */
static struct number number_of(const struct literal *literal, int64_t i, int part)
{
    const enum type type = literal->shape->type;
    const uint64_t bits = part_bits(literal, i, type_is_complex(type) ? part : 0);
    if (part == 1 && !type_is_complex(type)) {
        return (struct number){0};
    }
    switch (type_kind(type)) {
    case KIND_SIGNED:
        return number_of_s64(wrap(type, bits));
    case KIND_UNSIGNED:
    case KIND_PRED:
        return number_of_u64(bits);
    default:
        return number_decode(type_part(type), bits);
    }
}

/* Truncated, saturated, NaN to 0 (choices.h). *open: there is no such integer. */
static int64_t saturate(enum type type, const struct number *n, bool *open)
{
    const bool is_signed = type_kind(type) == KIND_SIGNED;
    const int digits = type_bits(type) - (is_signed ? 1 : 0);
    const number_bits most = (((number_bits)1 << digits) - 1) + (is_signed && n->negative);
    const number_bits limit = n->negative && !is_signed ? 0 : most;
    *open = true;
    if (n->nan) {
        return 0;
    }
    number_bits size = limit + 1;
    if (!n->infinite && n->exponent + number_length(n->significand) <= 65) {
        size = n->exponent <= -128 ? 0
               : n->exponent < 0   ? n->significand >> -n->exponent
                                   : n->significand << n->exponent;
    }
    *open = size > limit;
    size = size > limit ? limit : size;
    return wrap(type, n->negative ? 0 - (uint64_t)size : (uint64_t)size);
}

static void check_element(const struct literal *from, const struct literal *result, int64_t i)
{
    const enum type source = from->shape->type, type = result->shape->type;
    const bool is_float = type_is_float(source) || type_is_complex(source);
    bool open = false;
    for (int part = 0; part < (type_is_complex(type) ? 2 : 1); part++) {
        const struct number n = number_of(from, i, part);
        const uint64_t got = part_bits(result, i, part);
        uint64_t want;
        bool good;
        if (type == TYPE_PRED) {
            want = !number_is_zero(&n); /* of complex numbers the real part */
            good = got == want;
        } else if (type_is_integer(type)) {
            const int64_t integer = is_float ? saturate(type, &n, &open)
                                             : wrap(type, n.negative ? 0 - (uint64_t)n.significand
                                                                     : (uint64_t)n.significand);
            want = (uint64_t)integer;
            good = literal_get_int(result, i) == integer;
        } else if (source == type) {
            want = part_bits(from, i, part);
            good = got == want;
        } else {
            want = number_encode(type_part(type), &n);
            good = number_same(type_part(type), got, want);
        }
        REQUIRE(good, "%s %llx to %s = %llx, not %llx", type_text(source),
                (unsigned long long)part_bits(from, i, part), type_text(type),
                (unsigned long long)got, (unsigned long long)want);
    }
    REQUIRE(literal_is_unspecified(result, i) == open, "%s %llx to %s: mark", type_text(source),
            (unsigned long long)part_bits(from, i, 0), type_text(type));
}

static void check_conversions(const struct literal *from)
{
    for (int type = 1; type < TYPE_COUNT; type++) {
        if (!type_is_array((enum type)type)) {
            continue;
        }
        struct literal *result = convert(from, (enum type)type);
        for (int64_t i = 0; i < literal_elements(from); i++) {
            check_element(from, result, i);
        }
        literal_release(result);
    }
}

/* --- all values of a narrow type --- */

static const enum type narrow_types[] = {
    TYPE_PRED,       TYPE_S1,         TYPE_U1,       TYPE_S2,        TYPE_U2,
    TYPE_S4,         TYPE_U4,         TYPE_S8,       TYPE_U8,        TYPE_F8E5M2,
    TYPE_F8E4M3,     TYPE_F8E4M3FN,   TYPE_F8E3M4,   TYPE_F8E8M0FNU, TYPE_F8E4M3B11FNUZ,
    TYPE_F8E5M2FNUZ, TYPE_F8E4M3FNUZ, TYPE_F4E2M1FN, TYPE_F6E3M2FN,  TYPE_F6E2M3FN,
    TYPE_F16,        TYPE_BF16,       TYPE_S16,      TYPE_U16,
};

START_TEST(test_narrow)
{
    const enum type type = narrow_types[_i];
    const int64_t count = INT64_C(1) << type_bits(type);
    struct literal *from = vector_of(type, count);
    for (int64_t i = 0; i < count; i++) {
        literal_set_bits(from, i, (uint64_t)wrap(type, (uint64_t)i));
    }
    check_conversions(from);
    literal_release(from);
}
END_TEST

/* --- wide types --- */

/* A value of a random float format, a middle of two neighbours, or something right beside one: by
 * one unit of f64, by half a unit of another format (what rounding through that format would make
 * a tie of), or by very little. Largest values and their overflow thresholds come up as others do.
 */
static double trap(struct rng *rng)
{
    static const enum type formats[] = {
        TYPE_F32,      TYPE_F16,      TYPE_BF16,       TYPE_F8E5M2,     TYPE_F8E4M3,
        TYPE_F8E3M4,   TYPE_F8E4M3FN, TYPE_F8E5M2FNUZ, TYPE_F8E4M3FNUZ, TYPE_F8E4M3B11FNUZ,
        TYPE_F4E2M1FN, TYPE_F6E3M2FN, TYPE_F6E2M3FN,   TYPE_F8E8M0FNU};
    const enum type type = formats[rng_below(rng, LENGTH(formats))];
    const struct number_format *format = number_format(type);
    const int magnitude_bits = format->exponent_bits + format->mantissa_bits;
    const uint64_t codes = UINT64_C(1) << magnitude_bits;
    /* The top of the range more often than chance has it. */
    const uint64_t code =
        rng_below(rng, 8) == 0 ? codes - 1 - rng_below(rng, 8) : rng_below(rng, codes);
    /* By place: encodings above the largest value continue the scale. */
    const int exponent = (int)(code >> format->mantissa_bits);
    const double significand = (double)((code & ((UINT64_C(1) << format->mantissa_bits) - 1)) |
                                        (exponent > 0 ? UINT64_C(1) << format->mantissa_bits : 0));
    const int unit = (exponent > 0 ? exponent : 1) - format->bias - format->mantissa_bits;
    double value = ldexp(significand + (rng_below(rng, 3) != 0 ? 0.5 : 0), unit);
    switch (rng_below(rng, 6)) {
    case 0:
        value = nextafter(value, INFINITY);
        break;
    case 1:
        value = nextafter(value, 0);
        break;
    case 2:
        value *= 1 + ldexp((double)rng_below(rng, 3) - 1, -(int)rng_below(rng, 30) - 12);
        break;
    case 3: /* half a unit of f32, bf16 or f16 beside the tie */
        value *= 1 + ldexp(rng_below(rng, 2) != 0 ? 1 : -1, rng_below(rng, 3) == 0   ? -24
                                                            : rng_below(rng, 2) != 0 ? -9
                                                                                     : -12);
        break;
    default:
        break;
    }
    return rng_below(rng, 2) != 0 ? -value : value;
}

static const double float_edges[] = {
    0.0,
    -0.0,
    0.5,
    -0.5,
    0.99999,
    -0.99999,
    1.5,
    2.5,
    -1,
    -1.0000001,
    -127.5,
    -128.5,
    -128.99,
    -129,
    127.99,
    128,
    255.5,
    256,
    7.5,
    8,
    -8.5,
    -9,
    15.99,
    16,
    1.99,
    -2.5,
    3.99,
    32767.5,
    32768,
    -32768.9,
    65519.99,
    65520,
    65535.9,
    65536,
    2147483647,
    2147483648.0,
    -2147483648.,
    -2147483648.9,
    -2147483649.0,
    4294967295.0,
    4294967296,
    0x1p63,
    -0x1p63,
    0x1p64,
    0x1.fffffep62,
    -0x1.8p63,
    1e300,
    -1e300,
    1e-300,
    5e-324,
    -5e-324,
    0x1p-149,
    INFINITY,
    -INFINITY,
    NAN,
    0x1.fffffep127,
    0x1.ffffffp127,
    0x1.fffffefffffffp127,
    0x1.fffffffffffffp1023,
    0x1.fffffffffffffp62,
    0x1.fffffffffffffp63,
};

START_TEST(test_wide_floats)
{
    static const enum type types[] = {TYPE_F64, TYPE_F32, TYPE_C64, TYPE_C128};
    struct literal *from = vector_of(types[_i], WIDE_COUNT);
    struct rng rng;
    rng_init(&rng, 11);
    for (int64_t i = 0; i < WIDE_COUNT; i++) {
        double value = i < LENGTH(float_edges) ? float_edges[i]
                       : i % 8 == 0            ? random_double(&rng, i % 16 == 0 ? 70 : 10)
                                               : trap(&rng);
        if (type_is_complex(types[_i])) {
            literal_set_complex(from, i, value, i % 5 == 0 ? 0 : -value);
        } else {
            literal_set_double(from, i, value);
        }
    }
    check_conversions(from);
    literal_release(from);
}
END_TEST

/* Every f32 that is a value of f16, bf16 or a tie between two of either, and its neighbours: to the
 * formats of at most 16 bits. */
START_TEST(test_f32_ties)
{
    static const enum type sources[] = {TYPE_F16, TYPE_BF16};
    enum { COUNT = 1 << 16 };
    for (int step = -1; step <= 1; step++) {
        struct literal *from = vector_of(TYPE_F32, COUNT);
        for (int64_t code = 0; code < COUNT; code++) {
            struct number n = number_decode(sources[_i], (uint64_t)code);
            n.significand = 2 * n.significand + 1;
            n.exponent--;
            uint64_t bits = number_encode(TYPE_F32, &n);
            if (!n.nan && !n.infinite && n.exponent > -140) {
                bits += (uint64_t)(int64_t)step;
            }
            literal_set_bits(from, code, bits);
        }
        static const enum type targets[] = {TYPE_F16, TYPE_BF16, TYPE_F8E5M2, TYPE_F8E8M0FNU};
        for (int t = 0; t < LENGTH(targets); t++) {
            struct literal *result = convert(from, targets[t]);
            for (int64_t i = 0; i < COUNT; i++) {
                check_element(from, result, i);
            }
            literal_release(result);
        }
        literal_release(from);
    }
}
END_TEST

START_TEST(test_wide_integers)
{
    static const enum type types[] = {TYPE_S64, TYPE_U64, TYPE_S32, TYPE_U32};
    static const uint64_t edges[] = {
        0,
        1,
        2,
        255,
        256,
        65519,
        65520,
        65535,
        16777217,
        16777219,
        0x7fffffff,
        0x80000000,
        0xffffffff,
        0x1000000010000001,
        (UINT64_C(1) << 60) + (UINT64_C(1) << 36) + 1,
        (UINT64_C(1) << 60) + (UINT64_C(1) << 36),
        (UINT64_C(1) << 53) + 1,
        0x7fffffffffffffff,
        0x8000000000000000,
        0xffffffffffffffff,
        0x7fffffbfffffffff,
        0xfffffe8000000001,
        0xffffff7fffffffff,
        0xfffffffffffffc00,
        0xfffffffffffffbff,
    };
    struct literal *from = vector_of(types[_i], WIDE_COUNT);
    struct rng rng;
    rng_init(&rng, 13);
    for (int64_t i = 0; i < WIDE_COUNT; i++) {
        uint64_t value = rng_next(&rng);
        if (i < LENGTH(edges)) {
            value = edges[i];
        } else if (i % 2 == 0) {
            /* A few leading bits, then a tie or one beside it: odd numbers among them. */
            const int kept = 2 + (int)rng_below(&rng, 53);
            const int dropped = (int)rng_below(&rng, (uint64_t)(65 - kept));
            value = (value | UINT64_C(1) << 63) >> (64 - kept) << dropped;
            if (dropped > 0) {
                value += (UINT64_C(1) << (dropped - 1)) + rng_below(&rng, 3) - 1;
            }
            value = rng_below(&rng, 2) != 0 ? 0 - value : value;
        } else {
            value >>= rng_below(&rng, 64);
        }
        literal_set_bits(from, i, (uint64_t)wrap(types[_i], value));
    }
    check_conversions(from);
    literal_release(from);
}
END_TEST

/* The definition itself, against what the specifications print: largest and least values. */
START_TEST(test_definition)
{
    static const struct {
        enum type type;
        uint64_t most;
        long double max, least;
    } printed[] = {
        {TYPE_F16, 0x7bff, 65504, 0x1p-24L},
        {TYPE_BF16, 0x7f7f, 0x1.fep127L, 0x1p-133L},
        {TYPE_F32, 0x7f7fffff, 0x1.fffffep127L, 0x1p-149L},
        {TYPE_F64, 0x7fefffffffffffff, 0x1.fffffffffffffp1023L, 0x1p-1074L},
        {TYPE_F8E5M2, 0x7b, 57344, 0x1p-16L},
        {TYPE_F8E4M3, 0x77, 240, 0x1p-9L},
        {TYPE_F8E3M4, 0x6f, 15.5L, 0x1p-6L},
        {TYPE_F8E4M3FN, 0x7e, 448, 0x1p-9L},
        {TYPE_F8E4M3B11FNUZ, 0x7f, 30, 0x1p-13L},
        {TYPE_F8E5M2FNUZ, 0x7f, 57344, 0x1p-17L},
        {TYPE_F8E4M3FNUZ, 0x7f, 240, 0x1p-10L},
        {TYPE_F4E2M1FN, 7, 6, 0.5L},
        {TYPE_F6E3M2FN, 0x1f, 28, 0.0625L},
        {TYPE_F6E2M3FN, 0x1f, 7.5L, 0.125L},
    };
    for (int i = 0; i < LENGTH(printed); i++) {
        const struct number most = number_decode(printed[i].type, printed[i].most);
        const struct number least = number_decode(printed[i].type, 1);
        ck_assert(number_value(&most) == printed[i].max);
        ck_assert(number_value(&least) == printed[i].least);
        ck_assert_uint_eq(number_encode(printed[i].type, &most), printed[i].most);
    }
}
END_TEST

int main(int argc, char **argv)
{
    (void)argc;
    TCase *all = tcase_create("convert");
    tcase_add_test(all, test_definition);
    tcase_add_loop_test(all, test_narrow, 0, LENGTH(narrow_types));
    tcase_add_loop_test(all, test_wide_floats, 0, 4);
    tcase_add_loop_test(all, test_f32_ties, 0, 2);
    tcase_add_loop_test(all, test_wide_integers, 0, 4);
    return run_suite("convert", all, argv);
}
