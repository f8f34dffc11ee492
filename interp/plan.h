/* Plans: what eval_computation wants to know of a computation, worked out once.
 *
 * A plan lists the steps with their operands, says which value dies where, and keeps the memory of
 * one activation for the next, so that a step costs no allocation of its own. Plans live as long as
 * one interp_… call; they are not shared between threads. Private to eval.c and its tests. */
#ifndef INTERP_PLAN_H
#define INTERP_PLAN_H

#include "hlo/base/arena.h"
#include "interp/cluster.h"
#include "interp/eval.h"
#include "interp/program.h"
#include "interp/tape.h"

enum step_kind {
    STEP_OP,        /* call `evaluate` */
    STEP_PARAMETER, /* the value is there already */
    STEP_CONSTANT,
    STEP_ELEMENT,  /* get-tuple-element */
    STEP_CLUSTER,  /* the root of a cluster: its operands are the cluster's inputs */
    STEP_NOTHING,  /* inside a cluster: no value, nobody reads it */
    STEP_REPLACED, /* while it runs: the value is given (interp_options.replace) */
};

struct step {
    const struct instruction *instruction;
    eval_function *evaluate; /* NULL: unsupported */
    enum step_kind kind;
    struct cluster *cluster; /* CLUSTER */
    int operand_count;
    const int *operands; /* slots; a slot is an instruction's id */
    const bool *dying;   /* [operand_count] for struct operands */
    int release_count;
    const int *releases; /* operand positions whose slot is free after the step, each slot once */
    int element;         /* ELEMENT: the index */
    /* ELEMENT: nobody reads this element of the tuple again, and all readers of the tuple are
     * get-tuple-element, so that the element may be moved out of it. */
    bool moves;
    bool unused;  /* nobody reads the value */
    bool dynamic; /* a shape with dynamic dimensions is among result and operands */
    bool noisy_result, noisy_operands;
};

/* The memory of an activation. */
struct frame {
    struct literal **slots;    /* [count], by instruction id; owned; NULL where there is no value */
    struct literal **operands; /* [most_operands]; borrowed */
    bool from_heap;            /* not from the plans' arena */
};

struct plan {
    int count, most_operands;
    struct step *steps;
    int *operands, *releases;
    bool *dying;
    struct clusters *clusters; /* or NULL */
    struct frame first;
    struct frame *spare; /* an idle frame or NULL */
};

/* A while and its tape. */
struct plan_loop {
    const struct instruction *instruction;
    struct tape *tape; /* NULL: it has none */
};

struct plans {
    const struct module *module;
    struct arena arena;        /* of plans and their first frames */
    struct plan **list;        /* by computation id; NULL until needed */
    struct program **programs; /* by computation id; see program_compile */
    struct plan_loop *loops;
    size_t loop_count, loop_capacity;
};

/* In `memory` (16-byte aligned) as far as it goes, which must then outlive them; NULL is allowed. A
 * small module needs no other. */
enum { PLANS_MEMORY = 6 * 1024 };
struct plans *plans_create(const struct module *module, void *memory, size_t size);
void plans_destroy(struct plans *plans); /* NULL is allowed */
/* The plan of a computation of the module for an evaluation with such options, the same for all
 * computations. Elementwise instructions go together, and what is inside a cluster has no value of
 * its own; those whose values somebody looks at or moves have their own. */
struct plan *plans_get(struct plans *plans, const struct computation *computation,
                       const struct interp_options *options);

/* The tape of a while of the module, made at the first call; NULL if it has none, or if somebody
 * looks at its values or moves some. */
struct tape *plans_tape(struct plans *plans, const struct instruction *instruction,
                        const struct interp_options *options);
/* May the instruction do more than give its value? Control flow is taken to. */
bool plan_has_effects(const struct instruction *instruction);
/* live[i] (zeros before): the root or something with effects needs instruction i. Compilers drop
 * the others. */
void plan_find_live(const struct computation *computation, bool *live);

/* One instruction as a step of its own whose operands live on; for steps outside plans. */
void step_init(struct step *step, const struct instruction *instruction, bool with_noise);

/* The value of an op or a cluster, with its span, owned by the caller; NULL with *err: eval.c. */
struct literal *step_work(struct evaluation *evaluation, const struct step *step,
                          struct operands *operands, struct error *err);

struct frame *frame_take(struct plan *plan);
/* All slots must be NULL. */
void frame_give(struct plan *plan, struct frame *frame);

#endif
