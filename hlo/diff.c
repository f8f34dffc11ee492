/* Says what differs, once the values of two modules are matched. */
#include "hlo/diff.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/base/map.h"
#include "hlo/diff_graph.h"

/* What became of an instruction, over all contexts it is in; the best counts. */
enum fate { FATE_NONE, FATE_ALONE, FATE_CHANGED, FATE_KEPT };

struct verdict {
    enum fate fate;
    const struct instruction *other; /* of a changed one */
};

struct differ {
    struct diff *diff;
    struct diff_side old, new;
    struct verdict **old_verdicts, **new_verdicts; /* by computation and instruction */
    struct map *old_keys, *new_keys;               /* by region: the first node with that key */
    int *groups; /* by old value: the outermost group whose result it is */
    size_t capacity;
};

/* --- judging --- */

static struct verdict **make_verdicts(const struct module *module)
{
    struct verdict **verdicts = memory_alloc(((size_t)module->count + 1) * sizeof *verdicts);
    for (int c = 0; c < module->count; c++) {
        size_t count = (size_t)module->computations[c]->count;
        verdicts[c] = memory_zalloc((count + 1) * sizeof **verdicts);
    }
    return verdicts;
}

static void free_verdicts(struct verdict **verdicts, const struct module *module)
{
    for (int c = 0; c < module->count; c++) {
        free(verdicts[c]);
    }
    free(verdicts);
}

/* Node numbers plus one, since a map holds no NULL. */
static struct map *make_keys(const struct diff_side *side)
{
    struct map *maps = memory_alloc(((size_t)side->region_count + 1) * sizeof *maps);
    for (int r = 0; r < side->region_count; r++) {
        map_init(&maps[r]);
        for (int k = side->regions[r].end; k-- > side->regions[r].begin;) {
            int node = side->order[k];
            if (side->nodes[node].is_computing) {
                map_put_int(&maps[r], side->nodes[node].key, &side->nodes[node]);
            }
        }
    }
    return maps;
}

static void free_keys(struct map *maps, const struct diff_side *side)
{
    for (int r = 0; r < side->region_count; r++) {
        map_finish(&maps[r]);
    }
    free(maps);
}

static void judge(struct verdict **verdicts, const struct instruction *instruction, enum fate fate,
                  const struct instruction *other)
{
    struct verdict *verdict = &verdicts[instruction->parent->id][instruction->id];
    if (fate > verdict->fate) {
        *verdict = (struct verdict){fate, other};
    }
}

/* What may come and go in any number without meaning anything: the values that need no operand, and
 * the copies that a group makes for itself. So may the tuple of a group's results. */
static bool is_free(const struct diff_side *side, int node)
{
    const struct diff_node *n = &side->nodes[node];
    return n->instruction->operand_count == 0 || side->contexts[n->context].depth > 0;
}

static bool is_group_result(const struct diff_side *side, int node)
{
    const struct diff_node *n = &side->nodes[node];
    return n->instruction->opcode == OP_TUPLE && side->contexts[n->context].depth > 0 &&
           n->instruction == n->instruction->parent->root;
}

static bool same_value(const struct differ *differ, int old, int new)
{
    return differ->new.nodes[new].partner == old ||
           differ->new.nodes[new].key == differ->old.nodes[old].key;
}

static bool same_callee(const struct differ *differ, int old, int new)
{
    if (old == DIFF_NONE || new == DIFF_NONE) {
        return old == new;
    }
    return differ->new.regions[new].partner == old ||
           differ->new.regions[new].key == differ->old.regions[old].key;
}

static bool is_kept(const struct differ *differ, int old, int new)
{
    const struct diff_node *a = &differ->old.nodes[old], *b = &differ->new.nodes[new];
    if (a->key == b->key) {
        return true;
    }
    if (a->operation != b->operation ||
        a->instruction->called_count != b->instruction->called_count) {
        return false;
    }
    for (int i = 0; i < a->instruction->operand_count; i++) {
        if (!same_value(differ, diff_operand(&differ->old, old, i),
                        diff_operand(&differ->new, new, i))) {
            return false;
        }
    }
    for (int i = 0; i < a->instruction->called_count; i++) {
        if (!same_callee(differ, diff_callee(&differ->old, old, i),
                         diff_callee(&differ->new, new, i))) {
            return false;
        }
    }
    return true;
}

static int region_of_node(const struct diff_side *side, int node)
{
    return side->contexts[side->nodes[node].context].region;
}

/* The first value of the other module's region that is computed like this one, or NONE. */
static int find_same(const struct diff_side *side, const struct map *keys, int region, uint64_t key)
{
    const struct diff_node *same = region == DIFF_NONE ? NULL : map_get_int(&keys[region], key);
    return same == NULL ? DIFF_NONE : (int)(same - side->nodes);
}

static void judge_new(struct differ *differ)
{
    struct diff_side *side = &differ->new;
    for (int k = 0; k < side->order_count; k++) {
        int node = side->order[k];
        struct diff_node *n = &side->nodes[node];
        if (!n->is_computing || is_group_result(side, node)) {
            continue;
        }
        enum fate fate = FATE_ALONE;
        const struct instruction *other = NULL;
        if (n->partner != DIFF_NONE) {
            other = differ->old.nodes[n->partner].instruction;
            fate = is_kept(differ, n->partner, node) ? FATE_KEPT : FATE_CHANGED;
        } else {
            int region = side->regions[region_of_node(side, node)].partner;
            int same = find_same(&differ->old, differ->old_keys, region, n->key);
            n->partner = same; /* one more of what was there */
            bool hidden = same != DIFF_NONE && is_free(side, node);
            fate = hidden || (region == DIFF_NONE && n->instruction->opcode == OP_PARAMETER)
                       ? FATE_KEPT
                       : FATE_ALONE;
        }
        judge(differ->new_verdicts, n->instruction, fate, other);
    }
}

static void judge_old(struct differ *differ)
{
    const struct diff_side *side = &differ->old;
    struct map regions;
    map_init(&regions);
    for (int r = 0; r < differ->new.region_count; r++) {
        map_put_int(&regions, differ->new.regions[r].key, &differ->new.regions[r]);
    }
    for (int k = 0; k < side->order_count; k++) {
        int node = side->order[k];
        const struct diff_node *n = &side->nodes[node];
        if (!n->is_computing || is_group_result(side, node)) {
            continue;
        }
        const struct diff_region *region = &side->regions[region_of_node(side, node)];
        bool kept = n->partner != DIFF_NONE;
        if (!kept && region->partner != DIFF_NONE) {
            int same = find_same(&differ->new, differ->new_keys, region->partner, n->key);
            kept = same != DIFF_NONE && is_free(side, node);
        } else if (!kept) {
            /* One of several equal computations, or not worth naming. */
            kept = map_get_int(&regions, region->key) != NULL ||
                   n->instruction->opcode == OP_PARAMETER;
        }
        judge(differ->old_verdicts, n->instruction, kept ? FATE_KEPT : FATE_ALONE, NULL);
    }
    map_finish(&regions);
}

/* --- the entries --- */

/* Where a removed instruction stood: before this instruction of the new module. */
struct anchor {
    int computation, instruction;
    int position; /* among the old instructions */
    const struct instruction *old;
};

static int by_anchor(const void *left, const void *right)
{
    const struct anchor *a = left, *b = right;
    if (a->computation != b->computation) {
        return a->computation - b->computation;
    }
    return a->instruction != b->instruction ? a->instruction - b->instruction
                                            : a->position - b->position;
}

/* The anchors of all old nodes, users before operands: a user's counterpart, or its anchor. */
static struct anchor *place_nodes(const struct differ *differ)
{
    const struct diff_side *old = &differ->old, *new = &differ->new;
    struct anchor *anchors = memory_alloc(((size_t)old->node_count + 1) * sizeof *anchors);
    for (int k = old->order_count; k-- > 0;) {
        int node = old->order[k];
        struct anchor *anchor = &anchors[node];
        *anchor = (struct anchor){DIFF_NONE, 0, k, old->nodes[node].instruction};
        int partner = old->nodes[node].partner;
        if (partner != DIFF_NONE) {
            const struct instruction *instruction = new->nodes[partner].instruction;
            anchor->computation = instruction->parent->id;
            anchor->instruction = instruction->id;
        }
        for (int u = old->user_first[node];
             anchor->computation == DIFF_NONE && u < old->user_first[node + 1]; u++) {
            const struct anchor *user = &anchors[old->users[u]];
            anchor->computation = user->computation;
            anchor->instruction = user->instruction;
        }
        if (anchor->computation == DIFF_NONE) {
            /* Nobody's operand: at the end of the region's counterpart. */
            int region = old->regions[region_of_node(old, node)].partner;
            region = region == DIFF_NONE ? new->region_of[new->module->entry->id] : region;
            const struct computation *computation =
                new->contexts[new->regions[region].context].computation;
            anchor->computation = computation->id;
            anchor->instruction = computation->count;
        }
    }
    return anchors;
}

/* Each removed instruction once, sorted. */
static struct anchor *find_removed(const struct differ *differ, int *count)
{
    struct anchor *anchors = place_nodes(differ);
    struct anchor *removed = memory_alloc(((size_t)differ->old.node_count + 1) * sizeof *removed);
    *count = 0;
    for (int k = 0; k < differ->old.order_count; k++) {
        int node = differ->old.order[k];
        const struct instruction *instruction = differ->old.nodes[node].instruction;
        struct verdict *verdict = &differ->old_verdicts[instruction->parent->id][instruction->id];
        if (verdict->fate == FATE_ALONE && differ->old.nodes[node].is_computing) {
            verdict->fate = FATE_NONE; /* seen */
            removed[(*count)++] = anchors[node];
        }
    }
    qsort(removed, (size_t)*count, sizeof *removed, by_anchor);
    free(anchors);
    return removed;
}

static void add_entry(struct differ *differ, struct diff_entry entry)
{
    struct diff *diff = differ->diff;
    diff->entries =
        grow(diff->entries, (size_t)diff->count, &differ->capacity, sizeof *diff->entries);
    diff->entries[diff->count++] = entry;
}

static void make_entries(struct differ *differ)
{
    int count, next = 0;
    struct anchor *removed = find_removed(differ, &count);
    const struct module *module = differ->new.module;
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i <= module->computations[c]->count; i++) {
            for (; next < count && removed[next].computation == c && removed[next].instruction == i;
                 next++) {
                add_entry(differ, (struct diff_entry){DIFF_REMOVED, removed[next].old, NULL, c, i});
            }
            if (i == module->computations[c]->count) {
                break;
            }
            const struct instruction *instruction = module->computations[c]->instructions[i];
            const struct verdict *verdict = &differ->new_verdicts[c][i];
            if (verdict->fate == FATE_ALONE) {
                add_entry(differ, (struct diff_entry){DIFF_ADDED, NULL, instruction, c, i});
            } else if (verdict->fate == FATE_CHANGED) {
                add_entry(differ,
                          (struct diff_entry){DIFF_CHANGED, verdict->other, instruction, c, i});
            }
        }
    }
    free(removed);
}

/* --- matches and counterparts --- */

static void find_groups(struct differ *differ)
{
    const struct diff_side *old = &differ->old;
    differ->groups = memory_alloc(((size_t)old->node_count + 1) * sizeof *differ->groups);
    for (int n = 0; n < old->node_count; n++) {
        differ->groups[n] = DIFF_NONE;
    }
    for (int k = 0; k < old->order_count; k++) {
        int node = old->order[k], value = old->nodes[node].value;
        if (old->nodes[node].child == DIFF_NONE || value == node) {
            continue;
        }
        int group = differ->groups[value];
        int depth = old->contexts[old->nodes[node].context].depth;
        if (group == DIFF_NONE || depth < old->contexts[old->nodes[group].context].depth) {
            differ->groups[value] = node;
        }
    }
}

static void fill_matches(struct differ *differ)
{
    struct diff *diff = differ->diff;
    const struct diff_side *old = &differ->old, *new = &differ->new;
    size_t computations = (size_t) new->module->count;
    diff->matches = arena_array(&diff->arena, computations + 1, sizeof *diff->matches);
    diff->counterparts = arena_array(&diff->arena, computations + 1, sizeof *diff->counterparts);
    for (int c = 0; c < new->module->count; c++) {
        size_t count = (size_t) new->module->computations[c]->count;
        diff->matches[c] = arena_array(&diff->arena, count + 1, sizeof **diff->matches);
        diff->counterparts[c] = arena_array(&diff->arena, count + 1, sizeof **diff->counterparts);
        if (new->context_of[c] == DIFF_NONE) {
            continue;
        }
        const struct diff_context *context = &new->contexts[new->context_of[c]];
        for (size_t i = 0; i < count; i++) {
            int value = new->nodes[context->base + (int)i].value;
            int partner = new->nodes[value].partner;
            if (partner == DIFF_NONE) {
                continue;
            }
            int place = partner;
            if (context->depth == 0 && old->contexts[old->nodes[partner].context].depth > 0 &&
                differ->groups[partner] != DIFF_NONE) {
                place = differ->groups[partner];
            }
            diff->counterparts[c][i] = old->nodes[place].instruction;
            if (old->nodes[partner].key == new->nodes[value].key) {
                diff->matches[c][i] = old->nodes[place].instruction;
            }
        }
    }
}

/* --- groups --- */

static int by_size(const void *left, const void *right)
{
    int a = *(const int *)left, b = *(const int *)right;
    return (a > b) - (a < b);
}

/* The make-up of a group: which values it computes, each once, as the first old nodes that compute
 * them. Zero when it computes nothing of weight. */
static uint64_t hash_group(const struct differ *differ, const struct diff_side *side, int context)
{
    const struct diff_context *group = &side->contexts[context];
    int *members = memory_alloc(((size_t)group->computation->count + 1) * sizeof *members);
    size_t count = 0;
    for (int i = 0; i < group->computation->count; i++) {
        const struct diff_node *n = &side->nodes[group->base + i];
        if (!n->is_computing || is_group_result(side, group->base + i) ||
            n->instruction->operand_count == 0) {
            continue;
        }
        int old = side == &differ->old ? group->base + i : n->partner;
        if (old == DIFF_NONE) {
            members[count++] = -2 - (group->base + i); /* in no old group */
            continue;
        }
        members[count++] = find_same(&differ->old, differ->old_keys,
                                     region_of_node(&differ->old, old), differ->old.nodes[old].key);
    }
    qsort(members, count, sizeof *members, by_size);
    uint64_t hash = count == 0 ? 0 : (uint64_t)side->nodes[group->caller].instruction->opcode + 1;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || members[i] != members[i - 1]) {
            hash = hash_u64((uint64_t)members[i], hash);
        }
    }
    free(members);
    return hash;
}

/* The groups of one side that have no like on the other. */
static int list_groups(const struct differ *differ, const struct diff_side *side,
                       const struct diff_side *other, const struct instruction **list)
{
    struct map others;
    map_init(&others);
    for (int c = 0; c < other->context_count; c++) {
        if (other->contexts[c].caller != DIFF_NONE) {
            map_put_int(&others, hash_group(differ, other, c), &others);
        }
    }
    int count = 0;
    for (int c = 0; c < side->context_count; c++) {
        if (side->contexts[c].caller != DIFF_NONE) {
            uint64_t hash = hash_group(differ, side, c);
            if (hash != 0 && map_get_int(&others, hash) == NULL) {
                list[count++] = side->nodes[side->contexts[c].caller].instruction;
            }
        }
    }
    map_finish(&others);
    return count;
}

static void compare_groups(struct differ *differ)
{
    struct diff *diff = differ->diff;
    const struct diff_side *old = &differ->old, *new = &differ->new;
    size_t size = sizeof *diff->regrouped;
    diff->regrouped = arena_array(&diff->arena, (size_t) new->context_count + 1, size);
    diff->dissolved = arena_array(&diff->arena, (size_t)old->context_count + 1, size);
    diff->regrouped_count = list_groups(differ, new, old, diff->regrouped);
    diff->dissolved_count = list_groups(differ, old, new, diff->dissolved);
}

/* --- nothing but layouts or the schedule --- */

/* Does a scheduled region do things in another order than its counterpart? */
static bool differs_in_order(const struct differ *differ, const struct diff_region *region)
{
    const struct diff_side *old = &differ->old, *new = &differ->new;
    const struct diff_context *context = &new->contexts[region->context];
    int last = DIFF_NONE;
    for (int i = 0; region->partner != DIFF_NONE && i < context->computation->count; i++) {
        int partner = new->nodes[context->base + i].partner;
        if (partner == DIFF_NONE ||
            old->nodes[partner].context != old->regions[region->partner].context) {
            continue;
        }
        if (partner < last) {
            return true;
        }
        last = partner;
    }
    return false;
}

static bool differs_in_form(const struct differ *differ)
{
    const struct diff *diff = differ->diff;
    if (diff->old->config.is_scheduled != diff->new->config.is_scheduled ||
        module_result_shape(diff->old) != module_result_shape(diff->new)) {
        return true;
    }
    for (int c = 0; c < diff->new->count; c++) {
        const struct computation *computation = diff->new->computations[c];
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *other = diff->counterparts[c][i];
            if (other != NULL && other->shape != computation->instructions[i]->shape) {
                return true;
            }
        }
    }
    for (int r = 0; diff->new->config.is_scheduled &&r < differ->new.region_count; r++) {
        if (differs_in_order(differ, &differ->new.regions[r])) {
            return true;
        }
    }
    return false;
}

void diff_modules(const struct module *old, const struct module *new, struct diff *diff)
{
    *diff = (struct diff){.old = old, .new = new};
    arena_init(&diff->arena);
    struct differ differ = {.diff = diff};
    diff_side_build(old, &differ.old);
    diff_side_build(new, &differ.new);
    diff_match(&differ.old, &differ.new);
    differ.old_verdicts = make_verdicts(old);
    differ.new_verdicts = make_verdicts(new);
    differ.old_keys = make_keys(&differ.old);
    differ.new_keys = make_keys(&differ.new);
    judge_new(&differ);
    judge_old(&differ);
    make_entries(&differ);
    find_groups(&differ);
    fill_matches(&differ);
    compare_groups(&differ);
    diff->layouts_only = diff->count == 0 && diff->regrouped_count == 0 &&
                         diff->dissolved_count == 0 && differs_in_form(&differ);
    free(differ.groups);
    free_verdicts(differ.old_verdicts, old);
    free_verdicts(differ.new_verdicts, new);
    free_keys(differ.old_keys, &differ.old);
    free_keys(differ.new_keys, &differ.new);
    diff_side_finish(&differ.old);
    diff_side_finish(&differ.new);
}

void diff_finish(struct diff *diff)
{
    free(diff->entries);
    arena_finish(&diff->arena);
    *diff = (struct diff){.count = 0};
}
