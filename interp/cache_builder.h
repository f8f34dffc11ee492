/* A graph while it is built: its nodes and trees (cache_nodes.c), and what instructions make of
 * them (cache_graph.c). Private to them. */
#ifndef INTERP_CACHE_BUILDER_H
#define INTERP_CACHE_BUILDER_H

#include "interp/cache.h"

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

struct tree *tree_make(struct builder *builder, const struct shape *shape);
struct tree *tree_of_node(struct builder *builder, struct node *node, const struct shape *shape);
/* The same values under a shape that differs in layouts, or has other dimensions of as many
 * elements. */
struct tree *tree_retyped(struct builder *builder, struct tree *tree, const struct shape *shape);
/* Of literals that are at hand. */
struct tree *tree_of_constant(struct builder *builder, struct literal *literal,
                              const struct shape *shape);
struct tree *tree_of_argument(struct builder *builder, struct literal *literal,
                              const struct shape *shape);

/* The node of a key; a new one has nothing but the key and a place in order. */
struct node *builder_node(struct builder *builder, struct key key, bool *is_new);
/* Looks up what is known of the node's contents. */
void node_resolve(struct builder *builder, struct node *node);

#endif
