/* Short forms of elementwise ops, and of those that differ from them by a word or two. */
#include "hlo/mlir/text/form.h"

/* %a : type, or : (type) -> type */
bool form_unary(struct reader *reader, struct op_builder *op)
{
    return form_operands(reader, op, 1) && form_same_type_end(reader, op);
}

/* %a, %b : type, or : (type, type) -> type */
bool form_binary(struct reader *reader, struct op_builder *op)
{
    return form_operands(reader, op, 2) && form_same_type_end(reader, op);
}

/* %a, %b, %c : type, or : (type, type, type) -> type */
bool form_ternary(struct reader *reader, struct op_builder *op)
{
    return form_operands(reader, op, 3) && form_same_type_end(reader, op);
}

/* Any operands, even none : type, or : (types) -> type */
bool form_variadic_same_type(struct reader *reader, struct op_builder *op)
{
    return reader_operands(reader, op) && form_same_type_end(reader, op);
}

/* Any operands : (types) -> types */
bool form_functional(struct reader *reader, struct op_builder *op)
{
    return reader_operands(reader, op) && form_functional_end(reader, op);
}

/* Any operands : types -> type or (types) */
bool form_arrow(struct reader *reader, struct op_builder *op)
{
    struct reader_types types = {0};
    return reader_operands(reader, op) && reader_attr_dict(reader, &op->attrs) &&
           reader_expect(reader, ':') && reader_types(reader, &types) &&
           builder_operand_types(reader, op, 0, &types) && reader_expect_text(reader, "->") &&
           reader_types_or_parens(reader, &op->results);
}

/* No operands : type */
bool form_nullary(struct reader *reader, struct op_builder *op)
{
    const struct mlir_type *type;
    if (!form_type_end(reader, op, &type)) {
        return false;
    }
    builder_result(reader, op, type);
    return true;
}

/* {attributes} %a, %b : type, type, which the results have, too; or {attributes} () */
bool form_pairwise(struct reader *reader, struct op_builder *op)
{
    if (!reader_attr_dict(reader, &op->attrs)) {
        return false;
    }
    if (reader_accept(reader, '(')) {
        return reader_expect(reader, ')');
    }
    struct reader_types types = {0};
    if (!reader_operands(reader, op) || !reader_expect(reader, ':') ||
        !reader_types(reader, &types) || !builder_operand_types(reader, op, 0, &types)) {
        return false;
    }
    builder_results(reader, op, &types);
    return true;
}

/* The type with its element, which must be complex, replaced by that one's part. */
static const struct mlir_type *real_type(struct reader *reader, const struct mlir_type *type)
{
    if ((type->kind != MLIR_TENSOR && type->kind != MLIR_UNRANKED) ||
        type->element->kind != MLIR_COMPLEX) {
        return NULL;
    }
    return mlir_shaped(reader->file, type->kind, type->element->element, type->rank, type->sizes,
                       type->encoding);
}

/* %re, %im : tensor<complex>, or : (type, type) -> type */
bool form_complex(struct reader *reader, struct op_builder *op)
{
    const char *functional;
    if (!form_operands(reader, op, 2) || !form_colon(reader, op, &functional)) {
        return false;
    }
    if (functional != NULL) {
        return true;
    }
    const char *at = reader->at;
    const struct mlir_type *type;
    if (!reader_type(reader, &type)) {
        return false;
    }
    const struct mlir_type *real = real_type(reader, type);
    if (real == NULL) {
        return reader_fail(reader, at, "the result is a tensor of complex elements");
    }
    builder_result(reader, op, type);
    return builder_operands_same_type(reader, op, real);
}

/* EQ, %a, %b, FLOAT : (type, type) -> type; the last word is optional */
bool form_compare(struct reader *reader, struct op_builder *op)
{
    static const char directions[] = "EQ\0NE\0GE\0GT\0LE\0LT\0";
    static const char types[] = "NOTYPE\0FLOAT\0TOTALORDER\0SIGNED\0UNSIGNED\0";
    return form_enum(reader, op, "comparison_direction", directions, "comparison_direction") &&
           reader_expect(reader, ',') && form_operands(reader, op, 2) &&
           (!reader_accept(reader, ',') ||
            form_enum(reader, op, "comparison_type", types, "compare_type")) &&
           form_functional_end(reader, op);
}

/* %p, %a, %b : type of %p, type of the others and of the result; or : (types) -> type */
bool form_select(struct reader *reader, struct op_builder *op)
{
    const char *functional;
    if (!form_operands(reader, op, 3) || !form_colon(reader, op, &functional)) {
        return false;
    }
    if (functional != NULL) {
        return true;
    }
    const struct mlir_type *predicate, *type;
    if (!reader_type(reader, &predicate) || !reader_expect(reader, ',') ||
        !reader_type(reader, &type) || !builder_operand_type(reader, op, 0, predicate) ||
        !builder_operand_type(reader, op, 1, type) || !builder_operand_type(reader, op, 2, type)) {
        return false;
    }
    builder_result(reader, op, type);
    return true;
}

/* The digits at text[*at]; false when there are none, or too many for 32 bits. */
static bool read_digits(struct span text, size_t *at, int64_t *value)
{
    size_t begin = *at;
    *value = 0;
    while (*at < text.size && text.data[*at] >= '0' && text.data[*at] <= '9' && *at - begin < 10) {
        *value = *value * 10 + (text.data[*at] - '0');
        ++*at;
    }
    return *at > begin && *value <= INT32_MAX;
}

/* %a, format = e5m10 : type, or : (type) -> type */
bool form_reduce_precision(struct reader *reader, struct op_builder *op)
{
    struct span word;
    if (!form_operands(reader, op, 1) || !form_comma_key(reader, "format") ||
        !reader_expect_any_word(reader, &word, "a format like e5m10")) {
        return false;
    }
    int64_t exponent, mantissa;
    size_t at = 1;
    if (word.data[0] != 'e' || !read_digits(word, &at, &exponent) || at >= word.size ||
        word.data[at++] != 'm' || !read_digits(word, &at, &mantissa) || at != word.size) {
        return reader_fail(reader, word.data, "'%.*s' is no format like e5m10", (int)word.size,
                           word.data);
    }
    const struct mlir_type *i32 = mlir_integer(reader->file, 32, MLIR_SIGNLESS);
    builder_set(reader, op, "exponent_bits", mlir_attr_int(reader->file, exponent, i32));
    builder_set(reader, op, "mantissa_bits", mlir_attr_int(reader->file, mantissa, i32));
    return form_same_type_end(reader, op);
}
