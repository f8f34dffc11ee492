/* CHLO as HLO: what its ops give (values from their definitions, ChloOps.td), and how far the
 * decompositions of its special functions are from the functions (interp/special.h, which
 * test_special.c holds against MPFR). */
#include <stdio.h>

#include "hlo/attr.h"
#include "hlo/base/rng.h"
#include "hlo/floats.h"
#include "interp/special.h"
#include "tests/interp/evaluate_mlir.h"
#include "tests/interp/exact_reference.h"

#define UNARY(op, from, to)                                               \
    "func.func @main(%a: tensor<" from ">) -> tensor<" to "> {\n"         \
    "  %0 = \"chlo." op "\"(%a) : (tensor<" from ">) -> tensor<" to ">\n" \
    "  return %0 : tensor<" to ">\n}\n"
#define BINARY(op, a, b, to)                                                              \
    "func.func @main(%a: tensor<" a ">, %b: tensor<" b ">) -> tensor<" to "> {\n"         \
    "  %0 = \"chlo." op "\"(%a, %b) : (tensor<" a ">, tensor<" b ">) -> tensor<" to ">\n" \
    "  return %0 : tensor<" to ">\n}\n"

START_TEST(test_elementwise)
{
    check_mlir(UNARY("atan", "3xf32", "3xf32"), "f32[3] {1, -inf, 0}", NULL, NULL, NULL,
               "f32[3] {0.785398185, -1.57079637, 0}");
    /* atan(1 + i) = 1.0172219678978514 + 0.40235947810852507 i (DLMF 4.23.36) */
    check_mlir(UNARY("atan", "1xcomplex<f32>", "1xcomplex<f32>"), "c64[1] {(1, 1)}", NULL, NULL,
               NULL, "c64[1] {(1.01722193, 0.402359486)}");
    check_mlir(UNARY("conj", "2xcomplex<f32>", "2xcomplex<f32>"), "c64[2] {(1, 2), (3, -4)}", NULL,
               NULL, NULL, "c64[2] {(1, -2), (3, 4)}");
    check_mlir(UNARY("conj", "2xf32", "2xf32"), "f32[2] {1, -2}", NULL, NULL, NULL,
               "f32[2] {1, -2}");
    check_mlir(UNARY("square", "2xf32", "2xf32"), "f32[2] {3, -2}", NULL, NULL, NULL,
               "f32[2] {9, 4}");
    check_mlir(UNARY("square", "1xcomplex<f32>", "1xcomplex<f32>"), "c64[1] {(3, 2)}", NULL, NULL,
               NULL, "c64[1] {(5, 12)}");
    check_mlir(UNARY("is_inf", "4xf32", "4xi1"), "f32[4] {inf, -inf, nan, 1}", NULL, NULL, NULL,
               "pred[4] {1, 1, 0, 0}");
    check_mlir(UNARY("is_pos_inf", "4xf32", "4xi1"), "f32[4] {inf, -inf, nan, 1}", NULL, NULL, NULL,
               "pred[4] {1, 0, 0, 0}");
    check_mlir(UNARY("is_neg_inf", "4xf32", "4xi1"), "f32[4] {inf, -inf, nan, 1}", NULL, NULL, NULL,
               "pred[4] {0, 1, 0, 0}");
    check_mlir(UNARY("erf", "2xf32", "2xf32"), "f32[2] {0, inf}", NULL, NULL, NULL,
               "f32[2] {0, 1}");
    check_mlir_fails(UNARY("_asin_acos_kernel", "1xcomplex<f32>", "1xcomplex<f32>"),
                     "c64[1] {(3, 2)}", NULL, ERROR_UNIMPLEMENTED, "_asin_acos_kernel");
}
END_TEST

START_TEST(test_next_after)
{
    check_mlir(BINARY("next_after", "4xf32", "4xf32", "4xf32"), "f32[4] {1, 1, 0, 0}",
               "f32[4] {2, -2, 1, -1}", NULL, NULL,
               "f32[4] {1.00000012, 0.99999994, 1.40129846e-45, -1.40129846e-45}");
    check_mlir(BINARY("next_after", "4xf64", "4xf64", "4xf64"), "f64[4] {-1, nan, 0, inf}",
               "f64[4] {-2, 1, -0, 1}", NULL, NULL,
               "f64[4] {-1.0000000000000002, nan, -0, 1.7976931348623157e308}");
    check_mlir(BINARY("next_after", "3xbf16", "3xbf16", "3xbf16"),
               "bf16[3] {1, -0, 3.38953139e+38}", "bf16[3] {inf, 5, inf}", NULL, NULL,
               "bf16[3] {1.0078125, 9.18354962e-41, inf}");
}
END_TEST

START_TEST(test_broadcast)
{
    check_mlir(BINARY("broadcast_add", "2x1xf32", "3xf32", "2x3xf32"), "f32[2,1] {{10}, {20}}",
               "f32[3] {1, 2, 3}", NULL, NULL, "f32[2,3] {{11, 12, 13}, {21, 22, 23}}");
    check_mlir(BINARY("broadcast_subtract", "f32", "2xf32", "2xf32"), "f32[] 1", "f32[2] {1, 2}",
               NULL, NULL, "f32[2] {0, -1}");
    check_mlir(
        "func.func @main(%a: tensor<2xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {\n"
        "  %0 = \"chlo.broadcast_multiply\"(%a, %b) <{broadcast_dimensions = array<i64: 0>}> "
        ": (tensor<2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>\n"
        "  return %0 : tensor<2x3xf32>\n}\n",
        "f32[2] {2, 3}", "f32[2,3] {{1, 1, 1}, {1, 1, 2}}", NULL, NULL,
        "f32[2,3] {{2, 2, 2}, {3, 3, 6}}");
    check_mlir("func.func @main(%a: tensor<2xf32>, %b: tensor<f32>) -> tensor<2xi1> {\n"
               "  %0 = \"chlo.broadcast_compare\"(%a, %b) "
               "<{comparison_direction = #chlo<comparison_direction LT>}> "
               ": (tensor<2xf32>, tensor<f32>) -> tensor<2xi1>\n"
               "  return %0 : tensor<2xi1>\n}\n",
               "f32[2] {2, 3}", "f32[] 3", NULL, NULL, "pred[2] {1, 0}");
    check_mlir("func.func @main(%p: tensor<i1>, %a: tensor<2xf32>, %b: tensor<f32>) -> "
               "tensor<2xf32> {\n"
               "  %0 = \"chlo.broadcast_select\"(%p, %a, %b) "
               ": (tensor<i1>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>\n"
               "  return %0 : tensor<2xf32>\n}\n",
               "pred[] 0", "f32[2] {2, 3}", "f32[] 3", NULL, "f32[2] {3, 3}");
    check_mlir(BINARY("broadcast_next_after", "2xf32", "f32", "2xf32"), "f32[2] {1, 2}", "f32[] 1",
               NULL, NULL, "f32[2] {1, 1.99999988}");
    check_mlir(BINARY("broadcast_zeta", "f32", "2xf32", "2xf32"), "f32[] 2", "f32[2] {1, 2}", NULL,
               NULL, "f32[2] {1.64493406, 0.644934058}"); /* π²/6, π²/6 − 1 */
    check_mlir(BINARY("broadcast_polygamma", "f32", "2xf32", "2xf32"), "f32[] 1", "f32[2] {1, 2}",
               NULL, NULL, "f32[2] {1.64493406, 0.644934058}");
    check_mlir(BINARY("broadcast_complex", "2xf32", "f32", "2xcomplex<f32>"), "f32[2] {1, 2}",
               "f32[] 5", NULL, NULL, "c64[2] {(1, 5), (2, 5)}");
    check_mlir_fails(BINARY("broadcast_add", "2xf32", "3xf32", "3xf32"), "f32[2] {1, 2}",
                     "f32[3] {1, 2, 3}", ERROR_INVALID_ARGUMENT, "does not fit");
}
END_TEST

START_TEST(test_others)
{
    check_mlir("func.func @main(%a: tensor<2x3xf32>) -> tensor<2x3xi32> {\n"
               "  %0 = \"chlo.constant_like\"(%a) <{value = 7 : i32}> : (tensor<2x3xf32>) -> "
               "tensor<2x3xi32>\n  return %0 : tensor<2x3xi32>\n}\n",
               "f32[2,3] {{1, 1, 1}, {1, 1, 2}}", NULL, NULL, NULL,
               "s32[2,3] {{7, 7, 7}, {7, 7, 7}}");
    check_mlir("func.func @main(%a: tensor<2x4xf32>) -> tensor<2x2xi32> {\n"
               "  %0:2 = chlo.top_k(%a, k = 2) : tensor<2x4xf32> -> (tensor<2x2xf32>, "
               "tensor<2x2xi32>)\n  return %0#1 : tensor<2x2xi32>\n}\n",
               "f32[2,4] {{1, 3, 2, 3}, {4, 0, 0, 9}}", NULL, NULL, NULL,
               "s32[2,2] {{1, 3}, {3, 0}}");
    /* Composites by the names of CHLO's ops are these ops. */
    check_mlir("func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
               "  %0 = stablehlo.composite \"chlo.lgamma\" %a {decomposition = @f} : "
               "(tensor<2xf32>) -> tensor<2xf32>\n  return %0 : tensor<2xf32>\n}\n"
               "func.func private @f(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
               "  return %a : tensor<2xf32>\n}\n",
               "f32[2] {1, 4}", NULL, NULL, NULL, "f32[2] {0, 1.79175949}");
    check_mlir(
        "func.func @main(%a: tensor<4xf32>) -> tensor<2xf32> {\n"
        "  %0:2 = stablehlo.composite \"chlo.top_k\" %a {composite_attributes = {k = 2 : i64}, "
        "decomposition = @f} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>)\n"
        "  return %0#0 : tensor<2xf32>\n}\n"
        "func.func private @f(%a: tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>) {\n"
        "  %0 = stablehlo.constant dense<0.0> : tensor<2xf32>\n"
        "  %1 = stablehlo.constant dense<0> : tensor<2xi32>\n"
        "  return %0, %1 : tensor<2xf32>, tensor<2xi32>\n}\n",
        "f32[4] {1, 4, 2, 3}", NULL, NULL, NULL, "f32[2] {4, 3}");
}
END_TEST

/* --- decompositions --- */

/* The module, its composites made plain calls. */
static void forget_composites(struct module *module)
{
    int found = 0;
    const struct computation *entry = module->entry;
    for (int i = 0; i < entry->count; i++) {
        struct instruction *call = entry->instructions[i];
        if (call->opcode == OP_CALL) {
            struct attr plain = {.key = ATTR_IS_COMPOSITE};
            instruction_set_attr(call, plain);
            found++;
        }
    }
    ck_assert_int_eq(found, 1);
}

struct decomposition {
    const char *name;
    enum special_function function;
    double low, high;      /* of x, or of the second operand */
    double s_low, s_high;  /* of the first of two; equal: there is one operand */
    double ulps32, ulps64; /* bounds of the error */
    double absolute64;     /* or, of f64, of this */
};

enum { VALUES = 2000 };

static void check_decomposition(const struct decomposition *row, enum type type)
{
    const bool binary = row->s_low < row->s_high;
    const char *element = type == TYPE_F64 ? "f64" : "f32";
    char text[600];
    char kind[32];
    snprintf(kind, sizeof kind, "tensor<%dx%s>", VALUES, element);
    if (binary) {
        snprintf(text, sizeof text,
                 "func.func @main(%%a: %s, %%b: %s) -> %s {\n"
                 "  %%0 = chlo.%s %%a, %%b : %s, %s -> %s\n  return %%0 : %s\n}\n",
                 kind, kind, kind, row->name, kind, kind, kind, kind);
    } else {
        snprintf(text, sizeof text,
                 "func.func @main(%%a: %s) -> %s {\n"
                 "  %%0 = chlo.%s %%a : %s -> %s\n  return %%0 : %s\n}\n",
                 kind, kind, row->name, kind, kind, kind);
    }
    struct error err = {0};
    struct module *module = import_text(text, NULL, 0, &err);
    ck_assert_msg(module != NULL, "%s\n%s", err.message, text);
    forget_composites(module);
    const int64_t size = VALUES;
    struct literal *arguments[2];
    struct rng rng;
    rng_init(&rng, 3);
    for (int k = 0; k < 1 + binary; k++) {
        arguments[k] = literal_create(shape_array(type, 1, &size), &err);
        const bool first = binary && k == 0;
        const double low = first ? row->s_low : row->low, high = first ? row->s_high : row->high;
        for (int i = 0; i < VALUES; i++) {
            double value = low + (high - low) * rng_uniform(&rng);
            value = first && row->function == SPECIAL_POLYGAMMA ? floor(value) : value;
            literal_set_double(arguments[k], i, float_round(type, value));
        }
    }
    struct literal *result = interp_evaluate(module, arguments, 1 + binary, NULL, &err);
    ck_assert_msg(result != NULL, "%s", err.message);
    double worst = 0, worst_at = 0;
    for (int i = 0; i < VALUES; i++) {
        const double a = literal_get_double(arguments[0], i);
        const double b = binary ? literal_get_double(arguments[1], i) : 0;
        const double *in[2] = {&a, &b};
        double exact;
        special_apply(row->function, type, in, &exact, 1);
        const double got = literal_get_double(result, i);
        if (type == TYPE_F64 && fabs(got - exact) <= row->absolute64) {
            continue;
        }
        if (isnan(got) && isnan(exact)) {
            continue;
        }
        const double unit =
            ldexp(1, (exact == 0 ? -1074 : ilogb(exact)) - (type == TYPE_F64 ? 52 : 23));
        const double off = got == exact ? 0 : fabs(got - exact) / unit;
        if (!(off <= worst)) {
            worst = off;
            worst_at = binary ? b : a;
        }
    }
    const double bound = type == TYPE_F64 ? row->ulps64 : row->ulps32;
    ck_assert_msg(worst <= bound, "%s of %s at %.17g is off by %g ulps", row->name, element,
                  worst_at, worst);
    for (int k = 0; k < 1 + binary; k++) {
        literal_release(arguments[k]);
    }
    literal_release(result);
    module_destroy(module);
}

START_TEST(test_decompositions)
{
    static const struct decomposition rows[] = {
        {"bessel_i1e", SPECIAL_BESSEL_I1E, -30, 30, 0, 0, 1, 20, 0},
        {"digamma", SPECIAL_DIGAMMA, 0.01, 20, 0, 0, 1, 60, 1e-14},
        {"digamma", SPECIAL_DIGAMMA, -20, 0, 0, 0, 2, 2000, 1e-13},
        {"erf_inv", SPECIAL_ERF_INV, -1, 1, 0, 0, 4, 10, 0},
        {"erfc", SPECIAL_ERFC, -3, 3, 0, 0, 8, 30, 0},

        {"erfc", SPECIAL_ERFC, 3, 9, 0, 0, 8, 40, 0},
        {"lgamma", SPECIAL_LGAMMA, 0.01, 30, 0, 0, 1, 60, 1e-13},
        {"lgamma", SPECIAL_LGAMMA, -30, 0, 0, 0, 2, 4000, 1e-12},
        {"polygamma", SPECIAL_POLYGAMMA, 0.1, 20, 0, 6, 1, 100, 1e-13},
        {"zeta", SPECIAL_ZETA, 0.1, 20, 1.05, 20, 1, 100, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_decomposition(&rows[i], TYPE_F32);
        check_decomposition(&rows[i], TYPE_F64);
    }
}
END_TEST

/* Of complex numbers the composite is the function, exact in each part (test_elementwise_complex
 * holds the opcodes against MPFR); its computation is near. */
START_TEST(test_complex)
{
    static const char *const names[] = {"acos", "acosh", "asin", "asinh", "atanh", "cosh", "sinh"};
    enum { COUNT = 500 };
    const int64_t size = COUNT;
    struct error err = {0};
    struct literal *argument = literal_create(shape_array(TYPE_C128, 1, &size), &err);
    struct rng rng;
    rng_init(&rng, 4);
    for (int i = 0; i < COUNT; i++) {
        literal_set_complex(argument, i, 8 * rng_uniform(&rng) - 4, 8 * rng_uniform(&rng) - 4);
    }
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char text[400], direct[400];
        snprintf(text, sizeof text,
                 "func.func @main(%%a: tensor<500xcomplex<f64>>) -> tensor<500xcomplex<f64>> {\n"
                 "  %%0 = chlo.%s %%a : tensor<500xcomplex<f64>> -> tensor<500xcomplex<f64>>\n"
                 "  return %%0 : tensor<500xcomplex<f64>>\n}\n",
                 names[k]);
        snprintf(direct, sizeof direct,
                 "HloModule m ENTRY e { a = c128[500] parameter(0) ROOT r = c128[500] %s(a) }",
                 names[k]);
        struct module *module = import_text(text, NULL, 0, &err), *opcode = read_module(direct);
        ck_assert_msg(module != NULL, "%s", err.message);
        struct literal *composite = interp_evaluate(module, &argument, 1, NULL, &err);
        struct literal *exact = interp_evaluate(opcode, &argument, 1, NULL, &err);
        forget_composites(module);
        struct literal *near = interp_evaluate(module, &argument, 1, NULL, &err);
        ck_assert_msg(composite != NULL && exact != NULL && near != NULL, "%s", err.message);
        ck_assert_msg(literal_equal(composite, exact), "chlo.%s", names[k]);
        const double *wanted = literal_data(exact), *got = literal_data(near);
        for (int i = 0; i < 2 * COUNT; i++) {
            ck_assert_msg(fabs(got[i] - wanted[i]) <= fabs(wanted[i]) * 0x1p-48,
                          "chlo.%s: %a, not %a", names[k], got[i], wanted[i]);
        }
        literal_release(composite);
        literal_release(exact);
        literal_release(near);
        module_destroy(module);
        module_destroy(opcode);
    }
    literal_release(argument);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mlir_chlo");
    TCase *cases = tcase_create("mlir_chlo");
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, test_elementwise);
    tcase_add_test(cases, test_next_after);
    tcase_add_test(cases, test_broadcast);
    tcase_add_test(cases, test_others);
    tcase_add_test(cases, test_decompositions);
    tcase_add_test(cases, test_complex);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
