/* Reductions by any program: many outputs side by side, each by its terms in order. */
#include <stdlib.h>
#include <string.h>

#include "interp/poll.h"
#include "interp/reduce.h"

struct job {
    const struct program *program;
    int count;
    const struct reduce_view *views;
    const void *const *inits;
    void *const *outs;
    bool direct; /* every result is made by a step of its own */
    atomic_bool failed;
    struct error *err;
};

/* Outputs [first, first + lanes): where their terms are. */
struct strip {
    int64_t first, lanes;
    bool contiguous;
    int64_t offsets[LANE_STRIP]; /* of term 0 */
};

static void strip_init(struct strip *strip, const struct reduce_view *view, int64_t first,
                       int64_t lanes)
{
    strip->first = first;
    strip->lanes = lanes;
    strip->contiguous = true;
    for (int64_t j = 0; j < lanes; j++) {
        int64_t o = (first + j) / view->inner, i = (first + j) % view->inner;
        strip->offsets[j] = o * view->terms * view->inner + i;
        strip->contiguous = strip->contiguous && strip->offsets[j] == strip->offsets[0] + j;
    }
}

/* Puts term t of each lane into the program's input. */
static void load_terms(const struct strip *strip, const struct reduce_view *view, int64_t t,
                       struct program_frame *frame, int input)
{
    const char *terms = view->data + t * view->inner * type_bytes(view->type);
    if (!strip->contiguous) {
        lane_gather(view->type, terms, strip->offsets, program_input(frame, input), strip->lanes);
        return;
    }
    const char *first = terms + strip->offsets[0] * type_bytes(view->type);
    if (lane_is_native(view->type)) {
        program_bind_input(frame, input, first);
    } else {
        lane_load(view->type, first, program_input(frame, input), strip->lanes);
    }
}

/* Copies the values of a strip. */
static void copy_strip(enum type type, void *to, const void *from, int64_t lanes)
{
    enum lane lane = lane_of(type);
    if (lane == LANE_COMPLEX) {
        memcpy(to, from, (size_t)lanes * sizeof(double));
        memcpy((double *)to + LANE_STRIP, (const double *)from + LANE_STRIP,
               (size_t)lanes * sizeof(double));
    } else if (lanes == 1 && lane_bytes(lane) == 4) {
        memcpy(to, from, 4);
    } else {
        memcpy(to, from, (size_t)(lanes * lane_bytes(lane)));
    }
}

/* The results become the accumulators. A program may pass an accumulator on in another place; then
 * results are collected first. */
static void keep_results(struct job *job, struct program_frame *frame, char *kept, int64_t lanes)
{
    const size_t stride = LANE_STRIP * LANE_MAX_BYTES;
    for (int i = 0; i < job->count && !job->direct; i++) {
        copy_strip(program_output_type(job->program, i), kept + (size_t)i * stride,
                   program_output(frame, i), lanes);
    }
    for (int i = 0; i < job->count; i++) {
        const void *from = job->direct ? program_output(frame, i) : kept + (size_t)i * stride;
        copy_strip(program_output_type(job->program, i), program_input(frame, i), from, lanes);
    }
}

static bool reduce_strip(struct job *job, struct program_frame *frame, char *kept, int64_t first,
                         int64_t lanes)
{
    struct strip strip;
    strip_init(&strip, &job->views[0], first, lanes);
    for (int i = 0; i < job->count; i++) {
        lane_fill(program_input_type(job->program, i), job->inits[i], program_input(frame, i),
                  lanes);
    }
    for (int64_t t = 0; t < job->views[0].terms; t++) {
        for (int i = 0; i < job->count; i++) {
            load_terms(&strip, &job->views[i], t, frame, job->count + i);
        }
        if (!program_run(frame, lanes) || (t % 64 == 63 && poll_now())) {
            return false;
        }
        keep_results(job, frame, kept, lanes);
    }
    for (int i = 0; i < job->count; i++) {
        enum type type = program_output_type(job->program, i);
        lane_store(type, program_input(frame, i), (char *)job->outs[i] + first * type_bytes(type),
                   lanes);
    }
    return true;
}

static void reduce_range(void *context, int64_t begin, int64_t end)
{
    struct job *job = context;
    struct program_frame *frame = program_frame_create(job->program, job->err);
    char *kept = malloc((size_t)job->count * LANE_STRIP * LANE_MAX_BYTES);
    bool ok = frame != NULL && kept != NULL;
    for (int64_t first = begin; first < end && ok; first += LANE_STRIP) {
        int64_t lanes = end - first < LANE_STRIP ? end - first : LANE_STRIP;
        ok = reduce_strip(job, frame, kept, first, lanes);
    }
    if (!ok) {
        job->failed = true;
    }
    free(kept);
    program_frame_destroy(frame);
}

bool reduce_program(const struct program *program, const struct reduce_view *views,
                    const void *const *inits, void *const *outs, struct error *err)
{
    struct job job = {.program = program,
                      .count = program_output_count(program),
                      .views = views,
                      .inits = inits,
                      .outs = outs,
                      .direct = true,
                      .err = err};
    for (int i = 0; i < job.count; i++) {
        job.direct = job.direct && program_output_is_made(program, i);
    }
    program_for(program, views[0].outer * views[0].inner, 64, reduce_range, &job);
    return !job.failed || error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory to reduce");
}
