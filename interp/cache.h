/* Values kept between evaluations (interp_options.cache). Private to cache*.c and eval.c.
 *
 * An evaluation with a cache takes the entry apart into a graph of nodes (cache_graph.c): calls,
 * fusions, asynchronous forms and tuples are dissolved, copies and reshapes looked through, equal
 * nodes are one. Every node has a key: a hash of what is computed, down to the contents of
 * arguments and constants. What the result needs and the cache (cache.c) has not is made into a
 * computation of its own (cache_run.c), which runs as any other, with clusters and tapes. Each
 * value that comes to memory is offered to the cache, under its key and under its contents: an
 * operation on values with contents that were there before, in whatever way they were computed, is
 * not evaluated again. */
#ifndef INTERP_CACHE_H
#define INTERP_CACHE_H

#include "hlo/base/arena.h"
#include "interp/eval.h"

/* --- keys: cache_hash.c --- */

struct key {
    uint64_t words[2];
};

struct key key_begin(uint64_t what);
void key_add(struct key *key, uint64_t value);
void key_add_key(struct key *key, struct key other);
void key_add_bytes(struct key *key, const void *data, size_t size);
bool key_equal(struct key a, struct key b);
/* Of an array: its bits, type, marks and run-time sizes, but not its dimensions. */
struct key key_of_contents(const struct literal *literal);
/* Type, dimensions, dynamic marks; tuples too. No layouts. */
void key_add_shape(struct key *key, const struct shape *shape);
/* The attributes that matter to the value of an instruction. */
void key_add_attributes(struct key *key, const struct instruction *instruction, bool bf16_products);

/* --- ops that do not care for dimensions: cache_loose.c --- */

/* The key of a broadcast, transpose, bitcast or reduce without its operands, the same for all that
 * do the same to the elements in row-major order. False if the instruction is no such. Computations
 * that it calls are not in it. */
bool loose_begin(const struct instruction *instruction, struct key *key);

/* --- the store: cache.c --- */

/* Known contents. They have a number; −1 stands for none. */
struct contents {
    struct key key;
    struct literal *literal; /* NULL: not held (any more) */
    size_t bytes;
    double seconds; /* what computing it took */
    double rank;    /* the least goes first */
};

/* The contents that a key leads to, −1 if unknown. */
int cache_find(const struct interp_cache *cache, struct key key);
const struct contents *cache_contents(const struct interp_cache *cache, int number);
/* The literal held, borrowed, and now worth keeping again; NULL if none is. */
struct literal *cache_use(struct interp_cache *cache, int number);
/* The number of the contents of a value (borrowed) that `key` leads to. hold: keeps the literal. */
int cache_keep(struct interp_cache *cache, struct key key, const struct literal *value,
               double seconds, bool hold);
/* The number of contents, which are known from now on. */
int cache_know(struct interp_cache *cache, struct key by_contents);
/* The value (borrowed) of known contents, which took so many seconds. hold: keeps the literal. */
void cache_hold(struct interp_cache *cache, int number, const struct literal *value, double seconds,
                bool hold);
/* Another key for known contents. */
void cache_link(struct interp_cache *cache, struct key key, int number);
void cache_set_statistics(struct interp_cache *cache, int64_t reused, int64_t evaluated);
/* Counts an evaluation, lets go of arguments that nobody else holds, and of everything if what is
 * known has come to take too much room. */
void cache_begin(struct interp_cache *cache);
uint64_t cache_evaluations(const struct interp_cache *cache);
/* The contents of an argument, found out once for as long as somebody else holds its data. */
struct key cache_argument_key(struct interp_cache *cache, const struct literal *argument);

/* May the cache be used under these options? */
bool cache_concerns(const struct interp_options *options);
/* The value of the module's entry, as eval_computation. Takes one reference to each argument. */
struct literal *cache_evaluate(struct evaluation *evaluation, struct literal **arguments_take,
                               int argument_count, struct error *err);

/* --- contractions in any order of dimensions: cache_twin.c --- */

enum { TWIN_MAX_RANK = 7 };

struct twin {
    struct key key;
    const struct shape *shape; /* of the result; of a call, of its first part */
    int rank;
    int dimensions[TWIN_MAX_RANK]; /* of the result, in the one order */
};

/* The twin of an instruction on these operands, whose contents are known[i] or NULL. False if it
 * has none. options: what else its value depends on. */
bool twin_find(struct interp_cache *cache, const struct instruction *instruction,
               struct literal *const *values, const struct key *const *known, bool bf16_products,
               struct twin *twin);
/* The number of its contents if they are known in this very order; -1. */
int twin_contents(const struct interp_cache *cache, const struct twin *twin);
/* Its value, owned by the caller; NULL if it is not held. */
struct literal *twin_value(struct interp_cache *cache, const struct twin *twin);
void twin_link(struct interp_cache *cache, const struct twin *twin, int number);

/* --- what eval.c does for it, while the made computation runs --- */

struct keeper;
struct step; /* plan.h */

/* The step of one of its instructions. *value: found, or evaluated and offered to the cache; NULL
 * if it is put off, because its contents are known: `slots` has no value then, and whoever reads it
 * is given to this function with NULL among its operands, for which values come into slots. */
bool keeper_step(struct keeper *keeper, struct evaluation *evaluation, const struct step *step,
                 struct operands *operands, struct literal **slots, struct literal **value,
                 struct error *err);
/* Nobody reads the slot any more. */
void keeper_release(struct keeper *keeper, int slot);
/* The instruction of the module that it stands for. */
const struct instruction *keeper_origin(const struct keeper *keeper,
                                        const struct instruction *instruction);

/* --- the graph: cache_graph.c, cache_nodes.c --- */

enum node_kind {
    NODE_GIVEN, /* an argument, or its like in a computation that is only looked at */
    NODE_CONSTANT,
    NODE_OP,
    NODE_PART, /* an array of the tuple that an op gives */
};

/* An array, or what an instruction gives. */
struct node {
    enum node_kind kind;
    struct key key;      /* by structure */
    struct key resolved; /* by the contents of operands, as far as they are known; its own if so */
    struct key local;    /* without operands */
    int number;          /* of its contents; −1 */
    const struct instruction *instruction; /* OP: one that computes it */
    const struct shape *shape;             /* what it is evaluated as */
    struct tree **operands;                /* OP */
    int operand_count;
    bool flat;           /* OP: works on elements one by one, whatever their shape */
    bool loose;          /* OP: flat, or another that does not care for dimensions */
    bool pure;           /* OP: its value depends on nothing else */
    struct node **parts; /* OP that gives a tuple: one for each leaf */
    int part_count;
    struct node *whole; /* PART */
    int part;
    struct literal *literal; /* borrowed, or else `retained`; the value if it is at hand */
    bool retained;
    int id;                        /* in order */
    bool needed, settled, counted; /* cache_run.c */
    struct instruction *made;
};

/* The value of an instruction: for an array a node's elements in order, under a shape. */
struct tree {
    const struct shape *shape;
    struct node *node;      /* arrays, tokens */
    struct tree **elements; /* tuples; [shape->count] */
};

struct graph {
    struct interp_cache *cache;
    const struct module *module;
    bool bf16_products;          /* interp_options */
    int64_t max_loop_iterations; /* interp_options */
    struct arena arena;
    struct node **nodes;
    size_t count, capacity;
    struct tree *root;
};

/* The graph of a module's entry. False if it has to be evaluated without a cache. */
bool graph_build(struct graph *graph, const struct evaluation *evaluation,
                 struct literal *const *arguments);
void graph_finish(struct graph *graph);
/* The key of an op, by the structural or the resolved keys of its operands. */
struct key graph_key(const struct node *node, bool resolved);
/* Calls visit for each leaf. */
void tree_visit(struct tree *tree, void (*visit)(void *context, struct tree *leaf), void *context);

#endif
