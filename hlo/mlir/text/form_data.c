/* Short forms of constants, of ops that move data, and of tuples. */
#include "hlo/mlir/text/form.h"

static bool is_elements(const struct mlir_attr *attr)
{
    return attr->kind == MLIR_ATTR_DENSE || attr->kind == MLIR_ATTR_RESOURCE ||
           attr->kind == MLIR_ATTR_STRINGS;
}

/* () <{value = …}> {…} : () -> type: how a constant is printed whose type is not its value's. */
static bool read_constant_of_other_type(struct reader *reader, struct op_builder *op)
{
    if (!reader_expect(reader, ')')) {
        return false;
    }
    if (reader_accept(reader, '<') &&
        (!reader_attr_dict(reader, &op->attrs) || !reader_expect(reader, '>'))) {
        return false;
    }
    return form_functional_end(reader, op);
}

/* {attributes} value, whose type is the result's. */
static bool read_value(struct reader *reader, struct op_builder *op, bool may_be_number)
{
    struct mlir_attr *value;
    if (!reader_attr_dict(reader, &op->attrs)) {
        return false;
    }
    reader_skip(reader);
    const char *at = reader->at;
    if (!reader_attr(reader, &value)) {
        return false;
    }
    bool is_number = value->kind == MLIR_ATTR_INT || value->kind == MLIR_ATTR_FLOAT ||
                     value->kind == MLIR_ATTR_BOOL;
    if (!is_elements(value) && !(may_be_number && is_number)) {
        return reader_fail(reader, at, "the value of a constant is %sdense<…> or dense_resource<…>",
                           may_be_number ? "a number, " : "");
    }
    builder_set(reader, op, "value", value);
    builder_result(reader, op, value->type);
    return true;
}

/* {attributes} dense<…> : type */
bool form_constant(struct reader *reader, struct op_builder *op)
{
    if (reader_accept(reader, '(')) {
        return read_constant_of_other_type(reader, op);
    }
    return read_value(reader, op, false);
}

/* {attributes} 3 : type, true, dense<…> : type */
bool form_arith_constant(struct reader *reader, struct op_builder *op)
{
    return read_value(reader, op, true);
}

/* dim = 0 : type */
bool form_iota(struct reader *reader, struct op_builder *op)
{
    return form_key(reader, "dim") && form_int(reader, op, "iota_dimension", 64) &&
           form_nullary(reader, op);
}

/* %a, …, dim = 0 : (types) -> type */
bool form_dim(struct reader *reader, struct op_builder *op)
{
    const char *key = op->opcode == MLIR_OP_DYNAMIC_IOTA ? "iota_dimension" : "dimension";
    return reader_operands(reader, op) && form_comma_key(reader, "dim") &&
           form_int(reader, op, key, 64) && form_functional_end(reader, op);
}

/* %a, …, dims = [0, 1] : (types) -> type */
bool form_dims(struct reader *reader, struct op_builder *op)
{
    const char *key = op->opcode == MLIR_OP_TRANSPOSE ? "permutation" : "broadcast_dimensions";
    return reader_operands(reader, op) && form_comma_key(reader, "dims") &&
           form_ints(reader, op, key) && form_functional_end(reader, op);
}

/* %a, dims = [0, 1] : type, or : (type) -> type */
bool form_dims_same_type(struct reader *reader, struct op_builder *op)
{
    return form_operands(reader, op, 1) && form_comma_key(reader, "dims") &&
           form_ints(reader, op, "dimensions") && form_same_type_end(reader, op);
}

/* %a, …, sizes = [1, 2] : (types) -> type. What has no indices may be printed with two commas. */
bool form_sizes(struct reader *reader, struct op_builder *op)
{
    const char *key = op->opcode == MLIR_OP_BROADCAST ? "broadcast_sizes" : "slice_sizes";
    if (!reader_operands(reader, op) || !reader_expect(reader, ',')) {
        return false;
    }
    if (op->operand_count == 1) {
        reader_accept(reader, ',');
    }
    return form_key(reader, "sizes") && form_ints(reader, op, key) &&
           form_functional_end(reader, op);
}

/* %a, %value, low = [1], high = [0], interior = [0] : (types) -> type */
bool form_pad(struct reader *reader, struct op_builder *op)
{
    return form_operands(reader, op, 2) && form_comma_key(reader, "low") &&
           form_ints(reader, op, "edge_padding_low") && form_comma_key(reader, "high") &&
           form_ints(reader, op, "edge_padding_high") && form_comma_key(reader, "interior") &&
           form_ints(reader, op, "interior_padding") && form_functional_end(reader, op);
}

/* Growing lists of integers, on the stack while they are short. */
struct ranges {
    int count, capacity;
    int64_t *values[3]; /* starts, limits, strides */
    int64_t inline_values[3][8];
};

static void grow_ranges(struct reader *reader, struct ranges *ranges)
{
    int capacity = 2 * ranges->capacity;
    for (int i = 0; i < 3; i++) {
        int64_t *values = arena_array(&reader->file->arena, (size_t)capacity, sizeof *values);
        memcpy(values, ranges->values[i], (size_t)ranges->count * sizeof *values);
        ranges->values[i] = values;
    }
    ranges->capacity = capacity;
}

/* %a [0:2, 1:5:2] : (type) -> type */
bool form_slice(struct reader *reader, struct op_builder *op)
{
    static const char *const keys[] = {"start_indices", "limit_indices", "strides"};
    struct ranges ranges;
    ranges.count = 0;
    ranges.capacity = 8;
    for (int i = 0; i < 3; i++) {
        ranges.values[i] = ranges.inline_values[i];
    }
    if (!form_operands(reader, op, 1) || !reader_expect(reader, '[')) {
        return false;
    }
    bool more = !reader_accept(reader, ']');
    while (more) {
        if (ranges.count == ranges.capacity) {
            grow_ranges(reader, &ranges);
        }
        int64_t *stride = &ranges.values[2][ranges.count];
        *stride = 1;
        if (!reader_int(reader, &ranges.values[0][ranges.count]) || !reader_expect(reader, ':') ||
            !reader_int(reader, &ranges.values[1][ranges.count]) ||
            (reader_accept(reader, ':') && !reader_int(reader, stride))) {
            return false;
        }
        ranges.count++;
        more = reader_accept(reader, ',');
        if (!more && !reader_expect(reader, ']')) {
            return false;
        }
    }
    for (int i = 0; i < 3; i++) {
        builder_set(reader, op, keys[i],
                    mlir_attr_ints(reader->file, ranges.count, ranges.values[i]));
    }
    return form_functional_end(reader, op);
}

/* Any operands : tuple<their types> */
bool form_tuple(struct reader *reader, struct op_builder *op)
{
    if (!reader_operands(reader, op) || !reader_attr_dict(reader, &op->attrs) ||
        !reader_expect(reader, ':')) {
        return false;
    }
    const struct mlir_type *type;
    reader_skip(reader);
    const char *at = reader->at;
    if (!reader_type(reader, &type)) {
        return false;
    }
    if (type->kind != MLIR_TUPLE) {
        return reader_fail(reader, at, "the type of a tuple is tuple<…>");
    }
    if (type->count != op->operand_count) {
        return reader_fail(reader, at, "a tuple of %d elements of %d operands", type->count,
                           op->operand_count);
    }
    for (int i = 0; i < type->count; i++) {
        if (!builder_operand_type(reader, op, i, type->types[i])) {
            return false;
        }
    }
    builder_result(reader, op, type);
    return true;
}

/* %a[0] : (type) -> type */
bool form_get_tuple_element(struct reader *reader, struct op_builder *op)
{
    return form_operands(reader, op, 1) && reader_expect(reader, '[') &&
           form_int(reader, op, "index", 32) && reader_expect(reader, ']') &&
           form_functional_end(reader, op);
}
