/* Internal interface of the reader of MLIR text: the cursor, its tokens, and what builds an op.
 *
 * There are no token objects: a function asks for what may stand next. Every reading function skips
 * blanks and comments first. Functions that return bool are false on an error, which then is in
 * *reader->err with its place, and whoever called just passes false on; `reader_accept…` and
 * `reader_peek…` only ask, and never fail.
 *
 * The short form of an op is one function (form*.c):
 *
 *   bool form_compare(struct reader *reader, struct op_builder *op)
 *
 * It is called with the cursor behind the op's name and reads all of the op but for the trailing
 * loc(…), which the caller reads. It leaves in the builder
 *   - all operands, in order:           reader_operand(), reader_operands()
 *   - the types of all results:         builder_result(), builder_results()
 *   - attributes by today's names:      builder_set(), reader_attr_dict()
 *   - regions, in order:                reader_region()
 * and checks that operands have the types that are written (builder_operand_type(s)). The caller
 * checks that the results are as many as there are names before the "=", makes the op, gives its
 * results their names and resolves forward references. A form needs nothing else of the reader.
 * Example: `stablehlo.concatenate %a, %b, dim = 0 {x = 1} : (tensor<f32>, …) -> tensor<f32>` is
 *
 *   reader_operands(reader, op) && reader_expect(reader, ',') &&
 *   reader_expect_word(reader, "dim") && reader_expect(reader, '=') && reader_int(reader, &dim) &&
 *   reader_attr_dict(reader, &op->attrs) && reader_functional_type(reader, op)
 *
 * Sources: mlir/docs/LangRef.md; mlir/lib/AsmParser/{Lexer,Parser,TokenKinds}. */
#ifndef HLO_MLIR_TEXT_READER_H
#define HLO_MLIR_TEXT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/map.h"
#include "hlo/mlir/ir.h"
#include "hlo/text/lexer.h" /* struct span */

enum {
    /* Types, attributes and regions may nest so deep, those behind aliases included. Whoever walks
     * them may therefore recurse. */
    READER_MAX_DEPTH = 500,
    /* Locations behind aliases are chains as long as call stacks. */
    READER_MAX_LOCATION_DEPTH = 2000,
    READER_MAX_RANK = 256,
};
/* Types and attributes as many as there would be if every alias were written out. */
#define READER_MAX_NODES ((int64_t)1 << 26)

struct reader_scopes;     /* names of values: scopes.c */
struct reader_type_cache; /* types by their text: types.c */
struct reader_resources;  /* blobs: resources.c */

struct reader {
    struct mlir_file *file; /* what is made; its arena takes all that stays */
    const char *text, *end; /* *end is zero */
    const char *at;         /* the next character */
    int first_line;
    struct error *err;
    int depth, deepest; /* nesting now: reader_enter(); the deepest since whoever cleared it */
    int64_t nodes;      /* types and attributes so far, see READER_MAX_NODES */
    /* Lines are counted up to here. */
    const char *counted, *line_start;
    int line;
    struct reader_scopes *scopes;
    struct map aliases;   /* "#name" or "!name" → struct reader_alias: aliases.c */
    struct map locations; /* "#name" → struct reader_location_alias: locations.c */
    bool in_location_alias;
    struct reader_type_cache *type_cache;
    struct reader_resources *resources;
};

/* --- errors; all return false --- */

/* INVALID_ARGUMENT at that place of the text. */
bool reader_fail(struct reader *reader, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "expected <what>, found '<the next characters>'" at the cursor. */
bool reader_expected(struct reader *reader, const char *what);
/* The same with another code (UNIMPLEMENTED, RESOURCE_EXHAUSTED). */
bool reader_fail_code(struct reader *reader, enum error_code code, const char *at,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The line and column of a place; cheap when asked in rising order. */
void reader_place(struct reader *reader, const char *at, int *line, int *column);
/* Before and after what can nest: false (an error) where it is too deep. Types, attributes and
 * regions do it themselves. */
bool reader_enter(struct reader *reader);
static inline void reader_leave(struct reader *reader)
{
    reader->depth--;
}

/* --- characters and words --- */

void reader_skip_slowly(struct reader *reader);
/* To the next character that is no blank and no comment. */
static inline void reader_skip(struct reader *reader)
{
    if (*reader->at == ' ') {
        reader->at++;
    }
    if ((unsigned char)*reader->at <= ' ' || *reader->at == '/') {
        reader_skip_slowly(reader);
    }
}
/* The next character, '\0' at the end. */
static inline char reader_peek(struct reader *reader)
{
    reader_skip(reader);
    return *reader->at;
}
bool reader_at_end(struct reader *reader);
static inline bool reader_accept(struct reader *reader, char c)
{
    if (reader_peek(reader) != c) {
        return false;
    }
    reader->at++;
    return true;
}
bool reader_expect(struct reader *reader, char c);
/* Punctuation of several characters, "->", "::", … */
bool reader_accept_text(struct reader *reader, const char *text);
bool reader_expect_text(struct reader *reader, const char *text);
/* A bare identifier: letter or "_", then letters, digits, "_", "$", "."; empty if none is next. */
struct span reader_word(struct reader *reader);
/* The same, but "." ends it (keywords of forms, "EQ", names of types). */
struct span reader_keyword(struct reader *reader);
/* Is exactly this keyword next? Then passes over it (reader_accept_word) or not. */
bool reader_accept_word(struct reader *reader, const char *word);
bool reader_peek_word(struct reader *reader, const char *word);
bool reader_expect_word(struct reader *reader, const char *word);
/* A word that must be there; `what` for the error. */
bool reader_expect_any_word(struct reader *reader, struct span *word, const char *what);
/* "…" with MLIR's escapes (\n \t \\ \" and \xx, two hex digits); a copy in the arena, with a zero
 * after it. */
bool reader_string(struct reader *reader, struct bytes *string);
/* @name or @"name"; without the "@", in the arena. */
bool reader_symbol_name(struct reader *reader, struct bytes *name);
/* true or false. */
bool reader_bool(struct reader *reader, bool *value);
/* An integer, decimal or 0x…, maybe with "-"; anything that fits 64 bits, signed or unsigned (an
 * unsigned one above INT64_MAX keeps its bits). */
bool reader_int(struct reader *reader, int64_t *value);
/* A decimal number (of integers too) as a double; hex spellings only through attributes. */
bool reader_float(struct reader *reader, double *value);
/* "[1, 2, 3]" (or between other brackets), maybe empty; in the arena. */
bool reader_int_list(struct reader *reader, char open, char close, struct ints *values);
/* What is between balanced brackets () [] {} <> from the cursor's opening one to its closing one,
 * both included; strings inside are passed over, "->" and ">=" close nothing. */
bool reader_balanced(struct reader *reader, struct span *text);

/* --- types --- */

/* A growing list; zero it (= {0}) first. Its memory is the arena's. */
struct reader_types {
    int count, capacity;
    const struct mlir_type **types;
};
void reader_types_add(struct reader *reader, struct reader_types *list,
                      const struct mlir_type *type);
bool reader_type(struct reader *reader, const struct mlir_type **type);
/* type, type, …: at least one. Adds to the list. */
bool reader_types(struct reader *reader, struct reader_types *list);
/* One type, or (type, …), maybe (): what stands on the right side of "->". */
bool reader_types_or_parens(struct reader *reader, struct reader_types *list);
/* (type, …) -> type or (type, …). */
bool reader_function_type(struct reader *reader, struct reader_types *inputs,
                          struct reader_types *results);

/* --- attributes --- */

/* Any attribute, with its ": type" where it takes one. */
bool reader_attr(struct reader *reader, struct mlir_attr **attr);
/* The same where the type is known: numbers and dense elements are of that type (NULL: not known)
 * and a ": type" after them is left alone. */
bool reader_attr_of_type(struct reader *reader, const struct mlir_type *type,
                         struct mlir_attr **attr);
/* Optional {key = value, key, …}: adds to the dictionary; a key twice is an error. */
bool reader_attr_dict(struct reader *reader, struct mlir_dictionary *dictionary);
/* Optional: attributes {…}. */
bool reader_attributes_keyword(struct reader *reader, struct mlir_dictionary *dictionary);
/* The part of a dialect's attribute behind "#dialect.mnemonic": "<…>", for forms that write it
 * without its head: reader_dialect_body(reader, "stablehlo", "gather", &attr). Attributes of
 * dialects whose parameters are not known (sdy, mhlo, …) become OTHER, head included. */
bool reader_dialect_body(struct reader *reader, const char *dialect, const char *mnemonic,
                         struct mlir_attr **attr);
/* An attribute that is kept as text, head included: "#sdy.mesh<…>". */
struct mlir_attr *reader_text_attr(struct reader *reader, const char *text, size_t size);
/* The inside of #stablehlo.conv<…>: [b, 0, f]x[0, i, o]->[b, 0, f]. */
bool reader_conv_dimensions(struct reader *reader, struct mlir_attr **attr);
/* A word that makes #dialect<mnemonic WORD>; no check of the word's meaning. */
bool reader_enum_word(struct reader *reader, const char *dialect, const char *mnemonic,
                      struct mlir_attr **attr);
struct mlir_attr *reader_attr_bool(struct reader *reader, bool value);
struct mlir_attr *reader_attr_unit(struct reader *reader);
/* An ARRAY; the elements are copied. */
struct mlir_attr *reader_attr_array(struct reader *reader, int count,
                                    struct mlir_attr *const *elements);
struct mlir_attr *reader_attr_type(struct reader *reader, const struct mlir_type *type);
/* loc(…) into *location, which is left alone when none is next. */
bool reader_location(struct reader *reader, struct mlir_location **location);

/* --- building an op --- */

enum { BUILDER_INLINE = 8 };

/* One of the names before the "=": "%a" or "%a:3". */
struct builder_name {
    const char *at; /* of the "%" */
    struct span name;
    int count;
};

struct op_builder {
    struct span name; /* full: "stablehlo.add" */
    enum mlir_opcode opcode;
    const char *at; /* where the op begins, for messages about all of it */
    /* Names of results, and how many results they stand for; 0 when there is no "=". */
    int name_count, named_results;
    struct builder_name *names;

    int operand_count, operand_capacity;
    struct mlir_value **operands; /* type may be NULL: used before its definition */
    const char **operand_places;
    struct reader_types results;
    struct mlir_dictionary attrs;
    int region_count, region_capacity;
    struct mlir_region **regions;
    int successor_count, successor_capacity;
    struct mlir_block **successors;
    struct mlir_location *location;

    struct mlir_value *operands_inline[BUILDER_INLINE];
    const char *places_inline[BUILDER_INLINE];
    const struct mlir_type *results_inline[BUILDER_INLINE];
    struct mlir_region *regions_inline[2];
};

/* %name or %name#2: adds an operand. */
bool reader_operand(struct reader *reader, struct op_builder *op);
/* Operands with commas between them: none when no "%" is next. A comma that no "%" follows is not
 * passed over. */
bool reader_operands(struct reader *reader, struct op_builder *op);
/* (operands), maybe (). */
bool reader_operands_in_parens(struct reader *reader, struct op_builder *op);
/* Operand `index` has this type: an error at its place if it has another. Gives the type to one
 * that is used before its definition. */
bool builder_operand_type(struct reader *reader, struct op_builder *op, int index,
                          const struct mlir_type *type);
/* All operands from `first` on have these types, as many as there are. */
bool builder_operand_types(struct reader *reader, struct op_builder *op, int first,
                           const struct reader_types *types);
/* All operands have this one type. */
bool builder_operands_same_type(struct reader *reader, struct op_builder *op,
                                const struct mlir_type *type);
void builder_result(struct reader *reader, struct op_builder *op, const struct mlir_type *type);
void builder_results(struct reader *reader, struct op_builder *op,
                     const struct reader_types *types);
/* Sets an attribute (replaces one of that key). */
void builder_set(struct reader *reader, struct op_builder *op, const char *key,
                 struct mlir_attr *attr);
/* ": (types) -> types" or whatever of it is behind the ":": operands' types checked, results added.
 * The ":" is read, too. */
bool reader_functional_type(struct reader *reader, struct op_builder *op);

/* --- regions --- */

/* An argument of the entry block that the op's form has read itself. */
struct reader_argument {
    struct span name; /* without the "%" */
    const char *at;   /* of the "%" */
    const struct mlir_type *type;
    struct mlir_location *location; /* or NULL */
};
/* %name, as a new name (of an argument of a region): not looked up. */
bool reader_new_name(struct reader *reader, struct reader_argument *argument);
/* { … }: adds a region to the op. Arguments of the entry block, when the form has read them
 * itself; else 0: it may have "^bb0(%a: type):". The names outside are visible inside, but for
 * ops that isolate them (module, func). */
bool reader_region(struct reader *reader, struct op_builder *op, int argument_count,
                   const struct reader_argument *arguments);
/* Instead of text: a region of one block that applies the named op to the block's arguments and
 * returns its results with `return_name`: what "applies stablehlo.add" and the like mean. All
 * arguments and results have the types given. `at`: the op's name in the text, for its line. */
bool builder_region_of_op(struct reader *reader, struct op_builder *op, const char *at,
                          struct span name, int argument_count,
                          const struct mlir_type *const *argument_types, int result_count,
                          const struct mlir_type *const *result_types, const char *return_name);

/* --- forms --- */

/* The form of an op is in its row of ops.def; forms.def lists all of them. `generic` is that of ops
 * that have none, and refuses them. `module` and `func` are in functions.c; all others in form*.c.
 */
#define FORM(token) bool form_##token(struct reader *reader, struct op_builder *op);
#include "hlo/mlir/text/forms.def"

#endif
