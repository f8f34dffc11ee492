/* Elementwise instructions against definitions of their own: all inputs of 16-bit types, all pairs
 * of 8-bit ones; MPFR for floats, plain wide arithmetic for integers. Runs itself again at each
 * vector level. */
#include <limits.h>
#include <spawn.h>
#include <sys/wait.h>

#include "tests/interp/one_op.h"

extern char **environ;

/* An assertion for inner loops: Check's own talk to the parent process each time. */
#define REQUIRE(condition, ...)        \
    do {                               \
        if (!(condition)) {            \
            ck_abort_msg(__VA_ARGS__); \
        }                              \
    } while (0)

enum { PAIRS = 65536 };

/* The instruction "opcode(a, b, …)" on arrays of the given types and one length. */
static void op_init(struct one_op *op, const char *opcode, enum type result, int count,
                    const enum type *types, int64_t length, const char *attributes)
{
    char body[1024];
    int used = 0;
    for (int k = 0; k < count; k++) {
        used += snprintf(body + used, sizeof body - (size_t)used, "p%d = %s[%lld] parameter(%d)\n",
                         k, type_text(types[k]), (long long)length, k);
    }
    used += snprintf(body + used, sizeof body - (size_t)used, "ROOT r = %s[%lld] %s(",
                     type_text(result), (long long)length, opcode);
    for (int k = 0; k < count; k++) {
        used += snprintf(body + used, sizeof body - (size_t)used, "%sp%d", k > 0 ? ", " : "", k);
    }
    snprintf(body + used, sizeof body - (size_t)used, ")%s", attributes);
    one_op_init(op, body);
}

/* Element i of both operands: the pair (i mod 2^bits, i / 2^bits) of bit patterns. */
static void fill_pairs(struct one_op *op, enum type type)
{
    int bits = type_bits(type);
    int64_t patterns = INT64_C(1) << bits;
    for (int64_t i = 0; i < literal_elements(op->values[0]); i++) {
        for (int k = 0; k < 2; k++) {
            int64_t pattern = (k == 0 ? i : i / patterns) % patterns;
            if (type_kind(type) == KIND_SIGNED && pattern >= patterns / 2) {
                pattern -= patterns;
            }
            literal_set_bits(op->values[k], i, (uint64_t)pattern);
        }
    }
}

static struct literal *run(struct one_op *op)
{
    return one_op_run(op, eval_function_of(op->instruction->opcode));
}

/* --- integers --- */

static int64_t wrap(enum type type, int64_t value)
{
    int unused = 64 - type_bits(type);
    return type_kind(type) == KIND_SIGNED ? (int64_t)((uint64_t)value << unused) >> unused
                                          : (int64_t)((uint64_t)value << unused >> unused);
}

/* What choices.h and XLA's semantics say, in 64 bits, for types of at most 8. */
static int64_t integer_reference(const char *op, enum type type, int64_t a, int64_t b)
{
    const int bits = type_bits(type);
    const int64_t mask = (INT64_C(1) << bits) - 1;
    const bool out = b < 0 || b >= bits;
    if (strcmp(op, "add") == 0) {
        return a + b;
    }
    if (strcmp(op, "subtract") == 0) {
        return a - b;
    }
    if (strcmp(op, "multiply") == 0) {
        return a * b;
    }
    if (strcmp(op, "mulhi") == 0) {
        /* floor(a * b / 2^bits) */
        int64_t product = a * b;
        return (product - (((product % (mask + 1)) + mask + 1) % (mask + 1))) / (mask + 1);
    }
    if (strcmp(op, "divide") == 0) {
        return b == 0 ? -1 : a / b;
    }
    if (strcmp(op, "remainder") == 0) {
        return b == 0 ? a : a % b;
    }
    if (strcmp(op, "maximum") == 0) {
        return a > b ? a : b;
    }
    if (strcmp(op, "minimum") == 0) {
        return a < b ? a : b;
    }
    if (strcmp(op, "and") == 0) {
        return a & b;
    }
    if (strcmp(op, "or") == 0) {
        return a | b;
    }
    if (strcmp(op, "xor") == 0) {
        return a ^ b;
    }
    if (strcmp(op, "shift-left") == 0) {
        return out ? 0 : (a & mask) << b;
    }
    if (strcmp(op, "shift-right-logical") == 0) {
        return out ? 0 : (a & mask) >> b;
    }
    if (strcmp(op, "shift-right-arithmetic") == 0) {
        int64_t value = a & mask;
        bool negative = (value >> (bits - 1)) != 0;
        for (int i = 0; i < (out ? bits : b); i++) {
            value = (value >> 1) | (negative ? INT64_C(1) << (bits - 1) : 0);
        }
        return value;
    }
    ck_assert_str_eq(op, "power");
    if (b < 0) {
        return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
    }
    int64_t power = 1;
    for (int64_t i = 0; i < b; i++) {
        power = wrap(type, power * a);
    }
    return power;
}

static const char *const integer_ops[] = {
    "add",     "subtract", "multiply", "mulhi", "divide",     "remainder",           "power",
    "maximum", "minimum",  "and",      "or",    "xor",        "shift-left",          "shift-right-logical",
    "shift-right-arithmetic",
};
static const enum type integer_types[] = {TYPE_S8, TYPE_U8, TYPE_S4, TYPE_U4,
                                          TYPE_S2, TYPE_U2, TYPE_S1, TYPE_U1};

START_TEST(test_integer_pairs)
{
    const char *name = integer_ops[_i];
    for (size_t t = 0; t < sizeof integer_types / sizeof integer_types[0]; t++) {
        enum type type = integer_types[t];
        const enum type types[] = {type, type};
        struct one_op op;
        op_init(&op, name, type, 2, types, PAIRS, "");
        fill_pairs(&op, type);
        struct literal *result = run(&op);
        for (int64_t i = 0; i < PAIRS; i++) {
            int64_t a = literal_get_int(op.values[0], i), b = literal_get_int(op.values[1], i);
            int64_t want = wrap(type, integer_reference(name, type, a, b));
            REQUIRE(literal_get_int(result, i) == want, "%s %s(%lld, %lld) = %lld, not %lld",
                    type_text(type), name, (long long)a, (long long)b,
                    (long long)literal_get_int(result, i), (long long)want);
        }
        literal_release(result);
        one_op_finish(&op);
    }
}
END_TEST

START_TEST(test_integer_unary)
{
    static const char *const names[] = {"abs",    "negate", "sign", "not",
                                        "popcnt", "count-leading-zeros"};
    const char *name = names[_i];
    for (size_t t = 0; t < sizeof integer_types / sizeof integer_types[0]; t++) {
        enum type type = integer_types[t];
        struct one_op op;
        int64_t patterns = INT64_C(1) << type_bits(type);
        op_init(&op, name, type, 1, &type, patterns, "");
        for (int64_t i = 0; i < patterns; i++) {
            literal_set_int(op.values[0], i, wrap(type, i));
        }
        struct literal *result = run(&op);
        for (int64_t i = 0; i < patterns; i++) {
            int64_t a = wrap(type, i);
            int ones = 0, zeros = type_bits(type);
            for (int bit = 0; bit < type_bits(type); bit++) {
                ones += (int)(i >> bit & 1);
                zeros = (i >> bit & 1) != 0 ? type_bits(type) - 1 - bit : zeros;
            }
            const int64_t wants[] = {a < 0 ? -a : a, -a, (a > 0) - (a < 0), ~a, ones, zeros};
            REQUIRE(literal_get_int(result, i) == wrap(type, wants[_i]), "%s %s(%lld) = %lld",
                    type_text(type), name, (long long)a, (long long)literal_get_int(result, i));
        }
        literal_release(result);
        one_op_finish(&op);
    }
}
END_TEST

/* The edges of the wide types. */
START_TEST(test_wide_integers)
{
    static const struct {
        const char *op;
        enum type type;
        int64_t a, b, want;
    } cases[] = {
        {"divide", TYPE_S64, INT64_MIN, -1, INT64_MIN},
        {"remainder", TYPE_S64, INT64_MIN, -1, 0},
        {"divide", TYPE_S32, INT32_MIN, -1, INT32_MIN},
        {"remainder", TYPE_S32, INT32_MIN, -1, 0},
        {"divide", TYPE_S32, 7, 0, -1},
        {"remainder", TYPE_S64, 7, 0, 7},
        {"divide", TYPE_U64, 7, 0, -1},
        {"divide", TYPE_U64, -1, 2, INT64_MAX},
        {"multiply", TYPE_S64, INT64_C(0x123456789abcdef), 0x1000, INT64_C(0x3456789abcdef000)},
        {"multiply", TYPE_U16, 65535, 65535, 1},
        {"multiply", TYPE_S32, 65537, 65537, 131073},
        {"add", TYPE_S64, INT64_MAX, 1, INT64_MIN},
        {"shift-left", TYPE_S64, 1, 63, INT64_MIN},
        {"shift-left", TYPE_S64, 1, 64, 0},
        {"shift-right-arithmetic", TYPE_S64, -8, 100, -1},
        {"shift-right-arithmetic", TYPE_S32, -8, -1, -1},
        {"shift-right-logical", TYPE_S32, -1, 31, 1},
        {"shift-right-logical", TYPE_U64, -1, 60, 15},
        {"mulhi", TYPE_S64, INT64_MIN, INT64_MIN, INT64_C(1) << 62},
        {"mulhi", TYPE_U64, -1, -1, -2},
        {"mulhi", TYPE_S32, -1, 1, -1},
        {"power", TYPE_S32, 3, 21, 1870418611},
        {"power", TYPE_S32, -1, INT32_MIN, 1},
        {"power", TYPE_U32, 2, 32, 0},
        {"maximum", TYPE_U64, -1, 1, -1},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const enum type types[] = {cases[c].type, cases[c].type};
        struct one_op op;
        op_init(&op, cases[c].op, cases[c].type, 2, types, 1, "");
        literal_set_int(op.values[0], 0, cases[c].a);
        literal_set_int(op.values[1], 0, cases[c].b);
        struct literal *result = run(&op);
        ck_assert_msg(literal_get_int(result, 0) == cases[c].want, "%s %s(%lld, %lld) = %lld",
                      type_text(cases[c].type), cases[c].op, (long long)cases[c].a,
                      (long long)cases[c].b, (long long)literal_get_int(result, 0));
        literal_release(result);
        one_op_finish(&op);
    }
}
END_TEST

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
    {"add", mpfr_add}, {"subtract", mpfr_sub}, {"multiply", mpfr_mul}, {"divide", mpfr_div},
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

static const double special_values[] = {0.0, -0.0, 1, -1, 2.5, -2.5, INFINITY, -INFINITY, NAN,
                                        0x1p-20, -0x1p-14, 100, -200, 0.5, 3, -3};
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
    {"abs", fabs},      {"negate", negate_reference}, {"sign", sign_reference},
    {"floor", floor},   {"ceil", ceil},               {"round-nearest-afz", round},
    {"sqrt", sqrt},     {"round-nearest-even", rint}, {"tanh", tanh},
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

/* f32 and f64: random bit patterns, subnormals and specials among them, against MPFR. */
START_TEST(test_wide_floats)
{
    enum { COUNT = 20000 };
    struct rng rng;
    rng_init(&rng, 7);
    mpfr_t x, y, exact;
    mpfr_inits2(53, x, y, (mpfr_ptr)NULL);
    mpfr_init2(exact, EXACT_PRECISION);
    for (int t = 0; t < 2; t++) {
        enum type type = t == 0 ? TYPE_F32 : TYPE_F64;
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
        return (signbit(a) != 0) < (signbit(b) != 0) ? 1
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
                REQUIRE(literal_get_int(result, i) == want, "%s%s %s(%g, %g)",
                        type_text(types[0]), attributes, directions[_i], a, b);
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

/* --- the rest --- */

/* What is left open of an operand is open in the result; a selection only looks at what it takes. */
START_TEST(test_marks)
{
    const enum type types[] = {TYPE_PRED, TYPE_F32, TYPE_F32};
    struct one_op add, select;
    op_init(&add, "add", TYPE_F32, 2, types + 1, 20, "");
    literal_mark_unspecified(add.values[0], 3);
    literal_mark_unspecified(add.values[1], 17);
    struct literal *result = run(&add);
    for (int64_t i = 0; i < 20; i++) {
        ck_assert(literal_is_unspecified(result, i) == (i == 3 || i == 17));
    }
    literal_release(result);
    one_op_finish(&add);

    op_init(&select, "select", TYPE_F32, 3, types, 20, "");
    literal_mark_unspecified(select.values[0], 1);
    literal_mark_unspecified(select.values[1], 2);
    literal_mark_unspecified(select.values[1], 3);
    literal_mark_unspecified(select.values[2], 4);
    literal_set_int(select.values[0], 3, 1);
    result = run(&select);
    for (int64_t i = 0; i < 20; i++) {
        ck_assert(literal_is_unspecified(result, i) == (i == 1 || i == 3 || i == 4));
    }
    literal_release(result);
    one_op_finish(&select);
}
END_TEST

START_TEST(test_select_scalar)
{
    struct one_op op;
    one_op_init(&op, "p = pred[] parameter(0)\na = f32[3] parameter(1)\nb = f32[3] parameter(2)\n"
                     "ROOT r = f32[3] select(p, a, b)");
    for (int64_t i = 0; i < 3; i++) {
        literal_set_double(op.values[1], i, 1.0 + (double)i);
        literal_set_double(op.values[2], i, 10.0 + (double)i);
    }
    for (int choice = 0; choice < 2; choice++) {
        literal_set_int(op.values[0], 0, choice);
        struct literal *result = run(&op);
        ck_assert(literal_get_double(result, 2) == (choice ? 3 : 12));
        literal_release(result);
    }
    one_op_finish(&op);
}
END_TEST

START_TEST(test_clamp_scalar)
{
    struct one_op op;
    one_op_init(&op, "a = s32[] parameter(0)\nx = s32[1000] parameter(1)\nb = s32[] parameter(2)\n"
                     "ROOT r = s32[1000] clamp(a, x, b)");
    literal_set_int(op.values[0], 0, -5);
    literal_set_int(op.values[2], 0, 7);
    for (int64_t i = 0; i < 1000; i++) {
        literal_set_int(op.values[1], i, i - 500);
    }
    struct literal *result = run(&op);
    for (int64_t i = 0; i < 1000; i++) {
        int64_t x = i - 500;
        ck_assert_int_eq(literal_get_int(result, i), x < -5 ? -5 : x > 7 ? 7 : x);
    }
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

/* The operand's memory is used again when it dies here. */
START_TEST(test_in_place)
{
    const enum type types[] = {TYPE_BF16, TYPE_BF16};
    struct one_op op;
    struct error err = {0};
    op_init(&op, "multiply", TYPE_BF16, 2, types, 5000, "");
    for (int64_t i = 0; i < 5000; i++) {
        literal_set_double(op.values[0], i, (double)(i % 16));
        literal_set_double(op.values[1], i, 3);
    }
    const void *memory = literal_data(op.values[0]);
    const bool dying[2] = {true, false};
    struct evaluation evaluation = {.module = op.module};
    struct operands operands = {2, op.values, dying};
    struct literal *result = eval_binary(&evaluation, op.instruction, &operands, &err);
    ck_assert_ptr_nonnull(result);
    ck_assert_ptr_eq(literal_data(result), memory);
    ck_assert_ptr_null(op.values[0]);
    for (int64_t i = 0; i < 5000; i++) {
        ck_assert(literal_get_double(result, i) == (double)(3 * (i % 16)));
    }
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

/* XLA's rules (hlo_evaluator, and StableHLO's conformance test of f64 without mantissa): what would
 * be subnormal becomes zero, NaN without mantissa bits infinity. */
START_TEST(test_reduce_precision)
{
    static const struct {
        int exponent, mantissa;
        double in, want;
    } cases[] = {
        {5, 10, INFINITY, INFINITY},    {5, 10, NAN, NAN},
        {5, 10, 65504, 65504},          {5, 10, 65519.99, 65504},
        {5, 10, 65520, INFINITY},       {5, 10, -65520, -INFINITY},
        {5, 10, 0x1p-14, 0x1p-14},      {5, 10, 0x1.ffcp-15, 0},
        {5, 10, 0x1.fffp-15, 0x1p-14},  {5, 10, -6e-8, -0.0},
        {8, 7, 1 + 0x1p-8, 1},          {8, 7, 1 + 0x1.8p-7, 1 + 0x1p-6},
        {5, 0, NAN, INFINITY},          {8, 23, 0x1.234568p-3, 0x1.234568p-3},
        {2, 3, 4, INFINITY},            {2, 3, 3.75, 3.75},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (int t = 0; t < 2; t++) {
            enum type type = t == 0 ? TYPE_F32 : TYPE_F64;
            char attributes[64];
            struct one_op op;
            snprintf(attributes, sizeof attributes, ", exponent_bits=%d, mantissa_bits=%d",
                     cases[c].exponent, cases[c].mantissa);
            op_init(&op, "reduce-precision", type, 1, &type, 1, attributes);
            literal_set_double(op.values[0], 0, cases[c].in);
            struct literal *result = run(&op);
            ck_assert_msg(same(literal_get_double(result, 0), cases[c].want), "%s %g%s = %g",
                          type_text(type), cases[c].in, attributes, literal_get_double(result, 0));
            literal_release(result);
            one_op_finish(&op);
        }
    }
}
END_TEST

/* The fraction, as a fixed point number, against the random bits. */
START_TEST(test_stochastic_convert)
{
    static const struct {
        double value;
        uint32_t random;
        int64_t want;
    } cases[] = {
        {2.5, 0x7fffffff, 3},  {2.5, 0x80000000, 2},   {-2.5, 0x7fffffff, -3}, {-2.5, 0x80000000, -2},
        {3, 0, 3},             {0.25, 0x3fffffff, 1},  {0.25, 0x40000000, 0},  {200, 0, 127},
        {-200, 0, -128},       {NAN, 0, 0},            {INFINITY, 0, 127},     {-127.5, 0, -128},
    };
    enum { COUNT = sizeof cases / sizeof cases[0] };
    const enum type types[] = {TYPE_F32, TYPE_U32};
    struct one_op op;
    op_init(&op, "stochastic-convert", TYPE_S8, 2, types, COUNT, "");
    for (int64_t i = 0; i < COUNT; i++) {
        literal_set_double(op.values[0], i, cases[i].value);
        literal_set_bits(op.values[1], i, cases[i].random);
    }
    struct literal *result = run(&op);
    for (int64_t i = 0; i < COUNT; i++) {
        ck_assert_msg(literal_get_int(result, i) == cases[i].want, "%g with %x: %lld",
                      cases[i].value, cases[i].random, (long long)literal_get_int(result, i));
    }
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

/* map applies its computation element by element, whatever that holds. */
START_TEST(test_map)
{
    static const char text[] =
        "HloModule m\n"
        "f { a = s32[] parameter(0)\n b = s32[] parameter(1)\n c = s32[] constant(3)\n"
        "  m = s32[] multiply(a, c)\n ROOT r = s32[] subtract(m, b) }\n"
        "ENTRY e { x = s32[600] iota(), iota_dimension=0\n y = s32[600] iota(), iota_dimension=0\n"
        "  ROOT r = s32[600] map(x, y), dimensions={0}, to_apply=f }\n";
    struct error err = {0};
    struct module *module = text_read_module(text, strlen(text), "map", 1, &err);
    ck_assert_msg(module != NULL, "%s", err.message);
    struct literal *result = interp_evaluate(module, NULL, 0, NULL, &err);
    ck_assert_msg(result != NULL, "%s", err.message);
    for (int64_t i = 0; i < 600; i++) {
        ck_assert_int_eq(literal_get_int(result, i), 2 * i);
    }
    literal_release(result);
    module_destroy(module);
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

#define LENGTH(array) (int)(sizeof(array) / sizeof((array)[0]))

int main(int argc, char **argv)
{
    (void)argc;
    Suite *suite = suite_create("elementwise");
    TCase *all = tcase_create("elementwise");
    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, test_integer_pairs, 0, LENGTH(integer_ops));
    tcase_add_loop_test(all, test_integer_unary, 0, 6);
    tcase_add_test(all, test_wide_integers);
    tcase_add_loop_test(all, test_small_float_pairs, 0, LENGTH(small_types));
    tcase_add_loop_test(all, test_extremes, 0, LENGTH(plain_types));
    tcase_add_loop_test(all, test_all_halves, 0, LENGTH(half_ops));
    tcase_add_loop_test(all, test_wide_floats, 0, LENGTH(float_ops));
    tcase_add_test(all, test_nan_bits);
    tcase_add_loop_test(all, test_compare_floats, 0, LENGTH(directions));
    tcase_add_loop_test(all, test_compare_integers, 0, LENGTH(directions));
    tcase_add_test(all, test_marks);
    tcase_add_test(all, test_select_scalar);
    tcase_add_test(all, test_clamp_scalar);
    tcase_add_test(all, test_in_place);
    tcase_add_test(all, test_reduce_precision);
    tcase_add_test(all, test_stochastic_convert);
    tcase_add_test(all, test_map);
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
