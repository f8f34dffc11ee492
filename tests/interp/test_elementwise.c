/* Elementwise instructions on integers against plain wide arithmetic, all pairs of 8-bit types;
 * what is particular to single opcodes; marks and memory. Runs itself again at each vector level.
 */
#include "tests/interp/elementwise_op.h"

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
    "add",
    "subtract",
    "multiply",
    "mulhi",
    "divide",
    "remainder",
    "power",
    "maximum",
    "minimum",
    "and",
    "or",
    "xor",
    "shift-left",
    "shift-right-logical",
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
    static const char *const names[] = {"abs", "negate", "sign",
                                        "not", "popcnt", "count-leading-zeros"};
    const char *name = names[_i];
    for (size_t t = 0; t < sizeof integer_types / sizeof integer_types[0]; t++) {
        enum type type = integer_types[t];
        bool has_sign = strcmp(name, "abs") == 0 || strcmp(name, "sign") == 0;
        if (has_sign && type_kind(type) == KIND_UNSIGNED) {
            continue; /* XLA has none */
        }
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

/* --- single opcodes --- */

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

/* What is left open of an operand is open in the result; a selection only looks at what it takes.
 */
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
        {5, 10, INFINITY, INFINITY},   {5, 10, NAN, NAN},
        {5, 10, 65504, 65504},         {5, 10, 65519.99, 65504},
        {5, 10, 65520, INFINITY},      {5, 10, -65520, -INFINITY},
        {5, 10, 0x1p-14, 0x1p-14},     {5, 10, 0x1.ffcp-15, 0},
        {5, 10, 0x1.fffp-15, 0x1p-14}, {5, 10, -6e-8, -0.0},
        {8, 7, 1 + 0x1p-8, 1},         {8, 7, 1 + 0x1.8p-7, 1 + 0x1p-6},
        {5, 0, NAN, INFINITY},         {8, 23, 0x1.234568p-3, 0x1.234568p-3},
        {2, 3, 4, INFINITY},           {2, 3, 3.75, 3.75},
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
        {2.5, 0x7fffffff, 3},
        {2.5, 0x80000000, 2},
        {-2.5, 0x7fffffff, -3},
        {-2.5, 0x80000000, -2},
        {3, 0, 3},
        {0.25, 0x3fffffff, 1},
        {0.25, 0x40000000, 0},
        {200, 0, 127},
        {-200, 0, -128},
        {NAN, 0, 0},
        {INFINITY, 0, 127},
        {-127.5, 0, -128},
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

int main(int argc, char **argv)
{
    (void)argc;
    TCase *all = tcase_create("elementwise");
    tcase_add_loop_test(all, test_integer_pairs, 0, LENGTH(integer_ops));
    tcase_add_loop_test(all, test_integer_unary, 0, 6);
    tcase_add_test(all, test_wide_integers);
    tcase_add_test(all, test_marks);
    tcase_add_test(all, test_select_scalar);
    tcase_add_test(all, test_clamp_scalar);
    tcase_add_test(all, test_in_place);
    tcase_add_test(all, test_reduce_precision);
    tcase_add_test(all, test_stochastic_convert);
    tcase_add_test(all, test_map);
    return run_suite("elementwise", all, argv);
}
