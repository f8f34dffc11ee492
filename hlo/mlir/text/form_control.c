/* Short forms of ops with regions, of calls, and of what ends a block. */
#include "hlo/mlir/text/form.h"

/* %a, %b : type, type; nothing; {attributes} before or after the operands */
bool form_return(struct reader *reader, struct op_builder *op)
{
    struct reader_types types = {0};
    return reader_attr_dict(reader, &op->attrs) && reader_operands(reader, op) &&
           reader_attr_dict(reader, &op->attrs) &&
           (op->operand_count == 0 || (reader_expect(reader, ':') && reader_types(reader, &types) &&
                                       builder_operand_types(reader, op, 0, &types)));
}

/* @name(%a, %b) : (types) -> types */
bool form_call(struct reader *reader, struct op_builder *op)
{
    struct bytes name;
    if (!reader_symbol_name(reader, &name)) {
        return false;
    }
    builder_set(reader, op, "callee", mlir_attr_symbol(reader->file, name.data, name.size));
    return reader_operands_in_parens(reader, op) && form_functional_end(reader, op);
}

/* The same, but the name is a string: it names no function of the module. */
bool form_custom_call(struct reader *reader, struct op_builder *op)
{
    struct bytes name;
    if (!reader_symbol_name(reader, &name)) {
        return false;
    }
    builder_set(reader, op, "call_target_name",
                mlir_attr_string(reader->file, name.data, name.size));
    return reader_operands_in_parens(reader, op) && form_functional_end(reader, op);
}

/* "name" %a, %b ({region}, …) {attributes} : (types) -> types */
bool form_composite(struct reader *reader, struct op_builder *op)
{
    if (!form_string(reader, op, "name") || !reader_operands(reader, op)) {
        return false;
    }
    if (reader_accept(reader, '(')) {
        do {
            if (!reader_region(reader, op, 0, NULL)) {
                return false;
            }
        } while (reader_accept(reader, ','));
        if (!reader_expect(reader, ')')) {
            return false;
        }
    }
    return form_functional_end(reader, op);
}

/* (%name = %a, …) : types attributes {…} cond {…} do {…} */
bool form_while(struct reader *reader, struct op_builder *op)
{
    struct argument_list list = {0};
    if (!reader_expect(reader, '(')) {
        return false;
    }
    bool more = !reader_accept(reader, ')');
    while (more) {
        if (!reader_new_name(reader, form_argument_add(reader, &list)) ||
            !reader_expect(reader, '=') || !reader_operand(reader, op)) {
            return false;
        }
        more = reader_accept(reader, ',');
        if (!more && !reader_expect(reader, ')')) {
            return false;
        }
    }
    if (list.count > 0) {
        if (!reader_expect(reader, ':') || !reader_types(reader, &op->results) ||
            !builder_operand_types(reader, op, 0, &op->results)) {
            return false;
        }
        for (int i = 0; i < list.count; i++) {
            list.arguments[i].type = op->results.types[i];
        }
    }
    return reader_attributes_keyword(reader, &op->attrs) && reader_expect_word(reader, "cond") &&
           reader_region(reader, op, list.count, list.arguments) &&
           reader_expect_word(reader, "do") &&
           reader_region(reader, op, list.count, list.arguments);
}

/* Operands that were read as pairs (a, b), (c, d): then a, c, b, d. */
static void split_pairs(struct reader *reader, struct op_builder *op)
{
    int pairs = op->operand_count / 2;
    if (pairs < 2) {
        return;
    }
    size_t count = (size_t)op->operand_count;
    struct mlir_value **operands =
        arena_copy(&reader->file->arena, op->operands, count * sizeof *operands);
    const char **places =
        arena_copy(&reader->file->arena, op->operand_places, count * sizeof *places);
    for (int i = 0; i < pairs; i++) {
        op->operands[i] = operands[2 * i];
        op->operands[pairs + i] = operands[2 * i + 1];
        op->operand_places[i] = places[2 * i];
        op->operand_places[pairs + i] = places[2 * i + 1];
    }
}

/* (%a init: %b), (%c init: %d) */
static bool read_reduce_operands(struct reader *reader, struct op_builder *op)
{
    do {
        if (!reader_expect(reader, '(') || !reader_operand(reader, op) ||
            !reader_expect_word(reader, "init") || !reader_expect(reader, ':') ||
            !reader_operand(reader, op) || !reader_expect(reader, ')')) {
            return false;
        }
    } while (reader_accept(reader, ','));
    split_pairs(reader, op);
    return true;
}

/* across dimensions = [0] {attributes} : (types) -> types */
static bool read_reduce_dimensions(struct reader *reader, struct op_builder *op)
{
    return reader_expect_word(reader, "across") && form_key(reader, "dimensions") &&
           form_ints(reader, op, "dimensions") && form_functional_end(reader, op);
}

/* applies stablehlo.add across …: the region is that one op, on two scalars, where the reduction
 * is. */
static bool read_reduce_of_op(struct reader *reader, struct op_builder *op)
{
    static const char *const known[] = {
        "stablehlo.add", "stablehlo.multiply", "stablehlo.maximum", "stablehlo.minimum",
        "stablehlo.and", "stablehlo.or",       "stablehlo.xor"};
    reader_skip(reader);
    const char *at = reader->at;
    struct span name = reader_word(reader);
    bool is_known = false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        is_known = is_known || span_is(name, known[i]);
    }
    if (!is_known) {
        return reader_fail(reader, at,
                           "'%.*s' is no commutative op of two operands that a "
                           "reduction can apply",
                           (int)name.size, name.data);
    }
    if (op->operand_count != 2) {
        return reader_fail(reader, at, "only the reduction of one operand can apply an op");
    }
    if (!read_reduce_dimensions(reader, op)) {
        return false;
    }
    const struct mlir_type *type = op->operands[0]->type;
    if (type == NULL || type->element == NULL) {
        return reader_fail(reader, op->operand_places[0], "what is reduced is no tensor");
    }
    type = mlir_shaped(reader->file, MLIR_TENSOR, type->element, 0, NULL, NULL);
    const struct mlir_type *const types[] = {type, type};
    if (!reader_location(reader, &op->location) ||
        !builder_region_of_op(reader, op, at, name, 2, types, 1, types, "stablehlo.return")) {
        return false;
    }
    const struct mlir_block *block = op->regions[0]->blocks[0];
    for (int i = 0; i < block->count; i++) {
        block->ops[i]->location = op->location;
    }
    return true;
}

/* reducer(%a: type, %b: type) (%c: type, %d: type) {…}: the region's arguments are a, c, b, d. */
static bool read_reducer(struct reader *reader, struct op_builder *op)
{
    struct argument_list firsts = {0}, seconds = {0};
    if (!reader_expect_word(reader, "reducer")) {
        return false;
    }
    while (reader_accept(reader, '(')) {
        if (!form_argument(reader, form_argument_add(reader, &firsts)) ||
            !reader_expect(reader, ',') ||
            !form_argument(reader, form_argument_add(reader, &seconds)) ||
            !reader_expect(reader, ')')) {
            return false;
        }
    }
    for (int i = 0; i < seconds.count; i++) {
        *form_argument_add(reader, &firsts) = seconds.arguments[i];
    }
    return reader_region(reader, op, firsts.count, firsts.arguments);
}

/* (%a init: %b), … applies stablehlo.add across dimensions = [0] : (types) -> types, or
 * (%a init: %b), … across dimensions = [0] : (types) -> types reducer(…) {…} */
bool form_reduce(struct reader *reader, struct op_builder *op)
{
    if (!read_reduce_operands(reader, op)) {
        return false;
    }
    if (reader_accept_word(reader, "applies")) {
        return read_reduce_of_op(reader, op);
    }
    return read_reduce_dimensions(reader, op) && read_reducer(reader, op);
}

/* array<i32: a, b> */
static struct mlir_attr *segments(struct reader *reader, int a, int b)
{
    const int64_t values[] = {a, b};
    struct mlir_attr *attr = mlir_attr_ints(reader->file, 2, values);
    attr->type = mlir_integer(reader->file, 32, MLIR_SIGNLESS);
    return attr;
}

/* (%a, …) inits (%b, …) dimension=0 attributes {…} {region} : (types) -> types */
bool form_chlo_scan(struct reader *reader, struct op_builder *op)
{
    if (!reader_operands_in_parens(reader, op) || !reader_expect_word(reader, "inits")) {
        return false;
    }
    int inputs = op->operand_count;
    if (!reader_operands_in_parens(reader, op) || !form_key(reader, "dimension") ||
        !form_int(reader, op, "dimension", 64) || !reader_attributes_keyword(reader, &op->attrs) ||
        !reader_region(reader, op, 0, NULL)) {
        return false;
    }
    reader_skip(reader);
    const char *at = reader->at;
    if (!reader_functional_type(reader, op)) {
        return false;
    }
    int carries = op->operand_count - inputs;
    if (op->results.count < carries) {
        return reader_fail(reader, at, "%d results, but %d values are carried", op->results.count,
                           carries);
    }
    builder_set(reader, op, "operandSegmentSizes", segments(reader, inputs, carries));
    builder_set(reader, op, "resultSegmentSizes",
                segments(reader, op->results.count - carries, carries));
    return true;
}

/* (%a, k = 4, is_stable = true) : type -> (type, type); is_stable is optional */
bool form_chlo_top_k(struct reader *reader, struct op_builder *op)
{
    if (!reader_expect(reader, '(') || !form_operands(reader, op, 1) ||
        !form_comma_key(reader, "k") || !form_int(reader, op, "k", 64)) {
        return false;
    }
    if (reader_accept(reader, ',')) {
        bool is_stable;
        if (!form_key(reader, "is_stable") || !reader_bool(reader, &is_stable)) {
            return false;
        }
        builder_set(reader, op, "is_stable", reader_attr_bool(reader, is_stable));
    }
    const struct mlir_type *type;
    if (!reader_expect(reader, ')') || !form_type_end(reader, op, &type) ||
        !builder_operand_type(reader, op, 0, type) || !reader_expect_text(reader, "->")) {
        return false;
    }
    return reader_types_or_parens(reader, &op->results);
}
