/* Programs that hold what the lanes engine cannot do: evaluated once for each application. */
#include <stdlib.h>

#include "interp/program_internal.h"

/* Where lane `lane` of a strip is; complex strips have their parts apart. */
static void read_lane(enum type type, const void *strip, int64_t lane, void *element)
{
    enum lane kind = lane_of(type);
    if (kind == LANE_COMPLEX) {
        double parts[2 * LANE_STRIP];
        parts[0] = ((const double *)strip)[lane];
        parts[LANE_STRIP] = ((const double *)strip)[LANE_STRIP + lane];
        lane_store(type, parts, element, 1);
    } else {
        lane_store(type, (const char *)strip + lane * lane_bytes(kind), element, 1);
    }
}

static void write_lane(enum type type, void *strip, int64_t lane, const void *element)
{
    enum lane kind = lane_of(type);
    if (kind == LANE_COMPLEX) {
        double parts[2 * LANE_STRIP];
        lane_load(type, element, parts, 1);
        ((double *)strip)[lane] = parts[0];
        ((double *)strip)[LANE_STRIP + lane] = parts[LANE_STRIP];
    } else {
        lane_load(type, element, (char *)strip + lane * lane_bytes(kind), 1);
    }
}

/* The literals of the parameters for one lane. */
static bool make_arguments(const struct program *program, void *const *slots, int64_t lane,
                           struct literal **arguments)
{
    const struct computation *computation = program->computation;
    int input = 0;
    for (int i = 0; i < computation->parameter_count; i++) {
        const struct shape *shape = computation->parameters[i]->shape;
        arguments[i] = literal_create(shape, program->err);
        if (arguments[i] == NULL) {
            while (i-- > 0) {
                literal_release(arguments[i]);
            }
            return false;
        }
        int leaves = shape_leaves(shape);
        for (int n = 0; n < leaves; n++, input++) {
            read_lane(program->input_types[input], slots[program->inputs[input]], lane,
                      literal_data(literal_leaf(arguments[i], n)));
        }
    }
    return true;
}

bool program_evaluate(const struct program *program, void *const *slots, int64_t count)
{
    const struct computation *computation = program->computation;
    size_t bytes = (size_t)(computation->parameter_count + 1) * sizeof(struct literal *);
    struct literal **arguments = memory_zalloc(bytes);
    int64_t lane = 0;
    for (; lane < count; lane++) {
        if (!make_arguments(program, slots, lane, arguments)) {
            break;
        }
        struct literal *result =
            eval_scalar_computation(program->evaluation, computation, arguments,
                                    computation->parameter_count, program->err);
        if (result == NULL) {
            break;
        }
        for (int i = 0; i < program->output_count; i++) {
            write_lane(program->output_types[i], slots[program->outputs[i]], lane,
                       literal_data(literal_leaf(result, i)));
        }
        literal_release(result);
    }
    free(arguments);
    return lane == count;
}
