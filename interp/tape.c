/* Making and destroying tapes: the memory of slots, and the lists that are run. */
#include "interp/tape.h"

#include <stdlib.h>

#include "hlo/literal.h"
#include "interp/tape_internal.h"

/* Memory for the fixed slots. */
static bool make_slots(struct tape *tape)
{
    struct error err = {0};
    size_t count = (size_t)tape->slot_count;
    tape->slots = arena_array(&tape->arena, count + 1, sizeof *tape->slots);
    for (int i = 0; i < tape->slot_count; i++) {
        const struct tape_value *value = &tape->values[i];
        if (!value->fixed && value->constant == NULL) {
            continue;
        }
        struct literal *literal = value->constant != NULL ? literal_retain(value->constant)
                                                          : literal_create(value->shape, &err);
        if (literal == NULL) {
            return false;
        }
        tape->slots[i].literal = literal;
        if (literal->buffer != NULL) {
            tape->slots[i].data = literal_data(literal);
            tape->slots[i].marked = literal->buffer->unspecified != NULL;
        }
    }
    return true;
}

static void make_op(struct tape *tape, struct tape_op *op, struct tape_step *step)
{
    static struct tape_slot empty;
    *op = (struct tape_op){.kind = (uint8_t)step->kind, .step = step, .out = &empty};
    for (int k = 0; k < LANE_MAX_OPERANDS; k++) {
        op->in[k] = &empty;
    }
    if (step->kind == TAPE_MOVES) {
        struct lane_step *lane = arena_alloc(&tape->arena, sizeof *lane);
        int operand;
        if (tape_moves_function(&step->moves, &operand, &op->function, lane)) {
            op->lane = lane;
            op->count = (int32_t)step->moves.pieces[0].count;
            op->in[0] = &tape->slots[step->operands[operand]];
            op->out = &tape->slots[step->results[0]];
            op->plain = step->once == NULL && step->release_count == 0;
        }
        return;
    }
    if (step->kind != TAPE_LANES) {
        return;
    }
    op->count = (int32_t)step->count;
    op->function = step->lane.function;
    op->lane = &step->lane;
    op->out = &tape->slots[step->results[0]];
    op->plain =
        !step->lane.round && !step->narrow && step->once == NULL && step->release_count == 0;
    for (int k = 0; k < step->operand_count; k++) {
        op->in[k] = &tape->slots[step->operands[k]];
        op->plain = op->plain && !step->scalar[k];
    }
}

/* The lists that are run. `loop`: whose body or condition the region is, or NULL. */
static void make_ops(struct tape *tape, struct tape_region *region, const struct tape_loop *loop)
{
    region->ops = arena_array(&tape->arena, region->count + 1, sizeof *region->ops);
    region->again = arena_array(&tape->arena, region->count + 1, sizeof *region->again);
    for (size_t i = 0; i < region->count; i++) {
        struct tape_step *step = &region->steps[i];
        make_op(tape, &region->ops[i], step);
        if (step->once == NULL || loop == NULL) {
            region->again[region->again_count++] = region->ops[i];
        }
        if (step->kind == TAPE_WHILE) {
            make_ops(tape, step->loop->condition, step->loop);
            make_ops(tape, step->loop->body, step->loop);
        } else if (step->kind == TAPE_CONDITIONAL) {
            for (int b = 0; b < step->branches->count; b++) {
                make_ops(tape, step->branches->regions[b], NULL);
            }
        }
    }
}

struct tape *tape_create(const struct instruction *loop)
{
    if (shape_is_dynamic(loop->shape)) {
        return NULL;
    }
    struct tape *tape = memory_zalloc(sizeof *tape);
    const struct module *module = loop->parent->module;
    arena_init(&tape->arena);
    tape->instruction = loop;
    tape->clusters = arena_array(&tape->arena, (size_t)module->count + 1, sizeof *tape->clusters);
    tape->searched = arena_array(&tape->arena, (size_t)module->count + 1, sizeof *tape->searched);
    if (!tape_build(tape)) {
        tape_destroy(tape);
        return NULL;
    }
    tape_find_once(tape);
    tape_find_deaths(tape);
    if (!make_slots(tape)) {
        tape_destroy(tape);
        return NULL;
    }
    make_ops(tape, tape->root, NULL);
    return tape;
}

void tape_destroy(struct tape *tape)
{
    if (tape == NULL) {
        return;
    }
    for (int i = 0; i < tape->slot_count && tape->slots != NULL; i++) {
        literal_release(tape->slots[i].literal);
    }
    for (struct tape_region *region = tape->regions; region != NULL; region = region->next) {
        free(region->steps);
    }
    const struct module *module = tape->instruction->parent->module;
    for (int i = 0; i < module->count; i++) {
        clusters_destroy(tape->clusters[i]);
    }
    free(tape->values);
    arena_finish(&tape->arena);
    free(tape);
}
