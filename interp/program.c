/* Programs: putting them together, giving their values memory, running them. */
#include "interp/program_internal.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/floats.h"
#include "interp/plan.h"
#include "interp/poll.h"

/* --- building --- */

struct program_builder *program_builder_create(void)
{
    return memory_zalloc(sizeof(struct program_builder));
}

void program_builder_destroy(struct program_builder *builder)
{
    free(builder->values);
    free(builder->steps);
    free(builder->constants);
    free(builder->inputs);
    free(builder->outputs);
    free(builder);
}

static int add_value(struct program_builder *builder, enum type type, int from, size_t index)
{
    builder->values = grow(builder->values, builder->value_count, &builder->value_capacity,
                           sizeof *builder->values);
    builder->values[builder->value_count] = (struct program_value){type, from, (int)index};
    return (int)builder->value_count++;
}

int program_add_input(struct program_builder *builder, enum type type)
{
    builder->inputs = grow(builder->inputs, builder->input_count, &builder->input_capacity,
                           sizeof *builder->inputs);
    int value = add_value(builder, type, FROM_INPUT, builder->input_count);
    builder->inputs[builder->input_count++] = value;
    return value;
}

int program_add_constant(struct program_builder *builder, enum type type, const void *element)
{
    for (size_t i = 0; i < builder->constant_count; i++) {
        const struct program_constant *constant = &builder->constants[i];
        if (constant->type == type &&
            memcmp(constant->element, element, (size_t)type_bytes(type)) == 0) {
            return constant->slot;
        }
    }
    builder->constants = grow(builder->constants, builder->constant_count,
                              &builder->constant_capacity, sizeof *builder->constants);
    int value = add_value(builder, type, FROM_CONSTANT, builder->constant_count);
    builder->constants[builder->constant_count++] = (struct program_constant){value, type, element};
    return value;
}

int program_add_step(struct program_builder *builder, enum opcode opcode,
                     const struct lane_step *step, const int *operands)
{
    builder->steps =
        grow(builder->steps, builder->step_count, &builder->step_capacity, sizeof *builder->steps);
    struct program_step added = {.step = *step, .opcode = opcode};
    for (int k = 0; k < step->operand_count; k++) {
        added.in[k] = operands[k];
    }
    added.out = add_value(builder, step->result, (int)builder->step_count, 0);
    builder->steps[builder->step_count++] = added;
    return added.out;
}

int program_add_instruction(struct program_builder *builder, const struct instruction *instruction,
                            const int *operands)
{
    struct lane_step step;
    if (!lane_instruction(instruction, &step)) {
        return -1;
    }
    int converted[LANE_MAX_OPERANDS];
    for (int k = 0; k < step.operand_count; k++) {
        converted[k] = operands[k];
        enum type type = builder->values[operands[k]].type;
        if (type != step.operands[k]) {
            struct lane_step conversion;
            lane_convert(type, step.operands[k], &conversion);
            converted[k] = program_add_step(builder, OP_CONVERT, &conversion, &operands[k]);
        }
    }
    bool identity = (instruction->opcode == OP_CONVERT || instruction->opcode == OP_COPY ||
                     instruction->opcode == OP_BITCAST_CONVERT) &&
                    step.operands[0] == step.result;
    return identity ? converted[0]
                    : program_add_step(builder, instruction->opcode, &step, converted);
}

enum type program_value_type(const struct program_builder *builder, int value)
{
    return builder->values[value].type;
}

int program_value_count(const struct program_builder *builder)
{
    return (int)builder->value_count;
}

void program_add_output(struct program_builder *builder, int value)
{
    builder->outputs = grow(builder->outputs, builder->output_count, &builder->output_capacity,
                            sizeof *builder->outputs);
    builder->outputs[builder->output_count++] = value;
}

/* --- recognising reducers --- */

/* Whether every value of `type` is one of `wide`, of the same class. */
static bool contains(enum type wide, enum type type)
{
    if (wide == type) {
        return true;
    }
    if (type_kind(wide) != type_kind(type)) {
        return false;
    }
    if (type_is_float(type)) {
        const struct float_format *w = &float_formats[wide], *t = &float_formats[type];
        return w->specials == SPECIALS_IEEE && w->exponent_bits >= t->exponent_bits &&
               w->mantissa_bits >= 2 * t->mantissa_bits + 2;
    }
    return type_is_integer(type) && type_bits(wide) >= type_bits(type);
}

static const struct program_step *step_of(const struct program_builder *builder, int value)
{
    int from = builder->values[value].from;
    return from >= 0 ? &builder->steps[from] : NULL;
}

/* The value behind a conversion to a wider type. */
static int unwiden(const struct program_builder *builder, int value)
{
    const struct program_step *step = step_of(builder, value);
    if (step != NULL && step->opcode == OP_CONVERT &&
        contains(step->step.result, step->step.operands[0])) {
        return step->in[0];
    }
    return value;
}

static const uint8_t reducer_of_opcode[OPCODE_COUNT] = {
    [OP_ADD] = REDUCER_ADD,         [OP_MULTIPLY] = REDUCER_MULTIPLY,
    [OP_MINIMUM] = REDUCER_MINIMUM, [OP_MAXIMUM] = REDUCER_MAXIMUM,
    [OP_AND] = REDUCER_AND,         [OP_OR] = REDUCER_OR,
    [OP_XOR] = REDUCER_XOR,
};

/* What output `value` makes of the inputs first and second. */
static enum reducer recognise(const struct program_builder *builder, int value, int first,
                              int second)
{
    enum type type = builder->values[first].type;
    if (builder->values[second].type != type || builder->values[value].type != type) {
        return REDUCER_OTHER;
    }
    if (value == first || value == second) {
        return value == first ? REDUCER_FIRST : REDUCER_SECOND;
    }
    const struct program_step *step = step_of(builder, value);
    if (step != NULL && step->opcode == OP_CONVERT &&
        contains(step->step.operands[0], step->step.result)) {
        step = step_of(builder, step->in[0]);
    }
    if (step == NULL || reducer_of_opcode[step->opcode] == REDUCER_OTHER) {
        return REDUCER_OTHER;
    }
    int a = unwiden(builder, step->in[0]), b = unwiden(builder, step->in[1]);
    bool ordered = a == first && b == second, swapped = a == second && b == first;
    return ordered || swapped ? (enum reducer)reducer_of_opcode[step->opcode] : REDUCER_OTHER;
}

bool reducer_step(enum reducer reducer, enum type type, struct lane_step *step)
{
    for (int opcode = 0; opcode < OPCODE_COUNT; opcode++) {
        if (reducer != REDUCER_OTHER && reducer_of_opcode[opcode] == reducer) {
            return lane_binary((enum opcode)opcode, type, step);
        }
    }
    return false;
}

bool reducer_is_unordered(enum reducer reducer, enum type type)
{
    switch (reducer) {
    case REDUCER_ADD:
    case REDUCER_MULTIPLY:
        return !type_is_float(type) && !type_is_complex(type);
    case REDUCER_MINIMUM:
    case REDUCER_MAXIMUM:
    case REDUCER_AND:
    case REDUCER_OR:
    case REDUCER_XOR:
        return !type_is_complex(type);
    default:
        return false;
    }
}

/* --- giving values memory --- */

/* Slots of each size that no living value needs. */
struct free_slots {
    int *list[LANE_MAX_BYTES + 1];
    int count[LANE_MAX_BYTES + 1];
};

static int value_bytes(const struct program_builder *builder, int value)
{
    return lane_bytes(lane_of(builder->values[value].type));
}

static int new_slot(struct program *program, int bytes)
{
    program->slot_offsets[program->slot_count] = program->frame_bytes;
    program->frame_bytes += (size_t)bytes * LANE_STRIP;
    return program->slot_count++;
}

/* The last step that reads each value; outputs, inputs and constants are never free, and outputs
 * have slots that nothing else ever had (program_bind_output). */
static void last_uses(const struct program_builder *builder, int *last)
{
    for (size_t v = 0; v < builder->value_count; v++) {
        last[v] = builder->values[v].from < 0 ? INT32_MAX : builder->values[v].from;
    }
    for (size_t s = 0; s < builder->step_count; s++) {
        const struct program_step *step = &builder->steps[s];
        for (int k = 0; k < step->step.operand_count; k++) {
            if (last[step->in[k]] < (int)s) {
                last[step->in[k]] = (int)s;
            }
        }
    }
    for (size_t i = 0; i < builder->output_count; i++) {
        last[builder->outputs[i]] = INT32_MAX;
    }
}

static void assign_slots(const struct program_builder *builder, struct program *program, int *slots)
{
    int *last = memory_zalloc(builder->value_count * sizeof *last);
    struct free_slots spare = {0};
    for (int bytes = 1; bytes <= LANE_MAX_BYTES; bytes *= 2) {
        spare.list[bytes] = memory_zalloc(builder->value_count * sizeof(int));
    }
    last_uses(builder, last);
    for (size_t v = 0; v < builder->value_count; v++) {
        if (builder->values[v].from < 0) {
            slots[v] = new_slot(program, value_bytes(builder, (int)v));
        }
    }
    for (size_t s = 0; s < builder->step_count; s++) {
        const struct program_step *step = &builder->steps[s];
        int bytes = value_bytes(builder, step->out);
        bool reuse = spare.count[bytes] > 0 && last[step->out] != INT32_MAX;
        slots[step->out] =
            reuse ? spare.list[bytes][--spare.count[bytes]] : new_slot(program, bytes);
        for (int k = 0; k < step->step.operand_count; k++) {
            int operand = step->in[k];
            if (last[operand] == (int)s) {
                int width = value_bytes(builder, operand);
                spare.list[width][spare.count[width]++] = slots[operand];
                last[operand] = -1; /* an operand may occur twice */
            }
        }
    }
    for (int bytes = 1; bytes <= LANE_MAX_BYTES; bytes *= 2) {
        free(spare.list[bytes]);
    }
    free(last);
}

/* Steps that no output needs are left out. */
static void drop_unused(struct program_builder *builder)
{
    bool *needed = memory_zalloc(builder->value_count);
    for (size_t i = 0; i < builder->output_count; i++) {
        needed[builder->outputs[i]] = true;
    }
    for (size_t s = builder->step_count; s-- > 0;) {
        const struct program_step *step = &builder->steps[s];
        for (int k = 0; needed[step->out] && k < step->step.operand_count; k++) {
            needed[step->in[k]] = true;
        }
    }
    size_t kept = 0;
    for (size_t s = 0; s < builder->step_count; s++) {
        if (needed[builder->steps[s].out]) {
            builder->values[builder->steps[s].out].from = (int)kept;
            builder->steps[kept++] = builder->steps[s];
        }
    }
    builder->step_count = kept;
    free(needed);
}

static void mark_used(const struct program_builder *builder, int value, bool *used)
{
    if (builder->values[value].from == FROM_INPUT) {
        used[builder->values[value].index] = true;
    }
}

static void mark_used_inputs(const struct program_builder *builder, bool *used)
{
    for (size_t i = 0; i < builder->output_count; i++) {
        mark_used(builder, builder->outputs[i], used);
    }
    for (size_t s = 0; s < builder->step_count; s++) {
        const struct program_step *step = &builder->steps[s];
        for (int k = 0; k < step->step.operand_count; k++) {
            mark_used(builder, step->in[k], used);
        }
    }
}

struct program *program_builder_finish_take(struct program_builder *builder)
{
    struct program *program = memory_zalloc(sizeof *program);
    program->frames = memory_zalloc(sizeof *program->frames);
    drop_unused(builder);
    program->input_count = (int)builder->input_count;
    program->output_count = (int)builder->output_count;
    program->step_count = (int)builder->step_count;
    program->constant_count = (int)builder->constant_count;
    size_t inputs = builder->input_count, outputs = builder->output_count;
    program->input_types = memory_zalloc(inputs * sizeof(enum type));
    program->output_types = memory_zalloc(outputs * sizeof(enum type));
    program->inputs = memory_zalloc(inputs * sizeof(int));
    program->outputs = memory_zalloc(outputs * sizeof(int));
    program->reducers = memory_zalloc(outputs * sizeof(enum reducer));
    program->input_used = memory_zalloc(inputs);
    program->output_made = memory_zalloc(outputs);
    mark_used_inputs(builder, program->input_used);
    program->slot_offsets = memory_zalloc((builder->value_count + 1) * sizeof(size_t));
    int *slots = memory_zalloc((builder->value_count + 1) * sizeof(int));
    assign_slots(builder, program, slots);
    for (size_t i = 0; i < inputs; i++) {
        program->input_types[i] = builder->values[builder->inputs[i]].type;
        program->inputs[i] = slots[builder->inputs[i]];
    }
    for (size_t i = 0; i < outputs; i++) {
        program->output_types[i] = builder->values[builder->outputs[i]].type;
        program->outputs[i] = slots[builder->outputs[i]];
        program->output_made[i] = builder->values[builder->outputs[i]].from >= 0;
        for (size_t j = 0; j < i; j++) {
            /* An output that occurs twice has one place only. */
            program->output_made[i] &= builder->outputs[j] != builder->outputs[i];
        }
        if (inputs == 2 * outputs) {
            program->reducers[i] = recognise(builder, builder->outputs[i], builder->inputs[i],
                                             builder->inputs[outputs + i]);
        }
    }
    for (size_t s = 0; s < builder->step_count; s++) {
        struct program_step *step = &builder->steps[s];
        step->out = slots[step->out];
        for (int k = 0; k < step->step.operand_count; k++) {
            step->in[k] = slots[step->in[k]];
        }
    }
    for (size_t i = 0; i < builder->constant_count; i++) {
        builder->constants[i].slot = slots[builder->constants[i].slot];
    }
    free(slots);
    program->steps = builder->steps;
    program->constants = builder->constants;
    builder->steps = NULL;
    builder->constants = NULL;
    program_builder_destroy(builder);
    return program;
}

/* --- life --- */

static void frame_free(struct program_frame *frame);

static struct program *compile(struct evaluation *evaluation, const struct computation *computation,
                               struct error *err)
{
    struct program_builder *builder = program_builder_create();
    bool built = program_build_computation(builder, computation);
    if (!built && builder->input_count == 0 && computation->parameter_count > 0) {
        program_builder_destroy(builder);
        error_set(err, ERROR_UNIMPLEMENTED, "computation %s is not one of scalars",
                  computation->name);
        return NULL;
    }
    struct program *program = program_builder_finish_take(builder);
    program->evaluation = evaluation;
    program->err = err;
    program->computation = built ? NULL : computation;
    return program;
}

/* Programs are kept with the plans of the evaluation and given out again; one that is in use
 * already is made anew. */
struct program *program_compile(struct evaluation *evaluation,
                                const struct computation *computation, struct error *err)
{
    struct plans *plans = evaluation->plans;
    struct program **kept = plans != NULL && computation->module == plans->module
                                ? &plans->programs[computation->id]
                                : NULL;
    if (kept != NULL && *kept != NULL && !(*kept)->in_use) {
        (*kept)->in_use = true;
        (*kept)->err = err;
        return *kept;
    }
    struct program *program = compile(evaluation, computation, err);
    if (program != NULL && kept != NULL && *kept == NULL) {
        program->kept = program->in_use = true;
        *kept = program;
    }
    return program;
}

void program_destroy(struct program *program)
{
    if (program != NULL && program->kept) {
        program->in_use = false;
        program->err = NULL;
        return;
    }
    program_free(program);
}

void program_free(struct program *program)
{
    if (program == NULL) {
        return;
    }
    frame_free(program->frames->spare);
    free(program->frames);
    free(program->input_types);
    free(program->output_types);
    free(program->inputs);
    free(program->outputs);
    free(program->reducers);
    free(program->input_used);
    free(program->output_made);
    free(program->steps);
    free(program->constants);
    free(program->slot_offsets);
    free(program);
}

int program_input_count(const struct program *program)
{
    return program->input_count;
}

int program_output_count(const struct program *program)
{
    return program->output_count;
}

enum type program_input_type(const struct program *program, int i)
{
    return program->input_types[i];
}

enum type program_output_type(const struct program *program, int i)
{
    return program->output_types[i];
}

bool program_input_is_used(const struct program *program, int i)
{
    return program->computation != NULL || program->input_used[i];
}

bool program_output_is_made(const struct program *program, int i)
{
    return program->output_made[i];
}

enum reducer program_reducer(const struct program *program, int i)
{
    return program->reducers[i];
}

bool program_for(const struct program *program, int64_t count, int64_t grain,
                 pool_function *function, void *context)
{
    if (program->computation == NULL) {
        return poll_for(count, grain, function, context);
    }
    if (count > 0) {
        function(context, 0, count);
    }
    return true;
}

/* --- frames --- */

struct program_frame {
    const struct program *program;
    char *memory;
    void *slots[];
};

static void reset_slots(struct program_frame *frame)
{
    for (int i = 0; i < frame->program->slot_count; i++) {
        frame->slots[i] = frame->memory + frame->program->slot_offsets[i];
    }
}

struct program_frame *program_frame_create(const struct program *program, struct error *err)
{
    struct program_frame *idle = atomic_exchange(&program->frames->spare, NULL);
    if (idle != NULL) {
        reset_slots(idle);
        return idle;
    }
    size_t count = (size_t)program->slot_count;
    struct program_frame *frame = malloc(sizeof *frame + count * sizeof frame->slots[0]);
    void *memory = aligned_alloc(64, program->frame_bytes + 64);
    if (frame == NULL || memory == NULL) {
        free(frame);
        free(memory);
        error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for a program's values");
        return NULL;
    }
    frame->program = program;
    frame->memory = memory;
    reset_slots(frame);
    for (int i = 0; i < program->constant_count; i++) {
        const struct program_constant *constant = &program->constants[i];
        lane_fill(constant->type, constant->element, frame->slots[constant->slot], LANE_STRIP);
    }
    return frame;
}

static void frame_free(struct program_frame *frame)
{
    if (frame != NULL) {
        free(frame->memory);
        free(frame);
    }
}

void program_frame_destroy(struct program_frame *frame)
{
    if (frame != NULL) {
        frame_free(atomic_exchange(&frame->program->frames->spare, frame));
    }
}

void *program_input(struct program_frame *frame, int i)
{
    return frame->memory + frame->program->slot_offsets[frame->program->inputs[i]];
}

void program_bind_input(struct program_frame *frame, int i, const void *strip)
{
    frame->slots[frame->program->inputs[i]] =
        strip != NULL ? (void *)(uintptr_t)strip : program_input(frame, i);
}

bool program_bind_output(struct program_frame *frame, int i, void *strip)
{
    if (!frame->program->output_made[i]) {
        return false;
    }
    frame->slots[frame->program->outputs[i]] = strip;
    return true;
}

const void *program_output(const struct program_frame *frame, int i)
{
    return frame->slots[frame->program->outputs[i]];
}

bool program_run(struct program_frame *frame, int64_t count)
{
    const struct program *program = frame->program;
    if (program->computation != NULL) {
        return program_evaluate(program, frame->slots, count);
    }
    for (int s = 0; s < program->step_count; s++) {
        const struct program_step *step = &program->steps[s];
        const void *in[LANE_MAX_OPERANDS];
        for (int k = 0; k < step->step.operand_count; k++) {
            in[k] = frame->slots[step->in[k]];
        }
        lane_run(&step->step, frame->slots[step->out], in, count);
    }
    return true;
}
