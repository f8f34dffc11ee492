/* Builds the values of a module for its diff. */
#include "hlo/diff_graph.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/base/map.h"
#include "hlo/literal.h"

enum {
    MOST_CALLS = 256, /* a group's computation with more callers is not seen through */
    MOST_DEPTH = 200, /* nor is one that nests deeper */
    MOST_NODES = 1 << 21,
};

/* What does not change the value. Of a channel only the number does not: see hash_operation. */
static const bool is_ignored[ATTR_COUNT] = {
    [ATTR_METADATA] = true,
    [ATTR_ORIGIN] = true,
    [ATTR_STATISTICS] = true,
    [ATTR_SHARDING] = true,
    [ATTR_FRONTEND_ATTRIBUTES] = true,
    [ATTR_PARAMETER_REPLICATION] = true,
    [ATTR_RESULT_LAYOUT] = true,
    [ATTR_OPERAND_LAYOUT] = true,
    [ATTR_OPERAND_LAYOUT_CONSTRAINTS] = true,
    [ATTR_OUTPUT_TO_OPERAND_ALIASING] = true,
    [ATTR_CROSS_PROGRAM_PREFETCH_INDEX] = true,
    [ATTR_ASYNC_EXECUTION_THREAD] = true,
    [ATTR_CHANNEL_ID] = true,
    [ATTR_CONSTRAIN_LAYOUT] = true,
    [ATTR_SCHEDULE] = true,
    [ATTR_KIND] = true,
    [ATTR_IS_COMPOSITE] = true,
};

bool diff_attr_matters(const struct instruction *instruction, const struct attr *attr)
{
    if (attr->key == ATTR_BACKEND_CONFIG) {
        /* It holds factors, padding and the like; elsewhere only how to compute. */
        return instruction->opcode == OP_CUSTOM_CALL;
    }
    return !is_ignored[attr->key] && !attr_is_default(instruction, attr);
}

bool diff_is_group(const struct instruction *instruction)
{
    enum opcode opcode = instruction->opcode;
    return (opcode == OP_FUSION || opcode == OP_CALL || opcode == OP_ASYNC_START) &&
           instruction->called_count == 1 &&
           instruction->called[0]->parameter_count == instruction->operand_count;
}

/* Nothing else may follow from the callee that these name once more. */
static bool names_callee_again(const struct instruction *instruction)
{
    return instruction->opcode == OP_ASYNC_UPDATE || instruction->opcode == OP_ASYNC_DONE;
}

int diff_operand(const struct diff_side *side, int node, int i)
{
    const struct diff_node *user = &side->nodes[node];
    int base = side->contexts[user->context].base;
    return side->nodes[base + user->instruction->operands[i]->id].value;
}

int diff_callee(const struct diff_side *side, int node, int i)
{
    const struct diff_node *caller = &side->nodes[node];
    return caller->child != DIFF_NONE || names_callee_again(caller->instruction)
               ? DIFF_NONE
               : side->region_of[caller->instruction->called[i]->id];
}

/* --- hashes --- */

static uint64_t hash_order(const struct shape *shape, uint64_t hash)
{
    if (shape_is_array(shape)) {
        for (int i = 0; i < shape->layout->rank; i++) {
            hash = hash_u64((uint64_t)shape->layout->minor_to_major[i], hash);
        }
    }
    return hash;
}

static uint64_t hash_operation(const struct instruction *instruction)
{
    uint64_t hash = hash_u64((uint64_t)instruction->opcode, 1);
    hash = hash_u64(shape_without_layout(instruction->shape)->hash, hash);
    hash = hash_u64((uint64_t)instruction->operand_count, hash);
    for (int i = 0; i < instruction->attr_count; i++) {
        if (diff_attr_matters(instruction, &instruction->attrs[i])) {
            hash = hash_u64(attr_hash(&instruction->attrs[i]), hash);
        } else if (instruction->attrs[i].key == ATTR_CHANNEL_ID) {
            hash = hash_u64(ATTR_CHANNEL_ID, hash);
        }
    }
    if (instruction->opcode == OP_PARAMETER) {
        hash = hash_u64((uint64_t)instruction->number, hash);
    } else if (instruction->elided) {
        /* Its value is unknown; the fill depends on how many there are before it. */
        hash = hash_bytes(instruction->name, strlen(instruction->name), hash);
    } else if (instruction->literal != NULL) {
        hash = hash_u64(literal_hash(instruction->literal), hash);
    } else if (instruction->opcode == OP_BITCAST && instruction->operand_count == 1) {
        /* The one opcode whose value depends on layouts. */
        hash = hash_order(instruction->operands[0]->shape, hash_order(instruction->shape, hash));
    }
    return hash;
}

static uint64_t hash_value(const struct diff_side *side, int node)
{
    const struct diff_node *n = &side->nodes[node];
    uint64_t hash = n->operation;
    if (n->instruction->opcode == OP_PARAMETER) {
        const struct diff_context *context = &side->contexts[n->context];
        bool of_entry = context->computation == side->module->entry;
        return hash_u64(of_entry ? 1 : 2, hash);
    }
    for (int i = 0; i < n->instruction->operand_count; i++) {
        hash = hash_u64(side->nodes[diff_operand(side, node, i)].key, hash);
    }
    for (int i = 0; i < n->instruction->called_count; i++) {
        int callee = diff_callee(side, node, i);
        hash = hash_u64(callee == DIFF_NONE ? 0 : side->regions[callee].key, hash);
    }
    return hash;
}

/* --- contexts --- */

/* Which computations are regions. Those that nothing calls are left out: compilers leave some. */
static void find_regions(const struct module *module, int *region_of)
{
    size_t count = (size_t)module->count;
    uint64_t *calls = memory_zalloc((count + 1) * sizeof *calls);
    int *height = memory_zalloc((count + 1) * sizeof *height);
    bool *is_region = memory_zalloc(count + 1);
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *instruction = computation->instructions[i];
            if (diff_is_group(instruction) && height[instruction->called[0]->id] >= height[c]) {
                height[c] = height[instruction->called[0]->id] + 1;
            }
        }
    }
    bool *is_alive = memory_zalloc(count + 1);
    is_alive[module->entry->id] = true;
    uint64_t nodes = 0;
    for (int c = module->count - 1; c >= 0; c--) {
        const struct computation *computation = module->computations[c];
        region_of[c] = DIFF_NONE;
        if (!is_alive[c]) {
            continue;
        }
        uint64_t size = (uint64_t)computation->count;
        if (computation == module->entry || calls[c] > MOST_CALLS || height[c] > MOST_DEPTH ||
            nodes + calls[c] * size > MOST_NODES) {
            is_region[c] = true;
        }
        calls[c] = is_region[c] ? 1 : calls[c];
        nodes += calls[c] * size;
        region_of[c] = is_region[c] ? 0 : DIFF_NONE;
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *instruction = computation->instructions[i];
            for (int k = 0; k < instruction->called_count; k++) {
                int callee = instruction->called[k]->id;
                is_alive[callee] = true;
                if (diff_is_group(instruction)) {
                    calls[callee] += calls[c];
                } else if (!names_callee_again(instruction)) {
                    is_region[callee] = true;
                }
            }
        }
    }
    free(calls);
    free(height);
    free(is_region);
    free(is_alive);
}

static int build_context(struct diff_side *side, const struct computation *computation, int caller,
                         int region);

/* What the node is: a value of its own, or that of another. */
static void build_node(struct diff_side *side, int node, bool groups_open)
{
    const struct instruction *instruction = side->nodes[node].instruction;
    const struct diff_context context = side->contexts[side->nodes[node].context];
    int value = node;
    bool is_bracket = false;
    switch (instruction->opcode) {
    case OP_PARAMETER:
        if (context.caller != DIFF_NONE) {
            value = diff_operand(side, context.caller, (int)instruction->number);
        }
        break;
    case OP_GET_TUPLE_ELEMENT: {
        int tuple = diff_operand(side, node, 0);
        int64_t index = attr_int(instruction, ATTR_INDEX, 0);
        const struct instruction *source = side->nodes[tuple].instruction;
        if (source->opcode == OP_TUPLE && index >= 0 && index < source->operand_count) {
            value = diff_operand(side, tuple, (int)index);
        }
        break;
    }
    case OP_FUSION:
    case OP_CALL:
    case OP_ASYNC_START:
        if (groups_open && diff_is_group(instruction)) {
            int child = build_context(side, instruction->called[0], node, context.region);
            side->nodes[node].child = child;
            is_bracket = true;
            if (instruction->opcode != OP_ASYNC_START) {
                int root = side->contexts[child].base + instruction->called[0]->root->id;
                value = side->nodes[root].value;
            }
        }
        break;
    case OP_ASYNC_UPDATE:
    case OP_ASYNC_DONE: {
        int start = diff_operand(side, node, 0);
        int child = side->nodes[start].child;
        if (side->nodes[start].instruction->opcode == OP_ASYNC_START && child != DIFF_NONE) {
            const struct diff_context *inner = &side->contexts[child];
            value = instruction->opcode == OP_ASYNC_UPDATE
                        ? start
                        : side->nodes[inner->base + inner->computation->root->id].value;
        }
        break;
    }
    default:
        break;
    }
    struct diff_node *n = &side->nodes[node];
    n->value = value;
    n->is_computing = value == node && !is_bracket;
    n->operation = hash_operation(instruction);
    n->key = value == node ? hash_value(side, node) : side->nodes[value].key;
    if (value == node && n->child != DIFF_NONE) { /* async-start */
        const struct diff_context *inner = &side->contexts[n->child];
        n->key = hash_u64(side->nodes[inner->base + inner->computation->root->id].key, n->key);
    }
    side->order =
        grow(side->order, (size_t)side->order_count, &side->order_capacity, sizeof *side->order);
    side->order[side->order_count++] = node;
}

static int build_context(struct diff_side *side, const struct computation *computation, int caller,
                         int region)
{
    int index = side->context_count, base = side->node_count;
    int depth = caller == DIFF_NONE ? 0 : side->contexts[side->nodes[caller].context].depth + 1;
    side->contexts = grow(side->contexts, (size_t)side->context_count, &side->context_capacity,
                          sizeof *side->contexts);
    side->contexts[side->context_count++] =
        (struct diff_context){computation, base, caller, region, depth};
    if (side->context_of[computation->id] == DIFF_NONE) {
        side->context_of[computation->id] = index;
    }
    for (int i = 0; i < computation->count; i++) {
        side->nodes =
            grow(side->nodes, (size_t)side->node_count, &side->node_capacity, sizeof *side->nodes);
        side->nodes[side->node_count++] =
            (struct diff_node){.instruction = computation->instructions[i],
                               .context = index,
                               .value = base + i,
                               .child = DIFF_NONE,
                               .partner = DIFF_NONE};
    }
    for (int i = 0; i < computation->count; i++) {
        const struct instruction *instruction = computation->instructions[i];
        bool groups_open =
            diff_is_group(instruction) && side->region_of[instruction->called[0]->id] == DIFF_NONE;
        build_node(side, base + i, groups_open);
    }
    return index;
}

static void build_users(struct diff_side *side)
{
    size_t count = (size_t)side->node_count;
    side->user_first = memory_zalloc((count + 2) * sizeof *side->user_first);
    size_t total = 0;
    for (int n = 0; n < side->node_count; n++) {
        int operands = side->nodes[n].is_computing ? side->nodes[n].instruction->operand_count : 0;
        for (int i = 0; i < operands; i++) {
            side->user_first[diff_operand(side, n, i) + 2]++;
            total++;
        }
    }
    for (size_t n = 2; n <= count + 1; n++) {
        side->user_first[n] += side->user_first[n - 1];
    }
    side->users = memory_alloc((total + 1) * sizeof *side->users);
    for (int k = 0; k < side->order_count; k++) {
        int n = side->order[k];
        int operands = side->nodes[n].is_computing ? side->nodes[n].instruction->operand_count : 0;
        for (int i = 0; i < operands; i++) {
            side->users[side->user_first[diff_operand(side, n, i) + 1]++] = n;
        }
    }
}

void diff_side_build(const struct module *module, struct diff_side *side)
{
    *side = (struct diff_side){.module = module};
    size_t count = (size_t)module->count + 1;
    side->region_of = memory_alloc(count * sizeof *side->region_of);
    side->context_of = memory_alloc(count * sizeof *side->context_of);
    find_regions(module, side->region_of);
    for (int c = 0; c < module->count; c++) {
        side->context_of[c] = DIFF_NONE;
    }
    /* Callees come first, so a region's key is there when a caller asks for it. */
    for (int c = 0; c < module->count; c++) {
        if (side->region_of[c] == DIFF_NONE) {
            continue;
        }
        int region = side->region_count, begin = side->order_count;
        side->region_of[c] = region;
        side->regions = grow(side->regions, (size_t)side->region_count, &side->region_capacity,
                             sizeof *side->regions);
        side->region_count++;
        const struct computation *computation = module->computations[c];
        int context = build_context(side, computation, DIFF_NONE, region);
        const struct diff_node *root =
            &side->nodes[side->contexts[context].base + computation->root->id];
        side->regions[region] = (struct diff_region){
            .context = context,
            .begin = begin,
            .end = side->order_count,
            .key = hash_u64(root->key, (uint64_t)computation->parameter_count),
            .partner = DIFF_NONE,
        };
    }
    build_users(side);
}

void diff_side_finish(struct diff_side *side)
{
    free(side->nodes);
    free(side->contexts);
    free(side->regions);
    free(side->order);
    free(side->region_of);
    free(side->context_of);
    free(side->user_first);
    free(side->users);
}
