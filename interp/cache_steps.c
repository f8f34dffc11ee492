/* The steps of a made computation: what is known by now is not evaluated, or only when its elements
 * are read. */
#include <stdlib.h>
#include <string.h>

#include "interp/cache_keeper.h"
#include "hlo/base/clock.h"
#include "interp/plan.h"

static void count(struct keeper *keeper, const struct instruction *instruction)
{
    struct node *node = keeper->nodes[instruction->id];
    if (node != NULL && !node->counted) {
        node->counted = true;
        keeper->evaluated++;
    }
}

const struct instruction *keeper_origin(const struct keeper *keeper,
                                        const struct instruction *instruction)
{
    return instruction->parent == &keeper->made && keeper->origins[instruction->id] != NULL
               ? keeper->origins[instruction->id]
               : instruction;
}

/* --- what is known by now --- */

/* Works out the resolved keys of nodes up to this one, by what has become known since. */
static void settle(struct keeper *keeper, const struct node *node)
{
    struct graph *graph = &keeper->graph;
    for (; keeper->next <= (size_t)node->id; keeper->next++) {
        struct node *each = graph->nodes[keeper->next];
        if (!each->needed || each->literal != NULL || each->settled) {
            continue;
        }
        if (each->kind == NODE_OP) {
            each->resolved = graph_key(each, true);
        } else if (each->kind == NODE_PART) {
            each->resolved = each->whole->resolved;
            key_add(&each->resolved, (uint64_t)each->part);
        }
        /* As graph_build does, so that both come to the same keys. */
        int number = each->pure && shape_is_array(each->shape)
                         ? cache_find(graph->cache, each->resolved)
                         : -1;
        if (number >= 0) {
            each->resolved = cache_contents(graph->cache, number)->key;
        }
    }
}

/* What is held for a node, as a literal of its shape; NULL if it is not. */
static struct literal *held(struct keeper *keeper, struct node *node, struct key resolved)
{
    struct interp_cache *cache = keeper->graph.cache;
    int number = shape_is_array(node->shape) ? cache_find(cache, resolved) : -1;
    struct literal *literal = number >= 0 ? cache_use(cache, number) : NULL;
    if (literal == NULL) {
        return NULL;
    }
    cache_link(cache, node->key, number);
    node->number = number;
    node->resolved = cache_contents(cache, number)->key;
    node->settled = true;
    return literal->shape == node->shape || node->shape->dynamic != NULL
               ? literal_retain(literal)
               : literal_view(literal, node->shape);
}

/* Are these the contents of the node? Then they are what its readers are found by. */
static bool is_known(struct keeper *keeper, struct node *node, int number)
{
    struct interp_cache *cache = keeper->graph.cache;
    if (number < 0 || !shape_is_array(node->shape) || node->shape->dynamic != NULL) {
        return false;
    }
    cache_link(cache, node->key, number);
    node->number = number;
    node->resolved = cache_contents(cache, number)->key;
    node->settled = true;
    return true;
}

/* Are those of all its parts that are needed? first: what the first one's are; −1: not given. */
static bool are_known(struct keeper *keeper, struct node *node, int first)
{
    const struct interp_cache *cache = keeper->graph.cache;
    bool any = false;
    if (!shape_is_tuple(node->shape)) {
        return is_known(keeper, node, first >= 0 ? first : cache_find(cache, node->resolved));
    }
    for (int i = 0; i < node->part_count; i++) {
        struct key key = node->resolved;
        key_add(&key, (uint64_t)i);
        int number = i == 0 && first >= 0 ? first : cache_find(cache, key);
        if (node->parts[i]->needed && !is_known(keeper, node->parts[i], number)) {
            return false;
        }
        any = any || node->parts[i]->needed;
    }
    return any;
}

static struct literal *tuple_of_parts(const struct shape *shape, struct literal **leaves, int *next)
{
    if (!shape_is_tuple(shape)) {
        return leaves[(*next)++];
    }
    struct literal **elements = memory_alloc((size_t)(shape->count + 1) * sizeof *elements);
    for (int i = 0; i < shape->count; i++) {
        elements[i] = tuple_of_parts(shape->elements[i], leaves, next);
    }
    struct literal *tuple = literal_tuple_take(shape, elements);
    free(elements);
    return tuple;
}

/* What is held by the resolved key. */
static struct literal *find_known(struct keeper *keeper, struct node *node)
{
    if (!shape_is_tuple(node->shape)) {
        return held(keeper, node, node->resolved);
    }
    struct literal **leaves = memory_zalloc((size_t)(node->part_count + 1) * sizeof *leaves);
    int found = 0;
    while (found < node->part_count) {
        struct key key = node->resolved;
        key_add(&key, (uint64_t)found);
        leaves[found] = held(keeper, node->parts[found], key);
        if (leaves[found] == NULL) {
            break;
        }
        found++;
    }
    struct literal *tuple = NULL;
    if (found == node->part_count) {
        int next = 0;
        tuple = tuple_of_parts(node->shape, leaves, &next);
    } else {
        for (int i = 0; i < found; i++) {
            literal_release(leaves[i]);
        }
    }
    free(leaves);
    return tuple;
}

/* The contents of operand k, if it is an array whose contents are known. */
static const struct key *operand_contents(const struct node *node, int k)
{
    const struct node *operand = node->operands[k]->node;
    return operand != NULL && (operand->literal != NULL || operand->settled) ? &operand->resolved
                                                                             : NULL;
}

static void keep_value(struct keeper *keeper, struct node *node, const struct literal *value,
                       double seconds);

/* A value with the workspace that a call gives besides: nothing that is specified. */
static struct literal *with_rest_take(struct literal *first, const struct shape *shape,
                                      struct error *err)
{
    if (!shape_is_tuple(shape) || first == NULL) {
        return first;
    }
    struct literal **elements = memory_zalloc((size_t)shape->count * sizeof *elements);
    bool ok = true;
    elements[0] = first;
    for (int i = 1; i < shape->count && ok; i++) {
        elements[i] = literal_zero(shape->elements[i], err);
        ok = elements[i] != NULL && literal_mark_all_unspecified(elements[i], err);
    }
    struct literal *tuple = ok ? literal_tuple_take(shape, elements) : NULL;
    for (int i = 0; i < shape->count && !ok; i++) {
        literal_release(elements[i]);
    }
    free(elements);
    return tuple;
}

/* The value of a contraction that is held in some order of dimensions. */
static struct literal *find_twin(struct keeper *keeper, struct node *node,
                                 const struct operands *operands, struct error *err)
{
    const struct key *known[4];
    keeper->has_twin = false;
    if (operands == NULL || node->operand_count > 4 ||
        (node->instruction->opcode != OP_DOT && node->instruction->opcode != OP_CONVOLUTION &&
         node->instruction->opcode != OP_CUSTOM_CALL)) {
        return NULL;
    }
    for (int k = 0; k < node->operand_count; k++) {
        known[k] = operand_contents(node, k);
        if (node->operands[k]->node == NULL) {
            return NULL;
        }
    }
    struct interp_cache *cache = keeper->graph.cache;
    keeper->has_twin = twin_find(cache, node->instruction, operands->values, known,
                                 keeper->graph.bf16_products, &keeper->twin);
    struct literal *value = keeper->has_twin ? twin_value(cache, &keeper->twin) : NULL;
    value = with_rest_take(value, node->shape, err);
    if (value != NULL) {
        const struct contents *contents =
            cache_contents(cache, cache_find(cache, keeper->twin.key));
        keep_value(keeper, node, value, contents->seconds);
    }
    return value;
}

/* The value of an op on these operands, of which some may be put off (NULL), if it is known by
 * now; NULL if not, or put off itself: then *later. */
static struct literal *find(struct keeper *keeper, struct node *node,
                            const struct operands *operands, bool *later, struct error *err)
{
    struct interp_cache *cache = keeper->graph.cache;
    struct literal *value = find_known(keeper, node);
    if (value == NULL && are_known(keeper, node, -1)) {
        *later = true;
        return NULL;
    }
    value = value != NULL ? value : find_twin(keeper, node, operands, err);
    if (value == NULL && keeper->has_twin) {
        int number = twin_contents(cache, &keeper->twin);
        *later = number >= 0 && are_known(keeper, node, number);
    }
    return value;
}

/* Takes hardly longer to compute than to hold: new memory for what nobody writes over costs as
 * much. Small values are held all the same. */
static bool is_worth_holding(const struct node *node, const struct literal *value)
{
    enum { SMALL = 2 << 20 };
    static const char *const moves[] = {
        "broadcast",   "iota",    "transpose", "slice",  "pad",           "reverse",
        "concatenate", "reshape", "bitcast",   "reduce", "dynamic_slice", "reduce_precision"};
    bool is_cheap = node->kind == NODE_OP && node->flat;
    for (size_t i = 0; i < sizeof moves / sizeof *moves && node->kind == NODE_OP; i++) {
        is_cheap = is_cheap || strcmp(opcode_table[node->instruction->opcode].eval, moves[i]) == 0;
    }
    return !is_cheap || value->buffer == NULL || value->buffer->size <= SMALL;
}

static void keep(struct keeper *keeper, struct node *node, struct key resolved,
                 const struct literal *value, double seconds)
{
    struct interp_cache *cache = keeper->graph.cache;
    if (!shape_is_array(node->shape)) {
        return;
    }
    if (node->settled) { /* evaluated after it was put off: contents that are known */
        cache_hold(cache, node->number, value, seconds, is_worth_holding(node, value));
        return;
    }
    node->number = cache_keep(cache, resolved, value, seconds, is_worth_holding(node, value));
    if (node->pure) {
        cache_link(cache, node->key, node->number);
    }
    node->resolved = cache_contents(cache, node->number)->key;
    node->settled = true;
}

/* Offers the value (borrowed) that took so many seconds. */
static void keep_value(struct keeper *keeper, struct node *node, const struct literal *value,
                       double seconds)
{
    settle(keeper, node);
    if (!shape_is_tuple(node->shape)) {
        keep(keeper, node, node->resolved, value, seconds);
    }
    for (int i = 0; i < node->part_count; i++) {
        struct key key = node->resolved;
        key_add(&key, (uint64_t)i);
        keep(keeper, node->parts[i], key, literal_leaf(value, i), seconds);
    }
    if (keeper->has_twin && node->pure) {
        int number = shape_is_tuple(node->shape) ? node->parts[0]->number : node->number;
        twin_link(keeper->graph.cache, &keeper->twin, number);
    }
}

/* --- steps --- */

/* A step whose value is known by its contents alone, or only gives such a value another shape. It
 * holds its operands, and is run when somebody reads its elements. */
struct deferred {
    const struct step *step;
    int references;             /* the slot, until its last reader; others that are put off */
    struct literal *value;      /* owned; NULL until it is run */
    struct literal **operands;  /* [step->operand_count], owned; NULL: put off */
    struct deferred **deferred; /* [step->operand_count] those */
};

static void deferred_release(struct deferred *deferred)
{
    if (deferred == NULL || --deferred->references > 0) {
        return;
    }
    literal_release(deferred->value);
    for (int k = 0; k < deferred->step->operand_count; k++) {
        literal_release(deferred->operands[k]);
        deferred_release(deferred->deferred[k]);
    }
}

static void defer(struct keeper *keeper, const struct step *step, const struct operands *operands)
{
    struct arena *arena = &keeper->graph.arena;
    const size_t count = (size_t)step->operand_count;
    struct deferred *deferred = arena_alloc(arena, sizeof *deferred);
    *deferred = (struct deferred){.step = step,
                                  .references = 1,
                                  .operands = arena_array(arena, count + 1, sizeof(void *)),
                                  .deferred = arena_array(arena, count + 1, sizeof(void *))};
    for (size_t k = 0; k < count; k++) {
        if (operands->values[k] != NULL) {
            deferred->operands[k] = literal_retain(operands->values[k]);
        } else {
            deferred->deferred[k] = keeper->deferred[step->operands[k]];
            deferred->deferred[k]->references++;
        }
    }
    keeper->deferred[step->instruction->id] = deferred;
}

/* Runs the step and offers its value. */
static struct literal *run_and_keep(struct keeper *keeper, struct evaluation *evaluation,
                                    const struct step *step, struct operands *operands,
                                    struct error *err)
{
    struct node *node = keeper->nodes[step->instruction->id];
    int members = step->kind == STEP_CLUSTER ? cluster_size(step->cluster) : 0;
    for (int i = 0; i < members; i++) {
        count(keeper, cluster_member(step->cluster, i));
    }
    count(keeper, step->instruction);
    if (step->kind == STEP_ELEMENT) {
        return literal_retain(operands->values[0]->elements[step->element]);
    }
    double begin = clock_seconds();
    struct literal *value = step_work(evaluation, step, operands, err);
    if (value != NULL && node != NULL) {
        keep_value(keeper, node, value, clock_seconds() - begin);
    }
    return value;
}

/* Operand k that was put off has a value now. */
static void take_operand(struct deferred *deferred, int k)
{
    struct deferred *operand = deferred->deferred[k];
    deferred->operands[k] = literal_retain(operand->value);
    deferred->deferred[k] = NULL;
    deferred_release(operand);
}

/* Runs it; its operands have values. */
static bool run_deferred(struct keeper *keeper, struct evaluation *evaluation,
                         struct deferred *deferred, struct error *err)
{
    const struct step *step = deferred->step;
    bool *dying = memory_alloc((size_t)step->operand_count + 1);
    memset(dying, true, (size_t)step->operand_count + 1);
    struct operands operands = {step->operand_count, deferred->operands, dying};
    keeper->has_twin = false;
    deferred->value = run_and_keep(keeper, evaluation, step, &operands, err);
    for (int k = 0; k < step->operand_count; k++) {
        literal_release(deferred->operands[k]);
        deferred->operands[k] = NULL;
    }
    free(dying);
    return deferred->value != NULL;
}

/* Runs what was put off and all that it needs, operands first. */
static bool force(struct keeper *keeper, struct evaluation *evaluation, struct deferred *deferred,
                  struct error *err)
{
    struct deferred **stack = NULL;
    size_t count = 0, capacity = 0;
    bool ok = true;
    stack = grow(stack, count, &capacity, sizeof(struct deferred *));
    stack[count++] = deferred;
    while (count > 0 && ok) {
        struct deferred *top = stack[count - 1], *next = NULL;
        for (int k = 0; k < top->step->operand_count && top->value == NULL && next == NULL; k++) {
            if (top->deferred[k] != NULL && top->deferred[k]->value != NULL) {
                take_operand(top, k);
            } else {
                next = top->deferred[k];
            }
        }
        if (next != NULL) {
            stack = grow(stack, count, &capacity, sizeof(struct deferred *));
            stack[count++] = next;
        } else {
            ok = top->value != NULL || run_deferred(keeper, evaluation, top, err);
            count--;
        }
    }
    free(stack);
    return ok;
}

/* Brings the operands that were put off, into the slots too. */
static bool bring_operands(struct keeper *keeper, struct evaluation *evaluation,
                           const struct step *step, struct operands *operands,
                           struct literal **slots, struct error *err)
{
    for (int k = 0; k < operands->count; k++) {
        const int slot = step->operands[k];
        struct deferred *deferred = keeper->deferred[slot];
        if (slots[slot] == NULL) {
            if (!force(keeper, evaluation, deferred, err)) {
                return false;
            }
            slots[slot] = literal_retain(deferred->value);
            keeper_release(keeper, slot);
        }
        operands->values[k] = slots[slot];
    }
    return true;
}

void keeper_release(struct keeper *keeper, int slot)
{
    deferred_release(keeper->deferred[slot]);
    keeper->deferred[slot] = NULL;
}

void keeper_finish_deferred(struct keeper *keeper)
{
    for (int i = 0; i < keeper->made.count && keeper->deferred != NULL; i++) {
        keeper_release(keeper, i);
    }
}

bool keeper_step(struct keeper *keeper, struct evaluation *evaluation, const struct step *step,
                 struct operands *operands, struct literal **slots, struct literal **value,
                 struct error *err)
{
    const struct instruction *instruction = step->instruction;
    struct node *node = keeper->nodes[instruction->id];
    bool missing = false, later = false;
    for (int k = 0; k < operands->count; k++) {
        missing = missing || operands->values[k] == NULL;
    }
    keeper->has_twin = false;
    *value = NULL;
    if (node != NULL && node->pure) {
        settle(keeper, node);
        *value = find(keeper, node, step->kind == STEP_CLUSTER ? NULL : operands, &later, err);
    } else if (node == NULL) {
        later = missing && (instruction->opcode == OP_RESHAPE || instruction->opcode == OP_COPY ||
                            step->kind == STEP_ELEMENT);
    }
    if (later) {
        defer(keeper, step, operands);
        return true;
    }
    if (*value == NULL && missing) {
        if (!bring_operands(keeper, evaluation, step, operands, slots, err)) {
            return false;
        }
        if (node != NULL && node->pure && step->kind != STEP_CLUSTER) {
            *value = find_twin(keeper, node, operands, err);
        }
    }
    if (*value == NULL) {
        *value = run_and_keep(keeper, evaluation, step, operands, err);
    }
    return *value != NULL;
}
