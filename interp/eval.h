/* Inside the golden: what an operation's evaluator gets and gives.
 *
 * The table of evaluators is the `eval` column of hlo/opcodes.def: eval_<token>. One evaluator is
 * one function of the type below, in the file of its family (elementwise.c, reduce.c, …). */
#ifndef INTERP_EVAL_H
#define INTERP_EVAL_H

#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/interp.h"

struct device_grid;
struct keeper;
struct plans;

/* One evaluation of a module on one device. It belongs to one thread. Filled with zeros but for
 * `module` it evaluates exactly, on one device, unobserved. */
struct evaluation {
    const struct module *module;
    struct interp_options options;
    int replica, partition;
    struct device_grid *grid;    /* NULL when there is one device */
    struct transfers *transfers; /* between devices (transfers.h); NULL = made when needed */
    int64_t iteration;           /* of the innermost loop; 0 outside */
    uint64_t rng_state[2];       /* rng-get-and-update-state (hi, lo) */
    uint64_t rng_count;          /* `rng` instructions evaluated so far */
    struct keeper *keeper;       /* while values are kept (cache.h); or NULL */
    struct plans *plans; /* of the module's computations (plan.h); NULL = made when needed */
    int depth;           /* computations entered */
    int scalar_depth;    /* > 0 inside reducers and the like: nobody observes, no noise */
    const struct instruction *blamed; /* where the error began */
};

/* The values of an instruction's operands. */
struct operands {
    int count;
    struct literal **values; /* borrowed, unless taken */
    const bool *dying;       /* this is the last use of values[i] in the computation */
};

/* Returns the value (owned by the caller) or NULL with *err. The instruction's shape is right (the
 * module is verified); sizes may be large: allocation failures are RESOURCE_EXHAUSTED. Elements
 * computed from unspecified elements are marked unspecified. */
typedef struct literal *eval_function(struct evaluation *evaluation,
                                      const struct instruction *instruction,
                                      struct operands *operands, struct error *err);

/* Operand i as an owned literal whose data the caller may write: the operand itself when it dies
 * here and nobody else holds it (values[i] becomes NULL), else a copy. */
struct literal *operand_take(struct operands *operands, int i, struct error *err);
/* Operand i as an owned reference, never copied: moved when it dies here, shared otherwise. */
struct literal *operand_pass(struct operands *operands, int i);

/* Evaluates a computation; takes one reference to each argument (also on failure). */
struct literal *eval_computation(struct evaluation *evaluation,
                                 const struct computation *computation,
                                 struct literal **arguments_take, int argument_count,
                                 struct error *err);

/* The same for reducers, comparators and other scalar programs: without observer and noise. */
struct literal *eval_scalar_computation(struct evaluation *evaluation,
                                        const struct computation *computation,
                                        struct literal **arguments_take, int argument_count,
                                        struct error *err);

/* Names the instruction in the first error and gives its place. */
void eval_blame(struct evaluation *evaluation, const struct instruction *instruction,
                struct error *err);

/* A literal with the data of `literal` under another shape of the same element count and size:
 * takes the reference, copies nothing. */
struct literal *literal_reshape_take(struct literal *literal, const struct shape *shape);
/* Marks every element (of every leaf) unspecified. The literal must be the caller's alone. */
bool literal_mark_all_unspecified(struct literal *literal, struct error *err);

/* Dynamic dimensions: a copy of `literal` whose elements beyond the run-time sizes are *element
 * (of its type; NULL = zero bytes) and not marked as unspecified; the literal itself (retained)
 * when it has no such elements. eval_computation masks the operands of every op that would see
 * those elements (dynamic.c), so that an evaluator rarely needs this. */
struct literal *eval_mask_dynamic(const struct literal *literal, const void *element,
                                  struct error *err);

/* The evaluator of an opcode, NULL when unsupported. */
eval_function *eval_function_of(enum opcode opcode);

#define OP(id, text, arity, infer, eval, attributes)                                              \
    struct literal *eval_##eval(struct evaluation *evaluation,                                    \
                                const struct instruction *instruction, struct operands *operands, \
                                struct error *err);
#include "hlo/opcodes.def"

/* May a loop go on to iteration i? Not beyond options->max_loop_iterations. */
bool loop_goes_on(const struct interp_options *options, int64_t i, struct error *err);

#endif
