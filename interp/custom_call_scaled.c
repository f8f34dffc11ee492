/* Products and arrays with block scales, grouped products.
 *
 * A scale stands for a block of elements along each dimension: element i of a dimension of size n
 * is scaled by element i / (n / m) of the scale's dimension of size m, as in scaled-dot. Sources:
 * xla/backends/gpu/transforms/block_scaling_rewriter.h (__op$…),
 * xla/service/gpu/backend_configs.proto (GroupedGemmBackendConfig). */
#include <math.h>
#include <string.h>

#include "hlo/infer.h"
#include "interp/custom_call_matmul.h"

/* (x, scale) → x times its block's scale, rounded once. */
struct literal *custom_dequantize(struct evaluation *evaluation,
                                  const struct instruction *instruction, struct operands *operands,
                                  struct error *err)
{
    (void)evaluation;
    const struct shape *shape = instruction->shape;
    bool fits = shape_is_array(shape) && type_is_float(shape->type) && operands->count == 2 &&
                custom_call_operand_is(operands, 0, TYPE_INVALID, shape->rank) &&
                custom_call_operand_is(operands, 1, TYPE_INVALID, shape->rank) &&
                shape_same_dimensions(shape, operands->values[0]->shape) &&
                type_is_float(operands->values[0]->shape->type) &&
                type_is_float(operands->values[1]->shape->type);
    const int64_t *blocks = fits ? operands->values[1]->shape->dimensions : NULL;
    for (int d = 0; fits && d < shape->rank; d++) {
        fits = blocks[d] > 0 && shape->dimensions[d] % blocks[d] == 0;
    }
    if (!fits) {
        return custom_call_fail(instruction, err, "a scale that does not fit (or is padded)");
    }
    struct literal *result = literal_create(shape, err);
    int64_t index[SHAPE_MAX_RANK] = {0};
    for (int64_t i = 0; result != NULL && i < shape_elements(shape); i++) {
        int64_t at = 0;
        for (int d = 0; d < shape->rank; d++) {
            at = at * blocks[d] + index[d] / (shape->dimensions[d] / blocks[d]);
        }
        /* Exact in double for types of at most 24 bits each. */
        literal_set_double(result, i,
                           literal_get_double(operands->values[0], i) *
                               literal_get_double(operands->values[1], at));
        for (int d = shape->rank - 1; d >= 0 && ++index[d] == shape->dimensions[d]; d--) {
            index[d] = 0;
        }
    }
    if (result != NULL && !custom_call_spread(operands, result, err)) {
        literal_release(result);
        return NULL;
    }
    return result;
}

/* (lhs, rhs, lhs_scale[, rhs_scale]): the last dimensions contract, the first is a batch if there
 * are three. */
struct literal *custom_block_scaled_dot(struct evaluation *evaluation,
                                        const struct instruction *instruction,
                                        struct operands *operands, struct error *err)
{
    const struct shape *shape = custom_call_result_shape(instruction, 0);
    int rank = operands->count > 0 && shape_is_array(operands->values[0]->shape)
                   ? operands->values[0]->shape->rank
                   : 0;
    bool fits = (operands->count == 3 || operands->count == 4) && (rank == 2 || rank == 3) &&
                shape != NULL && shape_is_array(shape) && shape->rank == rank;
    for (int i = 0; fits && i < operands->count; i++) {
        fits = custom_call_operand_is(operands, i, TYPE_INVALID, rank) &&
               type_is_float(operands->values[i]->shape->type);
    }
    if (!fits) {
        return custom_call_fail(instruction, err, "operands or results do not fit");
    }
    struct matmul matmul = {
        .lhs = operands->values[0],
        .rhs = operands->values[1],
        .batch_count = rank - 2,
        .contracting_count = 1,
        .lhs_contracting = {rank - 1},
        .rhs_contracting = {rank - 1},
    };
    if (!matmul_finish(&matmul, instruction, err) ||
        memcmp(shape->dimensions, matmul.dimensions, (size_t)rank * sizeof(int64_t)) != 0) {
        return err->code != ERROR_NONE
                   ? NULL
                   : custom_call_fail(instruction, err, "the product is no %s", shape_text(shape));
    }
    struct inner_call call;
    inner_call_init(&call, instruction, OP_SCALED_DOT, shape);
    inner_call_set(&call, (struct attr){.key = ATTR_LHS_BATCH_DIMS,
                                        .ints = {matmul.batch_count, matmul.lhs_batch}});
    inner_call_set(&call, (struct attr){.key = ATTR_RHS_BATCH_DIMS,
                                        .ints = {matmul.batch_count, matmul.rhs_batch}});
    inner_call_set(&call, (struct attr){.key = ATTR_LHS_CONTRACTING_DIMS,
                                        .ints = {1, matmul.lhs_contracting}});
    inner_call_set(&call, (struct attr){.key = ATTR_RHS_CONTRACTING_DIMS,
                                        .ints = {1, matmul.rhs_contracting}});
    struct literal *one = literal_zero(shape_scalar(TYPE_F32), err);
    if (one == NULL) {
        return NULL;
    }
    literal_set_double(one, 0, 1);
    struct literal *values[4] = {operands->values[0], operands->values[1], operands->values[2],
                                 operands->count == 4 ? operands->values[3] : one};
    struct literal *product = inner_call_run(&call, evaluation, values, 4, err);
    literal_release(one);
    return product == NULL ? NULL : custom_call_result_take(instruction, &product, 1, err);
}

/* cuBLASLt's grouped product (a, b, group_sizes): ragged-dot, without epilogues. */
struct literal *custom_grouped_gemm(struct evaluation *evaluation,
                                    const struct instruction *instruction,
                                    struct operands *operands, struct error *err)
{
    const struct shape *shape = custom_call_result_shape(instruction, 0);
    bool fits = operands->count == 3 && shape != NULL && shape_is_array(shape);
    for (int i = 0; fits && i < 3; i++) {
        fits = custom_call_operand_is(operands, i, TYPE_INVALID, -1);
    }
    if (!fits) {
        return custom_call_fail(instruction, err, "bias, addend, or operands that do not fit");
    }
    struct config config;
    struct matmul matmul = {.lhs = operands->values[0], .rhs = operands->values[1]};
    int64_t ragged[SHAPE_MAX_RANK], group[SHAPE_MAX_RANK];
    bool ok = config_read(&config, instruction, err);
    config_enter(&config, "grouped_gemm_backend_config", err);
    void *section = config.section;
    config_enter(&config, "gemm_backend_config", err);
    double alpha = config_number(&config, "alpha_real", 0, err);
    double beta = config_number(&config, "beta", 0, err);
    const char *epilogue = config_string(&config, "epilogue", "DEFAULT", err);
    bool plain = alpha == 1 && beta == 0 && strcmp(epilogue, "DEFAULT") == 0;
    config.section = section;
    config_enter(&config, "ragged_dot_dimension_numbers", err);
    int ragged_count =
        config_integers(&config, "lhs_ragged_dimensions", ragged, SHAPE_MAX_RANK, err);
    int group_count = config_integers(&config, "rhs_group_dimensions", group, SHAPE_MAX_RANK, err);
    ok = ok && matmul_read(&matmul, &config, err);
    config_finish(&config);
    if (!ok) {
        return NULL;
    }
    if (!plain || ragged_count != 1) {
        return custom_call_fail(instruction, err, "an epilogue, or no ragged dimension");
    }
    struct inner_call call;
    inner_call_init(&call, instruction, OP_RAGGED_DOT, shape);
    inner_call_set(&call, (struct attr){.key = ATTR_LHS_BATCH_DIMS,
                                        .ints = {matmul.batch_count, matmul.lhs_batch}});
    inner_call_set(&call, (struct attr){.key = ATTR_RHS_BATCH_DIMS,
                                        .ints = {matmul.batch_count, matmul.rhs_batch}});
    inner_call_set(&call,
                   (struct attr){.key = ATTR_LHS_CONTRACTING_DIMS,
                                 .ints = {matmul.contracting_count, matmul.lhs_contracting}});
    inner_call_set(&call,
                   (struct attr){.key = ATTR_RHS_CONTRACTING_DIMS,
                                 .ints = {matmul.contracting_count, matmul.rhs_contracting}});
    inner_call_set(&call, (struct attr){.key = ATTR_LHS_RAGGED_DIMS, .ints = {1, ragged}});
    inner_call_set(&call, (struct attr){.key = ATTR_RHS_GROUP_DIMS, .ints = {group_count, group}});
    call.instruction.operands = instruction->operands;
    call.instruction.operand_count = 3;
    struct error misfit = {0};
    if (!infer_check(&call.instruction, &misfit)) {
        return custom_call_fail(instruction, err, "%.300s", misfit.message);
    }
    struct literal *product = inner_call_run(&call, evaluation, operands->values, 3, err);
    return product == NULL ? NULL : custom_call_result_take(instruction, &product, 1, err);
}
