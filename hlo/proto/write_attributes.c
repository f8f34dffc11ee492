/* Attributes as fields of HloInstructionProto.
 * Source: xla/hlo/ir/hlo_instructions.cc (ToProto). */
#include <string.h>

#include "hlo/literal.h"
#include "hlo/proto/write_internal.h"

/* The message that *slot points to, made when it is not there. */
static void *ensure(struct arena *arena, void *slot, const ProtobufCMessageDescriptor *descriptor)
{
    void *message;
    memcpy(&message, slot, sizeof message);
    if (message == NULL) {
        message = message_new(arena, descriptor);
        memcpy(slot, &message, sizeof message);
    }
    return message;
}

/* --- groups of attributes that share a message --- */

static Referee__DotDimensionNumbers *dot_numbers(struct arena *arena, enum opcode opcode,
                                                 Referee__HloInstructionProto *proto)
{
    if (opcode != OP_RAGGED_DOT) {
        return ensure(arena, &proto->dot_dimension_numbers,
                      &referee__dot_dimension_numbers__descriptor);
    }
    Referee__RaggedDotDimensionNumbers *ragged =
        ensure(arena, &proto->ragged_dot_dimension_numbers,
               &referee__ragged_dot_dimension_numbers__descriptor);
    return ensure(arena, &ragged->dot_dimension_numbers,
                  &referee__dot_dimension_numbers__descriptor);
}

static void write_dot(struct arena *arena, enum opcode opcode, const struct attr *attr,
                      Referee__HloInstructionProto *proto)
{
    Referee__DotDimensionNumbers *dot = dot_numbers(arena, opcode, proto);
    Referee__RaggedDotDimensionNumbers *ragged = proto->ragged_dot_dimension_numbers;
    switch (attr->key) {
    case ATTR_LHS_CONTRACTING_DIMS:
        set_ints(&dot->n_lhs_contracting_dimensions, &dot->lhs_contracting_dimensions, attr->ints);
        return;
    case ATTR_RHS_CONTRACTING_DIMS:
        set_ints(&dot->n_rhs_contracting_dimensions, &dot->rhs_contracting_dimensions, attr->ints);
        return;
    case ATTR_LHS_BATCH_DIMS:
        set_ints(&dot->n_lhs_batch_dimensions, &dot->lhs_batch_dimensions, attr->ints);
        return;
    case ATTR_RHS_BATCH_DIMS:
        set_ints(&dot->n_rhs_batch_dimensions, &dot->rhs_batch_dimensions, attr->ints);
        return;
    case ATTR_LHS_RAGGED_DIMS:
        if (ragged != NULL) {
            set_ints(&ragged->n_lhs_ragged_dimensions, &ragged->lhs_ragged_dimensions, attr->ints);
        }
        return;
    default: /* ATTR_RHS_GROUP_DIMS */
        if (ragged != NULL) {
            set_ints(&ragged->n_rhs_group_dimensions, &ragged->rhs_group_dimensions, attr->ints);
        }
        return;
    }
}

static Referee__PrecisionConfig *precision_config(struct arena *arena,
                                                  Referee__HloInstructionProto *proto)
{
    return ensure(arena, &proto->precision_config, &referee__precision_config__descriptor);
}

static void write_precisions(struct arena *arena, struct precisions precisions,
                             Referee__HloInstructionProto *proto)
{
    Referee__PrecisionConfig *config = precision_config(arena, proto);
    config->n_operand_precision = (size_t)precisions.count;
    config->operand_precision =
        arena_array(arena, config->n_operand_precision, sizeof *config->operand_precision);
    for (int i = 0; i < precisions.count; i++) {
        config->operand_precision[i] = precisions.values[i];
    }
}

/* --- single attributes --- */

static void write_dimension(struct arena *arena, int64_t dimension,
                            Referee__HloInstructionProto *proto)
{
    proto->n_dimensions = 1;
    proto->dimensions = arena_copy(arena, &dimension, sizeof dimension);
}

static void write_lower(struct arena *arena, enum opcode opcode, bool lower,
                        Referee__HloInstructionProto *proto)
{
    if (opcode == OP_CHOLESKY) {
        Referee__CholeskyOptions *options =
            ensure(arena, &proto->cholesky_options, &referee__cholesky_options__descriptor);
        options->lower = lower;
    } else {
        Referee__TriangularSolveOptions *options =
            ensure(arena, &proto->triangular_solve_options,
                   &referee__triangular_solve_options__descriptor);
        options->lower = lower;
    }
}

static void write_index_vector_dim(struct arena *arena, enum opcode opcode, int64_t dimension,
                                   Referee__HloInstructionProto *proto)
{
    if (opcode == OP_GATHER) {
        Referee__GatherDimensionNumbers *gather =
            ensure(arena, &proto->gather_dimension_numbers,
                   &referee__gather_dimension_numbers__descriptor);
        gather->index_vector_dim = dimension;
    } else {
        Referee__ScatterDimensionNumbers *scatter =
            ensure(arena, &proto->scatter_dimension_numbers,
                   &referee__scatter_dimension_numbers__descriptor);
        scatter->index_vector_dim = dimension;
    }
}

bool write_attr(struct arena *arena, const struct instruction *instruction, const struct attr *attr,
                Referee__HloInstructionProto *proto)
{
    enum opcode opcode = instruction->opcode;
    switch (attr->key) {
#define INT(id, name)                \
    case ATTR_##id:                  \
        proto->name = attr->integer; \
        return true;
#define INTS(id, name)                                        \
    case ATTR_##id:                                           \
        set_ints(&proto->n_##name, &proto->name, attr->ints); \
        return true;
#define STRING(id, name)                              \
    case ATTR_##id:                                   \
        proto->name = binary_from_bytes(attr->bytes); \
        return true;
#define INT_IN(id, message, name)                                          \
    case ATTR_##id:                                                        \
        ensure(arena, &proto->message, &referee__##message##__descriptor); \
        proto->message->name = attr->integer;                              \
        return true;
#define INTS_IN(id, message, name)                                              \
    case ATTR_##id:                                                             \
        ensure(arena, &proto->message, &referee__##message##__descriptor);      \
        set_ints(&proto->message->n_##name, &proto->message->name, attr->ints); \
        return true;
#include "hlo/proto/fields.def"
    case ATTR_FEATURE_GROUP_COUNT:
        proto->feature_group_count = attr->integer;
        return true;
    case ATTR_BATCH_GROUP_COUNT:
        proto->batch_group_count = attr->integer;
        return true;
    case ATTR_BACKEND_CONFIG:
        proto->backend_config = binary_from_bytes(attr->bytes);
        return true;
    case ATTR_INFERRED_DIMENSION:
        if (attr->integer >= 0) {
            write_dimension(arena, attr->integer, proto);
        }
        return true;
    case ATTR_IOTA_DIMENSION:
        write_dimension(arena, attr->integer, proto);
        return true;
    case ATTR_EPSILON:
        proto->epsilon = (float)attr->real;
        return true;
    case ATTR_DIRECTION:
        proto->comparison_direction = (char *)attr_enum_text(ATTR_KIND_DIRECTION, attr->integer);
        return true;
    case ATTR_TYPE:
        proto->comparison_type = (char *)attr_enum_text(ATTR_KIND_COMPARE_TYPE, attr->integer);
        return true;
    case ATTR_KIND:
        proto->fusion_kind = (char *)attr_enum_text(ATTR_KIND_FUSION_KIND, attr->integer);
        return true;
    case ATTR_LOWER:
        write_lower(arena, opcode, attr->integer != 0, proto);
        return true;
    case ATTR_WINDOW:
        proto->window = write_window(arena, attr->window);
        return true;
    case ATTR_DIM_LABELS:
        proto->convolution_dimension_numbers = write_dim_labels(arena, attr->dim_labels);
        return true;
    case ATTR_SLICE:
        write_slices(arena, attr->slices, proto);
        return true;
    case ATTR_PADDING:
        proto->padding_config = write_padding(arena, attr->padding);
        return true;
    case ATTR_CHANNEL_ID:
        proto->channel_id = attr->integer > 0 ? attr->integer : 0;
        return true;
    case ATTR_REPLICA_GROUPS:
        write_groups(arena, attr->groups, proto);
        return true;
    case ATTR_SOURCE_TARGET_PAIRS:
        write_pairs(arena, attr->ints, proto);
        return true;
    case ATTR_SLICE_SIZES:
        write_slice_sizes(arena, opcode, attr->lists, proto);
        return true;
    case ATTR_INDEX_VECTOR_DIM:
        write_index_vector_dim(arena, opcode, attr->integer, proto);
        return true;
    case ATTR_ALGORITHM:
        if (attr->integer >= ALGORITHM_RNG) {
            proto->rng_algorithm = (int32_t)(attr->integer - ALGORITHM_RNG);
        } else {
            precision_config(arena, proto)->algorithm = (int32_t)attr->integer;
        }
        return true;
    case ATTR_IS_ASSOCIATIVE:
        proto->is_associative = attr->integer != 0 ? 1 : 2;
        return true;
    case ATTR_OUTFEED_SHAPE:
        proto->outfeed_shape = write_shape(arena, attr->shape);
        return true;
    case ATTR_CROSS_PROGRAM_PREFETCH_INDEX:
        proto->has_cross_program_prefetch_index = true;
        proto->cross_program_prefetch_index = (int32_t)attr->integer;
        return true;
    case ATTR_LHS_BATCH_DIMS:
    case ATTR_LHS_CONTRACTING_DIMS:
    case ATTR_RHS_BATCH_DIMS:
    case ATTR_RHS_CONTRACTING_DIMS:
    case ATTR_LHS_RAGGED_DIMS:
    case ATTR_RHS_GROUP_DIMS:
        write_dot(arena, opcode, attr, proto);
        return true;
    case ATTR_OPERAND_PRECISION:
        write_precisions(arena, attr->precisions, proto);
        return true;
    case ATTR_SPARSITY_CONFIG:
        proto->sparsity_config = write_sparsity(arena, attr->bytes);
        return true;
    case ATTR_OPERAND_LAYOUT_CONSTRAINTS:
        write_layout_constraints(arena, attr->shapes, proto);
        return true;
    case ATTR_LITERAL:
        proto->literal = write_literal(arena, attr->literal, attr->literal->shape);
        return true;
    case ATTR_OUTPUT_TO_OPERAND_ALIASING:
        write_aliasing(arena, attr->aliasing, proto);
        return true;
    case ATTR_DOMAIN: /* the two sides have each other's names in text */
        proto->domain_entry_sharding = write_sharding(arena, attr->domain->exit);
        proto->domain_exit_sharding = write_sharding(arena, attr->domain->entry);
        return true;
    case ATTR_RESULT_ACCURACY:
        proto->result_accuracy = write_accuracy(arena, attr->result_accuracy);
        return true;
    case ATTR_SHARDING:
        proto->sharding = write_sharding(arena, attr->sharding);
        return true;
    case ATTR_FRONTEND_ATTRIBUTES:
        proto->frontend_attributes = write_string_map(arena, attr->string_map);
        return true;
    case ATTR_PARAMETER_REPLICATION: {
        Referee__ParameterReplication *replication =
            message_new(arena, &referee__parameter_replication__descriptor);
        replication->n_replicated_at_leaf_buffers = (size_t)attr->ints.count;
        replication->replicated_at_leaf_buffers = ints_to_bool(arena, attr->ints);
        proto->parameter_replication = replication;
        return true;
    }
    case ATTR_ORIGIN:
        proto->original_value = write_origin(arena, attr->origin);
        return true;
    case ATTR_METADATA:
        proto->metadata = write_metadata(arena, attr->metadata);
        return true;
    case ATTR_STATISTICS:
        proto->statistics_viz = write_statistics(arena, attr->statistics);
        return true;
    default:
        return false;
    }
}

static void imply_one(int64_t *value)
{
    if (*value == 0) {
        *value = 1;
    }
}

/* A precision for each operand that can have one. */
static void imply_precisions(struct arena *arena, int count, Referee__HloInstructionProto *proto)
{
    Referee__PrecisionConfig *config = precision_config(arena, proto);
    if (config->n_operand_precision == 0) {
        config->n_operand_precision = (size_t)count;
        config->operand_precision =
            arena_array(arena, (size_t)count, sizeof *config->operand_precision);
    }
}

/* 0, 1, … */
static void write_dimensions(struct arena *arena, int rank, Referee__HloInstructionProto *proto)
{
    proto->n_dimensions = (size_t)rank;
    proto->dimensions = arena_array(arena, (size_t)rank, sizeof *proto->dimensions);
    for (int i = 0; i < rank; i++) {
        proto->dimensions[i] = i;
    }
}

void write_implied(struct arena *arena, const struct instruction *instruction,
                   Referee__HloInstructionProto *proto)
{
    switch (instruction->opcode) {
    case OP_COMPARE:
        proto->comparison_type =
            (char *)attr_enum_text(ATTR_KIND_COMPARE_TYPE, (int64_t)compare_type_of(instruction));
        return;
    case OP_CUSTOM_CALL:
        if (attr_get(instruction, ATTR_API_VERSION) == NULL) {
            proto->custom_call_api_version = 1;
        }
        imply_one(&proto->feature_group_count);
        imply_one(&proto->batch_group_count);
        imply_precisions(arena, instruction->operand_count, proto);
        return;
    case OP_CONVOLUTION:
        ensure(arena, &proto->window, &referee__window__descriptor);
        imply_one(&proto->feature_group_count);
        imply_one(&proto->batch_group_count);
        imply_precisions(arena, instruction->operand_count, proto);
        return;
    case OP_DOT:
    case OP_SCALED_DOT:
    case OP_RAGGED_DOT:
        dot_numbers(arena, instruction->opcode, proto);
        imply_precisions(arena, 2, proto);
        return;
    case OP_GATHER:
        ensure(arena, &proto->gather_dimension_numbers,
               &referee__gather_dimension_numbers__descriptor);
        return;
    case OP_SCATTER:
        ensure(arena, &proto->scatter_dimension_numbers,
               &referee__scatter_dimension_numbers__descriptor);
        return;
    case OP_REDUCE_WINDOW:
    case OP_SELECT_AND_SCATTER:
        ensure(arena, &proto->window, &referee__window__descriptor);
        return;
    case OP_TRIANGULAR_SOLVE:
        ensure(arena, &proto->triangular_solve_options,
               &referee__triangular_solve_options__descriptor);
        return;
    case OP_CHOLESKY:
        ensure(arena, &proto->cholesky_options, &referee__cholesky_options__descriptor);
        return;
    case OP_MAP: /* all dimensions in order, whatever is written */
        write_dimensions(arena, instruction->shape->rank, proto);
        return;
    case OP_OUTFEED:
        if (proto->outfeed_shape == NULL && instruction->operand_count > 0) {
            proto->outfeed_shape = write_shape(arena, instruction->operands[0]->shape);
        }
        return;
    case OP_SCAN: /* without the attribute it is false, not unspecified */
        proto->is_associative = attr_bool(instruction, ATTR_IS_ASSOCIATIVE, false) ? 1 : 2;
        return;
    case OP_TOPK:
        proto->largest = attr_bool(instruction, ATTR_LARGEST, true);
        proto->is_stable = attr_bool(instruction, ATTR_IS_STABLE, true);
        return;
    default:
        return;
    }
}
