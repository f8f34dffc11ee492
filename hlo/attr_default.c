/* Attributes that say what holds anyway: XLA's text leaves them out, its protos cannot tell them
 * from absent ones. Source: xla/hlo/parser/hlo_parser.cc (CreateInstruction), hlo_instructions.cc
 * (PrintExtraAttributesImpl). */
#include <string.h>

#include "hlo/module.h"

enum compare_type compare_type_of(const struct instruction *instruction)
{
    const struct attr *attr = attr_get(instruction, ATTR_TYPE);
    if (attr != NULL) {
        return (enum compare_type)attr->integer;
    }
    enum type type =
        instruction->operand_count > 0 ? instruction->operands[0]->shape->type : TYPE_INVALID;
    switch (type_kind(type)) {
    case KIND_SIGNED:
        return COMPARE_SIGNED;
    case KIND_UNSIGNED:
    case KIND_PRED:
        return COMPARE_UNSIGNED;
    default:
        return COMPARE_FLOAT;
    }
}

static bool is_compare_default(const struct instruction *instruction, const struct attr *attr)
{
    struct instruction bare = *instruction;
    bare.attr_count = 0;
    return attr->integer == (int64_t)compare_type_of(&bare);
}

static bool is_empty(const char *string)
{
    return string == NULL || *string == '\0';
}

static bool is_metadata_empty(const struct metadata *metadata)
{
    return is_empty(metadata->op_type) && is_empty(metadata->op_name) &&
           is_empty(metadata->source_file) && is_empty(metadata->deduplicated_name) &&
           is_empty(metadata->scheduling_name) && metadata->source_line == 0 &&
           metadata->source_end_line == 0 && metadata->source_column == 0 &&
           metadata->source_end_column == 0 && metadata->stack_frame_id == 0 &&
           metadata->size_of_generated_code == 0 && metadata->size_of_memory_working_set == 0 &&
           metadata->profile_type.count == 0 && metadata->extra.size == 0;
}

static bool is_default_precision(struct precisions precisions)
{
    for (int i = 0; i < precisions.count; i++) {
        if (precisions.values[i] != PRECISION_DEFAULT) {
            return false;
        }
    }
    return true;
}

static bool is_default_word(const struct bytes *bytes, const char *word)
{
    return bytes->size == 0 ||
           (bytes->size == strlen(word) && memcmp(bytes->data, word, bytes->size) == 0);
}

bool attr_is_default(const struct instruction *instruction, const struct attr *attr)
{
    if (opcode_requires(instruction->opcode, attr->key)) {
        return false;
    }
    switch (attr->key) {
    case ATTR_TYPE:
        return is_compare_default(instruction, attr);
    case ATTR_LARGEST:
        return attr->integer == 1;
    case ATTR_IS_STABLE:
        return attr->integer == (instruction->opcode == OP_TOPK);
    case ATTR_FEATURE_GROUP_COUNT:
    case ATTR_BATCH_GROUP_COUNT:
    case ATTR_API_VERSION: /* API_VERSION_ORIGINAL */
        return attr->integer == 1;
    case ATTR_CHANNEL_ID:
        return attr->integer <= 0;
    case ATTR_INFERRED_DIMENSION:
        return attr->integer == -1;
    case ATTR_CROSS_PROGRAM_PREFETCH_INDEX:
    case ATTR_OPERAND_LAYOUT_CONSTRAINTS:
        return false;
    case ATTR_MODE: /* XLA reads it and passes it over */
        return true;
    case ATTR_ASYNC_EXECUTION_THREAD:
        return is_default_word(&attr->bytes, "main");
    case ATTR_DIMENSIONS: /* a map is over all dimensions in order, whatever is written */
        return attr->ints.count == 0 || instruction->opcode == OP_MAP;
    default:
        break;
    }
    switch (attr_table[attr->key].kind) {
    case ATTR_KIND_INT:
    case ATTR_KIND_BOOL:
    case ATTR_KIND_FFT_TYPE:
    case ATTR_KIND_TRANSPOSE:
    case ATTR_KIND_CONVOLUTION_KIND:
    case ATTR_KIND_SCHEDULE:
    case ATTR_KIND_PADDING_TYPE:
    case ATTR_KIND_ALGORITHM:
        return attr->integer == 0;
    case ATTR_KIND_STRING:
    case ATTR_KIND_BACKEND_CONFIG:
        return attr->bytes.size == 0;
    case ATTR_KIND_RAW:
    case ATTR_KIND_SPARSITY:
        return is_default_word(&attr->bytes, "{}");
    case ATTR_KIND_INTS:
    case ATTR_KIND_BOOLS:
    case ATTR_KIND_PAIRS:
        return attr->ints.count == 0;
    case ATTR_KIND_INTS_OR_LISTS:
        return attr->lists.count == 0 || (!attr->lists.nested && attr->lists.lists[0].count == 0);
    case ATTR_KIND_WINDOW: /* a custom call may have one without dimensions, or none */
        return attr->window.rank == 0 && instruction->opcode != OP_CUSTOM_CALL;
    case ATTR_KIND_ORIGIN:
        return attr->origin->text.size == 0;
    case ATTR_KIND_GROUPS:
        return attr->groups->form == GROUPS_LIST && attr->groups->list.count == 0;
    case ATTR_KIND_PRECISIONS:
        return is_default_precision(attr->precisions);
    case ATTR_KIND_ALIASING:
        return attr->aliasing.count == 0;
    case ATTR_KIND_RESULT_ACCURACY:
        return !attr->result_accuracy->has_tolerance && attr->result_accuracy->mode == 0;
    case ATTR_KIND_STRING_MAP:
        return attr->string_map.count == 0;
    case ATTR_KIND_METADATA:
        return is_metadata_empty(attr->metadata);
    case ATTR_KIND_STATISTICS:
        return attr->statistics->count == 0;
    default:
        return false;
    }
}
