/* Elementwise instructions on floats against MPFR and the formats: all pairs of values of narrow
 * types, all values of 16-bit ones, samples of the wide ones; comparisons. Runs itself again at
 * each vector level. */
#include "tests/interp/elementwise_op.h"

/* --- floats --- */

/* Is `bits` the value of the format next to the exact one, among all its patterns? */
static void check_small(enum type type, const char *what, double a, double b, uint64_t bits,
                        mpfr_t exact)
{
    double got = float_to_double(type, bits);
    if (mpfr_nan_p(exact)) {
        REQUIRE(isnan(got) || !float_has_nan(type), "%s %s(%g, %g) = %g, not NaN", type_text(type),
                what, a, b, got);
        return;
    }
    if (float_has_infinity(type) || isfinite(got)) {
        if (!mpfr_inf_p(exact) && mpfr_cmpabs_ui(exact, 1u << 20) < 0 && isfinite(got) &&
            fabs(got) < float_max(type)) {
            REQUIRE(is_nearest(type, bits, exact), "%s %s(%g, %g) = %g, exactly %.17g",
                    type_text(type), what, a, b, got, mpfr_get_d(exact, MPFR_RNDN));
            return;
        }
    }
    /* Beyond the largest value: infinity, NaN or the largest, by the kind of format. */
    uint64_t rounded = float_from_double(type, mpfr_get_d(exact, MPFR_RNDN));
    double want = float_to_double(type, rounded);
    REQUIRE(got == want || (isnan(got) && isnan(want)), "%s %s(%g, %g) = %g, not %g",
            type_text(type), what, a, b, got, want);
}

static const enum type small_types[] = {
    TYPE_F8E5M2,     TYPE_F8E4M3,     TYPE_F8E3M4,   TYPE_F8E4M3FN, TYPE_F8E4M3B11FNUZ,
    TYPE_F8E5M2FNUZ, TYPE_F8E4M3FNUZ, TYPE_F4E2M1FN, TYPE_F6E3M2FN, TYPE_F6E2M3FN,
};
static const struct {
    const char *name;
    int (*function)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
} float_ops[] = {
    {"add", mpfr_add},
    {"subtract", mpfr_sub},
    {"multiply", mpfr_mul},
    {"divide", mpfr_div},
};

START_TEST(test_small_float_pairs)
{
    enum type type = small_types[_i];
    const enum type types[] = {type, type};
    mpfr_t x, y, exact;
    mpfr_inits2(200, x, y, exact, (mpfr_ptr)NULL);
    for (size_t o = 0; o < sizeof float_ops / sizeof float_ops[0]; o++) {
        struct one_op op;
        int64_t length = INT64_C(1) << (2 * type_bits(type));
        op_init(&op, float_ops[o].name, type, 2, types, length, "");
        fill_pairs(&op, type);
        struct literal *result = run(&op);
        for (int64_t i = 0; i < length; i++) {
            double a = literal_get_double(op.values[0], i);
            double b = literal_get_double(op.values[1], i);
            mpfr_set_d(x, a, MPFR_RNDN);
            mpfr_set_d(y, b, MPFR_RNDN);
            float_ops[o].function(exact, x, y, MPFR_RNDN);
            check_small(type, float_ops[o].name, a, b, literal_get_bits(result, i), exact);
        }
        literal_release(result);
        one_op_finish(&op);
    }
    mpfr_clears(x, y, exact, (mpfr_ptr)NULL);
}
END_TEST

/* minimum, maximum and clamp: NaN wins, −0 is less than +0. */
static double maximum_reference(double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : a == b ? (signbit(a) ? b : a) : fmax(a, b);
}
static double minimum_reference(double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : a == b ? (signbit(a) ? a : b) : fmin(a, b);
}
static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static const double special_values[] = {0.0,      -0.0,      1,   -1,      2.5,      -2.5,
                                        INFINITY, -INFINITY, NAN, 0x1p-20, -0x1p-14, 100,
                                        -200,     0.5,       3,   -3};
enum { SPECIALS = sizeof special_values / sizeof special_values[0] };
static const enum type plain_types[] = {TYPE_F32, TYPE_F64, TYPE_BF16, TYPE_F16};

START_TEST(test_extremes)
{
    enum type type = plain_types[_i];
    const enum type types[] = {type, type, type};
    struct one_op largest, least, clamp;
    int64_t pairs = SPECIALS * SPECIALS, triples = pairs * SPECIALS;
    op_init(&largest, "maximum", type, 2, types, pairs, "");
    op_init(&least, "minimum", type, 2, types, pairs, "");
    op_init(&clamp, "clamp", type, 3, types, triples, "");
    for (int64_t i = 0; i < triples; i++) {
        for (int k = 0; k < 3; k++) {
            int64_t at = (k == 0 ? i : k == 1 ? i / SPECIALS : i / pairs) % SPECIALS;
            literal_set_double(clamp.values[k], i, special_values[at]);
            if (i < pairs && k < 2) {
                literal_set_double(largest.values[k], i, special_values[at]);
                literal_set_double(least.values[k], i, special_values[at]);
            }
        }
    }
    struct literal *most = run(&largest), *lowest = run(&least), *clamped = run(&clamp);
    for (int64_t i = 0; i < triples; i++) {
        double a = literal_get_double(clamp.values[0], i);
        double b = literal_get_double(clamp.values[1], i);
        double c = literal_get_double(clamp.values[2], i);
        double want = minimum_reference(maximum_reference(b, a), c);
        REQUIRE(same(literal_get_double(clamped, i), want), "clamp(%g, %g, %g) = %g", a, b, c,
                literal_get_double(clamped, i));
        if (i < pairs) {
            REQUIRE(same(literal_get_double(most, i), maximum_reference(a, b)), "max(%g, %g) = %g",
                    a, b, literal_get_double(most, i));
            REQUIRE(same(literal_get_double(lowest, i), minimum_reference(a, b)),
                    "min(%g, %g) = %g", a, b, literal_get_double(lowest, i));
        }
    }
    literal_release(most);
    literal_release(lowest);
    literal_release(clamped);
    one_op_finish(&largest);
    one_op_finish(&least);
    one_op_finish(&clamp);
}
END_TEST

/* Every value of f16 and bf16 through the functions that scalar.def computes itself. */
static double sign_reference(double x)
{
    return isnan(x) || x == 0 ? x : copysign(1, x);
}
static double negate_reference(double x)
{
    return -x;
}
static const struct {
    const char *name;
    double (*function)(double); /* exact in double for these types, but for sqrt */
} half_ops[] = {
    {"abs", fabs},
    {"negate", negate_reference},
    {"sign", sign_reference},
    {"floor", floor},
    {"ceil", ceil},
    {"round-nearest-afz", round},
    {"sqrt", sqrt},
    {"round-nearest-even", rint},
    {"tanh", tanh},
};

START_TEST(test_all_halves)
{
    for (int t = 0; t < 2; t++) {
        enum type type = t == 0 ? TYPE_F16 : TYPE_BF16;
        struct one_op op;
        op_init(&op, half_ops[_i].name, type, 1, &type, PAIRS, "");
        for (int64_t i = 0; i < PAIRS; i++) {
            literal_set_bits(op.values[0], i, (uint64_t)i);
        }
        struct literal *result = run(&op);
        for (int64_t i = 0; i < PAIRS; i++) {
            double x = literal_get_double(op.values[0], i);
            double want = float_to_double(type, float_from_double(type, half_ops[_i].function(x)));
            REQUIRE(same(literal_get_double(result, i), want), "%s %s(%a) = %a, not %a",
                    type_text(type), half_ops[_i].name, x, literal_get_double(result, i), want);
        }
        literal_release(result);
        one_op_finish(&op);
    }
}
END_TEST

/* f32, f64, f16 and bf16: random bit patterns, subnormals and specials among them, against MPFR. */
START_TEST(test_wide_floats)
{
    enum { COUNT = 20000 };
    struct rng rng;
    rng_init(&rng, 7);
    mpfr_t x, y, exact;
    mpfr_inits2(53, x, y, (mpfr_ptr)NULL);
    mpfr_init2(exact, EXACT_PRECISION);
    for (int t = 0; t < LENGTH(plain_types); t++) {
        enum type type = plain_types[t];
        const enum type types[] = {type, type};
        struct one_op op;
        op_init(&op, float_ops[_i].name, type, 2, types, COUNT, "");
        for (int64_t i = 0; i < COUNT; i++) {
            uint64_t bits = rng_next(&rng);
            literal_set_bits(op.values[0], i, bits);
            /* A neighbour in magnitude half of the time, so that sums do not only absorb. */
            uint64_t other = rng_next(&rng);
            literal_set_bits(op.values[1], i,
                             i % 2 == 0 ? other : bits ^ (other & 0xffffff) ^ (other & 1) << 31);
        }
        struct literal *result = run(&op);
        for (int64_t i = 0; i < COUNT; i++) {
            mpfr_set_d(x, literal_get_double(op.values[0], i), MPFR_RNDN);
            mpfr_set_d(y, literal_get_double(op.values[1], i), MPFR_RNDN);
            float_ops[_i].function(exact, x, y, MPFR_RNDN);
            check_nearest(result, i, 0, exact);
        }
        literal_release(result);
        one_op_finish(&op);
    }
    mpfr_clears(x, y, exact, (mpfr_ptr)NULL);
}
END_TEST

/* A NaN that arithmetic makes is the positive quiet one on every machine. */
START_TEST(test_nan_bits)
{
    static const char *const names[] = {"subtract", "divide", "maximum", "remainder", "power"};
    const enum type types[] = {TYPE_F32, TYPE_F32};
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        struct one_op op;
        op_init(&op, names[n], TYPE_F32, 2, types, 40, "");
        for (int64_t i = 0; i < 40; i++) {
            literal_set_bits(op.values[0], i, 0xffc12345);
            literal_set_bits(op.values[1], i, 0xff812345);
        }
        struct literal *result = run(&op);
        for (int64_t i = 0; i < 40; i++) {
            ck_assert_uint_eq(literal_get_bits(result, i), 0x7fc00000);
        }
        literal_release(result);
        one_op_finish(&op);
    }
}
END_TEST

/* negate and abs change the sign bit and nothing else, also of signalling NaNs. */
START_TEST(test_sign_bits)
{
    static const enum type types[] = {TYPE_F16, TYPE_BF16, TYPE_F32, TYPE_F8E5M2, TYPE_F8E4M3FN};
    for (int t = 0; t < LENGTH(types); t++) {
        int bits = type_bits(types[t]);
        uint64_t sign = UINT64_C(1) << (bits - 1);
        struct one_op negate, abs;
        op_init(&negate, "negate", types[t], 1, &types[t], 1000, "");
        op_init(&abs, "abs", types[t], 1, &types[t], 1000, "");
        for (int64_t i = 0; i < 1000; i++) {
            uint64_t value = (sign - 1 - (uint64_t)i / 2) & (sign - 1);
            literal_set_bits(negate.values[0], i, value | (i % 2 == 0 ? sign : 0));
            literal_set_bits(abs.values[0], i, value | (i % 2 == 0 ? sign : 0));
        }
        struct literal *negated = run(&negate), *magnitude = run(&abs);
        for (int64_t i = 0; i < 1000; i++) {
            uint64_t value = literal_get_bits(negate.values[0], i);
            REQUIRE(literal_get_bits(negated, i) == (value ^ sign), "%s", type_text(types[t]));
            REQUIRE(literal_get_bits(magnitude, i) == (value & ~sign), "%s", type_text(types[t]));
        }
        literal_release(negated);
        literal_release(magnitude);
        one_op_finish(&negate);
        one_op_finish(&abs);
    }
}
END_TEST

/* --- comparisons --- */

static bool relation(const char *direction, int order)
{
    switch (direction[0]) {
    case 'E':
        return order == 0;
    case 'N':
        return order != 0;
    case 'G':
        return direction[1] == 'E' ? order >= 0 : order > 0;
    default:
        return direction[1] == 'E' ? order <= 0 : order < 0;
    }
}

static int order_of(double a, double b)
{
    return (a > b) - (a < b);
}

/* IEEE 754 totalOrder, from its definition. */
static int total_order(double a, double b)
{
    if (isnan(a) || isnan(b)) {
        int rank_a = isnan(a) ? (signbit(a) ? -1 : 1) : 0;
        int rank_b = isnan(b) ? (signbit(b) ? -1 : 1) : 0;
        return (rank_a > rank_b) - (rank_a < rank_b);
    }
    if (a == b) {
        return (signbit(a) != 0) < (signbit(b) != 0)   ? 1
               : (signbit(a) != 0) > (signbit(b) != 0) ? -1
                                                       : 0;
    }
    return order_of(a, b);
}

static const char *const directions[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};

START_TEST(test_compare_floats)
{
    char attributes[64];
    for (int total = 0; total < 2; total++) {
        for (size_t t = 0; t < sizeof plain_types / sizeof plain_types[0]; t++) {
            const enum type types[] = {plain_types[t], plain_types[t]};
            struct one_op op;
            snprintf(attributes, sizeof attributes, ", direction=%s%s", directions[_i],
                     total ? ", type=TOTALORDER" : "");
            op_init(&op, "compare", TYPE_PRED, 2, types, SPECIALS * SPECIALS, attributes);
            for (int64_t i = 0; i < SPECIALS * SPECIALS; i++) {
                literal_set_double(op.values[0], i, special_values[i % SPECIALS]);
                literal_set_double(op.values[1], i, special_values[i / SPECIALS]);
            }
            struct literal *result = run(&op);
            for (int64_t i = 0; i < SPECIALS * SPECIALS; i++) {
                double a = special_values[i % SPECIALS], b = special_values[i / SPECIALS];
                bool want = relation(directions[_i], total ? total_order(a, b) : order_of(a, b));
                if (!total && (isnan(a) || isnan(b))) {
                    want = directions[_i][0] == 'N';
                }
                REQUIRE(literal_get_int(result, i) == want, "%s%s %s(%g, %g)", type_text(types[0]),
                        attributes, directions[_i], a, b);
            }
            literal_release(result);
            one_op_finish(&op);
        }
    }
}
END_TEST

START_TEST(test_compare_integers)
{
    static const enum type compared[] = {TYPE_S8, TYPE_U8, TYPE_S4, TYPE_PRED};
    char attributes[64];
    snprintf(attributes, sizeof attributes, ", direction=%s", directions[_i]);
    for (size_t t = 0; t < sizeof compared / sizeof compared[0]; t++) {
        const enum type types[] = {compared[t], compared[t]};
        struct one_op op;
        op_init(&op, "compare", TYPE_PRED, 2, types, PAIRS, attributes);
        fill_pairs(&op, compared[t]);
        struct literal *result = run(&op);
        for (int64_t i = 0; i < PAIRS; i++) {
            int64_t a = literal_get_int(op.values[0], i), b = literal_get_int(op.values[1], i);
            REQUIRE(literal_get_int(result, i) == relation(directions[_i], (a > b) - (a < b)),
                    "%s %s(%lld, %lld)", type_text(compared[t]), directions[_i], (long long)a,
                    (long long)b);
        }
        literal_release(result);
        one_op_finish(&op);
    }
}
END_TEST

/* An elementwise instruction is one step: exact and literal fidelity give the same bits. */
START_TEST(test_fidelity)
{
    static const char *const unary[] = {"tanh", "logistic", "log", "rsqrt", "cbrt", "tan"};
    static const char *const binary[] = {"multiply", "divide", "power", "atan2", "subtract"};
    static const enum type types[] = {TYPE_F32, TYPE_BF16, TYPE_F64, TYPE_C64, TYPE_F8E4M3FN};
    struct rng rng;
    rng_init(&rng, 8);
    for (int n = 0; n < LENGTH(unary) + LENGTH(binary); n++) {
        for (int t = 0; t < LENGTH(types); t++) {
            const bool one = n < LENGTH(unary);
            const char *name = one ? unary[n] : binary[n - LENGTH(unary)];
            const enum type pair[] = {types[t], types[t]};
            struct one_op op;
            struct error err = {0};
            if (types[t] == TYPE_C64 && strcmp(name, "cbrt") == 0) {
                continue;
            }
            op_init(&op, name, types[t], one ? 1 : 2, pair, 300, "");
            for (int k = 0; k < op.count; k++) {
                fill_random(op.values[k], &rng, 4);
            }
            eval_function *evaluate = eval_function_of(op.instruction->opcode);
            struct literal *exact = run(&op);
            struct literal *literal = one_op_try(&op, evaluate, FIDELITY_LITERAL, &err);
            REQUIRE(literal != NULL && literal_equal(exact, literal), "%s %s", name,
                    type_text(types[t]));
            literal_release(exact);
            literal_release(literal);
            one_op_finish(&op);
        }
    }
}
END_TEST

int main(int argc, char **argv)
{
    (void)argc;
    TCase *all = tcase_create("elementwise floats");
    tcase_add_loop_test(all, test_small_float_pairs, 0, LENGTH(small_types));
    tcase_add_loop_test(all, test_extremes, 0, LENGTH(plain_types));
    tcase_add_loop_test(all, test_all_halves, 0, LENGTH(half_ops));
    tcase_add_loop_test(all, test_wide_floats, 0, LENGTH(float_ops));
    tcase_add_test(all, test_nan_bits);
    tcase_add_test(all, test_sign_bits);
    tcase_add_test(all, test_fidelity);
    tcase_add_loop_test(all, test_compare_floats, 0, LENGTH(directions));
    tcase_add_loop_test(all, test_compare_integers, 0, LENGTH(directions));
    return run_suite("elementwise floats", all, argv);
}
