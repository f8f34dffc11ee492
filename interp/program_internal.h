/* Private to program*.c. */
#ifndef INTERP_PROGRAM_INTERNAL_H
#define INTERP_PROGRAM_INTERNAL_H

#include "interp/program.h"

struct program_step {
    struct lane_step step;
    enum opcode opcode;
    int out, in[LANE_MAX_OPERANDS]; /* slots; values while building */
};

struct program_constant {
    int slot;
    enum type type;
    const void *element;
};

/* A program being built: values in the order in which they came to be. */
enum { FROM_INPUT = -1, FROM_CONSTANT = -2 };

struct program_value {
    enum type type;
    int from;  /* the step that makes it, or one of the above */
    int index; /* of the input or constant */
};

struct program_builder {
    struct program_value *values;
    struct program_step *steps;
    struct program_constant *constants;
    int *inputs, *outputs; /* values */
    size_t value_count, step_count, constant_count, input_count, output_count;
    size_t value_capacity, step_capacity, constant_capacity, input_capacity, output_capacity;
};

/* Any thread may take or leave a frame. */
struct program_frames {
    _Atomic(struct program_frame *) spare; /* an idle frame or NULL */
};

struct program {
    int input_count, output_count, step_count, constant_count, slot_count;
    enum type *input_types, *output_types;
    int *inputs, *outputs;  /* slots */
    enum reducer *reducers; /* [output_count] */
    bool *input_used;       /* [input_count] */
    bool *output_made;      /* [output_count] by a step, in a slot of its own */
    struct program_step *steps;
    struct program_constant *constants;
    size_t *slot_offsets; /* into a frame's memory */
    size_t frame_bytes;
    struct program_frames *frames;
    bool kept, in_use; /* kept: it belongs to plans->programs */
    /* A computation that must be evaluated; NULL usually. Inputs and outputs have slots all the
     * same. */
    const struct computation *computation;
    struct evaluation *evaluation;
    struct error *err;
};

/* program_build.c: the steps of a computation, or false when it has no program. */
bool program_build_computation(struct program_builder *builder,
                               const struct computation *computation);

/* Values added so far. */
int program_value_count(const struct program_builder *builder);

/* program_evaluate.c: one application after the other by eval_scalar_computation. */
bool program_evaluate(const struct program *program, void *const *slots, int64_t count);

#endif
