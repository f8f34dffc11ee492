/* Dynamic dimensions: masks for operands, run-time sizes for results. */
#include "interp/dynamic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/floats.h"
#include "interp/walk.h"

static bool has_dynamic(const struct shape *shape)
{
    return shape->dynamic != NULL || (shape_is_tuple(shape) && shape_is_dynamic(shape));
}

bool dynamic_concerns(const struct instruction *instruction)
{
    bool concerns = has_dynamic(instruction->shape);
    for (int i = 0; i < instruction->operand_count && !concerns; i++) {
        concerns = has_dynamic(instruction->operands[i]->shape);
    }
    return concerns;
}

bool dynamic_is_partial(const struct literal *literal)
{
    for (int d = 0; literal->dynamic_sizes != NULL && d < literal->shape->rank; d++) {
        if (literal->dynamic_sizes[d] < literal->shape->dimensions[d]) {
            return true;
        }
    }
    return false;
}

int64_t dynamic_elements(const struct literal *literal)
{
    int64_t elements = 1;
    for (int d = 0; d < literal->shape->rank; d++) {
        elements *= dynamic_size(literal, d);
    }
    return elements;
}

/* --- masks --- */

/* Fills what lies outside a box at the origin; marked: the value of the bits there (with an array
 * of marks in place, if there are to be any). */
static void fill_outside(struct literal *literal, const int64_t *sizes, const void *element,
                         bool marked)
{
    const struct shape *shape = literal->shape;
    int bytes = type_bytes(shape->type);
    static const uint8_t all_marked = 0xff;
    int64_t strides[SHAPE_MAX_RANK];
    walk_strides(shape->rank, shape->dimensions, strides);
    /* Disjoint boxes: dimension d beyond its size, those before within, those after anywhere. */
    for (int d = 0; d < shape->rank; d++) {
        struct walk walk;
        walk_begin(&walk);
        int64_t size = sizes[d];
        for (int e = 0; e < shape->rank; e++) {
            int64_t extent = e < d    ? sizes[e]
                             : e == d ? shape->dimensions[e] - size
                                      : shape->dimensions[e];
            walk_add(&walk, extent, 0, strides[e]);
        }
        walk_finish(&walk);
        walk_copy(&walk, (char *)literal_data(literal) + size * strides[d] * bytes, element, bytes);
        walk_copy_bits(&walk, literal->buffer->unspecified, size * strides[d],
                       marked ? &all_marked : NULL, 0);
    }
}

static const char zero_element[16];

bool dynamic_clear_outside(struct literal *literal, const int64_t *sizes, struct error *err)
{
    bool outside = false;
    for (int d = 0; d < literal->shape->rank; d++) {
        outside |= sizes[d] < literal->shape->dimensions[d];
    }
    if (!outside) {
        return true;
    }
    if (literal->buffer->unspecified == NULL) {
        literal->buffer->unspecified = calloc(((size_t)literal_elements(literal) + 7) / 8, 1);
        if (literal->buffer->unspecified == NULL) {
            return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for the marks of %s",
                             shape_text(literal->shape));
        }
    }
    fill_outside(literal, sizes, zero_element, true);
    return true;
}

bool dynamic_clear_beyond(struct literal *literal, struct error *err)
{
    return literal->dynamic_sizes == NULL ||
           dynamic_clear_outside(literal, literal->dynamic_sizes, err);
}

struct literal *eval_mask_dynamic(const struct literal *literal, const void *element,
                                  struct error *err)
{
    struct literal *masked = literal_retain(literal);
    if (!shape_is_array(literal->shape) || !dynamic_is_partial(literal)) {
        return masked;
    }
    masked = literal_own_take(masked, err);
    if (masked != NULL) {
        fill_outside(masked, masked->dynamic_sizes, element != NULL ? element : zero_element,
                     false);
    }
    return masked;
}

/* The least value of a type, for the operand of select-and-scatter. */
static void lowest_element(enum type type, char *element)
{
    memset(element, 0, 16);
    if (type_is_float(type) && float_formats[type].specials == SPECIALS_IEEE) {
        uint64_t bits = float_from_double(type, -INFINITY);
        memcpy(element, &bits, (size_t)type_bytes(type));
    } else if (type_kind(type) == KIND_SIGNED) {
        uint64_t bits = UINT64_MAX << (type_bits(type) - 1);
        memcpy(element, &bits, (size_t)type_bytes(type));
    }
}

/* The greatest integer of a type: an index that is out of bounds everywhere. */
static void highest_integer(enum type type, char *element)
{
    uint64_t bits = UINT64_MAX >> (64 - type_bits(type) + (type_kind(type) == KIND_SIGNED));
    memset(element, 0, 16);
    memcpy(element, &bits, (size_t)type_bytes(type));
}

struct literal *dynamic_operand(const struct instruction *instruction,
                                const struct operands *operands, int i, struct error *err)
{
    struct literal *operand = operands->values[i];
    if (!shape_is_array(operand->shape) || !dynamic_is_partial(operand)) {
        return literal_retain(operand);
    }
    char element[16];
    int half = operands->count / 2;
    switch (instruction->opcode) {
    case OP_REDUCE:
    case OP_REDUCE_WINDOW:
        return i < half ? eval_mask_dynamic(operand, literal_data(operands->values[half + i]), err)
                        : literal_retain(operand);
    case OP_CONVOLUTION:
    case OP_DOT:
        return eval_mask_dynamic(operand, NULL, err);
    case OP_PAD:
        return eval_mask_dynamic(operand, literal_data(operands->values[1]), err);
    case OP_SCATTER:
        /* operands, indices, updates */
        if (i != (operands->count - 1) / 2) {
            return literal_retain(operand);
        }
        highest_integer(operand->shape->type, element);
        return eval_mask_dynamic(operand, element, err);
    case OP_SELECT_AND_SCATTER:
        if (i == 1) {
            return eval_mask_dynamic(operand, literal_data(operands->values[2]), err);
        }
        lowest_element(operand->shape->type, element);
        return eval_mask_dynamic(operand, element, err);
    default:
        return literal_retain(operand);
    }
}

/* --- sizes --- */

static void elementwise_sizes(const struct operands *operands, int count, int rank, int64_t *sizes)
{
    for (int i = 0; i < count; i++) {
        const struct literal *operand = operands->values[i];
        for (int d = 0; operand->shape->rank == rank && d < rank; d++) {
            int64_t size = dynamic_size(operand, d);
            sizes[d] = size < sizes[d] ? size : sizes[d];
        }
    }
}

static bool ints_contain(struct ints ints, int64_t value)
{
    for (int i = 0; i < ints.count; i++) {
        if (ints.values[i] == value) {
            return true;
        }
    }
    return false;
}

static void slice_sizes(const struct instruction *instruction, const struct literal *operand,
                        int64_t *sizes)
{
    struct slices slices = attr_slices(instruction);
    for (int d = 0; d < slices.rank; d++) {
        struct slice_dimension slice = slices.dimensions[d];
        int64_t limit = dynamic_size(operand, d);
        limit = limit < slice.limit ? limit : slice.limit;
        sizes[d] = limit > slice.start ? (limit - slice.start - 1) / slice.stride + 1 : 0;
    }
}

static void pad_sizes(const struct instruction *instruction, const struct literal *operand,
                      int64_t *sizes)
{
    struct padding padding = attr_padding(instruction);
    for (int d = 0; d < padding.rank; d++) {
        struct padding_dimension pad = padding.dimensions[d];
        int64_t size = dynamic_size(operand, d);
        size += (size > 0 ? size - 1 : 0) * pad.interior + pad.low + pad.high;
        sizes[d] = size > 0 ? size : 0;
    }
}

static void concatenate_sizes(const struct instruction *instruction,
                              const struct operands *operands, int rank, int64_t *sizes)
{
    int64_t along = attr_ints(instruction, ATTR_DIMENSIONS).values[0], total = 0;
    elementwise_sizes(operands, operands->count, rank, sizes);
    for (int i = 0; i < operands->count; i++) {
        total += dynamic_size(operands->values[i], (int)along);
    }
    sizes[along] = total;
}

static void gather_sizes(const struct instruction *instruction, const struct operands *operands,
                         int rank, int64_t *sizes)
{
    struct ints offset_dims = attr_ints(instruction, ATTR_OFFSET_DIMS);
    struct ints collapsed = attr_ints(instruction, ATTR_COLLAPSED_SLICE_DIMS);
    struct ints batching = attr_ints(instruction, ATTR_OPERAND_BATCHING_DIMS);
    struct ints slice = attr_ints(instruction, ATTR_SLICE_SIZES);
    const struct literal *operand = operands->values[0], *indices = operands->values[1];
    int64_t vector_dim = attr_int(instruction, ATTR_INDEX_VECTOR_DIM, indices->shape->rank);
    int operand_dim = 0, index_dim = 0;
    for (int d = 0; d < rank; d++) {
        if (!ints_contain(offset_dims, d)) {
            index_dim += index_dim == vector_dim;
            sizes[d] = dynamic_size(indices, index_dim++);
            continue;
        }
        while (ints_contain(collapsed, operand_dim) || ints_contain(batching, operand_dim)) {
            operand_dim++;
        }
        if (slice.values[operand_dim] == operand->shape->dimensions[operand_dim]) {
            sizes[d] = dynamic_size(operand, operand_dim);
        }
        operand_dim++;
    }
}

static void reduce_sizes(const struct instruction *instruction, const struct operands *operands,
                         int64_t *sizes)
{
    struct ints reduced = attr_ints(instruction, ATTR_DIMENSIONS);
    int kept = 0;
    for (int d = 0; d < operands->values[0]->shape->rank; d++) {
        if (ints_contain(reduced, d)) {
            continue;
        }
        for (int i = 0; i < operands->count / 2; i++) {
            int64_t size = dynamic_size(operands->values[i], d);
            sizes[kept] = size < sizes[kept] ? size : sizes[kept];
        }
        kept++;
    }
}

/* Positions of a window over `size` elements. */
static int64_t window_positions(struct window_dimension window, int64_t size)
{
    int64_t base = (size > 0 ? (size - 1) * window.base_dilation + 1 : 0) + window.padding_low +
                   window.padding_high;
    int64_t extent = (window.size - 1) * window.window_dilation + 1;
    return base >= extent ? (base - extent) / window.stride + 1 : 0;
}

static void convolution_sizes(const struct instruction *instruction,
                              const struct operands *operands, int64_t *sizes)
{
    const struct dim_labels *labels = attr_dim_labels(instruction);
    struct window window = attr_window(instruction);
    const struct literal *input = operands->values[0], *kernel = operands->values[1];
    int64_t groups = attr_int(instruction, ATTR_BATCH_GROUP_COUNT, 1);
    sizes[labels->output_batch] = dynamic_size(input, (int)labels->input_batch) / groups;
    sizes[labels->output_feature] = dynamic_size(kernel, (int)labels->kernel_output_feature);
    for (int d = 0; d < labels->spatial_rank; d++) {
        sizes[labels->output_spatial[d]] = window_positions(
            window.dimensions[d], dynamic_size(input, (int)labels->input_spatial[d]));
    }
}

static void dot_sizes(const struct instruction *instruction, const struct operands *operands,
                      int64_t *sizes)
{
    static const enum attr_key contracting[] = {ATTR_LHS_CONTRACTING_DIMS,
                                                ATTR_RHS_CONTRACTING_DIMS};
    static const enum attr_key batch[] = {ATTR_LHS_BATCH_DIMS, ATTR_RHS_BATCH_DIMS};
    struct ints lhs_batch = attr_ints(instruction, ATTR_LHS_BATCH_DIMS);
    int at = 0;
    for (int i = 0; i < lhs_batch.count; i++) {
        sizes[at++] = dynamic_size(operands->values[0], (int)lhs_batch.values[i]);
    }
    for (int side = 0; side < 2; side++) {
        struct ints contracted = attr_ints(instruction, contracting[side]);
        struct ints batched = attr_ints(instruction, batch[side]);
        for (int d = 0; d < operands->values[side]->shape->rank; d++) {
            if (!ints_contain(contracted, d) && !ints_contain(batched, d)) {
                sizes[at++] = dynamic_size(operands->values[side], d);
            }
        }
    }
}

static void update_slice_sizes(const struct operands *operands, int rank, int64_t *sizes)
{
    const struct literal *base = operands->values[0], *update = operands->values[1];
    for (int d = 0; d < rank; d++) {
        bool whole = update->shape->dimensions[d] == base->shape->dimensions[d];
        bool from_update = whole && !shape_dimension_is_dynamic(base->shape, d);
        sizes[d] = dynamic_size(from_update ? update : base, d);
    }
}

bool dynamic_result_sizes(const struct instruction *instruction, const struct operands *operands,
                          int64_t *sizes)
{
    const struct shape *shape = instruction->shape;
    while (shape_is_tuple(shape) && shape->count > 0) {
        shape = shape->elements[0];
    }
    if (!has_dynamic(instruction->shape) || !shape_is_array(shape) || operands->count == 0 ||
        dynamic_runs_live(instruction->opcode)) {
        return false;
    }
    int rank = shape->rank;
    memcpy(sizes, shape->dimensions, (size_t)rank * sizeof *sizes);
    const struct literal *first = operands->values[0];
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    struct window window = attr_window(instruction);
    switch (instruction->opcode) {
    case OP_ADD_DEPENDENCY:
    case OP_ASYNC_DONE:
    case OP_ASYNC_START:
    case OP_ASYNC_UPDATE:
    case OP_BITCAST:
    case OP_CALL:
    case OP_CONDITIONAL:
    case OP_COPY:
    case OP_COPY_DONE:
    case OP_COPY_START:
    case OP_CUSTOM_CALL:
    case OP_DOMAIN:
    case OP_DYNAMIC_RESHAPE:
    case OP_FUSION:
    case OP_GET_TUPLE_ELEMENT:
    case OP_INFEED:
    case OP_OPT_BARRIER:
    case OP_RECV:
    case OP_RECV_DONE:
    case OP_RESHAPE:
    case OP_RNG_BIT_GENERATOR:
    case OP_SCAN:
    case OP_SEND:
    case OP_SET_DIMENSION_SIZE:
    case OP_TUPLE:
    case OP_WHILE:
        return false; /* values pass as they are, or the op knows better */
    case OP_BROADCAST:
        for (int d = 0; d < dimensions.count; d++) {
            sizes[dimensions.values[d]] = dynamic_size(first, d);
        }
        return true;
    case OP_TRANSPOSE:
        for (int d = 0; d < rank; d++) {
            sizes[d] = dynamic_size(first, (int)dimensions.values[d]);
        }
        return true;
    case OP_SLICE:
        slice_sizes(instruction, first, sizes);
        return true;
    case OP_PAD:
        pad_sizes(instruction, first, sizes);
        return true;
    case OP_CONCATENATE:
        concatenate_sizes(instruction, operands, rank, sizes);
        return true;
    case OP_DYNAMIC_SLICE:
        for (int d = 0; d < rank; d++) {
            bool whole = sizes[d] == first->shape->dimensions[d];
            sizes[d] = whole ? dynamic_size(first, d) : sizes[d];
        }
        return true;
    case OP_DYNAMIC_UPDATE_SLICE:
        update_slice_sizes(operands, rank, sizes);
        return true;
    case OP_GATHER:
        gather_sizes(instruction, operands, rank, sizes);
        return true;
    case OP_REDUCE:
        reduce_sizes(instruction, operands, sizes);
        return true;
    case OP_REDUCE_WINDOW:
        for (int d = 0; d < window.rank; d++) {
            sizes[d] = window_positions(window.dimensions[d], dynamic_size(first, d));
        }
        return true;
    case OP_CONVOLUTION:
        convolution_sizes(instruction, operands, sizes);
        return true;
    case OP_DOT:
        dot_sizes(instruction, operands, sizes);
        return true;
    case OP_SCATTER:
    case OP_SELECT_AND_SCATTER:
        elementwise_sizes(operands, 1, rank, sizes);
        return true;
    default:
        elementwise_sizes(operands, operands->count, rank, sizes);
        return true;
    }
}

bool dynamic_set_sizes(struct literal *value, const int64_t *sizes, struct error *err)
{
    if (shape_is_tuple(value->shape)) {
        for (int i = 0; i < value->shape->count; i++) {
            if (!dynamic_set_sizes(value->elements[i], sizes, err)) {
                return false;
            }
        }
        return true;
    }
    for (int d = 0; value->dynamic_sizes != NULL && d < value->shape->rank; d++) {
        int64_t bound = value->shape->dimensions[d];
        bool dynamic = shape_dimension_is_dynamic(value->shape, d) && sizes[d] < bound;
        value->dynamic_sizes[d] = dynamic ? sizes[d] : bound;
    }
    return value->dynamic_sizes == NULL || dynamic_clear_beyond(value, err);
}
