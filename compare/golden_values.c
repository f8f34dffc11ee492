/* The golden's values, kept by its observer. */
#include "compare/golden_values.h"

#include <stdlib.h>

#include "compare/devices.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/interp.h"

enum { LOOP_MOST = 1 << 20 }; /* iterations: what is looked into may loop for ever */

/* Evaluates for what the observer sees. */
static void observe(const struct specimen *specimen, struct interp_options *options)
{
    struct error ignored = {0};
    bool several = specimen_sets(specimen) > 1;
    options->replica_count = several ? (int)specimen->module->config.replica_count : 1;
    options->partition_count = several ? (int)specimen->module->config.partition_count : 1;
    literal_release(devices_evaluate(specimen->module, specimen->arguments,
                                     specimen_argument_total(specimen), options, &ignored));
}

struct keeper {
    struct golden_values *values;
    int device;
    const bool *wanted; /* [entry instruction]; NULL: all are */
    int64_t missing;    /* of those that are wanted, on all devices */
};

static bool keep_value(void *context, const struct instruction *instruction,
                       const struct literal *value, int64_t iteration, struct error *err)
{
    struct keeper *keeper = context;
    (void)iteration;
    if (instruction->parent != instruction->parent->module->entry ||
        (keeper->wanted != NULL && !keeper->wanted[instruction->id])) {
        return true;
    }
    struct literal **place = &keeper->values->lists[keeper->device][instruction->id];
    keeper->missing -= *place == NULL;
    literal_release(*place);
    *place = literal_retain(value);
    return keeper->wanted == NULL || keeper->missing > 0 ||
           error_set(err, ERROR_ABORTED, "all values were seen");
}

void golden_values_find_marked(const struct specimen *specimen, const bool *wanted,
                               struct golden_values *values)
{
    values->count = specimen->module->entry->count;
    values->sets = specimen_sets(specimen);
    values->lists = memory_zalloc((size_t)values->sets * sizeof *values->lists);
    struct keeper keeper = {.values = values, .wanted = wanted};
    for (int s = 0; s < values->sets; s++) {
        values->lists[s] = memory_zalloc(((size_t)values->count + 1) * sizeof *values->lists[s]);
        for (int i = 0; wanted != NULL && i < values->count; i++) {
            keeper.missing += wanted[i];
        }
    }
    struct interp_options options = {.on_instruction = keep_value,
                                     .context = &keeper,
                                     .device = &keeper.device,
                                     .max_loop_iterations = LOOP_MOST};
    if (wanted == NULL || keeper.missing > 0) {
        observe(specimen, &options);
    }
}

void golden_values_find(const struct specimen *specimen, struct golden_values *values)
{
    golden_values_find_marked(specimen, NULL, values);
}

static void want_operands(const struct instruction *instruction, bool *wanted)
{
    for (int k = 0; k < instruction->operand_count; k++) {
        const struct instruction *operand = instruction->operands[k];
        if (specimen_is_chain(operand)) {
            want_operands(operand, wanted);
        } else {
            wanted[operand->id] = true;
        }
    }
}

void golden_values_find_operands(const struct specimen *specimen,
                                 const struct instruction *instruction,
                                 struct golden_values *values)
{
    bool *wanted = memory_zalloc(((size_t)specimen->module->entry->count + 1) * sizeof *wanted);
    want_operands(instruction, wanted);
    golden_values_find_marked(specimen, wanted, values);
    free(wanted);
}

void golden_values_finish(struct golden_values *values)
{
    for (int s = 0; s < values->sets; s++) {
        for (int i = 0; i < values->count; i++) {
            literal_release(values->lists[s][i]);
        }
        free(values->lists[s]);
    }
    free(values->lists);
    *values = (struct golden_values){0};
}

struct literal *golden_value_of(void *context, const struct instruction *instruction, int set)
{
    const struct golden_values *values = context;
    struct literal *value = instruction->id < values->count && set < values->sets
                                ? values->lists[set][instruction->id]
                                : NULL;
    return value != NULL ? literal_retain(value) : NULL;
}

/* --- loops --- */

/* The states that one device came to. */
struct seen_states {
    int64_t count;
    size_t capacity;
    struct literal **list;
};

struct listener {
    const struct instruction *parameter; /* of the body */
    int64_t most;
    int device, sets;
    struct seen_states *seen; /* [set] */
};

static bool enough_seen(const struct listener *listener)
{
    for (int s = 0; s < listener->sets; s++) {
        if (listener->seen[s].count < listener->most) {
            return false;
        }
    }
    return true;
}

static bool keep_state(void *context, const struct instruction *instruction,
                       const struct literal *value, int64_t iteration, struct error *err)
{
    struct listener *listener = context;
    struct seen_states *seen = &listener->seen[listener->device];
    (void)iteration;
    if (instruction != listener->parameter) {
        return true;
    }
    if (seen->count < listener->most) {
        seen->list = grow(seen->list, (size_t)seen->count, &seen->capacity, sizeof *seen->list);
        seen->list[seen->count++] = literal_retain(value);
    } else if (enough_seen(listener)) {
        return error_set(err, ERROR_ABORTED, "enough iterations were seen");
    }
    return true;
}

void loop_states_find(const struct specimen *specimen, const struct instruction *loop, int64_t most,
                      struct loop_states *states)
{
    int sets = specimen_sets(specimen);
    struct listener listener = {.parameter = loop->called[0]->parameters[0],
                                .most = most,
                                .sets = sets,
                                .seen = memory_zalloc((size_t)sets * sizeof *listener.seen)};
    struct interp_options options = {.on_instruction = keep_state,
                                     .context = &listener,
                                     .device = &listener.device,
                                     .max_loop_iterations = LOOP_MOST};
    observe(specimen, &options);
    *states = (struct loop_states){.count = most, .sets = sets};
    states->lists = memory_alloc((size_t)sets * sizeof *states->lists);
    for (int s = 0; s < sets; s++) {
        states->count =
            listener.seen[s].count < states->count ? listener.seen[s].count : states->count;
    }
    for (int s = 0; s < sets; s++) { /* devices may have gone on for longer */
        for (int64_t i = states->count; i < listener.seen[s].count; i++) {
            literal_release(listener.seen[s].list[i]);
        }
        states->lists[s] = listener.seen[s].list;
    }
    free(listener.seen);
}

void loop_states_finish(struct loop_states *states)
{
    for (int s = 0; s < states->sets; s++) {
        for (int64_t i = 0; i < states->count; i++) {
            literal_release(states->lists[s][i]);
        }
        free(states->lists[s]);
    }
    free(states->lists);
    *states = (struct loop_states){0};
}
