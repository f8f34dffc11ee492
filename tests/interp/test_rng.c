/* The generators against Random123's published vectors (kat_vectors of Random123 1.14: philox4x32
 * 10 rounds, threefry2x32 20 rounds) and against what XLA's CPU gave (jaxlib 0.10.2); the stream of
 * `rng` by its moments. */
#include "one_op.h"

static void setup(void)
{
    pool_set_threads(2);
}

/* Runs rng-bit-generator on `state`; returns the tuple. */
static struct literal *generate(struct one_op *op, const char *algorithm, const uint64_t *state,
                                int size, const char *shape)
{
    char body[256];
    snprintf(body, sizeof body,
             "s = u64[%d] parameter(0)\n"
             "ROOT r = (u64[%d], %s) rng-bit-generator(s), algorithm=%s",
             size, size, shape, algorithm);
    one_op_init(op, body);
    memcpy(literal_data(op->values[0]), state, (size_t)size * sizeof *state);
    return one_op_run(op, eval_rng_bit_generator);
}

struct expectation {
    const char *algorithm;
    int state_size;
    uint64_t state[3];
    const char *shape;
    uint64_t new_state[3];
    int count;
    uint64_t elements[20];
};

/* state and elements stand for key, counter and words of the published vectors. */
static const struct expectation published[] = {
    {"rng_philox",
     3,
     {0, 0, 0},
     "u32[4]",
     {0, 1, 0},
     4,
     {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {"rng_philox",
     3,
     {UINT64_MAX, UINT64_MAX, UINT64_MAX},
     "u32[4]",
     {UINT64_MAX, 0, 0},
     4,
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {"rng_philox",
     3,
     {0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e},
     "u32[4]",
     {0x299f31d0a4093822, 0x85a308d3243f6a89, 0x0370734413198a2e},
     4,
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    {"rng_three_fry", 2, {0, 0}, "u32[2]", {0, 1}, 2, {0x6b200159, 0x99ba4efe}},
    {"rng_three_fry",
     2,
     {UINT64_MAX, UINT64_MAX},
     "u32[2]",
     {UINT64_MAX, 0},
     2,
     {0x1cb996fc, 0xbb002be7}},
    {"rng_three_fry",
     2,
     {0x0370734413198a2e, 0x85a308d3243f6a88},
     "u32[2]",
     {0x0370734413198a2e, 0x85a308d3243f6a89},
     2,
     {0xc4923a9c, 0x483df7a0}},
};

#define STATE3                                       \
    {                                                \
        0x0123456789abcdef, 0xfffffffffffffffe, 0x77 \
    }
#define STATE2                                 \
    {                                          \
        0x0123456789abcdef, 0xfffffffffffffffe \
    }
#define KEY 0x0123456789abcdef

static const struct expectation recorded[] = {
    {"rng_three_fry",
     2,
     STATE2,
     "u32[5]",
     {KEY, 1},
     5,
     {0xb0f4215b, 0xe19a60b4, 0xb3d7494, 0xacf8c4dc, 0xaaa4d889}},
    {"rng_three_fry",
     2,
     STATE2,
     "u64[3]",
     {KEY, 1},
     3,
     {0xe19a60b4b0f4215b, 0xacf8c4dc0b3d7494, 0x6b35c4f4aaa4d889}},
    {"rng_three_fry",
     2,
     STATE2,
     "u8[3,4]",
     {KEY, 4},
     12,
     {0x5b, 0xb4, 0x94, 0xdc, 0x89, 0xf4, 0x7, 0x13, 0xf1, 0xe4, 0xd8, 0xe3}},
    {"rng_three_fry",
     2,
     STATE2,
     "u16[3,5]",
     {KEY, 7},
     15,
     {0x215b, 0x60b4, 0x7494, 0xc4dc, 0xd889, 0x2907, 0x8613, 0xe5f1, 0x7fe4, 0x19d8, 0xbbbd,
      0xfd18, 0x29e, 0xf441, 0xe732}},
    {"rng_three_fry", 2, STATE2, "u32[]", {KEY, UINT64_MAX}, 1, {0xb0f4215b}},
    {"rng_three_fry", 2, STATE2, "f16[2]", {KEY, UINT64_MAX}, 2, {0x215b, 0x60b4}},
    {"rng_three_fry",
     2,
     STATE2,
     "f32[4]",
     {KEY, 0},
     4,
     {0xb0f4215b, 0xe19a60b4, 0xb3d7494, 0xacf8c4dc}},
    {"rng_three_fry",
     2,
     STATE2,
     "u32[3,2,3]",
     {KEY, 7},
     18,
     {0xb0f4215b, 0xb3d7494, 0xaaa4d889, 0xe19a60b4, 0xacf8c4dc, 0x6b35c4f4, 0x75a52907, 0x35d0e5f1,
      0x7c2f19d8, 0xd3dd8613, 0x8ed17fe4, 0x284dbe3, 0xde79bbbd, 0xb09d029e, 0x6ca3e732, 0x1713fd18,
      0x7d84f441, 0xa43b6b39}},
    {"rng_philox",
     3,
     STATE3,
     "u32[5]",
     {KEY, 0, 0x78},
     5,
     {0x366d109d, 0xfd80a598, 0x79e6b6c, 0xeb708605, 0xa64b3ebe}},
    {"rng_philox",
     3,
     STATE3,
     "u64[3]",
     {KEY, 0, 0x78},
     3,
     {0xfd80a598366d109d, 0xeb708605079e6b6c, 0x6708d3e5a64b3ebe}},
    {"rng_philox",
     3,
     STATE3,
     "u8[3,4]",
     {KEY, 1, 0x78},
     12,
     {0x9d, 0x98, 0x6c, 0x5, 0xbe, 0xe5, 0xf9, 0xcf, 0xb8, 0x5d, 0xe9, 0xd5}},
    {"rng_philox",
     3,
     STATE3,
     "s32[4]",
     {KEY, UINT64_MAX, 0x77},
     4,
     {0x366d109d, 0xfd80a598, 0x79e6b6c, 0xeb708605}},
    {"rng_philox",
     3,
     STATE3,
     "u16[3,5]",
     {KEY, 2, 0x78},
     15,
     {0x109d, 0xa598, 0x6b6c, 0x8605, 0x3ebe, 0xd3e5, 0x6cf9, 0x9ccf, 0xefb8, 0x2c5d, 0x35e9,
      0xa8d5, 0xd11a, 0x105e, 0x9b00}},
    {"rng_philox",
     2,
     STATE2,
     "u32[5]",
     {KEY, 0},
     5,
     {0xa485194, 0x41c5f806, 0xd6822fee, 0x3885a3d4, 0x41eb59f3}},
    {"rng_philox",
     2,
     STATE2,
     "u64[3]",
     {KEY, 0},
     3,
     {0x41c5f8060a485194, 0x3885a3d4d6822fee, 0x307385e041eb59f3}},
    {"rng_default",
     3,
     STATE3,
     "u32[5]",
     {KEY, 0, 0x78},
     5,
     {0x366d109d, 0xfd80a598, 0x79e6b6c, 0xeb708605, 0xa64b3ebe}},
    {"rng_default",
     2,
     STATE2,
     "u8[3,4]",
     {KEY, 1},
     12,
     {0x94, 0x6, 0xee, 0xd4, 0xf3, 0xe0, 0x89, 0x7c, 0x64, 0xde, 0x8e, 0x68}},
};

static void check_expectation(const struct expectation *want)
{
    struct one_op op;
    struct literal *result =
        generate(&op, want->algorithm, want->state, want->state_size, want->shape);
    for (int i = 0; i < want->state_size; i++) {
        ck_assert_uint_eq(literal_get_bits(result->elements[0], i), want->new_state[i]);
    }
    ck_assert_int_eq(literal_elements(result->elements[1]), want->count);
    for (int i = 0; i < want->count; i++) {
        ck_assert_msg(literal_get_bits(result->elements[1], i) == want->elements[i],
                      "%s %s element %d: %llx", want->algorithm, want->shape, i,
                      (unsigned long long)literal_get_bits(result->elements[1], i));
    }
    literal_release(result);
    one_op_finish(&op);
}

START_TEST(test_published)
{
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        check_expectation(&published[i]);
    }
}
END_TEST

START_TEST(test_as_xla)
{
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) {
        check_expectation(&recorded[i]);
    }
}
END_TEST

START_TEST(test_no_elements)
{
    static const uint64_t state[3] = {1, 2, 3};
    struct one_op op;
    struct literal *result = generate(&op, "rng_three_fry", state, 2, "u32[3,0]");
    ck_assert_uint_eq(literal_get_bits(result->elements[0], 1), 2);
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

/* --- rng --- */

static struct literal *draw(struct one_op *op, const char *type, const char *distribution, double a,
                            double b)
{
    char body[256];
    snprintf(body, sizeof body,
             "a = %s[] parameter(0)\nb = %s[] parameter(1)\nROOT r = %s[20000] rng(a, b), "
             "distribution=%s",
             type, type, type, distribution);
    one_op_init(op, body);
    if (type_is_float(op->values[0]->shape->type)) {
        literal_set_double(op->values[0], 0, a);
        literal_set_double(op->values[1], 0, b);
    } else {
        literal_set_int(op->values[0], 0, (int64_t)a);
        literal_set_int(op->values[1], 0, (int64_t)b);
    }
    return one_op_run(op, eval_rng);
}

static void check_moments(const char *type, const char *distribution, double a, double b,
                          double mean, double deviation)
{
    struct one_op op;
    struct literal *result = draw(&op, type, distribution, a, b);
    int64_t count = literal_elements(result);
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < count; i++) {
        double value = literal_get_double(result, i);
        if (strcmp(distribution, "rng_uniform") == 0) {
            ck_assert(value >= a && value < b);
        }
        ck_assert(literal_is_unspecified(result, i));
        sum += value;
        squares += (value - mean) * (value - mean);
    }
    ck_assert_double_eq_tol(sum / (double)count, mean, 5 * deviation / sqrt((double)count));
    ck_assert_double_eq_tol(sqrt(squares / (double)count), deviation, deviation * 0.05);
    literal_release(result);
    one_op_finish(&op);
}

START_TEST(test_moments)
{
    check_moments("f32", "rng_uniform", -2, 3, 0.5, 5 / sqrt(12));
    check_moments("bf16", "rng_uniform", 0, 1, 0.5, 1 / sqrt(12));
    check_moments("f64", "rng_normal", 3, 2, 3, 2);
    check_moments("s32", "rng_uniform", -10, 11, 0, sqrt((21. * 21 - 1) / 12));
    check_moments("u8", "rng_uniform", 0, 200, 99.5, sqrt((200. * 200 - 1) / 12));
}
END_TEST

/* Another seed and the next instruction draw other numbers; the same ones the same. */
START_TEST(test_streams)
{
    struct one_op op;
    struct literal *first = draw(&op, "f32", "rng_uniform", 0, 1);
    bool dying[2] = {0};
    struct operands operands = {.count = 2, .values = op.values, .dying = dying};
    struct evaluation evaluation = {.module = op.module};
    struct literal *again = eval_rng(&evaluation, op.instruction, &operands, NULL);
    struct literal *next = eval_rng(&evaluation, op.instruction, &operands, NULL);
    struct evaluation seeded = {.module = op.module, .options = {.seed = 7}};
    struct literal *other = eval_rng(&seeded, op.instruction, &operands, NULL);
    ck_assert(literal_equal(first, again));
    ck_assert(!literal_equal(first, next));
    ck_assert(!literal_equal(first, other));
    literal_release(first);
    literal_release(again);
    literal_release(next);
    literal_release(other);
    one_op_finish(&op);
}
END_TEST

/* Without a new state: the bits alone. */
START_TEST(test_bits_alone)
{
    struct one_op op;
    one_op_init(&op, "s = u64[3] parameter(0)\n"
                     "ROOT r = u32[4] rng-bit-generator(s), algorithm=rng_philox");
    struct literal *result = one_op_run(&op, eval_rng_bit_generator);
    for (int i = 0; i < 4; i++) {
        ck_assert_uint_eq((uint64_t)literal_get_int(result, i), published[0].elements[i]);
    }
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interp_rng");
    TCase *tests = tcase_create("rng");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, test_bits_alone);
    tcase_add_test(tests, test_published);
    tcase_add_test(tests, test_as_xla);
    tcase_add_test(tests, test_no_elements);
    tcase_add_test(tests, test_moments);
    tcase_add_test(tests, test_streams);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
