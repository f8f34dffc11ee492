/* convert and bitcast-convert: all values of types of at most 16 bits to every type, edges and
 * random values of the wide ones, each against the exact value rounded once. */
#include "tests/interp/one_op.h"

/* An assertion for inner loops: Check's own talk to the parent process each time. */
#define REQUIRE(condition, ...)        \
    do {                               \
        if (!(condition)) {            \
            ck_abort_msg(__VA_ARGS__); \
        }                              \
    } while (0)

static struct literal *convert(const char *opcode, const struct literal *from, enum type to,
                               const char *dimensions)
{
    char body[512];
    snprintf(body, sizeof body, "a = %s parameter(0)\nROOT r = %s%s %s(a)", shape_text(from->shape),
             type_text(to), dimensions, opcode);
    struct one_op op;
    one_op_init(&op, body);
    literal_release(op.values[0]);
    op.values[0] = literal_retain(from);
    struct literal *result = one_op_run(&op, eval_function_of(op.instruction->opcode));
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

/* The exact value (real part) of an element: wide integers do not fit a double. */
static void exact_value(const struct literal *literal, int64_t i, mpfr_t exact)
{
    enum type type = literal->shape->type;
    if (type_kind(type) == KIND_UNSIGNED) {
        mpfr_set_ui(exact, literal_get_bits(literal, i), MPFR_RNDN);
    } else if (type_kind(type) == KIND_SIGNED || type == TYPE_PRED) {
        mpfr_set_si(exact, literal_get_int(literal, i), MPFR_RNDN);
    } else {
        mpfr_set_d(exact, literal_get_double(literal, i), MPFR_RNDN);
    }
}

static int64_t wrap(enum type type, uint64_t value)
{
    int unused = 64 - type_bits(type);
    return type_kind(type) == KIND_SIGNED ? (int64_t)(value << unused) >> unused
                                          : (int64_t)(value << unused >> unused);
}

/* Truncated, saturated, NaN to 0 (choices.h). *open: there is no such integer. */
static int64_t saturate(enum type type, double value, bool *open)
{
    int bits = type_bits(type);
    bool is_signed = type_kind(type) == KIND_SIGNED;
    double beyond = ldexp(1, is_signed ? bits - 1 : bits), least = is_signed ? -beyond : 0;
    double whole = trunc(value);
    *open = isnan(value) || whole < least || whole >= beyond;
    if (isnan(value)) {
        return 0;
    }
    if (whole >= beyond) {
        return (int64_t)(is_signed ? UINT64_MAX >> 1 >> (64 - bits) : UINT64_MAX >> (64 - bits));
    }
    return whole < least ? (is_signed ? INT64_MIN >> (64 - bits) : 0)
           : is_signed   ? (int64_t)whole
                         : (int64_t)(uint64_t)whole;
}

static void check_element(const struct literal *from, const struct literal *result, int64_t i,
                          mpfr_t exact)
{
    enum type source = from->shape->type, type = result->shape->type;
    double value = literal_get_double(from, i), imaginary = literal_get_imaginary(from, i);
    bool is_float = type_is_float(source) || type_is_complex(source), open = false;
    if (type == TYPE_PRED) {
        bool want = is_float ? value != 0 || (type_is_complex(source) && imaginary != 0)
                             : literal_get_bits(from, i) != 0;
        REQUIRE(literal_get_int(result, i) == want, "%s %g to pred", type_text(source), value);
    } else if (type_is_integer(type)) {
        int64_t want = is_float ? saturate(type, value, &open)
                                : wrap(type, (uint64_t)literal_get_int(from, i));
        REQUIRE(literal_get_int(result, i) == want, "%s %.17g to %s = %lld, not %lld",
                type_text(source), value, type_text(type), (long long)literal_get_int(result, i),
                (long long)want);
    } else if (float_formats[type_part(type)].specials == SPECIALS_IEEE) {
        exact_value(from, i, exact);
        check_nearest(result, i, 0, exact);
        if (type_is_complex(type)) {
            mpfr_set_d(exact, type_is_complex(source) ? imaginary : 0, MPFR_RNDN);
            check_nearest(result, i, 1, exact);
        }
    } else if (fabs(value) < (double)(1ull << 53) || isnan(value) || type_bits(source) < 64) {
        /* Formats with rules of their own; hlo's tests hold their rounding against the formats'
         * lists of values. A NaN has no sign any more. */
        uint64_t want = type == source
                            ? literal_get_bits(from, i)
                            : float_from_double(type, isnan(value) ? (double)NAN : value);
        REQUIRE(literal_get_bits(result, i) == want, "%s %.17g to %s = %llx, not %llx",
                type_text(source), value, type_text(type),
                (unsigned long long)literal_get_bits(result, i), (unsigned long long)want);
    }
    REQUIRE(literal_is_unspecified(result, i) == open, "%s %g to %s: mark", type_text(source),
            value, type_text(type));
}

static void check_conversions(const struct literal *from)
{
    mpfr_t exact;
    mpfr_init2(exact, EXACT_PRECISION);
    for (int type = 1; type < TYPE_COUNT; type++) {
        /* XLA has no conversion of complex numbers to real ones but pred. */
        if (!type_is_array((enum type)type) ||
            (type_is_complex(from->shape->type) && !type_is_complex((enum type)type) &&
             type != TYPE_PRED)) {
            continue;
        }
        char dimensions[32];
        snprintf(dimensions, sizeof dimensions, "[%lld]", (long long)literal_elements(from));
        struct literal *result = convert("convert", from, (enum type)type, dimensions);
        for (int64_t i = 0; i < literal_elements(from); i++) {
            check_element(from, result, i, exact);
        }
        literal_release(result);
    }
    mpfr_clear(exact);
}

/* Every value of a narrow type. */
START_TEST(test_narrow)
{
    static const enum type types[] = {
        TYPE_PRED,
        TYPE_S1,
        TYPE_U1,
        TYPE_S2,
        TYPE_U2,
        TYPE_S4,
        TYPE_U4,
        TYPE_S8,
        TYPE_U8,
        TYPE_F8E5M2,
        TYPE_F8E4M3,
        TYPE_F8E4M3FN,
        TYPE_F8E4M3B11FNUZ,
        TYPE_F8E5M2FNUZ,
        TYPE_F8E4M3FNUZ,
        TYPE_F8E3M4,
        TYPE_F8E8M0FNU,
        TYPE_F4E2M1FN,
        TYPE_F6E3M2FN,
        TYPE_F6E2M3FN,
    };
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        int64_t count = INT64_C(1) << type_bits(types[t]);
        struct literal *from = vector_of(types[t], count);
        for (int64_t i = 0; i < count; i++) {
            if (type_is_float(types[t])) {
                literal_set_bits(from, i, (uint64_t)i);
            } else {
                literal_set_int(from, i, wrap(types[t], (uint64_t)i));
            }
        }
        check_conversions(from);
        literal_release(from);
    }
}
END_TEST

/* A sample of the 16-bit types that touches every exponent; all values to the narrower types. */
START_TEST(test_halves)
{
    static const enum type types[] = {TYPE_F16, TYPE_BF16, TYPE_S16, TYPE_U16};
    struct literal *from = vector_of(types[_i], 65536 / 7);
    for (int64_t i = 0; i < literal_elements(from); i++) {
        literal_set_bits(from, i, (uint64_t)(i * 7));
    }
    check_conversions(from);
    literal_release(from);
}
END_TEST

static const double float_edges[] = {
    0.0,
    -0.0,
    0.5,
    -0.5,
    0.99999,
    -0.99999,
    1.5,
    2.5,
    -127.5,
    -128.5,
    -129,
    127.99,
    128,
    255.5,
    256,
    32767.5,
    32768,
    65519.99,
    65520,
    2147483647,
    2147483648.0,
    -2147483648.0,
    -2147483649.0,
    4294967295.0,
    4294967296.0,
    0x1p63,
    -0x1p63,
    0x1p64,
    0x1.fffffep62,
    -0x1.8p63,
    1e300,
    -1e300,
    1e-300,
    5e-324,
    0x1p-149,
    0x1.8p-150,
    0x1p-150,
    0x1p-133,
    0x1.8p-134,
    0x1p-24,
    0x1.8p-25,
    INFINITY,
    -INFINITY,
    NAN,
    3.4028235e38,
    3.4028236e38,
    0x1.fffffffp127,
    1 + 0x1p-24,
    1 + 0x1p-24 + 0x1p-52,
    1 + 0x1p-8 + 0x1p-40,
    1 + 0x1p-11 + 0x1p-50,
};

START_TEST(test_wide_floats)
{
    static const enum type types[] = {TYPE_F64, TYPE_F32, TYPE_C64, TYPE_C128};
    enum { EDGES = sizeof float_edges / sizeof float_edges[0], COUNT = 4000 };
    struct literal *from = vector_of(types[_i], COUNT);
    struct rng rng;
    rng_init(&rng, 11);
    for (int64_t i = 0; i < COUNT; i++) {
        /* Half of the random ones lie near ties of narrow formats. */
        double near =
            ldexp(1 + (double)rng_below(&rng, 4096) / 4096, (int)rng_below(&rng, 40) - 20);
        near *= 1 + (i % 3 - 1) * 0x1p-45;
        double value = i < EDGES ? float_edges[i]
                       : i % 2   ? near
                                 : random_double(&rng, i % 4 == 0 ? 70 : 10);
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
        0x1000000010000000,
        0x1000001000000001,
        (UINT64_C(1) << 60) + (UINT64_C(1) << 36) + 1,
        (UINT64_C(1) << 60) + (UINT64_C(1) << 36),
        (UINT64_C(1) << 53) + 1,
        0x7fffffffffffffff,
        0x8000000000000000,
        0xffffffffffffffff,
        0x7fffffbfffffffff,
        0xfffffe8000000001,
        0xffffff7fffffffff,
        257,
        513,
        515,
    };
    enum { EDGES = sizeof edges / sizeof edges[0], COUNT = 4000 };
    struct literal *from = vector_of(types[_i], COUNT);
    struct rng rng;
    rng_init(&rng, 13);
    for (int64_t i = 0; i < COUNT; i++) {
        uint64_t value = i < EDGES ? edges[i] : rng_next(&rng) >> rng_below(&rng, 64);
        literal_set_bits(from, i, (uint64_t)wrap(types[_i], value));
    }
    check_conversions(from);
    literal_release(from);
}
END_TEST

/* --- bitcast-convert --- */

START_TEST(test_bitcast_sizes)
{
    struct literal *wide = vector_of(TYPE_U32, 2);
    literal_set_bits(wide, 0, 0x84218421);
    literal_set_bits(wide, 1, 0xf0e1d2c3);
    /* Little-endian: the low bits come first. */
    struct literal *bytes = convert("bitcast-convert", wide, TYPE_U8, "[2,4]");
    ck_assert_uint_eq(literal_get_bits(bytes, 0), 0x21);
    ck_assert_uint_eq(literal_get_bits(bytes, 7), 0xf0);
    struct literal *nibbles = convert("bitcast-convert", wide, TYPE_S4, "[2,8]");
    ck_assert_int_eq(literal_get_int(nibbles, 0), 1);
    ck_assert_int_eq(literal_get_int(nibbles, 3), -8);
    ck_assert_int_eq(literal_get_int(nibbles, 15), -1);
    struct literal *back = convert("bitcast-convert", nibbles, TYPE_F32, "[2]");
    ck_assert_uint_eq(literal_get_bits(back, 0), 0x84218421);
    ck_assert_uint_eq(literal_get_bits(back, 1), 0xf0e1d2c3);
    literal_release(wide);
    literal_release(bytes);
    literal_release(nibbles);
    literal_release(back);
}
END_TEST

START_TEST(test_bitcast_same_size)
{
    struct literal *floats = vector_of(TYPE_F32, 3);
    literal_set_bits(floats, 0, 0x7f812345); /* a signalling NaN stays as it is */
    literal_set_bits(floats, 1, 0x80000000);
    literal_mark_unspecified(floats, 2);
    struct literal *bits = convert("bitcast-convert", floats, TYPE_S32, "[3]");
    ck_assert_int_eq(literal_get_int(bits, 0), 0x7f812345);
    ck_assert_int_eq(literal_get_int(bits, 1), INT32_MIN);
    ck_assert(literal_is_unspecified(bits, 2) && !literal_is_unspecified(bits, 0));
    struct literal *nibbles = vector_of(TYPE_S4, 2);
    literal_set_int(nibbles, 0, -1);
    literal_set_int(nibbles, 1, 7);
    struct literal *unsigned_nibbles = convert("bitcast-convert", nibbles, TYPE_U4, "[2]");
    ck_assert_int_eq(literal_get_int(unsigned_nibbles, 0), 15);
    ck_assert_int_eq(literal_get_int(unsigned_nibbles, 1), 7);
    struct literal *small = convert("bitcast-convert", nibbles, TYPE_F4E2M1FN, "[2]");
    ck_assert(literal_get_double(small, 0) == -6 && literal_get_double(small, 1) == 6);
    literal_release(floats);
    literal_release(bits);
    literal_release(nibbles);
    literal_release(unsigned_nibbles);
    literal_release(small);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("convert");
    TCase *all = tcase_create("convert");
    tcase_set_timeout(all, 300);
    tcase_add_test(all, test_narrow);
    tcase_add_loop_test(all, test_halves, 0, 4);
    tcase_add_loop_test(all, test_wide_floats, 0, 4);
    tcase_add_loop_test(all, test_wide_integers, 0, 4);
    tcase_add_test(all, test_bitcast_sizes);
    tcase_add_test(all, test_bitcast_same_size);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
