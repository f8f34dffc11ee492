/* Inside exact_dot*.c: some vectors of an operand as doubles, with what is known of each. */
#ifndef INTERP_EXACT_DOT_PANEL_H
#define INTERP_EXACT_DOT_PANEL_H

#include <stdbool.h>
#include <stdint.h>

#include "interp/exact_dot.h"

/* Vectors [first, first + count) of an operand over one slice of depth. */
struct panel {
    const struct exact_dot_operand *operand;
    int64_t first, count, k, depth;
    bool across; /* the layout here: the operand's, or contiguous vectors for sums */
    int64_t step;
    double *data;
    double *norms;         /* Euclidean norms, over all slices so far squared */
    double *inexact_norms; /* the same, but 0 for vectors marked integral */
    unsigned char *integral;
    int integral_bits; /* see mark_integral */
    bool first_slice;
    bool whole;  /* it holds the vectors' whole depth */
    bool normed; /* norms are wanted, */
    bool marked; /* and integral vectors marked */
};

/* Gives a panel its memory: norms for 3 * count doubles. */
void panel_place(struct panel *panel, double *data, double *norms, int64_t count);
/* Reads the vectors, with what is wanted of each. */
void panel_fill(struct panel *panel);
/* After the last slice: sums of squares → norms. `depth` is that of the whole vectors. */
void panel_finish_norms(struct panel *panel, int64_t depth);
/* Vector v of the panel over slice [k, k + depth): its place in the panel, or read into buffer. */
const double *panel_vector(const struct panel *panel, int64_t v, int64_t k, int64_t depth,
                           double *buffer);

static inline int64_t dot_at_most(int64_t value, int64_t most)
{
    return value < most ? value : most;
}

#endif
