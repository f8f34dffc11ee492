/* reduce-window: which way a window is reduced, and the general way, by a program. */
#include <stdlib.h>
#include <string.h>

#include "interp/marks.h"
#include "interp/poll.h"
#include "interp/reduce.h"
#include "interp/walk.h"
#include "interp/windows.h"

/* --- any program: many windows side by side, each by its elements in row-major order --- */

struct window_job {
    const struct program *program;
    const struct windows *windows;
    int count;
    struct literal *const *operands; /* arrays, then initial values */
    struct literal *const *results;
    atomic_bool failed;
    struct error *err;
};

static size_t strip_bytes(enum type type, int64_t lanes)
{
    enum lane lane = lane_of(type);
    return lane == LANE_COMPLEX ? (size_t)LANE_STRIP * LANE_MAX_BYTES
                                : (size_t)(lanes * lane_bytes(lane));
}

static bool run_strip(const struct window_job *job, struct program_frame *frame,
                      struct window_strip *strip, char *kept, int64_t first, int64_t lanes)
{
    int64_t offsets[LANE_STRIP];
    uint8_t valid[LANE_STRIP];
    window_strip_set(strip, job->windows, first, lanes);
    for (int i = 0; i < job->count; i++) {
        const struct literal *init = job->operands[job->count + i];
        lane_fill(init->shape->type, literal_data(init), program_input(frame, i), lanes);
    }
    for (int64_t w = 0; w < job->windows->window_elements; w++) {
        int64_t inside = window_strip_at(strip, job->windows, w, offsets, valid);
        if (inside == 0) {
            continue;
        }
        for (int i = 0; i < job->count; i++) {
            const struct literal *array = job->operands[i];
            lane_gather(array->shape->type, literal_data(array), offsets,
                        program_input(frame, job->count + i), lanes);
        }
        if (!program_run(frame, lanes) || (w % 64 == 63 && poll_now())) {
            return false;
        }
        /* A program may pass an accumulator on in another place, so results are collected first. */
        for (int i = 0; i < job->count; i++) {
            memcpy(kept + (size_t)i * LANE_STRIP * LANE_MAX_BYTES, program_output(frame, i),
                   strip_bytes(program_output_type(job->program, i), lanes));
        }
        for (int i = 0; i < job->count; i++) {
            lane_blend(lane_of(program_output_type(job->program, i)), valid,
                       kept + (size_t)i * LANE_STRIP * LANE_MAX_BYTES, program_input(frame, i),
                       lanes);
        }
    }
    for (int i = 0; i < job->count; i++) {
        enum type type = job->results[i]->shape->type;
        char *out = literal_data(job->results[i]);
        lane_store(type, program_input(frame, i), out + first * type_bytes(type), lanes);
    }
    return true;
}

static void run_range(void *context, int64_t begin, int64_t end)
{
    struct window_job *job = context;
    struct program_frame *frame = program_frame_create(job->program, job->err);
    struct window_strip *strip = window_strip_create(job->windows, job->err);
    char *kept = malloc((size_t)job->count * LANE_STRIP * LANE_MAX_BYTES);
    bool ok = frame != NULL && strip != NULL && kept != NULL;
    for (int64_t first = begin; first < end && ok; first += LANE_STRIP) {
        int64_t lanes = end - first < LANE_STRIP ? end - first : LANE_STRIP;
        ok = run_strip(job, frame, strip, kept, first, lanes);
    }
    if (!ok) {
        job->failed = true;
    }
    free(kept);
    free(strip);
    program_frame_destroy(frame);
}

/* --- one array by itself --- */

/* Complex sums: the parts apart. */
static bool sum_complex(const struct windows *windows, enum type type, const char *in,
                        const char *init, char *out, struct error *err)
{
    enum type part = type_part(type);
    int bytes = type_bytes(part);
    int64_t elements = windows->in_elements, results = windows->out_elements;
    char *memory = malloc((size_t)((elements + results + 1) * bytes));
    bool ok = memory != NULL || error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for windows");
    for (int p = 0; p < 2 && ok; p++) {
        char *sums = memory + elements * bytes;
        struct walk walk;
        walk_begin(&walk);
        walk_add(&walk, elements, 2, 1);
        walk_finish(&walk);
        walk_copy(&walk, memory, in + p * bytes, bytes);
        ok = reduce_window_sum(windows, part, memory, init + p * bytes, sums, err);
        walk_begin(&walk);
        walk_add(&walk, results, 1, 2);
        walk_finish(&walk);
        walk_copy(&walk, out + p * bytes, sums, bytes);
    }
    free(memory);
    return ok;
}

/* False in *done when the program has to do it. */
static bool reduce_alone(enum reducer reducer, enum fidelity fidelity,
                         const struct windows *windows, const struct literal *operand,
                         const struct literal *init, struct literal *result, bool *done,
                         struct error *err)
{
    enum type type = operand->shape->type;
    const void *in = literal_data(operand), *start = literal_data(init);
    void *out = literal_data(result);
    *done = true;
    if (reducer == REDUCER_ADD && fidelity == FIDELITY_EXACT && type_is_float(type)) {
        return reduce_window_sum(windows, type, in, start, out, err);
    }
    if (reducer == REDUCER_ADD && fidelity == FIDELITY_EXACT && type_is_complex(type)) {
        return sum_complex(windows, type, in, start, out, err);
    }
    if (reducer_is_unordered(reducer, type)) {
        return reduce_window_fold(windows, reducer, type, in, start, out, err);
    }
    *done = false;
    return true;
}

static bool reduce_all(const struct window_job *job, enum fidelity fidelity, struct error *err)
{
    bool alone = true;
    for (int i = 0; i < job->count; i++) {
        alone = alone && program_reducer(job->program, i) != REDUCER_OTHER;
    }
    for (int i = 0; i < job->count && alone; i++) {
        if (!reduce_alone(program_reducer(job->program, i), fidelity, job->windows,
                          job->operands[i], job->operands[job->count + i], job->results[i], &alone,
                          err)) {
            return false;
        }
    }
    if (!alone) {
        struct window_job run = *job;
        program_for(job->program, job->windows->out_elements, 64, run_range, &run);
        return !run.failed || error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for windows");
    }
    return true;
}

/* --- marks --- */

struct mark_search {
    const struct literal *const *arrays;
    int count;
    bool found;
};

static void look_at(void *context, int64_t element)
{
    struct mark_search *search = context;
    for (int i = 0; i < search->count && !search->found; i++) {
        const uint8_t *marks = marks_of(search->arrays[i]);
        search->found = marks != NULL && mark_get(marks, element);
    }
}

/* An output is open if an element of its window is. */
static void spread_marks(const struct window_job *job)
{
    bool any = false;
    for (int i = 0; i < job->count; i++) {
        const uint8_t *init = marks_of(job->operands[job->count + i]);
        any = any || marks_of(job->operands[i]) != NULL;
        for (int r = 0; r < job->count && init != NULL && mark_get(init, 0); r++) {
            marks_set_all(job->results[r]);
        }
    }
    for (int64_t j = 0; any && j < job->windows->out_elements; j++) {
        struct mark_search search = {(const struct literal *const *)job->operands, job->count,
                                     false};
        window_each(job->windows, j, look_at, &search);
        for (int r = 0; r < job->count && search.found; r++) {
            mark_set(marks_make(job->results[r]), j);
        }
    }
}

/* --- the instruction --- */

static struct literal *reduce_window(const struct instruction *instruction, enum fidelity fidelity,
                                     const struct program *program, struct literal **operands,
                                     int count, struct error *err)
{
    const struct shape *shape = instruction->shape;
    const struct shape *first = shape_is_tuple(shape) ? shape->elements[0] : shape;
    struct windows windows;
    windows_init(&windows, operands[0]->shape, first, attr_window(instruction));
    struct literal **results = memory_zalloc((size_t)count * sizeof *results);
    struct window_job job = {program, &windows, count, operands, results, false, err};
    bool ok = true;
    for (int i = 0; i < count && ok; i++) {
        const struct shape *wanted = shape_is_tuple(shape) ? shape->elements[i] : shape;
        enum type type = operands[count + i]->shape->type;
        results[i] = literal_create(shape_with_type(wanted, type), err);
        ok = results[i] != NULL;
    }
    ok = ok && reduce_all(&job, fidelity, err);
    struct literal *result = NULL;
    if (ok) {
        spread_marks(&job);
        result = reduce_assemble(shape, results, count, err);
    }
    for (int i = 0; i < count; i++) {
        literal_release(results[i]);
    }
    free(results);
    return result;
}

struct literal *eval_reduce_window(struct evaluation *evaluation,
                                   const struct instruction *instruction, struct operands *operands,
                                   struct error *err)
{
    return reduce_arrays(evaluation, instruction, operands, reduce_window, err);
}
