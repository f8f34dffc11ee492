/* reduce: exact sums, folds of reducers whose order does not matter, programs for the rest. */
#include "interp/reduce.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/floats.h"
#include "interp/elementwise.h"
#include "interp/exact_sum.h"
#include "interp/marks.h"
#include "interp/poll.h"
#include "interp/walk.h"

/* --- views --- */

static bool reduced(struct ints dimensions, int64_t dimension)
{
    for (int i = 0; i < dimensions.count; i++) {
        if (dimensions.values[i] == dimension) {
            return true;
        }
    }
    return false;
}

/* Neighbouring dimensions of one kind as one; those of size 1 are left out. */
struct groups_of_dimensions {
    int count;
    int64_t sizes[SHAPE_MAX_RANK];
    bool reduced[SHAPE_MAX_RANK];
};

static void group_dimensions(const struct shape *shape, struct ints dimensions,
                             struct groups_of_dimensions *groups)
{
    groups->count = 0;
    for (int d = 0; d < shape->rank; d++) {
        bool is_reduced = reduced(dimensions, d);
        if (shape->dimensions[d] == 1) {
            continue;
        }
        if (groups->count > 0 && groups->reduced[groups->count - 1] == is_reduced) {
            groups->sizes[groups->count - 1] *= shape->dimensions[d];
        } else {
            groups->sizes[groups->count] = shape->dimensions[d];
            groups->reduced[groups->count++] = is_reduced;
        }
    }
}

/* Kept and reduced dimensions that alternate: a copy with all kept ones together, on the side where
 * the last group is, so that rows stay whole. */
static bool rearrange(struct reduce_view *view, const struct groups_of_dimensions *groups,
                      struct error *err)
{
    int bytes = type_bytes(view->type);
    int64_t elements = 1, strides[SHAPE_MAX_RANK], terms = 1;
    walk_strides(groups->count, groups->sizes, strides);
    for (int g = 0; g < groups->count; g++) {
        elements *= groups->sizes[g];
        terms *= groups->reduced[g] ? groups->sizes[g] : 1;
    }
    view->owned = malloc((size_t)(elements > 0 ? elements * bytes : 1));
    if (view->owned == NULL) {
        return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory to rearrange %lld elements",
                         (long long)elements);
    }
    bool terms_last = groups->reduced[groups->count - 1];
    struct walk walk;
    walk_begin(&walk);
    int64_t stride = 1;
    for (int pass = 0; pass < 2; pass++) {
        bool now = terms_last == (pass == 0);
        for (int g = groups->count - 1; g >= 0; g--) {
            if (groups->reduced[g] == now) {
                walk_add(&walk, groups->sizes[g], strides[g], stride);
                stride *= groups->sizes[g];
            }
        }
    }
    walk_finish(&walk);
    walk_copy(&walk, view->owned, view->data, bytes);
    view->data = view->owned;
    view->terms = terms;
    view->outer = terms_last ? (terms > 0 ? elements / terms : 0) : 1;
    view->inner = terms_last ? 1 : (terms > 0 ? elements / terms : 0);
    return true;
}

bool reduce_view_init(struct reduce_view *view, const struct literal *literal,
                      struct ints dimensions, struct error *err)
{
    struct groups_of_dimensions groups;
    group_dimensions(literal->shape, dimensions, &groups);
    *view = (struct reduce_view){literal->shape->type, 1, 1, 1, literal_data(literal), NULL};
    int at = 0;
    if (at < groups.count && !groups.reduced[at]) {
        view->outer = groups.sizes[at++];
    }
    if (at < groups.count) {
        view->terms = groups.sizes[at++];
    }
    if (at < groups.count) {
        view->inner = groups.sizes[at++];
    }
    if (at < groups.count && literal_elements(literal) > 0) {
        return rearrange(view, &groups, err);
    }
    for (; at < groups.count; at++) {
        /* Empty: only the sizes matter. */
        *(groups.reduced[at] ? &view->terms : &view->outer) *= groups.sizes[at];
    }
    return true;
}

void reduce_view_finish(struct reduce_view *view)
{
    free(view->owned);
    view->owned = NULL;
}

/* --- folds --- */

enum { BLOCK = 4 * LANE_STRIP };

struct fold_job {
    const struct lane_step *step;
    enum type type;
    int bytes, lane_size;
    bool native;
    int64_t terms, inner, blocks; /* blocks of columns per outer index */
    const char *in;
    const void *init; /* or NULL */
    char *out;
};

/* The values of `count` elements from `index` on: the memory itself or, loaded, scratch. */
static const char *values_at(const struct fold_job *job, int64_t index, int64_t count,
                             void *scratch)
{
    const char *elements = job->in + index * job->bytes;
    if (job->native) {
        return elements;
    }
    lane_load(job->type, elements, scratch, count);
    return scratch;
}

/* acc[i] = acc[i] · other[i] */
static void combine(const struct fold_job *job, void *acc, const void *other, int64_t count)
{
    const void *in[2] = {acc, other};
    lane_run(job->step, acc, in, count);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Rows of columns: unit u is a block of columns of one outer index. */
static void fold_columns(void *context, int64_t begin, int64_t end)
{
    const struct fold_job *job = context;
    _Alignas(64) char acc[BLOCK * sizeof(double)];
    double scratch[LANE_STRIP];
    const int64_t block = job->native ? BLOCK : LANE_STRIP;
    for (int64_t u = begin; u < end; u++) {
        int64_t o = u / job->blocks, first = u % job->blocks * block;
        int64_t count = least(block, job->inner - first), t = 0;
        if (job->init != NULL) {
            lane_fill(job->type, job->init, acc, count);
        } else {
            lane_load(job->type, job->in + (o * job->terms * job->inner + first) * job->bytes, acc,
                      count);
            t = 1;
        }
        for (; t < job->terms; t++) {
            int64_t index = (o * job->terms + t) * job->inner + first;
            combine(job, acc, values_at(job, index, count, scratch), count);
        }
        lane_store(job->type, acc, job->out + (o * job->inner + first) * job->bytes, count);
    }
}

/* Folds `terms` groups of `inner` values in acc onto the first group. */
static void fold_halves(const struct fold_job *job, char *acc, int64_t terms)
{
    while (terms > 1) {
        int64_t half = terms / 2, kept = terms - half;
        combine(job, acc, acc + kept * job->inner * job->lane_size, half * job->inner);
        terms = kept;
    }
}

/* Few columns: blocks of whole groups are combined as vectors, then the groups of the result. */
static void fold_rows(void *context, int64_t begin, int64_t end)
{
    const struct fold_job *job = context;
    _Alignas(64) char acc[BLOCK * sizeof(double)];
    double scratch[LANE_STRIP];
    const int64_t inner = job->inner;
    const int64_t groups = (job->native ? BLOCK : LANE_STRIP) / inner;
    for (int64_t o = begin; o < end; o++) {
        int64_t row = o * job->terms * inner, kept = least(groups, job->terms);
        lane_load(job->type, job->in + row * job->bytes, acc, kept * inner);
        for (int64_t t = kept; t < job->terms; t += groups) {
            int64_t count = least(groups, job->terms - t) * inner;
            combine(job, acc, values_at(job, row + t * inner, count, scratch), count);
        }
        fold_halves(job, acc, kept);
        if (job->init != NULL) {
            lane_fill(job->type, job->init, scratch, inner);
            combine(job, acc, scratch, inner);
        }
        lane_store(job->type, acc, job->out + o * inner * job->bytes, inner);
    }
}

/* Up to so many columns are folded as rows; rows from twice SEGMENTS * SEGMENT_ELEMENTS elements on
 * are cut into segments, so that threads have work when there are few. */
enum { NARROW = 64, SEGMENTS = 32, SEGMENT_ELEMENTS = 4096 };

/* init NULL: there is none, and terms > 0. */
static bool fold(const struct lane_step *step, const struct reduce_view *view, const void *init,
                 void *out, struct error *err);

static bool fold_segments(const struct lane_step *step, const struct reduce_view *view,
                          const void *init, void *out, struct error *err)
{
    const int64_t bytes = type_bytes(view->type), inner = view->inner;
    const int64_t segment = view->terms / SEGMENTS, rest = view->terms % SEGMENTS;
    const int64_t parts = SEGMENTS + (rest > 0);
    char *folded = malloc((size_t)(parts * inner * bytes));
    if (folded == NULL) {
        return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for partial results");
    }
    bool ok = true;
    for (int64_t o = 0; o < view->outer && ok; o++) {
        const char *row = view->data + o * view->terms * inner * bytes;
        struct reduce_view segments = {view->type, SEGMENTS, segment, inner, row, NULL};
        ok = fold(step, &segments, NULL, folded, err);
        if (ok && rest > 0) {
            struct reduce_view last = {
                view->type, 1, rest, inner, row + SEGMENTS * segment * inner * bytes, NULL};
            ok = fold(step, &last, NULL, folded + SEGMENTS * inner * bytes, err);
        }
        if (ok) {
            struct reduce_view all = {view->type, 1, parts, inner, folded, NULL};
            ok = fold(step, &all, init, (char *)out + o * inner * bytes, err);
        }
    }
    free(folded);
    return ok;
}

static bool fold(const struct lane_step *step, const struct reduce_view *view, const void *init,
                 void *out, struct error *err)
{
    struct fold_job job = {.step = step,
                           .type = view->type,
                           .bytes = type_bytes(view->type),
                           .lane_size = lane_bytes(lane_of(view->type)),
                           .native = lane_is_native(view->type),
                           .terms = view->terms,
                           .inner = view->inner,
                           .in = view->data,
                           .init = init,
                           .out = out};
    int64_t row = view->terms * view->inner;
    if (row == 0 || view->outer == 0) {
        for (int64_t i = 0; i < view->outer * view->inner; i++) {
            memcpy(job.out + i * job.bytes, init, (size_t)job.bytes);
        }
        return true;
    }
    if (view->outer < SEGMENTS && view->terms >= 2 * SEGMENTS &&
        row >= 2 * (int64_t)SEGMENTS * SEGMENT_ELEMENTS) {
        return fold_segments(step, view, init, out, err);
    }
    if (view->inner <= NARROW) {
        poll_for(view->outer, 1 + 16384 / row, fold_rows, &job);
    } else {
        int64_t block = job.native ? BLOCK : LANE_STRIP;
        job.blocks = (view->inner + block - 1) / block;
        poll_for(view->outer * job.blocks, 1 + 16384 / (view->terms * block), fold_columns, &job);
    }
    return true;
}

bool reduce_fold(const struct lane_step *step, const struct reduce_view *view, const void *init,
                 void *out, struct error *err)
{
    return fold(step, view, init, out, err);
}

/* --- sums --- */

static double scalar_double(enum type type, const void *element)
{
    double value = 0;
    float_load(type, element, &value, 1);
    return value;
}

/* Complex: the parts apart. */
static bool sum_complex(const struct reduce_view *view, const void *init, void *out,
                        struct error *err)
{
    enum type part = type_part(view->type);
    int64_t elements = view->outer * view->terms * view->inner;
    int64_t results = view->outer * view->inner;
    int part_bytes = type_bytes(part);
    char *memory = malloc((size_t)((elements + results + 1) * part_bytes));
    if (memory == NULL) {
        return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for %lld complex parts",
                         (long long)elements);
    }
    char *sums = memory + elements * part_bytes;
    for (int p = 0; p < 2; p++) {
        struct walk walk;
        walk_begin(&walk);
        walk_add(&walk, elements, 2, 1);
        walk_finish(&walk);
        walk_copy(&walk, memory, view->data + p * part_bytes, part_bytes);
        exact_sum_reduce(part, scalar_double(part, (const char *)init + p * part_bytes), part,
                         memory, view->outer, view->terms, view->inner, sums);
        walk_begin(&walk);
        walk_add(&walk, results, 1, 2);
        walk_finish(&walk);
        walk_copy(&walk, (char *)out + p * part_bytes, sums, part_bytes);
    }
    free(memory);
    return true;
}

/* --- the instruction --- */

/* One array by itself: its exact sum, or a fold. False in *done if it needs its program. */
static bool reduce_alone(enum reducer reducer, enum fidelity fidelity,
                         const struct reduce_view *view, const void *init, void *out, bool *done,
                         struct error *err)
{
    enum type type = view->type;
    *done = true;
    if (reducer == REDUCER_ADD && fidelity == FIDELITY_EXACT && type_is_float(type)) {
        exact_sum_reduce(type, scalar_double(type, init), type, view->data, view->outer,
                         view->terms, view->inner, out);
        return true;
    }
    if (reducer == REDUCER_ADD && fidelity == FIDELITY_EXACT && type_is_complex(type)) {
        return sum_complex(view, init, out, err);
    }
    struct lane_step step;
    if (reducer_is_unordered(reducer, type) && reducer_step(reducer, type, &step)) {
        return fold(&step, view, init, out, err);
    }
    *done = false;
    return true;
}

/* An output is open if one of its terms is. */
static void reduce_marks(const struct instruction *instruction, const struct operands *operands,
                         struct literal *const *results, int count)
{
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    const struct shape *shape = operands->values[0]->shape;
    int64_t strides[SHAPE_MAX_RANK], to_strides[SHAPE_MAX_RANK], stride = 1;
    walk_strides(shape->rank, shape->dimensions, strides);
    for (int d = shape->rank - 1; d >= 0; d--) {
        bool is_reduced = reduced(dimensions, d);
        to_strides[d] = is_reduced ? 0 : stride;
        stride *= is_reduced ? 1 : shape->dimensions[d];
    }
    for (int k = 0; k < 2 * count; k++) {
        const uint8_t *marks = marks_of(operands->values[k]);
        int64_t elements = literal_elements(operands->values[k]);
        for (int64_t i = 0; marks != NULL && i < elements; i++) {
            if (!mark_get(marks, i)) {
                continue;
            }
            int64_t to = 0;
            for (int d = 0; k < count && d < shape->rank; d++) {
                to += i / strides[d] % shape->dimensions[d] * to_strides[d];
            }
            for (int r = 0; r < count; r++) {
                if (k >= count) {
                    marks_set_all(results[r]);
                } else {
                    mark_set(marks_make(results[r]), to);
                }
            }
        }
    }
}

/* All arrays by one program, or each by itself where its reducer is known. */
static bool reduce_all(const struct program *program, enum fidelity fidelity,
                       const struct reduce_view *views, const void *const *inits, void *const *outs,
                       int count, struct error *err)
{
    bool alone = true;
    for (int i = 0; i < count; i++) {
        alone = alone && program_reducer(program, i) != REDUCER_OTHER;
    }
    for (int i = 0; i < count && alone; i++) {
        enum reducer reducer = program_reducer(program, i);
        if (!reduce_alone(reducer, fidelity, &views[i], inits[i], outs[i], &alone, err)) {
            return false;
        }
    }
    return alone || reduce_program(program, views, inits, outs, err);
}

static struct literal *reduce(const struct instruction *instruction, enum fidelity fidelity,
                              const struct program *program, struct literal **operands, int count,
                              struct error *err)
{
    size_t n = (size_t)count;
    struct reduce_view *views = memory_zalloc(n * sizeof *views);
    const void **inits = memory_zalloc(n * sizeof *inits);
    void **outs = memory_zalloc(n * sizeof *outs);
    struct literal **results = memory_zalloc(n * sizeof *results);
    bool ok = true;
    for (int i = 0; i < count && ok; i++) {
        const struct shape *shape = shape_is_tuple(instruction->shape)
                                        ? instruction->shape->elements[i]
                                        : instruction->shape;
        results[i] = literal_create(shape_with_type(shape, operands[count + i]->shape->type), err);
        ok = results[i] != NULL &&
             reduce_view_init(&views[i], operands[i], attr_ints(instruction, ATTR_DIMENSIONS), err);
        inits[i] = literal_data(operands[count + i]);
        outs[i] = results[i] != NULL ? literal_data(results[i]) : NULL;
    }
    ok = ok && reduce_all(program, fidelity, views, inits, outs, count, err);
    struct literal *result = NULL;
    if (ok) {
        struct operands all = {2 * count, operands, NULL};
        reduce_marks(instruction, &all, results, count);
        result = reduce_assemble(instruction->shape, results, count, err);
    }
    for (int i = 0; i < count; i++) {
        reduce_view_finish(&views[i]);
        literal_release(results[i]);
    }
    free(views);
    free(inits);
    free(outs);
    free(results);
    return result;
}

struct literal *eval_reduce(struct evaluation *evaluation, const struct instruction *instruction,
                            struct operands *operands, struct error *err)
{
    return reduce_arrays(evaluation, instruction, operands, reduce, err);
}
