/* Elementwise instructions on integers of 16, 32 and 64 bits (and the narrower ones again) against
 * arithmetic on sequences of bits: numbers are held as 144 bits in two's complement, added bit by
 * bit, multiplied by shifts and additions, divided by long division. Slow and plain, and nothing of
 * it is the golden's. All pairs of boundary values, and random ones. Runs itself again at each
 * vector level. */
#include "tests/interp/elementwise_op.h"

enum { BITS = 144 };

struct number {
    bool bit[BITS];
};

static struct number of(enum type type, uint64_t bits)
{
    struct number n;
    const int width = type_bits(type);
    for (int i = 0; i < BITS; i++) {
        const int place = i < width ? i : width - 1;
        n.bit[i] = (bits >> place & 1) != 0 && (i < width || type_kind(type) == KIND_SIGNED);
    }
    return n;
}

/* The low bits, as the type wraps. */
static uint64_t wrapped(enum type type, const struct number *n)
{
    uint64_t bits = 0;
    for (int i = 0; i < type_bits(type); i++) {
        bits |= (uint64_t)n->bit[i] << i;
    }
    return bits;
}

static struct number plus(struct number a, struct number b, bool carry)
{
    struct number sum;
    for (int i = 0; i < BITS; i++) {
        sum.bit[i] = (a.bit[i] ^ b.bit[i] ^ carry) != 0;
        carry = (a.bit[i] && b.bit[i]) || (carry && (a.bit[i] || b.bit[i]));
    }
    return sum;
}
static struct number invert(struct number a)
{
    for (int i = 0; i < BITS; i++) {
        a.bit[i] = !a.bit[i];
    }
    return a;
}
static struct number minus(struct number a, struct number b)
{
    return plus(a, invert(b), true);
}
static struct number opposite(struct number a)
{
    return minus((struct number){{false}}, a);
}
static bool negative(struct number a)
{
    return a.bit[BITS - 1];
}
static bool less(struct number a, struct number b)
{
    return negative(minus(a, b));
}
static bool zero(struct number a)
{
    for (int i = 0; i < BITS; i++) {
        if (a.bit[i]) {
            return false;
        }
    }
    return true;
}
static struct number shifted(struct number a, int places)
{
    struct number out = {{false}};
    for (int i = 0; i < BITS; i++) {
        out.bit[i] =
            i - places >= 0 && i - places < BITS ? a.bit[i - places] : places < 0 && negative(a);
    }
    return out;
}
static struct number times(struct number a, struct number b)
{
    struct number product = {{false}};
    if (negative(b)) { /* fewer ones */
        return opposite(times(a, opposite(b)));
    }
    for (int i = 0; i < BITS; i++) {
        if (b.bit[i]) {
            product = plus(product, shifted(a, i), false);
        }
    }
    return product;
}
/* Toward zero, for b ≠ 0; the remainder has the sign of a. */
static struct number quotient(struct number a, struct number b, struct number *rest)
{
    const bool turned = negative(a) != negative(b), below = negative(a);
    struct number out = {{false}};
    a = negative(a) ? opposite(a) : a;
    b = negative(b) ? opposite(b) : b;
    *rest = (struct number){{false}};
    for (int i = 64; i >= 0; i--) {
        *rest = shifted(*rest, 1);
        rest->bit[0] = a.bit[i];
        out.bit[i] = !less(*rest, b);
        *rest = out.bit[i] ? minus(*rest, b) : *rest;
    }
    *rest = below ? opposite(*rest) : *rest;
    return turned ? opposite(out) : out;
}

/* --- what HLO means --- */

enum op {
    ADD,
    SUBTRACT,
    MULTIPLY,
    MULHI,
    DIVIDE,
    REMAINDER,
    POWER,
    MAXIMUM,
    MINIMUM,
    AND,
    OR,
    XOR,
    SHIFT_LEFT,
    SHIFT_RIGHT_LOGICAL,
    SHIFT_RIGHT_ARITHMETIC,
    BINARY_COUNT
};
static const char *const binary_names[] = {"add",
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
                                           "shift-right-arithmetic"};

/* Powers multiply and wrap; a negative exponent leaves what 1 / a^n truncates to. */
static struct number power(enum type type, struct number a, struct number b)
{
    const struct number one = of(TYPE_U8, 1);
    if (negative(b)) {
        const bool is_one = zero(minus(a, one)), is_minus_one = zero(plus(a, one, false));
        return is_one || (is_minus_one && !b.bit[0]) ? one
               : is_minus_one                        ? a
                                                     : (struct number){{false}};
    }
    struct number out = one;
    for (int i = type_bits(type) - 1; i >= 0; i--) { /* from the exponent's top */
        out = of(TYPE_U64, wrapped(TYPE_U64, &out));
        out = times(out, out);
        out = of(TYPE_U64, wrapped(TYPE_U64, &out));
        out = b.bit[i] ? times(out, a) : out;
    }
    return out;
}

static uint64_t binary(enum op op, enum type type, uint64_t a_bits, uint64_t b_bits)
{
    const int width = type_bits(type);
    const struct number a = of(type, a_bits), b = of(type, b_bits);
    struct number rest, out = {{false}};
    /* Shift counts are unsigned: what is negative is out of range. */
    const int count = b_bits < (uint64_t)width ? (int)b_bits : width;
    switch (op) {
    case ADD:
        out = plus(a, b, false);
        break;
    case SUBTRACT:
        out = minus(a, b);
        break;
    case MULTIPLY:
        out = times(a, b);
        break;
    case MULHI:
        out = shifted(times(a, b), -width);
        break;
    case DIVIDE: /* by zero: all ones */
        out = zero(b) ? invert(out) : quotient(a, b, &rest);
        break;
    case REMAINDER: /* by zero: the dividend */
        rest = a;
        out = zero(b) ? a : quotient(a, b, &rest);
        out = rest;
        break;
    case POWER:
        out = power(type, a, b);
        break;
    case MAXIMUM:
        out = less(a, b) ? b : a;
        break;
    case MINIMUM:
        out = less(a, b) ? a : b;
        break;
    case AND:
        return a_bits & b_bits;
    case OR:
        return a_bits | b_bits;
    case XOR:
        return a_bits ^ b_bits;
    case SHIFT_LEFT:
        out = count == width ? out : shifted(a, count);
        break;
    case SHIFT_RIGHT_LOGICAL: {
        const struct number plain = of(TYPE_U64, a_bits);
        out = count == width ? out : shifted(plain, -count);
        break;
    }
    default: { /* the top bit comes in, of unsigned types, too */
        struct number filled = a;
        for (int i = width; i < BITS; i++) {
            filled.bit[i] = a.bit[width - 1];
        }
        out = shifted(filled, -count);
        break;
    }
    }
    return wrapped(type, &out);
}

static const enum type types[] = {TYPE_S64, TYPE_U64, TYPE_S32, TYPE_U32, TYPE_S16,
                                  TYPE_U16, TYPE_S8,  TYPE_U8,  TYPE_S4,  TYPE_U4,
                                  TYPE_S2,  TYPE_U2,  TYPE_S1,  TYPE_U1};

/* Boundary values of any width, as bits of 64. */
static uint64_t boundary(int i, int width)
{
    static const int64_t near_zero[] = {0, 1, 2, 3, 5, 7, -1, -2, -3, -7, 31, 32, 33, 63, 64, 65};
    enum { NEAR = sizeof near_zero / sizeof near_zero[0] };
    if (i < NEAR) {
        return (uint64_t)near_zero[i];
    }
    const uint64_t top = UINT64_C(1) << (width - 1);
    const uint64_t others[] = {top,
                               top + 1,
                               top - 1,
                               top - 2,
                               top >> 1,
                               (top >> 1) - 1,
                               0x5555555555555555,
                               0xaaaaaaaaaaaaaaab,
                               (uint64_t)width,
                               UINT64_C(1) << (width / 2)};
    return others[i - NEAR];
}
enum { BOUNDARIES = 26, RANDOM = 200 };

static uint64_t stored(enum type type, uint64_t bits)
{
    const int unused = 64 - type_bits(type);
    return type_kind(type) == KIND_SIGNED ? (uint64_t)((int64_t)(bits << unused) >> unused)
                                          : bits << unused >> unused;
}

START_TEST(test_binary)
{
    const enum op op = (enum op)_i;
    struct rng rng;
    rng_init(&rng, 51);
    for (int t = 0; t < LENGTH(types); t++) {
        const enum type type = types[t], operand_types[] = {type, type};
        const int width = type_bits(type);
        const int64_t count = BOUNDARIES * BOUNDARIES + RANDOM;
        struct one_op one;
        op_init(&one, binary_names[op], type, 2, operand_types, count, "");
        for (int64_t i = 0; i < count; i++) {
            const bool random = i >= BOUNDARIES * BOUNDARIES;
            uint64_t a = random ? rng_next(&rng) >> rng_below(&rng, 64)
                                : boundary((int)i % BOUNDARIES, width);
            uint64_t b = random ? rng_next(&rng) >> rng_below(&rng, 64)
                                : boundary((int)i / BOUNDARIES, width);
            literal_set_bits(one.values[0], i, stored(type, i % 3 == 0 ? 0 - a : a));
            literal_set_bits(one.values[1], i, stored(type, b));
        }
        struct literal *result = run(&one);
        const uint64_t mask = UINT64_MAX >> (64 - width);
        for (int64_t i = 0; i < count; i++) {
            const uint64_t a = literal_get_bits(one.values[0], i) & mask;
            const uint64_t b = literal_get_bits(one.values[1], i) & mask;
            const uint64_t want = stored(type, binary(op, type, a, b));
            const uint64_t got = stored(type, literal_get_bits(result, i));
            REQUIRE(got == want, "%s %s(%llx, %llx) = %llx, not %llx", type_text(type),
                    binary_names[op], (unsigned long long)a, (unsigned long long)b,
                    (unsigned long long)got, (unsigned long long)want);
        }
        literal_release(result);
        one_op_finish(&one);
    }
}
END_TEST

static const char *const unary_names[] = {"abs", "negate", "sign",
                                          "not", "popcnt", "count-leading-zeros"};

static uint64_t unary(const char *name, enum type type, uint64_t bits)
{
    const struct number a = of(type, bits), one = of(TYPE_U8, 1);
    const int width = type_bits(type);
    struct number out = {{false}};
    int count = 0;
    switch (name[0]) {
    case 'a':
        out = negative(a) ? opposite(a) : a;
        break;
    case 'n':
        out = name[1] == 'e' ? opposite(a) : invert(a);
        break;
    case 's':
        out = zero(a) ? a : negative(a) ? opposite(one) : one;
        break;
    case 'p':
        for (int i = 0; i < width; i++) {
            count += a.bit[i];
        }
        return (uint64_t)count;
    default:
        for (int i = width - 1; i >= 0 && !a.bit[i]; i--) {
            count++;
        }
        return (uint64_t)count;
    }
    return wrapped(type, &out);
}

START_TEST(test_unary)
{
    const char *name = unary_names[_i];
    struct rng rng;
    rng_init(&rng, 52);
    for (int t = 0; t < LENGTH(types); t++) {
        const enum type type = types[t];
        const int width = type_bits(type);
        if (type_kind(type) == KIND_UNSIGNED && (name[0] == 'a' || name[0] == 's')) {
            continue; /* XLA has none */
        }
        const bool all = width <= 16;
        const int64_t count = all ? INT64_C(1) << width : BOUNDARIES + 2000;
        struct one_op one;
        op_init(&one, name, type, 1, &type, count, "");
        for (int64_t i = 0; i < count; i++) {
            const uint64_t bits = all              ? (uint64_t)i
                                  : i < BOUNDARIES ? boundary((int)i, width)
                                                   : rng_next(&rng) >> rng_below(&rng, 64);
            literal_set_bits(one.values[0], i, stored(type, bits));
        }
        struct literal *result = run(&one);
        for (int64_t i = 0; i < count; i++) {
            const uint64_t a = literal_get_bits(one.values[0], i) & UINT64_MAX >> (64 - width);
            const uint64_t want = stored(type, unary(name, type, a));
            const uint64_t got = stored(type, literal_get_bits(result, i));
            REQUIRE(got == want, "%s %s(%llx) = %llx, not %llx", type_text(type), name,
                    (unsigned long long)a, (unsigned long long)got, (unsigned long long)want);
        }
        literal_release(result);
        one_op_finish(&one);
    }
}
END_TEST

/* pred: and, or, xor, not are themselves; add and maximum are or, multiply and minimum and. */
START_TEST(test_pred)
{
    static const struct {
        const char *name;
        bool wants[4]; /* of (0, 0), (0, 1), (1, 0), (1, 1) */
    } cases[] = {
        {"and", {0, 0, 0, 1}},     {"or", {0, 1, 1, 1}},       {"xor", {0, 1, 1, 0}},
        {"add", {0, 1, 1, 1}},     {"multiply", {0, 0, 0, 1}}, {"maximum", {0, 1, 1, 1}},
        {"minimum", {0, 0, 0, 1}},
    };
    const enum type operand_types[] = {TYPE_PRED, TYPE_PRED};
    for (int c = 0; c < LENGTH(cases); c++) {
        struct one_op one;
        op_init(&one, cases[c].name, TYPE_PRED, 2, operand_types, 4, "");
        for (int64_t i = 0; i < 4; i++) {
            literal_set_int(one.values[0], i, i / 2);
            literal_set_int(one.values[1], i, i % 2);
        }
        struct literal *result = run(&one);
        for (int64_t i = 0; i < 4; i++) {
            ck_assert_msg(literal_get_int(result, i) == cases[c].wants[i], "pred %s(%d, %d)",
                          cases[c].name, (int)i / 2, (int)i % 2);
        }
        literal_release(result);
        one_op_finish(&one);
    }
}
END_TEST

int main(int argc, char **argv)
{
    (void)argc;
    TCase *all = tcase_create("elementwise integers");
    tcase_add_loop_test(all, test_binary, 0, BINARY_COUNT);
    tcase_add_loop_test(all, test_unary, 0, LENGTH(unary_names));
    tcase_add_test(all, test_pred);
    return run_suite("elementwise integers", all, argv);
}
