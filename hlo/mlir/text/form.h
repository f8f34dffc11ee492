/* What the short forms of ops share: the pieces that many of them are made of.
 *
 * A form reads what the assemblyFormat of its op says (StablehloOps.td, ChloOps.td, CheckOps.td,
 * InterpreterOps.td, sdy's ops.td, FuncOps.td, ShapeOps.td, ArithOps.td, TensorOps.td), and leaves
 * in the builder the attributes that the op's generic form has. */
#ifndef HLO_MLIR_TEXT_FORM_H
#define HLO_MLIR_TEXT_FORM_H

#include "hlo/mlir/text/reader.h"

/* Exactly `count` operands, with commas between them. */
bool form_operands(struct reader *reader, struct op_builder *op, int count);
/* word = */
bool form_key(struct reader *reader, const char *word);
/* , word = */
bool form_comma_key(struct reader *reader, const char *word);
/* An integer without its type, as attribute `key` of type i64 (width 64) or i32. */
bool form_int(struct reader *reader, struct op_builder *op, const char *key, int width);
/* [1, 2], or the alias of an attribute, as attribute `key`: array<i64: 1, 2>. */
bool form_ints(struct reader *reader, struct op_builder *op, const char *key);
/* A word of an enumeration of StableHLO's: WORD, or #stablehlo<mnemonic WORD>. words: those that
 * there are, each zero-terminated, and an empty one. */
bool form_enum_value(struct reader *reader, const char *mnemonic, const char *words,
                     struct mlir_attr **attr);
/* The same, as attribute `key`. */
bool form_enum(struct reader *reader, struct op_builder *op, const char *mnemonic,
               const char *words, const char *key);
/* A string, as attribute `key`. */
bool form_string(struct reader *reader, struct op_builder *op, const char *key);
/* {attributes} : (types) -> types, the attributes optional: how most forms end. */
bool form_functional_end(struct reader *reader, struct op_builder *op);
/* The same, but a single type instead of the function's is that of all operands and of the one
 * result. */
bool form_same_type_end(struct reader *reader, struct op_builder *op);
/* {attributes}, ":", and if "(" follows all of a functional type: then the op is complete, and
 * *functional the place of the types; else NULL. */
bool form_colon(struct reader *reader, struct op_builder *op, const char **functional);
/* {attributes} : type, the attributes optional; the type is not yet anybody's. */
bool form_type_end(struct reader *reader, struct op_builder *op, const struct mlir_type **type);
/* Growing list of the arguments of a region; zero it (= {0}) first. Its memory is the arena's. */
struct argument_list {
    int count, capacity;
    struct reader_argument *arguments;
};
struct reader_argument *form_argument_add(struct reader *reader, struct argument_list *list);
/* %name: type loc(…); the location is optional. */
bool form_argument(struct reader *reader, struct reader_argument *argument);
/* head, body and tail together, as an attribute that is kept as text. */
struct mlir_attr *form_text(struct reader *reader, const char *head, struct span body,
                            const char *tail);

#endif
