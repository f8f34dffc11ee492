/* A module's entry as a graph of nodes: what only passes values on is gone, and what is the same is
 * there once. */
#include <stdlib.h>
#include <string.h>

#include "hlo/async.h"
#include "interp/cache.h"
#include "interp/custom_call_internal.h"
#include "interp/mixed.h"
#include "interp/plan.h"
#include "interp/special.h"

/* Larger graphs (calls of calls of calls) are not made. */
enum { NODE_LIMIT = 4000000, DEPTH_LIMIT = 400 };

/* What is known of a computation. */
struct outline {
    const bool *live; /* plan_find_live */
    struct key key;   /* of its value as a function of its parameters */
    bool has_key, pure;
};

struct builder {
    struct graph *graph;
    struct outline *outlines; /* by computation id */
    struct node **table;      /* open addressing, by key */
    size_t table_capacity;
    uint64_t impure; /* so many were there */
    int depth;
    bool failed;
};

/* --- trees --- */

static struct tree *tree_make(struct builder *builder, const struct shape *shape)
{
    struct arena *arena = &builder->graph->arena;
    struct tree *tree = arena_alloc(arena, sizeof *tree);
    tree->shape = shape;
    if (shape_is_tuple(shape)) {
        tree->elements = arena_array(arena, (size_t)shape->count, sizeof(struct tree *));
    }
    return tree;
}

static struct tree *tree_of_node(struct builder *builder, struct node *node,
                                 const struct shape *shape)
{
    struct tree *tree = tree_make(builder, shape);
    tree->node = node;
    return tree;
}

void tree_visit(struct tree *tree, void (*visit)(void *context, struct tree *leaf), void *context)
{
    if (!shape_is_tuple(tree->shape)) {
        visit(context, tree);
        return;
    }
    for (int i = 0; i < tree->shape->count; i++) {
        tree_visit(tree->elements[i], visit, context);
    }
}

/* The same values under a shape that differs in layouts, or has other dimensions of as many
 * elements. */
static struct tree *retyped(struct builder *builder, struct tree *tree, const struct shape *shape)
{
    if (tree->shape == shape || builder->failed) {
        return tree;
    }
    struct tree *result = tree_make(builder, shape);
    result->node = tree->node;
    if (shape_is_tuple(shape) != shape_is_tuple(tree->shape) ||
        (shape_is_tuple(shape)
             ? shape->count != tree->shape->count
             : shape->type != tree->shape->type ||
                   shape_elements(shape) != shape_elements(tree->shape) ||
                   (shape->dynamic != NULL) != (tree->shape->dynamic != NULL) ||
                   (shape->dynamic != NULL && !shape_compatible(shape, tree->shape)))) {
        builder->failed = true;
        return tree;
    }
    for (int i = 0; i < shape->count && shape_is_tuple(shape); i++) {
        result->elements[i] = retyped(builder, tree->elements[i], shape->elements[i]);
    }
    return result;
}

/* --- nodes --- */

static struct node **table_place(struct builder *builder, struct key key)
{
    size_t at = key.words[0] & (builder->table_capacity - 1);
    while (builder->table[at] != NULL && !key_equal(builder->table[at]->key, key)) {
        at = (at + 1) & (builder->table_capacity - 1);
    }
    return &builder->table[at];
}

static void table_enlarge(struct builder *builder)
{
    struct node **old = builder->table;
    size_t count = builder->table_capacity;
    builder->table_capacity = count == 0 ? 1024 : 2 * count;
    builder->table = memory_zalloc(builder->table_capacity * sizeof(struct node *));
    for (size_t i = 0; i < count; i++) {
        if (old[i] != NULL) {
            *table_place(builder, old[i]->key) = old[i];
        }
    }
    free(old);
}

/* The node of a key; a new one has nothing but the key and a place in order. */
static struct node *node_of(struct builder *builder, struct key key, bool *is_new)
{
    struct graph *graph = builder->graph;
    if (2 * (graph->count + 1) > builder->table_capacity) {
        table_enlarge(builder);
    }
    struct node **place = table_place(builder, key);
    *is_new = *place == NULL;
    if (*is_new) {
        struct node *node = arena_alloc(&graph->arena, sizeof *node);
        *node = (struct node){
            .key = key, .resolved = key, .number = -1, .pure = true, .id = (int)graph->count};
        graph->nodes = grow(graph->nodes, graph->count, &graph->capacity, sizeof *graph->nodes);
        graph->nodes[graph->count++] = node;
        *place = node;
        builder->failed = builder->failed || graph->count > NODE_LIMIT;
    }
    return *place;
}

/* The contents of a contraction that is known by another name; -1. */
static int find_twin(struct builder *builder, const struct node *op)
{
    const struct key *known[4];
    enum opcode opcode = op->kind == NODE_OP ? op->instruction->opcode : OP_TUPLE;
    if ((opcode != OP_DOT && opcode != OP_CONVOLUTION && opcode != OP_CUSTOM_CALL) ||
        op->operand_count > 4) {
        return -1;
    }
    for (int k = 0; k < op->operand_count; k++) {
        const struct node *operand = op->operands[k]->node;
        if (operand == NULL || (operand->literal == NULL && operand->number < 0)) {
            return -1;
        }
        known[k] = &operand->resolved;
    }
    struct twin twin;
    return twin_find(op->instruction, NULL, known, builder->graph->bf16_products, &twin)
               ? twin_contents(builder->graph->cache, &twin)
               : -1;
}

/* Looks up what is known of the node's contents. */
static void resolve(struct builder *builder, struct node *node)
{
    struct interp_cache *cache = builder->graph->cache;
    if (node->kind == NODE_OP) {
        node->resolved = graph_key(node, true);
    } else if (node->kind == NODE_PART) {
        node->resolved = node->whole->resolved;
        key_add(&node->resolved, (uint64_t)node->part);
    }
    if (!node->pure || !shape_is_array(node->shape)) {
        return;
    }
    node->number = cache_find(cache, node->key);
    if (node->number < 0) {
        node->number = cache_find(cache, node->resolved);
        if (node->number < 0 && (node->kind == NODE_OP || node->part == 0)) {
            node->number = find_twin(builder, node->kind == NODE_PART ? node->whole : node);
        }
        if (node->number >= 0) {
            cache_link(cache, node->key, node->number);
        }
    }
    if (node->number >= 0) {
        node->resolved = cache_contents(cache, node->number)->key;
    }
}

/* A node whose value is at hand. */
static struct node *node_of_literal(struct builder *builder, struct literal *literal,
                                    struct key key, enum node_kind kind)
{
    bool is_new;
    struct node *node = node_of(builder, key, &is_new);
    if (is_new) {
        node->kind = kind;
        node->shape = literal->shape;
        node->literal = literal;
    }
    return node;
}

static struct tree *constant_tree(struct builder *builder, struct literal *literal,
                                  const struct shape *shape)
{
    struct tree *tree = tree_make(builder, shape);
    if (shape_is_tuple(shape)) {
        for (int i = 0; i < shape->count; i++) {
            tree->elements[i] = constant_tree(builder, literal->elements[i], shape->elements[i]);
        }
    } else {
        tree->node = node_of_literal(builder, literal, key_of_contents(literal), NODE_CONSTANT);
    }
    return tree;
}

static struct tree *argument_tree(struct builder *builder, struct literal *literal,
                                  const struct shape *shape)
{
    struct tree *tree = tree_make(builder, shape);
    if (shape_is_tuple(shape)) {
        for (int i = 0; i < shape->count; i++) {
            tree->elements[i] = argument_tree(builder, literal->elements[i], shape->elements[i]);
        }
    } else {
        struct key key = cache_argument_key(builder->graph->cache, literal);
        tree->node = node_of_literal(builder, literal, key, NODE_GIVEN);
    }
    return tree;
}

/* --- keys of ops --- */

struct key_context {
    struct key *key;
    bool resolved, flat;
};

static void add_leaf(void *context, struct tree *leaf)
{
    struct key_context *into = context;
    key_add_key(into->key, into->resolved ? leaf->node->resolved : leaf->node->key);
    if (into->flat) {
        key_add(into->key, (uint64_t)leaf->shape->type);
    } else {
        key_add_shape(into->key, leaf->shape);
    }
}

struct key graph_key(const struct node *node, bool resolved)
{
    struct key key = node->local;
    struct key_context context = {&key, resolved, node->flat};
    for (int k = 0; k < node->operand_count; k++) {
        tree_visit(node->operands[k], add_leaf, &context);
    }
    return key;
}

static bool is_static_array(const struct shape *shape)
{
    return shape_is_array(shape) && shape->dynamic == NULL;
}

/* Does the same to each element of its operands, which are as many as those of its result? */
static bool is_flat(const struct instruction *instruction)
{
    static const char *const evaluators[] = {"unary",           "binary",          "compare",
                                             "select",          "clamp",           "convert",
                                             "bitcast_convert", "reduce_precision"};
    bool found = false;
    for (size_t i = 0; i < sizeof evaluators / sizeof *evaluators; i++) {
        found = found || strcmp(opcode_table[instruction->opcode].eval, evaluators[i]) == 0;
    }
    found = found && is_static_array(instruction->shape);
    for (int k = 0; k < instruction->operand_count && found; k++) {
        const struct shape *shape = instruction->operands[k]->shape;
        found = is_static_array(shape) &&
                shape_elements(shape) == shape_elements(instruction->shape) &&
                (instruction->opcode != OP_BITCAST_CONVERT ||
                 type_bytes(shape->type) == type_bytes(instruction->shape->type));
    }
    return found;
}

/* Do layouts matter to the value? */
static bool reads_layouts(const struct instruction *instruction)
{
    return instruction->opcode == OP_BITCAST || instruction->opcode == OP_CUSTOM_CALL;
}

static void outline_computation(struct builder *builder, const struct computation *computation);

static struct key local_key(struct builder *builder, const struct instruction *instruction,
                            bool flat)
{
    struct key key = key_begin(2 + (uint64_t)flat);
    key_add(&key, (uint64_t)instruction->opcode);
    if (flat) {
        key_add(&key, (uint64_t)instruction->shape->type);
        key_add(&key, (uint64_t)shape_elements(instruction->shape));
    } else {
        key_add_shape(&key, instruction->shape);
        key_add(&key, (uint64_t)instruction->operand_count);
    }
    if (reads_layouts(instruction)) {
        key_add(&key, instruction->shape->hash);
        for (int k = 0; k < instruction->operand_count; k++) {
            key_add(&key, instruction->operands[k]->shape->hash);
        }
    }
    key_add_attributes(&key, instruction, builder->graph->bf16_products);
    for (int c = 0; c < instruction->called_count; c++) {
        outline_computation(builder, instruction->called[c]);
        key_add_key(&key, builder->outlines[instruction->called[c]->id].key);
    }
    return key;
}

/* What does more than give its value, or depends on more than its operands. */
static bool is_impure(struct builder *builder, const struct instruction *instruction)
{
    bool impure = false;
    switch (instruction->opcode) {
    case OP_RNG:
    case OP_RNG_GET_AND_UPDATE_STATE:
    case OP_INFEED:
    case OP_OUTFEED:
        return true;
    case OP_CUSTOM_CALL: {
        /* Whoever evaluates is asked, or the seed. */
        const char *target = attr_string(instruction, ATTR_CUSTOM_CALL_TARGET);
        impure = attr_bool(instruction, ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, false) ||
                 strncmp(target, "check.", 6) == 0 || strncmp(target, "interpreter.", 12) == 0 ||
                 strstr(target, "andom") != NULL || strstr(target, "rng") != NULL ||
                 strstr(target, "Rng") != NULL;
        break;
    }
    default:
        break;
    }
    for (int c = 0; c < instruction->called_count; c++) {
        outline_computation(builder, instruction->called[c]);
        impure = impure || !builder->outlines[instruction->called[c]->id].pure;
    }
    return impure;
}

/* Devices that speak to each other: not taken apart. */
static bool is_refused(const struct instruction *instruction)
{
    switch (instruction->opcode) {
    case OP_SEND:
    case OP_SEND_DONE:
    case OP_RECV:
    case OP_RECV_DONE:
        return true;
    default:
        return strcmp(opcode_table[instruction->opcode].eval, "collective") == 0 ||
               strcmp(opcode_table[instruction->opcode].eval, "start_done") == 0;
    }
}

/* --- ops --- */

static void add_parts(struct builder *builder, struct node *node, struct tree *tree)
{
    if (shape_is_tuple(tree->shape)) {
        for (int i = 0; i < tree->shape->count; i++) {
            tree->elements[i] = tree_make(builder, tree->shape->elements[i]);
            add_parts(builder, node, tree->elements[i]);
        }
        return;
    }
    bool is_new;
    struct key key = node->key;
    key_add(&key, (uint64_t)node->part_count);
    struct node *part = node_of(builder, key, &is_new);
    if (is_new) {
        part->kind = NODE_PART;
        part->whole = node;
        part->part = node->part_count;
        part->shape = tree->shape;
        part->pure = node->pure;
        resolve(builder, part);
    }
    tree->node = part;
    node->parts[node->part_count++] = part;
}

/* Operands in the order in which they count, where the instruction finds that by looking at what
 * its operands are: once values stand in for them it can no longer be seen. */
static struct tree **ordered(struct builder *builder, const struct instruction *instruction,
                             struct tree **operands)
{
    int order[CONCAT_BITCAST_MOST];
    if (instruction->opcode != OP_CUSTOM_CALL ||
        strcmp(attr_string(instruction, ATTR_CUSTOM_CALL_TARGET), "ConcatBitcast") != 0 ||
        !concat_bitcast_order(instruction, order)) {
        return operands;
    }
    struct tree **sorted =
        arena_array(&builder->graph->arena, (size_t)instruction->operand_count + 1, sizeof *sorted);
    for (int i = 0; i < instruction->operand_count; i++) {
        sorted[i] = operands[order[i]];
    }
    return sorted;
}

static struct tree *op_tree(struct builder *builder, const struct instruction *instruction,
                            struct tree **operands)
{
    struct graph *graph = builder->graph;
    operands = ordered(builder, instruction, operands);
    struct node like = {.kind = NODE_OP,
                        .instruction = instruction,
                        .shape = instruction->shape,
                        .operands = operands,
                        .operand_count = instruction->operand_count,
                        .flat = is_flat(instruction),
                        .number = -1,
                        .pure = !is_impure(builder, instruction)};
    like.local = local_key(builder, instruction, like.flat);
    if (!like.pure) {
        key_add(&like.local, cache_evaluations(graph->cache));
        key_add(&like.local, ++builder->impure);
    }
    like.key = graph_key(&like, false);
    bool is_new;
    struct node *node = node_of(builder, like.key, &is_new);
    if (is_new) {
        like.id = node->id;
        *node = like;
        resolve(builder, node);
    }
    struct tree *tree = tree_make(builder, instruction->shape);
    if (!shape_is_tuple(instruction->shape)) {
        tree->node = node;
        return tree;
    }
    node->parts =
        arena_array(&graph->arena, (size_t)shape_leaves(instruction->shape), sizeof(struct node *));
    node->part_count = 0;
    add_parts(builder, node, tree);
    return tree;
}

/* --- instructions that pass values on --- */

static struct tree *inlined(struct builder *builder, const struct computation *computation,
                            struct tree **arguments);

/* The contexts of asynchronous copies and calls, which nobody reads: nodes without an instruction.
 */
static struct tree *context_tree(struct builder *builder, const struct shape *shape)
{
    if (shape_is_tuple(shape)) {
        struct tree *tree = tree_make(builder, shape);
        for (int i = 0; i < shape->count; i++) {
            tree->elements[i] = context_tree(builder, shape->elements[i]);
        }
        return tree;
    }
    struct key key = key_begin(4);
    key_add_shape(&key, shape);
    bool is_new;
    struct node *node = node_of(builder, key, &is_new);
    if (is_new) {
        node->kind = NODE_OP;
        node->shape = shape;
        node->pure = false;
    }
    return tree_of_node(builder, node, shape);
}

static struct tree *copy_start_tree(struct builder *builder, const struct shape *shape,
                                    struct tree *operand)
{
    struct tree *tree = tree_make(builder, shape);
    for (int i = 0; i < shape->count; i++) {
        tree->elements[i] = i < 2 ? retyped(builder, operand, shape->elements[i])
                                  : context_tree(builder, shape->elements[i]);
    }
    return tree;
}

static struct tree *async_start_tree(struct builder *builder, const struct instruction *instruction,
                                     struct tree **operands)
{
    const struct shape *shape = instruction->shape;
    const struct computation *computation = async_computation(instruction);
    if (computation == NULL || !async_is_complete(shape, computation) ||
        computation->parameter_count != instruction->operand_count ||
        shape->elements[0]->count != instruction->operand_count) {
        builder->failed = true;
        return tree_make(builder, shape);
    }
    outline_computation(builder, computation);
    builder->failed = builder->failed || !builder->outlines[computation->id].pure;
    struct tree *tree = tree_make(builder, shape);
    tree->elements[0] = tree_make(builder, shape->elements[0]);
    for (int i = 0; i < instruction->operand_count && !builder->failed; i++) {
        tree->elements[0]->elements[i] =
            retyped(builder, operands[i], shape->elements[0]->elements[i]);
    }
    if (!builder->failed) {
        struct tree *result = inlined(builder, computation, operands);
        tree->elements[1] = builder->failed ? result : retyped(builder, result, shape->elements[1]);
    }
    for (int i = 2; i < shape->count; i++) {
        tree->elements[i] = context_tree(builder, shape->elements[i]);
    }
    return tree;
}

/* Nothing but another shape or layout for the same elements in the same order? */
static bool is_only_shape(const struct instruction *instruction)
{
    const struct shape *to = instruction->shape, *from = instruction->operands[0]->shape;
    if (!is_static_array(from) || !is_static_array(to) || from->type != to->type ||
        shape_elements(from) != shape_elements(to)) {
        return from == to;
    }
    return instruction->opcode == OP_RESHAPE || from == to ||
           (layout_is_default(from->layout) && layout_is_default(to->layout));
}

static struct tree *instruction_tree(struct builder *builder, const struct instruction *instruction,
                                     struct tree **operands)
{
    struct lane_step step;
    const struct shape *shape = instruction->shape;
    if (is_refused(instruction)) {
        builder->failed = true;
        return tree_make(builder, shape);
    }
    switch (instruction->opcode) {
    case OP_CONSTANT:
        return constant_tree(builder, instruction->literal, shape);
    case OP_TUPLE: {
        struct tree *tree = tree_make(builder, shape);
        for (int k = 0; k < instruction->operand_count; k++) {
            tree->elements[k] = retyped(builder, operands[k], shape->elements[k]);
        }
        return tree;
    }
    case OP_GET_TUPLE_ELEMENT:
        return retyped(builder, operands[0]->elements[attr_int(instruction, ATTR_INDEX, 0)], shape);
    case OP_COPY:
    case OP_DOMAIN:
    case OP_OPT_BARRIER:
    case OP_ADD_DEPENDENCY:
        /* A copy may give another float type: a conversion. */
        return mixed_concerns(instruction) ? op_tree(builder, instruction, operands)
                                           : retyped(builder, operands[0], shape);
    case OP_RESHAPE:
    case OP_BITCAST:
        return is_only_shape(instruction) ? retyped(builder, operands[0], shape)
                                          : op_tree(builder, instruction, operands);
    case OP_CALL:
    case OP_FUSION:
        if (special_call_step(instruction, &step)) {
            return op_tree(builder, instruction, operands);
        } else {
            struct tree *result = inlined(builder, instruction->called[0], operands);
            return builder->failed ? result : retyped(builder, result, shape);
        }
    case OP_COPY_START:
        return copy_start_tree(builder, shape, operands[0]);
    case OP_COPY_DONE:
        return retyped(builder, operands[0]->elements[0], shape);
    case OP_ASYNC_START:
        return async_start_tree(builder, instruction, operands);
    case OP_ASYNC_UPDATE:
        if (!shape_compatible(shape, operands[0]->shape)) {
            builder->failed = true;
        }
        return retyped(builder, operands[0], shape);
    case OP_ASYNC_DONE:
        return retyped(builder, operands[0]->elements[1], shape);
    default:
        return op_tree(builder, instruction, operands);
    }
}

static const bool *live_instructions(struct builder *builder, const struct computation *computation)
{
    struct outline *outline = &builder->outlines[computation->id];
    if (outline->live == NULL) {
        bool *live = arena_array(&builder->graph->arena, (size_t)computation->count + 1, 1);
        plan_find_live(computation, live);
        outline->live = live;
    }
    return outline->live;
}

/* The value of a computation of these arguments. */
static struct tree *inlined(struct builder *builder, const struct computation *computation,
                            struct tree **arguments)
{
    struct arena *arena = &builder->graph->arena;
    const bool *live = live_instructions(builder, computation);
    struct tree **trees = memory_zalloc((size_t)computation->count * sizeof(struct tree *));
    builder->failed = builder->failed || ++builder->depth > DEPTH_LIMIT;
    for (int i = 0; i < computation->count && !builder->failed; i++) {
        const struct instruction *instruction = computation->instructions[i];
        if (instruction->opcode == OP_PARAMETER) {
            trees[i] = retyped(builder, arguments[instruction->number], instruction->shape);
        } else if (live[i]) {
            struct tree **operands =
                arena_array(arena, (size_t)instruction->operand_count + 1, sizeof(struct tree *));
            for (int k = 0; k < instruction->operand_count; k++) {
                operands[k] = trees[instruction->operands[k]->id];
            }
            trees[i] = instruction_tree(builder, instruction, operands);
        }
    }
    builder->depth--;
    struct tree *root = builder->failed ? tree_make(builder, shape_scalar(TYPE_PRED))
                                        : trees[computation->root->id];
    free(trees);
    return root;
}

/* --- computations that are run by an instruction: their value as a function --- */

static struct tree *unknown_tree(struct builder *builder, const struct shape *shape,
                                 struct key *key)
{
    struct tree *tree = tree_make(builder, shape);
    if (shape_is_tuple(shape)) {
        for (int i = 0; i < shape->count; i++) {
            tree->elements[i] = unknown_tree(builder, shape->elements[i], key);
        }
        return tree;
    }
    bool is_new;
    key_add(key, 1);
    struct key own = *key;
    key_add_shape(&own, shape);
    tree->node = node_of(builder, own, &is_new);
    if (is_new) {
        tree->node->kind = NODE_GIVEN;
        tree->node->shape = shape;
    }
    return tree;
}

static void add_root_leaf(void *context, struct tree *leaf)
{
    struct key *key = context;
    key_add_key(key, leaf->node->key);
    key_add_shape(key, leaf->shape);
}

static bool is_pure(struct builder *builder, const struct computation *computation)
{
    for (int i = 0; i < computation->count; i++) {
        const struct instruction *instruction = computation->instructions[i];
        if (is_refused(instruction) || is_impure(builder, instruction)) {
            return false;
        }
    }
    return true;
}

static void outline_computation(struct builder *builder, const struct computation *computation)
{
    struct outline *outline = &builder->outlines[computation->id];
    if (outline->has_key || builder->failed) {
        return;
    }
    outline->pure = is_pure(builder, computation);
    outline->has_key = true;
    outline->key = key_begin(5);
    if (!outline->pure) {
        key_add(&outline->key, cache_evaluations(builder->graph->cache));
        key_add(&outline->key, ++builder->impure);
        return;
    }
    struct tree **arguments =
        memory_zalloc((size_t)(computation->parameter_count + 1) * sizeof(struct tree *));
    struct key key = key_begin(6);
    for (int i = 0; i < computation->parameter_count; i++) {
        key_add(&key, (uint64_t)i);
        arguments[i] = unknown_tree(builder, computation->parameters[i]->shape, &key);
    }
    struct tree *root = inlined(builder, computation, arguments);
    free(arguments);
    if (!builder->failed) {
        key_add(&outline->key, (uint64_t)computation->parameter_count);
        tree_visit(root, add_root_leaf, &outline->key);
    }
}

/* --- the graph --- */

bool graph_build(struct graph *graph, const struct evaluation *evaluation,
                 struct literal *const *arguments)
{
    const struct module *module = evaluation->module;
    *graph = (struct graph){.cache = evaluation->options.cache,
                            .module = module,
                            .bf16_products = evaluation->options.bf16_products};
    arena_init(&graph->arena);
    struct builder builder = {
        .graph = graph,
        .outlines = arena_array(&graph->arena, (size_t)module->count, sizeof(struct outline))};
    const struct computation *entry = module->entry;
    struct tree **trees =
        memory_zalloc((size_t)(entry->parameter_count + 1) * sizeof(struct tree *));
    for (int i = 0; i < entry->parameter_count; i++) {
        trees[i] = argument_tree(&builder, arguments[i], entry->parameters[i]->shape);
    }
    graph->root = inlined(&builder, entry, trees);
    free(trees);
    free(builder.table);
    return !builder.failed;
}

void graph_finish(struct graph *graph)
{
    free(graph->nodes);
    arena_finish(&graph->arena);
}
