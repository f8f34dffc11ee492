/* cuBLAS and cuBLASLt: matrix products with what is fused to them.
 *
 *   D = d_scale * activation(alpha * a_scale * b_scale * A B + beta * C + bias)
 *
 * as one real expression, rounded once; f8 results saturate. C has D's shape (or broadcasts to it),
 * bias is a vector along D's last dimension. With an AUX epilogue the argument of the activation is
 * a result, too; with damax_output the largest |activation(…)|. The last result, if there is one
 * more, is a workspace.
 * Sources: xla/service/gpu/backend_configs.proto (GemmBackendConfig), thunk_emitter.cc
 * (EmitCublasLtMatmul, …F8: order of operands and results), transforms/gemm_rewriter.cc. */
#include <math.h>
#include <mpfr.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/floats.h"
#include "interp/custom_call_matmul.h"
#include "interp/exact_internal.h"
#include "interp/walk.h"

static const struct {
    const char *word;
    bool bias, aux;
    enum activation activation;
} epilogues[] = {
    {"DEFAULT", false, false, ACTIVATION_NONE},
    {"BIAS", true, false, ACTIVATION_NONE},
    {"RELU", false, false, ACTIVATION_RELU},
    {"BIAS_RELU", true, false, ACTIVATION_RELU},
    {"GELU", false, false, ACTIVATION_GELU_TANH},
    {"GELU_AUX", false, true, ACTIVATION_GELU_TANH},
    {"BIAS_GELU", true, false, ACTIVATION_GELU_TANH},
    {"BIAS_GELU_AUX", true, true, ACTIVATION_GELU_TANH},
    {"SILU", false, false, ACTIVATION_SWISH},
    {"BIAS_SILU", true, false, ACTIVATION_SWISH},
};
enum { EPILOGUE_COUNT = sizeof epilogues / sizeof *epilogues };

struct gemm {
    double alpha[2], beta; /* alpha: real, imaginary */
    int epilogue;
    bool damax;
    struct matmul matmul;
};

static bool read_gemm(struct gemm *gemm, const struct instruction *instruction, struct error *err)
{
    const char *words[EPILOGUE_COUNT];
    for (int i = 0; i < EPILOGUE_COUNT; i++) {
        words[i] = epilogues[i].word;
    }
    struct config config;
    if (!config_read(&config, instruction, err)) {
        config_finish(&config);
        return false;
    }
    if (config_has(&config, "gemm_backend_config")) { /* absent in modules of before 2024 */
        config_enter(&config, "gemm_backend_config", err);
    }
    if (!config.failed && !config_has(&config, "dot_dimension_numbers")) {
        config.failed = true;
        custom_call_fail(instruction, err, "backend_config without dot_dimension_numbers");
    }
    gemm->alpha[0] = config_number(&config, "alpha_real", 0, err);
    gemm->alpha[1] = config_number(&config, "alpha_imag", 0, err);
    gemm->beta = config_number(&config, "beta", 0, err);
    gemm->epilogue = config_word(&config, "epilogue", words, EPILOGUE_COUNT, 0, err);
    gemm->damax = config_bool(&config, "damax_output", false, err);
    bool ok = !config.failed && matmul_read(&gemm->matmul, &config, err);
    config_finish(&config);
    if (ok && !(isfinite(gemm->alpha[0]) && isfinite(gemm->alpha[1]) && isfinite(gemm->beta))) {
        custom_call_fail(instruction, err, "alpha or beta is not finite");
        return false;
    }
    return ok;
}

/* --- complex --- */

/* One part (0 real, 1 imaginary) of the exact product's element, as up to three doubles. */
static void complex_sum(const struct matmul *matmul, int64_t index, double sums[2][3])
{
    struct matmul parts = *matmul;
    struct exact_accumulator accumulators[2];
    int64_t left = 0, right = 0, at[SHAPE_MAX_RANK] = {0}, total = 1;
    for (int d = parts.rank - 1; d >= 0; d--) {
        int64_t i = index % parts.dimensions[d];
        index /= parts.dimensions[d];
        left += i * parts.lhs_strides[d];
        right += i * parts.rhs_strides[d];
    }
    for (int i = 0; i < parts.contracting_count; i++) {
        total *= parts.sizes[i];
    }
    exact_accumulator_init(&accumulators[0]);
    exact_accumulator_init(&accumulators[1]);
    for (int64_t k = 0; k < total; k++) {
        double a[2] = {literal_get_double(parts.lhs, left), literal_get_imaginary(parts.lhs, left)};
        double b[2] = {literal_get_double(parts.rhs, right),
                       literal_get_imaginary(parts.rhs, right)};
        exact_accumulator_add_product(&accumulators[0], a[0], b[0]);
        exact_accumulator_add_product(&accumulators[0], -a[1], b[1]);
        exact_accumulator_add_product(&accumulators[1], a[0], b[1]);
        exact_accumulator_add_product(&accumulators[1], a[1], b[0]);
        for (int i = parts.contracting_count - 1; i >= 0; i--) {
            left += parts.lhs_steps[i];
            right += parts.rhs_steps[i];
            if (++at[i] < parts.sizes[i]) {
                break;
            }
            left -= parts.sizes[i] * parts.lhs_steps[i];
            right -= parts.sizes[i] * parts.rhs_steps[i];
            at[i] = 0;
        }
    }
    for (int part = 0; part < 2; part++) {
        memset(sums[part], 0, 3 * sizeof(double));
        for (int i = 0; i < 3; i++) {
            sums[part][i] = exact_accumulator_round(&accumulators[part], TYPE_F64);
            if (!isfinite(sums[part][i]) || sums[part][i] == 0) {
                break;
            }
            exact_accumulator_add(&accumulators[part], -sums[part][i]);
        }
    }
}

/* alpha * A B + beta * C, each part rounded once. */
static struct literal *complex_gemm(const struct gemm *gemm, const struct literal *c,
                                    const struct shape *shape, struct error *err)
{
    struct literal *result = literal_create(shape, err);
    enum type part_type = type_part(shape->type);
    mpfr_t value, term;
    mpfr_inits2(240, value, term, (mpfr_ptr)0);
    for (int64_t i = 0; result != NULL && i < literal_elements(result); i++) {
        double sums[2][3], out[2];
        complex_sum(&gemm->matmul, i, sums);
        double addend[2] = {0, 0};
        if (c != NULL) {
            addend[0] = literal_get_double(c, i);
            addend[1] = literal_get_imaginary(c, i);
        }
        for (int part = 0; part < 2; part++) {
            double sign = part == 0 ? -1 : 1;
            if (!isfinite(sums[0][0]) || !isfinite(sums[1][0]) || !isfinite(addend[part])) {
                out[part] = float_round(part_type, gemm->alpha[0] * sums[part][0] +
                                                       sign * gemm->alpha[1] * sums[1 - part][0] +
                                                       gemm->beta * addend[part]);
                continue;
            }
            mpfr_set_d(value, gemm->beta, MPFR_RNDN);
            mpfr_mul_d(value, value, addend[part], MPFR_RNDN);
            for (int k = 0; k < 6; k++) {
                mpfr_set_d(term, k < 3 ? sums[part][k] : sums[1 - part][k - 3], MPFR_RNDN);
                mpfr_mul_d(term, term, k < 3 ? gemm->alpha[0] : sign * gemm->alpha[1], MPFR_RNDN);
                mpfr_add(value, value, term, MPFR_RNDN);
            }
            out[part] = mpfr_zero_p(value) ? 0 : exact_from_mpfr(part_type, value, true);
        }
        literal_set_complex(result, i, out[0], out[1]);
    }
    mpfr_clears(value, term, (mpfr_ptr)0);
    return result;
}

/* --- the call --- */

/* Operands behind A and B. */
struct extras {
    const struct literal *c, *bias, *a_scale, *b_scale, *d_scale;
};

static bool is_f8(enum type type)
{
    return type_is_float(type) && type_bits(type) == 8 && type != TYPE_F8E8M0FNU;
}

static bool collect(const struct gemm *gemm, const struct instruction *instruction,
                    struct operands *operands, bool scaled, struct extras *extras,
                    struct error *err)
{
    const struct shape *shape = custom_call_result_shape(instruction, 0);
    const struct literal **wanted[5];
    int count = 0;
    *extras = (struct extras){0};
    if (gemm->beta != 0) {
        wanted[count++] = &extras->c;
    }
    if (scaled) {
        wanted[count++] = &extras->a_scale;
        wanted[count++] = &extras->b_scale;
    }
    if (epilogues[gemm->epilogue].bias) {
        wanted[count++] = &extras->bias;
    }
    if (scaled && is_f8(shape->type) && operands->count == count + 3) {
        wanted[count++] = &extras->d_scale;
    }
    if (operands->count != count + 2) {
        custom_call_fail(instruction, err, "%d operands where its configuration has %d",
                         operands->count, count + 2);
        return false;
    }
    for (int i = 0; i < count; i++) {
        *wanted[i] = operands->values[2 + i];
        bool scalar = wanted[i] == &extras->a_scale || wanted[i] == &extras->b_scale ||
                      wanted[i] == &extras->d_scale;
        if (!custom_call_operand_is(operands, 2 + i, TYPE_INVALID, -1) ||
            (scalar && literal_elements(*wanted[i]) != 1)) {
            custom_call_fail(instruction, err, "operand %d does not fit", 2 + i);
            return false;
        }
    }
    return true;
}

/* Adds a node whose operand broadcasts to the result. */
static bool attach(struct epilogue *epilogue, const struct instruction *instruction,
                   enum epilogue_op op, double factor, const struct literal *operand,
                   struct error *err)
{
    struct epilogue_node node = {
        .op = op, .a = epilogue_last(epilogue), .b = -1, .factor = factor, .operand = operand};
    bool scalar = operand != NULL && literal_elements(operand) == 1;
    if (operand != NULL && !scalar &&
        !epilogue_broadcast(epilogue->shape, operand->shape, node.strides)) {
        custom_call_fail(instruction, err, "%s does not broadcast to %s",
                         shape_text(operand->shape), shape_text(epilogue->shape));
        return false;
    }
    return epilogue_add(epilogue, node) >= 0;
}

static struct literal *evaluate(struct evaluation *evaluation,
                                const struct instruction *instruction, struct operands *operands,
                                bool scaled, struct error *err)
{
    const struct shape *shape = custom_call_result_shape(instruction, 0);
    struct gemm gemm = {0};
    struct extras extras;
    if (!custom_call_operand_is(operands, 0, TYPE_INVALID, -1) ||
        !custom_call_operand_is(operands, 1, TYPE_INVALID, -1) || shape == NULL ||
        !shape_is_array(shape) || shape_is_dynamic(shape)) {
        return custom_call_fail(instruction, err, "operands or results that are no arrays");
    }
    gemm.matmul.lhs = operands->values[0];
    gemm.matmul.rhs = operands->values[1];
    if (!read_gemm(&gemm, instruction, err) || !matmul_finish(&gemm.matmul, instruction, err) ||
        !collect(&gemm, instruction, operands, scaled, &extras, err)) {
        return NULL;
    }
    bool complex = type_is_complex(shape->type);
    bool mixed = complex != type_is_complex(gemm.matmul.lhs->shape->type) ||
                 complex != type_is_complex(gemm.matmul.rhs->shape->type);
    if (mixed || shape->rank != gemm.matmul.rank ||
        memcmp(shape->dimensions, gemm.matmul.dimensions,
               (size_t)shape->rank * sizeof *shape->dimensions) != 0) {
        return custom_call_fail(instruction, err, "the product is no %s", shape_text(shape));
    }
    enum activation activation = epilogues[gemm.epilogue].activation;
    bool aux = epilogues[gemm.epilogue].aux;
    bool plain = gemm.alpha[0] == 1 && gemm.alpha[1] == 0 && extras.c == NULL && !scaled &&
                 extras.bias == NULL && activation == ACTIVATION_NONE;
    if (plain) {
        struct literal *product = matmul_dot(&gemm.matmul, evaluation, instruction, shape, err);
        return product == NULL ? NULL : custom_call_result_take(instruction, &product, 1, err);
    }
    if (complex) {
        if (scaled || extras.bias != NULL || activation != ACTIVATION_NONE ||
            (extras.c != NULL && !shape_compatible(extras.c->shape, shape))) {
            return custom_call_fail(instruction, err, "a complex product with this epilogue");
        }
        struct literal *product = complex_gemm(&gemm, extras.c, shape, err);
        if (product != NULL && !custom_call_spread(operands, product, err)) {
            literal_release(product);
            product = NULL;
        }
        return product == NULL ? NULL : custom_call_result_take(instruction, &product, 1, err);
    }
    if (gemm.alpha[1] != 0) {
        return custom_call_fail(instruction, err, "an imaginary alpha of real matrices");
    }
    struct epilogue epilogue = {
        .shape = shape,
        .products = matmul_products,
        .context = &gemm.matmul,
        .saturate = is_f8(shape->type),
    };
    walk_strides(shape->rank, shape->dimensions, epilogue.sum_strides);
    bool ok = epilogue_add(&epilogue, (struct epilogue_node){.op = EPILOGUE_SUM}) >= 0;
    ok = ok && attach(&epilogue, instruction, EPILOGUE_SCALE, gemm.alpha[0], extras.a_scale, err);
    if (ok && extras.b_scale != NULL) {
        ok = attach(&epilogue, instruction, EPILOGUE_SCALE, 1, extras.b_scale, err);
    }
    if (ok && extras.c != NULL) {
        ok = attach(&epilogue, instruction, EPILOGUE_ADD, gemm.beta, extras.c, err);
    }
    if (ok && extras.bias != NULL) {
        ok = attach(&epilogue, instruction, EPILOGUE_ADD, 1, extras.bias, err);
    }
    int linear = epilogue_last(&epilogue);
    if (ok && activation != ACTIVATION_NONE) {
        ok = epilogue_add(&epilogue, (struct epilogue_node){.op = EPILOGUE_ACTIVATE,
                                                            .a = linear,
                                                            .b = -1,
                                                            .activation = activation,
                                                            .parameter = 1}) >= 0;
    }
    int activated = epilogue_last(&epilogue);
    if (ok && extras.d_scale != NULL) {
        ok = attach(&epilogue, instruction, EPILOGUE_SCALE, 1, extras.d_scale, err);
    }
    struct literal *parts[3] = {0};
    int count = 1 + aux + gemm.damax;
    for (int i = 0; ok && i < count; i++) {
        const struct shape *part = custom_call_result_shape(instruction, i);
        bool is_amax = gemm.damax && i == 1;
        if (part == NULL || !shape_is_array(part) ||
            (is_amax ? shape_elements(part) != 1 || !type_is_float(part->type)
                     : !shape_same_dimensions(part, shape))) {
            custom_call_fail(instruction, err, "result %d is missing or does not fit", i);
            ok = false;
        }
        parts[i] = ok ? literal_create(part, err) : NULL;
        ok = parts[i] != NULL;
    }
    if (ok) {
        enum type sum_type = epilogue_sum_type(shape->type);
        ok = matmul_sums(&gemm.matmul, evaluation, instruction,
                         gemm.damax || aux ? TYPE_F64 : sum_type, &epilogue, err);
        ok = ok && epilogue_apply(&epilogue, epilogue_last(&epilogue), parts[0], err);
        ok = ok && (!aux || epilogue_apply(&epilogue, linear, parts[1], err));
        ok = ok && (!gemm.damax || epilogue_amax(&epilogue, activated, parts[1], err));
        if (ok && gemm.damax && literal_has_unspecified(parts[0])) {
            ok = literal_mark_all_unspecified(parts[1], err);
        }
    }
    epilogue_release(&epilogue);
    if (!ok) {
        for (int i = 0; i < count; i++) {
            literal_release(parts[i]);
        }
        return NULL;
    }
    return custom_call_result_take(instruction, parts, count, err);
}

struct literal *custom_gemm(struct evaluation *evaluation, const struct instruction *instruction,
                            struct operands *operands, struct error *err)
{
    return evaluate(evaluation, instruction, operands, false, err);
}

struct literal *custom_gemm_scaled(struct evaluation *evaluation,
                                   const struct instruction *instruction, struct operands *operands,
                                   struct error *err)
{
    return evaluate(evaluation, instruction, operands, true, err);
}
