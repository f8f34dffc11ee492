/* Quantized MLIR as HLO: quantize and dequantize by the formulas of StableHLO's specification
 * ("Quantization computations"), written out here in C; other ops against programs that say
 * dequantize, op, quantize. */
#include <math.h>
#include <stdio.h>

#include "hlo/base/rng.h"
#include "tests/interp/evaluate_mlir.h"

/* --- quantize, dequantize --- */

struct quantization {
    const char *type;    /* of the elements: "i8:f32, 0.5:3" */
    const char *storage; /* "i8" */
    int axis;            /* −1: one scale */
    double scales[3];
    int zero_points[3];
    double minimum, maximum;
};

static const struct quantization quantizations[] = {
    {"i8:f32, 0.3:-5", "i8", -1, {0.3}, {-5}, -128, 127},
    {"i8<-127:127>:f32, 0.25", "i8", -1, {0.25}, {0}, -127, 127},
    {"u8:f32, 0.1:128", "ui8", -1, {0.1}, {128}, 0, 255},
    {"i16:f32, 0.001:7", "i16", -1, {0.001}, {7}, -32768, 32767},
    {"i4:f32, 0.7:1", "i4", -1, {0.7}, {1}, -8, 7},
    {"i8:f32:1, {0.5, 0.2:3, 4.0:-128}", "i8", 1, {0.5, 0.2, 4.0}, {0, 3, -128}, -128, 127},
};
enum { ROWS = 40, COLUMNS = 3 };

/* The formulas, every step rounded to f32. */
static double quantize(const struct quantization *q, float x, int column)
{
    const int i = q->axis < 0 ? 0 : column;
    const float scaled = x / (float)q->scales[i];
    const float moved = scaled + (float)q->zero_points[i];
    const float clamped = fminf(fmaxf((float)q->minimum, moved), (float)q->maximum);
    return rint(clamped);
}

static float dequantize(const struct quantization *q, double stored, int column)
{
    const int i = q->axis < 0 ? 0 : column;
    const float difference = (float)(stored - q->zero_points[i]);
    return difference * (float)q->scales[i];
}

static struct literal *run(const char *text, struct literal *argument)
{
    struct error err = {0};
    struct module *module = import_text(text, &argument, 1, &err);
    ck_assert_msg(module != NULL, "%s\n%s", err.message, text);
    struct literal *result = interp_evaluate(module, &argument, 1, NULL, &err);
    ck_assert_msg(result != NULL, "%s\n%s", err.message, text);
    module_destroy(module);
    return result;
}

START_TEST(test_formulas)
{
    const int64_t sizes[] = {ROWS, COLUMNS};
    struct rng rng;
    rng_init(&rng, 21);
    for (size_t k = 0; k < sizeof quantizations / sizeof *quantizations; k++) {
        const struct quantization *q = &quantizations[k];
        struct error err = {0};
        struct literal *x = literal_create(shape_array(TYPE_F32, 2, sizes), &err);
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            /* Values around the range, half of them on ties. */
            const double wide = (q->maximum - q->minimum) * 1.2 * (rng_uniform(&rng) - 0.5);
            const double s = q->scales[q->axis < 0 ? 0 : i % COLUMNS];
            literal_set_double(x, i, i % 2 == 0 ? wide * s : (floor(wide) + 0.5) * s);
        }
        literal_set_double(x, 0, INFINITY);
        literal_set_double(x, 1, -INFINITY);
        char text[1000];
        snprintf(text, sizeof text,
                 "func.func @main(%%a: tensor<40x3xf32>) -> tensor<40x3x%s> {\n"
                 "  %%0 = stablehlo.uniform_quantize %%a : (tensor<40x3xf32>) -> "
                 "tensor<40x3x!quant.uniform<%s>>\n"
                 "  %%1 = stablehlo.bitcast_convert %%0 : (tensor<40x3x!quant.uniform<%s>>) -> "
                 "tensor<40x3x%s>\n  return %%1 : tensor<40x3x%s>\n}\n",
                 q->storage, q->type, q->type, q->storage, q->storage);
        struct literal *stored = run(text, x);
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            const double want = quantize(q, (float)literal_get_double(x, i), i % COLUMNS);
            ck_assert_msg(literal_get_int(stored, i) == (int64_t)want,
                          "%s: %g becomes %lld, not %g", q->type, literal_get_double(x, i),
                          (long long)literal_get_int(stored, i), want);
        }
        snprintf(text, sizeof text,
                 "func.func @main(%%a: tensor<40x3x%s>) -> tensor<40x3xf32> {\n"
                 "  %%0 = stablehlo.bitcast_convert %%a : (tensor<40x3x%s>) -> "
                 "tensor<40x3x!quant.uniform<%s>>\n"
                 "  %%1 = stablehlo.uniform_dequantize %%0 : (tensor<40x3x!quant.uniform<%s>>) -> "
                 "tensor<40x3xf32>\n  return %%1 : tensor<40x3xf32>\n}\n",
                 q->storage, q->storage, q->type, q->type);
        struct literal *back = run(text, stored);
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            const float want = dequantize(q, (double)literal_get_int(stored, i), i % COLUMNS);
            ck_assert_msg((float)literal_get_double(back, i) == want, "%s: %lld becomes %g, not %g",
                          q->type, (long long)literal_get_int(stored, i),
                          literal_get_double(back, i), want);
        }
        literal_release(x);
        literal_release(stored);
        literal_release(back);
    }
}
END_TEST

/* One scale for a block of 1 × 2. */
START_TEST(test_blocks)
{
    check_mlir("func.func @main(%a: tensor<2x4xi8>) -> tensor<2x4xf32> {\n"
               "  %0 = stablehlo.bitcast_convert %a : (tensor<2x4xi8>) -> "
               "tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{1.0, 2.0:1}, {4.0, 8.0}}>>\n"
               "  %1 = stablehlo.uniform_dequantize %0 : "
               "(tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{1.0, 2.0:1}, {4.0, 8.0}}>>) -> "
               "tensor<2x4xf32>\n  return %1 : tensor<2x4xf32>\n}\n",
               "s8[2,4] {{1, 2, 3, 4}, {5, 6, 7, 8}}", NULL, NULL, NULL,
               "f32[2,4] {{1, 2, 4, 6}, {20, 24, 56, 64}}");
}
END_TEST

/* --- other ops --- */

#define A "!quant.uniform<i8:f32, 0.5:-3>"
#define B "!quant.uniform<i8:f32, 0.25:5>"
#define C "!quant.uniform<i32:f32, 0.125>"
/* A program on %a and %b, two tensors of 2 × 2 in f32: quantized as A and B, then `body`, which
 * makes %r of type R. */
#define PROGRAM(body, R)                                                                       \
    "func.func @main(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>) -> " R " {\n"                   \
    "  %qa = stablehlo.uniform_quantize %a : (tensor<2x2xf32>) -> tensor<2x2x" A ">\n"         \
    "  %qb = stablehlo.uniform_quantize %b : (tensor<2x2xf32>) -> tensor<2x2x" B ">\n"         \
    "  %da = stablehlo.uniform_dequantize %qa : (tensor<2x2x" A ">) -> tensor<2x2xf32>\n"      \
    "  %db = stablehlo.uniform_dequantize %qb : (tensor<2x2x" B ">) -> tensor<2x2xf32>\n" body \
    "  return %r : " R "\n}\n"
/* The quantized result as reals. */
#define REALS(type, T) "  %r = stablehlo.uniform_dequantize %q : (" type ">) -> " T "\n"
#define THROUGH(type, T) \
    "  %q = stablehlo.uniform_quantize %f : (" T ") -> " type ">\n" REALS(type, T)

static void check_same(const char *quantized, const char *reals)
{
    static const char a[] = "f32[2,2] {{1.2, -3.7}, {40.3, 0}}";
    static const char b[] = "f32[2,2] {{-2.5, 7.1}, {0.3, 30}}";
    struct literal *got = evaluate_mlir(quantized, a, b, NULL, NULL);
    struct literal *want = evaluate_mlir(reals, a, b, NULL, NULL);
    ck_assert_msg(literal_equal(got, want), "%s", quantized);
    literal_release(got);
    literal_release(want);
}

#define T22 "tensor<2x2xf32>"
#define BINARY(op)                                                                            \
    check_same(PROGRAM("  %q = stablehlo." op " %qa, %qb : (tensor<2x2x" A ">, tensor<2x2x" B \
                       ">) -> tensor<2x2x" C ">\n" REALS("tensor<2x2x" C, T22),               \
                       T22),                                                                  \
               PROGRAM("  %f = stablehlo." op " %da, %db : " T22                              \
                       "\n" THROUGH("tensor<2x2x" C, T22),                                    \
                       T22))
#define UNARY(op)                                                                    \
    check_same(                                                                      \
        PROGRAM("  %q = stablehlo." op " %qa : (tensor<2x2x" A ">) -> tensor<2x2x" B \
                ">\n" REALS("tensor<2x2x" B, T22),                                   \
                T22),                                                                \
        PROGRAM("  %f = stablehlo." op " %da : " T22 "\n" THROUGH("tensor<2x2x" B, T22), T22))

START_TEST(test_elementwise)
{
    BINARY("add");
    BINARY("subtract");
    BINARY("multiply");
    BINARY("divide");
    BINARY("maximum");
    BINARY("power");
    UNARY("abs");
    UNARY("ceil");
    UNARY("cosine");
    UNARY("exponential");
    UNARY("negate");
    UNARY("sign");
    UNARY("tanh");
    check_same(PROGRAM("  %r = stablehlo.compare LT, %qa, %qb : (tensor<2x2x" A ">, tensor<2x2x" B
                       ">) -> tensor<2x2xi1>\n",
                       "tensor<2x2xi1>"),
               PROGRAM("  %r = stablehlo.compare LT, %da, %db : (" T22 ", " T22
                       ") -> tensor<2x2xi1>\n",
                       "tensor<2x2xi1>"));
    check_same(
        PROGRAM("  %p = stablehlo.compare LT, %a, %b : (" T22 ", " T22 ") -> tensor<2x2xi1>\n"
                "  %q = \"stablehlo.select\"(%p, %qa, %qb) : (tensor<2x2xi1>, tensor<2x2x" A
                ">, tensor<2x2x" B ">) -> tensor<2x2x" C ">\n" REALS("tensor<2x2x" C, T22),
                T22),
        PROGRAM("  %p = stablehlo.compare LT, %a, %b : (" T22 ", " T22 ") -> tensor<2x2xi1>\n"
                "  %f = stablehlo.select %p, %da, %db : tensor<2x2xi1>, " T22
                "\n" THROUGH("tensor<2x2x" C, T22),
                T22));
}
END_TEST

START_TEST(test_contractions)
{
    check_same(
        PROGRAM(
            "  %q = stablehlo.dot_general %qa, %qb, contracting_dims = [1] x [0] : (tensor<2x2x" A
            ">, tensor<2x2x" B ">) -> tensor<2x2x" C ">\n" REALS("tensor<2x2x" C, T22),
            T22),
        PROGRAM("  %f = stablehlo.dot_general %da, %db, contracting_dims = [1] x [0] : (" T22
                ", " T22 ") -> " T22 "\n" THROUGH("tensor<2x2x" C, T22),
                T22));
    /* Weights alone are quantized. */
    check_same(PROGRAM("  %r = stablehlo.dot_general %a, %qb, contracting_dims = [1] x [0] : (" T22
                       ", tensor<2x2x" B ">) -> " T22 "\n",
                       T22),
               PROGRAM("  %r = stablehlo.dot_general %a, %db, contracting_dims = [1] x [0] : (" T22
                       ", " T22 ") -> " T22 "\n",
                       T22));
}
END_TEST

/* What is stored moves. */
START_TEST(test_moves)
{
    check_same(
        PROGRAM("  %q = stablehlo.transpose %qa, dims = [1, 0] : (tensor<2x2x" A
                ">) -> tensor<2x2x" A ">\n" REALS("tensor<2x2x" A, T22),
                T22),
        PROGRAM("  %r = stablehlo.transpose %da, dims = [1, 0] : (" T22 ") -> " T22 "\n", T22));
    check_same(
        PROGRAM("  %q = stablehlo.reshape %qa : (tensor<2x2x" A ">) -> tensor<4x" A
                ">\n" REALS("tensor<4x" A, "tensor<4xf32>"),
                "tensor<4xf32>"),
        PROGRAM("  %r = stablehlo.reshape %da : (" T22 ") -> tensor<4xf32>\n", "tensor<4xf32>"));
    /* A reducer of quantized values: dequantized, added and quantized again each time. */
    check_mlir(PROGRAM("  %z = stablehlo.constant() <{value = dense<-3> : tensor<i8>}> : () -> "
                       "tensor<" A ">\n"
                       "  %q = \"stablehlo.reduce\"(%qa, %z) <{dimensions = array<i64: 1>}> ({\n"
                       "  ^bb0(%x: tensor<" A ">, %y: tensor<" A ">):\n"
                       "    %s = stablehlo.add %x, %y : tensor<" A ">\n"
                       "    stablehlo.return %s : tensor<" A ">\n"
                       "  }) : (tensor<2x2x" A ">, tensor<" A ">) -> tensor<2x" A
                       ">\n" REALS("tensor<2x" A, "tensor<2xf32>"),
                       "tensor<2xf32>"),
               "f32[2,2] {{1, 2.5}, {60, 20}}", "f32[2,2] {{1, 2}, {3, 4}}", NULL, NULL,
               "f32[2] {3.5, 65}"); /* (127 + 3) · 0.5 is the most */
    check_mlir_fails(PROGRAM("  %q = stablehlo.reverse %qa, dims = [1] : (tensor<2x2x" A
                             ">) -> tensor<2x2x" A ">\n"
                             "  %w = stablehlo.reshape %qa : (tensor<2x2x" A ">) -> tensor<2x2x" B
                             ">\n" REALS("tensor<2x2x" A, T22),
                             T22),
                     "f32[2,2] {{1, 2.5}, {60, 20}}", "f32[2,2] {{1, 2}, {3, 4}}",
                     ERROR_INVALID_ARGUMENT, "quantized in another way");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mlir_quantized");
    TCase *cases = tcase_create("mlir_quantized");
    tcase_add_test(cases, test_formulas);
    tcase_add_test(cases, test_blocks);
    tcase_add_test(cases, test_elementwise);
    tcase_add_test(cases, test_contractions);
    tcase_add_test(cases, test_moves);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
