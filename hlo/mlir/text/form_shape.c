/* Short forms of shape, arith and tensor. Most of their ops have those of form_elementwise.c. */
#include "hlo/mlir/text/form.h"

/* Ops of `shape` whose one result's type is not written. */
static const char *unwritten_result(enum mlir_opcode opcode)
{
    switch (opcode) {
    case MLIR_OP_SHAPE_FROM_EXTENTS:
        return "!shape.shape";
    case MLIR_OP_SHAPE_CSTR_BROADCASTABLE:
        return "!shape.witness";
    case MLIR_OP_SHAPE_INDEX_TO_SIZE:
    case MLIR_OP_SHAPE_CONST_SIZE:
        return "!shape.size";
    default:
        return NULL;
    }
}

static void add_unwritten_result(struct reader *reader, struct op_builder *op)
{
    const char *name = unwritten_result(op->opcode);
    builder_result(reader, op,
                   name == NULL ? mlir_index(reader->file)
                                : mlir_other_type(reader->file, name, strlen(name)));
}

/* %a, %b : type, type; the result's type goes without saying */
bool form_shape_operands(struct reader *reader, struct op_builder *op)
{
    struct reader_types types = {0};
    if (!reader_operands(reader, op) || !reader_attr_dict(reader, &op->attrs) ||
        !reader_expect(reader, ':') || (op->operand_count > 0 && !reader_types(reader, &types)) ||
        !builder_operand_types(reader, op, 0, &types)) {
        return false;
    }
    add_unwritten_result(reader, op);
    return true;
}

/* %index, of no other type */
bool form_shape_index_to_size(struct reader *reader, struct op_builder *op)
{
    if (!form_operands(reader, op, 1) || !reader_attr_dict(reader, &op->attrs) ||
        !builder_operand_type(reader, op, 0, mlir_index(reader->file))) {
        return false;
    }
    add_unwritten_result(reader, op);
    return true;
}

/* 10 */
bool form_shape_const_size(struct reader *reader, struct op_builder *op)
{
    int64_t value;
    if (!reader_int(reader, &value) || !reader_attr_dict(reader, &op->attrs)) {
        return false;
    }
    builder_set(reader, op, "value", mlir_attr_int(reader->file, value, mlir_index(reader->file)));
    add_unwritten_result(reader, op);
    return true;
}

/* {attributes} [2, 3] : type, as dense<[2, 3]> : tensor<2xindex> */
bool form_shape_const_shape(struct reader *reader, struct op_builder *op)
{
    struct ints ints;
    const struct mlir_type *type;
    if (!reader_attr_dict(reader, &op->attrs) || !reader_int_list(reader, '[', ']', &ints) ||
        !reader_expect(reader, ':') || !reader_type(reader, &type)) {
        return false;
    }
    const int64_t size = ints.count;
    struct mlir_attr *shape = mlir_attr_new(reader->file, MLIR_ATTR_DENSE);
    shape->type = mlir_shaped(reader->file, MLIR_TENSOR, mlir_index(reader->file), 1, &size, NULL);
    shape->dense.data = arena_copy(&reader->file->arena, ints.count > 0 ? ints.values : &size,
                                   (size_t)(ints.count > 0 ? ints.count : 1) * sizeof size);
    shape->dense.count = size;
    builder_set(reader, op, "shape", shape);
    builder_result(reader, op, type);
    return true;
}

/* The region ends with shape.assuming_yield, which may be left unsaid when it yields nothing. */
static void end_assuming(struct reader *reader, struct op_builder *op)
{
    static const char name[] = "shape.assuming_yield";
    struct mlir_region *region = op->regions[0];
    struct mlir_block *block =
        region->count > 0 ? region->blocks[0] : mlir_block_add(reader->file, region, 0);
    if (block->count > 0 && block->ops[block->count - 1]->opcode == MLIR_OP_SHAPE_ASSUMING_YIELD) {
        return;
    }
    struct mlir_op **ops = arena_array(&reader->file->arena, (size_t)block->count + 1, sizeof *ops);
    if (block->count > 0) {
        memcpy(ops, block->ops, (size_t)block->count * sizeof *ops);
    }
    struct mlir_op *yield = mlir_op_new(reader->file, name, sizeof name - 1, 0, 0, 0);
    reader_place(reader, op->at, &yield->line, &yield->column);
    ops[block->count] = yield;
    mlir_block_set_ops(reader->file, block, block->count + 1, ops);
}

/* %witness -> (types) {region} {attributes}; the types are optional */
bool form_shape_assuming(struct reader *reader, struct op_builder *op)
{
    static const char witness[] = "!shape.witness";
    if (!form_operands(reader, op, 1) ||
        !builder_operand_type(reader, op, 0,
                              mlir_other_type(reader->file, witness, sizeof witness - 1)) ||
        (reader_accept_text(reader, "->") && !reader_types_or_parens(reader, &op->results)) ||
        !reader_region(reader, op, 0, NULL)) {
        return false;
    }
    if (op->results.count == 0) {
        end_assuming(reader, op);
    }
    return reader_attr_dict(reader, &op->attrs);
}

/* overflow<nsw, nuw>; optional. Some ops always have the attribute. */
static bool read_overflow(struct reader *reader, struct op_builder *op)
{
    static const char none[] = "#arith.overflow<none>";
    struct mlir_attr *flags;
    if (reader_accept_word(reader, "overflow")) {
        if (!reader_dialect_body(reader, "arith", "overflow", &flags)) {
            return false;
        }
    } else if (op->opcode == MLIR_OP_ARITH_ADDI || op->opcode == MLIR_OP_ARITH_SUBI ||
               op->opcode == MLIR_OP_ARITH_MULI || op->opcode == MLIR_OP_ARITH_TRUNCI) {
        flags = reader_text_attr(reader, none, sizeof none - 1);
    } else {
        return true;
    }
    builder_set(reader, op, "overflowFlags", flags);
    return true;
}

/* %a, %b overflow<nsw, nuw> {attributes} : type; the overflow is optional */
bool form_arith_binary(struct reader *reader, struct op_builder *op)
{
    const struct mlir_type *type;
    if (!form_operands(reader, op, 2) || !read_overflow(reader, op) ||
        !form_type_end(reader, op, &type) || !builder_operands_same_type(reader, op, type)) {
        return false;
    }
    builder_result(reader, op, type);
    return true;
}

/* %a overflow<nsw> {attributes} : type to type; the overflow is optional */
bool form_cast(struct reader *reader, struct op_builder *op)
{
    const struct mlir_type *from, *to;
    if (!form_operands(reader, op, 1) || !read_overflow(reader, op) ||
        !form_type_end(reader, op, &from) || !builder_operand_type(reader, op, 0, from) ||
        !reader_expect_word(reader, "to") || !reader_type(reader, &to)) {
        return false;
    }
    builder_result(reader, op, to);
    return true;
}

/* i1, or a tensor or vector of it that has the type's shape. */
static const struct mlir_type *predicate_type(struct reader *reader, const struct mlir_type *type)
{
    const struct mlir_type *bit = mlir_integer(reader->file, 1, MLIR_SIGNLESS);
    if (type->kind != MLIR_TENSOR && type->kind != MLIR_UNRANKED && type->kind != MLIR_VECTOR) {
        return bit;
    }
    return mlir_shaped(reader->file, type->kind, bit, type->rank, type->sizes, type->encoding);
}

/* slt, %a, %b : type */
bool form_arith_cmpi(struct reader *reader, struct op_builder *op)
{
    static const char *const words[] = {"eq",  "ne",  "slt", "sle", "sgt",
                                        "sge", "ult", "ule", "ugt", "uge"};
    enum { WORDS = sizeof words / sizeof *words };
    struct span word;
    if (!reader_expect_any_word(reader, &word, "a predicate")) {
        return false;
    }
    int i = 0;
    while (i < WORDS && !span_is(word, words[i])) {
        i++;
    }
    if (i == WORDS) {
        return reader_fail(reader, word.data, "'%.*s' is no predicate", (int)word.size, word.data);
    }
    builder_set(reader, op, "predicate",
                mlir_attr_int(reader->file, i, mlir_integer(reader->file, 64, MLIR_SIGNLESS)));
    const struct mlir_type *type;
    if (!reader_expect(reader, ',') || !form_operands(reader, op, 2) ||
        !form_type_end(reader, op, &type) || !builder_operands_same_type(reader, op, type)) {
        return false;
    }
    builder_result(reader, op, predicate_type(reader, type));
    return true;
}

/* %p, %a, %b : type, where %p is an i1; or : type of %p, type */
bool form_arith_select(struct reader *reader, struct op_builder *op)
{
    const struct mlir_type *type, *predicate = mlir_integer(reader->file, 1, MLIR_SIGNLESS);
    if (!form_operands(reader, op, 3) || !form_type_end(reader, op, &type)) {
        return false;
    }
    if (reader_accept(reader, ',')) {
        predicate = type;
        if (!reader_type(reader, &type)) {
            return false;
        }
    }
    if (!builder_operand_type(reader, op, 0, predicate) ||
        !builder_operand_type(reader, op, 1, type) || !builder_operand_type(reader, op, 2, type)) {
        return false;
    }
    builder_result(reader, op, type);
    return true;
}

/* {attributes} %a, %dimension : type of %a */
bool form_tensor_dim(struct reader *reader, struct op_builder *op)
{
    const struct mlir_type *type, *index = mlir_index(reader->file);
    if (!reader_attr_dict(reader, &op->attrs) || !form_operands(reader, op, 2) ||
        !reader_expect(reader, ':') || !reader_type(reader, &type) ||
        !builder_operand_type(reader, op, 0, type) || !builder_operand_type(reader, op, 1, index)) {
        return false;
    }
    builder_result(reader, op, index);
    return true;
}

/* Is it a tensor? Its elements' type, then; else an error. */
static bool element_type(struct reader *reader, const char *at, const struct mlir_type *type,
                         const struct mlir_type **element)
{
    *element = type->element;
    return type->kind == MLIR_TENSOR || reader_fail(reader, at, "this type is a tensor's");
}

/* Any operands : the result's type; they have its element's */
bool form_tensor_from_elements(struct reader *reader, struct op_builder *op)
{
    const struct mlir_type *type, *element;
    if (!reader_operands(reader, op) || !reader_attr_dict(reader, &op->attrs) ||
        !reader_expect(reader, ':')) {
        return false;
    }
    reader_skip(reader);
    const char *at = reader->at;
    if (!reader_type(reader, &type) || !element_type(reader, at, type, &element) ||
        !builder_operands_same_type(reader, op, element)) {
        return false;
    }
    builder_result(reader, op, type);
    return true;
}

/* %a[%i, %j] : type of %a */
bool form_tensor_extract(struct reader *reader, struct op_builder *op)
{
    const struct mlir_type *type, *element;
    if (!form_operands(reader, op, 1) || !reader_expect(reader, '[') ||
        !reader_operands(reader, op) || !reader_expect(reader, ']') ||
        !reader_attr_dict(reader, &op->attrs) || !reader_expect(reader, ':')) {
        return false;
    }
    reader_skip(reader);
    const char *at = reader->at;
    if (!reader_type(reader, &type) || !element_type(reader, at, type, &element) ||
        !builder_operand_type(reader, op, 0, type)) {
        return false;
    }
    for (int i = 1; i < op->operand_count; i++) {
        if (!builder_operand_type(reader, op, i, mlir_index(reader->file))) {
            return false;
        }
    }
    builder_result(reader, op, element);
    return true;
}

/* %a, %b : type, type to type, type {attributes}; or : to type */
bool form_conversion_cast(struct reader *reader, struct op_builder *op)
{
    struct reader_types types = {0};
    if (!reader_operands(reader, op) ||
        (op->operand_count > 0 && (!reader_expect(reader, ':') || !reader_types(reader, &types))) ||
        !builder_operand_types(reader, op, 0, &types)) {
        return false;
    }
    return reader_expect_word(reader, "to") && reader_types(reader, &op->results) &&
           reader_attr_dict(reader, &op->attrs);
}
