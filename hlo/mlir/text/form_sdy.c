/* Short forms of Shardy. Its attributes are kept as text: "#sdy.sharding<…>" (sdy_text.c). */
#include "hlo/mlir/text/form.h"

/* <…> as attribute `key`: #sdy.mnemonic<…>. */
static bool read_body(struct reader *reader, struct op_builder *op, const char *mnemonic,
                      const char *key)
{
    struct mlir_attr *attr;
    if (reader_peek(reader) == '#') {
        if (!reader_attr(reader, &attr)) {
            return false;
        }
    } else if (!reader_dialect_body(reader, "sdy", mnemonic, &attr)) {
        return false;
    }
    builder_set(reader, op, key, attr);
    return true;
}

/* What is between the next brackets, with `head` before and `tail` behind, as attribute `key`. */
static bool read_list(struct reader *reader, struct op_builder *op, char open, const char *head,
                      const char *tail, const char *key)
{
    struct span body;
    if (reader_peek(reader) != open) {
        const char what[] = {'\'', open, '\'', '\0'};
        return reader_expected(reader, what);
    }
    if (!reader_balanced(reader, &body)) {
        return false;
    }
    builder_set(reader, op, key, form_text(reader, head, body, tail));
    return true;
}

/* [<…>, <…>] as attribute `key`. */
static bool read_shardings(struct reader *reader, struct op_builder *op, const char *key)
{
    return read_list(reader, op, '[', "#sdy.sharding_per_value<", ">", key);
}

/* @name = <…> */
bool form_sdy_mesh(struct reader *reader, struct op_builder *op)
{
    struct bytes name;
    if (!reader_symbol_name(reader, &name)) {
        return false;
    }
    builder_set(reader, op, "sym_name", mlir_attr_string(reader->file, name.data, name.size));
    return reader_expect(reader, '=') && read_body(reader, op, "mesh", "mesh") &&
           reader_attr_dict(reader, &op->attrs);
}

/* {attributes} : type of the operand and of the result */
static bool read_end(struct reader *reader, struct op_builder *op)
{
    const struct mlir_type *type;
    if (!form_type_end(reader, op, &type) || !builder_operand_type(reader, op, 0, type)) {
        return false;
    }
    builder_result(reader, op, type);
    return true;
}

/* %a <@mesh, […]> : type */
bool form_sdy_sharding(struct reader *reader, struct op_builder *op)
{
    return form_operands(reader, op, 1) && read_body(reader, op, "sharding", "sharding") &&
           read_end(reader, op);
}

/* %a sharding=<@mesh, […]> : type; the sharding is optional */
bool form_sdy_data_flow_edge(struct reader *reader, struct op_builder *op)
{
    return form_operands(reader, op, 1) &&
           (!reader_accept_word(reader, "sharding") ||
            (reader_expect(reader, '=') && read_body(reader, op, "sharding", "sharding"))) &&
           read_end(reader, op);
}

/* %a group_id=21 : type */
bool form_sdy_sharding_group(struct reader *reader, struct op_builder *op)
{
    const struct mlir_type *type;
    return form_operands(reader, op, 1) && form_key(reader, "group_id") &&
           form_int(reader, op, "group_id", 64) && form_type_end(reader, op, &type) &&
           builder_operand_type(reader, op, 0, type);
}

/* A word of an enumeration, as attribute `key`: its number, of type i32. */
static bool set_word_number(struct reader *reader, struct op_builder *op, struct span word,
                            const char *words, const char *key)
{
    int64_t number = 0;
    for (const char *known = words; *known != '\0'; known += strlen(known) + 1, number++) {
        if (span_is(word, known)) {
            const struct mlir_type *i32 = mlir_integer(reader->file, 32, MLIR_SIGNLESS);
            builder_set(reader, op, key, mlir_attr_int(reader->file, number, i32));
            return true;
        }
    }
    return reader_fail(reader, word.data, "'%.*s' is no %s", (int)word.size, word.data, key);
}

/* %a allowed_direction=FORWARD : type */
bool form_sdy_propagation_barrier(struct reader *reader, struct op_builder *op)
{
    static const char directions[] = "NONE\0FORWARD\0BACKWARD\0BOTH\0";
    struct span word;
    return form_operands(reader, op, 1) && form_key(reader, "allowed_direction") &&
           reader_expect_any_word(reader, &word, "a direction") &&
           set_word_number(reader, op, word, directions, "allowed_direction") &&
           read_end(reader, op);
}

/* The ops whose axes stand before the operand. */
static const struct collective {
    enum mlir_opcode opcode;
    char open;
    const char *key, *head;
} collectives[] = {
    {MLIR_OP_SDY_ALL_GATHER, '[', "gathering_axes", "#sdy<list_of_axis_ref_lists"},
    {MLIR_OP_SDY_ALL_SLICE, '[', "slicing_axes", "#sdy<list_of_axis_ref_lists"},
    {MLIR_OP_SDY_ALL_TO_ALL, '[', "params", "#sdy<all_to_all_param_list"},
    {MLIR_OP_SDY_ALL_REDUCE, '{', "reduction_axes", "#sdy<axis_ref_list"},
    {MLIR_OP_SDY_REDUCE_SCATTER, '[', "reduce_scatter_axes", "#sdy<list_of_axis_ref_lists"},
    {MLIR_OP_SDY_SHARDED_TO_UNREDUCED, '[', "axes", "#sdy<list_of_axis_ref_lists"},
    {MLIR_OP_SDY_REPLICATED_TO_UNREDUCED, '{', "axes", "#sdy<axis_ref_list"},
};

/* sum [{"a"}, {}] %a out_sharding=<@mesh, […]> : type. Only reductions may have the word, and only
 * some ops have axes. */
bool form_sdy_collective(struct reader *reader, struct op_builder *op)
{
    static const char reductions[] = "sum\0max\0min\0";
    if (op->opcode == MLIR_OP_SDY_ALL_REDUCE || op->opcode == MLIR_OP_SDY_REDUCE_SCATTER) {
        reader_skip(reader);
        struct span word = reader_keyword(reader);
        if (word.size > 0 && !set_word_number(reader, op, word, reductions, "reduction_op")) {
            return false;
        }
    }
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++) {
        const struct collective *collective = &collectives[i];
        if (collective->opcode == op->opcode &&
            !read_list(reader, op, collective->open, collective->head, ">", collective->key)) {
            return false;
        }
    }
    return form_operands(reader, op, 1) && form_key(reader, "out_sharding") &&
           read_body(reader, op, "sharding", "out_sharding") && read_end(reader, op);
}

/* (%a: type, …) {…} */
static bool read_region(struct reader *reader, struct op_builder *op)
{
    struct argument_list list = {0};
    if (!reader_expect(reader, '(')) {
        return false;
    }
    bool more = !reader_accept(reader, ')');
    while (more) {
        if (!form_argument(reader, form_argument_add(reader, &list))) {
            return false;
        }
        more = reader_accept(reader, ',');
        if (!more && !reader_expect(reader, ')')) {
            return false;
        }
    }
    return reader_region(reader, op, list.count, list.arguments);
}

/* (%a, …) in_shardings=[…] out_shardings=[…] manual_axes={…} (%b: type, …) {…} : (types) -> types
 */
bool form_sdy_manual_computation(struct reader *reader, struct op_builder *op)
{
    return reader_operands_in_parens(reader, op) && form_key(reader, "in_shardings") &&
           read_shardings(reader, op, "in_shardings") && form_key(reader, "out_shardings") &&
           read_shardings(reader, op, "out_shardings") && form_key(reader, "manual_axes") &&
           read_list(reader, op, '{', "#sdy<manual_axes", ">", "manual_axes") &&
           read_region(reader, op) && form_functional_end(reader, op);
}

/* <"name">(%a, …) in_shardings=[…] out_shardings=[…] (%b: type, …) {…} : (types) -> types; the
 * shardings are optional */
bool form_sdy_named_computation(struct reader *reader, struct op_builder *op)
{
    static const char *const words[] = {"in_shardings", "out_shardings"};
    if (!reader_expect(reader, '<') || !form_string(reader, op, "name") ||
        !reader_expect(reader, '>') || !reader_operands_in_parens(reader, op)) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        if (reader_accept_word(reader, words[i]) &&
            (!reader_expect(reader, '=') || !read_shardings(reader, op, words[i]))) {
            return false;
        }
    }
    return read_region(reader, op) && form_functional_end(reader, op);
}
