/* The nodes of a graph, each there once, and the trees of them that instructions give. */
#include <stdlib.h>
#include <string.h>

#include "interp/cache_builder.h"

/* Larger graphs (calls of calls of calls) are not made. */
enum { NODE_LIMIT = 4000000 };

/* --- trees --- */

struct tree *tree_make(struct builder *builder, const struct shape *shape)
{
    struct arena *arena = &builder->graph->arena;
    struct tree *tree = arena_alloc(arena, sizeof *tree);
    tree->shape = shape;
    if (shape_is_tuple(shape)) {
        tree->elements = arena_array(arena, (size_t)shape->count, sizeof(struct tree *));
    }
    return tree;
}

struct tree *tree_of_node(struct builder *builder, struct node *node, const struct shape *shape)
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

struct tree *tree_retyped(struct builder *builder, struct tree *tree, const struct shape *shape)
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
        result->elements[i] = tree_retyped(builder, tree->elements[i], shape->elements[i]);
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

struct node *builder_node(struct builder *builder, struct key key, bool *is_new)
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
    return twin_find(builder->graph->cache, op->instruction, NULL, known,
                     builder->graph->bf16_products, &twin)
               ? twin_contents(builder->graph->cache, &twin)
               : -1;
}

void node_resolve(struct builder *builder, struct node *node)
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
    struct node *node = builder_node(builder, key, &is_new);
    if (is_new) {
        node->kind = kind;
        node->shape = literal->shape;
        node->literal = literal;
    }
    return node;
}

static struct tree *tree_of_literal(struct builder *builder, struct literal *literal,
                                    const struct shape *shape, enum node_kind kind)
{
    struct tree *tree = tree_make(builder, shape);
    for (int i = 0; shape_is_tuple(shape) && i < shape->count; i++) {
        tree->elements[i] =
            tree_of_literal(builder, literal->elements[i], shape->elements[i], kind);
    }
    if (!shape_is_tuple(shape)) {
        struct key key = kind == NODE_CONSTANT ? key_of_contents(literal)
                                               : cache_argument_key(builder->graph->cache, literal);
        tree->node = node_of_literal(builder, literal, key, kind);
    }
    return tree;
}

struct tree *tree_of_constant(struct builder *builder, struct literal *literal,
                              const struct shape *shape)
{
    return tree_of_literal(builder, literal, shape, NODE_CONSTANT);
}

struct tree *tree_of_argument(struct builder *builder, struct literal *literal,
                              const struct shape *shape)
{
    return tree_of_literal(builder, literal, shape, NODE_GIVEN);
}

/* --- keys --- */

struct key_context {
    struct key *key;
    bool resolved, loose;
};

static void add_leaf(void *context, struct tree *leaf)
{
    struct key_context *into = context;
    key_add_key(into->key, into->resolved ? leaf->node->resolved : leaf->node->key);
    if (into->loose) {
        key_add(into->key, (uint64_t)leaf->shape->type);
    } else {
        key_add_shape(into->key, leaf->shape);
    }
}

struct key graph_key(const struct node *node, bool resolved)
{
    struct key key = node->local;
    struct key_context context = {&key, resolved, node->loose};
    for (int k = 0; k < node->operand_count; k++) {
        tree_visit(node->operands[k], add_leaf, &context);
    }
    return key;
}
