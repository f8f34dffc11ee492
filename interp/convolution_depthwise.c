/* Depthwise convolutions: one input feature a group, any number of output features from it.
 *
 * Too thin for matrix products, so channels are the vectors' lanes. One task is a line: all places
 * of the last spatial dimension. The input lines under it are brought to [place][channel] doubles,
 * zeros where there is padding; then each sum of exact products comes with a bound of its error,
 * (taps + 4) * 2^-53 * Σ |product|. Where the type's roundings of both ends of the interval differ,
 * the element is summed exactly. */
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/pool.h"
#include "hlo/floats.h"
#include "hlo/literal.h"
#include "hlo/vector.h"
#include "interp/convolution_plan.h"
#include "interp/depthwise_internal.h"
#include "interp/poll.h"

struct depthwise {
    const struct convolution *convolution;
    int64_t multiplier; /* output features of an input feature */
    int64_t channels;   /* output features, rounded up to whole vectors */
    int64_t taps, outer_taps;
    int64_t places;  /* of an input line: what the last output place's last tap reaches */
    double *weights; /* [taps][channels] */
    depthwise_loop *loop;
    struct poll *poll;
    bool failed; /* written by any thread, only to true */
};

/* What a thread works with. */
struct workspace {
    void *memory;
    double *lines;         /* [outer taps][places + spare][channels] */
    const double **inputs; /* [taps] */
    double *low, *high;    /* [output places, rounded up][channels] */
    double *patch;         /* [taps] */
    double *strip;         /* one channel of a line */
};

bool convolution_is_depthwise(const struct convolution *convolution)
{
    return convolution->group_features == 1 && convolution->feature_groups > 1 &&
           convolution->batch_groups == 1 && convolution->rank > 0 && convolution->parts == 1 &&
           convolution->format.class == CONTRACT_FLOAT && !convolution->format.in_order &&
           convolution->format.type != TYPE_F64 && type_is_float(convolution->input_type) &&
           convolution->input_type != TYPE_F64 && type_is_float(convolution->kernel_type) &&
           convolution->kernel_type != TYPE_F64 && convolution_taps(convolution) > 0;
}

static int64_t round_up(int64_t value, int64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static const struct convolution_dimension *last_dimension(const struct depthwise *depthwise)
{
    return &depthwise->convolution->dimensions[depthwise->convolution->rank - 1];
}

/* The input place that a line's place stands for, −1 for zeros. */
static int64_t input_place(const struct convolution_dimension *dimension, int64_t place)
{
    if (place < 0 || place % dimension->hole_step != 0) {
        return -1;
    }
    place /= dimension->hole_step;
    return place < dimension->input_size ? place : -1;
}

/* Brings one place's channels to doubles, each repeated `multiplier` times. */
static void load_place(const struct depthwise *depthwise, const char *from, double *out)
{
    const struct convolution *convolution = depthwise->convolution;
    contract_load(&convolution->format, convolution->input_type, from,
                  convolution->input_feature_stride, out, convolution->feature_groups);
    if (depthwise->multiplier > 1) {
        for (int64_t o = convolution->output_features - 1; o >= 0; o--) {
            out[o] = out[o / depthwise->multiplier];
        }
    }
}

/* Brings an input line to [place][channel]. */
static void load_line(const struct depthwise *depthwise, const char *from, double *strip,
                      double *out)
{
    const struct convolution *convolution = depthwise->convolution;
    const struct convolution_dimension *last = last_dimension(depthwise);
    int bytes = type_bytes(convolution->input_type);
    int64_t channels = depthwise->channels;
    memset(out, 0, (size_t)(depthwise->places * channels) * sizeof *out);
    if (last->input_stride > convolution->input_feature_stride) {
        for (int64_t p = 0; p < depthwise->places; p++) {
            int64_t place = input_place(last, p - last->padding);
            if (place >= 0) {
                load_place(depthwise, from + place * last->input_stride * bytes,
                           out + p * channels);
            }
        }
        return;
    }
    for (int64_t g = 0; g < convolution->feature_groups; g++) {
        contract_load(&convolution->format, convolution->input_type,
                      from + g * convolution->input_feature_stride * bytes, last->input_stride,
                      strip, last->input_size);
        for (int64_t p = 0; p < depthwise->places; p++) {
            int64_t place = input_place(last, p - last->padding);
            for (int64_t m = 0; place >= 0 && m < depthwise->multiplier; m++) {
                out[p * channels + g * depthwise->multiplier + m] = strip[place];
            }
        }
    }
}

/* Loads all input lines under output line `line`; returns the place of its first output. */
static int64_t load_lines(const struct depthwise *depthwise, int64_t line,
                          const struct workspace *workspace)
{
    const struct convolution *convolution = depthwise->convolution;
    int outer = convolution->rank - 1;
    int64_t index[SHAPE_MAX_RANK];
    int64_t output = 0;
    for (int d = outer - 1; d >= 0; d--) {
        index[d] = line % convolution->dimensions[d].output_size;
        line /= convolution->dimensions[d].output_size;
        output += index[d] * convolution->dimensions[d].output_stride;
    }
    output += line * convolution->output_batch_stride;
    int64_t line_size = (depthwise->places + DEPTHWISE_PIXELS * last_dimension(depthwise)->stride) *
                        depthwise->channels;
    for (int64_t tap = 0; tap < depthwise->outer_taps; tap++) {
        int64_t offset = line * convolution->input_batch_stride;
        bool exists = true;
        int64_t rest = tap;
        for (int d = outer - 1; d >= 0; d--) {
            const struct convolution_dimension *dimension = &convolution->dimensions[d];
            int64_t place = index[d] * dimension->stride - dimension->padding +
                            rest % dimension->kernel_size * dimension->tap_step;
            rest /= dimension->kernel_size;
            place = input_place(dimension, place);
            exists &= place >= 0;
            offset += place * dimension->input_stride;
        }
        double *to = workspace->lines + tap * line_size;
        if (exists) {
            load_line(depthwise, convolution->input + offset * type_bytes(convolution->input_type),
                      workspace->strip, to);
        } else {
            memset(to, 0, (size_t)(depthwise->places * depthwise->channels) * sizeof *to);
        }
    }
    return output;
}

/* Sums element `channel` of output place `place` exactly. */
static double sum_exactly(const struct depthwise *depthwise, const struct workspace *workspace,
                          int64_t place, int64_t channel)
{
    const struct convolution_dimension *last = last_dimension(depthwise);
    int64_t line_size = (depthwise->places + DEPTHWISE_PIXELS * last->stride) * depthwise->channels;
    for (int64_t t = 0; t < depthwise->taps; t++) {
        int64_t at = place * last->stride + t % last->kernel_size * last->tap_step;
        workspace->patch[t] =
            workspace
                ->lines[t / last->kernel_size * line_size + at * depthwise->channels + channel];
    }
    return exact_dot_one(depthwise->convolution->format.type, workspace->patch, 1,
                         depthwise->weights + channel, depthwise->channels, depthwise->taps);
}

static void store_line(const struct depthwise *depthwise, const double *values, char *out)
{
    const struct convolution *convolution = depthwise->convolution;
    const struct convolution_dimension *last = last_dimension(depthwise);
    int bytes = type_bytes(convolution->format.type);
    if (convolution->output_feature_stride == 1) {
        for (int64_t p = 0; p < last->output_size; p++) {
            contract_store(&convolution->format, values + p * depthwise->channels, 1,
                           out + p * last->output_stride * bytes, 1, convolution->output_features);
        }
        return;
    }
    for (int64_t o = 0; o < convolution->output_features; o++) {
        contract_store(&convolution->format, values + o, depthwise->channels,
                       out + o * convolution->output_feature_stride * bytes, last->output_stride,
                       last->output_size);
    }
}

static void compute_line(const struct depthwise *depthwise, int64_t line,
                         const struct workspace *workspace)
{
    const struct convolution *convolution = depthwise->convolution;
    const struct convolution_dimension *last = last_dimension(depthwise);
    int64_t channels = depthwise->channels;
    int64_t output = load_lines(depthwise, line, workspace);
    int64_t line_size = (depthwise->places + DEPTHWISE_PIXELS * last->stride) * channels;
    double slack = (double)(depthwise->taps + 4) * 0x1p-53;
    for (int64_t p = 0; p < last->output_size; p += DEPTHWISE_PIXELS) {
        for (int64_t t = 0; t < depthwise->taps; t++) {
            int64_t at = p * last->stride + t % last->kernel_size * last->tap_step;
            workspace->inputs[t] =
                workspace->lines + t / last->kernel_size * line_size + at * channels;
        }
        depthwise->loop(workspace->inputs, depthwise->weights, depthwise->taps, channels,
                        last->stride * channels, slack, workspace->low + p * channels,
                        workspace->high + p * channels);
    }
    int64_t count = last->output_size * channels;
    float_round_array(convolution->format.type, workspace->low, workspace->low, count);
    float_round_array(convolution->format.type, workspace->high, workspace->high, count);
    /* Not all bits alike: open. */
    if (memcmp(workspace->low, workspace->high, (size_t)count * sizeof(double)) != 0) {
        for (int64_t i = 0; i < count; i++) {
            if (memcmp(&workspace->low[i], &workspace->high[i], sizeof(double)) != 0 &&
                i % channels < convolution->output_features) {
                workspace->low[i] = sum_exactly(depthwise, workspace, i / channels, i % channels);
            }
        }
    }
    store_line(depthwise, workspace->low,
               convolution->output + output * type_bytes(convolution->format.type));
}

static bool workspace_init(struct workspace *workspace, const struct depthwise *depthwise)
{
    const struct convolution_dimension *last = last_dimension(depthwise);
    size_t channels = (size_t)depthwise->channels;
    size_t places = (size_t)(depthwise->places + DEPTHWISE_PIXELS * last->stride);
    size_t lines = (size_t)depthwise->outer_taps * places * channels;
    size_t outputs = (size_t)round_up(last->output_size, DEPTHWISE_PIXELS) * channels;
    size_t taps = (size_t)depthwise->taps;
    /* Zeroed: the spare places and channels are computed with, and never stored. */
    double *memory =
        calloc(lines + 2 * outputs + 2 * taps + (size_t)last->input_size, sizeof *memory);
    workspace->memory = memory;
    if (memory == NULL) {
        return false;
    }
    workspace->lines = memory;
    workspace->low = memory + lines;
    workspace->high = workspace->low + outputs;
    workspace->patch = workspace->high + outputs;
    workspace->inputs = (const double **)(workspace->patch + taps);
    workspace->strip = workspace->patch + 2 * taps;
    return true;
}

static void compute_lines(void *context, int64_t begin, int64_t end)
{
    struct depthwise *depthwise = context;
    struct workspace workspace;
    if (!workspace_init(&workspace, depthwise)) {
        depthwise->failed = true;
        return;
    }
    for (int64_t line = begin; line < end && !poll_stopped(depthwise->poll); line++) {
        compute_line(depthwise, line, &workspace);
    }
    free(workspace.memory);
}

static bool load_weights(struct depthwise *depthwise)
{
    const struct convolution *convolution = depthwise->convolution;
    depthwise->weights =
        calloc((size_t)(depthwise->taps * depthwise->channels), sizeof *depthwise->weights);
    if (depthwise->weights == NULL) {
        return false;
    }
    int bytes = type_bytes(convolution->kernel_type);
    for (int64_t tap = 0; tap < depthwise->taps; tap++) {
        int64_t rest = tap, offset = 0;
        for (int d = convolution->rank - 1; d >= 0; d--) {
            const struct convolution_dimension *dimension = &convolution->dimensions[d];
            int64_t at = rest % dimension->kernel_size;
            rest /= dimension->kernel_size;
            offset += (dimension->reversal ? dimension->kernel_size - 1 - at : at) *
                      dimension->kernel_stride;
        }
        contract_load(&convolution->format, convolution->kernel_type,
                      convolution->kernel + offset * bytes, convolution->kernel_output_stride,
                      depthwise->weights + tap * depthwise->channels, convolution->output_features);
    }
    return true;
}

static depthwise_loop *choose_loop(void)
{
#ifdef __x86_64__
    int level = vector_level();
    return level == 3 ? depthwise_level3 : level == 2 ? depthwise_level2 : depthwise_level0;
#else
    return depthwise_level0;
#endif
}

bool convolution_depthwise(const struct convolution *convolution, struct error *err)
{
    const struct convolution_dimension *last = &convolution->dimensions[convolution->rank - 1];
    struct depthwise depthwise = {
        .convolution = convolution,
        .multiplier = convolution->output_features / convolution->feature_groups,
        .channels = round_up(convolution->output_features, DEPTHWISE_CHANNELS),
        .taps = convolution_taps(convolution),
        .outer_taps = convolution_taps(convolution) / last->kernel_size,
        .places =
            (last->output_size - 1) * last->stride + (last->kernel_size - 1) * last->tap_step + 1,
        .loop = choose_loop(),
        .poll = poll_current(),
    };
    int64_t rows = convolution_rows(convolution);
    if (rows == 0 || convolution->output_features == 0) {
        return true;
    }
    if (load_weights(&depthwise)) {
        pool_for(rows / last->output_size, 1, compute_lines, &depthwise);
    } else {
        depthwise.failed = true;
    }
    free(depthwise.weights);
    if (depthwise.failed) {
        return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for lines of a convolution");
    }
    return poll_check(depthwise.poll, err);
}
