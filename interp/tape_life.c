/* Lives of values on a tape: what need not be made again in a loop, and what dies where. */
#include <stdlib.h>
#include <string.h>

#include "interp/tape_internal.h"

/* --- once --- */

/* All that is kept, at most: of operations that cost little more than moving their data, and of the
 * others. */
#define KEEP_CHEAP ((int64_t)1 << 30)
#define KEEP_EXPENSIVE ((int64_t)4 << 30)

struct once {
    struct tape *tape;
    bool *needed;             /* by slot: by something that runs each time, or elsewhere */
    int64_t cheap, expensive; /* bytes kept so far */
};

/* Costs more than moving its data? */
static bool is_expensive(const struct tape_step *step)
{
    switch (step->instruction->opcode) {
    case OP_BATCH_NORM_GRAD:
    case OP_BATCH_NORM_INFERENCE:
    case OP_BATCH_NORM_TRAINING:
    case OP_CHOLESKY:
    case OP_CONDITIONAL:
    case OP_CONVOLUTION:
    case OP_CUSTOM_CALL:
    case OP_DOT:
    case OP_FFT:
    case OP_MAP:
    case OP_RAGGED_DOT:
    case OP_REDUCE:
    case OP_REDUCE_WINDOW:
    case OP_RNG_BIT_GENERATOR:
    case OP_SCALED_DOT:
    case OP_SCATTER:
    case OP_SELECT_AND_SCATTER:
    case OP_SORT:
    case OP_TOPK:
    case OP_TRIANGULAR_SOLVE:
    case OP_WHILE:
        return true;
    default:
        return false;
    }
}

static struct tape_loop *loop_at(struct tape_loop *innermost, int depth)
{
    while (innermost->depth > depth) {
        innermost = innermost->outer;
    }
    return innermost;
}

static int64_t result_bytes(const struct tape *tape, const struct tape_step *step)
{
    int64_t bytes = 0;
    for (int r = 0; r < step->result_count; r++) {
        const struct tape_value *value = &tape->values[step->results[r]];
        bytes += value->fixed ? 0 : 1 + shape_bytes(value->shape); /* a token has no bytes */
    }
    return bytes;
}

/* Decides about one step of a region in which `loop` is the innermost loop. */
static void decide(struct once *once, struct tape_step *step, struct tape_loop *loop)
{
    if (loop == NULL || step->level >= loop->depth) {
        return;
    }
    int64_t bytes = result_bytes(once->tape, step);
    bool must_stay = false;
    for (int r = 0; r < step->result_count; r++) {
        int slot = step->results[r];
        must_stay |= once->needed[slot] && !once->tape->values[slot].fixed;
    }
    if (must_stay) {
        bool expensive = is_expensive(step);
        int64_t *kept = expensive ? &once->expensive : &once->cheap;
        if (bytes > (expensive ? KEEP_EXPENSIVE : KEEP_CHEAP) - *kept) {
            return;
        }
        *kept += bytes;
        step->kept = true;
    }
    step->once = loop_at(loop, step->level + 1);
}

/* From the last step to the first, so that the readers of a value are decided before its maker.
 * Nobody needs the operands of a step again that is done once, where both stand in one region and
 * are done equally often. */
static void find_once(struct once *once, struct tape_region *region, struct tape_loop *loop)
{
    const struct tape_value *values = once->tape->values;
    for (int r = 0; r < region->result_count; r++) {
        once->needed[region->results[r]] = true;
    }
    for (size_t i = region->count; i-- > 0;) {
        struct tape_step *step = &region->steps[i];
        if (step->kind == TAPE_WHILE) {
            find_once(once, step->loop->body, step->loop);
            find_once(once, step->loop->condition, step->loop);
        } else if (step->kind == TAPE_CONDITIONAL) {
            for (int b = step->branches->count - 1; b >= 0; b--) {
                find_once(once, step->branches->regions[b], loop);
            }
        }
        decide(once, step, loop);
        for (int k = 0; k < step->operand_count; k++) {
            int slot = step->operands[k];
            once->needed[slot] |= step->once == NULL || values[slot].home != region ||
                                  values[slot].level != step->level;
        }
    }
}

void tape_find_once(struct tape *tape)
{
    struct once once = {.tape = tape,
                        .needed = memory_zalloc((size_t)tape->slot_count * sizeof(bool))};
    find_once(&once, tape->root, NULL);
    free(once.needed);
}

/* --- deaths --- */

struct deaths {
    struct tape *tape;
    int *owner; /* by slot: the region (id) in which the value may end */
    int *seen;  /* by slot: the region in which a later reader was met */
    int *uses;  /* by slot: scratch, zeros */
};

static void find_deaths(struct deaths *deaths, struct tape_region *region, bool owns_results);

/* What each step makes ends in the region, unless it is kept. */
static void own_results(struct deaths *deaths, const struct tape_region *region)
{
    for (size_t i = 0; i < region->count; i++) {
        const struct tape_step *step = &region->steps[i];
        for (int r = 0; r < step->result_count; r++) {
            deaths->owner[step->results[r]] = step->kept ? 0 : region->id;
        }
    }
}

static bool dies(const struct deaths *deaths, const struct tape_region *region, int slot)
{
    const struct tape_value *value = &deaths->tape->values[slot];
    return !value->fixed && value->constant == NULL && deaths->owner[slot] == region->id &&
           deaths->seen[slot] != region->id;
}

static bool passes_through(const struct tape_step *step, int slot)
{
    for (int k = 0; k < step->loop->count; k++) {
        if (step->loop->homes[k] < 0 && step->operands[k] == slot) {
            return true;
        }
    }
    return false;
}

/* Operands that end at a loop before it begins come first. The first `results` releases are results
 * that nobody reads. */
static void sort_releases(struct tape_step *step, int results)
{
    for (int r = results; r < step->release_count; r++) {
        if (!passes_through(step, step->releases[r])) {
            int slot = step->releases[r];
            step->releases[r] = step->releases[step->loop->early];
            step->releases[step->loop->early++] = slot;
        }
    }
}

static void find_step_deaths(struct deaths *deaths, const struct tape_region *region,
                             struct tape_step *step)
{
    int *uses = deaths->uses;
    step->releases =
        arena_array(&deaths->tape->arena, (size_t)(step->operand_count + step->result_count) + 1,
                    sizeof *step->releases);
    for (int r = 0; r < step->result_count; r++) {
        if (dies(deaths, region, step->results[r])) { /* nobody reads it */
            step->releases[step->release_count++] = step->results[r];
        }
    }
    const int unread = step->release_count;
    for (int k = 0; k < step->operand_count; k++) {
        uses[step->operands[k]]++;
    }
    for (int k = 0; k < step->operand_count; k++) {
        int slot = step->operands[k];
        if (uses[slot] == 0) {
            continue;
        }
        if (dies(deaths, region, slot)) {
            step->dying[k] = uses[slot] == 1 && step->kind != TAPE_CONDITIONAL &&
                             (step->kind != TAPE_WHILE || !passes_through(step, slot));
            step->releases[step->release_count++] = slot;
        }
        uses[slot] = 0;
    }
    if (step->kind == TAPE_WHILE) {
        sort_releases(step, unread);
    }
}

/* What a conditional reads last, each of its branches may end. */
static void enter_branches(struct deaths *deaths, const struct tape_step *step)
{
    for (int b = 0; b < step->branches->count; b++) {
        struct tape_region *branch = step->branches->regions[b];
        for (int r = 0; r < step->release_count; r++) {
            deaths->owner[step->releases[r]] = branch->id;
        }
        find_deaths(deaths, branch, true);
    }
}

static void enter_loop(struct deaths *deaths, const struct tape_step *step)
{
    struct tape_loop *loop = step->loop;
    find_deaths(deaths, loop->condition, false);
    for (int k = 0; k < loop->count; k++) {
        if (loop->homes[k] >= 0) {
            deaths->owner[loop->homes[k]] = loop->body->id;
        }
    }
    find_deaths(deaths, loop->body, true);
}

static void find_deaths(struct deaths *deaths, struct tape_region *region, bool owns_results)
{
    own_results(deaths, region);
    for (int r = 0; r < region->result_count; r++) {
        deaths->uses[region->results[r]]++;
    }
    for (int r = 0; r < region->result_count; r++) {
        int slot = region->results[r];
        region->movable[r] = owns_results && dies(deaths, region, slot) && deaths->uses[slot] == 1;
    }
    for (int r = 0; r < region->result_count; r++) {
        deaths->uses[region->results[r]] = 0;
        deaths->seen[region->results[r]] = region->id;
    }
    for (size_t i = region->count; i-- > 0;) {
        struct tape_step *step = &region->steps[i];
        find_step_deaths(deaths, region, step);
        for (int k = 0; k < step->operand_count; k++) {
            deaths->seen[step->operands[k]] = region->id;
        }
    }
    for (size_t i = 0; i < region->count; i++) {
        const struct tape_step *step = &region->steps[i];
        if (step->kind == TAPE_WHILE) {
            enter_loop(deaths, step);
        } else if (step->kind == TAPE_CONDITIONAL) {
            enter_branches(deaths, step);
        }
    }
}

/* --- the ends of loops --- */

/* Gives each loop the list of values that may be left when it ends: those made in it, but those
 * that are kept for a loop around it. */
static void list_kept(struct tape *tape)
{
    struct tape_loop **ends = memory_zalloc(((size_t)tape->slot_count + 1) * sizeof *ends);
    for (int i = 0; i < tape->slot_count; i++) {
        bool held = !tape->values[i].fixed && tape->values[i].constant == NULL;
        ends[i] = held ? tape->values[i].loop : NULL;
    }
    for (struct tape_region *region = tape->regions; region != NULL; region = region->next) {
        for (size_t i = 0; i < region->count; i++) {
            const struct tape_step *step = &region->steps[i];
            for (int r = 0; r < step->result_count; r++) {
                if (step->once != NULL && ends[step->results[r]] != NULL) {
                    ends[step->results[r]] = step->once;
                }
            }
        }
    }
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < tape->slot_count; i++) {
            struct tape_loop *loop = ends[i];
            if (loop != NULL && pass == 0) {
                loop->kept_count++;
            } else if (loop != NULL) {
                if (loop->kept == NULL) {
                    loop->kept = arena_array(&tape->arena, (size_t)loop->kept_count, sizeof(int));
                    loop->kept_count = 0;
                }
                loop->kept[loop->kept_count++] = i;
            }
        }
    }
    free(ends);
}

void tape_find_deaths(struct tape *tape)
{
    size_t bytes = ((size_t)tape->slot_count + 1) * sizeof(int);
    struct deaths deaths = {.tape = tape,
                            .owner = memory_zalloc(bytes),
                            .seen = memory_zalloc(bytes),
                            .uses = memory_zalloc(bytes)};
    for (int k = 0; k < tape->leaves; k++) {
        deaths.owner[tape->inputs[k]] = tape->root->id;
    }
    find_deaths(&deaths, tape->root, true);
    free(deaths.owner);
    free(deaths.seen);
    free(deaths.uses);
    list_kept(tape);
}
