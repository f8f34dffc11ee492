/* Culprits in loops. The bodies before and after the pass are evaluated alone, each on the states
 * that the loop before the pass went through, so that what an iteration gets wrong does not show
 * in later ones. Where no body parts, the conditions are tried. */
#include <math.h>
#include <stdlib.h>

#include "compare/golden_values.h"
#include "compare/passes_internal.h"
#include "compare/tolerance.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/interp.h"

enum { ITERATIONS_MOST = 256, CONDITION = 1 };

/* The same computation of a loop in both modules, as modules of their own. */
struct halves {
    struct specimen old, now;
    struct pass_frame frame;
    struct pass_form old_form, now_form;
};

static void halves_finish(struct halves *halves)
{
    pass_form_finish(&halves->old_form);
    pass_form_finish(&halves->now_form);
    pass_frame_finish(&halves->frame);
    specimen_finish(&halves->old);
    specimen_finish(&halves->now);
}

static bool halves_make(const struct specimen *old, const struct computation *old_part,
                        const struct specimen *now, const struct computation *now_part,
                        struct literal *const *state, struct halves *halves)
{
    struct error ignored = {0};
    *halves = (struct halves){0};
    bool good = specimen_body(old, old_part, state, &halves->old, &ignored) &&
                specimen_body(now, now_part, state, &halves->now, &ignored);
    if (good) {
        pass_frame_make(halves->old.module, &halves->frame);
        good =
            pass_form_make(halves->old.module, NULL, &halves->frame, &halves->old_form, &ignored) &&
            pass_form_make(halves->now.module, halves->old.module, &halves->frame,
                           &halves->now_form, &ignored) &&
            halves->now_form.is_plain;
    }
    if (!good) {
        halves_finish(halves);
    }
    return good;
}

/* The arrays of a state, borrowed; the caller frees the list. */
static struct literal **arrays_of(const struct literal *state)
{
    int count = shape_leaves(state->shape);
    struct literal **arrays = memory_zalloc(((size_t)count + 1) * sizeof *arrays);
    for (int i = 0; i < count; i++) {
        arrays[i] = literal_leaf(state, i);
    }
    return arrays;
}

/* An iteration is evaluated to its end, and nothing of it is kept. */
static struct interp_options interp_alone(const struct pass_culprits_options *options)
{
    struct interp_options interp = *options->interp;
    interp.cancelled = NULL;
    interp.cache = NULL;
    return interp;
}

static struct literal *evaluate(const struct pass_form *form, struct literal *const *arrays,
                                const struct pass_culprits_options *options)
{
    struct interp_options interp = interp_alone(options);
    return pass_form_evaluate(form, arrays, &interp, NULL, NULL);
}

/* How far the two part on a state; 0 if they do not, or cannot be evaluated. */
static double parts_by(const struct halves *halves, const struct literal *state,
                       const struct pass_culprits_options *options)
{
    struct literal **arrays = arrays_of(state);
    struct literal *old = evaluate(&halves->old_form, arrays, options);
    struct literal *now = evaluate(&halves->now_form, arrays, options);
    double moved = old != NULL && now != NULL ? pass_deviation(old, now) : 0;
    literal_release(old);
    literal_release(now);
    free(arrays);
    return moved;
}

/* The first iteration in which the two part, by how much; −1: in none. Where the pass may round,
 * what is small beside the largest is passed over. */
static int64_t first_that_parts(const struct halves *halves, const struct loop_states *states,
                                const struct pass_culprits_options *options, double *by)
{
    double *moved = memory_zalloc(((size_t)states->count + 1) * sizeof *moved);
    double largest = 0;
    int64_t first = -1;
    for (int64_t i = 0; i < states->count && !(options->exact && largest > 0); i++) {
        moved[i] = parts_by(halves, states->lists[0][i], options);
        largest = fmax(largest, moved[i]);
    }
    for (int64_t i = 0; i < states->count && first < 0 && largest > 0; i++) {
        first = moved[i] >= (isinf(largest) ? largest : largest / 16) ? i : -1;
        *by = moved[i];
    }
    free(moved);
    return first;
}

static void take_finding(struct pass_finding *found, const struct instruction *loop,
                         int64_t iteration, bool condition, struct pass_finding *finding)
{
    for (int i = 0; i < finding->culprit_count; i++) {
        free(finding->culprits[i]);
    }
    free(finding->culprits);
    free(finding->within);
    struct text within;
    text_init(&within);
    text_printf(&within, "%s of %s, iteration %lld", condition ? "condition" : "body", loop->name,
                (long long)iteration);
    if (found->within != NULL) {
        text_printf(&within, ", %s", found->within);
    }
    finding->culprits = found->culprits;
    finding->culprit_count = found->culprit_count;
    finding->within = text_take(&within);
    text_finish(&within);
    free(found->within);
}

/* Finds the culprits in one iteration. */
static bool search_iteration(struct halves *halves, const struct literal *state, double by,
                             const struct pass_culprits_options *options,
                             struct pass_finding *found)
{
    struct literal **arrays = arrays_of(state);
    struct literal *old = evaluate(&halves->old_form, arrays, options);
    if (old != NULL) {
        int count = shape_leaves(old->shape);
        struct bound *bounds = memory_zalloc(((size_t)count + 1) * sizeof *bounds);
        for (int i = 0; i < count && !options->exact && isfinite(by); i++) {
            const struct literal *leaf = literal_leaf(old, i);
            bounds[i].abs = shape_is_array(leaf->shape) ? literal_scale(leaf) * by / 16 : 0;
        }
        struct interp_options interp = interp_alone(options);
        struct pass_culprits_options inner = *options;
        inner.arrays = arrays;
        inner.old_results = old;
        inner.bounds = bounds;
        inner.interp = &interp;
        pass_culprits_find(&halves->old_form, &halves->now_form, halves->now.module, &inner, found);
        bounds_finish(bounds, count);
    }
    literal_release(old);
    free(arrays);
    return found->restores && found->culprit_count > 0;
}

/* True if culprits were found in this computation of the loop. */
static bool search_part(const struct specimen *old, const struct instruction *old_loop,
                        const struct specimen *now, const struct instruction *now_loop, int part,
                        const struct loop_states *states,
                        const struct pass_culprits_options *options, struct pass_finding *finding)
{
    struct halves halves;
    if (!halves_make(old, old_loop->called[part], now, now_loop->called[part], &states->lists[0][0],
                     &halves)) {
        return false;
    }
    struct pass_finding found = {.step = -1};
    double by = 0;
    int64_t iteration = first_that_parts(&halves, states, options, &by);
    bool good = iteration >= 0 &&
                search_iteration(&halves, states->lists[0][iteration], by, options, &found);
    if (good) {
        take_finding(&found, now_loop, iteration, part == CONDITION, finding);
    } else {
        for (int i = 0; i < found.culprit_count; i++) {
            free(found.culprits[i]);
        }
        free(found.culprits);
        free(found.within);
    }
    halves_finish(&halves);
    return good;
}

void pass_culprits_enter(const struct pass_form *old, const struct instruction *old_loop,
                         const struct pass_form *now, const struct instruction *now_loop,
                         const struct pass_culprits_options *options, struct pass_finding *finding)
{
    if (old->lowered != NULL || now->lowered != NULL ||
        !shape_compatible(old_loop->shape, now_loop->shape)) {
        return;
    }
    struct specimen before = {.module = (struct module *)(uintptr_t)old->module};
    struct specimen after = {.module = (struct module *)(uintptr_t)now->module};
    before.arguments = pass_form_arguments(old, options->arrays, &before.argument_count, NULL);
    if (before.arguments == NULL) {
        return;
    }
    int64_t bytes = shape_bytes(old_loop->shape) + 1;
    int64_t most = 1 + (int64_t)options->bytes / bytes;
    struct loop_states states;
    loop_states_find(&before, old_loop, most < ITERATIONS_MOST ? most : ITERATIONS_MOST, &states);
    if (states.count > 0 &&
        !search_part(&before, old_loop, &after, now_loop, 0, &states, options, finding)) {
        search_part(&before, old_loop, &after, now_loop, CONDITION, &states, options, finding);
    }
    loop_states_finish(&states);
    pass_arguments_release(before.arguments, before.argument_count);
}
