/* Elementwise instructions that look at bits: reduce-precision, bitcast-convert and
 * stochastic-convert, for every type they take, against definitions in exact numbers (number.h) and
 * in one long row of bits. Runs itself again at each vector level. */
#include "tests/interp/elementwise_op.h"
#include "tests/interp/number.h"

static uint64_t bits_at(const struct literal *literal, int64_t i)
{
    return literal_get_bits(literal, i) & (UINT64_MAX >> (64 - type_bits(literal->shape->type)));
}

/* --- reduce-precision --- */

/* Rounded to `mantissa` bits after the leading one, or to as many of a subnormal's place; then the
 * range of an IEEE format of `exponent` bits, if that is less than the type's own: what is beyond
 * becomes infinite, what is below its normal numbers zero. Without mantissa bits there is no NaN.
 */
static uint64_t reduced(enum type type, uint64_t bits, int exponent, int mantissa)
{
    const struct number_format *format = number_format(type);
    struct number n = number_decode(type, bits);
    if (n.nan) {
        if (mantissa > 0 || format->specials != NUMBER_IEEE) {
            return bits;
        }
        n.nan = false;
        n.infinite = true;
        n.negative = bits >> (type_bits(type) - 1) != 0;
        return number_encode(type, &n);
    }
    if (n.infinite || n.significand == 0) {
        return bits;
    }
    if (mantissa < format->mantissa_bits) {
        /* Significands have the format's bits, and fewer where they are subnormal. */
        const int dropped = format->mantissa_bits - mantissa;
        const int leading = n.exponent + number_length(n.significand) - 1;
        const number_bits half = (number_bits)1 << (dropped - 1);
        if (mantissa == 0 && n.significand == 3 * half) {
            /* Between two powers of two, of which the one with the even exponent field is even. */
            n.significand = leading % 2 != 0 ? 1 : 2;
        } else {
            n.significand = number_shift(&n, dropped);
        }
        n.exponent += dropped;
    }
    const int power = n.exponent + number_length(n.significand) - 1; /* of the leading bit */
    if (exponent < format->exponent_bits) {
        const int bias = (1 << (exponent - 1)) - 1;
        if (n.significand != 0 && power > bias) {
            n.infinite = true;
        } else if (n.significand == 0 || power < 1 - bias) {
            n.significand = 0;
        }
    }
    return number_encode(type, &n);
}

static void check_reduce(enum type type, const struct literal *values)
{
    const struct number_format *format = number_format(type);
    const int64_t count = literal_elements(values);
    /* Every pair around the format's own for small types, a choice for the others. */
    static const int exponents[] = {1, 2, 3, 4, 5, 7, 8, 10, 11},
                     mantissas[] = {0, 1, 2, 3, 5, 7, 10, 22, 23, 51, 52};
    for (int e = 0; e < LENGTH(exponents); e++) {
        for (int m = 0; m < LENGTH(mantissas); m++) {
            if (exponents[e] > format->exponent_bits + 2 ||
                mantissas[m] > format->mantissa_bits + 5) {
                continue;
            }
            char attributes[64];
            struct one_op op;
            snprintf(attributes, sizeof attributes, ", exponent_bits=%d, mantissa_bits=%d",
                     exponents[e], mantissas[m]);
            op_init(&op, "reduce-precision", type, 1, &type, count, attributes);
            literal_release(op.values[0]);
            op.values[0] = literal_retain(values);
            struct literal *result = run(&op);
            for (int64_t i = 0; i < count; i++) {
                const uint64_t bits = bits_at(values, i), got = bits_at(result, i);
                const uint64_t want = reduced(type, bits, exponents[e], mantissas[m]);
                REQUIRE(number_same(type, got, want), "%s %llx%s = %llx, not %llx", type_text(type),
                        (unsigned long long)bits, attributes, (unsigned long long)got,
                        (unsigned long long)want);
            }
            literal_release(result);
            one_op_finish(&op);
        }
    }
}

static const enum type float_types[] = {
    TYPE_F8E5M2,        TYPE_F8E4M3,     TYPE_F8E4M3FN, TYPE_F8E3M4,   TYPE_F8E8M0FNU,
    TYPE_F8E5M2FNUZ,    TYPE_F8E4M3FNUZ, TYPE_F4E2M1FN, TYPE_F6E3M2FN, TYPE_F6E2M3FN,
    TYPE_F8E4M3B11FNUZ, TYPE_F16,        TYPE_BF16,     TYPE_F32,      TYPE_F64,
};

/* All values of a narrow type; of a wide one, random bits and random bits with a tie behind few
 * mantissa bits, in all binades. */
static struct literal *values_of(enum type type)
{
    const bool all = type_bits(type) <= 16;
    const int64_t count = all ? INT64_C(1) << type_bits(type) : 6000;
    struct error err = {0};
    struct literal *values = literal_zero(shape_array(type, 1, &count), &err);
    ck_assert_ptr_nonnull(values);
    struct rng rng;
    rng_init(&rng, 21);
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = (uint64_t)i;
        if (!all) {
            const int mantissa_bits = number_format(type)->mantissa_bits;
            bits = rng_next(&rng) >> (64 - type_bits(type));
            if (i % 2 == 0) {
                const int dropped = 1 + (int)rng_below(&rng, (uint64_t)mantissa_bits);
                bits = bits >> dropped << dropped;
                bits += (UINT64_C(1) << (dropped - 1)) + rng_below(&rng, 3) - 1;
            }
            if (i % 4 == 0) { /* near the ends of exponents' ranges */
                const int exponent_bits = number_format(type)->exponent_bits;
                const int ends = (1 << rng_below(&rng, (uint64_t)exponent_bits)) - 1;
                const int exponent = number_format(type)->bias +
                                     (rng_below(&rng, 2) != 0 ? ends : -ends) +
                                     (int)rng_below(&rng, 3) - 1;
                const uint64_t mask = ((UINT64_C(1) << exponent_bits) - 1) << mantissa_bits;
                bits = (bits & ~mask) | ((uint64_t)exponent << mantissa_bits & mask);
            }
        }
        literal_set_bits(values, i, bits);
    }
    return values;
}

START_TEST(test_reduce_precision)
{
    struct literal *values = values_of(float_types[_i]);
    check_reduce(float_types[_i], values);
    literal_release(values);
}
END_TEST

/* --- bitcast-convert --- */

/* Bits of an element in XLA's memory. */
static int storage_bits(enum type type)
{
    return type == TYPE_PRED ? 8 : type_bits(type);
}

/* Bit number `place` of all elements in a row, the first element's lowest bit first. */
static bool row_bit(const struct literal *literal, int64_t place)
{
    const enum type type = literal->shape->type;
    const int bits = storage_bits(type);
    const int64_t element = place / bits;
    const int within = (int)(place % bits);
    const unsigned char *data = literal_data(literal);
    return (data[element * type_bytes(type) + within / 8] >> (within % 8) & 1) != 0;
}

START_TEST(test_bitcast)
{
    const enum type from = (enum type)_i;
    enum { BITS = 128 * 6 }; /* of the whole row */
    if (!type_is_array(from)) {
        return;
    }
    struct rng rng;
    rng_init(&rng, 22);
    for (int t = 1; t < TYPE_COUNT; t++) {
        const enum type to = (enum type)t;
        if (!type_is_array(to) || type_is_complex(from) != type_is_complex(to) ||
            (from == TYPE_PRED) != (to == TYPE_PRED)) {
            continue; /* XLA has none */
        }
        const int a = storage_bits(from), b = storage_bits(to);
        if (a % b != 0 && b % a != 0) {
            continue;
        }
        /* The wider type's elements are rows of the narrower one's. */
        const int wide = a > b ? a : b, ratio = wide / (a > b ? b : a);
        char from_sizes[32], to_sizes[32], body[256];
        snprintf(from_sizes, sizeof from_sizes, ratio > 1 && a < b ? "%d,%d" : "%d", BITS / wide,
                 ratio);
        snprintf(to_sizes, sizeof to_sizes, ratio > 1 && b < a ? "%d,%d" : "%d", BITS / wide,
                 ratio);
        snprintf(body, sizeof body, "a = %s[%s] parameter(0)\nROOT r = %s[%s] bitcast-convert(a)",
                 type_text(from), from_sizes, type_text(to), to_sizes);
        struct one_op op;
        one_op_init(&op, body);
        for (int64_t i = 0; i < literal_elements(op.values[0]); i++) {
            if (type_is_complex(from)) {
                unsigned char *data = literal_data(op.values[0]);
                for (int byte = 0; byte < type_bytes(from); byte++) {
                    data[i * type_bytes(from) + byte] = (unsigned char)rng_next(&rng);
                }
                continue;
            }
            uint64_t bits = rng_next(&rng) >> (64 - type_bits(from));
            if (type_kind(from) == KIND_SIGNED) {
                bits = (uint64_t)((int64_t)(bits << (64 - a)) >> (64 - a));
            }
            literal_set_bits(op.values[0], i, bits);
        }
        struct literal *result = run(&op);
        for (int64_t place = 0; place < BITS; place++) {
            REQUIRE(row_bit(result, place) == row_bit(op.values[0], place), "%s: bit %lld", body,
                    (long long)place);
        }
        /* What is stored beyond the bits of a narrow element extends its sign. */
        for (int64_t i = 0; i < literal_elements(result) && b < 8; i++) {
            const uint64_t bits = bits_at(result, i), sign = bits >> (b - 1) & 1;
            const uint64_t rest =
                type_kind(to) == KIND_SIGNED && sign != 0 ? UINT64_C(0xff) >> b : 0;
            REQUIRE((uint64_t)((unsigned char *)literal_data(result))[i] >> b == rest, "%s: rest",
                    body);
        }
        literal_release(result);
        one_op_finish(&op);
    }
}
END_TEST

/* --- stochastic-convert --- */

/* The integers around the value are taken with probabilities given by its fraction: away from zero
 * if the random number, as a fraction of its type's range, is below the fraction's leading bits.
 * Saturating; NaN gives 0. */
static int64_t stochastic(enum type type, enum type to, uint64_t bits, uint64_t random)
{
    const int random_bits = type_bits(type);
    const number_bits most = ((number_bits)1 << (type_bits(to) - 1)) - 1;
    struct number n = number_decode(type, bits);
    const number_bits limit = most + n.negative;
    if (n.nan) {
        return 0;
    }
    number_bits size = limit + 1, fraction = 0;
    if (!n.infinite && n.exponent + number_length(n.significand) <= 64) {
        size = n.exponent >= 0      ? n.significand << n.exponent
               : n.exponent <= -120 ? 0
                                    : n.significand >> -n.exponent;
        if (n.exponent < 0 && n.exponent > -120) {
            const number_bits rest = n.significand - (size << -n.exponent);
            const int shift = random_bits + n.exponent;
            fraction = shift >= 0 ? rest << shift : rest >> -shift;
        }
        size += random < fraction;
    }
    size = size > limit ? limit : size;
    return n.negative ? (int64_t)(0 - (uint64_t)size) : (int64_t)size;
}

START_TEST(test_stochastic)
{
    static const enum type targets[] = {TYPE_S1,  TYPE_S2,  TYPE_S4, TYPE_S8,
                                        TYPE_S16, TYPE_S32, TYPE_S64};
    const enum type type = float_types[_i];
    const int bits = type_bits(type);
    const enum type random = bits == 4    ? TYPE_U4
                             : bits == 8  ? TYPE_U8
                             : bits == 16 ? TYPE_U16
                             : bits == 32 ? TYPE_U32
                                          : TYPE_U64;
    if (bits == 6) {
        return; /* no unsigned type is as wide */
    }
    struct rng rng;
    rng_init(&rng, 23);
    struct literal *all = values_of(type);
    const int64_t values = literal_elements(all), draws = bits <= 8 ? 1 << bits : 8;
    const enum type types[] = {type, random};
    for (int t = 0; t < LENGTH(targets); t++) {
        struct one_op op;
        op_init(&op, "stochastic-convert", targets[t], 2, types, values * draws, "");
        for (int64_t i = 0; i < values * draws; i++) {
            uint64_t value = literal_get_bits(all, i % values);
            uint64_t number = bits <= 8 ? (uint64_t)(i / values) : rng_next(&rng) >> (64 - bits);
            if (bits > 16 && i % 2 == 0) { /* fractions matter within some binades of 1 */
                const double near = random_double(&rng, 33);
                struct number n = number_of_long_double((long double)near);
                value = number_encode(type, &n);
            }
            literal_set_bits(op.values[0], i, value);
            literal_set_bits(op.values[1], i, number);
        }
        struct literal *result = run(&op);
        for (int64_t i = 0; i < values * draws; i++) {
            const uint64_t value = bits_at(op.values[0], i), number = bits_at(op.values[1], i);
            const int64_t want = stochastic(type, targets[t], value, number);
            REQUIRE(literal_get_int(result, i) == want, "%s %llx by %llx to %s: %lld, not %lld",
                    type_text(type), (unsigned long long)value, (unsigned long long)number,
                    type_text(targets[t]), (long long)literal_get_int(result, i), (long long)want);
        }
        literal_release(result);
        one_op_finish(&op);
    }
    literal_release(all);
}
END_TEST

int main(int argc, char **argv)
{
    (void)argc;
    TCase *all = tcase_create("elementwise bits");
    tcase_add_loop_test(all, test_reduce_precision, 0, LENGTH(float_types));
    tcase_add_loop_test(all, test_bitcast, 1, TYPE_COUNT);
    tcase_add_loop_test(all, test_stochastic, 0, LENGTH(float_types));
    return run_suite("elementwise bits", all, argv);
}
