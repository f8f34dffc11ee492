/* Private to tape*.c. */
#ifndef INTERP_TAPE_INTERNAL_H
#define INTERP_TAPE_INTERNAL_H

#include "hlo/base/arena.h"
#include "interp/cluster.h"
#include "interp/lanes.h"
#include "interp/tape.h"

/* Arrays of at most so many elements are small. */
enum { TAPE_SMALL = 128 };

/* A value's place. Slots of small arrays that steps make (`fixed`) own one literal for good and are
 * written in place; the others hold a reference to a value while it lives. */
struct tape_slot {
    void *data; /* of the literal */
    struct literal *literal;
    bool marked; /* the literal has marks */
};

/* What is known of a slot beforehand. */
struct tape_value {
    const struct shape *shape;
    bool fixed;
    struct literal *constant; /* or NULL */
    int level;                /* of the innermost loop in which it changes; 0 = never */
    struct tape_region *home; /* where it is made */
    struct tape_loop *loop;   /* the innermost loop around that, or NULL */
};

enum tape_kind {
    TAPE_LANES,    /* arithmetic on small arrays */
    TAPE_MOVES,    /* pieces of small arrays put together */
    TAPE_SLICE,    /* dynamic-slice with a small result */
    TAPE_UPDATE,   /* dynamic-update-slice of a small update */
    TAPE_EVALUATE, /* the evaluator of the instruction */
    TAPE_CLUSTER,  /* likewise, of a cluster */
    TAPE_WHILE,
    TAPE_CONDITIONAL,
};

/* result[to + i] = operand[from + i * stride], i < count; the operand by position. */
struct tape_piece {
    int operand;
    int64_t to, count, from, stride;
};
struct tape_moves {
    int count, bytes; /* of an element */
    struct tape_piece *pieces;
};

/* A window of an array at a run-time place. The starts are operands from `first` on: scalars, or
 * one array. */
struct tape_window {
    int first, rank, bytes;
    bool array;
    enum type index_type;
    int64_t run;            /* elements that are contiguous in window and array */
    int outer;              /* dimensions before those */
    const int64_t *most;    /* [rank] the largest starts */
    const int64_t *strides; /* [rank] of the array, in elements */
    const int64_t *sizes;   /* [rank] of the window */
};

struct tape_step {
    enum tape_kind kind;
    int operand_count, result_count, release_count;
    const int *operands; /* slots: the leaves of the operands one after the other */
    const int *results;  /* slots that the step writes */
    bool *dying;         /* [operand_count] */
    int *releases;       /* slots */
    const struct instruction *instruction;
    int level;              /* of the innermost loop in which its value changes */
    bool kept;              /* its value stays until the loop it is constant in ends */
    struct tape_loop *once; /* evaluated once each time this loop runs; NULL: each time */
    uint64_t epoch;         /* of that loop when it was */
    union {
        struct {
            struct lane_step lane;
            int64_t count;
            bool scalar[LANE_MAX_OPERANDS]; /* one element for all */
            bool narrow;                    /* a type that is converted on loading is among them */
        };
        struct tape_moves moves;
        struct tape_window window;
        struct cluster *cluster;
        struct tape_loop *loop;
        struct tape_branches *branches;
    };
};

/* What running a step needs first, in a cache line. */
struct tape_op {
    uint8_t kind;  /* enum tape_kind */
    bool plain;    /* just call the function: each time, nothing to round or release */
    int32_t count; /* elements */
    lane_function *function;
    const struct lane_step *lane;
    struct tape_slot *in[LANE_MAX_OPERANDS], *out; /* an empty slot where there is none */
    struct tape_step *step;
};

struct tape_region {
    struct tape_region *next; /* of all regions of the tape */
    int id;                   /* from 1 */
    struct tape_step *steps;
    size_t count, capacity;
    /* The steps to run, and for the second and later iterations of the loop whose body or condition
     * this is, those that are left. */
    struct tape_op *ops, *again;
    size_t again_count;
    int result_count;
    const int *results; /* slots, leaf by leaf */
    bool *movable;      /* [result_count] nobody needs the slot any more after the region */
};

struct tape_loop {
    struct tape_loop *outer;
    int depth; /* from 1 */
    uint64_t epoch;
    struct tape_region *condition, *body;
    int count;                /* leaves of the state */
    const int *homes;         /* slots; −1 where the body passes the element through */
    struct literal **carried; /* [count] scratch */
    void *stage;              /* scratch: small arrays on their way to other homes */
    const bool *staged;       /* [count] the new value is another home's old one */
    int early;                /* so many of the step's releases are due before the loop begins */
    int kept_count;           /* values to release when the loop ends */
    int *kept;
};

struct tape_branches {
    int count;
    struct tape_region **regions;
};

struct tape {
    struct arena arena;
    const struct instruction *instruction; /* the while */
    struct tape_region *regions, *root;
    int slot_count;
    size_t value_capacity;
    struct tape_value *values;
    struct tape_slot *slots;
    int leaves;                 /* of the state */
    const int *inputs;          /* slots */
    const int *outputs;         /* slots */
    struct clusters **clusters; /* by computation of the module */
    bool *searched;             /* likewise: clusters were looked for */
    uint64_t epoch;             /* loops begun so far */
    bool running;
};

/* Is the array small? */
bool tape_is_small(const struct shape *shape);

/* tape_build.c: regions, steps and slots (without their memory) of tape->instruction; false when it
 * has no tape. */
bool tape_build(struct tape *tape);

/* tape_moves.c: movement of one piece as a lane function: false when it needs more. operand: by
 * position. */
bool tape_moves_function(const struct tape_moves *moves, int *operand, lane_function **function,
                         struct lane_step *step);

/* tape_moves.c: the pieces or the window of an instruction, all of whose arrays are small or which
 * takes a small part of one; false when the instruction is none of that kind. */
bool tape_moves_of(struct tape *tape, const struct instruction *instruction,
                   struct tape_moves *moves);
bool tape_window_of(struct tape *tape, const struct instruction *instruction,
                    struct tape_window *window);

/* tape_life.c: what is evaluated once, what dies where. */
void tape_find_once(struct tape *tape);
void tape_find_deaths(struct tape *tape);

/* tape_evaluate.c */
struct tape_run {
    struct tape *tape;
    struct evaluation *evaluation;
    struct error *err;
    bool told; /* every step has a span (span.h) */
};
/* The step by the evaluator of its instruction (or cluster). */
bool tape_evaluate(const struct tape_run *run, const struct tape_step *step);
/* Puts a value (taken) into a slot. */
void tape_store(const struct tape_run *run, int slot, struct literal *value);
/* Empties a slot that is not fixed. */
void tape_release(struct tape *tape, int slot);
/* Copies a small array into a fixed slot, with its marks. */
void tape_copy(struct tape *tape, int to, int from);
/* The value of a slot as a reference of its own, under the shape; moved if `take`. */
struct literal *tape_value(const struct tape_run *run, int slot, const struct shape *shape,
                           bool take);
/* The marks of a fixed slot are gone. */
void tape_clear_marks(struct tape *tape, int slot);
bool tape_cancelled(const struct tape_run *run);

#endif
