/* How many terms a sum has. */

#include "compare/profile.h"
#include "hlo/module.h"
#include "interp/custom_call.h"

/* Is there arithmetic that rounds in a reducer? (max, min, and, or do not.) */
static bool reducer_rounds(const struct computation *reducer)
{
    for (int i = 0; i < reducer->count; i++) {
        switch (reducer->instructions[i]->opcode) {
        case OP_PARAMETER:
        case OP_CONSTANT:
        case OP_MAXIMUM:
        case OP_MINIMUM:
        case OP_AND:
        case OP_OR:
        case OP_COMPARE:
        case OP_SELECT:
        case OP_TUPLE:
        case OP_GET_TUPLE_ELEMENT:
        case OP_COPY:
        case OP_CONVERT:
        case OP_REAL:
        case OP_IMAG:
        case OP_COMPLEX:
        case OP_NOT:
        case OP_XOR:
            break;
        default:
            return true;
        }
    }
    return false;
}

static int64_t reduced_terms(const struct instruction *instruction)
{
    const struct shape *in = instruction->operands[0]->shape, *out = instruction->shape;
    out = shape_is_tuple(out) && out->count > 0 ? out->elements[0] : out;
    int64_t outputs = shape_elements(out);
    return outputs > 0 ? (shape_elements(in) + outputs - 1) / outputs : 0;
}

static int64_t dot_terms(const struct instruction *instruction)
{
    const struct shape *rhs = instruction->operands[1]->shape;
    struct ints contracting = attr_ints(instruction, ATTR_RHS_CONTRACTING_DIMS);
    int64_t terms = 1;
    for (int i = 0; i < contracting.count; i++) {
        terms *= rhs->dimensions[contracting.values[i]];
    }
    return terms;
}

/* Devices in the largest group of a collective. Where neither groups nor the header say, the grid
 * is given from outside: many. */
static int64_t participants(const struct instruction *instruction)
{
    const struct module_config *config = &instruction->parent->module->config;
    const struct groups *groups = attr_groups(instruction);
    int64_t largest = 0;
    if (groups != NULL && groups->form == GROUPS_IOTA) {
        largest = groups->group_size;
    } else if (groups != NULL && groups->form == GROUPS_LIST) {
        for (int i = 0; i < groups->list.count; i++) {
            int64_t count = groups->list.lists[i].count;
            largest = count > largest ? count : largest;
        }
    }
    /* Ids of replicas stand for all their partitions. */
    bool flattened = attr_bool(instruction, ATTR_USE_GLOBAL_DEVICE_IDS, false);
    largest *= flattened ? 1 : config->partition_count;
    int64_t all = config->replica_count * config->partition_count;
    return largest > 0 ? largest : all > 1 ? all : 64;
}

/* Updates that may meet in one element of a scatter: all that there are; of many some, or twice the
 * mean over all elements, since few are hit as often as others. */
static int64_t scatter_terms(const struct instruction *instruction)
{
    enum { SOME = 16 };
    const struct shape *updates = instruction->operands[instruction->operand_count - 1]->shape;
    int64_t places = shape_elements(instruction->operands[0]->shape);
    int64_t mean = places > 0 ? shape_elements(updates) / places : 0;
    int64_t most = 2 * mean > SOME ? 2 * mean : SOME;
    struct ints window = attr_ints(instruction, ATTR_UPDATE_WINDOW_DIMS);
    int64_t count = 1;
    for (int i = 0; i < updates->rank; i++) {
        bool inside = false;
        for (int k = 0; k < window.count; k++) {
            inside |= window.values[k] == i;
        }
        count *= inside ? 1 : updates->dimensions[i];
    }
    return count < most ? count : most;
}

/* Windows of a select-and-scatter that an element is in: any of them may select it. */
static int64_t window_terms(const struct instruction *instruction)
{
    struct window window = attr_window(instruction);
    int64_t terms = 1;
    for (int i = 0; i < window.rank; i++) {
        const struct window_dimension *dimension = &window.dimensions[i];
        int64_t stride = dimension->stride > 0 ? dimension->stride : 1;
        terms *= (dimension->size + stride - 1) / stride;
    }
    return terms;
}

int64_t profile_terms(const struct instruction *instruction)
{
    switch (instruction->opcode) {
    case OP_DOT:
    case OP_RAGGED_DOT:
    case OP_SCALED_DOT:
        return dot_terms(instruction);
    case OP_CONVOLUTION: {
        const struct shape *rhs = instruction->operands[1]->shape;
        int64_t outputs = rhs->dimensions[attr_dim_labels(instruction)->kernel_output_feature];
        return outputs > 0 ? shape_elements(rhs) / outputs : 0;
    }
    case OP_REDUCE:
    case OP_SCAN:
        return instruction->called_count > 0 && reducer_rounds(instruction->called[0])
                   ? reduced_terms(instruction)
                   : 0;
    case OP_REDUCE_WINDOW: {
        struct window window = attr_window(instruction);
        int64_t terms = 1;
        for (int i = 0; i < window.rank; i++) {
            terms *= window.dimensions[i].size;
        }
        return instruction->called_count > 0 && reducer_rounds(instruction->called[0]) ? terms : 0;
    }
    case OP_SCATTER:
        return instruction->called_count > 0 && reducer_rounds(instruction->called[0])
                   ? scatter_terms(instruction)
                   : 0;
    case OP_SELECT_AND_SCATTER: {
        const struct computation *combiner =
            instruction->called_count > 0 ? instruction->called[instruction->called_count - 1]
                                          : NULL;
        return combiner != NULL && reducer_rounds(combiner) ? window_terms(instruction) : 0;
    }
    case OP_ALL_REDUCE:
    case OP_ALL_REDUCE_START:
    case OP_REDUCE_SCATTER:
        return instruction->called_count > 0 && reducer_rounds(instruction->called[0])
                   ? participants(instruction)
                   : 0;
    case OP_BATCH_NORM_INFERENCE: /* less the mean, plus the offset */
        return 3;
    case OP_BATCH_NORM_TRAINING:
    case OP_BATCH_NORM_GRAD: {
        int64_t features = instruction->operands[0]
                               ->shape->dimensions[attr_int(instruction, ATTR_FEATURE_INDEX, 0)];
        return features > 0 ? shape_elements(instruction->operands[0]->shape) / features : 0;
    }
    case OP_CUSTOM_CALL:
        return custom_call_terms(instruction);
    case OP_FFT:
        return shape_elements(instruction->operands[0]->shape) > 1 ? 64 : 0;
    case OP_CHOLESKY:
    case OP_TRIANGULAR_SOLVE: {
        const struct shape *shape = instruction->operands[0]->shape;
        return shape->dimensions[shape->rank - 1];
    }
    default:
        return 0;
    }
}
