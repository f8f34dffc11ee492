/* Control flow, tuples, and ops that pass values on. */
#include <stdlib.h>
#include <string.h>

#include "interp/elementwise.h"
#include "interp/eval.h"
#include "interp/plan.h"
#include "interp/special.h"

/* --- leaves of a computation --- */

struct literal *eval_parameter(struct evaluation *evaluation, const struct instruction *instruction,
                               struct operands *operands, struct error *err)
{
    (void)evaluation;
    (void)operands;
    error_set(err, ERROR_INTERNAL, "parameter %s outside its computation", instruction->name);
    return NULL;
}

struct literal *eval_constant(struct evaluation *evaluation, const struct instruction *instruction,
                              struct operands *operands, struct error *err)
{
    (void)evaluation;
    (void)operands;
    (void)err;
    return literal_retain(instruction->literal);
}

static struct literal *scalar_u32(const struct instruction *instruction, int value,
                                  struct error *err)
{
    struct literal *literal = literal_create(instruction->shape, err);
    if (literal != NULL) {
        literal_set_int(literal, 0, value);
    }
    return literal;
}

struct literal *eval_partition_id(struct evaluation *evaluation,
                                  const struct instruction *instruction, struct operands *operands,
                                  struct error *err)
{
    (void)operands;
    return scalar_u32(instruction, evaluation->partition, err);
}

struct literal *eval_replica_id(struct evaluation *evaluation,
                                const struct instruction *instruction, struct operands *operands,
                                struct error *err)
{
    (void)operands;
    return scalar_u32(instruction, evaluation->replica, err);
}

/* The state is one 128-bit counter for the whole program that each execution of the op advances by
 * delta; the op gives the value from before, low word first. It begins where XLA's begins but XLA
 * keeps it from run to run, so that nobody can know it.
 * Source: xla/service/llvm_ir (RngGetAndUpdateState). */
struct literal *eval_rng_get_and_update_state(struct evaluation *evaluation,
                                              const struct instruction *instruction,
                                              struct operands *operands, struct error *err)
{
    (void)operands;
    struct literal *state = literal_create(instruction->shape, err);
    if (state == NULL || !literal_mark_all_unspecified(state, err)) {
        literal_release(state);
        return NULL;
    }
    uint64_t *words = literal_data(state);
    words[0] = evaluation->rng_state[1];
    words[1] = evaluation->rng_state[0];
    uint64_t delta = (uint64_t)attr_int(instruction, ATTR_DELTA, 0);
    evaluation->rng_state[1] += delta;
    evaluation->rng_state[0] += evaluation->rng_state[1] < delta;
    return state;
}

/* --- tuples --- */

struct literal *eval_tuple(struct evaluation *evaluation, const struct instruction *instruction,
                           struct operands *operands, struct error *err)
{
    (void)evaluation;
    (void)err;
    struct literal *few[16], **elements = few;
    if (operands->count > 16) {
        elements = memory_alloc((size_t)operands->count * sizeof *elements);
    }
    for (int i = 0; i < operands->count; i++) {
        elements[i] = operand_pass(operands, i);
    }
    struct literal *tuple = literal_tuple_take(instruction->shape, elements);
    if (elements != few) {
        free(elements);
    }
    return tuple;
}

static struct literal *tuple_element(const struct operands *operands, int64_t index)
{
    return literal_retain(operands->values[0]->elements[index]);
}

struct literal *eval_get_tuple_element(struct evaluation *evaluation,
                                       const struct instruction *instruction,
                                       struct operands *operands, struct error *err)
{
    (void)evaluation;
    (void)err;
    return tuple_element(operands, attr_int(instruction, ATTR_INDEX, 0));
}

/* copy, domain, opt-barrier, add-dependency: the value itself. */
struct literal *eval_first_operand(struct evaluation *evaluation,
                                   const struct instruction *instruction, struct operands *operands,
                                   struct error *err)
{
    (void)evaluation;
    (void)instruction;
    (void)err;
    return operand_pass(operands, 0);
}

static struct literal *token(struct error *err)
{
    return literal_create(shape_token(), err);
}

struct literal *eval_after_all(struct evaluation *evaluation, const struct instruction *instruction,
                               struct operands *operands, struct error *err)
{
    (void)evaluation;
    (void)instruction;
    (void)operands;
    return token(err);
}

/* --- calls --- */

/* Calls with the first `count` operands as arguments. */
static struct literal *call_with_operands(struct evaluation *evaluation,
                                          const struct computation *computation,
                                          struct operands *operands, int count, struct error *err)
{
    struct literal *few[16], **arguments = few;
    if (count > 16) {
        arguments = memory_alloc((size_t)count * sizeof *arguments);
    }
    for (int i = 0; i < count; i++) {
        arguments[i] = operand_pass(operands, i);
    }
    struct literal *result = eval_computation(evaluation, computation, arguments, count, err);
    if (arguments != few) {
        free(arguments);
    }
    return result;
}

/* call and fusion. A composite that is known is its function (special.h). A fusion may have more
 * operands than its body has parameters. */
struct literal *eval_call(struct evaluation *evaluation, const struct instruction *instruction,
                          struct operands *operands, struct error *err)
{
    struct lane_step step;
    if (special_call_step(instruction, &step)) {
        return elementwise_apply(&step, instruction->shape, operands, err);
    }
    const struct computation *computation = instruction->called[0];
    int count = operands->count;
    if (instruction->opcode == OP_FUSION && count > computation->parameter_count) {
        count = computation->parameter_count;
    }
    return call_with_operands(evaluation, computation, operands, count, err);
}

/* 1 or 0, −1 on failure. Takes nothing. */
static int eval_condition(struct evaluation *evaluation, const struct computation *condition,
                          const struct literal *state, struct error *err)
{
    struct literal *argument = literal_retain(state);
    struct literal *predicate = eval_computation(evaluation, condition, &argument, 1, err);
    if (predicate == NULL) {
        return -1;
    }
    int goes_on = literal_get_int(predicate, 0) != 0;
    literal_release(predicate);
    return goes_on;
}

bool loop_goes_on(const struct interp_options *options, int64_t i, struct error *err)
{
    if (options->longest_loop != NULL && i >= *options->longest_loop) {
        *options->longest_loop = i + 1;
    }
    if (options->max_loop_iterations > 0 && i >= options->max_loop_iterations) {
        return error_set(err, ERROR_DEADLINE_EXCEEDED,
                         "the loop does not end within %lld iterations",
                         (long long)options->max_loop_iterations);
    }
    return true;
}

/* May iteration i of a loop begin? */
static bool may_iterate(const struct interp_options *options, int64_t i, struct error *err)
{
    if (!loop_goes_on(options, i, err)) {
        return false;
    }
    if (options->cancelled != NULL && options->cancelled(options->context)) {
        return error_set(err, ERROR_DEADLINE_EXCEEDED, "the evaluation was cancelled");
    }
    return true;
}

/* The loop by its tape; false if it has none. */
static bool run_tape(struct evaluation *evaluation, const struct instruction *instruction,
                     struct operands *operands, struct literal **result, struct error *err)
{
    if (evaluation->plans == NULL) {
        return false;
    }
    struct tape *tape = plans_tape(evaluation->plans, instruction, &evaluation->options);
    if (tape == NULL || tape_is_running(tape)) {
        return false;
    }
    *result = tape_run(tape, evaluation, operands, err);
    return true;
}

/* The state is handed to the body, which may update it in place: elements die there at their last
 * use, and the condition only looks. */
struct literal *eval_while(struct evaluation *evaluation, const struct instruction *instruction,
                           struct operands *operands, struct error *err)
{
    const struct computation *body = instruction->called[0], *condition = instruction->called[1];
    struct literal *state = NULL;
    if (run_tape(evaluation, instruction, operands, &state, err)) {
        return state;
    }
    state = operand_pass(operands, 0);
    int64_t outer = evaluation->iteration;
    for (int64_t i = 0; state != NULL; i++) {
        evaluation->iteration = i;
        int goes_on = eval_condition(evaluation, condition, state, err);
        if (goes_on == 0) {
            break;
        }
        if (goes_on < 0 || !may_iterate(&evaluation->options, i, err)) {
            literal_release(state);
            state = NULL;
            break;
        }
        state = eval_computation(evaluation, body, &state, 1, err);
    }
    evaluation->iteration = outer;
    return state;
}

/* Branch i takes operand i + 1. A pred chooses the first branch when true; an index out of range
 * chooses the last. Source: HLO operation semantics, Conditional. */
struct literal *eval_conditional(struct evaluation *evaluation,
                                 const struct instruction *instruction, struct operands *operands,
                                 struct error *err)
{
    const struct literal *selector = operands->values[0];
    int64_t index = literal_get_int(selector, 0);
    if (selector->shape->type == TYPE_PRED) {
        index = index == 0;
    }
    if (index < 0 || index >= instruction->called_count) {
        index = instruction->called_count - 1;
    }
    int chosen = (int)index + 1;
    const struct literal *shared = operands->values[chosen];
    struct literal *argument = operand_pass(operands, chosen);
    /* Other branches may have the same operand: it is taken from them too. */
    for (int i = 1; operands->values[chosen] == NULL && i < operands->count; i++) {
        if (operands->values[i] == shared) {
            operands->values[i] = NULL;
        }
    }
    return eval_computation(evaluation, instruction->called[index], &argument, 1, err);
}

/* --- copies --- */

/* Fills elements[first ..] of a start tuple with zeros (contexts) and closes it. Takes the filled
 * ones. */
static struct literal *start_tuple(const struct shape *shape, struct literal **elements, int first,
                                   struct error *err)
{
    for (int i = first; i < shape->count; i++) {
        elements[i] = literal_zero(shape->elements[i], err);
        if (elements[i] == NULL) {
            while (--i >= 0) {
                literal_release(elements[i]);
            }
            return NULL;
        }
    }
    return literal_tuple_take(shape, elements);
}

/* (destination, source, context) */
struct literal *eval_copy_start(struct evaluation *evaluation,
                                const struct instruction *instruction, struct operands *operands,
                                struct error *err)
{
    (void)evaluation;
    const struct shape *shape = instruction->shape;
    struct literal *few[8];
    if (shape->count < 2 || shape->count > 8) {
        error_set(err, ERROR_UNIMPLEMENTED, "copy-start of shape %s", shape_text(shape));
        return NULL;
    }
    few[0] = literal_retain(operands->values[0]);
    few[1] = literal_retain(operands->values[0]);
    return start_tuple(shape, few, 2, err);
}

struct literal *eval_copy_done(struct evaluation *evaluation, const struct instruction *instruction,
                               struct operands *operands, struct error *err)
{
    (void)evaluation;
    (void)instruction;
    (void)err;
    return tuple_element(operands, 0);
}
