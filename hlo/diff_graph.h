/* A module as the diff sees it: the values that its instructions compute, with groups (fusions,
 * calls, async computations) seen through. Private to hlo/diff*.c. */
#ifndef HLO_DIFF_GRAPH_H
#define HLO_DIFF_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "hlo/module.h"

enum { DIFF_NONE = -1 };

/* An instruction in a context. */
struct diff_node {
    const struct instruction *instruction;
    int context;
    int value;         /* the node that computes it: itself, or another of the same region */
    int child;         /* the context of what a group calls, or NONE */
    int partner;       /* the node of the other module, or NONE */
    bool is_computing; /* value is itself, and it is more than a bracket around others */
    uint64_t
        operation; /* hash of opcode, shape, attributes, literal: all but operands and callees */
    uint64_t key;  /* hash of what it computes */
};

/* A computation as it is called from one place (groups), or by itself (a region). */
struct diff_context {
    const struct computation *computation;
    int base;   /* node of instruction i: base + i */
    int caller; /* node; NONE for a region */
    int region, depth;
};

/* The entry, or a computation whose parameters stand for themselves: loop bodies, reducers, … */
struct diff_region {
    int context;
    int begin, end; /* nodes of the region and of the groups in it: order[begin, end) */
    uint64_t key;
    int partner;  /* region of the other module, or NONE */
    bool is_copy; /* the partner has another partner of its own */
};

struct diff_side {
    const struct module *module;
    struct diff_node *nodes;
    struct diff_context *contexts;
    struct diff_region *regions;
    int *order; /* nodes, operands before users */
    int node_count, context_count, region_count, order_count;
    size_t node_capacity, context_capacity, region_capacity, order_capacity;
    int *region_of;          /* by computation id; NONE: seen through its callers, or dead */
    int *context_of;         /* by computation id: the first context; NONE if there is none */
    int *user_first, *users; /* users[user_first[n] … user_first[n + 1]): nodes that use value n */
};

void diff_side_build(const struct module *module, struct diff_side *side);
void diff_side_finish(struct diff_side *side);

/* The value that is operand i of a node. */
int diff_operand(const struct diff_side *side, int node, int i);
/* The region that a node calls as its callee i; NONE when the callee is seen through. */
int diff_callee(const struct diff_side *side, int node, int i);
bool diff_is_group(const struct instruction *instruction);
/* Does the attribute matter to what the instruction computes? */
bool diff_attr_matters(const struct instruction *instruction, const struct attr *attr);

/* Sets the partners of regions and nodes. */
void diff_match(struct diff_side *old, struct diff_side *new);

#endif
