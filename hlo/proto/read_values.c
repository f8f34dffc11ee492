/* Attribute values that are messages of their own. Source: xla/xla_data.proto. */
#include <string.h>

#include "hlo/base/text.h"
#include "hlo/proto/read_internal.h"

void read_window(struct reading *reading)
{
    const Referee__Window *proto = reading->proto->window;
    if (proto == NULL) {
        reading->absent = true;
        return;
    }
    struct window_dimension *dimensions =
        arena_array(reading->arena, proto->n_dimensions, sizeof *dimensions);
    for (size_t i = 0; i < proto->n_dimensions; i++) {
        const Referee__WindowDimension *from = proto->dimensions[i];
        dimensions[i] = (struct window_dimension){
            .size = from->size,
            .stride = from->stride,
            .padding_low = from->padding_low,
            .padding_high = from->padding_high,
            .window_dilation = from->window_dilation,
            .base_dilation = from->base_dilation,
            .reversal = from->window_reversal != 0,
        };
    }
    reading->attr->window = (struct window){(int)proto->n_dimensions, dimensions};
}

void read_padding(struct reading *reading)
{
    const Referee__PaddingConfig *proto = reading->proto->padding_config;
    size_t count = proto != NULL ? proto->n_dimensions : 0;
    struct padding_dimension *dimensions = arena_array(reading->arena, count, sizeof *dimensions);
    for (size_t i = 0; i < count; i++) {
        const Referee__PaddingConfigDimension *from = proto->dimensions[i];
        dimensions[i] = (struct padding_dimension){from->edge_padding_low, from->edge_padding_high,
                                                   from->interior_padding};
    }
    reading->attr->padding = (struct padding){(int)count, dimensions};
}

void read_slices(struct reading *reading)
{
    size_t count = reading->proto->n_slice_dimensions;
    struct slice_dimension *dimensions = arena_array(reading->arena, count, sizeof *dimensions);
    for (size_t i = 0; i < count; i++) {
        const Referee__HloInstructionProto__SliceDimensions *from =
            reading->proto->slice_dimensions[i];
        dimensions[i] = (struct slice_dimension){from->start, from->limit, from->stride};
    }
    reading->attr->slices = (struct slices){(int)count, dimensions};
}

/* One side of dim_labels: the positions must be in range; *unknown gets a bit for each gap ("?").
 */
static bool check_labels(struct reading *reading, int64_t first, int64_t second,
                         const int64_t *spatial, int rank, int *unknown)
{
    enum { POSITIONS = 31 };
    int seen = 0, last = 0;
    for (int i = 0; i < rank + 2; i++) {
        int64_t position = i == 0 ? first : i == 1 ? second : spatial[i - 2];
        if (position < 0 || position >= POSITIONS) {
            return error_set(reading->err, ERROR_INVALID_ARGUMENT,
                             "convolution dimension %lld is out of range", (long long)position);
        }
        seen |= 1 << position;
        last = position > last ? (int)position : last;
    }
    *unknown = ~seen & ((1 << last) - 1);
    return true;
}

bool read_dim_labels(struct reading *reading)
{
    const Referee__ConvolutionDimensionNumbers *proto =
        reading->proto->convolution_dimension_numbers;
    if (proto == NULL) {
        reading->absent = true;
        return true;
    }
    size_t rank = proto->n_input_spatial_dimensions;
    if (rank > SHAPE_MAX_RANK || rank != proto->n_kernel_spatial_dimensions ||
        rank != proto->n_output_spatial_dimensions) {
        return error_set(reading->err, ERROR_INVALID_ARGUMENT,
                         "a convolution has %zu, %zu and %zu spatial dimensions in input, kernel "
                         "and output",
                         rank, proto->n_kernel_spatial_dimensions,
                         proto->n_output_spatial_dimensions);
    }
    struct arena *arena = reading->arena;
    struct dim_labels *labels = arena_alloc(arena, sizeof *labels);
    labels->spatial_rank = (int)rank;
    labels->input_batch = proto->input_batch_dimension;
    labels->input_feature = proto->input_feature_dimension;
    labels->kernel_input_feature = proto->kernel_input_feature_dimension;
    labels->kernel_output_feature = proto->kernel_output_feature_dimension;
    labels->output_batch = proto->output_batch_dimension;
    labels->output_feature = proto->output_feature_dimension;
    labels->input_spatial = ints_from_int64(arena, rank, proto->input_spatial_dimensions).values;
    labels->kernel_spatial = ints_from_int64(arena, rank, proto->kernel_spatial_dimensions).values;
    labels->output_spatial = ints_from_int64(arena, rank, proto->output_spatial_dimensions).values;
    reading->attr->dim_labels = labels;
    return check_labels(reading, labels->input_batch, labels->input_feature, labels->input_spatial,
                        (int)rank, &labels->input_unknown) &&
           check_labels(reading, labels->kernel_input_feature, labels->kernel_output_feature,
                        labels->kernel_spatial, (int)rank, &labels->kernel_unknown) &&
           check_labels(reading, labels->output_batch, labels->output_feature,
                        labels->output_spatial, (int)rank, &labels->output_unknown);
}

void read_pairs(struct reading *reading)
{
    size_t count = reading->proto->n_source_target_pairs;
    int64_t *values = arena_array(reading->arena, count, 2 * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        values[2 * i] = reading->proto->source_target_pairs[i]->source;
        values[2 * i + 1] = reading->proto->source_target_pairs[i]->target;
    }
    reading->attr->ints = (struct ints){(int)(2 * count), values};
}

/* The sizes of an in-place collective-permute are one flat list: for each array of the input, as
 * many lists of its rank as it has start indices. */
static bool read_permute_sizes(struct reading *reading)
{
    const Referee__HloInstructionProto *proto = reading->proto;
    size_t left = proto->n_dynamic_slice_sizes;
    reading->absent = left == 0;
    if (left == 0) {
        return true;
    }
    const struct instruction *instruction = reading->instruction;
    const struct shape *input =
        instruction->operand_count == 4 ? instruction->operands[0]->shape : NULL;
    const struct shape *starts = input != NULL ? instruction->operands[2]->shape : NULL;
    const int64_t *next = proto->dynamic_slice_sizes;
    struct ints *lists = arena_array(reading->arena, left, sizeof *lists);
    int count = 0;
    int arrays = input == NULL ? 0 : shape_is_tuple(input) ? input->count : 1;
    for (int a = 0; a < arrays; a++) {
        const struct shape *array = shape_is_tuple(input) ? input->elements[a] : input;
        const struct shape *start = starts;
        if (shape_is_tuple(input)) {
            start = a < starts->count ? starts->elements[a] : NULL;
        }
        bool several = start != NULL && start->count > 0 && shape_is_tuple(start->elements[0]);
        for (int k = several ? start->count : 1; k > 0 && array->rank > 0; k--) {
            if (left < (size_t)array->rank) {
                break;
            }
            lists[count++] = ints_from_int64(reading->arena, (size_t)array->rank, next);
            next += array->rank;
            left -= (size_t)array->rank;
        }
    }
    reading->attr->lists = (struct lists){count, lists, true};
    return left == 0 ||
           error_set(reading->err, ERROR_INVALID_ARGUMENT,
                     "%zu slice sizes do not fit the operands", proto->n_dynamic_slice_sizes);
}

bool read_slice_sizes(struct reading *reading)
{
    if (reading->instruction->opcode != OP_GATHER) {
        return read_permute_sizes(reading);
    }
    struct ints *list = arena_alloc(reading->arena, sizeof *list);
    *list = ints_from_int64(reading->arena, reading->proto->n_gather_slice_sizes,
                            reading->proto->gather_slice_sizes);
    reading->attr->lists = (struct lists){1, list, false};
    return true;
}

static void read_sparsity_of(struct text *text, const char *side,
                             const Referee__TensorSparsityConfig *config)
{
    if (config != NULL) {
        text_printf(text, "%s%s={sparsity=%lldx%lld dimension=%lld stride=%lld idx=%d}",
                    text->size > 1 ? " " : "", side, (long long)config->num_non_zero,
                    (long long)config->block_size, (long long)config->dimension,
                    (long long)config->stride, (int)config->idx);
    }
}

void read_sparsity(struct reading *reading)
{
    const Referee__SparsityConfig *proto = reading->proto->sparsity_config;
    reading->absent = proto == NULL || (proto->lhs == NULL && proto->rhs == NULL);
    if (reading->absent) {
        return;
    }
    struct text text;
    text_init(&text);
    text_char(&text, '{');
    read_sparsity_of(&text, "lhs", proto->lhs);
    read_sparsity_of(&text, "rhs", proto->rhs);
    text_char(&text, '}');
    reading->attr->bytes =
        (struct bytes){arena_string(reading->arena, text.data, text.size), text.size};
    text_finish(&text);
}

bool read_shapes(struct reading *reading)
{
    const Referee__HloInstructionProto *proto = reading->proto;
    reading->absent = !proto->constrain_layout;
    size_t count = proto->n_operand_shapes_with_layout;
    const struct shape **shapes = arena_array(reading->arena, count, sizeof *shapes);
    for (size_t i = 0; i < count; i++) {
        shapes[i] = read_shape(proto->operand_shapes_with_layout[i], reading->err);
        if (shapes[i] == NULL) {
            return false;
        }
    }
    reading->attr->shapes = (struct shapes){(int)count, shapes};
    return true;
}

void read_aliasing(struct reading *reading)
{
    const Referee__HloInstructionProto *proto = reading->proto;
    size_t count = proto->n_output_operand_aliasing;
    struct output_alias *entries = arena_array(reading->arena, count, sizeof *entries);
    for (size_t i = 0; i < count; i++) {
        const Referee__OutputOperandAliasing *from = proto->output_operand_aliasing[i];
        entries[i].output_index =
            ints_from_int64(reading->arena, from->n_output_shape_index, from->output_shape_index);
        entries[i].operand = from->operand_index;
        entries[i].operand_index =
            ints_from_int64(reading->arena, from->n_operand_shape_index, from->operand_shape_index);
    }
    reading->attr->aliasing = (struct aliasing){(int)count, entries};
}

bool read_domain(struct reading *reading)
{
    const Referee__HloInstructionProto *proto = reading->proto;
    if (proto->domain_entry_sharding == NULL || proto->domain_exit_sharding == NULL) {
        return error_set(reading->err, ERROR_INVALID_ARGUMENT, "a sharding is missing");
    }
    struct domain *domain = arena_alloc(reading->arena, sizeof *domain);
    domain->kind = "sharding";
    /* the two sides have each other's names in text */
    domain->exit = read_sharding(reading->arena, proto->domain_entry_sharding, reading->err);
    domain->entry = read_sharding(reading->arena, proto->domain_exit_sharding, reading->err);
    reading->attr->domain = domain;
    return domain->exit != NULL && domain->entry != NULL;
}

bool read_accuracy(struct reading *reading)
{
    const Referee__ResultAccuracy *proto = reading->proto->result_accuracy;
    if (proto == NULL) {
        reading->absent = true;
        return true;
    }
    if (proto->mode < 0 || proto->mode > 1) {
        return error_set(reading->err, ERROR_INVALID_ARGUMENT, "result accuracy mode %d is none",
                         (int)proto->mode);
    }
    struct result_accuracy *accuracy = arena_alloc(reading->arena, sizeof *accuracy);
    accuracy->mode = proto->mode;
    if (proto->tolerance != NULL) {
        accuracy->has_tolerance = true;
        accuracy->atol = proto->tolerance->atol;
        accuracy->rtol = proto->tolerance->rtol;
        accuracy->ulps = proto->tolerance->ulps;
        if (!(accuracy->atol >= 0 && accuracy->rtol >= 0 && accuracy->ulps >= 0)) {
            return error_set(reading->err, ERROR_INVALID_ARGUMENT,
                             "a tolerance of the result accuracy is negative");
        }
    }
    reading->attr->result_accuracy = accuracy;
    return true;
}

void read_statistics(struct reading *reading)
{
    const Referee__StatisticsViz *proto = reading->proto->statistics_viz;
    reading->absent = proto == NULL || proto->n_statistics == 0;
    if (reading->absent) {
        return;
    }
    struct statistics *statistics = arena_alloc(reading->arena, sizeof *statistics);
    struct statistic *entries = arena_array(reading->arena, proto->n_statistics, sizeof *entries);
    for (size_t i = 0; i < proto->n_statistics; i++) {
        const char *name = proto->statistics[i]->stat_name;
        entries[i].name = name != NULL ? arena_string(reading->arena, name, strlen(name)) : "";
        entries[i].value = proto->statistics[i]->stat_val;
    }
    statistics->visualizing_index = proto->stat_index_to_visualize;
    statistics->count = (int)proto->n_statistics;
    statistics->entries = entries;
    reading->attr->statistics = statistics;
}
