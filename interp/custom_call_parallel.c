/* interpreter.run_parallel: a program of its own on every device of a grid. The computations that
 * are called are those that give the infeeds, which all devices share, then the programs; see
 * hlo/mlir/import/parallel.c. Source: stablehlo/reference/InterpreterOps.cpp (evalRunParallelOp).
 */
#include <stdlib.h>
#include <string.h>

#include "interp/custom_call_config.h"
#include "interp/custom_call_internal.h"

/* What the devices are fed with, one after the other. */
struct queue {
    int count, next;
    struct literal **values;
};

static struct literal *give(void *context, int device, const struct shape *shape, struct error *err)
{
    struct queue *queue = context;
    (void)device;
    if (queue->next == queue->count) {
        error_set(err, ERROR_INVALID_ARGUMENT, "the infeeds have no more data");
        return NULL;
    }
    struct literal *value = queue->values[queue->next++];
    /* The data alone where they are one array, whatever the infeed wraps it in. */
    if (shape_is_tuple(shape) && !shape_is_tuple(value->shape)) {
        struct literal *element = literal_retain(value);
        return literal_tuple_take(shape, &element);
    }
    return literal_retain(value);
}

struct parallel {
    int infeeds, devices;
    struct module *modules; /* the module once a device, with another entry */
    const struct module **programs;
    struct literal *const **arguments;
    int *counts;
    struct literal **results;
    struct queue queue;
};

static bool is_grid(const struct instruction *instruction, int infeeds, int64_t replicas,
                    int64_t partitions)
{
    int64_t devices = instruction->called_count - infeeds;
    return infeeds >= 0 && devices > 0 && replicas > 0 && partitions > 0 && replicas <= devices &&
           partitions <= devices && replicas * partitions == devices;
}

/* Each program takes as many operands as it has parameters. */
static bool hand_out(struct parallel *parallel, const struct instruction *instruction,
                     const struct operands *operands)
{
    int next = 0;
    for (int d = 0; d < parallel->devices; d++) {
        struct computation *program = instruction->called[parallel->infeeds + d];
        parallel->modules[d] = *instruction->parent->module;
        parallel->modules[d].entry = program;
        parallel->modules[d].config.has_entry_layout = false;
        parallel->programs[d] = &parallel->modules[d];
        parallel->counts[d] = program->parameter_count;
        parallel->arguments[d] = operands->values + next;
        if (program->parameter_count > operands->count - next) {
            return false;
        }
        for (int i = 0; i < program->parameter_count; i++, next++) {
            if (!shape_compatible(program->parameters[i]->shape, operands->values[next]->shape)) {
                return false;
            }
        }
    }
    return next == operands->count;
}

static bool fill_queue(struct parallel *parallel, struct evaluation *evaluation,
                       const struct instruction *instruction, struct error *err)
{
    for (int i = 0; i < parallel->infeeds; i++) {
        const struct computation *source = instruction->called[i];
        struct literal *value = source->parameter_count == 0
                                    ? eval_computation(evaluation, source, NULL, 0, err)
                                    : NULL;
        if (value == NULL) {
            return error_set(err, ERROR_INVALID_ARGUMENT, "%s gives no infeed", source->name);
        }
        parallel->queue.values[parallel->queue.count++] = value;
    }
    return true;
}

/* What the programs gave, one behind the other. */
static struct literal *join(const struct parallel *parallel, const struct shape *shape,
                            struct error *err)
{
    struct literal **elements = memory_alloc(((size_t)shape->count + 1) * sizeof *elements);
    int count = 0;
    bool fits = true;
    for (int d = 0; d < parallel->devices; d++) {
        const struct literal *result = parallel->results[d];
        bool is_tuple = shape_is_tuple(result->shape);
        for (int i = 0; fits && i < (is_tuple ? result->shape->count : 1); i++) {
            const struct literal *one = is_tuple ? result->elements[i] : result;
            fits = count < shape->count && shape_compatible(one->shape, shape->elements[count]);
            if (fits) {
                elements[count++] = literal_retain(one);
            }
        }
    }
    struct literal *joined = NULL;
    if (fits && count == shape->count) {
        joined = literal_tuple_take(shape, elements);
    } else {
        error_set(err, ERROR_INVALID_ARGUMENT, "the programs do not give %s", shape_text(shape));
        for (int i = 0; i < count; i++) {
            literal_release(elements[i]);
        }
    }
    free(elements);
    return joined;
}

static struct literal *run(struct parallel *parallel, struct evaluation *evaluation,
                           const struct instruction *instruction, const struct operands *operands,
                           int replicas, int partitions, struct error *err)
{
    if (!shape_is_tuple(instruction->shape) || !hand_out(parallel, instruction, operands)) {
        error_set(err, ERROR_INVALID_ARGUMENT, "%s: the operands are not those of the programs",
                  instruction->name);
        return NULL;
    }
    if (!fill_queue(parallel, evaluation, instruction, err)) {
        return NULL;
    }
    struct interp_options options = {
        .fidelity = evaluation->options.fidelity,
        .seed = evaluation->options.seed,
        .infeed = give,
        .context = &parallel->queue,
        .max_loop_iterations = evaluation->options.max_loop_iterations,
        .replica_count = replicas,
        .partition_count = partitions,
    };
    if (!interp_evaluate_programs(parallel->programs, parallel->devices, parallel->arguments,
                                  parallel->counts, parallel->results, &options, err)) {
        return NULL;
    }
    struct literal *joined = join(parallel, instruction->shape, err);
    for (int d = 0; d < parallel->devices; d++) {
        literal_release(parallel->results[d]);
    }
    return joined;
}

struct literal *custom_run_parallel(struct evaluation *evaluation,
                                    const struct instruction *instruction,
                                    struct operands *operands, struct error *err)
{
    struct config config;
    struct error why = {0};
    bool read = config_read(&config, instruction, &why);
    int64_t infeeds = read ? config_integer(&config, "infeeds", 0, &why) : -1;
    int64_t replicas = read ? config_integer(&config, "replicas", 0, &why) : 0;
    int64_t partitions = read ? config_integer(&config, "partitions", 0, &why) : 0;
    config_finish(&config);
    if (infeeds < 0 || infeeds > instruction->called_count ||
        !is_grid(instruction, (int)infeeds, replicas, partitions)) {
        return custom_call_fail(instruction, err, "its configuration is no grid of programs");
    }
    struct parallel parallel = {.infeeds = (int)infeeds,
                                .devices = instruction->called_count - (int)infeeds};
    size_t devices = (size_t)parallel.devices;
    parallel.modules = memory_zalloc(devices * sizeof *parallel.modules);
    parallel.programs = memory_zalloc(devices * sizeof *parallel.programs);
    parallel.arguments = memory_zalloc(devices * sizeof *parallel.arguments);
    parallel.counts = memory_zalloc(devices * sizeof *parallel.counts);
    parallel.results = memory_zalloc(devices * sizeof *parallel.results);
    parallel.queue.values =
        memory_zalloc(((size_t)parallel.infeeds + 1) * sizeof *parallel.queue.values);
    struct literal *result =
        run(&parallel, evaluation, instruction, operands, (int)replicas, (int)partitions, err);
    for (int i = 0; i < parallel.queue.count; i++) {
        literal_release(parallel.queue.values[i]);
    }
    free(parallel.queue.values);
    free(parallel.results);
    free(parallel.counts);
    free(parallel.arguments);
    free(parallel.programs);
    free(parallel.modules);
    return result;
}
