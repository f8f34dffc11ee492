/* The same instruction in one module of a pipeline after the other: what computes the same, else
 * what has the same name, operation and shape. */
#include <string.h>

#include "hlo/diff.h"
#include "hlo/module.h"
#include "tools/plant_internal.h"

void plant_tracker_init(struct plant_tracker *tracker, struct module *take_module,
                        struct instruction *place)
{
    tracker->module = take_module;
    tracker->places[0] = place;
    tracker->count = 1;
}

void plant_tracker_finish(struct plant_tracker *tracker)
{
    module_destroy(tracker->module);
    tracker->module = NULL;
}

static bool is_place(const struct plant_tracker *tracker, const struct instruction *instruction)
{
    for (int i = 0; i < tracker->count; i++) {
        if (tracker->places[i] == instruction) {
            return true;
        }
    }
    return false;
}

static bool looks_like_place(const struct plant_tracker *tracker,
                             const struct instruction *instruction)
{
    for (int i = 0; i < tracker->count; i++) {
        const struct instruction *place = tracker->places[i];
        if (place->opcode == instruction->opcode && strcmp(place->name, instruction->name) == 0 &&
            shape_compatible(place->shape, instruction->shape)) {
            return true;
        }
    }
    return false;
}

typedef bool place_test(const struct plant_tracker *tracker, const struct diff *diff,
                        const struct instruction *instruction);

static bool is_same(const struct plant_tracker *tracker, const struct diff *diff,
                    const struct instruction *instruction)
{
    const struct instruction *old = diff->matches[instruction->parent->id][instruction->id];
    return old != NULL && is_place(tracker, old) && old->opcode == instruction->opcode;
}

static bool is_alike(const struct plant_tracker *tracker, const struct diff *diff,
                     const struct instruction *instruction)
{
    (void)diff;
    return looks_like_place(tracker, instruction);
}

static int find(const struct plant_tracker *tracker, const struct diff *diff,
                const struct module *module, place_test *test, struct instruction **found)
{
    int count = 0;
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count && count < PLANT_PLACES_MOST; i++) {
            if (test(tracker, diff, computation->instructions[i])) {
                found[count++] = computation->instructions[i];
            }
        }
    }
    return count;
}

bool plant_tracker_follow(struct plant_tracker *tracker, struct module *take_module)
{
    struct diff diff;
    struct instruction *found[PLANT_PLACES_MOST];
    diff_modules(tracker->module, take_module, &diff);
    int count = find(tracker, &diff, take_module, is_same, found);
    if (count == 0) {
        count = find(tracker, &diff, take_module, is_alike, found);
    }
    diff_finish(&diff);
    if (count == 0) {
        module_destroy(take_module);
        return false;
    }
    module_destroy(tracker->module);
    tracker->module = take_module;
    tracker->count = count;
    memcpy(tracker->places, found, (size_t)count * sizeof *found);
    return true;
}
