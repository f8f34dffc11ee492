/* Operands of a convolution with structured sparsity (sparsity_config).
 *
 * 1:N sparsity along a dimension d: the operand has one element for each block of N elements of the
 * array that it stands for, which is N times as long along d; all others are zero. Element i along
 * d goes to i N + p, where p is the element of the index operand at the same place (which has the
 * same dimensions). An index outside its block is an error. XLA knows no M:N with M > 1, and no
 * strides. Source: xla/literal_util.cc (MaterializeSparseOperand), xla/xla_data.proto
 * (SparsityConfig), xla/hlo/evaluator (HandleConvolution). */
#include <string.h>

#include "hlo/attr.h"
#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/convolution_plan.h"
#include "interp/eval.h"

static bool is_valid(const struct sparsity *sparsity, const struct operands *operands,
                     const struct literal *values, struct error *err)
{
    if (sparsity->nonzero != 1 || sparsity->stride != 1 || sparsity->block < 1) {
        return error_set(err, ERROR_UNIMPLEMENTED,
                         "sparsity %lldx%lld with stride %lld: only 1xN with stride 1 is defined",
                         (long long)sparsity->nonzero, (long long)sparsity->block,
                         (long long)sparsity->stride);
    }
    const struct shape *shape = values->shape;
    bool fits = sparsity->dimension >= 0 && sparsity->dimension < shape->rank &&
                sparsity->indices >= 2 && sparsity->indices < operands->count;
    const struct shape *indices = fits ? operands->values[sparsity->indices]->shape : NULL;
    fits = fits && type_is_integer(indices->type) && indices->rank == shape->rank &&
           shape->dimensions[sparsity->dimension] <= INT64_MAX / sparsity->block;
    for (int d = 0; fits && d < shape->rank; d++) {
        fits = indices->dimensions[d] == shape->dimensions[d];
    }
    return fits || error_set(err, ERROR_INVALID_ARGUMENT,
                             "the indices of a sparse operand do not fit %s", shape_text(shape));
}

struct literal *convolution_dense(const struct instruction *instruction,
                                  const struct operands *operands, bool right, struct error *err)
{
    struct literal *values = operands->values[right ? 1 : 0];
    struct sparsity sparsity;
    if (!attr_sparsity(instruction, right, &sparsity)) {
        return literal_retain(values);
    }
    if (!is_valid(&sparsity, operands, values, err)) {
        return NULL;
    }
    const struct shape *shape = values->shape;
    const struct literal *indices = operands->values[sparsity.indices];
    int64_t dimensions[SHAPE_MAX_RANK], inner = 1;
    for (int d = 0; d < shape->rank; d++) {
        dimensions[d] = shape->dimensions[d];
        inner *= d > sparsity.dimension ? shape->dimensions[d] : 1;
    }
    dimensions[sparsity.dimension] *= sparsity.block;
    struct literal *dense = literal_zero(shape_array(shape->type, shape->rank, dimensions), err);
    size_t bytes = (size_t)type_bytes(shape->type);
    for (int64_t i = 0; dense != NULL && i < literal_elements(values); i++) {
        /* inner elements, then blocks: block number i / inner, of all dimensions up to this one. */
        int64_t position = literal_get_int(indices, i);
        if (position < 0 || position >= sparsity.block) {
            error_set(err, ERROR_INVALID_ARGUMENT,
                      "index %lld of a sparse operand is outside its block of %lld",
                      (long long)position, (long long)sparsity.block);
            literal_release(dense);
            return NULL;
        }
        int64_t block = i / inner * sparsity.block, rest = i % inner;
        int64_t to = (block + position) * inner + rest;
        memcpy((char *)literal_data(dense) + (size_t)to * bytes,
               (const char *)literal_data(values) + (size_t)i * bytes, bytes);
        bool anywhere = literal_is_unspecified(indices, i);
        if (literal_is_unspecified(values, i)) {
            literal_mark_unspecified(dense, to);
        }
        for (int64_t k = 0; anywhere && k < sparsity.block; k++) {
            literal_mark_unspecified(dense, (block + k) * inner + rest);
        }
    }
    return dense;
}
