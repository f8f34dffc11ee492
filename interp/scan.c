/* scan: the computation applied slice after slice along a dimension, carrying values from one to
 * the next. Its parameters are the slices of the inputs, then the carries; its results the slices
 * of the outputs, then the new carries (xla/hlo/evaluator). */
#include <stdlib.h>
#include <string.h>

#include "interp/dynamic.h"
#include "interp/elementwise.h"
#include "interp/walk.h"

struct scan {
    const struct computation *body;
    int inputs, carries, outputs;
    int64_t dimension, length;
    struct literal **given;     /* [inputs + carries] the operands */
    struct literal **arguments; /* [inputs + carries] */
    struct literal **carried;   /* [carries] */
    struct literal **results;   /* [outputs + carries]: those of the instruction */
};

/* A value in the type that parameter i has: mixed precision lets floats differ. */
static struct literal *as_parameter(const struct scan *scan, const struct literal *value, int i,
                                    struct error *err)
{
    const struct shape *parameter = scan->body->parameters[i]->shape;
    return shape_is_array(parameter) ? elementwise_convert(value, parameter->type, err)
                                     : literal_retain(value);
}

/* A walk over slice t of an array, between it and a dense slice. */
static void slice_walk(const struct shape *array, int64_t dimension, bool into_array,
                       struct walk *walk)
{
    int64_t strides[SHAPE_MAX_RANK], dense = 1;
    walk_strides(array->rank, array->dimensions, strides);
    walk_begin(walk);
    for (int d = array->rank - 1; d >= 0; d--) {
        if (d != dimension) {
            walk_add(walk, array->dimensions[d], into_array ? dense : strides[d],
                     into_array ? strides[d] : dense);
            dense *= array->dimensions[d];
        }
    }
    walk_finish(walk);
}

static int64_t slice_offset(const struct shape *array, int64_t dimension, int64_t t)
{
    int64_t strides[SHAPE_MAX_RANK];
    walk_strides(array->rank, array->dimensions, strides);
    return t * strides[dimension];
}

static struct literal *take_slice(const struct scan *scan, const struct literal *input,
                                  const struct shape *shape, int64_t t, struct error *err)
{
    struct literal *slice = literal_create(shape, err);
    for (int d = 0; slice != NULL && slice->dynamic_sizes != NULL && d < shape->rank; d++) {
        slice->dynamic_sizes[d] = dynamic_size(input, d + (d >= scan->dimension));
    }
    struct walk walk;
    slice_walk(input->shape, scan->dimension, false, &walk);
    int64_t offset = slice_offset(input->shape, scan->dimension, t);
    if (slice != NULL && !walk_literal(&walk, slice, 0, input, offset, err)) {
        literal_release(slice);
        return NULL;
    }
    return slice;
}

static bool put_slice(const struct scan *scan, struct literal *output, const struct literal *slice,
                      int64_t t, struct error *err)
{
    struct walk walk;
    slice_walk(output->shape, scan->dimension, true, &walk);
    int64_t offset = slice_offset(output->shape, scan->dimension, t);
    return walk_literal(&walk, output, offset, slice, 0, err);
}

/* The run-time sizes of an output: as many slices as there were, each as large as the last one. */
static bool set_sizes(const struct scan *scan, struct literal *output, const struct literal *slice,
                      struct error *err)
{
    int64_t sizes[SHAPE_MAX_RANK];
    for (int d = 0; d < output->shape->rank; d++) {
        sizes[d] = d == scan->dimension ? scan->length
                   : slice != NULL      ? dynamic_size(slice, d - (d > scan->dimension))
                                        : output->shape->dimensions[d];
    }
    return dynamic_clear_outside(output, sizes, err) && dynamic_set_sizes(output, sizes, err);
}

/* Result i of the body; the root is a tuple unless there is one result. */
static struct literal *body_result(struct literal *value, int i)
{
    return value->elements != NULL ? value->elements[i] : value;
}

static bool scan_step(struct scan *scan, struct evaluation *evaluation, int64_t t, bool last,
                      struct error *err)
{
    int count = scan->inputs + scan->carries;
    for (int i = 0; i < count; i++) {
        const struct shape *shape = scan->body->parameters[i]->shape;
        scan->arguments[i] = i < scan->inputs ? take_slice(scan, scan->given[i], shape, t, err)
                                              : literal_retain(scan->carried[i - scan->inputs]);
        if (scan->arguments[i] == NULL) {
            while (i-- > 0) {
                literal_release(scan->arguments[i]);
            }
            return false;
        }
    }
    struct literal *value =
        eval_scalar_computation(evaluation, scan->body, scan->arguments, count, err);
    bool ok = value != NULL;
    for (int i = 0; i < scan->outputs && ok; i++) {
        const struct literal *slice = body_result(value, i);
        ok = put_slice(scan, scan->results[i], slice, t, err) &&
             (!last || set_sizes(scan, scan->results[i], slice, err));
    }
    for (int i = 0; i < scan->carries && ok; i++) {
        literal_release(scan->carried[i]);
        const struct literal *carry = body_result(value, scan->outputs + i);
        scan->carried[i] = as_parameter(scan, carry, scan->inputs + i, err);
        ok = scan->carried[i] != NULL;
    }
    literal_release(value);
    return ok;
}

static bool scan_all(struct scan *scan, struct evaluation *evaluation,
                     const struct instruction *instruction, struct error *err)
{
    bool reverse = attr_bool(instruction, ATTR_IS_REVERSE, false);
    for (int64_t step = 0; step < scan->length; step++) {
        int64_t t = reverse ? scan->length - 1 - step : step;
        if (!scan_step(scan, evaluation, t, step == scan->length - 1, err)) {
            return false;
        }
    }
    for (int i = 0; i < scan->outputs && scan->length == 0; i++) {
        if (!set_sizes(scan, scan->results[i], NULL, err)) {
            return false;
        }
    }
    return true;
}

static struct literal *collect(struct scan *scan, const struct shape *shape, struct error *err)
{
    int count = scan->outputs + scan->carries;
    for (int i = 0; i < scan->carries; i++) {
        const struct literal *carry = scan->carried[i];
        const struct shape *part =
            shape_is_tuple(shape) ? shape->elements[scan->outputs + i] : shape;
        scan->results[scan->outputs + i] = shape_is_array(part)
                                               ? elementwise_convert(carry, part->type, err)
                                               : literal_retain(carry);
        if (scan->results[scan->outputs + i] == NULL) {
            return NULL;
        }
    }
    struct literal *result;
    if (shape_is_tuple(shape)) {
        result = literal_tuple_take(shape, scan->results);
    } else {
        result = scan->results[0];
    }
    memset(scan->results, 0, (size_t)count * sizeof *scan->results);
    return result;
}

struct literal *eval_scan(struct evaluation *evaluation, const struct instruction *instruction,
                          struct operands *operands, struct error *err)
{
    const struct shape *shape = instruction->shape;
    const struct computation *body = instruction->called[0];
    struct scan scan = {.body = body};
    scan.carries = (int)attr_int(instruction, ATTR_NUM_CARRIES, 0);
    scan.inputs = operands->count - scan.carries;
    int results = shape_is_tuple(body->root->shape) ? body->root->shape->count : 1;
    scan.outputs = results - scan.carries;
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    if (scan.inputs < 1 || scan.outputs < 0 || dimensions.count < 1 ||
        body->parameter_count != operands->count) {
        error_set(err, ERROR_INVALID_ARGUMENT, "scan of %d operands with %d carries",
                  operands->count, scan.carries);
        return NULL;
    }
    scan.dimension = dimensions.values[0];
    scan.length = INT64_MAX;
    for (int i = 0; i < scan.inputs; i++) {
        int64_t size = dynamic_size(operands->values[i], (int)scan.dimension);
        scan.length = size < scan.length ? size : scan.length;
    }
    scan.arguments = memory_zalloc((size_t)operands->count * sizeof(struct literal *));
    scan.carried = memory_zalloc((size_t)(scan.carries + 1) * sizeof(struct literal *));
    scan.results = memory_zalloc((size_t)(results + 1) * sizeof(struct literal *));
    scan.given = memory_zalloc((size_t)operands->count * sizeof(struct literal *));
    bool ok = true;
    for (int i = 0; i < operands->count && ok; i++) {
        scan.given[i] = as_parameter(&scan, operands->values[i], i, err);
        ok = scan.given[i] != NULL;
    }
    for (int i = 0; i < scan.carries && ok; i++) {
        scan.carried[i] = literal_retain(scan.given[scan.inputs + i]);
    }
    for (int i = 0; i < scan.outputs && ok; i++) {
        scan.results[i] = literal_zero(shape_is_tuple(shape) ? shape->elements[i] : shape, err);
        ok = scan.results[i] != NULL;
    }
    ok = ok && scan_all(&scan, evaluation, instruction, err);
    struct literal *result = ok ? collect(&scan, shape, err) : NULL;
    for (int i = 0; i < results; i++) {
        literal_release(scan.results[i]);
    }
    for (int i = 0; i < scan.carries; i++) {
        literal_release(scan.carried[i]);
    }
    for (int i = 0; i < operands->count; i++) {
        literal_release(scan.given[i]);
    }
    free(scan.given);
    free(scan.arguments);
    free(scan.carried);
    free(scan.results);
    return result;
}
