/* Elementwise instructions on complex numbers, as instructions on arrays longer than a strip: the
 * functions are those of exact.h, which its own tests hold against MPFR; parts, order and selection
 * by their definitions. Runs itself again at each vector level. */
#include "interp/exact.h"
#include "tests/interp/elementwise_op.h"

enum { COUNT = 1300 };
static const enum type types[] = {TYPE_C64, TYPE_C128};

static void fill(struct literal *literal, uint64_t seed)
{
    static const double special[] = {0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 0.5, 3};
    struct rng rng;
    rng_init(&rng, seed);
    for (int64_t i = 0; i < literal_elements(literal); i++) {
        double parts[2];
        for (int k = 0; k < 2; k++) {
            parts[k] = rng_below(&rng, 5) == 0 ? special[rng_below(&rng, LENGTH(special))]
                                               : random_double(&rng, 3);
        }
        literal_set_complex(literal, i, parts[0], parts[1]);
    }
}

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static void check(const struct literal *result, int64_t i, double re, double im, const char *what)
{
    REQUIRE(same(literal_get_double(result, i), re) && same(literal_get_imaginary(result, i), im),
            "%s %s [%lld]: (%a, %a), not (%a, %a)", type_text(result->shape->type), what,
            (long long)i, literal_get_double(result, i), literal_get_imaginary(result, i), re, im);
}

static const struct {
    const char *name;
    enum exact_function function;
} unary[] = {
    {"acos", EXACT_ACOS},
    {"acosh", EXACT_ACOSH},
    {"asin", EXACT_ASIN},
    {"asinh", EXACT_ASINH},
    {"atanh", EXACT_ATANH},
    {"cosh", EXACT_COSH},
    {"cosine", EXACT_COS},
    {"exponential", EXACT_EXP},
    {"exponential-minus-one", EXACT_EXPM1},
    {"log", EXACT_LOG},
    {"log-plus-one", EXACT_LOG1P},
    {"logistic", EXACT_LOGISTIC},
    {"rsqrt", EXACT_RSQRT},
    {"sine", EXACT_SIN},
    {"sinh", EXACT_SINH},
    {"sqrt", EXACT_SQRT},
    {"tan", EXACT_TAN},
    {"tanh", EXACT_TANH},
};

START_TEST(test_unary)
{
    for (int t = 0; t < LENGTH(types); t++) {
        struct one_op op;
        op_init(&op, unary[_i].name, types[t], 1, &types[t], COUNT, "");
        fill(op.values[0], 1);
        struct literal *result = run(&op);
        for (int64_t i = 0; i < COUNT; i++) {
            const double x = literal_get_double(op.values[0], i);
            const double y = literal_get_imaginary(op.values[0], i);
            double re, im;
            exact_complex_unary(unary[_i].function, type_part(types[t]), &x, &y, &re, &im, 1);
            check(result, i, re, im, unary[_i].name);
        }
        literal_release(result);
        one_op_finish(&op);
    }
}
END_TEST

static const struct {
    const char *name;
    enum exact_binary_function function;
} binary[] = {
    {"add", EXACT_ADD},       {"subtract", EXACT_SUBTRACT}, {"multiply", EXACT_MULTIPLY},
    {"divide", EXACT_DIVIDE}, {"power", EXACT_POWER},       {"atan2", EXACT_ATAN2},
};

START_TEST(test_binary)
{
    for (int t = 0; t < LENGTH(types); t++) {
        const enum type pair[] = {types[t], types[t]};
        struct one_op op;
        op_init(&op, binary[_i].name, types[t], 2, pair, COUNT, "");
        fill(op.values[0], 2);
        fill(op.values[1], 3);
        struct literal *result = run(&op);
        for (int64_t i = 0; i < COUNT; i++) {
            double v[4], re, im;
            for (int k = 0; k < 2; k++) {
                v[2 * k] = literal_get_double(op.values[k], i);
                v[2 * k + 1] = literal_get_imaginary(op.values[k], i);
            }
            exact_complex_binary(binary[_i].function, type_part(types[t]), &v[0], &v[1], &v[2],
                                 &v[3], &re, &im, 1);
            check(result, i, re, im, binary[_i].name);
        }
        literal_release(result);
        one_op_finish(&op);
    }
}
END_TEST

/* negate, sign, abs, real, imag. */
START_TEST(test_parts)
{
    static const char *const names[] = {"negate", "sign", "abs", "real", "imag"};
    for (int n = 0; n < LENGTH(names); n++) {
        for (int t = 0; t < LENGTH(types); t++) {
            const enum type part = type_part(types[t]);
            struct one_op op;
            op_init(&op, names[n], n < 2 ? types[t] : part, 1, &types[t], COUNT, "");
            fill(op.values[0], 4);
            struct literal *result = run(&op);
            for (int64_t i = 0; i < COUNT; i++) {
                const double x = literal_get_double(op.values[0], i);
                const double y = literal_get_imaginary(op.values[0], i);
                double re = -x, im = -y, size;
                if (n == 1) {
                    exact_complex_sign(part, &x, &y, &re, &im, 1);
                } else if (n > 1) {
                    exact_complex_abs(part, &x, &y, &size, 1);
                    const double wants[] = {size, x, y};
                    re = wants[n - 2];
                    im = literal_get_imaginary(result, i);
                }
                check(result, i, re, im, names[n]);
            }
            literal_release(result);
            one_op_finish(&op);
        }
    }
}
END_TEST

/* By real part, then imaginary part; a NaN in either is unordered. */
static int order_of(const double *a, const double *b)
{
    for (int k = 0; k < 4; k++) {
        if (isnan(k < 2 ? a[k] : b[k - 2])) {
            return 2;
        }
    }
    return a[0] != b[0] ? (a[0] > b[0]) - (a[0] < b[0]) : (a[1] > b[1]) - (a[1] < b[1]);
}

START_TEST(test_order)
{
    static const char *const directions[] = {"EQ", "NE"};
    for (int d = 0; d < LENGTH(directions) + 2; d++) {
        for (int t = 0; t < LENGTH(types); t++) {
            const enum type pair[] = {types[t], types[t]};
            const bool compares = d < LENGTH(directions);
            char attributes[64] = "";
            struct one_op op;
            if (compares) {
                snprintf(attributes, sizeof attributes, ", direction=%s", directions[d]);
            }
            const char *name = compares ? "compare" : d == 2 ? "maximum" : "minimum";
            op_init(&op, name, compares ? TYPE_PRED : types[t], 2, pair, COUNT, attributes);
            fill(op.values[0], 5);
            fill(op.values[1], 6);
            for (int64_t i = 0; i < COUNT; i += 3) { /* equal parts */
                literal_set_complex(op.values[1], i, literal_get_double(op.values[0], i),
                                    i % 2 == 0 ? literal_get_imaginary(op.values[0], i) : 1);
            }
            struct literal *result = run(&op);
            for (int64_t i = 0; i < COUNT; i++) {
                double v[2][2];
                for (int k = 0; k < 2; k++) {
                    v[k][0] = literal_get_double(op.values[k], i);
                    v[k][1] = literal_get_imaginary(op.values[k], i);
                }
                const int order = order_of(v[0], v[1]);
                if (compares) {
                    REQUIRE(literal_get_int(result, i) == (d == 0 ? order == 0 : order != 0),
                            "%s %s of (%g, %g) and (%g, %g)", type_text(types[t]), directions[d],
                            v[0][0], v[0][1], v[1][0], v[1][1]);
                } else if (order != 2 && order != 0) {
                    const double *want = (order > 0) == (d == 2) ? v[0] : v[1];
                    check(result, i, want[0], want[1], name);
                } else if (order == 2) {
                    REQUIRE(isnan(literal_get_double(result, i)) ||
                                isnan(literal_get_imaginary(result, i)),
                            "%s of a NaN", name);
                }
            }
            literal_release(result);
            one_op_finish(&op);
        }
    }
}
END_TEST

int main(int argc, char **argv)
{
    (void)argc;
    TCase *all = tcase_create("elementwise complex");
    tcase_add_loop_test(all, test_unary, 0, LENGTH(unary));
    tcase_add_loop_test(all, test_binary, 0, LENGTH(binary));
    tcase_add_test(all, test_parts);
    tcase_add_test(all, test_order);
    return run_suite("elementwise complex", all, argv);
}
