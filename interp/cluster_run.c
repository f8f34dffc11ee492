/* Running a cluster: strip by strip, in place of an input where one dies. */
#include <stdlib.h>
#include <string.h>

#include "hlo/floats.h"
#include "interp/cluster_internal.h"
#include "interp/marks.h"
#include "interp/poll.h"

struct run {
    struct cluster *cluster;
    const char *data[CLUSTER_MAX_VIEWS]; /* of each view's operand */
    char *out;
    bool alone; /* the only range: the spare frame is ours */
    atomic_bool failed, signalling;
    struct error *err;
};

/* Runs from this length on are filled, shorter ones gathered. */
enum { LONG_RUN = 16 };

/* --- loading views --- */

/* A view's elements before they are loaded, in their own type. */
typedef double raw_strip[LANE_STRIP];

bool cluster_has_signalling(enum type type, const void *elements, int64_t count)
{
    const struct float_format *format = &float_formats[type];
    if (format->specials != SPECIALS_IEEE) {
        return false;
    }
    const uint32_t magnitude_mask = (1u << (format->mantissa_bits + format->exponent_bits)) - 1;
    const uint32_t infinity = ((1u << format->exponent_bits) - 1) << format->mantissa_bits;
    const uint32_t quiet = 1u << (format->mantissa_bits - 1);
    int found = 0;
    if (type_bytes(type) == 2) {
        const uint16_t *bits = elements;
        for (int64_t i = 0; i < count; i++) {
            uint32_t magnitude = bits[i] & magnitude_mask;
            found |= magnitude > infinity && (magnitude & quiet) == 0;
        }
    } else {
        const uint8_t *bits = elements;
        for (int64_t i = 0; i < count; i++) {
            uint32_t magnitude = bits[i] & magnitude_mask;
            found |= magnitude > infinity && (magnitude & quiet) == 0;
        }
    }
    return found != 0;
}

/* Lanes [first, first + count) of an iota. */
static void load_iota(const struct cluster_view *view, int64_t first, int64_t count, void *strip)
{
    int64_t numbers[LANE_STRIP];
    int64_t value = first / view->quotient % view->period, run = first % view->quotient;
    for (int64_t i = 0; i < count; i++) {
        numbers[i] = value;
        if (++run == view->quotient) {
            run = 0;
            value = value + 1 < view->period ? value + 1 : 0;
        }
    }
    struct lane_step step;
    const void *in = numbers;
    lane_convert(TYPE_S64, view->type, &step);
    lane_run(&step, strip, &in, count);
}

/* Where the period of the operand begins that the lane's `block` of a period's lanes reads. */
static int64_t block_begin(const struct cluster_view *view, int64_t block)
{
    return view->outer == 1 ? 0 : block / view->gap % view->outer * view->period;
}

/* Element (i / quotient) mod period for the lanes: runs of one element each. */
static void gather_runs(const struct cluster_view *view, const char *data, int64_t first,
                        int64_t count, char *raw)
{
    const enum type type = lane_bits_type(view->type);
    const int64_t bytes = type_bytes(type);
    int64_t at = first / view->quotient % view->period;
    int64_t block = first / view->quotient / view->period, begin = block_begin(view, block);
    int64_t left = view->quotient - first % view->quotient;
    int64_t offsets[LANE_STRIP];
    for (int64_t i = 0; i < count;) {
        int64_t run = left < count - i ? left : count - i;
        if (view->quotient >= LONG_RUN) {
            lane_fill(type, data + (begin + at) * bytes, raw + i * bytes, run);
        }
        for (int64_t r = 0; r < run && view->quotient < LONG_RUN; r++) {
            offsets[i + r] = begin + at;
        }
        i += run;
        if (++at == view->period) {
            at = 0;
            begin = block_begin(view, ++block);
        }
        left = view->quotient;
    }
    if (view->quotient < LONG_RUN) {
        lane_gather(type, data, offsets, raw, count);
    }
}

/* Whole stretches of the operand, which repeats itself. */
static void gather_stretches(const struct cluster_view *view, const char *data, int64_t first,
                             int64_t count, char *raw)
{
    const size_t bytes = (size_t)type_bytes(view->type);
    int64_t at = first % view->period, block = first / view->period;
    for (int64_t i = 0; i < count; block++) {
        int64_t stretch = view->period - at < count - i ? view->period - at : count - i;
        const size_t from = (size_t)(block_begin(view, block) + at) * bytes;
        memcpy(raw + (size_t)i * bytes, data + from, (size_t)stretch * bytes);
        i += stretch;
        at = 0;
    }
}

/* False at a signalling NaN. */
static bool load_view(const struct run *run, struct program_frame *frame, int v, int64_t first,
                      int64_t count)
{
    const struct cluster_view *view = &run->cluster->views[v];
    const enum type type = view->type;
    const size_t bytes = (size_t)type_bytes(type);
    const char *data = run->data[v];
    if (view->input < 0) {
        load_iota(view, first, count, program_input(frame, v));
        return true;
    }
    if (view->period == 1) {
        /* Loaded once, by load_scalars. */
        return true;
    }
    const bool native = lane_is_native(type);
    int64_t at = view->quotient == 1 ? first % view->period : 0;
    if (view->quotient == 1 && at + count <= view->period) {
        data += (size_t)(block_begin(view, first / view->period) + at) * bytes;
        if (native) {
            program_bind_input(frame, v, data);
            return true;
        }
        lane_load(type, data, program_input(frame, v), count);
        return !cluster_has_signalling(type, data, count);
    }
    raw_strip raw;
    char *target = native ? program_input(frame, v) : (char *)raw;
    if (native) {
        program_bind_input(frame, v, NULL);
    }
    (view->quotient == 1 ? gather_stretches : gather_runs)(view, data, first, count, target);
    if (native) {
        return true;
    }
    lane_load(type, raw, program_input(frame, v), count);
    return !cluster_has_signalling(type, raw, count);
}

/* What is the same in all lanes. */
static bool load_scalars(const struct run *run, struct program_frame *frame)
{
    bool quiet = true;
    for (int v = 0; v < run->cluster->view_count; v++) {
        const struct cluster_view *view = &run->cluster->views[v];
        if (view->input >= 0 && view->period == 1) {
            lane_fill(view->type, run->data[v], program_input(frame, v), LANE_STRIP);
            quiet = quiet && (lane_is_native(view->type) ||
                              !cluster_has_signalling(view->type, run->data[v], 1));
        }
    }
    return quiet;
}

/* --- strips --- */

static bool run_strip(const struct run *run, struct program_frame *frame, int64_t first,
                      int64_t count)
{
    const enum type type = run->cluster->root->shape->type;
    char *out = run->out + first * type_bytes(type);
    for (int v = 0; v < run->cluster->view_count; v++) {
        if (!load_view(run, frame, v, first, count)) {
            return false;
        }
    }
    bool direct = lane_is_native(type) && program_bind_output(frame, 0, out);
    program_run(frame, count);
    if (!direct) {
        lane_store(type, program_output(frame, 0), out, count);
    }
    return true;
}

static void run_range(void *context, int64_t begin, int64_t end)
{
    struct run *run = context;
    struct program_frame *frame = run->alone ? run->cluster->spare : NULL;
    if (frame == NULL) {
        frame = program_frame_create(run->cluster->program, run->err);
    }
    if (frame == NULL) {
        run->failed = true;
        return;
    }
    bool quiet = load_scalars(run, frame);
    for (int64_t first = begin; first < end && quiet; first += LANE_STRIP) {
        int64_t count = end - first < LANE_STRIP ? end - first : LANE_STRIP;
        quiet = run_strip(run, frame, first, count);
    }
    if (!quiet) {
        run->signalling = true;
    }
    if (run->alone) {
        run->cluster->spare = frame;
    } else {
        program_frame_destroy(frame);
    }
}

/* Ranges of fewer lanes are not worth a thread and a frame. */
enum { GRAIN = 32 * LANE_STRIP };

/* An operand whose memory the result may take: read as it is, strip by strip, and dying. */
static int operand_to_take(const struct cluster *cluster, const struct operands *operands)
{
    int bytes = type_bytes(cluster->root->shape->type);
    for (int v = 0; v < cluster->view_count && !cluster->narrow; v++) {
        const struct cluster_view *view = &cluster->views[v];
        bool whole = view->input >= 0 && view->quotient == 1 && view->period == cluster->elements;
        for (int w = 0; w < cluster->view_count && whole; w++) {
            whole = w == v || cluster->views[w].input != view->input;
        }
        if (whole && operands->dying[view->input] && type_bytes(view->type) == bytes &&
            literal_is_unique(operands->values[view->input])) {
            return view->input;
        }
    }
    return -1;
}

static struct literal *run_program(struct cluster *cluster, struct operands *operands,
                                   bool *signalling, struct error *err)
{
    struct run run = {.cluster = cluster, .alone = cluster->elements < 2 * GRAIN, .err = err};
    for (int v = 0; v < cluster->view_count; v++) {
        int input = cluster->views[v].input;
        run.data[v] = input >= 0 ? literal_data(operands->values[input]) : NULL;
    }
    int taken = operand_to_take(cluster, operands);
    struct literal *result =
        taken >= 0 ? literal_reshape_take(operand_take(operands, taken, err), cluster->root->shape)
                   : literal_create(cluster->root->shape, err);
    if (result == NULL) {
        return NULL;
    }
    run.out = literal_data(result);
    if (run.alone) {
        run_range(&run, 0, cluster->elements);
    } else {
        poll_for(cluster->elements, GRAIN, run_range, &run);
    }
    *signalling = run.signalling;
    if (run.failed || run.signalling) {
        literal_release(result);
        return NULL;
    }
    return result;
}

struct literal *cluster_run(struct cluster *cluster, struct evaluation *evaluation,
                            struct operands *operands, struct error *err)
{
    bool special = false;
    for (int i = 0; i < operands->count; i++) {
        special = special || marks_of(operands->values[i]) != NULL;
    }
    if (!special) {
        struct literal *result = run_program(cluster, operands, &special, err);
        if (!special) {
            return result;
        }
    }
    return cluster_evaluate(cluster, evaluation, operands, err);
}
