/* How much arithmetic a custom call does, for those who allow for its roundings. */
#include <math.h>
#include <string.h>

#include "interp/custom_call.h"
#include "interp/custom_call_internal.h"

static int64_t elements_of(const struct instruction *call, int i)
{
    return i < call->operand_count && shape_is_array(call->operands[i]->shape)
               ? shape_elements(call->operands[i]->shape)
               : 0;
}

static int64_t last_dimension(const struct shape *shape)
{
    return shape_is_array(shape) && shape->rank > 0 ? shape->dimensions[shape->rank - 1] : 0;
}

static bool starts(const char *target, const char *with)
{
    return strncmp(target, with, strlen(with)) == 0;
}

int64_t custom_call_terms(const struct instruction *call)
{
    const char *target = call->opcode == OP_CUSTOM_CALL ? custom_call_target(call) : "";
    const struct shape *result = call->operand_count > 0 ? custom_call_result_shape(call, 0) : NULL;
    if (result == NULL || !shape_is_array(result) || !custom_call_is_known(target)) {
        return 0;
    }
    int64_t a = elements_of(call, 0), b = elements_of(call, 1), d = shape_elements(result);
    if (strcmp(target, "__onednn$layernorm") == 0 || strcmp(target, "__onednn$softmax") == 0) {
        return last_dimension(result);
    }
    if (strcmp(target, "__cudnn$norm") == 0) {
        return b;
    }
    if (starts(target, "__cublas$t")) { /* triangularSolve */
        return last_dimension(call->operands[0]->shape);
    }
    if (starts(target, "__cublas$") || strcmp(target, "__onednn$matmul") == 0) {
        /* |A| |B| / |D| is k² times the batches. */
        return d > 0 ? (int64_t)ceil(sqrt((double)a * (double)b / (double)d)) : 0;
    }
    if (starts(target, "__cudnn$conv") || strcmp(target, "__onednn$convolution") == 0) {
        bool moves = starts(target, "__cudnn$convReorder");
        bool backward = starts(target, "__cudnn$convBackward");
        const struct dim_labels *labels = attr_dim_labels(call);
        int64_t features =
            labels != NULL && shape_is_array(result) && labels->output_feature < result->rank
                ? result->dimensions[labels->output_feature]
                : 1;
        return moves ? 0 : backward ? b : features > 0 ? b / features : b;
    }
    if (starts(target, "__cudnn$fmha")) {
        return elements_of(call, 1) > 0 ? (int64_t)ceil(sqrt((double)b)) : 0;
    }
    bool solver = starts(target, "lapack_") || starts(target, "cusolver_") ||
                  starts(target, "hipsolver_") || starts(target, "cuhybrid_") ||
                  starts(target, "hiphybrid_") || starts(target, "cusparse_") ||
                  starts(target, "hipsparse_") || strstr(target, "_cholesky_update") != NULL ||
                  strcmp(target, "Eigh") == 0 || strcmp(target, "Qr") == 0 ||
                  strcmp(target, "LuDecomposition") == 0 ||
                  strcmp(target, "ProductOfElementaryHouseholderReflectors") == 0;
    const struct shape *matrix = call->operands[0]->shape;
    if (solver && shape_is_array(matrix) && matrix->rank > 0) {
        int64_t n = last_dimension(matrix);
        int64_t m = matrix->rank > 1 ? matrix->dimensions[matrix->rank - 2] : n;
        return n > m ? n : m;
    }
    return 0;
}
