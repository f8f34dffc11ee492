/* Shape inference: reductions, windows, sort and other ops with embedded computations.
 * Source: xla/service/shape_inference.cc. */
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/infer_internal.h"

bool infer_scalar_computation(const struct instruction *instruction,
                              const struct computation *computation, int parameters,
                              struct error *err)
{
    if (computation->parameter_count != parameters) {
        infer_fail(instruction, err, "%s must take %d parameters, but it takes %d",
                   computation->name, parameters, computation->parameter_count);
        return false;
    }
    for (int i = 0; i < parameters; i++) {
        if (!shape_is_scalar(computation->parameters[i]->shape)) {
            infer_fail(instruction, err, "parameter %d of %s must be a scalar, but it is %s", i,
                       computation->name, shape_text(computation->parameters[i]->shape));
            return false;
        }
    }
    return true;
}

bool infer_reducer(const struct instruction *instruction, const struct computation *reducer,
                   int count, const struct shape *const *inits, const struct shape *const *inputs,
                   struct error *err)
{
    if (!infer_scalar_computation(instruction, reducer, 2 * count, err)) {
        return false;
    }
    const struct shape *root = reducer->root->shape;
    if (shape_is_tuple(root) ? root->count != count : count != 1) {
        infer_fail(instruction, err, "%s must give %d scalars, but it gives %s", reducer->name,
                   count, shape_text(root));
        return false;
    }
    for (int i = 0; i < count; i++) {
        const struct shape *part = shape_is_tuple(root) ? root->elements[i] : root;
        const struct shape *accumulator = reducer->parameters[i]->shape;
        const struct shape *value = reducer->parameters[count + i]->shape;
        if (!shape_is_scalar(part) || part->type != accumulator->type ||
            !infer_same_type(part, value)) {
            infer_fail(
                instruction, err, "%s: accumulator %d is %s, but the result is %s and the value %s",
                reducer->name, i, shape_text(accumulator), shape_text(part), shape_text(value));
            return false;
        }
        if (!infer_same_type(part, inits[i])) {
            infer_fail(instruction, err, "init value %s does not fit what %s gives: %s",
                       shape_text(inits[i]), reducer->name, shape_text(part));
            return false;
        }
        if (!infer_same_type(value, inputs[i])) {
            infer_fail(instruction, err, "%s takes %s, but operand %d is %s", reducer->name,
                       shape_text(value), i, shape_text(inputs[i]));
            return false;
        }
    }
    return true;
}

/* What reduce and reduce-window share: N operands of one size, N init values, a reducer. */
static bool reduction_ok(const struct instruction *instruction, struct error *err)
{
    int count = instruction->operand_count / 2;
    if (count < 1 || instruction->operand_count % 2 != 0 || instruction->called_count < 1) {
        infer_fail(instruction, err, "needs as many init values as operands, and a computation");
        return false;
    }
    if (!infer_arrays(instruction, 0, err)) {
        return false;
    }
    const struct shape **shapes = memory_alloc(2 * (size_t)count * sizeof *shapes);
    const struct shape **inits = shapes + count;
    bool ok = true;
    for (int i = 0; i < 2 * count; i++) {
        shapes[i] = operand_shape(instruction, i);
    }
    for (int i = 0; ok && i < count; i++) {
        ok = infer_same_sizes(shapes[0], shapes[i]) && inits[i]->rank == 0;
        if (!ok) {
            infer_fail(instruction, err,
                       "operands must have equal dimensions and init values must be scalars: %s, "
                       "%s, init %s",
                       shape_text(shapes[0]), shape_text(shapes[i]), shape_text(inits[i]));
        }
    }
    ok = ok && infer_reducer(instruction, instruction->called[0], count, inits, shapes, err);
    free(shapes);
    return ok;
}

const struct shape *infer_reduce(const struct instruction *instruction, struct error *err)
{
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    if (!reduction_ok(instruction, err)) {
        return NULL;
    }
    const struct shape *shape = operand_shape(instruction, 0);
    if (!infer_dimensions_ok(instruction, dimensions, shape->rank, "dimensions", err)) {
        return NULL;
    }
    int64_t sizes[SHAPE_MAX_RANK];
    bool dynamic[SHAPE_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < shape->rank; i++) {
        if (!infer_contains(dimensions, i)) {
            sizes[rank] = shape->dimensions[i];
            dynamic[rank++] = shape_dimension_is_dynamic(shape, i);
        }
    }
    const struct shape *root = instruction->called[0]->root->shape;
    if (!shape_is_tuple(root)) {
        return shape_make(root->type, rank, sizes, dynamic, NULL);
    }
    const struct shape **shapes = memory_alloc((size_t)root->count * sizeof *shapes);
    for (int i = 0; i < root->count; i++) {
        shapes[i] = shape_make(root->elements[i]->type, rank, sizes, dynamic, NULL);
    }
    const struct shape *result = shape_tuple(root->count, shapes);
    free(shapes);
    return result;
}

const struct shape *infer_windowed(const struct instruction *instruction, const struct shape *base,
                                   const struct window *window, enum type type, struct error *err)
{
    if (window->rank != base->rank) {
        return infer_fail(instruction, err, "window has rank %d, the operand %s has rank %d",
                          window->rank, shape_text(base), base->rank);
    }
    int64_t sizes[SHAPE_MAX_RANK];
    bool dynamic[SHAPE_MAX_RANK];
    for (int i = 0; i < base->rank; i++) {
        const struct window_dimension *w = &window->dimensions[i];
        if (w->size <= 0 || w->stride <= 0 || w->window_dilation < 1 || w->base_dilation < 1) {
            return infer_fail(instruction, err,
                              "window size, stride and dilations must be positive in dimension "
                              "%d",
                              i);
        }
        dynamic[i] = shape_dimension_is_dynamic(base, i);
        if (base->dimensions[i] == DIMENSION_UNBOUNDED) {
            sizes[i] = DIMENSION_UNBOUNDED;
            continue;
        }
        int64_t dilated = base->dimensions[i] - 1, padded, extent, room;
        bool beyond = __builtin_mul_overflow(dilated, w->base_dilation, &dilated) ||
                      __builtin_add_overflow(dilated, 1, &dilated);
        dilated = base->dimensions[i] > 0 ? dilated : 0;
        beyond = beyond || __builtin_add_overflow(dilated, w->padding_low, &padded) ||
                 __builtin_add_overflow(padded, w->padding_high, &padded) ||
                 __builtin_mul_overflow(w->size - 1, w->window_dilation, &extent) ||
                 __builtin_add_overflow(extent, 1, &extent) ||
                 __builtin_sub_overflow(padded, extent, &room) || room == INT64_MAX;
        if (beyond) {
            return infer_fail(instruction, err, "the window overflows in dimension %d", i);
        }
        sizes[i] = room < 0 ? 0 : room / w->stride + 1;
    }
    return shape_make(type, base->rank, sizes, dynamic, NULL);
}

/* The results have the types of the init values. */
const struct shape *infer_reduce_window(const struct instruction *instruction, struct error *err)
{
    int count = instruction->operand_count / 2;
    struct window window = attr_window(instruction);
    if (!reduction_ok(instruction, err)) {
        return NULL;
    }
    const struct shape **shapes = memory_alloc((size_t)count * sizeof *shapes);
    bool ok = true;
    for (int i = 0; ok && i < count; i++) {
        shapes[i] = infer_windowed(instruction, operand_shape(instruction, i), &window,
                                   operand_shape(instruction, count + i)->type, err);
        ok = shapes[i] != NULL;
    }
    const struct shape *result = NULL;
    if (ok) {
        result = shape_is_tuple(instruction->called[0]->root->shape) ? shape_tuple(count, shapes)
                                                                     : shapes[0];
    }
    free(shapes);
    return result;
}

const struct shape *infer_select_and_scatter(const struct instruction *instruction,
                                             struct error *err)
{
    if (!infer_arrays(instruction, 0, err)) {
        return NULL;
    }
    if (instruction->called_count < 2) {
        return infer_fail(instruction, err, "needs a select and a scatter computation");
    }
    const struct shape *operand = operand_shape(instruction, 0);
    const struct shape *source = operand_shape(instruction, 1);
    const struct shape *init = operand_shape(instruction, 2);
    const struct computation *select = instruction->called[0];
    struct window window = attr_window(instruction);
    const struct shape *windows = infer_windowed(instruction, operand, &window, operand->type, err);
    if (windows == NULL || !infer_scalar_computation(instruction, select, 2, err)) {
        return NULL;
    }
    for (int i = 0; i < 2; i++) {
        if (!infer_same_type(select->parameters[i]->shape, operand)) {
            return infer_fail(instruction, err, "parameter %d of %s is %s, but the operand is %s",
                              i, select->name, shape_text(select->parameters[i]->shape),
                              shape_text(operand));
        }
    }
    if (!infer_compatible(select->root->shape, shape_scalar(TYPE_PRED))) {
        return infer_fail(instruction, err, "select must give pred[], but it gives %s",
                          shape_text(select->root->shape));
    }
    if (init->rank != 0) {
        return infer_fail(instruction, err, "the init value must be a scalar, but it is %s",
                          shape_text(init));
    }
    if (!infer_reducer(instruction, instruction->called[1], 1, &init, &source, err)) {
        return NULL;
    }
    if (!infer_same_sizes(windows, source) || !infer_same_type(windows, source)) {
        return infer_fail(instruction, err, "source is %s, but the window gives %s",
                          shape_text(source), shape_text(windows));
    }
    return shape_without_layout(operand);
}

const struct shape *infer_map(const struct instruction *instruction, struct error *err)
{
    if (instruction->operand_count == 0 || !infer_arrays(instruction, 0, err)) {
        return infer_fail(instruction, err, "needs an operand");
    }
    const struct shape *first = operand_shape(instruction, 0);
    for (int i = 1; i < instruction->operand_count; i++) {
        if (!infer_same_sizes(first, operand_shape(instruction, i))) {
            return infer_fail(instruction, err, "operands differ in dimensions: %s, %s",
                              shape_text(first), shape_text(operand_shape(instruction, i)));
        }
    }
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    for (int i = 0; i < dimensions.count; i++) {
        if (dimensions.count != first->rank || dimensions.values[i] != i) {
            return infer_fail(instruction, err, "dimensions must be {0, …, %d}", first->rank - 1);
        }
    }
    if (instruction->called_count == 0) {
        return shape_without_layout(first);
    }
    const struct computation *computation = instruction->called[0];
    if (!infer_scalar_computation(instruction, computation, instruction->operand_count, err)) {
        return NULL;
    }
    if (!shape_is_scalar(computation->root->shape)) {
        return infer_fail(instruction, err, "%s must give a scalar, but it gives %s",
                          computation->name, shape_text(computation->root->shape));
    }
    for (int i = 0; i < instruction->operand_count; i++) {
        if (!infer_same_type(computation->parameters[i]->shape, operand_shape(instruction, i))) {
            return infer_fail(instruction, err, "parameter %d of %s is %s, but operand %d is %s", i,
                              computation->name, shape_text(computation->parameters[i]->shape), i,
                              shape_text(operand_shape(instruction, i)));
        }
    }
    return shape_with_type(shape_without_layout(first), computation->root->shape->type);
}

const struct shape *infer_sort(const struct instruction *instruction, struct error *err)
{
    if (instruction->operand_count == 0 || !infer_arrays(instruction, 0, err)) {
        return infer_fail(instruction, err, "needs an operand");
    }
    const struct shape *first = operand_shape(instruction, 0);
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    if (dimensions.count != 1 ||
        !infer_dimensions_ok(instruction, dimensions, first->rank, "dimensions", err)) {
        return infer_fail(instruction, err, "dimensions must name one dimension");
    }
    for (int i = 1; i < instruction->operand_count; i++) {
        if (!infer_same_sizes(first, operand_shape(instruction, i))) {
            return infer_fail(instruction, err, "operands differ in dimensions: %s, %s",
                              shape_text(first), shape_text(operand_shape(instruction, i)));
        }
    }
    if (instruction->called_count > 0) {
        const struct computation *comparator = instruction->called[0];
        if (!infer_scalar_computation(instruction, comparator, 2 * instruction->operand_count,
                                      err)) {
            return NULL;
        }
        for (int i = 0; i < 2 * instruction->operand_count; i++) {
            if (!infer_same_type(comparator->parameters[i]->shape,
                                 operand_shape(instruction, i / 2))) {
                return infer_fail(instruction, err,
                                  "parameter %d of %s is %s, but operand %d is %s", i,
                                  comparator->name, shape_text(comparator->parameters[i]->shape),
                                  i / 2, shape_text(operand_shape(instruction, i / 2)));
            }
        }
        if (!shape_is_scalar(comparator->root->shape) ||
            comparator->root->shape->type != TYPE_PRED) {
            return infer_fail(instruction, err, "%s must give pred[], but it gives %s",
                              comparator->name, shape_text(comparator->root->shape));
        }
    }
    return infer_same_as_operands(instruction, err);
}

/* Arrays of one size and type, but for the width of floats. */
static bool alike(const struct shape *a, const struct shape *b)
{
    return shape_is_array(a) && shape_is_array(b) && infer_same_type(a, b) &&
           infer_same_sizes(a, b);
}

/* Parameters of a scan's computation: slices of the inputs, then the carries, which it gives back
 * as the last of its results. Source: hlo_verifier.cc HandleScan. */
static bool scan_fits(const struct instruction *instruction, int inputs, int along, int count,
                      const struct shape *const *parts, struct error *err)
{
    const struct computation *body = instruction->called[0];
    int carries = instruction->operand_count - inputs;
    if (body->parameter_count != instruction->operand_count) {
        infer_fail(instruction, err, "%s takes %d parameters, but there are %d operands",
                   body->name, body->parameter_count, instruction->operand_count);
        return false;
    }
    for (int i = 0; i < instruction->operand_count; i++) {
        const struct shape *wanted = operand_shape(instruction, i);
        if (i < inputs) {
            int64_t sizes[SHAPE_MAX_RANK];
            for (int k = 0, to = 0; k < wanted->rank; k++) {
                if (k != along) {
                    sizes[to++] = wanted->dimensions[k];
                }
            }
            wanted = shape_array(wanted->type, wanted->rank - 1, sizes);
        }
        if (!alike(body->parameters[i]->shape, wanted)) {
            infer_fail(instruction, err, "parameter %d of %s is %s, but must be %s", i, body->name,
                       shape_text(body->parameters[i]->shape), shape_text(wanted));
            return false;
        }
    }
    for (int i = 0; i < carries; i++) {
        const struct shape *given = parts[count - carries + i];
        const struct shape *taken = body->parameters[inputs + i]->shape;
        if (!alike(given, taken)) {
            infer_fail(instruction, err, "%s takes carry %d as %s and gives it as %s", body->name,
                       i, shape_text(taken), shape_text(given));
            return false;
        }
    }
    return true;
}

/* An output with the scanned dimension put back, as long and as dynamic as that of the inputs. */
static const struct shape *scan_output(const struct shape *slice, int along, int64_t length,
                                       bool is_dynamic)
{
    int64_t sizes[SHAPE_MAX_RANK];
    bool dynamic[SHAPE_MAX_RANK];
    for (int k = 0, from = 0; k <= slice->rank; k++) {
        sizes[k] = k == along ? length : slice->dimensions[from];
        dynamic[k] = k == along ? is_dynamic : shape_dimension_is_dynamic(slice, from);
        from += k != along;
    }
    return shape_make(slice->type, slice->rank + 1, sizes, dynamic, NULL);
}

/* Operands are the inputs and then the initial carries; the reducer takes a slice of each input
 * and the carries, and gives outputs and carries (xla/hlo/ir/hlo_instructions.h
 * HloScanInstruction): results are the outputs with the scanned dimension put back, then the
 * carries. */
const struct shape *infer_scan(const struct instruction *instruction, struct error *err)
{
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    int64_t carries = attr_int(instruction, ATTR_NUM_CARRIES, 0);
    if (dimensions.count != 1 || carries < 0 || carries > instruction->operand_count ||
        instruction->called_count != 1) {
        return infer_fail(instruction, err,
                          "needs one dimension, a computation and at most as many carries as "
                          "operands");
    }
    int inputs = instruction->operand_count - (int)carries;
    int along = (int)dimensions.values[0];
    int64_t length = -1;
    bool is_dynamic = false;
    for (int i = 0; i < inputs; i++) {
        const struct shape *shape = operand_shape(instruction, i);
        if (!shape_is_array(shape) || along < 0 || along >= shape->rank ||
            (length >= 0 && shape->dimensions[along] != length)) {
            return infer_fail(instruction, err, "input %s does not fit dimension %d",
                              shape_text(shape), along);
        }
        length = shape->dimensions[along];
        is_dynamic |= shape_dimension_is_dynamic(shape, along);
    }
    const struct shape *root = instruction->called[0]->root->shape;
    const struct shape *const *parts = shape_is_tuple(root) ? root->elements : &root;
    int count = shape_is_tuple(root) ? root->count : 1;
    if (count < carries || length < 0) {
        return infer_fail(instruction, err, "%s gives %s, which does not hold %lld carries",
                          instruction->called[0]->name, shape_text(root), (long long)carries);
    }
    if (!scan_fits(instruction, inputs, along, count, parts, err)) {
        return NULL;
    }
    const struct shape **shapes = memory_alloc((size_t)count * sizeof *shapes);
    int outputs = count - (int)carries;
    bool ok = true;
    for (int i = 0; i < count && ok; i++) {
        ok = i >= outputs || (shape_is_array(parts[i]) && parts[i]->rank < SHAPE_MAX_RANK &&
                              along <= parts[i]->rank);
        shapes[i] = ok && i < outputs ? scan_output(parts[i], along, length, is_dynamic) : parts[i];
    }
    const struct shape *result = !ok ? infer_fail(instruction, err, "outputs must be arrays")
                                 : shape_is_tuple(root) ? shape_tuple(count, shapes)
                                                        : shapes[0];
    free(shapes);
    return result;
}

const struct shape *infer_topk(const struct instruction *instruction, struct error *err)
{
    if (!infer_arrays(instruction, 0, err)) {
        return NULL;
    }
    const struct shape *shape = operand_shape(instruction, 0);
    int64_t k = attr_int(instruction, ATTR_K, -1);
    if (shape->rank < 1 || k < 0 || k > shape->dimensions[shape->rank - 1]) {
        return infer_fail(instruction, err, "k=%lld does not fit the last dimension of %s",
                          (long long)k, shape_text(shape));
    }
    int64_t sizes[SHAPE_MAX_RANK];
    bool dynamic[SHAPE_MAX_RANK];
    for (int i = 0; i < shape->rank; i++) {
        bool last = i == shape->rank - 1;
        sizes[i] = last ? k : shape->dimensions[i];
        dynamic[i] = !last && shape_dimension_is_dynamic(shape, i);
    }
    const struct shape *parts[] = {shape_make(shape->type, shape->rank, sizes, dynamic, NULL),
                                   shape_make(TYPE_S32, shape->rank, sizes, dynamic, NULL)};
    return shape_tuple(2, parts);
}
