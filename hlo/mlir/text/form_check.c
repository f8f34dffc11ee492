/* Short forms of the dialects that StableHLO's own tests use: check and interpreter. */
#include "hlo/mlir/text/form.h"

/* A number as attribute `key` of that type. Some producers write its type behind it, too. */
static bool read_number(struct reader *reader, struct op_builder *op, const char *key,
                        const struct mlir_type *type, const char *type_name)
{
    struct mlir_attr *attr;
    if (!reader_attr_of_type(reader, type, &attr)) {
        return false;
    }
    builder_set(reader, op, key, attr);
    reader_skip(reader);
    const char *behind = reader->at;
    if (!reader_accept(reader, ':') || !reader_accept_word(reader, type_name)) {
        reader->at = behind;
    }
    return true;
}

/* , word = number; optional */
static bool read_optional_number(struct reader *reader, struct op_builder *op, const char *word,
                                 const char *key, const struct mlir_type *type,
                                 const char *type_name)
{
    return !reader_accept(reader, ',') ||
           (form_key(reader, word) && read_number(reader, op, key, type, type_name));
}

/* , tolerance = 0.1; optional */
static bool read_tolerance(struct reader *reader, struct op_builder *op)
{
    return read_optional_number(reader, op, "tolerance", "tolerance",
                                mlir_float(reader->file, "f64", 3), "f64");
}

/* {attributes} : type of all operands */
static bool read_end(struct reader *reader, struct op_builder *op)
{
    const struct mlir_type *type;
    return form_type_end(reader, op, &type) && builder_operands_same_type(reader, op, type);
}

/* %a, %b : type; or %a, %b, tolerance = 0.1 : type */
static bool read_operands(struct reader *reader, struct op_builder *op)
{
    return form_operands(reader, op, 2) &&
           (op->opcode == MLIR_OP_CHECK_EXPECT_EQ || read_tolerance(reader, op)) &&
           read_end(reader, op);
}

/* %a, dense<…> : type; or %a, dense<…> : type, tolerance = 0.1 */
static bool read_const(struct reader *reader, struct op_builder *op)
{
    struct mlir_attr *value;
    if (!form_operands(reader, op, 1) || !reader_expect(reader, ',')) {
        return false;
    }
    reader_skip(reader);
    const char *at = reader->at;
    if (!reader_attr(reader, &value)) {
        return false;
    }
    if (value->kind != MLIR_ATTR_DENSE && value->kind != MLIR_ATTR_RESOURCE) {
        return reader_fail(reader, at, "what is expected is dense<…>");
    }
    builder_set(reader, op, "value", value);
    return builder_operand_type(reader, op, 0, value->type) &&
           (op->opcode == MLIR_OP_CHECK_EXPECT_EQ_CONST || read_tolerance(reader, op)) &&
           reader_attr_dict(reader, &op->attrs);
}

/* %a, %b, max_ulp_difference = 3, min_ulp_difference = 0 : {attributes} type, type */
static bool read_close(struct reader *reader, struct op_builder *op)
{
    const struct mlir_type *ui64 = mlir_integer(reader->file, 64, MLIR_UNSIGNED);
    struct reader_types types = {0};
    return form_operands(reader, op, 2) && form_comma_key(reader, "max_ulp_difference") &&
           read_number(reader, op, "max_ulp_difference", ui64, "ui64") &&
           read_optional_number(reader, op, "min_ulp_difference", "min_ulp_difference", ui64,
                                "ui64") &&
           reader_expect(reader, ':') && reader_attr_dict(reader, &op->attrs) &&
           reader_types(reader, &types) && builder_operand_types(reader, op, 0, &types);
}

/* %a, probe_id = "name", iter = 0 : type; iter is optional */
static bool read_serialized(struct reader *reader, struct op_builder *op)
{
    return form_operands(reader, op, 1) && form_comma_key(reader, "probe_id") &&
           form_string(reader, op, "probe_id") &&
           read_optional_number(reader, op, "iter", "iteration",
                                mlir_integer(reader->file, 32, MLIR_UNSIGNED), "ui32") &&
           read_end(reader, op);
}

bool form_check(struct reader *reader, struct op_builder *op)
{
    switch (op->opcode) {
    case MLIR_OP_CHECK_EXPECT_EQ_CONST:
    case MLIR_OP_CHECK_EXPECT_ALMOST_EQ_CONST:
        return read_const(reader, op);
    case MLIR_OP_CHECK_EXPECT_CLOSE:
        return read_close(reader, op);
    case MLIR_OP_CHECK_EXPECT_SERIALIZED_EQ:
        return read_serialized(reader, op);
    default:
        return read_operands(reader, op);
    }
}

/* interpreter.probe %a, probe_id = "name" : type, which the result has, too;
 * interpreter.print %a : type */
bool form_probe(struct reader *reader, struct op_builder *op)
{
    bool is_probe = op->opcode == MLIR_OP_INTERPRETER_PROBE;
    const struct mlir_type *type;
    if (!form_operands(reader, op, 1) ||
        (is_probe &&
         (!form_comma_key(reader, "probe_id") || !form_string(reader, op, "probe_id"))) ||
        !form_type_end(reader, op, &type) || !builder_operand_type(reader, op, 0, type)) {
        return false;
    }
    if (is_probe) {
        builder_result(reader, op, type);
    }
    return true;
}
