/* Matrix products as sums of epilogues (custom_call_matmul.h). */
#include "interp/custom_call_matmul.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/floats.h"
#include "interp/convolution_plan.h"
#include "interp/dot_internal.h"
#include "interp/walk.h"

bool matmul_read(struct matmul *matmul, struct config *config, struct error *err)
{
    return matmul_read_as(matmul, config, "dot_dimension_numbers", err);
}

bool matmul_read_as(struct matmul *matmul, struct config *config, const char *key,
                    struct error *err)
{
    config_enter(config, key, err);
    int counts[4] = {
        config_integers(config, "lhs_contracting_dimensions", matmul->lhs_contracting,
                        SHAPE_MAX_RANK, err),
        config_integers(config, "rhs_contracting_dimensions", matmul->rhs_contracting,
                        SHAPE_MAX_RANK, err),
        config_integers(config, "lhs_batch_dimensions", matmul->lhs_batch, SHAPE_MAX_RANK, err),
        config_integers(config, "rhs_batch_dimensions", matmul->rhs_batch, SHAPE_MAX_RANK, err),
    };
    if (!config->failed && (counts[0] != counts[1] || counts[2] != counts[3])) {
        config->failed = true;
        custom_call_fail(config->instruction, err, "%s of different lengths", key);
    }
    matmul->contracting_count = counts[0];
    matmul->batch_count = counts[2];
    return !config->failed;
}

static bool take(const struct shape *shape, int64_t dimension, bool *used)
{
    if (dimension < 0 || dimension >= shape->rank || used[dimension]) {
        return false;
    }
    used[dimension] = true;
    return true;
}

bool matmul_finish(struct matmul *matmul, const struct instruction *instruction, struct error *err)
{
    const struct shape *lhs = matmul->lhs->shape, *rhs = matmul->rhs->shape;
    int64_t left[SHAPE_MAX_RANK], right[SHAPE_MAX_RANK];
    bool used[2][SHAPE_MAX_RANK] = {{false}};
    bool ok = true;
    walk_strides(lhs->rank, lhs->dimensions, left);
    walk_strides(rhs->rank, rhs->dimensions, right);
    matmul->rank = 0;
    for (int i = 0; ok && i < matmul->batch_count; i++) {
        int64_t l = matmul->lhs_batch[i], r = matmul->rhs_batch[i];
        ok = take(lhs, l, used[0]) && take(rhs, r, used[1]) &&
             lhs->dimensions[l] == rhs->dimensions[r];
        if (ok) {
            matmul->dimensions[matmul->rank] = lhs->dimensions[l];
            matmul->lhs_strides[matmul->rank] = left[l];
            matmul->rhs_strides[matmul->rank++] = right[r];
        }
    }
    for (int i = 0; ok && i < matmul->contracting_count; i++) {
        int64_t l = matmul->lhs_contracting[i], r = matmul->rhs_contracting[i];
        ok = take(lhs, l, used[0]) && take(rhs, r, used[1]) &&
             lhs->dimensions[l] == rhs->dimensions[r];
        if (ok) {
            matmul->sizes[i] = lhs->dimensions[l];
            matmul->lhs_steps[i] = left[l];
            matmul->rhs_steps[i] = right[r];
        }
    }
    ok = ok && lhs->rank + rhs->rank - matmul->batch_count - 2 * matmul->contracting_count <=
                   SHAPE_MAX_RANK;
    for (int side = 0; ok && side < 2; side++) {
        const struct shape *shape = side == 0 ? lhs : rhs;
        for (int d = 0; d < shape->rank; d++) {
            if (!used[side][d]) {
                matmul->dimensions[matmul->rank] = shape->dimensions[d];
                matmul->lhs_strides[matmul->rank] = side == 0 ? left[d] : 0;
                matmul->rhs_strides[matmul->rank++] = side == 0 ? 0 : right[d];
            }
        }
    }
    if (!ok) {
        custom_call_fail(instruction, err, "dot_dimension_numbers do not fit %s and %s",
                         shape_text(lhs), shape_text(rhs));
    }
    return ok;
}

void matmul_products(const void *context, int64_t index, struct exact_accumulator *accumulator)
{
    const struct matmul *matmul = context;
    int64_t left = 0, right = 0, at[SHAPE_MAX_RANK] = {0}, total = 1;
    for (int d = matmul->rank - 1; d >= 0; d--) {
        int64_t i = index % matmul->dimensions[d];
        index /= matmul->dimensions[d];
        left += i * matmul->lhs_strides[d];
        right += i * matmul->rhs_strides[d];
    }
    for (int i = 0; i < matmul->contracting_count; i++) {
        total *= matmul->sizes[i];
    }
    for (int64_t k = 0; k < total; k++) {
        exact_accumulator_add_product(accumulator, literal_get_double(matmul->lhs, left),
                                      literal_get_double(matmul->rhs, right));
        for (int i = matmul->contracting_count - 1; i >= 0; i--) {
            left += matmul->lhs_steps[i];
            right += matmul->rhs_steps[i];
            if (++at[i] < matmul->sizes[i]) {
                break;
            }
            left -= matmul->sizes[i] * matmul->lhs_steps[i];
            right -= matmul->sizes[i] * matmul->rhs_steps[i];
            at[i] = 0;
        }
    }
}

static void describe_dot(const struct matmul *matmul, const struct instruction *instruction,
                         const struct shape *shape, struct inner_call *call)
{
    inner_call_init(call, instruction, OP_DOT, shape);
    inner_call_set(call, (struct attr){.key = ATTR_LHS_BATCH_DIMS,
                                       .ints = {matmul->batch_count, matmul->lhs_batch}});
    inner_call_set(call, (struct attr){.key = ATTR_RHS_BATCH_DIMS,
                                       .ints = {matmul->batch_count, matmul->rhs_batch}});
    inner_call_set(call,
                   (struct attr){.key = ATTR_LHS_CONTRACTING_DIMS,
                                 .ints = {matmul->contracting_count, matmul->lhs_contracting}});
    inner_call_set(call,
                   (struct attr){.key = ATTR_RHS_CONTRACTING_DIMS,
                                 .ints = {matmul->contracting_count, matmul->rhs_contracting}});
}

struct literal *matmul_dot(const struct matmul *matmul, struct evaluation *evaluation,
                           const struct instruction *instruction, const struct shape *shape,
                           struct error *err)
{
    struct inner_call call;
    struct literal *values[2] = {(struct literal *)matmul->lhs, (struct literal *)matmul->rhs};
    describe_dot(matmul, instruction, shape, &call);
    return inner_call_run(&call, evaluation, values, 2, err);
}

bool epilogue_take_sums(struct epilogue *epilogue, struct inner_call *call, bool bounded,
                        struct evaluation *evaluation, struct literal *const values[2],
                        struct error *err)
{
    static const bool alive[2] = {false};
    struct literal *copies[2] = {values[0], values[1]}, *bounds = NULL;
    struct operands operands = {.count = 2, .values = copies, .dying = alive};
    call->instruction.operand_count = 2;
    if (!bounded || call->instruction.shape->type != TYPE_F64) {
        epilogue->sums = inner_call_run(call, evaluation, values, 2, err);
    } else if (call->instruction.opcode == OP_DOT) {
        epilogue->sums = dot_bounded(evaluation, &call->instruction, &operands, &bounds, err);
    } else {
        epilogue->sums =
            convolution_bounded(evaluation, &call->instruction, &operands, &bounds, err);
    }
    epilogue->bounds = bounds;
    return epilogue->sums != NULL;
}

void epilogue_release(struct epilogue *epilogue)
{
    literal_release((struct literal *)epilogue->sums);
    literal_release((struct literal *)epilogue->bounds);
    epilogue->sums = epilogue->bounds = NULL;
}

bool matmul_sums(const struct matmul *matmul, struct evaluation *evaluation,
                 const struct instruction *instruction, enum type type, struct epilogue *epilogue,
                 struct error *err)
{
    struct inner_call call;
    struct literal *values[2] = {(struct literal *)matmul->lhs, (struct literal *)matmul->rhs};
    describe_dot(matmul, instruction, shape_array(type, matmul->rank, matmul->dimensions), &call);
    return epilogue_take_sums(epilogue, &call, true, evaluation, values, err);
}

enum type epilogue_sum_type(enum type result)
{
    return type_is_float(result) && float_formats[result].mantissa_bits <= 10 ? TYPE_F32 : TYPE_F64;
}
