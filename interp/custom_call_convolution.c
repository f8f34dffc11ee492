/* The convolution of a call: forward, or the gradients of one, with what is done to each of its
 * sums (custom_call_cudnn.c has the calls).
 *
 *   forward          y = conv(x, w)
 *   backward input   (dy, w) → dx, backward filter (x, dy) → dw: the gradients of that sum; window
 *                    and dim_labels are those of the forward convolution, input → output
 * Source: xla/service/gpu/gpu_conv_runner.cc (GetGpuConvConfig). */
#include <string.h>

#include "interp/custom_call_convolution.h"
#include "interp/walk.h"

/* --- the convolution --- */

/* Whether the dimensions are each of 0 … rank + 1 once. */
static bool is_order(int rank, const int64_t *spatial, int64_t first, int64_t second)
{
    bool used[SHAPE_MAX_RANK + 2] = {false};
    for (int d = 0; d < rank + 2; d++) {
        int64_t place = d < rank ? spatial[d] : d == rank ? first : second;
        if (place < 0 || place >= rank + 2 || used[place]) {
            return false;
        }
        used[place] = true;
    }
    return true;
}

bool conv_describe(struct conv *conv, const struct instruction *instruction, struct error *err)
{
    const struct shape *x = conv->x, *w = conv->w, *y = conv->y;
    int rank = conv->labels.spatial_rank;
    bool ok = conv->window.rank == rank && shape_is_array(x) && shape_is_array(w) &&
              shape_is_array(y) && x->rank == rank + 2 && w->rank == rank + 2 &&
              y->rank == rank + 2 && conv->groups > 0 && !type_is_complex(x->type) &&
              !type_is_complex(w->type) && !type_is_complex(y->type);
    const struct dim_labels *labels = &conv->labels;
    ok = ok && is_order(rank, labels->input_spatial, labels->input_batch, labels->input_feature) &&
         is_order(rank, labels->kernel_spatial, labels->kernel_input_feature,
                  labels->kernel_output_feature) &&
         is_order(rank, labels->output_spatial, labels->output_batch, labels->output_feature);
    if (ok) {
        walk_strides(x->rank, x->dimensions, conv->x_strides);
        walk_strides(w->rank, w->dimensions, conv->w_strides);
        walk_strides(y->rank, y->dimensions, conv->y_strides);
        conv->group_in = w->dimensions[labels->kernel_input_feature];
        conv->out = w->dimensions[labels->kernel_output_feature];
        conv->batches = x->dimensions[labels->input_batch];
        int64_t features;
        ok = conv->out % conv->groups == 0 &&
             !__builtin_mul_overflow(conv->group_in, conv->groups, &features) &&
             x->dimensions[labels->input_feature] == features &&
             y->dimensions[labels->output_feature] == conv->out &&
             y->dimensions[labels->output_batch] == conv->batches;
    }
    for (int d = 0; ok && d < rank; d++) {
        const struct window_dimension *from = &conv->window.dimensions[d];
        int64_t in = x->dimensions[labels->input_spatial[d]];
        int64_t size = w->dimensions[labels->kernel_spatial[d]];
        int64_t out = y->dimensions[labels->output_spatial[d]];
        int64_t limit = INT64_C(1) << 31;
        ok = from->base_dilation > 0 && from->base_dilation < limit &&
             (from->base_dilation == 1 || conv->kind == CONV_FORWARD) && from->stride > 0 &&
             from->stride < limit && from->window_dilation > 0 && from->window_dilation < limit &&
             in < limit && size < limit && out < limit && from->padding_low > -limit &&
             from->padding_low < limit && from->padding_high > -limit &&
             from->padding_high < limit && size > 0;
        if (ok) {
            int64_t spread = in > 0 ? (in - 1) * from->base_dilation + 1 : 0;
            int64_t padded = spread + from->padding_low + from->padding_high;
            int64_t span = (size - 1) * from->window_dilation + 1;
            ok = out == (padded < span ? 0 : (padded - span) / from->stride + 1);
        }
    }
    if (!ok) {
        custom_call_fail(instruction, err,
                         "window, dim_labels and shapes do not fit each other (%s, %s, %s)",
                         shape_text(x), shape_text(w), shape_text(y));
    }
    return ok;
}

/* Adds the products of one element of y, x or w. All index arithmetic of the definition. */
void conv_products(const void *context, int64_t index, struct exact_accumulator *accumulator)
{
    const struct conv *conv = context;
    const struct dim_labels *labels = &conv->labels;
    const struct shape *shape = conv->kind == CONV_FORWARD          ? conv->y
                                : conv->kind == CONV_BACKWARD_INPUT ? conv->x
                                                                    : conv->w;
    int rank = labels->spatial_rank;
    int64_t place[SHAPE_MAX_RANK];
    for (int d = shape->rank - 1; d >= 0; d--) {
        place[d] = index % shape->dimensions[d];
        index /= shape->dimensions[d];
    }
    /* Which of n, ci (in its group), co, the taps k and outputs o are given; the rest are summed.
     */
    int64_t n[2] = {0, conv->batches}, ci[2] = {0, conv->group_in}, co[2] = {0, conv->out};
    int64_t group_out = conv->out / conv->groups;
    if (conv->kind == CONV_FORWARD) {
        n[0] = place[labels->output_batch], n[1] = n[0] + 1;
        co[0] = place[labels->output_feature], co[1] = co[0] + 1;
    } else if (conv->kind == CONV_BACKWARD_INPUT) {
        n[0] = place[labels->input_batch], n[1] = n[0] + 1;
        int64_t feature = place[labels->input_feature], group = feature / conv->group_in;
        ci[0] = feature % conv->group_in, ci[1] = ci[0] + 1;
        co[0] = group * group_out, co[1] = co[0] + group_out;
    } else {
        ci[0] = place[labels->kernel_input_feature], ci[1] = ci[0] + 1;
        co[0] = place[labels->kernel_output_feature], co[1] = co[0] + 1;
    }
    /* The odometer over the spatial dimensions: taps, and outputs for the filter's gradient. */
    int64_t tap[SHAPE_MAX_RANK] = {0}, output[SHAPE_MAX_RANK] = {0};
    for (bool more = true; more;) {
        int64_t x_at = 0, w_at = 0, y_at = 0;
        bool inside = true;
        for (int d = 0; d < rank; d++) {
            const struct window_dimension *window = &conv->window.dimensions[d];
            int64_t size = conv->w->dimensions[labels->kernel_spatial[d]];
            int64_t k =
                conv->kind == CONV_BACKWARD_FILTER ? place[labels->kernel_spatial[d]] : tap[d];
            int64_t step = (window->reversal ? size - 1 - k : k) * window->window_dilation -
                           window->padding_low;
            int64_t i, o;
            if (conv->kind == CONV_BACKWARD_INPUT) {
                i = place[labels->input_spatial[d]];
                o = i - step;
                inside &= o >= 0 && o % window->stride == 0;
                o /= window->stride;
                inside &= o < conv->y->dimensions[labels->output_spatial[d]];
            } else {
                o = conv->kind == CONV_FORWARD ? place[labels->output_spatial[d]] : output[d];
                i = o * window->stride + step;
                inside &= i >= 0 && i % window->base_dilation == 0;
                i /= window->base_dilation;
                inside &= i < conv->x->dimensions[labels->input_spatial[d]];
            }
            x_at += i * conv->x_strides[labels->input_spatial[d]];
            w_at += k * conv->w_strides[labels->kernel_spatial[d]];
            y_at += o * conv->y_strides[labels->output_spatial[d]];
        }
        for (int64_t b = n[0]; inside && b < n[1]; b++) {
            for (int64_t c = co[0]; c < co[1]; c++) {
                for (int64_t f = ci[0]; f < ci[1]; f++) {
                    int64_t feature = c / group_out * conv->group_in + f;
                    int64_t at[3] = {
                        x_at + b * conv->x_strides[labels->input_batch] +
                            feature * conv->x_strides[labels->input_feature],
                        w_at + f * conv->w_strides[labels->kernel_input_feature] +
                            c * conv->w_strides[labels->kernel_output_feature],
                        y_at + b * conv->y_strides[labels->output_batch] +
                            c * conv->y_strides[labels->output_feature],
                    };
                    int first = conv->kind == CONV_BACKWARD_INPUT ? 2 : 0;
                    int second = conv->kind == CONV_BACKWARD_FILTER ? 2 : 1;
                    exact_accumulator_add_product(accumulator,
                                                  literal_get_double(conv->first, at[first]),
                                                  literal_get_double(conv->second, at[second]));
                }
            }
        }
        more = false;
        for (int d = rank - 1; d >= 0 && !more; d--) {
            bool filter = conv->kind == CONV_BACKWARD_FILTER;
            int64_t *count = filter ? output : tap;
            int64_t size = filter ? conv->y->dimensions[labels->output_spatial[d]]
                                  : conv->w->dimensions[labels->kernel_spatial[d]];
            more = ++count[d] < size;
            count[d] = more ? count[d] : 0;
        }
    }
}

/* The filter for the gradient of a grouped input, whose input features are what the forward
 * convolution puts out: w'[o][g, i] = w[i][g, o] for each group g. */
static struct literal *turn_groups(const struct conv *conv, struct error *err)
{
    const struct shape *w = conv->w;
    int64_t dimensions[SHAPE_MAX_RANK], strides[SHAPE_MAX_RANK];
    int64_t in = conv->labels.kernel_input_feature, out = conv->labels.kernel_output_feature;
    int64_t group_out = conv->out / conv->groups;
    memcpy(dimensions, w->dimensions, (size_t)w->rank * sizeof *dimensions);
    dimensions[in] = conv->group_in * conv->groups;
    dimensions[out] = group_out;
    struct literal *turned = literal_create(shape_array(w->type, w->rank, dimensions), err);
    if (turned == NULL) {
        return NULL;
    }
    walk_strides(w->rank, dimensions, strides);
    struct walk walk;
    walk_begin(&walk);
    walk_add(&walk, conv->groups, group_out * conv->w_strides[out], conv->group_in * strides[in]);
    walk_add(&walk, conv->group_in, conv->w_strides[in], strides[in]);
    walk_add(&walk, group_out, conv->w_strides[out], strides[out]);
    for (int d = 0; d < conv->labels.spatial_rank; d++) {
        int64_t spatial = conv->labels.kernel_spatial[d];
        walk_add(&walk, w->dimensions[spatial], conv->w_strides[spatial], strides[spatial]);
    }
    walk_finish(&walk);
    if (!walk_literal(&walk, turned, 0, conv->second, 0, err)) {
        literal_release(turned);
        return NULL;
    }
    return turned;
}

/* The sums by the convolution evaluator; none of them, and true, when it has no such form. */
static bool run(const struct conv *conv, struct evaluation *evaluation,
                const struct instruction *instruction, enum type type, bool bounded,
                struct epilogue *epilogue, struct error *err)
{
    struct window_dimension dimensions[SHAPE_MAX_RANK];
    struct dim_labels labels = conv->labels;
    for (int d = 0; d < conv->window.rank; d++) {
        const struct window_dimension *from = &conv->window.dimensions[d];
        struct window_dimension *to = &dimensions[d];
        int64_t in = conv->x->dimensions[conv->labels.input_spatial[d]];
        int64_t size = conv->w->dimensions[conv->labels.kernel_spatial[d]];
        int64_t out = conv->y->dimensions[conv->labels.output_spatial[d]];
        *to = *from;
        to->size = size;
        if (conv->kind == CONV_BACKWARD_INPUT) {
            /* dy spread by the stride, with the filter turned around. */
            int64_t span = (size - 1) * from->window_dilation;
            *to = (struct window_dimension){
                .size = size,
                .stride = 1,
                .padding_low = span - from->padding_low,
                .padding_high = in - 1 - (out - 1) * from->stride + from->padding_low,
                .window_dilation = from->window_dilation,
                .base_dilation = from->stride,
                .reversal = !from->reversal,
            };
        } else if (conv->kind == CONV_BACKWARD_FILTER) {
            /* x with dy as the filter, its taps the stride apart. */
            if (from->reversal || out == 0) {
                return true;
            }
            int64_t span = (out - 1) * from->stride + 1;
            *to = (struct window_dimension){
                .size = out,
                .stride = from->window_dilation,
                .padding_low = from->padding_low,
                .padding_high = (size - 1) * from->window_dilation + span - in - from->padding_low,
                .window_dilation = from->stride,
                .base_dilation = 1,
            };
        }
    }
    const struct dim_labels *old = &conv->labels;
    if (conv->kind == CONV_BACKWARD_INPUT) {
        labels.input_batch = old->output_batch;
        labels.input_feature = old->output_feature;
        labels.input_spatial = old->output_spatial;
        labels.kernel_input_feature = old->kernel_output_feature;
        labels.kernel_output_feature = old->kernel_input_feature;
        labels.output_batch = old->input_batch;
        labels.output_feature = old->input_feature;
        labels.output_spatial = old->input_spatial;
    } else if (conv->kind == CONV_BACKWARD_FILTER) {
        labels.input_batch = old->input_feature;
        labels.input_feature = old->input_batch;
        labels.kernel_input_feature = old->output_batch;
        labels.kernel_output_feature = old->output_feature;
        labels.kernel_spatial = old->output_spatial;
        labels.output_batch = old->kernel_input_feature;
        labels.output_feature = old->kernel_output_feature;
        labels.output_spatial = old->kernel_spatial;
    }
    struct inner_call call;
    inner_call_init(&call, instruction, OP_CONVOLUTION, shape_with_type(epilogue->shape, type));
    inner_call_set(&call,
                   (struct attr){.key = ATTR_WINDOW, .window = {conv->window.rank, dimensions}});
    inner_call_set(&call, (struct attr){.key = ATTR_DIM_LABELS, .dim_labels = &labels});
    /* The filter's gradient has the features of the input as batches. */
    bool filter = conv->kind == CONV_BACKWARD_FILTER;
    inner_call_set(&call,
                   (struct attr){.key = filter ? ATTR_BATCH_GROUP_COUNT : ATTR_FEATURE_GROUP_COUNT,
                                 .integer = conv->groups});
    bool turn = conv->kind == CONV_BACKWARD_INPUT && conv->groups > 1;
    struct literal *turned = turn ? turn_groups(conv, err) : NULL;
    struct literal *values[2] = {(struct literal *)conv->first,
                                 turn ? turned : (struct literal *)conv->second};
    bool ok =
        values[1] != NULL && epilogue_take_sums(epilogue, &call, bounded, evaluation, values, err);
    literal_release(turned);
    return ok;
}

/* A plain convolution of f8 stands for one without a clamp, whose overflow gives no finite value; a
 * library saturates. Marks where. */
static bool mark_saturated(const struct epilogue *epilogue, struct literal *part, struct error *err)
{
    struct epilogue other = *epilogue;
    struct literal *unclamped = epilogue->saturate ? literal_create(part->shape, err) : NULL;
    if (!epilogue->saturate || unclamped == NULL) {
        return !epilogue->saturate;
    }
    other.saturate = false;
    bool ok = epilogue_apply(&other, epilogue_last(&other), unclamped, err);
    for (int64_t i = 0; ok && i < literal_elements(part); i++) {
        if (literal_get_bits(part, i) != literal_get_bits(unclamped, i)) {
            literal_mark_unspecified(part, i);
        }
    }
    literal_release(unclamped);
    return ok;
}

struct literal *conv_finish(const struct conv *conv, struct epilogue *epilogue,
                            struct evaluation *evaluation, const struct instruction *instruction,
                            struct operands *operands, const int *amax_nodes, int amax_count,
                            struct error *err)
{
    struct literal *parts[EPILOGUE_NODES] = {0};
    bool ok = amax_count < EPILOGUE_NODES;
    for (int i = 0; ok && i <= amax_count; i++) {
        const struct shape *part = custom_call_result_shape(instruction, i);
        if (part == NULL || !shape_is_array(part) ||
            (i > 0 && (shape_elements(part) != 1 || !type_is_float(part->type)))) {
            custom_call_fail(instruction, err, "result %d is missing or does not fit", i);
            ok = false;
        }
        parts[i] = ok ? literal_create(part, err) : NULL;
        ok = parts[i] != NULL;
    }
    /* Nothing but the sums, which are rounded to the result's type then. */
    bool is_plain = epilogue->count == 1 && amax_count == 0 && !epilogue->saturate &&
                    type_is_float(epilogue->shape->type);
    if (ok) {
        enum type type = is_plain         ? epilogue->shape->type
                         : amax_count > 0 ? TYPE_F64
                                          : epilogue_sum_type(epilogue->shape->type);
        ok = run(conv, evaluation, instruction, type, !is_plain, epilogue, err);
    }
    if (ok && is_plain && epilogue->sums != NULL) {
        literal_release(parts[0]);
        parts[0] = literal_retain(epilogue->sums);
    } else if (ok) {
        ok = epilogue_apply(epilogue, epilogue_last(epilogue), parts[0], err) &&
             (epilogue->sums != NULL || custom_call_spread(operands, parts[0], err)) &&
             (epilogue->count > 1 || mark_saturated(epilogue, parts[0], err));
    }
    for (int i = 0; ok && i < amax_count; i++) {
        ok = epilogue_amax(epilogue, amax_nodes[i], parts[1 + i], err) &&
             custom_call_spread(operands, parts[1 + i], err);
    }
    epilogue_release(epilogue);
    if (!ok) {
        for (int i = 0; i <= amax_count && i < EPILOGUE_NODES; i++) {
            literal_release(parts[i]);
        }
        return NULL;
    }
    return custom_call_result_take(instruction, parts, amax_count + 1, err);
}
