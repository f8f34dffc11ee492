/* What the parts of planting share. */
#ifndef TOOLS_PLANT_INTERNAL_H
#define TOOLS_PLANT_INTERNAL_H

#include "tools/plant.h"

struct instruction;
struct literal;
struct module;

/* --- plant_observe.c: does a fault change what comes out? --- */

struct plant_observer {
    const struct plant_options *options;
    const struct dump_module *module;
    struct module *first;        /* from which arguments are drawn */
    struct literal ***arguments; /* [seed][parameter] */
    int argument_count;
    int step;                  /* whose results these are; −1 none */
    struct literal **expected; /* [seed]; NULL: not evaluated yet */
    struct interp_cache *cache;
};
bool plant_observer_init(struct plant_observer *observer, const struct dump_module *module,
                         const struct plant_options *options, struct error *err);
void plant_observer_finish(struct plant_observer *observer);
/* Makes this step the one that faults are held against; false with *err when the golden cannot
 * evaluate it. */
bool plant_observe_step(struct plant_observer *observer, int step, struct error *err);
/* Does the module with a fault give something else than the step did? On which seed, how much? */
bool plant_observe_fault(struct plant_observer *observer, const struct module *module,
                         struct plant *plant);

/* --- plant_track.c: the same instruction in the modules that follow --- */

enum { PLANT_PLACES_MOST = 64 };
struct plant_tracker {
    struct module *module;                         /* the step before, as it was; owned */
    struct instruction *places[PLANT_PLACES_MOST]; /* there */
    int count;
};
void plant_tracker_init(struct plant_tracker *tracker, struct module *take_module,
                        struct instruction *place);
void plant_tracker_finish(struct plant_tracker *tracker);
/* Goes on to the next step: places are where the instruction is now. False when it is nowhere; then
 * the tracker stays where it was. Takes the module either way. */
bool plant_tracker_follow(struct plant_tracker *tracker, struct module *take_module);

#endif
