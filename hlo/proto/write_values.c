/* Attribute values that are messages of their own. Source: xla/xla_data.proto. */
#include <stdio.h>
#include <string.h>

#include "hlo/proto/write_internal.h"

Referee__Window *write_window(struct arena *arena, struct window window)
{
    Referee__Window *proto = message_new(arena, &referee__window__descriptor);
    proto->n_dimensions = (size_t)window.rank;
    proto->dimensions = arena_array(arena, proto->n_dimensions, sizeof *proto->dimensions);
    for (int i = 0; i < window.rank; i++) {
        const struct window_dimension *from = &window.dimensions[i];
        Referee__WindowDimension *to = message_new(arena, &referee__window_dimension__descriptor);
        to->size = from->size;
        to->stride = from->stride;
        to->padding_low = from->padding_low;
        to->padding_high = from->padding_high;
        to->window_dilation = from->window_dilation;
        to->base_dilation = from->base_dilation;
        to->window_reversal = from->reversal;
        proto->dimensions[i] = to;
    }
    return proto;
}

Referee__PaddingConfig *write_padding(struct arena *arena, struct padding padding)
{
    Referee__PaddingConfig *proto = message_new(arena, &referee__padding_config__descriptor);
    proto->n_dimensions = (size_t)padding.rank;
    proto->dimensions = arena_array(arena, proto->n_dimensions, sizeof *proto->dimensions);
    for (int i = 0; i < padding.rank; i++) {
        Referee__PaddingConfigDimension *dimension =
            message_new(arena, &referee__padding_config_dimension__descriptor);
        dimension->edge_padding_low = padding.dimensions[i].low;
        dimension->edge_padding_high = padding.dimensions[i].high;
        dimension->interior_padding = padding.dimensions[i].interior;
        proto->dimensions[i] = dimension;
    }
    return proto;
}

Referee__ConvolutionDimensionNumbers *write_dim_labels(struct arena *arena,
                                                       const struct dim_labels *labels)
{
    Referee__ConvolutionDimensionNumbers *proto =
        message_new(arena, &referee__convolution_dimension_numbers__descriptor);
    proto->input_batch_dimension = labels->input_batch;
    proto->input_feature_dimension = labels->input_feature;
    proto->kernel_input_feature_dimension = labels->kernel_input_feature;
    proto->kernel_output_feature_dimension = labels->kernel_output_feature;
    proto->output_batch_dimension = labels->output_batch;
    proto->output_feature_dimension = labels->output_feature;
    size_t rank = (size_t)labels->spatial_rank;
    proto->n_input_spatial_dimensions = rank;
    proto->input_spatial_dimensions = (int64_t *)labels->input_spatial;
    proto->n_kernel_spatial_dimensions = rank;
    proto->kernel_spatial_dimensions = (int64_t *)labels->kernel_spatial;
    proto->n_output_spatial_dimensions = rank;
    proto->output_spatial_dimensions = (int64_t *)labels->output_spatial;
    return proto;
}

void write_slices(struct arena *arena, struct slices slices, Referee__HloInstructionProto *proto)
{
    proto->n_slice_dimensions = (size_t)slices.rank;
    proto->slice_dimensions =
        arena_array(arena, proto->n_slice_dimensions, sizeof *proto->slice_dimensions);
    for (int i = 0; i < slices.rank; i++) {
        Referee__HloInstructionProto__SliceDimensions *slice =
            message_new(arena, &referee__hlo_instruction_proto__slice_dimensions__descriptor);
        slice->start = slices.dimensions[i].start;
        slice->limit = slices.dimensions[i].limit;
        slice->stride = slices.dimensions[i].stride;
        proto->slice_dimensions[i] = slice;
    }
}

void write_pairs(struct arena *arena, struct ints pairs, Referee__HloInstructionProto *proto)
{
    proto->n_source_target_pairs = (size_t)pairs.count / 2;
    proto->source_target_pairs =
        arena_array(arena, proto->n_source_target_pairs, sizeof *proto->source_target_pairs);
    for (size_t i = 0; i < proto->n_source_target_pairs; i++) {
        Referee__SourceTarget *pair = message_new(arena, &referee__source_target__descriptor);
        pair->source = pairs.values[2 * i];
        pair->target = pairs.values[2 * i + 1];
        proto->source_target_pairs[i] = pair;
    }
}

/* Gather's sizes, or those of an in-place collective-permute, one list after the other. */
void write_slice_sizes(struct arena *arena, enum opcode opcode, struct lists lists,
                       Referee__HloInstructionProto *proto)
{
    size_t count = 0;
    for (int i = 0; i < lists.count; i++) {
        count += (size_t)lists.lists[i].count;
    }
    int64_t *sizes = arena_array(arena, count, sizeof *sizes);
    size_t next = 0;
    for (int i = 0; i < lists.count; i++) {
        for (int k = 0; k < lists.lists[i].count; k++) {
            sizes[next++] = lists.lists[i].values[k];
        }
    }
    if (opcode == OP_GATHER) {
        proto->n_gather_slice_sizes = count;
        proto->gather_slice_sizes = sizes;
    } else {
        proto->n_dynamic_slice_sizes = count;
        proto->dynamic_slice_sizes = sizes;
    }
}

void write_aliasing(struct arena *arena, struct aliasing aliasing,
                    Referee__HloInstructionProto *proto)
{
    proto->n_output_operand_aliasing = (size_t)aliasing.count;
    proto->output_operand_aliasing =
        arena_array(arena, (size_t)aliasing.count, sizeof *proto->output_operand_aliasing);
    for (int i = 0; i < aliasing.count; i++) {
        Referee__OutputOperandAliasing *alias =
            message_new(arena, &referee__output_operand_aliasing__descriptor);
        set_ints(&alias->n_output_shape_index, &alias->output_shape_index,
                 aliasing.entries[i].output_index);
        alias->operand_index = aliasing.entries[i].operand;
        set_ints(&alias->n_operand_shape_index, &alias->operand_shape_index,
                 aliasing.entries[i].operand_index);
        proto->output_operand_aliasing[i] = alias;
    }
}

static Referee__TensorSparsityConfig *write_sparsity_of(struct arena *arena, const char *text,
                                                        const char *side)
{
    const char *at = strstr(text, side);
    long long non_zero, block, dimension, stride;
    int index;
    if (at == NULL ||
        sscanf(at + strlen(side), "={sparsity=%lldx%lld dimension=%lld stride=%lld idx=%d}",
               &non_zero, &block, &dimension, &stride, &index) != 5) {
        return NULL;
    }
    Referee__TensorSparsityConfig *proto =
        message_new(arena, &referee__tensor_sparsity_config__descriptor);
    proto->num_non_zero = non_zero;
    proto->block_size = block;
    proto->dimension = dimension;
    proto->stride = stride;
    proto->idx = index;
    return proto;
}

Referee__SparsityConfig *write_sparsity(struct arena *arena, struct bytes text)
{
    Referee__SparsityConfig *proto = message_new(arena, &referee__sparsity_config__descriptor);
    proto->lhs = write_sparsity_of(arena, text.data, "lhs");
    proto->rhs = write_sparsity_of(arena, text.data, "rhs");
    return proto;
}

Referee__ResultAccuracy *write_accuracy(struct arena *arena, const struct result_accuracy *accuracy)
{
    Referee__ResultAccuracy *proto = message_new(arena, &referee__result_accuracy__descriptor);
    if (accuracy->has_tolerance) {
        proto->tolerance = message_new(arena, &referee__result_accuracy__tolerance__descriptor);
        proto->tolerance->atol = accuracy->atol;
        proto->tolerance->rtol = accuracy->rtol;
        proto->tolerance->ulps = accuracy->ulps;
    } else {
        proto->mode = (int32_t)accuracy->mode;
    }
    return proto;
}

Referee__OriginalValueProto *write_origin(struct arena *arena, const struct origin *origin)
{
    Referee__OriginalValueProto *proto =
        message_new(arena, &referee__original_value_proto__descriptor);
    proto->is_synthetic_call = origin->synthetic_call;
    proto->n_elements = (size_t)origin->count;
    proto->elements = arena_array(arena, proto->n_elements, sizeof *proto->elements);
    for (int i = 0; i < origin->count; i++) {
        Referee__OriginalValueElementProto *element =
            message_new(arena, &referee__original_value_element_proto__descriptor);
        set_ints(&element->n_shape_index, &element->shape_index, origin->elements[i].index);
        if (origin->elements[i].name != NULL) {
            Referee__OriginalArrayProto *array =
                message_new(arena, &referee__original_array_proto__descriptor);
            array->instruction_name = (char *)origin->elements[i].name;
            set_ints(&array->n_shape_index, &array->shape_index, origin->elements[i].array_index);
            element->original_array = array;
        }
        proto->elements[i] = element;
    }
    return proto;
}

Referee__StatisticsViz *write_statistics(struct arena *arena, const struct statistics *statistics)
{
    Referee__StatisticsViz *proto = message_new(arena, &referee__statistics_viz__descriptor);
    proto->stat_index_to_visualize = statistics->visualizing_index;
    proto->n_statistics = (size_t)statistics->count;
    proto->statistics = arena_array(arena, proto->n_statistics, sizeof *proto->statistics);
    for (int i = 0; i < statistics->count; i++) {
        Referee__Statistic *statistic = message_new(arena, &referee__statistic__descriptor);
        statistic->stat_name = (char *)statistics->entries[i].name;
        statistic->stat_val = statistics->entries[i].value;
        proto->statistics[i] = statistic;
    }
    return proto;
}

void write_layout_constraints(struct arena *arena, struct shapes shapes,
                              Referee__HloInstructionProto *proto)
{
    proto->constrain_layout = true;
    proto->n_operand_shapes_with_layout = (size_t)shapes.count;
    proto->operand_shapes_with_layout =
        arena_array(arena, (size_t)shapes.count, sizeof *proto->operand_shapes_with_layout);
    for (int i = 0; i < shapes.count; i++) {
        proto->operand_shapes_with_layout[i] = write_shape(arena, shapes.shapes[i]);
    }
}
