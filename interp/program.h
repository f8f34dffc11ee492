/* The program engine: an embedded computation (reducer, comparator, scatter combiner, the body of a
 * map or of a fusion) compiled once into steps over the lanes engine, and run on strips of many
 * independent applications at a time.
 *
 * Inputs are the leaves of the computation's parameters, outputs those of its root; every value in
 * between has one element. Calls, fusions and tuples are dissolved; of a conditional all branches
 * are computed and one is selected. A computation that holds anything else (a loop, say) becomes a
 * program all the same, which evaluates it once for each application; it has no speed and runs on
 * one thread.
 *
 * A program is read-only once made; each thread runs it in a frame of its own. */
#ifndef INTERP_PROGRAM_H
#define INTERP_PROGRAM_H

#include "hlo/base/pool.h"
#include "interp/eval.h"
#include "interp/lanes.h"

struct program;
struct program_frame;

/* What a binary computation does, as far as it is known. As reducers leave compilers: with
 * operands in either order, through calls and tuples, or computed in a wider type and converted
 * back. */
enum reducer {
    REDUCER_OTHER,
    REDUCER_ADD,
    REDUCER_MULTIPLY,
    REDUCER_MINIMUM,
    REDUCER_MAXIMUM,
    REDUCER_AND,
    REDUCER_OR,
    REDUCER_XOR,
    REDUCER_FIRST,  /* keeps its first operand */
    REDUCER_SECOND, /* takes its second operand: overwrites */
};

/* The program of a computation of the evaluation's module. The evaluation and err must outlive it
 * (err gets the errors of computations that are evaluated). NULL with *err. */
struct program *program_compile(struct evaluation *evaluation,
                                const struct computation *computation, struct error *err);
/* Gives the program back; NULL is allowed. */
void program_destroy(struct program *program);
/* For plans_destroy: frees one that was kept for the next program_compile. NULL is allowed. */
void program_free(struct program *program);

int program_input_count(const struct program *program);
int program_output_count(const struct program *program);
enum type program_input_type(const struct program *program, int i);
enum type program_output_type(const struct program *program, int i);
/* Does anything depend on input i? */
bool program_input_is_used(const struct program *program, int i);
/* Does a step make output i, in memory that nothing else has? If not, it is an input or constant
 * that is passed on, or the same as another output. */
bool program_output_is_made(const struct program *program, int i);
/* Of a program with inputs a0 … an, b0 … bn and outputs c0 … cn: what makes ci of ai and bi alone,
 * all three being of one type. */
enum reducer program_reducer(const struct program *program, int i);
/* The opcode of a binary reducer, and the step that applies it to `type`; false for OTHER, FIRST
 * and SECOND. */
bool reducer_step(enum reducer reducer, enum type type, struct lane_step *step);
/* Is what the reducer makes of several values of the type the same in whatever order it takes them?
 * (Sums and products of floats round, and complex numbers have none but sums.) */
bool reducer_is_unordered(enum reducer reducer, enum type type);
/* poll_for (poll.h), or in the calling thread if the program can only run in one. */
bool program_for(const struct program *program, int64_t count, int64_t grain,
                 pool_function *function, void *context);

/* --- running --- */

/* NULL with *err (RESOURCE_EXHAUSTED). */
struct program_frame *program_frame_create(const struct program *program, struct error *err);
void program_frame_destroy(struct program_frame *frame); /* NULL is allowed */
/* The memory for input i: a strip of its type's lane. */
void *program_input(struct program_frame *frame, int i);
/* Reads input i from the caller's strip instead, until bound again; NULL: from its own memory. */
void program_bind_input(struct program_frame *frame, int i, const void *strip);
/* Writes output i to the caller's strip instead, until bound again. Nothing but the last step that
 * makes it writes there. False if the program only passes an input or a constant on. */
bool program_bind_output(struct program_frame *frame, int i, void *strip);
/* Output i after a run; an input's memory when the program only passes it on. */
const void *program_output(const struct program_frame *frame, int i);
/* Applies the program to lanes [0, count), count <= LANE_STRIP. False with the program's *err. */
bool program_run(struct program_frame *frame, int64_t count);

/* --- building from parts --- */

struct program_builder;

struct program_builder *program_builder_create(void);
void program_builder_destroy(struct program_builder *builder); /* if it was not finished */
/* These return the number of a value, −1 when there is no such operation. */
int program_add_input(struct program_builder *builder, enum type type);
/* *element lives as long as the program. */
int program_add_constant(struct program_builder *builder, enum type type, const void *element);
int program_add_step(struct program_builder *builder, enum opcode opcode,
                     const struct lane_step *step, const int *operands);
/* An elementwise instruction (lane_instruction) on these values. */
int program_add_instruction(struct program_builder *builder, const struct instruction *instruction,
                            const int *operands);
enum type program_value_type(const struct program_builder *builder, int value);
void program_add_output(struct program_builder *builder, int value);
/* Takes the builder. */
struct program *program_builder_finish_take(struct program_builder *builder);

#endif
