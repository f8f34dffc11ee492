/* Custom calls about dynamic sizes, and the seed of generators.
 *
 * Sources: xla/service/dynamic_padder.cc (SliceToDynamic, PadToStatic), xla/service/cpu
 * (GetRngSeed). */
#include <stdlib.h>
#include <string.h>

#include "interp/custom_call_internal.h"

/* The seed that the run was given; nobody but XLA knows its own. */
struct literal *custom_rng_seed(struct evaluation *evaluation,
                                const struct instruction *instruction, struct operands *operands,
                                struct error *err)
{
    (void)operands;
    if (!shape_is_array(instruction->shape) || shape_elements(instruction->shape) != 1 ||
        type_is_complex(instruction->shape->type)) {
        return custom_call_fail(instruction, err, "a seed of shape %s",
                                shape_text(instruction->shape));
    }
    struct literal *seed = literal_zero(instruction->shape, err);
    if (seed != NULL) {
        literal_set_int(seed, 0, (int64_t)evaluation->options.seed);
        literal_mark_all_unspecified(seed, err);
    }
    return seed;
}

static bool same_bounds(const struct shape *a, const struct shape *b)
{
    return a->rank == b->rank &&
           memcmp(a->dimensions, b->dimensions, (size_t)a->rank * sizeof *a->dimensions) == 0;
}

/* Copies the elements whose index lies below sizes[d] in every dimension; the rest of *to becomes
 * unspecified. Same dimensions on both sides. */
static void copy_live(const struct literal *from, struct literal *to, const int64_t *sizes)
{
    const struct shape *shape = to->shape;
    size_t bytes = (size_t)type_bytes(shape->type);
    int64_t index[SHAPE_MAX_RANK] = {0};
    for (int64_t i = 0; i < shape_elements(shape); i++) {
        bool inside = true;
        for (int d = 0; d < shape->rank; d++) {
            inside &= index[d] < sizes[d];
        }
        if (inside) {
            memcpy((char *)literal_data(to) + (size_t)i * bytes,
                   (const char *)literal_data(from) + (size_t)i * bytes, bytes);
        }
        if (!inside || literal_is_unspecified(from, i)) {
            literal_mark_unspecified(to, i);
        }
        for (int d = shape->rank - 1; d >= 0 && ++index[d] == shape->dimensions[d]; d--) {
            index[d] = 0;
        }
    }
}

/* (array, size of each dimension…): the array as one of those run-time sizes. */
struct literal *custom_slice_to_dynamic(struct evaluation *evaluation,
                                        const struct instruction *instruction,
                                        struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct shape *shape = instruction->shape;
    bool fits = shape_is_array(shape) && operands->count == shape->rank + 1 &&
                shape->dynamic != NULL &&
                custom_call_operand_is(operands, 0, shape->type, shape->rank) &&
                same_bounds(operands->values[0]->shape, shape);
    for (int d = 0; fits && d < shape->rank; d++) {
        fits = custom_call_operand_is(operands, d + 1, TYPE_S32, 0);
    }
    if (!fits) {
        return custom_call_fail(instruction, err, "to %s", shape_text(shape));
    }
    struct literal *result = literal_zero(shape, err);
    if (result == NULL) {
        return NULL;
    }
    for (int d = 0; d < shape->rank; d++) {
        int64_t size = literal_get_int(operands->values[d + 1], 0);
        int64_t bound = shape->dimensions[d];
        if (shape->dynamic[d]) {
            result->dynamic_sizes[d] = size < 0 ? 0 : size > bound ? bound : size;
        }
    }
    copy_live(operands->values[0], result, result->dynamic_sizes);
    return result;
}

/* A dynamic array → (the array at its bounds, the size of each dimension…). */
struct literal *custom_pad_to_static(struct evaluation *evaluation,
                                     const struct instruction *instruction,
                                     struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct literal *array = operands->count == 1 ? operands->values[0] : NULL;
    const struct shape *shape = instruction->shape;
    bool fits = array != NULL && shape_is_array(array->shape) && shape_is_tuple(shape) &&
                shape->count == array->shape->rank + 1 && shape_is_array(shape->elements[0]) &&
                shape->elements[0]->type == array->shape->type &&
                same_bounds(shape->elements[0], array->shape);
    for (int d = 0; fits && d < array->shape->rank; d++) {
        fits = shape_is_scalar(shape->elements[d + 1]) && shape->elements[d + 1]->type == TYPE_S32;
    }
    if (!fits) {
        return custom_call_fail(instruction, err, "to %s", shape_text(shape));
    }
    const int64_t *sizes =
        array->dynamic_sizes != NULL ? array->dynamic_sizes : array->shape->dimensions;
    struct literal **parts = memory_zalloc((size_t)shape->count * sizeof *parts);
    bool ok = true;
    for (int i = 0; ok && i < shape->count; i++) {
        parts[i] = literal_zero(shape->elements[i], err);
        ok = parts[i] != NULL;
        if (ok && i > 0) {
            literal_set_int(parts[i], 0, sizes[i - 1]);
        } else if (ok) {
            copy_live(array, parts[0], sizes);
        }
    }
    struct literal *result = NULL;
    if (ok) {
        result = literal_tuple_take(shape, parts);
    } else {
        for (int i = 0; i < shape->count; i++) {
            literal_release(parts[i]);
        }
    }
    free(parts);
    return result;
}
