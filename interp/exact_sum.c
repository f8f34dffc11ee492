/* Exact sums: double-doubles with a running error bound, and the long accumulator for what they
 * leave open. */
#include "interp/exact_sum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/floats.h"
#include "hlo/vector.h"
#include "interp/exact_sum_kernels.h"
#include "interp/poll.h"

enum {
    STRIP = 512,              /* doubles converted at a time */
    PIECE = 1 << 16,          /* terms of one long sum that one thread takes at a time */
    NARROW = 8,               /* inner sizes below this are summed one by one */
    PARALLEL_TERMS = 1 << 14, /* fewest terms worth another thread */
};

const struct exact_sum_kernels *exact_sum_kernels_here(void)
{
    static const struct exact_sum_kernels *here;
    const struct exact_sum_kernels *kernels = __atomic_load_n(&here, __ATOMIC_RELAXED);
    if (kernels == NULL) {
        kernels = &exact_sum_kernels_level0;
#ifdef __x86_64__
        const int level = vector_level();
        kernels = level == 3   ? &exact_sum_kernels_level3
                  : level == 2 ? &exact_sum_kernels_level2
                               : kernels;
#endif
        __atomic_store_n(&here, kernels, __ATOMIC_RELAXED);
    }
    return kernels;
}

/* high + low as a rounded sum and its exact error. */
static double renormalize(double high, double low, double *tail)
{
    const double sum = high + low;
    const double share = sum - high;
    *tail = (high - (sum - share)) + (low - share);
    return sum;
}

static double round_pair(enum type type, double value, double tail)
{
    return type == TYPE_F64 ? value : float_round(type, float_round_to_odd(value, tail));
}

bool exact_partial_round(const struct exact_partial *sum, double additions, enum type type,
                         double *out)
{
    if (sum->slack == 0 && sum->low == 0 && isfinite(sum->high)) {
        *out = float_round(type, sum->high);
        return true;
    }
    double tail, low_tail, high_tail;
    const double value = renormalize(sum->high, sum->low, &tail);
    /* The last two terms: adding the bound to the tail rounds. */
    const double bound = 0x1p-52 * (additions + 4) * sum->slack + 0x1p-51 * fabs(tail);
    if (!isfinite(value) || !isfinite(bound)) {
        return false;
    }
    const double low = renormalize(value, tail - bound, &low_tail);
    const double high = renormalize(value, tail + bound, &high_tail);
    const double first = round_pair(type, low, low_tail);
    *out = round_pair(type, high, high_tail);
    return memcmp(&first, out, sizeof(first)) == 0;
}

/* Stored terms in[first + i * stride] as doubles. */
static void load(enum type source, const void *in, int64_t first, int64_t stride, double *out,
                 int64_t count)
{
    const int64_t bytes = type_bytes(source);
    const char *at = (const char *)in + first * bytes;
    if (stride == 1) {
        float_load(source, at, out, count);
        return;
    }
    if (stride < NARROW && count > 0) { /* cheaper with what lies between */
        double span[STRIP * NARROW];
        float_load(source, at, span, (count - 1) * stride + 1);
        for (int64_t i = 0; i < count; i++) {
            out[i] = span[i * stride];
        }
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        float_load(source, at + i * stride * bytes, out + i, 1);
    }
}

/* Terms [first, first + count) of a sum, added to a double-double. */
static struct exact_partial partial_sum(enum type source, const void *in, int64_t stride,
                                        int64_t first, int64_t count)
{
    const struct exact_sum_kernels *kernels = exact_sum_kernels_here();
    struct exact_partial sum = {-0.0, 0, 0};
    double terms[STRIP];
    if (source == TYPE_F64 && stride == 1 && count > 0) {
        return kernels->sum((const double *)in + first, count);
    }
    for (int64_t i = 0; i < count; i += STRIP) {
        const int64_t size = count - i < STRIP ? count - i : STRIP;
        load(source, in, (first + i) * stride, stride, terms, size);
        struct exact_partial strip = kernels->sum(terms, size);
        exact_partial_merge(&sum, &strip);
    }
    return sum;
}

static double long_sum(enum type type, double init, enum type source, const void *in,
                       int64_t stride, int64_t count)
{
    struct exact_accumulator accumulator;
    exact_accumulator_init(&accumulator);
    exact_accumulator_add(&accumulator, init);
    double terms[STRIP];
    for (int64_t i = 0; i < count && (i % PIECE != 0 || !poll_now()); i += STRIP) {
        const int64_t size = count - i < STRIP ? count - i : STRIP;
        load(source, in, i * stride, stride, terms, size);
        for (int64_t k = 0; k < size; k++) {
            exact_accumulator_add(&accumulator, terms[k]);
        }
    }
    return exact_accumulator_round(&accumulator, type);
}

/* Additions to the low part of a sum of count terms over lanes, strips and pieces. */
static double additions_of(int64_t count)
{
    return (double)(count / EXACT_SUM_LANES + 2 * (count / STRIP)) + 512;
}

struct pieces {
    enum type source;
    const void *in;
    int64_t stride, count;
    struct exact_partial *partials;
};

static void sum_pieces(void *context, int64_t begin, int64_t end)
{
    const struct pieces *p = context;
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = i * PIECE;
        const int64_t size = p->count - first < PIECE ? p->count - first : PIECE;
        p->partials[i] = partial_sum(p->source, p->in, p->stride, first, size);
    }
}

double exact_sum_typed(enum type type, double init, enum type source, const void *in, int64_t count,
                       int64_t stride)
{
    double result;
    struct exact_partial sum = {init, 0, 0};
    if (count <= 2 * PIECE) {
        struct exact_partial all = partial_sum(source, in, stride, 0, count);
        exact_partial_merge(&sum, &all);
    } else {
        const int64_t pieces = (count + PIECE - 1) / PIECE;
        struct pieces context = {source, in, stride, count,
                                 memory_alloc((size_t)pieces * sizeof(struct exact_partial))};
        const bool all = poll_for(pieces, 1, sum_pieces, &context);
        for (int64_t i = 0; i < pieces && all; i++) {
            exact_partial_merge(&sum, &context.partials[i]);
        }
        free(context.partials);
    }
    if (exact_partial_round(&sum, additions_of(count), type, &result)) {
        return result;
    }
    return long_sum(type, init, source, in, stride, count);
}

double exact_sum(enum type type, double init, const double *in, int64_t count, int64_t stride)
{
    return exact_sum_typed(type, init, TYPE_F64, in, count, stride);
}

/* --- Running sums. -----------------------------------------------------------------------------
 */

void exact_sums_init(struct exact_sums *sums, double *memory, int64_t count, double init)
{
    *sums = (struct exact_sums){memory, memory + count, memory + 2 * count, count, 0};
    for (int64_t i = 0; i < count; i++) {
        sums->high[i] = init;
        sums->low[i] = 0;
        sums->slack[i] = 0;
    }
}

void exact_sums_add(struct exact_sums *sums, int64_t first, const double *terms, int64_t count,
                    int64_t stride)
{
    sums->terms++;
    if (stride == 0 || stride == 1) {
        exact_sum_kernels_here()->add(sums->high + first, sums->low + first, sums->slack + first,
                                      terms, count, stride == 0);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = first + i;
        struct exact_partial sum = {sums->high[at], sums->low[at], sums->slack[at]};
        exact_partial_add(&sum, terms[i * stride]);
        sums->high[at] = sum.high;
        sums->low[at] = sum.low;
        sums->slack[at] = sum.slack;
    }
}

int64_t exact_sums_round(const struct exact_sums *sums, enum type type, double *out,
                         unsigned char *open)
{
    int64_t left = 0;
    for (int64_t i = 0; i < sums->count; i++) {
        const struct exact_partial sum = {sums->high[i], sums->low[i], sums->slack[i]};
        open[i] = !exact_partial_round(&sum, (double)sums->terms, type, &out[i]);
        left += open[i];
    }
    return left;
}

/* --- [outer][terms][inner] → [outer][inner]. ---------------------------------------------------
 */

struct reduction {
    enum type type, source;
    double init;
    const char *in;
    char *out;
    int64_t terms, inner;
    int64_t strips; /* of inner */
};

/* One sum each, the terms `inner` apart. */
static void reduce_singles(void *context, int64_t begin, int64_t end)
{
    const struct reduction *r = context;
    for (int64_t i = begin; i < end; i++) {
        const int64_t outer = i / r->inner, inner = i % r->inner;
        const char *in = r->in + (outer * r->terms * r->inner + inner) * type_bytes(r->source);
        double sum = exact_sum_typed(r->type, r->init, r->source, in, r->terms, r->inner);
        float_store(r->type, &sum, r->out + i * type_bytes(r->type), 1);
    }
}

enum { ROWS_BETWEEN = 1024 }; /* questions whether to stop */

/* A strip of neighbouring sums, row after row. */
static void reduce_strips(void *context, int64_t begin, int64_t end)
{
    const struct reduction *r = context;
    for (int64_t item = begin; item < end; item++) {
        const int64_t outer = item / r->strips, first = item % r->strips * STRIP;
        const int64_t size = r->inner - first < STRIP ? r->inner - first : STRIP;
        const int64_t start = outer * r->terms * r->inner + first;
        double memory[3 * STRIP], terms[STRIP], results[STRIP];
        unsigned char open[STRIP];
        struct exact_sums sums;
        exact_sums_init(&sums, memory, size, r->init);
        for (int64_t t = 0; t < r->terms && (t % ROWS_BETWEEN != ROWS_BETWEEN - 1 || !poll_now());
             t++) {
            load(r->source, r->in, start + t * r->inner, 1, terms, size);
            exact_sums_add(&sums, 0, terms, size, 1);
        }
        if (exact_sums_round(&sums, r->type, results, open) > 0) {
            for (int64_t i = 0; i < size; i++) {
                if (open[i]) {
                    const char *in = r->in + (start + i) * type_bytes(r->source);
                    results[i] = long_sum(r->type, r->init, r->source, in, r->inner, r->terms);
                }
            }
        }
        float_store(r->type, results, r->out + (outer * r->inner + first) * type_bytes(r->type),
                    size);
    }
}

void exact_sum_reduce(enum type type, double init, enum type source, const void *in, int64_t outer,
                      int64_t terms, int64_t inner, void *out)
{
    struct reduction reduction = {type, source, init,  in,
                                  out,  terms,  inner, (inner + STRIP - 1) / STRIP};
    if (outer <= 0 || inner <= 0) {
        return;
    }
    const bool singles = inner < NARROW;
    const int64_t items = singles ? outer * inner : outer * reduction.strips;
    const int64_t cost = (terms + 8) * (singles ? 1 : inner < STRIP ? inner : STRIP);
    const int64_t grain = PARALLEL_TERMS / cost + 1;
    if (items == 1) {
        (singles ? reduce_singles : reduce_strips)(&reduction, 0, 1); /* may split the terms */
        return;
    }
    poll_for(items, grain, singles ? reduce_singles : reduce_strips, &reduction);
}
