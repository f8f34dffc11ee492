/* Sorting along a dynamic dimension: what lies beyond the run-time size stays there.
 * Source: xla/service/dynamic_padder.cc (RewriteDynamicSort). */
#include <stdlib.h>
#include <string.h>

#include "interp/dynamic.h"
#include "interp/walk.h"

static int sort_dimension(const struct instruction *sort)
{
    return (int)attr_ints(sort, ATTR_DIMENSIONS).values[0];
}

/* The static shape with `size` in the sorted dimension; tuples element by element. */
static const struct shape *resized(const struct shape *shape, int dimension, int64_t size)
{
    if (shape_is_tuple(shape)) {
        const struct shape **elements = memory_alloc((size_t)shape->count * sizeof *elements);
        for (int i = 0; i < shape->count; i++) {
            elements[i] = resized(shape->elements[i], dimension, size);
        }
        const struct shape *tuple = shape_tuple(shape->count, elements);
        free(elements);
        return tuple;
    }
    int64_t sizes[SHAPE_MAX_RANK];
    memcpy(sizes, shape->dimensions, (size_t)shape->rank * sizeof *sizes);
    sizes[dimension] = size;
    return shape_array(shape->type, shape->rank, sizes);
}

/* `from` in an array of another size in the sorted dimension: what both have is copied, the rest is
 * zero. */
static struct literal *copied(const struct literal *from, const struct shape *shape, int dimension,
                              struct error *err)
{
    struct literal *to = literal_zero(shape, err);
    int64_t source[SHAPE_MAX_RANK], destination[SHAPE_MAX_RANK];
    walk_strides(shape->rank, from->shape->dimensions, source);
    walk_strides(shape->rank, shape->dimensions, destination);
    struct walk walk;
    walk_begin(&walk);
    for (int d = 0; d < shape->rank; d++) {
        int64_t size = shape->dimensions[d], other = from->shape->dimensions[d];
        walk_add(&walk, d == dimension && other < size ? other : size, source[d], destination[d]);
    }
    walk_finish(&walk);
    if (to != NULL && !walk_literal(&walk, to, 0, from, 0, err)) {
        literal_release(to);
        return NULL;
    }
    return to;
}

bool dynamic_sort_concerns(const struct instruction *instruction, const struct operands *operands)
{
    bool concerns = false;
    for (int i = 0; instruction->opcode == OP_SORT && i < operands->count; i++) {
        int d = sort_dimension(instruction);
        concerns |=
            dynamic_size(operands->values[i], d) < operands->values[i]->shape->dimensions[d];
    }
    return concerns;
}

/* Takes sorted values back to the bounds. */
static struct literal *restored_take(struct literal *sorted, const struct shape *shape,
                                     int dimension, struct error *err)
{
    struct literal *result;
    if (shape_is_tuple(shape)) {
        struct literal **elements = memory_zalloc((size_t)shape->count * sizeof *elements);
        bool complete = true;
        for (int i = 0; i < shape->count; i++) {
            elements[i] = copied(sorted->elements[i], shape->elements[i], dimension, err);
            complete &= elements[i] != NULL;
        }
        for (int i = 0; !complete && i < shape->count; i++) {
            literal_release(elements[i]);
        }
        result = complete ? literal_tuple_take(shape, elements) : NULL;
        free(elements);
    } else {
        result = copied(sorted, shape, dimension, err);
    }
    literal_release(sorted);
    return result;
}

struct literal *dynamic_sort(struct evaluation *evaluation, eval_function *evaluate,
                             const struct instruction *instruction, const struct operands *operands,
                             struct error *err)
{
    int count = operands->count, dimension = sort_dimension(instruction);
    int64_t size = INT64_MAX;
    for (int i = 0; i < count; i++) {
        int64_t own = dynamic_size(operands->values[i], dimension);
        size = own < size ? own : size;
    }
    struct instruction *inputs = memory_zalloc((size_t)count * sizeof *inputs);
    struct instruction **input_list = memory_zalloc((size_t)count * sizeof *input_list);
    struct literal **values = memory_zalloc((size_t)count * sizeof *values);
    bool *dying = memory_zalloc((size_t)count);
    bool complete = true;
    for (int i = 0; i < count; i++) {
        inputs[i] = *instruction->operands[i];
        inputs[i].shape = resized(inputs[i].shape, dimension, size);
        input_list[i] = &inputs[i];
        dying[i] = true;
        values[i] = copied(operands->values[i], inputs[i].shape, dimension, err);
        complete &= values[i] != NULL;
    }
    struct instruction sort = *instruction;
    sort.shape = resized(instruction->shape, dimension, size);
    sort.operands = input_list;
    struct operands live = {count, values, dying};
    struct literal *sorted = complete ? evaluate(evaluation, &sort, &live, err) : NULL;
    for (int i = 0; i < count; i++) {
        literal_release(values[i]);
    }
    free(inputs);
    free(input_list);
    free(values);
    free(dying);
    return sorted != NULL ? restored_take(sorted, instruction->shape, dimension, err) : NULL;
}
