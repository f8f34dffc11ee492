/* Applying contributions in order, many side by side as long as their targets differ. */
#include "interp/scatter_plan.h"

#include <stdlib.h>
#include <string.h>

#include "interp/marks.h"
#include "interp/poll.h"

bool scatter_plan_create(struct scatter_plan *plan, int64_t places, int64_t window,
                         struct error *err)
{
    *plan = (struct scatter_plan){.places = places, .window = window};
    size_t count = 2 * ((size_t)places + (size_t)window) + 1;
    plan->start = malloc(count * sizeof(int64_t));
    if (plan->start == NULL) {
        return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for the indices of a scatter");
    }
    plan->update_start = plan->start + places;
    plan->offset = plan->update_start + places;
    plan->update_offset = plan->offset + window;
    return true;
}

void scatter_plan_finish(struct scatter_plan *plan)
{
    free(plan->start);
    plan->start = NULL;
}

int64_t scatter_next(const struct scatter_plan *plan, struct scatter_cursor *cursor, int64_t most,
                     int64_t *targets, int64_t *sources)
{
    int64_t count = 0;
    if (++cursor->calls % 64 == 0 && poll_now()) {
        return 0;
    }
    while (count < most && cursor->s < plan->places && plan->window > 0) {
        int64_t start = plan->start[cursor->s], update_start = plan->update_start[cursor->s];
        int64_t last = cursor->w + most - count;
        last = last < plan->window ? last : plan->window;
        if (start >= 0) {
            for (int64_t w = cursor->w; w < last; w++, count++) {
                targets[count] = start + plan->offset[w];
                sources[count] = update_start + plan->update_offset[w];
            }
        } else {
            last = plan->window;
        }
        cursor->w = last;
        if (cursor->w == plan->window) {
            cursor->w = 0;
            cursor->s++;
        }
    }
    return count;
}

/* --- a set of targets, emptied at once --- */

enum { SET_SIZE = 4 * LANE_STRIP };

struct target_set {
    int64_t targets[SET_SIZE];
    uint32_t round[SET_SIZE]; /* the slot is used if it is the current round */
    uint32_t current;
};

/* False if it is there already. */
static bool set_add(struct target_set *set, int64_t target)
{
    uint64_t slot = (uint64_t)target * UINT64_C(0x9e3779b97f4a7c15) >> 40;
    for (;; slot++) {
        slot %= SET_SIZE;
        if (set->round[slot] != set->current) {
            set->round[slot] = set->current;
            set->targets[slot] = target;
            return true;
        }
        if (set->targets[slot] == target) {
            return false;
        }
    }
}

/* How many of the first contributions have different targets. */
static int64_t distinct(struct target_set *set, const int64_t *targets, int64_t count)
{
    if (++set->current == 0) {
        memset(set->round, 0, sizeof set->round);
        set->current = 1;
    }
    int64_t n = 0;
    while (n < count && set_add(set, targets[n])) {
        n++;
    }
    return n;
}

/* --- by a program --- */

struct apply {
    const struct scatter_plan *plan;
    const struct program *program;
    bool swapped;
    struct literal *const *results, *const *updates;
    int count;
};

static bool apply_strip(const struct apply *apply, struct program_frame *frame,
                        const int64_t *targets, const int64_t *sources, int64_t lanes)
{
    int first = apply->swapped ? apply->count : 0, second = apply->swapped ? 0 : apply->count;
    for (int i = 0; i < apply->count; i++) {
        enum type type = apply->results[i]->shape->type;
        lane_gather(type, literal_data(apply->results[i]), targets, program_input(frame, first + i),
                    lanes);
        lane_gather(apply->updates[i]->shape->type, literal_data(apply->updates[i]), sources,
                    program_input(frame, second + i), lanes);
    }
    if (!program_run(frame, lanes)) {
        return false;
    }
    for (int i = 0; i < apply->count; i++) {
        lane_scatter(apply->results[i]->shape->type, program_output(frame, i),
                     literal_data(apply->results[i]), targets, lanes);
    }
    return true;
}

static bool apply_program(const struct apply *apply, struct error *err)
{
    struct program_frame *frame = program_frame_create(apply->program, err);
    struct target_set *set = calloc(1, sizeof *set);
    bool ok = frame != NULL && set != NULL;
    struct scatter_cursor cursor = {0};
    int64_t targets[LANE_STRIP], sources[LANE_STRIP], pending = 0;
    while (ok) {
        pending += scatter_next(apply->plan, &cursor, LANE_STRIP - pending, targets + pending,
                                sources + pending);
        if (pending == 0) {
            break;
        }
        int64_t lanes = distinct(set, targets, pending);
        ok = apply_strip(apply, frame, targets, sources, lanes);
        pending -= lanes;
        memmove(targets, targets + lanes, (size_t)pending * sizeof *targets);
        memmove(sources, sources + lanes, (size_t)pending * sizeof *sources);
    }
    free(set);
    program_frame_destroy(frame);
    return ok || error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for a scatter");
}

/* --- overwriting --- */

static void overwrite(const struct scatter_plan *plan, struct literal *result,
                      const struct literal *updates)
{
    enum type type = result->shape->type;
    int bytes = type_bytes(type);
    char *to = literal_data(result);
    const char *from = literal_data(updates);
    if (scatter_is_rows(plan)) {
        scatter_rows(plan, NULL, result, updates);
        return;
    }
    struct scatter_cursor cursor = {0};
    int64_t targets[LANE_STRIP], sources[LANE_STRIP], count;
    while ((count = scatter_next(plan, &cursor, LANE_STRIP, targets, sources)) > 0) {
        for (int64_t i = 0; i < count; i++) {
            memcpy(to + targets[i] * bytes, from + sources[i] * bytes, (size_t)bytes);
        }
    }
}

/* --- adding integers --- */

#define ADD(type)                                                       \
    {                                                                   \
        type *to = literal_data(result);                                \
        const type *from = literal_data(updates);                       \
        for (int64_t i = 0; i < count; i++) {                           \
            to[targets[i]] = (type)(to[targets[i]] + from[sources[i]]); \
        }                                                               \
    }

/* Sums wrap, so order and grouping do not matter, nor does the sign of the type. */
static void add_integers(const struct scatter_plan *plan, struct literal *result,
                         const struct literal *updates)
{
    struct scatter_cursor cursor = {0};
    int64_t targets[LANE_STRIP], sources[LANE_STRIP], count;
    while ((count = scatter_next(plan, &cursor, LANE_STRIP, targets, sources)) > 0) {
        switch (type_bytes(result->shape->type)) {
        case 1:
            ADD(uint8_t)
            break;
        case 2:
            ADD(uint16_t)
            break;
        case 4:
            ADD(uint32_t)
            break;
        default:
            ADD(uint64_t)
            break;
        }
    }
}
#undef ADD

/* --- marks --- */

/* An element is open if it or a contribution to it was; overwriting brings the update's mark. */
static void spread_marks(const struct apply *apply)
{
    struct scatter_cursor cursor = {0};
    int64_t targets[LANE_STRIP], sources[LANE_STRIP], count;
    bool any = false;
    for (int i = 0; i < apply->count; i++) {
        any = any || marks_of(apply->updates[i]) != NULL || marks_of(apply->results[i]) != NULL;
    }
    while (any && (count = scatter_next(apply->plan, &cursor, LANE_STRIP, targets, sources)) > 0) {
        for (int64_t n = 0; n < count; n++) {
            bool open = false;
            for (int i = 0; i < apply->count; i++) {
                const uint8_t *marks = marks_of(apply->updates[i]);
                open = open || (marks != NULL && mark_get(marks, sources[n]));
            }
            for (int i = 0; i < apply->count; i++) {
                bool overwrites = program_reducer(apply->program, i) ==
                                  (apply->swapped ? REDUCER_FIRST : REDUCER_SECOND);
                uint8_t *marks = open || overwrites ? marks_make(apply->results[i]) : NULL;
                if (open) {
                    mark_set(marks, targets[n]);
                } else if (overwrites) {
                    marks[targets[n] / 8] &= (uint8_t) ~(1 << (targets[n] % 8));
                }
            }
        }
    }
}

/* --- ways --- */

/* How one array takes its contributions. */
enum way { WAY_KEEP, WAY_OVERWRITE, WAY_SUM, WAY_ADD, WAY_ROWS, WAY_PROGRAM };

static enum way choose_way(const struct scatter_plan *plan, enum reducer reducer, bool swapped,
                           enum type type, enum fidelity fidelity)
{
    struct lane_step step;
    switch (reducer) {
    case REDUCER_FIRST:
        return swapped ? WAY_OVERWRITE : WAY_KEEP;
    case REDUCER_SECOND:
        return swapped ? WAY_KEEP : WAY_OVERWRITE;
    case REDUCER_OTHER:
        return WAY_PROGRAM;
    case REDUCER_ADD:
        if (fidelity == FIDELITY_EXACT && (type_is_float(type) || type_is_complex(type))) {
            return WAY_SUM;
        }
        if (type_is_integer(type) && type_bits(type) >= 8 && !scatter_is_rows(plan)) {
            return WAY_ADD;
        }
        break;
    default:
        break;
    }
    return scatter_is_rows(plan) && lane_is_native(type) && reducer_step(reducer, type, &step)
               ? WAY_ROWS
               : WAY_PROGRAM;
}

static bool apply_alone(const struct scatter_plan *plan, enum way way, enum reducer reducer,
                        struct literal *result, const struct literal *updates, struct error *err)
{
    struct lane_step step;
    switch (way) {
    case WAY_OVERWRITE:
        overwrite(plan, result, updates);
        return true;
    case WAY_SUM:
        return scatter_sum(plan, result, updates, err);
    case WAY_ADD:
        add_integers(plan, result, updates);
        return true;
    case WAY_ROWS:
        reducer_step(reducer, result->shape->type, &step);
        scatter_rows(plan, &step, result, updates);
        return true;
    default:
        return true;
    }
}

bool scatter_apply(const struct scatter_plan *plan, const struct program *program, bool swapped,
                   enum fidelity fidelity, struct literal *const *results,
                   struct literal *const *updates, int count, struct error *err)
{
    struct apply apply = {plan, program, swapped, results, updates, count};
    spread_marks(&apply);
    bool ok = true;
    for (int pass = 0; pass < 2; pass++) {
        /* First only look: if one array needs the program, it does them all. */
        for (int i = 0; i < count && ok; i++) {
            enum reducer reducer = program_reducer(program, i);
            enum way way = choose_way(plan, reducer, swapped, results[i]->shape->type, fidelity);
            if (way == WAY_PROGRAM) {
                return apply_program(&apply, err);
            }
            ok = pass == 0 || apply_alone(plan, way, reducer, results[i], updates[i], err);
        }
    }
    return ok;
}
