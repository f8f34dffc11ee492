/* dot: batch and contracting dimensions anywhere, any element types.
 *
 * The golden is the exact sum of the exact products of the operands as they are (their own types),
 * rounded once to the result type; integers wrap; pred is "any product true". operand_precision
 * and algorithm say how a backend may lose accuracy, so they do not change it.
 * Source: xla/hlo/evaluator (HandleDot), xla/service/shape_inference.cc (order of dimensions). */
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/floats.h"
#include "interp/dot_internal.h"
#include "interp/eval.h"
#include "interp/walk.h"

/* --- dimensions --- */

void dot_dims_from(struct ints ints, struct dot_dims *dims)
{
    dims->count = ints.count;
    for (int i = 0; i < ints.count; i++) {
        dims->list[i] = ints.values[i];
    }
}

static bool ints_have(struct ints ints, int64_t value)
{
    for (int i = 0; i < ints.count; i++) {
        if (ints.values[i] == value) {
            return true;
        }
    }
    return false;
}

void dot_free_dims(const struct shape *shape, struct ints batch, struct ints contracting,
                   struct dot_dims *free)
{
    free->count = 0;
    for (int d = 0; d < shape->rank; d++) {
        if (!ints_have(batch, d) && !ints_have(contracting, d)) {
            free->list[free->count++] = d;
        }
    }
}

int64_t dot_dims_product(const struct shape *shape, const struct dot_dims *dims)
{
    int64_t product = 1;
    for (int i = 0; i < dims->count; i++) {
        product *= shape->dimensions[dims->list[i]];
    }
    return product;
}

/* Whether the dimensions, in their order, are steps of one stride. */
static bool collapse(const struct shape *shape, const int64_t *strides, const struct dot_dims *dims,
                     int64_t *stride)
{
    int64_t size = 1;
    *stride = 1;
    for (int i = dims->count - 1; i >= 0; i--) {
        int64_t d = dims->list[i];
        if (shape->dimensions[d] == 1) {
            continue;
        }
        if (size == 1) {
            *stride = strides[d];
        } else if (strides[d] != size * *stride) {
            return false;
        }
        size *= shape->dimensions[d];
    }
    return true;
}

static bool collapses(const struct shape *shape, const struct dot_dims *dims)
{
    int64_t strides[SHAPE_MAX_RANK], stride;
    walk_strides(shape->rank, shape->dimensions, strides);
    return collapse(shape, strides, dims, &stride);
}

/* Sorts the pairs by the first list. */
static void sort_pairs(struct dot_dims *keys, struct dot_dims *others)
{
    for (int i = 1; i < keys->count; i++) {
        for (int j = i; j > 0 && keys->list[j - 1] > keys->list[j]; j--) {
            int64_t key = keys->list[j], other = others->list[j];
            keys->list[j] = keys->list[j - 1];
            others->list[j] = others->list[j - 1];
            keys->list[j - 1] = key;
            others->list[j - 1] = other;
        }
    }
}

void dot_order_contracting(const struct shape *lhs, const struct shape *rhs, struct dot_dims *left,
                           struct dot_dims *right)
{
    sort_pairs(left, right);
    if (collapses(lhs, left) && collapses(rhs, right)) {
        return;
    }
    sort_pairs(right, left);
}

/* --- operands as matrices --- */

static void add_dims(struct walk *walk, const struct shape *shape, const int64_t *strides,
                     const struct dot_dims *dims, int64_t *stride)
{
    for (int i = dims->count - 1; i >= 0; i--) {
        int64_t d = dims->list[i];
        walk_add(walk, shape->dimensions[d], strides[d], *stride);
        *stride *= shape->dimensions[d];
    }
}

/* Copies the operand dense; the role with the most contiguous dimension comes last. */
static bool copy_side(struct dot_side *side, const struct literal *operand, const int64_t *strides,
                      const struct dot_dims *batch, const struct dot_dims *free,
                      const struct dot_dims *contracting, struct error *err)
{
    const struct shape *shape = operand->shape;
    bool depth_last = false;
    for (int i = 0; i < contracting->count; i++) {
        depth_last |= strides[contracting->list[i]] == 1;
    }
    struct walk walk;
    walk_begin(&walk);
    int64_t stride = 1;
    if (depth_last) {
        side->depth_stride = 1;
        add_dims(&walk, shape, strides, contracting, &stride);
        side->vector_stride = stride;
        add_dims(&walk, shape, strides, free, &stride);
    } else {
        side->vector_stride = 1;
        add_dims(&walk, shape, strides, free, &stride);
        side->depth_stride = stride;
        add_dims(&walk, shape, strides, contracting, &stride);
    }
    side->batch_stride = stride;
    add_dims(&walk, shape, strides, batch, &stride);
    walk_finish(&walk);
    side->owned = literal_create(shape_static(shape), err);
    if (side->owned == NULL) {
        return false;
    }
    walk_copy(&walk, literal_data(side->owned), literal_data(operand), type_bytes(shape->type));
    side->data = literal_data(side->owned);
    return true;
}

bool dot_side_init(struct dot_side *side, const struct literal *operand,
                   const struct dot_dims *batch, const struct dot_dims *free,
                   const struct dot_dims *contracting, struct error *err)
{
    const struct shape *shape = operand->shape;
    int64_t strides[SHAPE_MAX_RANK];
    walk_strides(shape->rank, shape->dimensions, strides);
    *side = (struct dot_side){
        .data = literal_data(operand),
        .type = shape->type,
        .batches = dot_dims_product(shape, batch),
        .vectors = dot_dims_product(shape, free),
        .depth = dot_dims_product(shape, contracting),
    };
    if (collapse(shape, strides, batch, &side->batch_stride) &&
        collapse(shape, strides, free, &side->vector_stride) &&
        collapse(shape, strides, contracting, &side->depth_stride)) {
        return true;
    }
    return copy_side(side, operand, strides, batch, free, contracting, err);
}

void dot_side_finish(struct dot_side *side)
{
    literal_release(side->owned);
}

struct literal *dot_operand(const struct literal *operand, enum type result, struct error *err)
{
    enum type type = operand->shape->type;
    if (type == result || (!type_is_complex(type) && !type_is_complex(result))) {
        return literal_retain(operand);
    }
    struct literal *converted = literal_create(shape_with_type(operand->shape, result), err);
    for (int64_t i = 0; converted != NULL && i < literal_elements(operand); i++) {
        if (type_is_complex(result)) {
            double imaginary = type_is_complex(type) ? literal_get_imaginary(operand, i) : 0;
            literal_set_complex(converted, i, literal_get_double(operand, i), imaginary);
        } else {
            literal_set_double(converted, i, literal_get_double(operand, i));
        }
    }
    return converted;
}

/* --- products --- */

/* Complex numbers in the order of k, each operation rounded (fidelity=literal). */
static void multiply_complex_in_order(enum type type, const struct dot_side *a,
                                      const struct dot_side *b, void *out)
{
    bool narrow = type == TYPE_C64;
    int64_t index = 0;
    for (int64_t batch = 0; batch < a->batches; batch++) {
        for (int64_t i = 0; i < a->vectors; i++) {
            for (int64_t j = 0; j < b->vectors; j++, index++) {
                int64_t left = batch * a->batch_stride + i * a->vector_stride;
                int64_t right = batch * b->batch_stride + j * b->vector_stride;
                double sum[2] = {0, 0};
                for (int64_t k = 0; k < a->depth; k++) {
                    double x[2], y[2];
                    enum type part = type_part(type);
                    int bytes = type_bytes(type);
                    float_load(part, a->data + (left + k * a->depth_stride) * bytes, x, 2);
                    float_load(part, b->data + (right + k * b->depth_stride) * bytes, y, 2);
                    double terms[4] = {x[0] * y[0], x[1] * y[1], x[0] * y[1], x[1] * y[0]};
                    if (narrow) {
                        float_round_array(TYPE_F32, terms, terms, 4);
                    }
                    double step[2] = {terms[0] - terms[1], terms[2] + terms[3]};
                    if (narrow) {
                        float_round_array(TYPE_F32, step, step, 2);
                    }
                    sum[0] += step[0];
                    sum[1] += step[1];
                    if (narrow) {
                        float_round_array(TYPE_F32, sum, sum, 2);
                    }
                }
                float_store(type_part(type), sum, (char *)out + index * type_bytes(type), 2);
            }
        }
    }
}

/* Sums and how far they may be off; sums first, so that this is a contract_emit's context. */
struct bounded_output {
    struct contract_output sums, bounds;
};

static void emit_bounds(void *context, int64_t first_row, int64_t rows, int64_t first_column,
                        int64_t columns, const double *values, int64_t step)
{
    struct bounded_output *output = context;
    contract_emit(&output->bounds, first_row, rows, first_column, columns, values, step);
}

/* Batch after batch, by the functions of contract.h. bounds: NULL, or of the sums, which are f64
 * then and not rounded further. */
static bool multiply_each(const struct contract_format *format, const struct dot_side *a,
                          const struct dot_side *b, void *out, float *bounds, struct error *err)
{
    static const struct contract_format of_bounds = {.class = CONTRACT_FLOAT, .type = TYPE_F32};
    for (int64_t batch = 0; batch < a->batches; batch++) {
        struct contract_matrix left = {
            .format = format,
            .data = a->data + batch * a->batch_stride * type_bytes(a->type),
            .type = a->type,
            .vector_stride = a->vector_stride,
            .depth_stride = a->depth_stride,
        };
        struct contract_matrix right = {
            .format = format,
            .data = b->data + batch * b->batch_stride * type_bytes(b->type),
            .type = b->type,
            .vector_stride = b->vector_stride,
            .depth_stride = b->depth_stride,
        };
        const int64_t first = batch * a->vectors * b->vectors;
        struct bounded_output output = {
            .sums = {.format = format,
                     .data = (char *)out + first * type_bytes(format->type),
                     .row_stride = b->vectors,
                     .column_stride = 1},
            .bounds = {.format = &of_bounds,
                       .data = bounds == NULL ? NULL : bounds + first,
                       .row_stride = b->vectors,
                       .column_stride = 1},
        };
        struct exact_dot_operand rows = contract_matrix_operand(&left, a->vectors);
        struct exact_dot_operand columns = contract_matrix_operand(&right, b->vectors);
        if (bounds == NULL
                ? !contract(format, &rows, &columns, a->depth, contract_emit, &output.sums, err)
                : !exact_dot_bounded(&rows, &columns, a->depth, contract_emit, emit_bounds, &output,
                                     err)) {
            return false;
        }
    }
    return true;
}

bool dot_multiply(enum type type, bool in_order, const struct dot_side *a, const struct dot_side *b,
                  void *out, struct error *err)
{
    bool complex = type_is_complex(type);
    if (complex && in_order) {
        multiply_complex_in_order(type, a, b, out);
        return true;
    }
    struct contract_format format = {
        .class = contract_class_of(type_part(type)),
        .type = type_part(type),
        .in_order = in_order,
    };
    if (!complex &&
        (in_order || !type_is_float(type) || !type_is_float(a->type) || !type_is_float(b->type))) {
        return multiply_each(&format, a, b, out, NULL, err);
    }
    struct exact_dot_matrix left = {
        .data = a->data,
        .type = a->type,
        .vector_stride = a->vector_stride,
        .depth_stride = a->depth_stride,
    };
    struct exact_dot_matrix right = {
        .data = b->data,
        .type = b->type,
        .vector_stride = b->vector_stride,
        .depth_stride = b->depth_stride,
    };
    struct exact_dot_output output = {
        .data = out,
        .type = type,
        .row_stride = b->vectors,
        .column_stride = 1,
    };
    struct exact_dot_batch batch = {
        .count = a->batches,
        .a_stride = a->batch_stride,
        .b_stride = b->batch_stride,
        .out_stride = a->vectors * b->vectors,
    };
    if (complex) {
        return exact_dot_complex(&left, &right, &output, a->vectors, b->vectors, a->depth, &batch,
                                 err);
    }
    return exact_dot_matrices(&left, &right, &output, a->vectors, b->vectors, a->depth, &batch,
                              err);
}

/* --- the instruction --- */

/* The product of two operands as a literal of `shape`; bounds as in dot_bounded, or NULL. */
static struct literal *evaluate(const struct instruction *instruction, const struct literal *lhs,
                                const struct literal *rhs, const struct shape *shape, bool in_order,
                                struct literal **bounds, struct error *err)
{
    struct ints lhs_batch = attr_ints(instruction, ATTR_LHS_BATCH_DIMS);
    struct ints rhs_batch = attr_ints(instruction, ATTR_RHS_BATCH_DIMS);
    struct ints lhs_contracting = attr_ints(instruction, ATTR_LHS_CONTRACTING_DIMS);
    struct ints rhs_contracting = attr_ints(instruction, ATTR_RHS_CONTRACTING_DIMS);
    struct dot_dims batch[2], free[2], contracting[2];
    dot_dims_from(lhs_batch, &batch[0]);
    dot_dims_from(rhs_batch, &batch[1]);
    dot_dims_from(lhs_contracting, &contracting[0]);
    dot_dims_from(rhs_contracting, &contracting[1]);
    dot_free_dims(lhs->shape, lhs_batch, lhs_contracting, &free[0]);
    dot_free_dims(rhs->shape, rhs_batch, rhs_contracting, &free[1]);
    if (!in_order) {
        dot_order_contracting(lhs->shape, rhs->shape, &contracting[0], &contracting[1]);
    }
    struct literal *operands[2] = {dot_operand(lhs, shape->type, err),
                                   dot_operand(rhs, shape->type, err)};
    struct dot_side sides[2] = {0};
    struct literal *result = literal_create(shape, err);
    bool ok = operands[0] != NULL && operands[1] != NULL && result != NULL;
    for (int i = 0; ok && i < 2; i++) {
        ok = dot_side_init(&sides[i], operands[i], &batch[i], &free[i], &contracting[i], err);
    }
    if (ok && bounds != NULL) {
        const struct contract_format format = {.class = CONTRACT_FLOAT, .type = TYPE_F64};
        *bounds = literal_create(shape_with_type(shape, TYPE_F32), err);
        ok = *bounds != NULL && multiply_each(&format, &sides[0], &sides[1], literal_data(result),
                                              literal_data(*bounds), err);
    } else {
        ok = ok &&
             dot_multiply(shape->type, in_order, &sides[0], &sides[1], literal_data(result), err);
    }
    for (int i = 0; i < 2; i++) {
        dot_side_finish(&sides[i]);
        literal_release(operands[i]);
    }
    if (!ok) {
        literal_release(result);
        return NULL;
    }
    return result;
}

static struct literal *evaluate_again(const struct instruction *instruction,
                                      struct literal *const operands[2], struct error *err)
{
    return evaluate(instruction, operands[0], operands[1],
                    shape_with_type(instruction->shape, TYPE_F32), false, NULL, err);
}

struct literal *dot_bounded(struct evaluation *evaluation, const struct instruction *instruction,
                            struct operands *operands, struct literal **bounds, struct error *err)
{
    struct literal *values[2] = {
        contract_operand(evaluation, instruction, 0, operands->values[0], err),
        contract_operand(evaluation, instruction, 1, operands->values[1], err)};
    struct literal *result = NULL;
    if (values[0] != NULL && values[1] != NULL) {
        result = evaluate(instruction, values[0], values[1], instruction->shape,
                          evaluation->options.fidelity == FIDELITY_LITERAL, bounds, err);
    }
    bool ok = result != NULL && contract_spread(instruction, values, evaluate_again, result, err);
    literal_release(values[0]);
    literal_release(values[1]);
    if (!ok) {
        literal_release(result);
        return NULL;
    }
    return result;
}

struct literal *eval_dot(struct evaluation *evaluation, const struct instruction *instruction,
                         struct operands *operands, struct error *err)
{
    return dot_bounded(evaluation, instruction, operands, NULL, err);
}
