/* What reduce and reduce-window share: their computation as a program, operands and results in its
 * types. */
#include <stdlib.h>
#include <string.h>

#include "interp/elementwise.h"
#include "interp/reduce.h"

/* The operands as the program wants them: under mixed precision its types may be others. */
static bool convert_operands(const struct program *program, struct operands *operands,
                             struct literal **converted, struct error *err)
{
    for (int k = 0; k < operands->count; k++) {
        const struct literal *value = operands->values[k];
        /* Operands are arrays, then initial values; inputs are accumulators, then elements. */
        int half = operands->count / 2;
        enum type type = program_input_type(program, k < half ? k + half : k - half);
        converted[k] = literal_retain(value);
        if (value->shape->type != type) {
            struct lane_step step;
            const bool alive[1] = {false};
            struct operands one = {1, &operands->values[k], alive};
            lane_convert(value->shape->type, type, &step);
            literal_release(converted[k]);
            converted[k] = elementwise_apply(&step, shape_with_type(value->shape, type), &one, err);
            if (converted[k] == NULL) {
                return false;
            }
        }
    }
    return true;
}

struct literal *reduce_assemble(const struct shape *shape, struct literal **results, int count,
                                struct error *err)
{
    for (int i = 0; i < count; i++) {
        const struct shape *wanted = shape_is_tuple(shape) ? shape->elements[i] : shape;
        if (results[i]->shape->type != wanted->type) {
            struct lane_step step;
            const bool dying[1] = {true};
            struct literal *from = results[i];
            struct operands one = {1, &from, dying};
            lane_convert(from->shape->type, wanted->type, &step);
            results[i] = elementwise_apply(&step, wanted, &one, err);
            literal_release(from);
            if (results[i] == NULL) {
                return NULL;
            }
        }
    }
    if (shape_is_tuple(shape)) {
        struct literal *tuple = literal_tuple_take(shape, results);
        memset(results, 0, (size_t)count * sizeof *results);
        return tuple;
    }
    struct literal *result = results[0];
    results[0] = NULL;
    return result;
}

struct literal *reduce_arrays(struct evaluation *evaluation, const struct instruction *instruction,
                              struct operands *operands, reduce_function *function,
                              struct error *err)
{
    int count = operands->count / 2;
    struct program *program = program_compile(evaluation, instruction->called[0], err);
    if (program == NULL) {
        return NULL;
    }
    struct literal *result = NULL;
    struct literal **converted = memory_zalloc((size_t)operands->count * sizeof(struct literal *));
    bool fits = program_input_count(program) == 2 * count && program_output_count(program) == count;
    for (int i = 0; i < count && fits; i++) {
        fits = program_input_type(program, i) == program_output_type(program, i);
    }
    if (!fits) {
        error_set(err, ERROR_INVALID_ARGUMENT, "computation %s does not reduce %d arrays",
                  instruction->called[0]->name, count);
    } else if (convert_operands(program, operands, converted, err)) {
        result =
            function(instruction, evaluation->options.fidelity, program, converted, count, err);
    }
    for (int k = 0; k < operands->count; k++) {
        literal_release(converted[k]);
    }
    free(converted);
    program_destroy(program);
    return result;
}
