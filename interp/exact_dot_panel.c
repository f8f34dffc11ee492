/* Panels of vectors for exact matrix products. */
#include "interp/exact_dot_panel.h"

#include <math.h>

#include "hlo/base/pool.h"
#include "interp/exact_sum_kernels.h"

enum {
    FILL_DOUBLES = 1 << 14, /* fewest doubles worth another thread */
    TURNED_VECTORS = 64,    /* the block in which operands that fill across are turned */
    TURNED_DEPTH = 32,
};

/* Marks vectors whose elements all are integers of at most integral_bits bits times one power of
 * two. Two such vectors have a product that is exact in any order of summation, so that ties and
 * zeros, frequent in such data, are not left open. Most other vectors show it in their first
 * elements. */
static bool is_integral(const double *v, int64_t stride, int64_t count, int bits)
{
    double most = 0;
    for (int64_t i = 0; i < count; i++) {
        const double magnitude = fabs(v[i * stride]);
        most = magnitude > most ? magnitude : most;
    }
    if (!(most < 0x1p400)) {
        return false;
    }
    if (most < 0x1p-400) {
        return most == 0;
    }
    int exponent;
    frexp(most, &exponent);
    /* most < 2^exponent; adding 1.5 * 2^52 quanta drops what is finer than a quantum. */
    const double rounder = ldexp(1.5, exponent - bits + 52);
    for (int64_t i = 0; i < count; i++) {
        if ((v[i * stride] + rounder) - rounder != v[i * stride]) {
            return false;
        }
    }
    return true;
}

static void mark_integral(struct panel *panel, int64_t first, int64_t count)
{
    const int64_t stride = panel->across ? panel->step : 1;
    for (int64_t v = first; v < first + count; v++) {
        const double *vector = panel->data + (panel->across ? v : v * panel->step);
        const int64_t probe = panel->depth < 8 ? panel->depth : 8;
        panel->integral[v] = is_integral(vector, stride, probe, panel->integral_bits) &&
                             is_integral(vector, stride, panel->depth, panel->integral_bits);
    }
}

/* An operand that fills across, turned into contiguous vectors, a small block at a time. */
static void fill_turned(struct panel *panel, int64_t first, int64_t count)
{
    const struct exact_dot_operand *operand = panel->operand;
    double turned[TURNED_DEPTH * TURNED_VECTORS];
    for (int64_t v = first; v < first + count; v += TURNED_VECTORS) {
        const int64_t size = dot_at_most(first + count - v, TURNED_VECTORS);
        for (int64_t k = 0; k < panel->depth; k += TURNED_DEPTH) {
            const int64_t depth = dot_at_most(panel->depth - k, TURNED_DEPTH);
            operand->fill(operand->context, panel->first + v, size, panel->k + k, depth, turned,
                          TURNED_VECTORS);
            for (int64_t i = 0; i < size; i++) {
                double *out = panel->data + (v + i) * panel->step + k;
                for (int64_t d = 0; d < depth; d++) {
                    out[d] = turned[d * TURNED_VECTORS + i];
                }
            }
        }
    }
}

static void add_norms(struct panel *panel, int64_t first, int64_t count)
{
    const struct exact_sum_kernels *kernels = exact_sum_kernels_here();
    double *norms = panel->norms + first;
    for (int64_t i = 0; i < count && panel->first_slice; i++) {
        norms[i] = 0;
    }
    if (panel->across) {
        for (int64_t d = 0; d < panel->depth; d++) {
            kernels->add_squares(norms, panel->data + d * panel->step + first, count);
        }
    } else {
        for (int64_t i = 0; i < count; i++) {
            norms[i] += kernels->norm(panel->data + (first + i) * panel->step, panel->depth);
        }
    }
}

static void fill_range(void *context, int64_t begin, int64_t end)
{
    struct panel *panel = context;
    const struct exact_dot_operand *operand = panel->operand;
    if (operand->across && !panel->across) {
        fill_turned(panel, begin, end - begin);
    } else {
        operand->fill(operand->context, panel->first + begin, end - begin, panel->k, panel->depth,
                      panel->data + begin * (panel->across ? 1 : panel->step), panel->step);
    }
    if (panel->normed) {
        add_norms(panel, begin, end - begin);
    }
    if (panel->marked) {
        mark_integral(panel, begin, end - begin);
    }
}

void panel_fill(struct panel *panel)
{
    panel->step = panel->across ? panel->count : panel->depth;
    pool_for(panel->count, FILL_DOUBLES / (panel->depth + 1) + 1, fill_range, panel);
}

/* Squares of f64 that underflowed are at most 2^-1022 each. */
void panel_finish_norms(struct panel *panel, int64_t depth)
{
    const double lost = panel->operand->wide ? (double)depth * 0x1p-1021 : 0;
    for (int64_t v = 0; v < panel->count; v++) {
        panel->norms[v] = sqrt(panel->norms[v] + lost);
        panel->inexact_norms[v] = panel->marked && panel->integral[v] ? 0 : panel->norms[v];
    }
}

void panel_place(struct panel *panel, double *data, double *norms, int64_t count)
{
    panel->data = data;
    panel->norms = norms;
    panel->inexact_norms = norms + count;
    panel->integral = (unsigned char *)(norms + 2 * count); /* 8 bytes for each byte: simple */
}

const double *panel_vector(const struct panel *panel, int64_t v, int64_t k, int64_t depth,
                           double *buffer)
{
    if (panel->whole && !panel->across) {
        return panel->data + v * panel->step + k;
    }
    if (panel->whole) {
        for (int64_t d = 0; d < depth; d++) {
            buffer[d] = panel->data[(k + d) * panel->step + v];
        }
        return buffer;
    }
    /* One vector across has its elements side by side too. */
    panel->operand->fill(panel->operand->context, panel->first + v, 1, k, depth, buffer,
                         panel->operand->across ? 1 : depth);
    return buffer;
}
