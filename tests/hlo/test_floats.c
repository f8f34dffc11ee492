/* Floating point formats against a definition of their own: a list of all values of a format, by
 * the formats' specifications, searched for the nearest. Runs itself again at each vector level. */
#define _POSIX_C_SOURCE 200809L
#include "hlo/floats.h"

#include <check.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "hlo/base/rng.h"

extern char **environ;

/* An assertion for inner loops: Check's own talk to the parent process each time. */
#define REQUIRE(condition, ...)        \
    do {                               \
        if (!(condition)) {            \
            ck_abort_msg(__VA_ARGS__); \
        }                              \
    } while (0)

static const enum type small_types[] = {
    TYPE_F8E5M2,     TYPE_F8E4M3,     TYPE_F8E3M4,   TYPE_F8E4M3FN, TYPE_F8E4M3B11FNUZ,
    TYPE_F8E5M2FNUZ, TYPE_F8E4M3FNUZ, TYPE_F4E2M1FN, TYPE_F6E3M2FN, TYPE_F6E2M3FN,
};
static const enum type half_types[] = {TYPE_F16, TYPE_BF16};

/* What the specifications print: exponent bits, mantissa bits, largest finite value, smallest
 * positive value, infinity?, NaN?, −0? (OCP OFP8 1.0, OCP MX 1.0, xla_data.proto comments). */
static const struct printed {
    enum type type;
    double max, min_normal, min_positive;
    bool infinity, nan, negative_zero;
} printed[] = {
    {TYPE_F16, 65504, 0x1p-14, 0x1p-24, true, true, true},
    {TYPE_BF16, 0x1.fep127, 0x1p-126, 0x1p-133, true, true, true},
    {TYPE_F32, 0x1.fffffep127, 0x1p-126, 0x1p-149, true, true, true},
    {TYPE_F64, 0x1.fffffffffffffp1023, 0x1p-1022, 0x1p-1074, true, true, true},
    {TYPE_F8E5M2, 57344, 0x1p-14, 0x1p-16, true, true, true},
    {TYPE_F8E4M3, 240, 0x1p-6, 0x1p-9, true, true, true},
    {TYPE_F8E3M4, 15.5, 0x1p-2, 0x1p-6, true, true, true},
    {TYPE_F8E4M3FN, 448, 0x1p-6, 0x1p-9, false, true, true},
    {TYPE_F8E4M3B11FNUZ, 30, 0x1p-10, 0x1p-13, false, true, false},
    {TYPE_F8E5M2FNUZ, 57344, 0x1p-15, 0x1p-17, false, true, false},
    {TYPE_F8E4M3FNUZ, 240, 0x1p-7, 0x1p-10, false, true, false},
    {TYPE_F8E8M0FNU, 0x1p127, 0x1p-127, 0x1p-127, false, true, false},
    {TYPE_F4E2M1FN, 6, 1, 0.5, false, false, true},
    {TYPE_F6E3M2FN, 28, 0.25, 0.0625, false, false, true},
    {TYPE_F6E2M3FN, 7.5, 1, 0.125, false, false, true},
};

START_TEST(test_printed_limits)
{
    const struct printed *p = &printed[_i];
    ck_assert(float_max(p->type) == p->max);
    ck_assert(float_min_normal(p->type) == p->min_normal);
    ck_assert(float_min_positive(p->type) == p->min_positive);
    ck_assert_int_eq(float_has_infinity(p->type), p->infinity);
    ck_assert_int_eq(float_has_nan(p->type), p->nan);
    ck_assert_int_eq(float_has_negative_zero(p->type), p->negative_zero);
    ck_assert(float_ulp(p->type, 0) == p->min_positive);
}
END_TEST

/* The value of code c ≥ 0 among the non-negative finite ones, by counting up from zero: codes run
 * through each binade in equal steps. One more than the largest value is where overflow begins. */
static double counted_value(enum type type, int code)
{
    const struct float_format *format = &float_formats[type];
    const int per_binade = 1 << format->mantissa_bits;
    double value = 0, step = float_min_positive(type);
    for (int i = 0; i < code; i++) {
        if (i >= 2 * per_binade && i % per_binade == 0) {
            step *= 2;
        }
        value += step;
    }
    return value;
}

/* All non-negative values and the one after the largest. Returns how many are finite. */
static int list_values(enum type type, double *values)
{
    int count = 0;
    double max = float_max(type);
    const int per_binade = 1 << float_formats[type].mantissa_bits;
    double value = 0, step = float_min_positive(type);
    for (;; count++) {
        values[count] = value;
        if (value > max) {
            return count;
        }
        if (count >= 2 * per_binade && count % per_binade == 0) {
            step *= 2;
        }
        value += step;
    }
}

/* The code of the nearest magnitude; `count` when it overflows. */
static int nearest_code(const double *values, int count, double magnitude)
{
    int low = 0, high = count;
    if (magnitude >= values[count]) {
        return count;
    }
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (values[middle] <= magnitude) {
            low = middle;
        } else {
            high = middle;
        }
    }
    double down = magnitude - values[low], up = values[high] - magnitude; /* exact: near enough */
    if (down != up) {
        return down < up ? low : high;
    }
    return low % 2 == 0 ? low : high;
}

static uint64_t expected_bits(enum type type, const double *values, int count, double value)
{
    const struct float_format *format = &float_formats[type];
    const uint64_t sign_bit = (uint64_t)1 << (format->exponent_bits + format->mantissa_bits);
    const uint64_t sign = signbit(value) ? sign_bit : 0;
    int code = nearest_code(values, count, fabs(value));
    if (code < count) {
        return format->specials == SPECIALS_NEGATIVE_ZERO_NAN && code == 0 ? 0
                                                                           : (uint64_t)code | sign;
    }
    switch (format->specials) {
    case SPECIALS_IEEE:
    case SPECIALS_ALL_ONES_NAN: /* the code after the largest: infinity; the NaN */
        return (uint64_t)count | sign;
    case SPECIALS_NEGATIVE_ZERO_NAN:
        return sign_bit;
    default:
        return (uint64_t)(count - 1) | sign;
    }
}

static void check_one(enum type type, const double *values, int count, double value)
{
    uint64_t want = expected_bits(type, values, count, value);
    uint64_t got = float_from_double(type, value);
    REQUIRE(got == want, "%s: %a became 0x%llx, not 0x%llx", type_text(type), value,
            (unsigned long long)got, (unsigned long long)want);
    /* The array loops, over whole vectors and the rest. */
    double in[19], rounded[19];
    uint16_t stored[19];
    for (int i = 0; i < 19; i++) {
        in[i] = value;
    }
    float_store(type, in, stored, 19);
    float_round_array(type, in, rounded, 19);
    double round_trip = float_to_double(type, want);
    for (int i = 0; i < 19; i++) {
        uint64_t bits = type_bytes(type) == 1 ? ((uint8_t *)stored)[i] : stored[i];
        REQUIRE(bits == want, "%s: %a stored as 0x%llx, not 0x%llx", type_text(type), value,
                (unsigned long long)bits, (unsigned long long)want);
        REQUIRE(isnan(round_trip) ? isnan(rounded[i]) : memcmp(&rounded[i], &round_trip, 8) == 0,
                "%s: %a rounded to %a, not %a", type_text(type), value, rounded[i], round_trip);
    }
}

/* Each value, each midpoint and what lies right beside them, with both signs. */
static void check_format(enum type type)
{
    static double values[1 << 16];
    int count = list_values(type, values);
    ck_assert(values[7] == counted_value(type, 7));
    for (int code = 0; code <= count; code++) {
        double points[] = {values[code],
                           code < count ? values[code] / 2 + values[code + 1] / 2 : INFINITY};
        for (int p = 0; p < 2; p++) {
            double near[] = {points[p], nextafter(points[p], INFINITY),
                             nextafter(points[p], -INFINITY)};
            for (int n = 0; n < 3; n++) {
                check_one(type, values, count, near[n]);
                check_one(type, values, count, -near[n]);
            }
        }
    }
    struct rng rng;
    rng_init(&rng, 1);
    for (int i = 0; i < 20000; i++) {
        double value = ldexp(rng_uniform(&rng) - 0.5, (int)rng_below(&rng, 300) - 150);
        check_one(type, values, count, value);
    }
    check_one(type, values, count, 5e-324);
    check_one(type, values, count, 1e308);
}

START_TEST(test_small_rounding)
{
    check_format(small_types[_i]);
}
END_TEST

START_TEST(test_half_rounding)
{
    check_format(half_types[_i]);
}
END_TEST

/* Decoding every code: the counted values, then the specials. */
START_TEST(test_decoding)
{
    static double values[1 << 16];
    static uint16_t codes[1 << 17];
    static double loaded[1 << 16];
    const enum type types[] = {TYPE_F16,        TYPE_BF16,     TYPE_F8E5M2,        TYPE_F8E4M3,
                               TYPE_F8E3M4,     TYPE_F8E4M3FN, TYPE_F8E4M3B11FNUZ, TYPE_F8E5M2FNUZ,
                               TYPE_F8E4M3FNUZ, TYPE_F4E2M1FN, TYPE_F6E3M2FN,      TYPE_F6E2M3FN};
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
        const enum type type = types[t];
        const int bits = type_bits(type);
        const int count = list_values(type, values);
        for (int c = 0; c < 1 << bits; c++) {
            if (bits == 16) {
                codes[c] = (uint16_t)c;
            } else {
                ((uint8_t *)codes)[c] = (uint8_t)c;
            }
        }
        float_load(type, codes, loaded, 1 << bits);
        for (int c = 0; c < 1 << bits; c++) {
            const bool negative = c >> (bits - 1) != 0;
            const int magnitude = c & ((1 << (bits - 1)) - 1);
            double got = float_to_double(type, (uint64_t)c);
            REQUIRE(memcmp(&got, &loaded[c], 8) == 0, "%s 0x%x: %a, loaded %a", type_text(type), c,
                    got, loaded[c]);
            if (negative && magnitude == 0 && !float_has_negative_zero(type)) {
                ck_assert(isnan(got));
            } else if (magnitude < count) {
                double want = negative ? -values[magnitude] : values[magnitude];
                REQUIRE(memcmp(&got, &want, 8) == 0, "%s 0x%x: %a, not %a", type_text(type), c, got,
                        want);
            } else {
                REQUIRE(float_has_infinity(type) && magnitude == count
                            ? isinf(got) && signbit(got) == negative
                            : isnan(got) && signbit(got) == negative,
                        "%s 0x%x: %a", type_text(type), c, got);
                /* NaN comes back to itself, but quiet. */
                if (isnan(got)) {
                    uint64_t again = float_from_double(type, got);
                    uint64_t quiet = float_has_infinity(type)
                                         ? (uint64_t)1 << (float_formats[type].mantissa_bits - 1)
                                         : 0;
                    ck_assert_uint_eq(again, (uint64_t)c | quiet);
                }
            }
        }
    }
}
END_TEST

/* ml_dtypes 0.6, measured: f32 → e8m0. */
START_TEST(test_power_format)
{
    static const struct {
        double value;
        unsigned bits;
    } cases[] = {
        {1, 0x7f},         {1.5, 0x80},       {1.49, 0x7f},      {3, 0x81},        {0.75, 0x7f},
        {0x1p127, 0xfe},   {0x1.7p127, 0xfe}, {0x1.8p127, 0xff}, {INFINITY, 0xff}, {NAN, 0xff},
        {0, 0xff},         {-0.0, 0xff},      {-1, 0xff},        {0x1p-127, 0},    {0x1.8p-127, 1},
        {0x1.7fp-127, 0},  {0x1p-129, 0},     {0x1p-149, 0},     {0x1.8p-126, 2},  {5.5, 0x81},
        {-INFINITY, 0xff}, {1e300, 0xff},     {448, 0x88},       {240, 0x87},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t stored;
        double rounded;
        float_store(TYPE_F8E8M0FNU, &cases[i].value, &stored, 1);
        REQUIRE(stored == cases[i].bits, "%a: 0x%x, not 0x%x", cases[i].value, stored,
                cases[i].bits);
        float_round_array(TYPE_F8E8M0FNU, &cases[i].value, &rounded, 1);
        double want = cases[i].bits == 0xff ? NAN : ldexp(1, (int)cases[i].bits - 127);
        ck_assert(isnan(want) ? isnan(rounded) : rounded == want);
        ck_assert(isnan(want) ? isnan(float_to_double(TYPE_F8E8M0FNU, stored))
                              : float_to_double(TYPE_F8E8M0FNU, stored) == want);
    }
}
END_TEST

/* NaN signs as ml_dtypes 0.6 converts them from f32, measured. */
START_TEST(test_nan_conversion)
{
    static const struct {
        enum type type;
        unsigned plus, minus;
    } cases[] = {
        {TYPE_F8E4M3FN, 0x7f, 0xff},      {TYPE_F8E5M2, 0x7e, 0xfe},
        {TYPE_F8E4M3, 0x7c, 0xfc},        {TYPE_F8E3M4, 0x78, 0xf8},
        {TYPE_F8E4M3B11FNUZ, 0x80, 0x80}, {TYPE_F8E5M2FNUZ, 0x80, 0x80},
        {TYPE_F8E4M3FNUZ, 0x80, 0x80},    {TYPE_F8E8M0FNU, 0xff, 0xff},
        {TYPE_F4E2M1FN, 0x08, 0x00},      {TYPE_F6E3M2FN, 0x20, 0x00},
        {TYPE_F6E2M3FN, 0x20, 0x00},      {TYPE_BF16, 0x7fc0, 0xffc0},
        {TYPE_F16, 0x7e00, 0xfe00},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double in[18];
        uint16_t stored[18];
        for (int k = 0; k < 18; k++) {
            in[k] = k % 2 == 0 ? copysign(NAN, 1) : copysign(NAN, -1);
        }
        float_store(cases[i].type, in, stored, 18);
        for (int k = 0; k < 18; k++) {
            unsigned got = type_bytes(cases[i].type) == 1 ? ((uint8_t *)stored)[k] : stored[k];
            unsigned want = k % 2 == 0 ? cases[i].plus : cases[i].minus;
            REQUIRE(got == want, "%s: 0x%x, not 0x%x", type_text(cases[i].type), got, want);
            ck_assert_uint_eq(float_from_double(cases[i].type, in[k]), want);
        }
    }
}
END_TEST

/* f32 and f64 through the compiler's own conversions. */
START_TEST(test_f32)
{
    struct rng rng;
    rng_init(&rng, 2);
    double in[1003], out[1003];
    float stored[1003];
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 1003; i++) {
            uint64_t bits = rng_next(&rng);
            if (i % 2 == 0) { /* within f32's exponents, with ties */
                bits = (bits & 0x801fffffe0000000) | (896 - 23 + bits % 279) << 52 |
                       (rng_below(&rng, 3) << 28);
            }
            memcpy(&in[i], &bits, 8);
        }
        float_store(TYPE_F32, in, stored, 1003);
        float_load(TYPE_F32, stored, out, 1003);
        for (int i = 0; i < 1003; i++) {
            float want = (float)in[i];
            REQUIRE(isnan(want) ? isnan(stored[i]) : memcmp(&stored[i], &want, 4) == 0,
                    "element %d: %a", i, in[i]);
            double wide = want;
            REQUIRE(isnan(want) ? isnan(out[i]) : memcmp(&out[i], &wide, 8) == 0, "element %d: %a",
                    i, in[i]);
            uint32_t bits;
            memcpy(&bits, &want, 4);
            if (!isnan(want)) {
                REQUIRE(float_from_double(TYPE_F32, in[i]) == bits, "element %d: %a", i, in[i]);
                double back = float_to_double(TYPE_F32, bits);
                REQUIRE(memcmp(&back, &wide, 8) == 0, "element %d: %a", i, in[i]);
            }
        }
    }
}
END_TEST

/* value + tail rounds once where value alone would be a tie. */
START_TEST(test_tail)
{
    const double tie = 1 + 0x1p-24;
    ck_assert(float_to_double(TYPE_F32, float_from_double_tail(TYPE_F32, tie, 0)) == 1);
    ck_assert(float_to_double(TYPE_F32, float_from_double_tail(TYPE_F32, tie, 1e-30)) ==
              1 + 0x1p-23);
    ck_assert(float_to_double(TYPE_F32, float_from_double_tail(TYPE_F32, tie, -1e-30)) == 1);
    ck_assert(float_to_double(TYPE_F32, float_from_double_tail(TYPE_F32, -tie, -1e-30)) ==
              -(1 + 0x1p-23));
    ck_assert(float_to_double(TYPE_BF16, float_from_double_tail(TYPE_BF16, 257, 1e-20)) == 258);
    ck_assert(float_to_double(TYPE_BF16, float_from_double_tail(TYPE_BF16, 257, -1e-20)) == 256);
    ck_assert(float_from_double_tail(TYPE_F32, 0, 0) == 0);
    ck_assert(float_from_double_tail(TYPE_F16, 65520, -1e-12) == 0x7bff);
    ck_assert(float_from_double_tail(TYPE_F16, 65520, 0) == 0x7c00);
    /* 2^60 + 2^36 + 1, the double tie of s64 → f32. */
    ck_assert(float_to_double(TYPE_F32, float_from_double_tail(TYPE_F32, 0x1p60 + 0x1p36, 1)) ==
              0x1p60 + 0x1p37);
}
END_TEST

START_TEST(test_ulp)
{
    ck_assert(float_ulp(TYPE_F32, 1) == 0x1p-23);
    ck_assert(float_ulp(TYPE_F32, -1.999) == 0x1p-23);
    ck_assert(float_ulp(TYPE_F32, 2) == 0x1p-22);
    ck_assert(float_ulp(TYPE_F32, 1e-45) == 0x1p-149);
    ck_assert(float_ulp(TYPE_F64, 1) == 0x1p-52);
    ck_assert(float_ulp(TYPE_F64, 5e-324) == 5e-324);
    ck_assert(float_ulp(TYPE_BF16, 257) == 2);
    ck_assert(float_ulp(TYPE_F8E4M3FN, 448) == 32);
}
END_TEST

/* Runs this program once more at each lower vector level. */
static int run_levels(char **argv)
{
    int failed = 0;
    for (const char *level = "02"; *level != 0; level++) {
        setenv("REFEREE_VECTOR_LEVEL", (char[]){*level, 0}, 1);
        pid_t child;
        int status = 0;
        if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, environ) != 0 ||
            waitpid(child, &status, 0) != child || status != 0) {
            failed++;
        }
    }
    return failed;
}

int main(int argc, char **argv)
{
    (void)argc;
    Suite *suite = suite_create("floats");
    TCase *all = tcase_create("floats");
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, test_printed_limits, 0, sizeof(printed) / sizeof(printed[0]));
    tcase_add_loop_test(all, test_small_rounding, 0, sizeof(small_types) / sizeof(small_types[0]));
    tcase_add_loop_test(all, test_half_rounding, 0, sizeof(half_types) / sizeof(half_types[0]));
    tcase_add_test(all, test_decoding);
    tcase_add_test(all, test_power_format);
    tcase_add_test(all, test_nan_conversion);
    tcase_add_test(all, test_f32);
    tcase_add_test(all, test_tail);
    tcase_add_test(all, test_ulp);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    if (getenv("REFEREE_VECTOR_LEVEL") == NULL) {
        failed += run_levels(argv);
    }
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
