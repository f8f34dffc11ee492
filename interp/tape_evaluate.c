/* Steps of tapes that the evaluators do, and values on their way in and out of slots. */
#include <stdlib.h>
#include <string.h>

#include "hlo/literal.h"
#include "interp/poll.h"
#include "interp/tape_internal.h"

bool tape_cancelled(const struct tape_run *run)
{
    const struct interp_options *options = &run->evaluation->options;
    if (options->cancelled == NULL || !options->cancelled(options->context)) {
        return false;
    }
    error_set(run->err, ERROR_DEADLINE_EXCEEDED, "the evaluation was cancelled");
    return true;
}

/* --- slots --- */

void tape_clear_marks(struct tape *tape, int slot)
{
    struct buffer *buffer = tape->slots[slot].literal->buffer;
    free(buffer->unspecified);
    buffer->unspecified = NULL;
    tape->slots[slot].marked = 0;
}

static size_t mark_bytes(const struct literal *literal)
{
    return ((size_t)literal_elements(literal) + 7) / 8;
}

/* Fills a fixed slot. */
static void set_fixed(struct tape *tape, int slot, const struct literal *value)
{
    struct tape_slot *to = &tape->slots[slot];
    const uint8_t *marks = value->buffer->unspecified;
    memcpy(to->data, literal_data(value), to->literal->buffer->size);
    if (tape->slots[slot].marked) {
        tape_clear_marks(tape, slot);
    }
    if (marks != NULL) {
        to->literal->buffer->unspecified = memory_alloc(mark_bytes(value) + 1);
        memcpy(to->literal->buffer->unspecified, marks, mark_bytes(value));
        tape->slots[slot].marked = 1;
    }
}

void tape_copy(struct tape *tape, int to, int from)
{
    struct tape_slot *target = &tape->slots[to];
    if (tape->slots[to].marked | tape->slots[from].marked) {
        set_fixed(tape, to, tape->slots[from].literal);
        return;
    }
    size_t bytes = target->literal->buffer->size;
    if (bytes == 4) {
        memcpy(target->data, tape->slots[from].data, 4);
    } else if (bytes == 8) {
        memcpy(target->data, tape->slots[from].data, 8);
    } else {
        memcpy(target->data, tape->slots[from].data, bytes);
    }
}

void tape_release(struct tape *tape, int slot)
{
    struct tape_slot *held = &tape->slots[slot];
    if (held->literal != NULL) {
        literal_release(held->literal);
        held->literal = NULL;
        held->data = NULL;
        tape->slots[slot].marked = 0;
    }
}

void tape_store(const struct tape_run *run, int slot, struct literal *value)
{
    struct tape *tape = run->tape;
    if (tape->values[slot].fixed) {
        set_fixed(tape, slot, value);
        literal_release(value);
        return;
    }
    tape_release(tape, slot);
    tape->slots[slot].literal = value;
    if (value->buffer != NULL) {
        tape->slots[slot].data = literal_data(value);
        tape->slots[slot].marked = value->buffer->unspecified != NULL;
    }
}

struct literal *tape_value(const struct tape_run *run, int slot, const struct shape *shape,
                           bool take)
{
    struct tape *tape = run->tape;
    struct tape_slot *held = &tape->slots[slot];
    if (tape->values[slot].fixed) {
        struct literal *copy = literal_own_take(literal_retain(held->literal), run->err);
        return copy != NULL ? literal_reshape_take(copy, shape) : NULL;
    }
    struct literal *value = held->literal;
    if (take) {
        held->literal = NULL;
        held->data = NULL;
        tape->slots[slot].marked = 0;
    } else {
        literal_retain(value);
    }
    return literal_reshape_take(value, shape);
}

/* --- operands --- */

struct boxes {
    struct literal **values; /* [count] */
    bool *dying, *own;       /* own: a reference that is ours */
    int count;
};

/* The operand whose leaves are in the slots from `at` on. */
static struct literal *box_tuple(const struct tape_run *run, const struct tape_step *step,
                                 const struct shape *shape, int *at)
{
    if (!shape_is_tuple(shape)) {
        int k = (*at)++;
        int slot = step->operands[k];
        if (run->tape->values[slot].fixed) {
            return literal_view(run->tape->slots[slot].literal, shape);
        }
        return tape_value(run, slot, shape, step->dying[k]);
    }
    struct literal **elements = memory_zalloc((size_t)shape->count * sizeof *elements);
    for (int i = 0; i < shape->count; i++) {
        elements[i] = box_tuple(run, step, shape->elements[i], at);
    }
    struct literal *tuple = literal_tuple_take(shape, elements);
    free(elements);
    return tuple;
}

/* Operand k: the slot's literal itself where it has the shape, else a reference of our own. */
static void box(const struct tape_run *run, const struct tape_step *step, struct boxes *boxes,
                int k, const struct shape *shape, int *at)
{
    boxes->own[k] = shape_is_tuple(shape);
    boxes->dying[k] = true;
    if (!boxes->own[k]) {
        struct literal *value = run->tape->slots[step->operands[*at]].literal;
        boxes->own[k] = value->shape != shape && value->buffer != NULL;
        boxes->dying[k] = step->dying[*at];
        if (!boxes->own[k]) {
            boxes->values[k] = value;
            ++*at;
            return;
        }
    }
    boxes->values[k] = box_tuple(run, step, shape, at);
}

/* Somebody else may hold the memory of a fixed slot that was an operand: he keeps it. */
static bool detach(const struct tape_run *run, int slot)
{
    struct tape_slot *held = &run->tape->slots[slot];
    if (!run->tape->values[slot].fixed || literal_is_unique(held->literal)) {
        return true;
    }
    struct literal *copy = literal_own_take(literal_retain(held->literal), run->err);
    if (copy == NULL) {
        return false;
    }
    literal_release(held->literal);
    held->literal = copy;
    held->data = literal_data(held->literal);
    return true;
}

/* Gives back what the evaluator did not take; slots whose values it took are empty. */
static bool unbox(const struct tape_run *run, const struct tape_step *step, struct boxes *boxes)
{
    int at = 0;
    bool ok = true;
    for (int k = 0; k < boxes->count; k++) {
        if (boxes->own[k]) {
            literal_release(boxes->values[k]);
        } else if (boxes->values[k] == NULL) {
            struct tape_slot *held = &run->tape->slots[step->operands[at]];
            held->literal = NULL;
            held->data = NULL;
            run->tape->slots[step->operands[at]].marked = 0;
        }
        at += step->kind == TAPE_CLUSTER ? 1 : shape_leaves(step->instruction->operands[k]->shape);
    }
    for (int k = 0; k < step->operand_count; k++) {
        ok = detach(run, step->operands[k]) && ok;
    }
    return ok;
}

/* --- results --- */

/* Puts the leaves of a value (taken) into slots. */
static void unpack(const struct tape_run *run, struct literal *value, const int *slots, int *at)
{
    if (!shape_is_tuple(value->shape)) {
        tape_store(run, slots[(*at)++], value);
        return;
    }
    bool alone = value->references == 1;
    for (int i = 0; i < value->shape->count; i++) {
        struct literal *element = value->elements[i];
        if (alone) {
            value->elements[i] = NULL;
        } else {
            literal_retain(element);
        }
        unpack(run, element, slots, at);
    }
    literal_release(value);
}

static struct literal *evaluate(const struct tape_run *run, const struct tape_step *step,
                                struct operands *operands)
{
    if (step->kind == TAPE_CLUSTER) {
        return cluster_run(step->cluster, run->evaluation, operands, run->err);
    }
    eval_function *function = eval_function_of(step->instruction->opcode);
    if (function == NULL) {
        error_set(run->err, ERROR_UNIMPLEMENTED, "the golden has no evaluator for %s",
                  opcode_text(step->instruction->opcode));
        return NULL;
    }
    return function(run->evaluation, step->instruction, operands, run->err);
}

bool tape_evaluate(const struct tape_run *run, const struct tape_step *step)
{
    if (tape_cancelled(run)) {
        return false;
    }
    enum { FEW = 8 };
    const struct instruction *instruction = step->instruction;
    bool cluster = step->kind == TAPE_CLUSTER;
    int count = cluster ? step->operand_count : instruction->operand_count;
    struct literal *few_values[FEW], **values = few_values;
    bool few_flags[2 * FEW], *flags = few_flags;
    if (count > FEW) {
        values = memory_alloc((size_t)count * sizeof *values);
        flags = memory_alloc((size_t)count * 2);
    }
    struct boxes boxes = {values, flags, flags + count, count};
    int at = 0;
    for (int k = 0; k < count; k++) {
        const struct instruction *operand =
            cluster ? cluster_input(step->cluster, k) : instruction->operands[k];
        box(run, step, &boxes, k, operand->shape, &at);
    }
    struct operands operands = {count, values, boxes.dying};
    struct poll poll;
    poll_begin(&poll, &run->evaluation->options);
    struct literal *result = poll_end(&poll, evaluate(run, step, &operands), run->err);
    at = 0;
    if (result != NULL) {
        unpack(run, result, step->results, &at);
    }
    bool ok = unbox(run, step, &boxes) && result != NULL;
    if (count > FEW) {
        free(values);
        free(flags);
    }
    return ok;
}
