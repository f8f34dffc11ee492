/* Running tapes. */
#include <stdlib.h>
#include <string.h>

#include "hlo/literal.h"
#include "interp/span.h"
#include "interp/tape_internal.h"

static bool run_ops(const struct tape_run *run, const struct tape_op *ops, size_t count);

/* --- small arithmetic and data movement --- */

static bool any_marked(const struct tape *tape, const struct tape_step *step)
{
    uint8_t marked = 0;
    for (int k = 0; k < step->operand_count; k++) {
        marked |= tape->slots[step->operands[k]].marked;
    }
    return marked != 0;
}

/* Where the first result goes, free of marks. */
static char *target(struct tape *tape, const struct tape_step *step)
{
    int slot = step->results[0];
    if (tape->slots[slot].marked) {
        tape_clear_marks(tape, slot);
    }
    return tape->slots[slot].data;
}

static void run_lanes(struct tape *tape, const struct tape_step *step)
{
    double filled[LANE_MAX_OPERANDS][TAPE_SMALL];
    const void *in[LANE_MAX_OPERANDS];
    for (int k = 0; k < step->operand_count; k++) {
        in[k] = tape->slots[step->operands[k]].data;
        if (step->scalar[k]) {
            lane_fill(step->lane.operands[k], in[k], filled[k], step->count);
            in[k] = filled[k];
        }
    }
    void *out = target(tape, step);
    step->lane.function(&step->lane, out, in, step->count);
    if (step->lane.round) {
        lane_round(step->lane.result, out, step->count);
    }
}

/* Where floats are doubles while they are computed with. False at a signalling NaN. */
static bool run_narrow(struct tape *tape, const struct tape_step *step)
{
    double loaded[LANE_MAX_OPERANDS][TAPE_SMALL], result[TAPE_SMALL];
    const void *in[LANE_MAX_OPERANDS];
    const enum type type = step->lane.result;
    for (int k = 0; k < step->operand_count; k++) {
        const enum type operand = step->lane.operands[k];
        const bool native = lane_is_native(operand);
        in[k] = tape->slots[step->operands[k]].data;
        if (!native && cluster_has_signalling(operand, in[k], step->scalar[k] ? 1 : step->count)) {
            return false;
        }
        if (step->scalar[k]) {
            lane_fill(operand, in[k], loaded[k], step->count);
        } else if (!native) {
            lane_load(operand, in[k], loaded[k], step->count);
        }
        in[k] = step->scalar[k] || !native ? loaded[k] : in[k];
    }
    char *out = target(tape, step);
    void *strip = lane_is_native(type) ? out : (void *)result;
    lane_run(&step->lane, strip, in, step->count);
    if (strip != out) {
        lane_store(type, strip, out, step->count);
    }
    return true;
}

struct sixteen_bytes {
    uint64_t halves[2];
};

#define SPREAD(type)                                 \
    {                                                \
        const type *source = (const type *)from;     \
        type *result = (type *)to;                   \
        for (int64_t i = 0; i < piece->count; i++) { \
            result[i] = source[i * piece->stride];   \
        }                                            \
        break;                                       \
    }

static void run_moves(struct tape *tape, const struct tape_step *step)
{
    const struct tape_moves *moves = &step->moves;
    char *out = target(tape, step);
    for (int p = 0; p < moves->count; p++) {
        const struct tape_piece *piece = &moves->pieces[p];
        const char *from = tape->slots[step->operands[piece->operand]].data;
        char *to = out + piece->to * moves->bytes;
        from += piece->from * moves->bytes;
        if (piece->stride == 1) {
            memcpy(to, from, (size_t)(piece->count * moves->bytes));
            continue;
        }
        switch (moves->bytes) {
        case 1:
            SPREAD(uint8_t)
        case 2:
            SPREAD(uint16_t)
        case 4:
            SPREAD(uint32_t)
        case 8:
            SPREAD(uint64_t)
        default:
            SPREAD(struct sixteen_bytes)
        }
    }
}
#undef SPREAD

/* --- windows at run-time places --- */

static int64_t read_index(enum type type, const void *data, int64_t at)
{
    switch (type) {
    case TYPE_S32:
        return ((const int32_t *)data)[at];
    case TYPE_S64:
    case TYPE_U64:
        return ((const int64_t *)data)[at];
    case TYPE_U32:
        return ((const uint32_t *)data)[at];
    case TYPE_S16:
        return ((const int16_t *)data)[at];
    case TYPE_U16:
        return ((const uint16_t *)data)[at];
    default:
        return type_kind(type) == KIND_UNSIGNED ? ((const uint8_t *)data)[at]
                                                : ((const int8_t *)data)[at];
    }
}

/* The element of the array at which the window begins. Starts are clamped so that the window lies
 * inside; unsigned ones beyond int64 are large. Source: HLO operation semantics, DynamicSlice. */
static int64_t window_place(const struct tape *tape, const struct tape_step *step)
{
    const struct tape_window *window = &step->window;
    const bool is_unsigned = window->rank > 0 && type_kind(window->index_type) == KIND_UNSIGNED;
    int64_t place = 0;
    for (int d = 0; d < window->rank; d++) {
        int slot = step->operands[window->array ? window->first : window->first + d];
        int64_t start =
            read_index(window->index_type, tape->slots[slot].data, window->array ? d : 0);
        if (start < 0) {
            start = is_unsigned ? window->most[d] : 0;
        }
        start = start < window->most[d] ? start : window->most[d];
        place += start * window->strides[d];
    }
    return place;
}

/* Copies between the window of the array and the dense part, run by run. */
static void copy_window(const struct tape_window *window, char *array, char *part, bool to_array)
{
    const size_t bytes = (size_t)(window->run * window->bytes);
    int64_t index[SHAPE_MAX_RANK] = {0}, at = 0, runs = 1;
    for (int d = 0; d < window->outer; d++) {
        runs *= window->sizes[d];
    }
    for (int64_t r = 0; r < runs && bytes > 0; r++) {
        char *place = array + at * window->bytes, *dense = part + (size_t)r * bytes;
        memcpy(to_array ? place : dense, to_array ? dense : place, bytes);
        for (int d = window->outer - 1; d >= 0; d--) {
            at += window->strides[d];
            if (++index[d] < window->sizes[d]) {
                break;
            }
            at -= index[d] * window->strides[d];
            index[d] = 0;
        }
    }
}

static void run_slice(struct tape *tape, const struct tape_step *step)
{
    const struct tape_window *window = &step->window;
    char *array = tape->slots[step->operands[0]].data;
    array += window_place(tape, step) * window->bytes;
    copy_window(window, array, target(tape, step), false);
}

static bool run_update(const struct tape_run *run, const struct tape_step *step)
{
    struct tape *tape = run->tape;
    const struct tape_window *window = &step->window;
    int base = step->operands[0], result = step->results[0];
    int64_t place = window_place(tape, step) * window->bytes;
    if (tape->values[result].fixed) {
        tape_copy(tape, result, base);
    } else {
        struct literal *value = tape_value(run, base, step->instruction->shape, step->dying[0]);
        value = literal_own_take(value, run->err);
        if (value == NULL) {
            return false;
        }
        tape_store(run, result, value);
    }
    copy_window(window, (char *)tape->slots[result].data + place,
                tape->slots[step->operands[1]].data, true);
    return true;
}

/* --- loops --- */

static void begin_state(const struct tape_run *run, const struct tape_step *step)
{
    struct tape *tape = run->tape;
    const struct tape_loop *loop = step->loop;
    for (int k = 0; k < loop->count; k++) {
        int home = loop->homes[k], slot = step->operands[k];
        if (home < 0) {
            continue;
        }
        if (tape->values[home].fixed) {
            tape_copy(tape, home, slot);
        } else {
            tape_store(run, home, tape_value(run, slot, tape->values[home].shape, step->dying[k]));
        }
    }
    for (int r = 0; r < loop->early; r++) {
        tape_release(tape, step->releases[r]);
    }
}

/* The body's results become the state. Values that are another element's old ones are put aside
 * first. */
static void carry_state(const struct tape_run *run, const struct tape_loop *loop)
{
    struct tape *tape = run->tape;
    const struct tape_region *body = loop->body;
    char *stage = loop->stage;
    const size_t stage_bytes = (size_t)TAPE_SMALL * LANE_MAX_BYTES;
    for (int k = 0; k < loop->count; k++) {
        int home = loop->homes[k], from = body->results[k];
        if (home < 0 || from == home) {
            continue;
        }
        if (!tape->values[home].fixed) {
            loop->carried[k] = tape_value(run, from, tape->values[home].shape, body->movable[k]);
        } else if (loop->staged[k] && tape->slots[from].marked) {
            loop->carried[k] = tape_value(run, from, tape->values[home].shape, false);
        } else if (loop->staged[k]) {
            loop->carried[k] = NULL;
            memcpy(stage + (size_t)k * stage_bytes, tape->slots[from].data,
                   tape->slots[home].literal->buffer->size);
        }
    }
    for (int k = 0; k < loop->count; k++) {
        int home = loop->homes[k], from = body->results[k];
        if (home < 0 || from == home) {
            continue;
        }
        if (!tape->values[home].fixed || (loop->staged[k] && loop->carried[k] != NULL)) {
            tape_store(run, home, loop->carried[k]);
        } else if (loop->staged[k]) {
            if (tape->slots[home].marked) {
                tape_clear_marks(tape, home);
            }
            memcpy(tape->slots[home].data, stage + (size_t)k * stage_bytes,
                   tape->slots[home].literal->buffer->size);
        } else {
            tape_copy(tape, home, from);
        }
    }
}

/* How many iterations go by between two looks at the clock. */
enum { CANCEL_INTERVAL = 64 };

static bool may_iterate(const struct tape_run *run, int64_t i)
{
    return loop_goes_on(&run->evaluation->options, i, run->err) &&
           (i % CANCEL_INTERVAL != CANCEL_INTERVAL - 1 || !tape_cancelled(run));
}

static bool run_iteration(const struct tape_run *run, const struct tape_region *region, int64_t i)
{
    return i == 0 ? run_ops(run, region->ops, region->count)
                  : run_ops(run, region->again, region->again_count);
}

static bool iterate(const struct tape_run *run, const struct tape_step *step)
{
    struct tape *tape = run->tape;
    struct tape_loop *loop = step->loop;
    loop->epoch = ++tape->epoch;
    for (int64_t i = 0;; i++) {
        run->evaluation->iteration = i;
        if (!run_iteration(run, loop->condition, i)) {
            return false;
        }
        if (*(const uint8_t *)tape->slots[loop->condition->results[0]].data == 0) {
            return true;
        }
        if (!may_iterate(run, i) || !run_iteration(run, loop->body, i)) {
            return false;
        }
        carry_state(run, loop);
    }
}

static bool run_while(const struct tape_run *run, const struct tape_step *step)
{
    const struct tape_loop *loop = step->loop;
    int64_t outer = run->evaluation->iteration;
    begin_state(run, step);
    bool ok = iterate(run, step);
    run->evaluation->iteration = outer;
    for (int i = 0; i < loop->kept_count; i++) {
        tape_release(run->tape, loop->kept[i]);
    }
    return ok;
}

/* Branch i takes operand i + 1. A pred chooses the first branch when true; an index out of range
 * chooses the last. Source: HLO operation semantics, Conditional. */
static bool run_conditional(const struct tape_run *run, const struct tape_step *step)
{
    struct tape *tape = run->tape;
    const struct tape_branches *branches = step->branches;
    const void *selector = tape->slots[step->operands[0]].data;
    int64_t index = tape->values[step->operands[0]].shape->type == TYPE_PRED
                        ? *(const uint8_t *)selector == 0
                        : *(const int32_t *)selector;
    if (index < 0 || index >= branches->count) {
        index = branches->count - 1;
    }
    const struct tape_region *branch = branches->regions[index];
    if (!run_ops(run, branch->ops, branch->count)) {
        return false;
    }
    for (int r = 0; r < step->result_count; r++) {
        int to = step->results[r], from = branch->results[r];
        if (tape->values[to].fixed) {
            tape_copy(tape, to, from);
        } else {
            tape_store(run, to, tape_value(run, from, tape->values[to].shape, branch->movable[r]));
        }
    }
    return true;
}

/* --- steps --- */

static bool run_work(const struct tape_run *run, const struct tape_step *step)
{
    struct tape *tape = run->tape;
    switch (step->kind) {
    case TAPE_LANES:
    case TAPE_MOVES:
    case TAPE_SLICE:
    case TAPE_UPDATE:
        if (any_marked(tape, step)) {
            return tape_evaluate(run, step);
        }
        if (step->kind == TAPE_LANES && step->narrow) {
            return run_narrow(tape, step) || tape_evaluate(run, step);
        }
        if (step->kind == TAPE_LANES) {
            run_lanes(tape, step);
        } else if (step->kind == TAPE_MOVES) {
            run_moves(tape, step);
        } else if (step->kind == TAPE_SLICE) {
            run_slice(tape, step);
        } else {
            return run_update(run, step);
        }
        return true;
    case TAPE_EVALUATE:
    case TAPE_CLUSTER:
        return tape_evaluate(run, step);
    case TAPE_WHILE:
        return run_while(run, step);
    case TAPE_CONDITIONAL:
        return run_conditional(run, step);
    }
    return false;
}

/* A step with its span. Operands of clusters are arrays in slots. */
static bool run_told(const struct tape_run *run, const struct tape_step *step)
{
    struct interp_span span;
    if (step->kind == TAPE_CLUSTER) {
        struct literal **values = memory_zalloc((size_t)(step->operand_count + 1) * sizeof *values);
        for (int k = 0; k < step->operand_count; k++) {
            values[k] = run->tape->slots[step->operands[k]].literal;
        }
        struct operands operands = {step->operand_count, values, NULL};
        span_begin(run->evaluation, &span, step->instruction, cluster_size(step->cluster),
                   &operands);
        free(values);
    } else {
        span_begin(run->evaluation, &span, step->instruction, 1, NULL);
    }
    bool ok = run_work(run, step);
    span_end(run->evaluation, &span);
    return ok;
}

static bool run_step(const struct tape_run *run, const struct tape_step *step)
{
    /* The tape's own loop has its span from who runs the tape. */
    bool told = run->told && step->instruction != run->tape->instruction;
    return told ? run_told(run, step) : run_work(run, step);
}

static bool run_ops(const struct tape_run *run, const struct tape_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct tape_op *op = &ops[i];
        struct tape_step *step = op->step;
        if (op->plain && !run->told &&
            !(op->in[0]->marked | op->in[1]->marked | op->in[2]->marked | op->out->marked)) {
            const void *in[LANE_MAX_OPERANDS] = {op->in[0]->data, op->in[1]->data, op->in[2]->data};
            op->function(op->lane, op->out->data, in, op->count);
            continue;
        }
        if (step->once != NULL) {
            if (step->epoch == step->once->epoch) {
                continue;
            }
            step->epoch = step->once->epoch;
        }
        if (!run_step(run, step)) {
            eval_blame(run->evaluation, step->instruction, run->err);
            return false;
        }
        for (int r = 0; r < step->release_count; r++) {
            tape_release(run->tape, step->releases[r]);
        }
    }
    return true;
}

/* --- the whole --- */

/* The leaves of the state (taken) go into the input slots. */
static void take_state(const struct tape_run *run, struct literal *state, int *leaf)
{
    if (!shape_is_tuple(state->shape)) {
        tape_store(run, run->tape->inputs[(*leaf)++], state);
        return;
    }
    bool alone = state->references == 1;
    for (int i = 0; i < state->shape->count; i++) {
        struct literal *element = state->elements[i];
        if (alone) {
            state->elements[i] = NULL;
        } else {
            literal_retain(element);
        }
        take_state(run, element, leaf);
    }
    literal_release(state);
}

struct outputs {
    const struct tape_run *run;
    int next;
};

static struct literal *give_output(void *context, const struct shape *shape, struct error *err)
{
    struct outputs *outputs = context;
    const struct tape *tape = outputs->run->tape;
    int k = outputs->next++;
    (void)err; /* the run's */
    return tape_value(outputs->run, tape->outputs[k], shape, tape->root->movable[k]);
}

bool tape_is_running(const struct tape *tape)
{
    return tape->running;
}

struct literal *tape_run(struct tape *tape, struct evaluation *evaluation,
                         struct operands *operands, struct error *err)
{
    struct tape_run run = {tape, evaluation, err, span_wanted(evaluation)};
    int leaf = 0;
    take_state(&run, operand_pass(operands, 0), &leaf);
    struct literal *result = NULL;
    tape->running = true;
    if (run_ops(&run, tape->root->ops, tape->root->count)) {
        struct outputs outputs = {.run = &run};
        result = literal_build(tape->instruction->shape, give_output, &outputs, err);
    }
    tape->running = false;
    for (int i = 0; i < tape->slot_count; i++) {
        if (!tape->values[i].fixed && tape->values[i].constant == NULL) {
            tape_release(tape, i);
        }
    }
    return result;
}
