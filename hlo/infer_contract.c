/* Shape inference: dot, convolution, batch norm, linear algebra and FFT.
 * Source: xla/service/shape_inference.cc. */
#include <string.h>

#include "hlo/infer_internal.h"

/* --- dot --- */

struct dot_dimensions {
    struct ints lhs_contracting, rhs_contracting, lhs_batch, rhs_batch;
};

static struct dot_dimensions dot_dimensions(const struct instruction *instruction)
{
    return (struct dot_dimensions){attr_ints(instruction, ATTR_LHS_CONTRACTING_DIMS),
                                   attr_ints(instruction, ATTR_RHS_CONTRACTING_DIMS),
                                   attr_ints(instruction, ATTR_LHS_BATCH_DIMS),
                                   attr_ints(instruction, ATTR_RHS_BATCH_DIMS)};
}

static bool side_ok(const struct instruction *instruction, const struct shape *shape,
                    struct ints contracting, struct ints batch, const char *side, struct error *err)
{
    if (!infer_dimensions_ok(instruction, contracting, shape->rank, side, err) ||
        !infer_dimensions_ok(instruction, batch, shape->rank, side, err)) {
        return false;
    }
    for (int i = 0; i < batch.count; i++) {
        if (infer_contains(contracting, batch.values[i])) {
            infer_fail(instruction, err, "%s: dimension %lld is a batch and a contracting one",
                       side, (long long)batch.values[i]);
            return false;
        }
    }
    return true;
}

static bool sizes_match(int64_t a, int64_t b)
{
    return a == b || a == DIMENSION_UNBOUNDED || b == DIMENSION_UNBOUNDED;
}

/* Pairs of dimensions must agree in size; `skip_sizes` for scaled operands. */
static bool pairs_ok(const struct instruction *instruction, const struct shape *lhs,
                     struct ints lhs_dims, const struct shape *rhs, struct ints rhs_dims,
                     const char *what, struct error *err)
{
    if (lhs_dims.count != rhs_dims.count) {
        infer_fail(instruction, err, "the sides have %d and %d %s dimensions", lhs_dims.count,
                   rhs_dims.count, what);
        return false;
    }
    for (int i = 0; i < lhs_dims.count; i++) {
        if (!sizes_match(lhs->dimensions[lhs_dims.values[i]],
                         rhs->dimensions[rhs_dims.values[i]])) {
            infer_fail(instruction, err, "%s dimensions differ in size: %s, %s", what,
                       shape_text(lhs), shape_text(rhs));
            return false;
        }
    }
    return true;
}

static bool append(const struct instruction *instruction, const struct shape *shape, int i,
                   int64_t *sizes, bool *dynamic, int *rank, struct error *err)
{
    if (*rank == SHAPE_MAX_RANK) {
        infer_fail(instruction, err, "the result has too many dimensions");
        return false;
    }
    sizes[*rank] = shape->dimensions[i];
    dynamic[(*rank)++] = shape_dimension_is_dynamic(shape, i);
    return true;
}

/* Batch dimensions, then what is left of lhs, then of rhs (without `also` dimensions). */
static const struct shape *dot_shape(const struct instruction *instruction, const struct shape *lhs,
                                     const struct shape *rhs, struct dot_dimensions d,
                                     struct ints rhs_also, struct error *err)
{
    int64_t sizes[SHAPE_MAX_RANK];
    bool dynamic[SHAPE_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < d.lhs_batch.count; i++) {
        if (!append(instruction, lhs, (int)d.lhs_batch.values[i], sizes, dynamic, &rank, err)) {
            return NULL;
        }
    }
    for (int i = 0; i < lhs->rank; i++) {
        if (!infer_contains(d.lhs_contracting, i) && !infer_contains(d.lhs_batch, i) &&
            !append(instruction, lhs, i, sizes, dynamic, &rank, err)) {
            return NULL;
        }
    }
    for (int i = 0; i < rhs->rank; i++) {
        if (!infer_contains(d.rhs_contracting, i) && !infer_contains(d.rhs_batch, i) &&
            !infer_contains(rhs_also, i) &&
            !append(instruction, rhs, i, sizes, dynamic, &rank, err)) {
            return NULL;
        }
    }
    return shape_make(infer_higher_type(lhs->type, rhs->type), rank, sizes, dynamic, NULL);
}

const struct shape *infer_dot(const struct instruction *instruction, struct error *err)
{
    if (!infer_arrays(instruction, 0, err)) {
        return NULL;
    }
    const struct shape *lhs = operand_shape(instruction, 0), *rhs = operand_shape(instruction, 1);
    struct dot_dimensions d = dot_dimensions(instruction);
    if (!side_ok(instruction, lhs, d.lhs_contracting, d.lhs_batch, "lhs dims", err) ||
        !side_ok(instruction, rhs, d.rhs_contracting, d.rhs_batch, "rhs dims", err) ||
        !pairs_ok(instruction, lhs, d.lhs_contracting, rhs, d.rhs_contracting, "contracting",
                  err) ||
        !pairs_ok(instruction, lhs, d.lhs_batch, rhs, d.rhs_batch, "batch", err)) {
        return NULL;
    }
    return dot_shape(instruction, lhs, rhs, d, (struct ints){0, NULL}, err);
}

/* A bf16 scale of ones for a bf16 operand stands for none. */
static bool is_no_scale(const struct shape *shape, const struct shape *scale)
{
    bool ones = true, all_ones = true;
    for (int i = 0; i < scale->rank; i++) {
        ones &= scale->dimensions[i] == 1;
    }
    for (int i = 0; i < shape->rank; i++) {
        all_ones &= shape->dimensions[i] == 1;
    }
    return shape->type == TYPE_BF16 && scale->type == TYPE_BF16 && ones && !all_ones;
}

/* Operands: lhs, rhs and their scales; a scale has its operand's rank, and whole blocks of the
 * operand share one element of it. Source: hlo_verifier.cc HandleScaledDot. */
const struct shape *infer_scaled_dot(const struct instruction *instruction, struct error *err)
{
    const struct shape *result = infer_dot(instruction, err);
    if (result == NULL) {
        return NULL;
    }
    struct dot_dimensions d = dot_dimensions(instruction);
    for (int i = 0; i < 2; i++) {
        const struct shape *shape = operand_shape(instruction, i);
        const struct shape *scale = operand_shape(instruction, i + 2);
        if (is_no_scale(shape, scale)) {
            continue;
        }
        if (scale->rank != shape->rank ||
            (i == 0 ? d.lhs_contracting : d.rhs_contracting).count != 1) {
            return infer_fail(instruction, err,
                              "scale %s must have the rank of %s, with one contracting dimension",
                              shape_text(scale), shape_text(shape));
        }
        for (int k = 0; k < shape->rank; k++) {
            if (scale->dimensions[k] <= 0 || shape->dimensions[k] % scale->dimensions[k] != 0) {
                return infer_fail(instruction, err,
                                  "dimension %d of %s is no multiple of that of its scale %s", k,
                                  shape_text(shape), shape_text(scale));
            }
        }
    }
    if (operand_shape(instruction, 2)->rank == 0 && operand_shape(instruction, 3)->rank == 0) {
        return infer_fail(instruction, err, "both scales are scalars");
    }
    return result;
}

/* Modes: the ragged dimension of lhs is a non-contracting one (rhs then has a group dimension), a
 * contracting one, or a batch one. Source: xla/service/shape_inference.cc InferRaggedDotOpShape. */
const struct shape *infer_ragged_dot(const struct instruction *instruction, struct error *err)
{
    if (!infer_arrays(instruction, 0, err)) {
        return NULL;
    }
    const struct shape *lhs = operand_shape(instruction, 0), *rhs = operand_shape(instruction, 1);
    const struct shape *sizes = operand_shape(instruction, 2);
    struct dot_dimensions d = dot_dimensions(instruction);
    struct ints ragged = attr_ints(instruction, ATTR_LHS_RAGGED_DIMS);
    struct ints group = attr_ints(instruction, ATTR_RHS_GROUP_DIMS);
    if (!side_ok(instruction, lhs, d.lhs_contracting, d.lhs_batch, "lhs dims", err) ||
        !side_ok(instruction, rhs, d.rhs_contracting, d.rhs_batch, "rhs dims", err) ||
        !pairs_ok(instruction, lhs, d.lhs_contracting, rhs, d.rhs_contracting, "contracting",
                  err) ||
        !pairs_ok(instruction, lhs, d.lhs_batch, rhs, d.rhs_batch, "batch", err)) {
        return NULL;
    }
    if (ragged.count != 1 ||
        !infer_dimensions_ok(instruction, ragged, lhs->rank, "lhs_ragged_dims", err)) {
        return infer_fail(instruction, err, "lhs_ragged_dims must name one dimension");
    }
    bool contracting = infer_contains(d.lhs_contracting, ragged.values[0]);
    bool batch = infer_contains(d.lhs_batch, ragged.values[0]);
    if (contracting || batch ? group.count != 0 : group.count != 1) {
        return infer_fail(instruction, err,
                          "rhs_group_dims must name one dimension if the ragged one is neither "
                          "contracting nor batch, and none otherwise");
    }
    if (!infer_dimensions_ok(instruction, group, rhs->rank, "rhs_group_dims", err)) {
        return NULL;
    }
    if (sizes->rank < 1 || !type_is_integer(sizes->type)) {
        return infer_fail(instruction, err, "group sizes must be integers, but they are %s",
                          shape_text(sizes));
    }
    int64_t groups = sizes->dimensions[sizes->rank - 1];
    if (group.count == 1 && !sizes_match(groups, rhs->dimensions[group.values[0]])) {
        return infer_fail(instruction, err, "group dimension %lld of %s must have size %lld",
                          (long long)group.values[0], shape_text(rhs), (long long)groups);
    }
    const struct shape *shape = dot_shape(instruction, lhs, rhs, d, group, err);
    if (shape == NULL || !contracting) {
        return shape;
    }
    /* Each group gives a result of its own: a leading dimension. */
    int64_t dimensions[SHAPE_MAX_RANK];
    if (shape->rank + 1 > SHAPE_MAX_RANK) {
        return infer_fail(instruction, err, "the result has too many dimensions");
    }
    dimensions[0] = groups;
    memcpy(dimensions + 1, shape->dimensions, (size_t)shape->rank * sizeof *dimensions);
    return shape_array(shape->type, shape->rank + 1, dimensions);
}

/* --- convolution --- */

static bool labels_ok(const struct instruction *instruction, const struct dim_labels *labels,
                      int rank, struct error *err)
{
    int64_t input[SHAPE_MAX_RANK], kernel[SHAPE_MAX_RANK], output[SHAPE_MAX_RANK];
    int count = labels->spatial_rank + 2;
    if (count != rank) {
        infer_fail(instruction, err, "dim_labels are for rank %d, the operand has rank %d", count,
                   rank);
        return false;
    }
    input[0] = labels->input_batch;
    input[1] = labels->input_feature;
    kernel[0] = labels->kernel_input_feature;
    kernel[1] = labels->kernel_output_feature;
    output[0] = labels->output_batch;
    output[1] = labels->output_feature;
    for (int i = 0; i < labels->spatial_rank; i++) {
        input[i + 2] = labels->input_spatial[i];
        kernel[i + 2] = labels->kernel_spatial[i];
        output[i + 2] = labels->output_spatial[i];
    }
    return infer_dimensions_ok(instruction, (struct ints){count, input}, rank, "dim_labels", err) &&
           infer_dimensions_ok(instruction, (struct ints){count, kernel}, rank, "dim_labels",
                               err) &&
           infer_dimensions_ok(instruction, (struct ints){count, output}, rank, "dim_labels", err);
}

const struct shape *infer_convolution(const struct instruction *instruction, struct error *err)
{
    if (instruction->operand_count < 2 || !infer_arrays(instruction, 0, err)) {
        return infer_fail(instruction, err, "needs two array operands");
    }
    const struct shape *lhs = operand_shape(instruction, 0), *rhs = operand_shape(instruction, 1);
    const struct dim_labels *labels = attr_dim_labels(instruction);
    struct window window = attr_window(instruction);
    int64_t feature_groups = attr_int(instruction, ATTR_FEATURE_GROUP_COUNT, 1);
    int64_t batch_groups = attr_int(instruction, ATTR_BATCH_GROUP_COUNT, 1);
    if (labels == NULL) {
        return infer_fail(instruction, err, "dim_labels is missing");
    }
    if (lhs->rank != rhs->rank || lhs->rank < 2 || lhs->rank > SHAPE_MAX_RANK) {
        return infer_fail(instruction, err, "operands %s and %s must have one rank of at least 2",
                          shape_text(lhs), shape_text(rhs));
    }
    if (feature_groups < 1 || batch_groups < 1 || (feature_groups > 1 && batch_groups > 1)) {
        return infer_fail(instruction, err,
                          "feature_group_count and batch_group_count must be positive, and one "
                          "of them 1");
    }
    if (!labels_ok(instruction, labels, lhs->rank, err)) {
        return NULL;
    }
    if (window.rank != labels->spatial_rank) {
        return infer_fail(instruction, err, "window has rank %d, dim_labels have %d spatial ones",
                          window.rank, labels->spatial_rank);
    }
    int64_t base_sizes[SHAPE_MAX_RANK];
    bool base_dynamic[SHAPE_MAX_RANK];
    for (int i = 0; i < labels->spatial_rank; i++) {
        base_sizes[i] = lhs->dimensions[labels->input_spatial[i]];
        base_dynamic[i] = shape_dimension_is_dynamic(lhs, (int)labels->input_spatial[i]);
        int64_t kernel = rhs->dimensions[labels->kernel_spatial[i]];
        if (kernel != window.dimensions[i].size && kernel != DIMENSION_UNBOUNDED) {
            return infer_fail(instruction, err,
                              "window size %lld differs from the kernel's %lld in spatial "
                              "dimension %d",
                              (long long)window.dimensions[i].size, (long long)kernel, i);
        }
    }
    int64_t input_feature = lhs->dimensions[labels->input_feature];
    int64_t input_batch = lhs->dimensions[labels->input_batch];
    int64_t kernel_in = rhs->dimensions[labels->kernel_input_feature];
    int64_t kernel_out = rhs->dimensions[labels->kernel_output_feature];
    struct sparsity sparsity;
    if (attr_sparsity(instruction, true, &sparsity) && kernel_in != DIMENSION_UNBOUNDED) {
        /* The kernel that its stored elements stand for. */
        if (sparsity.nonzero != 1 || sparsity.block < 1 || kernel_in > INT64_MAX / sparsity.block) {
            return infer_fail(instruction, err, "sparsity must be one of a block of some");
        }
        kernel_in *= sparsity.block;
    }
    for (int side = 0; side < 2; side++) {
        if (attr_sparsity(instruction, side == 1, &sparsity) &&
            (sparsity.indices < 2 || sparsity.indices >= instruction->operand_count)) {
            return infer_fail(instruction, err, "sparsity names operand %lld for its indices",
                              (long long)sparsity.indices);
        }
    }
    if (input_feature != DIMENSION_UNBOUNDED && kernel_in != DIMENSION_UNBOUNDED &&
        (input_feature % feature_groups != 0 || input_feature / feature_groups != kernel_in)) {
        return infer_fail(
            instruction, err, "%lld input features in %lld groups do not fit a kernel for %lld",
            (long long)input_feature, (long long)feature_groups, (long long)kernel_in);
    }
    if (kernel_out != DIMENSION_UNBOUNDED &&
        (kernel_out % feature_groups != 0 || kernel_out % batch_groups != 0)) {
        return infer_fail(instruction, err, "%lld output features do not divide into %lld groups",
                          (long long)kernel_out,
                          (long long)(feature_groups > 1 ? feature_groups : batch_groups));
    }
    if (input_batch != DIMENSION_UNBOUNDED && input_batch % batch_groups != 0) {
        return infer_fail(instruction, err, "batch %lld does not divide into %lld groups",
                          (long long)input_batch, (long long)batch_groups);
    }
    const struct shape *base =
        shape_make(lhs->type, labels->spatial_rank, base_sizes, base_dynamic, NULL);
    const struct shape *spatial = infer_windowed(instruction, base, &window, lhs->type, err);
    if (spatial == NULL) {
        return NULL;
    }
    int64_t sizes[SHAPE_MAX_RANK];
    bool dynamic[SHAPE_MAX_RANK] = {false};
    sizes[labels->output_batch] =
        input_batch == DIMENSION_UNBOUNDED ? input_batch : input_batch / batch_groups;
    sizes[labels->output_feature] = kernel_out;
    dynamic[labels->output_batch] = shape_dimension_is_dynamic(lhs, (int)labels->input_batch);
    dynamic[labels->output_feature] =
        shape_dimension_is_dynamic(rhs, (int)labels->kernel_output_feature);
    for (int i = 0; i < labels->spatial_rank; i++) {
        sizes[labels->output_spatial[i]] = spatial->dimensions[i];
        dynamic[labels->output_spatial[i]] = shape_dimension_is_dynamic(spatial, i);
    }
    return shape_make(infer_higher_type(lhs->type, rhs->type), lhs->rank, sizes, dynamic, NULL);
}

/* --- batch norm --- */

/* Operands 1.. are vectors of the feature's size; for the gradient the last has operand 0's
 * shape. */
static bool batch_norm_ok(const struct instruction *instruction, int vectors, struct error *err)
{
    const struct shape *shape = operand_shape(instruction, 0);
    int64_t feature = attr_int(instruction, ATTR_FEATURE_INDEX, -1);
    if (!infer_arrays(instruction, 0, err)) {
        return false;
    }
    if (!type_is_float(shape->type) || feature < 0 || feature >= shape->rank) {
        infer_fail(instruction, err, "operand %s must be floating point and have dimension %lld",
                   shape_text(shape), (long long)feature);
        return false;
    }
    for (int i = 1; i <= vectors; i++) {
        const struct shape *vector = operand_shape(instruction, i);
        if (vector->rank != 1 || !infer_same_type(vector, shape) ||
            !sizes_match(vector->dimensions[0], shape->dimensions[feature])) {
            infer_fail(instruction, err, "operand %d is %s, which does not fit %s and feature %lld",
                       i, shape_text(vector), shape_text(shape), (long long)feature);
            return false;
        }
    }
    return true;
}

static const struct shape *batch_norm_tuple(const struct instruction *instruction)
{
    const struct shape *shape = shape_without_layout(operand_shape(instruction, 0));
    int feature = (int)attr_int(instruction, ATTR_FEATURE_INDEX, 0);
    bool dynamic = shape_dimension_is_dynamic(shape, feature);
    const struct shape *vector =
        shape_make(shape->type, 1, &shape->dimensions[feature], &dynamic, NULL);
    const struct shape *parts[] = {shape, vector, vector};
    return shape_tuple(3, parts);
}

const struct shape *infer_batch_norm_training(const struct instruction *instruction,
                                              struct error *err)
{
    return batch_norm_ok(instruction, 2, err) ? batch_norm_tuple(instruction) : NULL;
}

const struct shape *infer_batch_norm_inference(const struct instruction *instruction,
                                               struct error *err)
{
    return batch_norm_ok(instruction, 4, err) ? shape_without_layout(operand_shape(instruction, 0))
                                              : NULL;
}

const struct shape *infer_batch_norm_grad(const struct instruction *instruction, struct error *err)
{
    if (!batch_norm_ok(instruction, 3, err)) {
        return NULL;
    }
    const struct shape *shape = operand_shape(instruction, 0);
    const struct shape *gradient = operand_shape(instruction, 4);
    if (!infer_same_sizes(shape, gradient) || !infer_same_type(shape, gradient)) {
        return infer_fail(instruction, err, "grad_output is %s, the operand is %s",
                          shape_text(gradient), shape_text(shape));
    }
    return batch_norm_tuple(instruction);
}

/* --- linear algebra --- */

static bool solvable(enum type type)
{
    return type_is_float(type) || type_is_complex(type);
}

static bool square(const struct instruction *instruction, const struct shape *shape,
                   struct error *err)
{
    if (!shape_is_array(shape) || shape->rank < 2 || !solvable(shape->type) ||
        !sizes_match(shape->dimensions[shape->rank - 1], shape->dimensions[shape->rank - 2])) {
        infer_fail(instruction, err,
                   "operand %s must be a batch of square matrices of floating "
                   "point or complex type",
                   shape_text(shape));
        return false;
    }
    return true;
}

const struct shape *infer_cholesky(const struct instruction *instruction, struct error *err)
{
    const struct shape *shape = operand_shape(instruction, 0);
    return square(instruction, shape, err) ? shape_without_layout(shape) : NULL;
}

const struct shape *infer_triangular_solve(const struct instruction *instruction, struct error *err)
{
    const struct shape *a = operand_shape(instruction, 0), *b = operand_shape(instruction, 1);
    if (!square(instruction, a, err)) {
        return NULL;
    }
    bool left = attr_bool(instruction, ATTR_LEFT_SIDE, false);
    if (b->rank != a->rank || a->type != b->type) {
        return infer_fail(instruction, err, "operands %s and %s differ in rank or type",
                          shape_text(a), shape_text(b));
    }
    int side = left ? b->rank - 2 : b->rank - 1;
    bool ok = sizes_match(a->dimensions[a->rank - 1], b->dimensions[side]);
    for (int i = 0; i < a->rank - 2; i++) {
        ok &= sizes_match(a->dimensions[i], b->dimensions[i]);
    }
    if (!ok) {
        return infer_fail(instruction, err, "operands %s and %s do not fit", shape_text(a),
                          shape_text(b));
    }
    int64_t transpose = attr_int(instruction, ATTR_TRANSPOSE_A, TRANSPOSE_INVALID);
    if (transpose == TRANSPOSE_INVALID) {
        return infer_fail(instruction, err,
                          "transpose_a must be NO_TRANSPOSE, TRANSPOSE or "
                          "ADJOINT");
    }
    return shape_without_layout(b);
}

/* --- FFT --- */

const struct shape *infer_fft(const struct instruction *instruction, struct error *err)
{
    const struct shape *shape = operand_shape(instruction, 0);
    struct ints length = attr_ints(instruction, ATTR_FFT_LENGTH);
    int64_t kind = attr_int(instruction, ATTR_FFT_TYPE, FFT_FFT);
    if (!infer_arrays(instruction, 0, err)) {
        return NULL;
    }
    if (length.count < 1 || length.count > 3 || length.count > shape->rank) {
        return infer_fail(instruction, err,
                          "fft_length must have 1 to 3 entries, at most the rank");
    }
    bool real_input = kind == FFT_RFFT;
    if (real_input ? shape->type != TYPE_F32 && shape->type != TYPE_F64
                   : !type_is_complex(shape->type)) {
        return infer_fail(instruction, err, "operand type %s does not fit the fft_type",
                          type_text(shape->type));
    }
    int64_t sizes[SHAPE_MAX_RANK];
    bool dynamic[SHAPE_MAX_RANK];
    for (int i = 0; i < shape->rank; i++) {
        sizes[i] = shape->dimensions[i];
        dynamic[i] = shape_dimension_is_dynamic(shape, i);
    }
    for (int i = 0; i < length.count; i++) {
        int at = shape->rank - length.count + i;
        bool last = i == length.count - 1;
        bool is_empty = sizes[at] == 0 && length.values[i] == 0;
        int64_t expected =
            kind == FFT_IRFFT && last && !is_empty ? length.values[i] / 2 + 1 : length.values[i];
        if (length.values[i] < 0 || !sizes_match(sizes[at], expected)) {
            return infer_fail(instruction, err, "fft_length %lld does not fit dimension %d of %s",
                              (long long)length.values[i], at, shape_text(shape));
        }
        if (last && kind == FFT_RFFT && length.values[i] > 0) {
            sizes[at] = length.values[i] / 2 + 1;
        } else if (last && kind == FFT_IRFFT) {
            sizes[at] = length.values[i];
        }
    }
    enum type type = kind == FFT_RFFT    ? type_complex_of(shape->type)
                     : kind == FFT_IRFFT ? type_part(shape->type)
                                         : shape->type;
    return shape_make(type, shape->rank, sizes, dynamic, NULL);
}
