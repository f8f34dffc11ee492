/* Elementwise instructions: unary, binary, compare, select, clamp, reduce-precision,
 * stochastic-convert and map. Conversions are in convert.c. */
#include "interp/elementwise.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/floats.h"
#include "interp/marks.h"
#include "interp/program.h"

static bool any_marks(const struct operands *operands)
{
    for (int k = 0; k < operands->count; k++) {
        if (marks_of(operands->values[k]) != NULL) {
            return true;
        }
    }
    return false;
}

struct literal *elementwise_result(const struct shape *shape, struct operands *operands,
                                   struct error *err)
{
    int bytes = type_bytes(shape->type);
    int64_t elements = shape_elements(shape);
    bool marked = any_marks(operands);
    for (int k = 0; k < operands->count && !marked; k++) {
        const struct literal *value = operands->values[k];
        if (operands->dying[k] && type_bytes(value->shape->type) == bytes &&
            literal_elements(value) == elements && literal_is_unique(value)) {
            struct literal *taken = operand_take(operands, k, err);
            return literal_reshape_take(taken, shape);
        }
    }
    return literal_create(shape, err);
}

struct literal *elementwise_apply(const struct lane_step *step, const struct shape *shape,
                                  struct operands *operands, struct error *err)
{
    int64_t elements = shape_elements(shape);
    struct lane_array arrays[LANE_MAX_OPERANDS];
    for (int k = 0; k < operands->count; k++) {
        const struct literal *value = operands->values[k];
        arrays[k] = (struct lane_array){literal_data(value), value->shape->type,
                                        literal_elements(value) != elements};
    }
    bool marked = any_marks(operands);
    struct literal *result = elementwise_result(shape, operands, err);
    if (result == NULL) {
        return NULL;
    }
    lane_map(step, arrays, literal_data(result), elements);
    for (int k = 0; k < operands->count && marked; k++) {
        marks_spread(result, operands->values[k]);
    }
    return result;
}

struct literal *elementwise_convert(const struct literal *from, enum type type, struct error *err)
{
    if (from->shape->type == type) {
        return literal_retain(from);
    }
    struct lane_step step;
    lane_convert(from->shape->type, type, &step);
    struct lane_array array = {literal_data(from), from->shape->type, false};
    struct literal *to = literal_create(shape_with_type(shape_static(from->shape), type), err);
    if (to != NULL) {
        lane_map(&step, &array, literal_data(to), literal_elements(to));
        marks_spread(to, from);
    }
    return to;
}

static struct literal *elementwise(const struct instruction *instruction, struct operands *operands,
                                   struct error *err)
{
    struct lane_step step;
    if (!lane_instruction(instruction, &step)) {
        error_set(err, ERROR_UNIMPLEMENTED, "there is no %s of %s giving %s",
                  opcode_text(instruction->opcode), shape_text(instruction->operands[0]->shape),
                  shape_text(instruction->shape));
        return NULL;
    }
    return elementwise_apply(&step, instruction->shape, operands, err);
}

/* negate and abs keep all bits but the sign: of narrow floats, whose strips are doubles, directly.
 */
static struct literal *change_sign(const struct instruction *instruction, struct operands *operands,
                                   struct error *err)
{
    const struct shape *shape = instruction->shape;
    uint16_t sign = (uint16_t)(1 << (type_bits(shape->type) - 1));
    if (instruction->opcode == OP_ABS) {
        sign = (uint16_t)~sign;
    }
    enum type type = lane_bits_type(shape->type);
    struct lane_step step;
    lane_binary(instruction->opcode == OP_ABS ? OP_AND : OP_XOR, type, &step);
    struct lane_array arrays[2] = {{literal_data(operands->values[0]), type, false},
                                   {&sign, type, true}};
    bool marked = any_marks(operands);
    struct literal *result = elementwise_result(shape, operands, err);
    if (result != NULL) {
        lane_map(&step, arrays, literal_data(result), shape_elements(shape));
        if (marked) {
            marks_spread(result, operands->values[0]);
        }
    }
    return result;
}

struct literal *eval_unary(struct evaluation *evaluation, const struct instruction *instruction,
                           struct operands *operands, struct error *err)
{
    (void)evaluation;
    enum type type = instruction->shape->type;
    bool narrow = type_is_float(type) && !lane_is_native(type) && float_has_negative_zero(type) &&
                  operands->values[0]->shape->type == type;
    if (narrow && (instruction->opcode == OP_NEGATE || instruction->opcode == OP_ABS)) {
        return change_sign(instruction, operands, err);
    }
    return elementwise(instruction, operands, err);
}

#define ELEMENTWISE(name)                                                                         \
    struct literal *eval_##name(struct evaluation *evaluation,                                    \
                                const struct instruction *instruction, struct operands *operands, \
                                struct error *err)                                                \
    {                                                                                             \
        (void)evaluation;                                                                         \
        return elementwise(instruction, operands, err);                                           \
    }
ELEMENTWISE(binary)
ELEMENTWISE(compare)
ELEMENTWISE(reduce_precision)
ELEMENTWISE(stochastic_convert)
#undef ELEMENTWISE

/* --- clamp --- */

/* Complex numbers are ordered by real part, then imaginary part. Source: StableHLO, clamp: the
 * minimum of the maximum of value and lower bound, and the upper bound. */
static struct literal *clamp_complex(const struct instruction *instruction,
                                     const struct operands *operands, struct error *err)
{
    static const bool kept[2] = {false, false}, passing[2] = {true, false};
    const struct shape *shape = instruction->shape;
    struct lane_step step;
    lane_binary(OP_MAXIMUM, shape->type, &step);
    struct literal *raised_from[2] = {operands->values[1], operands->values[0]};
    struct operands sides = {2, raised_from, kept};
    struct literal *raised = elementwise_apply(&step, shape, &sides, err);
    if (raised == NULL) {
        return NULL;
    }
    lane_binary(OP_MINIMUM, shape->type, &step);
    struct literal *lowered_from[2] = {raised, operands->values[2]};
    sides = (struct operands){2, lowered_from, passing};
    struct literal *result = elementwise_apply(&step, shape, &sides, err);
    literal_release(lowered_from[0]);
    return result;
}

struct literal *eval_clamp(struct evaluation *evaluation, const struct instruction *instruction,
                           struct operands *operands, struct error *err)
{
    (void)evaluation;
    return type_is_complex(instruction->shape->type) ? clamp_complex(instruction, operands, err)
                                                     : elementwise(instruction, operands, err);
}

/* --- select --- */

/* Marks of a selection: those of the chosen operand, and where the choice itself is open. */
static void select_marks(struct literal *result, const struct operands *operands)
{
    const struct literal *which = operands->values[0];
    const uint8_t *choice = literal_data(which);
    bool one = literal_elements(which) == 1;
    int64_t elements = literal_elements(result);
    uint8_t *out = marks_make(result);
    for (int64_t i = 0; i < elements; i++) {
        const struct literal *chosen = operands->values[choice[one ? 0 : i] != 0 ? 1 : 2];
        const uint8_t *marks = marks_of(chosen), *open = marks_of(which);
        if ((marks != NULL && mark_get(marks, i)) ||
            (open != NULL && mark_get(open, one ? 0 : i))) {
            mark_set(out, i);
        }
    }
}

struct literal *eval_select(struct evaluation *evaluation, const struct instruction *instruction,
                            struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct shape *shape = instruction->shape;
    const struct literal *which = operands->values[0];
    bool same_types = true;
    for (int k = 1; k < 3; k++) {
        same_types = same_types && operands->values[k]->shape->type == shape->type;
    }
    if (literal_elements(which) == 1 && same_types && marks_of(which) == NULL) {
        int chosen = *(const uint8_t *)literal_data(which) != 0 ? 1 : 2;
        return literal_reshape_take(operand_pass(operands, chosen), shape);
    }
    struct lane_step step;
    struct lane_array arrays[3];
    enum type type = same_types ? lane_bits_type(shape->type) : shape->type;
    lane_select(type, &step);
    int64_t elements = shape_elements(shape);
    for (int k = 0; k < 3; k++) {
        const struct literal *value = operands->values[k];
        enum type stored = k > 0 && same_types ? type : value->shape->type;
        arrays[k] =
            (struct lane_array){literal_data(value), stored, literal_elements(value) != elements};
    }
    bool marked = any_marks(operands);
    struct literal *result = elementwise_result(shape, operands, err);
    if (result != NULL) {
        lane_map(&step, arrays, literal_data(result), elements);
        if (marked) {
            select_marks(result, operands);
        }
    }
    return result;
}

/* --- map --- */

struct map_job {
    const struct program *program;
    int count;
    struct literal *const *inputs; /* in the types that the program takes */
    struct literal *const *results;
    atomic_bool failed;
    struct error *err;
};

static bool map_strip(const struct map_job *job, struct program_frame *frame, int64_t first,
                      int64_t count)
{
    for (int k = 0; k < job->count; k++) {
        const struct literal *value = job->inputs[k];
        enum type type = value->shape->type;
        const char *data = literal_data(value);
        lane_load(type, data + first * type_bytes(type), program_input(frame, k), count);
    }
    if (!program_run(frame, count)) {
        return false;
    }
    for (int i = 0; i < program_output_count(job->program); i++) {
        enum type type = program_output_type(job->program, i);
        char *data = literal_data(job->results[i]);
        lane_store(type, program_output(frame, i), data + first * type_bytes(type), count);
    }
    return true;
}

static void map_range(void *context, int64_t begin, int64_t end)
{
    struct map_job *job = context;
    struct program_frame *frame = program_frame_create(job->program, job->err);
    for (int64_t first = begin; first < end && frame != NULL; first += LANE_STRIP) {
        int64_t count = end - first < LANE_STRIP ? end - first : LANE_STRIP;
        if (!map_strip(job, frame, first, count)) {
            job->failed = true;
            break;
        }
    }
    if (frame == NULL) {
        job->failed = true;
    }
    program_frame_destroy(frame);
}

struct literal *eval_map(struct evaluation *evaluation, const struct instruction *instruction,
                         struct operands *operands, struct error *err)
{
    struct program *program = program_compile(evaluation, instruction->called[0], err);
    if (program == NULL) {
        return NULL;
    }
    struct literal *result = literal_create(instruction->shape, err);
    int leaves = shape_leaves(instruction->shape);
    bool ok = result != NULL && program_output_count(program) == leaves &&
              program_input_count(program) == operands->count;
    if (result != NULL && !ok) {
        error_set(err, ERROR_INTERNAL, "the computation does not fit the map");
    }
    struct literal **inputs = memory_zalloc((size_t)operands->count * sizeof(struct literal *));
    for (int k = 0; k < operands->count && ok; k++) {
        inputs[k] = elementwise_convert(operands->values[k], program_input_type(program, k), err);
        ok = inputs[k] != NULL;
    }
    struct literal **results = memory_zalloc((size_t)(leaves + 1) * sizeof(struct literal *));
    for (int i = 0; i < leaves && ok; i++) {
        results[i] = literal_leaf(result, i);
    }
    if (ok) {
        struct map_job job = {program, operands->count, inputs, results, false, err};
        program_for(program, literal_elements(results[0]), 8 * LANE_STRIP, map_range, &job);
        ok = !job.failed;
        for (int i = 0; i < leaves && any_marks(operands); i++) {
            for (int k = 0; k < operands->count; k++) {
                marks_spread(results[i], operands->values[k]);
            }
        }
    }
    for (int k = 0; k < operands->count; k++) {
        literal_release(inputs[k]);
    }
    free(inputs);
    free(results);
    program_destroy(program);
    if (!ok) {
        literal_release(result);
        return NULL;
    }
    return result;
}
