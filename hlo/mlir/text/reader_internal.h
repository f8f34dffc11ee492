/* What the parts of the reader of MLIR text share among themselves, beyond what forms need. */
#ifndef HLO_MLIR_TEXT_READER_INTERNAL_H
#define HLO_MLIR_TEXT_READER_INTERNAL_H

#include "hlo/mlir/text/reader.h"

struct text;

/* --- characters --- */

enum {
    CLASS_LETTER = 1, /* begins a word: letters and "_" */
    CLASS_WORD = 2,   /* goes on in a word: also digits, "$" and "." */
    CLASS_SUFFIX = 4, /* goes on in a name of a value, block, symbol or alias: also "-" */
    CLASS_DIGIT = 8,
    CLASS_HEX = 16,
};
extern const unsigned char reader_class[256];
static inline unsigned reader_class_of(char c)
{
    return reader_class[(unsigned char)c];
}

/* --- cursor.c --- */

/* A number as it is spelled. */
struct reader_number {
    const char *at;
    bool negative, decimal, hex;
    bool too_large;   /* does not fit `integer` */
    int hex_digits;   /* as many as were written */
    uint64_t integer; /* the magnitude */
    double real;      /* of a decimal one, with its sign */
};
bool reader_number(struct reader *reader, struct reader_number *number);
/* What is between the quotes, escapes and all. */
bool reader_string_span(struct reader *reader, struct span *raw, bool *escaped);

/* --- types.c, types_quantized.c --- */

struct reader_type_cache *reader_type_cache_create(void);
void reader_type_cache_destroy(struct reader_type_cache *cache);
/* Behind "!quant.uniform", from the "<" on. *type is NULL, and nothing read, when it is of a kind
 * that is kept as text. */
bool reader_quantized(struct reader *reader, const struct mlir_type **type);

/* --- aliases.c --- */

struct reader_alias {
    struct mlir_attr *attr;       /* of "#name" */
    const struct mlir_type *type; /* of "!name" */
    int depth;                    /* how deep it nests */
    int64_t nodes;                /* how much it is, written out */
};
/* "#name = attribute", "!name = type" or "#name = loc(…)", the cursor at the "#" or "!". */
bool reader_alias_definition(struct reader *reader);
/* The alias of that name ("#" or "!" included); NULL and an error if there is none. */
const struct reader_alias *reader_alias(struct reader *reader, struct span name);
/* The part of "#name" or "!name" that is the name, first character included. */
struct span reader_alias_name(struct reader *reader);

/* --- attrs.c and its parts --- */

/* The number behind the cursor as an attribute of the type; NULL: i64 or f64, or as ": type" says.
 */
bool reader_number_attr(struct reader *reader, const struct mlir_type *type,
                        struct mlir_attr **attr);
/* One element: the bits of an integer of `type` (an INTEGER or INDEX), checked against its range.
 */
bool reader_integer_bits(struct reader *reader, const struct reader_number *number,
                         const struct mlir_type *type, int64_t *value);
/* One float of `type`: decimal, or hex bits. */
bool reader_float_value(struct reader *reader, const struct reader_number *number,
                        const struct mlir_type *type, double *value);
/* Behind the words "dense", "sparse", "array", "dense_resource". */
bool reader_dense(struct reader *reader, const struct mlir_type *type, struct mlir_attr **attr);
bool reader_sparse(struct reader *reader, const struct mlir_type *type, struct mlir_attr **attr);
bool reader_array_attr(struct reader *reader, struct mlir_attr **attr);
bool reader_dense_resource(struct reader *reader, const struct mlir_type *type,
                           struct mlir_attr **attr);
/* ": type" of elements, or the type that is already known. */
bool reader_elements_type(struct reader *reader, const struct mlir_type *known,
                          const struct mlir_type **type);
/* The text of an attribute of Shardy's, as Shardy's printer spaces it; in the arena. sdy_text.c */
struct bytes reader_tidy_sdy(struct reader *reader, struct span text);
/* "#…" but for aliases. */
bool reader_dialect_attr(struct reader *reader, struct mlir_attr **attr);
/* Puts one float, rounded to its type, or one integer where elements are stored. */
void reader_store(const struct mlir_type *element, void *data, double number, int64_t integer);
/* The number of elements of a static type, which the reader of types has found countable. */
int64_t reader_count_elements(const struct mlir_type *type);
/* Fills `attr` with what MLIR stores of its elements in `size` bytes of the arena, which it keeps
 * and may change: little-endian, each element in whole bytes; i1, too, or packed as it was before.
 * One element for many is a splat. */
bool reader_raw_elements(struct reader *reader, const char *at, unsigned char *data, size_t size,
                         struct mlir_attr *attr);
/* Decodes pairs of hex digits; false if one is none. */
bool reader_hex(const char *digits, size_t size, unsigned char *bytes);

/* --- locations.c --- */

/* "#name = loc(…)", from the "loc" on. */
bool reader_location_alias(struct reader *reader, struct span name);
/* The location that "#name" stands for; false, and no error, if it is no alias of one. */
bool reader_location_attr_alias(struct reader *reader, struct span name,
                                struct mlir_location **location);
/* A location that begins behind "loc", from the "(" on. */
bool reader_location_body(struct reader *reader, struct mlir_location **location);
/* Every location alias that is used must have got its definition. */
bool reader_locations_finish(struct reader *reader);

/* --- resources.c --- */

struct reader_resources *reader_resources_create(void);
void reader_resources_destroy(struct reader_resources *resources);
/* Remembers a RESOURCE attribute that its blob will make dense. */
void reader_resource_use(struct reader *reader, const char *at, struct mlir_attr *attr);
/* "{-# … #-}". */
bool reader_resource_section(struct reader *reader);
bool reader_resources_finish(struct reader *reader);

/* --- scopes.c --- */

struct reader_scopes *reader_scopes_create(void);
void reader_scopes_destroy(struct reader_scopes *scopes);
/* Where a region begins and ends. `graph`: values may be used before their definition; `isolated`:
 * names outside are not visible. `dialect`: of ops that are written without one. */
void reader_scope_enter(struct reader *reader, bool isolated, bool graph, const char *dialect);
/* False: a value or block that was used is not defined. */
bool reader_scope_leave(struct reader *reader, struct mlir_region *region);
const char *reader_default_dialect(const struct reader *reader);
/* Gives the name (without "%") to `count` values, at `at` for the error of a second definition.
 * What used it before gets the values. */
bool reader_define(struct reader *reader, const char *at, struct span name,
                   struct mlir_value *values, int count);
/* The name behind a "%"; behind a "^", and its place. */
bool reader_name_span(struct reader *reader, struct span *name);
bool reader_block_name(struct reader *reader, struct span *name, const char **at);
/* %name or %name#n. The value's type is NULL when it is not defined yet. */
bool reader_use(struct reader *reader, struct mlir_value **value);
/* Tells which op's operands are values that are not defined yet. */
void reader_note_uses(struct reader *reader, struct mlir_op *op);
/* Blocks: the one that "^name" stands for, there or yet to come; the one that begins here. */
bool reader_block_use(struct reader *reader, struct mlir_block **block);
bool reader_block_begin(struct reader *reader, struct span label, const char *at,
                        struct mlir_block **block);
/* A block without a label, the first of its region. */
struct mlir_block *reader_block_begin_unnamed(struct reader *reader);
/* The ops of the current block: pushed one by one, given to it at its end. */
void reader_push_op(struct reader *reader, struct mlir_op *op);
void reader_block_end(struct reader *reader);

/* --- ops.c, regions.c, functions.c --- */

void builder_init(struct op_builder *op);
void builder_add_operand(struct reader *reader, struct op_builder *op, struct mlir_value *value,
                         const char *at);
void builder_add_region(struct reader *reader, struct op_builder *op, struct mlir_region *region);
/* Makes the op of what the builder has. */
struct mlir_op *builder_finish(struct reader *reader, struct op_builder *op);
/* One op, with its names of results and its location; pushed to the current block. */
bool reader_op(struct reader *reader);
/* ops until "}", "^" or the end. */
bool reader_ops(struct reader *reader);
/* No two ops of the region may have the same symbol name. */
bool reader_check_symbols(struct reader *reader, const struct mlir_region *region);

#endif
