/* Attributes from the fields of HloInstructionProto.
 * Source: xla/hlo/ir/hlo_instruction.cc (CreateFromProto). */
#include <string.h>

#include "hlo/proto/read_internal.h"

static struct ints read_ints(struct reading *reading, size_t count, const int64_t *values)
{
    reading->absent = count == 0;
    return ints_from_int64(reading->arena, count, values);
}

/* --- words --- */

static bool read_word(struct reading *reading, const char *word)
{
    const struct attr_info *info = &attr_table[reading->attr->key];
    reading->absent = word == NULL || *word == '\0';
    if (reading->absent) {
        return true;
    }
    reading->attr->integer = attr_enum_value(info->kind, word, strlen(word));
    return reading->attr->integer >= 0 || error_set(reading->err, ERROR_INVALID_ARGUMENT,
                                                    "%s \"%s\" is unknown", info->text, word);
}

/* Newer files give the order instead of the type: integers have a total one, floats either. Both
 * words were seen in the dumps of compilers of 2026. */
static bool read_comparison(struct reading *reading)
{
    const struct instruction *instruction = reading->instruction;
    const char *order = reading->proto->comparison_order;
    if (!read_word(reading, reading->proto->comparison_type)) {
        return false;
    }
    if (!reading->absent || order == NULL || *order == '\0') {
        return true;
    }
    const struct shape *shape =
        instruction->operand_count > 0 ? instruction->operands[0]->shape : NULL;
    bool is_total = strcmp(order, "TOTAL") == 0;
    if (is_total && shape != NULL && shape_is_array(shape) && type_is_float(shape->type)) {
        reading->absent = false;
        reading->attr->integer = COMPARE_TOTALORDER;
    }
    return is_total || strcmp(order, "PARTIAL") == 0 ||
           error_set(reading->err, ERROR_INVALID_ARGUMENT, "comparison_order \"%s\" is unknown",
                     order);
}

/* A number that stands for a word must have one. */
static bool check_word(struct reading *reading)
{
    const struct attr_info *info = &attr_table[reading->attr->key];
    if (info->kind < ATTR_KIND_FFT_TYPE ||
        attr_enum_text(info->kind, reading->attr->integer) != NULL) {
        return true;
    }
    return error_set(reading->err, ERROR_INVALID_ARGUMENT, "%s %lld is none", info->text,
                     (long long)reading->attr->integer);
}

/* --- groups of attributes that share a message --- */

static struct ints read_dot(struct reading *reading)
{
    const Referee__RaggedDotDimensionNumbers *ragged = reading->proto->ragged_dot_dimension_numbers;
    const Referee__DotDimensionNumbers *dot = reading->proto->dot_dimension_numbers;
    if (reading->instruction->opcode == OP_RAGGED_DOT) {
        dot = ragged != NULL ? ragged->dot_dimension_numbers : NULL;
        if (ragged != NULL && reading->attr->key == ATTR_LHS_RAGGED_DIMS) {
            return read_ints(reading, ragged->n_lhs_ragged_dimensions,
                             ragged->lhs_ragged_dimensions);
        }
        if (ragged != NULL && reading->attr->key == ATTR_RHS_GROUP_DIMS) {
            return read_ints(reading, ragged->n_rhs_group_dimensions, ragged->rhs_group_dimensions);
        }
    }
    if (dot == NULL) {
        reading->absent = true;
        return (struct ints){0, NULL};
    }
    switch (reading->attr->key) {
    case ATTR_LHS_CONTRACTING_DIMS:
        return read_ints(reading, dot->n_lhs_contracting_dimensions,
                         dot->lhs_contracting_dimensions);
    case ATTR_RHS_CONTRACTING_DIMS:
        return read_ints(reading, dot->n_rhs_contracting_dimensions,
                         dot->rhs_contracting_dimensions);
    case ATTR_LHS_BATCH_DIMS:
        return read_ints(reading, dot->n_lhs_batch_dimensions, dot->lhs_batch_dimensions);
    default: /* ATTR_RHS_BATCH_DIMS */
        return read_ints(reading, dot->n_rhs_batch_dimensions, dot->rhs_batch_dimensions);
    }
}

static bool read_precisions(struct reading *reading)
{
    const Referee__PrecisionConfig *config = reading->proto->precision_config;
    if (config == NULL || config->n_operand_precision == 0) {
        reading->absent = true;
        return true;
    }
    uint8_t *values = arena_alloc(reading->arena, config->n_operand_precision);
    for (size_t i = 0; i < config->n_operand_precision; i++) {
        int32_t precision = config->operand_precision[i];
        if (precision < 0 || precision > PRECISION_PACKED_NIBBLE) {
            return error_set(reading->err, ERROR_INVALID_ARGUMENT, "precision %d is none",
                             (int)precision);
        }
        values[i] = (uint8_t)precision;
    }
    reading->attr->precisions = (struct precisions){(int)config->n_operand_precision, values};
    return true;
}

static bool read_algorithm(struct reading *reading)
{
    if (reading->instruction->opcode == OP_RNG_BIT_GENERATOR) {
        reading->attr->integer = ALGORITHM_RNG + (int64_t)reading->proto->rng_algorithm;
    } else if (reading->proto->precision_config != NULL) {
        reading->attr->integer = reading->proto->precision_config->algorithm;
        if (reading->attr->integer >= ALGORITHM_RNG) {
            reading->attr->integer = -1;
        }
    } else {
        reading->absent = true;
        return true;
    }
    return check_word(reading);
}

static void read_channel_id(struct reading *reading)
{
    const Referee__HloInstructionProto *proto = reading->proto;
    int64_t channel = proto->all_reduce_id > 0 ? proto->all_reduce_id : proto->channel_id;
    reading->absent = channel <= 0;
    reading->attr->integer = channel;
}

static void read_index_vector_dim(struct reading *reading)
{
    const Referee__HloInstructionProto *proto = reading->proto;
    if (reading->instruction->opcode == OP_GATHER && proto->gather_dimension_numbers != NULL) {
        reading->attr->integer = proto->gather_dimension_numbers->index_vector_dim;
    } else if (reading->instruction->opcode == OP_SCATTER &&
               proto->scatter_dimension_numbers != NULL) {
        reading->attr->integer = proto->scatter_dimension_numbers->index_vector_dim;
    }
}

static void read_lower(struct reading *reading)
{
    const Referee__HloInstructionProto *proto = reading->proto;
    if (reading->instruction->opcode == OP_CHOLESKY) {
        reading->attr->integer = proto->cholesky_options != NULL && proto->cholesky_options->lower;
    } else {
        reading->attr->integer =
            proto->triangular_solve_options != NULL && proto->triangular_solve_options->lower;
    }
}

/* --- payloads and the common attributes --- */

static bool read_backend_config(struct reading *reading)
{
    ProtobufCBinaryData bytes = reading->proto->backend_config;
    if (reading->proto->backend_config_payload != NULL &&
        !read_payload(reading->proto->backend_config_payload, reading->reader->proto, &bytes,
                      reading->err)) {
        return false;
    }
    reading->absent = bytes.len == 0;
    reading->attr->bytes = bytes_from_binary(reading->arena, bytes);
    return true;
}

/* The other common attributes, each in a message of its own. */
static bool read_common(struct reading *reading)
{
    const Referee__HloInstructionProto *proto = reading->proto;
    struct arena *arena = reading->arena;
    struct attr *attr = reading->attr;
    switch (attr->key) {
    case ATTR_SHARDING:
        reading->absent = proto->sharding == NULL;
        attr->sharding =
            reading->absent ? NULL : read_sharding(arena, proto->sharding, reading->err);
        return reading->absent || attr->sharding != NULL;
    case ATTR_METADATA:
        reading->absent = proto->metadata == NULL;
        attr->metadata = reading->absent ? NULL
                                         : read_metadata(arena, proto->metadata,
                                                         reading->reader->proto, reading->err);
        return reading->absent || attr->metadata != NULL;
    case ATTR_FRONTEND_ATTRIBUTES:
        reading->absent = proto->frontend_attributes == NULL;
        if (!reading->absent) {
            attr->string_map = read_string_map(arena, proto->frontend_attributes);
        }
        return true;
    case ATTR_PARAMETER_REPLICATION:
        reading->absent = proto->parameter_replication == NULL;
        if (!reading->absent) {
            attr->ints =
                ints_from_bool(arena, proto->parameter_replication->n_replicated_at_leaf_buffers,
                               proto->parameter_replication->replicated_at_leaf_buffers);
        }
        return true;
    case ATTR_ORIGIN:
        reading->absent = proto->original_value == NULL;
        return reading->absent ||
               read_origin(arena, proto->original_value, reading->attr, reading->err);
    case ATTR_STATISTICS:
        read_statistics(reading);
        return true;
    default: /* ATTR_BACKEND_CONFIG */
        return read_backend_config(reading);
    }
}

static bool read_attr(struct reading *reading)
{
    const Referee__HloInstructionProto *proto = reading->proto;
    struct arena *arena = reading->arena;
    struct attr *attr = reading->attr;
    switch (attr->key) {
#define INT(id, name)                         \
    case ATTR_##id:                           \
        attr->integer = (int64_t)proto->name; \
        return check_word(reading);
#define INTS(id, name)                                                 \
    case ATTR_##id:                                                    \
        attr->ints = read_ints(reading, proto->n_##name, proto->name); \
        return true;
#define STRING(id, name)                                     \
    case ATTR_##id:                                          \
        attr->bytes = bytes_from_binary(arena, proto->name); \
        return true;
#define INT_IN(id, message, name)                                                   \
    case ATTR_##id:                                                                 \
        attr->integer = proto->message != NULL ? (int64_t)proto->message->name : 0; \
        return check_word(reading);
#define INTS_IN(id, message, name)                                                           \
    case ATTR_##id:                                                                          \
        if (proto->message != NULL) {                                                        \
            attr->ints = read_ints(reading, proto->message->n_##name, proto->message->name); \
        }                                                                                    \
        return true;
#include "hlo/proto/fields.def"
    case ATTR_FEATURE_GROUP_COUNT: /* less than 1 is 1 to XLA, too */
        attr->integer = proto->feature_group_count > 1 ? proto->feature_group_count : 1;
        return true;
    case ATTR_BATCH_GROUP_COUNT:
        attr->integer = proto->batch_group_count > 1 ? proto->batch_group_count : 1;
        return true;
    case ATTR_INFERRED_DIMENSION:
        reading->absent = proto->n_dimensions == 0;
        attr->integer = reading->absent ? -1 : proto->dimensions[0];
        return true;
    case ATTR_IOTA_DIMENSION:
        attr->integer = proto->n_dimensions == 1 ? proto->dimensions[0] : -1;
        return proto->n_dimensions == 1 ||
               error_set(reading->err, ERROR_INVALID_ARGUMENT, "%zu dimensions instead of one",
                         proto->n_dimensions);
    case ATTR_EPSILON:
        attr->real = proto->epsilon;
        return true;
    case ATTR_DIRECTION:
        return read_word(reading, proto->comparison_direction);
    case ATTR_TYPE:
        return read_comparison(reading);
    case ATTR_KIND:
        return read_word(reading, proto->fusion_kind);
    case ATTR_LOWER:
        read_lower(reading);
        return true;
    case ATTR_WINDOW:
        read_window(reading);
        return true;
    case ATTR_DIM_LABELS:
        return read_dim_labels(reading);
    case ATTR_SLICE:
        read_slices(reading);
        return true;
    case ATTR_PADDING:
        read_padding(reading);
        return true;
    case ATTR_CHANNEL_ID:
        read_channel_id(reading);
        return true;
    case ATTR_REPLICA_GROUPS:
        attr->groups = read_groups(arena, proto, reading->err);
        return attr->groups != NULL;
    case ATTR_SOURCE_TARGET_PAIRS:
        read_pairs(reading);
        return true;
    case ATTR_SLICE_SIZES:
        return read_slice_sizes(reading);
    case ATTR_INDEX_VECTOR_DIM:
        read_index_vector_dim(reading);
        return true;
    case ATTR_ALGORITHM:
        return read_algorithm(reading);
    case ATTR_IS_ASSOCIATIVE:
        reading->absent = proto->is_associative == 0;
        attr->integer = proto->is_associative == 1;
        return true;
    case ATTR_OUTFEED_SHAPE:
        reading->absent = proto->outfeed_shape == NULL;
        attr->shape = reading->absent ? NULL : read_shape(proto->outfeed_shape, reading->err);
        return reading->absent || attr->shape != NULL;
    case ATTR_CROSS_PROGRAM_PREFETCH_INDEX:
        reading->absent =
            !proto->has_cross_program_prefetch_index && !proto->is_cross_program_prefetch;
        attr->integer = proto->cross_program_prefetch_index;
        return true;
    case ATTR_LHS_BATCH_DIMS:
    case ATTR_LHS_CONTRACTING_DIMS:
    case ATTR_RHS_BATCH_DIMS:
    case ATTR_RHS_CONTRACTING_DIMS:
    case ATTR_LHS_RAGGED_DIMS:
    case ATTR_RHS_GROUP_DIMS:
        attr->ints = read_dot(reading);
        return true;
    case ATTR_OPERAND_PRECISION:
        return read_precisions(reading);
    case ATTR_SPARSITY_CONFIG:
        read_sparsity(reading);
        return true;
    case ATTR_OPERAND_LAYOUT_CONSTRAINTS:
        return read_shapes(reading);
    case ATTR_LITERAL:
        reading->absent = proto->literal == NULL;
        attr->literal = reading->absent ? NULL : read_literal(proto->literal, NULL, reading->err);
        return reading->absent || attr->literal != NULL;
    case ATTR_OUTPUT_TO_OPERAND_ALIASING:
        read_aliasing(reading);
        return true;
    case ATTR_DOMAIN:
        return read_domain(reading);
    case ATTR_RESULT_ACCURACY:
        return read_accuracy(reading);
    case ATTR_SHARDING:
    case ATTR_METADATA:
    case ATTR_FRONTEND_ATTRIBUTES:
    case ATTR_PARAMETER_REPLICATION:
    case ATTR_ORIGIN:
    case ATTR_STATISTICS:
    case ATTR_BACKEND_CONFIG:
        return read_common(reading);
    default: /* kept elsewhere, or without a field */
        reading->absent = true;
        return true;
    }
}

static bool is_kept_elsewhere(enum attr_kind kind)
{
    return kind == ATTR_KIND_COMPUTATION || kind == ATTR_KIND_COMPUTATIONS ||
           kind == ATTR_KIND_INSTRUCTIONS;
}

/* Lists: one without elements is as good as absent. */
static bool may_be_empty(enum attr_kind kind)
{
    return kind == ATTR_KIND_INTS || kind == ATTR_KIND_PAIRS;
}

bool read_attributes(struct reader *reader, const Referee__HloInstructionProto *proto,
                     struct instruction *instruction, struct error *err)
{
    for (int key = 0; key < ATTR_COUNT; key++) {
        if (!opcode_takes(instruction->opcode, key) || is_kept_elsewhere(attr_table[key].kind)) {
            continue;
        }
        struct attr attr = {.key = (enum attr_key)key};
        struct reading reading = {.reader = reader,
                                  .arena = reader->arena,
                                  .proto = proto,
                                  .instruction = instruction,
                                  .attr = &attr,
                                  .err = err};
        bool required = opcode_requires(instruction->opcode, key);
        if (!read_attr(&reading)) {
            return error_prefix(err, "%s", attr_table[key].text);
        }
        if (reading.absent && required && !may_be_empty(attr_table[key].kind)) {
            return error_set(err, ERROR_INVALID_ARGUMENT, "%s is missing", attr_table[key].text);
        }
        if (required || (!reading.absent && !attr_is_default(instruction, &attr))) {
            instruction_set_attr(instruction, attr);
        }
    }
    return true;
}
