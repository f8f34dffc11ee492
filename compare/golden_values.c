/* The golden's values, kept by its observer. */
#include "compare/golden_values.h"

#include <stdlib.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/interp.h"

enum { LOOP_MOST = 1 << 20 }; /* iterations: what is looked into may loop for ever */

static bool keep_value(void *context, const struct instruction *instruction,
                       const struct literal *value, int64_t iteration, struct error *err)
{
    struct golden_values *values = context;
    (void)iteration;
    (void)err;
    if (instruction->parent == instruction->parent->module->entry) {
        literal_release(values->list[instruction->id]);
        values->list[instruction->id] = literal_retain((struct literal *)(uintptr_t)value);
    }
    return true;
}

void golden_values_find(const struct specimen *specimen, struct golden_values *values)
{
    struct error err = {0};
    values->count = specimen->module->entry->count;
    values->list = memory_zalloc(((size_t)values->count + 1) * sizeof *values->list);
    struct interp_options options = {
        .on_instruction = keep_value, .context = values, .max_loop_iterations = LOOP_MOST};
    literal_release(interp_evaluate(specimen->module, specimen->arguments, specimen->argument_count,
                                    &options, &err));
}

void golden_values_finish(struct golden_values *values)
{
    for (int i = 0; i < values->count; i++) {
        literal_release(values->list[i]);
    }
    free(values->list);
    *values = (struct golden_values){0};
}

struct literal *golden_value_of(void *context, const struct instruction *instruction)
{
    const struct golden_values *values = context;
    struct literal *value = instruction->id < values->count ? values->list[instruction->id] : NULL;
    return value != NULL ? literal_retain(value) : NULL;
}

/* --- loops --- */

struct listener {
    const struct instruction *parameter; /* of the body */
    int64_t most;
    struct loop_states *states;
    size_t capacity;
};

static bool keep_state(void *context, const struct instruction *instruction,
                       const struct literal *value, int64_t iteration, struct error *err)
{
    struct listener *listener = context;
    (void)iteration;
    if (instruction != listener->parameter) {
        return true;
    }
    struct loop_states *states = listener->states;
    if (states->count == listener->most) {
        return error_set(err, ERROR_ABORTED, "enough iterations were seen");
    }
    states->list =
        grow(states->list, (size_t)states->count, &listener->capacity, sizeof *states->list);
    states->list[states->count++] = literal_retain((struct literal *)(uintptr_t)value);
    return true;
}

void loop_states_find(const struct specimen *specimen, const struct instruction *loop, int64_t most,
                      struct loop_states *states)
{
    struct error ignored = {0};
    *states = (struct loop_states){0};
    struct listener listener = {
        .parameter = loop->called[0]->parameters[0], .most = most, .states = states};
    struct interp_options options = {.on_instruction = keep_state, .context = &listener};
    literal_release(interp_evaluate(specimen->module, specimen->arguments, specimen->argument_count,
                                    &options, &ignored));
}

void loop_states_finish(struct loop_states *states)
{
    for (int64_t i = 0; i < states->count; i++) {
        literal_release(states->list[i]);
    }
    free(states->list);
    *states = (struct loop_states){0};
}
