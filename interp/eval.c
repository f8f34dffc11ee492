/* The evaluator proper: computations, step by step, and the public face of the golden. */
#include "interp/eval.h"

#include <stdlib.h>
#include <string.h>

#include "interp/cache.h"
#include "interp/devices.h"
#include "interp/dynamic.h"
#include "interp/environment.h"
#include "interp/noise.h"
#include "interp/plan.h"
#include "interp/poll.h"
#include "interp/span.h"
#include "interp/transfers.h"

/* Computations nested deeper than this (each costs stack) are refused. */
enum { DEPTH_LIMIT = 2000 };

/* --- operands --- */

struct literal *operand_take(struct operands *operands, int i, struct error *err)
{
    struct literal *value = operands->values[i];
    if (operands->dying[i] && literal_is_unique(value)) {
        operands->values[i] = NULL;
        return value;
    }
    return literal_own_take(literal_retain(value), err);
}

struct literal *operand_pass(struct operands *operands, int i)
{
    struct literal *value = operands->values[i];
    if (operands->dying[i]) {
        operands->values[i] = NULL;
        return value;
    }
    return literal_retain(value);
}

struct literal *literal_reshape_take(struct literal *literal, const struct shape *shape)
{
    if (literal->shape == shape || !shape_is_array(shape)) {
        return literal;
    }
    if (literal->references != 1 || shape->dynamic != NULL || literal->dynamic_sizes != NULL) {
        struct literal *view = literal_view(literal, shape);
        literal_release(literal);
        return view;
    }
    literal->shape = shape;
    return literal;
}

bool literal_mark_all_unspecified(struct literal *literal, struct error *err)
{
    for (int i = 0; literal->elements != NULL && i < literal->shape->count; i++) {
        if (!literal_mark_all_unspecified(literal->elements[i], err)) {
            return false;
        }
    }
    if (literal->buffer == NULL) {
        return true;
    }
    size_t bytes = ((size_t)literal_elements(literal) + 7) / 8;
    if (literal->buffer->unspecified == NULL) {
        literal->buffer->unspecified = malloc(bytes > 0 ? bytes : 1);
        if (literal->buffer->unspecified == NULL) {
            return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for the marks of %s",
                             shape_text(literal->shape));
        }
    }
    memset(literal->buffer->unspecified, 0xff, bytes);
    return true;
}

/* --- one step --- */

static bool observed(const struct evaluation *evaluation)
{
    return evaluation->scalar_depth == 0;
}

void eval_blame(struct evaluation *evaluation, const struct instruction *instruction,
                struct error *err)
{
    if (evaluation->blamed != NULL || err == NULL) {
        return;
    }
    evaluation->blamed = instruction;
    error_prefix(err, "%s (%s)", instruction->name, opcode_text(instruction->opcode));
    if (err->line == 0 && instruction->line > 0) {
        struct where where = instruction_where(instruction);
        err->line = where.line;
        err->column = where.column;
        if (where.file != NULL) {
            strncpy(err->file, where.file, sizeof err->file - 1);
        }
    }
}

static struct literal *unsupported(const struct instruction *instruction, struct error *err)
{
    error_set(err, ERROR_UNIMPLEMENTED, "the golden has no evaluator for %s",
              opcode_text(instruction->opcode));
    return NULL;
}

/* What stands in for operand i: masked beyond its run-time sizes, moved by noise, or itself. */
static struct literal *prepared_operand(struct evaluation *evaluation, const struct step *step,
                                        const struct operands *operands, int i, struct error *err)
{
    struct literal *value = step->dynamic ? dynamic_operand(step->instruction, operands, i, err)
                                          : literal_retain(operands->values[i]);
    if (value == NULL || !step->noisy_operands || !observed(evaluation) || !noise_concerns(value)) {
        return value;
    }
    value = literal_own_take(value, err);
    if (value != NULL) {
        noise_apply(&evaluation->options, step->instruction, false, i, value);
    }
    return value;
}

/* Prepares every operand: values and dying are filled for the op, and replaced[i] tells what is
 * private to this step. Returns how many were prepared. */
static int prepare_operands(struct evaluation *evaluation, const struct step *step,
                            const struct operands *operands, struct literal **values, bool *dying,
                            bool *replaced, struct error *err)
{
    for (int i = 0; i < operands->count; i++) {
        values[i] = prepared_operand(evaluation, step, operands, i, err);
        if (values[i] == NULL) {
            return i;
        }
        replaced[i] = values[i] != operands->values[i];
        dying[i] = replaced[i] || operands->dying[i];
        if (!replaced[i]) {
            literal_release(values[i]); /* borrowed as before */
        }
    }
    return operands->count;
}

/* The step with operands that had to be prepared. */
static struct literal *run_prepared(struct evaluation *evaluation, const struct step *step,
                                    struct operands *operands, struct error *err)
{
    int count = operands->count;
    struct literal **values = memory_zalloc((size_t)count * sizeof *values);
    bool *dying = memory_zalloc((size_t)count * 2), *replaced = dying + count;
    struct operands prepared = {count, values, dying};
    struct literal *result = NULL;
    int64_t sizes[SHAPE_MAX_RANK];
    bool sized = step->dynamic && dynamic_result_sizes(step->instruction, operands, sizes);
    int ready = prepare_operands(evaluation, step, operands, values, dying, replaced, err);
    if (ready == count) {
        result = step->dynamic && dynamic_live_concerns(step->instruction, &prepared)
                     ? dynamic_live(evaluation, step->evaluate, step->instruction, &prepared, err)
                     : step->evaluate(evaluation, step->instruction, &prepared, err);
    }
    for (int i = 0; i < ready; i++) {
        if (replaced[i]) {
            literal_release(values[i]);
        } else if (values[i] == NULL) {
            operands->values[i] = NULL; /* taken */
        }
    }
    free(values);
    free(dying);
    if (result != NULL && sized) {
        result = literal_own_take(result, err);
        if (result != NULL && !dynamic_set_sizes(result, sizes, err)) {
            literal_release(result);
            return NULL;
        }
    }
    return result;
}

/* The value with its float elements moved by noise; NULL stays NULL. */
static struct literal *with_noise(struct evaluation *evaluation, const struct step *step,
                                  struct literal *value, struct error *err)
{
    if (value == NULL || !noise_concerns(value)) {
        return value;
    }
    value = literal_own_take(value, err);
    if (value != NULL) {
        noise_apply(&evaluation->options, step->instruction, true, -1, value);
    }
    return value;
}

static struct literal *run_op(struct evaluation *evaluation, const struct step *step,
                              struct operands *operands, struct error *err)
{
    if (step->evaluate == NULL) {
        return unsupported(step->instruction, err);
    }
    bool noisy = evaluation->options.noise != NULL && observed(evaluation);
    struct literal *value = step->dynamic || (noisy && step->noisy_operands)
                                ? run_prepared(evaluation, step, operands, err)
                                : step->evaluate(evaluation, step->instruction, operands, err);
    bool moves = step->noisy_result ||
                 (evaluation->options.noise_everywhere && noise_on_any_result(step->instruction));
    return noisy && moves ? with_noise(evaluation, step, value, err) : value;
}

/* Takes an element out of a tuple, or shares it. */
static struct literal *run_element(const struct step *step, struct literal *tuple)
{
    struct literal *element = tuple->elements[step->element];
    if (step->moves && tuple->references == 1) {
        tuple->elements[step->element] = NULL;
        return element;
    }
    return literal_retain(element);
}

static bool cancelled(struct evaluation *evaluation, struct error *err)
{
    const struct interp_options *options = &evaluation->options;
    if (options->cancelled == NULL || !options->cancelled(options->context)) {
        return false;
    }
    error_set(err, ERROR_DEADLINE_EXCEEDED, "the evaluation was cancelled");
    return true;
}

struct literal *step_work(struct evaluation *evaluation, const struct step *step,
                          struct operands *operands, struct error *err)
{
    struct interp_span span;
    const bool told = span_wanted(evaluation);
    const bool cluster = step->kind == STEP_CLUSTER;
    if (told) {
        const struct instruction *instruction =
            evaluation->keeper != NULL ? keeper_origin(evaluation->keeper, step->instruction)
                                       : step->instruction;
        span_begin(evaluation, &span, instruction, cluster ? cluster_size(step->cluster) : 1,
                   operands);
    }
    struct poll poll;
    poll_begin(&poll, &evaluation->options);
    struct literal *value = cluster ? cluster_run(step->cluster, evaluation, operands, err)
                                    : run_op(evaluation, step, operands, err);
    value = poll_end(&poll, value, err);
    if (told) {
        span_end(evaluation, &span);
    }
    return value;
}

/* What stands in for the value of the step; NULL: evaluate it. */
static struct literal *stand_in(const struct evaluation *evaluation, const struct step *step,
                                struct frame *frame)
{
    const struct interp_options *options = &evaluation->options;
    if (options->replace == NULL || !observed(evaluation)) {
        return NULL;
    }
    struct literal *value =
        options->replace(options->context, step->instruction, evaluation->iteration);
    if (value != NULL && step->kind == STEP_PARAMETER) {
        literal_release(frame->slots[step->instruction->id]);
    }
    return value;
}

static bool run_step(struct evaluation *evaluation, const struct step *step, struct frame *frame,
                     struct error *err)
{
    struct literal **slots = frame->slots;
    struct literal *value = stand_in(evaluation, step, frame);
    struct keeper *keeper = evaluation->depth == 1 ? evaluation->keeper : NULL;
    bool deferred = false;
    enum step_kind kind = value == NULL ? step->kind : STEP_REPLACED;
    if (keeper != NULL && kind == STEP_ELEMENT && slots[step->operands[0]] == NULL) {
        kind = STEP_OP; /* the tuple is put off */
    }
    switch (kind) {
    case STEP_REPLACED:
        break;
    case STEP_PARAMETER:
        value = slots[step->instruction->id];
        break;
    case STEP_CONSTANT:
        value = literal_retain(step->instruction->literal);
        break;
    case STEP_ELEMENT:
        value = run_element(step, slots[step->operands[0]]);
        break;
    case STEP_NOTHING:
        return true;
    case STEP_CLUSTER:
    case STEP_OP: {
        if (cancelled(evaluation, err)) {
            return false;
        }
        struct operands operands = {step->operand_count, frame->operands, step->dying};
        for (int k = 0; k < step->operand_count; k++) {
            operands.values[k] = slots[step->operands[k]];
        }
        if (keeper == NULL) {
            value = step_work(evaluation, step, &operands, err);
        } else if (keeper_step(keeper, evaluation, step, &operands, slots, &value, err)) {
            deferred = value == NULL;
        }
        for (int r = 0; r < step->release_count; r++) {
            /* Its slot is empty now; what was not taken is released below. */
            int k = step->releases[r];
            if (operands.values[k] == NULL) {
                slots[step->operands[k]] = NULL;
            }
        }
        break;
    }
    }
    if (evaluation->options.noise_everywhere && observed(evaluation) &&
        (step->kind == STEP_PARAMETER || step->kind == STEP_CONSTANT)) {
        value = with_noise(evaluation, step, value, err);
        slots[step->instruction->id] = value; /* a parameter's old value is gone */
    }
    if (value == NULL && !deferred) {
        return false;
    }
    slots[step->instruction->id] = value;
    const struct interp_options *options = &evaluation->options;
    if (options->on_instruction != NULL && observed(evaluation)) {
        if (options->device != NULL) {
            *options->device = grid_device(evaluation);
        }
        if (!options->on_instruction(options->context, step->instruction, value,
                                     evaluation->iteration, err)) {
            return false;
        }
    }
    for (int r = 0; r < step->release_count; r++) {
        int slot = step->operands[step->releases[r]];
        literal_release(slots[slot]);
        slots[slot] = NULL;
        if (keeper != NULL) {
            keeper_release(keeper, slot);
        }
    }
    if (step->unused) {
        literal_release(value);
        slots[step->instruction->id] = NULL;
    }
    return true;
}

/* --- computations --- */

static void release_all(struct literal **values, int count)
{
    for (int i = 0; i < count; i++) {
        literal_release(values[i]);
        values[i] = NULL;
    }
}

static struct literal *run_plan(struct evaluation *evaluation, struct plan *plan,
                                const struct computation *computation,
                                struct literal **arguments_take, struct error *err)
{
    struct frame *frame = frame_take(plan);
    for (int i = 0; i < computation->parameter_count; i++) {
        frame->slots[computation->parameters[i]->id] = arguments_take[i];
        arguments_take[i] = NULL;
    }
    struct literal *result = NULL;
    int i = 0;
    while (i < plan->count && run_step(evaluation, &plan->steps[i], frame, err)) {
        i++;
    }
    if (i == plan->count) {
        result = frame->slots[computation->root->id];
        frame->slots[computation->root->id] = NULL;
    } else {
        eval_blame(evaluation, plan->steps[i].instruction, err);
        release_all(frame->slots, plan->count);
    }
    frame_give(plan, frame);
    return result;
}

struct literal *eval_computation(struct evaluation *evaluation,
                                 const struct computation *computation,
                                 struct literal **arguments_take, int argument_count,
                                 struct error *err)
{
    if (argument_count != computation->parameter_count || evaluation->depth >= DEPTH_LIMIT) {
        if (evaluation->depth >= DEPTH_LIMIT) {
            error_set(err, ERROR_RESOURCE_EXHAUSTED, "computations are nested deeper than %d",
                      DEPTH_LIMIT);
        } else {
            error_set(err, ERROR_INVALID_ARGUMENT, "computation %s wants %d arguments, not %d",
                      computation->name, computation->parameter_count, argument_count);
        }
        release_all(arguments_take, argument_count);
        return NULL;
    }
    bool own_plans = evaluation->plans == NULL;
    if (own_plans) {
        evaluation->plans = plans_create(computation->module, NULL, 0);
    }
    struct plan *plan = plans_get(evaluation->plans, computation, &evaluation->options);
    evaluation->depth++;
    struct literal *result = run_plan(evaluation, plan, computation, arguments_take, err);
    evaluation->depth--;
    if (own_plans) {
        plans_destroy(evaluation->plans);
        evaluation->plans = NULL;
    }
    return result;
}

struct literal *eval_scalar_computation(struct evaluation *evaluation,
                                        const struct computation *computation,
                                        struct literal **arguments_take, int argument_count,
                                        struct error *err)
{
    evaluation->scalar_depth++;
    struct literal *result =
        eval_computation(evaluation, computation, arguments_take, argument_count, err);
    evaluation->scalar_depth--;
    return result;
}

/* --- the public face --- */

/* The arguments as owned references of the parameters' shapes. */
static bool check_arguments(const struct module *module, struct literal *const *arguments,
                            int argument_count, struct literal **owned, struct error *err)
{
    const struct computation *entry = module->entry;
    if (argument_count != entry->parameter_count) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "module %s takes %d arguments, not %d",
                         module->name, entry->parameter_count, argument_count);
    }
    for (int i = 0; i < argument_count; i++) {
        const struct shape *shape = entry->parameters[i]->shape;
        if (!shape_compatible(shape_static(arguments[i]->shape), shape_static(shape))) {
            release_all(owned, i);
            return error_set(err, ERROR_INVALID_ARGUMENT,
                             "argument %d of module %s has shape %s, parameter %s wants %s", i,
                             module->name, shape_text(arguments[i]->shape),
                             entry->parameters[i]->name, shape_text(shape));
        }
        owned[i] =
            shape_is_array(shape) && shape_is_dynamic(shape) && arguments[i]->dynamic_sizes == NULL
                ? literal_view(arguments[i], shape)
                : literal_retain(arguments[i]);
    }
    return true;
}

/* Memory for the plans of a small module, on the stack. */
struct plans_memory {
    _Alignas(16) char bytes[PLANS_MEMORY];
};

/* The state of a new evaluation's rng-get-and-update-state: XLA's initial value. */
static void start(struct evaluation *evaluation, const struct module *module,
                  struct plans_memory *memory, const struct interp_options *options)
{
    *evaluation = (struct evaluation){.module = module, .rng_state = {0, 0x7012395}};
    if (options != NULL) {
        evaluation->options = *options;
    }
    evaluation->plans = plans_create(module, memory, sizeof *memory);
}

struct literal *eval_entry(struct evaluation *evaluation, struct literal *const *arguments,
                           int argument_count, struct error *err)
{
    const struct module *module = evaluation->module;
    size_t bytes = (size_t)argument_count * sizeof(struct literal *);
    struct literal **owned = memory_zalloc(bytes);
    struct literal *result = NULL;
    struct environment environment;
    environment_enter(&environment);
    if (check_arguments(module, arguments, argument_count, owned, err)) {
        result = evaluation->grid == NULL && cache_concerns(&evaluation->options)
                     ? cache_evaluate(evaluation, owned, argument_count, err)
                     : eval_computation(evaluation, module->entry, owned, argument_count, err);
    }
    environment_leave(&environment);
    free(owned);
    return result;
}

struct literal *interp_evaluate(const struct module *module, struct literal *const *arguments,
                                int argument_count, const struct interp_options *options,
                                struct error *err)
{
    struct evaluation evaluation;
    struct plans_memory memory;
    start(&evaluation, module, &memory, options);
    struct literal *result = eval_entry(&evaluation, arguments, argument_count, err);
    plans_destroy(evaluation.plans);
    transfers_destroy(evaluation.transfers);
    return result;
}

/* Replicas and partitions of 0 stand for 1. */
static bool evaluate_grid(int replicas, int partitions, bool mixed,
                          const struct module *const *programs, int device_count,
                          struct literal *const *const *arguments, const int *argument_counts,
                          struct literal **results, const struct interp_options *options,
                          struct error *err)
{
    replicas = replicas > 0 ? replicas : 1;
    partitions = partitions > 0 ? partitions : 1;
    if ((int64_t)replicas * partitions != device_count) {
        return error_set(err, ERROR_INVALID_ARGUMENT,
                         "%d devices given for %d replicas times %d partitions", device_count,
                         replicas, partitions);
    }
    struct evaluation *evaluations = memory_zalloc((size_t)device_count * sizeof *evaluations);
    for (int d = 0; d < device_count; d++) {
        start(&evaluations[d], programs[d], NULL, options);
        evaluations[d].replica = d / partitions;
        evaluations[d].partition = d % partitions;
        results[d] = NULL;
    }
    bool ok = grid_run(replicas, partitions, mixed, evaluations, arguments, argument_counts,
                       results, err);
    for (int d = 0; d < device_count; d++) {
        plans_destroy(evaluations[d].plans);
        if (!ok) {
            literal_release(results[d]);
            results[d] = NULL;
        }
    }
    free(evaluations);
    return ok;
}

bool interp_evaluate_devices(const struct module *module, int device_count,
                             struct literal *const *const *arguments, int argument_count,
                             struct literal **results, const struct interp_options *options,
                             struct error *err)
{
    int replicas = options != NULL ? options->replica_count : 0;
    int partitions = options != NULL ? options->partition_count : 0;
    replicas = replicas > 0 ? replicas : (int)module->config.replica_count;
    partitions = partitions > 0 ? partitions : (int)module->config.partition_count;
    size_t count = device_count > 0 ? (size_t)device_count : 1;
    const struct module **programs = memory_alloc(count * sizeof *programs);
    int *argument_counts = memory_alloc(count * sizeof *argument_counts);
    for (int d = 0; d < device_count; d++) {
        programs[d] = module;
        argument_counts[d] = argument_count;
    }
    bool ok = evaluate_grid(replicas, partitions, false, programs, device_count, arguments,
                            argument_counts, results, options, err);
    free(programs);
    free(argument_counts);
    return ok;
}

bool interp_evaluate_programs(const struct module *const *programs, int device_count,
                              struct literal *const *const *arguments, const int *argument_counts,
                              struct literal **results, const struct interp_options *options,
                              struct error *err)
{
    int replicas = options != NULL ? options->replica_count : 0;
    int partitions = options != NULL ? options->partition_count : 0;
    if (replicas <= 0 && partitions <= 0) {
        replicas = device_count;
    }
    return evaluate_grid(replicas, partitions, true, programs, device_count, arguments,
                         argument_counts, results, options, err);
}

struct literal *interp_evaluate_instruction(const struct instruction *instruction,
                                            struct literal *const *operands,
                                            const struct interp_options *options, struct error *err)
{
    if (instruction->opcode == OP_PARAMETER) {
        error_set(err, ERROR_INVALID_ARGUMENT, "%s: a parameter has no value of its own",
                  instruction->name);
        return NULL;
    }
    struct evaluation evaluation;
    struct plans_memory memory;
    start(&evaluation, instruction->parent->module, &memory, options);
    struct step step;
    step_init(&step, instruction, evaluation.options.noise != NULL);
    int count = instruction->operand_count;
    struct literal **values = memory_zalloc((size_t)count * sizeof *values);
    bool *dying = memory_zalloc((size_t)count * sizeof *dying);
    if (count > 0) {
        memcpy(values, operands, (size_t)count * sizeof *values);
    }
    struct operands borrowed = {count, values, dying};
    struct environment environment;
    environment_enter(&environment);
    struct poll poll;
    poll_begin(&poll, &evaluation.options);
    struct literal *result = poll_end(&poll, run_op(&evaluation, &step, &borrowed, err), err);
    environment_leave(&environment);
    if (result == NULL) {
        eval_blame(&evaluation, instruction, err);
    }
    free(values);
    free(dying);
    plans_destroy(evaluation.plans);
    transfers_destroy(evaluation.transfers);
    return result;
}
