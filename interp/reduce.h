/* Reductions over dimensions. Private to the evaluators. */
#ifndef INTERP_REDUCE_H
#define INTERP_REDUCE_H

#include "interp/eval.h"
#include "interp/program.h"

/* An array as a reduction sees it: element (o, t, i) is at (o * terms + t) * inner + i; its terms
 * are in the row-major order of the reduced dimensions. */
struct reduce_view {
    enum type type;
    int64_t outer, terms, inner;
    const char *data;
    void *owned; /* a rearranged copy, or NULL */
};

/* dimensions: which ones are reduced. */
bool reduce_view_init(struct reduce_view *view, const struct literal *literal,
                      struct ints dimensions, struct error *err);
void reduce_view_finish(struct reduce_view *view);

/* out[o * inner + i] = init folded with the terms by a reducer whose order does not matter:
 * integers, minimum, maximum (lane_binary's are associative and commutative). Not for complex
 * types. */
bool reduce_fold(const struct lane_step *step, const struct reduce_view *view, const void *init,
                 void *out, struct error *err);

/* Any program with inputs accumulators, elements and outputs accumulators: each output element by
 * its terms in order. views[n], inits[n], outs[n]: one per array; equal sizes. */
bool reduce_program(const struct program *program, const struct reduce_view *views,
                    const void *const *inits, void *const *outs, struct error *err);

/* reduce_arrays.c: reduces `count` arrays, operands[0 … count), from the initial values
 * operands[count …), all in the types of the program's inputs. */
typedef struct literal *reduce_function(const struct instruction *instruction,
                                        enum fidelity fidelity, const struct program *program,
                                        struct literal **operands, int count, struct error *err);
/* Calls function for reduce, reduce-window: compiles the computation and converts the operands. */
struct literal *reduce_arrays(struct evaluation *evaluation, const struct instruction *instruction,
                              struct operands *operands, reduce_function *function,
                              struct error *err);
/* The value of the instruction from one result per array, which are taken (and NULL afterwards), in
 * the types of its shape. */
struct literal *reduce_assemble(const struct shape *shape, struct literal **results, int count,
                                struct error *err);

#endif
