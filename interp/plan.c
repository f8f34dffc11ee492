/* Plans of computations: liveness and the flags of each step. */
#include "interp/plan.h"

#include <stdlib.h>
#include <string.h>

#include "interp/dynamic.h"
#include "interp/mixed.h"
#include "interp/noise.h"

struct plans *plans_create(const struct module *module, void *memory, size_t size)
{
    struct arena arena;
    if (memory != NULL) {
        arena_init_in(&arena, memory, size);
    } else {
        arena_init(&arena);
    }
    size_t count = (size_t)module->count;
    struct plans *plans = arena_alloc(&arena, sizeof *plans);
    plans->module = module;
    plans->list = arena_array(&arena, count, sizeof *plans->list);
    plans->programs = arena_array(&arena, count, sizeof *plans->programs);
    plans->arena = arena;
    return plans;
}

static void frame_destroy(struct frame *frame)
{
    if (frame != NULL && frame->from_heap) {
        free(frame->slots);
        free(frame);
    }
}

static void plan_destroy(struct plan *plan)
{
    if (plan != NULL) {
        frame_destroy(plan->spare);
        clusters_destroy(plan->clusters);
    }
}

void plans_destroy(struct plans *plans)
{
    if (plans != NULL) {
        for (int i = 0; i < plans->module->count; i++) {
            plan_destroy(plans->list[i]);
            program_free(plans->programs[i]);
        }
        for (size_t i = 0; i < plans->loop_count; i++) {
            tape_destroy(plans->loops[i].tape);
        }
        free(plans->loops);
        struct arena arena = plans->arena; /* where plans itself is */
        arena_finish(&arena);
    }
}

void step_init(struct step *step, const struct instruction *instruction, bool with_noise)
{
    *step = (struct step){.instruction = instruction,
                          .evaluate = mixed_concerns(instruction)
                                          ? eval_mixed
                                          : eval_function_of(instruction->opcode),
                          .operand_count = instruction->operand_count,
                          .dynamic = dynamic_concerns(instruction)};
    switch (instruction->opcode) {
    case OP_PARAMETER:
        step->kind = STEP_PARAMETER;
        break;
    case OP_CONSTANT:
        step->kind = STEP_CONSTANT;
        break;
    case OP_GET_TUPLE_ELEMENT:
        step->kind = STEP_ELEMENT;
        step->element = (int)attr_int(instruction, ATTR_INDEX, 0);
        break;
    default:
        break;
    }
    if (with_noise) {
        step->noisy_result = noise_on_result(instruction);
        step->noisy_operands = noise_on_operands(instruction);
    }
}

/* The operand slots of step i, written to `slots`; in a cluster's place those of its inputs. */
static int find_operands(struct step *step, const struct clusters *clusters, int i, int *slots)
{
    const struct instruction *instruction = step->instruction;
    if (clusters != NULL && clusters->inside[i]) {
        step->kind = STEP_NOTHING;
        return 0;
    }
    if (clusters != NULL && clusters->roots[i] != NULL) {
        step->kind = STEP_CLUSTER;
        step->cluster = clusters->roots[i];
        int count = cluster_input_count(step->cluster);
        for (int k = 0; k < count; k++) {
            slots[k] = cluster_input(step->cluster, k)->id;
        }
        return count;
    }
    for (int k = 0; k < instruction->operand_count; k++) {
        slots[k] = instruction->operands[k]->id;
    }
    return instruction->operand_count;
}

/* last[i]: the id of the last step that reads slot i; −1 if none, `count` for the root. */
static void find_last_uses(const struct plan *plan, const struct computation *computation,
                           int *last, bool *only_elements)
{
    for (int i = 0; i < plan->count; i++) {
        last[i] = -1;
        only_elements[i] = true;
    }
    for (int i = 0; i < plan->count; i++) {
        const struct step *step = &plan->steps[i];
        for (int k = 0; k < step->operand_count; k++) {
            int slot = step->operands[k];
            last[slot] = i;
            only_elements[slot] &= step->kind == STEP_ELEMENT;
        }
    }
    last[computation->root->id] = computation->count;
    only_elements[computation->root->id] = false;
}

/* Marks the get-tuple-elements after which nobody needs the element in its tuple. */
static void find_moves(struct plan *plan, const bool *only_elements)
{
    bool any = false;
    for (int i = 0; i < plan->count; i++) {
        any = any || plan->steps[i].kind == STEP_ELEMENT;
    }
    if (!any) {
        return;
    }
    /* base[i]: where the elements of the tuple in slot i have their flags; flags tell the elements
     * that a later step reads. */
    size_t *base = memory_alloc((size_t)plan->count * sizeof *base);
    size_t total = 0;
    for (int i = 0; i < plan->count; i++) {
        base[i] = total;
        total += only_elements[i] ? (size_t)plan->steps[i].instruction->shape->count : 0;
    }
    bool *read_later = memory_zalloc(total);
    for (int i = plan->count - 1; i >= 0; i--) {
        struct step *step = &plan->steps[i];
        if (step->kind == STEP_ELEMENT && only_elements[step->operands[0]]) {
            bool *flag = &read_later[base[step->operands[0]] + (size_t)step->element];
            step->moves = !*flag;
            *flag = true;
        }
    }
    free(base);
    free(read_later);
}

/* Fills in what dies at step i: each operand that the step may take, and the slots to free. uses
 * is a scratch array of zeros. A conditional reads only one of its branch operands, so that any of
 * several uses of a value may take it (eval_conditional keeps the books); other ops read all, and
 * may take only what stands there once. */
static void find_deaths(struct step *step, int i, const int *last, bool *dying, int *releases,
                        int *uses)
{
    for (int k = 0; k < step->operand_count; k++) {
        uses[step->operands[k]]++;
    }
    bool branches = step->instruction->opcode == OP_CONDITIONAL;
    for (int k = 0; k < step->operand_count; k++) {
        int slot = step->operands[k];
        dying[k] = last[slot] == i && (uses[slot] == 1 || (branches && slot != step->operands[0]));
    }
    for (int k = 0; k < step->operand_count; k++) {
        int slot = step->operands[k];
        if (last[slot] == i && uses[slot] > 0) {
            releases[step->release_count++] = k;
        }
        uses[slot] = 0;
    }
}

bool plan_has_effects(const struct instruction *instruction)
{
    switch (instruction->opcode) {
    case OP_ALL_GATHER:
    case OP_ALL_GATHER_START:
    case OP_ALL_REDUCE:
    case OP_ALL_REDUCE_START:
    case OP_ALL_TO_ALL:
    case OP_ASYNC_START:
    case OP_CALL:
    case OP_COLLECTIVE_BROADCAST:
    case OP_COLLECTIVE_PERMUTE:
    case OP_COLLECTIVE_PERMUTE_START:
    case OP_CONDITIONAL:
    case OP_INFEED:
    case OP_OUTFEED:
    case OP_PARAMETER:
    case OP_RAGGED_ALL_TO_ALL:
    case OP_RECV:
    case OP_RECV_DONE:
    case OP_REDUCE_SCATTER:
    case OP_RNG:
    case OP_RNG_GET_AND_UPDATE_STATE:
    case OP_SEND:
    case OP_SEND_DONE:
    case OP_WHILE:
        return true;
    case OP_CUSTOM_CALL:
        return attr_bool(instruction, ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, false);
    default:
        return false;
    }
}

void plan_find_live(const struct computation *computation, bool *live)
{
    live[computation->root->id] = true;
    for (int i = computation->count - 1; i >= 0; i--) {
        const struct instruction *instruction = computation->instructions[i];
        live[i] |= plan_has_effects(instruction);
        for (int k = 0; live[i] && k < instruction->operand_count; k++) {
            live[instruction->operands[k]->id] = true;
        }
    }
}

/* The elements from which on clusters are made: any for what may run often; in the entry, which
 * runs once, so many that they take longer than the making. */
static int64_t least_elements(const struct computation *computation)
{
    enum { ENTRY_LEAST = 2 * LANE_STRIP };
    return computation == computation->module->entry ? ENTRY_LEAST : 0;
}

/* Every value is looked at, or may be replaced. */
static bool is_watched(const struct interp_options *options)
{
    return options->on_instruction != NULL || options->replace != NULL;
}

static struct clusters *find_clusters(const struct computation *computation,
                                      const struct interp_options *options)
{
    if (is_watched(options)) {
        return NULL;
    }
    return clusters_find(computation, least_elements(computation),
                         options->noise == NULL      ? NULL
                         : options->noise_everywhere ? noise_never_near
                                                     : noise_never_on_result);
}

static struct plan *plan_create(struct plans *plans, const struct computation *computation,
                                const struct interp_options *options)
{
    struct arena *arena = &plans->arena;
    struct plan *plan = arena_alloc(arena, sizeof *plan);
    int count = computation->count, total = 0;
    for (int i = 0; i < count; i++) {
        total += computation->instructions[i]->operand_count;
    }
    plan->count = count;
    plan->clusters = find_clusters(computation, options);
    plan->steps = arena_array(arena, (size_t)count, sizeof *plan->steps);
    plan->operands = arena_array(arena, (size_t)total, sizeof *plan->operands);
    plan->releases = arena_array(arena, (size_t)total, sizeof *plan->releases);
    plan->dying = arena_array(arena, (size_t)total, sizeof *plan->dying);
    int *last = memory_zalloc((size_t)count * (2 * sizeof *last + 2 * sizeof(bool)));
    int *uses = last + count;
    bool *only_elements = (bool *)(uses + count), *live = only_elements + count;
    plan_find_live(computation, live);
    int at = 0;
    for (int i = 0; i < count; i++) {
        struct step *step = &plan->steps[i];
        step_init(step, computation->instructions[i], options->noise != NULL);
        step->operands = plan->operands + at;
        step->dying = plan->dying + at;
        step->releases = plan->releases + at;
        /* Who watches or moves sees every instruction; else what nobody needs is left out. */
        if (!is_watched(options) && options->noise == NULL && !live[i]) {
            step->kind = STEP_NOTHING;
            step->operand_count = 0;
            continue;
        }
        step->operand_count = find_operands(step, plan->clusters, i, plan->operands + at);
        if (step->operand_count > plan->most_operands) {
            plan->most_operands = step->operand_count;
        }
        at += step->operand_count;
    }
    find_last_uses(plan, computation, last, only_elements);
    at = 0;
    for (int i = 0; i < count; i++) {
        struct step *step = &plan->steps[i];
        step->unused = last[i] < 0;
        find_deaths(step, i, last, plan->dying + at, plan->releases + at, uses);
        at += step->operand_count;
    }
    find_moves(plan, only_elements);
    free(last);
    plan->first = (struct frame){
        .slots = arena_array(arena, (size_t)count + (size_t)plan->most_operands, sizeof(void *))};
    plan->first.operands = plan->first.slots + count;
    plan->spare = &plan->first;
    return plan;
}

struct plan *plans_get(struct plans *plans, const struct computation *computation,
                       const struct interp_options *options)
{
    struct plan **plan = &plans->list[computation->id];
    if (*plan == NULL) {
        *plan = plan_create(plans, computation, options);
    }
    return *plan;
}

/* Nothing that noise could move is in the computation, nor in those that it calls. */
static bool is_free_of_noise(const struct computation *computation)
{
    bool is_free = true;
    for (int i = 0; i < computation->count && is_free; i++) {
        const struct instruction *instruction = computation->instructions[i];
        is_free = noise_never_near(instruction);
        for (int c = 0; c < instruction->called_count && is_free; c++) {
            is_free = is_free_of_noise(instruction->called[c]);
        }
    }
    return is_free;
}

static struct tape *make_tape(const struct instruction *instruction,
                              const struct interp_options *options)
{
    bool alone = !is_watched(options);
    for (int c = 0; c < instruction->called_count && options->noise != NULL && alone; c++) {
        alone = is_free_of_noise(instruction->called[c]);
    }
    return alone ? tape_create(instruction) : NULL;
}

struct tape *plans_tape(struct plans *plans, const struct instruction *instruction,
                        const struct interp_options *options)
{
    for (size_t i = 0; i < plans->loop_count; i++) {
        if (plans->loops[i].instruction == instruction) {
            return plans->loops[i].tape;
        }
    }
    plans->loops =
        grow(plans->loops, plans->loop_count, &plans->loop_capacity, sizeof *plans->loops);
    struct plan_loop *loop = &plans->loops[plans->loop_count++];
    *loop = (struct plan_loop){.instruction = instruction, .tape = make_tape(instruction, options)};
    return loop->tape;
}

struct frame *frame_take(struct plan *plan)
{
    struct frame *frame = plan->spare;
    if (frame != NULL) {
        plan->spare = NULL;
        return frame;
    }
    frame = memory_alloc(sizeof *frame);
    frame->slots =
        memory_zalloc(((size_t)plan->count + (size_t)plan->most_operands) * sizeof *frame->slots);
    frame->operands = frame->slots + plan->count;
    frame->from_heap = true;
    return frame;
}

void frame_give(struct plan *plan, struct frame *frame)
{
    if (plan->spare == NULL) {
        plan->spare = frame;
    } else {
        frame_destroy(frame);
    }
}
