/* Matches the values of two modules, region by region.
 *
 * In a pair of regions, first those that compute the same are matched, in order where there are
 * several of them, the same names preferred. Below a change nothing computes the same any more, so
 * then matches spread from operands to users: the same operation on the counterparts of the
 * operands. What keeps its name, shares an operand, or is the same operand of matched users is
 * matched next, which gives the spreading new ground. */
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/map.h"
#include "hlo/diff_graph.h"

enum {
    ROUNDS = 8,
    MOST_USERS = 32, /* looked at to find the counterpart of one instruction */
};

/* Nodes by a hash; those with an equal one stay in order and are taken one after the other. */
struct slot {
    uint64_t hash;
    int position, node;
    int next; /* of the first slot of a hash: where to look next */
};
struct index {
    struct slot *slots;
    int count;
};

struct matcher {
    struct diff_side *old, *new;
    const struct diff_region *old_region, *new_region;
    bool is_copy;
    bool *taken; /* by old node: within this pair of regions */
    int *queue;  /* regions of the new side whose pair is known and not yet looked into */
    int queued;
};

typedef uint64_t node_hash(const struct matcher *matcher, const struct diff_side *side, int node);

static int by_hash(const void *left, const void *right)
{
    const struct slot *a = left, *b = right;
    if (a->hash != b->hash) {
        return a->hash < b->hash ? -1 : 1;
    }
    return a->position - b->position;
}

static bool is_open(const struct matcher *matcher, int old)
{
    const struct diff_node *node = &matcher->old->nodes[old];
    return node->is_computing && !matcher->taken[old] && node->instruction->opcode != OP_PARAMETER;
}

static bool is_unmatched(const struct matcher *matcher, int new)
{
    const struct diff_node *node = &matcher->new->nodes[new];
    return node->is_computing && node->partner == DIFF_NONE &&
           node->instruction->opcode != OP_PARAMETER;
}

/* Of the old region's nodes that are still open. A hash of zero leaves a node out. */
static struct index index_build(const struct matcher *matcher, node_hash *hash)
{
    const struct diff_region *region = matcher->old_region;
    struct index index = {
        memory_alloc(((size_t)(region->end - region->begin) + 1) * sizeof(struct slot)), 0};
    for (int k = region->begin; k < region->end; k++) {
        int node = matcher->old->order[k];
        uint64_t value = is_open(matcher, node) ? hash(matcher, matcher->old, node) : 0;
        if (value != 0) {
            index.slots[index.count++] = (struct slot){value, k, node, 0};
        }
    }
    qsort(index.slots, (size_t)index.count, sizeof *index.slots, by_hash);
    for (int i = 0; i < index.count; i++) {
        index.slots[i].next = i;
    }
    return index;
}

/* The next open node of that hash, or NONE. */
static int index_find(const struct matcher *matcher, struct index *index, uint64_t hash)
{
    int low = 0, high = index->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (index->slots[middle].hash < hash) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (hash == 0 || low >= index->count || index->slots[low].hash != hash) {
        return DIFF_NONE;
    }
    int at = index->slots[low].next;
    while (at < index->count && index->slots[at].hash == hash &&
           !is_open(matcher, index->slots[at].node)) {
        at++;
    }
    index->slots[low].next = at;
    return at < index->count && index->slots[at].hash == hash ? index->slots[at].node : DIFF_NONE;
}

static void pair_nodes(struct matcher *matcher, int old, int new)
{
    matcher->new->nodes[new].partner = old;
    matcher->taken[old] = true;
    if (!matcher->is_copy && matcher->old->nodes[old].partner == DIFF_NONE) {
        matcher->old->nodes[old].partner = new;
    }
}

static bool pair_regions(struct matcher *matcher, int old, int new)
{
    struct diff_region *from = &matcher->old->regions[old], *to = &matcher->new->regions[new];
    if (to->partner != DIFF_NONE) {
        return false;
    }
    to->partner = old;
    to->is_copy = from->partner != DIFF_NONE;
    from->partner = to->is_copy ? from->partner : new;
    matcher->queue[matcher->queued++] = new;
    return true;
}

/* --- hashes to match by --- */

static uint64_t hash_text(const char *text, uint64_t hash)
{
    return hash_bytes(text, strlen(text), hash);
}

static uint64_t key_of(const struct matcher *matcher, const struct diff_side *side, int node)
{
    (void)matcher;
    return side->nodes[node].key;
}

static uint64_t key_and_name(const struct matcher *matcher, const struct diff_side *side, int node)
{
    (void)matcher;
    return hash_text(side->nodes[node].instruction->name, side->nodes[node].key);
}

static uint64_t key_and_place(const struct matcher *matcher, const struct diff_side *side, int node)
{
    const struct computation *computation = side->nodes[node].instruction->parent;
    return hash_text(computation->name, key_and_name(matcher, side, node));
}

/* The operation and the old nodes that are its operands, or their counterparts. */
static uint64_t hash_in_place(const struct matcher *matcher, const struct diff_side *side, int node)
{
    uint64_t hash = side->nodes[node].operation;
    int count = side->nodes[node].instruction->operand_count;
    for (int i = 0; i < count; i++) {
        int operand = diff_operand(side, node, i);
        if (side == matcher->new) {
            operand = side->nodes[operand].partner;
        }
        if (operand == DIFF_NONE) {
            return 0;
        }
        hash = hash_u64((uint64_t)operand, hash);
    }
    return count > 0 ? hash : 0;
}

static uint64_t hash_in_place_with_callees(const struct matcher *matcher,
                                           const struct diff_side *side, int node)
{
    uint64_t hash = hash_in_place(matcher, side, node);
    for (int i = 0; hash != 0 && i < side->nodes[node].instruction->called_count; i++) {
        int callee = diff_callee(side, node, i);
        hash = hash_u64(callee == DIFF_NONE ? 0 : side->regions[callee].key, hash);
    }
    return hash;
}

static uint64_t name_and_opcode(const struct matcher *matcher, const struct diff_side *side,
                                int node)
{
    (void)matcher;
    const struct instruction *instruction = side->nodes[node].instruction;
    return hash_text(instruction->name, (uint64_t)instruction->opcode + 1);
}

static uint64_t name_and_shape(const struct matcher *matcher, const struct diff_side *side,
                               int node)
{
    (void)matcher;
    const struct instruction *instruction = side->nodes[node].instruction;
    return hash_text(instruction->name, shape_without_layout(instruction->shape)->hash);
}

/* --- the ways to match --- */

static void match_parameters(struct matcher *matcher)
{
    const struct diff_context *from = &matcher->old->contexts[matcher->old_region->context];
    const struct diff_context *to = &matcher->new->contexts[matcher->new_region->context];
    const struct computation *a = from->computation, *b = to->computation;
    for (int i = 0; i < a->parameter_count && i < b->parameter_count; i++) {
        pair_nodes(matcher, from->base + a->parameters[i]->id, to->base + b->parameters[i]->id);
    }
}

static void match_all(struct matcher *matcher, node_hash *hash)
{
    struct index index = index_build(matcher, hash);
    for (int k = matcher->new_region->begin; k < matcher->new_region->end; k++) {
        int new = matcher->new->order[k];
        if (is_unmatched(matcher, new)) {
            int old = index_find(matcher, &index, hash(matcher, matcher->new, new));
            if (old != DIFF_NONE) {
                pair_nodes(matcher, old, new);
            }
        }
    }
    free(index.slots);
}

static bool is_alike(const struct instruction *a, const struct instruction *b)
{
    return a->opcode == b->opcode && shape_compatible(a->shape, b->shape);
}

/* A user of the counterpart of an operand that looks like this one. */
static int find_by_operands(const struct matcher *matcher, int new)
{
    const struct diff_side *old = matcher->old;
    const struct instruction *instruction = matcher->new->nodes[new].instruction;
    for (int i = 0; i < instruction->operand_count; i++) {
        int partner = matcher->new->nodes[diff_operand(matcher->new, new, i)].partner;
        if (partner == DIFF_NONE) {
            continue;
        }
        int begin = old->user_first[partner], end = old->user_first[partner + 1];
        end = end - begin > MOST_USERS ? begin + MOST_USERS : end;
        for (int k = begin; k < end; k++) {
            if (is_open(matcher, old->users[k]) &&
                is_alike(old->nodes[old->users[k]].instruction, instruction)) {
                return old->users[k];
            }
        }
    }
    return DIFF_NONE;
}

static bool spread_to_users(struct matcher *matcher, struct index *in_place, struct index *same,
                            struct index *named, struct index *shaped, bool by_operands)
{
    bool found = false;
    for (int k = matcher->new_region->begin; k < matcher->new_region->end; k++) {
        int new = matcher->new->order[k];
        if (!is_unmatched(matcher, new)) {
            continue;
        }
        int old = index_find(matcher, same, hash_in_place_with_callees(matcher, matcher->new, new));
        if (old == DIFF_NONE) {
            old = index_find(matcher, in_place, hash_in_place(matcher, matcher->new, new));
        }
        if (old == DIFF_NONE) {
            old = index_find(matcher, named, name_and_opcode(matcher, matcher->new, new));
        }
        if (old == DIFF_NONE) {
            old = index_find(matcher, shaped, name_and_shape(matcher, matcher->new, new));
        }
        if (old == DIFF_NONE && by_operands) {
            old = find_by_operands(matcher, new);
        }
        if (old != DIFF_NONE) {
            pair_nodes(matcher, old, new);
            found = true;
        }
    }
    return found;
}

static bool match_places(struct matcher *matcher, int old, int new)
{
    if (!is_open(matcher, old) || !is_unmatched(matcher, new) ||
        !shape_compatible(matcher->old->nodes[old].instruction->shape,
                          matcher->new->nodes[new].instruction->shape)) {
        return false;
    }
    pair_nodes(matcher, old, new);
    return true;
}

static int root_of(const struct diff_side *side, const struct diff_region *region)
{
    const struct diff_context *context = &side->contexts[region->context];
    return side->nodes[context->base + context->computation->root->id].value;
}

static bool spread_to_operands(struct matcher *matcher)
{
    bool found = match_places(matcher, root_of(matcher->old, matcher->old_region),
                              root_of(matcher->new, matcher->new_region));
    for (int k = matcher->new_region->end; k-- > matcher->new_region->begin;) {
        int new = matcher->new->order[k];
        int old = matcher->new->nodes[new].partner;
        if (!matcher->new->nodes[new].is_computing || old == DIFF_NONE) {
            continue;
        }
        const struct instruction *a = matcher->old->nodes[old].instruction;
        const struct instruction *b = matcher->new->nodes[new].instruction;
        if (a->opcode == b->opcode) {
            for (int i = 0; i < a->operand_count && i < b->operand_count; i++) {
                found |= match_places(matcher, diff_operand(matcher->old, old, i),
                                      diff_operand(matcher->new, new, i));
            }
        }
    }
    return found;
}

static void match_rest(struct matcher *matcher)
{
    struct index in_place = index_build(matcher, hash_in_place);
    struct index same = index_build(matcher, hash_in_place_with_callees);
    struct index named = index_build(matcher, name_and_opcode);
    struct index shaped = index_build(matcher, name_and_shape);
    for (int round = 0; round < ROUNDS && in_place.count + named.count > 0; round++) {
        bool found = spread_to_users(matcher, &in_place, &same, &named, &shaped, round > 0);
        found |= spread_to_operands(matcher);
        if (!found && round > 0) {
            break;
        }
    }
    free(in_place.slots);
    free(same.slots);
    free(named.slots);
    free(shaped.slots);
}

/* --- regions --- */

static void match_region(struct matcher *matcher, int new)
{
    struct diff_region *region = &matcher->new->regions[new];
    matcher->new_region = region;
    matcher->old_region = &matcher->old->regions[region->partner];
    matcher->is_copy = region->is_copy;
    for (int k = matcher->old_region->begin; k < matcher->old_region->end; k++) {
        matcher->taken[matcher->old->order[k]] = false;
    }
    match_parameters(matcher);
    match_all(matcher, key_and_place);
    match_all(matcher, key_and_name);
    match_all(matcher, key_of);
    match_rest(matcher);
    for (int k = region->begin; k < region->end; k++) {
        int node = matcher->new->order[k], partner = matcher->new->nodes[node].partner;
        if (partner == DIFF_NONE || !matcher->new->nodes[node].is_computing) {
            continue;
        }
        int count = matcher->new->nodes[node].instruction->called_count;
        int old_count = matcher->old->nodes[partner].instruction->called_count;
        for (int i = 0; i < count && i < old_count; i++) {
            int callee = diff_callee(matcher->new, node, i);
            int old_callee = diff_callee(matcher->old, partner, i);
            if (callee != DIFF_NONE && old_callee != DIFF_NONE) {
                pair_regions(matcher, old_callee, callee);
            }
        }
    }
}

static void drain(struct matcher *matcher, int *done)
{
    while (*done < matcher->queued) {
        match_region(matcher, matcher->queue[(*done)++]);
    }
}

/* Regions that no matched instruction calls: by what they compute, else by name. */
static void match_stray_regions(struct matcher *matcher, int *done)
{
    struct map keys, names;
    map_init(&keys);
    map_init(&names);
    struct diff_side *old = matcher->old, *new = matcher->new;
    for (int r = old->region_count; r-- > 0;) {
        struct diff_region *region = &old->regions[r];
        const char *name = old->contexts[region->context].computation->name;
        map_put_int(&keys, region->key, region);
        if (region->partner == DIFF_NONE) {
            map_put(&names, name, strlen(name), region);
        }
    }
    for (int r = 0; r < new->region_count; r++) {
        const struct diff_region *same = map_get_int(&keys, new->regions[r].key);
        if (same != NULL && new->regions[r].partner == DIFF_NONE) {
            pair_regions(matcher, (int)(same - old->regions), r);
            drain(matcher, done);
        }
    }
    for (int r = 0; r < new->region_count; r++) {
        const char *name = new->contexts[new->regions[r].context].computation->name;
        const struct diff_region *same = map_get(&names, name, strlen(name));
        if (same != NULL && same->partner == DIFF_NONE && new->regions[r].partner == DIFF_NONE) {
            pair_regions(matcher, (int)(same - old->regions), r);
            drain(matcher, done);
        }
    }
    map_finish(&keys);
    map_finish(&names);
}

void diff_match(struct diff_side *old, struct diff_side *new)
{
    struct matcher matcher = {
        .old = old,
        .new = new,
        .taken = memory_zalloc((size_t)old->node_count + 1),
        .queue = memory_alloc(((size_t) new->region_count + 1) * sizeof *matcher.queue),
    };
    int done = 0;
    pair_regions(&matcher, old->region_of[old->module->entry->id],
                 new->region_of[new->module->entry->id]);
    drain(&matcher, &done);
    match_stray_regions(&matcher, &done);
    free(matcher.taken);
    free(matcher.queue);
}
