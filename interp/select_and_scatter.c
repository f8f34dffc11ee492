/* select-and-scatter: in each window of the operand the element that `select` keeps takes a
 * contribution from the source by `scatter` (xla/hlo/evaluator). */
#include <stdlib.h>
#include <string.h>

#include "interp/marks.h"
#include "interp/poll.h"
#include "interp/reduce.h"
#include "interp/scatter_plan.h"
#include "interp/windows.h"

struct select_job {
    const struct program *select;
    const struct windows *windows;
    const struct literal *operand;
    int64_t *chosen; /* by source element: the operand's element, −1 for an empty window */
    atomic_bool failed;
    struct error *err;
};

/* The windows of sources [first, first + lanes), element by element: the current one is chosen if
 * there is none yet or select(chosen, current) is false. */
static bool select_strip(const struct select_job *job, struct program_frame *frame,
                         struct window_strip *strip, int64_t first, int64_t lanes)
{
    enum type type = job->operand->shape->type;
    int64_t offsets[LANE_STRIP], *chosen = job->chosen + first;
    uint8_t valid[LANE_STRIP];
    window_strip_set(strip, job->windows, first, lanes);
    memset(chosen, -1, (size_t)lanes * sizeof *chosen);
    for (int64_t w = 0; w < job->windows->window_elements; w++) {
        if (window_strip_at(strip, job->windows, w, offsets, valid) == 0) {
            continue;
        }
        lane_gather(type, literal_data(job->operand), offsets, program_input(frame, 1), lanes);
        if (!program_run(frame, lanes)) {
            return false;
        }
        if (w % 64 == 63 && poll_now()) {
            return false;
        }
        const uint8_t *keeps = program_output(frame, 0);
        for (int64_t i = 0; i < lanes; i++) {
            valid[i] = valid[i] && (chosen[i] < 0 || !keeps[i]);
            chosen[i] = valid[i] ? offsets[i] : chosen[i];
        }
        lane_blend(lane_of(type), valid, program_input(frame, 1), program_input(frame, 0), lanes);
    }
    return true;
}

static void select_range(void *context, int64_t begin, int64_t end)
{
    struct select_job *job = context;
    struct program_frame *frame = program_frame_create(job->select, job->err);
    struct window_strip *strip = window_strip_create(job->windows, job->err);
    bool ok = frame != NULL && strip != NULL;
    if (ok) {
        static const uint64_t nothing[2];
        lane_fill(job->operand->shape->type, nothing, program_input(frame, 0), LANE_STRIP);
    }
    for (int64_t first = begin; first < end && ok; first += LANE_STRIP) {
        int64_t lanes = end - first < LANE_STRIP ? end - first : LANE_STRIP;
        ok = select_strip(job, frame, strip, first, lanes);
    }
    if (!ok) {
        job->failed = true;
    }
    free(strip);
    program_frame_destroy(frame);
}

/* Open operands leave the choice open, and with it everything. */
static void spread_marks(const struct operands *operands, struct literal *result)
{
    if (literal_has_unspecified(operands->values[0]) ||
        literal_has_unspecified(operands->values[2])) {
        marks_set_all(result);
    }
}

static struct literal *run(const struct instruction *instruction, enum fidelity fidelity,
                           const struct program *select, const struct program *scatter,
                           struct operands *operands, struct error *err)
{
    const struct literal *operand = operands->values[0];
    struct literal *source = operands->values[1];
    struct windows windows;
    windows_init(&windows, operand->shape, source->shape, attr_window(instruction));
    struct literal *result = literal_create(instruction->shape, err);
    struct scatter_plan plan;
    if (result == NULL || !scatter_plan_create(&plan, windows.out_elements, 1, err)) {
        literal_release(result);
        return NULL;
    }
    int bytes = type_bytes(result->shape->type);
    for (int64_t i = 0; i < literal_elements(result); i++) {
        memcpy((char *)literal_data(result) + i * bytes, literal_data(operands->values[2]),
               (size_t)bytes);
    }
    struct select_job job = {select, &windows, operand, plan.start, false, err};
    bool whole = program_for(select, windows.out_elements, LANE_STRIP, select_range, &job);
    plan.offset[0] = 0;
    plan.update_offset[0] = 0;
    for (int64_t s = 0; s < plan.places; s++) {
        plan.update_start[s] = s;
    }
    bool ok =
        (whole && !job.failed) || error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for windows");
    ok = ok && scatter_apply(&plan, scatter, true, fidelity, &result, &source, 1, err);
    scatter_plan_finish(&plan);
    if (!ok) {
        literal_release(result);
        return NULL;
    }
    spread_marks(operands, result);
    return result;
}

struct literal *eval_select_and_scatter(struct evaluation *evaluation,
                                        const struct instruction *instruction,
                                        struct operands *operands, struct error *err)
{
    struct program *select = program_compile(evaluation, instruction->called[0], err);
    struct program *scatter = program_compile(evaluation, instruction->called[1], err);
    struct literal *result = NULL;
    enum type type = instruction->shape->type;
    bool fits = select != NULL && scatter != NULL && program_input_count(select) == 2 &&
                program_output_count(select) == 1 && program_output_type(select, 0) == TYPE_PRED &&
                program_input_count(scatter) == 2 && program_output_count(scatter) == 1;
    for (int i = 0; i < 2 && fits; i++) {
        fits = program_input_type(select, i) == operands->values[0]->shape->type &&
               program_input_type(scatter, i) == type && operands->values[i]->shape->type == type;
    }
    if (fits) {
        result = run(instruction, evaluation->options.fidelity, select, scatter, operands, err);
    } else {
        error_set(err, ERROR_UNIMPLEMENTED,
                  "select-and-scatter of types other than those of its computations");
    }
    program_destroy(select);
    program_destroy(scatter);
    return result;
}
